//! What must hold at every step of the path, checked where it happens, and broken on purpose for a lesson.
//!
//! Debug builds check every run; release builds only when asked ([`Sim::set_checks`]) or when something is broken on
//! purpose ([`crate::scenario::Scenario::break_invariants`]). A violation stops nothing: it is kept for the report and
//! logged as [`Kind::Violation`]. What the checker remembers is an observation, as the log is, and no part of the state
//! hash; what is still to be broken is.

mod tags;

use crate::event::{HctxId, Kind, ObjectId, QueueId, RqId, TaskId};
use crate::host::{Flow, Frame, NO_CPU, Runnable};
use crate::sched::Sweep;
use crate::sim::Sim;
use serde::{Deserialize, Serialize};

/// Violations that are kept; a broken rule is usually broken often.
pub const VIOLATIONS_MAX: usize = 20;
/// How long a task that sleeps with a lock held sleeps, ns: the bound of that lesson.
const LOCK_SLEEP_NS: u64 = 20_000;

/// Something that holds in every kernel that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// Driver tags taken are those that requests and plugs hold.
    TagsConserved,
    /// The same for sched tags.
    SchedTagsConserved,
    /// A task that goes to sleep has flushed its plug.
    PlugFlushedBeforeSleep,
    /// A run serves `hctx->dispatch` before ctx lists and elevator.
    DispatchListFirst,
    /// A batch of mq-deadline ascends.
    BatchSorted,
    /// Nobody sleeps with a spinlock held.
    NoLockAcrossSleep,
    /// A lock has one holder.
    OneHolder,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::TagsConserved,
        Self::SchedTagsConserved,
        Self::PlugFlushedBeforeSleep,
        Self::DispatchListFirst,
        Self::BatchSorted,
        Self::NoLockAcrossSleep,
        Self::OneHolder,
    ];

    /// Name in the text form of a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::TagsConserved => "tags-conserved",
            Self::SchedTagsConserved => "sched-tags-conserved",
            Self::PlugFlushedBeforeSleep => "plug-flushed-before-sleep",
            Self::DispatchListFirst => "dispatch-list-first",
            Self::BatchSorted => "batch-sorted",
            Self::NoLockAcrossSleep => "no-lock-across-sleep",
            Self::OneHolder => "one-holder",
        }
    }

    /// The rule in plain words.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::TagsConserved => {
                "Every driver tag that is taken is held by a request or kept ready by a plug."
            }
            Self::SchedTagsConserved => {
                "Every sched tag that is taken is held by a request or kept ready by a plug."
            }
            Self::PlugFlushedBeforeSleep => "A task hands over what its plug holds before it sleeps.",
            Self::DispatchListFirst => {
                "What the driver sent back goes out before anything that has not been tried."
            }
            Self::BatchSorted => "Within a batch, sectors ascend.",
            Self::NoLockAcrossSleep => "Nobody sleeps while holding a spinlock.",
            Self::OneHolder => "A lock is held by one CPU at a time.",
        }
    }

    /// The kernel code that keeps it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::TagsConserved => {
                "__blk_mq_free_request gives the driver tag back through blk_mq_put_tag and sbitmap_queue_clear"
            }
            Self::SchedTagsConserved => "__blk_mq_free_request gives the sched tag back to hctx->sched_tags",
            Self::PlugFlushedBeforeSleep => {
                "sched_submit_work flushes the plug of a task that schedule() puts to sleep; io_schedule and \
                 blk_mq_get_tag rely on it"
            }
            Self::DispatchListFirst => "blk_mq_sched_dispatch_requests takes hctx->dispatch first",
            Self::BatchSorted => "dd_dispatch_request goes on with the request behind the last one (next_rq)",
            Self::NoLockAcrossSleep => {
                "spin_lock disables preemption; schedule_debug calls it a bug to sleep then"
            }
            Self::OneHolder => "queued_spin_lock",
        }
    }

    /// What a run shows in which it is broken on purpose, once, at the first opportunity.
    pub fn lesson(self) -> &'static str {
        match self {
            Self::TagsConserved => {
                "One freed tag is forgotten: the disk has one tag less for ever, and none is left where it had one."
            }
            Self::SchedTagsConserved => {
                "One freed sched tag is forgotten: the scheduler has one request less to order."
            }
            Self::PlugFlushedBeforeSleep => {
                "A task waits for a tag with its plug kept: it may wait for the very tags that its plug holds."
            }
            Self::DispatchListFirst => {
                "One run passes over the dispatch list: a request that was already tried is overtaken by new ones."
            }
            Self::BatchSorted => {
                "One batch of mq-deadline turns back to the lowest sector: a long seek on a disk."
            }
            Self::NoLockAcrossSleep => {
                "A task sleeps for 20 us with the lock of its insertion held: all others who want it burn their CPU."
            }
            Self::OneHolder => "One lock is granted although it is held: two CPUs are inside at once.",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Simulated time, ns.
    pub at_ns: u64,
    /// Which one.
    pub invariant: Invariant,
    /// What was seen, in words.
    pub text: String,
}

/// The checker of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub on: bool,
    /// A rule is broken on purpose in this run.
    lesson: bool,
    /// What is still to be broken, as bits.
    armed: u8,
    /// Who sleeps with which lock held (only ever on purpose).
    asleep_with: Option<(TaskId, ObjectId)>,
    violations: Vec<Violation>,
    total: u64,
    tags: tags::Watch,
    /// First sector of the request last dispatched, by queue and [`Sweep::lane`]; `None` where nothing can be said.
    sweeps: Vec<[Option<u64>; Sweep::LANES]>,
}

impl std::hash::Hash for Checks {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        (self.armed, self.asleep_with).hash(hasher);
    }
}

impl Checks {
    pub(crate) fn new(broken: &[Invariant]) -> Self {
        let armed = broken.iter().fold(0, |bits, i| bits | i.bit());
        let lesson = armed != 0;
        Self { on: cfg!(debug_assertions) || lesson, lesson, armed, ..Self::default() }
    }

    /// Whether this is still to be broken.
    #[inline]
    pub(crate) fn is_armed(&self, invariant: Invariant) -> bool {
        self.armed & invariant.bit() != 0
    }

    /// Whether to break it now; once.
    #[inline]
    pub(crate) fn breaks(&mut self, invariant: Invariant) -> bool {
        let breaks = self.is_armed(invariant);
        self.armed &= !invariant.bit();
        breaks
    }

    /// `lock` is held by a task that sleeps.
    pub(crate) fn is_asleep(&self, lock: ObjectId) -> bool {
        self.asleep_with.is_some_and(|(_, held)| held == lock)
    }

    /// A front merge has moved the start of a queued request, but not the place at which a sweep goes on.
    pub(crate) fn sweep_moved(&mut self, q: QueueId) {
        if let Some(lanes) = self.sweeps.get_mut(q as usize) {
            *lanes = Default::default();
        }
    }
}

impl Sim {
    /// Switches the checks of [`Invariant`]s on or off. They are on in debug builds and where a scenario breaks one.
    pub fn set_checks(&mut self, on: bool) {
        let Checks { lesson, armed, asleep_with, .. } = self.checks;
        let violations = std::mem::take(&mut self.checks.violations);
        let total = self.checks.total;
        // What was remembered of the past is stale after a pause.
        self.checks = Checks { on, lesson, armed, asleep_with, violations, total, ..Checks::default() };
    }

    /// The first [`VIOLATIONS_MAX`] violations so far.
    pub fn violations(&self) -> &[Violation] {
        &self.checks.violations
    }

    /// How many violations there were.
    pub fn violations_total(&self) -> u64 {
        self.checks.total
    }

    #[cold]
    fn violated(&mut self, c: usize, invariant: Invariant, text: String) {
        self.checks.total += 1;
        if self.checks.violations.len() < VIOLATIONS_MAX {
            self.checks.violations.push(Violation { at_ns: self.now, invariant, text });
        }
        self.emit(c, Kind::Violation { invariant });
    }

    /// CPU `c` is about to become the holder of a lock.
    pub(crate) fn check_free(&mut self, c: usize, lock: ObjectId) {
        let holder = self.objects.all[lock as usize].holder;
        if holder != NO_CPU {
            let name = &self.topology.objects[lock as usize].name;
            let text = format!("CPU {c} gets {name}, which CPU {holder} holds");
            self.violated(c, Invariant::OneHolder, text);
        }
    }

    /// CPU `c` releases a lock that it does not hold.
    pub(crate) fn check_release(&mut self, c: usize, lock: ObjectId) {
        let name = &self.topology.objects[lock as usize].name;
        let text = format!("CPU {c} releases {name}, of which it is not the holder");
        if self.checks.on {
            self.violated(c, Invariant::OneHolder, text);
        }
    }

    /// The task on `c` goes to sleep.
    pub(crate) fn check_sleep(&mut self, c: usize, t: TaskId) {
        let held = self.cpus[c].locks_held;
        if held > 0 {
            let text = format!("task {t} sleeps on CPU {c}, which holds {held} locks");
            self.violated(c, Invariant::NoLockAcrossSleep, text);
        }
        let plug = &self.tasks[t as usize].plug;
        let (requests, tags) = (plug.list.len(), plug.cached.len());
        if requests + tags > 0 {
            let text = format!("task {t} sleeps with {requests} requests and {tags} tags in its plug");
            self.violated(c, Invariant::PlugFlushedBeforeSleep, text);
        }
    }

    /// A run on `c` turns to the ctx lists or the elevator.
    pub(crate) fn check_left_overs(&mut self, c: usize, h: HctxId) {
        let waiting = self.hctxs[h as usize].dispatch.len();
        if waiting > 0 {
            let text = format!("a run of hctx {h} passes over {waiting} requests of its dispatch list");
            self.violated(c, Invariant::DispatchListFirst, text);
        }
    }

    /// The scheduler of `q` gave out a request that stands so in its sweep.
    pub(crate) fn check_sweep(&mut self, c: usize, q: QueueId, rq: RqId, sector: u64, sweep: Option<Sweep>) {
        let sweeps = &mut self.checks.sweeps;
        if sweeps.len() <= q as usize {
            sweeps.resize(q as usize + 1, Default::default());
        }
        let lanes = &mut sweeps[q as usize];
        let Some(Sweep { lane, goes_on }) = sweep else {
            *lanes = Default::default(); // inserted at the head: the sweep may or may not go on from here
            return;
        };
        let before = lanes[usize::from(lane)].replace(sector);
        if let Some(before) = before.filter(|&before| goes_on && sector < before) {
            let text = format!("request {rq} at sector {sector} goes on with a batch that was at {before}");
            self.violated(c, Invariant::BatchSorted, text);
        }
    }

    /// Whether a run passes over the dispatch list on purpose: once, where something else could go instead.
    pub(crate) fn skips_dispatch_list(&mut self, h: HctxId) -> bool {
        if !self.checks.is_armed(Invariant::DispatchListFirst) {
            return false;
        }
        let hctx = &self.hctxs[h as usize];
        let others = if self.has_elevator(hctx.queue) { self.sched_has_work(h) } else { hctx.ctx_map != 0 };
        others && self.checks.breaks(Invariant::DispatchListFirst)
    }

    /// Puts the task on `c` to sleep with `lock` held, once and on purpose; its timer releases the lock
    /// ([`Sim::release_sleepers_lock`]), and `then` goes on behind the release.
    pub(crate) fn sleep_with_lock(&mut self, c: usize, lock: ObjectId, then: Frame) -> Option<Flow> {
        if !self.checks.is_armed(Invariant::NoLockAcrossSleep)
            || self.cpus[c].in_irq
            || self.cpus[c].in_softirq
        {
            return None;
        }
        let Some(Runnable::Task(t)) = self.cpus[c].current else { return None };
        let plug = &self.tasks[t as usize].plug;
        if !plug.list.is_empty() || !plug.cached.is_empty() {
            return None; // one rule at a time: its plug would sleep with it
        }
        self.checks.breaks(Invariant::NoLockAcrossSleep);
        self.checks.asleep_with = Some((t, lock));
        Some(self.sleep_until(c, self.now + LOCK_SLEEP_NS, then))
    }

    /// The CPU of a task that sleeps with a lock goes on as if it held none: preempt_count belongs to the task.
    pub(crate) fn leave_lock_with_sleeper(&mut self, c: usize, t: TaskId) {
        if self.checks.asleep_with.is_some_and(|(sleeper, _)| sleeper == t) {
            self.cpus[c].locks_held -= 1;
        }
    }

    /// The timer of task `t` fires: a lock with which it sleeps is released at once. The task itself may not get its CPU,
    /// if that spins for this lock; a kernel would hang there.
    pub(crate) fn release_sleepers_lock(&mut self, t: TaskId) {
        if let Some((_, lock)) = self.checks.asleep_with.take_if(|(sleeper, _)| *sleeper == t) {
            let c = self.tasks[t as usize].cpu as usize;
            self.cpus[c].locks_held += 1;
            self.unlock(c, lock);
        }
    }
}
