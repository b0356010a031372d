//! The event log in words, newest last: all of it, some kinds, or one request's; and its text to take along.

use super::control::{Button, Choice, Switch, act, state, text};
use super::table::{Cell, Row, Rows};
use crate::eventlog::{self, Filter, Group};
use crate::narrate;
use crate::player::{self, Player};
use crate::session::Session;
use crate::words;
use leptos::prelude::*;

/// Lines shown while it plays, and while it stands.
const LINES: [usize; 2] = [12, 80];

/// The panel.
#[component]
pub fn EventLog() -> impl IntoView {
    let session = Session::here();
    let group = RwSignal::new(Group::default());
    let own = RwSignal::new(false);
    let filter = move || {
        let rq = if own.get() { session.selected.get() } else { None };
        // A request that is long gone still has its number.
        let bio = |rq| session.with_player(|p| p.scene().request(rq).map(|r| r.bio)).flatten();
        Filter { group: group.get(), about: rq.map(|rq| (rq, bio(rq).unwrap_or_default())) }
    };
    let lines = Memo::new(move |_| {
        session.beat.track();
        session.side.track();
        let stands = !session.playing.get();
        let (wanted, filter) = (LINES[usize::from(stands)], filter());
        session.with_player(|p| lines(p, wanted, &filter, stands)).unwrap_or_default()
    });
    let select = Callback::new(move |rq| session.select(Some(rq)));
    let options = Group::ALL.iter().map(|(g, name)| ((*g as u8).to_string(), String::from(*name))).collect();
    let choose = Callback::new(move |number: String| {
        let chosen = number.parse().ok().and_then(|i: usize| Group::ALL.get(i)).copied();
        group.set(chosen.unwrap_or_default().0);
    });
    let copied = RwSignal::new(String::new());
    let copy = move |make: fn(&Player, &Filter) -> String| {
        act(move || {
            let text = untrack(|| session.with_player(|p| make(p, &filter()))).unwrap_or_default();
            let lines = text.lines().count();
            let said = match take_along(&text) {
                true if lines == 1 => String::from("1 line copied"),
                true => format!("{} lines copied", words::grouped(lines as u64)),
                false => String::from("The browser lets nothing be copied here"),
            };
            copied.set(said.clone());
            session.said.set(said);
        })
    };
    let none = text(move || {
        String::from(match (own.get(), session.selected.get()) {
            (true, None) => "No request is selected.",
            (true, Some(_)) => "No event of this kind about the request is among the last ones.",
            (false, _) => "No event of this kind is among the last ones.",
        })
    });
    view! {
        <section class="panel log" id="log" aria-labelledby="log-title">
            <div class="panel-head">
                <h2 id="log-title">"Events"</h2>
                <span class="field inline">
                    <label class="hidden-text" for="log-kind">"Kind of events"</label>
                    <Choice
                        id="log-kind".into()
                        options
                        value=text(move || (group.get() as u8).to_string())
                        on=choose
                    />
                </span>
            </div>
            <div class="log-tools">
                <span class="field inline">
                    <Switch id="log-own".into() value=own on=Callback::new(move |on| own.set(on)) />
                    <label for="log-own">"Only the selected request"</label>
                </span>
                <span class="buttons">
                    <Button class="quiet" on=copy(eventlog::text) words=String::from("Copy") name="Copy as text".into() />
                    <Button
                        class="quiet"
                        on=copy(eventlog::blkparse)
                        words=String::from("Copy for blkparse")
                        name="Copy for blkparse: the events that it has letters for, in its form".into()
                    />
                </span>
            </div>
            <p class="panel-note">{copied}</p>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of events">
                <table class="events">
                    <thead inner_html=HEAD></thead>
                    <Rows rows=Signal::derive(move || lines.get()) on_request=select />
                </table>
            </div>
            <p class="empty" hidden=state(move || !lines.read().is_empty())>{none}</p>
        </section>
    }
}

const HEAD: &str = "<tr><th scope=col>Time</th><th scope=col><abbr title=\"blktrace's letter\">Act</abbr></th>\
    <th scope=col>Who</th><th scope=col>What</th></tr>";

/// Hands a text to the clipboard; false where the page has none.
fn take_along(text: &str) -> bool {
    let navigator = window().navigator();
    let has = js_sys::Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|c| c.is_object());
    if has {
        let _ = navigator.clipboard().write_text(text);
    }
    has
}

/// The last `wanted` events up to the playhead that the filter lets through, each known by its serial number. Where time
/// stands and no request was asked for, the very last one is always there, because it is the one that a step has
/// come to.
fn lines(p: &Player, wanted: usize, filter: &Filter, stands: bool) -> Vec<Row> {
    let t = p.topology();
    let always = stands && filter.about.is_none();
    let mut lines: Vec<Row> = p
        .recent_events()
        .rev()
        .zip((0..=p.position()).rev())
        .filter(|(e, serial)| filter.wants(e) || (always && *serial == p.position()))
        .take(wanted)
        .map(|(e, key)| {
            let letter = Cell { class: "letter", ..Cell::words(e.kind.letter().unwrap_or("")) };
            let what = Cell { rq: player::request(&e.kind), ..Cell::words(narrate::sentence(e, t)) };
            Row {
                key,
                cells: vec![
                    Cell::num(words::moment(e.at_ns)),
                    letter,
                    Cell::words(narrate::actor(e, t)),
                    what,
                ],
            }
        })
        .collect();
    lines.reverse();
    lines
}
