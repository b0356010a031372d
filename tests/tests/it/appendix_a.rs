//! The exact event sequences that follow from the rules of each kernel row, one small plug at a time.
//!
//! Notation: letters of blktrace with the number of the bio in order of submission; a request is named by its first
//! bio. `|kworker|` and `|irq|` say who acts from there on; without a mark it is the task.

use mqscope_core::Sim;
use mqscope_core::event::{Context, Kind, Op};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{BatchIo, BatchScript, BatchStep, Engine, JobSpec, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The disk under test.
#[derive(Clone, Copy)]
enum Disk {
    /// One hctx, no commit_rqs, not SCSI.
    SingleQueue,
    /// One hctx for each of four CPUs, commit_rqs, queue_rqs.
    Nvme,
    /// SCSI SSD volume with four hctxs.
    MultiQueueScsi,
}

const FOUR: [u64; 4] = [0, 8, 16, 100];

struct Setup {
    disk: Disk,
    kernel: &'static str,
    sectors: Vec<u64>,
    tags: Option<u32>,
    busy: u8,
    plugged: bool,
}

fn plug(disk: Disk, kernel: &'static str, sectors: &[u64]) -> Setup {
    Setup { disk, kernel, sectors: sectors.to_vec(), tags: None, busy: 0, plugged: true }
}

impl Setup {
    fn scenario(&self) -> Scenario {
        let (name, model) = match self.disk {
            Disk::SingleQueue => ("nullb0", "null"),
            Disk::Nvme => ("nvme0n1", "p4510-2t"),
            Disk::MultiQueueScsi => ("sdb", "hba-r0-8ssd"),
        };
        let device = DeviceConfig {
            nr_requests: self.tags,
            nr_hw_queues: matches!(self.disk, Disk::MultiQueueScsi).then_some(4),
            ..DeviceConfig::new(name, model)
        };
        let workload = if self.plugged {
            let ios =
                self.sectors.iter().map(|s| BatchIo { op: Op::Write, device: 0, offset: s * 512, len: 4096 });
            Workload::Batch(BatchScript {
                name: "iob".into(),
                steps: vec![BatchStep::Cpu(1), BatchStep::Submit(ios.collect()), BatchStep::Wait],
            })
        } else {
            Workload::Jobs(vec![JobSpec {
                engine: Engine::Psync,
                rwmixread: 0,
                io_size: Some(mqscope_core::workload::Amount::Bytes(4096)),
                ..JobSpec::default()
            }])
        };
        Scenario {
            title: String::new(),
            seed: 1,
            duration_ns: 1_000_000_000,
            warmup_ns: 0,
            machine: "small".into(),
            kernel: self.kernel.into(),
            set: Default::default(),
            break_invariants: Vec::new(),
            devices: vec![device],
            workload,
        }
    }

    /// The letters of the run, and the doorbells as (after which event, commands).
    fn run(&self) -> (String, Vec<(usize, u32)>) {
        let mut sim = Sim::new(&self.scenario()).expect("the scenario is valid");
        sim.log_mut().set_on(true);
        for hctx in 0..sim.topology().hctxs.len() {
            sim.set_dispatch_busy(hctx as u16, self.busy);
        }
        sim.run();
        let number = |sector: u64| match self.sectors.iter().position(|&s| s == sector) {
            Some(at) => (at + 1).to_string(),
            None => String::from("1"),
        };
        let (mut text, mut bells, mut events) = (Vec::new(), Vec::new(), 0);
        let mut who = Context::Task;
        for event in sim.log().events() {
            if let Kind::Doorbell { count, .. } = event.kind {
                bells.push((events, count));
            }
            let Some(letter) = event.kind.letter() else { continue };
            let now = match event.context {
                Context::SoftIrq | Context::Idle => Context::HardIrq,
                other => other,
            };
            if now != who {
                text.push(match now {
                    Context::Task => String::from("|task|"),
                    Context::Kworker => String::from("|kworker|"),
                    _ => String::from("|irq|"),
                });
                who = now;
            }
            text.push(match event.kind {
                Kind::Plug { .. } => String::from("P"),
                Kind::Unplug { count, .. } => format!("{letter}{count}"),
                Kind::Queue { extent, .. }
                | Kind::GetRequest { extent, .. }
                | Kind::BackMerge { extent, .. }
                | Kind::FrontMerge { extent, .. }
                | Kind::Insert { extent, .. }
                | Kind::Issue { extent, .. }
                | Kind::Requeue { extent, .. }
                | Kind::Complete { extent, .. } => format!("{letter}{}", number(extent.sector)),
                _ => String::from(letter),
            });
            events += 1;
        }
        (text.join(" "), bells)
    }

    #[track_caller]
    fn gives(&self, expected: &str) {
        assert_eq!(self.run().0, expected);
    }
}

#[test]
fn a1_kernel_4_14_sends_the_plug_through_the_ctx_list() {
    plug(Disk::SingleQueue, "4.14", &FOUR).gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 I1 I4 D1 D4 |irq| C1 C4");
}

#[test]
fn a2_kernel_4_19_issues_the_plug_directly() {
    plug(Disk::SingleQueue, "4.19", &FOUR).gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 D1 D4 |irq| C1 C4");
}

#[test]
fn a3_a_busy_hctx_gets_its_requests_through_the_ctx_list() {
    Setup { busy: 4, ..plug(Disk::SingleQueue, "4.19", &FOUR) }
        .gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 I1 I4 D1 D4 |irq| C1 C4");
}

#[test]
fn a5_nvme_on_5_4_fills_the_plug_and_rings_once() {
    let (text, bells) = plug(Disk::Nvme, "5.4", &FOUR).run();
    assert_eq!(text, "Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 D1 D4 |irq| C1 C4");
    assert_eq!(bells, [(12, 2)], "one doorbell for both commands, after D4");
}

#[test]
fn a6_nvme_on_6_1_reverses_the_plug_and_shows_no_unplug() {
    let (text, bells) = plug(Disk::Nvme, "6.1", &FOUR).run();
    assert_eq!(text, "Q1 G1 P Q2 M2 Q3 M3 Q4 G4 D4 D1 |irq| C4 C1");
    assert_eq!(bells, [(11, 2)], "one doorbell for both commands, after D1");
}

#[test]
fn a7_nvme_on_6_12_shows_the_unplug() {
    plug(Disk::Nvme, "6.12", &FOUR).gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 D4 D1 |irq| C4 C1");
}

#[test]
fn a8_nvme_after_6_12_keeps_the_order() {
    plug(Disk::Nvme, "6.18", &FOUR).gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 U2 D1 D4 |irq| C1 C4");
}

#[test]
fn a9_nvme_on_4_14_holds_one_request_in_the_plug() {
    plug(Disk::Nvme, "4.14", &FOUR).gives("Q1 G1 Q2 M2 Q3 M3 Q4 G4 D1 U1 I4 D4 |irq| C1 C4");
}

#[test]
fn a10_multi_queue_scsi_on_5_4_holds_one_request_in_the_plug() {
    plug(Disk::MultiQueueScsi, "5.4", &FOUR).gives("Q1 G1 P Q2 M2 Q3 M3 Q4 G4 P U1 D1 U1 D4 |irq| C1 C4");
}

#[test]
fn a11_a_task_that_sleeps_leaves_its_plug_to_a_kworker() {
    // Two tags: the fifth bio finds none, so the task sleeps with two requests in its plug.
    let sectors = [0, 8, 16, 100, 300];
    let setup = Setup { tags: Some(2), ..plug(Disk::SingleQueue, "4.19", &sectors) };
    setup.gives(
        "Q1 G1 P Q2 M2 Q3 M3 Q4 G4 Q5 G5 UT2 I1 I4 |kworker| D1 D4 |irq| C1 C4 |task| P U1 D5 |irq| C5",
    );
}

#[test]
fn a12_kernel_4_14_sorts_the_plug() {
    plug(Disk::SingleQueue, "4.14", &[100, 0, 8]).gives("Q1 G1 P Q2 G2 Q3 M3 U2 I2 I1 D2 D1 |irq| C2 C1");
}

#[test]
fn a13_kernel_5_4_does_not_sort_a_plug_of_one_queue() {
    plug(Disk::SingleQueue, "5.4", &[100, 0, 8]).gives("Q1 G1 P Q2 G2 Q3 M3 U2 D1 D2 |irq| C1 C2");
}

#[test]
fn a14_kernel_6_1_reverses_the_plug() {
    plug(Disk::SingleQueue, "6.1", &[100, 0, 8]).gives("Q1 G1 P Q2 G2 Q3 M3 D2 D1 |irq| C2 C1");
}

/// `n` scattered sectors, ascending so that a sort does not move them.
fn scattered(n: u64) -> Vec<u64> {
    (0..n).map(|i| i * 1000).collect()
}

fn letters(letter: &str, numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a15_the_seventeenth_request_flushes_sixteen_on_4_14() {
    let (text, _) = plug(Disk::SingleQueue, "4.14", &scattered(17)).run();
    let filled = (2..=17).map(|n| format!("Q{n} G{n}")).collect::<Vec<_>>().join(" ");
    let expected =
        format!("Q1 G1 P {filled} U16 {} {} P U1 I17 D17", letters("I", 1..=16), letters("D", 1..=16));
    assert_eq!(text.split(" |irq|").next(), Some(expected.as_str()));
}

#[test]
fn a16_the_thirty_third_request_flushes_thirty_two_newest_first_on_6_1() {
    let (text, _) = plug(Disk::SingleQueue, "6.1", &scattered(33)).run();
    let filled = (2..=33).map(|n| format!("Q{n} G{n}")).collect::<Vec<_>>().join(" ");
    let expected = format!("Q1 G1 P {filled} {} P D33", letters("D", (1..=32).rev()));
    assert_eq!(text.split(" |irq|").next(), Some(expected.as_str()));
}

#[test]
fn a17_an_unplugged_write_on_4_14_is_issued_by_a_kworker() {
    let setup = Setup { plugged: false, ..plug(Disk::SingleQueue, "4.14", &[0]) };
    setup.gives("Q1 G1 I1 |kworker| D1 |irq| C1");
}

#[test]
fn a18_an_unplugged_write_on_4_19_is_issued_directly() {
    for kernel in ["4.19", "5.4", "6.1"] {
        let setup = Setup { plugged: false, ..plug(Disk::SingleQueue, kernel, &[0]) };
        setup.gives("Q1 G1 D1 |irq| C1");
    }
}
