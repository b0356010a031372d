//! Runs of an hctx: inline or by a kworker (`blk_mq_run_hw_queue`, `blk_mq_run_hw_queues`, `blk_mq_run_work_fn`).

use crate::block::{NONE, Work};
use crate::engine::agenda::Timed;
use crate::event::{HctxId, Kind, QueueId};
use crate::host::{Flow, Frame, Mode, Runnable};
use crate::sim::Sim;

/// Works that a CPU of a multi-queue hctx takes before the next one's turn (BLK_MQ_CPU_WORK_BATCH).
const CPU_WORK_BATCH: u8 = 8;

/// When a timer of `delay_ns` that is armed at `now_ns` fires: with the tick behind its last jiffy (`msecs_to_jiffies`
/// rounds up, and `calc_index` adds one so that no timer is early). Ticks of 0: exactly.
fn timer_ns(now_ns: u64, delay_ns: u64, tick_ns: u64) -> u64 {
    match tick_ns {
        0 => now_ns + delay_ns,
        tick => (now_ns / tick + delay_ns.div_ceil(tick) + 1) * tick,
    }
}

impl Sim {
    /// Reads the pending bits (each word of 8 CPUs is a line of its own) and tells whether anything waits.
    pub(crate) fn has_pending(&mut self, c: usize, h: HctxId) -> bool {
        let hctx = &self.hctxs[h as usize];
        if !hctx.dispatch.is_empty() {
            return true;
        }
        if self.has_elevator(hctx.queue) {
            self.look_at_lists(c, h);
            return self.sched_has_work(h);
        }
        let line = hctx.ctx_map_line;
        let mut words = hctx.ctx_map_used;
        while words != 0 {
            self.read(c, line + words.trailing_zeros());
            words &= words - 1;
        }
        self.hctxs[h as usize].ctx_map != 0
    }

    pub(crate) fn run_hw_queue(&mut self, c: usize, pc: u8, hctx: HctxId, run_async: bool) -> Flow {
        let frame = |pc| Frame::RunHwQueue { pc, hctx, run_async };
        match pc {
            0 => {
                self.charge(c, self.costs.run_hctx);
                Flow::Pay(frame(1))
            }
            1 => {
                if self.knobs.run_tests_pending && !self.has_pending(c, hctx) {
                    return Flow::Ret(0);
                }
                let mapped = self.hctxs[hctx as usize].cpus.contains(&(c as u16));
                if run_async || !mapped {
                    self.schedule_work(c, hctx, 0);
                    return Flow::Ret(0);
                }
                Flow::Call(frame(2), Frame::Dispatch { pc: 0, hctx, list: NONE, sent: 0, again: false })
            }
            _ => Flow::Ret(0),
        }
    }

    pub(crate) fn run_hw_queues(&mut self, c: usize, pc: u8, queue: u16, next: u16, run_async: bool) -> Flow {
        match pc {
            0 => {
                let q = &self.queues[queue as usize];
                if next >= q.nr_hctx {
                    return Flow::Ret(0);
                }
                let hctx = q.first_hctx + next;
                self.charge(c, self.costs.scan_hctx);
                let then = Frame::RunHwQueues { pc: 0, queue, next: next + 1, run_async };
                if self.runs_with_all(c, hctx) && self.has_pending(c, hctx) {
                    Flow::Call(then, Frame::RunHwQueue { pc: 0, hctx, run_async })
                } else {
                    Flow::Go(then)
                }
            }
            // Behind the restart of its own hctx, a completion sees to the others.
            _ => Flow::Go(self.scsi_run_queue_async(c, queue)),
        }
    }

    /// Whether a run of all hctxs includes this one: with one lock for the disk only the hctx of the calling CPU, and those
    /// whose dispatch list is not empty (`blk_mq_get_sq_hctx`).
    pub(crate) fn runs_with_all(&self, c: usize, h: HctxId) -> bool {
        let hctx = &self.hctxs[h as usize];
        let queue = &self.queues[hctx.queue as usize];
        let single = self.knobs.single_hctx_dispatch && queue.elevator.as_ref().is_some_and(|e| !e.mq_aware);
        !single || queue.map[c] == h || !hctx.dispatch.is_empty()
    }

    /// `blk_mq_run_hw_queues(q, true)` as one step.
    pub(crate) fn run_all(&mut self, c: usize, q: QueueId) {
        let first = self.queues[q as usize].first_hctx;
        for h in first..first + self.queues[q as usize].nr_hctx {
            self.charge(c, self.costs.scan_hctx);
            if self.runs_with_all(c, h) && self.has_pending(c, h) {
                self.schedule_work(c, h, 0);
            }
        }
    }

    /// `blk_mq_delay_run_hw_queues`: arms the work of all hctxs, without asking whether anything waits.
    pub(crate) fn delay_run_all(&mut self, c: usize, q: QueueId, delay_ns: u64) {
        self.stats.queues[q as usize].delayed_runs += 1;
        let first = self.queues[q as usize].first_hctx;
        for h in first..first + self.queues[q as usize].nr_hctx {
            let pending = self.knobs.delay_skips_pending && self.hctxs[h as usize].work != Work::Idle;
            if self.runs_with_all(c, h) && !pending {
                self.schedule_work(c, h, delay_ns);
            }
        }
    }

    /// `blk_mq_hctx_next_cpu` and `kblockd_mod_delayed_work_on`.
    pub(crate) fn schedule_work(&mut self, c: usize, h: HctxId, delay_ns: u64) {
        let single = self.queues[self.hctxs[h as usize].queue as usize].nr_hctx == 1;
        let hctx = &mut self.hctxs[h as usize];
        let target = if single {
            c as u16
        } else {
            if hctx.next_cpu_batch == 0 {
                hctx.next_cpu = (hctx.next_cpu + 1) % hctx.cpus.len() as u16;
                hctx.next_cpu_batch = CPU_WORK_BATCH;
            }
            hctx.next_cpu_batch -= 1;
            hctx.cpus[hctx.next_cpu as usize]
        };
        let queued = hctx.work == Work::Queued;
        if queued && (delay_ns == 0 || !self.knobs.delay_takes_queued) {
            return; // it will see what there is
        }
        hctx.work_target = target;
        self.emit(c, Kind::RunScheduled { hctx: h, target, delay_ns });
        self.charge(c, self.costs.kworker_queue);
        let hctx = &mut self.hctxs[h as usize];
        if delay_ns > 0 {
            // A work that is taken back leaves its kworker behind, which wakes and finds nothing.
            (hctx.work, hctx.work_again) = (Work::Delayed, false);
            hctx.work_due_ns = timer_ns(self.now + self.cpus[c].debt, delay_ns, self.tick_ns);
            let q = &mut self.stats.queues[hctx.queue as usize];
            (q.works_delayed, q.works_put_off) = (q.works_delayed + 1, q.works_put_off + u64::from(queued));
            // A timer that is put off stays where it is in the agenda, and moves on when its time comes: thousands a
            // second are put off before they fire.
            if hctx.work_timer_ns.is_none_or(|at| at > hctx.work_due_ns) {
                hctx.work_timer_ns = Some(hctx.work_due_ns);
                self.agenda.at(hctx.work_due_ns, Timed::Work(h));
            }
            return;
        }
        hctx.work = Work::Queued;
        if hctx.work_running.is_some() {
            hctx.work_again = true; // a work item does not run twice at once
        } else {
            self.make_runnable(c, target as usize, Runnable::Work(h), self.costs.kworker_latency);
        }
    }

    /// Lets the kworkers of all hctxs that have work look at once, at nobody's cost.
    pub(crate) fn kick_hctxs(&mut self) {
        for h in 0..self.hctxs.len() as HctxId {
            let hctx = &self.hctxs[h as usize];
            let scheduled = self.has_elevator(hctx.queue) && self.sched_has_work(h);
            let waits = !hctx.dispatch.is_empty() || hctx.ctx_map != 0 || scheduled;
            let hctx = &mut self.hctxs[h as usize];
            if !waits || hctx.work == Work::Queued || hctx.cpus.is_empty() {
                continue;
            }
            hctx.work = Work::Delayed;
            hctx.work_target = hctx.cpus[0];
            hctx.work_due_ns = self.now;
            hctx.work_timer_ns = Some(self.now);
            self.agenda.at(self.now, Timed::Work(h));
        }
    }

    /// The timer of a delayed run fires, unless it has been put off.
    pub(crate) fn work_due(&mut self, h: HctxId) {
        let now = self.now;
        let hctx = &mut self.hctxs[h as usize];
        if hctx.work_timer_ns != Some(now) {
            return; // an earlier one took its place
        }
        hctx.work_timer_ns = None;
        if hctx.work != Work::Delayed {
            return;
        }
        if hctx.work_due_ns > now {
            hctx.work_timer_ns = Some(hctx.work_due_ns);
            return self.agenda.at(hctx.work_due_ns, Timed::Work(h));
        }
        hctx.work = Work::Queued;
        let target = hctx.work_target as usize;
        if hctx.work_running.is_some() {
            hctx.work_again = true;
        } else {
            self.enqueue(target, Runnable::Work(h));
            self.kick(target);
        }
    }

    /// The work item itself, on a kworker.
    pub(crate) fn run_work(&mut self, c: usize, pc: u8, h: HctxId) -> Flow {
        let hctx = &mut self.hctxs[h as usize];
        match pc {
            // The switch to the kworker takes its time first.
            0 => {
                self.set_mode(c, Mode::System);
                Flow::Pay(Frame::RunWork { pc: 1, hctx: h })
            }
            // Taken back meanwhile, or done by another kworker.
            1 if hctx.work != Work::Queued || hctx.work_running.is_some() => Flow::Ret(0),
            1 => {
                hctx.work = Work::Idle;
                hctx.work_running = Some(c as u16);
                let queue = hctx.queue;
                if self.is_legacy(queue) {
                    // blk_delay_work
                    return Flow::Call(Frame::RunWork { pc: 2, hctx: h }, Frame::RunQueue { pc: 0, queue });
                }
                Flow::Call(
                    Frame::RunWork { pc: 2, hctx: h },
                    Frame::Dispatch { pc: 0, hctx: h, list: NONE, sent: 0, again: false },
                )
            }
            _ => {
                hctx.work_running = None;
                if std::mem::take(&mut hctx.work_again) {
                    self.enqueue(c, Runnable::Work(h));
                }
                Flow::Ret(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{DeviceConfig, Scenario};
    use crate::workload::{Dbench, Workload};

    #[test]
    fn timers_fire_with_the_tick_behind_their_last_jiffy() {
        const MS: u64 = 1_000_000;
        assert_eq!(timer_ns(5, 3 * MS, 0), 5 + 3 * MS);
        // 250 Hz: 3 ms are one jiffy, and never less than one has passed.
        assert_eq!(timer_ns(0, 3 * MS, 4 * MS), 8 * MS);
        assert_eq!(timer_ns(4 * MS - 1, 3 * MS, 4 * MS), 8 * MS);
        assert_eq!(timer_ns(4 * MS, 3 * MS, 4 * MS), 12 * MS);
        // 1000 Hz.
        assert_eq!(timer_ns(1_500_000, 3 * MS, MS), 5 * MS);
    }

    #[test]
    fn a_timer_that_is_put_off_leaves_nothing_behind() {
        let disk = DeviceConfig {
            scheduler: "bfq".into(),
            nr_hw_queues: Some(4),
            ..DeviceConfig::new("sda", "scsi-debug")
        };
        let scenario = Scenario {
            machine: "small".into(),
            kernel: "5.10".into(),
            devices: vec![disk],
            workload: Workload::Dbench(Dbench::default()),
            ..Scenario::default()
        };
        let mut sim = Sim::new(&scenario).expect("the scenario is valid");
        let before = sim.agenda.timers();
        for step in 0..1000 {
            sim.now = step * 1000;
            sim.delay_run_all(0, 0, 3_000_000);
        }
        assert_eq!(sim.agenda.timers(), before + 4, "one for each hctx");
        // It fires at its old time, and again at the new one.
        let hctx = &sim.hctxs[0];
        assert!(hctx.work_timer_ns < Some(hctx.work_due_ns));
        sim.now = hctx.work_timer_ns.expect("it is armed");
        sim.work_due(0);
        let hctx = &sim.hctxs[0];
        assert_eq!((hctx.work, hctx.work_timer_ns), (Work::Delayed, Some(hctx.work_due_ns)));
        sim.now = hctx.work_due_ns;
        sim.work_due(0);
        assert_eq!(sim.hctxs[0].work, Work::Queued);
    }
}
