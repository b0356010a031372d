//! Everything a run needs, as one plain value, with presets and a text form.

use crate::check::Invariant;
use crate::kernel::{self, KnobError, Knobs};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest run, ns (one hour).
pub const DURATION_MAX_NS: u64 = 3_600_000_000_000;
/// Most disks.
pub const DEVICES_MAX: usize = 16;

/// Models of disks that have no device of their own and pass bios on to `members`.
pub const STACKS: &[&str] = &["md-raid0", "dm-linear"];
/// Most disks above each other.
pub const STACK_DEPTH_MAX: usize = 4;

/// A run: machine, kernel, disks, workload, seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Shown above the picture.
    #[serde(default)]
    pub title: String,
    /// Seed of all random draws.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Simulated time after which the run ends, ns; it ends earlier if the workload does.
    #[serde(default = "default_duration")]
    pub duration_ns: u64,
    /// Measured from here on, ns (fio's ramp_time counts as well).
    #[serde(default)]
    pub warmup_ns: u64,
    /// Machine preset, see [`crate::host::MACHINES`].
    #[serde(default = "default_machine")]
    pub machine: String,
    /// Costs of the machine overridden by name, ns (names of [`crate::host::Costs`]): what if an interrupt cost more?
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, u32>,
    /// Percent by which all work of the CPUs is multiplied; cache-line transfers and wake-up latencies stay.
    #[serde(default = "default_cost_percent", skip_serializing_if = "is_whole")]
    pub cost_percent: u32,
    /// Ticks per second (CONFIG_HZ; distributions have 100 to 1000): timers of delayed runs fire with the first tick behind
    /// their time, and iostat's figures are counted in ticks. 0: timers fire at their time, and iostat counts as with 250.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hz: u32,
    /// Kernel row, see [`kernel::ROWS`].
    #[serde(default = "default_kernel")]
    pub kernel: String,
    /// Knobs overridden by name.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Invariants that the run breaks once each, on purpose, for a lesson ([`Invariant::lesson`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub break_invariants: Vec<Invariant>,
    /// Memory and its limits for the page cache.
    #[serde(default, skip_serializing_if = "Vm::is_default")]
    pub vm: Vm,
    /// Disks, in the order in which jobs number them.
    pub devices: Vec<DeviceConfig>,
    /// What runs.
    pub workload: Workload,
}

impl Default for Scenario {
    /// 50 ms without ramp on the two-socket machine, kernel 4.14, no disks and no jobs.
    fn default() -> Self {
        Self {
            title: String::new(),
            seed: default_seed(),
            duration_ns: default_duration(),
            warmup_ns: 0,
            machine: default_machine(),
            costs: BTreeMap::new(),
            cost_percent: default_cost_percent(),
            hz: 0,
            kernel: default_kernel(),
            set: BTreeMap::new(),
            break_invariants: Vec::new(),
            vm: Vm::default(),
            devices: Vec::new(),
            workload: Workload::Jobs(Vec::new()),
        }
    }
}

/// Memory, and the settings of `/proc/sys/vm` that decide when dirty pages are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vm {
    /// Memory that may hold pages of files, bytes; the machine's if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ram_bytes: Option<u64>,
    /// Share of dirty pages above which flushers work, percent of the memory.
    pub dirty_background_ratio: u8,
    /// Share of pages dirty or under writeback that there may be, percent of the memory.
    pub dirty_ratio: u8,
    /// Age at which dirty pages are written however few they are, ns.
    pub dirty_expire_ns: u64,
    /// Time between two looks for such pages, ns; 0: never.
    pub dirty_writeback_ns: u64,
    /// sysfs read_ahead_kb of all disks: window that a sequential reader is read ahead at most, KiB.
    pub read_ahead_kb: u32,
}

impl Default for Vm {
    /// The kernel's defaults: 10 %, 20 %, 30 s, 5 s, 128 KiB.
    fn default() -> Self {
        Self {
            ram_bytes: None,
            dirty_background_ratio: 10,
            dirty_ratio: 20,
            dirty_expire_ns: 30_000_000_000,
            dirty_writeback_ns: 5_000_000_000,
            read_ahead_kb: 128,
        }
    }
}

impl Vm {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a device acknowledges writes before they are on stable media, in the words of sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteCache {
    /// It does not, or its cache survives a power cut: flushes are dropped.
    #[serde(rename = "write through")]
    WriteThrough,
    /// It does: `fsync` has to flush.
    #[serde(rename = "write back")]
    WriteBack,
}

/// Which half of the block layer serves a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Software and hardware queues.
    #[default]
    Mq,
    /// One queue with one lock (kernels up to 4.20).
    Legacy,
}

/// One disk and its queue settings. `None` means the preset's or kernel's default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Disk name (`sdb`).
    pub name: String,
    /// Device preset, see [`crate::device::PRESETS`], or one of [`STACKS`].
    pub model: String,
    /// Disks that a stacked disk lies on, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Chunk of an md-raid0, KiB (mdadm's default is 512).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_kb: Option<u32>,
    /// Constants of the device's model overridden by name (names and units: [`crate::device::Preset::params`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, u64>,
    /// `mq` if not given. The legacy path has its own schedulers and is gone since kernel 5.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Scheduler: `none` (not on the legacy path), a name of [`crate::sched::SCHEDULERS`] that belongs to the disk's path, or
    /// `default` for what the kernel chooses by itself (on the legacy path deadline).
    #[serde(default = "default_scheduler")]
    pub scheduler: String,
    /// Attributes of `queue/iosched` by their sysfs names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub iosched: BTreeMap<String, u64>,
    /// Hardware contexts.
    #[serde(default)]
    pub nr_hw_queues: Option<u16>,
    /// Further hctxs whose completions are polled for instead of raising interrupts (NVMe's parameter poll_queues).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub poll_queues: u16,
    /// Driver tags of an hctx (or of a host), if not the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_tags: Option<u32>,
    /// All hctxs of all null disks that say so share one bitmap of tags (null_blk's shared_tags and shared_tag_bitmap).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_tag_bitmap: bool,
    /// sysfs nr_requests: the tags in use with scheduler none, the sched tags with any other; on the legacy path the
    /// requests of the pool, for synchronous and asynchronous ones each.
    #[serde(default)]
    pub nr_requests: Option<u32>,
    /// Commands the LUN takes at once (SCSI budget).
    #[serde(default)]
    pub queue_depth: Option<u32>,
    /// The SCSI driver answers busy for every so many commands; 0: never.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub every_nth: u32,
    /// What it answers then.
    #[serde(default, skip_serializing_if = "BusyAnswer::is_default")]
    pub every_nth_answer: BusyAnswer,
    /// sysfs nomerges: 0, 1 or 2.
    #[serde(default)]
    pub nomerges: u8,
    /// sysfs rq_affinity: 0, 1 or 2.
    #[serde(default = "default_rq_affinity")]
    pub rq_affinity: u8,
    /// sysfs max_sectors_kb.
    #[serde(default)]
    pub max_sectors_kb: Option<u32>,
    /// sysfs max_segments: pieces of memory of a request at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_segments: Option<u32>,
    /// sysfs write_cache, if not the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// sysfs fua: the device writes past its cache when told to. If not the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fua: Option<bool>,
    /// A flush is refused while other commands are at the device, and they while the flush is (ATA without queued
    /// FLUSH, `ata_std_qc_defer`), if not the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_not_queued: Option<bool>,
    /// sysfs discard_max_bytes: the largest discard; longer ones are split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard_max_bytes: Option<u64>,
    /// sysfs discard_granularity, bytes: where a discard that is split may be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard_granularity: Option<u32>,
    /// sysfs rotational, if not the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Fixed service time of a null device or of scsi_debug, ns.
    #[serde(default)]
    pub completion_ns: Option<u64>,
    /// A null device or scsi_debug ends commands at multiples of this, ns: timers that are read together. 0: each at its
    /// own time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub completion_grain_ns: u64,
    /// Recorded service times of the first commands of a null or NVMe disk, in the order in which they are issued, ns.
    /// They stand in for the device's physics; later commands of a null device take `completion_ns`, of an NVMe disk
    /// the last recorded time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions_ns: Vec<u64>,
    /// Size, bytes.
    #[serde(default)]
    pub size: Option<u64>,
    /// The disk carries a file system, and jobs work on files of it: `ext4` or `xfs`. Decides how the file's lock is held
    /// around direct I/O (knob dio_lock); unset: jobs use the block device itself, which has no such lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_lock: Option<String>,
    /// sysfs wbt_lat_usec: latency of reads above which asynchronous writes are let through more slowly; 0: no throttling.
    /// Unset: the kernel's default (2000, rotating disks 75000, off with bfq).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u64>,
    /// `major,minor` for blkparse text.
    #[serde(default)]
    pub dev: Option<(u32, u32)>,
}

/// How a SCSI command is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusyAnswer {
    /// The driver refuses, and the host counts as blocked (SCSI_MLQUEUE_HOST_BUSY).
    #[default]
    HostBusy,
    /// The driver refuses, and the LUN counts as blocked (SCSI_MLQUEUE_DEVICE_BUSY).
    DeviceBusy,
    /// The device takes the command and ends it with status BUSY: it comes back through the requeue list.
    StatusBusy,
}

impl BusyAnswer {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

impl DeviceConfig {
    /// A disk with a preset's defaults.
    pub fn new(name: &str, model: &str) -> Self {
        Self {
            name: name.into(),
            model: model.into(),
            params: BTreeMap::new(),
            members: Vec::new(),
            chunk_kb: None,
            path: None,
            scheduler: default_scheduler(),
            iosched: BTreeMap::new(),
            nr_tags: None,
            shared_tag_bitmap: false,
            rotational: None,
            nr_hw_queues: None,
            nr_requests: None,
            queue_depth: None,
            every_nth: 0,
            every_nth_answer: BusyAnswer::HostBusy,
            nomerges: 0,
            rq_affinity: default_rq_affinity(),
            max_sectors_kb: None,
            max_segments: None,
            write_cache: None,
            fua: None,
            flush_not_queued: None,
            discard_max_bytes: None,
            discard_granularity: None,
            completion_ns: None,
            completion_grain_ns: 0,
            completions_ns: Vec::new(),
            size: None,
            file_lock: None,
            wbt_lat_usec: None,
            poll_queues: 0,
            dev: None,
        }
    }
}

fn default_seed() -> u64 {
    1
}
fn default_duration() -> u64 {
    50_000_000
}
fn default_cost_percent() -> u32 {
    100
}
fn is_whole(percent: &u32) -> bool {
    *percent == 100
}
fn default_machine() -> String {
    String::from("xeon-gold-6150-2s")
}
fn default_kernel() -> String {
    String::from("4.14")
}
fn default_scheduler() -> String {
    String::from("none")
}
fn default_rq_affinity() -> u8 {
    1
}

/// Why a scenario cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// A knob override is wrong.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A name is not known.
    #[error("unknown {what} '{name}'; known: {known}")]
    UnknownName {
        /// Kind of name.
        what: &'static str,
        /// What was given.
        name: String,
        /// All known names.
        known: String,
    },
    /// A value is out of range or contradicts another.
    #[error("{field}: {problem}")]
    Value {
        /// Field of the scenario.
        field: String,
        /// What is wrong and what would fit.
        problem: String,
    },
    /// The text form could not be read.
    #[error("line {line}, column {column}: {message}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The reader's words.
        message: String,
    },
}

impl Scenario {
    /// The kernel row with the overrides applied.
    pub fn knobs(&self) -> Result<Knobs, ScenarioError> {
        let row = kernel::row(&self.kernel).ok_or_else(|| ScenarioError::UnknownName {
            what: "kernel",
            name: self.kernel.chars().take(60).collect(),
            known: kernel::ROWS.iter().map(|r| r.name).collect::<Vec<_>>().join(", "),
        })?;
        let mut knobs = row.knobs.clone();
        for (name, value) in &self.set {
            knobs.set(name, value)?;
        }
        Ok(knobs)
    }

    /// Reads the JSON form. Once in the program, as what serde derives for all scenarios' parts is large.
    ///
    /// # Errors
    /// What has a wrong name or type.
    #[inline(never)]
    pub fn from_value(value: serde_json::Value) -> serde_json::Result<Self> {
        serde_json::from_value(value)
    }

    /// As a value, which leaves out what the scenario does not say.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// As JSON: a message between two parts of the same program.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// Reads what [`Self::to_json`] wrote; `None` if it is anything else.
    pub fn from_json(text: &str) -> Option<Self> {
        Self::from_value(serde_json::from_str(text).ok()?).ok()
    }

    /// Reads the TOML text form.
    #[cfg(feature = "text")]
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            ScenarioError::Text {
                line: before.matches('\n').count() + 1,
                column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
                message: e.message().to_string(),
            }
        })
    }

    /// Writes the TOML text form.
    #[cfg(feature = "text")]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}
