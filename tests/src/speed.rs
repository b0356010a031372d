//! The scenario on which speed is measured, natively and in wasm.

use mqscope_core::Sim;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};
use std::collections::BTreeMap;

/// Simulated time of a measurement, ns.
pub const DURATION_NS: u64 = 20_000_000;

/// Report 000: four processes on each of two RAID0 volumes, 4 KiB random reads, iodepth 128, kernel 4.14.
pub fn seed_000() -> Scenario {
    let job = |name: &str, disk| JobSpec {
        name: name.into(),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth: 128,
        numjobs: 4,
        files: vec![disk],
        numa_node: Some(1),
        io_size: Some(Amount::Bytes(u64::MAX / 4)),
        time_based: true,
        runtime_ns: Some(60_000_000_000),
        ..JobSpec::default()
    };
    Scenario {
        title: String::from("speed"),
        seed: 1,
        duration_ns: DURATION_NS,
        warmup_ns: 0,
        machine: String::from("xeon-gold-6150-2s"),
        kernel: String::from("4.14"),
        set: BTreeMap::new(),
        devices: ["sdb", "sdc"].map(|name| DeviceConfig::new(name, "hba-r0-8ssd")).to_vec(),
        workload: Workload::Jobs(vec![job("vd0", 0), job("vd1", 1)]),
    }
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Events taken from the queue.
    pub events: u64,
    /// I/Os completed.
    pub ios: u64,
}

/// Runs [`seed_000`] once. With the log on, it is drained as a reader would.
///
/// # Panics
/// If the scenario is refused.
pub fn run(log: bool) -> Work {
    const CHUNK_EVENTS: u64 = 20_000;
    let mut sim = Sim::new(&seed_000()).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(log);
    while sim.run_events(CHUNK_EVENTS) {
        sim.log_mut().clear();
    }
    Work { events: sim.events(), ios: sim.report().total.ios }
}
