//! kyber's inside for people.

use super::super::{Cx, Group, Item, Out, VIEW_MAX, View};
use super::stats::{Histograms, Stats, Status};
use super::tokens::domains;
use super::{Policy, Scheduler};
use std::collections::VecDeque;

/// State at `cx.now`, after a change of the knob has had its effect.
pub(super) fn view(policy: &Policy, cx: Cx<'_>) -> View {
    let mut policy = policy.clone();
    policy.follow_knob(cx, &mut Out::default());
    let (next, why) = next(&policy, cx);
    let mut facts = token_facts(&policy);
    facts.extend(latency_facts(&policy));
    facts.push((
        "timer".into(),
        match policy.timer_ns {
            Some(at) => format!("in {} ms", at.saturating_sub(cx.now).div_ceil(1_000_000)),
            None => "not armed".into(),
        },
    ));
    facts.extend(hctx_facts(&policy));
    View { scheduler: "kyber".into(), next, why, facts, groups: groups(&policy) }
}

/// What a dispatch for the first hctx that has requests would take, found by doing it on a copy.
fn next(policy: &Policy, cx: Cx<'_>) -> (u32, String) {
    let Some(hctx) = (0..cx.disk.nr_hctx).find(|&hctx| policy.has_work(cx, hctx)) else {
        return (0, "no request is queued".into());
    };
    let names = domains(policy.generation);
    let before = &policy.khds[usize::from(hctx)];
    let (from, batching) = (before.cur_domain, before.batching);
    let mut copy = policy.clone();
    let Some(slot) = copy.dispatch(cx, hctx, &mut Out::default()) else {
        let full: Vec<_> =
            (0..names.len()).filter(|&d| before.has_requests(d)).map(|d| names[d].name).collect();
        return (0, format!("hctx {hctx} waits: every token of {} is taken", full.join(" and of ")));
    };
    let to = copy.khds[usize::from(hctx)].cur_domain;
    let taken = copy.khds[usize::from(hctx)].batching;
    let (name, batch) = (names[to].name, names[to].batch);
    let turn = if taken == batching + 1 && from == to {
        format!("request {taken} of a batch of {batch} {name}")
    } else {
        let reason = if batching >= names[from].batch {
            "has had its batch"
        } else if before.has_requests(from) {
            "has no token"
        } else {
            "has no request"
        };
        format!("{} {reason}; {name} is the next in the round with a request and a token", names[from].name)
    };
    let flush = if before.rqs[to].is_empty() { "; flushed from the kcqs" } else { "" };
    (policy.queued(slot).id, format!("hctx {hctx}: {turn}{flush}"))
}

fn token_facts(policy: &Policy) -> Vec<(String, String)> {
    let facts = policy.pools.iter().zip(domains(policy.generation)).map(|(pool, domain)| {
        let mut value = format!("{} of {} taken", pool.used(), pool.depth());
        if pool.depth() < pool.depth_max() {
            value += &format!(", throttled from {}", pool.depth_max());
        }
        if pool.waiters() > 0 {
            value += &format!(", {} hctx waiting", pool.waiters());
        }
        (format!("domain_tokens[{}]", domain.name), value)
    });
    facts.collect()
}

fn latency_facts(policy: &Policy) -> Vec<(String, String)> {
    let names = domains(policy.generation);
    match &policy.stats {
        Stats::Mean(mean) => names
            .iter()
            .enumerate()
            .map(|(d, domain)| {
                let (samples, sum_ns) = mean.sums[d];
                let value = match (sum_ns.checked_div(samples), policy.target_ns(d)) {
                    (None, _) => "no sample".into(),
                    (Some(mean_ns), None) => format!("{} us of {samples} samples", mean_ns / 1000),
                    (Some(mean_ns), Some(target_ns)) => format!(
                        "{} us of {samples} samples, {} for a target of {} us",
                        mean_ns / 1000,
                        mean.status(d, target_ns).map_or("none", Status::name),
                        target_ns / 1000
                    ),
                };
                (format!("mean latency[{}]", domain.name), value)
            })
            .collect(),
        Stats::Percentile(percentile) => percentile
            .domains
            .iter()
            .zip(names)
            .enumerate()
            .flat_map(|(d, (histograms, domain))| {
                let target_ns = policy.target_ns(d).unwrap_or(0);
                histogram_facts(histograms, domain.name, target_ns)
            })
            .collect(),
    }
}

fn histogram_facts(histograms: &Histograms, name: &str, target_ns: u64) -> Vec<(String, String)> {
    let words = |buckets: &[u32]| {
        let samples: u32 = buckets.iter().sum();
        let late: u32 = buckets[buckets.len() / 2..].iter().sum();
        let counts: Vec<_> = buckets.iter().map(u32::to_string).collect();
        format!("{} by quarters of {} us; {late} of {samples} too late", counts.join(" "), target_ns / 1000)
    };
    let mut facts = vec![
        (format!("total latency[{name}]"), words(&histograms.total)),
        (format!("I/O latency[{name}]"), words(&histograms.io)),
    ];
    if let Some(p99) = histograms.p99 {
        facts.push((
            format!("domain_p99[{name}]"),
            format!("{}/4 of the target, kept for congestion", p99 + 1),
        ));
    }
    facts
}

/// Hctxs that have requests or wait, at most [`VIEW_MAX`].
fn hctx_facts(policy: &Policy) -> Vec<(String, String)> {
    let names = domains(policy.generation);
    let busy = policy.khds.iter().enumerate().filter(|(_, khd)| {
        (0..names.len()).any(|d| khd.has_requests(d))
            || khd.batching > 0
            || khd.waits.iter().any(Option::is_some)
    });
    let facts = busy.take(VIEW_MAX).map(|(hctx, khd)| {
        let domain = &names[khd.cur_domain];
        let mut value = format!("cur_domain {}, batching {} of {}", domain.name, khd.batching, domain.batch);
        for (d, _) in khd.waits.iter().enumerate().filter(|(_, queue)| queue.is_some()) {
            value += &format!(", waits for a token of {}", names[d].name);
        }
        (format!("hctx {hctx}"), value)
    });
    facts.collect()
}

/// Flushed lists, then kcqs, of each hctx; only those that hold something.
fn groups(policy: &Policy) -> Vec<Group> {
    let mut groups = Vec::new();
    for (hctx, khd) in policy.khds.iter().enumerate() {
        for (d, domain) in domains(policy.generation).iter().enumerate() {
            let flushed = "flushed: bios merge with these no longer";
            push(policy, &mut groups, format!("hctx {hctx} khd->rqs[{}]", domain.name), flushed, &khd.rqs[d]);
            for kcq in &khd.kcqs {
                let name = format!("hctx {hctx} kcq of CPU {} rq_list[{}]", kcq.cpu, domain.name);
                push(policy, &mut groups, name, "until a dispatch with a token flushes it", &kcq.lists[d]);
            }
        }
    }
    groups
}

fn push(policy: &Policy, groups: &mut Vec<Group>, name: String, note: &str, slots: &VecDeque<u32>) {
    if slots.is_empty() {
        return;
    }
    let items = slots.iter().take(VIEW_MAX).map(|&slot| {
        let rq = policy.queued(slot);
        let note = if rq.is_sync() { String::new() } else { "asynchronous".into() };
        Item { rq: rq.id, sector: rq.sector, sectors: rq.sectors, note }
    });
    groups.push(Group { name, note: note.into(), items: items.collect(), total: slots.len() as u32 });
}
