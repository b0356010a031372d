//! mqscope-web: the page around [`mqscope_core`].
//!
//! Nothing here decides what happens: [`player`] owns a simulation and plays it against wall time, [`scene`] turns
//! the log into what is where, [`draw`] paints that, the panels ask and show. Modules without a word about browsers
//! in their first line ([`config`], [`difference`], [`trial`], [`preset`], [`url`], [`job`],
//! [`numbers`], [`desk`], [`narrate`], [`now`], [`words`], [`zoom`]) are plain Rust.

pub mod api;
pub mod app;
pub mod chart;
pub mod config;
pub mod crash;
pub mod desk;
pub mod difference;
pub mod draw;
pub mod eventlog;
pub mod files;
pub mod job;
pub mod laws;
pub mod narrate;
pub mod now;
pub mod numbers;
pub mod panel;
pub mod parts;
pub mod player;
pub mod preset;
pub mod scene;
pub mod session;
pub mod spacetime;
pub mod sysfs;
pub mod trial;
pub mod twins;
pub mod url;
pub mod why;
pub mod words;
pub mod zoom;

use wasm_bindgen::prelude::*;

/// Starts the application where the page has a place for it; in any other page the module is a library only,
/// and in a worker it waits for orders ([`desk`]).
#[wasm_bindgen(start)]
pub fn start() {
    let place = web_sys::window().and_then(|w| w.document()).and_then(|d| d.get_element_by_id("mqscope"));
    if let Some(place) = place.and_then(|p| p.dyn_into::<web_sys::HtmlElement>().ok()) {
        crash::hook();
        // The browser has just instantiated the module; reading the cases and building the page are tasks of their own.
        later(|| {
            preset::first();
            later(move || {
                place.set_inner_html("");
                leptos::mount::mount_to(place, app::App).forget();
            });
        });
    }
}

/// In a task of its own.
fn later(task: impl FnOnce() + 'static) {
    leptos::prelude::set_timeout(task, std::time::Duration::ZERO);
}
