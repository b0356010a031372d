//! fio jobs, from job files and from command lines, with fio 3.33's own meaning.
//!
//! [`parse`] takes whatever was pasted or dropped and gives either complete [`JobSpec`]s or all that stands in
//! the way, with line, column and remedy. What fio knows but the simulator does not model is a warning; what fio
//! would ignore in silence (an unknown unit, a fraction, a stray word) is an error, because the job would be
//! another one than its author thinks.
//!
//! Text becomes sections (`ini`, `shell`); sections become a draft by the rules of inheritance (`draft`); a draft
//! becomes a job with fio's defaults (`job`); files are put on disks (`place`).

mod draft;
mod ini;
mod job;
mod lists;
mod options;
mod place;
mod shell;
mod source;
mod units;
mod values;
mod words;
mod wrappers;

pub use options::names as option_names;
pub use source::Ask;

use super::text::{self, Findings, clean};
use crate::diag::Diagnostic;
use crate::workload::JobSpec;
use draft::{Applier, Draft};
use serde::{Deserialize, Serialize};
use source::{Run, Variables};
use std::collections::BTreeMap;

/// Most bytes of a job text.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// What the text may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Values of `${NAME}` and of the shell's `$NAME`.
    pub variables: BTreeMap<String, String>,
    /// CPUs of the simulated machine (`$ncpus`, and the limit of cpus_allowed); 0: not known.
    pub cpus: u32,
    /// Memory of the simulated machine, MB (`$mb_memory`); 0: not known.
    pub memory_mb: u64,
    /// Names of the disks, if they are fixed already; empty: one disk for each that the text names.
    pub disks: Vec<String>,
    /// Bytes of each disk, if known: a larger `size` is cut, with a warning.
    pub disk_bytes: Option<u64>,
}

/// What became of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It shapes the simulated job.
    Simulated,
    /// It has no effect at the block layer.
    None,
    /// It would have one, which is not simulated; a warning says what happens instead.
    NotSimulated,
}

/// An option that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Line, from 1.
    pub line: u32,
    /// Column of the name, from 1.
    pub column: u32,
    /// Section it stands in.
    pub section: String,
    /// fio's main name for it (`rw` where `readwrite` was written).
    pub option: String,
    /// Value with variables filled in; empty if there is none.
    pub value: String,
    /// What became of it.
    pub effect: Effect,
}

/// What a job text comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// The jobs, ready to run; empty if any diagnostic is an error.
    pub jobs: Vec<JobSpec>,
    /// What the text calls each disk, in order of appearance: a device (`/dev/sdb`), a file, or a directory if it
    /// has several files in one. [`JobSpec::files`] are indices into this. With [`Context::disks`] it has one
    /// entry for each of those, empty where the text does not use it.
    pub files: Vec<String>,
    /// Line and column, from 1, at which each of the disks that the text names is named first; as long as `files` where
    /// [`Context::disks`] is empty.
    pub places: Vec<(u32, u32)>,
    /// Errors and warnings, in line order.
    pub diagnostics: Vec<Diagnostic>,
    /// Variables that need a value; each is an error as well.
    pub asks: Vec<Ask>,
    /// The options accepted, in order of sections.
    pub accepted: Vec<Accepted>,
}

impl Parsed {
    /// Whether there are jobs to run.
    pub fn is_ok(&self) -> bool {
        !self.jobs.is_empty()
    }
}

/// Reads a job file or shell text with fio command lines.
pub fn parse(text: &[u8], context: &Context) -> Parsed {
    let text::Text { text, notes } = match clean(text, TEXT_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => return Parsed { diagnostics: vec![error], ..Parsed::default() },
    };
    let mut findings = Findings::default();
    notes.into_iter().for_each(|note| findings.add(note));
    let mut variables = Variables::new(context);
    let runs = if shell::is_shell(&text) {
        shell::read(&text, &mut variables, &mut findings)
    } else {
        vec![ini::read(&text, &mut variables, &mut findings)]
    };
    let mut accepted = Vec::new();
    let (jobs, files, places) = build(&runs, context, &mut findings, &mut accepted);
    let places = places.into_iter().map(|at| (at.line, at.column)).collect();
    let jobs = if findings.any_error() { Vec::new() } else { jobs };
    Parsed { jobs, files, places, diagnostics: findings.into_vec(), asks: variables.into_asks(), accepted }
}

/// Applies inheritance, phases and limits over all runs.
fn build(
    runs: &[Run],
    context: &Context,
    findings: &mut Findings,
    accepted: &mut Vec<Accepted>,
) -> (Vec<JobSpec>, Vec<String>, Vec<source::At>) {
    let mut plans = Vec::new();
    let (mut phase, mut run_phase) = (0, 0);
    for (number, run) in runs.iter().enumerate() {
        if number > 0 {
            phase = if run.with_previous { run_phase } else { phase + 1 };
            run_phase = phase;
        }
        let mut defaults = Draft::default();
        let (mut jobs, mut stonewalls) = (0, 0);
        for section in &run.sections {
            if findings.hopeless() {
                break;
            }
            let mut applier = Applier { context, findings, accepted, section_at: section.at };
            if section.global {
                applier.section(&mut defaults, section);
                continue;
            }
            let mut draft = defaults.clone();
            // A name in [global] would give all jobs one name.
            draft.name = None;
            applier.section(&mut draft, section);
            if draft.stonewall.as_ref().is_some_and(|set| set.value) {
                phase += u32::from(jobs > 0);
                stonewalls += 1;
            } else if stonewalls > 1 {
                job::warn_no_stonewall(section, findings);
            }
            jobs += 1;
            plans.push(job::finish(&draft, section, phase, findings));
        }
        if jobs == 0 && !findings.any_error() {
            job::error_no_job(run, findings);
        }
    }
    if runs.is_empty() && !findings.any_error() {
        job::error_no_job(&Run::default(), findings);
    }
    if findings.any_error() {
        // Values are missing, so anything said about processes and files would be about another job.
        return (Vec::new(), Vec::new(), Vec::new());
    }
    job::limit_processes(&mut plans, findings);
    place::on_disks(plans, context, findings)
}
