//! What a scheduler's lock protects: lists, trees and counters that are in the cache of whoever was in the lock before.
//! This is most of what a contended scheduler costs beyond its own work: the section is longer by each line that it has to
//! fetch, and all others wait meanwhile.

use crate::event::{CpuId, HctxId, ObjectId, QueueId};
use crate::host::NO_CPU;
use crate::sched::Merging;
use crate::sim::Sim;

impl Sim {
    /// Begins to work on what `lock`, which is held, protects: its first line is fetched and will be changed. Returns the CPU
    /// in whose cache the rest is; [`NO_CPU`] if it is here.
    pub(in crate::block) fn open_lists(&mut self, c: usize, q: QueueId, lock: ObjectId) -> CpuId {
        let before = self.objects.all[lock as usize].before;
        // Locks of ctxs protect lists that hardly anybody else touches.
        let Some(line) = self.elevator(q).lists_behind(lock) else { return NO_CPU };
        self.write(c, line);
        if before == c as CpuId { NO_CPU } else { before }
    }

    /// Fetches further lines of them from where [`Sim::open_lists`] found them.
    pub(in crate::block) fn fetch_lists(&mut self, c: usize, q: QueueId, from: CpuId, lines: u32) {
        if from != NO_CPU && lines > 0 {
            let id = self.elevator(q).lists;
            self.fetch_lines(c, id, from, lines);
        }
    }

    /// Walks down the tree of the queued requests, each a line that another CPU wrote. `again`: for a further request under
    /// the same lock, which finds the upper half here.
    pub(in crate::block) fn walk_lists(&mut self, c: usize, q: QueueId, from: CpuId, again: bool) {
        if !self.locking(q).lists.sorted {
            return;
        }
        let height = (self.elevator(q).ends.len() as u32 + 1).ilog2();
        self.fetch_lists(c, q, from, if again { height / 2 } else { height });
    }

    /// A search for something that a bio may join, under `lock`.
    pub(in crate::block) fn search_lists(&mut self, c: usize, q: QueueId, lock: ObjectId) {
        let from = self.open_lists(c, q, lock);
        let lists = self.locking(q).lists;
        self.fetch_lists(c, q, from, lists.merge.saturating_sub(1));
        // With nomerges 1 only the last merge is looked at.
        if self.elevator(q).sched.merging() == Merging::Hash && self.queues[q as usize].nomerges == 0 {
            self.walk_lists(c, q, from, false);
        }
    }

    /// The scheduler's has_work reads the heads of its lists without the lock.
    pub(in crate::block) fn look_at_lists(&mut self, c: usize, hctx: HctxId) {
        let lock = self.dispatch_lock(hctx, c as CpuId);
        let q = self.hctxs[hctx as usize].queue;
        if let Some(line) = self.elevator(q).lists_behind(lock) {
            self.read(c, line);
        }
    }
}
