//! Messages to the user, and the quiet voice for screen readers.

use super::icon::{Icon, Shape};
use crate::session::Session;
use leptos::prelude::*;

/// Messages that stay until they are dismissed.
#[component]
pub fn Notices() -> impl IntoView {
    let session = Session::here();
    let list = move || session.notices.get().into_iter().enumerate();
    view! {
        <div class="notices" role="status">
            <For each=list key=|(i, text)| (*i, text.clone()) let((index, text))>
                <p class="notice">
                    <span>{text}</span>
                    <button
                        type="button"
                        class="quiet"
                        on:click=move |_| {
                            session.notices.update(|n| {
                                if index < n.len() {
                                    n.remove(index);
                                }
                            });
                        }
                    >
                        <Icon shape=Shape::Close />
                        <span class="hidden-text">"Dismiss"</span>
                    </button>
                </p>
            </For>
        </div>
    }
}

/// Says what the last step did; silent while it plays, so that nobody is flooded.
#[component]
pub fn Announcer() -> impl IntoView {
    let session = Session::here();
    view! {
        <p class="hidden-text" role="status" aria-live="polite">
            {move || if session.playing.get() { String::new() } else { session.said.get() }}
        </p>
    }
}
