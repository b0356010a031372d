//! Constants of the rotating disks.

use super::HddSpec;

/// A SATA disk of 7200 turns a minute. Outer rate: data sheet of the ST1000DM010; inner rate in the ratio of the nearline disk
/// [E]. Seek curve: the shape of five measured drives (DiskSim's tables), solved for 0.83 ms to the next cylinder, 8.2 ms on
/// average and 17.0 ms at most, where data sheets say 8.5 ms [E]. Link, times of a command on it and of a cache hit: fitted
/// to a consumer disk by ublk-disksim. The rest is estimated, with its range.
pub(crate) const DESKTOP: HddSpec = HddSpec {
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
pub(crate) const NEARLINE: HddSpec = HddSpec {
    outer_rate: 175_000_000,
    inner_rate: 83_000_000,
    cylinders: 320_800,
    dirty_limit: 64 << 20,
    segments: 32,
    ..DESKTOP
};
