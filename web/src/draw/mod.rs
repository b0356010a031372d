//! The picture: [`layout`] says where things stand, [`sprites`] where requests are on their way there, [`stage`]
//! paints both on anything that can [`paint::Paint`], and [`canvas`] is the only part that knows a browser.
//!
//! For the page: make a [`canvas::StageCanvas`] of a `<canvas>`, call `frame` from the animation loop (it says
//! whether it needs another frame while the player stands), lay `boxes()` over it as focusable elements whenever
//! `version()` changes, and ask `hit` and `next_request` for pointer and keyboard.

pub mod canvas;
pub mod layout;
pub mod paint;
pub mod palette;
pub mod plots;
pub mod sprites;
pub mod stage;
pub mod strips;
pub mod svg;
pub mod zoom;
