//! The job: text, what its reader says, what it asks for, and the machine it runs on.

use super::editor::Editor;
use crate::job;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::host::MACHINES;
use mqscope_core::scenario::DURATION_MAX_NS;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

/// The panel; a file may be dropped on it.
#[component]
pub fn Workload() -> impl IntoView {
    let session = Session::here();
    let over = RwSignal::new(false);
    let errors = Memo::new(move |_| session.reading.with(job::Reading::errors));
    let changed = Memo::new(move |_| {
        let preset = session.preset();
        session.config.with(|c| c.job.as_deref().unwrap_or(&preset.job) != session.draft.read().as_str())
    });
    view! {
        <section
            class="panel workload"
            class:over=over
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
                <label class="file">
                    <span>"Open a file"</span>
                    <input
                        type="file"
                        accept=".fio,.job,.iob,.ini,.txt,text/plain"
                        on:change:target=move |e| {
                            take_file(session, e.target().files().and_then(|f| f.get(0)));
                            e.target().set_value("");
                        }
                    />
                </label>
            </div>
            <p class="field-help" id="job-help">
                "A fio job, or a batch script of exact io_submit calls. Paste, type, or drop a file here."
            </p>
            <label class="hidden-text" for="job">"Job text"</label>
            <Editor />
            <Asks />
            <div class="run-row">
                <button
                    type="button"
                    class="primary"
                    disabled=move || { errors.get() > 0 }
                    on:click=move |_| {
                        // What was asked for is to be seen; off screen it would not even move.
                        let stage = document().get_element_by_id("stage-title");
                        if session.run_draft()
                            && let Some(stage) = stage.and_then(|s| s.dyn_into::<web_sys::HtmlElement>().ok())
                        {
                            let _ = stage.focus();
                        }
                    }
                >
                    "Run"
                </button>
                <button
                    type="button"
                    on:click=move |_| {
                        session.draft.set(session.preset().job.clone());
                        session.check_draft();
                    }
                >
                    "Back to the scenario's job"
                </button>
                <p class="run-state">
                    {move || match (errors.get(), changed.get()) {
                        (0, false) => "This is what runs.",
                        (0, true) => "Edited; press Run to use it.",
                        _ => "Mend the errors to run it.",
                    }}
                </p>
            </div>
            <Place />
        </section>
    }
}

/// Takes a file's text over into the editor; what it is is found out there.
fn take_file(session: Session, file: Option<web_sys::File>) {
    let Some(file) = file else { return };
    if file.size() > crate::config::JOB_MAX as f64 {
        session.notify(format!("{} is too large for a job file.", file.name()));
        return;
    }
    leptos::task::spawn_local(async move {
        match JsFuture::from(file.array_buffer()).await {
            Ok(buffer) => {
                let bytes = js_sys::Uint8Array::new(buffer.unchecked_ref::<js_sys::ArrayBuffer>()).to_vec();
                session.draft.set(job::decode(&bytes));
                session.check_draft();
            }
            Err(_) => session.notify(format!("{} could not be read.", file.name())),
        }
    });
}

/// A small form for the values that the job asks for.
#[component]
fn Asks() -> impl IntoView {
    let session = Session::here();
    let asks = Memo::new(move |_| session.reading.with(|r| r.asks.clone()));
    view! {
        <Show when=move || !asks.read().is_empty()>
            <fieldset class="asks">
                <legend>"The job asks for"</legend>
                <For each=move || asks.get() key=|ask| ask.name.clone() let(ask)>
                    {
                        let (name, hint) = (ask.name, ask.hint);
                        let (id, shown) = (format!("ask-{name}"), name.clone());
                        let value = session.config.with_untracked(|c| c.answers.get(&name).cloned().unwrap_or_default());
                        view! {
                            <p class="field inline">
                                <label for=id.clone()>{shown}</label>
                                <input
                                    type="text"
                                    id=id
                                    maxlength=1000
                                    placeholder=hint
                                    value=value
                                    on:change:target=move |e| session.answer(&name, &e.target().value())
                                />
                            </p>
                        }
                    }
                </For>
            </fieldset>
        </Show>
    }
}

/// Machine, seed and length of the run.
#[component]
fn Place() -> impl IntoView {
    let session = Session::here();
    let machine = Memo::new(move |_| {
        session.config.with(|c| c.machine.clone()).unwrap_or_else(|| session.preset().base.machine.clone())
    });
    let seed = Memo::new(move |_| session.config.with(|c| c.seed).unwrap_or(1).to_string());
    let duration = Memo::new(move |_| {
        words::exact_span(session.config.with(|c| c.duration_ns).unwrap_or(session.preset().base.duration_ns))
    });
    let set_seed = move |text: &str| match text.trim().parse::<u64>() {
        Ok(value) => session.set_base(|c| c.seed = Some(value)),
        Err(_) => session.notify("A seed is a whole number, 0 or more."),
    };
    let set_duration = move |text: &str| match words::parse_span(text) {
        Some(ns) if ns >= 1000.0 => {
            session.set_base(|c| c.duration_ns = Some((ns as u64).min(DURATION_MAX_NS)))
        }
        _ => session.notify("Simulated time is written like 500us, 50ms or 2s, up to an hour."),
    };
    view! {
        <div class="place">
            <p class="field">
                <label for="machine">"Machine"</label>
                <select
                    id="machine"
                    on:change:target=move |e| {
                        let chosen = e.target().value();
                        let usual = chosen == session.preset().base.machine;
                        session.set_base(|c| c.machine = (!usual).then_some(chosen));
                    }
                >
                    {MACHINES
                        .iter()
                        .map(|m| {
                            view! {
                                <option value=m.name prop:selected=move || *machine.read() == m.name>{m.label}</option>
                            }
                        })
                        .collect_view()}
                </select>
            </p>
            <p class="field">
                <label for="seed">"Seed"</label>
                <input
                    type="text"
                    inputmode="numeric"
                    id="seed"
                    prop:value=seed
                    on:change:target=move |e| set_seed(&e.target().value())
                />
            </p>
            <p class="field">
                <label for="duration">"Simulated time"</label>
                <input
                    type="text"
                    id="duration"
                    prop:value=duration
                    on:change:target=move |e| set_duration(&e.target().value())
                />
            </p>
        </div>
    }
}
