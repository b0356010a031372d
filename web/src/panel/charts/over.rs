//! What happened over simulated time; each point can be asked for its slowest I/O.

use super::super::control::{state, text};
use super::super::picture::{Easel, Press};
use super::{Figure, draw_lines, end_ns, point_rows, two_sided, xs};
use crate::chart::{Chart, LEFT, RIGHT, Scale};
use crate::session::Session;
use crate::why::{Slowest, Subject};
use crate::words::{self, Say};
use leptos::prelude::*;
use mqscope_core::report::{Report, Series};
use std::ops::Range;

/// Most points of a line.
const POINTS_MAX: usize = 60;
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

/// Something over time.
#[component]
pub(super) fn OverTime() -> impl IntoView {
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

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::report::Heat;

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
}
