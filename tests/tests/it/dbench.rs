//! dbench's clients: an `fsync` writes the data, then the log, and returns after both; callers share commits; the order in
//! which the disk sees it; what a scheduler that idles makes of clients that wait for each other.

use crate::conservation::audited;
use mqscope_core::Sim;
use mqscope_core::event::{Event, Kind, Op};
use mqscope_core::scenario::{DeviceConfig, Scenario, WriteCache};
use mqscope_core::workload::{Dbench, LogWriter, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const DATA: u32 = 64 * 1024;

/// A slow disk of fixed service time, 1 ms; one execution of a few calls for each client.
fn scenario(spec: Dbench) -> Scenario {
    Scenario {
        duration_ns: 10_000_000_000,
        machine: "small".into(),
        kernel: "5.10".into(),
        devices: vec![DeviceConfig {
            completion_ns: Some(1_000_000),
            write_cache: Some(WriteCache::WriteThrough),
            ..DeviceConfig::new("sda", "scsi-debug")
        }],
        workload: Workload::Dbench(spec),
        ..Scenario::default()
    }
}

fn clients(clients: u32) -> Dbench {
    Dbench { clients, executions: 1, segments: 4, cpu_ns: 4_000_000, ..Dbench::default() }
}

fn run(scenario: &Scenario) -> Sim {
    let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("the scenario is refused: {e}"));
    sim.log_mut().set_on(true);
    sim.run();
    sim
}

/// Writes in the order of their D: (time ns, sector, sectors).
fn writes(events: &[Event]) -> Vec<(u64, u64, u32)> {
    let issued = events.iter().filter_map(|event| match event.kind {
        Kind::Issue { extent, .. } if extent.op == Op::Write => {
            Some((event.at_ns, extent.sector, extent.sectors))
        }
        _ => None,
    });
    issued.collect()
}

/// The log of a file system of 1 GB: 10 MiB in its middle.
fn in_log(sector: u64) -> bool {
    let start = 500_000_000 / 4096 * 8;
    (start..start + (10 << 20) / 512).contains(&sector)
}

#[test]
fn one_client_writes_its_data_and_then_the_log() {
    let sim = run(&scenario(clients(1)));
    let writes = writes(sim.log().events());
    assert_eq!(writes.len(), 8, "four calls of two writes each");
    for (nth, pair) in writes.chunks(2).enumerate() {
        let [(data_ns, data, sectors), (log_ns, log, log_sectors)] = pair else { panic!("pairs") };
        assert_eq!((*data, *sectors), (nth as u64 * u64::from(DATA / 512), DATA / 512));
        assert_eq!((in_log(*log), *log_sectors), (true, 8), "a commit is at least a page");
        assert!(log_ns - data_ns >= 1_000_000, "the log is written when the data is on the disk");
    }
    // Log writes follow each other.
    assert!(writes.chunks(2).map(|pair| pair[1].1).collect::<Vec<_>>().windows(2).all(|w| w[1] == w[0] + 8));
}

#[test]
fn a_call_returns_after_its_data_and_its_commit() {
    let report = run(&scenario(clients(1))).report();
    let job = &report.jobs[0];
    assert_eq!((job.fsyncs, job.ios), (4, 8));
    // Two writes of 1 ms each, and the path, which costs less than 50 us.
    assert!((2e6..2.05e6).contains(&job.fsync_ns), "{}", job.fsync_ns);
    // Work of 4 ms within its spread, and the calls.
    let work_ns = job.loop_ns - 4.0 * job.fsync_ns;
    assert!((2e6..6.1e6).contains(&work_ns), "{work_ns}");
}

#[test]
fn callers_that_wait_share_the_next_commit() {
    let all = 4;
    let spec = Dbench { cpu_ns: 0, segments: 8, ..clients(all) };
    let sim = run(&scenario(spec));
    let writes = writes(sim.log().events());
    let commits = writes.iter().filter(|(_, sector, _)| in_log(*sector)).count();
    let calls = sim.report().jobs[0].fsyncs;
    assert_eq!(calls, 8 * u64::from(all));
    // The first of a round commits alone, the others together behind it: two commits for four calls.
    assert!(commits as u64 <= calls / 2 + 2, "{commits} commits for {calls} calls");
    assert!(commits as u64 >= calls / u64::from(all), "a commit cannot serve a caller twice");
}

#[test]
fn large_commits_are_written_in_several_buffers_at_a_time() {
    let spec = Dbench { log_bytes: 256 * 1024, segments: 1, data_bytes: 0, ..clients(1) };
    let sim = run(&scenario(spec.clone()));
    let buffers: Vec<u32> = writes(sim.log().events()).iter().map(|(_, _, sectors)| *sectors).collect();
    assert_eq!(buffers, [64; 8], "eight buffers of 32 KiB");
    assert_eq!(sim.report().queues[0].in_flight_max, 8);
    let one = run(&scenario(Dbench { log_buffers: 1, ..spec }));
    assert_eq!(one.report().queues[0].in_flight_max, 1);
}

#[test]
fn a_thread_can_write_the_log_for_its_callers() {
    let spec = Dbench { log_writer: LogWriter::Worker, ..clients(2) };
    let sim = run(&scenario(spec));
    let report = sim.report();
    let (calls, log) = (report.jobs[0].fsyncs, &report.jobs[1]);
    assert_eq!((report.jobs[1].name.as_str(), calls, report.jobs[0].ios), ("log", 8, 8));
    assert!(log.ios <= 8 && log.ios >= 4, "{}", log.ios);
    for event in sim.log().events() {
        if let Kind::Queue { extent, .. } = event.kind {
            assert_eq!(event.task == 2, in_log(extent.sector), "only the thread writes the log");
        }
    }
}

#[test]
fn a_commit_flushes_a_volatile_cache_first() {
    let mut with_cache = scenario(clients(1));
    with_cache.devices[0].write_cache = Some(WriteCache::WriteBack);
    with_cache.devices[0].fua = Some(true);
    let sim = run(&with_cache);
    let issued = sim.log().events().iter().filter_map(|event| match event.kind {
        Kind::Issue { extent, .. } => Some(extent.rwbs()),
        _ => None,
    });
    let issued = issued.collect::<Vec<_>>();
    assert_eq!(issued[..3], ["WS", "FN", "WFS"], "{issued:?}");
    assert_eq!(sim.report().queues[0].flushes, 4);
}

#[test]
fn nothing_is_lost_with_many_clients() {
    for (scheduler, log_writer) in [("bfq", LogWriter::Client), ("none", LogWriter::Worker)] {
        let mut many = scenario(Dbench { log_writer, ..clients(40) });
        many.devices[0].scheduler = scheduler.into();
        many.devices[0].nr_hw_queues = Some(4);
        let (sim, audit) = audited(&many);
        let violations = audit.finish();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        assert!(sim.ended());
        assert_eq!(sim.report().jobs[0].fsyncs, 160);
    }
}

#[test]
fn refused_values_are_named() {
    let wrong = |spec: Dbench| Sim::new(&scenario(spec)).expect_err("it is refused").to_string();
    assert!(wrong(clients(513)).contains("clients"));
    assert!(wrong(clients(0)).contains("clients"));
    assert!(wrong(Dbench { disk: 1, ..clients(1) }).contains("disk"));
    assert!(wrong(Dbench { data_bytes: 100, ..clients(1) }).contains("data_bytes"));
    assert!(wrong(Dbench { log_buffer_bytes: 512, ..clients(1) }).contains("log_buffer_bytes"));
    assert!(wrong(Dbench { cpus_allowed: Some(vec![99]), ..clients(1) }).contains("CPU 99"));
}

#[test]
fn five_hundred_clients_run() {
    let mut most = scenario(Dbench { segments: 1, ..clients(512) });
    most.machine = "xeon-gold-6242-2s".into();
    let report = run(&most).report();
    assert_eq!(report.jobs[0].fsyncs, 512);
}
