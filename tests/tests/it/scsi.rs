//! What the SCSI middle layer does with a driver that refuses, a budget that is used up and a host that is blocked: the
//! exact sequences, one small case a rule. Notation as in `appendix_a`: letter and number of the request in the order
//! of submission, `|kworker|` and `|irq|` where somebody else acts; `B` is a change of dispatch_busy.

use mqscope_core::Sim;
use mqscope_core::event::{Context, Kind, Op, Place};
use mqscope_core::scenario::{BusyAnswer, DeviceConfig, Scenario};
use mqscope_core::workload::{BatchIo, BatchScript, BatchStep, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Time of one command, ns.
const SERVICE_NS: u64 = 1_000_000;

/// A disk of one SCSI host whose driver takes every command.
fn lun(name: &str) -> DeviceConfig {
    DeviceConfig { completion_ns: Some(SERVICE_NS), ..DeviceConfig::new(name, "scsi-debug") }
}

fn refusing(every_nth: u32, every_nth_answer: BusyAnswer) -> DeviceConfig {
    DeviceConfig { every_nth, every_nth_answer, ..lun("sda") }
}

/// Reads of 4 KiB, far apart; each call plugs if it has more than two.
fn submit(device: u16, numbers: std::ops::RangeInclusive<u64>) -> BatchStep {
    let io = |n| BatchIo { op: Op::Read, device, offset: n << 20, len: 4096 };
    BatchStep::Submit(numbers.map(io).collect())
}

fn run(kernel: &str, devices: Vec<DeviceConfig>, steps: Vec<BatchStep>) -> Sim {
    let workload = Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps });
    let scenario = Scenario {
        title: String::new(),
        duration_ns: 10_000_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices,
        workload,
        ..Scenario::default()
    };
    let mut sim = Sim::new(&scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    assert_eq!(sim.requests_live(), 0, "everything completes");
    sim
}

/// U, I, D, R, C and dispatch_busy in their order; the second disk's numbers carry a `b`.
fn letters(sim: &Sim) -> String {
    let mut text = Vec::new();
    let mut who = Context::Task;
    let name = |queue: u16, sector: u64| format!("{}{}", sector >> 11, if queue == 0 { "" } else { "b" });
    for event in sim.log().events() {
        let word = match event.kind {
            Kind::Unplug { count, .. } => format!("U{count}"),
            Kind::Insert { queue, extent, .. }
            | Kind::Issue { queue, extent, .. }
            | Kind::Requeue { queue, extent, .. }
            | Kind::Complete { queue, extent, .. } => {
                format!("{}{}", event.kind.letter().unwrap_or_default(), name(queue, extent.sector))
            }
            Kind::DispatchBusy { value, .. } => format!("B{value}"),
            _ => continue,
        };
        let now = match event.context {
            Context::SoftIrq | Context::Idle => Context::HardIrq,
            other => other,
        };
        if now != who {
            text.push(String::from(match now {
                Context::Task => "|task|",
                Context::Kworker => "|kworker|",
                _ => "|irq|",
            }));
            who = now;
        }
        text.push(word);
    }
    text.join(" ")
}

/// Times of the R and D of a run, ns.
fn times(sim: &Sim, letter: &str) -> Vec<u64> {
    let events = sim.log().events().iter();
    events.filter(|event| event.kind.letter() == Some(letter)).map(|event| event.at_ns).collect()
}

/// Appendix A22, up to the second R: request 2 waits in hctx->dispatch, request 3 in its ctx list.
#[test]
fn a22_the_second_of_three_is_refused_and_the_third_stays_mergeable() {
    let sim = run("5.10", vec![refusing(2, BusyAnswer::HostBusy)], vec![submit(0, 1..=3), BatchStep::Wait]);
    let text = letters(&sim);
    let expected = "U3 D1 D2 R2 B2";
    assert_eq!(text.get(..expected.len()), Some(expected), "{text}");
    let dequeued = |kind: &Kind, from: Place| matches!(kind, Kind::Dequeue { from: f, .. } if *f == from);
    let kinds: Vec<Kind> = sim.log().events().iter().map(|event| event.kind).collect();
    let first = kinds.iter().position(|k| dequeued(k, Place::DispatchList));
    let ctx = kinds.iter().position(|k| matches!(k, Kind::Dequeue { from: Place::Ctx(_), .. }));
    assert!(first.is_some() && first < ctx, "what was refused goes before the ctx list: {text}");
    let third = text.find("D3").expect("request 3 is issued");
    assert!(text.find("I3").is_some_and(|inserted| inserted < third), "{text}");
    assert!(text.find("C1").is_some_and(|done| done < third), "it waits for the completion: {text}");
}

/// While a command is in flight no attempt counts against the block; its end lifts it.
#[test]
fn a_completion_unblocks_the_host() {
    let sim = run("6.1", vec![refusing(2, BusyAnswer::HostBusy)], vec![submit(0, 1..=2), BatchStep::Wait]);
    assert_eq!(letters(&sim), "D1 D2 R2 B2 R2 B3 |irq| C1 |kworker| D2 B2 |irq| C2");
}

/// Nothing in flight: of seven attempts 3 ms apart the last one reaches the driver (max_host_blocked).
#[test]
fn a_blocked_host_with_nothing_in_flight_is_asked_again_after_seven_attempts() {
    let steps = vec![submit(0, 1..=1), BatchStep::Wait, submit(0, 2..=2), BatchStep::Wait];
    let sim = run("6.1", vec![refusing(2, BusyAnswer::HostBusy)], steps);
    assert_eq!(times(&sim, "R").len(), 7, "one from the driver, six from the blocked host");
    let issued = times(&sim, "D");
    assert_eq!(issued.len(), 3, "1, 2 refused, 2 again");
    let delayed = (issued[2] - issued[1]) / 3_000_000;
    assert_eq!(delayed, 6, "the first attempt comes at once");
}

/// The same for a LUN, which has three (max_device_blocked); the budget is what it does not get, so there is no R.
#[test]
fn a_blocked_lun_with_nothing_in_flight_is_asked_again_after_three_attempts() {
    let steps = vec![submit(0, 1..=1), BatchStep::Wait, submit(0, 2..=2), BatchStep::Wait];
    let sim = run("6.1", vec![refusing(2, BusyAnswer::DeviceBusy)], steps);
    assert_eq!(times(&sim, "R").len(), 1);
    let issued = times(&sim, "D");
    assert_eq!(issued.len(), 3);
    assert_eq!((issued[2] - issued[1]) / 3_000_000, 2, "the first attempt comes at once");
}

/// A LUN of depth 2: the third request has no budget, so it is neither issued nor refused by the driver; it waits in
/// hctx->dispatch without an I and is the first to go.
#[test]
fn without_budget_there_is_no_r_and_no_i() {
    let device = DeviceConfig { queue_depth: Some(2), ..lun("sda") };
    let sim = run("6.18", vec![device], vec![submit(0, 1..=5), BatchStep::Wait]);
    assert_eq!(
        letters(&sim),
        "U5 D1 D2 B2 U2 I4 I5 B3 |irq| C1 C2 |kworker| D3 B2 D4 B1 |irq| C3 C4 |kworker| D5 B0 |irq| C5"
    );
}

/// The host is blocked by LUN a; LUN b, refused meanwhile, has nothing in flight that could restart it, so the completion on
/// a runs it (`scsi_starved_list_run`), long before its own delayed run.
#[test]
fn a_starved_lun_has_its_turn_when_the_other_completes() {
    let devices = vec![refusing(2, BusyAnswer::HostBusy), lun("sdb")];
    let steps = vec![submit(0, 1..=2), submit(1, 1..=1), BatchStep::Wait];
    let sim = run("6.1", devices, steps);
    let text = letters(&sim);
    let at = |word: &str| {
        let found = sim.log().events().iter().find(|event| match event.kind {
            Kind::Issue { queue: 1, .. } => word == "D1b",
            Kind::Requeue { queue: 1, .. } => word == "R1b",
            Kind::Complete { queue: 0, .. } => word == "C1",
            _ => false,
        });
        found.unwrap_or_else(|| panic!("no {word} in {text}")).at_ns
    };
    assert!(at("R1b") < at("C1") && at("C1") < at("D1b"), "{text}");
    assert!(at("D1b") - at("C1") < 100_000, "no delayed run: {text}");
}

/// Two commands end with status BUSY: both come back through the requeue list, and rows differ in its order.
#[test]
fn the_requeue_list_is_a_stack_until_6_4_and_a_queue_later() {
    let order = |kernel: &str| {
        let device = DeviceConfig { every_nth: 2, every_nth_answer: BusyAnswer::StatusBusy, ..lun("sda") };
        let sim = run(kernel, vec![device], vec![submit(0, 1..=4), BatchStep::Wait]);
        let text = letters(&sim);
        let requeued = text.find('R').expect("something is put back");
        let issued: Vec<&str> = text[requeued..].split(' ').filter(|word| word.starts_with('D')).collect();
        issued.iter().take(2).map(|word| word[1..].to_owned()).collect::<Vec<_>>()
    };
    // 6.18 issues the plug in order: 2 and 4 come back. 6.1 issues it in reverse: 3 and 1.
    assert_eq!(order("6.18"), ["2", "4"], "queue");
    assert_eq!(order("5.10"), ["4", "2"], "stack");
    assert_eq!(order("6.1"), ["1", "3"], "stack");
    // Before 5.0 each goes from the stack to the head of its ctx list.
    assert_eq!(order("4.19"), ["2", "4"], "stack of a stack");
}

/// One refusal is forgotten after two requests that were taken.
#[test]
fn a_single_refusal_makes_the_hctx_busy_for_two_requests() {
    let device = DeviceConfig { queue_depth: Some(3), ..lun("sda") };
    let sim = run("5.10", vec![device], vec![submit(0, 1..=8), BatchStep::Wait]);
    let busy: Vec<u8> = sim
        .log()
        .events()
        .iter()
        .filter_map(|event| match event.kind {
            Kind::DispatchBusy { value, .. } => Some(value),
            _ => None,
        })
        .collect();
    assert_eq!(busy, [2, 1, 0]);
}

/// Two LUNs on eight tags: once both are active, each has at most four.
#[test]
fn two_luns_share_the_tags_of_their_host_fairly() {
    let lun = |name| DeviceConfig { nr_tags: Some(8), ..lun(name) };
    let steps = vec![submit(0, 1..=1), submit(1, 1..=1), BatchStep::Wait, submit(0, 2..=9), BatchStep::Wait];
    let sim = run("6.1", vec![lun("sda"), lun("sdb")], steps);
    let (mut now, mut most) = (0_i32, 0);
    for event in sim.log().events() {
        match event.kind {
            Kind::TagAlloc { .. } => now += 1,
            Kind::TagFree { .. } => now -= 1,
            _ => continue,
        }
        most = most.max(now);
    }
    assert_eq!(most, 4);
}

#[test]
fn a_driver_that_refuses_everything_is_no_scenario() {
    let scenario = Scenario {
        devices: vec![refusing(1, BusyAnswer::HostBusy)],
        ..run("6.1", vec![lun("sda")], vec![submit(0, 1..=1), BatchStep::Wait]).scenario().clone()
    };
    let error = Sim::new(&scenario).expect_err("every_nth = 1").to_string();
    assert!(error.contains("every_nth"), "{error}");
}
