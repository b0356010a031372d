//! The clients of dbench and the thread of their file system's log.

use super::tasks::Tasks;
use super::*;
use crate::workload::{
    CLIENTS_MAX, CPU_MAX_NS, DATA_MAX, Dbench, LOG_BUFFER_MAX, LOG_BUFFERS_MAX, LogWriter, SEGMENTS_MAX,
};

impl Builder<'_> {
    pub(super) fn dbench_tasks(&mut self, spec: &Dbench) -> Result<Tasks, ScenarioError> {
        self.check_dbench(spec)?;
        let any = JobSpec { cpus_allowed: spec.cpus_allowed.clone(), ..JobSpec::default() };
        let allowed = self.allowed(&any)?;
        let mut load = vec![0u32; self.machine.cpus() as usize];
        let (mut tasks, mut starts) = (Vec::new(), Vec::new());
        for client in 0..spec.clients {
            let cpu = self.least_loaded(&allowed, &load);
            load[cpu as usize] += 1;
            tasks.push(self.task(&spec.name, 0, client, cpu, 1, Frame::Dbench { pc: 0 }));
            let key = u64::from(client);
            starts.push((
                client as u16,
                rng::below(self.scenario.seed, Purpose::StartJitter, key, START_SPREAD_NS),
            ));
        }
        let mut states = vec![JobState { phase: 0, running: spec.clients }];
        let every: Vec<u16> = (0..self.machine.cpus()).collect();
        let writers = match spec.log_writer {
            LogWriter::Client => Vec::new(),
            LogWriter::Worker => vec![self.least_loaded(&every, &load)],
            LogWriter::Kworker => every.clone(),
        };
        for (nth, &cpu) in writers.iter().enumerate() {
            tasks.push(self.task("log worker", 1, nth as u32, cpu, spec.log_buffers, Frame::LogWorker));
        }
        if !writers.is_empty() {
            // They serve the clients and end with them.
            states.push(JobState { phase: 0, running: 0 });
        }
        Ok((tasks, states, starts))
    }

    /// The task that writes the log for callers of each CPU; none if they do it themselves.
    pub(super) fn log_writers(&self, spec: &Dbench) -> Vec<u16> {
        let first = spec.clients as u16;
        match spec.log_writer {
            LogWriter::Client => Vec::new(),
            LogWriter::Worker => vec![first; self.machine.cpus() as usize],
            LogWriter::Kworker => (first..first + self.machine.cpus()).collect(),
        }
    }

    fn check_dbench(&self, spec: &Dbench) -> Result<(), ScenarioError> {
        let field = |f: &str| format!("workload.dbench.{f}");
        check((1..=CLIENTS_MAX).contains(&spec.clients), &field("clients"), || {
            format!("must be from 1 to {CLIENTS_MAX}")
        })?;
        let Some(queue) = self.queues.get(spec.disk as usize) else {
            return Err(wrong(field("disk"), format!("there is no disk {} in this scenario", spec.disk)));
        };
        let disk_bytes = queue.sectors * 512;
        check((1..=SEGMENTS_MAX).contains(&spec.segments), &field("segments"), || {
            format!("must be from 1 to {SEGMENTS_MAX}")
        })?;
        check(spec.cpu_ns <= CPU_MAX_NS, &field("cpu_ns"), || format!("must be at most {CPU_MAX_NS}"))?;
        check(spec.cpu_spread_percent <= 100, &field("cpu_spread_percent"), || {
            "must be from 0 to 100".into()
        })?;
        let fits = spec.data_bytes <= DATA_MAX && u64::from(spec.data_bytes) <= disk_bytes;
        check(fits && spec.data_bytes.is_multiple_of(512), &field("data_bytes"), || {
            format!("must be a multiple of 512, at most {DATA_MAX} and the size of the disk")
        })?;
        check(spec.log_bytes <= DATA_MAX, &field("log_bytes"), || format!("must be at most {DATA_MAX}"))?;
        let page = 4096..=LOG_BUFFER_MAX;
        let whole = spec.log_buffer_bytes.is_multiple_of(4096);
        check(whole && page.contains(&spec.log_buffer_bytes), &field("log_buffer_bytes"), || {
            format!("must be a multiple of 4096 from 4096 to {LOG_BUFFER_MAX}")
        })?;
        check((1..=LOG_BUFFERS_MAX).contains(&spec.log_buffers), &field("log_buffers"), || {
            format!("must be from 1 to {LOG_BUFFERS_MAX}")
        })
    }
}
