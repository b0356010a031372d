//! The hctx and device blocks.

use super::{Activity, DeviceBox, Grid, Group, HctxBox, Layout, Pinned, TagView, UnitKind, Units};
use crate::draw::paint::Rect;
use mqscope_core::event::HctxId;
use mqscope_core::topology::{Object, ObjectKind, Queue, Site, Topology};

/// Cells smaller than this fold into a strip, CSS pixels.
const CELL_MIN: f32 = 3.0;

/// Rows of locks and lines at one box.
const GROUPS_MAX: usize = 5;

impl Layout {
    pub(super) fn place_hctxs(
        &mut self,
        topology: &Topology,
        activity: &Activity,
        pinned: Pinned,
        area: Rect,
    ) {
        let line = self.text * 1.9;
        let gap = self.text * 0.5;
        let most = (((area.h + gap) / (line + gap)) as usize).max(2);
        let shown = self.choose_hctxs(topology, activity, pinned, most);
        let folded = topology.hctxs.len() - shown.len();
        let fold_h = if folded > 0 { line } else { 0.0 };
        let count = shown.len().max(1) as f32;
        let room = area.h - fold_h - if folded > 0 { gap } else { 0.0 } - gap * (count - 1.0);
        let h = (room / count).min(self.text * if self.narrow { 3.0 } else { 27.0 });
        let mut y = area.y;
        self.box_of = vec![shown.len() as u16; topology.hctxs.len()];
        for (at, &hctx) in shown.iter().enumerate() {
            self.box_of[hctx as usize] = at as u16;
            let queue = topology.queues.get(topology.hctxs[hctx as usize].queue as usize);
            let rect = Rect::new(area.x, y, area.w, h);
            self.hctxs.push(self.divide_hctx(
                topology,
                activity,
                Some(hctx),
                queue.map_or(0, |q| q.nr_tags),
                rect,
            ));
            y += h + gap;
        }
        if folded > 0 {
            let rect = Rect::new(area.x, y, area.w, fold_h);
            let mut fold = self.divide_hctx(topology, activity, None, 0, rect);
            fold.folded = folded as u16;
            self.hctxs.push(fold);
        }
    }

    /// Hctxs that get a box, in the order of their lanes, so that lines from lanes to hctxs cross little.
    fn choose_hctxs(
        &self,
        topology: &Topology,
        activity: &Activity,
        pinned: Pinned,
        most: usize,
    ) -> Vec<HctxId> {
        let score = |h: &HctxId| activity.hctxs.get(*h as usize).copied().unwrap_or(0.0);
        let mut all: Vec<HctxId> = (0..topology.hctxs.len() as HctxId).collect();
        // A few are all shown; of many only those that have work.
        if all.len() > most.min(6) {
            all.sort_by(|a, b| {
                let key = |h: &HctxId| (pinned.hctx == Some(*h), score(h));
                key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
            });
            let busy = all.iter().filter(|h| score(h) > 0.0 || pinned.hctx == Some(**h)).count();
            all.truncate((if busy < all.len() { most - 1 } else { most }).min(busy.max(1)));
        }
        let row = |h: &HctxId| {
            let hctx = &topology.hctxs[*h as usize];
            let rows = hctx.cpus.iter().filter_map(|&c| self.lane_of.get(c as usize));
            (hctx.queue, rows.min().copied().unwrap_or(u16::MAX), *h)
        };
        all.sort_by_key(row);
        all
    }

    fn divide_hctx(
        &self,
        topology: &Topology,
        activity: &Activity,
        hctx: Option<HctxId>,
        nr_tags: u32,
        rect: Rect,
    ) -> HctxBox {
        let t = self.text;
        let compact = rect.h < t * 9.0;
        let mut rest = rect.inset(if compact { t * 0.3 } else { t * 0.7 });
        let groups =
            hctx.map(|h| groups_at(topology, activity, |s| s == Site::Hctx(h) || s == Site::Tags(h)));
        let mut groups = groups.unwrap_or_default();
        let (title, hand, dispatch, tags);
        if compact {
            let whole = rest.w;
            tags = rest.take_right(whole * 0.26);
            rest.take_right(t * 0.5);
            title = rest.take_left((t * 6.2).min(whole * 0.3));
            let lock = rest.take_left(t * 1.6);
            hand = rest.take_left(rest.w * 0.5);
            rest.take_left(t * 0.4);
            let h = rest.h.min(t * 1.8);
            dispatch = Rect::new(rest.x, rest.y + (rest.h - h) / 2.0, rest.w, h);
            groups.retain(|g| g.lock);
            if let Some(mut all) = groups.first().cloned() {
                all.objects = groups.iter().flat_map(|g| g.objects.iter().copied()).collect();
                all.rect = lock;
                groups = vec![all];
            }
        } else {
            let mut top = rest.take_top(t * 1.6);
            let rows = (((rest.h - t * 7.0) / (t * 1.5)) as usize).min(groups.len()).min(GROUPS_MAX);
            groups.truncate(rows);
            for group in groups.iter_mut().rev() {
                group.rect = rest.take_bottom(t * 1.5);
            }
            rest.take_bottom(t * 0.6);
            let share = top.w * 0.4;
            let mut right = rest.take_right(share);
            let over = top.take_right(share);
            rest.take_right(t * 0.8);
            title = top;
            right = Rect::new(right.x, over.y, right.w, right.bottom() - over.y);
            tags = Rect { h: right.h.min(t * 14.0), ..right };
            dispatch = rest.take_bottom((rest.h * 0.4).clamp(t * 1.8, t * 4.4));
            // Its caption stands above it.
            rest.take_bottom(t * 1.4);
            hand = rest;
        }
        let tag_view = if compact { TagView::Bar } else { tag_view(nr_tags, tags, t) };
        HctxBox { hctx, folded: 0, rect, title, hand, dispatch, tags, tag_view, compact, groups }
    }

    pub(super) fn place_devices(&mut self, topology: &Topology, activity: &Activity, area: Rect) {
        let gap = self.text * 0.8;
        let count = topology.queues.len().max(1) as f32;
        let gap = gap.min(area.h / count * 0.3);
        let h = ((area.h - gap * (count - 1.0)) / count).max(0.0);
        for (i, queue) in topology.queues.iter().enumerate() {
            let rect = Rect::new(area.x, area.y + i as f32 * (h + gap), area.w, h);
            let first = i == 0;
            let groups =
                groups_at(topology, activity, |s| s == Site::Queue(i as u16) || (first && s == Site::Host));
            self.devices.push(self.divide_device(i as u16, queue, groups, rect));
        }
    }

    fn divide_device(&self, queue: u16, info: &Queue, mut groups: Vec<Group>, rect: Rect) -> DeviceBox {
        let t = self.text;
        let small = rect.h < t * 9.0;
        let mut rest = rect.inset(if small { t * 0.4 } else { t * 0.8 });
        let title = rest.take_top(t * 1.6);
        let rows = if small {
            0
        } else {
            (((rest.h - t * 8.4) / (t * 1.5)) as usize).min(groups.len()).min(GROUPS_MAX)
        };
        groups.truncate(rows);
        for group in groups.iter_mut().rev() {
            group.rect = rest.take_bottom(t * 1.5);
        }
        if rows > 0 {
            rest.take_bottom(t * 0.5);
        }
        // Captions stand above the parts.
        if !small {
            rest.take_top(t * 1.5);
        }
        let gauge = rest.take_left(t * 1.0);
        rest.take_left(t * 0.7);
        let link = rest.take_right(t * 1.8);
        rest.take_right(t * 0.6);
        let whole = rest.w;
        let count = |name: &str| info.units.iter().find(|(label, _)| label == name).map(|(_, n)| *n);
        let (members, dies, channels) = (count("member"), count("die"), count("channel"));
        let platters = count("platter").filter(|_| members.is_none());
        let platter = platters.map(|_| rest.take_right(rest.h.min(whole * 0.6)));
        let outer = match (members, dies, channels) {
            (Some(n), Some(dies), _) => Some((UnitKind::FlashMembers, "member", n, Some(dies))),
            (Some(n), None, _) => Some((UnitKind::DiskMembers, "member", n, None)),
            (None, Some(dies), Some(n)) if n < dies => {
                Some((UnitKind::Channels, "channel", n, Some(dies.div_ceil(n))))
            }
            (None, Some(dies), _) => Some((UnitKind::Dies, "die", dies, None)),
            (None, None, _) => None,
        };
        let mut engine = if outer.is_some() { rest.take_left(whole * 0.25) } else { rest };
        // A rotating disk has the bar of its cache below the platter; the buffers of members are their own.
        let caches = count(if members.is_some() { "write-back cache" } else { "write buffer" }).is_some();
        let buffer = (caches && !small).then(|| {
            let buffer = engine.take_bottom(t * 1.3);
            engine.take_bottom(t * 0.4);
            buffer
        });
        let units = outer.map(|(kind, label, n, inner)| {
            rest.take_left(t * 0.6);
            let grid = even_grid(n, rest);
            let inner = inner.map(|dies| {
                let channels = kind == UnitKind::Channels;
                let mut cell = grid.cell(0).inset((t * 0.2).min(grid.cell.0.min(grid.cell.1) * 0.1));
                cell.take_top((cell.h * 0.24).min(t * if channels { 0.6 } else { 1.2 }));
                (String::from("die"), even_grid(dies, cell.inset(t * 0.1)))
            });
            // So many dies that one cell cannot be told from the next are one unit with a strip.
            let (grid, inner) = match (kind, inner) {
                (UnitKind::Dies, None) if grid.cell.0.min(grid.cell.1) < CELL_MIN => {
                    (even_grid(1, rest), Some((String::from("die"), grid)))
                }
                other => (grid, other.1),
            };
            let small = inner.as_ref().is_some_and(|(_, g)| g.cell.0.min(g.cell.1) < CELL_MIN);
            let count = if members.is_some() { n } else { dies.unwrap_or(n) };
            Units { kind, count, folded: small, label: label.into(), grid, inner }
        });
        let cell = units.as_ref().map_or(f32::MAX, |u: &Units| {
            let (w, h) = u.inner.as_ref().map_or(u.grid.cell, |(_, g)| g.cell);
            w.min(h)
        });
        let dot = self.dot.min((cell * 0.42).max(1.6));
        let engines = count("engine").unwrap_or(1).clamp(1, 64);
        DeviceBox { queue, rect, title, gauge, engine, engines, units, platter, buffer, link, dot, groups }
    }
}

/// The grid whose cells come nearest to squares.
fn even_grid(count: u32, area: Rect) -> Grid {
    let best = (1..=count.max(1))
        .min_by(|&a, &b| {
            let off = |columns: u32| {
                let rows = count.div_ceil(columns);
                let (w, h) = (area.w / columns as f32, area.h / rows as f32);
                let empty = (columns * rows - count) as f32 / count as f32;
                (w.max(0.1) / h.max(0.1)).ln().abs() + empty
            };
            off(a).total_cmp(&off(b))
        })
        .unwrap_or(1);
    let rows = count.div_ceil(best).max(1);
    let cell = (area.w / best as f32, area.h / rows as f32);
    Grid { count, rect: area, columns: best, cell }
}

/// The finest view whose cells can be seen.
fn tag_view(nr_tags: u32, area: Rect, text: f32) -> TagView {
    let grid = |count: u32, step: u32| {
        let mut best = (0u16, 0.0f32);
        for columns in (step..=128).step_by(step as usize).chain((count < 8).then_some(count.max(1))) {
            let rows = count.div_ceil(columns).max(1);
            let cell = (area.w / columns as f32).min((area.h - text * 1.8) / rows as f32).min(text * 1.1);
            if cell > best.1 || (cell == best.1 && columns < best.0.into()) {
                best = (columns as u16, cell);
            }
        }
        best
    };
    // Rows of whole bytes, as the bitmap's words are read.
    let (columns, cell) = grid(nr_tags, 8);
    if cell >= if nr_tags > 1_024 { 4.5 } else { 3.0 } {
        return TagView::Bits { columns, cell };
    }
    let (columns, cell) = grid(nr_tags.div_ceil(64), 2);
    if cell >= 3.0 { TagView::Words { columns, cell } } else { TagView::Bar }
}

/// Groups of objects that the run has touched, by class, locks first.
pub(super) fn groups_at(topology: &Topology, activity: &Activity, here: impl Fn(Site) -> bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let touched = |id: usize| activity.objects.get(id).copied().unwrap_or(activity.objects.is_empty());
    let here = |(id, object): &(usize, &Object)| here(object.site) && touched(*id);
    for (id, object) in topology.objects.iter().enumerate().filter(here) {
        match groups.iter_mut().find(|g| g.class == object.class) {
            Some(group) => group.objects.push(id as u32),
            None => groups.push(Group {
                class: object.class.clone(),
                lock: object.kind == ObjectKind::Lock,
                objects: vec![id as u32],
                rect: Rect::default(),
            }),
        }
    }
    groups.sort_by_key(|g| !g.lock);
    groups
}
