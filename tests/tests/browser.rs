//! Determinism in a real browser: the same hashes as natively.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn state_hashes_are_those_of_the_native_run() {
    mqscope_tests::golden::check();
}
