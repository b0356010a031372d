//! What happened when: counters in equal buckets of time over the whole run, for charts.

use super::{Heat, stats::BUCKETS};

/// Columns of the heat map; each is as wide as some buckets.
const HEAT_COLUMNS: usize = 50;
/// Classes of latency: four in an octave, from 1 us to 16 s.
const HEAT_CLASSES: usize = 96;
const HEAT_FIRST_OCTAVE: u32 = 10;

/// Counters that no other number is made of. They follow from what the state hash holds, so they are not in it.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    bucket_ns: u64,
    /// Requests between D and C, all disks, and since when there are so many.
    in_flight: u32,
    since_ns: u64,
    /// Their integral over each bucket.
    in_flight_area: Vec<u64>,
    /// Time that CPUs spun for locks, ns.
    spin_ns: Vec<u64>,
    /// I/Os by class of latency, then by column.
    heat: Vec<u32>,
}

/// Calls `f` with each bucket that a span of time lies in and how much of it does, ns. What lies behind the last bucket
/// counts for it.
fn spread(bucket_ns: u64, from_ns: u64, to_ns: u64, mut f: impl FnMut(usize, u64)) {
    let mut at = from_ns;
    while at < to_ns {
        let bucket = ((at / bucket_ns) as usize).min(BUCKETS - 1);
        let end = if bucket + 1 < BUCKETS { ((bucket as u64 + 1) * bucket_ns).min(to_ns) } else { to_ns };
        f(bucket, end - at);
        at = end;
    }
}

fn class_of(ns: u64) -> usize {
    let octave = (ns | 1).ilog2();
    if octave < HEAT_FIRST_OCTAVE {
        return 0;
    }
    let quarter = (ns >> (octave - 2) & 3) as usize;
    ((octave - HEAT_FIRST_OCTAVE) as usize * 4 + quarter).min(HEAT_CLASSES - 1)
}

/// Smallest latency of a class, ns; the first one holds all below it too.
fn low_ns(class: usize) -> u64 {
    let octave = 1u64 << (HEAT_FIRST_OCTAVE as usize + class / 4);
    octave + octave / 4 * (class as u64 % 4)
}

impl Course {
    pub(crate) fn new(bucket_ns: u64) -> Self {
        Self {
            bucket_ns,
            in_flight: 0,
            since_ns: 0,
            in_flight_area: vec![0; BUCKETS],
            spin_ns: vec![0; BUCKETS],
            heat: vec![0; HEAT_CLASSES * HEAT_COLUMNS],
        }
    }

    /// So many requests more, or fewer, are in flight from now on.
    pub(crate) fn flight(&mut self, now_ns: u64, change: i32) {
        let (area, level) = (&mut self.in_flight_area, u64::from(self.in_flight));
        if level > 0 {
            spread(self.bucket_ns, self.since_ns, now_ns, |bucket, ns| area[bucket] += ns * level);
        }
        self.since_ns = now_ns;
        self.in_flight = self.in_flight.wrapping_add_signed(change);
    }

    /// A CPU has spun from one time to another.
    pub(crate) fn spun(&mut self, from_ns: u64, to_ns: u64) {
        let spin = &mut self.spin_ns;
        spread(self.bucket_ns, from_ns, to_ns, |bucket, ns| spin[bucket] += ns);
    }

    /// An I/O of which the application has taken note in `bucket` took `lat_ns`.
    pub(crate) fn reaped(&mut self, bucket: usize, lat_ns: u64) {
        let column = bucket * HEAT_COLUMNS / BUCKETS;
        self.heat[class_of(lat_ns) * HEAT_COLUMNS + column] += 1;
    }

    /// Mean requests in flight over each bucket, up to `now_ns`.
    pub(crate) fn in_flight(&self, now_ns: u64) -> Vec<f64> {
        let mut course = self.clone();
        course.flight(now_ns, 0);
        let part = |bucket: usize| now_ns.saturating_sub(bucket as u64 * self.bucket_ns).min(self.bucket_ns);
        let mean = |(bucket, area): (usize, &u64)| *area as f64 / part(bucket).max(1) as f64;
        course.in_flight_area.iter().enumerate().map(mean).collect()
    }

    /// Time spun in each bucket, ns.
    pub(crate) fn spin_ns(&self) -> Vec<u64> {
        self.spin_ns.clone()
    }

    /// The heat map: the classes from the lowest to the highest that has any I/O.
    pub(crate) fn heat(&self) -> Heat {
        let row = |class: usize| &self.heat[class * HEAT_COLUMNS..][..HEAT_COLUMNS];
        let used = |class: &usize| row(*class).iter().any(|n| *n > 0);
        let column_ns = self.bucket_ns * (BUCKETS / HEAT_COLUMNS) as u64;
        let (Some(first), Some(last)) = ((0..HEAT_CLASSES).find(used), (0..HEAT_CLASSES).rfind(used)) else {
            return Heat { column_ns, ..Heat::default() };
        };
        Heat {
            column_ns,
            low_ns: (first..=last).map(low_ns).collect(),
            counts: (first..=last).map(|class| row(class).to_vec()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_without_a_gap_and_hold_what_is_above_them_and_below() {
        for class in 1..HEAT_CLASSES {
            assert_eq!(class_of(low_ns(class)), class);
            assert_eq!(class_of(low_ns(class) - 1), class - 1);
        }
        assert_eq!((class_of(0), class_of(500), class_of(u64::MAX)), (0, 0, HEAT_CLASSES - 1));
    }

    #[test]
    fn levels_and_spans_are_spread_over_the_buckets_they_lie_in() {
        let mut course = Course::new(100);
        course.flight(50, 1);
        course.flight(150, 1);
        course.flight(300, -2);
        assert_eq!(course.in_flight(400)[..4], [0.5, 1.5, 2.0, 0.0]);
        course.spun(90, 210);
        assert_eq!(course.spin_ns()[..3], [10, 100, 10]);
        // Behind the end of the last bucket.
        course.spun(100 * BUCKETS as u64 + 5, 100 * BUCKETS as u64 + 15);
        assert_eq!(course.spin_ns()[BUCKETS - 1], 10);
    }

    #[test]
    fn the_heat_map_has_the_classes_between_the_fastest_and_the_slowest() {
        let mut course = Course::new(100);
        course.reaped(0, 5_000);
        course.reaped(BUCKETS - 1, 9_000);
        course.reaped(BUCKETS - 1, 9_100);
        let heat = course.heat();
        assert_eq!(heat.low_ns, [4_096, 5_120, 6_144, 7_168, 8_192]);
        assert_eq!((heat.counts[0][0], heat.counts[4][HEAT_COLUMNS - 1]), (1, 2));
        assert_eq!(heat.counts.iter().flatten().sum::<u32>(), 3);
        assert!(Course::new(100).heat().counts.is_empty());
    }

    #[test]
    fn the_course_of_a_run_adds_up_to_its_report() {
        let mut compared = 0;
        for name in ["seed-000", "seed-003", "nvme-doorbell", "deadline-lock", "plug-merge"] {
            for (label, scenario) in crate::cases::case(name).expect("the case").sides() {
                let mut sim = crate::Sim::new(&scenario).expect("the run can be built");
                sim.run_until(3_000_000);
                let report = sim.report();
                let (series, name) = (&report.series, format!("{name} ({label})"));
                if report.window_ns != report.end_ns {
                    continue; // what the report measures begins after the ramp
                }
                compared += 1;
                let passed = |i: usize| {
                    (report.end_ns.saturating_sub(i as u64 * series.bucket_ns)).min(series.bucket_ns) as f64
                };
                let area: f64 = series.in_flight.iter().enumerate().map(|(i, n)| n * passed(i)).sum();
                let in_flight: f64 = report.queues.iter().map(|q| q.in_flight).sum();
                assert!(
                    (area / report.end_ns as f64 - in_flight).abs() < 1e-6 * in_flight,
                    "{name}: {in_flight}"
                );
                let spun: u64 = series.spin_ns.iter().sum();
                let said = report.cpu.spin_ns * report.total.ios as f64;
                assert!((spun as f64 - said).abs() < 1.0, "{name}: {spun} of {said}");
                let ios: u64 = series.heat.counts.iter().flatten().map(|n| u64::from(*n)).sum();
                assert_eq!(ios, report.total.ios, "{name}");
            }
        }
        assert!(compared >= 5, "{compared}");
    }
}
