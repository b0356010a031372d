//! Messages to the user, and the quiet voice for screen readers.

use super::control::{Button, act, text};
use super::icon::Shape;
use super::table::{Item, List, key};
use crate::session::Session;
use leptos::prelude::*;

/// Messages that stay until they are dismissed.
#[component]
pub fn Notices() -> impl IntoView {
    let session = Session::here();
    let notice = move |message: String| -> Item {
        let (own, shown) = (key(&message), message.clone());
        let dismiss = act(move || session.notices.update(|n| n.retain(|m| *m != message)));
        let make = move || {
            view! {
                <p class="notice">
                    <span>{shown}</span>
                    <Button class="quiet" on=dismiss shape=Shape::Close name="Dismiss".into() />
                </p>
            }
        };
        (own, make.into())
    };
    let items = Callback::new(move |()| session.notices.get().into_iter().map(notice).collect::<Vec<_>>());
    view! {
        <div class="notices" role="status">
            <List items />
        </div>
    }
}

/// Says what the last step did; silent while it plays, so that nobody is flooded.
#[component]
pub fn Announcer() -> impl IntoView {
    let session = Session::here();
    let said = text(move || if session.playing.get() { String::new() } else { session.said.get() });
    view! { <p class="hidden-text" role="status" aria-live="polite">{said}</p> }
}
