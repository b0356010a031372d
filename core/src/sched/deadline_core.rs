//! The deadline algorithm, shared by mq-deadline and the legacy deadline elevator (`block/mq-deadline.c`,
//! `block/deadline-iosched.c`).
//!
//! Requests of one direction are sent in batches of ascending sectors. A batch goes on while there is a request behind the
//! last one and fewer than `fifo_batch` were sent; only then a direction is chosen again (reads, unless writes were passed
//! over `writes_starved` times) and deadlines are looked at: the oldest request starts the new batch if its time has come.
//! From 5.14 on each priority class has its own lists, while the batch and its direction stay common to all.

use super::{SchedRq, Sweep};
use crate::event::PrioClass;
use crate::kernel::{DeadlineNext, DeadlinePrio};
use std::collections::{BTreeMap, VecDeque};

mod limits;
mod view;
mod why;

pub(super) use limits::INT_MAX;
use limits::Limits;
pub(super) use why::{First, Pick, Turn, Why};

/// Side of a scheduler that a request is on (`enum dd_data_dir`); a discard is on the side of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dir {
    Read,
    Write,
}

impl Dir {
    pub(super) const BOTH: [Dir; 2] = [Dir::Read, Dir::Write];

    pub(super) fn of(rq: &SchedRq) -> Self {
        if rq.op.is_write() { Dir::Write } else { Dir::Read }
    }

    fn other(self) -> Self {
        if self == Dir::Read { Dir::Write } else { Dir::Read }
    }
}

/// Priority classes, highest first (`enum dd_prio`).
pub(super) const CLASSES: [&str; 3] = ["RT", "BE", "IDLE"];
const BEST_EFFORT: usize = 1;

/// Where a known request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The list of those inserted at the head.
    AtHead,
    /// A sorted tree, under this key, and a FIFO, at this place.
    Queued { key: (u64, u64), fifo: u64 },
    /// Dispatched, not yet completed.
    Driver,
}

#[derive(Clone, Debug, Hash)]
struct Entry {
    rq: SchedRq,
    class: u8,
    place: Place,
    /// `fifo_time`, ns.
    deadline_ns: u64,
    /// What was added to the time of insertion to make the deadline, ns. The kernel subtracts the current tunable
    /// instead (`started_after`), which makes requests look too young after the tunable was lowered.
    expire_ns: u64,
}

/// One direction of one class.
#[derive(Clone, Debug, Default, Hash)]
struct Lane {
    /// Slots by (first sector, order of insertion into the tree).
    sort_list: BTreeMap<(u64, u64), u32>,
    /// Slots by place; a place is a number that grows with every insertion.
    fifo_list: BTreeMap<u64, u32>,
    /// Request with which the sweep goes on (`DeadlineNext::BatchPointer`, `DeadlineNext::Pointer`).
    next_rq: Option<u32>,
    /// First sector of the request last dispatched (`DeadlineNext::Position`).
    latest_pos: u64,
}

/// One priority class (`struct dd_per_prio`).
#[derive(Clone, Debug, Default, Hash)]
struct Class {
    /// Inserted at the head, first one first.
    dispatch: VecDeque<u32>,
    lanes: [Lane; 2],
    /// Requests inserted and neither completed nor merged away (`dd_queued`).
    queued: u32,
}

impl Class {
    fn has_work(&self) -> bool {
        !self.dispatch.is_empty() || self.lanes.iter().any(|l| !l.fifo_list.is_empty())
    }
}

/// State of the algorithm for one disk (`struct deadline_data`).
#[derive(Clone, Debug, Hash)]
pub(crate) struct Deadline {
    limits: Limits,
    prio: DeadlinePrio,
    next: DeadlineNext,
    classes: [Class; 3],
    /// By slot.
    entries: Vec<Option<Entry>>,
    /// Requests dispatched in the current batch.
    batching: u32,
    /// Read batches started while writes waited.
    starved: u32,
    last_dir: Dir,
    /// Source of keys and places.
    order: u64,
    /// For a lesson: the next batch that can turns back, see [`Deadline::break_batch`].
    turns_back: bool,
}

impl Deadline {
    pub(crate) fn new(prio: DeadlinePrio, next: DeadlineNext) -> Self {
        Self {
            limits: Limits::default(),
            prio,
            next,
            classes: Default::default(),
            entries: Vec::new(),
            batching: 0,
            starved: 0,
            // dd_init_sched; it matters with remembered positions, where a first batch of writes needs no choice.
            last_dir: Dir::Write,
            order: 0,
            turns_back: false,
        }
    }

    /// Whether completions are counted, in the line of the lists, for the sake of ageing (`struct io_stats_per_prio`).
    pub(crate) fn counts_completions(&self) -> bool {
        self.prio == DeadlinePrio::Ageing
    }

    fn class_of(&self, rq: &SchedRq) -> usize {
        match (self.prio, rq.prio.class) {
            (DeadlinePrio::Ignored, _) | (_, PrioClass::None | PrioClass::Be) => BEST_EFFORT,
            (_, PrioClass::Rt) => 0,
            (_, PrioClass::Idle) => 2,
        }
    }

    fn entry(&self, slot: u32) -> &Entry {
        self.entries[slot as usize].as_ref().expect("a request that was inserted")
    }

    fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        self.entries[slot as usize].as_mut().expect("a request that was inserted")
    }

    fn lane(&self, slot: u32) -> &Lane {
        let entry = self.entry(slot);
        &self.classes[entry.class as usize].lanes[Dir::of(&entry.rq) as usize]
    }

    fn lane_mut(&mut self, slot: u32) -> &mut Lane {
        let entry = self.entry(slot);
        let (class, dir) = (entry.class as usize, Dir::of(&entry.rq));
        &mut self.classes[class].lanes[dir as usize]
    }

    fn ordered(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// `dd_insert_request`. A request that comes back from the driver is counted once.
    pub(crate) fn insert(&mut self, now: u64, rq: SchedRq, at_head: bool) {
        let class = self.class_of(&rq);
        let index = rq.slot as usize;
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        if self.entries[index].is_none() {
            self.classes[class].queued += 1;
        }
        let expire_ns = self.limits.expire_ns[Dir::of(&rq) as usize];
        let (place, deadline_ns) = if at_head {
            self.classes[class].dispatch.push_front(rq.slot);
            (Place::AtHead, now)
        } else {
            let order = self.ordered();
            let lane = &mut self.classes[class].lanes[Dir::of(&rq) as usize];
            lane.sort_list.insert((rq.sector, order), rq.slot);
            lane.fifo_list.insert(order, rq.slot);
            (Place::Queued { key: (rq.sector, order), fifo: order }, now + expire_ns)
        };
        self.entries[index] = Some(Entry { rq, class: class as u8, place, deadline_ns, expire_ns });
    }

    /// `dd_finish_request`.
    pub(crate) fn completed(&mut self, slot: u32) {
        if let Some(entry) = self.entries[slot as usize].take_if(|e| e.place == Place::Driver) {
            self.classes[entry.class as usize].queued -= 1;
        }
    }

    /// `dd_has_work`.
    pub(crate) fn has_work(&self) -> bool {
        self.classes.iter().any(Class::has_work)
    }

    /// `dd_dispatch_request`.
    pub(super) fn dispatch(&mut self, now: u64) -> Option<Pick> {
        match self.prio {
            DeadlinePrio::Ignored => self.dispatch_class(now, BEST_EFFORT, false),
            DeadlinePrio::Strict => (0..CLASSES.len()).find_map(|c| self.dispatch_class(now, c, false)),
            DeadlinePrio::Ageing => self.dispatch_aged(now).or_else(|| {
                // A class with anything queued or in flight holds back those below it.
                let class = (0..CLASSES.len()).find(|&c| self.classes[c].queued > 0)?;
                self.dispatch_class(now, class, false)
            }),
        }
    }

    /// `dd_dispatch_prio_aged_requests`: not for real time, and only where classes compete.
    fn dispatch_aged(&mut self, now: u64) -> Option<Pick> {
        if self.classes.iter().filter(|c| c.queued > 0).count() < 2 {
            return None;
        }
        (BEST_EFFORT..CLASSES.len()).find_map(|c| self.dispatch_class(now, c, true))
    }

    /// `started_after` with `prio_aging_expire`, negated.
    fn is_aged(&self, slot: u32, now: u64) -> bool {
        let entry = self.entry(slot);
        entry.deadline_ns + self.limits.prio_aging_expire_ns <= now + entry.expire_ns
    }

    /// `__dd_dispatch_request`. A candidate refused for its youth leaves the choice of direction behind, as in the
    /// kernel.
    fn dispatch_class(&mut self, now: u64, class: usize, aged: bool) -> Option<Pick> {
        if let Some(&slot) = self.classes[class].dispatch.front() {
            if aged && !self.is_aged(slot, now) {
                return None;
            }
            self.classes[class].dispatch.pop_front();
            self.started(slot);
            return Some(Pick { slot, why: Why::AtHead, class, aged });
        }
        let going_on =
            self.next_request(class, self.last_dir).filter(|_| self.batching < self.limits.fifo_batch);
        let going_on = going_on.map(|slot| self.turned_back(class).unwrap_or(slot));
        let (slot, why) = match going_on {
            Some(slot) => (slot, Why::Batch { nth: self.batching + 1 }),
            None => self.new_batch(now, class)?,
        };
        if aged && !self.is_aged(slot, now) {
            return None;
        }
        self.batching += 1;
        let latter = self.latter(slot);
        let dir = Dir::of(&self.entry(slot).rq);
        self.unlink(slot);
        self.started(slot);
        let lanes = &mut self.classes[class].lanes;
        match self.next {
            DeadlineNext::BatchPointer => {
                lanes[dir as usize].next_rq = latter;
                lanes[dir.other() as usize].next_rq = None;
            }
            DeadlineNext::Pointer => lanes[dir as usize].next_rq = latter,
            DeadlineNext::Position => {}
        }
        Some(Pick { slot, why, class, aged })
    }

    /// The sweep turns back once, on purpose, as soon as a request waits before the last one.
    pub(super) fn break_batch(&mut self) {
        self.turns_back = true;
    }

    fn turned_back(&mut self, class: usize) -> Option<u32> {
        if !self.turns_back {
            return None;
        }
        let lane = &self.classes[class].lanes[self.last_dir as usize];
        let (&(sector, _), &slot) = lane.sort_list.iter().next()?;
        if sector >= lane.latest_pos {
            return None;
        }
        self.turns_back = false;
        Some(slot)
    }

    /// How a dispatched request stands in the sweep of its direction and class.
    pub(super) fn sweep(&self, pick: &Pick) -> Option<Sweep> {
        let lane = (pick.class * Dir::BOTH.len() + Dir::of(&self.entry(pick.slot).rq) as usize) as u8;
        match pick.why {
            Why::AtHead => None,
            Why::Batch { .. } => Some(Sweep { lane, goes_on: true }),
            Why::New { .. } => Some(Sweep { lane, goes_on: false }),
        }
    }

    /// Chooses the direction of the next batch and its first request.
    fn new_batch(&mut self, now: u64, class: usize) -> Option<(u32, Why)> {
        let turn = self.choose_direction(class)?;
        let dir = if matches!(turn, Turn::Reads { .. }) { Dir::Read } else { Dir::Write };
        let oldest = *self.classes[class].lanes[dir as usize].fifo_list.values().next()?;
        let (slot, first) = if self.entry(oldest).deadline_ns <= now {
            (oldest, First::Expired)
        } else {
            match self.next_request(class, dir) {
                Some(slot) => (slot, First::Sweep),
                None => (oldest, First::Oldest),
            }
        };
        self.last_dir = dir;
        self.batching = 0;
        Some((slot, Why::New { turn, first }))
    }

    fn choose_direction(&mut self, class: usize) -> Option<Turn> {
        let [reads, writes] = Dir::BOTH.map(|d| !self.classes[class].lanes[d as usize].fifo_list.is_empty());
        if !reads {
            self.starved = if writes { 0 } else { self.starved };
            return writes.then_some(Turn::OnlyWrites);
        }
        if !writes {
            return Some(Turn::Reads { writes_passed_over: None });
        }
        let passed_over = self.starved;
        if passed_over >= self.limits.writes_starved {
            self.starved = 0;
            return Some(Turn::StarvedWrites { passed_over });
        }
        self.starved += 1;
        Some(Turn::Reads { writes_passed_over: Some(self.starved) })
    }

    /// `deadline_next_request`.
    fn next_request(&self, class: usize, dir: Dir) -> Option<u32> {
        let lane = &self.classes[class].lanes[dir as usize];
        match self.next {
            DeadlineNext::BatchPointer | DeadlineNext::Pointer => lane.next_rq,
            DeadlineNext::Position => {
                lane.sort_list.range((lane.latest_pos, 0)..).next().map(|(_, &slot)| slot)
            }
        }
    }

    /// The request leaves for the driver.
    fn started(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        entry.place = Place::Driver;
        let sector = entry.rq.sector;
        self.lane_mut(slot).latest_pos = sector;
    }

    /// `deadline_remove_request`: out of tree and FIFO; a sweep that would go on with it goes on behind it.
    fn unlink(&mut self, slot: u32) {
        let Place::Queued { key, fifo } = self.entry(slot).place else {
            unreachable!("only requests in the lists are taken out of them")
        };
        let latter = self.latter(slot);
        let lane = self.lane_mut(slot);
        if lane.next_rq == Some(slot) {
            lane.next_rq = latter;
        }
        lane.sort_list.remove(&key);
        lane.fifo_list.remove(&fifo);
    }

    /// `dd_request_merge`. Of several that start at the same sector it is the first inserted; the kernel takes the one
    /// nearest to the root of its tree.
    pub(crate) fn front(&self, bio: &SchedRq) -> Option<u32> {
        if !self.limits.front_merges {
            return None;
        }
        let lane = &self.classes[self.class_of(bio)].lanes[Dir::of(bio) as usize];
        let (&(sector, _), &slot) = lane.sort_list.range((bio.end(), 0)..).next()?;
        (sector == bio.end()).then_some(slot)
    }

    /// Requests in the tree of this direction and class.
    pub(crate) fn tree_len(&self, rq: &SchedRq) -> usize {
        self.classes[self.class_of(rq)].lanes[Dir::of(rq) as usize].sort_list.len()
    }

    /// `elv_rb_former_request`.
    pub(crate) fn former(&self, slot: u32) -> Option<u32> {
        let Place::Queued { key, .. } = self.entry(slot).place else { return None };
        self.lane(slot).sort_list.range(..key).next_back().map(|(_, &slot)| slot)
    }

    /// `elv_rb_latter_request`.
    pub(crate) fn latter(&self, slot: u32) -> Option<u32> {
        let Place::Queued { key: (sector, order), .. } = self.entry(slot).place else { return None };
        self.lane(slot).sort_list.range((sector, order + 1)..).next().map(|(_, &slot)| slot)
    }

    /// `dd_request_merged`: only a front merge moves it in the tree; the FIFO and a pointer at it stay.
    pub(crate) fn grown(&mut self, slot: u32, sector: u64, sectors: u32) {
        let entry = self.entry_mut(slot);
        let moved = entry.rq.sector != sector;
        (entry.rq.sector, entry.rq.sectors) = (sector, sectors);
        if let Place::Queued { key, fifo } = entry.place
            && moved
        {
            let to = (sector, self.ordered());
            let lane = self.lane_mut(slot);
            lane.sort_list.remove(&key);
            lane.sort_list.insert(to, slot);
            self.entry_mut(slot).place = Place::Queued { key: to, fifo };
        }
    }

    /// `dd_merged_requests`: the earlier deadline and its place in the FIFO go to the survivor.
    pub(crate) fn absorbed(&mut self, slot: u32, gone: u32) {
        let Entry { place, deadline_ns, expire_ns, class, .. } = *self.entry(gone);
        self.unlink(gone);
        self.entries[gone as usize] = None;
        self.classes[class as usize].queued -= 1;
        let survivor = self.entry_mut(slot);
        if let (Place::Queued { key, fifo: old }, Place::Queued { fifo, .. }) = (survivor.place, place)
            && deadline_ns < survivor.deadline_ns
        {
            survivor.place = Place::Queued { key, fifo };
            (survivor.deadline_ns, survivor.expire_ns) = (deadline_ns, expire_ns);
            let lane = self.lane_mut(slot);
            lane.fifo_list.remove(&old);
            lane.fifo_list.insert(fifo, slot);
        }
    }
}
