//! The numbers of both policies in the terms of fio, iostat and btt.

use super::compare::percentile;
use super::control::text;
use super::table::{Cell, Row, Rows};
use crate::config::Side;
use crate::session::Session;
use crate::words::{self, Say};
use leptos::prelude::*;
use mqscope_core::report::{PageCacheReport, QueueReport, Report};

/// A row: term, what it is, value, how it is said.
struct Term {
    term: &'static str,
    help: &'static str,
    value: fn(&Report) -> f64,
    say: Say,
}

const fn row(term: &'static str, help: &'static str, value: fn(&Report) -> f64, say: Say) -> Term {
    Term { term, help, value, say }
}

/// Sum over all disks.
fn sum(report: &Report, f: fn(&QueueReport) -> f64) -> f64 {
    report.queues.iter().map(f).sum()
}

/// Mean over all disks, each by its requests.
fn mean(report: &Report, f: fn(&QueueReport) -> f64) -> f64 {
    let total: f64 = report.queues.iter().map(|q| q.requests_per_s).sum();
    let weighted: f64 = report.queues.iter().map(|q| f(q) * q.requests_per_s).sum();
    if total > 0.0 { weighted / total } else { f64::NAN }
}

const FIO: &[Term] = &[
    row("IOPS", "I/Os that the application saw complete, per second", |r| r.total.iops, words::short),
    row("BW", "Bytes of them per second", |r| r.total.bandwidth, words::bandwidth),
    row(
        "slat avg",
        "Submission latency: the system call until the I/O was handed over; synchronous engines have none",
        |r| if r.total.slat.count > 0 { r.total.slat.mean_ns } else { f64::NAN },
        words::span,
    ),
    row(
        "clat avg",
        "Completion latency: from hand-over until the application knew",
        |r| r.total.clat.mean_ns,
        words::span,
    ),
    row("clat p50", "Half of all completed faster", |r| percentile(r, 50.0), words::span),
    row("clat p99", "99 of 100 completed faster", |r| percentile(r, 99.0), words::span),
    row("clat p99.9", "999 of 1000 completed faster", |r| percentile(r, 99.9), words::span),
    row("lat avg", "Both latencies together", |r| r.total.lat.mean_ns, words::span),
];

const IOSTAT: &[Term] = &[
    row(
        "r/s + w/s",
        "Requests completed per second, all disks",
        |r| sum(r, |q| q.requests_per_s),
        words::short,
    ),
    row("rqm/s", "Bios merged into requests per second", |r| sum(r, |q| q.merges_per_s), words::short),
    row("rareq-sz", "Mean size of a request, KiB", |r| mean(r, |q| q.mean_sectors / 2.0), words::short),
    row("await", "Mean time from G to C", |r| mean(r, |q| q.await_ns), words::span),
    row(
        "aqu-sz",
        "Mean number of requests between G and C, all disks",
        |r| sum(r, |q| q.aqu_sz),
        words::short,
    ),
    row(
        "rate × await",
        "Little's law: must equal aqu-sz",
        |r| sum(r, |q| q.requests_per_s * q.await_ns / 1e9),
        words::short,
    ),
    row(
        "in flight",
        "Mean number of requests between D and C, all disks",
        |r| sum(r, |q| q.in_flight),
        words::short,
    ),
    row(
        "%util",
        "Share of time with a request between D and C",
        |r| mean(r, |q| q.utilisation),
        words::percent,
    ),
];

const BTT: &[Term] = &[
    row("Q2G", "Waiting for a request, that is for a tag", |r| mean(r, |q| q.phases.q2g_ns), words::span),
    row("G2I", "In the plug", |r| mean(r, |q| q.phases.g2i_ns), words::span),
    row(
        "I2D",
        "In a ctx list, the elevator or the dispatch list",
        |r| mean(r, |q| q.phases.i2d_ns),
        words::span,
    ),
    row("D2C", "With driver and device", |r| mean(r, |q| q.phases.d2c_ns), words::span),
    row("Q2C", "The whole way", |r| mean(r, |q| q.phases.q2c_ns), words::span),
];

const CPU: &[Term] = &[
    row("busy", "Share of all CPU time that is used", |r| r.cpu.busy_percent / 100.0, words::percent),
    row("user", "User time per I/O", |r| r.cpu.user_ns, words::span),
    row(
        "system",
        "Kernel time of tasks and kworkers per I/O, without spinning",
        |r| r.cpu.system_ns,
        words::span,
    ),
    row("irq", "Hard interrupt time per I/O", |r| r.cpu.irq_ns, words::span),
    row("softirq", "Softirq time per I/O", |r| r.cpu.softirq_ns, words::span),
    row("spinning", "Time spinning for locks per I/O", |r| r.cpu.spin_ns, words::span),
    row(
        "lines",
        "Time waiting for cache lines per I/O, part of the rows above",
        |r| r.cpu.line_ns,
        words::span,
    ),
];

const CACHE: &[Term] = &[
    row(
        "dirty",
        "Bytes that are dirty or on their way to a disk now",
        |r| cache(r, |c| c.dirty_bytes as f64),
        bytes,
    ),
    row("at most", "The most of them", |r| cache(r, |c| c.dirty_max_bytes as f64), bytes),
    row(
        "written back",
        "Bytes that writeback has brought to disks",
        |r| cache(r, |c| c.written_back_bytes as f64),
        bytes,
    ),
    row(
        "kappa",
        "Bytes of buffered writes for each byte they made dirty; more than 1 where pages are written again before they reach the disk",
        |r| cache(r, |c| c.kappa),
        words::short,
    ),
    row(
        "throttled",
        "Time that writers slept as too much was dirty, all together",
        |r| cache(r, |c| c.throttled_ns as f64),
        words::span,
    ),
    row("pauses", "Times that a writer slept for that", |r| cache(r, |c| c.throttles as f64), words::short),
    row(
        "hits",
        "Share of buffered reads that found all in memory",
        |r| cache(r, |c| c.hits as f64 / (c.hits + c.misses) as f64),
        words::percent,
    ),
];

/// A number of the page cache; none where everything is direct I/O.
fn cache(report: &Report, f: fn(&PageCacheReport) -> f64) -> f64 {
    report.page_cache.as_ref().map_or(f64::NAN, f)
}

fn bytes(bytes: f64) -> String {
    if bytes.is_finite() { words::bytes(bytes) } else { words::short(bytes) }
}

const HCTX: &[Term] = &[
    row("issued directly", "Share of requests that never stopped in a list", direct_share, words::percent),
    row(
        "by another CPU",
        "Share of requests dispatched by another CPU than the submitting one",
        foreign_share,
        words::percent,
    ),
    row("put back", "Requests the driver refused", |r| sum(r, |q| q.requeued as f64), words::short),
    row("runs", "Runs of hctxs", |r| sum(r, |q| q.runs as f64), words::short),
    row("empty runs", "Runs that sent nothing", |r| sum(r, |q| q.empty_runs as f64), words::short),
    row("tag waits", "Times a task slept for a tag", |r| sum(r, |q| q.tag_waits as f64), words::short),
];

fn requests(report: &Report) -> f64 {
    sum(report, |q| (q.direct_issued + q.inserted) as f64)
}

fn direct_share(report: &Report) -> f64 {
    sum(report, |q| q.direct_issued as f64) / requests(report)
}

fn foreign_share(report: &Report) -> f64 {
    sum(report, |q| q.foreign_dispatched as f64) / requests(report)
}

/// The tables.
#[component]
pub fn Figures() -> impl IntoView {
    let session = Session::here();
    let progress = text(move || {
        let shares = session.numbers.map(|n| n.with(|n| n.as_ref().map_or(0.0, |n| n.share)));
        let least = shares[0].min(shares[1]);
        let known = if least >= 1.0 {
            String::from("Both runs are complete. ")
        } else {
            format!("{} of both runs simulated; the numbers still grow. ", words::percent(least))
        };
        let mixed = Side::BOTH.into_iter().filter(|side| session.changes_on_the_way(*side));
        let mixed: String = mixed
            .map(|side| format!(" {} is changed on the way: its numbers mix its parts.", side.letter()))
            .collect();
        known + "Means and percentiles are over all I/Os that ended after the warm-up." + &mixed
    });
    let source = text(move || {
        let preset = session.preset();
        match (session.config.read().job.is_some(), preset.source) {
            (true, _) | (_, "") => String::new(),
            (false, source) => format!("Published: {source}. Assumed here: {}.", preset.assumed),
        }
    });
    let warnings = text(move || {
        let mut all: Vec<String> = Vec::new();
        for numbers in session.numbers {
            numbers.with(|n| all.extend(n.iter().flat_map(|n| n.report.warnings.iter().cloned())));
        }
        all.sort();
        all.dedup();
        all.join(" ")
    });
    let tables = [
        ("fio", FIO),
        ("iostat", IOSTAT),
        ("btt", BTT),
        ("CPU time", CPU),
        ("hctx", HCTX),
        ("page cache", CACHE),
    ];
    view! {
        <section class="panel figures" id="numbers" aria-labelledby="numbers-title">
            <div class="panel-head">
                <h2 id="numbers-title">"Numbers"</h2>
                <p class="panel-note">{progress}</p>
            </div>
            <p class="panel-note">{source}</p>
            <div class="figure-tables">
                {tables.map(|(title, terms)| view! { <FigureTable title terms /> }).collect_view()}
            </div>
            <p class="warnings">{warnings}</p>
        </section>
    }
}

const HEAD: &str = "<tr><th scope=col><span class=hidden-text>Term</span></th>\
    <th scope=col class=num><span class='badge A'>A</span></th><th scope=col class=num><span class='badge B'>B</span></th>\
    <th scope=col class='num change'>B against A</th></tr>";

#[component]
fn FigureTable(title: &'static str, terms: &'static [Term]) -> impl IntoView {
    let session = Session::here();
    let rows = Signal::derive(move || {
        let sides = session.numbers.map(|n| n.get());
        let value =
            |side: usize, f: fn(&Report) -> f64| sides[side].as_ref().map_or(f64::NAN, |n| f(&n.report));
        let row = |t: &Term| {
            let [a, b] = [0, 1].map(|side| value(side, t.value));
            let change = Cell { class: "num change", ..Cell::words(words::change(a, b).unwrap_or_default()) };
            let term = Cell { help: t.help, ..Cell::head(t.term) };
            Row::by_content(vec![term, Cell::num((t.say)(a)), Cell::num((t.say)(b)), change])
        };
        terms.iter().map(row).collect::<Vec<_>>()
    });
    view! {
        <table class="figure-table">
            <caption>{title}</caption>
            <thead inner_html=HEAD></thead>
            <Rows rows />
        </table>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_weigh_each_disk_by_its_requests() {
        let queue =
            |requests_per_s, await_ns| QueueReport { requests_per_s, await_ns, ..QueueReport::default() };
        let report = Report { queues: vec![queue(3.0, 10.0), queue(1.0, 50.0)], ..Report::default() };
        assert_eq!(mean(&report, |q| q.await_ns), 20.0);
        assert_eq!(sum(&report, |q| q.requests_per_s), 4.0);
        assert!(mean(&Report::default(), |q| q.await_ns).is_nan());
    }
}
