//! Values of single options that are made of several parts.

use super::units::{Problem, bytes, problem};
use super::values::word;
use crate::format::text::quote;
use crate::workload::{BsShare, Distribution, Sequencer, SyncFileRange, SyncRange};

/// Most block sizes of a split (BSSPLIT_MAX).
const BSSPLIT_MAX: usize = 64;

/// A list for all directions, or one each for reads and writes (the third is for trims).
fn directions<T: Clone>(value: &str, read: impl Fn(&str) -> Result<T, Problem>) -> Result<[T; 2], Problem> {
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [both] => read(both).map(|both| [both.clone(), both]),
        [reads, writes] | [reads, writes, _] => Ok([read(reads)?, read(writes)?]),
        _ => Err(problem(format!("'{}' has more than three parts.", quote(value)), "Write READ,WRITE.")),
    }
}

fn size(text: &str, kb_base: u64) -> Result<u32, Problem> {
    let number = bytes(text.trim(), kb_base)?;
    match u32::try_from(number.value) {
        Ok(size @ 1..) => Ok(size),
        _ => Err(problem(format!("'{}' is no block size.", quote(text)), "Write for example 4k.")),
    }
}

/// `4k/60:8k/30:16k/10`, for each direction. Shares left out have an equal part of what is left of 100.
pub(super) fn bssplit(value: &str, kb_base: u64) -> Result<[Vec<BsShare>; 2], Problem> {
    directions(value, |list| {
        let mut shares: Vec<(u32, Option<u8>)> = Vec::new();
        for part in list.split(':') {
            let (bytes, percent) =
                part.split_once('/').map_or((part, ""), |(bytes, percent)| (bytes, percent));
            let percent = match percent.trim() {
                "" => None,
                text => match text.parse::<u8>() {
                    Ok(percent @ 0..=100) => Some(percent),
                    _ => {
                        let message = format!("'{}' is not a whole number from 0 to 100.", quote(text));
                        return Err(problem(message, "Write SIZE/PERCENT:SIZE/PERCENT."));
                    }
                },
            };
            shares.push((size(bytes, kb_base)?, percent));
        }
        if shares.len() > BSSPLIT_MAX {
            return Err(problem(format!("there are more than {BSSPLIT_MAX} sizes."), ""));
        }
        let given: u32 = shares.iter().filter_map(|&(_, percent)| percent).map(u32::from).sum();
        let open = shares.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
        if given > 100 || (open == 0 && given < 100) {
            return Err(problem(
                format!("the shares add up to {given}, not to 100."),
                "Leave one out for the rest.",
            ));
        }
        let mut rest = 100 - given;
        let mut left = open;
        Ok(shares
            .into_iter()
            .map(|(bytes, percent)| {
                let percent = percent.unwrap_or_else(|| {
                    let part = rest / left.max(1);
                    (rest, left) = (rest - part, left - 1);
                    part as u8
                });
                BsShare { bytes, percent }
            })
            .collect())
    })
}

/// `4k-16k`, for each direction.
pub(super) fn bsrange(value: &str, kb_base: u64) -> Result<[[u64; 2]; 2], Problem> {
    directions(value, |range| {
        let Some((from, to)) = range.split_once(['-', ':']) else {
            return Err(problem(format!("'{}' is not a range.", quote(range)), "Write for example 4k-16k."));
        };
        let (from, to) = (u64::from(size(from, kb_base)?), u64::from(size(to, kb_base)?));
        // fio takes the smaller one as the least, wherever it stands.
        Ok([from.min(to), from.max(to)])
    })
}

/// `random`, `zipf:1.2`, `pareto:0.9`, `normal:10`.
pub(super) fn distribution(value: &str) -> Result<Distribution, Problem> {
    let (name, input) = value.split_once(':').map_or((value, None), |(name, input)| (name, Some(input)));
    let number = |default: f64| match input {
        None => Ok(default),
        Some(text) => text.trim().parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(|| {
            problem(format!("'{}' is not a number.", quote(text)), "Write for example zipf:1.2.")
        }),
    };
    if matches!(name, "zoned" | "zoned_abs") {
        return Err(problem("zones are not simulated.", "Use zipf, pareto or normal."));
    }
    let shape = word(name, &[("random", 0), ("zipf", 1), ("pareto", 2), ("normal", 3)])?;
    let found = match shape {
        0 => Distribution::Uniform,
        1 => Distribution::Zipf(number(1.1)?),
        2 => Distribution::Pareto(number(0.2)?),
        _ => Distribution::Normal(number(0.0)?),
    };
    let fits = match found {
        Distribution::Uniform => true,
        // fio refuses exactly 1, for which its sum has no closed form.
        Distribution::Zipf(theta) => theta > 0.0 && theta <= 10.0 && theta != 1.0,
        Distribution::Pareto(h) => h > 0.0 && h < 1.0,
        Distribution::Normal(percent) => (0.0..=100.0).contains(&percent),
    };
    if fits {
        Ok(found)
    } else {
        let message = format!("'{}' is out of range.", quote(value));
        Err(problem(message, "zipf takes 0 to 10 but not 1, pareto 0 to 1, normal 0 to 100 percent."))
    }
}

pub(super) fn sequencer(value: &str) -> Result<Sequencer, Problem> {
    word(value, &[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)])
}

/// `wait_before,write:8`.
pub(super) fn sync_file_range(value: &str) -> Result<SyncFileRange, Problem> {
    let Some((flags, every)) = value.rsplit_once(':') else {
        return Err(problem(format!("'{}' has no number.", quote(value)), "Write for example write:8."));
    };
    let every = match every.trim().parse::<u32>() {
        Ok(every @ 1..) => every,
        _ => return Err(problem(format!("'{}' is no number of writes.", quote(every)), "Write 1 or more.")),
    };
    let mut how = SyncRange::default();
    for flag in flags.split(',') {
        match word(flag.trim(), &[("wait_before", 0), ("write", 1), ("wait_after", 2)])? {
            0 => how.wait_before = true,
            1 => how.write = true,
            _ => how.wait_after = true,
        }
    }
    Ok(SyncFileRange { every, how })
}
