//! Checkpoints: copies of the run at rest, under a byte budget.

use super::cursor::{Away, Cursor};
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes that the checkpoints spread over the whole run may take.
pub(super) const BUDGET_BYTES: usize = 20 << 20;
/// Bytes that the checkpoints close behind the playhead may take.
pub(super) const NEAR_BYTES: usize = 3 << 20;
/// Log events between two spread checkpoints at least: laying one takes as long as a few thousand events.
const SPACING: u64 = 16_384;
/// Log events between two checkpoints close behind the playhead.
const NEAR_SPACING: u64 = 16_384;
/// Log events before the end of a jump in which they are laid: one or two.
pub(super) const NEAR_EVENTS: u64 = NEAR_SPACING + NEAR_SPACING / 2;
/// Events between two looks whether a checkpoint is due.
const LOOK_EVERY: u64 = 64;
/// Spread checkpoints kept whatever they weigh, so that even a huge machine can go back.
const KEEP_MIN: usize = 4;

/// A copy of the run.
pub(super) struct Checkpoint {
    away: Away,
    pub(super) seq: u64,
    at_ns: u64,
    bytes: usize,
}

impl Checkpoint {
    fn of(cursor: &Cursor) -> Rc<Self> {
        let away = cursor.put_away();
        let bytes = away.bytes();
        Rc::new(Self { away, seq: cursor.seq, at_ns: cursor.scene.now_ns(), bytes })
    }

    /// The run as it was there.
    pub(super) fn cursor(&self) -> Cursor {
        self.away.cursor()
    }
}

/// Spread copies in order of position, and a few close behind the playhead.
///
/// The spread ones lie over all of what is known, at distances that follow from how many the budget holds: where more is
/// known than was thought, one goes for each that comes, of those closest together the first. The near ones are a ring: they
/// make the next steps back cheap where the spread ones are far apart.
#[derive(Clone)]
pub(super) struct Checkpoints {
    list: Vec<Rc<Checkpoint>>,
    near: VecDeque<Rc<Checkpoint>>,
    spacing: u64,
    bytes: usize,
    near_bytes: usize,
    /// Where it was looked last, in units of [`LOOK_EVERY`].
    looked: u64,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { list: Vec::new(), near: VecDeque::new(), spacing: SPACING, bytes: 0, near_bytes: 0, looked: 0 }
    }
}

impl Checkpoints {
    /// Copies `cursor`, which is at rest, where that is due; `near` for the playhead.
    pub(super) fn pass(&mut self, cursor: &Cursor, near: bool) {
        if cursor.seq / LOOK_EVERY != self.looked {
            self.looked = cursor.seq / LOOK_EVERY;
            self.add_if_due(cursor);
            if near {
                self.add_near(cursor);
            }
        }
    }

    /// The run has about so many events: as many checkpoints as the budget holds lie at equal distances over it.
    pub(super) fn spread(&mut self, events: u64) {
        let one = self.list.last().map_or(0, |c| c.bytes).max(1);
        self.spacing = (events / (BUDGET_BYTES / one).max(1) as u64).max(SPACING);
    }

    /// Copies `cursor` into the ring behind the playhead if no checkpoint is near enough before it.
    fn add_near(&mut self, cursor: &Cursor) {
        if self.before_seq(cursor.seq).is_some_and(|c| cursor.seq - c.seq < NEAR_SPACING) {
            return;
        }
        let new = Checkpoint::of(cursor);
        self.near_bytes += new.bytes;
        self.near.push_back(new);
        while self.near_bytes > NEAR_BYTES && self.near.len() > 1 {
            let old = self.near.pop_front().map_or(0, |c| c.bytes);
            self.near_bytes -= old.min(self.near_bytes);
        }
    }

    /// Copies `cursor` if it is far enough from the checkpoints on both sides.
    fn add_if_due(&mut self, cursor: &Cursor) {
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
        let new = Checkpoint::of(cursor);
        self.bytes += new.bytes;
        self.list.insert(at, new);
        while self.list.len() > KEEP_MIN && self.thin() {}
    }

    /// Drops the one whose neighbours are closest to each other, if the budget is spent or they are close enough without it;
    /// the first and the last stay. False if all are needed.
    fn thin(&mut self) -> bool {
        let gap = |i: &usize| self.list[i + 1].seq - self.list[i - 1].seq;
        let Some(i) = (1..self.list.len() - 1).min_by_key(gap) else { return false };
        let needed = self.bytes <= BUDGET_BYTES && gap(&i) > self.spacing;
        if !needed {
            self.bytes -= self.list.remove(i).bytes;
        }
        !needed
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
        self.near_bytes = self.near.iter().map(|c| c.bytes).sum();
        self.bytes = self.list.iter().map(|c| c.bytes).sum();
    }

    /// Bytes of all of them, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.near_bytes
    }

    /// Log events between each spread checkpoint and the next.
    #[cfg(test)]
    pub(super) fn gaps(&self) -> Vec<u64> {
        self.list.windows(2).map(|two| two[1].seq - two[0].seq).collect()
    }
}
