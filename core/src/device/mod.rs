//! Device models: null, flash, RAID adapter, rotating disk. One file or folder each, one trait, one row in [`PRESETS`].
//!
//! A device knows commands and time, nothing of schedulers, CPUs or kernels. Where stations are first in, first out
//! with fixed service times, their end is computed on arrival; an event is scheduled only where streams meet again.

mod flash;
mod hba;
mod hdd;
mod null;
mod params;
mod presets;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use hba::{AdapterSpec, HbaSpec};
pub use hdd::{HddView, HddWork, QueuedCommand, Spot};
pub use params::Param;
pub(crate) use presets::Spec;
pub use presets::{PRESETS, Preset, preset};
pub use view::{AdapterView, DeviceView, DieWork, FlashView, MemberView};

use crate::engine::agenda::Timed;
use crate::event::{Flags, Kind, Op, QueueId, Stage};
use crate::sim::Sim;
use crate::spare::Spare;

/// A command as the device sees it.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Command {
    /// Request slot; the device hands it back.
    pub slot: u32,
    /// Logical unit.
    pub lun: u16,
    /// Submission queue that it came through.
    pub sq: u16,
    pub op: Op,
    /// FUA: past the write cache.
    pub fua: bool,
    pub sector: u64,
    pub bytes: u32,
    /// Seed of the run, for the placement of data on dies.
    pub seed: u64,
}

/// A passed stage, for the log: unit, start and end, ns.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Passed {
    pub stage: Stage,
    pub unit: u16,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// Instead of a request slot: the device works for itself.
pub(crate) const UNASKED: u32 = u32::MAX;

/// What a device asks for: events of its own, finished commands, stages for the log.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Outbox {
    /// (time, token)
    pub timers: Vec<(u64, u32)>,
    /// (time, request slot)
    pub done: Vec<(u64, u32)>,
    /// (request slot or [`UNASKED`], stage)
    pub stages: Vec<(u32, Passed)>,
}

impl Command {
    /// Whether data goes to the device.
    pub(crate) fn write(&self) -> bool {
        self.op == Op::Write
    }

    /// Whether data goes to or from the device; flushes and discards have none.
    pub(crate) fn has_data(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write)
    }
}

impl Outbox {
    fn stage(&mut self, slot: u32, stage: Stage, unit: usize, start_ns: u64, end_ns: u64) {
        if end_ns > start_ns {
            self.stages.push((slot, Passed { stage, unit: unit as u16, start_ns, end_ns }));
        }
    }
}

/// A device model.
pub(crate) trait Model {
    /// Takes a command at `now` (ns).
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox);
    /// One of its timers fired. The token is what it put into the outbox.
    fn event(&mut self, now: u64, token: u32, out: &mut Outbox);
}

/// All models; a plain enum so that a device can be cloned and hashed with the rest of the state.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Device {
    Null(null::Null),
    Flash(flash::Flash),
    Hba(hba::Hba),
    Hdd(Box<hdd::Hdd>),
}

impl Device {
    pub(crate) fn null(completion_ns: u64, grain_ns: u64, recorded_ns: &[u64]) -> Self {
        Device::Null(null::Null {
            completion_ns,
            grain_ns,
            recorded_ns: recorded_ns.iter().copied().collect(),
        })
    }

    pub(crate) fn nvme(spec: flash::FlashSpec) -> Self {
        Device::Flash(flash::Flash::nvme(spec))
    }

    /// An adapter with `luns` volumes of `size` bytes.
    pub(crate) fn hba(spec: hba::HbaSpec, luns: u16, size: u64) -> Self {
        Device::Hba(hba::Hba::new(spec, luns, size))
    }

    /// A rotating disk of `size` bytes; `write_back`: it acknowledges writes from its cache.
    pub(crate) fn hdd(spec: hdd::HddSpec, size: u64, write_back: bool) -> Self {
        Device::Hdd(Box::new(hdd::Hdd::new(spec, size, write_back, 0)))
    }

    fn model(&mut self) -> &mut dyn Model {
        match self {
            Device::Null(d) => d,
            Device::Flash(d) => d,
            Device::Hba(d) => d,
            Device::Hdd(d) => d.as_mut(),
        }
    }
}

impl Sim {
    /// The driver rings: the device sees the request.
    pub(crate) fn device_submit(&mut self, c: usize, rq: u32) {
        let r = &self.rqs[rq];
        let queue = &self.queues[r.queue as usize];
        let command = Command {
            slot: rq,
            lun: queue.lun,
            sq: r.hctx - queue.first_hctx,
            op: r.op,
            fua: r.flags.has(Flags::FUA),
            sector: r.sector,
            bytes: r.sectors * 512,
            seed: self.seed,
        };
        let mut device = queue.device;
        if self.rq_is_spared(rq, Spare::OwnDevice) {
            device = self.own_device(device);
        }
        let at = self.now + self.cpus[c].debt;
        let mut out = std::mem::take(&mut self.outbox);
        self.devices[device as usize].model().submit(at, command, &mut out);
        self.deliver(device, out);
    }

    pub(crate) fn device_event(&mut self, device: u16, token: u32) {
        let mut out = std::mem::take(&mut self.outbox);
        self.devices[device as usize].model().event(self.now, token, &mut out);
        self.deliver(device, out);
    }

    /// The inside of a disk's device at this moment; `None` where there is nothing to see.
    pub fn device_view(&self, queue: QueueId) -> Option<DeviceView> {
        self.device_view_at(queue, self.now)
    }

    /// The same as it moves on by itself until `now_ns`, a time up to the next event.
    pub fn device_view_at(&self, queue: QueueId, now_ns: u64) -> Option<DeviceView> {
        let queue = self.queues.get(queue as usize).filter(|q| q.stack.is_none())?;
        match self.devices.get(queue.device as usize)? {
            Device::Null(_) => None,
            Device::Flash(disk) => Some(DeviceView::Flash(disk.view(now_ns))),
            Device::Hba(adapter) => Some(DeviceView::Adapter(adapter.view(now_ns, queue.lun))),
            Device::Hdd(disk) => Some(DeviceView::Hdd(disk.view(now_ns))),
        }
    }

    fn deliver(&mut self, device: u16, mut out: Outbox) {
        for (at, token) in out.timers.drain(..) {
            self.agenda.at(at, Timed::Device(device, token));
        }
        for (at, slot) in out.done.drain(..) {
            self.agenda.at(at, Timed::Done(slot));
        }
        for (slot, p) in out.stages.drain(..) {
            if self.log.is_on() {
                let (rq, queue, cpu) = if slot == UNASKED {
                    let queue = self.queues.iter().position(|q| q.device == device).unwrap_or_default();
                    let hctx = self.queues[queue].first_hctx;
                    (0, queue as QueueId, self.hctxs[hctx as usize].vector.cpu)
                } else {
                    let r = &self.rqs[slot];
                    (r.id, r.queue, r.issue_cpu)
                };
                let Passed { stage, unit, start_ns, end_ns } = p;
                self.emit_device_on(cpu, Kind::DeviceStage { rq, queue, stage, unit, start_ns, end_ns });
            }
        }
        self.outbox = out;
    }
}
