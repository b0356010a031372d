//! Submission: merge, request, plug or elevator (`blk_queue_bio`), and the flush of a plug (`blk_flush_plug_list`).

use crate::block::NONE;
use crate::event::{Kind, QueueId, Sleep};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

impl Sim {
    /// `bio` has found nothing in the plug to merge with.
    pub(crate) fn queue_bio(&mut self, c: usize, pc: u8, bio: u32, rq: u32) -> Flow {
        let frame = |pc, rq| Frame::QueueBio { pc, bio, rq };
        let q = match rq {
            NONE => self.bios[bio].queue,
            rq => self.rqs[rq].queue,
        };
        let lock = self.queues[q as usize].queue_lock;
        match pc {
            0 => {
                let then = frame(1, NONE);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            // Merge into a queued request.
            1 => {
                self.search_lists(c, bio, lock);
                let found = self.elv_merge(c, q, bio);
                if let Some((rq, _)) = found {
                    self.unhash(rq);
                    self.merge(c, rq, bio);
                    self.after_merge(c, q, rq);
                }
                self.charge(c, self.costs.merge);
                Flow::Pay(frame(if found.is_some() { 2 } else { 3 }, NONE))
            }
            2 => {
                self.unlock(c, lock);
                Flow::Ret(0)
            }
            // `get_request`, with the lock held.
            3 => {
                if self.take_from_pool(c, q, bio) {
                    return Flow::Pay(frame(4, NONE));
                }
                self.wait_for_request(c, q, bio);
                Flow::Pay(frame(8, NONE))
            }
            4 => {
                self.unlock(c, lock);
                self.charge(c, self.costs.rq_alloc);
                Flow::Pay(frame(5, NONE))
            }
            5 => {
                let rq = self.request_from_pool(c, q, bio);
                let t = self.current_task(c);
                if !self.tasks[t].plug.active {
                    return Flow::Go(frame(12, rq));
                }
                if self.plug_is_full(t, q) {
                    return Flow::Call(
                        frame(6, rq),
                        Frame::FlushPlug { pc: 0, from_schedule: false, list: NONE, group: 0 },
                    );
                }
                self.plug_add(c, rq, false);
                Flow::Ret(0)
            }
            6 => {
                self.plug_add(c, rq, true);
                Flow::Ret(0)
            }
            // No request: sleep, and flush the plug as any sleeping task does.
            8 => {
                self.unlock(c, lock);
                let plug = &self.tasks[self.current_task(c)].plug;
                if plug.list.is_empty() && plug.cached.is_empty() {
                    return Flow::Go(frame(9, NONE));
                }
                Flow::Call(
                    frame(9, NONE),
                    Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 },
                )
            }
            9 => Flow::Pay(frame(10, NONE)),
            // Somebody may have woken the task before it sleeps.
            10 => {
                let t = self.current_task(c);
                if self.waits_for_request(t, q, bio) {
                    Flow::Sleep(frame(11, NONE), Sleep::Request)
                } else {
                    Flow::Go(frame(11, NONE))
                }
            }
            11 => {
                let t = self.current_task(c);
                self.woken_for_request(t);
                let then = frame(3, NONE);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            // Not plugged: insert it and serve the queue at once, with the lock held.
            12 => {
                let then = frame(13, rq);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            13 => {
                self.add_request(c, rq, false);
                Flow::Pay(Frame::RunQueue { pc: 1, queue: q })
            }
            _ => unreachable!("queue_bio has no step {pc}"),
        }
    }

    /// The request for `bio`, once the pool has granted it: G.
    fn request_from_pool(&mut self, c: usize, q: QueueId, bio: u32) -> u32 {
        let extent = self.bio_extent(bio);
        let rq = self.new_request(c, bio, self.place_of(q), NONE, NONE);
        let (sync, count) = self.pool_count(rq);
        let (id, bio) = (self.rqs[rq].id, self.ios[self.bios[bio].io].id);
        self.emit(c, Kind::PoolAlloc { rq: id, bio, queue: q, sync, count });
        self.emit(c, Kind::GetRequest { bio, rq: id, queue: q, extent });
        rq
    }

    /// Flushes a list of requests of this path. They go queue by queue in order of their sectors, each queue under one hold
    /// of its lock.
    pub(crate) fn flush_plug_list(
        &mut self,
        c: usize,
        pc: u8,
        from_schedule: bool,
        list: u32,
        queue: QueueId,
        depth: u32,
    ) -> Flow {
        let frame = |pc, queue, depth| Frame::FlushPlugList { pc, from_schedule, queue, list, depth };
        let lock = self.queues[queue as usize].queue_lock;
        match pc {
            0 => {
                let rqs = &self.rqs;
                self.lists[list].make_contiguous().sort_by_key(|&rq| (rqs[rq].queue, rqs[rq].sector));
                let n = self.lists[list].len() as u32;
                self.charge(c, self.costs.plug_flush * n);
                Flow::Pay(frame(1, queue, 0))
            }
            1 => {
                let Some(&first) = self.lists[list].front() else {
                    self.drop_list(list);
                    return Flow::Ret(0);
                };
                let queue = self.rqs[first].queue;
                let lock = self.queues[queue as usize].queue_lock;
                let then = frame(2, queue, 0);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            2 => {
                let mut depth = 0;
                while let Some(&rq) = self.lists[list].front()
                    && self.rqs[rq].queue == queue
                {
                    self.lists[list].pop_front();
                    self.add_request(c, rq, true);
                    depth += 1;
                }
                Flow::Pay(frame(3, queue, depth))
            }
            // `queue_unplugged`: U follows the insertions.
            3 => {
                self.emit(c, Kind::Unplug { queue, count: depth, explicit: !from_schedule });
                if !from_schedule {
                    return Flow::Call(
                        frame(4, queue, 0),
                        Frame::RequestFn { pc: 0, queue, rq: NONE, sent: 0 },
                    );
                }
                self.schedule_work(c, self.place_of(queue), 0);
                Flow::Pay(frame(4, queue, 0))
            }
            4 => Flow::Pay(frame(5, queue, 0)),
            _ => {
                self.unlock(c, lock);
                Flow::Go(frame(1, queue, 0))
            }
        }
    }
}
