//! Checkpoints: copies of the run at rest, under one byte budget.

use super::cursor::Cursor;
use std::rc::Rc;

/// Bytes that all checkpoints of one player may take.
pub(super) const BUDGET_BYTES: usize = 16 << 20;
/// Log events between two checkpoints at first.
const SPACING: u64 = 4_096;
/// Checkpoints kept whatever they weigh, so that even a huge machine can go back.
const KEEP_MIN: usize = 4;

/// A copy of the run.
pub(super) struct Checkpoint {
    pub(super) cursor: Cursor,
    pub(super) seq: u64,
    at_ns: u64,
}

/// Copies in order of position. When the budget is spent, every second one is dropped and the spacing doubles: the
/// copies stay spread evenly over what was explored, whatever its length.
#[derive(Clone)]
pub(super) struct Checkpoints {
    list: Vec<Rc<Checkpoint>>,
    spacing: u64,
    bytes: usize,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { list: Vec::new(), spacing: SPACING, bytes: 0 }
    }
}

impl Checkpoints {
    /// Copies `cursor` if it is far enough from the checkpoints on both sides.
    pub(super) fn add_if_due(&mut self, cursor: &Cursor) {
        let after = self.list.partition_point(|c| c.seq <= cursor.seq);
        let far_before = after == 0 || cursor.seq - self.list[after - 1].seq >= self.spacing;
        let far_after = self.list.get(after).is_none_or(|c| c.seq - cursor.seq >= self.spacing);
        if far_before && far_after {
            self.add(cursor);
        }
    }

    /// Copies `cursor`.
    pub(super) fn add(&mut self, cursor: &Cursor) {
        let at = self.list.partition_point(|c| c.seq < cursor.seq);
        let checkpoint = Checkpoint { cursor: cursor.clone(), seq: cursor.seq, at_ns: cursor.scene.now_ns() };
        self.list.insert(at, Rc::new(checkpoint));
        self.bytes += cursor.bytes();
        while self.bytes > BUDGET_BYTES && self.list.len() > KEEP_MIN {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let mut keep = false;
        self.list.retain(|_| {
            keep = !keep;
            keep
        });
        self.spacing *= 2;
        self.bytes = self.list.iter().map(|c| c.cursor.bytes()).sum();
    }

    /// The last checkpoint at or before this position.
    pub(super) fn before_seq(&self, seq: u64) -> Option<&Checkpoint> {
        let after = self.list.partition_point(|c| c.seq <= seq);
        after.checked_sub(1).map(|i| &*self.list[i])
    }

    /// The last checkpoint at or before this time. Events at the time itself that it has not seen are still to come.
    pub(super) fn before_time(&self, ns: u64) -> Option<&Checkpoint> {
        let after = self.list.partition_point(|c| c.at_ns <= ns);
        self.list.get(after.saturating_sub(1)).map(|c| &**c)
    }

    /// Forgets what lies after this position.
    pub(super) fn drop_after(&mut self, seq: u64) {
        self.list.retain(|c| c.seq <= seq);
        self.bytes = self.list.iter().map(|c| c.cursor.bytes()).sum();
        if self.list.len() < KEEP_MIN {
            self.spacing = SPACING;
        }
    }

    /// Bytes of all of them, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Log events between two checkpoints at present.
    #[cfg(test)]
    pub(super) fn spacing(&self) -> u64 {
        self.spacing
    }
}
