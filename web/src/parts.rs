//! The parts of a run before and after a change of its policy, and what they did by themselves. No browser here.

use crate::config::Change;
use crate::words;
use mqscope_core::report::Report;

/// Whole buckets of the report's series that a part needs for numbers of its own: 2 % of the run.
const BUCKETS_MIN: usize = 4;

/// The changes that the run has met, or will meet if it is still under way: one at its end or later changes nothing.
pub fn met<'a>(report: &Report, finished: bool, changes: &'a [Change]) -> &'a [Change] {
    let n = changes.partition_point(|c| !finished || c.at_ns < report.end_ns);
    &changes[..n]
}

/// IOPS and mean latency (fio's lat, ns) between two moments, of whole buckets; `None` where there are too few.
fn part(report: &Report, from_ns: u64, to_ns: u64) -> Option<(f64, f64)> {
    let (series, width) = (&report.series, report.series.bucket_ns.max(1));
    let from = from_ns.div_ceil(width) as usize;
    let to = ((to_ns / width) as usize).min(series.ios.len());
    if to < from + BUCKETS_MIN {
        return None;
    }
    let ios: u64 = series.ios[from..to].iter().map(|n| u64::from(*n)).sum();
    let lat_ns: u64 = series.lat_sum_ns.get(from..to)?.iter().sum();
    Some((ios as f64 * 1e9 / ((to - from) as u64 * width) as f64, lat_ns as f64 / ios as f64))
}

/// What is to be known about the numbers of a run whose policy changes on the way; empty where it does not.
pub fn words(report: &Report, finished: bool, changes: &[Change]) -> String {
    let met = met(report, finished, changes);
    let (Some(first), Some(last)) = (met.first(), met.last()) else {
        let Some(planned) = changes.first() else { return String::new() };
        let (at, end) = (words::moment(planned.at_ns), words::moment(report.end_ns));
        return format!("The change at {at} comes after the end of the run, {end}: it changes nothing.");
    };
    let (times, before, since) = match met.len() {
        1 => (format!("once on the way, at {}", words::moment(first.at_ns)), "before", "since then"),
        n => (format!("{n} times on the way"), "before the first change", "since the last"),
    };
    let measured_ns = report.end_ns.saturating_sub(report.window_ns);
    let sides = [part(report, measured_ns, first.at_ns), part(report, last.at_ns, report.end_ns)];
    let say = |part: Option<(f64, f64)>| match part {
        Some((iops, lat_ns)) => {
            format!("{} IOPS, mean latency {}", words::short(iops), words::span(lat_ns))
        }
        None => String::from(if finished { "too short to be measured" } else { "not known yet" }),
    };
    let change = match sides {
        [Some((a, _)), Some((b, _))] => words::change(a, b).map(|c| format!(" ({c} IOPS)")),
        _ => None,
    };
    format!(
        "Changed {times}; all other numbers are of the whole run, its parts mixed. By themselves: {before} {}; {since} {}{}.",
        say(sides[0]),
        say(sides[1]),
        change.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Rules;
    use crate::numbers::Run;
    use mqscope_core::report::Series;

    fn at(at_ns: u64) -> Change {
        Change { at_ns, rules: Rules::default() }
    }

    /// A run of 100 ns in buckets of 1 ns: 2 I/Os in each of the first half, 6 in each of the second.
    fn report() -> Report {
        let ios: Vec<u32> = (0..100).map(|i| if i < 50 { 2 } else { 6 }).collect();
        let lat_sum_ns = ios.iter().map(|n| u64::from(*n) * if *n == 2 { 30 } else { 10 }).collect();
        Report {
            end_ns: 100,
            window_ns: 80,
            series: Series { bucket_ns: 1, ios, lat_sum_ns, ..Series::default() },
            ..Report::default()
        }
    }

    #[test]
    fn both_parts_of_a_changed_run_have_numbers_of_their_own() {
        let text = words(&report(), true, &[at(50)]).replace(words::THIN, " ");
        assert!(text.contains("Changed once on the way, at 0.000 050 ms"), "{text}");
        assert!(text.contains("before 2 G IOPS, mean latency 30 ns"), "{text}");
        assert!(text.contains("since then 6 G IOPS, mean latency 10 ns (+200 % IOPS)"), "{text}");
        let text = words(&report(), true, &[at(50), at(98)]);
        assert!(text.contains("2 times") && text.contains("since the last too short"), "{text}");
        // The warm-up is not measured, here as in the other numbers.
        assert!(words(&report(), true, &[at(22)]).contains("before too short"));
        assert!(words(&report(), false, &[at(100)]).contains("since then not known yet"));
    }

    #[test]
    fn a_change_after_the_end_is_none() {
        assert_eq!(words(&report(), true, &[]), "");
        let text = words(&report(), true, &[at(100)]);
        assert!(text.contains("after the end") && !text.contains("Changed"), "{text}");
        assert!(met(&report(), true, &[at(99), at(100)]).len() == 1);
    }

    #[test]
    fn the_part_before_a_change_is_that_of_the_run_without_it() {
        let preset = crate::preset::find("seed-000").expect("the preset");
        let scenario = preset.config().scenario(&preset.base, crate::config::Side::A).expect("it builds");
        let scenario =
            mqscope_core::scenario::Scenario { duration_ns: 8_000_000, warmup_ns: 1_000_000, ..scenario };
        let run = |changes: &[Change]| {
            let mut run = Run::new(&scenario, changes).expect("it runs");
            run.advance(|| false);
            run.numbers().report
        };
        let change = Change { at_ns: 4_000_000, rules: Rules::new("6.1", &[]) };
        let (with, without) = (run(std::slice::from_ref(&change)), run(&[]));
        let of = |r: &Report, from, to| part(r, from, to).expect("long enough");
        assert_eq!(of(&with, 1_000_000, 4_000_000), of(&without, 1_000_000, 4_000_000));
        assert_ne!(of(&with, 4_000_000, 8_000_000), of(&without, 4_000_000, 8_000_000));
        // Over the whole window the parts are what the report says.
        let whole = of(&without, 1_000_000, 8_000_000).0;
        assert!((whole / without.total.iops - 1.0).abs() < 0.01, "{whole} {}", without.total.iops);
    }
}
