//! Idling: keeping the disk for a bfqq without requests because its next is worth waiting for; completions.

use super::{IdleTimer, MS, Out, Policy, Qid, Reason};

/// Idle time for a seeky bfqq (`BFQ_MIN_TT`).
pub(super) const MIN_THINK_NS: u64 = 2 * MS;
/// Least idle time for a bfqq with raised weight.
const RAISED_IDLE_NS: u64 = 20 * MS;
/// A device with more requests than this at a time queues them itself (`BFQ_HW_QUEUE_THRESHOLD`).
const HW_QUEUE_THRESHOLD: u32 = 3;
/// Samples before that is decided (`BFQ_HW_QUEUE_SAMPLES`).
const HW_QUEUE_SAMPLES: u32 = 32;

/// Why the disk idles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum IdleWhy {
    Strict,
    /// The next request will be near, and the device would do no better with others.
    Throughput,
    /// Its weight is raised and others must not fill the device.
    Raised,
    /// Weights differ: who does not idle would lose its share.
    Weights,
    /// Several classes are busy.
    Classes,
}

impl Policy {
    /// `bfq_bfqq_must_idle`.
    pub(super) fn must_idle(&self, q: Qid) -> bool {
        self.bfqq(q).is_empty() && self.better_to_idle(q).is_some()
    }

    /// `bfq_better_to_idle`.
    pub(super) fn better_to_idle(&self, q: Qid) -> Option<IdleWhy> {
        if self.tunables.strict_guarantees {
            return Some(IdleWhy::Strict);
        }
        let idle_class = self.wf2q.entity(q).class == super::tree::IDLE_CLASS;
        if self.tunables.slice_idle_ns == 0 || !self.bfqq(q).is_sync() || idle_class {
            return None;
        }
        if self.idling_boosts(q) { Some(IdleWhy::Throughput) } else { self.idling_guarantees(q) }
    }

    /// `idling_boosts_thr_without_issues`: a disk that rotates and does not queue loses by every seek; else only a
    /// sequential process that comes back at once is worth it. Never at the cost of raised ones.
    pub(super) fn idling_boosts(&self, q: Qid) -> bool {
        let queueing = self.hw_tag.unwrap_or(true);
        let b = self.bfqq(q);
        let sequential = !b.seeky() && b.io_bound && b.short_ttime;
        let boosts = (self.rotational && !queueing) || ((self.rotational || !queueing) && sequential);
        boosts && self.wr_busy_queues == 0
    }

    /// `idling_needed_for_service_guarantees`.
    pub(super) fn idling_guarantees(&self, q: Qid) -> Option<IdleWhy> {
        let others = self.wr_busy_queues < self.busy_total()
            || self.rq_in_driver() > self.bfqq(q).dispatched + HW_QUEUE_THRESHOLD;
        if self.raised(q) && others { Some(IdleWhy::Raised) } else { self.asymmetric(q) }
    }

    /// `bfq_asymmetric_scenario`. The bfqq of the smallest weight alone need not be protected from heavier ones.
    pub(super) fn asymmetric(&self, q: Qid) -> Option<IdleWhy> {
        let smallest = self.bfqq(q).counted.is_some_and(|w| self.weights.keys().next() == Some(&w));
        if self.weights.len() > 1 && !smallest {
            return Some(IdleWhy::Weights);
        }
        (self.busy_queues.iter().filter(|n| **n > 0).count() > 1).then_some(IdleWhy::Classes)
    }

    /// `bfq_completed_request` with `bfq_finish_requeue_request`.
    pub(super) fn completed_request(&mut self, now: u64, slot: u32, out: &mut Out) {
        let q = self.in_driver[&slot];
        if self.waited_rq == Some(slot) {
            self.update_inject_limit(now, q);
        }
        self.update_hw_tag();
        self.in_driver.remove(&slot);
        self.completion_seen(now);
        let b = self.bfqq_mut(q);
        b.dispatched -= 1;
        b.last_end_ns = Some(now);
        if b.dispatched == 0 && !b.busy {
            b.idle_since_ns = Some(now);
        }
        self.count_weight(q);
        if self.wf2q.in_service() == Some(q) {
            let b = self.bfqq(q);
            if self.must_idle(q) {
                if b.dispatched == 0 {
                    self.arm_timer(now, q, out);
                }
                return;
            }
            if self.may_expire_for_timeout(now, q) {
                self.expire(now, q, false, Reason::BudgetTimeout);
            } else if b.is_empty() && (b.dispatched == 0 || self.better_to_idle(q).is_none()) {
                self.expire(now, q, false, Reason::NoMoreRequests);
            }
        }
        if self.in_driver.is_empty() {
            self.schedule_dispatch(out);
        }
    }

    /// `bfq_update_hw_tag`: does the device take several requests at a time, if it is offered them? A yes is never taken
    /// back.
    fn update_hw_tag(&mut self) {
        let in_driver = self.rq_in_driver();
        self.max_in_driver = self.max_in_driver.max(in_driver);
        if self.hw_tag == Some(true) {
            return;
        }
        let queued = u32::try_from(self.queued.len()).expect("no more requests than tags");
        if in_driver + queued <= HW_QUEUE_THRESHOLD {
            return;
        }
        // A bfqq for which the disk is kept may hold back requests; that says nothing about the device.
        if let Some(q) = self.wf2q.in_service() {
            let b = self.bfqq(q);
            let own = b.dispatched + u32::try_from(b.sort_list.len()).expect("a part of the requests");
            if b.short_ttime && own < HW_QUEUE_THRESHOLD && in_driver < HW_QUEUE_THRESHOLD {
                return;
            }
        }
        self.hw_tag_samples += 1;
        if self.hw_tag_samples > HW_QUEUE_SAMPLES {
            self.hw_tag = Some(self.max_in_driver > HW_QUEUE_THRESHOLD);
            self.max_in_driver = 0;
            self.hw_tag_samples = 0;
        }
    }

    /// `bfq_update_inject_limit`: the request that was measured is complete. One more may be injected as long as it
    /// takes less than 3/2 of what it takes alone.
    fn update_inject_limit(&mut self, now: u64, q: Qid) {
        let took_ns = now - self.last_empty_occupied_ns;
        let (in_driver, max_in_driver, injected) =
            (self.rq_in_driver(), self.max_in_driver, self.rqs_injected);
        let b = self.bfqq_mut(q);
        let before = b.inject_limit;
        if b.last_serv_time_ns > 0 && injected {
            let threshold_ns = b.last_serv_time_ns * 3 / 2;
            if took_ns >= threshold_ns && before > 0 {
                b.inject_limit -= 1;
                b.decrease_ns = Some(now);
            } else if took_ns < threshold_ns && before <= max_in_driver {
                b.inject_limit += 1;
            }
        }
        let first = b.last_serv_time_ns == 0 && in_driver == 1;
        if first {
            b.inject_limit = before.max(1);
        }
        if first || took_ns < b.last_serv_time_ns || (!injected && in_driver == 1) {
            b.last_serv_time_ns = took_ns;
        }
        self.waited_rq = None;
        self.rqs_injected = false;
    }

    /// `bfq_arm_slice_timer`.
    fn arm_timer(&mut self, now: u64, q: Qid, out: &mut Out) {
        let mut idle_ns = self.tunables.slice_idle_ns;
        if self.bfqq(q).seeky() && !self.raised(q) && self.asymmetric(q).is_none() {
            idle_ns = idle_ns.min(MIN_THINK_NS);
        } else if self.raised(q) {
            idle_ns = idle_ns.max(RAISED_IDLE_NS);
        }
        self.bfqq_mut(q).wait_request = true;
        self.last_idling_start_ns = now;
        self.timers += 1;
        self.timer = Some(IdleTimer { at_ns: now + idle_ns, token: self.timers });
        out.timers.push((now + idle_ns, self.timers));
    }

    /// Nobody waits for its next request any more; the timer is cancelled.
    pub(super) fn stop_waiting(&mut self, q: Qid) {
        if std::mem::take(&mut self.bfqq_mut(q).wait_request) {
            self.timer = None;
        }
    }

    /// `bfq_idle_slice_timer_body`.
    pub(super) fn idle_timer(&mut self, now: u64, token: u32, out: &mut Out) {
        if self.timer.is_none_or(|timer| timer.token != token) {
            return;
        }
        self.timer = None;
        let q = self.wf2q.in_service().expect("whoever leaves service stops the timer");
        self.bfqq_mut(q).wait_request = false;
        if self.timed_out(now, q) {
            self.expire(now, q, true, Reason::BudgetTimeout);
        } else if self.bfqq(q).is_empty() {
            self.expire(now, q, true, Reason::TooIdle);
        }
        self.schedule_dispatch(out);
    }
}
