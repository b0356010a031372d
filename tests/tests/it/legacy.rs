//! The legacy path: letters, the pool of requests, the elevator under the one lock, and what setup refuses.
//!
//! Notation as in `appendix_a`: letters of blktrace with the number of the bio in order of submission, a request named by
//! its first bio; `|kworker|` and `|irq|` say who acts from there on.

use mqscope_core::Sim;
use mqscope_core::event::{Context, Event, Kind, Op, TaskId};
use mqscope_core::scenario::{DeviceConfig, Path, Scenario};
use mqscope_core::workload::{Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Pattern, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A disk on the legacy path with deadline.
fn disk(model: &str) -> DeviceConfig {
    DeviceConfig {
        path: Some(Path::Legacy),
        scheduler: "deadline".into(),
        ..DeviceConfig::new(if model == "null" { "nullb0" } else { "sda" }, model)
    }
}

fn scenario(kernel: &str, device: DeviceConfig, workload: Workload) -> Scenario {
    Scenario {
        title: String::new(),
        duration_ns: 60_000_000_000,
        machine: "small".into(),
        kernel: kernel.into(),
        devices: vec![device],
        workload,
        ..Scenario::default()
    }
}

/// One thread that hands over these writes of 4 KiB in these calls.
fn calls(calls: &[&[u64]]) -> Workload {
    let io = |sector: &u64| BatchIo { op: Op::Write, device: 0, offset: sector * 512, len: 4096 };
    let submits = calls.iter().map(|call| BatchStep::Submit(call.iter().map(io).collect()));
    let steps = std::iter::once(BatchStep::Cpu(1)).chain(submits).chain([BatchStep::Wait]);
    Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps: steps.collect() })
}

fn log(scenario: &Scenario) -> (Sim, Vec<Event>) {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    let events = sim.log().events().to_vec();
    (sim, events)
}

/// The letters of a run whose n-th bio lies at `sectors[n - 1]`.
fn letters(events: &[Event], sectors: &[u64]) -> String {
    let (mut text, mut who) = (Vec::new(), "|task|");
    for event in events {
        let Some(letter) = event.kind.letter() else { continue };
        let now = match event.context {
            Context::Task => "|task|",
            Context::Kworker => "|kworker|",
            Context::HardIrq | Context::SoftIrq | Context::Idle => "|irq|",
        };
        if now != who {
            text.push(now.to_owned());
            who = now;
        }
        let of = event.kind.subject().and_then(|(_, extent)| extent);
        let number = of.map(|extent| sectors.iter().position(|&s| s == extent.sector).map_or(0, |at| at + 1));
        text.push(match (event.kind, number) {
            (Kind::Unplug { count, .. }, _) => format!("{letter}{count}"),
            (_, Some(number)) => format!("{letter}{number}"),
            (_, None) => letter.to_owned(),
        });
    }
    text.join(" ")
}

#[track_caller]
fn gives(device: DeviceConfig, per_call: &[&[u64]], expected: &str) {
    let (_, events) = log(&scenario("4.14", device, calls(per_call)));
    assert_eq!(letters(&events, &per_call.concat()), expected);
}

#[test]
fn a_plug_is_inserted_before_its_unplug_shows_and_sent_at_once() {
    gives(disk("null"), &[&[0, 8, 16, 100]], "Q1 G1 P Q2 M2 Q3 M3 Q4 G4 I1 I4 U2 D1 D4 |irq| C1 C4");
}

#[test]
fn a_plug_is_sorted_by_sector() {
    gives(disk("null"), &[&[100, 0, 8]], "Q1 G1 P Q2 G2 Q3 M3 I2 I1 U2 D2 D1 |irq| C2 C1");
}

#[test]
fn a_request_that_continues_another_shows_its_insertion_and_no_d() {
    // The third bio closes the gap between the two requests of the plug.
    gives(disk("null"), &[&[100, 116, 108]], "Q1 G1 P Q2 G2 Q3 F3 I1 I3 U2 D1 |irq| C1");
}

#[test]
fn a_bio_joins_a_request_that_waits_in_the_elevator() {
    // One tag: the first is in the device, the second at the head of the queue, the third can still grow.
    let device = DeviceConfig { nr_tags: Some(1), completion_ns: Some(1_000_000), ..disk("null") };
    gives(
        device,
        &[&[0, 100, 200], &[208]],
        "Q1 G1 P Q2 G2 Q3 G3 I1 I2 I3 U3 D1 D2 Q4 M4 |irq| C1 |kworker| D3 |irq| C2 C3",
    );
}

#[test]
fn an_unplugged_request_is_inserted_and_sent_by_its_task() {
    let job = JobSpec {
        engine: Engine::Psync, // a read: a write call to a block device plugs
        io_size: Some(Amount::Bytes(4096)),
        ..JobSpec::default()
    };
    let (_, events) = log(&scenario("4.14", disk("hba-r0-8ssd"), Workload::Jobs(vec![job])));
    let sector = events.iter().find_map(|e| e.kind.subject()?.1).expect("something was queued").sector;
    assert_eq!(letters(&events, &[sector]), "Q1 G1 I1 D1 |irq| C1");
}

#[test]
fn the_seventeenth_request_flushes_the_plug() {
    let sectors: Vec<u64> = (0..17).map(|n| n * 100).collect();
    let all = |letter: &str| (1..=16).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(" ");
    let plugged: Vec<String> = (2..=17).map(|n| format!("Q{n} G{n}")).collect();
    let device = DeviceConfig { completion_ns: Some(1_000_000), ..disk("null") };
    gives(
        device,
        &[&sectors],
        &format!(
            "Q1 G1 P {} {} U16 {} P I17 U1 D17 |irq| {} C17",
            plugged.join(" "),
            all("I"),
            all("D"),
            all("C")
        ),
    );
}

#[test]
fn a_driver_shows_d_for_one_request_more_than_the_device_takes() {
    let device = || DeviceConfig { queue_depth: Some(1), ..disk("hba-r0-8ssd") };
    // The completion runs the queue itself.
    gives(device(), &[&[0, 100, 200]], "Q1 G1 P Q2 G2 Q3 G3 I1 I2 I3 U3 D1 D2 |irq| C1 D3 C2 C3");
}

#[test]
fn a_full_adapter_puts_requests_back_to_the_head_of_the_queue() {
    let device = DeviceConfig { nr_tags: Some(1), ..disk("hba-r0-8ssd") };
    gives(device, &[&[0, 100]], "Q1 G1 P Q2 G2 I1 I2 U2 D1 D2 R2 I2 |irq| C1 D2 C2");
}

#[test]
fn a_lun_with_nothing_in_flight_is_tried_again_after_3_ms() {
    let device = DeviceConfig { nr_tags: Some(1), ..disk("hba-r0-8ssd") };
    let mut both = scenario("4.14", device.clone(), calls(&[&[0]]));
    both.devices.push(DeviceConfig { name: "sdb".into(), ..device });
    let io = |device| BatchIo { op: Op::Write, device, offset: 0, len: 4096 };
    let steps = vec![BatchStep::Submit(vec![io(0), io(1)]), BatchStep::Wait];
    both.workload = Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps });
    let (sim, events) = log(&both);
    let delays: Vec<u64> = events
        .iter()
        .filter_map(|e| match e.kind {
            Kind::RunScheduled { delay_ns, .. } => Some(delay_ns),
            _ => None,
        })
        .collect();
    assert_eq!(delays, [3_000_000], "only the second LUN waits, for the first one's command");
    assert_eq!(sim.report().queues[1].requeued, 1);
    let last = events.iter().rfind(|e| matches!(e.kind, Kind::Complete { .. })).expect("both are complete");
    assert!(last.at_ns < 3_000_000, "the completion of the first LUN was sooner and ran the starved one");
}

#[test]
fn a_task_without_request_sleeps_and_leaves_its_plug_to_a_kworker() {
    // A pool of four: the fourth request makes the task a batcher, the hard limit of six ends its batch.
    let sectors = [0, 100, 200, 300, 400, 500, 600];
    let device = DeviceConfig { nr_requests: Some(4), completion_ns: Some(1_000_000), ..disk("null") };
    gives(
        device,
        &[&sectors],
        "Q1 G1 P Q2 G2 Q3 G3 Q4 G4 Q5 G5 Q6 G6 Q7 S7 I1 I2 I3 I4 I5 I6 UT6 |kworker| D1 D2 D3 D4 D5 D6 \
         |irq| C1 C2 C3 C4 C5 C6 |task| G7 P I7 U1 D7 |irq| C7",
    );
}

/// `numjobs` processes that keep far more in flight than a pool has, on a null disk that takes 32 at once, 1 ms each.
fn flood(numjobs: u32, ios: u64) -> Scenario {
    let job = JobSpec {
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        rwmixread: 0,
        iodepth: 512,
        iodepth_batch_submit: 16,
        iodepth_batch_complete_min: 1,
        numjobs,
        io_size: Some(Amount::Bytes(ios * 4096)),
        ..JobSpec::default()
    };
    let device = DeviceConfig { nr_tags: Some(32), completion_ns: Some(1_000_000), ..disk("null") };
    scenario("4.14", device, Workload::Jobs(vec![job]))
}

#[test]
fn a_pool_is_congested_from_113_on_and_below_103_no_more() {
    let (_, events) = log(&flood(1, 600));
    let (mut out, mut most, mut marks) = (0, 0, Vec::new());
    for event in &events {
        match event.kind {
            Kind::PoolAlloc { count, .. } | Kind::PoolFree { count, .. } => {
                out = count;
                most = most.max(count);
            }
            Kind::Congested { sync, on, .. } => {
                assert!(sync, "direct writes are synchronous");
                marks.push((on, out));
            }
            _ => {}
        }
    }
    // The mark is set just before the 113th request is given out.
    assert_eq!(marks.first(), Some(&(true, 112)));
    assert_eq!(marks.last(), Some(&(false, 102)));
    assert_eq!(most, 159, "the task that fills the pool takes 32 requests from the 128th on");
}

#[test]
fn two_submitters_of_a_full_pool_take_turns_of_32() {
    let (_, events) = log(&flood(2, 3_000));
    let mut turns: Vec<(TaskId, u32)> = Vec::new();
    for event in &events {
        if let Kind::PoolAlloc { .. } = event.kind {
            match turns.last_mut() {
                Some((task, n)) if *task == event.task => *n += 1,
                _ => turns.push((event.task, 1)),
            }
        }
    }
    // Without the first rush and the end, when one of them is done.
    let settled = &turns[turns.len() / 4..turns.len() * 3 / 4];
    assert!(settled.len() >= 20, "only {} turns", settled.len());
    let whole = settled.iter().filter(|(_, n)| *n == 32).count();
    assert!(whole * 10 >= settled.len() * 9, "turns: {settled:?}");
    let sleeps = events.iter().filter(|e| matches!(e.kind, Kind::PoolWait { .. })).count();
    assert!(sleeps >= settled.len(), "each turn ends with S: {sleeps} sleeps");
}

/// Times, ns, and first sectors.
type Order = Vec<(u64, u64)>;

/// In the order of insertion and in the order of D.
fn orders(scheduler: &str) -> (Order, Order) {
    // 37 is coprime to 40: each sector once, in no order. Four calls, so that no plug holds all.
    let sectors: Vec<u64> = (0..40).map(|n| n * 37 % 40 * 100).collect();
    let per_call: Vec<&[u64]> = sectors.chunks(10).collect();
    let device = DeviceConfig {
        scheduler: scheduler.into(),
        nr_tags: Some(1),
        completion_ns: Some(10_000_000),
        ..disk("null")
    };
    let (_, events) = log(&scenario("4.14", device, calls(&per_call)));
    let (mut inserted, mut issued) = (Vec::new(), Vec::new());
    for event in &events {
        match event.kind {
            Kind::Insert { extent, .. } => inserted.push((event.at_ns, extent.sector)),
            Kind::Issue { extent, .. } => issued.push((event.at_ns, extent.sector)),
            _ => {}
        }
    }
    (inserted, issued)
}

#[test]
fn noop_sends_in_the_order_of_insertion() {
    let (inserted, issued) = orders("noop");
    let sectors = |list: &[(u64, u64)]| list.iter().map(|&(_, sector)| sector).collect::<Vec<_>>();
    assert_eq!(sectors(&inserted), sectors(&issued));
}

#[test]
fn the_driver_gets_requests_in_the_order_of_the_elevator() {
    let (inserted, issued) = orders("deadline");
    // A naive deadline of one direction without expiry: on upwards, from the top to the oldest.
    let mut waiting: Vec<(u64, u64)> = Vec::new();
    let mut rest = inserted.iter().peekable();
    let mut next: Option<u64> = None;
    for &(at_ns, sector) in &issued {
        while let Some(&&one) = rest.peek()
            && one.0 <= at_ns
        {
            waiting.push(one);
            rest.next();
        }
        let expected = next.or(waiting.first().map(|w| w.1)).expect("something waits");
        assert_eq!(sector, expected, "at {at_ns} ns");
        waiting.retain(|w| w.1 != sector);
        // The pointer is set when a request is taken: what is inserted later is not seen by it.
        next = waiting.iter().map(|w| w.1).filter(|&s| s > sector).min();
    }
    assert_eq!(issued.len(), 40);
}

/// How often the queue's lock was taken.
fn lock_count(sim: &Sim, events: &[Event]) -> usize {
    let is_it = |lock: u32| sim.topology().objects[lock as usize].name.starts_with("q->queue_lock");
    events.iter().filter(|e| matches!(e.kind, Kind::LockAcquire { lock, .. } if is_it(lock))).count()
}

#[test]
fn each_request_takes_the_lock_as_often_as_the_ledger_says() {
    let plug: Vec<u64> = (0..10).map(|n| n * 100).collect();
    // Merge and allocation together, once for the plug, after each command, at the end of each request, and on SCSI once more
    // to run the queue.
    for (model, n, expected) in [("null", 10, 10 + 1 + 10 + 10), ("hba-r0-8ssd", 10, 10 + 1 + 10 + 10 + 10)] {
        let (sim, events) = log(&scenario("4.14", disk(model), calls(&[&plug[..n]])));
        assert_eq!(lock_count(&sim, &events), expected, "{model}");
    }
    let job = JobSpec { engine: Engine::Psync, io_size: Some(Amount::Bytes(4096)), ..JobSpec::default() };
    let (sim, events) = log(&scenario("4.14", disk("hba-r0-8ssd"), Workload::Jobs(vec![job])));
    assert_eq!(lock_count(&sim, &events), 5, "merge and allocation, insertion, dispatch, end, run");
}

#[test]
fn submitters_on_several_cpus_contend_for_the_one_lock() {
    let job = JobSpec {
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth: 16,
        numjobs: 4,
        cpus_allowed: Some(vec![0, 1, 2, 3]),
        cpus_split: true,
        io_size: Some(Amount::Bytes(500 * 4096)),
        ..JobSpec::default()
    };
    let (sim, _) = log(&scenario("4.14", disk("hba-r0-8ssd"), Workload::Jobs(vec![job])));
    let report = sim.report();
    let lock = report.objects.iter().find(|o| o.class == "q->queue_lock").expect("the lock was taken");
    assert!(lock.per_io >= 4.0, "{} per I/O", lock.per_io);
    assert!(lock.contended > 0.1, "{} contended", lock.contended);
    let next = report.objects.iter().filter(|o| o.kind == "lock").map(|o| o.lost_ns).max();
    assert_eq!(next, Some(lock.lost_ns), "no lock costs more");
}

#[track_caller]
fn refused(kernel: &str, device: DeviceConfig, words: &[&str]) {
    let error =
        Sim::new(&scenario(kernel, device, calls(&[&[0]]))).expect_err("it is to be refused").to_string();
    for word in words {
        assert!(error.contains(word), "'{word}' is not in: {error}");
    }
}

#[test]
fn what_does_not_fit_the_path_is_refused_with_a_way_out() {
    refused("5.4", disk("null"), &["devices.nullb0.path", "5.4 has no legacy path", "4.19"]);
    refused("4.14", disk("p4510-2t"), &["NVMe", "leave path out"]);
    let with = |scheduler: &str, path| DeviceConfig { scheduler: scheduler.into(), path, ..disk("null") };
    refused("4.14", with("mq-deadline", Some(Path::Legacy)), &["path = \"mq\"", "noop, deadline"]);
    refused("4.14", with("deadline", None), &["path = \"legacy\"", "mq-deadline, kyber, bfq"]);
    refused("4.14", with("none", Some(Path::Legacy)), &["always has a scheduler", "noop, deadline"]);
    refused("4.14", with("cfq", Some(Path::Legacy)), &["cfq is not modelled", "noop, deadline"]);
    let mut volumes = scenario("4.14", disk("hba-r0-8ssd"), calls(&[&[0]]));
    volumes.devices.push(DeviceConfig::new("sdb", "hba-r0-8ssd"));
    let error = Sim::new(&volumes).expect_err("one adapter, two paths").to_string();
    assert!(error.contains("same path"), "{error}");
}
