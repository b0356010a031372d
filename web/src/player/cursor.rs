//! A simulation and the scene that its log has drawn so far.

use super::strips::Strips;
use crate::scene::{Packed, Scene};
use mqscope_core::Sim;
use mqscope_core::event::Event;
use mqscope_core::kernel::Knobs;
use mqscope_core::scenario::{Scenario, ScenarioError};
use mqscope_core::topology::Topology;
use std::rc::Rc;

/// What a user changed while the run was under way.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Knobs(Box<Knobs>),
    QueueDepth(u16, u32),
}

/// A change and its place: the number of simulation events before it, which is exact where a time is not.
#[derive(Clone, Debug)]
pub(super) struct ChangeAt {
    pub(super) position: u64,
    pub(super) at_ns: u64,
    pub(super) change: Change,
}

/// A place in the run. The simulation is at most one of its own steps ahead of the scene: the events of that step
/// that the scene has not seen yet are what is left in the simulation's log.
#[derive(Clone)]
pub(super) struct Cursor {
    pub(super) sim: Sim,
    pub(super) scene: Scene,
    pub(super) strips: Strips,
    /// Log events applied since the start.
    pub(super) seq: u64,
    /// Changes applied.
    pub(super) changes: usize,
    next: usize,
}

/// How a run without a picture went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// What was looked for has come.
    Content,
    /// Nothing will happen any more.
    Over,
    /// There is more to come.
    More,
}

/// Rates and heat look back over this share of the run.
const WINDOWS_PER_RUN: u64 = 400;
/// What CPUs do is shown over so many of these windows.
const STRIP_WINDOWS: u64 = 4;

impl Cursor {
    pub(super) fn new(scenario: &Scenario) -> Result<(Self, Rc<Topology>), ScenarioError> {
        let mut sim = Sim::new(scenario)?;
        sim.log_mut().set_on(true);
        sim.set_checks(true);
        let topology = Rc::new(sim.topology().clone());
        let window_ns = (scenario.duration_ns / WINDOWS_PER_RUN).clamp(20_000, 1_000_000_000);
        let scene = Scene::new(topology.clone(), sim.knobs(), window_ns);
        let strips = Strips::new(topology.cpus.len(), window_ns * STRIP_WINDOWS);
        Ok((Self { sim, scene, strips, seq: 0, changes: 0, next: 0 }, topology))
    }

    /// Whether the scene has seen everything that the simulation has logged.
    pub(super) fn at_rest(&self) -> bool {
        self.next == self.sim.log().events().len()
    }

    /// Applies the changes whose place has come.
    pub(super) fn apply_due_changes(&mut self, changes: &[ChangeAt]) {
        while let Some(due) = changes.get(self.changes).filter(|c| c.position <= self.sim.events()) {
            match &due.change {
                Change::Knobs(knobs) => {
                    self.sim.set_knobs((**knobs).clone());
                    self.scene.set_knobs(knobs);
                }
                Change::QueueDepth(queue, depth) => self.sim.set_queue_depth(*queue, *depth),
            }
            self.changes += 1;
        }
    }

    /// Applies the next event of the log that comes not after `until_ns`, simulating as needed; false if there is none. It
    /// is [`Cursor::event`] then: copies of events would take as long as what is done with them.
    pub(super) fn advance(&mut self, changes: &[ChangeAt], until_ns: u64) -> bool {
        // A step of the simulation may log nothing, so this may take several.
        while self.at_rest() {
            if !self.step(changes, until_ns) {
                return false;
            }
        }
        self.apply_logged()
    }

    /// [`Cursor::advance`] for those who keep the event.
    pub(super) fn apply_next(&mut self, changes: &[ChangeAt], until_ns: u64) -> Option<Event> {
        self.advance(changes, until_ns).then(|| *self.event())
    }

    /// One step of the simulation, if it comes not after `until_ns` and the scene has seen all of those before.
    pub(super) fn step(&mut self, changes: &[ChangeAt], until_ns: u64) -> bool {
        let next_ns = self.next_step_ns(changes);
        self.strips.close(&self.sim, next_ns.map_or(until_ns, |at| at.min(until_ns)));
        next_ns.is_some_and(|at| at <= until_ns) && self.sim.step()
    }

    /// When the next step of the simulation comes, ns; what the last one logged is over.
    fn next_step_ns(&mut self, changes: &[ChangeAt]) -> Option<u64> {
        self.sim.log_mut().clear();
        self.next = 0;
        self.apply_due_changes(changes);
        self.sim.next_event_ns()
    }

    /// Applies the next of the events that the simulation has logged already; false if there is none.
    pub(super) fn apply_logged(&mut self) -> bool {
        let Some(event) = self.sim.log().events().get(self.next) else { return false };
        self.next += 1;
        self.seq += 1;
        self.scene.apply(event);
        true
    }

    /// The event that was applied last, until the next step.
    pub(super) fn event(&self) -> &Event {
        &self.sim.log().events()[self.next - 1]
    }

    /// Runs on by at most `steps` of the simulation and shows each event of the log to `see`, until that is content. The
    /// scene and the strips stay where they were: whoever only wants to know when something happens saves their cost.
    pub(super) fn run_unseen(
        &mut self,
        changes: &[ChangeAt],
        until_ns: u64,
        steps: u64,
        see: &mut dyn FnMut(&Event) -> bool,
    ) -> Unseen {
        for _ in 0..steps {
            while let Some(event) = self.sim.log().events().get(self.next) {
                self.next += 1;
                if see(event) {
                    return Unseen::Content;
                }
            }
            if self.next_step_ns(changes).is_none_or(|at| at > until_ns) || !self.sim.step() {
                return Unseen::Over;
            }
        }
        Unseen::More
    }

    /// A copy to come back to.
    pub(super) fn put_away(&self) -> Away {
        let (sim, scene, strips) = (self.sim.clone(), self.scene.pack(), self.strips.clone());
        Away { sim, scene, strips, seq: self.seq, changes: self.changes, next: self.next }
    }
}

/// A place in the run that was put away: small, but not to be looked at.
pub(super) struct Away {
    sim: Sim,
    scene: Packed,
    strips: Strips,
    pub(super) seq: u64,
    changes: usize,
    next: usize,
}

impl Away {
    /// The place again.
    pub(super) fn cursor(&self) -> Cursor {
        let (sim, scene, strips) = (self.sim.clone(), self.scene.unpack(), self.strips.clone());
        Cursor { sim, scene, strips, seq: self.seq, changes: self.changes, next: self.next }
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.scene.bytes() + self.strips.bytes() + self.sim.copy_bytes()
    }
}
