//! Job files: `[section]`, `name=value`, `;` and `#` comments, as fio's `__parse_jobs_ini` reads them.

use super::source::{At, Entry, Run, Section, Variables};
use crate::diag::Diagnostic;
use crate::format::text::{Findings, column, quote};

/// Most sections.
pub(super) const SECTIONS_MAX: usize = 256;

/// Reads clean text (see [`crate::format::text`]).
pub(super) fn read(text: &str, variables: &mut Variables<'_>, findings: &mut Findings) -> Run {
    let mut run = Run { at: At { line: 1, column: 1 }, ..Run::default() };
    let mut outside = false;
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        // fio cuts at the first mark, wherever it stands.
        let (code, comment) = line.find([';', '#']).map_or((line, ""), |at| line.split_at(at));
        variables.hint(comment.trim_start_matches([';', '#']));
        let code = code.trim_end();
        let body = code.trim_start();
        if body.is_empty() {
            continue;
        }
        let at = At { line: number, column: column(code, code.len() - body.len()) };
        if let Some(inside) = body.strip_prefix('[') {
            match header(inside, at, findings) {
                Some(section) if run.sections.len() < SECTIONS_MAX => run.sections.push(section),
                Some(_) => {
                    let message = format!("More than {SECTIONS_MAX} sections.");
                    findings.add(Diagnostic::error(
                        at.line,
                        at.column,
                        message,
                        "Leave out those that do not matter.",
                    ));
                    break;
                }
                None => {}
            }
        } else if let Some(section) = run.sections.last_mut() {
            if let Some(entry) = entry(body, at, variables, findings) {
                section.entries.push(entry);
            }
        } else if !outside {
            outside = true;
            findings.add(Diagnostic::error(
                at.line,
                at.column,
                format!("'{}' stands before any section.", quote(body)),
                "Write [global] or a job's name in brackets above it.",
            ));
        }
        if findings.hopeless() {
            break;
        }
    }
    run
}

/// A section's name; `inside` begins after the `[`.
fn header(inside: &str, at: At, findings: &mut Findings) -> Option<Section> {
    let Some(end) = closing(inside) else {
        let message = format!("The ']' of '[{}' is missing.", quote(inside));
        findings.add(Diagnostic::error(at.line, at.column, message, "Close the bracket."));
        return None;
    };
    let name = inside[..end].trim();
    let after = inside[end + 1..].trim();
    if !after.is_empty() {
        findings.add(Diagnostic::error(
            at.line,
            at.column,
            format!("'{}' stands behind the section's name.", quote(after)),
            "Put options on lines of their own.",
        ));
    }
    if name.is_empty() {
        findings.add(Diagnostic::error(
            at.line,
            at.column,
            "A section without a name.",
            "Write a name in the brackets.",
        ));
    }
    let global = name.starts_with("global");
    if global && name != "global" {
        findings.add(Diagnostic::warning(
            at.line,
            at.column,
            format!("fio takes '[{}]' for [global], because it begins with that word.", quote(name)),
            "Rename it if it is a job.",
        ));
    } else if !global && name.eq_ignore_ascii_case("global") {
        findings.add(Diagnostic::warning(
            at.line,
            at.column,
            format!("'[{name}]' is a job for fio, whose defaults stand under [global] in small letters."),
            "Write [global] if defaults are meant.",
        ));
    }
    Some(Section { name: name.into(), at, global, entries: Vec::new() })
}

/// Where the bracket closes; brackets may nest.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in inside.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn entry(body: &str, at: At, variables: &mut Variables<'_>, findings: &mut Findings) -> Option<Entry> {
    if let Some(file) = body.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)) {
        findings.add(Diagnostic::error(
            at.line,
            at.column,
            format!("The file '{}' to include is not here.", quote(file.trim())),
            "Paste its text in place of this line.",
        ));
        return None;
    }
    let Some((name, value)) = body.split_once('=') else {
        if let Some((name, rest)) = body.split_once(char::is_whitespace) {
            findings.add(Diagnostic::error(
                at.line,
                at.column,
                format!("'{}' has no '='.", quote(body)),
                format!("Write {}={}.", quote(name), quote(rest.trim())),
            ));
            return None;
        }
        let name = body.to_string();
        return Some(Entry {
            name,
            value: None,
            at,
            value_at: at,
            missing: false,
            blank_before_value: false,
        });
    };
    let trimmed = value.trim_start();
    let value_at = At { line: at.line, column: at.column - 1 + column(body, body.len() - trimmed.len()) };
    let filled = variables.fill(trimmed, value_at, findings);
    Some(Entry {
        name: name.trim_end().into(),
        missing: filled.is_none(),
        value: filled,
        at,
        value_at,
        blank_before_value: trimmed.len() < value.len(),
    })
}
