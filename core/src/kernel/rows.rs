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

const K4_14: Knobs = Knobs {
    plug_max: 16,
    plug_max_multi: 16,
    plug_count: PlugCount::SameQueue,
    plug_flush_kib: 128,
    plug_flush_nomerges: true,
    plug_flush_check: FlushCheck::Newest,
    plug_order: PlugOrder::Fifo,
    plug_sort: PlugSort::Always,
    plug_merge: PlugMerge::All,
    full_plug: FullPlug::SingleQueue,
    limited_plug: true,
    limited_plug_traced: false,
    aio_plug_above: 0,
    dio_plug: DioPlug::Large,
    psync_sync: false,
    dispatch_mode: DispatchMode::TakeAll,
    dispatch_busy: false,
    direct_unplugged: DirectUnplugged::MqSync,
    direct_at_flush: DirectAtFlush::Never,
    direct_flush_traced: true,
    refused_to: RefusedTo::Ctx,
    dispatch_append: DispatchAppend::Front,
    resource_delay_us: 0,
    no_budget_delays: false,
    run_tests_pending: false,
    commit_rqs: false,
    queue_rqs: false,
    batch_tags: false,
    tag_wake: TagWake::WholeQueue,
    g_before_tag: true,
    complete_in: CompleteIn::HardIrq,
    ipi_in_softirq: false,
    scsi_run_all: true,
    scsi_budget_first: false,
    scsi_budget_map: false,
    scsi_host_busy: true,
    scsi_device_ref: true,
    nvme_shared_lock: true,
    hctx_counters: true,
    dev_resource: false,
    elevator_dispatch: ElevatorDispatch::One,
    elevator_has_work: false,
    budget_rerun: false,
    rerun_for_dispatch_list: false,
    elevator_run_bounded: false,
    dispatch_busy_elevator: false,
    last_looks_ahead: true,
    single_hctx_dispatch: false,
    delay_skips_pending: false,
    elevator_queued: false,
    sched_tags_queue_wide: false,
    rq_merge_traced: false,
    elevator_before_direct: false,
    deadline_prio: DeadlinePrio::Ignored,
    deadline_next: DeadlineNext::BatchPointer,
    deadline_async_depth: DeadlineDepth::None,
    kyber_stats: KyberStats::Mean,
    bfq_queue_lock: true,
    q_on_remapped: false,
    md_remap_traced: true,
    dio_lock: DioLock::WriteExclusive,
    ext4_outer_plug: false,
    wbt: true,
    wbt_handover: false,
};

const K4_15: Knobs = Knobs {
    dispatch_mode: DispatchMode::OneByOneWithBudget,
    run_tests_pending: true,
    scsi_budget_first: true,
    elevator_has_work: true,
    ..K4_14
};

const K4_16: Knobs = Knobs { tag_wake: TagWake::Batch, resource_delay_us: 3000, dev_resource: true, ..K4_15 };

const K4_19: Knobs = Knobs {
    dispatch_mode: DispatchMode::Busy,
    dispatch_busy: true,
    direct_unplugged: DirectUnplugged::MqSyncOrIdle,
    direct_at_flush: DirectAtFlush::IdleGroup,
    nvme_shared_lock: false,
    ..K4_16
};

const K5_4: Knobs = Knobs {
    plug_count: PlugCount::All,
    plug_sort: PlugSort::MultiQueue,
    full_plug: FullPlug::SingleOrCommit,
    limited_plug_traced: true,
    aio_plug_above: 2,
    refused_to: RefusedTo::DispatchList,
    g_before_tag: false,
    complete_in: CompleteIn::SoftIrq,
    scsi_device_ref: false,
    dio_plug: DioPlug::Async,
    commit_rqs: true,
    kyber_stats: KyberStats::Percentile,
    elevator_before_direct: true,
    wbt_handover: true,
    ..K4_19
};

const K5_10: Knobs = Knobs {
    dispatch_append: DispatchAppend::Tail,
    no_budget_delays: true,
    scsi_run_all: false,
    scsi_host_busy: false,
    elevator_dispatch: ElevatorDispatch::Batch,
    budget_rerun: true,
    rerun_for_dispatch_list: true,
    elevator_queued: true,
    rq_merge_traced: true,
    dio_lock: DioLock::Shared,
    ..K5_4
};

const K6_1: Knobs = Knobs {
    plug_max: 32,
    plug_max_multi: 64,
    plug_order: PlugOrder::Lifo,
    plug_sort: PlugSort::Never,
    plug_merge: PlugMerge::Newest,
    full_plug: FullPlug::Always,
    limited_plug: false,
    direct_unplugged: DirectUnplugged::NotBusy,
    direct_at_flush: DirectAtFlush::WholePlug,
    direct_flush_traced: false,
    dio_plug: DioPlug::Large,
    psync_sync: true,
    plug_flush_nomerges: false,
    ipi_in_softirq: true,
    queue_rqs: true,
    batch_tags: true,
    scsi_budget_map: true,
    hctx_counters: false,
    elevator_dispatch: ElevatorDispatch::BatchUntilNoTag,
    elevator_queued: false,
    elevator_run_bounded: true,
    dispatch_busy_elevator: true,
    single_hctx_dispatch: true,
    delay_skips_pending: true,
    sched_tags_queue_wide: true,
    deadline_prio: DeadlinePrio::Ageing,
    deadline_next: DeadlineNext::Pointer,
    deadline_async_depth: DeadlineDepth::PreviousNrRequests,
    ..K5_10
};

const K6_12: Knobs = Knobs {
    direct_flush_traced: true,
    last_looks_ahead: false,
    deadline_next: DeadlineNext::Position,
    deadline_async_depth: DeadlineDepth::NrRequests,
    bfq_queue_lock: false,
    ..K6_1
};

const K6_18: Knobs = Knobs {
    plug_order: PlugOrder::Fifo,
    plug_flush_check: FlushCheck::Oldest,
    direct_at_flush: DirectAtFlush::EachQueue,
    dio_plug: DioPlug::All,
    ..K6_12
};

/// All rows, oldest first.
pub const ROWS: &[Row] = &[
    Row { name: "4.14", covers: "4.14 (with blk-mq switched on for SCSI)", io_uring: false, knobs: K4_14 },
    Row { name: "4.15", covers: "4.15", io_uring: false, knobs: K4_15 },
    Row { name: "4.16", covers: "4.16 to 4.18", io_uring: false, knobs: K4_16 },
    Row { name: "4.19", covers: "4.19", io_uring: false, knobs: K4_19 },
    Row { name: "5.4", covers: "5.3 and 5.4", io_uring: true, knobs: K5_4 },
    Row { name: "5.10", covers: "5.10 to 5.12", io_uring: true, knobs: K5_10 },
    Row { name: "6.1", covers: "5.17 to 6.8, as recorded on 6.1", io_uring: true, knobs: K6_1 },
    Row { name: "6.12", covers: "6.9 to 6.12", io_uring: true, knobs: K6_12 },
    Row { name: "6.18", covers: "6.13 to 6.18, as recorded on 6.18", io_uring: true, knobs: K6_18 },
];

/// The row of this name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|r| r.name == name)
}
