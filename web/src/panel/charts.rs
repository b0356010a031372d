//! Charts of both policies, each with a table of the same numbers: what happened over time, and latencies.

use super::control::{Choice, state, text};
use super::picture::{Easel, Fold, Picture, Press};
use super::table::{Cell, Row, Rows, on_arrows};
use crate::chart::{Chart, LEFT, Line, Pixels, RIGHT, Scale};
use crate::config::Side;
use crate::draw::paint::Rect;
use crate::draw::plots::{self, PhaseList};
use crate::numbers::Numbers;
use crate::session::Session;
use crate::why::{Slowest, Subject};
use crate::words::{self, Say};
use leptos::prelude::*;
use mqscope_core::report::{Heat, PERCENTILES, Phases, Report, Series};
use std::ops::Range;
use std::sync::Arc;

/// Most points of a line.
const POINTS_MAX: usize = 60;
/// Columns of the table of a heat map.
const HEAT_CELLS: usize = 10;

/// Something over simulated time: its name, how a value is said, and its value over some buckets.
struct Over {
    name: &'static str,
    say: Say,
    value: fn(&Series, Range<usize>) -> f64,
}

/// Length of some buckets, s.
fn seconds(series: &Series, buckets: &Range<usize>) -> f64 {
    (series.bucket_ns * buckets.len() as u64) as f64 / 1e9
}

fn sum<T: Copy + Into<u64>>(values: &[T], buckets: &Range<usize>) -> f64 {
    values.get(buckets.clone()).unwrap_or(&[]).iter().map(|n| (*n).into()).sum::<u64>() as f64
}

const OVER: [Over; 6] = [
    Over { name: "I/Os per second", say: words::short, value: |s, b| sum(&s.ios, &b) / seconds(s, &b) },
    Over { name: "Bandwidth", say: words::bandwidth, value: |s, b| sum(&s.bytes, &b) / seconds(s, &b) },
    // NaN, which is no point of a line, where no I/O ended.
    Over { name: "Mean latency", say: words::span, value: |s, b| sum(&s.lat_sum_ns, &b) / sum(&s.ios, &b) },
    Over {
        name: "Requests with the device",
        say: words::short,
        value: |s, b| s.in_flight.get(b.clone()).map_or(f64::NAN, |f| f.iter().sum::<f64>() / b.len() as f64),
    },
    Over {
        name: "CPUs spinning for locks",
        say: words::short,
        value: |s, b| sum(&s.spin_ns, &b) / 1e9 / seconds(s, &b),
    },
    Over {
        name: "Dirty and under writeback",
        say: words::bytes,
        value: |s, b| s.dirty_bytes.get(b.end - 1).map_or(f64::NAN, |bytes| *bytes as f64),
    },
];

/// What the chart of latencies shows.
const LATENCY: [&str; 4] = [
    "Completion latency by percentile",
    "Latency over time, A",
    "Latency over time, B",
    "Phases of a request (btt)",
];
const PERCENTILE: usize = 0;
const PHASES: usize = 3;

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

/// Something over time.
#[component]
fn OverTime() -> impl IntoView {
    let session = Session::here();
    let chosen = RwSignal::new(0usize);
    let both = move || session.numbers.map(|n| n.get());
    let lines = Memo::new(move |_| {
        let over = &OVER[chosen.get()];
        both().map(|n| n.map(|n| line(&n.report, over.value)).unwrap_or_default())
    });
    let end = Memo::new(move |_| end_ns(&both()).max(session.frame.get().duration_ns));
    let draw = move |easel: Easel| {
        draw_lines(
            &easel,
            lines.get(),
            &Chart {
                x: (0.0, end.get().max(1) as f64),
                x_labels: 6,
                say_x: &words::span,
                say_y: &OVER[chosen.get()].say,
                scale: Scale::Linear,
                lines: &[],
            },
        );
    };
    let share = Memo::new(move |_| {
        let end = end.get().max(1);
        (session.frame.get().now_ns as f64 / end as f64).min(1.0)
    });
    let head = text(move || format!("calc({LEFT}rem + (100% - {}rem) * {:.4})", LEFT + RIGHT, share.get()));
    let ask = Callback::new(move |point: u32| {
        let width = both()[session.side.get_untracked().index()].as_ref().map_or(0, |n| point_ns(&n.report));
        let from_ns = u64::from(point) * width;
        if width > 0 {
            session.ask(Subject::Point { from_ns, to_ns: from_ns + width, slowest: Slowest::Sought });
        }
    });
    let asked = Signal::derive(move || match session.asked.get() {
        Some(Subject::Point { from_ns, to_ns, .. }) => Some((from_ns / (to_ns - from_ns).max(1)) as u32),
        _ => None,
    });
    let press = Callback::new(move |at: Press| {
        let plot = (at.width - (LEFT + RIGHT) * at.rem).max(1.0);
        let ns = ((at.x - LEFT * at.rem) / plot).clamp(0.0, 1.0) * end.get_untracked() as f64;
        let width = both()[session.side.get_untracked().index()].as_ref().map_or(0, |n| point_ns(&n.report));
        ask.run((ns as u64).checked_div(width).unwrap_or(0) as u32);
    });
    let open = RwSignal::new(false);
    let rows = Signal::derive(move || {
        if !open.get() {
            return Vec::new();
        }
        let width = both().iter().flatten().map(|n| point_ns(&n.report)).max().unwrap_or(0).max(1);
        let mut rows = point_rows(&lines.get(), words::span, OVER[chosen.get()].say);
        for (row, x) in rows.iter_mut().zip(xs(&lines.get())) {
            row.cells[0].rq = Some((x / width as f64) as u32);
        }
        rows
    });
    view! {
        <Figure
            id="chart-over"
            name="Over time"
            options=OVER.iter().map(|o| o.name).collect()
            chosen
            label=text(move || format!("{} over simulated time, one line for each policy", OVER[chosen.get()].name))
            draw=Callback::new(draw)
            lines=state(|| true)
            playhead=head
            open
            head=text(|| two_sided("Time, press for its slowest I/O"))
            rows
            press
            ask=(ask, asked)
        />
    }
}

/// Latencies, and the phases that they are made of.
#[component]
fn Latencies() -> impl IntoView {
    let session = Session::here();
    let chosen = RwSignal::new(PERCENTILE);
    let both = move || session.numbers.map(|n| n.get());
    let draw = move |easel: Easel| {
        let (both, size) = (both(), easel.size);
        let (rem, palette) = (easel.rem as f32, easel.palette);
        let (width, height) = (size.0 as f32, size.1 as f32);
        match chosen.get() {
            PERCENTILE => draw_lines(
                &easel,
                both.map(|n| n.map(|n| latency_line(&n.report)).unwrap_or_default()),
                &Chart {
                    x: (0.0, (PERCENTILES.len() - 1) as f64),
                    x_labels: PERCENTILES.len(),
                    say_x: &say_percentile,
                    say_y: &words::span,
                    scale: Scale::Log,
                    lines: &[],
                },
            ),
            PHASES => {
                let Some(mut paint) = easel.paint() else { return };
                let sides = both.map(|n| n.map(|n| plots::phases(&mean_phases(&n.report))));
                let area = Rect::new(0.0, 0.0, width, height).inset(rem * 0.25);
                plots::phase_bars(&sides, area, rem * 0.75, &palette, &mut paint);
            }
            side => {
                let Some(mut paint) = easel.paint() else { return };
                let Some((map, span)) = heat_of(&both, side - 1) else { return };
                let left = LEFT as f32 * rem;
                let plot = Rect::new(
                    left,
                    rem * 0.625,
                    (width - left - RIGHT as f32 * rem).max(1.0),
                    (height - rem * 2.25).max(1.0),
                );
                plots::heat(&map, span, plot, end_ns(&both) as f64, rem * 0.75, &palette, &mut paint);
            }
        }
    };
    let open = RwSignal::new(false);
    let rows = Signal::derive(move || {
        let (chosen, both) = (chosen.get(), both());
        match chosen {
            _ if !open.get() => Vec::new(),
            PERCENTILE => {
                let lines = both.map(|n| n.map(|n| latency_line(&n.report)).unwrap_or_default());
                point_rows(&lines, say_percentile, words::span)
            }
            PHASES => phase_rows(&both),
            side => both[side - 1].as_ref().map(|n| heat_rows(&n.report.series.heat)).unwrap_or_default(),
        }
    });
    let head = text(move || match chosen.get() {
        PERCENTILE => two_sided("Percentile"),
        PHASES => two_sided("Phase"),
        side => heat_head(both()[side - 1].as_ref().map(|n| &n.report.series.heat)),
    });
    view! {
        <Figure
            id="chart-latency"
            name="Latency"
            options=LATENCY.to_vec()
            chosen
            label=text(move || format!("{}. The table below has the numbers.", LATENCY[chosen.get()]))
            draw=Callback::new(draw)
            lines=state(move || chosen.get() == PERCENTILE)
            open
            head
            rows
        />
    }
}

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

fn say_percentile(x: f64) -> String {
    PERCENTILES.get(x.round() as usize).filter(|_| x.fract() == 0.0).map(percent).unwrap_or_default()
}

fn percent(p: &f64) -> String {
    match *p {
        100.0 => String::from("max"),
        p => format!("{p}"),
    }
}

/// Buckets that are over, and how many of them make a point.
fn joined(report: &Report) -> (usize, usize) {
    let series = &report.series;
    let whole = (report.end_ns.checked_div(series.bucket_ns).unwrap_or(0) as usize).min(series.ios.len());
    (whole, whole.div_ceil(POINTS_MAX).max(1))
}

/// Time that a point stands for, ns.
fn point_ns(report: &Report) -> u64 {
    report.series.bucket_ns * joined(report).1 as u64
}

/// A value over time: buckets that are over, joined to at most [`POINTS_MAX`] points.
fn line(report: &Report, value: fn(&Series, Range<usize>) -> f64) -> Vec<(f64, f64)> {
    let series = &report.series;
    if series.bucket_ns == 0 {
        return Vec::new();
    }
    let (whole, joined) = joined(report);
    let width = point_ns(report) as f64;
    let point = |i: usize| ((i as f64 + 0.5) * width, value(series, i * joined..(i + 1) * joined));
    (0..whole / joined).map(point).filter(|(_, y)| y.is_finite()).collect()
}

fn latency_line(report: &Report) -> Vec<(f64, f64)> {
    let latency = &report.total.clat;
    if latency.count == 0 {
        return Vec::new();
    }
    latency.percentiles_ns.iter().enumerate().map(|(i, ns)| (i as f64, *ns as f64)).collect()
}

/// Phases of all disks, each by its requests.
fn mean_phases(report: &Report) -> Phases {
    let all: f64 = report.queues.iter().map(|q| q.requests_per_s).sum();
    let mean = |f: fn(&Phases) -> f64| {
        let weighted: f64 = report.queues.iter().map(|q| f(&q.phases) * q.requests_per_s).sum();
        if all > 0.0 { weighted / all } else { 0.0 }
    };
    Phases {
        q2g_ns: mean(|p| p.q2g_ns),
        g2i_ns: mean(|p| p.g2i_ns),
        i2d_ns: mean(|p| p.i2d_ns),
        d2c_ns: mean(|p| p.d2c_ns),
        q2c_ns: mean(|p| p.q2c_ns),
    }
}

/// The heat map of a side, and the classes of both.
fn heat_of(both: &Both, side: usize) -> Option<(Heat, plots::Span)> {
    let maps = both.iter().flatten().map(|n| &n.report.series.heat);
    let span = plots::span(maps)?;
    Some((both[side].as_ref()?.report.series.heat.clone(), span))
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

fn phase_rows(both: &Both) -> Vec<Row> {
    let sides = [0, 1].map(|side| both[side].as_ref().map(|n| plots::phases(&mean_phases(&n.report))));
    let names = plots::phases(&Phases::default());
    let row = |(i, (name, what, _)): (usize, &(&str, &str, f64))| {
        let cell = |side: &Option<PhaseList>| {
            Cell::num(side.map_or_else(|| String::from("–"), |phases| words::span(phases[i].2)))
        };
        let head = Cell { note: String::from(*what), ..Cell::head(*name) };
        Row::by_content(vec![head, cell(&sides[0]), cell(&sides[1])])
    };
    names.iter().enumerate().map(row).collect()
}

/// Columns of the heat map joined to those of its table.
fn heat_groups(heat: &Heat) -> usize {
    heat.counts.first().map_or(1, |row| row.len().div_ceil(HEAT_CELLS).max(1))
}

fn heat_head(heat: Option<&Heat>) -> String {
    let Some(heat) = heat else { return String::new() };
    let (joined, columns) = (heat_groups(heat), heat.counts.first().map_or(0, Vec::len));
    let from = |group: usize| words::span((heat.column_ns * (group * joined) as u64) as f64);
    let cells: String = (0..columns.div_ceil(joined))
        .map(|group| format!("<th scope=col class=num>from {}</th>", from(group)))
        .collect();
    format!("<tr><th scope=col>Latency from</th>{cells}</tr>")
}

/// I/Os of each class, the slowest first, in ten parts of the run.
fn heat_rows(heat: &Heat) -> Vec<Row> {
    let joined = heat_groups(heat);
    let row = |(low, counts): (&u64, &Vec<u32>)| {
        let mut cells = vec![Cell::head(words::span(*low as f64))];
        let sums = counts.chunks(joined).map(|part| part.iter().map(|n| u64::from(*n)).sum::<u64>());
        cells.extend(sums.map(|n| Cell::num(words::grouped(n))));
        Row::by_content(cells)
    };
    heat.low_ns.iter().zip(&heat.counts).rev().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(series: Series) -> Report {
        let end_ns = series.bucket_ns * series.ios.len() as u64;
        Report { series, end_ns, ..Report::default() }
    }

    #[test]
    fn a_rate_is_counted_over_whole_buckets() {
        let iops = OVER[0].value;
        let series = Series { bucket_ns: 1_000_000, ios: vec![1_000, 2_000, 7], ..Series::default() };
        let cut_short = Report { end_ns: 2_500_000, ..report(series) };
        assert_eq!(line(&cut_short, iops), [(500_000.0, 1e6), (1_500_000.0, 2e6)]);
        assert!(line(&Report::default(), iops).is_empty());
        let series = Series { bucket_ns: 1_000, ios: vec![1; 1_000], ..Series::default() };
        let line = line(&report(series), iops);
        assert!(line.len() <= POINTS_MAX && line.iter().all(|p| (p.1 - 1e6).abs() < 1.0));
    }

    #[test]
    fn every_chart_over_time_has_its_own_numbers() {
        let series = Series {
            bucket_ns: 1_000_000,
            ios: vec![10, 0],
            bytes: vec![40_960, 0],
            lat_sum_ns: vec![50_000, 0],
            dirty_bytes: vec![],
            in_flight: vec![3.0, 1.0],
            spin_ns: vec![500_000, 0],
            heat: Heat::default(),
        };
        let lines: Vec<_> = OVER.iter().map(|over| line(&report(series.clone()), over.value)).collect();
        let values: Vec<Vec<f64>> = lines.iter().map(|l| l.iter().map(|p| p.1).collect()).collect();
        let expected: [&[f64]; 6] =
            [&[1e4, 0.0], &[40_960e3, 0.0], &[5_000.0], &[3.0, 1.0], &[0.5, 0.0], &[]];
        assert_eq!(values, expected);
    }

    #[test]
    fn the_table_of_a_heat_map_loses_no_io() {
        let counts = vec![(0..50).collect::<Vec<u32>>(), vec![1; 50]];
        let heat = Heat { column_ns: 1_000, low_ns: vec![4_096, 6_144], counts };
        let rows = heat_rows(&heat);
        assert_eq!(rows.len(), 2);
        let sum = |row: &Row| row.cells[1..].iter().map(|c| c.text.parse::<u64>().unwrap_or(0)).sum::<u64>();
        assert_eq!((sum(&rows[0]), sum(&rows[1])), (50, 49 * 25), "the slowest class first");
        assert_eq!(rows[0].cells.len(), HEAT_CELLS + 1);
        assert_eq!(heat_head(Some(&heat)).matches("<th").count(), HEAT_CELLS + 1);
    }

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
