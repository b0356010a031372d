//! Completion in the BLOCK softirq (`scsi_softirq_done`, `scsi_end_request`, `blk_finish_request`, `scsi_run_queue`).

use crate::event::QueueId;
use crate::host::{Flow, Frame};
use crate::sim::Sim;

impl Sim {
    /// The second half of a completion. From step 4 on, when the request is gone, `rq` is its queue's number; `starved` holds
    /// the queues to be run besides, as bits.
    pub(crate) fn softirq_done(&mut self, c: usize, pc: u8, rq: u32, starved: u32) -> Flow {
        let frame = |pc, rq, starved| Frame::SoftirqDone { pc, rq, starved };
        let queue = if pc < 4 { self.rqs[rq].queue } else { rq as QueueId };
        let q = queue as usize;
        let host = self.queues[q].scsi_host();
        match pc {
            // scsi_device_unbusy
            0 => {
                self.fetch_request(c, rq);
                if let Some(host) = host {
                    if self.knobs.scsi_host_busy {
                        self.touch(c, self.hosts[host as usize].host_line);
                    }
                    self.hosts[host as usize].host_busy -= 1;
                    self.put_budget(c, queue, self.rqs[rq].budget_word);
                    if self.knobs.scsi_device_ref {
                        self.touch(c, self.queues[q].ref_line);
                    }
                }
                Flow::Pay(frame(1, rq, 0))
            }
            1 => {
                self.update_request(c, rq);
                Flow::Pay(frame(2, rq, 0))
            }
            2 => {
                let lock = self.queues[q].queue_lock;
                let then = frame(3, rq, 0);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            // blk_finish_request
            3 => {
                self.end_tag(c, rq);
                self.elevator_completed(c, rq);
                self.freed_request(c, rq);
                self.rqs.remove(rq);
                self.charge(c, self.costs.complete / 3);
                Flow::Pay(frame(4, queue.into(), 0))
            }
            4 => {
                let lock = self.queues[q].queue_lock;
                self.unlock(c, lock);
                match host {
                    Some(host) if !self.hosts[host as usize].starved.is_empty() => Flow::Go(frame(5, rq, 0)),
                    Some(_) => Flow::Go(Frame::RunQueue { pc: 0, queue }),
                    None if self.legacy(queue).stopped => Flow::Go(frame(9, rq, 0)),
                    None => Flow::Ret(0),
                }
            }
            // scsi_starved_list_run: those whom the full host refused go first.
            5 => {
                let lock = self.host_lock(queue);
                let then = frame(6, rq, 0);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            6 => {
                let all = host.map_or(0, |host| {
                    self.hosts[host as usize].starved.drain(..).fold(0, |bits, starved| bits | 1 << starved)
                });
                Flow::Pay(frame(7, rq, all))
            }
            7 => {
                let lock = self.host_lock(queue);
                self.unlock(c, lock);
                Flow::Go(frame(8, rq, starved))
            }
            8 => {
                if starved == 0 {
                    return Flow::Go(Frame::RunQueue { pc: 0, queue });
                }
                let next = starved.trailing_zeros() as QueueId;
                let rest = starved & (starved - 1);
                Flow::Call(frame(8, rq, rest), Frame::RunQueue { pc: 0, queue: next })
            }
            // null_blk's end_cmd: a tag is free again (blk_start_queue_async).
            9 => {
                let lock = self.queues[q].queue_lock;
                let then = frame(10, rq, 0);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            10 => {
                self.legacy(queue).stopped = false;
                self.schedule_work(c, self.place_of(queue), 0);
                Flow::Pay(frame(11, rq, 0))
            }
            _ => {
                let lock = self.queues[q].queue_lock;
                self.unlock(c, lock);
                Flow::Ret(0)
            }
        }
    }
}
