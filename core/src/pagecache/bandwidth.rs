//! How fast a disk writes back and how fast its writers may dirty: the estimates of `mm/page-writeback.c`
//! (`wb_update_write_bandwidth`, `wb_update_dirty_ratelimit`, `wb_position_ratio`, `wb_max_pause`, `wb_min_pause`).
//!
//! Rates are pages a second. Left out: the shares of several disks in the limits (each disk balances against the whole),
//! memory control groups, and the limit that follows a shrinking memory slowly.

/// Rate that is assumed before anything was written, pages/s: 100 MiB/s (INIT_BW).
const RATE_AT_START: u64 = (100 << 20) / super::PAGE_BYTES;
/// The estimates are renewed after this time, ns (BANDWIDTH_INTERVAL, HZ / 5).
const INTERVAL_NS: u64 = 200_000_000;
/// Written pages are averaged over this time, ns (3 s, rounded up to a power of two of jiffies at HZ = 1000).
const PERIOD_NS: u64 = 4_096_000_000;
/// A longer pause between two looks starts the estimates anew, ns (one second).
const IDLE_NS: u64 = 1_000_000_000;
/// Longest pause of a writer, ns (MAX_PAUSE, HZ / 5).
const PAUSE_MAX_NS: u64 = 200_000_000;
/// Shortest pause aimed at while writers keep to the rate, ns (HZ / 100).
const PAUSE_AIM_NS: u64 = 10_000_000;
/// Fewest pages between two looks at the balance (DIRTY_POLL_THRESH, 128 KiB).
pub(super) const LOOK_PAGES_MIN: u64 = 32;
/// Binary digits behind the point of a ratio (RATELIMIT_CALC_SHIFT).
const SHIFT: u32 = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// The estimates for one disk (`struct bdi_writeback`).
#[derive(Clone, Debug, Hash)]
pub(crate) struct Bandwidth {
    /// Pages dirtied and written in all.
    pub dirtied: u64,
    pub written: u64,
    since_ns: u64,
    dirtied_before: u64,
    written_before: u64,
    /// Rate at which the disk writes; the same, smoothed.
    write: u64,
    write_smooth: u64,
    /// Rate that each writer may have; and the one that would balance.
    rate: u64,
    balanced: u64,
}

/// How full the cache is: pages dirty or under writeback, below what nobody is throttled, and the most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub dirty: u64,
    pub free_run: u64,
    pub limit: u64,
}

impl Level {
    fn set_point(self) -> u64 {
        self.free_run.midpoint(self.limit)
    }

    /// What the rate is multiplied by, in units of 2^-[`SHIFT`]: 1 at the set point, 0 at the limit, by a cubic curve.
    fn ratio(self) -> u64 {
        if self.dirty >= self.limit {
            return 0;
        }
        let set_point = self.set_point();
        let off = i128::from(set_point) - i128::from(self.dirty);
        let x = (off << SHIFT) / i128::from((self.limit - set_point) | 1);
        let cubed = (((x * x) >> SHIFT) * x) >> SHIFT;
        (cubed + (1 << SHIFT)).clamp(0, 2 << SHIFT) as u64
    }
}

/// What a writer has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Rate of this writer, pages/s; 0: it may not go on at all.
    pub rate: u64,
    /// Shorter pauses are saved up; longer ones are cut.
    pub pause_min_ns: u64,
    pub pause_max_ns: u64,
    /// After how many pages it looks again.
    pub look_pages: u64,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self {
            dirtied: 0,
            written: 0,
            since_ns: 0,
            dirtied_before: 0,
            written_before: 0,
            write: RATE_AT_START,
            write_smooth: RATE_AT_START,
            rate: RATE_AT_START,
            balanced: RATE_AT_START,
        }
    }
}

impl Bandwidth {
    /// Smoothed rate of writing, pages/s.
    pub(super) fn write_smooth(&self) -> u64 {
        self.write_smooth
    }

    /// Renews the estimates if it is time to.
    pub(super) fn update(&mut self, now: u64, level: Level) {
        let elapsed = now - self.since_ns;
        if elapsed < INTERVAL_NS {
            return;
        }
        if elapsed <= IDLE_NS {
            self.update_rate(elapsed, level);
            self.update_write(elapsed);
        }
        (self.since_ns, self.dirtied_before, self.written_before) = (now, self.dirtied, self.written);
    }

    fn update_write(&mut self, elapsed: u64) {
        let per_s = |pages: u64| u128::from(pages) * u128::from(SECOND_NS);
        let written = per_s(self.written - self.written_before);
        let kept = u128::from(self.write) * u128::from(PERIOD_NS - elapsed.min(PERIOD_NS));
        let was = self.write;
        self.write = ((written + kept) / u128::from(PERIOD_NS.max(elapsed))) as u64;
        // Only a move in the same direction twice is believed.
        let smooth = self.write_smooth;
        if smooth > was && was >= self.write {
            self.write_smooth -= (smooth - was) / 8;
        } else if smooth < was && was <= self.write {
            self.write_smooth += (was - smooth) / 8;
        }
        self.write_smooth = self.write_smooth.max(1);
    }

    fn update_rate(&mut self, elapsed: u64, level: Level) {
        let dirtied = u128::from(self.dirtied - self.dirtied_before) * u128::from(SECOND_NS);
        let dirty_rate = (dirtied / u128::from(elapsed)) as u64;
        let task_rate = ((self.rate * level.ratio()) >> SHIFT) + 1;
        let balanced = u128::from(task_rate) * u128::from(self.write) / u128::from(dirty_rate | 1);
        let balanced = (balanced as u64).min(self.write);
        // The rate follows where all signs agree, by an eighth of the way, and not at all over a small difference.
        let below = level.dirty < level.set_point();
        let target = if below {
            self.balanced.min(balanced).min(task_rate)
        } else {
            self.balanced.max(balanced).max(task_rate)
        };
        let up = below && self.rate < target;
        let down = !below && self.rate > target;
        let gap = if up || down { self.rate.abs_diff(target) } else { 0 };
        let shift = self.rate / (2 * gap + 1);
        let step = if shift < 64 { (gap >> shift).div_ceil(8) } else { 0 };
        self.rate = if up { self.rate + step } else { self.rate.saturating_sub(step) }.max(1);
        self.balanced = balanced;
    }

    /// The pace of a writer. `dirty` are the pages of this disk that are dirty or under writeback.
    pub(super) fn pace(&self, level: Level, dirty: u64) -> Pace {
        let rate = (self.rate * level.ratio()) >> SHIFT;
        // An eighth of the time in which the disk would be done, so that a slow writer never leaves it idle.
        let most = u128::from(dirty) * u128::from(SECOND_NS) / u128::from(8 * self.write_smooth + 1);
        let most = (most as u64 + 1_000_000).min(PAUSE_MAX_NS);
        // The slower each writer is against the disk, the more writers there are, and the longer they rest.
        let slower = self.write_smooth.max(1).ilog2().saturating_sub(self.rate.max(1).ilog2());
        let mut aim = (PAUSE_AIM_NS + u64::from(slower) * PAUSE_AIM_NS).min(1_000_000 + most / 2);
        let pages_in =
            |rate: u64, ns: u64| (u128::from(rate) * u128::from(ns) / u128::from(SECOND_NS)) as u64;
        let mut pages = pages_in(self.rate, aim);
        if pages < LOOK_PAGES_MIN {
            aim = most;
            pages = pages_in(self.rate, aim);
            if pages > LOOK_PAGES_MIN {
                pages = LOOK_PAGES_MIN;
                aim = SECOND_NS * LOOK_PAGES_MIN / self.rate;
            }
        }
        if u128::from(pages) * u128::from(SECOND_NS) / u128::from(rate + 1) > u128::from(most) {
            aim = most;
            pages = pages_in(rate, aim);
        }
        let pause_min_ns = if pages >= LOOK_PAGES_MIN { 1_000_000 + aim / 2 } else { aim };
        Pace { rate, pause_min_ns, pause_max_ns: most, look_pages: pages.max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Level = Level { dirty: 0, free_run: 15_000, limit: 20_000 };

    #[test]
    fn the_ratio_is_two_at_the_free_run_one_at_the_set_point_and_nothing_at_the_limit() {
        let at = |dirty| Level { dirty, ..LEVEL }.ratio();
        assert_eq!((at(17_500), at(20_000), at(25_000)), (1024, 0, 0));
        assert!(at(15_000).abs_diff(2048) <= 4, "{}", at(15_000));
        assert!((15_000..20_000).all(|dirty| at(dirty) >= at(dirty + 1)), "it never rises");
    }

    #[test]
    fn writers_settle_at_the_rate_of_the_disk() {
        // Two writers at the rate they are told, every 10 ms; a disk of 10 000 pages/s.
        let (mut bandwidth, mut dirty) = (Bandwidth::default(), 17_500u64);
        for n in 1..6_000u64 {
            let pace = bandwidth.pace(Level { dirty, ..LEVEL }, dirty);
            let dirtied = 2 * pace.rate / 100;
            bandwidth.dirtied += dirtied;
            bandwidth.written += 100;
            dirty = dirty + dirtied - 100;
            bandwidth.update(n * 10_000_000, Level { dirty, ..LEVEL });
        }
        let level = Level { dirty, ..LEVEL };
        let pace = bandwidth.pace(level, dirty);
        assert!(pace.rate.abs_diff(5_000) < 250, "{pace:?}");
        assert!((LEVEL.free_run..LEVEL.limit).contains(&dirty), "{dirty}");
        assert!(pace.pause_max_ns <= PAUSE_MAX_NS && pace.pause_min_ns <= pace.pause_max_ns, "{pace:?}");
    }
}
