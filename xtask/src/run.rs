//! `cargo xtask run`: a scenario without a browser.

mod load;
mod overrides;
mod text;

use anyhow::{Context, Result, bail};
use load::Loaded;
use mqscope_core::Sim;
use mqscope_core::scenario::Scenario;
use std::io::Write as _;

/// Events simulated between two looks at the log.
const CHUNK_EVENTS: u64 = 20_000;

/// Simulate a scenario and print its report, its events, or the scenario itself.
///
/// FILE is a scenario (.toml), a fio job file, a batch script (.iob), the name of a preset, or - for standard input.
/// Options override what the file says. What a job file leaves open is the default: two sockets, kernel 4.14, one
/// disk for each filename.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask run job.fio --kernel 4.14 --device hba --set plug_max=32 --seed 1 --duration 50ms
  cargo xtask run job.fio --kernel 6.1 --device p4510 --machine desktop --json
  cargo xtask run tests/recordings/k61-m01-order-null4q-none/job.iob --kernel 6.1 --device null --events
  cargo xtask run job.fio --print-scenario > scenario.toml
  echo '[j]
  filename=/dev/nvme0n1
  rw=randread' | cargo xtask run -

Machines, kernels, device models and knobs are listed by `--machine help`, `--kernel help`, `--device help`,
`--set help`.")]
pub struct Args {
    /// Scenario, fio job file, batch script, or name of a preset.
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    overrides: overrides::Overrides,
    /// Print the report as JSON, one object for each FILE.
    #[arg(long, conflicts_with_all = ["events", "print_scenario"])]
    json: bool,
    /// Print the event log in blkparse's default form instead of the report.
    #[arg(long, conflicts_with = "print_scenario")]
    events: bool,
    /// Stop after so many lines of events.
    #[arg(long, value_name = "N", requires = "events")]
    limit: Option<u64>,
    /// Print the scenario that would run, as TOML.
    #[arg(long)]
    print_scenario: bool,
    /// List the presets.
    #[arg(long)]
    list_presets: bool,
}

/// Runs the command; `false` if a file could not be used.
pub fn run(args: &Args) -> Result<bool> {
    if args.list_presets {
        load::presets().iter().for_each(|(name, title)| println!("{name:<16} {title}"));
        return Ok(true);
    }
    if let Some(list) = args.overrides.help()? {
        print!("{list}");
        return Ok(true);
    }
    if args.files.is_empty() {
        bail!("name a scenario, a fio job file, a batch script or a preset; see cargo xtask run --help");
    }
    let mut all_ok = true;
    for file in &args.files {
        match load::load(file)? {
            Loaded::Scenario { mut scenario, warnings } => {
                eprint!("{warnings}");
                args.overrides.apply(&mut scenario)?;
                one(args, &scenario).with_context(|| file.clone())?;
            }
            Loaded::Refused(findings) => {
                eprint!("{findings}");
                all_ok = false;
            }
        }
    }
    Ok(all_ok)
}

fn one(args: &Args, scenario: &Scenario) -> Result<()> {
    if args.print_scenario {
        print!("{}", scenario.to_toml());
        return Ok(());
    }
    let mut sim = Sim::new(scenario)?;
    if args.events {
        return events(&mut sim, args.limit.unwrap_or(u64::MAX));
    }
    sim.run();
    let report = sim.report();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", text::report(&report));
    }
    Ok(())
}

/// Prints events as they happen, so that a long run needs no memory and a limit ends it early.
fn events(sim: &mut Sim, limit: u64) -> Result<()> {
    sim.log_mut().set_on(true);
    let mut printer = load::Blkparse::default();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut printed = 0;
    let mut more = true;
    while more && printed < limit {
        more = sim.run_events(CHUNK_EVENTS);
        for event in sim.log().events() {
            let Some(line) = printer.line(sim.topology(), event) else { continue };
            if let Err(error) = writeln!(out, "{line}") {
                // The reader has gone (`| head`): nothing is left to do.
                if error.kind() == std::io::ErrorKind::BrokenPipe {
                    return Ok(());
                }
                bail!("cannot print: {error}");
            }
            printed += 1;
            if printed == limit {
                break;
            }
        }
        sim.log_mut().clear();
    }
    Ok(())
}
