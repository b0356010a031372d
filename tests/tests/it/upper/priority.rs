//! I/O priorities from the process to the scheduler.

use super::{picked, psync, run, scenario, script};
use mqscope_core::event::{Kind, Prio, PrioClass};
use mqscope_core::report::Report;
use mqscope_core::scenario::DeviceConfig;
use mqscope_core::workload::{Amount, Engine, JobSpec, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// One command at a time, 1 ms each, behind mq-deadline.
fn disk() -> DeviceConfig {
    DeviceConfig {
        scheduler: "mq-deadline".into(),
        completion_ns: Some(1_000_000),
        nr_tags: Some(1),
        nr_requests: Some(64),
        ..DeviceConfig::new("nullb0", "null")
    }
}

/// First sectors in the order of D.
fn order(kernel: &str, steps: &str) -> Vec<u64> {
    picked(&run(&scenario(kernel, vec![disk()], script(steps))), |event| match event.kind {
        Kind::Issue { extent, .. } => Some(extent.sector),
        _ => None,
    })
}

#[test]
fn a_real_time_read_passes_those_in_the_scheduler_since_5_14() {
    let steps = "prio be 4\nb r@0+4 r@64+4 r@128+4 r@192+4\nprio rt 0\nb r@1000+4\nwait\n";
    // The second one has left the scheduler already and waits for a driver tag.
    assert_eq!(order("6.1", steps), [0, 128, 2000, 256, 384]);
    for kernel in ["4.14", "5.4", "5.10"] {
        assert_eq!(order(kernel, steps), [0, 128, 256, 384, 2000], "{kernel}");
    }
}

#[test]
fn without_a_class_a_process_is_best_effort() {
    let steps = "prio none\nb r@0+4 r@64+4 r@128+4\nprio be 0\nb r@1000+4\nprio idle\nb r@256+4\nwait\n";
    // The level within a class means nothing to mq-deadline; the idle one is last although it is next in sector order.
    assert_eq!(order("6.1", steps), [0, 128, 256, 2000, 512]);
}

fn job(class: PrioClass) -> JobSpec {
    JobSpec {
        runtime_ns: Some(900_000_000),
        time_based: true,
        prio: Prio { class, level: 0 },
        ..psync(100, 1, 1)
    }
}

/// A process of this class beside a best-effort one that keeps 16 reads queued.
fn beside_a_load(kernel: &str, class: PrioClass, ageing_ms: u64) -> Report {
    let load = JobSpec { engine: Engine::Libaio, iodepth: 16, ..job(PrioClass::Be) };
    let mut disk = disk();
    if kernel == "6.1" {
        disk.iosched.insert("prio_aging_expire".into(), ageing_ms);
    }
    run(&scenario(kernel, vec![disk], Workload::Jobs(vec![job(class), load]))).report()
}

#[test]
fn a_real_time_process_waits_for_what_has_left_the_scheduler_only() {
    let lat_ms = |kernel| beside_a_load(kernel, PrioClass::Rt, 10_000).jobs[0].lat.max_ns as f64 / 1e6;
    // Its own service, what is left of the one at the device, and the one that waits for its tag.
    assert!(lat_ms("6.1") < 3.1, "{}", lat_ms("6.1"));
    assert!(lat_ms("5.10") > 10.0, "{}", lat_ms("5.10"));
}

#[test]
fn an_idle_process_waits_until_it_has_aged() {
    let aged = beside_a_load("6.1", PrioClass::Idle, 50);
    let (least, most) = (aged.jobs[0].lat.min_ns / 1_000_000, aged.jobs[0].lat.max_ns / 1_000_000);
    assert!(aged.jobs[0].ios >= 15, "{}", aged.jobs[0].ios);
    assert!(most <= 50 + 3, "{most} ms");
    // Only the first may find the disk free.
    assert!(least < 50 && aged.jobs[0].lat.mean_ns > 48e6, "{least} ms");
    let ignored = beside_a_load("5.10", PrioClass::Idle, 0);
    assert!(ignored.jobs[0].lat.mean_ns < 40e6, "{}", ignored.jobs[0].lat.mean_ns);
}

#[test]
fn a_share_of_one_jobs_reads_can_be_real_time() {
    let job = |share| JobSpec {
        engine: Engine::Libaio,
        iodepth: 16,
        cmdprio_percentage: [share, 0],
        io_size: Some(Amount::Bytes(400 * 4096)),
        ..psync(100, 1, 1)
    };
    // Percentiles 10 and 90 of the latency, ms.
    let spread = |kernel: &str, share| {
        let sim = run(&scenario(kernel, vec![disk()], Workload::Jobs(vec![job(share)])));
        let mut lat: Vec<u64> = picked(&sim, |event| match event.kind {
            Kind::BioEnd { lat_ns, .. } => Some(lat_ns / 1_000_000),
            _ => None,
        });
        lat.sort_unstable();
        (lat[lat.len() / 10], lat[lat.len() * 9 / 10])
    };
    let (fast, slow) = spread("6.1", 20);
    assert!(fast <= 3 && slow >= 15, "{fast} ms, {slow} ms");
    // All alike: as without priorities.
    assert_eq!(spread("6.1", 100), spread("6.1", 0));
    assert_eq!(spread("5.10", 20), spread("5.10", 0));
}
