//! The log turned into what is where: plain data for those who draw, list or tell.
//!
//! A [`Scene`] is a fold over the event log and knows nothing of browsers, pixels or wall time. Applying an event is
//! O(1) and allocates nothing once the largest number of requests in flight has been seen. Everything is bounded:
//! finished requests stay for a while in a ring ([`FINISHED_MAX`]) so that they can still be asked about.

mod apply;
mod host;
mod lists;
mod machine;
mod names;
mod pack;
mod queue;
mod request;
mod story;

pub use host::{Cpu, Fading, Frame, NEST_MAX, Object, Spin, Task, WAITERS_MAX};
pub use lists::Slot;
pub use names::Names;
pub use pack::Packed;
pub use queue::{BUCKETS, Bucket, Hctx, Queue, RUNNERS_MAX, Rates};
pub use request::{
    Did, Letters, Lost, NEVER, NONE, NONE16, Request, SPANS_MAX, STEPS_FIRST, STEPS_MAX, Span, Spot, Step,
};
pub use story::{StoryKind, StoryLine};

use lists::Lists;
use mqscope_core::event::{BioId, CpuId, HctxId, ObjectId, Op, QueueId, RqId, TaskId};
use mqscope_core::kernel::Knobs;
use mqscope_core::topology::Topology;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// Finished requests that can still be asked about.
pub const FINISHED_MAX: usize = 128;
/// Line transfers kept for drawing.
pub const TRANSFERS_MAX: usize = 64;
/// Merges kept for drawing.
pub const MERGES_MAX: usize = 32;

/// Serial numbers are dense, so one multiplication spreads them well enough.
#[derive(Clone, Copy, Debug, Default)]
struct SerialHasher(u64);

impl Hasher for SerialHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }
    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0 ^ u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

type Serials = HashMap<u32, Slot, BuildHasherDefault<SerialHasher>>;

/// A line that moved from one CPU to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When, ns.
    pub at_ns: u64,
    /// The CPU that had it.
    pub from: CpuId,
    /// The CPU that has it now.
    pub to: CpuId,
    /// Which lock or line.
    pub object: ObjectId,
    /// What the move cost, ns.
    pub cost_ns: u32,
}

impl Transfer {
    /// How far it went.
    pub fn distance(&self, topology: &Topology) -> Distance {
        Distance::of(topology, self.from, self.to)
    }
}

/// How far apart two CPUs are, as far as a cache line cares: each step has its price in the machine's costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Threads of one core (`line_smt`).
    Core,
    /// Cores that share a last-level cache (`line_socket`).
    Socket,
    /// Another last-level cache of the socket (`line_cache`).
    Cache,
    /// Another socket (`line_remote`).
    Remote,
}

impl Distance {
    /// From one CPU to another.
    pub fn of(topology: &Topology, from: CpuId, to: CpuId) -> Self {
        let (Some(a), Some(b)) = (topology.cpus.get(from as usize), topology.cpus.get(to as usize)) else {
            return Self::Socket;
        };
        match (a.socket == b.socket, a.cache == b.cache, a.core == b.core) {
            (false, ..) => Self::Remote,
            (_, false, _) => Self::Cache,
            (.., false) => Self::Socket,
            _ => Self::Core,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        ["SMT sibling", "same socket", "other cache", "other socket"][self as usize]
    }
}

/// A bio that joined a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// When, ns.
    pub at_ns: u64,
    /// The bio.
    pub bio: BioId,
    /// The request it joined.
    pub rq: RqId,
    /// Where the bio was.
    pub from: Spot,
    /// Its direction.
    pub op: Op,
}

/// What is where.
#[derive(Clone, Debug)]
pub struct Scene {
    topology: Rc<Topology>,
    names: Names,
    now_ns: u64,
    half_ns: u64,
    lists: Lists,
    requests: Serials,
    bios: Serials,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    objects: Vec<Object>,
    hctxs: Vec<Hctx>,
    queues: Vec<Queue>,
    finished: VecDeque<Request>,
    transfers: VecDeque<Transfer>,
    merges: VecDeque<Merge>,
    window: queue::Window,
    ended: u64,
    strays: u64,
}

impl Scene {
    /// An empty scene of `topology`; rates and heat look back about `window_ns`.
    pub fn new(topology: Rc<Topology>, knobs: &Knobs, window_ns: u64) -> Self {
        let t = &*topology;
        let expected: usize = t.tasks.iter().map(|t| t.iodepth as usize).sum::<usize>().clamp(64, 4096);
        let serials = || Serials::with_capacity_and_hasher(expected * 2, BuildHasherDefault::default());
        Self {
            names: Names::new(knobs),
            now_ns: 0,
            half_ns: (window_ns / 2).max(1),
            lists: Lists::new(Index::of(t).total as usize, expected),
            requests: serials(),
            bios: serials(),
            cpus: vec![Cpu::default(); t.cpus.len()],
            tasks: t.tasks.iter().map(|t| Task::new(t.cpu)).collect(),
            objects: vec![Object::default(); t.objects.len()],
            hctxs: t
                .hctxs
                .iter()
                .map(|h| Hctx::new(t.queues.get(h.queue as usize).map_or(0, |q| q.nr_tags)))
                .collect(),
            queues: vec![Queue::default(); t.queues.len()],
            finished: VecDeque::with_capacity(FINISHED_MAX),
            transfers: VecDeque::with_capacity(TRANSFERS_MAX),
            merges: VecDeque::with_capacity(MERGES_MAX),
            window: queue::Window::new(window_ns),
            ended: 0,
            strays: 0,
            topology,
        }
    }

    /// Simulated time, ns: of the last event, or later if time passed since.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Lets time pass without an event.
    pub fn pass_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Other policy from now on; stories use the function names that belong to it.
    pub fn set_knobs(&mut self, knobs: &Knobs) {
        self.names = Names::new(knobs);
    }

    /// The fixed things.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Half-life of "of late", ns: what [`Fading`] values of this scene are read with.
    pub fn half_ns(&self) -> u64 {
        self.half_ns
    }

    /// Live requests, and bios that have none yet, with their slots.
    pub fn live(&self) -> impl Iterator<Item = (Slot, &Request)> {
        self.lists.all()
    }

    /// How many [`Scene::live`] gives.
    pub fn live_len(&self) -> usize {
        self.lists.live_len()
    }

    /// An upper bound of all slots.
    pub fn slots(&self) -> usize {
        self.lists.slots()
    }

    /// The live request in a slot.
    pub fn at(&self, slot: Slot) -> Option<&Request> {
        self.lists.get(slot)
    }

    /// A request, live or finished not long ago.
    pub fn request(&self, rq: RqId) -> Option<&Request> {
        self.slot_of(rq)
            .and_then(|slot| self.lists.get(slot))
            .or_else(|| self.finished.iter().rev().find(|r| r.rq == rq && rq != 0))
    }

    /// The request that a bio belongs to, or the bio itself while it has none; `None` once the application took note.
    pub fn of_bio(&self, bio: BioId) -> Option<&Request> {
        self.bios.get(&bio).and_then(|slot| self.lists.get(*slot))
    }

    /// The request that a CPU works on now, if any: in submission, in a dispatcher's hands, or being completed.
    pub fn in_hands(&self, cpu: CpuId) -> Option<RqId> {
        let places = [Standing::Submit(cpu), Standing::Hand(cpu), Standing::Completing(cpu)];
        places.into_iter().flat_map(|p| self.standing_at(p)).map(|(_, r)| r.rq).find(|rq| *rq != 0)
    }

    /// The slot of a live request.
    pub fn slot_of(&self, rq: RqId) -> Option<Slot> {
        self.requests.get(&rq).copied()
    }

    /// Requests of one place, first in first.
    pub fn standing_at(&self, place: Standing) -> impl Iterator<Item = (Slot, &Request)> {
        self.lists.iter(Index::of(&self.topology).list(place))
    }

    /// Length of one place's list.
    pub fn standing_len(&self, place: Standing) -> u32 {
        self.lists.list_len(Index::of(&self.topology).list(place))
    }

    /// All CPUs.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// All tasks.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// All locks and lines.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// CPUs that spin for a lock in the order of their arrival, and since when, ns: all of them, unlike
    /// [`Object::waiters`].
    pub fn spinners(&self, lock: ObjectId) -> Vec<(CpuId, u64)> {
        let Some(object) = self.objects.get(lock as usize).filter(|o| o.waiting() > 0) else {
            return Vec::new();
        };
        let mut queue: Vec<(CpuId, u64)> = (0..)
            .zip(&self.cpus)
            .filter_map(|(cpu, c)| c.spin.filter(|s| s.lock == lock).map(|s| (cpu, s.since_ns)))
            .collect();
        // Who came at the same moment is in the order of the log as far as that is kept.
        let place = |cpu: CpuId| object.waiters().iter().position(|w| *w == cpu).unwrap_or(usize::MAX);
        queue.sort_by_key(|&(cpu, since_ns)| (since_ns, place(cpu), cpu));
        queue
    }

    /// All hctxs.
    pub fn hctxs(&self) -> &[Hctx] {
        &self.hctxs
    }

    /// All queues.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Requests that finished not long ago, oldest first.
    pub fn finished(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.finished.iter()
    }

    /// Requests that have finished so far.
    pub fn finished_count(&self) -> u64 {
        self.ended
    }

    /// Line transfers of late, oldest first.
    pub fn transfers(&self) -> impl DoubleEndedIterator<Item = &Transfer> {
        self.transfers.iter()
    }

    /// Merges of late, oldest first.
    pub fn merges(&self) -> impl DoubleEndedIterator<Item = &Merge> {
        self.merges.iter()
    }

    /// Rates over the sliding window.
    pub fn rates(&self) -> Rates {
        self.window.rates(self.now_ns)
    }

    /// Events about requests that the scene has never heard of. Always 0 for a log read from its beginning.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Bytes on the heap, about; what a copy of it costs. [`Packed::bytes`] are fewer.
    pub fn bytes(&self) -> usize {
        self.lists.bytes()
            + (self.requests.capacity() + self.bios.capacity()) * 9
            + FINISHED_MAX * size_of::<Request>()
            + self.bytes_but_requests()
    }

    fn bytes_but_requests(&self) -> usize {
        self.cpus.len() * size_of::<Cpu>()
            + self.objects.len() * size_of::<Object>()
            + self.hctxs.iter().map(|h| size_of::<Hctx>() + h.tags.len() * 8).sum::<usize>()
            + TRANSFERS_MAX * size_of::<Transfer>()
            + size_of::<Self>()
    }

    fn move_to(&mut self, slot: Slot, spot: Spot, at_ns: u64) {
        let index = Index::of(&self.topology);
        let request = self.lists.get_mut(slot);
        if request.spot != spot {
            request.before = request.spot;
            request.spot = spot;
            request.since_ns = at_ns;
        }
        let list = index.list(Standing::of(request));
        self.lists.move_to(slot, list);
    }
}

/// A place in which requests stand in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// In submission on this CPU.
    Submit(CpuId),
    /// Waiting for a tag of this hctx.
    TagWait(HctxId),
    /// In a task's plug.
    Plug(TaskId),
    /// In a queue's ctx list of a CPU.
    Ctx(QueueId, CpuId),
    /// In a queue's elevator.
    Elevator(QueueId),
    /// On a dispatch list.
    DispatchList(HctxId),
    /// In the hands of a dispatcher.
    Hand(CpuId),
    /// With driver and device of a queue.
    Device(QueueId),
    /// Being completed on a CPU.
    Completing(CpuId),
    /// Completed, to be collected by a task.
    Ring(TaskId),
}

impl Standing {
    /// Where this request stands.
    pub fn of(request: &Request) -> Self {
        match request.spot {
            Spot::Submit(cpu) => Standing::Submit(cpu),
            Spot::TagWait(hctx) => Standing::TagWait(hctx),
            Spot::Plug(task) => Standing::Plug(task),
            Spot::Ctx(cpu) => Standing::Ctx(request.queue, cpu),
            Spot::Elevator(queue) => Standing::Elevator(queue),
            Spot::DispatchList(hctx) => Standing::DispatchList(hctx),
            Spot::Hand(cpu) => Standing::Hand(cpu),
            Spot::Device(queue) => Standing::Device(queue),
            Spot::Completing(cpu) => Standing::Completing(cpu),
            Spot::Ring(task) | Spot::Done(task) => Standing::Ring(task),
        }
    }
}

/// Numbering of the lists: one after the other, place by place. The last list takes what fits nowhere.
#[derive(Clone, Copy)]
struct Index {
    cpus: u32,
    tasks: u32,
    queues: u32,
    hctxs: u32,
    total: u32,
}

impl Index {
    fn of(t: &Topology) -> Self {
        let [cpus, tasks, queues, hctxs] =
            [t.cpus.len(), t.tasks.len(), t.queues.len(), t.hctxs.len()].map(|n| n as u32);
        let total = 3 * cpus + 2 * tasks + 2 * hctxs + 2 * queues + queues * cpus + 1;
        Self { cpus, tasks, queues, hctxs, total }
    }

    fn list(&self, place: Standing) -> u32 {
        let Self { cpus, tasks, queues, hctxs, total } = *self;
        let (offset, index, len) = match place {
            Standing::Submit(c) => (0, c.into(), cpus),
            Standing::Hand(c) => (cpus, c.into(), cpus),
            Standing::Completing(c) => (2 * cpus, c.into(), cpus),
            Standing::Plug(t) => (3 * cpus, t.into(), tasks),
            Standing::Ring(t) => (3 * cpus + tasks, t.into(), tasks),
            Standing::TagWait(h) => (3 * cpus + 2 * tasks, h.into(), hctxs),
            Standing::DispatchList(h) => (3 * cpus + 2 * tasks + hctxs, h.into(), hctxs),
            Standing::Device(q) => (3 * cpus + 2 * tasks + 2 * hctxs, q.into(), queues),
            Standing::Elevator(q) => (3 * cpus + 2 * tasks + 2 * hctxs + queues, q.into(), queues),
            Standing::Ctx(q, c) => {
                let index = if u32::from(c) < cpus { u32::from(q) * cpus + u32::from(c) } else { u32::MAX };
                (3 * cpus + 2 * tasks + 2 * hctxs + 2 * queues, index, queues * cpus)
            }
        };
        if index < len { offset + index } else { total - 1 }
    }
}

#[cfg(test)]
mod tests;
