//! What each CPU spends its time on: shares of equal slices over the last window.
//!
//! The log says when a context begins, not when the time that its last step owes has passed; the simulation's own
//! accounts do, and they are those of the report. They are read at the end of each slice. A slice that is over is kept
//! as five bytes, so that a checkpoint of many CPUs stays small.

use mqscope_core::Sim;
use mqscope_core::event::CpuId;
use mqscope_core::host::CpuTime;

/// Slices of the window.
pub const SLICES: usize = 60;

/// What a CPU is at when it is not idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// A task outside of the kernel.
    User,
    /// A task in a system call, a kernel thread, a kworker; switching between them.
    System,
    /// A softirq.
    SoftIrq,
    /// A hard interrupt.
    HardIrq,
    /// Spinning for a lock, in any context.
    Spin,
}

impl Mode {
    /// All of them, in the order in which they are stacked from below.
    pub const ALL: [Mode; MODES] = [Mode::User, Mode::System, Mode::SoftIrq, Mode::HardIrq, Mode::Spin];

    /// In words.
    pub fn word(self) -> &'static str {
        ["user", "system", "softirq", "hard interrupt", "spinning"][self as usize]
    }
}

const MODES: usize = 5;

/// Shares of time by mode, 0 to 1; the rest is idle.
pub type Shares = [f32; MODES];

/// One CPU over the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Which.
    pub cpu: CpuId,
    /// Slices, oldest first; the last one as far as it has passed.
    pub slices: Vec<Shares>,
    /// Mean over the window, or over the run so far where that is shorter.
    pub mean: Shares,
}

/// What a CPU's accounts said last.
#[derive(Clone, Debug, Default)]
struct Track {
    /// Its accounts at the end of the last slice.
    last: Accounts,
    /// Part of them that had no room in the slices so far: a CPU that changes its account (returns to user mode, say)
    /// still owes time that is booked on the one before, and that passes in the next slice.
    left_ns: [i64; MODES],
}

/// Slices of a CPU that are over, by number modulo [`SLICES`], in 255ths.
type Closed = [[u8; MODES]; SLICES];

/// The accounts of a CPU in the order of [`Mode::ALL`], ns, and since when they are kept.
#[derive(Clone, Copy, Debug, Default)]
struct Accounts {
    from_ns: u64,
    spent_ns: [u64; MODES],
}

/// All CPUs of a run up to its playhead.
#[derive(Clone, Debug)]
pub(super) struct Strips {
    slice_ns: u64,
    /// Number of the slice under way, counted from the start of the run.
    slice: u64,
    tracks: Vec<(Track, Closed)>,
}

fn accounts(sim: &Sim, cpu: CpuId, at_ns: u64) -> Accounts {
    let CpuTime { from_ns, user_ns, system_ns, irq_ns, softirq_ns, spin_ns } = sim.cpu_time_at(cpu, at_ns);
    Accounts { from_ns, spent_ns: [user_ns, system_ns, softirq_ns, irq_ns, spin_ns] }
}

fn share(part: u8) -> f32 {
    f32::from(part) / 255.0
}

impl Track {
    /// As [`Track::take`] for a slice that ends at `end_ns`. Of one in which the ramp ended only the part since is known.
    fn close(&mut self, now: Accounts, end_ns: u64, slice_ns: u64) -> [u8; MODES] {
        let known_ns = end_ns.saturating_sub(now.from_ns);
        self.take(now, slice_ns.min(known_ns).max(1))
    }

    /// What passed in a slice of `slice_ns` that ends with these accounts, in 255ths by mode; what does not make a 255th,
    /// or has no room, stays for the next slice, so that nothing is lost.
    fn take(&mut self, now: Accounts, slice_ns: u64) -> [u8; MODES] {
        // At the end of the ramp accounts begin at nothing again.
        let same = now.from_ns == self.last.from_ns;
        for (mode, left) in self.left_ns.iter_mut().enumerate() {
            let before = if same { self.last.spent_ns[mode] } else { 0 };
            *left += now.spent_ns[mode] as i64 - before as i64;
        }
        self.last = now;
        let due = self.left_ns.map(|ns| ns.max(0) as u64);
        let whole = due.iter().sum::<u64>().max(slice_ns).max(1);
        // Saturated after two years.
        let parts = due.map(|ns| (ns.saturating_mul(255) / whole) as u8);
        for (left, part) in self.left_ns.iter_mut().zip(parts) {
            *left -= (u64::from(part) * slice_ns / 255) as i64;
        }
        parts
    }
}

impl Strips {
    pub(super) fn new(cpus: usize, window_ns: u64) -> Self {
        let track = (Track::default(), [[0; MODES]; SLICES]);
        Self { slice_ns: (window_ns / SLICES as u64).max(1), slice: 0, tracks: vec![track; cpus] }
    }

    /// Closes the slices that end up to `until_ns`, which lies between the simulation's present and its next event.
    pub(super) fn close(&mut self, sim: &Sim, until_ns: u64) {
        while (self.slice + 1) * self.slice_ns <= until_ns {
            let end = (self.slice + 1) * self.slice_ns;
            let place = (self.slice % SLICES as u64) as usize;
            for (cpu, (track, closed)) in (0..).zip(&mut self.tracks) {
                closed[place] = track.close(accounts(sim, cpu, end), end, self.slice_ns);
            }
            self.slice += 1;
        }
    }

    /// The strips at `now_ns`.
    pub(super) fn at(&self, sim: &Sim, now_ns: u64) -> Vec<Strip> {
        let begun_ns = now_ns.saturating_sub(self.slice * self.slice_ns).min(self.slice_ns);
        let kept = self.slice.min(SLICES as u64 - 1) as usize;
        // The last slice counts for as much of it as has passed.
        let last = begun_ns as f32 / self.slice_ns as f32;
        let whole = (kept as f32 + last).max(f32::MIN_POSITIVE);
        let strip = |(cpu, (track, closed)): (CpuId, &(Track, Closed))| {
            let mut slices = vec![Shares::default(); SLICES];
            for back in 1..=kept {
                let place = ((self.slice - back as u64) % SLICES as u64) as usize;
                slices[SLICES - 1 - back] = closed[place].map(share);
            }
            let open = track.clone().take(accounts(sim, cpu, now_ns), begun_ns);
            slices[SLICES - 1] = open.map(share);
            let mean = std::array::from_fn(|mode| {
                let over: f32 = slices[..SLICES - 1].iter().map(|s| s[mode]).sum();
                (over + slices[SLICES - 1][mode] * last) / whole
            });
            Strip { cpu, slices, mean }
        };
        (0..).zip(&self.tracks).map(strip).collect()
    }

    /// Length of a strip, ns.
    pub(super) fn window_ns(&self) -> u64 {
        self.slice_ns * SLICES as u64
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.tracks.len() * size_of::<(Track, Closed)>()
    }
}

/// Equal slices of a fixed part of the run, all of them kept: what [`Strips`] is for the last window.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Where the first begins, ns.
    pub(super) from_ns: u64,
    /// Length of one, ns.
    pub(super) slice_ns: u64,
    count: usize,
    tracks: Vec<Track>,
    /// Those that are over, each with all CPUs, in 255ths.
    closed: Vec<[u8; MODES]>,
}

impl Columns {
    /// `count` slices that begin at `from_ns`, where the simulation stands.
    pub(super) fn new(sim: &Sim, from_ns: u64, slice_ns: u64, count: usize) -> Self {
        let mut new =
            Self { from_ns, slice_ns: slice_ns.max(1), count, tracks: Vec::new(), closed: Vec::new() };
        new.begin(sim, from_ns);
        new
    }

    fn begin(&mut self, sim: &Sim, at_ns: u64) {
        let track = |cpu| Track { last: accounts(sim, cpu, at_ns), ..Track::default() };
        self.tracks = (0..sim.topology().cpus.len() as CpuId).map(track).collect();
    }

    /// How many are over.
    pub(super) fn done(&self) -> usize {
        self.closed.len() / self.tracks.len().max(1)
    }

    /// As [`Strips::close`].
    pub(super) fn close(&mut self, sim: &Sim, until_ns: u64) {
        let mut end = self.from_ns + (self.done() as u64 + 1) * self.slice_ns;
        while end <= until_ns && self.done() < self.count {
            for (cpu, track) in (0..).zip(&mut self.tracks) {
                self.closed.push(track.close(accounts(sim, cpu, end), end, self.slice_ns));
            }
            end += self.slice_ns;
        }
    }

    /// Forgets the slices that are not over at `ns`, where the simulation stands.
    pub(super) fn forget_after(&mut self, sim: &Sim, ns: u64) {
        let keep = (ns.saturating_sub(self.from_ns) / self.slice_ns) as usize;
        if keep < self.done() {
            self.closed.truncate(keep * self.tracks.len());
            self.begin(sim, ns);
        }
    }

    /// The slices of this range of numbers; those that are not over are empty.
    pub(super) fn strips(&self, range: std::ops::Range<usize>) -> Vec<Strip> {
        let (cpus, over) = (self.tracks.len(), range.end.min(self.done()).saturating_sub(range.start).max(1));
        let strip = |cpu: usize| {
            let slices: Vec<Shares> = range
                .clone()
                .map(|n| self.closed.get(n * cpus + cpu).map_or(Shares::default(), |parts| parts.map(share)))
                .collect();
            let mean = std::array::from_fn(|mode| slices.iter().map(|s| s[mode]).sum::<f32>() / over as f32);
            Strip { cpu: cpu as CpuId, slices, mean }
        };
        (0..cpus).map(strip).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::player::{Player, SLICES};
    use mqscope_core::cases::cases;

    #[test]
    fn strips_add_up_to_the_time_of_the_report_and_never_to_more_than_all() {
        let mut compared = 0;
        for case in cases() {
            for (label, scenario) in case.sides() {
                let mut p = Player::new(scenario).expect("it can be played");
                p.seek(p.strip_ns() - p.strip_ns() / 100);
                while p.seeking().is_some() {
                    p.tick(0.0);
                }
                let (name, now) = (format!("{} ({label})", case.name), p.now_ns() as f64);
                let strips = p.strips();
                let mut sums = [0.0f64; 5];
                for strip in &strips {
                    for slice in &strip.slices {
                        let all: f32 = slice.iter().sum();
                        assert!(all <= 1.0001, "{name}: CPU {} is {all} busy", strip.cpu);
                    }
                    sums.iter_mut().zip(strip.mean).for_each(|(s, m)| *s += f64::from(m) * now);
                }
                let report = p.report();
                let (ios, cpu) = (report.total.ios as f64, &report.cpu);
                if ios < 100.0 || report.window_ns != report.end_ns {
                    continue; // what is measured begins after the ramp
                }
                compared += 1;
                let said = [cpu.user_ns, cpu.system_ns, cpu.softirq_ns, cpu.irq_ns].map(|ns| ns * ios);
                for (mode, said) in said.into_iter().enumerate() {
                    // What is left for the next slice: a 255th of one, and what a CPU still owes; what one owed when it
                    // began to spin has passed, which the report sees later.
                    let slice = p.strip_ns() as f64 / SLICES as f64;
                    let spin = p.scene().cpus().iter().filter(|c| c.spin.is_some()).count() as f64;
                    let left = strips.len() as f64 * (slice / 255.0 + 1_000.0) + spin * 5_000.0;
                    let near = (sums[mode] - said).abs() < said * 0.01 + left;
                    assert!(
                        near,
                        "{name}: mode {mode} is {} in the strips and {said} in the report",
                        sums[mode]
                    );
                }
                // The report counts a wait when it is over, strips while it lasts.
                let over = cpu.spin_ns * ios;
                assert!(sums[4] > over * 0.98 - now * 5e-3, "{name}: {} spinning of {over}", sums[4]);
            }
        }
        assert!(compared > 10, "{compared}");
    }
}
