//! The whole picture, painted on a recorder.

use super::*;
use crate::draw::layout::Row;
use crate::draw::paint::{Align, Paint, Type};
use crate::draw::palette::{Palette, Rgb};
use crate::draw::svg::Svg;
use crate::player::Player;
use crate::words;
use mqscope_core::cases::case;
use mqscope_core::device::{DieWork, FlashView};
use mqscope_core::scenario::DeviceConfig;

/// Remembers what was painted.
#[derive(Default)]
struct Recorder {
    marks: Vec<(Mark, (f32, f32))>,
    rings: Vec<(f32, f32)>,
    discs: Vec<(f32, f32)>,
    texts: Vec<String>,
    curves: usize,
    fills: usize,
    /// Filled rectangles with their colours.
    filled: Vec<(Rect, Rgb)>,
    worst: f32,
}

impl Recorder {
    fn seen(&mut self, points: &[(f32, f32)]) {
        for (x, y) in points {
            assert!(x.is_finite() && y.is_finite());
            self.worst = self.worst.max(-x).max(-y);
        }
    }
}

impl Paint for Recorder {
    fn fill(&mut self, r: Rect, radius: f32, colour: Rgb, alpha: f32) {
        assert!(r.w >= 0.0 && r.h >= 0.0 && radius >= 0.0 && (0.0..=1.01).contains(&alpha), "{r:?} {alpha}");
        self.seen(&[(r.x, r.y)]);
        self.fills += 1;
        self.filled.push((r, colour));
    }
    fn outline(&mut self, r: Rect, _: f32, _: Rgb, _: f32, _: f32) {
        self.seen(&[(r.x, r.y)]);
    }
    fn line(&mut self, points: &[(f32, f32)], _: Rgb, _: f32, _: f32) {
        self.seen(points);
    }
    fn dashes(&mut self, points: &[(f32, f32)], _: Rgb, _: f32, _: f32) {
        self.seen(points);
    }
    fn curve(&mut self, from: (f32, f32), to: (f32, f32), _: f32, _: Rgb, _: f32, _: f32) {
        self.seen(&[from, to]);
        self.curves += 1;
    }
    fn disc(&mut self, at: (f32, f32), _: f32, _: Rgb, _: f32) {
        self.discs.push(at);
        self.seen(&[at]);
    }
    fn ring(&mut self, at: (f32, f32), _: f32, _: Rgb, _: f32, _: f32) {
        self.rings.push(at);
    }
    fn text(&mut self, text: &str, at: (f32, f32), _: Align, face: Type, _: Rgb, _: f32) {
        assert!(face.size >= 8.5, "'{text}' at {} px is too small to read", face.size);
        self.seen(&[at]);
        self.texts.push(text.to_string());
    }
    fn mark(&mut self, mark: Mark, at: (f32, f32), radius: f32, _: f32) {
        assert!(radius >= 1.0);
        self.seen(&[at]);
        self.marks.push((mark, at));
    }
}

fn player(name: &str, side: usize, ns: u64) -> Player {
    let scenario = case(name).expect("the case").sides().swap_remove(side).1;
    let mut p = Player::new(scenario).expect("a case can be played");
    p.seek(ns);
    while p.seeking().is_some() {
        p.tick(0.0);
    }
    p
}

fn settle(stage: &mut Stage, p: &Player) {
    for _ in 0..400 {
        if !stage.update(p.scene(), 16.0, p.jumps(), p.playing()) {
            return;
        }
    }
    panic!("the picture never comes to rest");
}

fn paint(stage: &Stage, p: &Player) -> Recorder {
    let mut recorder = Recorder::default();
    stage.paint_ground(p.topology(), &Palette::LIGHT, &mut recorder);
    stage.paint_live(p.scene(), |cpu| p.function(cpu), &Palette::LIGHT, &mut recorder);
    recorder
}

#[test]
fn every_live_request_is_one_mark_and_stands_inside_the_stage() {
    for (w, h) in [(1_200.0, 620.0), (320.0, 640.0), (3_840.0, 2_000.0)] {
        let p = player("seed-000", 1, 600_000);
        let mut stage = Stage::new(p.topology(), w, h);
        settle(&mut stage, &p);
        let picture = paint(&stage, &p);
        assert_eq!(picture.marks.len(), p.scene().live_len());
        assert!(picture.marks.len() > 300);
        for (mark, (x, y)) in &picture.marks {
            assert!((0.0..=w).contains(x) && (0.0..=h).contains(y), "{mark:?} at {x}, {y} of {w} × {h}");
        }
        assert!(picture.worst <= 0.0, "something is painted {} px outside", picture.worst);
    }
}

#[test]
fn marks_say_direction_merging_and_waiting_by_their_form() {
    let mut p = player("plug-merge", 0, 0);
    let mut stage = Stage::new(p.topology(), 1_200.0, 560.0);
    let mut merged = 0;
    for _ in 0..30 {
        p.step_event();
        settle(&mut stage, &p);
        let picture = paint(&stage, &p);
        assert!(picture.marks.iter().all(|(m, _)| m.square), "all are writes");
        merged = merged.max(picture.marks.iter().filter(|(m, _)| m.merged).count());
    }
    assert_eq!(merged, 1);
    let p = player("tag-wait", 0, 9_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 560.0);
    settle(&mut stage, &p);
    let picture = paint(&stage, &p);
    assert!(picture.marks.iter().any(|(m, _)| m.hatched && m.tone == Tone::Idle));
    assert!(picture.texts.iter().any(|t| t.contains("no tag")), "{:?}", picture.texts);
}

#[test]
fn the_selected_request_is_ringed_where_it_is_and_its_lane_stays() {
    let p = player("seed-000", 0, 500_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    let rq = stage.next_request(p.scene(), None, Direction::Forward).expect("a request");
    stage.select(Some(rq));
    settle(&mut stage, &p);
    let at = stage.point_of(p.scene().slot_of(rq).expect("its slot")).expect("its place");
    assert!(paint(&stage, &p).rings.contains(&at));
    let cpu = p.scene().request(rq).expect("the request").cpu;
    assert_eq!(stage.layout().lane(cpu).map(|l| &l.row), Some(&Row::Cpu(cpu)));
}

#[test]
fn the_keyboard_reaches_every_request_once_and_comes_round() {
    let p = player("nvme-doorbell", 0, 200_000);
    let stage = Stage::new(p.topology(), 1_200.0, 620.0);
    let all = p.scene().live().filter(|(_, r)| r.rq != 0).count();
    let (mut seen, mut at) = (Vec::new(), None);
    for _ in 0..all {
        at = stage.next_request(p.scene(), at, Direction::Forward);
        seen.push(at.expect("there is always a next one"));
    }
    let first = seen[0];
    assert_eq!(stage.next_request(p.scene(), at, Direction::Forward), Some(first));
    assert_eq!(stage.next_request(p.scene(), Some(first), Direction::Backward), at);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn the_pointer_hits_requests_before_boxes_and_small_boxes_before_large_ones() {
    let p = player("seed-000", 0, 500_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    settle(&mut stage, &p);
    let (slot, request) =
        p.scene().live().find(|(_, r)| matches!(r.spot, Spot::Device(_))).expect("one in a device");
    let (x, y) = stage.point_of(slot).expect("its place");
    let Some(Hit::Request(hit)) = stage.hit(p.scene(), x, y) else { panic!("nothing hit") };
    let other = p.scene().slot_of(hit).and_then(|s| stage.point_of(s)).expect("its place");
    assert!(hit == request.rq || (other.0 - x).hypot(other.1 - y) < 1.0);
    let tags = stage.layout().hctxs[0].tags;
    assert_eq!(stage.hit(p.scene(), tags.x + 2.0, tags.y + 2.0), Some(Hit::Box(BoxId::Tags(0))));
    let lane = &stage.layout().lanes[1];
    assert!(matches!(
        stage.hit(p.scene(), lane.label.x + 1.0, lane.rect.y + 1.0),
        Some(Hit::Box(BoxId::Cpu(_) | BoxId::FoldedCpus(_)))
    ));
    assert_eq!(stage.hit(p.scene(), -5.0, -5.0), None);
}

#[test]
fn what_moves_comes_to_rest_and_then_no_frame_is_asked_for() {
    let mut p = player("seed-000", 0, 300_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    settle(&mut stage, &p);
    p.step_event();
    let mut most = 0;
    // Not every event moves something.
    for _ in 0..100 {
        let jumps = p.jumps();
        let mut frames = 0;
        while stage.update(p.scene(), 16.0, jumps, p.playing()) {
            frames += 1;
            assert!(frames < 200);
        }
        most = most.max(frames);
        p.step_event();
    }
    assert!(most > 2, "a step is seen as a movement");
    let jumps = p.jumps();
    while stage.update(p.scene(), 16.0, jumps, p.playing()) {}
    assert!(!stage.update(p.scene(), 16.0, jumps, p.playing()));
}

#[test]
fn calm_and_jumps_place_at_once() {
    let mut p = player("seed-000", 0, 300_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    stage.set_calm(true);
    stage.update(p.scene(), 16.0, p.jumps(), p.playing());
    for _ in 0..50 {
        p.step_event();
        assert!(!stage.sprites.moving());
        stage.update(p.scene(), 16.0, p.jumps(), p.playing());
    }
    let mut flying = Stage::new(p.topology(), 1_200.0, 620.0);
    flying.update(p.scene(), 16.0, p.jumps(), p.playing());
    p.seek(700_000);
    flying.update(p.scene(), 16.0, p.jumps(), p.playing());
    assert!(!flying.sprites.moving(), "a seek does not send a thousand requests flying");
}

#[test]
fn above_the_limit_requests_become_density_and_below_it_marks_again() {
    let mut scenario = case("seed-000").expect("the case").sides().swap_remove(0).1;
    if let mqscope_core::workload::Workload::Jobs(jobs) = &mut scenario.workload {
        jobs.iter_mut().for_each(|j| j.iodepth = 256);
    }
    let mut p = Player::new(scenario).expect("it can be played");
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    let (mut marks, mut dense) = (false, false);
    for _ in 0..60 {
        p.seek(p.now_ns() + 20_000);
        stage.update(p.scene(), 16.0, p.jumps(), p.playing());
        let picture = paint(&stage, &p);
        if p.scene().live_len() > MARKS_MAX {
            assert!(stage.is_dense() && picture.marks.is_empty());
            dense = true;
        } else if !stage.is_dense() {
            assert_eq!(picture.marks.len(), p.scene().live_len());
            marks = true;
        }
    }
    assert!(marks && dense, "both were seen: {marks} {dense}");
}

#[test]
fn contention_is_painted_where_the_lock_stands() {
    // Search the one-by-one run for a moment at which some CPU spins for a ctx lock.
    let mut p = player("seed-000", 1, 400_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    for _ in 0..4_000 {
        p.step_event();
        let waiting = p.scene().objects().iter().any(|o| o.waiting() > 0);
        if waiting {
            break;
        }
    }
    let (id, lock) =
        p.scene().objects().iter().enumerate().find(|(_, o)| o.waiting() > 0).expect("some CPU spins");
    stage.update(p.scene(), 16.0, p.jumps(), p.playing());
    let group =
        stage.layout().groups().find(|g| g.objects.contains(&(id as u32))).expect("the lock is on the map");
    assert!(group.rect.w > 0.0);
    let picture = paint(&stage, &p);
    let waiter = lock.waiters()[0].to_string();
    assert!(picture.texts.contains(&waiter), "CPU {waiter} waits for {}", p.topology().objects[id].name);
    let since = p.scene().cpus()[usize::from(lock.waiters()[0])].spin.expect("it spins").since_ns;
    let spins = format!("spins {}", words::span((p.now_ns() - since) as f64));
    assert!(picture.texts.contains(&spins), "{spins} is not among {:?}", picture.texts);
    let name = &p.topology().objects[id].name;
    assert!(picture.texts.contains(name), "its lane says for which lock: {name}");
}

#[test]
fn moved_lines_glow_between_their_cpus_and_fade() {
    let mut p = player("seed-000", 0, 400_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    stage.update(p.scene(), 16.0, p.jumps(), p.playing());
    let mut curves = 0;
    for _ in 0..200 {
        p.step_event();
        stage.update(p.scene(), 16.0, p.jumps(), p.playing());
        curves = curves.max(paint(&stage, &p).curves);
        assert!(stage.glows.len() <= GLOWS_MAX);
    }
    assert!(curves > 0);
    // At rest only those show that moved at this very moment.
    settle(&mut stage, &p);
    let fresh: Vec<_> = p.scene().transfers().filter(|t| t.at_ns + FRESH_NS > p.now_ns()).collect();
    assert_eq!(stage.glows.len(), fresh.len().min(FRESH_MAX));
    assert!(stage.glows.iter().all(|g| fresh.contains(&&g.transfer)));
}

/// A player at a moment at which at least `waiters` CPUs spin for one lock, and that lock.
fn crowd(scenario: mqscope_core::scenario::Scenario, from_ns: u64, waiters: u16) -> (Player, u32) {
    let mut p = Player::new(scenario).expect("it can be played");
    p.seek(from_ns);
    while p.seeking().is_some() {
        p.tick(0.0);
    }
    for _ in 0..20_000 {
        p.step_event();
        if let Some(id) = p.scene().objects().iter().position(|o| o.waiting() >= waiters) {
            return (p, id as u32);
        }
    }
    panic!("no {waiters} CPUs spin for one lock");
}

#[test]
fn the_queue_of_a_lock_is_in_order_of_arrival_and_bars_grow_with_the_time_spun() {
    let scenario = case("seed-000").expect("the case").sides().swap_remove(1).1;
    let (mut p, lock) = crowd(scenario, 400_000, 2);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    settle(&mut stage, &p);
    let queue = p.scene().spinners(lock);
    assert!(queue.windows(2).all(|w| w[0].1 <= w[1].1), "{queue:?}");
    assert_eq!(
        queue.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(),
        p.scene().objects()[lock as usize].waiters()
    );
    // The bar in the lane of the first is as long as its time says, and longer a moment later.
    let (cpu, since_ns) = queue[0];
    let lane = stage.layout().lane(cpu).expect("its lane").clone();
    let red = Palette::LIGHT.tone(Tone::Trouble);
    let bar = |stage: &Stage, p: &Player| {
        let picture = paint(stage, p);
        let here = |(r, c): &&(Rect, Rgb)| {
            *c == red && r.h == 2.5 && r.x == lane.words.x && lane.rect.holds(r.x, r.y)
        };
        picture.filled.iter().find(here).map_or(0.0, |(r, _)| r.w)
    };
    let before = bar(&stage, &p);
    let room = lane.words.w - stage.layout().text * 0.5;
    let share = locks::spun_share(p.now_ns() - since_ns);
    assert!((before - room * share).abs() < 0.1, "{before} of {room} is not {share}");
    let now = p.now_ns();
    let mut later = now;
    while later < now + 400 {
        let mut next = p.clone();
        next.step_event();
        if next.scene().cpus()[usize::from(cpu)].spin.is_none() {
            break;
        }
        (later, p) = (next.now_ns(), next);
    }
    settle(&mut stage, &p);
    assert!(later == now || bar(&stage, &p) > before, "the bar grows");
}

#[test]
fn a_queue_of_many_cpus_names_the_first_and_counts_the_others_folded_ones_too() {
    let mut scenario = case("seed-000").expect("the case").sides().swap_remove(1).1;
    scenario.devices[0].scheduler = "mq-deadline".into();
    if let mqscope_core::workload::Workload::Jobs(jobs) = &mut scenario.workload {
        let all = jobs[0].numjobs;
        jobs.iter_mut().for_each(|j| j.numjobs = 72 / all.max(1) * all.max(1));
    }
    let (p, lock) = crowd(scenario, 100_000, 14);
    let queue = p.scene().spinners(lock);
    assert_eq!(queue.len(), usize::from(p.scene().objects()[lock as usize].waiting()));
    for (w, h) in [(1_200.0, 620.0), (1_900.0, 900.0), (320.0, 640.0)] {
        let mut stage = Stage::new(p.topology(), w, h);
        settle(&mut stage, &p);
        let picture = paint(&stage, &p);
        let name = &p.topology().objects[lock as usize].name;
        if w > 320.0 {
            assert!(picture.texts.contains(&queue[0].0.to_string()));
            let rest = picture.texts.iter().filter_map(|t| t.strip_prefix('+')?.parse::<usize>().ok());
            assert!(rest.max().is_some_and(|n| n < queue.len()), "{name}: {:?}", picture.texts);
        }
        let hidden =
            queue.iter().filter(|(cpu, _)| stage.layout().lane(*cpu).is_none_or(|l| l.row != Row::Cpu(*cpu)));
        if hidden.count() > 0 {
            assert!(picture.texts.iter().any(|t| t.ends_with(" spin")), "{:?}", picture.texts);
        }
    }
}

#[test]
fn a_moved_line_has_its_price_where_it_moves_and_where_it_stands() {
    let mut p = player("seed-000", 1, 400_000);
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    let (mut arcs, mut rows) = (0, 0);
    for _ in 0..60 {
        p.step_event();
        settle(&mut stage, &p);
        let picture = paint(&stage, &p);
        let prices: Vec<String> =
            stage.glows.iter().map(|g| words::span(g.transfer.cost_ns.into())).collect();
        arcs += usize::from(prices.iter().any(|price| picture.texts.contains(price)));
        let standing = p.scene().objects().iter().filter_map(|o| o.transfer);
        let full = standing
            .map(|m| format!("{} {}", m.distance(p.topology()).words(), words::span(m.cost_ns.into())))
            .any(|words| picture.texts.contains(&words));
        rows += usize::from(full);
    }
    assert!(arcs > 10 && rows > 10, "{arcs} moments with a price at an arc, {rows} with one at its line");
}

#[test]
fn the_scheduler_shows_its_queue_in_sector_order_and_announces_the_next() {
    let p = player("deadline-mix", 1, 5_000_000);
    let next = p.scheduler_view(0).expect("a scheduler").next;
    for (w, h) in [(1_200.0, 620.0), (320.0, 640.0)] {
        let mut stage = Stage::new(p.topology(), w, h);
        stage.announce(vec![next]);
        settle(&mut stage, &p);
        let at = stage.layout().elevator(0).expect("its box").clone();
        let queued: Vec<_> = p.scene().standing_at(Standing::Elevator(0)).collect();
        assert!(queued.len() > 8 && queued.iter().any(|(_, r)| r.is_write()), "{} queued", queued.len());
        for list in [0, 1] {
            let of = |r: &Request| usize::from(r.is_write()) == list;
            let mut mine: Vec<_> = queued.iter().filter(|(_, r)| of(r)).collect();
            mine.sort_by_key(|(_, r)| r.extent.sector);
            let points: Vec<_> = mine.iter().map(|(slot, _)| stage.point_of(*slot).expect("drawn")).collect();
            assert!(points.iter().all(|&(x, y)| at.lists[list].holds(x, y)), "{points:?} in {:?}", at.lists);
            let along = |p: &(f32, f32)| if at.upright { p.1 } else { p.0 };
            assert!(points.windows(2).all(|w| along(&w[0]) < along(&w[1])), "{points:?}");
        }
        let picture = paint(&stage, &p);
        assert!(picture.texts.iter().any(|t| t.contains(&next.to_string())), "{:?}", picture.texts);
        assert!(picture.texts.iter().any(|t| t.ends_with("/64")), "{:?}", picture.texts);
    }
}

#[test]
fn dies_show_what_they_are_at_in_their_own_cells_and_the_buffer_how_full_it_is() {
    let p = player("nvme-doorbell", 0, 0);
    let mut work = vec![DieWork::Idle; 64];
    (work[5], work[17], work[40]) = (DieWork::Read, DieWork::Program, DieWork::Suspended);
    let view = FlashView {
        front_waiting: 0,
        dies: work,
        channels: (0..12).map(|c| c == 3).collect(),
        buffer_pages: 30,
        buffer_capacity: 40,
        buffer_waiting: 0,
        link: [false, true],
    };
    let mut stage = Stage::new(p.topology(), 1_200.0, 620.0);
    stage.look_into(vec![Some(DeviceView::Flash(view.clone()))]);
    settle(&mut stage, &p);
    let picture = paint(&stage, &p);
    let at = &stage.layout().devices[0];
    let units = at.units.as_ref().expect("dies");
    assert_eq!((units.count, units.grid.count), (64, 12));
    let tones = |die: u32| {
        let (unit, inner) = units.place(die);
        let cell = units.inner_cell(unit, inner);
        let (x, low, high) = (cell.centre().0, cell.bottom() - cell.h * 0.2, cell.y + cell.h * 0.2);
        let has = |tone: Tone, y: f32| {
            let colour = Palette::LIGHT.tone(tone);
            picture.filled.iter().any(|(r, c)| *c == colour && r.holds(x, y) && r.w <= cell.w)
        };
        [has(Tone::Device, high), has(Tone::Device, low), has(Tone::Queued, high), has(Tone::Queued, low)]
    };
    assert_eq!(tones(4), [false; 4], "an idle die is empty");
    assert_eq!(tones(5), [true, true, false, false], "a read fills it");
    assert_eq!(tones(17), [false, false, false, true], "a program is below");
    assert_eq!(tones(40), [true, false, false, true], "a suspended program is below the read");
    let buffer = at.buffer.expect("its bar");
    let fill =
        picture.filled.iter().find(|(r, c)| *c == Palette::LIGHT.tone(Tone::Queued) && r.y == buffer.y);
    assert!(fill.is_some_and(|(r, _)| (r.w / buffer.w - 0.75).abs() < 1e-3));
    assert!(picture.texts.iter().any(|t| t.contains("75") && t.ends_with('%')), "{:?}", picture.texts);
    assert!(in_words(&DeviceView::Flash(view)).starts_with("1 dies read, 1 program, 1 read while"));
}

#[test]
fn members_of_a_volume_have_platters_whose_heads_move() {
    let mut scenario = case("nvme-doorbell").expect("the case").sides().swap_remove(0).1;
    scenario.devices[0] = DeviceConfig::new("sda", "hba-r0-hdd");
    let mut p = Player::new(scenario).expect("it can be played");
    for (w, h) in [(1_200.0, 620.0), (320.0, 640.0)] {
        let mut stage = Stage::new(p.topology(), w, h);
        let mut heads = |p: &Player| {
            stage.look_into(vec![p.device_view(0)]);
            stage.update(p.scene(), 16.0, p.jumps(), false);
            let units = stage.layout().devices[0].units.clone().expect("members");
            let picture = paint(&stage, p);
            assert!(picture.worst <= 0.0);
            (0..units.count)
                .map(|member| {
                    let cell = units.grid.cell(member);
                    let inside = |(x, y): &&(f32, f32)| cell.holds(*x, *y);
                    picture.discs.iter().filter(inside).copied().collect::<Vec<_>>()
                })
                .collect::<Vec<_>>()
        };
        p.seek(5_000_000);
        let before = heads(&p);
        p.seek(9_000_000);
        let after = heads(&p);
        assert!(before.iter().all(|m| m.len() > 2), "platter, head and queued commands of each");
        assert!(before.iter().zip(&after).filter(|(a, b)| a != b).count() >= 6, "most have turned or moved");
    }
}

/// The whole picture as text.
fn svg(stage: &Stage, p: &Player) -> String {
    let mut svg = Svg::new(Palette::LIGHT);
    stage.paint_ground(p.topology(), &Palette::LIGHT, &mut svg);
    stage.paint_live(p.scene(), |cpu| p.function(cpu), &Palette::LIGHT, &mut svg);
    svg.finish(1_200.0, 620.0, "a moment")
}

#[test]
fn at_rest_the_picture_is_that_of_the_moment_whatever_way_led_there() {
    for (name, speed) in
        [("seed-000", 100_000.0), ("seed-002", 3e7), ("deadline-mix", 2e7), ("plug-merge", 30_000.0)]
    {
        let mut played = player(name, 1, 0);
        played.set_speed(speed);
        let mut stage = Stage::new(played.topology(), 1_200.0, 620.0);
        let mut different = 0;
        for round in 0..12 {
            played.set_playing(true);
            for _ in 0..5 + round {
                played.tick(16.0);
                stage.update(played.scene(), 16.0, played.jumps(), true);
            }
            let moving = svg(&stage, &played);
            played.set_playing(false);
            for _ in 0..round % 4 {
                played.step_event();
                stage.update(played.scene(), 16.0, played.jumps(), false);
            }
            settle(&mut stage, &played);
            let still = svg(&stage, &played);
            different += usize::from(moving != still);
            let stepped = round % 4 > 0;
            let mut direct = player(name, 1, played.now_ns() - u64::from(stepped));
            while direct.position() < played.position() {
                direct.step_event();
            }
            let mut other = Stage::new(direct.topology(), 1_200.0, 620.0);
            settle(&mut other, &direct);
            assert_eq!((played.now_ns(), played.position()), (direct.now_ns(), direct.position()), "{name}");
            assert!(still == svg(&other, &direct), "{name}: another picture at {} ns", played.now_ns());
        }
        assert!(different > 0, "{name}: nothing moved while it was played");
    }
}

/// Pictures of fixed runs at fixed times: (case, side, ns, width, height, dark).
const SNAPSHOTS: [(&str, usize, u64, f32, f32, bool); 10] = [
    ("seed-000", 0, 1_200_000, 1_200.0, 620.0, false),
    ("seed-000", 1, 1_200_000, 1_200.0, 620.0, true),
    ("seed-000", 1, 1_200_000, 320.0, 640.0, false),
    ("seed-001", 0, 900_000_000, 1_200.0, 620.0, false),
    ("seed-002", 1, 20_000_000, 1_200.0, 620.0, false),
    ("seed-003", 1, 2_000_000_000, 1_200.0, 620.0, true),
    ("seed-004", 1, 1_000_000, 768.0, 560.0, false),
    ("deadline-mix", 1, 5_000_000, 1_200.0, 620.0, false),
    ("plug-merge", 0, 30_000, 1_200.0, 560.0, false),
    ("reader-among-writers", 0, 20_000_000, 1_200.0, 620.0, false),
];

#[test]
fn fixed_runs_at_fixed_times_look_as_before() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let golden = root.join("tests/golden/pictures.txt");
    let seen: Vec<(String, String)> = SNAPSHOTS
        .iter()
        .map(|&(name, side, ns, w, h, dark)| {
            let p = player(name, side, ns);
            let queues = || 0..p.topology().queues.len() as u16;
            let palette = if dark { Palette::DARK } else { Palette::LIGHT };
            let mut stage = Stage::new(p.topology(), w, h);
            stage.announce(queues().map(|q| p.scheduler_view(q).map_or(0, |v| v.next)).collect());
            stage.look_into(queues().map(|q| p.device_view(q)).collect());
            settle(&mut stage, &p);
            let mut svg = Svg::new(palette);
            stage.paint_ground(p.topology(), &palette, &mut svg);
            stage.paint_live(p.scene(), |cpu| p.function(cpu), &palette, &mut svg);
            let title = format!("{name}-{side}-{ns}-{w}{}", if dark { "-dark" } else { "" });
            let text = svg.finish(w, h, &title);
            let hash = text
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
            (format!("{title} {hash:016x}"), text)
        })
        .collect();
    let lines: String = seen.iter().map(|(line, _)| format!("{line}\n")).collect();
    if std::env::var_os("MQSCOPE_BLESS").is_some() {
        std::fs::write(&golden, &lines).expect("the golden file can be written");
    }
    let before = std::fs::read_to_string(&golden).unwrap_or_default();
    let folder = root.join("target/pictures");
    let mut changed = Vec::new();
    for (line, text) in seen.iter().filter(|(line, _)| !before.lines().any(|b| b == line)) {
        let name = line.split(' ').next().unwrap_or_default();
        std::fs::create_dir_all(&folder).expect("a folder for the pictures");
        std::fs::write(folder.join(format!("{name}.svg")), text).expect("the picture can be written");
        changed.push(name);
    }
    assert!(
        changed.is_empty(),
        "look at {changed:?} in {}; if they are right, run again with MQSCOPE_BLESS=1",
        folder.display()
    );
}

#[test]
fn cpus_that_run_one_hctx_stand_beside_each_other_and_can_be_read() {
    let hand = Rect::new(10.0, 20.0, 120.0, 40.0);
    for lines in 1..=6 {
        let all: Vec<Rect> =
            (0..lines).map(|line| goals::hand_line(hand, line, lines, false, 12.0)).collect();
        for (i, a) in all.iter().enumerate() {
            assert!(a.h >= 12.0 && a.w >= 40.0, "{lines}: {a:?}");
            assert!(a.x >= hand.x && a.right() <= hand.right() + 0.01 && a.y >= hand.y, "{lines}: {a:?}");
            for b in &all[..i] {
                let apart = a.x >= b.right() - 0.01 || a.y >= b.y + b.h - 0.01;
                assert!(apart, "{lines}: {a:?} over {b:?}");
            }
        }
    }
}
