//! Where the two runs part, and what each I/O gains or loses by the other policy.

use super::control::{Button, act, focus, state, text};
use super::differ::Differ;
use super::table::{Cell, Row, Rows};
use crate::config::Side;
use crate::session::Session;
use crate::twins::{Account, ribbon};
use crate::words;
use leptos::prelude::*;

const HEAD: &str = "<tr><th scope=col>I/O</th><th scope=col class=num>A</th><th scope=col class=num>B</th>\
    <th scope=col class=num>Difference</th></tr>";

/// The panel.
#[component]
pub fn TwinsPanel() -> impl IntoView {
    let session = Session::here();
    let say = move |of: fn(&Account) -> String| {
        text(move || session.twins.read().as_ref().map_or_else(String::new, |a| of(a)))
    };
    let progress = say(|a| String::from(if a.complete { "" } else { "Still comparing." }));
    let parting = text(move || {
        session.twins.read().as_ref().map_or_else(
            || String::from("Both runs are compared event by event once their numbers are known."),
            |a| a.parting.clone(),
        )
    });
    let known = state(move || session.twins.read().as_ref().is_some_and(|a| a.moment.is_some()));
    let away = state(move || !known.get());
    let side = move |side: Side| {
        let says = text(move || {
            session.twins.read().as_ref().map_or_else(String::new, |a| a.sides[side.index()].clone())
        });
        let go = act(move || {
            let moment = session.twins.with_untracked(|t| t.as_ref().and_then(|t| t.moment));
            if let Some(moment) = moment {
                session.show(side);
                session.go_to(moment.at_ns[side.index()], moment.event[side.index()]);
                focus("stage-title");
                focus("inspector-title");
                window().scroll_to_with_x_and_y(0.0, 0.0);
            }
        });
        view! {
            <div class="twin-side" hidden=away>
                <p>
                    <span class=format!("badge {}", side.letter())>{side.letter()}</span>
                    " "
                    <span>{says}</span>
                </p>
                <Button class="quiet" on=go words=format!("Show it in {}", side.letter()) />
            </div>
        }
    };
    let picture = text(move || session.twins.read().as_ref().map_or_else(String::new, |a| ribbon(&a.bars)));
    let flat = state(move || picture.with(String::is_empty));
    let rows = Signal::derive(move || {
        let twins = session.twins.get();
        let most = twins.as_ref().map_or(&[][..], |a| &a.most);
        let row = |(i, (name, pair)): (usize, &(String, mqscope_core::report::twins::Pair))| {
            let sign = if pair.difference_ns() > 0 { "+" } else { "−" };
            let by = words::span(pair.difference_ns().unsigned_abs() as f64);
            let lat = |side: usize| Cell::num(words::span(pair.lat_ns[side] as f64));
            let name = Cell { rq: Some(i as u32), ..Cell::head(name.clone()) };
            Row::by_content(vec![name, lat(0), lat(1), Cell::num(format!("{sign}{by}"))])
        };
        most.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    let choose = Callback::new(move |index: u32| {
        let pair = session
            .twins
            .with_untracked(|t| t.as_ref().and_then(|t| t.most.get(index as usize).map(|m| m.1)));
        if let Some(pair) = pair {
            let side = session.side.get_untracked().index();
            session.seek_paused(pair.got_ns[side]);
            session.select(Some(pair.rq[side]).filter(|rq| *rq != 0));
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    });
    view! {
        <section class="panel twins" id="twins" aria-labelledby="twins-title">
            <div class="panel-head">
                <h2 id="twins-title" tabindex="-1">"Where A and B part"</h2>
                <p class="panel-note">{progress}</p>
            </div>
            <p class="twin-head">{parting}</p>
            <div class="twin-sides">{Side::BOTH.map(side).collect_view()}</div>
            <Differ />
            <p>{say(|a| a.order.clone())}</p>
            <p>{say(|a| a.sum.clone())}</p>
            <figure class="ribbon-box" hidden=flat>
                <figcaption>
                    "Difference of each I/O in the order in which A began them; above the line B takes longer, below it B is \
                     faster. A bar spans the middle 80 of 100 neighbours, the mark is their median."
                </figcaption>
                <div class="ribbon" aria-hidden="true" inner_html=picture></div>
            </figure>
            <details class="more">
                <summary>"The I/Os that differ most"</summary>
                <div class="scroll" tabindex="0" role="group" aria-label="I/Os that differ most">
                    <table>
                        <thead inner_html=HEAD></thead>
                        <Rows rows on_request=choose />
                    </table>
                </div>
            </details>
        </section>
    }
}
