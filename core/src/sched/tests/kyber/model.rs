//! kyber once more, in the plainest words: unordered bags and searches, samples kept one by one.

use super::super::super::*;

#[derive(Default)]
pub(super) struct Model {
    pub mean: bool,
    /// Waiting in kcqs: (hctx, domain, cpu, request) in the order of their lists.
    kcqs: Vec<(u16, usize, u16, u32)>,
    /// Flushed: (hctx, domain, request).
    flushed: Vec<(u16, usize, u32)>,
    /// Tokens: (domain, request).
    pub taken: Vec<(usize, u32)>,
    pub depth: Vec<u32>,
    /// Waiting for a token: (domain, wait queue, hctx).
    waiting: Vec<(usize, u32, u16)>,
    /// Waits so far, by hctx and domain.
    waits: Vec<Vec<u32>>,
    /// By domain: the next wait queue, and what each of the 8 still counts down.
    wake: Vec<(u32, [u32; 8])>,
    current: Vec<usize>,
    batch: Vec<u32>,
    pub timer: Option<u64>,
    /// By domain: I/O and total latency samples.
    io: Vec<Vec<u64>>,
    total: Vec<Vec<u64>>,
    deadline: Vec<Option<u64>>,
    remembered: Vec<Option<u32>>,
}

const TARGETS: [u64; 3] = [2_000_000, 10_000_000, 5_000_000_000];

impl Model {
    pub fn new(mean: bool, hctxs: usize) -> Self {
        let depth = if mean { vec![256, 128, 64] } else { vec![256, 128, 64, 16] };
        let n = depth.len();
        Self {
            mean,
            waits: vec![vec![0; n]; hctxs],
            wake: depth.iter().map(|&d| (0, [batch_of(d); 8])).collect(),
            current: vec![0; hctxs],
            batch: vec![0; hctxs],
            io: vec![Vec::new(); n],
            total: vec![Vec::new(); n],
            deadline: vec![None; n],
            remembered: vec![None; n],
            depth,
            ..Self::default()
        }
    }

    fn domain(&self, rq: &SchedRq) -> usize {
        match rq.op {
            Op::Read => 0,
            Op::Write if !self.mean || rq.flags.has(Flags::SYNC) => 1,
            Op::Write | Op::Discard => 2,
            Op::Flush => self.depth.len() - 1,
        }
    }

    pub fn insert(&mut self, rq: &SchedRq, at_head: bool) {
        let new = (rq.hctx, self.domain(rq), rq.cpu, rq.slot);
        self.kcqs.insert(if at_head { 0 } else { self.kcqs.len() }, new);
    }

    pub fn has_work(&self, hctx: u16) -> bool {
        self.kcqs.iter().any(|e| e.0 == hctx) || self.flushed.iter().any(|e| e.0 == hctx)
    }

    pub fn dispatch(&mut self, hctx: u16) -> Option<u32> {
        let sizes: &[u32] = if self.mean { &[16, 8, 8] } else { &[16, 8, 1, 1] };
        let h = hctx as usize;
        let start = self.current[h];
        if self.batch[h] < sizes[start]
            && let Some(slot) = self.take(hctx, start)
        {
            self.batch[h] += 1;
            return Some(slot);
        }
        self.batch[h] = 0;
        for step in 1..=sizes.len() {
            let domain = (start + step) % sizes.len();
            self.current[h] = domain;
            if let Some(slot) = self.take(hctx, domain) {
                self.batch[h] = 1;
                return Some(slot);
            }
        }
        None
    }

    fn take(&mut self, hctx: u16, domain: usize) -> Option<u32> {
        let flushed = |model: &Self| model.flushed.iter().position(|e| (e.0, e.1) == (hctx, domain));
        if flushed(self).is_none() && !self.kcqs.iter().any(|e| (e.0, e.1) == (hctx, domain)) {
            return None;
        }
        if self.taken.iter().filter(|t| t.0 == domain).count() as u32 >= self.depth[domain] {
            if !self.waiting.iter().any(|w| (w.0, w.2) == (domain, hctx)) {
                let waits = &mut self.waits[hctx as usize][domain];
                self.waiting.push((domain, *waits % 8, hctx));
                *waits += 1;
            }
            return None;
        }
        self.waiting.retain(|w| (w.0, w.2) != (domain, hctx));
        if flushed(self).is_none() {
            let mut all: Vec<_> = self.kcqs.extract_if(.., |e| (e.0, e.1) == (hctx, domain)).collect();
            all.sort_by_key(|e| e.2);
            self.flushed.extend(all.into_iter().map(|e| (e.0, e.1, e.3)));
        }
        let (_, _, slot) = self.flushed.remove(flushed(self)?);
        self.taken.push((domain, slot));
        Some(slot)
    }

    /// Returns the hctxs that are run.
    pub fn completed(&mut self, now: u64, rq: &SchedRq, io: u64, total: u64) -> Vec<u16> {
        let domain = self.domain(rq);
        let other = self.depth.len() - 1;
        if self.mean {
            if self.timer.is_none() && domain != other && io > TARGETS[domain] {
                self.timer = Some(now + 10_000_000);
            }
            if self.timer.is_some() {
                self.io[domain].push(io);
            }
        } else if domain != other {
            self.io[domain].push(io);
            self.total[domain].push(total);
            self.timer = self.timer.or(Some(now + 100_000_000));
        }
        self.put_token(rq)
    }

    /// Gives the token back; returns the hctxs that are run.
    pub fn put_token(&mut self, rq: &SchedRq) -> Vec<u16> {
        let domain = self.domain(rq);
        let at = self.taken.iter().position(|t| t.1 == rq.slot).expect("it has a token");
        self.taken.remove(at);
        let (next, counts) = &mut self.wake[domain];
        let waits = |queue: u32| self.waiting.iter().any(|w| (w.0, w.1) == (domain, queue));
        let Some(queue) = (0..8).map(|n| (*next + n) % 8).find(|&q| waits(q)) else { return Vec::new() };
        *next = queue;
        counts[queue as usize] -= 1;
        if counts[queue as usize] > 0 {
            return Vec::new();
        }
        counts[queue as usize] = batch_of(self.depth[domain]);
        *next = (queue + 1) % 8;
        self.waiting.extract_if(.., |w| (w.0, w.1) == (domain, queue)).map(|w| w.2).collect()
    }

    fn resize(&mut self, domain: usize, depth: u32) {
        let most = [256, 128, 64, 16][domain];
        let before = std::mem::replace(&mut self.depth[domain], depth.clamp(1, most));
        if batch_of(before) != batch_of(self.depth[domain]) {
            self.wake[domain].1 = [1; 8];
        }
    }

    pub fn timer(&mut self, now: u64) {
        self.timer = None;
        if self.mean {
            self.mean_timer(now);
        } else {
            self.percentile_timer(now);
        }
    }

    fn mean_timer(&mut self, now: u64) {
        // 2 great, 1 good, -1 bad, -2 awful, 0 no samples.
        let status = |domain: usize| {
            let samples = &self.io[domain];
            if samples.is_empty() {
                return 0;
            }
            let mean = samples.iter().sum::<u64>() / samples.len() as u64;
            match mean {
                m if m >= 2 * TARGETS[domain] => -2,
                m if m > TARGETS[domain] => -1,
                m if m > TARGETS[domain] / 2 => 1,
                _ => 2,
            }
        };
        let both = [status(0), status(1)];
        for domain in [0, 1] {
            let (this, that) = (both[domain], both[1 - domain]);
            let depth = self.depth[domain];
            self.resize(
                domain,
                match (this, that) {
                    (0, _) | (1 | 2, 1 | 2) | (-1 | -2, -1 | -2) => depth,
                    (_, 0) => depth + 1,
                    (1, -1) => depth - (depth / 8).max(1),
                    (1, -2) | (2, -1) => depth - (depth / 4).max(1),
                    (2, -2) => depth / 2,
                    (-2, 2) => depth + 2,
                    _ => depth + 1,
                },
            );
        }
        let depth = self.depth[2];
        let best = if both[0] == 0 || both[1] == 0 { both[0] + both[1] } else { both[0].max(both[1]) };
        if both == [0, 0] || !self.io[2].is_empty() {
            self.resize(
                2,
                match best {
                    0 | 2 => depth + 2,
                    1 => depth + 1,
                    -1 => depth - (depth / 4).max(1),
                    _ => depth / 2,
                },
            );
        }
        if both.iter().any(|&s| s < 0) || self.depth[2] < 64 {
            self.timer = Some(now + 100_000_000);
        }
        self.io.iter_mut().for_each(Vec::clear);
    }

    /// Quarters of the target, counted from 0 and cut at 7, that this percentile of the samples reaches.
    fn percentile(&mut self, now: u64, domain: usize, io: bool, rank: usize) -> Option<u32> {
        let samples = if io { &mut self.io[domain] } else { &mut self.total[domain] };
        if samples.is_empty() {
            return None;
        }
        let deadline = *self.deadline[domain].get_or_insert(now + 1_000_000_000);
        if samples.len() < 500 && now < deadline {
            return None;
        }
        self.deadline[domain] = None;
        samples.sort_unstable();
        let latency = samples[(samples.len() * rank).div_ceil(100) - 1];
        samples.clear();
        let quarter = TARGETS[domain] / 4;
        Some((0..7).find(|&b| latency <= quarter * u64::from(b + 1)).unwrap_or(7))
    }

    fn percentile_timer(&mut self, now: u64) {
        let p90: Vec<_> = (0..3).map(|domain| self.percentile(now, domain, true, 90)).collect();
        let congested = p90.into_iter().flatten().any(|bucket| bucket > 3);
        for domain in 0..3 {
            let fresh = self.percentile(now, domain, false, 99);
            let p99 = match (congested, fresh) {
                (true, None) => self.remembered[domain],
                _ => fresh,
            };
            if congested {
                self.remembered[domain] = None;
            } else if fresh.is_some() {
                self.remembered[domain] = fresh;
            }
            match p99 {
                Some(p99) if congested || p99 > 3 => self.resize(domain, self.depth[domain] * (p99 + 1) / 4),
                _ => {}
            }
        }
    }
}

/// Tokens freed per wake-up.
fn batch_of(depth: u32) -> u32 {
    (depth / 8).clamp(1, 8)
}
