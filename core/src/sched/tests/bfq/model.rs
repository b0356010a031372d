//! A naive bfq without idling and raised weights: plain lists, looked through from end to end each time.
//!
//! Written from the description of the algorithm (service order, budgets, choice of the next request, preemption), not
//! from the code under test, for synchronous requests of one class in which time hardly passes.

use super::*;
use proptest::prelude::*;

/// What a process is to the disk.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Its weight does not count.
    Gone,
    /// Without requests, but its last finish time is still ahead. When it came here.
    Remembered(u64),
    /// Its turn will come. Since when it waits.
    Waiting(u64),
    Served,
}

struct Process {
    /// (sector, arrival, sectors, slot).
    requests: Vec<(u64, u64, u64, u32)>,
    next: Option<u32>,
    in_driver: u64,
    weight: u64,
    state: State,
    start: u64,
    finish: u64,
    budget: u64,
    service: u64,
    next_budget: u64,
    /// Left for want of requests, with some of its budget.
    may_go_on: bool,
    last_end: Option<u64>,
    /// Which of its last 32 requests were seeks, and where the last ended.
    seeks: u32,
    last_sector: u64,
}

struct Model {
    now: u64,
    clock: u64,
    head: u64,
    count: u64,
    max: u64,
    processes: Vec<Process>,
    owner: BTreeMap<u32, usize>,
}

#[derive(PartialEq)]
enum Why {
    Exhausted,
    Empty,
    Preempted,
}

impl Model {
    fn new(levels: &[u8], max: u64) -> Self {
        let process = |level: &u8| Process {
            requests: vec![],
            next: None,
            in_driver: 0,
            weight: 10 * (8 - u64::from(*level)),
            state: State::Gone,
            start: 0,
            finish: 0,
            budget: 0,
            service: 0,
            next_budget: max * 2 / 3,
            may_go_on: false,
            last_end: None,
            seeks: 1,
            last_sector: 0,
        };
        let processes = levels.iter().map(process).collect();
        Self { now: 0, clock: 0, head: 8, count: 0, max, processes, owner: BTreeMap::new() }
    }

    fn tick(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn served(&self) -> Option<usize> {
        self.processes.iter().position(|p| p.state == State::Served)
    }

    /// The best of these requests for a head at `at`: least way, backwards twice as long and 16 MiB at most; of two as
    /// good the one ahead; if all need a turn, the first sector.
    fn best(&self, p: usize, of: &[u32], at: u64) -> Option<u32> {
        let cost = |slot: &&u32| {
            let sector = self.processes[p].requests.iter().find(|r| r.3 == **slot).expect("queued").0;
            if sector >= at {
                (0, sector - at, u64::MAX - sector)
            } else if at - sector <= 32_768 {
                (0, 2 * (at - sector), u64::MAX - sector)
            } else {
                (1, sector, 0)
            }
        };
        of.iter().min_by_key(cost).copied()
    }

    fn cost_of_next(&self, p: usize) -> u64 {
        let p = &self.processes[p];
        p.next.map_or(0, |slot| p.requests.iter().find(|r| r.3 == slot).expect("queued").2)
    }

    fn wait(&mut self, p: usize) {
        let since = self.tick();
        let p = &mut self.processes[p];
        p.finish = p.start + (p.budget << 22) / p.weight;
        p.state = State::Waiting(since);
    }

    /// A budget must cover the next request, unless the slot has begun.
    fn fit_budget(&mut self, p: usize) {
        let needs = self.processes[p].next_budget.max(self.cost_of_next(p));
        let process = &mut self.processes[p];
        if matches!(process.state, State::Waiting(_)) && process.next.is_some() && process.budget != needs {
            process.budget = needs;
            self.wait(p);
        }
    }

    fn arrive(&mut self, p: usize, sector: u64, sectors: u64, slot: u32) {
        let arrival = self.tick();
        self.owner.insert(slot, p);
        let process = &mut self.processes[p];
        let seek = process.last_sector != 0 && sector.abs_diff(process.last_sector) > 800;
        process.seeks = process.seeks << 1 | u32::from(seek);
        process.last_sector = sector + sectors;
        self.processes[p].requests.push((sector, arrival, sectors, slot));
        let before = self.processes[p].next;
        let of: Vec<u32> = before.into_iter().chain([slot]).collect();
        self.processes[p].next = self.best(p, &of, self.head);
        if matches!(self.processes[p].state, State::Waiting(_) | State::Served) {
            if self.processes[p].next != before {
                self.fit_budget(p);
            }
            return;
        }
        let needs = self.cost_of_next(p);
        let (now, clock) = (self.now, self.clock);
        let process = &mut self.processes[p];
        let left = process.budget.saturating_sub(process.service);
        let in_time = process.last_end.is_none_or(|end| now <= end);
        let goes_on = process.may_go_on && in_time && left > 0;
        process.budget = if goes_on { left.min(process.next_budget) } else { process.next_budget.max(needs) };
        process.service = 0;
        process.may_go_on = false;
        let late = goes_on && clock > process.finish;
        let from = if late { process.finish } else { clock };
        process.start =
            if matches!(process.state, State::Remembered(_)) { from.max(process.finish) } else { from };
        self.wait(p);
        let process = &mut self.processes[p];
        if late && clock > process.finish {
            let shift = clock - process.finish;
            process.start += shift;
            process.finish += shift;
        }
        if let Some(s) = self.served()
            && (goes_on || self.processes[p].weight > self.processes[s].weight)
        {
            self.expire(s, Why::Preempted);
        }
    }

    fn dispatch(&mut self) -> Option<u32> {
        loop {
            let p = match self.served() {
                Some(p) => p,
                None => {
                    let p = self.choose()?;
                    self.processes[p].state = State::Served;
                    p
                }
            };
            let process = &self.processes[p];
            if process.next.is_none() {
                self.expire(p, Why::Empty);
            } else if self.cost_of_next(p) > process.budget.saturating_sub(process.service) {
                self.expire(p, Why::Exhausted);
            } else {
                return Some(self.take(p));
            }
        }
    }

    /// Of those that would have begun by now, the one that would end first; if none would have, the clock jumps.
    fn choose(&mut self) -> Option<usize> {
        let waiting = |m: &Self| -> Vec<usize> {
            (0..m.processes.len()).filter(|p| matches!(m.processes[*p].state, State::Waiting(_))).collect()
        };
        let begun = |m: &Self| {
            let since = |p: usize| match m.processes[p].state {
                State::Waiting(since) => since,
                _ => unreachable!("filtered"),
            };
            let all = waiting(m).into_iter().filter(|p| m.processes[*p].start <= m.clock);
            all.min_by_key(|p| (m.processes[*p].finish, since(*p)))
        };
        if let Some(p) = begun(self) {
            return Some(p);
        }
        self.clock = waiting(self).into_iter().map(|p| self.processes[p].start).min()?;
        let p = begun(self);
        self.forget();
        p
    }

    fn take(&mut self, p: usize) -> u32 {
        let slot = self.processes[p].next.expect("checked");
        let (sector, arrival, sectors, _) =
            *self.processes[p].requests.iter().find(|r| r.3 == slot).expect("queued");
        self.charge(p, sectors);
        self.head = sector + sectors;
        let process = &mut self.processes[p];
        process.in_driver += 1;
        process.requests.retain(|r| r.3 != slot);
        process.requests.sort_unstable();
        let at = process.requests.partition_point(|r| (r.0, r.1) < (sector, arrival));
        let mut of = Vec::new();
        of.extend(process.requests.get(at).or(process.requests.first()).map(|r| r.3));
        of.extend(at.checked_sub(1).map(|below| process.requests[below].3));
        let next = self.best(p, &of, sector);
        self.processes[p].next = next;
        slot
    }

    fn charge(&mut self, p: usize, sectors: u64) {
        let counted = self.processes.iter().filter(|p| p.state != State::Gone);
        self.clock += (sectors << 22) / counted.map(|p| p.weight).sum::<u64>();
        self.processes[p].service += sectors;
        self.forget();
    }

    /// One remembered process whose time has come is forgotten.
    fn forget(&mut self) {
        let mut remembered: Vec<(u64, u64, usize)> = Vec::new();
        for (i, p) in self.processes.iter().enumerate() {
            if let State::Remembered(since) = p.state {
                remembered.push((p.finish, since, i));
            }
        }
        remembered.sort_unstable();
        let nobody_waits = !self.processes.iter().any(|p| matches!(p.state, State::Waiting(_)));
        if let Some((last, _, _)) = remembered.last()
            && nobody_waits
            && *last <= self.clock
        {
            self.clock = *last;
        }
        if let Some((first, _, p)) = remembered.first()
            && *first <= self.clock
        {
            self.processes[*p].state = State::Gone;
        }
    }

    fn complete(&mut self, slot: u32) {
        let p = self.owner[&slot];
        self.processes[p].in_driver -= 1;
        self.processes[p].last_end = Some(self.now);
        if self.processes[p].state == State::Served && self.processes[p].requests.is_empty() {
            self.expire(p, Why::Empty);
        }
    }

    /// Whether others with requests, waiting or in the driver, weigh differently and this is not of the least weight.
    fn must_keep_place(&self, p: usize) -> bool {
        let pending = |p: &&Process| p.in_driver > 0 || matches!(p.state, State::Waiting(_) | State::Served);
        let weights = || self.processes.iter().filter(pending).map(|p| p.weight);
        weights().max() != weights().min() && weights().min() != Some(self.processes[p].weight)
    }

    fn expire(&mut self, p: usize, why: Why) {
        // Who seeks pays for the time of a seek, 8 of 125 ms, if that is more.
        let price = self.max * 8 / 125;
        if self.processes[p].seeks.count_ones() > 19 {
            let total = self.processes[p].service.max(price);
            self.processes[p].budget = self.processes[p].budget.max(total);
            self.charge(p, total - self.processes[p].service);
        }
        let needs = self.cost_of_next(p);
        let (max, min) = (self.max, self.max / 32);
        let keep_place = why == Why::Preempted && self.must_keep_place(p);
        let since = self.tick();
        let clock = self.clock;
        let process = &mut self.processes[p];
        match why {
            Why::Exhausted => process.next_budget = (process.next_budget * 4).min(max),
            Why::Empty => process.next_budget = process.service.max(min),
            Why::Preempted => {}
        }
        if why != Why::Preempted && process.next.is_some() {
            process.budget = process.next_budget.max(needs);
        }
        let end = process.start + (process.service << 22) / process.weight;
        if process.requests.is_empty() && !keep_place {
            process.finish = end;
            process.state = if end > clock { State::Remembered(since) } else { State::Gone };
            if why == Why::Exhausted {
                process.service = 0;
            } else {
                process.may_go_on = true;
            }
        } else {
            process.start = end;
            process.service = 0;
            self.wait(p);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { task: usize, sector: u64, sectors: u32 },
    Dispatch,
    Complete(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let sector = prop_oneof![0u64..2_000, 0u64..400_000];
    prop_oneof![
        5 => (0usize..4, sector, 1u32..300).prop_map(|(task, sector, sectors)| Step::Arrive { task, sector, sectors }),
        5 => Just(Step::Dispatch),
        4 => any::<usize>().prop_map(Step::Complete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn dispatch_order_equals_that_of_a_naive_model(
        levels in prop::collection::vec(prop_oneof![2 => Just(4u8), 1 => 0u8..8], 4),
        max in 64u64..4096,
        tick_ns in 0u64..2,
        steps in prop::collection::vec(step(), 0..400),
    ) {
        let mut rig = Rig::plain(true).with_max_budget(max);
        let mut model = Model::new(&levels, max);
        for step in steps {
            match step {
                Step::Arrive { task, sector, sectors } => {
                    let rq = with_prio(read(task as u16, sector, sectors), PrioClass::Be, levels[task]);
                    let slot = rig.send(rq);
                    model.arrive(task, sector, u64::from(sectors), slot);
                }
                Step::Dispatch => prop_assert_eq!(rig.dispatch().map(|rq| rq.slot), model.dispatch()),
                Step::Complete(n) => {
                    let n = n % rig.in_driver.len().max(1);
                    if let Some(slot) = rig.in_driver.keys().nth(n).copied() {
                        rig.complete(slot);
                        model.complete(slot);
                    }
                }
            }
            rig.advance(tick_ns);
            model.now = rig.now;
        }
    }
}
