//! Streams of events and their first difference.

use super::recording::{Actor, Line};
use mqscope_core::Sim;
use mqscope_core::event::{Context, Event, Kind, NO_TASK, QueueId};
use std::collections::BTreeMap;
use std::fmt;

/// Lines of context before a difference.
const CONTEXT: usize = 4;

/// A sequence of events whose order must be equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// All events of one task.
    Task(String),
    /// All events of a device's workers.
    Workers((u32, u32)),
    /// D and R of a device, whoever issued.
    Issues((u32, u32)),
    /// C of a device.
    Completions((u32, u32)),
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(name) => write!(f, "events of task {name}"),
            Self::Workers((major, minor)) => write!(f, "events of the workers of {major},{minor}"),
            Self::Issues((major, minor)) => write!(f, "order of D of {major},{minor}"),
            Self::Completions((major, minor)) => write!(f, "order of C of {major},{minor}"),
        }
    }
}

/// Where recorded and simulated events part, with what came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In which stream.
    pub stream: Stream,
    /// Index of the first event that differs, from 1.
    pub at: usize,
    /// Events recorded and simulated in this stream.
    pub lengths: (usize, usize),
    /// (index from 1, recorded, simulated), the last ones around `at`; `None` where a side has ended.
    pub rows: Vec<(usize, Option<String>, Option<String>)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (recorded, simulated) = self.lengths;
        writeln!(f, "{}: event {} ({recorded} recorded, {simulated} simulated)", self.stream, self.at)?;
        writeln!(f, "         {:<34} simulated", "recorded")?;
        for (index, left, right) in &self.rows {
            let mark = if left == right { ' ' } else { '>' };
            let text = |side: &Option<String>| side.clone().unwrap_or_else(|| String::from("(end)"));
            writeln!(f, "  {mark} {index:>4} {:<34} {}", text(left), text(right))?;
        }
        Ok(())
    }
}

/// Name of all tasks of a fio job: what blkparse shows is the program.
const FIO: &str = "fio";
/// The workers' process ids are this plus their CPU, above those of tasks.
const WORKER_PID: u32 = 1 << 16;

/// The simulated log as lines of the same form as a recording. `is_fio`: the tasks are fio's.
pub fn simulated(sim: &Sim, is_fio: bool) -> Vec<Line> {
    sim.log().events().iter().filter_map(|event| line(sim, event, is_fio)).collect()
}

fn line(sim: &Sim, event: &Event, is_fio: bool) -> Option<Line> {
    let letter = event.kind.letter()?;
    let (queue, extent, count) = subject(&event.kind)?;
    let topology = sim.topology();
    let task = if event.task == NO_TASK { None } else { topology.tasks.get(usize::from(event.task)) };
    let (actor, pid) = match event.context {
        Context::Task => {
            let name = task.map(|t| if is_fio { FIO.to_owned() } else { t.name.clone() });
            (Actor::Task(name.unwrap_or_default()), task.map_or(0, |t| t.pid))
        }
        Context::Kworker => (Actor::Worker, WORKER_PID + u32::from(event.cpu)),
        Context::HardIrq | Context::SoftIrq | Context::Idle => (Actor::Interrupt, 0),
    };
    let rwbs = extent.as_ref().map_or_else(|| "N".into(), |e| e.0.clone());
    Some(Line {
        dev: topology.queues.get(usize::from(queue)).map(|q| q.dev)?,
        cpu: event.cpu,
        pid,
        actor,
        letter: letter.to_owned(),
        rwbs,
        extent: extent.map(|(_, first, second)| (first, second)),
        count,
        at_ns: event.at_ns,
    })
}

type Blocks = (String, u64, u64);

/// Queue, blocks and plug depth of an event that has a letter.
fn subject(kind: &Kind) -> Option<(QueueId, Option<Blocks>, Option<u32>)> {
    let (queue, extent) = kind.subject()?;
    let (second, count) = match *kind {
        Kind::Split { at_sector, .. } => (Some(at_sector), None),
        Kind::Unplug { count, .. } => (None, Some(count)),
        _ => (None, None),
    };
    let blocks = extent.map(|e| (e.rwbs(), e.sector, second.unwrap_or(u64::from(e.sectors))));
    Some((queue, blocks, count))
}

/// Index of the event with which the bio after so many begins.
pub(super) fn start_of_bio(lines: &[Line], bios_before: usize) -> usize {
    let mut queued = lines.iter().enumerate().filter(|(_, line)| line.letter == "Q");
    queued.nth(bios_before).map_or(lines.len(), |(index, _)| index)
}

/// Simulated lines as tracefs shows them: it has no UT, and a flush request is FF there, not FN.
pub fn as_tracefs(lines: &mut [Line]) {
    for line in lines {
        if line.letter == "UT" {
            line.letter = "U".into();
        }
        if line.rwbs == "FN" {
            line.rwbs = "FF".into();
        }
    }
}

/// Splits lines into the streams that are compared. Without `sectors`, first sectors count as equal.
pub fn streams(lines: &[Line], sectors: bool) -> BTreeMap<Stream, Vec<String>> {
    let mut streams: BTreeMap<Stream, Vec<String>> = BTreeMap::new();
    for line in lines {
        let shown = show(line, sectors);
        let mut push = |stream| streams.entry(stream).or_default().push(shown.clone());
        match line.letter.as_str() {
            // Whom an interrupt interrupted is chance.
            "C" => push(Stream::Completions(line.dev)),
            // blkparse does not say who puts a request back.
            "R" => push(Stream::Issues(line.dev)),
            letter => {
                match &line.actor {
                    Actor::Task(name) => push(Stream::Task(name.clone())),
                    Actor::Worker | Actor::Interrupt => push(Stream::Workers(line.dev)),
                }
                if letter == "D" {
                    push(Stream::Issues(line.dev));
                }
            }
        }
    }
    streams
}

fn show(line: &Line, sectors: bool) -> String {
    let (major, minor) = line.dev;
    let head = format!("{:<2} {major},{minor} {:<2}", line.letter, line.rwbs);
    match (line.extent, line.count) {
        // A flush has no blocks; the sector printed for it says nothing.
        (Some((_, 0)), _) | (None, None) => head.trim_end().to_owned(),
        (Some((first, second)), _) if line.letter == "X" => format!("{head} {first} / {second}"),
        (Some((first, count)), _) if sectors => format!("{head} {first} + {count}"),
        (Some((_, count)), _) => format!("{head} + {count}"),
        (None, Some(count)) => format!("{head} {count}"),
    }
}

/// The first difference, streams of tasks first.
pub(super) fn first_difference(
    recorded: &BTreeMap<Stream, Vec<String>>,
    simulated: &BTreeMap<Stream, Vec<String>>,
) -> Option<Difference> {
    let mut names: Vec<&Stream> = recorded.keys().chain(simulated.keys()).collect();
    names.sort();
    names.dedup();
    names.into_iter().find_map(|stream| {
        let side = |streams: &BTreeMap<Stream, Vec<String>>| streams.get(stream).cloned().unwrap_or_default();
        difference(stream, &side(recorded), &side(simulated))
    })
}

fn difference(stream: &Stream, left: &[String], right: &[String]) -> Option<Difference> {
    let length = left.len().max(right.len());
    let at = (0..length).find(|i| left.get(*i) != right.get(*i))?;
    let rows = (at.saturating_sub(CONTEXT)..(at + CONTEXT).min(length))
        .map(|i| (i + 1, left.get(i).cloned(), right.get(i).cloned()))
        .collect();
    Some(Difference { stream: stream.clone(), at: at + 1, lengths: (left.len(), right.len()), rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(events: &[&str]) -> BTreeMap<Stream, Vec<String>> {
        BTreeMap::from([(Stream::Issues((8, 0)), events.iter().map(ToString::to_string).collect())])
    }

    #[test]
    fn equal_streams_have_no_difference() {
        assert_eq!(first_difference(&stream(&["a", "b"]), &stream(&["a", "b"])), None);
    }

    #[test]
    fn a_swap_is_shown_with_both_sides() {
        let found =
            first_difference(&stream(&["a", "b", "c"]), &stream(&["a", "c", "b"])).expect("b and c differ");
        assert_eq!(found.at, 2);
        let text = found.to_string();
        assert!(text.contains("order of D of 8,0: event 2 (3 recorded, 3 simulated)"), "{text}");
        assert!(text.contains(">    2 b"), "{text}");
    }

    #[test]
    fn a_missing_stream_and_a_missing_tail_are_differences() {
        assert!(first_difference(&stream(&["a"]), &BTreeMap::new()).is_some());
        assert!(first_difference(&BTreeMap::new(), &stream(&["a"])).is_some());
        let found = first_difference(&stream(&["a", "b"]), &stream(&["a"])).expect("b is missing");
        assert_eq!(found.rows.last(), Some(&(2, Some("b".into()), None)));
    }
}
