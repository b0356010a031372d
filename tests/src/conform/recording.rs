//! Reading a recording. The blkparse text is read here and not with the core's reader, so that a mistake there
//! cannot hide one here.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a folder is not a usable recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// A file could not be read.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// The operating system's words.
        problem: String,
    },
    /// There is no workload.
    #[error("{folder}: none of job.iob, job.fio and job.sh is there")]
    NoJob {
        /// The folder.
        folder: String,
    },
    /// `meta.toml` does not have the expected fields.
    #[error("meta.toml: {0}")]
    Meta(String),
    /// A line of the trace is not understood.
    #[error("trace.blkparse.txt, line {line}: {problem}")]
    Trace {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// `meta.toml`, as far as it is used.
#[derive(Clone, Debug, Deserialize)]
pub struct Meta {
    /// Folder name.
    pub name: String,
    /// `uname -r`.
    pub kernel: String,
    /// The command that was recorded.
    pub command: String,
    /// One line on what it shows.
    #[serde(default)]
    pub shows: String,
    /// What was set besides; scsi_debug's `every_nth` stands here.
    #[serde(default)]
    pub note: String,
    /// Present where the text was converted from tracefs, which has no UT.
    #[serde(default)]
    pub blkparse_text: Option<String>,
    /// Disks in the order of the command line.
    pub device: Vec<Device>,
}

/// One disk's settings.
#[derive(Clone, Debug, Deserialize)]
pub struct Device {
    /// Disk name.
    pub name: String,
    /// Size, 512-byte sectors.
    pub size_sectors: u64,
    /// `major:minor`.
    pub dev: String,
    /// Driver and its parameters, for people.
    pub how_made: String,
    /// Hardware contexts.
    pub nr_hw_queues: u16,
    /// Attached scheduler.
    pub scheduler: String,
    /// sysfs nr_requests.
    pub nr_requests: u32,
    /// sysfs nomerges.
    pub nomerges: u8,
    /// sysfs rq_affinity.
    pub rq_affinity: u8,
    /// sysfs max_sectors_kb.
    pub max_sectors_kb: u32,
    /// sysfs max_segments.
    pub max_segments: u32,
    /// sysfs rotational.
    pub rotational: u8,
    /// sysfs fua.
    pub fua: u8,
    /// sysfs write_cache: `write back` or `write through`.
    pub write_cache: String,
    /// SCSI: commands the LUN takes at once.
    #[serde(default)]
    pub sdev_queue_depth: Option<String>,
    /// Attributes of `queue/iosched` by name; for mq-deadline, kyber and bfq.
    #[serde(default)]
    pub iosched: BTreeMap<String, String>,
    /// Hardware contexts.
    pub hctx: Vec<Hctx>,
}

/// One hardware context.
#[derive(Clone, Debug, Deserialize)]
pub struct Hctx {
    /// CPUs, comma separated.
    pub cpu_list: String,
    /// Driver tags.
    pub nr_tags: u32,
    /// Flags of the tag set, as debugfs prints them.
    pub flags: String,
}

impl Meta {
    /// Whether the text was made from tracefs events.
    pub fn is_from_tracefs(&self) -> bool {
        self.blkparse_text.is_some()
    }

    /// The driver answers busy for every so many commands (scsi_debug's `every_nth`); 0: never.
    pub fn every_nth(&self) -> u32 {
        let words = self.note.split_whitespace();
        words.filter_map(|word| word.strip_prefix("every_nth=")?.parse().ok()).next().unwrap_or(0)
    }
}

impl Device {
    /// `major,minor` as numbers.
    pub fn numbers(&self) -> Option<(u32, u32)> {
        let (major, minor) = self.dev.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Driver tags of the hctx that has most.
    pub fn nr_tags(&self) -> u32 {
        self.hctx.iter().map(|h| h.nr_tags).max().unwrap_or(0)
    }

    /// Whether the disk hangs on a SCSI host, real or scsi_debug.
    pub fn is_scsi(&self) -> bool {
        self.sdev_queue_depth.is_some()
    }

    /// Commands a SCSI disk takes at once.
    pub fn queue_depth(&self) -> Option<u32> {
        self.sdev_queue_depth.as_deref()?.trim().parse().ok()
    }
}

/// Who acted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// A task in a system call, by name.
    Task(String),
    /// A kworker.
    Worker,
    /// An interrupt; blkparse then shows whom it interrupted.
    Interrupt,
}

/// One blktrace event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `major,minor`.
    pub dev: (u32, u32),
    /// CPU on which it happened.
    pub cpu: u16,
    /// Process of the context; of an interrupt, whom it interrupted.
    pub pid: u32,
    /// Who acted.
    pub actor: Actor,
    /// Q, G, UT, ...
    pub letter: String,
    /// R, WS, N, ... as blkparse prints it.
    pub rwbs: String,
    /// First sector and sectors, if the event is about blocks.
    pub extent: Option<(u64, u64)>,
    /// Requests of a U or UT.
    pub count: Option<u32>,
    /// Time, ns.
    pub at_ns: u64,
}

/// The workload that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// `job.iob`: exact `io_submit` calls.
    Batch(String),
    /// `job.fio`: a fio job file.
    Fio(String),
    /// `job.sh`: a shell command on a file system.
    Shell(String),
}

/// Makes a job of its text.
type MakeJob = fn(String) -> Job;

/// File names of the kinds of [`Job`].
const JOB_FILES: [(&str, MakeJob); 3] =
    [("job.iob", Job::Batch), ("job.fio", Job::Fio), ("job.sh", Job::Shell)];

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// `meta.toml`.
    pub meta: Meta,
    /// What was run.
    pub job: Job,
    /// Events in the order of time.
    pub trace: Vec<Line>,
}

impl Recording {
    /// From the texts of the three files.
    pub fn parse(meta: &str, job: Job, trace: &str) -> Result<Self, RecordingError> {
        let meta = toml::from_str(meta).map_err(|e| RecordingError::Meta(e.to_string()))?;
        Ok(Self { meta, job, trace: parse_trace(trace)? })
    }

    /// From a folder.
    pub fn read(folder: &Path) -> Result<Self, RecordingError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let bytes = std::fs::read(&path).map_err(|e| RecordingError::File {
                file: path.display().to_string(),
                problem: e.to_string(),
            })?;
            Ok::<_, RecordingError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (name, job) = JOB_FILES
            .iter()
            .find(|(name, _)| folder.join(name).is_file())
            .ok_or_else(|| RecordingError::NoJob { folder: folder.display().to_string() })?;
        Self::parse(&read("meta.toml")?, job(read(name)?), &read("trace.blkparse.txt")?)
    }
}

/// Reads blkparse's default text up to its summary.
fn parse_trace(text: &str) -> Result<Vec<Line>, RecordingError> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with("CPU") {
            break;
        }
        let parsed = parse_line(line)
            .map_err(|problem| RecordingError::Trace { line: index + 1, problem: problem.into() })?;
        lines.push(parsed);
    }
    Ok(lines)
}

/// `dev cpu seq time pid action rwbs rest`
fn parse_line(line: &str) -> Result<Line, &'static str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [dev, cpu, _seq, time, pid, letter, rwbs, rest @ ..] = fields.as_slice() else {
        return Err("fewer than seven fields");
    };
    let (major, minor) = dev.split_once(',').ok_or("no major,minor")?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| "not a number");
    let at_ns = nanoseconds(time).ok_or("no time in seconds and nanoseconds")?;
    let dev = (major.parse().map_err(|_| "no major")?, minor.parse().map_err(|_| "no minor")?);
    let start = rest.iter().position(|word| word.starts_with('[')).unwrap_or(rest.len());
    let name = rest[start..].join(" ");
    let inside = name.split_once('[').and_then(|(_, after)| after.split_once(']'));
    let (extent, count) = match &rest[..start] {
        [] => (None, inside.and_then(|(_, after)| after.trim().parse().ok())),
        [sector] => (Some((number(sector)?, 0)), None),
        [sector, "+", sectors] => (Some((number(sector)?, number(sectors)?)), None),
        [sector, "/", second] => (Some((number(sector)?, number(second)?)), None),
        _ => return Err("neither 'sector + count' nor 'sector / sector'"),
    };
    let actor = match inside.map_or("", |(name, _)| name) {
        name if name.starts_with("kworker") => Actor::Worker,
        "" | "0" => Actor::Interrupt,
        name => Actor::Task(name.to_owned()),
    };
    let cpu = cpu.parse().map_err(|_| "no CPU")?;
    let pid = pid.parse().map_err(|_| "no pid")?;
    let (letter, rwbs) = ((*letter).to_owned(), (*rwbs).to_owned());
    Ok(Line { dev, cpu, pid, actor, letter, rwbs, extent, count, at_ns })
}

/// `1.000000002` as ns.
fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, fraction) = time.split_once('.')?;
    if fraction.len() != 9 {
        return None;
    }
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds_are_read() {
        let text = "254,0    1        3     0.000222280   347  P   N [iob]\n\
                    \x20 7,64   1        4    0.000302950   347  Q  WS 1000 + 8 [iob]\n\
                    254,1    1        7     0.001442230   347  U   N [iob] 3\n\
                    254,1    1        8     0.001554040    12  D   R 1000 + 8 [kworker/1:1H]\n\
                    254,1    1        9     0.001554041     0  C   R 1000 + 8 [0]\n\n\
                    CPU1 (nullb0):\n Reads Queued: 13\n";
        let lines = parse_trace(text).expect("all lines are of the usual form");
        assert_eq!(lines.len(), 5);
        assert_eq!((lines[1].dev, lines[1].extent), ((7, 64), Some((1000, 8))));
        assert_eq!((lines[2].count, &lines[2].actor), (Some(3), &Actor::Task("iob".into())));
        assert_eq!(lines[2].at_ns, 1_442_230);
        assert_eq!((&lines[3].actor, lines[3].cpu, lines[3].pid), (&Actor::Worker, 1, 12));
        assert_eq!(lines[4].actor, Actor::Interrupt);
    }

    #[test]
    fn a_broken_line_is_named() {
        let error =
            parse_trace("254,0 1 3 0.000000000 347 Q R 100 - 8 [iob]\n").expect_err("the minus is no plus");
        assert_eq!(
            error.to_string(),
            "trace.blkparse.txt, line 1: neither 'sector + count' nor 'sector / sector'"
        );
    }
}
