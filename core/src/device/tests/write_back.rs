//! The adapter's write-back cache.

use super::{MS, Outcome, closed, command, device, near, open, random_sector};
use crate::event::{Op, Stage};

const CACHE: (&str, u64) = ("cache_mb", 64);

#[test]
fn a_write_is_acknowledged_from_the_cache_and_a_flush_is_empty() {
    let mut at = device("hba-r0-8ssd", &[CACHE], 1);
    let write = closed(&mut at, 1, MS, |k| command(Op::Write, random_sector(k), 4096));
    // The link's 0.6 us in and 9 ns out around the 100 us.
    assert!(write.latencies_ns.iter().all(|ns| (100_500..100_800).contains(ns)), "{}", write.mean_ns());
    let flush = open(&mut at, [(MS, command(Op::Flush, 0, 0))]);
    assert!(flush.latencies_ns[0] < 20_000, "{:?}", flush.latencies_ns);
}

#[test]
fn without_a_cache_a_flush_goes_to_every_member() {
    let outcome = open(&mut device("hba-r0-8ssd", &[], 1), [(0, command(Op::Flush, 0, 0))]);
    let members = outcome.stages.iter().filter(|(_, p)| p.stage == Stage::Member).count();
    assert_eq!(members, 8);
}

#[test]
fn a_full_cache_lets_writes_in_at_the_rate_of_the_members() {
    // 8 members of 60 K sustained writes.
    let mut at = device("hba-r0-8ssd", &[("cache_mb", 4)], 1);
    let outcome = closed(&mut at, 256, 400 * MS, |k| command(Op::Write, random_sector(k), 4096));
    near("IOPS", outcome.iops(), 480e3, 0.05);
}

#[test]
fn what_is_written_again_before_it_left_the_cache_goes_to_a_member_once() {
    // 1000 writes of one page while the member is busy reading.
    let reads = (0..2_000).map(|k| (k * 5_000, command(Op::Read, random_sector(k) % 512, 4096)));
    let writes = (0..1_000).map(|k| (1_000_000 + k * 5_000 + 1, command(Op::Write, 8, 4096)));
    let mut all: Vec<_> = reads.chain(writes).collect();
    all.sort_by_key(|(at, _)| *at);
    let outcome = open(&mut device("hba-r0-8ssd", &[CACHE], 1), all);
    let destaged = outcome.stages.iter().filter(|(_, p)| p.stage == Stage::Destage).count();
    assert!((1..50).contains(&destaged), "{destaged}");
}

#[test]
fn dirty_data_are_read_from_the_cache() {
    // A member with nothing to do takes the page at once, so the read comes while others keep it busy.
    let busy = (0..100).map(|k| (k * 2_000, command(Op::Read, 16 + k % 50 * 8, 4096)));
    let write = (100_001, command(Op::Write, 8, 4096));
    let read = (202_000, command(Op::Read, 8, 4096));
    let mut all: Vec<_> = busy.chain([write, read]).collect();
    all.sort_by_key(|(at, _)| *at);
    let outcome = open(&mut device("hba-r0-8ssd", &[CACHE], 1), all);
    let shortest = outcome.latencies_ns.iter().min().copied().unwrap_or_default();
    assert!((15_000..20_000).contains(&shortest), "{shortest}");
}

#[test]
fn a_rotating_disk_behind_the_cache_is_fast_to_write_and_slow_to_read() {
    let mut at = device("hba-hdd", &[], 1);
    let writes = closed(&mut at, 1, 20 * MS, |k| command(Op::Write, random_sector(k), 4096));
    assert!(writes.latencies_ns.iter().all(|ns| (100_500..100_800).contains(ns)), "{}", writes.mean_ns());
    let reads =
        closed(&mut device("hba-hdd", &[], 1), 1, 4_000 * MS, |k| command(Op::Read, random_sector(k), 4096));
    // Half a turn and a seek over a tenth of the disk, and more; never the 100 us of the cache.
    assert!((6e6..14e6).contains(&reads.mean_ns()), "{}", reads.mean_ns());
}

#[test]
fn a_stripe_of_rotating_disks_reads_in_sequence_at_the_rate_of_all_its_members() {
    // At the outer edge, with requests of a stripe each and enough of them for every member to read ahead.
    let read = |name: &str, depth| {
        let next = |k| command(Op::Read, k * 512, 262_144);
        let outcome = closed(&mut device(name, &[], 1), depth, 4_000 * MS, next);
        outcome.iops() * 262_144.0
    };
    near("one disk", read("hba-hdd", 4), 175e6, 0.02);
    near("eight disks", read("hba-r0-hdd", 64), 8.0 * 175e6, 0.05);
}

#[test]
fn a_stripe_of_rotating_disks_has_the_random_reads_of_all_its_members() {
    // 100 GB of the stripe are an eighth of that of each member.
    let read = |name: &str, depth, share| -> Outcome {
        let next = |k| command(Op::Read, random_sector(k) / share / 8 * 8, 4096);
        closed(&mut device(name, &[], 1), depth, 20_000 * MS, next)
    };
    let (lone, striped) = (read("hba-hdd", 1, 8), read("hba-r0-hdd", 1, 1));
    near("one at a time", striped.mean_ns(), lone.mean_ns(), 0.03);
    // 32 for each member in the mean: the queue of each is a little shorter or longer than that.
    let (one, eight) = (read("hba-hdd", 32, 8).iops(), read("hba-r0-hdd", 256, 1).iops());
    near("32 for each member", eight, 8.0 * one, 0.1);
}

#[test]
fn scattered_writes_to_a_stripe_of_rotating_disks_run_at_the_rate_of_its_members_once_its_cache_is_full() {
    let write = |name: &str, share| {
        let next = |k| command(Op::Write, random_sector(k) / share / 8 * 8, 4096);
        closed(&mut device(name, &[("cache_mb", 4)], 1), 256, 20_000 * MS, next).iops()
    };
    let (one, eight) = (write("hba-hdd", 8), write("hba-r0-hdd", 1));
    assert!((6.0..9.0).contains(&(eight / one)), "{eight} and {one}");
}
