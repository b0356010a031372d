//! State hashes written down by a native run and compared by native runs, wasm under Node and wasm in a browser.

use crate::determinism::same_in_all_ways;
use mqscope_core::cases::{Group, cases};
use mqscope_core::event::Op;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Workload};

/// The golden file: a line `name hash events` for each scenario of [`scenarios`].
pub const GOLDEN: &str = include_str!("../golden/hashes.txt");

/// Published cases whose hashes are kept; all are run, for their numbers, by `tests/it/cases.rs`.
const PUBLISHED: [&str; 2] = ["seed-000", "seed-004"];

/// They are cut to this simulated time, ns.
const CASE_NS: u64 = 1_000_000;

/// Scenarios that together touch every device model and engine, short enough for a debug build in a browser.
pub fn scenarios() -> Vec<(String, Scenario)> {
    let mut all: Vec<(String, Scenario)> =
        small().into_iter().map(|(name, scenario)| (name.to_owned(), scenario)).collect();
    for case in cases().iter().filter(|c| c.group == Group::Rule || PUBLISHED.contains(&c.name.as_str())) {
        for (index, (_, scenario)) in case.sides().into_iter().enumerate() {
            let duration_ns = scenario.duration_ns.min(CASE_NS);
            let name = format!("{}:{}", case.name, index + 1);
            all.push((name, Scenario { duration_ns, warmup_ns: duration_ns / 10, ..scenario }));
        }
    }
    all
}

fn small() -> Vec<(&'static str, Scenario)> {
    let random = |engine, iodepth, numjobs| JobSpec {
        engine,
        iodepth,
        numjobs,
        pattern: Pattern::Random,
        rwmixread: 70,
        io_size: Some(Amount::Bytes(400 * 4096)),
        ..JobSpec::default()
    };
    let batch =
        JobSpec { iodepth_batch_submit: 8, iodepth_batch_complete_min: 4, ..random(Engine::Libaio, 32, 4) };
    let sequential = JobSpec { pattern: Pattern::Sequential, rwmixread: 100, ..batch.clone() };
    let both_disks = JobSpec { files: vec![0, 1], ..random(Engine::IoUring, 16, 6) };
    vec![
        ("null-batches", scenario("small", "6.1", &["null"], Workload::Batch(script()))),
        ("nvme-psync-6.18", scenario("desktop", "6.18", &["p4510-2t"], jobs(random(Engine::Psync, 1, 16)))),
        ("nvme-uring-5.4", scenario("desktop", "5.4", &["p4800x-375"; 2], jobs(both_disks))),
        ("nvme-libaio-4.14", scenario("small", "4.14", &["p3700-800"], jobs(batch.clone()))),
        ("hba-libaio-4.14", scenario("xeon-gold-6150-2s", "4.14", &["hba-r0-8ssd"], jobs(batch.clone()))),
        ("hba-libaio-4.19", scenario("xeon-gold-6150-2s", "4.19", &["hba-r0-8ssd"], jobs(batch))),
        ("hba-sequential-4.15", scenario("xeon-gold-6150-2s", "4.15", &["hba-r0-8ssd"], jobs(sequential))),
    ]
}

fn jobs(job: JobSpec) -> Workload {
    Workload::Jobs(vec![job])
}

fn script() -> BatchScript {
    let read = |i: u64| BatchIo { op: Op::Read, device: 0, offset: (i * 7 % 40) * 4096, len: 4096 };
    let call = |n: u64| BatchStep::Submit((0..n).map(read).collect());
    BatchScript {
        name: "iob".into(),
        dsync: false,
        steps: vec![BatchStep::Cpu(1), call(2), BatchStep::Wait, call(70), BatchStep::Wait],
    }
}

fn scenario(machine: &str, kernel: &str, models: &[&str], workload: Workload) -> Scenario {
    Scenario {
        title: String::new(),
        seed: 7,
        duration_ns: 1_000_000_000,
        machine: machine.into(),
        kernel: kernel.into(),
        devices: models.iter().enumerate().map(|(i, m)| DeviceConfig::new(&format!("disk{i}"), m)).collect(),
        workload,
        ..Scenario::default()
    }
}

/// The lines that the golden file should have; every scenario is run in all ways.
pub fn lines() -> String {
    scenarios()
        .iter()
        .map(|(name, scenario)| {
            let outcome = same_in_all_ways(scenario);
            format!("{name} {:016x} {}\n", outcome.hash, outcome.events)
        })
        .collect()
}

/// Asserts that this platform gets the hashes of the golden file.
///
/// # Panics
/// If a hash differs.
pub fn check() {
    assert_eq!(lines(), GOLDEN, "state hashes differ from tests/golden/hashes.txt");
}
