//! Batch scripts: exact lists of `io_submit` calls, the form in which kernel recordings keep their workload.
//!
//! One step a line; blank lines and everything from a word that starts with `#` are ignored:
//!
//! ```text
//! dsync                    first step only: the disks are opened with O_DSYNC, so writes ask for FUA
//! cpu 1                    move the thread to CPU 1
//! b r@100+4 w1@300+8       one io_submit call: read 4 KiB at KiB 100 of disk 0, write 8 KiB at KiB 300 of disk 1
//! wb w@0+1280 w@1280+1280  writeback as a flusher thread sends it: asynchronous writes within one plug
//! prio rt 0                I/O priority from here on: rt, be or idle, and for the first two a level from 0 (highest) to 7
//! b d@0+1024               one BLKDISCARD call for each operation; such a line has no others
//! b c@8+4                  the same, with writes as a journal writes its commit record (PREFLUSH and FUA)
//! fsync                    of disk 0, when all that was submitted has completed ('fsync 1': of disk 1)
//! wait                     until all that was submitted has completed
//! sleep 500                microseconds
//! ```
//!
//! Offsets and lengths may have a fraction (`r@0.5+0.5` is sector 1), so that every script can be written.

use super::text::{self, Findings, clean, column, quote};
use crate::diag::{Diagnostic, nearest};
use crate::event::{Op, Prio, PrioClass};
use crate::scenario::{DEVICES_MAX, DURATION_MAX_NS};
use crate::workload::{BatchIo, BatchScript, BatchStep};
use std::fmt::Write as _;

/// Most bytes of a script.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most steps of a script.
pub const STEPS_MAX: usize = 100_000;
/// Most operations of one `io_submit` call.
pub const OPS_MAX: usize = 256;
/// Longest operation, bytes.
pub const LEN_MAX: u64 = 8 << 20;
/// First byte beyond which no operation may start (the largest block device that `loff_t` can address).
pub const OFFSET_MAX: u64 = i64::MAX as u64;
/// CPU numbers are below this (NR_CPUS of distribution kernels).
pub const CPUS_MAX: u16 = 8192;
/// The name of the task: the program that replays such scripts.
pub const TASK_NAME: &str = "iob";

const SECTOR: u64 = 512;
const KEYWORDS: [&str; 8] = ["cpu", "b", "wb", "wait", "sleep", "fsync", "dsync", "prio"];

/// A script that can be run, and what the user should know about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The steps; the name is [`TASK_NAME`].
    pub script: BatchScript,
    /// Warnings only.
    pub warnings: Vec<Diagnostic>,
}

impl Parsed {
    /// Number of disks the script needs: the highest index used, plus one.
    pub fn devices(&self) -> u16 {
        let most = |step: &BatchStep| match step {
            BatchStep::Submit(ios)
            | BatchStep::Writeback(ios)
            | BatchStep::Discard(ios)
            | BatchStep::Commit(ios) => ios.iter().map(|io| io.device + 1).max(),
            BatchStep::Fsync(disk) => Some(disk + 1),
            BatchStep::Cpu(_) | BatchStep::Prio(_) | BatchStep::Wait | BatchStep::Sleep(_) => None,
        };
        self.script.steps.iter().filter_map(most).max().unwrap_or(0)
    }
}

/// Reads a batch script. All errors are reported at once, in line order, with the warnings among them.
pub fn parse(text: &[u8]) -> Result<Parsed, Vec<Diagnostic>> {
    let text::Text { text, notes } = clean(text, TEXT_BYTES_MAX).map_err(|error| vec![error])?;
    let mut reader = Reader { dsync: false, steps: Vec::new(), findings: Findings::default() };
    notes.into_iter().for_each(|note| reader.findings.add(note));
    for (index, line) in text.lines().enumerate() {
        if reader.steps.len() >= STEPS_MAX {
            reader.error(index, line, line, format!("More than {STEPS_MAX} steps."), "Shorten the script.");
            break;
        }
        reader.line(index, line);
        if reader.findings.hopeless() {
            break;
        }
    }
    if reader.findings.any_error() {
        return Err(reader.findings.into_vec());
    }
    let script = BatchScript { name: TASK_NAME.into(), dsync: reader.dsync, steps: reader.steps };
    Ok(Parsed { script, warnings: reader.findings.into_vec() })
}

/// Writes a script so that [`parse`] gives it back (the name is not part of the text).
pub fn print(script: &BatchScript) -> String {
    let mut out = String::new();
    if script.dsync {
        out.push_str("dsync\n");
    }
    for step in &script.steps {
        match step {
            BatchStep::Cpu(cpu) => _ = write!(out, "cpu {cpu}"),
            BatchStep::Wait => out.push_str("wait"),
            BatchStep::Sleep(ns) => {
                out.push_str("sleep ");
                print_decimal(&mut out, *ns, 1000);
            }
            BatchStep::Prio(prio) => print_prio(&mut out, *prio),
            BatchStep::Writeback(ios) => {
                out.push_str("wb");
                ios.iter().for_each(|io| print_io(&mut out, 'w', io));
            }
            BatchStep::Fsync(0) => out.push_str("fsync"),
            BatchStep::Fsync(disk) => _ = write!(out, "fsync {disk}"),
            BatchStep::Submit(ios) => {
                out.push('b');
                let letter = |io: &BatchIo| if io.op == Op::Read { 'r' } else { 'w' };
                ios.iter().for_each(|io| print_io(&mut out, letter(io), io));
            }
            BatchStep::Discard(ios) | BatchStep::Commit(ios) => {
                out.push('b');
                let letter = if matches!(step, BatchStep::Discard(_)) { 'd' } else { 'c' };
                ios.iter().for_each(|io| print_io(&mut out, letter, io));
            }
        }
        out.push('\n');
    }
    out
}

fn print_io(out: &mut String, letter: char, io: &BatchIo) {
    out.extend([' ', letter]);
    if io.device > 0 {
        _ = write!(out, "{}", io.device);
    }
    out.push('@');
    print_decimal(out, io.offset, 1024);
    out.push('+');
    print_decimal(out, u64::from(io.len), 1024);
}

fn print_prio(out: &mut String, Prio { class, level }: Prio) {
    _ = match class {
        PrioClass::None => write!(out, "prio none"),
        PrioClass::Rt => write!(out, "prio rt {level}"),
        PrioClass::Be => write!(out, "prio be {level}"),
        PrioClass::Idle => write!(out, "prio idle"),
    };
}

/// The words behind `prio`. A class that has no levels keeps that of a task that was never asked.
fn prio(class: Option<&str>, level: Option<&str>) -> Option<Prio> {
    let class = match class? {
        "none" => PrioClass::None,
        "rt" => PrioClass::Rt,
        "be" => PrioClass::Be,
        "idle" => PrioClass::Idle,
        _ => return None,
    };
    match (class, level) {
        (PrioClass::None | PrioClass::Idle, None) => Some(Prio { class, ..Prio::default() }),
        (PrioClass::Rt | PrioClass::Be, Some(level)) => {
            level.parse().ok().filter(|level| *level < 8).map(|level| Prio { class, level })
        }
        _ => None,
    }
}

/// `value / unit` as an exact decimal; `unit` divides a power of ten.
fn print_decimal(out: &mut String, value: u64, unit: u64) {
    _ = write!(out, "{}", value / unit);
    let mut rest = value % unit;
    if rest > 0 {
        out.push('.');
    }
    while rest > 0 {
        rest *= 10;
        _ = write!(out, "{}", rest / unit);
        rest %= unit;
    }
}

/// A decimal number times `unit`, if it is a whole number that fits.
fn decimal(word: &str, unit: u64) -> Option<u64> {
    const FRACTION_DIGITS_MAX: u32 = 10;
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let digits = u32::try_from(fraction.len()).ok().filter(|n| (1..=FRACTION_DIGITS_MAX).contains(n))?;
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let scale = 10_u128.pow(digits);
    let part = u128::from(fraction.parse::<u64>().ok()?) * u128::from(unit);
    let whole = u128::from(whole.parse::<u64>().ok()?) * u128::from(unit);
    if part % scale != 0 {
        return None;
    }
    u64::try_from(whole + part / scale).ok()
}

struct Reader {
    dsync: bool,
    steps: Vec<BatchStep>,
    findings: Findings,
}

impl Reader {
    /// `at` is a part of `line`, the culprit.
    fn error(&mut self, index: usize, line: &str, at: &str, message: impl Into<String>, remedy: &str) {
        let (number, column) = place(index, line, at);
        self.findings.add(Diagnostic::error(number, column, message, remedy));
    }

    fn warning(&mut self, index: usize, line: &str, at: &str, message: &str, remedy: &str) {
        let (number, column) = place(index, line, at);
        self.findings.add(Diagnostic::warning(number, column, message, remedy));
    }

    fn line(&mut self, index: usize, line: &str) {
        if line.trim_start().starts_with('#') && line.contains("run with -d") && !self.dsync {
            self.warning(
                index,
                line,
                "",
                "The comment asks for O_DSYNC (-d); here the script itself has to.",
                "Write 'dsync' as the first step.",
            );
        }
        let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let Some(keyword) = words.next() else { return };
        match keyword {
            "cpu" => {
                let cpu = words.next();
                match cpu.and_then(|word| word.parse().ok()).filter(|cpu| *cpu < CPUS_MAX) {
                    Some(cpu) => self.steps.push(BatchStep::Cpu(cpu)),
                    None => self.error(
                        index,
                        line,
                        cpu.unwrap_or(keyword),
                        "'cpu' needs the number of a CPU.",
                        "Write for example 'cpu 1'.",
                    ),
                }
            }
            "wait" => self.steps.push(BatchStep::Wait),
            "sleep" => {
                let usec = words.next();
                match usec.and_then(|word| decimal(word, 1000)).filter(|ns| *ns <= DURATION_MAX_NS) {
                    Some(ns) => self.steps.push(BatchStep::Sleep(ns)),
                    None => self.error(
                        index,
                        line,
                        usec.unwrap_or(keyword),
                        "'sleep' needs microseconds, at most one hour.",
                        "Write for example 'sleep 500'.",
                    ),
                }
            }
            "b" | "wb" => {
                let ops: Vec<&str> = words.by_ref().collect();
                self.submit(index, line, &ops, keyword == "wb");
            }
            "prio" => {
                let (class, level) = (words.next(), words.next());
                match prio(class, level) {
                    Some(prio) => self.steps.push(BatchStep::Prio(prio)),
                    None => self.error(
                        index,
                        line,
                        class.unwrap_or(keyword),
                        "'prio' needs a class, and for rt and be a level from 0 to 7.",
                        "Write for example 'prio rt 0', 'prio be 4', 'prio idle' or 'prio none'.",
                    ),
                }
            }
            "fsync" => {
                let disk = words.next();
                match disk.map_or(Some(0), disk_number) {
                    Some(disk) => self.steps.push(BatchStep::Fsync(disk)),
                    None => self.error(
                        index,
                        line,
                        disk.unwrap_or(keyword),
                        format!("'fsync' needs no more than a disk number from 0 to {}.", DEVICES_MAX - 1),
                        "Write 'fsync' for the first disk.",
                    ),
                }
            }
            "dsync" if self.steps.is_empty() => self.dsync = true,
            "dsync" => self.error(
                index,
                line,
                keyword,
                "'dsync' holds for the whole script.",
                "Write it before all other steps.",
            ),
            other => {
                let message = format!("Unknown step '{}'.", quote(other));
                let remedy = match nearest(other, KEYWORDS) {
                    Some(name) => format!("Did you mean '{name}'? Known: {}.", KEYWORDS.join(", ")),
                    None => format!("Known: {}.", KEYWORDS.join(", ")),
                };
                self.error(index, line, keyword, message, &remedy);
                return;
            }
        }
        if let Some(extra) = words.next() {
            let message = format!("'{}' after a complete step.", quote(extra));
            self.error(index, line, extra, message, "Write one step a line.");
        }
    }

    fn submit(&mut self, index: usize, line: &str, ops: &[&str], writeback: bool) {
        if ops.is_empty() {
            self.warning(index, line, "", "A step without operations submits nothing.", "");
            return;
        }
        if let Some(first_extra) = ops.get(OPS_MAX) {
            let message = format!("{} operations in one call; the most is {OPS_MAX}.", ops.len());
            self.error(index, line, first_extra, message, "Spread them over several 'b' lines.");
            return;
        }
        let mut ios = Vec::with_capacity(ops.len());
        for op in ops {
            match io(op) {
                Ok(io) if writeback && io.op != Op::Write => {
                    let message = format!("'{}': writeback only writes.", quote(op));
                    self.error(index, line, op, message, "Use 'b' for other operations.");
                }
                Ok(io) => ios.push(io),
                Err(why) => {
                    let message = format!("'{}': {why}", quote(op));
                    self.error(
                        index,
                        line,
                        op,
                        message,
                        "An operation is (r|w|d|c)[DISK]@OFFSET+LENGTH in KiB.",
                    );
                }
            }
        }
        if writeback {
            return self.steps.push(BatchStep::Writeback(ios));
        }
        let all = |letter: char| ops.iter().all(|op| op.starts_with(letter));
        if all('d') {
            self.steps.push(BatchStep::Discard(ios));
        } else if all('c') {
            self.steps.push(BatchStep::Commit(ios));
        } else if let Some(alone) = ops.iter().find(|op| op.starts_with(['d', 'c'])) {
            self.error(
                index,
                line,
                alone,
                format!("'{}' is a call of its own.", quote(alone)),
                "Write discards on a line of their own, and commit records, too.",
            );
        } else {
            self.steps.push(BatchStep::Submit(ios));
        }
    }
}

fn place(index: usize, line: &str, at: &str) -> (u32, u32) {
    let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
    // `at` is borrowed from `line`, or empty where the whole line is meant.
    let offset = (at.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    let column = if at.is_empty() || offset > line.len() { 0 } else { column(line, offset) };
    (number, column)
}

fn disk_number(word: &str) -> Option<u16> {
    let digits = Some(word).filter(|word| word.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|n| usize::from(*n) < DEVICES_MAX)
}

fn io(word: &str) -> Result<BatchIo, String> {
    let (op, rest) = match word.split_at_checked(1) {
        Some(("r", rest)) => (Op::Read, rest),
        Some(("w" | "c", rest)) => (Op::Write, rest),
        Some(("d", rest)) => (Op::Discard, rest),
        _ => return Err("it starts with none of r, w, d and c.".into()),
    };
    let (device, rest) = rest.split_once('@').ok_or("the '@' before the offset is missing.")?;
    let (offset, len) = rest.split_once('+').ok_or("the '+' before the length is missing.")?;
    let device = match device {
        "" => 0,
        digits => {
            disk_number(digits).ok_or_else(|| format!("the disk number must be 0 to {}.", DEVICES_MAX - 1))?
        }
    };
    let bytes = |word: &str, what: &str| {
        let bytes = decimal(word, 1024).ok_or_else(|| format!("the {what} is not a number of KiB."))?;
        if bytes % SECTOR == 0 {
            Ok(bytes)
        } else {
            Err(format!("the {what} is not a multiple of 512 bytes."))
        }
    };
    let offset = bytes(offset, "offset")?;
    let len = bytes(len, "length")?;
    if len == 0 || len > LEN_MAX {
        return Err(format!("the length must be more than 0 and at most {} KiB.", LEN_MAX / 1024));
    }
    if offset > OFFSET_MAX - len {
        return Err("the offset is beyond the end of any disk.".into());
    }
    let len = u32::try_from(len).map_err(|_| "the length is too large.")?;
    Ok(BatchIo { op, device, offset, len })
}
