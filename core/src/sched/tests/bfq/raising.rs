//! Raised weights.

use super::*;

fn raised(rig: &Rig) -> u32 {
    rig.fact("wr_busy_queues").parse().expect("a number")
}

/// One request each 100 ms, always two of them queued.
fn goes_on(rig: &mut Rig, task: u16, until: u64) {
    let mut sector = 1_000_000 * u64::from(task);
    rig.send(read(task, sector, 8));
    while rig.now < until {
        sector += 8;
        rig.send(read(task, sector, 8));
        rig.serve().expect("it is backlogged");
        rig.advance(100 * MS);
    }
}

#[test]
fn a_new_process_is_raised_for_a_while() {
    for (rotational, ends_ms) in [(true, 10_500), (false, 3_750)] {
        let mut rig = Rig::new(rotational);
        goes_on(&mut rig, 0, ends_ms * MS);
        assert_eq!(raised(&rig), 1);
        goes_on(&mut rig, 0, (ends_ms + 300) * MS);
        assert_eq!(raised(&rig), 0, "over after {ends_ms} ms");
        let mut rig = Rig::new(rotational).with("low_latency", 0);
        rig.send(read(0, 0, 8));
        assert_eq!(raised(&rig), 0);
    }
}

#[test]
fn much_service_ends_the_raise_early() {
    let mut rig = Rig::new(true);
    for i in 0..60 {
        rig.send(read(0, i * 2048, 2048));
    }
    let mut before = 0;
    while raised(&rig) == 1 {
        rig.serve().expect("something is queued");
        before += 1;
    }
    assert_eq!(before, 59, "the first request beyond 120,000 sectors");
}

#[test]
fn a_large_burst_is_not_raised() {
    let mut rig = Rig::new(true);
    for task in 0..8 {
        rig.send(read(task, u64::from(task) * 1_000_000, 8));
        rig.send(read(task, u64::from(task) * 1_000_000 + 8, 8));
        rig.advance(10 * MS);
    }
    // The eighth makes the burst large; those raised before lose it at their next dispatch.
    rig.drain();
    rig.send(read(0, 8_000_000, 8));
    rig.send(read(8, 9_000_000, 8));
    assert_eq!(raised(&rig), 0);

    let mut rig = Rig::new(true);
    for task in 0..8 {
        rig.send(read(task, u64::from(task) * 1_000_000, 8));
        rig.advance(181 * MS);
    }
    assert_eq!(raised(&rig), 8, "far enough apart to be no burst");
}

#[test]
fn a_raised_process_preempts_and_gets_thirty_times_the_share() {
    let mut rig = Rig::new(true).with("low_latency", 0).with_max_budget(640);
    for i in 0..100 {
        rig.send(read(0, i * 64, 64));
    }
    rig.serve();
    rig.sched.set("low_latency", 1);
    for i in 0..950 {
        rig.send(read(1, 1_000_000 + i * 64, 64));
    }
    let got: Vec<u16> = (0..930).map(|_| rig.serve().expect("both are backlogged").task).collect();
    assert_eq!(got[0], 1, "it takes the device at once");
    // 1/31 of 930 is 30; the other is served in turns of up to ten.
    let others = got.iter().filter(|task| **task == 0).count();
    assert!((20..=40).contains(&others), "{others} of 930");
}

#[test]
fn the_slot_of_a_raised_process_is_thirty_times_as_long_and_its_budget_small() {
    let mut rig = Rig::new(true);
    for i in 0..150 {
        rig.send(read(0, i * 8, 8));
        rig.send(read(1, 1_000_000 + i * 8, 8));
    }
    let mut got = Vec::new();
    for _ in 0..200 {
        got.extend(rig.serve());
        rig.advance(10 * MS);
    }
    // Two minimum budgets are 1,024 sectors, in 1.28 s.
    assert_eq!(runs_of(&got), [(0, 128), (1, 72)]);
}

#[test]
fn low_latency_switched_off_ends_all_raises() {
    let mut rig = Rig::new(true);
    for task in 0..3 {
        rig.send(read(task, 1_000_000 * u64::from(task), 8));
    }
    assert_eq!(raised(&rig), 3);
    rig.sched.set("low_latency", 0);
    assert_eq!(raised(&rig), 0);
}
