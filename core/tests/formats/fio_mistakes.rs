//! What is wrong in a job file is said with its place and a remedy, and then nothing runs.

use crate::support::{assert_one, assert_some, job, jobs, messages, read, said};
use mqscope_core::format::fio::TEXT_BYTES_MAX;
use mqscope_core::workload::{Engine, IODEPTH_MAX, PROCESSES_MAX};

fn refused(lines: &str, parts: &[&str]) {
    let parsed = read(format!("[global]\nfilename=/dev/sdx\ndirect=1\nioengine=libaio\n[j]\n{lines}\n"));
    assert!(parsed.jobs.is_empty(), "{lines} was accepted");
    let mut all = vec!["line 6", "error"];
    all.extend_from_slice(parts);
    assert_one(&messages(&parsed), &all);
}

#[test]
fn values_that_fio_would_misread_in_silence() {
    refused("size=1.5g", &["column 6", "whole numbers only and would take 1"]);
    refused("size=1e9", &["whole numbers only"]);
    refused("size=25.5%", &["whole numbers only"]);
    refused("bs=4x", &["'x' is not a unit of size"]);
    refused("bs=4 k", &["stops at the blank"]);
    refused("bs=8k bs2", &["not a unit"]);
    refused("runtime=5min", &["'min' is not a unit of time", "5m"]);
    refused("runtime=1h30m", &["unit of time"]);
    refused("runtime=1.5m", &["whole numbers only"]);
    refused("size=-1", &["negative"]);
    refused("size=99999999999999999999", &["too large"]);
    refused("size=9999999p", &["too large"]);
    refused("size=101%", &["0% to 100%"]);
    refused("numjobs=0", &["below the least value"]);
    refused("size=4096\nbs=8k", &["size=4096 is less than one block"]);
}

#[test]
fn values_that_fio_refuses_too() {
    refused("direct", &["'direct' needs a value"]);
    refused("direct=2", &["neither 0 nor 1"]);
    refused("direct=yes", &["neither 0 nor 1"]);
    refused("group_reporting=yes", &["neither 0 nor 1"]);
    refused("runtime=", &["'runtime' needs a value"]);
    refused("iodepth=0", &["below the least value"]);
    refused("bs=0", &["below the least value"]);
    refused("rwmixread=120", &["0 to 100"]);
    refused("rw=READ", &["Did you mean 'read'?"]);
    refused("RW=read", &["column 1", "Unknown option 'RW'", "Did you mean 'rw'?"]);
    refused("cpus_allowed_policy=splt", &["Did you mean 'split'?"]);
    refused("kb_base=512", &["Known: 1024, 1000"]);
    refused("bs 8k", &["'bs 8k' has no '='", "Write bs=8k"]);
    refused("include other.fio", &["'other.fio' to include is not here"]);
}

#[test]
fn what_is_not_simulated_at_all() {
    refused("ioengine=mmap", &["'mmap' is not simulated"]);
    refused("ioengine=libaoi", &["Did you mean 'libaio'?"]);
    refused("read_iolog=trace.bin", &["'read_iolog' is not simulated"]);
    refused("ioscheduler=mq-deadlin", &["Did you mean 'mq-deadline'?"]);
    refused("cpus_allowed=72", &["there is no CPU 72", "72"]);
    refused("cpus_allowed=3-1", &["runs backwards"]);
    refused("cpus_allowed=a", &["not a CPU"]);
    refused("cpumask=0", &["no CPU is in the mask"]);
    refused("bs=2g", &["the most that is simulated"]);
}

#[test]
fn structure() {
    assert_one(&messages(&read("")), &["error", "There is no job here"]);
    assert_one(&messages(&read("[global]\nbs=4k\n")), &["There is no job here"]);
    assert_one(
        &messages(&read("bs=4k\n[j]\nfilename=/dev/a\ndirect=1\n")),
        &["line 1", "stands before any section"],
    );
    assert_some(&messages(&read("[j\nfilename=/dev/a\n")), &["line 1", "']'", "missing"]);
    assert_some(&messages(&read("[ ]\nfilename=/dev/a\ndirect=1\n")), &["line 1", "without a name"]);
    assert_some(&messages(&read("[j] bs=4k\nfilename=/dev/a\ndirect=1\n")), &["behind the section's name"]);
    let said = messages(&read("[global x]\nfilename=/dev/a\ndirect=1\n[GLOBAL]\nbs=8k\n"));
    assert_some(&said, &["line 1", "fio takes '[global x]' for [global]"]);
    assert_some(&said, &["line 4", "'[GLOBAL]' is a job for fio"]);
}

#[test]
fn a_global_section_counts_for_the_jobs_below_it() {
    let jobs = jobs(
        "[global]\nfilename=/dev/a\ndirect=1\nbs=8k\nname=all\n[a]\n[global]\nbs=16k\n[b]\n[c]\nname=own\nbs=32k\n[d]\n",
    );
    let seen: Vec<_> = jobs.iter().map(|job| (job.name.as_str(), job.bs[0], job.direct)).collect();
    assert_eq!(seen, [("a", 8192, true), ("b", 16_384, true), ("own", 32_768, true), ("d", 16_384, true)]);
}

#[test]
fn options_without_effect_are_not_talked_about() {
    let quiet = "group_reporting\ngtod_reduce=1\nthread\ninvalidate=1\nnorandommap\nverify=0\nfsync=0\nrandrepeat=0\n\
                 write_bw_log\nlog_avg_msec=1000\nio_submit_mode=inline\nrandom_distribution=random\nzonemode=none\n\
                 refill_buffers\ndescription=a # b\nclat_percentiles=1\ncreate_serialize=0\nfallocate=none";
    assert_eq!(said(quiet), Vec::<String>::new());
}

#[test]
fn combinations_without_effect_are_warned_about() {
    assert_one(&said("time_based"), &["time_based needs a runtime"]);
    assert_one(&said("rate_process=poisson"), &["needs a rate"]);
    assert_one(&said("cpus_allowed_policy=split"), &["needs cpus_allowed"]);
    assert_one(&said("rw=read\nrwmixread=70"), &["has no effect here"]);
    assert_one(&said("ioengine=psync\niodepth=8"), &["iodepth=8 has no effect with psync"]);
    assert_one(&said("buffered=1\ndirect=1"), &["line 7", "contradicts line 6", "direct=1"]);
    assert_one(&said("rw=read:8"), &["modifier ':8'", "rw=read"]);
    assert_one(&said("random_distribution=zoned:50/5"), &["error", "zones are not simulated"]);
    assert_one(&said("bssplit=4k/50:8k/20"), &["error", "add up to 70"]);
    assert_one(&said("sync_file_range=write"), &["error", "has no number"]);
    assert_one(&said("startdelay=5-10"), &["drawn from a range", "5"]);
    assert_one(&said("offset=1000"), &["1000 is not a multiple of 512", "512 is used"]);
    assert_one(&said("direct=0"), &["buffered I/O", "libaio", "blocks in io_submit"]);
    assert_one(&said("numa_cpu_nodes=0-1"), &["several NUMA nodes"]);
}

#[test]
fn what_is_too_much_is_cut_or_refused() {
    assert_one(&said("numjobs=1000"), &["line 6, column 9", "numjobs=1000 is cut to 256"]);
    assert_eq!(job("numjobs=1000").numjobs, PROCESSES_MAX);
    assert_one(&said("iodepth=100000"), &["iodepth=100000 is cut to 4096"]);
    assert_eq!(job("iodepth=100000").iodepth, IODEPTH_MAX);
    let two = "[global]\nfilename=/dev/a\ndirect=1\nnumjobs=200\n[a]\n[b]\n";
    assert_eq!(jobs(two).iter().map(|job| job.numjobs).collect::<Vec<_>>(), [200, 56]);
    let sections = |n: usize| "[a]\nfilename=/dev/a\ndirect=1\n".repeat(n);
    assert_eq!(jobs(sections(256)).len(), 256);
    assert_some(&messages(&read(sections(257))), &["error", "More than 256 sections"]);
    let disks: String = (0..17).map(|n| format!("[j{n}]\nfilename=/dev/d{n}\ndirect=1\n")).collect();
    assert_some(&messages(&read(disks)), &["error", "more than 16 disks"]);
    assert_one(&messages(&read(vec![b'#'; TEXT_BYTES_MAX + 1])), &["error", "1048577 bytes"]);
    let many = messages(&read("[a]\nfoo_bar_baz_qux=1\n".repeat(250)));
    assert!((100..=102).contains(&many.len()), "{}", many.len());
    assert_some(&many, &["error: There are 100 errors or more"]);
}

#[test]
fn fio_defaults() {
    let parsed = read("[j]\nfilename=/dev/a\n");
    let job = &parsed.jobs[0];
    assert_eq!((job.engine, job.bs, job.iodepth, job.numjobs), (Engine::Psync, [4096; 2], 1, 1));
    assert_eq!((job.rwmixread, job.direct, job.size, job.runtime_ns), (100, false, None, None));
    assert_eq!(messages(&parsed), [""; 0]);
}
