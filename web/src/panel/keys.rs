//! Single keys, and the sheet that lists them.

use super::control::{Button, Switch, act};
use super::icon::Shape;
use crate::config::Side;
use crate::session::Session;
use leptos::ev;
use leptos::html::Dialog;
use leptos::prelude::*;
use leptos_use::use_event_listener;
use wasm_bindgen::JsCast;

/// Half a second on the wall, in which an arrow key moves the playhead.
const ARROW_S: f64 = 0.5;
/// Factor of the speed for one press.
const SPEED_STEP: f64 = 1.5;

const KEYS: &[(&str, &str)] = &[
    ("Space", "play or pause"),
    (".", "one event on"),
    (",", "one event back"),
    ("s", "to the next stage of the selected request"),
    ("n", "select the next request"),
    ("l", "select the slowest request under way or over lately"),
    ("u", "undo the last change: what ran before, at the moment of the change"),
    ("w", "why: what the selected request waits for, and how fast it is without that"),
    ("m", "keep this moment"),
    ("Esc", "deselect"),
    ("← →", "half a second back or on, at the present speed"),
    ("↑ ↓", "faster, slower"),
    ("Home End", "to the start, to the end"),
    ("a b", "policy A or B on the stage"),
    ("t", "both together, or one again"),
    ("[ ]", "to the mark before, to the next mark"),
    ("+ -", "closer, wider, with the focus in the panel of CPUs"),
    ("p", "presenter: large type; a clicker's page keys step"),
    ("?", "this sheet"),
];

/// Whether the focused element needs this key itself.
fn is_taken(event: &web_sys::KeyboardEvent, key: &str) -> bool {
    let Some(element) = event.target().and_then(|t| t.dyn_into::<web_sys::Element>().ok()) else {
        return false;
    };
    let tag = element.tag_name().to_ascii_lowercase();
    let kind = element.get_attribute("type").unwrap_or_default();
    let arrows = key.starts_with("Arrow") || matches!(key, "Home" | "End" | "PageUp" | "PageDown");
    match tag.as_str() {
        "textarea" | "select" => true,
        "input" => match kind.as_str() {
            "range" | "radio" => arrows || key == " ",
            "checkbox" | "file" => key == " ",
            _ => true,
        },
        "button" if arrows && element.class_list().contains("part") => true,
        "button" | "a" | "summary" => key == " " || key == "Enter",
        _ => {
            let editable = element.get_attribute("contenteditable").is_some();
            let inside = element.closest("dialog[open]").ok().flatten().is_some();
            let scrolls = element.has_attribute("tabindex")
                && arrows
                && element.closest("#stage").ok().flatten().is_none();
            editable || inside || scrolls
        }
    }
}

/// Listens for keys until the owner is gone.
pub fn use_keys(session: Session, open_sheet: Callback<()>) {
    let _ = use_event_listener(document(), ev::keydown, move |event: web_sys::KeyboardEvent| {
        let key = event.key();
        let free = !(event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented());
        if !free || is_taken(&event, &key) {
            return;
        }
        let typed = key.chars().count() == 1;
        if typed && key != " " && !session.keys_on.get_untracked() {
            return;
        }
        let half = (session.speed.get_untracked() * ARROW_S) as i64;
        match key.as_str() {
            " " => session.toggle(),
            "." => session.step_event(),
            "," => session.step_back(),
            "s" => session.step_stage(),
            "n" => session.select_next(),
            "l" => session.select_slowest(),
            "w" => session.ask_why(),
            "p" => session.presenter.update(|on| *on = !*on),
            "PageDown" if session.presenter.get_untracked() => session.step_event(),
            "PageUp" if session.presenter.get_untracked() => session.step_back(),
            "u" => session.undo(),
            "m" => _ = session.bookmark(""),
            "a" => session.show(Side::A),
            "b" => session.show(Side::B),
            "t" => session.set_both(!session.both.get_untracked()),
            "[" => session.seek_mark(false),
            "]" => session.seek_mark(true),
            "?" => open_sheet.run(()),
            "Escape" if session.selected.get_untracked().is_some() => session.select(None),
            "Escape" if session.asked.get_untracked().is_some() => session.close_answer(),
            "Escape" if session.presenter.get_untracked() => session.presenter.set(false),
            "ArrowLeft" => session.seek_by(-half.max(1)),
            "ArrowRight" => session.seek_by(half.max(1)),
            "ArrowUp" => session.speed_by(SPEED_STEP),
            "ArrowDown" => session.speed_by(1.0 / SPEED_STEP),
            "Home" => session.seek(0),
            "End" => session.seek(session.frame.get_untracked().duration_ns),
            _ => return,
        }
        event.prevent_default();
    });
}

/// The sheet, a modal dialog.
#[component]
pub fn KeySheet(
    /// The dialog, for who opens it.
    node: NodeRef<Dialog>,
) -> impl IntoView {
    let session = Session::here();
    let close = act(move || {
        if let Some(dialog) = node.get_untracked() {
            dialog.close();
        }
    });
    let list: String = KEYS
        .iter()
        .map(|(keys, what)| {
            let keys: String = keys.split(' ').map(|k| format!("<kbd>{k}</kbd>")).collect();
            format!("<div><dt>{keys}</dt><dd>{what}</dd></div>")
        })
        .collect();
    let switch = Callback::new(move |on| session.keys_on.set(on));
    view! {
        <dialog class="sheet" node_ref=node aria-labelledby="keys-title">
            <div class="panel-head">
                <h2 id="keys-title">"Keys"</h2>
                <Button class="quiet" on=close shape=Shape::Close name="Close".into() />
            </div>
            <dl class="keys" inner_html=list></dl>
            <p class="field inline">
                <Switch id="keys-on".into() value=session.keys_on on=switch />
                <label for="keys-on">"Single letters and signs work as keys"</label>
            </p>
        </dialog>
    }
}
