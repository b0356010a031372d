//! The scheduler block: one box for each disk that has one.

use super::blocks::groups_at;
use super::{Activity, ElevatorBox, Layout};
use crate::draw::paint::Rect;
use mqscope_core::event::QueueId;
use mqscope_core::topology::{Site, Topology};
use std::collections::BTreeSet;

/// Rows of locks and lines at one box.
const GROUPS_MAX: usize = 3;

/// Disks with a scheduler.
pub(super) fn scheduled(topology: &Topology) -> impl Iterator<Item = QueueId> {
    topology.queues.iter().enumerate().filter(|(_, q)| q.scheduler != "none").map(|(i, _)| i as QueueId)
}

impl Layout {
    pub(super) fn place_elevators(&mut self, topology: &Topology, activity: &Activity, area: Rect) {
        let count = scheduled(topology).count() as f32;
        let gap = (self.text * 0.5).min(area.h / count.max(1.0) * 0.3);
        let room = (area.h - gap * (count - 1.0)).max(0.0) / count.max(1.0);
        let h = room.min(self.text * if self.narrow { 5.4 } else { 27.0 });
        let mut y = area.y;
        for queue in scheduled(topology) {
            let rect = Rect::new(area.x, y, area.w, h);
            self.elevators.push(self.divide_elevator(topology, activity, queue, rect));
            y += h + gap;
        }
    }

    fn divide_elevator(
        &self,
        topology: &Topology,
        activity: &Activity,
        queue: QueueId,
        rect: Rect,
    ) -> ElevatorBox {
        let t = self.text;
        let upright = !self.narrow && rect.h >= t * 11.0;
        let mut rest = rect.inset(if upright { t * 0.7 } else { t * 0.4 });
        let mut groups = groups_at(topology, activity, |s| s == Site::Elevator(queue));
        let mut title = rest.take_top(t * 1.5);
        let (foot, lists);
        if upright {
            let rows = (((rest.h - t * 9.0) / (t * 1.5)) as usize).min(groups.len()).min(GROUPS_MAX);
            groups.truncate(rows);
            for group in groups.iter_mut().rev() {
                group.rect = rest.take_bottom(t * 1.5);
            }
            foot = rest.take_bottom(t * 4.6);
            // Their captions stand above them.
            rest.take_top(t * 1.4);
            rest.take_bottom(t * 0.4);
            let gap = t * 0.5;
            let left = rest.take_left((rest.w - gap) / 2.0);
            rest.take_left(gap);
            lists = [left, rest];
        } else {
            groups.clear();
            foot = title.take_right(title.w * 0.66);
            rest.take_left((t * 1.4).min(rest.w * 0.2));
            let gap = (rest.h * 0.1).min(t * 0.3);
            let above = rest.take_top((rest.h - gap) / 2.0);
            rest.take_top(gap);
            lists = [above, rest];
        }
        let sites: BTreeSet<u16> = topology
            .objects
            .iter()
            .filter(|o| o.class.contains("sched_tags"))
            .filter_map(|o| match o.site {
                Site::Tags(h) if topology.hctxs.get(h as usize).is_some_and(|x| x.queue == queue) => Some(h),
                _ => None,
            })
            .collect();
        let tag_sets = sites.len().max(1) as u32;
        ElevatorBox { queue, rect, title, lists, upright, foot, tag_sets, groups }
    }
}
