//! The page cache: what buffered I/O leaves in memory, who writes it back, and who has to wait for that
//! (`mm/page-writeback.c`, `fs/fs-writeback.c`, `mm/filemap.c`, `mm/fadvise.c`; rules of 4.14 to 5.4).
//!
//! A page of a file is not there, being read, clean, dirty or under writeback, and may be dirtied again while it is
//! under writeback. Each set is kept as extents ([`Ranges`]). One flusher a disk writes in the background; a task
//! writes itself in `fsync`, `sync_file_range` and `posix_fadvise`. Whatever they send goes the ordinary way of a bio.

mod balance;
mod bandwidth;
mod flusher;
mod ranges;
mod read;
mod sync;
mod write;
mod writeout;

pub(crate) use bandwidth::Bandwidth;
pub(crate) use ranges::Ranges;
pub(crate) use writeout::Writeout;

use crate::block::PAGE_SECTORS;
use crate::event::{QueueId, TaskId};
use crate::host::Flow;
use crate::host::Frame;
use crate::sim::Sim;
use std::collections::VecDeque;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = PAGE_SECTORS as u64 * 512;
/// Pages of a bio at most (BIO_MAX_PAGES).
pub(crate) const BIO_PAGES: u64 = 256;
/// Extents of dirty pages of a file at most; a writer that would make more waits for writeback. The kernel has no such
/// bound; it keeps this model's memory bounded where writes are small and scattered.
pub(crate) const EXTENTS_MAX: usize = 1 << 18;
/// No file.
pub(crate) const NO_INODE: u16 = u16::MAX;

/// The settings of `/proc/sys/vm` and of the machine's memory, in pages and ns.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Limits {
    /// Memory, all of which may hold pages of files.
    pub ram: u64,
    /// Above so many dirty pages the flusher works.
    pub background: u64,
    /// So many dirty pages and pages under writeback there may be.
    pub dirty: u64,
    pub expire_ns: u64,
    pub interval_ns: u64,
    /// Pages of a read-ahead window at most.
    pub read_ahead: u64,
}

/// Pages of one file on one disk. Page numbers count from the start of the disk, so that a file's blocks lie there in order.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Inode {
    pub queue: QueueId,
    pub flusher: u16,
    /// Sectors of the disk; its last page may be a part of one.
    pub sectors: u64,
    pub dirty: Ranges,
    pub writeback: Ranges,
    /// Pages in memory, dirty or not.
    pub cached: Ranges,
    /// Pages being read.
    pub reading: Ranges,
    /// Where the flusher goes on (`mapping->writeback_index`).
    pub index: u64,
    /// When the first of its dirty pages became so, ns; `None` while it is clean.
    pub dirtied_ns: Option<u64>,
}

/// Writeback of one disk (`struct bdi_writeback`) and its worker.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Flusher {
    pub queue: QueueId,
    pub task: TaskId,
    pub bandwidth: Bandwidth,
    /// Files with dirty pages, in the order in which they are written next.
    pub dirty: VecDeque<u16>,
    /// Pages dirty, and under writeback, of its files.
    pub nr_dirty: u64,
    pub nr_writeback: u64,
    /// More is dirty than may be: writers look after every few pages.
    pub exceeded: bool,
    /// When the periodic look is due, ns; 0: not armed.
    pub look_at_ns: u64,
}

/// All pages.
#[derive(Clone, Debug, Hash)]
pub(crate) struct PageCache {
    pub limits: Limits,
    pub inodes: Vec<Inode>,
    pub flushers: Vec<Flusher>,
    /// Tasks that wait for pages of a file to be read or written.
    waiters: VecDeque<(TaskId, u16)>,
    /// Pages in the order in which they came, for their leaving: file, first page, end.
    arrived: VecDeque<(u16, u64, u64)>,
    cached: u64,
}

/// What a task has to do with the page cache.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct CacheUse {
    /// The file on each of its disks: (disk, file).
    pub inodes: Vec<(QueueId, u16)>,
    pub writeout: Writeout,
    /// Pages dirtied since the last look at the balance, and after how many it looks again.
    pub nr_dirtied: u64,
    pub dirtied_pause: u64,
    /// When it was last paused; 0: never.
    pub paused_ns: u64,
    /// Whether it may dirty nothing at all until writeback has caught up.
    pub stopped: bool,
    /// Page behind the last one that it read, and the end of the last window read ahead.
    pub read_next: u64,
    pub window_end: u64,
}

impl PageCache {
    /// Bytes of what grows with the pages in it, about.
    pub(crate) fn bytes(&self) -> usize {
        let sets = |i: &Inode| [&i.dirty, &i.writeback, &i.cached, &i.reading].map(Ranges::extents);
        let extents: usize = self.inodes.iter().flat_map(sets).sum();
        // Nodes of the tree are two thirds full.
        self.arrived.len() * size_of::<(u16, u64, u64)>() + extents * 24
    }

    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            inodes: Vec::new(),
            flushers: Vec::new(),
            waiters: VecDeque::new(),
            arrived: VecDeque::new(),
            cached: 0,
        }
    }

    /// Dirty pages in all (NR_FILE_DIRTY).
    pub(crate) fn dirty(&self) -> u64 {
        self.flushers.iter().map(|f| f.nr_dirty).sum()
    }

    /// Pages under writeback in all (NR_WRITEBACK).
    pub(crate) fn writeback(&self) -> u64 {
        self.flushers.iter().map(|f| f.nr_writeback).sum()
    }

    /// Below this nobody is throttled (`dirty_freerun_ceiling`).
    pub(crate) fn free_run(&self) -> u64 {
        self.limits.dirty.midpoint(self.limits.background)
    }

    fn flusher_of(&mut self, inode: u16) -> &mut Flusher {
        let at = self.inodes[inode as usize].flusher as usize;
        &mut self.flushers[at]
    }

    /// Pages `[start, end)` came into memory.
    fn arrive(&mut self, inode: u16, start: u64, end: u64) {
        let new = self.inodes[inode as usize].cached.insert(start, end);
        if new == 0 {
            return;
        }
        self.cached += new;
        match self.arrived.back_mut() {
            Some((i, _, e)) if *i == inode && *e == start => *e = end,
            _ => self.arrived.push_back((inode, start, end)),
        }
        while self.cached > self.limits.ram && self.reclaim() {}
    }

    /// Pages leave in the order in which they came, as far as they are clean; false: none could. Those that are not clean
    /// go to the end of the line.
    fn reclaim(&mut self) -> bool {
        for _ in 0..self.arrived.len() {
            let Some((inode, start, end)) = self.arrived.pop_front() else { return false };
            let cut = end.min(start + BIO_PAGES);
            if cut < end {
                self.arrived.push_front((inode, cut, end));
            }
            let dropped = self.drop_clean(inode, start, cut);
            if self.inodes[inode as usize].cached.meets(start, cut) {
                self.arrived.push_back((inode, start, cut));
            }
            if dropped > 0 {
                return true;
            }
        }
        false
    }

    /// Clean pages of `[start, end)` leave (`invalidate_mapping_pages`); how many.
    pub(crate) fn drop_clean(&mut self, inode: u16, start: u64, end: u64) -> u64 {
        let i = &mut self.inodes[inode as usize];
        let (mut at, mut dropped) = (start, 0);
        while let Some((s, e)) = i.cached.next(at).filter(|&(s, _)| s < end) {
            let e = e.min(end);
            // Up to the next page that is in use, and on behind it.
            let used = [&i.dirty, &i.writeback, &i.reading].into_iter().filter_map(|set| set.next(s)).min();
            let (from, to) = used.map_or((e, e), |(from, to)| (from.min(e), to.min(e)));
            dropped += i.cached.remove(s, from);
            at = to.max(from);
        }
        self.cached -= dropped;
        dropped
    }
}

impl Sim {
    /// The file that task `t` uses on a disk, if it uses it through the page cache.
    pub(crate) fn inode_of(&self, t: usize, queue: QueueId) -> Option<u16> {
        self.tasks[t].cache.inodes.iter().find(|&&(q, _)| q == queue).map(|&(_, inode)| inode)
    }

    /// First page and end of the pages of an I/O.
    fn pages_of(sector: u64, sectors: u32) -> (u64, u64) {
        let pages = u64::from(PAGE_SECTORS);
        (sector / pages, (sector + u64::from(sectors)).div_ceil(pages))
    }

    /// The running task waits for pages of a file; it goes on with `then` and looks again. What it has in its plug goes
    /// first.
    fn wait_for_pages(&mut self, c: usize, inode: u16, then: Frame) -> Flow {
        let t = self.current_task(c);
        if let Some(flush) = self.flush_before_sleep(t) {
            return Flow::Call(then, flush);
        }
        let waiter = (t as TaskId, inode);
        if !self.pagecache.waiters.contains(&waiter) {
            self.pagecache.waiters.push_back(waiter);
        }
        Flow::Sleep(then, crate::event::Sleep::Page)
    }

    /// The flush of a plug that still holds something, due before its task sleeps.
    fn flush_before_sleep(&self, t: usize) -> Option<Frame> {
        let plug = &self.tasks[t].plug;
        let holds = !plug.list.is_empty() || !plug.cached.is_empty();
        holds.then_some(Frame::FlushPlug { pc: 0, from_schedule: true, list: crate::block::NONE, group: 0 })
    }

    /// Pages of a file were read or written: who waits for some of them looks again.
    fn wake_page_waiters(&mut self, c: usize, inode: u16) {
        for _ in 0..self.pagecache.waiters.len() {
            let Some((t, of)) = self.pagecache.waiters.pop_front() else { return };
            if of == inode {
                self.wake_task(c, t);
            } else {
                self.pagecache.waiters.push_back((t, of));
            }
        }
    }

    /// The number of dirty pages has changed.
    fn note_dirty(&mut self) {
        let (dirty, writeback) = (self.pagecache.dirty(), self.pagecache.writeback());
        self.stats.dirty_level(self.now, dirty * PAGE_BYTES, writeback * PAGE_BYTES);
    }
}
