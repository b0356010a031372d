//! After warm-up, the scene takes an event without allocating, and a checkpoint costs about what it says.
#![cfg(not(target_arch = "wasm32"))]

use mqscope_core::Sim;
use mqscope_core::cases::{case, cases};
use mqscope_web::player::Player;
use mqscope_web::scene::Scene;
use std::alloc::{GlobalAlloc, Layout, System};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting calls and live bytes.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The counts are of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_warm_scene_allocates_nothing_and_knows_its_size() {
    let _alone = ALONE.lock();
    let scenario = case("seed-000").expect("the case").sides().swap_remove(1).1;
    let mut sim = Sim::new(&scenario).expect("the case can be built");
    sim.log_mut().set_on(true);
    let mut scene = Scene::new(Rc::new(sim.topology().clone()), sim.knobs(), 125_000);
    let (mut events, mut calls) = (0, 0);
    for round in 1..=60u64 {
        sim.run_until(round * 100_000);
        let before = CALLS.load(Ordering::Relaxed);
        for event in sim.log().events() {
            scene.apply(event);
        }
        if round > 40 {
            events += sim.log().events().len();
            calls += CALLS.load(Ordering::Relaxed) - before;
        }
        sim.log_mut().clear();
    }
    assert!(events > 50_000, "only {events} events after warm-up");
    assert_eq!(calls, 0, "in {events} events");

    let before = BYTES.load(Ordering::Relaxed);
    let copy = scene.clone();
    let real = BYTES.load(Ordering::Relaxed) - before;
    let said = scene.bytes();
    assert!(said.abs_diff(real) < real / 5, "a copy takes {real} bytes, bytes() says {said}");
    drop(copy);

    let before = BYTES.load(Ordering::Relaxed);
    let packed = scene.pack();
    let real = BYTES.load(Ordering::Relaxed) - before;
    let small = packed.bytes();
    assert!(small.abs_diff(real) < real / 5, "put away it takes {real} bytes, bytes() says {small}");
    assert!(small * 2 < said, "{small} bytes put away, {said} as a copy");
}

#[test]
fn a_run_that_was_explored_takes_no_more_than_27_mib_whatever_it_is() {
    let _alone = ALONE.lock();
    for name in ["seed-000", "seed-002", "seed-003", "one-core", "reader-among-writers"] {
        let scenario = case(name).expect("the case").sides().swap_remove(0).1;
        let before = BYTES.load(Ordering::Relaxed);
        let mut player = Player::new(scenario).expect("it can be played");
        let mut events = 0;
        while events < 1_000_000 && player.explore(50_000) {
            events += 50_000;
        }
        let real = BYTES.load(Ordering::Relaxed) - before;
        assert!(real < 27 << 20, "{name}: {real} bytes after {events} events");
    }
}

#[test]
fn what_a_simulation_says_that_a_copy_takes_is_about_what_it_takes() {
    let _alone = ALONE.lock();
    for case in cases() {
        let mut sim = Sim::new(&case.sides().swap_remove(0).1).expect("the case can be built");
        sim.run_events(100_000);
        let before = BYTES.load(Ordering::Relaxed);
        let copy = sim.clone();
        let (real, said) = (BYTES.load(Ordering::Relaxed) - before, sim.copy_bytes());
        // Too much is harmless.
        assert!(said * 2 > real, "{}: a copy takes {real} bytes, copy_bytes() says {said}", case.name);
        assert!(said < real * 4, "{}: a copy takes {real} bytes, copy_bytes() says {said}", case.name);
        drop(copy);
    }
}
