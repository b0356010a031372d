//! The peak rate of the device and the budget that follows from it.

use super::*;

fn number(rig: &Rig, name: &str) -> u64 {
    rig.fact(name).split(' ').next().and_then(|n| n.parse().ok()).expect("a number")
}

/// One request of 256 sectors at a time, each `took_ns`, `step` sectors behind the one before, for `seconds`.
fn stream(rig: &mut Rig, step: u64, took_ns: u64, seconds: u64) {
    let until = rig.now + seconds * 1_000 * MS;
    let mut sector = 0;
    while rig.now < until {
        rig.send(read(0, sector, 256));
        let rq = rig.dispatch().expect("it is alone");
        rig.advance(took_ns);
        rig.complete(rq.slot);
        sector += step;
    }
}

#[test]
fn the_largest_budget_becomes_what_a_full_slot_can_transfer() {
    for (took_ns, per_ms) in [(2 * MS, 128), (MS, 256), (MS / 2, 512)] {
        let mut rig = Rig::new(true);
        assert_eq!(number(&rig, "bfq_max_budget"), 16_384);
        stream(&mut rig, 256, took_ns, 30);
        let due = per_ms * 125;
        let got = number(&rig, "bfq_max_budget");
        assert!(got.abs_diff(due) <= due / 100, "{got} sectors of {due} at {per_ms} sectors a ms");
        let mib_per_s = per_ms * 1_000 * 512 / (1 << 20);
        assert!(number(&rig, "peak_rate").abs_diff(mib_per_s) <= 1, "{mib_per_s} MiB/s");
    }
}

#[test]
fn slow_scattered_requests_do_not_lower_the_rate_and_fast_ones_raise_it() {
    let mut rig = Rig::new(true);
    let before = number(&rig, "peak_rate");
    stream(&mut rig, 100_000, 8 * MS, 10);
    assert_eq!(number(&rig, "peak_rate"), before);
    stream(&mut rig, 100_000, MS / 4, 60);
    assert!(number(&rig, "peak_rate") > 4 * before, "500 MB/s against 73 at first");
}

#[test]
fn a_budget_set_by_hand_stays_until_it_is_given_back() {
    let mut rig = Rig::new(true).with("max_budget", 1_000);
    stream(&mut rig, 256, MS, 10);
    assert_eq!(number(&rig, "bfq_max_budget"), 1_000);
    rig.sched.set("max_budget", 0);
    let automatic = number(&rig, "bfq_max_budget");
    assert!(automatic > 20_000, "{automatic}");
    rig.sched.set("timeout_sync", 250);
    assert!(number(&rig, "bfq_max_budget").abs_diff(2 * automatic) <= 2);
}

#[test]
fn a_fast_disk_ends_a_raise_sooner_and_never_before_three_seconds() {
    let mut rig = Rig::new(true);
    stream(&mut rig, 256, MS / 8, 20);
    assert_eq!(rig.fact("wr_busy_queues"), "0");
    // Idle for long, another process is interactive again.
    rig.advance(3_000 * MS);
    let mut raised_ms = 0;
    rig.send(read(0, 0, 8));
    for i in 1..80u64 {
        rig.send(read(0, i * 8, 8));
        rig.serve().expect("it is backlogged");
        raised_ms += 100 * u64::from(rig.fact("wr_busy_queues") == "1");
        rig.advance(100 * MS);
    }
    assert!((2_900..=3_200).contains(&raised_ms), "{raised_ms} ms");
}
