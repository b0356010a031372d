//! The front end: one server that takes commands from the submission queues in turn (round robin, burst 1).

use std::collections::VecDeque;

#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Front {
    /// When the command under way is through, ns.
    pub free_ns: u64,
    /// Commands that found it busy, by submission queue.
    queues: Vec<VecDeque<u32>>,
    waiting: u32,
    turn: usize,
}

impl Front {
    /// Whether commands wait: later ones have to as well.
    pub(crate) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// How many.
    pub(crate) fn waiting_count(&self) -> u32 {
        self.waiting
    }

    pub(crate) fn wait(&mut self, queue: usize, slot: u32) {
        if self.queues.len() <= queue {
            self.queues.resize(queue + 1, VecDeque::new());
        }
        self.queues[queue].push_back(slot);
        self.waiting += 1;
    }

    /// The next command: from the queue behind the one that was served last.
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let count = self.queues.len();
        let queue = (0..count).map(|i| (self.turn + i) % count).find(|&q| !self.queues[q].is_empty())?;
        self.turn = (queue + 1) % count;
        self.waiting -= 1;
        self.queues[queue].pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_served_in_turn_however_long_they_are() {
        let mut front = Front::default();
        for slot in 0..4 {
            front.wait(0, slot);
        }
        front.wait(2, 10);
        front.wait(1, 20);
        let order: Vec<u32> = std::iter::from_fn(|| front.next()).collect();
        assert_eq!(order, [0, 20, 10, 1, 2, 3]);
    }
}
