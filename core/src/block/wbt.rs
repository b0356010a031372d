//! Writeback throttling (`block/blk-wbt.c`, `block/blk-rq-qos.c`): asynchronous writes and discards wait before they get
//! a request while too many of them are in flight, fewer of them if reads become slow.
//!
//! Left out: the higher limit for reclaim.

use crate::block::NONE;
use crate::engine::agenda::Timed;
use crate::event::{Flags, Kind, ObjectId, Op, QueueId, Sleep};
use crate::host::{Flow, Frame};
use crate::sim::Sim;
use crate::spare::Spare;
use std::collections::VecDeque;

/// Depth in the middle state (RWB_DEF_DEPTH).
const DEPTH: u32 = 16;
/// Window of the latency test, ns (RWB_WINDOW_NSEC).
const WINDOW_NS: u64 = 100_000_000;
/// Writes that a window must have for its reads to count (RWB_MIN_WRITE_SAMPLES).
const WRITES_MIN: u32 = 3;
/// Windows without knowledge until one step back to the middle (RWB_UNKNOWN_BUMP).
const UNKNOWN_MAX: u32 = 5;
/// Other I/O counts as near for so long, ns (close_io: HZ / 10).
const CLOSE_NS: u64 = 100_000_000;
/// A writer that slept for dirty pages counts as recent for so long, ns (wb_recent_wait: HZ).
const RECENT_NS: u64 = 1_000_000_000;

/// Who is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Throttled {
    Write = 0,
    Discard = 1,
}

/// What a task that waits has learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum WbtTurn {
    /// It does not wait, or was woken to try again.
    #[default]
    None,
    /// It stands in the queue.
    Waits,
    /// The waker took a place for it.
    Granted,
}

/// `struct rq_wait`.
#[derive(Clone, Debug, Default, Hash)]
struct Wait {
    in_flight: u32,
    /// Who waits, and whether with a flusher's own work.
    waiters: VecDeque<(u16, bool)>,
}

/// `struct rq_wb`, and the statistics of the window under way.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Wbt {
    /// `wbt_lat_usec`, ns.
    min_lat_ns: u64,
    queue_depth: u32,
    window_ns: u64,
    step: i32,
    scaled_max: bool,
    max: u32,
    normal: u32,
    background: u32,
    unknown: u32,
    waits: [Wait; 2],
    /// Lines of the two counters follow each other.
    line: ObjectId,
    /// When a writer to this disk last slept because too much was dirty, ns (`wb->dirty_sleep`).
    dirty_sleep_ns: Option<u64>,
    /// When a read was last submitted or completed, ns.
    last_read_ns: Option<u64>,
    /// The read that is watched while it is at the device: request and time of issue.
    watched: Option<(u32, u64)>,
    armed: bool,
    reads: u32,
    read_min_ns: u64,
    writes: u32,
}

/// Verdict on a window (`latency_exceeded`).
enum Verdict {
    Ok,
    Exceeded,
    OnlyWrites,
    Unknown,
}

impl Wbt {
    /// `wbt_init`.
    pub(crate) fn new(min_lat_ns: u64, queue_depth: u32, line: ObjectId) -> Self {
        let mut wbt = Self {
            min_lat_ns,
            queue_depth,
            window_ns: WINDOW_NS,
            step: 0,
            scaled_max: false,
            max: 0,
            normal: 0,
            background: 0,
            unknown: 0,
            waits: Default::default(),
            line,
            dirty_sleep_ns: None,
            last_read_ns: None,
            watched: None,
            armed: false,
            reads: 0,
            read_min_ns: u64::MAX,
            writes: 0,
        };
        wbt.scaled_max = wbt.calculate();
        wbt
    }

    /// Writes and discards in flight that are counted.
    fn in_flight(&self) -> u32 {
        self.waits.iter().map(|w| w.in_flight).sum()
    }

    /// `rq_depth_calc_max_depth` and `calc_wb_limits`; true: it cannot grow any more.
    fn calculate(&mut self) -> bool {
        let mut at_most = false;
        if self.queue_depth == 1 {
            at_most = self.step <= 0;
            self.max = if at_most { 2 } else { 1 };
        } else {
            let depth = DEPTH.min(self.queue_depth);
            self.max = if self.step > 0 {
                1 + ((depth - 1) >> self.step.min(31))
            } else {
                // A shift this long is above any depth.
                let grown = 1 + (u64::from(depth - 1) << self.step.unsigned_abs().min(31));
                let most = u64::from(3 * self.queue_depth / 4);
                at_most = self.step < 0 && grown > most;
                if at_most { most as u32 } else { grown as u32 }
            };
        }
        (self.normal, self.background) =
            if self.max <= 2 { (self.max, 1) } else { (self.max.div_ceil(2), self.max.div_ceil(4)) };
        at_most
    }

    /// `rq_depth_scale_up`; false: it was at the most.
    fn scale_up(&mut self) -> bool {
        if self.scaled_max {
            return false;
        }
        self.step -= 1;
        self.scaled_max = self.calculate();
        self.unknown = 0;
        true
    }

    /// `rq_depth_scale_down`.
    fn scale_down(&mut self, hard: bool) {
        if self.max == 1 {
            return;
        }
        self.step = if self.step < 0 && hard { 0 } else { self.step + 1 };
        self.scaled_max = false;
        self.calculate();
        self.unknown = 0;
    }

    /// `get_limit`; `background`: the flusher's own work.
    fn limit(&self, of: Throttled, background: bool, now: u64) -> u32 {
        let close = self.last_read_ns.is_some_and(|at| now < at + CLOSE_NS);
        match of {
            Throttled::Discard => self.background,
            Throttled::Write if self.recently_waited(now) => self.max,
            Throttled::Write if background || close => self.background,
            Throttled::Write => self.normal,
        }
    }

    /// `wb_recent_wait`.
    fn recently_waited(&self, now: u64) -> bool {
        self.dirty_sleep_ns.is_some_and(|at| now < at + RECENT_NS)
    }

    /// A writer sleeps in `balance_dirty_pages`.
    pub(crate) fn writer_sleeps(&mut self, now: u64) {
        self.dirty_sleep_ns = Some(now);
    }

    /// `latency_exceeded`.
    fn verdict(&self, now: u64) -> Verdict {
        let watched_ns = self.watched.map_or(0, |(_, at)| now - at);
        if watched_ns > self.window_ns || (watched_ns > self.min_lat_ns && self.reads == 0) {
            return Verdict::Exceeded;
        }
        if self.reads == 0 || self.writes < WRITES_MIN {
            let writes = self.writes > 0 || self.in_flight() > 0;
            return if writes { Verdict::OnlyWrites } else { Verdict::Unknown };
        }
        if self.read_min_ns > self.min_lat_ns { Verdict::Exceeded } else { Verdict::Ok }
    }

    /// Length of the next window: shorter, the less is let through (`rwb_arm_timer`).
    fn next_window_ns(&self) -> u64 {
        if self.step <= 0 {
            return WINDOW_NS;
        }
        let root = ((u64::from(self.step.unsigned_abs()) + 1) << 8).isqrt();
        (WINDOW_NS << 4) / root
    }
}

/// Which count an I/O belongs to (`wbt_should_throttle`). A direct write carries REQ_SYNC and REQ_IDLE, for which SYNC stands
/// here.
pub(crate) fn throttled(op: Op, flags: Flags) -> Option<Throttled> {
    match op {
        Op::Write if !flags.any(Flags::SYNC.and(Flags::FLUSH)) => Some(Throttled::Write),
        Op::Discard => Some(Throttled::Discard),
        _ => None,
    }
}

impl Sim {
    fn wbt(&mut self, q: QueueId) -> &mut Wbt {
        match &mut self.queues[q as usize].wbt {
            Some(wbt) => wbt,
            None => unreachable!("queue {q} has no wbt"),
        }
    }

    /// `wbt_wait` at the head of a submission: the frame to call where the bio may have to wait.
    pub(crate) fn wbt_first(&mut self, bio: u32) -> Option<Frame> {
        let b = &self.bios[bio];
        let (op, flags) = (self.ios[b.io].op, self.ios[b.io].flags);
        let now = self.now;
        let wbt = self.queues[b.queue as usize].wbt.as_mut()?;
        if op == Op::Read {
            wbt.last_read_ns = Some(now);
        }
        throttled(op, flags).map(|_| Frame::WbtWait { pc: 0, bio })
    }

    /// The count that a new request for `bio` holds a place in.
    pub(crate) fn wbt_tracks(&self, bio: u32) -> Option<Throttled> {
        let b = &self.bios[bio];
        self.queues[b.queue as usize].wbt.as_ref()?;
        throttled(self.ios[b.io].op, self.ios[b.io].flags)
    }

    /// `rq_qos_wait`.
    pub(crate) fn wbt_wait(&mut self, c: usize, pc: u8, bio: u32) -> Flow {
        let frame = |pc| Frame::WbtWait { pc, bio };
        let t = self.current_task(c);
        let (q, io) = (self.bios[bio].queue, self.bios[bio].io);
        let flags = self.ios[io].flags;
        let Some(of) = throttled(self.ios[io].op, flags) else { return Flow::Ret(0) };
        let background = flags.has(Flags::BACKGROUND);
        match pc {
            0 => {
                let now = self.now;
                let line = self.wbt(q).line + of as u32;
                self.touch(c, line);
                let spared = self.is_spared(Spare::Throttle(q));
                let wbt = self.wbt(q);
                let limit = wbt.limit(of, background, now);
                let wait = &mut wbt.waits[of as usize];
                if spared || wait.waiters.is_empty() && wait.in_flight < limit {
                    wait.in_flight += 1;
                    self.wbt_arm(q);
                    return Flow::Ret(0);
                }
                wait.waiters.push_back((t as u16, background));
                let in_flight = wait.in_flight;
                self.tasks[t].wbt = WbtTurn::Waits;
                let id = self.ios[io].id;
                self.stats.queues[q as usize].wbt_waits += 1;
                self.emit(c, Kind::WbtWait { bio: id, queue: q, in_flight, limit });
                Flow::Call(frame(1), Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 })
            }
            1 | 2 if self.tasks[t].wbt == WbtTurn::Waits => Flow::Sleep(frame(2), Sleep::Wbt),
            _ => match std::mem::take(&mut self.tasks[t].wbt) {
                WbtTurn::Granted => {
                    self.wbt_arm(q);
                    Flow::Ret(0)
                }
                _ => Flow::Pay(frame(0)),
            },
        }
    }

    /// Starts a window if none is under way.
    fn wbt_arm(&mut self, q: QueueId) {
        let now = self.now;
        let wbt = self.wbt(q);
        if wbt.armed {
            return;
        }
        wbt.armed = true;
        wbt.window_ns = wbt.next_window_ns();
        (wbt.reads, wbt.read_min_ns, wbt.writes) = (0, u64::MAX, 0);
        let at = now + wbt.window_ns;
        self.agenda.at(at, Timed::Wbt(q));
    }

    /// `wbt_issue`: the first read at the device is watched.
    pub(crate) fn wbt_issued(&mut self, rq: u32) {
        let (q, op, id) = (self.rqs[rq].queue, self.rqs[rq].op, self.rqs[rq].id);
        let now = self.now;
        if let Some(wbt) = &mut self.queues[q as usize].wbt
            && op == Op::Read
            && wbt.watched.is_none()
        {
            wbt.watched = Some((id, now));
        }
    }

    /// `wbt_requeue`.
    pub(crate) fn wbt_requeued(&mut self, rq: u32) {
        let (q, id) = (self.rqs[rq].queue, self.rqs[rq].id);
        if let Some(wbt) = &mut self.queues[q as usize].wbt
            && wbt.watched.is_some_and(|(watched, _)| watched == id)
        {
            wbt.watched = None;
        }
    }

    /// A completed request counts for the window (`blk_stat_add`).
    pub(crate) fn wbt_completed(&mut self, rq: u32) {
        let (q, op, io_ns) = (self.rqs[rq].queue, self.rqs[rq].op, self.now - self.rqs[rq].d_ns);
        let Some(wbt) = self.queues[q as usize].wbt.as_mut().filter(|wbt| wbt.armed) else { return };
        if op == Op::Read {
            wbt.reads += 1;
            wbt.read_min_ns = wbt.read_min_ns.min(io_ns);
        } else {
            wbt.writes += 1;
        }
    }

    /// `wbt_done`: a request is freed, and gives its place to those who wait.
    pub(crate) fn wbt_done(&mut self, c: usize, rq: u32) {
        let q = self.rqs[rq].queue;
        let write_cache = self.queues[q as usize].write_cache;
        let now = self.now;
        let Some(wbt) = &mut self.queues[q as usize].wbt else { return };
        let Some(of) = self.rqs[rq].wbt else {
            if wbt.watched.is_some_and(|(watched, _)| watched == self.rqs[rq].id) {
                wbt.watched = None;
            }
            if self.rqs[rq].op == Op::Read {
                wbt.last_read_ns = Some(now);
            }
            return;
        };
        let limit = match of {
            Throttled::Discard => wbt.background,
            // The cache drains before anybody is woken.
            Throttled::Write if write_cache && !wbt.recently_waited(now) => 0,
            Throttled::Write => wbt.normal,
        };
        let (background, line) = (wbt.background, wbt.line + of as u32);
        let wait = &mut wbt.waits[of as usize];
        wait.in_flight -= 1;
        let in_flight = wait.in_flight;
        let enough = in_flight == 0 || (in_flight < limit && limit - in_flight >= background / 2);
        self.touch(c, line);
        if enough {
            self.wbt_wake(Some(c), q, of);
        }
    }

    /// Wakes those who wait: in order while there are places, or all of them to try themselves.
    fn wbt_wake(&mut self, c: Option<usize>, q: QueueId, of: Throttled) {
        let (now, handover) = (self.now, self.knobs.wbt_handover);
        let spared = self.is_spared(Spare::Throttle(q));
        // Who was woken to try again may queue up anew, so only those who stand there now are looked at.
        for _ in 0..self.wbt(q).waits[of as usize].waiters.len() {
            let wbt = self.wbt(q);
            let Some(&(_, background)) = wbt.waits[of as usize].waiters.front() else { return };
            let limit = wbt.limit(of, background, now);
            let wait = &mut wbt.waits[of as usize];
            if handover && !spared && wait.in_flight >= limit {
                return;
            }
            let Some((t, _)) = wait.waiters.pop_front() else { return };
            wait.in_flight += u32::from(handover);
            self.tasks[t as usize].wbt = if handover { WbtTurn::Granted } else { WbtTurn::None };
            match c {
                Some(c) => self.wake_task(c, t),
                None => self.wake_by_timer(t),
            }
        }
    }

    /// `wb_timer_fn`: a window has ended. The timer's own time on a CPU is not charged.
    pub(crate) fn wbt_timer(&mut self, q: QueueId) {
        let now = self.now;
        let wbt = self.wbt(q);
        wbt.armed = false;
        let before = (wbt.max, wbt.normal, wbt.background);
        let grown = match wbt.verdict(now) {
            Verdict::Exceeded => {
                wbt.scale_down(true);
                false
            }
            Verdict::Ok | Verdict::OnlyWrites => wbt.scale_up(),
            Verdict::Unknown => {
                wbt.unknown += 1;
                match wbt.step {
                    _ if wbt.unknown < UNKNOWN_MAX => false,
                    1.. => wbt.scale_up(),
                    0 => false,
                    _ => {
                        wbt.scale_down(false);
                        false
                    }
                }
            }
        };
        let goes_on = wbt.step != 0 || wbt.in_flight() > 0;
        let (max, normal, background) = (wbt.max, wbt.normal, wbt.background);
        if before != (max, normal, background) {
            self.emit_device_on(0, Kind::WbtLimits { queue: q, max, normal, background });
        }
        if grown {
            self.wbt_wake(None, q, Throttled::Write);
            self.wbt_wake(None, q, Throttled::Discard);
        }
        // Windows after the last process has ended would show nothing.
        if goes_on && !self.workload_done() {
            self.wbt_arm(q);
        }
    }
}
