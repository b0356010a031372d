//! What the stage needs from whatever it is painted on: a canvas in the page, an SVG text elsewhere.

use super::palette::{Rgb, Tone};

/// A rectangle in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    /// Width.
    pub w: f32,
    /// Height.
    pub h: f32,
}

impl Rect {
    /// A rectangle.
    pub const fn new(x: f32, y: f32, w: f32, h: f32) -> Self {
        Self { x, y, w, h }
    }

    /// Right edge.
    pub fn right(&self) -> f32 {
        self.x + self.w
    }

    /// Lower edge.
    pub fn bottom(&self) -> f32 {
        self.y + self.h
    }

    /// Middle.
    pub fn centre(&self) -> (f32, f32) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }

    /// Smaller by `by` on every side, never negative.
    pub fn inset(&self, by: f32) -> Self {
        Self {
            x: self.x + by.min(self.w / 2.0),
            y: self.y + by.min(self.h / 2.0),
            w: (self.w - 2.0 * by).max(0.0),
            h: (self.h - 2.0 * by).max(0.0),
        }
    }

    /// Whether a point lies inside.
    pub fn holds(&self, x: f32, y: f32) -> bool {
        x >= self.x && x < self.right() && y >= self.y && y < self.bottom()
    }

    /// Whether two rectangles share more than an edge.
    pub fn overlaps(&self, other: &Rect) -> bool {
        let eps = 0.01;
        self.x + eps < other.right()
            && other.x + eps < self.right()
            && self.y + eps < other.bottom()
            && other.y + eps < self.bottom()
    }

    /// Cuts `w` off the left side and keeps the rest.
    pub fn take_left(&mut self, w: f32) -> Rect {
        let w = w.clamp(0.0, self.w);
        let cut = Rect::new(self.x, self.y, w, self.h);
        self.x += w;
        self.w -= w;
        cut
    }

    /// Cuts `w` off the right side and keeps the rest.
    pub fn take_right(&mut self, w: f32) -> Rect {
        let w = w.clamp(0.0, self.w);
        self.w -= w;
        Rect::new(self.right(), self.y, w, self.h)
    }

    /// Cuts `h` off the top and keeps the rest.
    pub fn take_top(&mut self, h: f32) -> Rect {
        let h = h.clamp(0.0, self.h);
        let cut = Rect::new(self.x, self.y, self.w, h);
        self.y += h;
        self.h -= h;
        cut
    }

    /// Cuts `h` off the bottom and keeps the rest.
    pub fn take_bottom(&mut self, h: f32) -> Rect {
        let h = h.clamp(0.0, self.h);
        self.h -= h;
        Rect::new(self.x, self.bottom(), self.w, h)
    }
}

/// How text stands to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Begins there.
    Left,
    /// Its middle is there.
    Centre,
    /// Ends there.
    Right,
}

/// A face and size of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Type {
    /// Size, CSS pixels.
    pub size: f32,
    /// Fixed-width face, for names of the kernel and for numbers.
    pub mono: bool,
    /// Heavier.
    pub strong: bool,
}

impl Type {
    /// Width of a text in this type, estimated: a frame must not ask the browser for text sizes.
    pub fn width(&self, text: &str) -> f32 {
        let em = if self.mono { 0.61 } else { 0.54 };
        text.chars().count() as f32 * self.size * em
    }

    /// `text`, cut with an ellipsis where it does not fit into `width`.
    pub fn fit<'a>(&self, text: &'a str, width: f32) -> std::borrow::Cow<'a, str> {
        if self.width(text) <= width {
            return text.into();
        }
        let room = (width / self.width("m")).floor() as usize;
        match room {
            0 => "".into(),
            n => text.chars().take(n - 1).chain(['…']).collect::<String>().into(),
        }
    }
}

/// The form of a request on the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Writes are squares, reads are circles.
    pub square: bool,
    /// Colour.
    pub tone: Tone,
    /// Holds several bios: larger.
    pub merged: bool,
    /// Was refused: with a notch.
    pub notched: bool,
    /// Waits: hatched instead of filled.
    pub hatched: bool,
}

impl Mark {
    /// Different marks there can be.
    pub const COUNT: usize = 2 * 6 * 2 * 2 * 2;

    /// Number of this one, below [`Mark::COUNT`].
    pub fn index(&self) -> usize {
        let bit = usize::from;
        (((self.tone as usize * 2 + bit(self.square)) * 2 + bit(self.merged)) * 2 + bit(self.notched)) * 2
            + bit(self.hatched)
    }

    /// The mark of this number.
    pub fn of_index(index: usize) -> Self {
        let bit = |shift: usize| index >> shift & 1 == 1;
        Self {
            hatched: bit(0),
            notched: bit(1),
            merged: bit(2),
            square: bit(3),
            tone: Tone::ALL[(index >> 4) % Tone::ALL.len()],
        }
    }

    /// Its radius beside a plain mark's.
    pub fn scale(&self) -> f32 {
        if self.merged { 1.4 } else { 1.0 }
    }
}

/// Something to paint on. Coordinates are CSS pixels; colours come with an opacity.
pub trait Paint {
    /// A filled rectangle with round corners (radius 0: none).
    fn fill(&mut self, rect: Rect, radius: f32, colour: Rgb, alpha: f32);
    /// The outline of a rectangle.
    fn outline(&mut self, rect: Rect, radius: f32, colour: Rgb, alpha: f32, width: f32);
    /// A line through these points.
    fn line(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32);
    /// A line of dashes.
    fn dashes(&mut self, points: &[(f32, f32)], colour: Rgb, alpha: f32, width: f32);
    /// A curve from one point to another, bent by `bend` pixels to the left of the way.
    fn curve(&mut self, from: (f32, f32), to: (f32, f32), bend: f32, colour: Rgb, alpha: f32, width: f32);
    /// A filled circle.
    fn disc(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32);
    /// A ring.
    fn ring(&mut self, at: (f32, f32), radius: f32, colour: Rgb, alpha: f32, width: f32);
    /// Text whose middle line is at `at.1`.
    fn text(&mut self, text: &str, at: (f32, f32), align: Align, face: Type, colour: Rgb, alpha: f32);
    /// A request, `radius` being that of a plain one.
    fn mark(&mut self, mark: Mark, at: (f32, f32), radius: f32, alpha: f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_its_own_number() {
        for index in 0..Mark::COUNT {
            assert_eq!(Mark::of_index(index).index(), index);
        }
    }

    #[test]
    fn cutting_a_rectangle_loses_nothing() {
        let mut rest = Rect::new(10.0, 20.0, 100.0, 50.0);
        let parts =
            [rest.take_left(30.0), rest.take_right(20.0), rest.take_top(10.0), rest.take_bottom(500.0), rest];
        let area: f32 = parts.iter().map(|r| r.w * r.h).sum();
        assert_eq!(area, 5_000.0);
        for (i, a) in parts.iter().enumerate() {
            assert!(parts[i + 1..].iter().all(|b| !a.overlaps(b)), "{a:?}");
        }
    }

    #[test]
    fn text_that_does_not_fit_is_cut_and_says_so() {
        let face = Type { size: 10.0, mono: true, strong: false };
        assert_eq!(face.fit("hctx", 100.0), "hctx");
        assert_eq!(face.fit("blk_mq_get_tag", 50.0), "blk_mq_…");
        assert_eq!(face.fit("blk", 2.0), "");
    }
}
