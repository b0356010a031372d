//! Custom formats (`blkparse -f`) with a header line that names the columns.

use super::Record;
use super::read::{device, time};

/// What a column can hold, with the names that people give it.
const KNOWN: [(&str, &[&str]); 10] = [
    ("device", &["dev", "device", "majmin"]),
    ("CPU", &["cpu"]),
    ("sequence", &["seq", "sequence"]),
    ("time", &["time", "timestamp", "ts"]),
    ("process id", &["pid"]),
    ("action", &["act", "action"]),
    ("rwbs", &["rwbs", "rw", "flags"]),
    ("sector", &["sector", "lba"]),
    ("sector count", &["blocks", "sectors", "nr_sectors", "count", "len"]),
    ("process name", &["comm", "process", "command", "name"]),
];
const DEVICE: usize = 0;
const CPU: usize = 1;
const SEQ: usize = 2;
const TIME: usize = 3;
const PID: usize = 4;
const ACTION: usize = 5;
const RWBS: usize = 6;
const SECTOR: usize = 7;
const SECTORS: usize = 8;
const PROCESS: usize = 9;

/// A header is looked for in this many lines.
const HEADER_LINES: usize = 20;
/// Columns beyond are not looked at.
const COLUMNS_MAX: usize = 64;

/// Which column holds what.
pub(super) struct Columns {
    separator: char,
    /// In the order of [`KNOWN`].
    of: [Option<usize>; KNOWN.len()],
    count: usize,
}

impl Columns {
    /// The header and its line: the first line that names at least time, action and sector.
    pub(super) fn find(text: &str) -> Option<(Self, usize)> {
        text.lines().enumerate().take(HEADER_LINES).find_map(|(index, line)| {
            let separator = [',', ';', '\t', '|'].into_iter().find(|c| line.matches(*c).count() >= 2)?;
            let names: Vec<String> =
                line.split(separator).take(COLUMNS_MAX).map(|name| name.trim().to_lowercase()).collect();
            let of = KNOWN.map(|(_, known)| names.iter().position(|name| known.contains(&name.as_str())));
            let enough = [TIME, ACTION, SECTOR].iter().all(|column| of[*column].is_some());
            enough.then_some((Self { separator, of, count: names.len() }, index))
        })
    }

    /// What the format does not tell. No such format tells the depth of an unplug.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let columns = KNOWN.iter().zip(&self.of).filter(|(_, at)| at.is_none()).map(|((what, _), _)| *what);
        columns.chain(["the depth of an unplug"]).collect()
    }

    /// One line below the header.
    pub(super) fn record(&self, line: &str) -> Option<Record> {
        let fields: Vec<&str> = line.split(self.separator).take(COLUMNS_MAX).map(str::trim).collect();
        if fields.len() != self.count {
            return None;
        }
        let field = |column: usize| self.of[column].map(|at| fields[at]);
        let action = field(ACTION)?;
        if action.is_empty() || action.len() > 2 || !action.bytes().all(|b| b.is_ascii_alphabetic()) {
            return None;
        }
        // blkparse prints its null pointer where there is no name.
        let process = field(PROCESS).filter(|name| *name != "(null)").unwrap_or_default();
        Some(Record {
            dev: field(DEVICE).map_or(Some((0, 0)), device)?,
            cpu: field(CPU).map_or(Some(0), |cpu| cpu.parse().ok())?,
            seq: field(SEQ).map_or(Some(0), |seq| seq.parse().ok())?,
            time_ns: time(field(TIME)?)?,
            pid: field(PID).map_or(Some(0), |pid| pid.parse().ok())?,
            action: action.into(),
            rwbs: field(RWBS).unwrap_or_default().into(),
            sector: field(SECTOR)?.parse().ok()?,
            sectors: field(SECTORS).map_or(Some(0), |count| count.parse().ok())?,
            process: process.into(),
            ..Record::default()
        })
    }
}
