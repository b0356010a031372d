//! Which blocks a fio job asks for: sizes, places, distributions, repetitions.

use mqscope_core::Sim;
use mqscope_core::event::Kind;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{
    Amount, BsShare, Distribution, JobSpec, Pattern, Sequencer, SyncFileRange, SyncRange, Workload,
};
use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A random reader of `blocks` blocks of 4 KiB.
fn reader(blocks: u64) -> JobSpec {
    JobSpec { pattern: Pattern::Random, size: Some(Amount::Bytes(blocks * 4096)), ..JobSpec::default() }
}

/// What a job asks for, in order: first sector and sectors.
fn asked(job: JobSpec) -> Vec<(u64, u32)> {
    let setup = Scenario {
        duration_ns: 60_000_000_000,
        machine: "small".into(),
        kernel: "5.4".into(),
        devices: vec![DeviceConfig { max_segments: Some(1024), ..DeviceConfig::new("nullb0", "null") }],
        workload: Workload::Jobs(vec![job]),
        ..Scenario::default()
    };
    let mut sim = Sim::new(&setup).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let bio = |kind| match kind {
        Kind::Queue { extent, .. } => Some((extent.sector, extent.sectors)),
        _ => None,
    };
    sim.log().events().iter().filter_map(|event| bio(event.kind)).collect()
}

#[test]
fn a_random_map_meets_every_block_once_a_lap() {
    let times = |random_map| {
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        for (sector, _) in asked(JobSpec { random_map, loops: 2, ..reader(300) }) {
            *times.entry(sector).or_default() += 1;
        }
        times
    };
    let mapped = times(true);
    assert_eq!(mapped.len(), 300);
    assert!(mapped.values().all(|&n| n == 2));
    // Without it a share of e^-2 of the blocks is never met.
    let missed = 300.0 - times(false).len() as f64;
    assert!((missed / 300.0 - (-2.0_f64).exp()).abs() < 0.06, "{missed}");
}

#[test]
fn the_second_lap_has_another_order_than_the_first() {
    let all = asked(JobSpec { random_map: true, loops: 2, ..reader(64) });
    assert_eq!(all.len(), 128);
    assert_ne!(all[..64], all[64..]);
}

#[test]
fn a_split_of_block_sizes_has_its_shares() {
    let share = |bytes, percent| BsShare { bytes, percent };
    let split = vec![share(4096, 60), share(8192, 30), share(65_536, 10)];
    let all = asked(JobSpec { bssplit: [split.clone(), split], ..reader(32_768) });
    let bytes =
        |of: u32| all.iter().filter(|&&(_, sectors)| sectors * 512 == of).count() as f64 / all.len() as f64;
    assert!((bytes(4096) - 0.6).abs() < 0.03 && (bytes(8192) - 0.3).abs() < 0.03, "{}", bytes(4096));
    assert!((bytes(65_536) - 0.1).abs() < 0.02, "{}", bytes(65_536));
    assert!(all.iter().all(|&(sector, _)| sector % 8 == 0), "places are multiples of the smallest");
}

#[test]
fn sizes_of_a_range_are_multiples_of_the_smallest() {
    let all = asked(JobSpec { bsrange: Some([[4096, 16_384]; 2]), ..reader(8192) });
    for pages in 1..=4 {
        let share =
            all.iter().filter(|&&(_, sectors)| sectors == 8 * pages).count() as f64 / all.len() as f64;
        assert!((share - 0.25).abs() < 0.03, "{pages} pages: {share}");
    }
}

#[test]
fn a_sequential_job_with_several_sizes_leaves_no_hole() {
    let job = JobSpec { pattern: Pattern::Sequential, bsrange: Some([[4096, 16_384]; 2]), ..reader(1024) };
    let all = asked(job);
    assert!(all.windows(2).all(|two| two[0].0 + u64::from(two[0].1) == two[1].0 || two[1].0 == 0));
}

/// Share of I/Os that begin where the one before ended.
fn going_on(all: &[(u64, u32)]) -> f64 {
    let on = all.windows(2).filter(|two| two[0].0 + u64::from(two[0].1) == two[1].0).count();
    on as f64 / (all.len() - 1) as f64
}

#[test]
fn percentage_random_leaves_the_rest_sequential() {
    let all = asked(JobSpec { percentage_random: [30, 30], ..reader(4096) });
    assert!((going_on(&all) - 0.7).abs() < 0.03, "{}", going_on(&all));
}

#[test]
fn several_ios_go_from_each_random_offset() {
    let run = |sequencer| asked(JobSpec { run: 8, sequencer, random_map: true, ..reader(4096) });
    assert!((going_on(&run(Sequencer::Sequential)) - 7.0 / 8.0).abs() < 0.01);
    let same = run(Sequencer::Identical);
    let repeated = same.windows(2).filter(|two| two[0] == two[1]).count() as f64 / same.len() as f64;
    assert!((repeated - 7.0 / 8.0).abs() < 0.01, "{repeated}");
}

#[test]
fn popular_blocks_of_zipf_and_pareto_are_spread_over_the_file() {
    for distribution in [Distribution::Zipf(1.2), Distribution::Pareto(0.1)] {
        let all = asked(JobSpec { distribution, loops: 4, ..reader(1000) });
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        all.iter().for_each(|&(sector, _)| *times.entry(sector / 8).or_default() += 1);
        let mut popular: Vec<(u32, u64)> = times.iter().map(|(&block, &n)| (n, block)).collect();
        popular.sort_unstable_by(|a, b| b.cmp(a));
        let tenth: u32 = popular[..100].iter().map(|&(n, _)| n).sum();
        assert!(f64::from(tenth) > 0.5 * all.len() as f64, "{distribution:?}: {tenth}");
        let low = popular[..20].iter().filter(|&&(_, block)| block < 500).count();
        assert!((3..=17).contains(&low), "{distribution:?}: {low} of 20 lie in the first half");
    }
}

#[test]
fn sync_file_range_writes_what_was_written_since_the_last_call() {
    let how = SyncRange { write: true, ..SyncRange::default() };
    let job = JobSpec {
        direct: false,
        pattern: Pattern::Sequential,
        rwmixread: 0,
        sync_file_range: Some(SyncFileRange { every: 8, how }),
        ..reader(64)
    };
    let all = asked(job);
    // The last eight are followed by no call: the job is over.
    assert_eq!(all, (0..7).map(|n| (n * 64, 64)).collect::<Vec<_>>());
}
