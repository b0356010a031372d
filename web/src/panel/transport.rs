//! The controls of time: play, step, back, speed, and the timeline.

use super::control::{Button, Switch, act, state, text};
use super::icon::Shape;
use super::timeline::{TimelineBar, TimelineLegend};
use crate::config::SPEED_RANGE;
use crate::player::EVENT_RATE;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;

/// Steps of the speed slider in one decade.
const STEPS: f64 = 20.0;

/// Events a second at first: slow enough to see each.
const EVENT_RATE_FIRST: f64 = 8.0;

/// A tool: icon, name, keys, what it does, and whether it stands after the play button.
type Tool = (Shape, &'static str, &'static str, fn(&Session));

const BEFORE: [Tool; 3] = [
    (Shape::Start, "To the start", "Home", |s| s.seek(0)),
    (Shape::MarkBack, "To the mark before", "[", |s| s.seek_mark(false)),
    (Shape::Back, "One event back", ",", Session::step_back),
];
const AFTER: [Tool; 4] = [
    (Shape::Forward, "One event on", ".", Session::step_event),
    (Shape::Stage, "To the next stage of the selected request", "s", Session::step_stage),
    (Shape::MarkForward, "To the next mark", "]", |s| s.seek_mark(true)),
    (Shape::End, "To the end", "End", |s| s.seek(s.frame.get_untracked().duration_ns)),
];

/// Buttons, speed and timeline.
#[component]
pub fn Transport() -> impl IntoView {
    let session = Session::here();
    let shape = Signal::derive(move || if session.playing.get() { Shape::Pause } else { Shape::Play });
    let word = text(move || String::from(if session.playing.get() { "Pause" } else { "Play" }));
    let tool = move |(shape, name, keys, on): Tool| {
        view! { <Button class="tool" on=act(move || on(&session)) shape=shape name=name.into() keys=keys /> }
    };
    let by_event = state(move || session.event_rate.read().is_some());
    // One slider for both ways to play: its place is the speed or the rate on a logarithmic scale.
    let range = move || if by_event.get() { EVENT_RATE } else { SPEED_RANGE };
    let now = move || session.event_rate.get().unwrap_or_else(|| session.speed.get());
    let said = text(move || match session.event_rate.get() {
        Some(rate) => format!("{}\u{2009}events/s", words::short(rate)),
        None => words::speed(session.speed.get()),
    });
    let place = |of: f64, range: (f64, f64)| (of / range.0).log10() * STEPS;
    let value = text(move || format!("{:.0}", place(now(), range())));
    let most = text(move || format!("{:.0}", place(range().1, range())));
    let slide = move |place: f64| {
        let wanted = nice(range().0 * 10f64.powf(place / STEPS));
        match by_event.get_untracked() {
            true => session.set_event_rate(Some(wanted.clamp(EVENT_RATE.0, EVENT_RATE.1))),
            false => session.set_speed(wanted),
        }
    };
    let end = text(move || {
        let (frame, end) = (session.frame.get(), words::span(session.frame.get().duration_ns as f64));
        match (frame.heading_ns, session.awaits_mark.get()) {
            (Some(to), _) => format!(" of {end}, on the way to {}", words::span(to as f64)),
            (None, true) => format!(" of {end}, looking for the next mark"),
            (None, false) => format!(" of {end}"),
        }
    });
    let switch = Callback::new(move |on: bool| session.set_event_rate(on.then_some(EVENT_RATE_FIRST)));
    view! {
        <section class="transport" aria-labelledby="transport-title">
            <h2 id="transport-title" class="hidden-text">"Time"</h2>
            <TimelineBar />
            <div class="transport-row">
                <div class="buttons" role="group" aria-label="Play and step">
                    {BEFORE.map(tool).collect_view()}
                    <Button class="play" on=act(move || session.toggle()) shape=shape words=word keys="Space" />
                    {AFTER.map(tool).collect_view()}
                </div>
                <p class="clock">
                    <span class="clock-now">{text(move || words::moment(session.frame.get().now_ns))}</span>
                    <span class="clock-end">{end}</span>
                </p>
                <p class="field speed">
                    <label for="speed">"Speed"</label>
                    <input
                        id="speed"
                        type="range"
                        min="0"
                        max=most
                        prop:value=value
                        aria-valuetext=said
                        on:input:target=move |e| {
                            if let Ok(place) = e.target().value().parse::<f64>() {
                                slide(place);
                            }
                        }
                    />
                    <output for="speed">{said}</output>
                </p>
                <p class="field inline">
                    <Switch id="by-event".into() value=by_event on=switch />
                    <label for="by-event">"By event"</label>
                </p>
            </div>
            <TimelineLegend />
        </section>
    }
}

/// Two significant figures, so that the slider stops at speeds that can be said.
fn nice(speed: f64) -> f64 {
    let scale = 10f64.powf(speed.log10().floor() - 1.0);
    (speed / scale).round() * scale
}

#[cfg(test)]
mod tests {
    use super::nice;

    #[test]
    fn the_slider_stops_at_speeds_of_two_figures() {
        for (raw, said) in [(19_952.6, 20_000.0), (12_589.0, 13_000.0), (1e9, 1e9), (10.0, 10.0)] {
            assert!((nice(raw) - said).abs() < said * 1e-9, "{raw}: {}", nice(raw));
        }
    }
}
