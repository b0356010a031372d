//! A table of text, keyed by row, and a keyed list of anything.

use leptos::html;
use leptos::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use wasm_bindgen::JsCast;

/// A row: what it is known by, and its cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Rows with the same key are the same row.
    pub key: u64,
    /// Cells from left to right.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// What it says.
    pub text: String,
    /// Class of its looks.
    pub class: &'static str,
    /// A second line.
    pub note: String,
    /// A longer explanation, under the pointer.
    pub help: &'static str,
    /// Whether it names the row.
    pub head: bool,
    /// A bar below what it says: its length, and that of what it is compared with, percent. The text says the same.
    pub bar: Option<(f32, f32)>,
    /// The request it is about, or another number that pressing it hands on.
    pub rq: Option<u32>,
}

impl Cell {
    /// A cell that names its row.
    pub(super) fn head(text: impl Into<String>) -> Self {
        Self { text: text.into(), head: true, ..Self::default() }
    }

    /// A number.
    pub(super) fn num(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "num", ..Self::default() }
    }

    /// Words.
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Row {
    /// A row known by all that it says, so that another text is another row.
    pub(super) fn by_content(cells: Vec<Cell>) -> Self {
        let mut hasher = DefaultHasher::new();
        for cell in &cells {
            (&cell.text, &cell.note, cell.bar.map(|(a, b)| [a.to_bits(), b.to_bits()])).hash(&mut hasher);
        }
        Self { key: hasher.finish(), cells }
    }
}

/// The rows as a table body.
#[component]
pub(super) fn Rows(
    /// All rows, in order.
    rows: Signal<Vec<Row>>,
    /// What pressing a request does.
    #[prop(optional)]
    on_request: Option<Callback<u32>>,
    /// The request that is selected: its button says so. Where there is one, the buttons of requests are no stops of the
    /// Tab key: there may be many, and whoever shows them lets arrows go from one to the next ([`on_arrows`]).
    #[prop(optional)]
    selected: Option<Signal<Option<u32>>>,
) -> impl IntoView {
    let cell = move |cell: Cell| {
        let Cell { text, class, note, help, head, bar, rq } = cell;
        let inner = match (rq, on_request) {
            _ if !help.is_empty() => view! { <span title=help>{text}</span> }.into_any(),
            (Some(rq), Some(on)) => {
                let pressed = selected
                    .map(|s| Signal::derive(move || if s.get() == Some(rq) { "true" } else { "false" }));
                view! {
                    <button type="button" class="quiet link" data-rq=rq tabindex=selected.map(|_| "-1") aria-pressed=pressed on:click=move |_| on.run(rq)>{text}</button>
                }
                .into_any()
            }
            _ => text.into_any(),
        };
        let note = (!note.is_empty()).then(|| view! { <span class="cell-note">{note}</span> });
        let bar = bar.map(|(part, whole)| {
            let style = format!("--part:{part:.1}%;--whole:{whole:.1}%");
            view! { <span class="cell-bar" aria-hidden="true" style=style></span> }
        });
        if head {
            view! { <th scope="row" class=class>{inner}{bar}{note}</th> }.into_any()
        } else {
            view! { <td class=class>{inner}{note}</td> }.into_any()
        }
    };
    // A row that says something new is a new row: the focus that was in the old one goes over to it.
    let (body, focused) = (NodeRef::<html::Tbody>::new(), StoredValue::new(None::<String>));
    let each = move || {
        let rows = rows.get();
        if let Some(rq) = focused.try_get_value().flatten() {
            // As soon as the new rows are there: a key must not meet nothing in between.
            queue_microtask(move || {
                let lost = document().active_element().is_none_or(|e| e.tag_name() == "BODY");
                let Some(body) = body.get_untracked().filter(|_| lost) else { return };
                let same = body.query_selector(&format!("[data-rq='{rq}']")).ok().flatten();
                if let Some(same) = same.and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok()) {
                    let _ = same.focus();
                }
            });
        }
        rows
    };
    let on_focus = move |e: web_sys::FocusEvent| {
        focused.set_value(event_target::<web_sys::Element>(&e).get_attribute("data-rq"));
    };
    view! {
        <tbody node_ref=body on:focusin=on_focus on:focusout=move |_| focused.set_value(None)>
            <For each key=|row| row.key let(row)>
                <tr>{row.cells.into_iter().map(cell).collect_view()}</tr>
            </For>
        </tbody>
    }
}

/// Moves the focus between the buttons of a table's rows: on the box around the table.
pub(super) fn on_arrows(e: web_sys::KeyboardEvent) {
    let step = match e.key().as_str() {
        "ArrowDown" => 1,
        "ArrowUp" => -1,
        _ => return,
    };
    let within = e.current_target().and_then(|t| t.dyn_into::<web_sys::Element>().ok());
    let Some(rows) =
        within.and_then(|w| w.query_selector("tbody").ok().flatten()).map(|body| body.children())
    else {
        return;
    };
    let focused = document().active_element();
    let here = (0..rows.length())
        .position(|i| rows.item(i).is_some_and(|row| row.contains(focused.as_ref().map(|f| f.as_ref()))));
    let next = match here {
        Some(at) => (at as i64 + step).clamp(0, i64::from(rows.length()) - 1) as u32,
        None => 0,
    };
    let button = rows.item(next).and_then(|row| row.query_selector("button").ok().flatten());
    if let Some(button) = button.and_then(|b| b.dyn_into::<web_sys::HtmlElement>().ok()) {
        e.prevent_default();
        let _ = button.focus();
    }
}

/// What stands in a [`List`]: a key, and how to make the element.
pub(super) type Item = (u64, ViewFnOnce);

/// Elements known by their keys; an element is made once for each key.
#[component]
pub(super) fn List(
    /// All elements, in order.
    items: Callback<(), Vec<Item>>,
) -> impl IntoView {
    view! {
        <For each=move || items.run(()) key=|(key, _)| *key let((_key, make))>
            {make.run()}
        </For>
    }
}

/// The key of anything that can be hashed.
pub(super) fn key(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_by_what_it_says() {
        let row = |text: &str| Row::by_content(vec![Cell::head("IOPS"), Cell::num(text)]);
        assert_eq!(row("1 M").key, row("1 M").key);
        assert_ne!(row("1 M").key, row("2 M").key);
        assert_ne!(key("a"), key("b"));
    }
}
