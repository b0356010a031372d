//! IOPS over time and latency percentiles of both policies, each with a table of the same numbers.

use super::control::text;
use super::table::{Cell, Row, Rows};
use crate::app::Dark;
use crate::chart::{Chart, LEFT, Line, Pixels, RIGHT, Scale};
use crate::config::Side;
use crate::draw::palette::Palette;
use crate::numbers::Numbers;
use crate::session::Session;
use crate::words::{self, Say};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use leptos_use::use_resize_observer;
use mqscope_core::report::{PERCENTILES, Report};
use std::sync::Arc;

/// Most points of a line.
const POINTS_MAX: usize = 60;

/// Both charts.
#[component]
pub fn Charts() -> impl IntoView {
    let session = Session::here();
    let both = move || session.numbers.map(|n| n.get());
    let iops = Memo::new(move |_| both().map(|n| n.map(|n| iops_line(&n.report)).unwrap_or_default()));
    let latency = Memo::new(move |_| both().map(|n| n.map(|n| latency_line(&n)).unwrap_or_default()));
    let end = Memo::new(move |_| {
        let ends =
            both().map(|n| n.map_or(0, |n| n.report.series.bucket_ns * n.report.series.ios.len() as u64));
        ends[0].max(ends[1]).max(session.frame.get().duration_ns)
    });
    let draw_iops = move |sheet: Sheet| {
        sheet.draw(&Chart {
            x: (0.0, end.get().max(1) as f64),
            x_labels: 6,
            say_x: &words::span,
            say_y: &words::short,
            scale: Scale::Linear,
            lines: &sheet.lines,
        });
    };
    let draw_latency = move |sheet: Sheet| {
        sheet.draw(&Chart {
            x: (0.0, (PERCENTILES.len() - 1) as f64),
            x_labels: PERCENTILES.len(),
            say_x: &say_percentile,
            say_y: &words::span,
            scale: Scale::Log,
            lines: &sheet.lines,
        });
    };
    let share = Memo::new(move |_| {
        let end = end.get().max(1);
        (session.frame.get().now_ns as f64 / end as f64).min(1.0)
    });
    let head = text(move || format!("calc({LEFT}rem + (100% - {}rem) * {:.4})", LEFT + RIGHT, share.get()));
    view! {
        <section class="charts" aria-labelledby="charts-title">
            <h2 id="charts-title" class="hidden-text">"Charts"</h2>
            <Figure
                title="I/Os per second over simulated time"
                label="I/Os per second over simulated time, one line for each policy"
                lines=iops
                draw=Callback::new(draw_iops)
                head=head
                table=("Time", words::span, words::short)
            />
            <Figure
                title="Completion latency by percentile"
                label="Completion latency by percentile, logarithmic, one line for each policy"
                lines=latency
                draw=Callback::new(draw_latency)
                table=("Percentile", say_percentile, words::span)
            />
        </section>
    }
}

/// A chart with its legend and its table.
#[component]
fn Figure(
    title: &'static str,
    label: &'static str,
    lines: Memo<[Vec<(f64, f64)>; 2]>,
    draw: Callback<Sheet>,
    /// Where the playhead is, if the chart is over time.
    #[prop(optional)]
    head: Option<Signal<String>>,
    /// What the first column is called, and how its cells and the others are said.
    table: (&'static str, Say, Say),
) -> impl IntoView {
    let (name, say_x, say_y) = table;
    view! {
        <figure class="panel chart">
            <figcaption>
                <span class="chart-title">{title}</span>
                <Legend />
            </figcaption>
            <div class="chart-box">
                <ChartCanvas lines draw label />
                {head.map(|head| view! { <div class="playhead" aria-hidden="true" style:left=head></div> })}
            </div>
            <details class="more">
                <summary>"The same as a table"</summary>
                <PointTable head=name lines say_x say_y />
            </details>
        </figure>
    }
}

fn say_percentile(x: f64) -> String {
    PERCENTILES.get(x.round() as usize).filter(|_| x.fract() == 0.0).map(percent).unwrap_or_default()
}

fn percent(p: &f64) -> String {
    match *p {
        100.0 => String::from("max"),
        p => format!("{p}"),
    }
}

/// Completed I/Os as a rate, the last bucket left out because it may be cut short.
fn iops_line(report: &Report) -> Vec<(f64, f64)> {
    let series = &report.series;
    let whole = series.ios.len().saturating_sub(1);
    if series.bucket_ns == 0 || whole == 0 {
        return Vec::new();
    }
    let joined = whole.div_ceil(POINTS_MAX);
    let width = (series.bucket_ns * joined as u64) as f64;
    series.ios[..whole]
        .chunks_exact(joined)
        .enumerate()
        .map(|(i, ios)| {
            let sum: u64 = ios.iter().map(|n| u64::from(*n)).sum();
            ((i as f64 + 0.5) * width, sum as f64 / width * 1e9)
        })
        .collect()
}

fn latency_line(numbers: &Arc<Numbers>) -> Vec<(f64, f64)> {
    let latency = &numbers.report.total.clat;
    if latency.count == 0 {
        return Vec::new();
    }
    latency.percentiles_ns.iter().enumerate().map(|(i, ns)| (i as f64, *ns as f64)).collect()
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

/// The page's text size, CSS pixels.
fn root_size() -> f64 {
    let root = document().document_element();
    let style = root.and_then(|root| window().get_computed_style(&root).ok().flatten());
    let size = style.and_then(|s| s.get_property_value("font-size").ok());
    size.and_then(|s| s.trim_end_matches("px").parse().ok()).unwrap_or(16.0)
}

/// What a chart is drawn on, and what is drawn.
struct Sheet {
    lines: [Line; 2],
    canvas: web_sys::HtmlCanvasElement,
    size: (f64, f64),
    palette: Palette,
}

impl Sheet {
    fn draw(&self, chart: &Chart) {
        let ratio = window().device_pixel_ratio().clamp(0.5, 4.0);
        chart.draw(self.canvas.clone(), self.size, Pixels { ratio, rem: root_size() }, &self.palette);
    }
}

/// A canvas that follows its box, the colours and the numbers.
#[component]
fn ChartCanvas(
    lines: Memo<[Vec<(f64, f64)>; 2]>,
    draw: Callback<Sheet>,
    label: &'static str,
) -> impl IntoView {
    let node: NodeRef<Div> = NodeRef::new();
    let canvas: NodeRef<Canvas> = NodeRef::new();
    let dark = expect_context::<Dark>().0;
    let size = RwSignal::new((0.0, 0.0));
    let _ = use_resize_observer(node, move |entries, _| {
        let rect = entries[0].content_rect();
        size.set((rect.width(), rect.height()));
    });
    Effect::new(move |_| {
        let (size, dark) = (size.get(), dark.get());
        let [a, b] = lines.get();
        let lines = [Line { points: a, broken: false }, Line { points: b, broken: true }];
        if let Some(canvas) = canvas.get() {
            let palette = if dark { Palette::DARK } else { Palette::LIGHT };
            draw.run(Sheet { lines, canvas, size, palette });
        }
    });
    view! {
        <div class="chart-canvas" node_ref=node>
            <canvas node_ref=canvas role="img" aria-label=label></canvas>
        </div>
    }
}

/// The points of both lines, side by side.
#[component]
fn PointTable(
    head: &'static str,
    lines: Memo<[Vec<(f64, f64)>; 2]>,
    say_x: Say,
    say_y: Say,
) -> impl IntoView {
    let rows = Signal::derive(move || {
        let [a, b] = lines.get();
        let y = |line: &[(f64, f64)], i: usize| line.get(i).map_or_else(|| String::from("–"), |p| say_y(p.1));
        let row = |i: usize| {
            let x = a.get(i).or(b.get(i)).map_or(f64::NAN, |p| p.0);
            Row::by_content(vec![Cell::head(say_x(x)), Cell::num(y(&a, i)), Cell::num(y(&b, i))])
        };
        (0..a.len().max(b.len())).map(row).collect::<Vec<_>>()
    });
    let titles = format!(
        "<tr><th scope=col>{head}</th><th scope=col class=num>A</th><th scope=col class=num>B</th></tr>"
    );
    view! {
        <div class="scroll" tabindex="0" role="group" aria-label=format!("Table by {}", head.to_lowercase())>
            <table>
                <thead inner_html=titles></thead>
                <Rows rows />
            </table>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::report::Series;

    #[test]
    fn a_rate_is_counted_over_whole_buckets() {
        let series = Series { bucket_ns: 1_000_000, ios: vec![1_000, 2_000, 7], ..Series::default() };
        let line = iops_line(&Report { series, ..Report::default() });
        assert_eq!(line, [(500_000.0, 1e6), (1_500_000.0, 2e6)]);
        assert!(iops_line(&Report::default()).is_empty());
        let series = Series { bucket_ns: 1_000, ios: vec![1; 1_000], ..Series::default() };
        let line = iops_line(&Report { series, ..Report::default() });
        assert!(line.len() <= POINTS_MAX && line.iter().all(|p| (p.1 - 1e6).abs() < 1.0));
    }
}
