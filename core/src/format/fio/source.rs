//! What both text forms, job files and command lines, come down to: sections of options with their places.

use super::Context;
use super::units::arithmetic;
use crate::diag::Diagnostic;
use crate::format::text::{Findings, quote};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A place in the user's text; see [`Diagnostic`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// One option as written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// With variables filled in; `None` if there is no `=`.
    pub(super) value: Option<String>,
    pub(super) at: At,
    pub(super) value_at: At,
    /// A variable in it has no value, so there is nothing to check.
    pub(super) missing: bool,
    /// There are blanks between `=` and the value.
    pub(super) blank_before_value: bool,
}

/// A section of a job file, or the options of a command line between two `--name`.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) at: At,
    pub(super) global: bool,
    pub(super) entries: Vec<Entry>,
}

/// What one start of fio reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) sections: Vec<Section>,
    pub(super) at: At,
    /// Started in the background, beside the run before it.
    pub(super) with_previous: bool,
}

/// A variable that needs a value before the jobs can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Name of the variable, without `$`.
    pub name: String,
    /// Line of its first use, from 1.
    pub line: u32,
    /// Column of the value that uses it, from 1.
    pub column: u32,
    /// A value that a comment of the text gives as an example.
    pub hint: Option<String>,
}

/// Names in values that fio fills in for each file, not when it reads the job.
const FILE_NAME_KEYWORDS: [&str; 4] = ["jobname", "jobnum", "filenum", "clientuid"];

/// Variables: given, assigned in the text, missing, hinted at.
pub(super) struct Variables<'a> {
    context: &'a Context,
    assigned: BTreeMap<String, String>,
    /// Assigned from a variable that is asked for already.
    incomplete: BTreeSet<String>,
    asks: Vec<Ask>,
    hints: BTreeMap<String, String>,
}

impl<'a> Variables<'a> {
    /// More variables in one text than this are not by a person.
    const ASKS_MAX: usize = 64;

    pub(super) fn new(context: &'a Context) -> Self {
        Self {
            context,
            assigned: BTreeMap::new(),
            incomplete: BTreeSet::new(),
            asks: Vec::new(),
            hints: BTreeMap::new(),
        }
    }

    pub(super) fn assign(&mut self, name: &str, value: String) {
        self.assigned.insert(name.into(), value);
    }

    /// The value depends on one that is asked for; asking for both would be once too often.
    pub(super) fn assign_incomplete(&mut self, name: &str) {
        self.incomplete.insert(name.into());
    }

    /// A value that the user gave wins over one that the text assigns, so that a form can change it.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.context.variables.get(name).or_else(|| self.assigned.get(name)).cloned()
    }

    /// The value, or `None` after noting that it must be asked for.
    pub(super) fn get_or_ask(&mut self, name: &str, at: At, findings: &mut Findings) -> Option<String> {
        let value = self.get(name);
        let known =
            value.is_some() || self.incomplete.contains(name) || self.asks.iter().any(|ask| ask.name == name);
        if !known && self.asks.len() < Self::ASKS_MAX {
            self.asks.push(Ask { name: name.into(), line: at.line, column: at.column, hint: None });
            findings.add(Diagnostic::error(
                at.line,
                at.column,
                format!("The variable {} has no value here.", quote(name)),
                "Give it one.",
            ));
        }
        value
    }

    /// Looks for `NAME=value` in a comment.
    pub(super) fn hint(&mut self, comment: &str) {
        for word in comment.split_whitespace() {
            let Some((name, value)) = word.split_once('=') else { continue };
            if is_variable_name(name) && !value.is_empty() && name.len() <= 40 && self.hints.len() < 1000 {
                self.hints.entry(name.into()).or_insert_with(|| value.into());
            }
        }
    }

    pub(super) fn into_asks(mut self) -> Vec<Ask> {
        for ask in &mut self.asks {
            ask.hint = self.hints.remove(&ask.name);
        }
        self.asks
    }

    /// Fills in `${NAME}` and fio's keywords in a value of a job file.
    pub(super) fn fill(&mut self, value: &str, at: At, findings: &mut Findings) -> Option<String> {
        if !value.contains('$') {
            return Some(value.into());
        }
        let mut filled = String::with_capacity(value.len());
        let (mut rest, mut complete, mut keyword) = (value, true, None);
        while let Some(dollar) = rest.find('$') {
            filled.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some((inner, after)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
                match self.environment(inner, at, findings) {
                    Some(text) => filled.push_str(&text),
                    None => complete = false,
                }
                rest = after;
            } else if let Some((name, number)) = self.keyword(rest) {
                match number {
                    Some(number) => filled.push_str(&number.to_string()),
                    None => match self.get_or_ask(name, at, findings) {
                        Some(text) => filled.push_str(&text),
                        None => complete = false,
                    },
                }
                keyword = Some(name);
                rest = &rest[name.len()..];
            } else {
                filled.push('$');
                if !FILE_NAME_KEYWORDS.iter().any(|name| rest.starts_with(name)) {
                    findings.add(Diagnostic::warning(
                        at.line,
                        at.column,
                        format!("'{}': this '$' stays as it is.", quote(value)),
                        "fio fills in ${NAME} from the environment, and its keywords $ncpus, $mb_memory and \
                         $pagesize.",
                    ));
                }
            }
        }
        filled.push_str(rest);
        match keyword {
            _ if !complete => None,
            Some(name) => Some(self.with_keyword(name, filled, at, findings)),
            None => Some(filled),
        }
    }

    /// The inside of `${...}`.
    fn environment(&mut self, inner: &str, at: At, findings: &mut Findings) -> Option<String> {
        let Some((name, default)) = inner.split_once(":-").or_else(|| inner.split_once('-')) else {
            return self.get_or_ask(inner, at, findings);
        };
        findings.add(Diagnostic::warning(
            at.line,
            at.column,
            format!("${{{}}} is the shell's way to give a default; fio refuses it.", quote(inner)),
            format!("It is read as {}.", quote(&self.get(name).unwrap_or_else(|| default.into()))),
        ));
        Some(self.get(name).unwrap_or_else(|| default.into()))
    }

    fn keyword(&self, rest: &str) -> Option<(&'static str, Option<u64>)> {
        let known = |number: u64| (number > 0).then_some(number);
        [
            ("ncpus", known(u64::from(self.context.cpus))),
            ("mb_memory", known(self.context.memory_mb)),
            ("pagesize", Some(4096)),
        ]
        .into_iter()
        .find(|(name, _)| rest.starts_with(name))
    }

    /// fio calculates in values that hold a keyword, and reads a number without unit as bytes.
    fn with_keyword(&self, name: &str, filled: String, at: At, findings: &mut Findings) -> String {
        let value = match arithmetic(&filled) {
            Some(number) if number >= 0 => number.to_string(),
            _ => filled,
        };
        if name == "mb_memory" && value.bytes().all(|b| b.is_ascii_digit()) {
            findings.add(Diagnostic::warning(
                at.line,
                at.column,
                format!("$mb_memory is a number of megabytes, but without a unit it means {value} bytes."),
                "Write $mb_memorym if the memory's size is meant.",
            ));
        }
        value
    }
}

/// Letters, digits and `_`, not starting with a digit.
pub(super) fn is_variable_name(name: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(starts) && name.chars().all(|c| starts(c) || c.is_ascii_digit())
}
