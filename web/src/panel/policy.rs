//! The policy on the stage: the five settings to begin with, and behind them all others.

use super::attribute::{Attribute, SchedulerChoice, command};
use super::control::{Button, Choice, Line, Radio, act, focus, state, text};
use super::groups::Groups;
use super::knob::{Knob, Setting};
use crate::config::Rules;
use crate::player::Player;
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::kernel::ROWS;
use mqscope_core::topology::Driver;

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
    let undoable = Memo::new(move |_| session.undoable());
    let undo = move || {
        let on = act(move || {
            session.undo();
            // The button may be gone now.
            focus("policy-title");
        });
        undoable.get().then(|| view! { <Button class="quiet" on=on words=String::from("Undo") keys="u" /> })
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
    view! {
        <section class="panel policy" id="policy" aria-labelledby="policy-title">
            <div class="panel-head">
                <h2 id="policy-title" tabindex="-1">
                    "Policy "
                    <span class=text(move || format!("badge {}", session.side.get().letter()))>
                        {text(move || session.side.get().letter().into())}
                    </span>
                </h2>
                <span class="buttons">{undo} {reset}</span>
            </div>
            <fieldset class="segmented">
                <legend>"Kernel and knobs change"</legend>
                {when(false, "when-start", "from the start")}
                {when(true, "when-now", "from the playhead")}
            </fieldset>
            <Kernel rules />
            <Knob
                name="dispatch_mode"
                label="Dispatch mode"
                help="With scheduler none: how a run takes requests from the ctx lists."
                rules
                place="first"
            />
            <p class="policy-note">
                "What follows freezes the queue in a kernel. Here the run is done again from its start; the playhead stays."
            </p>
            <SchedulerChoice />
            <Attribute name="nr_requests".into() place="first" />
            <Depth />
            <Groups rules />
        </section>
    }
}

#[component]
fn Kernel(rules: Memo<Rules>) -> impl IntoView {
    let session = Session::here();
    let covers = move || {
        let row = ROWS.iter().find(|r| r.name == rules.read().kernel);
        row.map(|r| format!("Covers {}.", r.covers)).unwrap_or_default()
    };
    let place = move || ROWS.iter().position(|r| r.name == rules.read().kernel).unwrap_or(0);
    let kernels = ROWS.iter().map(|r| (r.name.to_string(), r.name.to_string())).collect();
    view! {
        <Setting id="kernel".into() label="Kernel".into() help=text(covers) changed=state(|| false)>
            <Choice
                id="kernel".into()
                help="kernel-help".into()
                options=kernels
                value=text(move || rules.read().kernel.clone())
                on=Callback::new(move |name: String| session.set_kernel(&name, false))
            />
        </Setting>
        <p class="field time-machine">
            <label for="time-machine">"Kernel time machine: from single queue to today"</label>
            <input
                id="time-machine"
                type="range"
                min="0"
                max=(ROWS.len() - 1).to_string()
                prop:value=text(move || place().to_string())
                aria-valuetext=text(move || format!("kernel {}", rules.read().kernel))
                on:change:target=move |e| {
                    let row = e.target().value().parse::<usize>().ok().and_then(|i| ROWS.get(i));
                    if let Some(row) = row {
                        session.set_kernel(row.name, true);
                    }
                }
            />
        </p>
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
    // Other drivers have no such file.
    let scsi = Memo::new(move |_| {
        session.beat.track();
        let scsi = |p: &Player| p.topology().queues.first().is_some_and(|q| q.driver == Driver::Scsi);
        session.with_player(scsi) == Some(true)
    });
    let set = Callback::new(move |value: String| match value.trim().parse::<u32>() {
        Ok(depth @ 1..=65_536) => session.set_base(|c| c.depth = Some(depth)),
        _ => session.refuse(String::from("A queue depth is a whole number from 1 to 65536.")),
    });
    view! {
        <Setting
            id="depth".into()
            label="Queue depth".into()
            help=text(move || {
                let words = "Commands a disk takes at once; for both policies.";
                let unread = " Not read here: only SCSI disks have it; of others nr_requests is the limit.";
                format!("{words}{}", if scsi.get() { "" } else { unread })
            })
            command=text(move || match scsi.get() {
                true => command(session, "device/queue_depth", &shown.read()),
                false => String::new(),
            })
            changed=state(move || session.config.read().depth.is_some())
            reset=("Reset queue depth".into(), act(move || session.set_base(|c| c.depth = None)))
        >
            <Line id="depth".into() kind="number" help="depth-help".into() value=text(move || shown.get()) on=set />
        </Setting>
    }
}
