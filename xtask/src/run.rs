//! `cargo xtask run`: a scenario without a browser.

use anyhow::Result;

/// Simulate a scenario and print its report.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_args: &Args) -> Result<bool> {
    anyhow::bail!("not yet written")
}
