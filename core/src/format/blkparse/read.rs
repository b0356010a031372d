//! Anybody's blkparse output as records.

use super::Record;
use super::columns::Columns;
use crate::diag::Diagnostic;
use crate::format::text::{self, FINDINGS_MAX, cap, clean, quote};

/// Most bytes of a text.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// Most records of a text.
pub const RECORDS_MAX: usize = 500_000;

/// Letters that blkparse prints.
const ACTIONS: [&str; 16] = ["Q", "G", "I", "D", "C", "M", "F", "P", "U", "UT", "X", "R", "S", "A", "B", "T"];
/// A line cut by mail continues on this many lines at most.
const CONTINUATIONS_MAX: usize = 3;

/// Reads blkparse's default text, or comma-separated columns with a header line.
///
/// The records are in order of time (those of equal time as in the text). Everything else in the text is either
/// known (summary, messages of blkparse, mail marks) or reported. Without any record there is an error.
pub fn read(text: &[u8]) -> (Vec<Record>, Vec<Diagnostic>) {
    const MAGIC: [[u8; 3]; 2] = [[0x74, 0x61, 0x65], [0x65, 0x61, 0x74]];
    if text.len() >= 4 && (text[1..4] == MAGIC[0] || text[..3] == MAGIC[1]) {
        let message = "This is blktrace's binary file, not text.";
        return (
            Vec::new(),
            vec![Diagnostic::error(0, 0, message, "Run blkparse -i FILE and use its output.")],
        );
    }
    let text::Text { text, notes } = match clean(text, TEXT_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => return (Vec::new(), vec![error]),
    };
    let mut reader = Reader { findings: notes, ..Reader::default() };
    match Columns::find(&text) {
        Some((columns, header)) => reader.separated(&text, &columns, header),
        None => reader.default_form(&text),
    }
    reader.finish()
}

/// A line number for a message.
fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

#[derive(Default)]
struct Reader {
    records: Vec<Record>,
    findings: Vec<Diagnostic>,
    /// Lines that are no records, and the first of them.
    skipped: u32,
    skipped_line: u32,
    skipped_text: String,
    /// Lines that blkparse itself writes among its output.
    chatter: u32,
    joined: u32,
    joined_line: u32,
    /// "Events: N entries" of the summary.
    entries: Option<u64>,
    comma_list: bool,
}

impl Reader {
    fn warn(&mut self, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.push(Diagnostic::warning(line, 0, message, remedy));
    }

    fn full(&mut self, index: usize) -> bool {
        let full = self.records.len() >= RECORDS_MAX;
        if full {
            let message = format!("Reading stopped after {RECORDS_MAX} events.");
            self.warn(number(index), message, "Cut the trace with blkparse -w to see another part.");
        }
        full
    }

    fn skip(&mut self, index: usize, line: &str) {
        if self.skipped == 0 {
            self.skipped_line = number(index);
            self.skipped_text = quote(line.trim());
            self.comma_list = line.matches([',', ';', '\t']).count() >= 4;
        }
        self.skipped += 1;
    }

    fn default_form(&mut self, text: &str) {
        let mut lines = text.lines().map(unquoted).enumerate().peekable();
        let mut summary = false;
        while let Some((index, line)) = lines.next() {
            if line.trim().is_empty() {
                continue;
            }
            if self.full(index) {
                break;
            }
            if starts_summary(line) {
                summary = true;
            }
            // Several outputs may follow each other, so a summary ends at the next event.
            let begins = begins_event(line);
            if summary && !begins {
                self.summary(index, line);
                continue;
            }
            summary = false;
            if !begins {
                if is_chatter(line) {
                    self.chatter += 1
                } else {
                    self.skip(index, line)
                }
                continue;
            }
            let mut whole = line.to_string();
            let mut record = event(&whole);
            let mut parts = 0;
            while record.is_none() && parts < CONTINUATIONS_MAX {
                let Some((_, next)) = lines.next_if(|(_, next)| continues(next)) else { break };
                whole.push(' ');
                whole.push_str(next.trim());
                parts += 1;
                record = event(&whole);
            }
            match record {
                Some(record) => {
                    if parts > 0 {
                        self.joined_line = if self.joined == 0 { number(index) } else { self.joined_line };
                        self.joined += 1;
                    }
                    self.records.push(record);
                }
                None => self.skip(index, line),
            }
        }
    }

    fn summary(&mut self, index: usize, line: &str) {
        let line = line.trim();
        if line.starts_with("Events (") {
            let count = line
                .rsplit_once("): ")
                .and_then(|(_, rest)| rest.split(' ').next()?.replace(',', "").parse().ok());
            self.entries = self.entries.unwrap_or(0).checked_add(count.unwrap_or(0));
        } else if let Some(rest) = line.strip_prefix("Skips: ") {
            let skips = rest.split(' ').next().unwrap_or("0");
            if skips != "0" {
                self.warn(
                    number(index),
                    format!("blktrace lost events here ({} skips), so some steps are missing.", quote(skips)),
                    "Record again with larger buffers (blktrace -b -n).",
                );
            }
        }
    }

    fn separated(&mut self, text: &str, columns: &Columns, header: usize) {
        for (index, line) in text.lines().enumerate().skip(header + 1) {
            if line.trim().is_empty() {
                continue;
            }
            if self.full(index) {
                break;
            }
            match columns.record(line) {
                Some(record) => self.records.push(record),
                None if is_chatter(line) => self.chatter += 1,
                None => self.skip(index, line),
            }
        }
        let missing = columns.missing();
        let message = format!("This custom format (blkparse -f) has no column for {}.", missing.join(", "));
        self.warn(number(header), message, "Without a device column all events count for one disk.");
    }

    fn finish(mut self) -> (Vec<Record>, Vec<Diagnostic>) {
        if self.skipped > 0 && !self.records.is_empty() {
            let message = format!(
                "{} lines are no blkparse events; the first is '{}'.",
                self.skipped, self.skipped_text
            );
            self.warn(self.skipped_line, message, "They are left out.");
        }
        if self.records.is_empty() {
            self.nothing();
            return (self.records, cap(self.findings));
        }
        if self.chatter > 0 {
            let message =
                format!("{} lines are blkparse's own messages, not events; they are left out.", self.chatter);
            self.warn(0, message, "");
        }
        if self.joined > 0 {
            let message =
                format!("{} lines were wrapped, as mail programs do; they are joined again.", self.joined);
            self.warn(self.joined_line, message, "");
        }
        let events = self.records.iter().filter(|record| record.action != "m").count() as u64;
        let all = self.records.len() as u64;
        if let Some(entries) = self.entries.filter(|entries| *entries != events && *entries != all) {
            let message = format!("The summary counts {entries} events, the text has {events}.");
            self.warn(0, message, "A part of the output may be missing.");
        }
        self.order();
        self.history();
        (self.records, cap(self.findings))
    }

    fn nothing(&mut self) {
        let (message, remedy) = if self.comma_list {
            (
                "This looks like a custom format (blkparse -f), but without a header the meaning of its columns is \
                 not known.",
                "Put a header in front, for example time,cpu,pid,act,rwbs,sector,blocks,comm, or use blkparse's \
                 default format.",
            )
        } else {
            ("There is no blkparse event here.", "Use the output of blkparse -i FILE.")
        };
        self.findings.push(Diagnostic::error(self.skipped_line, 0, message, remedy));
    }

    /// Sorts by time, and says so if time and sequence numbers disagree.
    fn order(&mut self) {
        if self.records.is_sorted_by_key(|record| record.time_ns) {
            return;
        }
        self.records.sort_by_key(|record| record.time_ns);
        let mut last = std::collections::HashMap::new();
        let disagree = self.records.iter().filter(|record| record.seq > 0).any(|record| {
            let before = last.insert(record.cpu, record.seq);
            before.is_some_and(|seq| seq > record.seq)
        });
        let more =
            if disagree { " On some CPU the sequence numbers say another order; time counts." } else { "" };
        self.warn(0, format!("The lines were not in order of time; they are sorted.{more}"), "");
    }

    /// What the reader of an old or odd trace should know.
    fn history(&mut self) {
        let has = |action: &str| self.records.iter().any(|record| record.action == action);
        let cfq = self.records.iter().any(|record| record.action == "m" && record.message.starts_with("cfq"));
        let requeues = self.records.iter().filter(|record| record.action == "R").count();
        if cfq || has("S") {
            self.warn(
                0,
                "The trace was recorded under the single-queue block layer (CFQ messages, or S): its policies are not \
                 those of blk-mq.",
                "",
            );
        }
        if requeues > 0 {
            let message = format!("{requeues} requests were requeued (R).");
            self.warn(0, message, "Their time from D to C counts from the last D.");
        }
        let mut unknown: Vec<&str> = Vec::new();
        for record in &self.records {
            let action = record.action.as_str();
            if action != "m"
                && !ACTIONS.contains(&action)
                && !unknown.contains(&action)
                && unknown.len() < FINDINGS_MAX
            {
                unknown.push(action);
            }
        }
        if !unknown.is_empty() {
            let message = format!("Actions that blkparse does not document: {}.", quote(&unknown.join(", ")));
            self.warn(0, message, "Their lines are kept.");
        }
    }
}

/// Without marks of quoted mail.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t'])
}

fn starts_summary(line: &str) -> bool {
    let after_digits = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" (");
    line.strip_prefix("CPU").is_some_and(after_digits) || line.starts_with("Total (")
}

/// Lines of blkparse that are neither events nor summary.
fn is_chatter(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Input file ") || line.starts_with("Throughput (") || line.starts_with("Bad pdu")
}

/// Whether a line starts with `major,minor` and a CPU.
fn begins_event(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().and_then(device).is_some() && words.next().is_some_and(|cpu| cpu.parse::<u32>().is_ok())
}

/// Whether a line may be the rest of a wrapped one.
fn continues(line: &str) -> bool {
    !line.trim().is_empty() && !begins_event(line) && !starts_summary(line) && !is_chatter(line)
}

pub(super) fn device(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.split_once(',')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `seconds.nanoseconds`, or with a comma.
pub(super) fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once(['.', ',']).unwrap_or((word, "0"));
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits: u64 = fraction.parse().ok()?;
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(digits * scale)
}

/// One whole line of the default form.
fn event(line: &str) -> Option<Record> {
    let mut rest = line.trim();
    let mut next = || {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    };
    let mut record = Record {
        dev: device(next()?)?,
        cpu: next()?.parse().ok()?,
        seq: next()?.parse().ok()?,
        time_ns: time(next()?)?,
        pid: next()?.parse().ok()?,
        action: next()?.into(),
        rwbs: next()?.into(),
        ..Record::default()
    };
    let letters = |word: &str, max: usize| word.len() <= max && word.bytes().all(|b| b.is_ascii_alphabetic());
    if !letters(&record.action, 2) || !letters(&record.rwbs, 8) {
        return None;
    }
    if record.action == "m" {
        record.message = rest.into();
        return Some(record);
    }
    payload(rest, &mut record)?;
    Some(record)
}

/// What stands behind rwbs.
fn payload(rest: &str, record: &mut Record) -> Option<()> {
    // `sector + count <- (major,minor) sector`: a remap has no process.
    if let Some((extent, from)) = rest.split_once("<-") {
        let (dev, sector) = from.trim().strip_prefix('(')?.split_once(')')?;
        record.from = Some((device(dev)?, sector.trim().parse().ok()?));
        return numbers(extent, record);
    }
    let open = rest.find('[')?;
    let close = rest.rfind(']').filter(|close| *close > open)?;
    let inside = &rest[open + 1..close];
    numbers(&rest[..open], record)?;
    match record.action.as_str() {
        "C" | "R" => record.error = Some(inside.parse().ok()?),
        "U" | "UT" => {
            record.process = inside.into();
            record.depth = Some(rest[close + 1..].trim().parse().ok()?);
        }
        _ => record.process = inside.into(),
    }
    Some(())
}

/// `sector + count`, `sector / sector`, `sector`, or nothing; times in parentheses (blkparse -t) are left out.
fn numbers(text: &str, record: &mut Record) -> Option<()> {
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('(') && !word.ends_with(')'));
    let Some(sector) = words.next() else { return Some(()) };
    record.sector = sector.parse().ok()?;
    match (words.next(), words.next()) {
        (None, _) => {}
        (Some("+"), Some(count)) => record.sectors = count.parse().ok()?,
        (Some("/"), Some(at)) => record.at_sector = Some(at.parse().ok()?),
        // A SCSI command: its bytes follow, and what stood first is their number.
        (Some(_), _) => record.sector = 0,
    }
    Some(())
}
