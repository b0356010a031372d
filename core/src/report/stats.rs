//! Counters kept while the simulation runs. They cost a few additions an event and nothing else.

use super::course::Course;
use super::iostat::{Iostat, Rules};
use crate::block::{Io, Request};
use hdrhistogram::Histogram;
use std::hash::{Hash, Hasher};

/// Buckets of the time series.
pub(crate) const BUCKETS: usize = 200;
/// Longest latency kept, ns; longer ones count as this.
const LATENCY_MAX_NS: u64 = 100_000_000_000;

/// A latency histogram with two significant digits, and its exact sum, smallest and largest value.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    pub histogram: Histogram<u32>,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

impl Latencies {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 2)
            .unwrap_or_else(|e| unreachable!("the bounds of the histogram are constants: {e}"));
        Self { histogram, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
        self.sum_ns += ns;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// What the application saw.
#[derive(Clone, Debug)]
pub(crate) struct JobStats {
    pub ios: u64,
    pub reads: u64,
    pub bytes: u64,
    /// I/Os that waited for the lock of their file, and how long in all.
    pub file_lock_waits: u64,
    pub file_lock_wait_ns: u64,
    /// `fsync` calls that returned, and how long they took in all.
    pub fsyncs: u64,
    pub fsync_ns: u64,
    pub slat: Latencies,
    pub clat: Latencies,
    pub lat: Latencies,
}

/// A number of things over time: its integral, maximum and the time it was not zero.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Level {
    pub now: u32,
    pub max: u32,
    last_ns: u64,
    pub area: u64,
    pub busy_ns: u64,
}

impl Level {
    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns - self.last_ns;
        self.area += passed * u64::from(self.now);
        self.busy_ns += if self.now > 0 { passed } else { 0 };
        self.last_ns = now_ns;
    }

    fn add(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    fn remove(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.now -= 1;
    }

    fn restart(&mut self, now_ns: u64) {
        self.advance(now_ns);
        (self.area, self.busy_ns, self.max) = (0, 0, self.now);
    }

    /// A copy brought up to `now_ns`.
    pub(crate) fn at(&self, now_ns: u64) -> Self {
        let mut level = self.clone();
        level.advance(now_ns);
        level
    }
}

/// What the block layer saw of one queue.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct QueueStats {
    /// Requests between G and C, and between D and C. Flushes are in none of these numbers but their own.
    pub allocated: Level,
    pub in_flight: Level,
    /// What diskstats would count.
    pub iostat: Iostat,
    pub requests: u64,
    pub sectors: u64,
    pub merges: u64,
    pub q2g_ns: u64,
    pub g2i_ns: u64,
    pub i2d_ns: u64,
    pub d2c_ns: u64,
    pub q2c_ns: u64,
    pub direct_issued: u64,
    pub inserted: u64,
    pub requeued: u64,
    pub foreign_dispatched: u64,
    pub runs: u64,
    pub empty_runs: u64,
    pub tag_waits: u64,
    /// Bios that wbt let wait.
    pub wbt_waits: u64,
    /// Flush requests completed.
    pub flushes: u64,
    /// Calls that armed a delayed run of all hctxs.
    pub delayed_runs: u64,
    /// Runs of hctxs that were armed with a delay, and those among them that were queued at once before.
    pub works_delayed: u64,
    pub works_put_off: u64,
}

/// What the page cache did.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct CacheStats {
    /// Bytes of buffered writes.
    pub written_bytes: u64,
    /// Pages that became dirty, and that were written to a disk.
    pub dirtied: u64,
    pub written_back: u64,
    /// Times that a writer slept because too much was dirty, and how long in all.
    pub throttles: u64,
    pub throttled_ns: u64,
    /// Buffered reads that found all in memory, and others.
    pub hits: u64,
    pub misses: u64,
    /// Chunks that flushers and tasks began to write.
    pub chunks: u64,
    /// Calls of posix_fadvise that wrote nothing as the disk was congested.
    pub skipped: u64,
    /// Most bytes that were dirty or under writeback.
    pub dirty_max: u64,
}

/// All counters.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    pub measured_from_ns: u64,
    /// How diskstats would count.
    pub iostat_rules: Rules,
    /// Last completion or reaping.
    pub last_ns: u64,
    pub jobs: Vec<JobStats>,
    pub queues: Vec<QueueStats>,
    pub cache: CacheStats,
    /// Bytes dirty or under writeback at the end of each bucket that has begun, and now.
    pub dirty: Vec<u64>,
    pub dirty_now: u64,
    pub bucket_ns: u64,
    pub ios: Vec<u32>,
    pub bytes: Vec<u64>,
    pub lat_sum_ns: Vec<u64>,
    pub course: Course,
}

impl Stats {
    pub(crate) fn new(jobs: usize, queues: usize, duration_ns: u64, iostat_rules: Rules) -> Self {
        let job = JobStats {
            ios: 0,
            reads: 0,
            bytes: 0,
            file_lock_waits: 0,
            file_lock_wait_ns: 0,
            fsyncs: 0,
            fsync_ns: 0,
            slat: Latencies::new(),
            clat: Latencies::new(),
            lat: Latencies::new(),
        };
        let bucket_ns = duration_ns.div_ceil(BUCKETS as u64).max(1);
        Self {
            measured_from_ns: 0,
            iostat_rules,
            last_ns: 0,
            jobs: vec![job; jobs],
            queues: vec![QueueStats::default(); queues],
            cache: CacheStats::default(),
            dirty: Vec::new(),
            dirty_now: 0,
            bucket_ns,
            ios: vec![0; BUCKETS],
            bytes: vec![0; BUCKETS],
            lat_sum_ns: vec![0; BUCKETS],
            course: Course::new(bucket_ns),
        }
    }

    /// Forgets what was counted so far; levels go on.
    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        let fresh = Self::new(self.jobs.len(), 0, 1, self.iostat_rules);
        self.measured_from_ns = now_ns;
        self.jobs = fresh.jobs;
        self.cache = CacheStats { dirty_max: self.dirty_now, ..CacheStats::default() };
        for q in &mut self.queues {
            q.allocated.restart(now_ns);
            q.in_flight.restart(now_ns);
            q.iostat.restart();
            let (allocated, in_flight) = (std::mem::take(&mut q.allocated), std::mem::take(&mut q.in_flight));
            let iostat = std::mem::take(&mut q.iostat);
            *q = QueueStats { allocated, in_flight, iostat, ..QueueStats::default() };
        }
    }

    /// So many bytes are dirty and under writeback from now on.
    pub(crate) fn dirty_level(&mut self, now_ns: u64, dirty: u64, writeback: u64) {
        let bucket = ((now_ns / self.bucket_ns) as usize).min(BUCKETS - 1);
        while self.dirty.len() <= bucket {
            self.dirty.push(self.dirty_now);
        }
        self.dirty_now = dirty + writeback;
        self.dirty[bucket] = self.dirty_now;
        self.cache.dirty_max = self.cache.dirty_max.max(self.dirty_now);
    }

    /// Bytes dirty or under writeback at the end of each bucket up to `now_ns`; nothing if there never were any.
    pub(crate) fn dirty_series(&self, now_ns: u64) -> Vec<u64> {
        let mut series = self.dirty.clone();
        if !series.is_empty() {
            let bucket = ((now_ns / self.bucket_ns) as usize).min(BUCKETS - 1);
            series.resize(series.len().max(bucket + 1), self.dirty_now);
        }
        series
    }

    pub(crate) fn got_request(&mut self, queue: u16, now_ns: u64) {
        let q = &mut self.queues[queue as usize];
        q.iostat.start(self.iostat_rules, now_ns, q.allocated.now);
        q.allocated.add(now_ns);
    }

    /// A request that existed since `gone_ns` became part of one that existed since `kept_ns`. As in iostat its own time
    /// does not count; that of the other begins with the earlier of the two.
    pub(crate) fn merged_away(&mut self, queue: u16, now_ns: u64, kept_ns: u64, gone_ns: u64) {
        let from_ns = self.measured_from_ns;
        let in_window = |ns: u64| ns.max(from_ns).min(now_ns);
        let q = &mut self.queues[queue as usize];
        q.merges += 1;
        q.allocated.remove(now_ns);
        q.allocated.area -= now_ns - in_window(gone_ns);
        q.allocated.area += in_window(kept_ns) - in_window(gone_ns.min(kept_ns));
    }

    pub(crate) fn issued(&mut self, queue: u16, now_ns: u64) {
        self.queues[queue as usize].in_flight.add(now_ns);
        self.course.flight(now_ns, 1);
    }

    /// The device refused a command that was issued.
    pub(crate) fn took_back(&mut self, queue: u16, now_ns: u64) {
        self.queues[queue as usize].in_flight.remove(now_ns);
        self.course.flight(now_ns, -1);
    }

    /// The driver put a request back after its D.
    pub(crate) fn put_back(&mut self, queue: u16, now_ns: u64) {
        let q = &mut self.queues[queue as usize];
        q.in_flight.remove(now_ns);
        q.requeued += 1;
        self.course.flight(now_ns, -1);
    }

    pub(crate) fn completed(&mut self, r: &Request, now_ns: u64) {
        self.last_ns = now_ns;
        let q = &mut self.queues[r.queue as usize];
        q.iostat.end(self.iostat_rules, now_ns, q.allocated.now, now_ns - r.g_ns);
        q.allocated.remove(now_ns);
        q.in_flight.remove(now_ns);
        q.requests += 1;
        q.sectors += u64::from(r.sectors);
        q.q2g_ns += r.g_ns - r.q_ns;
        let inserted = if r.i_ns > 0 { r.i_ns } else { r.g_ns };
        q.g2i_ns += inserted - r.g_ns;
        // One that was put back may have been inserted after its first D.
        q.i2d_ns += (r.d_ns - inserted).saturating_sub(r.refused_ns);
        q.d2c_ns += now_ns - r.d_ns + r.refused_ns;
        q.q2c_ns += now_ns - r.q_ns;
        q.direct_issued += u64::from(r.i_ns == 0);
        q.inserted += u64::from(r.i_ns > 0);
        self.course.flight(now_ns, -1);
    }

    /// An `fsync` that was called at `called_ns` returned.
    pub(crate) fn synced(&mut self, job: u16, now_ns: u64, called_ns: u64) {
        self.last_ns = now_ns;
        let j = &mut self.jobs[job as usize];
        j.fsyncs += 1;
        j.fsync_ns += now_ns - called_ns;
    }

    /// The application took note of a finished I/O. As in fio, a synchronous engine has no submission latency: its completion
    /// latency begins with the call.
    pub(crate) fn reaped(&mut self, job: u16, io: &Io, now_ns: u64, synchronous: bool) {
        self.last_ns = now_ns;
        let j = &mut self.jobs[job as usize];
        let bytes = u64::from(io.sectors) * 512;
        j.ios += 1;
        j.reads += u64::from(!io.op.is_write());
        j.bytes += bytes;
        let handed_over =
            if synchronous { io.start_ns } else { io.issued_ns.min(io.done_ns.max(io.start_ns)) };
        if !synchronous {
            j.slat.record(handed_over - io.start_ns);
        }
        j.clat.record(now_ns - handed_over);
        j.lat.record(now_ns - io.start_ns);
        let bucket = ((now_ns / self.bucket_ns) as usize).min(BUCKETS - 1);
        self.ios[bucket] += 1;
        self.bytes[bucket] += bytes;
        self.lat_sum_ns[bucket] += now_ns - io.start_ns;
        self.course.reaped(bucket, now_ns - io.start_ns);
    }
}

impl Hash for Stats {
    /// The histograms stand in by their exact sums and counts; what was when follows from the rest.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.measured_from_ns, self.last_ns, self.iostat_rules).hash(state);
        for j in &self.jobs {
            (j.file_lock_waits, j.file_lock_wait_ns).hash(state);
            (j.fsyncs, j.fsync_ns).hash(state);
            (j.ios, j.reads, j.bytes, j.slat.sum_ns, j.clat.sum_ns, j.lat.sum_ns).hash(state);
        }
        self.queues.hash(state);
        (&self.cache, &self.dirty, self.dirty_now).hash(state);
        (&self.ios, &self.bytes, &self.lat_sum_ns).hash(state);
    }
}
