//! The page cache: limits from the machine's memory, files of buffered jobs, a flusher for each disk that they lie on.

use super::*;
use crate::pagecache::{Bandwidth, CacheUse, Flusher, Inode, Limits, PAGE_BYTES, Ranges};
use crate::scenario::Vm;

/// Smallest and largest memory, bytes.
const RAM_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 44;
/// Largest read-ahead window, KiB.
const READ_AHEAD_KB_MAX: u32 = 1 << 16;

/// An empty page cache.
pub(super) fn page_cache(scenario: &Scenario, machine: &Machine) -> Result<PageCache, ScenarioError> {
    let vm: &Vm = &scenario.vm;
    let ram_bytes = vm.ram_bytes.unwrap_or(machine.ram_bytes);
    check(RAM_BYTES.contains(&ram_bytes), "vm.ram_bytes", || {
        format!("must be from {} to {}", RAM_BYTES.start(), RAM_BYTES.end())
    })?;
    check((1..=100).contains(&vm.dirty_ratio), "vm.dirty_ratio", || "must be from 1 to 100".into())?;
    check(vm.dirty_background_ratio <= 100, "vm.dirty_background_ratio", || "must be from 0 to 100".into())?;
    for (name, ns) in
        [("vm.dirty_expire_ns", vm.dirty_expire_ns), ("vm.dirty_writeback_ns", vm.dirty_writeback_ns)]
    {
        check(ns <= DURATION_MAX_NS, name, || format!("must be at most {DURATION_MAX_NS}"))?;
    }
    check(vm.read_ahead_kb <= READ_AHEAD_KB_MAX, "vm.read_ahead_kb", || {
        format!("must be at most {READ_AHEAD_KB_MAX}")
    })?;
    let ram = ram_bytes / PAGE_BYTES;
    let dirty = (ram * u64::from(vm.dirty_ratio) / 100).max(1);
    let background = ram * u64::from(vm.dirty_background_ratio) / 100;
    Ok(PageCache::new(Limits {
        ram,
        // One that is not below the other is halved (domain_dirty_limits).
        background: if background >= dirty { dirty / 2 } else { background },
        dirty,
        expire_ns: vm.dirty_expire_ns,
        interval_ns: vm.dirty_writeback_ns,
        read_ahead: u64::from(vm.read_ahead_kb) * 1024 / PAGE_BYTES,
    }))
}

impl Builder<'_> {
    /// The files that a process of `job` uses through the page cache, one on each of its disks.
    pub(super) fn inodes(
        &mut self,
        job: &JobSpec,
        own: Option<u16>,
    ) -> Result<Vec<(u16, u16)>, ScenarioError> {
        if job.direct {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for &disk in &job.files {
            let key = (disk, job.file.clone(), own.map_or(0, |t| u32::from(t) + 1));
            let next = self.inodes.len() as u16;
            let inode = *self.inodes.entry(key).or_insert(next);
            if inode == next {
                let flusher = self.flusher_for(disk);
                self.pagecache.inodes.push(Inode {
                    queue: disk,
                    flusher,
                    sectors: self.queues[disk as usize].sectors,
                    dirty: Ranges::default(),
                    writeback: Ranges::default(),
                    cached: Ranges::default(),
                    reading: Ranges::default(),
                    index: 0,
                    dirtied_ns: None,
                });
            }
            found.push((disk, inode));
        }
        Ok(found)
    }

    fn flusher_for(&mut self, queue: u16) -> u16 {
        let flushers = &mut self.pagecache.flushers;
        let known = flushers.iter().position(|f| f.queue == queue);
        known.unwrap_or_else(|| {
            flushers.push(Flusher {
                queue,
                task: 0,
                bandwidth: Bandwidth::default(),
                dirty: VecDeque::new(),
                nr_dirty: 0,
                nr_writeback: 0,
                exceeded: false,
                look_at_ns: 0,
            });
            flushers.len() - 1
        }) as u16
    }

    /// The flushers' tasks, behind those of the jobs, each on the CPU with the least to do.
    pub(super) fn flushers(&mut self, tasks: &mut Vec<Task>, load: &[u32]) {
        let all: Vec<u16> = (0..self.machine.cpus()).collect();
        let mut load = load.to_vec();
        for f in 0..self.pagecache.flushers.len() {
            let cpu = self.least_loaded(&all, &load);
            load[cpu as usize] += 1;
            let (major, minor) = self.topology.queues[self.pagecache.flushers[f].queue as usize].dev;
            let name = format!("flush-{major}:{minor}");
            let mut task = self.task(&name, NO_JOB, 0, cpu, 0, Frame::Flusher { pc: 0 });
            task.state = TaskState::Sleeping(Sleep::Flusher);
            task.cache = CacheUse::default();
            self.pagecache.flushers[f].task = tasks.len() as u16;
            tasks.push(task);
        }
    }
}
