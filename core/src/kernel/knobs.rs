//! Policy knobs: what differs between kernel versions and can be overridden one by one.

use super::choices::*;
use crate::diag::nearest;
use serde::{Deserialize, Serialize};

/// A knob as the user sees it.
#[derive(Clone, Debug, Serialize)]
pub struct KnobInfo {
    /// Name for `--set` and URLs.
    pub name: &'static str,
    /// The part of the path that it belongs to, for people.
    pub group: &'static str,
    /// `bool`, `number` or `choice`.
    pub kind: &'static str,
    /// Allowed words of a choice.
    pub choices: &'static [&'static str],
    /// What it does and which kernel function holds the rule.
    pub help: &'static str,
    /// Current value.
    pub value: String,
}

/// Why a knob could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// No such knob.
    #[error("there is no knob '{name}'{}", .near.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest known name.
        near: Option<&'static str>,
    },
    /// The value does not fit.
    #[error("'{value}' is no value for {name}; use {allowed}")]
    Value {
        /// The knob.
        name: &'static str,
        /// The text given.
        value: String,
        /// What fits.
        allowed: String,
    },
}

macro_rules! knobs {
    // A group's name stands once, before its first knob.
    ($($(@ $group:literal)? $(#[doc = $doc:literal])+ $name:ident : $ty:ty),+ $(,)?) => {
        /// One row of policy knobs. Every field can be overridden alone by its name.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub struct Knobs { $($(#[doc = $doc])+ pub $name: $ty),+ }

        impl Knobs {
            /// The names of all knobs.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Sets one knob from text.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
                match name {
                    $(stringify!($name) => self.$name = parse(stringify!($name), value)?,)+
                    _ => return Err(KnobError::Unknown {
                        name: name.chars().take(60).collect(),
                        near: nearest(name, Self::NAMES.iter().copied()),
                    }),
                }
                Ok(())
            }

            /// All knobs with their values and descriptions.
            pub fn list(&self) -> Vec<KnobInfo> {
                // Set before the first knob, or this would not compile.
                let mut group;
                vec![$(KnobInfo {
                    name: stringify!($name),
                    group: {
                        $(group = $group;)?
                        group
                    },
                    kind: <$ty as KnobValue>::KIND,
                    choices: <$ty as KnobValue>::CHOICES,
                    help: concat!($($doc),+).trim(),
                    value: self.$name.to_string(),
                }),+]
            }
        }
    };
}

fn parse<T: KnobValue>(name: &'static str, value: &str) -> Result<T, KnobError> {
    value.trim().parse().map_err(|_| KnobError::Value {
        name,
        value: value.chars().take(60).collect(),
        allowed: if T::CHOICES.is_empty() {
            String::from("a whole number from 0 to 4294967295")
        } else {
            T::CHOICES.join(", ")
        },
    })
}

knobs! {
    @ "Plug"
    /// Requests in a plug before it is flushed (BLK_MAX_REQUEST_COUNT; blk_add_rq_to_plug); 32 since 5.16.
    plug_max: u32,
    /// The same when the plug holds several queues (blk_plug_max_rq_count); 64 since 5.16.
    plug_max_multi: u32,
    /// Which requests plug_max counts (blk_attempt_plug_merge's request_count, later plug->rq_count).
    plug_count: PlugCount,
    /// A request of at least this many KiB in the plug makes the next one flush it (BLK_PLUG_FLUSH_SIZE); 0: no rule, in 4.4.
    plug_flush_kib: u32,
    /// The plug_flush_kib rule also holds for queues with nomerges=2 (blk_add_rq_to_plug; not since 5.17).
    plug_flush_nomerges: bool,
    /// Which request the plug_flush_kib rule looks at.
    plug_flush_check: FlushCheck,
    /// Order of the plug list (blk_add_rq_to_plug).
    plug_order: PlugOrder,
    /// When the plug is sorted at flush (plug_rq_cmp in blk_mq_flush_plug_list).
    plug_sort: PlugSort,
    /// Merge candidates in the plug (blk_attempt_plug_merge).
    plug_merge: PlugMerge,
    /// At flush a group gathers all requests of one hctx and ctx, not only neighbours (blk_mq_dispatch_plug_list, 6.1+).
    plug_gather: bool,
    /// A group that goes to a scheduler or a ctx list joins it newest request first, and what is left of the plug is turned
    /// round after each group (blk_mq_dispatch_plug_list, 5.17.2 to 6.2; mended in 6.1.21, 6.2.8 and 6.3).
    plug_groups_reversed: bool,
    /// Who may fill a whole plug (blk_mq_make_request, blk_mq_submit_bio; everyone since 5.16).
    full_plug: FullPlug,
    /// Others hold one request per queue in the plug (the same_queue_rq branch of blk_mq_make_request, until 5.15).
    limited_plug: bool,
    /// The limited plug emits P and U events (5.3 to 5.15).
    limited_plug_traced: bool,
    /// io_submit plugs calls of more than this many iocbs; 0: always, until 4.20 (do_io_submit; AIO_PLUG_THRESHOLD).
    aio_plug_above: u32,
    /// Which direct I/Os plug their own bios (do_blockdev_direct_IO in 4.4, __blkdev_direct_IO since; all of them as
    /// recorded on 6.18).
    dio_plug: DioPlug,
    /// A write call to a block device plugs its bios, and a synchronous one sleeps with that plug (blkdev_write_iter, until
    /// 6.5).
    write_plug: bool,
    /// Reads of pread and preadv carry REQ_SYNC, as submit_bio_wait sets it (__blkdev_direct_IO_simple, 5.17+).
    psync_sync: bool,
    @ "Dispatch"
    /// A bio is compared with the requests of its ctx list when it already has a request and tag of its own, under the lock
    /// that also inserts it (blk_mq_merge_queue_io, 4.4).
    merge_after_request: bool,
    /// A synchronous request that was inserted in its ctx list is dispatched by its task at once, not by a kworker
    /// (blk_mq_make_request, 4.4).
    sync_insert_inline: bool,
    /// A run flushes the ctx lists first and puts older left-overs of hctx->dispatch in front of them
    /// (__blk_mq_run_hw_queue, 4.4).
    ctxs_before_dispatch: bool,
    /// How a run takes requests from ctx lists with none (blk_mq_sched_dispatch_requests).
    dispatch_mode: DispatchMode,
    /// hctx->dispatch_busy is kept (blk_mq_update_dispatch_busy, 4.19+).
    dispatch_busy: bool,
    /// Unplugged requests to the driver at once (blk_mq_make_request / blk_mq_submit_bio).
    direct_unplugged: DirectUnplugged,
    /// Direct issue at an explicit plug flush with none (blk_mq_sched_insert_requests, blk_mq_plug_issue_direct).
    direct_at_flush: DirectAtFlush,
    /// A U event is emitted when a plug is issued directly as a whole (absent 5.17 to 6.8).
    direct_flush_traced: bool,
    /// Where a refused direct request goes (__blk_mq_try_issue_directly).
    refused_to: RefusedTo,
    /// Where refused requests join hctx->dispatch (blk_mq_dispatch_rq_list; in front until 5.4.0).
    dispatch_append: DispatchAppend,
    /// Delay before a run is tried again after the driver lacked a resource, us (BLK_MQ_RESOURCE_DELAY, 4.16+); 0: none.
    resource_delay_us: u32,
    /// Running out of LUN budget also arms that delay (PREP_DISPATCH_NO_BUDGET, 5.8+).
    no_budget_delays: bool,
    /// A request that comes back through the requeue list goes to hctx->dispatch, not to the head of its ctx list
    /// (RQF_DONTPREP in blk_mq_requeue_work, 5.0+).
    requeue_bypass: bool,
    /// It joins the requeue list at the tail (blk_mq_requeue_request, 6.5+); before, at the head.
    requeue_at_tail: bool,
    /// A pending test comes before a run (blk_mq_run_hw_queue, blk_mq_hctx_has_pending, 4.15+).
    run_tests_pending: bool,
    @ "NVMe"
    /// Drivers with commit_rqs ring once for a list; before 5.0 NVMe rang for every command (nvme_commit_rqs).
    commit_rqs: bool,
    /// The driver's queue_rqs takes a whole plug (NVMe, 5.16+).
    queue_rqs: bool,
    @ "Tags"
    /// Tags for a whole announced batch are taken by one atomic (blk_mq_get_tags, 5.16+).
    batch_tags: bool,
    /// A search in vain takes a lock in each word of the bitmap, to look for bits that were freed but not yet put back
    /// (sbitmap_deferred_clear: swap_lock, 5.0 to 5.10).
    tag_scan_locks: bool,
    /// An active queue of a shared tag set may take depth / active queues of it (hctx_may_queue, in all kernels; without:
    /// patch of May 2024).
    tag_fairness: bool,
    /// Who is woken when tags are freed (sbitmap_queue_wake_up; bt_clear_tag in 4.4).
    tag_wake: TagWake,
    /// An S shows that a task found no free tag (trace_block_sleeprq in blk_mq_map_request, 4.4).
    sleep_traced: bool,
    /// G is traced before the tag is allocated (trace_block_getrq in blk_mq_make_request before 4.20).
    g_before_tag: bool,
    @ "Completion"
    /// Completion context on queues with one hctx (__blk_mq_complete_request; the softirq since 4.20).
    complete_in: CompleteIn,
    /// A completion sent to another CPU runs in its BLOCK softirq, not in the interrupt (blk_mq_raise_softirq, 5.12+).
    ipi_in_softirq: bool,
    @ "SCSI"
    /// A SCSI completion runs all hctxs that have pending work (scsi_end_request before 5.10).
    scsi_run_all: bool,
    /// The LUN budget (device_busy) is taken before the tag instead of in queue_rq (scsi_mq_get_budget, 4.15+).
    scsi_budget_first: bool,
    /// The LUN budget is a bitmap whose words are lines of their own, not one counter (sdev->budget_map, 5.13+).
    scsi_budget_map: bool,
    /// The host_busy counter exists (scsi_host_queue_ready before 5.5).
    scsi_host_busy: bool,
    /// The device reference is counted per command (get_device in scsi_queue_rq, until 4.20).
    scsi_device_ref: bool,
    /// A LUN that is blocked with nothing in flight has all its hctxs run again after 3 ms (SCSI_QUEUE_DELAY in
    /// scsi_mq_get_budget, 5.10+); before, the hctx that asked.
    scsi_delay_all: bool,
    /// Commands that an AHCI disk takes at once (can_queue of the host; one was kept for libata's own until 4.17). Read when
    /// the disk is set up, where it counts as 1 to 32.
    ahci_max_cmds: u32,
    @ "NVMe"
    /// Submission and completion share one NVMe queue lock (nvmeq->q_lock; sq_lock in 4.19).
    nvme_shared_lock: bool,
    @ "Dispatch"
    /// Statistics counters of the hctx (queued, dispatched) are written for each request (blk_mq_get_request, until 5.15).
    hctx_counters: bool,
    /// hctx->run is counted at each run (__blk_mq_run_hw_queue, blk_mq_sched_dispatch_requests, until 6.6).
    hctx_run_counter: bool,
    /// BLK_STS_DEV_RESOURCE exists: a refused request waits for a completion while commands are in flight, without the
    /// delayed run (scsi_queue_rq, 4.16+). Recorded on 6.1 too, although its text has RESOURCE there since 5.11.
    dev_resource: bool,
    @ "Scheduler path"
    /// blk-mq disks can have a scheduler (elevator_init_mq; not in 4.4). Read when the disk is set up.
    mq_elevators: bool,
    /// Scheduler of disks that say `scheduler = "default"` (elevator_get_default). Read when the disk is set up.
    default_scheduler: DefaultScheduler,
    @ "Dispatch"
    /// Largest request where the disk does not say otherwise, KiB (BLK_DEF_MAX_SECTORS). Read when the disk is set up.
    max_sectors_kb: u32,
    @ "Scheduler path"
    /// Requests that a run takes from the elevator at once (blk_mq_do_dispatch_sched).
    elevator_dispatch: ElevatorDispatch,
    /// A run asks the elevator has_work and takes budget before each request (blk_mq_do_dispatch_sched, 4.15+).
    elevator_has_work: bool,
    /// An elevator that gives nothing although budget was taken makes all hctxs run again after 3 ms
    /// (BLK_MQ_BUDGET_DELAY, 5.7+).
    budget_rerun: bool,
    /// A run stops when something joins hctx->dispatch meanwhile, and starts once more (blk_mq_sched_dispatch_requests,
    /// 5.7+).
    rerun_for_dispatch_list: bool,
    /// Elevator runs end after 1 s (blk_mq_do_dispatch_sched, 5.19+).
    elevator_run_bounded: bool,
    /// dispatch_busy is kept with an elevator too (blk_mq_update_dispatch_busy, 5.14+).
    dispatch_busy_elevator: bool,
    /// The next request's driver tag is taken before a request is sent, to know whether it is the last
    /// (blk_mq_dispatch_rq_list, 4.14 to 6.1; not in 6.4).
    last_looks_ahead: bool,
    /// Runs of all hctxs pick one for elevators with one lock for the disk (blk_mq_get_sq_hctx, 5.12+).
    single_hctx_dispatch: bool,
    /// A delayed run of all hctxs leaves those alone that already have one pending (5.19+).
    delay_skips_pending: bool,
    /// A delayed run also puts off a run that is queued and waits for its kworker (mod_delayed_work_on in
    /// __blk_mq_delay_run_hw_queue, 4.16+); before, what was pending stayed.
    delay_takes_queued: bool,
    /// An hctx through which nothing was inserted has no work (hctx->elevator_queued, 5.10 and 5.11).
    elevator_queued: bool,
    /// Host-wide tags come with one set of sched tags for the disk, not one for each hctx (5.14+).
    sched_tags_queue_wide: bool,
    /// Two requests merged with each other show an M (trace_block_rq_merge, 5.10+).
    rq_merge_traced: bool,
    /// A new unplugged request goes to the scheduler before the limited plug and direct issue are considered
    /// (blk_mq_submit_bio, 5.4+); before, it was inserted and the hctx run at once.
    elevator_before_direct: bool,
    @ "mq-deadline"
    /// I/O priorities in mq-deadline.
    deadline_prio: DeadlinePrio,
    /// Where mq-deadline goes on in sector order (deadline_next_request).
    deadline_next: DeadlineNext,
    /// Writes' share of the sched tags in mq-deadline.
    deadline_async_depth: DeadlineDepth,
    /// mq-deadline lets one CPU at a time dispatch, the others are sent away by a bit, and a bio that finds dd->lock taken
    /// looks for no merge (patches of January 2024, in no kernel). Read when the disk is set up.
    deadline_dispatch_alone: bool,
    /// mq-deadline's requests wait in a list with a lock of its own until dispatch inserts them under dd->lock
    /// (dd->at_tail, patch of January 2024, in linux-next for a week). Read when the disk is set up.
    deadline_insert_list: bool,
    @ "kyber"
    /// kyber's statistics and domains.
    kyber_stats: KyberStats,
    @ "Flush"
    /// Whether a pending flush waits while data of other flush sequences is at the device, up to 5 s (blk_kick_flush).
    flush_defer: FlushDefer,
    /// FUA writes that need no flush, and data of flush sequences, are normal requests: plug, scheduler, ctx lists
    /// (blk_insert_flush returns false, 6.5+). Before, they went to hctx->dispatch.
    flush_data_normal: bool,
    /// A FUA write that needs no flush is issued at once by its submitter (blk_insert_flush, 5.16+). Before, each
    /// submission of a flush or FUA write left the run of the hctx to a kworker.
    flush_runs_inline: bool,
    /// Without a scheduler, the requests of a flush sequence go through the ctx lists, with an I (blk_mq_requeue_work
    /// until 4.14).
    flush_through_ctx: bool,
    @ "Legacy path"
    /// Disks can take the legacy path: one queue under q->queue_lock, served by the driver's request_fn (blk_queue_bio;
    /// until 4.20). Its plug follows plug_max and plug_flush_kib, which is 0 in 4.4: no size rule there.
    legacy_path: bool,
    @ "bfq"
    /// While bfq keeps the disk for a bfqq, requests of others may go on within a limit that it learns
    /// (bfq_choose_bfqq_for_injection, 5.2+). Before, 4.20 did so by another rule, and only on flash that queues.
    bfq_injects: bool,
    /// bfq lets a process have no more requests than its weight is worth, but for one tag of each bitmap word
    /// (bfqq_request_over_limit, 5.17+).
    bfq_request_limit: bool,
    /// bfq asks for the io context under q->queue_lock for every bio (ioc_lookup_icq, until 6.6).
    bfq_queue_lock: bool,
    @ "Legacy path"
    /// Whoever fills the legacy path's pool, or has waited for it, may take 32 requests in a row while others sleep
    /// (ioc_batching, ioc_set_batching, until 4.20).
    ioc_batching: bool,
    @ "Stacked disks"
    /// A bio that md redirects shows Q on the lower disk again (generic_make_request_checks; before 4.12, when
    /// BIO_TRACE_COMPLETION did not exist).
    q_on_remapped: bool,
    /// md raid0 traces A when it redirects a bio (trace_block_bio_remap in raid0_make_request, 4.10+); dm always did.
    md_remap_traced: bool,
    @ "File system"
    /// posix_fadvise(POSIX_FADV_DONTNEED) leaves dirty pages alone while the disk is congested (generic_fadvise until 5.17);
    /// only the legacy path ever says that it is.
    fadvise_skips_congested: bool,
    /// How a file's lock is held around direct I/O on ext4 (ext4_file_read_iter, ext4_file_write_iter).
    dio_lock: DioLock,
    /// A direct write to ext4 holds a plug until it has completed (ext4_file_write_iter, until 4.8).
    ext4_outer_plug: bool,
    @ "wbt"
    /// blk-mq queues throttle asynchronous writes unless told otherwise (CONFIG_BLK_WBT_MQ, 4.10+).
    wbt: bool,
    /// A freed place goes to the first waiter of wbt in the waker (rq_qos_wake_function, 5.0+); before, all were woken
    /// and tried themselves.
    wbt_handover: bool,
    @ "iostat"
    /// How io_ticks is counted, from which iostat prints %util (part_round_stats, update_io_ticks).
    io_ticks: IoTicks,
    /// How time_in_queue is counted, from which iostat prints aqu-sz (part_round_stats, blk_account_io_done).
    queue_time: QueueTime,
}
