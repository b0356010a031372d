//! `cargo xtask run`: a scenario without a browser.

mod load;
mod overrides;
pub mod text;

use anyhow::{Context, Result, bail};
use load::Loaded;
use mqscope_core::Sim;
use mqscope_core::cases::cases;
use mqscope_core::format::{blkparse, sysfs};
use mqscope_core::report::Report;
use mqscope_core::scenario::Scenario;
use std::io::Write as _;

/// Events simulated between two looks at the log.
const CHUNK_EVENTS: u64 = 20_000;

/// Simulate a scenario and print its report, its events, or the scenario itself.
///
/// FILE is a scenario (.toml), a fio job file or command line, a batch script (.iob), the name of a preset, or - for
/// standard input. Options override what it says. What a job leaves open is the default: the 72-CPU machine, kernel
/// 4.14, one disk for each filename. A preset runs all its sides, and is set beside its published numbers; seed-000:2
/// is one side.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask run seed-000
  cargo xtask run job.fio --kernel 4.14 --device hba --set plug_max=32 --seed 1 --duration 50ms
  cargo xtask run job.fio --kernel 6.1 --device p4510 --machine desktop --json
  cargo xtask run tests/recordings/k61-m01-order-null4q-none/job.iob --kernel 6.1 --device null --events
  cargo xtask run job.fio --print-scenario > scenario.toml
  cargo xtask run job.fio --scheduler mq-deadline --sysfs > settings.sh
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
    /// Print the shell commands that would make these settings on a real machine.
    #[arg(long, conflicts_with_all = ["json", "events", "print_scenario"])]
    sysfs: bool,
    /// List the presets.
    #[arg(long)]
    list_presets: bool,
}

/// Runs the command; `false` if a file could not be used.
pub fn run(args: &Args) -> Result<bool> {
    if args.list_presets {
        cases().iter().for_each(|case| println!("{:<16} {}", case.name, case.title));
        return Ok(true);
    }
    if let Some(list) = args.overrides.help()? {
        print!("{list}");
        return Ok(true);
    }
    if args.files.is_empty() {
        bail!("name a scenario, a fio job file, a batch script or a preset; see cargo xtask run --help");
    }
    let hints = args.overrides.hints()?;
    let mut all_ok = true;
    let mut all_reports = Vec::new();
    for file in &args.files {
        match load::load(file, &hints)? {
            Loaded::Scenarios { sides, case, notes } => {
                eprint!("{notes}");
                let mut reports = Vec::new();
                for (label, mut scenario) in sides {
                    if !reports.is_empty() && !args.json {
                        println!("\n");
                    }
                    args.overrides.apply(&mut scenario)?;
                    reports.extend(one(args, &label, &scenario).with_context(|| file.clone())?);
                }
                if let Some(case) = case.filter(|_| !args.json) {
                    print!("{}", text::published(case, &reports));
                }
                all_reports.append(&mut reports);
            }
            Loaded::Refused(findings) => {
                eprint!("{findings}");
                all_ok = false;
            }
        }
    }
    // One document: the report itself, or a list where there are several.
    match all_reports.as_slice() {
        [] => {}
        _ if !args.json => {}
        [report] => println!("{}", serde_json::to_string_pretty(report)?),
        reports => println!("{}", serde_json::to_string_pretty(reports)?),
    }
    Ok(all_ok)
}

/// One scenario; its report, unless something else was asked for.
fn one(args: &Args, label: &str, scenario: &Scenario) -> Result<Option<Report>> {
    if args.print_scenario {
        print!("{}", scenario.to_toml());
        return Ok(None);
    }
    let mut sim = Sim::new(scenario)?;
    if args.sysfs {
        print!("{}", sysfs::commands(scenario, sim.topology()));
        return Ok(None);
    }
    if args.events {
        events(&mut sim, args.limit.unwrap_or(u64::MAX))?;
        return Ok(None);
    }
    sim.run();
    let report = sim.report();
    if !args.json {
        print!("{}", text::report(label, &report));
    }
    Ok(Some(report))
}

/// Prints events as they happen, so that a long run needs no memory and a limit ends it early.
fn events(sim: &mut Sim, limit: u64) -> Result<()> {
    sim.log_mut().set_on(true);
    let topology = sim.topology().clone();
    let mut writer = blkparse::Writer::new(&topology);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut printed, mut more) = (0, true);
    while more && printed < limit {
        more = sim.run_events(CHUNK_EVENTS);
        let records = sim.log().events().iter().filter_map(|event| writer.record(event));
        for record in records.take(usize::try_from(limit - printed).unwrap_or(usize::MAX)) {
            printed += 1;
            match writeln!(out, "{record}") {
                Ok(()) => {}
                // The reader has gone (`| head`): nothing is left to do.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => bail!("cannot print: {error}"),
            }
        }
        sim.log_mut().clear();
    }
    match out.flush() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => bail!("cannot print: {error}"),
        _ => Ok(()),
    }
}
