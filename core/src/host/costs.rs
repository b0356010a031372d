//! Machine presets: CPUs and the one table of costs.
//!
//! Every number is ns and comes from the public sources named beside it; `[E]` marks an estimate with its range.
//! No cost is tuned for one case.

use serde::Serialize;

macro_rules! costs {
    ($($name:ident),* $(,)?) => {
        /// Costs of one machine, ns. Names follow the ids of the cost table in `docs/costs.md`.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
        #[allow(missing_docs)] // one line each in the preset below, where the source stands
        pub struct Costs {
            $(pub $name: u32,)*
        }

        impl Costs {
            /// Names of all costs.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The cost of this name, ns.
            pub(crate) fn by_name(&mut self, name: &str) -> Option<&mut u32> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

costs! {
    syscall, fio_user, aio, uring, dio, fs_dio, rq_alloc, merge, remap, md_remap, plug_scan, plug_flush, ctx_insert,
    ctx_dequeue, elevator_deadline, elevator_kyber, elevator_bfq, run_hctx, scan_hctx,
    scsi_queue_rq, hba_fire, ahci_fire, nvme_queue_rq, null_queue_rq, doorbell, poll, irq, complete, softirq,
    ipi_send, ipi_receive, ipi_latency, wake, wake_local, wake_latency, context_switch,
    kworker_queue, kworker_latency, timer, atomic_local, line_smt, line_socket, line_cache, line_remote,
    spinlock_local, page_copy, page_cache, page_writeback,
}

/// What is no work of a CPU: fetching a line from elsewhere, and coming out of an idle state.
const NOT_WORK: &[&str] = &[
    "line_smt",
    "line_socket",
    "line_cache",
    "line_remote",
    "ipi_latency",
    "wake_latency",
    "kworker_latency",
];

impl Costs {
    /// Multiplies the costs that are work of a CPU by `percent` / 100.
    pub(crate) fn scale(&mut self, percent: u32) {
        for name in Self::NAMES.iter().filter(|name| !NOT_WORK.contains(name)) {
            if let Some(cost) = self.by_name(name) {
                *cost = (u64::from(*cost) * u64::from(percent) / 100) as u32;
            }
        }
    }
}

/// A machine preset.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name used in scenarios.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// Sockets (each one NUMA node).
    pub sockets: u16,
    /// Physical cores of a socket.
    pub cores_per_socket: u16,
    /// Cores that share a last-level cache.
    pub cores_per_cache: u16,
    /// Hardware threads of a core.
    pub threads_per_core: u16,
    /// Memory, bytes (estimated): what decides how much may be dirty, unless a scenario says otherwise.
    pub ram_bytes: u64,
    /// Its costs, as their sources give them.
    pub costs: Costs,
}

impl Machine {
    /// Logical CPUs. Numbering is Linux's usual one: first threads of all cores, then second threads.
    pub fn cpus(&self) -> u16 {
        self.sockets * self.cores_per_socket * self.threads_per_core
    }
}

/// Two sockets Skylake-SP, mitigations on; column SKX of the cost table. Line transfers as measured on the
/// Gold 6242 (same mesh and UPI).
const SKX: Costs = Costs {
    syscall: 300,           // in and out, KPTI and retpoline [E 100-600; XRP 351]
    fio_user: 700,          // per I/O, one clock read [measured 640; 980 with HT]
    aio: 450,               // io_submit body per iocb with its share of io_getevents [E 300-700]
    uring: 150,             // sqe and cqe [E 80-250]
    dio: 350,               // direct I/O set-up, page pin, bio [E 200-600]
    rq_alloc: 250,          // queue enter, tag, rq init, plug add [E 150-400]
    fs_dio: 1500, // the file system part of a direct I/O: mapping, time stamps [E 1000-2500; XRP ext4 2006]
    md_remap: 600, // md raid0 clones and passes on a bio [E 300-1000]
    remap: 200,   // a stacked disk passes a bio on: map, clone or split [E 80-500]
    merge: 80,    // one merge attempt that succeeds [E 40-150]
    plug_scan: 4, // per request of the plug that a bio is compared with [E 2-8]
    plug_flush: 60, // per request [E 30-120]
    ctx_insert: 80, // under ctx->lock [E 50-150]
    ctx_dequeue: 150, // one-by-one: ctx pick, lock, list_del, bitmap [E 100-300]
    elevator_deadline: 400, // mq-deadline, each of insert and dispatch under dd->lock [E 500-1100 for both]
    elevator_kyber: 150, // kyber, each of insert and dispatch, without its locks and tokens [E 80-300]
    elevator_bfq: 670, // bfq, each of insert, dispatch and completion under bfqd->lock [E 1400-2500 for all three]
    run_hctx: 120,     // blk_mq_run_hw_queue entry, srcu [E 60-250]
    scan_hctx: 16,     // per hctx in run_hw_queues [12-21, Desai 2020]
    scsi_queue_rq: 450, // prep and budget without shared lines [E 300-700]
    hba_fire: 350,     // megaraid build and fire with its MMIO write [E 250-600]
    ahci_fire: 400,    // ahci_qc_prep and ahci_qc_issue: table, FIS, two MMIO writes [E 250-800]
    nvme_queue_rq: 80, // without the doorbell, 180 with it [E 110-300; XRP 113]
    null_queue_rq: 100, // [E 50-200]
    doorbell: 100,     // visible CPU cost of a posted MMIO write [E 60-150]
    poll: 150,         // one look into an empty completion queue, with the loop around it [E 80-300]
    irq: 900,          // MSI-X entry and exit, warm [E 500-1500]
    complete: 700,     // driver, blk_mq_end_request, bio_endio, aio completion [E 400-1200]
    softirq: 250,      // raise and run, once a batch [E 150-500]
    ipi_send: 300,     // remote completion, sender [E 150-600]
    ipi_receive: 900,  // and receiver [E 450-1800]
    ipi_latency: 500,  // until the receiver is interrupted [E 300-1000]
    wake: 1200,        // try_to_wake_up of a remote idle CPU, sender [E]
    wake_local: 300,   // try_to_wake_up of a task of this CPU [E 150-600]
    wake_latency: 4000, // until the woken task runs [E 2000-40000]
    context_switch: 1500, // voluntary [E 1000-2500]
    kworker_queue: 500, // queue_work [E]
    kworker_latency: 5000, // until the worker runs [E 2000-15000; 5-12 us seen in a VM]
    timer: 800,        // hrtimer fire [E 500-1500]
    atomic_local: 7,   // atomic RMW on a line already mine [perfbook 7.0]
    line_smt: 7,       // from the SMT sibling [7.4, nviennot]
    line_socket: 48,   // same last-level cache [47-48, nviennot]
    line_cache: 48,    // other last-level cache of the socket: there is none
    line_remote: 136,  // other socket [136, nviennot]
    spinlock_local: 12, // lock and unlock, line mine [E; perfbook 15.4]
    page_copy: 400,    // 4 KiB between user and page cache at 10 GB/s [E 250-700]
    page_cache: 600,   // finding, locking and marking a page in the cache [E 300-1200]
    page_writeback: 300, // collecting a page for writeback and ending it [E 150-600]
};

/// A desktop of the 2020s, mitigations light; column DT of the cost table.
const DESKTOP: Costs = Costs {
    syscall: 80,
    fio_user: 350,
    aio: 220,
    uring: 70,
    dio: 140,
    rq_alloc: 90,
    merge: 35,
    fs_dio: 900,
    md_remap: 300,
    remap: 80,
    plug_scan: 2, // 36 ns for a plug of 32, 16 on the mean (Axboe, October 2021: 1 / 5.6 M - 1 / 7.0 M)
    plug_flush: 25,
    ctx_insert: 35,
    ctx_dequeue: 60,
    elevator_deadline: 200,
    elevator_kyber: 60,
    elevator_bfq: 370,
    run_hctx: 50,
    scan_hctx: 7,
    scsi_queue_rq: 200,
    hba_fire: 200,
    ahci_fire: 220,
    nvme_queue_rq: 30,
    null_queue_rq: 45,
    doorbell: 50,
    poll: 60,
    irq: 500,
    complete: 250,
    softirq: 120,
    ipi_send: 200,
    ipi_receive: 600,
    ipi_latency: 300,
    wake: 700,
    wake_local: 150,
    wake_latency: 2500,
    context_switch: 900,
    kworker_queue: 300,
    kworker_latency: 3000,
    timer: 400,
    atomic_local: 4,
    line_smt: 7,
    line_socket: 20, // ring of 8 cores [i9-9900K 21, i7-6700K 20, nviennot]
    line_cache: 20,  // one last-level cache: never used
    line_remote: 20, // one socket: never used
    spinlock_local: 8,
    page_copy: 250,
    page_cache: 300,
    page_writeback: 150,
};

/// The desktop of 16 cores on two dies, each with a cache of its own, as the Ryzen 9 7950X: its median over all pairs of
/// cores is 68 ns, and more than half of the pairs cross the dies; within a die 18 ns as on the Ryzen 7 5700X, which is
/// one such die (nviennot's core-to-core measurements; SMT siblings 5.3).
const DESKTOP_32: Costs = Costs { line_smt: 5, line_socket: 18, line_cache: 68, line_remote: 68, ..DESKTOP };

/// A virtual machine i3.4xlarge: half a Broadwell-EP (E5-2686 v4). Only the transfer within its socket is known
/// [42-44 measured on E5-2695 v4, nviennot]; the rest is taken over from the two-socket machine.
const I3: Costs = Costs { line_socket: 42, ..SKX };

/// All machine presets.
pub const MACHINES: &[Machine] = &[
    Machine {
        name: "xeon-gold-6150-2s",
        label: "2 x Xeon Gold 6150 (2 sockets, 36 cores, 72 CPUs)",
        sockets: 2,
        cores_per_socket: 18,
        cores_per_cache: 18,
        threads_per_core: 2,
        ram_bytes: 192 << 30,
        costs: SKX,
    },
    Machine {
        name: "i3-4xlarge",
        label: "AWS i3.4xlarge (8 cores, 16 CPUs)",
        sockets: 1,
        cores_per_socket: 8,
        cores_per_cache: 8,
        threads_per_core: 2,
        ram_bytes: 122 << 30, // 122 GiB [published for the instance]
        costs: I3,
    },
    // The machine on which line transfers were measured; its cores are those of the 6150 for the costs here.
    Machine {
        name: "xeon-gold-6242-2s",
        label: "2 x Xeon Gold 6242 (2 sockets, 32 cores, 64 CPUs)",
        sockets: 2,
        cores_per_socket: 16,
        cores_per_cache: 16,
        threads_per_core: 2,
        ram_bytes: 64 << 30,
        costs: SKX,
    },
    Machine {
        name: "desktop",
        label: "desktop (8 cores, 16 CPUs)",
        sockets: 1,
        cores_per_socket: 8,
        cores_per_cache: 8,
        threads_per_core: 2,
        ram_bytes: 16 << 30,
        costs: DESKTOP,
    },
    Machine {
        name: "desktop-32",
        label: "large desktop (16 cores on two dies, 32 CPUs)",
        sockets: 1,
        cores_per_socket: 16,
        cores_per_cache: 8,
        threads_per_core: 2,
        ram_bytes: 64 << 30,
        costs: DESKTOP_32,
    },
    Machine {
        name: "small",
        label: "small machine (4 CPUs)",
        sockets: 1,
        cores_per_socket: 4,
        cores_per_cache: 4,
        threads_per_core: 1,
        ram_bytes: 4 << 30,
        costs: DESKTOP,
    },
];

/// The machine of this name.
pub fn machine(name: &str) -> Option<&'static Machine> {
    MACHINES.iter().find(|m| m.name == name)
}
