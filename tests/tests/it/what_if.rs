//! Constants of devices and costs of machines can be changed by name, within their bounds.

use mqscope_core::device::PRESETS;
use mqscope_core::scenario::{DeviceConfig, Scenario, ScenarioError};
use mqscope_core::workload::{JobSpec, Pattern, Workload};
use mqscope_core::{Sim, host::Costs};

fn one_reader(model: &str) -> Scenario {
    let job = JobSpec { pattern: Pattern::Random, time_based: true, ..JobSpec::default() };
    Scenario {
        duration_ns: 5_000_000,
        devices: vec![DeviceConfig::new("disk0", model)],
        workload: Workload::Jobs(vec![job]),
        ..Scenario::default()
    }
}

fn d2c_ns(scenario: &Scenario) -> f64 {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.run();
    sim.report().queues[0].phases.d2c_ns
}

#[test]
fn a_slower_die_lengthens_a_lonely_read_by_what_was_added() {
    let before = one_reader("p3700-800");
    let mut after = before.clone();
    after.devices[0].params.insert("read_ns".into(), 56_000 + 10_000);
    assert!((d2c_ns(&after) - d2c_ns(&before) - 10_000.0).abs() < 1.0);
}

#[test]
fn every_listed_constant_can_be_set_to_its_own_value() {
    for preset in PRESETS {
        let mut scenario = one_reader(preset.name);
        for param in preset.params() {
            assert!((param.bounds[0]..=param.bounds[1]).contains(&param.value), "{}: {param:?}", preset.name);
            scenario.devices[0].params.insert(param.name, param.value);
        }
        assert_eq!(d2c_ns(&scenario), d2c_ns(&one_reader(preset.name)), "{}", preset.name);
    }
}

#[test]
fn a_wrong_name_or_value_is_refused_with_what_would_fit() {
    let refused = |change: fn(&mut Scenario)| {
        let mut scenario = one_reader("p3700-800");
        change(&mut scenario);
        match Sim::new(&scenario) {
            Err(error @ (ScenarioError::Value { .. } | ScenarioError::UnknownName { .. })) => {
                error.to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    let unknown = refused(|s| _ = s.devices[0].params.insert("dice".into(), 1));
    assert!(unknown.contains("'dice'") && unknown.contains("dies"), "{unknown}");
    let large = refused(|s| _ = s.devices[0].params.insert("dies".into(), u64::MAX));
    assert!(large.contains("from 1 to 1024"), "{large}");
    let cost = refused(|s| _ = s.costs.insert("coffee".into(), 1));
    assert!(Costs::NAMES.iter().all(|name| cost.contains(name)), "{cost}");
    assert!(refused(|s| s.cost_percent = 0).contains("cost_percent"));
}

#[test]
fn the_machine_factor_scales_cpu_time_but_not_line_transfers() {
    let cpu_ns = |percent: u32| {
        let mut scenario = one_reader("null");
        scenario.cost_percent = percent;
        scenario.devices[0].completion_ns = Some(50_000);
        let Workload::Jobs(jobs) = &mut scenario.workload else { unreachable!("it has a job") };
        jobs[0].numjobs = 4;
        let mut sim = Sim::new(&scenario).expect("the scenario is valid");
        sim.run();
        let cpu = sim.report().cpu;
        (cpu.total_ns - cpu.line_ns, cpu.line_ns)
    };
    let (own, lines) = cpu_ns(100);
    let (half_own, half_lines) = cpu_ns(50);
    assert!((half_own / own - 0.5).abs() < 0.01, "{half_own} of {own}");
    // Not the same, as everything happens at other times; but far from half.
    assert!(half_lines > 0.75 * lines, "{half_lines} against {lines}");
}
