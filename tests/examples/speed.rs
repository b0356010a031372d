//! The measured run as a wasm module without imports: `cargo xtask bench` calls it from Node.

use mqscope_tests::speed;

/// Runs report 000 once; the number of events.
#[unsafe(no_mangle)]
pub extern "C" fn run(log: u32) -> f64 {
    speed::run(log != 0).events as f64
}
