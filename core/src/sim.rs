//! The simulation: plain data, stepped by its owner.

use crate::event::Log;
use crate::kernel::Knobs;
use crate::report::Report;
use crate::scenario::{Scenario, ScenarioError};
use crate::topology::Topology;

/// A running simulation. Cloning it is a checkpoint.
#[derive(Clone, Debug)]
pub struct Sim {
    now: u64,
    log: Log,
    knobs: Knobs,
    topology: Topology,
}

impl Sim {
    /// Builds the simulation at time 0.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        Ok(Self { now: 0, log: Log::default(), knobs: scenario.knobs()?, topology: Topology::default() })
    }
    /// Simulated time, ns.
    pub fn now_ns(&self) -> u64 {
        self.now
    }
    /// Events taken from the queue so far.
    pub fn events(&self) -> u64 {
        0
    }
    /// Whether nothing will happen any more.
    pub fn ended(&self) -> bool {
        true
    }
    /// Time of the next event, ns; `None` at the end.
    pub fn next_event_ns(&self) -> Option<u64> {
        None
    }
    /// Handles one event; false at the end.
    pub fn step(&mut self) -> bool {
        false
    }
    /// Handles all events up to and including `until_ns`; false at the end.
    pub fn run_until(&mut self, until_ns: u64) -> bool {
        self.now = until_ns;
        false
    }
    /// Handles `n` events; false at the end.
    pub fn run_events(&mut self, n: u64) -> bool {
        let _ = n;
        false
    }
    /// Runs to the end.
    pub fn run(&mut self) {}
    /// The event log.
    pub fn log(&self) -> &Log {
        &self.log
    }
    /// The event log, to switch or drain it.
    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }
    /// Hash of the whole state, the same on every platform.
    pub fn state_hash(&self) -> u64 {
        0
    }
    /// Fixed things and names.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
    /// Policy knobs in force.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }
    /// Changes policy from now on; requests under way keep what was decided for them.
    pub fn set_knobs(&mut self, knobs: Knobs) {
        self.knobs = knobs;
    }
    /// Changes a LUN's queue depth from now on.
    pub fn set_queue_depth(&mut self, queue: u16, depth: u32) {
        let _ = (queue, depth);
    }
    /// Numbers so far.
    pub fn report(&self) -> Report {
        Report::default()
    }
}
