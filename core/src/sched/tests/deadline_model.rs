//! mq-deadline against a model without trees, pointers at nodes or slots as indices: every question is a scan.

use super::bench::{Bench, MS, Outcome, Step, steps};
use crate::event::PrioClass;
use crate::kernel::{DeadlineNext, DeadlinePrio, Knobs, row};
use crate::sched::mq_deadline::Policy;
use crate::sched::{Cx, Done, Locking, Out, SchedRq, Scheduler, View};
use proptest::prelude::*;

#[derive(Clone, Debug, Hash)]
struct Waiting {
    rq: SchedRq,
    /// Order of arrival in the sorted list.
    sorted: u64,
    fifo_time: u64,
    expire: u64,
}

#[derive(Clone, Debug, Hash)]
struct Model {
    knobs: Knobs,
    heads: Vec<Waiting>,
    /// All that wait, oldest first.
    fifo: Vec<Waiting>,
    driver: Vec<SchedRq>,
    /// By [class][is write].
    next: [[Option<u32>; 2]; 3],
    position: [[u64; 2]; 3],
    batching: u64,
    starved: u64,
    last_dir: usize,
    arrivals: u64,
    read_expire: u64,
    write_expire: u64,
    writes_starved: u64,
    fifo_batch: u64,
    aging: u64,
    front_merges: bool,
}

fn dir_of(rq: &SchedRq) -> usize {
    rq.op.is_write().into()
}

impl Model {
    fn new(cx: Cx<'_>) -> Self {
        Self {
            knobs: cx.knobs.clone(),
            heads: Vec::new(),
            fifo: Vec::new(),
            driver: Vec::new(),
            next: [[None; 2]; 3],
            position: [[0; 2]; 3],
            batching: 0,
            starved: 0,
            last_dir: 1,
            arrivals: 0,
            read_expire: 500 * MS,
            write_expire: 5_000 * MS,
            writes_starved: 2,
            fifo_batch: 16,
            aging: 10_000 * MS,
            front_merges: true,
        }
    }

    fn class_of(&self, rq: &SchedRq) -> usize {
        match rq.prio.class {
            _ if self.knobs.deadline_prio == DeadlinePrio::Ignored => 1,
            PrioClass::Rt => 0,
            PrioClass::None | PrioClass::Be => 1,
            PrioClass::Idle => 2,
        }
    }

    /// Those of a class and direction in sector order.
    fn sorted(&self, class: usize, dir: usize) -> Vec<&Waiting> {
        let mine = |w: &&Waiting| self.class_of(&w.rq) == class && dir_of(&w.rq) == dir;
        let mut all: Vec<&Waiting> = self.fifo.iter().filter(mine).collect();
        all.sort_by_key(|w| (w.rq.sector, w.sorted));
        all
    }

    fn oldest(&self, class: usize, dir: usize) -> Option<&Waiting> {
        self.fifo.iter().find(|w| self.class_of(&w.rq) == class && dir_of(&w.rq) == dir)
    }

    fn neighbour(&self, slot: u32, step: isize) -> Option<u32> {
        let me = self.fifo.iter().find(|w| w.rq.slot == slot)?;
        let list = self.sorted(self.class_of(&me.rq), dir_of(&me.rq));
        let at = list.iter().position(|w| w.rq.slot == slot)?;
        list.get(at.checked_add_signed(step)?).map(|w| w.rq.slot)
    }

    fn next_in(&self, class: usize, dir: usize) -> Option<u32> {
        if self.knobs.deadline_next == DeadlineNext::Position {
            let list = self.sorted(class, dir);
            return list.iter().find(|w| w.rq.sector >= self.position[class][dir]).map(|w| w.rq.slot);
        }
        self.next[class][dir]
    }

    fn queued(&self, class: usize) -> bool {
        let waiting = self.heads.iter().chain(&self.fifo).map(|w| &w.rq);
        waiting.chain(&self.driver).any(|rq| self.class_of(rq) == class)
    }

    fn leave(&mut self, slot: u32) -> Waiting {
        let behind = self.neighbour(slot, 1);
        for next in self.next.as_flattened_mut() {
            if *next == Some(slot) {
                *next = behind;
            }
        }
        let at = self.fifo.iter().position(|w| w.rq.slot == slot).unwrap();
        self.fifo.remove(at)
    }

    fn take_from(&mut self, cx: Cx<'_>, class: usize, only_aged: bool) -> Option<u32> {
        let aging = self.aging as i128;
        let now = i128::from(cx.now);
        let young = |w: &Waiting| only_aged && i128::from(w.fifo_time) - i128::from(w.expire) > now - aging;
        if let Some(at) = self.heads.iter().position(|w| self.class_of(&w.rq) == class) {
            if young(&self.heads[at]) {
                return None;
            }
            let rq = self.heads.remove(at).rq;
            self.position[class][dir_of(&rq)] = rq.sector;
            self.driver.push(rq);
            return Some(rq.slot);
        }
        let mut slot = self.next_in(class, self.last_dir);
        if slot.is_none() || self.batching >= self.fifo_batch {
            let reads = self.oldest(class, 0).is_some();
            let writes = self.oldest(class, 1).is_some();
            let dir = match (reads, writes) {
                (false, false) => return None,
                (true, false) => 0,
                (false, true) => 1,
                (true, true) => {
                    self.starved += 1;
                    usize::from(self.starved > self.writes_starved)
                }
            };
            if dir == 1 {
                self.starved = 0;
            }
            let oldest = self.oldest(class, dir).unwrap();
            slot = self.next_in(class, dir).filter(|_| oldest.fifo_time > cx.now);
            slot = slot.or(Some(oldest.rq.slot));
            self.last_dir = dir;
            self.batching = 0;
        }
        let slot = slot?;
        if young(self.fifo.iter().find(|w| w.rq.slot == slot).unwrap()) {
            return None;
        }
        self.batching += 1;
        let behind = self.neighbour(slot, 1);
        let rq = self.leave(slot).rq;
        let dir = dir_of(&rq);
        self.next[class][dir] = behind;
        if self.knobs.deadline_next == DeadlineNext::BatchPointer {
            self.next[class][1 - dir] = None;
        }
        self.position[class][dir] = rq.sector;
        self.driver.push(rq);
        Some(slot)
    }
}

impl Scheduler for Model {
    fn locking(&self) -> Locking {
        unreachable!("a model has no locks")
    }

    fn insert(&mut self, cx: Cx<'_>, rq: SchedRq, at_head: bool, _out: &mut Out) {
        self.driver.retain(|d| d.slot != rq.slot);
        self.arrivals += 1;
        let expire = if rq.op.is_write() { self.write_expire } else { self.read_expire };
        let fifo_time = if at_head { cx.now } else { cx.now + expire };
        let waiting = Waiting { rq, sorted: self.arrivals, fifo_time, expire };
        if at_head { self.heads.insert(0, waiting) } else { self.fifo.push(waiting) }
    }

    fn dispatch(&mut self, cx: Cx<'_>, _hctx: u16, _out: &mut Out) -> Option<u32> {
        match self.knobs.deadline_prio {
            DeadlinePrio::Ignored => self.take_from(cx, 1, false),
            DeadlinePrio::Strict => {
                let rt = self.take_from(cx, 0, false);
                let be = rt.or_else(|| self.take_from(cx, 1, false));
                be.or_else(|| self.take_from(cx, 2, false))
            }
            DeadlinePrio::Ageing => {
                if (0..3).filter(|&c| self.queued(c)).count() >= 2 {
                    for class in [1, 2] {
                        if let Some(slot) = self.take_from(cx, class, true) {
                            return Some(slot);
                        }
                    }
                }
                for class in 0..3 {
                    let slot = self.take_from(cx, class, false);
                    if slot.is_some() || self.queued(class) {
                        return slot;
                    }
                }
                None
            }
        }
    }

    fn has_work(&self, _cx: Cx<'_>, _hctx: u16) -> bool {
        self.heads.len() + self.fifo.len() > 0
    }

    fn completed(&mut self, _cx: Cx<'_>, done: &Done, _out: &mut Out) {
        self.driver.retain(|d| d.slot != done.rq.slot);
    }

    fn front(&self, _cx: Cx<'_>, bio: &SchedRq) -> Option<u32> {
        let list = self.sorted(self.class_of(bio), dir_of(bio));
        list.iter().find(|w| self.front_merges && w.rq.sector == bio.end()).map(|w| w.rq.slot)
    }

    fn former(&self, slot: u32) -> Option<u32> {
        self.neighbour(slot, -1)
    }

    fn latter(&self, slot: u32) -> Option<u32> {
        self.neighbour(slot, 1)
    }

    fn grown(&mut self, _cx: Cx<'_>, slot: u32, sector: u64, sectors: u32) {
        self.arrivals += 1;
        let w = self.fifo.iter_mut().find(|w| w.rq.slot == slot).unwrap();
        if w.rq.sector != sector {
            w.sorted = self.arrivals;
        }
        (w.rq.sector, w.rq.sectors) = (sector, sectors);
    }

    fn absorbed(&mut self, _cx: Cx<'_>, slot: u32, gone: u32) {
        let at = self.fifo.iter().position(|w| w.rq.slot == gone).unwrap();
        let gone = self.leave(gone);
        let survivor = self.fifo.iter().position(|w| w.rq.slot == slot).unwrap();
        if gone.fifo_time < self.fifo[survivor].fifo_time {
            let moved = self.fifo.remove(survivor);
            let (fifo_time, expire) = (gone.fifo_time, gone.expire);
            // `gone` stood before `survivor` unless its deadline was shorter.
            let at = if survivor < at { at - 1 } else { at };
            self.fifo.insert(at, Waiting { fifo_time, expire, ..moved });
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        match name {
            "read_expire" => self.read_expire = value * MS,
            "write_expire" => self.write_expire = value * MS,
            "writes_starved" => self.writes_starved = value,
            "fifo_batch" => self.fifo_batch = value,
            "front_merges" => self.front_merges = value != 0,
            "prio_aging_expire" => self.aging = value * MS,
            _ => unreachable!("{name}"),
        }
    }

    fn view(&self, _cx: Cx<'_>) -> View {
        View::default()
    }
}

/// All ways in which priorities and sweeps can be combined; no row has some of them.
pub(super) fn generations() -> impl Strategy<Value = Knobs> {
    use DeadlineNext::*;
    use DeadlinePrio::*;
    let prio = prop_oneof![Just(Ignored), Just(Strict), Just(Ageing)];
    let next = prop_oneof![Just(BatchPointer), Just(Pointer), Just(Position)];
    (prio, next).prop_map(|(deadline_prio, deadline_next)| Knobs {
        deadline_prio,
        deadline_next,
        ..row("6.12").expect("a row of the table").knobs.clone()
    })
}

fn settings() -> impl Strategy<Value = Vec<(&'static str, u64)>> {
    let one = prop_oneof![
        (Just("read_expire"), 0u64..1_000),
        (Just("write_expire"), 0u64..5_000),
        (Just("writes_starved"), 0u64..4),
        (Just("fifo_batch"), 0u64..6),
        (Just("front_merges"), 0u64..2),
        (Just("prio_aging_expire"), 0u64..3_000),
    ];
    prop::collection::vec(one, 0..5)
}

/// What `view` names is what the next dispatch gives, and the lists hold what is queued.
fn check_view(bench: &Bench) {
    let view = bench.sched.view(bench.cx());
    let mut copy = bench.sched.clone();
    let next = copy.dispatch(bench.cx(), 0, &mut Out::default());
    assert_eq!(view.next, next.map_or(0, |slot| bench.queued[&slot].id), "{}", view.why);
    let total = |list: &str| -> usize {
        view.groups.iter().filter(|g| g.name.contains(list)).map(|g| g.total as usize).sum()
    };
    assert_eq!(total("sort_list[READ]"), total("fifo_list[READ]"));
    assert_eq!(total("sort_list") + total("dispatch"), bench.queued.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn mq_deadline_does_what_the_naive_model_does(
        knobs in generations(), settings in settings(), steps in steps(), reset in (settings(), 0usize..400),
    ) {
        let mut bench = Bench::with_knobs(knobs.clone(), |cx| Box::new(Policy::new(cx)));
        let mut model = Bench::with_knobs(knobs, |cx| Box::new(Model::new(cx)));
        let apply = |bench: &mut Bench, model: &mut Bench, settings: &[(&'static str, u64)]| {
            for &(name, value) in settings {
                bench.sched.set(name, value);
                model.sched.set(name, value);
            }
        };
        apply(&mut bench, &mut model, &settings);
        for (n, step) in steps.iter().enumerate() {
            if n == reset.1 {
                apply(&mut bench, &mut model, &reset.0);
            }
            prop_assert_eq!(bench.step(step), model.step(step), "step {} {:?}", n, step);
            prop_assert_eq!(bench.sched.has_work(bench.cx(), 0), model.sched.has_work(model.cx(), 0));
            if let Some(&slot) = bench.queued.keys().nth(n % bench.queued.len().max(1)) {
                prop_assert_eq!(bench.sched.former(slot), model.sched.former(slot));
                prop_assert_eq!(bench.sched.latter(slot), model.sched.latter(slot));
            }
            check_view(&bench);
        }
    }

    #[test]
    fn what_is_queued_in_mq_deadline_comes_out(knobs in generations(), steps in steps()) {
        let mut bench = Bench::with_knobs(knobs, |cx| Box::new(Policy::new(cx)));
        for step in &steps {
            bench.step(step);
        }
        for slot in bench.in_driver.keys().copied().collect::<Vec<_>>() {
            bench.complete(slot);
        }
        while bench.sched.has_work(bench.cx(), 0) {
            let Outcome::Dispatched(Some(slot)) = bench.step(&Step::Dispatch) else {
                panic!("nothing is in flight, but nothing comes");
            };
            bench.complete(slot);
        }
        prop_assert!(bench.queued.is_empty());
    }
}
