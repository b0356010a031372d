//! Flushes of a device's write cache (`block/blk-flush.c`): what a flush or FUA write becomes on a device with a cache,
//! the flush request that many of them share, and the requeue list over which their parts go to a kworker.
//!
//! A request that needs it passes three steps: a flush before, its data, a flush after. Those that wait for a flush stand
//! in the flush queue of their hctx; one flush request at a time serves all that waited when it was made.

use crate::block::{NONE, Request};
use crate::event::{Flags, HctxId, Kind, ObjectId, Op, Place, QueueId};
use crate::host::{Flow, Frame, Mode, Runnable};
use crate::kernel::FlushDefer;
use crate::sim::Sim;
use std::collections::VecDeque;

/// Steps that are done or not needed (`REQ_FSEQ_PREFLUSH`, `_DATA`, `_POSTFLUSH`).
const PREFLUSH: u8 = 1;
const DATA: u8 = 2;
const POSTFLUSH: u8 = 4;
const ALL: u8 = PREFLUSH | DATA | POSTFLUSH;
/// The request is in a flush sequence (`RQF_FLUSH_SEQ`).
const ACTIVE: u8 = 8;
/// Its data goes the way of any other request.
const NORMAL: u8 = 16;

/// A pending flush waits no longer than this for data in flight, ns (`FLUSH_PENDING_TIMEOUT`).
const PENDING_MAX_NS: u64 = 5_000_000_000;

/// The flush queue of an hctx (`struct blk_flush_queue`).
#[derive(Clone, Debug, Hash)]
pub(crate) struct FlushQueue {
    /// `fq->mq_flush_lock`.
    pub lock: ObjectId,
    /// Requests that wait for the next flush, and those that the flush under way serves.
    pending: VecDeque<u32>,
    running: VecDeque<u32>,
    /// When the first of `pending` came, ns.
    pending_since_ns: u64,
    /// Data of flush sequences on its way to the device and back (`flush_data_in_flight`).
    data_in_flight: u32,
    /// The flush request under way, or [`NONE`].
    flush_rq: u32,
}

impl FlushQueue {
    pub(crate) fn new(lock: ObjectId) -> Self {
        Self {
            lock,
            pending: VecDeque::new(),
            running: VecDeque::new(),
            pending_since_ns: 0,
            data_in_flight: 0,
            flush_rq: NONE,
        }
    }
}

/// The requeue list of a queue and the work that empties it (`q->requeue_list`, `q->requeue_work`).
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Requeue {
    list: VecDeque<u32>,
    queued: bool,
    running: bool,
    /// Asked for again while running.
    again: bool,
}

/// Where the requeue work puts a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum RequeueTo {
    #[default]
    DispatchList,
    /// Its end; flushes go to its head.
    DispatchTail,
    Ctx,
    Elevator,
}

impl Request {
    /// It passes the steps of a flush sequence.
    pub(crate) fn in_flush_seq(&self) -> bool {
        self.flush_seq != 0
    }
}

impl Sim {
    fn fq(&mut self, h: HctxId) -> &mut FlushQueue {
        match &mut self.hctxs[h as usize].fq {
            Some(fq) => fq,
            None => unreachable!("hctx {h} has a flush queue, as its device has a write cache"),
        }
    }

    /// `blk_insert_flush`: what becomes of a new flush or FUA request. `None`: it goes on as any other. `then` is the
    /// submission's next step by its number.
    pub(crate) fn insert_flush(&mut self, rq: u32, then: impl Fn(u8) -> Frame) -> Option<Flow> {
        let r = &mut self.rqs[rq];
        let (queue, hctx) = (&self.queues[r.queue as usize], r.hctx);
        let mut needed = if r.sectors > 0 { DATA } else { 0 };
        needed |= if r.flags.has(Flags::PREFLUSH) { PREFLUSH } else { 0 };
        needed |= if r.flags.has(Flags::FUA) && !queue.fua { POSTFLUSH } else { 0 };
        let dropped = if queue.fua { Flags::PREFLUSH } else { Flags::FLUSH };
        r.flags = r.flags.without(dropped).and(Flags::SYNC);
        if needed != DATA {
            let goes_on = self.knobs.flush_data_normal && needed == DATA | POSTFLUSH;
            r.flush_seq = ACTIVE | ALL & !needed | if goes_on { NORMAL } else { 0 };
            let begin = Frame::FlushSeq { pc: 0, hctx, list: NONE, rq, completing: false };
            return Some(Flow::Call(then(if goes_on { 17 } else { 18 }), begin));
        }
        if self.knobs.flush_data_normal {
            return None;
        }
        let (q, hctx, cpu) = (r.queue, r.hctx, r.cpu);
        if self.knobs.flush_through_ctx && !self.has_elevator(q) {
            let list = self.new_list();
            self.lists[list].push_back(rq);
            let ctx = self.ctx_index(hctx, cpu as usize);
            let insert = Frame::InsertRequests { pc: 1, hctx, ctx, list, run_async: true };
            return Some(Flow::Call(then(9), insert));
        }
        // The bypass insert, then the run.
        Some(Flow::Call(then(19), Frame::IssueDirectly { pc: 2, rq }))
    }

    /// One step of the machinery, under the flush queue's lock: `rq` begins its sequence, or its data is done, or it is the
    /// flush request and is done. Requests whose sequence has ended are collected in `list` and completed after.
    pub(crate) fn flush_seq(
        &mut self,
        c: usize,
        pc: u8,
        hctx: HctxId,
        list: u32,
        rq: u32,
        completing: bool,
    ) -> Flow {
        let frame = |pc, list| Frame::FlushSeq { pc, hctx, list, rq, completing };
        match pc {
            0 => {
                if completing {
                    self.put_driver_tag(c, rq); // with a scheduler; else the flush request's tag is borrowed
                }
                let lock = self.fq(hctx).lock;
                if self.lock(c, lock) { Flow::Go(frame(1, NONE)) } else { Flow::Spin(frame(1, NONE)) }
            }
            1 => {
                let list = self.new_list();
                self.charge(c, self.costs.ctx_insert);
                if !completing {
                    self.flush_begin(c, hctx, rq, list);
                } else if self.rqs[rq].op == Op::Flush {
                    self.flush_end(c, hctx, rq, list);
                } else {
                    self.fq(hctx).data_in_flight -= 1;
                    self.complete_seq(c, hctx, rq, DATA, list);
                }
                Flow::Pay(frame(2, list))
            }
            2 => {
                let lock = self.fq(hctx).lock;
                self.unlock(c, lock);
                Flow::Go(frame(3, list))
            }
            3 => match self.lists[list].pop_front() {
                Some(rq) => Flow::Call(frame(3, list), Frame::Complete { pc: 7, rq, softirq: false }),
                None => {
                    self.drop_list(list);
                    if completing { self.completed(c, hctx) } else { Flow::Ret(0) }
                }
            },
            _ => unreachable!("flush_seq has no step {pc}"),
        }
    }

    fn flush_begin(&mut self, c: usize, h: HctxId, rq: u32, ended: u32) {
        if self.rqs[rq].flush_seq & NORMAL != 0 {
            self.fq(h).data_in_flight += 1;
        } else {
            self.complete_seq(c, h, rq, 0, ended);
        }
    }

    /// `flush_end_io`: all that waited for the flush take their next step.
    fn flush_end(&mut self, c: usize, h: HctxId, flush_rq: u32, ended: u32) {
        let fq = self.fq(h);
        debug_assert_eq!(fq.flush_rq, flush_rq, "one flush is under way");
        fq.flush_rq = NONE;
        let served = std::mem::take(&mut fq.running);
        self.rqs.remove(flush_rq);
        for rq in served {
            let done = if self.rqs[rq].flush_seq & PREFLUSH == 0 { PREFLUSH } else { POSTFLUSH };
            self.complete_seq(c, h, rq, done, ended);
        }
    }

    /// `blk_flush_complete_seq`: steps `done` are done; the next one begins.
    fn complete_seq(&mut self, c: usize, h: HctxId, rq: u32, done: u8, ended: u32) {
        let r = &mut self.rqs[rq];
        r.flush_seq |= done;
        let (seq, id) = (r.flush_seq, r.id);
        let now = self.now;
        if seq & ALL == ALL {
            self.lists[ended].push_back(rq);
        } else if seq & PREFLUSH != 0 && seq & DATA == 0 {
            self.fq(h).data_in_flight += 1;
            self.flush_requeue(c, rq, true);
        } else {
            let fq = self.fq(h);
            if fq.pending.is_empty() {
                fq.pending_since_ns = now;
            }
            fq.pending.push_back(rq);
            self.emit(c, Kind::FlushPending { rq: id, hctx: h });
        }
        self.kick_flush(c, h);
    }

    /// `blk_kick_flush`: makes the flush request, unless one is under way or data that a later flush would cover is.
    fn kick_flush(&mut self, c: usize, h: HctxId) {
        let now = self.now;
        let elevator = self.has_elevator(self.hctxs[h as usize].queue);
        let defers = match self.knobs.flush_defer {
            FlushDefer::WithoutScheduler => !elevator,
            FlushDefer::WithScheduler => elevator,
            FlushDefer::Always => true,
        };
        let fq = self.fq(h);
        let Some(&first) = fq.pending.front() else { return };
        let young = now < fq.pending_since_ns + PENDING_MAX_NS;
        if fq.flush_rq != NONE || defers && fq.data_in_flight > 0 && young {
            return;
        }
        fq.running = std::mem::take(&mut fq.pending);
        let count = fq.running.len() as u32;
        self.next_rq += 1;
        let of = &self.rqs[first];
        let flush = Request {
            id: self.next_rq,
            task: of.task,
            queue: of.queue,
            hctx: of.hctx,
            cpu: of.cpu,
            op: Op::Flush,
            prio: of.prio,
            bio_first: NONE,
            bio_last: NONE,
            // With a scheduler it takes a driver tag of its own at dispatch.
            tag: if of.sched_tag == NONE { of.tag } else { NONE },
            sched_tag: of.sched_tag,
            q_ns: now,
            g_ns: now,
            issue_cpu: c as u16,
            struct_owner: c as u16,
            owner: c as u16,
            ..Request::default()
        };
        let (id, of) = (flush.id, of.id);
        let rq = self.rqs.add(flush);
        self.fq(h).flush_rq = rq;
        self.emit(c, Kind::FlushStart { rq: id, of, hctx: h, count });
        self.flush_requeue(c, rq, false);
    }

    fn flush_requeue(&mut self, c: usize, rq: u32, front: bool) {
        self.rqs[rq].requeue_to = self.requeue_to(rq);
        self.add_to_requeue_list(c, rq, front);
    }

    /// `blk_mq_add_to_requeue_list` and the kick of its work.
    fn add_to_requeue_list(&mut self, c: usize, rq: u32, front: bool) {
        let (id, q) = (self.rqs[rq].id, self.rqs[rq].queue);
        let requeue = &mut self.queues[q as usize].requeue;
        if front {
            requeue.list.push_front(rq);
        } else {
            requeue.list.push_back(rq);
        }
        self.emit(c, Kind::RequeueListAdd { rq: id, queue: q });
        let requeue = &mut self.queues[q as usize].requeue;
        if std::mem::replace(&mut requeue.queued, true) {
            return;
        }
        self.charge(c, self.costs.kworker_queue);
        let requeue = &mut self.queues[q as usize].requeue;
        if requeue.running {
            requeue.again = true; // a work item does not run twice at once
        } else {
            self.make_runnable(c, c, Runnable::Requeue(q), self.costs.kworker_latency);
        }
    }

    /// `blk_mq_requeue_request` with a kick, for a command that the device did not do: R, then the requeue list. What its
    /// driver has prepared goes to hctx->dispatch, in rows before 5.0 to the head of its ctx list.
    pub(crate) fn requeue_request(&mut self, c: usize, pc: u8, rq: u32) -> Flow {
        let frame = |pc| Frame::RequeueRq { pc, rq };
        let q = self.rqs[rq].queue;
        let lock = self.queues[q as usize].requeue_lock;
        match pc {
            0 => {
                self.emit_requeue(c, rq, true);
                self.put_driver_tag(c, rq);
                if self.lock(c, lock) { Flow::Go(frame(1)) } else { Flow::Spin(frame(1)) }
            }
            1 => {
                let prepared = self.knobs.requeue_bypass || self.has_elevator(q);
                self.rqs[rq].requeue_to = if prepared { RequeueTo::DispatchTail } else { RequeueTo::Ctx };
                self.add_to_requeue_list(c, rq, !self.knobs.requeue_at_tail);
                Flow::Pay(frame(2))
            }
            _ => {
                self.unlock(c, lock);
                Flow::Ret(0)
            }
        }
    }

    fn requeue_to(&self, rq: u32) -> RequeueTo {
        let r = &self.rqs[rq];
        let data = self.knobs.flush_data_normal && r.op != Op::Flush;
        match self.has_elevator(r.queue) {
            true if data => RequeueTo::Elevator,
            false if data || self.knobs.flush_through_ctx => RequeueTo::Ctx,
            _ => RequeueTo::DispatchList,
        }
    }

    /// `blk_mq_requeue_work` on a kworker: the parts of flush sequences go before all others, then all hctxs run.
    pub(crate) fn requeue_work(&mut self, c: usize, pc: u8, q: QueueId, list: u32, rq: u32) -> Flow {
        let frame = |pc, list, rq| Frame::RequeueWork { pc, queue: q, list, rq };
        match pc {
            // The switch to the kworker takes its time first.
            0 => {
                self.set_mode(c, Mode::System);
                Flow::Pay(frame(1, NONE, NONE))
            }
            1 => {
                let lock = self.queues[q as usize].requeue_lock;
                let then = frame(6, NONE, NONE);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            6 => {
                let list = self.new_list();
                let requeue = &mut self.queues[q as usize].requeue;
                (requeue.queued, requeue.running) = (false, true);
                std::mem::swap(&mut self.lists[list], &mut requeue.list);
                Flow::Pay(frame(7, list, NONE))
            }
            7 => {
                let lock = self.queues[q as usize].requeue_lock;
                self.unlock(c, lock);
                Flow::Go(frame(2, list, NONE))
            }
            2 => {
                let Some(rq) = self.lists[list].pop_front() else {
                    self.drop_list(list);
                    return Flow::Go(frame(5, NONE, 0));
                };
                let lock = self.requeue_lock_of(rq);
                let then = frame(3, list, rq);
                if self.lock(c, lock) { Flow::Go(then) } else { Flow::Spin(then) }
            }
            // From here on `rq` names the lock, as others may take the request.
            3 => {
                let lock = self.requeue_lock_of(rq);
                self.requeue_insert(c, rq);
                Flow::Pay(frame(4, list, lock))
            }
            4 => {
                self.unlock(c, rq);
                Flow::Go(frame(2, list, NONE))
            }
            // `rq` counts the hctxs.
            _ => {
                let queue = &mut self.queues[q as usize];
                if rq >= u32::from(queue.nr_hctx) {
                    queue.requeue.running = false;
                    if std::mem::take(&mut queue.requeue.again) {
                        self.enqueue(c, Runnable::Requeue(q));
                    }
                    return Flow::Ret(0);
                }
                let hctx = queue.first_hctx + rq as u16;
                self.charge(c, self.costs.scan_hctx);
                let then = frame(5, NONE, rq + 1);
                if self.runs_with_all(c, hctx) && self.has_pending(c, hctx) {
                    Flow::Call(then, Frame::RunHwQueue { pc: 0, hctx, run_async: false })
                } else {
                    Flow::Go(then)
                }
            }
        }
    }

    fn requeue_lock_of(&self, rq: u32) -> ObjectId {
        let r = &self.rqs[rq];
        match r.requeue_to {
            RequeueTo::DispatchList | RequeueTo::DispatchTail => self.hctxs[r.hctx as usize].lock,
            RequeueTo::Ctx => self.ctxs[self.ctx_index(r.hctx, r.cpu as usize) as usize].lock,
            RequeueTo::Elevator => self.insert_lock(r.queue, r.hctx, r.cpu),
        }
    }

    fn requeue_insert(&mut self, c: usize, rq: u32) {
        let now = self.now;
        let r = &mut self.rqs[rq];
        let (id, queue, hctx, cpu, extent) = (r.id, r.queue, r.hctx, r.cpu, r.extent());
        match r.requeue_to {
            RequeueTo::DispatchList => {
                self.hctxs[hctx as usize].dispatch.push_front(rq);
                self.emit(c, Kind::DispatchListAdd { rq: id, hctx });
                self.charge(c, self.costs.ctx_insert);
            }
            RequeueTo::DispatchTail => {
                self.hctxs[hctx as usize].dispatch.push_back(rq);
                self.emit(c, Kind::DispatchListAdd { rq: id, hctx });
                self.charge(c, self.costs.ctx_insert);
            }
            RequeueTo::Ctx => {
                r.i_ns = now;
                let ctx = self.ctx_index(hctx, cpu as usize) as usize;
                if extent.op == Op::Flush {
                    self.ctxs[ctx].list.push_back(rq);
                } else {
                    self.ctxs[ctx].list.push_front(rq);
                }
                self.emit(c, Kind::Insert { rq: id, queue, hctx, place: Place::Ctx(cpu), extent });
                self.set_pending(c, hctx, cpu);
                self.charge(c, self.costs.ctx_insert);
            }
            RequeueTo::Elevator => self.elv_insert_one(c, rq, true),
        }
    }
}
