//! The kernel path: bio, plug, ctx, tags, hctx runs, dispatch, direct issue, completion; and the legacy path beside it.
//!
//! The rules are those of the functions named in each frame; which of them hold is read from the knobs
//! ([`crate::kernel::Knobs`]), never from a version.

mod complete;
mod dispatch;
mod driver;
mod elevator;
mod flush;
mod issue;
mod legacy;
mod plug;
mod remap;
mod run;
mod sbitmap;
mod scsi;
mod send;
mod submit;
mod tags;
mod vector;
mod wbt;

pub(crate) use dispatch::CTX_MAP_BITS;
pub(crate) use elevator::Elevator;
pub(crate) use flush::{FlushQueue, Requeue, RequeueTo};
pub(crate) use legacy::{IoContext, Legacy, MIN_NR_REQUESTS};
pub(crate) use remap::{Layout, Stack};
pub(crate) use sbitmap::Tags;
pub(crate) use scsi::{Host, HostKind, Sdev};
pub(crate) use vector::{Coalesce, Vector, VectorId};
pub(crate) use wbt::{Throttled, Wbt, WbtTurn, throttled};

use crate::event::{BioId, Flags, HctxId, ObjectId, Op, Prio, QueueId, RqId, TaskId};
use std::collections::VecDeque;

/// Requests for which a list has room from the start.
pub(crate) const LIST_ROOM: usize = 512;

/// No slot of a slab.
pub(crate) const NONE: u32 = u32::MAX;

/// Statuses that `queue_rq` returns.
pub(crate) mod status {
    pub(crate) const OK: u32 = 0;
    /// BLK_STS_RESOURCE: nobody promised a restart.
    pub(crate) const RESOURCE: u32 = 1;
    /// BLK_STS_DEV_RESOURCE: a completion will restart the queue.
    pub(crate) const DEV_RESOURCE: u32 = 2;
    /// The LUN's budget is used up; the driver was not called.
    pub(crate) const NO_BUDGET: u32 = 3;
    /// No driver tag is free; the driver was not called.
    pub(crate) const NO_TAG: u32 = 4;
}

/// Whose an I/O is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IoRole {
    /// An application's direct I/O.
    #[default]
    Direct,
    /// An application's I/O through the page cache, which never reaches the block layer as such.
    Buffered,
    /// Dirty pages of this file on their way to the disk.
    Writeback(u16),
    /// Pages of this file being read.
    Fill(u16),
}

/// One I/O of an application or of the page cache; a large one becomes several bios.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Io {
    /// Its task polls for the completion (REQ_HIPRI, REQ_POLLED).
    pub polled: bool,
    pub id: BioId,
    pub task: TaskId,
    pub queue: QueueId,
    pub op: Op,
    pub flags: Flags,
    pub prio: Prio,
    pub sector: u64,
    pub sectors: u32,
    /// Bios not yet completed.
    pub pending: u32,
    /// When the application began to hand it over, when it was handed over, ns.
    pub start_ns: u64,
    pub issued_ns: u64,
    /// Completed while still being handed over (the slat is then settled at hand-over).
    pub done_ns: u64,
    /// Its task sleeps in the call that made it (`fsync`, BLKDISCARD) until it is done.
    pub call: bool,
    /// It was a flush, and the device has no write cache: it never came to the queue.
    pub dropped: bool,
    pub role: IoRole,
    /// A buffered read that had to wait for the disk.
    pub waited: bool,
}

/// A part of an I/O that became or joined a request.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Bio {
    pub io: u32,
    /// Where it is bound for now; differs from the I/O's disk below a stacked disk.
    pub queue: QueueId,
    pub sector: u64,
    pub sectors: u32,
    /// When it arrived at the queue (Q), ns.
    pub q_ns: u64,
    /// Next bio of the request.
    pub next: u32,
}

/// A request.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Request {
    pub id: RqId,
    pub task: TaskId,
    pub queue: QueueId,
    pub hctx: HctxId,
    /// CPU of its ctx.
    pub cpu: u16,
    pub op: Op,
    pub flags: Flags,
    pub prio: Prio,
    pub sector: u64,
    pub sectors: u32,
    pub segments: u32,
    pub bio_first: u32,
    pub bio_last: u32,
    /// Driver tag, [`NONE`] until dispatch with a scheduler.
    pub tag: u32,
    /// Sched tag, [`NONE`] without a scheduler.
    pub sched_tag: u32,
    /// Its place in the elevator's hash of ends: (end, order of hashing); order 0 where it has none.
    pub hashed: (u64, u32),
    pub q_ns: u64,
    pub g_ns: u64,
    /// First insertion, ns; 0 if it never stood in a list.
    pub i_ns: u64,
    pub d_ns: u64,
    /// CPU that issued it.
    pub issue_cpu: u16,
    /// CPU in whose cache its struct request is.
    pub struct_owner: u16,
    /// CPU in whose cache what its driver keeps for it is.
    pub owner: u16,
    /// Holds the LUN's budget already.
    pub has_budget: bool,
    /// Word of the budget's bitmap that it took.
    pub budget_word: u32,
    /// The device will answer it with status BUSY.
    pub busy_status: bool,
    /// The count of wbt in which it holds a place.
    pub wbt: Option<Throttled>,
    /// Steps of a flush sequence that are done; 0 outside of one.
    pub flush_seq: u8,
    pub requeue_to: RequeueTo,
    /// The scheduler knows it.
    pub in_sched: bool,
    /// Its driver has seen it since it was last put back (RQF_STARTED, legacy path).
    pub started: bool,
    /// Time between D and R of the attempts that were put back, ns.
    pub refused_ns: u64,
}

/// Sectors of a page, the size of a segment in this model.
pub(crate) const PAGE_SECTORS: u32 = 8;

/// Segments of so many sectors; a discard has no data.
pub(crate) fn segments(op: Op, sectors: u32) -> u32 {
    if op == Op::Discard { 0 } else { sectors.div_ceil(PAGE_SECTORS) }
}

impl Io {
    /// A write for which nobody waits.
    pub(crate) fn is_asynchronous(&self) -> bool {
        throttled(self.op, self.flags) == Some(Throttled::Write)
    }

    pub(crate) fn extent(&self) -> crate::event::Extent {
        crate::event::Extent { op: self.op, flags: self.flags, sector: self.sector, sectors: self.sectors }
    }

    /// It goes through the flush machinery where the device has a write cache (`op_is_flush`).
    pub(crate) fn is_flush(&self) -> bool {
        self.flags.any(Flags::FLUSH)
    }

    /// Flushes and writes past the cache stay alone (REQ_NOMERGE_FLAGS).
    pub(crate) fn mergeable(&self) -> bool {
        self.op != Op::Flush && !self.is_flush()
    }
}

impl Request {
    /// As [`Io::mergeable`] (`rq_mergeable`); nor do parts of a flush sequence.
    pub(crate) fn mergeable(&self) -> bool {
        self.op != Op::Flush && !self.flags.any(Flags::FLUSH) && !self.in_flush_seq()
    }

    pub(crate) fn extent(&self) -> crate::event::Extent {
        crate::event::Extent { op: self.op, flags: self.flags, sector: self.sector, sectors: self.sectors }
    }
}

/// A task's plug.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Plug {
    pub active: bool,
    /// Requests in submission order.
    pub list: VecDeque<u32>,
    /// Requests of more than one queue were added.
    pub multi: bool,
    /// I/Os announced by `blk_start_plug_nr_ios` and not yet used for a batch of tags.
    pub announced: u32,
    /// Tags taken in one batch and not yet used: (hctx, tag).
    pub cached: VecDeque<(HctxId, u32)>,
}

/// A software queue: one for each CPU and request queue.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Ctx {
    pub list: VecDeque<u32>,
    pub lock: ObjectId,
}

/// The delayed work of an hctx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    #[default]
    Idle,
    /// A timer runs.
    Delayed,
    /// On the run queue of a CPU.
    Queued,
}

/// A hardware context.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Hctx {
    pub queue: QueueId,
    pub cpus: Vec<u16>,
    /// ctx of CPU 0 for requests of its type (`ctx->rq_lists[type]`).
    pub first_ctx: u32,
    /// It has no interrupt (HCTX_TYPE_POLL).
    pub poll: bool,
    /// Requests that the device has finished and nobody has found yet, where it has no interrupt.
    pub completions: VecDeque<u32>,
    /// Pending bits of the ctxs, by CPU number (machines have at most 128). The kernel keeps 8 to a word, each word
    /// on a line of its own.
    pub ctx_map: u128,
    /// Words of ctx_map that were ever written; the others cost nothing to read.
    pub ctx_map_used: u16,
    /// Object of the first ctx_map word; the others follow.
    pub ctx_map_line: ObjectId,
    /// Next ctx for one-by-one dispatch.
    pub dispatch_from: u16,
    pub dispatch: VecDeque<u32>,
    pub lock: ObjectId,
    /// queued, run, dispatched and the state word.
    pub counters_line: ObjectId,
    /// SCHED_RESTART.
    pub restart: bool,
    pub dispatch_busy: u8,
    pub work: Work,
    /// When its delayed run is due, ns.
    pub work_due_ns: u64,
    /// When its timer in the agenda fires, which may be earlier, ns.
    pub work_timer_ns: Option<u64>,
    /// The work runs now on this CPU (a work item never runs twice at once).
    pub work_running: Option<u16>,
    /// Asked for again while running.
    pub work_again: bool,
    pub next_cpu: u16,
    pub next_cpu_batch: u8,
    pub tags: u16,
    /// Bitmap of the sched tags, where a scheduler is attached.
    pub sched_tags: Option<u16>,
    /// When its latest run began, ns.
    pub run_began_ns: u64,
    /// Requests in the elevator that were inserted through this hctx (`hctx->elevator_queued`).
    pub elevator_queued: u32,
    /// It stands in a wait queue of its tag bitmap (`hctx->dispatch_wait`).
    pub waits_for_tag: bool,
    /// Line of the count of active requests, where the tag set is shared.
    pub active_line: ObjectId,
    /// Submission queue lock (NVMe).
    pub sq_lock: ObjectId,
    /// Commands written to the submission queue since the last doorbell.
    pub unrung: VecDeque<u32>,
    /// CPU on which delayed work is to run.
    pub work_target: u16,
    /// Its interrupt (NVMe).
    pub vector: Vector,
    /// Its flush queue, where the device has a write cache.
    pub fq: Option<FlushQueue>,
}

/// Which driver serves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Driver {
    Null,
    Nvme,
    /// SCSI on the host with this index.
    Scsi(u16),
    /// Bio-based: no requests of its own, bios are passed on to member disks.
    Stacked,
}

/// A request queue.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Queue {
    pub driver: Driver,
    pub device: u16,
    pub lun: u16,
    pub first_hctx: HctxId,
    pub nr_hctx: u16,
    /// hctx of each CPU.
    pub map: Vec<HctxId>,
    /// Poll queue of each CPU; empty where there are none.
    pub poll_map: Vec<HctxId>,
    /// All its hctxs, more than one, share the tags of their host (BLK_MQ_F_TAG_HCTX_SHARED).
    pub host_tags: bool,
    pub sectors: u64,
    pub max_sectors: u32,
    pub max_segments: u32,
    /// Largest discard, and the unit at whose multiples a longer one is cut, sectors.
    pub max_discard_sectors: u32,
    pub discard_granularity: u32,
    /// The device has a write cache that flushes empty; and it can write past it.
    pub write_cache: bool,
    pub fua: bool,
    /// The device takes a flush only alone.
    pub flush_not_queued: bool,
    /// For such a device: commands it holds, whether one is a flush, and whether it refused one since the last
    /// completion (`sdev->device_blocked`).
    pub in_device: u32,
    pub flush_in_device: bool,
    pub device_blocked: bool,
    pub requeue: Requeue,
    pub nomerges: u8,
    pub rq_affinity: u8,
    pub rotational: bool,
    /// LUN budget: commands in the device, the limit, and the line.
    pub device_busy: u32,
    pub queue_depth: u32,
    pub busy_line: ObjectId,
    /// Words of the budget's bitmap; their lines follow `busy_line`.
    pub budget_words: u32,
    /// Requests holding a tag, for the fair share of a shared tag set.
    pub nr_active: u32,
    /// It has used a tag of its shared set.
    pub active: bool,
    /// Somebody failed to get budget since the last run (`sdev->restarts`).
    pub restarts: bool,
    /// What it has as a LUN.
    pub sdev: Sdev,
    /// `q->requeue_lock`, for the list in `requeue`.
    pub requeue_lock: ObjectId,
    pub ref_line: ObjectId,
    /// q->queue_lock: the legacy path's one lock; with blk-mq bfq's look-up of the io context.
    pub queue_lock: ObjectId,
    /// How a stacked disk lies on its members.
    pub stack: Option<Stack>,
    /// Writeback throttling, unless it is off.
    pub wbt: Option<Box<Wbt>>,
    /// The attached scheduler.
    pub elevator: Option<Elevator>,
    /// What the legacy path keeps, where the disk is on it.
    pub legacy: Option<Legacy>,
    /// Stands for the lines of all requests in the table of lines.
    pub request_line: ObjectId,
}

/// Cache lines of struct request with its bio that its next handler has to fetch (estimated).
pub(crate) const STRUCT_LINES: u32 = 2;

impl Queue {
    /// Cache lines that the driver keeps for a request and its next handler has to fetch (scsi_cmnd, the adapter's
    /// command), besides those of the request itself, [`STRUCT_LINES`] (estimated, 2 to 8 in all for SCSI).
    pub(crate) fn driver_lines(&self) -> u32 {
        match self.driver {
            Driver::Null | Driver::Stacked => 0,
            Driver::Nvme => 1,
            Driver::Scsi(_) => 3,
        }
    }

    /// Sectors of a request at most (`blk_queue_get_max_sectors`).
    pub(crate) fn max_sectors_of(&self, op: Op) -> u32 {
        if op == Op::Discard { self.max_discard_sectors } else { self.max_sectors }
    }

    /// Sectors of the first piece of a bio that begins at `sector`; all of them if it need not be split
    /// (`bio_split_rw`, `bio_split_discard`).
    pub(crate) fn first_piece(&self, op: Op, sector: u64, sectors: u32) -> u32 {
        if op != Op::Discard {
            return sectors.min(self.max_sectors).min(self.max_segments.saturating_mul(PAGE_SECTORS));
        }
        let granularity = self.discard_granularity.max(1);
        let most = self.max_discard_sectors - self.max_discard_sectors % granularity;
        if most == 0 || sectors <= most {
            return sectors;
        }
        // The rest begins at a multiple of the granularity.
        let over = ((sector + u64::from(most)) % u64::from(granularity)) as u32;
        if most > over { most - over } else { most }
    }

    /// Whether the device refuses this command now (`ata_std_qc_defer`).
    pub(crate) fn defers(&self, op: Op) -> bool {
        self.flush_not_queued && if op == Op::Flush { self.in_device > 0 } else { self.flush_in_device }
    }

    /// Whether the driver has `commit_rqs` (it rings the doorbell once for a list).
    pub(crate) fn has_commit_rqs(&self) -> bool {
        self.driver == Driver::Nvme
    }
    pub(crate) fn scsi(&self) -> bool {
        matches!(self.driver, Driver::Scsi(_))
    }
}
