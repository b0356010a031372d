//! The requeue list: requests that come back from the driver after it had taken them
//! (`blk_mq_requeue_request`, `blk_mq_requeue_work`), and the work items of a request queue.

use crate::block::NONE;
use crate::event::{Kind, ObjectId, Place};
use crate::host::{Flow, Frame, Mode, Runnable};
use crate::sim::Sim;

/// A work item of a request queue on kblockd. It never runs twice at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct QueueWork {
    queued: bool,
    running: bool,
}

impl QueueWork {
    /// Asks for a run. True: it has to join a run queue now; else it is there already, or the run under way sees to it.
    fn ask(&mut self) -> bool {
        let joins = !self.queued && !self.running;
        self.queued = true;
        joins
    }

    pub(super) fn begin(&mut self) {
        *self = Self { queued: false, running: true };
    }

    /// True: it was asked for again meanwhile.
    pub(super) fn end(&mut self) -> bool {
        self.running = false;
        self.queued
    }
}

impl Sim {
    /// `kblockd_schedule_work` on the calling CPU.
    pub(super) fn queue_work(&mut self, c: usize, what: Runnable) {
        let work = match what {
            Runnable::SdevWork(q) => &mut self.queues[q as usize].sdev.work,
            Runnable::RequeueWork(q) => &mut self.queues[q as usize].requeue_work,
            Runnable::Task(_) | Runnable::Work(_) => unreachable!("not a work item of a queue"),
        };
        if work.ask() {
            self.charge(c, self.costs.kworker_queue);
            self.enqueue(c, what);
        }
    }

    /// `blk_mq_requeue_request` with a kick: R, then the requeue list and its work.
    pub(crate) fn requeue_request(&mut self, c: usize, pc: u8, rq: u32) -> Flow {
        let frame = |pc| Frame::Requeue { pc, rq };
        let q = self.rqs[rq].queue as usize;
        let lock = self.queues[q].requeue_lock;
        match pc {
            0 => {
                self.emit_requeue(c, rq, true);
                self.put_driver_tag(c, rq);
                if self.lock(c, lock) { Flow::Go(frame(1)) } else { Flow::Spin(frame(1)) }
            }
            1 => {
                if self.knobs.requeue_at_tail {
                    self.queues[q].requeue_list.push_back(rq);
                } else {
                    self.queues[q].requeue_list.push_front(rq);
                }
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(2))
            }
            _ => {
                self.unlock(c, lock);
                self.queue_work(c, Runnable::RequeueWork(q as u16));
                Flow::Ret(0)
            }
        }
    }

    /// `blk_mq_requeue_work` on a kworker: what was prepared by its driver goes to hctx->dispatch, in rows before 5.0 to
    /// the head of its ctx list; then all hctxs are run here.
    pub(crate) fn requeue_work(&mut self, c: usize, pc: u8, queue: u16, list: u32, rq: u32) -> Flow {
        let frame = |pc, list, rq| Frame::RequeueWork { pc, queue, list, rq };
        let q = queue as usize;
        let lock = self.queues[q].requeue_lock;
        match pc {
            // The switch to the kworker takes its time first.
            0 => {
                self.set_mode(c, Mode::System);
                Flow::Pay(frame(1, NONE, NONE))
            }
            1 => {
                self.queues[q].requeue_work.begin();
                let then = frame(2, NONE, NONE);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            2 => {
                let list = self.new_list();
                std::mem::swap(&mut self.lists[list], &mut self.queues[q].requeue_list);
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(3, list, NONE))
            }
            3 => {
                self.unlock(c, lock);
                Flow::Go(frame(4, list, NONE))
            }
            4 => match self.lists[list].pop_front() {
                None => {
                    self.drop_list(list);
                    let run = Frame::RunHwQueues { pc: 0, queue, next: 0, run_async: false };
                    Flow::Call(frame(7, NONE, NONE), run)
                }
                Some(rq) if self.knobs.requeue_bypass || self.has_elevator(queue) => {
                    Flow::Call(frame(4, list, NONE), Frame::IssueDirectly { pc: 2, rq })
                }
                Some(rq) => {
                    let lock = self.requeue_ctx_lock(rq);
                    let then = frame(5, list, rq);
                    if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
                }
            },
            5 => {
                let (id, hctx, cpu, extent) =
                    (self.rqs[rq].id, self.rqs[rq].hctx, self.rqs[rq].cpu, self.rqs[rq].extent());
                let now = self.now;
                let r = &mut self.rqs[rq];
                if r.i_ns == 0 {
                    r.i_ns = now;
                }
                let ctx = self.ctx_index(queue, cpu as usize) as usize;
                self.ctxs[ctx].list.push_front(rq);
                self.emit(c, Kind::Insert { rq: id, queue, hctx, place: Place::Ctx(cpu), extent });
                self.set_pending(c, hctx, cpu);
                self.charge(c, self.costs.ctx_insert);
                Flow::Pay(frame(6, list, rq))
            }
            6 => {
                let lock = self.requeue_ctx_lock(rq);
                self.unlock(c, lock);
                Flow::Go(frame(4, list, NONE))
            }
            _ => {
                if self.queues[q].requeue_work.end() {
                    self.enqueue(c, Runnable::RequeueWork(queue));
                }
                Flow::Ret(0)
            }
        }
    }

    /// The lock of the ctx of a request that goes back there.
    fn requeue_ctx_lock(&self, rq: u32) -> ObjectId {
        let (q, cpu) = (self.rqs[rq].queue, self.rqs[rq].cpu as usize);
        self.ctxs[self.ctx_index(q, cpu) as usize].lock
    }
}
