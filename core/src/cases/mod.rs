//! Published reports as scenarios, with their numbers. Small scenarios that show one rule each stand beside them.
//!
//! Nothing here is fitted: machine costs, device presets and kernel rows are those of everyone, and what the report
//! does not say is named in `assumed`.

mod small;

use crate::scenario::{DeviceConfig, Scenario};
use crate::workload::{Engine, JobSpec, Pattern, Workload};

/// A scenario with a name, a reason and, if published, numbers.
#[derive(Clone, Debug)]
pub struct Case {
    /// Short name for the command line and the URL.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// What to look at and why it happens, in plain words.
    pub about: &'static str,
    /// Where the numbers were published; empty for teaching scenarios.
    pub source: &'static str,
    /// What the report leaves open and is assumed here.
    pub assumed: &'static str,
    /// The two sides of the comparison: (label, scenario). One side only for teaching scenarios.
    pub sides: Vec<(&'static str, Scenario)>,
    /// Published IOPS of each side, in the order of `sides`.
    pub published_iops: Vec<f64>,
    /// Published share of all CPU time, percent, of each side.
    pub published_cpu_percent: Vec<f64>,
}

/// All cases, the one that the page opens on first.
pub fn cases() -> Vec<Case> {
    let mut all = vec![seed_000(), seed_004()];
    all.extend(small::cases());
    all
}

/// The case of this name.
pub fn case(name: &str) -> Option<Case> {
    cases().into_iter().find(|c| c.name == name)
}

/// RAID0 volumes of 8 SSDs under one adapter in the 72-CPU machine; fio on node 1, one section a volume.
fn raid_volumes(title: &str, volumes: u16, kernel: &str) -> Scenario {
    let names = ["sdb", "sdc"];
    let job = |disk: u16| JobSpec {
        name: format!("vd{disk}"),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth: 128,
        numjobs: 4,
        files: vec![disk],
        numa_node: Some(1),
        time_based: true,
        ..JobSpec::default()
    };
    Scenario {
        title: title.into(),
        warmup_ns: 10_000_000,
        machine: "xeon-gold-6150-2s".into(),
        kernel: kernel.into(),
        devices: (0..volumes).map(|i| DeviceConfig::new(names[i as usize], "hba-r0-8ssd")).collect(),
        workload: Workload::Jobs((0..volumes).map(job).collect()),
        ..Scenario::default()
    }
}

fn seed_000() -> Case {
    let before = raid_volumes("Two RAID0 volumes, kernel 4.14: take-all dispatch", 2, "4.14");
    let mut after = raid_volumes("The same with one-by-one dispatch", 2, "4.14");
    // The series of October 2017 that became 4.15: budget before the tag, one request at a time, pending test.
    for (name, value) in [
        ("dispatch_mode", "one-by-one-with-budget"),
        ("scsi_budget_first", "true"),
        ("run_tests_pending", "true"),
    ] {
        after.set.insert(name.into(), value.into());
    }
    Case {
        name: "seed-000",
        title: "Random reads on two RAID0 volumes: take-all against one-by-one dispatch",
        about: "Eight fio processes keep 1,024 reads in flight against two volumes. With take-all dispatch, whoever runs \
                the hctx collects everybody's requests under one ctx->lock each; one by one, each request costs a \
                budget, a look at the pending bits and a lock of its ctx, often somebody else's. The report lost \
                14 %. In this model, with nothing fitted, the eight CPUs are the limit before the queues fill, both \
                ways cost nearly the same, and most finished reads wait for their process to collect them.",
        source: "K. Desai, linux-block, May 2018: 1597 K IOPS on 4.14.38, 1377 K with the series",
        assumed: "one job section a volume (8 processes); LUN depth 256 (driver default); PCIe Gen3 x8 host link",
        sides: vec![("take all (4.14)", before), ("one by one (4.14 + series)", after)],
        published_iops: vec![1_597_000.0, 1_377_000.0],
        published_cpu_percent: vec![],
    }
}

fn seed_004() -> Case {
    let before = raid_volumes("One RAID0 volume, one-by-one dispatch", 1, "4.16");
    let after = raid_volumes("The same with direct issue", 1, "4.19");
    Case {
        name: "seed-004",
        title: "Random reads on one RAID0 volume: through the ctx list against direct issue",
        about: "While the hctx is not busy, 4.19 lets the submitter call the driver itself: no ctx list, no pending \
                bit, no scan, no second CPU that has to fetch the request. Whether the hctx counts as busy is \
                decided by refusals, so the LUN's depth decides how often the short way is open: raise the \
                number of processes and watch it close.",
        source: "K. Desai, linux-block, July 2018: 840 K IOPS at 11 % CPU, 1066 K at 6 %",
        assumed: "the machine of May 2018 (72 CPUs); four processes; the first kernel was RHEL 7.5 with back-ports, \
                  taken as the rules of 4.16; LUN depth 256",
        sides: vec![("through ctx (4.16 rules)", before), ("direct issue (4.19)", after)],
        published_iops: vec![840_000.0, 1_066_000.0],
        published_cpu_percent: vec![11.0, 6.0],
    }
}
