//! The stage on an HTML canvas: the only part of the picture that knows a browser.
//!
//! Two canvases: one in the page, redrawn each frame, and one off it that keeps what stands still. A third holds the
//! forms of all marks, drawn once for each theme and pixel ratio, so that a request costs one `drawImage`. Sizes of
//! text are never asked for.

mod paint;

pub use paint::CanvasPaint;

use super::layout::{Layout, LayoutBox};
use super::palette::Palette;
use super::stage::{Direction, Hit, Stage};
use crate::player::Player;
use mqscope_core::event::RqId;
use mqscope_core::topology::Topology;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

/// Canvases wider or higher than this (in device pixels) are drawn coarser, not larger.
const PIXELS_MAX: f64 = 8_192.0;

/// A stage and its canvases.
pub struct StageCanvas {
    canvas: HtmlCanvasElement,
    front: CanvasPaint,
    ground: CanvasPaint,
    ground_canvas: HtmlCanvasElement,
    stage: Option<Stage>,
    palette: Palette,
    size: (f64, f64, f64),
    painted: Option<u32>,
    calm: bool,
    topology: Option<Rc<Topology>>,
    runs: usize,
    /// When the schedulers were last asked what is next: (event, jumps, wall ms since).
    asked: (u64, u64, f64),
}

/// Time between two questions to the schedulers while it plays, ms.
const ASK_MS: f64 = 150.0;

fn context(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten()?.dyn_into().ok()
}

fn new_canvas() -> Option<HtmlCanvasElement> {
    let document = web_sys::window()?.document()?;
    document.create_element("canvas").ok()?.dyn_into().ok()
}

impl StageCanvas {
    /// Takes over a canvas; `None` where the browser has no 2D context for it.
    pub fn new(canvas: HtmlCanvasElement, palette: Palette) -> Option<Self> {
        let ground_canvas = new_canvas()?;
        Some(Self {
            front: CanvasPaint::new(context(&canvas)?, palette)?,
            ground: CanvasPaint::new(context(&ground_canvas)?, palette)?,
            canvas,
            ground_canvas,
            stage: None,
            palette,
            size: (0.0, 0.0, 1.0),
            painted: None,
            calm: false,
            topology: None,
            runs: 0,
            asked: (u64::MAX, 0, 0.0),
        })
    }

    /// Size in CSS pixels, and the device's pixels for one of them.
    pub fn resize(&mut self, width: f64, height: f64, ratio: f64) {
        let ratio = ratio.clamp(0.5, 4.0).min(PIXELS_MAX / width.max(height).max(1.0));
        if self.size == (width, height, ratio) {
            return;
        }
        self.size = (width, height, ratio);
        for canvas in [&self.canvas, &self.ground_canvas] {
            canvas.set_width((width * ratio).round() as u32);
            canvas.set_height((height * ratio).round() as u32);
        }
        for paint in [&mut self.front, &mut self.ground] {
            paint.set_ratio(ratio);
        }
        if let Some(stage) = &mut self.stage {
            stage.resize(width as f32, height as f32);
        }
        self.painted = None;
    }

    /// Other colours.
    pub fn set_palette(&mut self, palette: Palette) {
        if palette != self.palette {
            self.palette = palette;
            self.front.set_palette(palette);
            self.ground.set_palette(palette);
            self.painted = None;
        }
    }

    /// Reduced motion: everything is drawn where it belongs.
    pub fn set_calm(&mut self, on: bool) {
        self.calm = on;
        if let Some(stage) = &mut self.stage {
            stage.set_calm(on);
        }
    }

    /// Draws one frame, `dt_ms` of wall time after the last. True if it needs another one although the player stands.
    pub fn frame(&mut self, player: &Player, selected: Option<RqId>, dt_ms: f64) -> bool {
        let (width, height, _) = self.size;
        if width < 1.0 || height < 1.0 {
            return false;
        }
        // Another run has other fixed things, and so another map.
        let topology = player.topology_rc();
        let stage = match &mut self.stage {
            Some(stage) if self.topology.as_ref().is_some_and(|t| Rc::ptr_eq(t, &topology)) => stage,
            stage => {
                self.runs += 1;
                self.painted = None;
                let fresh = stage.insert(Stage::new(&topology, width as f32, height as f32));
                fresh.set_calm(self.calm);
                self.topology = Some(topology);
                self.asked.0 = u64::MAX;
                fresh
            }
        };
        stage.select(selected);
        let now = (player.position(), player.jumps());
        self.asked.2 += dt_ms;
        // Asking means trying a dispatch on a copy: at once after a step or jump, a few times a second otherwise.
        let jumped = now.1 != self.asked.1;
        let due = (!player.playing() && player.at_rest()) || self.asked.2 >= ASK_MS;
        if jumped || (now.0 != self.asked.0 && due) {
            self.asked = (now.0, now.1, 0.0);
            let queues = 0..player.topology().queues.len() as u16;
            stage.announce(queues.map(|q| player.scheduler_view(q).map_or(0, |v| v.next)).collect());
        }
        let disks = 0..player.topology().queues.len() as u16;
        stage.look_into(disks.map(|q| player.device_view(q)).collect());
        let more = stage.update(player.scene(), dt_ms, player.jumps(), player.playing());
        if self.painted != Some(stage.version()) {
            self.painted = Some(stage.version());
            self.ground.clear(width, height, self.palette.surface);
            stage.paint_ground(player.topology(), &self.palette, &mut self.ground);
        }
        self.front.prepare_marks(stage.layout().dot);
        self.front.copy(&self.ground_canvas, width, height);
        stage.paint_live(player.scene(), |cpu| player.function(cpu), &self.palette, &mut self.front);
        more
    }

    /// The map, once the first frame was drawn.
    pub fn layout(&self) -> Option<&Layout> {
        self.stage.as_ref().map(Stage::layout)
    }

    /// Changes whenever [`StageCanvas::boxes`] does.
    pub fn version(&self) -> (usize, u32) {
        (self.runs, self.stage.as_ref().map_or(0, Stage::version))
    }

    /// Boxes for the page to make focusable.
    pub fn boxes(&self, player: &Player) -> Vec<LayoutBox> {
        self.stage.as_ref().map(|s| s.boxes(player.topology())).unwrap_or_default()
    }

    /// What is at this point, CSS pixels from the canvas's corner.
    pub fn hit(&self, player: &Player, x: f64, y: f64) -> Option<Hit> {
        self.stage.as_ref().and_then(|s| s.hit(player.scene(), x as f32, y as f32))
    }

    /// The request that comes next from the keyboard.
    pub fn next_request(&self, player: &Player, current: Option<RqId>, direction: Direction) -> Option<RqId> {
        self.stage.as_ref().and_then(|s| s.next_request(player.scene(), current, direction))
    }
}
