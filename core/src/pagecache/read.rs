//! A buffered read: from memory, or read with a window ahead (`generic_file_buffered_read`, `ondemand_readahead`).
//!
//! A read that goes on where the task's last one ended doubles its window up to read_ahead_kb, and touching the last window
//! sends the next one without waiting; any other read asks for its own pages alone. Left out: the kernel's detection of
//! interleaved streams.

use super::{BIO_PAGES, PAGE_BYTES};
use crate::block::{Bio, IoRole, NONE};
use crate::event::{Flags, Kind, Op};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// First window of a sequential reader, pages (get_init_ra_size of a small read).
const WINDOW_MIN: u64 = 4;

impl Sim {
    pub(super) fn buffered_read(&mut self, c: usize, pc: u8, io: u32, inode: u16) -> Flow {
        let frame = |pc| Frame::BufferedIo { pc, io, done: 0 };
        let t = self.current_task(c);
        let (start, end) = Self::pages_of(self.ios[io].sector, self.ios[io].sectors);
        let i = &self.pagecache.inodes[inode as usize];
        match pc {
            // What is neither there nor on its way is asked for.
            0 => {
                let cache = &self.tasks[t].cache;
                let sequential = cache.read_next == start;
                let most = self.pagecache.limits.read_ahead.max(end - start);
                let window = cache.window_end.saturating_sub(start);
                let disk_end = i.sectors.div_ceil(PAGE_BYTES / 512);
                if let Some((from, _)) = self.missing(inode, start, end) {
                    let ahead = match sequential {
                        true => (2 * (end - start)).max(WINDOW_MIN).min(most),
                        false => end - start,
                    };
                    return self.fill(c, io, inode, from, (start + ahead).max(end).min(disk_end), 1);
                }
                // The last window is reached: the next one, twice as long, is sent ahead.
                if sequential && window > 0 && window <= (end - start).max(most / 2) {
                    let from = cache.window_end;
                    if let Some((from, _)) = self.missing(inode, from, (from + most).min(disk_end)) {
                        return self.fill(c, io, inode, from, (from + most).min(disk_end), 1);
                    }
                }
                self.buffered_read(c, 2, io, inode)
            }
            // The bio is handed over.
            1 => self.buffered_read(c, 2, io, inode),
            // Wait until every page is there; one that has left again meanwhile is asked for anew.
            2 => {
                if i.reading.meets(start, end) {
                    return self.wait_for_pages(c, inode, frame(3));
                }
                if self.missing(inode, start, end).is_some() {
                    return self.buffered_read(c, 0, io, inode);
                }
                let cost = u64::from(self.costs.page_copy) + u64::from(self.costs.page_cache);
                self.charge_long(c, cost * (end - start));
                self.tasks[t].cache.read_next = end;
                Flow::Pay(frame(4))
            }
            3 => self.buffered_read(c, 2, io, inode),
            _ => {
                let i = &self.ios[io];
                let (bio, queue, extent) = (i.id, i.queue, i.extent());
                let hit = !i.waited;
                let counter = if hit { &mut self.stats.cache.hits } else { &mut self.stats.cache.misses };
                *counter += 1;
                self.emit(c, Kind::PageRead { bio, queue, extent, hit });
                Flow::Ret(0)
            }
        }
    }

    /// The first pages of `[start, end)` that are neither in memory nor being read.
    fn missing(&self, inode: u16, start: u64, end: u64) -> Option<(u64, u64)> {
        let i = &self.pagecache.inodes[inode as usize];
        let mut at = start;
        while let Some((s, e)) = i.cached.gap(at, end) {
            if let Some((s, e)) = i.reading.gap(s, e) {
                return Some((s, e));
            }
            at = e;
        }
        None
    }

    /// Sends a read of the missing pages from `from` on, up to `to` or the next page that is there.
    fn fill(&mut self, c: usize, io: u32, inode: u16, from: u64, to: u64, pc: u8) -> Flow {
        let t = self.current_task(c);
        let end = self.missing(inode, from, to).map_or(to, |(_, end)| end).min(from + BIO_PAGES);
        self.ios[io].waited = true;
        self.tasks[t].cache.window_end = end;
        self.pagecache.inodes[inode as usize].reading.insert(from, end);
        let (sector, sectors) = self.sectors_of(inode, from, end);
        let queue = self.pagecache.inodes[inode as usize].queue;
        let read = self.new_cache_io(t, queue, Op::Read, Flags::NONE, sector, sectors, IoRole::Fill(inode));
        self.charge_long(c, u64::from(self.costs.page_cache) * (end - from));
        let bio = self.bios.add(Bio { io: read, queue, sector, sectors, q_ns: self.now, next: NONE });
        let then = Frame::BufferedIo { pc, io, done: 0 };
        Flow::Call(then, Frame::SubmitBio { pc: 0, bio, part: NONE, rq: NONE })
    }

    /// A read of pages has ended.
    pub(super) fn filled(&mut self, c: usize, inode: u16, start: u64, end: u64) {
        self.pagecache.inodes[inode as usize].reading.remove(start, end);
        self.pagecache.arrive(inode, start, end);
        self.wake_page_waiters(c, inode);
    }
}
