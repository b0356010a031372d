//! One scenario, one outcome: run at once, stepped, in slices of time, with and without the log, and continued from
//! a checkpoint.

use mqscope_core::Sim;
use mqscope_core::scenario::Scenario;

/// Events after which a run that does not end is given up.
pub const EVENTS_MAX: u64 = 20_000_000;

/// A way to get from the start to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `run_events` with a number that is never reached.
    AtOnce,
    /// The same with the log on.
    Logged,
    /// `step` by `step`.
    Stepped,
    /// `run_until` in steps of this many ns.
    Sliced(u64),
    /// A clone is taken after this many events, the original runs to its end, then the clone does.
    Restored(u64),
}

/// What is compared: all that a run leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of the state.
    pub hash: u64,
    /// Events handled.
    pub events: u64,
    /// Simulated time, ns.
    pub now_ns: u64,
    /// The report, as text with all digits.
    pub report: String,
}

impl Outcome {
    fn of(sim: &Sim) -> Self {
        Self {
            hash: sim.state_hash(),
            events: sim.events(),
            now_ns: sim.now_ns(),
            report: format!("{:?}", sim.report()),
        }
    }
}

/// Runs the scenario to its end in this way.
///
/// # Panics
/// If the scenario is refused or does not end.
pub fn outcome(scenario: &Scenario, way: Way) -> Outcome {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    match way {
        Way::AtOnce => to_end(&mut sim),
        Way::Logged => {
            sim.log_mut().set_on(true);
            while sim.run_events(10_000) {
                sim.log_mut().clear();
                assert!(sim.events() < EVENTS_MAX, "no end within {EVENTS_MAX} events");
            }
        }
        Way::Stepped => {
            while sim.step() {
                assert!(sim.events() < EVENTS_MAX, "no end within {EVENTS_MAX} events");
            }
        }
        Way::Sliced(ns) => {
            let mut until = ns;
            while sim.run_until(until) {
                until += ns;
                // Nothing happens before the next event: do not walk through the gap.
                until = until.max(sim.next_event_ns().unwrap_or(0));
                assert!(sim.events() < EVENTS_MAX, "no end within {EVENTS_MAX} events");
            }
        }
        Way::Restored(events) => {
            sim.run_events(events);
            let mut checkpoint = sim.clone();
            assert_eq!(checkpoint.state_hash(), sim.state_hash(), "a clone has the same hash");
            to_end(&mut sim);
            to_end(&mut checkpoint);
            assert_eq!(Outcome::of(&checkpoint), Outcome::of(&sim), "restored after {events} events");
            return Outcome::of(&checkpoint);
        }
    }
    Outcome::of(&sim)
}

fn to_end(sim: &mut Sim) {
    assert!(!sim.run_events(EVENTS_MAX), "no end within {EVENTS_MAX} events");
}

/// Asserts that all ways lead to the same end; the outcome.
///
/// # Panics
/// If two ways differ.
pub fn same_in_all_ways(scenario: &Scenario) -> Outcome {
    let at_once = outcome(scenario, Way::AtOnce);
    let third = at_once.events / 3;
    let slice = (at_once.now_ns / 7).max(1);
    for way in [Way::Logged, Way::Stepped, Way::Sliced(slice), Way::Restored(third), Way::Restored(2 * third)]
    {
        let other = outcome(scenario, way);
        assert_eq!(other.hash, at_once.hash, "{way:?}: other state hash");
        assert_eq!(other.events, at_once.events, "{way:?}: other number of events");
        assert_eq!(other.report, at_once.report, "{way:?}: other report");
    }
    at_once
}
