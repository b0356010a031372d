//! From what the user named to scenarios, or to findings shown at their line.

use anyhow::{Context, Result, bail};
use mqscope_core::cases::{Case, case, cases};
use mqscope_core::device;
use mqscope_core::diag::Diagnostic;
use mqscope_core::format::{fio, iob};
use mqscope_core::host::machine;
use mqscope_core::scenario::{DeviceConfig, Scenario, ScenarioError};
use mqscope_core::workload::{JobSpec, Workload};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Largest file that is read, bytes.
const FILE_MAX: u64 = 64 << 20;
/// Longest name of a disk, characters.
const NAME_MAX: usize = 32;
/// Longest part of a line that is shown under a finding, characters.
const SHOWN_MAX: usize = 100;

/// Machine of jobs that do not say one.
const MACHINE: &str = "xeon-gold-6150-2s";
/// Simulated time of a job that does not end by itself, ns.
const DURATION_NS: u64 = 50_000_000;

/// What a file or a preset turned out to be.
pub enum Loaded {
    /// Scenarios (a preset has one for each side of its comparison), and warnings as text.
    Scenarios {
        /// (label, scenario); the label is empty for a file.
        sides: Vec<(String, Scenario)>,
        /// The published numbers that a preset is compared with.
        case: Option<&'static Case>,
        /// Text for the user.
        notes: String,
    },
    /// Errors as text.
    Refused(String),
}

/// What the options say that a job's reader must know.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Machine, if given.
    pub machine: Option<String>,
    /// Device model, if given.
    pub model: Option<String>,
    /// `${NAME}` of job files.
    pub variables: BTreeMap<String, String>,
}

impl Hints {
    fn machine(&self) -> &str {
        self.machine.as_deref().unwrap_or(MACHINE)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Scenario,
    Fio,
    Batch,
}

/// Reads a file, standard input (`-`), or a preset.
pub fn load(name: &str, hints: &Hints) -> Result<Loaded> {
    let path = Path::new(name);
    if name != "-" && !path.exists() {
        return preset(name);
    }
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().take(FILE_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > FILE_MAX {
        bail!("{name} is larger than {} MiB", FILE_MAX >> 20);
    }
    Ok(parse(name, &bytes, hints))
}

/// `seed-000`, or one side of it: `seed-000:2`.
fn preset(name: &str) -> Result<Loaded> {
    let (short, side) = name.split_once(':').unwrap_or((name, ""));
    let Some(case) = case(short) else {
        let names = cases().iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
        bail!("{name}: no such file, and no such preset (presets: {names})");
    };
    let mut sides: Vec<(String, Scenario)> =
        case.sides().into_iter().map(|(label, scenario)| (label.to_owned(), scenario)).collect();
    let count = sides.len();
    if !side.is_empty() {
        match side.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => sides = vec![sides.swap_remove(number - 1)],
            _ => bail!("{name}: {short} has sides 1 to {count}, for example {short}:1"),
        }
    }
    let case = (sides.len() == count).then_some(case);
    Ok(Loaded::Scenarios { sides, case, notes: String::new() })
}

/// A scenario from a file has no sides.
fn single(scenario: Scenario, notes: String) -> Loaded {
    Loaded::Scenarios { sides: vec![(String::new(), scenario)], case: None, notes }
}

fn parse(name: &str, bytes: &[u8], hints: &Hints) -> Loaded {
    let text = String::from_utf8_lossy(bytes);
    let title = match name {
        "-" => String::from("standard input"),
        _ => Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned()),
    };
    match form(name, &text) {
        Form::Scenario => match Scenario::from_toml(&text) {
            Ok(scenario) => single(scenario, String::new()),
            Err(error) => Loaded::Refused(show(name, &text, &[diagnostic(&error)])),
        },
        Form::Batch => match iob::parse(bytes) {
            Ok(parsed) => {
                let disks =
                    (0..parsed.devices().max(1)).map(|i| DeviceConfig::new(&format!("nullb{i}"), "null"));
                let notes = show(name, &text, &parsed.warnings);
                single(scenario(title, "small", disks.collect(), Workload::Batch(parsed.script)), notes)
            }
            Err(findings) => Loaded::Refused(show(name, &text, &findings)),
        },
        Form::Fio => jobs(name, title, bytes, &text, hints),
    }
}

fn jobs(name: &str, title: String, bytes: &[u8], text: &str, hints: &Hints) -> Loaded {
    let model_size = |model: &str| device::preset(model).map(|p| p.size);
    let context = fio::Context {
        variables: hints.variables.clone(),
        cpus: machine(hints.machine()).map_or(0, |m| u32::from(m.cpus())),
        disk_bytes: hints.model.as_deref().and_then(model_size),
        ..fio::Context::default()
    };
    let parsed = fio::parse(bytes, &context);
    let mut notes = show(name, text, &parsed.diagnostics);
    if !parsed.is_ok() {
        for ask in &parsed.asks {
            _ = writeln!(notes, "give ${{{0}}} a value with: --var {0}=VALUE", ask.name);
        }
        return Loaded::Refused(notes);
    }
    let disks: Vec<DeviceConfig> = parsed.files.iter().enumerate().map(|(i, file)| disk(i, file)).collect();
    if hints.model.is_none() {
        disks
            .iter()
            .for_each(|disk| _ = writeln!(notes, "{}: taken as {} (--device)", disk.name, disk.model));
    }
    single(scenario(title, hints.machine(), disks, Workload::Jobs(parsed.jobs)), notes)
}

/// The disk for what a job calls a file, with the model that its name makes likely.
fn disk(index: usize, file: &str) -> DeviceConfig {
    let name = file.strip_prefix("/dev/").filter(|name| !name.is_empty() && !name.contains('/'));
    let name = name.map_or_else(|| format!("disk{index}"), |name| name.chars().take(NAME_MAX).collect());
    let model = match name.as_str() {
        name if name.starts_with("sd") => "hba-r0-8ssd",
        name if name.starts_with("null") || name.starts_with("loop") => "null",
        _ => "p4510-2t",
    };
    DeviceConfig::new(&name, model)
}

/// By the name's ending, else by the first line that says something.
fn form(name: &str, text: &str) -> Form {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("toml") => return Form::Scenario,
        Some("iob") => return Form::Batch,
        Some("fio") => return Form::Fio,
        _ => {}
    }
    let first =
        text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with(['#', ';'])).unwrap_or_default();
    let has_table = ["[workload", "[[devices", "[[workload"].iter().any(|t| text.contains(t));
    match first.split_whitespace().next() {
        Some("cpu" | "b" | "wait" | "sleep" | "fsync") => Form::Batch,
        _ if has_table => Form::Scenario,
        _ => Form::Fio,
    }
}

/// A scenario with the defaults of everything that a job does not say.
fn scenario(title: String, machine: &str, devices: Vec<DeviceConfig>, workload: Workload) -> Scenario {
    let endless = |job: &JobSpec| job.time_based;
    // Only a workload that goes on can be measured after a warm-up; others are measured whole.
    let (duration_ns, warmup_ns) = match &workload {
        Workload::Batch(_) => (10_000_000_000, 0),
        Workload::Dbench(_) => (5_000_000_000, 1_000_000_000),
        Workload::Jobs(jobs) => (DURATION_NS, if jobs.iter().all(endless) { DURATION_NS / 10 } else { 0 }),
    };
    Scenario {
        title,
        duration_ns,
        warmup_ns,
        machine: machine.into(),
        kernel: String::from("4.14"),
        devices,
        workload,
        ..Scenario::default()
    }
}

fn diagnostic(error: &ScenarioError) -> Diagnostic {
    match error {
        ScenarioError::Text { line, column, message } => {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            Diagnostic::error(number(*line), number(*column), message.as_str(), "")
        }
        other => Diagnostic::error(0, 0, other.to_string(), ""),
    }
}

/// Findings as a compiler shows them: the sentence, then the line with a caret.
fn show(name: &str, text: &str, findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for finding in findings {
        _ = writeln!(out, "{name}: {finding}");
        let line = (finding.line as usize).checked_sub(1).and_then(|n| text.lines().nth(n));
        let Some(line) = line else { continue };
        let column = (finding.column as usize).saturating_sub(1);
        // A long line is cut so that the culprit stays in view.
        let skip = column.saturating_sub(SHOWN_MAX * 3 / 4);
        let cut: String =
            line.chars().skip(skip).take(SHOWN_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
        _ = writeln!(out, "{:>5} | {cut}", finding.line);
        if finding.column > 0 {
            _ = writeln!(out, "      | {}^", " ".repeat(column - skip));
        }
    }
    out
}
