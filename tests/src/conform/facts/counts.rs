//! Facts that count.

use super::{FlushPart, IssuerPart, sector, with};
use crate::conform::recording::{Actor, Line};
use std::collections::{BTreeMap, BTreeSet};

type Dev = (u32, u32);

fn number(count: usize) -> u64 {
    count as u64
}

pub(super) fn count(lines: &[Line], letter: &str) -> u64 {
    number(with(lines, letter).count())
}

pub(super) fn sizes(lines: &[Line]) -> String {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, sectors) in with(lines, "D").filter_map(|line| line.extent) {
        *sizes.entry(sectors).or_default() += 1;
    }
    // A flush request has no blocks.
    let shown = sizes.iter().filter(|(sectors, _)| **sectors > 0);
    shown.map(|(sectors, count)| format!("{count} x {sectors}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn kinds(lines: &[Line], letter: &str) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for line in with(lines, letter) {
        *kinds.entry(&line.rwbs).or_default() += 1;
    }
    kinds.iter().map(|(kind, count)| format!("{kind}:{count}")).collect::<Vec<_>>().join(" ")
}

pub(super) fn unplug_longest(lines: &[Line]) -> u64 {
    let unplugs = lines.iter().filter(|line| line.letter == "U" || line.letter == "UT");
    unplugs.filter_map(|line| line.count).max().unwrap_or(0).into()
}

pub(super) fn got_before_sleep(lines: &[Line]) -> u64 {
    number(lines.iter().take_while(|line| line.letter != "UT").filter(|line| line.letter == "G").count())
}

pub(super) fn issuers(lines: &[Line], part: IssuerPart) -> u64 {
    let mut queued_on: BTreeMap<(Dev, Option<u64>), u16> = BTreeMap::new();
    let mut issues = Vec::new();
    for line in lines {
        match line.letter.as_str() {
            "Q" => _ = queued_on.insert((line.dev, sector(line)), line.cpu),
            "D" => issues.push((line, queued_on.get(&(line.dev, sector(line))).copied())),
            _ => {}
        }
    }
    let count = |wanted: &dyn Fn(&Line, Option<u16>) -> bool| {
        number(issues.iter().filter(|(line, home)| wanted(line, *home)).count())
    };
    match part {
        IssuerPart::Submitter => count(&|line, _| matches!(line.actor, Actor::Task(_))),
        IssuerPart::Kworker => count(&|line, _| line.actor == Actor::Worker),
        IssuerPart::OtherCpu => count(&|line, home| home != Some(line.cpu)),
        IssuerPart::Cpu(cpu) => count(&|line, _| line.cpu == cpu),
        IssuerPart::Cpus => number(issues.iter().map(|(line, _)| line.cpu).collect::<BTreeSet<_>>().len()),
    }
}

pub(super) fn completions_home(lines: &[Line]) -> u64 {
    let mut issued_on: BTreeMap<(Dev, Option<u64>), u16> = BTreeMap::new();
    let mut home = 0;
    for line in lines {
        let key = (line.dev, sector(line));
        match line.letter.as_str() {
            "D" => _ = issued_on.insert(key, line.cpu),
            "C" if issued_on.get(&key) == Some(&line.cpu) => home += 1,
            _ => {}
        }
    }
    home
}

/// Events before index `from` count, but their maximum does not.
pub(super) fn in_flight(lines: &[Line], dev: Option<Dev>, from: usize) -> u64 {
    let (mut now, mut most) = (0_i64, 0);
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| dev.is_none_or(|dev| line.dev == dev)) {
        match line.letter.as_str() {
            "D" => now += 1,
            "C" | "R" => now -= 1,
            _ => {}
        }
        if index >= from {
            most = most.max(now);
        }
    }
    most.unsigned_abs()
}

/// Whether RWBS is that of a flush request.
fn is_flush(line: &Line) -> bool {
    line.rwbs.starts_with('F')
}

pub(super) fn flushes(lines: &[Line], part: FlushPart) -> u64 {
    let of = |letter| with(lines, letter).filter(|line| is_flush(line));
    number(match part {
        FlushPart::Issued => of("D").count(),
        FlushPart::Inserted => of("I").count(),
        FlushPart::Kworker => of("D").filter(|line| line.actor == Actor::Worker).count(),
    })
}

pub(super) fn fua_writes(lines: &[Line]) -> u64 {
    number(with(lines, "D").filter(|line| line.rwbs.contains("WF")).count())
}

pub(super) fn wait_longest_ns(lines: &[Line], direction: char) -> u64 {
    let here = |line: &&Line| line.rwbs.starts_with(direction);
    let mut inserted: BTreeMap<(Dev, Option<u64>), u64> = BTreeMap::new();
    let mut longest = 0;
    for line in lines.iter().filter(here) {
        let key = (line.dev, sector(line));
        match line.letter.as_str() {
            "I" => _ = inserted.insert(key, line.at_ns),
            "D" => {
                let since = inserted.get(&key).copied().unwrap_or(line.at_ns);
                longest = longest.max(line.at_ns.saturating_sub(since));
            }
            _ => {}
        }
    }
    longest
}

pub(super) fn get_longest_ns(lines: &[Line]) -> u64 {
    let mut queued: BTreeMap<(Dev, Option<u64>), u64> = BTreeMap::new();
    let mut longest = 0;
    for line in lines {
        let key = (line.dev, sector(line));
        match line.letter.as_str() {
            "Q" => _ = queued.insert(key, line.at_ns),
            "G" => {
                let since = queued.get(&key).copied().unwrap_or(line.at_ns);
                longest = longest.max(line.at_ns.saturating_sub(since));
            }
            _ => {}
        }
    }
    longest
}
