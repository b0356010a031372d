//! blkparse's default text, both ways: the event log as blkparse would print it, and anybody's blkparse output as
//! [`Record`]s.
//!
//! The form is `HEADER` and `output_generic` of blktrace 1.2.0's blkparse_fmt.c:
//!
//! ```text
//! 259,0    1        2     0.000000700  5976  G   R 2061024 + 8 [fio]
//! dev    cpu seq    time               pid  act rwbs sector + sectors [process]
//! ```

mod columns;
mod read;
mod write;

pub use read::{RECORDS_MAX, TEXT_BYTES_MAX, read};
pub use write::{Writer, write};

use serde::{Deserialize, Serialize};
use std::fmt;

/// One line of blkparse output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// `major,minor` of the disk.
    pub dev: (u32, u32),
    /// CPU on which it happened.
    pub cpu: u32,
    /// Number in the order of that CPU's events; 0 for messages.
    pub seq: u64,
    /// Time since the trace began, ns.
    pub time_ns: u64,
    /// Process on that CPU; 0 when it was idle.
    pub pid: u32,
    /// blktrace's letters: `Q`, `G`, `UT`, ...; `m` is a message.
    pub action: String,
    /// Direction and flags as blkparse prints them: `R`, `WS`, `FN`, `N` (none), ...
    pub rwbs: String,
    /// First sector; 0 where the action has none.
    pub sector: u64,
    /// Number of sectors; 0 where the action has none, and for `X`, which prints [`Record::at_sector`] instead.
    pub sectors: u32,
    /// `X` only: the first sector of the second part.
    pub at_sector: Option<u64>,
    /// `A` only: the partition or stacked disk and the sector there.
    pub from: Option<((u32, u32), u64)>,
    /// `U` and `UT` only: how many requests left the plug.
    pub depth: Option<u32>,
    /// `C` and `R` only: error code, 0 for success.
    pub error: Option<i32>,
    /// Name of the process; empty where blkparse prints none.
    pub process: String,
    /// `m` only: the text.
    pub message: String,
}

impl Record {
    /// Whether it tells of blocks, so neither of a plug nor of a message.
    pub fn has_extent(&self) -> bool {
        self.sectors > 0 || self.at_sector.is_some()
    }
}

/// The line as blkparse prints it, without the line end.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        write!(
            f,
            "{:>3},{:<3} {:>2} {:>8} {:>5}.{:09} {:>5} {:>2} {:>3} ",
            self.dev.0,
            self.dev.1,
            self.cpu,
            self.seq,
            self.time_ns / SECOND,
            self.time_ns % SECOND,
            self.pid,
            self.action,
            self.rwbs,
        )?;
        match (&*self.action, self.error, self.at_sector, self.depth) {
            ("m", ..) => write!(f, "{}", self.message),
            (_, Some(error), _, _) if self.sectors == 0 => write!(f, "{} [{error}]", self.sector),
            (_, Some(error), _, _) => write!(f, "{} + {} [{error}]", self.sector, self.sectors),
            (_, _, Some(at), _) => write!(f, "{} / {at} [{}]", self.sector, self.process),
            (_, _, _, Some(depth)) => write!(f, "[{}] {depth}", self.process),
            _ if self.sectors == 0 => write!(f, "[{}]", self.process),
            _ => match self.from {
                Some(((major, minor), from)) => {
                    write!(f, "{} + {} <- ({major},{minor}) {from}", self.sector, self.sectors)
                }
                None => write!(f, "{} + {} [{}]", self.sector, self.sectors, self.process),
            },
        }
    }
}
