//! Laws that any queue obeys, beside the numbers, and the kernel's own invariants as lamps.

use super::control::{Button, act, text};
use super::table::{Cell, Item, List, Row, Rows, key};
use crate::config::Side;
use crate::laws;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::check::Invariant;

const HEAD: &str =
    "<tr><th scope=col>Law</th><th scope=col class=num>A</th><th scope=col class=num>B</th></tr>";

/// The panel.
#[component]
pub fn Lamps() -> impl IntoView {
    let session = Session::here();
    let rows = Signal::derive(move || {
        let reports = session.numbers.map(|n| n.get());
        let players = session.tasks();
        let says = |side: Side| {
            let numbers = reports[side.index()].as_ref();
            numbers.map(|n| laws::laws(&n.report, players)).unwrap_or_default()
        };
        let (a, b) = (says(Side::A), says(Side::B));
        let names: Vec<_> = if a.len() >= b.len() { &a } else { &b }.iter().map(|l| l.name.clone()).collect();
        let cell = |laws: &[laws::Law], i: usize| {
            let law = laws.get(i);
            Cell {
                note: law.map(|l| l.note.clone()).unwrap_or_default(),
                ..Cell::num(law.map_or("–", |l| l.says.as_str()))
            }
        };
        let row = |(i, name): (usize, &String)| {
            Row::by_content(vec![Cell::head(name.as_str()), cell(&a, i), cell(&b, i)])
        };
        names.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    let lamps = Callback::new(move |()| Invariant::ALL.into_iter().map(lamp).collect::<Vec<_>>());
    view! {
        <section class="panel lamps" id="laws" aria-labelledby="laws-title">
            <div class="panel-head">
                <h2 id="laws-title">"Laws and invariants"</h2>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="Laws">
                <table>
                    <thead inner_html=HEAD></thead>
                    <Rows rows />
                </table>
            </div>
            <h3>"What always holds, as seen up to the playhead"</h3>
            <ul class="lamp-list">
                <List items=lamps />
            </ul>
        </section>
    }
}

/// One invariant: whether it held, and a button that breaks it once.
fn lamp(invariant: Invariant) -> Item {
    let make = move || {
        let session = Session::here();
        // None: not broken so far; else when and how.
        let broken = Memo::new(move |_| {
            session.beat.track();
            session.side.track();
            session.with_player(|p| p.violation(invariant).map(|v| (v.at_ns, v.text.clone()))).flatten()
        });
        let class = text(move || String::from(if broken.read().is_some() { "lamp broken" } else { "lamp" }));
        let sign = text(move || String::from(if broken.read().is_some() { "✕" } else { "✓" }));
        let armed = move || session.config.read().breaks.contains(&invariant);
        let says = text(move || match &*broken.read() {
            Some((at_ns, text)) => format!("Broken at {}: {text}", words::moment(*at_ns)),
            None if armed() => {
                String::from("Holds. It is to be broken at the first occasion; up to here there was none.")
            }
            None => String::from("Holds."),
        });
        let word = text(move || String::from(if armed() { "Mend it" } else { "Break it once" }));
        let toggle = act(move || session.toggle_break(invariant));
        view! {
            <li class=class>
                <span class="lamp-sign" aria-hidden="true">{sign}</span>
                <div>
                    <p class="lamp-rule">{invariant.sentence()}</p>
                    <p class="lamp-state">{says}</p>
                    <p class="field-help">{invariant.lesson()} " " <code>{invariant.rule()}</code></p>
                </div>
                <Button class="quiet" on=toggle words=word />
            </li>
        }
    };
    (key(invariant.name()), make.into())
}
