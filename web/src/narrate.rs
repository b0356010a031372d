//! One event of the log as a sentence for people, in the kernel's words. No browser here.

use crate::words;
use mqscope_core::event::{Context, Event, Extent, Kind, NO_TASK, Op, Place, Sleep, Stage, Why};
use mqscope_core::topology::Topology;

/// Who does it: the task with its name, or the context on its CPU.
pub fn actor(event: &Event, topology: &Topology) -> String {
    let context = match event.context {
        Context::Task => match topology.tasks.get(event.task as usize) {
            Some(task) if event.task != NO_TASK => format!("{} ({})", task.name, task.pid),
            _ => String::from("a task"),
        },
        Context::HardIrq => String::from("hard interrupt"),
        Context::SoftIrq => String::from("softirq"),
        Context::Kworker => String::from("kworker"),
        Context::Idle => return String::from("device"),
    };
    format!("CPU {}, {context}", event.cpu)
}

fn blocks(extent: &Extent) -> String {
    let op = match extent.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Discard => "discard",
        Op::Flush => "flush",
    };
    format!("{op} of {} KiB at sector {}", f64::from(extent.sectors) / 2.0, words::grouped(extent.sector))
}

/// A disk's name.
pub fn disk(topology: &Topology, queue: u16) -> &str {
    topology.queues.get(queue as usize).map_or("?", |q| q.name.as_str())
}

/// An hctx with its disk.
pub fn hctx(topology: &Topology, hctx: u16) -> String {
    match topology.hctxs.get(hctx as usize) {
        Some(h) => format!("{} hctx {}", disk(topology, h.queue), h.index),
        None => format!("hctx {hctx}"),
    }
}

/// A lock or line.
pub fn object(topology: &Topology, id: u32) -> &str {
    topology.objects.get(id as usize).map_or("?", |o| o.name.as_str())
}

fn task(topology: &Topology, id: u16) -> String {
    topology
        .tasks
        .get(id as usize)
        .map_or_else(|| format!("task {id}"), |t| format!("{} ({})", t.name, t.pid))
}

fn place(place: &Place) -> String {
    match place {
        Place::Ctx(cpu) => format!("the ctx list of CPU {cpu}"),
        Place::DispatchList => String::from("the dispatch list"),
        Place::Elevator => String::from("the elevator"),
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Service => "its service time",
        Stage::Controller => "the controller's front end",
        Stage::Firmware => "the firmware engine",
        Stage::Member => "a member disk",
        Stage::DieWait => "the wait for a die",
        Stage::Die => "a die",
        Stage::WriteBuffer => "the write buffer",
        Stage::Link => "the link to the host",
        Stage::MemberWait => "the wait for a place at a member disk",
        Stage::Program => "a program on a die",
        Stage::Channel => "a channel",
        Stage::WriteBack => "the adapter's write cache",
        Stage::Queued => "the queue inside the disk",
        Stage::Seek => "the seek",
        Stage::Rotate => "the wait for the platter to turn",
        Stage::Transfer => "the head",
        Stage::Cache => "the disk's cache",
        Stage::Destage => "the write from the cache to the platter",
        Stage::ReadAhead => "the read-ahead",
    }
}

fn many(n: u32, one: &str, more: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {more}"),
    }
}

/// What happened, without time and actor.
pub fn sentence(event: &Event, t: &Topology) -> String {
    match &event.kind {
        Kind::Queue { bio, queue, extent } => {
            format!("bio {bio} arrives at {}: {}", disk(t, *queue), blocks(extent))
        }
        Kind::Split { bio, at_sector, .. } => {
            format!(
                "bio {bio} is too long for one request and is split at sector {}",
                words::grouped(*at_sector)
            )
        }
        Kind::Remap { bio, queue, extent, from_queue, .. } => {
            format!("{} passes bio {bio} on to {}: {}", disk(t, *from_queue), disk(t, *queue), blocks(extent))
        }
        Kind::WbtWait { bio, queue, in_flight, limit } => format!(
            "bio {bio} is throttled: {in_flight} asynchronous requests of {} are in flight, {limit} may be",
            disk(t, *queue)
        ),
        Kind::WbtLimits { queue, max, normal, background } => {
            format!(
                "wbt of {} now lets {max}, {normal} or {background} asynchronous writes be",
                disk(t, *queue)
            )
        }
        Kind::PageWrite { queue, extent, dirty, .. } => format!(
            "copies a {} of {} to the page cache, of which {} are dirty now",
            blocks(extent),
            disk(t, *queue),
            words::bytes(*dirty as f64)
        ),
        Kind::PageRead { queue, extent, hit, .. } => format!(
            "has a {} of {} from the page cache{}",
            blocks(extent),
            disk(t, *queue),
            if *hit { ", where it was" } else { ", into which it was read" }
        ),
        Kind::DirtyThrottle { queue, pause_ns, dirty, limit } => format!(
            "is throttled for {}: {} of {} that may be are dirty or on their way to {}",
            words::span(*pause_ns as f64),
            words::bytes(*dirty as f64),
            words::bytes(*limit as f64),
            disk(t, *queue)
        ),
        Kind::Writeback { queue, sector, bytes, why, dirty, .. } => format!(
            "writes up to {} of dirty pages to {} from sector {} on, {}; {} are dirty",
            words::bytes(*bytes as f64),
            disk(t, *queue),
            words::grouped(*sector),
            match why {
                Why::Background => "as there are too many",
                Why::Periodic => "as they are old",
                Why::Sync => "as it was asked to sync",
                Why::Advice => "before it drops them (posix_fadvise)",
            },
            words::bytes(*dirty as f64)
        ),
        Kind::FileLockWait { lock, exclusive, waiters } => format!(
            "wants {} {}, {}",
            object(t, *lock),
            if *exclusive { "for itself" } else { "together with others" },
            match waiters {
                0 => String::from("which is held"),
                n => format!("behind {}", many(u32::from(*n), "waiting task", "waiting tasks")),
            }
        ),
        Kind::FileLockAcquire { lock, wait_ns: 0, .. } => format!("takes {}", object(t, *lock)),
        Kind::FileLockAcquire { lock, wait_ns, .. } => {
            format!("takes {} after {}", object(t, *lock), words::span(*wait_ns as f64))
        }
        Kind::FileLockRelease { lock, .. } => format!("releases {}", object(t, *lock)),
        Kind::BackMerge { bio, rq, extent, .. } => {
            format!("bio {bio} merges at the back of request {rq}: {}", blocks(extent))
        }
        Kind::FrontMerge { bio, rq, extent, .. } => {
            format!("bio {bio} merges at the front of request {rq}: {}", blocks(extent))
        }
        Kind::SleepRequest { bio, .. } => format!("no request is free for bio {bio}"),
        Kind::GetRequest { bio, rq: 0, .. } => format!("a request is sought for bio {bio}"),
        Kind::GetRequest { bio, rq, .. } => format!("bio {bio} gets request {rq}"),
        Kind::Plug { queue } => format!("the empty plug receives its first request, for {}", disk(t, *queue)),
        Kind::Unplug { count, explicit: true, queue } => {
            format!("the plug is flushed: {} for {}", many(*count, "request", "requests"), disk(t, *queue))
        }
        Kind::Unplug { count, queue, .. } => format!(
            "the task is about to sleep, so its plug is flushed: {} for {}",
            many(*count, "request", "requests"),
            disk(t, *queue)
        ),
        Kind::Insert { rq, place: at, .. } => format!("request {rq} joins {}", place(at)),
        Kind::Issue { rq, hctx: h, extent, .. } => {
            format!("request {rq} goes to the driver by {}: {}", hctx(t, *h), blocks(extent))
        }
        Kind::Requeue { rq, .. } => format!("the driver cannot take request {rq} now and puts it back"),
        Kind::Complete { rq: 0, queue, .. } => format!("a bio of {} is complete", disk(t, *queue)),
        Kind::Complete { rq, .. } => format!("request {rq} is complete"),
        Kind::RequestMerge { gone, rq, front, .. } => {
            format!("request {gone} becomes the {} of request {rq}", if *front { "beginning" } else { "end" })
        }
        Kind::SchedTagAlloc { rq, bio, hctx: h, tag } => {
            format!("request {rq} for bio {bio} takes sched tag {tag} of {}", hctx(t, *h))
        }
        Kind::SchedTagFree { rq, hctx: h, tag } => {
            format!("request {rq} gives sched tag {tag} of {} back", hctx(t, *h))
        }
        Kind::FlushPending { rq, hctx: h } => {
            format!("request {rq} waits for a flush in the flush queue of {}", hctx(t, *h))
        }
        Kind::FlushStart { rq, of, count, .. } => format!(
            "flush request {rq} is made for {}, with the tag of request {of}",
            many(*count, "request", "requests")
        ),
        Kind::RequeueListAdd { rq, .. } => {
            format!("request {rq} joins the requeue list; a kworker takes it on")
        }
        Kind::PoolWait { bio, queue, .. } => {
            format!("the pool of {} has no request for bio {bio}: the task will sleep", disk(t, *queue))
        }
        Kind::PoolAlloc { rq, bio, queue, count, .. } => format!(
            "request {rq} for bio {bio} comes from the pool of {}, which has given out {count}",
            disk(t, *queue)
        ),
        Kind::PoolFree { rq, queue, count, .. } => {
            format!("request {rq} goes back to the pool of {}, which has {count} out", disk(t, *queue))
        }
        Kind::Congested { queue, on, .. } => {
            format!(
                "the pool of {} is {}",
                disk(t, *queue),
                if *on { "congested" } else { "congested no more" }
            )
        }
        Kind::NoDriverTag { rq, hctx: h } => {
            format!("no driver tag of {} is free for request {rq}", hctx(t, *h))
        }
        Kind::TagAlloc { rq, bio, hctx: h, tag } => {
            format!("request {rq} for bio {bio} takes tag {tag} of {}", hctx(t, *h))
        }
        Kind::TagWait { bio, hctx: h, wait_queue } => {
            format!(
                "no tag of {} is free for bio {bio}: the task will sleep on wait queue {wait_queue}",
                hctx(t, *h)
            )
        }
        Kind::TagFree { rq, hctx: h, tag } => format!("request {rq} gives tag {tag} of {} back", hctx(t, *h)),
        Kind::PlugAdd { rq, count, .. } => format!("request {rq} waits in the plug, which holds {count}"),
        Kind::DispatchListAdd { rq, hctx: h } => {
            format!("request {rq} joins the dispatch list of {}", hctx(t, *h))
        }
        Kind::Dequeue { rq, from, .. } => format!("a dispatcher takes request {rq} from {}", place(from)),
        Kind::BioEnd { bio, lat_ns } => {
            format!(
                "bio {bio} is complete in the kernel, {} after the application asked",
                words::span(*lat_ns as f64)
            )
        }
        Kind::Reap { bio, lat_ns } => {
            format!(
                "the application learns that bio {bio} is done, {} after it asked",
                words::span(*lat_ns as f64)
            )
        }
        Kind::RunBegin { hctx: h } => format!("a run of {} begins", hctx(t, *h)),
        Kind::RunEnd { hctx: h, sent } => {
            format!("the run of {} ends after {}", hctx(t, *h), many(*sent, "request", "requests"))
        }
        Kind::RunScheduled { hctx: h, target, delay_ns: 0 } => {
            format!("a run of {} is left to a kworker on CPU {target}", hctx(t, *h))
        }
        Kind::RunScheduled { hctx: h, target, delay_ns } => format!(
            "a run of {} is left to a kworker on CPU {target}, in {}",
            hctx(t, *h),
            words::span(*delay_ns as f64)
        ),
        Kind::Doorbell { hctx: h, count } => {
            format!("the doorbell of {} is rung for {}", hctx(t, *h), many(*count, "command", "commands"))
        }
        Kind::DispatchBusy { hctx: h, value } => format!("dispatch_busy of {} becomes {value}", hctx(t, *h)),
        Kind::LockWait { lock, holder, waiters: 0 } => {
            format!("spins on {}, which CPU {holder} holds", object(t, *lock))
        }
        Kind::LockWait { lock, holder, waiters } => format!(
            "spins on {}, which CPU {holder} holds, behind {}",
            object(t, *lock),
            many(u32::from(*waiters), "other CPU", "other CPUs")
        ),
        Kind::LockAcquire { lock, wait_ns, transfer_ns, from } => {
            let mut text = format!("takes {}", object(t, *lock));
            if *wait_ns > 0 {
                text += &format!(" after spinning for {}", words::span(*wait_ns as f64));
            }
            if *transfer_ns > 0 {
                text +=
                    &format!("; its line comes from CPU {from} in {}", words::span(f64::from(*transfer_ns)));
            }
            text
        }
        Kind::LockRelease { lock, held_ns } => {
            format!("releases {} after {}", object(t, *lock), words::span(*held_ns as f64))
        }
        Kind::LineTransfer { line, from, transfer_ns, wait_ns } => {
            let mut text = format!(
                "fetches the line of {} from CPU {from} in {}",
                object(t, *line),
                words::span(f64::from(*transfer_ns))
            );
            if *wait_ns > 0 {
                text += &format!(", after waiting {} for it", words::span(f64::from(*wait_ns)));
            }
            text
        }
        Kind::ContextBegin => String::from("begins to run"),
        Kind::ContextEnd => String::from("stops running"),
        Kind::SyscallEnter { count: 0 } => String::from("enters the kernel to collect completions"),
        Kind::SyscallEnter { count } => format!("enters the kernel with {}", many(*count, "I/O", "I/Os")),
        Kind::SyscallExit => String::from("returns to user mode"),
        Kind::TaskSleep { why } => String::from(match why {
            Sleep::Tag => "sleeps until a tag is free",
            Sleep::FileLock => "sleeps until the file's lock is free",
            Sleep::Log => "sleeps until a commit is in the log, or is asked for",
            Sleep::Wbt => "sleeps until fewer asynchronous writes are in flight",
            Sleep::Request => "sleeps until the pool has a request",
            Sleep::Io => "sleeps until I/O completes",
            Sleep::Dirty => "sleeps: it has dirtied more than the disk writes",
            Sleep::Page => "sleeps until pages are read or written",
            Sleep::Flusher => "sleeps: there is nothing to write back",
            Sleep::Timer => "sleeps until its timer fires",
            Sleep::Done => "sleeps: its work is done or others come first",
        }),
        Kind::TaskWake { task: id } => format!("wakes {}", task(t, *id)),
        Kind::Polled { rq, hctx: h } => {
            format!("finds request {rq} complete while polling {}", hctx(t, *h))
        }
        Kind::Irq { hctx: h, .. } => format!("a completion interrupt of {} arrives", hctx(t, *h)),
        Kind::Ipi { target } => format!("sends the completion to CPU {target}"),
        Kind::DeviceStage { rq: 0, queue, stage: s, start_ns, end_ns, .. } => format!(
            "{} by itself: {} for {}",
            disk(t, *queue),
            stage(*s),
            words::span(end_ns.saturating_sub(*start_ns) as f64)
        ),
        Kind::DeviceStage { rq, queue, stage: s, unit, start_ns, end_ns } => format!(
            "request {rq} passes {} of {} (unit {unit}) for {}",
            stage(*s),
            disk(t, *queue),
            words::span(end_ns.saturating_sub(*start_ns) as f64)
        ),
        Kind::Violation { invariant } => format!("this must not be: {}", invariant.sentence()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::request;

    fn event(kind: Kind) -> Event {
        Event { at_ns: 0, cpu: 3, context: Context::SoftIrq, task: NO_TASK, kind }
    }

    #[test]
    fn names_that_are_not_there_do_not_stop_the_sentence() {
        let empty = Topology::default();
        let extent = Extent::new(Op::Read, 8, 1);
        let lines = [
            sentence(&event(Kind::Issue { rq: 7, queue: 9, hctx: 9, extent }), &empty),
            sentence(&event(Kind::LockWait { lock: 99, holder: 1, waiters: 2 }), &empty),
            sentence(&event(Kind::TaskWake { task: 99 }), &empty),
            actor(&event(Kind::SyscallExit), &empty),
        ];
        assert_eq!(lines[0], "request 7 goes to the driver by hctx 9: read of 0.5 KiB at sector 8");
        assert_eq!(lines[1], "spins on ?, which CPU 1 holds, behind 2 other CPUs");
        assert_eq!(lines[2], "wakes task 99");
        assert_eq!(lines[3], "CPU 3, softirq");
    }

    #[test]
    fn a_letter_before_the_request_exists_is_about_no_request() {
        let extent = Extent::new(Op::Write, 0, 8);
        let early = Kind::GetRequest { bio: 4, rq: 0, queue: 0, extent };
        assert_eq!(request(&early), None);
        assert_eq!(sentence(&event(early), &Topology::default()), "a request is sought for bio 4");
        assert_eq!(request(&Kind::TagFree { rq: 4, hctx: 0, tag: 1 }), Some(4));
    }
}
