//! How many sched tags mq-deadline leaves to writes.

use super::bench::Bench;
use crate::event::Op;
use crate::kernel::{DeadlineDepth, Knobs, row};
use crate::sched::mq_deadline::Policy;

fn bench(knob: DeadlineDepth, nr_requests: u32) -> Bench {
    let knobs =
        Knobs { deadline_async_depth: knob, ..row("6.12").expect("a row of the table").knobs.clone() };
    let new = |cx: crate::sched::Cx<'_>| -> Box<dyn crate::sched::Scheduler> { Box::new(Policy::new(cx)) };
    let mut bench = Bench::with_knobs(knobs, new);
    bench.disk.nr_requests = nr_requests;
    bench.sched = new(bench.cx());
    bench
}

/// Tags of a word of 2^`word_bits` that a synchronous write may use.
fn word_depth(bench: &Bench, word_bits: u32) -> Option<u32> {
    bench.sched.shallow_depth(bench.cx(), Op::Write, true, word_bits)
}

/// Recorded on 6.1 with a null_blk disk of 64 tags.
#[test]
fn async_depth_of_6_1_is_the_nr_requests_before_the_last_change() {
    let mut bench = bench(DeadlineDepth::PreviousNrRequests, 128);
    let mut seen = vec![bench.tunable("async_depth")];
    for nr_requests in [32, 256, 200] {
        bench.set_nr_requests(nr_requests);
        seen.push(bench.tunable("async_depth"));
    }
    assert_eq!(seen, [128, 128, 32, 256].map(Some));
}

/// Recorded on 6.18 with a loop disk.
#[test]
fn async_depth_of_6_18_follows_nr_requests() {
    let mut bench = bench(DeadlineDepth::NrRequests, 256);
    let mut seen = vec![bench.tunable("async_depth")];
    for nr_requests in [32, 256, 200] {
        bench.set_nr_requests(nr_requests);
        seen.push(bench.tunable("async_depth"));
    }
    assert_eq!(seen, [256, 32, 256, 200].map(Some));
}

#[test]
fn a_depth_is_scaled_to_a_word_and_rounded_up() {
    let mut bench = bench(DeadlineDepth::PreviousNrRequests, 2);
    bench.set_nr_requests(128);
    // async_depth 2 of 128 in words of 32: half a request, so one.
    assert_eq!(word_depth(&bench, 5), Some(1));
    bench.set("async_depth", 9);
    assert_eq!(word_depth(&bench, 5), Some(3));
    bench.set("async_depth", 128);
    assert_eq!(word_depth(&bench, 5), Some(32));
    bench.set("async_depth", 0);
    assert_eq!(bench.tunable("async_depth"), Some(1), "the smallest value");
}

#[test]
fn reads_are_never_limited_and_other_requests_are() {
    for knob in [
        DeadlineDepth::ThreeQuarters,
        DeadlineDepth::ThreeQuartersOfWord,
        DeadlineDepth::PreviousNrRequests,
        DeadlineDepth::NrRequests,
    ] {
        let mut bench = bench(knob, 64);
        bench.set("async_depth", 4);
        assert_eq!(bench.sched.shallow_depth(bench.cx(), Op::Read, true, 4), None, "{knob}");
        for (op, sync) in [(Op::Write, true), (Op::Write, false), (Op::Discard, true), (Op::Read, false)] {
            let depth = bench.sched.shallow_depth(bench.cx(), op, sync, 4);
            let expected = if knob == DeadlineDepth::ThreeQuarters { 4 } else { 1 };
            assert_eq!(depth, Some(expected), "{knob} {op:?} {sync}");
        }
    }
}

#[test]
fn three_quarters_are_taken_as_they_are_or_of_a_word() {
    let whole = bench(DeadlineDepth::ThreeQuarters, 64);
    assert_eq!((whole.tunable("async_depth"), word_depth(&whole, 4)), (Some(48), Some(48)));
    let word = bench(DeadlineDepth::ThreeQuartersOfWord, 64);
    assert_eq!((word.tunable("async_depth"), word_depth(&word, 4)), (Some(48), Some(12)));
}

#[test]
fn kernels_without_async_depth_neither_show_nor_apply_it() {
    let bench = bench(DeadlineDepth::None, 64);
    assert_eq!((bench.tunable("async_depth"), word_depth(&bench, 4)), (None, None));
}

/// Names and defaults as in `queue/iosched` of the recorded kernels and of those before 5.14.
#[test]
fn tunables_are_those_of_the_kernel() {
    let named = |row_name: &str| -> Vec<(&'static str, u64)> {
        let bench = Bench::new(row_name, |cx| Box::new(Policy::new(cx)));
        bench.sched.tunables(bench.cx()).into_iter().map(|t| (t.name, t.value)).collect()
    };
    let old = [
        ("read_expire", 500),
        ("write_expire", 5_000),
        ("writes_starved", 2),
        ("front_merges", 1),
        ("fifo_batch", 16),
    ];
    assert_eq!(named("5.10"), old);
    let new = [&old[..], &[("prio_aging_expire", 10_000), ("async_depth", 256)]].concat();
    assert_eq!(named("6.1"), new);
    assert_eq!(named("6.18"), new);
}
