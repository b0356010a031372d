//! Random scenarios: any kernel row with a few knobs overridden, any device, small jobs that end by themselves.

use mqscope_core::event::{Op, Prio, PrioClass};
use mqscope_core::kernel::{Knobs, ROWS};
use mqscope_core::scenario::{BusyAnswer, DeviceConfig, Path, Scenario, WriteCache};
use mqscope_core::workload::{
    Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Trim, Workload,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

/// Cases of a property. Wasm in a debug build is slow, and what it could break is arithmetic, not rules.
const CASES: u32 = if cfg!(target_arch = "wasm32") { 8 } else { 256 };
/// Simulated time within which every generated workload ends, ns.
const DURATION_NS: u64 = 60_000_000_000;
const KIB: u32 = 1024;

/// The same cases in every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` ask for others.
pub fn config() -> ProptestConfig {
    let defaults = ProptestConfig::default();
    let fixed = |variable: &str| std::env::var_os(variable).is_none();
    ProptestConfig {
        cases: if fixed("PROPTEST_CASES") { CASES } else { defaults.cases },
        rng_seed: if fixed("PROPTEST_RNG_SEED") { RngSeed::Fixed(1) } else { defaults.rng_seed },
        failure_persistence: None,
        ..defaults
    }
}

/// A scenario that a failing property prints as TOML, ready for `cargo xtask run` and for `found.rs`.
#[derive(Clone)]
pub struct Shown(pub Scenario);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0.to_toml())
    }
}

prop_compose! {
    /// Any scenario whose workload ends by itself.
    pub fn any()(disks in 1_usize..=2, legacy in prop::bool::weighted(0.3))(
        seed in 0_u64..1 << 63,
        kernel in select(ROWS.iter().filter(|r| r.knobs.legacy_path || !legacy).map(|r| r.name).collect::<Vec<_>>()),
        machine in select(vec!["small", "desktop"]),
        mut set in knobs(),
        model in select(if legacy {
            vec!["null", "hba-r0-8ssd", "hdd-1t-desktop"]
        } else {
            vec!["null", "p3700-800", "p4510-2t", "p4800x-375", "hba-r0-8ssd", "scsi-debug", "hdd-1t-desktop"]
        }),
        elevator in select(schedulers(Path::Legacy)),
        (legacy, mixed) in (Just(legacy), prop::bool::ANY),
        devices in vec(disk(), disks),
        workload in workload(disks),
        stack in of(select(vec![("md-raid0", Some(4)), ("md-raid0", Some(64)), ("dm-linear", None)])),
    ) -> Shown {
        let nvme = model.starts_with('p');
        let device = |(i, mut disk): (usize, DeviceConfig)| {
            // Volumes of an adapter share their path.
            if legacy && !(mixed && i == 1 && model == "null") {
                (disk.path, disk.scheduler) = (Some(Path::Legacy), elevator.into());
            }
            let poll_queues = if nvme { disk.poll_queues } else { 0 };
            DeviceConfig { name: format!("disk{i}"), model: model.into(), poll_queues, ..disk }
        };
        let mut devices: Vec<DeviceConfig> = devices.into_iter().enumerate().map(device).collect();
        // Jobs number disks from 0: a stacked disk takes the place of the first, which goes behind the others.
        if let Some((model, chunk_kb)) = stack {
            let members: Vec<String> = devices.iter().map(|d| d.name.clone()).collect();
            let first = devices[0].clone();
            let file_lock = first.file_lock.clone();
            devices[0] = DeviceConfig { members, chunk_kb, file_lock, ..DeviceConfig::new("stack", model) };
            devices.push(first);
        }
        if legacy {
            set.remove("legacy_path"); // it would be refused
        }
        let mut scenario = Scenario {
            title: String::new(),
            seed,
            duration_ns: DURATION_NS,
            machine: machine.into(),
            kernel: kernel.into(),
            set,
            devices,
            workload,
            ..Scenario::default()
        };
        // Early blk-mq has no schedulers and refuses them.
        if !scenario.knobs().is_ok_and(|knobs| knobs.mq_elevators) {
            let mq = scenario.devices.iter_mut().filter(|disk| disk.path.is_none());
            mq.for_each(|disk| disk.scheduler = "none".into());
        }
        // Until 5.18 the polls of one hctx can put off the run of another for ever (`found.rs`): such a run has no end.
        let puts_off = |k: Knobs| k.budget_rerun && k.delay_takes_queued && !k.delay_skips_pending;
        if scenario.devices.iter().any(|d| d.scheduler == "bfq") && scenario.knobs().is_ok_and(puts_off) {
            scenario.set.insert("delay_skips_pending".into(), "true".into());
        }
        Shown(scenario)
    }
}

/// The same with all I/O of one priority: the rule that serves lower ones in the end belongs to the kernel that began.
pub fn without_priorities(Shown(mut scenario): Shown) -> Shown {
    match &mut scenario.workload {
        Workload::Jobs(jobs) => {
            for job in jobs {
                (job.prio, job.cmdprio_percentage) = (Prio::default(), [0; 2]);
            }
        }
        // Its clients and their log have no priorities.
        Workload::Dbench(_) => {}
        Workload::Batch(script) => script.steps.retain(|step| !matches!(step, BatchStep::Prio(_))),
    }
    Shown(scenario)
}

/// Up to two knobs with values that make sense.
fn knobs() -> impl Strategy<Value = BTreeMap<String, String>> {
    let knob = select(ROWS[0].knobs.list()).prop_flat_map(|knob| {
        let values: Vec<&str> =
            if knob.choices.is_empty() { vec!["0", "1", "3", "16"] } else { knob.choices.to_vec() };
        (Just(knob.name.to_owned()), select(values).prop_map(String::from))
    });
    let sensible = |(name, value): &(String, String)| match name.as_str() {
        "plug_max" | "plug_max_multi" => value != "0",
        "max_sectors_kb" => value == "16",
        // Who holds back requests of lower priority is asked again by a rule of the same kernels.
        "budget_rerun" | "deadline_prio" => false,
        _ => true,
    };
    vec(knob.prop_filter("a plug holds something, a request a page", sensible), 0..=2)
        .prop_map(|pairs| pairs.into_iter().collect())
}

prop_compose! {
    /// Depths from one upwards, so that tags and budgets run out.
    fn disk()(
        scheduler in select([&["none", "none", "default"][..], &schedulers(Path::Mq)[..]].concat()),
        nr_tags in of(1_u32..=40),
        nr_requests in of(1_u32..=40),
        queue_depth in of(1_u32..=20),
        (every_nth, every_nth_answer) in (
            // Each refusal may cost 21 ms, and the run has to end in time.
            select(vec![0_u32, 29, 64]),
            select(vec![BusyAnswer::HostBusy, BusyAnswer::DeviceBusy, BusyAnswer::StatusBusy]),
        ),
        nr_hw_queues in of(1_u16..=4),
        nomerges in 0_u8..=2,
        rq_affinity in 0_u8..=2,
        max_sectors_kb in of(select(vec![4_u32, 64, 1280])),
        completion_ns in of(select(vec![1_u64, 100, 10_000, 10_000_000])),
        file_lock in of(select(vec!["ext4", "xfs"])),
        wbt_lat_usec in of(select(vec![0_u64, 1, 2000])),
        poll_queues in select(vec![0_u16, 0, 1, 3]),
        (cached, fua, flush_not_queued) in any_bools(),
        discard_max_bytes in of(select(vec![4096_u64, 10_240, 65_536])),
        discard_granularity in of(select(vec![512_u32, 4096])),
    ) -> DeviceConfig {
        DeviceConfig {
            scheduler: scheduler.into(),
            nr_tags,
            nr_requests,
            queue_depth,
            every_nth,
            every_nth_answer,
            nr_hw_queues,
            nomerges,
            rq_affinity,
            max_sectors_kb,
            completion_ns,
            file_lock: file_lock.map(String::from),
            wbt_lat_usec,
            poll_queues,
            write_cache: Some(if cached { WriteCache::WriteBack } else { WriteCache::WriteThrough }),
            fua: Some(fua),
            flush_not_queued: Some(flush_not_queued),
            discard_max_bytes,
            discard_granularity,
            ..DeviceConfig::new("", "")
        }
    }
}

fn any_bools() -> impl Strategy<Value = (bool, bool, bool)> {
    (proptest::bool::ANY, proptest::bool::ANY, proptest::bool::ANY)
}

fn schedulers(path: Path) -> Vec<&'static str> {
    mqscope_core::sched::SCHEDULERS.iter().filter(|row| row.path == path).map(|row| row.name).collect()
}

fn workload(disks: usize) -> impl Strategy<Value = Workload> {
    prop_oneof![
        3 => vec(job(disks), 1..=2).prop_map(Workload::Jobs),
        1 => script(disks).prop_map(Workload::Batch),
    ]
}

prop_compose! {
    fn job(disks: usize)(
        (engine, pattern) in (
            select(vec![Engine::Psync, Engine::Libaio, Engine::IoUring]),
            select(vec![Pattern::Sequential, Pattern::Random]),
        ),
        rwmixread in select(vec![0_u8, 50, 100]),
        bs in select(vec![512, 4 * KIB, 64 * KIB, 512 * KIB]),
        (iodepth, submit, complete_min, low) in (1_u32..=40, 1_u32..=20, 1_u32..=8, 0_u32..=10),
        numjobs in 1_u32..=3,
        ios in 1_u64..=60,
        rate in of(1_000_u32..=200_000),
        poisson in proptest::bool::ANY,
        thinktime_ns in select(vec![0_u64, 0, 3_000, 200_000]),
        (cpus, split) in (of(vec(0_u16..4, 1..=3)), proptest::bool::ANY),
        complete_max in 0_u32..=8,
        startdelay_ns in select(vec![0_u64, 0, 0, 70_000]),
        (offset, both) in (0_u32..=3, proptest::bool::ANY),
        (direct, own_files, hipri) in (proptest::bool::weighted(0.7), proptest::bool::ANY, proptest::bool::ANY),
        (class, cmdprio) in (select(vec![PrioClass::None, PrioClass::Rt, PrioClass::Be, PrioClass::Idle]), 0_u8..=100),
        phase in 0_u32..=1,
        (trim, fsync) in (
            select(vec![Trim::None, Trim::None, Trim::Only, Trim::BeforeWrite]),
            select(vec![0_u32, 0, 1, 3]),
        ),
        (end_fsync, dsync, _) in any_bools(),
    ) -> JobSpec {
        let depth = if engine == Engine::Psync { 1 } else { iodepth };
        JobSpec {
            name: format!("job{phase}"),
            engine,
            pattern,
            rwmixread,
            bs: [bs; 2],
            iodepth: depth,
            iodepth_batch_submit: submit.min(depth),
            iodepth_batch_complete_min: complete_min.min(depth),
            iodepth_low: low.min(depth),
            numjobs,
            files: if both { (0..disks as u16).collect() } else { vec![0] },
            size: Some(Amount::Bytes(64 << 20)),
            io_size: Some(Amount::Bytes(ios * u64::from(bs))),
            rate_iops: [rate; 2],
            rate_poisson: poisson,
            thinktime_ns,
            cpus_allowed: cpus,
            cpus_split: split,
            iodepth_batch_complete_max: complete_max,
            startdelay_ns,
            offset: Amount::Percent(f64::from(offset) * 10.0),
            phase,
            direct,
            own_files,
            hipri,
            prio: Prio { class, level: 3 },
            cmdprio_percentage: [cmdprio, cmdprio / 2],
            trim,
            fsync,
            end_fsync,
            dsync,
            ..JobSpec::default()
        }
    }
}

fn script(disks: usize) -> impl Strategy<Value = BatchScript> {
    let io = (proptest::bool::ANY, 0..disks as u16, 0_u64..64, select(vec![1_u32, 4, 64, 256])).prop_map(
        |(write, device, place, kib)| BatchIo {
            op: if write { Op::Write } else { Op::Read },
            device,
            offset: place * 4096,
            len: kib * KIB,
        },
    );
    let writes = io.clone().prop_map(|io| BatchIo { op: Op::Write, ..io });
    let discard = |ios: Vec<BatchIo>| {
        BatchStep::Discard(ios.into_iter().map(|io| BatchIo { op: Op::Discard, ..io }).collect())
    };
    let discards = vec(io.clone(), 1..3).prop_map(discard);
    let commit = |ios: Vec<BatchIo>| {
        BatchStep::Commit(ios.into_iter().map(|io| BatchIo { op: Op::Write, ..io }).collect())
    };
    let commits = vec(io.clone(), 1..3).prop_map(commit);
    let submit = vec(io, 1..40).prop_map(BatchStep::Submit);
    let step = prop_oneof![
        4 => submit.clone(),
        1 => vec(writes, 1..40).prop_map(BatchStep::Writeback),
        1 => select(vec![(PrioClass::Rt, 0_u8), (PrioClass::Be, 7), (PrioClass::Idle, 4)])
            .prop_map(|(class, level)| BatchStep::Prio(Prio { class, level })),
        1 => (0_u16..4).prop_map(BatchStep::Cpu),
        1 => Just(BatchStep::Wait),
        1 => (0..disks as u16).prop_map(BatchStep::Fsync),
        1 => discards,
        1 => commits,
        1 => (1_u64..50_000).prop_map(BatchStep::Sleep),
    ];
    // At least one call, so that there is something to check.
    (vec(step, 0..12), submit, proptest::bool::ANY).prop_map(|(mut steps, last, dsync)| {
        steps.extend([last, BatchStep::Wait]);
        BatchScript { name: "iob".into(), dsync, steps }
    })
}
