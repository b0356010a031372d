//! The part of the stage that stands still: frames, trays, names, rules. Painted once for each layout and theme.

use super::Stage;
use super::goals::engine_row;
use super::inside::bus;
use crate::draw::layout::{DeviceBox, HctxBox, Lane, Row, TagView, UnitKind, Units};
use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::Palette;
use mqscope_core::topology::Topology;

impl Stage {
    /// Paints the still part.
    pub fn paint_ground(&self, topology: &Topology, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let caption = Type { size: l.text * 0.9, mono: false, strong: false };
        for heading in &l.headings {
            let text = caption.fit(heading.text, heading.rect.w.max(caption.size * 4.0));
            let at = (heading.rect.x, heading.rect.centre().1);
            paint.text(&text, at, Align::Left, caption, p.ink_3, 1.0);
        }
        self.ground_ways(p, paint);
        for lane in &l.lanes {
            self.ground_lane(lane, p, paint);
        }
        for elevator in &l.elevators {
            self.ground_elevator(topology, elevator, p, paint);
        }
        for hctx in &l.hctxs {
            self.ground_hctx(topology, hctx, p, paint);
        }
        for device in &l.devices {
            self.ground_device(topology, device, p, paint);
        }
    }

    /// The rails between the blocks and the way back.
    fn ground_ways(&self, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        if !l.narrow
            && let (Some(first), Some(last)) = (l.lanes.first(), l.lanes.last())
        {
            // One rail gathers what leaves the ctx lists; a stub leads to each scheduler or hctx.
            let boxes = match l.elevators.as_slice() {
                [] => l.hctxs.iter().map(|h| h.rect).collect::<Vec<_>>(),
                elevators => elevators.iter().map(|e| e.rect).collect(),
            };
            let from = first.ctx.right();
            let to = boxes.first().map_or(from, |r| r.x);
            let x = from + (to - from) * 0.45;
            let mut ends: Vec<f32> = boxes.iter().map(|r| r.centre().1).collect();
            ends.extend([first.rect.centre().1, last.rect.centre().1]);
            let (top, bottom) = ends.iter().fold((f32::MAX, f32::MIN), |(a, b), &y| (a.min(y), b.max(y)));
            paint.line(&[(x, top), (x, bottom)], p.line, 1.0, 1.0);
            for lane in l.lanes.iter().filter(|l| matches!(l.row, Row::Cpu(_))) {
                let y = lane.rect.centre().1;
                paint.line(&[(lane.ctx.right(), y), (x, y)], p.line, 1.0, 1.0);
            }
            for rect in &boxes {
                let y = rect.centre().1;
                paint.line(&[(x, y), (rect.x, y)], p.line, 1.0, 1.0);
                arrow(paint, (rect.x - 1.0, y), (1.0, 0.0), l.text * 0.35, p);
            }
            self.ground_from_elevators(p, paint);
            if let (Some(hctx), Some(device)) = (l.hctxs.first(), l.devices.first()) {
                let (from, to) = (hctx.rect.right(), device.rect.x);
                let x = from + (to - from) * 0.5;
                let mut ends: Vec<f32> = l.hctxs.iter().map(|h| h.rect.centre().1).collect();
                ends.extend(l.devices.iter().map(|d| d.rect.centre().1));
                let (top, bottom) = ends.iter().fold((f32::MAX, f32::MIN), |(a, b), &y| (a.min(y), b.max(y)));
                paint.line(&[(x, top), (x, bottom)], p.line, 1.0, 1.0);
                for hctx in &l.hctxs {
                    let y = hctx.rect.centre().1;
                    paint.line(&[(from, y), (x, y)], p.line, 1.0, 1.0);
                }
                for device in &l.devices {
                    let y = device.rect.centre().1;
                    paint.line(&[(x, y), (to, y)], p.line, 1.0, 1.0);
                    arrow(paint, (to - 1.0, y), (1.0, 0.0), l.text * 0.35, p);
                }
            }
        }
        paint.line(&l.back, p.line, 1.0, 1.0);
        if let Some(&(x, _)) = l.back.first() {
            for device in &l.devices {
                let exit = device.exit();
                paint.line(&[(exit.right(), exit.centre().1), (x, exit.centre().1)], p.line, 1.0, 1.0);
            }
        }
        if let [.., corner, _] = l.back.as_slice()
            && !l.narrow
        {
            for lane in l.lanes.iter().filter(|l| matches!(l.row, Row::Cpu(_))) {
                let y = lane.rect.centre().1;
                paint.line(&[(corner.0, y), (corner.0 + l.text * 0.5, y)], p.line, 1.0, 1.0);
            }
        }
        if let [.., before, last] = l.back.as_slice() {
            let (dx, dy) = (last.0 - before.0, last.1 - before.1);
            let length = dx.hypot(dy).max(1.0);
            arrow(paint, *last, (dx / length, dy / length), l.text * 0.35, p);
        }
        if !l.narrow
            && let Some(&(x, y)) = l.back.get(1)
        {
            let face = Type { size: l.text * 0.9, mono: false, strong: false };
            let label = "way back: interrupt, completion, tag free";
            let w = face.width(label) + l.text;
            let at = Rect::new(x - l.text * 8.0 - w, y - l.text * 0.8, w, l.text * 1.6);
            paint.fill(at, 0.0, p.surface, 1.0);
            paint.text(label, at.centre(), Align::Centre, face, p.ink_3, 1.0);
        }
    }

    /// The rail from the schedulers to the hctxs.
    fn ground_from_elevators(&self, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let (Some(first), Some(hctx)) = (l.elevators.first(), l.hctxs.first()) else { return };
        let (from, to) = (first.rect.right(), hctx.rect.x);
        let x = from + (to - from) * 0.45;
        let out: Vec<f32> = l.elevators.iter().map(|e| e.rect.centre().1).collect();
        let into: Vec<f32> = l.hctxs.iter().map(|h| h.rect.centre().1).collect();
        let ends = out.iter().chain(&into);
        let (top, bottom) = ends.fold((f32::MAX, f32::MIN), |(a, b), &y| (a.min(y), b.max(y)));
        paint.line(&[(x, top), (x, bottom)], p.line, 1.0, 1.0);
        for &y in &out {
            paint.line(&[(from, y), (x, y)], p.line, 1.0, 1.0);
        }
        for &y in &into {
            paint.line(&[(x, y), (to, y)], p.line, 1.0, 1.0);
            arrow(paint, (to - 1.0, y), (1.0, 0.0), l.text * 0.35, p);
        }
    }

    fn ground_lane(&self, lane: &Lane, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let y = lane.rect.centre().1;
        match &lane.row {
            Row::Cpu(_) => {
                for tray in [lane.done, lane.plug, lane.ctx].iter().filter(|tray| tray.w > 0.0) {
                    paint.fill(*tray, tray.h * 0.28, p.sunken, 1.0);
                }
            }
            row @ Row::Fold { .. } => {
                let (text, face) = fold_words(row, l.text);
                paint.text(&text, (lane.label.x, y), Align::Left, face, p.ink_3, 1.0);
                let from = lane.label.x + face.width(&text) + l.text * 0.6;
                if from < lane.rect.right() {
                    paint.dashes(&[(from, y), (lane.rect.right(), y)], p.line, 1.0, 1.0);
                }
            }
        }
    }

    fn ground_hctx(&self, topology: &Topology, at: &HctxBox, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        let name_face = Type { size: t, mono: true, strong: true };
        let label_face = Type { size: t * 0.85, mono: false, strong: false };
        let Some(id) = at.hctx else {
            paint.outline(at.rect, t * 0.4, p.line, 1.0, 1.0);
            let text = format!("{} more hctxs", at.folded);
            paint.text(&text, at.rect.centre(), Align::Centre, label_face, p.ink_3, 1.0);
            return;
        };
        paint.outline(at.rect, t * 0.5, p.edge, 0.75, 1.0);
        let hctx = &topology.hctxs[id as usize];
        let queue = topology.queues.get(hctx.queue as usize);
        let legacy = topology.is_legacy(id);
        let own = if legacy { String::from("request_queue") } else { format!("hctx{}", hctx.index) };
        let name = match queue {
            // `busy 9` must find room beside it.
            Some(queue)
                if topology.queues.len() > 1
                    || !at.compact && name_face.width(&queue.name) + t * 7.5 <= at.title.w =>
            {
                format!("{} {own}", queue.name)
            }
            _ => own,
        };
        let name_face =
            if at.compact { Type { size: t * 0.85, strong: false, ..name_face } } else { name_face };
        let name = name_face.fit(&name, at.title.w);
        paint.text(&name, (at.title.x, at.title.centre().1), Align::Left, name_face, p.ink, 1.0);
        paint.fill(at.dispatch, at.dispatch.h.min(t * 2.0) * 0.25, p.sunken, 1.0);
        if !at.compact {
            let above = (at.dispatch.x, at.dispatch.y - t * 0.7);
            let face = Type { mono: true, ..label_face };
            paint.text(
                &face.fit(if legacy { "q->queue_head" } else { "hctx->dispatch" }, at.dispatch.w),
                above,
                Align::Left,
                face,
                p.ink_3,
                1.0,
            );
        }
        let nr = queue.map_or(0, |q| q.nr_tags);
        match at.tag_view {
            TagView::Bits { columns, cell } => {
                let (x, y) = tag_area(at, t);
                let gap = if cell >= 4.0 { 1.0 } else { 0.5 };
                let columns = u32::from(columns.max(1));
                for row in 0..nr.div_ceil(columns) {
                    let in_row = (nr - row * columns).min(columns);
                    // Cells large enough to be told apart are drawn one by one.
                    let parts = if cell >= 6.0 { in_row } else { 1 };
                    let w = in_row as f32 * cell / parts as f32;
                    for part in 0..parts {
                        let rect = Rect::new(x + part as f32 * w, y + row as f32 * cell, w - gap, cell - gap);
                        paint.fill(rect, 0.0, p.sunken, 1.0);
                    }
                }
            }
            TagView::Words { .. } => {
                for word in 0..nr.div_ceil(64) {
                    let rect = word_cell(at, t, word);
                    paint.fill(rect, rect.w * 0.15, p.sunken, 1.0);
                }
            }
            TagView::Bar => {
                let bar = tag_bar(at, t);
                paint.fill(bar, bar.h * 0.3, p.sunken, 1.0);
            }
        }
    }

    fn ground_device(&self, topology: &Topology, at: &DeviceBox, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        let name_face = Type { size: t, mono: true, strong: true };
        let label_face = Type { size: t * 0.85, mono: false, strong: false };
        let queue = &topology.queues[at.queue as usize];
        paint.outline(at.rect, t * 0.5, p.edge, 0.75, 1.0);
        let (x, y) = (at.title.x, at.title.centre().1);
        paint.text(&queue.name, (x, y), Align::Left, name_face, p.ink, 1.0);
        let model_x = x + name_face.width(&queue.name) + t * 0.7;
        let model = label_face.fit(&queue.model, at.title.right() - model_x - t * 5.0);
        paint.text(&model, (model_x, y), Align::Left, label_face, p.ink_3, 1.0);
        paint.fill(at.gauge, at.gauge.w * 0.3, p.sunken, 1.0);
        for engine in 0..at.engines {
            let row = engine_row(at, engine);
            let gap = (row.h * 0.12).min(1.5);
            let row = Rect { y: row.y + gap, h: row.h - 2.0 * gap, ..row };
            paint.fill(row, (row.h * 0.25).min(t * 0.3), p.sunken, 1.0);
        }
        paint.line(&[(at.link.x, at.link.y), (at.link.x, at.link.bottom())], p.line, 1.0, 1.0);
        if at.rect.h > t * 9.0 {
            let engine = match queue.units.iter().find(|(label, _)| label == "engine") {
                Some((_, n)) if label_face.width("8 engines") < at.engine.w => format!("{n} engines"),
                Some(_) => String::from("engines"),
                None if at.units.is_some() => String::from("front end"),
                None => String::from("service"),
            };
            let mut caption = |text: &str, over: Rect, align: Align| {
                let x = if align == Align::Right { over.right() } else { over.x };
                let at = (x, over.y - t * 0.75);
                paint.text(&label_face.fit(text, over.w.max(t * 2.4)), at, align, label_face, p.ink_3, 1.0);
            };
            caption(&engine, at.engine, Align::Left);
            caption("link", at.link, Align::Right);
            if let Some(units) = &at.units {
                let text = match (&units.inner, units.kind) {
                    (Some(_), UnitKind::Channels) => {
                        format!("{} dies on {} channels", units.count, units.grid.count)
                    }
                    (Some((label, grid)), UnitKind::FlashMembers) => {
                        format!("{} {}s of {} {label}s", units.grid.count, units.label, grid.count)
                    }
                    (_, UnitKind::Dies) => format!("{} {}s", units.count, units.label),
                    _ if units.count == 1 => format!("1 {}", units.label),
                    _ => format!("{} {}s", units.count, units.label),
                };
                caption(&text, units.grid.rect, Align::Left);
            }
        }
        let Some(units) = &at.units else { return };
        self.ground_units(units, p, paint);
    }

    fn ground_units(&self, units: &Units, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        for unit in 0..units.grid.count {
            if matches!(units.kind, UnitKind::FlashMembers | UnitKind::DiskMembers) {
                paint.outline(units.grid.cell(unit).inset(t * 0.15), t * 0.25, p.line, 1.0, 1.0);
            }
            if units.kind == UnitKind::Channels {
                paint.fill(bus(units, unit), 0.0, p.line, 1.0);
            }
            if units.folded {
                paint.fill(units.strip(unit), 0.0, p.sunken, 1.0);
            }
        }
        // A disk is a platter, which is painted as it turns.
        if units.folded || units.kind == UnitKind::DiskMembers {
            return;
        }
        let inner = units.cells() / units.grid.count.max(1);
        for cell in 0..units.cells() {
            if units.exists(cell / inner, cell % inner) {
                let rect = units.inner_cell(cell / inner, cell % inner);
                let rect = rect.inset((rect.w.min(rect.h) * 0.08).clamp(0.3, 2.0));
                paint.fill(rect, (rect.w.min(rect.h) * 0.2).min(t * 0.4), p.sunken, 1.0);
            }
        }
    }
}

/// What a row of folded CPUs says, and in which type.
pub(super) fn fold_words(row: &Row, text: f32) -> (String, Type) {
    let face = Type { size: text * 0.9, mono: false, strong: false };
    let words = match row {
        Row::Fold { socket, count, busy } => {
            format!("node {socket}: {count} {} CPUs", if *busy { "more" } else { "idle" })
        }
        Row::Cpu(_) => String::new(),
    };
    (words, face)
}

/// Upper left corner of an hctx's tag bitmap.
pub(super) fn tag_area(at: &HctxBox, text: f32) -> (f32, f32) {
    (at.tags.x, at.tags.y + text * 1.8)
}

/// Lower edge of the tags as they are shown.
pub(super) fn tag_bottom(at: &HctxBox, text: f32, nr: u32) -> f32 {
    let (_, y) = tag_area(at, text);
    match at.tag_view {
        TagView::Bits { columns, cell } => y + nr.div_ceil(u32::from(columns.max(1))) as f32 * cell,
        TagView::Words { columns, cell } => {
            y + nr.div_ceil(64).div_ceil(u32::from(columns.max(1))) as f32 * cell
        }
        TagView::Bar => tag_bar(at, text).bottom(),
    }
}

/// Cell of a word in the view by words.
pub(super) fn word_cell(at: &HctxBox, text: f32, word: u32) -> Rect {
    let TagView::Words { columns, cell } = at.tag_view else { return Rect::default() };
    let (x, y) = tag_area(at, text);
    let (column, row) = (word % u32::from(columns.max(1)), word / u32::from(columns.max(1)));
    Rect::new(x + column as f32 * cell, y + row as f32 * cell, cell, cell).inset(cell * 0.1)
}

/// The bar that stands for a bitmap where there is no room for one.
pub(super) fn tag_bar(at: &HctxBox, text: f32) -> Rect {
    if at.compact {
        let h = (at.tags.h * 0.35).min(text * 0.7);
        return Rect::new(at.tags.x, at.tags.centre().1 + text * 0.25, at.tags.w, h);
    }
    Rect::new(at.tags.x, at.tags.y + text * 1.8, at.tags.w, text)
}

fn arrow(paint: &mut impl Paint, tip: (f32, f32), along: (f32, f32), size: f32, p: &Palette) {
    let (dx, dy) = along;
    let back = (tip.0 - dx * size, tip.1 - dy * size);
    let side = |s: f32| (back.0 - dy * size * 0.7 * s, back.1 + dx * size * 0.7 * s);
    paint.line(&[side(1.0), tip, side(-1.0)], p.edge, 1.0, 1.2);
}
