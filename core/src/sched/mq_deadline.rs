//! mq-deadline (being written).

use super::*;
use std::collections::VecDeque;

/// Queued requests in order of arrival.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    fifo: VecDeque<SchedRq>,
}

impl Policy {
    pub(crate) fn new(_cx: Cx<'_>) -> Self {
        Self { fifo: VecDeque::new() }
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking {
            dispatch_name: "dd->lock",
            dispatch: LockAt::Queue,
            insert_name: "dd->lock",
            insert: LockAt::Queue,
            insert_each: false,
            completion: false,
            lines: &[],
        }
    }

    fn insert(&mut self, _cx: Cx<'_>, rq: SchedRq, _at_head: bool, _out: &mut Out) {
        self.fifo.push_back(rq);
    }

    fn dispatch(&mut self, _cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        self.fifo.pop_front().map(|rq| rq.slot)
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        !self.fifo.is_empty()
    }

    fn view(&self, _cx: Cx<'_>) -> View {
        View::default()
    }
}
