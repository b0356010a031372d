//! What a scheduler's lock protects: lists, trees and counters that are in the cache of whoever was in the lock before.
//! This is most of what a contended scheduler costs beyond its own work: the section is longer by each line that it has to
//! fetch, and all others wait meanwhile.

use crate::event::{CpuId, HctxId, ObjectId, QueueId};
use crate::host::NO_CPU;
use crate::sched::{Merging, SchedRq};
use crate::sim::Sim;

impl Sim {
    /// Begins to work on what `lock`, which is held, protects: its first line is fetched and will be changed. Returns the CPU
    /// in whose cache the rest is; [`NO_CPU`] if it is here.
    pub(in crate::block) fn open_lists(&mut self, c: usize, q: QueueId, lock: ObjectId) -> CpuId {
        let before = self.objects.all[lock as usize].before;
        // Locks of ctxs protect lists that hardly anybody else touches.
        let Some(line) = self.elevator(q).lists_behind(lock) else { return NO_CPU };
        self.write(c, line);
        if before == c as CpuId { NO_CPU } else { before }
    }

    /// Fetches further lines of them from where [`Sim::open_lists`] found them.
    pub(in crate::block) fn fetch_lists(&mut self, c: usize, q: QueueId, from: CpuId, lines: u32) {
        if from != NO_CPU && lines > 0 {
            let id = self.elevator(q).lists;
            self.fetch_lines(c, id, from, lines);
        }
    }

    /// Walks down the tree of queued requests to the place of one that will be inserted, each a line that another CPU wrote.
    /// `again`: for a further request under the same lock, which finds the upper half here.
    pub(in crate::block) fn walk_lists(&mut self, c: usize, rq: u32, from: CpuId, again: bool) {
        let (q, entry) = (self.rqs[rq].queue, self.sched_rq(rq));
        let height = self.tree_height(q, &entry);
        self.fetch_lists(c, q, from, if again { height / 2 } else { height });
    }

    fn tree_height(&self, q: QueueId, rq: &SchedRq) -> u32 {
        let len = self.ask(q, |sched, _| sched.tree_len(rq));
        (len + 1).ilog2()
    }

    /// A search for something that `bio` may join, under `lock`.
    pub(in crate::block) fn search_lists(&mut self, c: usize, bio: u32, lock: ObjectId) {
        let q = self.bios[bio].queue;
        let from = self.open_lists(c, q, lock);
        let lists = self.locking(q).lists;
        self.fetch_lists(c, q, from, lists.merge.saturating_sub(1));
        // With nomerges 1 only the last merge is looked at.
        if self.elevator(q).sched.merging() == Merging::Hash && self.queues[q as usize].nomerges == 0 {
            let probe = self.probe(c, q, bio);
            let height = self.tree_height(q, &probe);
            self.fetch_lists(c, q, from, height);
        }
    }

    /// The scheduler's has_work reads the heads of its lists without the lock.
    pub(in crate::block) fn look_at_lists(&mut self, c: usize, hctx: HctxId) {
        let lock = self.dispatch_lock(hctx, c as CpuId);
        let q = self.hctxs[hctx as usize].queue;
        if let Some(line) = self.elevator(q).lists_behind(lock) {
            self.read(c, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Report;
    use crate::scenario::{DeviceConfig, Scenario};
    use crate::sim::Sim;
    use crate::workload::{Engine, JobSpec, Pattern, Workload};

    fn reads(scheduler: &str, cpus: &[u16]) -> Report {
        let job = JobSpec {
            engine: Engine::IoUring,
            pattern: Pattern::Random,
            iodepth: 4,
            numjobs: cpus.len() as u32,
            cpus_allowed: Some(cpus.to_vec()),
            cpus_split: true,
            time_based: true,
            ..JobSpec::default()
        };
        let scenario = Scenario {
            machine: "desktop".into(),
            kernel: "6.1".into(),
            duration_ns: 2_000_000,
            devices: vec![DeviceConfig { scheduler: scheduler.into(), ..DeviceConfig::new("disk0", "null") }],
            workload: Workload::Jobs(vec![job]),
            set: [("dio_plug".into(), "all".into())].into(),
            ..Scenario::default()
        };
        let mut sim = Sim::new(&scenario).expect("the scenario is valid");
        sim.run();
        sim.report()
    }

    /// Lines that were fetched from another CPU for an I/O.
    fn fetched(report: &Report, class: &str) -> f64 {
        let of = report.objects.iter().filter(|o| o.class == class);
        of.map(|o| o.transfers as f64).sum::<f64>() / (report.total.iops * 0.002)
    }

    #[test]
    fn a_lock_that_changes_its_cpu_brings_what_it_protects() {
        for (scheduler, lock) in [("mq-deadline", "dd->lock"), ("bfq", "bfqd->lock")] {
            let class = format!("lists under {lock}");
            assert_eq!(
                fetched(&reads(scheduler, &[0]), &class),
                0.0,
                "{scheduler}: one CPU finds all at home"
            );
            let two = reads(scheduler, &[0, 1]);
            assert!(fetched(&two, &class) > 1.0, "{scheduler}: {}", fetched(&two, &class));
        }
    }

    #[test]
    fn what_a_sibling_thread_changed_is_nearer() {
        let lost = |cpus: &[u16]| -> f64 {
            let report = reads("mq-deadline", cpus);
            let lists = report.objects.iter().find(|o| o.class == "lists under dd->lock");
            lists.map_or(0.0, |o| o.lost_ns as f64 / report.total.iops)
        };
        // CPU 8 is the second thread of core 0.
        assert!(lost(&[0, 8]) < lost(&[0, 1]), "{} and {}", lost(&[0, 8]), lost(&[0, 1]));
    }
}
