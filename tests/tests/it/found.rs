//! Scenarios that once broke a rule, found by the properties and kept as they were found.

use crate::conservation::audited;
use mqscope_core::scenario::Scenario;
use mqscope_core::{Sim, kernel};
use mqscope_tests::determinism::{Way, outcome};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs it to its end, which must come by itself, and audits it.
fn ends_without_violation(toml: &str) {
    let scenario = Scenario::from_toml(toml).unwrap_or_else(|e| panic!("{e}"));
    let (sim, audit) = audited(&scenario);
    assert!(sim.now_ns() < scenario.duration_ns, "the workload did not end by itself");
    let violations = audit.finish();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The adapter takes one command; the second hctx, refused by the host, must be run when that command is done
/// (`scsi_run_queue` looks at the starved list).
#[test]
fn a_host_that_is_full_runs_the_other_hctx_later() {
    ends_without_violation(
        r#"
        seed = 0
        duration_ns = 60000000000
        machine = "small"
        kernel = "6.1"

        [[devices]]
        name = "sda"
        model = "hba-r0-8ssd"
        nr_hw_queues = 2
        nr_requests = 1

        [[workload.jobs]]
        name = "two"
        engine = "psync"
        rwmixread = 0
        bs = [512, 512]
        numjobs = 2
        size = { bytes = 67108864 }
        io_size = { bytes = 512 }
        "#,
    );
}

/// Two volumes of one adapter share its tags, so they cannot have different numbers of them.
#[test]
fn volumes_of_one_adapter_have_the_tags_of_the_adapter() {
    ends_without_violation(
        r#"
        seed = 0
        duration_ns = 60000000000
        machine = "small"
        kernel = "4.14"

        [[devices]]
        name = "sda"
        model = "hba-r0-8ssd"

        [[devices]]
        name = "sdb"
        model = "hba-r0-8ssd"
        nr_requests = 1

        [[workload.jobs]]
        name = "both"
        engine = "psync"
        bs = [512, 512]
        files = [0, 1]
        size = { bytes = 67108864 }
        io_size = { bytes = 1024 }
        "#,
    );
}

/// The plug that 6.18 opens around a direct I/O must be flushed even if the policy changes to one without it while the
/// bio is on its way.
#[test]
fn a_plug_opened_by_the_old_policy_is_flushed_under_the_new_one() {
    let toml = r#"
        seed = 1
        duration_ns = 60000000000
        machine = "small"
        kernel = "6.18"

        [[devices]]
        name = "nvme0n1"
        model = "p3700-800"

        [[workload.jobs]]
        name = "one"
        engine = "psync"
        rwmixread = 0
        bs = [512, 512]
        size = { bytes = 67108864 }
        io_size = { bytes = 2560 }
        "#;
    let scenario = Scenario::from_toml(toml).unwrap_or_else(|e| panic!("{e}"));
    let old = kernel::row("4.14").expect("a row of the table").knobs.clone();
    let whole = outcome(&scenario, Way::AtOnce).events;
    for events in 0..whole {
        let mut sim = Sim::new(&scenario).unwrap_or_else(|e| panic!("{e}"));
        sim.run_events(events);
        sim.set_knobs(old.clone());
        sim.run();
        assert!(sim.now_ns() < scenario.duration_ns, "changed after {events} events, it does not end");
    }
}

/// The kernel's own fault of 5.10, mended in 5.19 ("avoid extending delays of active hctx"): bfq keeps the disk for a request that
/// the driver refused and that waits in another hctx; each poll finds nothing and puts off the run of that hctx by 3 ms more, as
/// both fall due in the same tick. Real timers drift apart after a while; here they never do.
#[test]
fn until_5_18_polls_put_off_the_run_of_another_hctx_again_and_again() {
    let toml = r#"
        seed = 3395673496259170744
        duration_ns = 1000000000
        machine = "small"
        kernel = "5.10"

        [[devices]]
        name = "sda"
        model = "scsi-debug"
        scheduler = "bfq"
        nr_hw_queues = 2
        write_cache = "write back"
        flush_not_queued = true

        [[workload.jobs]]
        name = "two"
        engine = "libaio"
        rwmixread = 0
        bs = [512, 512]
        numjobs = 2
        size = { bytes = 67108864 }
        io_size = { bytes = 1024 }
        fsync = 1
        prio = { class = "be", level = 3 }
        cmdprio_percentage = [24, 12]
        cmdprio = { class = "rt", level = 0 }
        "#;
    let mut scenario = Scenario::from_toml(toml).unwrap_or_else(|e| panic!("{e}"));
    let end = |scenario: &Scenario| {
        let mut sim = Sim::new(scenario).unwrap_or_else(|e| panic!("{e}"));
        sim.run();
        (sim.now_ns(), sim.report().queues[0].delayed_runs)
    };
    let (stalled_ns, polls) = end(&scenario);
    assert_eq!(stalled_ns, scenario.duration_ns, "it stalls");
    assert!((300..=350).contains(&polls), "one poll in 3 ms: {polls}");
    scenario.set.insert("delay_skips_pending".into(), "true".into());
    let (mended_ns, _) = end(&scenario);
    assert!(mended_ns < 50_000_000, "{mended_ns}");
}
