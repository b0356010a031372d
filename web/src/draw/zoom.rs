//! A window of time around the playhead, painted as closely as it was looked at ([`crate::player::Window`]). No browser
//! here.

use super::paint::{Align, Paint, Rect, Type};
use super::palette::{Palette, Rgb, Tone};
use super::strips::{self, GAP, ROW, STRIPS_MAX, StripRow, look};
use crate::player::{COLUMNS, Inside, Level, Mode, Piece, Sign, Window};
use crate::scene::{Distance, Transfer};
use crate::words;
use mqscope_core::device::HddWork;
use mqscope_core::event::CpuId;
use mqscope_core::topology::Topology;

/// Height of the row of times below all others, CSS pixels.
const AXIS: f32 = 18.0;
/// Height of a device's row.
const TRACK: f32 = 44.0;
/// Height of the captions over a device's row.
const CAPTION: f32 = 16.0;

/// Width of a sign, CSS pixels.
const SIGN: f32 = 7.0;
/// Lines that move with a price beside each.
const PRICES_MAX: usize = 24;

/// A word in the picture. All of them are painted last, on a piece of ground, so that no line crosses them.
struct Label {
    at: Rect,
    text: String,
    face: Type,
    ink: Rgb,
}

impl Label {
    fn new(text: String, left: f32, middle: f32, face: Type, ink: Rgb) -> Self {
        let (w, h) = (face.width(&text), face.size * 1.25);
        Self { at: Rect::new(left, middle - h / 2.0, w, h), text, face, ink }
    }
}

/// A window and what its picture is divided into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zoom {
    /// What was seen.
    pub window: Window,
    /// CPUs with a row of their own, by number ([`Level::Lines`], [`Level::Signs`]).
    pub cpus: Vec<CpuId>,
    /// CPUs that did something and have none.
    pub more: usize,
    /// Rows of shares ([`Level::Device`], [`Level::Heat`]).
    pub shares: Vec<StripRow>,
}

impl Zoom {
    /// Chooses the CPUs that are shown: those that worked for longest of all that take part.
    pub fn new(window: Window) -> Self {
        let (shares, _) = strips::rows(&window.strips);
        let mut busy: Vec<(CpuId, u64)> = Vec::new();
        let mut add = |cpu: CpuId, weight: u64| match busy.iter_mut().find(|(of, _)| *of == cpu) {
            Some((_, sum)) => *sum += weight,
            None => busy.push((cpu, weight)),
        };
        for p in &window.pieces {
            // Of many that spin for one lock those are shown who get on.
            add(p.cpu, (p.to_ns - p.from_ns) * if p.mode == Mode::Spin { 1 } else { 8 });
        }
        // Where a line comes from, and whom a sign is for, may idle.
        let others = window.moves.iter().map(|m| m.from).chain(window.signs.iter().map(|s| s.to));
        others.for_each(|cpu| add(cpu, 1));
        busy.sort_by_key(|&(cpu, ns)| (std::cmp::Reverse(ns), cpu));
        let more = busy.len().saturating_sub(STRIPS_MAX);
        busy.truncate(STRIPS_MAX);
        let mut cpus: Vec<CpuId> = busy.into_iter().map(|(cpu, _)| cpu).collect();
        cpus.sort_unstable();
        Self { window, cpus, more, shares }
    }

    fn rows(&self) -> usize {
        self.cpus.len().max(self.shares.len()).max(1)
    }

    /// Height of the picture, CSS pixels.
    pub fn height(&self) -> f32 {
        let tracks = self.window.inside.len() + usize::from(!self.window.ios.is_empty());
        strips::height(self.rows()) + GAP + tracks as f32 * (TRACK + CAPTION) + AXIS
    }

    /// The moment under a point, ns; `None` left of the rows.
    pub fn moment(&self, x: f32, width: f32, text: f32) -> Option<u64> {
        let (left, w) = (strips::left(text), (width - strips::left(text)).max(1.0));
        let share = f64::from((x - left) / w);
        let span = (self.window.to_ns - self.window.from_ns) as f64;
        (0.0..=1.0).contains(&share).then(|| self.window.from_ns + (share * span) as u64)
    }

    /// Paints it from the top left corner on.
    pub fn paint(&self, topology: &Topology, width: f32, text: f32, p: &Palette, paint: &mut impl Paint) {
        let w = &self.window;
        let left = strips::left(text);
        let field = Rect::new(left, 0.0, (width - left).max(1.0), self.height() - AXIS);
        let mut labels = Vec::new();
        if self.shares.is_empty() {
            self.paint_cpus(topology, field, text, p, &mut labels, paint);
        } else {
            strips::paint(&self.shares, width, text, p, paint);
        }
        let mut y = strips::height(self.rows()) + GAP;
        let face = Type { size: text, mono: false, strong: false };
        let mut track = |y: f32, caption: &str, inside: &Inside, columns: usize, paint: &mut _| {
            let caption = face.fit(caption, field.w).into();
            labels.push(Label::new(caption, field.x, y + CAPTION * 0.55, face, p.ink_2));
            paint_track(inside, columns, Rect::new(field.x, y + CAPTION, field.w, TRACK - GAP), p, paint);
        };
        for inside in &w.inside {
            let name = topology.queues.get(usize::from(inside.queue)).map_or("", |q| q.name.as_str());
            let caption = format!("{name}: {}", track_words(inside));
            track(y, &caption, inside, COLUMNS, paint);
            y += CAPTION + TRACK;
        }
        if !w.ios.is_empty() {
            let most = w.ios.iter().copied().max().unwrap_or(0).max(1);
            let caption = format!("I/Os, up to {} in a part", words::grouped(most.into()));
            let values = w.ios.iter().map(|n| *n as f32 / most as f32).collect();
            let ios = Inside { queue: 0, what: "", place: false, lines: 1, values, work: Vec::new() };
            track(y, &caption, &ios, w.ios.len(), paint);
        }
        self.paint_axis(field, text, p, paint);
        for label in labels {
            paint.fill(label.at, 0.0, p.surface, 0.9);
            let at = (label.at.x, label.at.centre().1);
            paint.text(&label.text, at, Align::Left, label.face, label.ink, 1.0);
        }
    }

    fn x_of(&self, field: Rect, at_ns: u64) -> f32 {
        let span = (self.window.to_ns - self.window.from_ns).max(1) as f32;
        let off = at_ns.saturating_sub(self.window.from_ns) as f32;
        field.x + field.w * (off / span).min(1.0)
    }

    fn row_of(&self, cpu: CpuId) -> Option<f32> {
        self.cpus.binary_search(&cpu).ok().map(|i| i as f32 * (ROW + GAP))
    }

    /// What each CPU is at, piece by piece; over it lines that move, or signs. No two of the words overlap.
    fn paint_cpus(
        &self,
        topology: &Topology,
        field: Rect,
        text: f32,
        p: &Palette,
        labels: &mut Vec<Label>,
        paint: &mut impl Paint,
    ) {
        let number = Type { size: text, mono: true, strong: false };
        for (i, cpu) in self.cpus.iter().enumerate() {
            let row = Rect::new(field.x, i as f32 * (ROW + GAP), field.w, ROW);
            let at = (field.x - text * 0.5, row.centre().1);
            paint.text(&cpu.to_string(), at, Align::Right, number, p.ink_2, 1.0);
            paint.fill(row, 0.0, p.sunken, 1.0);
        }
        if self.cpus.is_empty() {
            let at = (field.x, ROW * 0.5);
            paint.text("All CPUs idle", at, Align::Left, Type { mono: false, ..number }, p.ink_2, 1.0);
        }
        for piece in &self.window.pieces {
            let Some(y) = self.row_of(piece.cpu) else { continue };
            let (a, b) = (self.x_of(field, piece.from_ns), self.x_of(field, piece.to_ns));
            let at = Rect::new(a, y, (b - a).max(0.5), ROW);
            labels.extend(self.paint_piece(topology, piece, at, text, p, paint));
        }
        // Of many only those that cost more than most have their price beside them.
        let moves = &self.window.moves;
        let cheap = moves.iter().map(|m| m.cost_ns).min().filter(|_| moves.len() > PRICES_MAX);
        for moved in &self.window.moves {
            let price = self.paint_move(topology, moved, field, text, p, paint);
            // Where there is room for it.
            let price = price.filter(|_| Some(moved.cost_ns) != cheap);
            labels.extend(price.filter(|price| labels.iter().all(|other| !other.at.overlaps(&price.at))));
        }
        let mut last = vec![[f32::MIN; 4]; self.cpus.len()];
        for sign in &self.window.signs {
            let Ok(row) = self.cpus.binary_search(&sign.cpu) else { continue };
            let (x, y) = (self.x_of(field, sign.at_ns), row as f32 * (ROW + GAP));
            // One sign for many of a kind that would cover each other.
            let before = &mut last[row][sign.sign as usize];
            if x - *before < SIGN {
                continue;
            }
            *before = x;
            let to = self.row_of(sign.to).filter(|_| sign.to != sign.cpu);
            paint_sign(sign.sign, (x, y), to, p, paint);
        }
    }

    fn paint_piece(
        &self,
        topology: &Topology,
        piece: &Piece,
        at: Rect,
        text: f32,
        p: &Palette,
        paint: &mut impl Paint,
    ) -> Option<Label> {
        let (colour, alpha, every) = look(piece.mode, p);
        if self.window.level == Level::Signs {
            paint.fill(at, 0.0, colour, alpha);
            let mut y = at.y + every.unwrap_or(ROW) * 0.5;
            while let Some(every) = every.filter(|_| y < at.bottom()) {
                paint.line(&[(at.x, y), (at.right(), y)], p.surface, 0.75, 0.8);
                y += every;
            }
            return None;
        }
        // Names are read on the ground, so the kind of time is an edge below them.
        let inner = Rect { w: (at.w - 1.0).max(0.5), ..at };
        paint.fill(inner, 2.0, p.surface, 1.0);
        paint.outline(inner, 2.0, colour, alpha.max(0.8), 1.0);
        paint.fill(Rect { y: at.bottom() - 3.0, h: 3.0, ..inner }, 0.0, colour, alpha);
        let face = Type { size: text * 0.92, mono: true, strong: false };
        let lock = topology.objects.get(piece.lock as usize).map(|o| format!("spins: {}", o.name));
        let word = match (&lock, piece.function) {
            (Some(lock), _) => lock.as_str(),
            (None, "") => piece.mode.word(),
            (None, name) => name,
        };
        let room = inner.w - 5.0;
        let ink = if lock.is_some() { p.tone(Tone::Trouble) } else { p.ink };
        (room >= face.width("mmm"))
            .then(|| Label::new(face.fit(word, room).into(), inner.x + 3.0, at.centre().1 - 1.5, face, ink))
    }

    /// A line on its way: from the row of the CPU that had it to the one that fetches it, as long as that takes. Gives its
    /// price.
    fn paint_move(
        &self,
        topology: &Topology,
        moved: &Transfer,
        field: Rect,
        text: f32,
        p: &Palette,
        paint: &mut impl Paint,
    ) -> Option<Label> {
        let (a, b) = (self.row_of(moved.from)?, self.row_of(moved.to)?);
        let (a, b) = if a < b { (a + ROW, b) } else { (a, b + ROW) };
        let x = [moved.at_ns, moved.at_ns + u64::from(moved.cost_ns)].map(|ns| self.x_of(field, ns));
        let far = moved.distance(topology) >= Distance::Cache;
        let colour = if far { p.tone(Tone::Trouble) } else { p.tone(Tone::Queued) };
        paint.line(&[(x[0], a), (x[1], b)], colour, 1.0, if far { 2.0 } else { 1.3 });
        paint.disc((x[1], b), 2.5, colour, 1.0);
        let face = Type { size: text * 0.85, mono: true, strong: false };
        let price = words::span(moved.cost_ns.into());
        let w = face.width(&price);
        let middle = ((x[0] + x[1]) / 2.0, (a + b) / 2.0);
        let left = (middle.0 - w / 2.0).clamp(field.x, (field.right() - w).max(field.x));
        Some(Label::new(price, left, middle.1, face, colour))
    }

    /// The playhead, and how far it is to both ends.
    fn paint_axis(&self, field: Rect, text: f32, p: &Palette, paint: &mut impl Paint) {
        let w = &self.window;
        let face = Type { size: text, mono: false, strong: false };
        let y = field.bottom() + AXIS * 0.55;
        if w.known_ns < w.to_ns {
            let x = self.x_of(field, w.known_ns);
            paint.dashes(&[(x, 0.0), (x, field.bottom())], p.edge, 1.0, 1.0);
        }
        let x = self.x_of(field, w.now_ns);
        paint.line(&[(x, 0.0), (x, field.bottom())], p.accent, 1.0, 1.5);
        let before = format!("−{}", words::span(w.now_ns.saturating_sub(w.from_ns) as f64));
        let after = format!("+{}", words::span(w.to_ns.saturating_sub(w.now_ns) as f64));
        let [a, b] = [face.width(&before), face.width(&after)];
        let now = "playhead";
        let half = face.width(now) / 2.0;
        paint.text(
            now,
            (x.clamp(field.x + half, (field.right() - half).max(field.x + half)), y),
            Align::Centre,
            face,
            p.accent,
            1.0,
        );
        if x - half > field.x + a {
            paint.text(&before, (field.x, y), Align::Left, face, p.ink_2, 1.0);
        }
        if x + half < field.right() - b {
            paint.text(&after, (field.right(), y), Align::Right, face, p.ink_2, 1.0);
        }
    }
}

/// What a device's row shows.
pub fn track_words(inside: &Inside) -> String {
    if !inside.place {
        return inside.what.into();
    }
    let (low, high) = inside.reach();
    let way = |v: f32| format!("{:.2}", v * 100.0);
    let bar = if inside.work.is_empty() { "" } else { "; bar: seek ▂, rotate ▅, transfer █" };
    format!("{}, {} (top) to {} % of the way in from the outer edge{bar}", inside.what, way(low), way(high))
}

/// Height, as a share, and colour of what the arm is at.
fn work_look(work: HddWork, p: &Palette) -> (f32, Rgb) {
    match work {
        HddWork::Idle | HddWork::Decide => (0.0, p.sunken),
        HddWork::Seek => (0.3, p.tone(Tone::Queued)),
        HddWork::Rotate => (0.6, p.tone(Tone::Idle)),
        HddWork::Transfer | HddWork::Destage | HddWork::ReadAhead => (1.0, p.tone(Tone::Device)),
    }
}

/// A position as a line, a share as columns, as many of `columns` as are known.
fn paint_track(inside: &Inside, columns: usize, at: Rect, p: &Palette, paint: &mut impl Paint) {
    paint.fill(at, 0.0, p.sunken, 1.0);
    let w = at.w / columns.max(1) as f32;
    let colour = p.tone(Tone::Device);
    if inside.place {
        // Files are small beside a disk: the way that the heads have in the window fills the height.
        let (low, high) = inside.reach();
        let scale = |v: f32| if high > low { (v - low) / (high - low) } else { 0.5 };
        for (n, work) in inside.work.iter().enumerate() {
            let (share, colour) = work_look(*work, p);
            let h = at.h * 0.3 * share;
            paint.fill(Rect::new(at.x + n as f32 * w, at.bottom() - h, w + 0.4, h), 0.0, colour, 1.0);
        }
        let room = if inside.work.is_empty() { at.h - 4.0 } else { at.h * 0.66 };
        let lines = inside.lines.max(1);
        for line in 0..lines {
            let values = inside.values.iter().skip(line).step_by(lines);
            let point =
                |(n, v): (usize, &f32)| (at.x + (n as f32 + 0.5) * w, at.y + 2.0 + (room - 2.0) * scale(*v));
            let way: Vec<(f32, f32)> = values.enumerate().map(point).collect();
            paint.line(&way, colour, 1.0, if lines > 1 { 1.0 } else { 1.8 });
        }
        return;
    }
    for (n, v) in inside.values.iter().enumerate().filter(|(_, v)| **v > 0.0) {
        let h = (at.h * v).max(1.0);
        paint.fill(Rect::new(at.x + n as f32 * w, at.bottom() - h, w + 0.4, h), 0.0, colour, 1.0);
    }
}

/// A sign on the row that begins at `at`, with a line to the row that it is for.
fn paint_sign(sign: Sign, at: (f32, f32), to: Option<f32>, p: &Palette, paint: &mut impl Paint) {
    let colour = sign_colour(sign, p);
    let (x, y) = (at.0, at.1 + ROW / 2.0);
    if let Some(to) = to {
        let end = if to > at.1 { to } else { to + ROW };
        paint.line(&[(x, y), (x, end)], colour, 0.8, 1.0);
    }
    // On what the CPU is at, which may have any tone.
    paint.disc((x, y), 5.0, p.surface, 1.0);
    match sign {
        Sign::Doorbell => paint.disc((x, y), 3.2, colour, 1.0),
        Sign::Irq => paint.ring((x, y), 3.2, colour, 1.0, 1.6),
        Sign::Ipi => paint.line(&[(x - 3.0, y - 3.0), (x + 3.0, y), (x - 3.0, y + 3.0)], colour, 1.0, 1.6),
        Sign::Wake => paint.outline(Rect::new(x - 2.8, y - 2.8, 5.6, 5.6), 0.0, colour, 1.0, 1.6),
    }
}

/// The tone of a sign: of where the request is then.
fn sign_colour(sign: Sign, p: &Palette) -> Rgb {
    match sign {
        Sign::Doorbell => p.tone(Tone::Device),
        Sign::Irq | Sign::Ipi => p.tone(Tone::Back),
        Sign::Wake => p.ink,
    }
}
