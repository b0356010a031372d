//! The scenario on which speed is measured, natively and in wasm.

use mqscope_core::Sim;
use mqscope_core::cases::case;
use mqscope_core::scenario::{DeviceConfig, Path, Scenario};
use mqscope_core::sched::{SCHEDULERS, row};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};

/// Simulated time of a measurement, ns.
pub const DURATION_NS: u64 = 20_000_000;

/// The first side of report 000: four processes on each of two RAID0 volumes, kernel 4.14.
///
/// # Panics
/// If the core has no such case.
pub fn seed_000() -> Scenario {
    let case = case("seed-000").expect("the core has the case seed-000");
    let (_, scenario) = case.sides().into_iter().next().expect("the case has a first side");
    Scenario { duration_ns: DURATION_NS, warmup_ns: 0, ..scenario }
}

/// The schedulers on whose job speed is measured; `none` is what the others are compared with.
pub fn schedulers() -> Vec<&'static str> {
    std::iter::once("none").chain(SCHEDULERS.iter().map(|row| row.name)).collect()
}

/// The job on which schedulers are compared: random reads and writes, half each, by one process on each of 4 CPUs at depth
/// 32, on a null device of 10 us, kernel 4.19, the last row with the legacy path.
pub fn scheduler_job(scheduler: &str) -> Scenario {
    let job = JobSpec {
        name: "mixed".into(),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        rwmixread: 50,
        iodepth: 32,
        iodepth_batch_submit: 8,
        iodepth_batch_complete_min: 1,
        numjobs: 4,
        size: Some(Amount::Bytes(1 << 30)),
        io_size: Some(Amount::Bytes(4 << 20)),
        cpus_allowed: Some(vec![0, 1, 2, 3]),
        cpus_split: true,
        ..JobSpec::default()
    };
    let path = row(scheduler).map_or(Path::Mq, |row| row.path);
    let disk = DeviceConfig {
        path: Some(path),
        scheduler: scheduler.into(),
        completion_ns: Some(10_000),
        ..DeviceConfig::new("nullb0", "null")
    };
    Scenario {
        title: String::new(),
        duration_ns: 10_000_000_000,
        machine: "small".into(),
        kernel: "4.19".into(),
        devices: vec![disk],
        workload: Workload::Jobs(vec![job]),
        ..Scenario::default()
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
    run_scenario(&seed_000(), log)
}

/// Runs [`scheduler_job`] once, with the log off.
///
/// # Panics
/// If the scenario is refused.
pub fn run_scheduler(scheduler: &str) -> Work {
    run_scenario(&scheduler_job(scheduler), false)
}

fn run_scenario(scenario: &Scenario, log: bool) -> Work {
    const CHUNK_EVENTS: u64 = 20_000;
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(log);
    while sim.run_events(CHUNK_EVENTS) {
        sim.log_mut().clear();
    }
    Work { events: sim.events(), ios: sim.report().total.ios }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_does_the_whole_job() {
        for scheduler in schedulers() {
            assert_eq!(run_scheduler(scheduler).ios, 4 * 1024, "{scheduler}");
        }
    }
}
