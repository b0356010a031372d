//! What the page can open with: a job, a machine, disks, two policies, and what to look at. No browser here.

use crate::config::{Config, Policy, Rules, Side, Theme, View};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::Workload;
use std::collections::BTreeMap;

/// A curated starting point.
#[derive(Debug)]
pub struct Preset {
    /// Name for URLs.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What to look at, one paragraph.
    pub caption: &'static str,
    /// fio job or batch script.
    pub job: &'static str,
    /// Machine preset.
    pub machine: &'static str,
    /// Disks as (name, device preset).
    pub disks: &'static [(&'static str, &'static str)],
    /// Tags of an hctx, where the device preset's own number would not show the point.
    pub nr_requests: Option<u32>,
    /// Kernel row and overrides of each side.
    pub sides: [(&'static str, &'static [(&'static str, &'static str)]); 2],
    /// Simulated length, ns.
    pub duration_ns: u64,
    /// Measured from here on, ns.
    pub warmup_ns: u64,
    /// Where the playhead starts, ns.
    pub t_ns: u64,
    /// Simulated ns per second on the wall.
    pub speed: f64,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "seed-000",
        title: "Two RAID volumes, one list or one by one",
        caption: "Eight fio processes on node 1 read 4 KiB blocks at random from two RAID0 volumes of eight SSDs. Each \
                  io_submit fills a plug of up to 16 requests, then the submitter itself runs the hctx. Kernel 4.14 takes \
                  all requests of all ctx lists at once (A); the change that followed takes them one by one (B). Watch \
                  the ctx locks: in B every request costs one more acquisition, often of another CPU's line.",
        job: "; numactl -N 1 fio 2vd.fio\n[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=128\n\
              numjobs=4\nioscheduler=none\nnuma_cpu_nodes=1\ntime_based\nruntime=60\ngroup_reporting\n\n[vd0]\nfilename=/dev/sdb\n\n[vd1]\n\
              filename=/dev/sdc\n",
        machine: "xeon-gold-6150-2s",
        disks: &[("sdb", "hba-r0-8ssd"), ("sdc", "hba-r0-8ssd")],
        nr_requests: None,
        sides: [("4.14", &[]), ("4.14", &[("dispatch_mode", "one-by-one")])],
        duration_ns: 50_000_000,
        warmup_ns: 5_000_000,
        t_ns: 2_000_000,
        speed: 10_000.0,
    },
    Preset {
        name: "seed-004",
        title: "One RAID volume, through the list or straight to the driver",
        caption: "The same card with one volume. Before 4.19 every plugged request goes through a ctx list, whose lock and \
                  whose hctx run all submitters share (A). From 4.19 on, a request goes straight to the driver while the \
                  hctx is not busy (B). Watch how many requests never stop in a ctx.",
        job: "; numactl -N 1 fio 1vd.fio\n[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=128\n\
              numjobs=4\nioscheduler=none\nnuma_cpu_nodes=1\ntime_based\nruntime=60\ngroup_reporting\n\n[vd0]\nfilename=/dev/sdb\n",
        machine: "xeon-gold-6150-2s",
        disks: &[("sdb", "hba-r0-8ssd")],
        nr_requests: None,
        sides: [("4.16", &[]), ("4.19", &[])],
        duration_ns: 50_000_000,
        warmup_ns: 5_000_000,
        t_ns: 2_000_000,
        speed: 10_000.0,
    },
    Preset {
        name: "plug-merge",
        title: "A plug gathers, merges and lets go",
        caption: "One thread hands over neighbouring 4 KiB reads in one io_submit call. The plug keeps them back long enough \
                  to merge: eight bios leave as fewer, larger requests. Step event by event and follow Q, G, P, M, U, D. \
                  The two sides differ in the kernel: 4.14 looks through the whole plug, 6.1 at the newest request only.",
        job: "# one thread on CPU 1; each b line is one io_submit call\ncpu 1\n\
              b r@100+4 r@300+4 r@104+4 r@304+4 r@108+4 r@112+4 r@308+4 r@116+4\nwait\n\
              b r@2100+4 r@2900+4 r@2300+4 r@2700+4 r@2500+4 r@2200+4 r@2800+4 r@2400+4\nwait\n\
              b w@4000+64 w@4064+64 w@4128+64 w@4192+4\nwait\n",
        machine: "small",
        disks: &[("nvme0n1", "p4510-2t")],
        nr_requests: None,
        sides: [("4.14", &[]), ("6.1", &[])],
        duration_ns: 2_000_000,
        warmup_ns: 0,
        t_ns: 0,
        speed: 500.0,
    },
    Preset {
        name: "no-tag",
        title: "More I/O than tags",
        caption: "Each of four processes wants 16 requests in flight, but the disk's one hctx has 24 tags in all. Who finds \
                  no tag sleeps on one of eight wait queues. Kernel 4.14 wakes every sleeper of a queue when a batch of tags \
                  is free (A), 6.1 as many as can be served (B).",
        job: "[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=16\nnumjobs=4\ntime_based\nruntime=60\n\n\
              [starved]\nfilename=/dev/nvme0n1\n",
        machine: "small",
        disks: &[("nvme0n1", "p4510-2t")],
        nr_requests: Some(24),
        sides: [("4.14", &[]), ("6.1", &[])],
        duration_ns: 20_000_000,
        warmup_ns: 2_000_000,
        t_ns: 1_000_000,
        speed: 20_000.0,
    },
    Preset {
        name: "psync-nvme",
        title: "One request at a time, straight through",
        caption: "Sixteen processes each read one block, wait for it, and read the next. With many hctxs and nothing plugged \
                  a request goes from bio to driver on one CPU, and comes back on the same. What is left is the cost of the \
                  path itself: see the CPU time per I/O.",
        job: "[global]\nioengine=psync\ndirect=1\nrw=randrw\nbs=4k\nnumjobs=16\ntime_based\nruntime=60\n\n\
              [reader]\nfilename=/dev/nvme0n1\n",
        machine: "desktop",
        disks: &[("nvme0n1", "p4510-2t")],
        nr_requests: None,
        sides: [("5.4", &[]), ("6.18", &[])],
        duration_ns: 20_000_000,
        warmup_ns: 2_000_000,
        t_ns: 1_000_000,
        speed: 20_000.0,
    },
];

/// All presets; the page opens on the first.
pub fn all() -> &'static [Preset] {
    PRESETS
}

/// What the page opens with.
pub fn first() -> &'static Preset {
    &PRESETS[0]
}

/// The preset of this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

impl Preset {
    /// The choices that make this preset and nothing else.
    pub fn config(&self) -> Config {
        let policy = |side: Side| {
            let (kernel, set) = self.sides[side.index()];
            Policy { start: Rules::new(kernel, set), changes: Vec::new() }
        };
        Config {
            preset: self.name.into(),
            job: None,
            answers: BTreeMap::new(),
            machine: None,
            device: None,
            depth: None,
            seed: None,
            duration_ns: None,
            policies: Side::BOTH.map(policy),
        }
    }

    /// How the page looks at it first.
    pub fn view(&self) -> View {
        View {
            side: Side::A,
            t_ns: self.t_ns,
            speed: self.speed,
            playing: true,
            selected: None,
            theme: Theme::Auto,
        }
    }

    /// A scenario with this preset's machine and run length, the given disks and the given workload.
    pub fn scenario(&self, disks: Vec<DeviceConfig>, workload: Workload) -> Scenario {
        let (kernel, set) = self.sides[0];
        let rules = Rules::new(kernel, set);
        Scenario {
            title: self.title.into(),
            seed: 1,
            duration_ns: self.duration_ns,
            warmup_ns: self.warmup_ns,
            machine: self.machine.into(),
            kernel: rules.kernel,
            set: rules.set,
            devices: disks,
            workload,
        }
    }

    /// This preset's disks.
    pub fn disks(&self) -> Vec<DeviceConfig> {
        let disk = |(name, model): &(&str, &str)| DeviceConfig {
            nr_requests: self.nr_requests,
            ..DeviceConfig::new(name, model)
        };
        self.disks.iter().map(disk).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::{device, host};

    #[test]
    fn presets_name_only_what_the_core_knows() {
        for preset in all() {
            assert!(host::machine(preset.machine).is_some(), "{}", preset.name);
            for (_, model) in preset.disks {
                assert!(device::PRESETS.iter().any(|p| p.name == *model), "{model}");
            }
            let base = preset.scenario(preset.disks(), Workload::Jobs(Vec::new()));
            for side in Side::BOTH {
                preset.config().scenario(&base, side).expect(preset.name);
            }
            assert!(std::ptr::eq(find(preset.name).unwrap(), preset));
        }
    }
}
