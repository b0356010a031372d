//! Looks at one request in the run as it is and notes for whom it waits.

use super::culprit::{Culprit, Doing, Met};
use crate::player::Fork;
use crate::scene::{NEVER, NONE16, Request, Scene, Spot, Standing};
use mqscope_core::event::{BioId, Context, CpuId, Event, HctxId, Kind, QueueId, RqId, Stage, TaskId};

/// Part of the latency from which on a wait is worth a question: 1 in so many. Of locks and lines less is enough: they are
/// met by all, and small waits on them add up.
const WORTH: u64 = 1_000;
const WORTH_SHARED: u64 = 10_000;

/// Who looks.
#[derive(Clone, Debug)]
pub struct Witness {
    rq: RqId,
    bio: BioId,
    /// Where the request is, since when, in which of btt's phases.
    spot: Option<Spot>,
    since_ns: u64,
    phase: &'static str,
    /// Requests that went ahead of it since then, and the last of them.
    others: u32,
    last: RqId,
    /// A run of its hctx by a kworker that was asked for meanwhile: when, and after what delay, ns.
    kworker: Option<(u64, u64)>,
    /// It stands in line because no driver tag was free, or because the disk takes no more.
    no_tag: bool,
    full: bool,
    throttled: bool,
    /// What its task does while the completion waits, and since when, ns.
    doing: Option<(Doing, u64)>,
    /// The wait for a file's lock under way: how many are ahead; and who gave one back last.
    file_ahead: u16,
    file_last: TaskId,
    task: TaskId,
    /// When its interrupt came, and where.
    irq: Option<(u64, CpuId)>,
    /// The wait of its CPU that goes on: who holds the lock, how many are ahead, what the holder is in.
    spin: (CpuId, u16, Option<&'static str>),
    met: Vec<Met>,
}

impl Witness {
    /// Who will look at this request, whose first bio has not arrived.
    pub fn new(rq: RqId, bio: BioId, task: TaskId) -> Self {
        Self {
            rq,
            bio,
            doing: None,
            file_ahead: 0,
            file_last: NONE16,
            task,
            spot: None,
            since_ns: 0,
            phase: "Q2G",
            others: 0,
            last: 0,
            kworker: None,
            no_tag: false,
            full: false,
            throttled: false,
            irq: None,
            spin: (0, 0, None),
            met: Vec::new(),
        }
    }

    /// Looks at an event that the run has just applied.
    pub fn see(&mut self, event: &Event, run: &Fork) {
        let scene = run.scene();
        self.note(event, run);
        self.note_task(event);
        // Once the application took note the bio is gone; where it was has its end then.
        let now = scene.of_bio(self.bio);
        let spot = now.map(|r| r.spot);
        if spot == self.spot {
            return;
        }
        self.leave(event, scene);
        (self.spot, self.since_ns, self.others, self.last) = (spot, event.at_ns, 0, 0);
        self.kworker = None;
        if let Some(request) = now {
            self.phase = phase(request);
            if let Spot::Ring(task) = request.spot {
                (self.task, self.doing) = (task, Some((doing(scene, task), event.at_ns)));
            }
            let listed = matches!(request.spot, Spot::Elevator(_) | Spot::Ctx(_) | Spot::DispatchList(_));
            self.full |= listed && is_full(scene, request.queue);
        }
    }

    /// The CPU that works on it, or on what it waits for.
    fn cpu(&self, scene: &Scene) -> Option<CpuId> {
        match self.spot? {
            Spot::Submit(cpu) | Spot::Hand(cpu) | Spot::Completing(cpu) => Some(cpu),
            Spot::Plug(task) => scene.tasks().get(task as usize).map(|t| t.cpu),
            _ => None,
        }
    }

    /// The hctx in whose list it stands.
    fn stands_at(&self, scene: &Scene) -> Option<HctxId> {
        match self.spot? {
            Spot::Ctx(_) | Spot::DispatchList(_) | Spot::Elevator(_) => {
                scene.of_bio(self.bio).map(|r| r.hctx)
            }
            _ => None,
        }
    }

    /// What an event says about the wait under way.
    fn note(&mut self, event: &Event, run: &Fork) {
        let (scene, at) = (run.scene(), event.at_ns);
        let mine = self.spot.is_some() && self.cpu(scene) == Some(event.cpu);
        match event.kind {
            Kind::LockWait { holder, waiters, .. } if mine => {
                self.spin = (holder, waiters, run.function(holder));
            }
            Kind::LockAcquire { lock, wait_ns, .. } if mine && wait_ns > 0 => {
                let (holder, ahead, function) = self.spin;
                let ns = wait_ns.min(at.saturating_sub(self.since_ns));
                self.add(Culprit::Lock { lock, holder, ahead, function }, ns);
            }
            Kind::LockAcquire { lock, transfer_ns, from, .. } if mine && from != event.cpu => {
                self.add(Culprit::Line { line: lock, from }, transfer_ns.into());
            }
            Kind::LineTransfer { line, from, transfer_ns, wait_ns } if mine => {
                let from = if from == event.cpu { NONE16 } else { from };
                self.add(Culprit::Line { line, from }, u64::from(transfer_ns) + u64::from(wait_ns));
            }
            Kind::Issue { rq, hctx, queue, .. } if rq != self.rq => {
                let own = scene.of_bio(self.bio).is_some_and(|r| r.queue == queue);
                self.full |= own && self.stands_at(scene).is_some() && is_full(scene, queue);
                let before = match self.spot {
                    Some(Spot::Elevator(of)) => of == queue,
                    _ => self.stands_at(scene) == Some(hctx),
                };
                self.went_ahead(before, rq);
            }
            Kind::TagFree { rq, hctx, .. } | Kind::SchedTagFree { rq, hctx, .. }
                if self.spot == Some(Spot::TagWait(hctx)) || self.no_tag =>
            {
                self.last = rq;
            }
            Kind::PlugAdd { rq, .. } => {
                self.went_ahead(self.spot == Some(Spot::Plug(event.task)) && rq != self.rq, rq);
            }
            Kind::RunScheduled { hctx, delay_ns, .. } if self.stands_at(scene) == Some(hctx) => {
                self.kworker = Some((at, delay_ns));
            }
            Kind::NoDriverTag { rq, .. } if rq == self.rq => self.no_tag = true,
            Kind::Requeue { rq, .. } if rq == self.rq => self.full = true,
            Kind::WbtWait { bio, .. } if bio == self.bio => self.throttled = true,
            Kind::DeviceStage { rq, queue, stage, unit, start_ns, end_ns } if rq == self.rq => {
                let waits =
                    matches!(stage, Stage::DieWait | Stage::MemberWait | Stage::Queued | Stage::Destage);
                if waits {
                    let behind = served(scene, self.rq, unit, end_ns);
                    self.phase = "D2C";
                    self.add(Culprit::Device { queue, stage, unit, behind }, end_ns.saturating_sub(start_ns));
                }
            }
            Kind::Irq { rq, .. } | Kind::Polled { rq, .. } if rq == self.rq => {
                self.irq = Some((at, event.cpu))
            }
            Kind::Complete { rq, .. } if rq == self.rq => {
                self.phase = "D2C";
                if let Some(Spot::Device(queue)) = self.spot {
                    self.share_device(queue, at, scene);
                }
                if let Some((since, cpu)) = self.irq.take() {
                    self.add(Culprit::Interrupt { cpu }, at - since);
                }
            }
            _ => {}
        }
    }

    /// What an event says about its task: before the bio arrives it may sleep for the lock of the file, and in the end the
    /// completion waits for it.
    fn note_task(&mut self, event: &Event) {
        let mine = event.task == self.task;
        match event.kind {
            Kind::FileLockRelease { .. } => self.file_last = event.task,
            Kind::FileLockWait { waiters, .. } if mine => self.file_ahead = waiters,
            Kind::FileLockAcquire { lock, wait_ns, .. } if mine && self.spot.is_none() => {
                self.phase = "before Q";
                self.add(Culprit::FileLock { lock, ahead: self.file_ahead, last: self.file_last }, wait_ns);
            }
            Kind::TaskSleep { .. } if mine => self.task_is(Some(Doing::Batch), event.at_ns),
            Kind::TaskWake { task } if task == self.task => self.task_is(Some(Doing::Waking), event.at_ns),
            Kind::ContextBegin if mine => self.task_is(Some(Doing::Busy), event.at_ns),
            _ => {}
        }
    }

    /// While a completion waits for its task: that is at something else from now on, or (`None`) takes note.
    fn task_is(&mut self, doing: Option<Doing>, at_ns: u64) {
        let Some((was, since_ns)) = self.doing else { return };
        if doing != Some(was) {
            self.add(Culprit::Task { task: self.task, doing: was }, at_ns - since_ns);
            self.doing = doing.map(|doing| (doing, at_ns));
        }
    }

    /// A device that tells of no wait may still have been slower for what it served besides.
    fn share_device(&mut self, queue: QueueId, at_ns: u64, scene: &Scene) {
        let told = self.met.iter().any(|m| matches!(m.culprit, Culprit::Device { .. }));
        let real = scene.topology().queues.get(queue as usize).is_some_and(|q| q.model != "null");
        if !told && real {
            let whole = Culprit::Device { queue, stage: Stage::Service, unit: 0, behind: 0 };
            self.add(whole, at_ns - self.since_ns);
        }
    }

    fn went_ahead(&mut self, ahead: bool, rq: RqId) {
        if ahead {
            (self.others, self.last) = (self.others + 1, rq);
        }
    }

    /// It leaves where it was.
    fn leave(&mut self, event: &Event, scene: &Scene) {
        let Some(spot) = self.spot else { return };
        let ns = event.at_ns - self.since_ns;
        let hctx = scene.of_bio(self.bio).map_or(0, |r| r.hctx);
        let queue = scene.of_bio(self.bio).map_or(0, |r| r.queue);
        let (others, last) = (self.others, self.last);
        let culprit = match spot {
            Spot::TagWait(hctx) => Culprit::Tags { hctx, freed: last },
            Spot::Plug(task) => Culprit::Plug { task, others },
            Spot::DispatchList(hctx) if self.no_tag => Culprit::Tags { hctx, freed: last },
            Spot::Ctx(_) | Spot::DispatchList(_) if std::mem::take(&mut self.full) => {
                Culprit::Depth { queue }
            }
            Spot::Ctx(_) | Spot::DispatchList(_) => {
                // It is to blame for the time since it was asked for, if that is most of the wait.
                let late = |asked: u64| event.context == Context::Kworker && (event.at_ns - asked) * 2 > ns;
                let kworker = self.kworker.filter(|(asked, _)| late(*asked)).map(|(_, delay)| delay);
                Culprit::Run { hctx, cpu: event.cpu, others, last, kworker }
            }
            Spot::Elevator(queue) => {
                if std::mem::take(&mut self.full) {
                    self.add(Culprit::Depth { queue }, ns);
                }
                Culprit::Scheduler { queue, others, last }
            }
            Spot::Ring(_) => return self.task_is(None, event.at_ns),
            Spot::Submit(_) if self.throttled => Culprit::Throttle { queue },
            _ => return,
        };
        if matches!(spot, Spot::DispatchList(_)) {
            self.no_tag = false;
        }
        self.throttled = false;
        self.add(culprit, ns);
    }

    fn add(&mut self, culprit: Culprit, ns: u64) {
        if ns == 0 {
            return;
        }
        let Some(met) = self.met.iter_mut().find(|met| met.is_like(&culprit)) else {
            let phase = self.phase;
            self.met.push(Met { culprit, phase, ns, times: 1, longest_ns: ns });
            return;
        };
        // Its pages wait for several dies at once: only the longest of these waits counts.
        let together = matches!(culprit, Culprit::Device { .. });
        met.ns = if together { met.ns.max(ns) } else { met.ns + ns };
        met.times += u32::from(!together);
        if ns > met.longest_ns {
            (met.longest_ns, met.culprit, met.phase) = (ns, culprit, self.phase);
        }
    }

    /// What it waited for, most time first, and nothing that hardly mattered.
    pub fn met(&self, lat_ns: u64) -> Vec<Met> {
        let least = |m: &Met| match m.culprit {
            Culprit::Lock { .. } | Culprit::Line { .. } => lat_ns / WORTH_SHARED,
            _ => lat_ns / WORTH,
        };
        let mut met: Vec<_> = self.met.iter().filter(|m| m.ns >= least(m)).copied().collect();
        met.sort_by_key(|m| std::cmp::Reverse(m.ns));
        met
    }

    /// What its latency of `lat_ns` is made of when the application takes note at `at_ns`, in btt's words.
    pub fn path(&self, run: &Fork, at_ns: u64, lat_ns: u64) -> Vec<(&'static str, u64)> {
        let Some(letters) = run.scene().request(self.rq).map(|r| r.letters) else { return Vec::new() };
        let steps = [
            ("before Q", Some(at_ns.saturating_sub(lat_ns))),
            ("Q2G", Some(letters.q)),
            (if letters.i == NEVER { "G2D" } else { "G2I" }, Some(letters.g)),
            ("I2D", (letters.i != NEVER).then_some(letters.i)),
            ("D2C", Some(letters.d)),
            ("after C", Some(letters.c)),
        ];
        let begun: Vec<_> =
            steps.into_iter().filter_map(|(name, at)| Some((name, at.filter(|at| *at <= at_ns)?))).collect();
        let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([at_ns]);
        begun
            .iter()
            .zip(ends)
            .map(|((name, from), to)| (*name, to.saturating_sub(*from)))
            .filter(|(_, ns)| *ns > 0)
            .collect()
    }
}

/// btt's phase that a request is in.
fn phase(request: &Request) -> &'static str {
    match request.spot {
        Spot::Device(_) => "D2C",
        Spot::Completing(_) | Spot::Ring(_) | Spot::Done(_) => "after C",
        Spot::TagWait(_) => "Q2G",
        _ if request.rq == 0 => "Q2G",
        _ if request.letters.i != NEVER => "I2D",
        Spot::Plug(_) => "G2I",
        _ => "G2D",
    }
}

/// Whether a disk that takes fewer commands than there are tags has as many as it takes.
fn is_full(scene: &Scene, queue: QueueId) -> bool {
    let limited = scene.topology().queues.get(queue as usize).filter(|q| {
        let tags = q.nr_tags as usize * q.hctxs.len();
        (q.queue_depth as usize) < tags
    });
    limited.is_some_and(|q| scene.standing_len(Standing::Device(queue)) >= q.queue_depth)
}

/// The request that a unit of the device serves until `end_ns`; 0 if it is not known.
fn served(scene: &Scene, rq: RqId, unit: u16, end_ns: u64) -> RqId {
    let works = |stage| matches!(stage, Stage::Die | Stage::Program | Stage::Member | Stage::Transfer);
    let until =
        |r: &Request| r.spans().iter().any(|s| works(s.stage) && s.unit == unit && s.end_ns == end_ns);
    scene.live().map(|(_, r)| r).find(|r| r.rq != rq && until(r)).map_or(0, |r| r.rq)
}

/// What a task is at now.
fn doing(scene: &Scene, task: TaskId) -> Doing {
    let Some(state) = scene.tasks().get(task as usize) else { return Doing::Busy };
    let cpu = scene.cpus().get(state.cpu as usize);
    match state.sleep {
        Some(_) => Doing::Batch,
        None if cpu.is_some_and(|c| c.frames().iter().any(|f| f.task == task)) => Doing::Busy,
        None => Doing::Waking,
    }
}
