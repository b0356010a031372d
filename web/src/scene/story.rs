//! Where a request has been, for how long, and what it waits for, in words.

use super::request::{Did, NONE, NONE16, Request, Span, Spot, Step};
use super::{Scene, Standing};
use crate::words::span;
use mqscope_core::event::{Op, RqId, Stage};

/// What kind of time a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoryKind {
    /// A CPU works on it.
    Work,
    /// It waits in a list, or for a tag.
    Wait,
    /// The device has it.
    Device,
    /// It is over.
    End,
}

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryLine {
    /// When it began, ns.
    pub at_ns: u64,
    /// How long it took, ns; up to now if it goes on.
    pub for_ns: u64,
    /// Whether it goes on.
    pub ongoing: bool,
    /// What kind of time it was.
    pub kind: StoryKind,
    /// What happened, a short sentence without its full stop.
    pub what: String,
    /// The kernel function in which it happened; empty inside the device.
    pub function: &'static str,
    /// What or whom it waited for; may be empty.
    pub cause: String,
    /// blktrace's letter, if it has one.
    pub letter: &'static str,
}

impl Scene {
    /// The story of a request, oldest line first; empty if it is not known (any more).
    pub fn story(&self, rq: RqId) -> Vec<StoryLine> {
        self.request(rq).map(|r| self.story_of(r)).unwrap_or_default()
    }

    /// The story of a request or of a bio without one.
    pub fn story_of(&self, request: &Request) -> Vec<StoryLine> {
        let mut lines = Vec::with_capacity(24);
        for step in request.steps() {
            // A tag is a detail of the step that it belongs to, and a freed tag changes nothing for the request.
            self.tell(request, step, &mut lines);
        }
        // Stages inside the device; between two of them, and after the last, the request is on its way.
        for (i, span) in request.spans().iter().enumerate().filter(|(_, s)| s.start_ns < s.end_ns) {
            if span.start_ns <= self.now_ns {
                lines.push(self.tell_span(request, span));
            }
            let last = i + 1 == request.spans().len();
            let gap = request
                .spans()
                .iter()
                .all(|s| s == span || s.start_ns > span.end_ns || s.end_ns <= span.start_ns);
            if span.end_ns <= self.now_ns && gap && (request.letters.c > span.end_ns) {
                lines.push(self.tell_gap(request, span.end_ns, last));
            }
        }
        lines.sort_by_key(|l| l.at_ns);
        let over = matches!(request.spot, Spot::Done(_));
        for i in 0..lines.len() {
            let last = i + 1 == lines.len();
            let end = lines.get(i + 1).map_or(self.now_ns, |next| next.at_ns);
            lines[i].for_ns = end.saturating_sub(lines[i].at_ns);
            lines[i].ongoing = last && !over;
            if last && over {
                (lines[i].for_ns, lines[i].kind) = (0, StoryKind::End);
            }
        }
        self.add_present_cause(request, &mut lines);
        lines
    }

    /// What a request is doing or waiting for now, one sentence.
    pub fn now_in_words(&self, request: &Request) -> String {
        let lines = self.story_of(request);
        let Some(line) = lines.last() else { return String::new() };
        if line.cause.is_empty() { line.what.clone() } else { format!("{}: {}", line.what, line.cause) }
    }

    fn tell(&self, request: &Request, step: &Step, lines: &mut Vec<StoryLine>) {
        let on = self.who(step);
        let (kind, letter, function, what, cause) = match step.did {
            Did::Queue => (
                StoryKind::Work,
                "Q",
                self.names.submit,
                format!("{on} submits a bio of {} KiB", kib(step.arg)),
                String::new(),
            ),
            Did::Remap => {
                let below = self.topology.queues.get(step.arg as usize).map_or("?", |q| q.name.as_str());
                let what = format!("Passed on to {below}");
                (StoryKind::Work, "A", "submit_bio of a stacked disk", what, String::new())
            }
            Did::WbtWait => (
                StoryKind::Wait,
                "",
                "rq_qos_wait",
                String::from("Throttled, the task sleeps"),
                format!("wbt lets {} asynchronous requests be in flight", step.arg),
            ),
            Did::Split => (
                StoryKind::Work,
                "X",
                self.names.split,
                format!("Split after {} sectors", step.arg),
                String::new(),
            ),
            Did::TagWait => (
                StoryKind::Wait,
                "",
                "blk_mq_get_tag",
                format!(
                    "{} sleeps on wait queue {} of the tag bitmap",
                    self.task_name(request.task),
                    step.arg
                ),
                format!("all {} tags of {} are in use", self.nr_tags(request), self.hctx_name(request.hctx)),
            ),
            Did::TagAlloc => (
                StoryKind::Work,
                "G",
                self.names.get,
                format!("Got tag {} of {}", step.arg, self.hctx_name(request.hctx)),
                String::new(),
            ),
            Did::SchedTagAlloc => (
                StoryKind::Work,
                "G",
                self.names.get,
                format!("Got sched tag {} of {}", step.arg, self.hctx_name(request.hctx)),
                String::from("the driver tag is taken when the scheduler lets it go"),
            ),
            Did::PoolWait => (
                StoryKind::Wait,
                "S",
                "get_request",
                format!("{} sleeps until the pool has a request", self.task_name(request.task)),
                String::from("the pool is full and others take their batch"),
            ),
            Did::PoolAlloc => (
                StoryKind::Work,
                "G",
                "get_request",
                format!("Got one of {} requests that the pool has given out", step.arg),
                String::from("the driver tag is taken when the driver pulls it"),
            ),
            Did::PoolFree => (
                StoryKind::Wait,
                "",
                "freed_request",
                String::from("Back in the pool"),
                String::from("the task has to collect the completion"),
            ),
            Did::DriverTag => (
                StoryKind::Work,
                "",
                "blk_mq_get_driver_tag",
                format!("Got driver tag {} of {}", step.arg, self.hctx_name(request.hctx)),
                String::from("the run gives its requests to the driver one after the other"),
            ),
            Did::NoDriverTag => (
                StoryKind::Wait,
                "",
                "blk_mq_mark_tag_wait",
                String::from("No driver tag is free"),
                format!("all {} tags of {} are in use", self.nr_tags(request), self.hctx_name(request.hctx)),
            ),
            Did::FlushWait => (
                StoryKind::Wait,
                "",
                "blk_flush_complete_seq",
                String::from("Waits for a flush of the device's write cache"),
                String::from("one flush serves all that wait when it starts"),
            ),
            Did::FlushStart => (
                StoryKind::Work,
                "",
                "blk_kick_flush",
                format!("A flush for {} that wait", step.arg),
                String::new(),
            ),
            Did::RequeueList => (
                StoryKind::Wait,
                "",
                "blk_mq_add_to_requeue_list",
                String::from("In the requeue list"),
                String::from("a kworker must take it on"),
            ),
            Did::RequestMerge => (
                StoryKind::Work,
                "M",
                "elv_attempt_insert_merge",
                format!("Request {} became its end", step.arg),
                String::new(),
            ),
            Did::SchedTagFree => (
                StoryKind::Wait,
                "",
                "blk_mq_free_request",
                String::from("Its sched tag is free again"),
                String::from("the task has to collect the completion"),
            ),
            Did::PlugAdd => (
                StoryKind::Wait,
                "",
                self.names.plug,
                format!("In the plug of {} as number {}", self.task_name(request.task), step.arg),
                String::from("the plug is flushed when it is full, finished, or its task sleeps"),
            ),
            Did::Unplug => (
                StoryKind::Work,
                "U",
                "blk_mq_flush_plug_list",
                format!("The plug is flushed, {} in this group", step.arg),
                String::new(),
            ),
            Did::UnplugSchedule => (
                StoryKind::Work,
                "UT",
                "blk_mq_flush_plug_list",
                format!("The plug is flushed because its task goes to sleep, {} in this group", step.arg),
                String::new(),
            ),
            Did::InsertCtx => (
                StoryKind::Wait,
                "I",
                "blk_mq_insert_requests",
                format!("In the ctx list of CPU {}", step.arg),
                String::from("a run of the hctx must take it out"),
            ),
            Did::InsertElevator => (
                StoryKind::Wait,
                "I",
                "blk_mq_sched_insert_requests",
                String::from("In the elevator"),
                String::from("the elevator decides when it is its turn"),
            ),
            Did::InsertDispatch => (
                StoryKind::Wait,
                "",
                "blk_mq_dispatch_rq_list",
                format!("On {} of {}", self.dispatch_list(request), self.hctx_name(request.hctx)),
                String::from("the device has to complete something first"),
            ),
            Did::DequeueCtx => {
                let (cpu, busy) = (step.arg & 0xffff, step.arg >> 16 != 0);
                let cause = if u32::from(step.cpu) == cpu {
                    String::new()
                } else {
                    format!("not by CPU {cpu}, which inserted it: its lines move")
                };
                let function = self.names.dequeue(self.is_scsi(request), busy);
                (StoryKind::Work, "", function, format!("{on} takes it from ctx[{cpu}]"), cause)
            }
            Did::DequeueElevator => (
                StoryKind::Work,
                "",
                "blk_mq_do_dispatch_sched",
                format!("{on} takes it from the elevator"),
                String::new(),
            ),
            Did::DequeueDispatch => (
                StoryKind::Work,
                "",
                "blk_mq_sched_dispatch_requests",
                format!("{on} takes it from {}", self.dispatch_list(request)),
                String::new(),
            ),
            Did::Issue => (
                StoryKind::Device,
                "D",
                self.queue_rq(request),
                format!("{on} gives it to the driver"),
                String::new(),
            ),
            Did::Requeue => (
                StoryKind::Work,
                "R",
                self.queue_rq(request),
                String::from("The driver refuses it"),
                format!("{} takes no more commands now", self.queue_name(request)),
            ),
            Did::BackMerge | Did::FrontMerge => (
                StoryKind::Wait,
                if step.did == Did::BackMerge { "M" } else { "F" },
                if step.did == Did::BackMerge { "bio_attempt_back_merge" } else { "bio_attempt_front_merge" },
                format!("Bio {} joins it", step.arg),
                String::new(),
            ),
            Did::Complete => (
                StoryKind::Work,
                "C",
                "blk_mq_end_request",
                format!("{on} completes it"),
                if step.cpu == request.cpu || request.cpu == NONE16 {
                    String::new()
                } else {
                    format!("it was submitted on CPU {}", request.cpu)
                },
            ),
            Did::TagFree => (
                StoryKind::Wait,
                "",
                "blk_mq_free_request",
                format!("Tag {} is free again", step.arg),
                String::from("the task has to collect the completion"),
            ),
            Did::BioEnd => (
                StoryKind::Work,
                "",
                "bio_endio",
                format!("Bio {} is finished in the kernel", step.arg),
                String::new(),
            ),
            Did::Reap => (
                StoryKind::Work,
                "",
                "",
                format!("{} takes note that bio {} is done", self.task_name(request.task), step.arg),
                String::new(),
            ),
        };
        let legacy = self.is_legacy(request).then(|| self.legacy_function(request, step.did)).flatten();
        lines.push(StoryLine {
            at_ns: step.at_ns,
            for_ns: 0,
            ongoing: false,
            kind,
            what,
            function: legacy.unwrap_or(function),
            cause,
            letter,
        });
    }

    fn tell_span(&self, request: &Request, stage: &Span) -> StoryLine {
        let unit = stage.unit;
        let (kind, what) = match stage.stage {
            Stage::Service => (StoryKind::Device, String::from("The device serves it")),
            Stage::Controller => {
                (StoryKind::Device, String::from("The controller fetches and parses the command"))
            }
            Stage::Firmware => (StoryKind::Device, String::from("The RAID firmware works on it")),
            Stage::Member => (StoryKind::Device, format!("At member disk {unit}")),
            Stage::MemberWait => (
                StoryKind::Wait,
                format!("Waits in the adapter: member disk {unit} has as many commands as it takes"),
            ),
            Stage::DieWait => {
                (StoryKind::Wait, format!("Waits for flash die {unit}, which serves another request"))
            }
            Stage::Die => (StoryKind::Device, format!("Flash die {unit} works on it")),
            Stage::Program => (StoryKind::Device, format!("Flash die {unit} programs pages written before")),
            Stage::Channel => (StoryKind::Device, format!("Its page crosses channel {unit}")),
            Stage::WriteBack => (StoryKind::Device, String::from("In the adapter's battery-backed cache")),
            Stage::WriteBuffer => (StoryKind::Device, String::from("In the write buffer")),
            // What a read sends first is its command alone.
            Stage::Link
                if request.extent.op == Op::Read
                    && request.spans().len() > 1
                    && request.spans().iter().all(|s| s.start_ns >= stage.start_ns) =>
            {
                (StoryKind::Device, String::from("Its command crosses the link from the host"))
            }
            Stage::Link => {
                let way = if request.extent.op == Op::Write { "from" } else { "to" };
                (StoryKind::Device, format!("Its data cross the link {way} the host"))
            }
            Stage::Queued => (StoryKind::Wait, String::from("Waits in the queue inside the disk")),
            Stage::Seek => (StoryKind::Device, String::from("The arm moves to its cylinder")),
            Stage::Rotate => (StoryKind::Device, String::from("The platter turns until its sector comes")),
            Stage::Transfer => (StoryKind::Device, String::from("Its sectors pass under the head")),
            Stage::Cache => (StoryKind::Device, String::from("The disk's cache answers")),
            Stage::Destage => {
                (StoryKind::Wait, String::from("Waits until the write cache is on the platter"))
            }
            Stage::ReadAhead => (StoryKind::Device, String::from("The head reads on")),
        };
        StoryLine {
            at_ns: stage.start_ns,
            for_ns: 0,
            ongoing: false,
            kind,
            what,
            function: "",
            cause: if request.tag == NONE {
                String::new()
            } else {
                format!("inside {}", self.queue_name(request))
            },
            letter: "",
        }
    }

    fn tell_gap(&self, request: &Request, at_ns: u64, last: bool) -> StoryLine {
        let what = if last { "Its interrupt is still to come" } else { "On its way inside the device" };
        StoryLine {
            at_ns,
            for_ns: 0,
            ongoing: false,
            kind: StoryKind::Device,
            what: what.into(),
            function: "",
            cause: format!("inside {}", self.queue_name(request)),
            letter: "",
        }
    }

    /// The last line also says what stands in the way right now.
    fn add_present_cause(&self, request: &Request, lines: &mut [StoryLine]) {
        let Some(line) = lines.last_mut().filter(|l| l.ongoing) else { return };
        let cause = match request.spot {
            Spot::Ctx(_) | Spot::DispatchList(_) => {
                let Some(hctx) = self.hctxs.get(request.hctx as usize) else { return };
                let standing = Standing::of(request);
                let ahead = self.standing_at(standing).take_while(|(_, r)| r.rq != request.rq).count();
                let runners = match (hctx.runners(), hctx.scheduled) {
                    ([], Some((due, cpu))) => format!(
                        "a kworker on CPU {cpu} is to run the hctx{}",
                        if due > self.now_ns {
                            format!(" in {}", ns(due - self.now_ns))
                        } else {
                            String::new()
                        }
                    ),
                    ([], None) => String::from("no CPU runs the hctx now"),
                    ([one], _) => format!("CPU {one} runs the hctx"),
                    (more, _) => format!("{} CPUs run the hctx", more.len().max(hctx.running().into())),
                };
                format!("{ahead} ahead of it; {runners}")
            }
            Spot::Submit(cpu) | Spot::Hand(cpu) | Spot::Completing(cpu) => {
                let Some(spin) = self.cpus.get(cpu as usize).and_then(|c| c.spin) else { return };
                let name =
                    self.topology.objects.get(spin.lock as usize).map_or("a lock", |o| o.name.as_str());
                let holder = self.objects.get(spin.lock as usize).and_then(|o| o.holder);
                let holder = holder.map_or(spin.holder, |(cpu, _)| cpu);
                format!(
                    "CPU {cpu} has been spinning on {name} for {}, held by CPU {holder}",
                    ns(self.now_ns.saturating_sub(spin.since_ns))
                )
            }
            Spot::Ring(task) => match self.tasks.get(task as usize).and_then(|t| t.sleep) {
                Some(_) => format!("{} sleeps and will be woken", self.task_name(task)),
                None => format!("its event lies in the ring until {} looks", self.task_name(task)),
            },
            _ => return,
        };
        line.cause = cause;
    }

    /// What locks and lines cost on this request's account, one sentence; empty if nothing.
    pub fn lost_in_words(&self, request: &Request) -> String {
        let lost = &request.lost;
        if lost.spin_ns + lost.line_ns == 0 {
            return String::new();
        }
        let worst = self.topology.objects.get(lost.worst as usize).map_or("", |o| o.name.as_str());
        let had = if lost.worst_cpu == NONE16 {
            String::new()
        } else {
            format!(", last at CPU {}", lost.worst_cpu)
        };
        format!(
            "{} spinning and {} fetching lines; most on {worst} ({}{had})",
            ns(lost.spin_ns),
            ns(lost.line_ns),
            ns(lost.worst_ns)
        )
    }
}

fn kib(sectors: u32) -> String {
    if sectors.is_multiple_of(2) { (sectors / 2).to_string() } else { format!("{}.5", sectors / 2) }
}

fn ns(ns: u64) -> String {
    span(ns as f64)
}
