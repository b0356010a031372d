//! Job files as they come from tickets, guides and colleagues, with the meaning that each must get.

use crate::support::{assert_one, assert_some, jobs, machine, messages, read};
use mqscope_core::event::{Prio, PrioClass};
use mqscope_core::format::fio::{Ask, Context, Effect, parse};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern};

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

fn phases(jobs: &[JobSpec]) -> Vec<(&str, u32)> {
    jobs.iter().map(|job| (job.name.as_str(), job.phase)).collect()
}

#[test]
fn odd_spacing_and_comments_behind_values() {
    let parsed = read(include_bytes!("../data/fio/01-global-odd-spacing.fio"));
    assert_one(&messages(&parsed), &["line 8, column 6: warning", "refuses the blank before 'randread'"]);
    assert_eq!(parsed.files, ["/dev/sdx", "/dev/sdy"]);
    let common = JobSpec {
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth_batch_complete_max: 1,
        numjobs: 4,
        runtime_ns: Some(60 * SECOND),
        time_based: true,
        random_map: true,
        ..JobSpec::default()
    };
    let a = JobSpec { name: "disk a".into(), iodepth: 32, iodepth_low: 32, files: vec![0], ..common.clone() };
    let b = JobSpec { name: "disk-b".into(), iodepth: 8, iodepth_low: 8, files: vec![1], ..common };
    assert_eq!(parsed.jobs, [a, b]);
}

#[test]
fn a_sweep_of_stonewalled_sections() {
    let parsed = read(include_bytes!("../data/fio/02-stonewall-sweep.fio"));
    assert_one(&messages(&parsed), &["line 27", "'rand-write-2' has no stonewall", "at the same time"]);
    assert_eq!(parsed.files, ["/mnt/ssd/ssd.test.file"]);
    assert_eq!(
        phases(&parsed.jobs),
        [("seq-read", 0), ("rand-read", 1), ("seq-write", 2), ("rand-write", 3), ("rand-write-2", 3)]
    );
    for job in &parsed.jobs {
        assert_eq!((job.size, job.runtime_ns), (Some(Amount::Bytes(10 * GIB)), Some(60 * SECOND)));
        assert!(!job.time_based);
    }
    let reads: Vec<_> = parsed.jobs.iter().map(|job| (job.pattern, job.rwmixread, job.iodepth)).collect();
    use Pattern::{Random, Sequential};
    assert_eq!(
        reads,
        [(Sequential, 100, 4), (Random, 100, 4), (Sequential, 0, 4), (Random, 0, 4), (Random, 0, 32)]
    );
}

#[test]
fn units_percentages_and_the_kib_of_fio() {
    let text = include_bytes!("../data/fio/05-units.fio");
    let parsed = read(text);
    assert_one(&messages(&parsed), &["line 26, column 4", "65536 bytes", "fio 3.33 itself gives 64000"]);
    let jobs = &parsed.jobs;
    assert_eq!(phases(jobs), [("quarter", 0), ("half-kib", 1), ("spelled", 2), ("si", 3)]);
    assert_eq!(jobs[0].bs, [1 << 20; 2]);
    assert_eq!((jobs[0].offset, jobs[0].size), (Amount::Percent(25.0), Some(Amount::Percent(25.0))));
    assert_eq!(jobs[1].bs, [4096; 2]);
    assert_eq!((jobs[1].io_size, jobs[1].size), (Some(Amount::Bytes(10 * GIB)), Some(Amount::Percent(50.0))));
    assert_eq!((jobs[2].bs, jobs[2].size), ([65536; 2], Some(Amount::Bytes(1 << 40))));
    assert_eq!((jobs[3].bs, jobs[3].size), ([128_000; 2], Some(Amount::Bytes(10_000_000_000))));
    let runtimes: Vec<_> = jobs.iter().map(|job| job.runtime_ns.map(|ns| ns / SECOND)).collect();
    assert_eq!(runtimes, [Some(300), Some(300), Some(90), Some(300)]);
    assert!(jobs.iter().all(|job| job.time_based && job.ramp_time_ns == 30 * SECOND));

    let small = parse(text, &Context { disk_bytes: Some(100 * GIB), ..machine() });
    assert_some(&messages(&small), &["size=1099511627776 of 'spelled'", "cut"]);
    assert_eq!(small.jobs[2].size, Some(Amount::Bytes(100 * GIB)));
}

#[test]
fn mixes_rates_and_think_times() {
    let parsed = read(include_bytes!("../data/fio/07-mix-rate-thinktime.fio"));
    let said = messages(&parsed);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert_some(&said, &["line 13", "add up to 110", "60 % reads"]);
    assert_some(&said, &["line 35", "'io_submit_mode' has no effect here", "latency under load differs"]);
    let jobs = &parsed.jobs;
    assert_eq!(phases(jobs), [("oltp", 0), ("trickle", 0), ("burst", 0), ("poisson", 0)]);
    assert_eq!((jobs[0].rwmixread, jobs[0].rate_iops, jobs[0].bs), (60, [Some(500), Some(200)], [8192; 2]));
    assert_eq!((jobs[1].rate, jobs[1].engine), ([Some(2 << 20); 2], Engine::Psync));
    assert_eq!(
        (jobs[2].thinktime_ns, jobs[2].thinktime_blocks, jobs[2].thinktime_spin_ns),
        (1_000_000, 4, 200_000)
    );
    assert!(jobs[3].rate_poisson && !jobs[0].rate_poisson);
    assert_eq!((jobs[3].rate_iops, jobs[3].iodepth), ([Some(50); 2], 32));
}

#[test]
fn typos_are_all_reported_and_nothing_runs() {
    let parsed = read(include_bytes!("../data/fio/08-unknown-and-typos.fio"));
    let said = messages(&parsed);
    assert!(parsed.jobs.is_empty());
    assert_eq!(said.len(), 5, "{said:#?}");
    assert_some(&said, &["line 12, column 1: error", "'iodepht'", "Did you mean 'iodepth'?"]);
    assert_some(&said, &["line 13, column 1: error", "'queue_depth'", "setting of the device"]);
    assert_some(&said, &["line 14, column 1: error", "'hipri' exists only for ioengine io_uring", "libaio"]);
    assert_some(&said, &["line 17, column 4: error", "'rnadread'", "Did you mean 'randread'?"]);
    assert_some(&said, &["line 22, column 9: error", "'eight' is not a number"]);

    let mended =
        "[global]\nioengine=libaio\ndirect=1\nfilename=/dev/sdx\nioscheduler=mq-deadline\n[a]\nrw=randread\n";
    assert_eq!(jobs(mended)[0].ioscheduler.as_deref(), Some("mq-deadline"));
}

#[test]
fn variables_are_asked_for_with_the_hints_of_the_comment() {
    let text = include_bytes!("../data/fio/09-env-and-keywords.fio");
    let parsed = read(text);
    assert!(parsed.jobs.is_empty());
    let ask = |name: &str, line, column, hint: Option<&str>| Ask {
        name: name.into(),
        line,
        column,
        hint: hint.map(String::from),
    };
    assert_eq!(
        parsed.asks,
        [
            ask("BS", 5, 4, None),
            ask("SIZE", 6, 6, Some("4G")),
            ask("DISK", 8, 10, Some("/dev/sdx")),
            ask("JOBS", 11, 9, Some("3"))
        ]
    );
    let values = [("BS", "8k"), ("SIZE", "4G"), ("DISK", "/dev/sdx"), ("JOBS", "3")];
    let variables = values.map(|(name, value)| (name.into(), value.into())).into();
    let parsed = parse(text, &Context { variables, ..machine() });
    let said = messages(&parsed);
    assert!(parsed.is_ok() && parsed.asks.is_empty(), "{said:#?}");
    assert_some(&said, &["line 12", "${DEPTH:-16} is the shell's way", "read as 16"]);
    assert_some(&said, &["line 16", "without a unit it means 196608 bytes"]);
    let [w, half] = parsed.jobs.as_slice() else { panic!("{:?}", parsed.jobs) };
    assert_eq!((w.bs, w.size, w.numjobs, w.iodepth), ([8192; 2], Some(Amount::Bytes(4 * GIB)), 3, 16));
    assert_eq!((half.size, half.numjobs, half.phase), (Some(Amount::Bytes(196_608)), 72, 1));
    assert_eq!(parsed.files, ["/dev/sdx"]);
}

#[test]
fn buffered_writes_with_fdatasync_run_with_warnings() {
    let parsed = read(include_bytes!("../data/fio/12-wal-fdatasync.fio"));
    let said = messages(&parsed);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_some(&said, &["line 8, column 4", "bs=2300 is not a multiple of 512 bytes", "2560"]);
    let job = &parsed.jobs[0];
    assert_eq!(job.fsync, 1, "fdatasync");
    assert_eq!((job.engine, job.iodepth, job.bs, job.direct), (Engine::Psync, 1, [2560; 2], false));
    // fio makes 10029 writes of it.
    assert_eq!(job.size, Some(Amount::Bytes(10_029 * 2560)));
    assert_eq!(
        (job.runtime_ns, parsed.files.as_slice()),
        (None, ["/var/lib/kv/wal.0.0".to_string()].as_slice())
    );
}

#[test]
fn a_windows_file_with_a_mark_and_latin_1() {
    let parsed = read(include_bytes!("../data/fio/13-bom-crlf-latin1.fio"));
    let said = messages(&parsed);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert_some(&said, &["line 1", "byte order mark", "fio refuses such a file"]);
    assert_some(&said, &["line 7", "not UTF-8"]);
    assert_eq!(parsed.files, ["/dev/sdx"]);
    let job = &parsed.jobs[0];
    assert_eq!((job.numjobs, job.iodepth, job.runtime_ns), (4, 32, Some(60 * SECOND)));
    assert_eq!((job.pattern, job.rwmixread), (Pattern::Sequential, 0));
}

#[test]
fn io_uring_with_batches_and_what_is_not_simulated() {
    let parsed = read(include_bytes!("../data/fio/14-uring-poll-batch.fio"));
    let said = messages(&parsed);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_some(&said, &["line 44", "'zonemode'", "Zones are not simulated"]);
    assert_some(&said, &["line 45", "'zonesize'"]);
    assert_some(&said, &["line 51", "'prio' has no stonewall"]);
    let jobs = &parsed.jobs;
    assert_eq!(phases(jobs), [("scaletest", 0), ("poll", 1), ("startdelay-1", 2), ("zoned", 3), ("prio", 3)]);
    let batches = |job: &JobSpec| {
        (
            job.iodepth,
            job.iodepth_batch_submit,
            job.iodepth_batch_complete_min,
            job.iodepth_batch_complete_max,
        )
    };
    assert_eq!((batches(&jobs[0]), jobs[0].numjobs, jobs[0].bs), ((4, 4, 4, 4), 32, [512; 2]));
    assert_eq!((batches(&jobs[1]), jobs[1].hipri), ((128, 32, 32, 32), true));
    assert_eq!((jobs[2].offset_increment, jobs[2].startdelay_ns), (Amount::Bytes(10 * GIB), SECOND));
    assert_eq!((jobs[2].ioscheduler.as_deref(), jobs[2].engine), (Some("bfq"), Engine::Psync));
    let effect = |option: &str| parsed.accepted.iter().find(|a| a.option == option).map(|a| a.effect);
    // prioclass alone: best effort, level 0; a fifth of the reads is real time.
    assert_eq!(
        (jobs[4].prio, jobs[4].cmdprio_percentage),
        (Prio { class: PrioClass::Be, level: 0 }, [20, 20])
    );
    assert_eq!(jobs[4].cmdprio, Prio { class: PrioClass::Rt, level: 0 });
    assert_eq!(jobs[0].prio, Prio::default());
    assert_eq!(effect("fixedbufs"), Some(Effect::None));
    assert_eq!(effect("iodepth_batch"), Some(Effect::Simulated));
    assert_eq!(effect("zonemode"), Some(Effect::NotSimulated));
}
