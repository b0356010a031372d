//! Options that override what a file says.

use super::load::Hints;
use anyhow::{Result, bail};
use mqscope_core::host::MACHINES;
use mqscope_core::kernel::ROWS;
use mqscope_core::scenario::{DEVICES_MAX, DeviceConfig, Scenario, WriteCache};
use mqscope_core::workload::Workload;
use mqscope_core::{device::PRESETS, kernel};
use std::fmt::Write as _;

/// The word that asks for a list of what fits.
const HELP: &str = "help";

#[derive(clap::Args)]
pub struct Overrides {
    /// Kernel row (4.14, 6.1, ...).
    #[arg(long)]
    kernel: Option<String>,
    /// Device model of all disks; the beginning of its name is enough if only one fits.
    #[arg(long, value_name = "MODEL")]
    device: Option<String>,
    /// Number of disks; jobs that name fewer use them in turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=DEVICES_MAX as i64))]
    devices: Option<u16>,
    /// Scheduler of all disks; default is what the kernel chooses by itself.
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Override a knob of the kernel row (repeatable).
    #[arg(long, value_name = "KNOB=VALUE")]
    set: Vec<String>,
    /// Seed of all random draws.
    #[arg(long)]
    seed: Option<u64>,
    /// Simulated time at most (ns, us, ms or s: 50ms).
    #[arg(long, value_name = "TIME", value_parser = time)]
    duration: Option<u64>,
    /// Measure from here on.
    #[arg(long, value_name = "TIME", value_parser = time)]
    warmup: Option<u64>,
    /// Machine.
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Tags of each hctx.
    #[arg(long, value_name = "N")]
    nr_requests: Option<u32>,
    /// Commands each LUN takes at once.
    #[arg(long, value_name = "N")]
    queue_depth: Option<u32>,
    /// Hardware contexts of each disk.
    #[arg(long, value_name = "N")]
    nr_hw_queues: Option<u16>,
    /// sysfs nomerges.
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u8).range(0..=2))]
    nomerges: Option<u8>,
    /// sysfs rq_affinity.
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u8).range(0..=2))]
    rq_affinity: Option<u8>,
    /// sysfs max_sectors_kb.
    #[arg(long, value_name = "KIB")]
    max_sectors_kb: Option<u32>,
    /// Whether the disks have a volatile write cache (sysfs write_cache: write back).
    #[arg(long, value_name = "true|false")]
    write_cache: Option<bool>,
    /// sysfs fua, of disks with such a cache.
    #[arg(long, value_name = "true|false")]
    fua: Option<bool>,
    /// Service time of null devices.
    #[arg(long, value_name = "TIME", value_parser = time)]
    completion: Option<u64>,
    /// Value of a variable of the job file (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,
}

impl Overrides {
    /// What a job's reader must know before it reads.
    pub fn hints(&self) -> Result<Hints> {
        let mut hints = Hints::default();
        if let Some(name) = &self.machine {
            hints.machine = Some(by_prefix("machine", name, MACHINES.iter().map(|m| m.name))?);
        }
        if let Some(name) = &self.device {
            hints.model = Some(by_prefix("device", name, PRESETS.iter().map(|p| p.name))?);
        }
        for pair in &self.var {
            let Some((name, value)) = pair.split_once('=') else { bail!("--var {pair}: write NAME=VALUE") };
            hints.variables.insert(name.into(), value.into());
        }
        Ok(hints)
    }

    /// A list of names or knobs, if an option asks for one.
    pub fn help(&self) -> Result<Option<String>> {
        let asks = |option: &Option<String>| option.as_deref() == Some(HELP);
        let mut list = String::new();
        if asks(&self.machine) {
            MACHINES.iter().for_each(|m| _ = writeln!(list, "{:<20} {}", m.name, m.label));
        }
        if asks(&self.device) {
            PRESETS.iter().for_each(|p| _ = writeln!(list, "{:<20} {}", p.name, p.label));
        }
        if asks(&self.kernel) {
            ROWS.iter().for_each(|r| _ = writeln!(list, "{:<20} {}", r.name, r.covers));
        }
        if self.set.iter().any(|s| s == HELP) {
            let name = self.kernel.as_deref().filter(|k| *k != HELP).unwrap_or(ROWS[0].name);
            let Some(row) = kernel::row(name) else { bail!("unknown kernel '{name}'; known: {}", kernels()) };
            for knob in row.knobs.list() {
                let choices = if knob.choices.is_empty() { knob.kind.into() } else { knob.choices.join("|") };
                _ = writeln!(list, "{}={} ({choices})\n    {}", knob.name, knob.value, knob.help);
            }
        }
        Ok((!list.is_empty()).then_some(list))
    }

    /// Changes the scenario.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<()> {
        if let Some(kernel) = &self.kernel {
            scenario.kernel.clone_from(kernel);
        }
        if let Some(machine) = &self.machine {
            scenario.machine = by_prefix("machine", machine, MACHINES.iter().map(|m| m.name))?;
        }
        for pair in &self.set {
            let Some((name, value)) = pair.split_once('=') else {
                bail!(
                    "--set {pair}: write KNOB=VALUE, for example --set plug_max=32; --set help lists the knobs"
                )
            };
            scenario.set.insert(name.trim().into(), value.trim().into());
        }
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        if let Some(duration) = self.duration {
            // A warm-up that was not asked for keeps its share.
            let share = scenario.warmup_ns as f64 / scenario.duration_ns.max(1) as f64;
            scenario.warmup_ns = (duration as f64 * share) as u64;
            scenario.duration_ns = duration;
        }
        scenario.warmup_ns = self.warmup.unwrap_or(scenario.warmup_ns);
        self.disks(scenario)
    }

    fn disks(&self, scenario: &mut Scenario) -> Result<()> {
        if let Some(count) = self.devices.map(usize::from) {
            let Some(first) = scenario.devices.first().cloned() else { bail!("the scenario has no disk") };
            for index in scenario.devices.len()..count {
                let name = next_name(&scenario.devices[index - 1].name);
                let dev = first.dev.map(|(major, minor)| (major, minor + index as u32));
                scenario.devices.push(DeviceConfig { name, dev, ..first.clone() });
            }
            scenario.devices.truncate(count);
        }
        let model = match &self.device {
            Some(name) => Some(by_prefix("device", name, PRESETS.iter().map(|p| p.name))?),
            None => None,
        };
        if self.scheduler.is_some()
            && let Workload::Jobs(jobs) = &mut scenario.workload
        {
            jobs.iter_mut().for_each(|job| job.ioscheduler = None);
        }
        for disk in &mut scenario.devices {
            if let Some(model) = &model {
                disk.model.clone_from(model);
            }
            if let Some(scheduler) = &self.scheduler {
                disk.scheduler.clone_from(scheduler);
            }
            disk.nr_requests = self.nr_requests.or(disk.nr_requests);
            disk.queue_depth = self.queue_depth.or(disk.queue_depth);
            disk.nr_hw_queues = self.nr_hw_queues.or(disk.nr_hw_queues);
            disk.nomerges = self.nomerges.unwrap_or(disk.nomerges);
            disk.rq_affinity = self.rq_affinity.unwrap_or(disk.rq_affinity);
            disk.max_sectors_kb = self.max_sectors_kb.or(disk.max_sectors_kb);
            if let Some(cached) = self.write_cache {
                disk.write_cache =
                    Some(if cached { WriteCache::WriteBack } else { WriteCache::WriteThrough });
            }
            disk.fua = self.fua.or(disk.fua);
            disk.completion_ns = self.completion.or(disk.completion_ns);
        }
        Ok(())
    }
}

fn kernels() -> String {
    ROWS.iter().map(|r| r.name).collect::<Vec<_>>().join(", ")
}

/// The name itself, or the only one that starts with it.
fn by_prefix(what: &str, wanted: &str, names: impl Iterator<Item = &'static str> + Clone) -> Result<String> {
    let fits: Vec<&str> = names.clone().filter(|n| n.starts_with(wanted)).collect();
    match fits.as_slice() {
        _ if names.clone().any(|n| n == wanted) => Ok(wanted.into()),
        [only] => Ok((*only).into()),
        [] => bail!("unknown {what} '{wanted}'; known: {}", names.collect::<Vec<_>>().join(", ")),
        several => bail!("{what} '{wanted}' fits {}; write more of the name", several.join(", ")),
    }
}

/// `sdb` after `sda`, `nvme1n1` after `nvme0n1`, `nullb1` after `nullb0`.
fn next_name(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("nvme")
        && let Some((number, tail)) = rest.split_once('n')
        && let Ok(number) = number.parse::<u32>()
    {
        return format!("nvme{}n{tail}", number + 1);
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if let Ok(number) = name[stem.len()..].parse::<u32>() {
        return format!("{stem}{}", number + 1);
    }
    match name.chars().last() {
        Some(last @ 'a'..='y') => format!("{}{}", &name[..name.len() - 1], char::from(last as u8 + 1)),
        _ => format!("{name}1"),
    }
}

/// `50ms`, `10us`, `1s`, `1500ns`, `1.5ms`.
pub fn time(text: &str) -> Result<u64, String> {
    let digits = text.trim().find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.trim().split_at(digits);
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(String::from("write a number and ns, us, ms or s, for example 50ms")),
    };
    let number: f64 =
        number.parse().map_err(|_| String::from("write a number and a unit, for example 50ms"))?;
    let ns = (number * scale).round();
    if ns > mqscope_core::scenario::DURATION_MAX_NS as f64 {
        return Err(String::from("at most one hour of simulated time"));
    }
    Ok(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("50ms"), Ok(50_000_000));
        assert_eq!(time("1.5us"), Ok(1_500));
        assert_eq!(time("2 s"), Ok(2_000_000_000));
        for wrong in ["50", "ms", "", "1h", "-1ms", "1e9s", "4000s", "1.2.3ms"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn further_disks_get_the_next_names() {
        let names: Vec<String> =
            ["sda", "nvme0n1", "nullb9", "sdz", "vd"].iter().map(|n| next_name(n)).collect();
        assert_eq!(names, ["sdb", "nvme1n1", "nullb10", "sdz1", "ve"]);
    }

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        let names = ["null", "p3700-800", "p4510-2t"];
        assert_eq!(by_prefix("device", "p45", names.into_iter()).ok().as_deref(), Some("p4510-2t"));
        assert!(by_prefix("device", "p", names.into_iter()).is_err());
        assert!(by_prefix("device", "q", names.into_iter()).is_err());
    }
}
