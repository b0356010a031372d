//! Scheduling domains and their tokens.

use crate::event::Op;
use crate::kernel::KyberStats;

/// Most domains of any generation.
pub(super) const DOMAINS_MAX: usize = 4;
/// Index of the reads in either generation.
pub(super) const READ: usize = 0;
/// Index of the writes (`WRITE`) or of the synchronous ones (`SYNC_WRITE`).
pub(super) const WRITE: usize = 1;

/// Wait queues of an sbitmap (SBQ_WAIT_QUEUES).
const WAIT_QUEUES: usize = 8;
/// Largest wake batch of an sbitmap (SBQ_WAKE_BATCH).
const WAKE_BATCH_MAX: u32 = 8;

/// The wait queue after this one (`sbq_index_inc`).
pub(super) fn next_queue(queue: u8) -> u8 {
    (queue + 1) % WAIT_QUEUES as u8
}

/// Names of the lines that the tokens live in, of both generations.
pub(super) const LINES: &[&str] = &[
    "kqd->domain_tokens[READ]",
    "kqd->domain_tokens[WRITE]",
    "kqd->domain_tokens[SYNC_WRITE]",
    "kqd->domain_tokens[DISCARD]",
    "kqd->domain_tokens[OTHER]",
];

/// What is fixed about a domain.
#[derive(Debug)]
pub(super) struct Domain {
    pub name: &'static str,
    /// Index in [`LINES`].
    pub line: u16,
    /// Tokens at the start and at most (`kyber_depth`).
    pub depth_max: u32,
    /// Requests in a row (`kyber_batch_size`).
    pub batch: u32,
}

/// Until 4.19.
static MEAN: [Domain; 3] = [
    Domain { name: "READ", line: 0, depth_max: 256, batch: 16 },
    Domain { name: "SYNC_WRITE", line: 2, depth_max: 128, batch: 8 },
    Domain { name: "OTHER", line: 4, depth_max: 64, batch: 8 },
];

/// Since 4.20.
static PERCENTILE: [Domain; 4] = [
    Domain { name: "READ", line: 0, depth_max: 256, batch: 16 },
    Domain { name: "WRITE", line: 1, depth_max: 128, batch: 8 },
    Domain { name: "DISCARD", line: 3, depth_max: 64, batch: 1 },
    Domain { name: "OTHER", line: 4, depth_max: 16, batch: 1 },
];

/// The domains of a generation, in the order of the round; the last is OTHER, whose latency has no target.
pub(super) fn domains(stats: KyberStats) -> &'static [Domain] {
    match stats {
        KyberStats::Mean => &MEAN,
        KyberStats::Percentile => &PERCENTILE,
    }
}

/// Index of the domain that a request belongs to (`kyber_sched_domain`).
pub(super) fn domain_of(stats: KyberStats, op: Op, sync: bool) -> usize {
    match (stats, op) {
        (_, Op::Read) => READ,
        (KyberStats::Percentile, Op::Write) => WRITE,
        (KyberStats::Mean, Op::Write) if sync => WRITE,
        (KyberStats::Percentile, Op::Discard) => 2,
        _ => domains(stats).len() - 1,
    }
}

/// The tokens of one domain: how many are taken, and which hctxs wait for one (`struct sbitmap_queue`).
#[derive(Clone, Debug, Hash)]
pub(super) struct Pool {
    depth: u32,
    depth_max: u32,
    used: u32,
    /// The wait queue that the next freed token counts for, unless it is empty.
    wake_index: usize,
    /// Freed tokens until a wait queue is woken (`ws->wait_cnt`).
    wake_count: [u32; WAIT_QUEUES],
    waiting: [Vec<u16>; WAIT_QUEUES],
}

impl Pool {
    pub(super) fn new(depth_max: u32) -> Self {
        let mut pool = Self {
            depth: depth_max,
            depth_max,
            used: 0,
            wake_index: 0,
            wake_count: [0; WAIT_QUEUES],
            waiting: Default::default(),
        };
        pool.wake_count = [pool.wake_batch(); WAIT_QUEUES];
        pool
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn depth_max(&self) -> u32 {
        self.depth_max
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Hctxs that wait for a token.
    pub(super) fn waiters(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// Freed tokens per wake-up (`sbq_calc_wake_batch`).
    fn wake_batch(&self) -> u32 {
        (self.depth / WAIT_QUEUES as u32).clamp(1, WAKE_BATCH_MAX)
    }

    /// Takes a token if one is free.
    pub(super) fn take(&mut self) -> bool {
        let free = self.used < self.depth;
        self.used += u32::from(free);
        free
    }

    /// Lets an hctx wait in this wait queue.
    pub(super) fn wait(&mut self, hctx: u16, queue: u8) {
        self.waiting[usize::from(queue)].push(hctx);
    }

    /// Takes an hctx out of the wait queue it is in.
    pub(super) fn leave(&mut self, hctx: u16, queue: u8) {
        self.waiting[usize::from(queue)].retain(|&h| h != hctx);
    }

    /// Gives a token back and adds the hctxs that this wakes (`sbitmap_queue_clear`, `__sbq_wake_up`). They do not wait
    /// exclusively, so a whole wait queue wakes at once.
    pub(super) fn give_back(&mut self, woken: &mut Vec<u16>) {
        assert!(self.used > 0, "a token is given back that was not taken");
        self.used -= 1;
        let mut queues = (0..WAIT_QUEUES).map(|n| (self.wake_index + n) % WAIT_QUEUES);
        let Some(queue) = queues.find(|&queue| !self.waiting[queue].is_empty()) else { return };
        self.wake_index = queue;
        self.wake_count[queue] -= 1;
        if self.wake_count[queue] == 0 {
            self.wake_count[queue] = self.wake_batch();
            self.wake_index = (queue + 1) % WAIT_QUEUES;
            woken.append(&mut self.waiting[queue]);
        }
    }

    /// Changes the depth within its limits (`kyber_resize_domain`). With another wake batch every wait queue is woken by
    /// its next freed token (`sbitmap_queue_update_wake_batch`). Tokens beyond a smaller depth are only given back.
    pub(super) fn resize(&mut self, depth: u32) {
        let batch = self.wake_batch();
        self.depth = depth.clamp(1, self.depth_max);
        if self.wake_batch() != batch {
            self.wake_count = [1; WAIT_QUEUES];
        }
    }
}
