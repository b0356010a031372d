//! What the parts of a frame take, for whoever measures the page (`tests/browser/bench.mjs`). Nothing is measured, and
//! nothing costs anything, until it is asked for.

use super::frames::wall_ms;
use crate::player::Player;
use crate::scene::Scene;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    /// Of each frame since it was asked for: simulating, scene, drawing, ms.
    static FRAMES: RefCell<Option<Vec<f64>>> = const { RefCell::new(None) };
}

/// What the parts of each frame took since the last call, ms, three numbers a frame: simulating, applying the log to the
/// scene, and drawing. Measures on if it is `on`.
#[wasm_bindgen(js_name = frameParts)]
pub fn frame_parts(on: bool) -> Vec<f64> {
    FRAMES.replace(on.then(Vec::new)).unwrap_or_default()
}

/// A frame that is measured.
pub(super) struct Probe {
    /// As it was before the frame.
    scene: Scene,
    position: u64,
    begin_ms: f64,
    ticked_ms: f64,
}

impl Probe {
    /// Begins a frame, if it is to be measured.
    pub(super) fn begin(player: &Player) -> Option<Box<Self>> {
        if FRAMES.with_borrow(Option::is_none) {
            return None;
        }
        let (scene, position) = (player.scene().clone(), player.position());
        Some(Box::new(Self { scene, position, begin_ms: wall_ms(), ticked_ms: 0.0 }))
    }

    /// The player has its time; drawing begins.
    pub(super) fn ticked(&mut self) {
        self.ticked_ms = wall_ms();
    }

    /// The frame is drawn. A look at the clock between two events would cost more than they do, so what the scene takes is
    /// found by applying the same events once more.
    pub(super) fn end(mut self: Box<Self>, player: &Player) {
        let drawn_ms = wall_ms();
        let all = player.position().saturating_sub(self.position) as usize;
        let kept = all.min(player.recent_events().len());
        let begin_ms = wall_ms();
        player.recent_events().rev().take(kept).rev().for_each(|event| self.scene.apply(event));
        let scene = (wall_ms() - begin_ms) * all as f64 / kept.max(1) as f64;
        let ticked = self.ticked_ms - self.begin_ms;
        let parts = [(ticked - scene).max(0.0), scene, drawn_ms - self.ticked_ms];
        FRAMES.with_borrow_mut(|frames| frames.iter_mut().for_each(|frames| frames.extend(parts)));
    }
}
