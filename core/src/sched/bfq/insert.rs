//! A request comes in (`__bfq_insert_request`, `bfq_add_request`); merging.

use super::queue::{Bfqq, Owner, Queued, choose_req, class_and_weight};
use super::{MS, Out, Policy, Qid, Reason, SchedRq};

/// Activations in time after which a bfqq counts as I/O bound again (`bfq_requests_within_timer`).
const IN_TIME_FOR_IO_BOUND: u32 = 120;
/// The injection limit is reset this long after it was lowered.
const INJECT_RESET_NS: u64 = 1_000 * MS;
/// A change of think time resets the limit no sooner than this.
const INJECT_RESET_THINK_NS: u64 = 100 * MS;
/// Service times are measured no more often than this.
const INJECT_SAMPLE_NS: u64 = 10 * MS;
/// A smaller request that arrives while the disk idles may be waited with, for more to merge; sectors.
const SMALL_SECTORS: u32 = 32;

/// Whether `time` lies at least `span` back, or never was.
fn long_ago(now: u64, time: Option<u64>, span: u64) -> bool {
    time.is_none_or(|time| now >= time + span)
}

impl Policy {
    /// `__bfq_insert_request`. A request that comes back from the driver has been completed as far as bfq is concerned
    /// (`bfq_finish_requeue_request`).
    pub(super) fn insert_request(&mut self, now: u64, rq: SchedRq, at_head: bool, out: &mut Out) {
        if self.in_driver.contains_key(&rq.slot) {
            self.completed_request(now, rq.slot, out);
        }
        let q = self.bfqq_for(now, &rq);
        if at_head {
            self.dispatch.push_front((rq, q));
            return;
        }
        let slice_idle_ns = self.tunables.slice_idle_ns;
        let rotational = self.rotational;
        let b = self.bfqq_mut(q);
        b.update_think_time(now, 2 * slice_idle_ns);
        self.update_short_ttime(now, q);
        self.bfqq_mut(q).update_seeks(&rq, rotational);
        self.add_request(now, rq, q);
        self.bfqq_mut(q).last_request_pos = rq.end();
        self.end_idling_for(now, &rq, q);
    }

    /// `bfq_get_queue`: its bfqq, made if it is the first request of its owner.
    fn bfqq_for(&mut self, now: u64, rq: &SchedRq) -> Qid {
        let owner = Owner::of(rq);
        if let Some(q) = self.owners.get(&owner) {
            return *q;
        }
        let (class, weight) = class_and_weight(rq.prio);
        let q = self.wf2q.add(class, weight);
        self.queues.push(Bfqq::new(owner, rq.prio, now, self.rate.max_budget()));
        self.owners.insert(owner, q);
        if matches!(owner, Owner::Sync(_)) {
            self.handle_burst(now, q);
        }
        q
    }

    /// `bfq_update_has_short_ttime`.
    fn update_short_ttime(&mut self, now: u64, q: Qid) {
        let slice_idle_ns = self.tunables.slice_idle_ns;
        let idle_class = self.wf2q.entity(q).class == super::tree::IDLE_CLASS;
        let b = self.bfqq_mut(q);
        if !b.is_sync() || idle_class || slice_idle_ns == 0 {
            return;
        }
        let short = !b.thinks_longer_than(slice_idle_ns);
        let changed = std::mem::replace(&mut b.short_ttime, short) != short;
        let may_reset = !short || long_ago(now, b.decrease_ns, INJECT_RESET_THINK_NS);
        if changed && b.last_serv_time_ns == 0 && may_reset {
            self.reset_inject_limit(now, q);
        }
    }

    /// `bfq_add_request`.
    fn add_request(&mut self, now: u64, rq: SchedRq, q: Qid) {
        if self.bfqq(q).is_empty() && self.bfqq(q).is_sync() {
            self.prepare_injection_sample(now, q);
        }
        self.arrivals += 1;
        let order = self.arrivals;
        let expires_ns = now + self.tunables.fifo_expire_ns[usize::from(rq.is_sync())];
        let before = self.bfqq(q).next_rq;
        self.queued.insert(rq.slot, Queued { rq, q, order, fifo: order, expires_ns });
        let b = self.bfqq_mut(q);
        b.sort_list.insert((rq.sector, order), rq.slot);
        b.fifo.insert(order, rq.slot);
        self.choose_next(q, before, Some(rq.slot), self.last_position);

        let was_raised = self.raised(q);
        let mut interactive = false;
        if !self.bfqq(q).busy {
            interactive = self.idle_to_busy(now, q);
        } else if self.bfqq(q).next_rq != before {
            self.updated_next_rq(q);
        }
        if self.tunables.low_latency && (!was_raised || !self.raised(q) || interactive) {
            self.bfqq_mut(q).wr_since_ns = now;
        }
    }

    /// The first request of an empty bfqq: resets an old injection limit, and may begin to measure a service time.
    fn prepare_injection_sample(&mut self, now: u64, q: Qid) {
        if long_ago(now, self.bfqq(q).decrease_ns, INJECT_RESET_NS) {
            self.reset_inject_limit(now, q);
        }
        let nothing_in_driver = self.in_driver.is_empty();
        let b = self.bfqq(q);
        // Alone in the device it shows the base value, among injected requests what injection costs.
        let tells = nothing_in_driver || (b.last_serv_time_ns > 0 && self.rqs_injected);
        if self.wf2q.in_service() == Some(q) && tells && long_ago(now, b.decrease_ns, INJECT_SAMPLE_NS) {
            self.last_empty_occupied_ns = now;
            self.wait_dispatch = true;
            if nothing_in_driver {
                self.rqs_injected = false;
            }
        }
    }

    /// `bfq_reset_inject_limit`: none for a short think time until it is known to do no harm.
    fn reset_inject_limit(&mut self, now: u64, q: Qid) {
        self.waited_rq = None;
        let b = self.bfqq_mut(q);
        b.last_serv_time_ns = 0;
        b.inject_limit = u32::from(!b.short_ttime);
        b.decrease_ns = Some(now);
    }

    /// `bfq_bfqq_handle_idle_busy_switch`: gives a budget, a weight and a place in the tree, and takes the device from
    /// the bfqq in service if this one is owed it. (`next_queue_may_preempt` holds always: a bfqq in service is in no
    /// tree, so somebody else is next.) Says whether it is interactive.
    fn idle_to_busy(&mut self, now: u64, q: Qid) -> bool {
        let slice_idle_ns = self.tunables.slice_idle_ns;
        let b = self.bfqq_mut(q);
        let in_time = b.last_end_ns.is_none_or(|end| now <= end + 3 * slice_idle_ns);
        let goes_on = self.update_budget_for_activation(q, in_time);
        let b = self.bfqq_mut(q);
        if !b.io_bound {
            b.in_time = if in_time { b.in_time + 1 } else { 0 };
            b.io_bound = b.in_time >= IN_TIME_FOR_IO_BOUND;
        }
        let interactive = self.update_raise_on_arrival(now, q);
        self.add_busy(q);
        if let Some(serving) = self.wf2q.in_service() {
            let (e, s) = (self.wf2q.entity(q), self.wf2q.entity(serving));
            let owed = goes_on && e.coeff >= s.coeff;
            let above = e.class < s.class || e.weight > s.weight;
            if owed || above {
                self.expire(now, serving, false, Reason::Preempted);
            }
        }
        interactive
    }

    /// `bfq_bfqq_update_budg_for_activation`: a bfqq that was empty for a moment goes on with what was left.
    fn update_budget_for_activation(&mut self, q: Qid, in_time: bool) -> bool {
        let needs = self.next_rq(q).map_or(0, |rq| self.serv_to_charge(rq, q));
        let b = &mut self.queues[usize::from(q)];
        let e = self.wf2q.entity_mut(q);
        let left = e.budget_left();
        e.service = 0;
        if b.non_blocking_wait_rq && in_time && left > 0 {
            e.budget = left.min(b.max_budget);
            true
        } else {
            e.budget = b.max_budget.max(needs);
            b.non_blocking_wait_rq = false;
            false
        }
    }

    /// `bfq_updated_next_req`: the budget must cover the request that is now next. A bfqq in service keeps its budget.
    pub(super) fn updated_next_rq(&mut self, q: Qid) {
        let Some(rq) = self.next_rq(q) else { return };
        if self.wf2q.in_service() == Some(q) {
            return;
        }
        let needs = self.serv_to_charge(rq, q);
        let max_budget = self.bfqq(q).max_budget;
        let e = self.wf2q.entity_mut(q);
        let budget = max_budget.max(needs).max(e.service);
        if e.budget != budget {
            e.budget = budget;
            self.wf2q.requeue(q);
            self.count_weight(q);
        }
    }

    /// `bfq_rq_enqueued`: the disk idles for this bfqq. A small request may bring others to merge with: the timer goes
    /// on, and the next run decides.
    fn end_idling_for(&mut self, now: u64, rq: &SchedRq, q: Qid) {
        if self.wf2q.in_service() != Some(q) || !self.bfqq(q).wait_request {
            return;
        }
        let small = self.bfqq(q).sort_list.len() == 1 && rq.sectors < SMALL_SECTORS;
        let timed_out = self.timed_out(now, q);
        if small && self.idling_boosts(q) && !timed_out {
            return;
        }
        self.stop_waiting(q);
        if timed_out {
            self.expire(now, q, false, Reason::BudgetTimeout);
        }
    }

    /// Sets the next request of a bfqq to the better of two for a head at `last`.
    pub(super) fn choose_next(&mut self, q: Qid, a: Option<u32>, b: Option<u32>, last: u64) {
        let rq = |slot: Option<u32>| slot.map(|slot| &self.queued[&slot].rq);
        let back_max = self.tunables.back_seek_max_kib * 2;
        let next = choose_req(rq(a), rq(b), last, back_max, self.tunables.back_seek_penalty);
        self.bfqq_mut(q).next_rq = next;
    }

    /// `bfq_request_merged`: a bio has joined it; in front, this moves it in the sort list.
    pub(super) fn request_merged(&mut self, slot: u32, sector: u64, sectors: u32) {
        let queued = self.queued.get_mut(&slot).expect("only queued requests grow");
        let (old_key, q) = (queued.key(), queued.q);
        (queued.rq.sector, queued.rq.sectors) = (sector, sectors);
        let key = queued.key();
        if key == old_key {
            return;
        }
        let b = self.bfqq_mut(q);
        b.sort_list.remove(&old_key);
        b.sort_list.insert(key, slot);
        let before = b.next_rq;
        self.choose_next(q, before, Some(slot), self.last_position);
        if self.bfqq(q).next_rq != before {
            self.updated_next_rq(q);
        }
    }

    /// `bfq_requests_merged`: `gone` is now part of `slot`, which takes over its age if that is higher.
    pub(super) fn requests_merged(&mut self, now: u64, slot: u32, gone: u32) {
        let (next, rq) = (self.queued[&gone].clone(), &self.queued[&slot]);
        if next.q == rq.q && next.expires_ns < rq.expires_ns {
            let (q, fifo) = (rq.q, rq.fifo);
            let b = self.bfqq_mut(q);
            b.fifo.remove(&fifo);
            b.fifo.insert(next.fifo, slot);
            let rq = self.queued.get_mut(&slot).expect("looked up above");
            (rq.fifo, rq.expires_ns) = (next.fifo, next.expires_ns);
            // What is removed below must not be what was just put in its place.
            self.queued.get_mut(&gone).expect("looked up above").fifo = fifo;
        }
        if self.bfqq(next.q).next_rq == Some(gone) && next.q == self.queued[&slot].q {
            self.bfqq_mut(next.q).next_rq = Some(slot);
        }
        self.remove_request(now, gone);
    }
}
