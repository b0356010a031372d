//! The adapter's write-back cache: which sectors of which member are newer in it than on the disk.

use std::collections::{BTreeMap, VecDeque};

/// Sectors of one member, as runs that neither overlap nor touch: start to end.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// Adds `[start, end)`; how many sectors are new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        let (mut from, mut to, mut known) = (start, end, 0);
        while let Some((&run, &run_end)) = self.0.range(..=end).next_back()
            && run_end >= start
        {
            self.0.remove(&run);
            known += run_end.min(end).saturating_sub(run.max(start));
            (from, to) = (from.min(run), to.max(run_end));
        }
        self.0.insert(from, to);
        end - start - known
    }

    /// Whether all of `[start, end)` is here.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        self.0.range(..=start).next_back().is_some_and(|(_, &run_end)| run_end >= end)
    }

    /// Takes the first run at or behind `from`, or else the first of all, but at most `most` sectors of it.
    pub(crate) fn take(&mut self, from: u64, most: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.0.range(from..).next().or_else(|| self.0.iter().next())?;
        self.0.remove(&start);
        let cut = end.min(start.saturating_add(most));
        if cut < end {
            self.0.insert(cut, end);
        }
        Some((start, cut))
    }
}

/// The cache of an adapter, shared by its volumes.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Cache {
    /// Sectors that it can hold; 0: there is none.
    pub room: u64,
    /// Sectors in it, those on their way to a member included.
    pub used: u64,
    /// By member of all volumes.
    pub runs: Vec<Runs>,
    /// Writes that found it full: (request slot, arrival), first come first served.
    pub waiting: VecDeque<(u32, u64)>,
}

impl Cache {
    pub(crate) fn new(room: u64, members: usize) -> Self {
        Self { room, used: 0, runs: vec![Runs::default(); members], waiting: VecDeque::new() }
    }

    /// Whether it is so full that destaging goes on beside the host's commands.
    pub(crate) fn presses(&self) -> bool {
        self.used > self.room / 4 * 3 || !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_agree_with_a_set_of_sectors() {
        let (mut runs, mut model) = (Runs::default(), std::collections::BTreeSet::new());
        let mut x = 5u64;
        for _ in 0..3_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (start, len) = ((x >> 33) % 200, 1 + (x >> 50) % 20);
            if x >> 63 == 0 {
                let new = (start..start + len).filter(|&s| model.insert(s)).count() as u64;
                assert_eq!(runs.insert(start, start + len), new);
            } else if let Some((from, to)) = runs.take(start, len) {
                assert!(to - from <= len && (from..to).all(|s| model.remove(&s)));
            } else {
                assert!(model.is_empty());
            }
            assert_eq!(runs.covers(start, start + len), (start..start + len).all(|s| model.contains(&s)));
        }
    }
}
