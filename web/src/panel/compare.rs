//! The two policies side by side: what each is, what it achieves, and which one is on the stage.

use crate::config::Side;
use crate::numbers::Numbers;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::report::{PERCENTILES, Report};
use std::sync::Arc;

/// A latency percentile of the report, ns.
pub(super) fn percentile(report: &Report, percent: f64) -> f64 {
    let index = PERCENTILES.iter().position(|p| *p == percent);
    index.and_then(|i| report.total.clat.percentiles_ns.get(i)).map_or(f64::NAN, |ns| *ns as f64)
}

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

#[component]
fn Card(side: Side) -> impl IntoView {
    let session = Session::here();
    let numbers = session.numbers[side.index()];
    let other = session.numbers[side.other().index()];
    let label = Memo::new(move |_| session.config.with(|c| c.label(side)));
    let changes = Memo::new(move |_| session.config.with(|c| c.policy(side).changes.len()));
    let on_stage = Memo::new(move |_| session.side.get() == side);
    let iops = |n: &Option<Arc<Numbers>>| n.as_ref().map_or(f64::NAN, |n| n.report.total.iops);
    let against = move || words::change(iops(&other.read()), iops(&numbers.read()));
    let share = move || numbers.read().as_ref().map_or(0.0, |n| n.share);
    let finished = move || numbers.read().as_ref().is_some_and(|n| n.finished);
    let figure = move |f: fn(&Report) -> f64, say: fn(f64) -> String| {
        move || numbers.read().as_ref().map_or_else(|| String::from("–"), |n| say(f(&n.report)))
    };
    // Published numbers belong to the preset as it is, not to what the user made of it.
    let published = Memo::new(move |_| {
        let preset = session.preset();
        session.config.with(|c| (*c == preset.config()).then(|| preset.published_iops[side.index()]).flatten())
    });
    let input_id = format!("side-{}", side.letter());
    view! {
        <div class="card" class:on=on_stage>
            <p class="card-head">
                <input
                    type="radio"
                    name="side"
                    id=input_id.clone()
                    prop:checked=on_stage
                    on:change=move |_| session.show(side)
                />
                <label for=input_id>
                    <span class=format!("badge {}", side.letter())>{side.letter()}</span>
                    <span class="card-title">{label}</span>
                </label>
                <span class="card-stage" aria-hidden="true">{move || if on_stage.get() { "on stage" } else { "" }}</span>
            </p>
            <p class="card-figure">
                <span class="figure">{figure(|r| r.total.iops, words::short)}</span>
                <span class="unit">"IOPS"</span>
                <span class="published" title=move || session.preset().source>
                    {move || published.get().map(|n| format!("published {}", words::short(n)))}
                </span>
                <span class="against">
                    {move || (side == Side::B).then(against).flatten().map(|t| format!("{t} against A"))}
                </span>
            </p>
            <dl class="card-facts">
                <div>
                    <dt title="99th percentile of completion latency">"clat p99"</dt>
                    <dd>{figure(|r| percentile(r, 99.0), words::span)}</dd>
                </div>
                <div>
                    <dt title="CPU time of all kinds for one I/O">"CPU per I/O"</dt>
                    <dd>{figure(|r| r.cpu.total_ns, words::span)}</dd>
                </div>
                <div>
                    <dt title="Part of it spent spinning for locks">"spinning"</dt>
                    <dd>{figure(|r| r.cpu.spin_ns, words::span)}</dd>
                </div>
            </dl>
            <p class="card-foot">
                {move || match changes.get() {
                    0 => String::new(),
                    1 => String::from("Changed once on the way; numbers are of the whole run. "),
                    n => format!("Changed {n} times on the way; numbers are of the whole run. "),
                }}
            </p>
            <div class="progress" class:done=finished aria-hidden="true">
                <span style:transform=move || format!("scaleX({:.3})", share())></span>
            </div>
        </div>
    }
}
