//! Facts that are a sequence in words.

use super::{sector, with};
use crate::conform::recording::Line;

fn words(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// Letter and first sector, the latter only for events about blocks.
fn letter_at(line: &Line, sign: &str) -> String {
    match sector(line).filter(|_| line.rwbs != "N") {
        Some(sector) => format!("{}{sign}{sector}", line.letter),
        None => line.letter.clone(),
    }
}

pub(super) fn letters(lines: &[Line], limit: Option<usize>) -> String {
    words(lines.iter().take(limit.unwrap_or(usize::MAX)).map(|line| line.letter.clone()))
}

pub(super) fn letters_at(lines: &[Line], limit: usize) -> String {
    words(lines.iter().take(limit).map(|line| letter_at(line, "@")))
}

pub(super) fn letters_kinds(lines: &[Line]) -> String {
    words(lines.iter().map(|line| format!("{}:{}", line.letter, line.rwbs)))
}

pub(super) fn story(lines: &[Line], blocks: (u64, u64)) -> String {
    let told = lines.iter().skip_while(|line| line.extent != Some(blocks));
    words(told.filter(|line| line.letter != "C").map(|line| letter_at(line, "")))
}

pub(super) fn issued(lines: &[Line]) -> String {
    words(with(lines, "D").filter_map(sector).map(|sector| sector.to_string()))
}

pub(super) fn issued_blocks(lines: &[Line]) -> String {
    words(
        with(lines, "D").filter_map(|line| line.extent).map(|(first, sectors)| format!("{first}+{sectors}")),
    )
}

pub(super) fn issued_disks(lines: &[Line], limit: usize) -> String {
    let of_blocks = with(lines, "D").filter_map(|line| Some((line.dev, sector(line)?)));
    words(of_blocks.take(limit).map(|((major, minor), sector)| format!("{major},{minor}@{sector}")))
}

pub(super) fn issued_kinds_after(lines: &[Line], kind: &str) -> String {
    let after = lines.iter().skip_while(|line| line.rwbs != kind);
    words(after.filter(|line| line.letter == "D").map(|line| line.rwbs.clone()))
}

/// Blocks of events with this letter that write at least so many sectors.
fn writes<'a>(lines: &'a [Line], letter: &'a str, least: u64) -> impl Iterator<Item = (u64, u64)> {
    let of_writes = with(lines, letter).filter(|line| line.rwbs.starts_with('W'));
    of_writes.filter_map(|line| line.extent).filter(move |(_, sectors)| *sectors >= least)
}

pub(super) fn issued_writes(lines: &[Line], least: u64) -> String {
    words(writes(lines, "D", least).map(|(first, _)| first.to_string()))
}

pub(super) fn queued_writes(lines: &[Line], least: u64) -> String {
    words(writes(lines, "Q", least).map(|(first, sectors)| format!("{first}+{sectors}")))
}

pub(super) fn unplugs(lines: &[Line], letter: &str) -> String {
    words(with(lines, letter).filter_map(|line| line.count).map(|count| count.to_string()))
}

pub(super) fn unplugs_disks(lines: &[Line]) -> String {
    let with_count = with(lines, "U").filter_map(|line| Some((line.dev, line.count?)));
    words(with_count.map(|((major, minor), count)| format!("{major},{minor}:{count}")))
}

pub(super) fn batches(lines: &[Line]) -> String {
    let mut text = Vec::new();
    let (mut got, mut issued) = (0, 0);
    for line in lines {
        if line.letter == "D" {
            if issued == 0 {
                text.push(format!("{got} G then"));
                got = 0;
            }
            issued += 1;
            continue;
        }
        if issued > 0 {
            text.push(format!("{issued} D;"));
            issued = 0;
        }
        got += u32::from(line.letter == "G");
    }
    if issued > 0 {
        text.push(format!("{issued} D;"));
    }
    text.join(" ")
}

/// D before the first U, and the first sector of the first D after it (0 if there is none).
pub(super) fn around_unplug(lines: &[Line]) -> (u64, u64) {
    let at = lines.iter().position(|line| line.letter == "U").unwrap_or(lines.len());
    let (before, after) = lines.split_at(at);
    (with(before, "D").count() as u64, with(after, "D").find_map(sector).unwrap_or(0))
}
