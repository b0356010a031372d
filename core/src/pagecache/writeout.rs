//! Sending dirty pages: runs of neighbours as bios, in ascending order (`write_cache_pages`, `xfs_vm_writepages`).

use super::{BIO_PAGES, Inode, NO_INODE};
use crate::block::{Bio, IoRole, NONE};
use crate::event::{Flags, Op, QueueId};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// What a task is writing out (`struct writeback_control`).
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Writeout {
    pub inode: u16,
    /// Page at which it goes on, and the page behind the last.
    pub at: u64,
    pub end: u64,
    /// First page of its range, for those who wait for all of it.
    pub start: u64,
    /// Pages that it may still send.
    pub budget: u64,
    /// Somebody waits for the data (WB_SYNC_ALL): no page is left out.
    pub sync: bool,
    /// The flusher's own work, not a task's (REQ_BACKGROUND).
    pub background: bool,
    /// Pages sent.
    pub sent: u64,
}

impl Default for Writeout {
    fn default() -> Self {
        Self { inode: NO_INODE, at: 0, end: 0, start: 0, budget: 0, sync: false, background: false, sent: 0 }
    }
}

/// What comes next of the dirty pages of a range.
enum Run {
    /// Nothing.
    None,
    /// A page that is still under writeback and dirty again.
    Busy,
    /// These neighbours.
    Pages(u64, u64),
}

impl Inode {
    fn run(&self, at: u64, end: u64, most: u64, sync: bool) -> Run {
        let mut at = at;
        loop {
            let Some((s, e)) = self.dirty.next(at).filter(|&(s, _)| s < end) else { return Run::None };
            match self.writeback.next(s) {
                Some((busy, _)) if busy == s && sync => return Run::Busy,
                // It stays dirty and is written another time.
                Some((busy, until)) if busy == s => at = until,
                busy => {
                    let e = busy.map_or(e, |(from, _)| e.min(from));
                    return Run::Pages(s, e.min(end).min(s + most));
                }
            }
        }
    }
}

impl Sim {
    /// Sends what the task's [`Writeout`] says. A bio takes in neighbours as long as there are any; whether anything is left
    /// behind it is seen before it is sent, so that who follows a writer at its heels comes to an end.
    pub(crate) fn write_pages(&mut self, c: usize, pc: u8, io: u32) -> Flow {
        let t = self.current_task(c);
        let frame = |pc, io| Frame::WritePages { pc, io };
        let w = self.tasks[t].cache.writeout;
        let run = self.pagecache.inodes[w.inode as usize].run(w.at, w.end, w.budget.min(BIO_PAGES), w.sync);
        match (pc, run) {
            (0, _) if w.budget == 0 => Flow::Ret(0),
            (0, Run::None) => {
                self.tasks[t].cache.writeout.at = w.end;
                Flow::Ret(0)
            }
            (0, Run::Busy) => self.wait_for_pages(c, w.inode, frame(0, NONE)),
            (0, Run::Pages(start, end)) => {
                let flags = match (w.sync, w.background) {
                    (true, _) => Flags::SYNC,
                    (false, true) => Flags::BACKGROUND,
                    (false, false) => Flags::NONE,
                };
                let queue = self.pagecache.inodes[w.inode as usize].queue;
                let (sector, _) = self.sectors_of(w.inode, start, end);
                let io = self.new_cache_io(t, queue, Op::Write, flags, sector, 0, IoRole::Writeback(w.inode));
                self.add_pages(c, t, io, start, end);
                Flow::Pay(frame(1, io))
            }
            (1, Run::Pages(start, end)) if start == w.at && w.budget > 0 && self.room(io) > 0 => {
                let end = end.min(start + self.room(io));
                self.add_pages(c, t, io, start, end);
                Flow::Pay(frame(1, io))
            }
            (1, run) => {
                let last = matches!(run, Run::None);
                if last {
                    self.tasks[t].cache.writeout.at = w.end;
                }
                let i = &self.ios[io];
                let (queue, sector, sectors) = (i.queue, i.sector, i.sectors);
                let bio = self.bios.add(Bio { io, queue, sector, sectors, q_ns: self.now, next: NONE });
                let then = frame(if last { 2 } else { 0 }, NONE);
                Flow::Call(then, Frame::SubmitBio { pc: 0, bio, part: NONE, rq: NONE })
            }
            _ => Flow::Ret(0),
        }
    }

    /// Pages that the bio of a writeback I/O still has room for.
    fn room(&self, io: u32) -> u64 {
        let (start, end) = Self::pages_of(self.ios[io].sector, self.ios[io].sectors);
        BIO_PAGES.saturating_sub(end - start)
    }

    /// Dirty neighbours join a writeback I/O.
    fn add_pages(&mut self, c: usize, t: usize, io: u32, start: u64, end: u64) {
        let w = &mut self.tasks[t].cache.writeout;
        let pages = end - start;
        (w.at, w.budget, w.sent) = (end, w.budget - pages, w.sent + pages);
        let inode = w.inode;
        self.begin_writeback(inode, start, end);
        self.ios[io].sectors += self.sectors_of(inode, start, end).1;
        self.charge_long(c, u64::from(self.costs.page_writeback) * pages);
    }

    /// An I/O of the page cache itself, which no application waits for by name.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new_cache_io(
        &mut self,
        t: usize,
        queue: QueueId,
        op: Op,
        flags: Flags,
        sector: u64,
        sectors: u32,
        role: IoRole,
    ) -> u32 {
        let io = self.new_io(t, queue, op, Flags::NONE, sector * 512, sectors * 512);
        let i = &mut self.ios[io];
        i.flags = flags;
        i.role = role;
        io
    }

    /// Pages leave the dirty ones for those under writeback (`clear_page_dirty_for_io`, `set_page_writeback`).
    fn begin_writeback(&mut self, inode: u16, start: u64, end: u64) {
        let i = &mut self.pagecache.inodes[inode as usize];
        let gone = i.dirty.remove(start, end);
        let new = i.writeback.insert(start, end);
        debug_assert!(gone == end - start && new == gone, "a run is dirty and not under writeback");
        if i.dirty.is_empty() {
            i.dirtied_ns = None;
        }
        let flusher = self.pagecache.flusher_of(inode);
        flusher.nr_dirty -= gone;
        flusher.nr_writeback += new;
        self.note_dirty();
    }

    /// A bio of the page cache has ended (`end_page_writeback`, `unlock_page`).
    pub(crate) fn cache_io_done(&mut self, c: usize, io: u32) {
        let i = &self.ios[io];
        let (role, (start, end)) = (i.role, Self::pages_of(i.sector, i.sectors));
        self.ios.remove(io);
        match role {
            IoRole::Fill(inode) => self.filled(c, inode, start, end),
            IoRole::Writeback(inode) => {
                let gone = self.pagecache.inodes[inode as usize].writeback.remove(start, end);
                let flusher = self.pagecache.flusher_of(inode);
                flusher.nr_writeback -= gone;
                flusher.bandwidth.written += gone;
                self.stats.cache.written_back += gone;
                self.note_dirty();
                self.wake_page_waiters(c, inode);
            }
            IoRole::Direct | IoRole::Buffered => unreachable!("an application's I/O is reaped"),
        }
    }
}
