//! The settings of a run as shell commands: complete, in an order that a kernel takes, and nothing but one command a line.

use mqscope_core::Sim;
use mqscope_core::format::sysfs::commands;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{JobSpec, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn scenario(devices: Vec<DeviceConfig>) -> Scenario {
    Scenario {
        title: String::new(),
        duration_ns: 1_000_000,
        machine: "small".into(),
        kernel: "6.1".into(),
        devices,
        workload: Workload::Jobs(vec![JobSpec::default()]),
        ..Scenario::default()
    }
}

fn shell(scenario: &Scenario) -> String {
    commands(scenario, Sim::new(scenario).expect("the scenario is valid").topology())
}

/// The lines that a shell would run.
fn run(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn a_disk_is_set_in_the_order_that_the_kernel_takes() {
    let mut disk = DeviceConfig::new("sda", "hba-r0-8ssd");
    disk.scheduler = "mq-deadline".into();
    disk.nr_requests = Some(64);
    disk.queue_depth = Some(32);
    disk.nomerges = 1;
    disk.rq_affinity = 2;
    disk.max_sectors_kb = Some(512);
    disk.rotational = Some(true);
    disk.iosched = [("fifo_batch", 4), ("async_depth", 48)].map(|(name, value)| (name.into(), value)).into();
    assert_eq!(
        run(&shell(&scenario(vec![disk]))),
        [
            "echo mq-deadline > /sys/block/sda/queue/scheduler",
            "echo 64 > /sys/block/sda/queue/nr_requests",
            "echo 48 > /sys/block/sda/queue/iosched/async_depth",
            "echo 4 > /sys/block/sda/queue/iosched/fifo_batch",
            "echo 1 > /sys/block/sda/queue/nomerges",
            "echo 2 > /sys/block/sda/queue/rq_affinity",
            "echo 512 > /sys/block/sda/queue/max_sectors_kb",
            "echo 1 > /sys/block/sda/queue/rotational",
            "echo 32 > /sys/block/sda/device/queue_depth",
        ]
    );
}

#[test]
fn a_null_disk_is_made_first() {
    let mut disk = DeviceConfig::new("nullb0", "null");
    disk.nr_hw_queues = Some(4);
    disk.nr_requests = Some(32);
    disk.completion_ns = Some(20_000);
    disk.size = Some(256 << 20);
    let dir = "/sys/kernel/config/nullb/nullb0";
    assert_eq!(
        run(&shell(&scenario(vec![disk]))),
        [
            "modprobe null_blk nr_devices=0".into(),
            format!("mkdir {dir}"),
            format!("echo 256 > {dir}/size"),
            format!("echo 512 > {dir}/blocksize"),
            format!("echo 2 > {dir}/queue_mode"),
            format!("echo 4 > {dir}/submit_queues"),
            format!("echo 32 > {dir}/hw_queue_depth"),
            format!("echo 2 > {dir}/irqmode"),
            format!("echo 20000 > {dir}/completion_nsec"),
            format!("echo 1 > {dir}/power"),
            "echo none > /sys/block/nullb0/queue/scheduler".into(),
            "echo 0 > /sys/block/nullb0/queue/nomerges".into(),
            "echo 1 > /sys/block/nullb0/queue/rq_affinity".into(),
        ]
    );
}

#[test]
fn what_no_command_can_set_is_a_comment() {
    let mut scenario = scenario(vec![DeviceConfig::new("nvme0n1", "p4510-2t")]);
    scenario.set = [("plug_max".into(), "8".into())].into();
    let text = shell(&scenario);
    let told = |what: &str| text.lines().any(|line| line.starts_with("# ") && line.contains(what));
    assert!(told("Kernel 6.1") && told("plug_max=8") && told("maxcpus=4"), "{text}");
    assert!(told("4 hctxs, 1023 tags"), "{text}");
}

#[test]
fn the_default_scheduler_is_written_out() {
    for (kernel, hctxs, chosen) in [
        ("4.4", 1, "none"),
        ("4.14", 1, "mq-deadline"),
        ("5.12", 4, "none"),
        ("5.14", 4, "mq-deadline"),
        ("7.0", 1, "mq-deadline"),
    ] {
        let mut disk = DeviceConfig::new("sda", "hba-r0-8ssd");
        disk.scheduler = "default".into();
        disk.nr_hw_queues = Some(hctxs);
        let scenario = Scenario { kernel: kernel.into(), ..scenario(vec![disk]) };
        let line = format!("echo {chosen} > /sys/block/sda/queue/scheduler");
        assert!(run(&shell(&scenario)).contains(&line.as_str()), "{kernel}, {hctxs} hctxs");
    }
    let mut nvme = DeviceConfig::new("nvme0n1", "p4510-2t");
    nvme.scheduler = "default".into();
    let scenario = Scenario { kernel: "7.0".into(), ..scenario(vec![nvme]) };
    assert!(run(&shell(&scenario)).contains(&"echo none > /sys/block/nvme0n1/queue/scheduler"));
}

#[test]
fn names_from_a_link_run_nothing() {
    let mut scenario = scenario(vec![DeviceConfig::new("a b;reboot\n'`x`", "null")]);
    scenario.title = "a\nreboot".into();
    for line in run(&shell(&scenario)) {
        let start = line.split(' ').next().unwrap_or_default();
        assert!(["modprobe", "mkdir", "echo"].contains(&start), "{line}");
        let outside = line.replace(r"\'", "").split('\'').step_by(2).collect::<String>();
        assert!(!outside.contains([';', '`', '$']), "{line}");
    }
}
