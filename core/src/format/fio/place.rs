//! Files on disks. The simulator has disks, fio has files: a device is a disk, and the regular files of one
//! directory lie side by side on one disk, because the file system between them is not simulated.

use super::Context;
use super::source::At;
use crate::diag::Diagnostic;
use crate::format::text::{Findings, quote};
use crate::scenario::DEVICES_MAX;
use crate::workload::{Amount, JobSpec};

/// A job and the files it names.
pub(super) struct Plan {
    pub(super) spec: JobSpec,
    pub(super) at: At,
    pub(super) filename: Option<String>,
    /// Where the text says so; the section where it does not.
    pub(super) filename_at: At,
    pub(super) directory: Option<String>,
    pub(super) filename_format: Option<String>,
    pub(super) file_bytes: Option<u64>,
}

/// One file or device that a job uses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: String,
    /// Files of one disk have one key.
    key: String,
    device: bool,
    /// Every process has a file of its own of this kind.
    own: bool,
}

/// What lies on one disk.
#[derive(Default)]
struct Disk {
    key: String,
    device: bool,
    /// Distinct files with their lengths, as far as they are known.
    files: Vec<(String, Option<u64>)>,
    /// Where the text names it first.
    at: At,
}

impl Disk {
    /// A device's or single file's path; the directory of several files.
    fn name(&self, own: bool) -> String {
        match self.files.as_slice() {
            [(path, _)] if !own => path.clone(),
            _ => self.key.clone(),
        }
    }

    /// Where a file begins; `None` if a file's length is not known.
    fn base(&self, path: &str) -> Option<u64> {
        if self.device || self.files.len() == 1 {
            return Some(0);
        }
        let before = self.files.iter().take_while(|(other, _)| other != path);
        before.map(|(_, len)| *len).try_fold(0_u64, |sum, len| sum.checked_add(len?))
    }
}

/// Splits at colons that are not escaped, as fio's `get_next_str` does.
fn split_paths(list: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let last = paths.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&':') => paths[last].extend(chars.next()),
            ':' => paths.push(String::new()),
            c => paths[last].push(c),
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

fn is_device(path: &str, context: &Context) -> bool {
    (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"))
        || context.disks.iter().any(|disk| disk == path)
}

impl Plan {
    fn files(&self, context: &Context) -> Vec<File> {
        let directories = self.directory.as_deref().map(split_paths).filter(|list| !list.is_empty());
        let directories = directories.unwrap_or_else(|| vec![String::new()]);
        let many = self.spec.numjobs > 1;
        let (names, own) = match self.filename.as_deref().map(split_paths).filter(|list| !list.is_empty()) {
            Some(names) => (names, false),
            None => {
                let format = self.filename_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
                let own = many && format.contains("$jobnum");
                let name = format.replace("$jobname", &self.spec.name).replace("$filenum", "0");
                (vec![name.replace("$jobnum", if own { "*" } else { "0" })], own)
            }
        };
        let mut files = Vec::new();
        for directory in &directories {
            for name in &names {
                let path = match directory.trim_end_matches('/') {
                    "" if directory.is_empty() => name.clone(),
                    directory => format!("{directory}/{}", name.trim_start_matches('/')),
                };
                let device = is_device(&path, context);
                let parent = path
                    .rsplit_once('/')
                    .map_or(".", |(parent, _)| if parent.is_empty() { "/" } else { parent });
                let key = if device { path.clone() } else { parent.to_string() };
                files.push(File { path, key, device, own });
            }
        }
        files
    }

    /// Bytes of one process's part of a file, and of the file with all processes; `None` if not known.
    fn lengths(&self) -> Option<(u64, u64)> {
        let bytes = |amount: Amount| match amount {
            Amount::Bytes(bytes) => Some(bytes),
            Amount::Percent(_) => None,
        };
        let more = bytes(self.spec.offset_increment)?.checked_mul(u64::from(self.spec.numjobs.max(1) - 1))?;
        let one =
            bytes(self.spec.offset)?.checked_add(bytes(self.spec.size?)?)?.max(self.file_bytes.unwrap_or(0));
        Some((one, one.checked_add(more)?))
    }

    fn warn(&self, findings: &mut Findings, message: impl Into<String>, remedy: &str) {
        findings.add(Diagnostic::warning(self.at.line, self.at.column, message, remedy));
    }
}

/// Gives every job its disks and every file its place. Returns the jobs, the disks' names, and where they are named first.
pub(super) fn on_disks(
    plans: Vec<Plan>,
    context: &Context,
    findings: &mut Findings,
) -> (Vec<JobSpec>, Vec<String>, Vec<At>) {
    let mut disks: Vec<Disk> = Vec::new();
    let mut any_own: Vec<bool> = Vec::new();
    let all: Vec<Vec<File>> = plans.iter().map(|plan| plan.files(context)).collect();
    for (plan, files) in plans.iter().zip(&all) {
        for file in files {
            let index = disks.iter().position(|disk| disk.key == file.key).unwrap_or(disks.len());
            if index == DEVICES_MAX {
                let message = format!("The job needs more than {DEVICES_MAX} disks.");
                findings.add(Diagnostic::error(plan.at.line, plan.at.column, message, "Name fewer files."));
                return (Vec::new(), Vec::new(), Vec::new());
            }
            if index == disks.len() {
                disks.push(Disk {
                    key: file.key.clone(),
                    device: file.device,
                    files: Vec::new(),
                    at: plan.filename_at,
                });
                any_own.push(false);
            }
            any_own[index] |= file.own;
            let processes = if file.own { u64::from(plan.spec.numjobs) } else { 1 };
            let len = plan
                .lengths()
                .and_then(|(one, whole)| if file.own { one.checked_mul(processes) } else { Some(whole) });
            match disks[index].files.iter_mut().find(|(path, _)| *path == file.path) {
                Some((_, known)) => *known = known.zip(len).map(|(a, b)| a.max(b)),
                None => disks[index].files.push((file.path.clone(), len)),
            }
        }
    }
    let names: Vec<String> = disks.iter().zip(&any_own).map(|(disk, own)| disk.name(*own)).collect();
    let (numbers, names) = number(&disks, names, context, findings);
    let jobs = plans
        .into_iter()
        .zip(&all)
        .map(|(plan, files)| job(plan, files, &disks, &numbers, context, findings));
    let places = disks.iter().map(|disk| disk.at).collect();
    (jobs.collect(), names, places)
}

/// Which disk of the scenario each disk of the text is, and what the text calls each disk of the scenario.
fn number(
    disks: &[Disk],
    names: Vec<String>,
    context: &Context,
    findings: &mut Findings,
) -> (Vec<u16>, Vec<String>) {
    let fixed = context.disks.len().min(DEVICES_MAX);
    if fixed == 0 {
        return ((0..disks.len()).filter_map(|n| u16::try_from(n).ok()).collect(), names);
    }
    let base_name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_string();
    let mut numbers: Vec<Option<usize>> = disks
        .iter()
        .map(|d| context.disks.iter().take(fixed).position(|n| d.device && *n == base_name(&d.key)))
        .collect();
    let mut called = vec![String::new(); fixed];
    for index in 0..disks.len() {
        let free = || (0..fixed).find(|n| !numbers.contains(&Some(*n)));
        let to = numbers[index].or_else(free).unwrap_or(fixed - 1);
        if disks[index].device && numbers[index].is_none() {
            let message = format!(
                "There is no disk '{}' here, only {}: {} is used instead.",
                quote(&disks[index].key),
                context.disks[..fixed].join(", "),
                context.disks[to]
            );
            let at = disks[index].at;
            findings.add(Diagnostic::warning(at.line, at.column, message, "Name one of those."));
        }
        if !called[to].is_empty() {
            let message = format!(
                "'{}' shares the disk {} with '{}'.",
                quote(&names[index]),
                context.disks[to],
                called[to]
            );
            findings.add(Diagnostic::warning(0, 0, message, "Add a disk to keep them apart."));
        } else {
            called[to].clone_from(&names[index]);
        }
        numbers[index] = Some(to);
    }
    (numbers.into_iter().map(|n| u16::try_from(n.unwrap_or(0)).unwrap_or(0)).collect(), called)
}

fn job(
    plan: Plan,
    files: &[File],
    disks: &[Disk],
    numbers: &[u16],
    context: &Context,
    findings: &mut Findings,
) -> JobSpec {
    let mut spec = plan.spec.clone();
    spec.files.clear();
    for file in files {
        let disk = disks.iter().position(|disk| disk.key == file.key).unwrap_or(0);
        if !spec.files.contains(&numbers[disk]) {
            spec.files.push(numbers[disk]);
        }
    }
    share_size(&mut spec);
    let Some(first) = files.first() else { return spec };
    if !first.device {
        (spec.file, spec.own_files) = (first.path.clone(), first.own);
    }
    let Some(disk) = disks.iter().find(|disk| disk.key == first.key) else { return spec };
    if !first.device && (first.own || disk.files.len() > 1) {
        side_by_side(&plan, &mut spec, first, disk, findings);
    } else if !first.device && spec.size.is_none() {
        let message =
            format!("'{}' is a regular file without size; the whole disk is used.", quote(&first.path));
        plan.warn(findings, message, "fio needs size=, unless the file exists.");
    }
    if let Some(disk_bytes) = context.disk_bytes {
        fit(&plan, &mut spec, disk_bytes, findings);
    }
    spec
}

/// fio divides `size` among the files of a job.
fn share_size(spec: &mut JobSpec) {
    let count = spec.files.len() as u64;
    if count > 1
        && let Some(Amount::Bytes(size)) = spec.size
    {
        let block = u64::from(spec.bs[0].max(spec.bs[1])).max(512);
        spec.io_size = spec.io_size.or(Some(Amount::Bytes(size)));
        spec.size = Some(Amount::Bytes((size / count / block).max(1) * block));
    }
}

/// Moves the job to where its file lies, and its processes apart if each has a file.
fn side_by_side(plan: &Plan, spec: &mut JobSpec, file: &File, disk: &Disk, findings: &mut Findings) {
    let (Some((one, _)), Some(base), Amount::Bytes(offset)) =
        (plan.lengths(), disk.base(&file.path), spec.offset)
    else {
        let message = format!(
            "Files in {} are to lie side by side on one disk, but a length is missing or in percent; '{}' uses the \
             disk from its start.",
            quote(&disk.key),
            quote(&spec.name)
        );
        plan.warn(findings, message, "Give size in bytes.");
        return;
    };
    spec.offset = Amount::Bytes(base.saturating_add(offset));
    if let (true, Amount::Bytes(increment)) = (file.own, spec.offset_increment) {
        spec.offset_increment = Amount::Bytes(increment.saturating_add(one));
        let message = format!(
            "'{}' has {} files of {one} bytes in {}. The file system is not simulated: they lie side by side on one \
             disk.",
            quote(&spec.name),
            spec.numjobs,
            quote(&disk.key)
        );
        plan.warn(findings, message, "");
    } else {
        let message = format!(
            "'{}' lies at byte {base} of one disk with the other files of {}: the file system is not simulated.",
            quote(&file.path),
            quote(&disk.key)
        );
        plan.warn(findings, message, "");
    }
}

/// Cuts the region to the disk.
fn fit(plan: &Plan, spec: &mut JobSpec, disk_bytes: u64, findings: &mut Findings) {
    let in_bytes = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        // A percentage is always within the disk.
        Amount::Percent(percent) => (disk_bytes as f64 * percent / 100.0) as u64,
    };
    let steps = u64::from(spec.numjobs.max(1) - 1);
    let block = u64::from(spec.bs[0].max(spec.bs[1])).max(512);
    let (mut offset, mut increment) = (in_bytes(spec.offset), in_bytes(spec.offset_increment));
    let last = |offset: u64, increment: u64| increment.saturating_mul(steps).saturating_add(offset);
    if last(offset, increment).saturating_add(block) > disk_bytes {
        let step = disk_bytes / u64::from(spec.numjobs.max(1));
        (offset, increment) = (0, if increment > 0 { step - step % block } else { 0 });
        let message = format!(
            "The last process of '{}' would start beyond the end of the disk ({disk_bytes} bytes); it starts at {}.",
            quote(&spec.name),
            last(offset, increment)
        );
        plan.warn(findings, message, "Lower offset or offset_increment, or choose a larger disk.");
        spec.offset = Amount::Bytes(offset);
        spec.offset_increment = Amount::Bytes(increment);
    }
    let room = disk_bytes.saturating_sub(last(offset, increment));
    if let Some(Amount::Bytes(size)) = spec.size
        && size > room
    {
        let message = format!(
            "size={size} of '{}' is more than the {room} bytes that the disk has from there; it is cut to that.",
            quote(&spec.name)
        );
        plan.warn(findings, message, "Choose a larger disk to keep it.");
        // What is to be transferred in all stays unless it was never given.
        spec.size = Some(Amount::Bytes(room));
    }
}
