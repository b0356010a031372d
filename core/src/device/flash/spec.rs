//! Constants of a flash unit.

use crate::device::params::spec;

/// Longest time a constant can name, ns.
const MS_100: u64 = 100_000_000;
/// Most commands or pages a second.
const RATE_MAX: u64 = 100_000_000;
/// Fastest link, bytes per second.
const LINK_MAX: u64 = 1_000_000_000_000;
/// Bytes of the page that reads and rates are counted in.
pub(crate) const PAGE: u32 = 4096;

spec! {
/// Constants of a flash unit, from the preset table. A 4 KiB read at queue depth 1 takes `fixed_ns + read_ns`.
pub(crate) struct FlashSpec {
    pub dies: u32 = 1, 1024;
    /// tR of the fastest kind of page, ns.
    pub read_ns: u64 = 0, MS_100;
    /// Kinds of pages (bits of a cell), evenly mixed; further kinds take longer.
    pub page_types: u32 = 1, 3;
    /// How much longer the second kind takes than the first, ns. The third takes three times as much longer.
    pub read_step_ns: u64 = 0, MS_100;
    /// All times of a 4 KiB read but the die's together (fetch, front end, channel, firmware, link), ns.
    pub fixed_ns: u64 = 0, MS_100;
    /// Commands per second that the front end parses, whatever their size.
    pub command_cap: u64 = 1, RATE_MAX;
    /// Commands that the controller holds at a time: it fetches no more while these have not left. A member of a RAID
    /// volume is given what its adapter sends.
    pub command_slots: u32 = 1, 65_536;
    /// 4 KiB reads per second that the front end passes on.
    pub read_cap: u64 = 1, RATE_MAX;
    /// Bytes per second that the front end passes on (a SAS link counts here); larger commands take longer.
    pub front_rate: u64 = 1_000_000, LINK_MAX;
    /// Write acknowledged after, ns.
    pub write_ack_ns: u64 = 0, MS_100;
    /// 4 KiB writes per second that the front end passes on; what the dies sustain follows from their programs.
    pub write_cap: u64 = 1, RATE_MAX;
    /// Link, bytes per second, to the host and from it. 0: its time is only part of the fixed times.
    pub link_out: u64 = 0, LINK_MAX;
    pub link_in: u64 = 0, LINK_MAX;
    /// Channels between dies and controller; die d is at channel d modulo their number. 0: their time is only part of
    /// the fixed time.
    pub channels: u32 = 0, 64;
    /// Bytes per second on a channel.
    pub channel_rate: u64 = 1, LINK_MAX;
    /// 4 KiB pages that the write buffer holds.
    pub buffer_pages: u32 = 1, 1_000_000;
    /// 4 KiB pages in one program.
    pub program_pages: u32 = 1, 1024;
    /// tPROG, ns.
    pub program_ns: u64 = 1, MS_100;
    /// Pages programmed for each page written, percent: garbage collection in steady state.
    pub waf_percent: u32 = 100, 10_000;
    /// Longest wait of a read for a program to be suspended, ns.
    pub suspend_ns: u64 = 0, MS_100;
    /// Programs that cannot be suspended, percent: a read waits for their end.
    pub unsuspended_percent: u32 = 0, 100;
    /// MiB that are first written as single-level cells, without garbage collection; 0: none.
    pub slc_mb: u32 = 0, 1_000_000;
    /// tPROG of these, ns.
    pub slc_program_ns: u64 = 1, MS_100;
    /// The front end stands still for so long, ns, once in every `pause_every_ns`; 0: never.
    pub pause_ns: u64 = 0, MS_100;
    pub pause_every_ns: u64 = 1, 3_600_000_000_000;
    /// Completions that are held back for one interrupt (feature 08h, THR + 1); 1: none is.
    pub coalesce_threshold: u32 = 1, 256;
    /// Longest time for which the oldest of them is held back, us; hardware counts in steps of 100.
    pub coalesce_time_us: u32 = 0, 25_500;
}
}

impl FlashSpec {
    /// A unit of which only the first times are known: one kind of pages, no channels, no link, nothing optional.
    pub(crate) const PLAIN: Self = Self {
        dies: 1,
        read_ns: 0,
        page_types: 1,
        read_step_ns: 0,
        fixed_ns: 0,
        command_cap: RATE_MAX,
        command_slots: 512, // [E]: of the order of MQSim's Queue_Fetch_Size, which counts for each queue
        read_cap: RATE_MAX,
        front_rate: LINK_MAX,
        write_ack_ns: 0,
        write_cap: RATE_MAX,
        link_out: 0,
        link_in: 0,
        channels: 0,
        channel_rate: 800_000_000,
        buffer_pages: 1024,
        program_pages: 16,
        program_ns: 1,
        waf_percent: 100,
        suspend_ns: 50_000,
        unsuspended_percent: 10,
        slc_mb: 0,
        slc_program_ns: 200_000,
        pause_ns: 0,
        pause_every_ns: 1_000_000_000,
        coalesce_threshold: 1,
        coalesce_time_us: 0,
    };

    /// tR of pages of this kind (0 first), ns: the steps between threshold voltages grow with the number of senses.
    pub(crate) fn read_ns_of(&self, kind: u64) -> u64 {
        self.read_ns + self.read_step_ns * (kind * (kind + 1) / 2)
    }

    /// How long a die is busy for one program of pages written, ns; `slc`: as single-level cells.
    pub(crate) fn program_busy_ns(&self, slc: bool) -> u64 {
        if slc { self.slc_program_ns } else { self.program_ns * u64::from(self.waf_percent) / 100 }
    }

    /// tPROG, ns.
    pub(crate) fn tprog_ns(&self, slc: bool) -> u64 {
        if slc { self.slc_program_ns } else { self.program_ns }
    }

    /// Time of the front end for a command of `bytes`, ns.
    pub(crate) fn front_ns(&self, write: bool, bytes: u32) -> u64 {
        let cap = if write { self.write_cap } else { self.read_cap };
        // Further pages of a command are looked up while the first are under way.
        let page = u64::from(bytes.min(PAGE)) * 1_000_000_000 / (cap * u64::from(PAGE));
        page.max(1_000_000_000 / self.command_cap).max(bytes_ns(bytes, self.front_rate))
    }

    /// Time on a channel for `bytes`, ns; 0 without channels.
    pub(crate) fn channel_ns(&self, bytes: u32) -> u64 {
        if self.channels == 0 { 0 } else { bytes_ns(bytes, self.channel_rate) }
    }
}

/// Time for `bytes` at `rate` bytes per second, ns; 0 for rate 0, which stands for no station.
pub(crate) fn bytes_ns(bytes: u32, rate: u64) -> u64 {
    (u64::from(bytes) * 1_000_000_000).checked_div(rate).unwrap_or(0)
}
