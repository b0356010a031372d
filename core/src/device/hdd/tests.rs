//! The disk alone, without a host: closed loops against the law of service and computed tables.

use super::*;
use crate::device::{Preset, Spec, preset};
use crate::engine::rng::{self, Purpose};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MS: f64 = 1e6;
const MIB: u32 = 1 << 20;
const TB: u64 = 1_000_000_000_000;

fn spec_of(name: &str) -> HddSpec {
    match preset(name) {
        Some(Preset { spec: Spec::Hdd(spec), .. }) => spec.clone(),
        other => panic!("{other:?} is no rotating disk"),
    }
}

fn desktop() -> HddSpec {
    spec_of("hdd-1t-desktop")
}

/// Start and end of a finished command, ns.
#[derive(Clone, Copy, Debug)]
struct Ended {
    begin_ns: u64,
    end_ns: u64,
}

/// A disk with its timers.
struct Rig {
    disk: Hdd,
    now: u64,
    next: u64,
    /// (time, order, token or slot, whether it is a completion)
    agenda: BinaryHeap<Reverse<(u64, u64, u32, bool)>>,
    begin_ns: Vec<u64>,
    out: Outbox,
    /// Stages in the order in which they were decided.
    stages: Vec<(u32, crate::device::Passed)>,
}

impl Rig {
    fn new(spec: HddSpec, write_back: bool) -> Self {
        Self {
            disk: Hdd::new(spec, TB, write_back, 0),
            now: 0,
            next: 0,
            agenda: BinaryHeap::new(),
            begin_ns: Vec::new(),
            out: Outbox::default(),
            stages: Vec::new(),
        }
    }

    fn submit(&mut self, op: Op, offset: u64, bytes: u32) -> u32 {
        self.send(op, offset, bytes, false)
    }

    /// `fua`: past the write cache.
    fn send(&mut self, op: Op, offset: u64, bytes: u32, fua: bool) -> u32 {
        let slot = self.begin_ns.len() as u32;
        self.begin_ns.push(self.now);
        let command = Command { slot, lun: 0, sq: 0, op, fua, sector: offset / 512, bytes, seed: 1 };
        self.disk.submit(self.now, command, &mut self.out);
        self.collect();
        slot
    }

    fn collect(&mut self) {
        self.stages.append(&mut self.out.stages);
        let timers = self.out.timers.drain(..).map(|(at, token)| (at, token, false));
        let done = self.out.done.drain(..).map(|(at, slot)| (at, slot, true));
        for (at, what, is_done) in timers.chain(done) {
            assert!(at >= self.now);
            self.next += 1;
            self.agenda.push(Reverse((at, self.next, what, is_done)));
        }
    }

    /// Runs until a command ends; `None`: nothing is left to do.
    fn ended(&mut self) -> Option<Ended> {
        while let Some(Reverse((at, _, what, is_done))) = self.agenda.pop() {
            self.now = at;
            if is_done {
                return Some(Ended { begin_ns: self.begin_ns[what as usize], end_ns: at });
            }
            self.disk.event(at, what, &mut self.out);
            self.collect();
        }
        None
    }

    /// One write at a time past the cache, if there is one.
    fn fua_writes(&mut self, count: u64, offset: impl Fn(u64) -> u64) -> Vec<Ended> {
        let one = |n| {
            self.send(Op::Write, offset(n), 4096, true);
            self.ended().expect("it ends")
        };
        (0..count).map(one).collect()
    }

    /// Keeps `depth` commands of `stream` at the disk until `count` have ended; returns them.
    fn closed(
        &mut self,
        depth: u32,
        count: usize,
        mut stream: impl FnMut(u64) -> (Op, u64, u32),
    ) -> Vec<Ended> {
        let mut n = 0;
        let mut all = Vec::new();
        while all.len() < count {
            while self.begin_ns.len() - all.len() < depth as usize {
                let (op, offset, bytes) = stream(n);
                self.submit(op, offset, bytes);
                n += 1;
            }
            all.extend(self.ended());
        }
        all
    }
}

/// A 4 KiB place in the first `share` percent of the disk.
fn random(n: u64, percent: u64) -> u64 {
    rng::below(7, Purpose::Offset, n, TB / 4096 * percent / 100) * 4096
}

fn per_second(ended: &[Ended]) -> f64 {
    let skip = ended.len() / 20;
    (ended.len() - skip - 1) as f64 * 1e9 / (ended[ended.len() - 1].end_ns - ended[skip].end_ns) as f64
}

fn mean_ms(ended: &[Ended]) -> f64 {
    ended.iter().map(|e| (e.end_ns - e.begin_ns) as f64).sum::<f64>() / ended.len() as f64 / MS
}

fn reads(spec: HddSpec, depth: u32, percent: u64) -> Vec<Ended> {
    Rig::new(spec, true).closed(depth, 6_000, |n| (Op::Read, random(n, percent), 4096))
}

#[test]
fn the_seek_curve_has_its_average_and_its_ends() {
    let geometry = Geometry::new(&desktop(), TB / 512);
    let at = |sector| geometry.media_ns(sector);
    let longest = geometry.seek_ns(0, at(TB / 512));
    assert!((longest as f64 / MS - 17.0).abs() < 0.01, "{longest}");
    let cylinder_ns = at(TB / 512) / 160_000;
    let shortest = geometry.seek_ns(0, cylinder_ns + 1);
    assert!((shortest as f64 / MS - 0.83).abs() < 0.01, "{shortest}");
    assert_eq!(geometry.seek_ns(5, cylinder_ns / 2), 0);
    let n = 100_000;
    let sum: u64 = (0..n)
        .map(|k| geometry.seek_ns(at(random(2 * k, 100) / 512), at(random(2 * k + 1, 100) / 512)))
        .sum();
    let mean = sum as f64 / n as f64 / MS;
    assert!((mean - 8.2).abs() < 0.1, "{mean}");
}

#[test]
fn the_rate_falls_from_the_outer_to_the_inner_edge_and_carries_the_media_time() {
    for name in ["hdd-1t-desktop", "hdd-1t-nearline"] {
        let spec = spec_of(name);
        let last = TB / 512;
        let geometry = Geometry::new(&spec, last);
        assert_eq!((geometry.rate(0), geometry.rate(last)), (spec.outer_rate, spec.inner_rate));
        // 2 capacity / (ro + ri)
        let whole = 2.0 * TB as f64 * 1e9 / (spec.outer_rate + spec.inner_rate) as f64;
        assert!((geometry.media_ns(last) as f64 / whole - 1.0).abs() < 1e-9);
        for k in 0..1000 {
            let sector = last / 1000 * k;
            let found = geometry.media_ns(sector + 2048) - geometry.media_ns(sector);
            let due = f64::from(MIB) * 1e9 / geometry.rate(sector + 1024) as f64;
            assert!((found as f64 - due).abs() < 5.0, "{found}, {due}");
        }
    }
}

#[test]
fn shapes_at_the_edge_of_what_can_be_set_do_not_break_the_arithmetic() {
    let extreme = |outer_rate, inner_rate, rpm, cylinders| HddSpec {
        outer_rate,
        inner_rate,
        rpm,
        cylinders,
        seek_root_ns: SECOND,
        seek_linear_ns: SECOND,
        ..desktop()
    };
    for sectors in [1, 128, 1 << 31, 1 << 41] {
        for (outer, inner) in [(1_000_000_000, 1_000_000), (1_000_000, 1_000_000), (1_000_001, 1_000_000)] {
            for (rpm, cylinders) in [(1_000, 1), (30_000, 10_000_000)] {
                let g = Geometry::new(&extreme(outer, inner, rpm, cylinders), sectors);
                let g_swapped = Geometry::new(&extreme(inner, outer, rpm, cylinders), sectors);
                assert!(g_swapped.media_ns(sectors) > 0 || sectors == 1);
                let step = (sectors / 50).max(1);
                let times: Vec<u64> = (0..=sectors / step).map(|k| g.media_ns(k * step)).collect();
                assert!(times.is_sorted());
                for &t in &times {
                    assert!(g.seek_ns(0, t) <= desktop().seek_base_ns + 2 * SECOND);
                    assert!(g.wait_ns(t, 12_345) < g.turn_ns());
                }
            }
        }
    }
}

#[test]
fn a_lone_random_read_takes_command_seek_half_a_turn_and_transfer() {
    let ended = reads(desktop(), 1, 100);
    // Command 0.1, seek 8.2, half a turn 4.17, 4 KiB at about 160 MB/s 0.026, link 0.01: 12.5; 12.6 computed elsewhere.
    assert!((mean_ms(&ended) - 12.6).abs() < 0.15, "{}", mean_ms(&ended));
}

#[test]
fn first_come_first_served_gains_nothing_from_depth() {
    let fifo = HddSpec { ncq_window: 1, ..desktop() };
    let alone = per_second(&reads(fifo.clone(), 1, 100));
    for depth in [4, 32] {
        let found = per_second(&reads(fifo.clone(), depth, 100));
        assert!((found / alone - 1.0).abs() < 0.01, "depth {depth}: {found}, {alone} is due");
    }
}

#[test]
fn the_queue_reorders_as_computed_for_shortest_positioning_time() {
    // Depth, percent of the disk, IOPS and mean latency (ms) of a simulation that was not used to make this one.
    let table = [
        (1, 100, 80.0, Some(12.6)),
        (2, 100, 96.0, Some(21.0)),
        (4, 100, 116.0, Some(35.0)),
        (8, 100, 138.0, Some(58.0)),
        (16, 100, 170.0, Some(94.0)),
        (32, 100, 206.0, Some(155.0)),
        (32, 25, 318.0, None),
        (32, 5, 437.0, None),
        (32, 1, 544.0, None),
    ];
    for (depth, percent, iops, latency) in table {
        let ended = reads(desktop(), depth, percent);
        let (found, ms) = (per_second(&ended), mean_ms(&ended));
        println!("depth {depth}, {percent} %: {found:.1} of {iops} IOPS, {ms:.1} of {latency:?} ms");
        assert!((found / iops - 1.0).abs() < 0.1, "depth {depth}, {percent} %: {found}, {iops} is due");
        assert!(
            latency.is_none_or(|l| (ms / l - 1.0).abs() < 0.1),
            "depth {depth}: {ms}, {latency:?} is due"
        );
    }
}

fn at(offset: u64) -> u64 {
    offset / 512
}

/// Bytes per second over the second half.
fn rate(ended: &[Ended], bytes: u32) -> f64 {
    let half = ended.len() / 2;
    let span = ended[ended.len() - 1].end_ns - ended[half].end_ns;
    (ended.len() - half - 1) as f64 * f64::from(bytes) * 1e9 / span as f64
}

#[test]
fn sequential_reads_and_writes_run_at_the_rate_of_their_place() {
    for (from, depth, bytes) in
        [(0, 1, MIB), (0, 4, MIB), (0, 1, MIB / 8), (TB - (2 << 30), 1, MIB), (TB - (2 << 30), 4, MIB)]
    {
        for op in [Op::Read, Op::Write] {
            // The cache is full long before the second half.
            let ended = Rig::new(desktop(), true)
                .closed(depth, (600 << 20) / bytes as usize, |n| (op, from + n * u64::from(bytes), bytes));
            let due = Geometry::new(&desktop(), at(TB)).rate(at(from)) as f64;
            let found = rate(&ended, bytes);
            println!("{op:?} from {from}, depth {depth}, {bytes}: {found:.3e}, {due:.3e}");
            assert!(
                (found / due - 1.0).abs() < 0.02,
                "{op:?} from {from}, depth {depth}: {found}, {due} is due"
            );
        }
    }
}

#[test]
fn without_write_cache_a_lone_sequential_writer_loses_a_turn_each_time_and_depth_restores_it() {
    let place = 40_000_000_000; // 206 MB/s there
    let r = Geometry::new(&desktop(), at(TB)).rate(at(place)) as f64;
    let writes = |depth| {
        let ended =
            Rig::new(desktop(), false).closed(depth, 400, |n| (Op::Write, place + n * u64::from(MIB), MIB));
        rate(&ended, MIB)
    };
    // 1 MiB / (1 MiB / r + a turn): 78 MB/s at 205.
    let alone = f64::from(MIB) / (f64::from(MIB) / r + 1.0 / 120.0);
    assert!((alone - 78e6).abs() < 1e6, "{alone}");
    assert!((writes(1) / alone - 1.0).abs() < 0.01, "{} instead of {alone}", writes(1));
    assert!((writes(4) / r - 1.0).abs() < 0.01, "{} instead of {r}", writes(4));
}

#[test]
fn interleaved_streams_cost_a_positioning_for_each_run() {
    // Two streams about 5 GB apart where the disk has 150 MB/s, written in runs of so many KiB past the cache: MB/s as
    // computed for a positioning of 6.2 ms (seek 1.6, settling 0.5, half a turn).
    let table =
        [(128, 18.0), (512, 54.0), (1024, 79.0), (2048, 104.0), (4096, 123.0), (8192, 135.0), (16384, 142.0)];
    let place = 633_000_000_000;
    assert_eq!(Geometry::new(&desktop(), at(TB)).rate(at(place)) / 1_000_000, 150);
    for (kib, due) in table {
        let bytes = kib * 1024;
        // One distance settles into one rotational wait; many of them have half a turn on average.
        let gaps = 24;
        let ns_per_byte = |gap: u64| {
            let between = 5_000_000_000 + gap * 100_000_000 / 4096 * 4096;
            let ended = Rig::new(desktop(), false)
                .closed(1, 60, |n| (Op::Write, place + n / 2 * u64::from(bytes) + n % 2 * between, bytes));
            1e9 / rate(&ended, bytes)
        };
        let found = 1e3 * gaps as f64 / (0..gaps).map(ns_per_byte).sum::<f64>();
        println!("{kib} KiB: {found:.1} of {due} MB/s");
        assert!((found / due - 1.0).abs() < 0.1, "{kib} KiB: {found}, {due} is due");
    }
}

#[test]
fn cached_interleaved_streams_are_written_in_runs_as_long_as_the_cache_allows() {
    // The cache gathers what each stream has written; a run of half the cache costs one positioning.
    let place = 633_000_000_000;
    let ended = Rig::new(desktop(), true)
        .closed(4, 4_000, |n| (Op::Write, place + n / 2 * 524_288 + n % 2 * 5_000_000_000, 524_288));
    let found = rate(&ended, 524_288) / 1e6;
    let run = f64::from(32 << 20) / 2.0;
    let bound = 150.0 / (1.0 + 150e6 * 6.2e-3 / run);
    println!("{found:.1} MB/s, {bound:.1} with runs of half the cache");
    assert!((found / bound - 1.0).abs() < 0.05, "{found} MB/s");
}

/// Mean time (ms) of a flush after so many scattered cached writes, for each of these numbers.
fn flush_ms(spec: &HddSpec, numbers: &[u64]) -> Vec<(f64, f64)> {
    let one = |n: u64, round: u64| {
        let mut rig = Rig::new(spec.clone(), true);
        rig.closed(1, n as usize, |k| (Op::Write, random(k + 1_000 * round, 100), 4096));
        rig.submit(Op::Flush, 0, 0);
        let flush = rig.ended().expect("a flush ends");
        assert!(rig.disk.dirty.is_empty());
        (flush.end_ns - flush.begin_ns) as f64 / MS
    };
    let mean = |n: u64| (0..10).map(|round| one(n, round)).sum::<f64>() / 10.0;
    numbers.iter().map(|&n| (n as f64, mean(n))).collect()
}

#[test]
fn a_flush_takes_time_in_proportion_to_the_scattered_writes_before_it() {
    let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
    let points = flush_ms(&desktop(), &[32, 64, 128, 256]);
    let (first, last) = (slope(points[0], points[1]), slope(points[2], points[3]));
    println!("{points:?}: {last:.1} ms a write");
    assert!((last / first - 1.0).abs() < 0.15, "{first} and {last} ms a write: not linear");
    // Between what depth 32 makes of a random read, and a write that nobody orders (seek, settling, half a turn).
    let (ordered, unordered) = (1000.0 / 206.0, 8.2 + 0.5 + 8.33 / 2.0);
    assert!((ordered * 0.9..unordered).contains(&last), "{last} ms a write");
}

#[test]
fn with_a_choice_of_four_a_flush_takes_about_what_was_measured_on_a_consumer_disk() {
    // ST2000DM006: 28 + 9.4 N ms. It is another drive, whose reads at depth 32 fit a window of 4.
    let spec = HddSpec { destage_window: 4, ..desktop() };
    let points = flush_ms(&spec, &[64, 256]);
    let slope = (points[1].1 - points[0].1) / (points[1].0 - points[0].0);
    println!("{points:?}: {slope:.1} ms a write, 9.4 measured");
    assert!((slope / 9.4 - 1.0).abs() < 0.1, "{slope} ms a write");
}

#[test]
fn nobody_waits_beyond_the_age_limit_while_younger_ones_are_served() {
    let spec = HddSpec { age_max_ns: 300_000_000, ..desktop() };
    let mut rig = Rig::new(spec.clone(), true);
    rig.closed(32, 3_000, |n| (Op::Read, random(n, 100), 4096));
    // Services in their order: (slot, start), from the stages.
    let mut served: Vec<(u64, u32)> = Vec::new();
    for (slot, passed) in &rig.stages {
        if passed.stage == Stage::Queued {
            served.push((passed.end_ns, *slot));
        }
    }
    let mut waiting: std::collections::BTreeSet<u32> = (0..rig.begin_ns.len() as u32).collect();
    let mut guarded = 0;
    for (start, slot) in served {
        let oldest = *waiting.first().expect("somebody was served");
        if start - rig.begin_ns[oldest as usize] > spec.age_max_ns + spec.link_command_ns * 32 {
            assert_eq!(slot, oldest, "at {start}");
            guarded += 1;
        }
        waiting.remove(&slot);
    }
    assert!(guarded > 100, "the guard was needed {guarded} times");
}

#[test]
fn a_guard_shorter_than_the_queue_makes_the_disk_first_come_first_served() {
    // 32 commands at 80 a second wait 0.4 s by themselves: 206 falls to 81 (computed).
    let found = per_second(&reads(HddSpec { age_max_ns: 300_000_000, ..desktop() }, 32, 100));
    assert!((found / 81.0 - 1.0).abs() < 0.1, "{found}");
}

#[test]
fn what_was_just_read_or_written_is_answered_from_the_cache() {
    let mut rig = Rig::new(desktop(), true);
    let mut lat_us = |op, offset: u64| {
        rig.submit(op, offset, 4096);
        let e = rig.ended().expect("it ends");
        (e.end_ns - e.begin_ns) as f64 / 1e3
    };
    let hit = 3.0 + 30.0 + 4096.0 / 550.0;
    assert!(lat_us(Op::Read, 1 << 30) > 100.0);
    assert!((lat_us(Op::Read, 1 << 30) - hit).abs() < 1.0);
    assert!((lat_us(Op::Write, 1 << 32) - hit).abs() < 1.0);
    assert!((lat_us(Op::Read, 1 << 32) - hit).abs() < 1.0);
    // The buffer's copy is stale after a write.
    assert!((lat_us(Op::Write, 1 << 30) - hit).abs() < 1.0);
    assert!((lat_us(Op::Read, 1 << 30) - hit).abs() < 1.0, "the write cache has it");
}

#[test]
fn everything_submitted_ends_once_and_the_cache_keeps_its_books() {
    let ops = [Op::Read, Op::Write, Op::Write, Op::Flush, Op::Discard];
    for seed in 0..40 {
        let pick = |n: u64, bound: u64| rng::below(seed, Purpose::Offset, n, bound);
        let spec = HddSpec {
            dirty_limit: [0, 64 << 10, 1 << 20, 32 << 20][(seed % 4) as usize],
            segments: [0, 1, 16][(seed % 3) as usize],
            destage_window: 1 + (seed % 5) as u32,
            ncq_window: 1 + (seed % 7) as u32,
            ..desktop()
        };
        let mut rig = Rig::new(spec, seed % 8 != 0);
        let count = 400;
        rig.closed(1 + (seed % 33) as u32, count, |n| {
            let place = [pick(5 * n, 64), pick(5 * n, 1 << 27)][pick(5 * n + 1, 2) as usize] * 4096;
            (ops[pick(5 * n + 2, 5) as usize], place, 4096 << pick(5 * n + 3, 8))
        });
        let mut left = 0;
        while rig.ended().is_some() {
            left += 1;
        }
        assert_eq!(count + left, rig.begin_ns.len());
        assert!(rig.disk.dirty.is_empty() && rig.disk.dirty.sectors() == 0, "an idle disk empties its cache");
        assert!(rig.disk.queue.is_empty() && rig.disk.held.is_empty() && rig.disk.flush.is_none());
    }
}

#[test]
fn a_command_past_the_cache_is_on_the_platter_when_it_ends() {
    let mut rig = Rig::new(desktop(), true);
    let ended = rig.closed(1, 500, |n| (Op::Write, random(n, 100), 4096));
    assert!(mean_ms(&ended) < 0.1, "cached: {}", mean_ms(&ended));
    let mut rig = Rig::new(desktop(), false);
    let ended = rig.closed(1, 500, |n| (Op::Write, random(n, 100), 4096));
    // Command, seek, settle, half a turn.
    let through_ms = 0.1 + 8.2 + 0.5 + 4.17;
    assert!((mean_ms(&ended) - through_ms).abs() < 0.4, "{}", mean_ms(&ended));
    // The same with a cache that it must not use.
    let ended = Rig::new(desktop(), true).fua_writes(500, |n| random(n, 100));
    assert!((mean_ms(&ended) - through_ms).abs() < 0.4, "FUA: {}", mean_ms(&ended));
}

#[test]
fn fua_writes_are_never_answered_from_the_cache_even_where_it_holds_older_data() {
    let mut rig = Rig::new(desktop(), true);
    rig.closed(1, 64, |n| (Op::Write, random(n, 100), 4096));
    assert!(!rig.disk.dirty.is_empty());
    // On one place again and again: a turn each, whatever the cache knows of it.
    let ended = rig.fua_writes(200, |_| random(63, 100));
    let turn_ms = 60_000.0 / 7_200.0;
    let shortest = ended[1..].iter().map(|e| (e.end_ns - e.begin_ns) as f64 / MS).fold(f64::MAX, f64::min);
    assert!(shortest > 0.99 * turn_ms, "{shortest} ms");
    // What it wrote is not written again from the cache.
    let sector = random(63, 100) / 512;
    assert!(!rig.disk.dirty.covers(sector, sector + 8));
}
