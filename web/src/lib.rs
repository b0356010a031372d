//! mqscope-web: the page around [`mqscope_core`].
//!
//! Nothing here decides what happens: [`player`] owns a simulation and plays it against wall time, [`scene`] turns
//! the log into what is where, [`draw`] paints that, the panels ask and show.

pub mod config;
pub mod draw;
pub mod player;
pub mod preset;
pub mod scene;
pub mod url;
pub mod words;
