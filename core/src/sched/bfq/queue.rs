//! A bfqq: the requests of one process, and what is known of its habits (`struct bfq_queue`).

use super::super::*;
use super::Qid;
use crate::event::PrioClass;
use std::collections::BTreeMap;

/// Requests further apart than this are a seek (`BFQQ_SEEK_THR`), sectors.
const SEEK_SECTORS: u64 = 800;
/// On a disk that does not rotate, only smaller requests count as seeks (`BFQQ_SECT_THR_NONROT`), sectors.
pub(super) const LARGE_NONROT_SECTORS: u32 = 64;
/// A queue is seeky with more seeks than this among its last 32 requests (`BFQQ_SEEKY`).
const SEEKY_BITS: u32 = 19;
/// Think times are trusted from this many samples on (`bfq_sample_valid`), in 256ths of a sample.
const VALID_SAMPLES: u64 = 80;

/// Whose requests a bfqq holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Owner {
    /// The synchronous requests of a process (`bic->bfqq[1]`).
    Sync(TaskId),
    /// The asynchronous requests of all processes of an I/O priority (`bfqg->async_bfqq[class][level]`): class by its
    /// index, level 0 to 7 (0 for the idle class, which has one).
    Async(u8, u8),
}

impl Owner {
    /// `bic_to_bfqq` with `bfq_async_queue_prio`.
    pub(super) fn of(rq: &SchedRq) -> Self {
        if rq.is_sync() { Self::Sync(rq.task) } else { Self::async_of(rq.prio) }
    }

    pub(super) fn async_of(prio: Prio) -> Self {
        match prio.class {
            PrioClass::Rt => Self::Async(0, prio.level.min(7)),
            PrioClass::None | PrioClass::Be => Self::Async(1, prio.level.min(7)),
            PrioClass::Idle => Self::Async(2, 0),
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sync(task) => write!(f, "sync bfqq of task {task}"),
            Self::Async(class, level) => {
                write!(f, "async bfqq {}{level}", super::tree::CLASSES[usize::from(*class)])
            }
        }
    }
}

/// Index of the class of a priority and its weight (`bfq_set_next_ioprio_data`, `bfq_ioprio_to_weight`).
pub(super) fn class_and_weight(prio: Prio) -> (usize, u32) {
    let weight = 10 * (8 - u32::from(prio.level.min(7)));
    match prio.class {
        PrioClass::Rt => (0, weight),
        PrioClass::None | PrioClass::Be => (1, weight),
        PrioClass::Idle => (super::tree::IDLE_CLASS, 10),
    }
}

/// A queued request with its places in its bfqq.
#[derive(Clone, Debug, Hash)]
pub(super) struct Queued {
    pub rq: SchedRq,
    pub q: Qid,
    /// Second half of its key in the sort list: equal sectors keep the order of arrival.
    pub order: u64,
    /// Its key in the FIFO.
    pub fifo: u64,
    /// When it has waited too long, ns.
    pub expires_ns: u64,
}

impl Queued {
    pub(super) fn key(&self) -> (u64, u64) {
        (self.rq.sector, self.order)
    }
}

/// See the module text. Times are ns.
#[derive(Clone, Debug, Hash)]
pub(super) struct Bfqq {
    pub owner: Owner,
    pub prio: Prio,
    /// Slots by (sector, order).
    pub sort_list: BTreeMap<(u64, u64), u32>,
    /// Slots by age.
    pub fifo: BTreeMap<u64, u32>,
    /// Slot of the request to serve next.
    pub next_rq: Option<u32>,
    /// Requests in the driver.
    pub dispatched: u32,
    /// Has requests, or is in service.
    pub busy: bool,
    /// Budget of its next slot, sectors.
    pub max_budget: u64,
    /// End of its slot (`budget_timeout`).
    pub timeout_ns: u64,
    /// Since when it has neither queued requests nor any in the driver; `None`: always.
    pub idle_since_ns: Option<u64>,
    /// The idle timer runs for it.
    pub wait_request: bool,
    /// It lost the device because it had nothing to do.
    pub non_blocking_wait_rq: bool,
    /// The FIFO has been looked at in this slot.
    pub fifo_checked: bool,
    pub io_bound: bool,
    pub short_ttime: bool,
    /// Activations in time since it last was not (`requests_within_timer`).
    pub in_time: u32,
    /// One bit for each of the last 32 requests: it was a seek.
    pub seek_history: u32,
    pub last_request_pos: u64,
    /// Last completion.
    pub last_end_ns: Option<u64>,
    ttime_samples: u64,
    ttime_total: u64,
    pub ttime_mean_ns: u64,
    /// How long its weight may be raised, from `wr_since_ns` on.
    pub wr_max_ns: u64,
    /// `last_wr_start_finish`.
    pub wr_since_ns: u64,
    /// Sectors served since its weight was raised.
    pub service_from_wr: u64,
    pub in_large_burst: bool,
    /// Requests of others that may be in the driver while it has none queued.
    pub inject_limit: u32,
    /// When the limit was last lowered or reset.
    pub decrease_ns: Option<u64>,
    /// Service time of a request without injection, 0 while not known.
    pub last_serv_time_ns: u64,
    /// The weight under which it counts in `queue_weights_tree`.
    pub counted: Option<u32>,
}

impl Bfqq {
    /// `bfq_init_bfqq`. A first request is most probably a seek.
    pub(super) fn new(owner: Owner, prio: Prio, now: u64, max_budget: u64) -> Self {
        Self {
            owner,
            prio,
            sort_list: BTreeMap::new(),
            fifo: BTreeMap::new(),
            next_rq: None,
            dispatched: 0,
            busy: false,
            max_budget: 2 * max_budget / 3,
            timeout_ns: 0,
            idle_since_ns: None,
            wait_request: false,
            non_blocking_wait_rq: false,
            fifo_checked: false,
            io_bound: true,
            short_ttime: matches!(owner, Owner::Sync(_)) && prio.class != PrioClass::Idle,
            in_time: 0,
            seek_history: 1,
            last_request_pos: 0,
            last_end_ns: None,
            ttime_samples: 0,
            ttime_total: 0,
            ttime_mean_ns: 0,
            wr_max_ns: 0,
            wr_since_ns: now,
            service_from_wr: 0,
            in_large_burst: false,
            inject_limit: 0,
            decrease_ns: None,
            last_serv_time_ns: 0,
            counted: None,
        }
    }

    pub(super) fn is_sync(&self) -> bool {
        matches!(self.owner, Owner::Sync(_))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sort_list.is_empty()
    }

    /// `BFQQ_SEEKY`.
    pub(super) fn seeky(&self) -> bool {
        self.seek_history.count_ones() > SEEKY_BITS
    }

    /// `bfq_update_io_thinktime`: moving average with weight 1/8 of the time from completion to next request, at most
    /// `cap_ns`.
    pub(super) fn update_think_time(&mut self, now: u64, cap_ns: u64) {
        let elapsed = self.last_end_ns.map_or(cap_ns, |end| now.saturating_sub(end).min(cap_ns));
        self.ttime_samples = (7 * self.ttime_samples + 256) / 8;
        self.ttime_total = (7 * self.ttime_total + 256 * elapsed) / 8;
        self.ttime_mean_ns = (self.ttime_total + 128) / self.ttime_samples;
    }

    /// Whether enough think times are known and their mean is above `limit_ns`.
    pub(super) fn thinks_longer_than(&self, limit_ns: u64) -> bool {
        self.ttime_samples > VALID_SAMPLES && self.ttime_mean_ns > limit_ns
    }

    /// `bfq_update_io_seektime`.
    pub(super) fn update_seeks(&mut self, rq: &SchedRq, rotational: bool) {
        let seek = is_seek(self.last_request_pos, rq, rotational);
        self.seek_history = (self.seek_history << 1) | u32::from(seek);
    }
}

/// `BFQ_RQ_SEEKY`: whether a request behind one that ended at `last` (0: none) is a seek.
pub(super) fn is_seek(last: u64, rq: &SchedRq, rotational: bool) -> bool {
    let far = last != 0 && last.abs_diff(rq.sector) > SEEK_SECTORS;
    far && (rotational || rq.sectors < LARGE_NONROT_SECTORS)
}

/// `bfq_choose_req`: the better of two requests for a head at `last`. `back_max` sectors are the furthest way back, and
/// each counts `back_penalty` times.
pub(super) fn choose_req(
    a: Option<&SchedRq>,
    b: Option<&SchedRq>,
    last: u64,
    back_max: u64,
    back_penalty: u64,
) -> Option<u32> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b).map(|rq| rq.slot) };
    let meta = |rq: &SchedRq| rq.flags.has(Flags::META);
    if a.is_sync() != b.is_sync() {
        return Some(if a.is_sync() { a.slot } else { b.slot });
    }
    if meta(a) != meta(b) {
        return Some(if meta(a) { a.slot } else { b.slot });
    }
    // `None`: behind the head and too far to go back; the head must wrap around to reach it.
    let distance = |rq: &SchedRq| match rq.sector.checked_sub(last) {
        Some(ahead) => Some(ahead),
        None if rq.sector + back_max >= last => Some((last - rq.sector).saturating_mul(back_penalty)),
        None => None,
    };
    let first = match (distance(a), distance(b)) {
        (Some(x), Some(y)) if x == y => a.sector >= b.sector,
        (Some(x), Some(y)) => x < y,
        (x, y) if x.is_some() != y.is_some() => x.is_some(),
        _ => a.sector <= b.sector,
    };
    Some(if first { a.slot } else { b.slot })
}
