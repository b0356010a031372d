//! The next request (`__bfq_dispatch_request`, `bfq_select_queue`) and injection.

use super::queue::{LARGE_NONROT_SECTORS, Owner};
use super::{Policy, Qid, Reason};

/// How the next request came to be the next, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// It was inserted at the head.
    AtHead,
    /// Its bfqq was in service before.
    KeepsService,
    /// Its bfqq has just been given the device.
    NextInTree,
    /// The process in service has asynchronous requests too.
    OwnAsync,
    /// The bfqq in service has nothing queued and can bear requests of others.
    Injected,
    /// The bfqq in service has nothing queued, and the disk waits for it.
    Waits,
    /// Nothing at all.
    Empty,
    /// `strict_guarantees`: the last request is not complete.
    OneAtATime,
}

impl Policy {
    /// `__bfq_dispatch_request`: takes out the next request.
    pub(super) fn dispatch_request(&mut self, now: u64) -> (Option<u32>, Pick) {
        if let Some((rq, q)) = self.dispatch.pop_front() {
            self.bfqq_mut(q).dispatched += 1;
            self.count_weight(q);
            self.in_driver.insert(rq.slot, q);
            return (Some(rq.slot), Pick::AtHead);
        }
        if self.busy_total() == 0 {
            return (None, Pick::Empty);
        }
        if self.tunables.strict_guarantees && !self.in_driver.is_empty() {
            return (None, Pick::OneAtATime);
        }
        match self.select_queue(now) {
            (Some(q), pick) => (Some(self.dispatch_from(now, q)), pick),
            (None, pick) => (None, pick),
        }
    }

    /// `bfq_select_queue`: the bfqq to take a request from. Every turn of the loop expires a bfqq: an empty one leaves the
    /// tree, another gets a budget for its next request, so it ends after at most one turn more than there are bfqqs.
    fn select_queue(&mut self, now: u64) -> (Option<Qid>, Pick) {
        let mut pick = Pick::KeepsService;
        let mut serving = self.wf2q.in_service();
        if let Some(q) = serving
            && self.may_expire_for_timeout(now, q)
            && !self.must_idle(q)
        {
            self.expire(now, q, false, Reason::BudgetTimeout);
            serving = None;
        }
        loop {
            let Some(q) = serving.or_else(|| {
                pick = Pick::NextInTree;
                self.set_in_service(now)
            }) else {
                return (None, Pick::Empty);
            };
            let reason = if let Some(rq) = self.next_rq(q) {
                if self.serv_to_charge(rq, q) <= self.wf2q.entity(q).budget_left() {
                    self.stop_waiting(q);
                    return (Some(q), pick);
                }
                Reason::BudgetExhausted
            } else if self.bfqq(q).wait_request
                || (self.bfqq(q).dispatched > 0 && self.better_to_idle(q).is_some())
            {
                return self.meanwhile(now, q);
            } else {
                Reason::NoMoreRequests
            };
            self.expire(now, q, false, reason);
            serving = None;
        }
    }

    /// What to serve while the disk is kept for `q`, which has nothing queued.
    fn meanwhile(&mut self, now: u64, q: Qid) -> (Option<Qid>, Pick) {
        if let Some(own) = self.own_async(q) {
            return (Some(own), Pick::OwnAsync);
        }
        let b = self.bfqq(q);
        let may_inject = self.injects
            && !self.idling_boosts(q) && (!self.raised(q) || self.wr_busy_queues > 1 || !b.short_ttime);
        match may_inject.then(|| self.choose_for_injection(now, q)).flatten() {
            Some(other) => (Some(other), Pick::Injected),
            None => (None, Pick::Waits),
        }
    }

    /// The asynchronous bfqq that the process of `q` uses, if the next request there is its own and fits.
    fn own_async(&self, q: Qid) -> Option<Qid> {
        let Owner::Sync(task) = self.bfqq(q).owner else { return None };
        let own = *self.owners.get(&Owner::async_of(self.bfqq(q).prio))?;
        let rq = self.next_rq(own)?;
        let fits = self.serv_to_charge(rq, own) <= self.wf2q.entity(own).budget_left();
        (rq.task == task && fits).then_some(own)
    }

    /// `bfq_choose_bfqq_for_injection`. As in 5.10, the limit of a bfqq that was waited for in vain is raised only for
    /// the large requests of a disk that does not rotate; for others the loop goes back to the old limit.
    fn choose_for_injection(&mut self, now: u64, q: Qid) -> Option<Qid> {
        let b = self.bfqq(q);
        let always = !self.raised(q) || !b.short_ttime;
        let waited = b.wait_request && now >= self.last_idling_start_ns + self.tunables.slice_idle_ns;
        let raised_limit =
            if b.inject_limit == 0 && b.last_serv_time_ns == 0 && waited { 1 } else { b.inject_limit };
        let in_driver = self.rq_in_driver();
        if in_driver >= raised_limit {
            return None;
        }
        let mut limit = raised_limit;
        let found = self.wf2q.newest_first().find(|other| {
            let Some(rq) = self.next_rq(*other) else { return false };
            if !(always || self.raised(*other))
                || self.serv_to_charge(rq, *other) > self.wf2q.entity(*other).budget_left()
            {
                return false;
            }
            let large = !self.rotational && rq.sectors >= LARGE_NONROT_SECTORS;
            limit = if large { limit.min(1) } else { b.inject_limit };
            in_driver < limit
        })?;
        self.rqs_injected = true;
        Some(found)
    }

    /// `bfq_set_in_service_queue`: the device is given to the next bfqq of the tree.
    fn set_in_service(&mut self, now: u64) -> Option<Qid> {
        let q = self.wf2q.next(now)?;
        self.wf2q.serve(q);
        let e = self.wf2q.entity(q);
        let times = u64::from(e.weight / e.orig_weight);
        let timeout_ns = now + self.tunables.timeout_ns * times;
        self.last_budget_start_ns = now;
        self.rate.budget_assigned();
        let b = self.bfqq_mut(q);
        b.fifo_checked = false;
        b.timeout_ns = timeout_ns;
        Some(q)
    }

    /// `bfq_dispatch_rq_from_bfqq`.
    fn dispatch_from(&mut self, now: u64, q: Qid) -> u32 {
        let rq = *self.next_rq(q).expect("selected because it has one");
        let charge = self.serv_to_charge(&rq, q);
        self.served(q, charge);
        let serving = self.wf2q.in_service() == Some(q);
        if serving && std::mem::take(&mut self.wait_dispatch) {
            self.waited_rq = Some(rq.slot);
        }
        self.bfqq_mut(q).dispatched += 1;
        self.update_peak_rate(now, &rq);
        self.last_position = rq.end();
        self.remove_request(now, rq.slot);
        self.in_driver.insert(rq.slot, q);
        if serving {
            self.update_raise(now, q);
            // The idle class gives way after every request.
            if self.busy_total() > 1 && self.wf2q.entity(q).class == super::tree::IDLE_CLASS {
                self.expire(now, q, false, Reason::BudgetExhausted);
            }
        }
        rq.slot
    }

    /// `bfq_remove_request`. A bfqq that loses its last request while not in service is no longer busy, and what it was
    /// charged means nothing for its next budget.
    pub(super) fn remove_request(&mut self, now: u64, slot: u32) {
        let q = self.queued[&slot].q;
        if self.bfqq(q).next_rq == Some(slot) {
            self.find_next_rq(now, q, slot);
            self.updated_next_rq(q);
        }
        let gone = self.queued.remove(&slot).expect("looked up above");
        let b = self.bfqq_mut(q);
        b.sort_list.remove(&gone.key());
        b.fifo.remove(&gone.fifo);
        if b.is_empty() {
            b.next_rq = None;
            if b.busy && self.wf2q.in_service() != Some(q) {
                self.del_busy(q);
                let e = self.wf2q.entity_mut(q);
                (e.budget, e.service) = (0, 0);
            }
        }
    }

    /// `bfq_find_next_rq`: the request to serve after `last`, which is still in the lists. Once a slot, an expired head of
    /// the FIFO goes first (`bfq_check_fifo`).
    fn find_next_rq(&mut self, now: u64, q: Qid, last: u32) {
        let (key, sector) = (self.queued[&last].key(), self.queued[&last].rq.sector);
        let b = &mut self.queues[usize::from(q)];
        if !std::mem::replace(&mut b.fifo_checked, true)
            && let Some((_, oldest)) = b.fifo.first_key_value()
            && *oldest != last
            && now >= self.queued[oldest].expires_ns
        {
            b.next_rq = Some(*oldest);
            return;
        }
        let list = &b.sort_list;
        let before = list.range(..key).next_back().map(|(_, slot)| *slot);
        let after = list.range((key.0, key.1 + 1)..).next().map(|(_, slot)| *slot);
        let first = || list.first_key_value().map(|(_, slot)| *slot).filter(|slot| *slot != last);
        let after = after.or_else(first);
        self.choose_next(q, after, before, sector);
    }
}
