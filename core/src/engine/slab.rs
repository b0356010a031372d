//! A pool of slots: requests and bios live here, so that nothing is allocated per event after warm-up.

/// Slots with a free list; the slot freed last is used first.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
    /// Slots in use.
    live: u32,
}

impl<T: Clone + Default> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), live: 0 }
    }

    /// With `n` free slots, each made by `make`; the first is used first.
    pub(crate) fn with_free(n: u32, make: impl Fn() -> T) -> Self {
        Self { slots: (0..n).map(|_| make()).collect(), free: (0..n).rev().collect(), live: 0 }
    }

    pub(crate) fn add(&mut self, value: T) -> u32 {
        self.live += 1;
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => {
                self.slots.push(value);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// A slot as its last user left it (pooled buffers keep their memory), or a new one.
    pub(crate) fn reuse(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.live += 1;
                slot
            }
            None => self.add(T::default()),
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.live -= 1;
        self.free.push(slot);
    }

    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The values in use, in order of slots; `free` is room to work in, then tells of each slot whether it is free.
    pub(crate) fn live_slots(&self, free: &mut Vec<bool>) -> impl Iterator<Item = &T> {
        free.clear();
        free.resize(self.slots.len(), false);
        for &slot in &self.free {
            free[slot as usize] = true;
        }
        self.slots.iter().zip(&*free).filter_map(|(value, &free)| (!free).then_some(value))
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}
