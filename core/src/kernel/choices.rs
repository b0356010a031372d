//! The values that knobs can have besides numbers: each a rule of some kernels, with its name for text.

use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::str::FromStr;

/// Declares an enum whose variants have names for text.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// The names of all values.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
        }

        impl Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($name::$variant => $text),+ })
            }
        }

        impl FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($text => Ok($name::$variant),)+ _ => Err(()) }
            }
        }

        impl KnobValue for $name {
            const KIND: &'static str = "choice";
            const CHOICES: &'static [&'static str] = Self::NAMES;
        }
    };
}

/// A type that a knob can have.
pub trait KnobValue: FromStr + Display + Copy {
    /// `bool`, `number` or `choice`.
    const KIND: &'static str;
    /// Allowed words of a choice.
    const CHOICES: &'static [&'static str] = &[];
}

impl KnobValue for bool {
    const KIND: &'static str = "bool";
    const CHOICES: &'static [&'static str] = &["true", "false"];
}

impl KnobValue for u32 {
    const KIND: &'static str = "number";
}

choice! {
    /// Order of requests inside a plug.
    PlugOrder {
        /// Tail insertion (until 5.15, 6.13+).
        Fifo = "fifo",
        /// Head insertion (5.16 to 6.12).
        Lifo = "lifo",
    }
}
choice! {
    /// When the plug is sorted at flush.
    PlugSort {
        /// Always, by (ctx, sector) (until 4.20).
        Always = "always",
        /// More than two requests and several queues (5.3 to 5.15).
        MultiQueue = "multi-queue",
        /// Never (5.16+).
        Never = "never",
    }
}
choice! {
    /// Which requests of the plug a bio tries to merge with.
    PlugMerge {
        /// All of the same queue, newest first (until 5.15).
        All = "all",
        /// The newest of the plug, if it is of the same queue (5.17).
        Last = "last",
        /// The newest one of the same queue (6.1 to 6.12).
        Newest = "newest",
        /// The oldest one of the same queue, and only the oldest of the plug where it holds one queue: the list had become
        /// a queue and the walk still began at its head (6.13 to 6.15).
        Oldest = "oldest",
        /// The newest of the plug; if that is of another queue, the oldest one of the same queue (6.16+).
        Tail = "tail",
    }
}
choice! {
    /// Who may fill a whole plug.
    FullPlug {
        /// Queues with one hctx (until 4.20).
        SingleQueue = "single-queue",
        /// One hctx, or the driver has commit_rqs, or the disk rotates (5.4 to 5.12).
        SingleOrCommit = "single-or-commit",
        /// The same, or the hctxs share the tags of their host (5.13 to 5.15).
        SingleCommitOrSharedTags = "single-commit-or-shared-tags",
        /// Everyone (5.16+).
        Always = "always",
    }
}
choice! {
    /// How a run of an hctx takes requests from the ctx lists with scheduler none.
    DispatchMode {
        /// All requests of all pending ctxs in one list (until 4.14).
        TakeAll = "take-all",
        /// One at a time, round robin over ctxs (no kernel does so for all drivers).
        OneByOne = "one-by-one",
        /// One at a time for drivers with a budget (SCSI), else all (4.15 to 4.18).
        OneByOneWithBudget = "one-by-one-with-budget",
        /// One at a time while dispatch_busy is not zero, else all (4.19+).
        Busy = "busy",
    }
}
choice! {
    /// When an unplugged request goes to the driver at once.
    DirectUnplugged {
        /// Never.
        Never = "never",
        /// Several hctxs and a synchronous request (until 4.18).
        MqSync = "mq-sync",
        /// As mq-sync, or no elevator and hctx not busy (4.19 to 5.15).
        MqSyncOrIdle = "mq-sync-or-idle",
        /// No elevator and not (busy and (one hctx or asynchronous)) (5.16+).
        NotBusy = "not-busy",
    }
}
choice! {
    /// What happens with scheduler none when a plug is flushed explicitly.
    DirectAtFlush {
        /// Always through the ctx list (until 4.18).
        Never = "never",
        /// Group by group while the hctx is not busy (4.19 to 5.15).
        IdleGroup = "idle-group",
        /// The whole plug if it holds one queue, busy or not; else group by group (5.16 to 6.15).
        WholePlug = "whole-plug",
        /// Each queue of the plug whole (6.16+).
        EachQueue = "each-queue",
    }
}
choice! {
    /// Where a request goes that the driver refused on direct issue.
    RefusedTo {
        /// Back to its ctx list, for a kworker (4.4).
        CtxAsync = "ctx-async",
        /// Back to its ctx list; the submitter runs the hctx (4.14 to 4.19).
        Ctx = "ctx",
        /// hctx->dispatch (5.4+).
        DispatchList = "dispatch-list",
    }
}
choice! {
    /// Which direct I/Os plug their own bios.
    DioPlug {
        /// Only those of more than 256 pages (5.17 to 6.12).
        Large = "large",
        /// All asynchronous ones, and those of more than 256 pages (`__blkdev_direct_IO`, 4.14 to 5.15).
        Async = "async",
        /// All (4.4; as recorded on 6.18).
        All = "all",
    }
}
choice! {
    /// Which request the 128 KiB flush rule looks at.
    FlushCheck {
        /// The newest of the plug (until 6.12).
        Newest = "newest",
        /// The oldest of the plug (6.13+, as recorded on 6.18: the list became FIFO, the check kept the head).
        Oldest = "oldest",
    }
}
choice! {
    /// Which kernels' counter decides that a plug is full.
    PlugCount {
        /// Requests of the same queue (until 4.20).
        SameQueue = "same-queue",
        /// All requests of the plug (5.3+).
        All = "all",
    }
}
choice! {
    /// Who is woken when a batch of tags was freed.
    TagWake {
        /// Every sleeper of one wait queue (non-exclusive waiters, until 4.15).
        WholeQueue = "whole-queue",
        /// Up to wake_batch sleepers of one wait queue (4.16 to 6.1).
        Batch = "batch",
        /// wake_batch sleepers, from as many wait queues as it takes (completion and wake-up counters, 6.2+).
        Counted = "counted",
    }
}
choice! {
    /// Where a completion runs if no other CPU is to do it, on a queue with one hctx.
    CompleteIn {
        /// In the hard interrupt (until 4.19).
        HardIrq = "hardirq",
        /// In the BLOCK softirq (4.20+).
        SoftIrq = "softirq",
    }
}
choice! {
    /// The scheduler of a disk for which nobody chooses one (`elevator_init_mq`, `elevator_get_default`).
    DefaultScheduler {
        /// None.
        None = "none",
        /// mq-deadline with one hctx, else none (4.14 to 5.12).
        SingleQueue = "single-queue",
        /// mq-deadline with one hctx or with tags shared by all hctxs of a host, else none (5.13+).
        SingleQueueOrSharedTags = "single-queue-or-shared-tags",
    }
}
choice! {
    /// Where refused requests join hctx->dispatch.
    DispatchAppend {
        /// In front (until 5.4.0).
        Front = "front",
        /// At the end (5.10+).
        Tail = "tail",
    }
}

choice! {
    /// Whether a pending flush waits while data of other flush sequences is at the device, up to 5 s (`blk_kick_flush`).
    FlushDefer {
        /// Only without a scheduler (until 4.20).
        WithoutScheduler = "without-scheduler",
        /// Only with one (5.0 to 5.8; the test was turned round by mistake).
        WithScheduler = "with-scheduler",
        /// Always (5.9 or 5.10 on).
        Always = "always",
    }
}

choice! {
    /// How many requests a run takes from the elevator before it sends them (`__blk_mq_do_dispatch_sched`).
    ElevatorDispatch {
        /// One, sent at once (until 5.8).
        One = "one",
        /// Up to nr_requests (one while dispatch_busy) (5.10 to 5.12).
        Batch = "batch",
        /// The same, and no more once a driver tag is missing (5.14+).
        BatchUntilNoTag = "batch-until-no-tag",
    }
}
choice! {
    /// What mq-deadline makes of I/O priorities (`dd_dispatch_request`).
    DeadlinePrio {
        /// Nothing (until 5.12).
        Ignored = "ignored",
        /// Real time before best effort before idle, strictly (5.14, 5.15).
        Strict = "strict",
        /// Strictly, but what waited longer than prio_aging_expire goes first (5.16+).
        Ageing = "ageing",
    }
}
choice! {
    /// How mq-deadline remembers where a direction goes on in sector order (`deadline_next_request`).
    DeadlineNext {
        /// A pointer to the next request, of the current batch's direction only: the other one starts at its oldest
        /// (until 5.13).
        BatchPointer = "batch-pointer",
        /// A pointer to the next request of each direction; what arrives in front of it later waits for the next sweep
        /// (5.14 to 6.4).
        Pointer = "pointer",
        /// The position last dispatched in each direction; what arrives behind it joins the sweep (6.5+).
        Position = "position",
    }
}
choice! {
    /// Sched tags that mq-deadline leaves to writes and asynchronous requests (`dd_depth_updated`, `dd_limit_depth`).
    DeadlineDepth {
        /// None (until 5.12).
        None = "none",
        /// async_depth = 3/4 of nr_requests, used as it is as depth of a bitmap word (5.14 to 6.5).
        ThreeQuarters = "three-quarters",
        /// async_depth = 3/4 of nr_requests, scaled to a bitmap word (6.6 to 6.8).
        ThreeQuartersOfWord = "three-quarters-of-word",
        /// async_depth = the nr_requests before the last change, scaled to a bitmap word (6.1.y as recorded).
        PreviousNrRequests = "previous-nr-requests",
        /// async_depth = nr_requests, scaled to a bitmap word (6.12+).
        NrRequests = "nr-requests",
    }
}
choice! {
    /// How an ext4 file's lock (`inode->i_rwsem`) is held around direct I/O.
    DioLock {
        /// Reads exclusively while they are handed over, writes exclusively to their end (until 4.8).
        SubmitOnly = "rd-submit-only",
        /// Reads shared to their end, writes exclusively (4.9 to 5.5).
        WriteExclusive = "wr-exclusive",
        /// Both shared to their end, as writes are overwrites of written blocks (5.6+).
        Shared = "shared",
    }
}
choice! {
    /// How io_ticks is counted. Time is in jiffies, looked at when a request starts and when one ends.
    IoTicks {
        /// The time since the last look, if requests were in flight then (until 4.20).
        Sampled = "sampled",
        /// One jiffy for each in which a request started or ended (5.0 to 5.6).
        OneATouch = "one-a-touch",
        /// The time since the last look when one ends, one jiffy when one starts (5.7 to 6.9).
        SpanAtEnd = "span-at-end",
        /// The time since the last look, if others are in flight or one ends (6.10+).
        InFlight = "in-flight",
    }
}
choice! {
    /// How time_in_queue is counted.
    QueueTime {
        /// Requests in flight at each look, times the jiffies since the last one (until 4.20).
        Sampled = "sampled",
        /// Each request's time in whole jiffies: none for one that takes less (5.0 to 5.6).
        WholeJiffies = "whole-jiffies",
        /// Each request's time to the nanosecond (5.7+).
        Exact = "exact",
    }
}
choice! {
    /// How kyber judges latency.
    KyberStats {
        /// Mean latency of 100 ms windows (until 4.19).
        Mean = "mean",
        /// 90th and 99th percentile of histograms (4.20+).
        Percentile = "percentile",
    }
}
