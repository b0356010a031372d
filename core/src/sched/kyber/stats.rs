//! Latency statistics and what they do to the depths of the domains.

use super::super::Done;
use super::tokens::{DOMAINS_MAX, Pool, READ, WRITE};
use crate::kernel::KyberStats;
use std::cmp::max;

/// Buckets of a histogram (KYBER_LATENCY_BUCKETS), a quarter of the target wide.
pub(super) const BUCKETS: usize = 8;
/// The first four are within the target (KYBER_GOOD_BUCKETS).
const GOOD_BUCKETS: usize = 4;
/// Samples that make a percentile without waiting.
const SAMPLES_ENOUGH: u32 = 500;
/// With fewer samples a percentile is made this long after the first look at them.
const PERCENTILE_WAIT_NS: u64 = 1_000_000_000;
/// Period of the statistics.
const WINDOW_NS: u64 = 100_000_000;
/// First window of the mean statistics, after a request that took too long.
const ALARM_WINDOW_NS: u64 = 10_000_000;

/// Statistics of one generation. All functions that may arm the timer return its delay in ns.
#[derive(Clone, Debug, Hash)]
pub(super) enum Stats {
    Mean(Mean),
    Percentile(Box<Percentile>),
}

impl Stats {
    pub(super) fn new(kind: KyberStats) -> Self {
        match kind {
            KyberStats::Mean => Self::Mean(Mean::default()),
            KyberStats::Percentile => Self::Percentile(Box::default()),
        }
    }

    /// A request of `domain`, with that target unless it is OTHER, is complete; `armed`: the timer is pending.
    pub(super) fn completed(
        &mut self,
        domain: usize,
        target_ns: Option<u64>,
        armed: bool,
        done: &Done,
    ) -> Option<u64> {
        match self {
            Self::Mean(mean) => mean.completed(domain, target_ns, armed, done),
            Self::Percentile(percentile) => percentile.completed(domain, target_ns?, armed, done),
        }
    }

    /// The timer has expired.
    pub(super) fn timer(&mut self, now_ns: u64, targets_ns: [u64; 2], pools: &mut [Pool]) -> Option<u64> {
        match self {
            Self::Mean(mean) => mean.timer(targets_ns, pools),
            Self::Percentile(percentile) => {
                percentile.timer(now_ns, pools);
                None
            }
        }
    }
}

/// Mean I/O latencies while the timer is pending (`struct blk_stat_callback`).
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Mean {
    /// By domain: samples and their sum in ns.
    pub(super) sums: [(u64, u64); DOMAINS_MAX],
}

/// How a mean compares with its target (`kyber_lat_status`), worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Awful,
    Bad,
    Good,
    Great,
}

impl Status {
    fn is_good(self) -> bool {
        self >= Self::Good
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Awful => "awful",
            Self::Bad => "bad",
            Self::Good => "good",
            Self::Great => "great",
        }
    }
}

impl Mean {
    /// `kyber_completed_request`, then `blk_stat_add`: the request that raises the alarm is the first sample.
    fn completed(&mut self, domain: usize, target_ns: Option<u64>, armed: bool, done: &Done) -> Option<u64> {
        let alarm = !armed && target_ns.is_some_and(|target| done.io_ns > target);
        if armed || alarm {
            let (samples, sum) = &mut self.sums[domain];
            *samples += 1;
            *sum += done.io_ns;
        }
        alarm.then_some(ALARM_WINDOW_NS)
    }

    pub(super) fn status(&self, domain: usize, target_ns: u64) -> Option<Status> {
        let (samples, sum) = self.sums[domain];
        let mean = sum.checked_div(samples)?;
        Some(match mean {
            _ if mean >= target_ns.saturating_mul(2) => Status::Awful,
            _ if mean > target_ns => Status::Bad,
            _ if mean <= target_ns / 2 => Status::Great,
            _ => Status::Good,
        })
    }

    /// `kyber_stat_timer_fn`.
    fn timer(&mut self, targets_ns: [u64; 2], pools: &mut [Pool]) -> Option<u64> {
        let other = pools.len() - 1;
        let read = self.status(READ, targets_ns[READ]);
        let write = self.status(WRITE, targets_ns[WRITE]);
        pools[READ].resize(fair_depth(pools[READ].depth(), read, write));
        pools[WRITE].resize(fair_depth(pools[WRITE].depth(), write, read));
        let sampled = self.sums[other].0 > 0;
        pools[other].resize(other_depth(pools[other].depth(), max(read, write), sampled));
        self.sums = Default::default();
        let bad = [read, write].into_iter().flatten().any(|status| !status.is_good());
        (bad || pools[other].depth() < pools[other].depth_max()).then_some(WINDOW_NS)
    }
}

/// `kyber_adjust_rw_depth`: reads and synchronous writes are to fare alike. The good one gives, the bad one gets.
fn fair_depth(depth: u32, this: Option<Status>, that: Option<Status>) -> u32 {
    use Status::*;
    let Some(this) = this else { return depth };
    match (this, that) {
        (_, None) => depth + 1,
        (_, Some(that)) if this.is_good() == that.is_good() => depth,
        (Good, Some(Awful)) | (Great, Some(Bad)) => depth - max(depth / 4, 1),
        (Good, _) => depth - max(depth / 8, 1),
        (Great, _) => depth / 2,
        (Awful, Some(Great)) => depth + 2,
        (Bad | Awful, _) => depth + 1,
    }
}

/// `kyber_adjust_other_depth`: the rest is throttled only while both fare badly; `best` is the better status.
fn other_depth(depth: u32, best: Option<Status>, sampled: bool) -> u32 {
    match best {
        None => depth + 2,
        Some(_) if !sampled => depth,
        Some(Status::Great) => depth + 2,
        Some(Status::Good) => depth + 1,
        Some(Status::Bad) => depth - max(depth / 4, 1),
        Some(Status::Awful) => depth / 2,
    }
}

/// Latency histograms of one domain, summed over CPUs.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Histograms {
    /// Since the request was made.
    pub(super) total: [u32; BUCKETS],
    /// Since it was issued.
    pub(super) io: [u32; BUCKETS],
    /// When few samples are enough. One for both histograms: a percentile of one starts the other's wait anew.
    timeout_ns: Option<u64>,
    /// p99 of the total latency that has not met congestion yet.
    pub(super) p99: Option<usize>,
}

/// Histograms by domain (`kqd->latency_buckets`); OTHER has none.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Percentile {
    pub(super) domains: [Histograms; DOMAINS_MAX - 1],
}

/// `add_latency_sample`.
fn bucket(latency_ns: u64, target_ns: u64) -> usize {
    let width = max(target_ns / GOOD_BUCKETS as u64, 1);
    (latency_ns.saturating_sub(1) / width).min(BUCKETS as u64 - 1) as usize
}

/// The bucket of this percentile, once there are samples enough; the histogram is then empty (`calculate_percentile`).
fn percentile(
    buckets: &mut [u32; BUCKETS],
    timeout_ns: &mut Option<u64>,
    rank: u32,
    now_ns: u64,
) -> Option<usize> {
    let samples: u32 = buckets.iter().sum();
    if samples == 0 {
        return None;
    }
    let due_ns = *timeout_ns.get_or_insert(now_ns + PERCENTILE_WAIT_NS);
    if samples < SAMPLES_ENOUGH && now_ns < due_ns {
        return None;
    }
    *timeout_ns = None;
    let mut left = (samples * rank).div_ceil(100);
    let mut bucket = 0;
    while bucket < BUCKETS - 1 && buckets[bucket] < left {
        left -= buckets[bucket];
        bucket += 1;
    }
    *buckets = [0; BUCKETS];
    Some(bucket)
}

impl Percentile {
    /// `kyber_completed_request`.
    fn completed(&mut self, domain: usize, target_ns: u64, armed: bool, done: &Done) -> Option<u64> {
        let histograms = &mut self.domains[domain];
        histograms.total[bucket(done.total_ns, target_ns)] += 1;
        histograms.io[bucket(done.io_ns, target_ns)] += 1;
        (!armed).then_some(WINDOW_NS)
    }

    /// `kyber_timer_fn`: a domain that fares badly is throttled less; while the device is congested, those that fare well
    /// are throttled more.
    fn timer(&mut self, now_ns: u64, pools: &mut [Pool]) {
        let mut bad = false;
        for h in &mut self.domains {
            bad |=
                percentile(&mut h.io, &mut h.timeout_ns, 90, now_ns).is_some_and(|p90| p90 >= GOOD_BUCKETS);
        }
        for (h, pool) in self.domains.iter_mut().zip(pools) {
            let fresh = percentile(&mut h.total, &mut h.timeout_ns, 99, now_ns);
            // Domains do not have samples enough in the same window: the last percentile waits for congestion, once.
            let p99 = if bad { fresh.or(h.p99) } else { fresh };
            h.p99 = if bad { None } else { fresh.or(h.p99) };
            if let Some(p99) = p99.filter(|&p99| bad || p99 >= GOOD_BUCKETS) {
                pool.resize(pool.depth() * (p99 as u32 + 1) / GOOD_BUCKETS as u32);
            }
        }
    }
}
