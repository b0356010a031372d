//! What the project needs beside cargo: found where it is, installed where it is missing.
//!
//! Tools of this project's exact version go to `target/tools`, so that a user's own installation stays as it is.

use crate::shell::{Run, root, target_dir, which};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The version of trunk that builds the page.
const TRUNK_VERSION: &str = "0.21.14";
/// The oldest Node that runs the end-to-end tests.
const NODE_MAJOR_MIN: u32 = 18;
const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The environment in which everything is run.
pub struct Tools {
    path: OsString,
}

/// A program that cargo installs.
struct CargoTool<'a> {
    program: &'a str,
    package: &'a str,
    version: &'a str,
    why: &'a str,
    features: &'a [&'a str],
    env: &'a [(&'a str, &'a str)],
}

/// A browser and its driver.
pub struct Browser {
    /// Chromium.
    pub chrome: PathBuf,
    /// Its chromedriver.
    pub driver: PathBuf,
}

impl Tools {
    /// Finds or installs what a build of the page needs: the wasm target, wasm-bindgen, trunk.
    pub fn for_page() -> Result<Self> {
        let own = target_dir().join("tools").join("bin");
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(own).chain(std::env::split_paths(&inherited));
        let tools = Self { path: std::env::join_paths(folders)? };
        println!("Set-up:");
        wasm_target()?;
        // Cheap profiles make these builds two to three times faster. wasm-bindgen reads large files of debug builds, so
        // it is optimised a little; the speed of trunk does not matter.
        let cheap = |level| {
            [
                ("CARGO_PROFILE_RELEASE_LTO", "off"),
                ("CARGO_PROFILE_RELEASE_OPT_LEVEL", level),
                ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
            ]
        };
        tools.cargo_tool(&CargoTool {
            program: "wasm-bindgen",
            package: "wasm-bindgen-cli",
            version: &wasm_bindgen_version()?,
            why: "makes the JavaScript around the wasm file, and runs tests in wasm; must be the version in Cargo.toml",
            features: &[],
            env: &cheap("1"),
        })?;
        tools.cargo_tool(&CargoTool {
            program: "trunk",
            package: "trunk",
            version: TRUNK_VERSION,
            why: "builds and serves the page",
            features: &["--no-default-features", "--features", "rustls"],
            env: &cheap("0"),
        })?;
        Ok(tools)
    }

    /// A command that sees the project's tools.
    pub fn run(&self, program: &str, args: &[&str]) -> Run {
        let found = which(program, &self.path).unwrap_or_else(|| program.into());
        Run::new(found, args).path(&self.path)
    }

    /// cargo, seeing the project's tools.
    pub fn cargo(&self, args: &[&str]) -> Run {
        Run::cargo(args).path(&self.path)
    }

    /// Installs a tool unless it is there in this version.
    fn cargo_tool(&self, tool: &CargoTool) -> Result<()> {
        let CargoTool { program, package, version, why, features, env } = tool;
        if let Some(file) = self.find(program, version) {
            println!("  {program} {version}: {} ({why})", file.display());
            return Ok(());
        }
        println!("  {program} {version}: not found, installing into target/tools ({why})");
        let folder = target_dir().join("tools");
        let folder = folder.to_string_lossy();
        let install = |locked: bool| {
            let mut args = vec!["install", package, "--version", version, "--root", &folder, "--force"];
            args.extend(features.iter());
            args.extend(locked.then_some("--locked"));
            env.iter().fold(self.cargo(&args), |run, (name, value)| run.env(name, value))
        };
        // Some lock files name versions that were withdrawn; then the newest ones that fit do as well.
        if !install(true).status()? && !install(false).status()? {
            bail!("{package} could not be installed; this command would do it: {}", install(true).shown());
        }
        self.find(program, version)
            .map(|_| ())
            .with_context(|| format!("{program} {version} is still not found"))
    }

    /// The first `program` of this version, in `PATH` order. An own copy in front may be of an older pin.
    fn find(&self, program: &str, version: &str) -> Option<PathBuf> {
        let file = which(program, &self.path)?;
        let output = Run::new(&file, &["--version"]).quiet()?;
        output.split_whitespace().any(|word| word == version).then_some(file)
    }

    /// Node and npm, for wasm tests and end-to-end tests.
    pub fn node(&self) -> Result<()> {
        let remedy = "install it with: apt-get install nodejs npm (or from https://nodejs.org)";
        let version = which("node", &self.path)
            .and_then(|node| Run::new(node, &["--version"]).quiet())
            .with_context(|| format!("Node is needed for tests in wasm; {remedy}"))?;
        let version = version.trim().trim_start_matches('v');
        let major = version.split('.').next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
        if major < NODE_MAJOR_MIN {
            bail!("Node {version} is too old; at least {NODE_MAJOR_MIN} is needed; {remedy}");
        }
        if which("npm", &self.path).is_none() {
            bail!("npm is needed for the end-to-end tests; {remedy}");
        }
        println!("  node {version}: found (runs tests in wasm and the end-to-end tests)");
        Ok(())
    }

    /// Chromium and its driver: `$CHROME` and `$CHROMEDRIVER`, `PATH`, the usual places, or Debian's packages.
    pub fn browser(&self) -> Result<Browser> {
        if let Some(browser) = self.find_browser() {
            return Ok(browser);
        }
        let command = "apt-get install -y chromium chromium-driver";
        let remedy = format!("install them with: {command}; or set CHROME and CHROMEDRIVER");
        if which("apt-get", &self.path).is_none() || !is_root() {
            bail!("Chromium and chromedriver are needed for tests in a browser; {remedy}");
        }
        println!("  chromium, chromedriver: not found, installing Debian's packages");
        let apt = |args: &[&str]| self.run("apt-get", args).env("DEBIAN_FRONTEND", "noninteractive").status();
        if !apt(&["update"])?
            || !apt(&["install", "-y", "--no-install-recommends", "chromium", "chromium-driver"])?
        {
            bail!("Chromium could not be installed; {remedy}");
        }
        self.find_browser().with_context(|| format!("Chromium is still not found; {remedy}"))
    }

    fn find_browser(&self) -> Option<Browser> {
        let chrome = self.program(
            "CHROME",
            &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
            &["/usr/lib/chromium/chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"],
        )?;
        let driver = self.program(
            "CHROMEDRIVER",
            &["chromedriver"],
            &["/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver"],
        )?;
        for (file, why) in [(&chrome, "runs tests in a browser"), (&driver, "steers it")] {
            let version = Run::new(file, &["--version"]).quiet().unwrap_or_default();
            println!("  {}: {} ({why})", version.trim(), file.display());
        }
        Some(Browser { chrome, driver })
    }

    fn program(&self, variable: &str, names: &[&str], places: &[&str]) -> Option<PathBuf> {
        std::env::var_os(variable)
            .map(PathBuf::from)
            .filter(|file| file.is_file())
            .or_else(|| names.iter().find_map(|name| which(name, &self.path)))
            .or_else(|| places.iter().map(PathBuf::from).find(|file| file.is_file()))
    }
}

/// Adds the wasm target to the toolchain that runs us.
fn wasm_target() -> Result<()> {
    let why = "the page and its tests are compiled for it";
    let sysroot = Run::new(rustc(), &["--print", "sysroot"]).quiet().context("rustc does not run")?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(WASM_TARGET).is_dir() {
        println!("  {WASM_TARGET}: installed ({why})");
        return Ok(());
    }
    println!("  {WASM_TARGET}: not found, adding it ({why})");
    let add = Run::new("rustup", &["target", "add", WASM_TARGET]);
    let shown = add.shown().to_owned();
    match add.status() {
        Ok(true) => Ok(()),
        _ => bail!("the target {WASM_TARGET} could not be added; this command would do it: {shown}"),
    }
}

fn rustc() -> OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// The version of wasm-bindgen that `Cargo.toml` pins.
fn wasm_bindgen_version() -> Result<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml"))?;
    let manifest: toml::Table = text.parse().context("Cargo.toml")?;
    let pin = manifest
        .get("workspace")
        .and_then(|w| w.get("dependencies"))
        .and_then(|d| d.get("wasm-bindgen"))
        .and_then(|v| v.as_str())
        .and_then(|v| v.strip_prefix('='))
        .context("Cargo.toml does not pin wasm-bindgen with '='")?;
    Ok(pin.to_owned())
}

fn is_root() -> bool {
    Run::new("id", &["-u"]).quiet().is_some_and(|id| id.trim() == "0")
}
