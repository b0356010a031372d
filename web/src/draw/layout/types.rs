//! The parts of a map.

use crate::draw::paint::Rect;
use mqscope_core::event::{CpuId, HctxId, ObjectId, QueueId};

/// How busy things are, as far as folding cares. 0: idle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// By CPU.
    pub cpus: Vec<f32>,
    /// By hctx.
    pub hctxs: Vec<f32>,
    /// By lock or line: whether the run has touched it at all. Empty: as if all were.
    pub objects: Vec<bool>,
}

/// What must not fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// CPU of the selected request.
    pub cpu: Option<CpuId>,
    /// Its hctx.
    pub hctx: Option<HctxId>,
}

/// What a row of the lanes block shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// One CPU.
    Cpu(CpuId),
    /// Folded CPUs of a socket.
    Fold {
        /// Socket.
        socket: u16,
        /// How many.
        count: u16,
        /// Whether they do something.
        busy: bool,
    },
}

/// A row of the lanes block.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// What it shows.
    pub row: Row,
    /// All of it.
    pub rect: Rect,
    /// CPU number.
    pub label: Rect,
    /// What it runs, in words; empty on narrow stages.
    pub words: Rect,
    /// Completions on this CPU, and those that its tasks have not taken note of.
    pub done: Rect,
    /// Bios being submitted.
    pub submit: Rect,
    /// Plug of its tasks.
    pub plug: Rect,
    /// Its ctx lock.
    pub lock: Rect,
    /// Its ctx list.
    pub ctx: Rect,
}

/// How a tag bitmap is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TagView {
    /// A cell for each tag.
    Bits {
        /// Cells in a row.
        columns: u16,
        /// Side of a cell.
        cell: f32,
    },
    /// A cell for each word of 64 tags: each is a cache line of its own.
    Words {
        /// Cells in a row.
        columns: u16,
        /// Side of a cell.
        cell: f32,
    },
    /// One bar.
    Bar,
}

/// An hctx with its tags, or several folded ones.
#[derive(Clone, Debug, PartialEq)]
pub struct HctxBox {
    /// Which; `None` for the folded ones.
    pub hctx: Option<HctxId>,
    /// How many are folded here.
    pub folded: u16,
    /// All of it.
    pub rect: Rect,
    /// Name and `dispatch_busy`.
    pub title: Rect,
    /// CPUs inside dispatch, with what they have in hand.
    pub hand: Rect,
    /// Dispatch list.
    pub dispatch: Rect,
    /// Tag bitmap or fill bar.
    pub tags: Rect,
    /// How the tags are shown.
    pub tag_view: TagView,
    /// Whether it is one line high.
    pub compact: bool,
    /// Locks and lines at the hctx and its tags; in a compact box one group of all its locks, shown as one padlock.
    pub groups: Vec<Group>,
}

/// A scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct ElevatorBox {
    /// Whose.
    pub queue: QueueId,
    /// All of it.
    pub rect: Rect,
    /// Its name.
    pub title: Rect,
    /// Queued reads and queued writes, each in sector order.
    pub lists: [Rect; 2],
    /// Whether the lists run from top to bottom instead of from left to right.
    pub upright: bool,
    /// Its length, what is next, and the sched tags in use: one line each, or one line for all.
    pub foot: Rect,
    /// Sets of `nr_requests` sched tags.
    pub tag_sets: u32,
    /// Its locks and lines.
    pub groups: Vec<Group>,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceBox {
    /// Whose.
    pub queue: QueueId,
    /// All of it.
    pub rect: Rect,
    /// Name and model.
    pub title: Rect,
    /// Commands at the device against its queue depth.
    pub gauge: Rect,
    /// Controller, firmware or the one service station.
    pub engine: Rect,
    /// Engines in it, one row each.
    pub engines: u32,
    /// Dies, or members with their dies.
    pub units: Option<Units>,
    /// The platter of a rotating disk.
    pub platter: Option<Rect>,
    /// Fill of the write buffer or write-back cache.
    pub buffer: Option<Rect>,
    /// Where data leave for the host.
    pub link: Rect,
    /// Radius of a plain request inside.
    pub dot: f32,
    /// Locks and lines of the LUN and the host.
    pub groups: Vec<Group>,
}

impl DeviceBox {
    /// Where completed requests wait for their interrupt: the lower end of the right edge.
    pub fn exit(&self) -> Rect {
        let h = self.link.w.max(self.dot * 3.0);
        Rect::new(self.link.x, self.rect.bottom() - h, self.rect.right() - self.link.x, h)
    }
}

/// What the units of a device are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Dies without channels.
    Dies,
    /// Channels, each with its dies: die number `n` is on channel `n` modulo their number.
    Channels,
    /// Members of a volume that are flash, each with its dies.
    FlashMembers,
    /// Members of a volume that are rotating disks.
    DiskMembers,
}

/// A grid of like units inside a device; each may hold a grid of its own (the dies of a channel or member disk).
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// What they are.
    pub kind: UnitKind,
    /// Dies in all of the device, or members.
    pub count: u32,
    /// The cells are too small to be told apart: each unit is one strip.
    pub folded: bool,
    /// Their name.
    pub label: String,
    /// All of them.
    pub grid: Grid,
    /// Name and grid of what is inside of each, in the cell of the first.
    pub inner: Option<(String, Grid)>,
}

/// Cells in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// How many cells.
    pub count: u32,
    /// All of them.
    pub rect: Rect,
    /// Columns.
    pub columns: u32,
    /// Width and height of a cell.
    pub cell: (f32, f32),
}

impl Grid {
    /// A cell.
    pub fn cell(&self, index: u32) -> Rect {
        let index = index % self.count.max(1);
        let (column, row) = (index % self.columns.max(1), index / self.columns.max(1));
        let (w, h) = self.cell;
        Rect::new(self.rect.x + column as f32 * w, self.rect.y + row as f32 * h, w, h)
    }
}

impl Units {
    /// Cells in all: of the inner grids, where there are some.
    pub fn cells(&self) -> u32 {
        self.grid.count * self.inner.as_ref().map_or(1, |(_, g)| g.count)
    }

    /// Unit, and cell in it, of a die or member with this number; the numbers of dies go on from member to member.
    pub fn place(&self, number: u32) -> (u32, u32) {
        let units = self.grid.count.max(1);
        let inner = self.inner.as_ref().map_or(1, |(_, g)| g.count.max(1));
        match self.kind {
            UnitKind::Channels => (number % units, number / units % inner),
            UnitKind::Dies | UnitKind::FlashMembers | UnitKind::DiskMembers => {
                (number / inner % units, number % inner)
            }
        }
    }

    /// Whether there is a die or member in this cell: channels may differ by one die.
    pub fn exists(&self, unit: u32, inner: u32) -> bool {
        self.kind != UnitKind::Channels || inner * self.grid.count + unit < self.count
    }

    /// The strip that stands for all cells of a unit.
    pub fn strip(&self, unit: u32) -> Rect {
        let outer = self.grid.cell(unit);
        match &self.inner {
            Some((_, grid)) => {
                let first = self.grid.cell(0);
                Rect { x: grid.rect.x - first.x + outer.x, y: grid.rect.y - first.y + outer.y, ..grid.rect }
            }
            None => outer,
        }
    }

    /// Cell number `inner` of unit number `unit`; where cells are folded, its part of the strip.
    pub fn inner_cell(&self, unit: u32, inner: u32) -> Rect {
        if self.folded {
            let (strip, n) = (self.strip(unit), self.inner.as_ref().map_or(1, |(_, g)| g.count.max(1)));
            let w = strip.w / n as f32;
            return Rect { x: strip.x + (inner % n) as f32 * w, w, ..strip };
        }
        let outer = self.grid.cell(unit);
        match &self.inner {
            Some((_, grid)) => {
                let cell = grid.cell(inner);
                let first = self.grid.cell(0);
                Rect { x: cell.x + outer.x - first.x, y: cell.y + outer.y - first.y, ..cell }
            }
            None => outer,
        }
    }

    /// The part of a unit in front of its inner grid or platter: where its own front end stands.
    pub fn front(&self, unit: u32) -> Rect {
        let outer = self.grid.cell(unit);
        match &self.inner {
            Some((_, grid)) => Rect { h: grid.rect.y - self.grid.rect.y, ..outer },
            None if self.kind == UnitKind::DiskMembers => Rect { h: outer.h * 0.16, ..outer },
            None => outer,
        }
    }
}

/// Locks or lines of one class that stand at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Kernel name without indices.
    pub class: String,
    /// A lock rather than a line.
    pub lock: bool,
    /// Members.
    pub objects: Vec<ObjectId>,
    /// Its row.
    pub rect: Rect,
}

/// A caption over a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// The words.
    pub text: &'static str,
    /// Where.
    pub rect: Rect,
}

/// What a box of the map is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BoxId {
    /// Lane of a CPU.
    Cpu(CpuId),
    /// Folded CPUs of a socket.
    FoldedCpus(u16),
    /// Scheduler of a queue.
    Elevator(QueueId),
    /// An hctx.
    Hctx(HctxId),
    /// Folded hctxs.
    FoldedHctxs,
    /// Tags of an hctx.
    Tags(HctxId),
    /// A device.
    Device(QueueId),
    /// A lock or line (the first of its group).
    Object(ObjectId),
}

/// A box of the map that the page makes focusable.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutBox {
    /// What it is.
    pub id: BoxId,
    /// Name as the kernel has it.
    pub label: String,
    /// For who cannot see: what it is and what belongs to it.
    pub text: String,
    /// Where, CSS pixels from the stage's upper left corner.
    pub rect: Rect,
}
