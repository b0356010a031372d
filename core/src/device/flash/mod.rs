//! A flash unit: an NVMe disk, or a member of a RAID volume.
//!
//! Read: a slot of the controller -> front end (one server, the IOPS cap; submission queues in turn) -> die of each page
//! (first in, first out) -> its channel -> rest of the fixed time -> link. Write: slot -> front end -> link -> place in the
//! write buffer -> acknowledged; full programs follow on the least busy dies. Writes that wait for a place keep their slots:
//! when they have all of them nothing more is fetched, reads neither. Queueing at these stations is the latency model; the tail comes from
//! collisions on dies, reads behind programs and, if asked for, rare pauses. No noise is added.
//!
//! Left out: reads served from the write buffer, the map and its cache, wear levelling, the emptying of an SLC cache.

mod buffer;
mod dies;
mod front;
pub(super) mod presets;
mod spec;

pub(crate) use spec::{FlashSpec, PAGE, bytes_ns};

use super::{Command, FlashView, Model, Outbox, UNASKED};
use crate::engine::rng::{self, Purpose};
use crate::event::{Op, Stage};
use buffer::Buffer;
use dies::Dies;
use front::Front;

/// Pages of the same kind of timing follow each other in a program; which is drawn from this many.
const MB_PAGES: u64 = (1 << 20) / PAGE as u64;

/// A command inside.
#[derive(Clone, Copy, Debug, Hash)]
struct Inside {
    command: Command,
    /// When it came to the station at which it waits, ns.
    arrived_ns: u64,
    /// Pages that have not left yet, and the bytes in them.
    pages_left: u32,
    bytes_left: u32,
}

/// Events of a unit, as tokens: the kind in the uppermost bits, a channel or die below, a slot in the lowest.
#[derive(Clone, Copy, Debug)]
enum Token {
    /// The front end is free.
    Front,
    /// A page of this command comes off its die and wants channel `.0`.
    Channel(u32, u32),
    /// A page of this command wants the link to the host.
    Link(u32),
    /// A write's data are here.
    Buffer(u32),
    /// A program should be over.
    Program(u32),
}

const SLOT_BITS: u32 = 22;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

impl Token {
    fn pack(self) -> u32 {
        let (kind, slot) = match self {
            Token::Front => (0, 0),
            Token::Link(slot) => (1, slot),
            Token::Buffer(slot) => (2, slot),
            Token::Program(die) => (3, die),
            Token::Channel(channel, slot) => (64 | channel, slot),
        };
        debug_assert!(slot <= SLOT_MASK, "too many commands");
        kind << SLOT_BITS | slot
    }

    fn unpack(token: u32) -> Self {
        let slot = token & SLOT_MASK;
        match token >> SLOT_BITS {
            0 => Token::Front,
            1 => Token::Link(slot),
            2 => Token::Buffer(slot),
            3 => Token::Program(slot),
            kind => Token::Channel(kind & 63, slot),
        }
    }
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Flash {
    spec: FlashSpec,
    /// It has several submission queues; a member of a RAID volume has one, whose commands are booked as they come.
    arbitrates: bool,
    /// Commands that the controller has fetched and that have not left, where it arbitrates.
    fetched: u32,
    front: Front,
    dies: Dies,
    channel_free_ns: Vec<u64>,
    out_free_ns: u64,
    in_free_ns: u64,
    buffer: Buffer,
    /// By slot of the command.
    inside: Vec<Option<Inside>>,
    slc_pages_left: u64,
    /// Parts of the fixed times that no station accounts for, of reads and of writes, ns.
    rest_ns: [u64; 2],
    /// Seed of the run, once a command has brought it.
    seed: u64,
}

impl Flash {
    pub(crate) fn nvme(spec: FlashSpec) -> Self {
        Self { arbitrates: true, ..Self::member(spec) }
    }

    pub(crate) fn member(spec: FlashSpec) -> Self {
        let stations = [
            spec.front_ns(false, PAGE) + spec.channel_ns(PAGE) + bytes_ns(PAGE, spec.link_out),
            spec.front_ns(true, PAGE) + bytes_ns(PAGE, spec.link_in),
        ];
        Self {
            arbitrates: false,
            fetched: 0,
            front: Front::default(),
            dies: Dies::new(spec.dies),
            channel_free_ns: vec![0; spec.channels as usize],
            out_free_ns: 0,
            in_free_ns: 0,
            buffer: Buffer::new(spec.buffer_pages),
            inside: Vec::new(),
            slc_pages_left: u64::from(spec.slc_mb) * MB_PAGES,
            rest_ns: [
                spec.fixed_ns.saturating_sub(stations[0]),
                spec.write_ack_ns.saturating_sub(stations[1]),
            ],
            seed: 0,
            spec,
        }
    }

    /// Its inside at `now`.
    pub(crate) fn view(&self, now: u64) -> FlashView {
        let (buffer_pages, buffer_capacity) = self.buffer.fill();
        FlashView {
            front_waiting: self.front.waiting_count(),
            dies: self.dies.view(now),
            channels: self.channel_free_ns.iter().map(|&free| free > now).collect(),
            buffer_pages,
            buffer_capacity,
            buffer_waiting: self.buffer.waiting_count(),
            link: [self.in_free_ns > now, self.out_free_ns > now],
        }
    }

    fn inside(&mut self, slot: u32) -> &mut Inside {
        self.inside[slot as usize].as_mut().expect("the command is inside")
    }

    /// It will have left at `at`; its slot is free as soon as that is certain.
    fn leave(&mut self, at: u64, slot: u32, out: &mut Outbox) {
        self.inside[slot as usize] = None;
        out.done.push((at, slot));
        if self.arbitrates {
            if self.fetched == self.spec.command_slots && self.front.waiting() {
                out.timers.push((at.max(self.front.free_ns), Token::Front.pack()));
            }
            self.fetched -= 1;
        }
    }

    /// The front end takes a command at `at`, when it is free.
    fn begin(&mut self, at: u64, slot: u32, out: &mut Outbox) {
        let Inside { command, arrived_ns, bytes_left, .. } = *self.inside(slot);
        self.fetched += u32::from(self.arbitrates);
        let start = self.awake(at);
        let ready = start + self.spec.front_ns(command.op != Op::Read, bytes_left);
        self.front.free_ns = ready;
        out.stage(slot, Stage::Controller, 0, arrived_ns, ready);
        match command.op {
            Op::Read => self.read(ready, slot, out),
            Op::Write => {
                let here = ready.max(self.in_free_ns) + bytes_ns(command.bytes, self.spec.link_in);
                self.in_free_ns = here;
                out.stage(slot, Stage::Link, 0, ready, here);
                out.timers.push((here, Token::Buffer(slot).pack()));
            }
            Op::Flush => out.timers.push((ready, Token::Buffer(slot).pack())),
            // Only the map changes, which takes as long as the acknowledgement of a write [E].
            Op::Discard => self.leave(ready + self.rest_ns[1], slot, out),
        }
    }

    /// The end of the pause that `at` falls into, or `at`.
    fn awake(&self, at: u64) -> u64 {
        if self.spec.pause_ns == 0 {
            return at;
        }
        let every = self.spec.pause_every_ns.max(self.spec.pause_ns + 1);
        let window = at / every;
        let begin =
            window * every + rng::below(self.seed, Purpose::Pause, window, every - self.spec.pause_ns);
        if (begin..begin + self.spec.pause_ns).contains(&at) { begin + self.spec.pause_ns } else { at }
    }

    fn read(&mut self, ready: u64, slot: u32, out: &mut Outbox) {
        let Inside { command, pages_left, .. } = *self.inside(slot);
        let first = command.sector / 8;
        let mut last = ready;
        for page in first..first + u64::from(pages_left) {
            let die = rng::below(command.seed, Purpose::Die, page, u64::from(self.spec.dies)) as usize;
            let kind = match self.spec.page_types {
                1 => 0,
                kinds => rng::below(command.seed, Purpose::PageType, page, u64::from(kinds)),
            };
            let tr = self.spec.read_ns_of(kind);
            let (start, end) = self.dies.read(die, ready, tr, &self.spec, command.seed);
            out.stage(slot, Stage::DieWait, die, ready, start);
            out.stage(slot, Stage::Die, die, start, end);
            last = last.max(end);
            if self.spec.channels > 0 {
                let channel = die as u32 % self.spec.channels;
                out.timers.push((end, Token::Channel(channel, slot).pack()));
            } else if self.spec.link_out > 0 {
                out.timers.push((end + self.rest_ns[0], Token::Link(slot).pack()));
            }
        }
        if self.spec.channels == 0 && self.spec.link_out == 0 {
            self.leave(last + self.rest_ns[0], slot, out);
        }
    }

    /// Bytes of the next page of a command; all but the last are whole.
    fn page_bytes(&mut self, slot: u32) -> u32 {
        self.inside(slot).bytes_left.min(PAGE)
    }

    fn channel(&mut self, now: u64, channel: u32, slot: u32, out: &mut Outbox) {
        let bytes = self.page_bytes(slot);
        let free = &mut self.channel_free_ns[channel as usize];
        let end = now.max(*free) + self.spec.channel_ns(bytes);
        *free = end;
        out.stage(slot, Stage::Channel, channel as usize, now, end);
        out.timers.push((end + self.rest_ns[0], Token::Link(slot).pack()));
    }

    fn link(&mut self, now: u64, slot: u32, out: &mut Outbox) {
        let bytes = self.page_bytes(slot);
        let end = now.max(self.out_free_ns) + bytes_ns(bytes, self.spec.link_out);
        self.out_free_ns = end;
        out.stage(slot, Stage::Link, 1, now, end);
        let inside = self.inside(slot);
        inside.pages_left -= 1;
        inside.bytes_left -= bytes;
        if inside.pages_left == 0 {
            self.leave(end, slot, out);
        }
    }

    /// A write's data, or a flush, have come to the write buffer.
    fn buffer(&mut self, now: u64, slot: u32, out: &mut Outbox) {
        let Inside { command, pages_left, .. } = *self.inside(slot);
        if command.op == Op::Flush {
            self.buffer.barrier(slot);
        } else {
            self.inside(slot).arrived_ns = now;
            self.buffer.arrive(slot, pages_left);
        }
        self.work(now, out);
    }

    /// Whatever can go on at the write buffer does.
    fn work(&mut self, now: u64, out: &mut Outbox) {
        loop {
            let admitted = self.buffer.admit();
            if let Some(slot) = admitted {
                let Inside { command, arrived_ns, .. } = *self.inside(slot);
                let end = now + self.rest_ns[1];
                out.stage(slot, Stage::WriteBuffer, 0, arrived_ns, end);
                if command.fua {
                    self.buffer.barrier(slot);
                } else {
                    self.leave(end, slot, out);
                }
            }
            let begun = self.program(now, out);
            if admitted.is_none() && !begun {
                break;
            }
        }
        while self.buffer.barriers()
            && let Some(slot) = self.buffer.passed(self.dies.first_page_in_program())
        {
            self.leave(now + self.rest_ns[1], slot, out);
        }
    }

    /// Begins a program if one is due and a die is free of programs.
    fn program(&mut self, now: u64, out: &mut Outbox) -> bool {
        let Some((first, pages)) = self.buffer.due(self.spec.program_pages) else { return false };
        let slc = self.slc_pages_left > 0;
        let busy_ns = self.spec.program_busy_ns(slc);
        let Some((die, until)) = self.dies.program(now, first, pages, busy_ns, slc) else { return false };
        self.buffer.start(pages);
        self.slc_pages_left = self.slc_pages_left.saturating_sub(u64::from(pages));
        out.timers.push((until, Token::Program(die as u32).pack()));
        true
    }

    fn program_end(&mut self, now: u64, die: u32, out: &mut Outbox) {
        match self.dies.program_end(now, die as usize) {
            Err(later) => out.timers.push((later, Token::Program(die).pack())),
            Ok(program) => {
                out.stage(UNASKED, Stage::Program, die as usize, program.start_ns, now);
                self.buffer.programmed(program.pages);
                self.work(now, out);
            }
        }
    }
}

impl Model for Flash {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let slot = command.slot;
        self.seed = command.seed;
        if self.inside.len() <= slot as usize {
            self.inside.resize(slot as usize + 1, None);
        }
        let bytes = if command.has_data() { command.bytes } else { 0 };
        let first = command.sector * 512 / u64::from(PAGE);
        let end = (command.sector * 512 + u64::from(bytes)).div_ceil(u64::from(PAGE));
        let pages_left = end.saturating_sub(first).max(1) as u32;
        self.inside[slot as usize] = Some(Inside { command, arrived_ns: now, pages_left, bytes_left: bytes });
        let full = self.fetched >= self.spec.command_slots;
        if self.arbitrates && (self.front.waiting() || full || self.front.free_ns > now) {
            // Who leaves next looks again if there is no slot.
            if !self.front.waiting() && !full {
                out.timers.push((self.front.free_ns, Token::Front.pack()));
            }
            return self.front.wait(command.sq.into(), slot);
        }
        self.begin(now.max(self.front.free_ns), slot, out);
    }

    fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        match Token::unpack(token) {
            Token::Front => {
                if self.fetched < self.spec.command_slots
                    && self.front.free_ns <= now
                    && let Some(slot) = self.front.next()
                {
                    // The doorbell of a command may ring a moment after the driver's step that hands it over.
                    let at = now.max(self.inside(slot).arrived_ns);
                    self.begin(at, slot, out);
                }
                if self.front.waiting() && self.fetched < self.spec.command_slots {
                    out.timers.push((self.front.free_ns.max(now), Token::Front.pack()));
                }
            }
            Token::Channel(channel, slot) => self.channel(now, channel, slot, out),
            Token::Link(slot) => self.link(now, slot, out),
            Token::Buffer(slot) => self.buffer(now, slot, out),
            Token::Program(die) => self.program_end(now, die, out),
        }
    }
}
