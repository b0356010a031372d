//! What surrounds a scheduler in the kernel: its locks, the hash for merging, sched tags, and the loops that insert and
//! dispatch (`block/elevator.c`, `block/blk-mq-sched.c`). The policy itself is behind [`Scheduler`].

mod dispatch;
mod insert;
mod lists;
mod merge;

use crate::block::NONE;
use crate::engine::agenda::Timed;
use crate::event::{HctxId, ObjectId, QueueId};
use crate::host::{Costs, Flow, Frame};
use crate::sched::{Cx, Disk, Done, LockAt, Locking, Out, SchedRq, Scheduler, View};
use crate::sim::Sim;
use std::collections::{BTreeSet, VecDeque};

/// The attached scheduler of a queue.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Elevator {
    pub sched: Box<dyn Scheduler>,
    /// It dispatches for the hctx it is asked for, not for the whole disk.
    pub mq_aware: bool,
    /// First lock that insertion and merging take, and that dispatch takes; those of further ctxs or hctxs follow.
    pub insert_lock: ObjectId,
    pub dispatch_lock: ObjectId,
    /// First of its shared lines.
    pub lines: ObjectId,
    /// First of the lines that stand for what the dispatch locks protect, and how many there are: one a lock.
    pub lists: ObjectId,
    pub nr_lists: u32,
    /// CPU time of one operation, ns.
    pub op_ns: u32,
    /// `q->nr_requests`.
    pub nr_requests: u32,
    /// Requests taken out by dispatch and not yet completed.
    pub in_driver: u32,
    /// Request that was merged into last (`q->last_merge`).
    pub last_merge: u32,
    /// Requests by the sector behind them: (end, order of hashing, slot) (`elv_rqhash_add`).
    pub ends: BTreeSet<(u64, u32, u32)>,
    pub hash_order: u32,
    /// One CPU at a time dispatches (knob deadline_dispatch_alone): line of the bit, and whether it is set.
    pub alone: Option<ObjectId>,
    pub dispatching: bool,
    /// Requests wait here until a dispatch inserts them (knob deadline_insert_list): its lock, the line of its head.
    pub waiting_lock: Option<(ObjectId, ObjectId)>,
    pub waiting: VecDeque<u32>,
}

impl Elevator {
    pub(crate) fn new(
        sched: Box<dyn Scheduler>,
        row: &crate::sched::Row,
        costs: &Costs,
        nr_requests: u32,
    ) -> Self {
        Self {
            sched,
            mq_aware: row.mq_aware,
            insert_lock: 0,
            dispatch_lock: 0,
            lines: 0,
            lists: 0,
            nr_lists: 0,
            op_ns: (row.op_ns)(costs),
            nr_requests,
            in_driver: 0,
            last_merge: NONE,
            ends: BTreeSet::new(),
            hash_order: 0,
            alone: None,
            dispatching: false,
            waiting_lock: None,
            waiting: VecDeque::new(),
        }
    }

    /// The line of what this lock protects.
    fn lists_behind(&self, lock: ObjectId) -> Option<ObjectId> {
        let index = lock.checked_sub(self.dispatch_lock)?;
        (index < self.nr_lists).then_some(self.lists + index)
    }
}

impl Sim {
    /// The scheduler of a queue that has one.
    pub(crate) fn elevator(&mut self, q: QueueId) -> &mut Elevator {
        match &mut self.queues[q as usize].elevator {
            Some(elevator) => elevator,
            None => unreachable!("queue {q} has no scheduler"),
        }
    }

    pub(crate) fn has_elevator(&self, q: QueueId) -> bool {
        self.queues[q as usize].elevator.is_some()
    }

    pub(in crate::block) fn locking(&self, q: QueueId) -> Locking {
        match &self.queues[q as usize].elevator {
            Some(elevator) => elevator.sched.locking(),
            None => unreachable!("queue {q} has no scheduler"),
        }
    }

    /// What the scheduler of `q` sees of its disk.
    pub(crate) fn sched_disk(&self, q: QueueId) -> Disk {
        let queue = &self.queues[q as usize];
        let (nr_requests, in_driver) =
            queue.elevator.as_ref().map_or((0, 0), |e| (e.nr_requests, e.in_driver));
        Disk {
            rotational: queue.rotational,
            nr_hctx: queue.nr_hctx,
            nr_cpus: self.cpus.len() as u16,
            nr_requests,
            in_driver,
        }
    }

    /// Asks the scheduler of `q`.
    pub(crate) fn ask<T>(&self, q: QueueId, question: impl FnOnce(&dyn Scheduler, Cx<'_>) -> T) -> T {
        let cx = Cx { now: self.now, knobs: &self.knobs, disk: self.sched_disk(q) };
        match &self.queues[q as usize].elevator {
            Some(elevator) => question(&*elevator.sched, cx),
            None => unreachable!("queue {q} has no scheduler"),
        }
    }

    /// Tells the scheduler of `q` something, and does what it asks for in return.
    pub(crate) fn tell<T>(
        &mut self,
        c: usize,
        q: QueueId,
        tell: impl FnOnce(&mut dyn Scheduler, Cx<'_>, &mut Out) -> T,
    ) -> T {
        let disk = self.sched_disk(q);
        let mut out = std::mem::take(&mut self.sched_out);
        let cx = Cx { now: self.now, knobs: &self.knobs, disk };
        let Some(elevator) = &mut self.queues[q as usize].elevator else {
            unreachable!("queue {q} has no scheduler");
        };
        let answer = tell(&mut *elevator.sched, cx, &mut out);
        let lines = elevator.lines;
        for line in out.lines.drain(..) {
            self.touch(c, lines + ObjectId::from(line));
        }
        for (at, token) in out.timers.drain(..) {
            self.agenda.at(at.max(self.now), Timed::Sched(c as u16, q, token));
        }
        let first = self.queues[q as usize].first_hctx;
        for hctx in out.run_hctx.drain(..) {
            if self.has_pending(c, first + hctx) {
                self.schedule_work(c, first + hctx, 0);
            }
        }
        if std::mem::take(&mut out.run_hw_queues) {
            self.run_all(c, q);
        }
        self.sched_out = out;
        answer
    }

    /// A request as its scheduler sees it.
    pub(crate) fn sched_rq(&self, slot: u32) -> SchedRq {
        let r = &self.rqs[slot];
        SchedRq {
            slot,
            id: r.id,
            op: r.op,
            flags: r.flags,
            sector: r.sector,
            sectors: r.sectors,
            prio: r.prio,
            task: r.task,
            cpu: r.cpu,
            hctx: r.hctx - self.queues[r.queue as usize].first_hctx,
        }
    }

    /// The lock at `first` that belongs to this hctx or CPU.
    fn lock_at(&self, first: ObjectId, at: LockAt, h: HctxId, cpu: u16) -> ObjectId {
        match at {
            LockAt::Queue => first,
            LockAt::Hctx => {
                let queue = &self.queues[self.hctxs[h as usize].queue as usize];
                first + ObjectId::from(h - queue.first_hctx)
            }
            LockAt::Ctx => first + ObjectId::from(cpu),
        }
    }

    pub(crate) fn insert_lock(&self, q: QueueId, h: HctxId, cpu: u16) -> ObjectId {
        let first = self.queues[q as usize].elevator.as_ref().map_or(0, |e| e.insert_lock);
        self.lock_at(first, self.locking(q).insert, h, cpu)
    }

    fn dispatch_lock(&self, h: HctxId, cpu: u16) -> ObjectId {
        let q = self.hctxs[h as usize].queue;
        let first = self.queues[q as usize].elevator.as_ref().map_or(0, |e| e.dispatch_lock);
        self.lock_at(first, self.locking(q).dispatch, h, cpu)
    }

    /// Charges one operation of the scheduler.
    pub(super) fn charge_op(&mut self, c: usize, q: QueueId) {
        let ns = self.elevator(q).op_ns;
        self.charge(c, ns);
    }

    /// `blk_mq_sched_completed_request` and `blk_mq_finish_request`: the scheduler learns of the end, under its lock where
    /// it takes one.
    pub(crate) fn sched_completed(&mut self, c: usize, pc: u8, rq: u32) -> Flow {
        let frame = |pc| Frame::SchedCompleted { pc, rq };
        let (q, h) = (self.rqs[rq].queue, self.rqs[rq].hctx);
        let locks = self.locking(q).completion;
        match pc {
            0 if locks => {
                let lock = self.dispatch_lock(h, c as u16);
                if self.lock(c, lock) { Flow::Go(frame(1)) } else { Flow::Spin(frame(1)) }
            }
            0 | 1 => {
                let lists = self.locking(q).lists;
                let lock = self.dispatch_lock(h, c as u16);
                if locks {
                    self.charge_op(c, q);
                    let from = self.open_lists(c, q, lock);
                    self.fetch_lists(c, q, from, lists.completion.saturating_sub(1));
                } else if lists.counts_completions
                    && let Some(line) = self.elevator(q).lists_behind(lock)
                {
                    self.touch(c, line);
                }
                self.elevator_completed(c, rq);
                if locks { Flow::Pay(frame(2)) } else { Flow::Ret(0) }
            }
            _ => {
                let lock = self.dispatch_lock(h, c as u16);
                self.unlock(c, lock);
                Flow::Ret(0)
            }
        }
    }

    /// The scheduler learns of the end of a request.
    pub(super) fn elevator_completed(&mut self, c: usize, rq: u32) {
        let r = &self.rqs[rq];
        let q = r.queue;
        let done = Done { rq: self.sched_rq(rq), total_ns: self.now - r.g_ns, io_ns: self.now - r.d_ns };
        self.elevator(q).in_driver -= 1;
        self.tell(c, q, |sched, cx, out| sched.completed(cx, &done, out));
        if self.locking(q).counts_until_done {
            self.left_elevator(rq);
        }
    }

    /// A timer of the scheduler, in the interrupt of the CPU that armed it.
    pub(crate) fn sched_timer(&mut self, c: usize, pc: u8, q: QueueId, token: u32) -> Flow {
        let frame = |pc| Frame::SchedTimer { pc, queue: q, token };
        let h = self.queues[q as usize].map[c];
        let locks = self.locking(q).completion;
        match pc {
            0 => {
                self.charge(c, self.costs.timer);
                Flow::Pay(frame(1))
            }
            1 if locks => {
                let lock = self.dispatch_lock(h, c as u16);
                if self.lock(c, lock) { Flow::Go(frame(2)) } else { Flow::Spin(frame(2)) }
            }
            1 | 2 => {
                self.tell(c, q, |sched, cx, out| sched.timer(cx, token, out));
                if locks { Flow::Pay(frame(3)) } else { Flow::Ret(0) }
            }
            _ => {
                let lock = self.dispatch_lock(h, c as u16);
                self.unlock(c, lock);
                Flow::Ret(0)
            }
        }
    }

    /// The inside of the scheduler of `queue`; `None` where there is none.
    pub fn scheduler_view(&self, queue: QueueId) -> Option<View> {
        let q = self.queues.get(queue as usize)?;
        q.elevator.as_ref()?;
        Some(self.ask(queue, |sched, cx| sched.view(cx)))
    }
}
