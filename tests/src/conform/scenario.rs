//! From a recording's settings to a scenario.

use super::recording::{Device, Recording};
use mqscope_core::format::iob;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::topology::Topology;
use mqscope_core::workload::Workload;
use std::collections::BTreeMap;

/// Service time where a recording does not fix one, ns. Only order is compared; all that matters is that it is
/// longer than an `io_submit` call of the recorded batches.
const SERVICE_NS: u64 = 1_000_000;
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
        devices: meta.device.iter().map(device).collect::<Result<_, _>>()?,
        workload: Workload::Batch(parsed.script),
    })
}

fn device(recorded: &Device) -> Result<DeviceConfig, String> {
    // Only the driver's hooks matter: an NVMe disk has queue_rqs; loop, AHCI and scsi_debug with a queue depth of
    // all tags are a queue and a delay.
    let model = if recorded.name.starts_with("nvme") { "p3700-800" } else { "null" };
    let nr_tags = recorded.hctx.iter().map(|h| h.nr_tags).max().ok_or("a disk without hctx")?;
    Ok(DeviceConfig {
        scheduler: recorded.scheduler.clone(),
        nr_hw_queues: Some(recorded.nr_hw_queues),
        nr_requests: Some(recorded.nr_requests.min(nr_tags)),
        nomerges: recorded.nomerges,
        rq_affinity: recorded.rq_affinity,
        max_sectors_kb: Some(recorded.max_sectors_kb),
        completion_ns: Some(service_ns(&recorded.how_made)),
        size: Some(recorded.size_sectors * SECTOR),
        dev: Some(recorded.numbers().ok_or_else(|| format!("'{}' is no device number", recorded.dev))?),
        ..DeviceConfig::new(&recorded.name, model)
    })
}

/// null_blk's `completion_nsec` or scsi_debug's `ndelay`.
fn service_ns(how_made: &str) -> u64 {
    how_made
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| ["completion_nsec", "ndelay"].contains(name))
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(SERVICE_NS)
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
