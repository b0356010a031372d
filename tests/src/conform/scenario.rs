//! From a recording's settings to a scenario.

use super::recording::{Device, Job, Line, Recording};
use mqscope_core::format::{fio, iob};
use mqscope_core::scenario::{DeviceConfig, Scenario, ScenarioError, WriteCache};
use mqscope_core::topology::Topology;
use mqscope_core::workload::{BatchScript, BatchStep, Pattern, Workload};
use std::collections::BTreeMap;

/// Service time of loop devices, ns: longer than an `io_submit` call of the recorded batches.
const LOOP_SERVICE_NS: u64 = 1_000_000;
/// Every recorded script ends within this simulated time, ns.
const DURATION_NS: u64 = 60_000_000_000;
/// The machine; it has the CPUs of the larger of the two recorded ones.
const MACHINE: &str = "small";
const MACHINE_CPUS: u32 = 4;
const SECTOR: u64 = 512;
/// An emulated CPU took so long for an interrupt that timers of commands issued in one go were read together, ns. It matters
/// where a run between two completions would show: as one more R.
const EMULATED_GRAIN_NS: u64 = 1_000_000;

/// What a recording comes to.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The recorded job on the recorded disks.
    pub scenario: Scenario,
    /// One task runs, so that its events have one order; whether their sectors are known, too, or fio's random draw.
    /// `None`: several tasks run.
    pub sectors: Option<bool>,
    /// Bios that do not count: a script runs twice, as on the recorded machines, because schedulers remember where they
    /// were (mq-deadline the last position, kyber its batch).
    pub bios_before: usize,
}

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It needs this, which is not simulated.
    Unsupported(String),
    /// The recording is not what it should be.
    Broken(String),
}

/// What the simulator does not take.
pub(super) fn refused(error: ScenarioError) -> Refusal {
    match error {
        ScenarioError::Value { field, problem } if field.ends_with(".scheduler") => {
            Refusal::Unsupported(format!("scheduler {problem}"))
        }
        ScenarioError::UnknownName { what: "scheduler", name, .. } => {
            Refusal::Unsupported(format!("scheduler {name}"))
        }
        other => Refusal::Broken(format!("the scenario of meta.toml is refused: {other}")),
    }
}

/// The scenario that `meta.toml` and the job describe; `before` is a batch script that the same scheduler served earlier.
pub fn replay(recording: &Recording, before: Option<&str>) -> Result<Replay, Refusal> {
    let meta = &recording.meta;
    let kernel = match meta.kernel.split('.').collect::<Vec<_>>().as_slice() {
        ["6", "1", ..] => "6.1",
        ["6", "18", ..] => "6.18",
        _ => return Err(Refusal::Broken(format!("no kernel row for {}", meta.kernel))),
    };
    let (workload, sectors, bios_before) = match &recording.job {
        Job::Batch(script) => {
            let (workload, bios_before) = batch(recording, script, before)?;
            (workload, Some(true), bios_before)
        }
        Job::Fio(text) => {
            let (workload, sectors) = jobs(recording, text)?;
            (workload, sectors, 0)
        }
        Job::Shell(command) => {
            return Err(Refusal::Unsupported(format!("a shell command: {}", command.trim())));
        }
    };
    if let Some(feature) = lacks(recording) {
        return Err(Refusal::Unsupported(feature));
    }
    let since = if sectors.is_some() { Since::Busy } else { Since::Issued };
    let devices = meta.device.iter().map(|d| device(d, &recording.trace, since));
    let mut devices = devices.collect::<Result<Vec<DeviceConfig>, _>>()?;
    if bios_before > 0 {
        devices.iter_mut().for_each(|d| d.completions_ns.extend_from_within(..));
    }
    if meta.every_nth() > 0 {
        for device in &mut devices {
            device.every_nth = meta.every_nth();
            device.completion_grain_ns = EMULATED_GRAIN_NS;
        }
    }
    let scenario = Scenario {
        title: meta.name.clone(),
        duration_ns: DURATION_NS,
        machine: String::from(MACHINE),
        kernel: kernel.into(),
        devices,
        workload,
        ..Scenario::default()
    };
    Ok(Replay { scenario, sectors, bios_before })
}

fn sentences<T: ToString>(findings: impl Iterator<Item = T>) -> String {
    findings.map(|finding| finding.to_string()).collect::<Vec<_>>().join("; ")
}

/// Which script to run, and how many of its bios come before the recorded ones.
fn batch(recording: &Recording, script: &str, before: Option<&str>) -> Result<(Workload, usize), Refusal> {
    let parse = |text: &str| {
        iob::parse(text.as_bytes())
            .map_err(|e| Refusal::Unsupported(format!("job.iob: {}", sentences(e.iter()))))
    };
    let parsed = parse(script)?;
    let (used, there) = (usize::from(parsed.devices()), recording.meta.device.len());
    if used > there {
        return Err(Refusal::Broken(format!("job.iob uses {used} disks, meta.toml has {there}")));
    }
    let recorded = parsed.script;
    let dsync = recording.meta.command.split_whitespace().any(|word| word == "-d");
    let mut whole = BatchScript { name: recorded.name, dsync, steps: Vec::new() };
    if let Some(before) = before {
        whole.steps.extend(parse(before)?.script.steps);
        whole.steps.push(BatchStep::Wait);
    }
    // The driver counts commands from the recorded ones on.
    if recording.meta.every_nth() == 0 {
        whole.steps.extend_from_slice(&recorded.steps);
        whole.steps.push(BatchStep::Wait);
    }
    let bios_before = whole.steps.iter().map(bios).sum();
    whole.steps.extend(recorded.steps);
    Ok((Workload::Batch(whole), bios_before))
}

/// Q of a step.
fn bios(step: &BatchStep) -> usize {
    match step {
        BatchStep::Submit(ios)
        | BatchStep::Writeback(ios)
        | BatchStep::Discard(ios)
        | BatchStep::Commit(ios) => ios.len(),
        BatchStep::Fsync(_) => 1,
        BatchStep::Cpu(_) | BatchStep::Prio(_) | BatchStep::Wait | BatchStep::Sleep(_) => 0,
    }
}

fn jobs(recording: &Recording, text: &str) -> Result<(Workload, Option<bool>), Refusal> {
    let context = fio::Context {
        cpus: MACHINE_CPUS,
        disks: recording.meta.device.iter().map(|d| d.name.clone()).collect(),
        ..fio::Context::default()
    };
    let parsed = fio::parse(text.as_bytes(), &context);
    if !parsed.is_ok() {
        return Err(Refusal::Unsupported(format!("job.fio: {}", sentences(parsed.diagnostics.iter()))));
    }
    let sectors = match parsed.jobs.as_slice() {
        [job] if job.numjobs == 1 => Some(job.pattern == Pattern::Sequential),
        _ => None,
    };
    Ok((Workload::Jobs(parsed.jobs), sectors))
}

/// The first thing in the recording that the simulator has no word for.
fn lacks(recording: &Recording) -> Option<String> {
    let busy = recording.trace.iter().any(|line| line.letter == "R") && recording.meta.every_nth() == 0;
    busy.then(|| String::from("a driver that answers busy for reasons of its own"))
}

fn device(recorded: &Device, trace: &[Line], since: Since) -> Result<DeviceConfig, Refusal> {
    let model = model(recorded);
    let dev = recorded
        .numbers()
        .ok_or_else(|| Refusal::Broken(format!("'{}' is no device number", recorded.dev)))?;
    let fixed_ns = fixed_service_ns(&recorded.how_made);
    let completions_ns = if fixed_ns.is_some() { Vec::new() } else { service_times_ns(trace, dev, since) };
    Ok(DeviceConfig {
        scheduler: recorded.scheduler.clone(),
        nr_hw_queues: Some(recorded.nr_hw_queues),
        iosched: tunables(recorded)?,
        nr_tags: Some(recorded.nr_tags()),
        nr_requests: Some(recorded.nr_requests),
        queue_depth: recorded.queue_depth().filter(|_| model == "scsi-debug"),
        nomerges: recorded.nomerges,
        rq_affinity: recorded.rq_affinity,
        max_sectors_kb: Some(recorded.max_sectors_kb),
        max_segments: Some(recorded.max_segments),
        write_cache: Some(match recorded.write_cache.as_str() {
            "write back" => WriteCache::WriteBack,
            _ => WriteCache::WriteThrough,
        }),
        fua: Some(recorded.fua == 1),
        flush_not_queued: Some(recorded.how_made.contains("ahci")),
        rotational: Some(recorded.rotational == 1),
        completion_ns: fixed_ns,
        completions_ns,
        size: Some(recorded.size_sectors * SECTOR),
        dev: Some(dev),
        ..DeviceConfig::new(&recorded.name, model)
    })
}

/// Only the driver's hooks matter: an NVMe disk has queue_rqs, scsi_debug the SCSI middle layer; loop and AHCI with a
/// queue depth of all tags are a queue and a delay.
fn model(recorded: &Device) -> &'static str {
    if recorded.name.starts_with("nvme") {
        "p3700-800"
    } else if recorded.how_made.starts_with("scsi_debug") {
        "scsi-debug"
    } else {
        "null"
    }
}

/// The attributes of `queue/iosched`, which are numbers.
fn tunables(recorded: &Device) -> Result<BTreeMap<String, u64>, Refusal> {
    let number = |(name, value): (&String, &String)| match value.trim().parse() {
        Ok(value) => Ok((name.clone(), value)),
        Err(_) => Err(Refusal::Broken(format!("iosched/{name}: '{value}' is not a number"))),
    };
    recorded.iosched.iter().map(number).collect()
}

/// null_blk's `completion_nsec`, scsi_debug's `ndelay`; a loop device serves in order, and its recorded times, which are
/// shorter than an emulated CPU's path, say nothing. `None` for disks that decide for themselves.
fn fixed_service_ns(how_made: &str) -> Option<u64> {
    if how_made.starts_with("loop") {
        return Some(LOOP_SERVICE_NS);
    }
    how_made
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| ["completion_nsec", "ndelay"].contains(name))
        .and_then(|(_, value)| value.parse().ok())
}

/// From when on a recorded service time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// From the first D since the disk was idle, for one task.
    Busy,
    /// From its own D, for several tasks.
    Issued,
}

/// When a disk finishes what is its own choice, and an input here: the recorded times, in the order of D. Between the D
/// of one plug, and between two plugs, an emulated CPU takes so long that later commands would overtake earlier ones
/// here. So where one task ran, times count from the first D since the disk was idle, and those of each such period are
/// shifted so that none is below those before. The order of C is then checked from the disk on, not inside it.
fn service_times_ns(trace: &[Line], dev: (u32, u32), since: Since) -> Vec<u64> {
    /// A command at the disk.
    struct Open {
        blocks: Option<(u64, u64)>,
        index: usize,
        since_ns: u64,
    }
    let mut times = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let (mut busy_since_ns, mut shift_ns, mut longest_ns) = (0, None, 0_u64);
    // A flush has no blocks, whatever sector is printed for it, and no command completes with the C that ends a flush
    // sequence.
    let is_flush = |line: &Line| matches!(line.rwbs.as_str(), "FN" | "FF");
    let blocks = |line: &Line| line.extent.filter(|_| !is_flush(line));
    let ends_sequence = |line: &Line| !is_flush(line) && line.extent.is_none_or(|(_, sectors)| sectors == 0);
    for line in trace.iter().filter(|line| line.dev == dev) {
        match line.letter.as_str() {
            "C" if ends_sequence(line) => {}
            "D" => {
                if open.is_empty() {
                    (busy_since_ns, shift_ns) = (line.at_ns, None);
                }
                let since_ns = if since == Since::Busy { busy_since_ns } else { line.at_ns };
                open.push(Open { blocks: blocks(line), index: times.len(), since_ns });
                times.push(0);
            }
            "C" => {
                let Some(at) = open.iter().position(|open| open.blocks == blocks(line)) else { continue };
                let Open { index, since_ns, .. } = open.remove(at);
                let mut time_ns = line.at_ns - since_ns;
                if since == Since::Busy {
                    time_ns += *shift_ns.get_or_insert(longest_ns.saturating_sub(time_ns));
                    longest_ns = longest_ns.max(time_ns);
                }
                times[index] = time_ns;
            }
            _ => {}
        }
    }
    times
}

/// Says how the CPUs of the hctxs differ from the recorded ones, if they do. The recorded machine may have had
/// fewer CPUs than the preset.
pub(super) fn cpu_map_differs(recording: &Recording, topology: &Topology) -> Option<String> {
    for (device, queue) in recording.meta.device.iter().zip(&topology.queues) {
        for (index, recorded) in device.hctx.iter().enumerate() {
            let cpus =
                queue.hctxs.get(index).and_then(|h| topology.hctxs.get(usize::from(*h))).map(|h| &h.cpus);
            let wanted = recorded.cpu_list.split(',').filter_map(|cpu| cpu.trim().parse::<u16>().ok());
            let missing: Vec<u16> = wanted.filter(|cpu| !cpus.is_some_and(|c| c.contains(cpu))).collect();
            if !missing.is_empty() {
                return Some(format!(
                    "{}: CPUs {missing:?} are recorded at hctx {index}, not so here",
                    device.name
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::Actor;

    fn line(letter: &str, sector: u64, at_ns: u64) -> Line {
        Line {
            dev: (8, 0),
            cpu: 0,
            pid: 0,
            actor: Actor::Interrupt,
            letter: letter.into(),
            rwbs: "R".into(),
            extent: Some((sector, 8)),
            count: None,
            at_ns,
        }
    }

    #[test]
    fn service_times_count_from_where_they_are_told_to() {
        let trace = [
            line("D", 8, 100),
            line("D", 16, 120),
            line("C", 16, 200),
            line("D", 24, 220),
            line("C", 8, 230),
            line("C", 24, 235),
            line("D", 32, 1000),
            line("C", 32, 1007),
        ];
        assert_eq!(service_times_ns(&trace, (8, 0), Since::Busy), [130, 100, 135, 135]);
        assert_eq!(service_times_ns(&trace, (8, 0), Since::Issued), [130, 80, 15, 7]);
    }

    #[test]
    fn drivers_that_fix_their_time_say_so() {
        assert_eq!(
            fixed_service_ns("null_blk configfs: size=1024 completion_nsec=10000000 max_sectors=2560"),
            Some(10_000_000)
        );
        assert_eq!(fixed_service_ns("scsi_debug dev_size_mb=128 ndelay=20000"), Some(20_000));
        assert_eq!(fixed_service_ns("qemu q35 ich9-ahci + ide-hd, raw file, iops limit 400"), None);
    }
}
