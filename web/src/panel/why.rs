//! The answer to why: of a lock, a CPU or a point of a chart in words; of a request by twins, each without one cause.

use super::control::{Button, act, focus, state, text};
use super::icon::Shape;
use super::table::{Cell, Item, List, Row, Rows, key};
use crate::session::Session;
use crate::why::{self, Link, Outcome, Question, Subject, Twin};
use crate::words;
use leptos::prelude::*;
use std::mem::discriminant;

/// The answer to what was asked about a lock, a CPU or a point of a chart.
#[component]
pub(super) fn Answer() -> impl IntoView {
    let session = Session::here();
    let shown = Memo::new(move |_| {
        let subject = session.asked.get()?;
        session.beat.track();
        session.side.track();
        session.with_player(|p| why::answer(p, subject))
    });
    // Whoever asks far below is taken to the answer; what is found later leaves the focus where it is.
    Effect::new(move |before: Option<Option<Subject>>| {
        let asked = session.asked.get();
        let found = |before: Subject| {
            matches!(asked, Some(Subject::Point { .. }))
                && asked.map(|now| discriminant(&now)) == Some(discriminant(&before))
                && !matches!(asked, Some(Subject::Point { slowest: why::Slowest::Sought, .. }))
        };
        if asked.is_some() && !before.flatten().is_some_and(found) {
            request_animation_frame(|| focus("why-title"));
        }
        asked
    });
    let items = Callback::new(move |()| {
        let lines = shown.get().map(|answer| answer.lines).unwrap_or_default();
        lines.into_iter().map(move |(text, link)| line(session, text, link)).collect::<Vec<_>>()
    });
    let close = act(move || {
        session.close_answer();
        focus("inspector-title");
    });
    view! {
        <div class="answer" id="answer" hidden=state(move || session.asked.get().is_none())>
            <div class="panel-head">
                <h3 id="why-title" tabindex="-1">
                    {text(move || shown.read().as_ref().map(|answer| answer.title.clone()).unwrap_or_default())}
                </h3>
                <Button class="quiet" on=close shape=Shape::Close name="Close the answer".into() />
            </div>
            <ul class="answer-lines" aria-labelledby="why-title">
                <List items />
            </ul>
        </div>
    }
}

/// A sentence of an answer, and where it leads.
fn line(session: Session, text: String, link: Option<Link>) -> Item {
    let number = match link {
        None => 0,
        Some(Link::Request(rq)) => u64::from(rq),
        Some(Link::Moment { event, .. }) => event,
    };
    let own = key((&text, number));
    let make = move || {
        let button = link.map(|link| {
            let (words, on) = match link {
                Link::Request(rq) => {
                    (format!("Why request {rq}"), act(move || session.ask(Subject::Request(rq))))
                }
                Link::Moment { at_ns, event } => {
                    (String::from("Go to that moment"), act(move || session.go_to(at_ns, event)))
                }
            };
            view! { <Button class="quiet link" on words /> }
        });
        view! { <li><span>{text}</span> {button}</li> }
    };
    (own, make.into())
}

/// What the selected request's latency would have been without what it waited for.
#[component]
pub(super) fn WhatIf() -> impl IntoView {
    let session = Session::here();
    let nothing = state(move || session.selected.get().is_none());
    let asked = move || session.why.get().filter(|q| Some(q.rq) == session.selected.get());
    let note = text(move || match asked() {
        None => String::from(
            "Runs the moment again to see what this request waits for, and then without each of these: a lock, a tag, a \
             plug, the scheduler, others in the device.",
        ),
        Some(question) => question.words(),
    });
    let rows = move |met| Signal::derive(move || asked().map(|q| twin_rows(&q, met)).unwrap_or_default());
    let empty = state(move || asked().is_none_or(|q| q.twins.is_empty()));
    view! {
        <div class="what-if" id="what-if" hidden=nothing>
            <div class="panel-head">
                <h3>"Why so long"</h3>
                <Button class="quiet" on=act(move || session.ask_why()) words=String::from("Ask the twin") keys="w" />
            </div>
            <p class="panel-note">{note}</p>
            <table class="what-if-table" aria-label="Latency without one cause" hidden=empty>
                <thead inner_html=HEAD></thead>
                <Rows rows=rows(true) />
                <Rows rows=rows(false) />
            </table>
        </div>
    }
}

const HEAD: &str = "<tr><th scope=col>What if</th><th scope=col class=num>latency, change</th></tr>";

/// The run as it is and the twins without what the request met, or those without a general cause; what helps most first.
fn twin_rows(question: &Question, met: bool) -> Vec<Row> {
    let Some(lat_ns) = question.lat_ns() else { return Vec::new() };
    let latency = |twin: &Twin| twin.outcome.and_then(Outcome::lat_ns);
    let longest = question.twins.iter().filter_map(latency).chain([lat_ns]).max().unwrap_or(1).max(1);
    let percent = |ns: u64| (ns as f64 / longest as f64 * 100.0) as f32;
    let bar = |ns: u64| Some((percent(ns), percent(lat_ns)));
    let mut twins: Vec<_> = question.twins.iter().filter(|twin| twin.met() == met).collect();
    twins.sort_by_key(|twin| latency(twin).unwrap_or(u64::MAX));
    let row = |twin: &Twin| {
        let (value, change, bar) = match twin.outcome {
            Some(Outcome::Ended(ns)) if ns == lat_ns => {
                (words::span(ns as f64), String::from("no change"), bar(ns))
            }
            Some(Outcome::Ended(ns)) => {
                let change = words::change(lat_ns as f64, ns as f64).unwrap_or_default();
                (words::span(ns as f64), change, bar(ns))
            }
            Some(Outcome::RunOver) => (String::from("–"), String::from("the run ends first"), None),
            Some(Outcome::TooLong) => (String::from("–"), String::from("too far to follow"), None),
            None if twin.cause.is_none() => (String::from("–"), String::from("no twin"), None),
            None => (String::from("–"), String::from("to be run"), None),
        };
        let head = Cell { note: twin.note.clone(), bar, ..Cell::head(format!("if {}", twin.words)) };
        Row::by_content(vec![head, Cell { note: change, ..Cell::num(value) }])
    };
    let as_it_is = met.then(|| {
        let head = Cell { bar: bar(lat_ns), ..Cell::head("as it is") };
        Row::by_content(vec![head, Cell::num(words::span(lat_ns as f64))])
    });
    as_it_is.into_iter().chain(twins.into_iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::Player;
    use crate::why::Inquiry;
    use mqscope_core::cases::case;

    #[test]
    fn bars_are_as_long_as_their_numbers_and_what_was_met_stands_first() {
        let scenario = case("seed-000").expect("the case").sides().swap_remove(1).1;
        let mut player = Player::new(scenario).expect("it can be played");
        player.seek(1_000_000);
        let request = player.scene().finished().next_back().expect("one has finished").clone();
        let (mut question, mut inquiry) = Inquiry::of(&player, &request, None).expect("it can be asked");
        while inquiry.step(&player, &mut question, 5_000) {}
        let (met, general) = (twin_rows(&question, true), twin_rows(&question, false));
        assert_eq!(met[0].cells[0].text, "as it is");
        assert!(met.len() > 1 && met[1..].iter().all(|row| !row.cells[0].note.is_empty()));
        assert!(!general.is_empty() && general.iter().all(|row| row.cells[0].note.is_empty()));
        let latencies: Vec<_> = question.twins.iter().filter_map(|t| t.outcome?.lat_ns()).collect();
        let lat_ns = question.lat_ns().expect("it ended");
        let longest = latencies.iter().copied().max().unwrap_or(0).max(lat_ns) as f32;
        let bars: Vec<_> = met.iter().chain(&general).filter_map(|row| row.cells[0].bar).collect();
        assert_eq!(bars.len(), latencies.len() + 1);
        assert!(
            bars.iter()
                .all(|(part, whole)| *part <= 100.0 && (whole * longest / 100.0 - lat_ns as f32).abs() < 1.0)
        );
        assert!(
            latencies
                .iter()
                .all(|ns| bars.iter().any(|(p, _)| (p * longest / 100.0 - *ns as f32).abs() < 1.0))
        );
    }
}
