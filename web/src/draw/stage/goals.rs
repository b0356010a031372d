//! Where each live request belongs: its place in the scene, turned into a point of the layout.

use crate::draw::layout::{DeviceBox, ElevatorBox, Lane, Layout, UnitKind, Units};
use crate::draw::paint::{Mark, Rect};
use crate::draw::palette::Tone;
use crate::draw::sprites::Goal;
use crate::scene::{Request, Scene, Slot, Span, Spot, Standing};
use mqscope_core::event::{CpuId, Stage as DeviceStage};

/// Counters reused from frame to frame, so that a frame allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    rows: Vec<[u32; 4]>,
    units: Vec<u16>,
    /// Requests of a scheduler by direction and sector.
    sorted: Vec<(bool, u64, Slot)>,
}

/// A tray of a lane.
#[derive(Clone, Copy)]
enum Tray {
    Submit = 0,
    Plug = 1,
    Ctx = 2,
    Done = 3,
}

/// How a request looks at `now_ns`.
pub fn look(request: &Request, now_ns: u64) -> Mark {
    let tone = match request.spot {
        Spot::Submit(_) | Spot::Plug(_) => Tone::Submit,
        Spot::TagWait(_) => Tone::Idle,
        Spot::Ctx(_) | Spot::Elevator(_) | Spot::DispatchList(_) | Spot::Hand(_) => Tone::Queued,
        Spot::Device(_) => Tone::Device,
        Spot::Completing(_) | Spot::Ring(_) | Spot::Done(_) => Tone::Back,
    };
    let hatched = match request.spot {
        Spot::TagWait(_) | Spot::Ring(_) | Spot::DispatchList(_) => true,
        Spot::Device(_) => request
            .span_at(now_ns)
            .is_some_and(|s| s.stage == DeviceStage::DieWait && s.start_ns <= now_ns && now_ns < s.end_ns),
        _ => false,
    };
    let refused = request.refusals > 0;
    Mark { square: request.is_write(), tone, merged: request.bios > 1, notched: refused, hatched }
}

/// Place number `k` of `n` in a tray, first at the side where the way goes on.
pub fn in_tray(tray: Rect, k: u32, n: u32, dot: f32, first_right: bool) -> Goal {
    // More than one row can hold side by side stand in several, if the tray is high enough.
    let rows = (tray.h / (dot * 2.5)).floor();
    if first_right && rows >= 2.0 && n as f32 * dot * 2.5 > tray.w {
        return in_block(tray.inset(dot * 0.3), k, n, dot);
    }
    let room = (tray.w - 2.4 * dot).max(0.0);
    let pitch = if n > 1 { (room / (n - 1) as f32).min(dot * 2.5) } else { 0.0 };
    let off = dot * 1.2 + k as f32 * pitch;
    let x = if first_right { tray.right() - off } else { tray.x + off };
    Goal { at: (x, tray.y + tray.h / 2.0), radius: dot }
}

/// Place number `k` of `n` in a block, filled column by column from the right, where the way goes on; smaller where
/// there are many.
pub fn in_block(block: Rect, k: u32, n: u32, dot: f32) -> Goal {
    let mut pitch = dot * 2.5;
    while pitch > 1.5 && ((block.w / pitch).floor() * (block.h / pitch).floor()) < n as f32 {
        pitch *= 0.92;
    }
    let rows = ((block.h / pitch).floor() as u32).max(1);
    let (column, row) = (k / rows, k % rows);
    let used = rows.min(n.max(1)) as f32;
    let y = block.y + (block.h - used * pitch) / 2.0 + (row as f32 + 0.5) * pitch;
    let x = block.right() - (column as f32 + 0.5) * pitch;
    Goal { at: (x.max(block.x + pitch * 0.3), y), radius: (pitch * 0.46).clamp(1.2, dot) }
}

/// The part of a lane in which bios of its tasks appear and disappear.
pub fn home(lane: &Lane) -> (f32, f32) {
    (lane.submit.x, lane.rect.y + lane.rect.h / 2.0)
}

fn row_of(layout: &Layout, cpu: CpuId) -> usize {
    layout.lane_of.get(cpu as usize).map_or(0, |&r| r as usize)
}

/// Calls `each` for every live request with the point it belongs to.
pub fn for_each(
    layout: &Layout,
    scene: &Scene,
    counters: &mut Counters,
    mut each: impl FnMut(Slot, &Request, Goal),
) {
    if layout.lanes.is_empty() {
        return;
    }
    let dot = layout.dot;
    lanes(layout, scene, counters, dot, &mut each);
    for at in &layout.elevators {
        elevator(scene, counters, at, dot, &mut each);
    }
    let topology = scene.topology();
    for id in 0..topology.hctxs.len() as u16 {
        let standing = Standing::DispatchList(id);
        let n = scene.standing_len(standing);
        if n > 0
            && let Some(at) = layout.hctx(id)
        {
            for (k, (slot, request)) in scene.standing_at(standing).enumerate() {
                each(slot, request, in_tray(at.dispatch, k as u32, n, dot, true));
            }
        }
    }
    hands(layout, scene, dot, &mut each);
    for (queue, at) in layout.devices.iter().enumerate() {
        device(scene, counters, at, queue as u16, &mut each);
    }
}

fn lanes(
    layout: &Layout,
    scene: &Scene,
    counters: &mut Counters,
    dot: f32,
    each: &mut impl FnMut(Slot, &Request, Goal),
) {
    let topology = scene.topology();
    // First how many share each tray, then each one's place in it: folded CPUs share a row.
    let places = || {
        let cpus = (0..topology.cpus.len() as CpuId).flat_map(move |c| {
            [(c, Tray::Submit, Standing::Submit(c)), (c, Tray::Done, Standing::Completing(c))]
        });
        let queues = topology.queues.len() as u16;
        let ctxs = (0..topology.cpus.len() as CpuId)
            .flat_map(move |c| (0..queues).map(move |q| (c, Tray::Ctx, Standing::Ctx(q, c))));
        let tasks = (0..topology.tasks.len() as u16).flat_map(|t| {
            let cpu = scene.tasks()[t as usize].cpu;
            [(cpu, Tray::Plug, Standing::Plug(t)), (cpu, Tray::Done, Standing::Ring(t))]
        });
        cpus.chain(ctxs).chain(tasks)
    };
    let rows = layout.lanes.len();
    counters.rows.clear();
    counters.rows.resize(rows * 2, [0; 4]);
    let (total, next) = counters.rows.split_at_mut(rows);
    for (cpu, tray, standing) in places() {
        total[row_of(layout, cpu)][tray as usize] += scene.standing_len(standing);
    }
    // A bio that waits for a tag stands where it was being submitted.
    let waits = || (0..topology.hctxs.len() as u16).flat_map(|h| scene.standing_at(Standing::TagWait(h)));
    for (_, request) in waits() {
        total[row_of(layout, request.cpu)][Tray::Submit as usize] += 1;
    }
    let mut put = |cpu: CpuId, tray: Tray, slot: Slot, request: &Request| {
        let row = row_of(layout, cpu);
        let (k, n) = (next[row][tray as usize], total[row][tray as usize]);
        next[row][tray as usize] += 1;
        let lane = &layout.lanes[row];
        let at = match tray {
            Tray::Submit => in_tray(lane.submit, k, n, dot, true),
            Tray::Plug => in_tray(lane.plug, k, n, dot, true),
            Tray::Ctx => in_tray(lane.ctx, k, n, dot, true),
            Tray::Done => in_tray(lane.done, k, n, dot, true),
        };
        each(slot, request, at);
    };
    for (cpu, tray, standing) in places() {
        for (slot, request) in scene.standing_at(standing) {
            put(cpu, tray, slot, request);
        }
    }
    for (slot, request) in waits() {
        put(request.cpu, Tray::Submit, slot, request);
    }
}

/// Queued requests in sector order, reads and writes apart.
fn elevator(
    scene: &Scene,
    counters: &mut Counters,
    at: &ElevatorBox,
    dot: f32,
    each: &mut impl FnMut(Slot, &Request, Goal),
) {
    let sorted = &mut counters.sorted;
    sorted.clear();
    let queued = scene.standing_at(Standing::Elevator(at.queue));
    sorted.extend(queued.map(|(slot, r)| (r.is_write(), r.extent.sector, slot)));
    sorted.sort_unstable();
    let reads = sorted.partition_point(|(write, ..)| !write);
    let (reads, writes) = sorted.split_at(reads);
    for (list, queued) in at.lists.into_iter().zip([reads, writes]) {
        for (k, &(.., slot)) in queued.iter().enumerate() {
            let Some(request) = scene.at(slot) else { continue };
            each(slot, request, in_sweep(list, k as u32, queued.len() as u32, dot, at.upright));
        }
    }
}

/// Place number `k` of `n` along a sweep over the disk: lowest sector at the top or at the left.
pub fn in_sweep(list: Rect, k: u32, n: u32, dot: f32, upright: bool) -> Goal {
    let (x, y) = list.centre();
    let length = if upright { list.h } else { list.w };
    let room = (length - 2.4 * dot).max(0.0);
    let pitch = if n > 1 { (room / (n - 1) as f32).min(dot * 2.5) } else { 0.0 };
    let off = (dot * 1.2).min(length / 2.0) + k as f32 * pitch;
    Goal { at: if upright { (x, list.y + off) } else { (list.x + off, y) }, radius: dot }
}

/// The line of a runner in an hctx's hand: one for each CPU inside dispatch, as many as fit.
pub fn hand_line(hand: Rect, line: usize, lines: usize, compact: bool, text: f32) -> Rect {
    let lines = lines.max(1);
    if compact {
        let w = hand.w / lines as f32;
        return Rect::new(hand.x + w * line.min(lines - 1) as f32, hand.y, w, hand.h);
    }
    // As many rows as can be read; the others stand in further columns.
    let rows = ((hand.h / (text * 1.15)) as usize).clamp(1, lines);
    let columns = lines.div_ceil(rows);
    let (w, h) = (hand.w / columns as f32, (hand.h / rows as f32).min(text * 2.4));
    let (column, row) = (line.min(lines - 1) / rows, line.min(lines - 1) % rows);
    Rect::new(hand.x + w * column as f32, hand.y + h * row as f32, w, h)
}

/// Row of an engine in the part of the device where commands are parsed.
pub fn engine_row(at: &DeviceBox, engine: u32) -> Rect {
    let h = at.engine.h / at.engines.max(1) as f32;
    Rect { y: at.engine.y + (engine % at.engines.max(1)) as f32 * h, h, ..at.engine }
}

/// Width of a CPU tag with this text size.
pub fn tag_width(text: f32) -> f32 {
    text * 2.1
}

fn hands(layout: &Layout, scene: &Scene, dot: f32, each: &mut impl FnMut(Slot, &Request, Goal)) {
    for cpu in 0..scene.topology().cpus.len() as CpuId {
        let n = scene.standing_len(Standing::Hand(cpu));
        if n == 0 {
            continue;
        }
        for (k, (slot, request)) in scene.standing_at(Standing::Hand(cpu)).enumerate() {
            let Some(at) = layout.hctx(request.hctx) else { continue };
            let runners = scene.hctxs().get(request.hctx as usize).map_or(&[][..], |h| h.runners());
            let line = runners.iter().position(|&c| c == cpu).unwrap_or(runners.len().saturating_sub(1));
            let mut line = hand_line(at.hand, line, runners.len(), at.compact, layout.text);
            line.take_left(tag_width(layout.text));
            each(slot, request, in_tray(line, k as u32, n, dot, true));
        }
    }
}

/// Which part of the device a request is in.
enum Part<'a> {
    /// At the driver's side: on its way in.
    Gate,
    /// Controller, firmware engine of this number, or the one station.
    Engine(u32),
    /// The front end of a member disk.
    Front(&'a Units, u32),
    /// A die: number of the unit, number inside it.
    Cell(&'a Units, u32, u32),
    /// On its way out.
    Link,
    /// Done; the interrupt is still to come.
    Exit,
}

fn part<'a>(at: &'a DeviceBox, request: &Request, now_ns: u64) -> Part<'a> {
    let Some(span) = request.span_at(now_ns) else { return Part::Gate };
    let inbound = request.spans().first() == Some(span);
    let over = span.end_ns <= now_ns;
    let units = at.units.as_ref();
    match span.stage {
        DeviceStage::Link if inbound && !over => Part::Gate,
        // The disk has it in its queue and has not chosen it yet.
        DeviceStage::Link if inbound => Part::Engine(0),
        DeviceStage::Link if over && !inbound => Part::Exit,
        DeviceStage::Link => Part::Link,
        DeviceStage::Service | DeviceStage::WriteBuffer | DeviceStage::WriteBack if over => Part::Exit,
        DeviceStage::Firmware => Part::Engine(span.unit.into()),
        DeviceStage::Cache if over => Part::Exit,
        DeviceStage::Transfer if over && request.spans().last() == Some(span) => Part::Exit,
        DeviceStage::Queued
        | DeviceStage::Seek
        | DeviceStage::Rotate
        | DeviceStage::Transfer
        | DeviceStage::Cache
            if units.is_some_and(|u| u.kind == UnitKind::DiskMembers) =>
        {
            front(units, span)
        }
        DeviceStage::Service
        | DeviceStage::Controller
        | DeviceStage::WriteBuffer
        | DeviceStage::WriteBack
        | DeviceStage::Program
        | DeviceStage::Queued
        | DeviceStage::Seek
        | DeviceStage::Rotate
        | DeviceStage::Transfer
        | DeviceStage::Cache
        | DeviceStage::Destage
        | DeviceStage::ReadAhead => Part::Engine(0),
        // Its data are off the die and queue for the channel and the link.
        DeviceStage::Channel if over => Part::Link,
        DeviceStage::Channel => match units {
            Some(at) if at.kind == UnitKind::Channels => front(units, span),
            _ => Part::Link,
        },
        DeviceStage::Die if over => Part::Link,
        DeviceStage::Member | DeviceStage::MemberWait => front(units, span),
        DeviceStage::DieWait | DeviceStage::Die => match units {
            Some(units) => {
                let (unit, inner) = units.place(span.unit.into());
                Part::Cell(units, unit, inner)
            }
            None => Part::Engine(0),
        },
    }
}

/// The front of the unit that a span is about.
fn front<'a>(units: Option<&'a Units>, span: &Span) -> Part<'a> {
    match units {
        Some(units) => Part::Front(units, u32::from(span.unit) % units.grid.count.max(1)),
        None => Part::Engine(0),
    }
}

fn device(
    scene: &Scene,
    counters: &mut Counters,
    at: &DeviceBox,
    queue: u16,
    each: &mut impl FnMut(Slot, &Request, Goal),
) {
    let now = scene.now_ns();
    let list = || scene.standing_at(Standing::Device(queue)).map(|(slot, r)| (slot, r, part(at, r, now)));
    // Those who stand in the same part share its room, in the order in which they were issued.
    let mut total = [0u32; 4];
    for (.., part) in list() {
        match part {
            Part::Gate => total[0] += 1,
            Part::Engine(_) => total[1] += 1,
            Part::Link => total[2] += 1,
            Part::Exit => total[3] += 1,
            Part::Front(..) | Part::Cell(..) => {}
        }
    }
    counters.units.clear();
    counters.units.resize(at.units.as_ref().map_or(0, Units::cells) as usize, 0);
    let (mut next, mut next_exit) = ([0u32; 3], 0);
    let dot = at.dot;
    let exit = at.exit();
    let mut block = |i: usize, rect: Rect| {
        let k = next[i];
        next[i] += 1;
        in_block(rect, k, total[i], dot)
    };
    let mut nth = |cell: u32| {
        let count = &mut counters.units[cell as usize];
        *count += 1;
        *count - 1
    };
    for (slot, request, part) in list() {
        let point = match part {
            Part::Gate => block(0, at.gauge),
            // Its time there runs from left to right, so that a queue looks like one.
            Part::Engine(engine) if at.engines > 1 => {
                let row = engine_row(at, engine);
                Goal { at: (along(row, dot, request, now), row.centre().1), radius: dot }
            }
            Part::Engine(_) => {
                let place = block(1, at.engine);
                Goal { at: (along(at.engine, dot, request, now), place.at.1), ..place }
            }
            Part::Link => block(2, at.link),
            Part::Exit => {
                let k = next_exit;
                next_exit += 1;
                in_tray(exit, k, total[3], dot, true)
            }
            // At a disk that chooses, time says nothing about the order.
            Part::Front(units, unit) if units.kind == UnitKind::DiskMembers => {
                let (front, k) = (units.front(unit), nth(unit));
                let x = front.right() - dot * (1.2 + f32::from(k) * 1.6);
                Goal { at: (x.max(front.x + dot), front.centre().1), radius: dot }
            }
            Part::Front(units, unit) => {
                let front = units.front(unit);
                Goal { at: (along(front, dot, request, now), front.centre().1), radius: dot }
            }
            Part::Cell(units, unit, inner) => {
                let k = nth(unit * units.cells() / units.grid.count.max(1) + inner);
                in_cell(units.inner_cell(unit, inner), k, dot)
            }
        };
        each(slot, request, point);
    }
}

/// Horizontal place of a request in a stage that takes it from left to right.
fn along(rect: Rect, dot: f32, request: &Request, now_ns: u64) -> f32 {
    let share = request.span_at(now_ns).map_or(1.0, |s| s.share(now_ns));
    rect.x + dot * 1.2 + (rect.w - 2.4 * dot).max(0.0) * share
}

/// The dies that work at `now_ns`, with how far each is.
pub fn busy_cells<'a>(
    at: &'a DeviceBox,
    scene: &'a Scene,
    queue: u16,
) -> impl Iterator<Item = (Rect, f32)> + 'a {
    let now = scene.now_ns();
    scene.standing_at(Standing::Device(queue)).filter_map(move |(_, request)| {
        let span = request.span_at(now).filter(|s| s.stage == DeviceStage::Die && s.start_ns <= now)?;
        match part(at, request, now) {
            Part::Cell(units, unit, inner) => Some((units.inner_cell(unit, inner), span.share(now))),
            _ => None,
        }
    })
}

/// Number of the cell in which a request is, all cells of the device counted; `None` elsewhere in it.
pub fn cell_of(at: &DeviceBox, request: &Request, now_ns: u64) -> Option<usize> {
    match part(at, request, now_ns) {
        Part::Cell(units, unit, inner) => {
            Some((unit * units.cells() / units.grid.count.max(1) + inner) as usize)
        }
        _ => None,
    }
}

/// Point number `k` in a unit's cell: the first in its middle, the next ones in a row behind it.
fn in_cell(cell: Rect, k: u16, dot: f32) -> Goal {
    let (x, y) = cell.centre();
    if k == 0 {
        return Goal { at: (x, y), radius: dot };
    }
    // A sunflower keeps any number apart and inside.
    let angle = f32::from(k) * 2.399_963;
    let reach = (cell.w.min(cell.h) / 2.0 - dot * 0.5).max(1.0);
    let radius = (f32::from(k).sqrt() * dot * 1.1).min(reach);
    Goal { at: (x + angle.cos() * radius, y + angle.sin() * radius), radius: dot }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tray_holds_everyone_however_many_there_are() {
        let tray = Rect::new(10.0, 0.0, 80.0, 12.0);
        for n in [1, 5, 16, 400] {
            let mut last = f32::INFINITY;
            for k in 0..n {
                let (x, y) = in_tray(tray, k, n, 4.0, true).at;
                assert!(tray.holds(x, y), "{k} of {n} at {x}, {y}");
                assert!(x < last, "first in stands nearest to the exit");
                last = x;
            }
        }
    }

    #[test]
    fn a_sweep_goes_from_the_lowest_sector_on_and_holds_everyone() {
        let list = Rect::new(10.0, 5.0, 14.0, 90.0);
        for n in [1, 5, 400] {
            let mut last = f32::NEG_INFINITY;
            for k in 0..n {
                let (x, y) = in_sweep(list, k, n, 4.0, true).at;
                assert!(list.holds(x, y), "{k} of {n} at {x}, {y}");
                assert!(y > last);
                last = y;
            }
        }
    }

    #[test]
    fn a_block_holds_a_thousand() {
        let block = Rect::new(0.0, 0.0, 60.0, 200.0);
        for n in [1, 30, 1_000] {
            for k in 0..n {
                let (x, y) = in_block(block, k, n, 4.0).at;
                assert!(block.holds(x, y), "{k} of {n} at {x}, {y}");
            }
        }
    }
}
