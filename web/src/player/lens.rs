//! A window of time around the playhead, as closely as its width lets it be seen: kernel functions and single lines at
//! nanoseconds, doorbells and interrupts at microseconds, the inside of the device at milliseconds, heat above.
//!
//! The log of the past is not kept and the future is not known, so the window is simulated again on a copy from the
//! nearest checkpoint: a part at each look, so that no look takes long, and the rest at the next ones. Where even that
//! would take too long there are only the buckets of the [`super::Timeline`].

use super::cursor::Cursor;
use super::strips::Columns;
use super::{Mode, Player, Strip};
use crate::scene::{NONE, Standing, Transfer};
use mqscope_core::device::{DeviceView, DieWork, HddWork};
use mqscope_core::event::{Context, CpuId, Event, Kind, ObjectId, QueueId};

/// Narrowest window, ns.
pub const WIDTH_MIN_NS: u64 = 200;
/// Slices of a window whose CPUs are shown as shares.
pub const COLUMNS: usize = 120;
/// Log events of a window that is simulated again.
const EVENTS_MAX: u64 = 400_000;
/// Lines, signs and pieces of CPU time kept of a window.
const KEPT_MAX: usize = 8_192;
/// Wall time that one look may take, ms (with a clock; without one it takes what it needs).
const LOOK_BUDGET_MS: f64 = 6.0;
/// Log events between two looks at the clock on the way to the window.
const CLOCK_EVERY: u64 = 256;

/// What a window shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Functions by name, and each line that moves.
    Lines,
    /// Doorbells, interrupts, IPIs and wake-ups.
    Signs,
    /// What the device is at.
    Device,
    /// Shares of time and I/Os by bucket.
    #[default]
    Heat,
}

impl Level {
    /// The level that a width asks for, ns.
    fn of(width_ns: u64) -> Self {
        match width_ns {
            0..=5_000 => Self::Lines,
            5_001..=500_000 => Self::Signs,
            500_001..=500_000_000 => Self::Device,
            _ => Self::Heat,
        }
    }

    /// What there is to see, in words.
    pub fn words(self) -> &'static str {
        [
            "kernel functions by name, locks that CPUs spin for, and each cache line that moves, with its price",
            "doorbells, interrupts, IPIs and wake-ups on what the CPUs are at",
            "what the device is at, below shares of CPU time",
            "heat: shares of CPU time and I/Os in equal parts of the run",
        ][self as usize]
    }
}

/// A CPU is at one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which CPU.
    pub cpu: CpuId,
    /// From, ns.
    pub from_ns: u64,
    /// Until, ns.
    pub to_ns: u64,
    /// What kind of time it is.
    pub mode: Mode,
    /// The kernel function, at [`Level::Lines`].
    pub function: &'static str,
    /// The lock that it spins for, or [`NONE`].
    pub lock: ObjectId,
}

/// What a CPU or the device tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A doorbell is rung: commands go to the device.
    Doorbell,
    /// The device interrupts the CPU.
    Irq,
    /// A completion is sent to another CPU.
    Ipi,
    /// A task is woken.
    Wake,
}

impl Sign {
    /// All of them.
    pub const ALL: [Sign; 4] = [Sign::Doorbell, Sign::Irq, Sign::Ipi, Sign::Wake];

    /// In words.
    pub fn word(self) -> &'static str {
        ["doorbell", "interrupt", "IPI", "wake-up"][self as usize]
    }
}

/// A sign and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignAt {
    /// When, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: CpuId,
    /// For which CPU.
    pub to: CpuId,
    /// What.
    pub sign: Sign,
}

/// The inside of a device over the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// Which disk.
    pub queue: QueueId,
    /// What is shown, in words.
    pub what: &'static str,
    /// Where it is a position (of the head: 0 is the outer edge), not a share.
    pub place: bool,
    /// Values in each column: a disk has one head, an adapter those of its members.
    pub lines: usize,
    /// By column, 0 to 1.
    pub values: Vec<f32>,
    /// What the arm of a single disk is at, by column.
    pub work: Vec<HddWork>,
}

impl Inside {
    /// The outermost and innermost place of all heads in the window, 0 to 1.
    pub fn reach(&self) -> (f32, f32) {
        self.values.iter().fold((1.0, 0.0), |(low, high), v| (v.min(low), v.max(high)))
    }

    /// Share of the columns in which the arm is at this.
    pub fn share(&self, work: HddWork) -> f32 {
        self.work.iter().filter(|w| **w == work).count() as f32 / self.work.len().max(1) as f32
    }
}

/// The window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// The width asked for, ns; heat begins and ends with whole buckets.
    pub width_ns: u64,
    /// Its beginning, ns.
    pub from_ns: u64,
    /// Its end, ns.
    pub to_ns: u64,
    /// The playhead, ns.
    pub now_ns: u64,
    /// What it shows.
    pub level: Level,
    /// Up to here it is known, ns.
    pub known_ns: u64,
    /// The next look will know more.
    pub more: bool,
    /// What CPUs are at, in order of their beginning ([`Level::Lines`], [`Level::Signs`]).
    pub pieces: Vec<Piece>,
    /// Lines that move ([`Level::Lines`]).
    pub moves: Vec<Transfer>,
    /// Signs ([`Level::Signs`]).
    pub signs: Vec<SignAt>,
    /// Shares of time ([`Level::Device`], [`Level::Heat`]).
    pub strips: Vec<Strip>,
    /// Devices ([`Level::Device`]).
    pub inside: Vec<Inside>,
    /// I/Os by column ([`Level::Heat`]).
    pub ios: Vec<u32>,
}

/// A window that is being simulated.
#[derive(Clone)]
pub(super) struct Lens {
    window: Window,
    cursor: Box<Cursor>,
    /// The run at the beginning of the window, once it was there.
    start: Option<Box<Cursor>>,
    columns: Option<Columns>,
    /// What each CPU is at.
    open: Vec<Option<Piece>>,
    /// Columns that are over.
    column: u64,
}

impl Player {
    /// The window of this width around the playhead, ns, as far as it is known; a look makes more of it known.
    ///
    /// It moves by half its width at a time, and the playhead is in its middle half, so that while time runs only the
    /// playhead moves.
    pub fn look(&self, width_ns: u64) -> Window {
        let end = self.duration_ns().max(1);
        let width = width_ns.clamp(WIDTH_MIN_NS.min(end), end);
        let now_ns = self.now_ns();
        let half = (width / 2).max(1);
        let from_ns = (now_ns / half * half).saturating_sub(width / 4).min(end - width);
        let level = self.level(width);
        let (to_ns, known_ns) = (from_ns + width, from_ns);
        let mut window =
            Window { width_ns: width, from_ns, to_ns, now_ns, level, known_ns, ..Window::default() };
        if level == Level::Heat {
            self.heat(&mut window);
            return window;
        }
        let mut lens = self.lens.borrow_mut();
        let place = |w: &Window| (w.from_ns, w.to_ns, w.level);
        if lens.as_ref().is_none_or(|l| place(&l.window) != place(&window)) {
            *lens = self.lens_at(window.clone(), lens.take());
        }
        let Some(lens) = lens.as_mut() else { return window };
        lens.go_on(self);
        Window { now_ns, ..lens.seen() }
    }

    /// What a window of this width shows in this run, ns.
    pub fn level(&self, width_ns: u64) -> Level {
        let many = self.timeline.events_in(width_ns) > EVENTS_MAX || width_ns >= self.duration_ns();
        if many { Level::Heat } else { Level::of(width_ns) }
    }

    /// The buckets that the window touches; it begins and ends where they do.
    fn heat(&self, window: &mut Window) {
        let bucket = self.timeline.bucket_ns();
        let all = self.duration_ns().div_ceil(bucket).max(1);
        let range = (window.from_ns / bucket) as usize..window.to_ns.div_ceil(bucket).min(all) as usize;
        let range = range.start..range.end.min(self.timeline.buckets().len());
        (window.from_ns, window.to_ns) = (range.start as u64 * bucket, range.end as u64 * bucket);
        let known = self.timeline.explored_ns();
        let whole = known >= window.to_ns.min(self.duration_ns());
        window.known_ns = if whole { window.to_ns } else { known.clamp(window.from_ns, window.to_ns) };
        window.ios = self.timeline.buckets()[range.clone()].iter().map(|b| b.ios).collect();
        window.strips = self.timeline.strips(range);
    }

    /// A new lens for a window: from where the last one began, or from the nearest checkpoint.
    fn lens_at(&self, window: Window, last: Option<Box<Lens>>) -> Option<Box<Lens>> {
        let spread = self.checkpoints.before_time(window.from_ns)?;
        let kept = last.and_then(|l| l.start);
        let kept = kept.filter(|c| c.scene.now_ns() <= window.from_ns && c.seq > spread.seq);
        let cursor = kept.unwrap_or_else(|| Box::new(spread.cursor()));
        let open = vec![None; cursor.scene.cpus().len()];
        Some(Box::new(Lens { window, cursor, start: None, columns: None, open, column: 0 }))
    }
}

impl Lens {
    /// Simulates on, for as long as a look may take.
    fn go_on(&mut self, player: &Player) {
        let Self { window, cursor, start, columns, open, column } = self;
        let begin = player.clock.map(|c| c());
        let late = || matches!((player.clock, begin), (Some(c), Some(b)) if c() - b > LOOK_BUDGET_MS);
        let (from, to) = (window.from_ns, window.to_ns);
        window.more = true;
        if start.is_none() {
            let mut done = 0;
            while cursor.advance(&player.changes, from.saturating_sub(1)) {
                done += 1;
                if done % CLOCK_EVERY == 0 && late() {
                    return;
                }
            }
            *start = Some(cursor.clone());
            cursor.scene.pass_to(from);
            watch(cursor, open, window);
        }
        let slice = ((to - from) / COLUMNS as u64).max(1);
        let columns = columns.get_or_insert_with(|| Columns::new(&cursor.sim, from, slice, COLUMNS));
        while window.known_ns < to {
            // The device moves by itself between two events, so it is asked at the middle of each column.
            let middle = from + *column * slice + slice / 2;
            let until = if *column == COLUMNS as u64 { to } else { middle.min(to) };
            let mut more = true;
            while more {
                let next = cursor.sim.next_event_ns().map_or(until, |at| at.min(until));
                columns.close(&cursor.sim, next);
                more = cursor.step(&player.changes, until);
                while cursor.apply_logged() {
                    note(cursor, cursor.event(), window);
                }
                watch(cursor, open, window);
            }
            window.known_ns = until;
            if window.level == Level::Device && *column < COLUMNS as u64 {
                look_into(cursor, until, window);
            }
            *column += 1;
            if window.pieces.len().max(window.moves.len()).max(window.signs.len()) > KEPT_MAX {
                break;
            }
            if late() {
                return;
            }
        }
        window.more = false;
    }

    /// What is known so far.
    fn seen(&self) -> Window {
        let mut window = self.window.clone();
        for piece in &self.open {
            keep(*piece, window.known_ns, &mut window);
        }
        window.pieces.sort_by_key(|p| (p.from_ns, p.cpu));
        if let Some(columns) = self.columns.as_ref().filter(|_| window.level == Level::Device) {
            window.strips = columns.strips(0..COLUMNS);
        }
        window
    }
}

/// What a CPU is at: kind of time, function, lock that it spins for.
fn doing(cursor: &Cursor, cpu: CpuId, named: bool) -> Option<(Mode, &'static str, ObjectId)> {
    let state = cursor.scene.cpus().get(usize::from(cpu))?;
    let frame = state.frame()?;
    if let Some(spin) = state.spin {
        return Some((Mode::Spin, "", spin.lock));
    }
    let mode = match frame.context {
        Context::HardIrq => Mode::HardIrq,
        Context::SoftIrq => Mode::SoftIrq,
        Context::Kworker => Mode::System,
        Context::Task => match cursor.scene.tasks().get(usize::from(frame.task)) {
            Some(task) if task.syscall.is_none() => Mode::User,
            _ => Mode::System,
        },
        Context::Idle => return None,
    };
    let function = if named { cursor.sim.stack(cpu).last().copied().unwrap_or_default() } else { "" };
    Some((mode, function, NONE))
}

/// Ends the pieces of CPUs that are at something else now, and begins new ones.
fn watch(cursor: &Cursor, open: &mut [Option<Piece>], window: &mut Window) {
    if window.level > Level::Signs {
        return;
    }
    let at_ns = cursor.sim.now_ns().clamp(window.from_ns, window.to_ns);
    for (cpu, piece) in (0..).zip(open) {
        let now = doing(cursor, cpu, window.level == Level::Lines);
        if piece.as_ref().map(|p| (p.mode, p.function, p.lock)) == now {
            continue;
        }
        let fresh = now.map(|(mode, function, lock)| Piece {
            cpu,
            from_ns: at_ns,
            to_ns: at_ns,
            mode,
            function,
            lock,
        });
        let over = std::mem::replace(piece, fresh);
        keep(over, at_ns, window);
    }
}

fn keep(piece: Option<Piece>, to_ns: u64, window: &mut Window) {
    if let Some(piece) = piece.filter(|p| p.from_ns < to_ns) {
        window.pieces.push(Piece { to_ns, ..piece });
    }
}

/// Notes what is a line's move or a sign.
fn note(cursor: &Cursor, event: &Event, window: &mut Window) {
    if event.at_ns < window.from_ns {
        return;
    }
    let (at_ns, cpu) = (event.at_ns, event.cpu);
    let (sign, to) = match event.kind {
        Kind::LockAcquire { transfer_ns, from, .. } | Kind::LineTransfer { transfer_ns, from, .. } => {
            let moved = cursor
                .scene
                .transfers()
                .next_back()
                .filter(|t| (t.at_ns, t.to, t.from) == (at_ns, cpu, from));
            if let Some(moved) = moved.filter(|_| transfer_ns > 0 && window.level == Level::Lines) {
                window.moves.push(*moved);
            }
            return;
        }
        Kind::Doorbell { .. } => (Sign::Doorbell, cpu),
        Kind::Irq { .. } => (Sign::Irq, cpu),
        Kind::Ipi { target } => (Sign::Ipi, target),
        Kind::TaskWake { task } => {
            (Sign::Wake, cursor.scene.tasks().get(usize::from(task)).map_or(cpu, |t| t.cpu))
        }
        _ => return,
    };
    if window.level == Level::Signs {
        window.signs.push(SignAt { at_ns, cpu, to, sign });
    }
}

/// One more column of each device.
fn look_into(cursor: &Cursor, at_ns: u64, window: &mut Window) {
    let topology = cursor.scene.topology();
    // A stacked disk has no device of its own.
    for (queue, fixed) in (0..).zip(&topology.queues).filter(|(_, q)| q.queue_depth > 0) {
        let view = cursor.sim.device_view_at(queue, at_ns);
        let share = |part: usize, whole: usize| part as f32 / whole.max(1) as f32;
        let at_work = |dies: &[DieWork]| dies.iter().filter(|d| **d != DieWork::Idle).count();
        let inner: Vec<&DeviceView> = match &view {
            Some(DeviceView::Adapter(adapter)) => adapter.members.iter().map(|m| &*m.disk).collect(),
            view => view.iter().collect(),
        };
        let heads: Vec<f32> = inner
            .iter()
            .filter_map(|v| if let DeviceView::Hdd(disk) = v { Some(disk.arm) } else { None })
            .collect();
        let (mut busy, mut dies) = (0, 0);
        for flash in inner.iter().filter_map(|v| if let DeviceView::Flash(f) = v { Some(f) } else { None }) {
            (busy, dies) = (busy + at_work(&flash.dies), dies + flash.dies.len());
        }
        let (what, place, values) = match (heads.len(), dies) {
            (1, _) => ("head", true, heads),
            (2.., _) => ("heads of its members", true, heads),
            (0, 1..) => ("dies at work", false, vec![share(busy, dies)]),
            _ => {
                let n = cursor.scene.standing_len(Standing::Device(queue));
                ("commands of its depth", false, vec![share(n as usize, fixed.queue_depth as usize).min(1.0)])
            }
        };
        let work = match inner.as_slice() {
            [DeviceView::Hdd(disk)] => Some(disk.work),
            _ => None,
        };
        match window.inside.iter_mut().find(|i| i.queue == queue) {
            Some(inside) => {
                inside.values.extend(values);
                inside.work.extend(work);
            }
            None => {
                let (lines, work) = (values.len(), work.into_iter().collect());
                window.inside.push(Inside { queue, what, place, lines, values, work });
            }
        }
    }
}

#[cfg(test)]
mod tests;
