//! The address follows the state, not more often than browsers allow.

use super::Session;
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::time::Duration;

/// Time between two writes of the address, ms. Browsers stop listening above a hundred in half a minute.
const SAVE_MS: u64 = 700;

impl Session {
    /// The address of this very picture.
    pub fn link(&self) -> String {
        let here = window().location().href().unwrap_or_default();
        let page = here.split('#').next().unwrap_or_default();
        let (fragment, cut) = self.config.with_untracked(|c| crate::url::write(c, &self.view()));
        if cut {
            self.notify("The job is too long for a link, so the link leaves it out. Keep it as a file.");
        }
        format!("{page}#{fragment}")
    }

    /// Writes the address soon.
    pub(super) fn save_soon(&self) {
        let session = *self;
        self.with_local(|l| {
            if !l.link_timer {
                l.link_timer = true;
                set_timeout(move || session.save(), Duration::from_millis(SAVE_MS));
            }
        });
    }

    /// Writes the address now.
    pub fn save(&self) {
        let built = self.with_local(|l| l.asked.is_none());
        if built != Some(true) || self.config.try_get_untracked().is_none() {
            return;
        }
        let (fragment, _) = self.config.with_untracked(|c| crate::url::write(c, &self.view()));
        let fragment = format!("#{fragment}");
        let changed = self.with_local(|l| {
            l.link_timer = false;
            let changed = l.last_link != fragment;
            l.last_link.clone_from(&fragment);
            changed
        });
        if changed == Some(true)
            && let Ok(history) = window().history()
        {
            // Refused in some sandboxed frames; the page works without.
            let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&fragment));
        }
    }

    /// Whether this is the address that the page itself wrote last.
    pub(super) fn is_own_link(&self, fragment: &str) -> bool {
        self.with_local(|l| l.last_link == fragment).unwrap_or(false)
    }
}
