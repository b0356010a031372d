//! Two runs on the same arrivals, compared by their logs: where they part first, and what each I/O gained or lost.
//!
//! Random draws belong to an I/O and not to their order (`engine/rng.rs`), so the n-th I/O of a task asks for the same
//! blocks in both runs, whatever the policies do. That is what pairs them here.

use crate::event::{BioId, CpuId, Event, HctxId, Kind, ObjectId, QueueId, RqId, TaskId};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

/// I/Os kept of each run; those after them are not compared.
pub const PAIRS_MAX: usize = 20_000;
/// Events by which one log may be ahead of the other while they are still alike.
pub const AHEAD_MAX: usize = 1 << 16;

/// The first event in which two logs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// Events before it that are the same in both.
    pub alike: u64,
    /// The last of them.
    pub last: Option<Event>,
    /// What comes next in each log; `None` where the run is over.
    pub next: [Option<Event>; 2],
    /// The last event, the same in both, on the CPU of each of those two.
    pub before: [Option<Event>; 2],
}

/// The first request given to a driver that differs: another one, or another size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// The disk.
    pub queue: QueueId,
    /// Requests given to it before, the same in both runs.
    pub alike: u64,
    /// The `D` event of each run.
    pub next: [Event; 2],
}

/// One I/O in both runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Its task.
    pub task: TaskId,
    /// Which of the task's I/Os it is, from 0.
    pub nth: u32,
    /// When it arrived at the queue, ns.
    pub queued_ns: [u64; 2],
    /// From hand-over until the application knew (fio's lat), ns.
    pub lat_ns: [u64; 2],
    /// The request that carried it; 0 where the log names none.
    pub rq: [RqId; 2],
    /// When it got that request or joined it, ns.
    pub got_ns: [u64; 2],
}

impl Pair {
    /// What it lost (positive) or gained in the second run, ns.
    pub fn difference_ns(&self) -> i64 {
        self.lat_ns[1] as i64 - self.lat_ns[0] as i64
    }
}

/// An I/O of one run.
#[derive(Clone, Copy, Debug)]
struct Io {
    task: TaskId,
    nth: u32,
    queued_ns: u64,
    lat_ns: u64,
    rq: RqId,
    got_ns: u64,
}

/// What is read off one log.
#[derive(Clone, Debug, Default)]
struct Reader {
    /// Numbers that locks, lines and hctxs of the same name share in both runs, by their own.
    objects: Vec<ObjectId>,
    hctxs: Vec<HctxId>,
    waiting: VecDeque<Event>,
    over: bool,
    /// I/Os of each task so far.
    count: Vec<u32>,
    /// Index in `ios` by bio, while it is under way.
    open: HashMap<BioId, usize>,
    ios: Vec<Io>,
    /// `D` events not yet compared, by disk.
    issued: Vec<VecDeque<Event>>,
}

impl Reader {
    /// The event with the numbers that both runs share: each run counts its own locks, lines and hctxs.
    fn shared(&self, mut event: Event) -> Event {
        match &mut event.kind {
            Kind::LockWait { lock: id, .. }
            | Kind::LockAcquire { lock: id, .. }
            | Kind::LockRelease { lock: id, .. }
            | Kind::FileLockWait { lock: id, .. }
            | Kind::FileLockAcquire { lock: id, .. }
            | Kind::FileLockRelease { lock: id, .. }
            | Kind::LineTransfer { line: id, .. } => {
                *id = self.objects.get(*id as usize).copied().unwrap_or(*id)
            }
            Kind::Insert { hctx, .. }
            | Kind::Issue { hctx, .. }
            | Kind::Requeue { hctx, .. }
            | Kind::SchedTagAlloc { hctx, .. }
            | Kind::SchedTagFree { hctx, .. }
            | Kind::TagAlloc { hctx, .. }
            | Kind::TagWait { hctx, .. }
            | Kind::TagFree { hctx, .. }
            | Kind::FlushPending { hctx, .. }
            | Kind::FlushStart { hctx, .. }
            | Kind::NoDriverTag { hctx, .. }
            | Kind::DispatchListAdd { hctx, .. }
            | Kind::Dequeue { hctx, .. }
            | Kind::RunBegin { hctx }
            | Kind::RunEnd { hctx, .. }
            | Kind::RunScheduled { hctx, .. }
            | Kind::Doorbell { hctx, .. }
            | Kind::DispatchBusy { hctx, .. }
            | Kind::Irq { hctx, .. }
            | Kind::Polled { hctx, .. } => *hctx = self.hctxs.get(*hctx as usize).copied().unwrap_or(*hctx),
            _ => {}
        }
        event
    }

    fn io(&mut self, event: &Event) {
        match event.kind {
            Kind::Queue { bio, .. } if event.task != crate::event::NO_TASK => {
                let task = event.task as usize;
                if self.count.len() <= task {
                    self.count.resize(task + 1, 0);
                }
                let nth = self.count[task];
                self.count[task] += 1;
                if self.ios.len() < PAIRS_MAX {
                    self.open.insert(bio, self.ios.len());
                    self.ios.push(Io {
                        task: event.task,
                        nth,
                        queued_ns: event.at_ns,
                        lat_ns: u64::MAX,
                        rq: 0,
                        got_ns: event.at_ns,
                    });
                }
            }
            Kind::TagAlloc { rq, bio, .. }
            | Kind::SchedTagAlloc { rq, bio, .. }
            | Kind::PoolAlloc { rq, bio, .. }
            | Kind::BackMerge { rq, bio, .. }
            | Kind::FrontMerge { rq, bio, .. } => {
                if let Some(&at) = self.open.get(&bio) {
                    (self.ios[at].rq, self.ios[at].got_ns) = (rq, event.at_ns);
                }
            }
            Kind::Reap { bio, lat_ns } => {
                if let Some(at) = self.open.remove(&bio) {
                    self.ios[at].lat_ns = lat_ns;
                }
            }
            _ => {}
        }
    }
}

/// What a request asks for; its flags may differ between kernels without making it another one.
fn blocks(event: &Event) -> Option<(crate::event::Op, u64, u32)> {
    let (_, extent) = event.kind.subject()?;
    extent.map(|e| (e.op, e.sector, e.sectors))
}

/// Two logs, compared as they grow.
#[derive(Clone, Debug, Default)]
pub struct Twins {
    readers: [Reader; 2],
    alike: u64,
    last: Option<Event>,
    last_on: HashMap<CpuId, Event>,
    parting: Option<Parting>,
    sent: Vec<u64>,
    reorder: Option<Reorder>,
}

impl Twins {
    /// Two runs whose locks, lines and hctxs are the same where their names are: a kernel with one lock more numbers all
    /// that follow otherwise. ([`Twins::default`] takes the numbers as they are.)
    pub fn new(topologies: [&Topology; 2]) -> Self {
        let (mut names, mut places) = (HashMap::new(), HashMap::new());
        let mut reader = |t: &Topology| {
            let mut number = |name: &str| {
                let next = names.len() as ObjectId;
                *names.entry(String::from(name)).or_insert(next)
            };
            let mut place = |at: (QueueId, u16)| {
                let next = places.len() as HctxId;
                *places.entry(at).or_insert(next)
            };
            Reader {
                objects: t.objects.iter().map(|o| number(&o.name)).collect(),
                hctxs: t.hctxs.iter().map(|h| place((h.queue, h.index))).collect(),
                ..Reader::default()
            }
        };
        Self { readers: topologies.map(&mut reader), ..Self::default() }
    }

    /// The next event of one log (0 or 1).
    pub fn push(&mut self, side: usize, event: Event) {
        let Some(reader) = self.readers.get_mut(side) else { return };
        reader.io(&event);
        if let (Kind::Issue { queue, .. }, None) = (event.kind, &self.reorder) {
            let queue = queue as usize;
            if reader.issued.len() <= queue {
                reader.issued.resize(queue + 1, VecDeque::new());
            }
            if reader.issued[queue].len() < AHEAD_MAX {
                reader.issued[queue].push_back(event);
            }
            self.compare_issued(queue as QueueId);
        }
        if self.parting.is_none() {
            self.readers[side].waiting.push_back(event);
            self.compare();
        }
    }

    /// One log has no more events.
    pub fn end(&mut self, side: usize) {
        if let Some(reader) = self.readers.get_mut(side) {
            reader.over = true;
            self.compare();
        }
    }

    /// Whether one log should wait until the other has come after it.
    pub fn ahead(&self, side: usize) -> bool {
        self.readers.get(side).is_some_and(|r| r.waiting.len() >= AHEAD_MAX)
    }

    /// Where the logs part, once that is known.
    pub fn parting(&self) -> Option<&Parting> {
        self.parting.as_ref()
    }

    /// Whether there is nothing left to learn: both logs are over, or have parted and brought [`PAIRS_MAX`] I/Os to their end.
    pub fn complete(&self) -> bool {
        let enough = |r: &Reader| r.ios.len() >= PAIRS_MAX && r.open.is_empty();
        let over = self.readers.iter().all(|r| r.over);
        over || (self.parting.is_some() && self.readers.iter().all(|r| r.over || enough(r)))
    }

    /// Whether both logs are over and nowhere differ.
    pub fn same(&self) -> bool {
        self.parting.is_none() && self.readers.iter().all(|r| r.over && r.waiting.is_empty())
    }

    /// Events that are the same in both so far.
    pub fn alike(&self) -> u64 {
        self.alike
    }

    /// Where the order of requests at a disk parts, once that is known.
    pub fn reorder(&self) -> Option<&Reorder> {
        self.reorder.as_ref()
    }

    /// The I/Os that are complete in both runs, in the order in which the first run began them.
    pub fn pairs(&self) -> Vec<Pair> {
        let [first, second] = &self.readers;
        let done = |io: &&Io| io.lat_ns != u64::MAX;
        let other: HashMap<(TaskId, u32), &Io> =
            second.ios.iter().filter(done).map(|io| ((io.task, io.nth), io)).collect();
        let pair = |a: &Io| {
            let b = other.get(&(a.task, a.nth))?;
            Some(Pair {
                task: a.task,
                nth: a.nth,
                queued_ns: [a.queued_ns, b.queued_ns],
                lat_ns: [a.lat_ns, b.lat_ns],
                rq: [a.rq, b.rq],
                got_ns: [a.got_ns, b.got_ns],
            })
        };
        first.ios.iter().filter(done).filter_map(pair).collect()
    }

    fn compare(&mut self) {
        let [a, b] = &mut self.readers;
        while self.parting.is_none() {
            let next = [a.waiting.front().copied(), b.waiting.front().copied()];
            match next {
                [Some(x), Some(y)] if a.shared(x) == b.shared(y) => {
                    a.waiting.pop_front();
                    b.waiting.pop_front();
                    self.alike += 1;
                    self.last = Some(x);
                    self.last_on.insert(x.cpu, x);
                    continue;
                }
                [Some(_), Some(_)] => {}
                [Some(_), None] if b.over => {}
                [None, Some(_)] if a.over => {}
                _ => return,
            }
            let before = next.map(|e| self.last_on.get(&e?.cpu).copied());
            self.parting = Some(Parting { alike: self.alike, last: self.last, next, before });
            (a.waiting, b.waiting) = (VecDeque::new(), VecDeque::new());
        }
    }

    fn compare_issued(&mut self, queue: QueueId) {
        let at = queue as usize;
        if self.sent.len() <= at {
            self.sent.resize(at + 1, 0);
        }
        let [a, b] = &mut self.readers;
        while let (Some(x), Some(y)) =
            (a.issued.get(at).and_then(|q| q.front()), b.issued.get(at).and_then(|q| q.front()))
        {
            if blocks(x) != blocks(y) {
                self.reorder = Some(Reorder { queue, alike: self.sent[at], next: [*x, *y] });
                (a.issued, b.issued) = (Vec::new(), Vec::new());
                return;
            }
            a.issued[at].pop_front();
            b.issued[at].pop_front();
            self.sent[at] += 1;
        }
    }
}
