//! The two policies side by side: what each is, what it achieves, and which one is on the stage.

use super::control::{Button, Radio, act, focus, state, text};
use crate::config::Side;
use crate::numbers::Numbers;
use crate::parts;
use crate::session::Session;
use crate::words::{self, Say};
use leptos::prelude::*;
use mqscope_core::cases::{Kind, Metric};
use mqscope_core::report::{PERCENTILES, Report};
use std::sync::Arc;

/// A latency percentile of the report, ns.
pub(super) fn percentile(report: &Report, percent: f64) -> f64 {
    let index = PERCENTILES.iter().position(|p| *p == percent);
    index.and_then(|i| report.total.clat.percentiles_ns.get(i)).map_or(f64::NAN, |ns| *ns as f64)
}

/// Runs whose simulated shares are further apart than this are not compared yet.
const SHARE_APART: f64 = 0.05;

/// Both cards.
#[component]
pub fn Compare() -> impl IntoView {
    view! {
        <section class="compare" aria-labelledby="compare-title">
            <h2 id="compare-title" class="hidden-text">"Two policies on the same arrivals"</h2>
            <div class="cards" role="radiogroup" aria-label="Policy on the stage">
                {Side::BOTH.map(|side| view! { <Card side /> }).collect_view()}
            </div>
        </section>
    }
}

/// Term, what it is, value, how it is said.
type Fact = (&'static str, &'static str, fn(&Report) -> f64, Say);

/// What one card says below its title, in the order in which it stands there.
const FACTS: [Fact; 3] = [
    ("clat p99", "99th percentile of completion latency", |r| percentile(r, 99.0), words::span),
    ("CPU per I/O", "CPU time of all kinds for one I/O", |r| r.cpu.total_ns, words::span),
    ("spinning", "Part of it spent spinning for locks", |r| r.cpu.spin_ns, words::span),
];

#[component]
fn Card(side: Side) -> impl IntoView {
    let session = Session::here();
    let numbers = session.numbers[side.index()];
    let other = session.numbers[side.other().index()];
    let on_stage = state(move || session.side.get() == side);
    let iops = |n: &Option<Arc<Numbers>>| n.as_ref().map_or(f64::NAN, |n| n.report.total.iops);
    let mixed = move || Side::BOTH.into_iter().any(|side| session.changes_on_the_way(side));
    let against = text(move || {
        // Unequal stretches of a run are not compared, nor what is half of one policy and half of another.
        let share = |n: &Option<Arc<Numbers>>| n.as_ref().map_or(0.0, |n| n.share);
        let level = !mixed() && (share(&other.read()) - share(&numbers.read())).abs() < SHARE_APART;
        let change = words::change(iops(&other.read()), iops(&numbers.read())).filter(|_| level);
        change.filter(|_| side == Side::B).map(|t| format!("{t} against A")).unwrap_or_default()
    });
    // What makes the difference is found out further down.
    let known = Memo::new(move |_| {
        let some =
            |n: &Option<Arc<Numbers>>| n.as_ref().is_some_and(|n| n.finished && n.report.total.ios > 0);
        side == Side::B
            && !mixed()
            && some(&numbers.read())
            && some(&other.read())
            && !session.differences().is_empty()
    });
    let ask = act(move || {
        session.try_differences();
        focus("twins-title");
    });
    let why = move || {
        known.get().then(|| view! { <Button class="quiet link" on=ask words=String::from("Why?") /> })
    };
    // Published numbers belong to the preset as it is, not to what the user made of it.
    let published = text(move || {
        let preset = session.preset();
        let own = session.config.with(|c| *c == preset.config());
        let iops = Metric { kind: Kind::Iops, of: None };
        // A report that has no IOPS has another number, which stands here with its unit.
        let other = || {
            let table = preset.case.published.first()?;
            let n = preset.published(&table.metric, side)?;
            let here = numbers.read().as_ref().and_then(|own| table.metric.of_report(&own.report));
            let here = here.map_or_else(String::new, |n| format!(", here {}", words::short(n)));
            Some(format!("published {} {}{here}", words::short(n), table.metric))
        };
        let text = preset.published(&iops, side).map(|n| format!("published {}", words::short(n)));
        text.or_else(other).filter(|_| own).unwrap_or_default()
    });
    let none = move || numbers.read().as_ref().is_some_and(|n| n.finished && n.report.total.ios == 0);
    // Half of one policy and half of another is the number of neither.
    let unit = text(move || {
        String::from(if session.changes_on_the_way(side) { "IOPS, parts mixed" } else { "IOPS" })
    });
    let foot = text(move || {
        let mut said = match none() {
            true => String::from(
                "No I/O came to its end in the measured part of the run, which begins after the warm-up; a longer run would \
                 show some, if the job goes on so long.",
            ),
            false => {
                let own = numbers.read();
                let words = |n: &Arc<Numbers>| {
                    session.config.with(|c| parts::words(&n.report, n.finished, &c.policy(side).changes))
                };
                own.as_ref().map(words).unwrap_or_default()
            }
        };
        numbers.with(|n| {
            for warning in n.iter().flat_map(|n| &n.report.warnings) {
                said += &format!(" {}.", words::sentence_case(warning));
            }
        });
        said.trim_start().into()
    });
    let say = move |f: fn(&Report) -> f64, say: Say| {
        // Of no I/O there is nothing to say.
        let any = |n: &&Arc<Numbers>| n.report.total.ios > 0;
        text(move || {
            numbers.read().as_ref().filter(any).map_or_else(|| String::from("–"), |n| say(f(&n.report)))
        })
    };
    let done = state(move || numbers.read().as_ref().is_some_and(|n| n.finished));
    let share = text(move || format!("scaleX({:.3})", numbers.read().as_ref().map_or(0.0, |n| n.share)));
    let id = format!("side-{}", side.letter());
    view! {
        <div class="card" class:on=on_stage>
            <p class="card-head">
                <Radio id=id.clone() name="side" value=on_stage on=act(move || session.show(side)) />
                <label for=id>
                    <span class=format!("badge {}", side.letter())>{side.letter()}</span>
                    <span class="card-title">{text(move || session.config.with(|c| c.label(side)))}</span>
                </label>
                <span class="card-stage" aria-hidden="true">
                    {text(move || String::from(if on_stage.get() { "on stage" } else { "" }))}
                </span>
            </p>
            <p class="card-figure">
                <span class="figure">{say(|r| r.total.iops, words::short)}</span>
                <span class="unit">{unit}</span>
                <span class="published" title=text(move || session.preset().source.into())>{published}</span>
                <span class="against">{against} {why}</span>
            </p>
            <dl class="card-facts">
                {FACTS
                    .map(|(term, help, f, words)| view! { <div><dt title=help>{term}</dt><dd>{say(f, words)}</dd></div> })
                    .collect_view()}
            </dl>
            <p class="card-foot">{foot}</p>
            <div class="progress" class:done=done aria-hidden="true">
                <span style:transform=share></span>
            </div>
        </div>
    }
}
