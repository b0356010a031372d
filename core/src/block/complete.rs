//! Completion: interrupt, the right CPU, C, tags and restarts
//! (`blk_mq_complete_request`, `blk_mq_end_request`, `scsi_end_request`, `blk_mq_sched_restart`).

use crate::block::{Driver, HostKind, NONE};
use crate::engine::agenda::Timed;
use crate::event::{Extent, HctxId, Kind, Op};
use crate::host::{Flow, Frame, Mode};
use crate::kernel::CompleteIn;
use crate::sim::Sim;

impl Sim {
    /// `nvme_poll`: the completion of the oldest finished request of poll queue `h`, if there is one.
    pub(crate) fn poll(&mut self, c: usize, h: HctxId) -> Option<Frame> {
        let rq = self.hctxs[h as usize].completions.pop_front()?;
        let id = self.rqs[rq].id;
        self.emit(c, Kind::Polled { hctx: h, rq: id });
        Some(Frame::Complete { pc: 0, rq, softirq: false })
    }

    pub(crate) fn hard_irq(&mut self, c: usize, pc: u8) -> Flow {
        let frame = |pc| Frame::HardIrq { pc };
        match pc {
            0 => {
                let cpu = &self.cpus[c];
                let entry = match (cpu.irq_queue.is_empty(), cpu.ipi_queue.is_empty()) {
                    (false, _) => self.costs.irq,
                    (true, false) => self.costs.ipi_receive,
                    (true, true) => 0, // a timer pays itself
                };
                self.charge(c, entry);
                Flow::Pay(frame(1))
            }
            _ => {
                if let Some(rq) = self.cpus[c].irq_queue.pop_front() {
                    return Flow::Call(frame(1), Frame::Complete { pc: 0, rq, softirq: false });
                }
                if let Some((queue, token)) = self.cpus[c].timer_queue.pop_front() {
                    return Flow::Call(frame(1), Frame::SchedTimer { pc: 0, queue, token });
                }
                if let Some(rq) = self.cpus[c].ipi_queue.pop_front() {
                    if self.knobs.ipi_in_softirq || self.is_legacy(self.rqs[rq].queue) {
                        self.cpus[c].done_queue.push_back(rq);
                        return Flow::Go(frame(1));
                    }
                    return Flow::Call(frame(1), Frame::Complete { pc: 2, rq, softirq: true });
                }
                self.emit(c, Kind::ContextEnd);
                let cpu = &mut self.cpus[c];
                cpu.in_irq = false;
                if cpu.done_queue.is_empty() || cpu.in_softirq {
                    return Flow::Resume;
                }
                cpu.in_softirq = true;
                cpu.mode = Mode::SoftIrq;
                self.emit(c, Kind::ContextBegin);
                self.charge(c, self.costs.softirq);
                Flow::Pay(Frame::SoftIrq)
            }
        }
    }

    pub(crate) fn soft_irq(&mut self, c: usize) -> Flow {
        match self.cpus[c].done_queue.pop_front() {
            Some(rq) => Flow::Call(Frame::SoftIrq, Frame::Complete { pc: 2, rq, softirq: true }),
            None => {
                self.emit(c, Kind::ContextEnd);
                self.cpus[c].in_softirq = false;
                Flow::Resume
            }
        }
    }

    /// Completes one request. Steps 0 and 1 are the driver's interrupt handler and the choice of the CPU.
    pub(crate) fn complete(&mut self, c: usize, pc: u8, rq: u32, softirq: bool) -> Flow {
        let frame = |pc| Frame::Complete { pc, rq, softirq };
        let q = self.rqs[rq].queue as usize;
        let hctx = self.rqs[rq].hctx;
        match pc {
            0 => {
                self.fetch_request(c, rq);
                let driver = self.queues[q].driver;
                if let Driver::Scsi(host) = driver
                    && self.hosts[host as usize].kind == HostKind::Adapter
                {
                    self.touch(c, self.hosts[host as usize].fw_line);
                }
                if driver == Driver::Nvme && self.knobs.nvme_shared_lock {
                    let lock = self.hctxs[hctx as usize].sq_lock;
                    self.charge(c, self.costs.complete / 3);
                    return if self.lock(c, lock) { Flow::Pay(frame(6)) } else { Flow::Spin(frame(6)) };
                }
                self.charge(c, self.costs.complete / 3);
                Flow::Pay(frame(1))
            }
            // The completion queue entry was read under the queue's one lock.
            6 => {
                let lock = self.hctxs[hctx as usize].sq_lock;
                self.unlock(c, lock);
                Flow::Go(frame(1))
            }
            // Who polls completes it on the spot (`blk_mq_complete_request_remote`).
            1 if self.hctxs[hctx as usize].poll => self.complete(c, 2, rq, softirq),
            1 => {
                let submitter = self.rqs[rq].cpu as usize;
                let (here, there) = (&self.cpus[c], &self.cpus[submitter]);
                let local = match self.queues[q].rq_affinity {
                    0 => true,
                    1 => here.cache == there.cache,
                    _ => c == submitter,
                };
                if !local {
                    self.charge(c, self.costs.ipi_send);
                    self.emit(c, Kind::Ipi { target: submitter as u16 });
                    let at = self.now + self.cpus[c].debt + u64::from(self.costs.ipi_latency);
                    self.agenda.at(at, Timed::Ipi(submitter as u16, rq));
                    return Flow::Ret(0);
                }
                let softirq_if_single = self.knobs.complete_in == CompleteIn::SoftIrq;
                if self.is_legacy(q as u16) || softirq_if_single && self.queues[q].nr_hctx == 1 {
                    self.cpus[c].done_queue.push_back(rq);
                    return Flow::Ret(0);
                }
                self.complete(c, 2, rq, softirq)
            }
            2 if self.is_legacy(q as u16) => Flow::Go(Frame::SoftirqDone { pc: 0, rq, starved: 0 }),
            // scsi_device_unbusy
            2 => {
                self.fetch_request(c, rq);
                let queue = &mut self.queues[q];
                if queue.flush_not_queued {
                    queue.in_device -= 1;
                    queue.flush_in_device &= self.rqs[rq].op != Op::Flush;
                    queue.device_blocked = false;
                }
                if let Driver::Scsi(host) = self.queues[q].driver {
                    self.scsi_device_unbusy(c, rq, host);
                    if std::mem::take(&mut self.rqs[rq].busy_status) {
                        self.charge(c, self.costs.complete / 3);
                        return Flow::Pay(Frame::RequeueRq { pc: 0, rq }); // scsi_queue_insert
                    }
                }
                self.charge(c, self.costs.complete / 3);
                Flow::Pay(frame(3))
            }
            3 => {
                let r = &self.rqs[rq];
                let (id, extent, in_flush_seq) = (r.id, r.extent(), r.in_flush_seq());
                // Its bios end with the flush sequence.
                if in_flush_seq || extent.op == Op::Flush {
                    self.emit(c, Kind::Complete { rq: id, queue: q as u16, extent });
                    self.charge(c, self.costs.complete / 3);
                    if in_flush_seq {
                        self.stats.completed(&self.rqs[rq], self.now);
                    } else {
                        self.stats.queues[q].flushes += 1;
                    }
                    // A scheduler that knows the data hears of its end now (blk_mq_finish_request): it may hold back other data
                    // on which the flush waits.
                    if std::mem::take(&mut self.rqs[rq].in_sched) {
                        return Flow::Call(frame(8), Frame::SchedCompleted { pc: 0, rq });
                    }
                    return self.complete(c, 8, rq, softirq);
                }
                self.update_request(c, rq);
                if self.rqs[rq].in_sched {
                    return Flow::Call(frame(4), Frame::SchedCompleted { pc: 0, rq });
                }
                Flow::Pay(frame(4))
            }
            8 => Flow::Go(Frame::FlushSeq { pc: 0, hctx, list: NONE, rq, completing: true }),
            // The end of a flush sequence: C once more, without sectors (blk_flush_complete_seq).
            7 => {
                let r = &self.rqs[rq];
                let (id, extent) = (r.id, r.extent());
                let extent = Extent { sectors: 0, ..extent };
                self.emit(c, Kind::Complete { rq: id, queue: q as u16, extent });
                self.bios_end(c, rq);
                self.charge(c, self.costs.complete / 3);
                Flow::Pay(frame(4))
            }
            // Free the request: tags, waiters, restarts.
            4 => {
                let (id, tag, sched_tag) = (self.rqs[rq].id, self.rqs[rq].tag, self.rqs[rq].sched_tag);
                // With a scheduler a flush without data never had a driver tag, and data of a sequence gave its own back.
                if tag != NONE {
                    self.emit(c, Kind::TagFree { rq: id, hctx, tag });
                    self.put_tag(c, hctx, tag);
                }
                if sched_tag != NONE {
                    self.emit(c, Kind::SchedTagFree { rq: id, hctx, tag: sched_tag });
                    self.put_sched_tag(c, hctx, sched_tag);
                }
                self.wbt_done(c, rq);
                self.rqs.remove(rq);
                self.completed(c, hctx)
            }
            _ => unreachable!("complete has no step {pc}"),
        }
    }

    /// `blk_update_request`: C, then the bios' ends.
    pub(crate) fn update_request(&mut self, c: usize, rq: u32) {
        let r = &self.rqs[rq];
        let (id, queue, extent) = (r.id, r.queue, r.extent());
        self.stats.completed(&self.rqs[rq], self.now);
        self.wbt_completed(rq);
        self.emit(c, Kind::Complete { rq: id, queue, extent });
        self.bios_end(c, rq);
        self.charge(c, self.costs.complete / 3);
    }

    /// All bios of a request end.
    fn bios_end(&mut self, c: usize, rq: u32) {
        let mut bio = self.rqs[rq].bio_first;
        while bio != NONE {
            let (next, io) = (self.bios[bio].next, self.bios[bio].io);
            self.bios.remove(bio);
            self.bio_end(c, io);
            bio = next;
        }
    }

    /// What follows a completion: the hctx runs again if a run is owed (`blk_mq_sched_restart`).
    pub(crate) fn completed(&mut self, c: usize, hctx: HctxId) -> Flow {
        let queue = self.hctxs[hctx as usize].queue;
        if std::mem::take(&mut self.hctxs[hctx as usize].restart) {
            let then = Frame::RunHwQueues { pc: 1, queue, next: 0, run_async: true };
            return Flow::Call(then, Frame::RunHwQueue { pc: 0, hctx, run_async: true });
        }
        Flow::Go(self.scsi_run_queue_async(c, queue))
    }
}
