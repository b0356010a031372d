//! Conformance: a recording of a real kernel, replayed by the simulator.
//!
//! A recording is a folder with `meta.toml` (the machine's settings, read from sysfs and debugfs), a job (`job.iob`: the
//! exact `io_submit` calls; `job.fio`: a fio job) and `trace.blkparse.txt` (what blktrace saw). [`conform`] builds the
//! scenario that `meta.toml` and the job describe, runs it with the log on, and compares in two ways.
//!
//! Where one task ran, the order of its events repeats, and all is compared event by event:
//!
//! - the events of each task in order: letter, device, direction, sector, size, plug depth (the workers of one
//!   device count as one task: which of them ran is chance),
//! - the order of D and the order of C of each device.
//!
//! Where several tasks ran, a recording is one of many possible interleavings. Then the [facts] of the table
//! are compared, as far as they follow from a rule.
//!
//! Times are not compared: the recordings come from an emulated CPU and from timers far slower than any path.

mod compare;
pub mod facts;
mod recording;
mod scenario;
mod table;

pub use compare::{Difference, Stream, as_tracefs, simulated, streams};
pub use recording::{Actor, Job, Line, Meta, Recording, RecordingError};
pub use scenario::{Refusal, Replay, replay};
pub use table::{Counterpart, Entry, Expectation, Rule, Table, Traced, Violation};

use mqscope_core::Sim;
use std::fmt;

/// Simulator events after which a run that does not end is given up.
const EVENTS_MAX: u64 = 5_000_000;

/// What came out for one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All that was compared is equal.
    Conforms {
        /// Events compared one by one; `None` where only the rules are compared.
        events: Option<usize>,
        /// Rules that hold.
        rules: usize,
    },
    /// Something differs.
    Differs {
        /// The first event that differs, if events are compared.
        difference: Option<Box<Difference>>,
        /// Rules that are broken.
        violations: Vec<Violation>,
        /// Rules in all.
        rules: usize,
    },
    /// The recording needs this, which is not simulated.
    Unsupported(String),
    /// The recording or the table could not be used.
    Broken(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conforms { events: Some(events), rules } => {
                write!(f, "equal ({events} events; {rules} of {rules} rules hold)")
            }
            Self::Conforms { events: None, rules } => write!(f, "rules hold ({rules} of {rules})"),
            Self::Differs { difference, violations, rules } => {
                write!(f, "differs: {} of {rules} rules hold", rules - violations.len())?;
                violations.iter().try_for_each(|violation| write!(f, "\n    {violation}"))?;
                match difference {
                    Some(difference) => write!(f, "\n    {}", difference.to_string().trim_end()),
                    None => Ok(()),
                }
            }
            Self::Unsupported(feature) => write!(f, "unsupported: {feature}"),
            Self::Broken(why) => write!(f, "broken: {why}"),
        }
    }
}

/// Replays `recording` and compares.
pub fn conform(recording: &Recording, table: &Table) -> Verdict {
    let none = Entry::default();
    let entry = table.recordings.get(&recording.meta.name).unwrap_or(&none);
    if let Err(why) = entry.check_recording(&recording.trace, &table.reasons) {
        return Verdict::Broken(why);
    }
    if let Some(feature) = &entry.unsupported {
        return Verdict::Unsupported(feature.clone());
    }
    match run(recording, entry) {
        Ok(verdict) => verdict,
        Err(Refusal::Unsupported(feature)) => Verdict::Unsupported(feature),
        Err(Refusal::Broken(why)) => Verdict::Broken(why),
    }
}

fn run(recording: &Recording, entry: &Entry) -> Result<Verdict, Refusal> {
    let replay = replay(recording, entry.before.as_deref())?;
    let mut sim = Sim::new(&replay.scenario).map_err(scenario::refused)?;
    if let Some(why) = scenario::cpu_map_differs(recording, sim.topology()) {
        return Err(Refusal::Broken(why));
    }
    sim.log_mut().set_on(true);
    if sim.run_events(EVENTS_MAX) {
        return Err(Refusal::Broken(format!("the simulation did not end within {EVENTS_MAX} events")));
    }
    let mut ours = simulated(&sim, matches!(recording.job, Job::Fio(_)));
    ours.drain(..compare::start_of_bio(&ours, replay.bios_before));
    if recording.meta.is_from_tracefs() {
        as_tracefs(&mut ours);
    }
    let violations = entry.violations(&sim, &ours).map_err(Refusal::Broken)?;
    let rules = entry.rules();
    let sectors = replay.sectors.filter(|_| entry.rules_only.is_none());
    let difference = sectors.and_then(|sectors| {
        compare::first_difference(&streams(&recording.trace, sectors), &streams(&ours, sectors))
    });
    Ok(if difference.is_none() && violations.is_empty() {
        Verdict::Conforms { events: sectors.map(|_| recording.trace.len()), rules }
    } else {
        Verdict::Differs { difference: difference.map(Box::new), violations, rules }
    })
}
