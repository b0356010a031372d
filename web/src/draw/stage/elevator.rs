//! The scheduler's box: its name, what is queued in sector order, what is next, sched tags.

use super::Stage;
use crate::draw::layout::ElevatorBox;
use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::{Palette, Tone};
use crate::scene::{Scene, Standing};
use mqscope_core::scenario::Path;
use mqscope_core::topology::Topology;

impl Stage {
    pub(super) fn ground_elevator(
        &self,
        topology: &Topology,
        at: &ElevatorBox,
        p: &Palette,
        paint: &mut impl Paint,
    ) {
        let t = self.layout.text;
        let queue = &topology.queues[at.queue as usize];
        paint.outline(at.rect, t * 0.5, p.edge, 0.75, 1.0);
        let name = Type { size: t, mono: true, strong: true };
        let text = name.fit(&queue.scheduler, at.title.w);
        paint.text(&text, (at.title.x, at.title.centre().1), Align::Left, name, p.ink, 1.0);
        let label = Type { size: t * 0.85, mono: false, strong: false };
        for (list, (long, short)) in at.lists.iter().zip([("reads", "R"), ("writes", "W")]) {
            paint.fill(*list, list.w.min(list.h).min(t) * 0.25, p.sunken, 1.0);
            let (word, place) = if at.upright {
                (long, (list.x, list.y - t * 0.75))
            } else {
                (short, (list.x - t * 1.1, list.centre().1))
            };
            // Where boxes are too flat for a line of text, the box's name in words must do.
            if at.upright || list.h >= label.size {
                paint.text(&label.fit(word, list.w.max(t)), place, Align::Left, label, p.ink_3, 1.0);
            }
        }
    }

    pub(super) fn live_elevator(&self, scene: &Scene, at: &ElevatorBox, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        let topology = scene.topology();
        let Some(queue) = topology.queues.get(at.queue as usize) else { return };
        let queued = scene.standing_len(Standing::Elevator(at.queue));
        let used = scene.queues().get(at.queue as usize).map_or(0, |q| q.sched_tags);
        // The legacy pool has so many for each of synchronous and asynchronous.
        let of = if queue.path == Path::Mq { queue.nr_requests * at.tag_sets } else { 2 * queue.nr_requests };
        let next = self.next_in(scene, at);
        let face = Type { size: t * 0.85, mono: true, strong: false };
        let ink = if used >= of { p.tone(Tone::Trouble) } else { p.ink_2 };
        if at.upright {
            let f = at.foot;
            let line = |k: f32| f.y + f.h * (k + 0.5) / 3.0;
            let words = Type { mono: false, ..face };
            let mut row = |k: f32, word: &str, value: &str, ink| {
                let x = f.right() - face.width(value);
                paint.text(value, (f.right(), line(k)), Align::Right, face, ink, 1.0);
                let word = words.fit(word, x - f.x - t * 0.3);
                paint.text(&word, (f.x, line(k)), Align::Left, words, p.ink_3, 1.0);
            };
            row(0.0, "queued", &queued.to_string(), p.ink_2);
            row(1.0, "next", &next.map_or_else(|| String::from("none"), |(rq, _)| rq.to_string()), p.ink_2);
            let tags = if queue.path == Path::Mq { "sched tags" } else { "pool" };
            row(2.0, tags, &format!("{used}/{of}"), ink);
        } else if at.title.h >= face.size {
            let next = next.map(|(rq, _)| format!("next {rq}, ")).unwrap_or_default();
            let whole = format!("{queued} queued, {next}{used}/{of}");
            paint.text(
                &face.fit(&whole, at.foot.w),
                (at.foot.right(), at.foot.centre().1),
                Align::Right,
                face,
                ink,
                1.0,
            );
        }
        for group in &at.groups {
            self.live_group(scene, group, p, paint);
        }
    }

    /// A wedge at the request that the scheduler would send next.
    pub(super) fn live_next(&self, scene: &Scene, p: &Palette, paint: &mut impl Paint) {
        for at in &self.layout.elevators {
            let Some((_, (x, y))) = self.next_in(scene, at) else { continue };
            let d = self.layout.dot;
            if at.upright {
                let tip = x + d * 1.5;
                let side = (tip + d * 1.3, d);
                paint.line(&[(side.0, y - side.1), (tip, y), (side.0, y + side.1)], p.ink, 1.0, 2.0);
            } else {
                let tip = y + d * 1.4;
                paint.line(&[(x - d, tip + d * 1.2), (x, tip), (x + d, tip + d * 1.2)], p.ink, 1.0, 2.0);
            }
        }
    }

    /// The announced request, if it still stands in this scheduler, and where it is drawn.
    fn next_in(&self, scene: &Scene, at: &ElevatorBox) -> Option<(u32, (f32, f32))> {
        let rq = *self.next.get(at.queue as usize).filter(|rq| **rq != 0)?;
        let slot = scene.slot_of(rq)?;
        let request = scene.at(slot)?;
        let here = Standing::of(request) == Standing::Elevator(at.queue);
        let point = self.point_of(slot).unwrap_or_else(|| Rect::centre(&at.lists[0]));
        here.then_some((rq, point))
    }
}
