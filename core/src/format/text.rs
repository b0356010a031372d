//! From the bytes a user dropped or pasted to lines of text, with a note about everything that was mended.

use crate::diag::Diagnostic;

/// Most findings one reader reports; the rest is counted in a last one.
pub(crate) const FINDINGS_MAX: usize = 100;

/// Clean text and what had to be done to it.
pub(crate) struct Text {
    /// Lines end in `\n` only; no byte order mark; no NUL.
    pub(crate) text: String,
    /// What was mended.
    pub(crate) notes: Vec<Diagnostic>,
}

/// Decodes `bytes`, which may be UTF-8, UTF-16 with a mark, or Latin-1, with any line ends.
///
/// The only error is a size above `bytes_max`: everything else can be shown to the user line by line.
pub(crate) fn clean(bytes: &[u8], bytes_max: usize) -> Result<Text, Diagnostic> {
    if bytes.len() > bytes_max {
        return Err(Diagnostic::error(
            0,
            0,
            format!("The text has {} bytes; the most that is read is {bytes_max} bytes.", bytes.len()),
            "Cut it down to the part that matters.",
        ));
    }
    let mut notes = Vec::new();
    let decoded = decode(bytes, &mut notes);
    let mut text = String::with_capacity(decoded.len());
    let (mut line, mut nul_line) = (1, 0);
    let mut chars = decoded.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                text.push('\n');
                line += 1;
            }
            '\n' => {
                text.push('\n');
                line += 1;
            }
            '\0' => {
                nul_line = if nul_line == 0 { line } else { nul_line };
                text.push('\u{fffd}');
            }
            c => text.push(c),
        }
    }
    if nul_line > 0 {
        notes.push(Diagnostic::warning(
            nul_line,
            0,
            "The text holds NUL bytes, so it may be a binary file; they are shown as \u{fffd}.",
            "Save it as plain text.",
        ));
    }
    Ok(Text { text, notes })
}

fn decode(bytes: &[u8], notes: &mut Vec<Diagnostic>) -> String {
    let wide = |from: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes[2..].chunks(2).map(|pair| from([pair[0], pair.get(1).copied().unwrap_or(0)])).collect()
    };
    let units = match bytes {
        [0xff, 0xfe, ..] => Some(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Some(wide(u16::from_be_bytes)),
        _ => None,
    };
    if let Some(units) = units {
        notes.push(Diagnostic::warning(
            1,
            0,
            "The text is UTF-16; it was converted, but Linux tools would not read it.",
            "Save it as UTF-8 without a byte order mark.",
        ));
        return String::from_utf16_lossy(&units);
    }
    let rest = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            notes.push(Diagnostic::warning(
                1,
                1,
                "The text starts with a UTF-8 byte order mark; it was left out, but Linux tools do not skip it.",
                "Save it as UTF-8 without a byte order mark; fio refuses such a file.",
            ));
            rest
        }
        None => bytes,
    };
    match std::str::from_utf8(rest) {
        Ok(text) => text.to_string(),
        Err(error) => {
            let line = 1 + rest[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            notes.push(Diagnostic::warning(
                u32::try_from(line).unwrap_or(0),
                0,
                "The text holds bytes that are not UTF-8; they were read as Latin-1.",
                "",
            ));
            latin1(rest)
        }
    }
}

/// Valid UTF-8 stays, any other byte is the Latin-1 character of that number.
fn latin1(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|b| char::from(*b)));
    }
    text
}

/// Keeps the first [`FINDINGS_MAX`] findings, errors before warnings if there are more, in line order.
pub(crate) fn cap(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if findings.len() > FINDINGS_MAX {
        findings.sort_by_key(|d| (!d.is_error(), d.line));
        let errors_left = findings[FINDINGS_MAX..].iter().any(Diagnostic::is_error);
        let more = findings.len() - FINDINGS_MAX;
        findings.truncate(FINDINGS_MAX);
        let message = format!("{more} further findings are not listed.");
        findings.push(if errors_left {
            Diagnostic::error(0, 0, message, "Mend the ones listed first.")
        } else {
            Diagnostic::warning(0, 0, message, "")
        });
    }
    findings.sort_by_key(|d| if d.line == 0 { u32::MAX } else { d.line });
    findings
}

/// `text` short enough to stand in a message, control characters made visible.
pub(crate) fn quote(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut short: String =
        text.chars().take(CHARS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        short.push('\u{2026}');
    }
    short
}

/// Column, from 1, in characters, of byte `at` of `line`.
pub(crate) fn column(line: &str, at: usize) -> u32 {
    let chars = line.get(..at).map_or(0, |before| before.chars().count());
    u32::try_from(chars + 1).unwrap_or(u32::MAX)
}

/// Findings under way: keeps each once, and tells the reader when there is no point in going on.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    errors: usize,
}

impl Findings {
    /// Adds a finding, unless it is there already (a value inherited by several jobs).
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        if self.list.len() <= FINDINGS_MAX * 2 && self.list.contains(&finding) {
            return;
        }
        self.errors += usize::from(finding.is_error());
        self.list.push(finding);
    }

    /// Whether the text cannot be used.
    pub(crate) fn any_error(&self) -> bool {
        self.errors > 0
    }

    /// Whether so many things are wrong that the rest need not be looked at.
    pub(crate) fn hopeless(&self) -> bool {
        self.errors >= FINDINGS_MAX
    }

    /// All findings in line order, see [`cap`].
    pub(crate) fn into_vec(self) -> Vec<Diagnostic> {
        let stopped = self.hopeless();
        let mut list = cap(self.list);
        if stopped {
            let message = format!("There are {FINDINGS_MAX} errors or more; what follows was not looked at.");
            list.push(Diagnostic::error(0, 0, message, "Mend the ones listed first."));
        }
        list
    }
}
