//! Requests over time as a table: a row for each request, a column for each slice of time, letters in the cells.

use super::control::{Button, Choice, Switch, act, in_view, state, text};
use super::table::{Cell, Item, List, Row, Rows, key, on_arrows};
use crate::session::{Reader, Session};
use crate::spacetime::{self, Ask, At, FINISHED, Order, SLICES, SpaceTime, TimeRow};
use crate::words;
use leptos::html;
use leptos::prelude::*;
use mqscope_core::event::Op;

/// While it plays the table changes with every so many beats, so that it can be read.
const BEATS: u32 = 5;
/// Columns that say their time.
const TICK_EVERY: usize = 4;
/// Columns that rows can be ordered by, with what they are called.
const COLUMNS: [(Order, &str); 4] =
    [(Order::Number, "Request"), (Order::Cpu, "CPU"), (Order::Total, "Time"), (Order::Longest, "Longest")];

/// The panel.
#[component]
pub fn SpaceTimePanel() -> impl IntoView {
    let session = Session::here();
    let section: NodeRef<html::Section> = NodeRef::new();
    let shown = in_view(section, Reader::SpaceTime);
    let ask =
        RwSignal::new(Ask { finished: FINISHED[1], aligned: false, order: Order::Start, reverse: false });
    let table = Memo::new(move |last: Option<&SpaceTime>| {
        let (beat, ask) = (session.beat.get(), ask.get());
        session.side.track();
        match last {
            last if !shown.get() => last.cloned().unwrap_or_default(),
            Some(last) if session.playing.get() && !beat.is_multiple_of(BEATS) => last.clone(),
            _ => session.with_player(|p| spacetime::table(p.scene(), &ask)).unwrap_or_default(),
        }
    });
    let rows = Signal::derive(move || table.with(|t| t.rows.iter().map(row).collect::<Vec<_>>()));
    let select = Callback::new(move |rq| session.select(Some(rq)));
    let ticks = Callback::new(move |()| {
        let (from, slice) = table.with(|t| (t.from_ns, t.slice_ns));
        (0..SLICES).map(|n| tick(n, from, slice, ask.get().aligned)).collect::<Vec<_>>()
    });
    let note = text(move || {
        let (slice, left_out) = table.with(|t| (t.slice_ns, t.left_out));
        let slice = format!("{} a column", words::span(slice as f64));
        match left_out {
            0 => slice,
            n => format!("{slice}; {n} younger requests under way are not shown"),
        }
    });
    let options = FINISHED.map(|n| (n.to_string(), n.to_string())).to_vec();
    let finished = text(move || ask.get().finished.to_string());
    let set_finished = move |n: String| ask.update(|a| a.finished = n.parse().unwrap_or(FINISHED[1]));
    let aligned = Signal::derive(move || ask.get().aligned);
    let legend: String = At::ALL
        .iter()
        .map(|at| {
            let (class, letter, words) = (at.class(), at.letter(), at.words());
            format!("<li><b class=\"st {class}\">{letter}</b>{words}</li>")
        })
        .collect();
    view! {
        <section class="panel spacetime" id="spacetime" aria-labelledby="spacetime-title" node_ref=section>
            <div class="panel-head">
                <h2 id="spacetime-title">"Requests over time"</h2>
                <p class="panel-note">{note}</p>
            </div>
            <div class="spacetime-tools">
                <span class="field inline">
                    <label for="st-finished">"Finished ones"</label>
                    <Choice id="st-finished".into() options value=finished on=Callback::new(set_finished) />
                </span>
                <span class="field inline">
                    <Switch id="st-aligned".into() value=aligned on=Callback::new(move |on| ask.update(|a| a.aligned = on)) />
                    <label for="st-aligned">"Each from its own Q"</label>
                </span>
                <Button class="quiet" on=act(print) words=String::from("Print") />
            </div>
            <div
                class="scroll"
                tabindex="0"
                role="group"
                aria-label="Table of requests over time: arrow keys go from request to request, Enter selects one"
                on:keydown=on_arrows
            >
                <table>
                    <thead>
                        <tr>
                            {COLUMNS.map(|(order, name)| heading(ask, order, name)).into_iter().collect_view()}
                            <List items=ticks />
                        </tr>
                    </thead>
                    <Rows rows on_request=select selected=Signal::from(session.selected) />
                </table>
            </div>
            <p class="empty" hidden=state(move || !table.read().rows.is_empty())>"No request yet."</p>
            <details class="more">
                <summary>"What the letters mean"</summary>
                <p class="panel-note">
                    "Capital letters are blktrace's events: Q queued, X split, A remapped, G got a request, P joined a plug, U \
                     unplugged, I inserted, M or F merged, D given to the driver, R refused, C completed. Small letters say \
                     where the request was for most of the slice:"
                </p>
                <ul class="legend" inner_html=legend></ul>
            </details>
        </section>
    }
}

/// The heading of a column that rows can be ordered by.
fn heading(ask: RwSignal<Ask>, order: Order, name: &'static str) -> AnyView {
    let sort = text(move || {
        let now = ask.get();
        let word = match (now.order == order, now.reverse) {
            (false, _) => "none",
            (true, false) => "ascending",
            (true, true) => "descending",
        };
        word.into()
    });
    let arrow = text(move || {
        let now = ask.get();
        match (now.order == order, now.reverse) {
            (false, _) => name.into(),
            (true, false) => format!("{name} ↑"),
            (true, true) => format!("{name} ↓"),
        }
    });
    // The third press brings back the order of time.
    let on = act(move || {
        ask.update(|a| match (a.order == order, a.reverse) {
            (false, _) => (a.order, a.reverse) = (order, false),
            (true, false) => a.reverse = true,
            (true, true) => (a.order, a.reverse) = (Order::Start, false),
        });
    });
    view! {
        <th scope="col" aria-sort=sort>
            <Button class="quiet sort" on words=arrow />
        </th>
    }
    .into_any()
}

/// The heading of a slice: its time, which is seen over every few columns and said for all.
fn tick(n: usize, from_ns: u64, slice_ns: u64, aligned: bool) -> Item {
    let at = from_ns + n as u64 * slice_ns;
    let said = match (aligned, n) {
        (true, _) => format!("+{}", words::span(at as f64)),
        (false, 0) => words::moment(at),
        (false, _) => format!("+{}", words::span((at - from_ns) as f64)),
    };
    let class = if n.is_multiple_of(TICK_EVERY) { "tick" } else { "tick quiet" };
    let own = key((n, &said));
    let make = move || view! { <th scope="col" class=class><span>{said}</span></th> };
    (own, make.into())
}

/// A request as a row.
fn row(row: &TimeRow) -> Row {
    let op = match row.op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Discard => "D",
        Op::Flush => "F",
    };
    let kib = f64::from(row.sectors) / 2.0;
    let request = Cell {
        rq: Some(row.rq),
        note: format!("{op} {kib} KiB{}", if row.over { "" } else { ", under way" }),
        ..Cell::head(row.rq.to_string())
    };
    let (at, longest_ns) = row.longest;
    let longest = Cell { note: at.words().into(), ..Cell::num(words::span(longest_ns as f64)) };
    let mut cells =
        vec![request, Cell::num(row.cpu.to_string()), Cell::num(words::span(row.total_ns as f64)), longest];
    cells.extend(row.slices.iter().map(|slice| match slice {
        Some((text, at)) => Cell { class: at.class(), ..Cell::words(text.clone()) },
        None => Cell::default(),
    }));
    Row::by_content(cells)
}

/// Prints this table and nothing else.
fn print() {
    let Some(root) = document().document_element() else { return };
    let _ = root.set_attribute("data-print", "spacetime");
    let _ = window().print();
    let _ = root.remove_attribute("data-print");
}
