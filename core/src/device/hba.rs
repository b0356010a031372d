//! A RAID adapter: host link, firmware engines, RAID0 striping over flash members.
//!
//! A command passes the inbound link, one of the firmware engines (first in, first out), the members that hold its
//! stripes, and the outbound link. All volumes of the adapter share links and engines.

use super::flash::{Flash, FlashSpec};
use super::params::spec;
use super::{Command, Model, Outbox};
use crate::event::{Op, Stage};

/// Bytes of a request frame fetched from the host.
const FRAME_BYTES: u32 = 256;
/// PCIe overhead: one TLP of 28 bytes for each 256 bytes of payload, 40 bytes for command and completion.
const TLP_PAYLOAD: u32 = 256;
const TLP_BYTES: u32 = 28;
const COMPLETION_BYTES: u32 = 40;

spec! {
/// Constants of an adapter, without those of its members.
pub(crate) struct AdapterSpec {
    /// Host link, raw bytes per second each way.
    pub link: u64 = 1, 1_000_000_000_000;
    pub engines: u32 = 1, 256;
    /// Time of one command on one engine, ns.
    pub engine_ns: u64 = 0, 100_000_000;
    /// Further fixed time of firmware and SAS hop, ns.
    pub fixed_ns: u64 = 0, 100_000_000;
    /// Bytes of a stripe on one member.
    pub stripe: u32 = 4096, 16_777_216;
    pub members: u32 = 1, 64;
}
}

/// Constants of an adapter with its members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HbaSpec {
    pub adapter: AdapterSpec,
    pub member: FlashSpec,
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Hba {
    spec: HbaSpec,
    in_free_ns: u64,
    out_free_ns: u64,
    engine_free_ns: Vec<u64>,
    /// Members of all volumes, volume by volume.
    members: Vec<Flash>,
    /// For each request slot: parts still at members, bytes to send back.
    pending: Vec<(u32, u32)>,
}

impl Hba {
    pub(crate) fn new(spec: HbaSpec, luns: u16) -> Self {
        let members =
            (0..u32::from(luns) * spec.adapter.members).map(|_| Flash::new(spec.member.clone())).collect();
        Self {
            in_free_ns: 0,
            out_free_ns: 0,
            engine_free_ns: vec![0; spec.adapter.engines as usize],
            members,
            pending: Vec::new(),
            spec,
        }
    }

    fn wire_bytes(payload: u32) -> u32 {
        payload + payload.div_ceil(TLP_PAYLOAD) * TLP_BYTES + COMPLETION_BYTES
    }
}

impl Model for Hba {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let slot = command.slot as usize;
        if self.pending.len() <= slot {
            self.pending.resize(slot + 1, (0, 0));
        }
        let inbound = if command.write() { Self::wire_bytes(command.bytes) } else { 0 } + FRAME_BYTES;
        let arrived = now.max(self.in_free_ns) + Flash::link_ns(self.spec.adapter.link, inbound);
        self.in_free_ns = arrived;
        out.stage(command.slot, Stage::Link, 0, now, arrived);
        let engine = (0..self.engine_free_ns.len()).min_by_key(|&e| self.engine_free_ns[e]).unwrap_or(0);
        let parsed = arrived.max(self.engine_free_ns[engine]) + self.spec.adapter.engine_ns;
        self.engine_free_ns[engine] = parsed;
        out.stage(command.slot, Stage::Firmware, engine, arrived, parsed);
        // Half of the fixed time on the way out to the members, half on the way back.
        let at_member = parsed + self.spec.adapter.fixed_ns / 2;
        if command.op == Op::Flush {
            // The adapter's cache has a battery: a flush need not reach the members.
            out.done.push((parsed + self.spec.adapter.fixed_ns, command.slot));
            return;
        }
        let stripe_sectors = u64::from(self.spec.adapter.stripe / 512);
        let (mut sector, mut left) = (command.sector, command.bytes / 512);
        let mut parts = 0;
        while left > 0 {
            let room = (stripe_sectors - sector % stripe_sectors) as u32;
            let sectors = room.min(left);
            let stripe = sector / stripe_sectors;
            let n = u64::from(self.spec.adapter.members);
            let member = u32::from(command.lun) * self.spec.adapter.members + (stripe % n) as u32;
            let local = stripe / n * stripe_sectors + sector % stripe_sectors;
            let part = Command {
                sector: local,
                bytes: sectors * 512,
                fua: false, // the battery is enough for that, too
                // Members place their data independently of each other.
                seed: command.seed ^ (u64::from(member) + 1) << 48,
                ..command
            };
            let dies = self.spec.member.dies;
            let unit = member * (dies + 1);
            let end = self.members[member as usize].pass(at_member, &part, unit as usize, Stage::Member, out);
            out.timers
                .push((end + self.spec.adapter.fixed_ns - self.spec.adapter.fixed_ns / 2, command.slot));
            parts += 1;
            sector += u64::from(sectors);
            left -= sectors;
        }
        self.pending[slot] = (parts, if command.op == Op::Read { command.bytes } else { 0 });
    }

    fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        let (parts, bytes) = &mut self.pending[token as usize];
        if *parts == 0 {
            return; // a lock broken on purpose let two CPUs hand it over: it is done once
        }
        *parts -= 1;
        if *parts > 0 {
            return;
        }
        let bytes = *bytes;
        let end = now.max(self.out_free_ns) + Flash::link_ns(self.spec.adapter.link, Self::wire_bytes(bytes));
        self.out_free_ns = end;
        out.stage(token, Stage::Link, 1, now, end);
        out.done.push((end, token));
    }
}
