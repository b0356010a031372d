//! Submission of a bio: split, merge, request, and the way it goes from there
//! (`blk_mq_make_request` up to 5.8, `blk_mq_submit_bio` since).

use crate::block::{Bio, NONE, Request, RequeueTo, segments};
use crate::event::{Extent, Flags, HctxId, Kind};
use crate::host::{Flow, Frame, Runnable};
use crate::kernel::{DirectUnplugged, FullPlug};
use crate::sim::Sim;

/// Requests that a bio is compared with at the end of a ctx list (`blk_bio_list_merge`).
const CTX_MERGE_DEPTH: usize = 8;

impl Sim {
    /// The task that runs on `c`.
    pub(crate) fn current_task(&self, c: usize) -> usize {
        match self.cpus[c].current {
            Some(Runnable::Task(t)) => t as usize,
            _ => unreachable!("only tasks submit"),
        }
    }

    pub(crate) fn bio_extent(&self, bio: u32) -> Extent {
        let b = &self.bios[bio];
        let io = &self.ios[b.io];
        Extent { op: io.op, flags: io.flags, sector: b.sector, sectors: b.sectors }
    }

    /// Whether a bio has nothing to flush on its disk: `submit_bio_noacct` drops the flags, and a bio that has nothing else.
    pub(crate) fn drops_flush(&mut self, bio: u32) -> bool {
        let Bio { io, queue, .. } = self.bios[bio];
        let drops = self.ios[io].is_flush() && !self.queues[queue as usize].write_cache;
        if drops {
            self.ios[io].flags = self.ios[io].flags.without(Flags::FLUSH);
        }
        drops
    }

    /// `bio` is what is left of the I/O, `part` the piece under way (the same slot for the last piece).
    pub(crate) fn submit_bio(&mut self, c: usize, pc: u8, bio: u32, part: u32, rq: u32) -> Flow {
        let frame = |pc, part, rq| Frame::SubmitBio { pc, bio, part, rq };
        let Bio { io, queue: q, .. } = self.bios[if part == NONE { bio } else { part }];
        match pc {
            0 => {
                if self.drops_flush(bio) && self.bios[bio].sectors == 0 {
                    self.bios.remove(bio);
                    self.ios[io].dropped = true;
                    self.bio_end(c, io);
                    return Flow::Ret(0);
                }
                let extent = self.bio_extent(bio);
                self.bios[bio].q_ns = self.now;
                self.emit(c, Kind::Queue { bio: self.ios[io].id, queue: q, extent });
                if self.queues[q as usize].stack.is_some() {
                    return Flow::Go(Frame::Remap { pc: 0, bio, part: NONE });
                }
                self.submit_bio(c, 1, bio, NONE, NONE)
            }
            // Split to limits; every piece goes the whole way before the next.
            1 => {
                let whole = self.bio_extent(bio);
                let most = self.queues[q as usize].first_piece(whole.op, whole.sector, whole.sectors);
                if most == whole.sectors {
                    return self.submit_bio(c, 2, bio, bio, NONE);
                }
                let at_sector = whole.sector + u64::from(most);
                self.emit(c, Kind::Split { bio: self.ios[io].id, queue: q, extent: whole, at_sector });
                let q_ns = self.bios[bio].q_ns;
                let piece = Bio { io, queue: q, sector: whole.sector, sectors: most, q_ns, next: NONE };
                let part = self.bios.add(piece);
                self.ios[io].pending += 1;
                let rest = &mut self.bios[bio];
                rest.sector = at_sector;
                rest.sectors -= most;
                self.charge(c, self.costs.merge);
                Flow::Pay(frame(2, part, NONE))
            }
            // Merge into a request of the plug.
            2 => {
                if !self.ios[io].mergeable() {
                    return Flow::Pay(frame(5, part, NONE));
                }
                if self.queues[q as usize].nomerges < 2 && self.plug_merge(c, part) {
                    self.charge(c, self.costs.merge);
                    return Flow::Pay(frame(9, part, NONE));
                }
                if self.is_legacy(q) {
                    return Flow::Call(frame(9, part, NONE), Frame::QueueBio { pc: 0, bio: part, rq: NONE });
                }
                if self.has_elevator(q) {
                    if self.queues[q as usize].nomerges == 2 {
                        return Flow::Pay(frame(5, part, NONE));
                    }
                    return Flow::Call(
                        frame(13, part, NONE),
                        Frame::SchedMerge { pc: 0, bio: part, merged: false },
                    );
                }
                let ctx = self.ctx_index(self.hctx_for(part, c), c);
                let try_ctx = self.queues[q as usize].nomerges < 2
                    && !self.knobs.merge_after_request
                    && !self.ctxs[ctx as usize].list.is_empty();
                Flow::Pay(frame(if try_ctx { 3 } else { 5 }, part, NONE))
            }
            // Merge into one of the last requests of the ctx list, under its lock.
            3 => {
                let lock = self.ctxs[self.ctx_index(self.hctx_for(part, c), c) as usize].lock;
                if self.lock(c, lock) {
                    self.submit_bio(c, 4, bio, part, NONE)
                } else {
                    Flow::Spin(frame(4, part, NONE))
                }
            }
            4 => {
                let found = self.ctx_candidate(c, part);
                if let Some(rq) = found {
                    self.merge(c, rq, part);
                    self.charge(c, self.costs.merge);
                }
                let merged = found.is_some();
                // The release happens when the merge is through.
                Flow::Pay(frame(if merged { 11 } else { 12 }, part, NONE))
            }
            11 | 12 => {
                let lock = self.ctxs[self.ctx_index(self.hctx_for(part, c), c) as usize].lock;
                self.unlock(c, lock);
                self.submit_bio(c, if pc == 11 { 9 } else { 5 }, bio, part, NONE)
            }
            13 => Flow::Go(frame(if self.cpus[c].ret == 1 { 9 } else { 5 }, part, NONE)),
            5 => match self.wbt_first(part) {
                Some(wait) => Flow::Call(frame(20, part, NONE), wait),
                None => self.submit_bio(c, 20, bio, part, NONE),
            },
            20 => {
                if self.knobs.g_before_tag {
                    let extent = self.bio_extent(part);
                    self.emit(c, Kind::GetRequest { bio: self.ios[io].id, rq: 0, queue: q, extent });
                }
                let hctx = self.hctx_for(part, c);
                Flow::Call(frame(6, part, NONE), Frame::GetRequest { pc: 0, bio: part, hctx })
            }
            6 => {
                let rq = self.cpus[c].ret;
                let extent = self.bio_extent(part);
                if !self.knobs.g_before_tag {
                    let id = self.rqs[rq].id;
                    self.emit(c, Kind::GetRequest { bio: self.ios[io].id, rq: id, queue: q, extent });
                }
                // Steps 18 and 19 name the hctx, as the request may be gone by then.
                let hctx = u32::from(self.rqs[rq].hctx);
                let then = |pc| frame(pc, part, if pc == 17 { rq } else { hctx });
                if self.ios[io].is_flush()
                    && let Some(flow) = self.insert_flush(rq, then)
                {
                    return flow;
                }
                self.route(c, bio, part, rq)
            }
            17 => self.route(c, bio, part, rq),
            // The flush machinery has the request now; or it joined the dispatch list past the scheduler.
            18 if self.knobs.flush_runs_inline => self.submit_bio(c, 9, bio, part, NONE),
            18 | 19 => {
                let (hctx, run_async) = (rq as HctxId, !self.knobs.flush_runs_inline);
                Flow::Call(frame(9, part, NONE), Frame::RunHwQueue { pc: 0, hctx, run_async })
            }
            // The request is there already: one lock for the attempt to merge and the insertion (`blk_mq_merge_queue_io`).
            14 => {
                let lock = self.ctxs[self.ctx_index(self.hctx_for(part, c), c) as usize].lock;
                if self.lock(c, lock) {
                    Flow::Go(frame(15, part, rq))
                } else {
                    Flow::Spin(frame(15, part, rq))
                }
            }
            15 => {
                if self.queues[q as usize].nomerges < 2
                    && let Some(kept) = self.ctx_candidate(c, part)
                {
                    self.merge_request(c, kept, rq);
                    return Flow::Pay(frame(11, part, NONE));
                }
                let hctx = self.rqs[rq].hctx;
                let ctx = self.ctx_index(hctx, c);
                let list = self.new_list();
                self.lists[list].push_back(rq);
                let run_async = self.inserts_async(rq);
                Flow::Call(frame(9, part, NONE), Frame::InsertRequests { pc: 2, hctx, ctx, list, run_async })
            }
            // The plug was full and has been flushed.
            8 => {
                self.plug_add(c, rq, true);
                self.submit_bio(c, 9, bio, part, NONE)
            }
            // Next piece, if any.
            9 if part == bio => Flow::Ret(0),
            9 => self.submit_bio(c, 1, bio, NONE, NONE),
            _ => unreachable!("submit_bio has no step {pc}"),
        }
    }

    /// Where a new request goes: plug, driver or ctx list.
    fn route(&mut self, c: usize, bio: u32, part: u32, rq: u32) -> Flow {
        let then = |pc, rq| Frame::SubmitBio { pc, bio, part, rq };
        let t = self.current_task(c);
        let q = self.rqs[rq].queue;
        let queue = &self.queues[q as usize];
        let single = queue.nr_hctx == 1;
        let plugged = self.tasks[t].plug.active;
        let full = match self.knobs.full_plug {
            FullPlug::Always => true,
            FullPlug::SingleQueue => single,
            FullPlug::SingleOrCommit => {
                single || (self.knobs.commit_rqs && queue.has_commit_rqs()) || queue.rotational
            }
            FullPlug::SingleCommitOrSharedTags => {
                single
                    || (self.knobs.commit_rqs && queue.has_commit_rqs())
                    || queue.rotational
                    || queue.host_tags
            }
        };
        if plugged && full {
            if self.plug_is_full(t, q) {
                return Flow::Call(
                    then(8, rq),
                    Frame::FlushPlug { pc: 0, from_schedule: false, list: NONE, group: 0 },
                );
            }
            self.plug_add(c, rq, false);
            return self.submit_bio(c, 9, bio, part, NONE);
        }
        let elevator = queue.elevator.is_some();
        let limited = self.knobs.limited_plug && !(elevator && self.knobs.elevator_before_direct);
        if plugged && limited && queue.nomerges < 2 {
            return match self.limited_plug(c, t, rq) {
                Some(old) => Flow::Call(then(9, NONE), Frame::IssueDirectly { pc: 0, rq: old }),
                None => Flow::Pay(then(9, NONE)),
            };
        }
        let busy = self.hctxs[self.rqs[rq].hctx as usize].dispatch_busy > 0;
        let sync = self.rqs[rq].extent().is_sync();
        let direct = match self.knobs.direct_unplugged {
            DirectUnplugged::Never => false,
            DirectUnplugged::MqSync => !single && sync,
            DirectUnplugged::MqSyncOrIdle => (!single && sync) || (!elevator && !busy),
            DirectUnplugged::NotBusy => !(busy && (single || !sync)),
        };
        if direct && !(elevator && self.knobs.elevator_before_direct) {
            return Flow::Call(then(9, NONE), Frame::IssueDirectly { pc: 0, rq });
        }
        if self.knobs.merge_after_request && !elevator {
            return Flow::Go(then(14, rq));
        }
        let (hctx, cpu) = (self.rqs[rq].hctx, self.rqs[rq].cpu);
        let ctx = self.ctx_index(hctx, cpu as usize);
        let list = self.new_list();
        self.lists[list].push_back(rq);
        if elevator {
            let insert = Frame::ElvInsert { pc: 0, hctx, list, cpu, run_async: true };
            return Flow::Call(then(9, NONE), insert);
        }
        let run_async = self.inserts_async(rq);
        Flow::Call(then(9, NONE), Frame::InsertRequests { pc: 1, hctx, ctx, list, run_async })
    }

    /// Whether a kworker dispatches an unplugged request that goes into its ctx list.
    fn inserts_async(&self, rq: u32) -> bool {
        !(self.knobs.sync_insert_inline && self.rqs[rq].extent().is_sync())
    }

    /// One of the last requests of the CPU's ctx list, whose lock is held, that `bio` can join (`blk_bio_list_merge`).
    fn ctx_candidate(&self, c: usize, bio: u32) -> Option<u32> {
        let ctx = self.ctx_index(self.hctx_for(bio, c), c) as usize;
        let last = self.ctxs[ctx].list.iter().rev().take(CTX_MERGE_DEPTH);
        last.copied().find(|&rq| self.mergeable(rq, bio))
    }

    /// The bio of the new request `gone` joins `kept`; `gone` goes back with its tag (`__blk_mq_free_request`).
    fn merge_request(&mut self, c: usize, kept: u32, gone: u32) {
        let r = &self.rqs[gone];
        let (id, queue, hctx, tag, extent) = (r.id, r.queue, r.hctx, r.tag, r.extent());
        let front = !self.join(kept, r.bio_first);
        self.charge(c, self.costs.merge);
        let (kept_ns, gone_ns) = (self.rqs[kept].g_ns, self.rqs[gone].g_ns);
        self.stats.merged_away(queue, self.now, kept_ns, gone_ns.max(kept_ns));
        let rq = self.rqs[kept].id;
        self.emit(c, Kind::RequestMerge { gone: id, rq, queue, extent, traced: true, front });
        self.emit(c, Kind::TagFree { rq: id, hctx, tag });
        self.put_tag(c, hctx, tag);
        self.wbt_done(c, gone);
        self.rqs.remove(gone);
    }

    /// Makes the request for `bio` with its tag; the value that `blk_mq_get_request` returns.
    pub(crate) fn make_request(&mut self, c: usize, bio: u32, hctx: HctxId, tag: u32) -> Flow {
        let scheduled = self.hctxs[hctx as usize].sched_tags.is_some();
        let (driver_tag, sched_tag) = if scheduled { (NONE, tag) } else { (tag, NONE) };
        let slot = self.new_request(c, bio, hctx, driver_tag, sched_tag);
        let (rq, bio) = (self.rqs[slot].id, self.ios[self.bios[bio].io].id);
        self.emit(
            c,
            if scheduled {
                Kind::SchedTagAlloc { rq, bio, hctx, tag }
            } else {
                Kind::TagAlloc { rq, bio, hctx, tag }
            },
        );
        Flow::Ret(slot)
    }

    /// A new request for `bio`.
    pub(crate) fn new_request(&mut self, c: usize, bio: u32, hctx: HctxId, tag: u32, sched_tag: u32) -> u32 {
        self.next_rq += 1;
        let b = &self.bios[bio];
        let io = &self.ios[b.io];
        let rq = Request {
            id: self.next_rq,
            task: io.task,
            queue: b.queue,
            hctx,
            cpu: c as u16,
            op: io.op,
            flags: io.flags,
            prio: io.prio,
            sector: b.sector,
            sectors: b.sectors,
            segments: segments(io.op, b.sectors),
            bio_first: bio,
            bio_last: bio,
            tag,
            sched_tag,
            hashed: (0, 0),
            q_ns: b.q_ns,
            g_ns: self.now,
            i_ns: 0,
            d_ns: 0,
            issue_cpu: c as u16,
            struct_owner: c as u16,
            owner: c as u16,
            has_budget: false,
            budget_word: 0,
            busy_status: false,
            wbt: self.wbt_tracks(bio),
            flush_seq: 0,
            requeue_to: RequeueTo::default(),
            in_sched: false,
            started: false,
            refused_ns: 0,
        };
        if rq.sectors > 0 {
            self.stats.got_request(rq.queue, self.now);
        }
        self.rqs.add(rq)
    }

    /// The hctx to which CPU `c` gives a bio (`blk_mq_map_queue`).
    pub(crate) fn hctx_for(&self, bio: u32, c: usize) -> HctxId {
        let b = &self.bios[bio];
        let queue = &self.queues[b.queue as usize];
        let polled = self.ios[b.io].polled && !queue.poll_map.is_empty();
        if polled { queue.poll_map[c] } else { queue.map[c] }
    }

    /// The software queue of `cpu` for requests of the hctx's type.
    pub(crate) fn ctx_index(&self, hctx: HctxId, cpu: usize) -> u32 {
        self.hctxs[hctx as usize].first_ctx + cpu as u32
    }

    /// Whether `bio` can be joined to `rq` at either end.
    pub(crate) fn mergeable(&self, rq: u32, bio: u32) -> bool {
        self.adjoins(rq, bio) && self.fits(rq, bio)
    }

    /// Whether `bio` is of the kind of `rq` and lies before or behind it (`blk_rq_merge_ok`, `blk_try_merge`).
    pub(crate) fn adjoins(&self, rq: u32, bio: u32) -> bool {
        let (r, b) = (&self.rqs[rq], &self.bios[bio]);
        let io = &self.ios[b.io];
        r.queue == b.queue
            && r.op == io.op
            && r.prio == io.prio
            && r.mergeable()
            && io.mergeable()
            && (r.sector + u64::from(r.sectors) == b.sector || b.sector + u64::from(b.sectors) == r.sector)
    }

    /// Whether the two together keep the queue's limits (`ll_back_merge_fn`).
    pub(crate) fn fits(&self, rq: u32, bio: u32) -> bool {
        let (r, b) = (&self.rqs[rq], &self.bios[bio]);
        let queue = &self.queues[r.queue as usize];
        r.sectors + b.sectors <= queue.max_sectors_of(r.op)
            && r.segments + segments(r.op, b.sectors) <= queue.max_segments
    }

    /// Joins `bio` to `rq` and tells of it.
    pub(crate) fn merge(&mut self, c: usize, rq: u32, bio: u32) {
        let extent = self.bio_extent(bio);
        let id = self.ios[self.bios[bio].io].id;
        let (rq_id, queue) = (self.rqs[rq].id, self.rqs[rq].queue);
        let back = self.join(rq, bio);
        self.stats.queues[queue as usize].merges += 1;
        self.emit(
            c,
            if back {
                Kind::BackMerge { bio: id, rq: rq_id, queue, extent }
            } else {
                Kind::FrontMerge { bio: id, rq: rq_id, queue, extent }
            },
        );
    }

    /// Joins `bio` to `rq`: at the back if it fits there (true), else at the front.
    fn join(&mut self, rq: u32, bio: u32) -> bool {
        let extent = self.bio_extent(bio);
        let r = &mut self.rqs[rq];
        let back = r.sector + u64::from(r.sectors) == extent.sector;
        r.sectors += extent.sectors;
        r.segments += segments(r.op, extent.sectors);
        if back {
            let last = std::mem::replace(&mut r.bio_last, bio);
            self.bios[last].next = bio;
            self.bios[bio].next = NONE;
        } else {
            r.sector = extent.sector;
            let first = std::mem::replace(&mut r.bio_first, bio);
            self.bios[bio].next = first;
        }
        back
    }
}
