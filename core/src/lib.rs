//! mqscope-core: a deterministic simulator of the Linux blk-mq I/O path.
//!
//! The core knows no browser, no wall clock, no threads, no files. One [`scenario::Scenario`] goes in; a [`Sim`]
//! runs it; [`event::Event`]s and a [`report::Report`] come out. The same scenario gives the same log, byte for
//! byte, natively and in wasm, stepped or run at once.

mod block;
pub mod cases;
pub mod check;
pub mod device;
pub mod diag;
mod engine;
pub mod event;
pub mod format;
pub mod host;
pub mod kernel;
mod pagecache;
pub mod report;
pub mod scenario;
pub mod sched;
mod setup;
mod sim;
mod spare;
pub mod topology;
pub mod workload;

pub use sim::Sim;
pub use spare::Spare;
