//! Which of the differences between A and B matter: A is run again with one of them as in B at a time. No browser here.

use crate::config::{Config, Side, shorten};
use crate::difference::Difference;
use crate::numbers::Numbers;
use mqscope_core::report::Report;
use mqscope_core::scenario::Scenario;

/// Events of the simulation that one run may take, about.
const EVENTS: f64 = 200_000.0;
/// Runs of A with another seed each, by which is judged what chance does.
const SEEDS: u64 = 4;
/// What their seeds differ by.
const OTHER_SEED: u64 = 0x9e37_79b9;
/// A change matters if it is so many times as large as the largest that chance made, and by itself as large as this.
const BEYOND_CHANCE: f64 = 2.0;
const LEAST: f64 = 0.005;

/// What a run has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency of an I/O, ns.
    pub lat_ns: f64,
    /// CPU time of all kinds for one I/O, ns.
    pub cpu_ns: f64,
    /// Events of the simulation.
    events: u64,
}

impl Figures {
    fn of(report: &Report) -> Self {
        let (total, cpu) = (&report.total, &report.cpu);
        Self { iops: total.iops, lat_ns: total.lat.mean_ns, cpu_ns: cpu.total_ns, events: report.events }
    }

    /// How far these are from others: the larger change of IOPS and latency, as the absolute value of its logarithm.
    fn distance(&self, other: &Self) -> f64 {
        let log = |a: f64, b: f64| (a / b).ln().abs();
        let all = [log(self.iops, other.iops), log(self.lat_ns, other.lat_ns)];
        all.into_iter().filter(|d| d.is_finite()).fold(0.0, f64::max)
    }
}

/// What is tried.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A as it is.
    AsItIs,
    /// A with another seed, one of a few.
    Chance(u64),
    /// B.
    Other,
    /// A with one difference as in B.
    One(Difference),
}

/// How far a trial is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It has not run yet.
    Waiting,
    /// It cannot be run like that.
    Impossible,
    /// It ran.
    Ran(Figures),
}

/// One trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What is tried.
    pub what: What,
    /// How far it is.
    pub outcome: Outcome,
}

/// All trials of one pair of policies, in the order in which they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// Length of each run, ns.
    pub length_ns: u64,
    trials: Vec<Trial>,
    /// How many have been given out.
    given: usize,
    /// Rules change in the course of a run: the trials have the last ones from the start.
    changes: bool,
}

impl Trials {
    /// Prepares them. `known` are A's numbers: they tell how long a run may be.
    pub fn new(config: &Config, base: &Scenario, known: &Report) -> Self {
        let share = (EVENTS / known.events.max(1) as f64).min(1.0);
        let length_ns = config.settled(base, Side::A).map_or(0, |s| s.duration_ns);
        let one = config.differences(Some(base)).into_iter().map(What::One);
        let seeds = (1..=SEEDS).map(What::Chance);
        let all = [What::AsItIs, What::Other].into_iter().chain(seeds).chain(one);
        Self {
            length_ns: ((length_ns as f64 * share) as u64).max(1),
            trials: all.map(|what| Trial { what, outcome: Outcome::Waiting }).collect(),
            given: 0,
            changes: config.policies.iter().any(|p| !p.changes.is_empty()),
        }
    }

    /// The next one to run, with its number; those that cannot run are passed over.
    pub fn give(&mut self, config: &Config, base: &Scenario) -> Option<(usize, Scenario)> {
        while let Some(trial) = self.trials.get_mut(self.given) {
            let number = self.given;
            self.given += 1;
            if let Some(mut scenario) = scenario(config, base, &trial.what) {
                shorten(&mut scenario, self.length_ns);
                return Some((number, scenario));
            }
            trial.outcome = Outcome::Impossible;
        }
        None
    }

    /// Takes the numbers of a run; `None` where it could not run.
    pub fn take(&mut self, number: usize, numbers: Option<&Numbers>) {
        if let Some(trial) = self.trials.get_mut(number) {
            trial.outcome = numbers.map_or(Outcome::Impossible, |n| Outcome::Ran(Figures::of(&n.report)));
        }
    }

    /// How many are done, and how many there are.
    pub fn progress(&self) -> (usize, usize) {
        let done = self.trials.iter().filter(|t| t.outcome != Outcome::Waiting).count();
        (done, self.trials.len())
    }

    /// What a trial of this kind came to.
    pub fn figures(&self, what: &What) -> Option<Figures> {
        let trial = self.trials.iter().find(|t| t.what == *what)?;
        match trial.outcome {
            Outcome::Ran(figures) => Some(figures),
            _ => None,
        }
    }

    /// The differences, those that matter most first; what has not run yet follows, in order.
    pub fn ranked(&self) -> Vec<&Trial> {
        let own = self.figures(&What::AsItIs);
        let distance = |trial: &Trial| match (trial.outcome, own) {
            (Outcome::Ran(figures), Some(own)) => figures.distance(&own),
            (Outcome::Waiting, _) => -1.0,
            _ => -2.0,
        };
        let mut all: Vec<_> = self.trials.iter().filter(|t| matches!(t.what, What::One(_))).collect();
        all.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        all
    }

    /// What is known so far, in a sentence or two.
    pub fn words(&self) -> String {
        let (done, all) = self.progress();
        let mut said = format!("Each in the first {} of the run.", crate::words::span(self.length_ns as f64));
        if self.changes {
            said += " Rules that came on the way hold from the start here, so these are not the runs above.";
        }
        if done < all {
            return format!("{done} of {all} runs are done. {said}");
        }
        let Some(own) = self.figures(&What::AsItIs) else { return said };
        let chance = self.chance().map_or(0.0, |f| f.distance(&own));
        let ranked = self.ranked();
        let matters = |trial: &Trial| match trial.outcome {
            Outcome::Ran(figures) => figures.distance(&own) > LEAST.max(chance * BEYOND_CHANCE),
            _ => false,
        };
        let matter = ranked.iter().filter(|trial| matters(trial)).count();
        let (count, verb) = match matter {
            0 => (String::from("None"), "changes"),
            1 => (String::from("1"), "changes"),
            n => (n.to_string(), "change"),
        };
        said + &format!(
            " {count} of the {} alone {verb} IOPS or latency by half a per cent and twice as much as {SEEDS} other seeds do. \
             Together they can do more or less than each alone, and two can have the same effect.",
            ranked.len()
        )
    }

    /// The figures of the seed that changes most.
    pub fn chance(&self) -> Option<Figures> {
        let own = self.figures(&What::AsItIs)?;
        let seeds = (1..=SEEDS).map(|n| self.figures(&What::Chance(n))).collect::<Option<Vec<_>>>()?;
        seeds.into_iter().max_by(|a, b| a.distance(&own).total_cmp(&b.distance(&own)))
    }

    /// Whether two runs are the same in every number that is kept.
    pub fn same(&self, trial: &Trial) -> bool {
        matches!((trial.outcome, self.figures(&What::AsItIs)), (Outcome::Ran(f), Some(own)) if f == own)
    }
}

fn scenario(config: &Config, base: &Scenario, what: &What) -> Option<Scenario> {
    match what {
        What::AsItIs => config.settled(base, Side::A),
        What::Chance(number) => {
            let own = config.settled(base, Side::A)?;
            Some(Scenario { seed: own.seed ^ (OTHER_SEED * number), ..own })
        }
        What::Other => config.settled(base, Side::B),
        What::One(difference) => config.with_one(base, difference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Rules;
    use crate::numbers::Run;
    use crate::preset;

    /// All trials of a preset, run one after the other.
    fn run(name: &str, edit: impl FnOnce(&mut Config)) -> Trials {
        let preset = preset::find(name).expect("the preset");
        let mut config = preset.config();
        edit(&mut config);
        let known = Report { events: 2_000_000, ..Report::default() };
        let mut trials = Trials::new(&config, &preset.base, &known);
        while let Some((number, scenario)) = trials.give(&config, &preset.base) {
            let run = Run::new(&scenario, &[]).ok().map(|mut run| {
                run.advance(|| false);
                run.numbers()
            });
            trials.take(number, run.as_ref());
        }
        trials
    }

    #[test]
    fn what_makes_the_difference_stands_first_and_what_nobody_asks_for_changes_nothing() {
        let trials = run("seed-000", |config| {
            config.policies[0].start = Rules::new("4.14", &[]);
            config.policies[1].start = Rules::new("6.1", &[]);
        });
        let (done, all) = trials.progress();
        assert_eq!(done, all);
        let ranked = trials.ranked();
        assert!(ranked.len() > 10, "4.14 and 6.1 differ in many rules");
        let name = |t: &&Trial| match &t.what {
            What::One(difference) => difference.name.clone(),
            other => panic!("{other:?}"),
        };
        let (own, other) = (trials.figures(&What::AsItIs), trials.figures(&What::Other));
        let (own, other) = (own.expect("A ran"), other.expect("B ran"));
        assert!(own.distance(&other) > 0.02, "{own:?} {other:?}");
        // Without completion in the interrupt, and with a run of all queues after each, kernels 4.14 and 6.1 part here.
        let first: Vec<_> = ranked[..3].iter().map(name).collect();
        assert!(first.contains(&String::from("complete_in")), "{first:?}");
        assert!(trials.words().contains("alone change"), "{}", trials.words());
        let still: Vec<_> = ranked.iter().filter(|t| trials.same(t)).map(name).collect();
        assert!(still.iter().any(|n| n.contains("bfq")), "no bfq here: {still:?}");
    }

    #[test]
    fn one_rule_alone_is_the_whole_difference_where_there_is_no_other() {
        let trials = run("plug-merge", |config| {
            config.policies[0].start = Rules::new("6.1", &[]);
            config.policies[1] = config.policies[0].clone();
            config.policies[1].start.set_knob("plug_max", "1");
        });
        let [only] = trials.ranked()[..] else { panic!("{:?}", trials.ranked()) };
        let Outcome::Ran(figures) = only.outcome else { panic!("{only:?}") };
        assert_eq!(Some(figures), trials.figures(&What::Other));
        assert_ne!(Some(figures), trials.figures(&What::AsItIs));
        assert!(trials.words().contains("of the 1 alone"), "{}", trials.words());
    }

    #[test]
    fn what_cannot_be_run_is_said_to_be_impossible() {
        let trials = run("seed-003", |_| {});
        let (done, all) = trials.progress();
        assert_eq!(done, all);
        let impossible = trials.ranked().iter().filter(|t| t.outcome == Outcome::Impossible).count();
        let ran = trials.ranked().len() - impossible;
        assert!(ran > 0, "{:?}", trials.ranked());
        assert!(trials.figures(&What::Other).is_some());
    }
}
