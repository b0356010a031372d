//! The write buffer: pages are acknowledged when they have a place in it and leave it when they are programmed.

use std::collections::VecDeque;

/// A command that waits until pages are programmed (flush, FUA).
#[derive(Clone, Copy, Debug, Hash)]
struct Barrier {
    /// All pages before this one.
    before: u64,
    slot: u32,
}

/// Pages are numbered in the order in which they got a place.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Buffer {
    capacity: u32,
    used: u32,
    /// Pages that got a place so far.
    taken: u64,
    /// Pages that a program took so far.
    started: u64,
    /// Commands without a place for all their pages: (slot, pages left).
    waiting: VecDeque<(u32, u32)>,
    barriers: VecDeque<Barrier>,
}

impl Buffer {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { capacity, used: 0, taken: 0, started: 0, waiting: VecDeque::new(), barriers: VecDeque::new() }
    }

    /// A command wants `pages` places; it waits behind earlier ones.
    pub(crate) fn arrive(&mut self, slot: u32, pages: u32) {
        self.waiting.push_back((slot, pages));
    }

    /// Gives places to the first command that waits; the command, once it has all it wants.
    pub(crate) fn admit(&mut self) -> Option<u32> {
        let (slot, left) = self.waiting.front_mut()?;
        let taken = (*left).min(self.capacity - self.used);
        *left -= taken;
        self.used += taken;
        self.taken += u64::from(taken);
        if *left > 0 {
            return None;
        }
        let slot = *slot;
        self.waiting.pop_front();
        Some(slot)
    }

    /// Pages that are due for a program of at most `most`, as (first, count): a full one, or a smaller one if a barrier
    /// asks for it.
    pub(crate) fn due(&self, most: u32) -> Option<(u64, u32)> {
        let ready = self.taken - self.started;
        let asked = self.barriers.back().is_some_and(|b| b.before > self.started);
        // A buffer smaller than a program would wait for ever for one that is full.
        let stuck = self.used == self.capacity && ready == u64::from(self.used);
        let pages = if asked || stuck { ready.min(u64::from(most)) } else { u64::from(most) };
        (pages > 0 && ready >= pages).then_some((self.started, pages as u32))
    }

    /// A program takes `pages`.
    pub(crate) fn start(&mut self, pages: u32) {
        self.started += u64::from(pages);
    }

    /// A program of `pages` is over.
    pub(crate) fn programmed(&mut self, pages: u32) {
        self.used -= pages;
    }

    /// `slot` waits until every page that has a place now is programmed.
    pub(crate) fn barrier(&mut self, slot: u32) {
        self.barriers.push_back(Barrier { before: self.taken, slot });
    }

    /// The next command whose pages are all programmed; `first_in_program` is the first page in a program under way.
    pub(crate) fn passed(&mut self, first_in_program: Option<u64>) -> Option<u32> {
        let done = first_in_program.unwrap_or(self.started);
        self.barriers.front().filter(|b| b.before <= done)?;
        self.barriers.pop_front().map(|b| b.slot)
    }

    pub(crate) fn barriers(&self) -> bool {
        !self.barriers.is_empty()
    }

    /// Commands without a place for all their pages.
    pub(crate) fn waiting_count(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Pages in it and places.
    pub(crate) fn fill(&self) -> (u32, u32) {
        (self.used, self.capacity)
    }
}
