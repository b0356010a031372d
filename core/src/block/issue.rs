//! Insertion into a ctx list and direct issue (`blk_mq_sched_insert_requests`, `blk_mq_try_issue_list_directly`,
//! `blk_mq_try_issue_directly`, `blk_mq_request_bypass_insert`, `nvme_queue_rqs`).

use crate::block::{NONE, status};
use crate::event::{HctxId, Kind, Place};
use crate::host::{Flow, Frame};
use crate::kernel::{DirectAtFlush, RefusedTo};
use crate::sim::Sim;

impl Sim {
    /// Inserts a group of one (hctx, ctx), after direct issue where the kernel tries it. Step 1 inserts without trying.
    pub(crate) fn insert_requests(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        ctx: u32,
        list: u32,
        run_async: bool,
    ) -> Flow {
        let frame = |pc| Frame::InsertRequests { pc, hctx, ctx, list, run_async };
        match pc {
            0 => {
                let tries = self.knobs.direct_at_flush != DirectAtFlush::Never
                    && !run_async
                    && self.hctxs[hctx as usize].dispatch_busy == 0;
                if tries {
                    Flow::Call(frame(4), Frame::IssueList { pc: 0, list, rq: NONE, whole_plug: false })
                } else {
                    self.insert_requests(c, 1, hctx, ctx, list, run_async)
                }
            }
            4 => {
                if self.lists[list].is_empty() && self.cpus[c].ret == 1 {
                    self.drop_list(list);
                    return Flow::Ret(0);
                }
                Flow::Go(frame(if self.lists[list].is_empty() { 6 } else { 1 }))
            }
            1 => {
                let lock = self.ctxs[ctx as usize].lock;
                if self.lock(c, lock) {
                    self.insert_requests(c, 2, hctx, ctx, list, run_async)
                } else {
                    Flow::Spin(frame(2))
                }
            }
            2 => {
                let n = self.lists[list].len() as u32;
                while let Some(rq) = self.lists[list].pop_front() {
                    let r = &mut self.rqs[rq];
                    if r.i_ns == 0 {
                        r.i_ns = self.now;
                    }
                    let (id, queue, place, extent) = (r.id, r.queue, Place::Ctx(r.cpu), r.extent());
                    self.ctxs[ctx as usize].list.push_back(rq);
                    self.emit(c, Kind::Insert { rq: id, queue, hctx, place, extent });
                }
                let cpu = (ctx - self.hctxs[hctx as usize].first_ctx) as u16;
                self.set_pending(c, hctx, cpu);
                self.charge(c, self.costs.ctx_insert * n);
                Flow::Pay(frame(3))
            }
            3 => {
                let lock = self.ctxs[ctx as usize].lock;
                if let Some(asleep) = self.sleep_with_lock(c, lock, frame(6)) {
                    return asleep;
                }
                self.unlock(c, lock);
                self.insert_requests(c, 6, hctx, ctx, list, run_async)
            }
            6 => {
                self.drop_list(list);
                Flow::Call(frame(7), Frame::RunHwQueue { pc: 0, hctx, run_async })
            }
            _ => Flow::Ret(0),
        }
    }

    /// Issues a list to the driver; returns 1 if all went, else what is left stays in the list.
    pub(crate) fn issue_list(&mut self, c: usize, pc: u8, list: u32, rq: u32, whole_plug: bool) -> Flow {
        let frame = |pc, rq| Frame::IssueList { pc, list, rq, whole_plug };
        match pc {
            0 => {
                let Some(rq) = self.lists[list].pop_front() else { return Flow::Ret(1) };
                let last = self.lists[list].is_empty();
                Flow::Call(frame(1, rq), Frame::QueueRq { pc: 0, rq, last })
            }
            1 => {
                let hctx = self.rqs[rq].hctx;
                let refused = self.cpus[c].ret;
                if refused == status::OK {
                    self.update_dispatch_busy(c, hctx, false);
                    return Flow::Go(frame(0, NONE));
                }
                if refused != status::NO_BUDGET {
                    self.update_dispatch_busy(c, hctx, true);
                }
                if !self.hctxs[hctx as usize].unrung.is_empty() {
                    self.ring(c, hctx);
                }
                match self.knobs.refused_to {
                    RefusedTo::Ctx | RefusedTo::CtxAsync => {
                        self.lists[list].push_front(rq);
                        Flow::Ret(0)
                    }
                    RefusedTo::DispatchList => Flow::Call(frame(2, rq), Frame::IssueDirectly { pc: 2, rq }),
                }
            }
            // The refused one was the last: run now, else whoever inserts the rest will.
            2 if whole_plug => {
                let hctx = self.rqs[rq].hctx;
                Flow::Call(frame(3, NONE), Frame::RunHwQueue { pc: 0, hctx, run_async: false })
            }
            _ => Flow::Ret(0),
        }
    }

    /// Issues one request; a refused one is inserted and its hctx run. Steps 2 to 4 alone are the bypass insert.
    pub(crate) fn issue_directly(&mut self, c: usize, pc: u8, rq: u32) -> Flow {
        let frame = |pc| Frame::IssueDirectly { pc, rq };
        let hctx = self.rqs[rq].hctx;
        match pc {
            // A scheduler takes it instead, and its hctx runs at once.
            0 if self.has_elevator(self.rqs[rq].queue) => {
                let cpu = self.rqs[rq].cpu;
                let list = self.new_list();
                self.lists[list].push_back(rq);
                Flow::Call(frame(6), Frame::ElvInsert { pc: 0, hctx, list, cpu, run_async: false })
            }
            0 => Flow::Call(frame(1), Frame::QueueRq { pc: 0, rq, last: true }),
            1 => {
                let refused = self.cpus[c].ret;
                if refused == status::OK {
                    self.update_dispatch_busy(c, hctx, false);
                    return Flow::Ret(0);
                }
                if refused != status::NO_BUDGET {
                    self.update_dispatch_busy(c, hctx, true);
                }
                if refused == status::NO_BUDGET || self.knobs.refused_to != RefusedTo::DispatchList {
                    let run_async = self.knobs.refused_to == RefusedTo::CtxAsync;
                    let list = self.new_list();
                    self.lists[list].push_back(rq);
                    let ctx = self.ctx_index(hctx, self.rqs[rq].cpu as usize);
                    return Flow::Call(frame(6), Frame::InsertRequests { pc: 1, hctx, ctx, list, run_async });
                }
                Flow::Call(frame(5), frame(2))
            }
            2 => {
                let lock = self.hctxs[hctx as usize].lock;
                if self.lock(c, lock) { Flow::Go(frame(3)) } else { Flow::Spin(frame(3)) }
            }
            3 => {
                let id = self.rqs[rq].id;
                self.hctxs[hctx as usize].dispatch.push_back(rq);
                self.emit(c, Kind::DispatchListAdd { rq: id, hctx });
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(4))
            }
            4 => {
                let lock = self.hctxs[hctx as usize].lock;
                self.unlock(c, lock);
                Flow::Ret(0)
            }
            5 => Flow::Call(frame(6), Frame::RunHwQueue { pc: 0, hctx, run_async: false }),
            _ => Flow::Ret(0),
        }
    }

    /// Hands the whole list to the driver: every request is prepared (D), then one lock and one doorbell.
    pub(crate) fn queue_rqs(&mut self, c: usize, pc: u8, list: u32, next: u32) -> Flow {
        let frame = |pc, next| Frame::QueueRqs { pc, list, next };
        match pc {
            0 => match self.lists[list].get(next as usize).copied() {
                Some(rq) => {
                    self.fetch_request(c, rq);
                    self.start_request(c, rq);
                    self.charge(c, self.costs.nvme_queue_rq);
                    Flow::Pay(frame(0, next + 1))
                }
                None => Flow::Go(frame(1, 0)),
            },
            1 => {
                let Some(&first) = self.lists[list].front() else { return Flow::Ret(0) };
                let lock = self.hctxs[self.rqs[first].hctx as usize].sq_lock;
                if self.lock(c, lock) { Flow::Go(frame(2, 0)) } else { Flow::Spin(frame(2, 0)) }
            }
            3 => {
                let lock = self.hctxs[next as usize].sq_lock;
                self.unlock(c, lock);
                Flow::Go(frame(1, 0))
            }
            _ => {
                let Some(&first) = self.lists[list].front() else { return Flow::Ret(0) };
                let hctx = self.rqs[first].hctx;
                while let Some(&rq) = self.lists[list].front()
                    && self.rqs[rq].hctx == hctx
                {
                    self.lists[list].pop_front();
                    self.hctxs[hctx as usize].unrung.push_back(rq);
                }
                self.ring(c, hctx);
                // The lock is held until the doorbell is rung; `next` names the hctx.
                Flow::Pay(frame(3, u32::from(hctx)))
            }
        }
    }
}
