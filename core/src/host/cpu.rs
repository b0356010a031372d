//! A CPU and the frames it runs.

use super::Machine;
use crate::event::Context;
use std::collections::VecDeque;

/// What a CPU's time is booked under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    User = 0,
    System = 1,
    HardIrq = 2,
    SoftIrq = 3,
}

/// Something that can be switched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Runnable {
    /// A task.
    Task(u16),
    /// A kblockd worker for the run work of this hctx.
    Work(u16),
    /// A kblockd worker for the requeue work of this queue.
    Requeue(u16),
    /// One for the LUN of this queue (`scsi_requeue_run_queue`).
    SdevWork(u16),
}

impl Runnable {
    pub(crate) fn pack(self) -> u32 {
        match self {
            Runnable::Task(t) => u32::from(t),
            Runnable::Work(h) => 1 << 16 | u32::from(h),
            Runnable::Requeue(q) => 2 << 16 | u32::from(q),
            Runnable::SdevWork(q) => 3 << 16 | u32::from(q),
        }
    }

    pub(crate) fn unpack(word: u32) -> Self {
        let id = word as u16;
        match word >> 16 {
            0 => Runnable::Task(id),
            1 => Runnable::Work(id),
            2 => Runnable::Requeue(id),
            _ => Runnable::SdevWork(id),
        }
    }
}

/// One kernel function under way, or a task's own program. `pc` is the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Frame {
    /// A fio process.
    Fio { pc: u8 },
    /// A batch thread.
    Batch { pc: u8 },
    /// A client of dbench.
    Dbench { pc: u8 },
    /// `xfs_log_force_lsn` or `jbd2_log_wait_commit`: the caller has joined commit `commit`.
    LogForce { pc: u8, commit: u32 },
    /// A commit is written to the log.
    LogWrite { pc: u8 },
    /// The thread that writes the log.
    LogWorker,
    /// `io_submit`: the task's prepared I/Os from `next` on.
    IoSubmit { pc: u8, next: u32 },
    /// `inode_lock` or `inode_lock_shared`, for an I/O of kind `op`.
    FileLock { pc: u8, lock: u16, op: crate::event::Op },
    /// `blk_mq_make_request` / `blk_mq_submit_bio`; `at` is the first sector not yet handed on.
    SubmitBio { pc: u8, bio: u32, part: u32, rq: u32 },
    /// `rq_qos_wait`: wbt lets an asynchronous write through or keeps it.
    WbtWait { pc: u8, bio: u32 },
    /// `generic_file_read_iter` or `generic_perform_write`: an application's I/O through the page cache; `done` pages are
    /// through.
    BufferedIo { pc: u8, io: u32, done: u32 },
    /// `balance_dirty_pages`: a writer may have to sleep.
    BalanceDirty { pc: u8, inode: u16 },
    /// `write_cache_pages`: sends the dirty pages that the task's writeout names.
    WritePages { pc: u8, io: u32 },
    /// `wb_workfn`: a flusher's whole life.
    Flusher { pc: u8 },
    /// `vfs_fsync_range`: dirty pages, their completion, the disk's cache. `nested`: inside another call.
    SyncFile { pc: u8, inode: u16, nested: bool },
    /// `sync_file_range`.
    SyncPages { pc: u8, inode: u16, how: crate::workload::SyncRange },
    /// `posix_fadvise(POSIX_FADV_DONTNEED)`.
    DontNeed { pc: u8, inode: u16 },
    /// `raid0_make_request` or `dm_submit_bio`: a stacked disk hands the pieces of a bio to its members.
    Remap { pc: u8, bio: u32, part: u32 },
    /// `blk_mq_get_request` / `__blk_mq_alloc_requests`; returns a request slot.
    GetRequest { pc: u8, bio: u32, hctx: u16 },
    /// `blk_mq_flush_plug_list`; `list` holds what is being flushed, in flush order.
    FlushPlug { pc: u8, from_schedule: bool, list: u32, group: u32 },
    /// `dd_bio_merge` and its like: the bio into a queued request; returns 1 if it was merged.
    SchedMerge { pc: u8, bio: u32, merged: bool },
    /// `dd_insert_requests` and its like: a list into the scheduler, then the run of the hctx.
    ElvInsert { pc: u8, hctx: u16, list: u32, cpu: u16, run_async: bool },
    /// `blk_mq_do_dispatch_sched`; returns sent * 2 + (1 to start the run again).
    DispatchSched { pc: u8, hctx: u16, list: u32, rq: u32, sent: u16 },
    /// The scheduler learns of a completion.
    SchedCompleted { pc: u8, rq: u32 },
    /// A timer of the scheduler.
    SchedTimer { pc: u8, queue: u16, token: u32 },
    /// `blk_mq_sched_insert_requests` for one group.
    InsertRequests { pc: u8, hctx: u16, ctx: u32, list: u32, run_async: bool },
    /// `blk_mq_try_issue_list_directly` / `blk_mq_plug_issue_direct`; returns 1 if all were issued.
    IssueList { pc: u8, list: u32, rq: u32, whole_plug: bool },
    /// `blk_mq_try_issue_directly` for one request; failure is handled inside.
    IssueDirectly { pc: u8, rq: u32 },
    /// `nvme_queue_rqs`: the whole list under one lock and one doorbell.
    QueueRqs { pc: u8, list: u32, next: u32 },
    /// `blk_mq_run_hw_queue`.
    RunHwQueue { pc: u8, hctx: u16, run_async: bool },
    /// `blk_mq_sched_dispatch_requests`; `again`: it started anew because something joined hctx->dispatch.
    Dispatch { pc: u8, hctx: u16, list: u32, sent: u32, again: bool },
    /// `blk_mq_flush_busy_ctxs` into `list`.
    FlushBusyCtxs { pc: u8, hctx: u16, list: u32, bit: u16 },
    /// `blk_mq_do_dispatch_ctx`.
    DispatchCtx { pc: u8, hctx: u16, list: u32, bit: u16, sent: u16 },
    /// `blk_mq_dispatch_rq_list`; returns 1 if the run may go on.
    DispatchRqList { pc: u8, hctx: u16, list: u32, rq: u32, sent: u16 },
    /// The driver's `queue_rq`; returns a status.
    QueueRq { pc: u8, rq: u32, last: bool },
    /// A hard interrupt: completions waiting on this CPU's vectors.
    HardIrq { pc: u8 },
    /// The BLOCK softirq.
    SoftIrq,
    /// `blk_mq_complete_request` and all behind it, for one request.
    Complete { pc: u8, rq: u32, softirq: bool },
    /// `blk_mq_run_hw_queues`: every hctx of the queue.
    RunHwQueues { pc: u8, queue: u16, next: u16, run_async: bool },
    /// `blk_mq_run_work_fn` on a kworker.
    RunWork { pc: u8, hctx: u16 },
    /// A call of a task that sleeps until its one I/O is done: `fsync`, BLKDISCARD. `nested`: inside another call.
    SyncCall { pc: u8, io: u32, nested: bool },
    /// `blk_flush_complete_seq` under the lock of the flush queue; `completing`: `rq` comes from the device.
    FlushSeq { pc: u8, hctx: u16, list: u32, rq: u32, completing: bool },
    /// `blk_mq_requeue_work` on a kworker.
    RequeueWork { pc: u8, queue: u16, list: u32, rq: u32 },
    /// `blk_mq_requeue_request` of a command that the device did not do.
    RequeueRq { pc: u8, rq: u32 },
    /// `scsi_run_queue` on a kworker.
    ScsiRunQueue { pc: u8, queue: u16, left: u16 },
    /// `blk_queue_bio`: a bio on the legacy path.
    QueueBio { pc: u8, bio: u32, rq: u32 },
    /// `blk_flush_plug_list`: requests of the legacy path, `depth` of them inserted in `queue`.
    FlushPlugList { pc: u8, from_schedule: bool, queue: u16, list: u32, depth: u32 },
    /// `blk_run_queue`.
    RunQueue { pc: u8, queue: u16 },
    /// The driver's `request_fn`, with `q->queue_lock` held.
    RequestFn { pc: u8, queue: u16, rq: u32, sent: u32 },
    /// The driver's `softirq_done_fn` and all behind it, for one request of the legacy path.
    SoftirqDone { pc: u8, rq: u32, starved: u32 },
}

impl Frame {
    /// The kernel function (or program) this frame stands for.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Frame::Fio { .. } => "fio",
            Frame::Batch { .. } => "iob",
            Frame::Dbench { .. } => "dbench",
            Frame::LogForce { .. } => "log_force",
            Frame::LogWrite { .. } => "xlog_sync",
            Frame::LogWorker => "log worker",
            Frame::IoSubmit { .. } => "io_submit",
            Frame::FileLock { .. } => "inode_lock",
            Frame::SubmitBio { .. } => "blk_mq_submit_bio",
            Frame::WbtWait { .. } => "rq_qos_wait",
            Frame::BufferedIo { .. } => "vfs_read, vfs_write",
            Frame::BalanceDirty { .. } => "balance_dirty_pages",
            Frame::WritePages { .. } => "write_cache_pages",
            Frame::Flusher { .. } => "wb_workfn",
            Frame::SyncFile { .. } => "vfs_fsync_range",
            Frame::SyncPages { .. } => "sync_file_range",
            Frame::DontNeed { .. } => "posix_fadvise",
            Frame::Remap { .. } => "submit_bio of a stacked disk",
            Frame::GetRequest { .. } => "blk_mq_get_request",
            Frame::FlushPlug { .. } => "blk_mq_flush_plug_list",
            Frame::SchedMerge { .. } => "blk_mq_sched_bio_merge",
            Frame::ElvInsert { .. } => "elevator insert_requests",
            Frame::DispatchSched { .. } => "blk_mq_do_dispatch_sched",
            Frame::SchedCompleted { .. } => "elevator completed_request",
            Frame::SchedTimer { .. } => "elevator timer",
            Frame::InsertRequests { .. } => "blk_mq_sched_insert_requests",
            Frame::IssueList { .. } => "blk_mq_try_issue_list_directly",
            Frame::IssueDirectly { .. } => "blk_mq_try_issue_directly",
            Frame::QueueRqs { .. } => "nvme_queue_rqs",
            Frame::RunHwQueue { .. } => "blk_mq_run_hw_queue",
            Frame::Dispatch { .. } => "blk_mq_sched_dispatch_requests",
            Frame::FlushBusyCtxs { .. } => "blk_mq_flush_busy_ctxs",
            Frame::DispatchCtx { .. } => "blk_mq_do_dispatch_ctx",
            Frame::DispatchRqList { .. } => "blk_mq_dispatch_rq_list",
            Frame::QueueRq { .. } => "queue_rq",
            Frame::HardIrq { .. } => "handle_irq_event",
            Frame::SoftIrq => "blk_done_softirq",
            Frame::Complete { .. } => "blk_mq_complete_request",
            Frame::RunHwQueues { .. } => "blk_mq_run_hw_queues",
            Frame::RunWork { .. } => "blk_mq_run_work_fn",
            Frame::SyncCall { .. } => "submit_bio_wait",
            Frame::FlushSeq { .. } => "blk_flush_complete_seq",
            Frame::RequeueWork { .. } => "blk_mq_requeue_work",
            Frame::RequeueRq { .. } => "blk_mq_requeue_request",
            Frame::ScsiRunQueue { .. } => "scsi_run_queue",
            Frame::QueueBio { .. } => "blk_queue_bio",
            Frame::FlushPlugList { .. } => "blk_flush_plug_list",
            Frame::RunQueue { .. } => "blk_run_queue",
            Frame::RequestFn { .. } => "request_fn",
            Frame::SoftirqDone { .. } => "softirq_done_fn",
        }
    }
}

/// How a step ends.
pub(crate) enum Flow {
    /// Let the owed time pass, then go on with this frame.
    Pay(Frame),
    /// Go on with this frame at once.
    Go(Frame),
    /// Call the second frame; the first goes on when it returns.
    Call(Frame, Frame),
    /// Return a value to the caller.
    Ret(u32),
    /// Spin for a lock; whoever hands it over resumes this frame.
    Spin(Frame),
    /// The task sleeps; a wake-up resumes this frame.
    Sleep(Frame, crate::event::Sleep),
    /// The task lets others run and stays runnable.
    Yield(Frame),
    /// The interrupt or softirq is over: give back what was interrupted.
    Resume,
}

/// A lock that was handed over to a spinning CPU and is taken when the CPU resumes.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Grant {
    pub lock: u32,
    pub wait_ns: u64,
    pub transfer_ns: u32,
    pub from: u16,
}

/// A logical CPU.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Cpu {
    pub socket: u16,
    /// Last-level cache, over the machine (`cpus_share_cache`).
    pub cache: u16,
    pub core: u16,
    /// The context under way, outermost first; empty when idle.
    pub stack: Vec<Frame>,
    /// Task or kworker at the bottom of the stack.
    pub current: Option<Runnable>,
    pub mode: Mode,
    /// CPU time charged and not yet passed, ns.
    pub debt: u64,
    /// Value of the last returned frame.
    pub ret: u32,
    pub runq: VecDeque<Runnable>,
    /// When the current runnable was switched in, ns.
    pub switched_in_ns: u64,
    /// Lock it spins for, and since when.
    pub spinning: Option<(u32, u64)>,
    /// Set by the hand-over, logged on resumption.
    pub granted: Option<Grant>,
    pub locks_held: u8,
    pub in_irq: bool,
    pub in_softirq: bool,
    /// What interrupts and softirqs interrupted: its account and the time it still owed.
    pub interrupted: Vec<(Mode, u64)>,
    /// Scheduler timers that fired here: (queue, token).
    pub timer_queue: VecDeque<(u16, u32)>,
    /// Completed requests whose interrupt is to be taken here.
    pub irq_queue: VecDeque<u32>,
    /// Requests to be completed by the softirq here.
    pub done_queue: VecDeque<u32>,
    /// Requests that arrived by IPI to be completed here.
    pub ipi_queue: VecDeque<u32>,
    /// Time used, by [`Mode`], ns.
    pub used_ns: [u64; 4],
    /// Time spent spinning, ns (not in `used_ns`).
    pub spin_ns: u64,
    /// Part of `used_ns` that is fetching lines and waiting for them, ns.
    pub line_ns: u64,
    /// Tasks and kworkers switched to.
    pub switches: u64,
}

impl Cpu {
    /// A thread of this core of a machine.
    pub(crate) fn new(machine: &Machine, core: u16) -> Self {
        Self {
            socket: core / machine.cores_per_socket,
            cache: core / machine.cores_per_cache,
            core,
            stack: Vec::with_capacity(16),
            current: None,
            mode: Mode::System,
            debt: 0,
            ret: 0,
            runq: VecDeque::with_capacity(8),
            switched_in_ns: 0,
            spinning: None,
            granted: None,
            locks_held: 0,
            in_irq: false,
            in_softirq: false,
            interrupted: Vec::with_capacity(4),
            timer_queue: VecDeque::new(),
            irq_queue: VecDeque::with_capacity(64),
            done_queue: VecDeque::with_capacity(64),
            ipi_queue: VecDeque::with_capacity(16),
            used_ns: [0; 4],
            spin_ns: 0,
            line_ns: 0,
            switches: 0,
        }
    }

    /// Whether nothing runs here (an interrupt would find the idle loop).
    pub(crate) fn idle(&self) -> bool {
        self.stack.is_empty()
    }

    /// Whether an interrupt may enter now.
    pub(crate) fn takes_irq(&self) -> bool {
        !self.in_irq && self.locks_held == 0 && self.spinning.is_none()
    }

    /// The context it is in, for the log.
    pub(crate) fn context(&self) -> Context {
        if self.in_irq {
            Context::HardIrq
        } else if self.in_softirq {
            Context::SoftIrq
        } else {
            match self.current {
                Some(Runnable::Task(_)) => Context::Task,
                Some(_) => Context::Kworker,
                None => Context::Idle,
            }
        }
    }
}
