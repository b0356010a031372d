//! What is asked of the block layer: fio jobs and batch scripts, as plain values.
//!
//! [`JobSpec`] is one fio job section with every inherited and default value filled in; [`crate::format::fio`]
//! makes it from text. [`BatchScript`] names exact bios for each `io_submit` call, as the recordings do;
//! [`crate::format::iob`] makes it from text. [`Dbench`] describes the clients of dbench and their file system.

mod batch;
mod dbench;
pub(crate) mod file_lock;
mod fio;
pub(crate) mod journal;
mod place;
pub(crate) mod task;

pub use dbench::{
    CLIENTS_MAX, CPU_MAX_NS, DATA_MAX, Dbench, LOG_BUFFER_MAX, LOG_BUFFERS_MAX, LogWriter, SEGMENTS_MAX,
};

use crate::event::{Op, Prio, PrioClass};
use serde::{Deserialize, Serialize};

/// Largest number of processes a workload may have.
pub const PROCESSES_MAX: u32 = 256;
/// Largest iodepth of a process.
pub const IODEPTH_MAX: u32 = 4096;

/// All that runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// fio job sections.
    Jobs(Vec<JobSpec>),
    /// One thread that replays exact `io_submit` calls.
    Batch(BatchScript),
    /// Clients that work and call `fsync`, on a file system with a log.
    Dbench(Dbench),
}

/// How a job hands I/O to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// `pread`/`pwrite`: one I/O at a time.
    Psync,
    /// Linux AIO: `io_submit`, `io_getevents`.
    Libaio,
    /// io_uring.
    IoUring,
}

/// Order of the offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ascending.
    Sequential,
    /// Uniformly random.
    Random,
}

/// Whether a job discards blocks (`rw=trim`, `rw=trimwrite`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trim {
    /// It does not.
    #[default]
    None,
    /// Instead of writing.
    Only,
    /// Each block before it writes it.
    BeforeWrite,
}

/// A place or length inside a file: bytes or percent of the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file or device, 0 to 100.
    Percent(f64),
}

/// What a `sync_file_range` call does, in this order (SYNC_FILE_RANGE_*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyncRange {
    /// Waits for pages of the range that are under writeback.
    pub wait_before: bool,
    /// Sends its dirty pages.
    pub write: bool,
    /// Waits for them.
    pub wait_after: bool,
}

/// How random offsets are spread (`random_distribution`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Evenly.
    #[default]
    Uniform,
    /// The n-th most popular block gets a share that falls with n to this power (above 0, at most 10).
    Zipf(f64),
    /// This share of the blocks (above 0, below 1) gets the rest of the I/O: 0.2 is the rule of 80 to 20.
    Pareto(f64),
    /// Around the middle, with this standard deviation, percent of the region.
    Normal(f64),
}

/// What follows a random offset, where several I/Os go from each (`rw_sequencer`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sequencer {
    /// The blocks behind it.
    #[default]
    Sequential,
    /// The same block again.
    Identical,
}

/// A block size and how many of the I/Os have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BsShare {
    /// Block size, bytes; a multiple of 512.
    pub bytes: u32,
    /// Percent of the I/Os.
    pub percent: u8,
}

/// fio's option sync_file_range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncFileRange {
    /// Writes between two calls, at least 1.
    pub every: u32,
    /// What each call does.
    pub how: SyncRange,
}

/// One fio job section, complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobSpec {
    /// Section name.
    pub name: String,
    /// ioengine.
    pub engine: Engine,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Share of reads, percent: 100 for read and randread, 0 for write and randwrite.
    pub rwmixread: u8,
    /// Block size of reads and of writes, bytes; multiples of 512.
    pub bs: [u32; 2],
    /// I/Os in flight at most (1 for psync).
    pub iodepth: u32,
    /// I/Os handed over in one call.
    pub iodepth_batch_submit: u32,
    /// Completions to wait for in one call, at least; 0: only look.
    pub iodepth_batch_complete_min: u32,
    /// Completions taken in one call, at most (fio's default is its minimum, 1); 0: all there are.
    pub iodepth_batch_complete_max: u32,
    /// Refill only when so few are in flight; 0: `iodepth`.
    pub iodepth_low: u32,
    /// Processes.
    pub numjobs: u32,
    /// Disks used, as indices into [`crate::scenario::Scenario::devices`]; several are used in turn.
    pub files: Vec<u16>,
    /// Name of its file, where its disks have a file system: jobs of the same name work on the same file. Empty: the one
    /// file of each disk that has no name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Every process has a file of its own.
    pub own_files: bool,
    /// Start of the region.
    pub offset: Amount,
    /// Added to the offset for each further process.
    pub offset_increment: Amount,
    /// Length of the region; `None`: to the end.
    pub size: Option<Amount>,
    /// Bytes to transfer in all; `None`: `size`, once.
    pub io_size: Option<Amount>,
    /// O_DIRECT; without it I/O goes through the page cache.
    pub direct: bool,
    /// Drops what is cached of a file before it starts, and each time it starts its file over (`invalidate`); without
    /// effect on direct I/O.
    pub invalidate: bool,
    /// I/Os per second at most, for reads and writes.
    #[serde(with = "pair", skip_serializing_if = "pair::is_empty")]
    pub rate_iops: [Option<u32>; 2],
    /// Bytes per second at most, for reads and writes.
    #[serde(with = "pair", skip_serializing_if = "pair::is_empty")]
    pub rate: [Option<u64>; 2],
    /// Arrivals follow a Poisson process instead of equal steps.
    pub rate_poisson: bool,
    /// Pause after every `thinktime_blocks` I/Os, ns.
    pub thinktime_ns: u64,
    /// I/Os between two pauses.
    pub thinktime_blocks: u32,
    /// Part of the pause spent spinning, ns.
    pub thinktime_spin_ns: u64,
    /// Ends after this time, ns.
    pub runtime_ns: Option<u64>,
    /// Runs but does not count at first, ns.
    pub ramp_time_ns: u64,
    /// Starts over at the end of `size` until `runtime`.
    pub time_based: bool,
    /// Waits before it starts, ns.
    pub startdelay_ns: u64,
    /// CPUs it may run on.
    pub cpus_allowed: Option<Vec<u16>>,
    /// Each process gets one of `cpus_allowed` instead of all.
    pub cpus_split: bool,
    /// NUMA node it is bound to (`numa_cpu_nodes`, `numactl -N`).
    pub numa_node: Option<u16>,
    /// Scheduler to set on its disks.
    pub ioscheduler: Option<String>,
    /// Phase number: jobs of phase n start when all of phase n-1 have ended (`stonewall`).
    pub phase: u32,
    /// Completions are polled for (`hipri`), on disks with poll queues.
    pub hipri: bool,
    /// I/O priority of its processes (`prioclass`, `prio`).
    pub prio: Prio,
    /// Share of reads and of writes that carry `cmdprio` instead, percent.
    pub cmdprio_percentage: [u8; 2],
    /// Priority of those (`cmdprio_class`, `cmdprio`).
    pub cmdprio: Prio,
    /// What the writes are.
    pub trim: Trim,
    /// `fsync` after so many writes; 0: never.
    pub fsync: u32,
    /// `fsync` at the end.
    pub end_fsync: bool,
    /// The disks are opened with O_SYNC or O_DSYNC: writes ask for FUA.
    pub dsync: bool,
    /// `sync_file_range` after so many writes, of the range that they cover; without effect on direct I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_file_range: Option<SyncFileRange>,
    /// Block sizes of reads and of writes with their shares, which add up to 100; they stand before `bs`.
    #[serde(skip_serializing_if = "no_shares")]
    pub bssplit: [Vec<BsShare>; 2],
    /// Smallest and largest block size of reads and of writes; each I/O has a multiple of the smallest. Stands before `bs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsrange: Option<[[u32; 2]; 2]>,
    /// Random offsets meet every block once before any comes again (fio without norandommap); not with several block
    /// sizes, nor with a distribution other than the even one.
    pub random_map: bool,
    /// How random offsets are spread.
    pub distribution: Distribution,
    /// Share of random offsets of reads and of writes, percent; the others go on where the last I/O ended.
    pub percentage_random: [u8; 2],
    /// I/Os from each random offset (`rw=randread:8`).
    pub run: u32,
    /// Where those behind the first go.
    pub sequencer: Sequencer,
    /// How often it goes through its region; ends earlier by `io_size`.
    pub loops: u32,
}

fn no_shares(shares: &[Vec<BsShare>; 2]) -> bool {
    shares.iter().all(Vec::is_empty)
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            name: String::from("job"),
            engine: Engine::Psync,
            pattern: Pattern::Sequential,
            rwmixread: 100,
            bs: [4096, 4096],
            iodepth: 1,
            iodepth_batch_submit: 1,
            iodepth_batch_complete_min: 1,
            iodepth_batch_complete_max: 1,
            iodepth_low: 0,
            numjobs: 1,
            files: vec![0],
            file: String::new(),
            own_files: false,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            size: None,
            io_size: None,
            direct: true,
            invalidate: true,
            rate_iops: [None; 2],
            rate: [None; 2],
            rate_poisson: false,
            thinktime_ns: 0,
            thinktime_blocks: 1,
            thinktime_spin_ns: 0,
            runtime_ns: None,
            ramp_time_ns: 0,
            time_based: false,
            startdelay_ns: 0,
            cpus_allowed: None,
            cpus_split: false,
            numa_node: None,
            ioscheduler: None,
            phase: 0,
            hipri: false,
            prio: Prio::default(),
            cmdprio_percentage: [0; 2],
            cmdprio: Prio { class: PrioClass::Rt, level: 0 },
            trim: Trim::None,
            fsync: 0,
            end_fsync: false,
            dsync: false,
            sync_file_range: None,
            bssplit: [Vec::new(), Vec::new()],
            bsrange: None,
            random_map: false,
            distribution: Distribution::Uniform,
            percentage_random: [100; 2],
            run: 1,
            sequencer: Sequencer::Sequential,
            loops: 1,
        }
    }
}

/// Text form of a limit for reads and one for writes, either of which may be missing: `{ read = 1000 }`, as TOML has no
/// word for a missing element of an array. `[1000, null]` is read as well.
mod pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named<T> {
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        read: Option<T>,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        write: Option<T>,
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Array([Option<T>; 2]),
        Table(Named<T>),
    }

    fn none<T>() -> Option<T> {
        None
    }

    pub(super) fn is_empty<T>(pair: &[Option<T>; 2]) -> bool {
        pair.iter().all(Option::is_none)
    }

    pub(super) fn serialize<T: Serialize + Copy, S: Serializer>(
        [read, write]: &[Option<T>; 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Named { read: *read, write: *write }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[Option<T>; 2], D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Array(pair) => pair,
            Either::Table(Named { read, write }) => [read, write],
        })
    }
}

/// A thread that replays exact calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchScript {
    /// Task name shown in the log.
    pub name: String,
    /// The disks are opened with O_DSYNC: writes ask for FUA.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dsync: bool,
    /// Steps in order.
    pub steps: Vec<BatchStep>,
}

/// One line of a batch script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchStep {
    /// Move the thread to this CPU.
    Cpu(u16),
    /// One `io_submit` call.
    Submit(Vec<BatchIo>),
    /// Writeback of these blocks: asynchronous writes within one plug, as a flusher thread sends them.
    Writeback(Vec<BatchIo>),
    /// `ioprio_set`: the priority of all I/O from here on.
    Prio(Prio),
    /// Wait until all that was submitted has completed.
    Wait,
    /// Sleep, ns.
    Sleep(u64),
    /// `fsync` of this disk, when all that was submitted has completed.
    Fsync(u16),
    /// One BLKDISCARD call for each; each sleeps until it is done.
    Discard(Vec<BatchIo>),
    /// Writes as a journal writes its commit record: each after a flush, past the cache, and waited for.
    Commit(Vec<BatchIo>),
}

/// One I/O of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchIo {
    /// Direction.
    pub op: Op,
    /// Disk index.
    pub device: u16,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}
