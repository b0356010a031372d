//! A task that writes pages out itself: `fsync`, `fdatasync`, `sync_file_range`, and `posix_fadvise` with
//! POSIX_FADV_DONTNEED, which fio calls before it starts and at the end of a file that it starts over (its option
//! invalidate).

use super::{NO_INODE, Writeout};
use crate::block::NONE;
use crate::event::{QueueId, Why};
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;
use crate::workload::SyncRange;

impl Sim {
    /// The pages `[start, end)` of a file, to be written and waited for.
    pub(crate) fn sync_range(&self, inode: u16, start: u64, end: u64) -> Writeout {
        Writeout { inode, at: start, start, end, budget: u64::MAX, sync: true, ..Writeout::default() }
    }

    /// What `fsync` of a disk or file has to do for the running task: its dirty pages first, where there can be any.
    pub(crate) fn fsync_frame(&mut self, t: usize, queue: QueueId) -> Frame {
        match self.inode_of(t, queue) {
            Some(inode) => {
                self.tasks[t].cache.writeout = self.sync_range(inode, 0, u64::MAX);
                Frame::SyncFile { pc: 0, inode, nested: false }
            }
            None => {
                let io = self.new_fsync(t, queue);
                Frame::SyncCall { pc: 0, io, nested: false }
            }
        }
    }

    /// `vfs_fsync_range`: the dirty pages are sent, all that is under writeback is waited for, then the disk's cache is
    /// flushed. The range is in the task's [`Writeout`].
    pub(crate) fn sync_file(&mut self, c: usize, pc: u8, inode: u16, nested: bool) -> Flow {
        let frame = |pc| Frame::SyncFile { pc, inode, nested };
        let t = self.current_task(c);
        let w = self.tasks[t].cache.writeout;
        match pc {
            0 => {
                self.set_mode(c, Mode::System);
                if !nested {
                    self.enter_call(c, 1);
                }
                if self.pagecache.inodes[inode as usize].dirty.meets(w.start, w.end) {
                    self.tell_chunk(c, inode, w.start, u64::MAX, Why::Sync);
                }
                Flow::Call(frame(1), Frame::WritePages { pc: 0, io: NONE })
            }
            1 => {
                if self.pagecache.inodes[inode as usize].writeback.meets(w.start, w.end) {
                    return self.wait_for_pages(c, inode, frame(1));
                }
                let queue = self.pagecache.inodes[inode as usize].queue;
                let io = self.new_fsync(t, queue);
                Flow::Call(frame(2), Frame::SyncCall { pc: 0, io, nested: true })
            }
            2 => {
                if !nested {
                    self.leave_call(c);
                }
                Flow::Pay(frame(3))
            }
            _ => Flow::Ret(0),
        }
    }

    /// `sync_file_range` of the pages in the task's [`Writeout`]: waits, writes and waits as `how` says. No flush.
    pub(crate) fn sync_pages(&mut self, c: usize, pc: u8, inode: u16, how: SyncRange) -> Flow {
        let frame = |pc| Frame::SyncPages { pc, inode, how };
        let t = self.current_task(c);
        let w = self.tasks[t].cache.writeout;
        let busy = self.pagecache.inodes[inode as usize].writeback.meets(w.start, w.end);
        match pc {
            0 => {
                self.enter_call(c, 1);
                Flow::Pay(frame(1))
            }
            1 if how.wait_before && busy => self.wait_for_pages(c, inode, frame(1)),
            1 if how.write => {
                self.tell_chunk(c, inode, w.start, u64::MAX, Why::Sync);
                Flow::Call(frame(2), Frame::WritePages { pc: 0, io: NONE })
            }
            1 => Flow::Go(frame(2)),
            2 if how.wait_after && busy => self.wait_for_pages(c, inode, frame(2)),
            2 => {
                self.leave_call(c);
                Flow::Pay(frame(3))
            }
            _ => Flow::Ret(0),
        }
    }

    /// `posix_fadvise(POSIX_FADV_DONTNEED)` of pages `[start, end)`, which stand in the task's [`Writeout`]: writes the
    /// dirty ones, unless the disk is congested, and drops the clean ones.
    pub(crate) fn advise_dont_need(&mut self, c: usize, pc: u8, inode: u16) -> Flow {
        let frame = |pc| Frame::DontNeed { pc, inode };
        let t = self.current_task(c);
        let w = self.tasks[t].cache.writeout;
        match pc {
            0 => {
                self.enter_call(c, 1);
                Flow::Pay(frame(1))
            }
            1 => {
                let i = &self.pagecache.inodes[inode as usize];
                let queue = i.queue;
                if !i.dirty.meets(w.start, w.end) {
                    return Flow::Go(frame(2));
                }
                if self.knobs.fadvise_skips_congested && self.write_congested(queue) {
                    self.stats.cache.skipped += 1;
                    return Flow::Go(frame(2));
                }
                self.tell_chunk(c, inode, w.start, u64::MAX, Why::Advice);
                Flow::Call(frame(2), Frame::WritePages { pc: 0, io: NONE })
            }
            2 => {
                self.pagecache.drop_clean(inode, w.start, w.end);
                self.tasks[t].cache.writeout = Writeout::default();
                self.leave_call(c);
                Flow::Pay(frame(3))
            }
            _ => Flow::Ret(0),
        }
    }

    /// Whether a disk, or any that it lies on, is congested with asynchronous writes (`inode_write_congested`). Only the
    /// legacy path ever says so.
    fn write_congested(&self, queue: QueueId) -> bool {
        let q = &self.queues[queue as usize];
        match &q.stack {
            Some(stack) => stack.members.iter().any(|&(member, _)| self.write_congested(member)),
            None => q.legacy.as_ref().is_some_and(|legacy| legacy.async_congested()),
        }
    }

    /// A task is about to sleep because too much of a disk is dirty: wbt lets writeback go faster for a while
    /// (`wb->dirty_sleep`). Only the disk's own throttle learns of it, not those of disks below.
    pub(super) fn writer_sleeps(&mut self, queue: QueueId) {
        let now = self.now;
        if let Some(wbt) = &mut self.queues[queue as usize].wbt {
            wbt.writer_sleeps(now);
        }
    }

    /// The range of a file that a process works on, as pages for [`Frame::DontNeed`] or `sync_file_range`.
    pub(crate) fn range_out(&self, inode: u16, offset: u64, len: u64) -> Writeout {
        debug_assert!(inode != NO_INODE);
        let (start, end) = (offset / super::PAGE_BYTES, (offset + len).div_ceil(super::PAGE_BYTES));
        Writeout { inode, at: start, start, end, budget: u64::MAX, ..Writeout::default() }
    }
}
