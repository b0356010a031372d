//! The inside of the deadline algorithm for people.

use super::{CLASSES, Class, Deadline, Dir, Place};
use crate::sched::{Group, Item, VIEW_MAX, View};

const MS: u64 = 1_000_000;

impl Dir {
    fn name(self) -> &'static str {
        match self {
            Dir::Read => "READ",
            Dir::Write => "WRITE",
        }
    }
}

impl Deadline {
    /// Lists, counters and what the next dispatch would return: it is asked of a copy.
    pub(crate) fn view(&self, now: u64, scheduler: &str) -> View {
        let pick = self.clone().dispatch(now);
        let next = pick.map_or(0, |p| self.entry(p.slot).rq.id);
        let why = match pick {
            Some(pick) => pick.words(self.limits.fifo_batch),
            None if self.has_work() => "requests of a higher class are in flight".into(),
            None => "nothing is queued".into(),
        };
        let mut facts = vec![
            ("batching".into(), format!("{} of {}", self.batching, self.limits.fifo_batch)),
            ("starved".into(), format!("{} of {}", self.starved, self.limits.writes_starved)),
            ("last_dir".into(), self.last_dir.name().into()),
        ];
        let in_use: Vec<usize> = (0..CLASSES.len()).filter(|&c| self.classes[c].queued > 0).collect();
        let several = in_use.len() > 1;
        if several {
            let queued = in_use.iter().map(|&c| (format!("{} queued or in flight", CLASSES[c]), c));
            facts.extend(queued.map(|(name, c)| (name, self.classes[c].queued.to_string())));
        }
        let shown = if in_use.is_empty() { vec![super::BEST_EFFORT] } else { in_use };
        let groups = shown.into_iter().flat_map(|c| self.groups(now, c, several)).collect();
        View { scheduler: scheduler.into(), next, why, facts, groups }
    }

    /// The lists of one class; the one of requests inserted at the head only if it is not empty.
    fn groups(&self, now: u64, index: usize, several: bool) -> Vec<Group> {
        let class: &Class = &self.classes[index];
        let name = |list: &str| match several {
            true => format!("per_prio[{}].{list}", CLASSES[index]),
            false => list.to_string(),
        };
        let mut groups = Vec::new();
        if !class.dispatch.is_empty() {
            let note = "inserted at the head, sent first".to_string();
            groups.push(self.group(name("dispatch"), note, class.dispatch.iter(), |_| String::new()));
        }
        for dir in Dir::BOTH {
            let next = self.next_request(index, dir);
            let note = match next {
                Some(slot) => format!("goes on at sector {}", self.entry(slot).rq.sector),
                None => "nothing to go on with: the oldest starts the next batch".to_string(),
            };
            let slots = class.lanes[dir as usize].sort_list.values();
            let item = |slot| if next == Some(slot) { "next in sector order".into() } else { String::new() };
            groups.push(self.group(name(&format!("sort_list[{}]", dir.name())), note, slots, item));
        }
        for dir in Dir::BOTH {
            let slots = class.lanes[dir as usize].fifo_list.values();
            let expired = slots.clone().filter(|&&slot| self.entry(slot).deadline_ns <= now).count();
            let note = if expired > 0 { format!("{expired} expired") } else { String::new() };
            let item = |slot| expiry(self.entry(slot).deadline_ns, now);
            groups.push(self.group(name(&format!("fifo_list[{}]", dir.name())), note, slots, item));
        }
        groups
    }

    fn group<'a>(
        &self,
        name: String,
        note: String,
        slots: impl ExactSizeIterator<Item = &'a u32>,
        item_note: impl Fn(u32) -> String,
    ) -> Group {
        let total = slots.len() as u32;
        let item = |&slot: &u32| {
            let entry = self.entry(slot);
            debug_assert_ne!(entry.place, Place::Driver, "a list holds what is queued");
            Item {
                rq: entry.rq.id,
                sector: entry.rq.sector,
                sectors: entry.rq.sectors,
                note: item_note(slot),
            }
        };
        Group { name, note, items: slots.take(VIEW_MAX).map(item).collect(), total }
    }
}

/// Time left or passed in whole ms, in us below one.
fn expiry(deadline_ns: u64, now: u64) -> String {
    let apart = |ns: u64| if ns < MS { format!("{} us", ns / 1_000) } else { format!("{} ms", ns / MS) };
    match deadline_ns.checked_sub(now) {
        None | Some(0) => format!("expired {} ago", apart(now - deadline_ns)),
        Some(left) => format!("expires in {}", apart(left)),
    }
}
