//! A member disk of a volume, with the queue in front of it in the adapter.

use super::spec::MemberSpec;
use crate::device::flash::Flash;
use crate::device::hdd::Hdd;
use crate::device::{Command, DeviceView, MemberView, Model, Outbox};
use std::collections::VecDeque;

/// The disk itself.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Disk {
    Flash(Box<Flash>),
    Hdd(Box<Hdd>),
}

impl Disk {
    /// Member number `unit`, of `size` bytes.
    fn new(spec: &MemberSpec, size: u64, unit: u16) -> Self {
        match spec {
            MemberSpec::Hdd(spec) => Disk::Hdd(Box::new(Hdd::new(spec.clone(), size, false, unit))),
            MemberSpec::Flash(spec) => Disk::Flash(Box::new(Flash::member(spec.clone()))),
        }
    }

    /// Whether it computes what happens to a command on arrival, so that it can be told of one that is still under way.
    pub(crate) fn takes_early(&self) -> bool {
        match self {
            Disk::Flash(_) => true,
            Disk::Hdd(_) => false,
        }
    }

    fn model(&mut self) -> &mut dyn Model {
        match self {
            Disk::Flash(disk) => disk.as_mut(),
            Disk::Hdd(disk) => disk.as_mut(),
        }
    }

    pub(crate) fn view(&self, now: u64) -> DeviceView {
        match self {
            Disk::Flash(disk) => DeviceView::Flash(disk.view(now)),
            Disk::Hdd(disk) => DeviceView::Hdd(disk.view(now)),
        }
    }

    pub(crate) fn submit(&mut self, at: u64, command: Command, out: &mut Outbox) {
        self.model().submit(at, command, out);
    }

    pub(crate) fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        self.model().event(now, token, out);
    }
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Member {
    pub disk: Disk,
    /// Commands that it was given and that are not done, those from the cache among them.
    pub in_flight: u32,
    pub destaging: u32,
    /// Parts of host commands that found its queue full: (part, since).
    pub waiting: VecDeque<(u32, u64)>,
    /// Where the next data from the cache are looked for: the sweep goes upwards.
    pub sweep: u64,
}

impl Member {
    pub(crate) fn new(spec: &MemberSpec, size: u64, unit: u16) -> Self {
        Self {
            disk: Disk::new(spec, size, unit),
            in_flight: 0,
            destaging: 0,
            waiting: VecDeque::new(),
            sweep: 0,
        }
    }

    pub(crate) fn view(&self, now: u64) -> MemberView {
        MemberView {
            in_flight: self.in_flight,
            destaging: self.destaging,
            waiting: self.waiting.len() as u32,
            disk: Box::new(self.disk.view(now)),
        }
    }

    /// Host commands that it was given or that wait for it.
    pub(crate) fn host_commands(&self) -> u32 {
        self.in_flight - self.destaging + self.waiting.len() as u32
    }
}
