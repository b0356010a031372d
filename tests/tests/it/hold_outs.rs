//! Published numbers that nothing here was fitted to. Each test prints simulated beside published; what it asserts is
//! what the report is about (an order, a direction). Numbers that are missed are printed as misses and not asserted.

use mqscope_core::Sim;
use mqscope_core::report::Report;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Engine, JobSpec, Pattern, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn run(scenario: &Scenario) -> Report {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.run();
    sim.report()
}

/// 4 KiB random reads in the 72-CPU machine; a section for each disk.
fn reads(kernel: &str, devices: Vec<DeviceConfig>, numjobs: u32, iodepth: u32, duration_ms: u64) -> Scenario {
    let job = |disk: u16| JobSpec {
        name: format!("disk{disk}"),
        engine: Engine::Libaio,
        pattern: Pattern::Random,
        iodepth,
        numjobs,
        files: vec![disk],
        time_based: true,
        ..JobSpec::default()
    };
    Scenario {
        seed: 5,
        duration_ns: duration_ms * 1_000_000,
        warmup_ns: duration_ms * 200_000,
        machine: "xeon-gold-6150-2s".into(),
        kernel: kernel.into(),
        workload: Workload::Jobs((0..devices.len() as u16).map(job).collect()),
        devices,
        ..Scenario::default()
    }
}

/// Prints one row; `within` is the share by which it may differ without being a miss.
fn tell(what: &str, found: f64, published: f64, within: f64) {
    let ratio = found / published;
    let word = if (ratio - 1.0).abs() <= within { "" } else { "  MISS" };
    println!("{what:<44} {:>8.0} K {:>8.0} K  {ratio:.2}{word}", found / 1e3, published / 1e3);
}

#[test]
fn one_tag_set_for_twelve_disks() {
    // hisi_sas, linux-scsi, June and August 2020 (v8): 12 SAS SSDs on one host, 16 hardware queues or one. The SSDs gave
    // 2.1 M together, which sets their cap here; the author calls the column of 260 tags unstable. Here all 260 tags are in
    // the disks all the time, 156 us each, so that the number of hctxs does not matter. The report's machine, an ARM server
    // with four memory nodes, leaves most of them idle between one process and the next; neither its lines and wake-ups nor
    // what its driver does for a command are in the model, and the lock in full words (tag_scan_locks) and the size of a
    // batch of wake-ups were tried and change nothing.
    let published = [
        ("one hctx", Some(1), "none", [2094e3, 513e3]),
        ("one hctx", Some(1), "mq-deadline", [2145e3, 1336e3]),
        ("host_tagset, 16 hctxs", Some(16), "none", [2132e3, 1185e3]),
        ("host_tagset, 16 hctxs", Some(16), "mq-deadline", [2145e3, 2097e3]),
    ];
    let mut found = [[0.0; 2]; 4];
    println!("{:<44} {:>10} {:>10}", "12 SSDs on one host", "simulated", "published");
    for (row, (label, hctxs, scheduler, iops)) in published.iter().enumerate() {
        for (column, tags) in [4000, 260].into_iter().enumerate() {
            let disk = |i: usize| DeviceConfig {
                nr_tags: Some(tags),
                nr_hw_queues: *hctxs,
                scheduler: (*scheduler).into(),
                params: [("member_read_cap", 179_000), ("member_command_cap", 179_000)]
                    .map(|(name, value)| (String::from(name), value))
                    .into(),
                ..DeviceConfig::new(&format!("sd{}", (b'a' + i as u8) as char), "hba-ssd-jbod")
            };
            let report = run(&reads("5.10", (0..12).map(disk).collect(), 4, 64, 15));
            found[row][column] = report.total.iops;
            tell(&format!("{label}, {scheduler}, {tags} tags"), report.total.iops, iops[column], 0.15);
        }
    }
    // What the report is about: with plenty of tags all ways are alike, with few of them none loses.
    let plenty = found.map(|row| row[0]);
    let (least, most) =
        (plenty.iter().copied().fold(f64::MAX, f64::min), plenty.iter().copied().fold(0.0, f64::max));
    println!(
        "spread with 4000 tags {:.2}; none with 260 of 4000 tags: {:.2} and {:.2} (published 0.25 and 0.56)",
        most / least,
        found[0][1] / found[0][0],
        found[2][1] / found[2][0]
    );
    assert!(most <= 12.0 * 179e3 * 1.01, "above the caps of the disks");
    assert!(found[0][1] < found[0][0], "fewer tags cannot be faster");
}

#[test]
fn one_scheduler_lock_for_32_threads() {
    // Axboe, January 2024, on a Ryzen 9 7950X: 32 threads, depth 4, batches of 4; 879 K with mq-deadline on null_blk with one
    // hctx (89 % system time), 567 K with bfq on NVMe.
    let load = |model: &str, scheduler: &str| {
        let disk = DeviceConfig {
            scheduler: scheduler.into(),
            nr_hw_queues: Some(if model == "null" { 1 } else { 32 }),
            ..DeviceConfig::new("disk0", model)
        };
        let mut scenario = reads("6.6", vec![disk], 32, 4, 15);
        scenario.machine = "desktop-32".into();
        if let Workload::Jobs(jobs) = &mut scenario.workload {
            jobs[0].engine = Engine::IoUring;
            jobs[0].iodepth_batch_submit = 4;
            jobs[0].iodepth_batch_complete_min = 4;
            jobs[0].iodepth_batch_complete_max = 4;
        }
        run(&scenario)
    };
    println!("{:<44} {:>10} {:>10}", "32 threads", "simulated", "published");
    let none = load("null", "none").total.iops;
    let deadline = load("null", "mq-deadline");
    tell("mq-deadline, null_blk", deadline.total.iops, 879e3, 0.1);
    let bfq = load("p5800x", "bfq");
    tell("bfq, nvme", bfq.total.iops, 567e3, 0.1);
    for (name, report) in [("mq-deadline", &deadline), ("bfq", &bfq)] {
        let locks = report.objects.iter().filter(|o| o.kind == "lock");
        if let Some(lock) = locks.max_by_key(|o| o.lost_ns) {
            println!("{name}: {} contended {:.1} % (published 94-96 %)", lock.class, lock.contended * 100.0);
        }
    }
    assert!(deadline.total.iops < none, "a lock costs something");
    assert!(bfq.total.iops < deadline.total.iops, "the longer critical section is slower");
}

#[test]
fn counters_that_every_command_shares() {
    // Lei 2019: +15 % without host_busy (scsi_debug, 32 LUNs, 32 queues, two sockets); Lei 2021: about +30 % with a
    // bitmap instead of device_busy (2 x 8 cores). Here at most 16 LUNs; 32 queues are 2 x 8 cores with two threads each,
    // and one process on each CPU. scsi_debug's own lock around the copy of the data (atomic_rw) is not in the model, as
    // with its fake_rw=1; whether that was set is not in the mails.
    const CPUS: [std::ops::Range<u16>; 4] = [0..8, 16..24, 32..40, 48..56];
    let disks = |n: usize| -> Vec<DeviceConfig> {
        let disk = |i: usize| DeviceConfig {
            nr_hw_queues: Some(32),
            nr_tags: Some(4096),
            ..DeviceConfig::new(&format!("sd{i}"), "scsi-debug")
        };
        (0..n).map(disk).collect()
    };
    let load = |kernel: &str, luns: usize, knob: &str, value: &str| {
        let cpus: Vec<u16> = CPUS.into_iter().flatten().collect();
        let each = cpus.len() / luns;
        let mut scenario = reads(kernel, disks(luns), each as u32, 16, 10);
        scenario.machine = "xeon-gold-6242-2s".into();
        scenario.set.insert(knob.into(), value.into());
        if let Workload::Jobs(jobs) = &mut scenario.workload {
            for (job, cpus) in jobs.iter_mut().zip(cpus.chunks(each)) {
                (job.cpus_allowed, job.cpus_split) = (Some(cpus.to_vec()), true);
            }
        }
        run(&scenario).total.iops
    };
    let (with, without) =
        (load("5.4", 16, "scsi_host_busy", "true"), load("5.4", 16, "scsi_host_busy", "false"));
    let print = |what: &str, published: &str, from: f64, to: f64| {
        let gain = (to / from - 1.0) * 100.0;
        println!("{what}: {gain:+.0} % (published {published}), {:.0} K to {:.0} K", from / 1e3, to / 1e3);
    };
    print("host_busy removed", "+15 %", with, without);
    let (counter, map) =
        (load("5.12", 1, "scsi_budget_map", "false"), load("5.12", 1, "scsi_budget_map", "true"));
    print("device_busy a bitmap", "about +30 %", counter, map);
    assert!(without >= with * 0.99, "a line less cannot be slower");
    assert!(map >= counter * 0.99, "16 words cannot be slower than one");
}
