//! The address follows the state, not more often than browsers allow; what ran before can be had back.

use super::Session;
use crate::config::View;
use crate::url::Read;
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
        let config = self.config.get_untracked();
        let news = self.with_local(|l| {
            l.link_timer = false;
            let changed = l.last_link != fragment;
            l.last_link.clone_from(&fragment);
            let other = l.linked.as_ref().is_some_and(|linked| *linked != config);
            l.linked = Some(config);
            changed.then_some(other)
        });
        if let Some(other) = news.flatten()
            && let Ok(history) = window().history()
        {
            // Another run is a place to come back to; another moment of it is not. Within a frame, going back belongs
            // to the page around it. Refused in some sandboxed frames; the page works without.
            let (state, own) =
                (wasm_bindgen::JsValue::NULL, window().parent().ok().flatten() == Some(window()));
            let _ = match other && own {
                true => history.push_state_with_url(&state, "", Some(&fragment)),
                false => history.replace_state_with_url(&state, "", Some(&fragment)),
            };
        }
    }

    /// Keeps what runs, with the moment, before something else runs.
    pub(super) fn leave(&self) {
        const LEFT_MAX: usize = 30;
        let left = (self.config.get_untracked(), self.view());
        self.left.update(|list| {
            if list.last().is_none_or(|(config, _)| *config != left.0) {
                list.push(left);
            }
            let excess = list.len().saturating_sub(LEFT_MAX);
            list.drain(..excess);
        });
    }

    /// Back to what ran before the last change, at the moment of that change.
    pub fn undo(&self) {
        let now = self.config.get_untracked();
        let left = self.left.try_update(|list| {
            while let Some((config, view)) = list.pop() {
                if config != now {
                    return Some((config, view));
                }
            }
            None
        });
        match left.flatten() {
            Some((config, left)) => {
                let playing = self.playing.get_untracked();
                let (bookmarks, theme) = (self.bookmarks.get_untracked(), self.theme.get_untracked());
                self.notices.set(Vec::new());
                let zoom_ns = self.zoom.get_untracked();
                let view = View { playing, bookmarks, theme, zoom_ns, ..left };
                self.load(Read { config, view, messages: Vec::new() });
                self.said.set(String::from("The last change is undone."));
            }
            None => self.said.set(String::from("Nothing was changed that could be undone.")),
        }
    }

    /// Whether this is the address that the page itself wrote last.
    pub(super) fn is_own_link(&self, fragment: &str) -> bool {
        self.with_local(|l| l.last_link == fragment).unwrap_or(false)
    }
}
