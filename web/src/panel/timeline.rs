//! The whole run in one strip: throughput, marks, policy changes, and the playhead as a slider.

use crate::player::MarkKind;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use std::fmt::Write;

/// Height of the strip's picture in its own units; the width is one unit a bucket.
const HEIGHT: f64 = 100.0;
/// Positions of the slider.
const STEPS: f64 = 10_000.0;

/// What the strip shows, rebuilt a few times a second at most.
#[derive(Clone, Debug, Default, PartialEq)]
struct Strip {
    width: usize,
    /// Outline of completed I/Os, and of time spent spinning, as path data.
    ios: String,
    spin: String,
    explored: f64,
    /// Marks as (share of the run, kind).
    marks: Vec<(f64, MarkKind)>,
}

/// The strip and its slider.
#[component]
pub fn TimelineBar() -> impl IntoView {
    let session = Session::here();
    let share = Memo::new(move |_| {
        let frame = session.frame.get();
        if frame.duration_ns == 0 { 0.0 } else { frame.now_ns as f64 / frame.duration_ns as f64 }
    });
    let strip = Memo::new(move |_| {
        session.beat.track();
        strip(&session)
    });
    let changes = Memo::new(move |_| {
        let (side, end) = (session.side.get(), session.frame.get().duration_ns.max(1));
        session.config.with(|c| {
            c.policy(side).changes.iter().map(|change| change.at_ns as f64 / end as f64).collect::<Vec<_>>()
        })
    });
    view! {
        <div class="timeline">
            <svg
                class="timeline-strip"
                viewBox=move || format!("0 0 {} {HEIGHT}", strip.read().width.max(1))
                preserveAspectRatio="none"
                aria-hidden="true"
            >
                <path class="strip-ios" d=move || strip.read().ios.clone() />
                <path class="strip-spin" d=move || strip.read().spin.clone() />
            </svg>
            <div class="timeline-marks" aria-hidden="true">
                <For each=move || strip.get().marks key=|(at, kind)| ((at * 1e6) as u64, *kind) let((at, kind))>
                    <i class=mark_class(kind) style:left=format!("{:.3}%", at * 100.0)></i>
                </For>
                <For each=move || changes.get() key=|at| (at * 1e9) as u64 let(at)>
                    <i class="mark-change" style:left=format!("{:.3}%", at * 100.0)></i>
                </For>
            </div>
            <div class="timeline-head" aria-hidden="true" style:left=move || format!("{:.3}%", share.get() * 100.0)></div>
            <input
                type="range"
                class="timeline-range"
                aria-label="Playhead"
                min=0
                max=STEPS
                step=1
                prop:value=move || (share.get() * STEPS).round()
                aria-valuetext=move || words::moment(session.frame.get().now_ns)
                on:input:target=move |e| {
                    if let Ok(value) = e.target().value().parse::<f64>() {
                        let end = session.frame.get_untracked().duration_ns as f64;
                        session.seek((value / STEPS * end) as u64);
                    }
                }
            />
        </div>
    }
}

fn mark_class(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Merge => "mark-merge",
        MarkKind::Requeue => "mark-requeue",
        MarkKind::TagWait => "mark-tag-wait",
        MarkKind::LockQueue => "mark-lock-queue",
    }
}

fn strip(session: &Session) -> Strip {
    session
        .with_player(|p| {
            let timeline = p.timeline();
            let end = p.duration_ns().max(1);
            let width = ((end / timeline.bucket_ns()) as usize + 1).min(timeline.buckets().len());
            let buckets = &timeline.buckets()[..width];
            let top = buckets.iter().map(|b| b.ios).max().unwrap_or(0).max(1);
            let spin_top = buckets.iter().map(|b| b.spin_ns).max().unwrap_or(0).max(timeline.bucket_ns());
            let known = (timeline.explored_ns() / timeline.bucket_ns()) as usize;
            let mut marks = Vec::new();
            for mark in timeline.marks() {
                // One of a kind in a hundredth of the run is enough to find the place.
                let at = mark.at_ns as f64 / end as f64;
                let near = |(other, kind): &(f64, MarkKind)| *kind == mark.kind && at - other < 0.01;
                if at <= 1.0 && !marks.iter().rev().take(8).any(near) {
                    marks.push((at, mark.kind));
                }
            }
            Strip {
                width,
                ios: outline(buckets.iter().take(known).map(|b| f64::from(b.ios) / f64::from(top))),
                spin: outline(buckets.iter().take(known).map(|b| b.spin_ns as f64 / spin_top as f64)),
                explored: timeline.explored_ns() as f64 / end as f64,
                marks,
            }
        })
        .unwrap_or_default()
}

/// A stepped area over shares of one.
fn outline(shares: impl Iterator<Item = f64>) -> String {
    let mut path = format!("M0 {HEIGHT}");
    let mut x = 0;
    for share in shares {
        let y = HEIGHT * (1.0 - 0.9 * share.clamp(0.0, 1.0));
        let _ = write!(path, "V{y:.1}H{}", x + 1);
        x += 1;
    }
    let _ = write!(path, "V{HEIGHT}Z");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_starts_and_ends_on_the_ground() {
        assert_eq!(outline([1.0, 0.0, 2.0].into_iter()), "M0 100V10.0H1V100.0H2V10.0H3V100Z");
        assert_eq!(outline(std::iter::empty()), "M0 100V100Z");
    }
}
