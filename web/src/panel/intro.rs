//! What is on, in a title and one paragraph that says what to look at.

use super::cases::headline;
use super::control::{Choice, state, text};
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
    let caption = words(OWN, |p| p.caption);
    let headline = headline(session);
    view! {
        <section class="intro" aria-labelledby="title">
            <h1 id="title">{words("Your own job", |p| p.title)}</h1>
            <p class="caption">{text(move || caption.with(|c| lead(c).0.into()))}</p>
            <div class="intro-foot">
                <p class="headline" hidden=state(move || headline.with(String::is_empty))>{headline}</p>
                <details class="more intro-more" hidden=state(move || caption.with(|c| lead(c).1.is_empty()))>
                    <summary>"The rest of the story"</summary>
                    <p class="caption">{text(move || caption.with(|c| lead(c).1.into()))}</p>
                </details>
            </div>
        </section>
    }
}

/// Characters of a caption that always show, at least; whole sentences.
const LEAD_MIN: usize = 90;

/// The first sentences of a caption, and the rest of it: the stage is to be seen without scrolling.
fn lead(caption: &str) -> (&str, &str) {
    let ends = caption.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.filter(|end| *end >= LEAD_MIN).find(|end| {
        // "4.14 (..." or "e.g. this" end no sentence.
        caption[*end..].trim_start().starts_with(|c: char| c.is_uppercase())
    });
    let end = end.unwrap_or(caption.len());
    (&caption[..end], caption[end..].trim_start())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caption_is_parted_between_sentences_and_nothing_is_lost() {
        for case in cases() {
            let (first, rest) = lead(&case.about);
            assert!(first.ends_with(['.', '!', '?', ':']) || rest.is_empty(), "{}: {first}", case.name);
            assert_eq!(format!("{first} {rest}").trim_end(), case.about.trim_end(), "{}", case.name);
        }
        assert_eq!(lead("Short. Text."), ("Short. Text.", ""));
    }
}
