//! The part of the fold that is about the machine: hctx runs, locks and lines, CPUs and tasks.

use super::apply::push_bounded;
use super::{Scene, Spin, TRANSFERS_MAX, Transfer};
use mqscope_core::event::{CpuId, Event, Kind, ObjectId};

impl Scene {
    pub(super) fn apply_hctx(&mut self, event: &Event) {
        let cpu = event.cpu;
        let (Kind::RunBegin { hctx }
        | Kind::RunEnd { hctx, .. }
        | Kind::RunScheduled { hctx, .. }
        | Kind::Doorbell { hctx, .. }
        | Kind::DispatchBusy { hctx, .. }) = event.kind
        else {
            return;
        };
        let Some(h) = self.hctxs.get_mut(hctx as usize) else { return };
        match event.kind {
            Kind::RunBegin { .. } => h.run_begin(cpu),
            Kind::RunEnd { sent, .. } => h.run_end(cpu, sent),
            Kind::RunScheduled { target, delay_ns, .. } => {
                h.scheduled = Some((event.at_ns.saturating_add(delay_ns), target));
            }
            Kind::Doorbell { count, .. } => h.doorbell = Some((event.at_ns, count)),
            Kind::DispatchBusy { value, .. } => h.dispatch_busy = value,
            _ => {}
        }
    }

    pub(super) fn apply_object(&mut self, event: &Event) {
        let (at, cpu) = (event.at_ns, event.cpu);
        match event.kind {
            Kind::LockWait { lock, holder, .. } => {
                if let Some(o) = self.objects.get_mut(lock as usize) {
                    o.wait(cpu);
                }
                if let Some(c) = self.cpus.get_mut(cpu as usize) {
                    c.spin = Some(Spin { lock, since_ns: at, holder });
                }
            }
            Kind::LockAcquire { lock, wait_ns, transfer_ns, from } => {
                let spun = wait_ns > 0;
                let mut line_ns = u64::from(transfer_ns);
                if let Some(o) = self.objects.get_mut(lock as usize) {
                    // Who still owed time when the lock was handed over has waited for nothing, and yet was a waiter.
                    if spun || o.waiters().contains(&cpu) {
                        o.stop_waiting(cpu);
                        o.contended += 1;
                        // The way of the line is a part of the wait.
                        line_ns = 0;
                    }
                    o.holder = Some((cpu, at));
                }
                self.touch(event, lock, from, wait_ns, line_ns, transfer_ns);
                if let Some(c) = self.cpus.get_mut(cpu as usize) {
                    c.held = c.held.saturating_add(1);
                    c.last_lock = lock;
                    c.spin = None;
                    if spun {
                        c.spun(at, wait_ns, self.half_ns);
                    }
                }
                self.window.at(at).spin_ns += wait_ns;
            }
            Kind::LockRelease { lock, .. } => {
                if let Some(o) = self.objects.get_mut(lock as usize) {
                    o.holder = None;
                }
                if let Some(c) = self.cpus.get_mut(cpu as usize) {
                    c.held = c.held.saturating_sub(1);
                }
            }
            Kind::LineTransfer { line, from, transfer_ns, wait_ns } => {
                if let Some(o) = self.objects.get_mut(line as usize) {
                    o.contended += u64::from(wait_ns > 0);
                }
                self.touch(event, line, from, 0, u64::from(transfer_ns) + u64::from(wait_ns), transfer_ns);
            }
            _ => {}
        }
    }

    /// A lock or line was touched: its owner, its heat, and what the CPU lost.
    fn touch(&mut self, event: &Event, id: ObjectId, from: CpuId, spin: u64, line: u64, transfer_ns: u32) {
        let (at, cpu) = (event.at_ns, event.cpu);
        let moved = transfer_ns > 0 && from != cpu && (from as usize) < self.cpus.len();
        let transfer = Transfer { at_ns: at, from, to: cpu, object: id, cost_ns: transfer_ns };
        if let Some(o) = self.objects.get_mut(id as usize) {
            o.count += 1;
            o.owner = cpu;
            o.lost_ns += spin + line;
            if spin + line > 0 {
                o.heat.add(at, (spin + line) as f32, self.half_ns);
            }
            // Where only copies are elsewhere they are taken away, which is no way from one CPU to another.
            o.transfers += u64::from(transfer_ns > 0);
            if moved {
                o.transfer = Some(transfer);
            }
        }
        if moved {
            push_bounded(&mut self.transfers, TRANSFERS_MAX, transfer);
        }
        if spin + line > 0
            && let Some(c) = self.cpus.get_mut(cpu as usize)
        {
            c.lost.add(id, spin, line, from);
        }
        self.window.at(at).line_ns += line;
    }

    pub(super) fn apply_host(&mut self, event: &Event) {
        let (at, cpu) = (event.at_ns, event.cpu);
        if let Some(task) = self.tasks.get_mut(event.task as usize) {
            match event.kind {
                Kind::ContextBegin | Kind::SyscallEnter { .. } => (task.cpu, task.sleep) = (cpu, None),
                _ => {}
            }
            match event.kind {
                Kind::SyscallEnter { count } => task.syscall = Some(count),
                Kind::SyscallExit => task.syscall = None,
                Kind::TaskSleep { why } => task.sleep = Some((why, at)),
                _ => {}
            }
        }
        match event.kind {
            Kind::TaskWake { task } => {
                if let Some(task) = self.tasks.get_mut(task as usize) {
                    task.sleep = None;
                }
            }
            Kind::ContextBegin => {
                if let Some(c) = self.cpus.get_mut(cpu as usize) {
                    c.begin(event.context, event.task, at);
                }
            }
            Kind::ContextEnd => {
                if let Some(c) = self.cpus.get_mut(cpu as usize) {
                    c.end(event.context, at, self.half_ns);
                }
            }
            _ => {}
        }
    }
}
