//! The controls that all panels are made of. Their properties are plain types, so each exists once in the program
//! however often it stands on the page.

use super::icon::{Icon, Shape};
use crate::session::{Reader, Session};
use leptos::html::Section;
use leptos::prelude::*;
use leptos_use::use_intersection_observer;

/// Text that changes. One type for all of them: a closure in a view would be a renderer of its own, and one that is not
/// boxed first would have a signal's whole machinery of its own.
pub(super) fn text(f: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(Box::new(f) as Box<dyn Fn() -> String + Send + Sync>)
}

/// A state that changes, for classes and conditions.
pub(super) fn state(f: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(Box::new(f) as Box<dyn Fn() -> bool + Send + Sync>)
}

/// An action without an argument.
pub(super) fn act(f: impl Fn() + Send + Sync + 'static) -> Callback<()> {
    let f: Box<dyn Fn() + Send + Sync> = Box::new(f);
    Callback::new(move |()| f())
}

/// Whether a panel is in the window, which the session is told: what nobody looks at is not read.
pub(super) fn in_view(section: NodeRef<Section>, reader: Reader) -> RwSignal<bool> {
    let session = Session::here();
    let shown = RwSignal::new(false);
    let _ = use_intersection_observer(section, move |entries, _| {
        let now = entries.last().is_some_and(|e| e.is_intersecting());
        shown.set(now);
        session.set_shown(reader, now);
    });
    shown
}

/// A button that asks for a file.
#[component]
pub(super) fn FileButton(
    /// Words on it.
    words: &'static str,
    /// Names and kinds of files that are offered.
    accept: &'static str,
    /// What is done with the file.
    on: Callback<Option<web_sys::File>>,
) -> impl IntoView {
    view! {
        <label class="file">
            <span>{words}</span>
            <input
                type="file"
                accept=accept
                on:change:target=move |e| {
                    on.run(e.target().files().and_then(|f| f.get(0)));
                    // The same file can be chosen again.
                    e.target().set_value("");
                }
            />
        </label>
    }
}

/// Gives the focus to the element of this id: where what was pressed goes away or out of sight.
pub(super) fn focus(id: &str) {
    let element = document().get_element_by_id(id);
    if let Some(element) =
        element.and_then(|e| wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(e).ok())
    {
        let _ = element.focus();
    }
}

/// A button with words, an icon, or both.
#[component]
pub(super) fn Button(
    /// Class of its looks.
    class: &'static str,
    /// What it does.
    on: Callback<()>,
    /// Icon before the words.
    #[prop(optional, into)]
    shape: Option<Signal<Shape>>,
    /// Words.
    #[prop(optional, into)]
    words: Option<Signal<String>>,
    /// Name where the words would not do, or where there are none.
    #[prop(optional)]
    name: Option<String>,
    /// Keys that do the same.
    #[prop(optional)]
    keys: Option<&'static str>,
    /// Whether it cannot be used now. It keeps the focus all the same: who has pressed it to its end is not lost.
    #[prop(optional, into)]
    disabled: Signal<bool>,
) -> impl IntoView {
    let title = name.clone().map(|name| match keys {
        Some(keys) => format!("{name} ({keys})"),
        None => name,
    });
    view! {
        <button
            type="button"
            class=class
            aria-label=name
            aria-keyshortcuts=keys
            title=title
            aria-disabled=move || disabled.get().then_some("true")
            on:click=move |_| {
                if !disabled.get_untracked() {
                    on.run(());
                }
            }
        >
            {shape.map(|shape| view! { <Icon shape /> })}
            {words.map(|words| view! { <span class="button-words">{words}</span> })}
        </button>
    }
}

/// A choice among words: the value and what is shown for it.
#[component]
pub(super) fn Choice(
    /// Id, for its label.
    id: String,
    /// Id of its description; empty: none.
    #[prop(optional)]
    help: String,
    /// Values and their words.
    options: Vec<(String, String)>,
    /// The value chosen.
    value: Signal<String>,
    /// What a choice does.
    on: Callback<String>,
) -> impl IntoView {
    let option = move |(own, words): (String, String)| {
        let (name, chosen) = (own.clone(), state(move || value.with(|v| *v == own)));
        view! { <option value=name prop:selected=chosen>{words}</option> }
    };
    view! {
        <select
            id=id
            aria-describedby=described(help)
            on:change:target=move |e| {
                on.run(e.target().value());
                e.target().set_value(&value.get_untracked());
            }
        >
            {options.into_iter().map(option).collect_view()}
        </select>
    }
}

/// A line to write into; `number` or `text`.
#[component]
pub(super) fn Line(
    /// Id, for its label.
    id: String,
    /// `number` or `text`.
    kind: &'static str,
    /// Id of its description; empty: none.
    #[prop(optional)]
    help: String,
    /// The value now.
    value: Signal<String>,
    /// An example, shown while it is empty.
    #[prop(optional)]
    example: Option<String>,
    /// What a new value does.
    on: Callback<String>,
) -> impl IntoView {
    let least = (kind == "number").then_some("0");
    view! {
        <input
            type=kind
            id=id
            min=least
            maxlength=1000
            placeholder=example
            autocomplete="off"
            aria-describedby=described(help)
            prop:value=value
            on:change:target=move |e| {
                on.run(e.target().value());
                // What was refused must not stay there as if it were in force.
                e.target().set_value(&value.get_untracked());
            }
        />
    }
}

/// A switch.
#[component]
pub(super) fn Switch(
    /// Id, for its label.
    id: String,
    /// Id of its description; empty: none.
    #[prop(optional)]
    help: String,
    /// Whether it is on.
    #[prop(into)]
    value: Signal<bool>,
    /// What switching does.
    on: Callback<bool>,
) -> impl IntoView {
    view! {
        <input
            type="checkbox"
            role="switch"
            class="switch"
            id=id
            aria-describedby=described(help)
            prop:checked=value
            on:change:target=move |e| on.run(e.target().checked())
        />
    }
}

/// One of a few: a radio button with its label.
#[component]
pub(super) fn Radio(
    /// Id, for its label.
    id: String,
    /// Group.
    name: &'static str,
    /// Whether it is chosen.
    value: Signal<bool>,
    /// What choosing does.
    on: Callback<()>,
) -> impl IntoView {
    view! { <input type="radio" name=name id=id prop:checked=value on:change=move |_| on.run(()) /> }
}

fn described(help: String) -> Option<String> {
    (!help.is_empty()).then_some(help)
}
