//! The case files, as far as they can be judged without long runs.

use super::*;
use crate::Sim;
use crate::event::Kind;
use serde_json::json;

#[test]
fn every_cell_of_every_case_builds_at_both_lengths() {
    for case in cases() {
        for row in 0..case.row_count() {
            for column in 0..case.columns.len() {
                let [full, reduced] = [false, true]
                    .map(|reduced| case.scenario(row, column, reduced).unwrap_or_else(|e| panic!("{e}")));
                let name = format!("{}, row {row}, column {column}", case.name);
                assert!(reduced.duration_ns <= full.duration_ns, "{name}");
                let sim = Sim::new(&reduced).unwrap_or_else(|e| panic!("{name}: {e}"));
                let report = sim.report();
                for check in case.all_checks() {
                    let known = match (check.metric.kind.of(), &check.metric.of) {
                        (_, None) => true,
                        (Of::Job, Some(of)) => report.jobs.iter().any(|job| job.name == *of),
                        (_, Some(of)) => report.queues.iter().any(|queue| queue.name == *of),
                    };
                    assert!(known, "{name}: check '{}' asks of {:?}", check.name, check.metric.of);
                }
            }
        }
    }
}

#[test]
fn names_are_unique_and_published_cases_say_their_source() {
    for case in cases() {
        assert_eq!(cases().iter().filter(|other| other.name == case.name).count(), 1, "{}", case.name);
        let published = case.group != Group::Rule;
        assert_eq!(published, !case.source.is_empty(), "{}: source", case.name);
        assert_eq!(published, !case.checks.is_empty(), "{}: checks", case.name);
        assert!(!case.about.is_empty() && !case.sides().is_empty(), "{}", case.name);
    }
}

#[test]
fn a_table_over_an_array_changes_one_element_or_all() {
    let mut value = json!({ "jobs": [{ "n": 1, "keep": true }, { "n": 2 }] });
    merge(&mut value, &json!({ "jobs": { "*": { "n": 3 }, "1": { "bs": 4 } } }), "case").expect("it fits");
    assert_eq!(value, json!({ "jobs": [{ "n": 3, "keep": true }, { "n": 3, "bs": 4 }] }));
    merge(&mut value, &json!({ "jobs": [1] }), "case").expect("it replaces");
    assert_eq!(value, json!({ "jobs": [1] }));
    let error = merge(&mut value, &json!({ "jobs": { "1": 0 } }), "case").expect_err("one element only");
    assert!(error.contains("case.jobs.1"), "{error}");
}

#[test]
fn a_check_without_the_place_it_names_is_refused() {
    let mut case = cases()[0].clone();
    assert_eq!(case.check(), Ok(()));
    case.checks[0].at.column = "elsewhere".into();
    assert!(case.check().is_err_and(|e| e.contains("elsewhere")));
}

#[test]
fn a_known_miss_that_turns_into_a_hit_is_a_change() {
    let check = |miss| Check { band: [1.0, 2.0], miss, ..cases()[0].checks[0].clone() };
    let miss = || Some(Miss { seen: [3.0, 4.0], because: "it is so".into() });
    let verdict = |value, miss| Outcome { check: check(miss), value: Some(value), published: None }.verdict();
    assert_eq!(verdict(1.5, None), Verdict::Hit);
    assert_eq!(verdict(2.5, None), Verdict::Changed);
    assert_eq!(verdict(3.5, miss()), Verdict::KnownMiss);
    assert_eq!(verdict(1.5, miss()), Verdict::Changed);
    assert_eq!(verdict(5.0, miss()), Verdict::Changed);
}

#[test]
fn the_doorbell_case_rings_for_each_command_and_once_for_a_batch() {
    let rings = case("nvme-doorbell").expect("the case").sides().into_iter().map(|(_, mut scenario)| {
        (scenario.duration_ns, scenario.warmup_ns) = (3_000_000, 0);
        let mut sim = Sim::new(&scenario).expect("it runs");
        sim.log_mut().set_on(true);
        sim.run();
        let count = |of: fn(&Kind) -> bool| sim.log().events().iter().filter(|e| of(&e.kind)).count() as f64;
        count(|k| matches!(k, Kind::Doorbell { .. })) / count(|k| matches!(k, Kind::Issue { .. }))
    });
    let rings: Vec<f64> = rings.collect();
    assert!(rings[0] > 0.99 && rings[1] < 0.3, "doorbells a command: {rings:?}");
}
