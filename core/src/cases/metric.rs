//! What a case can compare: names of numbers that a report has. The build script reads this file too, so it knows
//! nothing but the standard library; `extract.rs` takes the numbers from a report.

/// What a metric is about, if it is not about all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A job section, by its name; all jobs together if none is named.
    Job,
    /// A disk, by its name; if none is named all disks: rates and levels are sums, the rest means weighed by requests.
    Disk,
    /// The whole machine.
    Machine,
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $unit:literal, $of:ident;)+) => {
        /// Which number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($(#[doc = $doc])+ $kind),+ }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),+];

            /// Name in case files; the unit stands last in it.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),+ }
            }

            /// Unit for people; empty for plain numbers.
            pub fn unit(self) -> &'static str {
                match self { $(Kind::$kind => $unit),+ }
            }

            /// What it can be asked of.
            pub fn of(self) -> Of {
                match self { $(Kind::$kind => Of::$of),+ }
            }

            /// What it is.
            pub fn help(self) -> &'static str {
                match self { $(Kind::$kind => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

metrics! {
    /// I/Os that the application saw complete, per second.
    Iops = "iops", "IOPS", Job;
    /// Reads among them.
    ReadsPerS = "reads_per_s", "reads/s", Job;
    /// Writes and discards among them.
    WritesPerS = "writes_per_s", "writes/s", Job;
    /// Bytes of them per second, MB (10^6).
    MbPerS = "mb_per_s", "MB/s", Job;
    /// Mean submission latency.
    SlatMeanUs = "slat_mean_us", "us", Job;
    /// Mean completion latency.
    ClatMeanUs = "clat_mean_us", "us", Job;
    /// Median of completion latency.
    ClatP50Us = "clat_p50_us", "us", Job;
    /// 99th percentile of completion latency.
    ClatP99Us = "clat_p99_us", "us", Job;
    /// Mean of the whole latency.
    LatMeanUs = "lat_mean_us", "us", Job;
    /// Calls of fsync that returned, per second.
    FsyncsPerS = "fsyncs_per_s", "fsyncs/s", Job;
    /// Mean time of an execution of dbench's loadfile.
    LoopMs = "loop_ms", "ms an execution", Job;
    /// Share of all CPUs that is busy in any way.
    CpuBusyPercent = "cpu_busy_percent", "% CPU", Machine;
    /// The same without user time.
    CpuSystemPercent = "cpu_system_percent", "% system", Machine;
    /// CPU time of all kinds for an I/O.
    CpuNsPerIo = "cpu_ns_per_io", "ns CPU per I/O", Machine;
    /// Share of the CPU time used that is spinning for locks.
    LockPercent = "lock_percent", "% of CPU time in locks", Machine;
    /// Switches from one task or kworker to another, per second.
    ContextSwitchesPerS = "context_switches_per_s", "switches/s", Machine;
    /// Requests completed per second.
    RequestsPerS = "requests_per_s", "requests/s", Disk;
    /// Bios and requests merged into others, per second.
    MergesPerS = "merges_per_s", "merges/s", Disk;
    /// Share of bios that were merged (iostat's %rrqm and %wrqm).
    MergedPercent = "merged_percent", "% merged", Disk;
    /// Mean size of a completed request, KiB.
    MeanKib = "mean_kib", "KiB a request", Disk;
    /// Mean time from G to C (iostat's await).
    AwaitUs = "await_us", "us await", Disk;
    /// Time average of requests between G and C.
    AquSz = "aqu_sz", "aqu-sz", Disk;
    /// Time average of requests between D and C.
    InFlight = "in_flight", "in flight", Disk;
    /// Share of time with a request between D and C.
    UtilPercent = "util_percent", "% util (true)", Disk;
    /// The same as iostat prints it, by the io_ticks rule of the kernel.
    IostatUtilPercent = "iostat_util_percent", "% util (iostat)", Disk;
    /// aqu-sz as iostat prints it, by the time_in_queue rule of the kernel.
    IostatAquSz = "iostat_aqu_sz", "aqu-sz (iostat)", Disk;
    /// Delayed runs of all hctxs that were armed, per second.
    DelayedRunsPerS = "delayed_runs_per_s", "delayed runs/s", Disk;
    /// Sleeps for a tag, per second.
    TagWaitsPerS = "tag_waits_per_s", "tag waits/s", Disk;
    /// Requests that the driver put back, per second.
    RequeuesPerS = "requeues_per_s", "requeues/s", Disk;
    /// Flushes completed, per second.
    FlushesPerS = "flushes_per_s", "flushes/s", Disk;
}

/// A number of a report: `iops`, `iops of readers`, `await_us of sda`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Which number.
    pub kind: Kind,
    /// Of which job or disk.
    pub of: Option<String>,
}

impl std::str::FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, of) = match text.split_once(" of ") {
            Some((name, of)) => (name, Some(of.trim().to_string())),
            None => (text, None),
        };
        let kind = Kind::ALL.iter().copied().find(|kind| kind.name() == name.trim()).ok_or_else(|| {
            let known: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            format!("there is no metric '{name}'; known: {}", known.join(", "))
        })?;
        if of.is_some() && kind.of() == Of::Machine {
            return Err(format!("{name} is of the whole machine: it takes no 'of'"));
        }
        Ok(Self { kind, of })
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.of {
            Some(of) => write!(f, "{}, {of}", self.kind.unit()),
            None => f.write_str(self.kind.unit()),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
