//! The table of kernel versions: each a row of policy knobs.
//!
//! This is the only place where a version is known. The path reads knobs and never asks for a version. The source
//! of each rule is the kernel function named in the knob's description; the versions were read in the trees listed
//! in `docs/kernel-notes.md`.

mod choices;
mod knobs;
mod rows;
mod source;

pub use choices::*;
pub use knobs::*;
pub use rows::{ROWS, Row, row};
pub use source::{Source, source};
