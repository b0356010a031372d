//! The order in which recorded kernels dispatched what was inserted, event by event.

use super::bench::{Bench, Bio, MS};
use crate::event::Op;
use crate::kernel::{DeadlineNext, Knobs, row};
use crate::sched::mq_deadline::Policy;

/// I and D of a recording: (time ns, letter, operation, sector).
fn events(trace: &str) -> Vec<(u64, char, Op, u64)> {
    let event = |line: &str| {
        let mut words = line.split_whitespace().skip(3);
        let (seconds, nanos) = words.next()?.split_once('.')?;
        let time = seconds.parse::<u64>().ok()? * 1_000 * MS + nanos.parse::<u64>().ok()?;
        let letter = words.nth(1)?.chars().next()?;
        let op = if words.next()?.starts_with('R') { Op::Read } else { Op::Write };
        let sector = words.next()?.parse().ok()?;
        matches!(letter, 'I' | 'D').then_some((time, letter, op, sector))
    };
    trace.lines().filter_map(event).collect()
}

/// Replays insertions at their times and asks for a request at each D. On a device with one tag the run that issues a
/// request has also taken the one after it, which then waits for the tag in `hctx->dispatch`.
/// Returns (dispatched, recorded) sectors.
fn replay(mut bench: Bench, trace: &str, one_tag: bool) -> (Vec<u64>, Vec<u64>) {
    let (mut held, mut busy) = (None, false);
    let (mut dispatched, mut recorded) = (Vec::new(), Vec::new());
    for (time, letter, op, sector) in events(trace) {
        bench.now = time;
        if letter == 'D' {
            recorded.push(sector);
            let slot = held.take().or_else(|| bench.dispatch(0)).expect("something was inserted");
            dispatched.push(bench.in_driver[&slot].0.sector);
            bench.complete(slot);
            busy = true;
        } else {
            bench.insert_bio(Bio::new(op, sector));
        }
        if one_tag && busy && held.is_none() {
            held = bench.dispatch(0);
        }
    }
    (dispatched, recorded)
}

fn bench(row_name: &str, next: DeadlineNext) -> Bench {
    let knobs = Knobs { deadline_next: next, ..row(row_name).expect("a row of the table").knobs.clone() };
    Bench::with_knobs(knobs, |cx| Box::new(Policy::new(cx)))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/recordings/", $name, "/trace.blkparse.txt"))
    };
}

#[test]
fn scattered_reads_and_writes_in_the_order_of_6_1() {
    let trace = recording!("k61-m07-deadline-null1q-depth1-async128");
    let row_next = row("6.1").expect("a row of the table").knobs.deadline_next;
    let (dispatched, recorded) = replay(bench("6.1", row_next), trace, true);
    assert_eq!(recorded.len(), 48);
    assert_eq!(dispatched, recorded);
    for other in [DeadlineNext::BatchPointer, DeadlineNext::Position] {
        assert_ne!(replay(bench("6.1", other), trace, true).0, recorded, "{other}");
    }
}

#[test]
fn reads_that_keep_coming_pass_over_writes_as_in_6_1() {
    let trace = recording!("k61-s03-starve-null1q-depth1-mq-deadline");
    let (dispatched, recorded) = replay(bench("6.1", DeadlineNext::Pointer), trace, true);
    assert_eq!(recorded.len(), 168);
    assert_eq!(dispatched, recorded);
}

#[test]
fn scattered_reads_and_writes_in_the_order_of_6_1_with_shorter_deadlines() {
    let trace = recording!("k61-m07-deadline-null1q-depth1-async128-readexpire100");
    let mut bench = bench("6.1", DeadlineNext::Pointer);
    bench.set("read_expire", 100);
    let (dispatched, recorded) = replay(bench, trace, true);
    assert_eq!(recorded.len(), 48);
    assert_eq!(dispatched, recorded);
}

/// The disk had been used before: its last read and write are put in front. 6.18 goes on from there.
#[test]
fn scattered_reads_and_writes_in_the_order_of_6_18() {
    let trace = recording!("k618-m07-manyrw-loop-mq-deadline");
    let with_past = |next| {
        let mut bench = bench("6.18", next);
        for (op, sector) in [(Op::Read, 30_000), (Op::Write, 28_000)] {
            bench.insert_bio(Bio::new(op, sector));
            let slot = bench.dispatch(0).expect("the only one");
            bench.complete(slot);
        }
        bench
    };
    let row_next = row("6.18").expect("a row of the table").knobs.deadline_next;
    let (dispatched, recorded) = replay(with_past(row_next), trace, false);
    assert_eq!(recorded.len(), 48);
    assert_eq!(dispatched, recorded);
    for other in [DeadlineNext::BatchPointer, DeadlineNext::Pointer] {
        assert_ne!(replay(with_past(other), trace, false).0, recorded, "{other}");
    }
}
