//! Which rules the run on the stage does not read, and why: what has nothing to do should say so.

use crate::session::Session;
use leptos::prelude::Track;
use mqscope_core::scenario::Path;
use mqscope_core::topology::{Driver, Queue};

/// Why none of the disks reads a knob of this group; `None` if one does.
pub(super) fn unread(group: &str, name: &str, queues: &[Queue]) -> Option<String> {
    let none = |reads: &dyn Fn(&Queue) -> bool| !queues.is_empty() && !queues.iter().any(reads);
    let mq = |q: &Queue| q.path == Path::Mq;
    let scheduled = |q: &Queue| q.scheduler != "none" && !q.scheduler.is_empty();
    let only_mq =
        matches!(group, "Dispatch" | "Tags" | "Scheduler path" | "NVMe" | "mq-deadline" | "kyber" | "bfq");
    if only_mq && none(&mq) {
        return Some(String::from("the disks are on the legacy path"));
    }
    match group {
        "mq-deadline" | "kyber" | "bfq" if none(&|q| q.scheduler == group) => {
            Some(format!("no disk has {group}"))
        }
        "Scheduler path" if name != "default_scheduler" && name != "mq_elevators" && none(&scheduled) => {
            Some(String::from("no disk has a scheduler"))
        }
        "Legacy path" if none(&|q| q.path == Path::Legacy) => {
            Some(String::from("no disk is on the legacy path"))
        }
        "Stacked disks" if none(&|q| q.driver == Driver::Stacked) => {
            Some(String::from("no disk stands on others"))
        }
        "NVMe" if none(&|q| q.driver == Driver::Nvme) => Some(String::from("there is no NVMe disk")),
        "SCSI" if none(&|q| q.driver == Driver::Scsi) => Some(String::from("there is no SCSI disk")),
        // The mode says how ctx lists are emptied; a scheduler has no use for them.
        "Dispatch" if name == "dispatch_mode" && none(&|q| mq(q) && !scheduled(q)) => {
            Some(String::from("each disk has a scheduler"))
        }
        _ => None,
    }
}

/// The same for the run on the stage, which it tracks.
pub(super) fn unread_here(session: Session, group: &str, name: &str) -> Option<String> {
    session.beat.track();
    session.side.track();
    session.with_player(|p| unread(group, name, &p.topology().queues)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Side;
    use crate::preset;
    use mqscope_core::Sim;
    use mqscope_core::kernel::ROWS;
    use mqscope_core::scenario::Scenario;

    fn queues(scenario: &Scenario) -> Vec<Queue> {
        Sim::new(scenario).expect("it builds").topology().queues.clone()
    }

    /// The hash of a run of 2 ms with one knob set, without the knob's own part in it.
    fn run(scenario: &Scenario, set: Option<(&str, &str)>) -> (u64, String) {
        let mut scenario = scenario.clone();
        crate::config::shorten(&mut scenario, 2_000_000);
        if let Some((name, value)) = set {
            scenario.set.insert(name.into(), value.into());
        }
        let mut sim = Sim::new(&scenario).expect("it builds");
        sim.run_until(u64::MAX);
        let mut report = sim.report();
        report.state_hash.clear();
        report.kernel.clear();
        (report.events, format!("{report:?}"))
    }

    #[test]
    fn what_is_said_to_be_unread_changes_no_run() {
        let mut read_all_the_same = Vec::new();
        for name in ["seed-000", "seed-002", "seed-003", "dsync-journal", "nvme-doorbell", "plug-merge"] {
            let preset = preset::find(name).expect("the preset");
            for side in Side::BOTH {
                let scenario = preset.config().scenario(&preset.base, side).expect("it builds");
                let (queues, usual) = (queues(&scenario), run(&scenario, None));
                let knobs = scenario.knobs().expect("knobs").list();
                let unread: Vec<_> =
                    knobs.iter().filter(|k| unread(k.group, k.name, &queues).is_some()).collect();
                assert!(unread.len() > 5, "{name}: {}", unread.len());
                for knob in unread {
                    let rows = ROWS.iter().flat_map(|row| row.knobs.list());
                    let other = rows.into_iter().find(|k| k.name == knob.name && k.value != knob.value);
                    if other.is_some_and(|o| run(&scenario, Some((o.name, &o.value))) != usual) {
                        read_all_the_same.push(format!("{name} {side:?} {}", knob.name));
                    }
                }
            }
        }
        assert!(read_all_the_same.is_empty(), "{read_all_the_same:#?}");
    }

    #[test]
    fn a_rule_is_read_where_a_disk_has_what_it_is_about() {
        let preset = preset::find("dsync-journal").expect("the preset");
        let of = |side| queues(&preset.config().scenario(&preset.base, side).expect("it builds"));
        let bfq = of(Side::B);
        assert_eq!(unread("bfq", "any", &bfq), None);
        assert!(unread("kyber", "any", &bfq).is_some_and(|why| why.contains("kyber")));
        assert!(unread("Dispatch", "dispatch_mode", &bfq).is_some());
        assert_eq!(unread("Dispatch", "dispatch_busy", &bfq), None);
        assert_eq!(unread("iostat", "any", &bfq), None);
        assert_eq!(unread("bfq", "any", &[]), None, "nothing is known yet");
    }
}
