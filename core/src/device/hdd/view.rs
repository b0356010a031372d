//! What a disk looks like from inside at one moment, for a picture.

use super::{Hdd, Waiting, Work, end_of};
use serde::Serialize;

/// A place on the platter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spot {
    /// Way from the outer (0) to the inner edge (1).
    pub depth: f32,
    /// Angle on the platter, in turns from 0 to 1.
    pub angle: f32,
}

/// A command in the disk's own queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueuedCommand {
    /// Slot of its request, or the number that an adapter gave it.
    pub slot: u32,
    /// Where it begins.
    pub spot: Spot,
    /// Whether it writes.
    pub write: bool,
}

/// What the arm is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HddWork {
    /// Nothing.
    Idle,
    /// Nothing yet: the controller decides which command is next.
    Decide,
    /// On the way to another cylinder.
    Seek,
    /// Waiting for the platter to turn.
    Rotate,
    /// Moving a command's data.
    Transfer,
    /// Writing cached data.
    Destage,
    /// Reading on behind a command.
    ReadAhead,
}

/// A rotating disk at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HddView {
    /// Way of the head from the outer (0) to the inner edge (1).
    pub arm: f32,
    /// How far the platter has turned, in turns from 0 to 1: this angle of it is under the head.
    pub angle: f32,
    /// Head position in cylinders, from the outside, and their number.
    pub cylinder: u64,
    /// See above.
    pub cylinders: u64,
    /// What the arm is at.
    pub work: HddWork,
    /// Where the arm goes or what it works on.
    pub target: Option<Spot>,
    /// End of the sectors that the arm works on, which begin at `target`; `None` where it reads ahead.
    pub run_end: Option<Spot>,
    /// The request slot that is served; `None` when the disk works for itself.
    pub serves: Option<u32>,
    /// Commands among which the next is chosen, oldest first.
    pub queued: Vec<QueuedCommand>,
    /// Further commands at the disk: behind the window, waiting for room in the cache or for a flush.
    pub further: u32,
    /// Whether a flush holds back what came after it.
    pub flushing: bool,
    /// Bytes in the write cache, and what it takes.
    pub dirty_bytes: u64,
    /// See above.
    pub dirty_limit: u64,
    /// Runs of dirty data.
    pub dirty_runs: u32,
    /// Where the oldest of them begin.
    pub dirty: Vec<Spot>,
}

/// The way to the work under way.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct Motion {
    /// Media time where the head was.
    pub from_ns: u64,
    /// Media time where the transfer begins.
    pub to_ns: u64,
    /// When it left, when it was at its cylinder, when the sector was there.
    pub left_ns: u64,
    pub arrived_ns: u64,
    pub there_ns: u64,
}

impl Hdd {
    /// The disk at `now` (ns).
    pub(crate) fn view(&self, now: u64) -> HddView {
        let m = &self.motion;
        let busy = !matches!(self.work, Work::Idle | Work::Decide);
        let (head_ns, work) = if !busy {
            let decides = matches!(self.work, Work::Decide);
            (self.head_ns, if decides { HddWork::Decide } else { HddWork::Idle })
        } else if now < m.arrived_ns {
            let (way, whole) = (now.saturating_sub(m.left_ns), (m.arrived_ns - m.left_ns).max(1));
            let done = (m.from_ns.abs_diff(m.to_ns) as u128 * u128::from(way) / u128::from(whole)) as u64;
            (if m.to_ns < m.from_ns { m.from_ns - done } else { m.from_ns + done }, HddWork::Seek)
        } else if now < m.there_ns {
            (m.to_ns, HddWork::Rotate)
        } else {
            let work = match self.work {
                Work::Destage { .. } => HddWork::Destage,
                Work::Ahead { .. } => HddWork::ReadAhead,
                Work::Idle | Work::Decide | Work::Command(_) => HddWork::Transfer,
            };
            (m.to_ns + (now - m.there_ns), work)
        };
        let window = self.spec.ncq_window as usize;
        let queued = |w: &Waiting| QueuedCommand {
            slot: w.command.slot,
            spot: self.spot(w.media_ns),
            write: w.command.write(),
        };
        let oldest = self.dirty.oldest(self.spec.destage_window as usize);
        HddView {
            arm: self.spot(head_ns).depth,
            angle: self.share(now),
            cylinder: self.geometry.cylinder(head_ns),
            cylinders: self.geometry.cylinders(),
            work,
            target: busy.then(|| self.spot(m.to_ns)),
            run_end: match &self.work {
                Work::Command(w) => Some(end_of(&w.command)),
                Work::Destage { end } => Some(*end),
                Work::Idle | Work::Decide | Work::Ahead { .. } => None,
            }
            .map(|end| self.spot(self.geometry.media_ns(end))),
            serves: match &self.work {
                Work::Command(w) => Some(w.command.slot),
                _ => None,
            },
            queued: self.queue.iter().take(window).map(queued).collect(),
            further: (self.queue.len().saturating_sub(window) + self.writes.len() + self.held.len()) as u32,
            flushing: self.flush.is_some(),
            dirty_bytes: self.dirty.sectors() * 512,
            dirty_limit: self.spec.dirty_limit,
            dirty_runs: self.dirty.runs() as u32,
            dirty: oldest.map(|(start, _)| self.spot(self.geometry.media_ns(start))).collect(),
        }
    }

    fn spot(&self, media_ns: u64) -> Spot {
        let depth = self.geometry.cylinder(media_ns) as f32 / self.geometry.cylinders() as f32;
        Spot { depth, angle: self.share(media_ns) }
    }

    /// A time as a share of a turn.
    fn share(&self, ns: u64) -> f32 {
        let turn_ns = self.geometry.turn_ns();
        (ns % turn_ns) as f32 / turn_ns as f32
    }
}
