//! Constants of the flash presets.
//!
//! Where the sustained rate of writes is published, tPROG comes from a fit of the same kind of cell and the write
//! amplification follows: `waf = dies * program_pages / (rate * tPROG)`.

use super::spec::FlashSpec;

/// MLC: 500 and 1300 us (SimpleSSD sample), in the middle; 16 KiB pages of two planes.
const MLC: FlashSpec = FlashSpec { program_pages: 8, program_ns: 900_000, ..FlashSpec::PLAIN };
/// TLC: 2.62 ms for 64 KiB (Micron 7300 PRO, fitted by ublk-disksim).
const TLC: FlashSpec = FlashSpec { program_pages: 16, program_ns: 2_620_000, ..FlashSpec::PLAIN };
/// 3D XPoint is written in place, a page over all channels at once [E]: no collection, no suspend, no channel.
const XPOINT: FlashSpec = FlashSpec {
    program_pages: 1,
    program_ns: 4_000, // as long as a read [E]
    suspend_ns: 0,
    unsuspended_percent: 0,
    ..FlashSpec::PLAIN
};

/// Enterprise MLC of 2014. Caps 460 K reads and 90 K sustained writes (vendor); 18 channels (vendor).
pub(crate) const P3700: FlashSpec = FlashSpec {
    dies: 32,
    read_ns: 56_000,
    fixed_ns: 14_000,
    command_cap: 460_000,
    read_cap: 460_000,
    write_cap: 460_000, // the front end's; the dies sustain less [E]
    write_ack_ns: 20_000,
    link_out: 2_800_000_000,
    link_in: 1_900_000_000,
    channels: 18,
    channel_rate: 400_000_000, // ONFI 3 [E]
    waf_percent: 316,          // 90 K
    ..MLC
};

/// Enterprise TLC of 2017: 637 K reads, 81.5 K writes, 77 / 18 us (vendor, quoted).
pub(crate) const P4510: FlashSpec = FlashSpec {
    dies: 64,
    read_ns: 62_000,
    fixed_ns: 15_000,
    command_cap: 637_000,
    read_cap: 637_000,
    write_cap: 637_000, // [E]
    write_ack_ns: 18_000,
    link_out: 3_200_000_000,
    link_in: 2_000_000_000,
    channels: 12,              // vendor
    channel_rate: 667_000_000, // [E]
    waf_percent: 482,          // 81 K
    ..TLC
};

/// 8.9 us with the host at depth 1 and 584.8 K at depth 16 (AnandTech 2017); 500 K writes (vendor).
pub(crate) const P4800X: FlashSpec = FlashSpec {
    dies: 28,
    read_ns: 3_500,
    fixed_ns: 3_600,
    command_cap: 585_000,
    read_cap: 585_000,
    write_cap: 500_000,
    write_ack_ns: 8_000,
    link_out: 2_400_000_000,
    link_in: 2_000_000_000,
    ..XPOINT
};

/// 1.5 M reads of 4 KiB (vendor, quoted), 5.1 M of 512 bytes (Axboe 2022), 1.3 M writes, 5 us (vendor, quoted).
pub(crate) const P5800X: FlashSpec = FlashSpec {
    dies: 64,
    read_ns: 2_000,
    fixed_ns: 2_200,
    command_cap: 5_100_000,
    read_cap: 1_500_000,
    write_cap: 1_300_000,
    write_ack_ns: 5_000,
    link_out: 7_200_000_000,
    link_in: 6_200_000_000,
    ..XPOINT
};

/// Consumer TLC: 19 K reads and 60 K writes at depth 1, 600 K and 550 K at depth 32, 42 GB of SLC cache, then 1.7 GB/s
/// (vendor). tPROG follows from the 1.7 GB/s without write amplification.
pub(crate) const EVO_970_PLUS: FlashSpec = FlashSpec {
    dies: 48,
    read_ns: 32_000,
    fixed_ns: 12_000,
    command_cap: 600_000,
    read_cap: 600_000,
    write_cap: 550_000,
    write_ack_ns: 10_000,
    link_out: 3_500_000_000,
    link_in: 3_300_000_000,
    channels: 8,
    channel_rate: 800_000_000, // as NVMeVirt's fit of its sibling
    program_ns: 1_850_000,
    slc_mb: 40_054,
    ..TLC
};

/// Consumer TLC, PCIe Gen4: 22 K reads and 60 K writes at depth 1, 1.0 M both, 114 GB of SLC cache, then 2 GB/s (vendor,
/// quoted). tPROG follows from the 2 GB/s.
pub(crate) const PRO_980: FlashSpec = FlashSpec {
    dies: 64,
    read_ns: 30_000,
    fixed_ns: 9_000,
    command_cap: 1_000_000,
    read_cap: 1_000_000,
    write_cap: 1_000_000,
    write_ack_ns: 8_000,
    link_out: 7_000_000_000,
    link_in: 5_000_000_000,
    channels: 8,
    channel_rate: 1_200_000_000, // [E]
    program_ns: 2_097_000,
    slc_mb: 108_719,
    ..TLC
};

/// Consumer MLC with two kinds of pages. tR 29.8 and 41.8 us, 21.5 us of firmware, 185 us for a program of 32 KiB, 8 channels
/// of 2 dies and 800 MB/s, 3.36 GB/s (NVMeVirt's fit of the drive).
pub(crate) const PRO_970: FlashSpec = FlashSpec {
    dies: 16,
    read_ns: 29_800,
    page_types: 2,
    read_step_ns: 12_000,
    fixed_ns: 21_500 + 5_120 + 1_219, // firmware, channel, link
    command_cap: 500_000,             // [E]
    read_cap: 500_000,
    write_cap: 500_000,
    write_ack_ns: 4_460,
    link_out: 3_360_000_000,
    link_in: 3_360_000_000,
    channels: 8,
    program_pages: 8,
    program_ns: 185_000,
    ..FlashSpec::PLAIN
};

/// One local disk of an i3 instance: 3.3 M reads by 8 of them (AWS, quoted by Aerospike 2017); 180 K writes (quoted);
/// 100 us and 39.4 us from D to C (blktrace of the linux-block thread of March 2022).
pub(crate) const AWS_I3: FlashSpec = FlashSpec {
    dies: 64,
    read_ns: 78_000,
    fixed_ns: 20_000,
    command_cap: 412_000,
    read_cap: 412_000,
    write_cap: 412_000,   // [E]
    write_ack_ns: 39_400, // mean of five traced writes; iostat prints 30 to 40 us
    link_out: 2_000_000_000,
    link_in: 750_000_000,
    channels: 16,              // [E]
    channel_rate: 400_000_000, // [E]
    waf_percent: 217,          // 180 K
    ..TLC
};

/// SAS SSD of 2014, the member of a RAID volume: the cap is inferred from the 1066 K IOPS of 8 of them (July 2018
/// report); everything else is an estimate. Its SAS link (1.1 GB/s) is one server with its front end; its channels are
/// never the limit, and their time is part of the fixed one.
pub(crate) const SAS_SSD: FlashSpec = FlashSpec {
    dies: 48,
    read_ns: 85_000,
    fixed_ns: 30_000,
    command_cap: 133_000,
    read_cap: 133_000,
    write_cap: 133_000,
    front_rate: 1_100_000_000,
    write_ack_ns: 40_000,
    program_pages: 4,
    waf_percent: 356, // 60 K
    ..MLC
};
