//! Counters to report.

use super::stats::{JobStats, Latencies, QueueStats};
use super::*;
use crate::sim::Sim;
use crate::topology::ObjectKind;
use crate::workload::Workload;
use std::collections::BTreeMap;

pub(crate) fn build(sim: &Sim) -> Report {
    let from = sim.stats.measured_from_ns;
    // A workload that is done ends with its last I/O, whatever timers are left over.
    let end_ns = if sim.workload_done() { sim.stats.last_ns } else { sim.now };
    let window_ns = end_ns.saturating_sub(from).max(1);
    let per_s = 1e9 / window_ns as f64;
    let jobs: Vec<JobReport> = sim
        .stats
        .jobs
        .iter()
        .enumerate()
        .map(|(i, stats)| job_report(sim.job_name(i), sim.processes(i), std::slice::from_ref(stats), per_s))
        .map(|job| with_loops(sim, job, window_ns))
        .collect();
    let processes = jobs.iter().map(|j| j.processes).sum();
    let total = job_report("all jobs".into(), processes, &sim.stats.jobs, per_s);
    let total = JobReport { loop_ns: jobs.first().map_or(0.0, |job| job.loop_ns), ..total };
    Report {
        title: sim.scenario.title.clone(),
        kernel: kernel_text(sim),
        end_ns,
        window_ns,
        events: sim.events,
        state_hash: format!("{:016x}", sim.state_hash()),
        cpu: cpu_report(sim, window_ns, total.ios),
        page_cache: page_cache_report(sim),
        objects: object_reports(sim, total.ios),
        queues: sim
            .stats
            .queues
            .iter()
            .zip(&sim.topology.queues)
            .map(|(stats, queue)| queue_report(&queue.name, stats, sim, end_ns.max(from), window_ns))
            .collect(),
        total,
        jobs,
        series: Series {
            bucket_ns: sim.stats.bucket_ns,
            ios: sim.stats.ios.clone(),
            bytes: sim.stats.bytes.clone(),
            lat_sum_ns: sim.stats.lat_sum_ns.clone(),
            dirty_bytes: sim.stats.dirty_series(sim.now),
            in_flight: sim.stats.course.in_flight(sim.now),
            spin_ns: sim.stats.course.spin_ns(),
            heat: sim.stats.course.heat(),
        },
        violations: sim.violations().to_vec(),
        warnings: {
            let mut warnings = sim.warnings.as_ref().clone();
            if end_ns <= from && from > 0 {
                warnings.push("the workload ended before the warm-up did: nothing was measured".into());
            }
            for (i, _) in sim.jobs.iter().enumerate().filter(|(i, _)| !sim.job_started(*i)) {
                let name = sim.job_name(i);
                warnings.push(format!("job '{name}' never started: the run ended before its turn"));
            }
            warnings
        },
    }
}

/// Adds the time of an execution of dbench.
fn with_loops(sim: &Sim, job: JobReport, window_ns: u64) -> JobReport {
    let Workload::Dbench(spec) = &sim.scenario.workload else { return job };
    let executions = job.fsyncs as f64 / f64::from(spec.segments);
    let loop_ns = if job.fsyncs == 0 { 0.0 } else { window_ns as f64 * f64::from(spec.clients) / executions };
    JobReport { loop_ns, ..job }
}

fn kernel_text(sim: &Sim) -> String {
    let mut text = sim.scenario.kernel.clone();
    for (name, value) in &sim.scenario.set {
        text.push_str(&format!(" {name}={value}"));
    }
    if sim.scenario.knobs().is_ok_and(|k| k != sim.knobs) {
        text.push_str(" (changed during the run)");
    }
    text
}

fn latency<'a>(parts: impl Iterator<Item = &'a Latencies>) -> Latency {
    let (mut sum_ns, mut min_ns, mut max_ns) = (0, u64::MAX, 0);
    let mut all: Option<hdrhistogram::Histogram<u32>> = None;
    for part in parts {
        sum_ns += part.sum_ns;
        min_ns = min_ns.min(part.min_ns);
        max_ns = max_ns.max(part.max_ns);
        match &mut all {
            None => all = Some(part.histogram.clone()),
            // Same bounds, so it cannot fail.
            Some(sum) => {
                let _ = sum.add(&part.histogram);
            }
        }
    }
    let Some(h) = all.filter(|h| !h.is_empty()) else { return Latency::default() };
    Latency {
        count: h.len(),
        mean_ns: sum_ns as f64 / h.len() as f64,
        min_ns,
        max_ns,
        percentiles_ns: PERCENTILES
            .iter()
            .map(|&p| h.value_at_quantile(p / 100.0).clamp(min_ns, max_ns))
            .collect(),
    }
}

fn job_report(name: String, processes: u32, parts: &[JobStats], per_s: f64) -> JobReport {
    let sum = |f: fn(&JobStats) -> u64| parts.iter().map(f).sum::<u64>();
    let ios = sum(|j| j.ios);
    JobReport {
        name,
        processes,
        ios,
        file_lock_waits: sum(|j| j.file_lock_waits),
        file_lock_wait_ns: sum(|j| j.file_lock_wait_ns) as f64 / ios.max(1) as f64,
        reads: sum(|j| j.reads),
        fsyncs: sum(|j| j.fsyncs),
        fsyncs_per_s: sum(|j| j.fsyncs) as f64 * per_s,
        fsync_ns: sum(|j| j.fsync_ns) as f64 / sum(|j| j.fsyncs).max(1) as f64,
        loop_ns: 0.0,
        iops: sum(|j| j.ios) as f64 * per_s,
        bandwidth: sum(|j| j.bytes) as f64 * per_s,
        slat: latency(parts.iter().map(|j| &j.slat)),
        clat: latency(parts.iter().map(|j| &j.clat)),
        lat: latency(parts.iter().map(|j| &j.lat)),
    }
}

fn queue_report(name: &str, q: &QueueStats, sim: &Sim, now_ns: u64, window_ns: u64) -> QueueReport {
    let per_s = 1e9 / window_ns as f64;
    let mean = |sum: u64| if q.requests == 0 { 0.0 } else { sum as f64 / q.requests as f64 };
    let (allocated, in_flight) = (q.allocated.at(now_ns), q.in_flight.at(now_ns));
    let (ticks_ns, queue_ns) = q.iostat.read(sim.stats.iostat_rules, now_ns, q.allocated.now);
    QueueReport {
        name: name.into(),
        requests_per_s: q.requests as f64 * per_s,
        merges_per_s: q.merges as f64 * per_s,
        mean_sectors: mean(q.sectors),
        await_ns: mean(q.q2c_ns - q.q2g_ns),
        aqu_sz: allocated.area as f64 / window_ns as f64,
        in_flight: in_flight.area as f64 / window_ns as f64,
        in_flight_max: in_flight.max,
        utilisation: in_flight.busy_ns as f64 / window_ns as f64,
        iostat_util: ticks_ns as f64 / window_ns as f64,
        iostat_aqu_sz: queue_ns as f64 / window_ns as f64,
        phases: Phases {
            q2g_ns: mean(q.q2g_ns),
            g2i_ns: mean(q.g2i_ns),
            i2d_ns: mean(q.i2d_ns),
            d2c_ns: mean(q.d2c_ns),
            q2c_ns: mean(q.q2c_ns),
        },
        direct_issued: q.direct_issued,
        inserted: q.inserted,
        requeued: q.requeued,
        foreign_dispatched: q.foreign_dispatched,
        runs: q.runs,
        empty_runs: q.empty_runs,
        delayed_runs: q.delayed_runs,
        works_delayed: q.works_delayed,
        works_put_off: q.works_put_off,
        tag_waits: q.tag_waits,
        wbt_waits: q.wbt_waits,
        flushes: q.flushes,
    }
}

fn page_cache_report(sim: &Sim) -> Option<PageCacheReport> {
    let (cache, stats) = (&sim.pagecache, &sim.stats.cache);
    if cache.inodes.is_empty() {
        return None;
    }
    let bytes = |pages: u64| pages * crate::pagecache::PAGE_BYTES;
    let dirtied = bytes(stats.dirtied);
    Some(PageCacheReport {
        background_bytes: bytes(cache.limits.background),
        free_run_bytes: bytes(cache.free_run()),
        limit_bytes: bytes(cache.limits.dirty),
        dirty_bytes: sim.stats.dirty_now,
        dirty_max_bytes: stats.dirty_max,
        written_bytes: stats.written_bytes,
        written_back_bytes: bytes(stats.written_back),
        kappa: if dirtied == 0 { 0.0 } else { stats.written_bytes as f64 / dirtied as f64 },
        throttles: stats.throttles,
        throttled_ns: stats.throttled_ns,
        hits: stats.hits,
        misses: stats.misses,
        chunks: stats.chunks,
        advice_skipped: stats.skipped,
    })
}

fn cpu_report(sim: &Sim, window_ns: u64, ios: u64) -> CpuReport {
    let per_io = |ns: u64| if ios == 0 { 0.0 } else { ns as f64 / ios as f64 };
    let sum = |f: &dyn Fn(&crate::host::Cpu) -> u64| sim.cpus.iter().map(f).sum::<u64>();
    let mut used = [0u64; 4];
    let mut unpaid = [0u64; 4];
    for (c, cpu) in sim.cpus.iter().enumerate() {
        for (m, ns) in sim.unpaid_ns(c, sim.now).into_iter().enumerate() {
            used[m] += cpu.used_ns[m];
            unpaid[m] += ns;
        }
    }
    let mode = |m: usize| used[m].saturating_sub(unpaid[m]);
    let spin = sum(&|c| c.spin_ns);
    let total = (0..4).map(mode).sum::<u64>() + spin;
    CpuReport {
        cpus: sim.cpus.len() as u32,
        busy_percent: total as f64 * 100.0 / (window_ns as f64 * sim.cpus.len() as f64),
        user_ns: per_io(mode(0)),
        system_ns: per_io(mode(1)),
        irq_ns: per_io(mode(2)),
        softirq_ns: per_io(mode(3)),
        spin_ns: per_io(spin),
        line_ns: per_io(sum(&|c| c.line_ns)),
        total_ns: per_io(total),
        context_switches_per_s: sum(&|c| c.switches) as f64 * 1e9 / window_ns as f64,
    }
}

fn object_reports(sim: &Sim, ios: u64) -> Vec<ObjectReport> {
    let mut classes: BTreeMap<&str, (ObjectReport, u64, u64)> = BTreeMap::new();
    for (object, info) in sim.objects.all.iter().zip(&sim.topology.objects) {
        let (r, contended, wait_ns) = classes.entry(&info.class).or_default();
        r.class.clone_from(&info.class);
        r.kind = if info.kind == ObjectKind::Lock { "lock".into() } else { "line".into() };
        r.members += 1;
        r.count += object.count;
        r.transfers += object.transfers;
        r.lost_ns += object.wait_ns + object.transfer_ns;
        *contended += object.contended;
        *wait_ns += object.wait_ns;
    }
    let mut all: Vec<ObjectReport> = classes
        .into_values()
        .filter(|(r, ..)| r.count > 0)
        .map(|(mut r, contended, wait_ns)| {
            r.per_io = if ios == 0 { 0.0 } else { r.count as f64 / ios as f64 };
            r.contended = contended as f64 / r.count as f64;
            r.mean_wait_ns = if contended == 0 { 0.0 } else { wait_ns as f64 / contended as f64 };
            r
        })
        .collect();
    all.sort_by(|a, b| b.lost_ns.cmp(&a.lost_ns).then_with(|| a.class.cmp(&b.class)));
    all
}
