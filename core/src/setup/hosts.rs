//! What stands behind a disk: its device, its driver, and the SCSI host that it may share.

use super::*;
use crate::block::HostKind;

/// Hosts that several disks share, as far as they have been met.
pub(super) struct SharedHosts {
    /// Device and host.
    adapter: Option<(u16, u16)>,
    debug: Option<u16>,
    /// Volumes of the adapter in all, and so far.
    luns: u16,
    lun: u16,
}

impl SharedHosts {
    pub(super) fn new(presets: &[Option<&'static Preset>]) -> Self {
        let volumes = presets.iter().flatten().filter(|p| matches!(p.spec, Spec::Hba(_)));
        Self { adapter: None, debug: None, luns: volumes.count() as u16, lun: 0 }
    }
}

impl Builder<'_> {
    /// The device of a disk, its driver and its LUN there.
    pub(super) fn attach(
        &mut self,
        config: &DeviceConfig,
        preset: &Preset,
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
            Spec::Hba(spec) => {
                let (device, host) = match shared.adapter {
                    Some(known) => known,
                    None => {
                        let device = self.device(Device::hba(spec, shared.luns));
                        // The pool of the legacy path says nothing about the adapter.
                        let nr_requests = config.nr_requests.filter(|_| config.path != Some(Path::Legacy));
                        let can_queue = config.nr_tags.or(nr_requests).unwrap_or(preset.nr_tags);
                        *shared.adapter.insert((device, self.host(HostKind::Adapter, can_queue)))
                    }
                };
                shared.lun += 1;
                (device, Driver::Scsi(host), shared.lun - 1)
            }
            // A port is a host of its own.
            Spec::Hdd(spec) => {
                let write_back =
                    config.write_cache.map_or(preset.write_cache, |c| c == WriteCache::WriteBack);
                let size = config.size.unwrap_or(0).max(preset.size);
                let device = self.device(Device::hdd(spec, size, write_back));
                (device, Driver::Scsi(self.host(HostKind::Ahci, nr_tags)), 0)
            }
            Spec::ScsiDebug { completion_ns } => {
                let device = self.fixed_time(config, completion_ns)?;
                let host = match shared.debug {
                    Some(host) => host,
                    None => *shared.debug.insert(self.host(HostKind::Debug, nr_tags)),
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

    /// A SCSI host with its lines and its lock.
    fn host(&mut self, kind: HostKind, can_queue: u32) -> u16 {
        let mut line = |name: &str| self.object(name, name.into(), ObjectKind::Line, Site::Host);
        let (host_line, fw_line) = (line("shost->host_busy"), line("instance->fw_outstanding"));
        let host_lock =
            self.object("shost->host_lock", "shost->host_lock".into(), ObjectKind::Lock, Site::Host);
        let starved = VecDeque::new();
        self.hosts.push(Host {
            kind,
            host_busy: 0,
            can_queue,
            blocked: 0,
            starved,
            host_lock,
            host_line,
            fw_line,
        });
        self.hosts.len() as u16 - 1
    }
}
