//! The inside of a rotating disk: platter and head, where the queued commands lie, what waits in the write cache.

use super::Stage;
use crate::draw::layout::DeviceBox;
use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::{Palette, Tone};
use mqscope_core::device::{DeviceView, HddView, HddWork, Spot};
use std::f32::consts::TAU;

/// Radius of the innermost track against the outermost.
const INNER: f32 = 0.4;

impl Stage {
    /// What the disks are at, by queue; `None` where there is no platter.
    pub fn look_into(&mut self, disks: Vec<Option<DeviceView>>) {
        self.disks = disks;
    }

    pub(super) fn live_platter(&self, at: &DeviceBox, p: &Palette, paint: &mut impl Paint) {
        let (Some(mut area), Some(Some(DeviceView::Hdd(disk)))) =
            (at.platter, self.disks.get(at.queue as usize))
        else {
            return;
        };
        let t = self.layout.text;
        let words = area.take_bottom(t * 1.3);
        let cache = area.take_bottom(t * 0.6);
        let (cx, cy) = area.centre();
        let r = area.w.min(area.h) / 2.0 - 1.0;
        if r < t {
            return;
        }
        let on = |spot: &Spot| {
            let radius = r * (1.0 - (1.0 - INNER) * spot.depth);
            let (sin, cos) = ((spot.angle - disk.angle) * TAU).sin_cos();
            (cx + radius * cos, cy + radius * sin)
        };
        paint.disc((cx, cy), r, p.sunken, 1.0);
        paint.ring((cx, cy), r * INNER, p.line, 1.0, 1.0);
        let dot = (r * 0.045).clamp(1.0, 3.0);
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
        // The head comes from the right; what it is over has the platter's angle.
        let head = (cx + r * (1.0 - (1.0 - INNER) * disk.arm), cy);
        paint.line(&[(area.right(), cy), head], p.ink_2, 1.0, 1.6);
        paint.disc(head, dot, p.ink, 1.0);
        fill_cache(disk, cache, p, paint);
        let face = Type { size: t * 0.78, mono: false, strong: false };
        let text = face.fit(word(disk.work), words.w);
        paint.text(&text, words.centre(), Align::Centre, face, p.ink_3, 1.0);
    }
}

fn fill_cache(disk: &HddView, bar: Rect, p: &Palette, paint: &mut impl Paint) {
    let share = (disk.dirty_bytes as f32 / disk.dirty_limit.max(1) as f32).min(1.0);
    let bar = bar.inset(bar.h * 0.2);
    paint.fill(bar, bar.h * 0.4, p.sunken, 1.0);
    paint.fill(Rect { w: bar.w * share, ..bar }, bar.h * 0.4, p.tone(Tone::Queued), 1.0);
}

fn word(work: HddWork) -> &'static str {
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
