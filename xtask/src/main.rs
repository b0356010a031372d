//! `cargo xtask`: the project's commands. Each is one module.

mod bench;
mod cases;
mod conform;
mod run;
mod serve;
mod shell;
mod test;
mod tools;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The commands of mqscope: serve the page, test everything, run scenarios without a browser.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Args),
    Test(test::Args),
    Run(Box<run::Args>),
    Conform(conform::Args),
    Cases(cases::Args),
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::serve(&args),
        Command::Test(args) => test::test(&args),
        Command::Run(args) => run::run(&args),
        Command::Conform(args) => conform::conform(&args),
        Command::Cases(args) => cases::cases(&args),
        Command::Bench(args) => bench::bench(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
