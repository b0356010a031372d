//! `cargo xtask test`: everything that can be checked, in stages.

use crate::shell::{Run, root, target_dir};
use crate::tools::{Browser, Tools};
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const WASM: &str = "wasm32-unknown-unknown";
/// Seconds that the tests of one binary may take in a browser.
const BROWSER_TIMEOUT_S: &str = "300";

/// Test everything: format, lints, documentation, tests natively, in wasm and in a browser, end to end.
///
/// Installs what is missing, runs all stages even if one fails, and ends with a table of the stages and a line
/// `N passed, N failed` that counts tests; a stage that fails without a failing test counts as one failure.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask test
  cargo xtask test --only native
  cargo xtask test --skip e2e,wasm-chromium
  cargo xtask test --only native --bless     write golden files anew from this run")]
pub struct Args {
    /// Run only these stages (comma separated or repeated).
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STAGE")]
    only: Vec<Stage>,
    /// Leave these stages out.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STAGE")]
    skip: Vec<Stage>,
    /// Write the golden files and the picture of the README anew instead of comparing.
    #[arg(long)]
    bless: bool,
}

/// One stage, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// cargo fmt --check.
    Fmt,
    /// clippy without warnings, natively.
    Lint,
    /// clippy without warnings, for wasm.
    LintWasm,
    /// cargo doc without warnings.
    Doc,
    /// Licences, sources and doubled versions of crates, where cargo-deny is installed.
    Deny,
    /// All tests natively.
    Native,
    /// The same tests of the core in wasm under Node.
    WasmNode,
    /// Determinism, the player and the JS API in wasm in Chromium.
    WasmChromium,
    /// The optimised page.
    Page,
    /// The page in Chromium, as a user sees it.
    E2e,
}

impl Stage {
    fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }

    fn needs_page_tools(self) -> bool {
        matches!(self, Self::LintWasm | Self::WasmNode | Self::WasmChromium | Self::Page | Self::E2e)
    }

    fn needs_node(self) -> bool {
        matches!(self, Self::WasmNode | Self::E2e)
    }

    fn needs_browser(self) -> bool {
        matches!(self, Self::WasmChromium | Self::E2e)
    }
}

/// Tests counted from a stage's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
}

/// Counts the tests in the output of libtest and of wasm-bindgen-test.
#[derive(Debug, Default)]
struct Counter {
    done: Count,
    /// Tests of the binary that runs, by their own lines: a binary that dies prints no result.
    open: Count,
}

impl Counter {
    fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(result) = line.strip_prefix("test result:") {
            for part in result.split([';', '.']) {
                match part.trim().split_once(' ') {
                    Some((number, "passed")) => self.done.passed += number.parse().unwrap_or(0),
                    Some((number, "failed")) => self.done.failed += number.parse().unwrap_or(0),
                    _ => {}
                }
            }
            self.open = Count::default();
        } else if line.starts_with("running ") {
            self.close();
        } else if line.starts_with("test ") {
            match line.rsplit_once(" ... ").map(|(_, word)| word) {
                Some("ok") => self.open.passed += 1,
                Some("FAIL" | "FAILED") => self.open.failed += 1,
                _ => {}
            }
        }
    }

    fn close(&mut self) {
        self.done.passed += self.open.passed;
        self.done.failed += self.open.failed;
        self.open = Count::default();
    }

    fn total(mut self) -> Count {
        self.close();
        self.done
    }
}

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ok,
    Failed,
    Skipped,
}

impl From<bool> for End {
    fn from(ok: bool) -> Self {
        if ok { Self::Ok } else { Self::Failed }
    }
}

struct Outcome {
    stage: Stage,
    end: End,
    count: Count,
    time: Duration,
}

/// Runs the command; `false` if anything fails.
pub fn test(args: &Args) -> Result<bool> {
    let wanted =
        |stage: &Stage| (args.only.is_empty() || args.only.contains(stage)) && !args.skip.contains(stage);
    let stages: Vec<Stage> = Stage::value_variants().iter().copied().filter(wanted).collect();
    let setup = Setup::new(&stages)?;
    let mut outcomes = Vec::new();
    for stage in stages {
        println!("\n=== {} ===", stage.name());
        let start = Instant::now();
        let mut counter = Counter::default();
        let end = setup.run(stage, args.bless, &mut counter).unwrap_or_else(|error| {
            println!("error: {error:#}");
            End::Failed
        });
        outcomes.push(Outcome { stage, end, count: counter.total(), time: start.elapsed() });
    }
    Ok(summary(&outcomes))
}

/// Prints the table and the last line; `false` if anything failed.
fn summary(outcomes: &[Outcome]) -> bool {
    println!("\n{:<14} {:>7} {:>7} {:>7} {:>8}", "stage", "", "passed", "failed", "time");
    let mut total = Count::default();
    for outcome in outcomes {
        let Count { passed, mut failed } = outcome.count;
        if outcome.end == End::Failed && failed == 0 {
            failed = 1;
        }
        total.passed += passed;
        total.failed += failed;
        let word = match outcome.end {
            End::Ok => "ok",
            End::Failed => "FAILED",
            End::Skipped => "skipped",
        };
        let time = outcome.time.as_secs_f64();
        println!("{:<14} {word:>7} {passed:>7} {failed:>7} {time:>7.1}s", outcome.stage.name());
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    total.failed == 0
}

/// The tools that the wanted stages need.
struct Setup {
    tools: Option<Tools>,
    browser: Option<Browser>,
}

impl Setup {
    fn new(stages: &[Stage]) -> Result<Self> {
        if !stages.iter().any(|s| s.needs_page_tools()) {
            return Ok(Self { tools: None, browser: None });
        }
        let tools = Tools::for_page()?;
        if stages.iter().any(|s| s.needs_node()) {
            tools.node()?;
        }
        let browser = if stages.iter().any(|s| s.needs_browser()) { Some(tools.browser()?) } else { None };
        Ok(Self { tools: Some(tools), browser })
    }

    fn tools(&self) -> Result<&Tools> {
        self.tools.as_ref().context("tools were not set up")
    }

    fn browser(&self) -> Result<&Browser> {
        self.browser.as_ref().context("no browser was set up")
    }

    fn run(&self, stage: Stage, bless: bool, counter: &mut Counter) -> Result<End> {
        let ok = match stage {
            Stage::Fmt => Run::cargo(&["fmt", "--all", "--check"]).status(),
            Stage::Lint => {
                Run::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).status()
            }
            Stage::LintWasm => {
                let lint =
                    ["clippy", "-p", "mqscope-web", "-p", "mqscope-tests", "--target", WASM, "--all-targets"];
                self.tools()?.cargo(&[&lint[..], &["--", "-D", "warnings"]].concat()).status()
            }
            Stage::Doc => {
                Run::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings").status()
            }
            Stage::Deny => {
                if Run::cargo(&["deny", "--version"]).quiet().is_none() {
                    println!(
                        "cargo-deny is not installed; this command would do it: cargo install --locked cargo-deny"
                    );
                    return Ok(End::Skipped);
                }
                Run::cargo(&["deny", "check", "licenses", "bans", "sources"]).status()
            }
            Stage::Native => {
                let mut run = Run::cargo(&["test", "--workspace", "--no-fail-fast"]);
                if bless {
                    run = run.env("MQSCOPE_BLESS", "1");
                }
                run.lines(|line| counter.line(line))
            }
            // The two share their -p arguments, so that features and artefacts are the same.
            Stage::WasmNode => self.wasm_tests(&["--test", "it"])?.lines(|line| counter.line(line)),
            Stage::WasmChromium => {
                let browser = self.browser()?;
                self.wasm_tests(&["--test", "browser"])?
                    .env("CHROMEDRIVER", &browser.driver)
                    .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", webdriver_json(browser)?)
                    .env("WASM_BINDGEN_TEST_TIMEOUT", BROWSER_TIMEOUT_S)
                    .lines(|line| counter.line(line))
            }
            Stage::Page => {
                self.tools()?.run("trunk", &["build", "--release", "--skip-version-check"]).status()
            }
            Stage::E2e => self.end_to_end(bless, counter),
        };
        ok.map(End::from)
    }

    fn wasm_tests(&self, which: &[&str]) -> Result<Run> {
        let mut args =
            vec!["test", "-p", "mqscope-tests", "-p", "mqscope-web", "--target", WASM, "--no-fail-fast"];
        args.extend(which);
        let run = self.tools()?.cargo(&args);
        Ok(run.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner"))
    }

    /// Playwright from npm, without its own browsers.
    fn end_to_end(&self, bless: bool, counter: &mut Counter) -> Result<bool> {
        let folder = "tests/browser";
        let browser = self.browser()?;
        let report = target_dir().join("e2e.json");
        _ = std::fs::remove_file(&report);
        self.tools()?.run("npm", &["ci", "--no-audit", "--no-fund"]).folder(folder).check()?;
        let mut tests = self.tools()?.run("npx", &["playwright", "test"]).env("CHROME", &browser.chrome);
        if bless {
            tests = tests.env("MQSCOPE_BLESS", "1");
        }
        let ok = tests.env("PLAYWRIGHT_JSON_OUTPUT_FILE", &report).folder(folder).status()?;
        let text = std::fs::read_to_string(&report).context("the end-to-end tests left no report")?;
        let report: serde_json::Value =
            serde_json::from_str(&text).context("the report of the end-to-end tests")?;
        let number = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
        counter.done.passed += number("expected") + number("flaky");
        counter.done.failed += number("unexpected");
        Ok(ok)
    }
}

/// Writes the capabilities of a headless Chromium that also runs as root in a container; the path of the file.
fn webdriver_json(browser: &Browser) -> Result<PathBuf> {
    let capabilities = serde_json::json!({
        "goog:chromeOptions": {
            "binary": browser.chrome,
            "args": [
                "--headless",
                // The stage must be in view, or the page sleeps.
                "--window-size=1280,1000",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
            ],
        }
    });
    let file = root().join(target_dir()).join("webdriver.json");
    std::fs::write(&file, serde_json::to_string_pretty(&capabilities)?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_binaries_are_added() {
        let mut counter = Counter::default();
        for line in [
            "running 13 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.03s",
            "running 3 tests",
            "test b ... FAIL",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 filtered out; finished in 1.5s",
        ] {
            counter.line(line);
        }
        assert_eq!(counter.total(), Count { passed: 14, failed: 1 });
    }

    #[test]
    fn a_binary_that_dies_counts_by_its_lines() {
        let mut counter = Counter::default();
        for line in ["running 3 tests", "test a ... ok", "test b ... FAIL", "running 1 test", "test c ... ok"]
        {
            counter.line(line);
        }
        assert_eq!(counter.total(), Count { passed: 2, failed: 1 });
    }
}
