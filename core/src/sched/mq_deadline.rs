//! mq-deadline (`block/mq-deadline.c`): the deadline algorithm under one `dd->lock` for the disk, with a limit on the
//! sched tags of writes.

use super::deadline_core::{Deadline, INT_MAX};
use super::*;
use crate::kernel::DeadlineDepth;

/// State of mq-deadline for one disk.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    core: Deadline,
    /// `dd->async_depth`; kept and without effect where the kernel has none.
    async_depth: u32,
}

impl Policy {
    pub(crate) fn new(cx: Cx<'_>) -> Self {
        let core = Deadline::new(cx.knobs.deadline_prio, cx.knobs.deadline_next);
        // Nothing has changed yet, so the previous nr_requests is the present one.
        Self { core, async_depth: async_depth(cx, cx.disk.nr_requests) }
    }
}

/// `dd_depth_updated`. Kernels with `DeadlineDepth::ThreeQuartersOfWord` show three quarters of a word in sysfs; here it
/// is the same share of nr_requests.
fn async_depth(cx: Cx<'_>, before: u32) -> u32 {
    let nr_requests = cx.disk.nr_requests;
    match cx.knobs.deadline_async_depth {
        DeadlineDepth::ThreeQuarters | DeadlineDepth::ThreeQuartersOfWord => nr_requests * 3 / 4,
        DeadlineDepth::PreviousNrRequests => before,
        DeadlineDepth::None | DeadlineDepth::NrRequests => nr_requests,
    }
    .max(1)
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking {
            dispatch_name: "dd->lock",
            dispatch: LockAt::Queue,
            insert_name: "dd->lock",
            insert: LockAt::Queue,
            insert_each: false,
            counts_until_done: false,
            completion: false,
            queue_lock: false,
            lines: &[],
            lists: Lists { counts_completions: self.core.counts_completions(), ..Lists::DEADLINE },
        }
    }

    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, _out: &mut Out) {
        self.core.insert(cx.now, rq, at_head);
    }

    fn dispatch(&mut self, cx: Cx<'_>, _hctx: u16, out: &mut Out) -> Option<u32> {
        let pick = self.core.dispatch(cx.now)?;
        out.sweep = self.core.sweep(&pick);
        Some(pick.slot)
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        self.core.has_work()
    }

    fn completed(&mut self, _cx: Cx<'_>, done: &Done, _out: &mut Out) {
        self.core.completed(done.rq.slot);
    }

    /// `dd_limit_depth`, `dd_to_word_depth`: reads are not limited.
    fn shallow_depth(&self, cx: Cx<'_>, op: Op, sync: bool, word_bits: u32) -> Option<u32> {
        if sync && !op.is_write() {
            return None;
        }
        match cx.knobs.deadline_async_depth {
            DeadlineDepth::None => None,
            DeadlineDepth::ThreeQuarters => Some(self.async_depth),
            DeadlineDepth::ThreeQuartersOfWord
            | DeadlineDepth::PreviousNrRequests
            | DeadlineDepth::NrRequests => {
                let bits = u64::from(self.async_depth) << word_bits;
                let depth = bits.div_ceil(u64::from(cx.disk.nr_requests.max(1)));
                Some(u32::try_from(depth).unwrap_or(u32::MAX))
            }
        }
    }

    fn depth_updated(&mut self, cx: Cx<'_>, before: u32) {
        self.async_depth = async_depth(cx, before);
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

    fn tunables(&self, cx: Cx<'_>) -> Vec<Tunable> {
        let mut all = self.core.tunables();
        if cx.knobs.deadline_async_depth != DeadlineDepth::None {
            all.push(Tunable {
                name: "async_depth",
                value: self.async_depth.into(),
                range: (1, INT_MAX),
                unit: "",
                help: "Requests that writes may hold of nr_requests (dd_limit_depth).",
            });
        }
        all
    }

    fn set(&mut self, name: &str, value: u64) {
        match name {
            "async_depth" => self.async_depth = value as u32,
            _ => self.core.set(name, value),
        }
    }

    fn break_batch(&mut self) {
        self.core.break_batch();
    }

    fn view(&self, cx: Cx<'_>) -> View {
        let mut view = self.core.view(cx.now, "mq-deadline");
        if cx.knobs.deadline_async_depth != DeadlineDepth::None {
            view.facts.push(("async_depth".into(), self.async_depth.to_string()));
        }
        view
    }
}
