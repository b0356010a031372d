//! Five stops for who comes for the first time. It can be left at any stop and begun again.

use super::control::{Button, act, state, text};
use super::icon::Shape;
use crate::session::Session;
use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// A stop: where it is, what it is called, what there is to know.
struct Stop {
    at: &'static str,
    title: &'static str,
    text: &'static str,
}

const STOPS: [Stop; 5] = [
    Stop {
        at: "#stage",
        title: "The way of a request",
        text: "From left to right: a task on its CPU puts requests in its plug, they pass ctx lists or a scheduler, an hctx \
               gives them tags and sends them to the device. The line at the bottom leads back. Discs read, squares write.",
    },
    Stop {
        at: ".compare",
        title: "Two policies, the same arrivals",
        text: "A and B get the same requests in the same order. Choose one for the stage with a and b, or press t to see both \
               at the same moment. Published numbers stand beside the simulated ones.",
    },
    Stop {
        at: ".transport",
        title: "Time in both directions",
        text: "Space plays, full stop and comma go one event on and back, the brackets go from mark to mark. The strip is the \
               whole run; drag in it. The speed goes from nanoseconds to a second for each second.",
    },
    Stop {
        at: "#policy",
        title: "Change the rules while it runs",
        text: "Move the kernel time machine, or set one knob: the same load runs under the new rules, and the playhead stays. \
               From the playhead on, the past stays too. Each knob names its kernel function, its file and its versions.",
    },
    Stop {
        at: "#inspector",
        title: "Ask why",
        text: "Press n for a request: its way, where it waited and for whom. Press w: twins run the moment again, each \
               without one of these. Locks, CPUs and points of the chart over time (their slowest I/O) can be asked too. Further down, Where A and B part leads to the first event that differs.",
    },
];

/// The tour's box, at the lower edge of the window while it goes on.
#[component]
pub fn Tour() -> impl IntoView {
    let session = Session::here();
    let holder: NodeRef<Div> = NodeRef::new();
    let stop = move || session.tour.get().and_then(|i| STOPS.get(i));
    let away = state(move || session.tour.get().is_none());
    Effect::new(move |before: Option<Option<usize>>| {
        let now = session.tour.get();
        if let Some(old) = before.flatten().and_then(|i| STOPS.get(i)) {
            mark(old.at, false);
        }
        if let Some(stop) = now.and_then(|i| STOPS.get(i)) {
            mark(stop.at, true);
            if let Some(holder) = holder.get_untracked() {
                let _ = holder.focus();
            }
        } else if before.flatten().is_some() {
            // The focus goes back to where the tour is begun.
            let start = document().get_element_by_id("tour-start");
            if let Some(start) = start.and_then(|s| s.dyn_into::<web_sys::HtmlElement>().ok()) {
                let _ = start.focus();
            }
        }
        now
    });
    let go = move |by: isize| {
        act(move || {
            let at = session.tour.get_untracked().and_then(|i| i.checked_add_signed(by));
            session.tour.set(at.filter(|i| *i < STOPS.len()));
        })
    };
    let end = act(move || session.tour.set(None));
    let place = text(move || {
        session.tour.get().map_or_else(String::new, |i| format!("Stop {} of {}", i + 1, STOPS.len()))
    });
    let last = move || session.tour.get() == Some(STOPS.len() - 1);
    let next_words = text(move || String::from(if last() { "Done" } else { "Next stop" }));
    view! {
        <div
            class="tour"
            hidden=away
            node_ref=holder
            tabindex="-1"
            role="region"
            aria-label="Tour"
            on:keydown=move |e| {
                if e.key() == "Escape" {
                    e.prevent_default();
                    end.run(());
                }
            }
        >
            <div class="panel-head">
                <h2>{text(move || stop().map_or("", |s| s.title).into())}</h2>
                <Button class="quiet" on=end shape=Shape::Close name="End the tour".into() />
            </div>
            <p role="status">{text(move || stop().map_or("", |s| s.text).into())}</p>
            <div class="tour-row">
                <span class="panel-note">{place}</span>
                <span class="buttons">
                    <Button class="" on=go(-1) words=String::from("Back") disabled=state(move || session.tour.get() == Some(0)) />
                    <Button class="primary" on=go(1) words=next_words />
                </span>
            </div>
        </div>
    }
}

/// Marks the place of a stop and brings it into view, or takes the mark away.
fn mark(selector: &str, on: bool) {
    let Ok(Some(place)) = document().query_selector(selector) else { return };
    let _ = place.class_list().toggle_with_force("tour-at", on);
    if on {
        place.scroll_into_view();
        // A bar of the window's own height is left above it.
        window().scroll_by_with_x_and_y(0.0, -16.0);
    }
}
