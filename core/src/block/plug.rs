//! The plug: what a task holds back, and how it is flushed (`blk_flush_plug_list`, `blk_mq_flush_plug_list`).

use crate::block::{NONE, Plug};
use crate::event::{Kind, QueueId};
use crate::host::{Flow, Frame};
use crate::kernel::{DirectAtFlush, FlushCheck, PlugCount, PlugMerge, PlugOrder, PlugSort};
use crate::sim::Sim;

impl Sim {
    /// An empty list from the pool.
    pub(crate) fn new_list(&mut self) -> u32 {
        // Slots keep their memory: a list is emptied before it is given back.
        self.lists.reuse()
    }

    pub(crate) fn drop_list(&mut self, list: u32) {
        debug_assert!(self.lists[list].is_empty(), "a request list is lost");
        self.lists.remove(list);
    }

    /// Tries to merge `bio` into a request of the task's plug.
    pub(crate) fn plug_merge(&mut self, c: usize, bio: u32) -> bool {
        let t = self.current_task(c);
        let q = self.bios[bio].queue;
        let same_queue = |rq: &&u32| self.rqs[**rq].queue == q;
        let fits = |rq: &&u32| self.mergeable(**rq, bio);
        let Plug { list, multi, .. } = &self.tasks[t].plug;
        // Only a plug of several queues is searched beyond its head.
        let oldest = || if *multi { list.iter().find(same_queue) } else { list.front().filter(same_queue) };
        let mut seen = 1;
        let found = match self.knobs.plug_merge {
            PlugMerge::All => list.iter().rev().inspect(|_| seen += 1).filter(same_queue).find(fits),
            PlugMerge::Last => list.back().filter(same_queue).filter(fits),
            PlugMerge::Newest => list.iter().rev().find(same_queue).filter(fits),
            PlugMerge::Oldest => oldest().filter(fits),
            PlugMerge::Tail => list.back().filter(same_queue).or_else(oldest).filter(fits),
        };
        let found = found.copied();
        self.charge(c, seen * self.costs.plug_scan);
        if let Some(rq) = found {
            self.merge(c, rq, bio);
        }
        found.is_some()
    }

    /// Whether the next request of queue `q` makes the plug flush first.
    pub(crate) fn plug_is_full(&self, t: usize, q: QueueId) -> bool {
        let plug = &self.tasks[t].plug;
        let count = match self.knobs.plug_count {
            PlugCount::All => plug.list.len(),
            PlugCount::SameQueue => plug.list.iter().filter(|&&rq| self.rqs[rq].queue == q).count(),
        } as u32;
        if count == 0 {
            return false;
        }
        let max = if plug.multi { self.knobs.plug_max_multi } else { self.knobs.plug_max };
        // Each path has a list of its own in the plug.
        let legacy = self.is_legacy(q);
        let same_path = |&&rq: &&u32| self.is_legacy(self.rqs[rq].queue) == legacy;
        let checked = match self.knobs.plug_flush_check {
            FlushCheck::Newest => plug.list.iter().rev().find(same_path),
            FlushCheck::Oldest => plug.list.iter().find(same_path),
        };
        let limit = self.knobs.plug_flush_kib.saturating_mul(2);
        let big = limit > 0
            && (self.knobs.plug_flush_nomerges || self.queues[q as usize].nomerges < 2)
            && checked.is_some_and(|&rq| self.rqs[rq].sectors >= limit);
        count >= max.max(1) || big
    }

    /// Adds a request to the plug; P if it is the first (`after_flush`: a flush has just made it so).
    pub(crate) fn plug_add(&mut self, c: usize, rq: u32, after_flush: bool) {
        let t = self.current_task(c);
        let (id, q) = (self.rqs[rq].id, self.rqs[rq].queue);
        let plug = &self.tasks[t].plug;
        let first = match self.knobs.plug_count {
            PlugCount::All => plug.list.is_empty(),
            PlugCount::SameQueue => !plug.list.iter().any(|&r| self.rqs[r].queue == q),
        };
        if first || after_flush {
            self.emit(c, Kind::Plug { queue: q });
        }
        let other = self.tasks[t].plug.list.back().is_some_and(|&r| self.rqs[r].queue != q);
        let plug = &mut self.tasks[t].plug;
        plug.multi |= other;
        plug.list.push_back(rq);
        let count = plug.list.len() as u32;
        self.emit(c, Kind::PlugAdd { rq: id, queue: q, count });
    }

    /// The limited plug: the new request takes the place of the old one of its queue, which is returned.
    pub(crate) fn limited_plug(&mut self, c: usize, t: usize, rq: u32) -> Option<u32> {
        let (id, q) = (self.rqs[rq].id, self.rqs[rq].queue);
        let at = self.tasks[t].plug.list.iter().position(|&r| self.rqs[r].queue == q);
        let plug = &mut self.tasks[t].plug;
        let old = at.and_then(|at| plug.list.remove(at));
        plug.multi |= !plug.list.is_empty();
        plug.list.push_back(rq);
        let count = plug.list.len() as u32;
        if self.knobs.limited_plug_traced {
            self.emit(c, Kind::Plug { queue: q });
        }
        self.emit(c, Kind::PlugAdd { rq: id, queue: q, count });
        if old.is_some() && self.knobs.limited_plug_traced {
            self.emit(c, Kind::Unplug { queue: q, count: 1, explicit: true });
        }
        old
    }

    /// Flushes the running task's plug. `list` holds the requests in the order in which groups are picked.
    pub(crate) fn flush_plug(
        &mut self,
        c: usize,
        pc: u8,
        from_schedule: bool,
        list: u32,
        group: u32,
    ) -> Flow {
        let frame = |pc, list, group| Frame::FlushPlug { pc, from_schedule, list, group };
        match pc {
            0 => {
                let t = self.current_task(c);
                self.free_cached_tags(c, t, from_schedule);
                if self.tasks[t].plug.list.is_empty() {
                    return Flow::Ret(0);
                }
                let list = self.new_list();
                // Moved, not swapped: the list of a plug has less room than others.
                self.lists[list].extend(self.tasks[t].plug.list.drain(..));
                // Those of the legacy path go last.
                if self.lists[list].iter().any(|&rq| self.is_legacy(self.rqs[rq].queue)) {
                    let legacy = self.split_list(list, |sim, rq| sim.is_legacy(sim.rqs[rq].queue));
                    return Flow::Call(frame(7, legacy, NONE), frame(8, list, NONE));
                }
                self.flush_plug(c, 8, from_schedule, list, NONE)
            }
            7 => {
                let queue = self.lists[list].front().map_or(0, |&rq| self.rqs[rq].queue);
                Flow::Go(Frame::FlushPlugList { pc: 0, from_schedule, queue, list, depth: 0 })
            }
            8 => {
                let t = self.current_task(c);
                let multi = std::mem::take(&mut self.tasks[t].plug.multi);
                let n = self.lists[list].len() as u32;
                self.charge(c, self.costs.plug_flush * n);
                self.sort_plug(list, multi);
                let whole = match self.knobs.direct_at_flush {
                    DirectAtFlush::Never | DirectAtFlush::IdleGroup => false,
                    DirectAtFlush::WholePlug => {
                        !multi
                            && !from_schedule
                            && !self.lists[list].iter().any(|&rq| self.has_elevator(self.rqs[rq].queue))
                    }
                    DirectAtFlush::EachQueue => !from_schedule,
                };
                Flow::Pay(frame(if whole { 1 } else { 4 }, list, NONE))
            }
            // Whole plug, queue by queue in order of first appearance.
            1 => {
                let Some(&first) = self.lists[list].front() else {
                    self.drop_list(list);
                    return Flow::Ret(0);
                };
                let q = self.rqs[first].queue;
                let part = self.split_list(list, |sim, rq| sim.rqs[rq].queue == q);
                if self.has_elevator(q) {
                    return Flow::Call(
                        frame(6, list, part),
                        Frame::FlushPlug { pc: 4, from_schedule, list: part, group: NONE },
                    );
                }
                if self.knobs.plug_order == PlugOrder::Lifo {
                    self.lists[part].make_contiguous().reverse();
                }
                let count = self.lists[part].len() as u32;
                if self.knobs.direct_flush_traced {
                    self.emit(c, Kind::Unplug { queue: q, count, explicit: true });
                }
                let queue = &self.queues[q as usize];
                let tags = &self.tags[self.hctxs[queue.first_hctx as usize].tags as usize];
                let batch = self.knobs.queue_rqs && queue.has_commit_rqs() && tags.queues == 1;
                if batch {
                    Flow::Call(frame(2, list, part), Frame::QueueRqs { pc: 0, list: part, next: 0 })
                } else {
                    Flow::Go(frame(2, list, part))
                }
            }
            2 => Flow::Call(
                frame(3, list, group),
                Frame::IssueList { pc: 0, list: group, rq: NONE, whole_plug: true },
            ),
            // What the driver refused goes through the ctx lists, in submission order.
            3 => {
                if self.lists[group].is_empty() {
                    self.drop_list(group);
                    return Flow::Go(frame(1, list, NONE));
                }
                if self.knobs.plug_order == PlugOrder::Lifo {
                    self.lists[group].make_contiguous().reverse();
                }
                // Groups come off `group` until it is empty, then the next queue's turn comes.
                Flow::Call(
                    frame(6, list, group),
                    Frame::FlushPlug { pc: 4, from_schedule, list: group, group: NONE },
                )
            }
            6 => Flow::Go(frame(1, list, NONE)),
            // Group by (hctx, ctx).
            4 => {
                let pick = match self.knobs.plug_order {
                    PlugOrder::Fifo => self.lists[list].front(),
                    PlugOrder::Lifo => self.lists[list].back(),
                };
                let Some(&first) = pick else {
                    self.drop_list(list);
                    return Flow::Ret(0);
                };
                let (q, hctx, cpu) = {
                    let r = &self.rqs[first];
                    (r.queue, r.hctx, r.cpu)
                };
                let belongs = |sim: &Sim, rq: u32| (sim.rqs[rq].hctx, sim.rqs[rq].cpu) == (hctx, cpu);
                let part = if self.knobs.plug_gather {
                    self.split_list(list, belongs)
                } else {
                    self.split_end(list, belongs)
                };
                if self.knobs.plug_groups_reversed {
                    // What comes off the top of a stack and joins a tail, and what is put back on another stack.
                    self.lists[part].make_contiguous().reverse();
                    self.lists[list].make_contiguous().reverse();
                }
                let count = self.lists[part].len() as u32;
                self.emit(c, Kind::Unplug { queue: q, count, explicit: !from_schedule });
                if self.has_elevator(q) {
                    let insert = Frame::ElvInsert { pc: 0, hctx, list: part, cpu, run_async: from_schedule };
                    return Flow::Call(frame(5, list, NONE), insert);
                }
                let ctx = self.ctx_index(hctx, cpu as usize);
                Flow::Call(
                    frame(5, list, NONE),
                    Frame::InsertRequests { pc: 0, hctx, ctx, list: part, run_async: from_schedule },
                )
            }
            5 => Flow::Pay(frame(4, list, NONE)),
            _ => unreachable!("flush_plug has no step {pc}"),
        }
    }

    /// Moves the requests that `belongs` picks to a new list, order kept on both sides.
    pub(crate) fn split_list(&mut self, list: u32, belongs: impl Fn(&Sim, u32) -> bool) -> u32 {
        let part = self.new_list();
        for _ in 0..self.lists[list].len() {
            if let Some(rq) = self.lists[list].pop_front() {
                let to = if belongs(self, rq) { part } else { list };
                self.lists[to].push_back(rq);
            }
        }
        part
    }

    /// Moves the requests at the end from which the plug is emptied, as far as `belongs` holds, to a new list.
    fn split_end(&mut self, list: u32, belongs: impl Fn(&Sim, u32) -> bool) -> u32 {
        let part = self.new_list();
        loop {
            let from = &self.lists[list];
            let next = match self.knobs.plug_order {
                PlugOrder::Fifo => from.front(),
                PlugOrder::Lifo => from.back(),
            };
            let Some(&rq) = next.filter(|&&rq| belongs(self, rq)) else { return part };
            match self.knobs.plug_order {
                PlugOrder::Fifo => {
                    self.lists[list].pop_front();
                    self.lists[part].push_back(rq);
                }
                PlugOrder::Lifo => {
                    self.lists[list].pop_back();
                    self.lists[part].push_front(rq);
                }
            }
        }
    }

    fn sort_plug(&mut self, list: u32, multi: bool) {
        let sort = match self.knobs.plug_sort {
            PlugSort::Always => true,
            PlugSort::MultiQueue => multi && self.lists[list].len() > 2,
            PlugSort::Never => false,
        };
        if sort {
            let rqs = &self.rqs;
            // Stable, by ctx (queue and CPU) and sector, as plug_rq_cmp compares.
            self.lists[list].make_contiguous().sort_by_key(|&rq| {
                let r = &rqs[rq];
                (r.queue, r.cpu, r.hctx, r.sector)
            });
        }
    }

    /// Tags taken in a batch and not used go back when the plug ends or the task sleeps.
    fn free_cached_tags(&mut self, c: usize, t: usize, from_schedule: bool) {
        let ending = from_schedule || !self.tasks[t].plug.active;
        while ending && let Some((hctx, tag)) = self.tasks[t].plug.cached.pop_front() {
            self.put_unused_tag(c, hctx, tag);
        }
    }
}
