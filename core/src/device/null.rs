//! The null device: every command takes the same time and none waits for another.

use super::{Command, Model, Outbox};
use crate::event::Stage;

#[derive(Clone, Debug, Hash)]
pub(crate) struct Null {
    pub completion_ns: u64,
}

impl Model for Null {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let end = now + self.completion_ns;
        out.stage(command.slot, Stage::Service, 0, now, end);
        out.done.push((end, command.slot));
    }

    fn event(&mut self, _now: u64, _token: u32, _out: &mut Outbox) {
        unreachable!("a null device has no events of its own");
    }
}
