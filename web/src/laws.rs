//! Laws that hold for any queue, read off a report: Little's law for each disk, and where the time goes. No browser here.

use crate::words;
use mqscope_core::report::{QueueReport, Report};

/// From this deviation on Little's law is explained, share.
const LITTLE_TOLERANCE: f64 = 0.02;
/// A resource that is busy for this share of the time is the bottleneck.
const FULL: f64 = 0.9;

/// A law and what it says here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    /// Its name, and of which disk.
    pub name: String,
    /// Both sides of it, or the answer.
    pub says: String,
    /// What explains a deviation, or what follows.
    pub note: String,
}

/// All laws of a report; `task_cpus` CPUs have tasks of the workload.
pub fn laws(report: &Report, task_cpus: u32) -> Vec<Law> {
    let mut laws: Vec<Law> = report.queues.iter().map(little).collect();
    let utilisation = |q: &QueueReport| Law {
        name: format!("Utilisation of {}", q.name),
        says: words::percent(q.utilisation),
        note: match q.utilisation {
            u if u >= FULL && q.in_flight > 2.0 => format!(
                "busy, yet not full: {} are inside at a time, and a disk that takes several may take more",
                words::short(q.in_flight)
            ),
            u if u >= FULL => String::from("busy nearly always, with hardly more than one inside"),
            _ => String::from("idle for the rest: the disk waits for requests"),
        },
    };
    laws.extend(report.queues.iter().map(utilisation));
    laws.push(bottleneck(report, task_cpus));
    laws
}

fn little(q: &QueueReport) -> Law {
    let product = q.requests_per_s * q.await_ns / 1e9;
    let off = if q.aqu_sz > 0.0 { product / q.aqu_sz - 1.0 } else { 0.0 };
    Law {
        name: format!("Little's law at {}: rate × await = aqu-sz", q.name),
        says: format!(
            "{} {} {}",
            words::short(product),
            if off.abs() <= LITTLE_TOLERANCE { "=" } else { "≠" },
            words::short(q.aqu_sz)
        ),
        note: if off.abs() <= LITTLE_TOLERANCE {
            String::new()
        } else {
            format!(
                "{} apart: requests that were inside when the window began or ended count on one side only, and few \
                 came through",
                words::percent(off.abs())
            )
        },
    }
}

/// What limits the rate: the resource that has no time left, or else the longest part of the way.
fn bottleneck(report: &Report, task_cpus: u32) -> Law {
    let name = String::from("Bottleneck");
    let busy_cpus = report.cpu.busy_percent / 100.0 * f64::from(report.cpu.cpus);
    let share = busy_cpus / f64::from(task_cpus.max(1));
    if share >= FULL {
        let spin = report.cpu.spin_ns / report.cpu.total_ns.max(1.0);
        let line = report.cpu.line_ns / report.cpu.total_ns.max(1.0);
        return Law {
            name,
            says: String::from("the CPUs"),
            note: format!(
                "{} of {task_cpus} CPUs with tasks are busy; of their time {} goes into spinning and {} into waiting for \
                 cache lines",
                words::short(busy_cpus),
                words::percent(spin),
                words::percent(line)
            ),
        };
    }
    let rate = |q: &&QueueReport| (q.requests_per_s * q.phases.q2c_ns) as u64;
    let Some(q) = report.queues.iter().max_by_key(rate).filter(|q| q.phases.q2c_ns > 0.0) else {
        return Law { name, says: String::from("–"), note: String::from("nothing has completed") };
    };
    let p = &q.phases;
    let parts = [
        ("a tag is waited for (Q2G)", p.q2g_ns),
        ("the plug (G2I)", p.g2i_ns),
        ("lists and scheduler (I2D)", p.i2d_ns),
        ("driver and device (D2C)", p.d2c_ns),
    ];
    let longest = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(parts[3]);
    let ready = if q.in_flight < 1.5 && longest.0.starts_with("driver") {
        "; hardly more than one request is there at a time, so that more in flight would bring more"
    } else {
        ""
    };
    Law {
        name,
        says: longest.0.into(),
        note: format!(
            "{} of the way of a request of {}{ready}",
            words::percent(longest.1 / p.q2c_ns),
            q.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::Sim;
    use mqscope_core::cases::case;

    fn report(name: &str) -> (Report, u32) {
        let (_, scenario) = case(name).expect("the case").sides().swap_remove(0);
        let mut sim = Sim::new(&scenario).expect("it runs");
        sim.run();
        let mut cpus: Vec<u16> = sim.topology().tasks.iter().map(|t| t.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        (sim.report(), cpus.len() as u32)
    }

    #[test]
    fn littles_law_holds_in_a_long_run_and_a_bottleneck_is_named() {
        let (report, cpus) = report("seed-000");
        let laws = laws(&report, cpus);
        assert_eq!(laws.len(), report.queues.len() * 2 + 1);
        for law in laws.iter().filter(|l| l.name.starts_with("Little")) {
            assert!(law.note.is_empty(), "{law:?}");
        }
        assert_eq!(laws.last().expect("there is one").says, "the CPUs");
    }

    #[test]
    fn a_disagreement_is_explained_and_nothing_is_divided_by_nothing() {
        let queue =
            QueueReport { requests_per_s: 10.0, await_ns: 1e8, aqu_sz: 2.0, ..QueueReport::default() };
        let off = little(&queue);
        assert!(off.note.contains("apart"), "{off:?}");
        let empty = laws(&Report { queues: vec![QueueReport::default()], ..Report::default() }, 0);
        assert!(empty.iter().all(|l| !l.says.contains("NaN") && !l.note.contains("NaN")), "{empty:?}");
    }
}
