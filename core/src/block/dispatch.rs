//! Dispatch with scheduler none (`blk_mq_sched_dispatch_requests`, `blk_mq_flush_busy_ctxs`,
//! `blk_mq_do_dispatch_ctx`).

use crate::block::NONE;
use crate::event::{HctxId, Kind, Place};
use crate::host::{Flow, Frame};
use crate::kernel::DispatchMode;
use crate::sim::Sim;

/// Weight and factor of the dispatch_busy average (BLK_MQ_DISPATCH_BUSY_EWMA_WEIGHT, _FACTOR).
const BUSY_WEIGHT: u32 = 8;
const BUSY_FACTOR: u32 = 4;
/// Bits in a word of ctx_map (sbitmap_init_node with a shift of 3 in blk_mq_alloc_hctx).
pub(crate) const CTX_MAP_BITS: u16 = 8;

impl Sim {
    /// `blk_mq_update_dispatch_busy`.
    pub(crate) fn update_dispatch_busy(&mut self, c: usize, h: HctxId, busy: bool) {
        let q = self.hctxs[h as usize].queue;
        if !self.knobs.dispatch_busy || (self.has_elevator(q) && !self.knobs.dispatch_busy_elevator) {
            return;
        }
        let hctx = &mut self.hctxs[h as usize];
        let old = u32::from(hctx.dispatch_busy);
        if old == 0 && !busy {
            return;
        }
        let new = (old * (BUSY_WEIGHT - 1) + if busy { 1 << BUSY_FACTOR } else { 0 }) / BUSY_WEIGHT;
        hctx.dispatch_busy = new as u8;
        if new != old {
            self.emit(c, Kind::DispatchBusy { hctx: h, value: new as u8 });
        }
    }

    fn one_by_one(&self, h: HctxId, left_overs_sent: bool) -> bool {
        let hctx = &self.hctxs[h as usize];
        match self.knobs.dispatch_mode {
            DispatchMode::TakeAll => false,
            DispatchMode::OneByOne => true,
            DispatchMode::OneByOneWithBudget => left_overs_sent || self.queues[hctx.queue as usize].scsi(),
            DispatchMode::Busy => left_overs_sent || hctx.dispatch_busy > 0,
        }
    }

    /// One run of an hctx. `again`: it started anew because something had joined hctx->dispatch.
    pub(crate) fn dispatch(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        sent: u32,
        again: bool,
    ) -> Flow {
        let frame = |pc, list, sent| Frame::Dispatch { pc, hctx, list, sent, again };
        let send = |list| Frame::DispatchRqList { pc: 0, hctx, list, rq: NONE, sent: 0 };
        let h = hctx as usize;
        let elevator = self.has_elevator(self.hctxs[h].queue);
        // The loops that take one after the other.
        let take = |sim: &Sim| {
            if elevator {
                return Frame::DispatchSched { pc: 0, hctx, list: NONE, rq: NONE, sent: 0 };
            }
            let bit = sim.hctxs[h].dispatch_from;
            Frame::DispatchCtx { pc: 0, hctx, list: NONE, bit, sent: 0 }
        };
        match pc {
            0 => {
                self.emit(c, Kind::RunBegin { hctx });
                self.hctxs[h].run_began_ns = self.now;
                self.stats.queues[self.hctxs[h].queue as usize].runs += 1;
                if self.knobs.hctx_run_counter {
                    self.touch(c, self.hctxs[h].counters_line);
                }
                if self.knobs.ctxs_before_dispatch && !elevator {
                    let list = self.new_list();
                    let flush = Frame::FlushBusyCtxs { pc: 0, hctx, list, bit: 0 };
                    return Flow::Call(frame(10, list, 0), flush);
                }
                self.dispatch(c, 1, hctx, NONE, 0, again)
            }
            // Then older left-overs, in front.
            10 if self.hctxs[h].dispatch.is_empty() => Flow::Go(frame(6, list, sent)),
            10 => {
                let lock = self.hctxs[h].lock;
                let then = frame(11, list, sent);
                if self.lock(c, lock) { Flow::Pay(then) } else { Flow::Spin(then) }
            }
            11 => {
                let left = self.new_list();
                std::mem::swap(&mut self.lists[left], &mut self.hctxs[h].dispatch);
                // A run that leaves something behind again waits for a completion.
                self.hctxs[h].restart |= !self.lists[left].is_empty();
                self.emit_dequeue(c, hctx, left, 0, Place::DispatchList);
                while let Some(rq) = self.lists[left].pop_back() {
                    self.lists[list].push_front(rq);
                }
                self.drop_list(left);
                let lock = self.hctxs[h].lock;
                self.unlock(c, lock);
                Flow::Go(frame(6, list, sent))
            }
            // Left-overs first.
            1 if self.hctxs[h].dispatch.is_empty() || self.skips_dispatch_list(hctx) => {
                self.dispatch(c, 5, hctx, NONE, sent, again)
            }
            1 => Flow::Pay(frame(2, NONE, sent)),
            2 => {
                let lock = self.hctxs[h].lock;
                let then = frame(3, NONE, sent);
                if self.lock(c, lock) { Flow::Pay(then) } else { Flow::Spin(then) }
            }
            3 => {
                let list = self.new_list();
                std::mem::swap(&mut self.lists[list], &mut self.hctxs[h].dispatch);
                self.hctxs[h].restart |= !self.lists[list].is_empty();
                self.emit_dequeue(c, hctx, list, 0, Place::DispatchList);
                let lock = self.hctxs[h].lock;
                self.unlock(c, lock);
                if self.lists[list].is_empty() {
                    self.drop_list(list);
                    return Flow::Go(frame(5, NONE, sent));
                }
                Flow::Call(frame(4, NONE, sent), send(list))
            }
            // All of them sent? Then go on with the ctx lists, where the kernel does.
            4 => {
                let all_sent = self.cpus[c].ret & 1 == 1;
                let sent = sent + (self.cpus[c].ret >> 1);
                if all_sent && (elevator || self.one_by_one(hctx, true)) {
                    return Flow::Call(frame(8, NONE, sent), take(self));
                }
                Flow::Go(frame(9, NONE, sent))
            }
            5 => {
                if self.checks.on {
                    self.check_left_overs(c, hctx);
                }
                if elevator || self.one_by_one(hctx, false) {
                    return Flow::Call(frame(8, NONE, sent), take(self));
                }
                let list = self.new_list();
                Flow::Call(frame(6, list, sent), Frame::FlushBusyCtxs { pc: 0, hctx, list, bit: 0 })
            }
            6 => {
                if self.lists[list].is_empty() {
                    self.drop_list(list);
                    return Flow::Go(frame(9, NONE, sent));
                }
                Flow::Call(frame(7, NONE, sent), send(list))
            }
            7 => Flow::Go(frame(9, NONE, sent + (self.cpus[c].ret >> 1))),
            8 => {
                let sent = sent + (self.cpus[c].ret >> 1);
                let restarts = self.cpus[c].ret & 1 == 1;
                if restarts && !again {
                    return Flow::Go(Frame::Dispatch { pc: 1, hctx, list: NONE, sent, again: true });
                }
                if restarts {
                    self.schedule_work(c, hctx, 0);
                }
                Flow::Pay(frame(9, NONE, sent))
            }
            _ => {
                self.emit(c, Kind::RunEnd { hctx, sent });
                self.stats.queues[self.hctxs[h].queue as usize].empty_runs += u64::from(sent == 0);
                Flow::Ret(sent)
            }
        }
    }

    /// Logs that the requests of `list` from `first` on were taken.
    fn emit_dequeue(&mut self, c: usize, hctx: HctxId, list: u32, first: usize, from: Place) {
        if self.log.is_on() {
            for i in first..self.lists[list].len() {
                let rq = self.rqs[self.lists[list][i]].id;
                self.emit(c, Kind::Dequeue { rq, hctx, from });
            }
        }
    }

    /// First pending ctx at or after `bit`.
    fn next_pending(&self, hctx: HctxId, bit: u16) -> Option<u16> {
        let rest = self.hctxs[hctx as usize].ctx_map.checked_shr(u32::from(bit))?;
        (rest != 0).then(|| bit + rest.trailing_zeros() as u16)
    }

    pub(crate) fn set_pending(&mut self, c: usize, hctx: HctxId, cpu: u16) {
        if self.hctxs[hctx as usize].ctx_map & (1 << cpu) == 0 {
            self.write_ctx_map(c, hctx, cpu);
            self.hctxs[hctx as usize].ctx_map |= 1 << cpu;
        }
    }

    fn clear_pending(&mut self, c: usize, hctx: HctxId, cpu: u16) {
        self.write_ctx_map(c, hctx, cpu);
        self.hctxs[hctx as usize].ctx_map &= !(1 << cpu);
    }

    fn write_ctx_map(&mut self, c: usize, hctx: HctxId, cpu: u16) {
        let h = &mut self.hctxs[hctx as usize];
        h.ctx_map_used |= 1 << (cpu / CTX_MAP_BITS);
        let line = h.ctx_map_line + u32::from(cpu / CTX_MAP_BITS);
        self.touch(c, line);
    }

    /// Takes all requests of all pending ctxs.
    pub(crate) fn flush_busy_ctxs(&mut self, c: usize, pc: u8, hctx: HctxId, list: u32, bit: u16) -> Flow {
        let frame = |pc, bit| Frame::FlushBusyCtxs { pc, hctx, list, bit };
        let ctx = |sim: &Sim, bit: u16| sim.ctx_index(hctx, bit as usize) as usize;
        match pc {
            0 => {
                self.has_pending(c, hctx);
                Flow::Pay(frame(1, bit))
            }
            1 => match self.next_pending(hctx, bit) {
                None => Flow::Ret(0),
                Some(bit) => {
                    let lock = self.ctxs[ctx(self, bit)].lock;
                    if self.lock(c, lock) {
                        self.flush_busy_ctxs(c, 2, hctx, list, bit)
                    } else {
                        Flow::Spin(frame(2, bit))
                    }
                }
            },
            2 => {
                let at = ctx(self, bit);
                let before = self.lists[list].len();
                let taken = &mut self.ctxs[at].list;
                self.lists[list].extend(taken.drain(..));
                self.emit_dequeue(c, hctx, list, before, Place::Ctx(bit));
                self.clear_pending(c, hctx, bit);
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(3, bit))
            }
            _ => {
                let lock = self.ctxs[ctx(self, bit)].lock;
                self.unlock(c, lock);
                self.flush_busy_ctxs(c, 1, hctx, list, bit + 1)
            }
        }
    }

    /// One by one, round robin over the ctxs, from the cursor that all runners share. Returns sent * 2 + (1 if the run has
    /// to start again because hctx->dispatch is not empty); the last step is told so by a list that is not [`NONE`].
    pub(crate) fn dispatch_ctx(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        bit: u16,
        sent: u16,
    ) -> Flow {
        let frame = |pc, list, bit, sent| Frame::DispatchCtx { pc, hctx, list, bit, sent };
        let q = self.hctxs[hctx as usize].queue;
        match pc {
            0 => {
                let joined =
                    self.knobs.rerun_for_dispatch_list && !self.hctxs[hctx as usize].dispatch.is_empty();
                if joined {
                    return Flow::Go(frame(9, 0, bit, sent));
                }
                if !self.has_pending(c, hctx) || self.next_pending(hctx, 0).is_none() {
                    return Flow::Go(frame(9, NONE, bit, sent));
                }
                if self.queues[q as usize].scsi() && !self.get_budget(c, hctx) {
                    return Flow::Go(frame(9, NONE, bit, sent));
                }
                Flow::Pay(frame(1, NONE, bit, sent))
            }
            1 => {
                let found = self.next_pending(hctx, bit).or_else(|| self.next_pending(hctx, 0));
                let Some(bit) = found else { return Flow::Go(frame(8, NONE, bit, sent)) };
                let lock = self.ctxs[self.ctx_index(hctx, bit as usize) as usize].lock;
                let then = frame(2, NONE, bit, sent);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            2 => {
                let ctx = self.ctx_index(hctx, bit as usize) as usize;
                let rq = self.ctxs[ctx].list.pop_front();
                if self.ctxs[ctx].list.is_empty() {
                    self.clear_pending(c, hctx, bit);
                }
                self.charge(c, self.costs.ctx_dequeue);
                let mut slot = NONE;
                if let Some(rq) = rq {
                    slot = self.new_list();
                    self.lists[slot].push_back(rq);
                    self.rqs[rq].has_budget = self.queues[q as usize].scsi();
                    self.rqs[rq].budget_word = self.budget_word(c, q);
                    self.emit_dequeue(c, hctx, slot, 0, Place::Ctx(bit));
                }
                Flow::Pay(frame(3, slot, bit, sent))
            }
            3 => {
                let lock = self.ctxs[self.ctx_index(hctx, bit as usize) as usize].lock;
                self.unlock(c, lock);
                if list == NONE {
                    return Flow::Go(frame(8, NONE, bit, sent));
                }
                Flow::Call(
                    frame(4, NONE, bit, sent),
                    Frame::DispatchRqList { pc: 0, hctx, list, rq: NONE, sent: 0 },
                )
            }
            4 => {
                let ret = self.cpus[c].ret;
                let sent = sent.saturating_add((ret >> 1) as u16);
                let next = bit + 1;
                Flow::Go(frame(if ret & 1 == 1 { 0 } else { 9 }, NONE, next, sent))
            }
            // Nothing found after all: the budget goes back.
            8 => {
                if self.queues[q as usize].scsi() {
                    self.put_budget(c, q, self.budget_word(c, q));
                }
                Flow::Go(frame(9, NONE, bit, sent))
            }
            _ => {
                self.hctxs[hctx as usize].dispatch_from = bit;
                Flow::Ret(u32::from(sent) << 1 | u32::from(list != NONE))
            }
        }
    }
}
