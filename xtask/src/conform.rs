//! `cargo xtask conform`: recordings of real kernels against the simulator.

use anyhow::{Context, Result, bail};
use mqscope_tests::conform::{Recording, Table, Verdict};
use std::path::{Path, PathBuf};

/// Replay recordings of real kernels and compare them, event by event or by rules.
///
/// Prints a line a recording: `equal` where all events and rules agree, `rules hold` where the order of events is chance
/// and only the rules are compared, `differs` with the first difference of both sides and the rules that are broken,
/// `unsupported` with the name of what is not simulated. The exit code is 0 only if no recording differs or is broken,
/// and at least one conforms.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask conform
  cargo xtask conform tests/recordings/k61-m01-order-null4q-none

A recording is a folder with meta.toml, trace.blkparse.txt and job.iob or job.fio. The rules are those of
tests/recordings/facts.toml and traced.toml.")]
pub struct Args {
    /// A recording, or a folder of recordings.
    #[arg(default_value = "tests/recordings", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// How many recordings came out how.
#[derive(Default)]
struct Score {
    equal: usize,
    by_rules: usize,
    differ: usize,
    unsupported: usize,
    events: usize,
    rules: usize,
    rules_broken: usize,
}

/// Runs the command; `false` if a recording differs.
pub fn conform(args: &Args) -> Result<bool> {
    let table = Table::read().map_err(anyhow::Error::msg)?;
    let mut recordings = Vec::new();
    for folder in &args.folders {
        recordings.extend(find(folder)?);
    }
    let width = recordings.iter().map(|r| name(r).chars().count()).max().unwrap_or(0);
    let mut score = Score::default();
    for folder in &recordings {
        let verdict = match Recording::read(folder) {
            Ok(recording) => mqscope_tests::conform::conform(&recording, &table),
            Err(error) => Verdict::Broken(error.to_string()),
        };
        println!("{:<width$}  {verdict}", name(folder));
        score.add(&verdict);
    }
    let Score { equal, by_rules, differ, unsupported, events, rules, rules_broken } = score;
    println!(
        "{} recordings: {equal} equal event by event ({events} events), {by_rules} by their rules, {differ} differ, \
         {unsupported} unsupported",
        recordings.len()
    );
    println!("{} of {rules} rules hold", rules - rules_broken);
    Ok(differ == 0 && equal + by_rules > 0)
}

impl Score {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Conforms { events, rules } => {
                self.rules += rules;
                self.events += events.unwrap_or(0);
                *(if events.is_some() { &mut self.equal } else { &mut self.by_rules }) += 1;
            }
            Verdict::Differs { violations, rules, .. } => {
                self.differ += 1;
                self.rules += rules;
                self.rules_broken += violations.len();
            }
            Verdict::Unsupported(_) => self.unsupported += 1,
            Verdict::Broken(_) => self.differ += 1,
        }
    }
}

fn name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// The folder itself if it is a recording, else the recordings in it, by name.
fn find(folder: &Path) -> Result<Vec<PathBuf>> {
    if folder.join("meta.toml").is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.join("meta.toml").is_file()).collect();
    if found.is_empty() {
        bail!("{}: neither a recording nor a folder of recordings (no meta.toml)", folder.display());
    }
    found.sort();
    Ok(found)
}
