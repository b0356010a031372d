//! The check column of the preset table, and the laws of the die array.

use super::{MS, closed, command, device, near, open, open_seeing, random_sector, reads};
use crate::device::{Command, UNASKED};
use crate::engine::rng::{Purpose, exponential};
use crate::event::{Op, Stage};
use std::collections::BTreeMap;

#[test]
fn a_lone_read_takes_the_fixed_time_and_tr() {
    // fixed + tR, ns.
    let rows = [
        ("p3700-800", 70_000),
        ("p4510-2t", 77_000),
        ("p4800x-375", 7_100),
        ("p5800x", 4_200),
        ("970evoplus-1t", 44_000),
        ("980pro-1t", 39_000),
        ("aws-i3", 98_000),
    ];
    for (name, expected) in rows {
        let outcome = reads(name, 1, 20 * MS);
        assert!(outcome.latencies_ns.len() > 50, "{name}");
        assert!(outcome.latencies_ns.iter().all(|&ns| ns == expected), "{name}: {:?}", outcome.mean_ns());
    }
}

#[test]
fn queue_depth_gives_the_throughput_of_the_table() {
    // Computed with another simulator of the same stations, good to 2 %. It adds the front end to the fixed time, where
    // here it is part of it; so does this comparison.
    let mut at = device("p3700-800", &[("fixed_ns", 14_000 + 1_000_000_000 / 460_000)], 1);
    let mut p3700 = closed(&mut at, 16, 200 * MS, |k| command(Op::Read, random_sector(k), 4096));
    near("P3700 QD16", p3700.iops(), 188e3, 0.02);
    near("P3700 QD16 mean", p3700.mean_ns(), 85e3, 0.02);
    near("P3700 QD16 p99", p3700.percentile_ns(99.0) as f64, 177e3, 0.05);
    near("P4800X QD16", reads("p4800x-375", 16, 50 * MS).iops(), 585e3, 0.01);
    near("P4800X QD16 mean", reads("p4800x-375", 16, 50 * MS).mean_ns(), 27e3, 0.03);
    near("970 EVO Plus QD32", reads("970evoplus-1t", 32, 100 * MS).iops(), 561e3, 0.05);
}

#[test]
fn every_disk_reaches_its_caps_and_none_passes_them() {
    let rows = [
        ("p3700-800", 460e3),
        ("p4510-2t", 637e3),
        ("p4800x-375", 585e3),
        ("p5800x", 1.5e6),
        ("970evoplus-1t", 600e3),
        ("980pro-1t", 1.0e6),
        ("aws-i3", 412e3),
    ];
    for (name, cap) in rows {
        let found = reads(name, 512, 30 * MS).iops();
        assert!(found <= cap * 1.002 && found >= cap * 0.97, "{name}: {found} of {cap}");
    }
    let small =
        closed(&mut device("p5800x", &[], 1), 256, 10 * MS, |k| command(Op::Read, random_sector(k), 512));
    near("P5800X 512 B", small.iops(), 5.1e6, 0.02);
    let lone = closed(&mut device("p5800x", &[], 1), 1, MS, |k| command(Op::Read, random_sector(k), 512));
    near("P5800X 512 B alone", lone.mean_ns(), 3_224.0, 0.02); // XRP, OSDI 2022, table 1
}

#[test]
fn a_lone_write_is_acknowledged_from_the_buffer() {
    let rows = [
        ("p3700-800", 20_000),
        ("p4510-2t", 18_000),
        ("p4800x-375", 8_000),
        ("p5800x", 5_000),
        ("970evoplus-1t", 10_000),
        ("980pro-1t", 8_000),
        ("aws-i3", 39_400),
    ];
    for (name, ack) in rows {
        let outcome =
            closed(&mut device(name, &[], 1), 1, 2 * MS, |k| command(Op::Write, random_sector(k), 4096));
        assert!(outcome.latencies_ns.iter().all(|&ns| ns == ack), "{name}: {}", outcome.mean_ns());
    }
}

#[test]
fn sustained_writes_stop_at_what_the_dies_program() {
    // dies * pages / (tPROG * WAF), and the published caps. The buffer of 1024 pages is full after a few ms.
    for (name, cap) in [("p3700-800", 90e3), ("p4510-2t", 81e3), ("aws-i3", 180e3)] {
        let outcome =
            closed(&mut device(name, &[], 1), 64, 1_000 * MS, |k| command(Op::Write, random_sector(k), 4096));
        near(name, outcome.iops(), cap, 0.02);
    }
    // The P4800X is rated at 500 K and at 2.0 GB/s, which is 488 K pages.
    for (name, cap) in [("p4800x-375", 2.0e9 / 4096.0), ("p5800x", 1.3e6)] {
        let outcome =
            closed(&mut device(name, &[], 1), 64, 30 * MS, |k| command(Op::Write, random_sector(k), 4096));
        near(name, outcome.iops(), cap, 0.02);
    }
}

#[test]
fn a_consumer_disk_is_fast_until_its_slc_is_full() {
    // A cache of 64 MiB instead of 42 GB; 128 KiB writes at depth 8.
    let mut at = device("970evoplus-1t", &[("slc_mb", 64), ("buffer_pages", 1024)], 1);
    let mut sector = 0;
    let mut write = |_| {
        sector += 256;
        command(Op::Write, sector, 131_072)
    };
    let burst = closed(&mut at, 8, 15 * MS, &mut write);
    near("burst", burst.iops() * 131_072.0, 3.3e9, 0.03);
    let mut at = device("970evoplus-1t", &[("slc_mb", 0)], 1);
    let after = closed(&mut at, 8, 200 * MS, &mut write);
    near("sustained", after.iops() * 131_072.0, 1.7e9, 0.03);
    let mut at = device("980pro-1t", &[("slc_mb", 0)], 1);
    let after = closed(&mut at, 8, 200 * MS, &mut write);
    near("980 PRO sustained", after.iops() * 131_072.0, 2.0e9, 0.03);
}

#[test]
fn kinds_of_pages_have_their_own_tr() {
    let outcome = reads("970pro-512", 1, 200 * MS);
    let mut kinds: BTreeMap<u64, u32> = BTreeMap::new();
    for &ns in &outcome.latencies_ns {
        *kinds.entry(ns).or_default() += 1;
    }
    let fixed = 21_500 + 5_120 + 1_219;
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), [fixed + 29_800, fixed + 41_800]);
    let total: u32 = kinds.values().sum();
    assert!(kinds.values().all(|&n| n * 10 > total * 4), "{kinds:?}");
}

#[test]
fn throughput_obeys_the_bounds_of_the_die_array_at_every_depth() {
    for n in [1, 2, 4, 8, 16, 32, 64, 128] {
        let found = reads("aws-i3", n, 50 * MS).iops();
        let bound = 412e3_f64.min(f64::from(n) / 98e-6).min(64.0 / 78e-6);
        assert!(found <= bound * 1.002, "depth {n}: {found} above {bound}");
    }
}

#[test]
fn what_dies_do_adds_up() {
    // Mixed load: each die is busy for its reads and its programs, no more and no less.
    let mut at = device("aws-i3", &[], 1);
    let outcome = closed(&mut at, 32, 400 * MS, |k| {
        command(if k % 2 == 0 { Op::Read } else { Op::Write }, random_sector(k), 4096)
    });
    let (mut reads, mut programs) = (vec![Vec::new(); 64], Vec::new());
    for (slot, p) in &outcome.stages {
        match p.stage {
            Stage::Die => reads[p.unit as usize].push((p.start_ns, p.end_ns)),
            Stage::Program => {
                assert_eq!(*slot, UNASKED);
                programs.push(*p);
            }
            _ => {}
        }
    }
    assert!(programs.len() > 1_000);
    assert!(reads.iter().flatten().all(|(start, end)| end - start == 78_000));
    let busy_ns = 2_620_000 * 217 / 100;
    for p in programs {
        // Its span is its own time and that of the reads that came in between.
        let inside = reads[p.unit as usize].iter().filter(|r| r.0 >= p.start_ns && r.1 <= p.end_ns);
        let inside: u64 = inside.map(|(start, end)| end - start).sum();
        assert_eq!(p.end_ns - p.start_ns, busy_ns + inside, "die {}", p.unit);
    }
    for die in &mut reads {
        die.sort_unstable();
        assert!(die.windows(2).all(|w| w[0].1 <= w[1].0), "two reads at once on a die");
    }
}

#[test]
fn one_to_three_percent_of_reads_wait_for_a_program_under_a_mixed_load() {
    // Micron 7300 beside a writer: 2 % of reads delayed, 0.5 % by more than 1 ms.
    let mut at = device("aws-i3", &[], 1);
    let mut outcome = closed(&mut at, 16, 2_000 * MS, |k| {
        command(if k % 10 < 8 { Op::Read } else { Op::Write }, random_sector(k), 4096)
    });
    let reads = outcome.latencies_ns.iter().filter(|&&ns| ns >= 98_000).count() as f64;
    let late = outcome.latencies_ns.iter().filter(|&&ns| ns >= 98_000 + 300_000).count() as f64;
    let share = late / reads;
    assert!((0.005..=0.03).contains(&share), "{share}");
    // Nothing waits longer than a tPROG and the reads that queued behind the same program.
    assert!(outcome.percentile_ns(99.9) < 2 * 2_620_000 + 98_000);
}

#[test]
fn a_rare_pause_shows_in_the_last_percentile_only() {
    let pause = [("pause_ns", 2_800_000), ("pause_every_ns", 500_000_000)];
    let mut at = device("p3700-800", &pause, 1);
    let mut outcome = closed(&mut at, 1, 4_000 * MS, |k| command(Op::Read, random_sector(k), 4096));
    assert_eq!(outcome.percentile_ns(99.9), 70_000);
    let last = outcome.latencies_ns[outcome.latencies_ns.len() - 1];
    assert!((1_400_000..=2_870_000).contains(&last), "{last}");
}

#[test]
fn a_flush_waits_for_the_pages_written_before_it() {
    let mut at = device("970evoplus-1t", &[("slc_mb", 0)], 1);
    let writes = (0..40).map(|i| (i * 1_000, command(Op::Write, i * 8, 4096)));
    let outcome = open(&mut at, writes.chain([(60_000, command(Op::Flush, 0, 0))]));
    // 40 pages are two full programs and a rest, all on different dies; they end one tPROG after the flush.
    let flush = *outcome.latencies_ns.iter().max().expect("all are done");
    assert!((1_850_000..1_850_000 + 30_000).contains(&flush), "{flush}");
    let alone = open(&mut device("970evoplus-1t", &[], 1), [(0, command(Op::Flush, 0, 0))]);
    assert!(alone.latencies_ns[0] <= 10_000, "{:?}", alone.latencies_ns);
}

#[test]
fn the_front_end_takes_submission_queues_in_turn() {
    // 200 commands of one queue stand before one of another; it is served after the one under way.
    let long = (0..200).map(|k| (0, command(Op::Read, random_sector(k), 4096)));
    let short = (1, Command { sq: 1, ..command(Op::Read, random_sector(999), 4096) });
    let outcome = open(&mut device("p3700-800", &[], 1), long.chain([short]));
    let front = |slot: u32| {
        let own = outcome.stages.iter().find(|(s, p)| *s == slot && p.stage == Stage::Controller);
        own.map_or(0, |(_, p)| p.end_ns)
    };
    let service = 1_000_000_000 / 460_000;
    assert!(front(200) <= 3 * service, "{}", front(200));
    assert!(front(199) >= 200 * service, "{}", front(199));
}

/// Times of reads that come every ms from 10 ms on, behind so many writes of 64 KiB at once; `sq`: the queue of the reads,
/// where that of the writes is 0. Sorted, ns.
fn reads_behind(writes: u64, reads: u64, sq: u16) -> Vec<u64> {
    let flood = (0..writes).map(|k| (0, command(Op::Write, random_sector(k), 65_536)));
    let reads =
        (0..reads).map(|k| (10 * MS + k * MS, Command { sq, ..command(Op::Read, random_sector(k), 4096) }));
    let outcome = open(&mut device("p4510-2t", &[("unsuspended_percent", 0)], 1), flood.chain(reads));
    // What goes out over the link is a read; its command came to the controller before.
    let mut came = BTreeMap::new();
    let mut times = Vec::new();
    for (slot, p) in &outcome.stages {
        match (p.stage, p.unit) {
            (Stage::Controller, _) => drop(came.insert(*slot, p.start_ns)),
            (Stage::Link, 1) => times.push(p.end_ns - came[slot]),
            _ => {}
        }
    }
    times.sort_unstable();
    times
}

#[test]
fn writes_that_wait_for_the_buffer_hold_up_reads_when_they_have_all_slots_of_the_controller() {
    let median = |times: Vec<u64>| times[times.len() / 2];
    assert_eq!(median(reads_behind(0, 20, 1)), 77_000);
    let few = median(reads_behind(400, 20, 1));
    assert!(few <= 77_000 + 2 * 62_000 + 50_000, "400 writes leave it slots: {few}");
    // Now a slot is free when a write is acknowledged, so when a program has ended, of which all dies began theirs at once;
    // the queues take turns then.
    let acknowledged_ns = 16_000_000_000 / 81_000;
    let many = median(reads_behind(2_000, 20, 1)) - few;
    let program_ns = 2_620_000 * 482 / 100;
    assert!((acknowledged_ns..=program_ns).contains(&many), "2000 writes have them all: {many}");
    // From the queue of the writes it waits for all but those that were fetched already.
    let behind = reads_behind(2_000, 1, 0)[0];
    let due = (2_000 - 512) * acknowledged_ns - 10 * MS;
    assert!(behind.abs_diff(due) < due / 10, "{behind} of {due}");
}

#[test]
fn poisson_arrivals_wait_at_the_front_end_as_in_m_d_1() {
    // The front end of 3D XPoint; the dies behind it are nearly idle, and there is one submission queue.
    let service = 1_000_000_000 / 585_000;
    for (load, count) in [(0.5, 200_000), (0.7, 200_000), (0.8, 400_000), (0.9, 800_000), (0.95, 1_600_000)] {
        let (mut waited, mut last) = (0, 0);
        let mean = (service as f64 / load) as u64;
        let mut at = 0;
        let arrivals = (0..count).map(|k| {
            at += exponential(3, Purpose::Arrival, k, mean);
            last = at;
            (at, command(Op::Read, random_sector(k), 4096))
        });
        open_seeing(&mut device("p4800x-375", &[], 1), arrivals, |p| {
            if p.stage == Stage::Controller {
                waited += p.end_ns - p.start_ns - service;
            }
        });
        // The load that was really offered, not the one asked for.
        let rho = count as f64 * service as f64 / last as f64;
        let found = waited as f64 / count as f64 / service as f64;
        near(&format!("wait at load {rho}"), found, rho / (2.0 * (1.0 - rho)), 0.05);
    }
}
