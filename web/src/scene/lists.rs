//! A slab of requests threaded through doubly linked lists, one list for each place.
//!
//! Every live request is in exactly one list, so a place knows its length and order at any time, and moving a
//! request is O(1) and allocates nothing once the slab has reached the largest number in flight.

use super::request::{NONE, Request};

/// Index of a request in the slab.
pub type Slot = u32;

/// One list: a place where requests stand in line.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Slot,
    tail: Slot,
    len: u32,
}

const EMPTY: List = List { head: NONE, tail: NONE, len: 0 };

/// Requests and the lists they stand in.
#[derive(Clone, Debug)]
pub struct Lists {
    slab: Vec<Request>,
    live: Vec<bool>,
    free: Vec<Slot>,
    lists: Vec<List>,
}

impl Lists {
    /// Empty lists, with room for `expected` requests.
    pub fn new(lists: usize, expected: usize) -> Self {
        Self {
            slab: Vec::with_capacity(expected),
            live: Vec::with_capacity(expected),
            free: Vec::with_capacity(expected),
            lists: vec![EMPTY; lists],
        }
    }

    /// Live requests.
    pub fn live_len(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// Slots in use or free: an upper bound for every slot.
    pub fn slots(&self) -> usize {
        self.slab.len()
    }

    /// The request in a slot, if the slot is in use.
    pub fn get(&self, slot: Slot) -> Option<&Request> {
        self.live.get(slot as usize).copied().unwrap_or(false).then(|| &self.slab[slot as usize])
    }

    /// The request in a slot in use.
    pub fn get_mut(&mut self, slot: Slot) -> &mut Request {
        debug_assert!(self.live[slot as usize], "slot {slot} is free");
        &mut self.slab[slot as usize]
    }

    /// Requests waiting in a list.
    pub fn list_len(&self, list: u32) -> u32 {
        self.lists[list as usize].len
    }

    /// The requests of a list, first in first.
    pub fn iter(&self, list: u32) -> impl Iterator<Item = (Slot, &Request)> {
        let mut at = self.lists[list as usize].head;
        std::iter::from_fn(move || {
            let request = self.slab.get(at as usize)?;
            let slot = at;
            at = request.next;
            Some((slot, request))
        })
    }

    /// All live requests in slot order.
    pub fn all(&self) -> impl Iterator<Item = (Slot, &Request)> {
        self.slab.iter().enumerate().filter(|(i, _)| self.live[*i]).map(|(i, r)| (i as Slot, r))
    }

    /// Stores a request at the tail of a list.
    pub fn insert(&mut self, mut request: Request, list: u32) -> Slot {
        (request.list, request.prev, request.next) = (NONE, NONE, NONE);
        let slot = if let Some(slot) = self.free.pop() {
            self.slab[slot as usize] = request;
            self.live[slot as usize] = true;
            slot
        } else {
            self.slab.push(request);
            self.live.push(true);
            (self.slab.len() - 1) as Slot
        };
        self.link(slot, list);
        slot
    }

    /// Moves a request to the tail of a list.
    pub fn move_to(&mut self, slot: Slot, list: u32) {
        self.unlink(slot);
        self.link(slot, list);
    }

    /// Takes a request out; its slot is free afterwards.
    pub fn remove(&mut self, slot: Slot) -> Request {
        self.unlink(slot);
        self.live[slot as usize] = false;
        self.free.push(slot);
        self.slab[slot as usize].clone()
    }

    /// The lists without their requests.
    pub(super) fn hollow(&self) -> Self {
        let Self { live, free, lists, .. } = self;
        Self { slab: Vec::new(), live: live.clone(), free: free.clone(), lists: lists.clone() }
    }

    /// Hollow lists with requests again: those of [`Lists::all`], asked for one by one.
    pub(super) fn filled(&self, mut next: impl FnMut() -> Request) -> Self {
        let mut filled = self.hollow();
        let hole = Request::hole();
        filled.slab = self.live.iter().map(|live| if *live { next() } else { hole.clone() }).collect();
        filled
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.slab.len() * size_of::<Request>() + self.live.len() * 5 + self.lists.len() * size_of::<List>()
    }

    fn link(&mut self, slot: Slot, list: u32) {
        let tail = self.lists[list as usize].tail;
        let request = &mut self.slab[slot as usize];
        (request.list, request.prev, request.next) = (list, tail, NONE);
        if tail == NONE {
            self.lists[list as usize].head = slot;
        } else {
            self.slab[tail as usize].next = slot;
        }
        let list = &mut self.lists[list as usize];
        list.tail = slot;
        list.len += 1;
    }

    fn unlink(&mut self, slot: Slot) {
        let (list, prev, next) = {
            let r = &self.slab[slot as usize];
            (r.list, r.prev, r.next)
        };
        if list == NONE {
            return;
        }
        if prev == NONE {
            self.lists[list as usize].head = next;
        } else {
            self.slab[prev as usize].next = next;
        }
        if next == NONE {
            self.lists[list as usize].tail = prev;
        } else {
            self.slab[next as usize].prev = prev;
        }
        self.lists[list as usize].len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::event::{Extent, Op};

    fn request(bio: u32) -> Request {
        Request::new(bio, 0, 0, 0, Extent::new(Op::Read, 0, 8), 0)
    }

    fn order(lists: &Lists, list: u32) -> Vec<u32> {
        lists.iter(list).map(|(_, r)| r.bio).collect()
    }

    #[test]
    fn lists_keep_order_when_requests_leave_from_head_middle_and_tail() {
        let mut lists = Lists::new(2, 4);
        let slots: Vec<_> = (1..=5).map(|bio| lists.insert(request(bio), 0)).collect();
        lists.move_to(slots[2], 1);
        lists.move_to(slots[0], 1);
        lists.move_to(slots[4], 1);
        assert_eq!(order(&lists, 0), [2, 4]);
        assert_eq!(order(&lists, 1), [3, 1, 5]);
        assert_eq!((lists.list_len(0), lists.list_len(1), lists.live_len()), (2, 3, 5));
    }

    #[test]
    fn a_freed_slot_is_used_again_and_the_slab_does_not_grow() {
        let mut lists = Lists::new(1, 1);
        for bio in 0..100 {
            let slot = lists.insert(request(bio), 0);
            assert_eq!(slot, 0);
            assert_eq!(lists.remove(slot).bio, bio);
            assert!(lists.get(slot).is_none());
        }
        assert_eq!((lists.slots(), lists.live_len(), lists.list_len(0)), (1, 0, 0));
    }
}
