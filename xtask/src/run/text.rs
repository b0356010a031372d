//! A report as text for people.

use mqscope_core::cases::Case;
use mqscope_core::check::Violation;
use mqscope_core::report::{
    CpuReport, JobReport, Latency, ObjectReport, PERCENTILES, PageCacheReport, QueueReport, Report,
};
use std::fmt::{self, Write as _};

/// Classes of locks and lines shown; the JSON form has all.
const OBJECTS_SHOWN: usize = 16;

/// The whole report. The label is that of a preset's side.
pub fn report(label: &str, report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    _ = write(&mut out, label, report);
    out
}

/// A preset's numbers beside those that were published.
pub fn published(case: &Case, reports: &[Report]) -> String {
    let mut out = String::new();
    _ = table(&mut out, case, reports);
    out
}

fn table(out: &mut String, case: &Case, reports: &[Report]) -> fmt::Result {
    if reports.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", case.title)?;
    if !case.source.is_empty() {
        writeln!(out, "published: {}\nassumed: {}", case.source, case.assumed)?;
    }
    let or_dash = |value: Option<f64>| value.map_or_else(|| String::from("-"), number);
    for table in &case.published {
        writeln!(out, "{:<40}{:>12}{:>12}", table.metric.to_string(), "simulated", "published")?;
        for (cell, report) in case.opened().into_iter().zip(reports) {
            let label = &case.columns[cell.1].label;
            let simulated = or_dash(table.metric.of_report(report));
            writeln!(
                out,
                "  {label:<38}{simulated:>12}{:>12}",
                or_dash(case.published(&table.metric, cell))
            )?;
        }
    }
    Ok(())
}

fn write(out: &mut String, label: &str, report: &Report) -> fmt::Result {
    let title = if report.title.is_empty() { "run" } else { &report.title };
    let label = if label.is_empty() { String::new() } else { format!(" [{label}]") };
    writeln!(out, "{title}{label}: kernel {}", report.kernel)?;
    writeln!(
        out,
        "simulated {}, measured {}; {} events; state {}",
        time(report.end_ns as f64),
        time(report.window_ns as f64),
        report.events,
        report.state_hash
    )?;
    for warning in &report.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for Violation { at_ns, invariant, text } in &report.violations {
        writeln!(out, "violation of {} at {}: {text}", invariant.name(), time(*at_ns as f64))?;
    }
    if report.jobs.len() != 1 {
        job(out, "all jobs", &report.total)?;
    }
    for each in &report.jobs {
        job(out, &format!("job {}", each.name), each)?;
    }
    for each in &report.queues {
        queue(out, each)?;
    }
    if let Some(cache) = &report.page_cache {
        page_cache(out, cache)?;
    }
    cpu(out, &report.cpu)?;
    objects(out, &report.objects)
}

fn page_cache(out: &mut String, c: &PageCacheReport) -> fmt::Result {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    writeln!(out, "\npage cache")?;
    writeln!(
        out,
        "  dirty {:.1} MiB (max {:.1}; flusher above {:.1}, free run to {:.1}, limit {:.1})",
        mib(c.dirty_bytes),
        mib(c.dirty_max_bytes),
        mib(c.background_bytes),
        mib(c.free_run_bytes),
        mib(c.limit_bytes)
    )?;
    writeln!(
        out,
        "  written {:.1} MiB, written back {:.1} MiB in {} chunks, kappa {:.3}",
        mib(c.written_bytes),
        mib(c.written_back_bytes),
        c.chunks,
        c.kappa
    )?;
    writeln!(
        out,
        "  writers slept {} times, {}; reads: {} hits, {} misses; {} calls of fadvise skipped",
        c.throttles,
        time(c.throttled_ns as f64),
        c.hits,
        c.misses,
        c.advice_skipped
    )
}

fn job(out: &mut String, name: &str, job: &JobReport) -> fmt::Result {
    let plural = if job.processes == 1 { "process" } else { "processes" };
    writeln!(out, "\n{name} ({} {plural})", job.processes)?;
    writeln!(
        out,
        "  IOPS {}, bandwidth {:.1} MiB/s, {} I/Os ({} reads, {} writes)",
        count(job.iops),
        job.bandwidth / f64::from(1 << 20),
        job.ios,
        job.reads,
        job.ios.saturating_sub(job.reads)
    )?;
    if job.fsyncs > 0 {
        let (rate, mean) = (count(job.fsyncs_per_s), time(job.fsync_ns));
        writeln!(out, "  {} fsync calls, {rate}/s, {mean} each", job.fsyncs)?;
    }
    if job.loop_ns > 0.0 {
        writeln!(out, "  one execution {}", time(job.loop_ns))?;
    }
    if job.ios == 0 {
        return Ok(());
    }
    if job.file_lock_waits > 0 {
        let (waits, mean) = (job.file_lock_waits, time(job.file_lock_wait_ns));
        writeln!(out, "  waited {waits} times for the lock of the file, {mean} an I/O")?;
    }
    write!(out, "  {:<6}{:>10}{:>10}", "", "mean", "min")?;
    for percent in PERCENTILES {
        let name = if percent == 100.0 { String::from("max") } else { format!("p{percent}") };
        write!(out, "{name:>10}")?;
    }
    writeln!(out)?;
    for (name, latency) in [("slat", &job.slat), ("clat", &job.clat), ("lat", &job.lat)] {
        latencies(out, name, latency)?;
    }
    Ok(())
}

fn latencies(out: &mut String, name: &str, latency: &Latency) -> fmt::Result {
    if latency.count == 0 {
        return Ok(());
    }
    write!(out, "  {name:<6}{:>10}{:>10}", time(latency.mean_ns), time(latency.min_ns as f64))?;
    for value in &latency.percentiles_ns {
        write!(out, "{:>10}", time(*value as f64))?;
    }
    writeln!(out)
}

fn queue(out: &mut String, q: &QueueReport) -> fmt::Result {
    writeln!(out, "\ndisk {}", q.name)?;
    writeln!(
        out,
        "  requests {}/s, merges {}/s, mean size {:.1} KiB, utilisation {:.1} %",
        count(q.requests_per_s),
        count(q.merges_per_s),
        q.mean_sectors / 2.0,
        q.utilisation * 100.0
    )?;
    writeln!(
        out,
        "  await {}, aqu-sz {:.2}, in flight {:.2} (max {})",
        time(q.await_ns),
        q.aqu_sz,
        q.in_flight,
        q.in_flight_max
    )?;
    let p = &q.phases;
    writeln!(
        out,
        "  Q2G {}, G2I {}, I2D {}, D2C {}, Q2C {}",
        time(p.q2g_ns),
        time(p.g2i_ns),
        time(p.i2d_ns),
        time(p.d2c_ns),
        time(p.q2c_ns)
    )?;
    writeln!(
        out,
        "  issued directly {}, inserted {}, requeued {}, dispatched by another CPU {}",
        q.direct_issued, q.inserted, q.requeued, q.foreign_dispatched
    )?;
    writeln!(
        out,
        "  hctx runs {} ({} sent nothing), tag waits {}, throttled {}, flushes {}",
        q.runs, q.empty_runs, q.tag_waits, q.wbt_waits, q.flushes
    )?;
    if q.delayed_runs > 0 {
        writeln!(
            out,
            "  delayed runs of all hctxs {}: {} works armed, {} of them taken back from their kworker",
            q.delayed_runs, q.works_delayed, q.works_put_off
        )?;
    }
    Ok(())
}

fn cpu(out: &mut String, cpu: &CpuReport) -> fmt::Result {
    writeln!(out, "\nCPU: {} CPUs, {:.2} % busy; per I/O", cpu.cpus, cpu.busy_percent)?;
    writeln!(
        out,
        "  user {}, system {}, irq {}, softirq {}, spinning {}; total {} (of it cache lines {})",
        time(cpu.user_ns),
        time(cpu.system_ns),
        time(cpu.irq_ns),
        time(cpu.softirq_ns),
        time(cpu.spin_ns),
        time(cpu.total_ns),
        time(cpu.line_ns)
    )
}

fn objects(out: &mut String, objects: &[ObjectReport]) -> fmt::Result {
    if objects.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<34}{:>5}{:>8}{:>9}{:>11}{:>10}{:>11}{:>11}",
        "locks and lines", "", "members", "per I/O", "contended", "wait", "transfers", "time lost"
    )?;
    for each in objects.iter().take(OBJECTS_SHOWN) {
        writeln!(
            out,
            "{:<34}{:>5}{:>8}{:>9.2}{:>9.2} %{:>10}{:>11}{:>11}",
            each.class,
            each.kind,
            each.members,
            each.per_io,
            each.contended * 100.0,
            time(each.mean_wait_ns),
            each.transfers,
            time(each.lost_ns as f64)
        )?;
    }
    if let Some(more) = objects.len().checked_sub(OBJECTS_SHOWN).filter(|more| *more > 0) {
        writeln!(out, "and {more} more classes; --json lists all")?;
    }
    Ok(())
}

/// A time with the unit that leaves about four digits.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e4 => format!("{ns:.0}ns"),
        ns if ns < 1e7 => format!("{:.1}us", ns / 1e3),
        ns if ns < 1e10 => format!("{:.1}ms", ns / 1e6),
        ns => format!("{:.1}s", ns / 1e9),
    }
}

/// A number with about four digits: 0.862, 11.4, 950, 12.3k.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v < 0.9995 => format!("{value:.3}"),
        v if v < 10.0 => format!("{value:.2}"),
        v if v < 1000.0 => format!("{value:.1}"),
        _ => count(value),
    }
}

/// A rate: 950, 12.3k, 1597k, 12.3M.
fn count(value: f64) -> String {
    match value {
        v if v < 1e4 => format!("{v:.0}"),
        v if v < 1e5 => format!("{:.1}k", v / 1e3),
        v if v < 1e7 => format!("{:.0}k", v / 1e3),
        v => format!("{:.1}M", v / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_about_four_digits() {
        assert_eq!([999.0, 9_999.0, 12_345.0, 1.2e9].map(time), ["999ns", "9999ns", "12.3us", "1200.0ms"]);
        assert_eq!([950.0, 12_345.0, 1_597_000.0].map(count), ["950", "12.3k", "1597k"]);
    }

    #[test]
    fn an_empty_report_prints() {
        assert!(report("", &Report::default()).contains("IOPS 0"));
    }
}
