//! The policy on the stage: kernel row, the five knobs to begin with, and all others.

use super::control::{Button, Choice, Line, Radio, act, state, text};
use super::knob::{Knob, Setting};
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::device;
use mqscope_core::kernel::{Knobs, ROWS};

/// The knobs that a newcomer meets first, with names and help for people.
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
            let change = passed.get().checked_sub(1).and_then(|i| policy.changes.get(i));
            change.map_or(&policy.start, |c| &c.rules).clone()
        })
    });
    let reset = move || {
        let changed = rules.read().set.len();
        let on = act(move || session.set_rules(|rules| rules.set.clear()));
        (changed > 0)
            .then(|| view! { <Button class="quiet" on=on words=format!("Reset {changed} changed") /> })
    };
    let covers = move || {
        let row = ROWS.iter().find(|r| r.name == rules.read().kernel);
        row.map(|r| format!("Covers {}.", r.covers)).unwrap_or_default()
    };
    let when = move |now: bool, id: &'static str, label: &'static str| {
        let value = state(move || session.from_now.get() == now);
        view! {
            <span>
                <Radio id=id.into() name="when" value on=act(move || session.from_now.set(now)) />
                <label for=id>{label}</label>
            </span>
        }
    };
    let kernels = ROWS.iter().map(|r| (r.name.to_string(), r.name.to_string())).collect();
    let details = RwSignal::new(false);
    // All knobs are many controls: they are made when somebody opens them.
    let all = move || {
        details
            .get()
            .then(|| Knobs::NAMES.iter().map(|name| view! { <Knob name rules place="all" /> }).collect_view())
    };
    view! {
        <section class="panel policy" id="policy" aria-labelledby="policy-title">
            <div class="panel-head">
                <h2 id="policy-title">
                    "Policy "
                    <span class=text(move || format!("badge {}", session.side.get().letter()))>
                        {text(move || session.side.get().letter().into())}
                    </span>
                </h2>
                {reset}
            </div>
            <fieldset class="segmented">
                <legend>"A change takes effect"</legend>
                {when(true, "when-now", "from the playhead")}
                {when(false, "when-start", "from the start")}
            </fieldset>
            <Setting id="kernel".into() label="Kernel".into() help=text(covers) changed=state(|| false)>
                <Choice
                    id="kernel".into()
                    help="kernel-help".into()
                    options=kernels
                    value=text(move || rules.read().kernel.clone())
                    on=Callback::new(move |name: String| session.set_kernel(&name))
                />
            </Setting>
            {FIRST.map(|(name, label, help)| view! { <Knob name label help rules place="first" /> }).collect_view()}
            <Depth />
            <Device />
            <details
                class="more"
                on:toggle:target=move |e| {
                    details.update(|d| *d |= e.target().has_attribute("open"));
                }
            >
                <summary>{format!("All {} knobs", Knobs::NAMES.len())}</summary>
                <div class="knobs">{all}</div>
            </details>
        </section>
    }
}

#[component]
fn Depth() -> impl IntoView {
    let session = Session::here();
    let shown = Memo::new(move |_| {
        session.beat.track();
        let usual = || session.with_player(|p| p.topology().queues.first().map(|q| q.queue_depth)).flatten();
        session.config.with(|c| c.depth).or_else(usual).map(|d| d.to_string()).unwrap_or_default()
    });
    let set = Callback::new(move |value: String| match value.trim().parse::<u32>() {
        Ok(depth @ 1..=65_536) => session.set_base(|c| c.depth = Some(depth)),
        _ => session.notify("A queue depth is a whole number from 1 to 65536."),
    });
    view! {
        <Setting
            id="depth".into()
            label="Queue depth".into()
            help=text(|| "Commands a disk takes at once. Starts both runs over.".into())
            changed=state(move || session.config.read().depth.is_some())
            reset=("Reset queue depth".into(), act(move || session.set_base(|c| c.depth = None)))
        >
            <Line id="depth".into() kind="number" help="depth-help".into() value=text(move || shown.get()) on=set />
        </Setting>
    }
}

#[component]
fn Device() -> impl IntoView {
    let session = Session::here();
    let model = text(move || {
        let own = session.config.with(|c| c.device.clone());
        own.unwrap_or_else(|| session.preset().model().to_string())
    });
    let set = Callback::new(move |chosen: String| {
        let usual = session.preset().model() == chosen;
        session.set_base(|c| {
            c.device = (!usual).then_some(chosen);
            c.depth = None;
        });
    });
    let options = device::PRESETS.iter().map(|p| (p.name.into(), p.label.into())).collect();
    let reset = act(move || session.set_base(|c| c.device = None));
    view! {
        <Setting
            id="device".into()
            label="Device".into()
            help=text(|| "All disks of the scenario. Starts both runs over.".into())
            changed=state(move || session.config.read().device.is_some())
            reset=("Reset device".into(), reset)
        >
            <Choice id="device".into() help="device-help".into() options value=model on=set />
        </Setting>
    }
}
