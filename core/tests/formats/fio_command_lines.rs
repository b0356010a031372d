//! fio command lines pasted from tickets, mails and guides.

use crate::support::{assert_one, assert_some, machine, messages, read};
use mqscope_core::format::fio::{Context, Parsed, parse};
use mqscope_core::workload::{Amount, Engine, Pattern};

const SECOND: u64 = 1_000_000_000;
const TICKET: &str = include_str!("../data/fio/03-cli-shell.txt");

/// The ticket up to the line that is wrong.
fn without_the_broken_run() -> String {
    TICKET.lines().filter(|line| !line.contains("device name")).map(|line| format!("{line}\n")).collect()
}

fn with(text: &str, variables: &[(&str, &str)]) -> Parsed {
    let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    parse(text.as_bytes(), &Context { variables, ..machine() })
}

#[test]
fn a_placeholder_with_a_blank_is_an_error_with_a_remedy() {
    let parsed = read(TICKET);
    assert!(parsed.jobs.is_empty());
    let said = messages(&parsed);
    assert_eq!(parsed.diagnostics.iter().filter(|d| d.is_error()).count(), 1, "{said:#?}");
    assert_some(
        &said,
        &[
            "line 12, column 42: error",
            "'name' is taken by fio for the name of a job file",
            "placeholder, replace it",
        ],
    );
    assert_some(&said, &["4 separate runs"]);
}

#[test]
fn separate_runs_become_phases() {
    let parsed = read(without_the_broken_run());
    let said = messages(&parsed);
    assert_some(&said, &["line 7, column 21: warning", "3 separate runs", "phases"]);
    assert_eq!(parsed.files, ["/mnt/vol/testfile", "/dev/nvme0n1", "/mnt/disks/scratch"]);
    let [randrw, bw, tput] = parsed.jobs.as_slice() else { panic!("{said:#?}") };

    assert_eq!((randrw.name.as_str(), randrw.phase, randrw.numa_node), ("randrw", 0, Some(1)));
    assert_eq!((randrw.engine, randrw.iodepth, randrw.numjobs), (Engine::Psync, 1, 16));
    assert_eq!((randrw.pattern, randrw.rwmixread, randrw.bs), (Pattern::Random, 50, [4096; 2]));
    assert_eq!((randrw.size, randrw.runtime_ns), (Some(Amount::Bytes(10 << 30)), Some(120 * SECOND)));

    assert_eq!((bw.name.as_str(), bw.phase, bw.engine, bw.iodepth), ("bw", 1, Engine::IoUring, 16));
    assert_eq!((bw.bs, bw.size, bw.files.as_slice()), ([32_768; 2], None, [1].as_slice()));

    assert_eq!((tput.name.as_str(), tput.phase, tput.numjobs, tput.iodepth), ("tput_w", 2, 16, 64));
    assert_eq!((tput.runtime_ns, tput.ramp_time_ns, tput.time_based), (Some(300 * SECOND), 2 * SECOND, true));
    assert_eq!((tput.iodepth_batch_submit, tput.iodepth_batch_complete_min), (64, 1));
    assert_eq!((tput.iodepth_batch_complete_max, tput.bs), (64, [1 << 20; 2]));
    // Sixteen files of 10 GiB beside each other.
    assert_eq!((tput.offset_increment, tput.size), (Amount::Bytes(10 << 30), Some(Amount::Bytes(10 << 30))));
    assert_some(&said, &["line 11", "'tput_w' has 16 files", "side by side"]);
    assert_eq!(said.len(), 2, "{said:#?}");
}

#[test]
fn quoted_mail_prompts_and_options_before_the_name() {
    let mail = "> > DIR=$1\n> > echo 3 > /proc/sys/vm/drop_caches\n> > fio --readwrite=write --filesize=5g \
                --overwrite=1 --filename=$DIR/fiofile \\\n> > --runtime=60s --time_based --ioengine=psync --direct=0 \
                --bs=4k\n> > --iodepth=128\n";
    let parsed = with(mail, &[("1", "/mnt/t")]);
    assert_some(&messages(&parsed), &["line 3", "no --name"]);

    let mail = mail.replace("--bs=4k\n", "--bs=4k --iodepth=128 --numjobs=2 --name=overwrite\n");
    let mail = mail.trim_end_matches("> > --iodepth=128\n");
    let parsed = read(mail);
    assert_eq!(parsed.asks.len(), 1);
    assert_eq!((parsed.asks[0].name.as_str(), parsed.asks[0].line), ("1", 1));
    let parsed = with(mail, &[("1", "/mnt/t")]);
    let said = messages(&parsed);
    assert!(parsed.is_ok(), "{said:#?}");
    assert_some(&said, &["iodepth=128 has no effect with psync"]);
    assert_some(&said, &["1 commands that do not start fio are ignored"]);
    let job = &parsed.jobs[0];
    assert_eq!((job.name.as_str(), job.numjobs, job.iodepth), ("overwrite", 2, 1));
    assert!(!job.direct && job.invalidate);
    assert_eq!((job.size, parsed.files[0].as_str()), (Some(Amount::Bytes(5 << 30)), "/mnt/t/fiofile"));
}

#[test]
fn the_prompt_of_root_and_of_a_host() {
    let options = "fio --name=a --filename=/dev/sdb --direct=1";
    for prompt in
        ["# ", "[root@host ~]# ", "root@host:~# ", "user@host:/tmp$ ", "$ ", "% ", "/usr/local/bin/"]
    {
        let parsed = read(format!("{prompt}{options}\n"));
        assert!(parsed.is_ok() && parsed.diagnostics.is_empty(), "{prompt}: {:#?}", parsed.diagnostics);
    }
    // Beside a real command the same line is a remark.
    let parsed = read(format!("# {options}\n$ fio --name=b --filename=/dev/sdc --direct=1\n"));
    assert_eq!(parsed.files, ["/dev/sdc"]);
}

#[test]
fn values_may_stand_behind_a_blank_and_in_quotes() {
    let parsed = read(
        "fio --name a --rw randread --filename \"/dev/s d\" --direct 1 --time_based --runtime '5' --bs=8k",
    );
    assert!(parsed.is_ok() && parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    let job = &parsed.jobs[0];
    assert_eq!((job.name.as_str(), job.pattern, job.bs, job.direct), ("a", Pattern::Random, [8192; 2], true));
    assert_eq!((parsed.files[0].as_str(), job.runtime_ns), ("/dev/s d", Some(5 * SECOND)));
}

#[test]
fn variables_defaults_and_arithmetic_of_the_shell() {
    let text = "export N=4 OPTS='--direct=1 --bs=8k'\nQD=$((N*8))\n\
                sudo fio --name=a --filename=/dev/${DISK:-sdb} $OPTS --numjobs=$(nproc) --iodepth=$(( $QD / 2 + 1 )) \
                --ioengine=libaio > out.txt 2>&1 &\nfio --name=b --filename=/dev/sdc --direct=1; echo done";
    let parsed = read(text);
    let said = messages(&parsed);
    assert!(parsed.is_ok(), "{said:#?}");
    let [a, b] = parsed.jobs.as_slice() else { panic!("{:?}", parsed.jobs) };
    assert_eq!((a.iodepth, a.bs, a.numjobs), (17, [8192; 2], 72));
    assert_eq!(parsed.files, ["/dev/sdb", "/dev/sdc"]);
    // The first one was put in the background.
    assert_eq!((a.phase, b.phase), (0, 0));
    assert_eq!(with(text, &[("DISK", "nvme0n1")]).files[0], "/dev/nvme0n1");
}

#[test]
fn what_only_a_shell_can_know_is_an_error() {
    let error = |text: &str, parts: &[&str]| {
        let parsed = read(text);
        assert!(parsed.jobs.is_empty());
        assert_some(&messages(&parsed), parts);
    };
    error("fio --name=a --filename=$(ls /dev/sd*) --direct=1", &["column 25", "shell command 'ls /dev/sd*'"]);
    error("fio --name=a --filename=`cat disk` --direct=1", &["shell command 'cat disk'"]);
    error("fio --name=a --filename=<your disk> --direct=1", &["'<your disk>' is a placeholder"]);
    error("fio --name=a --filename=/dev/sda --bs=$((4*))k", &["arithmetic '$((4*))' cannot"]);
    error(
        "for d in a b; do fio --name=a --filename=/dev/$d; done",
        &["loops and conditions are not followed"],
    );
    error("fio tests/job.fio", &["job file 'tests/job.fio' is not here", "Paste its text"]);
    error("fio --filename=/dev/sda --direct=1", &["no --name"]);
    error("fio --name=a --filename=/dev/sda --iodepht=3", &["line 1, column 34", "Did you mean 'iodepth'"]);
    error(&"fio --name=a --filename=/dev/a\n".repeat(65), &["line 65", "More than 64 fio command lines"]);
    error(&format!("fio --name=a {}", "--bs=4k ".repeat(20_000)), &["More than 20000 words"]);
    error("fio --name=a --filename=$DISK", &["variable DISK has no value"]);
}

#[test]
fn cpu_binding_by_other_programs() {
    let run = |before: &str| {
        let parsed = read(format!("{before} fio --name=a --filename=/dev/sda --direct=1"));
        assert!(parsed.is_ok() && parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
        (parsed.jobs[0].numa_node, parsed.jobs[0].cpus_allowed.clone())
    };
    assert_eq!(run("numactl -N 1 -m 1"), (Some(1), None));
    assert_eq!(run("sudo numactl --cpunodebind=0 --membind=0"), (Some(0), None));
    assert_eq!(run("taskset -c 2,4-5"), (None, Some(vec![2, 4, 5])));
    assert_eq!(run("taskset 0x6"), (None, Some(vec![1, 2])));
    assert_eq!(run("numactl -C 0-1"), (None, Some(vec![0, 1])));
    assert_eq!(run("sudo -u bench nice -n 5"), (None, None));
}

#[test]
fn prose_and_output_around_a_command() {
    let text = "I don't see why:\n$ fio --name=a --filename=/dev/sda --direct=1 --bs=8k\n\
                a: (g=0): rw=read, bs=(R) 8192B-8192B, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n\
                It's slow, isn't it? The \"old one was faster.\n$ fio --name=b --filename=/dev/sda --direct=1\n";
    let parsed = read(text);
    assert!(parsed.is_ok(), "{:#?}", parsed.diagnostics);
    assert_eq!(parsed.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_some(&messages(&parsed), &["line 1", "commands that do not start fio are ignored"]);
    let dash = read("fio --name=a \u{2013}rw=randread --filename=/dev/sda --direct=1");
    assert_some(&messages(&dash), &["column 14", "typographic dash"]);
    let blank = read("[j]\nrw=randread\u{a0}\nfilename=\u{a0}/dev/sda\ndirect=1\n");
    assert_eq!((blank.files[0].as_str(), blank.jobs.len()), ("/dev/sda", 1));
}

#[test]
fn bare_options_are_a_command_line_too() {
    let parsed = read("--name=a --filename=/dev/sda --direct=1 \\\n  --rw=randwrite\n");
    assert!(parsed.is_ok(), "{:#?}", parsed.diagnostics);
    assert_eq!(parsed.jobs[0].rwmixread, 0);
    assert_one(&messages(&read("hello world\n")), &["error", "stands before any section"]);
}
