//! `cargo xtask cases`: published numbers beside simulated ones.

mod markdown;

use crate::run::text::number;
use crate::shell::root;
use anyhow::{Context, Result, bail};
use mqscope_core::cases::{Case, Group, Outcome, Verdict, case, cases as all};
use mqscope_tests::case_runs::{CaseRun, How, run};
use std::time::Instant;

/// Simulate the published cases, print their checks, and write docs/cases.md.
///
/// Each case is one file in core/src/cases/data; a file named here is read as it is now. Without names all cases run and docs/cases.md is written; with names
/// or --reduced nothing is written.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask cases
  cargo xtask cases seed-000 seed-004 --reduced
  cargo xtask cases --reduced --check
  cargo xtask cases core/src/cases/data/seed-004.toml --tables")]
pub struct Args {
    /// Cases to run, by name or as files (.toml); all published ones if none is named.
    names: Vec<String>,
    /// Run at reduced length, as the tests do.
    #[arg(long)]
    reduced: bool,
    /// Fail when a number is not where its case file says.
    #[arg(long)]
    check: bool,
    /// Vary what each case lists under sensitivity too (always done when docs/cases.md is written).
    #[arg(long)]
    sensitivity: bool,
    /// Print whole tables, not only checks.
    #[arg(long)]
    tables: bool,
    /// Print only how long each case took, and fail if the five reports took longer than 60 s of one thread.
    #[arg(long)]
    times: bool,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
}

/// Longest time of one thread for the five reports at reduced length, s.
const FIVE_MOST_S: f64 = 60.0;

/// Runs the command.
pub fn cases(args: &Args) -> Result<bool> {
    let chosen: Vec<&'static Case> = match args.names.is_empty() {
        true => all().iter().filter(|case| case.group != Group::Rule).collect(),
        false => args.names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    let writes = args.names.is_empty() && !args.reduced;
    let how =
        How { reduced: args.reduced, what_ifs: args.sensitivity || writes, threads: usize::from(args.jobs) };
    let start = Instant::now();
    let runs = run(&chosen, how)?;
    let mut changed = 0;
    for run in &runs {
        let outcomes = run.results.outcomes();
        changed += outcomes.iter().filter(|o| o.verdict() == Verdict::Changed).count();
        if !args.times {
            print(run, &outcomes);
        }
        if args.tables {
            println!("{}", markdown::tables(run));
        }
        if how.what_ifs {
            print!("{}", markdown::sensitivity(run));
        }
    }
    let fast = !args.times || times(&runs);
    println!("\n{}; {:.1} s", markdown::tally(&runs), start.elapsed().as_secs_f64());
    if writes {
        let path = root().join("docs/cases.md");
        std::fs::write(&path, markdown::document(&runs))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("written: {}", path.display());
    }
    if changed > 0 {
        println!("{changed} not where the case file says");
    }
    Ok(fast && (changed == 0 || !args.check))
}

/// Prints what each case took, and whether the five reports took no longer than they may.
fn times(runs: &[CaseRun]) -> bool {
    println!(
        "| {:<20} | {:>9} | {:>12} | {:>8} | {:>10} | {:>21} |",
        "case", "events", "simulated", "time", "events/s", "simulated over time"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for run in runs {
        let (simulated, took) = (run.simulated.as_secs_f64(), run.took.as_secs_f64());
        println!(
            "| {:<20} | {:>9} | {:>10.2} s | {:>6.2} s | {:>10.0} | {:>21.3} |",
            run.case.name,
            run.events,
            simulated,
            took,
            run.events as f64 / took,
            simulated / took
        );
    }
    let five = runs.iter().filter(|run| run.case.group == Group::Five);
    let seconds = five.map(|run| run.took.as_secs_f64()).sum::<f64>();
    println!("\nthe five reports together: {seconds:.1} s of one thread, at most {FIVE_MOST_S:.0}");
    seconds <= FIVE_MOST_S
}

fn named(name: &str) -> Result<&'static Case> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
        let case = Case::from_toml(&text).map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
        // It lives as long as those that are built in.
        return Ok(Box::leak(Box::new(case)));
    }
    match case(name) {
        Some(case) => Ok(case),
        None => {
            let names: Vec<_> = all().iter().map(|case| case.name.as_str()).collect();
            bail!("there is no case '{name}'; known: {}", names.join(", "))
        }
    }
}

fn print(run: &CaseRun, outcomes: &[Outcome]) {
    println!("\n{}: {} ({:.1} s)", run.case.name, run.case.title, run.took.as_secs_f64());
    for outcome in outcomes {
        let or_dash = |value: Option<f64>| value.map_or_else(|| String::from("-"), number);
        let verdict = match outcome.verdict() {
            Verdict::Hit => "hit",
            Verdict::KnownMiss => "MISS, as known",
            Verdict::Changed if outcome.hit() => "hit: CHANGED, the file says miss",
            Verdict::Changed if outcome.check.miss.is_some() => "MISS: CHANGED, not where it was seen",
            Verdict::Changed => "MISS: CHANGED, the file says hit",
        };
        println!(
            "  {:<58}{:>10}{:>10}  {:<18}{verdict}",
            outcome.check.name,
            or_dash(outcome.value),
            or_dash(outcome.published),
            markdown::band(outcome.check.band),
        );
    }
}
