//! What the page can open with: the core's cases, each with its job as text and a moment worth looking at.
//! No browser here.

use crate::config::{Config, Policy, Rules, Side, Theme, View};
use crate::job;
use crate::sysfs::Sysfs;
use mqscope_core::cases::{self, Case, Metric};
use mqscope_core::kernel;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::Workload;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// A curated starting point.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Name for URLs.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What to look at, one paragraph.
    pub caption: &'static str,
    /// Where numbers were published; may be empty.
    pub source: &'static str,
    /// What the publication leaves open and is assumed here; may be empty.
    pub assumed: &'static str,
    /// The case itself.
    pub case: &'static Case,
    /// fio job or batch script.
    pub job: String,
    /// The first side's scenario.
    pub base: Scenario,
    /// The second side's scenario, where it differs in more than rules and sysfs: other disks, another load.
    pub second: Option<Scenario>,
    /// Rules of each side.
    pub sides: [Rules; 2],
    /// What each side's disks have otherwise than `base`.
    pub sysfs: [Sysfs; 2],
    /// What the sides are called; empty where their rules say it best.
    pub labels: [&'static str; 2],
}

/// One for each case, made when it is first asked for: lists need no more than the cases.
static PRESETS: LazyLock<Vec<OnceLock<Preset>>> =
    LazyLock::new(|| vec![OnceLock::new(); cases::cases().len()]);

fn nth(index: usize) -> &'static Preset {
    PRESETS[index].get_or_init(|| Preset::of(&cases::cases()[index]))
}

/// All presets.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = &'static Preset> {
    (0..PRESETS.len()).map(nth)
}

/// What the page opens with: the first case.
pub fn first() -> &'static Preset {
    nth(0)
}

/// The preset of this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    cases::cases().iter().position(|case| case.name == name).map(nth)
}

impl Preset {
    fn of(case: &'static Case) -> Self {
        let opened = case.sides();
        let labels = [0, 1].map(|i| opened.get(i).map_or("", |(label, _)| *label));
        let mut scenarios = opened.into_iter().map(|(_, scenario)| scenario);
        let base = scenarios.next().unwrap_or_else(|| panic!("case {} has no side", case.name));
        let rules = |s: &Scenario| Rules { kernel: s.kernel.clone(), set: s.set.clone() };
        // A case with one side is compared with the oldest kernel that has schedulers, or the newest if that is its own.
        let other = || {
            let oldest = kernel::ROWS.iter().find(|row| row.knobs.mq_elevators).unwrap_or(&kernel::ROWS[0]);
            let row = if base.kernel == oldest.name { &kernel::ROWS[kernel::ROWS.len() - 1] } else { oldest };
            Rules::new(row.name, &[])
        };
        let second = scenarios.next();
        let sides = [rules(&base), second.as_ref().map_or_else(other, rules)];
        // All disks of a case are alike in what sysfs sets.
        let disks = second.as_ref().and_then(|s| Some((base.devices.first()?, s.devices.first()?)));
        let sysfs = [Sysfs::default(), disks.map(|(a, b)| Sysfs::between(a, b)).unwrap_or_default()];
        let second = second.filter(|own| {
            let mut built = Scenario { kernel: own.kernel.clone(), set: own.set.clone(), ..base.clone() };
            built.title.clone_from(&own.title);
            built.devices.iter_mut().for_each(|disk| sysfs[1].apply(disk));
            built != *own
        });
        Self {
            name: &case.name,
            title: &case.title,
            caption: &case.about,
            source: &case.source,
            assumed: &case.assumed,
            case,
            job: job::print(&base.workload, &base.devices),
            base,
            second,
            sides,
            sysfs,
            labels,
        }
    }

    /// Published value of a side.
    pub fn published(&self, metric: &Metric, side: Side) -> Option<f64> {
        self.case.published(metric, *self.case.opened().get(side.index())?)
    }

    /// The choices that make this preset and nothing else.
    pub fn config(&self) -> Config {
        Config {
            preset: self.name.into(),
            job: None,
            answers: BTreeMap::new(),
            machine: None,
            device: None,
            depth: None,
            seed: None,
            duration_ns: None,
            breaks: Vec::new(),
            policies: [0, 1].map(|i| Policy {
                start: self.sides[i].clone(),
                sysfs: self.sysfs[i].clone(),
                changes: Vec::new(),
            }),
        }
    }

    /// How the page looks at it first: past the crowd of the start, slow enough to follow one request.
    pub fn view(&self) -> View {
        let speed = match self.base.workload {
            Workload::Jobs(_) | Workload::Dbench(_) => 10_000.0,
            Workload::Batch(_) => 1_000.0,
        };
        View {
            side: Side::A,
            t_ns: self.base.warmup_ns / 10,
            event: None,
            speed,
            playing: true,
            selected: None,
            event_rate: None,
            both: false,
            zoom_ns: None,
            bookmarks: Vec::new(),
            theme: Theme::Auto,
        }
    }

    /// This preset with other disks and another workload.
    pub fn scenario(&self, disks: Vec<DeviceConfig>, workload: Workload) -> Scenario {
        Scenario { devices: disks, workload, ..self.base.clone() }
    }

    /// The device preset of its disks.
    pub fn model(&self) -> &str {
        let own = self.base.devices.iter().find(|d| d.members.is_empty());
        own.map_or("", |d| d.model.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_builds_both_sides_and_is_found_by_its_name() {
        for preset in all() {
            for side in Side::BOTH {
                let scenario = preset.config().scenario(&preset.base, side).expect(preset.name);
                mqscope_core::Sim::new(&scenario).expect(preset.name);
            }
            let side = |i: usize| (&preset.sides[i], &preset.sysfs[i]);
            assert!(preset.second.is_some() || side(0) != side(1), "{}: two equal sides", preset.name);
            assert!(std::ptr::eq(find(preset.name).expect("by name"), preset));
        }
    }

    #[test]
    fn each_side_of_a_preset_is_the_scenario_of_its_case() {
        for case in cases::cases() {
            let preset = find(&case.name).expect("by name");
            for (side, (label, own)) in Side::BOTH.into_iter().zip(case.sides()) {
                let mut built = preset.config().scenario(&preset.base, side).expect(label);
                built.title.clone_from(&own.title);
                assert_eq!(built, own, "{}: {label}", case.name);
            }
        }
    }

    #[test]
    fn a_preset_s_text_reads_as_the_preset() {
        for preset in all() {
            let reading = job::read(&preset.job, &BTreeMap::new(), &preset.base.machine, preset);
            assert_eq!(reading.findings, Vec::new(), "{}:\n{}", preset.name, preset.job);
            assert_eq!(reading.base.as_ref(), Some(&preset.base), "{}", preset.name);

            // One more blank makes it the user's own text, which must mean the same.
            let own = format!("{}\n", preset.job);
            let reading = job::read(&own, &BTreeMap::new(), &preset.base.machine, preset);
            let mut expected = preset.base.clone();
            if let Workload::Jobs(jobs) = &mut expected.workload {
                for job in jobs {
                    job.runtime_ns = job.runtime_ns.or(job.time_based.then_some(60_000_000_000));
                    // 0 stands for the depth in both.
                    for limit in [&mut job.iodepth_low, &mut job.iodepth_batch_complete_max] {
                        *limit = if *limit == 0 { job.iodepth } else { *limit };
                    }
                }
            }
            assert_eq!(reading.base, Some(expected), "{}:\n{own}", preset.name);
        }
    }
}
