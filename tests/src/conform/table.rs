//! What the recordings show, as data: `tests/recordings/facts.toml` and `traced.toml`.
//!
//! Each fact has the value that was recorded, and either a rule that the simulation must keep too (`equal`,
//! `at most 4`, `at least 1`) or the reason why it belongs to that one run on that one machine.

use super::facts::{Fact, Value};
use super::recording::Line;
use mqscope_core::Sim;
use mqscope_core::event::{Kind, Sleep};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

const FACTS: &str = include_str!("../../recordings/facts.toml");
const TRACED: &str = include_str!("../../recordings/traced.toml");

/// Both tables.
#[derive(Clone, Debug)]
pub struct Table {
    /// Why a fact may not be asked of a simulation, by the key that `timing` names.
    pub reasons: BTreeMap<String, String>,
    /// By the recording's name.
    pub recordings: BTreeMap<String, Entry>,
}

/// All about one recording.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Why the order of events is not compared, though one task ran.
    #[serde(default)]
    pub rules_only: Option<String>,
    /// What of the workload is not simulated.
    #[serde(default)]
    pub unsupported: Option<String>,
    /// A batch script that the same instance of the scheduler had served before.
    #[serde(default)]
    pub before: Option<String>,
    /// What differs today, and by which rule of the kernel; a recording that conforms has no such line.
    #[serde(default)]
    pub open: Option<String>,
    /// What was read off the events.
    #[serde(default)]
    pub facts: Vec<Expectation>,
    /// What only the kernel's function tracer saw.
    #[serde(skip)]
    pub traced: Vec<Traced>,
}

/// One fact of a recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// A [`Fact`] by name.
    pub fact: String,
    /// What was recorded.
    pub recorded: Value,
    /// The rule, which holds for the recording as well; `None`: timing.
    #[serde(default)]
    pub rule: Option<String>,
    /// Key of the reason why a simulation may differ; `None`: there is a rule.
    #[serde(default)]
    pub timing: Option<String>,
}

/// A number that blktrace does not show.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traced {
    /// What was counted, and how.
    pub counted: String,
    /// What came out.
    pub recorded: Value,
    /// What of the simulation must be the same; `None` where it has no counterpart.
    #[serde(default)]
    pub simulated: Option<Counterpart>,
}

/// What the simulator's log has for something that the function tracer counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counterpart {
    /// Tasks that slept for a tag.
    TagSleeps,
    /// Doorbells rung: calls of the driver, each with one request or a list.
    Doorbells,
}

impl Counterpart {
    /// How often it happened from this time on, ns.
    pub fn count(self, sim: &Sim, from_ns: u64) -> u64 {
        let is_it = |kind: &Kind| match self {
            Self::TagSleeps => matches!(kind, Kind::TaskSleep { why: Sleep::Tag }),
            Self::Doorbells => matches!(kind, Kind::Doorbell { .. }),
        };
        sim.log().events().iter().filter(|event| event.at_ns >= from_ns && is_it(&event.kind)).count() as u64
    }
}

/// What a simulated value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// What was recorded.
    Equal,
    /// A number not above this.
    AtMost(u64),
    /// A number not below this.
    AtLeast(u64),
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("'{text}' is no rule; write 'equal', 'at most N' or 'at least N'");
        if text == "equal" {
            return Ok(Self::Equal);
        }
        let (kind, number) = text.rsplit_once(' ').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        match kind {
            "at most" => Ok(Self::AtMost(number)),
            "at least" => Ok(Self::AtLeast(number)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::AtMost(number) => write!(f, "at most {number}"),
            Self::AtLeast(number) => write!(f, "at least {number}"),
        }
    }
}

impl Rule {
    /// Whether `value` keeps the rule, where `recorded` was recorded.
    pub fn holds(self, value: &Value, recorded: &Value) -> bool {
        match (self, value) {
            (Self::Equal, value) => value == recorded,
            (Self::AtMost(most), Value::Number(number)) => *number <= most,
            (Self::AtLeast(least), Value::Number(number)) => *number >= least,
            (_, Value::Text(_)) => false,
        }
    }
}

/// A rule that a run does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The fact's name, or what was counted.
    pub fact: String,
    /// What it must be.
    pub rule: Rule,
    /// What was recorded.
    pub recorded: Value,
    /// What was simulated.
    pub simulated: Value,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fact, rule, recorded, simulated } = self;
        write!(f, "{fact}: {simulated} simulated, {recorded} recorded, rule: {rule}")
    }
}

impl Table {
    /// The project's own tables.
    pub fn read() -> Result<Self, String> {
        Self::parse(FACTS, TRACED)
    }

    fn parse(facts: &str, traced: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Facts {
            reasons: BTreeMap<String, String>,
            recording: BTreeMap<String, Entry>,
        }
        let facts: Facts = toml::from_str(facts).map_err(|e| format!("facts.toml: {e}"))?;
        let traced: BTreeMap<String, Vec<Traced>> =
            toml::from_str(traced).map_err(|e| format!("traced.toml: {e}"))?;
        let mut table = Self { reasons: facts.reasons, recordings: facts.recording };
        for (name, traced) in traced {
            table.recordings.entry(name).or_default().traced = traced;
        }
        Ok(table)
    }
}

impl Entry {
    /// Checks that the recording shows every fact, and keeps the rules itself.
    pub(super) fn check_recording(
        &self,
        lines: &[Line],
        reasons: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        for Expectation { fact, recorded, rule, timing } in &self.facts {
            let value = fact.parse::<Fact>()?.value(lines);
            if value != *recorded {
                return Err(format!("{fact} of the recording is {value}, facts.toml says {recorded}"));
            }
            match (rule, timing) {
                (Some(text), None) => {
                    let rule: Rule = text.parse()?;
                    if !rule.holds(&value, recorded) {
                        return Err(format!("{fact} of the recording is {value}, its own rule is '{rule}'"));
                    }
                }
                (None, Some(key)) if reasons.contains_key(key) => {}
                (None, Some(key)) => return Err(format!("{fact}: facts.toml has no reason '{key}'")),
                _ => return Err(format!("{fact}: either a rule or a reason of timing is needed")),
            }
        }
        Ok(())
    }

    /// Rules that a simulation must keep.
    pub fn rules(&self) -> usize {
        let of_facts = self.facts.iter().filter(|fact| fact.rule.is_some()).count();
        of_facts + self.traced.iter().filter(|traced| traced.simulated.is_some()).count()
    }

    /// The rules that the simulation breaks.
    pub(super) fn violations(&self, sim: &Sim, lines: &[Line]) -> Result<Vec<Violation>, String> {
        let mut broken = Vec::new();
        let from_ns = lines.first().map_or(0, |line| line.at_ns);
        let mut judge = |fact: &str, rule: Rule, recorded: &Value, simulated: Value| {
            if !rule.holds(&simulated, recorded) {
                broken.push(Violation { fact: fact.into(), rule, recorded: recorded.clone(), simulated });
            }
        };
        for Expectation { fact, recorded, rule, .. } in &self.facts {
            if let Some(rule) = rule {
                judge(fact, rule.parse()?, recorded, fact.parse::<Fact>()?.value(lines));
            }
        }
        for Traced { counted, recorded, simulated } in &self.traced {
            if let Some(counterpart) = simulated {
                judge(counted, Rule::Equal, recorded, counterpart.count(sim, from_ns).into());
            }
        }
        Ok(broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_judge() {
        let rule = |text: &str| text.parse::<Rule>();
        assert_eq!(rule("equal"), Ok(Rule::Equal));
        assert_eq!(rule("at most 4"), Ok(Rule::AtMost(4)));
        assert!(rule("about 4").is_err() && rule("at most").is_err() && rule("at most x").is_err());
        let (four, text) = (Value::Number(4), Value::Text("4".into()));
        assert!(Rule::Equal.holds(&four, &four) && !Rule::Equal.holds(&text, &four));
        assert!(Rule::AtMost(4).holds(&four, &four) && !Rule::AtMost(3).holds(&four, &four));
        assert!(Rule::AtLeast(4).holds(&four, &four) && !Rule::AtLeast(5).holds(&four, &four));
        assert!(!Rule::AtMost(9).holds(&text, &text));
    }

    #[test]
    fn a_fact_needs_a_rule_or_a_known_reason() {
        let check = |fact: &str| {
            let facts =
                format!("[reasons]\nchance = 'x'\n[recording.r]\nfacts = [{{ fact = 'count.D', {fact} }}]");
            let table = Table::parse(&facts, "").expect("the table is readable");
            table.recordings["r"].check_recording(&[], &table.reasons)
        };
        assert_eq!(check("recorded = 0, rule = 'equal'"), Ok(()));
        assert_eq!(check("recorded = 0, timing = 'chance'"), Ok(()));
        assert!(check("recorded = 0").is_err());
        assert!(check("recorded = 0, timing = 'weather'").is_err());
        assert!(check("recorded = 0, rule = 'equal', timing = 'chance'").is_err());
        assert_eq!(
            check("recorded = 1, rule = 'equal'"),
            Err("count.D of the recording is 0, facts.toml says 1".into())
        );
        assert!(check("recorded = 0, rule = 'at least 1'").is_err());
    }
}
