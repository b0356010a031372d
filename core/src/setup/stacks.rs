//! Stacked disks of a scenario: md raid0 and dm linear over other disks.

use super::*;
use crate::block::{Layout, Stack};
use crate::scenario::STACK_DEPTH_MAX;

/// mdadm's default chunk, KiB.
const CHUNK_KB: u32 = 512;
/// Most members of a stacked disk.
const MEMBERS_MAX: usize = DEVICES_MAX - 1;
/// Largest request that a stacked disk announces; its pieces are cut to what the members take.
const MAX_SECTORS: u32 = u32::MAX;

impl Builder<'_> {
    /// The bio-based queue of a stacked disk. Its members may stand anywhere in the list of disks.
    pub(super) fn stacked(&mut self, config: &DeviceConfig) -> Result<(), ScenarioError> {
        let name = &config.name;
        let field = |f: &str| format!("devices.{name}.{f}");
        check(!name.is_empty() && name.len() <= 32, "devices.name", || {
            "a disk needs a name of 1 to 32 letters".into()
        })?;
        check(config.scheduler == "none", &field("scheduler"), || {
            "a stacked disk has no scheduler; set it on the members".into()
        })?;
        let stack = self.stack(config, &mut Vec::new())?;
        let q = self.queues.len() as u16;
        let sectors = stack.sectors();
        let write_cache = stack.flushes.is_some();
        // Not used by any step: a bio-based queue has neither requests nor a lock on the way.
        let line = 0;
        self.queues.push(Queue {
            driver: Driver::Stacked,
            device: 0,
            lun: 0,
            first_hctx: self.hctxs.len() as u16,
            nr_hctx: 0,
            map: Vec::new(),
            poll_map: Vec::new(),
            host_tags: false,
            sectors,
            max_sectors: MAX_SECTORS,
            max_segments: MAX_SECTORS,
            nomerges: 0,
            rq_affinity: 0,
            rotational: false,
            device_busy: 0,
            queue_depth: 0,
            busy_line: line,
            budget_words: 0,
            nr_active: 0,
            active: false,
            restarts: false,
            ref_line: line,
            queue_lock: line,
            requeue_lock: line,
            sdev: Sdev::default(),
            stack: Some(stack),
            wbt: None,
            max_discard_sectors: MAX_SECTORS,
            discard_granularity: 1,
            write_cache,
            fua: write_cache,
            flush_not_queued: false,
            in_device: 0,
            flush_in_device: false,
            device_blocked: false,
            requeue: Requeue::default(),
            elevator: None,
            legacy: None,
            request_line: line,
        });
        let major = if config.model == "md-raid0" { 9 } else { 253 };
        self.topology.queues.push(topology::Queue {
            name: name.clone(),
            model: config.model.clone(),
            scheduler: config.scheduler.clone(),
            path: Path::Mq,
            driver: topology::Driver::Stacked,
            tunables: Vec::new(),
            dev: config.dev.unwrap_or((major, u32::from(q))),
            nr_tags: 0,
            nr_requests: 0,
            queue_depth: 0,
            sectors,
            hctxs: Vec::new(),
            units: Vec::new(),
        });
        Ok(())
    }

    /// The layout of a stacked disk; `above` are the disks that lie on it.
    fn stack<'s>(
        &'s self,
        config: &'s DeviceConfig,
        above: &mut Vec<&'s str>,
    ) -> Result<Stack, ScenarioError> {
        let field = |f: &str| format!("devices.{}.{f}", config.name);
        let members = &config.members;
        check(!above.contains(&config.name.as_str()), &field("members"), || {
            format!("'{}' would lie on itself", config.name)
        })?;
        check(above.len() < STACK_DEPTH_MAX, &field("members"), || {
            format!("at most {STACK_DEPTH_MAX} stacked disks lie above each other")
        })?;
        check((1..=MEMBERS_MAX).contains(&members.len()), &field("members"), || {
            format!("name 1 to {MEMBERS_MAX} other disks")
        })?;
        let chunk_kb = config.chunk_kb.unwrap_or(CHUNK_KB);
        let raid0 = config.model == "md-raid0";
        check(raid0 || config.chunk_kb.is_none(), &field("chunk_kb"), || "belongs to md-raid0".into())?;
        check(chunk_kb.is_power_of_two() && (4..=1 << 20).contains(&chunk_kb), &field("chunk_kb"), || {
            "must be a power of two from 4 to 1048576".into()
        })?;
        above.push(&config.name);
        let mut sized = Vec::with_capacity(members.len());
        let mut flushes = None;
        for (i, member) in members.iter().enumerate() {
            check(!members[..i].contains(member), &field("members"), || {
                format!("'{member}' is named twice")
            })?;
            let all = &self.scenario.devices;
            let mut found = all.iter().enumerate().filter(|(_, d)| d.name == *member);
            let (Some((q, below)), None) = (found.next(), found.next()) else {
                return Err(ScenarioError::UnknownName {
                    what: "member disk (or several of that name)",
                    name: member.chars().take(60).collect(),
                    known: all.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(", "),
                });
            };
            let (sectors, cached) = match preset(&below.model) {
                Some(preset) => {
                    let given = below.write_cache.map(|cache| cache == WriteCache::WriteBack);
                    let mq = below.path.unwrap_or_default() == Path::Mq;
                    (below.size.unwrap_or(preset.size) / 512, mq && given.unwrap_or(preset.write_cache))
                }
                None => {
                    let stack = self.stack(below, above)?;
                    (stack.sectors(), stack.flushes.is_some())
                }
            };
            sized.push((q as u16, sectors));
            if cached {
                flushes = flushes.or(Some(q as u16));
            }
        }
        above.pop();
        if !raid0 {
            return Ok(Stack { layout: Layout::Linear, members: sized, flushes });
        }
        // One zone: what the larger members have more is not used.
        let chunk = chunk_kb * 2;
        let least = sized.iter().map(|&(_, sectors)| sectors).min().unwrap_or(0);
        let used = least / u64::from(chunk) * u64::from(chunk);
        check(used > 0, &field("chunk_kb"), || "a chunk is larger than a member".into())?;
        for (_, sectors) in &mut sized {
            *sectors = used;
        }
        Ok(Stack { layout: Layout::Raid0 { chunk }, members: sized, flushes })
    }
}
