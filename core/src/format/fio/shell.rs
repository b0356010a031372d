//! fio command lines as people paste them: with prompts, sudo, numactl, variables, and pipes behind them.

use super::options::{self, Form};
use super::source::{At, Entry, Run, Section, Variables, is_variable_name};
use super::units::arithmetic;
use super::words::{Command, Piece, WORDS_MAX, Word, commands, prompt};
use crate::diag::Diagnostic;
use crate::format::text::{Findings, quote};

/// Options of the fio command itself (`fio --help`, 3.33), and whether each takes a value. None of them shapes
/// the I/O.
const COMMAND_OPTIONS: [(&str, bool); 38] = [
    ("output", true),
    ("output-format", true),
    ("minimal", false),
    ("append-terse", false),
    ("terse-version", true),
    ("version", false),
    ("help", false),
    ("latency-log", false),
    ("bandwidth-log", false),
    ("cpuclock-test", false),
    ("crctest", false),
    ("cmdhelp", false),
    ("enghelp", false),
    ("showcmd", false),
    ("eta", true),
    ("eta-interval", true),
    ("eta-newline", true),
    ("status-interval", true),
    ("readonly", false),
    ("debug", true),
    ("parse-only", false),
    ("merge-blktrace-only", false),
    ("section", true),
    ("alloc-size", true),
    ("warnings-fatal", false),
    ("max-jobs", true),
    ("server", false),
    ("daemonize", true),
    ("client", true),
    ("remote-config", true),
    ("idle-prof", true),
    ("inflate-log", true),
    ("trigger-file", true),
    ("trigger-timeout", true),
    ("trigger", true),
    ("trigger-remote", true),
    ("aux-path", true),
    ("xnvme", false),
];

/// Most command lines in one text.
const RUNS_MAX: usize = 64;

fn is_fio(word: &str) -> bool {
    word == "fio" || word.ends_with("/fio")
}

/// Whether a line, without its prompt, starts fio.
fn starts_fio(body: &str) -> bool {
    let mut words = body.split_whitespace().skip_while(|word| !is_fio(word));
    words.next().is_some() && words.next().is_some()
}

/// Whether a line is a section's header of a job file.
fn is_header(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('[') && line.contains(']') && !starts_fio(&line[prompt(line, false)..])
}

/// Whether the text is for a shell rather than a job file.
pub(super) fn is_shell(text: &str) -> bool {
    if text.lines().any(is_header) {
        return false;
    }
    let body = |line: &str| line[prompt(line, true)..].to_string();
    let first =
        text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    text.lines().any(|line| starts_fio(&body(line))) || first.is_some_and(|line| line.starts_with('-'))
}

/// Reads all fio command lines of clean text.
pub(super) fn read(text: &str, variables: &mut Variables<'_>, findings: &mut Findings) -> Vec<Run> {
    let plain = |line: &str| !line.trim_start().starts_with('#') && starts_fio(&line[prompt(line, false)..]);
    // A remark may hold a command that is not to be run; a root prompt is the same sign. It is taken for a prompt
    // only if the text has no other command.
    let root_prompt = !text.lines().any(plain);
    let commands = commands(text, root_prompt);
    commands.remarks.iter().for_each(|remark| variables.hint(remark));
    let mut reader = Reader { variables, findings, runs: Vec::new(), ignored: 0, ignored_at: At::default() };
    let mut background = false;
    for command in &commands.list {
        let before = reader.runs.len();
        reader.command(command, background);
        background = command.background && reader.runs.len() > before;
        if reader.findings.hopeless() || reader.runs.len() > RUNS_MAX {
            break;
        }
    }
    if reader.runs.len() > RUNS_MAX {
        let message = format!("More than {RUNS_MAX} fio command lines.");
        reader.error(reader.runs[RUNS_MAX].at, message, "Paste fewer at a time.");
    } else if let Some(at) = commands.cut_at {
        reader.error(at, format!("More than {WORDS_MAX} words."), "Paste only the fio command lines.");
    }
    reader.close()
}

/// A word with everything filled in.
pub(super) struct Filled {
    pub(super) text: String,
    pub(super) at: At,
    value_at: At,
    pub(super) missing: bool,
}

pub(super) struct Reader<'a, 'b> {
    variables: &'a mut Variables<'b>,
    findings: &'a mut Findings,
    runs: Vec<Run>,
    ignored: u32,
    ignored_at: At,
}

impl Reader<'_, '_> {
    pub(super) fn warn(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::warning(at.line, at.column, message, remedy));
    }

    pub(super) fn error(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::error(at.line, at.column, message, remedy));
    }

    fn close(mut self) -> Vec<Run> {
        if self.ignored > 0 {
            let message =
                format!("{} commands that do not start fio are ignored, here the first.", self.ignored);
            self.warn(self.ignored_at, message, "");
        }
        if let Some(second) = self.runs.get(1) {
            let (at, count) = (second.at, self.runs.len());
            let message =
                format!("{count} separate runs of fio: they are simulated one after the other, as phases.");
            self.warn(at, message, "Paste one alone to see it alone.");
        }
        self.runs
    }

    fn command(&mut self, command: &Command, with_previous: bool) {
        let plain = |word: &Word| match word.pieces.as_slice() {
            [Piece::Text(text)] => Some(text.clone()),
            _ => None,
        };
        let Some(first) = command.words.first() else { return };
        if let Some(fio) = command.words.iter().position(|word| plain(word).is_some_and(|text| is_fio(&text)))
        {
            let at = command.words[fio].at;
            let global = self.wrappers(&command.words[..fio]);
            let arguments = self.fill_all(&command.words[fio + 1..]);
            self.arguments(&arguments, global, at, with_previous);
            return;
        }
        let starts = plain(first).unwrap_or_default();
        if starts.starts_with('-') {
            let arguments = self.fill_all(&command.words);
            self.arguments(&arguments, Vec::new(), first.at, with_previous);
            return;
        }
        let keyword = matches!(starts.as_str(), "export" | "declare" | "readonly" | "local");
        let assignments = &command.words[usize::from(keyword)..];
        if assignments.iter().all(|word| assigned_name(word).is_some()) {
            assignments.iter().for_each(|word| self.assign(word));
        } else {
            self.ignored_at = if self.ignored == 0 { first.at } else { self.ignored_at };
            self.ignored += 1;
        }
    }

    pub(super) fn assign(&mut self, word: &Word) {
        let filled = self.fill(word);
        match filled.text.split_once('=') {
            Some((name, _)) if filled.missing => self.variables.assign_incomplete(name),
            Some((name, value)) => self.variables.assign(name, value.into()),
            None => {}
        }
    }

    fn fill_all(&mut self, words: &[Word]) -> Vec<Filled> {
        let mut all = Vec::new();
        for word in words {
            let split =
                word.pieces.iter().any(|piece| matches!(piece, Piece::Variable { quoted: false, .. }));
            let filled = self.fill(word);
            if split && !filled.missing && filled.text.contains(char::is_whitespace) {
                // An unquoted variable may hold several words.
                let Filled { at, value_at, .. } = filled;
                let parts = filled.text.split_whitespace();
                all.extend(parts.map(|part| Filled { text: part.into(), at, value_at, missing: false }));
            } else {
                all.push(filled);
            }
        }
        all
    }

    pub(super) fn fill(&mut self, word: &Word) -> Filled {
        let mut filled = Filled { text: String::new(), at: word.at, value_at: word.value_at, missing: false };
        for piece in &word.pieces {
            let text = match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Variable { name, default: Some(default), .. } => {
                    Some(self.variables.get(name).unwrap_or_else(|| default.clone()))
                }
                Piece::Variable { name, default: None, .. } => {
                    self.variables.get_or_ask(name, word.value_at, self.findings)
                }
                Piece::Arithmetic(inside) => self.arithmetic(inside, word.value_at),
                Piece::Command(inside) if inside.trim() == "nproc" => {
                    self.variables.fill("$ncpus", word.value_at, self.findings)
                }
                Piece::Command(inside) => {
                    let message = format!("The shell command '{}' cannot be run here.", quote(inside));
                    self.error(word.value_at, message, "Put its result in its place.");
                    None
                }
                Piece::Placeholder(inside) => {
                    let message = format!("'<{}>' is a placeholder.", quote(inside));
                    self.error(word.value_at, message, "Replace it by a value.");
                    None
                }
            };
            match text {
                Some(text) => filled.text.push_str(&text),
                None => filled.missing = true,
            }
        }
        filled
    }

    fn arithmetic(&mut self, inside: &str, at: At) -> Option<String> {
        let mut plain = String::new();
        let mut rest = inside;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let end = rest[start..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let end = end.map_or(rest.len(), |len| start + len);
            plain.push_str(rest[..start].trim_end_matches(['$', '{']));
            plain.push_str(&self.variables.get_or_ask(&rest[start..end], at, self.findings)?);
            rest = rest[end..].trim_start_matches('}');
        }
        plain.push_str(rest);
        let value = arithmetic(&plain);
        if value.is_none() {
            let message =
                format!("The shell's arithmetic '$(({}))' cannot be worked out here.", quote(inside));
            self.error(at, message, "Put its result in its place.");
        }
        value.map(|value| value.to_string())
    }

    /// The words behind fio. Options before the first `--name` hold for all jobs.
    fn arguments(&mut self, words: &[Filled], global: Vec<Entry>, at: At, with_previous: bool) {
        let global = Section { name: "global".into(), at, global: true, entries: global };
        let mut run = Run { sections: vec![global], at, with_previous };
        let mut words = words.iter().peekable();
        let (mut files, mut last) = (0, None);
        while let Some(word) = words.next() {
            let Some(option) =
                word.text.strip_prefix("--").or(word.text.strip_prefix('-')).filter(|o| !o.is_empty())
            else {
                files += 1;
                self.stray(word, last);
                if self.findings.hopeless() {
                    return;
                }
                continue;
            };
            let (name, mut value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (option, None),
            };
            let mut value_at = word.value_at;
            let mut missing = word.missing;
            let wants_word = value.is_none() && takes_value(name);
            if let Some(next) = words.next_if(|next| wants_word && !next.text.starts_with('-')) {
                value = Some(next.text.clone());
                value_at = next.at;
                missing |= next.missing;
            }
            last = Some(word);
            if COMMAND_OPTIONS.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if name == "name" {
                let name = value.clone().unwrap_or_default();
                run.sections.push(Section { name, at: word.at, global: false, entries: Vec::new() });
            }
            let entry =
                Entry { name: name.into(), value, at: word.at, value_at, missing, blank_before_value: false };
            if let Some(section) = run.sections.last_mut() {
                section.entries.push(entry);
            }
        }
        if run.sections.len() > super::ini::SECTIONS_MAX {
            self.error(at, "More jobs than a text may have.", "Leave out those that do not matter.");
            return;
        }
        if run.sections.len() == 1 && files == 0 {
            self.error(at, "This command line has no --name, so fio defines no job.", "Add --name=JOB.");
        }
        self.runs.push(run);
    }

    /// A word that is no option: fio opens it as a job file.
    fn stray(&mut self, word: &Filled, after: Option<&Filled>) {
        let shown = quote(&word.text);
        if word.text.starts_with(['\u{2013}', '\u{2014}', '\u{2212}']) {
            self.error(
                word.at,
                format!("'{shown}' starts with a typographic dash, as web pages make of two hyphens."),
                "Write -- instead.",
            );
            return;
        }
        let looks_like_file = word.text.contains(['.', '/']);
        match after.filter(|option| !looks_like_file && option.text.contains('=')) {
            Some(option) => self.error(
                word.at,
                format!("'{shown}' is taken by fio for the name of a job file, because of the blank before it."),
                format!(
                    "If '{} {shown}' is a placeholder, replace it; if the value has blanks, put it in quotes.",
                    quote(&option.text)
                ),
            ),
            None => self.error(
                word.at,
                format!("The job file '{shown}' is not here."),
                "Paste its text instead of the command line.",
            ),
        }
    }
}

/// Whether an option without `=` takes the next word.
fn takes_value(name: &str) -> bool {
    if let Some((_, takes)) = COMMAND_OPTIONS.iter().find(|(known, _)| *known == name) {
        return *takes;
    }
    options::find(name).is_some_and(|option| matches!(option.form, Form::Value | Form::Bool))
}

/// The variable that a word assigns.
pub(super) fn assigned_name(word: &Word) -> Option<&str> {
    match word.pieces.first() {
        Some(Piece::Text(text)) => {
            text.split_once('=').map(|(name, _)| name).filter(|name| is_variable_name(name))
        }
        _ => None,
    }
}
