//! The order of the requests of a bfqq, budgets, classes, depths and merging.

use super::*;

fn sectors(rqs: &[SchedRq]) -> Vec<u64> {
    rqs.iter().map(|rq| rq.sector).collect()
}

/// Recorded on 6.1 and 6.18: one process, batches of scattered reads.
#[test]
fn a_batch_of_one_process_is_dispatched_in_ascending_order() {
    for rotational in [false, true] {
        let mut rig = Rig::new(rotational);
        let batches: [(&[u64], &[u64]); 4] = [
            (&[200, 600], &[200, 600]),
            (&[2200, 2600, 2400], &[2200, 2400, 2600]),
            (
                &[4200, 5800, 4600, 5400, 5000, 4400, 5600, 4800],
                &[4200, 4400, 4600, 4800, 5000, 5400, 5600, 5800],
            ),
            (
                &[6200, 7800, 6600, 7400, 7000, 6400, 7600, 6800, 8400, 8000, 8200, 8600],
                &[6200, 6400, 6600, 6800, 7000, 7400, 7600, 7800, 8000, 8200, 8400, 8600],
            ),
        ];
        for (sent, expected) in batches {
            for sector in sent {
                rig.send(read(0, *sector, 8));
            }
            let got = rig.drain();
            assert_eq!(sectors(&got), expected);
            rig.advance(10 * MS);
            for rq in got {
                rig.complete(rq.slot);
            }
        }
    }
}

#[test]
fn the_head_goes_back_for_what_is_near_but_not_far() {
    let mut rig = Rig::plain(true);
    rig.send(read(0, 100_000, 8));
    assert_eq!(sectors(&rig.drain()), [100_000]);
    // 1,000 back cost 2,000; 2,500 ahead cost more. 40,000 back is beyond 16 MiB, so it is reached by wrapping.
    for sector in [60_000, 102_508, 99_000] {
        rig.send(read(0, sector, 8));
    }
    assert_eq!(sectors(&rig.drain()), [99_000, 102_508, 60_000]);
    let mut rig = Rig::plain(true).with("back_seek_penalty", 3);
    rig.send(read(0, 100_000, 8));
    rig.drain();
    for sector in [102_508, 99_000] {
        rig.send(read(0, sector, 8));
    }
    assert_eq!(sectors(&rig.drain()), [102_508, 99_000], "1,000 back now cost 3,000");
}

#[test]
fn metadata_goes_before_nearer_data() {
    let mut rig = Rig::plain(true);
    rig.send(read(0, 100, 8));
    rig.send(SchedRq { flags: Flags::META, ..read(0, 9000, 8) });
    assert_eq!(sectors(&rig.drain()), [9000, 100]);
}

#[test]
fn an_expired_request_goes_first_once_a_slot() {
    for (waited_ms, order) in [
        // From the oldest to what is ahead of it, and around to the lowest sector.
        (125, [10, 500_000, 600_000, 20, 30, 40]),
        (124, [10, 20, 30, 40, 500_000, 600_000]),
    ] {
        let mut rig = Rig::plain(true);
        for sector in [500_000, 600_000, 10, 20, 30, 40] {
            rig.send(read(0, sector, 8));
        }
        rig.advance(waited_ms * MS);
        assert_eq!(sectors(&rig.drain()), order, "after {waited_ms} ms");
    }
}

#[test]
fn budgets_end_slots_and_grow_to_the_maximum() {
    let mut rig = Rig::plain(true).with_max_budget(1024);
    for i in 0..100 {
        rig.send(read(0, i * 64, 64));
        rig.send(read(1, 1_000_000 + i * 64, 64));
    }
    // A new bfqq has two thirds of the maximum, 682 sectors: ten requests. Exhausted, it gets all: sixteen.
    let runs = runs_of(&rig.drain());
    assert_eq!(runs[..6], [(0, 10), (1, 10), (0, 16), (1, 16), (0, 16), (1, 16)]);
    assert_eq!(runs.iter().map(|(_, n)| n).sum::<usize>(), 200);
}

#[test]
fn a_slot_ends_after_125_ms_although_budget_is_left() {
    let mut rig = Rig::plain(true);
    for i in 0..40 {
        rig.send(read(0, i * 8, 8));
        rig.send(read(1, 1_000_000 + i * 8, 8));
    }
    let mut got = Vec::new();
    for _ in 0..40 {
        got.extend(rig.serve());
        rig.advance(10 * MS);
    }
    assert_eq!(runs_of(&got), [(0, 13), (1, 13), (0, 13), (1, 1)]);
}

/// Both have the same weight. The slow one gets 8 sectors in 10 ms and is charged for its time, a whole budget for
/// 125 ms; else it would have the disk nearly all the time until both had the same number of sectors.
#[test]
fn a_slow_process_pays_with_time() {
    let mut rig = Rig::plain(true);
    let (mut slow_ns, mut fast_ns) = (0, 0);
    let (mut slow_at, mut fast_at) = (0, 50_000_000);
    for _ in 0..4 {
        rig.send(read(0, slow_at, 8));
        rig.send(read(1, fast_at, 512));
        (slow_at, fast_at) = (slow_at + 100_000, fast_at + 512);
    }
    while rig.now < 10_000 * MS {
        let rq = rig.dispatch().expect("both are backlogged");
        if rq.task == 0 {
            rig.send(read(0, slow_at, 8));
            slow_at += 100_000;
        } else {
            rig.send(read(1, fast_at, 512));
            fast_at += 512;
        }
        let took = if rq.task == 0 { 10 * MS } else { 3 * MS };
        rig.advance(took);
        rig.complete(rq.slot);
        *(if rq.task == 0 { &mut slow_ns } else { &mut fast_ns }) += took;
    }
    let share = slow_ns * 100 / (slow_ns + fast_ns);
    assert!((40..=65).contains(&share), "the slow process had the disk for {share} % of the time");
}

#[test]
fn asynchronous_requests_are_charged_three_times_and_share_a_queue() {
    let mut rig = Rig::plain(true).with_max_budget(1024);
    for i in 0..60 {
        rig.send(read(0, i * 64, 64));
        // The writers take turns; their requests are served in the order of sectors.
        rig.send(write(1 + (i % 2) as u16, 1_000_000 + i * 64, 64));
    }
    let got = rig.drain();
    let kinds: Vec<(bool, usize)> =
        got.chunk_by(|a, b| a.op == b.op).map(|run| (run[0].op == Op::Read, run.len())).collect();
    // 682 / 192 is 3 and 1024 / 192 is 5. After its first slot of 576 sectors the writers' queue is still ahead of that of
    // the reader, which has had 640, so it gets a second.
    assert_eq!(kinds[..6], [(true, 10), (false, 3 + 5), (true, 16), (false, 5), (true, 16), (false, 5)]);
    let writes: Vec<SchedRq> = got.into_iter().filter(|rq| rq.op == Op::Write).collect();
    assert!(writes.is_sorted_by_key(|rq| rq.sector), "one queue for both writers");
}

#[test]
fn classes_are_strict_but_the_idle_class_is_served_after_200_ms() {
    let mut rig = Rig::plain(true);
    for i in 0..40 {
        for (task, class) in [(0, PrioClass::Idle), (1, PrioClass::Be), (2, PrioClass::Rt)] {
            rig.send(with_prio(read(task, 1_000_000 * u64::from(task) + i * 8, 8), class, 4));
        }
    }
    let order = runs_of(&rig.drain());
    assert_eq!(order, [(2, 40), (1, 40), (0, 40)]);

    let mut rig = Rig::plain(true).with("timeout_sync", 50);
    for i in 0..100 {
        rig.send(with_prio(read(0, i * 8, 8), PrioClass::Idle, 4));
        rig.send(read(1, 1_000_000 + i * 8, 8));
    }
    let mut got = Vec::new();
    while rig.now < 1_000 * MS {
        got.extend(rig.serve());
        rig.advance(10 * MS);
    }
    let idle = got.iter().filter(|rq| rq.task == 0).count();
    assert!((3..=5).contains(&idle), "one request each 200 ms and not more, but {idle}");
}

#[test]
fn writes_leave_sched_tags_for_reads_and_more_so_while_a_weight_is_raised() {
    let mut rig = Rig::new(true);
    let depth = |rig: &Rig, op, sync| rig.sched.shallow_depth(rig.cx(), op, sync, 6);
    assert_eq!(depth(&rig, Op::Read, true), None);
    assert_eq!(depth(&rig, Op::Write, true), Some(48));
    assert_eq!(depth(&rig, Op::Write, false), Some(32));
    assert_eq!(rig.sched.shallow_depth(rig.cx(), Op::Write, false, 0), Some(1));
    rig.send(read(0, 0, 8));
    assert_eq!(depth(&rig, Op::Read, true), None);
    assert_eq!(depth(&rig, Op::Write, true), Some(24));
    assert_eq!(depth(&rig, Op::Write, false), Some(12));
}

#[test]
fn a_process_that_has_its_share_of_the_requests_gets_one_tag_a_word_from_5_17_on() {
    let mut rig = Rig::plain(false);
    rig.knobs = kernel_row("6.1").expect("a row of the table").knobs.clone();
    let over = |rig: &Rig, task| rig.sched.over_share(rig.cx(), &read(task, 0, 8), 6);
    assert!(rig.sched.limits_shares(rig.cx()) && !over(&rig, 0), "unknown yet");
    // Alone it may have all 256, two of equal weight half of them each, whether queued or in the driver.
    for i in 0..128 {
        rig.send(read(0, i * 1_000, 8));
    }
    assert!(!over(&rig, 0));
    rig.send(read(1, 5_000_000, 8));
    assert!(over(&rig, 0) && !over(&rig, 1));
    let first = rig.dispatch().expect("many are queued");
    assert!(over(&rig, 0));
    rig.complete(first.slot);
    assert!(!over(&rig, 0), "127 are left");
    // Synchronous writes may have three quarters: 96 of 192.
    let write = SchedRq { flags: Flags::SYNC, ..write(0, 9_000_000, 8) };
    assert!(rig.sched.over_share(rig.cx(), &write, 6));
    rig.send(with_prio(read(2, 7_000_000, 8), PrioClass::Rt, 4));
    assert!(over(&rig, 0) && !over(&rig, 2), "an RT process counts eight times");
    rig.knobs = kernel_row("5.14").expect("a row of the table").knobs.clone();
    assert!(!rig.sched.limits_shares(rig.cx()));
}

#[test]
fn a_bio_merges_only_with_its_own_bfqq() {
    let mut rig = Rig::plain(true);
    let own = rig.send(read(0, 1000, 8));
    let later = rig.send(read(0, 5000, 8));
    let other = rig.send(read(1, 2000, 8));
    assert!(rig.sched.may_merge(rig.cx(), own, &read(0, 1008, 8)));
    assert!(!rig.sched.may_merge(rig.cx(), own, &read(1, 1008, 8)));
    assert!(!rig.sched.may_merge(rig.cx(), own, &write(0, 1008, 8)));
    assert_eq!(rig.sched.front(rig.cx(), &read(0, 992, 8)), Some(own));
    assert_eq!(
        rig.sched.front(rig.cx(), &read(0, 1992, 8)),
        None,
        "the request at 2000 is of another process"
    );
    assert_eq!(rig.sched.front(rig.cx(), &read(1, 1992, 8)), Some(other));
    assert_eq!((rig.sched.former(later), rig.sched.latter(own)), (Some(own), Some(later)));
    assert_eq!((rig.sched.former(own), rig.sched.latter(later), rig.sched.latter(other)), (None, None, None));
}

#[test]
fn an_absorbed_request_leaves_its_age() {
    let mut rig = Rig::plain(true);
    let old = rig.send(read(0, 500_008, 8));
    rig.send(read(0, 10, 8));
    rig.advance(100 * MS);
    rig.send(read(0, 20, 8));
    let young = rig.send(read(0, 500_000, 8));
    rig.call(|sched, cx, _| {
        sched.grown(cx, young, 500_000, 16);
        sched.absorbed(cx, young, old);
    });
    rig.queued.remove(&old);
    rig.advance(25 * MS);
    assert_eq!(sectors(&rig.drain()), [10, 500_000, 20], "the merged request has waited for 125 ms");
}
