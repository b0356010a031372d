//! The drivers' `queue_rq`: null and NVMe here, SCSI in `scsi.rs`.

use crate::block::{Driver, STRUCT_LINES, status};
use crate::event::{HctxId, Kind, Op};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

impl Sim {
    /// `blk_mq_start_request`: the D event.
    pub(crate) fn start_request(&mut self, c: usize, rq: u32) {
        let now = self.now;
        let r = &mut self.rqs[rq];
        r.d_ns = now;
        r.issue_cpu = c as u16;
        let (id, queue, hctx, extent) = (r.id, r.queue, r.hctx, r.extent());
        if extent.op != Op::Flush {
            self.stats.issued(queue, now);
        }
        self.wbt_issued(rq);
        self.emit(c, Kind::Issue { rq: id, queue, hctx, extent });
    }

    /// A request handled by another CPU than before brings its own lines along.
    pub(crate) fn fetch_request(&mut self, c: usize, rq: u32) {
        self.fetch_struct_request(c, rq);
        let r = &mut self.rqs[rq];
        let from = std::mem::replace(&mut r.owner, c as u16);
        if from != c as u16 {
            let queue = &self.queues[r.queue as usize];
            self.fetch_lines(c, queue.request_line, from, queue.driver_lines());
        }
    }

    /// Those of struct request alone: what a scheduler links, and unlinks, under its lock.
    pub(crate) fn fetch_struct_request(&mut self, c: usize, rq: u32) {
        let r = &mut self.rqs[rq];
        let from = std::mem::replace(&mut r.struct_owner, c as u16);
        if from != c as u16 {
            let line = self.queues[r.queue as usize].request_line;
            self.fetch_lines(c, line, from, STRUCT_LINES);
        }
    }

    /// Rings the doorbell for all commands written since the last time.
    pub(crate) fn ring(&mut self, c: usize, h: HctxId) {
        let count = self.hctxs[h as usize].unrung.len() as u32;
        self.charge(c, self.costs.doorbell);
        self.emit(c, Kind::Doorbell { hctx: h, count });
        while let Some(rq) = self.hctxs[h as usize].unrung.pop_front() {
            self.device_submit(c, rq);
        }
    }

    /// Gives a request to the driver. `last`: no further one follows at once (the doorbell is due).
    pub(crate) fn queue_rq(&mut self, c: usize, pc: u8, rq: u32, last: bool) -> Flow {
        if pc == 0 {
            self.fetch_request(c, rq);
        }
        match self.queues[self.rqs[rq].queue as usize].driver {
            Driver::Null => self.null_queue_rq(c, pc, rq, last),
            Driver::Nvme => self.nvme_queue_rq(c, pc, rq, last),
            Driver::Scsi(host) => self.scsi_queue_rq(c, pc, rq, host, last),
            Driver::Stacked => unreachable!("a stacked disk has no requests"),
        }
    }

    fn null_queue_rq(&mut self, c: usize, pc: u8, rq: u32, last: bool) -> Flow {
        if pc == 0 {
            self.charge(c, self.costs.null_queue_rq);
            return Flow::Pay(Frame::QueueRq { pc: 1, rq, last });
        }
        let queue = &mut self.queues[self.rqs[rq].queue as usize];
        if queue.device_blocked {
            queue.restarts = true;
            return Flow::Ret(status::NO_BUDGET);
        }
        self.start_request(c, rq);
        if self.deferred(rq) {
            return self.refuse(c, rq, false);
        }
        self.device_submit(c, rq);
        Flow::Ret(status::OK)
    }

    /// Whether the device refuses the command that was just started; if not, it is counted as held by the device.
    pub(super) fn deferred(&mut self, rq: u32) -> bool {
        let r = &self.rqs[rq];
        let queue = &mut self.queues[r.queue as usize];
        if !queue.flush_not_queued {
            return false;
        }
        if queue.defers(r.op) {
            queue.device_blocked = true;
            // Whichever hctx the command in its way belongs to, its completion lets this one try again.
            queue.restarts = true;
            if r.op != Op::Flush {
                self.stats.took_back(r.queue, self.now);
            }
            return true;
        }
        queue.in_device += 1;
        queue.flush_in_device |= r.op == Op::Flush;
        false
    }

    fn nvme_queue_rq(&mut self, c: usize, pc: u8, rq: u32, last: bool) -> Flow {
        let frame = |pc| Frame::QueueRq { pc, rq, last };
        let hctx = self.rqs[rq].hctx;
        let lock = self.hctxs[hctx as usize].sq_lock;
        match pc {
            0 => {
                self.start_request(c, rq);
                self.charge(c, self.costs.nvme_queue_rq);
                Flow::Pay(frame(1))
            }
            1 => {
                if self.lock(c, lock) {
                    Flow::Go(frame(2))
                } else {
                    Flow::Spin(frame(2))
                }
            }
            2 => {
                self.hctxs[hctx as usize].unrung.push_back(rq);
                if last || !self.knobs.commit_rqs {
                    self.ring(c, hctx);
                }
                Flow::Pay(frame(3))
            }
            _ => {
                self.unlock(c, lock);
                Flow::Ret(status::OK)
            }
        }
    }
}
