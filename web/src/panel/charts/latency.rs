//! Latencies, and the phases that they are made of.

use super::super::control::{state, text};
use super::super::picture::Easel;
use super::super::table::{Cell, Row};
use super::{Both, Figure, draw_lines, end_ns, point_rows, two_sided};
use crate::chart::{Chart, LEFT, RIGHT, Scale};
use crate::draw::paint::Rect;
use crate::draw::plots::{self, PhaseList};
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::report::{Heat, PERCENTILES, Phases, Report};

/// Columns of the table of a heat map.
const HEAT_CELLS: usize = 10;

/// What the chart of latencies shows.
const LATENCY: [&str; 4] = [
    "Completion latency by percentile",
    "Latency over time, A",
    "Latency over time, B",
    "Phases of a request (btt)",
];
const PERCENTILE: usize = 0;
const PHASES: usize = 3;

/// Latencies, and the phases that they are made of.
#[component]
pub(super) fn Latencies() -> impl IntoView {
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

fn say_percentile(x: f64) -> String {
    PERCENTILES.get(x.round() as usize).filter(|_| x.fract() == 0.0).map(percent).unwrap_or_default()
}

fn percent(p: &f64) -> String {
    match *p {
        100.0 => String::from("max"),
        p => format!("{p}"),
    }
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
}
