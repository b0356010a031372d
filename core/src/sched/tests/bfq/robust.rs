//! Whatever happens, nothing is lost, and looking changes nothing.

use super::super::bench::{Bench, Outcome, Step, steps};
use super::*;
use proptest::prelude::*;
use std::hash::Hasher;

fn bench() -> Bench {
    Bench::new("5.10", row("bfq").expect("a row of the table").new)
}

fn hash(sched: &dyn Scheduler) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    sched.hash_into(&mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// With merges, requeues and timers, every request is dispatched: the disk never idles beyond its timer.
    #[test]
    fn everything_is_dispatched_in_the_end(steps in steps()) {
        let mut bench = bench();
        for step in &steps {
            bench.step(step);
        }
        let mut idled_ms = 0;
        while !bench.queued.is_empty() {
            prop_assert!(bench.sched.has_work(bench.cx(), 0));
            if bench.dispatch(0).is_none() {
                bench.step(&Step::Complete(0));
                bench.advance(MS);
                idled_ms += 1;
                prop_assert!(idled_ms < 20_000, "{} are left", bench.queued.len());
            }
        }
    }

    /// The view shows what dispatch then does, in full, and asking has no effect.
    #[test]
    fn the_view_foretells_the_next_dispatch(steps in steps()) {
        let mut bench = bench();
        for step in &steps {
            let before = hash(bench.sched.as_ref());
            let view = bench.sched.view(bench.cx());
            prop_assert_eq!(hash(bench.sched.as_ref()), before);
            prop_assert_eq!(view.groups.iter().map(|g| g.total as usize).sum::<usize>(), bench.queued.len());
            prop_assert!(!view.why.is_empty());
            if let Outcome::Dispatched(slot) = bench.step(step) {
                prop_assert_eq!(view.next, slot.map_or(0, |slot| bench.in_driver[&slot].0.id));
            }
        }
    }

    /// A copy goes the same way.
    #[test]
    fn a_copy_behaves_alike(steps in steps(), at in 0usize..200) {
        let (mut a, mut b) = (bench(), bench());
        for (i, step) in steps.iter().enumerate() {
            if i == at {
                b.sched = a.sched.clone();
            }
            prop_assert_eq!(a.step(step), b.step(step));
            prop_assert_eq!(hash(a.sched.as_ref()), hash(b.sched.as_ref()));
        }
    }
}
