//! Interrupt vectors of NVMe queues and of an adapter's reply queues: which CPU takes them, and completions that are held
//! back so that several share an interrupt (NVMe feature 08h; reply-queue coalescing of RAID firmware).

use crate::block::Driver;
use crate::engine::agenda::Timed;
use crate::event::{HctxId, Kind};
use crate::sim::Sim;
use std::collections::VecDeque;

/// How long completions are held back.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Coalesce {
    /// So many raise the interrupt.
    threshold: u32,
    /// Or the first of them after so long, ns.
    time_ns: u64,
}

impl Coalesce {
    pub(crate) const OFF: Self = Self { threshold: 1, time_ns: 0 };

    /// Interrupt after `threshold` completions or `time_us`; a time of 0 means no delay, as in the NVMe specification.
    pub(crate) fn new(threshold: u32, time_us: u32) -> Self {
        if time_us == 0 { Self::OFF } else { Self { threshold, time_ns: u64::from(time_us) * 1_000 } }
    }
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Vector {
    /// The CPU that takes its interrupts.
    pub cpu: u16,
    held: Coalesce,
    /// Requests whose completions are held back.
    waiting: VecDeque<u32>,
    /// Interrupts so far; the timer of an earlier one is stale.
    interrupts: u32,
}

impl Vector {
    pub(crate) fn new(cpu: u16, held: Coalesce) -> Self {
        Self { cpu, held, waiting: VecDeque::new(), interrupts: 0 }
    }
}

/// Where a vector belongs: to an hctx, or to a reply queue of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum VectorId {
    Hctx(HctxId),
    /// Host and reply queue.
    Reply(u16, u16),
}

impl Sim {
    fn vector(&mut self, id: VectorId) -> &mut Vector {
        match id {
            VectorId::Hctx(hctx) => &mut self.hctxs[hctx as usize].vector,
            VectorId::Reply(host, queue) => &mut self.hosts[host as usize].vectors[queue as usize],
        }
    }

    /// The device finished a request: its interrupt rises on the CPU of its vector, now or with later ones.
    pub(crate) fn device_done(&mut self, rq: u32) {
        let r = &self.rqs[rq];
        let (hctx, issue_cpu) = (r.hctx, r.issue_cpu);
        if self.hctxs[hctx as usize].poll {
            return self.hctxs[hctx as usize].completions.push_back(rq);
        }
        let id = match self.queues[r.queue as usize].driver {
            // The timer of the CPU that issued the command.
            Driver::Null => {
                self.completion_arrives(issue_cpu, rq);
                return self.raise_irq(issue_cpu as usize);
            }
            // The command named the reply queue of the CPU that issued it.
            Driver::Scsi(host) => {
                VectorId::Reply(host, self.hosts[host as usize].reply_map[issue_cpu as usize])
            }
            Driver::Nvme => VectorId::Hctx(hctx),
            Driver::Stacked => unreachable!("a stacked disk has no requests"),
        };
        let vector = self.vector(id);
        let (cpu, held) = (vector.cpu, vector.held);
        if held.threshold <= 1 {
            self.completion_arrives(cpu, rq);
            return self.raise_irq(cpu as usize);
        }
        vector.waiting.push_back(rq);
        let count = vector.waiting.len() as u32;
        if count >= held.threshold {
            self.interrupt(id);
        } else if count == 1 {
            let interrupts = vector.interrupts;
            self.agenda.at(self.now + held.time_ns, Timed::Vector(id, interrupts));
        }
    }

    fn completion_arrives(&mut self, cpu: u16, rq: u32) {
        let (id, hctx) = (self.rqs[rq].id, self.rqs[rq].hctx);
        self.cpus[cpu as usize].irq_queue.push_back(rq);
        self.emit_device_on(cpu, Kind::Irq { hctx, rq: id });
    }

    /// The oldest completion of a vector was held back long enough, if there was no interrupt since.
    pub(crate) fn vector_timer(&mut self, id: VectorId, interrupts: u32) {
        if self.vector(id).interrupts == interrupts {
            self.interrupt(id);
        }
    }

    fn interrupt(&mut self, id: VectorId) {
        let vector = self.vector(id);
        vector.interrupts = vector.interrupts.wrapping_add(1);
        let cpu = vector.cpu;
        while let Some(rq) = self.vector(id).waiting.pop_front() {
            self.completion_arrives(cpu, rq);
        }
        self.raise_irq(cpu as usize);
    }
}
