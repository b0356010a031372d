//! Constants of the adapter presets.

use super::spec::{AdapterSpec, HbaSpec, MemberSpec};
use crate::device::flash::presets::SAS_SSD;
use crate::device::hdd::presets::NEARLINE;

/// PCIe Gen3 and Gen4 with 8 lanes, bytes per second.
const GEN3_X8: u64 = 7_880_000_000;
const GEN4_X8: u64 = 15_750_000_000;

/// A SAS35xx card. A 4 KiB read takes 4096 bytes, 16 packets of 28 and `link_command_bytes` on the link. 232 of these
/// [E 40-250] are one constant for three ceilings: 1.65 M here (1.60-1.75 M seen or assumed), 3.30 M on the next generation's
/// link (3.0-3.3 M seen) and 1.69 M with 8 KiB there (1.73 M seen). The engines are part of the fixed 15 us [E 8-25] and
/// allow 3.48 M.
const VENTURA: AdapterSpec = AdapterSpec {
    link: GEN3_X8,
    link_payload: 256,
    link_command_bytes: 232,
    engines: 8,
    engine_ns: 2_300,
    fixed_ns: 12_700,
    stripe: 256 * 1024,
    members: 8,
    member_depth: 128, // [E 32-128]
    cache_mb: 0,
    cache_ack_ns: 100_000, // [E 60-150]
    destage_depth: 8,      // [E 1-32]
    reply_queues: 128,
    coalesce_threshold: 1,
    coalesce_time_us: 0,
};

/// RAID0 of 8 SAS SSDs.
pub(crate) const R0_8SSD: HbaSpec = HbaSpec { adapter: VENTURA, member: MemberSpec::Flash(SAS_SSD) };

/// The same behind a SAS39xx card: only the link differs.
pub(crate) const AERO_R0_8SSD: HbaSpec =
    HbaSpec { adapter: AdapterSpec { link: GEN4_X8, ..VENTURA }, member: MemberSpec::Flash(SAS_SSD) };

/// One SAS SSD behind the card, without RAID.
pub(crate) const SSD_JBOD: HbaSpec =
    HbaSpec { adapter: AdapterSpec { members: 1, ..VENTURA }, member: MemberSpec::Flash(SAS_SSD) };

/// The same behind a SAS39xx card.
pub(crate) const AERO_SSD_JBOD: HbaSpec = HbaSpec {
    adapter: AdapterSpec { link: GEN4_X8, members: 1, ..VENTURA },
    member: MemberSpec::Flash(SAS_SSD),
};

/// One rotating disk behind the card, whose cache acknowledges its writes.
pub(crate) const HDD: HbaSpec = HbaSpec {
    adapter: AdapterSpec { members: 1, member_depth: 32, cache_mb: 1024, reply_queues: 64, ..VENTURA },
    member: MemberSpec::Hdd(NEARLINE),
};

/// RAID0 of 8 of them.
pub(crate) const R0_HDD: HbaSpec =
    HbaSpec { adapter: AdapterSpec { members: 8, ..HDD.adapter }, member: MemberSpec::Hdd(NEARLINE) };
