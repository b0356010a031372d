//! Single stations against closed forms: what a device must do whatever the path above it does.

use mqscope_core::Sim;
use mqscope_core::event::{Kind, RqId, Stage};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Engine, JobSpec, Pattern, Workload};
use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// 4 KiB random reads by `numjobs` processes on one disk of the desktop.
fn reads(model: &str, numjobs: u32, iodepth: u32, duration_ms: u64) -> Scenario {
    Scenario {
        seed: 7,
        duration_ns: duration_ms * 1_000_000,
        warmup_ns: duration_ms * 100_000,
        machine: "desktop".into(),
        kernel: "6.1".into(),
        devices: vec![DeviceConfig::new("disk0", model)],
        workload: Workload::Jobs(vec![JobSpec {
            engine: Engine::Libaio,
            pattern: Pattern::Random,
            numjobs,
            iodepth,
            time_based: true,
            ..JobSpec::default()
        }]),
        ..Scenario::default()
    }
}

fn iops(scenario: &Scenario) -> f64 {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.run();
    sim.report().total.iops
}

/// Front-end stages (start, end) and interrupt times of all requests.
fn front_ends(scenario: &Scenario) -> (BTreeMap<RqId, (u64, u64)>, BTreeMap<RqId, u64>) {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let (mut front, mut done) = (BTreeMap::new(), BTreeMap::new());
    for event in sim.log().events() {
        match event.kind {
            Kind::DeviceStage { rq, stage: Stage::Controller, start_ns, end_ns, .. } => {
                front.insert(rq, (start_ns, end_ns));
            }
            Kind::Irq { rq, .. } => _ = done.insert(rq, event.at_ns),
            _ => {}
        }
    }
    (front, done)
}

#[test]
fn a_lone_read_takes_the_fixed_time_and_one_die_read() {
    // fixed + tR of the presets, ns.
    for (model, expected) in [("p3700-800", 70_000), ("p4510-2t", 77_000), ("p4800x-375", 7_100)] {
        let (front, done) = front_ends(&reads(model, 1, 1, 2));
        assert!(done.len() > 10, "{model}");
        for (rq, at) in &done {
            assert_eq!(at - front[rq].0, expected, "{model}, request {rq}");
        }
    }
}

#[test]
fn throughput_stays_below_both_bounds_and_reaches_the_cap() {
    // (cap, fixed + tR in seconds)
    let (cap, alone) = (460_000.0, 70e-6);
    for (numjobs, iodepth) in [(1, 1), (1, 8), (4, 8), (8, 64)] {
        let n = f64::from(numjobs * iodepth);
        let found = iops(&reads("p3700-800", numjobs, iodepth, 20));
        let bound = f64::min(cap, n / alone);
        assert!(found <= bound * 1.001, "{numjobs} x {iodepth}: {found} above {bound}");
        if n >= 512.0 {
            assert!(found >= 0.97 * cap, "{found} of {cap}");
        }
    }
}

#[test]
fn a_die_array_at_depth_16_is_between_the_measured_and_the_computed_value() {
    // P3700, queue depth 16: measured 167 K with a host, 188 K computed for the device alone.
    let found = iops(&reads("p3700-800", 4, 4, 50));
    assert!((150_000.0..=190_000.0).contains(&found), "{found}");
}

#[test]
fn a_closed_loop_of_one_obeys_x_equals_one_over_r_plus_z() {
    let mut scenario = reads("null", 1, 1, 20);
    if let Workload::Jobs(jobs) = &mut scenario.workload {
        jobs[0].engine = Engine::Psync;
    }
    let mut sim = Sim::new(&scenario).expect("the scenario is valid");
    sim.run();
    let report = sim.report();
    // Z is what the process does between two I/Os: its user time, half before and half after.
    let cycle_ns = 1e9 / report.total.iops;
    let think_ns = cycle_ns - report.total.lat.mean_ns;
    assert!((think_ns - report.cpu.user_ns).abs() < 0.02 * cycle_ns, "{think_ns} and {}", report.cpu.user_ns);
}

/// Mean wait of the arrivals at a server of this time that serves in order of arrival (Lindley's recursion), ns.
fn lindley(mut arrivals: Vec<u64>, service_ns: u64) -> f64 {
    arrivals.sort_unstable();
    let (mut free, mut waited) = (0, 0);
    for at in &arrivals {
        let start = free.max(*at);
        waited += start - at;
        free = start + service_ns;
    }
    waited as f64 / arrivals.len() as f64
}

#[test]
fn poisson_arrivals_wait_at_the_front_end_as_in_m_d_1() {
    // One server with a fixed time of 1/585000 s; the dies behind it are nearly idle.
    let service_ns = 1_000_000_000 / 585_000;
    for load in [0.5, 0.7, 0.8] {
        let numjobs = 12;
        let mut scenario = reads("p4800x-375", numjobs, 64, 150);
        if let Workload::Jobs(jobs) = &mut scenario.workload {
            jobs[0].rate_iops = [Some((585_000.0 * load) as u32 / numjobs), None];
            jobs[0].rate_poisson = true;
        }
        let (front, _) = front_ends(&scenario);
        let waits = front.values().map(|(start, end)| end - start - service_ns);
        let mean = waits.sum::<u64>() as f64 / front.len() as f64;
        // What came waited as long as it had to, whatever brought it.
        let due = lindley(front.values().map(|f| f.0).collect(), service_ns);
        assert!((mean - due).abs() < 0.001 * due, "load {load}: {mean} ns, {due} is due");
        // And it came at random: the load that was really offered, not the one asked for.
        let (first, last) = (front.values().map(|f| f.0).min(), front.values().map(|f| f.0).max());
        let span = (last.unwrap_or(1) - first.unwrap_or(0)) as f64;
        let rho = front.len() as f64 * service_ns as f64 / span;
        let (found, expected) = (mean / service_ns as f64, rho / (2.0 * (1.0 - rho)));
        // Interrupts hold up submissions, which then come in small bunches: 3 to 5 % more wait than at random.
        let ratio = found / expected;
        assert!((0.98..1.07).contains(&ratio), "load {load}: {found}, {expected} is due");
    }
}

#[test]
fn littles_law_holds_at_every_device() {
    // Mean commands in the device against throughput times response time, of the report's own figures. The window cuts off at
    // most what is in flight at its ends.
    for preset in mqscope_core::device::PRESETS {
        let slow = preset.rotational && !preset.name.starts_with("null");
        let scenario = reads(preset.name, 4, 4, if slow { 30_000 } else { 40 });
        let mut sim = Sim::new(&scenario).expect("the scenario is valid");
        sim.run();
        let report = sim.report();
        let q = &report.queues[0];
        let (n, product) = (q.in_flight, q.requests_per_s * q.phases.d2c_ns / 1e9);
        assert!(
            n > 0.0 && (n - product).abs() <= 0.01 * n,
            "{}: {n} in flight, X R = {product}",
            preset.name
        );
        // A closed loop of 16: whoever is not in flight is with the host.
        assert!(n <= 16.0, "{}: {n} of 16", preset.name);
    }
}

/// Volumes of 8 SSDs that take whatever is offered, in the 72-CPU machine.
fn volumes(names: &[&str], numjobs: u32) -> Scenario {
    let mut scenario = reads("hba-r0-8ssd", numjobs, 64, 30);
    scenario.machine = "xeon-gold-6150-2s".into();
    let deep =
        |name: &&str| DeviceConfig { queue_depth: Some(2048), ..DeviceConfig::new(name, "hba-r0-8ssd") };
    scenario.devices = names.iter().map(deep).collect();
    if let Workload::Jobs(jobs) = &mut scenario.workload {
        jobs[0].files = (0..names.len() as u16).collect();
    }
    scenario
}

#[test]
fn two_volumes_together_stop_at_the_adapter() {
    // Members allow 16 x 133 K; the host link allows 1.65 M.
    let found = iops(&volumes(&["sdb", "sdc"], 32));
    assert!((1_600_000.0..=1_655_000.0).contains(&found), "{found}");
}

#[test]
fn one_volume_stops_at_its_members() {
    // 1024 in flight: 1070 K computed elsewhere for eight members with 133 K each, whose bound is 1064 K.
    let found = iops(&volumes(&["sdb"], 16));
    assert!((1_040_000.0..=1_065_000.0).contains(&found), "{found}");
}
