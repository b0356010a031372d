//! How the time of a CPU is spent.

use crate::event::CpuId;
use crate::sim::Sim;
use serde::Serialize;

/// Time that a CPU has spent since the measurement began, ns; what is missing to the time that has passed, it idled.
/// Time that a step owes counts by the account that is open when it passes, so one account may run ahead of another
/// by what one step takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTime {
    /// When the measurement began, ns: at the end of the ramp all accounts are opened anew.
    pub from_ns: u64,
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel for tasks and kworkers, without spinning.
    pub system_ns: u64,
    /// In hard interrupts.
    pub irq_ns: u64,
    /// In softirqs.
    pub softirq_ns: u64,
    /// Spinning for locks, in any context.
    pub spin_ns: u64,
}

impl Sim {
    /// How a CPU has spent its time up to `at_ns`, a time between now and the next event.
    pub fn cpu_time_at(&self, cpu: CpuId, at_ns: u64) -> CpuTime {
        let Some(state) = self.cpus.get(cpu as usize) else { return CpuTime::default() };
        let mut passed = state.used_ns;
        let mut spin_ns = state.spin_ns;
        let mut unpaid = self.unpaid_ns(cpu as usize, at_ns);
        if let Some((_, since)) = state.spinning {
            // What it owed when it began to spin passes first; then it spins until the lock is handed over.
            spin_ns += at_ns.saturating_sub(since);
            unpaid[state.mode as usize] -= state.debt;
            unpaid[state.mode as usize] += since.saturating_sub(at_ns).min(state.debt);
        }
        for (passed, unpaid) in passed.iter_mut().zip(unpaid) {
            *passed = passed.saturating_sub(unpaid);
        }
        let [user_ns, system_ns, irq_ns, softirq_ns] = passed;
        CpuTime { from_ns: self.stats.measured_from_ns, user_ns, system_ns, irq_ns, softirq_ns, spin_ns }
    }

    /// CPU time that was booked (when a step begins) but has not passed at `at_ns`, by mode, ns.
    pub(crate) fn unpaid_ns(&self, c: usize, at_ns: u64) -> [u64; 4] {
        let cpu = &self.cpus[c];
        let mut unpaid = [0; 4];
        let left = self.agenda.cpu_turn(c).map_or(0, |turn| turn.saturating_sub(at_ns));
        unpaid[cpu.mode as usize] += left + cpu.debt;
        for &(mode, debt) in &cpu.interrupted {
            unpaid[mode as usize] += debt;
        }
        unpaid
    }
}
