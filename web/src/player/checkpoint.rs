//! Checkpoints: copies of the run at rest, under a byte budget.

use super::cursor::Cursor;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes that the checkpoints spread over the whole run may take.
pub(super) const BUDGET_BYTES: usize = 18 << 20;
/// Bytes that the checkpoints close behind the playhead may take.
pub(super) const NEAR_BYTES: usize = 4 << 20;
/// Log events between two spread checkpoints at first.
const SPACING: u64 = 4_096;
/// Log events between two checkpoints close behind the playhead.
const NEAR_SPACING: u64 = 16_384;
/// Spread checkpoints kept whatever they weigh, so that even a huge machine can go back.
const KEEP_MIN: usize = 4;

/// A copy of the run.
pub(super) struct Checkpoint {
    pub(super) cursor: Cursor,
    pub(super) seq: u64,
    at_ns: u64,
}

impl Checkpoint {
    fn of(cursor: &Cursor) -> Self {
        Self { cursor: cursor.clone(), seq: cursor.seq, at_ns: cursor.scene.now_ns() }
    }
}

/// Spread copies in order of position, and a few close behind the playhead.
///
/// When the budget of the spread ones is spent, one goes for each that comes: of those closest together the first. New
/// ones keep the distance that this leaves, so that they stay spread over what was explored, whatever its length, and the
/// budget stays used. The near ones are a ring: they make the next steps back cheap
/// where the spread ones are far apart.
#[derive(Clone)]
pub(super) struct Checkpoints {
    list: Vec<Rc<Checkpoint>>,
    near: VecDeque<Rc<Checkpoint>>,
    spacing: u64,
    bytes: usize,
    near_bytes: usize,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { list: Vec::new(), near: VecDeque::new(), spacing: SPACING, bytes: 0, near_bytes: 0 }
    }
}

impl Checkpoints {
    /// Copies `cursor` into the ring behind the playhead if no checkpoint is near enough before it.
    pub(super) fn add_near(&mut self, cursor: &Cursor) {
        if self.before_seq(cursor.seq).is_some_and(|c| cursor.seq - c.seq < NEAR_SPACING) {
            return;
        }
        self.near_bytes += cursor.bytes();
        self.near.push_back(Rc::new(Checkpoint::of(cursor)));
        while self.near_bytes > NEAR_BYTES && self.near.len() > 1 {
            let old = self.near.pop_front().map_or(0, |c| c.cursor.bytes());
            self.near_bytes -= old.min(self.near_bytes);
        }
    }

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
        self.list.insert(at, Rc::new(Checkpoint::of(cursor)));
        self.bytes += cursor.bytes();
        while self.bytes > BUDGET_BYTES && self.list.len() > KEEP_MIN {
            self.thin();
        }
    }

    /// Drops the one whose neighbours are closest to each other; the first and the last stay.
    fn thin(&mut self) {
        let gap = |i: &usize| self.list[i + 1].seq - self.list[i - 1].seq;
        let Some(i) = (1..self.list.len() - 1).min_by_key(gap) else { return };
        self.spacing = self.spacing.max(gap(&i));
        self.bytes -= self.list.remove(i).cursor.bytes();
    }

    /// The last checkpoint at or before this position.
    pub(super) fn before_seq(&self, seq: u64) -> Option<&Checkpoint> {
        let after = self.list.partition_point(|c| c.seq <= seq);
        self.nearer(after.checked_sub(1).map(|i| &*self.list[i]), |c| c.seq <= seq)
    }

    /// The last checkpoint at or before this time. Events at the time itself that it has not seen are still to come.
    pub(super) fn before_time(&self, ns: u64) -> Option<&Checkpoint> {
        let after = self.list.partition_point(|c| c.at_ns <= ns);
        self.nearer(self.list.get(after.saturating_sub(1)).map(|c| &**c), |c| c.at_ns <= ns)
    }

    fn nearer<'a>(
        &'a self,
        spread: Option<&'a Checkpoint>,
        fits: impl Fn(&Checkpoint) -> bool,
    ) -> Option<&'a Checkpoint> {
        self.near.iter().map(|c| &**c).filter(|c| fits(c)).chain(spread).max_by_key(|c| c.seq)
    }

    /// Forgets what lies after this position.
    pub(super) fn drop_after(&mut self, seq: u64) {
        self.list.retain(|c| c.seq <= seq);
        self.near.retain(|c| c.seq <= seq);
        self.near_bytes = self.near.iter().map(|c| c.cursor.bytes()).sum();
        self.bytes = self.list.iter().map(|c| c.cursor.bytes()).sum();
        if self.list.len() < KEEP_MIN {
            self.spacing = SPACING;
        }
    }

    /// Bytes of all of them, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.near_bytes
    }

    /// Log events between two checkpoints at present.
    #[cfg(test)]
    pub(super) fn spacing(&self) -> u64 {
        self.spacing
    }
}
