//! deadline (`block/deadline-iosched.c`): the deadline algorithm on the legacy path, under its one `q->queue_lock`.

use super::deadline_core::Deadline;
use super::*;
use crate::kernel::{DeadlineNext, DeadlinePrio};

/// State of deadline for one disk.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    core: Deadline,
}

impl Policy {
    pub(crate) fn new(_cx: Cx<'_>) -> Self {
        Self { core: Deadline::new(DeadlinePrio::Ignored, DeadlineNext::BatchPointer) }
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking { lists: Lists::DEADLINE, ..Locking::LEGACY }
    }

    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, _out: &mut Out) {
        self.core.insert(cx.now, rq, at_head);
    }

    fn dispatch(&mut self, cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        self.core.dispatch(cx.now).map(|pick| pick.slot)
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        self.core.has_work()
    }

    fn completed(&mut self, _cx: Cx<'_>, done: &Done, _out: &mut Out) {
        self.core.completed(done.rq.slot);
    }

    fn front(&self, _cx: Cx<'_>, bio: &SchedRq) -> Option<u32> {
        self.core.front(bio)
    }

    fn tree_len(&self, rq: &SchedRq) -> usize {
        self.core.tree_len(rq)
    }

    fn former(&self, slot: u32) -> Option<u32> {
        self.core.former(slot)
    }

    fn latter(&self, slot: u32) -> Option<u32> {
        self.core.latter(slot)
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        self.core.grown(slot, sector, sectors);
    }

    fn absorbed(&mut self, _cx: Cx<'_>, slot: u32, gone: u32) {
        self.core.absorbed(slot, gone);
    }

    fn tunables(&self, _cx: Cx<'_>) -> Vec<Tunable> {
        self.core.tunables()
    }

    fn set(&mut self, name: &str, value: u64) {
        self.core.set(name, value);
    }

    fn view(&self, cx: Cx<'_>) -> View {
        self.core.view(cx.now, "deadline")
    }
}
