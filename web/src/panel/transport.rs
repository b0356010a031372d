//! The controls of time: play, step, back, speed, and the timeline.

use super::icon::{Icon, Shape};
use super::timeline::TimelineBar;
use crate::config::SPEED_RANGE;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;

/// Steps of the speed slider in one decade.
const STEPS: f64 = 20.0;

/// Buttons, speed and timeline.
#[component]
pub fn Transport() -> impl IntoView {
    let session = Session::here();
    let play_shape = Signal::derive(move || if session.playing.get() { Shape::Pause } else { Shape::Play });
    let now = Memo::new(move |_| session.frame.get().now_ns);
    let end = Memo::new(move |_| session.frame.get().duration_ns);
    view! {
        <section class="transport" aria-labelledby="transport-title">
            <h2 id="transport-title" class="hidden-text">"Time"</h2>
            <TimelineBar />
            <div class="transport-row">
                <div class="buttons" role="group" aria-label="Play and step">
                    <Tool shape=Shape::Start name="To the start" keys="Home" act=move || session.seek(0) />
                    <Tool shape=Shape::Back name="One event back" keys="," act=move || session.step_back() />
                    <button
                        type="button"
                        class="play"
                        aria-keyshortcuts="Space"
                        title="Play or pause (space)"
                        on:click=move |_| session.toggle()
                    >
                        <Icon shape=play_shape />
                        <span class="play-word">{move || if session.playing.get() { "Pause" } else { "Play" }}</span>
                    </button>
                    <Tool shape=Shape::Forward name="One event on" keys="." act=move || session.step_event() />
                    <Tool
                        shape=Shape::Stage
                        name="To the next stage of the selected request"
                        keys="s"
                        act=move || session.step_stage()
                    />
                    <Tool
                        shape=Shape::End
                        name="To the end"
                        keys="End"
                        act=move || session.seek(session.frame.get_untracked().duration_ns)
                    />
                </div>
                <p class="clock">
                    <span class="clock-now">{move || words::moment(now.get())}</span>
                    <span class="clock-end">" of " {move || words::span(end.get() as f64)}</span>
                </p>
                <p class="field speed">
                    <label for="speed">"Speed"</label>
                    <input
                        id="speed"
                        type="range"
                        min=0
                        max=((SPEED_RANGE.1 / SPEED_RANGE.0).log10() * STEPS).round()
                        step=1
                        prop:value=move || ((session.speed.get() / SPEED_RANGE.0).log10() * STEPS).round()
                        aria-valuetext=move || words::speed(session.speed.get())
                        on:input:target=move |e| {
                            if let Ok(value) = e.target().value().parse::<f64>() {
                                session.set_speed(nice(SPEED_RANGE.0 * 10f64.powf(value / STEPS)));
                            }
                        }
                    />
                    <output for="speed">{move || words::speed(session.speed.get())}</output>
                </p>
            </div>
        </section>
    }
}

/// Two significant figures, so that the slider stops at speeds that can be said.
fn nice(speed: f64) -> f64 {
    let scale = 10f64.powf(speed.log10().floor() - 1.0);
    (speed / scale).round() * scale
}

#[component]
fn Tool(shape: Shape, name: &'static str, keys: &'static str, act: impl Fn() + 'static) -> impl IntoView {
    view! {
        <button
            type="button"
            class="tool"
            aria-label=name
            aria-keyshortcuts=keys
            title=format!("{name} ({keys})")
            on:click=move |_| act()
        >
            <Icon shape=shape />
        </button>
    }
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
