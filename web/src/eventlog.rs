//! Which events of the log are wanted, and their text to take along. No browser here.

use crate::narrate;
use crate::player::{Player, request};
use crate::words;
use mqscope_core::event::{BioId, Event, Kind, RqId};
use mqscope_core::format::blkparse::Writer;

/// Kinds of events that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Group {
    /// Those that blktrace has a letter for.
    #[default]
    Letters,
    /// Everything.
    All,
    /// What happens to requests between the letters: tags, plugs, lists, flushes, the page cache.
    Requests,
    /// Runs of hctxs and doorbells.
    Hctxs,
    /// Locks of all kinds and shared lines.
    Locks,
    /// Contexts, system calls, sleep, interrupts.
    Cpus,
    /// Stages inside devices.
    Devices,
}

impl Group {
    /// All groups with their names.
    pub const ALL: [(Group, &'static str); 7] = [
        (Group::Letters, "blktrace's events"),
        (Group::All, "All events"),
        (Group::Requests, "Tags, plugs, lists"),
        (Group::Hctxs, "Runs of hctxs"),
        (Group::Locks, "Locks and shared lines"),
        (Group::Cpus, "CPUs and tasks"),
        (Group::Devices, "Inside devices"),
    ];

    /// The group that an event without a letter belongs to.
    fn of(kind: &Kind) -> Self {
        match kind {
            Kind::RunBegin { .. }
            | Kind::RunEnd { .. }
            | Kind::RunScheduled { .. }
            | Kind::Doorbell { .. }
            | Kind::DispatchBusy { .. } => Group::Hctxs,
            Kind::LockWait { .. }
            | Kind::LockAcquire { .. }
            | Kind::LockRelease { .. }
            | Kind::LineTransfer { .. }
            | Kind::FileLockWait { .. }
            | Kind::FileLockAcquire { .. }
            | Kind::FileLockRelease { .. } => Group::Locks,
            Kind::ContextBegin
            | Kind::ContextEnd
            | Kind::SyscallEnter { .. }
            | Kind::SyscallExit
            | Kind::TaskSleep { .. }
            | Kind::TaskWake { .. }
            | Kind::Irq { .. }
            | Kind::Polled { .. }
            | Kind::Ipi { .. } => Group::Cpus,
            Kind::DeviceStage { .. } => Group::Devices,
            _ => Group::Requests,
        }
    }

    /// Whether an event is one of this group.
    pub fn has(self, kind: &Kind) -> bool {
        match self {
            Group::All => true,
            Group::Letters => kind.letter().is_some(),
            group => kind.letter().is_none() && Group::of(kind) == group,
        }
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of which kind.
    pub group: Group,
    /// About which request, and its first bio, which was there before it.
    pub about: Option<(RqId, BioId)>,
}

impl Filter {
    /// Whether an event is wanted.
    pub fn wants(&self, event: &Event) -> bool {
        self.group.has(&event.kind) && self.is_about(&event.kind)
    }

    /// Whether an event is about the request, if one was named.
    pub fn is_about(&self, kind: &Kind) -> bool {
        self.about.is_none_or(|(rq, first)| {
            let gone = matches!(kind, Kind::RequestMerge { gone, .. } if *gone == rq);
            gone || request(kind) == Some(rq) || bio(kind) == Some(first)
        })
    }
}

/// The bio that an event is about, if it is about one.
fn bio(kind: &Kind) -> Option<BioId> {
    match *kind {
        Kind::Queue { bio, .. }
        | Kind::Remap { bio, .. }
        | Kind::Split { bio, .. }
        | Kind::BackMerge { bio, .. }
        | Kind::FrontMerge { bio, .. }
        | Kind::GetRequest { bio, .. }
        | Kind::SleepRequest { bio, .. }
        | Kind::SchedTagAlloc { bio, .. }
        | Kind::PoolAlloc { bio, .. }
        | Kind::PoolWait { bio, .. }
        | Kind::TagAlloc { bio, .. }
        | Kind::TagWait { bio, .. }
        | Kind::WbtWait { bio, .. }
        | Kind::PageWrite { bio, .. }
        | Kind::PageRead { bio, .. }
        | Kind::BioEnd { bio, .. }
        | Kind::Reap { bio, .. } => Some(bio),
        _ => None,
    }
}

/// Wanted events of those that are kept, a line each: time, letter, who, what, with tabs between.
pub fn text(p: &Player, filter: &Filter) -> String {
    let t = p.topology();
    let line = |e: &Event| {
        let letter = e.kind.letter().unwrap_or("");
        format!(
            "{}\t{letter}\t{}\t{}\n",
            words::moment(e.at_ns),
            narrate::actor(e, t),
            narrate::sentence(e, t)
        )
    };
    p.recent_events().filter(|e| filter.wants(e)).map(line).collect()
}

/// The same as blkparse prints them; it has no lines for events without a letter. Numbers of lines count from the
/// oldest event that is kept.
pub fn blkparse(p: &Player, filter: &Filter) -> String {
    let mut writer = Writer::new(p.topology());
    let mut out = String::new();
    let mut unwanted = String::new();
    for event in p.recent_events() {
        // Every event is told, so that numbers and interrupted tasks are right.
        let to = if filter.is_about(&event.kind) { &mut out } else { &mut unwanted };
        writer.event(event, to);
        unwanted.clear();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::cases::case;

    fn player() -> Player {
        let scenario = case("plug-merge").expect("the case").sides().swap_remove(0).1;
        let mut p = Player::new(scenario).expect("it can be played");
        p.seek(1_000_000);
        p
    }

    #[test]
    fn every_event_is_in_one_group_beside_all() {
        let p = player();
        assert!(p.recent_events().len() > 50);
        for event in p.recent_events() {
            let of = Group::ALL.iter().filter(|(g, _)| *g != Group::All && g.has(&event.kind)).count();
            assert_eq!(of, 1, "{event:?}");
        }
        for (group, name) in Group::ALL {
            assert_eq!(Group::ALL[group as usize].0, group, "{name}");
        }
    }

    #[test]
    fn the_events_of_a_request_begin_with_its_bio_and_end_with_the_application() {
        let p = player();
        let r = p.scene().finished().next_back().expect("one has finished");
        let filter = Filter { group: Group::All, about: Some((r.rq, r.bio)) };
        let own: Vec<&Event> = p.recent_events().filter(|e| filter.wants(e)).collect();
        assert!(matches!(own.first().map(|e| e.kind), Some(Kind::Queue { .. })), "{own:?}");
        assert!(own.iter().any(|e| matches!(e.kind, Kind::Complete { .. })));
        assert!(own.iter().any(|e| matches!(e.kind, Kind::Reap { .. })));
        assert!(own.len() < p.recent_events().len() / 2);
        let lines = text(&p, &filter);
        assert_eq!(lines.lines().count(), own.len());
        assert!(lines.lines().all(|l| l.matches('\t').count() == 3));
    }

    #[test]
    fn what_is_copied_for_blkparse_can_be_read_back() {
        let p = player();
        let all = blkparse(&p, &Filter::default());
        let letters = p.recent_events().filter(|e| e.kind.letter().is_some()).count();
        assert_eq!(all.lines().count(), letters);
        let r = p.scene().finished().next_back().expect("one has finished");
        let one = blkparse(&p, &Filter { group: Group::Letters, about: Some((r.rq, r.bio)) });
        assert!(one.lines().count() >= 4 && one.lines().count() < letters);
        assert!(one.lines().all(|line| all.lines().any(|l| l == line)), "lines are the same, numbers too");
        let (records, complaints) = mqscope_core::format::blkparse::read(all.as_bytes());
        assert_eq!((records.len(), complaints.len()), (letters, 0), "{complaints:?}");
    }
}
