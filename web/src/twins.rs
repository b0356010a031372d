//! What the comparison of both runs says, in words and numbers. No browser here.

use crate::narrate;
use crate::numbers::TwinRun;
use crate::words;
use mqscope_core::event::{Context, Event, Kind};
use mqscope_core::report::twins::{PAIRS_MAX, Pair, Parting, Reorder};
use mqscope_core::topology::Topology;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Bars of the ribbon at most.
const BARS_MAX: usize = 120;
/// I/Os listed: those that differ most.
const LISTED: usize = 12;

/// A place in both runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Time in each run, ns.
    pub at_ns: [u64; 2],
    /// Serial number of the event in each run; 0 where only the time is known.
    pub event: [u64; 2],
}

/// What is known of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Whether nothing more is to come.
    pub complete: bool,
    /// Where they part, one sentence.
    pub parting: String,
    /// What each does there; empty where they are alike.
    pub sides: [String; 2],
    /// The place, to go there.
    pub moment: Option<Moment>,
    /// Where the order of requests at a disk parts, one sentence; empty if it does not.
    pub order: String,
    /// What the I/Os gained or lost, one sentence.
    pub sum: String,
    /// Differences over the run.
    pub bars: Vec<Bar>,
    /// The I/Os that differ most, the worst first, with their tasks' names.
    pub most: Vec<(String, Pair)>,
}

/// Differences of neighbouring I/Os, ns; positive: the second run took longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// A tenth differ by less.
    pub low_ns: i64,
    /// Half differ by less.
    pub middle_ns: i64,
    /// A tenth differ by more.
    pub high_ns: i64,
}

/// Reads the comparison.
pub fn account(run: &TwinRun, complete: bool) -> Account {
    let twins = run.twins();
    let topologies = [run.topology(0), run.topology(1)];
    let pairs = twins.pairs();
    let (parting, sides, moment) = match twins.parting() {
        Some(parting) => parted(parting, topologies),
        None if twins.same() => {
            (String::from("Both runs are the same to the last event."), Default::default(), None)
        }
        None => {
            (format!("The first {} are the same so far.", events(twins.alike())), Default::default(), None)
        }
    };
    let mut most: Vec<Pair> = pairs.iter().filter(|p| p.difference_ns() != 0).copied().collect();
    most.sort_by_key(|p| (std::cmp::Reverse(p.difference_ns().unsigned_abs()), p.task, p.nth));
    most.truncate(LISTED);
    let name = |p: &Pair| topologies[0].tasks.get(p.task as usize).map_or("a task", |t| t.name.as_str());
    Account {
        complete,
        parting,
        sides,
        moment,
        order: twins.reorder().map(|r| reordered(r, topologies[0])).unwrap_or_default(),
        sum: sum(&pairs, complete),
        bars: bars(&pairs),
        most: most
            .into_iter()
            .map(|p| (format!("{}, task {}, I/O {}", name(&p), p.task, p.nth + 1), p))
            .collect(),
    }
}

fn events(n: u64) -> String {
    match n {
        1 => String::from("event"),
        n => format!("{} events", words::grouped(n)),
    }
}

fn parted(parting: &Parting, topologies: [&Topology; 2]) -> (String, [String; 2], Option<Moment>) {
    let says = |side: usize| match &parting.next[side] {
        Some(event) => said(event, topologies[side]),
        None => String::from("Nothing more happens."),
    };
    let mut sides = [says(0), says(1)];
    let fields = fields(parting, topologies);
    if sides[0] == sides[1] {
        // What no sentence about such an event mentions, in the log's own terms.
        for (side, text) in sides.iter_mut().enumerate() {
            let own: Vec<String> = fields.iter().map(|(name, of)| format!("{name} {}", of[side])).collect();
            *text += &format!(" Here {}.", own.join(", "));
        }
    }
    let how = difference(parting, topologies[0], &fields);
    let head = match parting.alike {
        0 => format!("They differ from the first event on: {how}"),
        n => format!("The first {} are the same, then they part: {how}", events(n)),
    };
    let at = |side: usize| parting.next[side].or(parting.last).map_or(0, |e| e.at_ns);
    let moment = Moment { at_ns: [at(0), at(1)], event: [parting.alike + 1; 2] };
    (head, sides, Some(moment))
}

/// An event with its time and who did it.
fn said(event: &Event, t: &Topology) -> String {
    format!("{}, {}: {}.", words::moment(event.at_ns), narrate::actor(event, t), narrate::sentence(event, t))
}

/// A field of an event, and its value in each run.
type Field = (String, [String; 2]);

/// The fields in which the two events differ, locks, hctxs and disks by name.
fn fields(parting: &Parting, topologies: [&Topology; 2]) -> Vec<Field> {
    let named = |side: usize| -> BTreeMap<String, String> {
        let Some(event) = &parting.next[side] else { return BTreeMap::new() };
        let (t, all) = (topologies[side], serde_json::to_value(event).unwrap_or_default());
        let mut out = BTreeMap::new();
        let mut add = |name: &str, value: &Value| {
            let id = value.as_u64().unwrap_or_default();
            let text = match name {
                "lock" | "line" => narrate::object(t, id as u32).into(),
                "hctx" => narrate::hctx(t, id as u16),
                "queue" => narrate::disk(t, id as u16).into(),
                _ => value.as_str().map_or_else(|| value.to_string(), Into::into),
            };
            let name = if name == "rq" { String::from("request") } else { name.replace('_', " ") };
            out.insert(name, text);
        };
        for (name, value) in all.as_object().into_iter().flatten() {
            match value.as_object() {
                Some(inner) => inner.iter().for_each(|(name, value)| add(name, value)),
                None => add(name, value),
            }
        }
        out
    };
    let [a, b] = [named(0), named(1)];
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).filter(|name| *name != "at ns").collect();
    // What is not written is what it usually is.
    let of = |map: &BTreeMap<String, String>, name| map.get(name).map_or_else(|| "none".into(), Clone::clone);
    let both = names.into_iter().map(|name| (name.clone(), [of(&a, name), of(&b, name)]));
    both.filter(|(_, [a, b])| a != b).collect()
}

/// In what the two events differ.
fn difference(parting: &Parting, t: &Topology, fields: &[Field]) -> String {
    let [Some(a), Some(b)] = &parting.next else {
        return String::from("one run is over, the other goes on.");
    };
    let by = words::span(b.at_ns.abs_diff(a.at_ns) as f64);
    let how = if b.at_ns > a.at_ns { "later" } else { "earlier" };
    let doing = |e: &Event| std::mem::discriminant(&e.kind);
    if a.cpu != b.cpu {
        return format!("another CPU is first, CPU {} in A and CPU {} in B.", a.cpu, b.cpu);
    }
    if doing(a) != doing(b) {
        let when = if a.at_ns == b.at_ns { String::new() } else { format!(", {by} {how} in B") };
        return format!("CPU {} does something else next{when}.", a.cpu);
    }
    if !fields.is_empty() {
        let each: Vec<String> =
            fields.iter().map(|(name, [a, b])| format!("another {name} ({a} in A, {b} in B)")).collect();
        return format!("the same step, but {}.", each.join(", "));
    }
    let mut text = format!(
        "the same step comes {by} {how} in B, at {} in A and at {} in B.",
        words::moment(a.at_ns),
        words::moment(b.at_ns)
    );
    // What a device was busy with is no event of this CPU.
    if let Some(before) = parting.before[0].filter(|_| a.context != Context::Idle) {
        let took = |e: &Event| words::span(e.at_ns.saturating_sub(before.at_ns) as f64);
        text += &format!(
            " What took longer in {} is the time since CPU {}'s event before it ({}): {} in A, {} in B.",
            if b.at_ns > a.at_ns { "B" } else { "A" },
            a.cpu,
            said(&before, t).trim_end_matches('.'),
            took(a),
            took(b)
        );
    }
    text
}

fn reordered(reorder: &Reorder, t: &Topology) -> String {
    let disk = t.queues.get(reorder.queue as usize).map_or("?", |q| q.name.as_str());
    let what = |event: &Event| match event.kind {
        Kind::Issue { rq, extent, .. } => format!(
            "request {rq} ({} KiB at sector {})",
            f64::from(extent.sectors) / 2.0,
            words::grouped(extent.sector)
        ),
        _ => String::from("nothing"),
    };
    format!(
        "{disk} gets {}; as number {} A sends {}, B {}.",
        match reorder.alike {
            0 => String::from("another request first"),
            1 => String::from("the same request first"),
            n => format!("its first {} requests in the same order", words::grouped(n)),
        },
        words::grouped(reorder.alike + 1),
        what(&reorder.next[0]),
        what(&reorder.next[1])
    )
}

fn sum(pairs: &[Pair], complete: bool) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let faster = pairs.iter().filter(|p| p.difference_ns() < 0).count();
    let slower = pairs.iter().filter(|p| p.difference_ns() > 0).count();
    let mean = pairs.iter().map(|p| p.difference_ns() as f64).sum::<f64>() / pairs.len() as f64;
    let takes = match (mean.abs() < 0.5, mean > 0.0) {
        (true, _) => String::from("as long in both"),
        (_, true) => format!("{} more in B", words::span(mean)),
        (_, false) => format!("{} less in B", words::span(-mean)),
    };
    format!(
        "Of {} I/Os that both runs have completed{}, {} take longer in B and {} are faster; on average such an I/O takes \
         {takes}. This is a mean over pairs, the same I/O in both from the start on (the first {} at most); the means under Numbers \
         are over all I/Os of each run after the warm-up.",
        words::grouped(pairs.len() as u64),
        if complete { "" } else { " so far" },
        words::grouped(slower as u64),
        words::grouped(faster as u64),
        words::grouped(PAIRS_MAX as u64)
    )
}

fn bars(pairs: &[Pair]) -> Vec<Bar> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let bar = |chunk: &[Pair]| {
        let mut all: Vec<i64> = chunk.iter().map(Pair::difference_ns).collect();
        all.sort_unstable();
        let at = |percent: usize| all[(all.len() - 1) * percent / 100];
        Bar { low_ns: at(10), middle_ns: at(50), high_ns: at(90) }
    };
    pairs.chunks(pairs.len().div_ceil(BARS_MAX)).map(bar).collect()
}

/// The ribbon as SVG: a bar from a tenth to nine tenths of neighbouring I/Os, and a step at their middle. Above the line
/// the second run takes longer.
pub fn ribbon(bars: &[Bar]) -> String {
    const HALF: f64 = 50.0;
    let top = bars.iter().map(|b| b.low_ns.unsigned_abs().max(b.high_ns.unsigned_abs())).max().unwrap_or(0);
    if top == 0 {
        return String::new();
    }
    let y = |ns: i64| HALF - ns as f64 / top as f64 * (HALF - 2.0);
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\"><path class=\"ribbon-zero\" d=\"M0 {HALF}H{}\"/>",
        bars.len(),
        HALF * 2.0,
        bars.len()
    );
    for (x, bar) in bars.iter().enumerate() {
        // Writing to a String cannot fail.
        let mut part = |class: &str, from: i64, to: i64| {
            let (high, low) = (y(to), y(from));
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{:.2}\" y=\"{high:.2}\" width=\"0.8\" height=\"{:.2}\"/>",
                x as f64 + 0.1,
                (low - high).max(0.6)
            );
        };
        if bar.high_ns > 0 {
            part("ribbon-slower", bar.low_ns.max(0), bar.high_ns);
        }
        if bar.low_ns < 0 {
            part("ribbon-faster", bar.low_ns, bar.high_ns.min(0));
        }
        part("ribbon-middle", bar.middle_ns, bar.middle_ns);
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Side;
    use crate::numbers::Run;
    use crate::preset;
    use mqscope_core::event::{Extent, Flags, Op, Place};

    fn run(name: &str, duration_ns: u64) -> TwinRun {
        let preset = preset::find(name).expect("the preset");
        let config = preset.config();
        let run = |side| {
            let mut scenario = config.scenario(&preset.base, side).expect("it builds");
            scenario.duration_ns = duration_ns;
            scenario.warmup_ns = 0;
            Run::new(&scenario, &config.policy(side).changes).expect("it runs")
        };
        TwinRun::new([run(Side::A), run(Side::B)])
    }

    #[test]
    fn an_account_grows_and_says_where_they_part() {
        let mut twins = run("seed-000", 2_000_000);
        let mut slices = 0;
        while !twins.advance(|| true) {
            slices += 1;
            assert!(slices < 10_000);
        }
        let account = account(&twins, true);
        assert!(account.parting.starts_with("The first "), "{}", account.parting);
        assert!(
            account.sides.iter().all(|s| s.contains("CPU ") || s.contains("device")),
            "{:?}",
            account.sides
        );
        assert!(account.moment.is_some_and(|m| m.event[0] > 1 && m.at_ns[0] > 0));
        assert!(account.sum.contains("on average such an I/O takes"), "{}", account.sum);
        assert!(account.sum.contains("mean over pairs") && account.sum.contains("all I/Os of each run"));
        assert!(!account.most.is_empty() && account.most.len() <= LISTED && account.bars.len() <= BARS_MAX);
        let by = |(_, p): &(String, Pair)| p.difference_ns().unsigned_abs();
        assert!(account.most.windows(2).all(|w| by(&w[0]) >= by(&w[1])));
        assert!(account.bars.iter().all(|b| b.low_ns <= b.middle_ns && b.middle_ns <= b.high_ns));
        assert!(ribbon(&account.bars).contains("ribbon-middle"));
    }

    #[test]
    fn a_listed_request_is_where_the_list_says() {
        let mut twins = run("seed-000", 20_000_000);
        while !twins.advance(|| false) {}
        let account = account(&twins, true);
        let preset = preset::find("seed-000").expect("the preset");
        for (side, of) in [(0, Side::A), (1, Side::B)] {
            let scenario = preset.config().scenario(&preset.base, of).expect("it builds");
            let mut player = crate::player::Player::new(scenario).expect("it can be played");
            for (name, pair) in &account.most {
                player.seek(pair.got_ns[side]);
                while player.seeking().is_some() {
                    player.tick(0.0);
                }
                let request = player.scene().request(pair.rq[side]);
                assert!(request.is_some_and(|r| r.task == pair.task), "{name}: {pair:?}, side {side}");
            }
        }
    }

    #[test]
    fn no_preset_parts_with_the_same_words_on_both_sides() {
        for preset in preset::all() {
            let mut twins = run(preset.name, 3_000_000);
            while !twins.advance(|| false) {}
            let account = account(&twins, true);
            let [a, b] = &account.sides;
            assert!(account.moment.is_none() || a != b, "{}: {a}", preset.name);
        }
        // Each kernel numbers its locks otherwise; the first lock that is really another one is told.
        let mut twins = run("seed-003", 3_000_000);
        while !twins.advance(|| false) {}
        let says = account(&twins, true).parting;
        assert!(says.contains("another lock (q->queue_lock (sda) in A, dd->lock (sda) in B)"), "{says}");
    }

    fn between(a: Event, b: Event, before: Event) -> (String, [String; 2]) {
        let next = [Some(a), Some(b)];
        let parting = Parting { alike: 9, last: Some(before), next, before: [Some(before); 2] };
        let none = Topology::default();
        let (head, sides, _) = parted(&parting, [&none, &none]);
        (head, sides)
    }

    #[test]
    fn what_differs_is_named_time_cpu_request_or_step() {
        let free = |rq| Kind::TagFree { rq, hctx: 0, tag: 1 };
        let event = |at_ns, cpu, kind| Event { at_ns, cpu, context: Context::SoftIrq, task: 0, kind };
        let before = event(100, 3, Kind::ContextBegin);
        let (head, sides) = between(event(150, 3, free(7)), event(180, 3, free(7)), before);
        let plain = head.replace(words::THIN, " ");
        assert!(plain.contains("30 ns later in B, at 0.000 150 ms in A and at 0.000 180 ms in B"), "{plain}");
        assert!(plain.contains("begins to run") && plain.contains("50 ns in A, 80 ns in B"), "{plain}");
        assert_ne!(sides[0], sides[1]);
        let (head, _) = between(event(150, 3, free(7)), event(150, 3, free(8)), before);
        assert!(head.contains("another request (7 in A, 8 in B)"), "{head}");
        let (head, _) = between(event(150, 3, free(7)), event(150, 4, free(7)), before);
        assert!(head.contains("another CPU is first, CPU 3 in A and CPU 4 in B"), "{head}");
        let (head, _) = between(event(150, 3, free(7)), event(150, 3, Kind::ContextEnd), before);
        assert!(head.contains("CPU 3 does something else next."), "{head}");
        // A sentence about an insert does not tell its flags.
        let insert = |flags| {
            let extent = Extent { op: Op::Write, flags, sector: 8, sectors: 8 };
            event(150, 3, Kind::Insert { rq: 7, queue: 0, hctx: 0, place: Place::Elevator, extent })
        };
        let (head, sides) = between(insert(Flags::NONE), insert(Flags::SYNC), before);
        assert!(head.contains("another flags (none in A, 1 in B)"), "{head}");
        assert!(sides[0].ends_with("Here flags none.") && sides[1].ends_with("Here flags 1."), "{sides:?}");
    }

    #[test]
    fn equal_runs_have_no_ribbon() {
        assert_eq!(ribbon(&[]), "");
        assert_eq!(ribbon(&[Bar { low_ns: 0, middle_ns: 0, high_ns: 0 }]), "");
    }
}
