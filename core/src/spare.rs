//! What a run is spared from some moment on, for questions of the kind: what if this had not been in the way?
//!
//! No scenario can ask for it, only whoever forks a run ([`Sim::spare`]); so it is no part of the state hash. It is an
//! exact removal of one thing by its name, where a cost ([`Sim::set_cost`]) or a depth would change all of its kind.

use crate::block::NONE;
use crate::event::{BioId, HctxId, ObjectId, QueueId, TaskId};
use crate::sim::Sim;

/// One thing that is not in the way any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// A lock (of a file too) that is free for whoever wants it, or a shared line that is everywhere at once.
    Object(ObjectId),
    /// The tags (on the legacy path the pool) from which requests of this hctx are made, and its driver tags: there is
    /// always one more.
    Tags(HctxId),
    /// wbt lets every write of this disk through.
    Throttle(QueueId),
    /// The task takes note of each I/O as it completes, not of several at once (iodepth_batch_complete_min).
    Batch(TaskId),
    /// The request of this bio comes before all others in its scheduler, as one that is inserted at the head does.
    First(BioId),
    /// The request of this bio is served by a device of its own, of the same kind and at rest.
    OwnDevice(BioId),
}

impl Sim {
    /// Whether a run can be spared this.
    pub fn can_spare(&self, what: Spare) -> bool {
        match what {
            // Two CPUs in `request_fn` would hand one request over twice.
            Spare::Object(id) => (id as usize) < self.objects.all.len() && !self.is_legacy_lock(id),
            Spare::Tags(h) => (h as usize) < self.hctxs.len(),
            Spare::Throttle(q) => self.queues.get(q as usize).is_some_and(|queue| queue.wbt.is_some()),
            Spare::Batch(_) | Spare::First(_) | Spare::OwnDevice(_) => true,
        }
    }

    /// Spares the run one thing from now on; false where that would break it. Checks end with it: what they watch for may
    /// now happen.
    pub fn spare(&mut self, what: Spare) -> bool {
        let possible = self.can_spare(what);
        if possible {
            self.spared.push(what);
            self.set_checks(false);
        }
        possible
    }

    #[inline]
    pub(crate) fn is_spared(&self, what: Spare) -> bool {
        !self.spared.is_empty() && self.spared.contains(&what)
    }

    /// Whether this tag bitmap never runs out.
    pub(crate) fn has_spare_tags(&self, t: usize) -> bool {
        self.spared.iter().any(|spare| match *spare {
            Spare::Tags(h) => {
                let hctx = &self.hctxs[h as usize];
                usize::from(hctx.tags) == t || hctx.sched_tags.is_some_and(|set| usize::from(set) == t)
            }
            _ => false,
        })
    }

    /// Whether the request of a bio is spared something; `spare` makes it of the bio's number.
    #[inline]
    pub(crate) fn rq_is_spared(&self, rq: u32, spare: fn(BioId) -> Spare) -> bool {
        if self.spared.is_empty() {
            return false;
        }
        // The flush request has no bio.
        let bio = self.rqs[rq].bio_first;
        bio != NONE && self.is_spared(spare(self.ios[self.bios[bio].io].id))
    }

    /// The number of a device like `device` that nobody uses, as it is when a run begins.
    #[cold]
    pub(crate) fn own_device(&mut self, device: u16) -> u16 {
        let Ok(mut fresh) = Sim::new(&self.scenario) else { return device };
        self.devices.push(fresh.devices.swap_remove(device as usize));
        (self.devices.len() - 1) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{case, cases};
    use crate::event::Kind;
    use crate::scenario::Path;

    /// Runs a case's last side for a while, spares it something and runs on: the events of the rest.
    fn after(name: &str, at_ns: u64, spare: impl Fn(&Sim) -> Option<Spare>) -> Vec<Kind> {
        let scenario = case(name).expect("the case").sides().pop().expect("a side").1;
        let mut sim = Sim::new(&scenario).expect("it can run");
        sim.run_until(at_ns);
        sim.log_mut().set_on(true);
        if let Some(spare) = spare(&sim) {
            assert!(sim.spare(spare), "{name}: {spare:?}");
        }
        sim.run_until(at_ns + at_ns / 2);
        sim.log().events().iter().map(|e| e.kind).collect()
    }

    #[test]
    fn a_spared_lock_is_never_waited_for_and_a_spared_line_never_moves() {
        let most = |events: &[Kind], f: fn(&Kind) -> Option<ObjectId>| {
            let ids: Vec<_> = events.iter().filter_map(f).collect();
            ids.iter().copied().max_by_key(|id| ids.iter().filter(|x| *x == id).count()).expect("some")
        };
        let wait = |k: &Kind| match k {
            Kind::LockWait { lock, .. } => Some(*lock),
            _ => None,
        };
        let moved = |k: &Kind| match k {
            Kind::LineTransfer { line, .. } => Some(*line),
            _ => None,
        };
        let as_it_is = after("seed-000", 1_000_000, |_| None);
        let (lock, line) = (most(&as_it_is, wait), most(&as_it_is, moved));
        let freed = after("seed-000", 1_000_000, |_| Some(Spare::Object(lock)));
        assert!(freed.len() > 1_000 && !freed.iter().any(|k| wait(k) == Some(lock)));
        let freed = after("seed-000", 1_000_000, |_| Some(Spare::Object(line)));
        assert!(freed.len() > 1_000 && !freed.iter().any(|k| moved(k) == Some(line)));
    }

    #[test]
    fn a_spared_pool_and_a_disk_spared_of_wbt_let_nobody_sleep() {
        let pool = |k: &Kind| matches!(k, Kind::PoolWait { .. });
        let wbt = |k: &Kind| matches!(k, Kind::WbtWait { .. });
        let (mut pools, mut disks) = (0, 0);
        for case in cases() {
            for (label, mut scenario) in case.sides() {
                for disk in scenario.devices.iter_mut().filter(|d| d.path == Some(Path::Legacy)) {
                    // A small pool, or the cases would have to run for long.
                    disk.nr_requests = Some(8);
                }
                let mut sim = Sim::new(&scenario).expect("it can run");
                sim.run_events(20_000);
                sim.log_mut().set_on(true);
                let mut waits = sim.clone();
                waits.run_events(60_000);
                let count = |sim: &Sim, f: fn(&Kind) -> bool| {
                    sim.log().events().iter().filter(|e| f(&e.kind)).count()
                };
                let (for_pool, for_wbt) = (count(&waits, pool), count(&waits, wbt));
                if for_pool + for_wbt == 0 {
                    continue;
                }
                for h in 0..sim.topology().hctxs.len() as HctxId {
                    assert!(sim.spare(Spare::Tags(h)));
                }
                for q in 0..sim.topology().queues.len() as QueueId {
                    sim.spare(Spare::Throttle(q));
                }
                sim.run_events(60_000);
                assert_eq!((count(&sim, pool), count(&sim, wbt)), (0, 0), "{} {label}", case.name);
                (pools, disks) = (pools + usize::from(for_pool > 0), disks + usize::from(for_wbt > 0));
            }
        }
        assert!(pools > 0 && disks > 0, "{pools} pools, {disks} disks");
    }

    #[test]
    fn every_lock_and_line_of_every_case_can_be_spared_or_says_that_it_cannot() {
        for case in cases() {
            for (label, scenario) in case.sides() {
                let mut sim = Sim::new(&scenario).expect("it can run");
                sim.run_events(3_000);
                for id in 0..sim.topology().objects.len() as ObjectId {
                    assert!(sim.spare(Spare::Object(id)) || sim.is_legacy_lock(id), "{} {label}", case.name);
                }
                for h in 0..sim.topology().hctxs.len() as HctxId {
                    assert!(sim.spare(Spare::Tags(h)));
                }
                sim.run_events(12_000);
                assert!(sim.spared.len() > 1);
            }
        }
    }
}
