//! Idling, its timer, and injection.

use super::*;

/// Task 0 reads in sequence, one request at a time; task 1 has many scattered requests. Task 0 has been dispatched one.
fn sequential_and_scattered(rotational: bool) -> (Rig, u32) {
    let mut rig = Rig::new(rotational).with("low_latency", 0);
    let first = rig.send(read(0, 8, 8));
    for i in 0..20 {
        rig.send(read(1, 1_000_000 + i * 7_000, 8));
    }
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(first));
    (rig, first)
}

/// Nothing comes, and yet there is work.
fn assert_waits(rig: &mut Rig) {
    assert_eq!(rig.dispatch(), None);
    assert!(rig.has_work(), "has_work says so although dispatch gives nothing");
    let view = rig.view();
    assert_eq!(view.next, 0);
    assert!(view.why.contains("sync bfqq of task 0"), "{}", view.why);
}

#[test]
fn the_disk_is_kept_for_a_sequential_process_and_has_work_lies() {
    let (mut rig, first) = sequential_and_scattered(true);
    assert_waits(&mut rig);
    rig.advance(MS);
    rig.complete(first);
    assert_eq!(rig.runs, 0, "no run while it idles");
    assert_eq!(rig.timers.keys().map(|(at, _)| *at).collect::<Vec<_>>(), [9 * MS]);
    assert_waits(&mut rig);
    rig.advance(8 * MS - 1);
    assert_waits(&mut rig);
    let second = rig.send(read(0, 16, 8));
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(second));
    rig.complete(second);
    // The first timer is stale by now.
    rig.advance(7 * MS);
    assert_eq!(rig.timers.len(), 1);
    assert_waits(&mut rig);
}

#[test]
fn the_end_of_the_idle_timer_hands_over_and_runs_the_queues() {
    let (mut rig, first) = sequential_and_scattered(true);
    rig.complete(first);
    rig.advance(8 * MS - 1);
    assert_eq!(rig.runs, 0);
    rig.advance(1);
    assert_eq!(rig.runs, 1, "blk_mq_run_hw_queues");
    assert_eq!(rig.dispatch().map(|rq| rq.task), Some(1));
}

#[test]
fn slice_idle_0_does_not_idle() {
    let (mut rig, first) = sequential_and_scattered(true);
    rig.sched.set("slice_idle", 0);
    rig.complete(first);
    assert_eq!(rig.runs, 1, "nothing remains in the driver and something is queued");
    assert_eq!(rig.timers.len(), 0);
    assert_eq!(rig.dispatch().map(|rq| rq.task), Some(1));
}

#[test]
fn slice_idle_is_the_length_of_the_wait() {
    let (mut rig, first) = sequential_and_scattered(true);
    rig.sched.set("slice_idle_us", 1_500);
    rig.complete(first);
    assert_eq!(rig.timers.keys().map(|(at, _)| *at).collect::<Vec<_>>(), [MS * 3 / 2]);
}

#[test]
fn a_process_that_waits_in_vain_is_io_bound_no_more_and_not_waited_for() {
    let (mut rig, first) = sequential_and_scattered(true);
    rig.complete(first);
    rig.advance(8 * MS);
    // Task 1 is busy now; task 0 comes back and is served in its turn, and nobody waits for it.
    let second = rig.send(read(0, 16, 8));
    while rig.dispatch().is_some_and(|rq| rq.slot != second) {}
    let before = rig.timers.len();
    let slots: Vec<u32> = rig.in_driver.keys().copied().collect();
    for slot in slots {
        rig.complete(slot);
    }
    assert_eq!(rig.timers.len(), before);
}

/// Makes bfq sure that the device takes one request at a time.
fn without_queueing() -> Rig {
    let mut rig = Rig::new(true).with("low_latency", 0);
    for i in 0..60 {
        rig.send(read(9, i * 8, 8));
    }
    while rig.serve().is_some() {}
    assert_eq!(rig.fact("hw_tag"), "no");
    rig.advance(10 * MS);
    rig
}

#[test]
fn a_seeky_process_is_waited_for_2_ms_where_the_device_does_not_queue() {
    let mut rig = without_queueing();
    for i in 0..30 {
        rig.send(read(0, 1_000_000 + i * 50_000, 8));
    }
    rig.send(read(1, 90_000_000, 8));
    while rig.queued.len() > 1 {
        assert_eq!(rig.serve().map(|rq| rq.task), Some(0));
    }
    assert_eq!(rig.dispatch(), None);
    assert_eq!(rig.timers.last_key_value().map(|((at, _), ())| *at), Some(rig.now + 2 * MS));
    assert!(rig.fact("idling").contains("in 2.0 ms"), "{}", rig.fact("idling"));
    rig.advance(2 * MS);
    assert_eq!(rig.dispatch().map(|rq| rq.task), Some(1));
}

#[test]
fn a_device_that_takes_many_requests_queues_them() {
    let mut rig = Rig::new(true).with("low_latency", 0);
    for i in 0..120 {
        rig.send(read(9, i * 8, 8));
    }
    assert_eq!(rig.fact("hw_tag"), "not known yet");
    for rq in (0..5).map(|_| rig.dispatch().expect("queued")).collect::<Vec<_>>() {
        rig.complete(rq.slot);
    }
    for _ in 0..40 {
        rig.serve();
    }
    assert_eq!(rig.fact("hw_tag"), "yes");
}

#[test]
fn a_raised_process_is_waited_for_20_ms() {
    let mut rig = Rig::new(false).with("low_latency", 0);
    for i in 0..20 {
        rig.send(read(1, 1_000_000 + i * 7_000, 8));
    }
    rig.sched.set("low_latency", 1);
    let first = rig.send(read(0, 8, 8));
    assert_eq!(rig.serve().map(|rq| rq.slot), Some(first));
    assert_eq!(rig.timers.keys().map(|(at, _)| *at).collect::<Vec<_>>(), [20 * MS]);
    assert_waits(&mut rig);
}

/// Task 0 has the larger weight, on a disk where idling gains no throughput: it is waited for, for its share.
fn heavy_and_light(kernel: &str, light_sectors: u32) -> (Rig, u32) {
    let mut rig = Rig::of(kernel, false).with("low_latency", 0);
    let first = rig.send(with_prio(read(0, 8, 8), PrioClass::Be, 0));
    for i in 0..20 {
        rig.send(with_prio(read(1, 1_000_000 + i * 7_000, light_sectors), PrioClass::Be, 7));
    }
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(first));
    (rig, first)
}

/// Task 0 sends its next request, which completes, after all others in the driver, `took_ns` later.
fn next_of_heavy(rig: &mut Rig, took_ns: u64) {
    let slot = rig.send(with_prio(read(0, 8 + 8 * u64::from(rig.next_slot), 8), PrioClass::Be, 0));
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(slot));
    rig.advance(took_ns);
    let others: Vec<u32> = rig.in_driver.keys().copied().filter(|other| *other != slot).collect();
    for other in others {
        rig.complete(other);
    }
    rig.complete(slot);
}

/// The service time of task 0 is known: one request of others may be injected.
fn measured(kernel: &str, light_sectors: u32) -> Rig {
    let (mut rig, first) = heavy_and_light(kernel, light_sectors);
    assert_waits(&mut rig);
    assert!(rig.view().why.contains("weights differ"));
    // Until then nothing is injected. It is measured no sooner than 10 ms after the limit was reset.
    rig.advance(6 * MS);
    rig.complete(first);
    assert_waits(&mut rig);
    rig.advance(6 * MS);
    next_of_heavy(&mut rig, 2 * MS);
    rig
}

/// Requests of task 1 that are injected now, until the disk waits.
fn injected(rig: &mut Rig) -> usize {
    let got = rig.drain();
    assert!(got.iter().all(|rq| rq.task == 1));
    assert_waits(rig);
    got.len()
}

#[test]
fn different_weights_make_it_idle_and_injection_keeps_to_its_limit() {
    let mut rig = measured("5.10", 8);
    assert_eq!(injected(&mut rig), 1);
    // With it the next request takes as long as alone.
    next_of_heavy(&mut rig, 2 * MS);
    assert_eq!(injected(&mut rig), 2);
    // This time it takes twice as long.
    next_of_heavy(&mut rig, 4 * MS);
    assert_eq!(injected(&mut rig), 1);
}

#[test]
fn until_5_1_nothing_is_injected() {
    let mut rig = measured("4.19", 8);
    assert_eq!(injected(&mut rig), 0);
    next_of_heavy(&mut rig, 2 * MS);
    assert_eq!(injected(&mut rig), 0);
}

#[test]
fn the_injection_limit_grows_only_one_beyond_what_was_in_the_driver() {
    let mut rig = measured("5.10", 8);
    for _ in 0..6 {
        // One is injected each time although more might be: at most two are in the driver.
        assert_eq!(rig.dispatch().map(|rq| rq.task), Some(1));
        next_of_heavy(&mut rig, 2 * MS);
    }
    assert_eq!(injected(&mut rig), 3);
}

#[test]
fn one_large_request_at_most_is_injected_where_nothing_rotates() {
    let mut rig = measured("5.10", 64);
    assert_eq!(injected(&mut rig), 1);
    next_of_heavy(&mut rig, 2 * MS);
    assert_eq!(injected(&mut rig), 1, "the limit is two, but these are large");
}

#[test]
fn while_a_process_thinks_for_long_one_request_is_injected_without_measuring() {
    let mut rig = Rig::new(false).with("low_latency", 0);
    for _ in 0..3 {
        next_of_heavy(&mut rig, 2 * MS);
        rig.advance(15 * MS);
    }
    let slot = rig.send(with_prio(read(0, 8, 8), PrioClass::Be, 0));
    for i in 0..20 {
        rig.send(with_prio(read(1, 1_000_000 + i * 7_000, 8), PrioClass::Be, 7));
    }
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(slot));
    assert_eq!(injected(&mut rig), 0, "its own request is in the driver");
    rig.complete(slot);
    assert_eq!(injected(&mut rig), 1);
}

#[test]
fn while_a_raised_process_is_waited_for_only_raised_ones_are_injected() {
    let mut rig = Rig::new(false);
    let first = rig.send(read(0, 8, 8));
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(first));
    for i in 0..5 {
        rig.send(read(2, 1_000_000 + i * 8, 8));
    }
    // The queue of the writer is never raised; inserted last, it would be asked first.
    for i in 0..5 {
        rig.send(write(1, 2_000_000 + i * 8, 8));
    }
    rig.advance(6 * MS);
    rig.complete(first);
    assert_waits(&mut rig);
    rig.advance(6 * MS);
    let second = rig.send(read(0, 16, 8));
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(second));
    rig.advance(2 * MS);
    rig.complete(second);
    assert_eq!(rig.dispatch().map(|rq| rq.task), Some(2));
    assert_waits(&mut rig);
}

#[test]
fn the_light_process_is_not_waited_for() {
    let mut rig = Rig::new(false).with("low_latency", 0);
    let first = rig.send(with_prio(read(1, 8, 8), PrioClass::Be, 7));
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(first));
    rig.send(with_prio(read(0, 1_000_000, 8), PrioClass::Be, 7));
    rig.complete(first);
    assert_eq!(rig.timers.len(), 0, "equal weights");
    assert_eq!(rig.dispatch().map(|rq| rq.task), Some(0));
}

#[test]
fn the_asynchronous_requests_of_the_waited_for_process_go_on() {
    let (mut rig, first) = sequential_and_scattered(true);
    rig.send(write(1, 2_000_000, 8));
    assert_waits(&mut rig);
    rig.complete(first);
    let own = rig.send(write(0, 500, 8));
    // The writes share a queue; that of task 0 must be next there.
    assert_eq!(rig.dispatch().map(|rq| rq.slot), Some(own));
    assert_waits(&mut rig);
}

#[test]
fn strict_guarantees_keep_one_request_in_the_driver() {
    let mut rig = Rig::new(false).with("slice_idle", 0).with("strict_guarantees", 1);
    let cx = rig.cx();
    let idle = rig.sched.tunables(cx).into_iter().find(|t| t.name == "slice_idle").map(|t| t.value);
    assert_eq!(idle, Some(8), "guarantees need idling");
    for i in 0..3 {
        rig.send(read(0, i * 8, 8));
    }
    let first = rig.dispatch().expect("queued");
    assert_eq!(rig.dispatch(), None);
    rig.complete(first.slot);
    assert!(rig.dispatch().is_some());
}
