//! A flash unit: controller front end, dies, write buffer. Used by the NVMe device and by members of a RAID volume.
//!
//! Read: front end (one server, the IOPS cap) -> die of the page (first in, first out) -> fixed path. Write: front
//! end -> slot of the write buffer -> acknowledged; programs follow on the dies. A read that finds its die programming
//! waits until the program is suspended (at most `suspend_ns`). Queueing at front end and dies is the latency model;
//! no noise is added.

use super::params::spec;
use super::{Command, Outbox};
use crate::engine::rng::{self, Purpose};
use crate::event::{Op, Stage};

/// 4 KiB pages gathered in one program operation.
const PROGRAM_PAGES: u32 = 16;
/// 4 KiB pages that the write buffer holds.
const BUFFER_PAGES: u64 = 1024;
/// Longest time a constant can name, ns.
const MS_100: u64 = 100_000_000;
pub(crate) const PAGE: u32 = 4096;

spec! {
/// Constants of a flash unit, from the preset table.
pub(crate) struct FlashSpec {
    pub dies: u32 = 1, 1024;
    /// tR, ns.
    pub read_ns: u64 = 0, MS_100;
    /// All fixed times of a 4 KiB read together (fetch, firmware, link), ns.
    pub fixed_ns: u64 = 0, MS_100;
    /// 4 KiB reads per second at most.
    pub read_cap: u64 = 1, 100_000_000;
    /// Write acknowledged after, ns.
    pub write_ack_ns: u64 = 0, MS_100;
    /// 4 KiB writes per second, sustained.
    pub write_cap: u64 = 1, 100_000_000;
    /// Link, bytes per second, to the host and from it.
    pub link_out: u64 = 1, 1_000_000_000_000;
    pub link_in: u64 = 1, 1_000_000_000_000;
    /// Longest wait for a program to be suspended, ns.
    pub suspend_ns: u64 = 0, MS_100;
}
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Flash {
    spec: FlashSpec,
    /// Front end's time for a 4 KiB page, read and written, ns.
    front_ns: [u64; 2],
    /// Time to drain a page from the write buffer, ns.
    drain_ns: u64,
    front_free_ns: u64,
    die_free_ns: Vec<u64>,
    program_until_ns: Vec<u64>,
    /// When the buffer would be empty, ns.
    drained_ns: u64,
    unprogrammed: u32,
    next_program: u32,
}

impl Flash {
    pub(crate) fn new(spec: FlashSpec) -> Self {
        let dies = spec.dies as usize;
        let page_ns = |cap: u64| 1_000_000_000 / cap;
        Self {
            front_ns: [page_ns(spec.read_cap), page_ns(spec.write_cap.max(spec.read_cap))],
            drain_ns: page_ns(spec.write_cap),
            spec,
            front_free_ns: 0,
            die_free_ns: vec![0; dies],
            program_until_ns: vec![0; dies],
            drained_ns: 0,
            unprogrammed: 0,
            next_program: 0,
        }
    }

    pub(crate) fn spec(&self) -> &FlashSpec {
        &self.spec
    }

    /// Time on the link for `bytes`, ns.
    pub(crate) fn link_ns(rate: u64, bytes: u32) -> u64 {
        u64::from(bytes) * 1_000_000_000 / rate.max(1)
    }

    /// Accepts a command that arrives at `now`; returns when its data (read) or acknowledgement (write) leaves the
    /// unit, before the link. `unit` is the first number of its dies in the log.
    pub(crate) fn pass(
        &mut self,
        now: u64,
        command: &Command,
        unit: usize,
        front: Stage,
        out: &mut Outbox,
    ) -> u64 {
        if !command.has_data() {
            return self.without_data(now, command, unit, front, out);
        }
        let pages = u64::from(command.bytes.div_ceil(PAGE).max(1));
        let per_page = self.front_ns[usize::from(command.write())];
        let start = now.max(self.front_free_ns);
        let ready = start + per_page * pages;
        self.front_free_ns = ready;
        out.stage(command.slot, front, unit, now, ready);
        if command.write() {
            self.write(now, ready, pages, command, unit, out)
        } else {
            self.read(ready, per_page, command, unit, out)
        }
    }

    /// A flush waits until all writes accepted before it have left the write buffer; a discard only changes the map.
    /// Both then take as long as the acknowledgement of a write, an estimate.
    fn without_data(
        &mut self,
        now: u64,
        command: &Command,
        unit: usize,
        front: Stage,
        out: &mut Outbox,
    ) -> u64 {
        let ready = now.max(self.front_free_ns) + self.front_ns[1];
        self.front_free_ns = ready;
        out.stage(command.slot, front, unit, now, ready);
        let from = if command.op == Op::Flush { ready.max(self.drained_ns) } else { ready };
        let end = from + self.spec.write_ack_ns;
        out.stage(command.slot, Stage::WriteBuffer, unit, ready, end);
        end
    }

    fn read(&mut self, ready: u64, per_page: u64, command: &Command, unit: usize, out: &mut Outbox) -> u64 {
        let first_page = command.sector / 8;
        let pages = u64::from(command.bytes.div_ceil(PAGE).max(1));
        let mut end = ready;
        for page in first_page..first_page + pages {
            let die = rng::below(command.seed, Purpose::Die, page, u64::from(self.spec.dies)) as usize;
            let mut start = ready.max(self.die_free_ns[die]);
            if self.program_until_ns[die] > start {
                let wait = (self.program_until_ns[die] - start).min(self.spec.suspend_ns);
                start += wait;
                self.program_until_ns[die] += wait + self.spec.read_ns;
            }
            let done = start + self.spec.read_ns;
            self.die_free_ns[die] = done;
            out.stage(command.slot, Stage::DieWait, unit + die, ready, start);
            out.stage(command.slot, Stage::Die, unit + die, start, done);
            end = end.max(done);
        }
        // The front end's time for one page is part of the fixed time.
        end + self.spec.fixed_ns.saturating_sub(per_page)
    }

    fn write(
        &mut self,
        now: u64,
        ready: u64,
        pages: u64,
        command: &Command,
        unit: usize,
        out: &mut Outbox,
    ) -> u64 {
        let per_page = self.drain_ns;
        self.drained_ns = self.drained_ns.max(now) + per_page * pages;
        let full_until = self.drained_ns.saturating_sub(per_page * BUFFER_PAGES);
        // Past the buffer it is done when its own pages are.
        let taken = if command.fua { self.drained_ns.max(ready) } else { ready.max(full_until) };
        // The front end's time for one page is part of the time to the acknowledgement.
        let end = taken + self.spec.write_ack_ns.saturating_sub(self.front_ns[1]);
        out.stage(command.slot, Stage::WriteBuffer, unit, ready, end);
        self.unprogrammed += pages as u32;
        while self.unprogrammed >= PROGRAM_PAGES {
            self.unprogrammed -= PROGRAM_PAGES;
            // Dies are programmed in turn; the sustained rate gives the time of one program.
            let die = (self.next_program % self.spec.dies) as usize;
            self.next_program = self.next_program.wrapping_add(1);
            let busy =
                u64::from(PROGRAM_PAGES) * u64::from(self.spec.dies) * 1_000_000_000 / self.spec.write_cap;
            self.program_until_ns[die] = self.program_until_ns[die].max(now) + busy;
        }
        end
    }
}
