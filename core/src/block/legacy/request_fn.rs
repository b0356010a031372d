//! Dispatch: the driver pulls (`__blk_run_queue`, `blk_peek_request`, `scsi_request_fn`, `null_request_fn`).

use crate::block::{NONE, Work};
use crate::check::Invariant;
use crate::event::{Kind, Place, QueueId};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// After this time a LUN that has nothing in flight and could not send is tried again (SCSI_QUEUE_DELAY).
const QUEUE_DELAY_NS: u64 = 3_000_000;

impl Sim {
    /// `blk_run_queue`. Step 1 begins with the lock held.
    pub(crate) fn run_queue(&mut self, c: usize, pc: u8, queue: QueueId) -> Flow {
        let frame = |pc| Frame::RunQueue { pc, queue };
        let lock = self.queues[queue as usize].queue_lock;
        match pc {
            0 if self.lock(c, lock) => Flow::Go(frame(1)),
            0 => Flow::Spin(frame(1)),
            1 => Flow::Call(frame(2), Frame::RequestFn { pc: 0, queue, rq: NONE, sent: 0 }),
            2 => Flow::Pay(frame(3)),
            _ => {
                self.unlock(c, lock);
                Flow::Ret(0)
            }
        }
    }

    /// One call of the driver's `request_fn`, which begins and ends with `q->queue_lock` held.
    pub(crate) fn request_fn(&mut self, c: usize, pc: u8, queue: QueueId, rq: u32, sent: u32) -> Flow {
        let frame = |pc, rq, sent| Frame::RequestFn { pc, queue, rq, sent };
        let q = queue as usize;
        let hctx = self.place_of(queue);
        let host = self.queues[q].scsi_host();
        match pc {
            0 => {
                if self.legacy(queue).stopped {
                    return Flow::Ret(0);
                }
                self.emit(c, Kind::RunBegin { hctx });
                self.stats.queues[q].runs += 1;
                Flow::Go(frame(1, NONE, 0))
            }
            1 => match self.peek_request(c, queue) {
                Some(rq) => Flow::Pay(frame(2, rq, sent)),
                None => Flow::Pay(frame(11, NONE, sent)),
            },
            // Room in the LUN, then a tag; what has both leaves the queue.
            2 => {
                if host.is_some() && !self.take_lun_place(c, rq) {
                    return Flow::Pay(frame(11, NONE, sent));
                }
                if !self.start_tag(c, rq) && host.is_none() {
                    self.legacy(queue).stopped = true;
                    return Flow::Pay(frame(11, NONE, sent));
                }
                self.hctxs[hctx as usize].dispatch.pop_front();
                Flow::Pay(frame(3, rq, sent))
            }
            // Without the lock: the host, then the command itself.
            3 => {
                let lock = self.queues[q].queue_lock;
                self.unlock(c, lock);
                let Some(host) = host else {
                    self.charge(c, self.costs.null_queue_rq);
                    return Flow::Pay(frame(5, rq, sent));
                };
                if self.rqs[rq].tag == NONE || !self.take_host_place(c, host) {
                    return Flow::Pay(frame(7, rq, sent));
                }
                self.fire(c, host);
                Flow::Pay(frame(4, rq, sent))
            }
            4 => {
                self.emit(c, Kind::Doorbell { hctx, count: 1 });
                self.request_fn(c, 5, queue, rq, sent)
            }
            5 => {
                // The interrupt goes to the CPU that sent it, whoever showed D.
                self.rqs[rq].issue_cpu = c as u16;
                let foreign = self.rqs[rq].cpu as usize != c;
                self.stats.queues[q].foreign_dispatched += u64::from(foreign);
                self.device_submit(c, rq);
                let lock = self.queues[q].queue_lock;
                let then = frame(1, NONE, sent + 1);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            // The host is full: onto its list of starved LUNs, then back into the queue.
            7 => {
                let lock = self.host_lock(queue);
                let then = frame(8, rq, sent);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            8 => {
                if let Some(host) = host
                    && !self.hosts[host as usize].starved.contains(&queue)
                {
                    self.hosts[host as usize].starved.push_back(queue);
                }
                Flow::Pay(frame(9, rq, sent))
            }
            9 => {
                let lock = self.host_lock(queue);
                self.unlock(c, lock);
                let lock = self.queues[q].queue_lock;
                let then = frame(10, rq, sent);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            10 => {
                self.requeue(c, rq);
                // With something in flight its completion runs the queue.
                if self.queues[q].device_busy == 0 && self.hctxs[hctx as usize].work == Work::Idle {
                    self.schedule_work(c, hctx, QUEUE_DELAY_NS);
                }
                Flow::Pay(frame(11, NONE, sent))
            }
            _ => {
                self.emit(c, Kind::RunEnd { hctx, sent });
                self.stats.queues[q].empty_runs += u64::from(sent == 0);
                Flow::Ret(sent)
            }
        }
    }

    /// `blk_peek_request`: the request at the head of `q->queue_head`, which the elevator fills one by one. Whoever looks at it
    /// first prepares its command and shows D, though the device may have no room for it yet.
    fn peek_request(&mut self, c: usize, q: QueueId) -> Option<u32> {
        let hctx = self.place_of(q);
        let waiting = self.hctxs[hctx as usize].dispatch.front().copied();
        let (rq, from) = match waiting {
            Some(rq) => (rq, Place::DispatchList),
            None => {
                let from = self.open_lists(c, q, self.queues[q as usize].queue_lock);
                let Some(rq) = self.tell(c, q, |sched, cx, out| sched.dispatch(cx, 0, out)) else {
                    // The search alone: a third of an operation.
                    let ns = self.elevator(q).op_ns / 3;
                    self.charge(c, ns);
                    return None;
                };
                self.charge_op(c, q);
                let lines = self.locking(q).lists.dispatch.saturating_sub(1);
                self.fetch_lists(c, q, from, lines);
                self.unhash(rq);
                self.left_elevator(rq);
                self.elevator(q).in_driver += 1;
                self.hctxs[hctx as usize].dispatch.push_back(rq);
                (rq, Place::Elevator)
            }
        };
        if !std::mem::replace(&mut self.rqs[rq].started, true) {
            let id = self.rqs[rq].id;
            self.emit(c, Kind::Dequeue { rq: id, hctx, from });
            self.fetch_request(c, rq);
            self.start_request(c, rq);
            if self.queues[q as usize].scsi() {
                // scsi_prep_fn
                if self.knobs.scsi_device_ref {
                    self.touch(c, self.queues[q as usize].ref_line);
                }
                self.charge(c, self.costs.scsi_queue_rq);
            }
        }
        Some(rq)
    }

    /// `scsi_dev_queue_ready`.
    fn take_lun_place(&mut self, c: usize, rq: u32) -> bool {
        let q = self.rqs[rq].queue;
        let taken = self.get_budget(c, self.rqs[rq].hctx);
        if taken {
            self.rqs[rq].has_budget = true;
            self.rqs[rq].budget_word = self.budget_word(c, q);
        }
        taken
    }

    /// `blk_queue_start_tag`, or null_blk's `alloc_cmd`.
    fn start_tag(&mut self, c: usize, rq: u32) -> bool {
        let (id, q, hctx) = (self.rqs[rq].id, self.rqs[rq].queue, self.rqs[rq].hctx);
        let tags = self.hctxs[hctx as usize].tags as usize;
        let Some(tag) = self.take_tag(c, tags, u32::MAX) else { return false };
        self.rqs[rq].tag = tag;
        self.queues[q as usize].nr_active += 1;
        let bio = self.ios[self.bios[self.rqs[rq].bio_first].io].id;
        self.emit(c, Kind::TagAlloc { rq: id, bio, hctx, tag });
        true
    }

    /// `blk_queue_end_tag`, or null_blk's `free_cmd`.
    pub(super) fn end_tag(&mut self, c: usize, rq: u32) {
        let (id, q, hctx) = (self.rqs[rq].id, self.rqs[rq].queue, self.rqs[rq].hctx);
        let tag = std::mem::replace(&mut self.rqs[rq].tag, NONE);
        if tag != NONE {
            self.emit(c, Kind::TagFree { rq: id, hctx, tag });
            self.queues[q as usize].nr_active -= 1;
            let tags = self.hctxs[hctx as usize].tags as usize;
            self.release(c, tags, tag, Invariant::TagsConserved);
        }
    }

    /// `scsi_host_queue_ready`.
    fn take_host_place(&mut self, c: usize, host: u16) -> bool {
        if self.knobs.scsi_host_busy {
            self.touch(c, self.hosts[host as usize].host_line);
        }
        let h = &mut self.hosts[host as usize];
        let room = h.host_busy < h.can_queue;
        if room {
            h.host_busy += 1;
        }
        room
    }

    /// `blk_requeue_request`: R, and I at the head of the queue, where the elevator has no say any more.
    fn requeue(&mut self, c: usize, rq: u32) {
        self.end_tag(c, rq);
        let now = self.now;
        let r = &mut self.rqs[rq];
        (r.started, r.has_budget) = (false, false);
        r.refused_ns += now - r.d_ns;
        let (id, queue, hctx, extent, word) = (r.id, r.queue, r.hctx, r.extent(), r.budget_word);
        self.stats.put_back(queue, now);
        self.emit(c, Kind::Requeue { rq: id, queue, hctx, extent });
        self.hctxs[hctx as usize].dispatch.push_front(rq);
        self.emit(c, Kind::Insert { rq: id, queue, hctx, place: Place::DispatchList, extent });
        self.put_budget(c, queue, word);
    }

    /// `shost->host_lock` of a LUN's host.
    pub(super) fn host_lock(&self, q: QueueId) -> u32 {
        match self.queues[q as usize].scsi_host() {
            Some(host) => self.hosts[host as usize].host_lock,
            None => unreachable!("queue {q} has no host"),
        }
    }
}
