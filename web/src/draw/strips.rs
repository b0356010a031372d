//! A strip for each CPU: what it spent its time on, slice by slice. No browser here.

use super::paint::{Align, Paint, Rect, Type};
use super::palette::{Palette, Rgb, Tone};
use crate::player::{Mode, Shares, Strip};

/// Strips shown one by one; the others are one strip with their mean.
pub const STRIPS_MAX: usize = 16;
/// Height of a strip, CSS pixels.
pub const ROW: f32 = 20.0;
/// Height of the gap below it.
pub const GAP: f32 = 4.0;
/// Less than this share busy is idle.
const IDLE: f32 = 0.002;

/// A row of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct StripRow {
    /// CPU number, or how many it stands for.
    pub label: String,
    /// Shares, oldest slice first.
    pub slices: Vec<Shares>,
}

/// Rows of the busy CPUs by number, the least busy of many joined; and how many CPUs idled all the time.
pub fn rows(strips: &[Strip]) -> (Vec<StripRow>, usize) {
    let load = |s: &Strip| s.mean.iter().sum::<f32>();
    let mut busy: Vec<&Strip> = strips.iter().filter(|s| load(s) >= IDLE).collect();
    let idle = strips.len() - busy.len();
    busy.sort_by(|a, b| load(b).total_cmp(&load(a)).then(a.cpu.cmp(&b.cpu)));
    let shown = if busy.len() > STRIPS_MAX { STRIPS_MAX - 1 } else { busy.len() };
    let joined = busy.split_off(shown);
    busy.sort_by_key(|s| s.cpu);
    let mut rows: Vec<StripRow> =
        busy.into_iter().map(|s| StripRow { label: s.cpu.to_string(), slices: s.slices.clone() }).collect();
    if !joined.is_empty() {
        let n = joined.len() as f32;
        let mean = |slice: usize, mode: usize| joined.iter().map(|s| s.slices[slice][mode]).sum::<f32>() / n;
        let slices = (0..joined[0].slices.len()).map(|n| std::array::from_fn(|mode| mean(n, mode))).collect();
        rows.push(StripRow { label: format!("+{}", joined.len()), slices });
    }
    (rows, idle)
}

/// Height of a picture of so many rows, CSS pixels.
pub fn height(rows: usize) -> f32 {
    rows.max(1) as f32 * (ROW + GAP) - GAP
}

/// The row at a height, CSS pixels from the top.
pub fn row_at(rows: &[StripRow], y: f32) -> Option<&StripRow> {
    rows.get((y.max(0.0) / (ROW + GAP)) as usize)
}

/// How a mode looks: colour, opacity, and every how many pixels a line of the ground crosses it, so that it can be told
/// without its colour.
pub(super) fn look(mode: Mode, p: &Palette) -> (Rgb, f32, Option<f32>) {
    match mode {
        Mode::User => (p.tone(Tone::Idle), 0.55, None),
        Mode::System => (p.ink_2, 1.0, None),
        Mode::SoftIrq => (p.tone(Tone::Back), 1.0, Some(3.0)),
        Mode::HardIrq => (p.tone(Tone::Back), 1.0, None),
        Mode::Spin => (p.tone(Tone::Trouble), 1.0, Some(2.0)),
    }
}

/// Where the rows begin, right of their labels.
pub fn left(text: f32) -> f32 {
    Type { size: text, mono: true, strong: false }.width("+000") + text * 0.5
}

/// Paints the rows from the top left corner on.
pub fn paint(rows: &[StripRow], width: f32, text: f32, p: &Palette, paint: &mut impl Paint) {
    let face = Type { size: text, mono: true, strong: false };
    let left = left(text);
    for (i, row) in rows.iter().enumerate() {
        let strip = Rect::new(left, i as f32 * (ROW + GAP), (width - left).max(1.0), ROW);
        let at = (left - text * 0.5, strip.centre().1);
        paint.text(&row.label, at, Align::Right, face, p.ink_2, 1.0);
        paint.fill(strip, 0.0, p.sunken, 1.0);
        let w = strip.w / row.slices.len().max(1) as f32;
        for (mode, kind) in Mode::ALL.into_iter().enumerate() {
            let (colour, alpha, _) = look(kind, p);
            for (n, slice) in row.slices.iter().enumerate() {
                if slice[mode] <= 0.0 {
                    continue;
                }
                let below: f32 = slice[..mode].iter().sum();
                let h = strip.h * slice[mode].min(1.0);
                let y = strip.bottom() - strip.h * below.min(1.0) - h;
                // Slices touch: no seam of the ground between them.
                let part = Rect::new(strip.x + n as f32 * w, y.max(strip.y), w + 0.4, h);
                paint.fill(part, 0.0, colour, alpha);
            }
        }
        hatch(row, strip, p, paint);
    }
}

/// Lines through the modes that have them: one for each run of slices that it crosses.
fn hatch(row: &StripRow, strip: Rect, p: &Palette, paint: &mut impl Paint) {
    let w = strip.w / row.slices.len().max(1) as f32;
    for (mode, kind) in Mode::ALL.into_iter().enumerate() {
        let (_, _, Some(every)) = look(kind, p) else { continue };
        let mut y = strip.y + every * 0.5;
        while y < strip.bottom() {
            // Share of the height that lies below this line.
            let level = (strip.bottom() - y) / strip.h;
            let crosses = |slice: &Shares| {
                let below: f32 = slice[..mode].iter().sum();
                slice[mode] > 0.0 && below < level && level < below + slice[mode]
            };
            let mut n = 0;
            while n < row.slices.len() {
                let run = row.slices[n..].iter().take_while(|s| crosses(s)).count();
                if run > 0 {
                    let x = strip.x + n as f32 * w;
                    paint.line(&[(x, y), (x + run as f32 * w, y)], p.surface, 0.75, 0.8);
                }
                n += run.max(1);
            }
            y += every;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::SLICES;

    fn strip(cpu: u16, mean: f32) -> Strip {
        Strip { cpu, slices: vec![[mean, 0.0, 0.0, 0.0, 0.0]; SLICES], mean: [mean, 0.0, 0.0, 0.0, 0.0] }
    }

    #[test]
    fn busy_cpus_have_their_own_rows_and_the_least_busy_of_many_share_one() {
        let few: Vec<_> = (0..8).map(|c| strip(c, if c % 2 == 0 { 0.5 } else { 0.0 })).collect();
        let (shown, idle) = rows(&few);
        assert_eq!(shown.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["0", "2", "4", "6"]);
        assert_eq!(idle, 4);
        let many: Vec<_> = (0..72).map(|c| strip(c, f32::from(c) / 72.0)).collect();
        let (shown, idle) = rows(&many);
        assert_eq!((shown.len(), idle), (STRIPS_MAX, 1));
        assert_eq!(shown[0].label, "57", "by number, the busiest of them");
        assert_eq!(shown[STRIPS_MAX - 1].label, "+56");
        let joined = shown[STRIPS_MAX - 1].slices[0][0];
        assert!((joined - 28.5 / 72.0).abs() < 1e-3, "the mean of CPUs 1 to 56: {joined}");
    }

    #[test]
    fn a_strip_is_filled_in_proportion_from_below() {
        struct Fills(Vec<(Rect, Rgb)>);
        impl Paint for Fills {
            fn fill(&mut self, r: Rect, _: f32, colour: Rgb, _: f32) {
                self.0.push((r, colour));
            }
            fn outline(&mut self, _: Rect, _: f32, _: Rgb, _: f32, _: f32) {}
            fn line(&mut self, points: &[(f32, f32)], _: Rgb, _: f32, _: f32) {
                assert!(points.iter().all(|(_, y)| *y > ROW * 0.25 && *y < ROW * 0.5), "in the softirq only");
            }
            fn dashes(&mut self, _: &[(f32, f32)], _: Rgb, _: f32, _: f32) {}
            fn curve(&mut self, _: (f32, f32), _: (f32, f32), _: f32, _: Rgb, _: f32, _: f32) {}
            fn disc(&mut self, _: (f32, f32), _: f32, _: Rgb, _: f32) {}
            fn ring(&mut self, _: (f32, f32), _: f32, _: Rgb, _: f32, _: f32) {}
            fn text(&mut self, _: &str, _: (f32, f32), _: Align, _: Type, _: Rgb, _: f32) {}
            fn mark(&mut self, _: super::super::paint::Mark, _: (f32, f32), _: f32, _: f32) {}
        }
        let row = StripRow { label: "3".into(), slices: vec![[0.25, 0.25, 0.25, 0.0, 0.0]; SLICES] };
        let (mut fills, p) = (Fills(Vec::new()), Palette::LIGHT);
        paint(&[row], 400.0, 12.0, &p, &mut fills);
        let of =
            |colour: Rgb| fills.0.iter().filter(|(_, c)| *c == colour).map(|(r, _)| *r).collect::<Vec<_>>();
        let (system, softirq) = (of(p.ink_2), of(p.tone(Tone::Back)));
        assert_eq!((system.len(), softirq.len()), (SLICES, SLICES));
        assert_eq!((system[0].y, system[0].h), (ROW * 0.5, ROW * 0.25));
        assert_eq!((softirq[0].y, softirq[0].h), (ROW * 0.25, ROW * 0.25));
        assert!(system[SLICES - 1].right() <= 401.0);
    }
}
