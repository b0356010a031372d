//! Writers that dirty too fast sleep (`balance_dirty_pages`).

use super::bandwidth::{LOOK_PAGES_MIN, Level};
use super::{EXTENTS_MAX, PAGE_BYTES};
use crate::engine::agenda::Timed;
use crate::event::{Kind, Sleep};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// Pages between two looks while too much is dirty: 32 KiB.
const LOOK_PAGES_EXCEEDED: u64 = 8;
/// A writer that may not go on at all sleeps at least one jiffy, ns.
const STOPPED_NS_MIN: u64 = 1_000_000;
/// One who lags behind its pace by this much starts anew, ns.
const LAG_NS: i64 = 1_000_000_000;

impl Sim {
    /// Pages that the task may still dirty before it looks at the balance, at least one.
    pub(super) fn dirty_allowance(&self, t: usize, inode: u16) -> u64 {
        let cache = &self.tasks[t].cache;
        let flusher = &self.pagecache.flushers[self.pagecache.inodes[inode as usize].flusher as usize];
        let mut look = if cache.dirtied_pause == 0 { LOOK_PAGES_MIN } else { cache.dirtied_pause };
        if flusher.exceeded {
            look = look.min(LOOK_PAGES_EXCEEDED);
        }
        look.saturating_sub(cache.nr_dirtied).max(1)
    }

    /// Whether the task has dirtied enough to look (`balance_dirty_pages_ratelimited`).
    pub(super) fn must_balance(&self, t: usize, inode: u16) -> bool {
        let crowded = self.pagecache.inodes[inode as usize].dirty.extents() >= EXTENTS_MAX;
        let cache = &self.tasks[t].cache;
        let look = if cache.dirtied_pause == 0 { LOOK_PAGES_MIN } else { cache.dirtied_pause };
        let exceeded =
            self.pagecache.flushers[self.pagecache.inodes[inode as usize].flusher as usize].exceeded;
        let look = if exceeded { look.min(LOOK_PAGES_EXCEEDED) } else { look };
        crowded || cache.nr_dirtied >= look
    }

    pub(super) fn dirty_level(&self) -> Level {
        Level {
            dirty: self.pagecache.dirty() + self.pagecache.writeback(),
            free_run: self.pagecache.free_run(),
            limit: self.pagecache.limits.dirty,
        }
    }

    /// `balance_dirty_pages`.
    pub(crate) fn balance_dirty(&mut self, c: usize, pc: u8, inode: u16) -> Flow {
        let t = self.current_task(c);
        let frame = |pc| Frame::BalanceDirty { pc, inode };
        // One that may not go on at all looks again after its pause.
        if pc == 1 && !self.tasks[t].cache.stopped {
            return Flow::Ret(0);
        }
        if let Some(flush) = self.flush_before_sleep(t) {
            return Flow::Call(frame(0), flush);
        }
        let now = self.now;
        let level = self.dirty_level();
        let crowded = self.pagecache.inodes[inode as usize].dirty.extents() >= EXTENTS_MAX;
        if level.dirty <= level.free_run && !crowded {
            // The room that is left, looked at again after its square root.
            let cache = &mut self.tasks[t].cache;
            (cache.nr_dirtied, cache.paused_ns, cache.stopped) = (0, now, false);
            cache.dirtied_pause = 1 << ((level.limit - level.dirty).max(1).ilog2() / 2);
            self.pagecache.flusher_of(inode).exceeded = false;
            self.start_background(c, inode);
            return Flow::Ret(0);
        }
        self.start_background(c, inode);
        let flusher = self.pagecache.flusher_of(inode);
        flusher.exceeded = level.dirty > level.limit;
        flusher.bandwidth.update(now, level);
        let (bandwidth, mine) = (&flusher.bandwidth, flusher.nr_dirty + flusher.nr_writeback);
        let mut pace = bandwidth.pace(level, mine);
        if crowded {
            pace.rate = 0;
        }
        let cache = &mut self.tasks[t].cache;
        cache.stopped = pace.rate == 0;
        let period = match pace.rate {
            0 => pace.pause_max_ns.max(STOPPED_NS_MIN),
            rate => (u128::from(cache.nr_dirtied) * 1_000_000_000 / u128::from(rate)) as u64,
        };
        // What has passed since the end of the last pause counts; that end may lie ahead, as a debt.
        let since = if cache.paused_ns == 0 || cache.stopped { now } else { cache.paused_ns };
        let pause = period as i64 - (now as i64 - since as i64);
        if !cache.stopped && pause < pace.pause_min_ns as i64 {
            // Too short to sleep for: it is saved up, unless the writer is far behind its pace anyway.
            if pause < -LAG_NS {
                (cache.paused_ns, cache.nr_dirtied) = (now, 0);
            } else if period > 0 {
                (cache.paused_ns, cache.nr_dirtied) = (since + period, 0);
            } else if cache.dirtied_pause <= cache.nr_dirtied {
                cache.dirtied_pause += cache.nr_dirtied;
            }
            return Flow::Ret(0);
        }
        let wanted = pause.max(0) as u64;
        let pause_ns = wanted.min(pace.pause_max_ns.max(STOPPED_NS_MIN));
        let debt = (wanted - pause_ns).min(pace.pause_max_ns);
        let at = now + pause_ns;
        (cache.nr_dirtied, cache.dirtied_pause, cache.paused_ns) = (0, pace.look_pages, at + debt);
        let queue = self.pagecache.inodes[inode as usize].queue;
        self.stats.cache.throttles += 1;
        self.stats.cache.throttled_ns += pause_ns;
        let (dirty, limit) = (level.dirty * PAGE_BYTES, level.limit * PAGE_BYTES);
        self.emit(c, Kind::DirtyThrottle { queue, pause_ns, dirty, limit });
        self.writer_sleeps(queue);
        self.tasks[t].program.wake_at_ns = at;
        self.agenda.at(at, Timed::Task(t as u16));
        Flow::Sleep(frame(1), Sleep::Dirty)
    }
}
