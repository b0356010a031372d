//! Tasks: their state, the system call that submits, and what a completion does to them.

use crate::block::{Bio, Io, IoContext, IoRole, Layout, NONE, Plug, WbtTurn};
use crate::engine::agenda::Timed;
use crate::event::{Extent, Flags, Kind, Op, Prio, Sleep, TaskId};
use crate::host::{Flow, Frame, Mode};
use crate::kernel::DioPlug;
use crate::pagecache::CacheUse;
use crate::sim::Sim;
use crate::workload::Engine;
use std::collections::VecDeque;

/// io_uring plugs a submission of more than this many entries (IO_PLUG_THRESHOLD).
const URING_PLUG_ABOVE: u32 = 2;

/// A direct I/O of more than 256 pages takes the way of several bios (BIO_MAX_PAGES, BIO_MAX_VECS).
const LARGE_SECTORS: u32 = 256 * 8;

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TaskState {
    Running,
    Runnable,
    Sleeping(Sleep),
}

/// A process of a fio job, or the batch thread.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Task {
    pub job: u16,
    pub cpu: u16,
    pub state: TaskState,
    /// Its frames while it is not on a CPU.
    pub stack: Vec<Frame>,
    pub plug: Plug,
    /// Tag bitmap and wait queue it stands in.
    pub tag_wait: Option<(u16, u8)>,
    /// What the request pools of the legacy path know of it.
    pub io_context: IoContext,
    /// I/Os handed over and not yet reaped.
    pub in_flight: u32,
    /// I/Os prepared and not yet handed over.
    pub prepared: VecDeque<u32>,
    /// Completed I/Os not yet reaped.
    pub ring: VecDeque<u32>,
    pub ring_line: u32,
    /// Completions it waits for while it sleeps in the kernel.
    pub wants: u32,
    pub file: super::file_lock::FileUse,
    pub wbt: WbtTurn,
    /// It polls for its completions.
    pub polls: bool,
    /// What it has to do with the page cache.
    pub cache: CacheUse,
    /// Its I/O priority.
    pub prio: Prio,
    pub program: Program,
}

/// A task's own state.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Program {
    /// Index of the process within its job.
    pub process: u32,
    pub started_ns: u64,
    /// When its timer fires; other timers of it are stale.
    pub wake_at_ns: u64,
    /// I/Os and bytes prepared so far.
    pub ios: u64,
    pub bytes: u64,
    /// Next sequential byte from the start of the region, for each file and direction.
    pub position: Vec<[u64; 2]>,
    /// Where the last I/O lay in its region and its bytes, and how many more go from there, by direction.
    pub last: [(u64, u64); 2],
    pub run: [u32; 2],
    /// Blocks drawn from the random map.
    pub mapped: u64,
    /// How often it has started its file over, by direction.
    pub laps: [u64; 2],
    /// Earliest time of the next I/O, by direction, ns.
    pub next_allowed_ns: [u64; 2],
    pub since_think: u32,
    /// Only reaping until so few are in flight (iodepth_low).
    pub draining: bool,
    /// Next step of a batch script.
    pub step: u32,
    /// Next discard of the step; next disk of the `fsync`s at the end.
    pub call: u32,
    /// Writes since the last `fsync`.
    pub unsynced: u32,
    /// Writes since the last `sync_file_range`, and the bytes that they cover.
    pub unranged: u32,
    pub range: (u64, u64),
    /// The block under way: (disk, first byte, bytes).
    pub block: (u16, u64, u32),
    /// CPU time to its next call, ns.
    pub work_left_ns: u64,
    /// When its call began, ns.
    pub called_ns: u64,
}

/// A job section (or the batch script) as a whole.
#[derive(Clone, Debug, Hash)]
pub(crate) struct JobState {
    pub phase: u32,
    /// Processes not yet ended.
    pub running: u32,
}

impl Sim {
    /// Engine of the task's job; a flusher submits as asynchronous engines do.
    pub(crate) fn engine(&self, t: usize) -> Engine {
        match &self.scenario.workload {
            crate::workload::Workload::Jobs(jobs) => {
                jobs.get(self.tasks[t].job as usize).map_or(Engine::Libaio, |job| job.engine)
            }
            crate::workload::Workload::Batch(_) => Engine::Libaio,
            crate::workload::Workload::Dbench(_) => Engine::Psync,
        }
    }

    /// Makes an I/O ready to be handed over; writes of a file opened with O_DSYNC ask for FUA.
    pub(crate) fn prepare(&mut self, t: usize, queue: u16, op: Op, offset: u64, len: u32, dsync: bool) {
        let fua = if dsync && op == Op::Write { Flags::FUA } else { Flags::NONE };
        let io = self.new_io(t, queue, op, fua, offset, len.max(512));
        self.ios[io].polled = self.tasks[t].polls;
        if self.inode_of(t, queue).is_some() {
            self.ios[io].role = IoRole::Buffered;
        }
        self.tasks[t].prepared.push_back(io);
    }

    pub(crate) fn is_buffered(&self, io: u32) -> bool {
        self.ios[io].role == IoRole::Buffered
    }

    /// `fsync` of a disk: a bio without data that asks for a flush (`blkdev_issue_flush`).
    pub(crate) fn new_fsync(&mut self, t: usize, queue: u16) -> u32 {
        self.new_io(t, queue, Op::Write, Flags::PREFLUSH, 0, 0)
    }

    /// The write of a journal's commit record (REQ_PREFLUSH and REQ_FUA).
    pub(crate) fn new_commit(&mut self, t: usize, queue: u16, offset: u64, len: u32) -> u32 {
        self.new_io(t, queue, Op::Write, Flags::PREFLUSH.and(Flags::FUA), offset, len.max(512))
    }

    /// The write of a file's data that `fsync` waits for.
    pub(crate) fn new_write(&mut self, t: usize, queue: u16, offset: u64, len: u32) -> u32 {
        self.new_io(t, queue, Op::Write, Flags::NONE, offset, len.max(512))
    }

    /// BLKDISCARD of a part of a disk.
    pub(crate) fn new_discard(&mut self, t: usize, queue: u16, offset: u64, len: u32) -> u32 {
        self.new_io(t, queue, Op::Discard, Flags::NONE, offset, len.max(512))
    }

    pub(crate) fn new_io(&mut self, t: usize, queue: u16, op: Op, also: Flags, offset: u64, len: u32) -> u32 {
        self.next_bio += 1;
        let Extent { flags, .. } = Extent::new(op, 0, 0);
        let mut flags = flags.and(also);
        if self.knobs.psync_sync && self.engine(t) == Engine::Psync {
            flags = flags.and(Flags::SYNC);
        }
        self.ios.add(Io {
            polled: false,
            id: self.next_bio,
            task: t as TaskId,
            queue,
            op,
            flags,
            prio: self.tasks[t].prio,
            sector: offset / 512,
            sectors: len.div_ceil(512),
            pending: 1,
            start_ns: self.now,
            issued_ns: 0,
            done_ns: 0,
            call: false,
            dropped: false,
            role: IoRole::Direct,
            waited: false,
        })
    }

    /// A task enters a system call for `count` I/Os.
    pub(crate) fn enter_call(&mut self, c: usize, count: u32) {
        self.set_mode(c, Mode::System);
        self.emit(c, Kind::SyscallEnter { count });
        self.charge(c, self.costs.syscall / 2);
    }

    /// It is about to return from the call.
    pub(crate) fn leave_call(&mut self, c: usize) {
        self.emit(c, Kind::SyscallExit);
        self.charge(c, self.costs.syscall / 2);
    }

    /// Hands over one I/O and sleeps until it is done (`submit_bio_wait`). BLKDISCARD plugs its bios, and the sleep flushes
    /// that plug.
    pub(crate) fn sync_call(&mut self, c: usize, pc: u8, io: u32, nested: bool) -> Flow {
        let t = self.current_task(c);
        let frame = |pc| Frame::SyncCall { pc, io, nested };
        match pc {
            0 => {
                self.set_mode(c, Mode::System);
                if !nested {
                    self.enter_call(c, 1);
                }
                self.ios[io].call = true;
                self.ios[io].start_ns = self.now;
                self.charge(c, self.costs.dio);
                Flow::Pay(frame(1))
            }
            1 => {
                let i = &self.ios[io];
                let (queue, sector, sectors) = (i.queue, i.sector, i.sectors);
                self.tasks[t].plug.active = i.op == Op::Discard;
                let bio = self.bios.add(Bio { io, queue, sector, sectors, q_ns: self.now, next: NONE });
                Flow::Call(frame(2), Frame::SubmitBio { pc: 0, bio, part: NONE, rq: NONE })
            }
            2 => {
                self.ios[io].issued_ns = self.now;
                if self.tasks[t].plug.list.is_empty() {
                    return Flow::Go(frame(3));
                }
                let flush = Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 };
                Flow::Call(frame(3), flush)
            }
            3 if self.ios[io].done_ns == 0 => Flow::Sleep(frame(3), Sleep::Io),
            _ => {
                self.tasks[t].plug.active = false;
                let i = &self.ios[io];
                if !nested && i.sectors == 0 {
                    let (job, called_ns) = (self.tasks[t].job, i.start_ns);
                    self.stats.synced(job, self.now, called_ns);
                }
                self.take_note(c, t, io);
                if !nested {
                    self.leave_call(c);
                }
                Flow::Ret(0)
            }
        }
    }

    /// The I/O prepared last is writeback: nobody waits for it.
    pub(crate) fn make_asynchronous(&mut self, t: usize) {
        if let Some(&io) = self.tasks[t].prepared.back() {
            let flags = &mut self.ios[io].flags;
            *flags = flags.without(Flags::SYNC);
        }
    }

    /// Whether what is prepared is a batch script's writeback, which holds a plug around all of it (`wb_writeback`).
    fn writes_back(&self, t: usize) -> bool {
        let asynchronous = |&io: &u32| self.ios[io].is_asynchronous();
        matches!(self.scenario.workload, crate::workload::Workload::Batch(_))
            && self.tasks[t].prepared.front().is_some_and(asynchronous)
    }

    /// `io_submit`, `io_uring_enter` or the submitting half of `pread`: hands over all prepared I/Os.
    pub(crate) fn io_submit(&mut self, c: usize, pc: u8, next: u32) -> Flow {
        let t = self.current_task(c);
        let frame = |pc, next| Frame::IoSubmit { pc, next };
        match pc {
            0 => {
                let n = self.tasks[t].prepared.len() as u32;
                let plugs = match self.engine(t) {
                    Engine::Libaio => n > self.knobs.aio_plug_above || self.writes_back(t),
                    Engine::IoUring => n > URING_PLUG_ABOVE,
                    Engine::Psync => false,
                };
                let announces = self.engine(t) == Engine::IoUring;
                let plug = &mut self.tasks[t].plug;
                plug.active = plugs;
                // Only io_uring says how many will come (blk_start_plug_nr_ios).
                plug.announced = if announces && plugs { n } else { 0 };
                for i in 0..self.tasks[t].prepared.len() {
                    let io = self.tasks[t].prepared[i];
                    self.ios[io].start_ns = self.now;
                }
                self.io_submit(c, 1, u32::from(plugs))
            }
            // `next` is 1 while the call's own plug is open.
            1 => {
                if self.tasks[t].prepared.is_empty() {
                    return self.io_submit(c, 5, next);
                }
                // Reading the next iocb may fault, so it is a point where a kworker gets its turn (voluntary preemption,
                // might_fault); the plug stays.
                if self.should_yield(c) {
                    return Flow::Yield(frame(1, next));
                }
                let io = self.tasks[t].prepared[0];
                // The write's own plug around its waiting is open before the lock is taken.
                if next == 0 && self.outer_plug(t, io) {
                    self.tasks[t].plug.active = true;
                }
                if let Some(lock) = self.file_lock_of(t, io) {
                    let op = self.ios[io].op;
                    return Flow::Call(frame(7, next), Frame::FileLock { pc: 0, lock, op });
                }
                self.io_submit(c, 7, next)
            }
            7 => {
                let per_io = match self.engine(t) {
                    Engine::Libaio => self.costs.aio,
                    Engine::IoUring => self.costs.uring,
                    Engine::Psync => 0,
                };
                let buffered = self.tasks[t].prepared.front().is_some_and(|&io| self.is_buffered(io));
                let in_file = self.tasks[t].file.holds.is_some();
                let fs = if in_file { self.costs.fs_dio } else { 0 };
                self.charge(c, per_io + if buffered { 0 } else { self.costs.dio + fs });
                if next == 0 && !buffered && self.own_plug(t) {
                    self.tasks[t].plug.active = true;
                }
                Flow::Pay(frame(2, next))
            }
            2 => {
                let Some(&io) = self.tasks[t].prepared.front() else {
                    return Flow::Go(frame(5, next));
                };
                if self.is_buffered(io) {
                    return Flow::Call(frame(9, next), Frame::BufferedIo { pc: 0, io, done: 0 });
                }
                let i = &self.ios[io];
                let (queue, sector, sectors) = (i.queue, i.sector, i.sectors);
                let bio = self.bios.add(Bio { io, queue, sector, sectors, q_ns: self.now, next: NONE });
                Flow::Call(frame(3, next), Frame::SubmitBio { pc: 0, bio, part: NONE, rq: NONE })
            }
            // Through the page cache it is done within the call.
            9 => {
                if let Some(&io) = self.tasks[t].prepared.front() {
                    self.ios[io].done_ns = self.now;
                }
                self.io_submit(c, 8, next)
            }
            3 => {
                let Some(&io) = self.tasks[t].prepared.front() else {
                    return Flow::Go(frame(5, next));
                };
                // A plug that is open here is the I/O's own, unless it lasts until the I/O is complete.
                let lasts = self.engine(t) == Engine::Psync && self.outer_plug(t, io);
                if next == 0 && self.tasks[t].plug.active && !lasts {
                    self.tasks[t].plug.active = false;
                    // A synchronous write sleeps inside blkdev_write_iter.
                    let from_schedule = self.engine(t) == Engine::Psync && self.write_plug(t);
                    return Flow::Call(
                        frame(8, next),
                        Frame::FlushPlug { pc: 0, from_schedule, list: NONE, group: 0 },
                    );
                }
                if self.tasks[t].file.holds.is_some() {
                    return Flow::Pay(frame(8, next));
                }
                self.io_submit(c, 4, next)
            }
            // What was done under the file's lock has passed.
            8 => {
                if self.tasks[t].prepared.front().is_some_and(|&io| self.unlocks_after_submit(t, io)) {
                    self.file_unlock(c, t);
                }
                self.io_submit(c, 4, next)
            }
            4 => {
                if let Some(io) = self.tasks[t].prepared.pop_front() {
                    self.tasks[t].in_flight += 1;
                    let i = &mut self.ios[io];
                    // fio counts all of a call through the page cache as completion latency.
                    let buffered = i.role == IoRole::Buffered;
                    i.issued_ns = if buffered { i.start_ns } else { self.now };
                    if i.done_ns > 0 {
                        // It was done before the call went on.
                        self.tasks[t].ring.push_back(io);
                    }
                }
                self.io_submit(c, 1, next)
            }
            5 => {
                if next == 1 {
                    self.tasks[t].plug.active = false;
                    self.tasks[t].plug.announced = 0;
                    return Flow::Call(
                        frame(6, 0),
                        Frame::FlushPlug { pc: 0, from_schedule: false, list: NONE, group: 0 },
                    );
                }
                Flow::Pay(frame(6, 0))
            }
            _ => Flow::Ret(0),
        }
    }

    /// Whether the I/O under way plugs its own bios: one of more than BIO_MAX_PAGES pages, or others where the knob says so
    /// (`__blkdev_direct_IO`).
    fn own_plug(&self, t: usize) -> bool {
        let large = |&io: &u32| self.ios[io].sectors > LARGE_SECTORS;
        match self.knobs.dio_plug {
            DioPlug::All => true,
            DioPlug::Async if self.engine(t) != Engine::Psync => true,
            _ if self.write_plug(t) => true,
            _ => self.tasks[t].prepared.front().is_some_and(large),
        }
    }

    /// Whether the I/O under way is a write call to a block device that plugs.
    fn write_plug(&self, t: usize) -> bool {
        let plugs = |&io: &u32| self.ios[io].op == Op::Write && self.file_lock_of(t, io).is_none();
        self.knobs.write_plug && self.tasks[t].prepared.front().is_some_and(plugs)
    }

    /// A bio of `io` ended; the last one completes the I/O towards its task.
    pub(crate) fn bio_end(&mut self, c: usize, io: u32) {
        let i = &mut self.ios[io];
        i.pending -= 1;
        if i.pending > 0 {
            return;
        }
        i.done_ns = self.now;
        if matches!(i.role, IoRole::Writeback(_) | IoRole::Fill(_)) {
            let (id, lat_ns) = (i.id, self.now - i.start_ns);
            self.bio_end_traced(c, io);
            self.emit(c, Kind::BioEnd { bio: id, lat_ns });
            return self.cache_io_done(c, io);
        }
        let (id, t, lat_ns, handed_over) = (i.id, i.task as usize, self.now - i.start_ns, i.issued_ns > 0);
        let (call, dropped) = (i.call, i.dropped);
        if !dropped {
            self.bio_end_traced(c, io);
            self.emit(c, Kind::BioEnd { bio: id, lat_ns });
        }
        if call {
            if handed_over {
                self.wake_task(c, t as u16);
            }
            return;
        }
        self.touch(c, self.tasks[t].ring_line);
        if handed_over {
            self.tasks[t].ring.push_back(io);
            if self.tasks[t].wants > 0 && self.tasks[t].ring.len() as u32 >= self.tasks[t].wants {
                self.tasks[t].wants = 0;
                self.wake_task(c, t as u16);
            }
        }
    }

    /// dm's own bio ends with a C; what md raid0 redirected has been traced with its request.
    fn bio_end_traced(&mut self, c: usize, io: u32) {
        let (queue, extent) = (self.ios[io].queue, self.ios[io].extent());
        if self.queues[queue as usize].stack.as_ref().is_some_and(|s| s.layout == Layout::Linear) {
            self.emit(c, Kind::Complete { rq: 0, queue, extent });
        }
    }

    /// Takes one completed I/O out of the task's ring.
    pub(crate) fn reap(&mut self, c: usize, t: usize) -> bool {
        let Some(io) = self.tasks[t].ring.pop_front() else { return false };
        self.tasks[t].in_flight -= 1;
        self.take_note(c, t, io);
        true
    }

    /// The application knows that the I/O is done. A flush is no I/O of its own in the numbers.
    pub(crate) fn take_note(&mut self, c: usize, t: usize, io: u32) {
        let now = self.now;
        let i = &self.ios[io];
        let (bio, lat_ns, data, dropped) = (i.id, now - i.start_ns, i.sectors > 0, i.dropped);
        if !dropped {
            self.emit(c, Kind::Reap { bio, lat_ns });
        }
        if data {
            let synchronous = self.engine(t) == Engine::Psync;
            self.stats.reaped(self.tasks[t].job, &self.ios[io], now, synchronous);
        }
        self.ios.remove(io);
    }

    /// A task's own timer.
    pub(crate) fn task_timer(&mut self, t: u16) {
        if self.tasks[t as usize].program.wake_at_ns != self.now {
            return;
        }
        self.release_sleepers_lock(t);
        if let TaskState::Sleeping(Sleep::Timer | Sleep::Done | Sleep::Dirty | Sleep::Flusher) =
            self.tasks[t as usize].state
        {
            self.wake_by_timer(t);
        }
    }

    /// Wakes a sleeping task on its own CPU; a task that does not sleep yet will see why.
    pub(crate) fn wake_by_timer(&mut self, t: u16) {
        let task = &mut self.tasks[t as usize];
        let cpu = task.cpu as usize;
        if let TaskState::Sleeping(_) = task.state {
            task.state = TaskState::Runnable;
            self.emit_device_on(cpu as u16, Kind::TaskWake { task: t });
            self.enqueue(cpu, crate::host::Runnable::Task(t));
            self.kick(cpu);
        }
    }

    /// Sleeps until `at_ns`, then goes on with `then`.
    pub(crate) fn sleep_until(&mut self, c: usize, at_ns: u64, then: Frame) -> Flow {
        let t = self.current_task(c);
        let at = at_ns.max(self.now) + u64::from(self.costs.timer);
        self.tasks[t].program.wake_at_ns = at;
        self.agenda.at(at, Timed::Task(t as u16));
        Flow::Sleep(then, Sleep::Timer)
    }

    fn start_delay(&self, t: usize) -> u64 {
        match &self.scenario.workload {
            crate::workload::Workload::Jobs(jobs) => jobs[self.tasks[t].job as usize].startdelay_ns,
            crate::workload::Workload::Batch(_) | crate::workload::Workload::Dbench(_) => 0,
        }
    }

    /// The task has ended; the last one of a phase starts the next phase.
    pub(crate) fn task_exit(&mut self, t: usize) {
        let job = self.tasks[t].job as usize;
        self.jobs[job].running -= 1;
        let phase = self.jobs[job].phase;
        if self.jobs.iter().any(|j| j.phase == phase && j.running > 0) {
            return;
        }
        let Some(next) = self.jobs.iter().map(|j| j.phase).filter(|&p| p > phase).min() else { return };
        for other in 0..self.tasks.len() {
            if self.jobs.get(self.tasks[other].job as usize).is_some_and(|j| j.phase == next) {
                let at = self.now + self.start_delay(other);
                self.tasks[other].program.wake_at_ns = at;
                self.agenda.at(at, Timed::Task(other as u16));
            }
        }
    }
}
