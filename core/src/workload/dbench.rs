//! dbench: clients that work, write a file and call `fsync`, on a file system with a log.
//!
//! An execution is a fixed list of file operations ("loadfile"). Nearly all of them end in caches and are CPU time here;
//! what reaches the disk is an `fsync` now and then: the file's data, then the log ([`super::journal`]).

use crate::engine::rng::{self, Purpose};
use crate::host::{Flow, Frame, Mode};
use crate::sim::Sim;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most clients.
pub const CLIENTS_MAX: u32 = 512;
/// Most `fsync` calls of an execution.
pub const SEGMENTS_MAX: u32 = 10_000;
/// Longest CPU time of an execution, ns.
pub const CPU_MAX_NS: u64 = 60_000_000_000;
/// Largest write of an `fsync`, bytes.
pub const DATA_MAX: u32 = 64 << 20;
/// Most log buffers; a log buffer has at most [`LOG_BUFFER_MAX`] bytes.
pub const LOG_BUFFERS_MAX: u32 = 64;
/// See [`LOG_BUFFERS_MAX`]; bytes.
pub const LOG_BUFFER_MAX: u32 = 256 * 1024;

/// A client can be preempted by a kworker after this much of its work, ns: some operations of the loadfile, which takes
/// 25 ms for 3573 of them [D: 7 us each, 3 at a time].
const PREEMPTION_NS: u64 = 20_000;
/// The file system is as large as this, or as this for each client, bytes (mmtests' dbench configuration [P]).
const FILE_SYSTEM_LEAST: u64 = 1_000_000_000;
const FILE_SYSTEM_PER_CLIENT: u64 = 50_000_000;
/// Size of the log, bytes: mkfs.xfs's choice for a file system of 1 GB [P].
const LOG_BYTES: u64 = 10 << 20;

/// Who writes a commit to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogWriter {
    /// The caller of `fsync` that finds the log idle, for itself and all who wait (xlog_state_release_iclog below
    /// xfs_log_force_lsn).
    #[default]
    Client,
    /// A thread of the file system, which the callers wake and wait for (jbd2).
    Worker,
    /// A kworker of the CPU of the caller that finds the log idle, so one of many (xlog_cil_push_work, whose workqueue is
    /// bound to CPUs until 5.13).
    Kworker,
}

/// The clients and their file system. Defaults: mmtests' dbench with the loadfile client-tiny on xfs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dbench {
    /// Name of the clients.
    pub name: String,
    /// Clients, 1 to [`CLIENTS_MAX`].
    pub clients: u32,
    /// Disk, as an index into [`crate::scenario::Scenario::devices`].
    pub disk: u16,
    /// Executions of each client; 0: without end.
    pub executions: u32,
    /// `fsync` calls of an execution; 43 Flush lines in client-tiny [P, counted].
    pub segments: u32,
    /// CPU time of an execution, ns [E 20 to 30 ms].
    pub cpu_ns: u64,
    /// The CPU time between two `fsync` calls varies by so much, percent, evenly (estimated): operations are not spread evenly.
    pub cpu_spread_percent: u32,
    /// Data that an `fsync` writes, bytes [E; 180 KB would be all that is written]; 0: none.
    pub data_bytes: u32,
    /// What an `fsync` adds to the log, bytes [E 1 to 4 KB]: inode, allocation B-trees, directory.
    pub log_bytes: u32,
    /// Size of a log buffer, bytes; a commit is at least a page and is written in as many as it needs (logbsize, published).
    pub log_buffer_bytes: u32,
    /// Log buffers that may be under way at a time (logbufs, published).
    pub log_buffers: u32,
    /// Who writes the log.
    pub log_writer: LogWriter,
    /// CPUs the clients may run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_allowed: Option<Vec<u16>>,
}

impl Default for Dbench {
    fn default() -> Self {
        Self {
            name: String::from("dbench"),
            clients: 1,
            disk: 0,
            executions: 0,
            segments: 43,
            cpu_ns: 25_000_000,
            cpu_spread_percent: 50,
            data_bytes: 64 * 1024,
            log_bytes: 2048,
            log_buffer_bytes: 32 * 1024,
            log_buffers: 8,
            log_writer: LogWriter::Client,
            cpus_allowed: None,
        }
    }
}

impl Dbench {
    /// Bytes of the file system, at most those of the disk.
    fn file_system(&self, disk_bytes: u64) -> u64 {
        FILE_SYSTEM_LEAST.max(FILE_SYSTEM_PER_CLIENT * u64::from(self.clients)).min(disk_bytes)
    }

    /// First byte and length of the log: in the middle, as in xfs.
    pub(crate) fn log(&self, disk_bytes: u64) -> (u64, u64) {
        let size = self.file_system(disk_bytes);
        (size / 2 / 4096 * 4096, LOG_BYTES.min(size / 4).max(4096) / 4096 * 4096)
    }

    /// First byte of the `nth` write of a client: one behind the other in its own part of the file system, and again from
    /// its start in the next execution, as its files are deleted and made anew.
    fn data_at(&self, disk_bytes: u64, client: u32, nth: u64) -> u64 {
        let (log, log_bytes) = self.log(disk_bytes);
        let len = u64::from(self.data_bytes);
        let files = self.file_system(disk_bytes).saturating_sub(log_bytes + len);
        let part = files / u64::from(self.clients) / 4096 * 4096;
        let places = (part / len.max(1)).clamp(1, u64::from(self.segments));
        let at = part * u64::from(client) + nth % places * len;
        // The files lie around the log.
        let at = if at + len > log { at + log_bytes + len } else { at };
        at.min(disk_bytes - len) / 4096 * 4096
    }
}

/// Steps of a client.
mod pc {
    pub(super) const START: u8 = 0;
    pub(super) const SEGMENT: u8 = 1;
    pub(super) const WORK: u8 = 2;
    pub(super) const WRITTEN: u8 = 3;
    pub(super) const COMMITTED: u8 = 4;
    pub(super) const RETURNED: u8 = 5;
}

fn frame(pc: u8) -> Frame {
    Frame::Dbench { pc }
}

impl Sim {
    /// A client.
    pub(crate) fn dbench(&mut self, c: usize, step: u8) -> Flow {
        let t = self.current_task(c);
        let scenario = Arc::clone(&self.scenario);
        let Workload::Dbench(spec) = &scenario.workload else {
            unreachable!("a client belongs to dbench");
        };
        match step {
            pc::START => {
                self.tasks[t].program.started_ns = self.now;
                Flow::Go(frame(pc::SEGMENT))
            }
            pc::SEGMENT => {
                let p = &self.tasks[t].program;
                if spec.executions > 0 && p.ios >= u64::from(spec.executions) * u64::from(spec.segments) {
                    self.task_exit(t);
                    return Flow::Ret(0);
                }
                let key = (t as u64) << 40 | p.ios;
                let mean_ns = spec.cpu_ns / u64::from(spec.segments);
                let spread_ns = mean_ns * u64::from(spec.cpu_spread_percent) / 100;
                let draw_ns = rng::below(self.seed, Purpose::UserJitter, key, 2 * spread_ns + 1);
                self.tasks[t].program.work_left_ns = mean_ns - spread_ns + draw_ns;
                self.set_mode(c, Mode::User);
                Flow::Go(frame(pc::WORK))
            }
            pc::WORK => {
                if self.should_yield(c) {
                    return Flow::Yield(frame(pc::WORK));
                }
                self.set_mode(c, Mode::User);
                let p = &mut self.tasks[t].program;
                let now_ns = p.work_left_ns.min(PREEMPTION_NS);
                p.work_left_ns -= now_ns;
                if now_ns > 0 {
                    self.charge_long(c, now_ns);
                    return Flow::Pay(frame(pc::WORK));
                }
                self.dbench_fsync(c, t)
            }
            // The data is on the disk; now the log.
            pc::WRITTEN => Flow::Call(frame(pc::COMMITTED), Frame::LogForce { pc: 0, commit: 0 }),
            pc::COMMITTED => {
                self.leave_call(c);
                Flow::Pay(frame(pc::RETURNED))
            }
            _ => {
                let job = self.tasks[t].job;
                let called_ns = self.tasks[t].program.called_ns;
                self.stats.synced(job, self.now, called_ns);
                self.tasks[t].program.ios += 1;
                Flow::Go(frame(pc::SEGMENT))
            }
        }
    }

    /// The call begins: the data of the file first.
    fn dbench_fsync(&mut self, c: usize, t: usize) -> Flow {
        let scenario = Arc::clone(&self.scenario);
        let Workload::Dbench(spec) = &scenario.workload else {
            unreachable!("a client belongs to dbench");
        };
        self.enter_call(c, 1);
        self.tasks[t].program.called_ns = self.now;
        if spec.data_bytes == 0 {
            return Flow::Pay(frame(pc::WRITTEN));
        }
        let p = &self.tasks[t].program;
        let at = spec.data_at(self.queues[spec.disk as usize].sectors * 512, p.process, p.ios);
        let io = self.new_write(t, spec.disk, at, spec.data_bytes);
        Flow::Call(frame(pc::WRITTEN), Frame::SyncCall { pc: 0, io, nested: true })
    }
}
