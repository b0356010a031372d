//! An NVMe device: one flash unit behind a link. Queues and doorbells are the driver's; here commands only arrive.

use super::flash::{Flash, FlashSpec, PAGE};
use super::{Command, Model, Outbox};
use crate::event::Stage;

/// What a request slot waits for at the device.
#[derive(Clone, Copy, Debug, Hash)]
enum Waits {
    /// A write's data on the way to the device.
    Data(Command),
    /// The link to the host, for so many bytes.
    Link(u32),
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Nvme {
    flash: Flash,
    out_free_ns: u64,
    in_free_ns: u64,
    waiting: Vec<Waits>,
}

impl Nvme {
    pub(crate) fn new(spec: FlashSpec) -> Self {
        Self { flash: Flash::new(spec), out_free_ns: 0, in_free_ns: 0, waiting: Vec::new() }
    }
}

impl Model for Nvme {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let slot = command.slot as usize;
        if self.waiting.len() <= slot {
            self.waiting.resize(slot + 1, Waits::Link(0));
        }
        if command.write() {
            // Data comes over the link first; the front end sees the command when it is there.
            let start = now.max(self.in_free_ns);
            let here = start + Flash::link_ns(self.flash.spec().link_in, command.bytes);
            self.in_free_ns = here;
            out.stage(command.slot, Stage::Link, 0, now, here);
            self.waiting[slot] = Waits::Data(command);
            out.timers.push((here, command.slot));
        } else if !command.has_data() {
            let end = self.flash.pass(now, &command, 0, Stage::Controller, out);
            out.done.push((end, command.slot));
        } else {
            self.waiting[slot] = Waits::Link(command.bytes);
            let end = self.flash.pass(now, &command, 0, Stage::Controller, out);
            // Reads of different dies meet again at the link; its time for one page is part of the fixed time.
            let link_ns = Flash::link_ns(self.flash.spec().link_out, PAGE);
            out.timers.push((end.saturating_sub(link_ns).max(now), command.slot));
        }
    }

    fn event(&mut self, now: u64, token: u32, out: &mut Outbox) {
        match self.waiting[token as usize] {
            Waits::Data(command) => {
                let end = self.flash.pass(now, &command, 0, Stage::Controller, out);
                // The link's time for one page is part of the time to the acknowledgement.
                let link_ns = Flash::link_ns(self.flash.spec().link_in, PAGE);
                out.done.push((end.saturating_sub(link_ns).max(now), token));
            }
            Waits::Link(bytes) => {
                let start = now.max(self.out_free_ns);
                let end = start + Flash::link_ns(self.flash.spec().link_out, bytes);
                self.out_free_ns = end;
                out.stage(token, Stage::Link, 0, now, end);
                out.done.push((end, token));
            }
        }
    }
}
