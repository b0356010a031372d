//! The scene against hand-made logs, and against everything that the simulator logs.

use super::*;
use mqscope_core::Sim;
use mqscope_core::cases::cases;
use mqscope_core::event::{Context, Event, Extent, Flags, Kind, NO_TASK, Place, Sleep, Stage};
use mqscope_core::kernel;
use mqscope_core::scenario::{Path, Scenario};
use mqscope_core::topology as fixed;

/// Two CPUs, a task on each, one disk with one hctx of four tags, a ctx lock for each CPU.
fn topology() -> Rc<Topology> {
    let cpu = |core| fixed::Cpu { socket: 0, cache: 0, core };
    let task = |cpu| fixed::Task { name: format!("job{cpu}"), pid: 100, cpu, iodepth: 4 };
    let lock = |cpu| fixed::Object {
        name: format!("ctx[{cpu}]->lock"),
        class: "ctx->lock".into(),
        kind: fixed::ObjectKind::Lock,
        site: fixed::Site::Ctx(cpu),
    };
    Rc::new(Topology {
        cpus: vec![cpu(0), cpu(1)],
        tasks: vec![task(0), task(1)],
        queues: vec![fixed::Queue {
            name: "sdb".into(),
            model: "hba-r0-8ssd".into(),
            path: Default::default(),
            driver: fixed::Driver::Scsi,
            scheduler: "none".into(),
            tunables: Vec::new(),
            dev: (8, 16),
            nr_tags: 4,
            nr_requests: 4,
            queue_depth: 2,
            sectors: 1 << 20,
            hctxs: vec![0],
            units: vec![],
        }],
        hctxs: vec![fixed::Hctx { queue: 0, index: 0, cpus: vec![0, 1] }],
        objects: vec![lock(0), lock(1)],
    })
}

fn knobs() -> Knobs {
    kernel::row("4.14").expect("the row 4.14").knobs.clone()
}

fn scene() -> Scene {
    Scene::new(topology(), &knobs(), 100_000)
}

const EXTENT: Extent = Extent { op: Op::Read, flags: Flags::NONE, sector: 800, sectors: 8 };

/// An event of task 0 on CPU 0.
fn by_task(at_ns: u64, kind: Kind) -> Event {
    Event { at_ns, cpu: 0, context: Context::Task, task: 0, kind }
}

/// An event of a kworker on CPU 1.
fn by_kworker(at_ns: u64, kind: Kind) -> Event {
    Event { at_ns, cpu: 1, context: Context::Kworker, task: NO_TASK, kind }
}

fn feed(scene: &mut Scene, events: &[Event]) {
    for event in events {
        scene.apply(event);
    }
}

/// Request `rq` for bio `rq` up to the plug of task 0.
fn submit(at: u64, rq: u32) -> [Event; 3] {
    let queue = Kind::Queue { bio: rq, queue: 0, extent: EXTENT };
    let tag = Kind::TagAlloc { rq, bio: rq, hctx: 0, tag: rq - 1 };
    let plug = Kind::PlugAdd { rq, queue: 0, count: rq };
    [by_task(at, queue), by_task(at + 10, tag), by_task(at + 20, plug)]
}

#[test]
fn a_request_is_seen_at_every_place_of_its_way() {
    let mut s = scene();
    let spot = |s: &Scene| s.request(1).map(|r| r.spot);
    let (queue, hctx, extent) = (0, 0, EXTENT);
    feed(&mut s, &submit(100, 1));
    assert_eq!(spot(&s), Some(Spot::Plug(0)));
    feed(
        &mut s,
        &[
            by_task(200, Kind::Unplug { queue, count: 1, explicit: true }),
            by_task(210, Kind::Insert { rq: 1, queue, hctx, place: Place::Ctx(0), extent }),
        ],
    );
    assert_eq!((spot(&s), s.standing_len(Standing::Ctx(0, 0))), (Some(Spot::Ctx(0)), 1));
    feed(
        &mut s,
        &[
            by_kworker(300, Kind::RunBegin { hctx }),
            by_kworker(310, Kind::Dequeue { rq: 1, hctx, from: Place::Ctx(0) }),
        ],
    );
    assert_eq!((spot(&s), s.hctxs()[0].runners()), (Some(Spot::Hand(1)), &[1][..]));
    feed(
        &mut s,
        &[
            by_kworker(320, Kind::Issue { rq: 1, queue, hctx, extent }),
            by_kworker(
                321,
                Kind::DeviceStage { rq: 1, queue, stage: Stage::Die, unit: 3, start_ns: 400, end_ns: 900 },
            ),
            by_kworker(330, Kind::RunEnd { hctx, sent: 1 }),
        ],
    );
    assert_eq!((spot(&s), s.hctxs()[0].running(), s.queues()[0].foreign), (Some(Spot::Device(0)), 0, 1));
    feed(&mut s, &[by_kworker(1_000, Kind::Complete { rq: 1, queue, extent })]);
    assert_eq!(spot(&s), Some(Spot::Completing(1)));
    feed(
        &mut s,
        &[
            by_kworker(1_010, Kind::BioEnd { bio: 1, lat_ns: 910 }),
            by_kworker(1_020, Kind::TagFree { rq: 1, hctx, tag: 0 }),
        ],
    );
    assert_eq!((spot(&s), s.hctxs()[0].tags_in_use), (Some(Spot::Ring(0)), 0));
    feed(&mut s, &[by_task(1_100, Kind::Reap { bio: 1, lat_ns: 1_000 })]);
    assert_eq!((spot(&s), s.live_len(), s.finished_count()), (Some(Spot::Done(0)), 0, 1));
    assert_eq!(s.strays(), 0);

    let story = s.story(1);
    let letters: String = story.iter().map(|l| l.letter).collect();
    assert_eq!(letters, "QGUIDC");
    let times: Vec<u64> = story.iter().map(|l| l.at_ns).collect();
    assert!(times.is_sorted(), "{times:?}");
    // Everything between Q and the end is told once: the lines' durations cover it without the die's, which lies
    // inside the driver's.
    let covered: u64 = story.iter().map(|l| l.for_ns).sum();
    assert_eq!(covered, 1_000);
}

#[test]
fn a_merged_bio_becomes_part_of_its_request_and_is_reaped_with_it() {
    let mut s = scene();
    feed(&mut s, &submit(100, 1));
    let extent = Extent { sector: 808, ..EXTENT };
    feed(
        &mut s,
        &[
            by_task(130, Kind::Queue { bio: 2, queue: 0, extent }),
            by_task(131, Kind::BackMerge { bio: 2, rq: 1, queue: 0, extent }),
        ],
    );
    let r = s.request(1).expect("request 1");
    assert_eq!((r.bios, r.extent.sector, r.extent.sectors), (2, 800, 16));
    assert_eq!((s.live_len(), s.merges().count()), (1, 1));
    feed(
        &mut s,
        &[
            by_task(200, Kind::Complete { rq: 1, queue: 0, extent: EXTENT }),
            by_task(210, Kind::TagFree { rq: 1, hctx: 0, tag: 0 }),
            by_task(220, Kind::Reap { bio: 1, lat_ns: 120 }),
        ],
    );
    assert_eq!(s.live_len(), 1, "one of its bios is not reaped yet");
    feed(&mut s, &[by_task(230, Kind::Reap { bio: 2, lat_ns: 100 })]);
    assert_eq!((s.live_len(), s.tasks()[0].in_flight, s.tasks()[0].completed), (0, 0, 2));
}

#[test]
fn a_bio_without_a_tag_waits_and_its_task_sleeps() {
    let mut s = scene();
    let queue = Kind::Queue { bio: 9, queue: 0, extent: EXTENT };
    let wait = Kind::TagWait { bio: 9, hctx: 0, wait_queue: 3 };
    feed(&mut s, &[by_task(10, queue), by_task(20, wait), by_task(30, Kind::TaskSleep { why: Sleep::Tag })]);
    assert_eq!(s.standing_len(Standing::TagWait(0)), 1);
    assert_eq!(s.tasks()[0].sleep, Some((Sleep::Tag, 30)));
    let (_, bio) = s.live().next().expect("the bio");
    let words = s.now_in_words(bio);
    assert!(words.contains("wait queue 3") && words.contains("all 4 tags of sdb hctx0"), "{words}");
    feed(&mut s, &[by_task(50, Kind::TagAlloc { rq: 5, bio: 9, hctx: 0, tag: 2 })]);
    assert_eq!(
        (s.request(5).map(|r| r.spot), s.standing_len(Standing::TagWait(0))),
        (Some(Spot::Submit(0)), 0)
    );
}

#[test]
fn a_refused_request_returns_and_says_so() {
    let mut s = scene();
    feed(&mut s, &submit(100, 1));
    let (queue, hctx, extent) = (0, 0, EXTENT);
    feed(
        &mut s,
        &[
            by_task(200, Kind::Issue { rq: 1, queue, hctx, extent }),
            by_task(210, Kind::Requeue { rq: 1, queue, hctx, extent }),
            by_task(220, Kind::DispatchListAdd { rq: 1, hctx }),
        ],
    );
    let r = s.request(1).expect("request 1");
    assert_eq!((r.spot, r.before, r.refusals), (Spot::DispatchList(0), Spot::Hand(0), 1));
    assert!(s.now_in_words(r).contains("0 ahead of it; no CPU runs the hctx"), "{}", s.now_in_words(r));
    assert_eq!(s.queues()[0].requeued, 1);
}

#[test]
fn both_parts_of_a_split_bio_are_requests_and_both_end() {
    let mut s = scene();
    let whole = Extent { sectors: 24, ..EXTENT };
    let rest = Extent { sector: 816, sectors: 8, ..EXTENT };
    feed(
        &mut s,
        &[
            by_task(10, Kind::Queue { bio: 1, queue: 0, extent: whole }),
            by_task(11, Kind::Split { bio: 1, queue: 0, extent: whole, at_sector: 816 }),
            by_task(12, Kind::TagAlloc { rq: 1, bio: 1, hctx: 0, tag: 0 }),
            by_task(13, Kind::PlugAdd { rq: 1, queue: 0, count: 1 }),
            by_task(14, Kind::GetRequest { bio: 1, rq: 0, queue: 0, extent: rest }),
            by_task(15, Kind::TagAlloc { rq: 2, bio: 1, hctx: 0, tag: 1 }),
        ],
    );
    assert_eq!(s.request(1).map(|r| r.extent.sectors), Some(16));
    assert_eq!(s.request(2).map(|r| r.extent), Some(rest));
    for rq in [1, 2] {
        feed(
            &mut s,
            &[
                by_task(20, Kind::Complete { rq, queue: 0, extent: rest }),
                by_task(21, Kind::TagFree { rq, hctx: 0, tag: rq - 1 }),
            ],
        );
    }
    feed(&mut s, &[by_task(30, Kind::Reap { bio: 1, lat_ns: 20 })]);
    assert_eq!((s.live_len(), s.strays(), s.tasks()[0].in_flight), (0, 0, 0));
}

#[test]
fn a_lock_shows_who_holds_it_who_spins_and_what_that_cost() {
    let mut s = scene();
    let acquire = |wait_ns, transfer_ns, from| Kind::LockAcquire { lock: 0, wait_ns, transfer_ns, from };
    feed(
        &mut s,
        &[by_task(10, acquire(0, 0, 0)), by_kworker(20, Kind::LockWait { lock: 0, holder: 0, waiters: 0 })],
    );
    let lock = &s.objects()[0];
    assert_eq!((lock.holder, lock.waiters()), (Some((0, 10)), &[1][..]));
    assert_eq!(s.cpus()[1].spin.map(|s| (s.lock, s.holder)), Some((0, 0)));
    feed(
        &mut s,
        &[by_task(50, Kind::LockRelease { lock: 0, held_ns: 40 }), by_kworker(110, acquire(90, 60, 0))],
    );
    let lock = &s.objects()[0];
    assert_eq!((lock.holder, lock.waiting(), lock.owner, lock.contended), (Some((1, 110)), 0, 1, 1));
    assert_eq!((s.cpus()[1].spin, s.transfers().count()), (None, 1));
    assert!(s.rates().spin_cpus > 0.0);
    // The next step of a request on that CPU takes the loss over, with the culprit.
    feed(&mut s, &submit(200, 1));
    feed(&mut s, &[by_kworker(300, Kind::Dequeue { rq: 1, hctx: 0, from: Place::Ctx(0) })]);
    let r = s.request(1).expect("request 1");
    assert_eq!((r.lost.spin_ns, r.lost.worst, r.lost.worst_cpu), (90, 0, 0));
    assert!(s.lost_in_words(r).contains("ctx[0]->lock"), "{}", s.lost_in_words(r));
}

#[test]
fn finished_requests_can_be_asked_about_until_many_others_have_finished() {
    let mut s = scene();
    for rq in 1..=FINISHED_MAX as u32 + 1 {
        let at = u64::from(rq) * 100;
        feed(
            &mut s,
            &[
                by_task(at, Kind::Queue { bio: rq, queue: 0, extent: EXTENT }),
                by_task(at, Kind::TagAlloc { rq, bio: rq, hctx: 0, tag: 0 }),
                by_task(at + 1, Kind::Complete { rq, queue: 0, extent: EXTENT }),
                by_task(at + 2, Kind::TagFree { rq, hctx: 0, tag: 0 }),
                by_task(at + 3, Kind::Reap { bio: rq, lat_ns: 3 }),
            ],
        );
    }
    assert!(s.request(1).is_none() && s.story(1).is_empty());
    assert_eq!(s.request(2).map(|r| r.spot), Some(Spot::Done(0)));
    assert_eq!(s.slots(), 1, "one slot is enough for one request at a time");
}

/// A generator for tests only.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut x = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    move |below| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % below.max(1)
    }
}

/// Any event at all, with indices inside and outside of the topology.
fn any_event(n: &mut impl FnMut(u64) -> u64, at_ns: u64) -> Event {
    let extent = Extent::new(if n(2) == 0 { Op::Read } else { Op::Write }, n(999), n(99) as u32);
    let (rq, bio, tag) = (n(12) as u32, n(12) as u32, n(200) as u32);
    let (queue, hctx, lock, cpu) = (n(3) as u16, n(3) as u16, n(4) as u32, n(4) as u16);
    let place = match n(3) {
        0 => Place::Ctx(cpu),
        1 => Place::DispatchList,
        _ => Place::Elevator,
    };
    let kind = match n(35) {
        0..4 => Kind::Queue { bio, queue, extent },
        4 => Kind::Split { bio, queue, extent, at_sector: n(2_000) },
        5 => Kind::BackMerge { bio, rq, queue, extent },
        6 => Kind::FrontMerge { bio, rq, queue, extent },
        7 => Kind::GetRequest { bio, rq, queue, extent },
        8..11 => Kind::TagAlloc { rq, bio, hctx, tag },
        11 => Kind::TagWait { bio, hctx, wait_queue: 1 },
        12 => Kind::TagFree { rq, hctx, tag },
        13 => Kind::PlugAdd { rq, queue, count: 1 },
        14 => Kind::Unplug { queue, count: 1, explicit: n(2) == 0 },
        15 => Kind::Insert { rq, queue, hctx, place, extent },
        16 => Kind::DispatchListAdd { rq, hctx },
        17 => Kind::Dequeue { rq, hctx, from: place },
        18 => Kind::Issue { rq, queue, hctx, extent },
        19 => Kind::Requeue { rq, queue, hctx, extent },
        20 => Kind::Complete { rq, queue, extent },
        21 => Kind::BioEnd { bio, lat_ns: 5 },
        22 => Kind::Reap { bio, lat_ns: n(u64::MAX >> 20) },
        23 => Kind::RunBegin { hctx },
        24 => Kind::RunEnd { hctx, sent: 0 },
        25 => Kind::LockWait { lock, holder: cpu, waiters: 1 },
        26 => Kind::LockAcquire { lock, wait_ns: n(2) * 9, transfer_ns: 5, from: cpu },
        27 => Kind::LockRelease { lock, held_ns: 1 },
        28 => Kind::ContextBegin,
        29 => Kind::ContextEnd,
        30 => Kind::TaskSleep { why: Sleep::Io },
        31 => Kind::PoolAlloc { rq, bio, queue, sync: true, count: tag },
        32 => Kind::PoolFree { rq, queue, sync: true, count: tag },
        33 => Kind::PoolWait { bio, queue, sync: true },
        _ => Kind::DeviceStage {
            rq,
            queue,
            stage: Stage::Die,
            unit: n(999) as u16,
            start_ns: at_ns + n(50),
            end_ns: at_ns + n(90),
        },
    };
    let context = [Context::Task, Context::HardIrq, Context::Kworker][n(3) as usize];
    Event { at_ns, cpu, context, task: n(4) as u16, kind }
}

#[test]
fn a_log_that_makes_no_sense_neither_panics_nor_grows() {
    for seed in 1..40 {
        let mut n = numbers(seed);
        let mut s = scene();
        for i in 0..3_000 {
            let event = any_event(&mut n, i * 7);
            s.apply(&event);
        }
        // Every live entry stands in exactly one list, and can be told about.
        let listed: u32 = (0..Index::of(s.topology()).total).map(|l| s.lists.list_len(l)).sum();
        assert_eq!(listed as usize, s.live_len());
        let told: usize = s.live().map(|(_, r)| s.story_of(r).len()).sum();
        assert!(told > 0);
        assert!(s.finished().count() <= FINISHED_MAX && s.transfers().count() <= TRANSFERS_MAX);
    }
}

#[test]
fn stage_and_table_count_takings_waits_and_moves_by_one_rule() {
    let mut waited = [0.0; 2];
    for name in ["seed-000", "deadline-lock", "seed-003"] {
        for (label, scenario) in mqscope_core::cases::case(name).expect("the case").sides() {
            // Without a warm-up both count the whole run.
            let scenario = Scenario { duration_ns: 4_000_000, warmup_ns: 0, ..scenario };
            let mut sim = Sim::new(&scenario).expect("the run can be built");
            sim.log_mut().set_on(true);
            let mut s = Scene::new(Rc::new(sim.topology().clone()), sim.knobs(), 100_000);
            while sim.next_event_ns().is_some() {
                sim.run_until(sim.now_ns() + 500_000);
                sim.log().events().iter().for_each(|event| s.apply(event));
                sim.log_mut().clear();
            }
            for row in sim.report().objects {
                let of = |o: &&(&fixed::Object, &Object)| o.0.class == row.class;
                let all: Vec<_> = sim.topology().objects.iter().zip(s.objects()).collect();
                let sum = |f: fn(&Object) -> u64| all.iter().filter(of).map(|(_, o)| f(o)).sum::<u64>();
                let spinning: u64 = sum(|o| o.waiting().into());
                let name = format!("{name} ({label}): {row:?}");
                let by_table = (row.contended * row.count as f64).round() as u64;
                // The table counts from when a CPU begins to spin, the stage when it has the lock.
                assert_eq!(sum(|o| o.contended) + spinning, by_table, "{name}");
                assert!(sum(|o| o.transfers).abs_diff(row.transfers) <= spinning + 1, "{name}");
                let lock = row.kind == "lock";
                assert!(!lock || sum(|o| o.count) + spinning == row.count, "{name}");
                waited[usize::from(lock)] += row.contended;
            }
        }
    }
    assert!(
        waited.iter().all(|share| *share > 0.0),
        "some had to wait for lines, some for locks: {waited:?}"
    );
}

#[test]
fn the_scene_knows_every_request_of_every_case_and_what_is_in_flight() {
    for case in cases() {
        for (label, scenario) in case.sides() {
            follow(&format!("{} ({label})", case.name), &scenario);
        }
    }
}

#[test]
fn the_scene_knows_every_request_of_the_legacy_path() {
    let mut scenario = cases()[0].sides().swap_remove(0).1;
    scenario.kernel = "4.14".into();
    scenario.set.clear();
    for disk in &mut scenario.devices {
        (disk.path, disk.scheduler) = (Some(Path::Legacy), "deadline".into());
        disk.queue_depth = Some(8);
    }
    follow("legacy", &scenario);
}

#[test]
fn a_story_of_the_legacy_path_names_nothing_of_blk_mq_and_another_none_of_the_legacy_path() {
    let (_, scenario) = mqscope_core::cases::case("seed-003").expect("the case").sides().swap_remove(0);
    for legacy in [true, false] {
        let mut scenario = scenario.clone();
        for disk in scenario.devices.iter_mut().filter(|d| d.path.is_some()) {
            (disk.path, disk.scheduler) = if legacy {
                (Some(Path::Legacy), "deadline".into())
            } else {
                (Some(Path::Mq), "mq-deadline".into())
            };
        }
        let mut player = crate::player::Player::new(scenario).expect("it can be played");
        let mut told = std::collections::BTreeSet::new();
        for ms in (100..1_500).step_by(100) {
            player.seek(ms * 1_000_000);
            while player.seeking().is_some() {
                player.tick(0.0);
            }
            let scene = player.scene();
            for line in scene.live().flat_map(|(_, r)| scene.story_of(r)) {
                let mq = line.function.contains("blk_mq") || line.what.contains("hctx");
                assert!(!(legacy && mq), "{line:?}");
                told.insert(line.function);
            }
        }
        let has = |function: &str| told.contains(function);
        assert_eq!((has("blk_queue_bio"), has("scsi_request_fn")), (legacy, legacy), "{told:?}");
        assert_eq!(has("scsi_queue_rq"), !legacy, "{told:?}");
        assert!(!has("nvme_queue_rq"), "{told:?}");
    }
}

/// Plays the first 2 ms of a run and compares the scene with the simulation.
fn follow(run: &str, scenario: &Scenario) {
    let mut sim = Sim::new(scenario).expect("the run can be built");
    sim.log_mut().set_on(true);
    let mut s = Scene::new(Rc::new(sim.topology().clone()), sim.knobs(), 100_000);
    let mut slots_early = 0;
    for round in 0..40u64 {
        sim.run_until((round + 1) * 50_000);
        for event in sim.log().events() {
            s.apply(event);
        }
        sim.log_mut().clear();
        let name = format!("{run}, round {round}");
        assert_eq!(s.strays(), 0, "{name}");
        let with_tag = s.live().filter(|(_, r)| r.rq != 0 && !r.tag_freed).count();
        assert_eq!(with_tag as u32, sim.requests_live(), "{name}");
        let bits: u32 = s.hctxs().iter().map(|h| h.tags_in_use).sum();
        assert!(bits <= sim.tags_in_use(), "{name}: {bits} tags drawn, {} in use", sim.tags_in_use());
        for task in s.tasks() {
            let depth = s.topology().tasks.iter().map(|t| t.iodepth).max().unwrap_or(0);
            assert!(task.in_flight <= depth.max(64), "{name}: {} in flight", task.in_flight);
        }
        if round == 19 {
            slots_early = s.slots();
        }
    }
    let depth: u32 = s.topology().tasks.iter().map(|t| t.iodepth).sum();
    assert!(s.slots() <= slots_early.max(depth as usize) + 8, "{run}: slots grow");
}

#[test]
fn a_cpu_waits_for_one_lock_at_a_time_and_is_listed_once() {
    let (_, mut scenario) = mqscope_core::cases::case("seed-000").expect("the case").sides().swap_remove(1);
    scenario.kernel = "5.4".into();
    scenario.set.clear();
    scenario.devices.iter_mut().for_each(|d| d.scheduler = "mq-deadline".into());
    (scenario.duration_ns, scenario.warmup_ns) = (1_500_000, 0);
    let mut player = crate::player::Player::new(scenario).expect("it can be played");
    let mut most = 0;
    while !player.at_end() {
        player.step_event();
        let scene = player.scene();
        let mut waiting: Vec<_> = scene.objects().iter().flat_map(|o| o.waiters().iter().copied()).collect();
        let all = waiting.len();
        most = most.max(all);
        waiting.sort_unstable();
        waiting.dedup();
        assert_eq!(waiting.len(), all, "at {} ns", scene.now_ns());
        let spinning = scene.cpus().iter().filter(|c| c.spin.is_some()).count();
        assert_eq!(spinning, all, "who spins is listed, at {} ns", scene.now_ns());
    }
    assert!(most > 1, "there is a queue for a lock");
}
