//! CPUs, tasks, locks and lines, as far as a picture needs them.

use super::Transfer;
use super::request::{Lost, NONE, NONE16};
use mqscope_core::event::{Context, CpuId, ObjectId, Sleep, TaskId};

/// Contexts nested on one CPU at most: task or kworker, softirq, hard interrupt, and one to spare.
pub const NEST_MAX: usize = 4;
/// Waiters of a lock kept by name; more are only counted.
pub const WAITERS_MAX: usize = 12;

/// A sum that fades: half of it is forgotten every half-life. Reading it gives a mean rate of late.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fading {
    value: f32,
    at_ns: u64,
}

impl Fading {
    /// Adds `amount` at `at_ns`.
    pub fn add(&mut self, at_ns: u64, amount: f32, half_ns: u64) {
        self.value = self.read(at_ns, half_ns) + amount;
        self.at_ns = at_ns;
    }

    /// What is left at `now_ns`.
    pub fn read(&self, now_ns: u64, half_ns: u64) -> f32 {
        if self.value == 0.0 {
            return 0.0;
        }
        let halves = now_ns.saturating_sub(self.at_ns) as f32 / half_ns.max(1) as f32;
        self.value * (-halves).exp2()
    }

    /// The mean rate of late: for amounts in ns this is the share of time, for counts it is a count per ns.
    pub fn rate(&self, now_ns: u64, half_ns: u64) -> f32 {
        self.read(now_ns, half_ns) * std::f32::consts::LN_2 / half_ns.max(1) as f32
    }
}

/// A CPU is spinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// The lock.
    pub lock: ObjectId,
    /// Since when, ns.
    pub since_ns: u64,
    /// Who held the lock when the wait began.
    pub holder: CpuId,
}

/// One level of what a CPU is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Which context.
    pub context: Context,
    /// Whose, for a task.
    pub task: TaskId,
    /// Since when, ns.
    pub since_ns: u64,
    /// Time since then that it spun for locks, ns: no work.
    pub spun_ns: u64,
}

const NO_FRAME: Frame = Frame { context: Context::Idle, task: NONE16, since_ns: 0, spun_ns: 0 };

/// A CPU.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    frames: [Frame; NEST_MAX],
    depth: u8,
    /// The lock it is spinning on.
    pub spin: Option<Spin>,
    /// Locks it holds.
    pub held: u8,
    /// The lock it took last.
    pub last_lock: ObjectId,
    /// Busy time of late.
    pub busy: Fading,
    /// Spinning time of late.
    pub spinning: Fading,
    /// Loss since the last step of a request on this CPU; the next step takes it over.
    pub(super) lost: Lost,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            frames: [NO_FRAME; NEST_MAX],
            depth: 0,
            spin: None,
            held: 0,
            last_lock: NONE,
            busy: Fading::default(),
            spinning: Fading::default(),
            lost: Lost::NOTHING,
        }
    }
}

impl Cpu {
    /// What it does now: the innermost context.
    pub fn frame(&self) -> Option<&Frame> {
        self.depth.checked_sub(1).map(|top| &self.frames[top as usize])
    }

    /// All nested contexts, outermost first.
    pub fn frames(&self) -> &[Frame] {
        &self.frames[..self.depth as usize]
    }

    pub(super) fn begin(&mut self, context: Context, task: TaskId, at_ns: u64) {
        if (self.depth as usize) < NEST_MAX {
            self.frames[self.depth as usize] = Frame { context, task, since_ns: at_ns, spun_ns: 0 };
            self.depth += 1;
        }
    }

    /// Ends the innermost frame of this context and all above it; true if there was one.
    pub(super) fn end(&mut self, context: Context, at_ns: u64, half_ns: u64) {
        let Some(level) = self.frames().iter().rposition(|f| f.context == context) else { return };
        if level == 0 {
            let since = self.frames[0].since_ns;
            self.busy.add(at_ns, at_ns.saturating_sub(since) as f32, half_ns);
        }
        self.depth = level as u8;
    }

    /// It has spun for a lock for so long, until `at_ns`.
    pub(super) fn spun(&mut self, at_ns: u64, ns: u64, half_ns: u64) {
        self.spinning.add(at_ns, ns as f32, half_ns);
        if let Some(top) = self.depth.checked_sub(1) {
            self.frames[top as usize].spun_ns += ns;
        }
    }

    /// Share of time it spun of late, 0 to 1: part of [`Cpu::load`].
    pub fn spin_load(&self, now_ns: u64, half_ns: u64) -> f32 {
        let now = self.spin.map_or(0, |s| now_ns.saturating_sub(s.since_ns)) as f32 / half_ns.max(1) as f32;
        (self.spinning.rate(now_ns, half_ns) + 1.0 - (-now).exp2()).clamp(0.0, self.load(now_ns, half_ns))
    }

    /// Share of time it was busy of late, 0 to 1, what is going on now included.
    pub fn load(&self, now_ns: u64, half_ns: u64) -> f32 {
        let past = self.busy.rate(now_ns, half_ns);
        let since = self.frames().first().map_or(now_ns, |f| f.since_ns);
        let running = now_ns.saturating_sub(since) as f32 / half_ns.max(1) as f32;
        (past + 1.0 - (-running).exp2()).clamp(0.0, 1.0)
    }
}

/// A task that submits I/O.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Where it runs or ran last.
    pub cpu: CpuId,
    /// Why it sleeps and since when, ns.
    pub sleep: Option<(Sleep, u64)>,
    /// In a system call that hands over so many I/Os.
    pub syscall: Option<u32>,
    /// Bios it has under way.
    pub in_flight: u32,
    /// Bios it took note of.
    pub completed: u64,
    /// Last flush of its plug: when, how many, explicit.
    pub unplug: Option<(u64, u32, bool)>,
}

impl Task {
    pub(super) fn new(cpu: CpuId) -> Self {
        Self { cpu, sleep: None, syscall: None, in_flight: 0, completed: 0, unplug: None }
    }
}

/// A lock or shared line.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Who holds the lock and since when, ns.
    pub holder: Option<(CpuId, u64)>,
    waiters: [CpuId; WAITERS_MAX],
    /// Entries of `waiters`; who came when it was full is only counted.
    listed: u8,
    waiting: u16,
    /// The CPU that wrote it last, [`NONE16`] at first.
    pub owner: CpuId,
    /// Its last move from another CPU.
    pub transfer: Option<Transfer>,
    /// Time lost on it of late: spinning, and waiting for its line.
    pub heat: Fading,
    /// Acquisitions of a lock. Of a line the log has only those accesses for which it had to be fetched.
    pub count: u64,
    /// Those that had to wait: that spun for a lock which was held, or found a line in use by an earlier access. The same
    /// as in [`mqscope_core::report::ObjectReport::contended`].
    pub contended: u64,
    /// Transfers from another CPU, as [`mqscope_core::report::ObjectReport::transfers`].
    pub transfers: u64,
    /// Time lost in all, ns.
    pub lost_ns: u64,
}

impl Default for Object {
    fn default() -> Self {
        Self {
            holder: None,
            waiters: [NONE16; WAITERS_MAX],
            listed: 0,
            waiting: 0,
            owner: NONE16,
            transfer: None,
            heat: Fading::default(),
            count: 0,
            contended: 0,
            transfers: 0,
            lost_ns: 0,
        }
    }
}

impl Object {
    /// CPUs that spin, first come first; at most [`WAITERS_MAX`] of [`Object::waiting`].
    pub fn waiters(&self) -> &[CpuId] {
        &self.waiters[..self.listed as usize]
    }

    /// How many CPUs spin.
    pub fn waiting(&self) -> u16 {
        self.waiting
    }

    pub(super) fn wait(&mut self, cpu: CpuId) {
        if let Some(place) = self.waiters.get_mut(self.listed as usize) {
            *place = cpu;
            self.listed += 1;
        }
        self.waiting = self.waiting.saturating_add(1);
    }

    pub(super) fn stop_waiting(&mut self, cpu: CpuId) {
        if self.waiting == 0 {
            return;
        }
        if let Some(at) = self.waiters().iter().position(|&w| w == cpu) {
            self.waiters.copy_within(at + 1.., at);
            self.listed -= 1;
        }
        self.waiting -= 1;
    }

    /// Mean number of CPUs that this object kept from working, of late.
    pub fn hot(&self, now_ns: u64, half_ns: u64) -> f32 {
        self.heat.rate(now_ns, half_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_load_reads_as_its_share_of_time() {
        let (mut fading, half) = (Fading::default(), 100_000);
        for i in 1..=2_000u64 {
            fading.add(i * 1_000, 250.0, half);
        }
        let rate = fading.rate(2_000_000, half);
        assert!((rate - 0.25).abs() < 0.01, "250 ns of every 1000 read as {rate}");
        assert!((fading.rate(2_100_000, half) - rate / 2.0).abs() < 0.005);
    }

    #[test]
    fn an_interrupt_nests_in_a_task_and_leaves_it_running() {
        let mut cpu = Cpu::default();
        cpu.begin(Context::Task, 3, 10);
        cpu.begin(Context::HardIrq, NONE16, 20);
        assert_eq!(cpu.frame().map(|f| f.context), Some(Context::HardIrq));
        cpu.end(Context::HardIrq, 30, 100);
        assert_eq!(cpu.frame().map(|f| (f.context, f.task, f.since_ns)), Some((Context::Task, 3, 10)));
        cpu.end(Context::Task, 40, 100);
        assert!(cpu.frame().is_none());
    }

    #[test]
    fn waiters_leave_in_any_order_and_more_than_fit_are_counted() {
        let mut lock = Object::default();
        for cpu in 0..20 {
            lock.wait(cpu);
        }
        assert_eq!((lock.waiting(), lock.waiters().len()), (20, WAITERS_MAX));
        lock.stop_waiting(0);
        assert_eq!((lock.waiting(), lock.waiters()[0]), (19, 1));
        for cpu in 1..20 {
            lock.stop_waiting(cpu);
        }
        assert_eq!((lock.waiting(), lock.waiters().len()), (0, 0));
    }
}
