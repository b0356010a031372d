//! From what the user named to a scenario, or to findings shown at their line.

use anyhow::{Context, Result, bail};
use mqscope_core::diag::Diagnostic;
use mqscope_core::event::Event;
use mqscope_core::format::iob;
use mqscope_core::scenario::{DeviceConfig, Scenario, ScenarioError};
use mqscope_core::topology::Topology;
use mqscope_core::workload::Workload;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Largest file that is read, bytes.
const FILE_MAX: u64 = 64 << 20;
/// Longest part of a line that is shown under a finding, characters.
const SHOWN_MAX: usize = 100;

/// What a file turned out to be.
pub enum Loaded {
    /// A scenario, and warnings as text.
    Scenario {
        /// What runs.
        scenario: Scenario,
        /// Text for the user.
        warnings: String,
    },
    /// Errors as text.
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Scenario,
    Fio,
    Batch,
}

/// Reads a file, standard input (`-`), or a preset.
pub fn load(name: &str) -> Result<Loaded> {
    let path = Path::new(name);
    if name != "-" && !path.exists() {
        if let Some(scenario) = preset(name) {
            return Ok(Loaded::Scenario { scenario, warnings: String::new() });
        }
        let names = presets().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        bail!("{name}: no such file, and no such preset (presets: {names})");
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
    Ok(parse(name, &bytes))
}

fn parse(name: &str, bytes: &[u8]) -> Loaded {
    let text = String::from_utf8_lossy(bytes);
    let title = Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    match form(name, &text) {
        Form::Scenario => match Scenario::from_toml(&text) {
            Ok(scenario) => Loaded::Scenario { scenario, warnings: String::new() },
            Err(error) => Loaded::Refused(show(name, &text, &[diagnostic(&error)])),
        },
        Form::Fio => fio(name, title, bytes, &text),
        Form::Batch => match iob::parse(bytes) {
            Ok(parsed) => {
                let names = (0..parsed.devices().max(1)).map(|i| format!("nullb{i}")).collect::<Vec<_>>();
                let warnings = show(name, &text, &parsed.warnings);
                let scenario = scenario(title, &names, Workload::Batch(parsed.script));
                Loaded::Scenario { scenario, warnings }
            }
            Err(findings) => Loaded::Refused(show(name, &text, &findings)),
        },
    }
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
fn scenario(title: String, disks: &[String], workload: Workload) -> Scenario {
    let batch = matches!(workload, Workload::Batch(_));
    let model = if batch { "null" } else { "p4510-2t" };
    Scenario {
        title,
        seed: 1,
        duration_ns: if batch { 10_000_000_000 } else { 50_000_000 },
        warmup_ns: if batch { 0 } else { 5_000_000 },
        machine: String::from(if batch { "small" } else { "xeon-gold-6150-2s" }),
        kernel: String::from("4.14"),
        set: BTreeMap::new(),
        devices: disks.iter().map(|name| DeviceConfig::new(name, model)).collect(),
        workload,
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

/// Presets: (name, title).
pub fn presets() -> Vec<(String, String)> {
    Vec::new()
}

fn preset(_name: &str) -> Option<Scenario> {
    None
}

fn fio(name: &str, _title: String, _bytes: &[u8], _text: &str) -> Loaded {
    Loaded::Refused(format!("{name}: fio jobs are not read yet\n"))
}

/// Prints events.
#[derive(Default)]
pub struct Blkparse {}

impl Blkparse {
    /// The line of an event, if blktrace would have one.
    pub fn line(&mut self, _topology: &Topology, event: &Event) -> Option<String> {
        event.kind.letter().map(str::to_owned)
    }
}
