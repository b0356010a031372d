//! The rows. A new version is one more entry here.

use super::*;

/// A kernel version.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name used on the command line and in URLs.
    pub name: &'static str,
    /// Which versions behave like this row, for people.
    pub covers: &'static str,
    /// Whether io_uring exists.
    pub io_uring: bool,
    /// Its knobs.
    pub knobs: Knobs,
}

/// blk-mq for those who had it: no elevators, one request in the plug of a multi-queue disk.
const K4_4: Knobs = Knobs {
    plug_max: 16,
    plug_max_multi: 16,
    plug_count: PlugCount::SameQueue,
    plug_flush_kib: 0,
    plug_flush_nomerges: true,
    plug_flush_check: FlushCheck::Newest,
    plug_order: PlugOrder::Fifo,
    plug_sort: PlugSort::Always,
    plug_merge: PlugMerge::All,
    plug_gather: false,
    plug_groups_reversed: false,
    full_plug: FullPlug::SingleQueue,
    limited_plug: true,
    limited_plug_traced: false,
    aio_plug_above: 0,
    dio_plug: DioPlug::All,
    write_plug: true,
    psync_sync: false,
    merge_after_request: true,
    sync_insert_inline: true,
    ctxs_before_dispatch: true,
    dispatch_mode: DispatchMode::TakeAll,
    dispatch_busy: false,
    direct_unplugged: DirectUnplugged::MqSync,
    direct_at_flush: DirectAtFlush::Never,
    direct_flush_traced: true,
    refused_to: RefusedTo::CtxAsync,
    dispatch_append: DispatchAppend::Front,
    resource_delay_us: 0,
    no_budget_delays: false,
    requeue_bypass: false,
    requeue_at_tail: false,
    run_tests_pending: false,
    commit_rqs: false,
    queue_rqs: false,
    batch_tags: false,
    tag_scan_locks: false,
    tag_fairness: true,
    tag_wake: TagWake::WholeQueue,
    sleep_traced: true,
    g_before_tag: true,
    complete_in: CompleteIn::HardIrq,
    ipi_in_softirq: false,
    scsi_run_all: true,
    scsi_budget_first: false,
    scsi_budget_map: false,
    scsi_host_busy: true,
    scsi_device_ref: true,
    scsi_delay_all: false,
    ahci_max_cmds: 31,
    nvme_shared_lock: true,
    hctx_counters: true,
    hctx_run_counter: true,
    dev_resource: false,
    mq_elevators: false,
    default_scheduler: DefaultScheduler::None,
    max_sectors_kb: 1280,
    elevator_dispatch: ElevatorDispatch::One,
    elevator_has_work: false,
    budget_rerun: false,
    rerun_for_dispatch_list: false,
    elevator_run_bounded: false,
    dispatch_busy_elevator: false,
    last_looks_ahead: false,
    single_hctx_dispatch: false,
    delay_skips_pending: false,
    delay_takes_queued: false,
    elevator_queued: false,
    sched_tags_queue_wide: false,
    rq_merge_traced: false,
    elevator_before_direct: false,
    deadline_prio: DeadlinePrio::Ignored,
    deadline_next: DeadlineNext::BatchPointer,
    deadline_async_depth: DeadlineDepth::None,
    deadline_dispatch_alone: false,
    deadline_insert_list: false,
    kyber_stats: KyberStats::Mean,
    flush_defer: FlushDefer::WithoutScheduler,
    flush_data_normal: false,
    flush_runs_inline: false,
    flush_through_ctx: true,
    legacy_path: true,
    bfq_injects: false,
    bfq_request_limit: false,
    bfq_queue_lock: true,
    ioc_batching: true,
    q_on_remapped: true,
    md_remap_traced: false,
    fadvise_skips_congested: true,
    dio_lock: DioLock::SubmitOnly,
    ext4_outer_plug: true,
    wbt: false,
    wbt_handover: false,
    io_ticks: IoTicks::Sampled,
    queue_time: QueueTime::Sampled,
};

/// Elevators for blk-mq, and what they brought along: merging before the request is made, left-overs first.
const K4_14: Knobs = Knobs {
    plug_flush_kib: 128,
    dio_plug: DioPlug::Async,
    merge_after_request: false,
    sync_insert_inline: false,
    ctxs_before_dispatch: false,
    refused_to: RefusedTo::Ctx,
    sleep_traced: false,
    mq_elevators: true,
    default_scheduler: DefaultScheduler::SingleQueue,
    last_looks_ahead: true,
    q_on_remapped: false,
    md_remap_traced: true,
    dio_lock: DioLock::WriteExclusive,
    ext4_outer_plug: false,
    wbt: true,
    ..K4_4
};

/// SCSI requests stay in the ctx lists, where they can merge, until the LUN has room.
const K4_15: Knobs = Knobs {
    dispatch_mode: DispatchMode::OneByOneWithBudget,
    run_tests_pending: true,
    scsi_budget_first: true,
    elevator_has_work: true,
    flush_through_ctx: false,
    ..K4_14
};

/// No thundering herd at the tags; a busy device is told apart from a lacking resource.
const K4_16: Knobs = Knobs {
    tag_wake: TagWake::Batch,
    resource_delay_us: 3000,
    dev_resource: true,
    delay_takes_queued: true,
    ..K4_15
};

/// Direct issue while the device is not busy.
const K4_19: Knobs = Knobs {
    dispatch_mode: DispatchMode::Busy,
    dispatch_busy: true,
    direct_unplugged: DirectUnplugged::MqSyncOrIdle,
    direct_at_flush: DirectAtFlush::IdleGroup,
    nvme_shared_lock: false,
    ahci_max_cmds: 32,
    ..K4_16
};

/// The legacy path is gone; one doorbell for a list; kyber by percentiles.
const K5_4: Knobs = Knobs {
    plug_count: PlugCount::All,
    plug_sort: PlugSort::MultiQueue,
    full_plug: FullPlug::SingleOrCommit,
    limited_plug_traced: true,
    aio_plug_above: 2,
    refused_to: RefusedTo::DispatchList,
    requeue_bypass: true,
    tag_scan_locks: true,
    g_before_tag: false,
    complete_in: CompleteIn::SoftIrq,
    scsi_device_ref: false,
    commit_rqs: true,
    kyber_stats: KyberStats::Percentile,
    legacy_path: false,
    ioc_batching: false,
    elevator_before_direct: true,
    wbt_handover: true,
    flush_defer: FlushDefer::WithScheduler,
    io_ticks: IoTicks::OneATouch,
    queue_time: QueueTime::WholeJiffies,
    bfq_injects: true,
    ..K4_19
};

/// Batches from the elevator, and the delayed run of all hctxs when it gives nothing.
const K5_10: Knobs = Knobs {
    dispatch_append: DispatchAppend::Tail,
    no_budget_delays: true,
    scsi_run_all: false,
    scsi_delay_all: true,
    scsi_host_busy: false,
    elevator_dispatch: ElevatorDispatch::Batch,
    budget_rerun: true,
    rerun_for_dispatch_list: true,
    elevator_queued: true,
    rq_merge_traced: true,
    dio_lock: DioLock::Shared,
    flush_defer: FlushDefer::Always,
    io_ticks: IoTicks::SpanAtEnd,
    queue_time: QueueTime::Exact,
    ..K5_4
};

/// A full word of a tag bitmap is only read.
const K5_11: Knobs = Knobs { tag_scan_locks: false, ..K5_10 };

/// Runs of all hctxs are one run for elevators with one lock.
const K5_12: Knobs =
    Knobs { ipi_in_softirq: true, single_hctx_dispatch: true, elevator_queued: false, ..K5_11 };

/// Elevators and hosts that share tags: one set of sched tags, batches that end with the driver tags.
const K5_14: Knobs = Knobs {
    full_plug: FullPlug::SingleCommitOrSharedTags,
    scsi_budget_map: true,
    default_scheduler: DefaultScheduler::SingleQueueOrSharedTags,
    elevator_dispatch: ElevatorDispatch::BatchUntilNoTag,
    dispatch_busy_elevator: true,
    sched_tags_queue_wide: true,
    deadline_prio: DeadlinePrio::Strict,
    deadline_next: DeadlineNext::Pointer,
    deadline_async_depth: DeadlineDepth::ThreeQuarters,
    ..K5_12
};

/// The plug is a stack of 32 that goes to the driver whole.
const K5_17: Knobs = Knobs {
    plug_max: 32,
    plug_max_multi: 64,
    plug_flush_nomerges: false,
    plug_order: PlugOrder::Lifo,
    plug_sort: PlugSort::Never,
    plug_merge: PlugMerge::Last,
    full_plug: FullPlug::Always,
    limited_plug: false,
    dio_plug: DioPlug::Large,
    direct_unplugged: DirectUnplugged::NotBusy,
    direct_at_flush: DirectAtFlush::WholePlug,
    direct_flush_traced: false,
    psync_sync: true,
    queue_rqs: true,
    batch_tags: true,
    hctx_counters: false,
    deadline_prio: DeadlinePrio::Ageing,
    flush_runs_inline: true,
    bfq_request_limit: true,
    ..K5_14
};

/// Plugs of several queues are told apart, at the price of their order; runs of an elevator have an end.
const K6_0: Knobs = Knobs {
    plug_merge: PlugMerge::Newest,
    plug_gather: true,
    plug_groups_reversed: true,
    elevator_run_bounded: true,
    delay_skips_pending: true,
    fadvise_skips_congested: false,
    ..K5_17
};

/// Its stable releases put the order of the plug right.
const K6_1: Knobs =
    Knobs { plug_groups_reversed: false, deadline_async_depth: DeadlineDepth::PreviousNrRequests, ..K6_0 };

/// Tag wake-ups are counted; mq-deadline remembers positions.
const K6_6: Knobs = Knobs {
    tag_wake: TagWake::Counted,
    requeue_at_tail: true,
    last_looks_ahead: false,
    deadline_next: DeadlineNext::Position,
    deadline_async_depth: DeadlineDepth::ThreeQuartersOfWord,
    flush_data_normal: true,
    write_plug: false,
    ..K6_1
};

/// The whole plug has its U again.
const K6_12: Knobs = Knobs {
    direct_flush_traced: true,
    hctx_run_counter: false,
    io_ticks: IoTicks::InFlight,
    deadline_async_depth: DeadlineDepth::NrRequests,
    bfq_queue_lock: false,
    ..K6_6
};

/// The plug is a queue again, but bios are still compared with its head.
const K6_13: Knobs = Knobs {
    plug_order: PlugOrder::Fifo,
    plug_merge: PlugMerge::Oldest,
    plug_flush_check: FlushCheck::Oldest,
    ..K6_12
};

/// Bios are compared with the tail; several queues of a plug go to their drivers one after the other.
const K6_18: Knobs = Knobs {
    plug_merge: PlugMerge::Tail,
    direct_at_flush: DirectAtFlush::EachQueue,
    dio_plug: DioPlug::All,
    ..K6_13
};

/// Requests of up to 4 MiB.
const K7_0: Knobs = Knobs { max_sectors_kb: 4096, ..K6_18 };

/// All rows, oldest first.
pub const ROWS: &[Row] = &[
    Row { name: "4.4", covers: "4.4 (disks that had blk-mq then)", io_uring: false, knobs: K4_4 },
    Row { name: "4.14", covers: "4.14 (with blk-mq switched on for SCSI)", io_uring: false, knobs: K4_14 },
    Row { name: "4.15", covers: "4.15", io_uring: false, knobs: K4_15 },
    Row { name: "4.16", covers: "4.16; 4.17 was not read, 4.18 in part", io_uring: false, knobs: K4_16 },
    Row { name: "4.19", covers: "4.19", io_uring: false, knobs: K4_19 },
    Row { name: "5.4", covers: "5.4.0; 5.5 to 5.9 were not read", io_uring: true, knobs: K5_4 },
    Row { name: "5.10", covers: "5.10.0", io_uring: true, knobs: K5_10 },
    // megaraid_sas offers an hctx for each CPU from 5.11 on.
    Row { name: "5.11", covers: "5.11", io_uring: true, knobs: K5_11 },
    Row { name: "5.12", covers: "5.12.0", io_uring: true, knobs: K5_12 },
    Row { name: "5.14", covers: "5.14, read in its rc5; 5.13 was not read", io_uring: true, knobs: K5_14 },
    Row { name: "5.17", covers: "5.17; 5.16 was not read", io_uring: true, knobs: K5_17 },
    Row { name: "6.0", covers: "6.0, and 6.1 and 6.2 as first released", io_uring: true, knobs: K6_0 },
    Row { name: "6.1", covers: "6.1 as recorded on a late 6.1.y", io_uring: true, knobs: K6_1 },
    Row { name: "6.6", covers: "6.6 to 6.8", io_uring: true, knobs: K6_6 },
    Row { name: "6.12", covers: "6.12; 6.9 to 6.11 were not read", io_uring: true, knobs: K6_12 },
    Row { name: "6.13", covers: "6.13 to 6.15; by reports, not read", io_uring: true, knobs: K6_13 },
    Row { name: "6.18", covers: "6.16 to 6.18, as recorded on 6.18", io_uring: true, knobs: K6_18 },
    Row { name: "7.0", covers: "7.0", io_uring: true, knobs: K7_0 },
];

/// The row of this name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|r| r.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_stand_in_the_order_of_their_versions() {
        let version = |row: &Row| -> Vec<u32> {
            row.name.split('.').map(|part| part.parse().expect("numbers and dots")).collect()
        };
        assert!(ROWS.windows(2).all(|pair| version(&pair[0]) < version(&pair[1])));
        assert!(ROWS.windows(2).all(|pair| pair[0].io_uring <= pair[1].io_uring));
    }

    /// Rules of patches that no kernel has, for the cases that tried them.
    const PATCHES: [&str; 3] = ["tag_fairness", "deadline_dispatch_alone", "deadline_insert_list"];

    #[test]
    fn every_knob_tells_some_rows_apart() {
        for (at, name) in Knobs::NAMES.iter().enumerate() {
            let values: BTreeSet<String> =
                ROWS.iter().map(|row| row.knobs.list()[at].value.clone()).collect();
            assert_eq!(values.len() > 1, !PATCHES.contains(name), "{name} is the same in all rows");
        }
    }

    #[test]
    fn every_knob_takes_back_what_it_shows() {
        for row in ROWS {
            let mut knobs = ROWS[0].knobs.clone();
            for knob in row.knobs.list() {
                knobs.set(knob.name, &knob.value).expect("a knob's own value");
            }
            assert_eq!(knobs, row.knobs, "{}", row.name);
        }
    }
}
