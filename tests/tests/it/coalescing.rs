//! Interrupts that several completions share, against closed forms: by number, by time, and both switched off.

use mqscope_core::Sim;
use mqscope_core::event::{Kind, Stage};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Engine, JobSpec, Pattern, Workload};
use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Time of a lone 4 KiB read in a P4800X, ns.
const ALONE_NS: u64 = 7_100;

/// One process reads at this depth from a disk whose interrupts wait for `threshold` completions or `time_us`.
fn reads(model: &str, iodepth: u32, threshold: u64, time_us: u64) -> Scenario {
    let params = BTreeMap::from([
        (String::from("coalesce_threshold"), threshold),
        (String::from("coalesce_time_us"), time_us),
    ]);
    Scenario {
        duration_ns: 20_000_000,
        machine: "desktop".into(),
        kernel: "6.1".into(),
        devices: vec![DeviceConfig { params, ..DeviceConfig::new("disk0", model) }],
        workload: Workload::Jobs(vec![JobSpec {
            engine: Engine::Libaio,
            pattern: Pattern::Random,
            iodepth,
            time_based: true,
            ..JobSpec::default()
        }]),
        ..Scenario::default()
    }
}

/// Interrupts in order: when, and for each completion in it the time since its command came to the controller, ns.
fn interrupts(scenario: &Scenario) -> Vec<(u64, Vec<u64>)> {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let (mut came, mut all) = (BTreeMap::new(), Vec::<(u64, Vec<u64>)>::new());
    for event in sim.log().events() {
        match event.kind {
            Kind::DeviceStage { rq, stage: Stage::Controller, start_ns, .. } => {
                came.insert(rq, start_ns);
            }
            Kind::Irq { rq, .. } => {
                let since_ns = event.at_ns - came.remove(&rq).unwrap_or(event.at_ns);
                match all.last_mut() {
                    Some((at, in_it)) if *at == event.at_ns => in_it.push(since_ns),
                    _ => all.push((event.at_ns, vec![since_ns])),
                }
            }
            _ => {}
        }
    }
    all
}

#[test]
fn as_many_as_the_threshold_share_one_interrupt() {
    for threshold in [2, 4, 8] {
        let all = interrupts(&reads("p4800x-375", threshold as u32 * 4, threshold, 1_000));
        assert!(all.len() > 200, "{threshold}: {}", all.len());
        let whole = all.iter().filter(|(_, in_it)| in_it.len() as u64 == threshold).count();
        assert_eq!(whole, all.len(), "threshold {threshold}: the time of 1 ms is never reached");
    }
}

#[test]
fn a_lone_completion_waits_for_the_whole_time() {
    for time_us in [100, 200] {
        let all = interrupts(&reads("p4800x-375", 1, 8, time_us));
        assert!(all.len() > 50, "{}", all.len());
        for (_, in_it) in &all {
            assert_eq!(*in_it, [ALONE_NS + time_us * 1_000]);
        }
    }
}

#[test]
fn fewer_than_the_threshold_wait_for_the_time_of_the_first_of_them() {
    // Three of eight: the interrupt rises 100 us after the first completion, with all that came meanwhile.
    let all = interrupts(&reads("p4800x-375", 3, 8, 100));
    let longest = |in_it: &Vec<u64>| in_it.iter().max().copied().unwrap_or_default();
    assert!(all.len() > 50 && all.iter().skip(1).all(|(_, in_it)| in_it.len() == 3), "{all:?}");
    for (_, in_it) in &all {
        // The first is alone at the device; a colliding one would be later, not earlier.
        assert!((ALONE_NS + 100_000..ALONE_NS + 105_000).contains(&longest(in_it)), "{in_it:?}");
    }
    // A round takes the time at the device, the 100 us, and what the process does between: X = 3 / R of a round.
    let rounds = all.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let mean_ns = rounds.clone().sum::<u64>() / rounds.count() as u64;
    assert!((ALONE_NS + 100_000..ALONE_NS + 125_000).contains(&mean_ns), "{mean_ns}");
}

#[test]
fn a_threshold_of_one_or_no_time_is_no_delay() {
    for (threshold, time_us) in [(1, 100), (8, 0)] {
        let all = interrupts(&reads("p4800x-375", 1, threshold, time_us));
        assert!(all.iter().all(|(_, in_it)| *in_it == [ALONE_NS]), "{threshold}, {time_us} us");
    }
}

#[test]
fn reply_queues_of_an_adapter_coalesce_alike() {
    let ios = |threshold, time_us| {
        let all = interrupts(&reads("hba-ssd-jbod", 16, threshold, time_us));
        (all.len(), all.iter().map(|(_, in_it)| in_it.len()).sum::<usize>())
    };
    let (interrupts, completions) = ios(4, 1_000);
    assert!(interrupts > 100 && completions == 4 * interrupts, "{completions} in {interrupts}");
    // With fewer in flight than it waits for, the time decides: at most one interrupt in 300 us.
    let (interrupts, completions) = ios(64, 300);
    assert!(interrupts <= 20_000 / 300 && completions > 10 * interrupts, "{completions} in {interrupts}");
}
