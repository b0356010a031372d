//! Whatever bytes arrive, a reader answers, and soon.

use mqscope_core::format::fio::{Context, Parsed};
use mqscope_core::format::{blkparse, fio, iob};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Text of about `bytes_max` bytes of words that the readers know, in any order.
fn plausible(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

/// Far above what any of these inputs needs, far below what a user takes for a hang.
const SOON: Duration = Duration::from_secs(5);

fn soon<T>(read: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = read();
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    answer
}

const IOB: &[&str] =
    &["b", " ", "\n", "r", "w", "@", "+", "4", "99999999999", ".", "cpu", "wait", "sleep", "#", "1"];

const INI: &[&str] = &[
    "[",
    "]",
    "\n",
    "=",
    ";",
    "#",
    " ",
    "\t",
    ",",
    "-",
    ":",
    "%",
    "${",
    "}",
    "$ncpus",
    "global",
    "job",
    "rw",
    "bs",
    "size",
    "numjobs",
    "iodepth",
    "filename",
    "direct",
    "0",
    "1",
    "4k",
    "99999999999",
    "randread",
    "libaio",
    "ioengine",
    "stonewall",
    "runtime",
    "offset_increment",
    "cpus_allowed",
    "directory",
    "/dev/sda",
    "[a]\n",
    "[global]\n",
];
const SHELL: &[&str] = &[
    "fio ",
    "--name=",
    "-",
    "a ",
    "$",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    "&",
    "|",
    ">",
    "<",
    "#",
    "=",
    "bs",
    "size",
    "1+",
    "*",
    "numactl -N ",
    "sudo ",
    "X=",
    "$X",
    ":-",
    "--filename=/dev/x ",
    "> ",
    "[r@h]# ",
];
const BLKPARSE: &[&str] = &[
    "  8,0 ",
    " 1 ",
    " 0.000000001 ",
    " Q ",
    " R ",
    " 8 + 8 ",
    "[fio]",
    "\n",
    "[",
    "]",
    "/",
    "<-",
    "(8,1)",
    "U",
    "m",
    "N",
    "CPU0 (a):\n",
    "Events (a): 1 entries\n",
    ",",
    "time,cpu,act,sector\n",
    "> ",
    "99999999999999999999",
    "  8,0    1        1     0.000000000   697  Q   R 8 + 8 [fio]\n",
];

/// Either jobs or an error, and no job that the model cannot hold.
fn consistent(parsed: &Parsed) {
    let errors = parsed.diagnostics.iter().any(mqscope_core::diag::Diagnostic::is_error);
    assert_ne!(errors, parsed.is_ok(), "{:#?}", parsed.diagnostics);
    for job in &parsed.jobs {
        assert!(job.bs.iter().all(|bs| *bs > 0 && bs % 512 == 0));
        assert!(job.numjobs > 0 && job.iodepth > 0 && !job.files.is_empty());
        assert!(job.files.iter().all(|file| usize::from(*file) < parsed.files.len()));
        assert!(job.iodepth_batch_submit > 0 && job.iodepth_batch_submit <= job.iodepth);
    }
}

fn context(disks: bool) -> Context {
    let names = if disks { vec!["sda".to_string(), "sdb".to_string()] } else { Vec::new() };
    Context {
        cpus: 8,
        memory_mb: 100,
        disks: names,
        disk_bytes: disks.then_some(1 << 30),
        ..Context::default()
    }
}

proptest! {
    #[test]
    fn on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = iob::parse(&bytes);
        let _ = blkparse::read(&bytes);
        consistent(&fio::parse(&bytes, &context(false)));
    }

    #[test]
    fn on_shuffled_job_files(bytes in plausible(INI), disks in any::<bool>()) {
        consistent(&fio::parse(&bytes, &context(disks)));
    }

    #[test]
    fn on_shuffled_command_lines(bytes in plausible(SHELL), disks in any::<bool>()) {
        let bytes = [b"fio --name=a ".as_slice(), &bytes].concat();
        consistent(&fio::parse(&bytes, &context(disks)));
    }

    #[test]
    fn on_shuffled_blkparse(bytes in plausible(BLKPARSE)) {
        let (records, findings) = blkparse::read(&bytes);
        prop_assert!(!records.is_empty() || findings.iter().any(mqscope_core::diag::Diagnostic::is_error));
    }

    #[test]
    fn on_shuffled_batch_scripts(bytes in plausible(IOB)) {
        let _ = iob::parse(&bytes);
    }
}

#[test]
fn on_a_mebibyte_of_anything() {
    let long_name = format!("[j]\n{}\n", "y".repeat(100_000));
    let patterns: [&[u8]; 18] = [
        b"\0",
        b"\xff",
        b"b r@0+4 ",
        b"x\n",
        b"\r",
        b"=",
        b"\xe4 ",
        b"[j]\n",
        b"[",
        b"[j]\nbs=4k\n",
        b"[j]\niodepht=1\n",
        b"fio --name=a --filename=/dev/a\n",
        b"fio $((",
        b"  8,0 1 1 0.0 1 Q R 8 + 8 [a]\n",
        b"8,0 1 ",
        b"$X",
        b"a=${B}\n",
        long_name.as_bytes(),
    ];
    for pattern in patterns {
        for head in [b"".as_slice(), b"[j]\n", b"fio "] {
            let rest = pattern.iter().copied().cycle();
            let bytes: Vec<u8> = head.iter().copied().chain(rest).take(1 << 20).collect();
            let _ = soon(|| iob::parse(&bytes));
            let _ = soon(|| blkparse::read(&bytes));
            consistent(&soon(|| fio::parse(&bytes, &context(true))));
        }
    }
}
