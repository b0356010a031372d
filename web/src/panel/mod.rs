//! The parts of the page, one component a file. They read signals of the [`crate::session::Session`] and call its
//! actions; none touches a player.

mod attribute;
mod cases;
mod charts;
mod compare;
mod contention;
mod control;
mod cpus;
mod editor;
mod elevator;
mod figures;
mod groups;
mod header;
mod icon;
mod inspector;
mod intro;
mod keys;
mod knob;
mod log;
mod notices;
mod picture;
mod policy;
mod spacetime;
mod stage;
mod table;
mod timeline;
mod transport;
mod workload;

pub use cases::Cases;
pub use charts::Charts;
pub use compare::Compare;
pub use contention::Contention;
pub use cpus::Cpus;
pub use elevator::Elevator;
pub use figures::Figures;
pub use header::Header;
pub use inspector::Inspector;
pub use intro::Intro;
pub use keys::{KeySheet, use_keys};
pub use log::EventLog;
pub use notices::{Announcer, Notices};
pub use policy::PolicyPanel;
pub use spacetime::SpaceTimePanel;
pub use stage::Stage;
pub use transport::Transport;
pub use workload::Workload;
