//! Reading on behind a command, into the read buffer.

use super::{Hdd, Work};
use crate::device::{Outbox, UNASKED};
use crate::event::Stage;

impl Hdd {
    /// After a read up to `end` the head reads on into the segment until nothing more fits, if nobody needs the arm. A segment
    /// half consumed is filled up again.
    pub(super) fn read_on(&mut self, now: u64, segment: usize, end: u64, out: &mut Outbox) {
        let room = self.segments.room();
        let limit = (end + room).min(self.geometry.sectors());
        match self.work {
            Work::Ahead { segment: at, sector, start_ns, limit: before } if at == segment => {
                let limit = limit.max(before);
                let passes =
                    start_ns + self.geometry.media_ns(limit).saturating_sub(self.geometry.media_ns(sector));
                self.begin(Work::Ahead { segment, sector, start_ns, limit }, passes.max(now), out);
            }
            Work::Idle if self.queue.is_empty() && self.flush.is_none() => {
                let sector = self.segments.get(segment).end;
                if sector + room / 2 > limit || sector < end {
                    return;
                }
                let from_ns = self.geometry.media_ns(sector);
                let start_ns = self.go(now, from_ns, false);
                let due = start_ns + self.geometry.media_ns(limit) - from_ns;
                self.begin(Work::Ahead { segment, sector, start_ns, limit }, due, out);
            }
            _ => {}
        }
    }

    /// The sector up to which the read-ahead has come.
    pub(super) fn ahead_at(&self, now: u64) -> Option<(usize, u64)> {
        let Work::Ahead { segment, sector, start_ns, limit } = self.work else { return None };
        let passed = self.geometry.passed(sector, now.saturating_sub(start_ns));
        Some((segment, (sector + passed).min(limit)))
    }

    /// The segment learns what the read-ahead has passed.
    pub(super) fn note_passed(&mut self, now: u64) {
        if let Some((segment, at)) = self.ahead_at(now) {
            self.segments.grow(segment, at);
        }
    }

    /// Ends a read-ahead where it is.
    pub(super) fn stop_ahead(&mut self, now: u64, out: &mut Outbox) {
        if let Some((segment, at)) = self.ahead_at(now) {
            self.note_ahead(now, out);
            self.segments.grow(segment, at);
            self.head_ns = self.geometry.media_ns(at);
            self.work = Work::Idle;
        }
    }

    /// The read-ahead that ends, for the log.
    pub(super) fn note_ahead(&self, now: u64, out: &mut Outbox) {
        if let Work::Ahead { start_ns, .. } = self.work {
            self.stage(UNASKED, Stage::ReadAhead, start_ns, now, out);
        }
    }

    /// The read buffer forgets what is about to be written; a read-ahead over it ends.
    pub(super) fn cut(&mut self, now: u64, start: u64, end: u64, out: &mut Outbox) {
        if let Work::Ahead { segment, limit, .. } = self.work
            && start < limit
            && self.segments.get(segment).start < end
        {
            self.stop_ahead(now, out);
        }
        self.segments.cut(start, end);
    }
}
