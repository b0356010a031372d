//! The fixed things of a run and their names, for everyone who draws or prints: CPUs, tasks, queues, hctxs,
//! locks and lines. A value of its own so that a reader needs no access to the simulation's state.

use crate::event::{CpuId, HctxId, QueueId};
use crate::scenario::Path;
use crate::sched::Tunable;
use serde::Serialize;

/// Everything that does not change during a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Topology {
    /// Logical CPUs in index order.
    pub cpus: Vec<Cpu>,
    /// Tasks that submit I/O.
    pub tasks: Vec<Task>,
    /// Request queues (disks).
    pub queues: Vec<Queue>,
    /// Hardware contexts of all queues.
    pub hctxs: Vec<Hctx>,
    /// Locks and shared cache lines.
    pub objects: Vec<Object>,
}

/// A logical CPU.
#[derive(Clone, Debug, Serialize)]
pub struct Cpu {
    /// Socket (NUMA node) index.
    pub socket: u16,
    /// Last-level cache index over the machine.
    pub cache: u16,
    /// Physical core index over the machine; SMT siblings share it.
    pub core: u16,
}

/// A task that submits I/O.
#[derive(Clone, Debug, Serialize)]
pub struct Task {
    /// Name: the fio job section or the batch file.
    pub name: String,
    /// Process id shown in blkparse text.
    pub pid: u32,
    /// CPU on which it starts.
    pub cpu: CpuId,
    /// I/Os it keeps in flight at most.
    pub iodepth: u32,
}

/// A request queue.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    /// Disk name (`nvme0n1`, `sdb`).
    pub name: String,
    /// Device model preset.
    pub model: String,
    /// The half of the block layer that serves it.
    pub path: Path,
    /// The driver below it.
    pub driver: Driver,
    /// Scheduler attached.
    pub scheduler: String,
    /// Attributes of `queue/iosched` that this kernel has, with the values that they have by themselves.
    pub tunables: Vec<Tunable>,
    /// blkparse's `major,minor`.
    pub dev: (u32, u32),
    /// Driver tags of one hctx.
    pub nr_tags: u32,
    /// sysfs nr_requests: the sched tags with a scheduler, the driver tags without; on the legacy path the pool's requests
    /// of each kind.
    pub nr_requests: u32,
    /// Commands the device itself takes at once (LUN depth; the tags of all hctxs where there is no budget).
    pub queue_depth: u32,
    /// Size, in sectors.
    pub sectors: u64,
    /// Indices into [`Topology::hctxs`].
    pub hctxs: Vec<HctxId>,
    /// Names of units inside the device (dies, members) as (label, count).
    pub units: Vec<(String, u32)>,
}

/// Whose `queue_rq`, or on the legacy path `request_fn`, takes a disk's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Driver {
    /// null_blk.
    Null,
    /// NVMe.
    Nvme,
    /// The SCSI layer with an adapter below it.
    Scsi,
    /// None: bios are passed on to other disks.
    Stacked,
}

impl Topology {
    /// Whether the hctx stands for a queue of the legacy path, which has none: its list is `q->queue_head`, its tags are
    /// the driver's.
    pub fn is_legacy(&self, hctx: HctxId) -> bool {
        let queue = self.hctxs.get(hctx as usize).and_then(|h| self.queues.get(h.queue as usize));
        queue.is_some_and(|q| q.path == Path::Legacy)
    }
}

/// A hardware context.
#[derive(Clone, Debug, Serialize)]
pub struct Hctx {
    /// The queue it belongs to.
    pub queue: QueueId,
    /// Index within the queue (`mq/N`).
    pub index: u16,
    /// CPUs mapped to it.
    pub cpus: Vec<CpuId>,
}

/// What a shared object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A spinlock.
    Lock,
    /// A cache line written by atomics.
    Line,
}

/// Where a shared object stands in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case", tag = "at", content = "index")]
pub enum Site {
    /// At the ctx of this CPU.
    Ctx(CpuId),
    /// At this hctx.
    Hctx(HctxId),
    /// At this queue (a LUN's counters).
    Queue(QueueId),
    /// At the scheduler of this queue.
    Elevator(QueueId),
    /// At the host adapter.
    Host,
    /// At a tag bitmap of this hctx.
    Tags(HctxId),
    /// At a task (its completion ring).
    Task(u16),
}

/// A lock or shared line.
#[derive(Clone, Debug, Serialize)]
pub struct Object {
    /// Kernel name, with indices: `ctx[3].lock`, `sdev->device_busy (sdb)`.
    pub name: String,
    /// Kernel name without indices, for grouping in tables: `ctx->lock`.
    pub class: String,
    /// Lock or line.
    pub kind: ObjectKind,
    /// Where it stands.
    pub site: Site,
}
