//! A bench for one scheduler: it does to it what the block layer does, with slots that stay consistent.

use crate::event::{Flags, Op, Prio, PrioClass};
use crate::kernel::{Knobs, row};
use crate::sched::{Cx, Disk, Done, Out, SchedRq, Scheduler};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const MS: u64 = 1_000_000;

/// One random operation.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A bio: merged if there is something to merge with, else a request of its own.
    Bio(Bio),
    /// A request inserted at the head, without a try to merge.
    AtHead(Bio),
    /// hctx 0 asks for a request.
    Dispatch,
    /// Of the requests in the driver, this one (modulo their number) completes.
    Complete(usize),
    /// Of the requests in the driver, this one (modulo their number) comes back to the head of the scheduler.
    Requeue(usize),
    /// Time passes, ns.
    Advance(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bio {
    pub op: Op,
    pub sector: u64,
    pub sectors: u32,
    pub class: PrioClass,
    pub task: u16,
}

/// What a step did, for comparison between two schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Inserted(u32),
    /// Merged into `slot`, which then took in its neighbour `gone`.
    Merged {
        slot: u32,
        front: bool,
        gone: Option<u32>,
    },
    Dispatched(Option<u32>),
    /// Completion, requeue, time.
    Nothing,
}

/// A scheduler and all that the block layer would know of it.
pub(super) struct Bench {
    pub sched: Box<dyn Scheduler>,
    pub knobs: Knobs,
    pub disk: Disk,
    /// ns.
    pub now: u64,
    /// Requests in the scheduler, by slot.
    pub queued: BTreeMap<u32, SchedRq>,
    /// Requests dispatched and not completed: (request, made ns, issued ns), by slot.
    pub in_driver: BTreeMap<u32, (SchedRq, u64, u64)>,
    /// Timers asked for and not yet run, earliest first.
    pub timers: BTreeMap<(u64, u32), u32>,
    /// Slots of those inserted at the head; nothing merges with them.
    at_head: BTreeSet<u32>,
    made: BTreeMap<u32, u64>,
    ids: u32,
}

impl Bench {
    /// A fresh scheduler on a rotating disk with one hctx, `nr_requests` 256, and the knobs of a kernel row.
    pub(super) fn new(row_name: &str, new: impl Fn(Cx<'_>) -> Box<dyn Scheduler>) -> Self {
        Self::with_knobs(row(row_name).expect("a row of the table").knobs.clone(), new)
    }

    pub(super) fn with_knobs(knobs: Knobs, new: impl Fn(Cx<'_>) -> Box<dyn Scheduler>) -> Self {
        let disk = Disk { rotational: true, nr_hctx: 1, nr_cpus: 4, nr_requests: 256, in_driver: 0 };
        let sched = new(Cx { now: 0, knobs: &knobs, disk });
        Self {
            sched,
            knobs,
            disk,
            now: 0,
            queued: BTreeMap::new(),
            in_driver: BTreeMap::new(),
            timers: BTreeMap::new(),
            at_head: BTreeSet::new(),
            made: BTreeMap::new(),
            ids: 0,
        }
    }

    pub(super) fn cx(&self) -> Cx<'_> {
        Cx { now: self.now, knobs: &self.knobs, disk: self.disk }
    }

    /// Sets a tunable as sysfs does.
    pub(super) fn set(&mut self, name: &str, value: u64) {
        let tunable = self.sched.tunables(self.cx()).into_iter().find(|t| t.name == name);
        let (min, max) = tunable.unwrap_or_else(|| panic!("no tunable {name}")).range;
        self.sched.set(name, value.clamp(min, max));
    }

    pub(super) fn tunable(&self, name: &str) -> Option<u64> {
        self.sched.tunables(self.cx()).into_iter().find(|t| t.name == name).map(|t| t.value)
    }

    /// Changes `nr_requests` as the block layer does.
    pub(super) fn set_nr_requests(&mut self, nr_requests: u32) {
        let before = std::mem::replace(&mut self.disk.nr_requests, nr_requests);
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        self.sched.depth_updated(cx, before);
    }

    pub(super) fn step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Bio(bio) => self.submit(*bio),
            Step::AtHead(bio) => {
                let rq = self.request(*bio);
                self.insert(rq, true);
                Outcome::Inserted(rq.slot)
            }
            Step::Dispatch => Outcome::Dispatched(self.dispatch(0)),
            Step::Complete(n) => {
                if let Some(slot) = self.nth_in_driver(*n) {
                    self.complete(slot);
                }
                Outcome::Nothing
            }
            Step::Requeue(n) => {
                if let Some(slot) = self.nth_in_driver(*n) {
                    let (rq, made, _) = self.in_driver.remove(&slot).expect("in the driver");
                    self.disk.in_driver -= 1;
                    self.made.insert(slot, made);
                    self.insert(rq, true);
                }
                Outcome::Nothing
            }
            Step::Advance(ns) => {
                self.advance(*ns);
                Outcome::Nothing
            }
        }
    }

    fn nth_in_driver(&self, n: usize) -> Option<u32> {
        self.in_driver.keys().nth(n % self.in_driver.len().max(1)).copied()
    }

    /// A request for the bio in the lowest free slot.
    fn request(&mut self, bio: Bio) -> SchedRq {
        let taken = |slot: &u32| self.queued.contains_key(slot) || self.in_driver.contains_key(slot);
        let slot = (0..).find(|slot| !taken(slot)).expect("a free slot");
        self.ids += 1;
        self.made.insert(slot, self.now);
        SchedRq { slot, id: self.ids, ..bio.as_rq() }
    }

    fn insert(&mut self, rq: SchedRq, at_head: bool) {
        self.queued.insert(rq.slot, rq);
        if at_head {
            self.at_head.insert(rq.slot);
        }
        let mut out = Out::default();
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        self.sched.insert(cx, rq, at_head, &mut out);
        self.take(out);
    }

    /// Inserts without a try to merge; returns the slot.
    pub(super) fn insert_bio(&mut self, bio: Bio) -> u32 {
        let rq = self.request(bio);
        self.insert(rq, false);
        rq.slot
    }

    /// `elv_merge` without its cache: a back merge with the lowest slot that ends where the bio starts, else a front
    /// merge; then the grown request takes in its neighbour (`attempt_back_merge`, `attempt_front_merge`).
    pub(super) fn submit(&mut self, bio: Bio) -> Outcome {
        let probe = bio.as_rq();
        let hashed = self.queued.values().filter(|rq| !self.at_head.contains(&rq.slot));
        let back = hashed.clone().find(|rq| alike(rq, &probe) && rq.end() == bio.sector).map(|rq| rq.slot);
        let front = || self.sched.front(self.cx(), &probe).filter(|slot| alike(&self.queued[slot], &probe));
        let allowed = |slot: &u32| self.sched.may_merge(self.cx(), *slot, &probe);
        let Some(slot) = back.or_else(front).filter(allowed) else {
            return Outcome::Inserted(self.insert_bio(bio));
        };
        let rq = self.queued.get_mut(&slot).expect("a merge with a queued request");
        rq.sectors += bio.sectors;
        if back.is_none() {
            assert_eq!(rq.sector, probe.end(), "a front merge joins");
            rq.sector = bio.sector;
        }
        let rq = *rq;
        self.grown(rq);
        let gone = if back.is_some() { self.join(slot, self.sched.latter(slot)) } else { None };
        Outcome::Merged { slot, front: back.is_none(), gone }
    }

    fn grown(&mut self, rq: SchedRq) {
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        self.sched.grown(cx, rq.slot, rq.sector, rq.sectors);
    }

    fn join(&mut self, slot: u32, latter: Option<u32>) -> Option<u32> {
        let (rq, gone) = (self.queued[&slot], self.queued[&latter?]);
        if !alike(&rq, &gone) || rq.end() != gone.sector {
            return None;
        }
        let rq = SchedRq { sectors: rq.sectors + gone.sectors, ..rq };
        self.queued.insert(slot, rq);
        self.queued.remove(&gone.slot);
        self.grown(rq);
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        self.sched.absorbed(cx, slot, gone.slot);
        Some(gone.slot)
    }

    pub(super) fn dispatch(&mut self, hctx: u16) -> Option<u32> {
        let mut out = Out::default();
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        let slot = self.sched.dispatch(cx, hctx, &mut out);
        if let Some(slot) = slot {
            let rq = self.queued.remove(&slot).expect("dispatch returns what is queued");
            self.at_head.remove(&slot);
            self.in_driver.insert(slot, (rq, self.made[&slot], self.now));
            self.disk.in_driver += 1;
        }
        self.take(out);
        slot
    }

    pub(super) fn complete(&mut self, slot: u32) {
        let (rq, made, issued) = self.in_driver.remove(&slot).expect("in the driver");
        self.disk.in_driver -= 1;
        let done = Done { rq, total_ns: self.now - made, io_ns: self.now - issued };
        let mut out = Out::default();
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        self.sched.completed(cx, &done, &mut out);
        self.take(out);
    }

    /// Lets time pass; timers run when they are due.
    pub(super) fn advance(&mut self, ns: u64) {
        let until = self.now + ns;
        while let Some(entry) = self.timers.first_entry().filter(|e| e.key().0 <= until) {
            let ((at, _), token) = entry.remove_entry();
            self.now = self.now.max(at);
            let mut out = Out::default();
            let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
            self.sched.timer(cx, token, &mut out);
            self.take(out);
        }
        self.now = until;
    }

    fn take(&mut self, out: Out) {
        for (at, token) in out.timers {
            self.ids += 1;
            self.timers.insert((at, self.ids), token);
        }
    }
}

/// `blk_rq_merge_ok`, as far as it goes here.
fn alike(a: &SchedRq, b: &SchedRq) -> bool {
    a.op == b.op && a.prio == b.prio && a.flags == b.flags
}

impl Bio {
    pub(super) fn new(op: Op, sector: u64) -> Self {
        Self { op, sector, sectors: 8, class: PrioClass::None, task: 0 }
    }

    fn as_rq(self) -> SchedRq {
        SchedRq {
            slot: u32::MAX,
            id: 0,
            op: self.op,
            flags: if self.op.is_write() { Flags::SYNC } else { Flags::NONE },
            sector: self.sector,
            sectors: self.sectors,
            prio: Prio { class: self.class, ..Prio::default() },
            task: self.task,
            cpu: self.task % 4,
            hctx: 0,
        }
    }
}

/// Bios in units of 8 sectors on a disk so small that many touch each other, and that two requests become one.
pub(super) fn bios() -> impl Strategy<Value = Bio> {
    use PrioClass::*;
    let class = prop_oneof![8 => Just(None), 1 => Just(Rt), 1 => Just(Be), 2 => Just(Idle)];
    let op = prop_oneof![6 => Just(Op::Read), 5 => Just(Op::Write), 1 => Just(Op::Discard)];
    (op, 0u64..40, 1u32..3, class, 0u16..4).prop_map(|(op, at, len, class, task)| Bio {
        op,
        sector: at * 8,
        sectors: len * 8,
        class,
        task,
    })
}

/// Operations in the proportions of a busy disk.
pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => bios().prop_map(Step::Bio),
        1 => bios().prop_map(Step::AtHead),
        9 => Just(Step::Dispatch),
        8 => any::<usize>().prop_map(Step::Complete),
        1 => any::<usize>().prop_map(Step::Requeue),
        2 => (0..400 * MS).prop_map(Step::Advance),
        1 => (0..6_000 * MS).prop_map(Step::Advance),
    ];
    prop::collection::vec(step, 0..400)
}
