//! What is going on at the playhead, in one sentence, and what a part of the stage holds. No browser here.

use crate::draw::layout::BoxId;
use crate::draw::stage::in_words;
use crate::player::Player;
use crate::scene::{Cpu, NONE16, Scene, Spot, Standing};
use crate::words;
use mqscope_core::event::{CpuId, RqId};
use mqscope_core::topology::ObjectKind;

/// CPUs that spin for a lock are named up to this many.
const QUEUE_NAMED: usize = 6;

fn many(n: usize, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {more}", words::grouped(n as u64)) }
}

/// Where all requests are, and who spins for what.
pub fn sentence(scene: &Scene) -> String {
    let mut at = [0usize; 9];
    for (_, request) in scene.live() {
        let place = match request.spot {
            Spot::Submit(_) => 0,
            Spot::Plug(_) => 1,
            Spot::TagWait(_) => 2,
            Spot::Ctx(_) => 3,
            Spot::Elevator(_) => 4,
            Spot::DispatchList(_) => 5,
            Spot::Hand(_) => 6,
            Spot::Device(_) => 7,
            Spot::Completing(_) | Spot::Ring(_) | Spot::Done(_) => 8,
        };
        at[place] += 1;
    }
    let names = [
        "being submitted",
        "in plugs",
        "waiting for a tag",
        "in ctx lists",
        "in the scheduler",
        "on dispatch lists",
        "being dispatched",
        "with the device",
        "on the way back",
    ];
    let parts: Vec<String> = at
        .iter()
        .zip(names)
        .filter(|(n, _)| **n > 0)
        .map(|(n, name)| format!("{} {name}", words::grouped(*n as u64)))
        .collect();
    let mut text = match parts.is_empty() {
        true => String::from("Nothing is under way."),
        false => format!("{}: {}.", many(scene.live_len(), "request", "requests"), parts.join(", ")),
    };
    let spinning = scene.cpus().iter().filter(|c| c.spin.is_some()).count();
    if spinning > 0 {
        let crowded = scene.objects().iter().enumerate().max_by_key(|(_, o)| o.waiting());
        let name = crowded.and_then(|(i, _)| scene.topology().objects.get(i)).map_or("", |o| o.name.as_str());
        let most = crowded.map_or(0, |(_, o)| usize::from(o.waiting()));
        let whom = match (most, spinning) {
            (1, 2..) => String::from("each for a lock of its own"),
            (most, all) if most < all => format!("{} of them for {name}", words::grouped(most as u64)),
            _ => format!("for {name}"),
        };
        text += &format!(" {}, {whom}.", many(spinning, "CPU spins", "CPUs spin"));
    }
    text
}

/// How often something was taken or fetched, and how often that meant to wait (the table of locks and lines counts the
/// same).
pub fn of_them(times: u64, waited: u64) -> String {
    let times = if times == 1 { String::from("once") } else { format!("{} times", words::grouped(times)) };
    match waited {
        0 => format!("{times}, and none had to wait"),
        n => format!("{times}, {} of them had to wait", words::grouped(n)),
    }
}

/// What share of its time a CPU was busy with of late, and how much of that was spinning.
pub fn busy(scene: &Scene, cpu: &Cpu) -> String {
    let (now, half) = (scene.now_ns(), scene.half_ns());
    let (load, spin) = (f64::from(cpu.load(now, half)), f64::from(cpu.spin_load(now, half)));
    let work = format!("{} busy", words::percent(load));
    if spin < 1e-3 { work } else { format!("{work}, {} of it spinning", words::percent(spin / load)) }
}

fn cpu(scene: &Scene, cpu: CpuId) -> String {
    let t = scene.topology();
    let in_ctx: u32 = (0..t.queues.len() as u16).map(|q| scene.standing_len(Standing::Ctx(q, cpu))).sum();
    let plugs: u32 = (0..t.tasks.len() as u16)
        .filter(|i| scene.tasks().get(usize::from(*i)).is_some_and(|task| task.cpu == cpu))
        .map(|i| scene.standing_len(Standing::Plug(i)))
        .sum();
    let Some(state) = scene.cpus().get(usize::from(cpu)) else { return String::new() };
    let doing = match (state.spin, state.frame()) {
        (Some(spin), _) => {
            let name = t.objects.get(spin.lock as usize).map_or("a lock", |o| o.name.as_str());
            let spun = words::span(scene.now_ns().saturating_sub(spin.since_ns) as f64);
            format!("spins for {spun} on {name}, held by CPU {} when it came", spin.holder)
        }
        (None, Some(frame)) => match t.tasks.get(usize::from(frame.task)) {
            Some(task) => format!("runs {}", task.name),
            None => format!("in a {:?}", frame.context).to_lowercase(),
        },
        (None, None) => String::from("idle"),
    };
    format!("{doing}; {} of late; {plugs} in plugs, {in_ctx} in its ctx list", busy(scene, state))
}

/// What a part of the stage holds now.
pub fn part(player: &Player, id: &BoxId) -> String {
    let scene = player.scene();
    let t = scene.topology();
    match *id {
        BoxId::Cpu(id) => cpu(scene, id),
        BoxId::FoldedCpus(socket) => {
            let busy = |c: &(usize, &crate::scene::Cpu)| {
                c.1.frame().is_some() && t.cpus.get(c.0).is_some_and(|x| x.socket == socket)
            };
            format!("{} of the node run something now", scene.cpus().iter().enumerate().filter(busy).count())
        }
        BoxId::Hctx(id) => {
            let Some(hctx) = scene.hctxs().get(usize::from(id)) else { return String::new() };
            let runners = match hctx.runners() {
                [] => String::from("nobody runs it"),
                [one] => format!("CPU {one} runs it"),
                more => format!("{} CPUs run it", more.len()),
            };
            let waiting = scene.standing_len(Standing::DispatchList(id));
            format!(
                "{runners}; {waiting} on its dispatch list; dispatch_busy {}; {} runs so far",
                hctx.dispatch_busy, hctx.runs
            )
        }
        BoxId::Elevator(id) => {
            let tags = scene.queues().get(usize::from(id)).map_or(0, |q| q.sched_tags);
            format!("{} queued; {tags} sched tags in use", scene.standing_len(Standing::Elevator(id)))
        }
        BoxId::FoldedHctxs => String::new(),
        BoxId::Tags(id) => {
            let Some(hctx) = scene.hctxs().get(usize::from(id)) else { return String::new() };
            format!(
                "{} in use; {} bios wait for one",
                hctx.tags_in_use,
                scene.standing_len(Standing::TagWait(id))
            )
        }
        BoxId::Device(id) => {
            let Some(queue) = scene.queues().get(usize::from(id)) else { return String::new() };
            let inside =
                player.device_view(id).map(|view| format!("; {}", in_words(&view))).unwrap_or_default();
            format!(
                "{} with driver and device; {} issued, {} completed, {} refused so far{inside}",
                scene.standing_len(Standing::Device(id)),
                words::grouped(queue.issued),
                words::grouped(queue.completed),
                words::grouped(queue.requeued)
            )
        }
        BoxId::Object(id) => {
            let Some(o) = scene.objects().get(id as usize) else { return String::new() };
            let holder = match o.holder {
                Some((cpu, since)) => {
                    format!(
                        "held by CPU {cpu} for {}",
                        words::span(scene.now_ns().saturating_sub(since) as f64)
                    )
                }
                None if o.owner == NONE16 => String::from("not touched yet"),
                None => format!("last at CPU {}", o.owner),
            };
            let queue = scene.spinners(id);
            let spins = |&(cpu, since_ns): &(CpuId, u64)| {
                format!("CPU {cpu} for {}", words::span(scene.now_ns().saturating_sub(since_ns) as f64))
            };
            let mut spin = many(queue.len(), "CPU spins", "CPUs spin");
            if !queue.is_empty() {
                let named: Vec<String> = queue.iter().take(QUEUE_NAMED).map(spins).collect();
                let more = if queue.len() > QUEUE_NAMED { ", ..." } else { "" };
                spin += &format!(" in this order: {}{more}", named.join(", "));
            }
            let moved = o.transfer.map_or_else(String::new, |m| {
                let (far, price) = (m.distance(t).words(), words::span(m.cost_ns.into()));
                format!(", the last from CPU {} to CPU {} ({far}, {price})", m.from, m.to)
            });
            let lost = words::span(o.lost_ns as f64);
            if t.objects.get(id as usize).is_some_and(|o| o.kind == ObjectKind::Line) {
                return format!(
                    "{holder}; fetched from another CPU {}{moved}; {lost} lost",
                    of_them(o.transfers, o.contended)
                );
            }
            let (taken, transfers) = (of_them(o.count, o.contended), words::grouped(o.transfers));
            format!("{holder}; {spin}; taken {taken}; {transfers} moves between CPUs{moved}; {lost} lost")
        }
    }
}

/// The first request that stands in a part of the stage.
pub fn first_in(scene: &Scene, id: &BoxId) -> Option<RqId> {
    let t = scene.topology();
    let first = |place: Standing| scene.standing_at(place).map(|(_, r)| r.rq).find(|rq| *rq != 0);
    match *id {
        BoxId::Cpu(cpu) => {
            let tasks = (0..t.tasks.len() as u16)
                .filter(|i| scene.tasks().get(usize::from(*i)).is_some_and(|task| task.cpu == cpu));
            let queues = 0..t.queues.len() as u16;
            let places = [Standing::Submit(cpu), Standing::Hand(cpu), Standing::Completing(cpu)].into_iter();
            places
                .chain(queues.map(|q| Standing::Ctx(q, cpu)))
                .chain(tasks.flat_map(|i| [Standing::Plug(i), Standing::Ring(i)]))
                .find_map(first)
        }
        BoxId::Hctx(id) => first(Standing::DispatchList(id)),
        BoxId::Tags(id) => first(Standing::TagWait(id)),
        BoxId::Elevator(id) => first(Standing::Elevator(id)),
        BoxId::Device(id) => first(Standing::Device(id)),
        BoxId::FoldedCpus(_) | BoxId::FoldedHctxs | BoxId::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::Player;
    use mqscope_core::cases::case;

    #[test]
    fn every_request_under_way_is_counted_at_one_place() {
        let scenario = case("seed-000").expect("the case").sides().swap_remove(0).1;
        let mut player = Player::new(scenario).expect("it can be played");
        for at_ns in (100_000..1_000_000).step_by(37_313) {
            player.seek(at_ns);
            let said = sentence(player.scene());
            let first = said.split('.').next().unwrap_or_default();
            let number = |part: &str| -> usize {
                let digits: String = part.chars().filter(char::is_ascii_digit).collect();
                digits.parse().expect("a number")
            };
            let (all, parts) = first.split_once(':').expect("what there is");
            assert_eq!(parts.split(',').map(number).sum::<usize>(), number(all), "{said}");
            assert_eq!(number(all), player.scene().live_len());
        }
    }
}
