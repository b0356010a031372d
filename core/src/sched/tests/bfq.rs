//! bfq: compared with a naive model, and held to its own bounds.

mod fairness;
mod idling;
mod model;
mod order;
mod raising;
mod rate;
mod robust;

use crate::event::{Flags, Op, Prio, PrioClass};
use crate::kernel::{Knobs, row as kernel_row};
use crate::sched::{Cx, Disk, Done, Out, SchedRq, Scheduler, View, row};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// bfq on a disk, with the requests in the driver and the timers in hand.
struct Rig {
    sched: Box<dyn Scheduler>,
    knobs: Knobs,
    disk: Disk,
    now: u64,
    next_slot: u32,
    queued: BTreeMap<u32, SchedRq>,
    in_driver: BTreeMap<u32, SchedRq>,
    timers: BTreeMap<(u64, u32), ()>,
    /// Times that all hctxs were run.
    runs: u32,
}

impl Rig {
    fn new(rotational: bool) -> Self {
        Self::of("5.10", rotational)
    }

    fn of(kernel: &str, rotational: bool) -> Self {
        let knobs = kernel_row(kernel).expect("a row of the table").knobs.clone();
        let disk = Disk { rotational, nr_hctx: 1, nr_cpus: 4, nr_requests: 256, in_driver: 0 };
        let sched = (row("bfq").expect("a row of the table").new)(Cx { now: 0, knobs: &knobs, disk });
        Self {
            sched,
            knobs,
            disk,
            now: 0,
            next_slot: 0,
            queued: BTreeMap::new(),
            in_driver: BTreeMap::new(),
            timers: BTreeMap::new(),
            runs: 0,
        }
    }

    /// Neither raises weights nor idles: only budgets and virtual times decide.
    fn plain(rotational: bool) -> Self {
        Self::new(rotational).with("low_latency", 0).with("slice_idle", 0)
    }

    fn with(mut self, name: &str, value: u64) -> Self {
        self.sched.set(name, value);
        self
    }

    /// With budgets of at most so many sectors, in force: bfq keeps to its own limit for the first eleven slots, here those
    /// of a process in another class, which leaves no trace but the head at sector 8.
    fn with_max_budget(self, sectors: u64) -> Self {
        let slice_idle =
            self.sched.tunables(self.cx()).into_iter().find(|t| t.name == "slice_idle").expect("has it");
        let mut rig = self.with("max_budget", sectors).with("slice_idle", 0);
        for _ in 0..11 {
            rig.send(with_prio(read(u16::MAX, 0, 8), PrioClass::Rt, 4));
            rig.serve().expect("it has just been sent");
        }
        rig.with("slice_idle", slice_idle.value)
    }

    /// One call into the scheduler at the present time; does what it asks for.
    fn call<T>(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cx<'_>, &mut Out) -> T) -> T {
        let mut out = Out::default();
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.disk };
        let result = f(self.sched.as_mut(), cx, &mut out);
        self.timers.extend(out.timers.into_iter().map(|timer| (timer, ())));
        self.runs += u32::from(out.run_hw_queues);
        result
    }

    fn send(&mut self, rq: SchedRq) -> u32 {
        self.next_slot += 1;
        let rq = SchedRq { slot: self.next_slot, id: self.next_slot, ..rq };
        self.queued.insert(rq.slot, rq);
        self.call(|sched, cx, out| sched.insert(cx, rq, false, out));
        rq.slot
    }

    fn dispatch(&mut self) -> Option<SchedRq> {
        let slot = self.call(|sched, cx, out| sched.dispatch(cx, 0, out))?;
        let rq = self.queued.remove(&slot).expect("dispatch returns what is queued");
        self.in_driver.insert(slot, rq);
        Some(rq)
    }

    fn complete(&mut self, slot: u32) {
        let rq = self.in_driver.remove(&slot).expect("in the driver");
        let done = Done { rq, total_ns: 0, io_ns: 0 };
        self.call(|sched, cx, out| sched.completed(cx, &done, out));
    }

    /// Dispatches one request and completes it at once.
    fn serve(&mut self) -> Option<SchedRq> {
        let rq = self.dispatch()?;
        self.complete(rq.slot);
        Some(rq)
    }

    /// Everything that can be dispatched now, in that order.
    fn drain(&mut self) -> Vec<SchedRq> {
        std::iter::from_fn(|| self.dispatch()).collect()
    }

    fn advance(&mut self, ns: u64) {
        let until = self.now + ns;
        while let Some(entry) = self.timers.first_entry().filter(|e| e.key().0 <= until) {
            let ((at, token), ()) = entry.remove_entry();
            self.now = self.now.max(at);
            self.call(|sched, cx, out| sched.timer(cx, token, out));
        }
        self.now = until;
    }

    fn has_work(&self) -> bool {
        self.sched.has_work(self.cx(), 0)
    }

    fn view(&self) -> View {
        self.sched.view(self.cx())
    }

    fn fact(&self, name: &str) -> String {
        self.view().facts.into_iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no fact {name}")).1
    }

    fn cx(&self) -> Cx<'_> {
        Cx { now: self.now, knobs: &self.knobs, disk: self.disk }
    }
}

fn read(task: u16, sector: u64, sectors: u32) -> SchedRq {
    SchedRq {
        slot: 0,
        id: 0,
        op: Op::Read,
        flags: Flags::NONE,
        sector,
        sectors,
        prio: Prio::default(),
        task,
        cpu: 0,
        hctx: 0,
    }
}

/// A write that nobody waits for.
fn write(task: u16, sector: u64, sectors: u32) -> SchedRq {
    SchedRq { op: Op::Write, ..read(task, sector, sectors) }
}

fn with_prio(rq: SchedRq, class: PrioClass, level: u8) -> SchedRq {
    SchedRq { prio: Prio { class, level }, ..rq }
}

/// Lengths of the runs of requests of one task: (task, requests).
fn runs_of(rqs: &[SchedRq]) -> Vec<(u16, usize)> {
    rqs.chunk_by(|a, b| a.task == b.task).map(|run| (run[0].task, run.len())).collect()
}
