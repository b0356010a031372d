//! Running other programs: every command line is shown before it runs, so that a user can repeat it.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's root folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where artefacts go: `CARGO_TARGET_DIR` or `target`.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// A command to run in the workspace's root.
pub struct Run {
    command: Command,
    shown: String,
}

impl Run {
    /// A program with arguments.
    pub fn new(program: impl AsRef<OsStr>, args: &[&str]) -> Self {
        let mut command = Command::new(program.as_ref());
        command.args(args).current_dir(root());
        // Set by the `cargo run` that started us; they are not meant for the programs we start.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_")
                || ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"].contains(&&*text)
            {
                command.env_remove(&name);
            }
        }
        let program = Path::new(program.as_ref())
            .file_name()
            .unwrap_or(program.as_ref())
            .to_string_lossy()
            .into_owned();
        let shown =
            std::iter::once(program.as_str()).chain(args.iter().copied()).map(quoted).collect::<Vec<_>>();
        Self { command, shown: shown.join(" ") }
    }

    /// cargo, the one that runs us.
    pub fn cargo(args: &[&str]) -> Self {
        let mut run = Self::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args);
        run.shown = ["cargo"].iter().chain(args).map(|w| quoted(w)).collect::<Vec<_>>().join(" ");
        run
    }

    /// Sets an environment variable; it is part of what is shown.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.shown = format!("{name}={} {}", quoted(&value.as_ref().to_string_lossy()), self.shown);
        self.command.env(name, value);
        self
    }

    /// Sets `PATH`, which is not shown.
    pub fn path(mut self, path: impl AsRef<OsStr>) -> Self {
        self.command.env("PATH", path);
        self
    }

    /// Runs in this folder below the root.
    pub fn folder(mut self, folder: &str) -> Self {
        self.command.current_dir(root().join(folder));
        self.shown = format!("(cd {folder} && {})", self.shown);
        self
    }

    /// The command line, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Shows and runs; `false` if it fails.
    pub fn status(mut self) -> Result<bool> {
        println!("$ {}", self.shown);
        let status = self.command.status().with_context(|| format!("cannot start: {}", self.shown))?;
        Ok(status.success())
    }

    /// Shows and runs; an error if it fails.
    pub fn check(self) -> Result<()> {
        let shown = self.shown.clone();
        if !self.status()? {
            bail!("this command failed: {shown}");
        }
        Ok(())
    }

    /// Shows and runs, giving each line of the standard output to `line` after printing it; `false` if it fails.
    pub fn lines(mut self, mut line: impl FnMut(&str)) -> Result<bool> {
        println!("$ {}", self.shown);
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start: {}", self.shown))?;
        let output = child.stdout.take().context("no standard output")?;
        for bytes in BufReader::new(output).split(b'\n') {
            let bytes = bytes?;
            let text = String::from_utf8_lossy(&bytes);
            println!("{text}");
            line(&text);
        }
        Ok(child.wait()?.success())
    }

    /// Runs without showing it; the standard output if it succeeds.
    pub fn quiet(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// The program of this name on `PATH` (as given), if there is one.
pub fn which(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
        .find(|file| file.is_file())
}
