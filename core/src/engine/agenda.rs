//! The agenda: every pending event of a run, ordered by (time, sequence).
//!
//! The sequence number is given at scheduling, so equal times leave first in, first out. It is 64 bits wide and
//! cannot wrap in a run (2^64 events). Two structures share one order: a sorted array of the CPUs' turns, because a CPU
//! has at most one continuation and re-schedules it all the time (O(busy CPUs) with a small constant, O(1) to take
//! the next; a winner tree over all CPUs was slower with the usual 8 of 72 busy), and a binary heap for timers and
//! devices (O(log n)).

use crate::block::VectorId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A timer or device event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Timed {
    /// A stage inside device `.0` ends; `.1` is the device's own token.
    Device(u16, u32),
    /// The device is finished with the request in this slot.
    Done(u32),
    /// A vector has held completions back long enough; stale if there were other interrupts than `.1` since.
    Vector(VectorId, u32),
    /// A task's timer (thinktime, rate, start) fires.
    Task(u16),
    /// The delayed run of hctx `.0` may be due.
    Work(u16),
    /// A runnable entity (see `host::Runnable::pack`) arrives at the run queue of CPU `.0`.
    Runnable(u16, u32),
    /// A completion sent by IPI arrives at CPU `.0`: request slot `.1`.
    Ipi(u16, u32),
    /// A timer of the scheduler of queue `.1`, armed by CPU `.0`; `.2` is the scheduler's token.
    Sched(u16, u16, u32),
    /// A window of wbt on queue `.0` ends.
    Wbt(u16),
    /// The measured window begins.
    Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    at_ns: u64,
    seq: u64,
    what: Timed,
}

impl Ord for Entry {
    /// By (time, sequence); no two entries share a sequence number.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ns, self.seq).cmp(&(other.at_ns, other.seq))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The one continuation of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn {
    at_ns: u64,
    seq: u64,
    cpu: u32,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The continuation of this CPU.
    Cpu(usize),
    /// A timer or device event.
    Timed(Timed),
}

/// See the module text.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    seq: u64,
    heap: BinaryHeap<Reverse<Entry>>,
    /// Latest first, so that the next one is popped from the end.
    turns: Vec<Turn>,
}

impl Agenda {
    pub(crate) fn new(cpus: usize) -> Self {
        Self { seq: 0, heap: BinaryHeap::with_capacity(4096), turns: Vec::with_capacity(cpus) }
    }

    fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    pub(crate) fn at(&mut self, at_ns: u64, what: Timed) {
        let seq = self.next_seq();
        self.heap.push(Reverse(Entry { at_ns, seq, what }));
    }

    /// Sets the one continuation of a CPU, which must have none.
    #[inline]
    pub(crate) fn cpu_at(&mut self, cpu: usize, at_ns: u64) {
        debug_assert!(!self.cpu_pending(cpu), "CPU {cpu} has two continuations");
        let seq = self.next_seq();
        let turn = Turn { at_ns, seq, cpu: cpu as u32 };
        // The new one is the last of its time, as its sequence number is the largest.
        let behind = self.turns.iter().rev().take_while(|t| t.at_ns <= at_ns).count();
        self.turns.insert(self.turns.len() - behind, turn);
    }

    /// Timers and device events under way.
    #[cfg(test)]
    pub(crate) fn timers(&self) -> usize {
        self.heap.len()
    }

    /// Takes the continuation of a CPU away; its time, if it had one.
    pub(crate) fn cpu_cancel(&mut self, cpu: usize) -> Option<u64> {
        let place = self.turns.iter().position(|t| t.cpu == cpu as u32)?;
        Some(self.turns.remove(place).at_ns)
    }

    /// Whether a CPU has a continuation.
    pub(crate) fn cpu_pending(&self, cpu: usize) -> bool {
        self.cpu_turn(cpu).is_some()
    }

    /// When a CPU goes on, ns.
    pub(crate) fn cpu_turn(&self, cpu: usize) -> Option<u64> {
        self.turns.iter().find(|t| t.cpu == cpu as u32).map(|t| t.at_ns)
    }

    /// Time of the next event.
    pub(crate) fn peek_ns(&self) -> Option<u64> {
        let cpu = self.turns.last().map(|t| t.at_ns);
        let timed = self.heap.peek().map(|e| e.0.at_ns);
        match (cpu, timed) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes the next event if it is not later than `until_ns`.
    #[inline]
    pub(crate) fn pop(&mut self, until_ns: u64) -> Option<(u64, Next)> {
        let turn = self.turns.last();
        let timed = self.heap.peek().map(|e| (e.0.at_ns, e.0.seq));
        if let Some(&Turn { at_ns, seq, cpu }) = turn
            && timed.is_none_or(|t| (at_ns, seq) < t)
        {
            if at_ns > until_ns {
                return None;
            }
            self.turns.pop();
            return Some((at_ns, Next::Cpu(cpu as usize)));
        }
        if timed?.0 > until_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(e)| (e.at_ns, Next::Timed(e.what)))
    }

    /// Whether a CPU continuation at `at_ns` would be the very next event, so that it may run on without being
    /// queued. Strictly earlier only: at equal times what was queued first goes first. A sequence number is used up
    /// all the same, so that running on and queueing leave the same state.
    #[inline]
    pub(crate) fn runs_on(&mut self, at_ns: u64) -> bool {
        let earliest = self.turns.last().is_none_or(|t| at_ns < t.at_ns)
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
        (self.seq, &self.turns).hash(state);
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
    fn turns_agree_with_a_plain_model() {
        let mut agenda = Agenda::new(72);
        let mut x = 7u64;
        let mut model: Vec<Option<u64>> = vec![None; 72];
        for _ in 0..5000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let cpu = (x >> 33) as usize % 72;
            if x >> 63 == 0 {
                let at = (x >> 40) % 1000;
                agenda.cpu_cancel(cpu);
                agenda.cpu_at(cpu, at);
                model[cpu] = Some(at);
            } else {
                assert_eq!(agenda.cpu_cancel(cpu), model[cpu].take());
            }
            assert_eq!(agenda.peek_ns(), model.iter().flatten().min().copied());
        }
    }
}
