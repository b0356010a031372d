//! A buffered write: its data is copied to pages, which become dirty (`generic_perform_write`, `iomap_file_buffered_write`).

use super::NO_INODE;
use crate::block::PAGE_SECTORS;
use crate::event::{Kind, Op};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// Pages that are copied in one step, so that others act in between.
const STEP_PAGES: u64 = 16;

impl Sim {
    /// `write` or `read` of a file through the page cache; `done` pages are through.
    pub(crate) fn buffered_io(&mut self, c: usize, pc: u8, io: u32, done: u32) -> Flow {
        let t = self.current_task(c);
        let inode = self.inode_of(t, self.ios[io].queue).unwrap_or(NO_INODE);
        if self.ios[io].op == Op::Read {
            return self.buffered_read(c, pc, io, inode);
        }
        let frame = |pc, done| Frame::BufferedIo { pc, io, done };
        let (start, end) = Self::pages_of(self.ios[io].sector, self.ios[io].sectors);
        let at = start + u64::from(done);
        match pc {
            0 if at >= end => self.buffered_io(c, 2, io, done),
            0 => {
                let pages = (end - at).min(STEP_PAGES).min(self.dirty_allowance(t, inode));
                let new = self.make_dirty(c, inode, at, at + pages);
                self.tasks[t].cache.nr_dirtied += new;
                self.stats.cache.dirtied += new;
                let cost = u64::from(self.costs.page_cache) + u64::from(self.costs.page_copy);
                self.charge_long(c, cost * pages);
                Flow::Pay(frame(1, done + pages as u32))
            }
            1 if self.must_balance(t, inode) => {
                Flow::Call(frame(0, done), Frame::BalanceDirty { pc: 0, inode })
            }
            1 => self.buffered_io(c, 0, io, done),
            2 => {
                let i = &self.ios[io];
                let (bio, queue, extent) = (i.id, i.queue, i.extent());
                let (dirty, bytes) = (self.pagecache.dirty() * super::PAGE_BYTES, u64::from(i.sectors) * 512);
                self.stats.cache.written_bytes += bytes;
                self.emit(c, Kind::PageWrite { bio, queue, extent, dirty });
                if extent.flags.has(crate::event::Flags::FUA) {
                    // O_SYNC, O_DSYNC: what was written is on stable media before the call returns (generic_write_sync).
                    self.tasks[t].cache.writeout = self.sync_range(inode, start, end);
                    return Flow::Call(frame(3, done), Frame::SyncFile { pc: 0, inode, nested: true });
                }
                Flow::Ret(0)
            }
            _ => Flow::Ret(0),
        }
    }

    /// Pages `[start, end)` become dirty (`account_page_dirtied`); how many were not.
    fn make_dirty(&mut self, c: usize, inode: u16, start: u64, end: u64) -> u64 {
        let now = self.now;
        self.pagecache.arrive(inode, start, end);
        let i = &mut self.pagecache.inodes[inode as usize];
        let new = i.dirty.insert(start, end);
        if new == 0 {
            return 0;
        }
        let first = i.dirtied_ns.is_none();
        if first {
            i.dirtied_ns = Some(now);
        }
        let flusher = self.pagecache.flusher_of(inode);
        flusher.nr_dirty += new;
        flusher.bandwidth.dirtied += new;
        if first {
            flusher.dirty.push_back(inode);
            self.arm_flusher(c, inode);
        }
        self.note_dirty();
        new
    }

    /// First sector of a page and the sectors up to page `end`, cut at the end of the disk.
    pub(super) fn sectors_of(&self, inode: u16, start: u64, end: u64) -> (u64, u32) {
        let pages = u64::from(PAGE_SECTORS);
        let last = (end * pages).min(self.pagecache.inodes[inode as usize].sectors);
        (start * pages, last.saturating_sub(start * pages) as u32)
    }
}
