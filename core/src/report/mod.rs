//! Numbers of a run, in the terms of fio, iostat and btt. All of them come from counters kept while the
//! simulation runs; a report never looks into the simulation's private state.

mod build;
mod course;
mod iostat;
mod stats;
pub mod twins;

pub(crate) use build::build;
pub(crate) use iostat::Rules as IostatRules;
pub(crate) use stats::Stats;

use crate::check::Violation;
use serde::{Deserialize, Serialize};

/// Percentiles given for every latency, in percent.
pub const PERCENTILES: [f64; 9] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

/// The whole report. Rates are over the measured window (after the ramp).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Title of the scenario.
    pub title: String,
    /// Kernel row and its overrides, as text.
    pub kernel: String,
    /// Simulated time at the end, ns.
    pub end_ns: u64,
    /// Length of the measured window, ns.
    pub window_ns: u64,
    /// Events taken from the queue.
    pub events: u64,
    /// State hash, 16 hexadecimal digits.
    pub state_hash: String,
    /// All jobs together.
    pub total: JobReport,
    /// Each job section of the workload.
    pub jobs: Vec<JobReport>,
    /// Each queue (disk).
    pub queues: Vec<QueueReport>,
    /// What the page cache did; `None` without buffered I/O.
    pub page_cache: Option<PageCacheReport>,
    /// CPU time by mode.
    pub cpu: CpuReport,
    /// Locks and lines, most time lost first, grouped by class.
    pub objects: Vec<ObjectReport>,
    /// Time series over the whole run.
    pub series: Series,
    /// Invariants that did not hold, the first [`crate::check::VIOLATIONS_MAX`]; none in a run that breaks nothing on
    /// purpose. Without checks (a release build that breaks nothing) nobody looks.
    pub violations: Vec<Violation>,
    /// What a user should know (clamped sizes, unsupported parts).
    pub warnings: Vec<String>,
}

/// Latency statistics, ns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Samples.
    pub count: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Smallest, ns.
    pub min_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
    /// Values at [`PERCENTILES`], ns.
    pub percentiles_ns: Vec<u64>,
}

/// Application's view, as fio reports it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobReport {
    /// Job section.
    pub name: String,
    /// Processes.
    pub processes: u32,
    /// I/Os completed in the window.
    pub ios: u64,
    /// Reads among them.
    pub reads: u64,
    /// Completed I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// I/Os that waited for the lock of their file.
    pub file_lock_waits: u64,
    /// Mean time that an I/O waited for it, over all I/Os, ns.
    pub file_lock_wait_ns: f64,
    /// `fsync` calls that returned in the window.
    pub fsyncs: u64,
    /// Such calls per second.
    pub fsyncs_per_s: f64,
    /// Mean time of a call, ns.
    pub fsync_ns: f64,
    /// Mean time that a client of dbench takes for one execution, ns: the time of all clients over the executions, parts
    /// counting as parts; 0 for other workloads.
    pub loop_ns: f64,
    /// Submission latency: from the start of the system call until the I/O was handed over.
    pub slat: Latency,
    /// Completion latency: from hand-over until the application knew.
    pub clat: Latency,
    /// Whole latency.
    pub lat: Latency,
}

/// Block layer's view, as iostat and btt report it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueueReport {
    /// Disk name.
    pub name: String,
    /// Requests completed per second.
    pub requests_per_s: f64,
    /// Bios merged into requests, per second.
    pub merges_per_s: f64,
    /// Mean size of a completed request, sectors.
    pub mean_sectors: f64,
    /// Mean time from G to C, ns (iostat's await).
    pub await_ns: f64,
    /// Time average of requests between G and C (iostat's aqu-sz).
    pub aqu_sz: f64,
    /// Time average of requests between D and C.
    pub in_flight: f64,
    /// Largest number of requests between D and C.
    pub in_flight_max: u32,
    /// Share of time with at least one request between D and C.
    pub utilisation: f64,
    /// Share of time that iostat would print as %util, by the kernel's way to count io_ticks; compare [`Self::utilisation`].
    pub iostat_util: f64,
    /// aqu-sz as iostat would print it, by the kernel's way to count time_in_queue; compare [`Self::aqu_sz`].
    pub iostat_aqu_sz: f64,
    /// btt phases.
    pub phases: Phases,
    /// Requests that were issued straight by the submitter (no I event).
    pub direct_issued: u64,
    /// Requests that waited in a list.
    pub inserted: u64,
    /// Requests put back by the driver.
    pub requeued: u64,
    /// Requests dispatched by another CPU than the submitting one.
    pub foreign_dispatched: u64,
    /// Runs of hctxs.
    pub runs: u64,
    /// Runs that sent nothing.
    pub empty_runs: u64,
    /// Calls that armed a delayed run of all hctxs (`blk_mq_delay_run_hw_queues`).
    pub delayed_runs: u64,
    /// Works of hctxs armed with a delay by these and other calls; a call arms one for each hctx.
    pub works_delayed: u64,
    /// Works among them that were waiting for a kworker and were taken back: runs that come late by the delay.
    pub works_put_off: u64,
    /// Tag waits; on the legacy path, waits for a request.
    pub tag_waits: u64,
    /// Asynchronous writes and discards that wbt let wait.
    pub wbt_waits: u64,
    /// Flush requests completed; they count in no other number of requests.
    pub flushes: u64,
}

/// The page cache over the window.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PageCacheReport {
    /// Dirty bytes above which flushers work, below which nobody is throttled, and the most there may be.
    pub background_bytes: u64,
    /// Half-way between the other two: below it nobody is throttled (freerun).
    pub free_run_bytes: u64,
    /// Bytes dirty or under writeback that there may be.
    pub limit_bytes: u64,
    /// Bytes dirty or under writeback now.
    pub dirty_bytes: u64,
    /// The most of them.
    pub dirty_max_bytes: u64,
    /// Bytes of buffered writes.
    pub written_bytes: u64,
    /// Bytes written to disks by writeback.
    pub written_back_bytes: u64,
    /// Bytes of buffered writes for each byte that they made dirty: pages written again before they reach the disk make it more
    /// than 1.
    pub kappa: f64,
    /// Times that a writer slept because too much was dirty.
    pub throttles: u64,
    /// How long they slept in all, ns.
    pub throttled_ns: u64,
    /// Buffered reads that found all in memory.
    pub hits: u64,
    /// Buffered reads that had to wait for the disk.
    pub misses: u64,
    /// Chunks that flushers and tasks began to write.
    pub chunks: u64,
    /// Calls of `posix_fadvise` that wrote nothing because the disk was congested.
    pub advice_skipped: u64,
}

/// Mean times between letters, ns, as btt names them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Phases {
    /// Q to G: waiting for a request (tag).
    pub q2g_ns: f64,
    /// G to I: in the plug (0 if never inserted).
    pub g2i_ns: f64,
    /// I to D: in a ctx list, elevator or dispatch list; from G where the request was never inserted.
    pub i2d_ns: f64,
    /// D to C: driver and device.
    pub d2c_ns: f64,
    /// Q to C.
    pub q2c_ns: f64,
}

/// CPU time over the window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CpuReport {
    /// CPUs in the machine.
    pub cpus: u32,
    /// Share of all CPU time, percent, busy in any way.
    pub busy_percent: f64,
    /// User time per I/O, ns.
    pub user_ns: f64,
    /// System time in tasks and kworkers without spinning, per I/O, ns.
    pub system_ns: f64,
    /// Hard interrupt time per I/O, ns.
    pub irq_ns: f64,
    /// Softirq time per I/O, ns.
    pub softirq_ns: f64,
    /// Time spent spinning for locks per I/O, ns.
    pub spin_ns: f64,
    /// Part of the above (not added to it) that is waiting for cache lines, per I/O, ns.
    pub line_ns: f64,
    /// All together per I/O, ns.
    pub total_ns: f64,
    /// Tasks and kworkers that were switched to, per second, all CPUs.
    pub context_switches_per_s: f64,
}

/// One class of locks or lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ObjectReport {
    /// Kernel name without indices.
    pub class: String,
    /// `lock` or `line`.
    pub kind: String,
    /// Members of the class.
    pub members: u32,
    /// Acquisitions or atomic operations, per I/O.
    pub per_io: f64,
    /// Acquisitions or atomic operations.
    pub count: u64,
    /// Share of them that had to wait: that spun for a lock which was held, or found a line in use by an earlier access.
    pub contended: f64,
    /// Mean wait of those that had to wait, ns.
    pub mean_wait_ns: f64,
    /// Transfers of the line from another CPU.
    pub transfers: u64,
    /// Time lost: waiting and transfers, all CPUs, ns.
    pub lost_ns: u64,
}

/// Counters in equal buckets of time over the whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Width of a bucket, ns.
    pub bucket_ns: u64,
    /// Completed I/Os in each bucket.
    pub ios: Vec<u32>,
    /// Completed bytes in each bucket.
    pub bytes: Vec<u64>,
    /// Sum of the latencies of these I/Os, ns.
    pub lat_sum_ns: Vec<u64>,
    /// Bytes dirty or under writeback at the end of each bucket so far; empty without buffered writes.
    pub dirty_bytes: Vec<u64>,
    /// Mean number of requests between D and C over each bucket, all disks.
    pub in_flight: Vec<f64>,
    /// Time that all CPUs together spun for locks in each bucket, ns.
    pub spin_ns: Vec<u64>,
    /// Latencies over time.
    pub heat: Heat,
}

/// How many I/Os of which latency ended when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Width of a column, ns.
    pub column_ns: u64,
    /// Smallest latency of each class, ns, from the class of the fastest I/O to that of the slowest; four classes in an
    /// octave, equally wide.
    pub low_ns: Vec<u64>,
    /// I/Os of each class in each column.
    pub counts: Vec<Vec<u32>>,
}
