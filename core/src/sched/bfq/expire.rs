//! The end of a slot and the budget of the next (`bfq_bfqq_expire`).

use super::idle::MIN_THINK_NS;
use super::{MS, Policy, Qid, Reason};

impl Policy {
    /// `bfq_bfqq_expire`: takes the device from the bfqq in service. `compensate`: the time spent idling for it does not
    /// count as its own.
    pub(super) fn expire(&mut self, now: u64, q: Qid, compensate: bool, reason: Reason) {
        let (slow, used_ns) = self.is_slow(now, q, compensate);
        let e = self.wf2q.entity(q);
        let timed_out = reason == Reason::BudgetTimeout && e.budget_left() >= e.budget / 3;
        if e.coeff == 1 && (slow || timed_out) {
            self.charge_time(q, used_ns);
        }
        let e = self.wf2q.entity(q);
        if reason == Reason::TooIdle && e.service <= 2 * e.budget / 10 {
            self.bfqq_mut(q).io_bound = false;
        }
        if self.tunables.low_latency && !self.raised(q) {
            self.bfqq_mut(q).wr_since_ns = now;
        }
        self.recalc_budget(q, reason);
        self.leave_service(now, q, reason);
        // If it left for want of requests and sends one in time, it goes on with what is left of this budget
        // (`update_budget_for_activation`).
        let b = self.bfqq_mut(q);
        if !b.busy && !matches!(reason, Reason::BudgetTimeout | Reason::BudgetExhausted) {
            b.non_blocking_wait_rq = true;
        } else {
            self.wf2q.entity_mut(q).service = 0;
        }
    }

    /// `bfq_bfqq_is_slow`: whether it got less than half a full budget done in a time long enough to judge, or is seeky
    /// where the time was shorter, and the time that it may be charged for.
    fn is_slow(&self, now: u64, q: Qid, compensate: bool) -> (bool, u64) {
        if !self.bfqq(q).is_sync() {
            return (false, 0);
        }
        let until = if compensate { self.last_idling_start_ns } else { now };
        let used_ns = until.saturating_sub(self.last_budget_start_ns);
        if used_ns < MS {
            // Too short to be measured: one seek, or the shortest idling where nothing seeks.
            return (self.bfqq(q).seeky(), if self.rotational { 8 * MS } else { MIN_THINK_NS });
        }
        let slow = if used_ns > 20 * MS {
            self.wf2q.entity(q).service < self.rate.budget_limit() / 2
        } else {
            self.bfqq(q).seeky()
        };
        (slow, used_ns)
    }

    /// `bfq_bfqq_charge_time`: as if it had been served at full speed for the time it had.
    fn charge_time(&mut self, q: Qid, used_ns: u64) {
        let (time_ms, timeout_ms) = (used_ns / MS, self.tunables.timeout_ns / MS);
        let for_time = self.rate.budget_limit() * time_ms.min(timeout_ms) / timeout_ms;
        let e = self.wf2q.entity_mut(q);
        let total = e.service.max(for_time);
        e.budget = e.budget.max(total);
        let more = total - e.service;
        self.served(q, more);
    }

    /// `__bfq_bfqq_recalc_budget`.
    fn recalc_budget(&mut self, q: Qid, reason: Reason) {
        let (max, min) = (self.rate.budget_limit(), self.rate.min_budget());
        let b = self.bfqq(q);
        let budget = b.max_budget;
        let new = if !b.is_sync() {
            // Asynchronous queues are kept back by their charge, not by their budget.
            max
        } else if self.raised(q) {
            // Low and constant: latency matters more than throughput.
            2 * min
        } else {
            match reason {
                Reason::TooIdle if b.dispatched > 0 => (budget * 2).min(max),
                Reason::TooIdle if budget > 5 * min => budget - 4 * min,
                Reason::TooIdle => min,
                Reason::BudgetTimeout => (budget * 2).min(max),
                Reason::BudgetExhausted => (budget * 4).min(max),
                Reason::NoMoreRequests => self.wf2q.entity(q).service.max(min),
                Reason::Preempted => return,
            }
        };
        let follows_rate = self.rate.trusted() && self.tunables.user_max_budget == 0;
        let new = if follows_rate { new.min(max) } else { new };
        self.bfqq_mut(q).max_budget = new;
        if let Some(rq) = self.next_rq(q) {
            let needs = self.serv_to_charge(rq, q);
            self.wf2q.entity_mut(q).budget = new.max(needs);
        }
    }

    /// `__bfq_bfqq_expire`. An empty bfqq that was preempted while idling kept promises to it stays in the tree, so that
    /// nobody with a later finish time overtakes it.
    fn leave_service(&mut self, now: u64, q: Qid, reason: Reason) {
        let b = self.bfqq(q);
        let keeps_place = reason == Reason::Preempted && self.idling_guarantees(q).is_some();
        if b.is_empty() && !keeps_place {
            if b.dispatched == 0 {
                self.bfqq_mut(q).idle_since_ns = Some(now);
            }
            self.del_busy(q);
        } else {
            self.wf2q.requeue(q);
            self.count_weight(q);
        }
        self.stop_waiting(q);
        self.wf2q.reset_in_service();
    }

    /// `bfq_bfqq_served`.
    pub(super) fn served(&mut self, q: Qid, sectors: u64) {
        if self.raised(q) {
            self.bfqq_mut(q).service_from_wr += sectors;
        }
        self.wf2q.served(q, sectors);
    }

    /// `bfq_bfqq_budget_timeout`.
    pub(super) fn timed_out(&self, now: u64, q: Qid) -> bool {
        self.bfqq(q).timeout_ns <= now
    }

    /// `bfq_may_expire_for_budg_timeout`: a bfqq for which the disk idles keeps it once it has used two thirds of its
    /// budget.
    pub(super) fn may_expire_for_timeout(&self, now: u64, q: Qid) -> bool {
        let e = self.wf2q.entity(q);
        self.timed_out(now, q) && (!self.bfqq(q).wait_request || e.budget_left() >= e.budget / 3)
    }
}
