//! Readers and writers of other people's text: fio jobs, batch scripts, blkparse.

pub mod blkparse;
pub mod fio;
pub mod iob;
mod text;
