//! Where the kernel functions named in descriptions stand: their file in each version.

use super::ROWS;

const BLK_MQ: &str = "block/blk-mq.c";
const CORE: &str = "block/blk-core.c";
const SCHED: &str = "block/blk-mq-sched.c";
const TAG: &str = "block/blk-mq-tag.c";
const FLUSH: &str = "block/blk-flush.c";
const DEADLINE: &str = "block/mq-deadline.c";
const KYBER: &str = "block/kyber-iosched.c";
const BFQ: &str = "block/bfq-iosched.c";
const SBITMAP: &str = "lib/sbitmap.c";
const SCSI: &str = "drivers/scsi/scsi_lib.c";

/// Rows and the files from them on.
type Files = &'static [(&'static str, &'static str)];

/// Functions, or how their names begin; the last row that has them, if not the newest; and the files in which they stand
/// with the row from which on they stand there. The first that fits counts.
const FILES: &[(&str, &str, Files)] = &[
    // Functions that came, went or moved.
    ("blk_attempt_plug_merge", "", &[("4.4", CORE), ("5.10", "block/blk-merge.c")]),
    ("hctx_may_queue", "", &[("4.4", TAG), ("5.10", "block/blk-mq.h")]),
    ("blk_account_io_done", "", &[("4.4", CORE), ("5.17", BLK_MQ)]),
    ("part_round_stats", "4.19", &[("4.4", CORE)]),
    ("update_io_ticks", "", &[("5.4", "block/bio.c"), ("5.10", CORE)]),
    ("blkdev_write_iter", "", &[("4.4", "fs/block_dev.c"), ("5.17", "block/fops.c")]),
    ("__blkdev_direct_IO", "", &[("4.14", "fs/block_dev.c"), ("5.17", "block/fops.c")]),
    ("blk_queue_bio", "4.19", &[("4.4", CORE)]),
    ("generic_make_request", "5.4", &[("4.4", CORE)]),
    ("ioc_batching", "4.19", &[("4.4", CORE)]),
    ("ioc_set_batching", "4.19", &[("4.4", CORE)]),
    ("ioc_lookup_icq", "", &[("4.4", "block/blk-ioc.c")]),
    ("blk_add_rq_to_plug", "", &[("5.4", BLK_MQ)]),
    ("blk_plug_max_rq_count", "", &[("5.17", BLK_MQ)]),
    ("blk_mq_get_tags", "", &[("5.17", TAG)]),
    ("bt_clear_tag", "4.4", &[("4.4", TAG)]),
    ("blk_mq_sched_insert_requests", "6.1", &[("4.14", SCHED)]),
    ("blk_mq_sched_", "", &[("4.14", SCHED)]),
    ("blk_mq_do_dispatch_", "", &[("4.14", SCHED)]),
    ("blk_mq_make_request", "5.4", &[("4.4", BLK_MQ)]),
    ("blk_mq_submit_bio", "", &[("5.10", BLK_MQ)]),
    ("blk_mq_map_request", "4.4", &[("4.4", BLK_MQ)]),
    ("blk_mq_merge_queue_io", "4.4", &[("4.4", BLK_MQ)]),
    ("blk_mq_get_request", "5.4", &[("4.14", BLK_MQ)]),
    ("blk_mq_dispatch_rq_list", "", &[("4.14", BLK_MQ)]),
    ("blk_mq_dispatch_plug_list", "", &[("6.0", BLK_MQ)]),
    ("blk_mq_plug_issue_direct", "", &[("5.17", BLK_MQ)]),
    ("blk_mq_update_dispatch_busy", "", &[("4.19", BLK_MQ)]),
    ("blk_mq_get_sq_hctx", "", &[("5.12", BLK_MQ)]),
    ("blk_mq_raise_softirq", "", &[("5.12", BLK_MQ)]),
    ("blk_mq_complete_need_ipi", "", &[("5.10", BLK_MQ)]),
    ("__blk_mq_complete_request", "5.4", &[("4.4", BLK_MQ)]),
    ("__blk_mq_run_hw_queue", "6.1", &[("4.4", BLK_MQ)]),
    ("__blk_mq_delay_run_hw_queue", "6.1", &[("4.14", BLK_MQ)]),
    ("__blk_mq_try_issue_directly", "", &[("4.14", BLK_MQ)]),
    ("elevator_init_mq", "", &[("5.4", "block/elevator.c")]),
    ("elevator_get_default", "", &[("5.4", "block/elevator.c")]),
    ("bfq_choose_bfqq_for_injection", "", &[("5.4", BFQ)]),
    ("bfqq_request_over_limit", "", &[("5.17", BFQ)]),
    ("dd_limit_depth", "", &[("5.14", DEADLINE)]),
    ("sbitmap_queue_wake_up", "", &[("4.19", SBITMAP)]),
    ("sbitmap_deferred_clear", "", &[("5.4", SBITMAP)]),
    ("rq_qos_wake_function", "", &[("5.4", "block/blk-rq-qos.c")]),
    ("scsi_mq_get_budget", "", &[("4.15", SCSI)]),
    ("nvme_commit_rqs", "", &[("5.4", "drivers/nvme/host/pci.c")]),
    ("do_io_submit", "4.16", &[("4.4", "fs/aio.c")]),
    ("generic_fadvise", "", &[("4.19", "mm/fadvise.c")]),
    ("ext4_file_read_iter", "", &[("4.14", "fs/ext4/file.c")]),
    // All others of a file.
    ("blk_kick_flush", "", &[("4.4", FLUSH)]),
    ("blk_insert_flush", "", &[("4.4", FLUSH)]),
    ("queue_", "", &[("4.4", "block/blk-sysfs.c")]),
    ("blk_mq_", "", &[("4.4", BLK_MQ)]),
    ("deadline_", "", &[("4.14", DEADLINE)]),
    ("dd_", "", &[("4.14", DEADLINE)]),
    ("__dd_", "", &[("4.14", DEADLINE)]),
    ("kyber_", "", &[("4.14", KYBER)]),
    ("bfq_", "", &[("4.14", BFQ)]),
    ("scsi_", "", &[("4.4", SCSI)]),
    ("raid0_", "", &[("4.4", "drivers/md/raid0.c")]),
    ("do_blockdev_direct_IO", "", &[("4.4", "fs/direct-io.c")]),
    ("ext4_file_write_iter", "", &[("4.4", "fs/ext4/file.c")]),
];

/// A kernel function and its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// The function.
    pub function: &'a str,
    /// Its file in the tree of the version asked for.
    pub file: &'static str,
}

/// The first kernel function that a description names in its last brackets and that version `row` has a file for.
pub fn source<'a>(help: &'a str, row: &str) -> Option<Source<'a>> {
    let inside = help.rfind('(').and_then(|open| help[open + 1..].split(')').next())?;
    let names = inside.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    names
        .filter(|name| name.contains('_'))
        .find_map(|function| file(function, row).map(|file| Source { function, file }))
}

/// The file of a function in a version; `None` where it is not known or the version does not have it yet.
fn file(function: &str, row: &str) -> Option<&'static str> {
    let place = |name: &str| ROWS.iter().position(|r| r.name == name);
    let row = place(row)?;
    let (_, last, files) = FILES.iter().find(|(start, ..)| function.starts_with(start))?;
    if place(last).is_some_and(|last| last < row) {
        return None;
    }
    files.iter().rev().find(|(from, _)| place(from).is_some_and(|from| from <= row)).map(|(_, file)| *file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_move_with_the_versions() {
        let of = |help, row| source(help, row).map(|s| s.file);
        let plug = "Merge candidates in the plug (blk_attempt_plug_merge).";
        assert_eq!(of(plug, "4.14"), Some("block/blk-core.c"));
        assert_eq!(of(plug, "5.10"), Some("block/blk-merge.c"));
        let dispatch = "How a run takes requests (blk_mq_sched_dispatch_requests).";
        assert_eq!(of(dispatch, "6.1"), Some("block/blk-mq-sched.c"));
        assert_eq!(of(dispatch, "4.4"), None, "it came with 4.11");
        let run = source("It runs (mod_delayed_work_on in __blk_mq_delay_run_hw_queue, 4.16+).", "5.4");
        assert_eq!(run, Some(Source { function: "__blk_mq_delay_run_hw_queue", file: "block/blk-mq.c" }));
        assert_eq!(of("Nothing is named.", "6.1"), None);
        assert_eq!(of("No such version (blk_mq_run_hw_queue).", "1.0"), None);
    }

    #[test]
    fn most_rules_of_every_row_have_a_file_and_every_row_named_here_is_one() {
        let is_row = |name: &str| ROWS.iter().any(|r| r.name == name);
        for (function, last, files) in FILES {
            assert!(last.is_empty() || is_row(last), "{function}");
            assert!(files.iter().all(|(from, _)| is_row(from)), "{function}");
        }
        for row in ROWS {
            let knobs = row.knobs.list();
            let known = knobs.iter().filter(|k| source(k.help, row.name).is_some()).count();
            assert!(known * 4 > knobs.len(), "{}: {known} of {}", row.name, knobs.len());
        }
        // A rule of blk-mq has a file in some version.
        let named =
            |k: &super::super::KnobInfo| k.help.rfind('(').is_some_and(|i| k.help[i..].contains("blk_mq_"));
        for knob in ROWS[0].knobs.list().iter().filter(|k| named(k)) {
            assert!(ROWS.iter().any(|row| source(knob.help, row.name).is_some()), "{}", knob.name);
        }
    }

    #[test]
    fn a_function_that_a_version_does_not_have_has_no_file_there() {
        let of = |function: &str, row| source(&format!("A rule ({function})."), row).map(|s| s.file);
        assert_eq!(of("blk_mq_get_sq_hctx", "5.4"), None);
        assert_eq!(of("blk_mq_get_sq_hctx", "5.12"), Some(BLK_MQ));
        assert_eq!(of("blk_queue_bio", "5.4"), None);
        assert_eq!(of("blk_mq_make_request, blk_mq_submit_bio", "6.1"), Some(BLK_MQ));
        assert_eq!(
            source("A rule (blk_mq_make_request, blk_mq_submit_bio).", "6.1").map(|s| s.function),
            Some("blk_mq_submit_bio")
        );
    }
}
