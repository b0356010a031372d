//! Conformance: a recording of a real kernel, replayed by the simulator, event by event.
//!
//! A recording is a folder with `meta.toml` (the machine's settings, read from sysfs and debugfs), `job.iob` (the
//! exact `io_submit` calls) and `trace.blkparse.txt` (what blktrace saw). [`conform`] builds the scenario that
//! `meta.toml` describes, runs it with the log on, and compares
//!
//! - the events of each task in order: letter, device, direction, sector, size, plug depth (the workers of one
//!   device count as one task: which of them ran is chance),
//! - the order of D and the order of C of each device.
//!
//! Times are not compared: the recordings come from an emulated CPU and from timers far slower than any path.

mod compare;
mod recording;
mod scenario;

pub use compare::{Difference, Stream, simulated, streams};
pub use recording::{Actor, Line, Meta, Recording, RecordingError};
pub use scenario::scenario;

use mqscope_core::Sim;

/// Simulator events after which a run that does not end is given up.
const EVENTS_MAX: u64 = 5_000_000;

/// What came out for one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All streams are equal; so many events were compared.
    Equal {
        /// Lines of the recording that were compared.
        events: usize,
    },
    /// The first difference.
    Differs(Box<Difference>),
    /// The recording needs this, which is not simulated.
    Unsupported(String),
    /// The recording itself could not be used.
    Broken(String),
}

/// Replays `recording` and compares.
pub fn conform(recording: &Recording) -> Verdict {
    if let Some(feature) = recording.unsupported() {
        return Verdict::Unsupported(feature);
    }
    let scenario = match scenario(recording) {
        Ok(scenario) => scenario,
        Err(why) => return Verdict::Broken(why),
    };
    let mut sim = match Sim::new(&scenario) {
        Ok(sim) => sim,
        Err(why) => return Verdict::Broken(format!("the scenario of meta.toml is refused: {why}")),
    };
    if let Some(why) = scenario::cpu_map_differs(recording, sim.topology()) {
        return Verdict::Broken(why);
    }
    sim.log_mut().set_on(true);
    if sim.run_events(EVENTS_MAX) {
        return Verdict::Broken(format!("the simulation did not end within {EVENTS_MAX} events"));
    }
    let plain_unplug = recording.meta.has_no_ut();
    let ours = streams(&simulated(&sim), plain_unplug);
    let theirs = streams(&recording.trace, plain_unplug);
    match compare::first_difference(&theirs, &ours) {
        Some(difference) => Verdict::Differs(Box::new(difference)),
        None => Verdict::Equal { events: recording.trace.len() },
    }
}
