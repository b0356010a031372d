//! Runs of hctxs that come later: when a scheduler holds back what it has, who looks again, and what happens to runs that
//! were on their way.

use mqscope_core::Sim;
use mqscope_core::report::QueueReport;
use mqscope_core::scenario::{DeviceConfig, Scenario, WriteCache};
use mqscope_core::workload::{Dbench, LogWriter, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Clients whose log is written by a thread, on a rotating disk with bfq: it idles for whoever wrote last, while the others
/// wait for that one's commit.
fn scenario(kernel: &str, hctxs: u16, knobs: &[(&str, &str)]) -> Scenario {
    Scenario {
        duration_ns: 500_000_000,
        machine: "desktop".into(),
        kernel: kernel.into(),
        set: knobs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        devices: vec![DeviceConfig {
            scheduler: "bfq".into(),
            nr_hw_queues: Some(hctxs),
            completion_ns: Some(150_000),
            rotational: Some(true),
            write_cache: Some(WriteCache::WriteThrough),
            iosched: [(String::from("low_latency"), 0)].into(),
            ..DeviceConfig::new("sda", "scsi-debug")
        }],
        workload: Workload::Dbench(Dbench { clients: 8, log_writer: LogWriter::Worker, ..Dbench::default() }),
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario) -> QueueReport {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.run();
    sim.report().queues.remove(0)
}

#[test]
fn all_hctxs_look_again_when_the_scheduler_gives_nothing() {
    let many = run(&scenario("5.10", 16, &[]));
    assert!(many.delayed_runs > 50, "bfq idles: {}", many.delayed_runs);
    assert_eq!(many.works_delayed, 16 * many.delayed_runs, "each call arms each hctx");
    let one = run(&scenario("5.10", 1, &[]));
    assert!(one.delayed_runs > 50);
    assert_eq!(one.works_delayed, one.delayed_runs);
}

#[test]
fn a_run_of_all_is_a_run_of_one_where_the_scheduler_has_one_lock() {
    let one_of_many = run(&scenario("5.12", 16, &[]));
    assert!(one_of_many.delayed_runs > 50);
    assert_eq!(one_of_many.works_delayed, one_of_many.delayed_runs);
}

#[test]
fn nobody_looks_again_without_the_rule() {
    let report = run(&scenario("5.10", 16, &[("budget_rerun", "false")]));
    assert_eq!((report.delayed_runs, report.works_delayed), (0, 0));
    assert!(report.empty_runs > 0, "it still idles");
}

#[test]
fn hctxs_without_requests_of_their_own_do_not_ask_for_more_runs() {
    let two_clients = |knobs: &[(&str, &str)]| {
        let mut scenario = scenario("5.10", 16, knobs);
        // All timers of a tick fire together, so that none of them puts the others off.
        scenario.hz = 1000;
        if let Workload::Dbench(spec) = &mut scenario.workload {
            spec.clients = 2;
        }
        run(&scenario).delayed_runs
    };
    // They and the thread use three of the sixteen hctxs; without the counter each of the others polls as well.
    let (counted, asked) = (two_clients(&[]), two_clients(&[("elevator_queued", "false")]));
    assert!(asked > 2 * counted, "{asked} {counted}");
}

#[test]
fn a_delayed_run_takes_back_runs_that_wait_for_their_kworker() {
    let taken = run(&scenario("5.10", 16, &[]));
    assert!(taken.works_put_off > 0, "runs on their way come 3 ms late");
    assert!(taken.works_put_off <= taken.works_delayed);
    for rule in [("delay_takes_queued", "false"), ("delay_skips_pending", "true")] {
        assert_eq!(run(&scenario("5.10", 16, &[rule])).works_put_off, 0, "{rule:?}");
    }
}

#[test]
fn timers_that_wait_for_ticks_are_refused_beyond_reason() {
    let mut scenario = scenario("5.10", 1, &[]);
    scenario.hz = 10_001;
    let error = Sim::new(&scenario).expect_err("too many ticks").to_string();
    assert!(error.contains("hz"), "{error}");
}
