//! Readers and writers of other people's text, one module a behaviour.

#[path = "formats/blkparse_text.rs"]
mod blkparse_text;
#[path = "formats/fio_command_lines.rs"]
mod fio_command_lines;
#[path = "formats/fio_jobs_people_wrote.rs"]
mod fio_jobs_people_wrote;
#[path = "formats/fio_mistakes.rs"]
mod fio_mistakes;
#[path = "formats/fio_oracle.rs"]
mod fio_oracle;
#[path = "formats/fio_places.rs"]
mod fio_places;
#[path = "formats/fio_values.rs"]
mod fio_values;
#[path = "formats/iob_scripts.rs"]
mod iob_scripts;
#[path = "formats/readers_never_panic.rs"]
mod readers_never_panic;
#[path = "formats/support.rs"]
mod support;
#[path = "formats/sysfs_commands.rs"]
mod sysfs_commands;
