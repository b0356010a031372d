//! What can be set under `queue/iosched`.

use super::{MS, Policy, Tunable};

const INT_MAX: u64 = i32::MAX as u64;

/// Times in ns.
#[derive(Clone, Debug, Hash)]
pub(super) struct Tunables {
    /// By sync-ness.
    pub fifo_expire_ns: [u64; 2],
    pub back_seek_max_kib: u64,
    pub back_seek_penalty: u64,
    pub slice_idle_ns: u64,
    /// As set by the user; 0: automatic.
    pub user_max_budget: u64,
    pub timeout_ns: u64,
    pub strict_guarantees: bool,
    pub low_latency: bool,
}

impl Default for Tunables {
    fn default() -> Self {
        Self {
            fifo_expire_ns: [250 * MS, 125 * MS],
            back_seek_max_kib: 16 * 1024,
            back_seek_penalty: 2,
            slice_idle_ns: 8 * MS,
            user_max_budget: 0,
            timeout_ns: 125 * MS,
            strict_guarantees: false,
            low_latency: true,
        }
    }
}

impl Tunables {
    pub(super) fn list(&self) -> Vec<Tunable> {
        let row = |name, value, range, unit, help| Tunable { name, value, range, unit, help };
        let [fifo_async, fifo_sync] = self.fifo_expire_ns.map(|ns| ns / MS);
        vec![
            row(
                "fifo_expire_sync",
                fifo_sync,
                (0, INT_MAX),
                "ms",
                "a synchronous request that has waited this long goes first in its bfqq, once a slot (bfq_check_fifo)",
            ),
            row(
                "fifo_expire_async",
                fifo_async,
                (0, INT_MAX),
                "ms",
                "the same for asynchronous requests (bfq_check_fifo)",
            ),
            row(
                "back_seek_max",
                self.back_seek_max_kib,
                (0, INT_MAX),
                "KiB",
                "the furthest way back to a request (bfq_choose_req)",
            ),
            row(
                "back_seek_penalty",
                self.back_seek_penalty,
                (1, INT_MAX),
                "",
                "how often a sector of the way back counts (bfq_choose_req)",
            ),
            row(
                "slice_idle",
                self.slice_idle_ns / MS,
                (0, INT_MAX),
                "ms",
                "how long the disk is kept idle for the next request of a bfqq; 0: never (bfq_arm_slice_timer)",
            ),
            row(
                "slice_idle_us",
                self.slice_idle_ns / 1000,
                (0, u64::from(u32::MAX)),
                "us",
                "slice_idle in microseconds (bfq_arm_slice_timer)",
            ),
            row(
                "max_budget",
                self.user_max_budget,
                (0, INT_MAX),
                "sectors",
                "most sectors served in one slot; 0: what the disk does at its peak rate in timeout_sync (bfq_max_budget)",
            ),
            row(
                "timeout_sync",
                self.timeout_ns / MS,
                (1, INT_MAX),
                "ms",
                "longest slot (bfq_set_budget_timeout)",
            ),
            row(
                "strict_guarantees",
                u64::from(self.strict_guarantees),
                (0, 1),
                "",
                "one request in the driver at a time, and always idle (bfq_better_to_idle)",
            ),
            row(
                "low_latency",
                u64::from(self.low_latency),
                (0, 1),
                "",
                "raise the weight of interactive processes (bfq_update_bfqq_wr_on_rq_arrival)",
            ),
        ]
    }
}

impl Policy {
    /// The `bfq_*_store` functions.
    pub(super) fn set_tunable(&mut self, name: &str, value: u64) {
        let t = &mut self.tunables;
        match name {
            "fifo_expire_async" => t.fifo_expire_ns[0] = value * MS,
            "fifo_expire_sync" => t.fifo_expire_ns[1] = value * MS,
            "back_seek_max" => t.back_seek_max_kib = value,
            "back_seek_penalty" => t.back_seek_penalty = value,
            "slice_idle" => t.slice_idle_ns = value * MS,
            "slice_idle_us" => t.slice_idle_ns = value * 1000,
            "max_budget" => {
                t.user_max_budget = value;
                self.rate.set_max_budget(value, t.timeout_ns);
            }
            "timeout_sync" => {
                t.timeout_ns = value * MS;
                self.rate.set_max_budget(t.user_max_budget, t.timeout_ns);
            }
            "strict_guarantees" => {
                // Guarantees need idling.
                if value != 0 && !t.strict_guarantees {
                    t.slice_idle_ns = t.slice_idle_ns.max(8 * MS);
                }
                t.strict_guarantees = value != 0;
            }
            "low_latency" => {
                let ends = t.low_latency && value == 0;
                t.low_latency = value != 0;
                if ends {
                    self.end_all_raising();
                }
            }
            other => unreachable!("the caller has looked {other} up in the list"),
        }
    }
}
