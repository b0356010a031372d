//! B-WF2Q+ (`block/bfq-wf2q.c`): which bfqq is served next.
//!
//! Every bfqq has an [`Entity`] with a budget in sectors. Activated, it gets a virtual start and finish time that lie
//! budget/weight apart; the virtual time of its class's [`ServiceTree`] advances by service over the sum of all weights.
//! Among the entities that an ideal fluid server would have begun to serve (start not after the virtual time), the one
//! that it would finish first is next. Groups are left out: the tree has one level.

use std::collections::BTreeMap;

/// Index of a bfqq and of its entity.
pub(super) type Qid = u16;

/// Virtual times are sectors over weight, times two to this (`WFQ_SERVICE_SHIFT`). At the smallest weight, 10, 64 bits
/// hold 4e13 sectors of service, so they are compared as they are, not modulo 2^64 as `bfq_gt` does.
const SERVICE_SHIFT: u32 = 22;

/// The idle class is served at least this often if it has something (`BFQ_CL_IDLE_TIMEOUT`).
const IDLE_CLASS_TIMEOUT_NS: u64 = 200_000_000;

/// Index of the class that is served only when no other has anything.
pub(super) const IDLE_CLASS: usize = 2;

/// Names of the classes in the order of their service.
pub(super) const CLASSES: [&str; 3] = ["RT", "BE", "IDLE"];

/// `bfq_delta`.
fn delta(service: u64, weight: u64) -> u64 {
    (service << SERVICE_SHIFT) / weight
}

/// Which tree an entity is in, with the second half of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Nowhere,
    Active(u64),
    Idle(u64),
}

/// `struct bfq_entity`.
#[derive(Clone, Debug, Hash)]
pub(super) struct Entity {
    pub class: usize,
    pub start: u64,
    pub finish: u64,
    /// Sectors charged in the current slot.
    pub service: u64,
    /// Sectors that it may be charged in a slot.
    pub budget: u64,
    /// The weight in use: `orig_weight` times `coeff` as of the last time that timestamps were computed.
    pub weight: u32,
    pub orig_weight: u32,
    /// `wr_coeff`: above 1 while the weight is raised.
    pub coeff: u32,
    place: Place,
    /// Its weight counts in the sum of its tree.
    on_st: bool,
}

impl Entity {
    /// `bfq_bfqq_budget_left`.
    pub(super) fn budget_left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }

    /// `bfq_calc_finish`.
    fn set_finish(&mut self, service: u64) {
        self.finish = self.start + delta(service, u64::from(self.weight));
    }
}

/// `struct bfq_service_tree`.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ServiceTree {
    /// Entities that wait for service by (finish, order of insertion).
    active: BTreeMap<(u64, u64), Qid>,
    /// Entities without requests whose finish time is still ahead, which their next activation must respect.
    idle: BTreeMap<(u64, u64), Qid>,
    pub vtime: u64,
    wsum: u64,
}

impl ServiceTree {
    /// The waiting bfqqs in order of their finish time.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Qid> + '_ {
        self.active.values().copied()
    }
}

/// The service trees of a disk (`struct bfq_sched_data` of the root group).
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Wf2q {
    entities: Vec<Entity>,
    trees: [ServiceTree; 3],
    in_service: Option<Qid>,
    /// `bfqd->active_list`: waiting bfqqs by order of insertion.
    active_list: BTreeMap<u64, Qid>,
    insertions: u64,
    idle_class_served_ns: u64,
}

impl Wf2q {
    pub(super) fn add(&mut self, class: usize, weight: u32) -> Qid {
        let q = Qid::try_from(self.entities.len()).expect("at most one bfqq a task and 17 asynchronous ones");
        self.entities.push(Entity {
            class,
            start: 0,
            finish: 0,
            service: 0,
            budget: 0,
            weight,
            orig_weight: weight,
            coeff: 1,
            place: Place::Nowhere,
            on_st: false,
        });
        q
    }

    pub(super) fn entity(&self, q: Qid) -> &Entity {
        &self.entities[usize::from(q)]
    }

    pub(super) fn entity_mut(&mut self, q: Qid) -> &mut Entity {
        &mut self.entities[usize::from(q)]
    }

    pub(super) fn in_service(&self) -> Option<Qid> {
        self.in_service
    }

    pub(super) fn trees(&self) -> &[ServiceTree; 3] {
        &self.trees
    }

    /// The waiting bfqqs, those inserted last first (`bfqd->active_list`).
    pub(super) fn newest_first(&self) -> impl Iterator<Item = Qid> + '_ {
        self.active_list.values().rev().copied()
    }

    /// `__bfq_activate_entity`: it has requests again. `waited`: it lost the device only because it had none for a moment
    /// (`non_blocking_wait_rq`), so it may start where it stopped although the virtual time has gone on.
    pub(super) fn activate(&mut self, q: Qid, waited: bool) {
        let e = &mut self.entities[usize::from(q)];
        let st = &mut self.trees[e.class];
        let backshifted = waited && st.vtime > e.finish;
        let min_vstart = if backshifted { e.finish } else { st.vtime };
        match e.place {
            Place::Idle(order) => {
                st.idle.remove(&(e.finish, order));
                e.start = min_vstart.max(e.finish);
            }
            _ => {
                e.start = min_vstart;
                st.wsum += u64::from(e.weight);
                e.on_st = true;
            }
        }
        self.enqueue(q, backshifted);
    }

    /// `__bfq_requeue_entity`: it was served and has more, or its budget has changed while it waits.
    pub(super) fn requeue(&mut self, q: Qid) {
        let e = &mut self.entities[usize::from(q)];
        if self.in_service == Some(q) {
            e.set_finish(e.service);
            e.start = e.finish;
        }
        self.extract(q);
        self.enqueue(q, false);
    }

    /// `__bfq_deactivate_entity`: it has no more requests.
    pub(super) fn deactivate(&mut self, q: Qid) {
        self.extract(q);
        let e = &mut self.entities[usize::from(q)];
        e.set_finish(e.service);
        if self.in_service == Some(q) {
            self.in_service = None;
        } else {
            e.service = 0;
        }
        let st = &mut self.trees[e.class];
        if e.finish > st.vtime {
            self.insertions += 1;
            e.place = Place::Idle(self.insertions);
            st.idle.insert((e.finish, self.insertions), q);
        } else {
            e.on_st = false;
            st.wsum -= u64::from(e.weight);
        }
    }

    /// `bfq_bfqq_served`: charges service to it and moves the virtual time.
    pub(super) fn served(&mut self, q: Qid, sectors: u64) {
        let e = &mut self.entities[usize::from(q)];
        e.service += sectors;
        let class = e.class;
        let st = &mut self.trees[class];
        st.vtime += delta(sectors, st.wsum);
        self.forget_idle(class);
    }

    /// `bfq_lookup_next_entity`: the bfqq to serve next, while none is in service.
    pub(super) fn next(&mut self, now: u64) -> Option<Qid> {
        let starved = now > self.idle_class_served_ns + IDLE_CLASS_TIMEOUT_NS;
        let mut first = 0;
        if starved && !self.trees[IDLE_CLASS].active.is_empty() {
            self.idle_class_served_ns = now;
            first = IDLE_CLASS;
        }
        (first..CLASSES.len()).find_map(|class| self.first_active(class))
    }

    /// `__bfq_lookup_next_entity`: if no entity has started in the ideal system, its clock jumps to the first start.
    fn first_active(&mut self, class: usize) -> Option<Qid> {
        let st = &mut self.trees[class];
        let start = |q: &Qid| self.entities[usize::from(*q)].start;
        if let Some(q) = st.active.values().find(|q| start(q) <= st.vtime) {
            return Some(*q);
        }
        st.vtime = st.active.values().map(start).min()?;
        let q = st.active.values().copied().find(|q| start(q) <= st.vtime);
        self.forget_idle(class);
        q
    }

    /// Its weight and the sum of those that it shares requests with, while it waits or is served. Those of higher classes
    /// count eight times each.
    pub(super) fn share(&self, q: Qid) -> Option<(u64, u64)> {
        let e = self.entity(q);
        if !matches!(e.place, Place::Active(_)) && self.in_service != Some(q) {
            return None;
        }
        let sum = self.trees[..=e.class].iter().fold(0, |sum, tree| sum * 8 + tree.wsum);
        Some((u64::from(e.weight), sum))
    }

    /// The device is given to it (`bfq_get_next_queue`); it leaves the tree but its weight still counts.
    pub(super) fn serve(&mut self, q: Qid) {
        self.extract(q);
        self.in_service = Some(q);
    }

    /// The device is taken from whoever has it (`__bfq_bfqd_reset_in_service`).
    pub(super) fn reset_in_service(&mut self) {
        self.in_service = None;
    }

    /// `__bfq_entity_update_weight_prio`: takes over a weight that was raised or is no longer.
    pub(super) fn update_weight(&mut self, q: Qid) {
        let e = &mut self.entities[usize::from(q)];
        let weight = e.orig_weight * e.coeff;
        if e.on_st {
            let st = &mut self.trees[e.class];
            st.wsum = st.wsum - u64::from(e.weight) + u64::from(weight);
        }
        e.weight = weight;
    }

    /// `bfq_update_fin_time_enqueue`. A back-shifted entity would win over everyone that waited meanwhile; it is
    /// moved forward to the virtual time, less far if its weight is raised.
    fn enqueue(&mut self, q: Qid, backshifted: bool) {
        self.update_weight(q);
        let e = &mut self.entities[usize::from(q)];
        let st = &mut self.trees[e.class];
        e.set_finish(e.budget);
        if backshifted && st.vtime > e.finish {
            let shift = (st.vtime - e.finish) / u64::from(e.coeff);
            e.start += shift;
            e.finish += shift;
        }
        self.insertions += 1;
        e.place = Place::Active(self.insertions);
        st.active.insert((e.finish, self.insertions), q);
        self.active_list.insert(self.insertions, q);
    }

    /// Takes it out of the active tree if it is there.
    fn extract(&mut self, q: Qid) {
        let e = &mut self.entities[usize::from(q)];
        if let Place::Active(order) = e.place {
            self.trees[e.class].active.remove(&(e.finish, order));
            self.active_list.remove(&order);
            e.place = Place::Nowhere;
        }
    }

    /// `bfq_forget_idle`: lets go of one idle entity whose finish time has passed. With nothing waiting and all of them
    /// passed, the clock goes back to the last of them, as in the kernel.
    fn forget_idle(&mut self, class: usize) {
        let st = &mut self.trees[class];
        if let Some(((finish, _), _)) = st.idle.last_key_value()
            && st.active.is_empty()
            && *finish <= st.vtime
        {
            st.vtime = *finish;
        }
        if let Some(((finish, _), q)) = st.idle.first_key_value()
            && *finish <= st.vtime
        {
            let e = &mut self.entities[usize::from(*q)];
            e.place = Place::Nowhere;
            e.on_st = false;
            st.wsum -= u64::from(e.weight);
            st.idle.pop_first();
        }
    }
}
