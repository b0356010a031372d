//! Runs for numbers and the comparison of both, as a worker does them: it takes an order, works in slices and answers.
//! Orders and answers are bytes (postcard; both ends are the same build), so that a worker and the page itself, where no
//! worker can be had, do the same. No browser here.

use crate::config::{Change, Policy};
use crate::numbers::{Numbers, Run, TwinRun};
use crate::twins::{self, Account};
use mqscope_core::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// Longest slice of work, ms. Far below the 50 ms from which on a page feels stuck.
const SLICE_MS: f64 = 8.0;
/// Work until the first answer, ms: curves begin at once.
const FIRST_MS: f64 = 12.0;
/// Time between two answers that are still growing, ms.
const GROW_MS: f64 = 250.0;

/// One run that is asked for.
#[derive(Serialize, Deserialize)]
struct Side {
    /// As JSON: a scenario leaves out what it does not say, which bytes without names cannot.
    scenario: String,
    changes: Vec<Change>,
}

/// Asks for the numbers of a run, or with two for what the comparison says. Answers bear the order's number.
pub fn order<'a>(id: u64, sides: impl IntoIterator<Item = (&'a Scenario, &'a Policy)>) -> Vec<u8> {
    let side = |(scenario, policy): (&Scenario, &Policy)| Side {
        scenario: scenario.to_json(),
        changes: policy.changes.clone(),
    };
    bytes(&(id, sides.into_iter().map(side).collect::<Vec<_>>()))
}

/// A value as bytes.
fn bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).unwrap_or_else(|e| unreachable!("plain values have bytes: {e}"))
}

/// What became of an order so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The order's number.
    pub id: u64,
    /// Whether nothing more is to come.
    pub finished: bool,
    /// Numbers of the run, if one was asked for.
    pub numbers: Option<Numbers>,
    /// What the comparison says, if two were.
    pub account: Option<Account>,
}

impl Answer {
    /// Reads what [`Desk::slice`] gave.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

enum Work {
    Numbers(Box<Run>),
    Twins(Box<TwinRun>),
    /// What was asked for cannot run; that is all there is to say.
    Nothing,
}

/// Works on one order at a time.
#[derive(Default)]
pub struct Desk {
    work: Option<Work>,
    id: u64,
    /// The next answer is due, ms; 0 before the first slice.
    due_ms: f64,
}

impl Desk {
    /// Takes an order in the place of the last one. What is no order only ends that one.
    pub fn take(&mut self, order: &[u8]) {
        *self = Self::default();
        let Ok((id, sides)) = postcard::from_bytes::<(u64, Vec<Side>)>(order) else { return };
        self.id = id;
        let run = |side: &Side| Run::new(&Scenario::from_json(&side.scenario)?, &side.changes).ok();
        self.work = match &sides[..] {
            [side] => run(side).map(|run| Work::Numbers(Box::new(run))),
            [a, b] => run(a).zip(run(b)).map(|(a, b)| Work::Twins(Box::new(TwinRun::new([a, b])))),
            _ => None,
        }
        .or(Some(Work::Nothing));
    }

    /// Whether there is something to do.
    pub fn open(&self) -> bool {
        self.work.is_some()
    }

    /// Works for one slice by a clock in ms; an answer when one is due.
    pub fn slice(&mut self, clock: fn() -> f64) -> Option<Vec<u8>> {
        let start = clock();
        if self.due_ms == 0.0 {
            self.due_ms = start + FIRST_MS;
        }
        let enough = || clock() - start > SLICE_MS;
        let finished = match self.work.as_mut()? {
            Work::Numbers(run) => run.advance(enough),
            Work::Twins(run) => run.advance(enough),
            Work::Nothing => true,
        };
        let now = clock();
        if !finished && now < self.due_ms {
            return None;
        }
        self.due_ms = now + GROW_MS;
        let mut answer = Answer { id: self.id, finished, ..Answer::default() };
        match self.work.as_ref()? {
            Work::Numbers(run) => answer.numbers = Some(run.numbers()),
            Work::Twins(run) => answer.account = Some(twins::account(run, finished)),
            Work::Nothing => {}
        }
        if finished {
            self.work = None;
        }
        Some(bytes(&answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Rules};
    use crate::preset;

    /// A clock that makes every slice short and every answer due.
    fn hasty() -> f64 {
        thread_local!(static MS: std::cell::Cell<f64> = const { std::cell::Cell::new(1.0) });
        MS.with(|ms| ms.replace(ms.get() + 300.0))
    }

    fn sides(name: &str) -> [(Scenario, Policy); 2] {
        let preset = preset::find(name).expect("the preset");
        let config = preset.config();
        config::Side::BOTH.map(|side| {
            let mut scenario = config.scenario(&preset.base, side).expect("it builds");
            scenario.duration_ns = scenario.duration_ns.min(2_000_000);
            scenario.warmup_ns = 0;
            (scenario, config.policy(side).clone())
        })
    }

    /// All answers to an order.
    fn answers(order: Vec<u8>) -> Vec<Answer> {
        let mut desk = Desk::default();
        desk.take(&order);
        let mut answers = Vec::new();
        while desk.open() {
            answers.extend(desk.slice(hasty).map(|bytes| Answer::read(&bytes).expect("it reads")));
        }
        answers
    }

    #[test]
    fn a_worker_answers_with_the_numbers_of_a_direct_run() {
        for name in ["seed-000", "seed-002", "plug-merge"] {
            let [(scenario, mut policy), _] = sides(name);
            policy.change(600_000, Rules::new("6.1", &[("plug_max", "8")]));
            let mut direct = Run::new(&scenario, &policy.changes).expect("it runs");
            direct.advance(|| false);
            let answers = answers(order(7, [(&scenario, &policy)]));
            let last = answers.last().expect("an answer");
            assert!(answers.iter().all(|a| a.id == 7 && a.account.is_none()));
            assert!(answers.iter().rev().skip(1).all(|a| !a.finished) && last.finished);
            let numbers = last.numbers.as_ref().expect("numbers");
            // Every field of the report is in its debug text.
            assert_eq!(format!("{numbers:?}"), format!("{:?}", direct.numbers()), "{name}");
            assert!(numbers.report.events > 0, "{name}");
        }
    }

    #[test]
    fn a_worker_answers_with_the_account_of_a_direct_comparison() {
        for name in ["seed-000", "plug-merge"] {
            let sides = sides(name);
            let mut direct =
                TwinRun::new(sides.clone().map(|(s, p)| Run::new(&s, &p.changes).expect("it runs")));
            while !direct.advance(|| false) {}
            let answers = answers(order(1, sides.iter().map(|(s, p)| (s, p))));
            let last = answers.last().and_then(|a| a.account.as_ref()).expect("an account");
            assert_eq!(*last, twins::account(&direct, true), "{name}");
            assert!(last.complete && last.moment.is_some());
        }
    }

    #[test]
    fn what_a_broken_rule_says_and_a_missing_value_come_back_as_they_were() {
        use mqscope_core::check::{Invariant, Violation};
        let violation = Violation { at_ns: 3, invariant: Invariant::OneHolder, text: String::from("two") };
        let mut numbers = Numbers { share: f64::NAN, ..Numbers::default() };
        numbers.report.violations.push(violation);
        numbers.report.page_cache = Some(Default::default());
        numbers.report.total.fsync_ns = -0.0;
        let answer = Answer { numbers: Some(numbers), ..Answer::default() };
        let bytes = bytes(&answer);
        let back = Answer::read(&bytes).expect("it reads");
        assert_eq!(format!("{back:?}"), format!("{answer:?}"));
        for len in 0..bytes.len() {
            assert!(Answer::read(&bytes[..len]).is_none(), "{len} bytes are too few");
        }
    }

    #[test]
    fn every_preset_s_scenario_comes_back_from_its_order_as_it_was() {
        for preset in preset::all() {
            for side in config::Side::BOTH {
                let scenario = preset.config().scenario(&preset.base, side).expect(preset.name);
                assert_eq!(Scenario::from_json(&scenario.to_json()), Some(scenario), "{}", preset.name);
            }
        }
    }

    #[test]
    fn what_cannot_run_is_answered_all_the_same() {
        let [(scenario, policy), _] = sides("seed-000");
        let wrong = Scenario { machine: String::from("none"), ..scenario };
        let answers = answers(order(3, [(&wrong, &policy)]));
        assert!(matches!(&answers[..], [Answer { id: 3, finished: true, numbers: None, account: None }]));
    }

    #[test]
    fn a_new_order_takes_the_place_of_the_old_one_and_nonsense_ends_it() {
        let [(scenario, policy), _] = sides("seed-000");
        let mut desk = Desk::default();
        desk.take(&order(1, [(&scenario, &policy)]));
        desk.slice(hasty);
        desk.take(&order(2, [(&scenario, &policy)]));
        let answer = desk.slice(hasty).and_then(|bytes| Answer::read(&bytes)).expect("an answer");
        assert_eq!((answer.id, answer.finished), (2, false));
        for nonsense in [Vec::new(), vec![255; 40]] {
            desk.take(&nonsense);
            assert!(!desk.open() && desk.slice(hasty).is_none());
        }
    }
}
