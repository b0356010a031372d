//! Buffered I/O: thresholds, throttled writers, flushers, `fsync`, `posix_fadvise`, and the bounds of all that.
//!
//! The disk is a null device with one tag, so that it serves one request at a time: 1 MiB in 10 ms.

use mqscope_core::Sim;
use mqscope_core::event::{Event, Flags, Kind, Op, Sleep, Why};
use mqscope_core::scenario::{DeviceConfig, Path, Scenario, Vm, WriteCache};
use mqscope_core::workload::{Amount, JobSpec, Pattern, Workload};
use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const MIB: u64 = 1 << 20;
/// Bytes a second of the disk.
const RATE: u64 = 100 * MIB;

fn disk() -> DeviceConfig {
    DeviceConfig {
        nr_tags: Some(1),
        completion_ns: Some(MIB * 1_000_000_000 / RATE),
        max_segments: Some(256),
        wbt_lat_usec: Some(0),
        ..DeviceConfig::new("nullb0", "null")
    }
}

/// A sequential writer of 4 KiB blocks through the page cache.
fn writer(mib: u64) -> JobSpec {
    JobSpec { rwmixread: 0, direct: false, size: Some(Amount::Bytes(mib * MIB)), ..JobSpec::default() }
}

/// `ram` MiB of memory: the flusher works above 10 %, writers rest above 15 %, nothing goes above 20 %.
fn scenario(ram: u64, seconds: u64, jobs: Vec<JobSpec>) -> Scenario {
    Scenario {
        duration_ns: seconds * 1_000_000_000,
        machine: "small".into(),
        kernel: "5.4".into(),
        vm: Vm { ram_bytes: Some(ram * MIB), ..Vm::default() },
        devices: vec![disk()],
        workload: Workload::Jobs(jobs),
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario) -> Sim {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    assert_eq!(sim.violations(), []);
    sim
}

fn events(sim: &Sim, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
    sim.log().events().iter().filter(|event| wanted(event)).copied().collect()
}

/// What reached the disk: first sector and sectors of each completed write, in the order of issue.
fn issued(sim: &Sim) -> Vec<(u64, u32)> {
    let of = |event: &Event| match event.kind {
        Kind::Issue { extent, .. } if extent.op == Op::Write && extent.sectors > 0 => {
            Some((extent.sector, extent.sectors))
        }
        _ => None,
    };
    sim.log().events().iter().filter_map(of).collect()
}

#[test]
fn writes_below_the_background_threshold_stay_in_memory_until_they_are_old() {
    let vm = Vm {
        ram_bytes: Some(1024 * MIB),
        dirty_expire_ns: 2_000_000_000,
        dirty_writeback_ns: 500_000_000,
        ..Vm::default()
    };
    let idle = JobSpec {
        thinktime_ns: 4_000_000_000,
        thinktime_blocks: 1024,
        io_size: Some(Amount::Bytes(8 * MIB)),
        invalidate: false,
        ..writer(4)
    };
    let sim = run(&Scenario { vm, ..scenario(0, 8, vec![idle]) });
    let chunks = events(&sim, |e| matches!(e.kind, Kind::Writeback { .. }));
    let Some(&Event { at_ns, kind: Kind::Writeback { why, bytes, .. }, .. }) = chunks.first() else {
        panic!("nothing was written")
    };
    assert_eq!((why, bytes), (Why::Periodic, 4 * MIB));
    assert!((2_000_000_000..2_600_000_000).contains(&at_ns), "{at_ns}");
    assert_eq!(sim.report().page_cache.expect("a page cache").throttles, 0);
}

#[test]
fn the_flusher_starts_above_the_background_threshold_and_stops_below_it() {
    // 12 MiB of 100 MiB: above 10 %, below 15 %.
    let sim = run(&scenario(100, 10, vec![writer(12)]));
    let first = events(&sim, |e| matches!(e.kind, Kind::Writeback { .. }))[0];
    let Kind::Writeback { why, dirty, .. } = first.kind else { unreachable!("it was picked") };
    assert_eq!(why, Why::Background);
    assert!(dirty > 10 * MIB, "{dirty}");
    let cache = sim.report().page_cache.expect("a page cache");
    assert_eq!(cache.throttles, 0, "nobody is throttled below 15 MiB");
    assert!(sim.dirty_bytes().0 <= 10 * MIB && cache.written_back_bytes >= 2 * MIB, "{cache:?}");
    assert_eq!(sim.dirty_bytes().0 + cache.written_back_bytes, 12 * MIB, "what is not on the disk is dirty");
}

#[test]
fn writers_are_held_to_the_rate_of_the_disk_and_to_the_same_rate() {
    let files = |n: u64| JobSpec {
        offset: Amount::Bytes(n * 300 * MIB),
        file: n.to_string(),
        time_based: true,
        ..writer(250)
    };
    let mut setup = scenario(200, 20, vec![files(0), files(1), files(2)]);
    setup.warmup_ns = 5_000_000_000;
    let mut sim = Sim::new(&setup).expect("the scenario is valid");
    sim.run();
    let report = sim.report();
    let cache = report.page_cache.expect("a page cache");
    assert!((report.total.bandwidth / RATE as f64 - 1.0).abs() < 0.05, "{}", report.total.bandwidth);
    for job in &report.jobs {
        assert!((job.bandwidth / (RATE as f64 / 3.0) - 1.0).abs() < 0.05, "{} {}", job.name, job.bandwidth);
    }
    assert!((cache.kappa - 1.0).abs() < 1e-9, "nobody shares a page: {}", cache.kappa);
    // A writer looks after some pages only, so that the limit is passed by as many.
    assert!(cache.dirty_max_bytes <= cache.limit_bytes / 20 * 21, "{cache:?}");
    assert!(cache.dirty_bytes > cache.free_run_bytes, "{cache:?}");
}

#[test]
fn pauses_are_at_most_200_ms() {
    let sim = run(&scenario(50, 5, vec![JobSpec { time_based: true, ..writer(400) }]));
    let pauses: Vec<u64> = sim
        .log()
        .events()
        .iter()
        .filter_map(|e| match e.kind {
            Kind::DirtyThrottle { pause_ns, .. } => Some(pause_ns),
            _ => None,
        })
        .collect();
    let slept = events(&sim, |e| matches!(e.kind, Kind::TaskSleep { why: Sleep::Dirty })).len();
    assert!(!pauses.is_empty() && pauses.len() == slept);
    assert!(pauses.iter().all(|&ns| (1_000_000..=200_000_000).contains(&ns)), "{pauses:?}");
}

#[test]
fn the_flusher_sends_ascending_neighbours_in_chunks_of_at_least_4_mib() {
    let sim = run(&scenario(100, 3, vec![JobSpec { time_based: true, ..writer(900) }]));
    let sent = issued(&sim);
    assert!(sent.len() > 200);
    assert!(
        sent.windows(2).all(|pair| pair[0].0 + u64::from(pair[0].1) == pair[1].0),
        "one ascending stream"
    );
    let full = sent.iter().filter(|&&(_, sectors)| sectors == 2048).count();
    assert!(full * 10 > sent.len() * 9, "{full} of {} are full bios of 1 MiB", sent.len());
    let chunk = |e: &Event| match e.kind {
        Kind::Writeback { bytes, .. } => Some(bytes),
        _ => None,
    };
    assert!(
        sim.log().events().iter().filter_map(chunk).all(|bytes| bytes >= 4 * MIB && bytes % (4 * MIB) == 0)
    );
    let background =
        |e: &Event| matches!(e.kind, Kind::Queue { extent, .. } if extent.flags == Flags::BACKGROUND);
    assert_eq!(events(&sim, background).len(), events(&sim, |e| matches!(e.kind, Kind::Queue { .. })).len());
}

/// How often each block of 4 KiB was written to the disk.
fn writes_of_blocks(sim: &Sim) -> BTreeMap<u64, u32> {
    let mut blocks = BTreeMap::new();
    for (sector, sectors) in issued(sim) {
        for block in sector / 8..(sector + u64::from(sectors)) / 8 {
            *blocks.entry(block).or_default() += 1;
        }
    }
    blocks
}

#[test]
fn every_dirty_page_is_written_once_and_fsync_leaves_none() {
    for pattern in [Pattern::Sequential, Pattern::Random] {
        let job = JobSpec { pattern, end_fsync: true, ..writer(40) };
        let sim = run(&scenario(100, 60, vec![job]));
        assert_eq!(sim.dirty_bytes(), (0, 0), "{pattern:?}");
        let cache = sim.report().page_cache.expect("a page cache");
        let written: u64 = writes_of_blocks(&sim).values().map(|&n| u64::from(n) * 4096).sum();
        assert_eq!(cache.written_back_bytes, written, "{pattern:?}");
        // A page becomes dirty by each write that finds it clean, and is then written once.
        assert!(
            (cache.written_bytes as f64 / cache.kappa / written as f64 - 1.0).abs() < 1e-9,
            "{pattern:?}"
        );
        let all_once = writes_of_blocks(&sim).values().all(|&n| n == 1);
        assert!(pattern == Pattern::Random || (all_once && written == 40 * MIB));
    }
}

#[test]
fn a_page_written_again_before_it_reaches_the_disk_is_written_once() {
    // Two jobs write the same file side by side: kappa is 2.
    let job = JobSpec { numjobs: 2, end_fsync: true, ..writer(60) };
    let sim = run(&scenario(100, 60, vec![job]));
    let cache = sim.report().page_cache.expect("a page cache");
    assert_eq!(cache.written_bytes, 120 * MIB);
    assert!((1.9..=2.0).contains(&cache.kappa), "{cache:?}");
    assert!(cache.written_back_bytes < 64 * MIB, "{cache:?}");
}

#[test]
fn fsync_waits_for_its_pages_before_it_flushes_the_disk() {
    let job = JobSpec { fsync: 256, end_fsync: true, invalidate: false, ..writer(4) };
    let mut setup = scenario(1000, 10, vec![job]);
    setup.devices[0].write_cache = Some(WriteCache::WriteBack);
    let sim = run(&setup);
    let mut on_disk = 0;
    let mut flushes = 0;
    for event in sim.log().events() {
        match event.kind {
            Kind::Complete { extent, .. } if extent.op == Op::Write => {
                on_disk += u64::from(extent.sectors) * 512
            }
            Kind::Issue { extent, .. } if extent.op == Op::Flush => {
                flushes += 1;
                assert_eq!(on_disk, flushes * MIB, "flush {flushes}");
            }
            Kind::Queue { extent, .. } if extent.sectors > 0 => assert_eq!(extent.flags, Flags::SYNC),
            _ => {}
        }
    }
    assert_eq!(flushes, 4);
}

#[test]
fn a_write_with_o_dsync_is_on_the_disk_when_it_returns() {
    let sim = run(&scenario(1000, 10, vec![JobSpec { dsync: true, ..writer(1) }]));
    assert_eq!(issued(&sim).len(), 256, "each write is sent alone");
    assert_eq!(sim.dirty_bytes(), (0, 0));
    assert!(sim.report().total.lat.min_ns > 10_000_000, "each takes a turn of the disk");
}

/// A writer that goes over its file for the second time while much of it is dirty.
fn second_lap(path: Path) -> Sim {
    // A pool of 16 requests is congested when 15 are out.
    let mut setup = scenario(400, 2, vec![JobSpec { time_based: true, ..writer(200) }]);
    setup.devices[0].nr_requests = Some(16);
    setup.kernel = "4.19".into();
    setup.devices[0].path = Some(path);
    setup.devices[0].scheduler = "default".into();
    run(&setup)
}

#[test]
fn a_writer_that_starts_over_writes_its_pages_itself_unless_the_disk_is_congested() {
    let advice =
        |sim: &Sim| events(sim, |e| matches!(e.kind, Kind::Writeback { why: Why::Advice, .. })).len();
    let (mq, legacy) = (second_lap(Path::Mq), second_lap(Path::Legacy));
    assert_eq!((advice(&mq), advice(&legacy)), (1, 0));
    let skipped = |sim: &Sim| sim.report().page_cache.expect("a page cache").advice_skipped;
    assert_eq!((skipped(&mq), skipped(&legacy)), (0, 1));
    assert!(mq.report().total.lat.max_ns < 1_000_000_000, "the wait lies between two writes");
}

#[test]
fn reads_find_what_was_written_or_read_before() {
    let write = writer(8);
    let read = JobSpec { rwmixread: 100, phase: 1, invalidate: false, name: "again".into(), ..writer(8) };
    let sim = run(&scenario(1000, 10, vec![write, read]));
    let cache = sim.report().page_cache.expect("a page cache");
    assert_eq!((cache.hits, cache.misses), (2048, 0));
    assert_eq!(events(&sim, |e| matches!(e.kind, Kind::Queue { extent, .. } if extent.op == Op::Read)), []);
}

#[test]
fn a_sequential_reader_is_read_ahead_and_a_random_one_is_not() {
    let reads = |pattern| {
        let job = JobSpec { rwmixread: 100, pattern, ..writer(8) };
        let sim = run(&scenario(1000, 60, vec![job]));
        let sent: Vec<u32> = sim
            .log()
            .events()
            .iter()
            .filter_map(|e| match e.kind {
                Kind::Queue { extent, .. } => Some(extent.sectors),
                _ => None,
            })
            .collect();
        (sent.iter().map(|&s| u64::from(s) * 512).sum::<u64>(), sent.iter().copied().max().unwrap_or(0), sim)
    };
    let (bytes, largest, sim) = reads(Pattern::Sequential);
    assert!((8 * MIB..=8 * MIB + 256 * 1024).contains(&bytes), "{bytes}: each page once");
    assert_eq!(largest, 256, "a window is 128 KiB");
    let cache = sim.report().page_cache.expect("a page cache");
    assert!(cache.hits > 20 * cache.misses, "{cache:?}");
    let (bytes, largest, sim) = reads(Pattern::Random);
    assert!(largest <= 64 && bytes <= 8 * MIB, "{bytes} {largest}");
    assert!(sim.report().page_cache.expect("a page cache").misses > 1000);
}

#[test]
fn memory_holds_no_more_pages_than_there_are() {
    let write =
        JobSpec { time_based: true, invalidate: false, runtime_ns: Some(4_000_000_000), ..writer(200) };
    let read = JobSpec { rwmixread: 100, phase: 1, invalidate: false, name: "read".into(), ..writer(200) };
    let sim = run(&scenario(50, 60, vec![write, read]));
    let cache = sim.report().page_cache.expect("a page cache");
    // Of 200 MiB only 50 can be there; a reader in the order in which they left finds nearly none.
    assert!(cache.misses > 500, "{cache:?}");
}
