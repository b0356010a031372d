//! The log of a file system: commits that many callers of `fsync` share.
//!
//! A caller joins the commit that is open. If none is being written, it is closed and written, by that caller or by the
//! file system's own thread; else the caller sleeps, and with it all who come meanwhile. When a commit is on the disk,
//! everybody wakes, and the first one to run writes the next for all that have gathered (`xlog_state_switch_iclogs` after
//! the wait for the previous buffer in `__xfs_log_force_lsn`; `jbd2_journal_commit_transaction`).

use crate::block::{Bio, NONE};
use crate::event::Sleep;
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;
use crate::workload::dbench::{Dbench, LogWriter};
use std::collections::VecDeque;

/// A commit is at least a page, bytes.
const COMMIT_LEAST: u64 = 4096;

/// The log of the one file system of a scenario.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Journal {
    disk: u16,
    /// First byte and length of the log.
    start: u64,
    length: u64,
    /// Where the next write goes, from `start`.
    head: u64,
    per_fsync: u64,
    buffer_bytes: u64,
    buffers: usize,
    /// Tasks that write the log by the CPU of the caller; none if the callers do. One thread stands there for all CPUs.
    workers: Vec<u16>,
    /// A kworker writes only when it was asked to; a thread sees for itself.
    waits_to_be_asked: bool,
    asked: bool,
    /// The commit that callers join, and how many have; commits count from 1.
    open: u32,
    joined: u32,
    /// A commit is being written; this much of it has not been handed to the disk yet, bytes.
    writing: bool,
    left: u64,
    /// I/Os of the commit under way.
    under_way: VecDeque<u32>,
    /// All commits up to this one are on the disk.
    done: u32,
    sleepers: VecDeque<u16>,
}

impl Journal {
    pub(crate) fn new(spec: &Dbench, disk_bytes: u64, workers: Vec<u16>) -> Self {
        let (start, length) = spec.log(disk_bytes);
        Self {
            disk: spec.disk,
            start,
            length,
            head: 0,
            per_fsync: u64::from(spec.log_bytes),
            buffer_bytes: u64::from(spec.log_buffer_bytes),
            buffers: spec.log_buffers as usize,
            workers,
            waits_to_be_asked: spec.log_writer == LogWriter::Kworker,
            asked: false,
            open: 1,
            joined: 0,
            writing: false,
            left: 0,
            under_way: VecDeque::with_capacity(spec.log_buffers as usize),
            done: 0,
            sleepers: VecDeque::with_capacity(spec.clients as usize),
        }
    }

    /// Closes the open commit: what joins from now on belongs to the next.
    fn close(&mut self) {
        (self.writing, self.asked) = (true, false);
        self.left = (u64::from(self.joined) * self.per_fsync).max(COMMIT_LEAST).div_ceil(512) * 512;
        self.open += 1;
        self.joined = 0;
    }

    /// First byte and length of the next write. A buffer does not go over the end of the log.
    fn next_buffer(&mut self) -> (u64, u32) {
        if self.head >= self.length {
            self.head = 0;
        }
        let len = self.left.min(self.buffer_bytes).min(self.length - self.head);
        let at = self.start + self.head;
        self.head += len;
        self.left -= len;
        (at, len as u32)
    }
}

impl Sim {
    fn journal(&mut self) -> &mut Journal {
        match &mut self.journal {
            Some(journal) => journal,
            None => unreachable!("who calls fsync here has a file system"),
        }
    }

    /// `fsync` waits until what it logged is on the disk (`xfs_log_force_lsn`, `jbd2_log_wait_commit`).
    pub(crate) fn log_force(&mut self, c: usize, pc: u8, commit: u32) -> Flow {
        let t = self.current_task(c) as u16;
        match pc {
            0 => {
                self.charge(c, self.costs.dio); // formats its items into the log
                let journal = self.journal();
                journal.joined += 1;
                let commit = journal.open;
                Flow::Pay(Frame::LogForce { pc: 1, commit })
            }
            _ => {
                let journal = self.journal();
                if journal.done >= commit {
                    return Flow::Ret(0);
                }
                let writes = !journal.writing && journal.open == commit && journal.workers.is_empty();
                if writes {
                    journal.close();
                    return Flow::Call(Frame::LogForce { pc: 1, commit }, Frame::LogWrite { pc: 0 });
                }
                journal.sleepers.push_back(t);
                if let Some(&worker) = journal.workers.get(c)
                    && !journal.writing
                    && !std::mem::replace(&mut journal.asked, true)
                {
                    self.wake_task(c, worker);
                }
                Flow::Sleep(Frame::LogForce { pc: 1, commit }, Sleep::Log)
            }
        }
    }

    /// Writes the closed commit, several buffers at a time, each behind a flush and past the cache where the disk has one.
    pub(crate) fn log_write(&mut self, c: usize, pc: u8) -> Flow {
        let t = self.current_task(c);
        let frame = |pc| Frame::LogWrite { pc };
        match pc {
            // Another buffer, as long as there are some free.
            0 => {
                let journal = self.journal();
                if journal.left == 0 || journal.under_way.len() >= journal.buffers {
                    return Flow::Go(frame(3));
                }
                let ((at, len), disk) = (journal.next_buffer(), journal.disk);
                let io = self.new_commit(t, disk, at, len);
                self.journal().under_way.push_back(io);
                let now = self.now;
                let i = &mut self.ios[io];
                (i.call, i.start_ns) = (true, now);
                self.charge(c, self.costs.dio);
                Flow::Pay(frame(1))
            }
            1 => {
                let Some(&io) = self.journal().under_way.back() else { return Flow::Go(frame(3)) };
                let i = &self.ios[io];
                let (queue, sector, sectors) = (i.queue, i.sector, i.sectors);
                let bio = self.bios.add(Bio { io, queue, sector, sectors, q_ns: self.now, next: NONE });
                Flow::Call(frame(2), Frame::SubmitBio { pc: 0, bio, part: NONE, rq: NONE })
            }
            2 => {
                let now = self.now;
                if let Some(&io) = self.journal().under_way.back() {
                    self.ios[io].issued_ns = now;
                }
                Flow::Go(frame(0))
            }
            // In the order of the log.
            3 => {
                let Some(&io) = self.journal().under_way.front() else { return Flow::Go(frame(4)) };
                if self.ios[io].done_ns == 0 {
                    return Flow::Sleep(frame(3), Sleep::Io);
                }
                self.journal().under_way.pop_front();
                self.take_note(c, t, io);
                Flow::Go(frame(if self.journal().left > 0 { 0 } else { 3 }))
            }
            _ => {
                let journal = self.journal();
                journal.writing = false;
                journal.done = journal.open - 1;
                for _ in 0..journal.sleepers.len() {
                    if let Some(sleeper) = self.journal().sleepers.pop_front() {
                        self.wake_task(c, sleeper);
                    }
                }
                Flow::Ret(0)
            }
        }
    }

    /// The file system's thread: writes a commit whenever somebody has joined it.
    pub(crate) fn log_worker(&mut self, c: usize) -> Flow {
        self.set_mode(c, Mode::System);
        let journal = self.journal();
        let idle = journal.joined == 0 || journal.writing || journal.waits_to_be_asked && !journal.asked;
        if idle {
            return Flow::Sleep(Frame::LogWorker, Sleep::Log);
        }
        journal.close();
        Flow::Call(Frame::LogWorker, Frame::LogWrite { pc: 0 })
    }
}
