//! A rotating disk: platter and head, where the queued commands lie, the run under the head, what waits in the write
//! cache.

use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::{Palette, Tone};
use mqscope_core::device::{HddView, HddWork, Spot};
use std::f32::consts::TAU;

/// Radius of the innermost track against the outermost.
const INNER: f32 = 0.4;
/// Points of an arc over a whole turn.
const ARC_POINTS: f32 = 32.0;
/// A platter smaller than this shows only its head, CSS pixels.
const DETAIL_MIN: f32 = 14.0;

/// The disk by itself: platter, bar of its cache, a word for what it is at.
pub(super) fn whole(disk: &HddView, area: Rect, t: f32, p: &Palette, paint: &mut impl Paint) {
    let mut area = area;
    let words = area.take_bottom(t * 1.3);
    let cache = area.take_bottom(t * 0.6);
    if area.w.min(area.h) / 2.0 - 1.0 < t {
        return;
    }
    platter(disk, area, p, paint);
    let share = (disk.dirty_bytes as f32 / disk.dirty_limit.max(1) as f32).min(1.0);
    let bar = cache.inset(cache.h * 0.2);
    paint.fill(bar, bar.h * 0.4, p.sunken, 1.0);
    paint.fill(Rect { w: bar.w * share, ..bar }, bar.h * 0.4, p.tone(Tone::Queued), 1.0);
    let face = Type { size: t * 0.78, mono: false, strong: false };
    let text = face.fit(word(disk.work), words.w);
    paint.text(&text, words.centre(), Align::Centre, face, p.ink_3, 1.0);
}

/// Platter and head; on a small one no dots.
pub(super) fn platter(disk: &HddView, area: Rect, p: &Palette, paint: &mut impl Paint) {
    let (cx, cy) = area.centre();
    let r = area.w.min(area.h) / 2.0 - 1.0;
    if r < 2.0 {
        return;
    }
    let radius = |depth: f32| r * (1.0 - (1.0 - INNER) * depth);
    let at = |depth: f32, angle: f32| {
        let (sin, cos) = ((angle - disk.angle) * TAU).sin_cos();
        (cx + radius(depth) * cos, cy + radius(depth) * sin)
    };
    let on = |spot: &Spot| at(spot.depth, spot.angle);
    paint.disc((cx, cy), r, p.sunken, 1.0);
    paint.ring((cx, cy), r * INNER, p.line, 1.0, 1.0);
    let dot = (r * 0.045).clamp(1.0, 3.0);
    let detailed = r >= DETAIL_MIN;
    if let (Some(from), Some(to)) = (&disk.target, &disk.run_end) {
        let tone = if disk.work == HddWork::Destage { Tone::Queued } else { Tone::Device };
        let arc: Vec<_> = arc(from, to).map(|angle| at(from.depth, angle)).collect();
        paint.line(&arc, p.tone(tone), 1.0, if detailed { 2.5 } else { 1.5 });
    }
    if detailed {
        for spot in &disk.dirty {
            paint.disc(on(spot), dot * 0.8, p.tone(Tone::Queued), 0.6);
        }
        for command in &disk.queued {
            // Writes are rings, so that they read without a colour.
            match command.write {
                true => paint.ring(on(&command.spot), dot, p.tone(Tone::Device), 1.0, 1.0),
                false => paint.disc(on(&command.spot), dot, p.tone(Tone::Device), 1.0),
            }
        }
        if let Some(target) = &disk.target {
            paint.ring(on(target), dot * 2.2, p.ink, 1.0, 1.2);
        }
    }
    // The head comes from the right; what it is over has the platter's angle.
    let head = (cx + radius(disk.arm), cy);
    let pivot = if detailed { area.right() } else { cx + r };
    paint.line(&[(pivot, cy), head], p.ink_2, 1.0, if detailed { 1.6 } else { 1.0 });
    paint.disc(head, dot, p.ink, 1.0);
}

/// Angles along a run from one place to another; one that ends on another cylinder goes round.
fn arc(from: &Spot, to: &Spot) -> impl Iterator<Item = f32> {
    let turn = (to.angle - from.angle).rem_euclid(1.0);
    let turn = if turn == 0.0 || from.depth != to.depth { 1.0 } else { turn };
    let points = (turn * ARC_POINTS).ceil().max(1.0);
    let start = from.angle;
    (0..=points as u32).map(move |i| start + turn * i as f32 / points)
}

/// What the arm is at.
pub(super) fn word(work: HddWork) -> &'static str {
    match work {
        HddWork::Idle => "idle",
        HddWork::Decide => "decides",
        HddWork::Seek => "seeks",
        HddWork::Rotate => "waits for the sector",
        HddWork::Transfer => "moves data",
        HddWork::Destage => "empties its cache",
        HddWork::ReadAhead => "reads ahead",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_the_way_that_the_platter_turns_and_a_whole_track_goes_round() {
        let spot = |depth, angle| Spot { depth, angle };
        let ends = |a: &Spot, b: &Spot| {
            let angles: Vec<f32> = arc(a, b).collect();
            (angles[0], angles[angles.len() - 1])
        };
        let (from, to) = ends(&spot(0.5, 0.9), &spot(0.5, 0.1));
        assert!((from - 0.9).abs() < 1e-6 && (to - 1.1).abs() < 1e-6, "{from} to {to}");
        assert_eq!(ends(&spot(0.5, 0.25), &spot(0.5, 0.25)), (0.25, 1.25));
        assert_eq!(ends(&spot(0.5, 0.25), &spot(0.6, 0.5)), (0.25, 1.25));
    }
}
