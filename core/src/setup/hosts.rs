//! What stands behind a disk: its device, its driver, and the SCSI host that it may share.

use super::*;
use crate::block::{Coalesce, HostKind, Vector};
use crate::device::{AdapterSpec, HbaSpec};

/// An adapter under construction.
struct Adapter {
    spec: HbaSpec,
    model: &'static str,
    size: u64,
    device: u16,
    host: u16,
    luns: u16,
}

/// Hosts that several disks share, as far as they have been met.
#[derive(Default)]
pub(super) struct SharedHosts {
    adapters: Vec<Adapter>,
    debug: Option<u16>,
}

impl Builder<'_> {
    /// The device of a disk, its driver and its LUN there.
    pub(super) fn attach(
        &mut self,
        config: &DeviceConfig,
        preset: &'static Preset,
        spec: Spec,
        shared: &mut SharedHosts,
    ) -> Result<(u16, Driver, u16), ScenarioError> {
        let nr_tags = config.nr_tags.unwrap_or(self.host_tags(preset));
        Ok(match spec {
            Spec::Null { completion_ns } => (self.fixed_time(config, completion_ns)?, Driver::Null, 0),
            // Recorded times stand in for the flash; queues, locks and doorbells stay NVMe's.
            Spec::Nvme(_) if !config.completions_ns.is_empty() => {
                let after = config.completions_ns.last().copied().unwrap_or_default();
                (self.device(Device::null(after, 0, &config.completions_ns)), Driver::Nvme, 0)
            }
            Spec::Nvme(spec) => (self.device(Device::nvme(spec)), Driver::Nvme, 0),
            Spec::Hba(spec) => self.volume(&mut shared.adapters, config, preset, spec),
            // A port is a host of its own.
            Spec::Hdd(spec) => {
                let write_back =
                    config.write_cache.map_or(preset.write_cache, |c| c == WriteCache::WriteBack);
                let size = config.size.unwrap_or(0).max(preset.size);
                let device = self.device(Device::hdd(spec, size, write_back));
                (device, Driver::Scsi(self.host(HostKind::Ahci, None, nr_tags)), 0)
            }
            Spec::ScsiDebug { completion_ns } => {
                let device = self.fixed_time(config, completion_ns)?;
                let host = match shared.debug {
                    Some(host) => host,
                    None => *shared.debug.insert(self.host(HostKind::Debug, None, nr_tags)),
                };
                (device, Driver::Scsi(host), 0)
            }
        })
    }

    /// Commands that the host of such a disk takes by itself.
    pub(super) fn host_tags(&self, preset: &Preset) -> u32 {
        match preset.spec {
            Spec::Hdd(_) => preset.nr_tags.min(self.knobs.ahci_max_cmds).max(1),
            _ => preset.nr_tags,
        }
    }

    fn device(&mut self, device: Device) -> u16 {
        self.devices.push(device);
        self.devices.len() as u16 - 1
    }

    /// A device that takes the same time for every command.
    fn fixed_time(&mut self, config: &DeviceConfig, default_ns: u64) -> Result<u16, ScenarioError> {
        let ns = config.completion_ns.unwrap_or(default_ns);
        check(ns <= DURATION_MAX_NS, "completion_ns", || format!("at most {DURATION_MAX_NS}"))?;
        Ok(self.device(Device::null(ns, config.completion_grain_ns, &config.completions_ns)))
    }

    /// A volume of an adapter: volumes with the same constants and sizes share one. Device, driver and LUN.
    fn volume(
        &mut self,
        adapters: &mut Vec<Adapter>,
        config: &DeviceConfig,
        preset: &'static Preset,
        spec: HbaSpec,
    ) -> (u16, Driver, u16) {
        let size = config.size.unwrap_or(preset.size).max(preset.size);
        if let Some(adapter) = adapters.iter_mut().find(|a| a.spec == spec) {
            adapter.luns += 1;
            adapter.size = adapter.size.max(size);
            self.devices[adapter.device as usize] = Device::hba(spec, adapter.luns, adapter.size);
            return (adapter.device, Driver::Scsi(adapter.host), adapter.luns - 1);
        }
        if let Some(other) = adapters.iter().find(|a| a.model == preset.name) {
            let text =
                "its constants are not those of the disks before it: it is behind an adapter of its own";
            self.warnings.push(format!("{} ({}): {text}", config.name, other.model));
        }
        let device = self.device(Device::hba(spec.clone(), 1, size));
        // The pool of the legacy path says nothing about the adapter.
        let nr_requests = config.nr_requests.filter(|_| config.path != Some(Path::Legacy));
        let can_queue = config.nr_tags.or(nr_requests).unwrap_or(preset.nr_tags);
        let host = self.host(HostKind::Adapter, Some(&spec.adapter), can_queue);
        adapters.push(Adapter { spec, model: preset.name, size, device, host, luns: 1 });
        (device, Driver::Scsi(host), 0)
    }

    /// A SCSI host with its lines, its lock and its vectors.
    fn host(&mut self, kind: HostKind, adapter: Option<&AdapterSpec>, can_queue: u32) -> u16 {
        let mut line = |name: &str| self.object(name, name.into(), ObjectKind::Line, Site::Host);
        let (host_line, fw_line) = (line("shost->host_busy"), line("instance->fw_outstanding"));
        let host_lock =
            self.object("shost->host_lock", "shost->host_lock".into(), ObjectKind::Lock, Site::Host);
        let cpus = self.machine.cpus();
        let reply_queues = match kind {
            HostKind::Adapter => adapter.map_or(cpus, |a| (a.reply_queues as u16).min(cpus)),
            // An AHCI port has one vector; scsi_debug completes on the CPU that issued the command.
            HostKind::Ahci => 1,
            HostKind::Debug => cpus,
        };
        let reply_map = self.cpu_map(reply_queues, 0);
        // The first CPU of a reply queue takes its interrupts, as that of an NVMe vector does.
        let vector_cpu = |queue: u16| reply_map.iter().position(|&q| q == queue).unwrap_or(0) as u16;
        let held = adapter.map_or(Coalesce::OFF, |a| Coalesce::new(a.coalesce_threshold, a.coalesce_time_us));
        let vectors = (0..reply_queues).map(|queue| Vector::new(vector_cpu(queue), held)).collect();
        self.hosts.push(Host {
            kind,
            host_busy: 0,
            can_queue,
            blocked: 0,
            starved: VecDeque::new(),
            host_lock,
            host_line,
            fw_line,
            reply_map,
            vectors,
        });
        self.hosts.len() as u16 - 1
    }
}
