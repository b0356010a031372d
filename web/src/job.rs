//! The text in the editor as a workload: a fio job, a batch script or dbench's clients, with what its reader said. No browser here.

use crate::preset::Preset;
use mqscope_core::diag::Diagnostic;
use mqscope_core::format::{dbench, fio, iob};
use mqscope_core::host;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, Engine, JobSpec, Pattern, Workload};
use std::collections::BTreeMap;

/// What became of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Errors and warnings, in line order.
    pub findings: Vec<Diagnostic>,
    /// Values the text asks for.
    pub asks: Vec<fio::Ask>,
    /// The scenario without policies; `None` if the text cannot be used.
    pub base: Option<Scenario>,
}

impl Reading {
    /// Findings that forbid a run.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|f| f.is_error()).count()
    }
}

/// Reads a text for a machine, with disks like a preset's.
pub fn read(text: &str, answers: &BTreeMap<String, String>, machine: &str, preset: &Preset) -> Reading {
    let mut reading = match text {
        text if dbench::is_dbench(text) => dbench(text, preset),
        text if is_batch(text) => batch(text, preset),
        text => fio(text, answers, machine, preset),
    };
    if text == preset.job && reading.base.is_some() {
        // Word for word the preset: then it is the preset, with the same state hash as anywhere else.
        reading.base = Some(preset.base.clone());
    }
    reading
}

/// Whether the first word that counts is one of a batch script's.
fn is_batch(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(['#', ';']))
        .and_then(|line| line.split_whitespace().next())
        .is_some_and(|word| ["cpu", "b", "wait", "sleep"].contains(&word))
}

fn batch(text: &str, preset: &Preset) -> Reading {
    match iob::parse(text.as_bytes()) {
        Err(findings) => Reading { findings, ..Reading::default() },
        Ok(parsed) => {
            let mut disks = preset.base.devices.clone();
            for index in disks.len()..usize::from(parsed.devices()) {
                disks.push(DeviceConfig { name: format!("disk{index}"), ..disks[0].clone() });
            }
            let base = preset.scenario(disks, Workload::Batch(parsed.script));
            Reading { findings: parsed.warnings, asks: Vec::new(), base: Some(base) }
        }
    }
}

fn dbench(text: &str, preset: &Preset) -> Reading {
    match dbench::parse(text) {
        Err(findings) => Reading { findings, ..Reading::default() },
        Ok(spec) => {
            let base = preset.scenario(preset.base.devices.clone(), Workload::Dbench(spec));
            Reading { base: Some(base), ..Reading::default() }
        }
    }
}

fn fio(text: &str, answers: &BTreeMap<String, String>, machine: &str, preset: &Preset) -> Reading {
    let cpus = host::machine(machine).map_or(0, |m| m.cpus().into());
    let context = fio::Context { variables: answers.clone(), cpus, ..fio::Context::default() };
    let mut parsed = fio::parse(text.as_bytes(), &context);
    if parsed.is_ok() {
        parsed.diagnostics.extend(strangers(&parsed, preset));
        parsed.diagnostics.sort_by_key(|d| d.line);
    }
    let base = parsed.is_ok().then(|| {
        let mut disks = disks(&parsed.files, preset);
        let mut jobs = parsed.jobs;
        // The members of a stacked disk have to be there though no job names them.
        let all = &preset.base.devices;
        let place = |disk: &DeviceConfig| all.iter().position(|d| d.name == disk.name);
        let places: Option<Vec<usize>> = disks.iter().map(place).collect();
        if let Some(places) = places.filter(|_| disks.iter().any(|disk| !disk.members.is_empty())) {
            for file in jobs.iter_mut().flat_map(|job| &mut job.files) {
                *file = places[usize::from(*file)] as u16;
            }
            disks.clone_from(all);
        }
        preset.scenario(disks, Workload::Jobs(jobs))
    });
    Reading { findings: parsed.diagnostics, asks: parsed.asks, base }
}

/// A warning for each device that the scenario does not have: what there is instead.
fn strangers(parsed: &fio::Parsed, preset: &Preset) -> Vec<Diagnostic> {
    let known: Vec<&str> = preset.base.devices.iter().map(|d| d.name.as_str()).collect();
    let made = disks(&parsed.files, preset);
    let named = parsed.files.iter().zip(&parsed.places).zip(&made);
    let warning = |((file, at), disk): ((&String, &(u32, u32)), &DeviceConfig)| {
        let name = file.strip_prefix("/dev/")?;
        let instead = match (known.contains(&name), name == disk.name) {
            (true, _) => return None,
            (_, true) => format!("one like {} is made", known[0]),
            _ => format!("{} is used instead", disk.name),
        };
        let message = format!(
            "The scenario has no disk '{name}', only {}: {instead} ({}).",
            known.join(", "),
            disk.model
        );
        let remedy = "Name one of those, or choose what the disks are under Device below.";
        Some(Diagnostic::warning(at.0, at.1, message, remedy))
    };
    named.filter_map(warning).collect()
}

/// One disk for each that the job names: the preset's of that name, or another one like its first.
fn disks(files: &[String], preset: &Preset) -> Vec<DeviceConfig> {
    let known = &preset.base.devices;
    let name = |file: &str, index: usize| match file.strip_prefix("/dev/") {
        Some(name) if !name.is_empty() && !name.contains('/') => name.to_string(),
        _ => known.get(index).map_or_else(|| format!("disk{index}"), |d| d.name.clone()),
    };
    let disk = |(index, file): (usize, &String)| {
        let name = name(file, index);
        known
            .iter()
            .find(|d| d.name == name)
            .cloned()
            .unwrap_or_else(|| DeviceConfig { name, ..known[0].clone() })
    };
    files.iter().enumerate().map(disk).collect()
}

/// A workload as text that [`read`] takes back: a fio job, a batch script, or dbench's clients.
pub fn print(workload: &Workload, disks: &[DeviceConfig]) -> String {
    match workload {
        Workload::Batch(script) => iob::print(script),
        Workload::Dbench(spec) => dbench::print(spec),
        Workload::Jobs(jobs) => jobs.iter().map(|job| print_job(job, disks)).collect::<Vec<_>>().join("\n"),
    }
}

/// One section. Options that say what fio does anyway are left out.
fn print_job(job: &JobSpec, disks: &[DeviceConfig]) -> String {
    let usual = JobSpec::default();
    let mut out = format!("[{}]\n", job.name);
    let mut put = |option: &str, value: &dyn std::fmt::Display| out += &format!("{option}={value}\n");
    let files: Vec<_> = job
        .files
        .iter()
        .filter_map(|f| disks.get(usize::from(*f)))
        .map(|d| format!("/dev/{}", d.name))
        .collect();
    put("filename", &files.join(":"));
    put(
        "ioengine",
        &match job.engine {
            Engine::Psync => "psync",
            Engine::Libaio => "libaio",
            Engine::IoUring => "io_uring",
        },
    );
    put("direct", &u8::from(job.direct));
    let random = if job.pattern == Pattern::Random { "rand" } else { "" };
    let direction = match job.rwmixread {
        100 => "read",
        0 => "write",
        _ => "rw",
    };
    put("rw", &format!("{random}{direction}"));
    if !matches!(job.rwmixread, 0 | 100) {
        put("rwmixread", &job.rwmixread);
    }
    match job.bs {
        [read, write] if read == write => put("bs", &read),
        [read, write] => put("bs", &format!("{read},{write}")),
    }
    put("iodepth", &job.iodepth);
    if job.iodepth_batch_submit != usual.iodepth_batch_submit {
        put("iodepth_batch_submit", &job.iodepth_batch_submit);
    }
    if job.iodepth_batch_complete_min != usual.iodepth_batch_complete_min {
        put("iodepth_batch_complete_min", &job.iodepth_batch_complete_min);
    }
    // fio's own default takes one completion at a time.
    match job.iodepth_batch_complete_max {
        0 if job.iodepth > 1 => put("iodepth_batch_complete_max", &job.iodepth),
        0 | 1 => {}
        n => put("iodepth_batch_complete_max", &n),
    }
    if job.pattern == Pattern::Random && !job.random_map {
        put("norandommap", &1);
    }
    for (option, amount) in [("offset", Some(job.offset)), ("offset_increment", Some(job.offset_increment))]
        .into_iter()
        .chain([("size", job.size), ("io_size", job.io_size)])
    {
        match amount {
            Some(Amount::Percent(percent)) => put(option, &format!("{percent}%")),
            Some(Amount::Bytes(bytes)) if bytes > 0 => put(option, &bytes),
            _ => {}
        }
    }
    put("numjobs", &job.numjobs);
    if let Some(node) = job.numa_node {
        put("numa_cpu_nodes", &node);
    }
    if let Some(cpus) = &job.cpus_allowed {
        put("cpus_allowed", &cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(","));
    }
    if job.cpus_split {
        put("cpus_allowed_policy", &"split");
    }
    if job.hipri {
        put("hipri", &1);
    }
    match job.rate_iops {
        [None, None] => {}
        [read, write] => {
            let [read, write] = [read, write].map(|n| n.map_or_else(String::new, |n| n.to_string()));
            put("rate_iops", &format!("{read},{write}"));
        }
    }
    if job.thinktime_ns > 0 {
        put("thinktime", &format!("{}us", job.thinktime_ns / 1000));
    }
    if job.startdelay_ns > 0 {
        put("startdelay", &format!("{}us", job.startdelay_ns / 1000));
    }
    if job.fsync > 0 {
        put("fsync", &job.fsync);
    }
    if job.end_fsync {
        put("end_fsync", &1);
    }
    match (job.time_based, job.runtime_ns) {
        // fio wants an end; the simulated time ends the run long before.
        (true, None) => out += "time_based\nruntime=60\n",
        (true, Some(runtime)) => out += &format!("time_based\nruntime={}us\n", runtime / 1000),
        (false, Some(runtime)) => out += &format!("runtime={}us\n", runtime / 1000),
        (false, None) => {}
    }
    out
}

/// Bytes of a file as text: UTF-8, UTF-16 with its mark, or Latin-1, which takes anything.
pub fn decode(bytes: &[u8]) -> String {
    let utf16 = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|c| from([c[0], c[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.trim_start_matches('\u{feff}').to_string(),
            Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
        },
    }
    .replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset;

    fn read_plain(text: &str) -> Reading {
        read(text, &BTreeMap::new(), "small", preset::first())
    }

    #[test]
    fn a_slip_is_found_at_its_line_and_stops_the_run() {
        let reading = read_plain("[a]\nrw=randraed\n");
        assert!(reading.base.is_none());
        assert!(reading.findings.iter().any(|f| f.is_error() && f.line == 2), "{:?}", reading.findings);
    }

    #[test]
    fn a_batch_script_is_known_by_its_first_word() {
        let reading = read_plain("# one call\ncpu 1\nb r@100+4 w1@300+8\nwait\n");
        let base = reading.base.expect("a script");
        assert_eq!(base.devices.len(), 2);
        assert!(matches!(base.workload, Workload::Batch(_)));
    }

    #[test]
    fn variables_are_asked_for_and_answered() {
        let text = "[a]\nfilename=/dev/sdb\nioengine=libaio\nrw=read\niodepth=${DEPTH}\n";
        assert_eq!(read_plain(text).asks.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["DEPTH"]);
        let answers = BTreeMap::from([(String::from("DEPTH"), String::from("8"))]);
        let base = read(text, &answers, "small", preset::first()).base.expect("answered");
        assert!(matches!(&base.workload, Workload::Jobs(jobs) if jobs[0].iodepth == 8));
    }

    #[test]
    fn a_disk_that_is_not_there_is_told_with_its_line_and_what_is_used() {
        let known = &preset::first().base.devices[0];
        let told = |file: &str| {
            let reading = read_plain(&format!("[a]\nrw=randread\ndirect=1\nfilename={file}\n"));
            let disk = reading.base.expect("it runs").devices[0].clone();
            let found = reading.findings.iter().find(|f| f.message.contains("has no disk")).cloned();
            (found.map(|f| (f.line, f.to_string())), disk)
        };
        let (found, disk) = told("/dev/sdz");
        let (line, text) = found.expect("a warning");
        assert!(line == 4 && text.contains("'sdz'") && text.contains("Name one of those"), "{text}");
        assert!(text.contains(&format!("one like {} is made", known.name)), "{text}");
        assert_eq!((disk.name.as_str(), &disk.model), ("sdz", &known.model));
        let (found, disk) = told("/dev/mapper/vg");
        assert!(found.expect("a warning").1.contains(&format!("{} is used instead", known.name)));
        assert_eq!(disk.name, known.name);
        assert_eq!(told(&format!("/dev/{}", known.name)).0, None);
        assert_eq!(told("/mnt/file").0, None, "a file lies on the first disk");
        for preset in preset::all() {
            let said = read(&preset.job, &BTreeMap::new(), "small", preset).findings;
            let none = said.iter().all(|f| !f.message.contains("has no disk"));
            assert!(none, "{}: {said:?}", preset.name);
        }
    }

    #[test]
    fn files_are_read_whatever_their_bytes() {
        assert_eq!(decode(b"\xef\xbb\xbf[a]\r\nbs=4k"), "[a]\nbs=4k");
        assert_eq!(decode(b"; caf\xe9"), "; café");
        assert_eq!(decode(b"\xff\xfe[\0a\0]\0"), "[a]");
        assert_eq!(decode(b""), "");
    }
}
