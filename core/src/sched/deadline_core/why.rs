//! Why a request was dispatched, as data and in words.

use super::CLASSES;

/// Why a direction was chosen for a new batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum Turn {
    /// Reads go first; writes, if any wait, were passed over so many times, this one included.
    Reads { writes_passed_over: Option<u32> },
    /// There are no reads.
    OnlyWrites,
    /// Writes were passed over so many times.
    StarvedWrites { passed_over: u32 },
}

/// How the first request of a batch was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum First {
    /// The oldest, because its deadline has passed.
    Expired,
    /// The oldest, because the sweep has nothing to go on with.
    Oldest,
    /// The sweep goes on.
    Sweep,
}

/// Why a request was dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum Why {
    AtHead,
    /// It is number `nth` of the current batch.
    Batch {
        nth: u32,
    },
    New {
        turn: Turn,
        first: First,
    },
}

/// A dispatched request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct Pick {
    pub slot: u32,
    pub why: Why,
    pub class: usize,
    /// Taken before higher classes because it waited longer than `prio_aging_expire`.
    pub aged: bool,
}

/// Names in the kernel's words (`RT_PRIO`, ...).
const CLASS_NAMES: [&str; CLASSES.len()] = ["real time", "best effort", "idle"];

impl Pick {
    /// In words; `fifo_batch` as it is set.
    pub(super) fn words(&self, fifo_batch: u32) -> String {
        let mut text = match self.why {
            Why::AtHead => "it was inserted at the head".to_string(),
            Why::Batch { nth } => format!("next in sector order of the current batch, {nth} of {fifo_batch}"),
            Why::New { turn, first } => format!("a new batch: {}; {}", turn.words(), first.words()),
        };
        if self.aged {
            text +=
                &format!("; its class ({}) waited longer than prio_aging_expire", CLASS_NAMES[self.class]);
        }
        text
    }
}

impl Turn {
    fn words(self) -> String {
        match self {
            Turn::Reads { writes_passed_over: None } => "only reads wait".into(),
            Turn::Reads { writes_passed_over: Some(n) } => {
                format!("reads go first, writes are passed over for the {} time", ordinal(n))
            }
            Turn::OnlyWrites => "only writes wait".into(),
            Turn::StarvedWrites { passed_over: 1 } => "writes were passed over once".into(),
            Turn::StarvedWrites { passed_over } => format!("writes were passed over {passed_over} times"),
        }
    }
}

impl First {
    fn words(self) -> &'static str {
        match self {
            First::Expired => "its deadline has passed",
            First::Oldest => "it is the oldest, as nothing follows in sector order",
            First::Sweep => "it follows in sector order",
        }
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}
