//! The policy on the stage: kernel row, the five knobs to begin with, and all others.

use super::knob::Knob;
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::device;
use mqscope_core::kernel::{Knobs, ROWS};

/// The knobs that a newcomer meets first, with names for people.
const FIRST: [(&str, &str, &str); 3] = [
    ("dispatch_mode", "Dispatch mode", "How a run takes requests from the ctx lists."),
    ("plug_max", "Plug", "Requests that it holds before it is flushed."),
    ("direct_at_flush", "Direct issue", "When a flushed plug goes past the ctx list."),
];

/// The panel.
#[component]
pub fn PolicyPanel() -> impl IntoView {
    let session = Session::here();
    // The playhead moves every frame; how many changes lie behind it does not.
    let passed = Memo::new(move |_| {
        let now = session.frame.get().now_ns;
        session
            .config
            .with(|c| c.policy(session.side.get()).changes.iter().filter(|c| c.at_ns <= now).count())
    });
    let rules = Memo::new(move |_| {
        session.config.with(|c| {
            let policy = c.policy(session.side.get());
            passed
                .get()
                .checked_sub(1)
                .and_then(|i| policy.changes.get(i))
                .map_or(&policy.start, |c| &c.rules)
                .clone()
        })
    });
    let overrides = Memo::new(move |_| rules.read().set.len());
    view! {
        <section class="panel policy" id="policy" aria-labelledby="policy-title">
            <div class="panel-head">
                <h2 id="policy-title">
                    "Policy "
                    <span class=move || {
                        format!("badge {}", session.side.get().letter())
                    }>{move || session.side.get().letter()}</span>
                </h2>
                <Show when=move || { overrides.get() > 0 }>
                    <button
                        type="button"
                        class="quiet"
                        on:click=move |_| session.set_rules(|rules| rules.set.clear())
                    >
                        {move || format!("Reset {} changed", overrides.get())}
                    </button>
                </Show>
            </div>
            <fieldset class="segmented">
                <legend>"A change takes effect"</legend>
                <When from_now=true label="from the playhead" />
                <When from_now=false label="from the start" />
            </fieldset>
            <div class="knob">
                <label for="kernel">"Kernel"</label>
                <span class="knob-control">
                    <select id="kernel" on:change:target=move |e| session.set_kernel(&e.target().value())>
                        {ROWS
                            .iter()
                            .map(|row| {
                                view! {
                                    <option value=row.name prop:selected=move || rules.read().kernel == row.name>
                                        {row.name}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                </span>
                <p class="knob-help">
                    {move || ROWS.iter().find(|r| r.name == rules.read().kernel).map(|r| format!("Covers {}.", r.covers))}
                </p>
            </div>
            {FIRST.map(|(name, label, help)| view! { <Knob name label help rules place="first" /> }).collect_view()}
            <Depth />
            <Device />
            <details class="more">
                <summary>{format!("All {} knobs", Knobs::NAMES.len())}</summary>
                <div class="knobs">
                    {Knobs::NAMES.iter().map(|name| view! { <Knob name rules place="all" /> }).collect_view()}
                </div>
            </details>
        </section>
    }
}

#[component]
fn When(from_now: bool, label: &'static str) -> impl IntoView {
    let session = Session::here();
    let id = if from_now { "when-now" } else { "when-start" };
    view! {
        <span>
            <input
                type="radio"
                name="when"
                id=id
                prop:checked=move || session.from_now.get() == from_now
                on:change=move |_| session.from_now.set(from_now)
            />
            <label for=id>{label}</label>
        </span>
    }
}

#[component]
fn Depth() -> impl IntoView {
    let session = Session::here();
    let shown = move || {
        session.beat.track();
        let own = session.config.with(|c| c.depth);
        own.or_else(|| session.with_player(|p| p.topology().queues.first().map(|q| q.queue_depth)).flatten())
            .map(|d| d.to_string())
            .unwrap_or_default()
    };
    let shown = Memo::new(move |_| shown());
    view! {
        <div class="knob" class:overridden=move || session.config.read().depth.is_some()>
            <label for="depth">"Queue depth"</label>
            <span class="knob-control">
                <input
                    type="number"
                    id="depth"
                    min=1
                    max=65536
                    aria-describedby="depth-help"
                    prop:value=shown
                    on:change:target=move |e| {
                        let depth = e.target().value().parse::<u32>().ok().filter(|d| (1..=65_536).contains(d));
                        session.set_base(|c| c.depth = depth);
                    }
                />
            </span>
            <p class="knob-help" id="depth-help">"Commands a disk takes at once. Starts both runs over."</p>
        </div>
    }
}

#[component]
fn Device() -> impl IntoView {
    let session = Session::here();
    let model = Memo::new(move |_| {
        let own = session.config.with(|c| c.device.clone());
        own.unwrap_or_else(|| session.preset().model().to_string())
    });
    view! {
        <div class="knob" class:overridden=move || session.config.read().device.is_some()>
            <label for="device">"Device"</label>
            <span class="knob-control">
                <select
                    id="device"
                    aria-describedby="device-help"
                    on:change:target=move |e| {
                        let chosen = e.target().value();
                        let usual = session.preset().model() == chosen;
                        session.set_base(|c| {
                            c.device = (!usual).then_some(chosen);
                            c.depth = None;
                        });
                    }
                >
                    {device::PRESETS
                        .iter()
                        .map(|p| {
                            view! {
                                <option value=p.name prop:selected=move || *model.read() == p.name>
                                    {p.label}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </span>
            <p class="knob-help" id="device-help">"All disks of the scenario. Starts both runs over."</p>
        </div>
    }
}
