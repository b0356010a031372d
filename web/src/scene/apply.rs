//! The fold: what each event of the log changes in the picture.

use super::lists::Slot;
use super::request::{Did, NONE16, Request, Span, Spot, Step};
use super::{FINISHED_MAX, MERGES_MAX, Merge, Scene};
use mqscope_core::event::{BioId, Event, Extent, Flags, HctxId, Kind, Op, Place, QueueId, RqId};
use std::collections::VecDeque;

pub(super) fn push_bounded<T>(ring: &mut VecDeque<T>, max: usize, value: T) {
    if ring.len() >= max {
        ring.pop_front();
    }
    ring.push_back(value);
}

impl Scene {
    /// Applies one event. Events come in the order of the log.
    pub fn apply(&mut self, event: &Event) {
        self.now_ns = self.now_ns.max(event.at_ns);
        match event.kind {
            Kind::Queue { .. }
            | Kind::Remap { .. }
            | Kind::Split { .. }
            | Kind::BackMerge { .. }
            | Kind::FrontMerge { .. }
            | Kind::GetRequest { .. }
            | Kind::SleepRequest { .. }
            | Kind::RequestMerge { .. }
            | Kind::SchedTagAlloc { .. }
            | Kind::PoolAlloc { .. }
            | Kind::PoolWait { .. }
            | Kind::TagAlloc { .. }
            | Kind::NoDriverTag { .. }
            | Kind::WbtWait { .. }
            | Kind::TagWait { .. } => self.apply_submit(event),
            Kind::FlushPending { .. } | Kind::FlushStart { .. } | Kind::RequeueListAdd { .. } => {
                self.apply_flush(event);
            }
            Kind::PageWrite { .. }
            | Kind::PageRead { .. }
            | Kind::DirtyThrottle { .. }
            | Kind::Writeback { .. } => {}
            Kind::Plug { .. } | Kind::WbtLimits { .. } | Kind::Congested { .. } | Kind::Violation { .. } => {}
            Kind::Unplug { count, explicit, .. } => {
                if let Some(task) = self.tasks.get_mut(event.task as usize) {
                    task.unplug = Some((event.at_ns, count, explicit));
                }
            }
            Kind::PlugAdd { .. }
            | Kind::Insert { .. }
            | Kind::DispatchListAdd { .. }
            | Kind::Dequeue { .. }
            | Kind::Issue { .. }
            | Kind::Requeue { .. } => self.apply_way(event),
            // The disk works for itself.
            Kind::DeviceStage { rq: 0, .. } => {}
            Kind::DeviceStage { rq, stage, unit, start_ns, end_ns, .. } => {
                if let Some(slot) = self.find(rq) {
                    self.lists.get_mut(slot).push_span(Span { start_ns, end_ns, stage, unit });
                }
            }
            // A dm disk's own bio: its requests below tell the story.
            Kind::Complete { rq: 0, .. } => {}
            Kind::Complete { .. }
            | Kind::TagFree { .. }
            | Kind::SchedTagFree { .. }
            | Kind::PoolFree { .. }
            | Kind::BioEnd { .. }
            | Kind::Reap { .. } => self.apply_end(event),
            Kind::RunBegin { .. }
            | Kind::RunEnd { .. }
            | Kind::RunScheduled { .. }
            | Kind::Doorbell { .. }
            | Kind::DispatchBusy { .. } => self.apply_hctx(event),
            Kind::LockWait { .. }
            | Kind::LockAcquire { .. }
            | Kind::LockRelease { .. }
            | Kind::LineTransfer { .. } => self.apply_object(event),
            Kind::ContextBegin
            | Kind::ContextEnd
            | Kind::SyscallEnter { .. }
            | Kind::SyscallExit
            | Kind::TaskSleep { .. }
            | Kind::TaskWake { .. }
            | Kind::FileLockWait { .. }
            | Kind::FileLockAcquire { .. }
            | Kind::FileLockRelease { .. }
            | Kind::Polled { .. }
            | Kind::Irq { .. }
            | Kind::Ipi { .. } => self.apply_host(event),
        }
    }

    fn apply_submit(&mut self, event: &Event) {
        let at = event.at_ns;
        match event.kind {
            // The same bio again, on the disk below a stacked one.
            Kind::Queue { bio, queue, extent } if self.bios.contains_key(&bio) => {
                let slot = self.unborn(event, bio, queue, extent);
                self.step(slot, event, Did::Queue, extent.sectors);
            }
            Kind::Remap { bio, queue, extent, .. } => {
                let slot = self.unborn(event, bio, queue, extent);
                let request = self.lists.get_mut(slot);
                (request.queue, request.extent) = (queue, extent);
                self.step(slot, event, Did::Remap, queue.into());
            }
            Kind::WbtWait { bio, limit, .. } => {
                let Some(slot) = self.find_bio(bio) else { return };
                self.step(slot, event, Did::WbtWait, limit);
            }
            Kind::Queue { bio, queue, extent } => {
                let slot = self.arrive(event, bio, queue, extent);
                self.step(slot, event, Did::Queue, extent.sectors);
                if let Some(task) = self.tasks.get_mut(event.task as usize) {
                    task.in_flight += 1;
                }
            }
            Kind::Split { bio, queue, extent, at_sector } => {
                let slot = self.unborn(event, bio, queue, extent);
                let first = at_sector.saturating_sub(extent.sector).min(extent.sectors.into()) as u32;
                self.lists.get_mut(slot).extent = Extent { sectors: first, ..extent };
                self.step(slot, event, Did::Split, first);
            }
            Kind::BackMerge { bio, rq, queue, extent } => self.merge(event, bio, rq, queue, extent, false),
            Kind::FrontMerge { bio, rq, queue, extent } => self.merge(event, bio, rq, queue, extent, true),
            Kind::GetRequest { bio, rq, queue, extent } => {
                let known = self
                    .requests
                    .get(&rq)
                    .copied()
                    .filter(|&s| self.lists.get(s).is_some_and(|r| r.rq == rq));
                let slot = known.unwrap_or_else(|| self.unborn(event, bio, queue, extent));
                let request = self.lists.get_mut(slot);
                request.letters.g = at;
                request.extent = extent;
            }
            Kind::RequestMerge { gone, rq, queue, front, .. } => self.append(event, gone, rq, queue, front),
            Kind::SchedTagAlloc { rq, bio, hctx, tag } => {
                let slot = self.born(event, rq, bio, hctx, tag);
                let queue = self.queue_of(hctx);
                if let Some(q) = self.queues.get_mut(queue as usize) {
                    q.sched_tags += 1;
                }
                self.step(slot, event, Did::SchedTagAlloc, tag);
                self.move_to(slot, Spot::Submit(event.cpu), at);
            }
            Kind::PoolAlloc { rq, bio, queue, count, .. } => {
                if let Some(q) = self.queues.get_mut(queue as usize) {
                    q.sched_tags += 1;
                }
                let slot = self.born(event, rq, bio, self.first_hctx(queue), 0);
                self.step(slot, event, Did::PoolAlloc, count);
                self.move_to(slot, Spot::Submit(event.cpu), at);
            }
            Kind::PoolWait { bio, queue, .. } => {
                let hctx = self.first_hctx(queue);
                let Some(slot) = self.find_bio(bio) else { return };
                self.lists.get_mut(slot).hctx = hctx;
                self.step(slot, event, Did::PoolWait, 0);
                self.move_to(slot, Spot::TagWait(hctx), at);
            }
            Kind::TagAlloc { rq, bio, hctx, tag } => {
                if let Some(h) = self.hctxs.get_mut(hctx as usize) {
                    h.set_tag(tag, true);
                }
                // With a scheduler the request is there already, in the hands of a dispatcher.
                let known = self.requests.get(&rq).copied().filter(|&s| {
                    self.lists
                        .get(s)
                        .is_some_and(|r| r.rq == rq && (r.scheduled || r.letters.i != super::NEVER))
                });
                if let Some(slot) = known {
                    self.lists.get_mut(slot).tag = tag;
                    self.step(slot, event, Did::DriverTag, tag);
                    return;
                }
                let slot = self.born(event, rq, bio, hctx, tag);
                self.step(slot, event, Did::TagAlloc, tag);
                self.move_to(slot, Spot::Submit(event.cpu), at);
            }
            Kind::NoDriverTag { rq, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.step(slot, event, Did::NoDriverTag, 0);
            }
            Kind::TagWait { bio, hctx, wait_queue } => {
                let Some(slot) = self.find_bio(bio) else { return };
                self.lists.get_mut(slot).hctx = hctx;
                self.step(slot, event, Did::TagWait, wait_queue.into());
                self.move_to(slot, Spot::TagWait(hctx), at);
            }
            _ => {}
        }
    }

    /// The flush machinery: who waits, the flush request, and the way of both to the kworker.
    fn apply_flush(&mut self, event: &Event) {
        let at = event.at_ns;
        match event.kind {
            Kind::FlushPending { rq, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.step(slot, event, Did::FlushWait, 0);
            }
            Kind::FlushStart { rq, of, hctx, count } => {
                let queue = self.queue_of(hctx);
                let extent = Extent { op: Op::Flush, flags: Flags::NONE, sector: 0, sectors: 0 };
                let slot = self.arrive(event, 0, queue, extent);
                self.bios.remove(&0);
                self.requests.insert(rq, slot);
                let owner = self.find(of).and_then(|slot| self.lists.get(slot)).map(|r| (r.tag, r.scheduled));
                let (tag, scheduled) = owner.unwrap_or_default();
                let request = self.lists.get_mut(slot);
                (request.rq, request.hctx, request.tag, request.scheduled) = (rq, hctx, tag, scheduled);
                (request.bios_open, request.letters.g) = (0, at);
                self.step(slot, event, Did::FlushStart, count);
            }
            Kind::RequeueListAdd { rq, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.step(slot, event, Did::RequeueList, 0);
                self.move_to(slot, Spot::Hand(event.cpu), at);
            }
            _ => {}
        }
    }

    fn apply_way(&mut self, event: &Event) {
        let at = event.at_ns;
        match event.kind {
            Kind::PlugAdd { rq, count, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.step(slot, event, Did::PlugAdd, count);
                self.move_to(slot, Spot::Plug(event.task), at);
            }
            Kind::Insert { rq, queue, hctx, place, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.leave_plug(slot, event);
                self.lists.get_mut(slot).letters.i = at;
                let (did, arg) = Did::insert(place);
                self.step(slot, event, did, arg);
                self.move_to(slot, Self::spot_of(place, queue, hctx), at);
            }
            Kind::DispatchListAdd { rq, hctx } => {
                let Some(slot) = self.find(rq) else { return };
                self.leave_plug(slot, event);
                self.step(slot, event, Did::InsertDispatch, 0);
                self.move_to(slot, Spot::DispatchList(hctx), at);
            }
            Kind::Dequeue { rq, hctx, from } => {
                let Some(slot) = self.find(rq) else { return };
                let (did, arg) = Did::dequeue(from);
                let busy = self.hctxs.get(hctx as usize).is_some_and(|h| h.dispatch_busy > 0);
                let arg = if did == Did::DequeueCtx { arg | u32::from(busy) << 16 } else { arg };
                self.step(slot, event, did, arg);
                self.move_to(slot, Spot::Hand(event.cpu), at);
            }
            Kind::Issue { rq, queue, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.leave_plug(slot, event);
                self.step(slot, event, Did::Issue, 0);
                let request = self.lists.get_mut(slot);
                request.letters.d = at;
                request.dispatch_cpu = event.cpu;
                let foreign = request.is_foreign();
                if let Some(q) = self.queues.get_mut(queue as usize) {
                    q.issued += 1;
                    q.foreign += u64::from(foreign);
                }
                self.move_to(slot, Spot::Device(queue), at);
            }
            Kind::Requeue { rq, queue, .. } => {
                let Some(slot) = self.find(rq) else { return };
                self.leave_plug(slot, event);
                self.step(slot, event, Did::Requeue, 0);
                let request = self.lists.get_mut(slot);
                request.refusals = request.refusals.saturating_add(1);
                if let Some(q) = self.queues.get_mut(queue as usize) {
                    q.requeued += 1;
                }
                self.window.at(at).requeued += 1;
                self.move_to(slot, Spot::Hand(event.cpu), at);
            }
            _ => {}
        }
    }

    fn apply_end(&mut self, event: &Event) {
        let at = event.at_ns;
        match event.kind {
            Kind::Complete { rq, queue, extent } => {
                let Some(slot) = self.find(rq) else { return };
                self.step(slot, event, Did::Complete, 0);
                let request = self.lists.get_mut(slot);
                request.letters.c = at;
                request.complete_cpu = event.cpu;
                // A flush is no request of its own in the numbers, nor is the end of a flush sequence.
                if let Some(q) = self.queues.get_mut(queue as usize).filter(|_| extent.sectors > 0) {
                    q.completed += 1;
                }
                // Nobody waits for the flush request itself; without a scheduler its tag is another's.
                if extent.op == Op::Flush && !self.lists.get_mut(slot).scheduled {
                    return self.finish(slot, at);
                }
                self.window.at(at).bytes += u64::from(extent.sectors) * 512;
                self.move_to(slot, Spot::Completing(event.cpu), at);
            }
            Kind::SchedTagFree { rq, .. } | Kind::PoolFree { rq, .. } => {
                let pool = matches!(event.kind, Kind::PoolFree { .. });
                let queue = match event.kind {
                    Kind::SchedTagFree { hctx, .. } => self.queue_of(hctx),
                    Kind::PoolFree { queue, .. } => queue,
                    _ => return,
                };
                if let Some(q) = self.queues.get_mut(queue as usize) {
                    q.sched_tags = q.sched_tags.saturating_sub(1);
                }
                // A request that was appended to another is gone already.
                if self.requests.contains_key(&rq)
                    && let Some(slot) = self.find(rq)
                {
                    self.free(slot, event, if pool { Did::PoolFree } else { Did::SchedTagFree }, at);
                }
            }
            Kind::TagFree { rq, hctx, tag } => {
                if let Some(h) = self.hctxs.get_mut(hctx as usize) {
                    h.set_tag(tag, false);
                }
                // A request that joined another as soon as it was made is gone already.
                if !self.requests.contains_key(&rq) {
                    return;
                }
                let Some(slot) = self.find(rq) else { return };
                if self.lists.get_mut(slot).letters.c == super::NEVER {
                    // Put back after a refusal; the request lives on.
                    self.step(slot, event, Did::TagFree, tag);
                    return;
                }
                if self.lists.get_mut(slot).scheduled {
                    self.step(slot, event, Did::TagFree, tag);
                    if self.lists.get_mut(slot).extent.op == Op::Flush {
                        self.finish(slot, at);
                    }
                    return;
                }
                self.free(slot, event, Did::TagFree, at);
            }
            Kind::BioEnd { bio, .. } => {
                let Some(slot) = self.find_bio(bio) else { return };
                self.step(slot, event, Did::BioEnd, bio);
            }
            Kind::Reap { bio, lat_ns } => {
                // What the page cache served has no bio here.
                let known = self.bios.get(&bio).copied().filter(|&s| self.lists.get(s).is_some());
                let data = known.is_none_or(|slot| self.lists.get_mut(slot).extent.sectors > 0);
                if data {
                    let bucket = self.window.at(at);
                    bucket.ios += 1;
                    bucket.lat_ns += lat_ns;
                }
                let Some(slot) = known else { return };
                self.bios.remove(&bio);
                self.step(slot, event, Did::Reap, bio);
                let request = self.lists.get_mut(slot);
                request.bios_open = request.bios_open.saturating_sub(1);
                let (open, freed) = (request.bios_open, request.tag_freed);
                // Not the request's task: bios of several may have become one request.
                if let Some(task) = self.tasks.get_mut(event.task as usize) {
                    task.in_flight = task.in_flight.saturating_sub(1);
                    task.completed += 1;
                }
                if open == 0 && freed {
                    self.finish(slot, at);
                }
            }
            _ => {}
        }
    }

    fn spot_of(place: Place, queue: QueueId, hctx: HctxId) -> Spot {
        match place {
            Place::Ctx(cpu) => Spot::Ctx(cpu),
            Place::DispatchList => Spot::DispatchList(hctx),
            Place::Elevator => Spot::Elevator(queue),
        }
    }

    fn first_hctx(&self, queue: QueueId) -> HctxId {
        self.topology.queues.get(queue as usize).and_then(|q| q.hctxs.first().copied()).unwrap_or(0)
    }

    fn queue_of(&self, hctx: HctxId) -> QueueId {
        self.topology.hctxs.get(hctx as usize).map_or(0, |h| h.queue)
    }

    /// The slot of a request by its serial number; counts a stray if it is not known.
    fn find(&mut self, rq: RqId) -> Option<Slot> {
        let slot = self.requests.get(&rq).copied().filter(|&s| self.lists.get(s).is_some_and(|r| r.rq == rq));
        self.strays += u64::from(slot.is_none());
        slot
    }

    /// The slot of the request that a bio belongs to; counts a stray if it is not known.
    fn find_bio(&mut self, bio: BioId) -> Option<Slot> {
        let slot = self.bios.get(&bio).copied().filter(|&s| self.lists.get(s).is_some());
        self.strays += u64::from(slot.is_none());
        slot
    }

    fn arrive(&mut self, event: &Event, bio: BioId, queue: QueueId, extent: Extent) -> Slot {
        let request = Request::new(bio, event.task, event.cpu, queue, extent, event.at_ns);
        let list = super::Index::of(&self.topology).list(super::Standing::of(&request));
        let slot = self.lists.insert(request, list);
        // A log that says the same bio twice without a request in between is wrong; the scene must not grow by it.
        if let Some(old) = self.bios.insert(bio, slot)
            && old != slot
            && self.lists.get(old).is_some_and(|r| r.rq == 0 && r.bio == bio)
        {
            self.lists.remove(old);
        }
        slot
    }

    /// The entry of a bio that has no request yet. A bio that was split has one already for its first part; the
    /// rest gets an entry of its own and takes over the duty to tell the application.
    fn unborn(&mut self, event: &Event, bio: BioId, queue: QueueId, extent: Extent) -> Slot {
        let known = self.bios.get(&bio).copied().and_then(|slot| self.lists.get(slot).map(|r| (slot, r.rq)));
        let Some((slot, rq)) = known else { return self.arrive(event, bio, queue, extent) };
        if rq == 0 {
            return slot;
        }
        let first = self.lists.get_mut(slot);
        first.bios_open = first.bios_open.saturating_sub(1);
        self.arrive(event, bio, queue, extent)
    }

    fn merge(&mut self, event: &Event, bio: BioId, rq: RqId, queue: QueueId, extent: Extent, front: bool) {
        let from = self.unborn(event, bio, queue, extent);
        let Some(slot) = self.find(rq).filter(|&slot| slot != from) else { return };
        let merged = self.lists.remove(from);
        self.bios.insert(bio, slot);
        self.lists.get_mut(slot).grow(extent, front);
        self.step(slot, event, if front { Did::FrontMerge } else { Did::BackMerge }, bio);
        if let Some(q) = self.queues.get_mut(queue as usize) {
            q.merged += 1;
        }
        let merge = Merge { at_ns: event.at_ns, bio, rq, from: merged.spot, op: extent.op };
        push_bounded(&mut self.merges, MERGES_MAX, merge);
    }

    /// The request for `bio` exists from here on.
    fn born(&mut self, event: &Event, rq: RqId, bio: BioId, hctx: HctxId, tag: u32) -> Slot {
        let queue = self.queue_of(hctx);
        let slot = self.unborn(event, bio, queue, Extent::new(Op::Read, 0, 0));
        if let Some(old) = self.requests.insert(rq, slot)
            && old != slot
            && self.lists.get(old).is_some_and(|r| r.rq == rq)
        {
            self.lists.remove(old);
        }
        let request = self.lists.get_mut(slot);
        (request.rq, request.hctx, request.tag, request.queue) = (rq, hctx, tag, queue);
        request.scheduled = !matches!(event.kind, Kind::TagAlloc { .. });
        if request.letters.g == super::NEVER {
            request.letters.g = event.at_ns;
        }
        slot
    }

    /// The request holds no tag any more; it stays until the application has taken note.
    fn free(&mut self, slot: Slot, event: &Event, did: Did, at: u64) {
        let tag = self.lists.get_mut(slot).tag;
        self.step(slot, event, did, tag);
        let request = self.lists.get_mut(slot);
        request.tag_freed = true;
        let (open, task) = (request.bios_open, request.task);
        if open == 0 {
            self.finish(slot, at);
        } else {
            self.move_to(slot, Spot::Ring(task), at);
        }
    }

    /// Request `gone` becomes the end of request `rq`.
    fn append(&mut self, event: &Event, gone: RqId, rq: RqId, queue: QueueId, front: bool) {
        let (Some(from), Some(slot)) = (self.find(gone), self.find(rq)) else { return };
        if from == slot {
            return;
        }
        let merged = self.lists.remove(from);
        self.requests.remove(&gone);
        for at in self.bios.values_mut().filter(|at| **at == from) {
            *at = slot;
        }
        let kept = self.lists.get_mut(slot);
        kept.bios = kept.bios.saturating_add(merged.bios);
        kept.bios_open = kept.bios_open.saturating_add(merged.bios_open);
        if front {
            kept.extent.sector = merged.extent.sector;
        }
        kept.extent.sectors = kept.extent.sectors.saturating_add(merged.extent.sectors);
        self.step(slot, event, Did::RequestMerge, gone);
        if let Some(q) = self.queues.get_mut(queue as usize) {
            q.merged += 1;
        }
        let merge =
            Merge { at_ns: event.at_ns, bio: merged.bio, rq, from: merged.spot, op: merged.extent.op };
        push_bounded(&mut self.merges, MERGES_MAX, merge);
    }

    /// A request that leaves a plug remembers how the plug was flushed.
    fn leave_plug(&mut self, slot: Slot, event: &Event) {
        let Spot::Plug(task) = self.lists.get_mut(slot).spot else { return };
        let since = self.lists.get_mut(slot).since_ns;
        let Some((at_ns, count, explicit)) = self.tasks.get(task as usize).and_then(|t| t.unplug) else {
            return;
        };
        if at_ns >= since {
            let did = if explicit { Did::Unplug } else { Did::UnplugSchedule };
            let step = Step { at_ns, did, context: event.context, cpu: event.cpu, arg: count };
            self.lists.get_mut(slot).push_step(step);
        }
    }

    /// Records a step and hands it what the CPU lost on the way there.
    fn step(&mut self, slot: Slot, event: &Event, did: Did, arg: u32) {
        let step = Step { at_ns: event.at_ns, did, context: event.context, cpu: event.cpu, arg };
        let request = self.lists.get_mut(slot);
        request.push_step(step);
        if let Some(cpu) = self.cpus.get_mut(event.cpu as usize) {
            let lost = std::mem::replace(&mut cpu.lost, super::Lost::NOTHING);
            request.lost.join(lost);
        }
    }

    fn finish(&mut self, slot: Slot, at_ns: u64) {
        let mut request = self.lists.remove(slot);
        self.requests.remove(&request.rq);
        (request.before, request.spot, request.since_ns) = (request.spot, Spot::Done(request.task), at_ns);
        self.ended += 1;
        push_bounded(&mut self.finished, FINISHED_MAX, request);
        debug_assert!(NONE16 as usize > self.cpus.len());
    }
}
