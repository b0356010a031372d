//! The teaching scheduler of `docs/adding-a-scheduler.md`: its golden order, and that the document says what the
//! source says.

use mqscope_core::Sim;
use mqscope_core::event::{Kind, Op};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{BatchIo, BatchScript, BatchStep, Workload};
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const DOCUMENT: &str = include_str!("../../../docs/adding-a-scheduler.md");
const GOLDEN: &str = include_str!("../../golden/shortest.txt");

/// Five reads of different sizes in one `io_submit`, to a disk that takes one command a millisecond.
fn scenario(max_wait_ms: u64) -> Scenario {
    let read = |mib: u64, kib: u32| BatchIo { op: Op::Read, device: 0, offset: mib << 20, len: kib * 1024 };
    let steps = vec![
        BatchStep::Submit(vec![read(0, 128), read(1, 4), read(2, 64), read(3, 4), read(4, 16)]),
        BatchStep::Wait,
    ];
    let disk = DeviceConfig {
        scheduler: "shortest".into(),
        iosched: BTreeMap::from([("max_wait_ms".into(), max_wait_ms)]),
        nr_tags: Some(1),
        nr_requests: Some(8),
        nr_hw_queues: Some(1),
        completion_ns: Some(1_000_000),
        ..DeviceConfig::new("nullb0", "null")
    };
    Scenario {
        title: String::new(),
        duration_ns: 100_000_000,
        machine: "small".into(),
        kernel: "4.14".into(),
        devices: vec![disk],
        workload: Workload::Batch(BatchScript { name: "five reads".into(), steps, dsync: false }),
        ..Scenario::default()
    }
}

/// Letters I, D and C of a run, a line each.
fn letters(max_wait_ms: u64) -> String {
    let mut sim = Sim::new(&scenario(max_wait_ms)).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    sim.run();
    assert_eq!(sim.violations(), []);
    let mut text = format!("max_wait_ms = {max_wait_ms}\n");
    for event in sim.log().events() {
        if let Kind::Insert { rq, extent, .. }
        | Kind::Issue { rq, extent, .. }
        | Kind::Complete { rq, extent, .. } = event.kind
        {
            let letter = event.kind.letter().unwrap_or_default();
            let kib = extent.sectors / 2;
            writeln!(text, "{letter} request {rq}, {kib} KiB").expect("a string takes all");
        }
    }
    text
}

fn golden() -> String {
    [20, 2, 0].map(letters).join("\n")
}

/// `cargo xtask test --bless` writes the golden file anew.
#[test]
fn the_shortest_goes_first_unless_one_has_waited_too_long() {
    #[cfg(not(target_arch = "wasm32"))]
    if std::env::var_os("MQSCOPE_BLESS").is_some() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/shortest.txt");
        return std::fs::write(&file, golden()).expect("the golden file is writable");
    }
    assert_eq!(golden(), GOLDEN);
}

/// Sizes in the order of D, KiB.
fn issued(max_wait_ms: u64) -> Vec<u32> {
    let text = letters(max_wait_ms);
    let sizes = text.lines().filter(|l| l.starts_with('D')).filter_map(|l| l.split(' ').nth(3)?.parse().ok());
    sizes.collect()
}

/// The golden file can be blessed; these orders are what the policy promises.
#[test]
fn each_limit_of_waiting_gives_the_order_that_it_promises() {
    // The first finds the disk idle.
    assert_eq!(issued(20), [128, 4, 4, 16, 64], "nothing waits for 20 ms");
    assert_eq!(issued(2), [128, 4, 4, 64, 16], "after 3 ms both that are left have waited for 2 ms");
    assert_eq!(issued(0), [128, 4, 64, 4, 16], "everything has waited for 0 ms");
}

#[test]
fn every_block_of_the_document_stands_in_the_source() {
    let sources = [
        include_str!("../../../core/src/sched/shortest.rs"),
        include_str!("../../../core/src/sched/mod.rs"),
        include_str!("adding_a_scheduler.rs"),
    ];
    let mut blocks = [0, 0];
    for (i, block) in DOCUMENT.split("\n```").enumerate().filter(|(i, _)| i % 2 == 1) {
        let (kind, code) = block.split_once('\n').unwrap_or((block, ""));
        match kind {
            "rust" => {
                blocks[0] += 1;
                assert!(sources.iter().any(|s| s.contains(code)), "block {i} is not in the source:\n{code}");
            }
            "text" => {
                blocks[1] += 1;
                assert!(GOLDEN.contains(code), "block {i} is not in the golden file:\n{code}");
            }
            "sh" => {}
            other => panic!("block {i} is of unknown kind '{other}'"),
        }
    }
    assert!(blocks[0] >= 6 && blocks[1] >= 1, "{blocks:?}");
}
