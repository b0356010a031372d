//! The table of device presets. A new preset is one more row.
//!
//! Sources: vendor figures and measurements named per row; `[E]` marks an estimate. The fixed time includes fetch,
//! firmware and link of a 4 KiB read, so that a read at queue depth 1 takes `fixed + tR`.
//!
//! Only disks behind ATA and scsi_debug have a volatile write cache: data-center SSDs keep their buffer through a power cut and report none, a
//! RAID adapter's cache has a battery, and null_blk has none unless told to. A scenario can give a disk one.

use super::flash::FlashSpec;
use super::hba::{AdapterSpec, HbaSpec};
use super::hdd::HddSpec;
use super::params::{Param, Params};
use std::collections::BTreeMap;

/// A device preset as the user sees it.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Name used in scenarios.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// Where the numbers come from.
    pub source: &'static str,
    pub(crate) spec: Spec,
    /// Size, bytes.
    pub size: u64,
    /// Default hardware contexts; 0: one for each CPU.
    pub nr_hw_queues: u16,
    /// Default tags of an hctx.
    pub nr_tags: u32,
    /// Default commands a LUN takes at once; `None` where there is no budget.
    pub queue_depth: Option<u32>,
    /// It has a seek time (`queue/rotational`).
    pub rotational: bool,
    /// It acknowledges writes from a cache that a power cut empties, so that `fsync` has to flush it.
    pub write_cache: bool,
    /// It writes past that cache when told to (FUA).
    pub fua: bool,
    /// A flush is refused while other commands are at the device (ATA without queued FLUSH).
    pub flush_not_queued: bool,
}

impl Preset {
    /// Units inside the device, for the picture: (label, count).
    pub fn units(&self) -> Vec<(String, u32)> {
        match &self.spec {
            Spec::Null { .. } | Spec::ScsiDebug { .. } => vec![],
            Spec::Hdd(_) => vec![("platter".into(), 1)],
            Spec::Nvme(f) => vec![("die".into(), f.dies)],
            Spec::Hba(h) => {
                vec![
                    ("engine".into(), h.adapter.engines),
                    ("member".into(), h.adapter.members),
                    ("die".into(), h.member.dies),
                ]
            }
        }
    }
}

impl Preset {
    /// Constants that a scenario can change, those of members with `member_` before their names.
    pub fn params(&self) -> Vec<Param> {
        self.spec.params()
    }
}

impl Spec {
    fn params(&self) -> Vec<Param> {
        match self {
            Spec::Null { .. } | Spec::ScsiDebug { .. } => Vec::new(),
            Spec::Nvme(flash) => flash.params(),
            Spec::Hdd(hdd) => hdd.params(),
            Spec::Hba(hba) => {
                let member = hba.member.params().into_iter();
                let member = member.map(|p| Param { name: format!("member_{}", p.name), ..p });
                hba.adapter.params().into_iter().chain(member).collect()
            }
        }
    }

    fn put(&mut self, name: &str, value: u64) -> bool {
        match self {
            Spec::Null { .. } | Spec::ScsiDebug { .. } => false,
            Spec::Nvme(flash) => flash.put(name, value),
            Spec::Hdd(hdd) => hdd.put(name, value),
            Spec::Hba(hba) => match name.strip_prefix("member_") {
                Some(name) => hba.member.put(name, value),
                None => hba.adapter.put(name, value),
            },
        }
    }

    /// This with some constants changed; the text says what is wrong.
    pub(crate) fn with(&self, changes: &BTreeMap<String, u64>) -> Result<Self, String> {
        let mut spec = self.clone();
        let known = self.params();
        for (name, &value) in changes {
            let Some(param) = known.iter().find(|p| p.name == *name) else {
                let name: String = name.chars().take(60).collect();
                let names: Vec<_> = known.iter().map(|p| p.name.as_str()).collect();
                return Err(match names.is_empty() {
                    true => format!("there is no constant '{name}': this model has none"),
                    false => format!("there is no constant '{name}'; known: {}", names.join(", ")),
                });
            };
            let [least, most] = param.bounds;
            if !(least..=most).contains(&value) {
                return Err(format!("{name} must be from {least} to {most}, not {value}"));
            }
            spec.put(name, value);
        }
        Ok(spec)
    }
}

/// Which model and with which constants.
#[derive(Clone, Debug)]
pub(crate) enum Spec {
    Null {
        completion_ns: u64,
    },
    /// A null device that is a LUN of a SCSI host.
    ScsiDebug {
        completion_ns: u64,
    },
    Nvme(FlashSpec),
    Hba(HbaSpec),
    /// A rotating disk behind AHCI.
    Hdd(HddSpec),
}

const GB: u64 = 1_000_000_000;

/// Member of a RAID volume: the cap is inferred from the 1066 K IOPS of 8 of them (July 2018 report); tR and the
/// rest are estimates for a SAS 12 Gb/s SSD of that time.
const SAS_SSD: FlashSpec = FlashSpec {
    dies: 48,
    read_ns: 85_000,
    fixed_ns: 30_000,
    read_cap: 133_000,
    write_ack_ns: 40_000,
    write_cap: 60_000,
    link_out: 1_100_000_000,
    link_in: 1_100_000_000,
    suspend_ns: 50_000,
};

/// A SATA disk of 7200 turns a minute. Outer rate: data sheet of the ST1000DM010; inner rate in the ratio of the nearline disk
/// [E]. Seek curve: the shape of five measured drives (DiskSim's tables), solved for 0.83 ms to the next cylinder, 8.2 ms on
/// average and 17.0 ms at most, where data sheets say 8.5 ms [E]. Link, times of a command on it and of a cache hit: fitted
/// to a consumer disk by ublk-disksim. The rest is estimated, with its range.
const DESKTOP_HDD: HddSpec = HddSpec {
    rpm: 7_200,
    outer_rate: 210_000_000,
    inner_rate: 100_000_000,
    cylinders: 160_000,
    seek_base_ns: 800_000,
    seek_root_ns: 10_500_000,
    seek_linear_ns: 5_700_000,
    settle_ns: 500_000,  // [E 0.3-1.0 ms]
    command_ns: 100_000, // [E; 0.1-1.0 ms on disks of the 1990s]
    hit_ns: 30_000,
    link: 550_000_000, // 6 Gb/s, 8b/10b, framing
    link_command_ns: 3_000,
    dirty_limit: 32 << 20, // [E 1-64 MB]
    destage_window: 32,    // [E 4-256], as many as commands
    ncq_window: 32,        // a consumer disk was fitted with 4
    age_max_ns: 1_000_000_000,
    segments: 16, // [E 3-32]
    segment: 1 << 20,
};

/// The same with the rates and tracks of the Constellation ES.3 (manual, 2013) and a buffer twice as large.
const NEARLINE_HDD: HddSpec = HddSpec {
    outer_rate: 175_000_000,
    inner_rate: 83_000_000,
    cylinders: 320_800,
    dirty_limit: 64 << 20,
    segments: 32,
    ..DESKTOP_HDD
};

/// All device presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "null",
        label: "null device (fixed time)",
        source: "null_blk with completion_nsec; no physics",
        spec: Spec::Null { completion_ns: 10_000 },
        size: GB,
        nr_hw_queues: 1,
        nr_tags: 64,
        queue_depth: None,
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    },
    Preset {
        name: "p3700-800",
        label: "NVMe P3700 800 GB (MLC)",
        source: "caps 450-460 K read, 90 K write (vendor); QD1 77.9 us, QD16 167 K (AnandTech 2017)",
        spec: Spec::Nvme(FlashSpec {
            dies: 32,
            read_ns: 56_000,
            fixed_ns: 14_000,
            read_cap: 460_000,
            write_ack_ns: 20_000,
            write_cap: 90_000,
            link_out: 2_800_000_000,
            link_in: 1_900_000_000,
            suspend_ns: 50_000,
        }),
        size: 800 * GB,
        nr_hw_queues: 0,
        nr_tags: 1023,
        queue_depth: None,
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    },
    Preset {
        name: "p4510-2t",
        label: "NVMe P4510 2 TB (TLC)",
        source: "637 K / 81.5 K, 77 / 18 us (vendor, quoted)",
        spec: Spec::Nvme(FlashSpec {
            dies: 64,
            read_ns: 62_000,
            fixed_ns: 15_000,
            read_cap: 637_000,
            write_ack_ns: 18_000,
            write_cap: 81_000,
            link_out: 3_200_000_000,
            link_in: 2_000_000_000,
            suspend_ns: 50_000,
        }),
        size: 2000 * GB,
        nr_hw_queues: 0,
        nr_tags: 1023,
        queue_depth: None,
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    },
    Preset {
        name: "p4800x-375",
        label: "NVMe P4800X 375 GB (3D XPoint)",
        source: "QD1 8.9 us with host, QD16 584.8 K (AnandTech 2017)",
        spec: Spec::Nvme(FlashSpec {
            dies: 28,
            read_ns: 3_500,
            fixed_ns: 3_600,
            read_cap: 585_000,
            write_ack_ns: 8_000,
            write_cap: 500_000,
            link_out: 2_400_000_000,
            link_in: 2_000_000_000,
            suspend_ns: 0,
        }),
        size: 375 * GB,
        nr_hw_queues: 0,
        nr_tags: 1023,
        queue_depth: None,
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    },
    Preset {
        name: "hba-r0-8ssd",
        label: "RAID adapter volume: RAID0 of 8 SAS SSDs (Gen3 x8)",
        source: "link: PCIe Gen3 x8; LUN depth 256 and can_queue 5089 (driver source 4.19, Desai 2019); firmware cap 1.65 M and 15 us fixed [E]",
        spec: Spec::Hba(HbaSpec {
            adapter: AdapterSpec {
                link: 7_880_000_000,
                engines: 8,
                engine_ns: 4_848,
                fixed_ns: 10_152,
                stripe: 256 * 1024,
                members: 8,
            },
            member: SAS_SSD,
        }),
        size: 8 * 400 * GB,
        nr_hw_queues: 1,
        nr_tags: 5089,
        queue_depth: Some(256),
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    },
    Preset {
        name: "scsi-debug",
        label: "SCSI debug disk (fixed time)",
        source: "scsi_debug with ndelay; can_queue and LUN depth are its defaults (SDEBUG_CANQUEUE, 3 words of bits); all \
                 such disks are LUNs of one host; no physics",
        spec: Spec::ScsiDebug { completion_ns: 10_000 },
        size: GB,
        nr_hw_queues: 1,
        nr_tags: 192,
        queue_depth: Some(192),
        rotational: false,
        write_cache: true,
        fua: true,
        flush_not_queued: false,
    },
    Preset {
        name: "hdd-1t-desktop",
        label: "SATA disk 1 TB, 7200 rpm (desktop)",
        source: "7200 rpm; 210 MB/s outside (ST1000DM010); seeks 8.2 ms on average, solved from data sheets and DiskSim's tables [E]; AHCI_MAX_CMDS",
        spec: Spec::Hdd(DESKTOP_HDD),
        size: 1000 * GB,
        nr_hw_queues: 1,
        nr_tags: 32,
        queue_depth: Some(32),
        rotational: true,
        write_cache: true,
        fua: false, // libata uses it only if told to
        flush_not_queued: true,
    },
    Preset {
        name: "hdd-1t-nearline",
        label: "SATA disk 1 TB, 7200 rpm (nearline)",
        source: "7200 rpm; 175 to 83 MB/s, 320800 tracks a surface (Constellation ES.3 manual); seeks as on the desktop disk [E]; AHCI_MAX_CMDS",
        spec: Spec::Hdd(NEARLINE_HDD),
        size: 1000 * GB,
        nr_hw_queues: 1,
        nr_tags: 32,
        queue_depth: Some(32),
        rotational: true,
        write_cache: true,
        fua: false, // libata uses it only if told to
        flush_not_queued: true,
    },
];

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}
