//! `cargo xtask bench`: how fast the core is.

use crate::shell::Run;
use anyhow::Result;

/// Measure events and simulated requests per second, natively and in wasm.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bench")]
pub struct Args {}

/// Runs the command.
pub fn bench(_args: &Args) -> Result<bool> {
    Run::cargo(&["bench", "--workspace"]).status()
}
