//! A copy of the run that goes its own way from some moment on, to find something out: nothing of it comes back.

use super::Player;
use super::cursor::{ChangeAt, Cursor, Unseen};
use crate::scene::Scene;
use mqscope_core::Sim;
use mqscope_core::event::{CpuId, Event};

/// The copy. A clone of it is a twin from the same moment on.
#[derive(Clone)]
pub struct Fork {
    cursor: Cursor,
    changes: Vec<ChangeAt>,
    end_ns: u64,
}

impl Player {
    /// A copy of the run at the nearest checkpoint before `ns`; [`Fork::next`] leads on to that moment.
    pub fn fork_before(&self, ns: u64) -> Option<Fork> {
        let cursor = self.checkpoints.before_time(ns)?.cursor();
        Some(Fork { cursor, changes: self.changes.clone(), end_ns: self.scenario.duration_ns })
    }
}

impl Fork {
    /// Applies the next event that comes not after `until_ns` (nor the end of the run); `None` if there is none.
    pub fn next(&mut self, until_ns: u64) -> Option<Event> {
        self.cursor.apply_next(&self.changes, until_ns.min(self.end_ns))
    }

    /// Runs on by at most `steps` of the simulation without the scene, until `see` is content with an event of the log.
    pub fn run_unseen(&mut self, steps: u64, see: &mut dyn FnMut(&Event) -> bool) -> Unseen {
        self.cursor.run_unseen(&self.changes, self.end_ns, steps, see)
    }

    /// What is where.
    pub fn scene(&self) -> &Scene {
        &self.cursor.scene
    }

    /// The simulation, to be asked.
    pub fn sim(&self) -> &Sim {
        &self.cursor.sim
    }

    /// The simulation, to be changed.
    pub fn sim_mut(&mut self) -> &mut Sim {
        &mut self.cursor.sim
    }

    /// The kernel function that a CPU is in; `None` while it idles.
    pub fn function(&self, cpu: CpuId) -> Option<&'static str> {
        self.cursor.sim.stack(cpu).last().copied()
    }

    /// End of the run, ns.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }
}
