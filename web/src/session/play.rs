//! Time: playing, steps, marks and jumps.

use super::Session;
use crate::player::Player;
use leptos::prelude::*;

impl Session {
    /// Plays or pauses; from the end it plays from the start.
    pub fn set_playing(&self, playing: bool) {
        self.with_player_mut(|p| p.set_playing(playing));
        self.with_local(|l| {
            l.last_ms = 0.0;
            l.stepped &= !playing;
        });
        self.playing.set(playing);
        self.moved();
    }

    /// Plays if it is paused, pauses if it plays.
    pub fn toggle(&self) {
        self.set_playing(!self.playing.get_untracked());
    }

    /// Sets the speed, simulated ns per second.
    pub fn set_speed(&self, speed: f64) {
        let (low, high) = crate::config::SPEED_RANGE;
        let speed = if speed.is_finite() { speed.clamp(low, high) } else { low };
        self.with_player_mut(|p| p.set_speed(speed));
        self.speed.set(speed);
    }

    /// Faster or slower by a factor, by time or by event as it plays.
    pub fn speed_by(&self, factor: f64) {
        match self.event_rate.get_untracked() {
            Some(rate) => {
                let (low, high) = crate::player::EVENT_RATE;
                self.set_event_rate(Some((rate * factor).clamp(low, high)));
            }
            None => self.set_speed(self.speed.get_untracked() * factor),
        }
    }

    /// Plays by event, so many a second, or by time again.
    pub fn set_event_rate(&self, rate: Option<f64>) {
        self.with_player_mut(|p| p.set_event_rate(rate));
        self.event_rate.set(rate);
        self.save_soon();
    }

    /// Moves the playhead.
    pub fn seek(&self, ns: u64) {
        let end = self.frame.get_untracked().duration_ns;
        self.stop_waiting();
        self.with_player_mut(|p| p.seek(ns.min(end)));
        self.with_local(|l| l.stepped = false);
        if self.with_player(|p| p.seeking().is_some()) == Some(true) {
            // The slower readers are told when it has arrived.
            self.publish();
            self.redraw();
        } else {
            self.moved();
        }
    }

    /// Moves the playhead to event number `event`, which happens at `t_ns`, and stands behind it.
    pub fn go_to(&self, t_ns: u64, event: u64) {
        self.with_player_mut(|p| {
            p.set_playing(false);
            p.go_to_event(event);
        });
        self.playing.set(false);
        let found = self.with_player(|p| p.position() == event && p.now_ns() == t_ns);
        self.with_local(|l| l.stepped = found == Some(true));
        if found != Some(true) {
            self.with_player_mut(|p| p.seek(t_ns));
        }
        self.moved();
        self.say_last_event();
    }

    /// Moves the playhead by so many ns.
    pub fn seek_by(&self, delta_ns: i64) {
        self.seek(self.heading_ns().saturating_add_signed(delta_ns));
    }

    /// To the next mark of the timeline (merge, queue for a lock, wait for a tag, refusal, throttled writer, passed
    /// deadline, bfq's idling, broken invariant), or the one before.
    pub fn seek_mark(&self, forward: bool) {
        let mark = self.with_player(|p| p.timeline().mark_from(p.now_ns(), forward));
        match mark.flatten() {
            Some(mark) => {
                self.set_playing(false);
                self.seek(mark.at_ns);
                self.said.set(format!("{}: {}", crate::words::moment(mark.at_ns), mark.kind.words()));
            }
            None if forward && self.with_player(|p| p.timeline().end_ns()) == Some(None) => {
                self.set_playing(false);
                self.awaits_mark.set(true);
                self.continue_runs();
                self.said.set(String::from(
                    "The run is not explored that far yet: the playhead goes to the next mark when it is found.",
                ));
            }
            None => self.said.set(String::from(if forward {
                "There is no mark after this moment."
            } else {
                "There is no mark before this moment."
            })),
        }
    }

    /// More of the run is known: the mark that is waited for may be there now, or there is none.
    pub(super) fn look_for_mark(&self) {
        let waits = self.awaits_mark.try_get_untracked() == Some(true);
        let known = |p: &Player| {
            let timeline = p.timeline();
            timeline.end_ns().is_some() || timeline.mark_from(p.now_ns(), true).is_some()
        };
        if waits && self.with_player(known) == Some(true) {
            self.stop_waiting();
            self.seek_mark(true);
        }
    }

    /// Whatever else moves the playhead, nobody waits for a mark any more.
    pub(super) fn stop_waiting(&self) {
        if self.awaits_mark.get_untracked() {
            self.awaits_mark.set(false);
        }
    }

    /// One event on.
    pub fn step_event(&self) {
        self.step(Player::step_event);
    }

    /// One event back.
    pub fn step_back(&self) {
        self.step(Player::step_back);
    }

    /// On until the selected request does its next step; selects one first if there is none.
    pub fn step_stage(&self) {
        if self.selected.get_untracked().is_none() {
            self.select_next();
        }
        if let Some(rq) = self.selected.get_untracked() {
            self.step(|p| p.step_stage(rq));
        }
    }

    fn step(&self, step: impl FnOnce(&mut Player)) {
        self.with_player_mut(|p| {
            p.set_playing(false);
            step(p);
        });
        self.with_local(|l| l.stepped = true);
        self.playing.set(false);
        self.moved();
        self.say_last_event();
    }

    /// To the place of a step in an address: event number `event`, which is one of those at `t_ns`.
    pub(super) fn seek_event(&self, t_ns: u64, event: u64) {
        const STEPS_MAX: usize = 10_000;
        let found = self.with_player_mut(|p| {
            p.seek(t_ns.saturating_sub(1));
            for _ in 0..STEPS_MAX {
                if p.position() >= event || p.now_ns() > t_ns || p.at_end() {
                    break;
                }
                p.step_event();
            }
            p.position() == event
        });
        if found == Some(true) {
            self.with_local(|l| l.stepped = true);
        } else {
            // Another version of the simulator may number events otherwise; the time is still good.
            self.with_player_mut(|p| p.seek(t_ns));
        }
        self.moved();
    }

    pub(super) fn say_last_event(&self) {
        let words = self.with_player(|p| {
            let event = p.recent_events().next_back()?;
            let t = p.topology();
            let (who, what) = (crate::narrate::actor(event, t), crate::narrate::sentence(event, t));
            Some(format!("{}, {who}: {what}", crate::words::moment(event.at_ns)))
        });
        self.said.set(words.flatten().unwrap_or_default());
    }
}
