//! The numbers of a report, counted once more from the event log: a second opinion on the report's counters.

use mqscope_core::event::{BioId, Event, Extent, Kind, Op, QueueId, RqId};
use std::collections::{BTreeMap, BTreeSet};

/// One queue's numbers over the whole log.
#[derive(Clone, Debug, Default)]
pub struct QueueCount {
    /// Requests completed.
    pub completed: u64,
    /// Sectors completed.
    pub sectors: u64,
    /// Bios merged.
    pub merges: u64,
    /// Requests times ns between D and C.
    pub in_flight_ns: f64,
    /// Requests times ns between the tag and C.
    pub held_ns: f64,
    /// ns with at least one request between D and C.
    pub busy_ns: u64,
    /// Most requests between D and C.
    pub in_flight_max: u32,
    /// Requests with an I event that did not become part of another.
    pub inserted: u64,
    /// R events.
    pub requeued: u64,
    /// Runs of its hctxs that ended.
    pub runs: u64,
    /// Those that sent nothing.
    pub empty_runs: u64,
    /// Flush requests completed; they are in no other number but R and runs.
    pub flushes: u64,
    /// Tasks that found no tag, or no request in the pool.
    pub tag_waits: u64,
    now: u32,
    since_ns: u64,
}

/// Counts while events are read.
#[derive(Clone, Debug, Default)]
pub struct Recount {
    /// Each queue.
    pub queues: Vec<QueueCount>,
    /// I/Os that the application reaped.
    pub ios: u64,
    /// Sum of their latencies, ns.
    pub lat_sum_ns: u64,
    /// Their largest latency, ns.
    pub lat_max_ns: u64,
    /// Sum of their sizes, sectors.
    pub sectors: u64,
    allocated: BTreeMap<RqId, u64>,
    issued: BTreeMap<RqId, u64>,
    inserted: BTreeSet<RqId>,
    bios: BTreeMap<BioId, u32>,
}

impl Recount {
    /// Reads the next events. `hctx_queue` maps an hctx to its queue.
    pub fn read(&mut self, queues: usize, hctx_queue: &[QueueId], events: &[Event]) {
        self.queues.resize_with(queues, QueueCount::default);
        for event in events {
            self.event(hctx_queue, event);
        }
    }

    fn event(&mut self, hctx_queue: &[QueueId], event: &Event) {
        let at = event.at_ns;
        let of_hctx = |hctx: u16| usize::from(hctx_queue[usize::from(hctx)]);
        match event.kind {
            // An I/O through the page cache is known by its own event.
            Kind::Queue { bio, extent, .. }
            | Kind::PageWrite { bio, extent, .. }
            | Kind::PageRead { bio, extent, .. } => _ = self.bios.entry(bio).or_insert(extent.sectors),
            Kind::Reap { bio, lat_ns } => {
                let sectors = self.bios.get(&bio).copied().unwrap_or(0);
                if sectors == 0 {
                    return; // a flush is no I/O of its own
                }
                self.ios += 1;
                self.lat_sum_ns += lat_ns;
                self.lat_max_ns = self.lat_max_ns.max(lat_ns);
                self.sectors += u64::from(sectors);
            }
            Kind::SchedTagAlloc { rq, .. } | Kind::TagAlloc { rq, .. } | Kind::PoolAlloc { rq, .. } => {
                self.allocated.entry(rq).or_insert(at);
            }
            Kind::RequestMerge { gone, rq, queue, .. } => {
                let q = &mut self.queues[usize::from(queue)];
                q.merges += 1;
                // The report counts a request at its end.
                q.inserted -= u64::from(self.inserted.remove(&gone));
                // The two count as one, from the earlier on.
                let since = self.allocated.remove(&gone).unwrap_or(at);
                self.allocated.entry(rq).and_modify(|kept| *kept = since.min(*kept));
            }
            Kind::BackMerge { queue, .. } | Kind::FrontMerge { queue, .. } => {
                self.queues[usize::from(queue)].merges += 1;
            }
            Kind::Insert { rq, queue, extent, .. } if extent.op != Op::Flush => {
                self.queues[usize::from(queue)].inserted += u64::from(self.inserted.insert(rq));
            }
            Kind::Issue { rq, queue, extent, .. } if extent.op != Op::Flush => {
                self.issued.insert(rq, at);
                let q = &mut self.queues[usize::from(queue)];
                q.change(at, 1);
            }
            Kind::Requeue { rq, queue, .. } => {
                let q = &mut self.queues[usize::from(queue)];
                q.requeued += 1;
                // A SCSI LUN without budget refuses before D.
                if let Some(from) = self.issued.remove(&rq) {
                    q.change(at, -1);
                    q.in_flight_ns += (at - from) as f64;
                }
            }
            Kind::Complete { rq: 0, .. } => {}
            Kind::Complete { queue, extent, .. } if extent.op == Op::Flush => {
                self.queues[usize::from(queue)].flushes += 1;
            }
            // The end of a flush sequence.
            Kind::Complete { extent: Extent { sectors: 0, .. }, .. } => {}
            Kind::Complete { rq, queue, extent } => {
                let issued = self.issued.remove(&rq).unwrap_or(at);
                let allocated = self.allocated.remove(&rq).unwrap_or(at);
                let q = &mut self.queues[usize::from(queue)];
                q.change(at, -1);
                q.completed += 1;
                q.sectors += u64::from(extent.sectors);
                q.in_flight_ns += (at - issued) as f64;
                q.held_ns += (at - allocated) as f64;
            }
            Kind::RunEnd { hctx, sent } => {
                let q = &mut self.queues[of_hctx(hctx)];
                q.runs += 1;
                q.empty_runs += u64::from(sent == 0);
            }
            Kind::TagWait { hctx, .. } => self.queues[of_hctx(hctx)].tag_waits += 1,
            Kind::PoolWait { queue, .. } => self.queues[usize::from(queue)].tag_waits += 1,
            _ => {}
        }
    }
}

impl QueueCount {
    fn change(&mut self, at_ns: u64, by: i32) {
        if self.now > 0 {
            self.busy_ns += at_ns - self.since_ns;
        }
        self.since_ns = at_ns;
        self.now = self.now.saturating_add_signed(by);
        self.in_flight_max = self.in_flight_max.max(self.now);
    }
}
