//! After warm-up, simulating allocates nothing.
#![cfg(not(target_arch = "wasm32"))]

use mqscope_core::Sim;
use mqscope_tests::speed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_simulation_allocates_nothing() {
    const WARM_NS: u64 = 8_000_000;
    let mut sim = Sim::new(&speed::seed_000()).expect("the scenario fits");
    sim.run_until(WARM_NS);
    let (allocations, events) = (ALLOCATIONS.load(Ordering::Relaxed), sim.events());
    sim.run();
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    let events = sim.events() - events;
    assert!(events > 100_000, "only {events} events after warm-up");
    assert_eq!(allocations, 0, "in {events} events");
}
