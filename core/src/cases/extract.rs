//! Metrics taken from a report.

use super::metric::{Kind, Metric, Of};
use crate::report::{JobReport, PERCENTILES, QueueReport, Report};

impl Metric {
    /// The number; `None` if the report has no such job or disk, or nothing that the number could be of.
    pub fn of_report(&self, report: &Report) -> Option<f64> {
        let value = match self.kind.of() {
            Of::Job => of_job(self.kind, self.job(report)?),
            Of::Disk => self.of_disks(report)?,
            Of::Machine => of_machine(self.kind, report),
        };
        value.is_finite().then_some(value)
    }

    fn job<'a>(&self, report: &'a Report) -> Option<&'a JobReport> {
        match &self.of {
            None => Some(&report.total),
            Some(name) => report.jobs.iter().find(|job| job.name == *name),
        }
    }

    fn of_disks(&self, report: &Report) -> Option<f64> {
        let seconds = report.window_ns as f64 / 1e9;
        if let Some(name) = &self.of {
            let disk = report.queues.iter().find(|queue| queue.name == *name)?;
            return Some(of_disk(self.kind, disk, seconds));
        }
        let each = report.queues.iter().map(|q| (of_disk(self.kind, q, seconds), q.requests_per_s));
        let values: Vec<(f64, f64)> = each.filter(|(value, _)| value.is_finite()).collect();
        Some(match adds_up(self.kind) {
            true => values.iter().map(|(value, _)| value).sum(),
            false => {
                let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
                values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight
            }
        })
    }
}

/// Whether the number of several disks is the sum of theirs.
fn adds_up(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::MergedPercent | Kind::MeanKib | Kind::AwaitUs | Kind::UtilPercent | Kind::IostatUtilPercent
    )
}

fn percentile(job: &JobReport, percent: f64) -> f64 {
    let index = PERCENTILES.iter().position(|p| *p == percent);
    index.and_then(|i| job.clat.percentiles_ns.get(i)).map_or(f64::NAN, |ns| *ns as f64)
}

fn of_job(kind: Kind, job: &JobReport) -> f64 {
    let share = |ios: u64| job.iops * ios as f64 / job.ios.max(1) as f64;
    let mean = |latency: &crate::report::Latency| match latency.count {
        0 => f64::NAN,
        _ => latency.mean_ns / 1e3,
    };
    match kind {
        Kind::Iops => job.iops,
        Kind::ReadsPerS => share(job.reads),
        Kind::WritesPerS => share(job.ios - job.reads),
        Kind::MbPerS => job.bandwidth / 1e6,
        Kind::SlatMeanUs => mean(&job.slat),
        Kind::ClatMeanUs => mean(&job.clat),
        Kind::ClatP50Us => percentile(job, 50.0) / 1e3,
        Kind::ClatP99Us => percentile(job, 99.0) / 1e3,
        Kind::LatMeanUs => mean(&job.lat),
        Kind::FsyncsPerS => job.fsyncs_per_s,
        Kind::LoopMs => job.loop_ns / 1e6,
        _ => f64::NAN,
    }
}

fn of_machine(kind: Kind, report: &Report) -> f64 {
    let cpu = &report.cpu;
    match kind {
        Kind::CpuBusyPercent => cpu.busy_percent,
        Kind::CpuSystemPercent => cpu.busy_percent * (1.0 - cpu.user_ns / cpu.total_ns),
        Kind::CpuNsPerIo => cpu.total_ns,
        Kind::LockPercent => 100.0 * cpu.spin_ns / cpu.total_ns,
        Kind::ContextSwitchesPerS => cpu.context_switches_per_s,
        _ => f64::NAN,
    }
}

fn of_disk(kind: Kind, disk: &QueueReport, seconds: f64) -> f64 {
    match kind {
        Kind::RequestsPerS => disk.requests_per_s,
        Kind::MergesPerS => disk.merges_per_s,
        Kind::MergedPercent => 100.0 * disk.merges_per_s / (disk.merges_per_s + disk.requests_per_s),
        Kind::MeanKib => disk.mean_sectors / 2.0,
        Kind::AwaitUs => disk.await_ns / 1e3,
        Kind::AquSz => disk.aqu_sz,
        Kind::InFlight => disk.in_flight,
        Kind::UtilPercent => disk.utilisation * 100.0,
        Kind::IostatUtilPercent => disk.iostat_util * 100.0,
        Kind::IostatAquSz => disk.iostat_aqu_sz,
        Kind::DelayedRunsPerS => disk.delayed_runs as f64 / seconds,
        Kind::TagWaitsPerS => disk.tag_waits as f64 / seconds,
        Kind::RequeuesPerS => disk.requeued as f64 / seconds,
        Kind::FlushesPerS => disk.flushes as f64 / seconds,
        _ => f64::NAN,
    }
}
