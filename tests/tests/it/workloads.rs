//! What a workload means: rates, several files, ramps, ends, and numbers at the edge of what is allowed.

use mqscope_core::Sim;
use mqscope_core::event::{Kind, Op};
use mqscope_core::report::Report;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn scenario(disks: &[DeviceConfig], duration_ns: u64, workload: Workload) -> Scenario {
    Scenario {
        title: String::new(),
        seed: 3,
        duration_ns,
        machine: "desktop".into(),
        kernel: "6.1".into(),
        devices: disks.to_vec(),
        workload,
        ..Scenario::default()
    }
}

fn null(name: &str) -> DeviceConfig {
    DeviceConfig::new(name, "null")
}

fn run(scenario: &Scenario) -> Report {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.run();
    sim.report()
}

#[test]
fn a_rate_limit_does_not_delay_the_reaping_of_what_is_done() {
    for (iodepth, rate_poisson) in [(1, false), (4, false), (32, true)] {
        let job = JobSpec {
            engine: Engine::Libaio,
            pattern: Pattern::Random,
            iodepth,
            rate_iops: [Some(1000), None],
            rate_poisson,
            time_based: true,
            ..JobSpec::default()
        };
        let report = run(&scenario(&[null("nullb0")], 200_000_000, Workload::Jobs(vec![job])));
        // The device takes 10 us; the rest is the path, a wake-up and a system call.
        assert!(report.total.lat.mean_ns < 25_000.0, "depth {iodepth}: {}", report.total.lat.mean_ns);
        assert!((report.total.iops - 1000.0).abs() < 100.0, "depth {iodepth}: {}", report.total.iops);
    }
}

#[test]
fn each_file_and_direction_has_its_own_sequence() {
    let job = JobSpec {
        engine: Engine::Libaio,
        rwmixread: 50,
        files: vec![0, 1],
        iodepth: 8,
        io_size: Some(Amount::Bytes(400 * 4096)),
        ..JobSpec::default()
    };
    let scenario = scenario(&[null("a"), null("b")], 1_000_000_000, Workload::Jobs(vec![job]));
    let mut sim = Sim::new(&scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let mut next = [[0_u64; 2]; 2];
    let mut seen = 0;
    for event in sim.log().events() {
        if let Kind::Queue { queue, extent, .. } = event.kind {
            let due = &mut next[usize::from(queue)][usize::from(extent.op == Op::Write)];
            assert_eq!(extent.sector, *due, "disk {queue}, {:?}", extent.op);
            *due += u64::from(extent.sectors);
            seen += 1;
        }
    }
    assert_eq!(seen, 400);
}

#[test]
fn no_cpu_is_busy_for_longer_than_the_run() {
    let job = JobSpec {
        thinktime_ns: 10_000_000_000,
        thinktime_spin_ns: 10_000_000_000,
        time_based: true,
        ..JobSpec::default()
    };
    let report = run(&scenario(&[null("nullb0")], 10_000_000, Workload::Jobs(vec![job])));
    let one_cpu = 100.0 / f64::from(report.cpu.cpus);
    assert!(report.cpu.busy_percent <= one_cpu * 1.001, "{} %", report.cpu.busy_percent);
    assert!(report.cpu.busy_percent > one_cpu * 0.9, "{} %", report.cpu.busy_percent);
}

#[test]
fn a_run_ends_with_its_last_io_and_not_with_a_timer() {
    let ios = (0..12).map(|i| BatchIo { op: Op::Read, device: 0, offset: i * 1_048_576, len: 4096 });
    let steps = vec![BatchStep::Submit(ios.collect()), BatchStep::Wait];
    let disk = DeviceConfig { queue_depth: Some(2), ..DeviceConfig::new("sdb", "hba-r0-8ssd") };
    let scenario = scenario(
        &[disk],
        1_000_000_000,
        Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps }),
    );
    let mut sim = Sim::new(&scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let last = sim.log().events().iter().rev().find(|e| matches!(e.kind, Kind::Reap { .. }));
    assert_eq!(Some(sim.report().end_ns), last.map(|e| e.at_ns));
}

#[test]
fn a_ramp_does_not_count() {
    let job = JobSpec {
        engine: Engine::Libaio,
        ramp_time_ns: 5_000_000,
        runtime_ns: Some(5_000_000),
        time_based: true,
        ..JobSpec::default()
    };
    let report = run(&scenario(&[null("nullb0")], 1_000_000_000, Workload::Jobs(vec![job])));
    assert!((4_900_000..5_200_000).contains(&report.window_ns), "{}", report.window_ns);
}

#[test]
fn a_second_volume_takes_its_share_of_tags_only_when_it_is_used() {
    let disk = |name| DeviceConfig { nr_requests: Some(8), ..DeviceConfig::new(name, "hba-r0-8ssd") };
    let job = |files: Vec<u16>| JobSpec {
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth: 32,
        files,
        time_based: true,
        ..JobSpec::default()
    };
    let most = |files: Vec<u16>| {
        let jobs = Workload::Jobs(files.into_iter().map(|f| job(vec![f])).collect());
        let mut scenario = scenario(&[disk("sdb"), disk("sdc")], 20_000_000, jobs);
        scenario.warmup_ns = 5_000_000;
        run(&scenario).queues[0].in_flight_max
    };
    assert_eq!(most(vec![0]), 8, "alone");
    assert_eq!(most(vec![1, 0]), 4, "two in use");
}

#[test]
fn a_read_does_not_wait_for_data_that_is_still_on_its_way() {
    let io = |op, offset, len| BatchIo { op, device: 0, offset, len };
    let reads_after = |len| {
        let steps = vec![
            BatchStep::Submit(vec![io(Op::Write, 0, len), io(Op::Read, 1 << 30, 4096)]),
            BatchStep::Wait,
        ];
        let script = Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps });
        let mut sim = Sim::new(&scenario(&[DeviceConfig::new("nvme0n1", "p3700-800")], 1 << 30, script))
            .expect("the scenario is valid");
        sim.log_mut().set_on(true);
        sim.run();
        let at = |want: fn(&Kind) -> bool| sim.log().events().iter().find(|e| want(&e.kind)).map(|e| e.at_ns);
        let read = |k: &Kind| matches!(k, Kind::Issue { extent, .. } if extent.op == Op::Read);
        let done = |k: &Kind| matches!(k, Kind::Complete { extent, .. } if extent.op == Op::Read);
        at(done).expect("the read completes") - at(read).expect("the read is issued")
    };
    assert!(reads_after(1 << 20) < reads_after(4096) + 5_000);
}

#[test]
fn times_beyond_all_measure_are_refused_by_name() {
    let refused = |workload: Workload| {
        Sim::new(&scenario(&[null("nullb0")], 1_000_000, workload))
            .expect_err("it must be refused")
            .to_string()
    };
    let jobs = |job: JobSpec| Workload::Jobs(vec![job]);
    let far = u64::MAX;
    let defaults = JobSpec::default;
    assert!(refused(jobs(JobSpec { startdelay_ns: far, ..defaults() })).contains("startdelay"));
    assert!(refused(jobs(JobSpec { thinktime_ns: far, ..defaults() })).contains("thinktime"));
    assert!(refused(jobs(JobSpec { ramp_time_ns: far, ..defaults() })).contains("ramp_time"));
    assert!(refused(jobs(JobSpec { runtime_ns: Some(far), ..defaults() })).contains("runtime"));
    let script = |steps| Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps });
    assert!(refused(script(vec![BatchStep::Sleep(far)])).contains("sleep"));
    assert!(refused(script(vec![BatchStep::Wait; 200_000])).contains("steps"));
}

#[test]
fn every_hctx_has_a_cpu() {
    for nr in [1, 2, 36, 40, 64, 71, 72] {
        let mut scenario = scenario(
            &[DeviceConfig { nr_hw_queues: Some(nr), ..null("nullb0") }],
            1_000_000,
            Workload::Jobs(vec![JobSpec::default()]),
        );
        scenario.machine = "xeon-gold-6150-2s".into();
        let sim = Sim::new(&scenario).expect("the scenario is valid");
        let hctxs = &sim.topology().hctxs;
        assert_eq!(hctxs.len(), usize::from(nr));
        assert!(hctxs.iter().all(|h| !h.cpus.is_empty()), "{nr} hctxs");
    }
}

#[test]
fn ioscheduler_of_a_job_attaches_the_scheduler_to_its_disk() {
    let set = |name: &str| {
        let job = JobSpec { ioscheduler: Some(name.into()), ..JobSpec::default() };
        let scenario = scenario(&[DeviceConfig::new("nullb0", "null")], 1_000_000, Workload::Jobs(vec![job]));
        let sim = Sim::new(&scenario).expect("the scenario is valid");
        (sim.topology().queues[0].scheduler.clone(), sim.report().warnings)
    };
    let (attached, warnings) = set("bfq");
    assert_eq!(attached, "bfq");
    assert!(!warnings.iter().any(|w| w.contains("ioscheduler")), "{warnings:?}");
    let (attached, warnings) = set("cfq");
    assert_eq!(attached, "none");
    assert!(warnings.iter().any(|w| w.contains("ioscheduler=cfq is not modelled")), "{warnings:?}");
}
