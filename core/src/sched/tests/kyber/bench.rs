//! A disk with kyber and nothing else: the test is tasks, driver and clock. Unlike the bench of the other schedulers it
//! has several hctxs, counts who is woken, and is told latencies instead of taking them from the clock.

use super::super::super::*;
use crate::kernel::{self, KyberStats};

pub(super) const MS: u64 = 1_000_000;
pub(super) const NR_HCTX: u16 = 3;
pub(super) const NR_CPUS: u16 = 12;

#[derive(Clone)]
pub(super) struct Bench {
    pub sched: Box<dyn Scheduler>,
    pub knobs: Knobs,
    pub now: u64,
    /// Timers asked for and not yet expired.
    pub timers: Vec<(u64, u32)>,
    /// Requests dispatched and not completed, oldest first.
    pub driver: Vec<SchedRq>,
    /// Requests inserted and not dispatched.
    pub queued: Vec<SchedRq>,
    /// Hctxs to be run.
    pub runs: Vec<u16>,
    /// What the last call left.
    pub out: Out,
    ids: u32,
}

/// A kind of request; `W`: write, `A`: asynchronous write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    R,
    W,
    A,
    D,
    F,
}

pub(super) fn request(kind: Kind, slot: u32, cpu: u16) -> SchedRq {
    let (op, flags) = match kind {
        Kind::R => (Op::Read, Flags::NONE),
        Kind::W => (Op::Write, Flags::SYNC),
        Kind::A => (Op::Write, Flags::NONE),
        Kind::D => (Op::Discard, Flags::SYNC),
        Kind::F => (Op::Flush, Flags::PREFLUSH),
    };
    SchedRq {
        slot,
        id: slot + 1,
        op,
        flags,
        sector: u64::from(slot) * 8,
        sectors: 8,
        prio: Prio::default(),
        task: 0,
        cpu,
        hctx: cpu % NR_HCTX,
    }
}

impl Bench {
    pub fn new(stats: KyberStats) -> Self {
        let mut knobs = kernel::row("6.1").expect("the row exists").knobs.clone();
        knobs.kyber_stats = stats;
        let kyber = row("kyber").expect("kyber is in the table");
        Self {
            sched: (kyber.new)(Self::cx_of(&knobs, 0, 0)),
            knobs,
            now: 0,
            timers: Vec::new(),
            driver: Vec::new(),
            queued: Vec::new(),
            runs: Vec::new(),
            out: Out::default(),
            ids: 0,
        }
    }

    fn cx_of(knobs: &Knobs, now: u64, in_driver: u32) -> Cx<'_> {
        let disk =
            Disk { rotational: false, nr_hctx: NR_HCTX, nr_cpus: NR_CPUS, nr_requests: 256, in_driver };
        Cx { now, knobs, disk }
    }

    pub fn cx(&self) -> Cx<'_> {
        Self::cx_of(&self.knobs, self.now, self.driver.len() as u32)
    }

    /// Calls the scheduler and keeps what it asks for.
    fn call<T>(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cx<'_>, &mut Out) -> T) -> T {
        let mut out = Out::default();
        let cx = Self::cx_of(&self.knobs, self.now, self.driver.len() as u32);
        let answer = f(self.sched.as_mut(), cx, &mut out);
        self.timers.extend(&out.timers);
        self.runs.extend(&out.run_hctx);
        self.out = out;
        answer
    }

    pub fn insert(&mut self, kind: Kind, cpu: u16) -> SchedRq {
        self.insert_at(kind, cpu, false)
    }

    /// Inserts a request in the lowest free slot.
    pub fn insert_at(&mut self, kind: Kind, cpu: u16, at_head: bool) -> SchedRq {
        let used: Vec<u32> = self.queued.iter().chain(&self.driver).map(|rq| rq.slot).collect();
        let slot = (0..).find(|slot| !used.contains(slot)).expect("a slot is free");
        self.ids += 1;
        let rq = SchedRq { id: self.ids, ..request(kind, slot, cpu) };
        self.call(|sched, cx, out| sched.insert(cx, rq, at_head, out));
        self.queued.push(rq);
        rq
    }

    pub fn dispatch(&mut self, hctx: u16) -> Option<SchedRq> {
        let slot = self.call(|sched, cx, out| sched.dispatch(cx, hctx, out))?;
        let at = self.queued.iter().position(|rq| rq.slot == slot).expect("what is dispatched was queued");
        let rq = self.queued.remove(at);
        self.driver.push(rq);
        Some(rq)
    }

    /// Completes a request of the driver; its place there is given.
    pub fn complete(&mut self, at: usize, io_ns: u64, total_ns: u64) -> SchedRq {
        let rq = self.driver.remove(at);
        self.call(|sched, cx, out| sched.completed(cx, &Done { rq, total_ns, io_ns }, out));
        rq
    }

    /// The driver sends a request back; its place there is given.
    pub fn requeue(&mut self, at: usize) -> SchedRq {
        let rq = self.driver.remove(at);
        self.call(|sched, cx, out| sched.insert(cx, rq, true, out));
        self.queued.push(rq);
        rq
    }

    pub fn timer(&mut self, token: u32) {
        self.call(|sched, cx, out| sched.timer(cx, token, out));
    }

    /// Lets time pass and timers expire.
    pub fn advance(&mut self, ns: u64) {
        let end = self.now + ns;
        while let Some(at) = self.next_timer(end) {
            let (time, token) = self.timers.remove(at);
            self.now = time;
            self.timer(token);
        }
        self.now = end;
    }

    /// Place of the earliest timer until `end`.
    pub fn next_timer(&self, end: u64) -> Option<usize> {
        (0..self.timers.len()).filter(|&at| self.timers[at].0 <= end).min_by_key(|&at| self.timers[at].0)
    }

    /// `count` requests of CPU 0 from insertion to completion, one after the other.
    pub fn serve(&mut self, count: u32, kind: Kind, io_ns: u64, total_ns: u64) {
        for _ in 0..count {
            self.insert(kind, 0);
            self.dispatch(0).expect("a token is free");
            self.complete(0, io_ns, total_ns);
        }
    }

    /// Taken tokens and depth of a domain, as the view shows them.
    pub fn tokens(&self, domain: &str) -> (u32, u32) {
        let name = format!("domain_tokens[{domain}]");
        let view = self.sched.view(self.cx());
        let (_, value) = view.facts.iter().find(|(fact, _)| *fact == name).expect("the domain is shown");
        let numbers: Vec<u32> = value.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        (numbers[0], numbers[1])
    }

    pub fn depth(&self, domain: &str) -> u32 {
        self.tokens(domain).1
    }
}
