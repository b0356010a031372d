//! Where everything stands: the static map as plain rectangles, for the painter, for pointer hits, and for the
//! focusable elements that the page lays over the canvas.
//!
//! Wide: CPU lanes at the left, hctxs with their tags in the middle, devices at the right, the way back along the
//! bottom. Narrow (below [`NARROW_BELOW`]): the same blocks from top to bottom, the way back along the right edge.
//! Lanes that do nothing fold into one row a socket; if the busy ones do not fit either, the least busy fold too. The
//! lane and hctx of the selected request never fold.

mod blocks;
mod boxes;
mod elevators;
mod lanes;
mod types;

pub use types::*;

use super::paint::Rect;
use mqscope_core::event::{CpuId, HctxId, QueueId};
use mqscope_core::topology::Topology;

/// Stages narrower than this run from top to bottom, CSS pixels.
pub const NARROW_BELOW: f32 = 760.0;
/// Smallest stage that is laid out; anything smaller is treated as this.
pub const WIDTH_MIN: f32 = 240.0;
/// See [`WIDTH_MIN`].
pub const HEIGHT_MIN: f32 = 240.0;

/// The whole map.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Width, CSS pixels.
    pub width: f32,
    /// Height, CSS pixels.
    pub height: f32,
    /// Whether the way runs from top to bottom.
    pub narrow: bool,
    /// Base size of text.
    pub text: f32,
    /// Radius of a plain request.
    pub dot: f32,
    /// Captions.
    pub headings: Vec<Heading>,
    /// Lanes block.
    pub lanes: Vec<Lane>,
    /// Row of each CPU.
    pub lane_of: Vec<u16>,
    /// Hctxs.
    pub hctxs: Vec<HctxBox>,
    /// Box of each hctx.
    pub box_of: Vec<u16>,
    /// Schedulers, of those disks that have one.
    pub elevators: Vec<ElevatorBox>,
    /// Devices, by queue.
    pub devices: Vec<DeviceBox>,
    /// The way back, from the devices to the lanes.
    pub back: Vec<(f32, f32)>,
    /// Where arcs of line transfers are drawn: between the lane labels and the left edge.
    pub arcs: Rect,
    /// Locks of the ctx lists, by row.
    pub ctx_groups: Vec<Group>,
    /// All requests take the legacy path: there are no ctx lists and no hctxs, and a box stands for a `request_queue`.
    pub legacy: bool,
}

impl Layout {
    /// Lays a stage out.
    pub fn new(topology: &Topology, activity: &Activity, width: f32, height: f32, pinned: Pinned) -> Self {
        let (width, height) = (width.max(WIDTH_MIN), height.max(HEIGHT_MIN));
        let narrow = width < NARROW_BELOW;
        // Type and marks grow slowly with the stage: a wall needs larger ones, but not in proportion.
        // A small machine leaves room for larger ones.
        let sparse =
            !narrow && topology.cpus.len() <= 6 && topology.hctxs.len() <= 2 && topology.queues.len() <= 2;
        let scale = if narrow { 1.0 } else { (width.min(height * 1.9) / 1200.0).powf(0.9).clamp(0.96, 2.2) };
        let scale = if sparse { scale * (width / 1_000.0).clamp(1.0, 1.2) } else { scale };
        let mut layout = Self {
            width,
            height,
            narrow,
            text: if narrow { 11.5 } else { 12.0 * scale },
            dot: if narrow { 3.4 } else { 4.0 * scale * if sparse { 1.2 } else { 1.0 } },
            headings: Vec::new(),
            lanes: Vec::new(),
            lane_of: Vec::new(),
            hctxs: Vec::new(),
            box_of: Vec::new(),
            elevators: Vec::new(),
            devices: Vec::new(),
            back: Vec::new(),
            arcs: Rect::default(),
            ctx_groups: Vec::new(),
            legacy: !topology.hctxs.is_empty()
                && (0..topology.hctxs.len() as HctxId).all(|h| topology.is_legacy(h)),
        };
        if narrow {
            layout.stack(topology, activity, pinned);
        } else {
            layout.spread(topology, activity, pinned);
        }
        layout
    }

    /// From left to right.
    fn spread(&mut self, topology: &Topology, activity: &Activity, pinned: Pinned) {
        let unit = self.text;
        let mut body = Rect::new(0.0, 0.0, self.width, self.height).inset(unit);
        let heads = body.take_top(unit * 2.0);
        let mut rail = body.take_bottom(unit * 2.2);
        // On a very high stage everything stays together instead of drifting apart.
        let spare = (body.h - unit * if topology.hctxs.len() < 2 { 42.0 } else { 76.0 }).max(0.0);
        body.take_bottom(spare);
        rail.y -= spare;
        self.arcs = body.take_left(unit * 3.8);
        let back = body.take_right(unit * 1.4);
        let gap = (self.width * 0.026).clamp(unit * 1.5, unit * 5.0);
        let whole = body.w;
        let scheduled = elevators::scheduled(topology).next().is_some();
        let lanes = body.take_left(whole * if scheduled { 0.38 } else { 0.47 });
        body.take_left(gap);
        if scheduled {
            let area = body.take_left(whole * 0.145);
            body.take_left(gap);
            self.place_elevators(topology, activity, area);
            self.head("scheduler", Rect::new(area.x, heads.y, area.w, heads.h));
        }
        let middle = body.take_left(whole * if scheduled { 0.2 } else { 0.22 });
        body.take_left(gap);
        self.place_lanes(topology, activity, pinned, lanes);
        self.place_hctxs(topology, activity, pinned, middle);
        self.place_devices(topology, activity, body);
        if let Some(lane) = self.lanes.first().cloned() {
            let over = |r: Rect| Rect::new(r.x, heads.y, r.w, heads.h);
            self.head("CPU, what it runs", Rect { w: lane.label.w + lane.words.w, ..over(lane.label) });
            self.head("done", over(lane.done));
            self.head("plug", over(lane.plug));
            if !self.legacy {
                self.head("ctx list", over(lane.ctx));
            }
        }
        if let Some(first) = self.hctxs.first() {
            let (hctx, tags) = (first.rect, first.tags);
            let word = if self.legacy { "request_queue" } else { "hctx" };
            self.head(word, Rect::new(hctx.x, heads.y, tags.x - hctx.x, heads.h));
            self.head("tags", Rect::new(tags.x, heads.y, hctx.right() - tags.x, heads.h));
        }
        self.head("driver and device", Rect::new(body.x, heads.y, body.w, heads.h));
        let (bottom, left) = (rail.centre().1, self.arcs.x + unit * 0.5);
        let right = back.x + back.w * 0.6;
        let top = self.devices.first().map_or(body.y, |d| d.exit().centre().1);
        let up = self.lanes.first().map_or(body.y, |l| l.rect.centre().1);
        self.back = vec![(right, top), (right, bottom), (left, bottom), (left, up)];
    }

    /// From top to bottom.
    fn stack(&mut self, topology: &Topology, activity: &Activity, pinned: Pinned) {
        let unit = self.text;
        let mut body = Rect::new(0.0, 0.0, self.width, self.height).inset(unit * 0.5);
        let rail = body.take_right(unit * 1.2);
        self.arcs = body.take_left(unit * 1.0);
        let caption = unit * 1.7;
        let whole = body.h;
        let heads = body.take_top(caption);
        let queues = elevators::scheduled(topology).count();
        let lanes = body.take_top(whole * if queues > 0 { 0.33 } else { 0.42 } - caption);
        self.place_lanes(topology, activity, pinned, lanes);
        // Blocks below follow the lanes closely when there are few of them.
        let used = self.lanes.last().map_or(lanes.y, |l| l.rect.bottom());
        body.h += body.y - used;
        body.y = used;
        body.take_top(unit * 0.5);
        if queues > 0 {
            let head = body.take_top(caption);
            let area = body.take_top((whole * 0.2).min(queues as f32 * unit * 5.9));
            self.place_elevators(topology, activity, area);
            body.take_top(unit * 0.5);
            self.head("scheduler", head);
        }
        let hctx_head = body.take_top(caption);
        let line = unit * 3.4;
        let middle = body.take_top((whole * 0.24).min(topology.hctxs.len().min(64) as f32 * line));
        self.place_hctxs(topology, activity, pinned, middle);
        body.take_top(unit * 0.5);
        let device_head = body.take_top(caption);
        self.place_devices(topology, activity, body);
        if let Some(lane) = self.lanes.first().cloned() {
            let over = |r: Rect| Rect::new(r.x, heads.y, r.w, heads.h);
            self.head("CPU", over(lane.label));
            self.head("done", over(lane.done));
            self.head("plug", over(lane.plug));
            if !self.legacy {
                self.head("ctx list", over(lane.ctx));
            }
        }
        let words = if self.legacy { "request_queue, tags" } else { "hctx, dispatch list, tags" };
        self.head(words, hctx_head);
        self.head("driver and device", device_head);
        let x = rail.centre().0;
        let up = self.lanes.first().map_or(body.y, |l| l.rect.y);
        let down = self.devices.last().map_or(body.bottom(), |d| d.exit().centre().1);
        self.back = vec![(x, down), (x, up), (body.right(), up)];
    }

    fn head(&mut self, text: &'static str, rect: Rect) {
        self.headings.push(Heading { text, rect });
    }

    /// The row of a CPU.
    pub fn lane(&self, cpu: CpuId) -> Option<&Lane> {
        self.lane_of.get(cpu as usize).and_then(|&row| self.lanes.get(row as usize))
    }

    /// The box of an hctx.
    pub fn hctx(&self, hctx: HctxId) -> Option<&HctxBox> {
        self.box_of.get(hctx as usize).and_then(|&at| self.hctxs.get(at as usize))
    }

    /// The box of a queue's scheduler.
    pub fn elevator(&self, queue: QueueId) -> Option<&ElevatorBox> {
        self.elevators.iter().find(|e| e.queue == queue)
    }

    /// All groups of locks and lines.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        let hctxs = self.hctxs.iter().flat_map(|h| &h.groups);
        let elevators = self.elevators.iter().flat_map(|e| &e.groups);
        self.ctx_groups
            .iter()
            .chain(elevators)
            .chain(hctxs)
            .chain(self.devices.iter().flat_map(|d| &d.groups))
    }
}

#[cfg(test)]
mod tests;
