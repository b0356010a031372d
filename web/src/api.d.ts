
/** Everything a run needs. Left-out fields have their defaults. */
export interface Scenario {
  title?: string;
  /** Seed of all random draws. */
  seed?: number;
  /** The run ends after this simulated time, or with the workload. */
  duration_ns?: number;
  /** Measured from here on. */
  warmup_ns?: number;
  /** Machine preset, such as "xeon-gold-6150-2s". */
  machine?: string;
  /** Costs of the machine overridden by name, ns. */
  costs?: Record<string, number>;
  /** All work of the CPUs is multiplied by this, percent; line transfers stay. */
  cost_percent?: number;
  /** Ticks per second (CONFIG_HZ) for timers of delayed runs and what iostat counts; 0: exact timers, iostat as with 250. */
  hz?: number;
  /** Kernel row, such as "4.14". */
  kernel?: string;
  /** Policy knobs overridden by name. */
  set?: Record<string, string>;
  /** Invariants to break once each, on purpose: "one-holder", ... */
  break_invariants?: string[];
  /** Memory and its limits for the page cache. */
  vm?: Partial<Vm>;
  /** Disks, in the order in which jobs number them. */
  devices: Device[];
  workload: Workload;
}

/** Memory, and when dirty pages are written (as in /proc/sys/vm). */
export interface Vm {
  /** The machine's if not given. */
  ram_bytes?: number | null;
  /** Percent of the memory. */
  dirty_background_ratio: number;
  dirty_ratio: number;
  dirty_expire_ns: number;
  dirty_writeback_ns: number;
  read_ahead_kb: number;
}

/**
 * fio jobs (as parseFio gives them), one thread that replays exact io_submit calls, or the clients of dbench.
 */
export type Workload =
  | { jobs: Partial<Job>[] }
  | { batch: { name: string; steps: BatchStep[] } }
  | { dbench: Partial<Dbench> };

/** Clients that work, write a file and call fsync, on a file system with a log. */
export interface Dbench {
  name: string;
  /** At most 512. */
  clients: number;
  /** Index of the disk. */
  disk: number;
  /** Executions of each client; 0: without end. */
  executions: number;
  /** fsync calls of an execution. */
  segments: number;
  /** CPU time of an execution, ns, and how much it varies between calls. */
  cpu_ns: number;
  cpu_spread_percent: number;
  /** Data that an fsync writes; what it adds to the log; size and number of log buffers. */
  data_bytes: number;
  log_bytes: number;
  log_buffer_bytes: number;
  log_buffers: number;
  /** Who writes a commit: a caller of fsync, a thread, or a kworker of the caller's CPU. */
  log_writer: "client" | "worker" | "kworker";
  cpus_allowed?: number[];
}

export type BatchStep =
  | { cpu: number }
  | { submit: BatchIo[] }
  /** fsync of a disk. */
  | { fsync: number }
  | { discard: BatchIo[] }
  /** Writes after a flush and past the cache, as a journal commits. */
  | { commit: BatchIo[] }
  /** Writeback: asynchronous writes within one plug. */
  | { writeback: BatchIo[] }
  | { prio: Prio }
  | "wait"
  | { sleep: number };

export interface BatchIo {
  op: "read" | "write" | "discard";
  device: number;
  offset: number;
  len: number;
}

/** A disk and its queue settings. Left-out settings are those of the device preset or the kernel. */
export interface Device {
  name: string;
  /** Device preset, such as "hba-r0-8ssd". */
  model: string;
  /** Constants of the device's model overridden by name. */
  params?: Record<string, number>;
  /** All hctxs of all null disks that say so share one bitmap of tags. */
  shared_tag_bitmap?: boolean;
  /** "none", "default", or a scheduler's name. */
  scheduler?: string;
  /** Attributes of queue/iosched by their sysfs names. */
  iosched?: Record<string, number>;
  /** The request path: blk-mq or, up to 4.19, the legacy one. */
  path?: "mq" | "legacy" | null;
  /** Driver tags of an hctx. */
  nr_tags?: number | null;
  rotational?: boolean | null;
  write_cache?: "write back" | "write through" | null;
  fua?: boolean | null;
  max_segments?: number | null;
  discard_max_bytes?: number | null;
  discard_granularity?: number | null;
  /** A non-queued flush is refused while commands are in flight (AHCI). */
  flush_not_queued?: boolean | null;
  /** The disk refuses every n-th command (scsi-debug); 0: none. */
  every_nth?: number;
  every_nth_answer?: "host-busy" | "device-busy" | "status-busy";
  /** Commands end at multiples of this time; 0: at their own. */
  completion_grain_ns?: number;
  /** Recorded service times of the first commands. */
  completions_ns?: number[];
  nr_hw_queues?: number | null;
  nr_requests?: number | null;
  queue_depth?: number | null;
  nomerges?: number;
  rq_affinity?: number;
  max_sectors_kb?: number | null;
  completion_ns?: number | null;
  /** Disks below, by name, where the model is "md-raid0" or "dm-linear". */
  members?: string[];
  /** Chunk of an md-raid0, KiB. */
  chunk_kb?: number | null;
  /** The disk carries a file system; jobs take the locks of their files. */
  file_lock?: "ext4" | "xfs" | null;
  /** Target of writeback throttling, us; 0: off. */
  wbt_lat_usec?: number | null;
  /** hctxs that are polled (NVMe). */
  poll_queues?: number;
  size?: number | null;
  dev?: [number, number] | null;
}

export type Amount = { bytes: number } | { percent: number };

/** A limit for reads, for writes, or for both. */
export type PerDirection = { read?: number; write?: number };

/** One fio job section, complete. */
export interface Job {
  name: string;
  engine: "psync" | "libaio" | "io-uring";
  pattern: "sequential" | "random";
  /** Share of reads, percent. */
  rwmixread: number;
  /** Block size of reads and of writes, bytes. */
  bs: [number, number];
  iodepth: number;
  iodepth_batch_submit: number;
  iodepth_batch_complete_min: number;
  iodepth_batch_complete_max: number;
  iodepth_low: number;
  numjobs: number;
  /** Indices into Scenario.devices. */
  files: number[];
  offset: Amount;
  offset_increment: Amount;
  size: Amount | null;
  io_size: Amount | null;
  /** Not through the page cache. */
  direct: boolean;
  /** Drops what is cached of its files before it starts and when it starts over. */
  invalidate: boolean;
  /** I/Os per second at most. */
  rate_iops?: PerDirection;
  /** Bytes per second at most. */
  rate?: PerDirection;
  rate_poisson: boolean;
  thinktime_ns: number;
  thinktime_blocks: number;
  thinktime_spin_ns: number;
  runtime_ns: number | null;
  ramp_time_ns: number;
  time_based: boolean;
  startdelay_ns: number;
  cpus_allowed: number[] | null;
  cpus_split: boolean;
  numa_node: number | null;
  ioscheduler: string | null;
  phase: number;
  hipri: boolean;
  /** What the writes are. */
  trim: "none" | "only" | "before-write";
  /** fsync after so many writes; 0: never. */
  fsync: number;
  end_fsync: boolean;
  /** Writes ask for FUA. */
  dsync: boolean;
  /** sync_file_range after so many writes. */
  sync_file_range?: SyncFileRange | null;
  /** Block sizes of reads and of writes with their shares. */
  bssplit?: [BsShare[], BsShare[]];
  /** Smallest and largest block of reads and of writes. */
  bsrange?: [[number, number], [number, number]] | null;
  /** Every block once before any comes again. */
  random_map: boolean;
  distribution: "uniform" | { zipf: number } | { pareto: number } | { normal: number };
  /** Share of random offsets of reads and of writes, percent. */
  percentage_random: [number, number];
  /** I/Os from each random offset, and where they go. */
  run: number;
  sequencer: "sequential" | "identical";
  loops: number;
  /** Its file, where the disk carries a file system. */
  file?: string;
  /** Every process has a file of its own. */
  own_files: boolean;
  prio: Prio;
  /** Share of reads and of writes that carry cmdprio instead, percent. */
  cmdprio_percentage: [number, number];
  cmdprio: Prio;
}

/** A block size and the percentage of I/Os that have it. */
export interface BsShare {
  bytes: number;
  percent: number;
}

/** What each call of sync_file_range does, and after how many writes it comes. */
export interface SyncFileRange {
  every: number;
  how: { wait_before?: boolean; write?: boolean; wait_after?: boolean };
}

/** I/O priority; level 0 is the highest, 7 the lowest. */
export interface Prio {
  class: "none" | "rt" | "be" | "idle";
  level: number;
}

/** Numbers of a run. Rates are over the measured window. */
export interface Report {
  title: string;
  kernel: string;
  end_ns: number;
  window_ns: number;
  events: number;
  /** 16 hexadecimal digits; equal for equal scenarios everywhere. */
  state_hash: string;
  total: JobReport;
  jobs: JobReport[];
  queues: QueueReport[];
  /** null without buffered I/O. */
  page_cache: PageCacheReport | null;
  cpu: CpuReport;
  /** Locks and lines, most time lost first. */
  objects: ObjectReport[];
  series: Series;
  /** Invariants that did not hold, the first of them; none unless the scenario breaks one on purpose. */
  violations: Violation[];
  warnings: string[];
}

/** An invariant that did not hold. */
export interface Violation {
  at_ns: number;
  /** Its name, as in `break_invariants` of a scenario. */
  invariant: string;
  text: string;
}

/** The application's view, as fio reports it. */
export interface JobReport {
  name: string;
  processes: number;
  ios: number;
  reads: number;
  iops: number;
  /** Bytes per second. */
  bandwidth: number;
  /** I/Os that waited for the lock of their file, and the mean wait over all I/Os. */
  file_lock_waits: number;
  file_lock_wait_ns: number;
  /** fsync calls and their mean time. */
  fsyncs: number;
  fsyncs_per_s: number;
  fsync_ns: number;
  /** Mean time of one execution of a client of dbench; 0 for other workloads. */
  loop_ns: number;
  slat: Latency;
  clat: Latency;
  lat: Latency;
}

export interface Latency {
  count: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  /** At 1, 10, 50, 90, 95, 99, 99.9, 99.99 and 100 percent. */
  percentiles_ns: number[];
}

/** The block layer's view, as iostat and btt report it. */
export interface QueueReport {
  name: string;
  requests_per_s: number;
  merges_per_s: number;
  mean_sectors: number;
  await_ns: number;
  aqu_sz: number;
  in_flight: number;
  in_flight_max: number;
  utilisation: number;
  /** %util as iostat would print it, as a share. */
  iostat_util: number;
  /** aqu-sz as iostat would print it. */
  iostat_aqu_sz: number;
  phases: Phases;
  direct_issued: number;
  inserted: number;
  requeued: number;
  foreign_dispatched: number;
  runs: number;
  empty_runs: number;
  delayed_runs: number;
  works_delayed: number;
  works_put_off: number;
  tag_waits: number;
  wbt_waits: number;
  flushes: number;
}

/** The page cache over the window. */
export interface PageCacheReport {
  /** Dirty bytes above which flushers work, below which nobody is throttled, and the most there may be. */
  background_bytes: number;
  free_run_bytes: number;
  limit_bytes: number;
  /** Dirty or under writeback now, and the most of it. */
  dirty_bytes: number;
  dirty_max_bytes: number;
  written_bytes: number;
  written_back_bytes: number;
  /** Bytes written for each byte made dirty. */
  kappa: number;
  throttles: number;
  throttled_ns: number;
  hits: number;
  misses: number;
  chunks: number;
  advice_skipped: number;
}

/** Mean times between blktrace's letters, ns. */
export interface Phases {
  q2g_ns: number;
  g2i_ns: number;
  i2d_ns: number;
  d2c_ns: number;
  q2c_ns: number;
}

/** CPU time, per I/O where it ends in ns. */
export interface CpuReport {
  cpus: number;
  busy_percent: number;
  user_ns: number;
  system_ns: number;
  irq_ns: number;
  softirq_ns: number;
  spin_ns: number;
  line_ns: number;
  total_ns: number;
  context_switches_per_s: number;
}

/** One class of locks or shared lines. */
export interface ObjectReport {
  class: string;
  kind: string;
  members: number;
  per_io: number;
  count: number;
  contended: number;
  mean_wait_ns: number;
  transfers: number;
  lost_ns: number;
}

/** Counters in equal buckets of time over the whole run. */
export interface Series {
  bucket_ns: number;
  ios: number[];
  bytes: number[];
  lat_sum_ns: number[];
  /** Dirty or under writeback at the end of each bucket so far. */
  dirty_bytes: number[];
  /** Mean number of requests between D and C over each bucket, all disks. */
  in_flight: number[];
  /** Time that all CPUs together spun for locks in each bucket. */
  spin_ns: number[];
  /** Latencies over time. */
  heat: Heat;
}

/** How many I/Os of which latency ended when. */
export interface Heat {
  column_ns: number;
  /** Smallest latency of each class, four equally wide classes in an octave. */
  low_ns: number[];
  /** I/Os of each class in each column. */
  counts: number[][];
}

/** What a fio job text may refer to. */
export interface FioContext {
  /** Values of ${NAME}. */
  variables?: Record<string, string>;
  cpus?: number;
  memory_mb?: number;
  disks?: string[];
  disk_bytes?: number | null;
}

/** What a fio job text comes to. */
export interface ParsedFio {
  /** Ready to run; empty if any diagnostic is an error. */
  jobs: Job[];
  /** What the text calls each disk; Job.files are indices into it. */
  files: string[];
  /** Line and column at which the text names each disk first. */
  places: [number, number][];
  diagnostics: Diagnostic[];
  /** Variables that need a value. */
  asks: Ask[];
  accepted: Accepted[];
}

export interface Diagnostic {
  severity: "warning" | "error";
  /** From 1; 0 where no line is to blame. */
  line: number;
  column: number;
  message: string;
  remedy: string;
}

export interface Ask {
  name: string;
  line: number;
  column: number;
  /** A value that a comment of the text gives as an example. */
  hint: string | null;
}

/** An option that was accepted, and what became of it. */
export interface Accepted {
  line: number;
  column: number;
  section: string;
  option: string;
  value: string;
  effect: "simulated" | "none" | "not-simulated";
}
