//! The execution loop of a CPU: steps, interrupts, sleeping and waking.

use super::{Flow, Frame, Mode, Runnable};
use crate::engine::agenda::Timed;
use crate::event::{Kind, Sleep};
use crate::sim::Sim;
use crate::workload::task::TaskState;

/// How long tasks run before another runnable task of the same CPU gets its turn, ns (between the scheduler's minimum
/// granularity and its wake-up granularity) [E 750 us to 4 ms].
const SLICE_NS: u64 = 1_000_000;

/// Steps that a CPU may take without time passing before the engine declares a fault; a bound on the inner loop.
const STEPS_MAX: u32 = 1_000_000;

impl Sim {
    /// Runs CPU `c` from now until it has to wait for time, a lock or something to do.
    pub(crate) fn exec(&mut self, c: usize) {
        if let Some(g) = self.cpus[c].granted.take() {
            let super::cpu::Grant { lock, wait_ns, transfer_ns, from } = g;
            self.emit(c, Kind::LockAcquire { lock, wait_ns, transfer_ns, from });
        }
        for _ in 0..STEPS_MAX {
            if self.irq_waits(c) && self.cpus[c].takes_irq() {
                self.enter_irq(c, 0);
            }
            let Some(&frame) = self.cpus[c].stack.last() else {
                // What the last context still owes passes, even if nobody is next.
                let idle = !self.switch_in(c);
                if self.pay(c) || idle {
                    return;
                }
                continue;
            };
            if self.run_context(c, frame) {
                return;
            }
        }
        unreachable!("CPU {c} ran {STEPS_MAX} steps without time passing");
    }

    /// Runs the context on top of `c`'s stack, which is `frame`. True: the CPU waits; false: its context changed or time
    /// passed, and the caller looks again. The frame under way is only written back where the stack matters.
    fn run_context(&mut self, c: usize, mut frame: Frame) -> bool {
        for _ in 0..STEPS_MAX {
            match self.step_frame(c, frame) {
                Flow::Go(next) => frame = next,
                Flow::Pay(next) if self.cpus[c].debt == 0 => frame = next,
                Flow::Pay(next) => {
                    self.set_top(c, next);
                    return self.pay(c);
                }
                Flow::Call(then, callee) => {
                    self.set_top(c, then);
                    self.cpus[c].stack.push(callee);
                    frame = callee;
                }
                Flow::Ret(value) => {
                    let cpu = &mut self.cpus[c];
                    cpu.ret = value;
                    cpu.stack.pop();
                    let Some(&caller) = cpu.stack.last() else {
                        self.switch_out(c);
                        return false;
                    };
                    frame = caller;
                }
                Flow::Spin(next) => {
                    self.set_top(c, next);
                    return true;
                }
                Flow::Sleep(next, why) => {
                    self.set_top(c, next);
                    self.sleep(c, why);
                    return self.pay(c);
                }
                Flow::Yield(next) => {
                    self.set_top(c, next);
                    self.yield_cpu(c);
                    return self.pay(c);
                }
                Flow::Resume => {
                    let cpu = &mut self.cpus[c];
                    cpu.stack.pop();
                    // The interrupt's own time passes first, then what the interrupted context still owed.
                    if let Some((mode, debt)) = cpu.interrupted.pop() {
                        cpu.mode = mode;
                        cpu.debt += debt;
                    }
                    return self.pay(c);
                }
            }
        }
        unreachable!("CPU {c} ran {STEPS_MAX} steps without time passing");
    }

    #[inline]
    fn set_top(&mut self, c: usize, frame: Frame) {
        if let Some(top) = self.cpus[c].stack.last_mut() {
            *top = frame;
        }
    }

    /// Lets the owed time pass. True: the CPU was queued and must return to the engine.
    #[inline]
    fn pay(&mut self, c: usize) -> bool {
        let debt = std::mem::take(&mut self.cpus[c].debt);
        if debt == 0 {
            return false;
        }
        let at = self.now + debt;
        if at <= self.until_ns && self.agenda.runs_on(at) {
            self.check_event();
            self.now = at;
            self.events += 1;
            return false;
        }
        self.agenda.cpu_at(c, at);
        true
    }

    fn step_frame(&mut self, c: usize, frame: Frame) -> Flow {
        match frame {
            Frame::Fio { pc } => self.fio(c, pc),
            Frame::Batch { pc } => self.batch(c, pc),
            Frame::Dbench { pc } => self.dbench(c, pc),
            Frame::LogForce { pc, commit } => self.log_force(c, pc, commit),
            Frame::LogWrite { pc } => self.log_write(c, pc),
            Frame::LogWorker => self.log_worker(c),
            Frame::IoSubmit { pc, next } => self.io_submit(c, pc, next),
            Frame::FileLock { pc, lock, op } => self.take_file_lock(c, pc, lock, op),
            Frame::SubmitBio { pc, bio, part, rq } => self.submit_bio(c, pc, bio, part, rq),
            Frame::WbtWait { pc, bio } => self.wbt_wait(c, pc, bio),
            Frame::BufferedIo { pc, io, done } => self.buffered_io(c, pc, io, done),
            Frame::BalanceDirty { pc, inode } => self.balance_dirty(c, pc, inode),
            Frame::WritePages { pc, io } => self.write_pages(c, pc, io),
            Frame::Flusher { pc } => self.flush_loop(c, pc),
            Frame::SyncFile { pc, inode, nested } => self.sync_file(c, pc, inode, nested),
            Frame::SyncPages { pc, inode, how } => self.sync_pages(c, pc, inode, how),
            Frame::DontNeed { pc, inode } => self.advise_dont_need(c, pc, inode),
            Frame::Remap { pc, bio, part } => self.remap(c, pc, bio, part),
            Frame::GetRequest { pc, bio, hctx } => self.get_request(c, pc, bio, hctx),
            Frame::FlushPlug { pc, from_schedule, list, group } => {
                self.flush_plug(c, pc, from_schedule, list, group)
            }
            Frame::InsertRequests { pc, hctx, ctx, list, run_async } => {
                self.insert_requests(c, pc, hctx, ctx, list, run_async)
            }
            Frame::SchedMerge { pc, bio, merged } => self.sched_merge(c, pc, bio, merged),
            Frame::ElvInsert { pc, hctx, list, cpu, run_async } => {
                self.elv_insert(c, pc, hctx, list, cpu, run_async)
            }
            Frame::DispatchSched { pc, hctx, list, rq, sent } => {
                self.dispatch_sched(c, pc, hctx, list, rq, sent)
            }
            Frame::SchedCompleted { pc, rq } => self.sched_completed(c, pc, rq),
            Frame::SchedTimer { pc, queue, token } => self.sched_timer(c, pc, queue, token),
            Frame::IssueList { pc, list, rq, whole_plug } => self.issue_list(c, pc, list, rq, whole_plug),
            Frame::IssueDirectly { pc, rq } => self.issue_directly(c, pc, rq),
            Frame::QueueRqs { pc, list, next } => self.queue_rqs(c, pc, list, next),
            Frame::RunHwQueue { pc, hctx, run_async } => self.run_hw_queue(c, pc, hctx, run_async),
            Frame::Dispatch { pc, hctx, list, sent, again } => self.dispatch(c, pc, hctx, list, sent, again),
            Frame::FlushBusyCtxs { pc, hctx, list, bit } => self.flush_busy_ctxs(c, pc, hctx, list, bit),
            Frame::DispatchCtx { pc, hctx, list, bit, sent } => {
                self.dispatch_ctx(c, pc, hctx, list, bit, sent)
            }
            Frame::DispatchRqList { pc, hctx, list, rq, sent } => {
                self.dispatch_rq_list(c, pc, hctx, list, rq, sent)
            }
            Frame::QueueRq { pc, rq, last } => self.queue_rq(c, pc, rq, last),
            Frame::HardIrq { pc } => self.hard_irq(c, pc),
            Frame::SoftIrq => self.soft_irq(c),
            Frame::Complete { pc, rq, softirq } => self.complete(c, pc, rq, softirq),
            Frame::RunHwQueues { pc, queue, next, run_async } => {
                self.run_hw_queues(c, pc, queue, next, run_async)
            }
            Frame::RunWork { pc, hctx } => self.run_work(c, pc, hctx),
            Frame::SyncCall { pc, io, nested } => self.sync_call(c, pc, io, nested),
            Frame::FlushSeq { pc, hctx, list, rq, completing } => {
                self.flush_seq(c, pc, hctx, list, rq, completing)
            }
            Frame::RequeueWork { pc, queue, list, rq } => self.requeue_work(c, pc, queue, list, rq),
            Frame::RequeueRq { pc, rq } => self.requeue_request(c, pc, rq),
            Frame::ScsiRunQueue { pc, queue, left } => self.scsi_run_queue(c, pc, queue, left),
            Frame::QueueBio { pc, bio, rq } => self.queue_bio(c, pc, bio, rq),
            Frame::FlushPlugList { pc, from_schedule, queue, list, depth } => {
                self.flush_plug_list(c, pc, from_schedule, list, queue, depth)
            }
            Frame::RunQueue { pc, queue } => self.run_queue(c, pc, queue),
            Frame::RequestFn { pc, queue, rq, sent } => self.request_fn(c, pc, queue, rq, sent),
            Frame::SoftirqDone { pc, rq, starved } => self.softirq_done(c, pc, rq, starved),
        }
    }

    fn irq_waits(&self, c: usize) -> bool {
        let cpu = &self.cpus[c];
        !cpu.irq_queue.is_empty() || !cpu.ipi_queue.is_empty() || !cpu.timer_queue.is_empty()
    }

    /// Something for an interrupt on `c` is in its queues: enter at once if it may.
    pub(crate) fn raise_irq(&mut self, c: usize) {
        if !self.cpus[c].takes_irq() {
            return; // taken by `exec` as soon as it may
        }
        let left = self.agenda.cpu_cancel(c).map_or(0, |at| at - self.now);
        self.enter_irq(c, left);
        self.agenda.cpu_at(c, self.now);
    }

    fn enter_irq(&mut self, c: usize, debt: u64) {
        let cpu = &mut self.cpus[c];
        let mode = cpu.mode;
        let debt = debt + std::mem::take(&mut cpu.debt);
        cpu.in_irq = true;
        cpu.interrupted.push((mode, debt));
        cpu.mode = Mode::HardIrq;
        cpu.stack.push(Frame::HardIrq { pc: 0 });
        self.emit(c, Kind::ContextBegin);
    }

    /// Takes the next runnable of an idle CPU. False: there is none.
    fn switch_in(&mut self, c: usize) -> bool {
        let Some(next) = self.cpus[c].runq.pop_front() else { return false };
        let now = self.now;
        let cpu = &mut self.cpus[c];
        cpu.current = Some(next);
        cpu.switched_in_ns = now;
        cpu.switches += 1;
        cpu.mode = Mode::System;
        match next {
            Runnable::Task(t) => {
                std::mem::swap(&mut cpu.stack, &mut self.tasks[t as usize].stack);
                self.tasks[t as usize].state = TaskState::Running;
            }
            Runnable::Work(h) => cpu.stack.push(Frame::RunWork { pc: 0, hctx: h }),
            Runnable::Requeue(queue) => {
                cpu.stack.push(Frame::RequeueWork { pc: 0, queue, list: 0, rq: 0 });
            }
            Runnable::SdevWork(queue) => cpu.stack.push(Frame::ScsiRunQueue { pc: 0, queue, left: 0 }),
        }
        self.charge(c, self.costs.context_switch);
        self.emit(c, Kind::ContextBegin);
        true
    }

    fn switch_out(&mut self, c: usize) {
        self.emit(c, Kind::ContextEnd);
        self.cpus[c].current = None;
    }

    fn sleep(&mut self, c: usize, why: Sleep) {
        let Some(Runnable::Task(t)) = self.cpus[c].current else {
            unreachable!("only tasks sleep");
        };
        self.emit(c, Kind::TaskSleep { why });
        if self.checks.on {
            self.check_sleep(c, t);
            self.leave_lock_with_sleeper(c, t);
        }
        std::mem::swap(&mut self.cpus[c].stack, &mut self.tasks[t as usize].stack);
        self.tasks[t as usize].state = TaskState::Sleeping(why);
        self.switch_out(c);
    }

    fn yield_cpu(&mut self, c: usize) {
        let Some(Runnable::Task(t)) = self.cpus[c].current else {
            unreachable!("only tasks yield");
        };
        std::mem::swap(&mut self.cpus[c].stack, &mut self.tasks[t as usize].stack);
        self.tasks[t as usize].state = TaskState::Runnable;
        self.cpus[c].runq.push_back(Runnable::Task(t));
        self.switch_out(c);
    }

    /// Whether the task on `c` should let others run at a user-mode boundary: a kworker (high priority) at once,
    /// another task after its slice.
    pub(crate) fn should_yield(&self, c: usize) -> bool {
        let cpu = &self.cpus[c];
        match cpu.runq.front() {
            None => false,
            Some(Runnable::Task(_)) => self.now - cpu.switched_in_ns >= SLICE_NS,
            Some(_) => true,
        }
    }

    /// Wakes a sleeping task; `c` pays the waker's part.
    pub(crate) fn wake_task(&mut self, c: usize, t: u16) {
        if !matches!(self.tasks[t as usize].state, TaskState::Sleeping(_)) {
            return;
        }
        self.tasks[t as usize].state = TaskState::Runnable;
        let target = self.tasks[t as usize].cpu as usize;
        self.emit(c, Kind::TaskWake { task: t });
        self.charge(c, if target == c { self.costs.wake_local } else { self.costs.wake });
        self.make_runnable(c, target, Runnable::Task(t), self.costs.wake_latency);
    }

    /// Puts `what` on the run queue of `target`. An idle remote CPU needs `latency` to come out of its idle state.
    pub(crate) fn make_runnable(&mut self, c: usize, target: usize, what: Runnable, latency: u32) {
        if target != c && self.cpus[target].idle() {
            let at = self.now + self.cpus[c].debt + u64::from(latency);
            self.agenda.at(at, Timed::Runnable(target as u16, what.pack()));
        } else {
            self.enqueue(target, what);
        }
    }

    /// `what` joins the run queue of CPU `c`; kworkers (WQ_HIGHPRI) go before tasks.
    pub(crate) fn enqueue(&mut self, c: usize, what: Runnable) {
        let queue = &mut self.cpus[c].runq;
        match what {
            Runnable::Task(_) => queue.push_back(what),
            _ => {
                let at = queue.iter().take_while(|r| !matches!(r, Runnable::Task(_))).count();
                queue.insert(at, what);
            }
        }
    }

    /// Starts an idle CPU that has something to run.
    pub(crate) fn kick(&mut self, c: usize) {
        if self.cpus[c].idle() && !self.agenda.cpu_pending(c) {
            self.agenda.cpu_at(c, self.now);
        }
    }
}
