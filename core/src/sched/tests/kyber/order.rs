//! Order, tokens and merging.

use super::super::super::*;
use super::bench::{Bench, Kind, MS, request};
use crate::kernel::KyberStats::{Mean, Percentile};

/// Runs of equal letters in what hctx 0 dispatches: (letter, length).
fn runs(bench: &mut Bench, count: usize) -> Vec<(char, u32)> {
    let mut runs: Vec<(char, u32)> = Vec::new();
    for _ in 0..count {
        let rq = bench.dispatch(0).expect("requests and tokens are there");
        let letter = match rq.op {
            Op::Read => 'R',
            Op::Write if rq.is_sync() => 'W',
            Op::Write => 'A',
            Op::Discard => 'D',
            Op::Flush => 'F',
        };
        match runs.last_mut() {
            Some((last, length)) if *last == letter => *length += 1,
            _ => runs.push((letter, 1)),
        }
    }
    runs
}

fn loaded(stats: crate::kernel::KyberStats, kinds: &[Kind]) -> Bench {
    let mut bench = Bench::new(stats);
    for &kind in kinds {
        for _ in 0..40 {
            bench.insert(kind, 0);
        }
    }
    bench
}

#[test]
fn batches_go_round_the_domains() {
    let mut new = loaded(Percentile, &[Kind::F, Kind::D, Kind::W, Kind::R]);
    let round = [('R', 16), ('W', 8), ('D', 1), ('F', 1)];
    assert_eq!(runs(&mut new, 52), [round, round].concat());
    let mut old = loaded(Mean, &[Kind::A, Kind::W, Kind::R]);
    let round = [('R', 16), ('W', 8), ('A', 8)];
    assert_eq!(runs(&mut old, 64), [round, round].concat());
}

#[test]
fn a_read_waits_for_one_round_of_the_others_at_most() {
    let mut bench = loaded(Percentile, &[Kind::W, Kind::D, Kind::F]);
    assert_eq!(runs(&mut bench, 4), [('W', 4)]);
    bench.insert(Kind::R, 0);
    assert_eq!(runs(&mut bench, 7), [('W', 4), ('D', 1), ('F', 1), ('R', 1)]);
}

#[test]
fn a_lone_domain_goes_on_beyond_its_batch() {
    assert_eq!(runs(&mut loaded(Percentile, &[Kind::W]), 40), [('W', 40)]);
}

#[test]
fn flushing_takes_the_kcqs_by_cpu_and_leaves_other_hctxs_alone() {
    let mut bench = Bench::new(Percentile);
    let slots: Vec<u32> = [9, 3, 1, 3, 0].map(|cpu| bench.insert(Kind::R, cpu).slot).into();
    let order: Vec<u32> = (0..4).map(|_| bench.dispatch(0).expect("four of hctx 0").slot).collect();
    assert_eq!(order, [slots[4], slots[1], slots[3], slots[0]]);
    assert!(!bench.sched.has_work(bench.cx(), 0));
    assert!(bench.sched.has_work(bench.cx(), 1));
    assert_eq!(bench.dispatch(0), None);
}

#[test]
fn without_a_token_requests_stay_mergeable_and_freed_tokens_wake_by_batch() {
    let mut bench = Bench::new(Percentile);
    for _ in 0..16 {
        bench.insert(Kind::F, 0);
        bench.dispatch(0).expect("16 tokens for OTHER");
    }
    let waiting = bench.insert(Kind::F, 0);
    assert_eq!(bench.dispatch(0), None);
    assert_eq!(bench.tokens("OTHER"), (16, 16));
    assert_eq!(bench.sched.view(bench.cx()).why, "hctx 0 waits: every token of OTHER is taken");
    assert_eq!(bench.sched.candidates(&request(Kind::F, 99, 0)), [waiting.slot]);
    // Depth 16 wakes by two.
    bench.complete(0, MS, MS);
    assert!(bench.out.run_hctx.is_empty());
    bench.complete(0, MS, MS);
    assert_eq!(bench.out.run_hctx, [0]);
    assert_eq!(bench.out.lines, [4], "the line of OTHER");
    assert_eq!(bench.dispatch(0), Some(waiting));
    assert!(bench.sched.candidates(&request(Kind::F, 99, 0)).is_empty());
}

#[test]
fn an_hctx_that_got_a_token_after_all_is_not_woken() {
    let mut bench = Bench::new(Percentile);
    for _ in 0..18 {
        bench.insert(Kind::F, 0);
    }
    while bench.dispatch(0).is_some() {}
    bench.complete(0, MS, MS);
    bench.dispatch(0).expect("the freed token");
    bench.complete(0, MS, MS);
    assert!(bench.out.run_hctx.is_empty());
    assert_eq!(bench.dispatch(0).map(|rq| rq.op), Some(Op::Flush));
}

#[test]
fn freed_tokens_go_on_counting_for_the_wait_queue_they_began_with() {
    let mut bench = Bench::new(Percentile);
    for cpu in [0; 19].into_iter().chain([1; 2]) {
        bench.insert(Kind::F, cpu);
    }
    let drain = |bench: &mut Bench, hctx| while bench.dispatch(hctx).is_some() {};
    // hctx 0 waits in queue 0, gets a token unwoken, and waits in queue 1.
    drain(&mut bench, 0);
    bench.complete(0, MS, MS);
    drain(&mut bench, 0);
    // A token counts for queue 1; hctx 1 takes it and comes to wait in queue 0.
    bench.complete(0, MS, MS);
    drain(&mut bench, 1);
    bench.complete(0, MS, MS);
    assert_eq!(bench.out.run_hctx, [0]);
}

#[test]
fn a_requeued_request_gives_its_token_back_and_goes_to_the_head_of_its_kcq() {
    let mut bench = Bench::new(Percentile);
    let first = bench.insert(Kind::R, 0);
    let flushed = bench.insert(Kind::R, 0);
    bench.dispatch(0).expect("a token is free");
    let later = bench.insert(Kind::R, 0);
    bench.requeue(0);
    assert_eq!(bench.tokens("READ"), (0, 256));
    assert_eq!([(); 3].map(|()| bench.dispatch(0)), [Some(flushed), Some(first), Some(later)]);
}

#[test]
fn a_bio_is_compared_with_the_eight_newest_of_its_ctx_and_domain() {
    let mut bench = Bench::new(Percentile);
    let reads: Vec<u32> = (0..10).map(|_| bench.insert(Kind::R, 0).slot).collect();
    bench.insert(Kind::W, 0);
    bench.insert(Kind::R, 3);
    let newest: Vec<u32> = reads.into_iter().rev().take(8).collect();
    assert_eq!(bench.sched.candidates(&request(Kind::R, 99, 0)), newest);
    assert!(bench.sched.candidates(&request(Kind::R, 99, 6)).is_empty());
    // Asynchronous writes have a domain of their own in the old generation only.
    assert_eq!(bench.sched.candidates(&request(Kind::A, 99, 0)).len(), 1);
    let mut old = Bench::new(Mean);
    old.insert(Kind::W, 0);
    assert!(old.sched.candidates(&request(Kind::A, 99, 0)).is_empty());
}

#[test]
fn a_merged_request_is_shown_where_it_now_is() {
    let mut bench = Bench::new(Percentile);
    let rq = bench.insert(Kind::R, 0);
    let mut sched = bench.sched.clone();
    sched.grown(bench.cx(), rq.slot, 96, 24);
    let item = &sched.view(bench.cx()).groups[0].items[0];
    assert_eq!((item.rq, item.sector, item.sectors), (rq.id, 96, 24));
}

#[test]
fn asynchronous_requests_leave_a_quarter_of_each_word() {
    let bench = Bench::new(Percentile);
    let depth = |op, sync, word_bits| bench.sched.shallow_depth(bench.cx(), op, sync, word_bits);
    assert_eq!(depth(Op::Write, false, 6), Some(48));
    assert_eq!(depth(Op::Write, false, 3), Some(6));
    assert_eq!(depth(Op::Write, true, 6), None);
    assert_eq!(depth(Op::Read, true, 6), None);
}

#[test]
fn changing_the_generation_keeps_the_queue_and_forgets_the_tokens() {
    let mut bench = Bench::new(Mean);
    let mut slots = Vec::new();
    for _ in 0..66 {
        slots.push(bench.insert(Kind::A, 0).slot);
    }
    while bench.dispatch(0).is_some() {}
    assert_eq!(bench.tokens("OTHER"), (64, 64));
    bench.complete(0, 30 * MS, 30 * MS);
    bench.knobs.kyber_stats = Percentile;
    assert_eq!(bench.tokens("WRITE"), (0, 128), "the view follows the knob at once");
    bench.complete(0, MS, MS);
    assert_eq!(bench.out.run_hctx, [0], "it waited for a token of the old pool");
    assert!(bench.out.lines.is_empty(), "which is no token of the new one");
    assert_eq!(bench.dispatch(0).map(|rq| rq.slot), Some(slots[64]));
    assert_eq!(bench.dispatch(0).map(|rq| rq.slot), Some(slots[65]));
    assert_eq!(bench.tokens("WRITE"), (2, 128));
}

#[test]
fn a_timer_of_the_generation_before_is_stale() {
    let mut bench = Bench::new(Mean);
    bench.serve(1, Kind::R, 3 * MS, 3 * MS);
    let (_, stale) = bench.timers.pop().expect("the late read armed it");
    bench.knobs.kyber_stats = Percentile;
    bench.serve(600, Kind::R, 3 * MS, MS / 4);
    assert_eq!(bench.timers.len(), 1);
    bench.timer(stale);
    assert_eq!(bench.depth("READ"), 256);
    bench.advance(100 * MS);
    assert_eq!(bench.depth("READ"), 64, "the timer of this generation counts");
}

#[test]
fn the_reason_for_the_next_request_is_told() {
    let mut bench = loaded(Percentile, &[Kind::R, Kind::W]);
    let why = |bench: &Bench| bench.sched.view(bench.cx()).why;
    assert_eq!(why(&bench), "hctx 0: request 1 of a batch of 16 READ; flushed from the kcqs");
    runs(&mut bench, 15);
    assert_eq!(why(&bench), "hctx 0: request 16 of a batch of 16 READ");
    runs(&mut bench, 1);
    assert_eq!(
        why(&bench),
        "hctx 0: READ has had its batch; WRITE is the next in the round with a request and a token; flushed from \
         the kcqs"
    );
    assert_eq!(why(&Bench::new(Mean)), "no request is queued");
}
