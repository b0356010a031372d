//! Small scenarios that show one rule each.

use super::{Case, Group, Variant};
use crate::event::Op;
use crate::scenario::{DeviceConfig, Scenario};
use crate::workload::{BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Workload};
use serde_json::Value;

fn batch(title: &str, kernel: &str, model: &str, sectors: &[u64]) -> Scenario {
    let ios =
        sectors.iter().map(|s| BatchIo { op: Op::Write, device: 0, offset: s * 512, len: 4096 }).collect();
    let name = if model.starts_with('p') { "nvme0n1" } else { "nullb0" };
    Scenario {
        title: title.into(),
        duration_ns: 10_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices: vec![DeviceConfig::new(name, model)],
        workload: Workload::Batch(BatchScript {
            name: "iob".into(),
            dsync: false,
            steps: vec![BatchStep::Cpu(1), BatchStep::Submit(ios), BatchStep::Wait],
        }),
        ..Scenario::default()
    }
}

fn teaching(name: &str, title: &str, about: &str, sides: Vec<(&str, Scenario)>) -> Case {
    let column = |(label, scenario): (&str, Scenario)| Variant {
        label: label.into(),
        scenario: serde_json::to_value(scenario)
            .unwrap_or_else(|e| unreachable!("a scenario is made of what JSON has: {e}")),
        ..Variant::default()
    };
    Case {
        name: name.into(),
        group: Group::Rule,
        title: title.into(),
        about: about.into(),
        source: String::new(),
        assumed: String::new(),
        left_out: String::new(),
        fitted: Vec::new(),
        scenario: Value::Null,
        reduced: Value::Null,
        columns: sides.into_iter().map(column).collect(),
        rows: Vec::new(),
        published: Vec::new(),
        checks: Vec::new(),
        must: Vec::new(),
        sensitivity: Vec::new(),
        open: None,
    }
}

/// A fio job on an NVMe disk of the desktop.
fn nvme(title: &str, kernel: &str, iodepth: u32, numjobs: u32, batch: u32) -> Scenario {
    Scenario {
        title: title.into(),
        duration_ns: 20_000_000,
        warmup_ns: 2_000_000,
        machine: "desktop".into(),
        kernel: kernel.into(),
        devices: vec![DeviceConfig::new("nvme0n1", "p4510-2t")],
        workload: Workload::Jobs(vec![JobSpec {
            name: "randread".into(),
            engine: Engine::Libaio,
            pattern: Pattern::Random,
            iodepth,
            iodepth_batch_submit: batch,
            iodepth_batch_complete_min: batch,
            iodepth_batch_complete_max: batch,
            numjobs,
            time_based: true,
            ..JobSpec::default()
        }]),
        ..Scenario::default()
    }
}

pub(super) fn cases() -> Vec<Case> {
    let writes = [0, 8, 16, 100];
    let many: Vec<u64> = (0..33).map(|i| i * 64).collect();
    let mut few_tags = batch(
        "Twelve reads, four tags",
        "6.1",
        "null",
        &[200, 1800, 600, 1400, 1000, 400, 1600, 800, 1200, 2000, 2400, 2200],
    );
    few_tags.devices[0].nr_requests = Some(4);
    vec![
        teaching(
            "plug-merge",
            "Four writes in one plug: merged, sorted, issued",
            "Three neighbours become one request while they wait in the plug; the fourth stays alone. Up to 4.18 both go \
             through the ctx list (I), from 4.19 straight to the driver.",
            vec![
                ("4.14", batch("Four writes, 4.14", "4.14", "null", &writes)),
                ("4.19", batch("Four writes, 4.19", "4.19", "null", &writes)),
            ],
        ),
        teaching(
            "plug-order",
            "33 writes: the plug overflows, and its order turns around",
            "From 5.16 to 6.12 the plug is a stack: the newest request reaches the driver first. The 33rd request flushes 32.",
            vec![
                ("6.1, stack", batch("33 writes, 6.1", "6.1", "null", &many)),
                ("6.18, queue", batch("33 writes, 6.18", "6.18", "null", &many)),
            ],
        ),
        teaching(
            "tag-wait",
            "Twelve requests, four tags: the submitter sleeps",
            "Without a free tag the task sleeps between Q and G. Sleeping flushes its plug, and a kworker issues what was in it.",
            vec![("6.1, 4 tags", few_tags)],
        ),
        teaching(
            "nvme-doorbell",
            "NVMe: a doorbell for each command, or one for the batch",
            "Each task collects eight completions and submits eight more. In 4.19 each command takes the queue's lock and \
             rings the doorbell, a write across PCIe, for itself. With queue_rqs (5.16) the whole plug is written to the \
             submission queue under one lock, and the doorbell rings once. Look at CPUs from close by: the doorbells are \
             marked there.",
            vec![
                ("4.19, depth 32 by 8", nvme("NVMe, 4.19", "4.19", 32, 4, 8)),
                ("6.1, depth 32 by 8", nvme("NVMe, 6.1", "6.1", 32, 4, 8)),
            ],
        ),
        teaching(
            "deadline-mix",
            "Mixed reads and writes, four tags: none against mq-deadline",
            "Two processes read and two write, all at random, and the driver takes four requests at a time. With none they \
             go in the order in which they came. mq-deadline sorts each direction by sector and sends batches of up to 16 \
             (fifo_batch) in one sweep; reads go first, but after two batches of reads (writes_starved) the waiting writes \
             have their turn, so that they are slowed down and never shut out. Open Inside mq-deadline below the stage and \
             step: the request marked next is the one that goes.",
            vec![("none", mix("none")), ("mq-deadline", mix("mq-deadline"))],
        ),
    ]
}

/// Readers and writers, more of them than the driver has tags.
fn mix(scheduler: &str) -> Scenario {
    let mut disk = DeviceConfig::new("nullb0", "null");
    disk.scheduler = scheduler.into();
    disk.nr_tags = Some(4);
    disk.nr_requests = (scheduler != "none").then_some(64);
    disk.completion_ns = Some(100_000);
    let job = |name: &str, rwmixread| JobSpec {
        name: name.into(),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        rwmixread,
        iodepth: 16,
        numjobs: 2,
        time_based: true,
        ..JobSpec::default()
    };
    Scenario {
        title: format!("Two readers and two writers, {scheduler}"),
        warmup_ns: 5_000_000,
        machine: "small".into(),
        kernel: "6.1".into(),
        devices: vec![disk],
        workload: Workload::Jobs(vec![job("readers", 100), job("writers", 0)]),
        ..Scenario::default()
    }
}
