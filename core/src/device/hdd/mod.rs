//! A rotating disk: one arm, one spindle, a command queue, a write cache and a read buffer.
//!
//! A command first crosses the link. What the cache can answer ends there; the rest waits for the arm, which serves, of the
//! `ncq_window` oldest commands, the one that it can begin soonest (shortest positioning time first) unless the oldest waits
//! longer than `age_max_ns`. Service is the controller's decision (`command_ns`), seek, rotation and transfer. What arrives
//! before the decision takes part in it; a command that begins where the head is at that moment needs none.
//!
//! Cached writes are acknowledged while there is room and written when the arm has nothing else to do, or in turn with
//! commands once the cache is three quarters full: of the `destage_window` oldest runs the nearest, a track at most at a time. A
//! flush lets the commands before it end, empties the cache, and holds what comes behind it.
//!
//! Not modelled, on purpose: defects, servo, thermal recalibration, serpentine layout, zone tables (the law of the rate is
//! within 3 % of them), several arms, shingled tracks, adaptive segments, power states, vibration.

mod ahead;
mod arm;
mod cache;
mod geometry;
pub(super) mod presets;
mod segments;
#[cfg(test)]
mod tests;
mod view;

use super::params::spec;
use super::{Command, Model, Outbox};
use crate::event::{Op, Stage};
use cache::Dirty;
use geometry::Geometry;
use segments::Segments;
use std::collections::VecDeque;
use view::Motion;
pub use view::{HddView, HddWork, QueuedCommand, Spot};

/// The timer of the first command on the link.
const ARRIVAL: u32 = 0;
/// The timer of the arm.
const ARM: u32 = 1;
/// Tokens of a disk's timers are below this.
#[allow(dead_code)] // for an adapter with several disks
pub(crate) const TOKENS: u32 = 2;

/// Longest time a constant can name, ns.
const SECOND: u64 = 1_000_000_000;

spec! {
/// Constants of a rotating disk.
pub(crate) struct HddSpec {
    /// Turns per minute.
    pub rpm: u32 = 1_000, 30_000;
    /// Sustained rate at the outer and the inner edge, bytes per second, head and track switches included.
    pub outer_rate: u64 = 1_000_000, 1_000_000_000;
    pub inner_rate: u64 = 1_000_000, 1_000_000_000;
    /// Cylinders; a seek within one takes no time.
    pub cylinders: u32 = 1, 10_000_000;
    /// Seek over the fraction d of a full stroke: base + root * sqrt(d) + linear * d, ns.
    pub seek_base_ns: u64 = 0, SECOND;
    pub seek_root_ns: u64 = 0, SECOND;
    pub seek_linear_ns: u64 = 0, SECOND;
    /// Added to a seek before a write, ns.
    pub settle_ns: u64 = 0, SECOND;
    /// Time of the controller for a command that needs the platter, ns.
    pub command_ns: u64 = 0, SECOND;
    /// The same for what the cache answers, ns.
    pub hit_ns: u64 = 0, SECOND;
    /// Link to the host, bytes per second; one direction at a time.
    pub link: u64 = 1_000_000, 1_000_000_000_000;
    /// Time of a command on the link, ns.
    pub link_command_ns: u64 = 0, SECOND;
    /// Bytes that the write cache takes; 0: it takes one write at a time.
    pub dirty_limit: u64 = 0, 1_073_741_824;
    /// Oldest dirty runs among which the next to be written is chosen.
    pub destage_window: u32 = 1, 256;
    /// Oldest commands among which the next is chosen; 1: first come, first served.
    pub ncq_window: u32 = 1, 256;
    /// A command older than this goes first, ns.
    pub age_max_ns: u64 = 0, 3_600_000_000_000;
    /// Segments of the read buffer; 0: nothing is read ahead.
    pub segments: u32 = 0, 256;
    /// Bytes of a segment.
    pub segment: u32 = 4_096, 67_108_864;
}
}

/// A command that waits at the disk.
#[derive(Clone, Copy, Debug, Hash)]
struct Waiting {
    command: Command,
    since_ns: u64,
    /// It cannot start before: the data of a write are still to come.
    ready_ns: u64,
    /// First sector that has to come from or go to the platter, and its media time.
    sector: u64,
    media_ns: u64,
}

/// What the arm does.
#[derive(Clone, Copy, Debug, Hash)]
enum Work {
    Idle,
    /// Waits for the controller to decide which command is next.
    Decide,
    /// Serves a command.
    Command(Waiting),
    /// Writes cached data up to this sector.
    Destage {
        end: u64,
    },
    /// Reads on behind a command from `sector` at `start_ns` up to `limit`, into segment `segment`.
    Ahead {
        segment: usize,
        sector: u64,
        start_ns: u64,
        limit: u64,
    },
}

/// The disk. Anything that passes it commands and lets its timers fire can have one: see [`Hdd::submit`] and [`Hdd::event`].
#[derive(Clone, Debug, Hash)]
pub(crate) struct Hdd {
    spec: HddSpec,
    geometry: Geometry,
    /// Writes are acknowledged from the cache.
    write_back: bool,
    /// Its number in the log.
    unit: u16,
    link_free_ns: u64,
    /// Commands on the link.
    arriving: VecDeque<Command>,
    /// Commands for the platter, oldest first.
    queue: VecDeque<Waiting>,
    /// Writes that wait for room in the cache.
    writes: VecDeque<Waiting>,
    /// A flush that waits for all before it, and everything behind it.
    flush: Option<Waiting>,
    held: VecDeque<Waiting>,
    dirty: Dirty,
    segments: Segments,
    work: Work,
    /// When the arm's work ends; other timers of the arm are stale.
    due_ns: u64,
    /// The way to that work, for the picture.
    motion: Motion,
    /// Media time at which the head stands.
    head_ns: u64,
    /// The last work was a command's.
    served: bool,
}

impl Hdd {
    /// A disk of `size` bytes. `write_back`: it acknowledges writes from its cache. `unit`: its number in the log.
    pub(crate) fn new(spec: HddSpec, size: u64, write_back: bool, unit: u16) -> Self {
        let segments = Segments::new(spec.segments, u64::from(spec.segment / 512));
        Self {
            geometry: Geometry::new(&spec, size / 512),
            write_back,
            unit,
            link_free_ns: 0,
            arriving: VecDeque::new(),
            queue: VecDeque::new(),
            writes: VecDeque::new(),
            flush: None,
            held: VecDeque::new(),
            dirty: Dirty::default(),
            segments,
            work: Work::Idle,
            due_ns: 0,
            motion: Motion::default(),
            head_ns: 0,
            served: false,
            spec,
        }
    }

    /// Takes a command at `now` (ns). It ends as an entry of `out.done` with its slot; timers carry tokens below [`TOKENS`].
    pub(crate) fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let arrived = now.max(self.link_free_ns) + self.spec.link_command_ns;
        self.link_free_ns = arrived;
        self.stage(command.slot, Stage::Link, now, arrived, out);
        self.arriving.push_back(command);
        out.timers.push((arrived, ARRIVAL));
    }

    /// One of its timers fired.
    pub(crate) fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        if token == ARRIVAL {
            let Some(command) = self.arriving.pop_front() else { return };
            let sector = command.sector;
            let media_ns = self.geometry.media_ns(sector);
            let arrived = Waiting { command, since_ns: now, ready_ns: now, sector, media_ns };
            self.take(now, arrived, out);
        } else if now == self.due_ns {
            self.finished(now, out);
        }
        if self.free() {
            self.choose(now, out);
        }
    }

    fn stage(&self, slot: u32, stage: Stage, start_ns: u64, end_ns: u64, out: &mut Outbox) {
        out.stage(slot, stage, self.unit.into(), start_ns, end_ns);
    }

    /// A command is at hand: it is answered from the cache, or waits for the arm, for room, or for a flush before it.
    fn take(&mut self, now: u64, mut w: Waiting, out: &mut Outbox) {
        let command = w.command;
        let slot = command.slot;
        w.ready_ns = now;
        match command.op {
            _ if self.flush.is_some() => self.held.push_back(w),
            Op::Flush => self.flush = Some(w),
            // No rotating disk of these discards; it is answered at once.
            Op::Discard => {
                let end = now + self.spec.hit_ns;
                self.stage(slot, Stage::Cache, now, end, out);
                out.done.push((end, slot));
            }
            Op::Read => self.take_read(now, w, out),
            Op::Write => {
                self.cut(now, command.sector, end_of(&command), out);
                if self.write_back && !command.fua {
                    self.writes.push_back(w);
                    self.accept(now, out);
                } else {
                    // Its data come while the head is on its way, and the last before it needs them.
                    let here = self.send(now, command.bytes);
                    let end_ns = self.geometry.media_ns(end_of(&command));
                    w.ready_ns = now.max(here.saturating_sub(end_ns - w.media_ns));
                    self.stage(slot, Stage::Link, now, here, out);
                    self.queue.push_back(w);
                }
            }
        }
    }

    fn take_read(&mut self, now: u64, mut w: Waiting, out: &mut Outbox) {
        let (start, end) = (w.command.sector, end_of(&w.command));
        self.note_passed(now);
        if self.dirty.covers(start, end) {
            return self.hit(now, now, &w, out);
        }
        if let Some(at) = self.segments.at(start) {
            let segment = self.segments.get(at);
            if segment.end >= end {
                self.hit(now, now, &w, out);
                return self.read_on(now, at, end, out);
            }
            w.sector = segment.end;
            w.media_ns = self.geometry.media_ns(segment.end);
        }
        // The head is about to pass it anyway.
        if let Work::Ahead { segment, sector, start_ns, limit } = self.work
            && (self.segments.get(segment).start..limit).contains(&start)
            && end > sector
        {
            let passes =
                start_ns + self.geometry.media_ns(end).saturating_sub(self.geometry.media_ns(sector));
            self.note_ahead(now, out);
            self.segments.grow(segment, start);
            self.stage(w.command.slot, Stage::Transfer, now.max(start_ns), passes, out);
            return self.begin(Work::Command(w), passes.max(now + self.spec.hit_ns), out);
        }
        self.queue.push_back(w);
    }

    /// Data of a command cross the link, at the earliest at `ready`; returns the end.
    fn send(&mut self, ready: u64, bytes: u32) -> u64 {
        self.link_free_ns = self.link_free_ns.max(ready) + self.data_ns(bytes);
        self.link_free_ns
    }

    fn data_ns(&self, bytes: u32) -> u64 {
        u64::from(bytes) * 1_000_000_000 / self.spec.link
    }

    /// A read that the buffer answers.
    fn hit(&mut self, now: u64, ready: u64, w: &Waiting, out: &mut Outbox) {
        let slot = w.command.slot;
        let found = now.max(ready) + self.spec.hit_ns;
        let end = self.send(found, w.command.bytes);
        self.stage(slot, Stage::Cache, now, found, out);
        self.stage(slot, Stage::Link, found, end, out);
        out.done.push((end, slot));
    }

    /// Lets waiting writes into the cache while there is room; an empty cache takes any.
    fn accept(&mut self, now: u64, out: &mut Outbox) {
        while let Some(&w) = self.writes.front() {
            let bytes = self.dirty.sectors() * 512 + u64::from(w.command.bytes);
            if bytes > self.spec.dirty_limit && self.dirty.sectors() > 0 {
                return;
            }
            self.writes.pop_front();
            self.dirty.insert(w.command.sector, end_of(&w.command));
            let slot = w.command.slot;
            let here = self.send(now, w.command.bytes);
            let end = here + self.spec.hit_ns;
            self.stage(slot, Stage::Queued, w.since_ns, now, out);
            self.stage(slot, Stage::Link, now, here, out);
            self.stage(slot, Stage::Cache, here, end, out);
            out.done.push((end, slot));
        }
    }
}

/// The sector behind a command's last.
fn end_of(command: &Command) -> u64 {
    command.sector + u64::from(command.bytes / 512)
}

impl Model for Hdd {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        self.submit(now, command, out);
    }

    fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        self.event(now, token, out);
    }
}
