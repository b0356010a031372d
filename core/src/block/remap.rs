//! Stacked disks: bios that md raid0 and dm linear pass on to their members (`raid0_make_request`, `__split_and_process_bio`
//! with `linear_map`). They have no requests, no tags and no plug of their own: the task's plug collects the requests
//! of the members.

use crate::block::{Bio, NONE};
use crate::event::{Extent, Kind, QueueId};
use crate::host::{Flow, Frame};
use crate::sim::Sim;

/// How sectors of a stacked disk are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// md raid0: chunks of so many sectors in turn.
    Raid0 { chunk: u32 },
    /// dm linear: one member behind the other.
    Linear,
}

/// Members of a stacked disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stack {
    pub layout: Layout,
    /// Members with the sectors that are used of each.
    pub members: Vec<(QueueId, u64)>,
    /// The member to which a flush without data goes: the first with a write cache.
    pub flushes: Option<QueueId>,
}

impl Stack {
    /// Sectors in all.
    pub(crate) fn sectors(&self) -> u64 {
        self.members.iter().map(|&(_, sectors)| sectors).sum()
    }

    /// Where a sector lies: the member, the sector there, and how many sectors follow before the next border. All members
    /// of a raid0 have the same size (one zone), so that chunks are dealt in turn to the end.
    pub(crate) fn locate(&self, sector: u64) -> (QueueId, u64, u64) {
        match self.layout {
            Layout::Raid0 { chunk } => {
                let (chunk, n) = (u64::from(chunk), self.members.len() as u64);
                let (index, within) = (sector / chunk, sector % chunk);
                (self.members[(index % n) as usize].0, index / n * chunk + within, chunk - within)
            }
            Layout::Linear => {
                let mut at = sector;
                for &(member, sectors) in &self.members {
                    if at < sectors {
                        return (member, at, sectors - at);
                    }
                    at -= sectors;
                }
                unreachable!("sector {sector} lies behind the end of a linear disk")
            }
        }
    }
}

impl Sim {
    /// Hands `bio` on piece by piece. A piece goes the whole way down before the next is cut off, as
    /// `generic_make_request` serves the bios of lower disks first.
    pub(crate) fn remap(&mut self, c: usize, pc: u8, bio: u32, part: u32) -> Flow {
        let frame = |pc, part| Frame::Remap { pc, bio, part };
        match pc {
            0 => {
                let whole = self.bio_extent(bio);
                let Bio { io, queue, q_ns, .. } = self.bios[bio];
                let Some(stack) = &self.queues[queue as usize].stack else {
                    unreachable!("queue {queue} is not stacked");
                };
                let (_, _, room) = stack.locate(whole.sector);
                self.charge(
                    c,
                    match stack.layout {
                        Layout::Raid0 { .. } => self.costs.md_remap,
                        Layout::Linear => self.costs.remap,
                    },
                );
                if u64::from(whole.sectors) <= room {
                    return Flow::Pay(frame(1, bio));
                }
                let at_sector = whole.sector + room;
                self.emit(c, Kind::Split { bio: self.ios[io].id, queue, extent: whole, at_sector });
                let sectors = room as u32;
                let part = self.bios.add(Bio { io, queue, sector: whole.sector, sectors, q_ns, next: NONE });
                self.ios[io].pending += 1;
                self.bios[bio].sector = at_sector;
                self.bios[bio].sectors -= sectors;
                Flow::Pay(frame(1, part))
            }
            1 => {
                let Bio { io, queue: from_queue, sector: from_sector, .. } = self.bios[part];
                let Some(stack) = &self.queues[from_queue as usize].stack else {
                    unreachable!("queue {from_queue} is not stacked");
                };
                let (queue, sector) = match stack.flushes {
                    Some(member) if self.bios[part].sectors == 0 => (member, 0),
                    _ => {
                        let (queue, sector, _) = stack.locate(from_sector);
                        (queue, sector)
                    }
                };
                // dm passes a clone on, which has not been traced; md the bio itself.
                let clones = stack.layout == Layout::Linear;
                (self.bios[part].queue, self.bios[part].sector) = (queue, sector);
                // A flush without data goes to a member that has a cache, so that some bio is left.
                self.drops_flush(part);
                let extent = Extent { sector, ..self.bio_extent(part) };
                let id = self.ios[io].id;
                let traced = clones || self.knobs.md_remap_traced;
                self.emit(c, Kind::Remap { bio: id, queue, extent, from_queue, from_sector, traced });
                let q_again = clones || self.knobs.q_on_remapped;
                let next = match (q_again, self.queues[queue as usize].stack.is_some()) {
                    (false, true) => Frame::Remap { pc: 0, bio: part, part: NONE },
                    (again, _) => {
                        Frame::SubmitBio { pc: if again { 0 } else { 1 }, bio: part, part: NONE, rq: NONE }
                    }
                };
                Flow::Call(frame(2, part), next)
            }
            _ if part == bio => Flow::Ret(0),
            _ => Flow::Go(frame(0, NONE)),
        }
    }
}
