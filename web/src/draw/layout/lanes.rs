//! The lanes block: which CPUs get a row, and how a row is divided.

use super::{Activity, Group, Lane, Layout, Pinned, Row};
use crate::draw::paint::Rect;
use mqscope_core::event::CpuId;
use mqscope_core::topology::{Object, ObjectKind, Site, Topology};

impl Layout {
    pub(super) fn place_lanes(
        &mut self,
        topology: &Topology,
        activity: &Activity,
        pinned: Pinned,
        area: Rect,
    ) {
        let lowest = self.text * 1.5;
        let highest = self.text * if self.narrow { 2.6 } else { 7.0 };
        let most = ((area.h / lowest) as usize).max(2);
        let rows = choose_rows(topology, activity, pinned, most);
        let gaps = rows.windows(2).filter(|w| socket(topology, &w[0]) != socket(topology, &w[1])).count();
        let gap = self.text * 0.8;
        let room = area.h - gaps as f32 * gap;
        // A fold is a line of text and needs no tray.
        let folds = rows.iter().filter(|r| matches!(r, Row::Fold { .. })).count() as f32;
        let cpus = rows.len() as f32 - folds;
        let fold_h = lowest.min(room / (cpus + folds).max(1.0));
        let row_h = ((room - folds * fold_h) / cpus.max(1.0)).min(highest);
        let mut y = area.y;
        self.dot = self.dot.min(row_h * 0.24);
        self.lane_of = vec![0; topology.cpus.len()];
        for (i, row) in rows.iter().enumerate() {
            if i > 0 && socket(topology, &rows[i - 1]) != socket(topology, row) {
                y += gap;
            }
            let h = if matches!(row, Row::Fold { .. }) { fold_h } else { row_h };
            let lane = self.divide(row.clone(), Rect::new(area.x, y, area.w, h));
            y += h;
            self.lanes.push(lane);
        }
        for (cpu, at) in self.lane_of.iter_mut().enumerate() {
            let own = rows.iter().position(|r| *r == Row::Cpu(cpu as CpuId));
            let fold = || {
                let of =
                    |r: &Row| matches!(r, Row::Fold { socket, .. } if *socket == topology.cpus[cpu].socket);
                rows.iter().position(of)
            };
            *at = own.or_else(fold).unwrap_or(0) as u16;
        }
        self.group_ctx_locks(topology);
    }

    fn divide(&self, row: Row, rect: Rect) -> Lane {
        let t = self.text;
        let mut rest = rect;
        let label = rest.take_left(t * 2.2);
        let inner = rest.w;
        let (words, done, submit, lock);
        if self.narrow {
            words = rest.take_left(0.0);
            done = rest.take_left(inner * 0.18);
            submit = rest.take_left(t * 1.3);
            lock = t * 2.6;
        } else {
            // A scheduler takes the place of the ctx lists: their locks need less room, and the lanes have less.
            let scheduled = !self.elevators.is_empty();
            words = rest.take_left((inner * 0.255).max(if scheduled { t * 9.0 } else { 0.0 }).min(t * 15.0));
            done = rest.take_left(inner * 0.15);
            submit = rest.take_left(t * 1.8);
            lock = t * if scheduled { 3.6 } else { 6.0 };
        }
        // The legacy path has no lists of CPUs.
        let (lock, share) = if self.legacy { (0.0, 1.0) } else { (lock, 0.46) };
        let plug = rest.take_left((rest.w - lock) * share);
        let lock = rest.take_left(lock);
        let tray = |r: Rect| {
            let h = (r.h * 0.72).min(t * 2.6);
            Rect::new(r.x, r.y + (r.h - h) / 2.0, r.w, h)
        };
        Lane { row, rect, label, words, done: tray(done), submit, plug: tray(plug), lock, ctx: tray(rest) }
    }

    /// One group for each row, over the ctx locks of all queues of the row's CPUs.
    fn group_ctx_locks(&mut self, topology: &Topology) {
        self.ctx_groups = self
            .lanes
            .iter()
            .map(|lane| Group { class: String::new(), lock: true, objects: Vec::new(), rect: lane.lock })
            .collect();
        for (id, Object { class, kind, site, .. }) in topology.objects.iter().enumerate() {
            if let (Site::Ctx(cpu), ObjectKind::Lock, false) = (*site, *kind, self.legacy)
                && let Some(group) =
                    self.lane_of.get(cpu as usize).and_then(|&row| self.ctx_groups.get_mut(row as usize))
            {
                group.class.clone_from(class);
                group.objects.push(id as u32);
            }
        }
    }
}

fn socket(topology: &Topology, row: &Row) -> u16 {
    match row {
        Row::Cpu(cpu) => topology.cpus[*cpu as usize].socket,
        Row::Fold { socket, .. } => *socket,
    }
}

/// Rows in CPU order, at most `most` of them; what does not fit folds at the end of its socket.
fn choose_rows(topology: &Topology, activity: &Activity, pinned: Pinned, most: usize) -> Vec<Row> {
    let score = |cpu: usize| activity.cpus.get(cpu).copied().unwrap_or(0.0);
    let is_pinned = |cpu: usize| pinned.cpu == Some(cpu as CpuId);
    let mut wanted: Vec<usize> =
        (0..topology.cpus.len()).filter(|&cpu| score(cpu) > 0.0 || is_pinned(cpu)).collect();
    let sockets = topology.cpus.iter().map(|c| c.socket).max().map_or(0, |s| s as usize + 1);
    // With a handful of CPUs all are shown, idle or not: nothing is won by folding them.
    if topology.cpus.len() <= most.min(8) {
        wanted = (0..topology.cpus.len()).collect();
    }
    let folds = if wanted.len() == topology.cpus.len() && wanted.len() <= most { 0 } else { sockets };
    let room = most.saturating_sub(folds).max(1);
    if wanted.len() > room {
        wanted.sort_by(|&a, &b| {
            let key = |cpu: usize| (is_pinned(cpu), score(cpu));
            key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b))
        });
        wanted.truncate(room);
        wanted.sort_unstable();
    }
    let mut rows = Vec::with_capacity(wanted.len() + sockets);
    for socket in 0..sockets as u16 {
        let here = |cpu: &&usize| topology.cpus[**cpu].socket == socket;
        rows.extend(wanted.iter().filter(here).map(|&cpu| Row::Cpu(cpu as CpuId)));
        let hidden = (0..topology.cpus.len())
            .filter(|cpu| topology.cpus[*cpu].socket == socket && !wanted.contains(cpu))
            .collect::<Vec<_>>();
        if !hidden.is_empty() {
            let busy = hidden.iter().any(|&cpu| score(cpu) > 0.0);
            rows.push(Row::Fold { socket, count: hidden.len() as u16, busy });
        }
    }
    rows
}
