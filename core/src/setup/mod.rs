//! From a scenario to a simulation at time 0: checks every value, builds every structure, names everything.

mod cache;
mod dbench;
mod disks;
mod hctxs;
mod hosts;
mod schedulers;
mod stacks;
mod tasks;

use crate::block::{
    CTX_MAP_BITS, Ctx, Driver, FlushQueue, Hctx, Host, Legacy, MIN_NR_REQUESTS, Queue, Requeue, Sdev, Tags,
    Wbt, Work,
};
use crate::check::Checks;
use crate::device::{Device, PRESETS, Preset, Spec, preset};
use crate::engine::agenda::{Agenda, Timed};
use crate::engine::rng::{self, Purpose};
use crate::engine::slab::Slab;
use crate::event::{Log, ObjectId, Op, Prio, Sleep};
use crate::host::{Costs, Cpu, Frame, MACHINES, Machine, Objects, machine};
use crate::kernel::{Knobs, ROWS};
use crate::pagecache::PageCache;
use crate::report::{IostatRules, Stats};
use crate::scenario::{
    DEVICES_MAX, DURATION_MAX_NS, DeviceConfig, Path, STACKS, Scenario, ScenarioError, WriteCache,
};
use crate::sim::Sim;
use crate::topology::{self, ObjectKind, Site, Topology};
use crate::workload::file_lock::{FILE_SYSTEMS, FileLock};
use crate::workload::journal::Journal;
use crate::workload::task::{JobState, Program, Task, TaskState};
use crate::workload::{BatchStep, Distribution, Engine, IODEPTH_MAX, JobSpec, PROCESSES_MAX, Trim, Workload};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Processes start within this time of each other, ns, as forked processes do [E].
const START_SPREAD_NS: u64 = 20_000;
/// First process id shown.
const FIRST_PID: u32 = 1000;
/// Job of a task that belongs to none.
const NO_JOB: u16 = u16::MAX;

fn wrong(field: impl Into<String>, problem: impl Into<String>) -> ScenarioError {
    ScenarioError::Value { field: field.into(), problem: problem.into() }
}

fn check(ok: bool, field: &str, problem: impl FnOnce() -> String) -> Result<(), ScenarioError> {
    if ok { Ok(()) } else { Err(wrong(field, problem())) }
}

/// Most ticks per second.
const HZ_MAX: u32 = 10_000;
/// Largest cost a scenario can set, ns, and largest machine factor, percent.
pub(crate) const COST_MAX: u32 = 1_000_000_000;
const COST_PERCENT_MAX: u32 = 10_000;

/// The machine's costs with the scenario's changes.
fn costs(scenario: &Scenario, machine: &Machine) -> Result<Costs, ScenarioError> {
    let mut costs = machine.costs.clone();
    let percent = scenario.cost_percent;
    check((1..=COST_PERCENT_MAX).contains(&percent), "cost_percent", || {
        format!("must be from 1 to {COST_PERCENT_MAX}")
    })?;
    costs.scale(percent);
    for (name, &ns) in &scenario.costs {
        check(ns <= COST_MAX, &format!("costs.{name}"), || format!("must be at most {COST_MAX} ns"))?;
        let Some(cost) = costs.by_name(name) else {
            return Err(ScenarioError::UnknownName {
                what: "cost",
                name: name.chars().take(60).collect(),
                known: Costs::NAMES.join(", "),
            });
        };
        *cost = ns;
    }
    Ok(costs)
}

/// Everything under construction.
struct Builder<'a> {
    scenario: &'a Scenario,
    machine: &'static Machine,
    costs: Costs,
    knobs: Knobs,
    objects: Objects,
    topology: Topology,
    queues: Vec<Queue>,
    hctxs: Vec<Hctx>,
    ctxs: Vec<Ctx>,
    tags: Vec<Tags>,
    hosts: Vec<Host>,
    devices: Vec<Device>,
    file_locks: Vec<FileLock>,
    pagecache: PageCache,
    /// Which pages a file has: as for `files`.
    inodes: BTreeMap<(u16, String, u32), u16>,
    /// Which lock a file has: (disk, name of the file, process if each has its own).
    files: BTreeMap<(u16, String, u32), u16>,
    warnings: Vec<String>,
    io_uring: bool,
}

pub(crate) fn build(scenario: &Scenario) -> Result<Sim, ScenarioError> {
    let knobs = scenario.knobs()?;
    let machine = machine(&scenario.machine).ok_or_else(|| ScenarioError::UnknownName {
        what: "machine",
        name: scenario.machine.chars().take(60).collect(),
        known: MACHINES.iter().map(|m| m.name).collect::<Vec<_>>().join(", "),
    })?;
    check((1..=DURATION_MAX_NS).contains(&scenario.duration_ns), "duration_ns", || {
        format!("must be from 1 to {DURATION_MAX_NS}")
    })?;
    check(scenario.warmup_ns < scenario.duration_ns, "warmup_ns", || {
        String::from("must be shorter than duration_ns, or nothing is measured")
    })?;
    check(scenario.hz <= HZ_MAX, "hz", || format!("must be at most {HZ_MAX} ticks per second"))?;
    let n = scenario.devices.len();
    check((1..=DEVICES_MAX).contains(&n), "devices", || format!("need 1 to {DEVICES_MAX} disks, not {n}"))?;
    let mut b = Builder {
        scenario,
        machine,
        costs: costs(scenario, machine)?,
        knobs: knobs.clone(),
        objects: Objects::default(),
        topology: Topology::default(),
        queues: Vec::new(),
        hctxs: Vec::new(),
        ctxs: Vec::new(),
        tags: Vec::new(),
        hosts: Vec::new(),
        devices: Vec::new(),
        file_locks: Vec::new(),
        pagecache: cache::page_cache(scenario, machine)?,
        inodes: BTreeMap::new(),
        files: BTreeMap::new(),
        warnings: Vec::new(),
        io_uring: crate::kernel::row(&scenario.kernel).is_some_and(|row| row.io_uring),
    };
    let cpus = b.cpus();
    b.objects.set_distances(&cpus, &b.costs);
    b.disks()?;
    let (mut tasks, jobs, starts) = b.tasks()?;
    let mut agenda = Agenda::new(cpus.len());
    // fio's ramp_time of the jobs that start first counts as warm-up.
    let ramp_ns = match &scenario.workload {
        Workload::Jobs(jobs) => jobs.iter().map(|j| j.startdelay_ns + j.ramp_time_ns).max().unwrap_or(0),
        Workload::Batch(_) | Workload::Dbench(_) => 0,
    };
    let ramps = matches!(&scenario.workload, Workload::Jobs(jobs) if jobs.iter().any(|j| j.ramp_time_ns > 0));
    let mut warmup_ns = scenario.warmup_ns.max(if ramps { ramp_ns } else { 0 });
    if warmup_ns >= scenario.duration_ns {
        warmup_ns = scenario.warmup_ns;
        b.warnings.push("ramp_time is longer than the simulated time and is left aside".into());
    }
    if warmup_ns > 0 {
        agenda.at(warmup_ns, Timed::Measure);
    }
    for (task, at) in starts {
        tasks[task as usize].program.wake_at_ns = at;
        agenda.at(at, Timed::Task(task));
    }
    let journal = match &scenario.workload {
        Workload::Dbench(spec) => {
            let disk_bytes = b.queues[spec.disk as usize].sectors * 512;
            Some(Box::new(Journal::new(spec, disk_bytes, b.log_writers(spec))))
        }
        _ => None,
    };
    let rules = IostatRules::new(&b.knobs, scenario.hz);
    let stats = Stats::new(jobs.len(), b.queues.len(), scenario.duration_ns, rules);
    Ok(Sim {
        now: 0,
        until_ns: 0,
        end_ns: scenario.duration_ns,
        events: 0,
        seed: scenario.seed,
        tick_ns: if scenario.hz == 0 { 0 } else { 1_000_000_000 / u64::from(scenario.hz) },
        agenda,
        knobs,
        costs: b.costs,
        cpus,
        objects: b.objects,
        tasks,
        jobs,
        file_locks: b.file_locks,
        pagecache: b.pagecache,
        journal,
        queues: b.queues,
        hctxs: b.hctxs,
        ctxs: b.ctxs,
        tags: b.tags,
        hosts: b.hosts,
        devices: b.devices,
        ios: Slab::new(),
        bios: Slab::new(),
        rqs: Slab::new(),
        // A CPU works on few lists at a time, and a run takes no more than this at once but rarely.
        lists: Slab::with_free(2 * u32::from(machine.cpus()), || {
            VecDeque::with_capacity(crate::block::LIST_ROOM)
        }),
        next_bio: 0,
        next_rq: 0,
        stats,
        log: Log::default(),
        checks: Checks::new(&scenario.break_invariants),
        spared: Vec::new(),
        outbox: Default::default(),
        sched_out: Default::default(),
        topology: Arc::new(b.topology),
        scenario: Arc::new(scenario.clone()),
        warnings: Arc::new(b.warnings),
    })
}

impl Builder<'_> {
    fn object(&mut self, class: &str, name: String, kind: ObjectKind, site: Site) -> ObjectId {
        self.topology.objects.push(topology::Object { name, class: class.into(), kind, site });
        self.objects.add()
    }

    fn cpus(&mut self) -> Vec<Cpu> {
        let m = self.machine;
        let cores = m.sockets * m.cores_per_socket;
        let cpus: Vec<Cpu> = (0..m.cpus()).map(|c| Cpu::new(m, c % cores)).collect();
        self.topology.cpus =
            cpus.iter().map(|c| topology::Cpu { socket: c.socket, cache: c.cache, core: c.core }).collect();
        cpus
    }
}
