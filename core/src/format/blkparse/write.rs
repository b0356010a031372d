//! The event log as blkparse's text.

use super::Record;
use crate::event::{Context, Event, Kind, NO_TASK, TaskId};
use crate::topology::Topology;
use std::fmt::Write as _;

/// Process id of kblockd's worker on CPU 0; the other CPUs' follow.
const KWORKER_PID: u32 = 150;
/// Longest process name, characters (the kernel's TASK_COMM_LEN less the end).
const COMM_MAX: usize = 15;

/// Turns events into lines one by one; keeps each CPU's count of lines and the task that runs on it.
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    topology: &'a Topology,
    /// Lines so far, by CPU.
    seq: Vec<u64>,
    /// What an interrupt on the CPU interrupts.
    running: Vec<TaskId>,
}

/// All events that blktrace has a letter for, in the order given.
pub fn write(events: &[Event], topology: &Topology) -> String {
    let mut writer = Writer::new(topology);
    let mut out = String::new();
    for event in events {
        writer.event(event, &mut out);
    }
    out
}

impl<'a> Writer<'a> {
    /// A writer at the start of a log.
    pub fn new(topology: &'a Topology) -> Self {
        let cpus = topology.cpus.len();
        Self { topology, seq: vec![0; cpus], running: vec![NO_TASK; cpus] }
    }

    /// Appends the event's line to `out`; false if blktrace has no letter for it.
    pub fn event(&mut self, event: &Event, out: &mut String) -> bool {
        match self.record(event) {
            Some(record) => writeln!(out, "{record}").is_ok(),
            None => false,
        }
    }

    /// The event's line as a value.
    pub fn record(&mut self, event: &Event) -> Option<Record> {
        let cpu = usize::from(event.cpu);
        if cpu >= self.seq.len() {
            self.seq.resize(cpu + 1, 0);
            self.running.resize(cpu + 1, NO_TASK);
        }
        match (event.context, &event.kind) {
            (Context::Task, Kind::ContextEnd) => self.running[cpu] = NO_TASK,
            (Context::Task, _) => self.running[cpu] = event.task,
            _ => {}
        }
        let action = event.kind.letter()?;
        let (queue, extent) = event.kind.subject()?;
        self.seq[cpu] += 1;
        let (pid, process) = self.process(event);
        let mut record = Record {
            dev: self.topology.queues.get(usize::from(queue)).map_or((0, 0), |queue| queue.dev),
            cpu: u32::from(event.cpu),
            seq: self.seq[cpu],
            time_ns: event.at_ns,
            pid,
            action: action.into(),
            rwbs: extent.map_or_else(|| "N".into(), |extent| extent.rwbs()),
            sector: extent.map_or(0, |extent| extent.sector),
            sectors: extent.map_or(0, |extent| extent.sectors),
            process,
            ..Record::default()
        };
        match event.kind {
            Kind::Remap { from_queue, from_sector, .. } => {
                let dev = self.topology.queues.get(usize::from(from_queue)).map_or((0, 0), |queue| queue.dev);
                record.from = Some((dev, from_sector));
                record.process.clear();
            }
            Kind::Split { at_sector, .. } => {
                record.at_sector = Some(at_sector);
                record.sectors = 0;
            }
            Kind::Unplug { count, .. } => record.depth = Some(count),
            Kind::Complete { .. } | Kind::Requeue { .. } => {
                record.error = Some(0);
                record.process.clear();
            }
            _ => {}
        }
        Some(record)
    }

    /// `current` as blktrace sees it: an interrupt shows the task that it interrupts.
    fn process(&self, event: &Event) -> (u32, String) {
        let task = match event.context {
            Context::Kworker => {
                return (KWORKER_PID + u32::from(event.cpu), format!("kworker/{}:1H", event.cpu));
            }
            Context::Task => event.task,
            Context::HardIrq | Context::SoftIrq => self.running[usize::from(event.cpu)],
            Context::Idle => NO_TASK,
        };
        match self.topology.tasks.get(usize::from(task)) {
            Some(task) => (task.pid, task.name.chars().take(COMM_MAX).collect()),
            None => (0, format!("swapper/{}", event.cpu)),
        }
    }
}
