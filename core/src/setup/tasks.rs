//! Tasks of a workload: checked, placed on CPUs, given their start times.

use super::*;

/// Most block sizes of a split.
const BSSPLIT_MAX: usize = 64;
/// Most steps of a batch script.
const STEPS_MAX: usize = 100_000;

/// Tasks, jobs, and (task, start time in ns) of those that start by the clock.
pub(super) type Tasks = (Vec<Task>, Vec<JobState>, Vec<(u16, u64)>);

impl Builder<'_> {
    pub(super) fn tasks(&mut self) -> Result<Tasks, ScenarioError> {
        match &self.scenario.workload {
            Workload::Jobs(jobs) => self.fio_tasks(jobs),
            Workload::Dbench(spec) => self.dbench_tasks(spec),
            Workload::Batch(script) => {
                let cpus = self.machine.cpus();
                let mut cpu = 0;
                check(script.steps.len() <= STEPS_MAX, "workload.batch", || {
                    format!("must have at most {STEPS_MAX} steps")
                })?;
                for (i, step) in script.steps.iter().enumerate() {
                    let field = format!("workload.batch step {}", i + 1);
                    match step {
                        BatchStep::Cpu(c) => {
                            check(*c < cpus, &field, || {
                                format!("CPU {c}: the machine has CPUs 0 to {}", cpus - 1)
                            })?;
                        }
                        BatchStep::Prio(prio) => {
                            check(prio.level < 8, &field, || "priority levels are 0 to 7".into())?;
                        }
                        BatchStep::Fsync(disk) => {
                            check(usize::from(*disk) < self.queues.len(), &field, || {
                                format!("there is no disk {disk}")
                            })?;
                        }
                        BatchStep::Submit(ios)
                        | BatchStep::Writeback(ios)
                        | BatchStep::Discard(ios)
                        | BatchStep::Commit(ios) => {
                            let fits = |op| match step {
                                BatchStep::Discard(_) => op == Op::Discard,
                                BatchStep::Commit(_) | BatchStep::Writeback(_) => op == Op::Write,
                                _ => matches!(op, Op::Read | Op::Write),
                            };
                            check(ios.iter().all(|io| fits(io.op)), &field, || {
                                String::from(
                                    "submit reads and writes, discard discards, commit and writeback write",
                                )
                            })?;
                            for io in ios {
                                let Some(queue) = self.queues.get(io.device as usize) else {
                                    return Err(wrong(field, format!("there is no disk {}", io.device)));
                                };
                                let end = io.offset.checked_add(u64::from(io.len));
                                check(end.is_some_and(|e| e <= queue.sectors * 512), &field, || {
                                    String::from("an I/O lies behind the end of its disk")
                                })?;
                                check(
                                    io.len > 0 && io.len % 512 == 0 && io.offset % 512 == 0,
                                    &field,
                                    || String::from("an I/O must be made of whole 512-byte sectors"),
                                )?;
                            }
                        }
                        BatchStep::Sleep(ns) => {
                            check(*ns <= DURATION_MAX_NS, &field, || {
                                format!("must sleep at most {DURATION_MAX_NS} ns")
                            })?;
                        }
                        BatchStep::Wait => {}
                    }
                }
                if let Some(BatchStep::Cpu(c)) = script.steps.first() {
                    cpu = *c;
                }
                let name = if script.name.is_empty() { "iob" } else { &script.name };
                let mut task = self.task(name, 0, 0, cpu, 1, Frame::Batch { pc: 0 });
                let disks: Vec<u16> = (0..self.queues.len() as u16).collect();
                task.file.locks = self.file_locks(&disks, "", None)?;
                Ok((vec![task], vec![JobState { phase: 0, running: 1 }], vec![(0, 0)]))
            }
        }
    }

    fn fio_tasks(&mut self, jobs: &[JobSpec]) -> Result<Tasks, ScenarioError> {
        check(!jobs.is_empty() && jobs.len() <= 256, "workload.jobs", || "need 1 to 256 jobs".into())?;
        let first_phase = jobs.iter().map(|j| j.phase).min().unwrap_or(0);
        let (mut tasks, mut states, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut load = vec![0u32; self.machine.cpus() as usize];
        for (j, job) in jobs.iter().enumerate() {
            self.check_job(job, tasks.len() as u32)?;
            let allowed = self.allowed(job)?;
            for process in 0..job.numjobs {
                let cpu = if job.cpus_split {
                    allowed[process as usize % allowed.len()]
                } else {
                    self.least_loaded(&allowed, &load)
                };
                load[cpu as usize] += 1;
                let t = tasks.len() as u16;
                let start_frame = Frame::Fio { pc: 0 };
                let mut task = self.task(&job.name, j as u16, process, cpu, job.iodepth, start_frame);
                task.file.locks = self.file_locks(&job.files, &job.file, job.own_files.then_some(t))?;
                task.cache.inodes = self.inodes(job, job.own_files.then_some(t))?;
                task.polls = self.polls(job);
                tasks.push(task);
                if job.phase == first_phase {
                    let key = u64::from(t);
                    let spread = rng::below(self.scenario.seed, Purpose::StartJitter, key, START_SPREAD_NS);
                    starts.push((t, job.startdelay_ns + spread));
                }
            }
            states.push(JobState { phase: job.phase, running: job.numjobs });
        }
        self.flushers(&mut tasks, &load);
        Ok((tasks, states, starts))
    }

    fn check_job(&mut self, job: &JobSpec, before: u32) -> Result<(), ScenarioError> {
        let field = |f: &str| format!("job '{}': {f}", job.name);
        check(
            job.numjobs >= 1 && before.saturating_add(job.numjobs) <= PROCESSES_MAX,
            &field("numjobs"),
            || format!("must be at least 1, and at most {PROCESSES_MAX} processes in all"),
        )?;
        check((1..=IODEPTH_MAX).contains(&job.iodepth), &field("iodepth"), || {
            format!("must be from 1 to {IODEPTH_MAX}")
        })?;
        check(job.engine != Engine::Psync || job.iodepth == 1, &field("iodepth"), || {
            String::from("psync has one I/O in flight; use 1, or libaio or io_uring")
        })?;
        check(job.rwmixread <= 100, &field("rwmixread"), || "must be from 0 to 100".into())?;
        for dir in 0..2 {
            let shares = &job.bssplit[dir];
            let sum: u32 = shares.iter().map(|share| u32::from(share.percent)).sum();
            check(
                shares.is_empty() || (sum == 100 && shares.len() <= BSSPLIT_MAX),
                &field("bssplit"),
                || format!("the shares must add up to 100, not {sum}, and be at most {BSSPLIT_MAX}"),
            )?;
            if let Some(range) = job.bsrange {
                check(range[dir][0] <= range[dir][1], &field("bsrange"), || "runs backwards".into())?;
            }
        }
        check(job.percentage_random.iter().all(|&p| p <= 100), &field("percentage_random"), || {
            "must be from 0 to 100".into()
        })?;
        let in_range = match job.distribution {
            Distribution::Uniform => true,
            Distribution::Zipf(theta) => theta > 0.0 && theta <= 10.0,
            Distribution::Pareto(h) => h > 0.0 && h < 1.0,
            Distribution::Normal(percent) => (0.0..=100.0).contains(&percent),
        };
        check(in_range, &field("distribution"), || {
            "zipf must be above 0 and at most 10, pareto between 0 and 1, normal from 0 to 100".into()
        })?;
        for bs in [0, 1].into_iter().flat_map(|dir| [job.block_min(dir), job.block_max(dir)]) {
            check(bs % 512 == 0 && (512..=64 << 20).contains(&bs), &field("bs"), || {
                String::from("must be a multiple of 512 from 512 to 67108864 bytes")
            })?;
        }
        check(!job.files.is_empty() && job.files.len() <= DEVICES_MAX, &field("files"), || {
            format!("needs 1 to {DEVICES_MAX} disks")
        })?;
        for &file in &job.files {
            let Some(queue) = self.queues.get(file as usize) else {
                return Err(wrong(field("files"), format!("there is no disk {file} in this scenario")));
            };
            check(
                u64::from(job.block_max(0).max(job.block_max(1))) <= queue.sectors * 512,
                &field("bs"),
                || String::from("is larger than the disk"),
            )?;
        }
        let times = [
            ("startdelay", job.startdelay_ns),
            ("thinktime", job.thinktime_ns),
            ("thinktime_spin", job.thinktime_spin_ns),
            ("ramp_time", job.ramp_time_ns),
            ("runtime", job.runtime_ns.unwrap_or(0)),
        ];
        for (name, ns) in times {
            check(ns <= DURATION_MAX_NS, &field(name), || format!("must be at most {DURATION_MAX_NS} ns"))?;
        }
        let flushes = job.fsync > 0 || job.end_fsync || job.dsync;
        if flushes && !job.files.iter().any(|&file| self.queues[file as usize].write_cache) {
            self.warnings.push(field(
                "fsync and sync flush nothing, as its disks have no volatile write cache (write_cache = \"write back\" gives one)",
            ));
        }
        if job.engine == Engine::IoUring && !self.io_uring {
            self.warnings.push(field("io_uring does not exist in this kernel; it runs as if it did"));
        }
        if job.hipri && !self.polls(job) {
            self.warnings.push(field(
                "polled completions (hipri) need direct I/O without fsync and trim, and disks with poll_queues; interrupts are used",
            ));
        }
        check(job.prio.level < 8 && job.cmdprio.level < 8, &field("prio"), || "levels are 0 to 7".into())?;
        check(job.cmdprio_percentage.iter().all(|&p| p <= 100), &field("cmdprio_percentage"), || {
            "must be from 0 to 100".into()
        })?;
        Ok(())
    }

    /// Whether a job's completions are polled for; not those of a job that also makes calls that sleep.
    fn polls(&self, job: &JobSpec) -> bool {
        let sleeps = job.fsync > 0 || job.end_fsync || job.dsync || job.trim != Trim::None;
        let has = |&disk: &u16| !self.queues[disk as usize].poll_map.is_empty();
        job.hipri && job.direct && !sleeps && job.files.iter().all(has)
    }

    /// The locks of a task's files on those of its disks that carry a file system.
    fn file_locks(
        &mut self,
        disks: &[u16],
        file: &str,
        own: Option<u16>,
    ) -> Result<Vec<(u16, u16)>, ScenarioError> {
        let mut locks = Vec::new();
        for &disk in disks {
            let config = &self.scenario.devices[disk as usize];
            let Some(kind) = &config.file_lock else { continue };
            check(
                FILE_SYSTEMS.contains(&kind.as_str()),
                &format!("devices.{}.file_lock", config.name),
                || format!("must be one of {}", FILE_SYSTEMS.join(", ")),
            )?;
            let key = (disk, file.to_owned(), own.map_or(0, |t| u32::from(t) + 1));
            let lock = match self.files.get(&key) {
                Some(&lock) => lock,
                None => {
                    let name = format!(
                        "inode->i_rwsem ({}{}{file})",
                        config.name,
                        if file.is_empty() { "" } else { " " }
                    );
                    let object = self.object("inode->i_rwsem", name, ObjectKind::Line, Site::Queue(disk));
                    let ext4 = kind == "ext4";
                    let queue = VecDeque::new();
                    self.file_locks.push(FileLock { object, ext4, writer: false, readers: 0, queue });
                    let lock = self.file_locks.len() as u16 - 1;
                    self.files.insert(key, lock);
                    lock
                }
            };
            locks.push((disk, lock));
        }
        Ok(locks)
    }

    pub(super) fn allowed(&self, job: &JobSpec) -> Result<Vec<u16>, ScenarioError> {
        let cpus = self.machine.cpus();
        let field = format!("job '{}'", job.name);
        if let Some(node) = job.numa_node {
            check(node < self.machine.sockets, &field, || {
                format!(
                    "NUMA node {node}: the machine has {} node(s); take numa_cpu_nodes (or numactl -N) out of the job",
                    self.machine.sockets
                )
            })?;
        }
        if let Some(list) = &job.cpus_allowed {
            for &c in list {
                check(c < cpus, &field, || format!("CPU {c}: the machine has CPUs 0 to {}", cpus - 1))?;
            }
        }
        let allowed: Vec<u16> = (0..cpus)
            .filter(|c| job.cpus_allowed.as_ref().is_none_or(|list| list.contains(c)))
            .filter(|&c| job.numa_node.is_none_or(|n| self.topology.cpus[c as usize].socket == n))
            .collect();
        check(!allowed.is_empty(), &field, || String::from("no CPU is left for it to run on"))?;
        Ok(allowed)
    }

    /// Where a new task goes: the CPU with the fewest tasks, then the core with the fewest, then the lowest number.
    /// Tasks stay where they start; the scheduler's later balancing is not modelled.
    pub(super) fn least_loaded(&self, allowed: &[u16], load: &[u32]) -> u16 {
        let cpus = &self.topology.cpus;
        let core_load = |core: u16| -> u32 {
            cpus.iter().zip(load).filter(|(c, _)| c.core == core).map(|(_, &n)| n).sum()
        };
        allowed
            .iter()
            .copied()
            .min_by_key(|&c| (load[c as usize], core_load(cpus[c as usize].core), c))
            .unwrap_or(0)
    }

    pub(super) fn task(
        &mut self,
        name: &str,
        job: u16,
        process: u32,
        cpu: u16,
        iodepth: u32,
        start: Frame,
    ) -> Task {
        let t = self.topology.tasks.len() as u16;
        let ring_line = self.object(
            "aio ring",
            format!("completion ring ({name}.{process})"),
            ObjectKind::Line,
            Site::Task(t),
        );
        let pid = FIRST_PID + u32::from(t);
        self.topology.tasks.push(topology::Task { name: name.into(), pid, cpu, iodepth });
        Task {
            job,
            cpu,
            state: TaskState::Sleeping(Sleep::Done),
            stack: vec![start],
            plug: Default::default(),
            tag_wait: None,
            io_context: Default::default(),
            in_flight: 0,
            prepared: VecDeque::new(),
            ring: VecDeque::new(),
            ring_line,
            wants: 0,
            file: Default::default(),
            wbt: Default::default(),
            polls: false,
            cache: Default::default(),
            prio: Prio::default(),
            program: Program {
                wake_at_ns: u64::MAX,
                process,
                started_ns: 0,
                ios: 0,
                bytes: 0,
                position: Vec::new(),
                last: [(0, 0); 2],
                run: [0; 2],
                mapped: 0,
                laps: [0; 2],
                next_allowed_ns: [0; 2],
                since_think: 0,
                draining: false,
                step: 0,
                call: 0,
                unsynced: 0,
                unranged: 0,
                range: (0, 0),
                block: (0, 0, 0),
                work_left_ns: 0,
                called_ns: 0,
            },
        }
    }
}
