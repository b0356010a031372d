//! Readers and writers of other people's text, one module a behaviour.

#[path = "formats/iob_scripts.rs"]
mod iob_scripts;
#[path = "formats/readers_never_panic.rs"]
mod readers_never_panic;
