//! The window around the playhead in words and as a list, and the widths that it can have. No browser here.

use crate::draw::zoom::Zoom;
use crate::player::{Level, Player, Sign, WIDTH_MIN_NS, Window};
use crate::scene::Distance;
use crate::words;
use mqscope_core::device::HddWork;
use mqscope_core::topology::Topology;

/// Rows of the list at most.
const LIST_MAX: usize = 80;

/// Widths to choose from, ns: steps of 2 and 5 in each power of ten, and the whole run.
fn widths(end_ns: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (2..12).flat_map(|e| [2 * 10u64.pow(e), 5 * 10u64.pow(e)]).collect();
    all.retain(|w| (WIDTH_MIN_NS..end_ns).contains(w));
    all.push(end_ns);
    all
}

/// The next width, ns: closer or wider than `width_ns` in a run that ends at `end_ns`; `None` at either end.
pub fn step(width_ns: u64, end_ns: u64, closer: bool) -> Option<u64> {
    let all = widths(end_ns);
    match closer {
        true => all.into_iter().rev().find(|w| *w < width_ns),
        false => all.into_iter().find(|w| *w > width_ns),
    }
}

/// What the window shows, and what one step closer or wider would.
pub fn level(window: &Window, player: &Player) -> String {
    let (width, end_ns) = (window.width_ns, player.duration_ns());
    let span = words::span(width.min(end_ns) as f64);
    let what = match width < end_ns {
        true => format!("{span} around the playhead"),
        false => format!("The whole run, {span}"),
    };
    let mut text = format!("{what}: {}.", window.level.words());
    if window.known_ns < window.to_ns && !window.more {
        text += " What lies right of the broken line is not shown: too much happens, or it is not known yet.";
    }
    let next = |closer: bool| {
        let mut at = width;
        loop {
            at = step(at, end_ns, closer)?;
            let level = player.level(at);
            let other = if closer { level < window.level } else { level > window.level };
            if other {
                return Some((at, level));
            }
        }
    };
    for (closer, word) in [(true, "Closer"), (false, "Wider")] {
        if let Some((at, level)) = next(closer) {
            text += &format!(" {word}, at {}: {}.", words::span(at as f64), level.words());
        }
    }
    text
}

/// What is in view, for those who cannot see it.
pub fn summary(zoom: &Zoom, topology: &Topology) -> String {
    let w = &zoom.window;
    let mut parts: Vec<String> = Vec::new();
    match w.level {
        Level::Lines => {
            let lost: u64 = w.moves.iter().map(|m| u64::from(m.cost_ns)).sum();
            let of = |d: Distance| w.moves.iter().filter(|m| m.distance(topology) == d).count();
            let kinds: Vec<String> = [Distance::Core, Distance::Socket, Distance::Cache, Distance::Remote]
                .into_iter()
                .filter(|d| of(*d) > 0)
                .map(|d| format!("{} {}", of(d), d.words()))
                .collect();
            let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
            parts.push(match w.moves.len() {
                0 => String::from("no line moves"),
                1 => format!("1 line moves{kinds} for {}", words::span(lost as f64)),
                n => format!("{n} lines move{kinds} for {} in all", words::span(lost as f64)),
            });
            let spins = w.pieces.iter().filter(|p| p.mode == crate::player::Mode::Spin);
            let spun: u64 = spins.map(|p| p.to_ns - p.from_ns).sum();
            parts.push(format!("CPUs spin for {}", words::span(spun as f64)));
        }
        Level::Signs => parts.extend(Sign::ALL.map(|sign| {
            let n = w.signs.iter().filter(|s| s.sign == sign).count();
            format!("{n} {}{}", sign.word(), if n == 1 { "" } else { "s" })
        })),
        Level::Device => parts.extend(w.inside.iter().map(|inside| {
            let name = topology.queues.get(usize::from(inside.queue)).map_or("", |q| q.name.as_str());
            let mean = inside.values.iter().sum::<f32>() / inside.values.len().max(1) as f32;
            let lines = inside.lines.max(1);
            let pairs = inside.values.iter().zip(inside.values.iter().skip(lines));
            let way = pairs.map(|(a, b)| (b - a).abs()).sum::<f32>() / lines as f32;
            match inside.place {
                true => {
                    let share = |works: &[HddWork]| {
                        words::percent(works.iter().map(|w| f64::from(inside.share(*w))).sum())
                    };
                    let arm = match inside.work.is_empty() {
                        true => String::new(),
                        false => format!(
                            ", seeks for {} of the time, waits for the platter to turn for {}, reads or writes for {}",
                            share(&[HddWork::Seek]),
                            share(&[HddWork::Rotate]),
                            share(&[HddWork::Transfer, HddWork::Destage, HddWork::ReadAhead])
                        ),
                    };
                    format!("{name}: the head goes {} of the way from edge to edge{arm}", words::percent(way.into()))
                }
                false => format!("{name}: {} {}", words::percent(mean.into()), inside.what),
            }
        })),
        Level::Heat => {
            let ios: u64 = w.ios.iter().map(|n| u64::from(*n)).sum();
            parts.push(format!("{} I/Os", words::grouped(ios)));
        }
    }
    let shown = zoom.cpus.len() + zoom.more;
    if w.level <= Level::Signs {
        parts.push(match zoom.more {
            0 => format!("{shown} CPUs take part"),
            more => format!("{shown} CPUs take part, {more} of them without a row"),
        });
    }
    format!("In view: {}.", parts.join("; "))
}

/// What is in view in order of time: offset from the playhead, CPU, what.
pub fn list(zoom: &Zoom, topology: &Topology) -> Vec<[String; 3]> {
    let w = &zoom.window;
    let object = |id: u32| topology.objects.get(id as usize).map_or("", |o| o.name.as_str());
    let mut all: Vec<(u64, u16, String)> = Vec::new();
    for m in &w.moves {
        let (far, price) = (m.distance(topology).words(), words::span(m.cost_ns.into()));
        all.push((
            m.at_ns,
            m.to,
            format!("fetches {} from CPU {}, {far}, {price}", object(m.object), m.from),
        ));
    }
    for p in w.pieces.iter().filter(|_| w.level == Level::Lines) {
        let took = words::span((p.to_ns - p.from_ns) as f64);
        all.push((
            p.from_ns,
            p.cpu,
            match p.mode {
                crate::player::Mode::Spin => format!("spins for {}, {took}", object(p.lock)),
                mode if p.function.is_empty() => format!("{}, {took}", mode.word()),
                mode => format!("{} ({}), {took}", p.function, mode.word()),
            },
        ));
    }
    for s in &w.signs {
        let to = if s.to == s.cpu { String::new() } else { format!(" for CPU {}", s.to) };
        all.push((s.at_ns, s.cpu, format!("{}{to}", s.sign.word())));
    }
    all.sort();
    // Those nearest to the playhead.
    let middle = all.partition_point(|(at, ..)| *at < w.now_ns);
    let first = middle.saturating_sub(LIST_MAX / 2).min(all.len().saturating_sub(LIST_MAX));
    let offset = |at: u64| {
        let sign = if at < w.now_ns { '−' } else { '+' };
        format!("{sign}{}", words::span(at.abs_diff(w.now_ns) as f64))
    };
    all.into_iter()
        .skip(first)
        .take(LIST_MAX)
        .map(|(at, cpu, what)| [offset(at), cpu.to_string(), what])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::palette::Palette;
    use crate::draw::svg::Svg;
    use mqscope_core::cases::case;

    fn player(name: &str, ns: u64) -> Player {
        let scenario = case(name).expect("the case").sides().swap_remove(0).1;
        let mut p = Player::new(scenario).expect("it can be played");
        while p.explore(1_000_000) {}
        p.seek(ns);
        p
    }

    fn picture(zoom: &Zoom, p: &Player) -> String {
        let mut svg = Svg::new(Palette::LIGHT);
        zoom.paint(p.topology(), 900.0, 12.0, &Palette::LIGHT, &mut svg);
        svg.finish(900.0, zoom.height(), "a window")
    }

    #[test]
    fn steps_lead_from_200_ns_to_the_whole_run_and_back() {
        let end = 20_000_000;
        let (mut at, mut seen) = (WIDTH_MIN_NS, vec![WIDTH_MIN_NS]);
        while let Some(next) = step(at, end, false) {
            assert_eq!(step(next, end, true), Some(at));
            (at, seen) = (next, {
                seen.push(next);
                seen
            });
        }
        assert_eq!((at, step(WIDTH_MIN_NS, end, true)), (end, None));
        assert!(seen.len() > 10 && seen.windows(2).all(|w| w[1] <= w[0] * 4), "{seen:?}");
        assert_eq!(step(7_777, end, true), Some(5_000), "a width between two steps");
    }

    #[test]
    fn every_level_is_painted_told_and_listed_as_what_it_is() {
        let p = player("nvme-doorbell", 5_000_000);
        let end = p.duration_ns();
        let (mut levels, mut pictures) = (Vec::new(), Vec::new());
        for width in [2_000, 100_000, 1_000_000, end] {
            let zoom = Zoom::new(p.look(width));
            let w = &zoom.window;
            let (svg, said, list) = (picture(&zoom, &p), level(w, &p), list(&zoom, p.topology()));
            let span = words::span(width as f64);
            let what = match width < end {
                true => format!("{span} around the playhead: "),
                false => format!("The whole run, {span}: "),
            };
            assert!(said.starts_with(&what) && said.contains(w.level.words()), "{said}");
            assert_eq!(said.contains("Closer"), w.level > Level::Lines, "{said}");
            assert_eq!(said.contains("Wider"), w.level < Level::Heat, "{said}");
            assert!(svg.contains("playhead"));
            let told = summary(&zoom, p.topology());
            match w.level {
                Level::Lines => {
                    // At least the longest piece is long enough for its name.
                    let longest = w.pieces.iter().max_by_key(|p| p.to_ns - p.from_ns).expect("a piece");
                    assert!(svg.contains(&longest.function[..longest.function.len().min(6)]), "{longest:?}");
                    assert!(list.iter().any(|[.., what]| what.starts_with(longest.function)), "{list:?}");
                    assert!(told.contains("move"), "{told}");
                    let mut ends = w.moves.iter().flat_map(|m| [m.from, m.to]);
                    assert!(ends.all(|cpu| zoom.cpus.contains(&cpu)), "both ends of a line have a row");
                }
                Level::Signs => {
                    let rung = w.signs.iter().filter(|s| s.sign == Sign::Doorbell).count();
                    assert!(rung > 1 && told.contains(&format!("{rung} doorbells")), "{told}");
                    assert!(list.iter().any(|[.., what]| what.starts_with("interrupt")), "{list:?}");
                }
                Level::Device => {
                    assert!(svg.contains("dies at work") && told.contains("dies at work"), "{told}")
                }
                Level::Heat => {
                    assert!(svg.contains("I/Os, up to"));
                    assert!(
                        told.contains(&words::grouped(w.ios.iter().map(|n| u64::from(*n)).sum())),
                        "{told}"
                    );
                }
            }
            assert_eq!(list.is_empty(), w.level > Level::Signs);
            levels.push(w.level);
            pictures.push(svg);
        }
        assert_eq!(levels, [Level::Lines, Level::Signs, Level::Device, Level::Heat]);
        pictures.dedup();
        assert_eq!(pictures.len(), 4);
    }

    /// Left, middle and right of each word in the picture, with its height in the middle.
    fn texts(svg: &str) -> Vec<(f32, f32, f32)> {
        let number = |tag: &str, name: &str| {
            let from = tag.find(&format!(" {name}=\""))? + name.len() + 3;
            tag[from..].split('"').next()?.parse::<f32>().ok()
        };
        let text = |part: &str| {
            let (tag, word) = part.split_once('>')?;
            let word = word.split('<').next()?;
            let (x, y, size) = (number(tag, "x")?, number(tag, "y")?, number(tag, "font-size")?);
            // Monospaced words are about so wide.
            let w = word.chars().count() as f32 * size * 0.55;
            (!tag.contains("middle") && !tag.contains("end\"")).then_some((x, x + w, y))
        };
        svg.split("<text").skip(1).filter_map(text).collect()
    }

    #[test]
    fn no_two_words_of_the_closest_window_overlap_however_narrow_it_is() {
        let p = player("seed-000", 5_000_000);
        let zoom = Zoom::new(p.look(5_000));
        assert!(zoom.window.moves.len() > 24, "many lines move");
        for width in [900.0, 250.0] {
            let mut svg = Svg::new(Palette::LIGHT);
            zoom.paint(p.topology(), width, 12.0, &Palette::LIGHT, &mut svg);
            let all = texts(&svg.finish(width, zoom.height(), "a window"));
            assert!(all.len() > 10, "{}", all.len());
            for (i, a) in all.iter().enumerate() {
                for b in &all[..i] {
                    let apart = a.0 >= b.1 - 1.0 || b.0 >= a.1 - 1.0 || (a.2 - b.2).abs() > 10.0;
                    assert!(apart, "{width}: {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_point_of_the_picture_is_the_moment_under_it() {
        let p = player("nvme-doorbell", 5_000_000);
        let zoom = Zoom::new(p.look(100_000));
        let (from, to) = (zoom.window.from_ns, zoom.window.to_ns);
        assert!(zoom.moment(899.99, 900.0, 12.0).is_some_and(|ns| to - ns <= 2));
        assert_eq!(zoom.moment(1.0, 900.0, 12.0), None, "the numbers of the CPUs");
        let left = crate::draw::strips::left(12.0);
        let middle = zoom.moment(left + (900.0 - left) / 2.0, 900.0, 12.0).expect("a moment");
        assert!(middle.abs_diff((from + to) / 2) < 50, "{middle}");
    }
}
