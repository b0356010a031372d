//! What `/proc/diskstats` would count: io_ticks and time_in_queue, from which iostat prints %util and aqu-sz. Each
//! kernel counts them otherwise, in jiffies, so they stand beside the exact levels and do not replace them.

use crate::kernel::{IoTicks, Knobs, QueueTime};

/// CONFIG_HZ of most distributions of those years.
const DEFAULT_HZ: u32 = 250;

/// How a kernel counts.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Rules {
    io_ticks: IoTicks,
    queue_time: QueueTime,
    jiffy_ns: u64,
}

impl Rules {
    /// Those of a row of knobs; `hz` is the kernel's CONFIG_HZ, 0 for [`DEFAULT_HZ`].
    pub(crate) fn new(knobs: &Knobs, hz: u32) -> Self {
        let jiffy_ns = 1_000_000_000 / u64::from(if hz == 0 { DEFAULT_HZ } else { hz });
        Self { io_ticks: knobs.io_ticks, queue_time: knobs.queue_time, jiffy_ns }
    }
}

/// The two counters of a disk.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Iostat {
    /// Jiffy in which io_ticks was last looked at (part->stamp, bd_stamp).
    stamp: u64,
    /// io_ticks, ns (whole jiffies).
    busy_ns: u64,
    /// time_in_queue, ns.
    queue_ns: u64,
}

impl Iostat {
    /// A request begins while `others` exist (blk_account_io_start).
    pub(crate) fn start(&mut self, rules: Rules, now_ns: u64, others: u32) {
        self.look(rules, now_ns, others, false);
    }

    /// A request that took so long ends; `in_flight` counts it (blk_account_io_done).
    pub(crate) fn end(&mut self, rules: Rules, now_ns: u64, in_flight: u32, took_ns: u64) {
        self.look(rules, now_ns, in_flight, true);
        self.queue_ns += match rules.queue_time {
            QueueTime::Sampled => 0,
            QueueTime::WholeJiffies => took_ns - took_ns % rules.jiffy_ns,
            QueueTime::Exact => took_ns,
        };
    }

    /// Counters are read: part_round_stats is called for it where it exists (diskstats_show).
    pub(crate) fn read(&self, rules: Rules, now_ns: u64, in_flight: u32) -> (u64, u64) {
        let mut seen = self.clone();
        if rules.io_ticks == IoTicks::Sampled {
            seen.look(rules, now_ns, in_flight, true);
        }
        (seen.busy_ns, seen.queue_ns)
    }

    /// Begins to count anew; the stamp stays where it is.
    pub(crate) fn restart(&mut self) {
        (self.busy_ns, self.queue_ns) = (0, 0);
    }

    fn look(&mut self, rules: Rules, now_ns: u64, in_flight: u32, end: bool) {
        let now = now_ns / rules.jiffy_ns;
        let passed = now - self.stamp;
        if passed == 0 {
            return;
        }
        self.stamp = now;
        let ticks = match rules.io_ticks {
            IoTicks::Sampled if in_flight == 0 => 0,
            IoTicks::Sampled => passed,
            IoTicks::OneATouch => 1,
            IoTicks::SpanAtEnd if end => passed,
            IoTicks::SpanAtEnd => 1,
            IoTicks::InFlight if end || in_flight > 0 => passed,
            IoTicks::InFlight => 0,
        };
        self.busy_ns += ticks * rules.jiffy_ns;
        if rules.queue_time == QueueTime::Sampled {
            self.queue_ns += u64::from(in_flight) * passed * rules.jiffy_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::row;

    const JIFFY: u64 = 1_000_000;

    /// `n` requests one after the other, each `took` ns with a pause of `pause` ns behind it; share of the time that io_ticks
    /// shows, and aqu-sz.
    fn shown(kernel: &str, n: u64, took: u64, pause: u64) -> (f64, f64) {
        let rules = Rules::new(&row(kernel).expect("a row").knobs, 1000);
        let mut iostat = Iostat::default();
        let mut now = 0;
        for _ in 0..n {
            iostat.start(rules, now, 0);
            now += took;
            iostat.end(rules, now, 1, took);
            now += pause;
        }
        let (busy_ns, queue_ns) = iostat.read(rules, now, 0);
        (busy_ns as f64 / now as f64, queue_ns as f64 / now as f64)
    }

    #[test]
    fn a_slow_disk_that_is_always_busy_shows_a_tick_an_io_from_5_0_to_5_6() {
        let took = 12_100_000;
        let (util, queue) = shown("5.4", 100, took, 0);
        assert!((util - 1.0 / 12.1).abs() < 0.002, "{util}");
        assert!((queue - 12.0 / 12.1).abs() < 1e-9, "whole jiffies: {queue}");
        for kernel in ["4.19", "5.10", "6.18"] {
            assert!(shown(kernel, 100, took, 0).0 > 0.999, "{kernel}");
        }
    }

    #[test]
    fn a_short_io_in_every_jiffy_shows_a_full_one_until_6_9() {
        let (took, pause) = (70_000, JIFFY - 70_000);
        assert!(shown("5.4", 1000, took, pause).0 > 0.99);
        assert!(shown("6.1", 1000, took, pause).0 > 0.99);
        // A start that finds nothing in flight counts nothing, and no request here spans a tick.
        assert!(shown("6.12", 1000, took, pause).0 < 0.01);
        assert!(shown("4.19", 1000, took, pause).0 < 0.01);
    }

    #[test]
    fn time_in_queue_loses_what_is_shorter_than_a_jiffy_from_5_0_to_5_6() {
        let aqu = |kernel| shown(kernel, 1000, 900_000, 0).1;
        assert_eq!(aqu("5.4"), 0.0);
        assert!((aqu("5.10") - 1.0).abs() < 1e-9);
    }
}
