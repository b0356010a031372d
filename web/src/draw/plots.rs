//! Pictures of numbers that are no lines: a heat map of latency over time, and how the phases of btt share the time.
//! No browser here.

use super::paint::{Align, Paint, Rect, Type};
use super::palette::{Palette, Rgb, Tone};
use crate::words;
use mqscope_core::report::{Heat, Phases};

/// The room of a heat map: its classes, shared by both sides so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Smallest latency of the lowest class, ns.
    pub low_ns: u64,
    /// Classes from there on.
    pub classes: usize,
}

/// The next class: four equally wide ones in an octave.
fn next_low(low_ns: u64) -> u64 {
    low_ns + (1u64 << low_ns.max(1).ilog2()) / 4
}

/// The classes that hold all I/Os of these maps; `None` without any.
pub fn span<'a>(maps: impl Iterator<Item = &'a Heat>) -> Option<Span> {
    let (low, high) = maps
        .filter_map(|heat| Some((*heat.low_ns.first()?, *heat.low_ns.last()?)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let (mut classes, mut at) = (1, low);
    while at < high {
        (classes, at) = (classes + 1, next_low(at));
    }
    Some(Span { low_ns: low, classes })
}

/// Paints a heat map: time to the right, latency upwards, the darker the more I/Os. `plot` is the room inside the axes,
/// `end_ns` the time at its right edge.
pub fn heat(map: &Heat, span: Span, plot: Rect, end_ns: f64, text: f32, p: &Palette, paint: &mut impl Paint) {
    let face = Type { size: text, mono: false, strong: false };
    let h = plot.h / span.classes as f32;
    paint.fill(plot, 0.0, p.sunken, 1.0);
    // The edges of as many classes as have room.
    let every = ((text * 1.8) / h).ceil().max(1.0) as usize;
    let mut low = span.low_ns;
    for class in 0..=span.classes {
        if class % every == 0 {
            let y = plot.bottom() - class as f32 * h;
            paint.text(&words::span(low as f64), (plot.x - text * 0.5, y), Align::Right, face, p.ink_3, 1.0);
        }
        low = next_low(low);
    }
    let most = map.counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    let w = plot.w * (map.column_ns as f64 / end_ns.max(1.0)) as f32;
    let first = map.low_ns.first().map_or(0, |low| classes_between(span.low_ns, *low));
    for (class, row) in map.counts.iter().enumerate() {
        let y = plot.bottom() - (first + class + 1) as f32 * h;
        for (column, n) in row.iter().enumerate().filter(|(_, n)| **n > 0) {
            let x = plot.x + column as f32 * w;
            let w = w.min(plot.right() - x);
            if w > 0.0 {
                // By the logarithm: the tail is what one looks for.
                let share = (f64::from(*n) + 1.0).ln() / (f64::from(most) + 1.0).ln();
                paint.fill(Rect::new(x, y, w, h).inset(0.4), 0.0, p.accent, (0.12 + 0.88 * share) as f32);
            }
        }
    }
    let steps = ((plot.w / (text * 7.0)) as u32).clamp(1, 6);
    for step in 0..=steps {
        let share = step as f32 / steps as f32;
        let x = plot.x + plot.w * share;
        let align = if step == steps { Align::Right } else { Align::Centre };
        let said = words::span(end_ns * f64::from(share));
        paint.text(&said, (x, plot.bottom() + text), align, face, p.ink_3, 1.0);
    }
}

/// Classes from one latency to another that lies above it.
fn classes_between(from_ns: u64, to_ns: u64) -> usize {
    let (mut n, mut at) = (0, from_ns);
    while at < to_ns {
        (n, at) = (n + 1, next_low(at));
    }
    n
}

/// btt's phases of a request's time in their order: name, what passes in it, ns.
pub type PhaseList = [(&'static str, &'static str, f64); 4];

/// The phases as a list.
pub fn phases(phases: &Phases) -> PhaseList {
    [
        ("Q2G", "waits for a request or tag", phases.q2g_ns),
        ("G2I", "in the plug", phases.g2i_ns),
        ("I2D", "in a list or the scheduler", phases.i2d_ns),
        ("D2C", "driver and device", phases.d2c_ns),
    ]
}

/// How a phase looks: colour, and every how many pixels lines cross it.
fn look(phase: usize, p: &Palette) -> (Rgb, Option<f32>) {
    match phase {
        0 => (p.tone(Tone::Idle), Some(5.0)),
        1 => (p.tone(Tone::Submit), None),
        2 => (p.tone(Tone::Queued), Some(9.0)),
        _ => (p.tone(Tone::Device), None),
    }
}

/// Paints the phases of both sides as bars on one scale, with their names and times below.
pub fn phase_bars(
    sides: &[Option<PhaseList>; 2],
    area: Rect,
    text: f32,
    p: &Palette,
    paint: &mut impl Paint,
) {
    let face = Type { size: text, mono: false, strong: false };
    let strong = Type { strong: true, ..face };
    let total = |s: &PhaseList| s.iter().map(|(_, _, ns)| ns).sum::<f64>();
    let longest = sides.iter().flatten().map(total).fold(1.0, f64::max);
    let each = area.h / 2.0;
    for (side, (phases, letter)) in sides.iter().zip(["A", "B"]).enumerate() {
        let top = area.y + side as f32 * each;
        paint.text(letter, (area.x, top + text), Align::Left, strong, p.ink, 1.0);
        let Some(phases) = phases else { continue };
        let said = format!("Q2C {}", words::span(total(phases)));
        paint.text(&said, (area.x + text * 1.5, top + text), Align::Left, face, p.ink_2, 1.0);
        let bar = Rect::new(area.x, top + text * 2.0, area.w, (each - text * 5.6).clamp(text, text * 3.0));
        paint.fill(bar, 0.0, p.sunken, 1.0);
        let (mut x, mut words_x, mut line) = (bar.x, bar.x, 0);
        for (phase, (name, _, ns)) in phases.iter().enumerate() {
            let w = bar.w * (ns / longest) as f32;
            let (colour, every) = look(phase, p);
            let part = Rect { x, w, ..bar };
            paint.fill(part, 0.0, colour, 1.0);
            let mut at = x + every.unwrap_or(f32::INFINITY);
            while at < part.right() {
                paint.line(&[(at, bar.y), (at, bar.bottom())], p.surface, 0.8, 1.2);
                at += every.unwrap_or(f32::INFINITY);
            }
            // Names stand below in order, each with a sample of its colour, since short phases have no room for one.
            let label = format!("{name} {}", words::span(*ns));
            let width = face.width(&label) + text * 1.6;
            if words_x + width > bar.right() + 1.0 && words_x > bar.x {
                (words_x, line) = (bar.x, line + 1);
            }
            let y = bar.bottom() + text * (1.0 + 1.5 * line as f32);
            paint.fill(Rect::new(words_x, y - text * 0.35, text * 0.7, text * 0.7), 1.0, colour, 1.0);
            paint.text(&label, (words_x + text, y), Align::Left, face, p.ink, 1.0);
            (x, words_x) = (x + w, words_x + width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::svg::Svg;

    fn map(low_ns: &[u64], counts: &[&[u32]]) -> Heat {
        Heat {
            column_ns: 10,
            low_ns: low_ns.to_vec(),
            counts: counts.iter().map(|row| row.to_vec()).collect(),
        }
    }

    #[test]
    fn both_maps_share_the_classes_of_all_their_ios() {
        let (a, b) = (map(&[4_096, 5_120], &[&[1], &[2]]), map(&[8_192], &[&[3]]));
        assert_eq!(span([&a, &b].into_iter()), Some(Span { low_ns: 4_096, classes: 5 }));
        assert_eq!(span([&b].into_iter()), Some(Span { low_ns: 8_192, classes: 1 }));
        assert_eq!(span([&Heat::default()].into_iter()), None);
        assert_eq!((next_low(4_096), next_low(7_168), next_low(8_192)), (5_120, 8_192, 10_240));
    }

    /// Filled rectangles of a picture in this colour: x, y, width, height, opacity.
    fn fills(svg: &str, colour: Rgb) -> Vec<[f32; 5]> {
        let value = |element: &str, name: &str| -> f32 {
            let rest = element.split(&format!(" {name}=\"")).nth(1).unwrap_or("0\"");
            rest.split('"').next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
        };
        svg.split("<rect")
            .filter(|e| e.contains(&format!("fill=\"{}\"", colour.css(1.0))))
            .map(|e| ["x", "y", "width", "height", "opacity"].map(|name| value(e, name)))
            .collect()
    }

    #[test]
    fn a_cell_stands_at_its_time_and_latency_and_is_darker_with_more() {
        let (heat_map, p) = (map(&[5_120, 6_144], &[&[0, 100], &[1, 0]]), Palette::LIGHT);
        let mut svg = Svg::new(p);
        let plot = Rect::new(50.0, 10.0, 200.0, 80.0);
        heat(&heat_map, Span { low_ns: 4_096, classes: 4 }, plot, 20.0, 10.0, &p, &mut svg);
        let cells = fills(&svg.finish(300.0, 120.0, "t"), p.accent);
        assert_eq!(cells.len(), 2);
        let near = |cell: [f32; 5], x: f32, y: f32| (cell[0] - x).abs() < 1.0 && (cell[1] - y).abs() < 1.0;
        assert!(near(cells[0], 150.0, 50.0), "second column, second class from below: {cells:?}");
        assert!(near(cells[1], 50.0, 30.0), "first column, third class: {cells:?}");
        assert!(cells[0][4] > 0.95 && cells[1][4] < 0.4, "{cells:?}");
    }

    #[test]
    fn bars_are_on_one_scale_and_their_parts_in_proportion() {
        let side = |d2c: f64| {
            Some(phases(&Phases { q2g_ns: 100.0, i2d_ns: 300.0, d2c_ns: d2c, ..Phases::default() }))
        };
        let (mut svg, p) = (Svg::new(Palette::LIGHT), Palette::LIGHT);
        phase_bars(&[side(600.0), side(100.0)], Rect::new(0.0, 0.0, 400.0, 200.0), 10.0, &p, &mut svg);
        let parts: Vec<f32> = fills(&svg.finish(400.0, 200.0, "t"), p.tone(Tone::Device))
            .iter()
            .filter(|f| f[3] > 10.0)
            .map(|f| f[2])
            .collect();
        assert_eq!(parts, [240.0, 40.0]);
    }
}
