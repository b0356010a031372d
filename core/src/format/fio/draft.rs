//! A job under construction: what its section and the [global] sections before it have set so far.

use super::Context;
use super::options::{self, Class, FioOption, Form};
use super::source::{At, Entry, Section};
use super::units::{Problem, amount, bytes, problem, time_ns};
use super::{Accepted, Effect};
use super::{lists, values};
use crate::diag::Diagnostic;
use crate::format::text::{Findings, quote};
use crate::workload::{Amount, BsShare, Distribution, Engine, Pattern, Sequencer, SyncFileRange};

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set<T> {
    pub(super) value: T,
    pub(super) at: At,
}

/// A value that may have been given.
pub(super) type Given<T> = Option<Set<T>>;

/// The directions that `rw` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
    Mixed,
    /// Discards only.
    Trim,
    /// Each block is discarded, then written.
    TrimWrite,
}

/// Which CPUs' memory and cores a job is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    All,
    One(u16),
    Several,
}

/// Options in force. Everything is as written; [`super::job`] draws the conclusions.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Given<String>,
    pub(super) engine_name: Given<String>,
    pub(super) engine: Given<Engine>,
    pub(super) kb_base: Option<u64>,
    pub(super) rw: Given<(Pattern, Direction)>,
    pub(super) rwmixread: Given<u8>,
    pub(super) rwmixwrite: Given<u8>,
    /// The share of reads by the later of the two.
    pub(super) read_percent: Given<u8>,
    pub(super) bs: [Given<u64>; 2],
    /// The third part of bs.
    pub(super) trim_bs: Given<u64>,
    pub(super) size: Given<Amount>,
    pub(super) io_size: Given<Amount>,
    pub(super) filesize: Given<u64>,
    pub(super) offset: Given<Amount>,
    pub(super) offset_increment: Given<Amount>,
    pub(super) loops: Given<u64>,
    pub(super) number_ios: Given<u64>,
    pub(super) iodepth: Given<u64>,
    pub(super) batch_submit: Given<u64>,
    pub(super) batch_complete_min: Given<u64>,
    pub(super) batch_complete_max: Given<u64>,
    pub(super) iodepth_low: Given<u64>,
    pub(super) numjobs: Given<u64>,
    pub(super) direct: Given<bool>,
    pub(super) rate: [Given<u64>; 2],
    pub(super) rate_iops: [Given<u64>; 2],
    pub(super) rate_poisson: Given<bool>,
    pub(super) thinktime_ns: Given<u64>,
    pub(super) thinktime_spin_ns: Given<u64>,
    pub(super) thinktime_blocks: Given<u64>,
    pub(super) runtime_ns: Given<u64>,
    pub(super) ramp_time_ns: Given<u64>,
    pub(super) startdelay_ns: Given<u64>,
    pub(super) time_based: Given<bool>,
    pub(super) cpus: Given<Vec<u16>>,
    pub(super) cpus_split: Given<bool>,
    pub(super) nodes: Given<Nodes>,
    pub(super) ioscheduler: Given<String>,
    pub(super) stonewall: Given<bool>,
    pub(super) filename: Given<String>,
    pub(super) directory: Given<String>,
    pub(super) filename_format: Given<String>,
    pub(super) nrfiles: Given<u64>,
    pub(super) hipri: Given<bool>,
    pub(super) prio: Given<u64>,
    pub(super) prioclass: Given<u64>,
    /// Of reads and of writes.
    pub(super) cmdprio_percentage: [Given<u64>; 2],
    pub(super) cmdprio_class: Given<u64>,
    pub(super) cmdprio: Given<u64>,
    pub(super) fsync: Given<u64>,
    pub(super) fdatasync: Given<u64>,
    pub(super) end_fsync: Given<bool>,
    pub(super) sync: Given<bool>,
    pub(super) invalidate: Given<bool>,
    pub(super) bssplit: Given<[Vec<BsShare>; 2]>,
    pub(super) bsrange: Given<[[u64; 2]; 2]>,
    pub(super) norandommap: Given<bool>,
    pub(super) distribution: Given<Distribution>,
    pub(super) percentage_random: [Given<u64>; 2],
    /// I/Os from each random offset.
    pub(super) run: Given<u64>,
    pub(super) sequencer: Given<Sequencer>,
    pub(super) sync_file_range: Given<SyncFileRange>,
}

/// Applies sections to drafts and keeps the account of what was accepted.
pub(super) struct Applier<'a> {
    pub(super) context: &'a Context,
    pub(super) findings: &'a mut Findings,
    pub(super) accepted: &'a mut Vec<Accepted>,
    /// Where the section under way begins: what stands before it is inherited, and may be overruled silently.
    pub(super) section_at: At,
}

impl Applier<'_> {
    /// Sets everything that `section` says. fio reads kb_base and ioengine first, wherever they stand.
    pub(super) fn section(&mut self, draft: &mut Draft, section: &Section) {
        self.section_at = section.at;
        let first = |entry: &&Entry| matches!(entry.name.as_str(), "kb_base" | "ioengine");
        for entry in section.entries.iter().filter(first) {
            self.entry(draft, section, entry);
        }
        for entry in section.entries.iter().filter(|entry| !first(entry)) {
            if self.findings.hopeless() {
                return;
            }
            self.entry(draft, section, entry);
        }
    }

    fn warn(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::warning(at.line, at.column, message, remedy));
    }

    fn error(&mut self, at: At, message: impl Into<String>, remedy: impl Into<String>) {
        self.findings.add(Diagnostic::error(at.line, at.column, message, remedy));
    }

    fn entry(&mut self, draft: &mut Draft, section: &Section, entry: &Entry) {
        let Some(option) = options::find(&entry.name) else {
            let message = format!("Unknown option '{}'.", quote(&entry.name));
            self.error(entry.at, message, options::remedy(&entry.name));
            return;
        };
        if !self.engine_has(option, draft, entry) || entry.missing {
            return;
        }
        let value = match (&entry.value, option.form) {
            (Some(value), _) if !value.is_empty() => value.as_str(),
            (None, Form::Flag) => "1",
            (None, Form::Optional) => "",
            _ => {
                let message = format!("'{}' needs a value.", option.name);
                self.error(entry.at, message, format!("Write {}=VALUE.", option.name));
                return;
            }
        };
        if matches!(option.form, Form::Bool | Form::Flag) && values::flag(value).is_none() {
            let message = format!("{}: '{}' is neither 0 nor 1.", option.name, quote(value));
            self.error(entry.value_at, message, "Write 0 or 1.");
            return;
        }
        let effect = match option.class {
            Class::NoEffect => Effect::None,
            Class::NotModelled | Class::Refused if option.is_off(value) => Effect::None,
            Class::Refused => {
                self.error(entry.at, format!("'{}' is not simulated.", option.name), option.note);
                return;
            }
            Class::NotModelled => {
                self.warn(entry.at, format!("'{}' has no effect here.", option.name), option.note);
                Effect::NotSimulated
            }
            Class::Modelled => {
                if let Err(Problem { message, remedy }) = self.modelled(draft, option, value, entry) {
                    self.error(entry.value_at, format!("{}: {message}", option.name), remedy);
                    return;
                }
                Effect::Simulated
            }
        };
        self.accepted.push(Accepted {
            line: entry.at.line,
            column: entry.at.column,
            section: section.name.clone(),
            option: option.name.into(),
            value: entry.value.clone().unwrap_or_default(),
            effect,
        });
    }

    /// Whether the engine in force has the option; says so if not.
    fn engine_has(&mut self, option: &FioOption, draft: &Draft, entry: &Entry) -> bool {
        let engine = draft.engine_name.as_ref().map_or("psync", |set| set.value.as_str());
        if option.engines.is_empty() || option.engines.split(' ').any(|name| name == engine) {
            return true;
        }
        let engines = option.engines.replace(' ', ", ");
        self.error(
            entry.at,
            format!(
                "'{}' exists only for ioengine {engines}; this section uses {}.",
                option.name,
                quote(engine)
            ),
            "Choose another ioengine or take it out.",
        );
        false
    }

    /// fio compares these words from the first character on, so that a blank before them is fatal.
    fn word<'v>(&mut self, option: &FioOption, value: &'v str, entry: &Entry) -> &'v str {
        if entry.blank_before_value {
            self.warn(
                entry.value_at,
                format!("fio 3.33 refuses the blank before '{}' and drops the whole section.", quote(value)),
                format!("Write {}={} for fio; here it is accepted.", option.name, quote(value)),
            );
        }
        value
    }

    #[allow(clippy::too_many_lines)] // one arm an option
    fn modelled(
        &mut self,
        draft: &mut Draft,
        option: &FioOption,
        value: &str,
        entry: &Entry,
    ) -> Result<(), Problem> {
        let at = entry.value_at;
        let kb_base = draft.kb_base.unwrap_or(1024);
        match option.name {
            "kb_base" => draft.kb_base = Some(values::kb_base(self.word(option, value, entry))?),
            "ioengine" => {
                draft.engine = set(values::engine(value)?, at);
                draft.engine_name = set(value.to_string(), at);
                if value == "vsync" {
                    self.warn(
                        at,
                        "vsync joins neighbouring I/Os; here each is sent alone, as psync does.",
                        "",
                    );
                }
            }
            "rw" => {
                let word = self.word(option, value, entry);
                let (word, modifier) = word.split_once(':').map_or((word, None), |(w, m)| (w, Some(m)));
                draft.rw = set(values::rw(word)?, at);
                let random = draft.rw.as_ref().is_some_and(|set| set.value.0 == Pattern::Random);
                draft.run = None;
                if let Some(count) = modifier.filter(|_| random).and_then(|m| m.parse::<u64>().ok()) {
                    draft.run = set(count.max(1), at);
                } else if let Some(modifier) = modifier {
                    let message = format!("The modifier ':{}' of rw is not simulated.", quote(modifier));
                    self.warn(at, message, format!("It runs as rw={word}."));
                }
            }
            "bssplit" => {
                draft.bssplit = set(lists::bssplit(value, kb_base)?, at);
                draft.bsrange = None;
            }
            "bsrange" => {
                draft.bsrange = set(lists::bsrange(value, kb_base)?, at);
                draft.bssplit = None;
            }
            "norandommap" => draft.norandommap = set(values::flag(value) == Some(true), at),
            "random_distribution" => draft.distribution = set(lists::distribution(value)?, at),
            "percentage_random" => {
                values::percents(value)?;
                self.pair(&mut draft.percentage_random, option, value, kb_base, at, 0)?;
            }
            "rw_sequencer" => draft.sequencer = set(lists::sequencer(self.word(option, value, entry))?, at),
            "sync_file_range" => draft.sync_file_range = set(lists::sync_file_range(value)?, at),
            "rwmixread" | "rwmixwrite" => self.mix(draft, option.name, values::percent(value)?, at),
            "bs" => {
                self.pair(&mut draft.bs, option, value, kb_base, at, 1)?;
                let third = value.split(',').nth(2).map(str::trim).filter(|part| !part.is_empty());
                draft.trim_bs = match third {
                    Some(part) => set(self.number(option, part, kb_base, at, 1)?, at),
                    None => None,
                };
            }
            "rate" => self.pair(&mut draft.rate, option, value, kb_base, at, 0)?,
            "rate_iops" => self.pair(&mut draft.rate_iops, option, value, kb_base, at, 0)?,
            "rate_process" => {
                draft.rate_poisson = set(values::rate_process(self.word(option, value, entry))?, at)
            }
            "size" => draft.size = set(self.amount(option, value, kb_base, at)?, at),
            "io_size" => draft.io_size = set(self.amount(option, value, kb_base, at)?, at),
            "offset" => draft.offset = set(self.amount(option, value, kb_base, at)?, at),
            "offset_increment" => draft.offset_increment = set(self.amount(option, value, kb_base, at)?, at),
            "filesize" => draft.filesize = set(self.number(option, value, kb_base, at, 0)?, at),
            "loops" => draft.loops = set(self.number(option, value, kb_base, at, 0)?, at),
            "number_ios" => draft.number_ios = set(self.number(option, value, kb_base, at, 0)?, at),
            "nrfiles" => draft.nrfiles = set(self.number(option, value, kb_base, at, 0)?, at),
            "numjobs" => draft.numjobs = set(self.number(option, value, kb_base, at, 1)?, at),
            "iodepth" => draft.iodepth = set(self.number(option, value, kb_base, at, 1)?, at),
            "iodepth_batch" => draft.batch_submit = set(self.number(option, value, kb_base, at, 0)?, at),
            "iodepth_batch_complete_min" => {
                draft.batch_complete_min = set(self.number(option, value, kb_base, at, 0)?, at);
            }
            "iodepth_batch_complete_max" => {
                draft.batch_complete_max = set(self.number(option, value, kb_base, at, 0)?, at);
            }
            "iodepth_low" => draft.iodepth_low = set(self.number(option, value, kb_base, at, 0)?, at),
            "direct" | "buffered" => self.direct(draft, option.name, values::flag(value) == Some(true), at),
            "time_based" => draft.time_based = set(values::flag(value) == Some(true), at),
            "stonewall" => draft.stonewall = set(values::flag(value) == Some(true), at),
            "fsync" => draft.fsync = set(self.number(option, value, kb_base, at, 0)?, at),
            "fdatasync" => draft.fdatasync = set(self.number(option, value, kb_base, at, 0)?, at),
            "end_fsync" => draft.end_fsync = set(values::flag(value) == Some(true), at),
            "sync" => draft.sync = set(values::sync(self.word(option, value, entry))?, at),
            "invalidate" => draft.invalidate = set(values::flag(value) == Some(true), at),
            "hipri" => draft.hipri = set(values::flag(value) == Some(true), at),
            "prio" => draft.prio = set(values::up_to(value, 7)?, at),
            "prioclass" => draft.prioclass = set(values::up_to(value, 3)?, at),
            "cmdprio_percentage" => {
                values::percents(value)?;
                self.pair(&mut draft.cmdprio_percentage, option, value, kb_base, at, 0)?;
            }
            "cmdprio_class" => draft.cmdprio_class = set(values::up_to(value, 3)?, at),
            "cmdprio" => draft.cmdprio = set(values::up_to(value, 7)?, at),
            "thinktime" => draft.thinktime_ns = set(time_ns(value, values::USEC)?, at),
            "thinktime_spin" => draft.thinktime_spin_ns = set(time_ns(value, values::USEC)?, at),
            "thinktime_blocks" => {
                draft.thinktime_blocks = set(self.number(option, value, kb_base, at, 0)?, at)
            }
            "runtime" => draft.runtime_ns = set(time_ns(value, values::SECOND)?, at),
            "ramp_time" => draft.ramp_time_ns = set(time_ns(value, values::SECOND)?, at),
            "startdelay" => {
                let (from, to) = value.split_once('-').map_or((value, None), |(from, to)| (from, Some(to)));
                draft.startdelay_ns = set(time_ns(from, values::SECOND)?, at);
                if let Some(to) = to {
                    time_ns(to, values::SECOND)?;
                    self.warn(at, format!("startdelay is drawn from a range by fio; here it is {from}."), "");
                }
            }
            "cpus_allowed" => draft.cpus = set(values::cpus(value, self.context.cpus)?, at),
            "cpumask" => {
                draft.cpus = set(values::cpu_mask(bytes(value, kb_base)?.value, self.context.cpus)?, at)
            }
            "cpus_allowed_policy" => {
                draft.cpus_split = set(values::cpus_split(self.word(option, value, entry))?, at)
            }
            "numa_cpu_nodes" => draft.nodes = set(values::nodes(value)?, at),
            "ioscheduler" => draft.ioscheduler = set(values::scheduler(value)?, at),
            "name" => draft.name = set(value.to_string(), at),
            "filename" => draft.filename = set(value.to_string(), at),
            "directory" => draft.directory = set(value.to_string(), at),
            "filename_format" => draft.filename_format = set(value.to_string(), at),
            other => return Err(problem(format!("'{other}' is not simulated."), "Take it out.")),
        }
        Ok(())
    }

    /// Says what the KiB of fio would have been.
    fn kib(&mut self, option: &FioOption, text: &str, value: u64, fio_value: Option<u64>, at: At) {
        if let Some(fio_value) = fio_value {
            self.warn(
                at,
                format!(
                    "{}={}: read as {value} bytes. fio 3.33 itself gives {fio_value}: with its kb_base of 1024, KiB \
                     means 1000 and kB means 1024.",
                    option.name,
                    quote(text)
                ),
                "Write k, m or g, which mean the same to all.",
            );
        }
    }

    fn number(
        &mut self,
        option: &FioOption,
        text: &str,
        kb_base: u64,
        at: At,
        min: u64,
    ) -> Result<u64, Problem> {
        let number = bytes(text, kb_base)?;
        if number.value < min {
            return Err(problem(format!("'{}' is below the least value, {min}.", quote(text)), ""));
        }
        self.kib(option, text, number.value, number.fio_value, at);
        Ok(number.value)
    }

    fn amount(&mut self, option: &FioOption, text: &str, kb_base: u64, at: At) -> Result<Amount, Problem> {
        let (amount, fio_value) = amount(text, kb_base)?;
        if let Amount::Bytes(value) = amount {
            self.kib(option, text, value, fio_value, at);
        }
        Ok(amount)
    }

    /// `a`, `a,b`, `,b`, `a,`: one value for all directions, or one each for reads and writes (the third is for
    /// trims). An empty place leaves what was.
    fn pair(
        &mut self,
        pair: &mut [Given<u64>; 2],
        option: &FioOption,
        text: &str,
        kb_base: u64,
        at: At,
        min: u64,
    ) -> Result<(), Problem> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > 3 {
            return Err(problem(
                format!("'{}' has more than three parts.", quote(text)),
                "Write READ,WRITE.",
            ));
        }
        for (index, part) in parts.iter().enumerate() {
            if part.is_empty() {
                continue;
            }
            let given = set(self.number(option, part, kb_base, at, min)?, at);
            match (index, parts.len()) {
                (0, 1) => *pair = [given.clone(), given],
                (0 | 1, _) => pair[index] = given,
                _ => {}
            }
        }
        Ok(())
    }

    fn mix(&mut self, draft: &mut Draft, name: &str, percent: u8, at: At) {
        let (this, other, reads) = if name == "rwmixread" {
            (&mut draft.rwmixread, &draft.rwmixwrite, percent)
        } else {
            (&mut draft.rwmixwrite, &draft.rwmixread, 100 - percent)
        };
        let before = other.as_ref().filter(|set| set.at >= self.section_at).map(|set| set.value);
        *this = set(percent, at);
        draft.read_percent = set(reads, at);
        if let Some(before) = before.filter(|before| before + percent != 100) {
            let message =
                format!("rwmixread and rwmixwrite add up to {}; the later one counts.", before + percent);
            self.warn(at, message, format!("It runs with {reads} % reads."));
        }
    }

    fn direct(&mut self, draft: &mut Draft, name: &str, on: bool, at: At) {
        let direct = if name == "direct" { on } else { !on };
        let contradicts = |before: &&Set<bool>| before.value != direct && before.at >= self.section_at;
        if let Some(before) = draft.direct.as_ref().filter(contradicts) {
            let message = format!("This contradicts line {}; the later one counts.", before.at.line);
            self.warn(at, message, format!("It runs with direct={}.", u8::from(direct)));
        }
        draft.direct = set(direct, at);
    }
}

#[allow(clippy::unnecessary_wraps)] // every caller stores it in a `Given`
fn set<T>(value: T, at: At) -> Given<T> {
    Some(Set { value, at })
}
