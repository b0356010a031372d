//! The same scenario and seed give the same run, however it is driven and wherever it is compiled for.

use crate::scenarios::{self, Shown};
use mqscope_tests::determinism::{Way, outcome, same_in_all_ways};
use mqscope_tests::golden;
use proptest::prelude::*;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// `cargo xtask test --bless` writes the golden file anew.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn state_hashes_are_those_of_the_golden_file() {
    if std::env::var_os("MQSCOPE_BLESS").is_some() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hashes.txt");
        std::fs::write(&file, golden::lines()).expect("the golden file is writable");
    } else {
        golden::check();
    }
}

#[cfg(target_arch = "wasm32")]
#[test]
fn state_hashes_are_those_of_the_native_run() {
    golden::check();
}

#[test]
fn golden_scenarios_do_something() {
    for (name, scenario) in golden::scenarios() {
        assert!(outcome(&scenario, Way::AtOnce).events > 20, "{name}");
    }
}

#[test]
fn another_seed_gives_another_run() {
    for (name, scenario) in golden::scenarios().into_iter().filter(|(name, _)| name.starts_with("nvme")) {
        let mut other = scenario.clone();
        other.seed += 1;
        assert_ne!(outcome(&scenario, Way::AtOnce).hash, outcome(&other, Way::AtOnce).hash, "{name}");
    }
}

proptest! {
    #![proptest_config(scenarios::config())]

    #[test]
    fn random_scenarios_end_the_same_in_all_ways(Shown(scenario) in scenarios::any()) {
        same_in_all_ways(&scenario);
    }

    #[test]
    fn runs_that_are_cut_short_end_the_same_in_all_ways(Shown(mut scenario) in scenarios::any(), us in 1_u64..2_000) {
        scenario.duration_ns = us * 1_000;
        same_in_all_ways(&scenario);
    }

    #[test]
    fn any_checkpoint_continues_as_the_original(Shown(scenario) in scenarios::any(), permille in 0_u64..1000) {
        let events = outcome(&scenario, Way::AtOnce).events;
        outcome(&scenario, Way::Restored(events * permille / 1000));
    }
}
