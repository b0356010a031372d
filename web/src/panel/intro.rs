//! What is on, in a title and one paragraph that says what to look at.

use crate::preset;
use crate::session::Session;
use leptos::prelude::*;

/// Title and caption.
#[component]
pub fn Intro() -> impl IntoView {
    let session = Session::here();
    let preset = Memo::new(move |_| session.config.with(|c| c.preset.clone()));
    let own_job = Memo::new(move |_| session.config.with(|c| c.job.is_some()));
    let now = move || preset::find(&preset.read()).unwrap_or_else(preset::first);
    view! {
        <section class="intro" aria-labelledby="title">
            <h1 id="title">{move || if own_job.get() { "Your own job" } else { now().title }}</h1>
            <p class="caption">
                {move || {
                    if own_job.get() {
                        "The machine, the disks and the two policies are those of the scenario; the job is the one in the \
                         editor below. Watch where requests stand still, and which lock or list they stand at."
                    } else {
                        now().caption
                    }
                }}
            </p>
        </section>
    }
}

/// The choice of a preset.
#[component]
pub fn PresetChoice() -> impl IntoView {
    let session = Session::here();
    let preset = Memo::new(move |_| session.config.with(|c| c.preset.clone()));
    view! {
        <p class="field inline choice">
            <label for="preset">"Scenario"</label>
            <select id="preset" on:change:target=move |e| {
                session.load_preset(&e.target().value());
                // To the stage: off screen it would not move.
                window().scroll_to_with_x_and_y(0.0, 0.0);
            }>
                {preset::all()
                    .iter()
                    .map(|p| {
                        view! {
                            <option value=p.name prop:selected=move || *preset.read() == p.name>
                                {p.title}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </p>
    }
}
