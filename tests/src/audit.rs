//! What must hold in every run, checked on the event log alone.
//!
//! [`Audit`] reads events in order and collects everything that breaks a rule: a bio or request lost or doubled, a
//! tag held twice, more in flight than the depth, a lock with two holders, time running backwards.

use mqscope_core::event::{BioId, CpuId, Event, Extent, HctxId, Kind, ObjectId, Op, QueueId, RqId};
use mqscope_core::scenario::Path;
use mqscope_core::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// Violations that are kept; a broken rule is usually broken often.
const VIOLATIONS_MAX: usize = 20;

#[derive(Debug, Default)]
struct Bio {
    sectors: u64,
    /// A stacked disk has passed it on, so that it may be queued again below.
    remapped: bool,
    ended: u32,
}

#[derive(Debug, Default)]
struct Request {
    tag: Option<(HctxId, u32)>,
    sched_tag: Option<(HctxId, u32)>,
    /// It holds a place in its queue's pool.
    pooled: bool,
    /// It became part of another request.
    merged: bool,
    /// It is a flush request, which borrows the tag of the first request that it serves.
    flush: bool,
    /// It waited for a flush, so that it ends with a C without sectors.
    in_flush_seq: bool,
    ended: u32,
    issued: bool,
    completions: u32,
    interrupts: u32,
    tag_frees: u32,
    sectors_done: u64,
}

/// The auditor.
#[derive(Debug, Default)]
pub struct Audit {
    now_ns: u64,
    bios: BTreeMap<BioId, Bio>,
    /// I/Os through the page cache that are not reaped yet.
    cached: BTreeSet<BioId>,
    /// I/Os with data that their applications have reaped.
    ios: u64,
    requests: BTreeMap<RqId, Request>,
    tags: BTreeMap<(HctxId, u32), RqId>,
    tags_used: BTreeMap<HctxId, u32>,
    sched_tags: BTreeMap<(HctxId, u32), RqId>,
    /// Requests that each queue's pool has given out, asynchronous and synchronous ones apart.
    pools: BTreeMap<(QueueId, bool), u32>,
    in_flight: Vec<u32>,
    holders: BTreeMap<ObjectId, CpuId>,
    violations: Vec<String>,
}

impl Audit {
    /// Reads the next events of a run.
    pub fn read(&mut self, topology: &Topology, events: &[Event]) {
        self.in_flight.resize(topology.queues.len(), 0);
        for event in events {
            if event.at_ns < self.now_ns {
                self.violation(event, format!("time runs backwards from {}", self.now_ns));
            }
            self.now_ns = event.at_ns;
            self.bio(event);
            self.request(topology, event);
            self.lock(event);
        }
    }

    /// Everything that broke a rule while the run was going on.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Requests seen.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// I/Os with data, direct or through the page cache, that applications took note of.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// All violations of a run whose workload has ended and whose queues are empty.
    pub fn finish(mut self) -> Vec<String> {
        let bios = std::mem::take(&mut self.bios);
        for (id, bio) in bios.iter().filter(|(_, b)| b.ended != 1) {
            self.note(format!("bio {id} ended {} times", bio.ended));
        }
        let requests = std::mem::take(&mut self.requests);
        for (id, rq) in &requests {
            let whole = rq.tag.is_some() && rq.completions == 1 && rq.tag_frees == 1 && rq.issued;
            let merged = rq.merged && rq.completions == 0 && !rq.issued;
            let flush = rq.flush && rq.completions == 1 && rq.issued && rq.tag_frees <= 1;
            // A flush without data, whose tag the flush request borrowed or which had a sched tag only.
            let empty = rq.in_flush_seq && rq.completions == 0 && !rq.issued && rq.tag_frees <= 1;
            let ended = rq.ended == u32::from(rq.in_flush_seq);
            if !(whole || merged || flush || empty) || !ended || rq.pooled {
                self.note(format!("request {id} is not whole: {rq:?}"));
            }
        }
        let queued: u64 = bios.values().map(|b| b.sectors).sum();
        let done: u64 = requests.values().map(|r| r.sectors_done).sum();
        if queued != done {
            self.note(format!("{queued} sectors were queued, {done} completed"));
        }
        for (place, rq) in std::mem::take(&mut self.tags) {
            self.note(format!("tag {place:?} is still held by request {rq}"));
        }
        for (place, rq) in std::mem::take(&mut self.sched_tags) {
            self.note(format!("sched tag {place:?} is still held by request {rq}"));
        }
        for (lock, cpu) in std::mem::take(&mut self.holders) {
            self.note(format!("lock {lock} is still held by CPU {cpu}"));
        }
        self.violations
    }

    fn bio(&mut self, event: &Event) {
        match event.kind {
            Kind::PageWrite { bio, .. } | Kind::PageRead { bio, .. } => {
                let first = self.cached.insert(bio) && !self.bios.contains_key(&bio);
                if !first {
                    self.violation(event, format!("I/O {bio} is through twice"));
                }
            }
            Kind::Reap { bio, .. } => {
                let direct = self.bios.get(&bio).map(|known| (known.ended == 1, known.sectors > 0));
                let (done, data) = direct.unwrap_or_else(|| (self.cached.remove(&bio), true));
                self.ios += u64::from(done && data);
                if !done {
                    self.violation(event, format!("I/O {bio} is reaped before it is done"));
                }
            }
            Kind::Queue { bio, extent, .. } => {
                if self.bios.get(&bio).is_some_and(|known| known.remapped) {
                    return;
                }
                let new = Bio { sectors: u64::from(extent.sectors), ..Bio::default() };
                if self.bios.insert(bio, new).is_some() {
                    self.violation(event, format!("bio {bio} is queued twice"));
                }
            }
            Kind::Remap { bio, .. } => match self.bios.get_mut(&bio) {
                Some(known) => known.remapped = true,
                None => self.violation(event, format!("unknown bio {bio} is passed on")),
            },
            Kind::BioEnd { bio, .. } => match self.bios.get_mut(&bio) {
                Some(known) if known.ended == 0 => known.ended = 1,
                Some(known) => {
                    known.ended += 1;
                    self.violation(event, format!("bio {bio} ends twice"));
                }
                None => self.violation(event, format!("bio {bio} ends without having been queued")),
            },
            Kind::BackMerge { bio, rq, .. } | Kind::FrontMerge { bio, rq, .. } => {
                if !self.bios.contains_key(&bio) {
                    self.violation(event, format!("unknown bio {bio} merges"));
                }
                if self.requests.get(&rq).is_none_or(|r| r.issued) {
                    self.violation(
                        event,
                        format!("bio {bio} merges into request {rq}, which is not waiting"),
                    );
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, topology: &Topology, event: &Event) {
        match event.kind {
            Kind::SchedTagAlloc { rq, hctx, tag, .. } => {
                let new = Request { sched_tag: Some((hctx, tag)), ..Request::default() };
                if self.requests.insert(rq, new).is_some() {
                    self.violation(event, format!("request {rq} is made twice"));
                }
                if let Some(holder) = self.sched_tags.insert((hctx, tag), rq) {
                    self.violation(
                        event,
                        format!("sched tag {tag} of hctx {hctx} is held by {holder} and {rq}"),
                    );
                }
                let queue = topology.hctxs.get(usize::from(hctx)).map(|h| usize::from(h.queue));
                let most = queue.and_then(|q| topology.queues.get(q)).map_or(0, |q| q.nr_requests);
                if tag >= most {
                    self.violation(event, format!("sched tag {tag}, but nr_requests is {most}"));
                }
            }
            Kind::SchedTagFree { rq, hctx, tag } => {
                if self.sched_tags.remove(&(hctx, tag)) != Some(rq) {
                    let text = format!("request {rq} frees sched tag {tag} of hctx {hctx}, not its own");
                    self.violation(event, text);
                }
                self.state(event, rq, |r| {
                    r.sched_tag.take().is_some() && (r.merged || r.completions == 1 || r.ended == 1)
                });
            }
            Kind::PoolAlloc { rq, queue, sync, count, .. } => {
                let new = Request { pooled: true, ..Request::default() };
                if self.requests.insert(rq, new).is_some() {
                    self.violation(event, format!("request {rq} is made twice"));
                }
                let given_out = self.pools.entry((queue, sync)).or_default();
                *given_out += 1;
                let given_out = *given_out;
                let most = topology.queues.get(usize::from(queue)).map_or(0, |q| 3 * q.nr_requests / 2);
                // Places are taken under the lock, requests appear a little later.
                if count < given_out || count > most {
                    self.violation(event, format!("{given_out} out, the pool says {count} of {most}"));
                }
            }
            Kind::PoolFree { rq, queue, sync, count } => {
                let given_out = self.pools.entry((queue, sync)).or_default();
                *given_out = given_out.saturating_sub(1);
                let given_out = *given_out;
                if count < given_out {
                    self.violation(event, format!("{given_out} out, the pool says {count}"));
                }
                self.state(event, rq, |r| std::mem::take(&mut r.pooled) && (r.merged || r.tag_frees == 1));
            }
            Kind::RequestMerge { gone, rq, .. } => {
                self.state(event, gone, |r| !std::mem::replace(&mut r.merged, true) && !r.issued);
                self.state(event, rq, |r| !r.merged && !r.issued);
            }
            Kind::TagAlloc { rq, hctx, tag, .. } => {
                let request = self.requests.entry(rq).or_default();
                if request.tag.replace((hctx, tag)).is_some() {
                    self.violation(event, format!("request {rq} gets a tag twice"));
                }
                if let Some(holder) = self.tags.insert((hctx, tag), rq) {
                    self.violation(event, format!("tag {tag} of hctx {hctx} is held by {holder} and {rq}"));
                }
                let used = self.tags_used.entry(hctx).or_default();
                *used += 1;
                let used = *used;
                let queue = topology.hctxs.get(usize::from(hctx)).map(|h| usize::from(h.queue));
                let tags = queue.and_then(|q| topology.queues.get(q)).map_or(0, |q| q.nr_tags);
                if used > tags || tag >= tags {
                    self.violation(event, format!("tag {tag}, {used} in use, but hctx {hctx} has {tags}"));
                }
            }
            Kind::TagFree { rq, hctx, tag } => {
                if self.tags.remove(&(hctx, tag)) != Some(rq) {
                    self.violation(
                        event,
                        format!("request {rq} frees tag {tag} of hctx {hctx}, not its own"),
                    );
                }
                let used = self.tags_used.entry(hctx).or_default();
                *used = used.saturating_sub(1);
                match self.requests.get_mut(&rq) {
                    // Refused by the driver: a scheduler's request takes a new driver tag next time.
                    Some(known) if known.completions == 0 && known.ended == 0 => known.tag = None,
                    Some(known) => known.tag_frees += 1,
                    None => self.violation(event, format!("unknown request {rq} frees a tag")),
                }
            }
            Kind::Issue { rq, queue, .. } => {
                let depth = topology.queues.get(usize::from(queue)).map_or(0, |q| match q.path {
                    Path::Mq => q
                        .queue_depth
                        .min(q.nr_tags.saturating_mul(u32::try_from(q.hctxs.len()).unwrap_or(u32::MAX))),
                    // The driver shows D when it looks at a request for which it may have no room.
                    Path::Legacy => q.queue_depth + 1,
                });
                let in_flight = &mut self.in_flight[usize::from(queue)];
                *in_flight += 1;
                let in_flight = *in_flight;
                if in_flight > depth {
                    self.violation(event, format!("{in_flight} in flight, the depth is {depth}"));
                }
                self.state(event, rq, |r| !std::mem::replace(&mut r.issued, true) && r.completions == 0);
            }
            Kind::Requeue { rq, queue, .. } => {
                // A SCSI LUN without budget refuses before D; a command that ended with status BUSY has left the device.
                let left = |r: &mut Request| std::mem::take(&mut r.interrupts) > 0;
                let answered = self.requests.get_mut(&rq).is_some_and(left);
                if self.requests.get_mut(&rq).is_some_and(|r| std::mem::take(&mut r.issued)) && !answered {
                    let in_flight = &mut self.in_flight[usize::from(queue)];
                    *in_flight = in_flight.saturating_sub(1);
                }
                self.state(event, rq, |r| r.completions == 0);
            }
            // The device is done: its place may be taken before C is reported (a SCSI LUN gives the budget back first).
            Kind::Irq { rq, hctx } | Kind::Polled { rq, hctx } => {
                let queue = topology.hctxs.get(usize::from(hctx)).map_or(0, |h| usize::from(h.queue));
                if let Some(in_flight) = self.in_flight.get_mut(queue) {
                    *in_flight = in_flight.saturating_sub(1);
                }
                self.state(event, rq, |r| {
                    r.interrupts += 1;
                    r.interrupts == 1 && r.issued
                });
            }
            Kind::Complete { rq: 0, .. } => {}
            Kind::FlushPending { rq, .. } => {
                self.state(event, rq, |r| {
                    r.in_flush_seq = true;
                    r.ended == 0
                });
            }
            Kind::FlushStart { rq, of, count, .. } => {
                let flush = Request { flush: true, ..Request::default() };
                if self.requests.insert(rq, flush).is_some() {
                    self.violation(event, format!("flush request {rq} is made twice"));
                }
                self.state(event, of, |r| r.in_flush_seq && count > 0);
            }
            // The end of a flush sequence.
            Kind::Complete { rq, extent: Extent { op, sectors: 0, .. }, .. } if op != Op::Flush => {
                self.state(event, rq, |r| {
                    r.ended += 1;
                    r.ended == 1 && r.in_flush_seq && r.issued == (r.completions == 1)
                });
            }
            Kind::Complete { rq, extent, .. } => {
                self.state(event, rq, |r| {
                    r.completions += 1;
                    r.sectors_done = u64::from(extent.sectors);
                    r.completions == 1 && r.interrupts == 1
                });
            }
            _ => {}
        }
    }

    /// Changes a request; `step` says whether the change was due.
    fn state(&mut self, event: &Event, rq: RqId, step: impl FnOnce(&mut Request) -> bool) {
        match self.requests.get_mut(&rq).map(step) {
            Some(true) => {}
            Some(false) => self.violation(event, format!("request {rq} is in no state for this")),
            None => self.violation(event, format!("unknown request {rq}")),
        }
    }

    fn lock(&mut self, event: &Event) {
        match event.kind {
            Kind::LockAcquire { lock, .. } => {
                if let Some(holder) = self.holders.insert(lock, event.cpu) {
                    self.violation(event, format!("lock {lock} is taken while CPU {holder} holds it"));
                }
            }
            Kind::LockRelease { lock, .. } => {
                let holder = self.holders.remove(&lock);
                if holder != Some(event.cpu) {
                    self.violation(event, format!("lock {lock} is released, its holder was {holder:?}"));
                }
            }
            _ => {}
        }
    }

    fn violation(&mut self, event: &Event, what: String) {
        self.note(format!("at {} ns on CPU {}: {what} ({:?})", event.at_ns, event.cpu, event.kind));
    }

    fn note(&mut self, what: String) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::event::{Context, Flags, NO_TASK};
    use mqscope_core::topology::{Hctx, Queue};

    fn topology() -> Topology {
        let queue = Queue {
            name: "nullb0".into(),
            model: "null".into(),
            path: Path::Mq,
            driver: mqscope_core::topology::Driver::Null,
            scheduler: "none".into(),
            tunables: Vec::new(),
            dev: (254, 0),
            nr_tags: 2,
            nr_requests: 2,
            queue_depth: 1,
            sectors: 1000,
            hctxs: vec![0],
            units: Vec::new(),
        };
        let hctxs = vec![Hctx { queue: 0, index: 0, cpus: vec![0] }];
        Topology { queues: vec![queue], hctxs, ..Topology::default() }
    }

    fn violations(kinds: &[Kind]) -> Vec<String> {
        let event = |(i, kind): (usize, &Kind)| Event {
            at_ns: i as u64,
            cpu: 0,
            context: Context::Task,
            task: NO_TASK,
            kind: *kind,
        };
        let events: Vec<Event> = kinds.iter().enumerate().map(event).collect();
        let mut audit = Audit::default();
        audit.read(&topology(), &events);
        audit.finish()
    }

    const EXTENT: Extent = Extent { op: Op::Read, flags: Flags::NONE, sector: 8, sectors: 8 };

    fn life(rq: RqId, tag: u32) -> [Kind; 7] {
        [
            Kind::Queue { bio: rq, queue: 0, extent: EXTENT },
            Kind::TagAlloc { rq, bio: rq, hctx: 0, tag },
            Kind::Issue { rq, queue: 0, hctx: 0, extent: EXTENT },
            Kind::Irq { rq, hctx: 0 },
            Kind::Complete { rq, queue: 0, extent: EXTENT },
            Kind::TagFree { rq, hctx: 0, tag },
            Kind::BioEnd { bio: rq, lat_ns: 5 },
        ]
    }

    #[test]
    fn a_whole_life_breaks_nothing() {
        assert_eq!(violations(&life(1, 0)), Vec::<String>::new());
    }

    #[test]
    fn each_missing_step_is_noticed() {
        for missing in 0..7 {
            let mut kinds = life(1, 0).to_vec();
            kinds.remove(missing);
            assert!(!violations(&kinds).is_empty(), "step {missing} was left out");
        }
    }

    #[test]
    fn each_doubled_step_is_noticed() {
        for doubled in 0..7 {
            let mut kinds = life(1, 0).to_vec();
            kinds.insert(doubled, kinds[doubled]);
            assert!(!violations(&kinds).is_empty(), "step {doubled} was doubled");
        }
    }

    #[test]
    fn a_tag_held_twice_and_a_depth_exceeded_are_noticed() {
        let both: Vec<Kind> = life(1, 0)[..3].iter().chain(&life(2, 0)[..3]).copied().collect();
        let found = violations(&both).join("\n");
        assert!(found.contains("tag 0 of hctx 0 is held by 1 and 2"), "{found}");
        assert!(found.contains("2 in flight, the depth is 1"), "{found}");
    }

    #[test]
    fn a_lock_has_one_holder() {
        let take = Kind::LockAcquire { lock: 7, wait_ns: 0, transfer_ns: 0, from: 0 };
        let give = Kind::LockRelease { lock: 7, held_ns: 1 };
        assert!(violations(&[take, give, take, give]).is_empty());
        assert!(!violations(&[take, take]).is_empty());
        assert!(!violations(&[give]).is_empty());
        assert!(!violations(&[take]).is_empty());
    }
}
