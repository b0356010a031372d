//! The settings of a run as the shell commands that would make them on a real machine.
//!
//! The order matters there: attaching a scheduler resets nr_requests and brings new attributes (`elevator_switch`), and a
//! change of nr_requests resets some of these (`depth_updated`).

use crate::device::{Preset, Spec, preset};
use crate::host::machine;
use crate::kernel;
use crate::scenario::{DeviceConfig, Scenario};
use crate::sched;
use crate::topology::{Queue, Topology};
use std::fmt::Write as _;

const MIB: u64 = 1 << 20;
/// Where null_blk's disks are made.
const NULLB: &str = "/sys/kernel/config/nullb";

/// The commands, with comments for what no command can set. `topology` is the one of the scenario's simulation.
pub fn commands(scenario: &Scenario, topology: &Topology) -> String {
    let mut out = String::new();
    head(&mut out, scenario, topology);
    let disks = || {
        scenario.devices.iter().zip(&topology.queues).filter_map(|(d, q)| preset(&d.model).map(|p| (d, q, p)))
    };
    if disks().any(|(_, _, preset)| matches!(preset.spec, Spec::Null { .. })) {
        _ = writeln!(out, "\nmodprobe null_blk nr_devices=0");
    }
    for (config, queue, preset) in disks() {
        _ = writeln!(out, "\n# {}: {}", one_line(&config.name), preset.label);
        match preset.spec {
            Spec::Null { completion_ns } => null_blk(&mut out, config, queue, completion_ns),
            _ => hardware(&mut out, config, queue, preset),
        }
        attributes(&mut out, config, queue, preset);
    }
    out
}

/// Kernel, its rules and the machine: nothing of it can be set from a shell.
fn head(out: &mut String, scenario: &Scenario, topology: &Topology) {
    if !scenario.title.is_empty() {
        _ = writeln!(out, "# {}", one_line(&scenario.title));
    }
    let covers = kernel::row(&scenario.kernel).map_or("", |row| row.covers);
    _ = writeln!(out, "# Kernel {}, which stands for {covers}.", one_line(&scenario.kernel));
    for (knob, value) in &scenario.set {
        let (knob, value) = (one_line(knob), one_line(value));
        _ = writeln!(out, "# The rule {knob}={value} is part of the kernel's code and cannot be set.");
    }
    let label = machine(&scenario.machine).map_or("", |m| m.label);
    let cpus = topology.cpus.len();
    _ = writeln!(out, "# Machine: {label}. One with more than {cpus} CPUs boots with maxcpus={cpus}.");
}

fn null_blk(out: &mut String, config: &DeviceConfig, queue: &Queue, preset_ns: u64) {
    let dir = format!("{NULLB}/{}", word(&config.name));
    _ = writeln!(out, "mkdir {dir}");
    let mut set = |name: &str, value: u64| _ = writeln!(out, "echo {value} > {dir}/{name}");
    set("size", queue.sectors * 512 / MIB);
    set("blocksize", 512);
    set("queue_mode", 2);
    set("submit_queues", queue.hctxs.len() as u64);
    set("hw_queue_depth", queue.nr_tags.into());
    set("irqmode", 2);
    set("completion_nsec", config.completion_ns.unwrap_or(preset_ns));
    set("power", 1);
    if !config.completions_ns.is_empty() {
        let n = config.completions_ns.len();
        _ = writeln!(out, "# null_blk has one service time; the {n} recorded ones cannot be set.");
    }
}

fn hardware(out: &mut String, config: &DeviceConfig, queue: &Queue, preset: &Preset) {
    let tags = config.nr_tags.unwrap_or(preset.nr_tags);
    let hctxs = match queue.hctxs.len() {
        1 => String::from("1 hctx"),
        n => format!("{n} hctxs"),
    };
    _ = writeln!(out, "# The disk and its driver decide: {hctxs}, {tags} tags.");
}

/// What stands under `/sys/block`, the scheduler first.
fn attributes(out: &mut String, config: &DeviceConfig, queue: &Queue, preset: &Preset) {
    let block = format!("/sys/block/{}", word(&config.name.replace('/', "!")));
    let teaching = sched::row(&queue.scheduler).is_some_and(|row| row.help.contains(sched::NOT_IN_LINUX));
    if teaching {
        _ = writeln!(out, "# The scheduler {} is for teaching: no kernel has it.", queue.scheduler);
    }
    let mut set =
        |name: &str, value: &dyn std::fmt::Display| _ = writeln!(out, "echo {value} > {block}/{name}");
    if !teaching {
        set("queue/scheduler", &queue.scheduler);
    }
    // Without a scheduler they are null_blk's hw_queue_depth already.
    let done = matches!(preset.spec, Spec::Null { .. }) && queue.scheduler == "none";
    if let Some(nr_requests) = config.nr_requests.filter(|_| !done) {
        set("queue/nr_requests", &nr_requests);
    }
    for (name, value) in config.iosched.iter().filter(|_| !teaching) {
        set(&format!("queue/iosched/{}", word(name)), value);
    }
    set("queue/nomerges", &config.nomerges);
    set("queue/rq_affinity", &config.rq_affinity);
    if let Some(kib) = config.max_sectors_kb {
        set("queue/max_sectors_kb", &kib);
    }
    if let Some(rotational) = config.rotational {
        set("queue/rotational", &u8::from(rotational));
    }
    if preset.queue_depth.is_some() {
        set("device/queue_depth", &queue.queue_depth);
    }
}

/// A word of the shell that stands for itself.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", one_line(text).replace('\'', r"'\''"))
}

/// Text that cannot end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
