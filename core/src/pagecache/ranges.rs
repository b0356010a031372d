//! Sets of pages as ordered extents that coalesce.

use std::collections::BTreeMap;

/// A set of page numbers: disjoint extents `[start, end)`, neighbours joined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ranges {
    extents: BTreeMap<u64, u64>,
    pages: u64,
}

impl Ranges {
    /// Pages in the set.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Extents that the set is made of.
    pub(crate) fn extents(&self) -> usize {
        self.extents.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// The extents in ascending order.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.extents.iter().map(|(&start, &end)| (start, end))
    }

    /// Adds `[start, end)`; how many of its pages are new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let (mut from, mut to, mut had) = (start, end, 0);
        if let Some((&s, &e)) = self.extents.range(..=start).next_back()
            && e >= start
        {
            if e >= end {
                return 0;
            }
            had += e - start;
            from = s;
        }
        while let Some((&s, &e)) = self.extents.range(start + 1..=end).next() {
            self.extents.remove(&s);
            had += e.min(end) - s;
            to = to.max(e);
        }
        self.extents.insert(from, to);
        let new = end - start - had;
        self.pages += new;
        new
    }

    /// Takes `[start, end)` out; how many of its pages were in.
    pub(crate) fn remove(&mut self, start: u64, end: u64) -> u64 {
        let mut gone = 0;
        if let Some((&s, &e)) = self.extents.range(..start).next_back()
            && e > start
            && start < end
        {
            self.extents.insert(s, start);
            gone += e.min(end) - start;
            if e > end {
                self.extents.insert(end, e);
            }
        }
        while start < end
            && let Some((&s, &e)) = self.extents.range(start..end).next()
        {
            self.extents.remove(&s);
            gone += e.min(end) - s;
            if e > end {
                self.extents.insert(end, e);
            }
        }
        self.pages -= gone;
        gone
    }

    /// The first extent at or behind `at`, cut to begin there.
    pub(crate) fn next(&self, at: u64) -> Option<(u64, u64)> {
        let before = self.extents.range(..=at).next_back().filter(|&(_, &e)| e > at);
        before.or_else(|| self.extents.range(at..).next()).map(|(&s, &e)| (s.max(at), e))
    }

    /// The first pages of `[start, end)` that are not in the set: where they begin, and where they end.
    pub(crate) fn gap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let from = match self.next(start) {
            Some((s, e)) if s <= start => e,
            _ => start,
        };
        let to = self.next(from).map_or(end, |(s, _)| s.min(end));
        (from < end).then_some((from, to))
    }

    /// Whether any page of `[start, end)` is in the set.
    pub(crate) fn meets(&self, start: u64, end: u64) -> bool {
        self.next(start).is_some_and(|(s, _)| s < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rng::{self, Purpose};
    use std::collections::BTreeSet;

    #[test]
    fn extents_join_with_neighbours_and_split_where_pages_leave() {
        let mut set = Ranges::default();
        assert_eq!((set.insert(10, 20), set.insert(30, 40), set.insert(20, 30)), (10, 10, 10));
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 40)]);
        assert_eq!(set.remove(15, 18), 3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 15), (18, 40)]);
        assert_eq!(
            (set.next(0), set.next(16), set.next(39), set.next(40)),
            (Some((10, 15)), Some((18, 40)), Some((39, 40)), None)
        );
        assert_eq!(
            (set.gap(10, 40), set.gap(18, 50), set.gap(20, 30)),
            (Some((15, 18)), Some((40, 50)), None)
        );
    }

    #[test]
    fn it_agrees_with_a_set_of_single_pages() {
        let (mut set, mut pages) = (Ranges::default(), BTreeSet::new());
        for n in 0..4000 {
            let draw = |what, bound| rng::below(7, what, n, bound);
            let start = draw(Purpose::Offset, 200);
            let end = start + draw(Purpose::Die, 30);
            if draw(Purpose::Direction, 2) == 0 {
                let new = (start..end).filter(|&p| pages.insert(p)).count() as u64;
                assert_eq!(set.insert(start, end), new);
            } else {
                let gone = (start..end).filter(|p| pages.remove(p)).count() as u64;
                assert_eq!(set.remove(start, end), gone);
            }
            assert_eq!(set.pages(), pages.len() as u64);
            let listed: Vec<u64> = set.iter().flat_map(|(s, e)| s..e).collect();
            assert!(listed.iter().eq(pages.iter()));
            let joined = set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.1 < b.0);
            assert!(joined, "neighbours are one extent");
            assert_eq!(set.meets(start, end), pages.range(start..end.max(start)).next().is_some());
        }
    }
}
