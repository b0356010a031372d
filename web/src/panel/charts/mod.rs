//! Charts of both policies, each with a table of the same numbers: what happened over time, and latencies.

mod latency;
mod over;

use super::control::{Choice, state, text};
use super::picture::{Easel, Fold, Picture, Press};
use super::table::{Cell, Row, Rows, on_arrows};
use crate::chart::{Chart, Line, Pixels};
use crate::config::Side;
use crate::numbers::Numbers;
use crate::session::Session;
use crate::words::Say;
use latency::Latencies;
use leptos::prelude::*;
use over::OverTime;
use std::sync::Arc;

/// Both charts.
#[component]
pub fn Charts() -> impl IntoView {
    view! {
        <section class="charts" aria-labelledby="charts-title">
            <h2 id="charts-title" class="hidden-text">"Charts"</h2>
            <OverTime />
            <Latencies />
        </section>
    }
}

type Both = [Option<Arc<Numbers>>; 2];

/// A chart with a choice of what it shows, its legend and its table.
#[component]
fn Figure(
    id: &'static str,
    /// What the choice is called.
    name: &'static str,
    /// What there is to choose from.
    options: Vec<&'static str>,
    chosen: RwSignal<usize>,
    label: Signal<String>,
    draw: Callback<Easel>,
    /// Whether it has a line for each policy.
    lines: Signal<bool>,
    /// Where the playhead is, if the chart is over time.
    #[prop(optional)]
    playhead: Option<Signal<String>>,
    /// Whether the table is open.
    open: RwSignal<bool>,
    /// Its head, as HTML.
    head: Signal<String>,
    /// Its rows.
    rows: Signal<Vec<Row>>,
    /// What pressing the picture does.
    #[prop(optional)]
    press: Option<Callback<Press>>,
    /// What pressing the head of a row does, and which one is pressed.
    #[prop(optional)]
    ask: Option<(Callback<u32>, Signal<Option<u32>>)>,
) -> impl IntoView {
    let options = options.iter().enumerate().map(|(i, o)| (i.to_string(), String::from(*o))).collect();
    let on = Callback::new(move |i: String| chosen.set(i.parse().unwrap_or_default()));
    let picture = match press {
        Some(press) => view! { <Picture class="chart-canvas" label draw press /> },
        None => view! { <Picture class="chart-canvas" label draw /> },
    };
    let body = match ask {
        Some((ask, asked)) => view! { <Rows rows on_request=ask selected=asked /> },
        None => view! { <Rows rows /> },
    };
    view! {
        <figure class="panel chart">
            <figcaption>
                <span class="field inline">
                    <label class="hidden-text" for=id>{name}</label>
                    <Choice id=id.into() options value=text(move || chosen.get().to_string()) on />
                </span>
                <span hidden=state(move || !lines.get())>
                    <Legend />
                </span>
            </figcaption>
            <div class="chart-box">
                {picture}
                {playhead.map(|at| view! { <div class="playhead" aria-hidden="true" style:left=at></div> })}
            </div>
            <Fold summary="The same as a table" open>
                <div class="scroll" tabindex="0" role="group" aria-label=format!("Table: {}", name.to_lowercase()) on:keydown=on_arrows>
                    <table>
                        <thead inner_html=head></thead>
                        {body}
                    </table>
                </div>
            </Fold>
        </figure>
    }
}

#[component]
fn Legend() -> impl IntoView {
    let session = Session::here();
    let key = move |side: Side| {
        let words = text(move || format!(": {}", session.config.with(|c| c.label(side))));
        view! {
            <span class=format!("key {}", side.letter())>
                <i aria-hidden="true"></i>
                <span>{side.letter()} <span class="wide-only">{words}</span></span>
            </span>
        }
    };
    view! { <span class="chart-legend">{Side::BOTH.map(key).collect_view()}</span> }
}

/// Draws two lines by plotters.
fn draw_lines(easel: &Easel, [a, b]: [Vec<(f64, f64)>; 2], chart: &Chart) {
    let lines = [Line { points: a, broken: false }, Line { points: b, broken: true }];
    let pixels = Pixels { ratio: easel.ratio, rem: easel.rem };
    Chart { lines: &lines, ..*chart }.draw(easel.canvas.clone(), easel.size, pixels, &easel.palette);
}

/// End of the longer run, ns.
fn end_ns(both: &Both) -> u64 {
    let ends = both.iter().flatten().map(|n| n.report.series.bucket_ns * n.report.series.ios.len() as u64);
    ends.max().unwrap_or(0)
}

fn two_sided(head: &str) -> String {
    format!("<tr><th scope=col>{head}</th><th scope=col class=num>A</th><th scope=col class=num>B</th></tr>")
}

/// The points of both lines, side by side by their x.
fn point_rows(lines: &[Vec<(f64, f64)>; 2], say_x: Say, say_y: Say) -> Vec<Row> {
    let [a, b] = lines;
    let at = |line: &[(f64, f64)], x: f64| {
        line.iter().find(|p| p.0 == x).map_or_else(|| String::from("–"), |p| say_y(p.1))
    };
    let row = |x: f64| Row::by_content(vec![Cell::head(say_x(x)), Cell::num(at(a, x)), Cell::num(at(b, x))]);
    xs(lines).into_iter().map(row).collect()
}

/// Where both lines have points, in order.
fn xs([a, b]: &[Vec<(f64, f64)>; 2]) -> Vec<f64> {
    let mut xs: Vec<f64> = a.iter().chain(b).map(|p| p.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    #[test]
    fn points_of_both_sides_meet_by_their_x() {
        let rows = point_rows(
            &[vec![(1.0, 5.0), (3.0, 7.0)], vec![(1.0, 6.0), (2.0, 8.0)]],
            words::short,
            words::short,
        );
        let texts: Vec<Vec<&str>> =
            rows.iter().map(|r| r.cells.iter().map(|c| c.text.as_str()).collect()).collect();
        assert_eq!(texts, [["1", "5", "6"], ["2", "–", "8"], ["3", "7", "–"]]);
    }
}
