//! Merging with queued requests (`blk_mq_sched_bio_merge`, `elv_merge`, `elv_attempt_insert_merge`).

use crate::block::NONE;
use crate::event::{Kind, QueueId};
use crate::host::{Flow, Frame};
use crate::sched::{Merging, SchedRq};
use crate::sim::Sim;

impl Sim {
    /// Tries to merge `bio` into a queued request, under the lock that insertion takes; returns 1 if it was merged.
    pub(crate) fn sched_merge(&mut self, c: usize, pc: u8, bio: u32, merged: bool) -> Flow {
        let frame = |pc, merged| Frame::SchedMerge { pc, bio, merged };
        let q = self.bios[bio].queue;
        let h = self.hctx_for(bio, c);
        match pc {
            // bfq finds the io context under q->queue_lock first.
            0 => {
                if self.knobs.bfq_queue_lock && self.locking(q).queue_lock {
                    let lock = self.queues[q as usize].queue_lock;
                    return if self.lock(c, lock) {
                        Flow::Go(frame(4, false))
                    } else {
                        Flow::Spin(frame(4, false))
                    };
                }
                self.sched_merge(c, 1, bio, false)
            }
            4 => Flow::Pay(frame(5, false)),
            5 => {
                let lock = self.queues[q as usize].queue_lock;
                self.unlock(c, lock);
                self.sched_merge(c, 1, bio, false)
            }
            1 => {
                let lock = self.insert_lock(q, h, c as u16);
                if self.elevator(q).alone.is_some() && self.is_locked(lock) {
                    // spin_trylock fails: on without a merge.
                    self.read(c, lock);
                    return Flow::Pay(frame(6, false));
                }
                if self.lock(c, lock) { Flow::Go(frame(2, false)) } else { Flow::Spin(frame(2, false)) }
            }
            2 => {
                let lock = self.insert_lock(q, h, c as u16);
                self.search_lists(c, bio, lock);
                let found = self.elv_merge(c, q, bio);
                if let Some((rq, _)) = found {
                    self.unhash(rq);
                    let sector = self.rqs[rq].sector;
                    self.merge(c, rq, bio);
                    if self.rqs[rq].sector != sector {
                        self.checks.sweep_moved(q);
                    }
                    self.after_merge(c, q, rq);
                }
                self.charge(c, self.costs.merge);
                Flow::Pay(frame(3, found.is_some()))
            }
            6 => Flow::Ret(0),
            _ => {
                let lock = self.insert_lock(q, h, c as u16);
                self.unlock(c, lock);
                Flow::Ret(u32::from(merged))
            }
        }
    }

    /// A bio in the form in which schedulers are asked.
    pub(in crate::block) fn probe(&self, c: usize, q: QueueId, bio: u32) -> SchedRq {
        let (b, extent) = (&self.bios[bio], self.bio_extent(bio));
        let io = &self.ios[b.io];
        SchedRq {
            slot: NONE,
            id: 0,
            op: extent.op,
            flags: extent.flags,
            sector: extent.sector,
            sectors: extent.sectors,
            prio: io.prio,
            task: io.task,
            cpu: c as u16,
            hctx: self.hctx_for(bio, c) - self.queues[q as usize].first_hctx,
        }
    }

    /// The request that `bio` may join, and whether at its back.
    pub(in crate::block) fn elv_merge(&self, c: usize, q: QueueId, bio: u32) -> Option<(u32, bool)> {
        let queue = &self.queues[q as usize];
        let elevator = queue.elevator.as_ref()?;
        if queue.nomerges == 2 {
            return None;
        }
        let probe = self.probe(c, q, bio);
        let joins =
            |rq: u32| self.adjoins(rq, bio) && self.ask(q, |sched, cx| sched.may_merge(cx, rq, &probe));
        let side = |rq: u32| (rq, self.rqs[rq].extent().end() == probe.sector);
        let found = match elevator.sched.merging() {
            Merging::List => {
                if queue.nomerges == 1 {
                    return None;
                }
                elevator.sched.candidates(&probe).into_iter().find(|&rq| joins(rq))
            }
            Merging::Hash => {
                let last = elevator.last_merge;
                if last != NONE && joins(last) {
                    Some(last)
                } else if queue.nomerges == 1 {
                    None
                } else {
                    self.ending_at(q, probe.sector)
                        .filter(|&rq| joins(rq))
                        .or_else(|| self.ask(q, |sched, cx| sched.front(cx, &probe)).filter(|&rq| joins(rq)))
                }
            }
        };
        found.filter(|&rq| self.fits(rq, bio)).map(side)
    }

    /// The request hashed last among those that end at `sector` (`elv_rqhash_find`).
    fn ending_at(&self, q: QueueId, sector: u64) -> Option<u32> {
        let elevator = self.queues[q as usize].elevator.as_ref()?;
        elevator.ends.range((sector, 0, 0)..=(sector, u32::MAX, u32::MAX)).next_back().map(|&(_, _, rq)| rq)
    }

    /// Puts a request into the hash (`elv_rqhash_add`).
    pub(super) fn hash(&mut self, rq: u32) {
        let (q, end) = (self.rqs[rq].queue, self.rqs[rq].extent().end());
        let elevator = self.elevator(q);
        elevator.hash_order += 1;
        let order = elevator.hash_order;
        elevator.ends.insert((end, order, rq));
        self.rqs[rq].hashed = (end, order);
    }

    /// Takes it out again; nothing happens to one that is not there.
    pub(in crate::block) fn unhash(&mut self, rq: u32) {
        let (end, order) = std::mem::take(&mut self.rqs[rq].hashed);
        let q = self.rqs[rq].queue;
        let elevator = self.elevator(q);
        if order > 0 {
            elevator.ends.remove(&(end, order, rq));
        }
        if elevator.last_merge == rq {
            elevator.last_merge = NONE;
        }
    }

    /// A queued request, which has been taken out of the hash, has grown: back into the hash, and if it now touches its
    /// neighbour they become one (`attempt_back_merge`, `attempt_front_merge`, `elv_merged_request`).
    pub(in crate::block) fn after_merge(&mut self, c: usize, q: QueueId, rq: u32) {
        let (sector, sectors) = (self.rqs[rq].sector, self.rqs[rq].sectors);
        self.tell(c, q, |sched, cx, _| sched.grown(cx, rq, sector, sectors));
        if self.elevator(q).sched.merging() != Merging::Hash {
            return;
        }
        self.hash(rq);
        self.elevator(q).last_merge = rq;
        let (former, latter) = self.ask(q, |sched, _| (sched.former(rq), sched.latter(rq)));
        if let Some(next) = latter.filter(|&next| self.can_append(q, rq, next)) {
            self.append_queued(c, q, rq, next);
        } else if let Some(previous) = former.filter(|&previous| self.can_append(q, previous, rq)) {
            self.append_queued(c, q, previous, rq);
        }
    }

    /// Whether request `gone` may be appended to `kept` (`attempt_merge`).
    fn can_append(&self, q: QueueId, kept: u32, gone: u32) -> bool {
        let (k, g) = (&self.rqs[kept], &self.rqs[gone]);
        let queue = &self.queues[q as usize];
        k.queue == g.queue
            && k.op == g.op
            && k.prio == g.prio
            && k.mergeable()
            && g.mergeable()
            && k.extent().end() == g.sector
            && k.sectors + g.sectors <= queue.max_sectors_of(k.op)
            && k.segments + g.segments <= queue.max_segments
            && {
                let probe = self.sched_rq(gone);
                self.ask(q, |sched, cx| sched.may_merge_rq(cx, kept, &probe))
            }
    }

    /// Both are queued: `gone` becomes part of `kept`.
    fn append_queued(&mut self, c: usize, q: QueueId, kept: u32, gone: u32) {
        self.unhash(kept);
        self.unhash(gone);
        self.append(c, kept, gone);
        let (sector, sectors) = (self.rqs[kept].sector, self.rqs[kept].sectors);
        self.tell(c, q, |sched, cx, _| {
            sched.grown(cx, kept, sector, sectors);
            sched.absorbed(cx, kept, gone);
        });
        self.left_elevator(gone);
        self.hash(kept);
        self.elevator(q).last_merge = kept;
        self.free_merged(c, gone);
    }

    /// Moves the bios of `gone` to the end of `kept`.
    fn append(&mut self, c: usize, kept: u32, gone: u32) {
        let g = self.rqs[gone].clone();
        let k = &mut self.rqs[kept];
        self.stats.merged_away(k.queue, self.now, k.g_ns, g.g_ns);
        k.sectors += g.sectors;
        k.segments += g.segments;
        k.q_ns = k.q_ns.min(g.q_ns);
        k.g_ns = k.g_ns.min(g.g_ns);
        let last = std::mem::replace(&mut k.bio_last, g.bio_last);
        let (id, queue) = (k.id, k.queue);
        self.bios[last].next = g.bio_first;
        let traced = self.knobs.rq_merge_traced;
        let extent = g.extent();
        self.emit(c, Kind::RequestMerge { gone: g.id, rq: id, queue, extent, traced, front: false });
    }

    /// The request that has become part of another gives its sched tag back, or itself to the pool (`blk_mq_free_request`,
    /// `__blk_put_request`).
    fn free_merged(&mut self, c: usize, gone: u32) {
        let (q, id, hctx, tag) = {
            let r = &self.rqs[gone];
            (r.queue, r.id, r.hctx, r.sched_tag)
        };
        if self.is_legacy(q) {
            self.freed_request(c, gone);
        } else {
            self.emit(c, Kind::SchedTagFree { rq: id, hctx, tag });
            self.put_sched_tag(c, hctx, tag);
        }
        self.wbt_done(c, gone);
        self.rqs.remove(gone);
    }

    /// A new request tries to join queued ones before it is inserted (`elv_attempt_insert_merge`).
    pub(in crate::block) fn insert_merge(&mut self, c: usize, rq: u32) -> bool {
        let q = self.rqs[rq].queue;
        let queue = &self.queues[q as usize];
        let Some(elevator) = &queue.elevator else { return false };
        if queue.nomerges == 2 || elevator.sched.merging() != Merging::Hash || !self.rqs[rq].mergeable() {
            return false;
        }
        let (last, only_last) = (elevator.last_merge, queue.nomerges == 1);
        if last != NONE && self.can_append(q, last, rq) {
            self.append_new(c, q, last, rq);
            return true;
        }
        if only_last {
            return false;
        }
        let Some(kept) = self.ending_at(q, self.rqs[rq].sector).filter(|&kept| self.can_append(q, kept, rq))
        else {
            return false;
        };
        self.append_new(c, q, kept, rq);
        // What has grown may in turn join the one before it, again and again.
        let mut rq = kept;
        while let Some(before) =
            self.ending_at(q, self.rqs[rq].sector).filter(|&b| b != rq && self.can_append(q, b, rq))
        {
            self.append_queued(c, q, before, rq);
            rq = before;
        }
        true
    }

    /// `gone` was not yet inserted.
    fn append_new(&mut self, c: usize, q: QueueId, kept: u32, gone: u32) {
        self.unhash(kept);
        self.append(c, kept, gone);
        let (sector, sectors) = (self.rqs[kept].sector, self.rqs[kept].sectors);
        self.tell(c, q, |sched, cx, _| sched.grown(cx, kept, sector, sectors));
        self.hash(kept);
        self.elevator(q).last_merge = kept;
        self.free_merged(c, gone);
    }
}
