//! From a recording's settings to a scenario.

use super::recording::{Device, Line, Recording};
use mqscope_core::format::iob;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::topology::Topology;
use mqscope_core::workload::Workload;
use std::collections::BTreeMap;

/// Service time of loop devices, ns: longer than an `io_submit` call of the recorded batches.
const LOOP_SERVICE_NS: u64 = 1_000_000;
/// Every recorded script ends within this simulated time, ns.
const DURATION_NS: u64 = 60_000_000_000;
const SECTOR: u64 = 512;

/// The scenario that `meta.toml` and `job.iob` describe.
pub fn scenario(recording: &Recording) -> Result<Scenario, String> {
    let meta = &recording.meta;
    let kernel = match meta.kernel.split('.').collect::<Vec<_>>().as_slice() {
        ["6", "1", ..] => "6.1",
        ["6", "18", ..] => "6.18",
        _ => return Err(format!("no kernel row for {}", meta.kernel)),
    };
    let script = recording.script.as_deref().ok_or("no job.iob")?;
    let parsed = iob::parse(script.as_bytes()).map_err(|e| {
        format!("job.iob: {}", e.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    if usize::from(parsed.devices()) > meta.device.len() {
        return Err(format!("job.iob uses {} disks, meta.toml has {}", parsed.devices(), meta.device.len()));
    }
    Ok(Scenario {
        title: meta.name.clone(),
        seed: 1,
        duration_ns: DURATION_NS,
        warmup_ns: 0,
        machine: String::from("small"),
        kernel: kernel.into(),
        set: BTreeMap::new(),
        devices: meta.device.iter().map(|d| device(d, &recording.trace)).collect::<Result<_, _>>()?,
        workload: Workload::Batch(parsed.script),
    })
}

fn device(recorded: &Device, trace: &[Line]) -> Result<DeviceConfig, String> {
    // Only the driver's hooks matter: an NVMe disk has queue_rqs; loop, AHCI and scsi_debug with a queue depth of
    // all tags are a queue and a delay.
    let model = if recorded.name.starts_with("nvme") { "p3700-800" } else { "null" };
    let dev = recorded.numbers().ok_or_else(|| format!("'{}' is no device number", recorded.dev))?;
    let fixed_ns = fixed_service_ns(&recorded.how_made);
    let completions_ns = if fixed_ns.is_some() { Vec::new() } else { service_times_ns(trace, dev) };
    let nr_tags = recorded.hctx.iter().map(|h| h.nr_tags).max().ok_or("a disk without hctx")?;
    Ok(DeviceConfig {
        scheduler: recorded.scheduler.clone(),
        nr_hw_queues: Some(recorded.nr_hw_queues),
        nr_requests: Some(recorded.nr_requests.min(nr_tags)),
        nomerges: recorded.nomerges,
        rq_affinity: recorded.rq_affinity,
        max_sectors_kb: Some(recorded.max_sectors_kb),
        completion_ns: fixed_ns,
        completions_ns,
        size: Some(recorded.size_sectors * SECTOR),
        dev: Some(dev),
        ..DeviceConfig::new(&recorded.name, model)
    })
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

/// When a disk finishes what is its own choice, and an input here: the recorded times, in the order of D. They count
/// from the first D since the disk was idle, because between the D of one plug an emulated CPU takes so long that later
/// times would overtake each other. So the order of C is checked from the disk on, not inside it.
fn service_times_ns(trace: &[Line], dev: (u32, u32)) -> Vec<u64> {
    let mut times = Vec::new();
    let mut open: Vec<(Option<(u64, u64)>, usize)> = Vec::new();
    let mut busy_since_ns = 0;
    for line in trace.iter().filter(|line| line.dev == dev) {
        match line.letter.as_str() {
            "D" => {
                if open.is_empty() {
                    busy_since_ns = line.at_ns;
                }
                open.push((line.extent, times.len()));
                times.push(0);
            }
            "C" => {
                if let Some(at) = open.iter().position(|(extent, _)| *extent == line.extent) {
                    times[open.remove(at).1] = line.at_ns - busy_since_ns;
                }
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
            actor: Actor::Interrupt,
            letter: letter.into(),
            rwbs: "R".into(),
            extent: Some((sector, 8)),
            count: None,
            at_ns,
        }
    }

    #[test]
    fn service_times_count_from_the_first_issue_of_a_busy_period() {
        let trace = [
            line("D", 8, 100),
            line("D", 16, 120),
            line("C", 16, 200),
            line("C", 8, 230),
            line("D", 24, 1000),
            line("C", 24, 1007),
        ];
        assert_eq!(service_times_ns(&trace, (8, 0)), [130, 100, 7]);
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
