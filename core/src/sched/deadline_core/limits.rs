//! What can be set under `queue/iosched` of both deadline elevators.

use super::{Deadline, Dir};
use crate::kernel::DeadlinePrio;
use crate::sched::Tunable;

const MS: u64 = 1_000_000;

/// The kernel stores tunables as `int`.
pub(in crate::sched) const INT_MAX: u64 = i32::MAX as u64;

#[derive(Clone, Debug, Hash)]
pub(super) struct Limits {
    /// `read_expire`, `write_expire`, ns.
    pub expire_ns: [u64; 2],
    /// Read batches that may start while writes wait.
    pub writes_starved: u32,
    /// Requests of a batch; one is sent even with 0.
    pub fifo_batch: u32,
    pub front_merges: bool,
    /// Waiting time after which a lower class goes first, ns.
    pub prio_aging_expire_ns: u64,
}

/// The same in all versions (variables at the top of `block/mq-deadline.c` and `block/deadline-iosched.c`).
impl Default for Limits {
    fn default() -> Self {
        Self {
            expire_ns: [500 * MS, 5_000 * MS],
            writes_starved: 2,
            fifo_batch: 16,
            front_merges: true,
            prio_aging_expire_ns: 10_000 * MS,
        }
    }
}

impl Deadline {
    /// The attributes that this version has (`deadline_attrs`), without `async_depth`.
    pub(crate) fn tunables(&self) -> Vec<Tunable> {
        let limits = &self.limits;
        let mut all = vec![
            Tunable {
                name: "read_expire",
                value: limits.expire_ns[Dir::Read as usize] / MS,
                range: (0, INT_MAX),
                unit: "ms",
                help: "A read that has waited this long starts the next batch of reads (deadline_check_fifo).",
            },
            Tunable {
                name: "write_expire",
                value: limits.expire_ns[Dir::Write as usize] / MS,
                range: (0, INT_MAX),
                unit: "ms",
                help: "A write that has waited this long starts the next batch of writes (deadline_check_fifo).",
            },
            Tunable {
                name: "writes_starved",
                value: limits.writes_starved.into(),
                range: (0, INT_MAX),
                unit: "",
                help: "Batches of reads that may start while writes wait (__dd_dispatch_request).",
            },
            Tunable {
                name: "front_merges",
                value: limits.front_merges.into(),
                range: (0, 1),
                unit: "",
                help: "A bio may be put in front of a request that starts where it ends (dd_request_merge).",
            },
            Tunable {
                name: "fifo_batch",
                value: limits.fifo_batch.into(),
                range: (0, INT_MAX),
                unit: "",
                help: "Requests sent in sector order before deadlines and direction are looked at again \
                       (__dd_dispatch_request).",
            },
        ];
        if self.prio == DeadlinePrio::Ageing {
            all.push(Tunable {
                name: "prio_aging_expire",
                value: limits.prio_aging_expire_ns / MS,
                range: (0, INT_MAX),
                unit: "ms",
                help: "A request that has waited this long goes before higher classes \
                       (dd_dispatch_prio_aged_requests).",
            });
        }
        all
    }

    /// Sets one of [`tunables`](Self::tunables); the value is within its range. Deadlines already given stay.
    pub(crate) fn set(&mut self, name: &str, value: u64) {
        let limits = &mut self.limits;
        match name {
            "read_expire" => limits.expire_ns[Dir::Read as usize] = value * MS,
            "write_expire" => limits.expire_ns[Dir::Write as usize] = value * MS,
            "writes_starved" => limits.writes_starved = value as u32,
            "front_merges" => limits.front_merges = value != 0,
            "fifo_batch" => limits.fifo_batch = value as u32,
            "prio_aging_expire" => limits.prio_aging_expire_ns = value * MS,
            _ => {}
        }
    }
}
