//! One request (or a bio that has none yet): where it is, where it was, and when.

use mqscope_core::event::{
    BioId, Context, CpuId, Extent, HctxId, ObjectId, Op, Place, QueueId, RqId, Stage, TaskId,
};
use serde::{Deserialize, Serialize};

/// A time that has not come yet.
pub const NEVER: u64 = u64::MAX;
/// A tag, hctx, slot or CPU that is not known yet.
pub const NONE: u32 = u32::MAX;
/// [`NONE`] for 16-bit indices.
pub const NONE16: u16 = u16::MAX;
/// Steps kept of one request; the first [`STEPS_FIRST`] always stay.
pub const STEPS_MAX: usize = 16;
/// Steps that are never dropped.
pub const STEPS_FIRST: usize = 6;
/// Device stages kept of one request.
pub const SPANS_MAX: usize = 7;

/// Where a request is, in the kernel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Spot {
    /// In the hands of the task that submits it, on this CPU.
    Submit(CpuId),
    /// A bio without a tag: its task sleeps on wait queue `wait_queue` of the hctx's tag bitmap.
    TagWait(HctxId),
    /// In the plug of this task.
    Plug(TaskId),
    /// In the ctx list of this CPU.
    Ctx(CpuId),
    /// In the elevator of the queue.
    Elevator(QueueId),
    /// On the dispatch list of the hctx.
    DispatchList(HctxId),
    /// In the private list of a dispatcher on this CPU.
    Hand(CpuId),
    /// Issued: with the driver and the device of this queue.
    Device(QueueId),
    /// Completed on this CPU, its tag not yet free.
    Completing(CpuId),
    /// Completed; the task has not taken note yet.
    Ring(TaskId),
    /// Over: the application knows.
    Done(TaskId),
}

/// What happened to a request in one step of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Did {
    /// `Q`: the bio arrived.
    Queue,
    /// `X`: the bio was split.
    Split,
    /// `A`: a stacked disk passed the bio on; `arg`: the disk below.
    Remap,
    /// wbt let the task sleep; `arg`: writes that may be in flight.
    WbtWait,
    /// No tag was free, the task went to sleep; `arg`: wait queue.
    TagWait,
    /// `G` and the tag: the request exists; `arg`: tag.
    TagAlloc,
    /// `G` and the sched tag: the request exists, the driver tag comes later; `arg`: sched tag.
    SchedTagAlloc,
    /// The legacy queue's pool had no request, the task went to sleep.
    PoolWait,
    /// `G`: the request came from the pool; `arg`: requests that the pool has given out.
    PoolAlloc,
    /// A dispatcher got the driver tag for it; `arg`: tag.
    DriverTag,
    /// A dispatcher found no driver tag for it.
    NoDriverTag,
    /// It waits for a flush of the device's write cache.
    FlushWait,
    /// The flush request is made; `arg`: requests that it serves.
    FlushStart,
    /// It stands in the requeue list.
    RequeueList,
    /// It joined the plug; `arg`: requests in the plug with it.
    PlugAdd,
    /// The plug was flushed by the task itself; `arg`: requests in the group.
    Unplug,
    /// The plug was flushed because the task sleeps; `arg`: requests in the group.
    UnplugSchedule,
    /// `I` into the ctx list; `arg`: CPU of the ctx.
    InsertCtx,
    /// `I` into the elevator.
    InsertElevator,
    /// `I` or silent insertion into the dispatch list.
    InsertDispatch,
    /// Taken from a ctx list by a dispatcher; `arg`: CPU of the ctx.
    DequeueCtx,
    /// Taken from the elevator.
    DequeueElevator,
    /// Taken from the dispatch list.
    DequeueDispatch,
    /// `D`: given to the driver.
    Issue,
    /// `R`: the driver refused it.
    Requeue,
    /// `M`: a bio joined at the back; `arg`: its serial number.
    BackMerge,
    /// `F`: a bio joined at the front; `arg`: its serial number.
    FrontMerge,
    /// Another request became its end; `arg`: that one's serial number.
    RequestMerge,
    /// `C`: completed.
    Complete,
    /// The tag is free again.
    TagFree,
    /// The sched tag is free again.
    SchedTagFree,
    /// It is back in the pool.
    PoolFree,
    /// The kernel finished the bio; `arg`: its serial number.
    BioEnd,
    /// The application took note; `arg`: serial number of the bio.
    Reap,
}

/// One step of a request's way, kept small because every live request carries its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Simulated time, ns.
    pub at_ns: u64,
    /// What happened.
    pub did: Did,
    /// The context it happened in.
    pub context: Context,
    /// The CPU it happened on.
    pub cpu: CpuId,
    /// Detail, see [`Did`].
    pub arg: u32,
}

const NO_STEP: Step = Step { at_ns: 0, did: Did::Queue, context: Context::Idle, cpu: 0, arg: 0 };

fn no_extent() -> Extent {
    Extent::new(Op::Read, 0, 0)
}

fn no_steps() -> [Step; STEPS_MAX] {
    [NO_STEP; STEPS_MAX]
}

/// A stage inside the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Begin, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// Which stage.
    pub stage: Stage,
    /// Die, member or engine.
    pub unit: u16,
}

impl Span {
    /// How much of it is over at `now_ns`, 0 to 1.
    pub fn share(&self, now_ns: u64) -> f32 {
        let length = self.end_ns.saturating_sub(self.start_ns);
        if length == 0 {
            return 1.0;
        }
        (now_ns.saturating_sub(self.start_ns) as f32 / length as f32).min(1.0)
    }
}

const NO_SPAN: Span = Span { start_ns: 0, end_ns: 0, stage: Stage::Service, unit: 0 };

fn no_spans() -> [Span; SPANS_MAX] {
    [NO_SPAN; SPANS_MAX]
}

/// Times of the blktrace letters of one request, ns; [`NEVER`] where the letter has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letters {
    /// `Q` of its first bio.
    pub q: u64,
    /// The request existed.
    pub g: u64,
    /// Last `I`.
    pub i: u64,
    /// Last `D`.
    pub d: u64,
    /// `C`.
    pub c: u64,
}

const NO_LETTERS: Letters = Letters { q: NEVER, g: NEVER, i: NEVER, d: NEVER, c: NEVER };

/// Time a CPU lost while it worked on a request, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Spinning on locks, ns, in all.
    pub spin_ns: u64,
    /// Fetching shared lines, ns, in all.
    pub line_ns: u64,
    /// The lock or line that cost most at once, [`NONE`] if nothing was lost.
    pub worst: ObjectId,
    /// What it cost, ns.
    pub worst_ns: u64,
    /// The CPU that had it.
    pub worst_cpu: CpuId,
}

impl Lost {
    /// Nothing lost.
    pub const NOTHING: Self = Lost { spin_ns: 0, line_ns: 0, worst: NONE, worst_ns: 0, worst_cpu: NONE16 };

    /// Adds one loss.
    pub fn add(&mut self, object: ObjectId, spin_ns: u64, line_ns: u64, from: CpuId) {
        self.spin_ns += spin_ns;
        self.line_ns += line_ns;
        if spin_ns + line_ns > self.worst_ns {
            (self.worst, self.worst_ns, self.worst_cpu) = (object, spin_ns + line_ns, from);
        }
    }

    /// Takes over all of another loss.
    pub(super) fn join(&mut self, other: Self) {
        self.spin_ns += other.spin_ns;
        self.line_ns += other.line_ns;
        if other.worst_ns > self.worst_ns {
            (self.worst, self.worst_ns, self.worst_cpu) = (other.worst, other.worst_ns, other.worst_cpu);
        }
    }
}

/// A request, or a bio on its way to one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Serial number; 0 while it is a bio without a request.
    pub rq: RqId,
    /// Its first bio.
    pub bio: BioId,
    /// The task that submitted it.
    pub task: TaskId,
    /// The CPU on which it was submitted.
    pub cpu: CpuId,
    /// Its queue.
    pub queue: QueueId,
    /// Its hctx, [`NONE16`] before the tag.
    pub hctx: HctxId,
    /// Its tag, [`NONE`] before it has one.
    pub tag: u32,
    /// The blocks, grown by merges. Put away apart, because its text form leaves out what bytes without names need.
    #[serde(skip, default = "no_extent")]
    pub extent: Extent,
    /// Bios in it.
    pub bios: u16,
    /// Bios of which the application has not taken note yet.
    pub bios_open: u16,
    /// Times the driver refused it.
    pub refusals: u16,
    /// Whether the tag is free again.
    pub tag_freed: bool,
    /// It has a sched tag or a place in the pool: a scheduler decides when it goes.
    pub scheduled: bool,
    /// The CPU that gave it to the driver, [`NONE16`] before `D`.
    pub dispatch_cpu: CpuId,
    /// The CPU that completed it, [`NONE16`] before `C`.
    pub complete_cpu: CpuId,
    /// Where it is.
    pub spot: Spot,
    /// Where it was before.
    pub before: Spot,
    /// Since when it is where it is, ns.
    pub since_ns: u64,
    /// Times of its letters.
    pub letters: Letters,
    /// Time lost on its account.
    pub lost: Lost,
    /// Steps forgotten between the first and the last ones.
    pub steps_dropped: u16,
    /// Device stages forgotten after the first one.
    pub spans_dropped: u16,
    // Put away apart from the rest, as many as there are.
    #[serde(skip)]
    steps_len: u8,
    #[serde(skip)]
    spans_len: u8,
    #[serde(skip, default = "no_steps")]
    steps: [Step; STEPS_MAX],
    #[serde(skip, default = "no_spans")]
    spans: [Span; SPANS_MAX],
    // Links of the list of its spot; kept here so that moving costs no search and no allocation.
    pub(super) list: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
}

impl Request {
    /// A bio that has just arrived.
    pub(super) fn new(
        bio: BioId,
        task: TaskId,
        cpu: CpuId,
        queue: QueueId,
        extent: Extent,
        at_ns: u64,
    ) -> Self {
        Self {
            rq: 0,
            bio,
            task,
            cpu,
            queue,
            hctx: NONE16,
            tag: NONE,
            extent,
            bios: 1,
            bios_open: 1,
            refusals: 0,
            tag_freed: false,
            scheduled: false,
            dispatch_cpu: NONE16,
            complete_cpu: NONE16,
            spot: Spot::Submit(cpu),
            before: Spot::Submit(cpu),
            since_ns: at_ns,
            letters: Letters { q: at_ns, ..NO_LETTERS },
            lost: Lost::NOTHING,
            steps_dropped: 0,
            spans_dropped: 0,
            steps_len: 0,
            spans_len: 0,
            steps: no_steps(),
            spans: no_spans(),
            list: NONE,
            prev: NONE,
            next: NONE,
        }
    }

    /// What stands in a slot that is free.
    pub(super) fn hole() -> Self {
        Self::new(0, 0, 0, 0, no_extent(), 0)
    }

    /// Its way so far; [`Request::steps_dropped`] are missing after the first [`STEPS_FIRST`].
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.steps_len as usize]
    }

    /// Its stages inside the device so far, in the order in which they were decided.
    pub fn spans(&self) -> &[Span] {
        &self.spans[..self.spans_len as usize]
    }

    /// The device stage it is in at `now_ns`, or the next one if it is between two.
    pub fn span_at(&self, now_ns: u64) -> Option<&Span> {
        let spans = self.spans();
        spans
            .iter()
            .filter(|s| s.start_ns <= now_ns && now_ns < s.end_ns)
            .max_by_key(|s| s.start_ns)
            .or_else(|| spans.iter().filter(|s| s.start_ns > now_ns).min_by_key(|s| s.start_ns))
            .or_else(|| spans.iter().max_by_key(|s| s.end_ns))
    }

    /// Begin of the first device stage that lies after `now_ns`.
    pub fn next_span_ns(&self, now_ns: u64) -> Option<u64> {
        self.spans().iter().map(|s| s.start_ns).filter(|&t| t > now_ns).min()
    }

    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        self.extent.op == Op::Write
    }

    /// Whether another CPU than the submitting one gave it to the driver.
    pub fn is_foreign(&self) -> bool {
        self.dispatch_cpu != NONE16 && self.dispatch_cpu != self.cpu
    }

    /// Whether it stands still because something else has to happen first.
    pub fn is_waiting(&self) -> bool {
        matches!(self.spot, Spot::TagWait(_) | Spot::DispatchList(_))
    }

    pub(super) fn push_step(&mut self, step: Step) {
        let len = self.steps_len as usize;
        if len < STEPS_MAX {
            self.steps[len] = step;
            self.steps_len += 1;
        } else {
            self.steps.copy_within(STEPS_FIRST + 1.., STEPS_FIRST);
            self.steps[STEPS_MAX - 1] = step;
            self.steps_dropped = self.steps_dropped.saturating_add(1);
        }
    }

    pub(super) fn push_span(&mut self, span: Span) {
        let len = self.spans_len as usize;
        if len < SPANS_MAX {
            self.spans[len] = span;
            self.spans_len += 1;
        } else {
            self.spans.copy_within(2.., 1);
            self.spans[SPANS_MAX - 1] = span;
            self.spans_dropped = self.spans_dropped.saturating_add(1);
        }
    }

    /// Joins the blocks of a merged bio.
    pub(super) fn grow(&mut self, bio: Extent, front: bool) {
        if front {
            self.extent.sector = bio.sector;
        }
        self.extent.sectors = self.extent.sectors.saturating_add(bio.sectors);
        self.bios = self.bios.saturating_add(1);
        self.bios_open = self.bios_open.saturating_add(1);
    }
}

impl Did {
    /// The step of an insertion.
    pub(super) fn insert(place: Place) -> (Self, u32) {
        match place {
            Place::Ctx(cpu) => (Did::InsertCtx, cpu.into()),
            Place::DispatchList => (Did::InsertDispatch, 0),
            Place::Elevator => (Did::InsertElevator, 0),
        }
    }

    /// The step of a removal.
    pub(super) fn dequeue(place: Place) -> (Self, u32) {
        match place {
            Place::Ctx(cpu) => (Did::DequeueCtx, cpu.into()),
            Place::DispatchList => (Did::DequeueDispatch, 0),
            Place::Elevator => (Did::DequeueElevator, 0),
        }
    }
}
