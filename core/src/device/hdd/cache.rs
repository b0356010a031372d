//! What waits in the write cache for the platter: runs of sectors, by place and by age.

use std::collections::BTreeMap;

/// A run of dirty sectors; its start is its key.
#[derive(Clone, Copy, Debug, Hash)]
struct Run {
    end: u64,
    age: u64,
}

/// Dirty runs, which neither overlap nor touch, and the one that is being written.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Dirty {
    runs: BTreeMap<u64, Run>,
    /// Age to start; ages grow and are never given twice.
    ages: BTreeMap<u64, u64>,
    next_age: u64,
    sectors: u64,
    writing: Option<(u64, u64)>,
}

impl Dirty {
    /// Sectors that take up room, those being written included.
    pub(crate) fn sectors(&self) -> u64 {
        self.sectors + self.writing.map_or(0, |(start, end)| end - start)
    }

    /// Whether all is on the platter.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.writing.is_none()
    }

    /// Whether runs wait to be written.
    pub(crate) fn waits(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Number of runs that wait.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Whether all of `[start, end)` is in the cache.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        let run = self.runs.range(..=start).next_back();
        run.is_some_and(|(_, run)| run.end >= end)
            || self.writing.is_some_and(|(from, to)| from <= start && to >= end)
    }

    /// Adds `[start, end)`; what it overlaps or touches becomes one run with the oldest age.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        let (mut from, mut to, mut age) = (start, end, self.next_age);
        while let Some((&other, &run)) = self.runs.range(..=end).next_back()
            && run.end >= start
        {
            self.drop_run(other, run);
            (from, to, age) = (from.min(other), to.max(run.end), age.min(run.age));
        }
        self.next_age += 1;
        self.add_run(from, Run { end: to, age });
    }

    /// Takes `[start, end)` out: newer data has gone to the platter.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        while let Some((&from, &run)) = self.runs.range(..end).next_back()
            && run.end > start
        {
            self.drop_run(from, run);
            if run.end > end {
                self.add_again(end, run.end);
            }
            if from < start {
                self.add_run(from, Run { end: start, ..run });
            }
        }
    }

    /// The `n` oldest runs: start and end.
    pub(crate) fn oldest(&self, n: usize) -> impl Iterator<Item = (u64, u64)> {
        self.ages.values().take(n).filter_map(|start| Some((*start, self.runs.get(start)?.end)))
    }

    /// Begins to write the run that starts at `start`, at most `most` sectors of it; the rest joins the end of the order.
    /// Returns the end of what is written.
    pub(crate) fn begin(&mut self, start: u64, most: u64) -> u64 {
        let Some(&run) = self.runs.get(&start) else { return start };
        self.drop_run(start, run);
        let end = run.end.min(start + most);
        if end < run.end {
            self.add_again(end, run.end);
        }
        self.writing = Some((start, end));
        end
    }

    /// What was being written is on the platter.
    pub(crate) fn written(&mut self) {
        self.writing = None;
    }

    fn add_again(&mut self, start: u64, end: u64) {
        self.add_run(start, Run { end, age: self.next_age });
        self.next_age += 1;
    }

    fn add_run(&mut self, start: u64, run: Run) {
        self.sectors += run.end - start;
        self.ages.insert(run.age, start);
        self.runs.insert(start, run);
    }

    fn drop_run(&mut self, start: u64, run: Run) {
        self.sectors -= run.end - start;
        self.ages.remove(&run.age);
        self.runs.remove(&start);
    }
}
