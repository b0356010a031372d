//! What latencies do to depths, with the numbers of the rules.

use super::bench::{Bench, Kind, MS};
use crate::kernel::KyberStats::{Mean, Percentile};

const READ_QUARTER: u64 = MS / 2;
const WRITE_QUARTER: u64 = 5 * MS / 2;

/// 500 writes whose I/O takes twice the target but which, from G on, count as three to four quarters: the device is
/// congested and the depth of WRITE stays.
fn congest(bench: &mut Bench) {
    bench.serve(500, Kind::W, 8 * WRITE_QUARTER, 4 * WRITE_QUARTER);
}

/// The window ends.
fn window(bench: &mut Bench) {
    bench.advance(100 * MS);
}

#[test]
fn depth_scales_with_the_quarter_that_p99_reaches() {
    for (quarters, from_256, from_64) in [
        (1, 64, 16),
        (2, 128, 32),
        (3, 192, 48),
        (4, 256, 64),
        (5, 256, 80),
        (6, 256, 96),
        (7, 256, 112),
        (8, 256, 128),
        (50, 256, 128),
    ] {
        let mut bench = Bench::new(Percentile);
        congest(&mut bench);
        bench.serve(500, Kind::R, READ_QUARTER, quarters * READ_QUARTER);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), from_256, "{quarters} quarters");
        assert_eq!(bench.depth("WRITE"), 128);

        let mut bench = Bench::new(Percentile);
        congest(&mut bench);
        bench.serve(500, Kind::R, READ_QUARTER, READ_QUARTER);
        window(&mut bench);
        congest(&mut bench);
        bench.serve(500, Kind::R, READ_QUARTER, quarters * READ_QUARTER);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), from_64, "{quarters} quarters");
    }
}

#[test]
fn depth_never_falls_below_one() {
    let mut bench = Bench::new(Percentile);
    for depth in [64, 16, 4, 1, 1] {
        congest(&mut bench);
        bench.serve(500, Kind::R, READ_QUARTER, READ_QUARTER);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), depth);
    }
    // A late p99 needs no congestion to double it again.
    for depth in [2, 4, 8] {
        bench.serve(500, Kind::R, READ_QUARTER, 9 * READ_QUARTER);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), depth);
    }
}

#[test]
fn after_a_shrink_no_token_is_taken_until_fewer_are_out_than_the_new_depth() {
    let mut bench = Bench::new(Percentile);
    congest(&mut bench);
    bench.serve(500, Kind::R, READ_QUARTER, READ_QUARTER);
    for _ in 0..257 {
        bench.insert(Kind::R, 0);
    }
    while bench.dispatch(0).is_some() {}
    assert_eq!(bench.tokens("READ"), (256, 256));
    window(&mut bench);
    for taken in (64..256).rev() {
        bench.complete(0, READ_QUARTER, READ_QUARTER);
        assert_eq!(bench.dispatch(0), None);
        assert_eq!(bench.tokens("READ"), (taken, 64));
    }
    bench.complete(0, READ_QUARTER, READ_QUARTER);
    bench.dispatch(0).expect("63 are out");
    assert_eq!(bench.tokens("READ"), (64, 64));
}

#[test]
fn p99_waits_for_congestion_once() {
    let mut bench = Bench::new(Percentile);
    bench.serve(500, Kind::R, READ_QUARTER, 2 * READ_QUARTER);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 256, "good latencies alone throttle nothing");
    congest(&mut bench);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 128, "the remembered percentile");
    congest(&mut bench);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 128, "is forgotten");
}

#[test]
fn congestion_is_more_than_a_tenth_of_late_io() {
    for (late, depth) in [(50, 256), (51, 64)] {
        let mut bench = Bench::new(Percentile);
        bench.serve(500 - late, Kind::W, 4 * WRITE_QUARTER, 4 * WRITE_QUARTER);
        bench.serve(late, Kind::W, 4 * WRITE_QUARTER + 1, 4 * WRITE_QUARTER);
        bench.serve(500, Kind::R, READ_QUARTER, READ_QUARTER);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), depth, "{late} late");
    }
}

#[test]
fn percentiles_need_500_samples_in_however_many_windows() {
    let mut bench = Bench::new(Percentile);
    bench.serve(499, Kind::R, READ_QUARTER, READ_QUARTER);
    congest(&mut bench);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 256);
    bench.serve(1, Kind::R, READ_QUARTER, READ_QUARTER);
    congest(&mut bench);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 64);
}

#[test]
fn after_a_second_few_samples_do_for_the_io_percentile() {
    let mut bench = Bench::new(Percentile);
    bench.serve(500, Kind::R, READ_QUARTER, READ_QUARTER);
    window(&mut bench);
    bench.serve(5, Kind::W, 8 * WRITE_QUARTER, WRITE_QUARTER);
    // The first look, at the end of this window, starts the second.
    window(&mut bench);
    bench.advance(850 * MS);
    bench.serve(1, Kind::W, 8 * WRITE_QUARTER, WRITE_QUARTER);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 256, "950 ms after the first look");
    bench.serve(1, Kind::W, 8 * WRITE_QUARTER, WRITE_QUARTER);
    window(&mut bench);
    assert_eq!(bench.depth("READ"), 64, "1050 ms after it: congestion");
    assert_eq!(
        bench.depth("WRITE"),
        128,
        "the deadline was used up; the total latencies wait for 500 samples"
    );
    bench.serve(500, Kind::W, 8 * WRITE_QUARTER, WRITE_QUARTER);
    window(&mut bench);
    assert_eq!(bench.depth("WRITE"), 32, "which they now have");
}

#[test]
fn the_timer_is_armed_by_completions_with_a_target_only() {
    let mut bench = Bench::new(Percentile);
    bench.now = 5 * MS;
    bench.serve(3, Kind::F, MS, MS);
    assert_eq!(bench.timers, []);
    bench.serve(3, Kind::D, MS, MS);
    bench.now += MS;
    bench.serve(3, Kind::R, MS, MS);
    assert_eq!(bench.timers, [(105 * MS, 0)], "and not again while it is armed");
    window(&mut bench);
    assert_eq!(bench.timers, [], "an idle disk has no timer");
}

#[test]
fn a_new_target_counts_from_the_next_completion() {
    for (target, depth) in [(2 * MS, 256), (MS, 64)] {
        let mut bench = Bench::new(Percentile);
        bench.sched.set("read_lat_nsec", target);
        assert_eq!(bench.sched.tunables(bench.cx())[0].value, target);
        bench.serve(500, Kind::W, WRITE_QUARTER, WRITE_QUARTER);
        bench.serve(500, Kind::R, 3 * MS / 2, MS / 4);
        window(&mut bench);
        assert_eq!(bench.depth("READ"), depth, "p90 of 1.5 ms against {target} ns");
    }
    let defaults: Vec<u64> =
        Bench::new(Mean).sched.tunables(Bench::new(Mean).cx()).iter().map(|tunable| tunable.value).collect();
    assert_eq!(defaults, [2 * MS, 10 * MS]);
}

/// A window with these mean I/O latencies (0: no requests); then the depths of READ, SYNC_WRITE and OTHER.
fn mean_window(bench: &mut Bench, read_us: u64, write_us: u64, other: bool) -> [u32; 3] {
    // Only a late request starts a window; the others outweigh its sample.
    for (kind, us, target_ns) in [(Kind::R, read_us, 2 * MS), (Kind::W, write_us, 10 * MS)] {
        let latency = us * 1000;
        if us > 0 {
            let alarm = if latency > target_ns { latency } else { target_ns + 1 };
            bench.serve(1, kind, alarm, alarm);
            bench.serve(1000, kind, latency, latency);
        }
    }
    if other {
        bench.serve(1, Kind::A, MS, MS);
    }
    bench.advance(100 * MS);
    ["READ", "SYNC_WRITE", "OTHER"].map(|domain| bench.depth(domain))
}

#[test]
fn mean_latencies_move_depth_from_the_good_to_the_bad() {
    const GREAT: [u64; 2] = [500, 4_000];
    const GOOD: [u64; 2] = [1_500, 8_000];
    const BAD: [u64; 2] = [3_000, 15_000];
    const AWFUL: [u64; 2] = [4_000, 20_000];
    for (read, write, depths) in [
        (GREAT, GOOD, [256, 128, 64]),
        (GOOD, BAD, [224, 128, 64]),
        (GOOD, AWFUL, [192, 128, 64]),
        (GREAT, BAD, [192, 128, 64]),
        (GREAT, AWFUL, [128, 128, 64]),
        (BAD, GOOD, [256, 112, 64]),
        (AWFUL, GREAT, [256, 64, 64]),
        (BAD, AWFUL, [256, 128, 48]),
        (AWFUL, AWFUL, [256, 128, 32]),
    ] {
        assert_eq!(mean_window(&mut Bench::new(Mean), read[0], write[1], true), depths, "{read:?} {write:?}");
    }
    // What has shrunk grows by one, or by two if it is awful while the other is great.
    for (read, grown) in [(BAD, 65), (AWFUL, 66)] {
        let mut bench = Bench::new(Mean);
        mean_window(&mut bench, GREAT[0], AWFUL[1], false);
        assert_eq!(mean_window(&mut bench, GREAT[0], AWFUL[1], false)[0], 64);
        assert_eq!(mean_window(&mut bench, read[0], GREAT[1], false)[0], grown);
        assert_eq!(mean_window(&mut bench, read[0], 0, false)[0], grown + 1, "alone it grows by one");
    }
}

#[test]
fn other_requests_are_throttled_only_if_there_are_any() {
    let mut bench = Bench::new(Mean);
    assert_eq!(mean_window(&mut bench, 4_000, 20_000, false)[2], 64);
    assert_eq!(mean_window(&mut bench, 4_000, 20_000, true)[2], 32);
    assert_eq!(mean_window(&mut bench, 3_000, 20_000, true)[2], 24);
    assert_eq!(mean_window(&mut bench, 1_500, 20_000, true)[2], 25);
    assert_eq!(mean_window(&mut bench, 500, 20_000, true)[2], 27);
}

#[test]
fn one_late_request_starts_a_window_of_10_ms() {
    let mut bench = Bench::new(Mean);
    bench.serve(100, Kind::R, 2 * MS, 9 * MS);
    bench.serve(100, Kind::A, 900 * MS, 900 * MS);
    assert_eq!(bench.timers, [], "on time, or without a target");
    bench.serve(1, Kind::R, 2 * MS + 1, 0);
    assert_eq!(bench.timers, [(10 * MS, 0)]);
    bench.advance(10 * MS);
    assert_eq!(bench.timers, [(110 * MS, 0)], "bad, by its own sample: the next one has 100 ms");
    bench.advance(100 * MS);
    assert_eq!(bench.timers, [], "nothing more to watch");
}

#[test]
fn an_idle_disk_gives_the_others_their_depth_back() {
    let mut bench = Bench::new(Mean);
    assert_eq!(mean_window(&mut bench, 4_000, 20_000, true)[2], 32);
    let mut depths = Vec::new();
    while !bench.timers.is_empty() {
        bench.advance(100 * MS);
        depths.push(bench.depth("OTHER"));
    }
    assert_eq!(depths, Vec::from_iter((34..=64).step_by(2)));
}
