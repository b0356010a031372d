//! Locks and shared cache lines: who owns them, who waits, what each touch costs.
//!
//! A line is a first-in-first-out station: an atomic operation costs the transfer from the last owner (by distance)
//! plus the operation itself, and waits until earlier ones are through. A read leaves copies with the readers, as MESI
//! does: reading a copy that is still valid costs nothing, the next write has to take all copies away. A spinlock is a
//! queue of CPUs that burn their time (qspinlock, kernel 4.2+): an uncontended acquisition fetches the line; a
//! hand-over costs one transfer for the first waiter (pending bit) and two for later ones (queue node and lock word).

use super::cpu::{Cpu, Grant};
use super::{Costs, Mode};
use crate::check::Invariant;
use crate::event::{CpuId, Kind, ObjectId};
use crate::sim::Sim;
use crate::spare::Spare;
use std::collections::VecDeque;

/// No CPU: a lock without holder, a line never touched.
pub(crate) const NO_CPU: CpuId = CpuId::MAX;

/// A lock or a line.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Object {
    /// Last CPU that touched it.
    pub owner: CpuId,
    /// CPUs with a valid copy of a line (bit per CPU; machines have at most 128).
    pub copies: u128,
    /// For a lock: who holds it.
    pub holder: CpuId,
    /// For a lock: who held it before, in whose cache what it protects still is.
    pub before: CpuId,
    /// For a line: when the last touch is through, ns. For a lock: when it was taken.
    pub since_ns: u64,
    pub waiters: VecDeque<CpuId>,
    pub count: u64,
    pub contended: u64,
    pub wait_ns: u64,
    pub transfers: u64,
    /// Time of those transfers that are no part of a wait for a lock, ns.
    pub transfer_ns: u64,
}

/// All of them, and what a line costs between any two CPUs.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Objects {
    pub all: Vec<Object>,
    /// ns, by CPU from * CPUs + CPU to.
    transfer_ns: Vec<u32>,
    cpus: usize,
}

impl Objects {
    pub(crate) fn add(&mut self) -> ObjectId {
        self.all.push(Object {
            owner: NO_CPU,
            copies: 0,
            holder: NO_CPU,
            before: NO_CPU,
            since_ns: 0,
            waiters: VecDeque::new(),
            count: 0,
            contended: 0,
            wait_ns: 0,
            transfers: 0,
            transfer_ns: 0,
        });
        self.all.len() as ObjectId - 1
    }

    /// Fills the table of transfer costs.
    pub(crate) fn set_distances(&mut self, cpus: &[Cpu], costs: &Costs) {
        self.cpus = cpus.len();
        let pairs = cpus.iter().flat_map(|a| cpus.iter().map(move |b| (a, b)));
        self.transfer_ns = pairs
            .map(|(a, b)| match (a.socket == b.socket, a.cache == b.cache, a.core == b.core) {
                (false, ..) => costs.line_remote,
                (true, false, _) => costs.line_cache,
                (true, true, false) => costs.line_socket,
                (true, true, true) => costs.line_smt,
            })
            .collect();
        for c in 0..self.cpus {
            self.transfer_ns[c * self.cpus + c] = 0;
        }
    }

    /// What it costs CPU `to` to fetch a line last touched by `from`, ns.
    #[inline]
    fn transfer(&self, from: CpuId, to: CpuId) -> u32 {
        if from == NO_CPU { 0 } else { self.transfer_ns[from as usize * self.cpus + to as usize] }
    }

    /// Starts the measured window.
    pub(crate) fn reset_counters(&mut self) {
        for o in &mut self.all {
            (o.count, o.contended, o.wait_ns, o.transfers, o.transfer_ns) = (0, 0, 0, 0, 0);
        }
    }
}

impl Sim {
    /// Charges CPU time to whatever `c` runs.
    #[inline]
    pub(crate) fn charge(&mut self, c: usize, ns: u32) {
        self.charge_long(c, u64::from(ns));
    }

    pub(crate) fn charge_long(&mut self, c: usize, ns: u64) {
        let cpu = &mut self.cpus[c];
        cpu.debt += ns;
        cpu.used_ns[cpu.mode as usize] += ns;
    }

    /// Switches the account on which `c`'s time is booked.
    pub(crate) fn set_mode(&mut self, c: usize, mode: Mode) {
        self.cpus[c].mode = mode;
    }

    /// Reads a shared line: free while this CPU's copy is valid, else it is fetched from the last writer.
    pub(crate) fn read(&mut self, c: usize, id: ObjectId) {
        if self.is_spared(Spare::Object(id)) {
            return;
        }
        let mine = 1u128 << c;
        let object = &mut self.objects.all[id as usize];
        if object.copies & mine != 0 {
            return;
        }
        object.copies |= mine;
        let from = object.owner;
        if from == NO_CPU {
            return;
        }
        object.count += 1;
        let transfer = self.objects.transfer(from, c as CpuId);
        self.fetched(c, id, from, transfer, 0);
    }

    /// One atomic operation on a shared line.
    pub(crate) fn touch(&mut self, c: usize, id: ObjectId) {
        self.take_line(c, id, u64::from(self.costs.atomic_local));
    }

    /// Plain stores to a shared line, whose own time is part of the work around them.
    pub(crate) fn write(&mut self, c: usize, id: ObjectId) {
        self.take_line(c, id, 0);
    }

    /// Takes a line to change it, which takes `local` ns once it is here.
    fn take_line(&mut self, c: usize, id: ObjectId, local: u64) {
        if self.is_spared(Spare::Object(id)) {
            return self.charge_long(c, local);
        }
        let (me, mine) = (c as CpuId, 1u128 << c);
        let at = self.now + self.cpus[c].debt;
        let object = &mut self.objects.all[id as usize];
        object.count += 1;
        let from = object.owner;
        let others = object.copies & !mine;
        let wait = object.since_ns.saturating_sub(at);
        object.owner = me;
        object.copies = mine;
        if others == 0 && (from == me || from == NO_CPU) {
            object.since_ns = at + local;
            return self.charge_long(c, local);
        }
        // From the last writer; where only copies are elsewhere, the farthest one has to be taken away.
        let transfer = if from == me || from == NO_CPU {
            let mut farthest = 0;
            let mut rest = others;
            while rest != 0 {
                let other = rest.trailing_zeros() as CpuId;
                farthest = farthest.max(self.objects.transfer(other, me));
                rest &= rest - 1;
            }
            farthest
        } else {
            self.objects.transfer(from, me)
        };
        let object = &mut self.objects.all[id as usize];
        object.since_ns = at + wait + u64::from(transfer) + local;
        object.contended += u64::from(wait > 0);
        object.wait_ns += wait;
        self.fetched(c, id, from, transfer, wait);
        self.charge_long(c, local);
    }

    /// Fetches `lines` lines that only one CPU works on at a time, so that there is no queue for them.
    pub(crate) fn fetch_lines(&mut self, c: usize, id: ObjectId, from: CpuId, lines: u32) {
        if self.is_spared(Spare::Object(id)) {
            return;
        }
        self.objects.all[id as usize].count += u64::from(lines);
        let transfer = self.objects.transfer(from, c as CpuId) * lines;
        self.fetched(c, id, from, transfer, 0);
    }

    fn fetched(&mut self, c: usize, id: ObjectId, from: CpuId, transfer_ns: u32, wait: u64) {
        let object = &mut self.objects.all[id as usize];
        object.transfers += u64::from(transfer_ns > 0);
        object.transfer_ns += u64::from(transfer_ns);
        self.cpus[c].line_ns += wait + u64::from(transfer_ns);
        self.charge_long(c, wait + u64::from(transfer_ns));
        if transfer_ns > 0 && self.log.is_on() {
            let wait_ns = wait.min(u64::from(u32::MAX)) as u32;
            self.emit(c, Kind::LineTransfer { line: id, from, transfer_ns, wait_ns });
        }
    }

    /// Whether somebody holds a lock, as a trylock finds out.
    pub(crate) fn is_locked(&self, id: ObjectId) -> bool {
        self.objects.all[id as usize].holder != NO_CPU && !self.is_spared(Spare::Object(id))
    }

    /// Whether a lock is the one of a queue on the legacy path. It is not broken on purpose: two CPUs in `request_fn` would
    /// hand one request over twice, and a kernel would not survive that either.
    pub(crate) fn is_legacy_lock(&self, id: ObjectId) -> bool {
        self.queues.iter().any(|q| q.legacy.is_some() && q.queue_lock == id)
    }

    /// Tries to take a lock. False: `c` now spins and is resumed by the hand-over.
    pub(crate) fn lock(&mut self, c: usize, id: ObjectId) -> bool {
        let me = c as CpuId;
        if self.is_spared(Spare::Object(id)) {
            self.cpus[c].locks_held += 1;
            self.charge(c, self.costs.spinlock_local);
            self.emit(c, Kind::LockAcquire { lock: id, wait_ns: 0, transfer_ns: 0, from: me });
            return true;
        }
        let breakable = self.checks.is_armed(Invariant::OneHolder) && !self.is_legacy_lock(id);
        let object = &mut self.objects.all[id as usize];
        object.count += 1;
        if object.holder != NO_CPU && !(breakable && self.checks.breaks(Invariant::OneHolder)) {
            assert!(
                object.holder != me || self.checks.is_asleep(id),
                "a CPU spins for a lock that it holds itself"
            );
            object.contended += 1;
            let (holder, waiters) = (object.holder, object.waiters.len() as u16);
            object.waiters.push_back(me);
            self.cpus[c].spinning = Some((id, self.now + self.cpus[c].debt));
            self.emit(c, Kind::LockWait { lock: id, holder, waiters });
            return false;
        }
        if self.checks.on {
            self.check_free(c, id);
        }
        let object = &mut self.objects.all[id as usize];
        let from = object.owner;
        object.holder = me;
        object.before = from;
        object.owner = me;
        let transfer = self.objects.transfer(from, me);
        let object = &mut self.objects.all[id as usize];
        object.since_ns = self.now + self.cpus[c].debt;
        object.transfers += u64::from(transfer > 0);
        object.transfer_ns += u64::from(transfer);
        self.cpus[c].locks_held += 1;
        self.cpus[c].line_ns += u64::from(transfer);
        self.charge(c, self.costs.spinlock_local + transfer);
        self.emit(c, Kind::LockAcquire { lock: id, wait_ns: 0, transfer_ns: transfer, from });
        true
    }

    /// The release of a lock that was granted to somebody else in the meantime: nobody is handed anything.
    #[cold]
    fn unlock_by_stranger(&mut self, c: usize, id: ObjectId) {
        if !self.is_spared(Spare::Object(id)) {
            self.check_release(c, id);
        }
        let held_ns = (self.now + self.cpus[c].debt).saturating_sub(self.objects.all[id as usize].since_ns);
        self.cpus[c].locks_held -= 1;
        self.emit(c, Kind::LockRelease { lock: id, held_ns });
    }

    /// Releases a lock and hands it to the first waiter. The owed time must have passed.
    pub(crate) fn unlock(&mut self, c: usize, id: ObjectId) {
        let at = self.now + self.cpus[c].debt;
        let object = &mut self.objects.all[id as usize];
        if object.holder != c as CpuId {
            return self.unlock_by_stranger(c, id);
        }
        let held_ns = at - object.since_ns;
        object.holder = NO_CPU;
        self.cpus[c].locks_held -= 1;
        let next = object.waiters.pop_front();
        let more = !object.waiters.is_empty();
        self.emit(c, Kind::LockRelease { lock: id, held_ns });
        let Some(w) = next else { return };
        let transfer = self.objects.transfer(c as CpuId, w) * if more { 2 } else { 1 };
        let waiter = &mut self.cpus[w as usize];
        let since = waiter.spinning.take().map_or(at, |(_, since)| since);
        // What the waiter still owed when it began to spin has to pass first.
        let taken_at = since.max(at + u64::from(transfer));
        let wait_ns = taken_at - since;
        waiter.debt = 0;
        waiter.locks_held += 1;
        waiter.spin_ns += wait_ns;
        self.stats.course.spun(since, taken_at);
        waiter.granted = Some(Grant { lock: id, wait_ns, transfer_ns: transfer, from: c as CpuId });
        let object = &mut self.objects.all[id as usize];
        object.holder = w;
        object.before = object.owner;
        object.owner = w;
        object.since_ns = taken_at;
        // The way of the line is a part of the wait.
        object.wait_ns += wait_ns;
        object.transfers += 1;
        self.agenda.cpu_at(w as usize, taken_at);
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{DeviceConfig, Scenario};
    use crate::sim::Sim;
    use crate::workload::{JobSpec, Workload};

    /// Operations per second on one line by the CPUs of this list in turn, each as soon as its last one is through.
    fn rate(cpus: &[usize]) -> f64 {
        let scenario = Scenario {
            devices: vec![DeviceConfig::new("disk0", "null")],
            workload: Workload::Jobs(vec![JobSpec::default()]),
            ..Scenario::default()
        };
        let mut sim = Sim::new(&scenario).expect("the scenario is valid");
        let mut ready = vec![0u64; cpus.len()];
        let rounds = 10_000;
        for _ in 0..rounds {
            for (i, &c) in cpus.iter().enumerate() {
                (sim.now, sim.cpus[c].debt) = (ready[i], 0);
                sim.touch(c, 0);
                ready[i] += sim.cpus[c].debt;
            }
        }
        let end = ready.iter().max().copied().unwrap_or(1);
        (rounds * cpus.len()) as f64 * 1e9 / end as f64
    }

    #[test]
    fn a_line_is_as_far_as_the_caches_are_apart() {
        let distances = |machine: &str, pairs: &[(u16, u16)]| -> Vec<u32> {
            let scenario = Scenario {
                machine: machine.into(),
                devices: vec![DeviceConfig::new("disk0", "null")],
                workload: Workload::Jobs(vec![JobSpec::default()]),
                ..Scenario::default()
            };
            let sim = Sim::new(&scenario).expect("the scenario is valid");
            pairs.iter().map(|&(a, b)| sim.objects.transfer(a, b)).collect()
        };
        // Second threads come after all cores: 16 is the sibling of 0; cores 8 to 15 are the other die.
        assert_eq!(
            distances("desktop-32", &[(0, 0), (0, 16), (0, 7), (0, 23), (0, 8), (7, 31)]),
            [0, 5, 18, 18, 68, 68]
        );
        assert_eq!(distances("xeon-gold-6242-2s", &[(0, 32), (0, 15), (0, 16)]), [7, 48, 136]);
    }

    #[test]
    fn a_shared_counter_saturates_at_one_transfer_and_one_operation() {
        // 48 + 7 and 136 + 7 ns; the rounded ceilings are 20 M and 7 M a second.
        let near =
            |found: f64, due: f64| assert!((found - due).abs() < 0.01 * due, "{found}, but {due} is due");
        let socket: Vec<usize> = (0..16).collect();
        near(rate(&socket), 1e9 / 55.0);
        // First threads of cores 0 to 17 are socket 0, those of 18 to 35 socket 1.
        let across: Vec<usize> = (0..16).flat_map(|c| [c, c + 18]).collect();
        near(rate(&across), 1e9 / 143.0);
        near(rate(&[0]), 1e9 / 7.0);
    }
}
