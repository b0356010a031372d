//! Twins: where two runs part, and how the same I/O fares in both.

use mqscope_core::Sim;
use mqscope_core::cases::case;
use mqscope_core::event::{Event, Kind, NO_TASK};
use mqscope_core::report::twins::Twins;
use mqscope_core::scenario::Scenario;

fn log(scenario: &Scenario) -> Vec<Event> {
    let mut sim = Sim::new(scenario).expect("the scenario is valid");
    sim.log_mut().set_on(true);
    sim.run();
    sim.log().events().to_vec()
}

/// Both logs, pushed in strides of unequal length.
fn compare(a: &[Event], b: &[Event]) -> Twins {
    let mut twins = Twins::default();
    let mut at = [0, 0];
    while at != [a.len(), b.len()] {
        for (side, log, stride) in [(0, a, 700), (1, b, 411)] {
            let end = log.len().min(at[side] + stride);
            log[at[side]..end].iter().for_each(|event| twins.push(side, *event));
            at[side] = end;
        }
    }
    twins.end(0);
    twins.end(1);
    twins
}

fn sides(name: &str, duration_ns: u64) -> [Scenario; 2] {
    let mut sides = case(name).expect("the case").sides();
    let (second, first) = (sides.swap_remove(1).1, sides.swap_remove(0).1);
    [first, second].map(|s| Scenario { duration_ns, warmup_ns: 0, ..s })
}

#[test]
fn a_run_and_its_repetition_never_part() {
    let [a, _] = sides("seed-000", 1_000_000);
    let twins = compare(&log(&a), &log(&a));
    assert!(twins.same() && twins.complete() && twins.parting().is_none() && twins.reorder().is_none());
    let pairs = twins.pairs();
    assert!(pairs.len() > 300 && pairs.iter().all(|p| p.difference_ns() == 0 && p.rq[0] == p.rq[1]));
}

#[test]
fn the_first_event_that_differs_is_found() {
    for name in ["seed-000", "seed-004", "deadline-mix"] {
        let logs = sides(name, 3_000_000).map(|s| log(&s));
        let twins = compare(&logs[0], &logs[1]);
        let at = logs[0].iter().zip(&logs[1]).position(|(x, y)| x != y).expect("they differ");
        let parting = twins.parting().expect("it is known");
        assert_eq!(parting.alike, at as u64, "{name}");
        assert_eq!(parting.last, at.checked_sub(1).map(|i| logs[0][i]), "{name}");
        assert_eq!(parting.next, [logs[0].get(at).copied(), logs[1].get(at).copied()], "{name}");
        // Up to there no request can have gone to a driver in another order.
        if let Some(reorder) = twins.reorder() {
            assert!(reorder.next.iter().all(|e| e.at_ns >= parting.last.map_or(0, |e| e.at_ns)), "{name}");
        }
    }
}

#[test]
fn a_lock_that_only_one_kernel_has_does_not_make_the_others_differ() {
    let sims = sides("seed-003", 3_000_000).map(|s| Sim::new(&s).expect("the scenario is valid"));
    let [a, b] = [sims[0].topology(), sims[1].topology()];
    let logs = sides("seed-003", 3_000_000).map(|s| log(&s));
    let mut twins = Twins::new([a, b]);
    for (side, log) in logs.iter().enumerate() {
        log.iter().for_each(|event| twins.push(side, *event));
        twins.end(side);
    }
    let named = |side: usize, event: &Event| match event.kind {
        Kind::LockAcquire { lock, .. } => [a, b][side].objects[lock as usize].name.clone(),
        _ => String::new(),
    };
    let parting = twins.parting().expect("they part");
    let next = parting.next.map(|e| e.expect("both go on"));
    assert_ne!(named(0, &next[0]), named(1, &next[1]), "{parting:?}");
    assert!(parting.alike > compare(&logs[0], &logs[1]).parting().expect("their numbers differ").alike);
    let before = parting.before[0].expect("that CPU did something before");
    assert!(before.cpu == next[0].cpu && before.at_ns <= next[0].at_ns);
}

#[test]
fn a_log_that_is_a_beginning_of_the_other_parts_at_its_end() {
    let [a, _] = sides("seed-000", 300_000);
    let whole = log(&a);
    let twins = compare(&whole[..100], &whole);
    let parting = twins.parting().expect("one goes on");
    assert_eq!((parting.alike, parting.next), (100, [None, Some(whole[100])]));
}

#[test]
fn pairs_are_the_same_blocks_and_their_times_are_those_of_the_logs() {
    let logs = sides("seed-000", 2_000_000).map(|s| log(&s));
    let twins = compare(&logs[0], &logs[1]);
    let pairs = twins.pairs();
    assert!(pairs.len() > 1_000, "{}", pairs.len());
    for (side, log) in logs.iter().enumerate() {
        let mut asked = std::collections::HashMap::new();
        let mut count = std::collections::HashMap::new();
        for event in log {
            if let Kind::Queue { bio, extent, .. } = event.kind
                && event.task != NO_TASK
            {
                let nth = count.entry(event.task).or_insert(0u32);
                asked.insert((event.task, *nth), (bio, event.at_ns, extent));
                *nth += 1;
            }
        }
        let took = |bio| {
            log.iter().find_map(|e| match e.kind {
                Kind::Reap { bio: of, lat_ns } if of == bio => Some(lat_ns),
                _ => None,
            })
        };
        for pair in pairs.iter().step_by(97) {
            let (bio, at_ns, _) = asked[&(pair.task, pair.nth)];
            assert_eq!(pair.queued_ns[side], at_ns);
            assert_eq!(Some(pair.lat_ns[side]), took(bio));
        }
        if side == 1 {
            continue;
        }
        // The other log asks for the same blocks.
        let mut nth = std::collections::HashMap::new();
        for event in &logs[1] {
            if let Kind::Queue { extent, .. } = event.kind
                && event.task != NO_TASK
            {
                let n = nth.entry(event.task).or_insert(0u32);
                if let Some((.., other)) = asked.get(&(event.task, *n)) {
                    assert_eq!(*other, extent, "task {}, I/O {n}", event.task);
                }
                *n += 1;
            }
        }
    }
    assert!(pairs.iter().any(|p| p.difference_ns() != 0));
}
