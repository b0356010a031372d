//! The frame loop: one request for a frame at a time, none while paused, hidden or off screen.

use super::probe::Probe;
use super::{Frame, Local, Session};
use crate::config::Side;
use crate::player::Player;
use leptos::leptos_dom::helpers::request_animation_frame_with_handle;
use leptos::prelude::*;
use mqscope_core::event::RqId;

/// Draws the player's scene with the selected request, so many wall ms after the last frame; true if it needs another
/// frame to come to rest.
pub type Painter = Box<dyn FnMut(&Player, Option<RqId>, f64) -> bool>;

/// Time between two beats while playing, ms.
const BEAT_MS: f64 = 200.0;
/// Longest step of the wall clock in one frame, ms: after a sleep of the machine it goes on where it was.
const STEP_MAX_MS: f64 = 100.0;

/// Panels that show the moment at the playhead.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Reader {
    /// The inside of the scheduler.
    Scheduler,
    /// What CPUs spend their time on.
    Cpus,
    /// Requests over time.
    SpaceTime,
}

/// The wall clock, ms.
pub(super) fn wall_ms() -> f64 {
    window().performance().map_or(0.0, |p| p.now())
}

impl Session {
    /// Who draws from now on.
    pub fn set_painter(&self, painter: Option<Painter>) {
        self.with_local(|l| l.painter = painter);
        self.redraw();
    }

    /// Who draws the other policy from now on.
    pub fn set_twin_painter(&self, painter: Option<Painter>) {
        self.with_local(|l| {
            l.twin_painter = painter;
            l.twin_jumps = u64::MAX;
        });
        self.redraw();
    }

    /// Asks for one frame.
    pub fn redraw(&self) {
        let session = *self;
        self.with_local(|l| {
            if l.frame_handle.is_none() && !l.page_hidden {
                l.frame_handle = request_animation_frame_with_handle(move || session.on_frame()).ok();
            }
        });
    }

    /// The picture changed by other means than time: draw it and tell the slower readers.
    pub(super) fn moved(&self) {
        self.stop_waiting();
        self.publish();
        self.beat.update(|b| *b = b.wrapping_add(1));
        self.redraw();
        self.save_soon();
    }

    /// Whether the page or the stage is out of sight.
    pub fn set_hidden(&self, page: Option<bool>, stage: Option<bool>) {
        self.with_local(|l| {
            if let Some(hidden) = page.filter(|hidden| *hidden != l.page_hidden) {
                l.hands.iter().for_each(|hand| hand.look(!hidden));
            }
            l.page_hidden = page.unwrap_or(l.page_hidden);
            l.stage_hidden = stage.unwrap_or(l.stage_hidden);
            l.last_ms = 0.0;
        });
        self.redraw();
        self.continue_runs();
    }

    /// Whether a panel that time goes on for is in view.
    pub fn set_shown(&self, reader: Reader, shown: bool) {
        let bit = 1 << reader as u8;
        self.with_local(|l| l.shown = if shown { l.shown | bit } else { l.shown & !bit });
        self.redraw();
    }

    /// Stops everything that is scheduled.
    pub fn close(&self) {
        self.with_local(|l| {
            if let Some(handle) = l.frame_handle.take() {
                handle.cancel();
            }
            l.painter = None;
            l.twin_painter = None;
            l.players = [None, None];
            (l.hands, l.due, l.twin_due) = Default::default();
            l.asking = super::ask::Asking::default();
        });
    }

    fn on_frame(&self) {
        let Some(playing) = self.playing.try_get_untracked() else { return };
        let now = wall_ms();
        let selected = self.selected.get_untracked();
        let side = self.side.get_untracked();
        self.complete_twins(side);
        let side = side.index();
        let more = self.with_local(|l| {
            l.frame_handle = None;
            let unseen = l.page_hidden || (l.stage_hidden && l.shown == 0);
            let passed = if l.last_ms > 0.0 { (now - l.last_ms).clamp(0.0, STEP_MAX_MS) } else { 0.0 };
            l.last_ms = now;
            let player = l.players[side].as_mut()?;
            let mut painter = l.painter.take();
            // A long seek goes on in ticks, also while it is paused or the stage is scrolled away.
            let seeking = player.seeking().is_some();
            // Both are locked in time: the one on the stage waits for the other.
            let mut probe = Probe::begin(player);
            // The first picture of all is drawn before anything moves: its map alone takes as long as a frame may.
            let first = std::mem::take(&mut l.first_frame);
            if (playing && !unseen || seeking) && !l.twin_behind && !first {
                player.tick(passed);
            }
            probe.iter_mut().for_each(|probe| probe.ticked());
            let beat = now - l.beat_ms >= BEAT_MS || first;
            if beat {
                l.beat_ms = now;
            }
            // What lies on the way of a long seek is no picture that anybody asked for; now and then it shows that it goes on.
            let on_the_way = player.seeking().is_some() && !beat;
            let settles = match painter.as_mut() {
                Some(paint) if !unseen && !l.stage_hidden && !on_the_way => paint(player, selected, passed),
                _ => false,
            };
            probe.into_iter().for_each(|probe| probe.end(player));
            let arrived = seeking && l.players[side].as_ref().is_some_and(|p| p.seeking().is_none());
            l.painter = painter;
            let settles = (!unseen && l.twin_frame(side, playing, passed)) | settles;
            Some((playing && !unseen || seeking, settles, beat, arrived))
        });
        self.publish();
        let Some((goes_on, settles, beat, arrived)) = more.flatten() else { return };
        if arrived {
            // The end of a long seek is news for the slower readers and the address too.
            self.beat.update(|b| *b = b.wrapping_add(1));
            self.save_soon();
        }
        if playing && goes_on && self.frame.get_untracked().ended {
            self.with_player_mut(|p| p.set_playing(false));
            self.playing.set(false);
            self.moved();
        } else if goes_on {
            if beat {
                self.beat.update(|b| *b = b.wrapping_add(1));
                self.save_soon();
            }
            self.redraw();
        } else if settles {
            self.redraw();
        } else {
            // The next frame comes after a pause, which is no time of the picture's.
            self.with_local(|l| l.last_ms = 0.0);
        }
    }

    /// Where both are on the stage, both have their player.
    fn complete_twins(&self, side: Side) {
        let missing = self.with_local(|l| {
            let now = l.players[side.index()].as_ref().map(Player::now_ns)?;
            (l.twin_painter.is_some() && l.players[side.other().index()].is_none()).then_some(now)
        });
        if let Some(now) = missing.flatten() {
            self.build(side.other(), now);
        }
    }

    /// Publishes the frame if it changed.
    pub(super) fn publish(&self) {
        let frame = self.with_player(|p| Frame {
            now_ns: p.now_ns(),
            duration_ns: p.duration_ns(),
            ended: p.at_end(),
            heading_ns: p.seeking(),
        });
        if let Some(frame) = frame
            && frame != self.frame.get_untracked()
        {
            self.frame.set(frame);
        }
    }
}

impl Local {
    /// Brings the other policy to the moment of the one on the stage and draws it; true if it needs another frame.
    fn twin_frame(&mut self, side: usize, playing: bool, passed_ms: f64) -> bool {
        self.twin_behind = false;
        if self.stage_hidden {
            return false;
        }
        let Some(mut paint) = self.twin_painter.take() else { return false };
        let lead = self.players[side].as_ref().map(|p| (p.now_ns(), p.jumps()));
        let mut more = false;
        if let (Some((now, jumps)), Some(twin)) = (lead, self.players[1 - side].as_mut()) {
            let jumped = self.twin_jumps != jumps;
            self.twin_jumps = jumps;
            self.twin_behind = !twin.follow(now, playing, jumped);
            more = paint(twin, None, passed_ms) || self.twin_behind;
        }
        self.twin_painter = Some(paint);
        more
    }
}
