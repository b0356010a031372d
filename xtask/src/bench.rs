//! `cargo xtask bench`: how fast the core is, natively and in wasm.

use crate::shell::{Run, root, target_dir, which};
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use mqscope_tests::speed::{self, Work};

const WASM: &str = "wasm32-unknown-unknown";
/// Runs in wasm of which the median counts.
const WASM_RUNS: u32 = 9;

/// Measure events and simulated requests per second, natively and in wasm.
///
/// Runs report 000 (two RAID volumes, 8 processes, kernel 4.14) with the event log off and on: natively with
/// criterion, which also compares with the last run, and in wasm under Node. Then prints both and their ratio, and how
/// long one job takes under each scheduler as a multiple of none, and the time that each published case takes at
/// reduced length; the five reports may take 60 s of one thread together.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bench
  cargo xtask bench --no-wasm
  cargo xtask bench --browser")]
pub struct Args {
    /// Measure natively only.
    #[arg(long)]
    no_wasm: bool,
    /// Measure the page in Chromium instead, at 1x and 4x throttling: load, the parts of frames, seeks, a changed kernel, long
    /// tasks; memory, bytes, and Lighthouse where it is installed.
    #[arg(long)]
    browser: bool,
}

/// Runs the command.
pub fn bench(args: &Args) -> Result<bool> {
    if args.browser {
        return in_browser();
    }
    let benches = Run::cargo(&["bench", "--package", "mqscope-tests", "--bench", "core"]);
    if !benches.status()? {
        return Ok(false);
    }
    let wasm = if args.no_wasm { None } else { Some(wasm_seconds()?) };
    let work = speed::run(false);
    println!(
        "\nreport 000, {} ms simulated: {} events, {} I/Os",
        speed::DURATION_NS / 1_000_000,
        work.events,
        work.ios
    );
    println!("{:<8} {:<8} {:>10} {:>14} {:>14} {:>10}", "", "log", "time", "events/s", "I/Os/s", "of native");
    for (index, (shown, id)) in [("off", "log-off"), ("on", "log-on")].into_iter().enumerate() {
        let native = native_seconds("seed-000", id)?;
        row("native", shown, native, work, None);
        if let Some(wasm) = &wasm {
            row("wasm", shown, wasm[index], work, Some(native / wasm[index]));
        }
    }
    by_scheduler()?;
    println!("\ntime of one thread for each case at reduced length");
    let timed = ["cases", "--reduced", "--jobs", "1", "--times"];
    Run::cargo(&[&["run", "--release", "--package", "xtask", "--"][..], &timed].concat()).status()
}

/// Builds the page as it is served and measures it in Chromium (`tests/browser/bench.mjs`).
fn in_browser() -> Result<bool> {
    let tools = Tools::for_page()?;
    tools.node()?;
    let browser = tools.browser()?;
    if !tools.run("trunk", &["build", "--release", "--skip-version-check"]).status()? {
        return Ok(false);
    }
    let folder = "tests/browser";
    tools.run("npm", &["ci", "--no-audit", "--no-fund"]).folder(folder).check()?;
    tools.run("node", &["bench.mjs", "../../dist"]).env("CHROME", &browser.chrome).folder(folder).status()
}

/// The same job under each scheduler, beside none of the same run of the benchmark.
fn by_scheduler() -> Result<()> {
    let none = native_seconds("scheduler", "none")?;
    println!("\nmixed random I/O, 4 CPUs at depth 32, null device of 10 us, kernel 4.19");
    println!("{:<16} {:>10} {:>10} {:>14} {:>10}", "scheduler", "I/Os", "time", "I/Os/s", "of none");
    for scheduler in speed::schedulers() {
        let ios = speed::run_scheduler(scheduler).ios;
        let seconds = native_seconds("scheduler", scheduler)?;
        println!(
            "{scheduler:<16} {ios:>10} {:>7.1} ms {:>14.0} {:>10.2}",
            seconds * 1e3,
            ios as f64 / seconds,
            seconds / none
        );
    }
    Ok(())
}

fn row(place: &str, log: &str, seconds: f64, work: Work, ratio: Option<f64>) {
    let ratio = ratio.map_or_else(String::new, |r| format!("{r:.2}"));
    println!(
        "{place:<8} {log:<8} {:>7.1} ms {:>14.0} {:>14.0} {ratio:>10}",
        seconds * 1e3,
        work.events as f64 / seconds,
        work.ios as f64 / seconds
    );
}

/// Criterion's median of the run that just ended.
fn native_seconds(group: &str, id: &str) -> Result<f64> {
    let file = root().join(target_dir()).join("criterion").join(group).join(id).join("new/estimates.json");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let estimates: serde_json::Value = serde_json::from_str(&text)?;
    let ns = estimates["median"]["point_estimate"].as_f64().context("criterion left no median")?;
    Ok(ns / 1e9)
}

/// Medians with the log off and on, under Node.
fn wasm_seconds() -> Result<[f64; 2]> {
    if which("node", &std::env::var_os("PATH").unwrap_or_default()).is_none() {
        bail!("Node is needed to measure wasm; install it with: apt-get install nodejs (or give --no-wasm)");
    }
    let build = ["build", "--release", "--package", "mqscope-tests", "--example", "speed", "--target", WASM];
    Run::cargo(&build).check()?;
    let module = root().join(target_dir()).join(WASM).join("release/examples/speed.wasm");
    let script = format!(
        "const bytes = require('fs').readFileSync(process.argv[1]);
         WebAssembly.instantiate(bytes, {{}}).then(({{ instance }}) => {{
           const median = (log) => {{
             const times = [];
             for (let i = 0; i <= {WASM_RUNS}; i++) {{
               const start = performance.now();
               instance.exports.run(log);
               times.push(performance.now() - start);
             }}
             return times.slice(1).sort((a, b) => a - b)[{WASM_RUNS} >> 1] / 1000;
           }};
           console.log(median(0), median(1));
         }});"
    );
    let module = module.to_string_lossy();
    println!("$ node (median of {WASM_RUNS} runs of {module})");
    let output =
        Run::new("node", &["-e", &script, &module]).quiet().context("the module does not run in Node")?;
    let seconds: Vec<f64> = output.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    seconds.try_into().map_err(|_| anyhow::anyhow!("unexpected output of Node: {output}"))
}
