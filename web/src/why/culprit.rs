//! What a request waited for, by name, and what takes exactly that away.

use crate::player::Fork;
use crate::scene::NONE16;
use crate::words::span;
use mqscope_core::event::{BioId, CpuId, HctxId, ObjectId, QueueId, RqId, Stage, TaskId};
use mqscope_core::kernel::Knobs;
use mqscope_core::{Sim, Spare};

/// A cause that can be taken away from a run under way.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Nothing but chance: this cost is 1 ns longer.
    Chance(&'static str),
    /// These costs of the machine are 0.
    Costs(&'static [&'static str]),
    /// Disks take as many commands as come.
    QueueDepth,
    /// Other rules of the kernel are in force.
    Rules(Box<Knobs>),
    /// One rule is another, by which no hctx has to be run.
    Rule(Box<Knobs>),
    /// One thing is not in the way.
    Spare(Spare),
}

const INTERRUPTS: Cause = Cause::Costs(&["irq", "softirq", "ipi_send", "ipi_receive", "ipi_latency"]);
const WAKING: Cause = Cause::Costs(&["wake", "wake_local", "wake_latency", "context_switch"]);
const KWORKERS: Cause = Cause::Costs(&["kworker_queue", "kworker_latency"]);
const CALLS: Cause = Cause::Costs(&["syscall", "fio_user", "aio", "uring"]);

/// What costs in general: after "if", and what is taken away.
pub(super) const GENERAL: [(&str, Cause); 7] = [
    ("the application took 1 ns more for each I/O: chance alone", Cause::Chance("fio_user")),
    (
        "cache lines moved between CPUs at once",
        Cause::Costs(&["line_smt", "line_socket", "line_cache", "line_remote"]),
    ),
    ("interrupts, softirqs and IPIs cost nothing", INTERRUPTS),
    ("tasks woke up at once", WAKING),
    ("kworkers ran at once", KWORKERS),
    ("system calls and the application cost nothing", CALLS),
    ("the disk's queue depth had no limit", Cause::QueueDepth),
];

impl Cause {
    /// Takes it away from now on; false where that is not possible.
    pub(super) fn take_away(&self, sim: &mut Sim) -> bool {
        match self {
            Self::Chance(name) => sim.nudge_cost(name),
            Self::Costs(names) => names.iter().all(|name| sim.set_cost(name, 0)),
            Self::QueueDepth => {
                for queue in 0..sim.topology().queues.len() as u16 {
                    sim.set_queue_depth(queue, u32::from(u16::MAX));
                }
                true
            }
            Self::Rules(knobs) => {
                sim.set_knobs((**knobs).clone());
                true
            }
            Self::Rule(knobs) => {
                sim.set_knobs_alone((**knobs).clone());
                true
            }
            Self::Spare(spare) => sim.spare(*spare),
        }
    }
}

/// What a task does while a completion waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It sleeps until more of its I/Os are complete.
    Batch,
    /// It was woken and has no CPU yet.
    Waking,
    /// It runs.
    Busy,
}

/// Whom or what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // a field is named by its type, or by the words above it
pub enum Culprit {
    /// Its CPU spun for a lock that `holder` held, in `function` when the longest wait began, behind `ahead` others.
    Lock { lock: ObjectId, holder: CpuId, ahead: u16, function: Option<&'static str> },
    /// Its CPU fetched a line from CPU `from`, or ([`NONE16`]) took away the copies of others.
    Line { line: ObjectId, from: CpuId },
    /// No tag was free until request `freed` (0: not known) gave its back.
    Tags { hctx: HctxId, freed: RqId },
    /// It stood in its task's plug while `others` more joined.
    Plug { task: TaskId, others: u32 },
    /// It stood in a ctx list or on the dispatch list until CPU `cpu` took it; a kworker was to do so after `kworker` ns.
    Run { hctx: HctxId, cpu: CpuId, others: u32, last: RqId, kworker: Option<u64> },
    /// The scheduler kept it and let `others` go before it.
    Scheduler { queue: QueueId, others: u32, last: RqId },
    /// The disk had as many commands as it takes.
    Depth { queue: QueueId },
    /// It waited inside the device, for what request `behind` (0: not known) had.
    Device { queue: QueueId, stage: Stage, unit: u16, behind: RqId },
    /// From the device's interrupt to its completion.
    Interrupt { cpu: CpuId },
    /// It was completed, and its task had not taken note yet.
    Task { task: TaskId, doing: Doing },
    /// Its task slept for the lock of the file, behind `ahead` others, until `last` gave it back.
    FileLock { lock: ObjectId, ahead: u16, last: TaskId },
    /// wbt let its task sleep.
    Throttle { queue: QueueId },
}

/// A wait: for whom, in which phase, how long and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Met {
    /// For whom.
    pub culprit: Culprit,
    /// btt's phase in which the longest of them was.
    pub phase: &'static str,
    /// In all, ns.
    pub ns: u64,
    /// How often.
    pub times: u32,
    /// The longest of them, ns.
    pub longest_ns: u64,
}

impl Met {
    /// Whether it is about the same lock, line or place.
    pub(super) fn is_like(&self, other: &Culprit) -> bool {
        use Culprit::*;
        match (self.culprit, *other) {
            (Lock { lock: a, .. }, Lock { lock: b, .. }) | (Line { line: a, .. }, Line { line: b, .. }) => {
                a == b
            }
            (FileLock { lock: a, .. }, FileLock { lock: b, .. }) => a == b,
            (Tags { hctx: a, .. }, Tags { hctx: b, .. }) => a == b,
            (Run { hctx: a, kworker: k, .. }, Run { hctx: b, kworker: l, .. }) => (a, k) == (b, l),
            (Scheduler { queue: a, .. }, Scheduler { queue: b, .. })
            | (Depth { queue: a }, Depth { queue: b }) => a == b,
            (Device { queue: a, stage: s, .. }, Device { queue: b, stage: t, .. }) => (a, s) == (b, t),
            (a, b) => a == b,
        }
    }

    /// Whether the tags of this hctx that it waited for are the legacy path's pool of requests.
    fn is_pool(&self, run: &Fork, hctx: HctxId) -> bool {
        let t = run.scene().topology();
        self.phase == "Q2G" && t.is_legacy(hctx)
    }

    /// What would be different without it, after "if", and what takes it away.
    pub(super) fn without(&self, run: &Fork, bio: BioId) -> (String, Option<Cause>) {
        let (scene, t) = (run.scene(), run.scene().topology());
        let object = |id: ObjectId| t.objects.get(id as usize).map_or("a lock", |o| o.name.as_str());
        let disk = |q: QueueId| t.queues.get(q as usize).map_or("the disk", |q| q.name.as_str());
        let knobs = |edit: fn(&mut Knobs)| {
            let mut knobs = run.sim().knobs().clone();
            edit(&mut knobs);
            Some(Cause::Rule(Box::new(knobs)))
        };
        let spare = |what| Some(Cause::Spare(what));
        match self.culprit {
            Culprit::Lock { lock, .. } if !run.sim().can_spare(Spare::Object(lock)) => (
                format!(
                    "{} had been free, but without it two CPUs would serve one request twice",
                    object(lock)
                ),
                None,
            ),
            Culprit::Lock { lock, holder, .. } => {
                let words = match self.times {
                    1 => format!("CPU {holder} had not held {}", object(lock)),
                    _ => format!("{} had been free whenever it was wanted", object(lock)),
                };
                (words, spare(Spare::Object(lock)))
            }
            Culprit::Line { line, from } => {
                let words = match self.times {
                    1 if from != NONE16 => format!("the line of {} had not been at CPU {from}", object(line)),
                    _ => format!("the line of {} had been at hand each time", object(line)),
                };
                (words, spare(Spare::Object(line)))
            }
            Culprit::Tags { hctx, .. } => {
                let what = if self.is_pool(run, hctx) { "request in its pool" } else { "tag" };
                (format!("{} had always had a free {what}", scene.hctx_name(hctx)), spare(Spare::Tags(hctx)))
            }
            Culprit::Plug { task, .. } => (
                format!("the plug of {} had been flushed at once (plug_max 1)", scene.task_name(task)),
                knobs(|k| (k.plug_max, k.plug_max_multi) = (1, 1)),
            ),
            Culprit::Run { cpu, kworker: Some(0), .. } => {
                (format!("the kworker on CPU {cpu} had run at once"), Some(KWORKERS))
            }
            Culprit::Run { kworker: Some(delay), .. } if run.sim().knobs().resource_delay_us > 1 => (
                format!("the delayed run had come after 1 µs, not {}", span(delay as f64)),
                knobs(|k| k.resource_delay_us = 1),
            ),
            Culprit::Run { hctx, cpu, .. } => (
                format!(
                    "CPU {cpu} had run {} earlier, but that is no one thing to take away",
                    scene.hctx_name(hctx)
                ),
                None,
            ),
            Culprit::Scheduler { queue, .. } => {
                let name = t.queues.get(queue as usize).map_or("the scheduler", |q| q.scheduler.as_str());
                (format!("{name} had let it go before all others"), spare(Spare::First(bio)))
            }
            Culprit::Depth { queue } => {
                let depth = t.queues.get(queue as usize).map_or(0, |q| q.queue_depth);
                (format!("{} took more than {depth} commands at once", disk(queue)), Some(Cause::QueueDepth))
            }
            Culprit::Device { queue, .. } => (
                format!("a disk like {}, at rest, had served it alone", disk(queue)),
                spare(Spare::OwnDevice(bio)),
            ),
            Culprit::Interrupt { cpu } => {
                (format!("the interrupt on CPU {cpu} had completed it at once"), Some(INTERRUPTS))
            }
            Culprit::Task { task, doing: Doing::Batch } => (
                format!("{} had been woken for each completion", scene.task_name(task)),
                spare(Spare::Batch(task)),
            ),
            Culprit::Task { task, doing: Doing::Waking } => {
                (format!("{} had run as soon as it was woken", scene.task_name(task)), Some(WAKING))
            }
            Culprit::Task { task, doing: Doing::Busy } => (
                format!("the system calls and own code of {} cost nothing", scene.task_name(task)),
                Some(CALLS),
            ),
            Culprit::FileLock { lock, .. } => (
                format!("{} had been free for each task that wanted it", object(lock)),
                spare(Spare::Object(lock)),
            ),
            Culprit::Throttle { queue } => {
                (format!("wbt had let every write of {} through", disk(queue)), spare(Spare::Throttle(queue)))
            }
        }
    }

    /// What it waited for, one sentence with btt's phase and the time.
    pub(super) fn sentence(&self, run: &Fork) -> String {
        let (scene, t) = (run.scene(), run.scene().topology());
        let (ns, phase) = (span(self.ns as f64), self.phase);
        let times = if self.times > 1 { format!(" ({} times)", self.times) } else { String::new() };
        let until = |rq: RqId, how: &str| if rq == 0 { String::new() } else { format!("{how} request {rq}") };
        let ahead = |others: u32, last: RqId| match others {
            0 => String::from("nothing else went out meanwhile"),
            1 => format!("request {last} went out before it"),
            n => format!("{n} went out before it, the last of them request {last}"),
        };
        match self.culprit {
            Culprit::Lock { holder, ahead, function, .. } => {
                let longest = if self.times > 1 { ", the longest time" } else { "" };
                let others = match ahead {
                    0 => String::new(),
                    1 => String::from(" and one CPU that waited"),
                    n => format!(" and {n} CPUs that waited"),
                };
                let function = function.map(|f| format!(" (in {f})")).unwrap_or_default();
                format!("{phase}: its CPU spun {ns}{times}{longest} behind CPU {holder}{function}{others}.")
            }
            Culprit::Line { from: NONE16, .. } => {
                format!("{phase}: taking the copies of other CPUs away took {ns}{times}.")
            }
            Culprit::Line { from, .. } => {
                let worst = if self.times > 1 { " at worst" } else { "" };
                format!("{phase}: fetching the cache line took {ns}{times}, from CPU {from}{worst}.")
            }
            Culprit::Tags { hctx, freed } => {
                let queue = t.hctxs.get(hctx as usize).and_then(|h| t.queues.get(h.queue as usize));
                let (count, kind) = queue.map_or((0, "tags"), |q| match q.scheduler.as_str() {
                    _ if self.is_pool(run, hctx) => (q.nr_requests, "requests of the pool"),
                    "none" => (q.nr_tags, "tags"),
                    _ if phase == "Q2G" => (q.nr_requests, "sched tags"),
                    _ => (q.nr_tags, "tags"),
                });
                let until = until(freed, "; the last one given back before was that of");
                format!("{phase}: waited {ns}{times} while all {count} {kind} were in use{until}.")
            }
            Culprit::Plug { others, .. } => {
                let more = match others {
                    0 => String::from("nothing more joined it"),
                    1 => String::from("one more request joined it"),
                    n => format!("{n} more requests joined it"),
                };
                format!("{phase}: stood in the plug for {ns}; {more}.")
            }
            Culprit::Run { hctx, cpu, others, last, kworker } => {
                let runner = if kworker.is_some() { "the kworker on " } else { "" };
                let hctx = scene.hctx_name(hctx);
                format!(
                    "{phase}: waited {ns}{times} in a list of {hctx} until {runner}CPU {cpu} took it; {}.",
                    ahead(others, last)
                )
            }
            Culprit::Scheduler { others, last, .. } => {
                format!("{phase}: kept in the scheduler for {ns}{times}; {}.", ahead(others, last))
            }
            Culprit::Depth { .. } => {
                format!("{phase}: waited {ns}{times} until the disk took one more command.")
            }
            Culprit::Device { stage, unit, behind, .. } => {
                let place = match stage {
                    Stage::DieWait => format!("for flash die {unit}"),
                    Stage::MemberWait => format!("for member disk {unit}"),
                    Stage::Queued => String::from("in the queue of the disk"),
                    Stage::Destage => String::from("for the write cache to reach the platter"),
                    _ => String::from("on its way inside, what it shares with others included"),
                };
                format!("{phase}: spent {ns}{times} {place}{}.", until(behind, ", which served"))
            }
            Culprit::Interrupt { cpu } => {
                format!("{phase}: {ns} from the device's interrupt to C, on CPU {cpu}.")
            }
            Culprit::Task { doing, .. } => match doing {
                Doing::Batch => {
                    format!("{phase}: its task slept on for {ns}{times}, until more of its I/O was complete.")
                }
                Doing::Waking => format!("{phase}: its task was woken and did not run for {ns}{times}."),
                Doing::Busy => format!("{phase}: its task was at other things for {ns}{times}."),
            },
            Culprit::FileLock { ahead, last, .. } => {
                let others = match ahead {
                    0 => String::new(),
                    1 => String::from(" behind one more task"),
                    n => format!(" behind {n} more tasks"),
                };
                let until = match t.tasks.get(last as usize) {
                    Some(task) => format!(", until {} of CPU {} gave it back", task.name, task.cpu),
                    None => String::new(),
                };
                format!("{phase}: its task slept {ns} for the lock of the file{others}{until}.")
            }
            Culprit::Throttle { .. } => {
                format!("{phase}: its task slept {ns} while wbt let no more writes through.")
            }
        }
    }
}
