//! Every published case gives what its file says: its numbers in their bands, its known misses where they were seen.

use mqscope_core::cases::{Case, Group, Verdict, cases};
use mqscope_tests::case_runs::{How, run};
use std::fmt::Write as _;

#[test]
fn every_number_of_every_case_is_where_its_file_says() {
    let published: Vec<&'static Case> = cases().iter().filter(|case| case.group != Group::Rule).collect();
    let how = How { reduced: true, what_ifs: false, threads: 2 };
    let runs = run(&published, how).unwrap_or_else(|e| panic!("{e}"));
    let mut wrong = String::new();
    for run in runs {
        for outcome in run.results.outcomes().iter().filter(|o| o.verdict() == Verdict::Changed) {
            let (check, value) = (&outcome.check, outcome.value);
            let expected = match &check.miss {
                None => format!("in {:?}", check.band),
                Some(miss) => format!("outside {:?}, seen in {:?}", check.band, miss.seen),
            };
            _ = writeln!(wrong, "{}: {}: {value:?}, expected {expected}", run.case.name, check.name);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
