//! What stands in front of a request queue: stacked disks, file locks, writeback throttling, priorities, polling.

mod file_lock;
mod polling;
mod priority;
mod stacked;
mod wbt;

use mqscope_core::Sim;
use mqscope_core::event::{Context, Event, Kind};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};

/// A run on these disks.
pub fn scenario(kernel: &str, devices: Vec<DeviceConfig>, workload: Workload) -> Scenario {
    Scenario {
        title: String::new(),
        duration_ns: 1_000_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices,
        workload,
        ..Scenario::default()
    }
}

/// The same with knobs of a kernel for which there is no row, or one policy alone.
pub fn with(mut scenario: Scenario, knobs: &[(&str, &str)]) -> Scenario {
    scenario.set.extend(knobs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    scenario
}

/// What a batch script does, from its text.
pub fn script(text: &str) -> Workload {
    Workload::Batch(mqscope_core::format::iob::parse(text.as_bytes()).expect("the script is valid").script)
}

/// `ios` synchronous random writes or reads of 4 KiB by each of `numjobs` processes, each on a CPU of its own.
pub fn psync(rwmixread: u8, numjobs: u32, ios: u64) -> JobSpec {
    JobSpec {
        engine: Engine::Psync,
        pattern: Pattern::Random,
        rwmixread,
        numjobs,
        io_size: Some(Amount::Bytes(ios * 4096)),
        ..JobSpec::default()
    }
}

/// Runs to the end with the log on.
pub fn run(scenario: &Scenario) -> Sim {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    sim.run();
    sim
}

/// The letters on one disk, with who acts: the task without a mark, `|kworker|`, `|irq|`.
pub fn letters(sim: &Sim, disk: u16) -> String {
    let (mut text, mut who) = (Vec::new(), Context::Task);
    for event in sim.log().events() {
        let Some(letter) = event.kind.letter() else { continue };
        if event.kind.subject().is_none_or(|(queue, _)| queue != disk) {
            continue;
        }
        let now = match event.context {
            Context::SoftIrq | Context::Idle => Context::HardIrq,
            other => other,
        };
        if now != who {
            text.push(match now {
                Context::Task => String::from("|task|"),
                Context::Kworker => String::from("|kworker|"),
                _ => String::from("|irq|"),
            });
            who = now;
        }
        text.push(match event.kind {
            Kind::Unplug { count, .. } => format!("{letter}{count}"),
            _ => String::from(letter),
        });
    }
    text.join(" ")
}

/// What `pick` finds in the log, in order.
pub fn picked<T>(sim: &Sim, pick: impl FnMut(&Event) -> Option<T>) -> Vec<T> {
    sim.log().events().iter().filter_map(pick).collect()
}
