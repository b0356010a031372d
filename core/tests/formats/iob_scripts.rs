//! Batch scripts as the recordings keep them.

use mqscope_core::event::{Op, Prio, PrioClass};
use mqscope_core::format::iob::{self, OPS_MAX, TASK_NAME};
use mqscope_core::workload::{BatchIo, BatchScript, BatchStep};
use proptest::prelude::*;

fn read(text: &str) -> Vec<BatchStep> {
    iob::parse(text.as_bytes()).expect("the script is right").script.steps
}

fn errors(text: &[u8]) -> Vec<String> {
    iob::parse(text).expect_err("the script is wrong").iter().map(ToString::to_string).collect()
}

const fn kib(op: Op, device: u16, offset: u64, len: u32) -> BatchIo {
    BatchIo { op, device, offset: offset * 1024, len: len * 1024 }
}

#[test]
fn a_recorded_script_gives_its_exact_calls() {
    let steps = read(include_str!("../data/iob/k61-m01-order-null4q-none.iob"));
    let reads = |offsets: &[u64]| {
        BatchStep::Submit(offsets.iter().map(|offset| kib(Op::Read, 0, *offset, 4)).collect())
    };
    assert_eq!(
        steps,
        [
            BatchStep::Cpu(1),
            reads(&[100, 300]),
            BatchStep::Wait,
            reads(&[1100, 1300, 1200]),
            BatchStep::Wait,
            reads(&[2100, 2900, 2300, 2700, 2500, 2200, 2800, 2400]),
            BatchStep::Wait,
        ]
    );
}

#[test]
fn large_and_two_disk_scripts_are_read_whole() {
    let big = iob::parse(include_bytes!("../data/iob/k61-m04-mergebig-null4q-none.iob")).expect("readable");
    assert_eq!((big.devices(), big.warnings.len()), (1, 0));
    let two = iob::parse(include_bytes!("../data/iob/k61-m08-2dev-null1q-none.iob")).expect("readable");
    assert_eq!((two.devices(), two.script.name.as_str()), (2, TASK_NAME));
    assert_eq!(read("b w1@4+8\n"), [BatchStep::Submit(vec![kib(Op::Write, 1, 4, 8)])]);
    assert_eq!(
        read("b r@0.5+0.5\nsleep 1.5"),
        [
            BatchStep::Submit(vec![BatchIo { op: Op::Read, device: 0, offset: 512, len: 512 }]),
            BatchStep::Sleep(1500)
        ]
    );
    let cpus = read(include_str!("../data/iob/k61-m05-cpus-null4q-none.iob"));
    let cpus: Vec<_> = cpus.iter().filter(|step| matches!(step, BatchStep::Cpu(_))).collect();
    assert_eq!(cpus, [&BatchStep::Cpu(0), &BatchStep::Cpu(1), &BatchStep::Cpu(2), &BatchStep::Cpu(3)]);
}

#[test]
fn flushes_discards_and_dsync_are_read_and_written_back() {
    let steps = read(include_str!("../data/iob/k61-s08-flush-nvme0n1-none.iob"));
    assert_eq!(steps.iter().filter(|step| **step == BatchStep::Fsync(0)).count(), 3);
    let text = "dsync\nb w@4+4\nfsync\nfsync 1\nb d@0+1024 d1@2048+4\n";
    let parsed = iob::parse(text.as_bytes()).expect("readable");
    assert!(parsed.script.dsync && parsed.warnings.is_empty());
    assert_eq!(parsed.devices(), 2);
    assert_eq!(iob::print(&parsed.script), text);
    let BatchStep::Discard(ios) = &parsed.script.steps[3] else { panic!("{:?}", parsed.script.steps) };
    assert_eq!(ios[0], BatchIo { op: Op::Discard, device: 0, offset: 0, len: 1 << 20 });
}

#[test]
fn a_script_that_was_recorded_with_dsync_says_so_in_a_comment_only() {
    let fua = iob::parse(include_bytes!("../data/iob/k61-s08-fua-nvme0n1-none.iob")).expect("readable");
    assert!(!fua.script.dsync);
    assert_eq!(fua.warnings.len(), 1);
    assert!(fua.warnings[0].remedy.contains("'dsync'"), "{:?}", fua.warnings);
}

#[test]
fn discards_stand_alone_and_dsync_first() {
    assert!(errors(b"b r@0+4 d@0+4")[0].contains("call of its own"));
    assert!(errors(b"wait\ndsync")[0].contains("whole script"));
    assert!(errors(b"fsync 99")[0].contains("disk number"));
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    let text =
        "cpu one\nb r@100+4 x@1+1 r@1 r@1+0 r99@1+1 r@0.25+1\nsleep\nwiat\nwait now\n# cpu two\ncpu 1 # fine";
    let found = iob::parse(text.as_bytes()).expect_err("wrong");
    let places: Vec<_> = found.iter().map(|d| (d.line, d.column)).collect();
    assert_eq!(places, [(1, 5), (2, 11), (2, 17), (2, 21), (2, 27), (2, 35), (3, 1), (4, 1), (5, 6)]);
    assert!(found[7].remedy.contains("Did you mean 'wait'"), "{}", found[7]);
}

#[test]
fn writeback_and_priorities_say_what_they_want() {
    let parsed = iob::parse(b"prio rt 0\nwb w@0+4 w1@8+4\nprio idle").expect("readable");
    assert_eq!(parsed.devices(), 2);
    let wrong = b"wb r@0+4\nprio\nprio rt\nprio be 8\nprio idle 3\nprio high 1";
    let found = iob::parse(wrong).expect_err("wrong");
    let places: Vec<_> = found.iter().map(|d| (d.line, d.column)).collect();
    assert_eq!(places, [(1, 4), (2, 1), (3, 6), (4, 6), (5, 6), (6, 6)]);
    assert!(found[0].message.contains("writeback only writes"), "{}", found[0]);
}

#[test]
fn sizes_are_bounded() {
    let call = |n: usize| format!("b{}", " r@0+4".repeat(n));
    assert!(iob::parse(call(OPS_MAX).as_bytes()).is_ok());
    assert!(errors(call(OPS_MAX + 1).as_bytes())[0].contains("257 operations"));
    assert!(errors(&vec![b' '; iob::TEXT_BYTES_MAX + 1])[0].contains("1048577 bytes"));
    assert!(errors("wait\n".repeat(iob::STEPS_MAX + 1).as_bytes())[0].contains("100000 steps"));
    assert!(errors(b"b r@99999999999999999999999+4")[0].contains("offset"));
    assert!(errors(b"b r@9223372036854775807+4")[0].contains("offset"));
    let many = errors("b q\n".repeat(5000).as_bytes());
    assert_eq!(many.len(), 101);
    assert!(many[100].contains("what follows was not looked at"), "{}", many[100]);
}

#[test]
fn windows_files_are_cleaned_and_accepted() {
    let parsed = iob::parse(b"\xef\xbb\xbfcpu 1\r\n# M\xfcll\r\nb r@0+4").expect("readable");
    assert_eq!(parsed.script.steps.len(), 2);
    assert_eq!(parsed.warnings.len(), 2);
    let utf16: Vec<u8> = "\u{feff}wait\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(iob::parse(&utf16).expect("readable").script.steps, [BatchStep::Wait]);
}

fn any_io() -> impl Strategy<Value = BatchIo> {
    (any::<bool>(), 0..16_u16, 0..1_u64 << 40, 1..16_384_u32).prop_map(|(write, device, sector, sectors)| {
        BatchIo {
            op: if write { Op::Write } else { Op::Read },
            device,
            offset: sector * 512,
            len: sectors * 512,
        }
    })
}

fn any_step() -> impl Strategy<Value = BatchStep> {
    prop_oneof![
        (0..8192_u16).prop_map(BatchStep::Cpu),
        Just(BatchStep::Wait),
        (0..3_600_000_000_000_u64).prop_map(BatchStep::Sleep),
        prop::collection::vec(any_io(), 1..20).prop_map(BatchStep::Submit),
        prop::collection::vec(any_io().prop_map(|io| BatchIo { op: Op::Write, ..io }), 1..20)
            .prop_map(BatchStep::Writeback),
        (any::<bool>(), 0..8_u8).prop_map(|(rt, level)| {
            BatchStep::Prio(Prio { class: if rt { PrioClass::Rt } else { PrioClass::Be }, level })
        }),
        any::<bool>().prop_map(|idle| {
            let class = if idle { PrioClass::Idle } else { PrioClass::None };
            BatchStep::Prio(Prio { class, ..Prio::default() })
        }),
        (0..16_u16).prop_map(BatchStep::Fsync),
        prop::collection::vec(any_io(), 1..5).prop_map(|ios| BatchStep::Discard(all(ios, Op::Discard))),
        prop::collection::vec(any_io(), 1..5).prop_map(|ios| BatchStep::Commit(all(ios, Op::Write))),
    ]
}

fn all(ios: Vec<BatchIo>, op: Op) -> Vec<BatchIo> {
    ios.into_iter().map(|io| BatchIo { op, ..io }).collect()
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(steps in prop::collection::vec(any_step(), 0..30), dsync: bool) {
        let script = BatchScript { name: TASK_NAME.into(), dsync, steps };
        let parsed = iob::parse(iob::print(&script).as_bytes()).expect("printed text is right");
        prop_assert_eq!(parsed.script, script);
        prop_assert!(parsed.warnings.is_empty());
    }
}
