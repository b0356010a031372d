//! The stage on an HTML canvas: the only part of the picture that knows a browser.
//!
//! Two canvases: one in the page, redrawn each frame, and one off it that keeps what stands still. A third holds the
//! forms of all marks, drawn once for each theme and pixel ratio, so that a request costs one `drawImage`. Sizes of
//! text are never asked for.

use super::layout::{Layout, LayoutBox};
use super::paint::{Align, Mark, Paint, Rect, Type};
use super::palette::{Palette, Rgb};
use super::stage::{Direction, Hit, Stage};
use super::svg::bent;
use crate::player::Player;
use mqscope_core::event::RqId;
use mqscope_core::topology::Topology;
use std::collections::HashMap;
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
}

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
                fresh
            }
        };
        stage.select(selected);
        let more = stage.update(player.scene(), dt_ms, player.jumps());
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

/// A canvas to paint on.
pub struct CanvasPaint {
    context: CanvasRenderingContext2d,
    palette: Palette,
    ratio: f64,
    atlas: Option<Atlas>,
    fonts: HashMap<(u32, bool, bool), String>,
    fill_now: Option<Rgb>,
    stroke_now: Option<Rgb>,
    font_now: Option<(u32, bool, bool)>,
    align_now: Option<Align>,
    alpha_now: f32,
    width_now: f32,
}

impl CanvasPaint {
    fn new(context: CanvasRenderingContext2d, palette: Palette) -> Option<Self> {
        Some(Self {
            context,
            palette,
            ratio: 1.0,
            atlas: None,
            fonts: HashMap::new(),
            fill_now: None,
            stroke_now: None,
            font_now: None,
            align_now: None,
            alpha_now: 1.0,
            width_now: 0.0,
        })
    }

    /// Draws the forms of all marks at their usual radius, unless that is done; others are scaled from it.
    fn prepare_marks(&mut self, radius: f32) {
        if self.atlas.as_ref().is_none_or(|a| a.radius != radius) {
            self.atlas = Atlas::draw(self.palette, self.ratio, radius);
        }
    }

    fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.atlas = None;
    }

    /// Resizing a canvas resets all that its context remembers.
    fn set_ratio(&mut self, ratio: f64) {
        self.ratio = ratio;
        self.atlas = None;
        (self.fill_now, self.stroke_now, self.font_now, self.align_now) = (None, None, None, None);
        (self.alpha_now, self.width_now) = (1.0, 0.0);
        let _ = self.context.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0);
        self.context.set_text_baseline("middle");
        self.context.set_line_join("round");
        self.context.set_line_cap("round");
    }

    fn clear(&mut self, width: f64, height: f64, ground: Rgb) {
        self.fill(Rect::new(0.0, 0.0, width as f32, height as f32), 0.0, ground, 1.0);
    }

    fn copy(&mut self, from: &HtmlCanvasElement, width: f64, height: f64) {
        self.set_alpha(1.0);
        let _ = self.context.draw_image_with_html_canvas_element_and_dw_and_dh(from, 0.0, 0.0, width, height);
    }

    fn set_alpha(&mut self, alpha: f32) {
        let alpha = alpha.clamp(0.0, 1.0);
        if alpha != self.alpha_now {
            self.alpha_now = alpha;
            self.context.set_global_alpha(alpha.into());
        }
    }

    fn set_fill(&mut self, colour: Rgb, alpha: f32) {
        self.set_alpha(alpha);
        if self.fill_now != Some(colour) {
            self.fill_now = Some(colour);
            self.context.set_fill_style_str(&colour.css(1.0));
        }
    }

    fn set_stroke(&mut self, colour: Rgb, alpha: f32, width: f32) {
        self.set_alpha(alpha);
        if self.stroke_now != Some(colour) {
            self.stroke_now = Some(colour);
            self.context.set_stroke_style_str(&colour.css(1.0));
        }
        if self.width_now != width {
            self.width_now = width;
            self.context.set_line_width(width.into());
        }
    }

    fn trace(&self, points: &[(f32, f32)]) {
        self.context.begin_path();
        for (i, &(x, y)) in points.iter().enumerate() {
            if i == 0 {
                self.context.move_to(x.into(), y.into());
            } else {
                self.context.line_to(x.into(), y.into());
            }
        }
    }

    fn trace_rect(&self, r: Rect, radius: f32) {
        let radius = radius.clamp(0.0, r.w.min(r.h) / 2.0);
        self.context.begin_path();
        let _ = self.context.round_rect_with_f64(
            r.x.into(),
            r.y.into(),
            r.w.max(0.0).into(),
            r.h.max(0.0).into(),
            radius.into(),
        );
    }

    fn circle(&self, at: (f32, f32), radius: f32) {
        self.context.begin_path();
        let _ =
            self.context.arc(at.0.into(), at.1.into(), radius.max(0.0).into(), 0.0, std::f64::consts::TAU);
    }
}

impl Paint for CanvasPaint {
    fn fill(&mut self, r: Rect, radius: f32, colour: Rgb, alpha: f32) {
        self.set_fill(colour, alpha);
        if radius <= 0.5 {
            self.context.fill_rect(r.x.into(), r.y.into(), r.w.max(0.0).into(), r.h.max(0.0).into());
        } else {
            self.trace_rect(r, radius);
            self.context.fill();
        }
    }

    fn outline(&mut self, r: Rect, radius: f32, colour: Rgb, alpha: f32, width: f32) {
        self.set_stroke(colour, alpha, width);
        self.trace_rect(r, radius);
        self.context.stroke();
    }

    fn line(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32) {
        self.set_stroke(colour, alpha, width);
        self.trace(points);
        self.context.stroke();
    }

    fn dashes(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32) {
        let dash = js_sys::Array::of2(&3.0.into(), &4.0.into());
        let _ = self.context.set_line_dash(&dash);
        self.line(points, colour, alpha, width);
        let _ = self.context.set_line_dash(&js_sys::Array::new());
    }

    fn curve(&mut self, from: (f32, f32), to: (f32, f32), bend: f32, colour: Rgb, alpha: f32, width: f32) {
        self.set_stroke(colour, alpha, width);
        let (cx, cy) = bent(from, to, bend);
        self.context.begin_path();
        self.context.move_to(from.0.into(), from.1.into());
        self.context.quadratic_curve_to(cx.into(), cy.into(), to.0.into(), to.1.into());
        self.context.stroke();
    }

    fn disc(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32) {
        self.set_fill(colour, alpha);
        self.circle(at, radius);
        self.context.fill();
    }

    fn ring(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32, width: f32) {
        self.set_stroke(colour, alpha, width);
        self.circle(at, radius);
        self.context.stroke();
    }

    fn text(&mut self, text: &str, at: (f32, f32), align: Align, face: Type, colour: Rgb, alpha: f32) {
        self.set_fill(colour, alpha);
        let key = ((face.size * 8.0) as u32, face.mono, face.strong);
        if self.font_now != Some(key) {
            self.font_now = Some(key);
            let font = self.fonts.entry(key).or_insert_with(|| {
                let family = if face.mono {
                    "ui-monospace, 'SF Mono', 'Cascadia Code', 'Roboto Mono', 'DejaVu Sans Mono', monospace"
                } else {
                    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
                };
                let weight = if face.strong { 600 } else { 400 };
                format!("{weight} {:.2}px {family}", face.size)
            });
            self.context.set_font(font);
        }
        if self.align_now != Some(align) {
            self.align_now = Some(align);
            self.context.set_text_align(match align {
                Align::Left => "left",
                Align::Centre => "center",
                Align::Right => "right",
            });
        }
        // Half a pixel lower looks centred: most of this text has no descenders.
        let _ = self.context.fill_text(text, at.0.into(), f64::from(at.1) + 0.5);
    }

    fn mark(&mut self, mark: Mark, at: (f32, f32), radius: f32, alpha: f32) {
        self.set_alpha(alpha);
        let Some(atlas) = &self.atlas else { return };
        let pixels = atlas.cell;
        let side = atlas.cell / self.ratio * f64::from(radius / atlas.radius);
        let (x, y) = (f64::from(at.0) - side / 2.0, f64::from(at.1) - side / 2.0);
        let from = mark.index() as f64 * pixels;
        let _ = self.context.draw_image_with_html_canvas_element_and_sw_and_sh_and_dx_and_dy_and_dw_and_dh(
            &atlas.canvas,
            from,
            0.0,
            pixels,
            pixels,
            x,
            y,
            side,
            side,
        );
    }
}

/// All marks side by side.
struct Atlas {
    canvas: HtmlCanvasElement,
    /// Side of a cell, device pixels.
    cell: f64,
    radius: f32,
}

impl Atlas {
    fn draw(palette: Palette, ratio: f64, radius: f32) -> Option<Self> {
        let canvas = new_canvas()?;
        let cell = (f64::from(radius) * 1.4 * 2.0 * ratio).ceil() + 4.0;
        canvas.set_width((cell * Mark::COUNT as f64) as u32);
        canvas.set_height(cell as u32);
        let context = context(&canvas)?;
        let r = f64::from(radius) * ratio;
        for index in 0..Mark::COUNT {
            let middle = ((index as f64 + 0.5) * cell, cell / 2.0);
            draw_mark(&context, Mark::of_index(index), &palette, middle, r, ratio);
        }
        Some(Self { canvas, cell, radius })
    }
}

fn draw_mark(c: &CanvasRenderingContext2d, mark: Mark, p: &Palette, at: (f64, f64), radius: f64, ratio: f64) {
    let colour = p.tone(mark.tone);
    let r = radius * f64::from(mark.scale());
    let outline = |r: f64| {
        c.begin_path();
        if mark.square {
            let side = r * 0.9;
            let _ = c.round_rect_with_f64(at.0 - side, at.1 - side, side * 2.0, side * 2.0, ratio);
        } else {
            let _ = c.arc(at.0, at.1, r, 0.0, std::f64::consts::TAU);
        }
    };
    c.save();
    c.set_fill_style_str(&colour.css(1.0));
    c.set_stroke_style_str(&colour.css(1.0));
    if mark.hatched {
        // Open, with strokes across: it waits.
        outline(r);
        c.set_fill_style_str(&p.surface.css(1.0));
        c.fill();
        c.save();
        outline(r);
        c.clip();
        c.set_line_width(r * 0.3);
        c.begin_path();
        for i in -2..=2 {
            let off = f64::from(i) * r * 0.75;
            c.move_to(at.0 + off - r, at.1 + r);
            c.line_to(at.0 + off + r, at.1 - r);
        }
        c.stroke();
        c.restore();
        outline(r - r * 0.14);
        c.set_line_width(r * 0.28);
        c.stroke();
    } else {
        // A thin rim of the ground keeps neighbours apart where they overlap.
        outline(r + 0.75 * ratio);
        c.set_fill_style_str(&p.surface.css(0.9));
        c.fill();
        outline(r);
        c.set_fill_style_str(&colour.css(1.0));
        c.fill();
    }
    if mark.notched {
        c.set_fill_style_str(&p.surface.css(1.0));
        c.begin_path();
        c.move_to(at.0 - r * 0.55, at.1 - r * 1.15);
        c.line_to(at.0 + r * 0.55, at.1 - r * 1.15);
        c.line_to(at.0, at.1 + r * 0.05);
        c.close_path();
        c.fill();
    }
    c.restore();
}
