//! Writeback throttling.

use super::{picked, psync, run, scenario, script};
use mqscope_core::Sim;
use mqscope_core::event::{Kind, Sleep};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, JobSpec, SyncFileRange, SyncRange, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A job whose writes go through the page cache, each sent at once as an asynchronous one and waited for.
fn asynchronous(job: JobSpec) -> JobSpec {
    let how = SyncRange { write: true, wait_after: true, ..SyncRange::default() };
    JobSpec { direct: false, own_files: true, sync_file_range: Some(SyncFileRange { every: 1, how }), ..job }
}

/// `n` scattered 4 KiB writes of a flusher thread.
fn writeback(n: u64) -> Workload {
    let ops: String = (0..n).map(|i| format!(" w@{}+4", i * 64)).collect();
    script(&format!("wb{ops}\nwait\n"))
}

/// A null device of fixed time with 32 tags.
fn disk(ms: u64) -> DeviceConfig {
    DeviceConfig {
        completion_ns: Some(ms * 1_000_000),
        nr_requests: Some(32),
        ..DeviceConfig::new("nullb0", "null")
    }
}

fn most_in_flight(sim: &Sim) -> u32 {
    sim.report().queues[0].in_flight_max
}

fn throttled(scenario: &Scenario) -> (u64, u32) {
    let sim = run(scenario);
    (sim.report().queues[0].wbt_waits, most_in_flight(&sim))
}

#[test]
fn writeback_is_held_at_the_normal_limit() {
    // Depth 16 of 32 tags: max 16, normal 8, background 4.
    for kernel in ["4.14", "4.19", "5.4", "6.12"] {
        let (waits, most) = throttled(&scenario(kernel, vec![disk(1)], writeback(40)));
        assert_eq!(most, 8, "{kernel}");
        assert!(waits > 0, "{kernel}");
    }
}

#[test]
fn direct_writes_and_reads_are_not_throttled() {
    let ops: String =
        (0..30).map(|i| format!(" {}@{}+4", if i % 2 == 0 { 'w' } else { 'r' }, i * 64)).collect();
    let (waits, most) = throttled(&scenario("5.4", vec![disk(1)], script(&format!("b{ops}\nwait\n"))));
    assert_eq!((waits, most), (0, 30));
}

#[test]
fn it_is_off_with_bfq_before_4_10_and_when_told() {
    let off = |setup: Scenario| assert_eq!(throttled(&setup), (0, 32));
    off(scenario("4.4", vec![disk(1)], writeback(40)));
    off(scenario("5.4", vec![DeviceConfig { wbt_lat_usec: Some(0), ..disk(1) }], writeback(40)));
    let bfq = DeviceConfig { scheduler: "bfq".into(), ..disk(1) };
    assert_eq!(throttled(&scenario("5.4", vec![bfq.clone()], writeback(40))).0, 0);
    let told = DeviceConfig { wbt_lat_usec: Some(2000), ..bfq };
    assert!(throttled(&scenario("5.4", vec![told], writeback(40))).0 > 0);
}

#[test]
fn a_throttled_task_leaves_its_plug_to_a_kworker() {
    let sim = run(&scenario("5.4", vec![disk(1)], writeback(9)));
    let steps = picked(&sim, |event| match event.kind {
        Kind::WbtWait { in_flight, limit, .. } => Some(format!("wait {in_flight}/{limit}")),
        Kind::Unplug { count, explicit, .. } => {
            Some(format!("{} {count}", if explicit { "U" } else { "UT" }))
        }
        Kind::TaskSleep { why: Sleep::Wbt } => Some("sleep".into()),
        _ => None,
    });
    assert_eq!(steps, ["wait 8/8", "UT 8", "sleep", "U 1"]);
}

#[test]
fn the_limit_is_lower_beside_reads() {
    // A read completes, the writes follow within 100 ms: background limit.
    let ops: String = (0..20).map(|i| format!(" w@{}+4", i * 64)).collect();
    let soon = script(&format!("b r@0+4\nwait\nwb{ops}\nwait\n"));
    assert_eq!(throttled(&scenario("5.4", vec![disk(1)], soon)).1, 4);
    let late = script(&format!("b r@0+4\nwait\nsleep 101000\nwb{ops}\nwait\n"));
    assert_eq!(throttled(&scenario("5.4", vec![disk(1)], late)).1, 8);
}

/// (time ms, max, normal, background) of every change.
fn limits(sim: &Sim) -> Vec<(u64, u32, u32, u32)> {
    picked(sim, |event| match event.kind {
        Kind::WbtLimits { max, normal, background, .. } => {
            Some((event.at_ns / 1_000_000, max, normal, background))
        }
        _ => None,
    })
}

#[test]
fn windows_of_writes_alone_let_it_grow_to_three_quarters_of_the_depth() {
    let job = asynchronous(JobSpec {
        numjobs: 12,
        runtime_ns: Some(500_000_000),
        time_based: true,
        size: Some(Amount::Bytes(1 << 28)),
        ..psync(0, 12, 1)
    });
    let sim = run(&scenario("5.4", vec![disk(1)], Workload::Jobs(vec![job])));
    // 1 + (15 << 1) = 31 is above 24 of 32.
    let changes: Vec<_> =
        limits(&sim).into_iter().map(|(_, max, normal, background)| (max, normal, background)).collect();
    assert_eq!(changes, [(24, 12, 6)]);
    assert_eq!(most_in_flight(&sim), 12);
}

#[test]
fn reads_above_the_target_step_it_down_once_a_window() {
    // Reads take 5 ms, the target is 2 ms.
    let reads = JobSpec { runtime_ns: Some(450_000_000), time_based: true, ..psync(100, 1, 1) };
    let writes = asynchronous(JobSpec { runtime_ns: Some(450_000_000), time_based: true, ..psync(0, 2, 1) });
    let sim = run(&scenario("5.4", vec![disk(5)], Workload::Jobs(vec![reads, writes])));
    let found = limits(&sim);
    let steps: Vec<_> = found.iter().map(|&(_, max, normal, background)| (max, normal, background)).collect();
    // 1 + (15 >> step); windows of 1600 ms / isqrt((step + 1) * 256): 100, 72, 59, 50 ms.
    assert_eq!(steps[..4], [(8, 4, 2), (4, 2, 1), (2, 2, 1), (1, 1, 1)]);
    let at: Vec<u64> = found.iter().map(|&(at, ..)| at).collect();
    assert!((100..=102).contains(&at[0]), "{at:?}");
    for (i, wanted) in [72, 59, 50].into_iter().enumerate() {
        assert!((at[i + 1] - at[i]).abs_diff(wanted) <= 2, "{at:?}");
    }
}

#[test]
fn places_are_handed_over_in_order_since_5_0() {
    // Two tasks want more than there is; the order of waiting is the order of waking.
    let job = asynchronous(psync(0, 3, 40));
    let disk = DeviceConfig { nr_requests: Some(2), ..disk(1) };
    let sim = run(&scenario("5.4", vec![disk], Workload::Jobs(vec![job])));
    let mut queue = std::collections::VecDeque::new();
    let mut woken = 0;
    for event in sim.log().events() {
        match event.kind {
            Kind::WbtWait { .. } => queue.push_back(event.task),
            Kind::TaskWake { task } if queue.contains(&task) => {
                assert_eq!(queue.pop_front(), Some(task));
                woken += 1;
            }
            _ => {}
        }
    }
    assert!(woken > 20, "{woken}");
}

#[test]
fn before_5_0_all_are_woken_and_some_go_back() {
    let waits_of_one_bio = |kernel: &str| {
        let job = asynchronous(psync(0, 6, 20));
        let disk = DeviceConfig { nr_requests: Some(1), ..disk(1) };
        let sim = run(&scenario(kernel, vec![disk], Workload::Jobs(vec![job])));
        let mut waits = std::collections::BTreeMap::new();
        for bio in picked(&sim, |event| match event.kind {
            Kind::WbtWait { bio, .. } => Some(bio),
            _ => None,
        }) {
            *waits.entry(bio).or_insert(0) += 1;
        }
        waits.into_values().max().unwrap_or(0)
    };
    assert!(waits_of_one_bio("4.19") > 1);
    assert_eq!(waits_of_one_bio("5.4"), 1);
}
