//! The event log in words, newest last.

use super::control::{Switch, state};
use super::table::{Cell, Row, Rows};
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
    let all = RwSignal::new(false);
    let lines = Memo::new(move |_| {
        session.beat.track();
        let wanted = LINES[usize::from(!session.playing.get())];
        let all = all.get();
        let stands = !session.playing.get();
        session.with_player(|p| lines(p, wanted, all, stands)).unwrap_or_default()
    });
    let select = Callback::new(move |rq| session.select(Some(rq)));
    view! {
        <section class="panel log" id="log" aria-labelledby="log-title">
            <div class="panel-head">
                <h2 id="log-title">"Events"</h2>
                <span class="field inline">
                    <Switch id="log-all".into() value=all on=Callback::new(move |on| all.set(on)) />
                    <label for="log-all">"Locks, lines and CPUs as well"</label>
                </span>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of events">
                <table class="events">
                    <thead inner_html=HEAD></thead>
                    <Rows rows=Signal::derive(move || lines.get()) on_request=select />
                </table>
            </div>
            <p class="empty" hidden=state(move || !lines.read().is_empty())>"Nothing has happened yet."</p>
        </section>
    }
}

const HEAD: &str = "<tr><th scope=col>Time</th><th scope=col><abbr title=\"blktrace's letter\">Act</abbr></th>\
    <th scope=col>Who</th><th scope=col>What</th></tr>";

/// The last `wanted` events up to the playhead, each known by its serial number: those with a letter, or `all`. Where
/// time stands, the very last one is always there, because it is the one that a step has come to.
fn lines(p: &Player, wanted: usize, all: bool, stands: bool) -> Vec<Row> {
    let t = p.topology();
    let mut lines: Vec<Row> = p
        .recent_events()
        .rev()
        .zip((0..=p.position()).rev())
        .filter(|(e, serial)| all || e.kind.letter().is_some() || (stands && *serial == p.position()))
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
