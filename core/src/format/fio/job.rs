//! From the options in force to a [`JobSpec`]: fio's defaults (fio 3.33, `fixup_options` in init.c), and what the
//! model asks for beyond fio.

use super::draft::{Direction, Draft, Given, Nodes, Set};
use super::place::Plan;
use super::source::{At, Run, Section};
use crate::diag::Diagnostic;
use crate::event::{Prio, PrioClass};
use crate::format::text::{Findings, quote};
use crate::workload::{Amount, Engine, IODEPTH_MAX, JobSpec, PROCESSES_MAX, Pattern, Trim};

const SECTOR: u64 = 512;
const BS_DEFAULT: u64 = 4096;
/// Largest block, bytes. Larger I/O is legal in fio but is cut into many requests anyway.
const BS_MAX: u64 = 1 << 30;

/// Says that a section after stonewalled ones runs beside the one before it.
pub(super) fn warn_no_stonewall(section: &Section, findings: &mut Findings) {
    findings.add(Diagnostic::warning(
        section.at.line,
        section.at.column,
        format!(
            "'{}' has no stonewall, so it runs at the same time as the section before it.",
            quote(&section.name)
        ),
        "Add stonewall if it should wait.",
    ));
}

/// Says that nothing would run.
pub(super) fn error_no_job(run: &Run, findings: &mut Findings) {
    findings.add(Diagnostic::error(
        run.at.line,
        0,
        "There is no job here.",
        "Write a section such as [job], or a command line with --name=JOB.",
    ));
}

/// The part of a job under way that checks and messages need.
struct Finisher<'a> {
    draft: &'a Draft,
    section: &'a Section,
    findings: &'a mut Findings,
}

/// A complete job, still without its disks.
pub(super) fn finish(draft: &Draft, section: &Section, phase: u32, findings: &mut Findings) -> Plan {
    let mut finisher = Finisher { draft, section, findings };
    let spec = finisher.spec(phase);
    let file_bytes = draft.filesize.as_ref().map(|set| set.value).filter(|bytes| *bytes > 0);
    Plan {
        spec,
        at: section.at,
        filename: draft.filename.as_ref().map(|set| set.value.clone()),
        filename_at: draft.filename.as_ref().map_or(section.at, |set| set.at),
        directory: draft.directory.as_ref().map(|set| set.value.clone()),
        filename_format: draft.filename_format.as_ref().map(|set| set.value.clone()),
        file_bytes,
    }
}

/// What `ioprio_set` is told. fio calls it only if class or level is given, with level 0 and `default` for what is not.
fn prio(class: Option<u64>, level: Option<u64>, default: PrioClass) -> Prio {
    if class.is_none() && level.is_none() {
        return Prio::default();
    }
    let class = match class.unwrap_or(0) {
        1 => PrioClass::Rt,
        2 => PrioClass::Be,
        3 => PrioClass::Idle,
        _ => default,
    };
    Prio { class, level: level.and_then(|n| u8::try_from(n).ok()).unwrap_or(0) }
}

fn value<T: Copy>(given: &Given<T>) -> Option<T> {
    given.as_ref().map(|set| set.value)
}

impl Finisher<'_> {
    fn warn(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::warning(at.line, at.column, message, remedy));
    }

    fn error(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::error(at.line, at.column, message, remedy));
    }

    fn spec(&mut self, phase: u32) -> JobSpec {
        let draft = self.draft;
        let (pattern, direction) = value(&draft.rw).unwrap_or((Pattern::Sequential, Direction::Read));
        let engine = value(&draft.engine).unwrap_or(Engine::Psync);
        let direct = value(&draft.direct).unwrap_or(false);
        let mut spec = JobSpec {
            name: draft.name.as_ref().map_or_else(|| self.section.name.clone(), |set| set.value.clone()),
            engine,
            pattern,
            rwmixread: self.read_percent(direction),
            direct,
            numjobs: self.limited(&draft.numjobs, "numjobs", 1, PROCESSES_MAX),
            rate_iops: [0, 1]
                .map(|d| value(&draft.rate_iops[d]).and_then(|n| u32::try_from(n).ok()))
                .map(positive),
            rate: [0, 1].map(|d| value(&draft.rate[d])).map(positive),
            thinktime_ns: value(&draft.thinktime_ns).unwrap_or(0),
            thinktime_spin_ns: value(&draft.thinktime_spin_ns).unwrap_or(0),
            thinktime_blocks: value(&draft.thinktime_blocks)
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(1)
                .max(1),
            runtime_ns: value(&draft.runtime_ns).filter(|ns| *ns > 0),
            ramp_time_ns: value(&draft.ramp_time_ns).unwrap_or(0),
            startdelay_ns: value(&draft.startdelay_ns).unwrap_or(0),
            cpus_allowed: draft.cpus.as_ref().map(|set| set.value.clone()),
            cpus_split: value(&draft.cpus_split).unwrap_or(false),
            ioscheduler: draft.ioscheduler.as_ref().map(|set| set.value.clone()),
            phase,
            hipri: value(&draft.hipri).unwrap_or(false),
            prio: prio(value(&draft.prioclass), value(&draft.prio), PrioClass::Be),
            cmdprio_percentage: [0, 1]
                .map(|d| value(&draft.cmdprio_percentage[d]).and_then(|n| u8::try_from(n).ok()).unwrap_or(0)),
            cmdprio: prio(
                Some(value(&draft.cmdprio_class).unwrap_or(1)),
                value(&draft.cmdprio),
                PrioClass::Rt,
            ),
            trim: match direction {
                Direction::Read | Direction::Write | Direction::Mixed => Trim::None,
                Direction::Trim => Trim::Only,
                Direction::TrimWrite => Trim::BeforeWrite,
            },
            fsync: self.fsync(),
            end_fsync: value(&draft.end_fsync).unwrap_or(false),
            dsync: value(&draft.sync).unwrap_or(false),
            invalidate: value(&draft.invalidate).unwrap_or(true),
            random_map: pattern == Pattern::Random && !value(&draft.norandommap).unwrap_or(false),
            distribution: value(&draft.distribution).unwrap_or_default(),
            percentage_random: [0, 1].map(|d| {
                value(&draft.percentage_random[d]).and_then(|n| u8::try_from(n).ok()).unwrap_or(100)
            }),
            run: self.limited(&draft.run, "the number behind rw", 1, u32::MAX),
            sequencer: value(&draft.sequencer).unwrap_or_default(),
            sync_file_range: value(&draft.sync_file_range).filter(|_| !direct),
            ..JobSpec::default()
        };
        self.buffered(direct, engine);
        self.depth(&mut spec);
        self.sizes(&mut spec, direction);
        self.timing(&mut spec);
        self.binding(&mut spec);
        spec
    }

    /// A count, cut to what the model holds.
    fn limited(&mut self, given: &Given<u64>, name: &str, default: u32, max: u32) -> u32 {
        let Some(Set { value, at }) = given else { return default };
        match u32::try_from(*value) {
            Ok(count) if count <= max => count,
            _ => {
                self.warn(*at, format!("{name}={value} is cut to {max}, the most that is simulated."), "");
                max
            }
        }
    }

    /// Writes between two flushes: to a block device fsync and fdatasync are one.
    fn fsync(&mut self) -> u32 {
        let every = self.limited(&self.draft.fsync, "fsync", 0, u32::MAX);
        let data_every = self.limited(&self.draft.fdatasync, "fdatasync", 0, u32::MAX);
        match (every, data_every) {
            (0, n) | (n, 0) => n,
            (every, data_every) => every.min(data_every),
        }
    }

    fn read_percent(&mut self, direction: Direction) -> u8 {
        let given = self.draft.read_percent.as_ref();
        match (direction, given) {
            (Direction::Mixed, given) => given.map_or(50, |set| set.value),
            (pure, given) => {
                if let Some(set) = given.filter(|set| set.at >= self.section.at) {
                    self.warn(
                        set.at,
                        "A mix of reads and writes needs rw=rw or rw=randrw; it has no effect here.",
                        "",
                    );
                }
                if pure == Direction::Read { 100 } else { 0 }
            }
        }
    }

    fn buffered(&mut self, direct: bool, engine: Engine) {
        if direct {
            return;
        }
        let at = self.draft.direct.as_ref().map_or(self.section.at, |set| set.at);
        let how = match engine {
            Engine::Psync => return,
            Engine::Libaio => "libaio blocks in io_submit then, so that iodepth is not reached.",
            Engine::IoUring => {
                "io_uring would give what blocks to a worker; here it blocks in the call, so that iodepth is not reached."
            }
        };
        let message =
            format!("'{}' is buffered I/O (direct=0, fio's default): {how}", quote(&self.section.name));
        self.warn(at, message, "Write direct=1 if that is meant.");
    }

    /// iodepth and its companions. fio sets what is 0 or above iodepth to iodepth, and raises the most
    /// completions to the least: by default one `io_getevents` call takes exactly one.
    fn depth(&mut self, spec: &mut JobSpec) {
        let draft = self.draft;
        let depth = self.limited(&draft.iodepth, "iodepth", 1, IODEPTH_MAX);
        let capped = |given: &Given<u64>, default: u32| {
            let n = value(given).map_or(default, |n| u32::try_from(n).unwrap_or(u32::MAX));
            if n == 0 || n > depth { depth } else { n }
        };
        let at_most_depth = |given: &Given<u64>, default: u64| {
            u32::try_from(value(given).unwrap_or(default)).unwrap_or(u32::MAX).min(depth)
        };
        spec.iodepth = depth;
        spec.iodepth_batch_submit = capped(&draft.batch_submit, 1);
        spec.iodepth_low = capped(&draft.iodepth_low, 0);
        spec.iodepth_batch_complete_min = at_most_depth(&draft.batch_complete_min, 1);
        spec.iodepth_batch_complete_max =
            at_most_depth(&draft.batch_complete_max, 0).max(spec.iodepth_batch_complete_min).max(1);
        if spec.engine == Engine::Psync {
            if let Some(set) = draft.iodepth.as_ref().filter(|set| set.value > 1) {
                let engine = draft.engine_name.as_ref().map_or("psync", |set| set.value.as_str());
                let message =
                    format!("iodepth={} has no effect with {engine}: one I/O is in flight.", set.value);
                self.warn(set.at, message, "Use libaio or io_uring for more, or numjobs.");
            }
            spec.iodepth = 1;
            spec.iodepth_batch_submit = 1;
            spec.iodepth_low = 1;
            spec.iodepth_batch_complete_min = spec.iodepth_batch_complete_min.min(1);
            spec.iodepth_batch_complete_max = 1;
        }
    }

    fn sizes(&mut self, spec: &mut JobSpec, direction: Direction) {
        let draft = self.draft;
        spec.offset = draft.offset.as_ref().map_or(Amount::Bytes(0), |set| self.aligned(set, "offset"));
        spec.offset_increment = draft
            .offset_increment
            .as_ref()
            .map_or(Amount::Bytes(0), |set| self.aligned(set, "offset_increment"));
        let unset = |amount: &Amount| *amount == Amount::Bytes(0);
        spec.size = value(&draft.size)
            .filter(|size| !unset(size))
            .or_else(|| value(&draft.filesize).filter(|bytes| *bytes > 0).map(Amount::Bytes));
        spec.io_size = value(&draft.io_size).filter(|size| !unset(size));
        let mut written = [0, 1].map(|d| value(&draft.bs[d]).unwrap_or(BS_DEFAULT));
        if direction == Direction::Trim {
            written[1] = value(&draft.trim_bs).unwrap_or(written[1]);
        }
        let rounded = [0, 1].map(|d| self.block(d, written[d]));
        spec.bs = rounded.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let used = match direction {
            Direction::Read => [Some(0), None],
            Direction::Write | Direction::Trim | Direction::TrimWrite => [None, Some(1)],
            Direction::Mixed => [Some(0), Some(1)],
        };
        let used: Vec<usize> = used.into_iter().flatten().collect();
        let one_size = used.iter().all(|d| written[*d] == written[used[0]]);
        let (block_written, block) = (written[used[0]], rounded[used[0]]);
        if let Some(Set { value: Amount::Bytes(size), at }) = &draft.size {
            let largest = used.iter().map(|d| rounded[*d]).max().unwrap_or(BS_DEFAULT);
            if *size > 0 && *size < largest {
                let message = format!("size={size} is less than one block of {largest} bytes.");
                self.error(*at, message, "Raise size or lower bs; a number without unit is in bytes.");
            }
        }
        // As many I/Os as the user's block size gives, not fewer larger ones.
        if one_size && block != block_written {
            let scaled = |amount: Option<Amount>| match amount {
                Some(Amount::Bytes(bytes)) => {
                    Some(Amount::Bytes((bytes / block_written).saturating_mul(block).max(block)))
                }
                other => other,
            };
            spec.size = scaled(spec.size);
            spec.io_size = scaled(spec.io_size);
        }
        self.split(spec);
        let one_size = one_size && !spec.sizes_vary();
        self.repeats(spec, one_size.then_some(block));
    }

    /// bssplit and bsrange, in whole sectors.
    fn split(&mut self, spec: &mut JobSpec) {
        let draft = self.draft;
        if let Some(Set { value, .. }) = &draft.bssplit {
            spec.bssplit = value.clone();
        }
        if let Some(Set { value, .. }) = &draft.bsrange {
            spec.bsrange =
                Some(value.map(|range| range.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))));
        }
        let sizes = spec.bssplit.iter_mut().flatten().map(|share| &mut share.bytes);
        let range = spec.bsrange.iter_mut().flatten().flatten();
        let mut rounded = None;
        for bytes in sizes.chain(range) {
            let up = bytes.next_multiple_of(SECTOR as u32);
            if up != *bytes {
                rounded = Some((*bytes, up));
            }
            *bytes = up;
        }
        let at = draft.bssplit.as_ref().map(|set| set.at).or(draft.bsrange.as_ref().map(|set| set.at));
        if let (Some((from, to)), Some(at)) = (rounded, at) {
            let message = format!("{from} bytes is not a multiple of 512; such I/Os have {to} bytes here.");
            self.warn(
                at,
                message,
                "Direct I/O of that size fails with EINVAL; only the page cache takes it.",
            );
        }
    }

    /// loops and number_ios, as bytes in all.
    fn repeats(&mut self, spec: &mut JobSpec, block: Option<u64>) {
        if let Some(Set { value: loops @ 2.., at }) = &self.draft.loops {
            match (spec.io_size, u32::try_from(*loops)) {
                (None, Ok(loops)) => spec.loops = loops,
                (Some(_), _) => self.warn(*at, "loops is simulated only without io_size.", ""),
                _ => self.error(*at, format!("loops={loops} is too large."), "Write time_based and runtime."),
            }
        }
        if let Some(Set { value: count @ 1.., at }) = &self.draft.number_ios {
            let wanted = spec.io_size.or(spec.size);
            match (block, wanted) {
                (Some(block), None) => spec.io_size = Some(Amount::Bytes(block.saturating_mul(*count))),
                (Some(block), Some(Amount::Bytes(bytes))) => {
                    spec.io_size = Some(Amount::Bytes(block.saturating_mul(*count).min(bytes)));
                }
                _ => self.warn(*at, "number_ios is simulated only with one bs and with sizes in bytes.", ""),
            }
        }
    }

    /// A place in the file, rounded down to a sector.
    fn aligned(&mut self, set: &Set<Amount>, name: &str) -> Amount {
        match set.value {
            Amount::Bytes(bytes) if bytes % SECTOR != 0 => {
                let down = bytes - bytes % SECTOR;
                let message = format!("{name}={bytes} is not a multiple of 512 bytes; {down} is used.");
                self.warn(set.at, message, "Direct I/O fails with EINVAL there.");
                Amount::Bytes(down)
            }
            other => other,
        }
    }

    /// A block size that the block layer can carry.
    fn block(&mut self, direction: usize, bytes: u64) -> u64 {
        let Some(at) = self.draft.bs[direction].as_ref().map(|set| set.at) else { return bytes };
        if bytes > BS_MAX {
            self.error(
                at,
                format!("bs={bytes} is above {BS_MAX} bytes, the most that is simulated."),
                "Lower bs.",
            );
            return BS_MAX;
        }
        let up = bytes.next_multiple_of(SECTOR);
        if up != bytes {
            let message = format!(
                "bs={bytes} is not a multiple of 512 bytes; each I/O has {up} bytes here, their number stays."
            );
            self.warn(
                at,
                message,
                "Direct I/O of that size fails with EINVAL; only the page cache takes it.",
            );
        }
        up
    }

    fn timing(&mut self, spec: &mut JobSpec) {
        let draft = self.draft;
        if let Some(Set { value: true, at }) = &draft.time_based {
            spec.time_based = spec.runtime_ns.is_some();
            if !spec.time_based {
                self.warn(
                    *at,
                    "time_based needs a runtime; it has no effect here.",
                    "Write for example runtime=60.",
                );
            }
        }
        if let Some(Set { value: poisson, at }) = &draft.rate_poisson {
            let limited = spec.rate_iops.iter().any(Option::is_some) || spec.rate.iter().any(Option::is_some);
            spec.rate_poisson = *poisson && limited;
            if *poisson && !limited {
                self.warn(*at, "rate_process needs a rate or rate_iops; it has no effect here.", "");
            }
        }
        for (name, given) in [("rate_iops", &draft.rate_iops)] {
            for Set { value, at } in given.iter().flatten() {
                if u32::try_from(*value).is_err() {
                    self.error(*at, format!("{name}={value} is too large."), "Leave it out for no limit.");
                }
            }
        }
        if let Some(Set { value: blocks, at }) = &draft.thinktime_blocks
            && u32::try_from(*blocks).is_err()
        {
            self.error(*at, format!("thinktime_blocks={blocks} is too large."), "");
        }
        if spec.thinktime_spin_ns > spec.thinktime_ns {
            spec.thinktime_spin_ns = spec.thinktime_ns;
        }
    }

    fn binding(&mut self, spec: &mut JobSpec) {
        if let Some(Set { value: nodes, at }) = &self.draft.nodes {
            match nodes {
                Nodes::All => {}
                Nodes::One(node) => spec.numa_node = Some(*node),
                Nodes::Several => self.warn(
                    *at,
                    "Binding to several NUMA nodes is not simulated; the job may run on all CPUs.",
                    "Name one node, or list CPUs in cpus_allowed.",
                ),
            }
        }
        if let Some(Set { value: true, at }) = &self.draft.cpus_split
            && spec.cpus_allowed.is_none()
        {
            self.warn(*at, "cpus_allowed_policy needs cpus_allowed; it has no effect here.", "");
        }
    }
}

fn positive<T: PartialOrd + Default>(limit: Option<T>) -> Option<T> {
    limit.filter(|limit| *limit > T::default())
}

/// Keeps the number of processes within [`PROCESSES_MAX`], every job keeping one at least.
pub(super) fn limit_processes(plans: &mut Vec<Plan>, findings: &mut Findings) {
    let most = PROCESSES_MAX as usize;
    if plans.len() > most {
        let at = plans[most].at;
        let message = format!("{} jobs; the most is {most}.", plans.len());
        findings.add(Diagnostic::error(at.line, at.column, message, "Leave out those that do not matter."));
        plans.truncate(most);
    }
    let mut left = PROCESSES_MAX;
    let mut after = u32::try_from(plans.len()).unwrap_or(PROCESSES_MAX);
    for plan in plans {
        after -= 1;
        let most = left - after;
        if plan.spec.numjobs > most {
            findings.add(Diagnostic::warning(
                plan.at.line,
                plan.at.column,
                format!(
                    "numjobs={} of '{}' is cut to {most}: all jobs together may have {PROCESSES_MAX} processes.",
                    plan.spec.numjobs,
                    quote(&plan.spec.name)
                ),
                "",
            ));
            plan.spec.numjobs = most;
        }
        left -= plan.spec.numjobs;
    }
}
