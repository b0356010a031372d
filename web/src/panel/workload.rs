//! The job: text, what its reader says, what it asks for, and the machine it runs on.

use super::control::{Button, Choice, FileButton, Line, act, focus, state, text};
use super::editor::Editor;
use super::table::{Item, List, key};
use crate::files;
use crate::job;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::device;
use mqscope_core::format::fio::Ask;
use mqscope_core::host::MACHINES;
use mqscope_core::scenario::DURATION_MAX_NS;

/// The panel; a file may be dropped on it.
#[component]
pub fn Workload() -> impl IntoView {
    let session = Session::here();
    let over = RwSignal::new(false);
    let bad = state(move || session.reading.with(|r| r.errors() > 0));
    let run_state = text(move || {
        let preset = session.preset();
        let runs =
            session.config.with(|c| c.job.as_deref().unwrap_or(&preset.job) == session.draft.read().as_str());
        String::from(match (bad.get(), runs) {
            (true, _) => "Mend the errors to run it.",
            (false, true) => "This is what runs.",
            (false, false) => "Edited; press Run to use it.",
        })
    });
    let run = act(move || {
        // What was asked for is to be seen; off screen it would not even move.
        if session.run_draft() {
            focus("stage-title");
        }
    });
    let back = act(move || {
        session.draft.set(session.preset().job.clone());
        session.check_draft();
    });
    view! {
        <section
            class="panel workload"
            class:over=state(move || over.get())
            id="workload"
            aria-labelledby="workload-title"
            on:dragover=move |e| {
                e.prevent_default();
                over.set(true);
            }
            on:dragleave=move |_| over.set(false)
            on:drop=move |e| {
                e.prevent_default();
                over.set(false);
                take_file(session, e.data_transfer().and_then(|d| d.files()).and_then(|f| f.get(0)));
            }
        >
            <div class="panel-head">
                <h2 id="workload-title">"Workload"</h2>
                <FileButton words="Open a file" accept=".fio,.job,.iob,.ini,.txt,text/plain" on=Callback::new(move |file| take_file(session, file)) />
            </div>
            <p class="field-help" id="job-help">
                "A fio job, or a batch script of exact io_submit calls. Paste, type, or drop a file here."
            </p>
            <label class="hidden-text" for="job">"Job text"</label>
            <Editor />
            <Asks />
            <div class="run-row">
                <Button class="primary" on=run words=String::from("Run") disabled=bad />
                <Button class="" on=back words=String::from("Back to the scenario's job") />
                <p class="run-state">{run_state}</p>
            </div>
            <Place />
        </section>
    }
}

/// Takes a file's text over into the editor; what it is is found out there.
fn take_file(session: Session, file: Option<web_sys::File>) {
    let Some(file) = file else { return };
    files::read_text(file, crate::config::JOB_MAX, move |read| match read {
        Ok(bytes) => {
            session.draft.set(job::decode(&bytes));
            session.check_draft();
        }
        Err(problem) => session.notify(problem),
    });
}

/// A small form for the values that the job asks for.
#[component]
fn Asks() -> impl IntoView {
    let session = Session::here();
    let asks = Memo::new(move |_| session.reading.with(|r| r.asks.clone()));
    let ask = move |ask: Ask| -> Item {
        let own = key(&ask.name);
        let make = move || {
            let (name, id) = (ask.name.clone(), format!("ask-{}", ask.name));
            let value =
                text(move || session.config.with(|c| c.answers.get(&name).cloned().unwrap_or_default()));
            let name = ask.name.clone();
            let set = Callback::new(move |value: String| session.answer(&name, &value));
            view! {
                <p class="field inline">
                    <label for=id.clone()>{ask.name}</label>
                    <Line id=id kind="text" value example=ask.hint.unwrap_or_default() on=set />
                </p>
            }
        };
        (own, make.into())
    };
    let items = Callback::new(move |()| asks.get().into_iter().map(ask).collect::<Vec<_>>());
    view! {
        <fieldset class="asks" hidden=state(move || asks.read().is_empty())>
            <legend>"The job asks for"</legend>
            <List items />
        </fieldset>
    }
}

/// Machine, disks, seed and length of the run.
#[component]
fn Place() -> impl IntoView {
    let session = Session::here();
    let machine = text(move || {
        session.config.with(|c| c.machine.clone()).unwrap_or_else(|| session.preset().base.machine.clone())
    });
    let seed =
        text(move || session.config.with(|c| c.seed).unwrap_or(session.preset().base.seed).to_string());
    let duration = text(move || {
        words::exact_span(session.config.with(|c| c.duration_ns).unwrap_or(session.preset().base.duration_ns))
    });
    let set_machine = Callback::new(move |chosen: String| {
        let usual = chosen == session.preset().base.machine;
        session.set_base(|c| c.machine = (!usual).then_some(chosen));
    });
    let set_seed = Callback::new(move |text: String| match text.trim().parse::<u64>() {
        Ok(value) => session.set_base(|c| c.seed = Some(value)),
        Err(_) => session.refuse(String::from("A seed is a whole number, 0 or more.")),
    });
    let set_duration = Callback::new(move |text: String| match words::parse_span(&text) {
        Some(ns) if ns >= 1000.0 => {
            session.set_base(|c| c.duration_ns = Some((ns as u64).min(DURATION_MAX_NS)))
        }
        _ => session.refuse(String::from("Simulated time is written like 500us, 50ms or 2s, up to an hour.")),
    });
    let model = text(move || {
        let own = session.config.with(|c| c.device.clone());
        own.unwrap_or_else(|| session.preset().model().to_string())
    });
    let set_device = Callback::new(move |chosen: String| {
        let usual = session.preset().model() == chosen;
        session.set_base(|c| {
            c.device = (!usual).then_some(chosen);
            c.depth = None;
        });
    });
    let devices = device::PRESETS.iter().map(|p| (p.name.into(), p.label.into())).collect();
    let machines = MACHINES.iter().map(|m| (m.name.into(), m.label.into())).collect();
    view! {
        <div class="place">
            <p class="field">
                <label for="machine">"Machine"</label>
                <Choice id="machine".into() options=machines value=machine on=set_machine />
            </p>
            <p class="field">
                <label for="device">"Device"</label>
                <Choice id="device".into() options=devices value=model on=set_device />
            </p>
            <p class="field">
                <label for="seed">"Seed"</label>
                <Line id="seed".into() kind="text" value=seed on=set_seed />
            </p>
            <p class="field">
                <label for="duration">"Simulated time"</label>
                <Line id="duration".into() kind="text" value=duration on=set_duration />
            </p>
        </div>
    }
}
