//! Flushes of a device's write cache, FUA writes and discards: the exact letters of each policy of the flush machinery, what
//! is shared, what passes whom, and where bios are split.
//!
//! Notation: letter and RWBS, as blkparse prints them.

use crate::conservation::audited;
use mqscope_core::Sim;
use mqscope_core::event::{Context, Extent, Kind, Op};
use mqscope_core::kernel::{ROWS, Row};
use mqscope_core::scenario::{DeviceConfig, Path, Scenario, WriteCache};
use mqscope_core::sched::SCHEDULERS;
use mqscope_core::workload::{
    Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Trim, Workload,
};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What the device has.
#[derive(Clone, Copy, Debug)]
enum Cache {
    None,
    WithoutFua,
    WithFua,
}

use Cache::{None as NoCache, WithFua, WithoutFua};

fn disk(cache: Cache) -> DeviceConfig {
    let write_cache = match cache {
        NoCache => WriteCache::WriteThrough,
        WithoutFua | WithFua => WriteCache::WriteBack,
    };
    DeviceConfig {
        write_cache: Some(write_cache),
        fua: Some(matches!(cache, WithFua)),
        completion_ns: Some(100_000),
        ..DeviceConfig::new("sda", "null")
    }
}

fn scenario(kernel: &str, device: DeviceConfig, workload: Workload) -> Scenario {
    Scenario {
        title: String::new(),
        duration_ns: 10_000_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices: vec![device],
        workload,
        ..Scenario::default()
    }
}

fn kib(op: Op, offset: u64, len: u32) -> BatchIo {
    BatchIo { op, device: 0, offset: offset * 1024, len: len * 1024 }
}

fn script(dsync: bool, step: BatchStep) -> Workload {
    let steps = vec![BatchStep::Cpu(1), step, BatchStep::Wait];
    Workload::Batch(BatchScript { name: "iob".into(), dsync, steps })
}

fn fsync() -> Workload {
    script(false, BatchStep::Fsync(0))
}

fn fua_write() -> Workload {
    script(true, BatchStep::Submit(vec![kib(Op::Write, 4, 4)]))
}

/// A journal's commit record: a flush before it, and past the cache.
fn commit() -> Workload {
    script(false, BatchStep::Commit(vec![kib(Op::Write, 4, 4)]))
}

fn run(scenario: &Scenario) -> Sim {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    sim.run();
    sim
}

fn rwbs(extent: Option<Extent>) -> String {
    extent.map_or_else(|| String::from("N"), |e| e.rwbs())
}

fn letters(sim: &Sim) -> String {
    let shown = sim.log().events().iter().filter_map(|event| {
        let (_, extent) = event.kind.subject()?;
        Some(format!("{}:{}", event.kind.letter()?, rwbs(extent)))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// How many requests each flush served, in the order in which the flushes started.
fn served(sim: &Sim) -> Vec<u32> {
    let started = sim.log().events().iter().filter_map(|event| match event.kind {
        Kind::FlushStart { count, .. } => Some(count),
        _ => None,
    });
    started.collect()
}

fn check(kernel: &str, cache: Cache, workload: Workload, expected: &str) {
    let sim = run(&scenario(kernel, disk(cache), workload));
    assert_eq!(letters(&sim), expected, "{kernel}, {cache:?}");
}

/// As recorded on 6.1.
#[test]
fn each_policy_has_its_letters() {
    check("6.1", NoCache, fsync(), "");
    check("6.1", NoCache, fua_write(), "Q:WS G:WS P:N D:WS C:WS");
    check("6.1", NoCache, commit(), "Q:WS G:WS D:WS C:WS");
    let flush = "Q:FWS G:FWS D:FN C:FN C:WS";
    check("6.1", WithoutFua, fsync(), flush);
    check("6.1", WithoutFua, fua_write(), "Q:WFS G:WFS D:WS C:WS D:FN C:FN C:WS");
    check("6.1", WithoutFua, commit(), "Q:FWFS G:FWFS D:FN C:FN D:WS C:WS D:FN C:FN C:WS");
    check("6.1", WithFua, fsync(), flush);
    check("6.1", WithFua, fua_write(), "Q:WFS G:WFS D:WFS C:WFS");
    check("6.1", WithFua, commit(), "Q:FWFS G:FWFS D:FN C:FN D:WFS C:WFS C:WFS");
}

/// `blk_mq_requeue_work` of 4.14 inserts into the ctx lists.
#[test]
fn in_4_14_the_parts_go_through_the_ctx_lists() {
    check("4.14", WithoutFua, fsync(), "Q:FWS G:FWS I:FN D:FN C:FN C:WS");
    check("4.14", WithoutFua, fua_write(), "Q:WFS G:WFS I:WS D:WS C:WS I:FN D:FN C:FN C:WS");
    check("4.14", WithFua, fua_write(), "Q:WFS G:WFS I:WFS D:WFS C:WFS");
    check("4.15", WithoutFua, fua_write(), "Q:WFS G:WFS D:WS C:WS D:FN C:FN C:WS");
}

/// 6.5+: what needs no flush before it goes the way of all writes.
#[test]
fn since_6_5_data_without_a_flush_before_it_is_a_normal_request() {
    check("6.18", WithFua, fua_write(), "Q:WFS G:WFS P:N U:N D:WFS C:WFS");
    check("6.18", WithoutFua, fua_write(), "Q:WFS G:WFS P:N U:N D:WS C:WS D:FN C:FN C:WS");
    check("6.18", WithoutFua, commit(), "Q:FWFS G:FWFS D:FN C:FN I:WS D:WS C:WS D:FN C:FN C:WS");
    let scheduled = DeviceConfig { scheduler: "mq-deadline".into(), ..disk(WithFua) };
    let letters_of = |kernel| letters(&run(&scenario(kernel, scheduled.clone(), commit())));
    assert_eq!(letters_of("6.18"), "Q:FWFS G:FWFS D:FN C:FN I:WFS D:WFS C:WFS C:WFS");
    assert_eq!(letters_of("6.1"), "Q:FWFS G:FWFS D:FN C:FN D:WFS C:WFS C:WFS");
}

/// Who issues a FUA write that the device takes as it is: a kworker until 5.15, its submitter since.
#[test]
fn a_fua_write_is_issued_by_a_kworker_until_its_submitter_does() {
    for (kernel, expected) in [
        ("5.4", Context::Kworker),
        ("5.10", Context::Kworker),
        ("6.1", Context::Task),
        ("6.18", Context::Task),
    ] {
        let sim = run(&scenario(kernel, disk(WithFua), fua_write()));
        let issued = sim.log().events().iter().find(|event| matches!(event.kind, Kind::Issue { .. }));
        assert_eq!(issued.map(|event| event.context), Some(expected), "{kernel}");
    }
}

#[test]
fn flush_requests_are_issued_by_kworkers() {
    for row in ROWS {
        let sim = run(&scenario(row.name, disk(WithoutFua), commit()));
        let by: Vec<Context> = sim
            .log()
            .events()
            .iter()
            .filter_map(|event| match event.kind {
                Kind::Issue { extent, .. } if extent.op == Op::Flush => Some(event.context),
                _ => None,
            })
            .collect();
        assert_eq!(by, [Context::Kworker; 2], "{}", row.name);
    }
}

/// All write once, at about the same time, and flush.
#[test]
fn concurrent_fsyncs_share_a_flush() {
    let job = JobSpec {
        rwmixread: 0,
        numjobs: 4,
        io_size: Some(Amount::Bytes(4096)),
        end_fsync: true,
        ..JobSpec::default()
    };
    let slow = DeviceConfig { completion_ns: Some(50_000_000), ..disk(WithoutFua) };
    let sim = run(&scenario("6.1", slow, Workload::Jobs(vec![job])));
    assert_eq!(letters(&sim).matches("Q:FWS").count(), 4);
    assert_eq!(served(&sim), [1, 3], "three came while the first was under way");
}

/// `blk_kick_flush`, C2: data in flight would need a flush of its own, so the pending one waits for it.
#[test]
fn a_flush_waits_for_data_that_it_can_cover() {
    let three = || {
        let writes = [4, 44, 84].map(|at| kib(Op::Write, at, 4));
        script(true, BatchStep::Submit(writes.to_vec()))
    };
    let device = |scheduler: &str| DeviceConfig {
        scheduler: scheduler.into(),
        completions_ns: vec![100_000, 200_000, 300_000],
        completion_ns: Some(1_000_000),
        ..disk(WithoutFua)
    };
    let served_on =
        |kernel: &str, scheduler: &str| served(&run(&scenario(kernel, device(scheduler), three())));
    assert_eq!(served_on("4.19", "none"), [3]);
    assert_eq!(served_on("4.19", "mq-deadline"), [1, 2]);
    assert_eq!(served_on("5.4", "none"), [1, 2]);
    assert_eq!(served_on("5.4", "mq-deadline"), [3]);
    assert_eq!(served_on("6.1", "none"), [3]);
    assert_eq!(served_on("6.1", "mq-deadline"), [3]);
}

/// Sixteen writes want two tags when the flush comes.
#[test]
fn a_flush_passes_the_queue_of_a_scheduler() {
    for row in SCHEDULERS.iter().filter(|row| row.path == Path::Mq) {
        for kernel in ["4.15", "5.10", "6.1", "6.18"] {
            let job = JobSpec {
                engine: Engine::Libaio,
                pattern: Pattern::Random,
                rwmixread: 0,
                iodepth: 16,
                iodepth_batch_submit: 16,
                size: Some(Amount::Bytes(64 << 20)),
                io_size: Some(Amount::Bytes(17 * 4096)),
                fsync: 16,
                ..JobSpec::default()
            };
            let device = DeviceConfig {
                scheduler: row.name.into(),
                nr_tags: Some(2),
                nr_requests: Some(64),
                ..disk(WithoutFua)
            };
            let sim = run(&scenario(kernel, device, Workload::Jobs(vec![job])));
            let kinds = sim.log().events().iter().map(|event| event.kind);
            let of_flush = |kind: &Kind| kind.subject().and_then(|s| s.1).is_some_and(|e| e.op == Op::Flush);
            let inserted = kinds.clone().filter(|k| matches!(k, Kind::Insert { .. }) && of_flush(k)).count();
            let before = kinds.take_while(|k| !(matches!(k, Kind::Issue { .. }) && of_flush(k)));
            let issued = before.filter(|k| matches!(k, Kind::Issue { .. })).count();
            assert_eq!(inserted, 0, "{} on {kernel}", row.name);
            assert!(issued < 16, "{} on {kernel}: all writes went first", row.name);
        }
    }
}

#[test]
fn nothing_of_a_flush_is_lost_with_any_scheduler() {
    let mq = SCHEDULERS.iter().filter(|row| row.path == Path::Mq && row.name != "none");
    let with_elevators = |row: &&Row| row.knobs.mq_elevators;
    for scheduler in ["none"].into_iter().chain(mq.map(|row| row.name)) {
        for kernel in ROWS.iter().filter(with_elevators) {
            for cache in [NoCache, WithoutFua, WithFua] {
                let job = JobSpec {
                    engine: Engine::Libaio,
                    pattern: Pattern::Random,
                    rwmixread: 30,
                    iodepth: 8,
                    iodepth_batch_submit: 3,
                    numjobs: 3,
                    size: Some(Amount::Bytes(64 << 20)),
                    io_size: Some(Amount::Bytes(40 * 4096)),
                    fsync: 5,
                    dsync: true,
                    end_fsync: true,
                    ..JobSpec::default()
                };
                let device = DeviceConfig { scheduler: scheduler.into(), nr_tags: Some(3), ..disk(cache) };
                let (sim, audit) = audited(&scenario(kernel.name, device, Workload::Jobs(vec![job])));
                assert_eq!(sim.report().total.ios, 120, "{} on {}, {cache:?}", scheduler, kernel.name);
                let violations = audit.finish();
                assert!(violations.is_empty(), "{} on {}, {cache:?}: {violations:?}", scheduler, kernel.name);
            }
        }
    }
}

/// As recorded on an AHCI disk: D and R after each completion, until no other command is at the device.
#[test]
fn a_flush_that_cannot_be_queued_is_refused_until_the_device_is_empty() {
    let job = JobSpec {
        engine: Engine::Libaio,
        rwmixread: 0,
        bs: [65_536; 2],
        iodepth: 3,
        iodepth_batch_submit: 3,
        io_size: Some(Amount::Bytes(4 * 65_536)),
        fsync: 3,
        ..JobSpec::default()
    };
    let device = |model: &str, nomerges| DeviceConfig {
        model: model.into(),
        nomerges,
        flush_not_queued: Some(true),
        completions_ns: vec![1_000_000, 2_000_000, 3_000_000],
        ..disk(WithoutFua)
    };
    let sim = run(&scenario("6.1", device("null", 2), Workload::Jobs(vec![job])));
    let text = letters(&sim);
    let (_, from_flush) = text.split_once("G:FWS ").expect("an fsync was called");
    let (from_flush, _) = from_flush.split_once(" Q:WS").expect("one more write follows");
    assert_eq!(
        from_flush, "D:FN R:FN C:WS D:FN R:FN C:WS D:FN R:FN C:WS D:FN C:FN C:WS",
        "three writes are in flight when the flush comes"
    );
}

#[test]
fn a_synchronous_write_to_a_dsync_file_flushes_before_it_returns() {
    let job = JobSpec { rwmixread: 0, io_size: Some(Amount::Bytes(4096)), dsync: true, ..JobSpec::default() };
    let letters_with =
        |cache| letters(&run(&scenario("6.1", disk(cache), Workload::Jobs(vec![job.clone()]))));
    assert_eq!(letters_with(WithFua), "Q:WFS G:WFS D:WFS C:WFS Q:FWS G:FWS D:FN C:FN C:WS");
    assert_eq!(letters_with(NoCache), "Q:WS G:WS P:N UT:N I:WS D:WS C:WS");
}

#[test]
fn fsync_and_end_fsync_flush_as_often_as_fio_does() {
    let flushes = |fsync, end_fsync, rwmixread| {
        let io_size = Some(Amount::Bytes(7 * 4096));
        let job = JobSpec { rwmixread, io_size, fsync, end_fsync, ..JobSpec::default() };
        letters(&run(&scenario("6.1", disk(WithoutFua), Workload::Jobs(vec![job])))).matches("D:FN").count()
    };
    assert_eq!(flushes(2, false, 0), 3);
    assert_eq!(flushes(2, true, 0), 4);
    assert_eq!(flushes(0, true, 0), 1);
    assert_eq!(flushes(2, true, 100), 0, "nothing was written");
}

/// The ioctl sleeps with its plug, as recorded on 6.1.
#[test]
fn a_discard_leaves_the_plug_when_its_caller_sleeps() {
    let workload = || script(false, BatchStep::Discard(vec![kib(Op::Discard, 0, 1024)]));
    check("6.1", NoCache, workload(), "Q:DS G:DS P:N UT:N I:DS D:DS C:DS");
    check("6.18", NoCache, workload(), "Q:DS G:DS P:N UT:N I:DS D:DS C:DS");
}

fn issued(sim: &Sim) -> Vec<(u64, u32)> {
    let extents = sim.log().events().iter().filter_map(|event| match event.kind {
        Kind::Issue { extent, .. } => Some((extent.sector, extent.sectors)),
        _ => None,
    });
    let mut issued: Vec<_> = extents.collect();
    issued.sort_unstable();
    issued
}

#[test]
fn a_long_discard_is_cut_at_multiples_of_the_granularity() {
    let device = DeviceConfig {
        discard_max_bytes: Some(70 * 1024),
        discard_granularity: Some(16 * 1024),
        ..disk(NoCache)
    };
    let workload = script(false, BatchStep::Discard(vec![kib(Op::Discard, 1, 200)]));
    let sim = run(&scenario("6.1", device, workload));
    // 64 KiB are whole units; the first piece ends at KiB 64.
    assert_eq!(issued(&sim), [(2, 126), (128, 128), (256, 128), (384, 18)]);
    assert_eq!(letters(&sim).matches("X:DS").count(), 3);
}

#[test]
fn a_read_is_cut_to_max_segments() {
    let device = DeviceConfig { max_segments: Some(4), ..disk(NoCache) };
    let workload = script(false, BatchStep::Submit(vec![kib(Op::Read, 0, 40)]));
    assert_eq!(issued(&run(&scenario("6.1", device, workload))), [(0, 32), (32, 32), (64, 16)]);
}

#[test]
fn trimming_jobs_discard_instead_of_writing_or_before_it() {
    let letters_of = |trim| {
        let io_size = Some(Amount::Bytes(4096));
        let job = JobSpec { rwmixread: 0, io_size, trim, ..JobSpec::default() };
        letters(&run(&scenario("6.1", disk(NoCache), Workload::Jobs(vec![job]))))
    };
    let discard = "Q:DS G:DS P:N UT:N I:DS D:DS C:DS";
    assert_eq!(letters_of(Trim::Only), discard);
    assert_eq!(letters_of(Trim::BeforeWrite), format!("{discard} Q:WS G:WS P:N UT:N I:WS D:WS C:WS"));
}
