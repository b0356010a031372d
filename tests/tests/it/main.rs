//! The one integration binary: a module a behaviour. It runs natively, and in wasm under Node.

mod adding_a_scheduler;
mod appendix_a;
#[cfg(not(target_arch = "wasm32"))] // it takes two threads
mod cases;
mod conservation;
mod dbench;
mod delayed_runs;
mod determinism;
mod fio_options;
mod flush;
mod found;
mod hdd;
#[cfg(not(target_arch = "wasm32"))] // long, and what wasm could break is tested elsewhere
mod hold_outs;
mod invariants;
mod laws;
mod legacy;
mod recorded_kernels;
mod scenarios;
mod scsi;
mod stations;
mod tag_waiters;
mod text_form;
mod twins;
mod upper;
mod what_if;
mod workloads;
mod writeback;
