//! Disks of a scenario: request queues with their limits, locks and lines.

use super::hosts::SharedHosts;
use super::*;
use crate::block::{Coalesce, Vector};

/// Largest number of tags of an hctx.
const TAGS_MAX: u32 = 16_384;
/// Recorded service times of a null device.
const RECORDED_MAX: usize = 100_000;
/// Segments of a request (BLK_MAX_SEGMENTS), and on AHCI (AHCI_MAX_SG).
const MAX_SEGMENTS: u32 = 128;
const AHCI_MAX_SEGMENTS: u32 = 168;
/// Default and largest discard_max_bytes (UINT_MAX in sectors, as a bio counts bytes in 32 bits).
const DISCARD_MAX_BYTES: u64 = 4_294_966_784;

/// `wbt_lat_usec` of rotating and of other disks (wbt_default_latency_nsec), us.
const WBT_LAT_ROTATIONAL_USEC: u64 = 75_000;
const WBT_LAT_USEC: u64 = 2_000;

impl Builder<'_> {
    /// All disks; volumes of adapters share one adapter and its tag set.
    pub(super) fn disks(&mut self) -> Result<(), ScenarioError> {
        let configs = &self.scenario.devices;
        let presets: Vec<Option<&'static Preset>> = configs
            .iter()
            .map(|d| match preset(&d.model) {
                None if !STACKS.contains(&d.model.as_str()) => Err(ScenarioError::UnknownName {
                    what: "device model",
                    name: d.model.chars().take(60).collect(),
                    known: PRESETS
                        .iter()
                        .map(|p| p.name)
                        .chain(STACKS.iter().copied())
                        .collect::<Vec<_>>()
                        .join(", "),
                }),
                preset => Ok(preset),
            })
            .collect::<Result<_, _>>()?;
        let mut shared = SharedHosts::default();
        for (config, preset) in configs.iter().zip(presets) {
            let Some(preset) = preset else {
                self.stacked(config)?;
                continue;
            };
            check(
                config.members.is_empty() && config.chunk_kb.is_none(),
                &format!("devices.{}", config.name),
                || format!("members and chunk_kb belong to the models {}", STACKS.join(" and ")),
            )?;
            let recorded = &config.completions_ns;
            check(recorded.len() <= RECORDED_MAX, "completions_ns", || {
                format!("at most {RECORDED_MAX} times")
            })?;
            check(config.completion_grain_ns <= DURATION_MAX_NS, "completion_grain_ns", || {
                format!("at most {DURATION_MAX_NS}")
            })?;
            check(recorded.iter().all(|&ns| ns <= DURATION_MAX_NS), "completions_ns", || {
                format!("at most {DURATION_MAX_NS} each")
            })?;
            let spec = preset
                .spec
                .with(&config.params)
                .map_err(|problem| wrong(format!("devices.{}.params", config.name), problem))?;
            let held = match &spec {
                Spec::Nvme(flash) => Coalesce::new(flash.coalesce_threshold, flash.coalesce_time_us),
                _ => Coalesce::OFF,
            };
            let (device, driver, lun) = self.attach(config, preset, spec, &mut shared)?;
            let timed = matches!(preset.spec, Spec::Null { .. } | Spec::ScsiDebug { .. });
            if (config.completion_ns.is_some() || !config.completions_ns.is_empty()) && !timed {
                self.warnings.push(format!("{}: completion_ns only concerns null devices", config.name));
            }
            self.disk(config, preset, (device, lun), driver, held)?;
        }
        Ok(())
    }

    fn disk(
        &mut self,
        config: &DeviceConfig,
        preset: &'static Preset,
        (device, lun): (u16, u16),
        driver: Driver,
        held: Coalesce,
    ) -> Result<(), ScenarioError> {
        let name = &config.name;
        let field = |f: &str| format!("devices.{name}.{f}");
        check(!name.is_empty() && name.len() <= 32, "devices.name", || {
            "a disk needs a name of 1 to 32 letters".into()
        })?;
        let path = self.path(config, driver)?;
        let nr_cpus = self.machine.cpus();
        let wanted = match (path, config.nr_hw_queues, preset.nr_hw_queues) {
            (Path::Legacy, ..) => 1,
            (Path::Mq, Some(n), _) => n,
            (Path::Mq, None, 0) => nr_cpus,
            (Path::Mq, None, n) => n,
        };
        if path == Path::Legacy && config.nr_hw_queues.is_some() {
            self.warnings.push(format!("{name}: nr_hw_queues concerns the blk-mq path only"));
        }
        check(wanted >= 1, &field("nr_hw_queues"), || "must be at least 1".into())?;
        let nr = wanted.min(nr_cpus);
        if nr < wanted && config.nr_hw_queues.is_some() {
            self.warnings.push(format!("{name}: {wanted} hctxs are more than CPUs; {nr} are used"));
        }
        let poll = config.poll_queues.min(nr_cpus);
        check(poll == 0 || driver == Driver::Nvme, &field("poll_queues"), || {
            "only NVMe disks have poll queues here".into()
        })?;
        if config.shared_tag_bitmap && driver != Driver::Null {
            self.warnings.push(format!("{name}: shared_tag_bitmap concerns null devices only"));
        }
        let one_bitmap =
            matches!(driver, Driver::Scsi(_)) || (driver == Driver::Null && config.shared_tag_bitmap);
        let host_tags = nr > 1 && one_bitmap;
        let scheduler = self.scheduler(config, path, nr, host_tags)?;
        let given = if scheduler.is_some() { config.nr_tags } else { config.nr_requests.or(config.nr_tags) };
        let nr_tags = given.unwrap_or(self.host_tags(preset));
        for (name, value) in [("nr_tags", nr_tags), ("nr_requests", config.nr_requests.unwrap_or(1))] {
            check((1..=TAGS_MAX).contains(&value), &field(name), || format!("must be from 1 to {TAGS_MAX}"))?;
        }
        // Only SCSI has a budget; elsewhere the tags are the limit.
        let depth = preset.queue_depth.map_or(nr_tags * u32::from(nr + poll), |default| {
            config.queue_depth.unwrap_or(default.min(self.host_tags(preset)))
        });
        check(depth >= 1, &field("queue_depth"), || "must be at least 1".into())?;
        if config.queue_depth.is_some() && preset.queue_depth.is_none() {
            self.warnings.push(format!("{name}: queue_depth concerns SCSI disks only; set nr_requests here"));
        }
        check(config.every_nth != 1, &field("every_nth"), || {
            "must be 0 (never) or at least 2: a driver that refuses everything never ends".into()
        })?;
        if config.every_nth > 0 && (preset.queue_depth.is_none() || config.path == Some(Path::Legacy)) {
            self.warnings.push(format!("{name}: every_nth concerns SCSI disks on blk-mq only"));
        }
        check(config.nomerges <= 2, &field("nomerges"), || "must be 0, 1 or 2".into())?;
        check(config.rq_affinity <= 2, &field("rq_affinity"), || "must be 0, 1 or 2".into())?;
        let max_sectors_kb = config.max_sectors_kb.unwrap_or(self.knobs.max_sectors_kb);
        check((4..=65_536).contains(&max_sectors_kb), &field("max_sectors_kb"), || {
            "must be from 4 to 65536".into()
        })?;
        let max_segments = config.max_segments.unwrap_or(match preset.spec {
            Spec::Hdd(_) => AHCI_MAX_SEGMENTS,
            _ => MAX_SEGMENTS,
        });
        check((1..=65_535).contains(&max_segments), &field("max_segments"), || {
            "must be from 1 to 65535".into()
        })?;
        let granularity = config.discard_granularity.unwrap_or(512);
        check(granularity >= 512 && granularity.is_multiple_of(512), &field("discard_granularity"), || {
            "must be a multiple of 512 bytes".into()
        })?;
        let discard_max_bytes = config.discard_max_bytes.unwrap_or(DISCARD_MAX_BYTES);
        check(
            (u64::from(granularity)..=DISCARD_MAX_BYTES).contains(&discard_max_bytes),
            &field("discard_max_bytes"),
            || format!("must be from discard_granularity to {DISCARD_MAX_BYTES}"),
        )?;
        let write_cache =
            config.write_cache.map_or(preset.write_cache, |cache| cache == WriteCache::WriteBack);
        let flush_not_queued = config.flush_not_queued.unwrap_or(preset.flush_not_queued) && path == Path::Mq;
        if write_cache && path == Path::Legacy {
            self.warnings
                .push(format!("{name}: flushes are not modelled on the legacy path, and are dropped"));
        }
        let write_cache = write_cache && path == Path::Mq;
        if flush_not_queued && driver == Driver::Nvme {
            self.warnings.push(format!("{name}: NVMe queues its flushes; flush_not_queued has no effect"));
        }
        let size = config.size.unwrap_or(preset.size);
        check((65_536..=1 << 50).contains(&size), &field("size"), || {
            "must be from 64 KiB to 1 PiB, in bytes".into()
        })?;

        let q = self.queues.len() as u16;
        let first_hctx = self.hctxs.len() as u16;
        let first_ctx = self.ctxs.len() as u32;
        for c in 0..nr_cpus {
            let lock =
                self.object("ctx->lock", format!("ctx[{c}]->lock ({name})"), ObjectKind::Lock, Site::Ctx(c));
            self.ctxs.push(Ctx { list: VecDeque::new(), lock });
        }
        for c in (0..nr_cpus).filter(|_| poll > 0) {
            let text = format!("ctx[{c}]->lock of polled requests ({name})");
            let lock = self.object("ctx->lock", text, ObjectKind::Lock, Site::Ctx(c));
            self.ctxs.push(Ctx { list: VecDeque::new(), lock });
        }
        // Volumes of one adapter, and all their hctxs, share its tags (BLK_MQ_F_TAG_SHARED, BLK_MQ_F_TAG_HCTX_SHARED).
        let shared = match driver {
            Driver::Scsi(_) | Driver::Null if one_bitmap => self
                .queues
                .iter()
                .zip(&self.scenario.devices)
                .find(|(other, config)| {
                    other.driver == driver && (driver != Driver::Null || config.shared_tag_bitmap)
                })
                .map(|(other, _)| self.hctxs[other.first_hctx as usize].tags),
            _ => None,
        };
        let nr_tags = match shared.map(|tags| self.tags[tags as usize].depth) {
            Some(depth) if depth != nr_tags => {
                let text = format!(
                    "{name}: volumes of one adapter share its {depth} tags; nr_requests is not its own"
                );
                self.warnings.push(text);
                depth
            }
            _ => nr_tags,
        };
        let map = self.cpu_map(nr, first_hctx);
        let poll_map = if poll > 0 { self.cpu_map(poll, first_hctx + nr) } else { Vec::new() };
        let interrupts = nr;
        let nr = nr + poll;
        let mut common = shared;
        for i in 0..nr {
            let tags = match common {
                Some(tags) => tags,
                None => self.tag_set("tags", nr_tags, first_hctx + i, i, name),
            };
            if one_bitmap {
                common = Some(tags);
            } else {
                self.tags[tags as usize].queues = 1;
            }
            let polled = i >= interrupts;
            let map = if polled { &poll_map } else { &map };
            let first_ctx = first_ctx + if polled { u32::from(nr_cpus) } else { 0 };
            self.hctx(q, i, first_hctx + i, tags, map, name, write_cache);
            if let Some(hctx) = self.hctxs.last_mut() {
                (hctx.first_ctx, hctx.poll) = (first_ctx, polled);
                hctx.vector = Vector::new(hctx.vector.cpu, held);
            }
        }
        if let Some(tags) = common {
            self.tags[tags as usize].queues += 1;
        }
        let budget_words =
            if matches!(driver, Driver::Scsi(_)) { depth.div_ceil(64).clamp(1, 16) } else { 1 };
        let busy_line = self.object(
            "sdev->device_busy",
            format!("sdev->device_busy ({name})"),
            ObjectKind::Line,
            Site::Queue(q),
        );
        for word in 1..budget_words {
            self.object(
                "sdev->device_busy",
                format!("sdev->budget_map word {word} ({name})"),
                ObjectKind::Line,
                Site::Queue(q),
            );
        }
        let ref_line = self.object(
            "sdev kref",
            format!("sdev->sdev_gendev kref ({name})"),
            ObjectKind::Line,
            Site::Queue(q),
        );
        let request_line = self.object(
            "struct request and command",
            format!("struct request and command ({name})"),
            ObjectKind::Line,
            Site::Queue(q),
        );
        // On the legacy path it is the elevator's lock too; on blk-mq little is left to it.
        let site = if path == Path::Legacy { Site::Elevator(q) } else { Site::Queue(q) };
        let queue_lock =
            self.object("q->queue_lock", format!("q->queue_lock ({name})"), ObjectKind::Lock, site);
        let requeue_lock = self.object(
            "q->requeue_lock",
            format!("q->requeue_lock ({name})"),
            ObjectKind::Lock,
            Site::Queue(q),
        );
        let rotational = config.rotational.unwrap_or(preset.rotational);
        let bfq = scheduler.is_some_and(|row| row.name == "bfq");
        let (elevator, tunables) = match (path, scheduler) {
            (_, None) => (None, Vec::new()),
            (Path::Mq, Some(row)) => {
                let hctxs = first_hctx..first_hctx + nr;
                let (elevator, known) = self.elevator(config, row, q, rotational, hctxs, nr_tags)?;
                (Some(elevator), known)
            }
            (Path::Legacy, Some(row)) => {
                let (elevator, known) = self.legacy_elevator(config, row, rotational, queue_lock, q)?;
                (Some(elevator), known)
            }
        };
        let nr_requests = elevator.as_ref().map_or(nr_tags, |e| e.nr_requests);
        let wbt_depth = if matches!(driver, Driver::Scsi(_)) { depth } else { nr_requests };
        let wbt = match path {
            Path::Mq => self.wbt(config, q, bfq, rotational, wbt_depth)?,
            Path::Legacy => None,
        };
        self.queues.push(Queue {
            driver,
            device,
            lun,
            first_hctx,
            nr_hctx: nr,
            map,
            poll_map,
            host_tags,
            sectors: size / 512,
            max_sectors: max_sectors_kb * 2,
            max_segments,
            max_discard_sectors: (discard_max_bytes / 512) as u32,
            discard_granularity: granularity / 512,
            write_cache,
            fua: write_cache && config.fua.unwrap_or(preset.fua),
            flush_not_queued: flush_not_queued && driver != Driver::Nvme,
            in_device: 0,
            flush_in_device: false,
            device_blocked: false,
            requeue: Requeue::default(),
            nomerges: config.nomerges,
            rq_affinity: config.rq_affinity,
            rotational,
            device_busy: 0,
            queue_depth: depth,
            busy_line,
            budget_words,
            nr_active: 0,
            active: false,
            restarts: false,
            sdev: Sdev { every_nth: config.every_nth, answer: config.every_nth_answer, ..Sdev::default() },
            requeue_lock,
            ref_line,
            queue_lock,
            legacy: (path == Path::Legacy).then(|| Legacy::new(nr_requests)),
            elevator,
            request_line,
            stack: None,
            wbt,
        });
        let default_dev = match driver {
            Driver::Stacked => unreachable!("a stacked disk has no driver"),
            Driver::Nvme => (259, u32::from(q)),
            Driver::Null => (254, u32::from(q)),
            Driver::Scsi(_) => (8, 16 * u32::from(q + 1)),
        };
        self.topology.queues.push(topology::Queue {
            name: name.clone(),
            model: preset.name.into(),
            path,
            driver: match driver {
                Driver::Null => topology::Driver::Null,
                Driver::Nvme => topology::Driver::Nvme,
                Driver::Scsi(_) => topology::Driver::Scsi,
                Driver::Stacked => topology::Driver::Stacked,
            },
            scheduler: scheduler.map_or("none", |row| row.name).into(),
            tunables,
            dev: config.dev.unwrap_or(default_dev),
            nr_tags,
            nr_requests,
            queue_depth: depth,
            sectors: size / 512,
            hctxs: (first_hctx..first_hctx + nr).collect(),
            units: preset.units(),
        });
        Ok(())
    }

    /// Writeback throttling with its default or the given target; bfq turns the default off.
    fn wbt(
        &mut self,
        config: &DeviceConfig,
        q: u16,
        bfq: bool,
        rotational: bool,
        queue_depth: u32,
    ) -> Result<Option<Box<Wbt>>, ScenarioError> {
        let default = match self.knobs.wbt && !bfq {
            true if rotational => WBT_LAT_ROTATIONAL_USEC,
            true => WBT_LAT_USEC,
            false => 0,
        };
        let usec = config.wbt_lat_usec.unwrap_or(default);
        let name = &config.name;
        check(usec <= DURATION_MAX_NS / 1000, &format!("devices.{name}.wbt_lat_usec"), || {
            format!("must be at most {}", DURATION_MAX_NS / 1000)
        })?;
        if usec == 0 {
            return Ok(None);
        }
        let mut counter = |what: &str| {
            let text = format!("rwb->rq_wait {what} ({name})");
            self.object("rwb->rq_wait", text, ObjectKind::Line, Site::Queue(q))
        };
        let line = counter("writes");
        counter("discards");
        Ok(Some(Box::new(Wbt::new(usec * 1000, queue_depth, line))))
    }

    /// The path of a disk, if kernel and driver have it.
    fn path(&self, config: &DeviceConfig, driver: Driver) -> Result<Path, ScenarioError> {
        let path = config.path.unwrap_or_default();
        let field = format!("devices.{}.path", config.name);
        if path == Path::Legacy {
            check(self.knobs.legacy_path, &field, || {
                let rows = ROWS.iter().filter(|row| row.knobs.legacy_path).map(|row| row.name);
                let rows = rows.collect::<Vec<_>>().join(", ");
                format!(
                    "kernel {} has no legacy path any more; choose kernel {rows} or leave path out",
                    self.scenario.kernel
                )
            })?;
            check(driver != Driver::Nvme, &field, || {
                format!("the NVMe driver never had a legacy path; leave path out for {}", config.model)
            })?;
        }
        let other = self.queues.iter().find(|q| matches!(q.driver, Driver::Scsi(_)) && q.driver == driver);
        check(other.is_none_or(|q| q.legacy.is_some() == (path == Path::Legacy)), &field, || {
            String::from("all volumes of one adapter take the same path")
        })?;
        Ok(path)
    }
}
