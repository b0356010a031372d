//! The SCSI middle layer: the LUN's budget, a host or device that counts as blocked after its driver refused, and the
//! starved list (`scsi_queue_rq`, `scsi_mq_get_budget`, `scsi_host_queue_ready`, `scsi_run_queue`).

use crate::block::{Driver, Vector, status};
use crate::event::{HctxId, Kind, ObjectId, Op, QueueId};
use crate::host::{Flow, Frame, Mode, Runnable};
use crate::scenario::BusyAnswer;
use crate::sim::Sim;
use std::collections::VecDeque;

/// Attempts without any command in flight after which a host is asked again (SCSI_DEFAULT_HOST_BLOCKED).
const MAX_HOST_BLOCKED: u8 = 7;
/// The same of a LUN (SCSI_DEFAULT_DEVICE_BLOCKED).
const MAX_DEVICE_BLOCKED: u8 = 3;
/// When a queue runs again that was refused with no command in flight, ns (SCSI_QUEUE_DELAY).
const QUEUE_DELAY_NS: u64 = 3_000_000;

/// What a SCSI host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HostKind {
    /// A RAID adapter with firmware and a doorbell.
    Adapter,
    /// A port of an AHCI controller, with one disk.
    Ahci,
    /// scsi_debug.
    Debug,
}

/// A SCSI host adapter.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Host {
    pub kind: HostKind,
    /// Commands in the host.
    pub host_busy: u32,
    /// Commands it takes at once; on blk-mq its tags are the same limit.
    pub can_queue: u32,
    /// `shost->host_blocked`: attempts left until the driver is asked again; 0: not blocked.
    pub blocked: u8,
    /// Queues that the host refused and that have to be run when a command is done (`shost->starved_list`).
    pub starved: VecDeque<QueueId>,
    /// `shost->host_lock`, for the starved list.
    pub host_lock: ObjectId,
    pub host_line: ObjectId,
    pub fw_line: ObjectId,
    /// CPU to reply queue, and the queues' vectors.
    pub reply_map: Vec<u16>,
    pub vectors: Vec<Vector>,
}

/// A work item of a LUN on kblockd. It never runs twice at once.
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

    fn begin(&mut self) {
        *self = Self { queued: false, running: true };
    }

    /// True: it was asked for again meanwhile.
    fn end(&mut self) -> bool {
        self.running = false;
        self.queued
    }
}

/// What a queue has as a LUN (`struct scsi_device`).
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Sdev {
    /// Its driver answers busy for every so many commands; 0: never.
    pub every_nth: u32,
    pub answer: BusyAnswer,
    /// Commands the driver was given.
    pub commands: u32,
    /// `sdev->device_blocked`: attempts left until the LUN is asked again; 0: not blocked.
    pub blocked: u8,
    /// `sdev->requeue_work`.
    pub work: QueueWork,
}

/// What `scsi_host_queue_ready` says.
enum Ready {
    Yes,
    /// No, and a completion has to run the queue.
    Starved,
    No,
}

impl Sim {
    /// `scsi_mq_get_budget` for a run of hctx `h`: one more command in the LUN, if its depth allows and it is not blocked.
    pub(crate) fn get_budget(&mut self, c: usize, h: HctxId) -> bool {
        let q = self.hctxs[h as usize].queue;
        let word = self.budget_word(c, q);
        self.touch(c, self.queues[q as usize].busy_line + word);
        let queue = &mut self.queues[q as usize];
        let blocked = queue.sdev.blocked > 0 && Self::device_blocked(&mut queue.sdev, queue.device_busy)
            || queue.device_blocked && queue.device_busy > 0;
        if !blocked && queue.device_busy < queue.queue_depth {
            queue.device_busy += 1;
            return true;
        }
        queue.restarts = true;
        // No completion will run the queue.
        if queue.device_busy == 0 && self.knobs.scsi_budget_first {
            if self.knobs.scsi_delay_all {
                self.delay_run_all(c, q, QUEUE_DELAY_NS);
            } else {
                self.schedule_work(c, h, QUEUE_DELAY_NS);
            }
        }
        false
    }

    /// The part of `scsi_dev_queue_ready` for a blocked LUN: one attempt less with nothing in flight.
    #[cold]
    fn device_blocked(sdev: &mut Sdev, device_busy: u32) -> bool {
        if device_busy == 0 {
            sdev.blocked -= 1;
        }
        sdev.blocked > 0
    }

    /// The word of the budget's bitmap that CPU `c` starts with; word 0 where the budget is one counter.
    pub(crate) fn budget_word(&self, c: usize, q: QueueId) -> u32 {
        if self.knobs.scsi_budget_map { c as u32 % self.queues[q as usize].budget_words } else { 0 }
    }

    /// Gives a place in the LUN back, on the line of the word that was taken.
    pub(crate) fn put_budget(&mut self, c: usize, q: QueueId, word: u32) {
        self.touch(c, self.queues[q as usize].busy_line + word);
        self.queues[q as usize].device_busy -= 1;
    }

    /// `scsi_host_queue_ready`: a place in the host, unless it is blocked. One counter until 5.4, later a bit of the
    /// command; that more than can_queue commands come is prevented by the tags.
    fn host_ready(&mut self, c: usize, host: u16) -> Ready {
        if self.knobs.scsi_host_busy {
            self.touch(c, self.hosts[host as usize].host_line);
        }
        let h = &mut self.hosts[host as usize];
        if h.blocked > 0 {
            if h.host_busy > 0 {
                return Ready::Starved;
            }
            h.blocked -= 1;
            if h.blocked > 0 {
                return Ready::No;
            }
        }
        h.host_busy += 1;
        Ready::Yes
    }

    /// `scsi_queue_rq` down to the adapter's doorbell, with the counters that every command of a LUN, of the host and
    /// of the firmware shares.
    pub(super) fn scsi_queue_rq(&mut self, c: usize, pc: u8, rq: u32, host: u16, last: bool) -> Flow {
        let frame = |pc| Frame::QueueRq { pc, rq, last };
        let (q, hctx) = (self.rqs[rq].queue, self.rqs[rq].hctx);
        let h = host as usize;
        match pc {
            0 => {
                if self.knobs.scsi_budget_first && !self.rqs[rq].has_budget {
                    if !self.get_budget(c, hctx) {
                        return Flow::Ret(status::NO_BUDGET);
                    }
                    self.rqs[rq].has_budget = true;
                    self.rqs[rq].budget_word = self.budget_word(c, q);
                }
                self.charge(c, self.costs.scsi_queue_rq);
                Flow::Pay(frame(1))
            }
            1 => {
                if self.knobs.scsi_device_ref {
                    self.touch(c, self.queues[q as usize].ref_line);
                }
                if !self.rqs[rq].has_budget {
                    if !self.get_budget(c, hctx) {
                        return self.refuse(c, rq, false);
                    }
                    self.rqs[rq].has_budget = true;
                    self.rqs[rq].budget_word = self.budget_word(c, q);
                }
                match self.host_ready(c, host) {
                    Ready::Yes if self.hosts[h].starved.contains(&q) => {
                        let lock = self.hosts[h].host_lock;
                        if self.lock(c, lock) { Flow::Go(frame(4)) } else { Flow::Spin(frame(4)) }
                    }
                    Ready::Yes => self.scsi_queue_rq(c, 2, rq, host, last),
                    Ready::Starved => {
                        let lock = self.hosts[h].host_lock;
                        if self.lock(c, lock) { Flow::Go(frame(6)) } else { Flow::Spin(frame(6)) }
                    }
                    Ready::No => {
                        if self.knobs.scsi_host_busy {
                            self.touch(c, self.hosts[h].host_line);
                        }
                        self.refuse(c, rq, false)
                    }
                }
            }
            2 => {
                self.start_request(c, rq);
                if self.deferred(rq) {
                    self.hosts[h].host_busy -= 1;
                    return self.refuse(c, rq, false);
                }
                self.fire(c, host);
                Flow::Pay(frame(3))
            }
            3 => {
                let sdev = &mut self.queues[q as usize].sdev;
                if sdev.every_nth > 0 {
                    sdev.commands += 1;
                    if sdev.commands == sdev.every_nth {
                        sdev.commands = 0;
                        match sdev.answer {
                            BusyAnswer::HostBusy => self.hosts[h].blocked = MAX_HOST_BLOCKED,
                            BusyAnswer::DeviceBusy => sdev.blocked = MAX_DEVICE_BLOCKED,
                            BusyAnswer::StatusBusy => self.rqs[rq].busy_status = true,
                        }
                        if !self.rqs[rq].busy_status {
                            return self.refuse_started(c, rq, host);
                        }
                    }
                }
                if self.hosts[h].kind != HostKind::Debug {
                    self.emit(c, Kind::Doorbell { hctx, count: 1 });
                }
                self.device_submit(c, rq);
                Flow::Ret(status::OK)
            }
            // The host takes it, so its LUN no longer starves.
            4 => {
                self.hosts[h].starved.retain(|&starved| starved != q);
                self.charge(c, self.costs.atomic_local);
                Flow::Pay(frame(5))
            }
            5 => {
                let lock = self.hosts[h].host_lock;
                self.unlock(c, lock);
                Flow::Go(frame(2))
            }
            6 => {
                if !self.hosts[h].starved.contains(&q) {
                    self.hosts[h].starved.push_back(q);
                }
                self.charge(c, self.costs.atomic_local);
                Flow::Pay(frame(7))
            }
            _ => {
                let lock = self.hosts[h].host_lock;
                self.unlock(c, lock);
                if self.knobs.scsi_host_busy {
                    self.touch(c, self.hosts[h].host_line);
                }
                self.refuse(c, rq, false)
            }
        }
    }

    /// What the driver's own part of `queue_rq` costs.
    pub(super) fn fire(&mut self, c: usize, host: u16) {
        let host = &self.hosts[host as usize];
        match host.kind {
            HostKind::Adapter => {
                self.touch(c, host.fw_line);
                self.charge(c, self.costs.hba_fire);
            }
            HostKind::Ahci => self.charge(c, self.costs.ahci_fire),
            HostKind::Debug => self.charge(c, self.costs.null_queue_rq),
        }
    }

    /// The driver refused a request that was started.
    fn refuse_started(&mut self, c: usize, rq: u32, host: u16) -> Flow {
        if self.knobs.scsi_host_busy {
            self.touch(c, self.hosts[host as usize].host_line);
        }
        self.hosts[host as usize].host_busy -= 1;
        let queue = &mut self.queues[self.rqs[rq].queue as usize];
        if queue.flush_not_queued {
            queue.in_device -= 1;
            queue.flush_in_device &= self.rqs[rq].op != Op::Flush;
        }
        self.refuse(c, rq, true)
    }

    /// The way out of `scsi_queue_rq` with a request put back: its budget first, then R.
    pub(super) fn refuse(&mut self, c: usize, rq: u32, started: bool) -> Flow {
        let (q, hctx) = (self.rqs[rq].queue, self.rqs[rq].hctx);
        if std::mem::take(&mut self.rqs[rq].has_budget) {
            self.put_budget(c, q, self.rqs[rq].budget_word);
        }
        if self.knobs.scsi_device_ref && self.queues[q as usize].scsi() {
            self.touch(c, self.queues[q as usize].ref_line);
        }
        self.emit_requeue(c, rq, started);
        let queue = &self.queues[q as usize];
        let busy = queue.device_busy > 0 || queue.in_device > 0;
        // A completion restarts its own hctx; it runs all of them only where every SCSI completion does.
        let restarted = busy && (queue.nr_hctx == 1 || self.knobs.scsi_run_all || queue.device_blocked);
        // Until 4.15 the block layer had no delayed run of its own.
        if !restarted && self.knobs.resource_delay_us == 0 {
            self.schedule_work(c, hctx, QUEUE_DELAY_NS);
        }
        Flow::Ret(if self.knobs.dev_resource && restarted { status::DEV_RESOURCE } else { status::RESOURCE })
    }

    /// R: the request is no longer the driver's. `started`: it had its D.
    pub(super) fn emit_requeue(&mut self, c: usize, rq: u32, started: bool) {
        let now = self.now;
        let r = &mut self.rqs[rq];
        let (id, queue, hctx, extent) = (r.id, r.queue, r.hctx, r.extent());
        // Flush requests are not counted.
        if started && extent.op != Op::Flush {
            r.refused_ns += now - r.d_ns;
            self.stats.took_back(queue, now);
        }
        self.stats.queues[queue as usize].requeued += 1;
        self.wbt_requeued(rq);
        self.emit(c, Kind::Requeue { rq: id, queue, hctx, extent });
    }

    /// `scsi_device_unbusy` and what `scsi_finish_command` or `scsi_queue_insert` say of blocked hosts and LUNs: a
    /// finished command unblocks both, one that comes back with status BUSY blocks its LUN.
    pub(super) fn scsi_device_unbusy(&mut self, c: usize, rq: u32, host: u16) {
        let q = self.rqs[rq].queue;
        if self.knobs.scsi_host_busy {
            self.touch(c, self.hosts[host as usize].host_line);
        }
        self.hosts[host as usize].host_busy -= 1;
        self.rqs[rq].has_budget = false;
        self.put_budget(c, q, self.rqs[rq].budget_word);
        if self.knobs.scsi_device_ref {
            self.touch(c, self.queues[q as usize].ref_line);
        }
        if self.rqs[rq].busy_status {
            self.queues[q as usize].sdev.blocked = MAX_DEVICE_BLOCKED;
        } else {
            self.hosts[host as usize].blocked = 0;
            self.queues[q as usize].sdev.blocked = 0;
        }
    }

    /// `scsi_run_queue_async` at the end of a command: the queue is run by a work item if any LUN of the host starves, else
    /// all hctxs that have work are, always or if somebody missed budget.
    pub(super) fn scsi_run_queue_async(&mut self, c: usize, q: QueueId) -> Frame {
        let nr = self.queues[q as usize].nr_hctx;
        let starving = match self.queues[q as usize].driver {
            Driver::Scsi(host) => !self.hosts[host as usize].starved.is_empty(),
            Driver::Null | Driver::Nvme | Driver::Stacked => false,
        };
        let mut runs = false;
        if starving {
            if self.queues[q as usize].sdev.work.ask() {
                self.charge(c, self.costs.kworker_queue);
                self.enqueue(c, Runnable::SdevWork(q));
            }
        } else {
            let queue = &mut self.queues[q as usize];
            let missed = std::mem::take(&mut queue.restarts);
            runs = missed || queue.scsi() && self.knobs.scsi_run_all;
        }
        // A scan that starts behind the last hctx ends at once.
        Frame::RunHwQueues { pc: 0, queue: q, next: if runs { 0 } else { nr }, run_async: true }
    }

    /// `scsi_requeue_run_queue` on a kworker: LUNs that starve have their turn in their order while the host is not blocked,
    /// then the queue itself is run. `left`: how many of them are still to come.
    pub(crate) fn scsi_run_queue(&mut self, c: usize, pc: u8, queue: u16, left: u16) -> Flow {
        let frame = |pc, left| Frame::ScsiRunQueue { pc, queue, left };
        let run = |queue| Frame::RunHwQueues { pc: 0, queue, next: 0, run_async: false };
        let Driver::Scsi(host) = self.queues[queue as usize].driver else {
            unreachable!("queue {queue} is no LUN");
        };
        let lock = self.hosts[host as usize].host_lock;
        match pc {
            // The switch to the kworker takes its time first.
            0 => {
                self.set_mode(c, Mode::System);
                Flow::Pay(frame(1, u16::MAX))
            }
            1 => {
                self.queues[queue as usize].sdev.work.begin();
                Flow::Go(frame(2, left))
            }
            2 if self.hosts[host as usize].starved.is_empty() || left == 0 => {
                Flow::Call(frame(5, 0), run(queue))
            }
            2 => {
                if self.lock(c, lock) {
                    Flow::Go(frame(3, left))
                } else {
                    Flow::Spin(frame(3, left))
                }
            }
            3 => {
                self.charge(c, self.costs.scan_hctx);
                Flow::Pay(frame(4, left.min(self.hosts[host as usize].starved.len() as u16)))
            }
            4 => {
                let h = &mut self.hosts[host as usize];
                let next = if h.blocked == 0 && left > 0 { h.starved.pop_front() } else { None };
                self.unlock(c, lock);
                match next {
                    Some(starved) => Flow::Call(frame(2, left - 1), run(starved)),
                    None => Flow::Call(frame(5, 0), run(queue)),
                }
            }
            _ => {
                if self.queues[queue as usize].sdev.work.end() {
                    self.enqueue(c, Runnable::SdevWork(queue));
                }
                Flow::Ret(0)
            }
        }
    }
}
