//! The scenario on which speed is measured, natively and in wasm.

use mqscope_core::Sim;
use mqscope_core::cases::case;
use mqscope_core::scenario::Scenario;

/// Simulated time of a measurement, ns.
pub const DURATION_NS: u64 = 20_000_000;

/// The first side of report 000: four processes on each of two RAID0 volumes, kernel 4.14.
///
/// # Panics
/// If the core has no such case.
pub fn seed_000() -> Scenario {
    let case = case("seed-000").expect("the core has the case seed-000");
    let (_, scenario) = case.sides.into_iter().next().expect("the case has a first side");
    Scenario { duration_ns: DURATION_NS, warmup_ns: 0, ..scenario }
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Events taken from the queue.
    pub events: u64,
    /// I/Os completed.
    pub ios: u64,
}

/// Runs [`seed_000`] once. With the log on, it is drained as a reader would.
///
/// # Panics
/// If the scenario is refused.
pub fn run(log: bool) -> Work {
    const CHUNK_EVENTS: u64 = 20_000;
    let mut sim = Sim::new(&seed_000()).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(log);
    while sim.run_events(CHUNK_EVENTS) {
        sim.log_mut().clear();
    }
    Work { events: sim.events(), ios: sim.report().total.ios }
}
