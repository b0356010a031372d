//! The options that fio knows, and what the simulator makes of each.

use crate::diag::nearest;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It shapes the job.
    Modelled,
    /// It changes nothing at the block layer (reports, buffers' contents, start-up).
    NoEffect,
    /// It would change something, which is not simulated: a warning.
    NotModelled,
    /// Without it the job would be another one: an error.
    Refused,
}

/// What may stand after the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `=0` or `=1`.
    Bool,
    /// The same, or nothing.
    Flag,
    /// Any value, required.
    Value,
    /// Any value, or nothing.
    Optional,
}

/// One option.
#[derive(Debug)]
pub(super) struct FioOption {
    pub(super) name: &'static str,
    alias: &'static str,
    pub(super) class: Class,
    pub(super) form: Form,
    /// ioengines that have it, separated by blanks; all if empty.
    pub(super) engines: &'static str,
    off: &'static str,
    /// For [`Class::NotModelled`] and [`Class::Refused`]: what happens instead.
    pub(super) note: &'static str,
}

impl FioOption {
    /// Whether `value` is the option's way to say that it does nothing.
    pub(super) fn is_off(&self, value: &str) -> bool {
        self.off.split(' ').any(|off| off == value)
    }
}

static OPTIONS: LazyLock<Vec<FioOption>> = LazyLock::new(|| {
    let rows = include_str!("options.tsv").lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| {
        let mut fields = row.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (name, alias) = (next(), next());
        let class = match next() {
            "modelled" => Class::Modelled,
            "no-effect" => Class::NoEffect,
            "not-modelled" => Class::NotModelled,
            "refused" => Class::Refused,
            _ => return None,
        };
        let form = match next() {
            "bool" => Form::Bool,
            "flag" => Form::Flag,
            "optional" => Form::Optional,
            _ => Form::Value,
        };
        Some(FioOption { name, alias, class, form, engines: next(), off: next(), note: next() })
    })
    .collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static FioOption>> = LazyLock::new(|| {
    let named = OPTIONS.iter().flat_map(|option| [(option.name, option), (option.alias, option)]);
    named.filter(|(name, _)| !name.is_empty()).collect()
});

/// The option of this name or alias.
pub(super) fn find(name: &str) -> Option<&'static FioOption> {
    BY_NAME.get(name).copied()
}

/// All names and aliases.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = BY_NAME.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Names that people write for something that is no fio option, and what they want instead.
const ELSEWHERE: [(&str, &str); 12] = [
    (
        "queue_depth",
        "It is a setting of the device (its queue depth), not of fio; for I/Os in flight write iodepth.",
    ),
    ("qd", "For I/Os in flight write iodepth; the device's queue depth is a setting of the device."),
    ("nr_requests", "It is a setting of the request queue (sysfs), not of fio."),
    ("nomerges", "It is a setting of the request queue (sysfs), not of fio."),
    ("rq_affinity", "It is a setting of the request queue (sysfs), not of fio."),
    ("max_sectors_kb", "It is a setting of the request queue (sysfs), not of fio."),
    ("nr_hw_queues", "It is a setting of the device, not of fio."),
    ("scheduler", "Write ioscheduler."),
    ("elevator", "Write ioscheduler."),
    ("threads", "Write numjobs for more processes; thread alone chooses threads instead of processes."),
    ("duration", "Write runtime."),
    ("engine", "Write ioengine."),
];

/// A remedy for an unknown name.
pub(super) fn remedy(unknown: &str) -> String {
    let lower = unknown.to_ascii_lowercase().replace('-', "_");
    if let Some((_, remedy)) = ELSEWHERE.iter().find(|(name, _)| *name == lower) {
        return (*remedy).into();
    }
    match nearest(&lower, names()) {
        Some(name) => format!("Did you mean '{name}'?"),
        None => "fio 3.33 has no such option.".into(),
    }
}
