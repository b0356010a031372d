//! The pool of requests: congestion, fullness and batching (`get_request`, `freed_request`, `ioc_batching`).
//!
//! The task that fills the pool becomes a batcher: it may take a batch of requests beyond the limit while all others
//! sleep. Each request that comes back below the limit wakes one sleeper, who becomes a batcher in turn, so that tasks
//! which compete for a full pool take long turns.

use crate::event::{Kind, QueueId, TaskId};
use crate::sim::Sim;
use crate::spare::Spare;
use std::collections::VecDeque;

/// Requests that a batcher may take (BLK_BATCH_REQ).
const BATCH_REQUESTS: u32 = 32;
/// How long it remains a batcher, ns (BLK_BATCH_TIME, HZ / 50).
const BATCH_TIME_NS: u64 = 20_000_000;
/// Smallest pool (BLKDEV_MIN_RQ).
pub(crate) const MIN_NR_REQUESTS: u32 = 4;

/// `struct request_list`; index 1 is for synchronous requests.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RequestList {
    /// Requests given out.
    count: [u32; 2],
    /// BLK_RL_SYNCFULL, BLK_RL_ASYNCFULL.
    full: [bool; 2],
    /// WB_sync_congested, WB_async_congested.
    congested: [bool; 2],
    /// Tasks that wait exclusively, first come first.
    waiters: [VecDeque<TaskId>; 2],
}

impl RequestList {
    pub(super) fn async_congested(&self) -> bool {
        self.congested[0]
    }
}

/// What the pool knows of a task (`struct io_context`).
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct IoContext {
    nr_batch_requests: u32,
    last_waited_ns: u64,
}

impl IoContext {
    /// `ioc_batching`: the first request of a batch is granted however late.
    fn batching(&self, now: u64) -> bool {
        self.nr_batch_requests == BATCH_REQUESTS
            || (self.nr_batch_requests > 0 && now < self.last_waited_ns + BATCH_TIME_NS)
    }

    /// `ioc_set_batching`: a batch under way is not made longer.
    fn set_batching(&mut self, now: u64) {
        if !self.batching(now) {
            (self.nr_batch_requests, self.last_waited_ns) = (BATCH_REQUESTS, now);
        }
    }
}

/// `queue_congestion_on_threshold`: seven eighths and one.
fn congestion_on(nr_requests: u32) -> u32 {
    (nr_requests - nr_requests / 8 + 1).min(nr_requests)
}

/// `queue_congestion_off_threshold`: a sixteenth lower, so that the mark does not flicker.
fn congestion_off(nr_requests: u32) -> u32 {
    (nr_requests - nr_requests / 8 - nr_requests / 16 - 1).max(1)
}

impl Sim {
    /// `__get_request` under the lock: whether the running task may have a request for `bio`.
    pub(super) fn take_from_pool(&mut self, c: usize, q: QueueId, bio: u32) -> bool {
        let (t, now) = (self.current_task(c), self.now);
        let sync = usize::from(self.bio_extent(bio).is_sync());
        let spared = self.is_spared(Spare::Tags(self.queues[q as usize].first_hctx));
        let legacy = self.legacy(q);
        if spared {
            legacy.pool.count[sync] += 1;
            return true;
        }
        let nr_requests = legacy.nr_requests;
        let next = legacy.pool.count[sync] + 1;
        if next >= congestion_on(nr_requests) {
            if next >= nr_requests {
                if !std::mem::replace(&mut legacy.pool.full[sync], true) {
                    self.set_batching(t);
                } else if !self.tasks[t].io_context.batching(now) {
                    return false;
                }
            }
            self.set_congested(c, q, sync, true);
        }
        let legacy = self.legacy(q);
        if legacy.pool.count[sync] >= 3 * nr_requests / 2 {
            return false;
        }
        legacy.pool.count[sync] = next;
        let ioc = &mut self.tasks[t].io_context;
        if ioc.batching(now) {
            ioc.nr_batch_requests -= 1;
        }
        true
    }

    /// The task joins those who wait for a request: S.
    pub(super) fn wait_for_request(&mut self, c: usize, q: QueueId, bio: u32) {
        let t = self.current_task(c);
        let extent = self.bio_extent(bio);
        self.legacy(q).pool.waiters[usize::from(extent.is_sync())].push_back(t as TaskId);
        self.stats.queues[q as usize].tag_waits += 1;
        let bio = self.ios[self.bios[bio].io].id;
        self.emit(c, Kind::SleepRequest { bio, queue: q, extent });
        self.emit(c, Kind::PoolWait { bio, queue: q, sync: extent.is_sync() });
    }

    /// Whether nobody has woken the task since it joined them.
    pub(super) fn waits_for_request(&self, t: usize, q: QueueId, bio: u32) -> bool {
        let sync = usize::from(self.bio_extent(bio).is_sync());
        let legacy = self.queues[q as usize].legacy.as_ref();
        legacy.is_some_and(|l| l.pool.waiters[sync].contains(&(t as TaskId)))
    }

    /// A woken task is a batcher (`get_request` after `io_schedule`).
    pub(super) fn woken_for_request(&mut self, t: usize) {
        self.set_batching(t);
    }

    fn set_batching(&mut self, t: usize) {
        if self.knobs.ioc_batching {
            self.tasks[t].io_context.set_batching(self.now);
        }
    }

    /// What the pool has given out for requests of the kind of `rq`.
    pub(super) fn pool_count(&mut self, rq: u32) -> (bool, u32) {
        let (q, sync) = (self.rqs[rq].queue, self.rqs[rq].extent().is_sync());
        (sync, self.legacy(q).pool.count[usize::from(sync)])
    }

    /// `freed_request`: `rq` goes back, and may wake one task.
    pub(in crate::block) fn freed_request(&mut self, c: usize, rq: u32) {
        let (q, id) = (self.rqs[rq].queue, self.rqs[rq].id);
        let sync = self.rqs[rq].extent().is_sync();
        let index = usize::from(sync);
        let legacy = self.legacy(q);
        legacy.pool.count[index] -= 1;
        let (count, nr_requests) = (legacy.pool.count[index], legacy.nr_requests);
        self.emit(c, Kind::PoolFree { rq: id, queue: q, sync, count });
        if count < congestion_off(nr_requests) {
            self.set_congested(c, q, index, false);
        }
        if count < nr_requests {
            let pool = &mut self.legacy(q).pool;
            pool.full[index] = false;
            if let Some(task) = pool.waiters[index].pop_front() {
                self.wake_task(c, task);
            }
        }
    }

    fn set_congested(&mut self, c: usize, q: QueueId, sync: usize, on: bool) {
        let was = std::mem::replace(&mut self.legacy(q).pool.congested[sync], on);
        if was != on {
            self.emit(c, Kind::Congested { queue: q, sync: sync == 1, on });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_of_the_default_pool_are_113_and_103() {
        assert_eq!((congestion_on(128), congestion_off(128)), (113, 103));
        assert_eq!((congestion_on(MIN_NR_REQUESTS), congestion_off(MIN_NR_REQUESTS)), (4, 3));
    }

    #[test]
    fn a_batch_ends_with_its_requests_or_its_time_but_never_before_its_first() {
        let mut ioc = IoContext::default();
        assert!(!ioc.batching(0), "nobody starts as a batcher");
        ioc.set_batching(1_000);
        assert!(ioc.batching(1_000 + 10 * BATCH_TIME_NS), "the first request is granted however late");
        ioc.nr_batch_requests -= 1;
        assert!(ioc.batching(999 + BATCH_TIME_NS) && !ioc.batching(1_000 + BATCH_TIME_NS));
        ioc.set_batching(2_000);
        assert_eq!((ioc.nr_batch_requests, ioc.last_waited_ns), (31, 1_000), "not made longer");
        ioc.nr_batch_requests = 0;
        assert!(!ioc.batching(2_000));
        ioc.set_batching(3_000);
        assert_eq!((ioc.nr_batch_requests, ioc.last_waited_ns), (32, 3_000));
    }
}
