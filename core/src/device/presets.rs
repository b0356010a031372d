//! The table of device presets. A new preset is one more row.
//!
//! Sources: vendor figures and measurements named per row; `[E]` marks an estimate. Constants stand beside their models.
//!
//! Consumer disks have a volatile write cache. Data-center SSDs keep their buffer through a power cut and report none, a
//! RAID adapter's cache has a battery, and null_blk has none unless told to. A scenario can give a disk one.

use super::flash::{FlashSpec, presets as flash};
use super::hba::{HbaSpec, MemberSpec, presets as hba};
use super::hdd::{HddSpec, presets as hdd};
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
            Spec::Nvme(flash) => flash_units(flash),
            Spec::Hba(h) => {
                let mut units =
                    vec![("engine".into(), h.adapter.engines), ("member".into(), h.adapter.members)];
                match &h.member {
                    MemberSpec::Flash(flash) => units.extend(flash_units(flash)),
                    MemberSpec::Hdd(_) => units.push(("platter".into(), 1)),
                }
                if h.adapter.cache_mb > 0 {
                    units.push(("write-back cache".into(), 1));
                }
                units
            }
        }
    }
}

fn flash_units(flash: &FlashSpec) -> Vec<(String, u32)> {
    let channels = (flash.channels > 0).then(|| (String::from("channel"), flash.channels));
    channels.into_iter().chain([("die".into(), flash.dies), ("write buffer".into(), 1)]).collect()
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
                let member = match &hba.member {
                    MemberSpec::Flash(flash) => flash.params(),
                    MemberSpec::Hdd(hdd) => hdd.params(),
                };
                let member = member.into_iter();
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
            // An adapter's constant may begin with `member_` itself.
            Spec::Hba(hba) => {
                hba.adapter.put(name, value)
                    || name.strip_prefix("member_").is_some_and(|name| match &mut hba.member {
                        MemberSpec::Flash(flash) => flash.put(name, value),
                        MemberSpec::Hdd(hdd) => hdd.put(name, value),
                    })
            }
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

/// Tags of an NVMe submission queue: 1024 entries, one of which stays empty (`io_queue_depth` of 4.19).
const NVME_TAGS: u32 = 1023;
/// can_queue of a RAID adapter (Desai 2019).
const HBA_TAGS: u32 = 5089;
/// Commands of an AHCI port (AHCI_MAX_CMDS).
const NCQ_TAGS: u32 = 32;
/// Default depths of LUNs behind the adapter: a RAID volume, a SAS and a SATA disk (driver source 4.19).
const VOLUME_DEPTH: u32 = 256;
const SAS_DEPTH: u32 = 64;
const SATA_DEPTH: u32 = 32;

/// A data-center NVMe disk: one queue a CPU, no volatile cache.
const fn nvme(
    name: &'static str,
    label: &'static str,
    source: &'static str,
    spec: FlashSpec,
    size: u64,
) -> Preset {
    Preset {
        name,
        label,
        source,
        spec: Spec::Nvme(spec),
        size,
        nr_hw_queues: 0,
        nr_tags: NVME_TAGS,
        queue_depth: None,
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    }
}

/// A consumer NVMe disk: its write buffer is volatile.
const fn consumer(
    name: &'static str,
    label: &'static str,
    source: &'static str,
    spec: FlashSpec,
    size: u64,
) -> Preset {
    Preset { write_cache: true, fua: true, ..nvme(name, label, source, spec, size) }
}

/// A LUN of a RAID adapter with one hctx; the adapter answers for its cache.
const fn behind_adapter(
    name: &'static str,
    label: &'static str,
    source: &'static str,
    spec: HbaSpec,
    size: u64,
    depth: u32,
) -> Preset {
    Preset {
        name,
        label,
        source,
        spec: Spec::Hba(spec),
        size,
        nr_hw_queues: 1,
        nr_tags: HBA_TAGS,
        queue_depth: Some(depth),
        rotational: false,
        write_cache: false,
        fua: false,
        flush_not_queued: false,
    }
}

/// A rotating disk with native command queueing; libata uses FUA only if told to.
const fn sata(
    name: &'static str,
    label: &'static str,
    source: &'static str,
    spec: HddSpec,
    size: u64,
) -> Preset {
    Preset {
        name,
        label,
        source,
        spec: Spec::Hdd(spec),
        size,
        nr_hw_queues: 1,
        nr_tags: NCQ_TAGS,
        queue_depth: Some(NCQ_TAGS),
        rotational: true,
        write_cache: true,
        fua: false,
        flush_not_queued: true,
    }
}

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
    nvme(
        "p3700-800",
        "NVMe P3700 800 GB (MLC)",
        "caps 450-460 K read, 90 K write (vendor); QD1 77.9 us, QD16 167 K (AnandTech 2017)",
        flash::P3700,
        800 * GB,
    ),
    nvme(
        "p4510-2t",
        "NVMe P4510 2 TB (TLC)",
        "637 K / 81.5 K, 77 / 18 us (vendor, quoted)",
        flash::P4510,
        2000 * GB,
    ),
    nvme(
        "p4800x-375",
        "NVMe P4800X 375 GB (3D XPoint)",
        "QD1 8.9 us with host, QD16 584.8 K (AnandTech 2017)",
        flash::P4800X,
        375 * GB,
    ),
    nvme(
        "p5800x",
        "NVMe P5800X 800 GB (3D XPoint, Gen4)",
        "5.1 M of 512 bytes (Axboe 2022); 1.5 M, 5 us (vendor, quoted)",
        flash::P5800X,
        800 * GB,
    ),
    consumer(
        "970evoplus-1t",
        "NVMe 970 EVO Plus 1 TB (TLC with SLC cache)",
        "QD1 19 K / 60 K, QD32 600 K / 550 K, 42 GB of SLC, then 1.7 GB/s (vendor)",
        flash::EVO_970_PLUS,
        1000 * GB,
    ),
    consumer(
        "980pro-1t",
        "NVMe 980 PRO 1 TB (TLC with SLC cache, Gen4)",
        "QD1 22 K / 60 K, 1.0 M both, 114 GB of SLC, then 2 GB/s (vendor, quoted)",
        flash::PRO_980,
        1000 * GB,
    ),
    consumer(
        "970pro-512",
        "NVMe 970 PRO 512 GB (MLC, two kinds of pages)",
        "NVMeVirt's fit of the drive (FAST 2023)",
        flash::PRO_970,
        512 * GB,
    ),
    nvme(
        "aws-i3",
        "NVMe local disk of an AWS i3 instance",
        "412 K reads (AWS, quoted by Aerospike 2017); 100 us, 39.4 us (linux-block, March 2022)",
        flash::AWS_I3,
        1900 * GB,
    ),
    behind_adapter(
        "sas-ssd-133k",
        "SAS SSD behind an adapter with one hctx",
        "cap of 133 K inferred from 1066 K of 8 (July 2018 report); LUN depth 64 (driver source 4.19); others [E]",
        hba::SSD_JBOD,
        400 * GB,
        SAS_DEPTH,
    ),
    behind_adapter(
        "hba-r0-8ssd",
        "RAID adapter volume: RAID0 of 8 SAS SSDs (Gen3 x8)",
        "link: PCIe Gen3 x8; LUN depth 256 and can_queue 5089 (driver source 4.19, Desai 2019); 1.65 M and 15 us fixed [E]",
        hba::R0_8SSD,
        8 * 400 * GB,
        VOLUME_DEPTH,
    ),
    Preset {
        nr_hw_queues: 0,
        ..behind_adapter(
            "hba-aero-r0-8ssd",
            "RAID adapter volume: RAID0 of 8 SAS SSDs (Gen4 x8, one hctx a CPU)",
            "3.0-3.3 M with several volumes (Desai 2019, 2020); only the link differs from hba-r0-8ssd",
            hba::AERO_R0_8SSD,
            8 * 400 * GB,
            VOLUME_DEPTH,
        )
    },
    Preset {
        nr_hw_queues: 0,
        ..behind_adapter(
            "hba-ssd-jbod",
            "SAS SSD behind a RAID adapter (Gen4 x8, one hctx a CPU)",
            "24 of them: 3.1 M (Desai 2021); LUN depth 64 (driver source 4.19)",
            hba::AERO_SSD_JBOD,
            400 * GB,
            SAS_DEPTH,
        )
    },
    Preset {
        nr_hw_queues: 64,
        rotational: true,
        ..behind_adapter(
            "hba-hdd",
            "SATA disk behind a RAID adapter with write-back cache (64 hctxs)",
            "cache 1 GB [E 1-4], 100 us to acknowledge [E 60-150]; the disk is hdd-1t-nearline with its own cache off; \
             LUN depth 32 (driver source 4.19)",
            hba::HDD,
            1000 * GB,
            SATA_DEPTH,
        )
    },
    Preset {
        nr_hw_queues: 64,
        rotational: true,
        ..behind_adapter(
            "hba-r0-hdd",
            "RAID adapter volume: RAID0 of 8 SATA disks with write-back cache (64 hctxs)",
            "as hba-hdd; LUN depth 256 (driver source 4.19)",
            hba::R0_HDD,
            8 * 1000 * GB,
            VOLUME_DEPTH,
        )
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
    sata(
        "hdd-1t-desktop",
        "SATA disk 1 TB, 7200 rpm (desktop)",
        "7200 rpm; 210 MB/s outside (ST1000DM010); seeks 8.2 ms on average, solved from data sheets and DiskSim's tables [E]; AHCI_MAX_CMDS",
        hdd::DESKTOP,
        1000 * GB,
    ),
    sata(
        "hdd-1t-nearline",
        "SATA disk 1 TB, 7200 rpm (nearline)",
        "7200 rpm; 175 to 83 MB/s, 320800 tracks a surface (Constellation ES.3 manual); seeks as on the desktop disk [E]; AHCI_MAX_CMDS",
        hdd::NEARLINE,
        1000 * GB,
    ),
];

impl Preset {
    /// What the kernel calls the `n`-th disk of this driver (null_blk, nvme, sd), from 0.
    pub fn disk_name(&self, n: usize) -> String {
        match self.spec {
            Spec::Null { .. } => format!("nullb{n}"),
            Spec::Nvme(_) => format!("nvme{n}n1"),
            Spec::ScsiDebug { .. } | Spec::Hba(_) | Spec::Hdd(_) => {
                // sd_format_disk_name: after sdz comes sdaa.
                let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
                match n / 26 {
                    0 => format!("sd{}", letter(n)),
                    more => format!("sd{}{}", letter(more - 1), letter(n)),
                }
            }
        }
    }

    /// Whether a disk of this driver can have this name.
    pub fn fits(&self, name: &str) -> bool {
        match self.spec {
            Spec::Null { .. } => name.starts_with("nullb"),
            Spec::Nvme(_) => name.starts_with("nvme"),
            Spec::ScsiDebug { .. } | Spec::Hba(_) | Spec::Hdd(_) => name.starts_with("sd"),
        }
    }
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}
