//! A fio process: prepares, submits, reaps, and ends, by fio's own rules.

use crate::block::{IoRole, NONE};
use crate::engine::rng::{self, Purpose};
use crate::event::{Kind, Op, Sleep};
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;
use crate::spare::Spare;
use crate::workload::place::Wanted;
use crate::workload::{Amount, Engine, JobSpec, Pattern, Trim, Workload};
use std::sync::Arc;

/// The processes' user time varies by this much, per cent, so that a closed loop of constant times does not lock into
/// a beat.
const USER_JITTER_PERCENT: u64 = 2;

/// Steps of the program.
mod pc {
    pub(super) const START: u8 = 0;
    pub(super) const NEXT: u8 = 1;
    pub(super) const PREPARED: u8 = 2;
    pub(super) const TRIMMED: u8 = 3;
    pub(super) const SYNCED: u8 = 4;
    pub(super) const INVALIDATE: u8 = 5;
    pub(super) const SUBMIT: u8 = 10;
    pub(super) const SUBMITTED: u8 = 12;
    pub(super) const REAP: u8 = 20;
    pub(super) const WAIT: u8 = 21;
    pub(super) const REAPED: u8 = 22;
    pub(super) const WAITED: u8 = 23;
    pub(super) const TURN: u8 = 25;
    pub(super) const END: u8 = 30;
}

fn frame(pc: u8) -> Frame {
    Frame::Fio { pc }
}

impl Amount {
    /// In bytes of something `whole` bytes long.
    pub(crate) fn of(self, whole: u64) -> u64 {
        match self {
            Amount::Bytes(b) => b,
            Amount::Percent(p) => (whole as f64 * p.clamp(0.0, 100.0) / 100.0) as u64,
        }
    }
}

impl Sim {
    pub(crate) fn fio(&mut self, c: usize, step: u8) -> Flow {
        let t = self.current_task(c);
        let scenario = Arc::clone(&self.scenario);
        let Workload::Jobs(jobs) = &scenario.workload else {
            unreachable!("a fio process has a job");
        };
        let job = &jobs[self.tasks[t].job as usize];
        match step {
            pc::START => {
                self.tasks[t].program.started_ns = self.now;
                self.tasks[t].prio = job.prio;
                Flow::Go(frame(pc::INVALIDATE))
            }
            // Opening a file drops what is cached of it (file_invalidate_cache).
            pc::INVALIDATE => {
                let nth = self.tasks[t].program.call as usize;
                let Some(&disk) = job.files.get(nth) else {
                    self.tasks[t].program.call = 0;
                    return Flow::Go(frame(pc::NEXT));
                };
                self.tasks[t].program.call += 1;
                match self.fio_invalidate(t, job, disk) {
                    Some(call) => Flow::Call(frame(pc::INVALIDATE), call),
                    None => Flow::Go(frame(pc::INVALIDATE)),
                }
            }
            pc::NEXT => self.fio_next(c, t, job),
            pc::PREPARED => {
                let p = &self.tasks[t];
                let n = p.prepared.len() as u32;
                let full = p.in_flight + n >= job.iodepth || n >= job.iodepth_batch_submit.max(1);
                // User time passes before the call begins, and for each I/O of a batch.
                Flow::Pay(frame(if full { pc::SUBMIT } else { pc::NEXT }))
            }
            pc::SUBMIT => {
                let count = self.tasks[t].prepared.len() as u32;
                self.enter_call(c, count);
                Flow::Call(frame(pc::SUBMITTED), Frame::IoSubmit { pc: 0, next: 0 })
            }
            pc::SUBMITTED if job.engine == Engine::Psync => Flow::Go(frame(pc::WAIT)),
            pc::SUBMITTED => {
                self.leave_call(c);
                self.fio_next(c, t, job)
            }
            pc::REAP => {
                self.set_mode(c, Mode::System);
                self.emit(c, Kind::SyscallEnter { count: 0 });
                self.charge(c, self.costs.syscall);
                Flow::Pay(frame(pc::WAIT))
            }
            pc::WAIT => {
                if let Some(completion) = self.fio_polled(c, t, job) {
                    return Flow::Call(frame(pc::WAIT), completion);
                }
                let p = &self.tasks[t];
                let at_once = self.is_spared(Spare::Batch(t as u16));
                let least = if at_once { 1 } else { job.iodepth_batch_complete_min };
                let wants = least.min(p.in_flight);
                if (p.ring.len() as u32) < wants {
                    // A plug that is still open is flushed as the task goes to sleep.
                    if !p.plug.list.is_empty() || !p.plug.cached.is_empty() {
                        let flush = Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 };
                        return Flow::Call(frame(pc::WAIT), flush);
                    }
                    if self.tasks[t].polls {
                        return self.look_again(c, frame(pc::WAIT));
                    }
                    self.tasks[t].wants = wants;
                    return Flow::Sleep(frame(pc::WAIT), Sleep::Io);
                }
                self.file_unlock(c, t);
                self.tasks[t].plug.active = false;
                // A write call on a file opened with O_DSYNC flushes before it returns (generic_write_sync).
                if job.engine == Engine::Psync && job.dsync {
                    let written =
                        self.tasks[t].ring.front().map(|&io| &self.ios[io]).filter(|io| io.op == Op::Write);
                    let written = written.filter(|io| io.role == IoRole::Direct);
                    if let Some(disk) = written.map(|io| io.queue) {
                        let io = self.new_fsync(t, disk);
                        return Flow::Call(frame(pc::WAITED), Frame::SyncCall { pc: 0, io, nested: true });
                    }
                }
                self.fio(c, pc::WAITED)
            }
            pc::WAITED => {
                self.touch(c, self.tasks[t].ring_line);
                if job.engine == Engine::Psync {
                    self.charge(c, self.costs.syscall / 2);
                }
                self.emit(c, Kind::SyscallExit);
                self.fio(c, pc::REAPED)
            }
            pc::REAPED => {
                self.set_mode(c, Mode::User);
                let most = match job.iodepth_batch_complete_max {
                    0 => u32::MAX,
                    n => n,
                };
                let mut n = 0;
                while n < most && self.reap(c, t) {
                    n += 1;
                }
                self.charge(c, self.costs.fio_user / 2 * n);
                Flow::Pay(frame(pc::NEXT))
            }
            pc::SYNCED => Flow::Pay(frame(pc::NEXT)),
            pc::TRIMMED => {
                self.set_mode(c, Mode::User);
                if job.trim == Trim::BeforeWrite {
                    return self.fio_write(c, t, job);
                }
                self.charge(c, self.costs.fio_user);
                Flow::Pay(frame(pc::NEXT))
            }
            // A rate's turn has come, or a completion.
            pc::TURN => {
                self.tasks[t].wants = 0;
                Flow::Go(frame(if self.tasks[t].ring.is_empty() { pc::NEXT } else { pc::REAP }))
            }
            _ => {
                let call = self.tasks[t].program.call as usize;
                if let Some(&disk) = job.files.get(call).filter(|_| job.end_fsync && job.rwmixread < 100) {
                    self.tasks[t].program.call += 1;
                    let sync = self.fsync_frame(t, disk);
                    return Flow::Call(frame(pc::END), sync);
                }
                self.task_exit(t);
                Flow::Ret(0)
            }
        }
    }

    /// `io_do_iopoll`: looks into the poll queues of this CPU; the task spins instead of sleeping.
    fn fio_polled(&mut self, c: usize, t: usize, job: &JobSpec) -> Option<Frame> {
        let disks = if self.tasks[t].polls { job.files.as_slice() } else { &[] };
        disks.iter().find_map(|&disk| self.poll(c, self.queues[disk as usize].poll_map[c]))
    }

    /// The loop's head, in user mode: prepare another I/O, submit, reap, pause or end.
    fn fio_next(&mut self, c: usize, t: usize, job: &JobSpec) -> Flow {
        self.set_mode(c, Mode::User);
        if self.should_yield(c) {
            return Flow::Yield(frame(pc::NEXT));
        }
        let p = &self.tasks[t].program;
        let over = job.runtime_ns.is_some_and(|r| self.now >= p.started_ns + r + job.ramp_time_ns)
            || !job.time_based && p.bytes >= self.io_size(t, job);
        let (in_flight, prepared) = (self.tasks[t].in_flight, self.tasks[t].prepared.len() as u32);
        if over {
            return Flow::Go(frame(match (prepared, in_flight) {
                (0, 0) => pc::END,
                (0, _) => pc::REAP,
                _ => pc::SUBMIT,
            }));
        }
        if job.fsync > 0 && self.tasks[t].program.unsynced >= job.fsync {
            // The calls go in order: what is prepared is handed over first, but not waited for.
            if prepared > 0 {
                return Flow::Go(frame(pc::SUBMIT));
            }
            self.tasks[t].program.unsynced = 0;
            let sync = self.fsync_frame(t, self.tasks[t].program.block.0);
            return Flow::Call(frame(pc::SYNCED), sync);
        }
        if let Some(range) = job.sync_file_range
            && let Some(inode) = self.inode_of(t, self.tasks[t].program.block.0)
            && self.tasks[t].program.unranged >= range.every.max(1)
        {
            if prepared > 0 {
                return Flow::Go(frame(pc::SUBMIT));
            }
            let p = &mut self.tasks[t].program;
            p.unranged = 0;
            let (from, to) = std::mem::take(&mut p.range);
            self.tasks[t].cache.writeout = self.range_out(inode, from, to - from);
            return Flow::Call(frame(pc::SYNCED), Frame::SyncPages { pc: 0, inode, how: range.how });
        }
        if job.trim != Trim::None && prepared > 0 {
            return Flow::Go(frame(pc::SUBMIT)); // a discard is a call of its own
        }
        if in_flight + prepared >= job.iodepth {
            self.tasks[t].program.draining = true;
        }
        let low = if job.iodepth_low == 0 { job.iodepth } else { job.iodepth_low };
        if self.tasks[t].program.draining {
            let reaped_enough = in_flight + prepared < job.iodepth && in_flight <= low;
            if !reaped_enough {
                return Flow::Go(frame(if prepared > 0 { pc::SUBMIT } else { pc::REAP }));
            }
            self.tasks[t].program.draining = false;
        }
        if job.thinktime_ns > 0 && self.tasks[t].program.since_think >= job.thinktime_blocks.max(1) {
            if prepared > 0 {
                return Flow::Go(frame(pc::SUBMIT));
            }
            if in_flight > 0 {
                return Flow::Go(frame(pc::REAP));
            }
            self.tasks[t].program.since_think = 0;
            let spin = job.thinktime_spin_ns.min(job.thinktime_ns);
            if spin > 0 {
                self.charge_long(c, spin);
            }
            let at = self.now + job.thinktime_ns;
            if at > self.now + spin {
                return self.sleep_until(c, at, frame(pc::NEXT));
            }
            return Flow::Pay(frame(pc::NEXT));
        }
        self.fio_prepare(c, t, job)
    }

    /// Draws the next I/O and waits for its turn where a rate is set.
    fn fio_prepare(&mut self, c: usize, t: usize, job: &JobSpec) -> Flow {
        let p = &self.tasks[t].program;
        let key = (t as u64) << 40 | p.ios;
        let write = match job.rwmixread {
            100 => false,
            0 => true,
            share => rng::below(self.seed, Purpose::Direction, key, 100) >= u64::from(share),
        };
        let dir = usize::from(write);
        let len = self.fio_size(job, dir, key);
        if let Some(call) = self.fio_laps(t, job, dir) {
            return Flow::Call(frame(pc::NEXT), call);
        }
        let p = &self.tasks[t].program;
        let step_ns = match (job.rate_iops[dir], job.rate[dir]) {
            (Some(iops), _) => 1_000_000_000 / u64::from(iops.max(1)),
            (None, Some(rate)) => (u128::from(len) * 1_000_000_000 / u128::from(rate.max(1))) as u64,
            (None, None) => 0,
        };
        if step_ns > 0 {
            let allowed = p.next_allowed_ns[dir].max(p.started_ns);
            if self.now < allowed {
                if !self.tasks[t].prepared.is_empty() {
                    return Flow::Go(frame(pc::SUBMIT));
                }
                // Until its turn, or a completion to be reaped.
                let in_flight = self.tasks[t].in_flight;
                if in_flight > 0 && self.tasks[t].ring.is_empty() {
                    self.tasks[t].wants = 1;
                } else if in_flight > 0 {
                    return Flow::Go(frame(pc::REAP));
                }
                return self.sleep_until(c, allowed, frame(pc::TURN));
            }
            let gap = if job.rate_poisson {
                rng::exponential(self.seed, Purpose::Arrival, key, step_ns)
            } else {
                step_ns
            };
            self.tasks[t].program.next_allowed_ns[dir] = allowed + gap;
        }
        let p = &self.tasks[t].program;
        let nth = (p.ios % job.files.len() as u64) as usize;
        let file = job.files[nth];
        let (start, length) = self.region(t, job, file);
        let place = self.fio_place(t, job, &Wanted { nth, dir, len, length, key });
        let program = &mut self.tasks[t].program;
        program.ios += 1;
        program.bytes += u64::from(len);
        program.since_think += 1;
        let offset = start + place;
        program.block = (file, offset, len);
        let jitter = rng::below(self.seed, Purpose::UserJitter, key, 2 * USER_JITTER_PERCENT + 1);
        let half = u64::from(self.costs.fio_user / 2);
        self.charge_long(c, half * (100 - USER_JITTER_PERCENT + jitter) / 100);
        if write && job.trim != Trim::None {
            let io = self.new_discard(t, file, offset, len);
            return Flow::Call(frame(pc::TRIMMED), Frame::SyncCall { pc: 0, io, nested: false });
        }
        if write {
            return self.fio_write(c, t, job);
        }
        self.prepare(t, file, Op::Read, offset, len, false);
        self.fio_marks(t, job, false);
        self.fio(c, pc::PREPARED)
    }

    fn fio_write(&mut self, c: usize, t: usize, job: &JobSpec) -> Flow {
        let (disk, offset, len) = self.tasks[t].program.block;
        self.prepare(t, disk, Op::Write, offset, len, job.dsync);
        self.fio_marks(t, job, true);
        let p = &mut self.tasks[t].program;
        p.unsynced += 1;
        p.range = match p.unranged {
            0 => (offset, offset + u64::from(len)),
            _ => (p.range.0.min(offset), p.range.1.max(offset + u64::from(len))),
        };
        p.unranged += 1;
        self.fio(c, pc::PREPARED)
    }

    /// The I/O just prepared gets what is special about it: another priority, or nobody who waits for it.
    fn fio_marks(&mut self, t: usize, job: &JobSpec, write: bool) {
        let key = (t as u64) << 40 | self.tasks[t].program.ios;
        let share = u64::from(job.cmdprio_percentage[usize::from(write)]);
        if share > 0
            && rng::below(self.seed, Purpose::CmdPrio, key, 100) < share
            && let Some(&io) = self.tasks[t].prepared.back()
        {
            self.ios[io].prio = job.cmdprio;
        }
    }

    /// Tells the kernel that a process's region of a file is not needed in memory, where it is used through the page cache.
    fn fio_invalidate(&mut self, t: usize, job: &JobSpec, disk: u16) -> Option<Frame> {
        let inode = self.inode_of(t, disk).filter(|_| job.invalidate)?;
        let (start, length) = self.region(t, job, disk);
        self.tasks[t].cache.writeout = self.range_out(inode, start, length);
        Some(Frame::DontNeed { pc: 0, inode })
    }

    /// A sequential process that starts its only file over drops what is cached of it first (loop_cache_invalidate).
    fn fio_laps(&mut self, t: usize, job: &JobSpec, dir: usize) -> Option<Frame> {
        let over = job.time_based || job.loops > 1 || (dir == 1 && job.io_size.is_some());
        let &[disk] = job.files.as_slice() else { return None };
        if !over || job.pattern != Pattern::Sequential || self.tasks[t].cache.inodes.is_empty() {
            return None;
        }
        let length = self.region(t, job, disk).1;
        let len = u64::from(job.block_min(dir));
        let lap = self.tasks[t].program.position.first()?[dir] / ((length / len).max(1) * len);
        if self.tasks[t].program.laps[dir] == lap {
            return None;
        }
        self.tasks[t].program.laps[dir] = lap;
        self.fio_invalidate(t, job, disk)
    }

    /// First byte and length of a process's region of a disk.
    pub(crate) fn region(&self, t: usize, job: &JobSpec, file: u16) -> (u64, u64) {
        let whole = self.queues[file as usize].sectors * 512;
        let process = u64::from(self.tasks[t].program.process);
        let bs = u64::from(job.block_max(0).max(job.block_max(1)));
        let shift = job.offset_increment.of(whole).saturating_mul(process);
        let start = job.offset.of(whole).saturating_add(shift).min(whole.saturating_sub(bs)) / 512 * 512;
        let rest = whole - start;
        let length = job.size.map_or(rest, |s| s.of(whole)).clamp(bs.min(rest), rest);
        (start, length)
    }

    /// Bytes a process transfers before it ends (unless time_based).
    fn io_size(&self, t: usize, job: &JobSpec) -> u64 {
        match job.io_size {
            Some(amount) => amount.of(self.queues[job.files[0] as usize].sectors * 512).max(1),
            None => {
                let once: u64 = job.files.iter().map(|&file| self.region(t, job, file).1).sum();
                once.saturating_mul(u64::from(job.loops.max(1)))
            }
        }
    }
}
