//! Nothing is lost and nothing is doubled: bios, requests, tags, depth, locks.

use crate::scenarios::{self, Shown};
use mqscope_core::Sim;
use mqscope_core::kernel::{self, ROWS};
use mqscope_core::scenario::Scenario;
use mqscope_tests::audit::Audit;
use mqscope_tests::determinism::EVENTS_MAX;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs to the end and audits the log as it goes.
pub fn audited(scenario: &Scenario) -> (Sim, Audit) {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    let mut audit = Audit::default();
    let mut more = true;
    while more {
        more = sim.run_events(10_000);
        audit.read(sim.topology(), sim.log().events());
        sim.log_mut().clear();
        assert!(sim.events() < EVENTS_MAX, "no end within {EVENTS_MAX} events");
    }
    (sim, audit)
}

proptest! {
    #![proptest_config(scenarios::config())]

    #[test]
    fn what_is_queued_ends_once_and_what_is_taken_is_given_back(Shown(scenario) in scenarios::any()) {
        let (sim, audit) = audited(&scenario);
        prop_assert!(sim.now_ns() < scenario.duration_ns, "the workload did not end by itself");
        prop_assert!(audit.ios() > 0);
        let ios = sim.report().total.ios;
        prop_assert_eq!(ios, audit.ios(), "the report counts other I/Os than the log");
        let violations = audit.finish();
        prop_assert!(violations.is_empty(), "{}", violations.join("\n"));
    }

    #[test]
    fn a_policy_changed_under_way_loses_nothing(
        Shown(scenario) in scenarios::any().prop_map(scenarios::without_priorities),
        changes in vec((1_u64..400, select(ROWS.iter().map(|r| r.name).collect::<Vec<_>>())), 1..6),
    ) {
        let mut sim = Sim::new(&scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
        sim.log_mut().set_on(true);
        let mut audit = Audit::default();
        for (events, name) in changes {
            sim.run_events(events);
            sim.set_knobs(kernel::row(name).expect("a row of the table").knobs.clone());
        }
        prop_assert!(!sim.run_events(EVENTS_MAX), "no end within {} events", EVENTS_MAX);
        prop_assert!(sim.now_ns() < scenario.duration_ns, "the workload did not end by itself");
        audit.read(sim.topology(), sim.log().events());
        let violations = audit.finish();
        prop_assert!(violations.is_empty(), "{}", violations.join("\n"));
    }

    #[test]
    fn a_run_that_is_cut_short_breaks_no_rule_either(Shown(mut scenario) in scenarios::any(), us in 1_u64..2_000) {
        scenario.duration_ns = us * 1_000;
        let (_, audit) = audited(&scenario);
        prop_assert!(audit.violations().is_empty(), "{}", audit.violations().join("\n"));
    }
}
