//! Requests over time: where each was in every slice of time, as letters. Plain data for a table; no browser here.

use crate::scene::{Did, NEVER, Request, Scene, Span, Spot, Step};
use mqscope_core::event::{CpuId, Op, RqId, Stage};

/// Slices of time.
pub const SLICES: usize = 32;
/// Live requests shown at most; the oldest first.
pub const LIVE_MAX: usize = 48;
/// Finished requests that can be asked for.
pub const FINISHED: [usize; 4] = [0, 8, 24, 64];

/// Where a request is, or what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum At {
    /// The task's CPU works on its submission.
    Submit,
    /// It has no request or tag: its task sleeps.
    Tag,
    /// Throttled by wbt: its task sleeps.
    Throttle,
    /// In the plug of its task.
    Plug,
    /// In a ctx list.
    Ctx,
    /// In the scheduler.
    Scheduler,
    /// On the dispatch or requeue list.
    Dispatch,
    /// Waiting for a flush of the device's cache.
    Flush,
    /// In the hands of a dispatcher.
    Hand,
    /// The device works on it.
    Device,
    /// It waits inside the device.
    Inside,
    /// A CPU completes it.
    Complete,
    /// Completed; its task has not taken note.
    Ring,
}

/// What each place is called: letter, class of its colour, words.
const PLACES: [(char, &str, &str); 13] = [
    ('s', "st-submit", "a CPU submits it"),
    ('t', "st-wait", "waits for a request or tag"),
    ('b', "st-wait", "throttled by wbt"),
    ('p', "st-plug", "in the plug"),
    ('c', "st-list", "in a ctx list"),
    ('e', "st-list", "in the scheduler"),
    ('h', "st-list", "on the dispatch or requeue list"),
    ('f', "st-list", "waits for a flush"),
    ('r', "st-hand", "a dispatcher has it"),
    ('d', "st-device", "the device works on it"),
    ('w', "st-inside", "waits inside the device"),
    ('k', "st-done", "a CPU completes it"),
    ('u', "st-ring", "its task has not collected it"),
];

impl At {
    /// All places in the order of a request's way.
    pub const ALL: [At; 13] = [
        At::Submit,
        At::Tag,
        At::Throttle,
        At::Plug,
        At::Ctx,
        At::Scheduler,
        At::Dispatch,
        At::Flush,
        At::Hand,
        At::Device,
        At::Inside,
        At::Complete,
        At::Ring,
    ];

    /// Its letter; capital letters are blktrace's.
    pub fn letter(self) -> char {
        PLACES[self as usize].0
    }

    /// Class of its colour in the table.
    pub fn class(self) -> &'static str {
        PLACES[self as usize].1
    }

    /// In words.
    pub fn words(self) -> &'static str {
        PLACES[self as usize].2
    }

    /// Where a request is after a step; `None` where the step changes nothing about that.
    fn after(did: Did) -> Option<Self> {
        Some(match did {
            Did::Queue | Did::Split | Did::Remap | Did::Unplug | Did::UnplugSchedule => At::Submit,
            Did::TagAlloc | Did::SchedTagAlloc | Did::PoolAlloc => At::Submit,
            Did::WbtWait => At::Throttle,
            Did::TagWait | Did::PoolWait => At::Tag,
            Did::PlugAdd => At::Plug,
            Did::InsertCtx => At::Ctx,
            Did::InsertElevator => At::Scheduler,
            Did::InsertDispatch | Did::NoDriverTag | Did::RequeueList => At::Dispatch,
            Did::FlushWait => At::Flush,
            Did::DequeueCtx | Did::DequeueElevator | Did::DequeueDispatch => At::Hand,
            Did::Requeue | Did::FlushStart => At::Hand,
            Did::Issue => At::Device,
            Did::Complete | Did::BioEnd => At::Complete,
            Did::DriverTag | Did::BackMerge | Did::FrontMerge | Did::RequestMerge => return None,
            Did::TagFree | Did::SchedTagFree | Did::PoolFree | Did::Reap => return None,
        })
    }

    /// Where a request is during a stage of the device.
    fn during(stage: Stage) -> Self {
        match stage {
            Stage::MemberWait | Stage::DieWait | Stage::Queued => At::Inside,
            _ => At::Device,
        }
    }
}

/// blktrace's letter of a step; `P` stands for joining a plug.
fn letter(did: Did) -> Option<&'static str> {
    Some(match did {
        Did::Queue => "Q",
        Did::Split => "X",
        Did::Remap => "A",
        Did::TagAlloc | Did::SchedTagAlloc | Did::PoolAlloc => "G",
        Did::PoolWait => "S",
        Did::PlugAdd => "P",
        Did::Unplug => "U",
        Did::UnplugSchedule => "UT",
        Did::InsertCtx | Did::InsertElevator => "I",
        Did::Issue => "D",
        Did::Requeue => "R",
        Did::BackMerge | Did::RequestMerge => "M",
        Did::FrontMerge => "F",
        Did::Complete => "C",
        _ => return None,
    })
}

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Finished requests, the last ones.
    pub finished: usize,
    /// Each row begins with its own Q instead of at one moment for all.
    pub aligned: bool,
    /// Order of the rows.
    pub order: Order,
    /// From the last to the first.
    pub reverse: bool,
}

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the time of Q.
    Start,
    /// By number.
    Number,
    /// By the CPU that submitted it.
    Cpu,
    /// By the time from Q to the end, or up to now.
    Total,
    /// By the longest stay at one place.
    Longest,
}

/// A request in the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeRow {
    /// Its number.
    pub rq: RqId,
    /// Direction.
    pub op: Op,
    /// Size, sectors.
    pub sectors: u32,
    /// The CPU that submitted it.
    pub cpu: CpuId,
    /// When its first bio arrived, ns.
    pub q_ns: u64,
    /// Time since then, to its end or up to now, ns.
    pub total_ns: u64,
    /// Whether it is over.
    pub over: bool,
    /// Its longest stay at one place, ns.
    pub longest: (At, u64),
    /// Each slice: letters, and where it was for most of it; `None` before its Q and after its end.
    pub slices: Vec<Option<(String, At)>>,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceTime {
    /// Begin of the first slice, ns; with aligned rows, of each row's own.
    pub from_ns: u64,
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// Rows in the order asked for.
    pub rows: Vec<TimeRow>,
    /// Live requests that are left out.
    pub left_out: usize,
}

/// Stays of a request one after the other: (from, to, where), in order of time, without gaps from Q on.
pub fn stays(r: &Request, now_ns: u64) -> Vec<(u64, u64, At)> {
    let over = matches!(r.spot, Spot::Done(_));
    let end = if over { r.since_ns } else { now_ns };
    let mut begins: Vec<(u64, At)> = Vec::with_capacity(24);
    let mut step = |s: &Step| {
        // Once its tag is free, only the task has to take note.
        let freed =
            matches!(s.did, Did::TagFree | Did::SchedTagFree | Did::PoolFree) && r.letters.c <= s.at_ns;
        let at = if freed { Some(At::Ring) } else { At::after(s.did) };
        // The bio may end before or after the tag is free; the later of the two leaves it in the ring.
        let ring = s.did == Did::BioEnd && begins.last().is_some_and(|(_, at)| *at == At::Ring);
        if let Some(at) = at.filter(|_| !ring) {
            begins.push((s.at_ns, at));
        }
    };
    r.steps().iter().for_each(&mut step);
    let done_ns = if r.letters.c == NEVER { u64::MAX } else { r.letters.c };
    // Stages overlap where a request has pages on several dies: whoever works on it counts before who waits.
    let spans: Vec<&Span> = r.spans().iter().filter(|s| s.start_ns < s.end_ns).collect();
    let mut edges: Vec<u64> = spans.iter().flat_map(|s| [s.start_ns, s.end_ns]).collect();
    edges.retain(|&t| t < done_ns && t <= end && r.letters.d <= t);
    edges.sort_unstable();
    edges.dedup();
    for t in edges {
        let mut here = spans.iter().filter(|s| s.start_ns <= t && t < s.end_ns).map(|s| At::during(s.stage));
        let at = match here.next() {
            None => At::Device,
            Some(first) => here.fold(first, |a, b| if a == At::Device { a } else { b }),
        };
        begins.push((t, at));
    }
    begins.sort_by_key(|(t, _)| *t);
    let mut stays: Vec<(u64, u64, At)> = Vec::with_capacity(begins.len());
    for (i, &(from, at)) in begins.iter().enumerate() {
        let to = begins.get(i + 1).map_or(end, |next| next.0).max(from);
        match stays.last_mut() {
            Some(last) if last.2 == at => last.1 = to,
            _ if to > from || i + 1 == begins.len() => stays.push((from, to, at)),
            _ => {}
        }
    }
    stays
}

/// The longest of these stays in all, by place.
fn longest(stays: &[(u64, u64, At)]) -> (At, u64) {
    let mut sums = [0u64; PLACES.len()];
    for &(from, to, at) in stays {
        sums[at as usize] += to - from;
    }
    let best = (0..sums.len()).max_by_key(|&i| (sums[i], std::cmp::Reverse(i))).unwrap_or(0);
    (At::ALL[best], sums[best])
}

fn row(r: &Request, now_ns: u64) -> TimeRow {
    let over = matches!(r.spot, Spot::Done(_));
    let stays = stays(r, now_ns);
    TimeRow {
        rq: r.rq,
        op: r.extent.op,
        sectors: r.extent.sectors,
        cpu: r.cpu,
        q_ns: r.letters.q,
        total_ns: if over { r.since_ns } else { now_ns }.saturating_sub(r.letters.q),
        over,
        longest: longest(&stays),
        slices: Vec::new(),
    }
}

/// The slices of a row from `from_ns` on.
fn slices(r: &Request, now_ns: u64, from_ns: u64, slice_ns: u64) -> Vec<Option<(String, At)>> {
    let stays = stays(r, now_ns);
    let letters = r.steps().iter().filter_map(|s| Some((s.at_ns, letter(s.did)?))).collect::<Vec<_>>();
    (0..SLICES as u64)
        .map(|n| {
            let (from, to) = (from_ns + n * slice_ns, from_ns + (n + 1) * slice_ns);
            let mut parts = [0u64; PLACES.len()];
            for &(a, b, at) in &stays {
                parts[at as usize] += b.min(to).saturating_sub(a.max(from));
            }
            let most = (0..parts.len()).max_by_key(|&i| (parts[i], std::cmp::Reverse(i))).unwrap_or(0);
            let mut text: String =
                letters.iter().filter(|(t, _)| (from..to).contains(t)).map(|(_, l)| *l).collect();
            if text.is_empty() && parts[most] == 0 {
                return None;
            }
            if text.is_empty() {
                text.push(At::ALL[most].letter());
            }
            Some((text, At::ALL[most]))
        })
        .collect()
}

/// The table of a scene.
pub fn table(scene: &Scene, ask: &Ask) -> SpaceTime {
    let now_ns = scene.now_ns();
    let mut shown: Vec<&Request> = scene.finished().rev().filter(|r| r.rq != 0).take(ask.finished).collect();
    let mut live: Vec<&Request> = scene.live().map(|(_, r)| r).filter(|r| r.rq != 0).collect();
    live.sort_unstable_by_key(|r| (r.letters.q, r.rq));
    let left_out = live.len().saturating_sub(LIVE_MAX);
    shown.extend(live.into_iter().take(LIVE_MAX));
    let mut rows: Vec<(&Request, TimeRow)> = shown.into_iter().map(|r| (r, row(r, now_ns))).collect();
    let (from_ns, span) = if ask.aligned {
        (0, rows.iter().map(|(_, row)| row.total_ns).max().unwrap_or(0))
    } else {
        let from = rows.iter().map(|(_, row)| row.q_ns).min().unwrap_or(now_ns);
        (from, now_ns - from)
    };
    // The last moment belongs to the last slice.
    let slice_ns = (span / SLICES as u64 + 1).max(1);
    for (request, row) in &mut rows {
        let from = if ask.aligned { row.q_ns } else { from_ns };
        row.slices = slices(request, now_ns, from, slice_ns);
    }
    rows.sort_by(|(_, a), (_, b)| {
        let key = |row: &TimeRow| match ask.order {
            Order::Start => row.q_ns,
            Order::Number => row.rq.into(),
            Order::Cpu => row.cpu.into(),
            Order::Total => row.total_ns,
            Order::Longest => row.longest.1,
        };
        let order = key(a).cmp(&key(b));
        let order = if ask.reverse { order.reverse() } else { order };
        order.then(a.rq.cmp(&b.rq))
    });
    SpaceTime { from_ns, slice_ns, rows: rows.into_iter().map(|(_, row)| row).collect(), left_out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::Player;
    use mqscope_core::cases::case;

    const ASK: Ask = Ask { finished: 24, aligned: false, order: Order::Start, reverse: false };

    fn player(name: &str, side: usize, ns: u64) -> Player {
        let scenario = case(name).expect("the case").sides().swap_remove(side).1;
        let mut p = Player::new(scenario).expect("a case can be played");
        p.seek(ns);
        while p.seeking().is_some() {
            p.tick(0.0);
        }
        p
    }

    #[test]
    fn letters_and_words_are_each_their_own() {
        let mut letters: Vec<char> = At::ALL.iter().map(|at| at.letter()).collect();
        assert!(letters.iter().all(char::is_ascii_lowercase), "capital letters are blktrace's");
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), At::ALL.len());
        for (i, at) in At::ALL.into_iter().enumerate() {
            assert_eq!(at as usize, i);
        }
    }

    #[test]
    fn the_stays_of_a_request_have_no_gap_and_end_with_it() {
        for (name, side, ns) in [
            ("seed-000", 1, 900_000),
            ("deadline-mix", 1, 5_000_000),
            ("tag-wait", 0, 60_000),
            ("plug-merge", 0, 90_000),
        ] {
            let p = player(name, side, ns);
            let (scene, mut seen) = (p.scene(), 0);
            for r in scene.live().map(|(_, r)| r).chain(scene.finished()).filter(|r| r.rq != 0) {
                let stays = stays(r, scene.now_ns());
                seen += 1;
                assert!(stays.windows(2).all(|w| w[0].1 == w[1].0 && w[0].2 != w[1].2), "{name}: {stays:?}");
                let end = if matches!(r.spot, Spot::Done(_)) { r.since_ns } else { scene.now_ns() };
                let first = stays.first().map_or(end, |s| s.0);
                assert!(first == r.letters.q || r.extent.op == Op::Flush, "{name}: from {first}");
                assert_eq!(stays.last().map(|s| s.1), Some(end), "{name}: {stays:?}");
                // What lies between D and C is the device's.
                if r.letters.d != NEVER && r.letters.c != NEVER && r.refusals == 0 {
                    let device: u64 = stays
                        .iter()
                        .filter(|s| matches!(s.2, At::Device | At::Inside))
                        .map(|s| s.1 - s.0)
                        .sum();
                    assert_eq!(device, r.letters.c - r.letters.d, "{name}: D2C of {}", r.rq);
                }
            }
            assert!(seen > 0, "{name}");
        }
    }

    #[test]
    fn every_letter_of_a_request_stands_in_one_slice_in_order() {
        let p = player("seed-000", 0, 900_000);
        for ask in [ASK, Ask { aligned: true, ..ASK }] {
            let table = table(p.scene(), &ask);
            assert!(table.rows.len() > 24, "{} rows", table.rows.len());
            assert_eq!(
                table.rows.len() + table.left_out,
                24 + p.scene().live().filter(|(_, r)| r.rq != 0).count()
            );
            for row in &table.rows {
                assert_eq!(row.slices.len(), SLICES);
                let r = p.scene().request(row.rq).expect("it is known");
                let own: String = r.steps().iter().filter_map(|s| letter(s.did)).collect();
                let text: String = row.slices.iter().flatten().map(|(text, _)| text.as_str()).collect();
                let capitals: String = text.chars().filter(char::is_ascii_uppercase).collect();
                assert_eq!(capitals, own, "request {}", row.rq);
                if row.over {
                    assert!(own.starts_with('Q') && own.contains("G") && own.ends_with("DC"), "{own}");
                }
            }
        }
    }

    #[test]
    fn rows_stand_in_the_order_asked_for() {
        let p = player("seed-000", 0, 900_000);
        let sorted = |order: Order, key: fn(&TimeRow) -> u64| {
            for reverse in [false, true] {
                let rows = table(p.scene(), &Ask { order, reverse, ..ASK }).rows;
                let keys: Vec<u64> = rows.iter().map(key).collect();
                assert!(
                    keys.windows(2).all(|w| if reverse { w[0] >= w[1] } else { w[0] <= w[1] }),
                    "{keys:?}"
                );
                assert_ne!(keys.first(), keys.last());
            }
        };
        sorted(Order::Start, |r| r.q_ns);
        sorted(Order::Number, |r| r.rq.into());
        sorted(Order::Cpu, |r| r.cpu.into());
        sorted(Order::Total, |r| r.total_ns);
        sorted(Order::Longest, |r| r.longest.1);
    }

    #[test]
    fn a_wait_for_a_tag_is_seen_as_one() {
        let p = player("tag-wait", 0, 60_000);
        let rows = table(p.scene(), &ASK).rows;
        let waits = rows.iter().filter(|r| r.slices.iter().flatten().any(|(_, at)| *at == At::Tag)).count();
        assert!(waits > 0, "{rows:?}");
    }
}
