//! Tags: the sbitmap with its words, hints and wait queues (`sbitmap_queue`, `blk_mq_get_tag`).

use crate::block::{NONE, Queue};
use crate::event::{HctxId, Kind, ObjectId, Sleep};
use crate::host::{Flow, Frame};
use crate::kernel::TagWake;
use crate::sim::Sim;
use std::collections::VecDeque;

/// Wait queues of a bitmap (SBQ_WAIT_QUEUES).
pub(crate) const WAIT_QUEUES: usize = 8;

/// Who stands in a wait queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    /// A task that wants a request.
    Task(u16),
    /// An hctx whose dispatch found no driver tag (`hctx->dispatch_wait`).
    Hctx(HctxId),
}

/// The tag bitmap of one hctx, or of one host where queues share it.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Tags {
    pub depth: u32,
    /// log2 of the bits in a word.
    pub shift: u32,
    pub words: Vec<u64>,
    /// Object of the first word; the others follow.
    pub word_line: ObjectId,
    /// Per-CPU allocation hint.
    pub hints: Vec<u32>,
    pub wait_queues: [VecDeque<Waiter>; WAIT_QUEUES],
    pub waiters: u32,
    /// Next wait queue for a new waiter, next one to wake, frees counted since.
    pub wait_index: u8,
    pub wake_index: u8,
    pub freed: u32,
    pub wake_batch: u32,
    /// Queues that may use it, and those that have.
    pub queues: u32,
    pub users: u32,
    in_use: u32,
}

impl Tags {
    /// Geometry of the kernel's `sbitmap_init_node`: 64 bits a word, halved while four words would exceed the depth.
    pub(crate) fn new(depth: u32, hints: Vec<u32>) -> Self {
        let mut shift = 6;
        while depth >= 4 && (4u64 << shift) > u64::from(depth) {
            shift -= 1;
        }
        let words = depth.div_ceil(1 << shift) as usize;
        Self {
            depth,
            shift,
            words: vec![0; words],
            word_line: 0,
            hints,
            wait_queues: Default::default(),
            waiters: 0,
            wait_index: 0,
            wake_index: 0,
            freed: 0,
            wake_batch: (depth / WAIT_QUEUES as u32).clamp(1, 8),
            queues: 0,
            users: 0,
            in_use: 0,
        }
    }

    /// One more queue uses the bitmap for the first time (`__blk_mq_tag_busy`); its fair share sets how many frees wake
    /// a batch, or waiters could wait for more frees than their queue has requests (`blk_mq_update_wake_batch`). That
    /// an idle queue loses its share after its timeout of 30 s is left out.
    fn add_user(&mut self) {
        self.users += 1;
        let usable = self.depth.div_ceil(self.users).max(4).min(self.depth);
        self.wake_batch = (usable / WAIT_QUEUES as u32).clamp(1, 8);
    }

    pub(crate) fn in_use(&self) -> u32 {
        self.in_use
    }

    fn word_depth(&self, word: usize) -> u32 {
        let bits = 1u32 << self.shift;
        bits.min(self.depth - word as u32 * bits)
    }

    /// The frees that wake a batch are fewer where some requests may use only `shallow` bits of each word
    /// (`sbitmap_queue_min_shallow_depth`).
    pub(crate) fn set_min_shallow(&mut self, shallow: u32) {
        let usable: u32 = (0..self.words.len()).map(|word| self.word_depth(word).min(shallow)).sum();
        self.wake_batch = (usable / WAIT_QUEUES as u32).clamp(1, 8);
    }

    /// Takes a free bit, starting at the CPU's hint; at most the first `shallow` bits of each word.
    fn take(&mut self, cpu: usize, shallow: u32) -> Option<u32> {
        let hint = self.hints[cpu].min(self.depth - 1);
        let first = (hint >> self.shift) as usize;
        let mut offset = hint & ((1 << self.shift) - 1);
        // One word more than there are: the first one again from its start.
        for n in 0..=self.words.len() {
            let word = (first + n) % self.words.len();
            let limit = self.word_depth(word).min(shallow);
            let mask = if limit == 64 { u64::MAX } else { (1 << limit) - 1 };
            let free = !self.words[word] & mask & (u64::MAX << offset);
            if free != 0 {
                let bit = free.trailing_zeros();
                self.words[word] |= 1 << bit;
                self.in_use += 1;
                let tag = ((word as u32) << self.shift) + bit;
                if tag == hint {
                    self.hints[cpu] = if tag + 1 >= self.depth { 0 } else { tag + 1 };
                }
                return Some(tag);
            }
            offset = 0;
        }
        self.hints[cpu] = 0;
        None
    }

    /// Takes the free ones among `n` neighbouring bits of one word (`__sbitmap_queue_get_batch`): word and bits.
    fn take_batch(&mut self, cpu: usize, n: u32) -> Option<(usize, u64)> {
        let first = (self.hints[cpu].min(self.depth - 1) >> self.shift) as usize;
        for i in 0..self.words.len() {
            let word = (first + i) % self.words.len();
            let bit = (!self.words[word]).trailing_zeros();
            if bit + n <= self.word_depth(word) && n < 64 {
                let bits = (((1u64 << n) - 1) << bit) & !self.words[word];
                self.words[word] |= bits;
                self.in_use += bits.count_ones();
                self.hints[cpu] = ((word as u32) << self.shift) + bit + n - 1;
                return Some((word, bits));
            }
        }
        None
    }

    fn give_back(&mut self, cpu: usize, tag: u32) {
        let (word, bit) = ((tag >> self.shift) as usize, tag & ((1 << self.shift) - 1));
        assert!(self.words[word] & (1 << bit) != 0, "tag {tag} is freed twice");
        self.words[word] &= !(1 << bit);
        self.in_use -= 1;
        self.hints[cpu] = tag;
    }
}

impl Sim {
    /// `hctx_may_queue`: the fair share of a queue in a shared tag set.
    fn may_queue(&self, tags: usize, queue: &Queue) -> bool {
        let tags = &self.tags[tags];
        tags.users < 2 || queue.nr_active < tags.depth.div_ceil(tags.users).max(4)
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
        let shallow = self.ask(q, |sched, cx| sched.shallow_depth(cx, extent.op, extent.is_sync(), shift));
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
        if !self.may_queue(t, &self.queues[q]) {
            return None;
        }
        let tag = self.take_tag(c, t, u32::MAX)?;
        if shared {
            self.touch(c, active_line);
        }
        self.queues[q].nr_active += 1;
        Some(tag)
    }

    fn take_tag(&mut self, c: usize, t: usize, shallow: u32) -> Option<u32> {
        let line = self.tags[t].word_line;
        match self.tags[t].take(c, shallow) {
            Some(tag) => {
                let word = tag >> self.tags[t].shift;
                self.touch(c, line + word);
                Some(tag)
            }
            None => {
                for word in 0..self.tags[t].words.len() as u32 {
                    self.read(c, line + word);
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
        let bio = self.ios[self.bios[bio].io].id;
        self.emit(c, Kind::TagAlloc { rq: id, bio, hctx, tag });
        true
    }

    /// No driver tag for `rq`: whoever frees one runs the hctx again (`blk_mq_mark_tag_wait`). True: one was free after all.
    pub(crate) fn mark_tag_wait(&mut self, c: usize, rq: u32) -> bool {
        let h = self.rqs[rq].hctx;
        let t = self.hctxs[h as usize].tags as usize;
        if self.tags[t].queues < 2 {
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
            2 => Flow::Pay(frame(3)),
            // Try again, then queue up and flush the plug as any sleeping task does.
            3 => match self.try_get_tag(c, hctx, bio) {
                Some(tag) => self.make_request(c, bio, hctx, tag),
                None => {
                    let t = self.current_task(c);
                    let set = self.alloc_tags(hctx);
                    let tags = &mut self.tags[set as usize];
                    let queue = tags.wait_index;
                    tags.wait_index = (queue + 1) % WAIT_QUEUES as u8;
                    tags.wait_queues[queue as usize].push_back(Waiter::Task(t as u16));
                    tags.waiters += 1;
                    self.tasks[t].tag_wait = Some((set, queue));
                    let io = &self.ios[self.bios[bio].io];
                    let (id, q) = (io.id, io.queue);
                    self.stats.queues[q as usize].tag_waits += 1;
                    self.emit(c, Kind::TagWait { bio: id, hctx, wait_queue: queue });
                    if self.tasks[t].plug.list.is_empty() && self.tasks[t].plug.cached.is_empty() {
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
                    Flow::Sleep(frame(6), Sleep::Tag)
                } else {
                    Flow::Go(frame(6))
                }
            }
            // Awake: off the wait queue, run the hctx again, and once more from the start.
            _ => {
                let t = self.current_task(c);
                self.leave_tag_wait(t);
                Flow::Call(frame(2), Frame::RunHwQueue { pc: 0, hctx, run_async: false })
            }
        }
    }

    fn batch_tags(&mut self, c: usize, h: HctxId, n: u32) {
        let t = self.alloc_tags(h) as usize;
        let scheduled = self.hctxs[h as usize].sched_tags.is_some();
        if self.tags[self.hctxs[h as usize].tags as usize].queues > 1 {
            return; // not for tag sets shared by queues
        }
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
        self.release(c, t, tag);
    }

    /// Gives a sched tag back.
    pub(crate) fn put_sched_tag(&mut self, c: usize, h: HctxId, tag: u32) {
        if let Some(t) = self.hctxs[h as usize].sched_tags {
            self.release(c, t as usize, tag);
        }
    }

    /// Clears the bit and wakes waiters by batch (`sbitmap_queue_clear`, `sbq_wake_up`).
    fn release(&mut self, c: usize, t: usize, tag: u32) {
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
        let start = self.tags[t].wake_index as usize;
        let Some(queue) = (0..WAIT_QUEUES)
            .map(|n| (start + n) % WAIT_QUEUES)
            .find(|&q| !self.tags[t].wait_queues[q].is_empty())
        else {
            return;
        };
        self.tags[t].wake_index = ((queue + 1) % WAIT_QUEUES) as u8;
        let mut most = match self.knobs.tag_wake {
            TagWake::WholeQueue => u32::MAX,
            TagWake::Batch => self.tags[t].wake_batch,
        };
        while most > 0
            && let Some(waiter) = self.tags[t].wait_queues[queue].pop_front()
        {
            self.tags[t].waiters -= 1;
            match waiter {
                Waiter::Task(task) => {
                    most -= 1;
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
    }
}
