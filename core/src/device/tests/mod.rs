//! Device models alone: commands in, completions out, no host above them.

mod adapter;
mod flash;
mod write_back;

use super::{Command, Device, Outbox, Passed, preset, presets::Spec};
use crate::engine::rng::{self, Purpose};
use crate::event::Op;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

pub(super) const MS: u64 = 1_000_000;
const SEED: u64 = 11;

/// What one run of a device gave.
#[derive(Default)]
pub(super) struct Outcome {
    /// Latencies of the commands that began after the first tenth, ns.
    pub latencies_ns: Vec<u64>,
    /// Completions after the first tenth.
    pub done: u64,
    window_ns: u64,
    /// (slot, stage), whole run.
    pub stages: Vec<(u32, Passed)>,
}

impl Outcome {
    pub fn iops(&self) -> f64 {
        self.done as f64 * 1e9 / self.window_ns as f64
    }

    pub fn mean_ns(&self) -> f64 {
        self.latencies_ns.iter().sum::<u64>() as f64 / self.latencies_ns.len() as f64
    }

    pub fn percentile_ns(&mut self, percent: f64) -> u64 {
        self.latencies_ns.sort_unstable();
        self.latencies_ns[(self.latencies_ns.len() as f64 * percent / 100.0) as usize]
    }
}

/// A device of this preset with some constants changed, with `luns` volumes.
pub(super) fn device(name: &str, changes: &[(&str, u64)], luns: u16) -> Device {
    let changes: BTreeMap<String, u64> = changes.iter().map(|&(n, v)| (n.into(), v)).collect();
    let preset = preset(name).expect("the preset is known");
    match preset.spec.with(&changes).expect("the constants are in their bounds") {
        Spec::Nvme(spec) => Device::nvme(spec),
        Spec::Hba(spec) => Device::hba(spec, luns, preset.size),
        _ => panic!("{name} has no physics"),
    }
}

pub(super) fn command(op: Op, sector: u64, bytes: u32) -> Command {
    Command { slot: 0, lun: 0, sq: 0, op, fua: false, sector, bytes, seed: SEED }
}

/// A random page of the first 100 GB.
pub(super) fn random_sector(key: u64) -> u64 {
    rng::below(SEED, Purpose::Offset, key, 25_000_000) * 8
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Device(u32),
    Done(u32),
    Arrival(u32),
}

/// An agenda for a device alone.
struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Next)>>,
    seq: u64,
    out: Outbox,
    outcome: Outcome,
    began: Vec<u64>,
}

impl Agenda {
    fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            seq: 0,
            out: Outbox::default(),
            outcome: Outcome::default(),
            began: Vec::new(),
        }
    }

    fn at(&mut self, at: u64, next: Next) {
        self.seq += 1;
        self.heap.push(Reverse((at, self.seq, next)));
    }

    fn submit(&mut self, device: &mut Device, now: u64, command: Command) {
        let slot = command.slot as usize;
        if self.began.len() <= slot {
            self.began.resize(slot + 1, 0);
        }
        self.began[slot] = now;
        device.model().submit(now, command, &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.timers.drain(..).for_each(|(at, token)| self.at(at, Next::Device(token)));
        out.done.drain(..).for_each(|(at, slot)| self.at(at, Next::Done(slot)));
        self.outcome.stages.append(&mut out.stages);
        self.out = out;
    }

    /// The next completion or arrival not later than `end_ns`: (time, what).
    fn step(&mut self, device: &mut Device, end_ns: u64) -> Option<(u64, Next)> {
        while let Some(&Reverse((at, _, next))) = self.heap.peek()
            && at <= end_ns
        {
            self.heap.pop();
            if let Next::Device(token) = next {
                device.model().event(at, token, &mut self.out);
                self.collect();
            } else {
                return Some((at, next));
            }
        }
        None
    }

    fn note(&mut self, now: u64, slot: u32, warm_ns: u64) {
        let began = self.began[slot as usize];
        self.outcome.done += u64::from(now >= warm_ns);
        if began >= warm_ns {
            self.outcome.latencies_ns.push(now - began);
        }
    }
}

/// A closed loop of `n` commands without think time; `make` gives the command of this number.
pub(super) fn closed(
    device: &mut Device,
    n: u32,
    duration_ns: u64,
    mut make: impl FnMut(u64) -> Command,
) -> Outcome {
    let mut agenda = Agenda::new();
    let warm_ns = duration_ns / 10;
    let mut number = 0;
    let mut next = |slot| {
        number += 1;
        Command { slot, ..make(number - 1) }
    };
    for slot in 0..n {
        // Not all at once, or they would go round in step.
        let at = u64::from(slot) * 100;
        agenda.at(at, Next::Arrival(slot));
    }
    while let Some((now, what)) = agenda.step(device, duration_ns) {
        match what {
            Next::Done(slot) => {
                agenda.note(now, slot, warm_ns);
                agenda.submit(device, now, next(slot));
            }
            Next::Arrival(slot) => agenda.submit(device, now, next(slot)),
            Next::Device(_) => unreachable!("the device took it"),
        }
    }
    agenda.outcome.window_ns = duration_ns - warm_ns;
    agenda.outcome
}

/// Commands that arrive at the given times, until all are done; slots are used again.
pub(super) fn open(device: &mut Device, arrivals: impl IntoIterator<Item = (u64, Command)>) -> Outcome {
    let mut agenda = Agenda::new();
    open_with(&mut agenda, device, arrivals, &mut |_| {});
    agenda.outcome
}

/// The same, but nothing is kept of the stages that `see` is shown.
pub(super) fn open_seeing(
    device: &mut Device,
    arrivals: impl IntoIterator<Item = (u64, Command)>,
    mut see: impl FnMut(&Passed),
) -> Outcome {
    let mut agenda = Agenda::new();
    open_with(&mut agenda, device, arrivals, &mut |stages| {
        stages.drain(..).for_each(|(_, passed)| see(&passed));
    });
    agenda.outcome
}

fn open_with(
    agenda: &mut Agenda,
    device: &mut Device,
    arrivals: impl IntoIterator<Item = (u64, Command)>,
    see: &mut impl FnMut(&mut Vec<(u32, Passed)>),
) {
    let mut arrivals = arrivals.into_iter();
    let (mut free, mut slots, mut last) = (Vec::new(), 0, 0);
    let mut coming = arrivals.next();
    if let Some((at, _)) = coming {
        agenda.at(at, Next::Arrival(0));
    }
    while let Some((now, what)) = agenda.step(device, u64::MAX) {
        last = now;
        match what {
            Next::Done(slot) => {
                agenda.note(now, slot, 0);
                free.push(slot);
            }
            Next::Arrival(_) => {
                let Some((_, command)) = coming.take() else { break };
                coming = arrivals.next();
                if let Some((at, _)) = coming {
                    agenda.at(at, Next::Arrival(0));
                }
                let slot = free.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                });
                agenda.submit(device, now, Command { slot, ..command });
            }
            Next::Device(_) => unreachable!("the device took it"),
        }
        see(&mut agenda.outcome.stages);
    }
    agenda.outcome.window_ns = last;
}

/// Random 4 KiB reads, `n` at once.
pub(super) fn reads(name: &str, n: u32, duration_ns: u64) -> Outcome {
    closed(&mut device(name, &[], 1), n, duration_ns, |k| command(Op::Read, random_sector(k), 4096))
}

#[track_caller]
pub(super) fn near(what: &str, found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance * wanted, "{what}: {found}, but {wanted} is due");
}
