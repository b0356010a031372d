//! A RAID adapter: host link, firmware engines, RAID0 striping over members, write-back cache.
//!
//! A command passes the inbound link, one of the firmware engines (first in, first out), the members that hold its
//! stripes, and the outbound link. All volumes of the adapter share links, engines and cache. With a cache a write is
//! acknowledged when it has a place in it; a member is given dirty data when it has nothing else to do, and beside its
//! other work once the cache is three quarters full. The battery makes a flush empty.
//!
//! Left out: parity, rebuild, read-ahead and read cache, task management, cache lines of a fixed size.

mod cache;
mod member;
pub(super) mod presets;
mod spec;

pub(crate) use spec::{AdapterSpec, HbaSpec, MemberSpec};

use super::{AdapterView, Command, Model, Outbox, Passed, UNASKED};
use crate::engine::slab::Slab;
use crate::event::{Op, Stage};
use cache::Cache;
use member::Member;

/// Sectors of one command from the cache to a member: a stripe of 256 KiB [E].
const DESTAGE_SECTORS: u64 = 512;

/// A host command inside.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Inside {
    command: Option<Command>,
    /// Parts still at members.
    parts: u32,
    /// Bytes to send back.
    bytes: u32,
}

/// A command for one member.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Part {
    /// Slot of the host command, or [`UNASKED`] for data from the cache.
    owner: u32,
    member: u32,
    command: Option<Command>,
    /// When it was given to the member, ns.
    given_ns: u64,
}

/// An event of the adapter; the timer's token names it by its place.
#[derive(Clone, Copy, Debug, Default, Hash)]
enum Due {
    #[default]
    Nothing,
    /// A part reaches its member.
    Arrive(u32),
    /// A part is back from its member.
    Back(u32),
    /// A timer of this member's own: (member, token).
    Member(u32, u32),
    /// Data for a read are in the cache.
    Hit(u32),
    /// A write to this volume is in the cache: its members may have to be given data.
    Destage(u16),
}

/// The parts of a command on the members of a RAID0 volume, as (member, first sector there, sectors).
struct Split {
    stripe: u64,
    members: u64,
    /// First member of the volume.
    first: u32,
    sector: u64,
    left: u64,
}

impl Iterator for Split {
    type Item = (u32, u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let (row, inside) = (self.sector / self.stripe, self.sector % self.stripe);
        let sectors = (self.stripe - inside).min(self.left);
        self.sector += sectors;
        self.left -= sectors;
        Some((
            self.first + (row % self.members) as u32,
            (row / self.members).saturating_mul(self.stripe) + inside,
            sectors,
        ))
    }
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Hba {
    spec: AdapterSpec,
    in_free_ns: u64,
    out_free_ns: u64,
    engine_free_ns: Vec<u64>,
    /// Members of all volumes, volume by volume.
    members: Vec<Member>,
    cache: Cache,
    /// By request slot.
    inside: Vec<Inside>,
    parts: Slab<Part>,
    dues: Slab<Due>,
    /// What a member said last; empty between calls.
    said: Outbox,
    /// Dies and channels of a member, for the numbers in the log.
    units: [u32; 2],
}

impl Hba {
    /// An adapter with `luns` volumes of `size` bytes.
    pub(crate) fn new(spec: HbaSpec, luns: u16, size: u64) -> Self {
        let count = u32::from(luns) * spec.adapter.members;
        let member_size = size / u64::from(spec.adapter.members);
        let members: Vec<Member> =
            (0..count).map(|m| Member::new(&spec.member, member_size, m as u16)).collect();
        let units = match &spec.member {
            MemberSpec::Flash(flash) => [flash.dies, flash.channels],
            MemberSpec::Hdd(_) => [1, 1],
        };
        Self {
            in_free_ns: 0,
            out_free_ns: 0,
            engine_free_ns: vec![0; spec.adapter.engines as usize],
            cache: Cache::new(spec.adapter.cache_sectors(), members.len()),
            members,
            inside: Vec::new(),
            parts: Slab::new(),
            dues: Slab::new(),
            said: Outbox::default(),
            spec: spec.adapter,
            units,
        }
    }

    /// The inside at `now`, with the members of volume `lun`.
    pub(crate) fn view(&self, now: u64, lun: u16) -> AdapterView {
        let count = self.spec.members as usize;
        let first = usize::from(lun) * count;
        AdapterView {
            engines: self.engine_free_ns.iter().map(|&free| free > now).collect(),
            members: self.members.iter().skip(first).take(count).map(|m| m.view(now)).collect(),
            cache_bytes: self.cache.used * 512,
            cache_limit: self.cache.room * 512,
            cache_waiting: self.cache.waiting.len() as u32,
            link: [self.in_free_ns > now, self.out_free_ns > now],
        }
    }

    fn at(&mut self, at: u64, due: Due, out: &mut Outbox) {
        let token = self.dues.add(due);
        out.timers.push((at, token));
    }

    /// The part of the fixed time on the way out to the members; the other is on the way back.
    fn hop_out(&self) -> u64 {
        self.spec.fixed_ns / 2
    }

    fn hop_back(&self) -> u64 {
        self.spec.fixed_ns - self.spec.fixed_ns / 2
    }

    fn split(&self, command: &Command) -> Split {
        Split {
            stripe: self.spec.stripe_sectors(),
            members: u64::from(self.spec.members),
            first: u32::from(command.lun) * self.spec.members,
            sector: command.sector,
            left: u64::from(command.bytes / 512),
        }
    }

    /// The firmware has read a command: on to the cache or to the members.
    fn parsed(&mut self, at: u64, command: Command, out: &mut Outbox) {
        let slot = command.slot;
        let bytes = if command.op == Op::Read { command.bytes } else { 0 };
        self.inside[slot as usize] = Inside { command: Some(command), parts: 0, bytes };
        let cached = self.cache.room > 0;
        match command.op {
            Op::Flush if cached => self.at(at + self.spec.fixed_ns, Due::Hit(slot), out),
            Op::Flush => {
                let first = u32::from(command.lun) * self.spec.members;
                for member in first..first + self.spec.members {
                    self.part(at, slot, member, Command { sector: 0, bytes: 0, ..command }, out);
                }
            }
            Op::Write if cached => {
                self.cache.waiting.push_back((slot, at));
                self.admit(at, out);
            }
            Op::Read if cached && self.hit(&command) => {
                self.at(at + self.spec.fixed_ns, Due::Hit(slot), out);
            }
            // Members do not keep FUA apart: where there is no cache they have the data when they say so.
            Op::Read | Op::Write | Op::Discard => self.spread(at, slot, command, out),
        }
    }

    /// Whether all that a read wants is dirty in the cache.
    fn hit(&self, command: &Command) -> bool {
        self.split(command).all(|(member, sector, sectors)| {
            self.cache.runs[member as usize].covers(sector, sector + sectors)
        })
    }

    /// Gives a command to the members that hold its stripes.
    fn spread(&mut self, at: u64, slot: u32, command: Command, out: &mut Outbox) {
        for (member, sector, sectors) in self.split(&command) {
            self.part(at, slot, member, Command { sector, bytes: sectors as u32 * 512, ..command }, out);
        }
    }

    fn part(&mut self, at: u64, owner: u32, member: u32, command: Command, out: &mut Outbox) {
        if owner != UNASKED {
            self.inside[owner as usize].parts += 1;
        }
        let command = Command {
            sq: 0,
            fua: false,
            // Members place their data independently of each other.
            seed: command.seed ^ (u64::from(member) + 1) << 48,
            ..command
        };
        let part = self.parts.add(Part { owner, member, command: Some(command), given_ns: at });
        let m = &mut self.members[member as usize];
        if owner != UNASKED && m.in_flight >= self.spec.member_depth {
            return m.waiting.push_back((part, at));
        }
        self.give(at, part, out);
    }

    /// Sends a part on its way to its member.
    fn give(&mut self, at: u64, part: u32, out: &mut Outbox) {
        let Part { owner, member, .. } = self.parts[part];
        let arrives = at + self.hop_out();
        let m = &mut self.members[member as usize];
        m.in_flight += 1;
        m.destaging += u32::from(owner == UNASKED);
        self.parts[part].given_ns = arrives;
        if self.members[member as usize].disk.takes_early() {
            self.arrive(arrives, part, out);
        } else {
            self.at(arrives, Due::Arrive(part), out);
        }
    }

    fn arrive(&mut self, at: u64, part: u32, out: &mut Outbox) {
        let Part { member, command, .. } = self.parts[part];
        let Some(command) = command else { return };
        let mut said = std::mem::take(&mut self.said);
        self.members[member as usize].disk.submit(at, Command { slot: part, ..command }, &mut said);
        self.heard(member, said, out);
    }

    /// Passes on what a member said, in the adapter's own terms.
    fn heard(&mut self, member: u32, mut said: Outbox, out: &mut Outbox) {
        for (at, token) in said.timers.drain(..) {
            self.at(at, Due::Member(member, token), out);
        }
        for (slot, passed) in said.stages.drain(..) {
            let owner = if slot == UNASKED { UNASKED } else { self.parts[slot].owner };
            let unit = u32::from(passed.unit);
            let (stage, unit) = match passed.stage {
                Stage::Controller => (Stage::Member, member),
                // A member's own link and buffer are told by its number.
                Stage::Link | Stage::WriteBuffer => continue,
                Stage::Channel => (Stage::Channel, member * self.units[1] + unit),
                stage => (stage, member * self.units[0] + unit % self.units[0]),
            };
            let unit = unit.min(u32::from(u16::MAX)) as u16;
            out.stages.push((owner, Passed { stage, unit, ..passed }));
        }
        for (at, part) in said.done.drain(..) {
            self.at(at + self.hop_back(), Due::Back(part), out);
        }
        self.said = said;
    }

    /// A part is back.
    fn back(&mut self, now: u64, part: u32, out: &mut Outbox) {
        let Part { owner, member, command, given_ns } = self.parts[part];
        self.parts.remove(part);
        let depth = self.spec.member_depth;
        let m = &mut self.members[member as usize];
        m.in_flight -= 1;
        if owner == UNASKED {
            m.destaging -= 1;
            out.stage(UNASKED, Stage::Destage, member as usize, given_ns, now);
            self.cache.used -= command.map_or(0, |c| u64::from(c.bytes / 512));
            self.admit(now, out);
        }
        let m = &mut self.members[member as usize];
        if m.in_flight < depth
            && let Some((next, since)) = m.waiting.pop_front()
        {
            let owner = self.parts[next].owner;
            out.stage(owner, Stage::MemberWait, member as usize, since, now);
            self.give(now, next, out);
        }
        self.destage(now, member, out);
        if owner != UNASKED {
            let inside = &mut self.inside[owner as usize];
            if inside.parts == 0 {
                return; // a lock broken on purpose let two CPUs hand it over: it is done once
            }
            inside.parts -= 1;
            if inside.parts == 0 {
                self.answer(now, owner, out);
            }
        }
    }

    /// Data and completion go out to the host.
    fn answer(&mut self, now: u64, slot: u32, out: &mut Outbox) {
        let bytes = self.inside[slot as usize].bytes;
        let end = now.max(self.out_free_ns) + self.spec.out_ns(bytes);
        self.out_free_ns = end;
        out.stage(slot, Stage::Link, 1, now, end);
        out.done.push((end, slot));
    }

    /// Gives places in the cache to writes that wait, in their order.
    fn admit(&mut self, now: u64, out: &mut Outbox) {
        while let Some(&(slot, since)) = self.cache.waiting.front() {
            let Some(command) = self.inside[slot as usize].command else { return };
            let sectors = u64::from(command.bytes / 512);
            // A write larger than the cache has it to itself.
            if self.cache.used > 0 && self.cache.used + sectors > self.cache.room {
                return;
            }
            self.cache.waiting.pop_front();
            let mut new = 0;
            for (member, sector, sectors) in self.split(&command) {
                new += self.cache.runs[member as usize].insert(sector, sector + sectors);
            }
            self.cache.used += new;
            let end = now + self.spec.cache_ack_ns.saturating_sub(self.spec.engine_ns);
            out.stage(slot, Stage::WriteBack, 0, since, end);
            self.at(end, Due::Hit(slot), out);
            self.at(now, Due::Destage(command.lun), out);
        }
    }

    /// Gives a member data from the cache if it has nothing else to do, or if the cache is nearly full.
    fn destage(&mut self, now: u64, member: u32, out: &mut Outbox) {
        loop {
            let m = &self.members[member as usize];
            let presses = self.cache.presses();
            let most = if presses { self.spec.member_depth } else { self.spec.destage_depth };
            let free = m.host_commands() == 0 || presses;
            if !free || m.in_flight >= self.spec.member_depth || m.destaging >= most {
                return;
            }
            let sweep = m.sweep;
            let Some((start, end)) = self.cache.runs[member as usize].take(sweep, DESTAGE_SECTORS) else {
                return;
            };
            self.members[member as usize].sweep = end;
            let command = Command {
                slot: UNASKED,
                lun: (member / self.spec.members) as u16,
                sq: 0,
                op: Op::Write,
                fua: false,
                sector: start,
                bytes: (end - start) as u32 * 512,
                seed: 0,
            };
            self.part(now, UNASKED, member, command, out);
        }
    }
}

impl Model for Hba {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let slot = command.slot as usize;
        if self.inside.len() <= slot {
            self.inside.resize(slot + 1, Inside::default());
        }
        let data = if command.write() { command.bytes } else { 0 };
        let arrived = now.max(self.in_free_ns) + self.spec.in_ns(data);
        self.in_free_ns = arrived;
        out.stage(command.slot, Stage::Link, 0, now, arrived);
        let engine = (0..self.engine_free_ns.len()).min_by_key(|&e| self.engine_free_ns[e]).unwrap_or(0);
        let parsed = arrived.max(self.engine_free_ns[engine]) + self.spec.engine_ns;
        self.engine_free_ns[engine] = parsed;
        out.stage(command.slot, Stage::Firmware, engine, arrived, parsed);
        self.parsed(parsed, command, out);
    }

    fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        let due = self.dues[token];
        self.dues.remove(token);
        match due {
            Due::Arrive(part) => self.arrive(now, part, out),
            Due::Back(part) => self.back(now, part, out),
            Due::Hit(slot) => self.answer(now, slot, out),
            Due::Member(member, token) => {
                let mut said = std::mem::take(&mut self.said);
                self.members[member as usize].disk.event(now, token, &mut said);
                self.heard(member, said, out);
            }
            Due::Destage(lun) => {
                let first = u32::from(lun) * self.spec.members;
                for member in first..first + self.spec.members {
                    self.destage(now, member, out);
                }
            }
            Due::Nothing => {}
        }
    }
}
