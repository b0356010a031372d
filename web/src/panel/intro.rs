//! What is on, in a title and one paragraph that says what to look at.

use super::control::{Choice, text};
use crate::preset;
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::cases::cases;

/// Caption of a job that is no preset's.
const OWN: &str = "The machine, the disks and the two policies are those of the scenario; the job is the one in the \
                   editor below. Watch where requests stand still, and which lock or list they stand at.";

/// Title and caption.
#[component]
pub fn Intro() -> impl IntoView {
    let session = Session::here();
    let words = move |own: &'static str, of: fn(&preset::Preset) -> &'static str| {
        text(move || {
            session
                .config
                .with(|c| match &c.job {
                    Some(_) => own,
                    None => of(preset::find(&c.preset).unwrap_or_else(preset::first)),
                })
                .into()
        })
    };
    view! {
        <section class="intro" aria-labelledby="title">
            <h1 id="title">{words("Your own job", |p| p.title)}</h1>
            <p class="caption">{words(OWN, |p| p.caption)}</p>
        </section>
    }
}

/// The choice of a preset.
#[component]
pub fn PresetChoice() -> impl IntoView {
    let session = Session::here();
    let options = cases().iter().map(|case| (case.name.clone(), case.title.clone())).collect();
    let choose = Callback::new(move |name: String| {
        session.load_preset(&name);
        // To the stage: off screen it would not move.
        window().scroll_to_with_x_and_y(0.0, 0.0);
    });
    view! {
        <p class="field inline choice">
            <label for="preset">"Scenario"</label>
            <Choice id="preset".into() options value=text(move || session.config.read().preset.clone()) on=choose />
        </p>
    }
}
