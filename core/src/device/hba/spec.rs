//! Constants of a RAID adapter, and what a command takes on its host link.

use crate::device::flash::{FlashSpec, bytes_ns};
use crate::device::hdd::HddSpec;
use crate::device::params::spec;

/// Bytes of a request frame fetched from the host.
const FRAME_BYTES: u32 = 256;
/// PCIe overhead of a TLP, bytes [E].
const TLP_BYTES: u32 = 28;

spec! {
/// Constants of an adapter, without those of its members.
pub(crate) struct AdapterSpec {
    /// Host link, raw bytes per second each way.
    pub link: u64 = 1, 1_000_000_000_000;
    /// Largest payload of a packet on it (MPS), bytes.
    pub link_payload: u32 = 64, 4096;
    /// Bytes that a command takes on it beside its data, towards the host: requests for its frame, reply, interrupt.
    pub link_command_bytes: u32 = 0, 4096;
    pub engines: u32 = 1, 256;
    /// Time of one command on one engine, ns.
    pub engine_ns: u64 = 0, 100_000_000;
    /// Further fixed time of firmware and SAS hop, there and back, ns.
    pub fixed_ns: u64 = 0, 100_000_000;
    /// Bytes of a stripe on one member.
    pub stripe: u32 = 4096, 16_777_216;
    pub members: u32 = 1, 64;
    /// Commands that a member is given at once.
    pub member_depth: u32 = 1, 1024;
    /// MiB of written data that the battery-backed cache holds; 0: writes go to the members before they complete.
    pub cache_mb: u32 = 0, 65_536;
    /// Write acknowledged from the cache after, firmware included, ns.
    pub cache_ack_ns: u64 = 0, 100_000_000;
    /// Commands with which a member that has nothing else to do is given data from the cache.
    pub destage_depth: u32 = 1, 1024;
    /// Reply queues (MSI-X vectors), one for each CPU if there are as many.
    pub reply_queues: u32 = 1, 128;
    /// Completions that a reply queue holds back for one interrupt; 1: none.
    pub coalesce_threshold: u32 = 1, 256;
    /// Longest time for which the oldest of them is held back, us.
    pub coalesce_time_us: u32 = 0, 25_500;
}
}

impl AdapterSpec {
    /// Bytes on the wire for `payload` bytes of data.
    fn wire_bytes(&self, payload: u32) -> u32 {
        payload + payload.div_ceil(self.link_payload) * TLP_BYTES
    }

    /// Time of a command on the way in, ns, with the frame and so much data.
    pub(crate) fn in_ns(&self, data: u32) -> u64 {
        bytes_ns(self.wire_bytes(data) + FRAME_BYTES, self.link)
    }

    /// Time of a completion on the way out, ns, with so much data.
    pub(crate) fn out_ns(&self, data: u32) -> u64 {
        bytes_ns(self.wire_bytes(data) + self.link_command_bytes, self.link)
    }

    /// Sectors of a stripe; a volume of one member has no stripes.
    pub(crate) fn stripe_sectors(&self) -> u64 {
        if self.members == 1 { u64::MAX } else { u64::from(self.stripe / 512) }
    }

    /// Sectors that the write cache holds.
    pub(crate) fn cache_sectors(&self) -> u64 {
        u64::from(self.cache_mb) * 2048
    }
}

/// What the members of all volumes of an adapter are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MemberSpec {
    Flash(FlashSpec),
    /// Rotating disks, with their own write caches off, as adapters leave them.
    Hdd(HddSpec),
}

/// Constants of an adapter with its members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HbaSpec {
    pub adapter: AdapterSpec,
    pub member: MemberSpec,
}
