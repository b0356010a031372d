//! Words and lists in the values of single options.

use super::draft::{Direction, Nodes};
use super::units::{Problem, problem};
use crate::diag::nearest;
use crate::format::text::quote;
use crate::workload::{Engine, Pattern};

/// Unit of a bare number in thinktime, ns.
pub(super) const USEC: u64 = 1_000;
/// Unit of a bare number in runtime, ramp_time and startdelay, ns.
pub(super) const SECOND: u64 = 1_000_000_000;
/// CPU numbers are below this where the machine is not known.
const CPUS_MAX: u32 = 8192;
/// `0` or `1`.
pub(super) fn flag(value: &str) -> Option<bool> {
    match value.parse::<u8>() {
        Ok(0) => Some(false),
        Ok(1) => Some(true),
        _ => None,
    }
}

/// The meaning of a word out of a list; says which is nearest if it is not in it.
pub(super) fn word<T: Copy>(value: &str, known: &[(&'static str, T)]) -> Result<T, Problem> {
    if let Some((_, meaning)) = known.iter().find(|(name, _)| *name == value) {
        return Ok(*meaning);
    }
    let names = || known.iter().map(|(name, _)| *name);
    let all = names().collect::<Vec<_>>().join(", ");
    let remedy = match nearest(&value.to_ascii_lowercase(), names()) {
        Some(name) => format!("Did you mean '{name}'? Known: {all}."),
        None => format!("Known: {all}."),
    };
    Err(problem(format!("'{}' is not known.", quote(value)), remedy))
}

pub(super) fn kb_base(value: &str) -> Result<u64, Problem> {
    word(value, &[("1024", 1024), ("1000", 1000)])
}

/// Engines that hand single reads and writes to the kernel.
const ENGINES: [(&str, Engine); 7] = [
    ("psync", Engine::Psync),
    ("sync", Engine::Psync),
    ("pvsync", Engine::Psync),
    ("pvsync2", Engine::Psync),
    ("vsync", Engine::Psync),
    ("libaio", Engine::Libaio),
    ("io_uring", Engine::IoUring),
];

/// Engines of fio 3.33 (`fio --enghelp`) that do something else.
const OTHER_ENGINES: &str = "cpuio mmap null net netsplice ftruncate filecreate filestat filedelete exec posixaio falloc \
     e4defrag splice gfapi gfapi_async mtd sg io_uring_cmd nbd rdma rados rbd pmemblk dev-dax libpmem libcufile \
     http ime_psync ime_psyncv ime_aio libiscsi guasi solarisaio windowsaio binject libhdfs xnvme libblkio libzbc \
     dfs nfs external";

pub(super) fn engine(value: &str) -> Result<Engine, Problem> {
    let other = value.split(':').next().unwrap_or_default();
    if OTHER_ENGINES.split_whitespace().any(|name| name == other) {
        return Err(problem(
            format!("the engine '{}' is not simulated.", quote(value)),
            "Use psync, libaio or io_uring.",
        ));
    }
    word(value, &ENGINES)
}

pub(super) fn rw(value: &str) -> Result<(Pattern, Direction), Problem> {
    use {Direction as D, Pattern as P};
    word(
        value,
        &[
            ("read", (P::Sequential, D::Read)),
            ("write", (P::Sequential, D::Write)),
            ("randread", (P::Random, D::Read)),
            ("randwrite", (P::Random, D::Write)),
            ("rw", (P::Sequential, D::Mixed)),
            ("readwrite", (P::Sequential, D::Mixed)),
            ("randrw", (P::Random, D::Mixed)),
            ("trim", (P::Sequential, D::Trim)),
            ("randtrim", (P::Random, D::Trim)),
            ("trimwrite", (P::Sequential, D::TrimWrite)),
            ("randtrimwrite", (P::Random, D::TrimWrite)),
        ],
    )
}

/// O_SYNC and O_DSYNC, which are one to a block device.
pub(super) fn sync(value: &str) -> Result<bool, Problem> {
    word(value, &[("none", false), ("0", false), ("sync", true), ("1", true), ("dsync", true)])
}

pub(super) fn rate_process(value: &str) -> Result<bool, Problem> {
    word(value, &[("linear", false), ("poisson", true)])
}

pub(super) fn cpus_split(value: &str) -> Result<bool, Problem> {
    word(value, &[("shared", false), ("split", true)])
}

pub(super) fn scheduler(value: &str) -> Result<String, Problem> {
    const KNOWN: [&str; 7] = ["none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"];
    word(value, &KNOWN.map(|name| (name, name))).map(String::from)
}

pub(super) fn percent(value: &str) -> Result<u8, Problem> {
    match value.parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(problem(format!("'{}' is not a whole number from 0 to 100.", quote(value)), "")),
    }
}

/// A percentage, or one for reads and one for writes.
pub(super) fn percents(value: &str) -> Result<(), Problem> {
    value
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .try_for_each(|part| percent(part).map(|_| ()))
}

/// A small number.
pub(super) fn up_to(value: &str, most: u64) -> Result<u64, Problem> {
    match value.parse() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(problem(format!("'{}' is not a whole number from 0 to {most}.", quote(value)), "")),
    }
}

/// Numbers and ranges: `0-3,8`. `count` is how many there are, 0 if that is not known.
fn list(value: &str, count: u32, what: &str) -> Result<Vec<u16>, Problem> {
    let limit = if count == 0 { CPUS_MAX } else { count.min(CPUS_MAX) };
    let mut numbers = Vec::new();
    for part in value.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (from.trim().parse::<u32>(), to.trim().parse::<u32>()) else {
            return Err(problem(
                format!("'{}' is not a {what} or a range of them.", quote(part)),
                "Write for example 0-3,8.",
            ));
        };
        if from > to {
            return Err(problem(
                format!("'{}' runs backwards.", quote(part)),
                "Write the smaller number first.",
            ));
        }
        if to >= limit {
            return Err(problem(
                format!("there is no {what} {to}: the machine has {limit}."),
                format!("Use 0 to {}, or choose a larger machine.", limit - 1),
            ));
        }
        numbers.extend((from..=to).filter_map(|n| u16::try_from(n).ok()));
        if numbers.len() > 2 * CPUS_MAX as usize {
            return Err(problem(format!("'{}' is too long.", quote(value)), ""));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

pub(super) fn cpus(value: &str, count: u32) -> Result<Vec<u16>, Problem> {
    list(value, count, "CPU")
}

pub(super) fn cpu_mask(mask: u64, count: u32) -> Result<Vec<u16>, Problem> {
    let cpus: Vec<u16> = (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect();
    match cpus.last() {
        None => Err(problem("no CPU is in the mask.", "Set at least one bit.")),
        Some(last) if count > 0 && u32::from(*last) >= count => Err(problem(
            format!("there is no CPU {last}: the machine has {count}."),
            format!("Use bits 0 to {}, or choose a larger machine.", count - 1),
        )),
        Some(_) => Ok(cpus),
    }
}

pub(super) fn nodes(value: &str) -> Result<Nodes, Problem> {
    if value == "all" {
        return Ok(Nodes::All);
    }
    let nodes = list(value, 0, "NUMA node")?;
    Ok(match nodes.as_slice() {
        [node] => Nodes::One(*node),
        _ => Nodes::Several,
    })
}
