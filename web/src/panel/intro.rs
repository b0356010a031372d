//! What is on, in a title and one paragraph that says what to look at.

use crate::preset;
use crate::session::Session;
use leptos::prelude::*;

/// Title, caption and the choice of another preset.
#[component]
pub fn Intro() -> impl IntoView {
    let session = Session::here();
    let preset = Memo::new(move |_| session.config.with(|c| c.preset.clone()));
    let own_job = Memo::new(move |_| session.config.with(|c| c.job.is_some()));
    let now = move || preset::find(&preset.read()).unwrap_or_else(preset::first);
    view! {
        <section class="intro" aria-labelledby="title">
            <div class="intro-head">
                <h1 id="title">{move || if own_job.get() { "Your own job" } else { now().title }}</h1>
                <p class="field inline">
                    <label for="preset">"Scenario"</label>
                    <select id="preset" on:change:target=move |e| session.load_preset(&e.target().value())>
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
            </div>
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
            <p class="source">
                {move || {
                    let preset = now();
                    (!own_job.get() && !preset.source.is_empty())
                        .then(|| format!("Published by {}. Assumed here: {}.", preset.source, preset.assumed))
                }}
            </p>
        </section>
    }
}
