//! Backlogged bfqqs get what their weights promise, at every moment of a long run.

use super::*;
use proptest::prelude::*;

const MAX_BUDGET: u64 = 2048;
const LARGEST: u32 = 256;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// B-WF2Q+: after any dispatch, what a bfqq has got differs from its part of all service by at most one budget.
    #[test]
    fn service_follows_weights_within_one_budget(
        levels in prop::collection::vec(0u8..8, 2..7),
        sizes in prop::collection::vec(1..=LARGEST, 64),
    ) {
        let mut rig = Rig::plain(true).with_max_budget(MAX_BUDGET);
        let weights: Vec<u64> = levels.iter().map(|level| 10 * (8 - u64::from(*level))).collect();
        let total_weight: u64 = weights.iter().sum();
        let mut sent = vec![0usize; levels.len()];
        let mut send = |rig: &mut Rig, task: usize| {
            let n = sent[task];
            sent[task] += 1;
            let rq = read(task as u16, 10_000_000 * task as u64 + n as u64 * 256, sizes[(n * 7 + task) % sizes.len()]);
            rig.send(with_prio(rq, PrioClass::Be, levels[task]));
        };
        for task in 0..levels.len() {
            for _ in 0..4 {
                send(&mut rig, task);
            }
        }
        let mut served = vec![0u64; levels.len()];
        for _ in 0..3000 {
            let rq = rig.serve().expect("all are backlogged");
            rig.advance(1_000);
            send(&mut rig, usize::from(rq.task));
            served[usize::from(rq.task)] += u64::from(rq.sectors);
            let all: u64 = served.iter().sum();
            for (task, weight) in weights.iter().enumerate() {
                let due = all * weight / total_weight;
                let lag = due.abs_diff(served[task]);
                prop_assert!(
                    lag <= MAX_BUDGET,
                    "task {} of weight {} got {} of {} due after {}", task, weight, served[task], due, all
                );
            }
        }
    }
}
