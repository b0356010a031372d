//! Raised weights: a process that was idle for long and sends a request is thought to have a person waiting for it
//! (`bfq_update_bfqq_wr_on_rq_arrival`), unless many processes start at once (`bfq_handle_burst`).

use super::{MS, Policy, Qid};

/// `bfq_wr_coeff`.
const COEFF: u32 = 30;
/// Idle for longer than this is long (`bfq_wr_min_idle_time`).
const MIN_IDLE_NS: u64 = 2_000 * MS;
/// A process that got this many sectors while raised is not interactive (`max_service_from_wr`).
const MAX_SERVICE: u64 = 120_000;
/// Processes that start within this of each other start in one burst (`bfq_burst_interval`).
const BURST_INTERVAL_NS: u64 = 180 * MS;
/// A burst of this many is large (`bfq_large_burst_thresh`): a job, not a person.
const LARGE_BURST: usize = 8;
/// Idle for this long, a process of a large burst is a process like others.
const BURST_FORGOTTEN_NS: u64 = 10_000 * MS;

/// Processes that started together.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Burst {
    /// Those that started while the burst was not yet large.
    members: Vec<Qid>,
    large: bool,
    /// Start of the last; `None`: none yet.
    last_ns: Option<u64>,
}

impl Policy {
    /// `bfq_handle_burst`: a process sends its first request.
    pub(super) fn handle_burst(&mut self, now: u64, q: Qid) {
        let burst = &mut self.burst;
        let goes_on = burst.last_ns.is_some_and(|last| now <= last + BURST_INTERVAL_NS);
        burst.last_ns = Some(now);
        if !goes_on {
            burst.large = false;
            burst.members = vec![q];
        } else if burst.large {
            self.bfqq_mut(q).in_large_burst = true;
        } else {
            burst.members.push(q);
            if burst.members.len() == LARGE_BURST {
                burst.large = true;
                for member in std::mem::take(&mut burst.members) {
                    self.bfqq_mut(member).in_large_burst = true;
                }
            }
        }
    }

    /// `bfq_bfqq_idle_for_long_time`.
    pub(super) fn idle_for_long(&self, now: u64, q: Qid) -> bool {
        let b = self.bfqq(q);
        b.dispatched == 0 && b.idle_since_ns.is_none_or(|since| now > since + MIN_IDLE_NS)
    }

    /// What the arrival of a request for an idle bfqq means for its weight. Says whether it is interactive.
    pub(super) fn update_raise_on_arrival(&mut self, now: u64, q: Qid) -> bool {
        let idle_for_long = self.idle_for_long(now, q);
        let b = &mut self.queues[usize::from(q)];
        let interactive = !b.in_large_burst && idle_for_long;
        if b.idle_since_ns.is_some_and(|since| idle_for_long && now > since + BURST_FORGOTTEN_NS) {
            b.in_large_burst = false;
            self.burst.members.retain(|member| *member != q);
        }
        if !self.tunables.low_latency {
            return interactive;
        }
        let duration_ns = self.rate.raise_ns();
        let e = self.wf2q.entity_mut(q);
        let b = &mut self.queues[usize::from(q)];
        match (e.coeff > 1, interactive) {
            (false, true) if b.is_sync() => {
                e.coeff = COEFF;
                b.service_from_wr = 0;
                b.wr_max_ns = duration_ns;
                // A large budget would spoil what the weight gains.
                e.budget = e.budget.min(2 * self.rate.min_budget());
            }
            (true, true) => b.wr_max_ns = duration_ns,
            (true, false) if b.in_large_burst => e.coeff = 1,
            _ => {}
        }
        interactive
    }

    /// `bfq_update_wr_data`: the bfqq in service has sent a request to the driver; its raise may be over.
    pub(super) fn update_raise(&mut self, now: u64, q: Qid) {
        let b = self.bfqq(q);
        let over = b.in_large_burst || now > b.wr_since_ns + b.wr_max_ns || b.service_from_wr > MAX_SERVICE;
        if self.raised(q) && over {
            self.end_raise(now, q);
        }
        let e = self.wf2q.entity(q);
        if (e.weight > e.orig_weight) != (e.coeff > 1) {
            self.wf2q.update_weight(q);
            self.count_weight(q);
        }
    }

    /// `bfq_bfqq_end_wr`.
    fn end_raise(&mut self, now: u64, q: Qid) {
        if self.bfqq(q).busy {
            self.wr_busy_queues -= 1;
        }
        self.wf2q.entity_mut(q).coeff = 1;
        let b = self.bfqq_mut(q);
        b.wr_max_ns = 0;
        b.wr_since_ns = now;
    }

    /// `bfq_end_wr`: low latency is switched off. A setting has no time; nothing reads the end of the raise then.
    pub(super) fn end_all_raising(&mut self) {
        for q in 0..Qid::try_from(self.queues.len()).expect("as many as entities") {
            if self.raised(q) {
                let since = self.bfqq(q).wr_since_ns;
                self.end_raise(since, q);
            }
        }
    }
}
