//! Painting on a 2D context, with as few calls as possible.

use super::{context, new_canvas};
use crate::draw::paint::{Align, Mark, Paint, Rect, Type};
use crate::draw::palette::{Palette, Rgb};
use crate::draw::svg::bent;
use std::collections::HashMap;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

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
    pub(super) fn new(context: CanvasRenderingContext2d, palette: Palette) -> Option<Self> {
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

    /// A canvas of this size in CSS pixels, cleared; `None` where the browser has no 2D context for it.
    pub fn cleared(
        canvas: &HtmlCanvasElement,
        (width, height): (f64, f64),
        ratio: f64,
        palette: Palette,
    ) -> Option<Self> {
        let mut paint = Self::new(context(canvas)?, palette)?;
        canvas.set_width((width * ratio).round() as u32);
        canvas.set_height((height * ratio).round() as u32);
        paint.set_ratio(ratio);
        paint.clear(width, height, palette.surface);
        Some(paint)
    }

    /// Draws the forms of all marks at their usual radius, unless that is done; others are scaled from it.
    pub(super) fn prepare_marks(&mut self, radius: f32) {
        if self.atlas.as_ref().is_none_or(|a| a.radius != radius) {
            self.atlas = Atlas::draw(self.palette, self.ratio, radius);
        }
    }

    pub(super) fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.atlas = None;
    }

    /// Resizing a canvas resets all that its context remembers.
    pub(super) fn set_ratio(&mut self, ratio: f64) {
        self.ratio = ratio;
        self.atlas = None;
        (self.fill_now, self.stroke_now, self.font_now, self.align_now) = (None, None, None, None);
        (self.alpha_now, self.width_now) = (1.0, 0.0);
        let _ = self.context.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0);
        self.context.set_text_baseline("middle");
        self.context.set_line_join("round");
        self.context.set_line_cap("round");
    }

    pub(super) fn clear(&mut self, width: f64, height: f64, ground: Rgb) {
        self.fill(Rect::new(0.0, 0.0, width as f32, height as f32), 0.0, ground, 1.0);
    }

    pub(super) fn copy(&mut self, from: &HtmlCanvasElement, width: f64, height: f64) {
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
