//! Trials: which of the differences between the policies matter. They run where the numbers do, when those are known.

use super::Session;
use crate::config::Policy;
use crate::desk::{self, Answer};
use crate::trial::Trials;
use leptos::prelude::*;

impl Session {
    /// Begins to run A with each difference alone; not before A's numbers are known.
    pub fn try_differences(&self) {
        let known = self.numbers[0].get_untracked().filter(|n| n.finished);
        let base = self.with_local(|l| l.base.clone()).flatten();
        let (Some(known), Some(base)) = (known, base) else { return };
        self.drop_trials();
        let trials = self.config.with_untracked(|c| Trials::new(c, &base, &known.report));
        self.trials.set(Some(trials));
        self.continue_runs();
    }

    /// Forgets them, and what runs of them.
    pub(super) fn drop_trials(&self) {
        self.with_local(|l| {
            for (hand, trying) in l.hands.iter_mut().zip(&mut l.trying) {
                if trying.take().is_some() {
                    hand.stop();
                }
            }
        });
        if self.trials.with_untracked(Option::is_some) {
            self.trials.set(None);
        }
    }

    /// Gives the next ones to whoever has nothing to do.
    pub(super) fn next_trials(&self) {
        if self.trials.with_untracked(Option::is_none) {
            return;
        }
        let session = *self;
        self.with_local(|l| {
            if l.twin_due || l.due != [false; 2] {
                return;
            }
            let Some(base) = l.base.as_ref() else { return };
            for hand in 0..l.hands.len() {
                if !l.hands[hand].idle() {
                    continue;
                }
                let next = self.config.with_untracked(|c| {
                    self.trials.try_update_untracked(|t| t.as_mut().and_then(|t| t.give(c, base)))
                });
                let Some((number, scenario)) = next.flatten() else { return };
                l.orders += 1;
                let order = desk::order(l.orders, [(&scenario, &Policy::default())]);
                l.trying[hand] = Some(number);
                l.hands[hand].give(session, hand, !l.page_hidden, l.orders, order);
            }
        });
    }

    /// Whether an answer is about a trial; it is taken over when it is whole.
    pub(super) fn takes_trial(&self, hand: usize, answer: &Answer) -> bool {
        let Some(number) = self.with_local(|l| l.trying[hand]).flatten() else { return false };
        if answer.finished {
            self.with_local(|l| l.trying[hand] = None);
            self.trials.update(|t| {
                if let Some(trials) = t {
                    trials.take(number, answer.numbers.as_ref());
                }
            });
        }
        true
    }

    /// A hand is lost with what it tried.
    pub(super) fn lose_trial(&self, hand: usize) {
        let lost =
            self.with_local(|l| l.hands[hand].idle().then(|| l.trying[hand].take()).flatten()).flatten();
        if let Some(number) = lost {
            self.trials.update(|t| {
                if let Some(trials) = t {
                    trials.take(number, None);
                }
            });
        }
    }
}
