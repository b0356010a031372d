//! The two runs for numbers and their comparison: ordered from the crew, whose answers come later; and what the page does
//! itself in the background, in slices that leave it alive.

use super::crew::Hand;
use super::frames::wall_ms;
use super::{Local, Session};
use crate::config::Side;
use crate::desk;
use crate::player::Player;
use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use std::time::Duration;

/// Longest slice of exploring, ms.
pub(super) const SLICE_MS: f64 = 8.0;
/// Time between two looks at what is still being explored, ms.
const PUBLISH_MS: f64 = 250.0;
/// Events that the player explores between two looks at the clock.
const EXPLORE_EVENTS: u64 = 2_000;
/// Turns of the page's own work: orders for both hands, the hands if they are the page's, and exploring.
const TURNS: usize = 5;
const HANDS: usize = 2;

impl Session {
    /// Begins the run of one side anew.
    pub(super) fn restart_run(&self, side: Side) {
        self.twins.set(None);
        self.drop_trials();
        self.with_local(|l| {
            // A comparison under way would be of runs that are no more.
            if !l.twin_due {
                l.hands[0].stop();
            }
            l.twin_due = true;
        });
        self.with_local(|l| l.due[side.index()] = true);
        self.continue_runs();
    }

    /// As [`Session::restart_run`], with the order given at once: what is built here meanwhile keeps nobody waiting.
    pub(super) fn restart_run_now(&self, side: Side) {
        self.restart_run(side);
        if self.with_local(|l| std::mem::take(&mut l.due[side.index()])) == Some(true) {
            self.order(side.index(), &[side]);
        }
    }

    /// Orders the numbers of a side, or the comparison of both, from one of the hands.
    fn order(&self, hand: usize, sides: &[Side]) {
        let (session, config) = (*self, self.config.get_untracked());
        self.with_local(|l| {
            let scenario = |side: &Side| config.scenario(l.base.as_ref()?, *side).ok();
            let scenarios: Option<Vec<_>> = sides.iter().map(scenario).collect();
            // What cannot run has been refused in words already.
            let Some(scenarios) = scenarios else { return l.hands[hand].stop() };
            l.orders += 1;
            let order = desk::order(l.orders, scenarios.iter().zip(sides.iter().map(|s| config.policy(*s))));
            l.hands[hand].give(session, hand, !l.page_hidden, l.orders, order);
        });
    }

    /// Orders the comparison once both runs are known, and asks for the next slice of the page's own work if there is any
    /// and none is asked for.
    pub(super) fn continue_runs(&self) {
        let session = *self;
        let compare = self.with_local(|l| {
            let compare = l.twin_due && l.due == [false; 2] && l.hands.iter().all(Hand::idle);
            l.twin_due &= !compare;
            compare
        });
        if compare == Some(true) {
            self.order(0, &Side::BOTH);
        }
        self.next_trials();
        self.with_local(|l| {
            if (0..TURNS).any(|turn| l.waits(turn)) && !l.run_timer && !l.page_hidden {
                l.run_timer = true;
                set_timeout(move || session.on_slice(), Duration::ZERO);
            }
        });
    }

    fn on_slice(&self) {
        if self.beat.try_get_untracked().is_none() {
            return;
        }
        let side = self.side.get_untracked().index();
        let (mut answer, mut order) = (None, None);
        let explored = self.with_local(|l| {
            l.run_timer = false;
            // One after the other, so that all of them grow.
            l.turn = (1..=TURNS).map(|on| (l.turn + on) % TURNS).find(|turn| l.waits(*turn))?;
            let hand = l.turn % HANDS;
            if l.turn < HANDS {
                order = std::mem::take(&mut l.due[hand]).then_some(hand);
                return None;
            } else if l.turn < 2 * HANDS {
                answer = l.hands[hand].slice().map(|bytes| (hand, bytes));
                return None;
            }
            let start = wall_ms();
            l.unexplored = explore(l.players[side].as_mut(), start);
            let due = !l.unexplored || start - l.published_ms > PUBLISH_MS;
            l.published_ms = if due { start } else { l.published_ms };
            due.then_some(())
        });
        if let Some(hand) = order {
            self.order(hand, &[Side::BOTH[hand]]);
        }
        if let Some((hand, bytes)) = answer {
            self.on_answer(hand, bytes);
        }
        if explored.flatten().is_some() {
            self.publish();
            self.beat.update(|b| *b = b.wrapping_add(1));
            self.look_for_mark();
        }
        self.continue_runs();
    }
}

impl Local {
    /// Whether there is work for the page at this turn.
    fn waits(&self, turn: usize) -> bool {
        match turn / HANDS {
            0 => self.due[turn],
            1 => self.hands[turn % HANDS].waits_for_page(),
            _ => self.unexplored,
        }
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
