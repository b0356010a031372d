//! The legacy path of kernels up to 4.20 (`block/blk-core.c`): one queue under one lock.
//!
//! Merging, allocation, insertion, the choice of the next request and half of each completion happen under
//! `q->queue_lock`. The driver's `request_fn` pulls requests one by one with that lock held, and drops it while it hands a
//! command over. What has no counterpart on this path is reused where the two are alike: the disk's one hctx stands for the
//! place of its queue, its dispatch list is `q->queue_head`, its work is `q->delay_work`, its tags are the driver's.

mod complete;
mod pool;
mod request_fn;
mod submit;

pub(crate) use pool::IoContext;
pub(crate) use pool::MIN_NR_REQUESTS;

use crate::block::Queue;
use crate::event::{HctxId, Kind, Place, QueueId};
use crate::sim::Sim;
use pool::RequestList;

/// What a disk on this path has.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Legacy {
    /// `q->nr_requests`, for synchronous and asynchronous requests each.
    pub nr_requests: u32,
    pool: RequestList,
    /// QUEUE_FLAG_STOPPED: a driver without a free tag waits for a completion.
    stopped: bool,
}

impl Legacy {
    pub(crate) fn new(nr_requests: u32) -> Self {
        Self { nr_requests, pool: RequestList::default(), stopped: false }
    }

    /// Whether the pool is congested with asynchronous requests (WB_async_congested).
    pub(crate) fn async_congested(&self) -> bool {
        self.pool.async_congested()
    }
}

impl Sim {
    /// Whether a queue is on the legacy path.
    #[inline]
    pub(crate) fn is_legacy(&self, q: QueueId) -> bool {
        self.queues[q as usize].legacy.is_some()
    }

    fn legacy(&mut self, q: QueueId) -> &mut Legacy {
        match &mut self.queues[q as usize].legacy {
            Some(legacy) => legacy,
            None => unreachable!("queue {q} is on the blk-mq path"),
        }
    }

    /// The hctx that stands for the place of the queue.
    fn place_of(&self, q: QueueId) -> HctxId {
        self.queues[q as usize].first_hctx
    }

    /// `__elv_add_request` of a new request. It shows I before a merge with a queued one is tried, which only plug flushes do
    /// (ELEVATOR_INSERT_SORT_MERGE).
    fn add_request(&mut self, c: usize, rq: u32, merges: bool) {
        let now = self.now;
        let r = &mut self.rqs[rq];
        r.i_ns = now;
        let (id, queue, hctx, extent) = (r.id, r.queue, r.hctx, r.extent());
        self.charge_op(c, queue);
        let from = self.open_lists(c, queue, self.queues[queue as usize].queue_lock);
        let lines = self.locking(queue).lists.insert.saturating_sub(1);
        self.fetch_lists(c, queue, from, lines);
        self.walk_lists(c, rq, from, false);
        self.emit(c, Kind::Insert { rq: id, queue, hctx, place: Place::Elevator, extent });
        if !(merges && self.insert_merge(c, rq)) {
            self.enter_elevator(c, rq, false);
        }
    }
}

impl Queue {
    /// Whether `request_fn` is the SCSI layer's.
    fn scsi_host(&self) -> Option<u16> {
        match self.driver {
            crate::block::Driver::Scsi(host) => Some(host),
            _ => None,
        }
    }
}
