//! The numbers and lists of single options.

use crate::support::job;
use mqscope_core::workload::{Amount, BsShare, Distribution, Engine, Sequencer, SyncRange, Trim};

#[test]
fn sizes() {
    let size = |text: &str| match job(&format!("bs=512\nsize={text}")).size {
        Some(Amount::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(size("4096"), 4096);
    assert_eq!(size("4096b"), 4096);
    for kib in ["4k", "4K", "4kb", "4KB", "4ki", "0x1000", "4KiB"] {
        assert_eq!(size(kib), 4096, "{kib}");
    }
    assert_eq!([size("1m"), size("1g"), size("1t"), size("1p")], [1 << 20, 1 << 30, 1 << 40, 1 << 50]);
    assert_eq!(size("4k\nkb_base=1000"), 4000);
    assert_eq!(size("4KiB\nkb_base=1000"), 4096);
    assert_eq!(job("size=0").size, None);
    assert_eq!(job("size=25%").size, Some(Amount::Percent(25.0)));
}

#[test]
fn times_have_their_own_unit_for_a_bare_number() {
    const SECOND: u64 = 1_000_000_000;
    let job = job("runtime=2\nramp_time=3\nstartdelay=4\nthinktime=50\nthinktime_spin=6");
    assert_eq!(
        (job.runtime_ns, job.ramp_time_ns, job.startdelay_ns),
        (Some(2 * SECOND), 3 * SECOND, 4 * SECOND)
    );
    assert_eq!((job.thinktime_ns, job.thinktime_spin_ns), (50_000, 6_000));
    let runtime = |text: &str| crate::support::job(&format!("runtime={text}")).runtime_ns;
    for (text, ns) in
        [("7us", 7_000), ("7usec", 7_000), ("7ms", 7_000_000), ("7msec", 7_000_000), ("7s", 7 * SECOND)]
    {
        assert_eq!(runtime(text), Some(ns), "{text}");
    }
    for (text, seconds) in [("7m", 420), ("2h", 7200), ("1d", 86_400), ("1D", 86_400)] {
        assert_eq!(runtime(text), Some(seconds * SECOND), "{text}");
    }
    assert_eq!(runtime("0"), None);
}

#[test]
fn pairs_for_reads_and_writes() {
    assert_eq!(job("bs=8k").bs, [8192, 8192]);
    assert_eq!(job("bs=8k,16k").bs, [8192, 16_384]);
    assert_eq!(job("bs=,16k").bs, [4096, 16_384]);
    assert_eq!(job("bs=8k,").bs, [8192, 4096]);
    assert_eq!(job("bs=8k,16k,32k").bs, [8192, 16_384]);
    assert_eq!(job("rate_iops=10").rate_iops, [Some(10), Some(10)]);
    assert_eq!(job("rate_iops=,10").rate_iops, [None, Some(10)]);
    assert_eq!(job("rate=1m,").rate, [Some(1 << 20), None]);
    assert_eq!(job("rate=0").rate, [None, None]);
}

#[test]
fn flushes_and_synchronous_files() {
    let fsync = |lines: &str| job(lines).fsync;
    assert_eq!([fsync(""), fsync("fsync=8"), fsync("fdatasync=4")], [0, 8, 4]);
    assert_eq!([fsync("fsync=8\nfdatasync=4"), fsync("fsync=0\nfdatasync=4")], [4, 4]);
    assert!(job("end_fsync=1").end_fsync && !job("end_fsync=0").end_fsync);
    for (word, dsync) in [("none", false), ("0", false), ("sync", true), ("1", true), ("dsync", true)] {
        assert_eq!(job(&format!("sync={word}")).dsync, dsync, "{word}");
    }
}

#[test]
fn trims() {
    let trim = |rw: &str| {
        (job(&format!("rw={rw}\nbs=4k,8k,64k")).trim, job(&format!("rw={rw}\nbs=4k,8k,64k")).bs[1])
    };
    assert_eq!(trim("write"), (Trim::None, 8192));
    assert_eq!(trim("trim"), (Trim::Only, 65_536));
    assert_eq!(trim("randtrim"), (Trim::Only, 65_536));
    assert_eq!(trim("trimwrite"), (Trim::BeforeWrite, 8192));
    assert_eq!(trim("randtrimwrite"), (Trim::BeforeWrite, 8192));
    assert_eq!(job("rw=trim\nbs=1m").bs[1], 1 << 20);
    assert_eq!(job("rw=trim").rwmixread, 0);
}

#[test]
fn directions_and_mixes() {
    let mix = |lines: &str| job(lines).rwmixread;
    assert_eq!(mix("rw=randrw"), 50);
    assert_eq!(mix("readwrite=readwrite\nrwmixread=70"), 70);
    assert_eq!(mix("rw=rw\nrwmixwrite=70"), 30);
    assert_eq!(mix("rwmixread=70\nrwmixwrite=30\nrw=rw"), 70);
    assert_eq!([mix("rw=read"), mix("rw=write")], [100, 0]);
}

/// What fio 3.33 does was seen in its system calls: by default each `io_getevents` asks for exactly one event.
#[test]
fn batches_as_fio_fills_them_in() {
    let batches = |lines: &str| {
        let job = job(&format!("iodepth=8\n{lines}"));
        let (min, max) = (job.iodepth_batch_complete_min, job.iodepth_batch_complete_max);
        (job.iodepth_batch_submit, min, max, job.iodepth_low)
    };
    assert_eq!(batches(""), (1, 1, 1, 8));
    assert_eq!(batches("iodepth_batch_complete_max=8"), (1, 1, 8, 8));
    assert_eq!(batches("iodepth_batch=4\niodepth_batch_complete=4"), (4, 4, 4, 8));
    assert_eq!(batches("iodepth_batch_submit=0"), (8, 1, 1, 8));
    assert_eq!(batches("iodepth_batch=100\niodepth_low=100"), (8, 1, 1, 8));
    assert_eq!(batches("iodepth_batch_complete_min=0"), (1, 0, 1, 8));
    assert_eq!(batches("iodepth_low=2"), (1, 1, 1, 2));
    assert_eq!(batches("ioengine=psync\niodepth_batch=4\niodepth_batch_complete_max=4"), (1, 1, 1, 1));
}

#[test]
fn cpus_and_nodes() {
    assert_eq!(job("cpus_allowed=0-3,8").cpus_allowed, Some(vec![0, 1, 2, 3, 8]));
    assert_eq!(job("cpus_allowed=1, 1,0").cpus_allowed, Some(vec![0, 1]));
    assert_eq!(job("cpumask=0x5").cpus_allowed, Some(vec![0, 2]));
    let split = job("cpus_allowed=0-3\ncpus_allowed_policy=split");
    assert!(split.cpus_split);
    assert_eq!(job("numa_cpu_nodes=1").numa_node, Some(1));
    assert_eq!(job("numa_cpu_nodes=all").numa_node, None);
}

#[test]
fn engines_that_are_alike() {
    for engine in ["psync", "sync", "pvsync", "pvsync2"] {
        assert_eq!(job(&format!("ioengine={engine}")).engine, Engine::Psync);
    }
    assert_eq!(job("ioengine=io_uring").engine, Engine::IoUring);
}

#[test]
fn repeats_become_bytes() {
    let thrice = job("size=1m\nloops=3");
    assert_eq!((thrice.size, thrice.io_size, thrice.loops), (Some(Amount::Bytes(1 << 20)), None, 3));
    assert_eq!(job("size=1m\nnumber_ios=10").io_size, Some(Amount::Bytes(40_960)));
    assert_eq!(job("number_ios=10\nbs=8k").io_size, Some(Amount::Bytes(81_920)));
    assert_eq!(job("io_limit=2m").io_size, Some(Amount::Bytes(2 << 20)));
}

#[test]
fn keywords_of_fio_are_calculated_with() {
    assert_eq!(job("numjobs=$ncpus/2").numjobs, 36);
    assert_eq!(job("bs=$pagesize").bs, [4096; 2]);
    assert_eq!(job("size=$mb_memorym").size, Some(Amount::Bytes(192 << 30)));
}

#[test]
fn splits_and_ranges_of_block_sizes() {
    let shares = |text: &str| {
        job(text).bssplit.map(|list| list.iter().map(|s: &BsShare| (s.bytes, s.percent)).collect::<Vec<_>>())
    };
    assert_eq!(shares("bssplit=4k/60:8k/40"), [vec![(4096, 60), (8192, 40)], vec![(4096, 60), (8192, 40)]]);
    // The documentation's own example: what is left open shares the rest.
    assert_eq!(shares("bssplit=4k/10:64k/50:32k/")[0], [(4096, 10), (65_536, 50), (32_768, 40)]);
    assert_eq!(shares("bssplit=2k/50:4k/50,4k/90:8k/10")[1], [(4096, 90), (8192, 10)]);
    assert_eq!(job("bsrange=1k-4k").bsrange, Some([[1024, 4096]; 2]));
    assert_eq!(job("bsrange=1k-4k,2k-8k").bsrange, Some([[1024, 4096], [2048, 8192]]));
    assert_eq!(job("bsrange=4k-1k").bsrange, Some([[1024, 4096]; 2]), "either order");
}

#[test]
fn random_places() {
    assert!(job("rw=randread").random_map && !job("rw=read").random_map);
    assert!(!job("rw=randread\nnorandommap").random_map);
    assert_eq!(job("rw=randread\nrandom_distribution=zipf:1.2").distribution, Distribution::Zipf(1.2));
    assert_eq!(job("rw=randread\nrandom_distribution=pareto:0.9").distribution, Distribution::Pareto(0.9));
    assert_eq!(job("rw=randread\nrandom_distribution=normal:10").distribution, Distribution::Normal(10.0));
    assert_eq!(job("rw=randread\npercentage_random=30,60").percentage_random, [30, 60]);
    let run = job("rw=randread:8\nrw_sequencer=identical");
    assert_eq!((run.run, run.sequencer), (8, Sequencer::Identical));
}

#[test]
fn sync_file_range_of_buffered_writes() {
    let range =
        job("rw=write\ndirect=0\nsync_file_range=wait_before,write:8").sync_file_range.expect("it was given");
    assert_eq!(
        (range.every, range.how),
        (8, SyncRange { wait_before: true, write: true, wait_after: false })
    );
    assert_eq!(
        job("rw=write\nsync_file_range=write:8").sync_file_range,
        None,
        "direct I/O has nothing to sync"
    );
}
