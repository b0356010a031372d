//! Windows of real runs at every level, against the log and the devices themselves.

use super::*;
use crate::player::TIMELINE_BUCKETS;
use mqscope_core::cases::case;
use mqscope_core::host::machine;
use mqscope_core::scenario::DeviceConfig;

fn player(name: &str, side: usize, ns: u64) -> Player {
    let scenario = case(name).expect("the case").sides().swap_remove(side).1;
    let mut p = Player::new(scenario).expect("it can be played");
    p.seek(ns);
    while p.seeking().is_some() {
        p.tick(0.0);
    }
    p
}

/// The events of a part of the run, read by playing it.
fn events(p: &Player, from_ns: u64, to_ns: u64) -> Vec<Event> {
    let mut p = p.fork();
    p.seek(from_ns.saturating_sub(1));
    let mut all = Vec::new();
    while let Some(event) = p.apply_next(to_ns) {
        all.push(event);
    }
    all
}

#[test]
fn nanoseconds_show_functions_by_name_and_each_line_with_its_price() {
    let p = player("seed-000", 1, 700_000);
    let (hash, position) = (p.state_hash(), p.position());
    let w = p.look(2_000);
    assert_eq!((w.level, w.to_ns - w.from_ns, w.known_ns), (Level::Lines, 2_000, w.to_ns));
    assert!(w.from_ns < 700_000 && w.to_ns > 700_000, "the playhead is inside");
    // What stands on the stage at the playhead is in it.
    let named = w.pieces.iter().filter(|piece| (piece.from_ns..piece.to_ns).contains(&700_000));
    let mut compared = 0;
    for piece in named.filter(|piece| piece.mode != Mode::Spin) {
        assert_eq!(Some(piece.function), p.function(piece.cpu), "CPU {}", piece.cpu);
        compared += 1;
    }
    assert!(compared > 3, "{compared} CPUs do something");
    let prices =
        machine("xeon-gold-6150-2s").map(|m| (m.costs.line_smt, m.costs.line_socket, m.costs.line_remote));
    let (_, socket, _) = prices.expect("the machine");
    assert!(
        w.moves.len() > 5 && w.moves.iter().all(|m| m.cost_ns % socket == 0),
        "all of one socket: {:?}",
        w.moves
    );
    let moved = |e: &&Event| match e.kind {
        Kind::LockAcquire { transfer_ns, from, .. } | Kind::LineTransfer { transfer_ns, from, .. } => {
            transfer_ns > 0 && from != e.cpu && usize::from(from) < p.topology().cpus.len()
        }
        _ => false,
    };
    assert_eq!(w.moves.len(), events(&p, w.from_ns, w.to_ns).iter().filter(moved).count());
    // A CPU is at one thing at a time.
    for cpu in 0..p.topology().cpus.len() as CpuId {
        let mine: Vec<&Piece> = w.pieces.iter().filter(|piece| piece.cpu == cpu).collect();
        assert!(mine.windows(2).all(|two| two[0].to_ns <= two[1].from_ns), "CPU {cpu}: {mine:?}");
    }
    assert_eq!((p.state_hash(), p.position()), (hash, position), "looking changes nothing");
    assert_eq!(p.look(2_000), w, "nor what is seen when it is looked at again");
}

#[test]
fn microseconds_show_doorbells_interrupts_ipis_and_wake_ups() {
    let p = player("seed-000", 0, 700_000);
    let w = p.look(100_000);
    assert_eq!(w.level, Level::Signs);
    let all = events(&p, w.from_ns, w.to_ns);
    let count = |sign: Sign| w.signs.iter().filter(|s| s.sign == sign).count();
    let is = |f: fn(&Kind) -> bool| all.iter().filter(|e| f(&e.kind)).count();
    let rung = is(|k| matches!(k, Kind::Doorbell { .. }));
    assert!(rung > 10);
    assert_eq!(count(Sign::Doorbell), rung);
    assert_eq!(count(Sign::Irq), is(|k| matches!(k, Kind::Irq { .. })));
    assert_eq!(count(Sign::Ipi), is(|k| matches!(k, Kind::Ipi { .. })));
    assert_eq!(count(Sign::Wake), is(|k| matches!(k, Kind::TaskWake { .. })));
    assert!(w.moves.is_empty() && !w.pieces.is_empty());
}

#[test]
fn milliseconds_show_the_head_of_a_disk_where_the_device_has_it_and_the_dies_of_flash() {
    let mut scenario = case("nvme-doorbell").expect("the case").sides().swap_remove(0).1;
    (scenario.duration_ns, scenario.devices[0]) = (1_000_000_000, DeviceConfig::new("sda", "hdd-1t-desktop"));
    let mut p = Player::new(scenario).expect("it can be played");
    p.seek(500_000_000);
    let w = p.look(200_000_000);
    assert_eq!((w.level, w.inside.len()), (Level::Device, 1));
    let head = &w.inside[0];
    assert!(head.place && head.values.len() == COLUMNS, "{head:?}");
    let moves = head.values.windows(2).filter(|v| v[0] != v[1]).count();
    assert!(moves > 5, "the head moves: {:?}", head.values);
    // One of the columns against the disk itself.
    let slice = (w.to_ns - w.from_ns) / COLUMNS as u64;
    let mut there = p.fork();
    there.seek(w.from_ns + 40 * slice + slice / 2);
    let Some(DeviceView::Hdd(disk)) = there.device_view(0) else { panic!("a disk") };
    assert!((head.values[40] - disk.arm).abs() < 0.02, "{} is not {}", head.values[40], disk.arm);
    assert_eq!(head.work[40], disk.work);
    assert!(head.share(HddWork::Seek) > 0.1 && head.share(HddWork::Rotate) > 0.1, "{:?}", head.work);
    let (low, high) = head.reach();
    assert!(head.values.iter().all(|v| (low..=high).contains(v)) && low < high);
    assert_eq!(w.strips[0].slices.len(), COLUMNS);

    // A volume has the heads of its members; they are not all at one place.
    let mut scenario = case("nvme-doorbell").expect("the case").sides().swap_remove(0).1;
    (scenario.duration_ns, scenario.devices[0]) = (1_000_000_000, DeviceConfig::new("sda", "hba-r0-hdd"));
    let mut p = Player::new(scenario).expect("it can be played");
    p.seek(500_000_000);
    let w = p.look(50_000_000);
    assert_eq!((w.level, w.inside[0].place), (Level::Device, true));
    let last = w.inside[0].values.chunks(w.inside[0].lines).next_back().expect("a column");
    assert!(last.len() > 1 && last.iter().any(|arm| *arm != last[0]), "{last:?}");

    let w = player("nvme-doorbell", 0, 3_000_000).look(1_000_000);
    assert!(!w.inside[0].place && w.inside[0].values.iter().any(|v| *v > 0.0), "{:?}", w.inside);
}

#[test]
fn the_whole_run_is_heat_and_grows_with_what_is_known() {
    let mut p = player("seed-003", 1, 100_000_000);
    let end = p.scenario().duration_ns;
    let early = p.look(end);
    assert_eq!((early.level, early.from_ns), (Level::Heat, 0));
    assert!(early.known_ns < early.to_ns);
    while p.explore(1_000_000) {}
    let w = p.look(end);
    assert_eq!(w.known_ns.min(p.duration_ns()), p.duration_ns());
    assert_eq!(w.ios.iter().sum::<u32>(), p.timeline().buckets().iter().map(|b| b.ios).sum::<u32>());
    assert!(w.strips.iter().all(|s| s.slices.len() == w.ios.len()) && w.ios.len() <= TIMELINE_BUCKETS);
    let mut busy = 0;
    for strip in &w.strips {
        for slice in &strip.slices {
            let all: f32 = slice.iter().sum();
            assert!(all <= 1.0001, "{all}");
            busy += usize::from(all > 0.0);
        }
    }
    assert!(busy > 20, "{busy} parts in which a CPU does something");
    // The same shares as in the report.
    p.seek(end);
    while p.seeking().is_some() {
        p.tick(0.0);
    }
    let report = p.report();
    let spent: f64 =
        w.strips.iter().map(|s| s.slices.iter().map(|x| f64::from(x[1])).sum::<f64>()).sum::<f64>()
            * p.timeline().bucket_ns() as f64;
    let said = report.cpu.system_ns * report.total.ios as f64;
    assert!(
        (spent - said).abs() < said * 0.05 + end as f64 * 1e-3,
        "{spent} in the columns, {said} in the report"
    );
}

#[test]
fn a_look_takes_no_longer_than_it_may_and_the_next_ones_see_the_rest() {
    thread_local!(static NOW_MS: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) });
    let mut p = player("seed-000", 1, 2_000_000);
    let whole = p.look(200_000);
    assert!(!whole.more && whole.known_ns == whole.to_ns);
    // Every look at the clock finds it two milliseconds later.
    let mut slow = p.fork();
    slow.lens.replace(None);
    slow.set_clock(|| NOW_MS.replace(NOW_MS.get() + 2.0));
    let (mut looks, mut known) = (0, 0);
    loop {
        let w = slow.look(200_000);
        assert!(w.known_ns >= known, "what is known grows");
        assert!(w.pieces.iter().all(|piece| piece.to_ns <= w.known_ns));
        (looks, known) = (looks + 1, w.known_ns);
        if !w.more {
            assert_eq!(w, whole);
            break;
        }
    }
    assert!(looks > 10, "{looks} looks");
    // Time that passes within the window leaves it where it is.
    p.seek(2_010_000);
    assert_eq!(p.look(200_000), Window { now_ns: 2_010_000, ..whole });
}

#[test]
fn a_window_with_too_much_in_it_shows_heat_and_a_change_is_seen_in_it() {
    let mut p = player("seed-000", 0, 2_000_000);
    assert_eq!(p.look(20_000_000).level, Level::Heat, "a million events");
    let before = p.look(2_000);
    let knobs = p.knobs().clone();
    p.seek(before.from_ns);
    p.apply_from_now(knobs);
    p.seek(2_000_000);
    assert_eq!(p.look(2_000), before, "a change that changes nothing");
}
