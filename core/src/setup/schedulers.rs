//! Schedulers of a scenario: their locks, lines, sched tags and attributes.

use super::*;
use crate::block::Elevator;
use crate::check::Invariant;
use crate::kernel::DefaultScheduler;
use crate::sched::{self, Cx, Disk, LockAt, Locking, Scheduler};
use std::ops::Range;

/// No scheduler, and the one that the kernel chooses by itself.
const NONE: &str = "none";
const DEFAULT: &str = "default";
/// Largest device queue depth that counts for the default of nr_requests (BLKDEV_DEFAULT_RQ).
const DEFAULT_RQ: u32 = 128;
/// Requests of each kind in a pool of the legacy path (BLKDEV_MAX_RQ).
const POOL_REQUESTS: u32 = 128;

/// The schedulers of a path, for people.
fn offered(path: Path) -> String {
    let names = sched::SCHEDULERS.iter().filter(|row| row.path == path).map(|row| row.name);
    names.collect::<Vec<_>>().join(", ")
}

impl Builder<'_> {
    /// The name of the scheduler that the next disk is to have: the disk's own, or what a fio job sets on it.
    fn wanted_scheduler(&mut self, config: &DeviceConfig, path: Path) -> String {
        let Workload::Jobs(jobs) = &self.scenario.workload else { return config.scheduler.clone() };
        let q = self.queues.len() as u16;
        let by_job = jobs.iter().filter(|j| j.files.contains(&q)).find_map(|j| j.ioscheduler.as_ref());
        let Some(name) = by_job.filter(|name| *name != NONE && config.scheduler == NONE) else {
            return config.scheduler.clone();
        };
        if name == DEFAULT || sched::row(name).is_some_and(|row| row.path == path) {
            return name.clone();
        }
        let short: String = name.chars().take(30).collect();
        self.warnings.push(format!(
            "{}: ioscheduler={short} is not modelled; none is used (there are {})",
            config.name,
            offered(path)
        ));
        String::from(NONE)
    }

    /// The row of a disk's scheduler; `None` for none. `default` is what the kernel would choose for `nr` hctxs.
    pub(super) fn scheduler(
        &mut self,
        config: &DeviceConfig,
        path: Path,
        nr: u16,
        host_tags: bool,
    ) -> Result<Option<&'static sched::Row>, ScenarioError> {
        let field = format!("devices.{}.scheduler", config.name);
        let wanted = self.wanted_scheduler(config, path);
        if path == Path::Legacy && matches!(wanted.as_str(), NONE | "cfq") {
            let problem =
                if wanted == NONE { "the legacy path always has a scheduler" } else { "cfq is not modelled" };
            return Err(wrong(field, format!("{problem}; choose {}", offered(path))));
        }
        let by_itself = match self.knobs.default_scheduler {
            DefaultScheduler::None => false,
            DefaultScheduler::SingleQueue => nr == 1,
            DefaultScheduler::SingleQueueOrSharedTags => nr == 1 || host_tags,
        };
        let name = match wanted.as_str() {
            DEFAULT if path == Path::Legacy => "deadline",
            DEFAULT if by_itself => "mq-deadline",
            DEFAULT => NONE,
            name => name,
        };
        if name == NONE {
            check(config.iosched.is_empty(), &format!("devices.{}.iosched", config.name), || {
                String::from(
                    "scheduler none has no attributes; choose another scheduler or leave iosched out",
                )
            })?;
            return Ok(None);
        }
        match sched::row(name) {
            Some(row) if row.path != path => {
                let (here, there) = match path {
                    Path::Mq => ("blk-mq", "path = \"legacy\""),
                    Path::Legacy => ("legacy", "path = \"mq\""),
                };
                let problem = format!("{} needs {there}; the {here} path has {}", row.name, offered(path));
                Err(wrong(field, problem))
            }
            Some(_) if path == Path::Mq && !self.knobs.mq_elevators => {
                Err(wrong(field, "this kernel's blk-mq has no schedulers; choose none or a later kernel"))
            }
            Some(row) => Ok(Some(row)),
            None => Err(ScenarioError::UnknownName {
                what: "scheduler",
                name: wanted.chars().take(60).collect(),
                known: [NONE, DEFAULT]
                    .into_iter()
                    .chain(sched::SCHEDULERS.iter().map(|row| row.name))
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// Attaches it (`blk_mq_init_sched`): sched tags for every hctx, or one set where all share their driver tags.
    /// Gives its attributes as well, with the values that they have by themselves.
    pub(super) fn elevator(
        &mut self,
        config: &DeviceConfig,
        row: &'static sched::Row,
        q: u16,
        rotational: bool,
        hctxs: Range<u16>,
        nr_tags: u32,
    ) -> Result<(Elevator, Vec<sched::Tunable>), ScenarioError> {
        let name = &config.name;
        let default = 2 * nr_tags.min(DEFAULT_RQ);
        let nr_requests = config.nr_requests.unwrap_or(default);
        let knobs = self.knobs.clone();
        let disk = |nr_requests| Disk {
            rotational,
            nr_hctx: hctxs.len() as u16,
            nr_cpus: self.machine.cpus(),
            nr_requests,
            in_driver: 0,
        };
        let (before, after) = (disk(default), disk(nr_requests));
        let mut sched = (row.new)(Cx { now: 0, knobs: &knobs, disk: before });
        let cx = Cx { now: 0, knobs: &knobs, disk: after };
        if nr_requests != default {
            sched.depth_updated(cx, default);
        }
        if self.scenario.break_invariants.contains(&Invariant::BatchSorted) {
            sched.break_batch();
        }
        let known = set_attributes(&mut *sched, cx, config, row)?;
        let locking = sched.locking();
        let shared = hctxs.len() > 1
            && self.knobs.sched_tags_queue_wide
            && hctxs.clone().all(|h| self.hctxs[h as usize].tags == self.hctxs[hctxs.start as usize].tags);
        let mut common = None;
        for h in hctxs.clone() {
            let tags = match common {
                Some(tags) if shared => tags,
                _ => self.tag_set("sched_tags", nr_requests, h, h - hctxs.start, name),
            };
            common = Some(tags);
            let set = &mut self.tags[tags as usize];
            set.queues = 1;
            let kinds = [(Op::Read, true), (Op::Write, true), (Op::Write, false)];
            let least =
                kinds.iter().filter_map(|&(op, sync)| sched.shallow_depth(cx, op, sync, set.shift)).min();
            let least = if sched.limits_shares(cx) { Some(1) } else { least };
            if let Some(least) = least {
                set.set_min_shallow(least.max(1));
            }
            self.hctxs[h as usize].sched_tags = Some(tags);
        }
        let mut elevator = Elevator::new(sched, row, &self.costs, nr_requests);
        elevator.insert_lock = self.locks(locking.insert_name, locking.insert, q, &hctxs, name);
        elevator.dispatch_lock = if locking.insert_name == locking.dispatch_name {
            elevator.insert_lock
        } else {
            self.locks(locking.dispatch_name, locking.dispatch, q, &hctxs, name)
        };
        self.lists(&mut elevator, &locking, q, &hctxs, name);
        for (i, line) in locking.lines.iter().enumerate() {
            let id = self.object(line, format!("{line} ({name})"), ObjectKind::Line, Site::Elevator(q));
            if i == 0 {
                elevator.lines = id;
            }
        }
        if row.name == "mq-deadline" {
            self.deadline_patches(&mut elevator, q, name);
        }
        Ok((elevator, known))
    }

    /// What patches to mq-deadline bring along.
    fn deadline_patches(&mut self, elevator: &mut Elevator, q: u16, name: &str) {
        let site = Site::Elevator(q);
        if self.knobs.deadline_dispatch_alone {
            let text = format!("dd->run_state ({name})");
            elevator.alone = Some(self.object("dd->run_state", text, ObjectKind::Line, site));
        }
        if self.knobs.deadline_insert_list {
            let lock =
                self.object("dd->insert_lock", format!("dd->insert_lock ({name})"), ObjectKind::Lock, site);
            let head = self.object("dd->at_tail", format!("dd->at_tail ({name})"), ObjectKind::Line, site);
            elevator.waiting_lock = Some((lock, head));
        }
    }

    /// Attaches it to a disk of the legacy path (`elevator_init`), where it works under the queue's one lock.
    pub(super) fn legacy_elevator(
        &mut self,
        config: &DeviceConfig,
        row: &'static sched::Row,
        rotational: bool,
        queue_lock: ObjectId,
        q: u16,
    ) -> Result<(Elevator, Vec<sched::Tunable>), ScenarioError> {
        let given = config.nr_requests.unwrap_or(POOL_REQUESTS);
        let nr_requests = given.max(MIN_NR_REQUESTS);
        if nr_requests > given {
            let text =
                format!("{}: nr_requests is at least {MIN_NR_REQUESTS} on the legacy path", config.name);
            self.warnings.push(text);
        }
        let disk = Disk { rotational, nr_hctx: 1, nr_cpus: self.machine.cpus(), nr_requests, in_driver: 0 };
        let cx = Cx { now: 0, knobs: &self.knobs, disk };
        let mut sched = (row.new)(cx);
        let known = set_attributes(&mut *sched, cx, config, row)?;
        let mut elevator = Elevator::new(sched, row, &self.costs, nr_requests);
        (elevator.insert_lock, elevator.dispatch_lock) = (queue_lock, queue_lock);
        let locking = elevator.sched.locking();
        self.lists(&mut elevator, &locking, q, &(0..1), &config.name);
        Ok((elevator, known))
    }

    /// What the dispatch locks of a scheduler protect: a line for each.
    fn lists(&mut self, elevator: &mut Elevator, locking: &Locking, q: u16, hctxs: &Range<u16>, name: &str) {
        let class = format!("lists under {}", locking.dispatch_name);
        elevator.lists = self.one_each(&class, locking.dispatch, ObjectKind::Line, q, hctxs, name);
        elevator.nr_lists = self.objects.all.len() as u32 - elevator.lists;
    }

    /// The first of the locks of one name.
    fn locks(&mut self, class: &str, at: LockAt, q: u16, hctxs: &Range<u16>, name: &str) -> ObjectId {
        self.one_each(class, at, ObjectKind::Lock, q, hctxs, name)
    }

    /// The first of the objects that stand at these places.
    fn one_each(
        &mut self,
        class: &str,
        at: LockAt,
        kind: ObjectKind,
        q: u16,
        hctxs: &Range<u16>,
        name: &str,
    ) -> ObjectId {
        let sites: Vec<(String, Site)> = match at {
            LockAt::Queue => vec![(format!("{class} ({name})"), Site::Elevator(q))],
            LockAt::Hctx => hctxs
                .clone()
                .map(|h| (format!("{class} (mq/{} {name})", h - hctxs.start), Site::Hctx(h)))
                .collect(),
            LockAt::Ctx => (0..self.machine.cpus())
                .map(|c| (format!("{class} (cpu {c} {name})"), Site::Ctx(c)))
                .collect(),
        };
        let ids: Vec<ObjectId> =
            sites.into_iter().map(|(text, site)| self.object(class, text, kind, site)).collect();
        ids.first().copied().unwrap_or_default()
    }
}

/// Sets the attributes of `queue/iosched` that a disk asks for; gives all with the values that they have by themselves.
fn set_attributes(
    sched: &mut dyn Scheduler,
    cx: Cx<'_>,
    config: &DeviceConfig,
    row: &sched::Row,
) -> Result<Vec<sched::Tunable>, ScenarioError> {
    let known = sched.tunables(cx);
    for (attribute, &value) in &config.iosched {
        let name = attribute.chars().take(60).collect::<String>();
        let field = format!("devices.{}.iosched.{name}", config.name);
        let Some(tunable) = known.iter().find(|t| t.name == attribute) else {
            let names = known.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
            let has = if names.is_empty() { "no attributes" } else { &names };
            return Err(wrong(field, format!("{} in this kernel has {has}", row.name)));
        };
        let (low, high) = tunable.range;
        check((low..=high).contains(&value), &field, || format!("must be from {low} to {high}"))?;
        sched.set(tunable.name, value);
    }
    Ok(known)
}
