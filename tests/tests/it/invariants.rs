//! The checker of invariants: silent in every healthy run, and right about every run that breaks one on purpose.

use crate::scenarios::{self, Shown};
use mqscope_core::Sim;
use mqscope_core::check::Invariant;
use mqscope_core::event::{Event, HctxId, Kind, Place, RqId};
use mqscope_core::kernel::{self, ROWS};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};
use mqscope_tests::audit::Audit;
use mqscope_tests::determinism::EVENTS_MAX;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn build(scenario: &Scenario) -> Sim {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.set_checks(true);
    sim
}

fn said(sim: &Sim) -> String {
    sim.violations()
        .iter()
        .map(|v| format!("at {} ns {}: {}\n", v.at_ns, v.invariant.name(), v.text))
        .collect()
}

proptest! {
    #![proptest_config(scenarios::config())]

    #[test]
    fn a_healthy_run_violates_nothing(Shown(scenario) in scenarios::any()) {
        let mut sim = build(&scenario);
        prop_assert!(!sim.run_events(EVENTS_MAX), "no end within {} events", EVENTS_MAX);
        prop_assert_eq!(sim.violations_total(), 0, "{}", said(&sim));
    }

    #[test]
    fn a_policy_changed_under_way_violates_nothing(
        Shown(scenario) in scenarios::any(),
        changes in vec((1_u64..400, select(ROWS.iter().map(|r| r.name).collect::<Vec<_>>())), 1..6),
    ) {
        let mut sim = build(&scenario);
        for (events, name) in changes {
            sim.run_events(events);
            sim.set_knobs(kernel::row(name).expect("a row of the table").knobs.clone());
        }
        prop_assert!(!sim.run_events(EVENTS_MAX), "no end within {} events", EVENTS_MAX);
        prop_assert_eq!(sim.violations_total(), 0, "{}", said(&sim));
    }

    #[test]
    fn a_broken_run_ends_and_violates_what_it_was_told_to(
        Shown(mut scenario) in scenarios::any(),
        invariant in select(Invariant::ALL.to_vec()),
    ) {
        scenario.break_invariants = vec![invariant];
        let mut sim = build(&scenario);
        prop_assert!(!sim.run_events(EVENTS_MAX), "no end within {} events", EVENTS_MAX);
        for violation in sim.violations() {
            prop_assert_eq!(violation.invariant, invariant, "{}", said(&sim));
        }
    }

    #[test]
    fn a_broken_run_is_the_same_stepped_and_at_once(
        Shown(mut scenario) in scenarios::any(),
        invariant in select(Invariant::ALL.to_vec()),
    ) {
        scenario.break_invariants = vec![invariant];
        let (mut stepped, mut at_once) = (build(&scenario), build(&scenario));
        stepped.run_events(EVENTS_MAX);
        at_once.run();
        prop_assert_eq!(stepped.state_hash(), at_once.state_hash());
        prop_assert_eq!(stepped.violations(), at_once.violations());
    }
}

/// Three processes that hand over 16 random 4 KiB writes at once to a disk with few tags.
fn scenario(scheduler: &str, nr_tags: u32, broken: &[Invariant]) -> Scenario {
    let job = JobSpec {
        name: "job".into(),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        rwmixread: 0,
        iodepth: 16,
        iodepth_batch_submit: 16,
        iodepth_batch_complete_min: 1,
        numjobs: 3,
        size: Some(Amount::Bytes(64 << 20)),
        io_size: Some(Amount::Bytes(512 << 10)),
        cpus_allowed: Some(vec![0, 1, 2]),
        cpus_split: true,
        ..JobSpec::default()
    };
    let disk = DeviceConfig {
        scheduler: scheduler.into(),
        nr_tags: Some(nr_tags),
        nr_requests: (scheduler != "none").then_some(24),
        nr_hw_queues: Some(1),
        completion_ns: Some(10_000),
        ..DeviceConfig::new("nullb0", "null")
    };
    Scenario {
        title: String::new(),
        seed: 7,
        duration_ns: 1_000_000_000,
        machine: "small".into(),
        kernel: "4.14".into(),
        break_invariants: broken.to_vec(),
        devices: vec![disk],
        workload: Workload::Jobs(vec![job]),
        ..Scenario::default()
    }
}

/// A run that breaks `invariant`: its log, and where in the log the first violation is, which the checker names rightly.
fn broken(scheduler: &str, nr_tags: u32, invariant: Invariant) -> (Vec<Event>, usize) {
    let mut sim = build(&scenario(scheduler, nr_tags, &[invariant]));
    sim.log_mut().set_on(true);
    sim.run();
    let log = sim.log().events().to_vec();
    let at = log.iter().position(|e| matches!(e.kind, Kind::Violation { .. }));
    let at = at.unwrap_or_else(|| panic!("{} was not seen", invariant.name()));
    assert_eq!(log[at].kind, Kind::Violation { invariant });
    assert_eq!(sim.violations()[0].invariant, invariant);
    assert_eq!(sim.violations()[0].at_ns, log[at].at_ns);
    assert_eq!(sim.report().violations, sim.violations());
    (log, at)
}

#[test]
fn the_same_scenarios_violate_nothing_when_healthy() {
    for scheduler in ["none", "mq-deadline"] {
        for nr_tags in [2, 4, 16] {
            let mut sim = build(&scenario(scheduler, nr_tags, &[]));
            sim.run();
            assert!(sim.now_ns() < 1_000_000_000, "the workload did not end by itself");
            assert_eq!(sim.violations_total(), 0, "{}", said(&sim));
        }
    }
}

#[test]
fn a_forgotten_tag_is_missed_in_the_event_that_frees_it() {
    let (log, at) = broken("none", 4, Invariant::TagsConserved);
    let freed = log.iter().position(|e| matches!(e.kind, Kind::TagFree { .. })).expect("a tag is freed");
    assert!(freed < at);
    assert_eq!((log[freed].at_ns, log[freed].cpu), (log[at].at_ns, log[at].cpu));
    // It is never given out again.
    let Kind::TagFree { hctx, tag, .. } = log[freed].kind else { unreachable!() };
    let again =
        |e: &&Event| matches!(e.kind, Kind::TagAlloc { hctx: h, tag: t, .. } if (h, t) == (hctx, tag));
    assert_eq!(log.iter().filter(again).count(), 1);
}

#[test]
fn a_forgotten_sched_tag_is_missed_in_the_event_that_frees_it() {
    let (log, at) = broken("mq-deadline", 4, Invariant::SchedTagsConserved);
    let freed =
        log.iter().position(|e| matches!(e.kind, Kind::SchedTagFree { .. })).expect("a sched tag is freed");
    assert!(freed < at);
    assert_eq!((log[freed].at_ns, log[freed].cpu), (log[at].at_ns, log[at].cpu));
}

/// Requests in the plugs of the tasks, by what the log says: added and neither inserted nor issued since.
fn plugged_at_sleep(log: &[Event]) -> Option<usize> {
    let mut plugs: BTreeMap<u16, BTreeSet<RqId>> = BTreeMap::new();
    for (i, event) in log.iter().enumerate() {
        match event.kind {
            Kind::PlugAdd { rq, .. } => _ = plugs.entry(event.task).or_default().insert(rq),
            Kind::Insert { rq, .. } | Kind::Issue { rq, .. } => {
                plugs.values_mut().for_each(|plug| _ = plug.remove(&rq));
            }
            Kind::TaskSleep { .. } if plugs.get(&event.task).is_some_and(|plug| !plug.is_empty()) => {
                return Some(i);
            }
            _ => {}
        }
    }
    None
}

#[test]
fn a_task_that_sleeps_with_its_plug_is_seen_when_it_falls_asleep() {
    let (log, at) = broken("none", 4, Invariant::PlugFlushedBeforeSleep);
    assert_eq!(plugged_at_sleep(&log), Some(at - 1));
}

#[test]
fn a_task_whose_plug_holds_all_tags_waits_for_ever() {
    let mut scenario = scenario("none", 4, &[Invariant::PlugFlushedBeforeSleep]);
    let Workload::Jobs(jobs) = &mut scenario.workload else { unreachable!("the workload is a job") };
    jobs[0].numjobs = 1;
    let mut sim = build(&scenario);
    sim.run();
    assert_eq!((sim.now_ns(), sim.report().total.ios), (scenario.duration_ns, 0));
    assert_eq!(sim.tags_in_use(), 4);
}

/// First event at which a run that began with left-overs takes something else before them.
fn overtaken(log: &[Event]) -> Option<usize> {
    let mut waiting: BTreeMap<HctxId, BTreeSet<RqId>> = BTreeMap::new();
    // By CPU: the hctx whose run owes its left-overs.
    let mut owes: BTreeMap<u16, HctxId> = BTreeMap::new();
    for (i, event) in log.iter().enumerate() {
        match event.kind {
            Kind::DispatchListAdd { rq, hctx }
            | Kind::Insert { rq, hctx, place: Place::DispatchList, .. } => {
                waiting.entry(hctx).or_default().insert(rq);
            }
            Kind::RunBegin { hctx } => {
                owes.remove(&event.cpu);
                if waiting.get(&hctx).is_some_and(|rqs| !rqs.is_empty()) {
                    owes.insert(event.cpu, hctx);
                }
            }
            Kind::Dequeue { rq, hctx, from: Place::DispatchList } => {
                waiting.entry(hctx).or_default().remove(&rq);
                // Whoever took the lock first serves them.
                owes.retain(|_, owed| *owed != hctx);
            }
            Kind::Dequeue { hctx, .. } if owes.get(&event.cpu) == Some(&hctx) => return Some(i),
            _ => {}
        }
    }
    None
}

#[test]
fn a_dispatch_list_passed_over_is_seen_before_another_request_goes() {
    let (log, at) = broken("mq-deadline", 2, Invariant::DispatchListFirst);
    let other = overtaken(&log).expect("the log shows it");
    let run = log[..at].iter().rposition(|e| matches!(e.kind, Kind::RunBegin { .. })).expect("a run began");
    assert!(run < at && at < other);
    assert_eq!((log[run].at_ns, log[run].cpu, log[at].cpu), (log[at].at_ns, log[at].cpu, log[other].cpu));
    let mut healthy = build(&scenario("mq-deadline", 2, &[]));
    healthy.log_mut().set_on(true);
    healthy.run();
    assert_eq!(overtaken(healthy.log().events()), None);
}

#[test]
fn a_batch_that_turns_back_is_seen_when_it_does() {
    let (log, at) = broken("mq-deadline", 16, Invariant::BatchSorted);
    let sectors: BTreeMap<RqId, u64> = log
        .iter()
        .filter_map(|e| match e.kind {
            Kind::Insert { rq, extent, .. } => Some((rq, extent.sector)),
            _ => None,
        })
        .collect();
    let taken: Vec<u64> = log[..at]
        .iter()
        .filter_map(|e| match e.kind {
            Kind::Dequeue { rq, from: Place::Elevator, .. } => Some(sectors[&rq]),
            _ => None,
        })
        .collect();
    assert!(matches!(log[at - 1].kind, Kind::Dequeue { from: Place::Elevator, .. }));
    let [.., before, turned] = taken[..] else { panic!("two requests were taken") };
    assert!(turned < before, "{turned} after {before}");
    // Only writes, batches of 16: until then each step back began a new batch.
    let back = taken.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(back <= 1 + taken.len() / 16, "{taken:?}");
}

/// First event at which a task sleeps while its CPU holds a lock.
fn asleep_with_lock(log: &[Event]) -> Option<usize> {
    let mut held: BTreeMap<u16, u32> = BTreeMap::new();
    log.iter().position(|event| {
        let count = held.entry(event.cpu).or_default();
        match event.kind {
            Kind::LockAcquire { .. } => *count += 1,
            Kind::LockRelease { .. } => *count -= 1,
            _ => {}
        }
        matches!(event.kind, Kind::TaskSleep { .. }) && *count > 0
    })
}

#[test]
fn a_task_that_sleeps_with_a_lock_is_seen_when_it_falls_asleep() {
    for scheduler in ["none", "mq-deadline"] {
        let (log, at) = broken(scheduler, 4, Invariant::NoLockAcrossSleep);
        assert_eq!(asleep_with_lock(&log), Some(at - 1), "{scheduler}");
    }
}

#[test]
fn a_run_with_a_sleeping_lock_holder_ends_by_itself() {
    for scheduler in ["none", "mq-deadline", "bfq", "kyber"] {
        let mut sim = build(&scenario(scheduler, 4, &[Invariant::NoLockAcrossSleep]));
        sim.run();
        assert!(sim.now_ns() < 1_000_000_000, "{scheduler}: the workload did not end by itself");
        assert_eq!(sim.violations_total(), 1, "{scheduler}: {}", said(&sim));
    }
}

#[test]
fn a_lock_granted_twice_is_seen_by_the_checker_and_by_the_audit() {
    let (log, at) = broken("mq-deadline", 16, Invariant::OneHolder);
    let mut holders: BTreeMap<u32, u16> = BTreeMap::new();
    let twice = log.iter().position(|event| match event.kind {
        Kind::LockAcquire { lock, .. } => holders.insert(lock, event.cpu).is_some(),
        Kind::LockRelease { lock, .. } => holders.remove(&lock).is_none(),
        _ => false,
    });
    assert_eq!(twice, Some(at + 1));
    let sim = build(&scenario("mq-deadline", 16, &[]));
    let mut audit = Audit::default();
    audit.read(sim.topology(), &log);
    assert!(audit.violations()[0].contains("is taken while CPU"), "{:?}", audit.violations());
}

#[test]
fn a_scenario_names_what_it_breaks() {
    let broken = scenario("none", 4, &Invariant::ALL);
    let text = broken.to_toml();
    assert_eq!(Scenario::from_toml(&text), Ok(broken));
    for invariant in Invariant::ALL {
        assert!(text.contains(&format!("\"{}\"", invariant.name())), "{text}");
    }
    let wrong = text.replace("one-holder", "two-holders");
    let error = Scenario::from_toml(&wrong).expect_err("an unknown name").to_string();
    assert!(error.contains("two-holders") && error.contains("one-holder"), "{error}");
}

#[test]
fn checks_that_are_off_see_nothing_and_change_nothing() {
    let scenario = scenario("mq-deadline", 4, &[Invariant::SchedTagsConserved]);
    let (mut on, mut off) = (build(&scenario), build(&scenario));
    off.set_checks(false);
    on.run();
    off.run();
    assert!(on.violations_total() > 0);
    assert_eq!(off.violations_total(), 0);
    assert_eq!(on.state_hash(), off.state_hash());
}
