//! The batch thread: exact `io_submit` calls, one line of the script each.

use crate::event::{Kind, Op, Sleep};
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;
use crate::workload::{BatchIo, BatchStep, Workload};

impl Sim {
    pub(crate) fn batch(&mut self, c: usize, pc: u8) -> Flow {
        let frame = |pc| Frame::Batch { pc };
        let t = self.current_task(c);
        let scenario = self.scenario.clone();
        let Workload::Batch(script) = &scenario.workload else {
            unreachable!("a batch thread has a script");
        };
        match pc {
            // Next line, in user mode.
            0 => {
                self.set_mode(c, Mode::User);
                let step = self.tasks[t].program.step as usize;
                self.tasks[t].program.step += 1;
                match script.steps.get(step) {
                    None => {
                        // All in flight is waited for at the end, as the tool does.
                        let done = self.tasks[t].in_flight == 0;
                        Flow::Go(frame(if done { 9 } else { 4 }))
                    }
                    Some(BatchStep::Cpu(cpu)) => {
                        if self.tasks[t].cpu == *cpu {
                            return Flow::Go(frame(0));
                        }
                        self.tasks[t].cpu = *cpu;
                        let at = self.now + u64::from(self.costs.wake_latency);
                        self.sleep_until(c, at, frame(0))
                    }
                    Some(BatchStep::Sleep(ns)) => self.sleep_until(c, self.now + ns, frame(0)),
                    Some(BatchStep::Wait) => Flow::Go(frame(4)),
                    Some(BatchStep::Prio(prio)) => {
                        self.tasks[t].prio = *prio;
                        self.charge(c, self.costs.syscall);
                        Flow::Pay(frame(0))
                    }
                    Some(BatchStep::Writeback(ios)) => {
                        for io in ios {
                            self.prepare(t, io.device, io.op, io.offset, io.len, false);
                            self.make_asynchronous(t);
                            self.tasks[t].program.ios += 1;
                        }
                        // A flusher thread makes no system call.
                        self.set_mode(c, Mode::System);
                        Flow::Call(frame(0), Frame::IoSubmit { pc: 0, next: 0 })
                    }
                    // As the tool does, it waits for what is in flight first.
                    Some(BatchStep::Fsync(_)) if self.tasks[t].in_flight > 0 => {
                        self.tasks[t].program.step -= 1;
                        Flow::Go(frame(4))
                    }
                    Some(BatchStep::Fsync(disk)) => {
                        let io = self.new_fsync(t, *disk);
                        Flow::Call(frame(6), Frame::SyncCall { pc: 0, io, nested: false })
                    }
                    Some(BatchStep::Discard(_) | BatchStep::Commit(_)) => {
                        self.tasks[t].program.call = 0;
                        Flow::Go(frame(7))
                    }
                    Some(BatchStep::Submit(ios)) => {
                        for io in ios {
                            self.prepare(t, io.device, io.op, io.offset, io.len, script.dsync);
                            self.tasks[t].program.ios += 1;
                        }
                        self.charge(c, self.costs.fio_user);
                        Flow::Pay(frame(1))
                    }
                }
            }
            1 => {
                let count = self.tasks[t].prepared.len() as u32;
                self.enter_call(c, count);
                Flow::Pay(frame(2))
            }
            2 => Flow::Call(frame(3), Frame::IoSubmit { pc: 0, next: 0 }),
            3 => {
                self.leave_call(c);
                Flow::Pay(frame(0))
            }
            // io_getevents until nothing is in flight.
            4 => {
                if self.tasks[t].in_flight == 0 {
                    return Flow::Go(frame(0));
                }
                self.set_mode(c, Mode::System);
                self.emit(c, Kind::SyscallEnter { count: 0 });
                self.charge(c, self.costs.syscall);
                Flow::Pay(frame(5))
            }
            5 => {
                while self.reap(c, t) {}
                if self.tasks[t].in_flight == 0 {
                    self.emit(c, Kind::SyscallExit);
                    return Flow::Go(frame(0));
                }
                self.tasks[t].wants = self.tasks[t].in_flight;
                Flow::Sleep(frame(5), Sleep::Io)
            }
            6 => Flow::Pay(frame(0)),
            // One call for each extent.
            7 => {
                let at = self.tasks[t].program.step as usize - 1;
                let Some(BatchStep::Discard(extents) | BatchStep::Commit(extents)) = script.steps.get(at)
                else {
                    unreachable!("step {at} is made of such calls");
                };
                let Some(&BatchIo { op, device, offset, len }) =
                    extents.get(self.tasks[t].program.call as usize)
                else {
                    return Flow::Go(frame(0));
                };
                self.tasks[t].program.call += 1;
                self.tasks[t].program.ios += 1;
                let io = if op == Op::Discard {
                    self.new_discard(t, device, offset, len)
                } else {
                    self.new_commit(t, device, offset, len)
                };
                Flow::Call(frame(8), Frame::SyncCall { pc: 0, io, nested: false })
            }
            8 => Flow::Pay(frame(7)),
            _ => {
                self.task_exit(t);
                Flow::Ret(0)
            }
        }
    }
}
