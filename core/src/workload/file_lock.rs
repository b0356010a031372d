//! The lock of a file (`inode->i_rwsem`, `i_mutex` until 4.6) that direct I/O takes before it reaches the block layer.
//!
//! First in, first out; readers next to each other at the head of the queue are let in together. A release hands the
//! lock over. Left out: optimistic spinning, and the readers that newer kernels let pass writers.

use crate::block::NONE;
use crate::event::{Kind, ObjectId, Op, Sleep};
use crate::host::{Flow, Frame};
use crate::kernel::DioLock;
use crate::sim::Sim;
use crate::spare::Spare;
use crate::workload::Engine;
use std::collections::VecDeque;

/// File systems that `file_lock` knows.
pub(crate) const FILE_SYSTEMS: &[&str] = &["ext4", "xfs"];

/// The lock of one file.
#[derive(Clone, Debug, Hash)]
pub(crate) struct FileLock {
    /// Its cache line, in the table of objects.
    pub object: ObjectId,
    /// ext4's policies by kernel; else xfs, which has always taken it shared for aligned overwrites.
    pub ext4: bool,
    pub writer: bool,
    pub readers: u32,
    /// Sleepers: task, and whether it wants the lock for itself.
    pub queue: VecDeque<(u16, bool)>,
}

/// A task's part in file locks.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct FileUse {
    /// Locks of the files it works on: (disk, lock).
    pub locks: Vec<(u16, u16)>,
    /// What it holds now: lock, and whether exclusively.
    pub holds: Option<(u16, bool)>,
    /// Set by the one who hands the lock over.
    granted: bool,
    since_ns: u64,
}

impl Sim {
    /// The lock in front of an I/O; writeback takes none.
    pub(crate) fn file_lock_of(&self, t: usize, io: u32) -> Option<u16> {
        let disk = self.ios[io].queue;
        if self.tasks[t].file.locks.is_empty() || self.ios[io].is_asynchronous() {
            return None;
        }
        let buffered_read = self.is_buffered(io) && self.ios[io].op == Op::Read;
        if buffered_read && self.file_locks.iter().all(|lock| lock.ext4) {
            return None;
        }
        self.tasks[t].file.locks.iter().find(|&&(d, _)| d == disk).map(|&(_, lock)| lock)
    }

    fn dio_lock(&self, lock: u16) -> DioLock {
        if self.file_locks[lock as usize].ext4 { self.knobs.dio_lock } else { DioLock::Shared }
    }

    /// Whether an I/O wants the lock for itself. A buffered write always does; a buffered read shares it on xfs and takes
    /// none on ext4, which is the same to other readers.
    fn exclusive(&self, t: usize, lock: u16, op: Op) -> bool {
        if !self.tasks[t].cache.inodes.is_empty() {
            return op.is_write();
        }
        match self.dio_lock(lock) {
            DioLock::SubmitOnly => true,
            DioLock::WriteExclusive => op.is_write(),
            DioLock::Shared => false,
        }
    }

    /// Whether a direct write holds a plug around its own waiting (`ext4_file_write_iter`).
    pub(crate) fn outer_plug(&self, t: usize, io: u32) -> bool {
        let ext4 = |lock: u16| self.file_locks[lock as usize].ext4;
        let write = self.ios[io].op.is_write() && !self.is_buffered(io);
        self.knobs.ext4_outer_plug && write && self.file_lock_of(t, io).is_some_and(ext4)
    }

    /// Whether the lock is held only while the I/O is handed over: that of an asynchronous engine always.
    pub(crate) fn unlocks_after_submit(&self, t: usize, io: u32) -> bool {
        let Some((lock, _)) = self.tasks[t].file.holds else { return false };
        if self.is_buffered(io) {
            return true;
        }
        let read_only_submits = self.dio_lock(lock) == DioLock::SubmitOnly && !self.ios[io].op.is_write();
        self.engine(t) != Engine::Psync || read_only_submits
    }

    /// `inode_lock` or `inode_lock_shared`.
    pub(crate) fn take_file_lock(&mut self, c: usize, pc: u8, lock: u16, op: Op) -> Flow {
        let frame = |pc| Frame::FileLock { pc, lock, op };
        let t = self.current_task(c);
        let exclusive = self.exclusive(t, lock, op);
        let object = self.file_locks[lock as usize].object;
        match pc {
            0 => {
                self.touch(c, object);
                self.tasks[t].file.since_ns = self.now;
                let spared = self.is_spared(Spare::Object(object));
                let exclusive = exclusive && !spared;
                let l = &mut self.file_locks[lock as usize];
                if spared || l.queue.is_empty() && !l.writer && (l.readers == 0 || !exclusive) {
                    l.writer = exclusive;
                    l.readers += u32::from(!exclusive);
                    self.tasks[t].file.holds = Some((lock, exclusive));
                    return self.file_lock_taken(c, t, object, exclusive);
                }
                let waiters = l.queue.len() as u16;
                l.queue.push_back((t as u16, exclusive));
                self.tasks[t].file.granted = false;
                self.emit(c, Kind::FileLockWait { lock: object, exclusive, waiters });
                Flow::Call(frame(1), Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 })
            }
            1 if !self.tasks[t].file.granted => Flow::Sleep(frame(2), Sleep::FileLock),
            _ => {
                let exclusive = self.tasks[t].file.holds.is_some_and(|(_, exclusive)| exclusive);
                self.file_lock_taken(c, t, object, exclusive)
            }
        }
    }

    fn file_lock_taken(&mut self, c: usize, t: usize, object: ObjectId, exclusive: bool) -> Flow {
        let wait_ns = self.now - self.tasks[t].file.since_ns;
        let job = &mut self.stats.jobs[self.tasks[t].job as usize];
        job.file_lock_waits += u64::from(wait_ns > 0);
        job.file_lock_wait_ns += wait_ns;
        self.emit(c, Kind::FileLockAcquire { lock: object, exclusive, wait_ns });
        Flow::Ret(0)
    }

    /// `inode_unlock`: the head of the queue gets the lock, with the readers right behind it if it is one.
    pub(crate) fn file_unlock(&mut self, c: usize, t: usize) {
        let Some((lock, exclusive)) = self.tasks[t].file.holds.take() else { return };
        let object = self.file_locks[lock as usize].object;
        self.touch(c, object);
        self.emit(c, Kind::FileLockRelease { lock: object, exclusive });
        let l = &mut self.file_locks[lock as usize];
        if exclusive {
            l.writer = false;
        } else {
            l.readers -= 1;
        }
        while let Some(&(next, exclusive)) = self.file_locks[lock as usize].queue.front() {
            let l = &mut self.file_locks[lock as usize];
            if l.writer || (exclusive && l.readers > 0) {
                return;
            }
            l.queue.pop_front();
            l.writer = exclusive;
            l.readers += u32::from(!exclusive);
            let file = &mut self.tasks[next as usize].file;
            (file.granted, file.holds) = (true, Some((lock, exclusive)));
            self.wake_task(c, next);
        }
    }
}
