//! Laws of queues that hold whatever the policy is, and the report's numbers against those of the log.

use crate::scenarios::{self, Shown};
use mqscope_core::Sim;
use mqscope_core::event::QueueId;
use mqscope_core::report::Report;
use mqscope_core::scenario::Scenario;
use mqscope_tests::determinism::EVENTS_MAX;
use mqscope_tests::recount::Recount;
use proptest::prelude::*;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Relative tolerance of Little's law.
const TOLERANCE: f64 = 0.01;

fn counted(scenario: &Scenario) -> (Report, Recount) {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    let queues = sim.topology().queues.len();
    let hctx_queue: Vec<QueueId> = sim.topology().hctxs.iter().map(|h| h.queue).collect();
    let mut recount = Recount::default();
    let mut more = true;
    while more {
        more = sim.run_events(10_000);
        recount.read(queues, &hctx_queue, sim.log().events());
        sim.log_mut().clear();
        assert!(sim.events() < EVENTS_MAX, "no end within {EVENTS_MAX} events");
    }
    (sim.report(), recount)
}

/// Panics unless the two are equal up to `tolerance`, relative to the second.
#[track_caller]
fn near(what: &str, found: f64, wanted: f64, tolerance: f64) {
    let scale = wanted.abs().max(1e-9);
    assert!((found - wanted).abs() <= tolerance * scale, "{what}: {found}, but {wanted} is due");
}

proptest! {
    #![proptest_config(scenarios::config())]

    #[test]
    fn little_holds_for_every_queue(Shown(scenario) in scenarios::any()) {
        let (report, _) = counted(&scenario);
        for q in &report.queues {
            near("aqu-sz", q.aqu_sz, q.requests_per_s * q.await_ns / 1e9, TOLERANCE);
            near("in flight", q.in_flight, q.requests_per_s * q.phases.d2c_ns / 1e9, TOLERANCE);
        }
    }

    #[test]
    fn the_report_says_what_the_log_says(Shown(scenario) in scenarios::any()) {
        let (report, counts) = counted(&scenario);
        let window = report.window_ns as f64;
        let per_s = |n: u64| n as f64 * 1e9 / window;
        prop_assert_eq!(report.total.ios, counts.ios);
        near("mean lat", report.total.lat.mean_ns, counts.lat_sum_ns as f64 / counts.ios as f64, 1e-6);
        prop_assert_eq!(report.total.lat.max_ns, counts.lat_max_ns);
        near("IOPS", report.total.iops, per_s(counts.ios), 1e-6);
        near("bandwidth", report.total.bandwidth, per_s(counts.sectors * 512), 1e-6);
        for (q, c) in report.queues.iter().zip(&counts.queues) {
            near("requests/s", q.requests_per_s, per_s(c.completed), 1e-6);
            near("merges/s", q.merges_per_s, per_s(c.merges), 1e-6);
            if c.completed > 0 {
                near("size", q.mean_sectors, c.sectors as f64 / c.completed as f64, 1e-6);
            }
            near("in flight", q.in_flight, c.in_flight_ns / window, 1e-3);
            near("aqu-sz", q.aqu_sz, c.held_ns / window, TOLERANCE);
            near("utilisation", q.utilisation, c.busy_ns as f64 / window, 1e-3);
            prop_assert_eq!(q.in_flight_max, c.in_flight_max);
            prop_assert_eq!(q.inserted, c.inserted);
            prop_assert_eq!(q.requeued, c.requeued);
            prop_assert_eq!(q.runs, c.runs);
            prop_assert_eq!(q.empty_runs, c.empty_runs);
            prop_assert_eq!(q.tag_waits, c.tag_waits);
            prop_assert_eq!(q.flushes, c.flushes);
        }
    }
}
