//! What the CPUs spend their time on: a strip for each over the last window, or a window around the playhead as closely
//! as it is asked for, and the same as a table.

use super::control::{Button, act, in_view, state, text};
use super::icon::Shape;
use super::picture::{Easel, Fold, Picture, Press};
use super::table::{Cell, Row, Rows, key, on_arrows};
use crate::draw::strips::{self, StripRow};
use crate::draw::zoom::Zoom;
use crate::player::{Level, Mode, Player, Sign, Strip};
use crate::session::{Reader, Session};
use crate::why::Subject;
use crate::words;
use crate::zoom;
use leptos::html;
use leptos::prelude::*;
use std::time::Duration;

/// While the playhead crosses the window in less than this time on the wall, s, there is nothing to be seen in it.
const CROSSING_S: f64 = 1.0;

/// A window that is not known yet goes on being simulated after so long.
const AGAIN: Duration = Duration::from_millis(20);

/// What is said where time runs too fast.
const TOO_FAST: &str = "Time runs too fast for this window: pause, play slower, or look wider.";

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    /// Length of the strips so far, ns.
    span_ns: u64,
    strips: Vec<Strip>,
    rows: Vec<StripRow>,
    /// CPUs that idled all the time.
    idle: usize,
    /// The window around the playhead instead.
    zoom: Option<Box<Close>>,
}

/// The window, and what is said about it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Close {
    zoom: Zoom,
    level: String,
    summary: String,
    list: Vec<[String; 3]>,
    /// Time runs too fast for it.
    fast: bool,
}

fn close_up(p: &Player, width_ns: u64, speed: Option<f64>) -> Close {
    if speed.is_some_and(|s| s * CROSSING_S > width_ns as f64) {
        return Close { fast: true, ..Close::default() };
    }
    let zoom = Zoom::new(p.look(width_ns));
    Close {
        level: zoom::level(&zoom.window, p),
        summary: zoom::summary(&zoom, p.topology()),
        list: zoom::list(&zoom, p.topology()),
        zoom,
        fast: false,
    }
}

/// The panel.
#[component]
pub fn Cpus() -> impl IntoView {
    let session = Session::here();
    let section: NodeRef<html::Section> = NodeRef::new();
    let shown = in_view(section, Reader::Cpus);
    let width = session.zoom;
    // A window that is not known to its end yet is looked at again.
    let again = RwSignal::new(0u32);
    // Nobody looks: nothing is read.
    let seen = Memo::new(move |last: Option<&Seen>| {
        if !shown.get() {
            return last.cloned().unwrap_or_default();
        }
        session.beat.track();
        session.side.track();
        again.track();
        let width = width.get();
        let by_time = session.playing.get() && session.event_rate.get().is_none();
        let speed = by_time.then(|| session.speed.get());
        let read = |p: &Player| {
            if let Some(width) = width {
                return Seen {
                    zoom: Some(Box::new(close_up(p, width, speed))),
                    strips: p.strips(),
                    ..Seen::default()
                };
            }
            let strips = p.strips();
            let (rows, idle) = strips::rows(&strips);
            Seen { span_ns: p.strip_ns().min(p.now_ns()), strips, rows, idle, zoom: None }
        };
        session.with_player(read).unwrap_or_default()
    });
    Effect::new(move |_| {
        again.track();
        if seen.with(|s| s.zoom.as_ref().is_some_and(|close| close.zoom.window.more)) {
            set_timeout(move || _ = again.try_update(|n| *n += 1), AGAIN);
        }
    });
    let draw = move |easel: Easel| {
        let Some(mut paint) = easel.paint() else { return };
        let text = (easel.rem * 0.75) as f32;
        let width = easel.size.0 as f32;
        seen.with(|s| match &s.zoom {
            Some(close) => {
                session
                    .with_player(|p| close.zoom.paint(p.topology(), width, text, &easel.palette, &mut paint));
            }
            None => strips::paint(&s.rows, width, text, &easel.palette, &mut paint),
        });
    };
    let height = Signal::derive(move || {
        seen.with(|s| match &s.zoom {
            Some(close) => f64::from(close.zoom.height()),
            None => f64::from(strips::height(s.rows.len())),
        })
    });
    let note = text(move || {
        let (span_ns, idle, all) = seen.with(|s| (s.span_ns, s.idle, s.strips.len()));
        let span = words::span(span_ns as f64);
        match idle {
            _ if all == 0 || width.get().is_some() => String::new(),
            0 => format!("The last {span}"),
            idle if idle == all => format!("The last {span}; all {all} CPUs idle"),
            idle => format!("The last {span}; {idle} of {all} CPUs idle all the time"),
        }
    });
    let open = RwSignal::new(false);
    let table = Signal::derive(move || {
        if !open.get() {
            return Vec::new();
        }
        seen.with(|s| match &s.zoom {
            Some(close) if !close.list.is_empty() => close.list.iter().enumerate().map(list_row).collect(),
            Some(close) if !close.zoom.window.strips.is_empty() => {
                close.zoom.window.strips.iter().map(row).collect()
            }
            Some(_) => Vec::new(),
            None => s.strips.iter().map(row).collect::<Vec<_>>(),
        })
    });
    let why = Callback::new(move |cpu: u32| session.ask(Subject::Cpu(cpu as u16)));
    let asked = Signal::derive(move || match session.asked.get() {
        Some(Subject::Cpu(cpu)) => Some(cpu.into()),
        _ => None,
    });
    let head = text(move || {
        seen.with(|s| {
        let close = s.zoom.as_ref().is_some_and(|z| z.zoom.window.level <= Level::Signs);
        if close {
            return String::from("<tr><th scope=col class=num>from the playhead</th><th scope=col>CPU</th><th scope=col>what</th></tr>");
        }
        let head: String = Mode::ALL.iter().map(|m| format!("<th scope=col class=num>{}</th>", m.word())).collect();
        format!("<tr><th scope=col>CPU, press to ask why</th>{head}<th scope=col class=num>idle</th></tr>")
    })
    });
    let said = move |what: fn(&Close) -> &str| {
        text(move || seen.with(|s| s.zoom.as_ref().map_or_else(String::new, |close| what(close).to_string())))
    };
    let level = said(|close| if close.fast { TOO_FAST } else { &close.level });
    let summary = said(|close| &close.summary);
    let label = text(move || {
        seen.with(|s| match &s.zoom {
        Some(close) => close.level.clone(),
        None => format!(
            "A strip for each of {} CPUs or groups of them: shares of time over the last window, newest at the right. \
             The table below has the numbers.",
            s.rows.len(),
        ),
    })
    });
    let end = move || session.with_player(Player::duration_ns).unwrap_or_default();
    let next = move |closer: bool| {
        let from = width.get_untracked().or_else(|| session.with_player(Player::strip_ns));
        zoom::step(from.unwrap_or_default().min(end()), end(), closer)
    };
    let go = move |closer: bool| match next(closer) {
        Some(next) => session.set_zoom(Some(next)),
        None => session.said.set(format!("No {} window.", if closer { "closer" } else { "wider" })),
    };
    let at_end = Memo::new(move |_| {
        session.beat.track();
        session.side.track();
        width.track();
        [next(true), next(false)].map(|next| next.is_none())
    });
    // Only while the focus is in this panel.
    let on_key = move |e: web_sys::KeyboardEvent| {
        let closer = matches!(e.key().as_str(), "+" | "=");
        if (closer || e.key() == "-") && !(e.ctrl_key() || e.meta_key() || e.alt_key()) {
            e.prevent_default();
            go(closer);
        }
    };
    // Control and the wheel zoom as in maps; without it the page scrolls.
    let on_wheel = move |e: web_sys::WheelEvent| {
        if e.ctrl_key() && e.delta_y() != 0.0 {
            e.prevent_default();
            go(e.delta_y() < 0.0);
        }
    };
    // Closely seen, a place is a moment; else it is a CPU, unless several share the strip.
    let press = Callback::new(move |at: Press| {
        let text = (at.rem * 0.75) as f32;
        let (moment, cpu) = seen.with_untracked(|s| match &s.zoom {
            Some(close) => (close.zoom.moment(at.x as f32, at.width as f32, text), None),
            None => (None, strips::row_at(&s.rows, at.y as f32).and_then(|r| r.label.parse::<u16>().ok())),
        });
        if let Some(at_ns) = moment {
            session.seek_paused(at_ns);
        }
        if let Some(cpu) = cpu {
            session.ask(Subject::Cpu(cpu));
        }
    });
    let legend = text(move || seen.with(|s| legend(s.zoom.as_ref().map(|z| z.zoom.window.level))));
    view! {
        <section class="panel cpus" id="cpus" aria-labelledby="cpus-title" node_ref=section on:keydown=on_key>
            <div class="panel-head">
                <h2 id="cpus-title">"CPUs"</h2>
                <p class="panel-note">{note}</p>
                <div class="buttons" role="group" aria-label="Width of the window">
                    <Button
                        class="tool"
                        on=act(move || go(true))
                        shape=Shape::Closer
                        name="Closer to the playhead".into()
                        disabled=state(move || at_end.get()[0])
                        keys="+"
                    />
                    <Button
                        class="tool"
                        on=act(move || go(false))
                        shape=Shape::Wider
                        name="Wider".into()
                        disabled=state(move || at_end.get()[1])
                        keys="-"
                    />
                    <Button
                        class="tool"
                        on=act(move || session.set_zoom(None))
                        shape=Shape::Reset
                        name="The last part of the run".into()
                    />
                </div>
            </div>
            <div class="zoom" class:close=state(move || width.get().is_some()) on:wheel=on_wheel>
                <Picture class="strips" label height=height draw=Callback::new(draw) press />
            </div>
            <p class="zoom-words">{level}</p>
            <p class="zoom-words">{summary}</p>
            <ul class="legend" aria-label="What the fills mean" inner_html=legend></ul>
            <Fold summary="The same as a table" open>
                <div class="scroll" tabindex="0" role="group" aria-label="Table of CPU time: arrow keys go from one to the next, Enter asks why" on:keydown=on_arrows>
                    <table>
                        <thead inner_html=head></thead>
                        <Rows rows=table on_request=why selected=asked />
                    </table>
                </div>
            </Fold>
        </section>
    }
}

/// What fills and signs mean at a level.
fn legend(level: Option<Level>) -> String {
    let sample = |class: &str, words: &str| {
        format!("<li><i class=\"sample {class}\" aria-hidden=\"true\"></i>{words}</li>")
    };
    let modes = Mode::ALL.iter().map(|m| sample(&format!("mode-{}", m.word().replace(' ', "-")), m.word()));
    let mut all: String = modes.chain([sample("mode-idle", "idle")]).collect();
    match level {
        Some(Level::Lines) => {
            all += &sample("move-near", "a line moves within a socket");
            all += &sample("move-far", "and farther");
        }
        Some(Level::Signs) => {
            let signs = Sign::ALL.iter().map(|s| sample(&format!("sign-{}", s.word()), s.word()));
            all.extend(signs);
        }
        _ => {}
    }
    all
}

/// A CPU's shares as a row of the table.
fn row(strip: &Strip) -> Row {
    let percent = |share: f32| Cell::num(words::percent(f64::from(share)));
    let busy: f32 = strip.mean.iter().sum();
    let name = strip.cpu.to_string();
    let mut cells = vec![Cell { rq: Some(strip.cpu.into()), ..Cell::head(name) }];
    cells.extend(strip.mean.iter().map(|share| percent(*share)));
    cells.push(percent((1.0 - busy).max(0.0)));
    Row::by_content(cells)
}

/// Something in the window as a row of the table.
fn list_row((n, entry): (usize, &[String; 3])) -> Row {
    let [at, cpu, what] = entry;
    // Two may say the same.
    let cells = vec![Cell::num(at), Cell::words(cpu), Cell { class: "code", ..Cell::words(what) }];
    Row { key: key((n, entry)), cells }
}
