//! A run for numbers alone, in slices short enough to leave its thread alive. No browser here: the owner says when a
//! slice is over.

use crate::config::Change;
use mqscope_core::Sim;
use mqscope_core::kernel::Knobs;
use mqscope_core::report::Report;
use mqscope_core::report::twins::Twins;
use mqscope_core::scenario::{Scenario, ScenarioError};
use mqscope_core::topology::Topology;
use serde::{Deserialize, Serialize};

/// Simulated time between two looks at the wall clock, ns: some hundred events at a million I/Os a second.
const STRIDE_NS: u64 = 20_000;

/// A run under way.
pub struct Run {
    sim: Sim,
    changes: Vec<(u64, Knobs)>,
    next: usize,
    duration_ns: u64,
    finished: bool,
}

/// Numbers of a run, whole or so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Numbers {
    /// The report.
    pub report: Report,
    /// Share of the run that is simulated, 0 to 1.
    pub share: f64,
    /// Whether the run is over.
    pub finished: bool,
}

impl Run {
    /// Begins a run of `scenario`, whose policy changes on the way.
    pub fn new(scenario: &Scenario, changes: &[Change]) -> Result<Self, ScenarioError> {
        let mut sim = Sim::new(scenario)?;
        sim.log_mut().set_on(false);
        let changes = changes.iter().map(|c| (c.at_ns, c.rules.knobs())).collect();
        Ok(Self { sim, changes, next: 0, duration_ns: scenario.duration_ns.max(1), finished: false })
    }

    /// Runs until `enough` says so or the run is over; true when it is over.
    pub fn advance(&mut self, mut enough: impl FnMut() -> bool) -> bool {
        while !self.finished {
            self.stride();
            if enough() {
                break;
            }
        }
        self.finished
    }

    /// One stride of the run, or its next change.
    fn stride(&mut self) {
        let change = self.changes.get(self.next);
        match (change, self.sim.next_event_ns()) {
            (_, None) => self.finished = true,
            (Some((at, knobs)), Some(event)) if event > *at => {
                self.sim.set_knobs(knobs.clone());
                self.next += 1;
            }
            (change, Some(event)) => {
                let until = event.saturating_add(STRIDE_NS);
                let more = self.sim.run_until(change.map_or(until, |(at, _)| until.min(*at)));
                self.finished = !more;
            }
        }
    }

    /// How far it is, ns.
    pub fn now_ns(&self) -> u64 {
        self.sim.now_ns()
    }

    /// The numbers so far.
    pub fn numbers(&self) -> Numbers {
        let share = if self.finished { 1.0 } else { self.sim.now_ns() as f64 / self.duration_ns as f64 };
        Numbers { report: self.sim.report(), share: share.clamp(0.0, 1.0), finished: self.finished }
    }
}

/// Both runs with their logs, compared event by event.
pub struct TwinRun {
    runs: [Run; 2],
    twins: Twins,
}

impl TwinRun {
    /// Begins with the runs of both sides.
    pub fn new(mut runs: [Run; 2]) -> Self {
        for run in &mut runs {
            run.sim.log_mut().set_on(true);
        }
        let twins = Twins::new([runs[0].sim.topology(), runs[1].sim.topology()]);
        Self { runs, twins }
    }

    /// Runs until `enough` says so or nothing is left to learn; true when that is so.
    pub fn advance(&mut self, mut enough: impl FnMut() -> bool) -> bool {
        while !self.twins.complete() {
            // The one that is behind goes on, so that neither has to wait with much in hand.
            let [a, b] = &self.runs;
            let side = usize::from(a.finished || (!b.finished && b.now_ns() < a.now_ns()));
            let side = if self.twins.ahead(side) && !self.runs[1 - side].finished { 1 - side } else { side };
            let run = &mut self.runs[side];
            run.stride();
            for event in run.sim.log().events() {
                self.twins.push(side, *event);
            }
            run.sim.log_mut().clear();
            if run.finished {
                self.twins.end(side);
            }
            if enough() {
                break;
            }
        }
        self.twins.complete()
    }

    /// What is known so far.
    pub fn twins(&self) -> &Twins {
        &self.twins
    }

    /// The fixed things of a side.
    pub fn topology(&self, side: usize) -> &Topology {
        self.runs[side].sim.topology()
    }
}
