//! kyber: throttles each kind of request to the depth at which latencies keep their targets (`block/kyber-iosched.c`).
//!
//! A request waits in the kcq of its ctx, one list a domain, where bios can merge with it. A dispatch that holds a token
//! flushes a domain from all kcqs of its hctx into the hctx's own list and takes from that. There is no lock for the whole
//! disk; the tokens are all that hctxs share. An hctx without a token waits in the domain's wait queues and is run
//! when tokens come back. Latencies of completed requests decide how many tokens a domain has (`stats.rs`).
//!
//! Two generations, by the knob `kyber_stats`: three domains and mean latencies, or four domains and percentiles.

mod stats;
mod tokens;
mod view;

use super::*;
use crate::kernel::KyberStats;
use stats::Stats;
use std::collections::VecDeque;
use tokens::{DOMAINS_MAX, Pool, READ, WRITE, domain_of, domains};

/// Part of a sched-tag word that asynchronous requests may use, in percent (KYBER_ASYNC_PERCENT).
const ASYNC_PERCENT: u32 = 75;
/// Latency target of discards, which sysfs does not show (`kyber_latency_targets`).
const DISCARD_TARGET_NS: u64 = 5_000_000_000;
/// Most requests that a bio is compared with (`blk_bio_list_merge`).
const MERGE_CANDIDATES: usize = 8;

/// A request until its completion.
#[derive(Clone, Debug, Hash)]
struct Entry {
    rq: SchedRq,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Queued,
    /// With a token of this domain; without one only if the generation has changed since.
    Dispatched(Option<usize>),
}

/// Requests of one ctx (`struct kyber_ctx_queue`): slots by domain.
#[derive(Clone, Debug, Hash)]
struct Kcq {
    cpu: u16,
    lists: [VecDeque<u32>; DOMAINS_MAX],
}

/// One hctx (`struct kyber_hctx_data`).
#[derive(Clone, Debug, Default, Hash)]
struct Khd {
    /// Flushed requests by domain.
    rqs: [VecDeque<u32>; DOMAINS_MAX],
    cur_domain: usize,
    /// Requests of the current domain dispatched in a row.
    batching: u32,
    /// Its ctxs that had requests, in order of their CPUs.
    kcqs: Vec<Kcq>,
    /// Requests in kcqs by domain (not zero where `kcq_map` has a bit set).
    in_kcqs: [u32; DOMAINS_MAX],
    /// The wait queue it waits in, by domain.
    waits: [Option<u8>; DOMAINS_MAX],
    /// The wait queue for the next wait, by domain.
    wait_index: [u8; DOMAINS_MAX],
}

impl Khd {
    /// The list of a ctx, made when first asked for.
    fn list(&mut self, cpu: u16, domain: usize) -> &mut VecDeque<u32> {
        let at = self.kcqs.binary_search_by_key(&cpu, |kcq| kcq.cpu).unwrap_or_else(|at| {
            self.kcqs.insert(at, Kcq { cpu, lists: Default::default() });
            at
        });
        &mut self.kcqs[at].lists[domain]
    }

    fn has_requests(&self, domain: usize) -> bool {
        !self.rqs[domain].is_empty() || self.in_kcqs[domain] > 0
    }

    /// `kyber_flush_busy_kcqs`.
    fn flush(&mut self, domain: usize) {
        for kcq in &mut self.kcqs {
            self.rqs[domain].append(&mut kcq.lists[domain]);
        }
        self.in_kcqs[domain] = 0;
    }
}

/// See the module text (`struct kyber_queue_data`).
#[derive(Clone, Debug, Hash)]
pub(crate) struct Policy {
    generation: KyberStats,
    /// Times the generation was changed: timers of another life are stale.
    changes: u32,
    /// When the statistics timer expires.
    timer_ns: Option<u64>,
    stats: Stats,
    pools: Vec<Pool>,
    khds: Vec<Khd>,
    /// By slot: every request from its insertion to its completion.
    entries: Vec<Option<Entry>>,
    /// Latency targets of reads and writes.
    targets_ns: [u64; 2],
}

impl Policy {
    pub(crate) fn new(cx: Cx<'_>) -> Self {
        let generation = cx.knobs.kyber_stats;
        Self {
            generation,
            changes: 0,
            timer_ns: None,
            stats: Stats::new(generation),
            pools: domains(generation).iter().map(|domain| Pool::new(domain.depth_max)).collect(),
            khds: vec![Khd::default(); usize::from(cx.disk.nr_hctx)],
            entries: Vec::new(),
            targets_ns: [2_000_000, 10_000_000],
        }
    }

    fn domain(&self, rq: &SchedRq) -> usize {
        domain_of(self.generation, rq.op, rq.is_sync())
    }

    /// Latency target of a domain; OTHER has none.
    fn target_ns(&self, domain: usize) -> Option<u64> {
        match domain {
            READ | WRITE => Some(self.targets_ns[domain]),
            _ => (domain + 1 < self.pools.len()).then_some(DISCARD_TARGET_NS),
        }
    }

    fn queued(&self, slot: u32) -> &SchedRq {
        &self.entries[slot as usize].as_ref().expect("a listed request is known").rq
    }

    /// Starts afresh with the domains and statistics of the other generation once the knob was changed. Queued requests
    /// stay; those in the driver hold no token of the new pools; whoever waited for an old token is run.
    fn follow_knob(&mut self, cx: Cx<'_>, out: &mut Out) {
        if self.generation == cx.knobs.kyber_stats {
            return;
        }
        let before = std::mem::replace(
            self,
            Self { changes: self.changes + 1, targets_ns: self.targets_ns, ..Self::new(cx) },
        );
        self.entries = before.entries;
        for entry in self.entries.iter_mut().flatten() {
            if entry.state != State::Queued {
                entry.state = State::Dispatched(None);
            }
        }
        for (hctx, khd) in before.khds.into_iter().enumerate() {
            if khd.waits.iter().any(Option::is_some) {
                out.run_hctx.push(hctx as u16);
            }
            for slot in khd.rqs.into_iter().flatten() {
                let domain = self.domain(self.queued(slot));
                self.khds[hctx].rqs[domain].push_back(slot);
            }
            for kcq in khd.kcqs {
                for slot in kcq.lists.into_iter().flatten() {
                    self.enqueue(slot, false);
                }
            }
        }
    }

    /// Puts a known request into its kcq.
    fn enqueue(&mut self, slot: u32, at_head: bool) {
        let rq = *self.queued(slot);
        let domain = self.domain(&rq);
        let khd = &mut self.khds[usize::from(rq.hctx)];
        khd.in_kcqs[domain] += 1;
        let list = khd.list(rq.cpu, domain);
        if at_head {
            list.push_front(slot);
        } else {
            list.push_back(slot);
        }
    }

    /// Arms the statistics timer.
    fn arm(&mut self, now_ns: u64, delay_ns: Option<u64>, out: &mut Out) {
        if let Some(delay_ns) = delay_ns {
            self.timer_ns = Some(now_ns + delay_ns);
            out.timers.push((now_ns + delay_ns, self.changes));
        }
    }

    /// `kyber_get_domain_token`: without a token the hctx waits, with one it waits no longer.
    fn get_token(&mut self, hctx: u16, domain: usize, out: &mut Out) -> bool {
        let khd = &mut self.khds[usize::from(hctx)];
        let pool = &mut self.pools[domain];
        let got = pool.take();
        if got {
            out.lines.push(domains(self.generation)[domain].line);
            if let Some(queue) = khd.waits[domain].take() {
                pool.leave(hctx, queue);
            }
        } else if khd.waits[domain].is_none() {
            let queue = khd.wait_index[domain];
            khd.wait_index[domain] = tokens::next_queue(queue);
            khd.waits[domain] = Some(queue);
            pool.wait(hctx, queue);
        }
        got
    }

    /// Gives a token back and runs whom that wakes (`rq_clear_domain_token`, `kyber_domain_wake`).
    fn put_token(&mut self, state: State, out: &mut Out) {
        let State::Dispatched(Some(domain)) = state else { return };
        out.lines.push(domains(self.generation)[domain].line);
        let first = out.run_hctx.len();
        self.pools[domain].give_back(&mut out.run_hctx);
        for &hctx in &out.run_hctx[first..] {
            self.khds[usize::from(hctx)].waits[domain] = None;
        }
    }

    /// `kyber_dispatch_cur_domain`.
    fn dispatch_cur_domain(&mut self, hctx: u16, out: &mut Out) -> Option<u32> {
        let h = usize::from(hctx);
        let domain = self.khds[h].cur_domain;
        if !self.khds[h].has_requests(domain) || !self.get_token(hctx, domain, out) {
            return None;
        }
        let khd = &mut self.khds[h];
        if khd.rqs[domain].is_empty() {
            khd.flush(domain);
        }
        khd.batching += 1;
        let slot = khd.rqs[domain].pop_front().expect("the hctx has requests of this domain");
        self.entries[slot as usize].as_mut().expect("a listed request is known").state =
            State::Dispatched(Some(domain));
        Some(slot)
    }
}

impl Scheduler for Policy {
    fn locking(&self) -> Locking {
        Locking {
            dispatch_name: "khd->lock",
            dispatch: LockAt::Hctx,
            insert_name: "kcq->lock",
            insert: LockAt::Ctx,
            insert_each: true,
            counts_until_done: false,
            completion: false,
            queue_lock: false,
            lines: tokens::LINES,
            lists: Lists::PLAIN,
        }
    }

    /// `kyber_insert_requests`. A request that the driver sends back has lost its token before (`requeue_request`).
    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, out: &mut Out) {
        self.follow_knob(cx, out);
        let slot = rq.slot as usize;
        if self.entries.len() <= slot {
            self.entries.resize(slot + 1, None);
        }
        if let Some(requeued) = self.entries[slot].replace(Entry { rq, state: State::Queued }) {
            assert!(requeued.state != State::Queued, "slot {slot} is inserted twice");
            self.put_token(requeued.state, out);
        }
        self.enqueue(rq.slot, at_head);
    }

    /// `kyber_dispatch_request`.
    fn dispatch(&mut self, cx: Cx<'_>, hctx: u16, out: &mut Out) -> Option<u32> {
        self.follow_knob(cx, out);
        let h = usize::from(hctx);
        if self.khds[h].batching < domains(self.generation)[self.khds[h].cur_domain].batch
            && let Some(slot) = self.dispatch_cur_domain(hctx, out)
        {
            return Some(slot);
        }
        // The round ends at the domain it starts from, which may go on if no other has anything.
        self.khds[h].batching = 0;
        (0..self.pools.len()).find_map(|_| {
            self.khds[h].cur_domain = (self.khds[h].cur_domain + 1) % self.pools.len();
            self.dispatch_cur_domain(hctx, out)
        })
    }

    /// `kyber_has_work`.
    fn has_work(&self, _cx: Cx<'_>, hctx: u16) -> bool {
        (0..DOMAINS_MAX).any(|domain| self.khds[usize::from(hctx)].has_requests(domain))
    }

    /// `kyber_completed_request`, then `kyber_finish_request`.
    fn completed(&mut self, cx: Cx<'_>, done: &Done, out: &mut Out) {
        self.follow_knob(cx, out);
        let domain = self.domain(&done.rq);
        let target_ns = self.target_ns(domain);
        let delay_ns = self.stats.completed(domain, target_ns, self.timer_ns.is_some(), done);
        self.arm(cx.now, delay_ns, out);
        let entry = self.entries[done.rq.slot as usize].take().expect("a completed request was dispatched");
        self.put_token(entry.state, out);
    }

    /// `kyber_timer_fn`, `kyber_stat_timer_fn`.
    fn timer(&mut self, cx: Cx<'_>, token: u32, out: &mut Out) {
        self.follow_knob(cx, out);
        if token != self.changes || self.timer_ns.is_none() {
            return;
        }
        self.timer_ns = None;
        let delay_ns = self.stats.timer(cx.now, self.targets_ns, &mut self.pools);
        self.arm(cx.now, delay_ns, out);
    }

    /// `kyber_limit_depth`: a quarter of each word is kept for those that somebody waits for.
    fn shallow_depth(&self, _cx: Cx<'_>, _op: Op, sync: bool, word_bits: u32) -> Option<u32> {
        (!sync).then_some((1 << word_bits) * ASYNC_PERCENT / 100)
    }

    fn merging(&self) -> Merging {
        Merging::List
    }

    /// `kyber_bio_merge`: the newest requests of the same ctx and domain.
    fn candidates(&self, bio: &SchedRq) -> Vec<u32> {
        let khd = &self.khds[usize::from(bio.hctx)];
        let Ok(at) = khd.kcqs.binary_search_by_key(&bio.cpu, |kcq| kcq.cpu) else { return Vec::new() };
        khd.kcqs[at].lists[self.domain(bio)].iter().rev().take(MERGE_CANDIDATES).copied().collect()
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        let entry = self.entries[slot as usize].as_mut().expect("a grown request is queued");
        (entry.rq.sector, entry.rq.sectors) = (sector, sectors);
    }

    fn tunables(&self, _cx: Cx<'_>) -> Vec<Tunable> {
        // The kernel takes any 64-bit number; beyond 2^53 ns, which is 104 days, a page could not show it.
        let range = (0, 1 << 53);
        vec![
            Tunable {
                name: "read_lat_nsec",
                value: self.targets_ns[READ],
                range,
                unit: "ns",
                help: "target latency of reads (kyber_completed_request)",
            },
            Tunable {
                name: "write_lat_nsec",
                value: self.targets_ns[WRITE],
                range,
                unit: "ns",
                help: "target latency of writes, until 4.19 of synchronous ones (kyber_completed_request)",
            },
        ]
    }

    fn set(&mut self, name: &str, value: u64) {
        match name {
            "read_lat_nsec" => self.targets_ns[READ] = value,
            "write_lat_nsec" => self.targets_ns[WRITE] = value,
            _ => {}
        }
    }

    fn view(&self, cx: Cx<'_>) -> View {
        view::view(self, cx)
    }
}
