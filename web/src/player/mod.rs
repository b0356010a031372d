//! Owns a simulation and plays it against wall time: forward, step by step, back, anywhere, and branched.
//!
//! Time travel is checkpoints plus re-simulation: the simulation is plain data and deterministic, so a state is
//! reached again by cloning the nearest earlier checkpoint and running on. A second cursor, the scout, runs
//! ahead of the playhead in spare time; it lays checkpoints over the rest of the run and fills the [`Timeline`], so
//! that a jump ahead is as cheap as one back. Policy changes are kept as a list of (position, change) and applied at
//! exactly the same position on every pass.
//!
//! No browser types here: wall time comes in as milliseconds, and a clock for budgets can be lent
//! ([`Player::set_clock`]).

mod checkpoint;
mod cursor;
mod fork;
mod lens;
mod step;
mod strips;
mod timeline;

pub use cursor::Unseen;
pub use fork::Fork;
pub use lens::{COLUMNS, Inside, Level, Piece, Sign, SignAt, WIDTH_MIN_NS, Window};
pub use step::{changes_picture, concerns, request};
pub use strips::{Mode, SLICES, Shares, Strip};
pub use timeline::{Mark, MarkKind, TIMELINE_BUCKETS, Timeline, TimelineBucket};

use crate::scene::Scene;
use checkpoint::Checkpoints;
use cursor::{Change, ChangeAt, Cursor};
use lens::Lens;
use mqscope_core::check::{Invariant, Violation};
use mqscope_core::device::DeviceView;
use mqscope_core::event::Event;
use mqscope_core::kernel::Knobs;
use mqscope_core::report::Report;
use mqscope_core::scenario::{Scenario, ScenarioError};
use mqscope_core::sched::View;
use mqscope_core::topology::Topology;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Events kept for the event list.
pub const RECENT_MAX: usize = 4096;
/// Slowest playback, simulated ns per wall second.
pub const SPEED_MIN: f64 = 10.0;
/// Fastest playback, simulated ns per wall second.
pub const SPEED_MAX: f64 = 1e9;
/// Fewest and most events a second of playback by event.
pub const EVENT_RATE: (f64, f64) = (0.5, 5_000.0);
/// Wall time that one [`Player::tick`] may spend on the playhead, ms (with a clock).
const TICK_BUDGET_MS: f64 = 5.0;
/// Wall time that one tick may spend on the scout, ms (with a clock).
const SCOUT_BUDGET_MS: f64 = 2.0;
/// Log events that one tick may apply without a clock.
const TICK_BUDGET_EVENTS: u64 = 20_000;
/// Log events that a step may search through before it gives up.
const STEP_BUDGET_EVENTS: u64 = 400_000;
/// Log events that a seek applies at once without a clock; the rest follows in ticks.
const SEEK_BUDGET_EVENTS: u64 = 200_000;
/// Wall time that a seek may take, ms (with a clock): no task longer than 50 ms.
const SEEK_BUDGET_MS: f64 = 32.0;
/// Wall time that a tick of a long one may take, ms; the frame in which it arrives is drawn too.
const SEEK_TICK_MS: f64 = 22.0;
/// Events between two looks at the clock.
const CLOCK_EVERY: u64 = 256;

/// Plays a scenario.
#[derive(Clone)]
pub struct Player {
    scenario: Rc<Scenario>,
    topology: Rc<Topology>,
    head: Cursor,
    scout: Option<Cursor>,
    changes: Vec<ChangeAt>,
    checkpoints: Checkpoints,
    timeline: Timeline,
    recent: VecDeque<Event>,
    recent_end: u64,
    playing: bool,
    speed: f64,
    /// Events that change the picture a second, if it is played by event.
    event_rate: Option<f64>,
    /// Part of the next event that is due already.
    event_due: f64,
    seeking: Option<u64>,
    lag_ns: u64,
    clock: Option<fn() -> f64>,
    jumps: u64,
    /// Checkpoints close behind the playhead are laid from this event on: not on the way of a jump.
    near_from: u64,
    /// The window that was looked at last.
    lens: RefCell<Option<Box<Lens>>>,
}

impl Player {
    /// Builds the simulation at time 0, paused.
    ///
    /// # Errors
    /// What [`mqscope_core::Sim::new`] says about the scenario.
    pub fn new(scenario: Scenario) -> Result<Player, ScenarioError> {
        let (cursor, topology) = Cursor::new(&scenario)?;
        let mut checkpoints = Checkpoints::default();
        checkpoints.add(&cursor);
        Ok(Player {
            scout: Some(cursor.clone()),
            timeline: Timeline::new(&scenario, &topology, &cursor),
            scenario: Rc::new(scenario),
            topology,
            head: cursor,
            changes: Vec::new(),
            checkpoints,
            recent: VecDeque::with_capacity(RECENT_MAX),
            recent_end: 0,
            playing: false,
            speed: 50_000.0,
            event_rate: None,
            event_due: 0.0,
            seeking: None,
            lag_ns: 0,
            clock: None,
            jumps: 0,
            near_from: 0,
            lens: RefCell::new(None),
        })
    }

    /// Lends a clock (wall ms, monotonic), with which ticks keep their time budget instead of an event budget.
    pub fn set_clock(&mut self, clock: fn() -> f64) {
        self.clock = Some(clock);
    }

    /// The scenario being played.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The fixed things of the run.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The fixed things, shared.
    pub fn topology_rc(&self) -> Rc<Topology> {
        self.topology.clone()
    }

    /// Playhead, ns; may lie between events.
    pub fn now_ns(&self) -> u64 {
        self.head.scene.now_ns()
    }

    /// End of the timeline, ns: the scenario's duration, or the end of the workload once that is known.
    pub fn duration_ns(&self) -> u64 {
        self.timeline.end_ns().unwrap_or(self.scenario.duration_ns)
    }

    /// Whether time runs.
    pub fn playing(&self) -> bool {
        self.playing
    }

    /// Lets time run or stand. Playing from the end starts over.
    pub fn set_playing(&mut self, on: bool) {
        if on && self.at_end() {
            self.seek(0);
        }
        self.playing = on;
    }

    /// Whether the playhead is at the end.
    pub fn at_end(&self) -> bool {
        self.now_ns() >= self.duration_ns()
    }

    /// Simulated ns per wall second.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Sets the speed, clamped to [`SPEED_MIN`] and [`SPEED_MAX`].
    pub fn set_speed(&mut self, ns_per_s: f64) {
        if ns_per_s.is_finite() {
            self.speed = ns_per_s.clamp(SPEED_MIN, SPEED_MAX);
        }
    }

    /// Plays by event, so many that change the picture a second (clamped to [`EVENT_RATE`]), or by time again.
    pub fn set_event_rate(&mut self, rate: Option<f64>) {
        self.event_rate = rate.filter(|r| r.is_finite()).map(|r| r.clamp(EVENT_RATE.0, EVENT_RATE.1));
        self.event_due = 0.0;
    }

    /// How far the playhead was behind its due time at the last tick, ns: more than 0 where the machine cannot
    /// simulate as fast as asked.
    pub fn lag_ns(&self) -> u64 {
        self.lag_ns
    }

    /// Where a long seek is heading while it is under way.
    pub fn seeking(&self) -> Option<u64> {
        self.seeking
    }

    /// Counts jumps (seek, step back, restart): who draws moves things at once instead of flying them.
    pub fn jumps(&self) -> u64 {
        self.jumps
    }

    /// Advances by `wall_ms` milliseconds of wall time since the last tick. Work per call is bounded; what could not
    /// be done is lag, not debt: playback slows down instead of freezing the page.
    pub fn tick(&mut self, wall_ms: f64) {
        let begin = self.clock.map(|c| c());
        self.lag_ns = 0;
        if let Some(target) = self.seeking {
            if self.run_to(target, TICK_BUDGET_EVENTS * 4, begin, SEEK_TICK_MS) {
                self.seeking = None;
                self.near_from = 0;
            }
        } else if let (true, Some(rate)) = (self.playing && wall_ms > 0.0, self.event_rate) {
            self.event_due += rate * wall_ms.min(250.0) / 1e3;
            self.play_events(begin);
            if self.at_end() {
                self.playing = false;
            }
        } else if self.playing && wall_ms > 0.0 {
            // A tab that slept must not jump: a frame counts for a quarter of a second at most.
            let ahead = (self.speed * wall_ms.min(250.0) / 1e3).max(1.0) as u64;
            let due = (self.now_ns() + ahead).min(self.duration_ns());
            if !self.run_to(due, TICK_BUDGET_EVENTS, begin, TICK_BUDGET_MS) {
                self.lag_ns = due - self.now_ns();
            }
            if self.at_end() {
                self.playing = false;
            }
        }
        if self.lag_ns == 0 {
            self.run_scout(TICK_BUDGET_EVENTS / 4, SCOUT_BUDGET_MS);
        }
    }

    /// Where another player is, who leads: to `ns` within the budget of a tick. False while it is behind.
    pub fn follow(&mut self, ns: u64, playing: bool, jumped: bool) -> bool {
        self.playing = playing;
        let target = ns.min(self.duration_ns());
        if jumped || target < self.now_ns() {
            self.seek(target);
        }
        if let Some(on_the_way) = self.seeking {
            self.tick(0.0);
            return self.seeking.is_none() && on_the_way == target;
        }
        let begin = self.clock.map(|c| c());
        self.run_to(target, TICK_BUDGET_EVENTS, begin, TICK_BUDGET_MS)
    }

    /// Applies what is due of a playback by event, within the budget of a tick.
    fn play_events(&mut self, begin: Option<f64>) {
        let mut done = 0;
        while self.event_due >= 1.0 {
            let Some(event) = self.apply_next(self.scenario.duration_ns) else {
                return self.head.scene.pass_to(self.duration_ns());
            };
            self.event_due -= f64::from(u8::from(changes_picture(&event.kind)));
            done += 1;
            let late = done % CLOCK_EVERY == 0
                && matches!((self.clock, begin), (Some(clock), Some(begin)) if clock() - begin > TICK_BUDGET_MS);
            if late || done >= TICK_BUDGET_EVENTS {
                self.event_due = 0.0;
            }
        }
    }

    /// Runs the scout by up to `events` log events; false once everything is explored.
    pub fn explore(&mut self, events: u64) -> bool {
        self.run_scout(events, f64::INFINITY);
        self.scout.is_some()
    }

    /// To this time, forward or back. What was explored is reached at once (nearest checkpoint plus re-simulation);
    /// beyond it the way is finished in ticks, see [`Player::seeking`].
    pub fn seek(&mut self, ns: u64) {
        let target = ns.min(self.duration_ns());
        let begin = self.clock.map(|c| c());
        self.seeking = None;
        self.jumps += 1;
        let from = self.checkpoints.before_time(target);
        if target < self.now_ns() || from.is_some_and(|c| c.seq > self.head.seq) {
            let checkpoint = from.map(|c| c.cursor());
            if let Some(cursor) = checkpoint {
                self.restore(cursor);
            }
        }
        // None on the way: whoever steps back from there lays them.
        let way = self.timeline.events_in(target.saturating_sub(self.now_ns()));
        self.near_from = self.head.seq + way;
        if !self.run_to(target, SEEK_BUDGET_EVENTS, begin, SEEK_BUDGET_MS) {
            self.seeking = Some(target);
        }
    }

    /// [`Player::seek`] forward, all of it in the ticks to come: for one that was just built, which took time enough.
    pub fn seek_soon(&mut self, ns: u64) {
        let target = ns.min(self.duration_ns());
        if target < self.now_ns() {
            return self.seek(target);
        }
        self.seeking = (target > self.now_ns()).then_some(target);
        self.near_from = if self.seeking.is_some() { u64::MAX } else { 0 };
        self.jumps += 1;
    }

    /// Changes policy from the playhead on. What was known about the future is dropped; seeking back before this
    /// moment and forth again meets the change at exactly the same place.
    pub fn apply_from_now(&mut self, knobs: Knobs) {
        self.change(Change::Knobs(Box::new(knobs)));
    }

    /// Changes a disk's queue depth from the playhead on.
    pub fn apply_queue_depth_from_now(&mut self, queue: u16, depth: u32) {
        self.change(Change::QueueDepth(queue, depth));
    }

    /// The changes made so far: when, and what they are called.
    pub fn changes(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().map(|c| c.at_ns)
    }

    /// Another scenario, from its start; speed and play state stay.
    ///
    /// # Errors
    /// As [`Player::new`]; the old run goes on.
    pub fn restart_with(&mut self, scenario: Scenario) -> Result<(), ScenarioError> {
        let fresh = Player::new(scenario)?;
        let (playing, speed, clock, jumps) = (self.playing, self.speed, self.clock, self.jumps + 1);
        let event_rate = self.event_rate;
        *self = Player { playing, speed, event_rate, clock, jumps, ..fresh };
        Ok(())
    }

    /// What is where at the playhead.
    pub fn scene(&self) -> &Scene {
        &self.head.scene
    }

    /// The last events up to the playhead, oldest first; at most [`RECENT_MAX`].
    pub fn recent_events(&self) -> impl DoubleEndedIterator<Item = &Event> + ExactSizeIterator {
        self.recent.iter()
    }

    /// Serial number of the last event applied; events are numbered from 1.
    pub fn position(&self) -> u64 {
        self.head.seq
    }

    /// Numbers from the start up to the playhead.
    pub fn report(&self) -> Report {
        self.head.sim.report()
    }

    /// Whether the simulation stands where the scene does; it is up to one of its own steps ahead where that step
    /// logged several events and the playhead is between them.
    pub fn at_rest(&self) -> bool {
        self.head.at_rest()
    }

    /// The inside of a disk's scheduler, as the simulation has it (see [`Player::at_rest`]); `None` where there is none.
    pub fn scheduler_view(&self, queue: u16) -> Option<View> {
        self.head.sim.scheduler_view(queue)
    }

    /// The inside of a disk's device at the playhead; `None` where there is nothing to see.
    pub fn device_view(&self, queue: u16) -> Option<DeviceView> {
        self.head.sim.device_view_at(queue, self.now_ns())
    }

    /// What each CPU spent its time on over the last [`Player::strip_ns`].
    pub fn strips(&self) -> Vec<Strip> {
        self.head.strips.at(&self.head.sim, self.now_ns())
    }

    /// Length of the strips, ns.
    pub fn strip_ns(&self) -> u64 {
        self.head.strips.window_ns()
    }

    /// The first time that an invariant did not hold, up to where the simulation stands.
    pub fn violation(&self, invariant: Invariant) -> Option<&Violation> {
        self.head.sim.violations().iter().find(|v| v.invariant == invariant)
    }

    /// Policy in force at the playhead.
    pub fn knobs(&self) -> &Knobs {
        self.head.sim.knobs()
    }

    /// The kernel function that a CPU is in; `None` while it idles.
    pub fn function(&self, cpu: u16) -> Option<&'static str> {
        self.head.sim.stack(cpu).last().copied()
    }

    /// Whether nothing will happen any more.
    pub fn ended(&self) -> bool {
        self.head.at_rest() && self.head.sim.ended()
    }

    /// Hash of the simulation's state, the same on every platform.
    pub fn state_hash(&self) -> u64 {
        self.head.sim.state_hash()
    }

    /// The whole run in buckets, as far as it has been explored, with marks.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// A second player in the same state that goes its own way from here. Checkpoints are shared.
    pub fn fork(&self) -> Player {
        self.clone()
    }

    /// Bytes held by checkpoints, about.
    pub fn checkpoint_bytes(&self) -> usize {
        self.checkpoints.bytes()
    }

    fn change(&mut self, change: Change) {
        self.finish_seek();
        let position = self.head.sim.events();
        self.changes.truncate(self.head.changes);
        self.changes.push(ChangeAt { position, at_ns: self.now_ns(), change });
        self.checkpoints.drop_after(self.head.seq);
        self.timeline.forget_after(&self.head, self.now_ns());
        self.lens.replace(None);
        self.scout = Some(self.head.clone());
        // Where one simulation step logged several events, the rest of them come before the change.
        self.head.apply_due_changes(&self.changes);
    }

    fn finish_seek(&mut self) {
        if let Some(target) = self.seeking.take() {
            self.run_to(target, u64::MAX, None, f64::INFINITY);
            self.near_from = 0;
        }
    }

    fn restore(&mut self, cursor: Cursor) {
        self.recent.clear();
        self.recent_end = cursor.seq;
        self.head = cursor;
    }

    /// Applies the next event that comes not after `until_ns` to the scene and remembers it; false if there is none.
    fn advance(&mut self, until_ns: u64) -> bool {
        if !self.head.advance(&self.changes, until_ns) {
            if until_ns >= self.scenario.duration_ns || self.head.sim.ended() {
                self.timeline.finish(&self.head, self.scenario.duration_ns);
            }
            return false;
        }
        let event = self.head.event();
        self.timeline.add(&self.head, event);
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(*event);
        self.recent_end = self.head.seq;
        if self.head.at_rest() {
            self.checkpoints.pass(&self.head, self.head.seq >= self.near_from);
        }
        true
    }

    /// [`Player::advance`] for those who look at the event.
    fn apply_next(&mut self, until_ns: u64) -> Option<Event> {
        self.advance(until_ns).then(|| *self.head.event())
    }

    /// Runs the playhead to `target`; false if the budget ended first.
    fn run_to(&mut self, target: u64, events: u64, begin: Option<f64>, budget_ms: f64) -> bool {
        let mut done = 0;
        while self.advance(target) {
            done += 1;
            let counted = begin.is_none() || self.clock.is_none();
            if counted && done >= events {
                return false;
            }
            if done % CLOCK_EVERY == 0
                && let (Some(clock), Some(begin)) = (self.clock, begin)
                && clock() - begin > budget_ms
            {
                return false;
            }
        }
        // On the way it may have turned out that the run ends before.
        self.head.scene.pass_to(target.min(self.duration_ns()));
        true
    }

    fn run_scout(&mut self, events: u64, budget_ms: f64) {
        let Some(mut scout) = self.scout.take() else { return };
        if scout.seq < self.head.seq {
            scout = self.head.clone();
        }
        let begin = self.clock.map(|c| c());
        self.checkpoints.spread(self.timeline.events_expected(self.scenario.duration_ns));
        for done in 0..events {
            if !scout.advance(&self.changes, self.scenario.duration_ns) {
                self.timeline.finish(&scout, self.scenario.duration_ns);
                return;
            }
            self.timeline.add(&scout, scout.event());
            if scout.at_rest() {
                self.checkpoints.pass(&scout, false);
            }
            if done % CLOCK_EVERY == CLOCK_EVERY - 1
                && let (Some(clock), Some(begin)) = (self.clock, begin)
                && clock() - begin > budget_ms
            {
                break;
            }
        }
        self.scout = Some(scout);
    }
}

#[cfg(test)]
mod tests;
