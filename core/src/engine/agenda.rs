//! The agenda: every pending event of a run, ordered by (time, sequence).
//!
//! The sequence number is given at scheduling, so equal times leave first in, first out. It is 64 bits wide and
//! cannot wrap in a run (2^64 events). Two structures share one order: a winner tree with one leaf a CPU, because a
//! CPU has at most one continuation and re-schedules it all the time (O(log CPUs), no allocation), and a binary
//! heap for timers and devices (O(log n)).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer or device event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timed {
    /// A stage inside device `.0` ends; `.1` is the device's own token.
    Device(u16, u32),
    /// The request in slot `.1` of device `.0` is finished and its interrupt rises.
    Done(u16, u32),
    /// A task's timer (thinktime, rate, start) fires.
    Task(u16),
    /// The worker for hctx `.0` becomes ready; stale if `.1` is not the hctx's work generation.
    Work(u16, u32),
    /// A runnable entity (see `host::Runnable::pack`) arrives at the run queue of CPU `.0`.
    Runnable(u16, u32),
    /// A completion sent by IPI arrives at CPU `.0`: request slot `.1`.
    Ipi(u16, u32),
    /// The measured window begins.
    Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    at_ns: u64,
    seq: u64,
    what: Timed,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The continuation of this CPU.
    Cpu(usize),
    /// A timer or device event.
    Timed(Timed),
}

const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

/// See the module text.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    seq: u64,
    heap: BinaryHeap<Reverse<Entry>>,
    /// Keys of the leaves.
    keys: Vec<(u64, u64)>,
    /// `winner[1]` is the CPU with the smallest key; children of i are 2i and 2i+1; leaves start at `leaves`.
    winner: Vec<u16>,
    leaves: usize,
}

impl Agenda {
    pub(crate) fn new(cpus: usize) -> Self {
        let leaves = cpus.next_power_of_two().max(2);
        let mut winner = vec![0; leaves];
        for i in (1..leaves).rev() {
            let left = if 2 * i >= leaves { (2 * i - leaves) as u16 } else { winner[2 * i] };
            winner[i] = left;
        }
        Self { seq: 0, heap: BinaryHeap::with_capacity(4096), keys: vec![NEVER; leaves], winner, leaves }
    }

    fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    pub(crate) fn at(&mut self, at_ns: u64, what: Timed) {
        let seq = self.next_seq();
        self.heap.push(Reverse(Entry { at_ns, seq, what }));
    }

    /// Sets the one continuation of a CPU.
    pub(crate) fn cpu_at(&mut self, cpu: usize, at_ns: u64) {
        let key = (at_ns, self.next_seq());
        self.set(cpu, key);
    }

    /// Takes the continuation of a CPU away; its time, if it had one.
    pub(crate) fn cpu_cancel(&mut self, cpu: usize) -> Option<u64> {
        let (at, _) = self.keys[cpu];
        (at != u64::MAX).then(|| {
            self.set(cpu, NEVER);
            at
        })
    }

    /// Whether a CPU has a continuation.
    pub(crate) fn cpu_pending(&self, cpu: usize) -> bool {
        self.keys[cpu] != NEVER
    }

    #[inline]
    fn set(&mut self, cpu: usize, key: (u64, u64)) {
        self.keys[cpu] = key;
        let mut node = (cpu + self.leaves) >> 1;
        // Leaves sit below `leaves/2 ..`; each inner node replays the match of its two children.
        let mut best = if self.keys[cpu ^ 1] < key { cpu ^ 1 } else { cpu };
        self.winner[node] = best as u16;
        while node > 1 {
            let rival = self.winner[node ^ 1] as usize;
            if self.keys[rival] < self.keys[best] {
                best = rival;
            }
            node >>= 1;
            self.winner[node] = best as u16;
        }
    }

    /// Time of the next event.
    pub(crate) fn peek_ns(&self) -> Option<u64> {
        let cpu = self.keys[self.winner[1] as usize].0;
        let timed = self.heap.peek().map_or(u64::MAX, |e| e.0.at_ns);
        let at = cpu.min(timed);
        (at != u64::MAX).then_some(at)
    }

    /// Takes the next event if it is not later than `until_ns`.
    pub(crate) fn pop(&mut self, until_ns: u64) -> Option<(u64, Next)> {
        let cpu = self.winner[1] as usize;
        let cpu_key = self.keys[cpu];
        let timed_key = self.heap.peek().map_or(NEVER, |e| (e.0.at_ns, e.0.seq));
        if cpu_key.0.min(timed_key.0) > until_ns || (cpu_key == NEVER && timed_key == NEVER) {
            return None;
        }
        if cpu_key < timed_key {
            self.set(cpu, NEVER);
            Some((cpu_key.0, Next::Cpu(cpu)))
        } else {
            self.heap.pop().map(|Reverse(e)| (e.at_ns, Next::Timed(e.what)))
        }
    }

    /// Whether a CPU continuation at `at_ns` would be the very next event, so that it may run on without being
    /// queued. Strictly earlier only: at equal times what was queued first goes first. A sequence number is used up
    /// all the same, so that running on and queueing leave the same state.
    #[inline]
    pub(crate) fn runs_on(&mut self, at_ns: u64) -> bool {
        let earliest = at_ns < self.keys[self.winner[1] as usize].0
            && self.heap.peek().is_none_or(|e| at_ns < e.0.at_ns);
        self.seq += u64::from(earliest);
        earliest
    }
}

impl std::hash::Hash for Agenda {
    /// Hashes the pending events in their order of leaving, so that the heap's inner layout does not matter.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let mut entries: Vec<Entry> = self.heap.iter().map(|e| e.0).collect();
        entries.sort_unstable();
        entries.hash(state);
        self.keys.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_in_the_order_they_came() {
        let mut agenda = Agenda::new(3);
        agenda.at(5, Timed::Task(1));
        agenda.cpu_at(2, 5);
        agenda.at(5, Timed::Task(2));
        agenda.cpu_at(0, 4);
        let mut order = Vec::new();
        while let Some((at, next)) = agenda.pop(u64::MAX - 1) {
            order.push((at, format!("{next:?}")));
        }
        let names: Vec<&str> = order.iter().map(|(_, n)| n.as_str()).collect();
        assert_eq!(names, ["Cpu(0)", "Timed(Task(1))", "Cpu(2)", "Timed(Task(2))"]);
    }

    #[test]
    fn the_tree_agrees_with_a_sorted_list() {
        let mut agenda = Agenda::new(72);
        let mut x = 7u64;
        let mut model: Vec<Option<u64>> = vec![None; 72];
        for _ in 0..5000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let cpu = (x >> 33) as usize % 72;
            if x >> 63 == 0 {
                let at = (x >> 40) % 1000;
                agenda.cpu_at(cpu, at);
                model[cpu] = Some(at);
            } else {
                assert_eq!(agenda.cpu_cancel(cpu), model[cpu].take());
            }
            assert_eq!(agenda.peek_ns(), model.iter().flatten().min().copied());
        }
    }
}
