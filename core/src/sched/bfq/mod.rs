//! bfq: a disk for each process in turn, by budgets of sectors (`block/bfq-iosched.c`, about 5.10).
//!
//! Each process has a bfqq; the one in service keeps the disk until its budget or 125 ms are used up, or until it has
//! nothing to do. B-WF2Q+ says who is next ([`tree`]). If the bfqq in service has no request but is thought to send one
//! soon, the disk is kept idle for it ([`idle`]) although others wait and `has_work` says so.
//!
//! - [`insert`]: a request comes in, wakes its bfqq, may preempt; merging
//! - [`select`]: the next request, injection
//! - [`idle`]: when to idle, the idle timer, completions
//! - [`expire`]: the end of a slot and the next budget
//! - [`raise`]: raised weights and bursts
//! - [`rate`]: the peak rate and the largest budget
//! - [`view`], [`tunables`]: for people
//!
//! What is left out is named in `docs/kernel-notes.md`.

mod expire;
mod idle;
mod insert;
mod queue;
mod raise;
mod rate;
mod select;
mod tree;
mod tunables;
mod view;

use super::*;
use queue::{Bfqq, Owner, Queued};
use raise::Burst;
use rate::PeakRate;
use std::collections::{BTreeMap, VecDeque};
use tree::{Qid, Wf2q};
use tunables::Tunables;

const MS: u64 = 1_000_000;

/// Why a bfqq loses the device (`enum bfqq_expiration`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reason {
    /// The idle timer ran out.
    TooIdle,
    /// Its time is up.
    BudgetTimeout,
    /// The next request costs more than what is left.
    BudgetExhausted,
    /// Nothing to do and not worth idling for.
    NoMoreRequests,
    /// Another bfqq comes first.
    Preempted,
}

/// The idle timer (`idle_slice_timer`) while it is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct IdleTimer {
    at_ns: u64,
    /// Of the last timer asked for; others are stale.
    token: u32,
}

/// `struct bfq_data`.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    rotational: bool,
    /// Knob `bfq_injects`.
    injects: bool,
    tunables: Tunables,
    queues: Vec<Bfqq>,
    owners: BTreeMap<Owner, Qid>,
    wf2q: Wf2q,
    /// Queued requests by slot (`bfqd->queued` is their number).
    queued: BTreeMap<u32, Queued>,
    /// Requests that go before all others (`bfqd->dispatch`).
    dispatch: VecDeque<(SchedRq, Qid)>,
    /// Slots in the driver and their bfqq (`rq_in_driver` is their number).
    in_driver: BTreeMap<u32, Qid>,
    /// Requests queued so far; orders equal sectors and the FIFOs.
    arrivals: u64,
    /// End of the request dispatched last.
    last_position: u64,
    /// Busy bfqqs of each class.
    busy_queues: [u32; 3],
    /// Busy bfqqs with raised weight.
    wr_busy_queues: u32,
    /// How many bfqqs with pending requests have each weight, raised ones aside (`queue_weights_tree`).
    weights: BTreeMap<u32, u32>,
    /// Whether the device queues requests itself; `None`: not known, taken for yes.
    hw_tag: Option<bool>,
    hw_tag_samples: u32,
    max_in_driver: u32,
    timer: Option<IdleTimer>,
    /// Timers asked for so far.
    timers: u32,
    last_idling_start_ns: u64,
    last_budget_start_ns: u64,
    /// Start of a measurement of the total service time.
    last_empty_occupied_ns: u64,
    /// The next request dispatched of the bfqq in service is the one to measure.
    wait_dispatch: bool,
    /// Slot of the request being measured.
    waited_rq: Option<u32>,
    rqs_injected: bool,
    burst: Burst,
    rate: PeakRate,
}

impl Policy {
    /// `bfq_init_queue`.
    pub(crate) fn new(cx: Cx<'_>) -> Self {
        Self {
            rotational: cx.disk.rotational,
            injects: cx.knobs.bfq_injects,
            tunables: Tunables::default(),
            queues: Vec::new(),
            owners: BTreeMap::new(),
            wf2q: Wf2q::default(),
            queued: BTreeMap::new(),
            dispatch: VecDeque::new(),
            in_driver: BTreeMap::new(),
            arrivals: 0,
            last_position: 0,
            busy_queues: [0; 3],
            wr_busy_queues: 0,
            weights: BTreeMap::new(),
            hw_tag: None,
            hw_tag_samples: 0,
            max_in_driver: 0,
            timer: None,
            timers: 0,
            last_idling_start_ns: 0,
            last_budget_start_ns: 0,
            last_empty_occupied_ns: 0,
            wait_dispatch: false,
            waited_rq: None,
            rqs_injected: false,
            burst: Burst::default(),
            rate: PeakRate::new(cx.disk.rotational),
        }
    }

    fn bfqq(&self, q: Qid) -> &Bfqq {
        &self.queues[usize::from(q)]
    }

    fn bfqq_mut(&mut self, q: Qid) -> &mut Bfqq {
        &mut self.queues[usize::from(q)]
    }

    /// `bfq_tot_busy_queues`.
    fn busy_total(&self) -> u32 {
        self.busy_queues.iter().sum()
    }

    fn rq_in_driver(&self) -> u32 {
        u32::try_from(self.in_driver.len()).expect("no more requests than tags")
    }

    fn next_rq(&self, q: Qid) -> Option<&SchedRq> {
        self.bfqq(q).next_rq.map(|slot| &self.queued[&slot].rq)
    }

    /// Sectors charged for a request (`bfq_serv_to_charge`): asynchronous ones cost more, as writes slow down reads,
    /// unless weights differ and must be kept exactly.
    fn serv_to_charge(&self, rq: &SchedRq, q: Qid) -> u64 {
        const ASYNC_CHARGE_FACTOR: u64 = 3;
        let exact = self.bfqq(q).is_sync() || self.raised(q) || self.asymmetric(q).is_some();
        u64::from(rq.sectors) * if exact { 1 } else { ASYNC_CHARGE_FACTOR }
    }

    /// Its weight is raised.
    fn raised(&self, q: Qid) -> bool {
        self.wf2q.entity(q).coeff > 1
    }

    /// `bfq_add_bfqq_busy`.
    fn add_busy(&mut self, q: Qid) {
        let waited = std::mem::take(&mut self.bfqq_mut(q).non_blocking_wait_rq);
        self.wf2q.activate(q, waited);
        self.bfqq_mut(q).busy = true;
        self.busy_queues[self.wf2q.entity(q).class] += 1;
        if self.raised(q) {
            self.wr_busy_queues += 1;
        }
        self.count_weight(q);
    }

    /// `bfq_del_bfqq_busy`.
    fn del_busy(&mut self, q: Qid) {
        self.bfqq_mut(q).busy = false;
        self.busy_queues[self.wf2q.entity(q).class] -= 1;
        if self.raised(q) {
            self.wr_busy_queues -= 1;
        }
        self.wf2q.deactivate(q);
        self.count_weight(q);
    }

    /// Keeps `queue_weights_tree` up to date (`bfq_weights_tree_add`, `bfq_weights_tree_remove`): a bfqq counts while it
    /// has requests, queued or in the driver, and its weight is not raised.
    fn count_weight(&mut self, q: Qid) {
        let e = self.wf2q.entity(q);
        let b = &mut self.queues[usize::from(q)];
        let counts = (b.busy || b.dispatched > 0) && e.coeff == 1 && e.weight == e.orig_weight;
        let now = counts.then_some(e.weight);
        let before = std::mem::replace(&mut b.counted, now);
        if now == before {
            return;
        }
        if let Some(weight) = before {
            let n = self.weights.get_mut(&weight).expect("it counted there");
            *n -= 1;
            if *n == 0 {
                self.weights.remove(&weight);
            }
        }
        if let Some(weight) = now {
            *self.weights.entry(weight).or_default() += 1;
        }
    }

    /// `bfq_schedule_dispatch`.
    fn schedule_dispatch(&self, out: &mut Out) {
        out.run_hw_queues |= !self.queued.is_empty();
    }

    fn bfqq_of(&self, rq: &SchedRq) -> Option<Qid> {
        self.owners.get(&Owner::of(rq)).copied()
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking {
            dispatch_name: "bfqd->lock",
            dispatch: LockAt::Queue,
            insert_name: "bfqd->lock",
            insert: LockAt::Queue,
            insert_each: true,
            counts_until_done: true,
            completion: true,
            queue_lock: true,
            lines: &[],
            // bfq_data, the bfq_queue of the process and its entity in the service tree, each found through the one before.
            lists: Lists {
                merge: 2,
                insert: 4,
                dispatch: 5,
                completion: 3,
                counts_completions: false,
            },
        }
    }

    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, out: &mut Out) {
        self.insert_request(cx.now, rq, at_head, out);
    }

    fn dispatch(&mut self, cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        self.dispatch_request(cx.now).0
    }

    /// `bfq_has_work`: also while every dispatch is refused because the disk idles for someone.
    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        !self.dispatch.is_empty() || self.busy_total() > 0
    }

    fn completed(&mut self, cx: Cx<'_>, done: &Done, out: &mut Out) {
        self.completed_request(cx.now, done.rq.slot, out);
    }

    fn timer(&mut self, cx: Cx<'_>, token: u32, out: &mut Out) {
        self.idle_timer(cx.now, token, out);
    }

    /// `bfq_limit_depth`, `bfq_update_depths`: what may be written must leave tags for reads.
    fn shallow_depth(&self, _cx: Cx<'_>, op: Op, sync: bool, word_bits: u32) -> Option<u32> {
        if sync && !op.is_write() {
            return None;
        }
        let sixteenths = match (self.wr_busy_queues > 0, sync) {
            (false, false) => 8,
            (false, true) => 12,
            (true, false) => 3,
            (true, true) => 6,
        };
        Some((((1 << word_bits) * sixteenths) >> 4).max(1))
    }

    fn limits_shares(&self, cx: Cx<'_>) -> bool {
        cx.knobs.bfq_request_limit
    }

    /// `bfqq_request_over_limit`: it has as many requests, queued or in the driver, as its weight is worth of those that
    /// this kind may have at all.
    fn over_share(&self, cx: Cx<'_>, bio: &SchedRq, word_bits: u32) -> bool {
        let Some(q) = self.bfqq_of(bio) else { return false };
        let Some((weight, sum)) = self.wf2q.share(q) else { return false };
        let all = u64::from(cx.disk.nr_requests);
        let kind = match self.shallow_depth(cx, bio.op, bio.is_sync(), word_bits) {
            Some(depth) => (all * u64::from(depth)) >> word_bits,
            None => all,
        };
        let b = self.bfqq(q);
        let limit = (kind * weight + sum / 2) / sum;
        b.sort_list.len() as u64 + u64::from(b.dispatched) >= limit
    }

    /// `bfq_allow_bio_merge`: only into a request of the bfqq that the bio itself would go to.
    fn may_merge(&self, _cx: Cx<'_>, slot: u32, bio: &SchedRq) -> bool {
        self.queued.get(&slot).is_some_and(|rq| self.bfqq_of(bio) == Some(rq.q))
    }

    /// `bfq_find_rq_fmerge`.
    fn front(&self, _cx: Cx<'_>, bio: &SchedRq) -> Option<u32> {
        let list = &self.bfqq(self.bfqq_of(bio)?).sort_list;
        list.range((bio.end(), 0)..=(bio.end(), u64::MAX)).next().map(|(_, slot)| *slot)
    }

    /// Each process has a tree of its own.
    fn tree_len(&self, rq: &SchedRq) -> usize {
        self.bfqq_of(rq).map_or(0, |q| self.bfqq(q).sort_list.len())
    }

    fn former(&self, slot: u32) -> Option<u32> {
        let rq = self.queued.get(&slot)?;
        self.bfqq(rq.q).sort_list.range(..rq.key()).next_back().map(|(_, slot)| *slot)
    }

    fn latter(&self, slot: u32) -> Option<u32> {
        let rq = self.queued.get(&slot)?;
        let (sector, order) = rq.key();
        self.bfqq(rq.q).sort_list.range((sector, order + 1)..).next().map(|(_, slot)| *slot)
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        self.request_merged(slot, sector, sectors);
    }

    fn absorbed(&mut self, cx: Cx<'_>, slot: u32, gone: u32) {
        self.requests_merged(cx.now, slot, gone);
    }

    fn tunables(&self, _cx: Cx<'_>) -> Vec<Tunable> {
        self.tunables.list()
    }

    fn set(&mut self, name: &str, value: u64) {
        self.set_tunable(name, value);
    }

    fn view(&self, cx: Cx<'_>) -> View {
        self.draw(cx)
    }
}
