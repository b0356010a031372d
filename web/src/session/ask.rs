//! Questions: what is asked, and the runs that answer, in slices that leave the page alive.

use super::frames::wall_ms;
use super::runs::SLICE_MS;
use super::{Local, Session};
use crate::config::Side;
use crate::scene::Request;
use crate::why::{Inquiry, Search, Slowest, Subject};
use crate::words;
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::time::Duration;

/// Steps of the simulation between two looks at the clock.
const STEPS: u64 = 500;
const NO_IO: &str = "This request is the kernel's own, no I/O of an application: nobody waits for it, so there is no \
                     latency to ask about. Take one of the requests that stand behind it.";

/// Who looks for answers.
#[derive(Default)]
pub(super) struct Asking {
    /// With the side that was asked.
    inquiry: Option<(Side, Inquiry)>,
    search: Option<(Search, Subject)>,
    timer: bool,
}

impl Session {
    /// Asks why: a request is selected and its twins run; of others the inspector says the answer.
    pub fn ask(&self, subject: Subject) {
        if let Subject::Request(rq) = subject {
            self.select(Some(rq));
            self.said.set(format!("Request {rq} is selected; its twins run."));
            return self.ask_why();
        }
        let search = match subject {
            Subject::Point { from_ns, .. } => self.with_player(|p| Search::new(p, from_ns)).flatten(),
            _ => None,
        };
        self.with_local(|l| l.asking.search = search.map(|search| (search, subject)));
        self.asked.set(Some(subject));
        self.continue_asking();
    }

    /// Puts the answer away.
    pub fn close_answer(&self) {
        self.with_local(|l| l.asking.search = None);
        self.asked.set(None);
    }

    /// Asks what the selected request waits for, and what its latency would be without that; twins run one by one.
    pub fn ask_why(&self) {
        let side = self.side.get_untracked();
        let now = self.frame.get_untracked().now_ns;
        let other = self.config.with_untracked(|c| {
            let (own, other) = (c.policy(side).at(now), c.policy(side.other()).at(now));
            own.under_way(other)
        });
        let Some(rq) = self.selected.get_untracked() else { return };
        let ask = |r: &Request| self.with_player(|p| Inquiry::of(p, r, other)).flatten();
        let request = self.with_player(|p| p.scene().request(rq).cloned()).flatten();
        let asked = request.as_ref().and_then(ask);
        if request.is_some() && asked.is_none() {
            self.notify(NO_IO);
        }
        let (question, inquiry) = asked.unzip();
        self.with_local(|l| l.asking.inquiry = inquiry.map(|inquiry| (side, inquiry)));
        self.why.set(question);
        self.continue_asking();
    }

    fn continue_asking(&self) {
        let session = *self;
        self.with_local(|l: &mut Local| {
            let open = l.asking.inquiry.is_some() || l.asking.search.is_some();
            if open && !l.asking.timer {
                l.asking.timer = true;
                set_timeout(move || session.on_asking(), Duration::ZERO);
            }
        });
    }

    fn on_asking(&self) {
        if self.why.try_get_untracked().is_none() {
            return;
        }
        let start = wall_ms();
        let late = || wall_ms() - start > SLICE_MS;
        let taken = self.with_local(|l| {
            l.asking.timer = false;
            (l.asking.search.take(), l.asking.inquiry.take())
        });
        let Some((search, inquiry)) = taken else { return };
        if let Some((mut search, mut point)) = search {
            let mut open = true;
            while open && !late() {
                open = search.step(&mut point, STEPS);
            }
            if open {
                self.with_local(|l| l.asking.search = Some((search, point)));
            } else {
                self.found(point);
            }
        }
        // Where a point has just led to another request, the question about the last one is over.
        let stale = self.with_local(|l| l.asking.inquiry.is_some()).unwrap_or(true);
        if let (Some((side, mut inquiry)), Some(question), false) = (inquiry, self.why.get_untracked(), stale)
        {
            let mut asked = question.clone();
            self.with_local(|l| {
                let Some(player) = l.players[side.index()].as_ref() else { return };
                let mut open = true;
                while open && !late() {
                    open = inquiry.step(player, &mut asked, STEPS);
                }
                l.asking.inquiry = open.then_some((side, inquiry));
            });
            if asked != question {
                self.why.set(Some(asked));
            }
        }
        self.continue_asking();
    }

    /// The slowest I/O of a point is known: to the moment of its end, and the question about it.
    fn found(&self, point: Subject) {
        self.asked.set(Some(point));
        let Subject::Point { slowest: Slowest::Found { rq, lat_ns, at_ns, .. }, .. } = point else { return };
        self.set_playing(false);
        self.seek(at_ns);
        if rq != 0 {
            self.select(Some(rq));
            self.ask_why();
        }
        self.said.set(format!("The slowest I/O there took {}.", words::span(lat_ns as f64)));
    }
}

impl Asking {
    /// Nobody asks for the latency of the last request any more.
    pub(super) fn drop_inquiry(&mut self) {
        self.inquiry = None;
    }
}
