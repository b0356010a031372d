//! Tags of requests: taking one, waiting for one, giving it back (`blk_mq_get_tag`, `blk_mq_get_driver_tag`,
//! `sbitmap_queue_wake_up`).

use crate::block::sbitmap::{WAIT_QUEUES, Waiter};
use crate::block::{NONE, Queue};
use crate::check::Invariant;
use crate::event::{HctxId, Kind, Sleep};
use crate::host::{Flow, Frame};
use crate::kernel::TagWake;
use crate::sim::Sim;

impl Sim {
    /// `hctx_may_queue`: the fair share of a queue in a shared tag set.
    fn may_queue(&self, tags: usize, queue: &Queue) -> bool {
        let tags = &self.tags[tags];
        !self.knobs.tag_fairness || tags.users < 2 || queue.nr_active < tags.depth.div_ceil(tags.users).max(4)
    }

    /// The bitmap from which new requests of an hctx take their tag: sched tags with a scheduler.
    pub(crate) fn alloc_tags(&self, h: HctxId) -> u16 {
        let hctx = &self.hctxs[h as usize];
        hctx.sched_tags.unwrap_or(hctx.tags)
    }

    /// One attempt to get a tag for a new request. Charges the word it took (a failed attempt reads them all).
    fn try_get_tag(&mut self, c: usize, h: HctxId, bio: u32) -> Option<u32> {
        let hctx = &self.hctxs[h as usize];
        let Some(sched_tags) = hctx.sched_tags else { return self.try_driver_tag(c, h) };
        let (q, extent) = (hctx.queue, self.bio_extent(bio));
        let shift = self.tags[sched_tags as usize].shift;
        // Those that do not go through the scheduler are not limited by it.
        let io = &self.ios[self.bios[bio].io];
        if io.is_flush() && !self.knobs.flush_data_normal {
            return self.take_tag(c, sched_tags as usize, u32::MAX);
        }
        let over_share = self.ask(q, |sched, cx| sched.limits_shares(cx)) && {
            let probe = self.probe(c, q, bio);
            self.ask(q, |sched, cx| sched.over_share(cx, &probe, shift))
        };
        let shallow = if over_share {
            Some(1)
        } else {
            self.ask(q, |sched, cx| sched.shallow_depth(cx, extent.op, extent.is_sync(), shift))
        };
        self.take_tag(c, sched_tags as usize, shallow.unwrap_or(u32::MAX).max(1))
    }

    /// One attempt to get a driver tag, within the queue's fair share.
    fn try_driver_tag(&mut self, c: usize, h: HctxId) -> Option<u32> {
        let hctx = &self.hctxs[h as usize];
        let (t, q, active_line) = (hctx.tags as usize, hctx.queue as usize, hctx.active_line);
        let shared = self.tags[t].queues > 1;
        if shared && !std::mem::replace(&mut self.queues[q].active, true) {
            self.tags[t].add_user();
        }
        if !self.may_queue(t, &self.queues[q]) && !self.has_spare_tags(t) {
            return None;
        }
        let tag = self.take_tag(c, t, u32::MAX)?;
        if shared {
            self.touch(c, active_line);
        }
        self.queues[q].nr_active += 1;
        Some(tag)
    }

    pub(super) fn take_tag(&mut self, c: usize, t: usize, shallow: u32) -> Option<u32> {
        let line = self.tags[t].word_line;
        self.tags_change(c);
        match self.tags[t].take(c, shallow) {
            Some(tag) => {
                let word = tag >> self.tags[t].shift;
                self.touch(c, line + word);
                Some(tag)
            }
            // One that is in no word, so that whoever looks at the bitmap still finds it full.
            None if self.has_spare_tags(t) => Some(self.tags[t].depth),
            None => {
                for word in 0..self.tags[t].words.len() as u32 {
                    if self.knobs.tag_scan_locks {
                        self.touch(c, line + word);
                    } else {
                        self.read(c, line + word);
                    }
                }
                None
            }
        }
    }

    /// `blk_mq_get_driver_tag`: whether the request holds a driver tag now.
    pub(crate) fn get_driver_tag(&mut self, c: usize, rq: u32) -> bool {
        if self.rqs[rq].tag != NONE {
            return true;
        }
        let (id, hctx, bio) = (self.rqs[rq].id, self.rqs[rq].hctx, self.rqs[rq].bio_first);
        let Some(tag) = self.try_driver_tag(c, hctx) else { return false };
        self.rqs[rq].tag = tag;
        // The flush request has no bio.
        let bio = if bio == NONE { 0 } else { self.ios[self.bios[bio].io].id };
        self.emit(c, Kind::TagAlloc { rq: id, bio, hctx, tag });
        true
    }

    /// Whether a tag of the hctx may come back through another one, of another queue or of its own where all share the tags of
    /// their host: a restart of the hctx that frees it is not enough then.
    pub(crate) fn others_free_tags(&self, h: HctxId) -> bool {
        let hctx = &self.hctxs[h as usize];
        self.tags[hctx.tags as usize].queues > 1 || self.queues[hctx.queue as usize].host_tags
    }

    /// No driver tag for `rq`: whoever frees one runs the hctx again (`blk_mq_mark_tag_wait`). True: one was free after all.
    pub(crate) fn mark_tag_wait(&mut self, c: usize, rq: u32) -> bool {
        let h = self.rqs[rq].hctx;
        let t = self.hctxs[h as usize].tags as usize;
        if !self.others_free_tags(h) {
            self.hctxs[h as usize].restart = true;
            return self.get_driver_tag(c, rq);
        }
        if self.hctxs[h as usize].waits_for_tag {
            return false;
        }
        if self.get_driver_tag(c, rq) {
            return true;
        }
        let tags = &mut self.tags[t];
        let queue = tags.wait_index;
        tags.wait_index = (queue + 1) % WAIT_QUEUES as u8;
        // Not exclusive, hence woken before the tasks of the wait queue.
        tags.wait_queues[queue as usize].push_front(Waiter::Hctx(h));
        tags.waiters += 1;
        self.hctxs[h as usize].waits_for_tag = true;
        false
    }

    /// `blk_mq_get_request`: waits for a tag if it must and makes the request for `bio`.
    pub(crate) fn get_request(&mut self, c: usize, pc: u8, bio: u32, hctx: HctxId) -> Flow {
        let frame = |pc| Frame::GetRequest { pc, bio, hctx };
        let h = hctx as usize;
        match pc {
            // Enter the queue, then the bitmap; a cached tag of a batch needs neither.
            0 => {
                let t = self.current_task(c);
                if self.knobs.hctx_counters {
                    self.touch(c, self.hctxs[h].counters_line);
                }
                let plug = &mut self.tasks[t].plug;
                if plug.cached.front().is_some_and(|&(owner, _)| owner == hctx)
                    && let Some((_, tag)) = plug.cached.pop_front()
                {
                    self.charge(c, self.costs.rq_alloc / 2);
                    return self.make_request(c, bio, hctx, tag);
                }
                if self.knobs.batch_tags && plug.active && plug.announced > 1 {
                    let n = std::mem::take(&mut plug.announced).min(32);
                    self.batch_tags(c, hctx, n);
                    if !self.tasks[t].plug.cached.is_empty() {
                        return Flow::Go(frame(0));
                    }
                }
                self.charge(c, self.costs.rq_alloc);
                Flow::Pay(frame(1))
            }
            1 => match self.try_get_tag(c, hctx, bio) {
                Some(tag) => self.make_request(c, bio, hctx, tag),
                // No free tag: run the hctx inline, it may free something or at least issue what waits.
                None => Flow::Call(frame(2), Frame::RunHwQueue { pc: 0, hctx, run_async: false }),
            },
            2 => {
                if self.knobs.sleep_traced {
                    let (queue, extent) = (self.hctxs[h].queue, self.bio_extent(bio));
                    let bio = self.ios[self.bios[bio].io].id;
                    self.emit(c, Kind::SleepRequest { bio, queue, extent });
                }
                Flow::Pay(frame(3))
            }
            7 => Flow::Pay(frame(3)),
            // Try again, then queue up and flush the plug as any sleeping task does.
            3 => match self.try_get_tag(c, hctx, bio) {
                Some(tag) => self.make_request(c, bio, hctx, tag),
                None if self.hctxs[h].poll => self.poll_for_tag(c, hctx, frame(3)),
                None => {
                    let t = self.current_task(c);
                    let set = self.alloc_tags(hctx);
                    let tags = &mut self.tags[set as usize];
                    let queue = tags.wait_index;
                    tags.wait_index = (queue + 1) % WAIT_QUEUES as u8;
                    tags.wait_queues[queue as usize].push_back(Waiter::Task(t as u16));
                    tags.waiters += 1;
                    self.tasks[t].tag_wait = Some((set, queue));
                    let b = &self.bios[bio];
                    let (id, q) = (self.ios[b.io].id, b.queue);
                    self.stats.queues[q as usize].tag_waits += 1;
                    self.emit(c, Kind::TagWait { bio: id, hctx, wait_queue: queue });
                    let plug = &self.tasks[t].plug;
                    let kept =
                        !plug.list.is_empty() && self.checks.is_armed(Invariant::PlugFlushedBeforeSleep);
                    if kept || (plug.list.is_empty() && plug.cached.is_empty()) {
                        Flow::Go(frame(4))
                    } else {
                        Flow::Call(
                            frame(4),
                            Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 },
                        )
                    }
                }
            },
            4 => Flow::Pay(frame(5)),
            // A tag may have been freed since: then the wake-up has taken us off the queue already.
            5 => {
                let t = self.current_task(c);
                if self.tasks[t].tag_wait.is_some() {
                    if !self.tasks[t].plug.list.is_empty() {
                        self.checks.breaks(Invariant::PlugFlushedBeforeSleep);
                    }
                    Flow::Sleep(frame(6), Sleep::Tag)
                } else {
                    Flow::Go(frame(6))
                }
            }
            // Awake: off the wait queue, run the hctx again, and once more from the start.
            _ => {
                let t = self.current_task(c);
                self.leave_tag_wait(t);
                Flow::Call(frame(7), Frame::RunHwQueue { pc: 0, hctx, run_async: false })
            }
        }
    }

    /// No interrupt will free a tag of a poll queue, so the task looks for completions itself and then tries again, with its
    /// plug flushed, as it may hold the tags.
    fn poll_for_tag(&mut self, c: usize, h: HctxId, again: Frame) -> Flow {
        let plug = &self.tasks[self.current_task(c)].plug;
        if !plug.list.is_empty() || !plug.cached.is_empty() {
            return Flow::Call(again, Frame::FlushPlug { pc: 0, from_schedule: true, list: NONE, group: 0 });
        }
        if let Some(completion) = self.poll(c, h) {
            return Flow::Call(again, completion);
        }
        self.look_again(c, again)
    }

    /// One turn of a polling loop that found nothing (`blk_mq_poll`): it ends where others want the CPU.
    pub(crate) fn look_again(&mut self, c: usize, again: Frame) -> Flow {
        self.charge(c, self.costs.poll);
        if self.should_yield(c) { Flow::Yield(again) } else { Flow::Pay(again) }
    }

    fn batch_tags(&mut self, c: usize, h: HctxId, n: u32) {
        let t = self.alloc_tags(h) as usize;
        let scheduled = self.hctxs[h as usize].sched_tags.is_some();
        if self.tags[self.hctxs[h as usize].tags as usize].queues > 1 {
            return; // not for tag sets shared by queues
        }
        self.tags_change(c);
        let Some((word, mut bits)) = self.tags[t].take_batch(c, n) else { return };
        self.touch(c, self.tags[t].word_line + word as u32);
        if !scheduled {
            self.queues[self.hctxs[h as usize].queue as usize].nr_active += bits.count_ones();
        }
        let task = self.current_task(c);
        while bits != 0 {
            let tag = ((word as u32) << self.tags[t].shift) + bits.trailing_zeros();
            self.tasks[task].plug.cached.push_back((h, tag));
            bits &= bits - 1;
        }
    }

    fn leave_tag_wait(&mut self, t: usize) {
        if let Some((tags, queue)) = self.tasks[t].tag_wait.take() {
            let tags = &mut self.tags[tags as usize];
            let list = &mut tags.wait_queues[queue as usize];
            if let Some(at) = list.iter().position(|&w| w == Waiter::Task(t as u16)) {
                list.remove(at);
                tags.waiters -= 1;
            }
        }
    }

    /// Gives back the tags that a new request would hold and this CPU took in a batch.
    pub(crate) fn put_unused_tag(&mut self, c: usize, h: HctxId, tag: u32) {
        if self.hctxs[h as usize].sched_tags.is_some() {
            self.put_sched_tag(c, h, tag);
        } else {
            self.put_tag(c, h, tag);
        }
    }

    /// Gives a driver tag back.
    pub(crate) fn put_tag(&mut self, c: usize, h: HctxId, tag: u32) {
        let t = self.hctxs[h as usize].tags as usize;
        if self.tags[t].queues > 1 {
            self.touch(c, self.hctxs[h as usize].active_line);
        }
        self.queues[self.hctxs[h as usize].queue as usize].nr_active -= 1;
        self.release(c, t, tag, Invariant::TagsConserved);
    }

    /// Gives a sched tag back.
    pub(crate) fn put_sched_tag(&mut self, c: usize, h: HctxId, tag: u32) {
        if let Some(t) = self.hctxs[h as usize].sched_tags {
            self.release(c, t as usize, tag, Invariant::SchedTagsConserved);
        }
    }

    /// Clears the bit and wakes waiters by batch (`sbitmap_queue_clear`, `sbq_wake_up`). `kept` is the invariant that
    /// this keeps.
    pub(super) fn release(&mut self, c: usize, t: usize, tag: u32, kept: Invariant) {
        self.tags_change(c);
        if self.checks.breaks(kept) || tag >= self.tags[t].depth {
            return;
        }
        let line = self.tags[t].word_line + (tag >> self.tags[t].shift);
        self.touch(c, line);
        self.tags[t].give_back(c, tag);
        if self.tags[t].waiters == 0 {
            return;
        }
        self.tags[t].freed += 1;
        if self.tags[t].freed < self.tags[t].wake_batch {
            return;
        }
        self.tags[t].freed = 0;
        let batch = self.tags[t].wake_batch;
        let (mut most, whole) = match self.knobs.tag_wake {
            TagWake::WholeQueue => (u32::MAX, true),
            TagWake::Batch => (batch, true),
            TagWake::Counted => (batch, false),
        };
        // An hctx takes nobody's turn: where only hctxs stood, the next wait queue's comes too.
        while most > 0
            && let Some(queue) = self.next_wait_queue(t)
        {
            let woken = self.wake_queue(c, t, queue, most);
            if woken > 0 && whole {
                break;
            }
            most -= woken;
        }
    }

    fn next_wait_queue(&mut self, t: usize) -> Option<usize> {
        let start = self.tags[t].wake_index as usize;
        let queue = (0..WAIT_QUEUES)
            .map(|n| (start + n) % WAIT_QUEUES)
            .find(|&q| !self.tags[t].wait_queues[q].is_empty())?;
        self.tags[t].wake_index = ((queue + 1) % WAIT_QUEUES) as u8;
        Some(queue)
    }

    /// Wakes hctxs and at most so many tasks in one wait queue; returns how many tasks.
    fn wake_queue(&mut self, c: usize, t: usize, queue: usize, most: u32) -> u32 {
        let mut woken = 0;
        while woken < most
            && let Some(waiter) = self.tags[t].wait_queues[queue].pop_front()
        {
            self.tags[t].waiters -= 1;
            match waiter {
                Waiter::Task(task) => {
                    woken += 1;
                    self.tasks[task as usize].tag_wait = None;
                    self.wake_task(c, task);
                }
                // Not exclusive: it takes nobody's turn (`blk_mq_dispatch_wake`).
                Waiter::Hctx(h) => {
                    self.hctxs[h as usize].waits_for_tag = false;
                    self.schedule_work(c, h, 0);
                }
            }
        }
        woken
    }
}
