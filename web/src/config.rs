//! What the user chose, as one plain value: everything that the URL keeps and a run is built from. No browser here.

use crate::sysfs::Sysfs;
use mqscope_core::check::Invariant;
use mqscope_core::device;
use mqscope_core::kernel::{self, KnobInfo, Knobs};
use mqscope_core::scenario::{DeviceConfig, Scenario, ScenarioError};
use mqscope_core::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest job text that is read, bytes.
pub const JOB_MAX: usize = 64 * 1024;
/// Most policy changes kept in the course of one run.
pub const CHANGES_MAX: usize = 16;
/// Slowest and fastest playing speed, simulated ns per second.
pub const SPEED_RANGE: (f64, f64) = (crate::player::SPEED_MIN, crate::player::SPEED_MAX);

/// One of the two policies that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first policy.
    #[default]
    A,
    /// The second policy, on the same arrivals.
    B,
}

impl Side {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// `A` or `B`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// A kernel row and the knobs that differ from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Name of a row of [`kernel::ROWS`].
    pub kernel: String,
    /// Knobs overridden by name.
    pub set: BTreeMap<String, String>,
}

impl Rules {
    /// These rules with those of `other` that can change in the course of a run; `None` if that changes nothing.
    pub fn under_way(&self, other: &Self) -> Option<Knobs> {
        let (own, other) = (self.knobs(), other.knobs());
        let mut knobs = own.clone();
        for knob in other.list() {
            if changes_under_way(&knob) {
                let _ = knobs.set(knob.name, &knob.value);
            }
        }
        (knobs != own).then_some(knobs)
    }

    /// A row with overrides.
    pub fn new(kernel: &str, set: &[(&str, &str)]) -> Self {
        let set = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Self { kernel: kernel.into(), set }
    }

    /// The knobs of the row with the overrides applied; the newest row where the name is not known.
    pub fn knobs(&self) -> Knobs {
        let row = kernel::row(&self.kernel).unwrap_or(&kernel::ROWS[kernel::ROWS.len() - 1]);
        let mut knobs = row.knobs.clone();
        for (name, value) in &self.set {
            // Values that do not fit were refused when they were read; an old link must not stop the page.
            let _ = knobs.set(name, value);
        }
        knobs
    }

    /// Sets one knob; a value equal to the row's own is no override.
    pub fn set_knob(&mut self, name: &str, value: &str) {
        let own = kernel::row(&self.kernel)
            .and_then(|row| row.knobs.list().into_iter().find(|k| k.name == name))
            .map(|k| k.value);
        match own.as_deref() == Some(value) {
            true => self.set.remove(name),
            false => self.set.insert(name.into(), value.into()),
        };
    }

    /// For people: `4.14`, or `4.14 with dispatch mode one-by-one`.
    pub fn label(&self) -> String {
        let mut parts = self.set.iter().map(|(k, v)| format!("{} {v}", k.replace('_', " ")));
        match (parts.next(), self.set.len()) {
            (None, _) => format!("kernel {}", self.kernel),
            (Some(first), 1) => format!("kernel {}, {first}", self.kernel),
            (Some(first), n) => format!("kernel {}, {first} and {} more", self.kernel, n - 1),
        }
    }
}

/// Whether a knob can change in the course of a run: what is read when the disk is set up stays.
pub fn changes_under_way(knob: &KnobInfo) -> bool {
    !knob.help.contains("the disk is set up")
}

/// New rules from one moment of the run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The moment, ns.
    pub at_ns: u64,
    /// The rules from then on.
    pub rules: Rules,
}

/// Rules at the start and how they change in the course of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Rules at the start.
    pub start: Rules,
    /// Scheduler and attributes of the disks, for the whole run.
    pub sysfs: Sysfs,
    /// Changes in order of time, at most [`CHANGES_MAX`].
    pub changes: Vec<Change>,
}

impl Policy {
    /// The rules in force at a moment.
    pub fn at(&self, now_ns: u64) -> &Rules {
        self.changes.iter().rev().find(|c| c.at_ns <= now_ns).map_or(&self.start, |c| &c.rules)
    }

    /// The rules that hold at the end of the run.
    pub fn last(&self) -> &Rules {
        self.changes.last().map_or(&self.start, |c| &c.rules)
    }

    /// New rules from `now_ns` on; what was planned for later is forgotten, as in any fork of history.
    pub fn change(&mut self, now_ns: u64, rules: Rules) {
        self.changes.retain(|c| c.at_ns < now_ns);
        self.changes.truncate(CHANGES_MAX - 1);
        self.changes.push(Change { at_ns: now_ns, rules });
    }

    /// New rules from the start.
    pub fn restart(&mut self, rules: Rules) {
        self.start = rules;
        self.changes.clear();
    }
}

/// Gives disks that became others the names that the kernel gives to such: null_blk's disk is no `sda`.
fn name_disks(devices: &mut [DeviceConfig]) {
    for at in 0..devices.len() {
        let Some(preset) = device::preset(&devices[at].model) else { continue };
        if preset.fits(&devices[at].name) {
            continue;
        }
        let free = |name: &String| devices.iter().all(|d| d.name != *name);
        let Some(name) = (0..=devices.len()).map(|n| preset.disk_name(n)).find(free) else { continue };
        let old = std::mem::replace(&mut devices[at].name, name.clone());
        for member in devices.iter_mut().flat_map(|d| &mut d.members).filter(|m| **m == old) {
            member.clone_from(&name);
        }
    }
}

/// Gives a run another length, ns. A shorter one keeps the greater part of it for measuring.
pub fn shorten(scenario: &mut Scenario, duration_ns: u64) {
    let ramp_max_ns = duration_ns / 5;
    scenario.duration_ns = duration_ns;
    scenario.warmup_ns = scenario.warmup_ns.min(ramp_max_ns);
    if let Workload::Jobs(jobs) = &mut scenario.workload {
        for job in jobs {
            job.ramp_time_ns = job.ramp_time_ns.min(ramp_max_ns);
        }
    }
}

/// Everything a pair of runs is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the preset that gives what is not said below.
    pub preset: String,
    /// The user's own fio job; `None`: the preset's.
    pub job: Option<String>,
    /// Values for `${NAME}` in the job.
    pub answers: BTreeMap<String, String>,
    /// Machine preset.
    pub machine: Option<String>,
    /// Device preset of all disks.
    pub device: Option<String>,
    /// Queue depth of all disks.
    pub depth: Option<u32>,
    /// Seed of all random draws.
    pub seed: Option<u64>,
    /// Simulated length, ns.
    pub duration_ns: Option<u64>,
    /// Invariants that both runs break once, on purpose.
    pub breaks: Vec<Invariant>,
    /// The two policies.
    pub policies: [Policy; 2],
}

impl Config {
    /// The policy of one side.
    pub fn policy(&self, side: Side) -> &Policy {
        &self.policies[side.index()]
    }

    /// What a side is called: as its preset calls it, or by what it differs in.
    pub fn label(&self, side: Side) -> String {
        let Policy { start, sysfs, .. } = self.policy(side);
        let preset = crate::preset::find(&self.preset);
        let own =
            |p: &&crate::preset::Preset| p.sides[side.index()] == *start && p.sysfs[side.index()] == *sysfs;
        // Where the sides differ in more than rules, that is a part of the name; with the user's own job they do not.
        let two = preset.filter(|p| p.second.is_some());
        let label = |p: &'static crate::preset::Preset| {
            Some(p.labels[side.index()]).filter(|label| !label.is_empty())
        };
        let named = preset.filter(own).filter(|_| two.is_none() || self.job.is_none()).and_then(label);
        let kind = two.filter(|_| self.job.is_none()).and_then(label);
        let mut name = match (named, kind) {
            (Some(label), _) => label.to_string(),
            (None, Some(kind)) => format!("{kind}, {}", start.label()),
            (None, None) => start.label(),
        };
        if let Some(scheduler) = sysfs.scheduler.as_ref().filter(|_| named.is_none()) {
            name += &format!(", {scheduler}");
        }
        if self.policy(side).changes.is_empty() { name } else { format!("{name}, then changed") }
    }

    /// The scenario of one side at its start. `base` has machine, disks and workload already.
    pub fn scenario(&self, base: &Scenario, side: Side) -> Result<Scenario, ScenarioError> {
        // A preset's second side may have a scenario of its own, as long as its job is not the user's.
        let second = match (side, &self.job) {
            (Side::B, None) => crate::preset::find(&self.preset).and_then(|p| p.second.as_ref()),
            _ => None,
        };
        let mut scenario = second.unwrap_or(base).clone();
        let Policy { start: rules, sysfs, .. } = self.policy(side);
        scenario.kernel.clone_from(&rules.kernel);
        scenario.set.clone_from(&rules.set);
        for device in &mut scenario.devices {
            // A stacked disk has no device of its own: its members change.
            if let Some(model) = self.device.as_ref().filter(|_| device.members.is_empty()) {
                device.model.clone_from(model);
            }
            if self.depth.is_some() {
                device.queue_depth = self.depth;
            }
            sysfs.apply(device);
        }
        if self.device.is_some() {
            name_disks(&mut scenario.devices);
        }
        if let Some(machine) = &self.machine {
            scenario.machine.clone_from(machine);
        }
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        if let Some(duration) = self.duration_ns {
            shorten(&mut scenario, duration);
        }
        for invariant in &self.breaks {
            if !scenario.break_invariants.contains(invariant) {
                scenario.break_invariants.push(*invariant);
            }
        }
        scenario.knobs()?;
        Ok(scenario)
    }
}

/// Most bookmarks.
pub const BOOKMARKS_MAX: usize = 12;
/// Longest note of a bookmark, characters.
pub const NOTE_MAX: usize = 120;

/// A moment to come back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bookmark {
    /// When, ns.
    pub at_ns: u64,
    /// What there is to see.
    pub note: String,
}

/// Keeps bookmarks in order of time, one for a moment, and not too many; false if there is no room.
pub fn add_bookmark(list: &mut Vec<Bookmark>, at_ns: u64, note: &str) -> bool {
    // A note is not lost by keeping the moment once more without one.
    if note.trim().is_empty() && list.iter().any(|b| b.at_ns == at_ns) {
        return true;
    }
    list.retain(|b| b.at_ns != at_ns);
    if list.len() >= BOOKMARKS_MAX {
        return false;
    }
    let note = note.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(NOTE_MAX).collect();
    let place = list.partition_point(|b| b.at_ns < at_ns);
    list.insert(place, Bookmark { at_ns, note });
    true
}

/// How the page looks at the run. Kept in the URL as well, but no run depends on it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Policy on the stage.
    pub side: Side,
    /// Playhead, ns.
    pub t_ns: u64,
    /// Serial number of the event that a step has come to; other events of the same nanosecond may follow.
    pub event: Option<u64>,
    /// Simulated ns per second on the wall.
    pub speed: f64,
    /// Events a second, if it plays by event and not by time.
    pub event_rate: Option<f64>,
    /// Whether it plays.
    pub playing: bool,
    /// Selected request.
    pub selected: Option<u32>,
    /// Whether both policies are on the stage.
    pub both: bool,
    /// Width of the window around the playhead in the panel of CPUs, ns; `None`: the last part of the run.
    pub zoom_ns: Option<u64>,
    /// Moments to come back to, in order of time.
    pub bookmarks: Vec<Bookmark>,
    /// Colours.
    pub theme: Theme,
}

/// Which colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system wishes.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Word for URLs and `data-theme`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Auto, Self::Light, Self::Dark].into_iter().find(|t| t.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_set_to_its_rows_value_is_no_override() {
        let mut rules = Rules::new("4.14", &[]);
        rules.set_knob("plug_max", "32");
        assert_eq!(rules.knobs().plug_max, 32);
        assert_eq!(rules.set.len(), 1);
        rules.set_knob("plug_max", "16");
        assert!(rules.set.is_empty());
    }

    #[test]
    fn rules_that_are_read_at_set_up_do_not_change_under_way() {
        let rules = |set: &[(&str, &str)]| Rules::new("5.4", set);
        let own = rules(&[]);
        let knobs = own.under_way(&rules(&[("plug_max", "8")])).expect("it can change");
        assert_eq!(knobs.plug_max, 8);
        let fixed = own.knobs().list().into_iter().find(|k| k.help.contains("the disk is set up"));
        let fixed = fixed.expect("there is one");
        let other = if fixed.value == "true" { "false" } else { "true" };
        assert_eq!(own.under_way(&rules(&[(fixed.name, other)])), None, "{}", fixed.name);
        assert_eq!(own.under_way(&own), None);
    }

    #[test]
    fn a_swapped_disk_is_called_as_the_kernel_calls_such_disks() {
        let named = |preset: &str, model: &str| -> Vec<String> {
            let preset = crate::preset::find(preset).expect("the preset");
            let config = Config { device: Some(model.into()), depth: None, ..preset.config() };
            let scenario = config.scenario(&preset.base, Side::A).expect("it builds");
            let sim = mqscope_core::Sim::new(&scenario).expect("it runs");
            sim.topology().queues.iter().map(|q| q.name.clone()).collect()
        };
        assert_eq!(named("plug-merge", "hdd-1t-desktop"), ["sda"]);
        assert_eq!(named("plug-merge", "p4800x-375"), ["nvme0n1"]);
        let three = named("seed-000", "null");
        assert_eq!(three[..2], ["nullb0", "nullb1"], "{three:?}");
        // What fits stays, and a stacked disk stands on the disk that its member became.
        assert_eq!(named("dsync-journal", "hdd-1t-nearline"), ["sda"]);
        let stacked = named("seed-003", "null");
        assert!(stacked.contains(&"nullb0".into()) && stacked.contains(&"dm-0".into()), "{stacked:?}");
        // A preset's own disk may stand for one by another name: it is what was published.
        let usual = crate::preset::find("iostat-busy-disk").expect("the preset");
        let scenario = usual.config().scenario(&usual.base, Side::A).expect("it builds");
        assert_eq!(scenario.devices[0].name, usual.base.devices[0].name);
        let hba = device::preset("hdd-1t-desktop").expect("there");
        assert_eq!([0, 25, 26, 51].map(|n| hba.disk_name(n)), ["sda", "sdz", "sdaa", "sdaz"]);
    }

    #[test]
    fn sides_that_differ_in_more_than_rules_keep_that_in_their_names() {
        let preset = crate::preset::find("poll-or-interrupt").expect("the preset");
        let mut config = preset.config();
        let labels = Side::BOTH.map(|side| config.label(side));
        config.policies[0].start = Rules::new("4.4", &[]);
        config.policies[1].start = Rules::new("6.1", &[("plug_max", "3")]);
        for (side, own) in Side::BOTH.into_iter().zip(&labels) {
            assert!(config.label(side).starts_with(own.as_str()), "{}", config.label(side));
        }
        assert!(config.label(Side::A).ends_with("kernel 4.4"), "{}", config.label(Side::A));
        // The user's own job is the same on both sides.
        let own = Config { job: Some(String::from("[a]")), ..preset.config() };
        assert!(!own.label(Side::B).contains(&labels[1]), "{}", own.label(Side::B));
    }

    #[test]
    fn a_run_may_be_shorter_than_its_preset_s_warm_up() {
        let preset = crate::preset::first();
        let config = Config { duration_ns: Some(1_000_000), ..preset.config() };
        let scenario = config.scenario(&preset.base, Side::A).expect("it builds");
        assert!(preset.base.warmup_ns > scenario.duration_ns && scenario.warmup_ns < scenario.duration_ns);
        mqscope_core::Sim::new(&scenario).expect("it runs");
    }

    #[test]
    fn a_change_forgets_what_was_planned_for_later() {
        let mut policy = Policy { start: Rules::new("4.14", &[]), ..Policy::default() };
        for (at, kernel) in [(10, "4.15"), (20, "4.19"), (15, "6.1")] {
            policy.change(at, Rules::new(kernel, &[]));
        }
        let at = |t| policy.at(t).kernel.as_str();
        assert_eq!([at(0), at(10), at(14), at(15), at(99)], ["4.14", "4.15", "4.15", "6.1", "6.1"]);
        for at in 0..200 {
            policy.change(100 + at, Rules::new("4.14", &[]));
        }
        assert_eq!(policy.changes.len(), CHANGES_MAX);
        assert_eq!(policy.changes.last().unwrap().at_ns, 299);
    }
}
