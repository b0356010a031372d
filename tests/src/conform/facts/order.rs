//! Facts about order: runs of D, plugs, directions, requeues.

use super::{OrderPart, sector, with};
use crate::conform::recording::Line;
use std::collections::BTreeMap;

/// First sector of the second half of a disk of 256 MiB, where the second of two writers starts.
const HALF: u64 = 262_144;

/// D in a row, of one disk, task and CPU: (number of its Q, direction, first sector).
type Run = Vec<(u64, char, u64)>;

fn direction(line: &Line) -> char {
    line.rwbs.chars().next().unwrap_or(' ')
}

/// Completions come from outside and do not end a run.
fn runs(lines: &[Line]) -> Vec<Run> {
    let mut queued: BTreeMap<((u32, u32), Option<u64>), u64> = BTreeMap::new();
    let mut number = 0;
    let mut runs: Vec<Run> = Vec::new();
    let mut of = None;
    for line in lines {
        match line.letter.as_str() {
            "D" => {
                let who = (line.dev, line.pid, line.cpu);
                if of != Some(who) {
                    runs.push(Run::new());
                    of = Some(who);
                }
                let nth = queued.get(&(line.dev, sector(line))).copied().unwrap_or(0);
                if let Some(run) = runs.last_mut() {
                    run.push((nth, direction(line), sector(line).unwrap_or(0)));
                }
            }
            "C" => {}
            letter => {
                of = None;
                if letter == "Q" {
                    number += 1;
                    queued.insert((line.dev, sector(line)), number);
                }
            }
        }
    }
    runs.retain(|run| run.len() >= 2);
    runs
}

fn class(run: &Run) -> OrderPart {
    if run.is_sorted_by_key(|(nth, ..)| *nth) {
        OrderPart::AsQueued
    } else if run.is_sorted_by_key(|(nth, ..)| std::cmp::Reverse(*nth)) {
        OrderPart::Reversed
    } else if run.is_sorted_by_key(|(.., sector)| *sector) {
        OrderPart::Ascending
    } else {
        OrderPart::Other
    }
}

/// Whether each stretch of one direction ascends.
fn sorted_by_direction(run: &Run) -> bool {
    run.windows(2).all(|pair| pair[0].1 != pair[1].1 || pair[0].2 <= pair[1].2)
}

pub(super) fn order(lines: &[Line], part: OrderPart) -> u64 {
    let runs = runs(lines);
    let count = match part {
        OrderPart::Runs => runs.len(),
        OrderPart::Longest => runs.iter().map(Vec::len).max().unwrap_or(0),
        OrderPart::Unsorted => runs.iter().filter(|run| !sorted_by_direction(run)).count(),
        part => runs.iter().filter(|run| class(run) == part).count(),
    };
    count as u64
}

/// A task's plug, as far as the letters tell.
#[derive(Clone, Copy, Default)]
struct Plug {
    /// G since the plug was opened, its first included.
    got: u64,
    /// Flushed, and no G since.
    flushed: bool,
}

/// P follows the G of the plug's first request; so the G before a flush that the next P follows at once was not in the
/// plug that was flushed.
pub(super) fn plug_longest(lines: &[Line]) -> u64 {
    let mut plugs: BTreeMap<u32, Plug> = BTreeMap::new();
    let mut longest = 0;
    for line in lines {
        let plug = plugs.entry(line.pid).or_default();
        match line.letter.as_str() {
            "P" => {
                if plug.got > 0 {
                    longest = longest.max(plug.got - 1);
                }
                *plug = Plug { got: 1, flushed: false };
            }
            "G" if plug.flushed => {
                longest = longest.max(plug.got);
                *plug = Plug::default();
            }
            "G" if plug.got > 0 => plug.got += 1,
            "D" | "U" | "UT" if plug.got > 0 => plug.flushed = true,
            _ => {}
        }
    }
    plugs.values().map(|plug| plug.got).fold(longest, u64::max)
}

pub(super) fn changes(lines: &[Line], letter: &str) -> u64 {
    let writes = with(lines, letter).filter(|line| line.rwbs.contains('W'));
    let halves: Vec<bool> = writes.filter_map(sector).map(|sector| sector >= HALF).collect();
    halves.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

/// The way starts at sector 0.
pub(super) fn jumps(lines: &[Line]) -> u64 {
    let mut end = 0;
    let mut jumps = 0;
    for (first, sectors) in
        with(lines, "D").filter(|line| line.rwbs.starts_with('W')).filter_map(|line| line.extent)
    {
        jumps += u64::from(end != first);
        end = first + sectors;
    }
    jumps
}

pub(super) fn requeues(lines: &[Line], issued: bool) -> u64 {
    let mut before: Option<&Line> = None;
    let mut count = 0;
    for line in lines {
        if line.letter == "R" {
            let own = before.is_some_and(|b| b.letter == "D" && b.extent == line.extent);
            count += u64::from(own == issued);
        }
        before = Some(line);
    }
    count
}

pub(super) fn requeue_groups(lines: &[Line], first: bool) -> u64 {
    let mut put_back = None;
    let mut count = 0;
    for line in lines {
        match line.letter.as_str() {
            "R" => put_back = Some(sector(line)),
            "D" => {
                if let Some(last) = put_back.take() {
                    count += u64::from(!first || last == sector(line));
                }
            }
            _ => {}
        }
    }
    count
}

/// Runs of D in one direction: the direction and the lengths of the ascending pieces.
fn directions(lines: &[Line]) -> Vec<(char, Vec<u64>)> {
    let mut runs: Vec<(char, Vec<u64>)> = Vec::new();
    let mut before = 0;
    for line in with(lines, "D") {
        let (way, at) = (direction(line), sector(line).unwrap_or(0));
        match runs.last_mut() {
            Some((same, pieces)) if *same == way => match pieces.last_mut() {
                Some(piece) if at > before => *piece += 1,
                _ => pieces.push(1),
            },
            _ => runs.push((way, vec![1])),
        }
        before = at;
    }
    runs
}

pub(super) fn directions_text(lines: &[Line]) -> String {
    let text = |(way, pieces): &(char, Vec<u64>)| {
        format!("{way} {}", pieces.iter().map(ToString::to_string).collect::<Vec<_>>().join("+"))
    };
    directions(lines).iter().map(text).collect::<Vec<_>>().join(", ")
}

pub(super) fn direction_piece_longest(lines: &[Line]) -> u64 {
    directions(lines).into_iter().flat_map(|(_, pieces)| pieces).max().unwrap_or(0)
}

pub(super) fn run_longest(lines: &[Line], wanted: char) -> u64 {
    let mut waiting: BTreeMap<char, i64> = BTreeMap::new();
    let (mut run, mut longest) = (0, 0);
    for line in lines {
        let way = direction(line);
        match line.letter.as_str() {
            "I" => *waiting.entry(way).or_default() += 1,
            "D" => {
                *waiting.entry(way).or_default() -= 1;
                let other_waits = waiting.iter().any(|(other, count)| *other != way && *count > 0);
                run = if way == wanted && other_waits { run + 1 } else { 0 };
                longest = longest.max(run);
            }
            _ => {}
        }
    }
    longest
}
