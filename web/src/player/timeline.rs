//! The whole run in a few hundred buckets, with marks where something worth a look happened.

use super::cursor::Cursor;
use super::strips::{Columns, Strip};
use crate::scene::{NEVER, Standing};
use mqscope_core::event::{Event, HctxId, Kind, Place, RqId};
use mqscope_core::scenario::Scenario;
use mqscope_core::topology::{Queue, Topology};

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
    seen: u16,
}

/// What a mark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
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
    /// A deadline scheduler sends a request whose deadline has passed.
    Deadline = 128,
    /// bfq keeps the disk idle for one task though others have requests queued.
    Idle = 256,
}

impl MarkKind {
    /// All of them.
    pub const ALL: [MarkKind; 9] = [
        Self::Merge,
        Self::Requeue,
        Self::TagWait,
        Self::LockQueue,
        Self::FileLock,
        Self::Throttle,
        Self::Deadline,
        Self::Idle,
        Self::Broken,
    ];

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
            Self::Deadline => "a request is sent after its deadline",
            Self::Idle => "bfq idles for a task while others wait",
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
    /// What CPUs were at, by bucket.
    heat: Columns,
    /// By queue, for those whose scheduler has deadlines.
    expire_ns: Vec<Option<[u64; 2]>>,
}

/// After how long reads and writes of a queue expire, ns; `None` where its scheduler has no such limit.
fn expiry(queue: &Queue, scenario: &Scenario) -> Option<[u64; 2]> {
    let asked = scenario.devices.iter().find(|d| d.name == queue.name).map(|d| &d.iosched);
    let limit = |name: &str| {
        let own = queue.tunables.iter().find(|t| t.name == name && t.unit == "ms")?.value;
        Some(asked.and_then(|a| a.get(name).copied()).unwrap_or(own) * 1_000_000)
    };
    Some([limit("read_expire")?, limit("write_expire")?])
}

impl Timeline {
    pub(super) fn new(scenario: &Scenario, topology: &Topology, start: &Cursor) -> Self {
        let bucket_ns = scenario.duration_ns.div_ceil(TIMELINE_BUCKETS as u64).max(1);
        Self {
            heat: Columns::new(&start.sim, 0, bucket_ns, TIMELINE_BUCKETS),
            expire_ns: topology.queues.iter().map(|q| expiry(q, scenario)).collect(),
            bucket_ns,
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

    /// Counts the event that `cursor` has just met unless it was counted before. Whoever is ahead, playhead or scout,
    /// feeds it.
    pub(super) fn add(&mut self, cursor: &Cursor, event: &Event) {
        if cursor.seq <= self.explored_seq {
            return;
        }
        self.explored_seq = cursor.seq;
        if cursor.at_rest() {
            let until = cursor.sim.next_event_ns().unwrap_or(event.at_ns);
            self.heat.close(&cursor.sim, until);
        }
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
            Kind::Dequeue { rq, from: Place::Elevator, .. }
                if expired(&self.expire_ns, cursor, event, rq) =>
            {
                MarkKind::Deadline
            }
            // The scheduler is asked once in a bucket.
            Kind::RunEnd { hctx, sent: 0 }
                if bucket.seen & MarkKind::Idle as u16 == 0 && idles(cursor, hctx) =>
            {
                MarkKind::Idle
            }
            _ => return,
        };
        if bucket.seen & mark as u16 == 0 && self.marks.len() < MARKS_MAX {
            bucket.seen |= mark as u16;
            self.marks.push(Mark { at_ns: event.at_ns, kind: mark });
        }
    }

    /// The run has no more events: where it ended is known.
    pub(super) fn finish(&mut self, cursor: &Cursor, duration_ns: u64) {
        let end = if cursor.sim.ended() { cursor.sim.now_ns().min(duration_ns) } else { duration_ns };
        self.explored_ns = end;
        self.end_ns = Some(end);
        self.heat.close(&cursor.sim, end);
    }

    /// What the CPUs were at in these buckets.
    pub(super) fn strips(&self, buckets: std::ops::Range<usize>) -> Vec<Strip> {
        self.heat.strips(buckets)
    }

    /// Log events in so much time, on the mean of what is known.
    pub(super) fn events_in(&self, span_ns: u64) -> u64 {
        (self.explored_seq as f64 / self.explored_ns.max(1) as f64 * span_ns as f64) as u64
    }

    /// Log events of the whole run at most: as many as its duration has on that mean, but a run may end long before it, so no
    /// more than twice those that are known.
    pub(super) fn events_expected(&self, duration_ns: u64) -> u64 {
        self.events_in(duration_ns).min(self.explored_seq * 2)
    }

    /// Log events known.
    #[cfg(test)]
    pub(super) fn explored_seq(&self) -> u64 {
        self.explored_seq
    }

    /// Forgets what lies after `ns`, where `cursor` stands. The bucket that this cuts is counted anew from there on.
    pub(super) fn forget_after(&mut self, cursor: &Cursor, ns: u64) {
        self.heat.forget_after(&cursor.sim, ns);
        let index = ((ns / self.bucket_ns) as usize).min(TIMELINE_BUCKETS);
        for bucket in &mut self.buckets[index..] {
            *bucket = TimelineBucket::default();
        }
        self.marks.retain(|m| m.at_ns <= ns);
        (self.explored_seq, self.explored_ns, self.end_ns) = (cursor.seq, ns, None);
    }
}

/// Whether a request leaves its scheduler after its deadline: `fifo_time` is the time of its insertion and the limit of its
/// direction (`deadline_check_fifo`). A deadline that it took over from a request merged into it is not known here.
fn expired(expire_ns: &[Option<[u64; 2]>], cursor: &Cursor, event: &Event, rq: RqId) -> bool {
    let Some(request) = cursor.scene.request(rq).filter(|r| r.letters.i != NEVER) else { return false };
    let limits = expire_ns.get(usize::from(request.queue)).copied().flatten();
    limits.is_some_and(|limits| event.at_ns >= request.letters.i + limits[usize::from(request.is_write())])
}

/// Whether a run of this hctx sent nothing because bfq waits for more of the task that it serves (`idle_slice_timer`):
/// requests are queued, none is with the device, and none would go next.
fn idles(cursor: &Cursor, hctx: HctxId) -> bool {
    let topology = cursor.scene.topology();
    let Some(queue) = topology.hctxs.get(usize::from(hctx)).map(|h| h.queue) else { return false };
    topology.queues.get(usize::from(queue)).is_some_and(|q| q.scheduler == "bfq")
        && cursor.scene.standing_len(Standing::Elevator(queue)) > 0
        && cursor.scene.standing_len(Standing::Device(queue)) == 0
        && cursor.sim.scheduler_view(queue).is_some_and(|view| view.next == 0)
}
