//! What things are called in stories: kernel functions by policy, and names from the topology.

use super::Scene;
use super::request::{Did, Request, Step};
use mqscope_core::event::Context;
use mqscope_core::kernel::{DispatchMode, FullPlug, Knobs};
use mqscope_core::scenario::Path;
use mqscope_core::topology::Driver;

/// Function names and rules that differ between knob rows.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub(super) submit: &'static str,
    pub(super) split: &'static str,
    pub(super) get: &'static str,
    pub(super) plug: &'static str,
    pub(super) mode: DispatchMode,
}

impl Names {
    /// The names that belong to `knobs`.
    pub fn new(knobs: &Knobs) -> Self {
        // Who may fill a whole plug changed in the same releases (5.0 to 5.4, 5.13, 5.16) around which these functions
        // were split off or renamed.
        let (submit, split, get, plug) = match knobs.full_plug {
            FullPlug::SingleQueue => {
                ("blk_mq_make_request", "blk_queue_split", "blk_mq_get_request", "blk_mq_make_request")
            }
            FullPlug::SingleOrCommit => {
                ("blk_mq_make_request", "blk_queue_split", "blk_mq_get_request", "blk_add_rq_to_plug")
            }
            FullPlug::SingleCommitOrSharedTags => {
                ("blk_mq_submit_bio", "__blk_queue_split", "__blk_mq_alloc_request", "blk_add_rq_to_plug")
            }
            FullPlug::Always => (
                "blk_mq_submit_bio",
                "__bio_split_to_limits",
                "__blk_mq_alloc_requests",
                "blk_add_rq_to_plug",
            ),
        };
        Self { submit, split, get, plug, mode: knobs.dispatch_mode }
    }

    pub(super) fn dequeue(&self, scsi: bool, busy: bool) -> &'static str {
        let one_by_one = match self.mode {
            DispatchMode::TakeAll => false,
            DispatchMode::OneByOne => true,
            DispatchMode::OneByOneWithBudget => scsi,
            DispatchMode::Busy => busy,
        };
        if one_by_one { "blk_mq_do_dispatch_ctx" } else { "blk_mq_flush_busy_ctxs" }
    }
}

impl Scene {
    pub(super) fn who(&self, step: &Step) -> String {
        match step.context {
            Context::Task => format!("The task on CPU {}", step.cpu),
            Context::Kworker => format!("A kworker on CPU {}", step.cpu),
            Context::HardIrq => format!("The interrupt on CPU {}", step.cpu),
            Context::SoftIrq => format!("The softirq on CPU {}", step.cpu),
            Context::Idle => format!("CPU {}", step.cpu),
        }
    }

    /// Name of a task.
    pub fn task_name(&self, task: u16) -> &str {
        self.topology.tasks.get(task as usize).map_or("the task", |t| t.name.as_str())
    }

    /// Name of an hctx with its disk's.
    pub fn hctx_name(&self, hctx: u16) -> String {
        match self.topology.hctxs.get(hctx as usize) {
            Some(h) => {
                let queue = self.topology.queues.get(h.queue as usize).map_or("", |q| q.name.as_str());
                // The legacy path has no hctx.
                if self.topology.is_legacy(hctx) { queue.into() } else { format!("{queue} hctx{}", h.index) }
            }
            None => String::from("its hctx"),
        }
    }

    pub(super) fn queue_name(&self, request: &Request) -> &str {
        self.topology.queues.get(request.queue as usize).map_or("the device", |q| q.name.as_str())
    }

    pub(super) fn nr_tags(&self, request: &Request) -> u32 {
        self.topology.queues.get(request.queue as usize).map_or(0, |q| q.nr_tags)
    }

    fn driver(&self, request: &Request) -> Option<Driver> {
        self.topology.queues.get(request.queue as usize).map(|q| q.driver)
    }

    pub(super) fn is_scsi(&self, request: &Request) -> bool {
        self.driver(request) == Some(Driver::Scsi)
    }

    pub(super) fn is_legacy(&self, request: &Request) -> bool {
        self.topology.queues.get(request.queue as usize).is_some_and(|q| q.path == Path::Legacy)
    }

    pub(super) fn queue_rq(&self, request: &Request) -> &'static str {
        match self.driver(request) {
            Some(Driver::Null) => "null_queue_rq",
            Some(Driver::Nvme) => "nvme_queue_rq",
            Some(Driver::Scsi) => "scsi_queue_rq",
            Some(Driver::Stacked) | None => "",
        }
    }

    pub(super) fn dispatch_list(&self, request: &Request) -> &'static str {
        if self.is_legacy(request) { "q->queue_head" } else { "hctx->dispatch" }
    }

    /// Where a step happens on the legacy path, if that is elsewhere than on blk-mq's.
    pub(super) fn legacy_function(&self, request: &Request, did: Did) -> Option<&'static str> {
        let request_fn = match self.driver(request) {
            Some(Driver::Null) => "null_request_fn",
            _ => "scsi_request_fn",
        };
        let function = match did {
            Did::Queue | Did::PlugAdd => "blk_queue_bio",
            Did::Unplug | Did::UnplugSchedule => "blk_flush_plug_list",
            Did::InsertElevator => "__elv_add_request",
            Did::InsertDispatch => "blk_requeue_request",
            Did::DequeueElevator | Did::DequeueDispatch => "blk_peek_request",
            Did::DriverTag | Did::NoDriverTag => "blk_queue_start_tag",
            Did::Issue | Did::Requeue => request_fn,
            Did::Complete => "blk_finish_request",
            Did::TagFree => "blk_queue_end_tag",
            _ => return None,
        };
        Some(function)
    }
}
