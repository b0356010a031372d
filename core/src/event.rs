//! The one typed event log.
//!
//! Everything that anyone may want to show is one [`Event`]. Reports, the blkparse text, the picture and the
//! tests read this log and nothing else. Letters and their order follow blktrace; the rest (locks, lines, tags,
//! hctx runs, CPU contexts, device stages) uses the kernel's own nouns.

use crate::check::Invariant;
use serde::{Deserialize, Serialize};

/// Serial number of a request, unique in a run (not the tag, not a slot).
pub type RqId = u32;
/// Serial number of a bio, unique in a run.
pub type BioId = u32;
/// Index of a logical CPU.
pub type CpuId = u16;
/// Index of a task (fio job process or batch thread) in [`crate::topology::Topology::tasks`].
pub type TaskId = u16;
/// Index of a request queue (a disk) in [`crate::topology::Topology::queues`].
pub type QueueId = u16;
/// Index of an hctx over all queues, in [`crate::topology::Topology::hctxs`].
pub type HctxId = u16;
/// Index of a lock or shared cache line in [`crate::topology::Topology::objects`].
pub type ObjectId = u32;

/// What a bio or request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Read.
    #[default]
    Read,
    /// Write; direct writes are synchronous (`WS` in blkparse).
    Write,
    /// Discard (TRIM, UNMAP): blocks without data.
    Discard,
    /// The flush request that the flush machinery makes: empty the device's write cache.
    Flush,
}

impl Op {
    /// Whether it takes the side of the writes in a scheduler and in statistics (`op_is_write`).
    pub fn is_write(self) -> bool {
        self != Op::Read
    }
}

/// What else is asked of a bio or request (`REQ_SYNC`, `REQ_FUA`, ...), as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(pub u8);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// Somebody waits for it (`REQ_SYNC`): direct and `fsync`ed writes. Reads count as synchronous without it.
    pub const SYNC: Self = Self(1);
    /// The data must be on stable media when it completes (`REQ_FUA`).
    pub const FUA: Self = Self(2);
    /// The device's cache is flushed first (`REQ_PREFLUSH`).
    pub const PREFLUSH: Self = Self(4);
    /// File-system metadata (`REQ_META`).
    pub const META: Self = Self(8);
    /// More I/O of the same task is about to follow (`REQ_IDLE`).
    pub const IDLE: Self = Self(16);
    /// Writeback that nobody waits for, of the flusher's own accord (`REQ_BACKGROUND`).
    pub const BACKGROUND: Self = Self(32);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What makes the flush machinery look at a bio or request (`op_is_flush`).
    pub const FLUSH: Self = Self::PREFLUSH.and(Self::FUA);

    /// Whether any bit of `other` is set.
    pub fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits that `other` has not.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether no bit is set.
    pub fn is_none(&self) -> bool {
        self.0 == 0
    }
}

/// I/O priority class (`ioprio_set`; IOPRIO_CLASS_*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrioClass {
    /// Not set: treated as best effort.
    #[default]
    None,
    /// Real time.
    Rt,
    /// Best effort.
    Be,
    /// Idle.
    Idle,
}

/// I/O priority: class and level (0 highest to 7; 4 where nothing is set).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prio {
    /// Class.
    pub class: PrioClass,
    /// Level within the class.
    pub level: u8,
}

impl Default for Prio {
    fn default() -> Self {
        Self { class: PrioClass::None, level: 4 }
    }
}

/// Which blocks an event is about, in 512-byte sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// Direction.
    pub op: Op,
    /// What else is asked.
    #[serde(default, skip_serializing_if = "Flags::is_none")]
    pub flags: Flags,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
}

impl Extent {
    /// Plain direct I/O: writes are synchronous.
    pub fn new(op: Op, sector: u64, sectors: u32) -> Self {
        let flags = if op.is_write() { Flags::SYNC } else { Flags::NONE };
        Self { op, flags, sector, sectors }
    }

    /// First sector behind it.
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    /// Whether somebody waits for it (`op_is_sync`).
    pub fn is_sync(&self) -> bool {
        self.op == Op::Read || self.flags.any(Flags::SYNC.and(Flags::FLUSH))
    }

    /// blkparse's RWBS column (`fill_rwbs`): preflush, operation, FUA, sync, meta.
    pub fn rwbs(&self) -> String {
        let mut text = String::new();
        if self.flags.has(Flags::PREFLUSH) || self.op == Op::Flush {
            text.push('F');
        }
        text.push(match self.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Discard => 'D',
            Op::Flush => 'N',
        });
        for (flag, letter) in [(Flags::FUA, 'F'), (Flags::SYNC, 'S'), (Flags::META, 'M')] {
            if self.flags.has(flag) {
                text.push(letter);
            }
        }
        text
    }
}

/// Which kind of execution context a CPU was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// A task, in user mode or in a system call.
    Task,
    /// A hard interrupt.
    HardIrq,
    /// A softirq.
    SoftIrq,
    /// A kblockd worker.
    Kworker,
    /// No context: the device itself, or an idle CPU.
    Idle,
}

/// Where an inserted request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The software queue (`ctx`) of this CPU.
    Ctx(CpuId),
    /// The dispatch list of the hctx.
    DispatchList,
    /// The elevator.
    Elevator,
}

/// A stage inside a device, as a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Null device: its fixed service time.
    Service,
    /// Controller front end: fetch and parse.
    Controller,
    /// RAID firmware engine.
    Firmware,
    /// Waiting in the adapter for a place in the queue of a member disk of a RAID volume.
    MemberWait,
    /// Member disk of a RAID volume: its front end, including its queue.
    Member,
    /// Waiting for a flash die.
    DieWait,
    /// Flash die busy with this request.
    Die,
    /// Flash die busy with a program of pages written before, reads in between included (`rq` 0).
    Program,
    /// Waiting for and using the channel between dies and controller.
    Channel,
    /// Write buffer of an SSD.
    WriteBuffer,
    /// Waiting for and having a place in the battery-backed write cache of an adapter.
    WriteBack,
    /// Waiting for and using the link to the host.
    Link,
    /// Waiting in the queue of a rotating disk, for the arm or for room in the cache.
    Queued,
    /// The arm is on its way.
    Seek,
    /// Waiting for the platter to turn.
    Rotate,
    /// Data pass under the head.
    Transfer,
    /// The disk's cache takes or gives the data.
    Cache,
    /// Cached data go to the platter, or from an adapter to a member; of a flush: waiting for that.
    Destage,
    /// The head reads on behind a command.
    ReadAhead,
}

/// Why dirty pages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// More is dirty than dirty_background_ratio lets be: the flusher.
    Background,
    /// It has been dirty for longer than dirty_expire: the flusher.
    Periodic,
    /// `fsync`, `fdatasync`, `sync_file_range` or a write with O_SYNC: the task itself.
    Sync,
    /// `posix_fadvise(POSIX_FADV_DONTNEED)`: the task itself.
    Advice,
}

/// Why a task sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleep {
    /// No free tag in its hctx's tag bitmap.
    Tag,
    /// No request for it in the queue's pool (legacy path).
    Request,
    /// Waiting for completions (`io_getevents`, `io_uring_enter`, or the end of a synchronous I/O).
    Io,
    /// The lock of the file is held by others.
    FileLock,
    /// Its commit is not in the log of the file system yet (`fsync`); the log's thread: nobody asks for a commit.
    Log,
    /// Asynchronous writes are throttled (wbt).
    Wbt,
    /// Too much is dirty: a writer is held to the rate of the disk (`balance_dirty_pages`).
    Dirty,
    /// Waiting for pages to be read or written.
    Page,
    /// A flusher with nothing to write.
    Flusher,
    /// thinktime, a rate limit, startdelay.
    Timer,
    /// Waiting for other jobs (stonewall) or the end of the job.
    Done,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs)] // a field is named by its type, above
pub enum Kind {
    // --- blktrace letters -------------------------------------------------------------------------
    /// `Q`: a bio arrived at the queue.
    Queue { bio: BioId, queue: QueueId, extent: Extent },
    /// `A` (`traced`: md raid0 since 4.10, dm always): the part `extent` of a bio now goes to disk `queue`; it came from
    /// sector `from_sector` of the stacked disk `from_queue`.
    Remap { bio: BioId, queue: QueueId, extent: Extent, from_queue: QueueId, from_sector: u64, traced: bool },
    /// `X`: a bio was split; `extent` is the whole, `at_sector` the first sector of the second part.
    Split { bio: BioId, queue: QueueId, extent: Extent, at_sector: u64 },
    /// `M`: the bio was merged at the back of `rq`.
    BackMerge { bio: BioId, rq: RqId, queue: QueueId, extent: Extent },
    /// `F`: the bio was merged at the front of `rq`.
    FrontMerge { bio: BioId, rq: RqId, queue: QueueId, extent: Extent },
    /// `M` or `F` (`traced`; of queued requests from 5.10 on) of two requests: `gone` was put behind, or in `front` of, `rq`;
    /// `extent` is the one of `gone`.
    RequestMerge { gone: RqId, rq: RqId, queue: QueueId, extent: Extent, traced: bool, front: bool },
    /// `G`: a request was obtained. `rq` is 0 where the letter precedes the allocation (before 4.20).
    GetRequest { bio: BioId, rq: RqId, queue: QueueId, extent: Extent },
    /// `S`: no request was free for the bio: its task will sleep (legacy path), or may have to (blk-mq in 4.4).
    SleepRequest { bio: BioId, queue: QueueId, extent: Extent },
    /// `P`: the task's plug was empty and received its first request.
    Plug { queue: QueueId },
    /// `U` (explicit) or `UT` (because the task sleeps): a plug, or one group of it, is flushed.
    Unplug { queue: QueueId, count: u32, explicit: bool },
    /// `I`: inserted in a ctx list, dispatch list or elevator.
    Insert { rq: RqId, queue: QueueId, hctx: HctxId, place: Place, extent: Extent },
    /// `D`: issued to the driver.
    Issue { rq: RqId, queue: QueueId, hctx: HctxId, extent: Extent },
    /// `R`: put back by the driver.
    Requeue { rq: RqId, queue: QueueId, hctx: HctxId, extent: Extent },
    /// `C`: completed. `cpu` of the event is the completing CPU. A request of a flush sequence shows it with its data,
    /// and again, without sectors, when the sequence has ended. `rq` is 0 for a bio of a dm disk, which has no request.
    Complete { rq: RqId, queue: QueueId, extent: Extent },

    // --- life of a request between the letters ------------------------------------------------------
    /// The request for `bio` now exists and holds sched tag `tag` of `hctx` (a scheduler is attached; the driver tag comes
    /// at dispatch).
    SchedTagAlloc { rq: RqId, bio: BioId, hctx: HctxId, tag: u32 },
    /// The sched tag went back to its bitmap.
    SchedTagFree { rq: RqId, hctx: HctxId, tag: u32 },
    /// The request for `bio` came from the queue's pool, which now has given out `count` for synchronous or asynchronous
    /// requests (legacy path; the driver tag comes at dispatch).
    PoolAlloc { rq: RqId, bio: BioId, queue: QueueId, sync: bool, count: u32 },
    /// The pool has no request for the bio: its task joins those that sleep until one comes back.
    PoolWait { bio: BioId, queue: QueueId, sync: bool },
    /// The request went back to the pool, which has `count` of its kind out.
    PoolFree { rq: RqId, queue: QueueId, sync: bool, count: u32 },
    /// The pool is congested for one kind of requests, or no longer (`blk_set_congested`, `blk_clear_congested`).
    Congested { queue: QueueId, sync: bool, on: bool },
    /// The request for `bio` holds driver tag `tag` of `hctx`; without a scheduler it exists from here on.
    TagAlloc { rq: RqId, bio: BioId, hctx: HctxId, tag: u32 },
    /// `task` found no free tag and sleeps on wait queue `wait_queue` (0 to 7).
    TagWait { bio: BioId, hctx: HctxId, wait_queue: u8 },
    /// The tag went back to the bitmap.
    TagFree { rq: RqId, hctx: HctxId, tag: u32 },
    /// The request joined the task's plug, which now holds `count`.
    PlugAdd { rq: RqId, queue: QueueId, count: u32 },
    /// The request waits for a flush of the device's write cache, in the flush queue of its hctx.
    FlushPending { rq: RqId, hctx: HctxId },
    /// The flush request `rq` is made for the `count` requests that wait, with the tag of the first of them, `of`
    /// (`blk_kick_flush`).
    FlushStart { rq: RqId, of: RqId, hctx: HctxId, count: u32 },
    /// The request joined `q->requeue_list`; a kworker will take it on.
    RequeueListAdd { rq: RqId, queue: QueueId },
    /// No driver tag was free for the request at dispatch: it waits in `hctx->dispatch`.
    NoDriverTag { rq: RqId, hctx: HctxId },
    /// The request joined `hctx->dispatch` without an `I` (refused by the driver or out of budget).
    DispatchListAdd { rq: RqId, hctx: HctxId },
    /// The request left its ctx list, elevator or dispatch list and is in the hands of a dispatcher.
    Dequeue { rq: RqId, hctx: HctxId, from: Place },
    /// The bio's I/O is complete in the kernel (`bio_endio`), `lat_ns` after the application began to hand it over.
    BioEnd { bio: BioId, lat_ns: u64 },
    /// The application took note of the finished I/O, `lat_ns` after it began to hand it over (fio's lat).
    Reap { bio: BioId, lat_ns: u64 },

    // --- hctx ---------------------------------------------------------------------------------------
    /// A run of the hctx begins on this CPU.
    RunBegin { hctx: HctxId },
    /// The run ends after sending `sent` requests.
    RunEnd { hctx: HctxId, sent: u32 },
    /// An asynchronous run was asked for; a kworker on `target` does it after `delay_ns`.
    RunScheduled { hctx: HctxId, target: CpuId, delay_ns: u64 },
    /// The doorbell was rung for `count` commands.
    Doorbell { hctx: HctxId, count: u32 },
    /// `dispatch_busy` of the hctx changed.
    DispatchBusy { hctx: HctxId, value: u8 },

    // --- locks and lines ----------------------------------------------------------------------------
    /// This CPU starts to spin on a lock held by `holder`, behind `waiters` others.
    LockWait { lock: ObjectId, holder: CpuId, waiters: u16 },
    /// This CPU took the lock after spinning `wait_ns`; fetching its line from CPU `from` cost `transfer_ns`.
    LockAcquire { lock: ObjectId, wait_ns: u64, transfer_ns: u32, from: CpuId },
    /// This CPU released the lock.
    LockRelease { lock: ObjectId, held_ns: u64 },
    /// A shared line moved from CPU `from` to this CPU; `wait_ns` is the queueing for the line itself.
    LineTransfer { line: ObjectId, from: CpuId, transfer_ns: u32, wait_ns: u32 },

    /// The task wants the lock of a file (`inode->i_rwsem`), for itself or shared, and will sleep behind `waiters` others.
    FileLockWait { lock: ObjectId, exclusive: bool, waiters: u16 },
    /// The task holds the lock of a file, after `wait_ns`.
    FileLockAcquire { lock: ObjectId, exclusive: bool, wait_ns: u64 },
    /// The task gave the lock of a file back.
    FileLockRelease { lock: ObjectId, exclusive: bool },

    /// `task` sleeps until fewer of `queue`'s asynchronous writes (or discards) are in flight: wbt lets `limit` be.
    WbtWait { bio: BioId, queue: QueueId, in_flight: u32, limit: u32 },
    /// wbt's limits changed: `REQ_SYNC` and reclaim, normal, beside other I/O.
    WbtLimits { queue: QueueId, max: u32, normal: u32, background: u32 },

    // --- page cache ---------------------------------------------------------------------------------
    /// A buffered write is through: its data is in memory; `dirty` bytes are now dirty in all.
    PageWrite { bio: BioId, queue: QueueId, extent: Extent, dirty: u64 },
    /// A buffered read is through; `hit`: all of it was in memory.
    PageRead { bio: BioId, queue: QueueId, extent: Extent, hit: bool },
    /// The writer has to sleep for `pause_ns`: `dirty` bytes are dirty or under writeback, and `limit` may be.
    DirtyThrottle { queue: QueueId, pause_ns: u64, dirty: u64, limit: u64 },
    /// The task or flusher begins to write up to `bytes` of a file, from `sector` on; `dirty` bytes are dirty and
    /// `writeback` bytes on their way in all.
    Writeback { queue: QueueId, sector: u64, bytes: u64, why: Why, dirty: u64, writeback: u64 },

    // --- CPUs and tasks -----------------------------------------------------------------------------
    /// The context of the event began on this CPU (for a task: it was switched in).
    ContextBegin,
    /// The context of the event ended or was switched out.
    ContextEnd,
    /// The task entered a system call that hands over `count` I/Os (0: it only collects).
    SyscallEnter { count: u32 },
    /// The task left the system call.
    SyscallExit,
    /// The task sleeps.
    TaskSleep { why: Sleep },
    /// The task was made runnable by this CPU.
    TaskWake { task: TaskId },
    /// The device finished `rq` and raised the interrupt of `hctx` (or of a host's reply queue) for this CPU.
    Irq { hctx: HctxId, rq: RqId },
    /// The task, spinning, found `rq` in the completion queue of poll queue `hctx`; no interrupt tells of it.
    Polled { hctx: HctxId, rq: RqId },
    /// A completion was sent to CPU `target` by an inter-processor interrupt.
    Ipi { target: CpuId },

    // --- device -------------------------------------------------------------------------------------
    /// The request passes a stage inside the device during `[start_ns, end_ns]`; `unit` is the die, channel, member or
    /// engine, all of the device counted on. Logged when the stage is decided, so both times may lie ahead of the event.
    /// Request 0: the device works for itself (a program, data from a cache, reading ahead).
    DeviceStage { rq: RqId, queue: QueueId, stage: Stage, unit: u16, start_ns: u64, end_ns: u64 },

    // --- checks -------------------------------------------------------------------------------------
    /// Something that must hold does not ([`crate::Sim::violations`] has it in words).
    Violation { invariant: Invariant },
}

/// One entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// Simulated time, ns.
    pub at_ns: u64,
    /// The CPU on which it happened.
    pub cpu: CpuId,
    /// The context that CPU was in.
    pub context: Context,
    /// The task whose context it was; [`NO_TASK`] for interrupts, kworkers and devices.
    pub task: TaskId,
    /// What happened.
    #[serde(flatten)]
    pub kind: Kind,
}

/// [`Event::task`] of events outside any task.
pub const NO_TASK: TaskId = TaskId::MAX;

impl Kind {
    /// The disk and blocks of an event that blktrace has a letter for; P and U have no blocks.
    pub fn subject(&self) -> Option<(QueueId, Option<Extent>)> {
        Some(match *self {
            Kind::Queue { queue, extent, .. }
            | Kind::Remap { queue, extent, .. }
            | Kind::Split { queue, extent, .. }
            | Kind::BackMerge { queue, extent, .. }
            | Kind::FrontMerge { queue, extent, .. }
            | Kind::RequestMerge { queue, extent, .. }
            | Kind::GetRequest { queue, extent, .. }
            | Kind::SleepRequest { queue, extent, .. }
            | Kind::Insert { queue, extent, .. }
            | Kind::Issue { queue, extent, .. }
            | Kind::Requeue { queue, extent, .. }
            | Kind::Complete { queue, extent, .. } => (queue, Some(extent)),
            Kind::Plug { queue } | Kind::Unplug { queue, .. } => (queue, None),
            _ => return None,
        })
    }

    /// The blktrace action letters of this event (`Q`, `UT`, ...), if blktrace has one for it.
    pub fn letter(&self) -> Option<&'static str> {
        Some(match self {
            Kind::Queue { .. } => "Q",
            Kind::Remap { traced: true, .. } => "A",
            Kind::Split { .. } => "X",
            Kind::BackMerge { .. } | Kind::RequestMerge { traced: true, front: false, .. } => "M",
            Kind::FrontMerge { .. } | Kind::RequestMerge { traced: true, front: true, .. } => "F",
            Kind::GetRequest { .. } => "G",
            Kind::SleepRequest { .. } => "S",
            Kind::Plug { .. } => "P",
            Kind::Unplug { explicit: true, .. } => "U",
            Kind::Unplug { explicit: false, .. } => "UT",
            Kind::Insert { .. } => "I",
            Kind::Issue { .. } => "D",
            Kind::Requeue { .. } => "R",
            Kind::Complete { .. } => "C",
            _ => return None,
        })
    }
}

/// The log: off (a run for numbers alone) or a buffer that the owner drains.
#[derive(Clone, Debug, Default)]
pub struct Log {
    on: bool,
    events: Vec<Event>,
}

impl Log {
    /// Turns logging on or off; what was logged stays.
    pub fn set_on(&mut self, on: bool) {
        self.on = on;
    }

    /// Whether events are kept.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// What was logged since the last [`Log::clear`].
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Appends an event if the log is on.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if self.on {
            self.events.push(event);
        }
    }
}
