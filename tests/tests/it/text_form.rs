//! A scenario survives being written as TOML and read again.

use crate::scenarios::{self, Shown};
use mqscope_core::cases::cases;
use mqscope_core::scenario::Scenario;
use proptest::prelude::*;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn cases_come_back_from_toml_as_they_were() {
    for case in cases() {
        for (label, scenario) in case.sides() {
            assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario), "{}: {label}", case.name);
        }
    }
}

proptest! {
    #![proptest_config(scenarios::config())]

    #[test]
    fn any_scenario_comes_back_from_toml_as_it_was(Shown(scenario) in scenarios::any()) {
        prop_assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
    }
}
