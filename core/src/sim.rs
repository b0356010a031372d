//! The simulation: plain data, stepped by its owner.

use crate::block::{Bio, Ctx, Hctx, Host, Io, Queue, Request, Tags};
use crate::check::Checks;
use crate::device::Device;
use crate::engine::agenda::{Agenda, Next, Timed};
use crate::engine::hash::StateHasher;
use crate::engine::slab::Slab;
use crate::event::{Event, Kind, Log, NO_TASK};
use crate::host::{Costs, Cpu, Objects, Runnable};
use crate::kernel::Knobs;
use crate::report::{IostatRules, Report, Stats};
use crate::scenario::{Scenario, ScenarioError};
use crate::topology::Topology;
use crate::workload::task::{JobState, Task};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A running simulation. Cloning it is a checkpoint.
///
/// Order: events leave in the order (time, sequence). Guaranteed: the same scenario gives the same sequence of events,
/// log and state hash on every platform, stepped, run at once, or restored from a clone at any event. Not
/// guaranteed: the same hash across versions of this crate.
#[derive(Clone, Debug)]
pub struct Sim {
    pub(crate) now: u64,
    /// A CPU may run on without being queued up to here.
    pub(crate) until_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) events: u64,
    pub(crate) seed: u64,
    /// Time between two ticks, ns; 0: timers do not wait for them.
    pub(crate) tick_ns: u64,
    pub(crate) agenda: Agenda,
    pub(crate) knobs: Knobs,
    pub(crate) costs: Costs,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) objects: Objects,
    pub(crate) tasks: Vec<Task>,
    pub(crate) jobs: Vec<JobState>,
    pub(crate) file_locks: Vec<crate::workload::file_lock::FileLock>,
    pub(crate) pagecache: crate::pagecache::PageCache,
    pub(crate) journal: Option<Box<crate::workload::journal::Journal>>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) hctxs: Vec<Hctx>,
    pub(crate) ctxs: Vec<Ctx>,
    pub(crate) tags: Vec<Tags>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) devices: Vec<Device>,
    pub(crate) ios: Slab<Io>,
    pub(crate) bios: Slab<Bio>,
    pub(crate) rqs: Slab<Request>,
    /// Request lists on their way through the code; a frame names one by its slot.
    pub(crate) lists: Slab<VecDeque<u32>>,
    pub(crate) next_bio: u32,
    pub(crate) next_rq: u32,
    pub(crate) stats: Stats,
    pub(crate) log: Log,
    pub(crate) checks: Checks,
    /// What a twin is spared; empty in every run that a scenario asks for.
    pub(crate) spared: Vec<crate::Spare>,
    pub(crate) outbox: crate::device::Outbox,
    pub(crate) sched_out: crate::sched::Out,
    pub(crate) topology: Arc<Topology>,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) warnings: Arc<Vec<String>>,
}

impl Sim {
    /// Builds the simulation at time 0.
    ///
    /// # Errors
    /// Names the field of the scenario that cannot be used and what would fit.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        crate::setup::build(scenario)
    }

    /// Simulated time, ns.
    pub fn now_ns(&self) -> u64 {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether nothing will happen any more: the workload is done, or the duration is over.
    pub fn ended(&self) -> bool {
        self.next_event_ns().is_none()
    }

    /// Time of the next event, ns; `None` at the end.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.agenda.peek_ns().filter(|&at| at <= self.end_ns)
    }

    /// Handles one event; false if there was none.
    pub fn step(&mut self) -> bool {
        self.until_ns = 0;
        self.handle_next(self.end_ns)
    }

    /// Handles all events up to and including `until_ns` and moves the clock there; false at the end of the run.
    pub fn run_until(&mut self, until_ns: u64) -> bool {
        let until = until_ns.min(self.end_ns);
        self.until_ns = until;
        while self.handle_next(until) {}
        let more = !self.ended();
        if more {
            self.now = self.now.max(until);
        } else {
            // Nothing happens any more before the end: the clock goes where a run at once leaves it.
            self.handle_next(self.end_ns);
        }
        more
    }

    /// Handles up to `n` events; false at the end of the run.
    pub fn run_events(&mut self, n: u64) -> bool {
        for _ in 0..n {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.until_ns = self.end_ns;
        while self.handle_next(self.end_ns) {}
    }

    fn handle_next(&mut self, until_ns: u64) -> bool {
        let Some((at, next)) = self.agenda.pop(until_ns) else {
            if until_ns == self.end_ns && !self.workload_done() {
                self.now = self.end_ns; // the duration is over
            }
            return false;
        };
        self.now = at;
        self.events += 1;
        match next {
            Next::Cpu(c) => self.exec(c),
            Next::Timed(Timed::Device(device, token)) => self.device_event(device, token),
            Next::Timed(Timed::Done(rq)) => self.device_done(rq),
            Next::Timed(Timed::Task(t)) => self.task_timer(t),
            Next::Timed(Timed::Work(hctx)) => self.work_due(hctx),
            Next::Timed(Timed::Runnable(c, what)) => {
                self.enqueue(c as usize, Runnable::unpack(what));
                self.kick(c as usize);
            }
            Next::Timed(Timed::Ipi(c, rq)) => {
                self.cpus[c as usize].ipi_queue.push_back(rq);
                self.raise_irq(c as usize);
            }
            Next::Timed(Timed::Sched(c, queue, token)) => {
                self.cpus[c as usize].timer_queue.push_back((queue, token));
                self.raise_irq(c as usize);
            }
            Next::Timed(Timed::Vector(id, interrupts)) => self.vector_timer(id, interrupts),
            Next::Timed(Timed::Wbt(queue)) => self.wbt_timer(queue),
            Next::Timed(Timed::Measure) => self.start_measuring(),
        }
        self.check_event();
        true
    }

    /// Whether every process has ended.
    pub(crate) fn workload_done(&self) -> bool {
        self.jobs.iter().all(|j| j.running == 0)
    }

    /// The event log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The event log, to switch or drain it.
    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }

    /// Hash of the whole state but the log, the violations and the latency histograms, the same on every platform.
    pub fn state_hash(&self) -> u64 {
        let mut h = StateHasher::new();
        (self.now, self.end_ns, self.events, self.seed, self.tick_ns).hash(&mut h);
        self.agenda.hash(&mut h);
        self.knobs.hash(&mut h);
        self.costs.hash(&mut h);
        self.cpus.hash(&mut h);
        self.objects.hash(&mut h);
        self.tasks.hash(&mut h);
        self.jobs.hash(&mut h);
        self.file_locks.hash(&mut h);
        self.pagecache.hash(&mut h);
        self.journal.hash(&mut h);
        self.queues.hash(&mut h);
        self.hctxs.hash(&mut h);
        self.ctxs.hash(&mut h);
        self.tags.hash(&mut h);
        self.hosts.hash(&mut h);
        self.devices.hash(&mut h);
        self.ios.hash(&mut h);
        self.bios.hash(&mut h);
        self.rqs.hash(&mut h);
        self.lists.hash(&mut h);
        (self.next_bio, self.next_rq).hash(&mut h);
        self.stats.hash(&mut h);
        self.checks.hash(&mut h);
        h.finish()
    }

    /// Fixed things and names.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The scenario it was built from.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Policy knobs in force.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Changes policy from now on; requests under way keep what was decided for them. All hctxs with work are run, as when a
    /// quiesced queue starts again: by the old rules another hctx may have been due to fetch what the new rules leave to this
    /// one. Rules that are in force already change nothing.
    pub fn set_knobs(&mut self, knobs: Knobs) {
        if knobs == self.knobs {
            return;
        }
        self.set_knobs_alone(knobs);
        self.kick_hctxs();
    }

    /// The same for rules by which no hctx has another duty than before, such as the length of a plug or of a delay: no
    /// hctx is run for them, so that nothing but the rule is different.
    pub fn set_knobs_alone(&mut self, knobs: Knobs) {
        if !knobs.dispatch_busy {
            for hctx in &mut self.hctxs {
                hctx.dispatch_busy = 0; // nothing would ever lower it
            }
        }
        self.knobs = knobs;
        self.stats.iostat_rules = IostatRules::new(&self.knobs, self.scenario.hz);
    }

    /// Changes a cost of the machine from now on, ns; false if no cost is called so. For questions of the kind: what if it
    /// were free?
    pub fn set_cost(&mut self, name: &str, ns: u32) -> bool {
        let known = self.costs.by_name(name).map(|cost| *cost = ns.min(crate::setup::COST_MAX)).is_some();
        self.objects.set_distances(&self.cpus, &self.costs);
        known
    }

    /// Makes a cost 1 ns longer from now on; false for a name that is not known. The run goes another way then, for no
    /// reason: a measure of what chance does.
    pub fn nudge_cost(&mut self, name: &str) -> bool {
        let longer = |cost: &mut u32| *cost = cost.saturating_add(1).min(crate::setup::COST_MAX);
        self.costs.by_name(name).map(longer).is_some()
    }

    /// Changes a LUN's queue depth from now on (at least 1; commands above it stay in the device).
    pub fn set_queue_depth(&mut self, queue: u16, depth: u32) {
        if let Some(q) = self.queues.get_mut(queue as usize) {
            q.queue_depth = depth.max(1);
        }
    }

    /// Sets an hctx's `dispatch_busy` (0 to 9), as if its driver had refused requests before.
    pub fn set_dispatch_busy(&mut self, hctx: u16, value: u8) {
        if let Some(h) = self.hctxs.get_mut(hctx as usize) {
            h.dispatch_busy = value.min(9);
        }
    }

    /// Names of the kernel functions that CPU `cpu` is in, outermost first; empty when idle or out of range.
    pub fn stack(&self, cpu: u16) -> Vec<&'static str> {
        self.cpus.get(cpu as usize).map_or(Vec::new(), |c| c.stack.iter().map(|f| f.name()).collect())
    }

    /// Bytes in the page cache that are dirty, and that are on their way to a disk.
    pub fn dirty_bytes(&self) -> (u64, u64) {
        let bytes = crate::pagecache::PAGE_BYTES;
        (self.pagecache.dirty() * bytes, self.pagecache.writeback() * bytes)
    }

    /// Requests that hold a tag now.
    pub fn requests_live(&self) -> u32 {
        self.rqs.live()
    }

    /// Tags in use now, over all tag bitmaps (including tags taken in a batch and not yet used).
    pub fn tags_in_use(&self) -> u32 {
        self.tags.iter().map(Tags::in_use).sum()
    }

    /// Name of a job section.
    pub(crate) fn job_name(&self, job: usize) -> String {
        match &self.scenario.workload {
            crate::workload::Workload::Jobs(jobs) => jobs[job].name.clone(),
            crate::workload::Workload::Batch(script) => script.name.clone(),
            crate::workload::Workload::Dbench(_) if job > 0 => "log".into(),
            crate::workload::Workload::Dbench(dbench) => dbench.name.clone(),
        }
    }

    /// Whether any process of a job section has run.
    pub(crate) fn job_started(&self, job: usize) -> bool {
        use crate::workload::task::TaskState;
        let waits = TaskState::Sleeping(crate::event::Sleep::Done);
        self.tasks.iter().any(|t| t.job as usize == job && t.state != waits)
    }

    /// Processes of a job section.
    pub(crate) fn processes(&self, job: usize) -> u32 {
        self.tasks.iter().filter(|t| t.job as usize == job).count() as u32
    }

    /// Bytes that a copy takes, about. What the topology says leads near enough, but for the page cache, which grows.
    /// Measured copies: 760 kB for 72 CPUs, 1,024 in flight, two times 5,089 tags and 16 flash disks of 48 dies each; 390 kB
    /// to more than 1 MB for a disk behind a page cache; 80 kB for the smallest.
    pub fn copy_bytes(&self) -> usize {
        let t = &*self.topology;
        let depth: usize = t.tasks.iter().map(|t| t.iodepth as usize).sum();
        let tags: usize = t.hctxs.iter().map(|h| t.queues[h.queue as usize].nr_tags as usize).sum();
        let inside = |q: &crate::topology::Queue| q.units.iter().map(|(_, n)| *n as usize).product::<usize>();
        let units: usize = t.queues.iter().map(inside).sum();
        let fixed = 80_000 + depth * 160 + units * 64 + tags / 2 + t.cpus.len() * 512 + t.objects.len() * 96;
        fixed + self.pagecache.bytes()
    }

    /// Numbers so far.
    pub fn report(&self) -> Report {
        crate::report::build(self)
    }

    /// Logs an event of CPU `c`.
    #[inline]
    pub(crate) fn emit(&mut self, c: usize, kind: Kind) {
        if self.log.is_on() {
            self.emit_slow(c, kind);
        }
    }

    /// Not marked as cold: with the log on it is called for every event, and cold code copies by calls.
    #[inline(never)]
    fn emit_slow(&mut self, c: usize, kind: Kind) {
        let cpu = &self.cpus[c];
        let context = cpu.context();
        let task = match (context, cpu.current) {
            (crate::event::Context::Task, Some(Runnable::Task(t))) => t,
            _ => NO_TASK,
        };
        self.log.push(Event { at_ns: self.now, cpu: c as u16, context, task, kind });
    }

    /// Logs an event that no context of a CPU causes (a device, a timer).
    pub(crate) fn emit_device_on(&mut self, cpu: u16, kind: Kind) {
        let context = crate::event::Context::Idle;
        self.log.push(Event { at_ns: self.now, cpu, context, task: NO_TASK, kind });
    }

    fn start_measuring(&mut self) {
        self.objects.reset_counters();
        for c in 0..self.cpus.len() {
            // What was booked and has not passed belongs to the window.
            self.cpus[c].used_ns = self.unpaid_ns(c, self.now);
            self.cpus[c].spin_ns = 0;
            self.cpus[c].line_ns = 0;
            self.cpus[c].switches = 0;
        }
        self.stats.start_measuring(self.now);
    }
}
