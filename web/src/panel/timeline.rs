//! The whole run in one strip: throughput, marks, policy changes, and the playhead as a slider.

use super::control::text;
use crate::player::{Mark, MarkKind, Player};
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use std::fmt::Write;

/// Height of the strip's picture in its own units; the width is one unit a bucket.
const HEIGHT: f64 = 100.0;
/// Positions of the slider.
const STEPS: f64 = 10_000.0;

/// The strip and its slider.
#[component]
pub fn TimelineBar() -> impl IntoView {
    let session = Session::here();
    let share = move || {
        let frame = session.frame.get();
        if frame.duration_ns == 0 { 0.0 } else { frame.now_ns as f64 / frame.duration_ns as f64 }
    };
    // Rebuilt a few times a second at most; equal pictures are not set again.
    let picture = Memo::new(move |_| {
        session.beat.track();
        let side = session.side.get();
        let changes: Vec<u64> =
            session.config.with(|c| c.policy(side).changes.iter().map(|c| c.at_ns).collect());
        session.with_player(|p| picture(p, &changes)).unwrap_or_default()
    });
    let sought = move |value: String| {
        if let Ok(value) = value.parse::<f64>() {
            session.seek((value / STEPS * session.frame.get_untracked().duration_ns as f64) as u64);
        }
    };
    view! {
        <div class="timeline">
            <div class="timeline-picture" aria-hidden="true" inner_html=text(move || picture.get())></div>
            <div
                class="timeline-head"
                aria-hidden="true"
                style:left=text(move || format!("{:.3}%", share() * 100.0))
            ></div>
            <input
                type="range"
                class="timeline-range"
                aria-label="Playhead"
                min="0"
                max=format!("{STEPS}")
                prop:value=text(move || format!("{:.0}", share() * STEPS))
                aria-valuetext=text(move || words::moment(session.frame.get().now_ns))
                on:input:target=move |e| sought(e.target().value())
            />
        </div>
    }
}

/// What the marks in the strip mean.
#[component]
pub fn TimelineLegend() -> impl IntoView {
    let session = Session::here();
    let legend = Memo::new(move |_| {
        session.beat.track();
        session.side.track();
        session.with_player(|p| legend(p.timeline().marks())).unwrap_or_default()
    });
    view! {
        <ul
            class="legend timeline-marks"
            aria-label="Marks of the timeline"
            inner_html=text(move || legend.get())
        ></ul>
    }
}

/// The kinds of marks that there are.
fn legend(marks: &[Mark]) -> String {
    let there = |kind: &MarkKind| marks.iter().any(|m| m.kind == *kind);
    let item = |kind: MarkKind| {
        format!("<li><i class=\"{}\" aria-hidden=\"true\"></i>{}</li>", mark_class(kind), kind.words())
    };
    MarkKind::ALL.into_iter().filter(there).map(item).collect()
}

fn mark_class(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Merge => "mark-merge",
        MarkKind::Requeue => "mark-requeue",
        MarkKind::TagWait => "mark-tag-wait",
        MarkKind::LockQueue => "mark-lock-queue",
        MarkKind::FileLock => "mark-file-lock",
        MarkKind::Throttle => "mark-throttle",
        MarkKind::Broken => "mark-broken",
        MarkKind::Deadline => "mark-deadline",
        MarkKind::Idle => "mark-idle",
    }
}

/// Throughput and time spent spinning, marks and policy changes, as HTML made of numbers only.
fn picture(p: &Player, changes: &[u64]) -> String {
    let timeline = p.timeline();
    let end = p.duration_ns().max(1);
    let width = ((end / timeline.bucket_ns()) as usize + 1).min(timeline.buckets().len()).max(1);
    let buckets = &timeline.buckets()[..width];
    let top = buckets.iter().map(|b| b.ios).max().unwrap_or(0).max(1);
    let spin_top = buckets.iter().map(|b| b.spin_ns).max().unwrap_or(0).max(timeline.bucket_ns());
    let known = (timeline.explored_ns() / timeline.bucket_ns()) as usize;
    let ios = outline(buckets.iter().take(known).map(|b| f64::from(b.ios) / f64::from(top)));
    let spin = outline(buckets.iter().take(known).map(|b| b.spin_ns as f64 / spin_top as f64));
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\">\
         <path class=\"strip-ios\" d=\"{ios}\"/><path class=\"strip-spin\" d=\"{spin}\"/></svg>"
    );
    let mut mark = |class: &str, at: f64| {
        let _ = write!(out, "<i class=\"{class}\" style=\"left:{:.3}%\"></i>", at * 100.0);
    };
    let mut shown: Vec<(f64, MarkKind)> = Vec::new();
    for m in timeline.marks() {
        // One of a kind in a fiftieth of the run is enough to find the place.
        let at = m.at_ns as f64 / end as f64;
        let near = |(other, kind): &(f64, MarkKind)| *kind == m.kind && at - other < 0.02;
        if at <= 1.0 && !shown.iter().rev().take(8).any(near) {
            shown.push((at, m.kind));
            mark(mark_class(m.kind), at);
        }
    }
    for at in changes {
        mark("mark-change", *at as f64 / end as f64);
    }
    out
}

/// A stepped area over shares of one.
fn outline(shares: impl Iterator<Item = f64>) -> String {
    let mut path = format!("M0 {HEIGHT}");
    for (x, share) in shares.enumerate() {
        let y = HEIGHT * (1.0 - 0.9 * share.clamp(0.0, 1.0));
        let _ = write!(path, "V{y:.1}H{}", x + 1);
    }
    let _ = write!(path, "V{HEIGHT}Z");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_names_the_kinds_that_there_are_and_no_two_look_alike() {
        let of = |kind| Mark { at_ns: 1, kind };
        let text = legend(&[of(MarkKind::Idle), of(MarkKind::Merge), of(MarkKind::Idle)]);
        assert_eq!(text.matches("<li>").count(), 2);
        assert!(text.contains("mark-idle") && text.contains(MarkKind::Merge.words()));
        assert_eq!(legend(&[]), "");
        let mut classes: Vec<&str> = MarkKind::ALL.into_iter().map(mark_class).collect();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes.len(), MarkKind::ALL.len());
    }

    #[test]
    fn an_outline_starts_and_ends_on_the_ground() {
        assert_eq!(outline([1.0, 0.0, 2.0].into_iter()), "M0 100V10.0H1V100.0H2V10.0H3V100Z");
        assert_eq!(outline(std::iter::empty()), "M0 100V100Z");
    }
}
