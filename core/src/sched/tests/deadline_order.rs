//! The bounds that mq-deadline promises, looked at from outside.

use super::bench::{Bench, Bio, MS, Outcome, Step, steps};
use super::deadline_model::generations;
use crate::event::{Op, PrioClass};
use crate::kernel::{DeadlinePrio, Knobs};
use crate::sched::mq_deadline::Policy;
use crate::sched::{SchedRq, View};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// mq-deadline and, by slot, the insertion time of the oldest part of what is queued. Settings do not change in
/// between, so that the order of these times is the order of the deadlines of one direction.
struct Watched {
    bench: Bench,
    born: BTreeMap<u32, u64>,
}

/// A dispatched request and what held just before.
struct Seen {
    rq: SchedRq,
    born: u64,
    view: View,
    queued: Vec<(SchedRq, u64)>,
    in_flight: Vec<SchedRq>,
}

impl Watched {
    fn new(knobs: &Knobs, settings: &[(&str, u64)]) -> Self {
        let mut bench = Bench::with_knobs(knobs.clone(), |cx| Box::new(Policy::new(cx)));
        for &(name, value) in settings {
            bench.sched.set(name, value);
        }
        Self { bench, born: BTreeMap::new() }
    }

    fn step(&mut self, step: &Step) -> Option<Seen> {
        // At the head and back from the driver are outside of these promises.
        if matches!(step, Step::AtHead(_) | Step::Requeue(_)) {
            return None;
        }
        let view = match step {
            Step::Dispatch => self.bench.sched.view(self.bench.cx()),
            _ => View::default(),
        };
        let queued = self.bench.queued.values().map(|&rq| (rq, self.born[&rq.slot])).collect();
        let in_flight = self.bench.in_driver.values().map(|&(rq, ..)| rq).collect();
        match self.bench.step(step) {
            Outcome::Inserted(slot) => {
                self.born.insert(slot, self.bench.now);
            }
            Outcome::Merged { slot, gone: Some(gone), .. } => {
                let born = self.born[&slot].min(self.born[&gone]);
                self.born.insert(slot, born);
            }
            Outcome::Dispatched(Some(slot)) => {
                let rq = self.bench.in_driver[&slot].0;
                return Some(Seen { rq, born: self.born[&slot], view, queued, in_flight });
            }
            Outcome::Merged { gone: None, .. } | Outcome::Dispatched(None) | Outcome::Nothing => {}
        }
        None
    }
}

impl Seen {
    fn in_batch(&self) -> bool {
        self.view.why.starts_with("next in sector order of the current batch")
    }

    fn queued(&self, is_write: bool) -> impl Iterator<Item = &(SchedRq, u64)> {
        self.queued.iter().filter(move |(rq, _)| rq.op.is_write() == is_write)
    }
}

/// 0 real time, 1 best effort, 2 idle.
fn rank(rq: &SchedRq) -> u8 {
    match rq.prio.class {
        PrioClass::Rt => 0,
        PrioClass::None | PrioClass::Be => 1,
        PrioClass::Idle => 2,
    }
}

fn with_prio(knobs: Knobs, deadline_prio: DeadlinePrio) -> Knobs {
    Knobs { deadline_prio, ..knobs }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A front merge may move a request in front of the last one of its batch; without it sectors ascend.
    #[test]
    fn a_batch_has_at_most_fifo_batch_requests_of_one_direction_in_ascending_sectors(
        knobs in generations(), steps in steps(), fifo_batch in 0u64..6,
    ) {
        let knobs = with_prio(knobs, DeadlinePrio::Ignored);
        let mut watched = Watched::new(&knobs, &[("fifo_batch", fifo_batch), ("front_merges", 0)]);
        let mut batch: Vec<SchedRq> = Vec::new();
        for seen in steps.iter().filter_map(|step| watched.step(step)) {
            if !seen.in_batch() {
                batch.clear();
            } else if let Some(last) = batch.last() {
                prop_assert_eq!(last.op.is_write(), seen.rq.op.is_write());
                prop_assert!(last.sector <= seen.rq.sector);
            }
            batch.push(seen.rq);
            prop_assert!(batch.len() as u64 <= fifo_batch.max(1), "{}", seen.view.why);
        }
    }

    #[test]
    fn at_most_writes_starved_batches_of_reads_start_while_writes_wait(
        knobs in generations(), steps in steps(), writes_starved in 0u64..4,
    ) {
        let knobs = with_prio(knobs, DeadlinePrio::Ignored);
        let settings = [("writes_starved", writes_starved), ("fifo_batch", 2)];
        let mut watched = Watched::new(&knobs, &settings);
        let mut passed_over = 0;
        for seen in steps.iter().filter_map(|step| watched.step(step)).filter(|seen| !seen.in_batch()) {
            if seen.rq.op.is_write() {
                passed_over = 0;
            } else if seen.queued(true).next().is_some() {
                passed_over += 1;
            }
            prop_assert!(passed_over <= writes_starved, "{}", seen.view.why);
        }
    }

    #[test]
    fn an_expired_request_starts_the_next_batch_of_its_direction(
        knobs in generations(), steps in steps(), read_expire in 0u64..600, write_expire in 0u64..3_000,
    ) {
        let knobs = with_prio(knobs, DeadlinePrio::Ignored);
        let settings = [("read_expire", read_expire), ("write_expire", write_expire), ("fifo_batch", 3)];
        let mut watched = Watched::new(&knobs, &settings);
        for step in &steps {
            let now = watched.bench.now;
            let Some(seen) = watched.step(step).filter(|seen| !seen.in_batch()) else { continue };
            let is_write = seen.rq.op.is_write();
            let expire = if is_write { write_expire } else { read_expire } * MS;
            let oldest = seen.queued(is_write).map(|&(_, born)| born).min().expect("what was dispatched");
            prop_assert!(oldest + expire > now || seen.born == oldest, "{}", seen.view.why);
        }
    }

    /// With ageing a class waits for those above it, queued or in flight, until it has waited long enough; and where
    /// all of its requests have, one of them is next.
    #[test]
    fn lower_classes_wait_until_they_have_aged_and_no_longer(
        knobs in generations(), steps in steps(), aging in 0u64..3_000,
    ) {
        let knobs = with_prio(knobs, DeadlinePrio::Ageing);
        let mut watched = Watched::new(&knobs, &[("prio_aging_expire", aging)]);
        for step in &steps {
            let now = watched.bench.now;
            let aged = |born: u64| born + aging * MS <= now;
            let Some(seen) = watched.step(step) else { continue };
            let known = || seen.queued.iter().map(|(rq, _)| rq).chain(&seen.in_flight).map(rank);
            let mine = rank(&seen.rq);
            prop_assert!(known().all(|r| r >= mine) || aged(seen.born), "{}", seen.view.why);

            let compete = known().min() != known().max();
            let due = |r: u8| {
                let mut born = seen.queued.iter().filter(|(rq, _)| rank(rq) == r).map(|&(_, born)| born).peekable();
                born.peek().is_some() && born.all(aged)
            };
            if compete && due(1) {
                prop_assert_eq!(mine, 1, "{}", seen.view.why);
            } else if compete && due(2) {
                prop_assert!(mine >= 1, "{}", seen.view.why);
            }
        }
    }

    #[test]
    fn strict_classes_pass_over_lower_ones_that_are_queued(knobs in generations(), steps in steps()) {
        let mut watched = Watched::new(&with_prio(knobs, DeadlinePrio::Strict), &[]);
        for seen in steps.iter().filter_map(|step| watched.step(step)) {
            prop_assert!(seen.queued.iter().all(|(rq, _)| rank(rq) >= rank(&seen.rq)), "{}", seen.view.why);
        }
    }
}

fn queue(row_name: &str) -> Bench {
    Bench::new(row_name, |cx| Box::new(Policy::new(cx)))
}

/// Dispatches and completes one; its sector and the reason.
fn next(bench: &mut Bench) -> (u64, String) {
    let why = bench.sched.view(bench.cx()).why;
    let slot = bench.dispatch(0).expect("something is queued");
    let sector = bench.in_driver[&slot].0.sector;
    bench.complete(slot);
    (sector, why)
}

#[test]
fn a_deadline_that_passes_inside_a_batch_waits_for_its_end() {
    let mut bench = queue("6.1");
    bench.set("fifo_batch", 3);
    for sector in [500, 100, 600, 700, 800] {
        bench.insert_bio(Bio::new(Op::Read, sector));
    }
    assert_eq!(next(&mut bench).0, 500);
    bench.advance(500 * MS);
    assert_eq!(next(&mut bench), (600, "next in sector order of the current batch, 2 of 3".into()));
    assert_eq!(next(&mut bench), (700, "next in sector order of the current batch, 3 of 3".into()));
    assert_eq!(next(&mut bench), (100, "a new batch: only reads wait; its deadline has passed".into()));
}

#[test]
fn the_reason_names_the_writes_that_were_passed_over() {
    let mut bench = queue("6.1");
    bench.set("fifo_batch", 1);
    for (op, sector) in [(Op::Write, 0), (Op::Read, 300), (Op::Read, 200), (Op::Read, 100)] {
        bench.insert_bio(Bio::new(op, sector));
    }
    let oldest = "it is the oldest, as nothing follows in sector order";
    let reads =
        |time| format!("a new batch: reads go first, writes are passed over for the {time} time; {oldest}");
    assert_eq!(next(&mut bench), (300, reads("1st")));
    assert_eq!(next(&mut bench), (200, reads("2nd")));
    assert_eq!(next(&mut bench), (0, format!("a new batch: writes were passed over 2 times; {oldest}")));
}

/// The generations of `deadline_next`, told apart by a write between reads and by a read that comes late.
#[test]
fn a_direction_goes_on_where_its_kernel_remembers() {
    let order = |row_name: &str| {
        let mut bench = queue(row_name);
        bench.set("writes_starved", 0);
        bench.set("fifo_batch", 1);
        for sector in [100, 20, 300] {
            bench.insert_bio(Bio::new(Op::Read, sector));
        }
        // 6.12 starts its first sweep at sector 0, the others at the oldest request.
        let mut sectors = vec![next(&mut bench).0];
        bench.insert_bio(Bio::new(Op::Write, 1_000));
        sectors.push(next(&mut bench).0);
        bench.insert_bio(Bio::new(Op::Read, 200));
        while bench.sched.has_work(bench.cx(), 0) {
            sectors.push(next(&mut bench).0);
        }
        sectors
    };
    assert_eq!(order("5.10"), [100, 1_000, 20, 200, 300]);
    assert_eq!(order("6.1"), [100, 1_000, 300, 20, 200]);
    assert_eq!(order("6.12"), [20, 1_000, 100, 200, 300]);
}

/// The request at which the sweep would go on is appended to one in front of it.
#[test]
fn a_sweep_goes_on_behind_a_request_that_was_merged_away() {
    let mut bench = queue("6.1");
    let slots = [0, 116, 200].map(|sector| bench.insert_bio(Bio::new(Op::Read, sector)));
    assert_eq!(next(&mut bench).0, 0);
    bench.advance(MS);
    let Outcome::Inserted(slot) = bench.submit(Bio::new(Op::Read, 100)) else {
        panic!("nothing to merge with")
    };
    let merged = bench.submit(Bio::new(Op::Read, 108));
    assert_eq!(merged, Outcome::Merged { slot, front: false, gone: Some(slots[1]) });
    assert_eq!(next(&mut bench), (200, "next in sector order of the current batch, 2 of 16".into()));
    assert_eq!(next(&mut bench).0, 100);
}

#[test]
fn a_merged_request_takes_the_earlier_deadline_and_its_place() {
    let mut bench = queue("6.1");
    bench.insert_bio(Bio::new(Op::Read, 116));
    bench.insert_bio(Bio::new(Op::Read, 50));
    bench.advance(100 * MS);
    bench.submit(Bio::new(Op::Read, 100));
    bench.submit(Bio::new(Op::Read, 108));
    let fifo = &bench.sched.view(bench.cx()).groups[2].items;
    let items: Vec<(u64, u32, &str)> = fifo.iter().map(|i| (i.sector, i.sectors, i.note.as_str())).collect();
    assert_eq!(items, [(100, 24, "expires in 400 ms"), (50, 8, "expires in 400 ms")]);
}

#[test]
fn a_class_in_flight_holds_back_lower_ones_until_they_have_aged() {
    let mut bench = queue("6.1");
    let idle = bench.insert_bio(Bio { class: PrioClass::Idle, ..Bio::new(Op::Read, 0) });
    let rt = bench.insert_bio(Bio { class: PrioClass::Rt, ..Bio::new(Op::Read, 100) });
    assert_eq!(bench.dispatch(0), Some(rt));
    assert!(bench.sched.has_work(bench.cx(), 0));
    assert_eq!(bench.dispatch(0), None, "real time is in flight");
    assert_eq!(bench.sched.view(bench.cx()).why, "requests of a higher class are in flight");
    bench.advance(10_000 * MS);
    let why = bench.sched.view(bench.cx()).why;
    assert!(why.ends_with("its class (idle) waited longer than prio_aging_expire"), "{why}");
    assert_eq!(bench.dispatch(0), Some(idle));
}

#[test]
fn the_view_shows_lists_by_class_and_when_deadlines_pass() {
    let mut bench = queue("6.1");
    bench.insert_bio(Bio::new(Op::Read, 64));
    bench.advance(188 * MS);
    let view = bench.sched.view(bench.cx());
    let names: Vec<&str> = view.groups.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["sort_list[READ]", "sort_list[WRITE]", "fifo_list[READ]", "fifo_list[WRITE]"]);
    assert_eq!(view.groups[2].items[0].note, "expires in 312 ms");

    bench.insert_bio(Bio { class: PrioClass::Rt, ..Bio::new(Op::Write, 0) });
    bench.advance(400 * MS);
    let view = bench.sched.view(bench.cx());
    let fifo = |name: &str| view.groups.iter().find(|g| g.name == name).expect(name).items[0].note.clone();
    assert_eq!(fifo("per_prio[RT].fifo_list[WRITE]"), "expires in 4600 ms");
    assert_eq!(fifo("per_prio[BE].fifo_list[READ]"), "expired 88 ms ago");
    assert!(view.facts.contains(&("RT queued or in flight".into(), "1".into())), "{:?}", view.facts);
}
