//! Sending a list of requests to the driver (`blk_mq_dispatch_rq_list`).

use crate::block::{NONE, status};
use crate::event::{HctxId, Kind};
use crate::host::{Flow, Frame};
use crate::kernel::DispatchAppend;
use crate::sim::Sim;

impl Sim {
    /// Sends a list until it is empty or the driver refuses. Returns sent * 2 + (1 if the run may go on).
    pub(crate) fn dispatch_rq_list(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        rq: u32,
        sent: u16,
    ) -> Flow {
        let frame = |pc, rq, sent| Frame::DispatchRqList { pc, hctx, list, rq, sent };
        let h = hctx as usize;
        match pc {
            0 => {
                let Some(rq) = self.lists[list].pop_front() else {
                    self.drop_list(list);
                    self.update_dispatch_busy(c, hctx, false);
                    return Flow::Ret(u32::from(sent) << 1 | u32::from(sent > 0));
                };
                if let Some(why) = self.prep_dispatch_rq(c, rq) {
                    self.cpus[c].ret = why;
                    return Flow::Go(frame(1, rq, sent)); // at once: an interrupt would overwrite it
                }
                let next = self.lists[list].front().copied();
                let last =
                    next.is_none_or(|next| self.knobs.last_looks_ahead && !self.get_driver_tag(c, next));
                Flow::Call(frame(1, rq, sent), Frame::QueueRq { pc: 0, rq, last })
            }
            1 if self.cpus[c].ret == status::OK => {
                let cpu = self.rqs[rq].cpu as usize;
                let q = self.hctxs[h].queue as usize;
                self.stats.queues[q].foreign_dispatched += u64::from(cpu != c);
                self.dispatch_rq_list(c, 0, hctx, list, NONE, sent.saturating_add(1))
            }
            1 => {
                let refused = self.cpus[c].ret;
                self.lists[list].push_front(rq);
                self.put_back(c, list, refused);
                if !self.hctxs[h].unrung.is_empty() {
                    self.ring(c, hctx); // commit_rqs: the list ended early
                }
                Flow::Pay(frame(2, refused, sent))
            }
            2 => {
                let lock = self.hctxs[h].lock;
                if self.lock(c, lock) { Flow::Go(frame(3, rq, sent)) } else { Flow::Spin(frame(3, rq, sent)) }
            }
            3 => {
                if self.log.is_on() {
                    for i in 0..self.lists[list].len() {
                        let id = self.rqs[self.lists[list][i]].id;
                        self.emit(c, Kind::DispatchListAdd { rq: id, hctx });
                    }
                }
                let (from, to) = (&mut self.lists[list], &mut self.hctxs[h].dispatch);
                match self.knobs.dispatch_append {
                    DispatchAppend::Tail => to.append(from),
                    DispatchAppend::Front => {
                        while let Some(rq) = from.pop_back() {
                            to.push_front(rq);
                        }
                    }
                }
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(4, rq, sent))
            }
            4 => {
                let lock = self.hctxs[h].lock;
                self.unlock(c, lock);
                self.drop_list(list);
                self.update_dispatch_busy(c, hctx, true);
                let refused = rq;
                let delays = refused == status::RESOURCE
                    || (refused == status::NO_BUDGET && self.knobs.no_budget_delays);
                // Whoever freed a tag in between has found nobody waiting.
                let missed =
                    refused == status::NO_TAG && self.others_free_tags(hctx) && !self.hctxs[h].waits_for_tag;
                if !self.hctxs[h].restart || missed {
                    return Flow::Call(
                        frame(5, rq, sent),
                        Frame::RunHwQueue { pc: 0, hctx, run_async: true },
                    );
                }
                if delays && self.knobs.resource_delay_us > 0 {
                    let delay_ns = u64::from(self.knobs.resource_delay_us) * 1000;
                    self.schedule_work(c, hctx, delay_ns);
                }
                Flow::Pay(frame(5, rq, sent))
            }
            _ => Flow::Ret(u32::from(sent) << 1),
        }
    }

    /// Budget and driver tag for a request that comes from a scheduler (`blk_mq_prep_dispatch_rq`): why it cannot go.
    fn prep_dispatch_rq(&mut self, c: usize, rq: u32) -> Option<u32> {
        if self.rqs[rq].tag != NONE {
            return None; // its driver asks for the budget where it is needed
        }
        let q = self.rqs[rq].queue;
        if self.knobs.scsi_budget_first && self.queues[q as usize].scsi() && !self.rqs[rq].has_budget {
            if !self.get_budget(c, self.rqs[rq].hctx) {
                return Some(status::NO_BUDGET);
            }
            self.rqs[rq].has_budget = true;
            self.rqs[rq].budget_word = self.budget_word(c, q);
        }
        if self.get_driver_tag(c, rq) || self.mark_tag_wait(c, rq) {
            return None;
        }
        let (id, hctx) = (self.rqs[rq].id, self.rqs[rq].hctx);
        self.emit(c, Kind::NoDriverTag { rq: id, hctx });
        Some(status::NO_TAG)
    }

    /// The requests of a list that could not be sent give back what they hold: all their budgets, and, where the driver
    /// refused, the refused one and the next their driver tags (`blk_mq_release_budgets`, `blk_mq_handle_dev_resource`).
    fn put_back(&mut self, c: usize, list: u32, refused: u32) {
        for i in 0..self.lists[list].len() {
            let rq = self.lists[list][i];
            let q = self.rqs[rq].queue;
            if std::mem::take(&mut self.rqs[rq].has_budget) {
                self.put_budget(c, q, self.rqs[rq].budget_word);
            }
            if i < 2 && matches!(refused, status::RESOURCE | status::DEV_RESOURCE) {
                self.put_driver_tag(c, rq);
            }
        }
    }

    /// `blk_mq_put_driver_tag`: back to the bitmap, but only where a sched tag still holds the request.
    pub(crate) fn put_driver_tag(&mut self, c: usize, rq: u32) {
        if self.rqs[rq].sched_tag == NONE {
            return;
        }
        let tag = std::mem::replace(&mut self.rqs[rq].tag, NONE);
        if tag != NONE {
            let (id, hctx) = (self.rqs[rq].id, self.rqs[rq].hctx);
            self.emit(c, Kind::TagFree { rq: id, hctx, tag });
            self.put_tag(c, hctx, tag);
        }
    }
}
