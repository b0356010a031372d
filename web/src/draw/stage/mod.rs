//! The stage: layout, sprites and what is selected, brought up to date once a frame and painted on anything that
//! can [`super::paint::Paint`]. No browser types, so the whole picture can be tested and printed natively.

mod elevator;
mod folding;
mod goals;
mod ground;
mod inside;
mod live;
mod locks;
mod platter;

use super::layout::{Activity, BoxId, Layout, LayoutBox, Pinned};
use super::paint::{Mark, Rect};
use super::palette::Tone;
use super::sprites::{Sprites, TRAVEL_MS, Wanted};
use crate::scene::{Request, Scene, Slot, Spot, Standing, Transfer};
use goals::Counters;
pub use inside::in_words;
use mqscope_core::device::DeviceView;
use mqscope_core::event::RqId;
use mqscope_core::topology::Topology;

/// More moving requests than this are drawn as density.
pub const MARKS_MAX: usize = 1_500;
/// Density goes back to marks below this, so that the picture does not flicker between the two.
const MARKS_AGAIN: usize = 1_300;
/// How long an idle lane stays unfolded, wall ms.
const LANE_STAYS_MS: f64 = 3_000.0;
/// How often folding is looked at, wall ms.
const FOLD_EVERY_MS: f64 = 250.0;
/// How long a moved line glows, wall ms.
const GLOW_MS: f32 = 450.0;
/// Lines that glow at once.
const GLOWS_MAX: usize = 24;
/// While time stands, lines that moved within this time still show, ns: about as long as a few moves take.
const FRESH_NS: u64 = 500;
/// That many of them at most.
const FRESH_MAX: usize = 4;
/// How far their glow is gone.
const FRESH_AGE: f32 = 0.2;
/// Within this many pixels of a request the pointer hits it.
const REACH: f32 = 7.0;

/// What is under the pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hit {
    /// A request.
    Request(RqId),
    /// A box of the map.
    Box(BoxId),
}

/// Which request comes next from the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The next one in the order of the way.
    Forward,
    /// The one before.
    Backward,
}

/// A line that moved, and how far its glow is gone (0 to 1).
#[derive(Clone, Debug)]
struct Glow {
    transfer: Transfer,
    age: f32,
    /// Belongs to the picture at rest, and does not fade.
    still: bool,
}

/// The stage.
#[derive(Clone, Debug)]
pub struct Stage {
    layout: Layout,
    version: u32,
    size: (f32, f32),
    sprites: Sprites,
    counters: Counters,
    activity: Activity,
    busy_until_ms: Vec<f64>,
    wall_ms: f64,
    fold_ms: f64,
    glows: Vec<Glow>,
    travel_ms: f32,
    last_ns: u64,
    last_transfer_ns: u64,
    density: Vec<(Rect, u32, u32, Tone)>,
    dense: bool,
    calm: bool,
    selected: Option<RqId>,
    /// What each scheduler would send next, by queue; 0: nothing.
    next: Vec<RqId>,
    /// The insides of devices, by queue.
    devices: Vec<Option<DeviceView>>,
    pinned: Pinned,
    jumps: u64,
    stale: bool,
}

impl Stage {
    /// A stage of this size in CSS pixels, empty until the first [`Stage::update`].
    pub fn new(topology: &Topology, width: f32, height: f32) -> Self {
        Self {
            layout: Layout::new(topology, &Activity::default(), width, height, Pinned::default()),
            version: 1,
            size: (width, height),
            sprites: Sprites::default(),
            counters: Counters::default(),
            activity: Activity::default(),
            busy_until_ms: Vec::new(),
            wall_ms: 0.0,
            fold_ms: f64::NEG_INFINITY,
            glows: Vec::with_capacity(GLOWS_MAX),
            travel_ms: TRAVEL_MS,
            last_ns: 0,
            last_transfer_ns: 0,
            density: Vec::new(),
            dense: false,
            calm: false,
            selected: None,
            next: Vec::new(),
            devices: Vec::new(),
            pinned: Pinned::default(),
            jumps: u64::MAX,
            stale: true,
        }
    }

    /// The map.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Changes whenever the map does.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Boxes for the page to make focusable.
    pub fn boxes(&self, topology: &Topology) -> Vec<LayoutBox> {
        self.layout.boxes(topology)
    }

    /// Another size, CSS pixels.
    pub fn resize(&mut self, width: f32, height: f32) {
        self.stale |= self.size != (width, height);
        self.size = (width, height);
    }

    /// Nothing flies any more: reduced motion.
    pub fn set_calm(&mut self, on: bool) {
        self.calm = on;
    }

    /// Marks a request.
    pub fn select(&mut self, rq: Option<RqId>) {
        self.selected = rq;
    }

    /// What each disk's scheduler would send next, by queue; 0: nothing.
    pub fn announce(&mut self, next: Vec<RqId>) {
        self.next = next;
    }

    /// Whether requests are drawn as density.
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Brings the picture up to date: `dt_ms` of wall time have passed, `jumps` is [`crate::player::Player::jumps`].
    /// True if the next frame would look different even if the scene stood still.
    ///
    /// While it is `playing`, the picture has patience: lanes stay for a while. Once time stands, it is a function of the
    /// moment alone, whatever way led there.
    pub fn update(&mut self, scene: &Scene, dt_ms: f64, jumps: u64, playing: bool) -> bool {
        let jumped = self.jumps != jumps;
        self.jumps = jumps;
        self.wall_ms += dt_ms.clamp(0.0, 1_000.0);
        self.fold(scene, !playing || jumped);
        let fades = self.glow(scene, dt_ms as f32, jumped, playing);
        self.pace(scene, dt_ms as f32, jumped);
        let live = scene.live_len();
        self.dense = live > if self.dense && playing { MARKS_AGAIN } else { MARKS_MAX };
        if self.dense {
            self.sprites.begin(0, true, TRAVEL_MS);
            self.sprites.finish(0.0, |_, _| (0.0, 0.0));
            self.fill_density(scene);
            return false;
        }
        self.move_sprites(scene, dt_ms as f32, jumped);
        self.sprites.moving() || fades
    }

    /// How long ways may take: a part of the time that a request spends in one place, in screen time.
    fn pace(&mut self, scene: &Scene, dt_ms: f32, jumped: bool) {
        let passed = scene.now_ns().saturating_sub(self.last_ns) as f32;
        self.last_ns = scene.now_ns();
        if jumped || dt_ms <= 0.0 {
            return;
        }
        let latency = scene.rates().lat_ns as f32;
        let stay_ns = if latency > 0.0 { latency / 6.0 } else { 20_000.0 };
        let wanted = if passed > 0.0 { stay_ns / passed * dt_ms * 0.35 } else { TRAVEL_MS };
        // Smoothed, because time passes in frames of unequal length.
        self.travel_ms += (wanted.min(TRAVEL_MS) - self.travel_ms) * 0.2;
    }

    fn move_sprites(&mut self, scene: &Scene, dt_ms: f32, jumped: bool) {
        let Self { layout, sprites, counters, calm, travel_ms, .. } = self;
        let still = *calm || jumped;
        sprites.begin(scene.slots(), still, *travel_ms);
        let corners = &layout.back;
        let now = scene.now_ns();
        goals::for_each(layout, scene, counters, |slot, request, goal| {
            let mark = goals::look(request, now);
            let key = u64::from(request.bio) + 1;
            let home = home_of(layout, scene, request);
            let was = sprites.get(slot).filter(|s| s.key == key).map(|_| sprites.look(slot));
            let turns = mark.tone == Tone::Back && was.is_some_and(|l| live::look_of(l).tone != Tone::Back);
            let mut way = [(0.0, 0.0); 4];
            let via = turns.then(|| {
                // Along the rail, and off it at the height of its lane.
                let n = corners.len().min(way.len());
                way[..n].copy_from_slice(&corners[..n]);
                if let Some(last) = n.checked_sub(1) {
                    way[last].1 = goal.at.1;
                }
                &way[..n]
            });
            let look = mark.index() as u32 | u32::from(request.task) << 8;
            sprites.place(slot, Wanted { key, look, goal, home, via });
        });
        // A bio that merged joins its request; everything else goes home to its task.
        let merges: Vec<(u64, (f32, f32))> = scene
            .merges()
            .rev()
            .take(8)
            .filter_map(|m| {
                let at = scene.slot_of(m.rq).and_then(|slot| sprites.get(slot))?;
                Some((u64::from(m.bio) + 1, (at.x, at.y)))
            })
            .collect();
        sprites.finish(dt_ms, |sprite, look| {
            if let Some((_, at)) = merges.iter().find(|(key, _)| *key == sprite.key) {
                return *at;
            }
            let task = (look >> 8) as usize;
            let cpu = scene.tasks().get(task).map_or(0, |t| t.cpu);
            layout.lane(cpu).map_or((0.0, 0.0), goals::home)
        });
    }

    /// Lines that moved since the last frame glow and fade. Once all have faded and time stands, those show that moved at
    /// this very moment; with reduced motion these alone. True while something fades.
    fn glow(&mut self, scene: &Scene, dt_ms: f32, jumped: bool, playing: bool) -> bool {
        self.glows.retain_mut(|g| {
            g.age += dt_ms / GLOW_MS;
            g.age < 1.0 && !g.still
        });
        let now = scene.now_ns();
        if jumped || self.last_transfer_ns > now {
            self.glows.clear();
            self.last_transfer_ns = now;
        }
        let last = self.last_transfer_ns;
        self.last_transfer_ns = scene.transfers().next_back().map_or(last, |t| t.at_ns.max(last));
        if !self.calm {
            let room = GLOWS_MAX - self.glows.len();
            let moved = scene.transfers().rev().take_while(|t| t.at_ns > last).take(room);
            self.glows.extend(moved.map(|&transfer| Glow { transfer, age: 0.0, still: false }));
            if playing || !self.glows.is_empty() {
                return !self.glows.is_empty();
            }
        }
        self.glows.clear();
        let fresh = scene.transfers().rev().take_while(|t| t.at_ns + FRESH_NS > now).take(FRESH_MAX);
        self.glows.extend(fresh.map(|&transfer| Glow { transfer, age: FRESH_AGE, still: true }));
        false
    }

    fn fill_density(&mut self, scene: &Scene) {
        let Self { density, layout, .. } = self;
        density.clear();
        let queues = scene.queues().len() as u16;
        for lane in &layout.lanes {
            let super::layout::Row::Cpu(cpu) = lane.row else { continue };
            let ctx: u32 = (0..queues).map(|q| scene.standing_len(Standing::Ctx(q, cpu))).sum();
            density.push((lane.ctx, ctx, 32, Tone::Queued));
            let (mut plug, mut done) = (0, scene.standing_len(Standing::Completing(cpu)));
            for (task, _) in scene.tasks().iter().enumerate().filter(|(_, t)| t.cpu == cpu) {
                plug += scene.standing_len(Standing::Plug(task as u16));
                done += scene.standing_len(Standing::Ring(task as u16));
            }
            density.push((lane.plug, plug, 16, Tone::Submit));
            density.push((lane.done, done, 64, Tone::Back));
        }
        for at in &layout.elevators {
            let n = scene.standing_len(Standing::Elevator(at.queue));
            let of = scene.topology().queues.get(at.queue as usize).map_or(1, |q| q.nr_requests);
            density.push((at.lists[0], n, of, Tone::Queued));
        }
        for at in &layout.hctxs {
            let Some(id) = at.hctx else { continue };
            density.push((at.dispatch, scene.standing_len(Standing::DispatchList(id)), 64, Tone::Queued));
        }
        for at in &layout.devices {
            let start = density.len();
            let depth = scene.topology().queues.get(at.queue as usize).map_or(1, |q| q.queue_depth);
            density.push((at.engine, 0, depth.min(1_024), Tone::Device));
            if let Some(units) = &at.units {
                let inner = units.cells() / units.grid.count.max(1);
                for cell in 0..units.cells() {
                    let rect = units.inner_cell(cell / inner, cell % inner);
                    density.push((rect.inset(0.5), 0, 4, Tone::Device));
                }
            }
            for (_, request) in scene.standing_at(Standing::Device(at.queue)) {
                let cell = goals::cell_of(at, request, scene.now_ns()).map_or(start, |i| start + 1 + i);
                density[cell].1 += 1;
            }
        }
    }

    fn point_of(&self, slot: Slot) -> Option<(f32, f32)> {
        self.sprites.get(slot).map(|s| (s.x, s.y))
    }

    /// What is at this point, requests before boxes and small boxes before large ones.
    pub fn hit(&self, scene: &Scene, x: f32, y: f32) -> Option<Hit> {
        let near = self
            .sprites
            .live()
            .map(|(slot, s, _)| (slot, (s.x - x).hypot(s.y - y)))
            .filter(|(_, d)| *d <= REACH.max(self.layout.dot * 1.5))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .and_then(|(slot, _)| scene.at(slot))
            .filter(|r| r.rq != 0);
        if let Some(request) = near {
            return Some(Hit::Request(request.rq));
        }
        self.layout
            .boxes(scene.topology())
            .into_iter()
            .filter(|b| b.rect.holds(x, y))
            .min_by(|a, b| (a.rect.w * a.rect.h).total_cmp(&(b.rect.w * b.rect.h)))
            .map(|b| Hit::Box(b.id))
    }

    /// The request after or before `current` on the way from task to device and back; within one place the older
    /// one comes first. Without a current one: the first or last of all.
    pub fn next_request(&self, scene: &Scene, current: Option<RqId>, direction: Direction) -> Option<RqId> {
        let key = |r: &Request| (rank(r), r.rq);
        let here = current.and_then(|rq| scene.slot_of(rq)).and_then(|slot| scene.at(slot)).map(key);
        let all = || scene.live().map(|(_, r)| r).filter(|r| r.rq != 0).map(key);
        let next = match (direction, here) {
            (Direction::Forward, Some(here)) => all().filter(|k| *k > here).min(),
            (Direction::Backward, Some(here)) => all().filter(|k| *k < here).max(),
            _ => None,
        };
        let around = || match direction {
            Direction::Forward => all().min(),
            Direction::Backward => all().max(),
        };
        next.or_else(around).map(|(_, rq)| rq)
    }
}

/// Place of a request on the way.
fn rank(request: &Request) -> (u8, u16) {
    match request.spot {
        Spot::Submit(cpu) => (0, cpu),
        Spot::TagWait(hctx) => (1, hctx),
        Spot::Plug(task) => (2, task),
        Spot::Ctx(cpu) => (3, cpu),
        Spot::Elevator(queue) => (4, queue),
        Spot::DispatchList(hctx) => (5, hctx),
        Spot::Hand(cpu) => (6, cpu),
        Spot::Device(queue) => (7, queue),
        Spot::Completing(cpu) => (8, cpu),
        Spot::Ring(task) | Spot::Done(task) => (9, task),
    }
}

fn home_of(layout: &Layout, scene: &Scene, request: &Request) -> (f32, f32) {
    let cpu = scene.tasks().get(request.task as usize).map_or(request.cpu, |t| t.cpu);
    layout.lane(cpu).map_or((0.0, 0.0), goals::home)
}

/// How a request of this kind looks, for legends.
pub fn mark_of(request: &Request, now_ns: u64) -> Mark {
    goals::look(request, now_ns)
}

#[cfg(test)]
mod tests;
