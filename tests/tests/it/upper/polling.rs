//! Where completions run: on the CPU that polls for them, or where rq_affinity sends them.

use super::{letters, picked, psync, run, scenario, script};
use mqscope_core::event::{Context, Kind};
use mqscope_core::report::Report;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Engine, JobSpec, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn disk(poll_queues: u16) -> DeviceConfig {
    DeviceConfig { poll_queues, ..DeviceConfig::new("nvme0n1", "p4800x-375") }
}

fn uring(numjobs: u32, iodepth: u32, ios: u64) -> JobSpec {
    JobSpec {
        engine: Engine::IoUring,
        iodepth,
        iodepth_batch_submit: iodepth,
        hipri: true,
        ..psync(100, numjobs, ios)
    }
}

fn setup(poll_queues: u16, job: JobSpec) -> Scenario {
    scenario("6.1", vec![disk(poll_queues)], Workload::Jobs(vec![job]))
}

#[test]
fn a_polled_read_completes_in_its_own_task() {
    let sim = run(&setup(2, uring(1, 1, 1)));
    assert_eq!(letters(&sim, 0), "Q G D C");
    let hctxs = sim.topology().queues[0].hctxs.len();
    assert_eq!(hctxs, 4 + 2, "one for each CPU, and two to be polled");
    let found = picked(&sim, |event| match event.kind {
        Kind::Polled { hctx, .. } => Some((hctx, event.context)),
        Kind::Irq { hctx, .. } => panic!("an interrupt of hctx {hctx}"),
        _ => None,
    });
    assert_eq!(found, [(4, Context::Task)]);
}

#[test]
fn who_polls_never_sleeps_and_learns_earlier() {
    let report = |poll: u16| -> Report { run(&setup(poll, uring(1, 1, 200))).report() };
    let (polled, interrupted) = (report(1), report(0));
    // All of one CPU's time is used.
    let spun = polled.cpu.total_ns * polled.total.iops / 1e9;
    assert!((0.98..=1.02).contains(&spun), "{spun}");
    assert!(interrupted.cpu.total_ns < polled.cpu.total_ns);
    assert!(polled.total.lat.mean_ns + 1_000.0 < interrupted.total.lat.mean_ns);
    let says = |report: &Report| report.warnings.iter().any(|w| w.contains("poll_queues"));
    assert!(says(&interrupted) && !says(&polled), "{:?}", polled.warnings);
}

#[test]
fn a_poll_queue_with_fewer_tags_than_reads_is_polled_for_tags() {
    let disk = DeviceConfig { nr_requests: Some(3), ..disk(1) };
    // Two tasks a CPU share the one poll queue.
    let sim = run(&scenario("6.1", vec![disk], Workload::Jobs(vec![uring(8, 16, 64)])));
    let report = sim.report();
    assert_eq!(report.total.ios, 8 * 64);
    assert_eq!(report.queues[0].tag_waits, 0, "nobody sleeps for a tag that no interrupt would free");
}

#[test]
fn who_does_not_poll_gets_interrupts_on_the_same_disk() {
    let plain = JobSpec { hipri: false, ..uring(1, 4, 50) };
    let sim = run(&scenario("6.1", vec![disk(1)], Workload::Jobs(vec![uring(1, 4, 50), plain])));
    let of = |hctx: u16| {
        picked(&sim, |event| match event.kind {
            Kind::Polled { hctx: h, .. } | Kind::Irq { hctx: h, .. } if h == hctx => Some(()),
            _ => None,
        })
        .len()
    };
    let polled = picked(&sim, |event| matches!(event.kind, Kind::Polled { .. }).then_some(()));
    assert_eq!((of(4), polled.len()), (50, 50));
    assert_eq!((0..4).map(of).sum::<usize>(), 50);
}

/// CPU of C, and how many completions were sent on, for one read from `cpu` on a disk whose one hctx interrupts CPU 0.
fn completed_on(kernel: &str, rq_affinity: u8, cpu: u16) -> (u16, usize) {
    let disk = DeviceConfig { rq_affinity, nr_hw_queues: Some(1), ..disk(0) };
    let mut setup = scenario(kernel, vec![disk], script(&format!("cpu {cpu}\nb r@0+4\nwait\n")));
    setup.machine = "xeon-gold-6150-2s".into();
    let sim = run(&setup);
    let on = picked(&sim, |event| matches!(event.kind, Kind::Complete { .. }).then_some(event.cpu));
    assert_eq!(on.len(), 1);
    let sent = picked(&sim, |event| match event.kind {
        Kind::Ipi { target } => Some(target),
        _ => None,
    });
    assert!(sent.iter().all(|&target| target == cpu));
    (on[0], sent.len())
}

#[test]
fn rq_affinity_decides_on_which_cpu_a_request_completes() {
    // CPUs 0 to 17 and their siblings from 36 on are socket 0, the others socket 1.
    for kernel in ["4.14", "5.4", "6.1"] {
        assert_eq!(completed_on(kernel, 0, 5), (0, 0), "{kernel}: where the interrupt is");
        assert_eq!(completed_on(kernel, 0, 20), (0, 0), "{kernel}");
        assert_eq!(completed_on(kernel, 1, 5), (0, 0), "{kernel}: the same socket");
        assert_eq!(completed_on(kernel, 1, 20), (20, 1), "{kernel}: the submitter's socket");
        assert_eq!(completed_on(kernel, 2, 5), (5, 1), "{kernel}: the submitter itself");
        assert_eq!(completed_on(kernel, 2, 36), (36, 1), "{kernel}: not its sibling");
        assert_eq!(completed_on(kernel, 2, 0), (0, 0), "{kernel}");
    }
}
