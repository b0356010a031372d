//! The two runs for numbers: computed in the background, in slices that leave the page alive.

use super::frames::wall_ms;
use super::{Local, Session};
use crate::config::Side;
use crate::numbers::{Numbers, Run, TwinRun};
use crate::player::Player;
use crate::twins::{self, Account};
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Longest slice of work, ms. Far below the 50 ms from which on a page feels stuck.
pub(super) const SLICE_MS: f64 = 8.0;
/// Time between two looks at numbers that are still growing, ms.
const PUBLISH_MS: f64 = 250.0;
/// Events that the player explores between two looks at the clock.
const EXPLORE_EVENTS: u64 = 2_000;

/// What a slice brought.
enum Grown {
    /// Numbers of a side.
    Numbers(usize, Arc<Numbers>),
    /// More of the run on the stage is known.
    Timeline,
    /// More of the comparison.
    Twins(Arc<Account>),
}

impl Session {
    /// Begins the run of one side anew.
    pub(super) fn restart_run(&self, side: Side) {
        let config = self.config.get_untracked();
        self.twins.set(None);
        self.with_local(|l| {
            (l.twin, l.twin_due) = (None, true);
            let scenario = l.base.as_ref().and_then(|base| config.scenario(base, side).ok());
            l.runs[side.index()] = scenario.and_then(|s| Run::new(&s, config.policy(side)).ok());
        });
        self.continue_runs();
    }

    /// Asks for the next slice if one is needed and none is asked for.
    pub(super) fn continue_runs(&self) {
        let session = *self;
        self.with_local(|l| {
            let open = l.runs.iter().any(Option::is_some) || l.unexplored || l.twin_due;
            if open && !l.run_timer && !l.page_hidden {
                l.run_timer = true;
                set_timeout(move || session.on_slice(), Duration::ZERO);
            }
        });
    }

    fn on_slice(&self) {
        if self.beat.try_get_untracked().is_none() {
            return;
        }
        let session = *self;
        let (start, side) = (wall_ms(), self.side.get_untracked().index());
        let done = self.with_local(|l| {
            l.run_timer = false;
            // The side that is behind goes first, so both columns grow together.
            let index = (0..2)
                .filter(|i| l.runs[*i].is_some())
                .min_by_key(|i| l.runs[*i].as_ref().map_or(u64::MAX, Run::now_ns));
            let Some(index) = index else {
                if !l.unexplored {
                    return session.compare_slice(l, start).map(Grown::Twins);
                }
                l.unexplored = explore(l.players[side].as_mut(), start);
                let due = !l.unexplored || start - l.published_ms > PUBLISH_MS;
                l.published_ms = if due { start } else { l.published_ms };
                return due.then_some(Grown::Timeline);
            };
            let run = l.runs[index].as_mut()?;
            let finished = run.advance(|| wall_ms() - start > SLICE_MS);
            let due = finished || start - l.published_ms > PUBLISH_MS;
            let numbers = due.then(|| Arc::new(run.numbers()));
            if due {
                l.published_ms = start;
            }
            if finished {
                l.runs[index] = None;
            }
            numbers.map(|numbers| Grown::Numbers(index, numbers))
        });
        match done.flatten() {
            Some(Grown::Numbers(index, numbers)) => self.numbers[index].set(Some(numbers)),
            Some(Grown::Timeline) => {
                self.publish();
                self.beat.update(|b| *b = b.wrapping_add(1));
            }
            Some(Grown::Twins(account)) => self.twins.set(Some(account)),
            None => {}
        }
        self.continue_runs();
    }

    /// Compares both runs for one slice.
    fn compare_slice(&self, l: &mut Local, start: f64) -> Option<Arc<Account>> {
        if l.twin.is_none() {
            let (config, base) = (self.config.get_untracked(), l.base.as_ref()?);
            let run = |side| Run::new(&config.scenario(base, side).ok()?, config.policy(side)).ok();
            // What cannot run has been refused in words already.
            l.twin_due = false;
            l.twin = Some(TwinRun::new([run(Side::A)?, run(Side::B)?]));
            l.twin_due = true;
        }
        let twin = l.twin.as_mut()?;
        let complete = twin.advance(|| wall_ms() - start > SLICE_MS);
        let due = complete || start - l.published_ms > PUBLISH_MS;
        let account = due.then(|| Arc::new(twins::account(twin, complete)));
        if due {
            l.published_ms = start;
        }
        if complete {
            (l.twin, l.twin_due) = (None, false);
        }
        account
    }
}

/// Explores the run on the stage ahead of the playhead for one slice; false when all of it is known.
fn explore(player: Option<&mut Player>, start: f64) -> bool {
    let Some(player) = player else { return false };
    while wall_ms() - start < SLICE_MS {
        if !player.explore(EXPLORE_EVENTS) {
            return false;
        }
    }
    true
}
