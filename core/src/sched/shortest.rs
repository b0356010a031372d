//! A scheduler for teaching, which Linux does not have: the smallest request goes first.
//!
//! It answers small requests fast, as shortest job first does in any queue, and would let a large one wait for ever; so
//! nothing may be overtaken once it has waited for `max_wait_ms`. `docs/adding-a-scheduler.md` walks through this file.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;

/// State of one disk.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    /// Attribute `max_wait_ms`, ns.
    max_wait_ns: u64,
    /// Waiting requests by slot.
    waiting: BTreeMap<u32, Waiting>,
    /// The same as (sectors, arrival, slot): smallest first, of equals the oldest.
    by_size: BTreeSet<(u32, u64, u32)>,
    /// The same as (arrival, slot): oldest first.
    by_age: BTreeSet<(u64, u32)>,
    /// Arrivals so far; two requests never compare as equal.
    arrivals: u64,
}

#[derive(Clone, Debug, Hash)]
struct Waiting {
    rq: SchedRq,
    arrival: u64,
    since_ns: u64,
}

impl Policy {
    pub(crate) fn new(_cx: Cx<'_>) -> Self {
        Self {
            max_wait_ns: 20 * MS,
            waiting: BTreeMap::new(),
            by_size: BTreeSet::new(),
            by_age: BTreeSet::new(),
            arrivals: 0,
        }
    }

    /// The request that goes next, and whether it goes because of its age.
    fn next(&self, now: u64) -> Option<(u32, bool)> {
        let &(_, oldest) = self.by_age.first()?;
        if now - self.waiting[&oldest].since_ns >= self.max_wait_ns {
            return Some((oldest, true));
        }
        self.by_size.first().map(|&(_, _, slot)| (slot, false))
    }

    fn remove(&mut self, slot: u32) {
        if let Some(Waiting { rq, arrival, .. }) = self.waiting.remove(&slot) {
            self.by_size.remove(&(rq.sectors, arrival, slot));
            self.by_age.remove(&(arrival, slot));
        }
    }

    fn item(&self, now: u64, slot: u32) -> Item {
        let Waiting { rq, since_ns, .. } = &self.waiting[&slot];
        let note = format!("waits for {} us", (now - since_ns) / 1_000);
        Item { rq: rq.id, sector: rq.sector, sectors: rq.sectors, note }
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking {
            dispatch_name: "shortest->lock",
            dispatch: LockAt::Queue,
            insert_name: "shortest->lock",
            insert: LockAt::Queue,
            insert_each: false,
            counts_until_done: false,
            completion: false,
            queue_lock: false,
            lines: &[],
            lists: Lists::DEADLINE,
        }
    }

    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, _at_head: bool, _out: &mut Out) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.by_size.insert((rq.sectors, arrival, rq.slot));
        self.by_age.insert((arrival, rq.slot));
        self.waiting.insert(rq.slot, Waiting { rq, arrival, since_ns: cx.now });
    }

    fn dispatch(&mut self, cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        let (slot, _) = self.next(cx.now)?;
        self.remove(slot);
        Some(slot)
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        !self.waiting.is_empty()
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        if let Some(waiting) = self.waiting.get_mut(&slot) {
            let before = waiting.rq.sectors;
            (waiting.rq.sector, waiting.rq.sectors) = (sector, sectors);
            let arrival = waiting.arrival;
            self.by_size.remove(&(before, arrival, slot));
            self.by_size.insert((sectors, arrival, slot));
        }
    }

    fn absorbed(&mut self, _cx: Cx<'_>, _slot: u32, gone: u32) {
        self.remove(gone);
    }

    fn tunables(&self, _cx: Cx<'_>) -> Vec<Tunable> {
        vec![Tunable {
            name: "max_wait_ms",
            value: self.max_wait_ns / MS,
            range: (0, 60_000),
            unit: "ms",
            help: "Once a request has waited so long, it goes next whatever its size; 0 serves in order of arrival.",
        }]
    }

    fn set(&mut self, _name: &str, value: u64) {
        self.max_wait_ns = value * MS;
    }

    fn view(&self, cx: Cx<'_>) -> View {
        let next = self.next(cx.now);
        let why = match next {
            Some((_, true)) => "it has waited for max_wait_ms",
            Some((_, false)) => "it is the smallest, of equals the oldest",
            None => "nothing waits",
        };
        let group = |name: &str, slots: Vec<u32>| Group {
            name: name.into(),
            note: String::new(),
            items: slots.iter().take(VIEW_MAX).map(|&slot| self.item(cx.now, slot)).collect(),
            total: slots.len() as u32,
        };
        View {
            scheduler: "shortest".into(),
            next: next.map_or(0, |(slot, _)| self.waiting[&slot].rq.id),
            why: why.into(),
            facts: vec![("max_wait_ms".into(), (self.max_wait_ns / MS).to_string())],
            groups: vec![
                group("by_size", self.by_size.iter().map(|&(_, _, slot)| slot).collect()),
                group("by_age", self.by_age.iter().map(|&(_, slot)| slot).collect()),
            ],
        }
    }
}
