//! The whole run in a few hundred buckets, with marks where something worth a look happened.

use super::cursor::Cursor;
use mqscope_core::event::{Event, Kind};

/// Buckets over the duration.
pub const TIMELINE_BUCKETS: usize = 240;
/// Marks kept at most; the first of each kind in a bucket is one.
const MARKS_MAX: usize = 512;

/// One bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineBucket {
    /// I/Os of which the application took note.
    pub ios: u32,
    /// Bios merged.
    pub merges: u32,
    /// Requests refused by the driver.
    pub requeues: u32,
    /// Tasks that went to sleep for a tag.
    pub tag_waits: u32,
    /// Time spent spinning for locks, ns.
    pub spin_ns: u64,
    seen: u8,
}

/// What a mark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MarkKind {
    /// A bio was merged.
    Merge = 1,
    /// The driver refused a request.
    Requeue = 2,
    /// A task sleeps for a tag.
    TagWait = 4,
    /// A CPU starts to spin behind at least one other.
    LockQueue = 8,
    /// A task sleeps for the lock of a file behind at least one other.
    FileLock = 16,
    /// A writer is held back: too much is dirty, or wbt lets no more be in flight.
    Throttle = 32,
    /// An invariant was broken.
    Broken = 64,
}

impl MarkKind {
    /// What it is about, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Merge => "a bio merges",
            Self::Requeue => "the driver refuses a request",
            Self::TagWait => "a task sleeps for a tag",
            Self::LockQueue => "CPUs queue for a lock",
            Self::FileLock => "tasks queue for the lock of a file",
            Self::Throttle => "a writer is held back",
            Self::Broken => "an invariant is broken",
        }
    }
}

/// A moment worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, ns.
    pub at_ns: u64,
    /// Why.
    pub kind: MarkKind,
}

/// The run as far as it has been explored.
#[derive(Clone, Debug)]
pub struct Timeline {
    bucket_ns: u64,
    explored_seq: u64,
    explored_ns: u64,
    end_ns: Option<u64>,
    buckets: Vec<TimelineBucket>,
    marks: Vec<Mark>,
}

impl Timeline {
    pub(super) fn new(duration_ns: u64) -> Self {
        Self {
            bucket_ns: duration_ns.div_ceil(TIMELINE_BUCKETS as u64).max(1),
            explored_seq: 0,
            explored_ns: 0,
            end_ns: None,
            buckets: vec![TimelineBucket::default(); TIMELINE_BUCKETS],
            marks: Vec::new(),
        }
    }

    /// Width of a bucket, ns.
    pub fn bucket_ns(&self) -> u64 {
        self.bucket_ns
    }

    /// All buckets of the scenario's duration.
    pub fn buckets(&self) -> &[TimelineBucket] {
        &self.buckets
    }

    /// Marks in order of time.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The first mark after `ns`, or the last before it.
    pub fn mark_from(&self, ns: u64, forward: bool) -> Option<Mark> {
        match forward {
            true => self.marks.iter().filter(|m| m.at_ns > ns).min_by_key(|m| m.at_ns).copied(),
            false => self.marks.iter().filter(|m| m.at_ns < ns).max_by_key(|m| m.at_ns).copied(),
        }
    }

    /// Up to here the run is known, ns.
    pub fn explored_ns(&self) -> u64 {
        self.explored_ns
    }

    /// End of the run, ns, once it is known.
    pub fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    /// Counts event number `seq` unless it was counted before. Whoever is ahead, playhead or scout, feeds it.
    pub(super) fn add(&mut self, seq: u64, event: &Event) {
        if seq <= self.explored_seq {
            return;
        }
        self.explored_seq = seq;
        self.explored_ns = self.explored_ns.max(event.at_ns);
        let index = ((event.at_ns / self.bucket_ns) as usize).min(TIMELINE_BUCKETS - 1);
        let bucket = &mut self.buckets[index];
        let mark = match event.kind {
            Kind::Reap { .. } => {
                bucket.ios += 1;
                return;
            }
            Kind::BackMerge { .. } | Kind::FrontMerge { .. } => {
                bucket.merges += 1;
                MarkKind::Merge
            }
            Kind::Requeue { .. } => {
                bucket.requeues += 1;
                MarkKind::Requeue
            }
            Kind::TagWait { .. } | Kind::PoolWait { .. } => {
                bucket.tag_waits += 1;
                MarkKind::TagWait
            }
            Kind::LockAcquire { wait_ns, .. } => {
                bucket.spin_ns += wait_ns;
                return;
            }
            Kind::LockWait { waiters: 1.., .. } => MarkKind::LockQueue,
            Kind::FileLockWait { waiters: 1.., .. } => MarkKind::FileLock,
            Kind::DirtyThrottle { .. } | Kind::WbtWait { .. } => MarkKind::Throttle,
            Kind::Violation { .. } => MarkKind::Broken,
            _ => return,
        };
        if bucket.seen & mark as u8 == 0 && self.marks.len() < MARKS_MAX {
            bucket.seen |= mark as u8;
            self.marks.push(Mark { at_ns: event.at_ns, kind: mark });
        }
    }

    /// The run has no more events: where it ended is known.
    pub(super) fn finish(&mut self, cursor: &Cursor, duration_ns: u64) {
        let end = if cursor.sim.ended() { cursor.sim.now_ns().min(duration_ns) } else { duration_ns };
        self.explored_ns = end;
        self.end_ns = Some(end);
    }

    /// Forgets what lies after event number `seq` at `ns`. The bucket that this cuts is counted anew from there on.
    pub(super) fn forget_after(&mut self, seq: u64, ns: u64) {
        let index = ((ns / self.bucket_ns) as usize).min(TIMELINE_BUCKETS);
        for bucket in &mut self.buckets[index..] {
            *bucket = TimelineBucket::default();
        }
        self.marks.retain(|m| m.at_ns <= ns);
        (self.explored_seq, self.explored_ns, self.end_ns) = (seq, ns, None);
    }
}
