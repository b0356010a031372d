//! The inside of a device as the simulation has it: dies and channels, engines, members, links, and how full its write
//! buffer or cache is.

use super::Stage;
use super::goals::engine_row;
use super::platter;
use crate::draw::layout::{DeviceBox, UnitKind, Units};
use crate::draw::paint::{Align, Paint, Rect, Type};
use crate::draw::palette::{Palette, Tone};
use crate::words;
use mqscope_core::device::{AdapterView, DeviceView, DieWork, FlashView, MemberView};

/// A column of a folded strip is at least this wide, CSS pixels.
const COLUMN_MIN: f32 = 2.0;

impl Stage {
    /// What the devices are at, by queue; `None` where there is nothing inside.
    pub fn look_into(&mut self, devices: Vec<Option<DeviceView>>) {
        self.devices = devices;
    }

    /// Below the requests: what works.
    pub(super) fn live_inside(&self, at: &DeviceBox, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        match self.devices.get(at.queue as usize) {
            Some(Some(DeviceView::Hdd(disk))) => {
                if let Some(area) = at.platter {
                    platter::whole(disk, area, t, p, paint);
                }
            }
            Some(Some(DeviceView::Flash(flash))) => {
                if let Some(units) = &at.units {
                    dies(units, 0, &flash.dies, p, paint);
                    channels(units, flash, p, paint);
                }
                link(at, flash.link, p, paint);
                fill(
                    at,
                    t,
                    "buffer",
                    share(flash.buffer_pages.into(), flash.buffer_capacity.into()),
                    flash.buffer_waiting,
                    p,
                    paint,
                );
            }
            Some(Some(DeviceView::Adapter(adapter))) => self.adapter(at, adapter, p, paint),
            _ => {}
        }
    }

    fn adapter(&self, at: &DeviceBox, adapter: &AdapterView, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        for (engine, _) in adapter.engines.iter().enumerate().filter(|(_, busy)| **busy) {
            let row = engine_row(at, engine as u32);
            paint.fill(
                row.inset((row.h * 0.12).min(1.5)),
                (row.h * 0.25).min(t * 0.3),
                p.tone(Tone::Device),
                0.16,
            );
        }
        link(at, adapter.link, p, paint);
        if adapter.cache_limit > 0 {
            let share = share(adapter.cache_bytes, adapter.cache_limit);
            fill(at, t, "cache", share, adapter.cache_waiting, p, paint);
        }
        let Some(units) = &at.units else { return };
        for (number, member) in adapter.members.iter().enumerate() {
            self.member(units, number as u32, member, p, paint);
        }
    }

    fn member(&self, units: &Units, number: u32, member: &MemberView, p: &Palette, paint: &mut impl Paint) {
        let t = self.layout.text;
        match &*member.disk {
            DeviceView::Flash(flash) => {
                let per = units.inner.as_ref().map_or(1, |(_, g)| g.count);
                dies(units, number * per, &flash.dies, p, paint);
            }
            DeviceView::Hdd(disk) => {
                let mut cell = units.grid.cell(number);
                cell.take_top(units.front(number).h);
                let mut cell = cell.inset(t * 0.3);
                // What it has in hand and what waits for it, where there is room for a number.
                let line = if cell.h > t * 4.5 { cell.take_bottom(t * 1.2) } else { Rect::default() };
                platter::platter(disk, cell, p, paint);
                let face = Type { size: t * 0.78, mono: true, strong: false };
                let text = match member.waiting {
                    0 => member.in_flight.to_string(),
                    waiting => format!("{}+{waiting}", member.in_flight),
                };
                if line.w >= face.width(&text) {
                    let ink = if member.waiting > 0 { p.tone(Tone::Trouble) } else { p.ink_2 };
                    paint.text(&text, line.centre(), Align::Centre, face, ink, 1.0);
                }
            }
            DeviceView::Adapter(_) => {}
        }
    }
}

/// How much of `whole` is in use, 0 to 1.
fn share(part: u64, whole: u64) -> f32 {
    (part as f32 / whole.max(1) as f32).min(1.0)
}

/// Lower part of a die: a program; the rest: a read. A suspended program shows both.
fn dies(units: &Units, first: u32, dies: &[DieWork], p: &Palette, paint: &mut impl Paint) {
    if units.folded {
        return heat(units, first, dies, p, paint);
    }
    for (die, work) in dies.iter().enumerate() {
        let (unit, inner) = units.place(first + die as u32);
        let cell = units.inner_cell(unit, inner);
        let cell = cell.inset((cell.w.min(cell.h) * 0.08).clamp(0.3, 2.0));
        let (reads, programs) = work_of(*work);
        if programs {
            let h = cell.h * 0.4;
            paint.fill(Rect { y: cell.bottom() - h, h, ..cell }, 0.0, p.tone(Tone::Queued), 0.75);
        }
        if reads {
            let h = if programs { cell.h * 0.6 } else { cell.h };
            paint.fill(Rect { h, ..cell }, 0.0, p.tone(Tone::Device), 0.3);
        }
    }
}

/// Whether a die reads, and whether it has a program.
fn work_of(work: DieWork) -> (bool, bool) {
    match work {
        DieWork::Idle => (false, false),
        DieWork::Read => (true, false),
        DieWork::Program => (false, true),
        DieWork::Suspended => (true, true),
    }
}

/// Too many dies to be told apart: columns of neighbouring ones, filled from below by those that program and above
/// them by those that read.
fn heat(units: &Units, first: u32, dies: &[DieWork], p: &Palette, paint: &mut impl Paint) {
    let per = units.inner.as_ref().map_or(1, |(_, g)| g.count.max(1));
    for unit in 0..units.grid.count {
        let strip = units.strip(unit);
        let columns = ((strip.w / COLUMN_MIN) as u32).clamp(1, per);
        let w = strip.w / columns as f32;
        let mut counts = vec![[0u32; 3]; columns as usize];
        for (die, work) in dies.iter().enumerate() {
            let (own, inner) = units.place(first + die as u32);
            if own == unit {
                let (reads, programs) = work_of(*work);
                let column = &mut counts[(inner * columns / per) as usize];
                column[0] += 1;
                column[1] += u32::from(programs);
                column[2] += u32::from(reads && !programs);
            }
        }
        for (column, [all, programs, reads]) in counts.into_iter().enumerate().filter(|(_, c)| c[0] > 0) {
            let of = |n: u32| strip.h * n as f32 / all as f32;
            let x = strip.x + column as f32 * w;
            let y = strip.bottom() - of(programs);
            paint.fill(Rect::new(x, y, w, of(programs)), 0.0, p.tone(Tone::Queued), 0.75);
            paint.fill(Rect::new(x, y - of(reads), w, of(reads)), 0.0, p.tone(Tone::Device), 0.45);
        }
    }
}

/// A channel that moves a page.
fn channels(units: &Units, flash: &FlashView, p: &Palette, paint: &mut impl Paint) {
    if units.kind != UnitKind::Channels {
        return;
    }
    for (channel, _) in flash.channels.iter().enumerate().filter(|(_, busy)| **busy) {
        paint.fill(bus(units, channel as u32), 0.0, p.tone(Tone::Device), 0.8);
    }
}

/// The line along its dies that stands for a channel.
pub(super) fn bus(units: &Units, channel: u32) -> Rect {
    let front = units.front(channel);
    let h = (front.h * 0.5).clamp(1.0, 3.0);
    let strip = units.strip(channel);
    Rect { x: strip.x, y: strip.y - h - 0.5, w: strip.w, h }
}

/// The halves of the link: upper half to the device, lower half to the host.
fn link(at: &DeviceBox, busy: [bool; 2], p: &Palette, paint: &mut impl Paint) {
    let middle = at.link.centre().1;
    for (on, from, to) in [(busy[0], at.link.y, middle), (busy[1], middle, at.link.bottom())] {
        if on {
            paint.line(&[(at.link.x, from), (at.link.x, to)], p.tone(Tone::Device), 0.8, 2.5);
        }
    }
}

/// How full a buffer is, in a bar and in words, and how many wait for room in it.
fn fill(at: &DeviceBox, t: f32, name: &str, share: f32, waiting: u32, p: &Palette, paint: &mut impl Paint) {
    let Some(bar) = at.buffer else { return };
    paint.fill(bar, bar.h * 0.2, p.sunken, 1.0);
    paint.fill(
        Rect { w: bar.w * share, ..bar },
        (bar.h * 0.2).min(bar.w * share / 2.0),
        p.tone(Tone::Queued),
        0.45,
    );
    let face = Type { size: t * 0.78, mono: false, strong: waiting > 0 };
    let share = words::percent(f64::from(share));
    // The number is what matters where there is no room for both.
    let texts = match waiting {
        0 => [format!("{name} {share}"), share],
        n => [format!("{n} wait for {name}"), format!("{n} wait")],
    };
    let text = texts.iter().find(|text| face.width(text) <= bar.w).unwrap_or(&texts[1]);
    paint.text(&face.fit(text, bar.w), bar.centre(), Align::Centre, face, p.ink, 1.0);
}

/// The inside of a device in words, for who cannot see it.
pub fn in_words(view: &DeviceView) -> String {
    let percent = |part: u64, whole: u64| words::percent(f64::from(share(part, whole)));
    match view {
        DeviceView::Flash(flash) => {
            let count = |wanted: DieWork| flash.dies.iter().filter(|w| **w == wanted).count();
            let busy = flash.channels.iter().filter(|b| **b).count();
            format!(
                "{} dies read, {} program, {} read while a program is suspended, {} idle; {busy} of {} channels busy; \
                 write buffer {} full, {} wait for room; {} wait for the front end",
                count(DieWork::Read),
                count(DieWork::Program),
                count(DieWork::Suspended),
                count(DieWork::Idle),
                flash.channels.len(),
                percent(flash.buffer_pages.into(), flash.buffer_capacity.into()),
                flash.buffer_waiting,
                flash.front_waiting,
            )
        }
        DeviceView::Adapter(adapter) => {
            let engines = adapter.engines.iter().filter(|b| **b).count();
            let members: Vec<_> = adapter
                .members
                .iter()
                .map(|m| match (&*m.disk, m.waiting) {
                    (DeviceView::Hdd(disk), 0) => format!("{} ({})", m.in_flight, platter::word(disk.work)),
                    (_, 0) => m.in_flight.to_string(),
                    (_, waiting) => format!("{} and {waiting} waiting", m.in_flight),
                })
                .collect();
            let cache = match adapter.cache_limit {
                0 => String::new(),
                limit => format!(
                    "; write-back cache {} full, {} wait for room",
                    percent(adapter.cache_bytes, limit),
                    adapter.cache_waiting
                ),
            };
            format!(
                "{engines} of {} engines work; members have {}{cache}",
                adapter.engines.len(),
                members.join(", ")
            )
        }
        DeviceView::Hdd(disk) => format!(
            "the arm {}, at cylinder {} of {}; {} commands to choose from, {} behind them; write cache {} full, in {} runs{}",
            platter::word(disk.work),
            words::grouped(disk.cylinder),
            words::grouped(disk.cylinders),
            disk.queued.len(),
            disk.further,
            percent(disk.dirty_bytes, disk.dirty_limit),
            disk.dirty_runs,
            if disk.flushing { "; a flush holds back what came after it" } else { "" },
        ),
    }
}
