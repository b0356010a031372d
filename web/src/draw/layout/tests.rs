//! The map for many machines and sizes: everything inside, nothing on top of anything else, nobody lost.

use super::*;
use mqscope_core::topology as fixed;
use mqscope_core::topology::{ObjectKind, Site};

/// `cpus` CPUs on `sockets` sockets; `queues` disks with `hctxs` hctxs each; a task on each of the first `tasks` CPUs.
fn machine(cpus: u16, sockets: u16, queues: u16, hctxs: u16, tasks: u16, units: &[(&str, u32)]) -> Topology {
    let object = |name: &str, kind, site| fixed::Object { name: name.into(), class: name.into(), kind, site };
    let mut t = Topology {
        cpus: (0..cpus)
            .map(|c| fixed::Cpu { socket: c * sockets / cpus, cache: c * sockets / cpus, core: c })
            .collect(),
        tasks: (0..tasks)
            .map(|i| fixed::Task { name: format!("job{i}"), pid: 1, cpu: i % cpus, iodepth: 32 })
            .collect(),
        ..Topology::default()
    };
    for q in 0..queues {
        let first = t.hctxs.len() as u16;
        for index in 0..hctxs {
            let mine = (0..cpus).filter(|c| c % hctxs == index).collect();
            let id = t.hctxs.len() as u16;
            t.hctxs.push(fixed::Hctx { queue: q, index, cpus: mine });
            t.objects.push(object("hctx->lock", ObjectKind::Lock, Site::Hctx(id)));
            t.objects.push(object("sbitmap word (tags)", ObjectKind::Line, Site::Tags(id)));
        }
        t.objects.extend((0..cpus).map(|c| object("ctx->lock", ObjectKind::Lock, Site::Ctx(c))));
        t.objects.push(object("sdev->device_busy", ObjectKind::Line, Site::Queue(q)));
        t.queues.push(fixed::Queue {
            name: format!("sd{q}"),
            model: "model".into(),
            path: Default::default(),
            driver: fixed::Driver::Scsi,
            scheduler: "none".into(),
            tunables: Vec::new(),
            dev: (8, q.into()),
            nr_tags: [1, 31, 256, 1_023, 5_089][(q + hctxs) as usize % 5],
            nr_requests: 256,
            queue_depth: 256,
            sectors: 1 << 30,
            hctxs: (first..first + hctxs).collect(),
            units: units.iter().map(|(l, n)| (l.to_string(), *n)).collect(),
        });
    }
    t
}

const HBA: &[(&str, u32)] = &[("engine", 8), ("member", 8), ("die", 48)];
const DISKS: &[(&str, u32)] = &[("engine", 8), ("member", 8), ("platter", 1), ("write-back cache", 1)];
const CHANNELS: &[(&str, u32)] = &[("channel", 12), ("die", 64), ("write buffer", 1)];
const NVME: &[(&str, u32)] = &[("die", 64)];
const SIZES: [(f32, f32); 8] = [
    (320.0, 480.0),
    (320.0, 900.0),
    (600.0, 700.0),
    (800.0, 500.0),
    (1_200.0, 620.0),
    (1_920.0, 1_000.0),
    (3_840.0, 2_000.0),
    (100.0, 10.0),
];

fn machines() -> Vec<Topology> {
    vec![
        machine(1, 1, 1, 1, 1, &[]),
        machine(4, 1, 1, 1, 2, &[]),
        machine(16, 1, 1, 16, 4, NVME),
        machine(72, 2, 2, 1, 8, HBA),
        machine(128, 2, 1, 64, 16, NVME),
        machine(128, 4, 16, 4, 128, HBA),
        machine(16, 1, 1, 16, 4, CHANNELS),
        machine(16, 1, 1, 16, 4, &[("die", 1_024), ("write buffer", 1)]),
        machine(16, 1, 1, 16, 4, &[("channel", 64), ("die", 1_024), ("write buffer", 1)]),
        machine(16, 1, 2, 4, 4, DISKS),
        with_scheduler(machine(4, 1, 1, 1, 2, &[])),
        with_scheduler(machine(72, 2, 2, 1, 8, HBA)),
        with_scheduler(machine(128, 4, 16, 4, 128, HBA)),
    ]
}

fn with_scheduler(mut t: Topology) -> Topology {
    for q in &mut t.queues {
        q.scheduler = "mq-deadline".into();
        t.objects.push(fixed::Object {
            name: format!("dd->lock ({})", q.name),
            class: "dd->lock".into(),
            kind: ObjectKind::Lock,
            site: Site::Elevator(q.dev.1 as u16),
        });
    }
    t
}

#[test]
fn the_legacy_path_has_no_ctx_lists_and_a_queue_instead_of_an_hctx() {
    let side = |at: usize| {
        let (_, scenario) = mqscope_core::cases::case("seed-003").expect("the case").sides().swap_remove(at);
        mqscope_core::Sim::new(&scenario).expect("it runs").topology().clone()
    };
    for (topology, legacy) in [(side(0), true), (side(1), false)] {
        for width in [1_200.0, 320.0] {
            let l = Layout::new(&topology, &Activity::default(), width, 900.0, Pinned::default());
            let heads: String = l.headings.iter().map(|h| h.text).collect();
            assert_eq!(heads.contains("ctx list"), !legacy, "{heads}");
            assert_eq!(heads.contains("request_queue"), legacy, "{heads}");
            assert_eq!(l.lanes.iter().all(|lane| lane.ctx.w > 0.0), !legacy);
            // Locks that this run never takes are hidden by what it does, not by the map.
            let boxes = l.boxes(&topology).into_iter().filter(|b| !matches!(b.id, BoxId::Object(_)));
            let words: Vec<_> = boxes.map(|b| b.text).collect();
            assert_eq!(words.iter().any(|w| w.contains("ctx")), !legacy, "{words:?}");
            assert_eq!(words.iter().any(|w| w.contains("sched tags")), !legacy, "{words:?}");
        }
        let elevator =
            &Layout::new(&topology, &Activity::default(), 1_200.0, 900.0, Pinned::default()).elevators[0];
        let lock = elevator.groups.iter().any(|g| g.class == "q->queue_lock");
        assert_eq!(lock, legacy, "its one lock stands at the elevator");
    }
}

#[test]
fn a_scheduler_stands_between_the_ctx_lists_and_the_hctx() {
    let t = with_scheduler(machine(4, 1, 1, 1, 2, &[]));
    let wide = Layout::new(&t, &busy(&t, 4), 1_200.0, 560.0, Pinned::default());
    let at = wide.elevator(0).expect("its box");
    assert!(at.upright && at.groups.len() == 1, "{at:?}");
    assert!(wide.lanes[0].ctx.right() < at.rect.x && at.rect.right() < wide.hctxs[0].rect.x);
    let narrow = Layout::new(&t, &busy(&t, 4), 320.0, 640.0, Pinned::default());
    let at = narrow.elevator(0).expect("its box");
    assert!(narrow.lanes[3].rect.bottom() < at.rect.y && at.rect.bottom() < narrow.hctxs[0].rect.y);
    let without = Layout::new(&machine(4, 1, 1, 1, 2, &[]), &busy(&t, 4), 1_200.0, 560.0, Pinned::default());
    assert_eq!(without.elevators, []);
}

fn busy(t: &Topology, cpus: usize) -> Activity {
    Activity {
        cpus: (0..t.cpus.len()).map(|c| if c < cpus { 2.0 } else { 0.0 }).collect(),
        hctxs: vec![1.0; t.hctxs.len()],
        objects: vec![],
    }
}

fn assert_inside(name: &str, inner: Rect, outer: Rect) {
    let eps = 0.1;
    assert!(
        inner.x >= outer.x - eps
            && inner.y >= outer.y - eps
            && inner.right() <= outer.right() + eps
            && inner.bottom() <= outer.bottom() + eps,
        "{name}: {inner:?} not in {outer:?}"
    );
    assert!(inner.w >= 0.0 && inner.h >= 0.0, "{name}: {inner:?}");
}

fn assert_apart(name: &str, rects: &[Rect]) {
    for (i, a) in rects.iter().enumerate() {
        for b in rects[i + 1..].iter().filter(|b| b.w > 0.0 && b.h > 0.0 && a.w > 0.0 && a.h > 0.0) {
            assert!(!a.overlaps(b), "{name}: {a:?} on {b:?}");
        }
    }
}

fn check(t: &Topology, l: &Layout) {
    let name = format!("{} CPUs, {} hctxs, {} × {}", t.cpus.len(), t.hctxs.len(), l.width, l.height);
    let stage = Rect::new(0.0, 0.0, l.width, l.height);
    assert_eq!(
        (l.lane_of.len(), l.box_of.len(), l.devices.len()),
        (t.cpus.len(), t.hctxs.len(), t.queues.len())
    );
    for lane in &l.lanes {
        assert_inside(&name, lane.rect, stage);
        let parts = [lane.label, lane.words, lane.done, lane.submit, lane.plug, lane.lock, lane.ctx];
        for part in parts {
            assert_inside(&format!("{name}: part of {:?}", lane.row), part, lane.rect);
        }
        assert_apart(&name, &parts);
    }
    for at in &l.hctxs {
        assert_inside(&name, at.rect, stage);
        let mut parts = vec![at.title, at.hand, at.dispatch, at.tags];
        parts.extend(at.groups.iter().map(|g| g.rect));
        for part in &parts {
            assert_inside(&format!("{name}: part of hctx {:?}", at.hctx), *part, at.rect);
        }
        assert_apart(&format!("{name}: hctx {:?}", at.hctx), &parts);
    }
    for at in &l.elevators {
        assert_inside(&name, at.rect, stage);
        let mut parts = vec![at.title, at.lists[0], at.lists[1], at.foot];
        parts.extend(at.groups.iter().map(|g| g.rect));
        for part in &parts {
            assert_inside(&format!("{name}: part of scheduler {}", at.queue), *part, at.rect);
        }
        assert_apart(&format!("{name}: scheduler {}", at.queue), &parts);
    }
    for at in &l.devices {
        assert_inside(&name, at.rect, stage);
        let mut parts = vec![at.title, at.gauge, at.engine, at.link];
        parts.extend(at.units.as_ref().map(|u| u.grid.rect));
        parts.extend(at.buffer);
        parts.extend(at.groups.iter().map(|g| g.rect));
        for part in &parts {
            assert_inside(&format!("{name}: part of device {}", at.queue), *part, at.rect);
        }
        assert_apart(&format!("{name}: device {}", at.queue), &parts);
        if let Some(units) = &at.units {
            let inner = units.cells() / units.grid.count;
            for cell in 0..units.cells() {
                assert_inside(&name, units.inner_cell(cell / inner, cell % inner), units.grid.rect);
            }
        }
    }
    let mut blocks: Vec<Rect> = l.lanes.iter().map(|l| l.rect).collect();
    blocks.extend(l.elevators.iter().map(|e| e.rect));
    blocks.extend(l.hctxs.iter().map(|h| h.rect));
    blocks.extend(l.devices.iter().map(|d| d.rect));
    assert_apart(&name, &blocks);
    for heading in &l.headings {
        assert_inside(&name, heading.rect, stage);
    }
}

#[test]
fn everything_is_inside_and_apart_for_all_machines_and_sizes() {
    for t in machines() {
        for (w, h) in SIZES {
            for active in [0, 1, t.tasks.len(), t.cpus.len()] {
                let l = Layout::new(&t, &busy(&t, active), w, h, Pinned::default());
                check(&t, &l);
            }
        }
    }
}

#[test]
fn idle_cpus_fold_into_one_row_a_socket_that_counts_them() {
    let t = machine(72, 2, 2, 1, 8, HBA);
    let l = Layout::new(&t, &busy(&t, 8), 1_200.0, 620.0, Pinned::default());
    let cpus = l.lanes.iter().filter(|l| matches!(l.row, Row::Cpu(_))).count();
    let folds: Vec<_> =
        l.lanes.iter().filter(|l| matches!(l.row, Row::Fold { .. })).map(|l| &l.row).collect();
    assert_eq!(cpus, 8);
    assert_eq!(
        folds,
        [&Row::Fold { socket: 0, count: 28, busy: false }, &Row::Fold { socket: 1, count: 36, busy: false }]
    );
    assert_eq!(l.lane(3).map(|l| &l.row), Some(&Row::Cpu(3)));
    assert_eq!(l.lane(20).map(|l| &l.row), Some(folds[0]));
}

#[test]
fn where_the_busy_ones_do_not_fit_the_least_busy_fold_but_never_the_selected_one() {
    let t = machine(128, 2, 1, 64, 16, NVME);
    let mut activity = busy(&t, 128);
    activity.cpus[77] = 0.5;
    let pinned = Pinned { cpu: Some(77), hctx: Some(13) };
    for (w, h) in SIZES {
        let with = Layout::new(&t, &activity, w, h, pinned);
        check(&t, &with);
        assert_eq!(with.lane(77).map(|l| &l.row), Some(&Row::Cpu(77)), "{w} × {h}");
        assert_eq!(with.hctx(13).and_then(|h| h.hctx), Some(13), "{w} × {h}");
        assert!(with.lanes.iter().any(|l| matches!(l.row, Row::Fold { busy: true, .. })), "{w} × {h}");
    }
    let without = Layout::new(&t, &activity, 1_200.0, 620.0, Pinned::default());
    assert_ne!(without.lane(77).map(|l| &l.row), Some(&Row::Cpu(77)));
}

#[test]
fn a_handful_of_cpus_never_folds() {
    let t = machine(4, 1, 1, 1, 1, &[]);
    let l = Layout::new(&t, &busy(&t, 0), 1_200.0, 560.0, Pinned::default());
    assert_eq!(l.lanes.len(), 4);
    assert!(l.lanes.iter().all(|l| matches!(l.row, Row::Cpu(_))));
}

#[test]
fn locks_and_lines_that_the_run_never_touched_take_no_room() {
    let t = machine(4, 1, 1, 1, 1, &[]);
    let mut activity = busy(&t, 4);
    activity.objects = vec![false; t.objects.len()];
    let none = Layout::new(&t, &activity, 1_200.0, 560.0, Pinned::default());
    assert!(none.hctxs[0].groups.is_empty() && none.devices[0].groups.is_empty());
    activity.objects = vec![true; t.objects.len()];
    let all = Layout::new(&t, &activity, 1_200.0, 560.0, Pinned::default());
    let classes: Vec<_> = all.hctxs[0].groups.iter().map(|g| g.class.as_str()).collect();
    assert_eq!(classes, ["hctx->lock", "sbitmap word (tags)"]);
}

#[test]
fn every_box_that_can_be_focused_has_a_name_and_words_and_a_place() {
    for t in machines() {
        for (w, h) in SIZES {
            let l = Layout::new(&t, &busy(&t, 4), w, h, Pinned::default());
            let boxes = l.boxes(&t);
            assert!(boxes.len() >= 3);
            let stage = Rect::new(0.0, 0.0, l.width, l.height);
            for b in &boxes {
                assert!(!b.label.is_empty() && b.text.len() > 8, "{b:?}");
                assert_inside(&b.label, b.rect, stage);
            }
            let mut ids: Vec<_> = boxes.iter().map(|b| format!("{:?}", b.id)).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), boxes.len(), "each box once");
        }
    }
}

#[test]
fn every_die_has_one_cell_under_its_own_channel() {
    let t = machine(16, 1, 1, 16, 4, CHANNELS);
    let l = Layout::new(&t, &busy(&t, 4), 1_200.0, 620.0, Pinned::default());
    let units = l.devices[0].units.as_ref().expect("dies");
    let mut cells: Vec<_> = (0..64).map(|die| units.place(die)).collect();
    for (die, &(channel, inner)) in (0u32..).zip(&cells) {
        assert_eq!(channel, die % 12, "as the device has it");
        assert!(units.exists(channel, inner));
    }
    let all = (0..units.grid.count).flat_map(|u| (0..6).map(move |i| (u, i)));
    assert_eq!(all.filter(|&(u, i)| units.exists(u, i)).count(), 64);
    cells.sort_unstable();
    cells.dedup();
    assert_eq!(cells.len(), 64);
}

#[test]
fn dies_too_small_to_be_seen_fold_into_strips() {
    let folded = |units: &[(&str, u32)], (w, h): (f32, f32)| {
        let t = machine(16, 1, 1, 16, 4, units);
        let l = Layout::new(&t, &busy(&t, 4), w, h, Pinned::default());
        l.devices[0].units.as_ref().is_some_and(|u| u.folded)
    };
    let many = [("channel", 64), ("die", 1_024)];
    assert!(folded(&many, (320.0, 480.0)) && folded(&[("die", 1_024)], (240.0, 240.0)));
    assert!(!folded(&many, (3_840.0, 2_000.0)) && !folded(CHANNELS, (320.0, 640.0)));
}
