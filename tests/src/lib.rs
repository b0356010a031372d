//! What the tests share: the conformance check against recorded kernels, and the readers of the event log that
//! assert what must hold in every run. Tests natively, under Node and in a browser all use these functions.

pub mod audit;
pub mod case_runs;
pub mod conform;
pub mod determinism;
pub mod golden;
pub mod recount;
pub mod speed;
