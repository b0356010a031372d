//! Hardware contexts, queues and rates, as far as a picture needs them.

use super::request::NONE16;
use mqscope_core::event::CpuId;

/// CPUs inside one hctx's dispatch that are kept by name.
pub const RUNNERS_MAX: usize = 8;
/// Buckets of the sliding window over which rates are given.
pub const BUCKETS: usize = 32;

/// A hardware context.
#[derive(Clone, Debug)]
pub struct Hctx {
    runners: [CpuId; RUNNERS_MAX],
    /// Entries of `runners`; who came when it was full is only counted.
    listed: u8,
    running: u16,
    /// Tag bitmap, 64 tags a word.
    pub tags: Vec<u64>,
    /// Tags in use.
    pub tags_in_use: u32,
    /// `dispatch_busy`.
    pub dispatch_busy: u8,
    /// Last doorbell: when, commands.
    pub doorbell: Option<(u64, u32)>,
    /// Last asynchronous run asked for: when due, on which CPU.
    pub scheduled: Option<(u64, CpuId)>,
    /// Runs so far.
    pub runs: u64,
    /// Runs that sent nothing.
    pub empty_runs: u64,
}

impl Hctx {
    pub(super) fn new(nr_tags: u32) -> Self {
        Self {
            runners: [NONE16; RUNNERS_MAX],
            listed: 0,
            running: 0,
            tags: vec![0; (nr_tags as usize).div_ceil(64)],
            tags_in_use: 0,
            dispatch_busy: 0,
            doorbell: None,
            scheduled: None,
            runs: 0,
            empty_runs: 0,
        }
    }

    /// CPUs inside its dispatch, at most [`RUNNERS_MAX`] of [`Hctx::running`].
    pub fn runners(&self) -> &[CpuId] {
        &self.runners[..self.listed as usize]
    }

    /// How many CPUs are inside its dispatch.
    pub fn running(&self) -> u16 {
        self.running
    }

    pub(super) fn run_begin(&mut self, cpu: CpuId) {
        if let Some(place) = self.runners.get_mut(self.listed as usize) {
            *place = cpu;
            self.listed += 1;
        }
        self.running = self.running.saturating_add(1);
        if self.scheduled.is_some_and(|(_, target)| target == cpu) {
            self.scheduled = None;
        }
    }

    pub(super) fn run_end(&mut self, cpu: CpuId, sent: u32) {
        if self.running == 0 {
            return;
        }
        if let Some(at) = self.runners().iter().position(|&c| c == cpu) {
            self.runners.copy_within(at + 1.., at);
            self.listed -= 1;
        }
        self.running -= 1;
        self.runs += 1;
        self.empty_runs += u64::from(sent == 0);
    }

    pub(super) fn set_tag(&mut self, tag: u32, used: bool) {
        let (word, bit) = (tag as usize / 64, 1u64 << (tag % 64));
        let Some(word) = self.tags.get_mut(word) else { return };
        if (*word & bit != 0) != used {
            *word ^= bit;
            if used {
                self.tags_in_use += 1;
            } else {
                self.tags_in_use -= 1;
            }
        }
    }

    /// Whether a tag is in use.
    pub fn tag_used(&self, tag: u32) -> bool {
        self.tags.get(tag as usize / 64).is_some_and(|w| w & (1 << (tag % 64)) != 0)
    }
}

/// A queue's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Requests given to the driver.
    pub issued: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests refused.
    pub requeued: u64,
    /// Bios merged.
    pub merged: u64,
    /// Sched tags in use over all hctxs; on the legacy path requests of the pool.
    pub sched_tags: u32,
    /// Requests given to the driver by another CPU than the submitting one.
    pub foreign: u64,
}

/// What happened in one bucket of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bucket {
    /// Bios of which the application took note.
    pub ios: u32,
    /// Bytes of completed requests.
    pub bytes: u64,
    /// Sum of the latencies of `ios`, ns.
    pub lat_ns: u64,
    /// Time CPUs spun for locks, ns.
    pub spin_ns: u64,
    /// Time CPUs waited for lines, ns.
    pub line_ns: u64,
    /// Requests refused by the driver.
    pub requeued: u32,
}

/// Rates over the sliding window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Length of time they were taken over, ns.
    pub window_ns: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency of an I/O, ns; 0 if none ended.
    pub lat_ns: f64,
    /// CPUs kept busy by spinning.
    pub spin_cpus: f64,
    /// CPUs kept busy by waiting for lines.
    pub line_cpus: f64,
    /// Requests refused per second.
    pub requeues_per_s: f64,
}

/// A ring of [`BUCKETS`] buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    bucket_ns: u64,
    current: u64,
    filled: u64,
    buckets: [Bucket; BUCKETS],
}

impl Window {
    pub(super) fn new(window_ns: u64) -> Self {
        let bucket_ns = (window_ns / BUCKETS as u64).max(1);
        Self { bucket_ns, current: 0, filled: 1, buckets: [Bucket::default(); BUCKETS] }
    }

    /// The bucket of `at_ns`; buckets that time skipped are emptied.
    pub(super) fn at(&mut self, at_ns: u64) -> &mut Bucket {
        let index = at_ns / self.bucket_ns;
        if index > self.current {
            let skipped = (index - self.current).min(BUCKETS as u64);
            for i in 0..skipped {
                self.buckets[((index - i) % BUCKETS as u64) as usize] = Bucket::default();
            }
            self.filled = (self.filled + index - self.current).min(BUCKETS as u64);
            self.current = index;
        }
        &mut self.buckets[(self.current % BUCKETS as u64) as usize]
    }

    /// Rates at `now_ns`, the running bucket counted up to now.
    pub(super) fn rates(&self, now_ns: u64) -> Rates {
        let mut window = *self;
        window.at(now_ns);
        let whole = (window.filled - 1) * window.bucket_ns;
        let window_ns = whole + now_ns.saturating_sub(window.current * window.bucket_ns);
        if window_ns == 0 {
            return Rates::default();
        }
        let sum = |f: fn(&Bucket) -> u64| window.buckets.iter().map(f).sum::<u64>() as f64;
        let (ios, per_ns) = (sum(|b| b.ios.into()), 1.0 / window_ns as f64);
        Rates {
            window_ns,
            iops: ios * per_ns * 1e9,
            bytes_per_s: sum(|b| b.bytes) * per_ns * 1e9,
            lat_ns: if ios > 0.0 { sum(|b| b.lat_ns) / ios } else { 0.0 },
            spin_cpus: sum(|b| b.spin_ns) * per_ns,
            line_cpus: sum(|b| b.line_ns) * per_ns,
            requeues_per_s: sum(|b| b.requeued.into()) * per_ns * 1e9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_forgets_what_is_older_than_itself() {
        let mut window = Window::new(32_000);
        for t in 0..100u64 {
            window.at(t * 500).ios += 1;
        }
        let rates = window.rates(50_000);
        assert!((rates.iops - 2e6).abs() < 0.1e6, "one each 500 ns read as {}", rates.iops);
        assert_eq!(window.rates(200_000).iops, 0.0);
    }

    #[test]
    fn a_tag_bit_counts_once_however_often_it_is_set() {
        let mut hctx = Hctx::new(70);
        hctx.set_tag(69, true);
        hctx.set_tag(69, true);
        hctx.set_tag(500, true);
        assert_eq!((hctx.tags_in_use, hctx.tag_used(69), hctx.tag_used(68)), (1, true, false));
        hctx.set_tag(69, false);
        hctx.set_tag(69, false);
        assert_eq!(hctx.tags_in_use, 0);
    }
}
