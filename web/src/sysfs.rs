//! What a user may write to files below `/sys/block/*/queue`: the scheduler and attributes. The kernel freezes the
//! queue for such a change, so here it belongs to the scenario and holds from the start of the run. No browser here.

use mqscope_core::diag::nearest;
use mqscope_core::scenario::DeviceConfig;
use mqscope_core::sched;
use std::collections::BTreeMap;

/// Most attributes that an address may set for one policy.
const ATTRIBUTES_MAX: usize = 32;

/// A file with a number below `queue/` that is no scheduler's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFile {
    /// sysfs name.
    pub name: &'static str,
    /// Smallest and largest value.
    pub range: (u64, u64),
    /// What it does, with its kernel function in brackets.
    pub help: &'static str,
}

/// Those that can be set.
pub const QUEUE_FILES: [QueueFile; 3] = [
    QueueFile {
        name: "nr_requests",
        // The kernel takes less for BLKDEV_MIN_RQ.
        range: (4, 65_536),
        help: "Requests that a queue may hold: sched tags with a scheduler, driver tags with none (queue_requests_store, \
               blk_mq_update_nr_requests).",
    },
    QueueFile {
        name: "nomerges",
        range: (0, 2),
        help: "0: bios merge wherever they fit; 1: only in the plug and with the last one; 2: never \
               (queue_nomerges_store, blk_mq_submit_bio).",
    },
    QueueFile {
        name: "rq_affinity",
        range: (0, 2),
        help: "Where a completion runs. 0: where the interrupt came; 1: on a CPU that shares a cache with the submitter; \
               2: on the submitter's CPU (blk_mq_complete_need_ipi).",
    },
];

/// What was written; everything else is as the scenario has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sysfs {
    /// `queue/scheduler` of all disks.
    pub scheduler: Option<String>,
    /// Numbers by sysfs name, those of `queue/iosched` among them.
    pub values: BTreeMap<String, u64>,
}

impl Sysfs {
    /// What makes `to` of `from`.
    pub fn between(from: &DeviceConfig, to: &DeviceConfig) -> Self {
        let mut values = to.iosched.clone();
        let numbers = |d: &DeviceConfig| {
            [d.nr_requests.map(u64::from), Some(d.nomerges.into()), Some(d.rq_affinity.into())]
        };
        for ((file, from), to) in QUEUE_FILES.iter().zip(numbers(from)).zip(numbers(to)) {
            if let Some(to) = to.filter(|_| from != to) {
                values.insert(file.name.into(), to);
            }
        }
        Self { scheduler: (from.scheduler != to.scheduler).then(|| to.scheduler.clone()), values }
    }

    /// Writes it to a disk of a scenario.
    pub fn apply(&self, disk: &mut DeviceConfig) {
        if let Some(scheduler) = self.scheduler.as_ref().filter(|s| **s != disk.scheduler) {
            disk.scheduler.clone_from(scheduler);
            disk.iosched.clear();
        }
        for (name, &value) in &self.values {
            match name.as_str() {
                // The file's range was checked when the value was taken in.
                "nr_requests" => disk.nr_requests = Some(value as u32),
                "nomerges" => disk.nomerges = value as u8,
                "rq_affinity" => disk.rq_affinity = value as u8,
                _ => {
                    disk.iosched.insert(name.clone(), value);
                }
            }
        }
    }

    /// Another scheduler; what was written for the last one goes with it.
    pub fn set_scheduler(&mut self, name: &str) {
        self.scheduler = Some(name.into());
        self.forget_iosched();
    }

    /// Leaves attributes of schedulers as they are by themselves.
    pub fn forget_iosched(&mut self) {
        self.values.retain(|name, _| QUEUE_FILES.iter().any(|f| f.name == name));
    }

    /// Text for addresses: `mq-deadline,nr_requests:64,fifo_batch:4`; a scheduler left as it is is `-`.
    pub fn text(&self) -> String {
        let mut text = self.scheduler.clone().unwrap_or_else(|| String::from("-"));
        for (name, value) in &self.values {
            text += &format!(",{name}:{value}");
        }
        text
    }

    /// Reads [`Sysfs::text`].
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let scheduler = match parts.next().unwrap_or_default() {
            "-" => None,
            name if ["none", "default"].contains(&name) || sched::row(name).is_some() => {
                Some(name.to_string())
            }
            name => return Err(format!("there is no scheduler '{}'{}", clip(name), near(name))),
        };
        let mut values = BTreeMap::new();
        for part in parts.take(ATTRIBUTES_MAX) {
            let number = part.split_once(':').and_then(|(name, value)| Some((name, value.parse().ok()?)));
            let (name, value) = number.ok_or_else(|| format!("'{}' is not name:number", clip(part)))?;
            let file = QUEUE_FILES.iter().find(|f| f.name == name);
            if let Some((low, high)) =
                file.map(|f| f.range).filter(|(low, high)| !(*low..=*high).contains(&value))
            {
                return Err(format!("{name} is from {low} to {high}"));
            }
            values.insert(clip(name), value);
        }
        Ok(Self { scheduler, values })
    }
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

fn near(name: &str) -> String {
    let known = sched::SCHEDULERS.iter().map(|r| r.name).chain(["none"]);
    nearest(name, known).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_does_not_fit_is_refused() {
        let mut sysfs = Sysfs::default();
        assert_eq!(Sysfs::read(&sysfs.text()), Ok(sysfs.clone()));
        sysfs.values.insert("nr_requests".into(), 64);
        sysfs.values.insert("fifo_batch".into(), 4);
        assert_eq!(sysfs.text(), "-,fifo_batch:4,nr_requests:64");
        assert_eq!(Sysfs::read(&sysfs.text()), Ok(sysfs.clone()));
        sysfs.set_scheduler("kyber");
        assert_eq!(sysfs.text(), "kyber,nr_requests:64");
        for bad in [
            "",
            "cfq",
            "mq-deadine",
            "bfq,fifo_batch",
            "bfq,low_latency:yes",
            "-,nomerges:3",
            "-,nr_requests:0",
        ] {
            assert!(Sysfs::read(bad).is_err(), "{bad}");
        }
        assert!(Sysfs::read("mq-deadine").unwrap_err().contains("mq-deadline"));
    }

    #[test]
    fn the_difference_of_two_disks_makes_the_one_of_the_other() {
        let from = DeviceConfig { scheduler: "bfq".into(), ..DeviceConfig::new("sda", "null") };
        let mut to = DeviceConfig::new("sda", "null");
        (to.scheduler, to.nr_requests, to.nomerges) = ("mq-deadline".into(), Some(64), 2);
        to.iosched.insert("fifo_batch".into(), 1);
        let mut made = from.clone();
        Sysfs::between(&from, &to).apply(&mut made);
        assert_eq!(made, to);
        assert_eq!(Sysfs::between(&to, &to).scheduler, None);
    }
}
