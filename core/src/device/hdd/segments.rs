//! The read buffer: a few segments, each a stretch of sectors that was read or read ahead.

/// A stretch `[start, end)`; empty if both are equal.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    used: u64,
}

/// All segments; a new one takes the place of the one used longest ago.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Segments {
    all: Vec<Segment>,
    /// Sectors that a segment holds.
    room: u64,
    uses: u64,
}

impl Segments {
    /// `count` empty segments of `room` sectors.
    pub(crate) fn new(count: u32, room: u64) -> Self {
        Self { all: vec![Segment::default(); count as usize], room, uses: 0 }
    }

    /// Sectors that a segment holds.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Segment number `at`; an empty one if there is none.
    pub(crate) fn get(&self, at: usize) -> Segment {
        self.all.get(at).copied().unwrap_or_default()
    }

    /// The segment in which, or at whose end, `sector` lies. The one that reaches furthest, if there are several.
    pub(crate) fn at(&self, sector: u64) -> Option<usize> {
        let holds = |s: &Segment| s.start < s.end && s.start <= sector && sector <= s.end;
        let found = self.all.iter().enumerate().filter(|(_, s)| holds(s));
        found.max_by_key(|(_, s)| s.end).map(|(at, _)| at)
    }

    /// Notes that `[start, end)` was read: the segment that it continues grows, or one begins anew. `None`: there are no
    /// segments.
    pub(crate) fn read(&mut self, start: u64, end: u64) -> Option<usize> {
        let at = match self.at(start) {
            Some(at) => at,
            None => {
                let at = (0..self.all.len()).min_by_key(|&at| self.all[at].used)?;
                self.all[at] = Segment { start, end: start, used: 0 };
                at
            }
        };
        self.grow(at, end);
        Some(at)
    }

    /// Segment `at` was read up to `end`; what does not fit any more is given up at its start.
    pub(crate) fn grow(&mut self, at: usize, end: u64) {
        self.uses += 1;
        let (room, uses) = (self.room, self.uses);
        if let Some(segment) = self.all.get_mut(at) {
            segment.end = segment.end.max(end);
            segment.start = segment.start.max(segment.end.saturating_sub(room));
            segment.used = uses;
        }
    }

    /// `[start, end)` is written: what a segment holds of it and behind it is stale.
    pub(crate) fn cut(&mut self, start: u64, end: u64) {
        for segment in self.all.iter_mut().filter(|s| s.start < end && start < s.end) {
            segment.end = segment.start.max(start);
        }
    }
}
