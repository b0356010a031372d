//! Schedulers (elevators): which request goes to the driver next.
//!
//! A scheduler is a pure policy behind the trait `Scheduler`: it keeps requests in its own order and answers questions.
//! It knows nothing of CPUs, locks, devices or the event log. `block/elevator/` calls it as `block/elevator.c` and
//! `block/blk-mq-sched.c` do: takes the locks that `Scheduler::locking` names, charges their costs, emits the
//! events, and does what the scheduler left in `Out`.
//!
//! Adding one is a file here and a row in `schedulers!` below; see `docs/adding-a-scheduler.md`.

use crate::event::{Extent, Flags, Op, Prio, RqId, TaskId};
use crate::host::Costs;
use crate::kernel::Knobs;
use crate::scenario::Path;
use serde::Serialize;

mod deadline_core;
#[cfg(test)]
mod tests;

/// A request as a scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SchedRq {
    /// Slot of the request; unique among those queued.
    pub slot: u32,
    /// Its serial number, for people.
    pub id: RqId,
    pub op: Op,
    pub flags: Flags,
    pub sector: u64,
    pub sectors: u32,
    pub prio: Prio,
    /// The process it belongs to.
    pub task: TaskId,
    /// CPU of its ctx.
    pub cpu: u16,
    /// Index of its hctx within the queue.
    pub hctx: u16,
}

impl SchedRq {
    pub(crate) fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    /// `op_is_sync`.
    pub(crate) fn is_sync(&self) -> bool {
        Extent { op: self.op, flags: self.flags, sector: self.sector, sectors: self.sectors }.is_sync()
    }
}

/// What a scheduler is told with every call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cx<'a> {
    /// ns.
    pub now: u64,
    pub knobs: &'a Knobs,
    pub disk: Disk,
}

/// What a scheduler knows of the disk (`request_queue`), never of the device model behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Disk {
    pub rotational: bool,
    pub nr_hctx: u16,
    pub nr_cpus: u16,
    /// `q->nr_requests`.
    pub nr_requests: u32,
    /// Requests taken by [`Scheduler::dispatch`] and not yet completed.
    pub in_driver: u32,
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub rq: SchedRq,
    /// Since the request was made (G), ns.
    pub total_ns: u64,
    /// Since it was issued (D), ns.
    pub io_ns: u64,
}

/// What a scheduler asks for; the caller does it after the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Out {
    /// `blk_mq_run_hw_queues(q, true)`.
    pub run_hw_queues: bool,
    /// `blk_mq_run_hw_queue(hctx, true)` for these, by index within the queue.
    pub run_hctx: Vec<u16>,
    /// Calls of [`Scheduler::timer`]: (time ns, token). A timer cannot be taken back; a stale token is ignored.
    pub timers: Vec<(u64, u32)>,
    /// Shared lines of the scheduler that the call wrote, by index (see [`Locking::lines`]).
    pub lines: Vec<u16>,
    /// How the dispatched request stands in the scheduler's sweep over the sectors, where it has one.
    pub sweep: Option<Sweep>,
}

/// Place of a dispatched request in a sweep; what [`crate::check::Invariant::BatchSorted`] is checked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// Sorted tree it came from, below [`Sweep::LANES`].
    pub lane: u8,
    /// It goes on where the last request of this tree was.
    pub goes_on: bool,
}

impl Sweep {
    /// Two directions of three priority classes.
    pub(crate) const LANES: usize = 6;
}

/// What a lock of a scheduler belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockAt {
    /// One for the disk.
    Queue,
    /// One for each hctx.
    Hctx,
    /// One for each ctx.
    Ctx,
}

/// Which locks a scheduler's operations take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// Kernel name of the lock that dispatch takes (`dd->lock`).
    pub dispatch_name: &'static str,
    pub dispatch: LockAt,
    /// Kernel name of the lock that insertion and merging take; the same lock if equal.
    pub insert_name: &'static str,
    pub insert: LockAt,
    /// Insertion takes the lock for every request, not once for a group.
    pub insert_each: bool,
    /// A request counts as queued through its hctx (`hctx->elevator_queued`) until it is complete, not until it is
    /// dispatched (bfq_finish_requeue_request).
    pub counts_until_done: bool,
    /// A completion takes the dispatch lock.
    pub completion: bool,
    /// Every bio looks its io context up under q->queue_lock, where the kernel does (knob `bfq_queue_lock`).
    pub queue_lock: bool,
    /// Names of shared lines besides the locks (`kqd->domain_tokens[READ]`).
    pub lines: &'static [&'static str],
    /// What a lock protects and its next holder has to fetch.
    pub lists: Lists,
}

/// Cache lines behind the lock that dispatch takes. The numbers count those that the kernel's code waits for one after
/// another, because an address is read from the line before or because unlocking waits for the stores; what a CPU can fetch
/// at the same time counts once. All are estimates from the source, given with their range in `docs/costs.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Looking for something to merge with, besides the tree ([`Scheduler::tree_len`]).
    pub merge: u32,
    /// The first insertion under the lock, besides the tree.
    pub insert: u32,
    /// Dispatch, with the neighbours of the request and without its own lines.
    pub dispatch: u32,
    /// Completion, if it takes the lock.
    pub completion: u32,
    /// A completion counts itself in the line of the lists without the lock (dd_finish_request, 5.16+).
    pub counts_completions: bool,
}

impl Lists {
    /// Of the deadline elevators: the FIFO lists and the counters beside them, a neighbour in the FIFO, in the tree and in
    /// the hash; `struct deadline_data` of 6.1 is six lines.
    pub(crate) const DEADLINE: Self =
        Self { merge: 1, insert: 2, dispatch: 3, completion: 0, counts_completions: false };
    /// Of a plain list.
    pub(crate) const PLAIN: Self =
        Self { merge: 1, insert: 1, dispatch: 2, completion: 0, counts_completions: false };
}

impl Locking {
    /// Everything under `q->queue_lock`, which the legacy path holds anyway.
    pub(crate) const LEGACY: Self = Self {
        dispatch_name: "q->queue_lock",
        dispatch: LockAt::Queue,
        insert_name: "q->queue_lock",
        insert: LockAt::Queue,
        insert_each: false,
        counts_until_done: false,
        completion: false,
        queue_lock: false,
        lines: &[],
        lists: Lists::PLAIN,
    };
}

/// How bios and requests find something to merge with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    /// `elv_merge`: last merge, hash of ends, then [`Scheduler::front`]; requests merge with requests at insertion.
    Hash,
    /// Only bios, with [`Scheduler::candidates`] (`blk_bio_list_merge`).
    List,
}

/// A sysfs attribute under `queue/iosched`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tunable {
    /// sysfs name.
    pub name: &'static str,
    /// Current value in sysfs's unit.
    pub value: u64,
    /// Smallest and largest value that the kernel takes.
    pub range: (u64, u64),
    /// `ns`, `ms`, `us`, `sectors`, or empty.
    pub unit: &'static str,
    /// What it does, with its kernel function.
    pub help: &'static str,
}

/// The inside of a scheduler, for people: live structured text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct View {
    /// Scheduler's name.
    pub scheduler: String,
    /// The request that the next dispatch would take, 0 if none, and why in words.
    pub next: RqId,
    /// Why that one.
    pub why: String,
    /// Counters and state: (name in the kernel's words, value).
    pub facts: Vec<(String, String)>,
    /// Lists and trees in their order.
    pub groups: Vec<Group>,
}

/// One list or tree of a scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Kernel name (`sort_list[READ]`).
    pub name: String,
    /// State of the whole list in words.
    pub note: String,
    /// Its requests in order, at most [`VIEW_MAX`].
    pub items: Vec<Item>,
    /// How many there are in all.
    pub total: u32,
}

/// Items shown of one list at most.
pub const VIEW_MAX: usize = 64;

/// One request in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Item {
    /// The request.
    pub rq: RqId,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// What matters about it in this list (`expires in 312 ms`).
    pub note: String,
}

/// See the module text. A request belongs to the scheduler from [`insert`](Scheduler::insert) until
/// [`dispatch`](Scheduler::dispatch) returns it or [`absorbed`](Scheduler::absorbed) removes it.
pub(crate) trait Scheduler: CloneBox + std::fmt::Debug {
    fn locking(&self) -> Locking;

    /// Takes a request in. It could not be merged with any other.
    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, out: &mut Out);

    /// The next request for hctx `hctx` (index within the queue).
    fn dispatch(&mut self, cx: Cx<'_>, hctx: u16, out: &mut Out) -> Option<u32>;

    /// Whether a dispatch for `hctx` may give something (it need not: bfq says so while it idles).
    fn has_work(&self, cx: Cx<'_>, hctx: u16) -> bool;

    /// A request that dispatch gave out is complete.
    fn completed(&mut self, _cx: Cx<'_>, _done: &Done, _out: &mut Out) {}

    /// A timer asked for through [`Out::timers`].
    fn timer(&mut self, _cx: Cx<'_>, _token: u32, _out: &mut Out) {}

    /// Sched tags of one bitmap word that a new request of this kind may use (`limit_depth`); `None`: no limit.
    /// `word_bits`: log2 of the bits of a word.
    fn shallow_depth(&self, _cx: Cx<'_>, _op: Op, _sync: bool, _word_bits: u32) -> Option<u32> {
        None
    }

    /// Whether it also looks at who asks for a tag: [`Self::over_share`].
    fn limits_shares(&self, _cx: Cx<'_>) -> bool {
        false
    }

    /// Whether the process of a bio has so many requests already that the next may take only the first tag of a bitmap word.
    fn over_share(&self, _cx: Cx<'_>, _bio: &SchedRq, _word_bits: u32) -> bool {
        false
    }

    /// Kernel-side change of `nr_requests` (`depth_updated`); `before` is the old value.
    fn depth_updated(&mut self, _cx: Cx<'_>, _before: u32) {}

    fn merging(&self) -> Merging {
        Merging::Hash
    }

    /// Whether `bio` may join the queued request `slot` (`elevator_allow_bio_merge`).
    fn may_merge(&self, _cx: Cx<'_>, _slot: u32, _bio: &SchedRq) -> bool {
        true
    }

    /// Whether request `gone`, not yet inserted, may join queued `slot` (`elevator_allow_rq_merge`).
    fn may_merge_rq(&self, _cx: Cx<'_>, _slot: u32, _gone: &SchedRq) -> bool {
        true
    }

    /// A queued request that starts where `bio` ends, for a front merge (`request_merge`).
    fn front(&self, _cx: Cx<'_>, _bio: &SchedRq) -> Option<u32> {
        None
    }

    /// Requests in the tree in which a bio or request like this one is searched for a front merge, and sorted; 0: no tree.
    fn tree_len(&self, _rq: &SchedRq) -> usize {
        0
    }

    /// The queued neighbours of a request in sector order (`elv_former_request`, `elv_latter_request`).
    fn former(&self, _slot: u32) -> Option<u32> {
        None
    }
    /// See [`former`](Scheduler::former).
    fn latter(&self, _slot: u32) -> Option<u32> {
        None
    }

    /// Requests that `bio` is compared with for [`Merging::List`], in that order, at most 8.
    fn candidates(&self, _bio: &SchedRq) -> Vec<u32> {
        Vec::new()
    }

    /// Queued `slot` has grown by a merge and now is there (`request_merged`).
    fn grown(&mut self, _cx: Cx<'_>, _slot: u32, _sector: u64, _sectors: u32) {}

    /// Queued `gone` was appended to queued `slot`, which has been told by [`grown`](Scheduler::grown)
    /// (`requests_merged`): forget `gone`; `slot` inherits the earlier deadline.
    fn absorbed(&mut self, _cx: Cx<'_>, _slot: u32, _gone: u32) {}

    /// Attributes of `queue/iosched` that this kernel has.
    fn tunables(&self, _cx: Cx<'_>) -> Vec<Tunable> {
        Vec::new()
    }

    /// Sets an attribute; the value has been checked against its range.
    fn set(&mut self, _name: &str, _value: u64) {}

    /// For a lesson: the next batch that can turns back to the lowest sector, once
    /// ([`crate::check::Invariant::BatchSorted`]).
    fn break_batch(&mut self) {}

    /// Its inside at `cx.now`.
    fn view(&self, cx: Cx<'_>) -> View;
}

/// What plain data gives for free, so that a checkpoint can be cloned and hashed.
pub(crate) trait CloneBox {
    fn clone_box(&self) -> Box<dyn Scheduler>;
    fn hash_into(&self, hasher: &mut dyn std::hash::Hasher);
}

impl<T: Scheduler + Clone + std::hash::Hash + 'static> CloneBox for T {
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
    fn hash_into(&self, mut hasher: &mut dyn std::hash::Hasher) {
        std::hash::Hash::hash(self, &mut hasher);
    }
}

impl Clone for Box<dyn Scheduler> {
    fn clone(&self) -> Self {
        // Through the trait object: the box itself must not be asked, it would call itself.
        (**self).clone_box()
    }
}

impl std::hash::Hash for Box<dyn Scheduler> {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        (**self).hash_into(hasher);
    }
}

/// A scheduler that can be attached.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in `queue/scheduler`.
    pub name: &'static str,
    /// The path whose disks can have it.
    pub path: Path,
    /// For people: what it is good for.
    pub help: &'static str,
    pub(crate) new: fn(Cx<'_>) -> Box<dyn Scheduler>,
    /// CPU time of one insertion, dispatch or completion, from the machine's costs.
    pub(crate) op_ns: fn(&Costs) -> u32,
    /// It hands out requests for the hctx it is asked for; others dispatch for the whole disk (`SQ_SCHED`,
    /// ELEVATOR_F_MQ_AWARE).
    pub(crate) mq_aware: bool,
}

/// The table: `module "name" Path mq_aware cost "help";` a line. The module has a type `Policy` with `Policy::new(cx)`.
macro_rules! schedulers {
    ($($module:ident $name:literal $path:ident $aware:literal $cost:ident $help:literal;)*) => {
        $(mod $module;)*
        /// All schedulers but none.
        pub const SCHEDULERS: &[Row] = &[$(Row {
            name: $name,
            path: Path::$path,
            help: $help,
            new: |cx| Box::new($module::Policy::new(cx)),
            op_ns: |costs| costs.$cost,
            mq_aware: $aware,
        }),*];
    };
}

/// What the help of a scheduler says that no kernel has.
pub const NOT_IN_LINUX: &str = "not in Linux";

schedulers! {
    mq_deadline "mq-deadline" Mq false elevator_deadline "sorts by sector in batches, and lets nothing wait beyond its deadline";
    kyber "kyber" Mq true elevator_kyber "throttles each kind of request to the depth at which latencies keep their targets";
    bfq "bfq" Mq false elevator_bfq "gives each process the disk for a budget of sectors, by weight, and idles for those that come back";
    noop "noop" Legacy false ctx_insert "first in, first out, but joins what is contiguous";
    deadline "deadline" Legacy false elevator_deadline "sorts by sector in batches, and lets nothing wait beyond its deadline";
    shortest "shortest" Mq false elevator_deadline "is for teaching, not in Linux: the smallest request goes first, unless one has waited too long";
}

/// The scheduler of this name.
pub fn row(name: &str) -> Option<&'static Row> {
    SCHEDULERS.iter().find(|r| r.name == name)
}
