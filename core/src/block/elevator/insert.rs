//! Insertion into the scheduler (`dd_insert_requests`, `bfq_insert_requests`, `kyber_insert_requests`).

use crate::event::{CpuId, HctxId, Kind, ObjectId, Place, QueueId};
use crate::host::{Flow, Frame};
use crate::sched::Merging;
use crate::sim::Sim;
use crate::spare::Spare;

impl Sim {
    /// Inserts `list`, whole under one lock or one by one, then runs the hctx. `cpu` is the ctx whose lock is held.
    pub(crate) fn elv_insert(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        cpu: u16,
        run_async: bool,
    ) -> Flow {
        let frame = |pc, cpu| Frame::ElvInsert { pc, hctx, list, cpu, run_async };
        let q = self.hctxs[hctx as usize].queue;
        match pc {
            0 => {
                let Some(&first) = self.lists[list].front() else {
                    self.drop_list(list);
                    return Flow::Call(frame(3, cpu), Frame::RunHwQueue { pc: 0, hctx, run_async });
                };
                let cpu = self.rqs[first].cpu;
                let lock = self.joining_lock(q, hctx, cpu);
                if self.lock(c, lock) { Flow::Go(frame(1, cpu)) } else { Flow::Spin(frame(1, cpu)) }
            }
            1 => {
                if let Some((_, head)) = self.elevator(q).waiting_lock {
                    self.touch(c, head);
                    self.charge(c, self.costs.ctx_insert);
                    // Emptied and given back with its room.
                    let mut moved = std::mem::take(&mut self.lists[list]);
                    self.elevator(q).waiting.append(&mut moved);
                    self.lists[list] = moved;
                    return Flow::Pay(frame(2, cpu));
                }
                let locking = self.locking(q);
                let lock = self.joining_lock(q, hctx, cpu);
                let from = self.open_lists(c, q, lock);
                self.fetch_lists(c, q, from, locking.lists.insert.saturating_sub(1));
                let mut again = false;
                while let Some(rq) = self.lists[list].pop_front() {
                    self.walk_lists(c, rq, from, std::mem::replace(&mut again, true));
                    self.elv_insert_one(c, rq, false);
                    if locking.insert_each {
                        break;
                    }
                }
                Flow::Pay(frame(2, cpu))
            }
            2 => {
                let lock = self.joining_lock(q, hctx, cpu);
                if let Some(asleep) = self.sleep_with_lock(c, lock, frame(0, cpu)) {
                    return asleep;
                }
                self.unlock(c, lock);
                Flow::Go(frame(0, cpu))
            }
            _ => Flow::Ret(0),
        }
    }

    /// One request, under the lock; `at_head`: before all others.
    pub(crate) fn elv_insert_one(&mut self, c: usize, rq: u32, at_head: bool) {
        let (q, hctx) = (self.rqs[rq].queue, self.rqs[rq].hctx);
        self.charge_op(c, q);
        if self.insert_merge(c, rq) {
            return;
        }
        let now = self.now;
        let r = &mut self.rqs[rq];
        r.in_sched = true;
        if r.i_ns == 0 {
            r.i_ns = now;
        }
        let (id, extent) = (r.id, r.extent());
        self.emit(c, Kind::Insert { rq: id, queue: q, hctx, place: Place::Elevator, extent });
        self.enter_elevator(c, rq, at_head);
    }

    /// The lock under which a list joins the scheduler, or those who wait for a dispatch to insert them.
    fn joining_lock(&mut self, q: QueueId, hctx: HctxId, cpu: CpuId) -> ObjectId {
        match self.elevator(q).waiting_lock {
            Some((lock, _)) => lock,
            None => self.insert_lock(q, hctx, cpu),
        }
    }

    /// What waits for a dispatch is inserted by it, under the dispatch lock, behind which the lists are `from` another CPU.
    pub(super) fn insert_waiting(&mut self, c: usize, q: QueueId, from: CpuId) {
        let Some((_, head)) = self.elevator(q).waiting_lock else { return };
        self.read(c, head);
        if self.elevator(q).waiting.is_empty() {
            return;
        }
        self.touch(c, head);
        let mut again = false;
        while let Some(rq) = self.elevator(q).waiting.pop_front() {
            self.fetch_struct_request(c, rq);
            self.walk_lists(c, rq, from, std::mem::replace(&mut again, true));
            self.elv_insert_one(c, rq, false);
        }
    }

    /// Into the hash and the scheduler's lists.
    pub(in crate::block) fn enter_elevator(&mut self, c: usize, rq: u32, at_head: bool) {
        let (q, hctx, mergeable) = (self.rqs[rq].queue, self.rqs[rq].hctx, self.rqs[rq].mergeable());
        self.hctxs[hctx as usize].elevator_queued += 1;
        if mergeable && self.elevator(q).sched.merging() == Merging::Hash {
            self.hash(rq);
            let elevator = self.elevator(q);
            if elevator.last_merge == crate::block::NONE {
                elevator.last_merge = rq;
            }
        }
        let at_head = at_head || self.rq_is_spared(rq, Spare::First);
        let entry = self.sched_rq(rq);
        self.tell(c, q, |sched, cx, out| sched.insert(cx, entry, at_head, out));
    }

    /// A request has left the scheduler's lists.
    pub(in crate::block) fn left_elevator(&mut self, rq: u32) {
        let hctx = self.rqs[rq].hctx;
        self.hctxs[hctx as usize].elevator_queued -= 1;
    }
}
