//! The part of the stage that changes with time: CPUs, locks, hctxs, tags, devices, and the requests themselves.

use super::goals::{busy_cells, hand_line, tag_width};
use super::ground::{fold_words, tag_area, tag_bar, tag_bottom, word_cell};
use super::locks::{cpu_number, hottest, price_tone, spun_share};
use super::{Glow, Stage};
use crate::draw::layout::{DeviceBox, HctxBox, Lane, Row, TagView};
use crate::draw::paint::{Align, Mark, Paint, Rect, Type};
use crate::draw::palette::{Palette, Rgb, Tone};
use crate::scene::{Distance, Scene, Standing};
use crate::words;
use mqscope_core::event::{Context, CpuId, Sleep};

/// Where more lines move than this, their prices would cover each other.
const PRICES_MAX: usize = 6;

impl Stage {
    /// Paints what moves, over the ground. `function` names the kernel function that a CPU is in.
    pub fn paint_live(
        &self,
        scene: &Scene,
        function: impl Fn(CpuId) -> Option<&'static str>,
        p: &Palette,
        paint: &mut impl Paint,
    ) {
        for (row, lane) in self.layout.lanes.iter().enumerate() {
            self.live_lane(scene, lane, &function, p, paint);
            self.live_fold(scene, row, p, paint);
        }
        for elevator in &self.layout.elevators {
            self.live_elevator(scene, elevator, p, paint);
        }
        for hctx in &self.layout.hctxs {
            self.live_hctx(scene, hctx, p, paint);
        }
        for device in &self.layout.devices {
            self.live_inside(device, p, paint);
            self.live_device(scene, device, p, paint);
        }
        for (lane, group) in self.layout.lanes.iter().zip(&self.layout.ctx_groups) {
            if let Row::Cpu(cpu) = lane.row {
                self.live_ctx_lock(scene, cpu, group, p, paint);
            }
        }
        self.live_transfers(scene, p, paint);
        if self.dense {
            self.live_density(p, paint);
        } else {
            self.live_marks(paint);
            self.live_next(scene, p, paint);
        }
        self.live_counts(scene, p, paint);
        self.live_selected(scene, p, paint);
    }

    fn live_lane(
        &self,
        scene: &Scene,
        lane: &Lane,
        function: &impl Fn(CpuId) -> Option<&'static str>,
        p: &Palette,
        paint: &mut impl Paint,
    ) {
        let Row::Cpu(cpu) = lane.row else { return };
        let t = self.layout.text;
        let y = lane.rect.centre().1;
        let Some(state) = scene.cpus().get(cpu as usize) else { return };
        let running = state.frame();
        let spun = state.spin.map(|s| (s.lock, scene.now_ns().saturating_sub(s.since_ns)));
        let lock = spun.and_then(|(lock, _)| scene.topology().objects.get(lock as usize));
        let tight = lane.rect.h < t * 2.2 && lane.words.w < t * 12.0;
        let lock = lock.map(|o| if tight { o.class.as_str() } else { o.name.as_str() });
        let spins = spun.map(|(_, ns)| {
            let time = words::span(ns as f64);
            // The name of the lock stands beside it.
            if tight { time } else { format!("spins {time}") }
        });
        let (word, colour) = match (&spins, running.map(|f| f.context)) {
            (Some(spins), _) => (spins.as_str(), p.tone(Tone::Trouble)),
            (_, Some(Context::Task)) => ("task", p.ink_2),
            (_, Some(Context::Kworker)) => ("kworker", p.tone(Tone::Queued)),
            (_, Some(Context::HardIrq)) => ("irq", p.tone(Tone::Back)),
            (_, Some(Context::SoftIrq)) => ("softirq", p.tone(Tone::Back)),
            _ => ("", p.ink_3),
        };
        let number = Type { size: t, mono: true, strong: running.is_some() };
        let ink = if running.is_some() { p.ink } else { p.ink_3 };
        let right = lane.label.right() - t * 0.4;
        paint.text(cpu_number(cpu).as_str(), (right, y), Align::Right, number, ink, 1.0);
        if self.layout.narrow {
            // No room for words: a bar under the number, its colour and length say as much.
            if !word.is_empty() {
                let w = spun.map_or(t * 1.1, |(_, ns)| t * (0.4 + 1.6 * spun_share(ns)));
                let h = if spun.is_some() { 2.5 } else { 1.5 };
                paint.fill(Rect::new(right - w, y + t * 0.62, w, h), 0.0, colour, 1.0);
            }
            return;
        }
        let small = Type { size: t * 0.82, mono: false, strong: false };
        let code = Type { size: t * 0.78, mono: true, strong: false };
        let name = function(cpu).filter(|_| running.is_some() && lane.rect.h >= t * 2.2);
        let two_lines = name.is_some();
        let first = if two_lines { y - t * 0.55 } else { y };
        let mut x = lane.words.x;
        let room = lane.words.right() - t * 0.5;
        // A pill for the context, so that it reads without its colour.
        if !word.is_empty() {
            let w = small.width(word) + t * 0.7;
            let pill = Rect::new(x, first - t * 0.6, w, t * 1.2);
            if state.spin.is_some() {
                paint.fill(pill, pill.h * 0.3, colour, 1.0);
                paint.text(word, pill.centre(), Align::Centre, small, p.surface, 1.0);
            } else {
                paint.outline(pill, pill.h * 0.3, colour, 0.8, 1.0);
                paint.text(word, pill.centre(), Align::Centre, small, colour, 1.0);
            }
            x += w + t * 0.5;
        }
        match lock.filter(|_| !two_lines) {
            // What it burns its time for is more than whose time it is.
            Some(lock) => paint.text(&code.fit(lock, room - x), (x, first), Align::Left, code, colour, 1.0),
            None => {
                let in_task = running.is_some_and(|f| f.context == Context::Task);
                let (who, ink) = self.task_words(scene, cpu, in_task, p);
                paint.text(&small.fit(&who, room - x), (x, first), Align::Left, small, ink, 1.0);
            }
        }
        if let Some(name) = name {
            let (name, ink) = lock.map_or((name, p.ink_3), |lock| (lock, colour));
            let text = code.fit(name, room - lane.words.x);
            paint.text(&text, (lane.words.x, y + t * 0.65), Align::Left, code, ink, 1.0);
        }
        if let Some((_, ns)) = spun {
            let bottom = (y + t * if two_lines { 1.3 } else { 0.75 }).min(lane.rect.bottom() - 1.5);
            let track = Rect::new(lane.words.x, bottom - 2.0, room - lane.words.x, 2.5);
            paint.fill(track, 1.0, p.sunken, 1.0);
            paint.fill(Rect { w: track.w * spun_share(ns), ..track }, 1.0, colour, 1.0);
        }
    }

    /// How many of a row's folded CPUs spin.
    fn live_fold(&self, scene: &Scene, row: usize, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let Some(lane) = l.lanes.get(row).filter(|l| matches!(l.row, Row::Fold { .. })) else { return };
        let here = scene.cpus().iter().zip(&l.lane_of).filter(|(_, at)| usize::from(**at) == row);
        let spinning = here.filter(|(c, _)| c.spin.is_some()).count();
        if spinning == 0 {
            return;
        }
        let (words, face) = fold_words(&lane.row, l.text);
        let (text, h) = (format!("{spinning} spin"), l.text * 1.2);
        let w = face.width(&text) + l.text * 0.7;
        let beside = lane.label.x + face.width(&words) + l.text * 0.6;
        // On a narrow stage their requests stand there.
        let x = if l.narrow { lane.rect.right() - w } else { beside };
        let pill = Rect::new(x, lane.rect.centre().1 - h / 2.0, w, h);
        paint.fill(pill, h * 0.3, p.tone(Tone::Trouble), 1.0);
        paint.text(&text, pill.centre(), Align::Centre, face, p.surface, 1.0);
    }

    /// Names of the tasks of a CPU; why the first sleeps, if it does.
    fn task_words(&self, scene: &Scene, cpu: CpuId, in_task: bool, p: &Palette) -> (String, Rgb) {
        let mut here = scene.tasks().iter().enumerate().filter(|(_, t)| t.cpu == cpu);
        let Some((id, task)) = here.next() else { return (String::new(), p.ink_3) };
        let more = here.count();
        let mut name = scene.topology().tasks.get(id).map_or(String::new(), |t| t.name.clone());
        if more > 0 {
            name = format!("{name} +{more}");
        }
        match task.sleep.filter(|_| !in_task) {
            None => (name, if in_task { p.ink_2 } else { p.ink_3 }),
            Some((Sleep::Tag, _)) => (format!("{name}: no tag"), p.tone(Tone::Trouble)),
            Some((Sleep::FileLock, _)) => (format!("{name}: file lock"), p.tone(Tone::Trouble)),
            Some((Sleep::Log, _)) => (format!("{name}: log"), p.ink_3),
            Some((Sleep::Wbt, _)) => (format!("{name}: throttled"), p.tone(Tone::Trouble)),
            Some((Sleep::Request, _)) => (format!("{name}: no request"), p.tone(Tone::Trouble)),
            Some((Sleep::Dirty, _)) => (format!("{name}: too much dirty"), p.tone(Tone::Trouble)),
            Some((Sleep::Io | Sleep::Page, _)) => (format!("{name} waits"), p.ink_3),
            Some((Sleep::Flusher, _)) => (format!("{name} idle"), p.ink_3),
            Some((Sleep::Timer, _)) => (format!("{name} thinks"), p.ink_3),
            Some((Sleep::Done, _)) => (format!("{name} is done"), p.ink_3),
        }
    }

    fn live_hctx(&self, scene: &Scene, at: &HctxBox, p: &Palette, paint: &mut impl Paint) {
        let Some(id) = at.hctx else { return };
        let Some(hctx) = scene.hctxs().get(id as usize) else { return };
        let t = self.layout.text;
        let small = Type { size: t * 0.85, mono: false, strong: false };
        if hctx.dispatch_busy > 0 && !at.compact {
            let text = format!("busy {}", hctx.dispatch_busy);
            // The number of tags in use follows at once.
            let right = (at.title.right() - t * 0.9, at.title.centre().1);
            paint.text(&text, right, Align::Right, small, p.tone(Tone::Trouble), 1.0);
        }
        let runners = hctx.runners();
        let face = Type { size: t * 0.8, mono: true, strong: true };
        for (line, &cpu) in runners.iter().enumerate() {
            let rect = hand_line(at.hand, line, runners.len(), at.compact, t);
            let y = rect.centre().1;
            self.cpu_tag(cpu, (rect.x + tag_width(t) * 0.9, y), face, p.tone(Tone::Queued), false, p, paint);
            paint.line(&[(rect.x + tag_width(t), y), (rect.right(), y)], p.tone(Tone::Queued), 0.35, 1.0);
        }
        if runners.is_empty() && !at.compact {
            let text = match hctx.scheduled {
                Some((due, cpu)) if due > scene.now_ns() => {
                    format!("run on CPU {cpu} in {}", words::span((due - scene.now_ns()) as f64))
                }
                Some((_, cpu)) => format!("run due on CPU {cpu}"),
                None => String::from("no CPU runs it"),
            };
            let text = small.fit(&text, at.hand.w);
            paint.text(&text, (at.hand.x, at.hand.y + t), Align::Left, small, p.ink_3, 1.0);
        }
        self.live_tags(scene, at, id, p, paint);
        for group in &at.groups {
            if !at.compact {
                self.live_group(scene, group, p, paint);
            } else if let Some((_, lock)) = hottest(scene, group) {
                let size = t * 0.8;
                self.padlock(lock, group.rect.centre(), size, self.heat(scene, lock), p, paint);
            }
        }
    }

    fn live_tags(&self, scene: &Scene, at: &HctxBox, id: u16, p: &Palette, paint: &mut impl Paint) {
        let hctx = &scene.hctxs()[id as usize];
        let topology = scene.topology();
        let nr = topology.queues.get(topology.hctxs[id as usize].queue as usize).map_or(0, |q| q.nr_tags);
        let t = self.layout.text;
        let face = Type { size: t * 0.85, mono: true, strong: false };
        let full = nr > 0 && hctx.tags_in_use >= nr;
        let ink = if full { p.tone(Tone::Trouble) } else { p.ink_2 };
        let waiting = scene.standing_len(Standing::TagWait(id));
        let text = format!("{}/{nr}", hctx.tags_in_use);
        let y = if at.compact { at.tags.centre().1 - t * 0.45 } else { at.tags.y + t * 0.8 };
        paint.text(&face.fit(&text, at.tags.w), (at.tags.x, y), Align::Left, face, ink, 1.0);
        if waiting > 0 && !at.compact {
            let under = (at.tags.x, tag_bottom(at, t, nr) + t * 0.9);
            paint.text(&format!("{waiting} wait"), under, Align::Left, face, p.tone(Tone::Trouble), 1.0);
        }
        let colour = if full { p.tone(Tone::Trouble) } else { p.tone(Tone::Submit) };
        match at.tag_view {
            TagView::Bar => {
                let bar = tag_bar(at, t);
                let share = hctx.tags_in_use as f32 / nr.max(1) as f32;
                let w = if hctx.tags_in_use > 0 { (bar.w * share).clamp(1.5, bar.w) } else { 0.0 };
                paint.fill(Rect { w, ..bar }, bar.h * 0.3, colour, 0.85);
            }
            TagView::Words { .. } => {
                // Each word is a cache line: filled by its tags, ringed while it is fought for.
                let lines = at.groups.iter().find(|g| g.class.contains("sbitmap"));
                for (word, bits) in hctx.tags.iter().enumerate() {
                    let rect = word_cell(at, t, word as u32);
                    let used = bits.count_ones();
                    if used > 0 {
                        paint.fill(rect, rect.w * 0.15, colour, 0.25 + 0.75 * used as f32 / 64.0);
                    }
                    let line = lines
                        .and_then(|g| g.objects.get(word))
                        .and_then(|&id| scene.objects().get(id as usize));
                    let heat = line.map_or(0.0, |o| self.heat(scene, o));
                    if heat > 0.05 {
                        paint.outline(rect, rect.w * 0.15, p.tone(Tone::Trouble), heat.min(1.0), 1.2);
                    }
                }
            }
            TagView::Bits { columns, cell } => {
                // Neighbouring tags of a row are one rectangle: that keeps the frame short.
                let (x0, y0) = tag_area(at, t);
                let gap = if cell >= 4.0 { 1.0 } else { 0.5 };
                let columns = u32::from(columns);
                let mut tag = 0;
                while tag < nr {
                    if !hctx.tag_used(tag) {
                        tag += 1;
                        continue;
                    }
                    let row_end = ((tag / columns + 1) * columns).min(nr);
                    let mut end = tag + 1;
                    while cell < 6.0 && end < row_end && hctx.tag_used(end) {
                        end += 1;
                    }
                    let (column, row) = (tag % columns, tag / columns);
                    let (x, y) = (x0 + column as f32 * cell, y0 + row as f32 * cell);
                    let rect = Rect::new(x, y, (end - tag) as f32 * cell - gap, cell - gap);
                    paint.fill(rect, 0.0, colour, 0.85);
                    tag = end;
                }
            }
        }
    }

    fn live_device(&self, scene: &Scene, at: &DeviceBox, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        let n = scene.standing_len(Standing::Device(at.queue));
        let depth = scene.topology().queues.get(at.queue as usize).map_or(0, |q| q.queue_depth);
        let share = (n as f32 / depth.max(1) as f32).min(1.0);
        let full = depth > 0 && n >= depth;
        let colour = if full { p.tone(Tone::Trouble) } else { p.tone(Tone::Device) };
        let fill = at.gauge.h * share;
        let bar = Rect::new(at.gauge.x, at.gauge.bottom() - fill, at.gauge.w, fill);
        paint.fill(bar, at.gauge.w * 0.3, colour, 0.35);
        for (cell, share) in busy_cells(at, scene, at.queue) {
            let cell = cell.inset((cell.w.min(cell.h) * 0.08).clamp(0.3, 2.0));
            let h = cell.h * share;
            paint.fill(Rect::new(cell.x, cell.bottom() - h, cell.w, h), 0.0, p.tone(Tone::Device), 0.22);
        }
        let face = Type { size: t * 0.85, mono: true, strong: false };
        let right = (at.title.right(), at.title.centre().1);
        let ink = if full { p.tone(Tone::Trouble) } else { p.ink_2 };
        paint.text(&format!("{n}/{depth}"), right, Align::Right, face, ink, 1.0);
        for group in &at.groups {
            self.live_group(scene, group, p, paint);
        }
    }

    /// Lines that moved a moment ago: arcs in the margin between the lanes of the two CPUs. Where there are few, each has
    /// its price.
    fn live_transfers(&self, scene: &Scene, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let x = l.arcs.right();
        let face = Type { size: l.text * 0.75, mono: true, strong: false };
        let mut priced: Vec<f32> = Vec::new();
        for Glow { transfer, age, .. } in self.glows.iter() {
            let (Some(from), Some(to)) = (l.lane(transfer.from), l.lane(transfer.to)) else { continue };
            let (a, b) = (from.rect.centre().1, to.rect.centre().1);
            if (a - b).abs() < 1.0 {
                continue;
            }
            let far = transfer.distance(scene.topology()) >= Distance::Cache;
            let colour = price_tone(transfer, scene, p);
            let alpha = (1.0 - age).clamp(0.0, 1.0) * 0.8;
            let bend = ((a - b).abs() * 0.28).min(l.arcs.w * if l.narrow { 1.3 } else { 0.8 });
            paint.curve(
                (x, a),
                (x, b),
                if b > a { -bend } else { bend },
                colour,
                alpha,
                if far { 1.8 } else { 1.2 },
            );
            paint.disc((x, b), 2.0, colour, alpha);
            let price = words::span(transfer.cost_ns.into());
            let (w, h) = (face.width(&price) + 2.0, face.size * 1.3);
            let middle = (a + b) / 2.0;
            if self.glows.len() <= PRICES_MAX
                && w <= l.arcs.w
                && priced.iter().all(|y| (y - middle).abs() > h)
            {
                priced.push(middle);
                let at = Rect::new(x - w - 1.0, middle - h / 2.0, w, h);
                paint.fill(at, h * 0.2, p.surface, 0.85);
                paint.text(&price, at.centre(), Align::Centre, face, colour, 1.0 - age * age);
            }
        }
    }

    fn live_marks(&self, paint: &mut impl Paint) {
        for leaving in self.sprites.leaving() {
            let s = &leaving.sprite;
            paint.mark(look_of(leaving.look), (s.x, s.y), s.radius, s.alpha.min(1.0));
        }
        for (_, sprite, look) in self.sprites.live() {
            paint.mark(look_of(look), (sprite.x, sprite.y), sprite.radius, sprite.alpha);
        }
    }

    /// Too many requests to draw one by one: trays and units fill in proportion.
    fn live_density(&self, p: &Palette, paint: &mut impl Paint) {
        for &(rect, n, of, tone) in &self.density {
            let share = (n as f32 / of.max(1) as f32).min(1.0);
            if share > 0.0 {
                let bar = Rect { x: rect.right() - rect.w * share, w: rect.w * share, ..rect };
                paint.fill(bar, (rect.h * 0.28).min(self.layout.text * 0.4), p.tone(tone), 0.3 + 0.6 * share);
            }
        }
    }

    /// Numbers where dots stand too close to be counted.
    fn live_counts(&self, scene: &Scene, p: &Palette, paint: &mut impl Paint) {
        let l = &self.layout;
        let face = Type { size: l.text * 0.78, mono: true, strong: false };
        let mut count = |tray: Rect, n: u32| {
            let rows = (tray.h / (l.dot * 2.5)).floor().max(1.0);
            if n as f32 * l.dot * 2.0 > tray.w * rows || (self.dense && n > 0) {
                let text = n.to_string();
                let w = face.width(&text) + l.text * 0.4;
                let h = face.size * 1.3;
                let at = Rect::new(tray.x + 2.0, tray.centre().1 - h / 2.0, w, h);
                paint.fill(at, h * 0.3, p.surface, 0.9);
                paint.text(&text, at.centre(), Align::Centre, face, p.ink, 1.0);
            }
        };
        for lane in &l.lanes {
            let Row::Cpu(cpu) = lane.row else { continue };
            let queues = scene.queues().len() as u16;
            count(lane.ctx, (0..queues).map(|q| scene.standing_len(Standing::Ctx(q, cpu))).sum());
            let here = scene.tasks().iter().enumerate().filter(|(_, t)| t.cpu == cpu);
            let (mut plug, mut ring) = (0, scene.standing_len(Standing::Completing(cpu)));
            for (task, _) in here {
                plug += scene.standing_len(Standing::Plug(task as u16));
                ring += scene.standing_len(Standing::Ring(task as u16));
            }
            count(lane.plug, plug);
            count(lane.done, ring);
        }
        for at in &l.hctxs {
            if let Some(id) = at.hctx {
                count(at.dispatch, scene.standing_len(Standing::DispatchList(id)));
            }
        }
    }

    fn live_selected(&self, scene: &Scene, p: &Palette, paint: &mut impl Paint) {
        let Some(rq) = self.selected else { return };
        let Some((slot, request)) = scene.slot_of(rq).and_then(|s| scene.at(s).map(|r| (s, r))) else {
            return;
        };
        let Some((x, y)) = self.point_of(slot) else { return };
        let t = self.layout.text;
        let dot = self.layout.dot;
        if let Some(lane) = self.layout.lane(request.cpu) {
            let strip = Rect::new(lane.rect.x - t * 0.3, lane.rect.y + 1.0, 2.5, lane.rect.h - 2.0);
            paint.fill(strip, 1.0, p.accent, 1.0);
        }
        paint.ring((x, y), dot * 2.0, p.surface, 0.9, 3.0);
        paint.ring((x, y), dot * 2.0, p.accent, 1.0, 2.0);
    }
}

/// How a sprite was told to look.
pub(super) fn look_of(look: u32) -> Mark {
    Mark::of_index((look & 0xff) as usize)
}
