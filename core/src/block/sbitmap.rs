//! The bitmap behind tags, with its words, hints and wait queues (`sbitmap`, `sbitmap_queue`).

use crate::event::{HctxId, ObjectId};
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
    pub(super) fn add_user(&mut self) {
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
    pub(super) fn take(&mut self, cpu: usize, shallow: u32) -> Option<u32> {
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
    pub(super) fn take_batch(&mut self, cpu: usize, n: u32) -> Option<(usize, u64)> {
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

    pub(super) fn give_back(&mut self, cpu: usize, tag: u32) {
        let (word, bit) = ((tag >> self.shift) as usize, tag & ((1 << self.shift) - 1));
        assert!(self.words[word] & (1 << bit) != 0, "tag {tag} is freed twice");
        self.words[word] &= !(1 << bit);
        self.in_use -= 1;
        self.hints[cpu] = tag;
    }
}
