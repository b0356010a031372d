//! The stage as SVG text: for a still in a document, for printing, and for looking at it without a browser.

use super::paint::{Align, Mark, Paint, Rect, Type};
use super::palette::{Palette, Rgb};
use std::fmt::Write;

/// Collects SVG elements.
#[derive(Clone, Debug)]
pub struct Svg {
    body: String,
    palette: Palette,
}

impl Svg {
    /// An empty picture; marks take their colours from `palette`.
    pub fn new(palette: Palette) -> Self {
        Self { body: String::with_capacity(64 << 10), palette }
    }

    /// The finished document, `title` being its accessible name.
    pub fn finish(&self, width: f32, height: f32, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\"><title>{}</title><rect width=\"100%\" height=\"100%\" fill=\"{}\"/>{}</svg>",
            escape(title),
            self.palette.surface.css(1.0),
            self.body
        )
    }

    fn add(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(args);
    }

    fn points(points: &[(f32, f32)]) -> String {
        points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Paint for Svg {
    fn fill(&mut self, r: Rect, radius: f32, colour: Rgb, alpha: f32) {
        self.add(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\" fill=\"{}\" opacity=\"{alpha:.2}\"/>",
            r.x, r.y, r.w.max(0.0), r.h.max(0.0), colour.css(1.0)
        ));
    }

    fn outline(&mut self, r: Rect, radius: f32, colour: Rgb, alpha: f32, width: f32) {
        self.add(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\" fill=\"none\" stroke=\"{}\" \
             stroke-width=\"{width}\" opacity=\"{alpha:.2}\"/>",
            r.x, r.y, r.w.max(0.0), r.h.max(0.0), colour.css(1.0)
        ));
    }

    fn line(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32) {
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" opacity=\"{alpha:.2}\"/>",
            Self::points(points),
            colour.css(1.0)
        ));
    }

    fn dashes(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32) {
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-dasharray=\"3 4\" \
             opacity=\"{alpha:.2}\"/>",
            Self::points(points),
            colour.css(1.0)
        ));
    }

    fn curve(&mut self, from: (f32, f32), to: (f32, f32), bend: f32, colour: Rgb, alpha: f32, width: f32) {
        let (cx, cy) = bent(from, to, bend);
        self.add(format_args!(
            "<path d=\"M{:.1} {:.1}Q{cx:.1} {cy:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" \
             opacity=\"{alpha:.2}\"/>",
            from.0, from.1, to.0, to.1, colour.css(1.0)
        ));
    }

    fn disc(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32) {
        self.add(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{}\" opacity=\"{alpha:.2}\"/>",
            at.0,
            at.1,
            colour.css(1.0)
        ));
    }

    fn ring(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32, width: f32) {
        self.add(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" \
             opacity=\"{alpha:.2}\"/>",
            at.0, at.1, colour.css(1.0)
        ));
    }

    fn text(&mut self, text: &str, at: (f32, f32), align: Align, face: Type, colour: Rgb, alpha: f32) {
        let anchor = match align {
            Align::Left => "start",
            Align::Centre => "middle",
            Align::Right => "end",
        };
        let family =
            if face.mono { "ui-monospace,DejaVu Sans Mono,monospace" } else { "system-ui,sans-serif" };
        let weight = if face.strong { "600" } else { "400" };
        self.add(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{:.1}\" font-family=\"{family}\" font-weight=\"{weight}\" \
             text-anchor=\"{anchor}\" dominant-baseline=\"central\" fill=\"{}\" opacity=\"{alpha:.2}\">{}</text>",
            at.0,
            at.1,
            face.size,
            colour.css(1.0),
            escape(text)
        ));
    }

    fn mark(&mut self, mark: Mark, at: (f32, f32), radius: f32, alpha: f32) {
        let colour = self.palette.tone(mark.tone);
        let r = radius * mark.scale();
        let square = Rect::new(at.0 - r * 0.9, at.1 - r * 0.9, r * 1.8, r * 1.8);
        match (mark.square, mark.hatched) {
            (true, false) => self.fill(square, 1.0, colour, alpha),
            (false, false) => self.disc(at, r, colour, alpha),
            (true, true) => self.outline(square, 1.0, colour, alpha, r * 0.35),
            (false, true) => self.ring(at, r * 0.82, colour, alpha, r * 0.35),
        }
        if mark.hatched {
            self.line(
                &[(at.0 - r * 0.5, at.1 + r * 0.5), (at.0 + r * 0.5, at.1 - r * 0.5)],
                colour,
                alpha,
                r * 0.35,
            );
        }
        if mark.notched {
            let surface = self.palette.surface;
            let cut = Rect::new(at.0 - r * 0.25, at.1 - r * 1.1, r * 0.5, r * 0.9);
            self.fill(cut, 0.0, surface, 1.0);
        }
    }
}

/// Control point of a curve bent to the left of its way.
pub(super) fn bent(from: (f32, f32), to: (f32, f32), bend: f32) -> (f32, f32) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-3);
    let (mx, my) = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
    (mx + dy / length * 2.0 * bend, my - dx / length * 2.0 * bend)
}
