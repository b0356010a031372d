//! Locks, lines and CPU tags: contention where it stands.

use super::Stage;
use crate::draw::layout::Group;
use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::{Palette, Rgb, Tone};
use crate::scene::{Distance, Object, Scene, Transfer};
use crate::words;
use mqscope_core::event::{CpuId, ObjectId};

/// The price of a line's last move stays beside it so long, ns.
const LATELY_NS: u64 = 2_000;

impl Stage {
    pub(super) fn live_ctx_lock(
        &self,
        scene: &Scene,
        cpu: CpuId,
        group: &Group,
        p: &Palette,
        paint: &mut impl Paint,
    ) {
        let Some((id, lock)) = hottest(scene, group) else { return };
        let t = self.layout.text;
        let r = group.rect;
        let y = r.centre().1;
        let size = (r.h * 0.42).min(t * 0.95);
        let heat = self.heat(scene, lock);
        let at = (r.right() - size * 0.9, y);
        self.padlock(lock, at, size, heat, p, paint);
        // Who holds it is news only if it is not the lane's own CPU.
        let mut x = at.0 - size * 0.9;
        let face = Type { size: t * 0.75, mono: true, strong: false };
        if let Some((holder, _)) = lock.holder.filter(|(holder, _)| *holder != cpu) {
            x = self.cpu_tag(holder, (x, y), face, p.ink_2, false, p, paint);
        }
        let first = self.waiters(scene, id, (x, y), r.x, face, p, paint);
        // Below the queue where the lane is high enough, else the CPU's own lane says it.
        if let Some(ns) = first.filter(|_| r.h >= t * 3.4) {
            let below = (x, y + t * 1.25);
            paint.text(&words::span(ns as f64), below, Align::Right, face, p.tone(Tone::Trouble), 1.0);
        }
    }

    /// CPU tags of the waiters from right to left, who came first at the right, as many as there is room for; below each a
    /// bar that grows with the time it has spun. How long the first one has, ns.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn waiters(
        &self,
        scene: &Scene,
        lock: ObjectId,
        (mut x, y): (f32, f32),
        left: f32,
        face: Type,
        p: &Palette,
        paint: &mut impl Paint,
    ) -> Option<u64> {
        let red = p.tone(Tone::Trouble);
        let w = face.size * 2.1;
        let queue = scene.spinners(lock);
        let spun = |since_ns: u64| scene.now_ns().saturating_sub(since_ns);
        for (i, &(cpu, since_ns)) in queue.iter().enumerate() {
            // The last place is for who finds none.
            let rest = queue.len() - i;
            if x - w * if rest > 1 { 2.0 } else { 1.0 } < left {
                paint.text(&format!("+{rest}"), (x, y), Align::Right, face, red, 1.0);
                break;
            }
            let next = self.cpu_tag(cpu, (x, y), face, red, true, p, paint);
            let bar = Rect::new(x - face.size * 1.85, y + face.size * 0.72, face.size * 1.85, 2.5);
            paint.fill(Rect { w: bar.w * spun_share(spun(since_ns)), ..bar }, 1.0, red, 1.0);
            x = next;
        }
        queue.first().map(|&(_, since_ns)| spun(since_ns))
    }

    /// A CPU's number in a frame, its right edge at `at`; gives the place for the next one.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn cpu_tag(
        &self,
        cpu: CpuId,
        at: (f32, f32),
        face: Type,
        colour: Rgb,
        waits: bool,
        p: &Palette,
        paint: &mut impl Paint,
    ) -> f32 {
        let (w, h) = (face.size * 1.85, face.size * 1.35);
        let rect = Rect::new(at.0 - w, at.1 - h / 2.0, w, h);
        if waits {
            paint.fill(rect, h * 0.25, p.surface, 1.0);
            paint.outline(rect, h * 0.25, colour, 1.0, 1.0);
            paint.text(cpu_number(cpu).as_str(), rect.centre(), Align::Centre, face, colour, 1.0);
        } else {
            paint.fill(rect, h * 0.25, colour, 1.0);
            paint.text(cpu_number(cpu).as_str(), rect.centre(), Align::Centre, face, p.surface, 1.0);
        }
        rect.x - face.size * 0.25
    }

    pub(super) fn padlock(
        &self,
        lock: &Object,
        at: (f32, f32),
        size: f32,
        heat: f32,
        p: &Palette,
        paint: &mut impl Paint,
    ) {
        let (w, h) = (size, size * 0.72);
        let body = Rect::new(at.0 - w / 2.0, at.1 - h * 0.25, w, h);
        let red = p.tone(Tone::Trouble);
        if heat > 0.01 {
            let halo = size * (0.7 + 0.3 * heat.min(1.0));
            paint.disc((at.0, body.centre().1 - h * 0.15), halo, red, 0.1 + 0.35 * heat.min(1.0));
        }
        let held = lock.holder.is_some();
        let colour = if lock.waiting() > 0 {
            red
        } else if held {
            p.ink
        } else {
            p.edge
        };
        let (left, right) = (body.x + w * 0.22, body.right() - w * 0.22);
        let top = body.y - h * 0.62;
        // An open shackle stands up at one side only.
        let shackle: &[(f32, f32)] = if held {
            &[(left, body.y), (left, top), (right, top), (right, body.y)]
        } else {
            &[(left, body.y), (left, top), (right, top), (right, top + h * 0.2)]
        };
        paint.line(shackle, colour, 1.0, (size * 0.12).max(1.0));
        if held {
            paint.fill(body, size * 0.12, colour, 1.0);
        } else {
            paint.outline(body, size * 0.12, colour, 1.0, 1.0);
        }
    }

    pub(super) fn heat(&self, scene: &Scene, object: &Object) -> f32 {
        // A third of a CPU lost is as hot as it gets.
        object.hot(scene.now_ns(), scene.half_ns()) * 3.0
    }

    pub(super) fn live_group(&self, scene: &Scene, group: &Group, p: &Palette, paint: &mut impl Paint) {
        let Some((id, object)) = hottest(scene, group) else { return };
        let t = self.layout.text;
        let r = group.rect;
        let y = r.centre().1;
        let face = Type { size: t * 0.85, mono: true, strong: false };
        let red = p.tone(Tone::Trouble);
        let heat: f32 = group
            .objects
            .iter()
            .filter_map(|&id| scene.objects().get(id as usize))
            .map(|o| self.heat(scene, o))
            .sum();
        let size = t * 0.75;
        let icon = (r.x + size * 0.6, y);
        if group.lock {
            self.padlock(object, icon, size, heat, p, paint);
        } else {
            // A line is a short bar of words; its owner's number follows.
            let bar = Rect::new(r.x, y - size * 0.3, size * 1.2, size * 0.6);
            if heat > 0.01 {
                let (wide, high) = (size * 0.25, size * (0.15 + 0.25 * heat.min(1.0)));
                let halo = Rect::new(bar.x - wide, bar.y - high, bar.w + 2.0 * wide, bar.h + 2.0 * high);
                paint.fill(halo, size * 0.3, red, 0.1 + 0.35 * heat.min(1.0));
            }
            paint.outline(bar, 1.0, p.edge, 1.0, 1.0);
            let third = bar.w / 3.0;
            for i in 1..3 {
                let x = bar.x + third * i as f32;
                paint.line(&[(x, bar.y), (x, bar.bottom())], p.edge, 1.0, 1.0);
            }
        }
        let text_x = r.x + size * 1.2 + t * 0.5;
        let tags = Type { size: t * 0.75, mono: true, strong: false };
        let mut right = r.right();
        let owner = object
            .holder
            .map(|(cpu, _)| cpu)
            .or((object.owner != CpuId::MAX && !group.lock).then_some(object.owner));
        if let Some(owner) = owner {
            right = self.cpu_tag(owner, (right, y), tags, p.ink_2, !group.lock, p, paint);
        }
        if object.waiting() > 0 {
            // What the name leaves, or what a tag and the number of the others need.
            let whole = text_x + face.width(&group.class) + t * 0.5;
            let left = whole.min(right - tags.size * 4.2).max(text_x + t * 2.0);
            let queue = f32::from(object.waiting()) * tags.size * 2.1;
            let times = tags.size * 5.0;
            let timed = right - left >= queue.min(tags.size * 4.2) + times;
            let stop = if timed { left + times } else { left };
            let first = self.waiters(scene, id, (right, y), stop, tags, p, paint);
            if let Some(ns) = first.filter(|_| timed) {
                let at = (stop.max(right - queue) - t * 0.2, y);
                paint.text(&words::span(ns as f64), at, Align::Right, tags, red, 1.0);
            }
            right = left;
        } else if let Some(moved) = object.transfer.filter(|m| m.at_ns + LATELY_NS > scene.now_ns()) {
            // The price of its last move, in full where the name leaves room.
            let short = words::span(moved.cost_ns.into());
            let long = format!("{} {short}", moved.distance(scene.topology()).words());
            let room = right - text_x - face.width(&group.class) - t * 1.8;
            let text = [long, short].into_iter().find(|text| tags.width(text) <= room);
            if let Some(text) = text {
                let colour = price_tone(&moved, scene, p);
                let w = tags.width(&text);
                paint.text(&text, (right - t * 0.9, y), Align::Right, tags, colour, 1.0);
                // An arrow into the owner's tag.
                let tip = right - t * 0.1;
                let back = |side: f32| (tip - t * 0.3, y + side * t * 0.25);
                paint.line(&[(tip - t * 0.6, y), (tip, y)], colour, 1.0, 1.2);
                paint.line(&[back(-1.0), (tip, y), back(1.0)], colour, 1.0, 1.2);
                right -= w + t * 0.9;
            }
        }
        let name = face.fit(&group.class, right - text_x - t * 0.3);
        let ink = if heat > 0.3 { red } else { p.ink_2 };
        paint.text(&name, (text_x, y), Align::Left, face, ink, 1.0);
    }
}

/// The lock or line of a group that deserves attention: most waiters, then held, then hottest.
pub(super) fn hottest<'a>(scene: &'a Scene, group: &Group) -> Option<(ObjectId, &'a Object)> {
    let now = scene.now_ns();
    let key = |o: &Object| (o.waiting(), o.holder.is_some(), (o.hot(now, scene.half_ns()) * 1e6) as u64);
    let all = group.objects.iter().filter_map(|&id| Some((id, scene.objects().get(id as usize)?)));
    all.max_by_key(|(_, o)| key(o))
}

/// How far the bar of a CPU that spins has grown, 0 to 1: a quarter for each power of ten from 10 ns to 100 µs, so that it
/// grows visibly at once and still tells a long wait from a short one.
pub(super) fn spun_share(ns: u64) -> f32 {
    ((ns.max(10) as f32 / 10.0).log10() / 4.0).min(1.0)
}

/// Colour of a line's move by its distance: within a cache, or farther.
pub(super) fn price_tone(moved: &Transfer, scene: &Scene, p: &Palette) -> Rgb {
    let far = moved.distance(scene.topology()) >= Distance::Cache;
    p.tone(if far { Tone::Trouble } else { Tone::Queued })
}

/// A CPU number as text without allocating.
pub(super) struct Number([u8; 5], usize);

impl Number {
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0[self.1..]).unwrap_or("")
    }
}

pub(super) fn cpu_number(cpu: CpuId) -> Number {
    let mut digits = Number([b'0'; 5], 5);
    let mut rest = cpu;
    loop {
        digits.1 -= 1;
        digits.0[digits.1] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return digits;
        }
    }
}
