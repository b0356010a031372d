//! Readers and writers of other people's text: fio jobs, batch scripts, dbench's clients, blkparse, shell commands for sysfs.

pub mod blkparse;
pub mod dbench;
pub mod fio;
pub mod iob;
pub mod sysfs;
mod text;
