//! Facts of a run: numbers and short texts that can be read off blktrace events, of a recording and of the simulator
//! alike. A fact has a name (`count.D`, `order.reversed`, `in-flight.8,0`) and a value; the tables in
//! `tests/recordings` say which value was recorded and what of it follows from a rule.

mod counts;
mod order;
mod sequence;

use super::recording::Line;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// What can be read off a sequence of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// `count.D`: events with this letter.
    Count(String),
    /// `letters`: all letters in order; `letters.24`: the first 24.
    Letters(Option<usize>),
    /// `letters-at.16`: the first 16 letters with their first sectors.
    LettersAt(usize),
    /// `letters-kinds`: all letters with RWBS.
    LettersKinds,
    /// `story.40000+256`: letters with first sectors, without C, from the first event about these blocks on.
    Story(u64, u64),
    /// `issued`: first sectors of D.
    Issued,
    /// `issued-blocks`: first sector and sectors of D.
    IssuedBlocks,
    /// `issued-disks.6`: disk and first sector of the first 6 D.
    IssuedDisks(usize),
    /// `issued-kinds-after.FWFSM`: RWBS of D from the first event of this kind on.
    IssuedKindsAfter(String),
    /// `issued-writes.16`: first sectors of D that write at least 16 sectors.
    IssuedWrites(u64),
    /// `queued-writes.1000`: first sector and sectors of Q that write at least 1000 sectors.
    QueuedWrites(u64),
    /// `sizes`: how many D have how many sectors.
    Sizes,
    /// `kinds.D`: how many events with this letter have which RWBS.
    Kinds(String),
    /// `unplugs`: requests of each U.
    Unplugs,
    /// `unplugs-disks`: disk and requests of each U.
    UnplugsDisks,
    /// `unplugs-sleep`: requests of each UT.
    UnplugsSleep,
    /// `unplug-longest`: most requests of a U or UT.
    UnplugLongest,
    /// `plug-longest`: most requests a plug held when it was flushed.
    PlugLongest,
    /// `batches`: how many G came before how many D, all over.
    Batches,
    /// `got-before-sleep`: G before the first UT.
    GotBeforeSleep,
    /// `order.reversed` and so on: runs of D of one disk, task and CPU, by their order.
    Order(OrderPart),
    /// `issuers.kworker` and so on: who issues.
    Issuers(IssuerPart),
    /// `completions-home`: C on the CPU of the D.
    CompletionsHome,
    /// `in-flight`: most requests between D and C or R at once; `in-flight.8,0`: of one disk.
    InFlight(Option<(u32, u32)>),
    /// `in-flight-late.8,0`: the same of one disk in the second half of the events, when all disks are in use.
    InFlightLate((u32, u32)),
    /// `changes.D`: how often events with this letter change between the halves of a disk of 256 MiB.
    Changes(String),
    /// `jumps`: writing D that do not start where the D before ended.
    Jumps,
    /// `requeues.issued`: R right after its D; `requeues.unissued`: R without a D.
    Requeues {
        /// Which of the two.
        issued: bool,
    },
    /// `requeues.first`: groups of R whose last request is the next D; `requeues.groups`: groups of R before a D.
    RequeueGroups {
        /// Only the groups whose last request is the next D.
        first: bool,
    },
    /// `flushes.issued`, `.inserted`, `.kworker`: flush requests with D, with I, with D by a kworker.
    Flushes(FlushPart),
    /// `fua-writes`: D of writes with FUA.
    FuaWrites,
    /// `directions`: runs of D in one direction, as the lengths of their ascending pieces.
    Directions,
    /// `direction-piece-longest`: longest ascending piece of a run in one direction.
    DirectionPieceLongest,
    /// `run-longest.W`: most D of one direction in a row, all with a request of the other direction waiting in the
    /// scheduler.
    RunLongest(char),
    /// `wait-longest-ns.R`: longest time from I to D of reads or writes, ns.
    WaitLongest(char),
    /// `get-longest-ns`: longest time from Q to G, ns.
    GetLongest,
    /// `issued-before-unplug`: D before the first U.
    IssuedBeforeUnplug,
    /// `issued-after-unplug`: first sector of the first D after the first U.
    IssuedAfterUnplug,
}

/// Runs of two or more D without another event than C in between, of one disk, task and CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderPart {
    /// All of them.
    Runs,
    /// In the order of Q.
    AsQueued,
    /// Exactly backwards.
    Reversed,
    /// Ascending by sector, and neither of the others.
    Ascending,
    /// None of these.
    Other,
    /// Length of the longest.
    Longest,
    /// Runs with a direction in which they do not ascend.
    Unsorted,
}

/// D by who issued them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerPart {
    /// By the task that submits.
    Submitter,
    /// By a kworker.
    Kworker,
    /// On another CPU than that of the Q.
    OtherCpu,
    /// On this CPU.
    Cpu(u16),
    /// CPUs with at least one.
    Cpus,
}

/// Flush requests by what happened to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushPart {
    /// Issued.
    Issued,
    /// Inserted.
    Inserted,
    /// Issued by a kworker.
    Kworker,
}

/// What a fact came to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A text in the form that the fact describes.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let unknown = || format!("'{name}' is no fact");
        let (family, part) = name.split_once('.').map_or((name, None), |(family, part)| (family, Some(part)));
        let number = |text: &str| text.parse::<usize>().map_err(|_| unknown());
        Ok(match (family, part) {
            ("count", Some(letter)) => Self::Count(letter.into()),
            ("letters", None) => Self::Letters(None),
            ("letters", Some(n)) => Self::Letters(Some(number(n)?)),
            ("letters-at", Some(n)) => Self::LettersAt(number(n)?),
            ("letters-kinds", None) => Self::LettersKinds,
            ("story", Some(blocks)) => {
                let (first, sectors) = blocks.split_once('+').ok_or_else(unknown)?;
                Self::Story(number(first)? as u64, number(sectors)? as u64)
            }
            ("issued", None) => Self::Issued,
            ("issued-blocks", None) => Self::IssuedBlocks,
            ("issued-disks", Some(n)) => Self::IssuedDisks(number(n)?),
            ("issued-kinds-after", Some(kind)) => Self::IssuedKindsAfter(kind.into()),
            ("issued-writes", Some(n)) => Self::IssuedWrites(number(n)? as u64),
            ("queued-writes", Some(n)) => Self::QueuedWrites(number(n)? as u64),
            ("sizes", None) => Self::Sizes,
            ("kinds", Some(letter)) => Self::Kinds(letter.into()),
            ("unplugs", None) => Self::Unplugs,
            ("unplugs-disks", None) => Self::UnplugsDisks,
            ("unplugs-sleep", None) => Self::UnplugsSleep,
            ("unplug-longest", None) => Self::UnplugLongest,
            ("plug-longest", None) => Self::PlugLongest,
            ("batches", None) => Self::Batches,
            ("got-before-sleep", None) => Self::GotBeforeSleep,
            ("order", Some(part)) => Self::Order(order_part(part).ok_or_else(unknown)?),
            ("issuers", Some(part)) => Self::Issuers(issuer_part(part).ok_or_else(unknown)?),
            ("completions-home", None) => Self::CompletionsHome,
            ("in-flight", None) => Self::InFlight(None),
            ("in-flight", Some(dev)) => Self::InFlight(Some(disk(dev).ok_or_else(unknown)?)),
            ("in-flight-late", Some(dev)) => Self::InFlightLate(disk(dev).ok_or_else(unknown)?),
            ("changes", Some(letter)) => Self::Changes(letter.into()),
            ("jumps", None) => Self::Jumps,
            ("requeues", Some("issued")) => Self::Requeues { issued: true },
            ("requeues", Some("unissued")) => Self::Requeues { issued: false },
            ("requeues", Some("groups")) => Self::RequeueGroups { first: false },
            ("requeues", Some("first")) => Self::RequeueGroups { first: true },
            ("flushes", Some("issued")) => Self::Flushes(FlushPart::Issued),
            ("flushes", Some("inserted")) => Self::Flushes(FlushPart::Inserted),
            ("flushes", Some("kworker")) => Self::Flushes(FlushPart::Kworker),
            ("fua-writes", None) => Self::FuaWrites,
            ("directions", None) => Self::Directions,
            ("direction-piece-longest", None) => Self::DirectionPieceLongest,
            ("run-longest", Some("R")) => Self::RunLongest('R'),
            ("run-longest", Some("W")) => Self::RunLongest('W'),
            ("wait-longest-ns", Some("R")) => Self::WaitLongest('R'),
            ("wait-longest-ns", Some("W")) => Self::WaitLongest('W'),
            ("get-longest-ns", None) => Self::GetLongest,
            ("issued-before-unplug", None) => Self::IssuedBeforeUnplug,
            ("issued-after-unplug", None) => Self::IssuedAfterUnplug,
            _ => return Err(unknown()),
        })
    }
}

/// `8,0`.
fn disk(dev: &str) -> Option<(u32, u32)> {
    let (major, minor) = dev.split_once(',')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn order_part(part: &str) -> Option<OrderPart> {
    Some(match part {
        "runs" => OrderPart::Runs,
        "as-queued" => OrderPart::AsQueued,
        "reversed" => OrderPart::Reversed,
        "ascending" => OrderPart::Ascending,
        "other" => OrderPart::Other,
        "longest" => OrderPart::Longest,
        "unsorted" => OrderPart::Unsorted,
        _ => return None,
    })
}

fn issuer_part(part: &str) -> Option<IssuerPart> {
    Some(match part {
        "submitter" => IssuerPart::Submitter,
        "kworker" => IssuerPart::Kworker,
        "other-cpu" => IssuerPart::OtherCpu,
        "cpus" => IssuerPart::Cpus,
        cpu => IssuerPart::Cpu(cpu.strip_prefix("cpu")?.parse().ok()?),
    })
}

impl Fact {
    /// The fact's value in these events, which are in the order of time.
    pub fn value(&self, lines: &[Line]) -> Value {
        match self {
            Self::Count(letter) => counts::count(lines, letter).into(),
            Self::Letters(limit) => sequence::letters(lines, *limit).into(),
            Self::LettersAt(limit) => sequence::letters_at(lines, *limit).into(),
            Self::LettersKinds => sequence::letters_kinds(lines).into(),
            Self::Story(first, sectors) => sequence::story(lines, (*first, *sectors)).into(),
            Self::Issued => sequence::issued(lines).into(),
            Self::IssuedBlocks => sequence::issued_blocks(lines).into(),
            Self::IssuedDisks(limit) => sequence::issued_disks(lines, *limit).into(),
            Self::IssuedKindsAfter(kind) => sequence::issued_kinds_after(lines, kind).into(),
            Self::IssuedWrites(least) => sequence::issued_writes(lines, *least).into(),
            Self::QueuedWrites(least) => sequence::queued_writes(lines, *least).into(),
            Self::Sizes => counts::sizes(lines).into(),
            Self::Kinds(letter) => counts::kinds(lines, letter).into(),
            Self::Unplugs => sequence::unplugs(lines, "U").into(),
            Self::UnplugsDisks => sequence::unplugs_disks(lines).into(),
            Self::UnplugsSleep => sequence::unplugs(lines, "UT").into(),
            Self::UnplugLongest => counts::unplug_longest(lines).into(),
            Self::PlugLongest => order::plug_longest(lines).into(),
            Self::Batches => sequence::batches(lines).into(),
            Self::GotBeforeSleep => counts::got_before_sleep(lines).into(),
            Self::Order(part) => order::order(lines, *part).into(),
            Self::Issuers(part) => counts::issuers(lines, *part).into(),
            Self::CompletionsHome => counts::completions_home(lines).into(),
            Self::InFlight(dev) => counts::in_flight(lines, *dev, 0).into(),
            Self::InFlightLate(dev) => counts::in_flight(lines, Some(*dev), lines.len() / 2).into(),
            Self::Changes(letter) => order::changes(lines, letter).into(),
            Self::Jumps => order::jumps(lines).into(),
            Self::Requeues { issued } => order::requeues(lines, *issued).into(),
            Self::RequeueGroups { first } => order::requeue_groups(lines, *first).into(),
            Self::Flushes(part) => counts::flushes(lines, *part).into(),
            Self::FuaWrites => counts::fua_writes(lines).into(),
            Self::Directions => order::directions_text(lines).into(),
            Self::DirectionPieceLongest => order::direction_piece_longest(lines).into(),
            Self::RunLongest(direction) => order::run_longest(lines, *direction).into(),
            Self::WaitLongest(direction) => counts::wait_longest_ns(lines, *direction).into(),
            Self::GetLongest => counts::get_longest_ns(lines).into(),
            Self::IssuedBeforeUnplug => sequence::around_unplug(lines).0.into(),
            Self::IssuedAfterUnplug => sequence::around_unplug(lines).1.into(),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// First sector of an event about blocks.
fn sector(line: &Line) -> Option<u64> {
    line.extent.map(|(first, _)| first)
}

/// Events with this letter.
fn with<'a>(lines: &'a [Line], letter: &'a str) -> impl Iterator<Item = &'a Line> {
    lines.iter().filter(move |line| line.letter == letter)
}

#[cfg(test)]
mod tests;
