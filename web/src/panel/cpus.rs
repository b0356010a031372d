//! What the CPUs spend their time on: a strip for each over the last window, and the same as a table.

use super::control::{in_view, text};
use super::picture::{Easel, Fold, Picture, Press};
use super::table::{Cell, Row, Rows, on_arrows};
use crate::draw::strips::{self, StripRow};
use crate::player::{Mode, Strip};
use crate::session::{Reader, Session};
use crate::why::Subject;
use crate::words;
use leptos::html;
use leptos::prelude::*;

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    /// Length of the strips so far, ns.
    span_ns: u64,
    strips: Vec<Strip>,
    rows: Vec<StripRow>,
    /// CPUs that idled all the time.
    idle: usize,
}

/// The panel.
#[component]
pub fn Cpus() -> impl IntoView {
    let session = Session::here();
    let section: NodeRef<html::Section> = NodeRef::new();
    let shown = in_view(section, Reader::Cpus);
    // Nobody looks: nothing is read.
    let seen = Memo::new(move |last: Option<&Seen>| {
        if !shown.get() {
            return last.cloned().unwrap_or_default();
        }
        session.beat.track();
        session.side.track();
        let (span_ns, strips) =
            session.with_player(|p| (p.strip_ns().min(p.now_ns()), p.strips())).unwrap_or_default();
        let (rows, idle) = strips::rows(&strips);
        Seen { span_ns, strips, rows, idle }
    });
    let draw = move |easel: Easel| {
        let Some(mut paint) = easel.paint() else { return };
        let text = (easel.rem * 0.75) as f32;
        seen.with(|s| strips::paint(&s.rows, easel.size.0 as f32, text, &easel.palette, &mut paint));
    };
    let height = Signal::derive(move || f64::from(strips::height(seen.read().rows.len())));
    let note = text(move || {
        let (span_ns, idle, all) = seen.with(|s| (s.span_ns, s.idle, s.strips.len()));
        let span = words::span(span_ns as f64);
        match idle {
            _ if all == 0 => String::new(),
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
        seen.with(|s| s.strips.iter().map(row).collect::<Vec<_>>())
    });
    let why = Callback::new(move |cpu: u32| session.ask(Subject::Cpu(cpu as u16)));
    let asked = Signal::derive(move || match session.asked.get() {
        Some(Subject::Cpu(cpu)) => Some(cpu.into()),
        _ => None,
    });
    // A strip that several CPUs share has no one to ask.
    let press = Callback::new(move |at: Press| {
        let label =
            seen.with_untracked(|s| strips::row_at(&s.rows, at.y as f32).map(|r| r.label.parse::<u16>()));
        if let Some(Ok(cpu)) = label {
            session.ask(Subject::Cpu(cpu));
        }
    });
    let head: String =
        Mode::ALL.iter().map(|m| format!("<th scope=col class=num>{}</th>", m.word())).collect();
    let head =
        format!("<tr><th scope=col>CPU, press to ask why</th>{head}<th scope=col class=num>idle</th></tr>");
    let legend: String = Mode::ALL
        .iter()
        .map(|m| {
            let class = m.word().replace(' ', "-");
            format!("<li><i class=\"sample mode-{class}\" aria-hidden=\"true\"></i>{}</li>", m.word())
        })
        .chain([String::from("<li><i class=\"sample mode-idle\" aria-hidden=\"true\"></i>idle</li>")])
        .collect();
    view! {
        <section class="panel cpus" id="cpus" aria-labelledby="cpus-title" node_ref=section>
            <div class="panel-head">
                <h2 id="cpus-title">"CPUs"</h2>
                <p class="panel-note">{note}</p>
            </div>
                <Picture
                    class="strips"
                    label=text(move || {
                        format!(
                            "A strip for each of {} CPUs or groups of them: shares of time over the last window, \
                             newest at the right. The table below has the numbers, and asks a CPU why.",
                            seen.read().rows.len(),
                        )
                    })
                    height=height
                    draw=Callback::new(draw)
                    press
                />
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
