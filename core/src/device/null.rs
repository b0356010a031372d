//! The null device: every command takes the same time, or the time that was recorded for it, and none waits for
//! another.

use super::{Command, Model, Outbox};
use crate::event::Stage;
use std::collections::VecDeque;

#[derive(Clone, Debug, Hash)]
pub(crate) struct Null {
    pub completion_ns: u64,
    /// Ends are rounded up to a multiple of this; 0: they are not.
    pub grain_ns: u64,
    /// Times of the first commands.
    pub recorded_ns: VecDeque<u64>,
}

impl Model for Null {
    fn submit(&mut self, now: u64, command: Command, out: &mut Outbox) {
        let end = now + self.recorded_ns.pop_front().unwrap_or(self.completion_ns);
        let end = if self.grain_ns > 1 { end.next_multiple_of(self.grain_ns) } else { end };
        out.stage(command.slot, Stage::Service, 0, now, end);
        out.done.push((end, command.slot));
    }

    fn event(&mut self, _now: u64, _token: u32, _out: &mut Outbox) {
        unreachable!("a null device has no events of its own");
    }
}
