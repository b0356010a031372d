//! The flusher of a disk: a worker that writes in the background when much is dirty, and from time to time what has been
//! dirty for long (`wb_workfn`, `wb_writeback`, `writeback_sb_inodes`).
//!
//! Work goes file by file in chunks under one plug. Each file goes on where its last chunk ended and starts over behind its
//! last page (`range_cyclic`).

use super::{NO_INODE, Writeout};
use crate::block::NONE;
use crate::engine::agenda::Timed;
use crate::event::{Kind, Sleep, Why};
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;

/// Smallest chunk, pages: 4 MiB (MIN_WRITEBACK_PAGES).
const CHUNK_PAGES_MIN: u64 = 1024;
/// A chunk is at most this part of the dirty limit (DIRTY_SCOPE).
const LIMIT_PART: u64 = 8;

impl Sim {
    fn flusher(&self, t: usize) -> usize {
        let is_mine = |f: &super::Flusher| f.task as usize == t;
        self.pagecache.flushers.iter().position(is_mine).unwrap_or_else(|| unreachable!("task {t} flushes"))
    }

    /// What the flusher has to do now: there is too much, or something is too old. The second comes only when its look is due.
    fn flusher_work(&self, f: usize) -> Option<Why> {
        let flusher = &self.pagecache.flushers[f];
        if flusher.dirty.is_empty() {
            return None;
        }
        if self.pagecache.dirty() > self.pagecache.limits.background {
            return Some(Why::Background);
        }
        let due = flusher.look_at_ns != 0 && self.now >= flusher.look_at_ns;
        (due && flusher.dirty.iter().any(|&inode| self.is_old(inode))).then_some(Why::Periodic)
    }

    fn is_old(&self, inode: u16) -> bool {
        let since = self.pagecache.inodes[inode as usize].dirtied_ns;
        since.is_some_and(|since| self.now >= since + self.pagecache.limits.expire_ns)
    }

    /// The flusher's program.
    pub(crate) fn flush_loop(&mut self, c: usize, pc: u8) -> Flow {
        let frame = |pc| Frame::Flusher { pc };
        let t = self.current_task(c);
        let f = self.flusher(t);
        match pc {
            0 => {
                self.set_mode(c, Mode::System);
                if self.flusher_work(f).is_none() {
                    return self.flush_loop(c, 4);
                }
                self.tasks[t].plug.active = true;
                self.flush_loop(c, 1)
            }
            // The next chunk.
            1 => {
                let Some(why) = self.flusher_work(f) else { return self.flush_loop(c, 3) };
                let level = self.dirty_level();
                let now = self.now;
                let flusher = &mut self.pagecache.flushers[f];
                flusher.bandwidth.update(now, level);
                let rate = flusher.bandwidth.write_smooth();
                let most = (rate / 2).min(self.pagecache.limits.dirty / LIMIT_PART);
                let budget = (most + CHUNK_PAGES_MIN) / CHUNK_PAGES_MIN * CHUNK_PAGES_MIN;
                let Some(inode) = self.next_inode(f, why) else { return self.flush_loop(c, 3) };
                let at = self.pagecache.inodes[inode as usize].index;
                self.tasks[t].cache.writeout = Writeout {
                    inode,
                    at,
                    end: u64::MAX,
                    start: at,
                    budget,
                    background: true,
                    ..Writeout::default()
                };
                self.tell_chunk(c, inode, at, budget, why);
                Flow::Call(frame(2), Frame::WritePages { pc: 0, io: NONE })
            }
            2 => {
                let w = std::mem::take(&mut self.tasks[t].cache.writeout);
                let i = &mut self.pagecache.inodes[w.inode as usize];
                // At the end of the file it starts over next time.
                let began = i.index;
                i.index = if w.at == u64::MAX { 0 } else { w.at };
                if !i.dirty.is_empty() {
                    self.pagecache.flushers[f].dirty.push_back(w.inode);
                }
                if w.sent == 0 && began == 0 {
                    // All that is dirty is still under writeback.
                    return self.wait_for_pages(c, w.inode, frame(1));
                }
                if self.should_yield(c) {
                    return Flow::Yield(frame(1));
                }
                Flow::Pay(frame(1))
            }
            3 => {
                self.tasks[t].plug.active = false;
                let flush = Frame::FlushPlug { pc: 0, from_schedule: false, list: NONE, group: 0 };
                Flow::Call(frame(4), flush)
            }
            4 => Flow::Pay(frame(5)),
            _ => {
                if self.flusher_work(f).is_some() {
                    return Flow::Go(frame(0));
                }
                self.look_later(f);
                Flow::Sleep(frame(0), Sleep::Flusher)
            }
        }
    }

    /// Takes the next file off the flusher's list; files without dirty pages leave it.
    fn next_inode(&mut self, f: usize, why: Why) -> Option<u16> {
        for _ in 0..self.pagecache.flushers[f].dirty.len() {
            let inode = self.pagecache.flushers[f].dirty.pop_front()?;
            if self.pagecache.inodes[inode as usize].dirty.is_empty() {
                continue;
            }
            if why == Why::Background || self.is_old(inode) {
                return Some(inode);
            }
            self.pagecache.flushers[f].dirty.push_back(inode);
        }
        None
    }

    /// Tells that somebody starts to write pages of a file out.
    pub(super) fn tell_chunk(&mut self, c: usize, inode: u16, at: u64, budget: u64, why: Why) {
        let i = &self.pagecache.inodes[inode as usize];
        let Some((first, _)) = i.dirty.next(at).or_else(|| i.dirty.next(0)) else { return };
        let bytes = budget.min(i.dirty.pages()) * super::PAGE_BYTES;
        let dirty = self.pagecache.dirty() * super::PAGE_BYTES;
        let writeback = self.pagecache.writeback() * super::PAGE_BYTES;
        let (queue, sector) = (i.queue, self.sectors_of(inode, first, first + 1).0);
        self.stats.cache.chunks += 1;
        self.emit(c, Kind::Writeback { queue, sector, bytes, why, dirty, writeback });
    }

    /// Wakes the flusher if there is more dirty than it lets be (`wb_start_background_writeback`).
    pub(super) fn start_background(&mut self, c: usize, inode: u16) {
        debug_assert!(inode != NO_INODE);
        if self.pagecache.dirty() > self.pagecache.limits.background {
            let task = self.pagecache.flusher_of(inode).task;
            self.wake_task(c, task);
        }
    }

    /// The first page of a file is dirty: the flusher looks at it after a while (`wb_wakeup_delayed`).
    pub(super) fn arm_flusher(&mut self, _c: usize, inode: u16) {
        let f = self.pagecache.inodes[inode as usize].flusher as usize;
        if self.pagecache.flushers[f].look_at_ns <= self.now {
            self.look_later(f);
        }
    }

    /// Sets the flusher's next periodic look, while there is something dirty and somebody left to see it.
    fn look_later(&mut self, f: usize) {
        let interval = self.pagecache.limits.interval_ns;
        let flusher = &mut self.pagecache.flushers[f];
        if flusher.look_at_ns > self.now {
            return;
        }
        flusher.look_at_ns = 0;
        if interval == 0 || flusher.dirty.is_empty() || self.jobs.iter().all(|j| j.running == 0) {
            return;
        }
        let at = self.now + interval;
        let task = flusher.task;
        flusher.look_at_ns = at;
        self.tasks[task as usize].program.wake_at_ns = at;
        self.agenda.at(at, Timed::Task(task));
    }
}
