//! Playing, stepping, seeking and changing, on real scenarios.

use super::*;
use crate::scene::{NONE16, Spot};
use mqscope_core::cases::case;

fn scenario(name: &str, side: usize) -> Scenario {
    case(name).expect("the case").sides().swap_remove(side).1
}

fn player(name: &str) -> Player {
    Player::new(scenario(name, 0)).expect("the case can be played")
}

/// All that a viewer could see, as text.
fn picture(p: &Player) -> String {
    let s = p.scene();
    let live: Vec<_> = s.live().map(|(slot, r)| (slot, r.rq, r.bio, r.spot, r.since_ns, r.lost)).collect();
    format!("{} {live:?} {:?} {:?} {:?}", s.now_ns(), s.cpus(), s.tasks(), s.hctxs())
}

fn finish_seek(p: &mut Player) {
    for _ in 0..10_000 {
        if p.seeking().is_none() {
            return;
        }
        p.tick(0.0);
    }
    panic!("the seek does not end");
}

#[test]
fn time_passes_at_the_speed_asked_for() {
    let mut p = player("plug-merge");
    p.set_speed(1_000.0);
    p.tick(16.0);
    assert_eq!(p.now_ns(), 0, "a paused player stands");
    p.set_playing(true);
    for _ in 0..100 {
        p.tick(10.0);
    }
    assert_eq!((p.now_ns(), p.lag_ns()), (1_000, 0));
    p.set_speed(f64::NAN);
    assert_eq!(p.speed(), 1_000.0);
    p.set_speed(1e30);
    assert_eq!(p.speed(), SPEED_MAX);
}

#[test]
fn work_of_one_tick_is_bounded_and_what_is_left_is_lag_not_debt() {
    let mut p = player("seed-000");
    p.set_playing(true);
    p.set_speed(1e9);
    let before = p.position();
    p.tick(16.0);
    assert!(p.position() - before <= TICK_BUDGET_EVENTS + 1);
    assert!(p.lag_ns() > 0);
    let now = p.now_ns();
    p.set_playing(false);
    p.tick(16.0);
    assert_eq!(p.now_ns(), now, "nothing is caught up after a pause");
}

#[test]
fn it_stops_at_the_end_and_playing_again_starts_over() {
    let mut p = player("plug-merge");
    p.set_speed(1e8);
    p.set_playing(true);
    for _ in 0..400 {
        p.tick(16.0);
    }
    assert!(p.at_end() && !p.playing() && p.ended());
    assert!(p.duration_ns() < p.scenario().duration_ns, "the workload ended before the scenario's duration");
    p.set_playing(true);
    assert_eq!(p.now_ns(), 0);
}

#[test]
fn the_end_of_a_run_that_is_shorter_than_planned_is_its_end_however_it_is_reached() {
    let mut p = player("plug-merge");
    let planned = p.scenario().duration_ns;
    p.seek(planned);
    finish_seek(&mut p);
    assert!(p.duration_ns() < planned, "the workload ends before");
    assert_eq!((p.now_ns(), p.at_end()), (p.duration_ns(), true));
}

#[test]
fn stepping_back_undoes_stepping_forward() {
    let mut p = player("plug-merge");
    let mut seen = vec![picture(&p)];
    while !p.ended() {
        p.step_event();
        seen.push(picture(&p));
    }
    assert!(seen.len() > 30, "{} steps", seen.len());
    for i in (0..seen.len() - 1).rev() {
        p.step_back();
        assert!(picture(&p) == seen[i], "step {i} of {}", seen.len());
    }
    p.step_back();
    assert_eq!((p.now_ns(), p.position()), (0, 0));
}

#[test]
fn stepping_back_from_between_two_events_first_shows_the_last_one_again() {
    let mut p = player("plug-merge");
    for _ in 0..5 {
        p.step_event();
    }
    let (at, position) = (p.now_ns(), p.position());
    p.seek(at + 1);
    let back_to = p.position();
    p.step_back();
    assert!(p.now_ns() <= at && p.position() <= back_to && p.position() >= position);
}

#[test]
fn stepping_back_reaches_events_that_are_no_longer_in_the_ring() {
    let mut p = player("seed-000");
    p.seek(2_000_000);
    finish_seek(&mut p);
    // A fresh seek to a checkpoint leaves an empty ring behind.
    let seq = p.checkpoints.before_seq(p.position()).expect("a checkpoint").seq;
    p.go_to_seq(seq);
    assert!(seq > 0);
    assert_eq!(p.recent_events().len(), 0);
    let before = p.position();
    p.step_back();
    assert!(p.position() < before && before - p.position() < 500);
}

#[test]
fn a_place_looks_the_same_however_it_was_reached() {
    let mut straight = player("seed-000");
    straight.seek(400_000);
    finish_seek(&mut straight);
    let wanted = (picture(&straight), straight.state_hash());

    let mut wandering = player("seed-000");
    for ns in [700_000, 100_000, 650_000, 390_000, 0, 400_000] {
        wandering.seek(ns);
        finish_seek(&mut wandering);
        assert_eq!(wandering.now_ns(), ns);
    }
    assert_eq!((picture(&wandering), wandering.state_hash()), wanted);

    let mut playing = player("seed-000");
    playing.set_speed(1_000_000.0);
    playing.set_playing(true);
    for _ in 0..4_000 {
        if playing.now_ns() < 400_000 {
            playing.tick(((400_000 - playing.now_ns()) as f64 / 1_000.0).min(7.0));
        }
    }
    assert_eq!((picture(&playing), playing.state_hash()), wanted);
}

#[test]
fn a_stage_step_follows_one_request_from_letter_to_letter() {
    let mut p = player("plug-merge");
    while p.scene().request(1).is_none() {
        p.step_event();
    }
    let mut spots = vec![p.scene().request(1).map(|r| r.spot)];
    for _ in 0..30 {
        p.step_stage(1);
        let spot = p.scene().request(1).map(|r| r.spot);
        if spots.last() != Some(&spot) {
            spots.push(spot);
        }
    }
    let place = |s: &Option<Spot>| match s {
        Some(Spot::Submit(_)) => 's',
        Some(Spot::Plug(_)) => 'p',
        Some(Spot::Ctx(_)) => 'c',
        Some(Spot::Hand(_)) => 'h',
        Some(Spot::Device(_)) => 'd',
        Some(Spot::Completing(_)) => 'C',
        Some(Spot::Ring(_)) => 'r',
        _ => '.',
    };
    let way: String = spots.iter().map(place).collect();
    assert!(way.starts_with("spchdC"), "{way}");
}

#[test]
fn a_change_from_now_on_is_met_again_at_the_same_place() {
    let mut p = player("seed-000");
    p.seek(300_000);
    finish_seek(&mut p);
    let mut knobs = p.knobs().clone();
    knobs.set("dispatch_mode", "one-by-one").expect("a knob");
    p.apply_from_now(knobs.clone());
    assert_eq!(p.knobs(), &knobs);
    p.seek(600_000);
    finish_seek(&mut p);
    let changed = (picture(&p), p.state_hash());
    p.seek(100_000);
    finish_seek(&mut p);
    assert_ne!(p.knobs(), &knobs, "before the change the old policy is in force");
    p.seek(600_000);
    finish_seek(&mut p);
    assert_eq!((picture(&p), p.state_hash()), changed);
    assert_eq!(p.knobs(), &knobs);

    // Another change further back cuts off this one: a new future.
    p.seek(200_000);
    finish_seek(&mut p);
    let mut other = p.knobs().clone();
    other.set("plug_max", "4").expect("a knob");
    p.apply_from_now(other);
    assert_eq!(p.changes().count(), 1);
    p.seek(600_000);
    finish_seek(&mut p);
    assert_ne!(p.state_hash(), changed.1);
    assert_ne!(p.knobs(), &knobs);
}

#[test]
fn a_change_while_the_log_of_a_step_is_half_shown_is_replayed_exactly() {
    let mut p = player("seed-000");
    p.seek(200_000);
    finish_seek(&mut p);
    while p.head.at_rest() {
        p.step_event();
    }
    let mut knobs = p.knobs().clone();
    knobs.set("plug_max", "2").expect("a knob");
    p.apply_from_now(knobs);
    p.seek(350_000);
    finish_seek(&mut p);
    let first = p.state_hash();
    p.seek(50_000);
    p.seek(350_000);
    finish_seek(&mut p);
    assert_eq!(p.state_hash(), first);
}

#[test]
fn a_player_that_was_just_built_goes_to_its_moment_in_ticks_and_arrives_where_a_seek_does() {
    let mut p = player("seed-000");
    p.seek_soon(1_000_000);
    assert_eq!((p.now_ns(), p.seeking(), p.position()), (0, Some(1_000_000), 0), "nothing is done yet");
    finish_seek(&mut p);
    let mut sought = player("seed-000");
    sought.seek(1_000_000);
    finish_seek(&mut sought);
    assert_eq!(
        (p.now_ns(), p.position(), p.state_hash()),
        (1_000_000, sought.position(), sought.state_hash())
    );
    // Back at once, for what lies behind was reached before; and where it stands there is nothing to do.
    p.seek_soon(400_000);
    assert_eq!((p.now_ns(), p.seeking()), (400_000, None));
    p.seek_soon(400_000);
    assert_eq!(p.seeking(), None);
}

#[test]
fn a_fork_goes_its_own_way() {
    let mut p = player("seed-000");
    p.seek(100_000);
    finish_seek(&mut p);
    let mut other = p.fork();
    other.apply_queue_depth_from_now(0, 8);
    other.seek(300_000);
    finish_seek(&mut other);
    assert_eq!(p.now_ns(), 100_000);
    p.seek(300_000);
    finish_seek(&mut p);
    assert_ne!(p.state_hash(), other.state_hash());
    assert!(other.scene().standing_len(crate::scene::Standing::Device(0)) < 200);
}

#[test]
fn a_new_scenario_starts_at_its_beginning_at_the_old_speed() {
    let mut p = player("seed-000");
    p.seek(100_000);
    p.set_speed(12_345.0);
    p.set_playing(true);
    p.restart_with(scenario("plug-merge", 1)).expect("the case can be played");
    assert_eq!((p.now_ns(), p.speed(), p.playing()), (0, 12_345.0, true));
    let mut wrong = scenario("plug-merge", 1);
    wrong.kernel = "9.99".into();
    assert!(p.restart_with(wrong).is_err());
    assert_eq!(p.scenario().kernel, "4.19", "a scenario that cannot run leaves the old one alone");
}

#[test]
fn a_million_events_stay_within_the_byte_budget_and_any_seek_replays_few() {
    let mut p = player("seed-000");
    // As the page opens it.
    p.seek(2_000_000);
    finish_seek(&mut p);
    while p.explore(2_000) {}
    let (events, end) = (p.timeline().explored_seq(), p.duration_ns());
    assert!(events > 1_000_000, "{events} events");
    let bytes = p.checkpoint_bytes();
    assert!(bytes <= checkpoint::BUDGET_BYTES + checkpoint::NEAR_BYTES, "{bytes} bytes");
    let gaps = p.checkpoints.gaps();
    let (mean, most) = (events / gaps.len() as u64, *gaps.iter().max().expect("some"));
    assert!(most < mean * 2, "{most} events between two checkpoints, {mean} on the mean");
    for k in [7, 3, 9, 1, 8, 5] {
        let ns = end * k / 10;
        p.seek(ns);
        let replayed = p.recent_end - p.checkpoints.before_time(ns).expect("a checkpoint").seq;
        assert!(p.seeking().is_none(), "what was explored is reached at once");
        assert!(replayed <= most, "{replayed} events replayed for {ns} ns");
    }
}

#[test]
fn the_timeline_counts_each_event_once_whoever_was_there_first() {
    let mut scouted = player("plug-merge");
    while scouted.explore(10) {}
    let mut played = player("plug-merge");
    played.set_speed(1e7);
    played.set_playing(true);
    for _ in 0..2_000 {
        played.tick(5.0);
    }
    assert_eq!(scouted.timeline().buckets(), played.timeline().buckets());
    assert_eq!(scouted.timeline().marks(), played.timeline().marks());
    let ios: u32 = played.timeline().buckets().iter().map(|b| b.ios).sum();
    assert_eq!(ios, 4, "four writes");
    assert_eq!(played.timeline().marks().iter().filter(|m| m.kind == MarkKind::Merge).count(), 1);
}

#[test]
fn the_ring_of_recent_events_is_bounded_and_ends_at_the_playhead() {
    let mut p = player("seed-000");
    p.seek(500_000);
    finish_seek(&mut p);
    assert_eq!(p.recent_events().len(), RECENT_MAX);
    assert!(p.recent_events().all(|e| e.at_ns <= 500_000));
    assert!(p.recent_events().next_back().is_some_and(|e| e.at_ns > 490_000));
    assert!(p.scene().live().all(|(_, r)| r.cpu != NONE16));
}

#[test]
fn a_follower_stands_where_its_leader_does() {
    let mut leader = player("seed-000");
    let mut twin = Player::new(scenario("seed-000", 1)).expect("it can be played");
    leader.set_speed(400_000.0);
    leader.set_playing(true);
    let mut jumps = leader.jumps();
    for round in 0..60 {
        leader.tick(16.0);
        if round % 20 == 19 {
            leader.seek(if round % 40 == 39 { 30_000 } else { 900_000 });
        }
        let jumped = jumps != leader.jumps();
        jumps = leader.jumps();
        while !twin.follow(leader.now_ns(), leader.playing(), jumped) {}
        assert_eq!(twin.now_ns(), leader.now_ns());
        assert_eq!(twin.playing(), leader.playing());
    }
}

#[test]
fn an_event_is_reached_by_its_number() {
    let mut p = player("seed-000");
    for event in [400, 17, 5_000, 1] {
        p.go_to_event(event);
        assert_eq!(p.position(), event);
    }
    p.go_to_event(17);
    let hash = p.state_hash();
    p.seek(2_000_000);
    p.go_to_event(17);
    assert_eq!(p.state_hash(), hash);
}

#[test]
fn marks_are_met_in_order_both_ways() {
    let mut p = player("seed-000");
    while p.explore(50_000) {}
    let mut met = Vec::new();
    let mut at = 0;
    while let Some(mark) = p.timeline().mark_from(at, true) {
        assert!(mark.at_ns > at);
        at = mark.at_ns;
        met.push(at);
    }
    assert!(met.len() > 5, "{}", met.len());
    while let Some(mark) = p.timeline().mark_from(at, false) {
        assert_eq!(met.iter().rev().find(|m| **m < at), Some(&mark.at_ns));
        at = mark.at_ns;
    }
    assert_eq!(at, met[0]);
}

#[test]
fn by_event_as_many_pass_in_a_second_whatever_time_lies_between_them() {
    for name in ["seed-000", "seed-003"] {
        let mut p = player(name);
        p.seek(1_000_000);
        p.set_event_rate(Some(50.0));
        p.set_playing(true);
        let (start, mut shown) = (p.position(), 0);
        for _ in 0..100 {
            p.tick(20.0);
        }
        let mut again = player(name);
        again.go_to_event(start);
        while again.position() < p.position() {
            again.step_event();
            shown += 1;
        }
        assert_eq!(again.position(), p.position(), "{name}: it stands at an event that changes the picture");
        assert!((99..=101).contains(&shown), "{name}: {shown} in two seconds");
        p.set_event_rate(None);
        let before = p.now_ns();
        p.set_speed(1e6);
        p.tick(20.0);
        assert_eq!(p.now_ns(), before + 20_000, "{name}: by time again");
    }
}

/// Marks of one kind after the whole run has been explored.
fn marks(scenario: Scenario, kind: MarkKind) -> Vec<Mark> {
    let mut p = Player::new(scenario).expect("it can be played");
    while p.explore(1_000_000) {}
    p.timeline().marks().iter().filter(|m| m.kind == kind).copied().collect()
}

#[test]
fn a_request_that_leaves_its_scheduler_after_its_deadline_is_a_mark() {
    let mut short = scenario("deadline-mix", 1);
    assert_eq!(marks(short.clone(), MarkKind::Deadline), [], "nothing waits for half a second");
    short.devices[0].iosched.insert("read_expire".into(), 2);
    let found = marks(short.clone(), MarkKind::Deadline);
    assert!(!found.is_empty());
    // The one that leaves then has waited for longer than the limit.
    let mut p = Player::new(short).expect("it can be played");
    p.seek(found[0].at_ns - 1);
    finish_seek(&mut p);
    let at = found[0].at_ns;
    loop {
        let event = p.apply_next(at).expect("the event of the mark");
        if let mqscope_core::event::Kind::Dequeue { rq, .. } = event.kind {
            let request = p.scene().request(rq).expect("it is known");
            if !request.is_write() && event.at_ns >= request.letters.i + 2_000_000 {
                break;
            }
        }
    }
    // Without deadlines there is nothing to miss.
    assert_eq!(marks(scenario("deadline-mix", 0), MarkKind::Deadline), []);
}

#[test]
fn a_disk_that_bfq_keeps_idle_while_requests_wait_is_a_mark() {
    let case = case("dsync-journal").expect("the case");
    let of = |label: &str| {
        let column = case.columns.iter().position(|c| c.label == label).expect("the column");
        case.scenario(0, column, true).expect("it can be read")
    };
    assert!(!marks(of("bfq"), MarkKind::Idle).is_empty());
    assert_eq!(marks(of("bfq, slice_idle 0"), MarkKind::Idle), []);
}

#[test]
fn every_kind_of_mark_has_a_bit_and_words_of_its_own() {
    let mut bits: Vec<u16> = MarkKind::ALL.iter().map(|k| *k as u16).collect();
    let mut words: Vec<&str> = MarkKind::ALL.iter().map(|k| k.words()).collect();
    assert!(bits.iter().all(|b| b.is_power_of_two()));
    bits.sort_unstable();
    bits.dedup();
    words.sort_unstable();
    words.dedup();
    assert_eq!((bits.len(), words.len()), (MarkKind::ALL.len(), MarkKind::ALL.len()));
}
