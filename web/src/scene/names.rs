//! What things are called in stories: kernel functions by policy, and names from the topology.

use super::Scene;
use super::request::{Request, Step};
use mqscope_core::event::Context;
use mqscope_core::kernel::{DispatchMode, FullPlug, Knobs};

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
                format!("{queue} hctx{}", h.index)
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

    pub(super) fn model(&self, request: &Request) -> &str {
        self.topology.queues.get(request.queue as usize).map_or("", |q| q.model.as_str())
    }

    pub(super) fn is_scsi(&self, request: &Request) -> bool {
        self.model(request).starts_with("hba")
    }

    pub(super) fn queue_rq(&self, request: &Request) -> &'static str {
        match self.model(request) {
            "null" => "null_queue_rq",
            m if m.starts_with("hba") => "scsi_queue_rq",
            _ => "nvme_queue_rq",
        }
    }
}
