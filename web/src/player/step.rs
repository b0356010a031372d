//! Steps: to the next or previous event that changes the picture, to the next stage of one request.

use super::{Player, STEP_BUDGET_EVENTS, checkpoint};
use mqscope_core::event::{Kind, RqId};

impl Player {
    /// To the next event that changes the picture, and stands there.
    pub fn step_event(&mut self) {
        self.playing = false;
        self.finish_seek();
        for _ in 0..STEP_BUDGET_EVENTS {
            match self.apply_next(self.scenario.duration_ns) {
                Some(event) if changes_picture(&event.kind) => return,
                Some(_) => {}
                None => return self.head.scene.pass_to(self.duration_ns()),
            }
        }
    }

    /// To the previous event that changed the picture, and stands there.
    pub fn step_back(&mut self) {
        self.playing = false;
        self.finish_seek();
        // Events are numbered from 1; the state after event n is position n. The last shown event is what stands on the
        // screen now, unless time has passed since.
        let last = self.shown_before(self.head.seq + 1);
        let target = match last {
            Some((seq, at_ns)) if (seq, at_ns) == (self.head.seq, self.now_ns()) => self.shown_before(seq),
            _ => last,
        };
        self.go_to_seq(target.map_or(0, |(seq, _)| seq));
    }

    /// Until the next stage of this request (its next event, or the next stage inside the device), and stands there.
    pub fn step_stage(&mut self, rq: RqId) {
        self.playing = false;
        self.finish_seek();
        let end = self.scenario.duration_ns;
        for _ in 0..STEP_BUDGET_EVENTS {
            let span = self.head.scene.request(rq).and_then(|r| r.next_span_ns(self.now_ns()));
            match (self.apply_next(span.unwrap_or(end)), span) {
                (Some(event), _) if concerns(&event.kind, rq) => return,
                (Some(_), _) => {}
                (None, Some(span)) => return self.head.scene.pass_to(span),
                (None, None) => return,
            }
        }
    }

    /// The last event before number `upper` that changed the picture, and its time: from the ring, or found by
    /// re-simulation from ever earlier checkpoints.
    fn shown_before(&self, upper: u64) -> Option<(u64, u64)> {
        let numbered = self.recent.iter().rev().zip((0..=self.recent_end).rev());
        let kept = numbered
            .filter(|(e, seq)| *seq < upper && changes_picture(&e.kind))
            .map(|(e, seq)| (seq, e.at_ns));
        if let Some(found) = { kept }.next() {
            return Some(found);
        }
        let mut upper = upper.min(self.recent_end - self.recent.len() as u64 + 1);
        while upper > 1 {
            let mut cursor = self.checkpoints.before_seq(upper - 2)?.cursor();
            let (start, mut found) = (cursor.seq, None);
            while cursor.seq + 1 < upper {
                let event = cursor.apply_next(&self.changes, self.scenario.duration_ns)?;
                if changes_picture(&event.kind) {
                    found = Some((cursor.seq, event.at_ns));
                }
            }
            if found.is_some() || start == 0 {
                return found;
            }
            upper = start + 1;
        }
        None
    }

    /// To event number `event` (they count from 1), and stands behind it; at the end if there are fewer.
    pub fn go_to_event(&mut self, event: u64) {
        self.playing = false;
        self.seeking = None;
        self.go_to_seq(event);
    }

    pub(super) fn go_to_seq(&mut self, seq: u64) {
        self.jumps += 1;
        let Some(cursor) = self.checkpoints.before_seq(seq).map(|c| c.cursor()) else { return };
        self.restore(cursor);
        self.near_from = seq.saturating_sub(checkpoint::NEAR_EVENTS);
        while self.head.seq < seq && self.advance(self.scenario.duration_ns) {}
    }
}

/// Whether an event moves or marks something that a viewer sees; the others (uncontended locks, lines, contexts)
/// are too many to be worth a step.
pub fn changes_picture(kind: &Kind) -> bool {
    match kind {
        Kind::LockAcquire { wait_ns, .. } => *wait_ns > 0,
        Kind::LockRelease { .. }
        | Kind::LineTransfer { .. }
        | Kind::ContextBegin
        | Kind::ContextEnd
        | Kind::SyscallEnter { .. }
        | Kind::SyscallExit
        | Kind::FileLockAcquire { wait_ns: 0, .. }
        | Kind::FileLockRelease { .. }
        | Kind::WbtLimits { .. }
        | Kind::PageWrite { .. }
        | Kind::PageRead { .. }
        | Kind::Complete { rq: 0, .. }
        | Kind::SleepRequest { .. }
        | Kind::GetRequest { rq: 0, .. } => false,
        _ => true,
    }
}

/// The request an event is about, if it is about one.
pub fn request(kind: &Kind) -> Option<RqId> {
    match *kind {
        Kind::BackMerge { rq, .. }
        | Kind::FrontMerge { rq, .. }
        | Kind::GetRequest { rq, .. }
        | Kind::Insert { rq, .. }
        | Kind::Issue { rq, .. }
        | Kind::Requeue { rq, .. }
        | Kind::Complete { rq, .. }
        | Kind::RequestMerge { rq, .. }
        | Kind::SchedTagAlloc { rq, .. }
        | Kind::PoolAlloc { rq, .. }
        | Kind::PoolFree { rq, .. }
        | Kind::SchedTagFree { rq, .. }
        | Kind::NoDriverTag { rq, .. }
        | Kind::FlushPending { rq, .. }
        | Kind::FlushStart { rq, .. }
        | Kind::RequeueListAdd { rq, .. }
        | Kind::TagAlloc { rq, .. }
        | Kind::TagFree { rq, .. }
        | Kind::PlugAdd { rq, .. }
        | Kind::DispatchListAdd { rq, .. }
        | Kind::Dequeue { rq, .. }
        | Kind::Polled { rq, .. }
        | Kind::DeviceStage { rq, .. } => (rq != 0).then_some(rq),
        _ => None,
    }
}

/// Whether an event is about this request. A stage is met when it begins, not when it is decided.
pub fn concerns(kind: &Kind, wanted: RqId) -> bool {
    !matches!(kind, Kind::DeviceStage { .. }) && request(kind) == Some(wanted)
}
