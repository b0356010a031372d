//! In what the two sides differ, and a run of A in which one of these is as in B. No browser here.

use crate::config::{Config, Policy, Side};
use mqscope_core::scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeSet;

/// Most elements of a list that are compared.
const ELEMENTS_MAX: usize = 40;
/// Differences after which no more are looked for.
const DIFFERENCES_MAX: usize = 240;

/// Where a difference is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A policy knob by its name.
    Knob,
    /// Scheduler and attributes of the disks.
    Queue,
    /// Somewhere else in the scenario, by the way to it.
    Scenario(Vec<String>),
}

/// `workload.jobs.0.hipri` as people read it.
fn place_in_words(way: &[String]) -> String {
    let kinds = ["jobs", "batches"];
    let kind = way.len() > 2 && way[0] == "workload" && kinds.contains(&way[1].to_lowercase().as_str());
    let mut parts = way.iter().skip(usize::from(kind)).peekable();
    let mut words = String::new();
    while let Some(part) = parts.next() {
        let number = parts.next_if(|next| next.parse::<usize>().is_ok());
        let name = part.strip_suffix('s').filter(|_| number.is_some()).unwrap_or(part);
        let number = number.and_then(|n| n.parse::<usize>().ok()).map(|n| format!(" {}", n + 1));
        let space = if words.is_empty() { "" } else { ", " };
        words += &format!("{space}{}{}", name.replace('_', " "), number.unwrap_or_default());
    }
    words
}

/// Something in which the two sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    place: Place,
    /// Name of a knob, `queue`, or the place in the scenario in words.
    pub name: String,
    /// What the rule does; empty for what is none.
    pub help: &'static str,
    /// What A and B say.
    pub values: [String; 2],
}

impl Difference {
    /// Whether it is a rule of the kernel.
    pub fn is_rule(&self) -> bool {
        self.place == Place::Knob
    }
}

impl Config {
    /// In what the two sides differ: rules first, as they are at the end of the run, then the queues' attributes, then
    /// what else the scenarios say.
    pub fn differences(&self, base: Option<&Scenario>) -> Vec<Difference> {
        let [a, b] = [&self.policies[0], &self.policies[1]];
        let pairs = a.last().knobs().list().into_iter().zip(b.last().knobs().list());
        let knob = |(a, b): (mqscope_core::kernel::KnobInfo, mqscope_core::kernel::KnobInfo)| Difference {
            place: Place::Knob,
            name: a.name.into(),
            help: a.help,
            values: [a.value, b.value],
        };
        let mut all: Vec<_> = pairs.filter(|(a, b)| a.value != b.value).map(knob).collect();
        let queues = [a.sysfs.text(), b.sysfs.text()];
        if queues[0] != queues[1] {
            let or_usual = |text: String| if text.is_empty() { String::from(AS_USUAL) } else { text };
            all.push(Difference {
                place: Place::Queue,
                name: String::from("queue"),
                help: "",
                values: queues.map(or_usual),
            });
        }
        // Rules and attributes are said above: with those of A on both sides the rest is left.
        if let Some([a, b]) = base.and_then(|base| self.elsewhere(base)) {
            compare(&mut Vec::new(), Some(&a), Some(&b), &mut all);
        }
        all
    }

    /// Both scenarios with the rules and attributes of A.
    fn elsewhere(&self, base: &Scenario) -> Option<[Value; 2]> {
        let mut alike = self.clone();
        alike.policies[1] = self.policies[0].clone();
        let json = |side| Some(alike.scenario(base, side).ok()?.to_value());
        Some([json(Side::A)?, json(Side::B)?])
    }

    /// The scenario of one side with its last rules from the start.
    pub fn settled(&self, base: &Scenario, side: Side) -> Option<Scenario> {
        let mut config = self.clone();
        for policy in &mut config.policies {
            *policy =
                Policy { start: policy.last().clone(), sysfs: policy.sysfs.clone(), changes: Vec::new() };
        }
        config.scenario(base, side).ok()
    }

    /// A's scenario, as [`Config::settled`] gives it, with this one difference as B has it; `None` where A can have no
    /// such thing.
    pub fn with_one(&self, base: &Scenario, difference: &Difference) -> Option<Scenario> {
        let mut config = self.clone();
        let [a, b] = &mut config.policies;
        match &difference.place {
            Place::Knob => {
                let mut rules = a.last().clone();
                rules.set_knob(&difference.name, &difference.values[1]);
                a.restart(rules);
            }
            Place::Queue => a.sysfs = b.sysfs.clone(),
            Place::Scenario(way) => {
                let [_, b] = self.elsewhere(base)?;
                let mut own = self.settled(base, Side::A)?.to_value();
                set(&mut own, way, at(&b, way).cloned())?;
                return Scenario::from_value(own).ok();
            }
        }
        config.settled(base, Side::A)
    }
}

const AS_USUAL: &str = "as usual";

/// Adds the leaves of two values that are not equal.
fn compare(way: &mut Vec<String>, a: Option<&Value>, b: Option<&Value>, out: &mut Vec<Difference>) {
    let mut below = |key: String, a: Option<&Value>, b: Option<&Value>| {
        way.push(key);
        compare(way, a, b, out);
        way.pop();
    };
    match (a, b) {
        (a, b) if a == b => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                below(key.clone(), a.get(key), b.get(key));
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for i in 0..a.len().max(b.len()).min(ELEMENTS_MAX) {
                below(i.to_string(), a.get(i), b.get(i));
            }
        }
        _ if way == &["title"] || out.len() >= DIFFERENCES_MAX => {}
        (a, b) => {
            let text = |v: Option<&Value>| match v {
                None => String::from(AS_USUAL),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            out.push(Difference {
                place: Place::Scenario(way.clone()),
                name: place_in_words(way),
                help: "",
                values: [text(a), text(b)],
            });
        }
    }
}

/// What stands at the end of a way.
fn at<'a>(value: &'a Value, way: &[String]) -> Option<&'a Value> {
    way.iter().try_fold(value, |value, key| match value {
        Value::Object(map) => map.get(key),
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Puts a value, or nothing, at the end of a way; `None` if there is no such way.
fn set(value: &mut Value, way: &[String], to: Option<Value>) -> Option<()> {
    let (last, way) = way.split_last()?;
    let inner = way.iter().try_fold(value, |value, key| match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    })?;
    match (inner, to) {
        (Value::Object(map), Some(to)) => _ = map.insert(last.clone(), to),
        (Value::Object(map), None) => _ = map.remove(last),
        (Value::Array(list), to) => {
            // What one list has more stands at its end.
            let index = last.parse::<usize>().ok()?;
            list.truncate(if to.is_some() { list.len() } else { index });
            match (list.get_mut(index), to) {
                (Some(old), Some(new)) => *old = new,
                (None, Some(new)) => list.push(new),
                (_, None) => {}
            }
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Rules;
    use crate::preset;

    #[test]
    fn what_differs_is_named_wherever_the_scenarios_say_it() {
        for (name, place, a, b) in [
            ("seed-003", "path", "legacy", "as usual"),
            ("poll-or-interrupt", "hipri", "false", "true"),
            ("dsync-journal", "queue", "", "bfq"),
        ] {
            let preset = preset::find(name).expect("the preset");
            let all = preset.config().differences(Some(&preset.base));
            let found = all.iter().find(|d| d.name.ends_with(place));
            let found = found.unwrap_or_else(|| panic!("{name}: {all:?}"));
            assert!(found.values[0].contains(a) && found.values[1].contains(b), "{found:?}");
        }
        for preset in preset::all() {
            let mut config = preset.config();
            let same = config.differences(Some(&preset.base)).is_empty();
            let scenario = |side| config.scenario(&preset.base, side).expect(preset.name);
            let (a, b) = (scenario(Side::A), scenario(Side::B));
            let alike = Scenario { title: b.title.clone(), ..a } == b;
            assert!(!same || alike, "{}: something differs and nothing is said", preset.name);
            config.policies[1] = config.policies[0].clone();
            assert!(preset.second.is_some() || config.differences(Some(&preset.base)).is_empty());
        }
    }

    #[test]
    fn a_with_all_differences_one_after_the_other_is_b() {
        for preset in preset::all() {
            let config = preset.config();
            let all = config.differences(Some(&preset.base));
            let b = config.settled(&preset.base, Side::B).expect("it builds");
            let mut own = config.clone();
            let mut scenario = config.settled(&preset.base, Side::A).expect("it builds");
            for difference in &all {
                if let Place::Scenario(way) = &difference.place {
                    let mut json = scenario.to_value();
                    let [_, other] = config.elsewhere(&preset.base).expect("it builds");
                    set(&mut json, way, at(&other, way).cloned()).expect("there is such a place");
                    scenario = Scenario::from_value(json).expect("a scenario");
                } else {
                    scenario = own.with_one(&preset.base, difference).expect("it builds");
                    if difference.place == Place::Queue {
                        own.policies[0].sysfs = own.policies[1].sysfs.clone();
                    } else {
                        own.policies[0].start.set_knob(&difference.name, &difference.values[1]);
                    }
                }
            }
            assert_eq!(scenario.knobs(), b.knobs(), "{}", preset.name);
            let rest = |s: &Scenario| Scenario {
                title: String::new(),
                kernel: String::new(),
                set: Default::default(),
                ..s.clone()
            };
            assert_eq!(rest(&scenario), rest(&b), "{}", preset.name);
        }
    }

    #[test]
    fn rules_that_came_in_the_course_of_the_run_count() {
        let preset = preset::find("seed-000").expect("the preset");
        let mut config = preset.config();
        config.policies[1] = config.policies[0].clone();
        assert!(config.differences(Some(&preset.base)).is_empty());
        let mut rules: Rules = config.policies[1].start.clone();
        rules.set_knob("plug_max", "3");
        config.policies[1].change(500, rules);
        let all = config.differences(Some(&preset.base));
        let [only] = &all[..] else { panic!("{all:?}") };
        assert_eq!((only.name.as_str(), only.values[1].as_str()), ("plug_max", "3"));
        let tried = config.with_one(&preset.base, only).expect("it builds");
        assert_eq!(tried.knobs().expect("knobs").plug_max, 3);
    }
}
