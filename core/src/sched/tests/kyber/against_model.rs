//! Any workload: the policy does what the naive model does, and never leaves its bounds.

use super::bench::{Bench, Kind, MS, NR_CPUS, NR_HCTX};
use super::model::Model;
use crate::event::Op;
use crate::kernel::KyberStats;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
enum Step {
    Insert {
        kind: Kind,
        cpu: u16,
        at_head: bool,
        count: u32,
    },
    Dispatch {
        hctx: u16,
        count: u32,
    },
    Complete {
        pick: u32,
        quarters: u64,
        wait_quarters: u64,
        count: u32,
    },
    Advance {
        ms: u64,
    },
    Requeue {
        pick: u32,
    },
    /// Many requests of one kind, one after the other: makes percentiles.
    Serve {
        kind: Kind,
        cpu: u16,
        quarters: u64,
        total_quarters: u64,
        count: u32,
    },
}

fn kinds() -> impl Strategy<Value = Kind> {
    select(vec![Kind::R, Kind::R, Kind::W, Kind::W, Kind::A, Kind::D, Kind::F])
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (kinds(), 0..NR_CPUS, any::<bool>(), prop_oneof![Just(1u32), 1..40u32])
            .prop_map(|(kind, cpu, at_head, count)| Step::Insert { kind, cpu, at_head, count }),
        5 => (0..NR_HCTX, 1..30u32).prop_map(|(hctx, count)| Step::Dispatch { hctx, count }),
        3 => (any::<u32>(), 0..10u64, 0..10u64, 1..20u32).prop_map(|(pick, quarters, wait_quarters, count)| {
            Step::Complete { pick, quarters, wait_quarters, count }
        }),
        1 => any::<u32>().prop_map(|pick| Step::Requeue { pick }),
        3 => select(vec![1u64, 20, 100, 350]).prop_map(|ms| Step::Advance { ms }),
        2 => (kinds(), 0..NR_CPUS, 0..10u64, 0..10u64, select(vec![30u32, 520]))
            .prop_map(|(kind, cpu, quarters, total_quarters, count)| Step::Serve {
                kind,
                cpu,
                quarters,
                total_quarters,
                count,
            }),
    ];
    vec(step, 1..60)
}

/// A quarter of the target of this kind, ns.
fn quarter_ns(kind: Kind) -> u64 {
    match kind {
        Kind::R => MS / 2,
        Kind::D => 1250 * MS,
        _ => 5 * MS / 2,
    }
}

/// The policy and its model, told the same.
struct Both {
    bench: Bench,
    model: Model,
    names: &'static [&'static str],
}

impl Both {
    fn new(stats: KyberStats) -> Self {
        let mean = stats == KyberStats::Mean;
        Self {
            bench: Bench::new(stats),
            model: Model::new(mean, usize::from(NR_HCTX)),
            names: if mean {
                &["READ", "SYNC_WRITE", "OTHER"]
            } else {
                &["READ", "WRITE", "DISCARD", "OTHER"]
            },
        }
    }

    fn insert(&mut self, kind: Kind, cpu: u16, at_head: bool) {
        let rq = self.bench.insert_at(kind, cpu, at_head);
        self.model.insert(&rq, at_head);
    }

    fn dispatch(&mut self, hctx: u16) -> bool {
        let rq = self.bench.dispatch(hctx);
        assert_eq!(rq.map(|rq| rq.slot), self.model.dispatch(hctx));
        assert_eq!(self.bench.out.lines.len(), usize::from(rq.is_some()), "a token is taken, or nothing");
        rq.is_some()
    }

    fn complete(&mut self, at: usize, io: u64, total: u64) {
        let rq = self.bench.complete(at, io, total);
        let woken = self.model.completed(self.bench.now, &rq, io, total);
        assert_eq!(self.bench.out.run_hctx, woken);
        assert_eq!(self.bench.out.lines.len(), 1, "its token goes back");
        self.timers_agree();
    }

    fn timers_agree(&self) {
        let armed: Vec<u64> = self.bench.timers.iter().map(|timer| timer.0).collect();
        assert_eq!(armed, Vec::from_iter(self.model.timer));
    }

    fn advance(&mut self, ns: u64) {
        let end = self.bench.now + ns;
        while let Some(at) = self.bench.next_timer(end) {
            let (time, token) = self.bench.timers.remove(at);
            self.bench.now = time;
            self.bench.timer(token);
            self.model.timer(time);
            self.timers_agree();
        }
        self.bench.now = end;
    }

    /// Late I/O and early totals of all kinds: depths shrink.
    fn congest(&mut self) {
        for kind in [Kind::R, Kind::W, Kind::A, Kind::D] {
            self.step(&Step::Serve { kind, cpu: 0, quarters: 9, total_quarters: 1, count: 520 });
        }
        self.advance(100 * MS);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Insert { kind, cpu, at_head, count } => {
                (0..count).for_each(|_| self.insert(kind, cpu, at_head));
            }
            Step::Dispatch { hctx, count } => {
                (0..count).all(|_| self.dispatch(hctx));
            }
            Step::Complete { pick, quarters, wait_quarters, count } => {
                for _ in 0..count.min(self.bench.driver.len() as u32) {
                    let at = pick as usize % self.bench.driver.len();
                    let quarter = quarter_ns(kind_of(&self.bench, at));
                    self.complete(at, quarters * quarter, (quarters + wait_quarters) * quarter);
                }
            }
            Step::Requeue { pick } => {
                if !self.bench.driver.is_empty() {
                    let rq = self.bench.requeue(pick as usize % self.bench.driver.len());
                    assert_eq!(self.bench.out.run_hctx, self.model.put_token(&rq));
                    self.model.insert(&rq, true);
                }
            }
            Step::Advance { ms } => self.advance(ms * MS),
            Step::Serve { kind, cpu, quarters, total_quarters, count } => {
                for _ in 0..count {
                    self.insert(kind, cpu, false);
                    if self.dispatch(cpu % NR_HCTX) {
                        let last = self.bench.driver.len() - 1;
                        let quarter = quarter_ns(kind_of(&self.bench, last));
                        self.complete(last, quarters * quarter, total_quarters * quarter);
                    }
                }
            }
        }
        self.check();
    }

    /// Bounds, and that the view tells the truth.
    fn check(&self) {
        let cx = self.bench.cx();
        for (domain, name) in self.names.iter().enumerate() {
            let (used, depth) = self.bench.tokens(name);
            assert_eq!(depth, self.model.depth[domain]);
            assert_eq!(used as usize, self.model.taken.iter().filter(|t| t.0 == domain).count());
            assert!((1..=[256, 128, 64, 16][domain]).contains(&depth));
        }
        let busy: Vec<u16> = (0..NR_HCTX).filter(|&hctx| self.bench.sched.has_work(cx, hctx)).collect();
        assert_eq!(busy, Vec::from_iter((0..NR_HCTX).filter(|&hctx| self.model.has_work(hctx))));
        let mut next = self.bench.clone();
        let id = busy.first().and_then(|&hctx| next.dispatch(hctx)).map_or(0, |rq| rq.id);
        let view = self.bench.sched.view(cx);
        assert_eq!(view.next, id);
        assert_eq!(
            view.groups.iter().map(|group| group.total as usize).sum::<usize>(),
            self.bench.queued.len()
        );
    }
}

fn kind_of(bench: &Bench, at: usize) -> Kind {
    match bench.driver[at].op {
        Op::Read => Kind::R,
        Op::Discard => Kind::D,
        _ => Kind::W,
    }
}

fn generations() -> impl Strategy<Value = KyberStats> {
    select(vec![KyberStats::Mean, KyberStats::Percentile])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every dispatch, wake-up, timer and depth is the model's.
    #[test]
    fn does_what_the_rules_say(stats in generations(), congested in 0..6u32, steps in steps()) {
        let mut both = Both::new(stats);
        for _ in 0..congested {
            both.congest();
        }
        for step in &steps {
            both.step(step);
        }
    }

    /// An hctx is run after an insertion and when kyber says so, never otherwise; still all requests get through, even
    /// if depths and generation change meanwhile.
    #[test]
    fn nothing_is_forgotten(
        stats in generations(),
        load in vec((kinds(), 0..NR_CPUS), 1..600),
        quarters in vec(0..10u64, 16),
        picks in vec(any::<u32>(), 16),
        change_at in prop_oneof![Just(usize::MAX), 0..600usize],
    ) {
        let mut bench = Bench::new(stats);
        for (kind, cpu) in load {
            bench.insert(kind, cpu);
        }
        bench.runs = (0..NR_HCTX).collect();
        for round in 0.. {
            while let Some(hctx) = bench.runs.pop() {
                while bench.dispatch(hctx).is_some() {}
            }
            if bench.driver.is_empty() {
                break;
            }
            if round == change_at {
                bench.knobs.kyber_stats = match stats {
                    KyberStats::Mean => KyberStats::Percentile,
                    KyberStats::Percentile => KyberStats::Mean,
                };
            }
            let at = picks[round % picks.len()] as usize % bench.driver.len();
            let latency = quarters[round % quarters.len()] * quarter_ns(kind_of(&bench, at));
            bench.complete(at, latency, latency);
            bench.advance(7 * MS);
        }
        prop_assert_eq!(bench.queued.len(), 0);
    }
}
