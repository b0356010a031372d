//! noop (`block/noop-iosched.c`): a queue, first in, first out. Merging is left to the elevator core, which finds what a
//! bio or request continues; a request's neighbours in the queue count as its neighbours.

use super::*;
use std::collections::VecDeque;

/// State of noop for one disk.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    /// `nd->queue`.
    queue: VecDeque<SchedRq>,
}

impl Policy {
    pub(crate) fn new(_cx: Cx<'_>) -> Self {
        Self { queue: VecDeque::new() }
    }

    fn place(&self, slot: u32) -> Option<usize> {
        self.queue.iter().position(|rq| rq.slot == slot)
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking::LEGACY
    }

    /// `noop_add_request`; insertion at the head goes past every legacy scheduler.
    fn insert(&mut self, _cx: Cx<'_>, rq: SchedRq, _at_head: bool, _out: &mut Out) {
        self.queue.push_back(rq);
    }

    fn dispatch(&mut self, _cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        self.queue.pop_front().map(|rq| rq.slot)
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        !self.queue.is_empty()
    }

    /// `noop_former_request`.
    fn former(&self, slot: u32) -> Option<u32> {
        let before = self.place(slot)?.checked_sub(1)?;
        self.queue.get(before).map(|rq| rq.slot)
    }

    /// `noop_latter_request`.
    fn latter(&self, slot: u32) -> Option<u32> {
        self.queue.get(self.place(slot)? + 1).map(|rq| rq.slot)
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        if let Some(rq) = self.queue.iter_mut().find(|rq| rq.slot == slot) {
            (rq.sector, rq.sectors) = (sector, sectors);
        }
    }

    /// `noop_merged_requests`.
    fn absorbed(&mut self, _cx: Cx<'_>, _slot: u32, gone: u32) {
        if let Some(at) = self.place(gone) {
            self.queue.remove(at);
        }
    }

    fn view(&self, _cx: Cx<'_>) -> View {
        let item =
            |rq: &SchedRq| Item { rq: rq.id, sector: rq.sector, sectors: rq.sectors, note: String::new() };
        let next = self.queue.front().map_or(0, |rq| rq.id);
        View {
            scheduler: "noop".into(),
            next,
            why: if next == 0 { "nothing is queued" } else { "it was inserted first" }.into(),
            facts: Vec::new(),
            groups: vec![Group {
                name: "queue".into(),
                note: String::new(),
                items: self.queue.iter().take(VIEW_MAX).map(item).collect(),
                total: self.queue.len() as u32,
            }],
        }
    }
}
