//! From the scheduler to the driver (`blk_mq_do_dispatch_sched`).

use crate::block::NONE;
use crate::event::{HctxId, Kind, Place, QueueId};
use crate::host::{Flow, Frame};
use crate::kernel::ElevatorDispatch;
use crate::sim::Sim;

/// Delay of the run of all hctxs after the scheduler gave nothing although budget was at hand (BLK_MQ_BUDGET_DELAY).
const BUDGET_DELAY_NS: u64 = 3_000_000;
/// Longest time that one run takes from a scheduler (`blk_mq_do_dispatch_sched`, 5.19+).
const RUN_MAX_NS: u64 = 1_000_000_000;
/// Marks of a collection: its requests were sent; the run has to start again.
const WENT_ON: u32 = 1;
const RUN_AGAIN: u32 = 2;
/// Added to the steps of one attempt that holds budget.
const WITH_BUDGET: u8 = 16;
const WITH_BUDGET_2: u8 = WITH_BUDGET + 2;
const WITH_BUDGET_3: u8 = WITH_BUDGET + 3;

impl Sim {
    /// Takes requests from the scheduler and sends them until nothing more goes. Returns sent * 2 + (1 if the run has to
    /// start again because hctx->dispatch is not empty).
    pub(crate) fn dispatch_sched(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        rq: u32,
        sent: u16,
    ) -> Flow {
        let frame = |pc, list, rq, sent| Frame::DispatchSched { pc, hctx, list, rq, sent };
        let q = self.hctxs[hctx as usize].queue;
        match pc {
            0 => {
                let list = self.new_list();
                self.dispatch_sched(c, 1, hctx, list, NONE, sent)
            }
            // One more? `rq` is what the last attempt gave.
            1 => {
                if self.knobs.elevator_has_work {
                    self.look_at_lists(c, hctx);
                }
                if self.knobs.elevator_has_work && !self.sched_has_work(hctx) {
                    return self.dispatch_sched(c, 5, hctx, list, NONE, sent);
                }
                if self.knobs.rerun_for_dispatch_list && !self.hctxs[hctx as usize].dispatch.is_empty() {
                    return self.dispatch_sched(c, 5, hctx, list, RUN_AGAIN, sent);
                }
                let budget = self.queues[q as usize].scsi() && self.knobs.scsi_budget_first;
                if budget && !self.get_budget(c, hctx) {
                    return Flow::Pay(frame(5, list, NONE, sent));
                }
                if let Some(bit) = self.elevator(q).alone {
                    self.read(c, bit);
                    if self.elevator(q).dispatching {
                        let next = self.gave_none(c, q, list, budget);
                        return Flow::Pay(frame(next, list, NONE, sent));
                    }
                    self.touch(c, bit);
                    self.elevator(q).dispatching = true;
                }
                let lock = self.dispatch_lock(hctx, c as u16);
                let then = frame(if budget { WITH_BUDGET + 2 } else { 2 }, list, NONE, sent);
                if self.lock(c, lock) { Flow::Pay(then) } else { Flow::Spin(then) }
            }
            2 | WITH_BUDGET_2 => {
                let lock = self.dispatch_lock(hctx, c as u16);
                let from = self.open_lists(c, q, lock);
                self.insert_waiting(c, q, from);
                let index = hctx - self.queues[q as usize].first_hctx;
                let (taken, sweep) =
                    self.tell(c, q, |sched, cx, out| (sched.dispatch(cx, index, out), out.sweep.take()));
                if let Some(rq) = taken {
                    self.charge_op(c, q);
                    let lines = self.locking(q).lists.dispatch.saturating_sub(1);
                    self.fetch_lists(c, q, from, lines);
                    self.fetch_struct_request(c, rq);
                    self.unhash(rq);
                    if !self.locking(q).counts_until_done {
                        self.left_elevator(rq);
                    }
                    self.elevator(q).in_driver += 1;
                    let id = self.rqs[rq].id;
                    self.emit(c, Kind::Dequeue { rq: id, hctx, from: Place::Elevator });
                    if self.checks.on {
                        self.check_sweep(c, q, id, self.rqs[rq].sector, sweep);
                    }
                } else {
                    // The search alone: a third of an operation.
                    let ns = self.elevator(q).op_ns / 3;
                    self.charge(c, ns);
                }
                Flow::Pay(frame(pc + 1, list, taken.unwrap_or(NONE), sent))
            }
            3 | WITH_BUDGET_3 => {
                let lock = self.dispatch_lock(hctx, c as u16);
                self.unlock(c, lock);
                if let Some(bit) = self.elevator(q).alone {
                    self.touch(c, bit);
                    self.elevator(q).dispatching = false;
                }
                let budget = pc == WITH_BUDGET_3;
                if rq == NONE {
                    let next = self.gave_none(c, q, list, budget);
                    return Flow::Pay(frame(next, list, NONE, sent));
                }
                if budget {
                    self.rqs[rq].has_budget = true;
                    self.rqs[rq].budget_word = self.budget_word(c, q);
                }
                self.lists[list].push_back(rq);
                let most = match self.knobs.elevator_dispatch {
                    ElevatorDispatch::One => 1,
                    _ if self.hctxs[hctx as usize].dispatch_busy > 0 => 1,
                    _ => self.elevator(q).nr_requests,
                };
                let stops = self.knobs.elevator_dispatch == ElevatorDispatch::BatchUntilNoTag
                    && !self.get_driver_tag(c, rq);
                let more = !stops && (self.lists[list].len() as u32) < most;
                Flow::Pay(frame(if more { 1 } else { 5 }, list, NONE, sent))
            }
            // It has work and gives none (bfq idles): all hctxs look again later.
            4 => {
                self.delay_run_all(c, q, BUDGET_DELAY_NS);
                Flow::Pay(frame(5, list, NONE, sent))
            }
            // What was collected goes out, hctx by hctx.
            5 => {
                let queued_elsewhere = self.lists[list].iter().any(|&rq| self.rqs[rq].hctx != hctx);
                if queued_elsewhere {
                    let rqs = &self.rqs;
                    self.lists[list].make_contiguous().sort_by_key(|&rq| rqs[rq].hctx);
                }
                // From here on `rq` holds marks.
                let marks = if rq == RUN_AGAIN { RUN_AGAIN } else { 0 };
                Flow::Go(frame(6, list, marks, sent))
            }
            6 => {
                let Some(&first) = self.lists[list].front() else {
                    self.drop_list(list);
                    return self.dispatch_sched(c, 8, hctx, NONE, rq, sent);
                };
                let of = self.rqs[first].hctx;
                let part = self.split_list(list, |sim, rq| sim.rqs[rq].hctx == of);
                Flow::Call(
                    frame(7, list, rq, sent),
                    Frame::DispatchRqList { pc: 0, hctx: of, list: part, rq: NONE, sent: 0 },
                )
            }
            7 => {
                let ret = self.cpus[c].ret;
                let sent = sent.saturating_add((ret >> 1) as u16);
                Flow::Go(frame(6, list, rq | (ret & WENT_ON), sent))
            }
            _ => {
                let total = u32::from(sent) << 1;
                // Something had joined hctx->dispatch before; what was refused just now does not count.
                if rq & RUN_AGAIN != 0 {
                    return Flow::Ret(total | 1);
                }
                if rq & WENT_ON == 0 {
                    return Flow::Ret(total);
                }
                let began = self.hctxs[hctx as usize].run_began_ns;
                if self.knobs.elevator_run_bounded && self.now - began >= RUN_MAX_NS {
                    self.schedule_work(c, hctx, 0);
                    return Flow::Ret(total);
                }
                Flow::Go(frame(0, NONE, NONE, sent))
            }
        }
    }

    /// The scheduler gave nothing: the step that follows.
    fn gave_none(&mut self, c: usize, q: QueueId, list: u32, budget: bool) -> u8 {
        if budget {
            self.put_budget(c, q, self.budget_word(c, q));
        }
        // Drivers without a budget always have some: a scheduler that holds back for a higher priority in flight would
        // not be asked again.
        let reruns = self.knobs.budget_rerun && self.lists[list].is_empty();
        if reruns { 4 } else { 5 }
    }

    /// `blk_mq_sched_has_work`.
    pub(crate) fn sched_has_work(&self, hctx: HctxId) -> bool {
        let h = &self.hctxs[hctx as usize];
        if self.knobs.elevator_queued && h.elevator_queued == 0 {
            return false;
        }
        if self.queues[h.queue as usize].elevator.as_ref().is_some_and(|e| !e.waiting.is_empty()) {
            return true;
        }
        let index = hctx - self.queues[h.queue as usize].first_hctx;
        self.ask(h.queue, |sched, cx| sched.has_work(cx, index))
    }
}
