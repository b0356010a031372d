//! What a reader of foreign text says about it: errors and warnings that name line, column and remedy.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The text is used; the user should know something.
    Warning,
    /// The text cannot be used until this is mended.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Warning or error.
    pub severity: Severity,
    /// Line, from 1; 0 where no line is to blame.
    pub line: u32,
    /// Column in characters, from 1; 0 where the whole line is meant.
    pub column: u32,
    /// What is wrong, one sentence.
    pub message: String,
    /// What to do about it, one sentence; may be empty.
    pub remedy: String,
}

impl Diagnostic {
    /// A warning.
    pub fn warning(line: u32, column: u32, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, line, column, message: message.into(), remedy: remedy.into() }
    }

    /// An error.
    pub fn error(line: u32, column: u32, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::warning(line, column, message, remedy) }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_error() { "error" } else { "warning" };
        match (self.line, self.column) {
            (0, _) => write!(f, "{kind}: {}", self.message)?,
            (line, 0) => write!(f, "line {line}: {kind}: {}", self.message)?,
            (line, column) => write!(f, "line {line}, column {column}: {kind}: {}", self.message)?,
        }
        if !self.remedy.is_empty() {
            write!(f, " {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Longest word that [`nearest`] looks at, bytes: a longer one is no slip of the pen, and comparing takes time.
const WANTED_MAX: usize = 64;

/// The known name nearest to `wanted`, if one is near enough to be what the user meant.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > WANTED_MAX {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().max(wanted.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
