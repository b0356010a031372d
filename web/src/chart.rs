//! Line charts by plotters on a canvas, sharp at any pixel ratio.
//!
//! plotters counts in pixels of the canvas, so the canvas is made as large as the screen's pixels, and every length
//! and font grows with it. Charts change a few times a second at most; the playhead is an element above them.

use crate::draw::palette::{Palette, Rgb, Tone};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters_canvas::CanvasBackend;
use web_sys::HtmlCanvasElement;

/// Room left of the plot for its labels, rem.
pub const LEFT: f64 = 4.5;
/// Room right of the plot, rem.
pub const RIGHT: f64 = 1.5;
const TOP: f64 = 0.625;
const BOTTOM: f64 = 1.625;
/// Room for a label of the x axis with its distance to the next, rem.
const X_LABEL: f64 = 4.5;
/// Size of labels, rem.
const TEXT: f64 = 0.75;

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Points in order of x.
    pub points: Vec<(f64, f64)>,
    /// Drawn broken, so that it differs by more than its colour.
    pub broken: bool,
}

/// How the y axis goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0, in equal steps.
    Linear,
    /// In decades.
    Log,
}

/// Pixels of the screen.
#[derive(Clone, Copy, Debug)]
pub struct Pixels {
    /// Of the screen in one of CSS.
    pub ratio: f64,
    /// Of CSS in one rem: labels grow with the page's text.
    pub rem: f64,
}

/// A chart.
#[derive(Clone, Copy)]
pub struct Chart<'a> {
    /// First and last x.
    pub x: (f64, f64),
    /// Labels on the x axis at most.
    pub x_labels: usize,
    /// Says an x.
    pub say_x: &'a dyn Fn(f64) -> String,
    /// Says a y.
    pub say_y: &'a dyn Fn(f64) -> String,
    /// The y axis.
    pub scale: Scale,
    /// At most two lines.
    pub lines: &'a [Line],
}

/// The colours of the two lines.
pub fn colours(palette: &Palette) -> [Rgb; 2] {
    [palette.tone(Tone::Submit), palette.tone(Tone::Queued)]
}

fn rgb(c: Rgb) -> RGBColor {
    RGBColor(c.0, c.1, c.2)
}

/// Steps of 1, 2 and 5 in each decade from below `low` to above `high`.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let all = (first..first + 12).flat_map(|decade| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(decade)));
    let all: Vec<f64> = all.collect();
    let from = all.iter().rposition(|s| *s <= low).unwrap_or(0);
    let to = all.iter().position(|s| *s >= high).unwrap_or(all.len() - 1);
    all[from..=to.max(from + 1).min(all.len() - 1)].to_vec()
}

/// Lowest and highest y, on steps that can be labelled; no point of a line is left out.
pub fn y_range(lines: &[Line], scale: Scale) -> (f64, f64) {
    let values = || lines.iter().flat_map(|l| &l.points).map(|p| p.1).filter(|y| y.is_finite());
    let high = values().fold(0.0, f64::max);
    match scale {
        Scale::Linear => (0.0, if high > 0.0 { high * 1.1 } else { 1.0 }),
        Scale::Log => {
            let low = values().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
            match low.is_finite() {
                true => {
                    let steps = steps(low, high);
                    (steps[0], steps[steps.len() - 1])
                }
                false => (1.0, 10.0),
            }
        }
    }
}

impl Chart<'_> {
    /// Draws the chart on a canvas of this size in CSS pixels. An error of the canvas leaves it empty; the table below
    /// has the numbers.
    pub fn draw(
        &self,
        canvas: HtmlCanvasElement,
        (width, height): (f64, f64),
        scale: Pixels,
        palette: &Palette,
    ) {
        let ratio = scale.ratio;
        if width < 120.0 || height < 80.0 {
            return;
        }
        // Setting the size also clears the canvas.
        canvas.set_width((width * ratio).round() as u32);
        canvas.set_height((height * ratio).round() as u32);
        let Some(backend) = CanvasBackend::with_canvas_object(canvas) else { return };
        let area = backend.into_drawing_area();
        let y = y_range(self.lines, self.scale);
        let drawn = match self.scale {
            Scale::Linear => self.draw_on(&area, scale, palette, y.0..y.1, 5),
            Scale::Log => {
                let mut labels = steps(y.0, y.1);
                if labels.len() > 8 {
                    labels.retain(|s| s.log10().fract().abs() < 1e-9);
                }
                self.draw_on(&area, scale, palette, (y.0..y.1).log_scale().with_key_points(labels), 12)
            }
        };
        if let Err(error) = drawn {
            web_sys::console::warn_1(&format!("a chart could not be drawn: {error}").into());
        }
    }

    fn draw_on<Y>(
        &self,
        area: &DrawingArea<CanvasBackend, Shift>,
        scale: Pixels,
        palette: &Palette,
        y: Y,
        y_labels: usize,
    ) -> Result<(), String>
    where
        Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let px = |css: f64| (css * scale.ratio).round().max(1.0) as u32;
        let rem = |rem: f64| px(rem * scale.rem);
        let words = |e: DrawingAreaErrorKind<_>| format!("{e:?}");
        let mut chart = ChartBuilder::on(area)
            .margin_top(rem(TOP))
            .margin_right(rem(RIGHT))
            .x_label_area_size(rem(BOTTOM))
            .y_label_area_size(rem(LEFT))
            .build_cartesian_2d(self.x.0..self.x.1, y)
            .map_err(words)?;
        let text =
            ("system-ui, sans-serif", TEXT * scale.rem * scale.ratio).into_font().color(&rgb(palette.ink_3));
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(rgb(palette.line).stroke_width(px(1.0)))
            .axis_style(rgb(palette.edge).stroke_width(px(1.0)))
            .set_all_tick_mark_size(px(4.0))
            .label_style(text)
            .x_labels(self.x_labels.min(labels_that_fit(area.dim_in_pixel().0, rem(X_LABEL))))
            .y_labels(y_labels)
            .x_label_formatter(&|x| (self.say_x)(*x))
            .y_label_formatter(&|y| (self.say_y)(*y))
            .draw()
            .map_err(words)?;
        let least = if self.scale == Scale::Log { f64::MIN_POSITIVE } else { 0.0 };
        for (line, colour) in self.lines.iter().zip(colours(palette)) {
            let style = rgb(colour).stroke_width(rem(0.125));
            let points = line.points.iter().copied().filter(|p| p.1.is_finite() && p.1 >= least);
            if line.broken {
                chart
                    .draw_series(DashedLineSeries::new(points, rem(0.375), rem(0.25), style))
                    .map_err(words)?;
            } else {
                chart.draw_series(LineSeries::new(points, style)).map_err(words)?;
            }
        }
        Ok(())
    }
}

/// How many labels of this width stand beside each other without touching; two at least.
fn labels_that_fit(width: u32, label: u32) -> usize {
    (width / label.max(1)).max(2) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_chart_has_fewer_labels() {
        assert_eq!((labels_that_fit(290, 72), labels_that_fit(900, 72), labels_that_fit(10, 0)), (4, 12, 10));
        assert_eq!(labels_that_fit(60, 72), 2);
    }

    #[test]
    fn steps_enclose_what_is_shown() {
        assert_eq!(steps(150.0, 900.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(steps(1.0, 1e30).len(), 36);
    }

    #[test]
    fn axes_hold_every_point_and_survive_none() {
        let line = |points: &[(f64, f64)]| vec![Line { points: points.to_vec(), broken: false }];
        assert_eq!(y_range(&[], Scale::Linear), (0.0, 1.0));
        assert_eq!(y_range(&[], Scale::Log), (1.0, 10.0));
        assert_eq!(y_range(&line(&[(0.0, 0.0), (1.0, f64::NAN)]), Scale::Log), (1.0, 10.0));
        assert_eq!(y_range(&line(&[(0.0, 60.0), (1.0, 8000.0)]), Scale::Log), (50.0, 10_000.0));
        assert_eq!(y_range(&line(&[(0.0, 50.0)]), Scale::Log), (50.0, 100.0));
        let (low, high) = y_range(&line(&[(0.0, 100.0)]), Scale::Linear);
        assert!(low == 0.0 && high > 100.0);
    }
}
