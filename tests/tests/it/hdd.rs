//! A rotating disk behind AHCI, as Linux sees it: the law of service through the whole path, on both paths. What the disk does
//! by itself is tested beside its model.

use mqscope_core::Sim;
use mqscope_core::device::DeviceView;
use mqscope_core::event::{Kind, Stage};
use mqscope_core::report::Report;
use mqscope_core::scenario::{DeviceConfig, Path, Scenario, WriteCache};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SECOND: u64 = 1_000_000_000;
const MIB: u32 = 1 << 20;

fn job() -> JobSpec {
    JobSpec { engine: Engine::Libaio, time_based: true, ..JobSpec::default() }
}

fn random(iodepth: u32) -> JobSpec {
    JobSpec { pattern: Pattern::Random, iodepth, ..job() }
}

fn on(kernel: &str, disk: DeviceConfig, job: JobSpec, seconds: u64) -> Scenario {
    Scenario {
        seed: 3,
        duration_ns: seconds * SECOND,
        warmup_ns: seconds * SECOND / 10,
        machine: "small".into(),
        kernel: kernel.into(),
        devices: vec![disk],
        workload: Workload::Jobs(vec![job]),
        ..Scenario::default()
    }
}

fn desktop() -> DeviceConfig {
    DeviceConfig::new("sda", "hdd-1t-desktop")
}

fn report(scenario: &Scenario) -> Report {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.run();
    sim.report()
}

#[test]
fn a_lone_reader_sees_command_seek_half_a_turn_and_transfer() {
    // 12.6 ms, 80 IOPS; the standard error of 4300 reads is 0.07 ms.
    for (kernel, path) in [("6.1", None), ("4.14", None), ("4.19", Some(Path::Legacy))] {
        let scheduler = if path.is_some() { "noop" } else { "none" };
        let disk = DeviceConfig { path, scheduler: scheduler.into(), ..desktop() };
        let report = report(&on(kernel, disk, random(1), 60));
        let ms = report.total.lat.mean_ns / 1e6;
        assert!((ms - 12.6).abs() < 0.3, "{kernel}: {ms}");
        assert!((report.total.iops - 80.0).abs() < 2.0, "{kernel}: {}", report.total.iops);
    }
}

#[test]
fn the_port_takes_32_commands_and_31_before_linux_4_18() {
    for (kernel, path, depth) in [
        ("4.14", None, 31),
        ("4.16", Some(Path::Legacy), 31),
        ("4.19", None, 32),
        ("4.19", Some(Path::Legacy), 32),
        ("6.1", None, 32),
    ] {
        let scheduler = if path.is_some() { "noop" } else { "none" };
        let disk = DeviceConfig { path, scheduler: scheduler.into(), ..desktop() };
        let sim = Sim::new(&on(kernel, disk.clone(), random(64), 3)).expect("the scenario is valid");
        assert_eq!(sim.topology().queues[0].queue_depth, depth, "{kernel}");
        let report = report(&on(kernel, disk, random(64), 10));
        // On the legacy path one more has its D and waits for room.
        let most = depth + u32::from(path.is_some());
        assert_eq!(report.queues[0].in_flight_max, most, "{kernel}");
        // Ten times the turns, less the guard: 206 IOPS as computed for 32 in the disk's queue.
        assert!((report.total.iops / 206.0 - 1.0).abs() < 0.1, "{kernel}: {}", report.total.iops);
    }
}

#[test]
fn disks_are_hosts_of_their_own() {
    let mut scenario = on("6.1", desktop(), random(32), 10);
    let alone = report(&scenario).total.iops;
    scenario.devices.push(DeviceConfig::new("sdb", "hdd-1t-desktop"));
    scenario.workload =
        Workload::Jobs(vec![random(32), JobSpec { files: vec![1], name: "other".into(), ..random(32) }]);
    let both = report(&scenario);
    assert!((both.total.iops / alone - 2.0).abs() < 0.1, "{} and {alone}", both.total.iops);
}

#[test]
fn sequential_jobs_run_at_the_rate_of_their_place() {
    // At 99 % of the disk: sqrt(210^2 - (210^2 - 100^2) 0.99) = 101.7 MB/s.
    for (offset, due) in [(0, 210e6), (990_000_000_000, 101.7e6)] {
        let offset = Amount::Bytes(offset);
        for rwmixread in [100, 0] {
            let job = JobSpec { bs: [MIB; 2], iodepth: 4, rwmixread, offset, ..job() };
            let found = report(&on("6.1", desktop(), job, 4)).total.bandwidth;
            assert!((found / due - 1.0).abs() < 0.02, "from {offset:?}: {found}, {due} is due");
        }
    }
}

#[test]
fn a_disk_whose_write_cache_is_off_loses_a_turn_for_each_lone_write() {
    // 512 KiB: a request may have 168 segments, and a larger write would be two that the disk puts in its own order.
    let write = |iodepth, cache| {
        let disk = DeviceConfig { write_cache: Some(cache), ..desktop() };
        let job = JobSpec { bs: [MIB / 2; 2], iodepth, rwmixread: 0, ..job() };
        report(&on("6.1", disk, job, 4)).total.bandwidth / 1e6
    };
    // Whatever the host takes is hidden in the turn: 512 KiB / (512 KiB / 210 MB/s + 8.33 ms) = 48.4 MB/s.
    let found = [
        write(1, WriteCache::WriteThrough),
        write(4, WriteCache::WriteThrough),
        write(1, WriteCache::WriteBack),
    ];
    for (found, due) in found.into_iter().zip([48.4, 210.0, 210.0]) {
        assert!((found / due - 1.0).abs() < 0.02, "{found} MB/s, {due} is due");
    }
}

#[test]
fn an_fsync_waits_for_what_the_cache_holds() {
    // One cached write and its flush: seek, settling and half a turn for each of them.
    let job = JobSpec { engine: Engine::Psync, rwmixread: 0, fsync: 1, ..random(1) };
    let report = report(&on("6.1", desktop(), job, 10));
    let cycle_ms = 1e3 / report.total.iops;
    assert!((cycle_ms - (8.2 + 0.5 + 4.17)).abs() < 0.5, "{cycle_ms}");
    assert!(report.queues[0].flushes > 0);
}

#[test]
fn an_fsync_after_n_scattered_writes_takes_time_in_proportion_to_n() {
    // Time of a round of n writes and their fsync, ms; the writes themselves end in the cache.
    let round_ms = |n: u32| {
        let job = JobSpec { engine: Engine::Psync, rwmixread: 0, fsync: n, ..random(1) };
        let report = report(&on("6.1", desktop(), job, 60));
        f64::from(n) * 1e3 / report.total.iops
    };
    let [few, some, many] = [32, 64, 128].map(round_ms);
    let (first, second) = ((some - few) / 32.0, (many - some) / 64.0);
    assert!((second / first - 1.0).abs() < 0.15, "{first} and {second} ms a write: not linear");
    // Between a read at depth 32 and a write that nobody orders.
    assert!((0.9 * 1e3 / 206.0..8.2 + 0.5 + 4.17).contains(&second), "{second} ms a write");
}

#[test]
fn stages_of_a_read_follow_each_other_and_fill_its_time_at_the_disk() {
    let mut sim = Sim::new(&on("6.1", desktop(), random(4), 2)).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let mut stages = std::collections::BTreeMap::<u32, Vec<(Stage, u64, u64)>>::new();
    let (mut issued, mut checked) = (std::collections::BTreeMap::new(), 0);
    for event in sim.log().events() {
        match event.kind {
            Kind::DeviceStage { rq, stage, start_ns, end_ns, .. } if rq != 0 => {
                stages.entry(rq).or_default().push((stage, start_ns, end_ns));
            }
            Kind::Issue { rq, .. } => _ = issued.insert(rq, event.at_ns),
            Kind::Irq { rq, .. } => {
                let passed = &stages[&rq];
                assert!(passed.windows(2).all(|pair| pair[0].2 == pair[1].1), "{passed:?}");
                assert_eq!(passed[passed.len() - 1].2, event.at_ns);
                assert!(passed[0].1 >= issued[&rq] && passed[0].0 == Stage::Link, "{passed:?}");
                assert!(passed.iter().any(|p| p.0 == Stage::Transfer), "{passed:?}");
                checked += 1;
            }
            _ => {}
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn the_view_shows_what_the_disk_is_at() {
    let mut sim = Sim::new(&on("6.1", desktop(), random(16), 1)).expect("the scenario is valid");
    let mut seen = std::collections::BTreeSet::new();
    for ms in 1..1000 {
        sim.run_until(ms * 1_000_000);
        let Some(DeviceView::Hdd(view)) = sim.device_view(0) else { panic!("a rotating disk can be seen") };
        assert!((0.0..=1.0).contains(&view.arm) && (0.0..1.0).contains(&view.angle));
        assert!(view.cylinder < view.cylinders && view.queued.len() <= 32);
        // A turn takes 8.333 ms.
        let turned = (sim.now_ns() % 8_333_333) as f32 / 8_333_333.0;
        assert!((view.angle - turned).abs() < 1e-3, "{} instead of {turned}", view.angle);
        seen.insert(format!("{:?}", view.work));
    }
    assert!(["Seek", "Rotate"].iter().all(|w| seen.contains(*w)), "{seen:?}");
    assert!(sim.device_view(1).is_none());
}
