//! The map as focusable boxes with words, in the order of a request's way.

use super::{BoxId, DeviceBox, ElevatorBox, HctxBox, Lane, Layout, LayoutBox, Row};
use crate::words::grouped;
use mqscope_core::scenario::Path;
use mqscope_core::topology::Topology;

impl Layout {
    /// Boxes for the page to make focusable, in the order of a request's way.
    pub fn boxes(&self, topology: &Topology) -> Vec<LayoutBox> {
        let mut boxes = Vec::with_capacity(self.lanes.len() + 2 * self.hctxs.len() + self.devices.len());
        boxes.extend(self.lanes.iter().map(|l| lane_box(topology, l)));
        boxes.extend(self.elevators.iter().map(|e| elevator_box(topology, e)));
        for hctx in &self.hctxs {
            boxes.extend(hctx_boxes(topology, hctx));
        }
        boxes.extend(self.devices.iter().map(|d| device_box(topology, d)));
        for group in self.groups().filter(|g| !g.objects.is_empty() && g.rect.w > 0.0) {
            let id = group.objects[0];
            let Some(object) = topology.objects.get(id as usize) else { continue };
            let kind = if group.lock { "spinlock" } else { "shared cache line" };
            let many = match group.objects.len() {
                1 => String::new(),
                n => format!(", {n} of them"),
            };
            boxes.push(LayoutBox {
                id: BoxId::Object(id),
                label: if group.objects.len() == 1 { object.name.clone() } else { group.class.clone() },
                text: format!("{} ({kind}{many})", if many.is_empty() { &object.name } else { &group.class }),
                rect: group.rect,
            });
        }
        boxes
    }
}

fn lane_box(topology: &Topology, lane: &Lane) -> LayoutBox {
    let (id, label, text) = match lane.row {
        Row::Cpu(cpu) => {
            let tasks: Vec<_> =
                topology.tasks.iter().filter(|t| t.cpu == cpu).map(|t| t.name.as_str()).collect();
            let of = if tasks.is_empty() {
                String::new()
            } else {
                format!(", where {} started", tasks.join(", "))
            };
            let socket = topology.cpus[cpu as usize].socket;
            let lists = if lane.ctx.w > 0.0 { "plug, ctx list" } else { "plug" };
            let text = format!("CPU {cpu} on node {socket}{of}: {lists} and completions");
            (BoxId::Cpu(cpu), format!("CPU {cpu}"), text)
        }
        Row::Fold { socket, count, busy } => {
            let busy = if busy { "less busy" } else { "idle" };
            (
                BoxId::FoldedCpus(socket),
                format!("node {socket}"),
                format!("{count} {busy} CPUs of node {socket}, folded"),
            )
        }
    };
    LayoutBox { id, label, text, rect: lane.rect }
}

fn elevator_box(topology: &Topology, at: &ElevatorBox) -> LayoutBox {
    let queue = &topology.queues[at.queue as usize];
    let requests = match queue.path {
        Path::Legacy => format!("a pool of {} requests of each kind", grouped(queue.nr_requests.into())),
        Path::Mq => {
            format!("{} sched tags", grouped(u64::from(queue.nr_requests) * u64::from(at.tag_sets)))
        }
    };
    LayoutBox {
        id: BoxId::Elevator(at.queue),
        label: format!("{} {}", queue.name, queue.scheduler),
        text: format!(
            "Scheduler {} of {}, {}: queued reads and writes in sector order",
            queue.scheduler, queue.name, requests
        ),
        rect: at.rect,
    }
}

fn hctx_boxes(topology: &Topology, at: &HctxBox) -> Vec<LayoutBox> {
    let Some(id) = at.hctx else {
        let label = format!("{} more hctxs", at.folded);
        return vec![LayoutBox {
            id: BoxId::FoldedHctxs,
            text: format!("{label}, idle or folded"),
            label,
            rect: at.rect,
        }];
    };
    let hctx = &topology.hctxs[id as usize];
    let queue = topology.queues.get(hctx.queue as usize);
    let name = queue.map_or("?", |q| q.name.as_str());
    let tags = queue.map_or(0, |q| q.nr_tags);
    let cpus = match hctx.cpus.as_slice() {
        [] => String::from("no CPU"),
        [one] => format!("CPU {one}"),
        more => format!("{} CPUs", more.len()),
    };
    let (label, text) = match topology.is_legacy(id) {
        true => (format!("{name} request_queue"), format!("Request queue of {name}: q->queue_head")),
        false => (
            format!("{name} hctx{}", hctx.index),
            format!("Hardware context {} of {name}, for {cpus}: dispatch list", hctx.index),
        ),
    };
    let tags = LayoutBox {
        id: BoxId::Tags(id),
        label: format!("{label} tags"),
        text: format!("Tag bitmap of {label}: {} tags", grouped(tags.into())),
        rect: at.tags,
    };
    vec![LayoutBox { id: BoxId::Hctx(id), text, label, rect: at.rect }, tags]
}

fn device_box(topology: &Topology, at: &DeviceBox) -> LayoutBox {
    let queue = &topology.queues[at.queue as usize];
    let units: Vec<_> = queue.units.iter().map(|(label, n)| format!("{n} × {label}")).collect();
    let units = if units.is_empty() { String::new() } else { format!("; inside: {}", units.join(", ")) };
    LayoutBox {
        id: BoxId::Device(at.queue),
        label: queue.name.clone(),
        text: format!(
            "Device {} ({}), takes {} commands at once{units}",
            queue.name,
            queue.model,
            grouped(queue.queue_depth.into())
        ),
        rect: at.rect,
    }
}
