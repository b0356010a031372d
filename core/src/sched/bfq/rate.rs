//! The peak rate of the device as it shows in what is dispatched (`bfq_update_peak_rate`), and what follows from it: the
//! largest budget, and how long a weight stays raised.

use super::{MS, Policy, SchedRq};

/// Rates are sectors a microsecond, times two to this (`BFQ_RATE_SHIFT`).
const SHIFT: u32 = 16;
/// Rate of a disk for which the durations of a raise were found, for one that rotates and another (`ref_rate`).
const REF_RATE: [u64; 2] = [14_000, 33_000];
/// Those durations (`ref_wr_duration`).
const REF_DURATION_NS: [u64; 2] = [7_000 * MS, 2_500 * MS];
/// A raise lasts this long (`bfq_wr_duration`).
const DURATION_NS: [u64; 2] = [3_000 * MS, 25_000 * MS];
/// The rate is computed anew after so long (`BFQ_RATE_REF_INTERVAL`), but from no fewer requests and no shorter an
/// observation than the next two (`BFQ_RATE_MIN_SAMPLES`, `BFQ_RATE_MIN_INTERVAL`).
const INTERVAL_NS: u64 = 1_000 * MS;
const MIN_SAMPLES: u64 = 32;
const MIN_INTERVAL_NS: u64 = 300 * MS;
/// A device without requests for so long ends an observation.
const PAUSE_NS: u64 = 100 * MS;
/// A rate above this is an error of measurement.
const MOST: u64 = 20 << SHIFT;
/// Two completions further apart than this may show a device too slow to be measured (`BFQ_MIN_TT`), us.
const SLOW_US: u64 = 2_000;
/// Budget limit until enough budgets have been given out, sectors (`bfq_default_max_budget`).
const DEFAULT_MAX_BUDGET: u64 = 16 * 1024;
/// How many those are, in 256ths of an average that 256 ends (`bfq_stats_min_budgets`): eleven.
const ENOUGH_BUDGETS: u64 = 194;

/// An observation of the device (`peak_rate_samples` and its neighbours in `struct bfq_data`).
#[derive(Clone, Debug, Hash)]
pub(super) struct PeakRate {
    rate: u64,
    /// A raise lasts this over the rate (`rate_dur_prod`).
    duration_product: u64,
    /// `bfqd->bfq_max_budget`, sectors.
    max_budget: u64,
    budgets_assigned: u64,
    samples: u64,
    sequential: u64,
    sectors: u64,
    /// The largest request of late, sectors.
    largest: u64,
    first_ns: u64,
    last_ns: u64,
    span_ns: u64,
    pub(super) last_completion_ns: u64,
}

impl PeakRate {
    pub(super) fn new(rotational: bool) -> Self {
        let kind = usize::from(!rotational);
        Self {
            rate: REF_RATE[kind] * 2 / 3,
            duration_product: REF_RATE[kind] * REF_DURATION_NS[kind],
            max_budget: DEFAULT_MAX_BUDGET,
            budgets_assigned: 0,
            samples: 0,
            sequential: 0,
            sectors: 0,
            largest: 0,
            first_ns: 0,
            last_ns: 0,
            span_ns: 0,
            last_completion_ns: 0,
        }
    }

    /// The largest budget in use, sectors (`bfqd->bfq_max_budget`).
    pub(super) fn budget_limit(&self) -> u64 {
        self.max_budget
    }

    /// The largest budget that a new bfqq can count on, sectors (`bfq_max_budget`).
    pub(super) fn max_budget(&self) -> u64 {
        if self.trusted() { self.max_budget } else { DEFAULT_MAX_BUDGET }
    }

    /// The smallest budget, sectors (`bfq_min_budget`).
    pub(super) fn min_budget(&self) -> u64 {
        self.max_budget() / 32
    }

    /// Enough budgets have been given out.
    pub(super) fn trusted(&self) -> bool {
        self.budgets_assigned >= ENOUGH_BUDGETS
    }

    /// A bfqq is given the device (`__bfq_set_in_service_queue`).
    pub(super) fn budget_assigned(&mut self) {
        self.budgets_assigned = (self.budgets_assigned * 7 + 256) / 8;
    }

    /// `bfq_wr_duration`, ns.
    pub(super) fn raise_ns(&self) -> u64 {
        (self.duration_product / self.rate).clamp(DURATION_NS[0], DURATION_NS[1])
    }

    /// Sets the largest budget: what a user wants, or (0) what the device does at the peak rate in the longest slot
    /// (`bfq_calc_max_budget`).
    pub(super) fn set_max_budget(&mut self, user: u64, timeout_ns: u64) {
        let automatic = (self.rate * 1_000 * (timeout_ns / MS)) >> SHIFT;
        self.max_budget = if user > 0 { user } else { automatic };
    }

    /// The rate for people, MiB a second.
    pub(super) fn mib_per_s(&self) -> u64 {
        (self.rate * 1_000_000 * 512) >> (SHIFT + 20)
    }

    /// `bfq_reset_rate_computation`.
    fn restart(&mut self, now: u64, first: Option<u64>) {
        self.samples = u64::from(first.is_some());
        if let Some(sectors) = first {
            (self.first_ns, self.last_ns, self.sequential) = (now, now, 0);
            (self.sectors, self.largest) = (sectors, sectors);
        }
    }

    /// `bfq_update_rate_reset`: ends the observation and begins the next with `first`. Says whether the rate is new.
    fn conclude(&mut self, now: u64, first: Option<u64>) -> bool {
        let new = self.samples >= MIN_SAMPLES && self.span_ns >= MIN_INTERVAL_NS && self.measure();
        self.restart(now, first);
        new
    }

    /// What was measured moves the estimate by a tenth to a half, the more the longer and the more sequential it was. A low
    /// rate of requests that were not sequential says nothing.
    fn measure(&mut self) -> bool {
        let span_ns = self.span_ns.max(self.last_completion_ns.saturating_sub(self.first_ns));
        let rate = (self.sectors << SHIFT) / (span_ns / 1_000);
        let scattered = self.sequential < 3 * self.samples / 4;
        if scattered && rate <= self.rate || rate > MOST {
            return false;
        }
        let weight = (9 * self.sequential / self.samples * span_ns / INTERVAL_NS).min(8);
        let divisor = 10 - weight;
        self.rate = (self.rate * (divisor - 1) / divisor + rate / divisor).max(1);
        true
    }
}

impl Policy {
    /// `bfq_update_peak_rate`: a request goes to the driver. `last_position` is still that of the one before.
    pub(super) fn update_peak_rate(&mut self, now: u64, rq: &SchedRq) {
        let busy = !self.in_driver.is_empty();
        let seek = super::queue::is_seek(self.last_position, rq, self.rotational);
        let rate = &mut self.rate;
        let sectors = u64::from(rq.sectors);
        if rate.samples == 0 {
            rate.restart(now, Some(sectors));
        } else {
            let paused = now > rate.last_ns + PAUSE_NS && !busy;
            if !paused {
                rate.samples += 1;
                let goes_on = busy || now < rate.last_completion_ns + super::idle::MIN_THINK_NS;
                rate.sequential += u64::from(goes_on && !seek);
                rate.sectors += sectors;
                let before = if rate.samples.is_multiple_of(32) { 0 } else { rate.largest };
                rate.largest = before.max(sectors);
                rate.span_ns = now - rate.first_ns;
            }
            if (paused || rate.span_ns >= INTERVAL_NS) && rate.conclude(now, Some(sectors)) {
                self.follow_rate();
            }
        }
        self.rate.last_ns = now;
    }

    /// The part of `bfq_completed_request` that guards the estimate: a device that took so long for its requests was hardly
    /// busy, or is too slow to be measured.
    pub(super) fn completion_seen(&mut self, now: u64) {
        let rate = &mut self.rate;
        let since_us = (now - rate.last_completion_ns) / 1_000;
        let slow = since_us > SLOW_US && (rate.largest << SHIFT) / since_us < 1 << (SHIFT - 10);
        if slow && rate.conclude(now, None) {
            self.follow_rate();
        }
        self.rate.last_completion_ns = now;
    }

    /// `update_thr_responsiveness_params`.
    fn follow_rate(&mut self) {
        if self.tunables.user_max_budget == 0 {
            self.rate.set_max_budget(0, self.tunables.timeout_ns);
        }
    }
}
