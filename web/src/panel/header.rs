//! The bar at the top: the name, where to go, and the page's own tools.

use super::icon::{Icon, Shape};
use super::intro::PresetChoice;
use crate::config::Theme;
use crate::session::Session;
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::time::Duration;

/// The bar.
#[component]
pub fn Header(
    /// Opens the sheet of keys.
    on_keys: Callback<()>,
) -> impl IntoView {
    let session = Session::here();
    let copied = RwSignal::new(false);
    let copy = move |_| {
        session.save();
        let link = session.link();
        // Where there is no clipboard, the address bar has the link already.
        let _ = window().navigator().clipboard().write_text(&link);
        copied.set(true);
        set_timeout(
            move || {
                copied.try_set(false);
            },
            Duration::from_secs(2),
        );
    };
    let next = move |_| {
        session.set_theme(match session.theme.get_untracked() {
            Theme::Auto => Theme::Light,
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::Auto,
        });
    };
    view! {
        <header class="bar">
            <a class="skip" href="#stage-title">"Skip to the stage"</a>
            <p class="mark">
                <svg class="mark-sign" viewBox="0 0 64 64" aria-hidden="true">
                    <g fill="none" stroke-width="6" stroke-linecap="round">
                        <path d="M6 14h18c8 0 8 18 16 18h18" stroke="var(--blue)" />
                        <path d="M6 32h52" stroke="var(--teal)" />
                        <path d="M6 50h18c8 0 8-18 16-18" stroke="var(--ochre)" />
                    </g>
                    <circle cx="40" cy="32" r="8" fill="var(--surface)" stroke="var(--ink)" stroke-width="5" />
                </svg>
                "mqscope"
            </p>
            <PresetChoice />
            <nav class="bar-nav" aria-label="On this page">
                <a href="#policy">"Policy"</a>
                <a href="#numbers">"Numbers"</a>
                <a href="#workload">"Workload"</a>
                <a href="#log">"Events"</a>
            </nav>
            <div class="bar-tools">
                <button type="button" class="quiet" on:click=copy>
                    <Icon shape=Shape::Link />
                    <span class="wide-only">{move || if copied.get() { "Link copied" } else { "Copy link" }}</span>
                    <span class="narrow-only hidden-text">"Copy link"</span>
                </button>
                <button type="button" class="quiet" on:click=next>
                    <Icon shape=Shape::Theme />
                    <span class="hidden-text">"Colours: "</span>
                    <span class="tool-word">{move || session.theme.get().word()}</span>
                </button>
                <button type="button" class="quiet" aria-keyshortcuts="?" on:click=move |_| on_keys.run(())>
                    <Icon shape=Shape::Keys />
                    <span class="wide-only">"Keys"</span>
                    <span class="narrow-only hidden-text">"Keys"</span>
                </button>
            </div>
        </header>
    }
}
