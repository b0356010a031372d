//! The lock of a file in front of the queue.

use super::{picked, psync, run, scenario, with};
use mqscope_core::event::{Kind, Sleep};
use mqscope_core::report::Report;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Engine, JobSpec, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Service time of the disk, ns: long enough to make waking and switching small beside it.
const SERVICE_NS: u64 = 500_000;

/// Jobs on one file of a disk of fixed service time that takes any number of commands at once.
fn on_a_file(policy: &str, jobs: Vec<JobSpec>) -> Scenario {
    let disk = DeviceConfig {
        completion_ns: Some(SERVICE_NS),
        file_lock: Some("ext4".into()),
        ..DeviceConfig::new("nullb0", "null")
    };
    with(scenario("5.4", vec![disk], Workload::Jobs(jobs)), &[("dio_lock", policy)])
}

fn report(policy: &str, jobs: Vec<JobSpec>) -> Report {
    run(&on_a_file(policy, jobs)).report()
}

#[track_caller]
fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance * wanted, "{found}, but {wanted} is due");
}

#[test]
fn one_writer_is_as_fast_with_the_lock_as_without() {
    let locked = report("wr-exclusive", vec![psync(0, 1, 100)]);
    let mut free = on_a_file("wr-exclusive", vec![psync(0, 1, 100)]);
    free.devices[0].file_lock = None;
    let free = run(&free).report();
    assert_eq!(locked.total.file_lock_waits, 0);
    near(locked.total.iops, free.total.iops, 0.01);
    near(locked.total.iops, 1e9 / locked.total.lat.mean_ns, 0.02);
}

#[test]
fn exclusive_writers_together_do_what_one_does() {
    let one = report("wr-exclusive", vec![psync(0, 1, 100)]);
    let four = report("wr-exclusive", vec![psync(0, 4, 100)]);
    // Throughput is 1 / (write + hand-over); the hand-over, a wake-up and a switch, takes the place of user time.
    near(four.total.iops, one.total.iops, 0.02);
    // Each waits for the three others, but for the time at the start and end.
    near(four.total.file_lock_wait_ns, 3.0 * one.total.lat.mean_ns, 0.05);
    near(four.queues[0].in_flight, 1.0, 0.03);
}

#[test]
fn shared_writers_scale() {
    let one = report("shared", vec![psync(0, 1, 100)]);
    let four = report("shared", vec![psync(0, 4, 100)]);
    near(four.total.iops, 4.0 * one.total.iops, 0.02);
    assert_eq!(four.total.file_lock_waits, 0);
}

#[test]
fn readers_scale_where_writers_do_not() {
    let one = report("wr-exclusive", vec![psync(100, 1, 100)]);
    let four = report("wr-exclusive", vec![psync(100, 4, 100)]);
    near(four.total.iops, 4.0 * one.total.iops, 0.02);
}

#[test]
fn readers_that_hold_it_only_for_submission_overlap_with_each_other_but_wait_for_writers() {
    let readers = report("rd-submit-only", vec![psync(100, 3, 60)]);
    near(readers.queues[0].in_flight, 3.0, 0.05);
    // A reader's submission waits for the write under way; the write then overlaps with the reader's own wait.
    let mixed = report("rd-submit-only", vec![psync(0, 1, 60), psync(100, 1, 60)]);
    near(mixed.queues[0].in_flight, 1.98, 0.05);
    let exclusive = report("wr-exclusive", vec![psync(0, 1, 60), psync(100, 1, 60)]);
    near(exclusive.queues[0].in_flight, 1.0, 0.03);
}

#[test]
fn xfs_shares_its_lock_on_every_kernel() {
    let mut setup = on_a_file("wr-exclusive", vec![psync(0, 4, 50)]);
    setup.devices[0].file_lock = Some("xfs".into());
    assert_eq!(run(&setup).report().total.file_lock_waits, 0);
}

#[test]
fn processes_with_a_file_each_do_not_meet() {
    let own = JobSpec { own_files: true, ..psync(0, 4, 50) };
    assert_eq!(report("wr-exclusive", vec![own]).total.file_lock_waits, 0);
    let named = |file: &str| JobSpec { file: file.into(), ..psync(0, 1, 50) };
    assert_eq!(report("wr-exclusive", vec![named("a"), named("b")]).total.file_lock_waits, 0);
    assert!(report("wr-exclusive", vec![named("a"), named("a")]).total.file_lock_waits > 40);
}

#[test]
fn an_asynchronous_engine_holds_it_only_while_it_submits() {
    let job = JobSpec { engine: Engine::Libaio, iodepth: 8, ..psync(0, 1, 64) };
    let report = report("wr-exclusive", vec![job]);
    near(report.queues[0].in_flight, 8.0, 0.1);
}

#[test]
fn the_lock_goes_first_in_first_out_and_readers_side_by_side_go_together() {
    let start = |job: JobSpec, us: u64, cpu: u16| JobSpec {
        startdelay_ns: us * 1000,
        cpus_allowed: Some(vec![cpu]),
        ..job
    };
    // A writer holds it; then come a reader, a reader, a writer, each by 50 us later (20 us is the spread of starts).
    let jobs = vec![
        start(psync(0, 1, 1), 0, 0),
        start(psync(100, 1, 1), 50, 1),
        start(psync(100, 1, 1), 100, 2),
        start(psync(0, 1, 1), 150, 3),
    ];
    let sim = run(&on_a_file("wr-exclusive", jobs));
    let order = picked(&sim, |event| match event.kind {
        Kind::FileLockWait { waiters, exclusive, .. } => {
            Some(format!("{} waits behind {waiters} {exclusive}", event.task))
        }
        Kind::FileLockAcquire { .. } => Some(format!("{} takes it", event.task)),
        Kind::FileLockRelease { .. } => Some(format!("{} gives it", event.task)),
        Kind::TaskSleep { why: Sleep::FileLock } => Some(format!("{} sleeps", event.task)),
        _ => None,
    });
    let expected = [
        "0 takes it",
        "1 waits behind 0 false",
        "1 sleeps",
        "2 waits behind 1 false",
        "2 sleeps",
        "3 waits behind 2 true",
        "3 sleeps",
        "0 gives it",
        "1 takes it",
        "2 takes it",
        "1 gives it",
        "2 gives it",
        "3 takes it",
        "3 gives it",
    ];
    assert_eq!(order, expected);
    let waits = picked(&sim, |event| match event.kind {
        Kind::FileLockAcquire { wait_ns, .. } => Some(wait_ns),
        _ => None,
    });
    // The first reader waits for what is left of the write, and for its wake-up.
    assert_eq!(waits[0], 0);
    near(waits[1] as f64, (SERVICE_NS - 50_000) as f64, 0.1);
}

#[test]
fn a_wake_up_of_the_lock_costs_what_the_machine_says() {
    let mut setup = on_a_file("wr-exclusive", vec![psync(0, 2, 20)]);
    setup.machine = "xeon-gold-6150-2s".into();
    let sim = run(&setup);
    let mut freed = None;
    let hand_overs = picked(&sim, |event| match event.kind {
        Kind::FileLockRelease { .. } => {
            freed = Some(event.at_ns);
            None
        }
        Kind::FileLockAcquire { wait_ns, .. } if wait_ns > 0 => freed.map(|at| event.at_ns - at),
        _ => None,
    });
    assert!(hand_overs.len() > 30);
    assert!(hand_overs.iter().all(|ns| (5_000..=15_000).contains(ns)), "{hand_overs:?}");
}
