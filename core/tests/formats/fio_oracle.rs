//! A second opinion: the fio that is installed. Each test says so and passes where there is none.

use crate::support::{jobs, read};
use mqscope_core::format::fio::option_names;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// fio's answer to `arguments`, with `input` as its job file: output and success.
fn fio(arguments: &[&str], input: &str) -> Option<(String, bool)> {
    let mut child = match Command::new("fio")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: fio does not start ({error})");
            return None;
        }
    };
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((text, output.status.success()))
}

/// Whether the fio here is the one whose meaning is followed.
fn is_3_33() -> bool {
    let version = fio(&["--version"], "").map(|(text, _)| text.trim().to_string());
    let same = version.as_deref() == Some("fio-3.33");
    if !same {
        println!("skipped: this needs fio-3.33, here is {version:?}");
    }
    same
}

fn accepts(text: &str) -> Option<bool> {
    let (output, success) = fio(&["--parse-only", "-"], text)?;
    // fio goes on without what it could not read, and its exit code says nothing about that.
    Some(success && !["dropped", "failed", "unable to open"].iter().any(|word| output.contains(word)))
}

#[test]
fn every_option_of_fio_is_known() {
    if !is_3_33() {
        return;
    }
    let Some((help, _)) = fio(&["--cmdhelp=all"], "") else { return };
    let known = option_names();
    let mut count = 0;
    for line in help.lines().filter(|line| line.contains(':') && !line.starts_with('-')) {
        let name = line.split(':').next().unwrap_or_default().trim();
        count += 1;
        assert!(known.contains(&name), "'{name}' is not in the table");
    }
    assert!(count > 200, "fio listed only {count} options");
    for engine in ["libaio", "io_uring", "pvsync2"] {
        let Some((help, _)) = fio(&[&format!("--enghelp={engine}")], "") else { return };
        for name in help.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()) {
            // io_uring_cmd shares the list of io_uring.
            assert!(known.contains(&name) || name == "cmd_type", "'{name}' of {engine} is not in the table");
        }
    }
}

#[test]
fn both_accept() {
    if !is_3_33() {
        return;
    }
    for lines in [
        "rw=randread\nbs=4k,8k\niodepth=32",
        "rw=randrw:4\nrwmixwrite=30",
        "runtime=5m\nramp_time=2s\ntime_based=1\nthinktime=50\nthinktime_blocks=4",
        "size=25%\noffset=25%\noffset_increment=1m",
        "size=0x100000\nbs=,512\nkb_base=1000",
        "rate=1m,,2m\nrate_iops=,10\nrate_process=poisson",
        "cpus_allowed=0\ncpus_allowed_policy=split\nnuma_cpu_nodes=0",
        "ioengine=io_uring\nfixedbufs\nregisterfiles\nhipri\niodepth_batch=0",
        "ioengine = libaio\nbs =4K\niodepth= 32 ; deep\ntime_based\ngroup_reporting",
        "startdelay=5-10\nloops=3\nnumber_ios=7\nwrite_bw_log\nstonewall\nzonemode=none",
    ] {
        let text = format!("[global]\nfilename=/tmp/none\ndirect=1\nsize=1m\n[j]\n{lines}\n");
        assert_eq!(accepts(&text), Some(true), "fio refuses\n{text}");
        assert_eq!(jobs(&text).len(), 1);
    }
}

#[test]
fn both_refuse() {
    if !is_3_33() {
        return;
    }
    for lines in [
        "iodepht=4",
        "queue_depth=4",
        "hipri",
        "rw=rnadread",
        "rw=READ",
        "RW=read",
        "iodepth=eight",
        "iodepth=0",
        "bs=0",
        "direct",
        "direct=2",
        "direct=yes",
        "group_reporting=yes",
        "thread=",
        "runtime=",
        "rwmixread=120",
        "cpus_allowed_policy=splt",
        "kb_base=512",
        "fsync",
        "bs 8k",
        "include no.fio",
    ] {
        let text =
            format!("[global]\nfilename=/tmp/none\ndirect=1\nioengine=libaio\nsize=1m\n[j]\n{lines}\n");
        assert_eq!(accepts(&text), Some(false), "fio accepts\n{text}");
        assert!(read(&text).jobs.is_empty(), "accepted\n{text}");
    }
}

/// fio runs the job on a file, and counts the I/Os.
#[test]
fn as_many_writes_as_fio_makes_of_an_odd_block_size() {
    if !is_3_33() {
        return;
    }
    let path = std::env::temp_dir().join(format!("mqscope-fio-oracle-{}", std::process::id()));
    let text = format!("[wal]\nrw=write\nioengine=sync\nfilename={}\nsize=1m\nbs=2300\n", path.display());
    let answer = fio(&["--output-format=json", "-"], &text);
    let _ = std::fs::remove_file(&path);
    let Some((output, _)) = answer else { return };
    let json: serde_json::Value = serde_json::from_str(output.trim()).expect("fio writes JSON");
    let writes = json["jobs"][0]["write"]["total_ios"].as_u64().expect("a number of writes");
    let job = &jobs(&text)[0];
    assert_eq!(job.size, Some(mqscope_core::workload::Amount::Bytes(writes * u64::from(job.bs[1]))));
}
