//! Each recording of a real kernel is reproduced: event by event where one task ran, else by the rules of its entry in
//! `facts.toml`. A test is named after its recording.

use mqscope_tests::conform::{Job, Recording, Table, Verdict, conform};
use std::sync::OnceLock;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::read().expect("facts.toml and traced.toml are readable"))
}

/// The verdict must be the one that the table expects.
fn check(name: &str, meta: &str, job: Job, trace: &str) {
    let recording = Recording::parse(meta, job, trace).expect("the recording is readable");
    assert_eq!(recording.meta.name, name);
    let entry = table().recordings.get(name).expect("facts.toml has an entry");
    let verdict = conform(&recording, table());
    match (&verdict, &entry.unsupported, &entry.open) {
        (Verdict::Unsupported(what), Some(expected), None) => assert_eq!(what, expected),
        (Verdict::Conforms { events, rules }, None, None) => assert!(events.is_some() || *rules > 0),
        (Verdict::Conforms { .. }, _, Some(_)) => panic!("it conforms now: take 'open' out of facts.toml"),
        (Verdict::Differs { .. } | Verdict::Unsupported(_), None, Some(_)) => {}
        _ => panic!("{}\n{verdict}", recording.meta.shows),
    }
}

macro_rules! recordings {
    ($job:ident $file:literal $($test:ident = $folder:literal,)+) => {
        use super::{Job, check};
        #[cfg(target_arch = "wasm32")]
        use wasm_bindgen_test::wasm_bindgen_test as test;

        #[cfg(not(target_arch = "wasm32"))]
        pub(super) const NAMES: &[&str] = &[$($folder),+];

        $(
            #[test]
            fn $test() {
                check(
                    $folder,
                    include_str!(concat!("../../recordings/", $folder, "/meta.toml")),
                    Job::$job(include_str!(concat!("../../recordings/", $folder, "/", $file)).into()),
                    include_str!(concat!("../../recordings/", $folder, "/trace.blkparse.txt")),
                );
            }
        )+
    };
}

mod batch {
    recordings! {
        Batch "job.iob"
        k61_m01_order_null4q_bfq = "k61-m01-order-null4q-bfq",
        k61_m01_order_null4q_mq_deadline = "k61-m01-order-null4q-mq-deadline",
        k61_m01_order_null4q_none = "k61-m01-order-null4q-none",
        k61_m01_order_nvme0n1_none = "k61-m01-order-nvme0n1-none",
        k61_m01_order_scsidebug1q_none = "k61-m01-order-scsidebug1q-none",
        k61_m01_order_sda_none = "k61-m01-order-sda-none",
        k61_m02_limit_null4q_none = "k61-m02-limit-null4q-none",
        k61_m03_merge_nomerges0_null4q_kyber = "k61-m03-merge-nomerges0-null4q-kyber",
        k61_m03_merge_nomerges0_null4q_mq_deadline = "k61-m03-merge-nomerges0-null4q-mq-deadline",
        k61_m03_merge_nomerges0_null4q_none = "k61-m03-merge-nomerges0-null4q-none",
        k61_m03_merge_nomerges1_null4q_none = "k61-m03-merge-nomerges1-null4q-none",
        k61_m04_mergebig_null4q_none = "k61-m04-mergebig-null4q-none",
        k61_m05_cpus_null4q_none = "k61-m05-cpus-null4q-none",
        k61_m06_busy_null1q_depth4_kyber = "k61-m06-busy-null1q-depth4-kyber",
        k61_m06_busy_null1q_depth4_mq_deadline = "k61-m06-busy-null1q-depth4-mq-deadline",
        k61_m06_busy_null1q_depth4_none = "k61-m06-busy-null1q-depth4-none",
        k61_m07_deadline_null1q_depth1_async128_readexpire100 = "k61-m07-deadline-null1q-depth1-async128-readexpire100",
        k61_m07_deadline_null1q_depth1_async128 = "k61-m07-deadline-null1q-depth1-async128",
        k61_m07_deadline_null1q_depth1 = "k61-m07-deadline-null1q-depth1",
        k61_m08_2dev_null1q_none = "k61-m08-2dev-null1q-none",
        k61_s06_budget2_scsidebug_none = "k61-s06-budget2-scsidebug-none",
        k61_s06_cantqueue4_scsidebug_none = "k61-s06-cantqueue4-scsidebug-none",
        k61_s06_requeue_scsidebug_bfq = "k61-s06-requeue-scsidebug-bfq",
        k61_s06_requeue_scsidebug_mq_deadline = "k61-s06-requeue-scsidebug-mq-deadline",
        k61_s06_requeue_scsidebug_none = "k61-s06-requeue-scsidebug-none",
        k61_s08_flush_nvme0n1_mq_deadline = "k61-s08-flush-nvme0n1-mq-deadline",
        k61_s08_flush_nvme0n1_none = "k61-s08-flush-nvme0n1-none",
        k61_s08_flush_scsidebug_none = "k61-s08-flush-scsidebug-none",
        k61_s08_flush_sda_none = "k61-s08-flush-sda-none",
        k61_s08_fua_nvme0n1_none = "k61-s08-fua-nvme0n1-none",
        k61_s08_fua_scsidebug_none = "k61-s08-fua-scsidebug-none",
        k61_s08_fua_vdb_none = "k61-s08-fua-vdb-none",
        k618_m01_order_loop_bfq = "k618-m01-order-loop-bfq",
        k618_m01_order_loop_mq_deadline = "k618-m01-order-loop-mq-deadline",
        k618_m01_order_loop_none = "k618-m01-order-loop-none",
        k618_m02_limit_loop_none = "k618-m02-limit-loop-none",
        k618_m03_merge_nomerges0_loop_kyber = "k618-m03-merge-nomerges0-loop-kyber",
        k618_m03_merge_nomerges0_loop_mq_deadline = "k618-m03-merge-nomerges0-loop-mq-deadline",
        k618_m03_merge_nomerges0_loop_none = "k618-m03-merge-nomerges0-loop-none",
        k618_m03_merge_nomerges2_loop_none = "k618-m03-merge-nomerges2-loop-none",
        k618_m04_mergebig_loop_none = "k618-m04-mergebig-loop-none",
        k618_m06_busy_loop_nr4_none = "k618-m06-busy-loop-nr4-none",
        k618_m07_manyrw_loop_kyber = "k618-m07-manyrw-loop-kyber",
        k618_m07_manyrw_loop_mq_deadline = "k618-m07-manyrw-loop-mq-deadline",
        k618_m07_manyrw_loop_none = "k618-m07-manyrw-loop-none",
        k618_m08_2dev_loop_none = "k618-m08-2dev-loop-none",
        k618_s08_flush_loop_none = "k618-s08-flush-loop-none",
    }
}

mod fio {
    recordings! {
        Fio "job.fio"
        k61_s01_plug_null1q_none = "k61-s01-plug-null1q-none",
        k61_s01_plug_nvme0n1_none = "k61-s01-plug-nvme0n1-none",
        k61_s01_plug_sda_none = "k61-s01-plug-sda-none",
        k61_s01_plug_vdb_none = "k61-s01-plug-vdb-none",
        k61_s02_seqwrite_nomerges0_null1q_none = "k61-s02-seqwrite-nomerges0-null1q-none",
        k61_s02_seqwrite_nomerges1_null1q_none = "k61-s02-seqwrite-nomerges1-null1q-none",
        k61_s02_seqwrite_nomerges2_null1q_none = "k61-s02-seqwrite-nomerges2-null1q-none",
        k61_s02_seqwrite_nvme0n1_none = "k61-s02-seqwrite-nvme0n1-none",
        k61_s03_deep_null1q_depth4_nr256_bfq = "k61-s03-deep-null1q-depth4-nr256-bfq",
        k61_s03_deep_null1q_depth4_nr256_mq_deadline = "k61-s03-deep-null1q-depth4-nr256-mq-deadline",
        k61_s03_mixed_null1q_depth32_bfq = "k61-s03-mixed-null1q-depth32-bfq",
        k61_s03_mixed_null1q_depth32_mq_deadline = "k61-s03-mixed-null1q-depth32-mq-deadline",
        k61_s03_mixed_null1q_depth32_none = "k61-s03-mixed-null1q-depth32-none",
        k61_s03_mixed_null1q_depth4_kyber = "k61-s03-mixed-null1q-depth4-kyber",
        k61_s03_mixed_null1q_depth4_mq_deadline = "k61-s03-mixed-null1q-depth4-mq-deadline",
        k61_s03_mixed_null1q_depth4_none = "k61-s03-mixed-null1q-depth4-none",
        k61_s03_mixed_null4q_depth4_bfq = "k61-s03-mixed-null4q-depth4-bfq",
        k61_s03_mixed_null4q_depth4_kyber = "k61-s03-mixed-null4q-depth4-kyber",
        k61_s03_mixed_null4q_depth4_none = "k61-s03-mixed-null4q-depth4-none",
        k61_s03_mixed_nvme0n1_mq_deadline = "k61-s03-mixed-nvme0n1-mq-deadline",
        k61_s03_mixed_nvme0n1_none = "k61-s03-mixed-nvme0n1-none",
        k61_s03_mixed_slow_virtio1q_bfq = "k61-s03-mixed-slow-virtio1q-bfq",
        k61_s03_mixed_slow_virtio1q_kyber = "k61-s03-mixed-slow-virtio1q-kyber",
        k61_s03_mixed_slow_virtio1q_none = "k61-s03-mixed-slow-virtio1q-none",
        k61_s03_mixed_slow_virtio4q_mq_deadline = "k61-s03-mixed-slow-virtio4q-mq-deadline",
        k61_s03_mixed_vda1q_mq_deadline = "k61-s03-mixed-vda1q-mq-deadline",
        k61_s03_mixed_vda1q_none = "k61-s03-mixed-vda1q-none",
        k61_s03_mixed_vdb_mq_deadline = "k61-s03-mixed-vdb-mq-deadline",
        k61_s03_mixed_vdb_none = "k61-s03-mixed-vdb-none",
        k61_s03_starve_null1q_depth1_mq_deadline = "k61-s03-starve-null1q-depth1-mq-deadline",
        k61_s04_twowriters_ahci_bfq = "k61-s04-twowriters-ahci-bfq",
        k61_s04_twowriters_ahci_mq_deadline = "k61-s04-twowriters-ahci-mq-deadline",
        k61_s04_twowriters_ahci_none = "k61-s04-twowriters-ahci-none",
        k61_s04_twowriters_slow_ahci_mq_deadline = "k61-s04-twowriters-slow-ahci-mq-deadline",
        k61_s04_twowriters_slow_ahci_none = "k61-s04-twowriters-slow-ahci-none",
        k61_s04_twowriters_xfs_buffered_ahci_bfq = "k61-s04-twowriters-xfs-buffered-ahci-bfq",
        k61_s04_twowriters_xfs_buffered_ahci_none = "k61-s04-twowriters-xfs-buffered-ahci-none",
        k61_s05_psync_ahci_mq_deadline = "k61-s05-psync-ahci-mq-deadline",
        k61_s05_psync_null1q_mq_deadline = "k61-s05-psync-null1q-mq-deadline",
        k61_s05_psync_null1q_none = "k61-s05-psync-null1q-none",
        k61_s05_psync_nvme_none = "k61-s05-psync-nvme-none",
        k61_s05_uring1_null1q_none = "k61-s05-uring1-null1q-none",
        k61_s05_uring8_null1q_mq_deadline = "k61-s05-uring8-null1q-mq-deadline",
        k61_s05_uring8_null1q_none = "k61-s05-uring8-null1q-none",
        k61_s06_tags_null1q_depth4_none = "k61-s06-tags-null1q-depth4-none",
        k61_s07_2dev_null1q_none = "k61-s07-2dev-null1q-none",
        k61_s08_discard_nvme0n1_none = "k61-s08-discard-nvme0n1-none",
        k61_s08_discard_scsidebug_none = "k61-s08-discard-scsidebug-none",
        k61_s09_split_nvme0n1_none = "k61-s09-split-nvme0n1-none",
        k61_s09_split_scsidebug_none = "k61-s09-split-scsidebug-none",
        k61_s09_split_sda_none = "k61-s09-split-sda-none",
        k61_s10_sqdispatch_null4q_depth4_mq_deadline = "k61-s10-sqdispatch-null4q-depth4-mq-deadline",
        k61_s10_sqdispatch_null4q_depth4_none = "k61-s10-sqdispatch-null4q-depth4-none",
        k61_s10_sqdispatch_scsidebug4q_hosttags8_bfq = "k61-s10-sqdispatch-scsidebug4q-hosttags8-bfq",
        k61_s10_sqdispatch_scsidebug4q_hosttags8_none = "k61-s10-sqdispatch-scsidebug4q-hosttags8-none",
        k61_s11_sharedtags_scsidebug_none = "k61-s11-sharedtags-scsidebug-none",
        k618_s01_plug_loop_none = "k618-s01-plug-loop-none",
        k618_s02_seqwrite_nomerges0_loop_none = "k618-s02-seqwrite-nomerges0-loop-none",
        k618_s02_seqwrite_nomerges1_loop_none = "k618-s02-seqwrite-nomerges1-loop-none",
        k618_s03_mixed_loop_bfq = "k618-s03-mixed-loop-bfq",
        k618_s03_mixed_loop_mq_deadline = "k618-s03-mixed-loop-mq-deadline",
        k618_s03_mixed_loop_none = "k618-s03-mixed-loop-none",
        k618_s05_psync_loop_mq_deadline = "k618-s05-psync-loop-mq-deadline",
        k618_s05_psync_loop_none = "k618-s05-psync-loop-none",
        k618_s05_uring8_loop_none = "k618-s05-uring8-loop-none",
        k618_s08_discard_loop_none = "k618-s08-discard-loop-none",
        k618_s09_split_loop_none = "k618-s09-split-loop-none",
    }
}

mod shell {
    recordings! {
        Shell "job.sh"
        k61_s08_ext4_fsync_nvme_none = "k61-s08-ext4-fsync-nvme-none",
    }
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn every_recording_is_tested_and_has_facts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings");
    let entries =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut there: Vec<String> =
        folders.map(|entry| entry.file_name().into_string().expect("a name in ASCII")).collect();
    there.sort();
    let mut tested = [batch::NAMES, fio::NAMES, shell::NAMES].concat();
    tested.sort_unstable();
    assert_eq!(tested, there);
    assert_eq!(table().recordings.keys().collect::<Vec<_>>(), there.iter().collect::<Vec<_>>());
}
