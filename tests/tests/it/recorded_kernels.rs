//! Each recording of a real kernel is reproduced event by event. A test is named after its recording.

use mqscope_tests::conform::{Recording, Verdict, conform};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

macro_rules! recordings {
    ($($test:ident = $folder:literal),+ $(,)?) => { $(
        #[test]
        fn $test() {
            let recording = Recording::parse(
                include_str!(concat!("../../recordings/", $folder, "/meta.toml")),
                Some(include_str!(concat!("../../recordings/", $folder, "/job.iob"))),
                include_str!(concat!("../../recordings/", $folder, "/trace.blkparse.txt")),
            )
            .expect("the recording is readable");
            assert_eq!(recording.meta.name, $folder);
            match conform(&recording) {
                Verdict::Equal { events } => assert!(events > 0),
                Verdict::Differs(difference) => panic!("{}\n{difference}", recording.meta.shows),
                Verdict::Unsupported(what) | Verdict::Broken(what) => panic!("{what}"),
            }
        }
    )+ };
}

recordings! {
    k61_m01_order_null4q_none = "k61-m01-order-null4q-none",
    k61_m01_order_nvme0n1_none = "k61-m01-order-nvme0n1-none",
    k61_m01_order_scsidebug1q_none = "k61-m01-order-scsidebug1q-none",
    k61_m01_order_sda_none = "k61-m01-order-sda-none",
    k61_m02_limit_null4q_none = "k61-m02-limit-null4q-none",
    k61_m03_merge_nomerges0_null4q_none = "k61-m03-merge-nomerges0-null4q-none",
    k61_m03_merge_nomerges1_null4q_none = "k61-m03-merge-nomerges1-null4q-none",
    k61_m04_mergebig_null4q_none = "k61-m04-mergebig-null4q-none",
    k61_m05_cpus_null4q_none = "k61-m05-cpus-null4q-none",
    k61_m06_busy_null1q_depth4_none = "k61-m06-busy-null1q-depth4-none",
    k61_m08_2dev_null1q_none = "k61-m08-2dev-null1q-none",
    k618_m01_order_loop_none = "k618-m01-order-loop-none",
    k618_m02_limit_loop_none = "k618-m02-limit-loop-none",
    k618_m03_merge_nomerges0_loop_none = "k618-m03-merge-nomerges0-loop-none",
    k618_m03_merge_nomerges2_loop_none = "k618-m03-merge-nomerges2-loop-none",
    k618_m04_mergebig_loop_none = "k618-m04-mergebig-loop-none",
    k618_m06_busy_loop_nr4_none = "k618-m06-busy-loop-nr4-none",
    k618_m08_2dev_loop_none = "k618-m08-2dev-loop-none",
}
