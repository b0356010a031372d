//! The bar at the top: the name, what is on, where to go, and the page's own tools.

use super::control::{Button, act, text};
use super::icon::Shape;
use super::intro::PresetChoice;
use crate::config::Theme;
use crate::session::Session;
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::time::Duration;

/// The sign: requests come together at one point.
const SIGN: &str = r#"<svg class="mark-sign" viewBox="0 0 64 64" aria-hidden="true">
<g fill="none" stroke-width="6" stroke-linecap="round">
<path d="M6 14h18c8 0 8 18 16 18h18" stroke="var(--blue)"/>
<path d="M6 32h52" stroke="var(--teal)"/>
<path d="M6 50h18c8 0 8-18 16-18" stroke="var(--ochre)"/></g>
<circle cx="40" cy="32" r="8" fill="var(--surface)" stroke="var(--ink)" stroke-width="5"/></svg>mqscope"#;

/// Ways within the page.
const NAV: &str = r##"<a href="#policy">Policy</a><a href="#twins">Compare</a><a href="#numbers">Numbers</a><a href="#workload">Workload</a>
<a href="#log">Events</a>"##;

/// The bar.
#[component]
pub fn Header(
    /// Opens the sheet of keys.
    on_keys: Callback<()>,
) -> impl IntoView {
    let session = Session::here();
    let copied = RwSignal::new(false);
    let copy = act(move || {
        session.save();
        // Where there is no clipboard, the address bar has the link already.
        let _ = window().navigator().clipboard().write_text(&session.link());
        copied.set(true);
        set_timeout(move || _ = copied.try_set(false), Duration::from_secs(2));
    });
    let next = act(move || {
        session.set_theme(match session.theme.get_untracked() {
            Theme::Auto => Theme::Light,
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::Auto,
        });
    });
    let tour = act(move || session.tour.set(Some(0)));
    let copy_words = text(move || String::from(if copied.get() { "Link copied" } else { "Copy link" }));
    let theme_words = text(move || format!("Colours: {}", session.theme.get().word()));
    view! {
        <header class="bar">
            <a class="skip" href="#stage-title">"Skip to the stage"</a>
            <p class="mark" inner_html=SIGN></p>
            <PresetChoice />
            <nav class="bar-nav" aria-label="On this page" inner_html=NAV></nav>
            <div class="bar-tools">
                <Button class="quiet slim" on=copy shape=Shape::Link words=copy_words />
                <Button class="quiet slim" on=next shape=Shape::Theme words=theme_words />
                {move || {
                    let off = act(move || session.presenter.set(false));
                    let words = String::from("Leave presenter");
                    session
                        .presenter
                        .get()
                        .then(|| view! { <Button class="quiet slim" on=off shape=Shape::Close words=words keys="p" /> })
                }}
                <span id="tour-start" tabindex="-1">
                    <Button class="quiet slim" on=tour shape=Shape::Tour words=String::from("Tour") />
                </span>
                <Button class="quiet slim" on=on_keys shape=Shape::Keys words=String::from("Keys") keys="?" />
            </div>
        </header>
    }
}
