//! The event log in words, newest last.

use crate::narrate;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;

/// Lines shown while it plays, and while it stands.
const LINES: [usize; 2] = [12, 80];

/// One line, with the event's serial number as its key.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    serial: u64,
    at: String,
    letter: &'static str,
    who: String,
    what: String,
    rq: Option<u32>,
}

/// The panel.
#[component]
pub fn EventLog() -> impl IntoView {
    let session = Session::here();
    let all = RwSignal::new(false);
    let lines = Memo::new(move |_| {
        session.beat.track();
        let wanted = LINES[usize::from(!session.playing.get())];
        let all = all.get();
        session
            .with_player(|p| {
                let t = p.topology();
                let mut lines: Vec<Line> = p
                    .recent_events()
                    .rev()
                    .zip((0..=p.position()).rev())
                    .filter(|(e, _)| all || e.kind.letter().is_some())
                    .take(wanted)
                    .map(|(e, serial)| Line {
                        serial,
                        at: words::moment(e.at_ns),
                        letter: e.kind.letter().unwrap_or(""),
                        who: narrate::actor(e, t),
                        what: narrate::sentence(e, t),
                        rq: narrate::request(&e.kind),
                    })
                    .collect();
                lines.reverse();
                lines
            })
            .unwrap_or_default()
    });
    view! {
        <section class="panel log" id="log" aria-labelledby="log-title">
            <div class="panel-head">
                <h2 id="log-title">"Events"</h2>
                <span class="field inline">
                    <input
                        type="checkbox"
                        role="switch"
                        class="switch"
                        id="log-all"
                        prop:checked=all
                        on:change:target=move |e| all.set(e.target().checked())
                    />
                    <label for="log-all">"Locks, lines and CPUs as well"</label>
                </span>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of events">
                <table class="events">
                    <thead>
                        <tr>
                            <th scope="col">"Time"</th>
                            <th scope="col"><abbr title="blktrace's letter">"Act"</abbr></th>
                            <th scope="col">"Who"</th>
                            <th scope="col">"What"</th>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || lines.get() key=|line| line.serial let(line)>
                            <tr>
                                <td class="num">{line.at.clone()}</td>
                                <td class="letter">{line.letter}</td>
                                <td>{line.who.clone()}</td>
                                <td>
                                    {match line.rq {
                                        Some(rq) => {
                                            view! {
                                                <button
                                                    type="button"
                                                    class="quiet link"
                                                    on:click=move |_| session.select(Some(rq))
                                                >
                                                    {line.what.clone()}
                                                </button>
                                            }
                                                .into_any()
                                        }
                                        None => line.what.clone().into_any(),
                                    }}
                                </td>
                            </tr>
                        </For>
                    </tbody>
                </table>
            </div>
            <Show when=move || lines.read().is_empty()>
                <p class="empty">"Nothing has happened yet."</p>
            </Show>
        </section>
    }
}
