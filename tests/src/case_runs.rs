//! Runs cases on several threads: the core knows none.

use mqscope_core::Sim;
use mqscope_core::cases::{Case, Results};
use mqscope_core::report::Report;
use mqscope_core::scenario::{Scenario, ScenarioError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// At reduced length.
    pub reduced: bool,
    /// The what-ifs too, at reduced length.
    pub what_ifs: bool,
    /// Threads.
    pub threads: usize,
}

/// A case that was run.
#[derive(Clone, Debug)]
pub struct CaseRun {
    /// The case.
    pub case: &'static Case,
    /// What it says.
    pub results: Results<'static>,
    /// The same for each of its what-ifs, in their order, if they were asked for.
    pub what_ifs: Vec<Results<'static>>,
    /// Time of one thread that its cells took, without the what-ifs.
    pub took: Duration,
    /// Simulated time of these cells together.
    pub simulated: Duration,
    /// Events of these cells together.
    pub events: u64,
}

/// A simulation that ended.
struct Ran {
    report: Report,
    simulated_ns: u64,
    events: u64,
}

/// One run of a simulation.
struct Task {
    case: usize,
    cell: (usize, usize),
    what_if: Option<usize>,
}

/// Runs the cells of all these cases that have numbers.
///
/// # Errors
/// A scenario that is none.
///
/// # Panics
/// If a simulation does.
pub fn run(cases: &[&'static Case], how: How) -> Result<Vec<CaseRun>, ScenarioError> {
    let tasks: Vec<Task> = cases.iter().enumerate().flat_map(|(i, case)| tasks(i, case, how)).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(tasks.len()));
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = std::time::Instant::now();
            let outcome = scenario(cases[task.case], task, how).and_then(|scenario| simulate(&scenario));
            done.lock().expect("no thread panics with it").push((task, outcome, start.elapsed()));
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..how.threads.max(1)).map(|_| scope.spawn(work)).collect();
        work();
        others.into_iter().for_each(|other| other.join().expect("a simulation panicked"));
    });
    let mut runs: Vec<CaseRun> = cases
        .iter()
        .map(|case| CaseRun {
            case,
            results: Results::new(case),
            what_ifs: vec![Results::new(case); if how.what_ifs { case.sensitivity.len() } else { 0 }],
            took: Duration::ZERO,
            simulated: Duration::ZERO,
            events: 0,
        })
        .collect();
    for (task, outcome, took) in done.into_inner().expect("no thread panicked with it") {
        let run = &mut runs[task.case];
        let Ran { report, simulated_ns, events } = outcome?;
        match task.what_if {
            Some(what_if) => run.what_ifs[what_if].put(task.cell, report),
            None => {
                run.results.put(task.cell, report);
                run.took += took;
                run.simulated += Duration::from_nanos(simulated_ns);
                run.events += events;
            }
        }
    }
    Ok(runs)
}

fn tasks(index: usize, case: &Case, how: How) -> Vec<Task> {
    let what_ifs = if how.what_ifs { case.sensitivity.len() } else { 0 };
    let variants = std::iter::once(None).chain((0..what_ifs).map(Some));
    variants
        .flat_map(|what_if| {
            let cells = if what_if.is_some() { case.checked_cells() } else { case.cells() };
            cells.into_iter().map(move |cell| Task { case: index, cell, what_if })
        })
        .collect()
}

fn scenario(case: &Case, task: &Task, how: How) -> Result<Scenario, ScenarioError> {
    let (row, column) = task.cell;
    match task.what_if {
        None => case.scenario(row, column, how.reduced),
        Some(what_if) => case.scenario_if(row, column, &case.sensitivity[what_if].scenario, true),
    }
}

fn simulate(scenario: &Scenario) -> Result<Ran, ScenarioError> {
    let mut sim = Sim::new(scenario)?;
    sim.run();
    Ok(Ran { report: sim.report(), simulated_ns: sim.now_ns(), events: sim.events() })
}
