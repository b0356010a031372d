//! Whom a batch of freed tags wakes: a whole wait queue, a part of one, or as many sleepers as tags over several.

use mqscope_core::Sim;
use mqscope_core::event::Kind;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, Engine, JobSpec, Workload};
use std::collections::BTreeSet;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const TAGS: u32 = 16;
/// Frees that wake a batch of such a bitmap.
const WAKE_BATCH: usize = 2;

/// Sleepers woken by the first batch of freed tags, where `sleepers` processes more than there are tags write at once.
fn woken(kernel: &str, sleepers: u32) -> usize {
    let writer = JobSpec {
        engine: Engine::Psync,
        rwmixread: 0,
        numjobs: TAGS + sleepers,
        io_size: Some(Amount::Bytes(4096)),
        ..JobSpec::default()
    };
    // Long enough for all to have come to rest before the first tag is freed.
    let disk = DeviceConfig {
        nr_requests: Some(TAGS),
        completion_ns: Some(10_000_000),
        ..DeviceConfig::new("nullb0", "null")
    };
    let scenario = Scenario {
        title: String::new(),
        duration_ns: 1_000_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices: vec![disk],
        workload: Workload::Jobs(vec![writer]),
        ..Scenario::default()
    };
    let mut sim = Sim::new(&scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let (mut waiting, mut freed, mut woken) = (BTreeSet::new(), 0, 0);
    for event in sim.log().events() {
        match event.kind {
            Kind::TagWait { .. } => assert!(waiting.insert(event.task)),
            Kind::TagFree { .. } if freed == WAKE_BATCH => break,
            Kind::TagFree { .. } => freed += 1,
            Kind::TaskWake { task } if waiting.remove(&task) => {
                assert_eq!(freed, WAKE_BATCH, "nobody is woken before a batch is free");
                woken += 1;
            }
            _ => {}
        }
    }
    assert_eq!(waiting.len() + woken, sleepers as usize);
    woken
}

#[test]
fn three_sleepers_of_one_wait_queue() {
    // 24 sleepers stand in 8 wait queues.
    assert_eq!(
        ["4.4", "4.15", "4.16", "6.1", "6.6", "7.0"].map(|kernel| woken(kernel, 24)),
        [3, 3, 2, 2, 2, 2]
    );
}

#[test]
fn one_sleeper_in_each_of_four_wait_queues() {
    assert_eq!(
        ["4.4", "4.15", "4.16", "6.1", "6.6", "7.0"].map(|kernel| woken(kernel, 4)),
        [1, 1, 1, 1, 2, 2]
    );
}
