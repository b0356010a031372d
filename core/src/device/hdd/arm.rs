//! The arm: what it does next, how long that takes, what follows when it is done.

use super::{ARM, Hdd, Motion, Waiting, Work, end_of};
use crate::device::{Outbox, UNASKED};
use crate::event::Stage;

impl Hdd {
    /// What the arm does next; it is free, or reads ahead.
    pub(super) fn choose(&mut self, now: u64, out: &mut Outbox) {
        self.end_flush(now, out);
        if !self.free() {
            return; // a command that the flush held back has the head that read ahead
        }
        let crowded = !self.writes.is_empty()
            || self.dirty.sectors() * 512 > self.spec.dirty_limit - self.spec.dirty_limit / 4;
        let turn = self.dirty.waits()
            && (self.queue.is_empty() && (self.flush.is_some() || crowded) || crowded && self.served);
        if turn || !self.queue.is_empty() {
            self.stop_ahead(now, out);
        }
        if turn {
            self.destage(now, out);
        } else if let Some(at) = self.pick(now) {
            if self.queue.get(at).is_some_and(|w| self.starts_ns(now, w) == now) {
                self.serve(now, at, out);
            } else {
                self.begin(Work::Decide, now + self.spec.command_ns, out);
            }
        } else if matches!(self.work, Work::Idle) && self.dirty.waits() {
            self.destage(now, out);
        }
    }

    /// Whether the arm can be given work.
    pub(super) fn free(&self) -> bool {
        matches!(self.work, Work::Idle | Work::Ahead { .. })
    }

    /// A flush with nothing left before it ends, and lets in what it held back.
    fn end_flush(&mut self, now: u64, out: &mut Outbox) {
        while self.queue.is_empty()
            && self.writes.is_empty()
            && self.dirty.is_empty()
            && let Some(w) = self.flush.take()
        {
            let (slot, end) = (w.command.slot, now + self.spec.hit_ns);
            self.stage(slot, Stage::Destage, w.since_ns, now, out);
            self.stage(slot, Stage::Cache, now, end, out);
            out.done.push((end, slot));
            while self.flush.is_none()
                && let Some(w) = self.held.pop_front()
            {
                self.take(now, w, out);
            }
        }
    }

    /// Seek and rotation until the head is at this place, from `at_ns` on.
    pub(super) fn position(&self, at_ns: u64, media_ns: u64, write: bool) -> (u64, u64) {
        let seek = self.geometry.seek_ns(self.head_ns, media_ns);
        let seek = if write && seek > 0 { seek + self.spec.settle_ns } else { seek };
        (seek, self.geometry.wait_ns(media_ns, at_ns + seek))
    }

    /// The command to be served next: shortest positioning time first, with a guard for the oldest.
    fn pick(&self, now: u64) -> Option<usize> {
        if now.saturating_sub(self.queue.front()?.since_ns) > self.spec.age_max_ns {
            return Some(0);
        }
        let candidates = self.queue.iter().take(self.spec.ncq_window as usize).enumerate();
        candidates.min_by_key(|(_, w)| self.starts_ns(now, w)).map(|(at, _)| at)
    }

    /// When the transfer of this command would begin.
    fn starts_ns(&self, now: u64, w: &Waiting) -> u64 {
        let start = now.max(w.ready_ns);
        let (seek, wait) = self.position(start, w.media_ns, w.command.write());
        start + seek + wait
    }

    fn serve(&mut self, now: u64, at: usize, out: &mut Outbox) {
        let Some(w) = self.queue.remove(at) else { return };
        let slot = w.command.slot;
        let start = now.max(w.ready_ns);
        self.stage(slot, Stage::Queued, w.since_ns, start, out);
        let end = self.reach(slot, start, (w.sector, end_of(&w.command)), w.command.write(), out);
        self.stage(slot, Stage::Transfer, self.motion.there_ns, end, out);
        self.begin(Work::Command(w), end, out);
    }

    /// Puts the nearest of the oldest dirty runs on the platter, a track of it at most.
    fn destage(&mut self, now: u64, out: &mut Outbox) {
        let cost = |start: u64| {
            let (seek, wait) = self.position(now, self.geometry.media_ns(start), true);
            seek + wait
        };
        let oldest = self.dirty.oldest(self.spec.destage_window as usize);
        let Some((start, _)) = oldest.min_by_key(|&(start, _)| cost(start)) else { return };
        let end = self.dirty.begin(start, self.geometry.track(start));
        let end_ns = self.reach(UNASKED, now, (start, end), true, out);
        self.stage(UNASKED, Stage::Destage, self.motion.there_ns, end_ns, out);
        self.begin(Work::Destage { end }, end_ns, out);
    }

    /// Seek, rotation and transfer of these sectors from `at_ns` on; returns the end.
    fn reach(&mut self, slot: u32, at_ns: u64, place: (u64, u64), write: bool, out: &mut Outbox) -> u64 {
        let (start, end) = (self.geometry.media_ns(place.0), self.geometry.media_ns(place.1));
        self.go(at_ns, start, write);
        let Motion { arrived_ns, there_ns, .. } = self.motion;
        self.stage(slot, Stage::Seek, at_ns, arrived_ns, out);
        self.stage(slot, Stage::Rotate, arrived_ns, there_ns, out);
        there_ns + (end - start)
    }

    /// Sends the head to a place; returns when it is there.
    pub(super) fn go(&mut self, at_ns: u64, media_ns: u64, write: bool) -> u64 {
        let (seek, wait) = self.position(at_ns, media_ns, write);
        let (arrived_ns, there_ns) = (at_ns + seek, at_ns + seek + wait);
        self.motion = Motion { from_ns: self.head_ns, to_ns: media_ns, left_ns: at_ns, arrived_ns, there_ns };
        there_ns
    }

    pub(super) fn begin(&mut self, work: Work, due_ns: u64, out: &mut Outbox) {
        self.work = work;
        self.due_ns = due_ns;
        out.timers.push((due_ns, ARM));
    }

    /// The arm's work is done.
    pub(super) fn finished(&mut self, now: u64, out: &mut Outbox) {
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Idle => {}
            Work::Decide => {
                if let Some(at) = self.pick(now) {
                    self.serve(now, at, out);
                }
            }
            Work::Command(w) => {
                let (slot, end) = (w.command.slot, end_of(&w.command));
                self.head_ns = self.geometry.media_ns(end);
                self.served = true;
                if w.command.write() {
                    self.dirty.remove(w.command.sector, end);
                    self.accept(now, out);
                    return out.done.push((now, slot));
                }
                // Most of the data crossed the link while the rest was read.
                let sent = self.send(now.saturating_sub(self.data_ns(w.command.bytes)), w.command.bytes);
                self.stage(slot, Stage::Link, now, sent.max(now), out);
                out.done.push((sent.max(now), slot));
                if let Some(at) = self.segments.read(w.command.sector, end) {
                    self.answer_queued(now, at, out);
                    self.read_on(now, at, end, out);
                }
            }
            Work::Destage { end } => {
                self.head_ns = self.geometry.media_ns(end);
                self.served = false;
                self.dirty.written();
                self.accept(now, out);
            }
            Work::Ahead { segment, limit, start_ns, .. } => {
                self.stage(UNASKED, Stage::ReadAhead, start_ns, now, out);
                self.segments.grow(segment, limit);
                self.head_ns = self.geometry.media_ns(limit);
            }
        }
    }

    /// Queued reads that the segment holds by now need no arm.
    fn answer_queued(&mut self, now: u64, at: usize, out: &mut Outbox) {
        let segment = self.segments.get(at);
        let held = |w: &Waiting| {
            !w.command.write() && segment.start <= w.command.sector && end_of(&w.command) <= segment.end
        };
        while let Some(w) = self.queue.iter().position(held).and_then(|at| self.queue.remove(at)) {
            self.stage(w.command.slot, Stage::Queued, w.since_ns, now, out);
            self.hit(now, now, &w, out);
        }
    }
}
