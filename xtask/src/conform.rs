//! `cargo xtask conform`: recordings of real kernels against the simulator.

use anyhow::{Context, Result, bail};
use mqscope_tests::conform::{Recording, Verdict};
use std::path::{Path, PathBuf};

/// Replay recordings of real kernels and compare them, event by event.
///
/// Prints a line a recording: `equal`, `differs` with the first difference of both sides, or `unsupported` with the
/// name of what is not simulated. The exit code is 0 only if no recording differs or is broken, and at least one is
/// equal.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask conform tests/recordings
  cargo xtask conform tests/recordings/k61-m01-order-null4q-none

A recording is a folder with meta.toml, job.iob and trace.blkparse.txt.")]
pub struct Args {
    /// A recording, or a folder of recordings.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// Runs the command; `false` if a recording differs.
pub fn conform(args: &Args) -> Result<bool> {
    let mut recordings = Vec::new();
    for folder in &args.folders {
        recordings.extend(find(folder)?);
    }
    let width = recordings.iter().map(|r| name(r).chars().count()).max().unwrap_or(0);
    let (mut equal, mut differ, mut unsupported) = (0, 0, 0);
    for folder in &recordings {
        let verdict = match Recording::read(folder) {
            Ok(recording) => mqscope_tests::conform::conform(&recording),
            Err(error) => Verdict::Broken(error.to_string()),
        };
        print!("{:<width$}  ", name(folder));
        match verdict {
            Verdict::Equal { events } => {
                equal += 1;
                println!("equal ({events} events)");
            }
            Verdict::Differs(difference) => {
                differ += 1;
                print!("differs: {difference}");
            }
            Verdict::Unsupported(feature) => {
                unsupported += 1;
                println!("unsupported: {feature}");
            }
            Verdict::Broken(why) => {
                differ += 1;
                println!("broken: {why}");
            }
        }
    }
    println!("{equal} equal, {differ} differ, {unsupported} unsupported");
    Ok(differ == 0 && equal > 0)
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
