//! Actions that change what runs.

use super::Session;
use super::frames::wall_ms;
use crate::config::{Config, JOB_MAX, Rules, Side, changes_under_way};
use crate::job;
use crate::player::Player;
use crate::preset::{self, Preset};
use crate::sysfs::Sysfs;
use crate::url::Read;
use crate::words;
use leptos::prelude::*;
use mqscope_core::check::Invariant;
use mqscope_core::{Sim, kernel};

/// Wall time within which another value of the same setting goes on with the same sweep, ms.
const SWEEP_MS: f64 = 1_500.0;

/// A setting on its way through several values.
pub(super) struct Sweep {
    what: String,
    side: Side,
    /// Where its change is made, ns; `None`: from the start.
    began_ns: Option<u64>,
    /// When the last value came, ms on the wall.
    last_ms: f64,
}

impl Session {
    /// The preset that gives what the user did not say.
    pub fn preset(&self) -> &'static Preset {
        self.config.with_untracked(|c| preset::find(&c.preset)).unwrap_or_else(preset::first)
    }

    /// Takes over what an address says.
    pub(super) fn load(&self, read: Read) {
        let Read { mut config, view, messages } = read;
        let preset = preset::find(&config.preset).unwrap_or_else(preset::first);
        let text = config.job.clone().unwrap_or_else(|| preset.job.clone());
        let machine = config.machine.clone().unwrap_or_else(|| preset.base.machine.clone());
        let mut reading = job::read(&text, &config.answers, &machine, preset);
        self.draft.set(text);
        for message in messages {
            self.notify(message);
        }
        let base = reading.base.take().or_else(|| {
            self.notify(
                "The job in the address cannot run; the preset's own job runs until it is mended below.",
            );
            config.job = None;
            job::read(&preset.job, &config.answers, &machine, preset).base
        });
        self.with_local(|l| l.base = base);
        self.reading.set(reading);
        self.config.set(config);
        self.side.set(view.side);
        self.both.set(view.both);
        self.zoom.set(view.zoom_ns);
        self.event_rate.set(view.event_rate);
        self.bookmarks.set(view.bookmarks);
        self.theme.set(view.theme);
        self.selected.set(view.selected);
        self.with_local(|l| l.stepped = false);
        self.rebuild(view.t_ns);
        let end = self.with_player(Player::duration_ns).unwrap_or(u64::MAX);
        if view.t_ns > end {
            self.notify(format!(
                "The run ends at {}; the address asks for a later moment.",
                words::moment(end)
            ));
        }
        if let Some(event) = view.event {
            self.seek_event(view.t_ns, event);
        }
        self.set_speed(view.speed);
        self.set_playing(view.playing && !self.calm.get_untracked());
    }

    /// Starts from a preset, with nothing of the user's own but the colours.
    pub fn load_preset(&self, name: &str) {
        if let Some(preset) = preset::find(name) {
            self.leave();
            self.notices.set(Vec::new());
            let view = crate::config::View { theme: self.theme.get_untracked(), ..preset.view() };
            self.load(Read { config: preset.config(), view, messages: Vec::new() });
        }
    }

    /// Takes over an address that was typed or pasted while the page is open.
    pub fn load_fragment(&self, fragment: &str) {
        if !self.is_own_link(fragment) {
            let read = crate::url::read(fragment);
            // Back in the browser's history is the same as undoing here.
            let undone = self.left.try_update(|list| list.pop_if(|(config, _)| *config == read.config));
            if undone.flatten().is_none() {
                self.leave();
            }
            // The address stands in the history already.
            self.with_local(|l| {
                l.linked = Some(read.config.clone());
                l.last_link = fragment.into();
            });
            self.load(read);
        }
    }

    /// Reads the draft without running it.
    pub fn check_draft(&self) {
        let text = self.draft.get_untracked();
        let preset = self.preset();
        let reading = self.config.with_untracked(|c| {
            job::read(&text, &c.answers, c.machine.as_deref().unwrap_or(&preset.base.machine), preset)
        });
        self.reading.set(reading);
    }

    /// Reads the draft and, if it has no errors, runs it from the start; false if it has.
    pub fn run_draft(&self) -> bool {
        let text = self.draft.get_untracked();
        if text.len() > JOB_MAX {
            self.refuse(format!("A job may have {JOB_MAX} bytes; this one has {}.", text.len()));
            return false;
        }
        self.check_draft();
        let Some(base) = self.reading.with_untracked(|r| r.base.clone()) else { return false };
        self.leave();
        self.with_local(|l| l.base = Some(base));
        let preset = self.preset();
        self.config.update(|c| {
            c.job = (text != preset.job).then_some(text);
            for policy in &mut c.policies {
                policy.changes.clear();
            }
        });
        self.selected.set(None);
        self.rebuild(0);
        self.set_playing(true);
        true
    }

    /// A value for a variable of the job.
    pub fn answer(&self, name: &str, value: &str) {
        self.config.update(|c| {
            c.answers.insert(name.into(), value.chars().take(1000).collect());
        });
        self.check_draft();
    }

    /// Changes the rules of the policy on the stage, from the playhead or from the start as the user chose.
    pub fn set_rules(&self, edit: impl FnOnce(&mut Rules)) {
        self.set_rules_from(self.from_now.get_untracked(), "", edit);
    }

    /// Changes rules; `what` names what is swept through several values, of which only the last shall stay.
    fn set_rules_from(&self, from_now: bool, what: &str, edit: impl FnOnce(&mut Rules)) {
        let ended = self.frame.get_untracked().ended;
        let swept = self.sweep(from_now && !ended, what);
        if !swept {
            self.leave();
        }
        self.notices.set(Vec::new());
        let (side, now) = (self.side.get_untracked(), self.heading_ns());
        let mut rules = self.config.with_untracked(|c| c.policy(side).at(now).clone());
        edit(&mut rules);
        let from_now = from_now && now > 0;
        if from_now && ended {
            // Nothing comes after it that could show the change.
            self.notify("The playhead is at the end of the run, so the change was made from the start.");
        }
        let from_now = from_now && !ended;
        self.swept(what, side, from_now.then_some(now));
        let before = self.config.get_untracked();
        self.config.update(|c| {
            let policy = &mut c.policies[side.index()];
            if from_now { policy.change(now, rules.clone()) } else { policy.restart(rules.clone()) }
        });
        if swept {
            // One step back in the browser's history too.
            let now = self.config.get_untracked();
            self.with_local(|l| {
                l.linked = l.linked.take().map(|linked| if linked == before { now } else { linked })
            });
        }
        if !from_now {
            self.settle_sysfs(side);
        }
        self.restart_run_now(side);
        if from_now {
            self.with_player_mut(|p| p.apply_from_now(rules.knobs()));
            self.with_local(|l| l.unexplored = true);
        } else {
            self.forget_player(side);
            self.build(side, now);
        }
        self.moved();
    }

    /// Whether this goes on with the sweep of the last change: a slider on its way through several values. Then the
    /// playhead is back where the sweep began, and the change made there is replaced.
    fn sweep(&self, from_now: bool, what: &str) -> bool {
        let (side, now) = (self.side.get_untracked(), self.frame.get_untracked().now_ns);
        let began = self.with_local(|l| {
            let late = |s: &Sweep| wall_ms() - s.last_ms > SWEEP_MS || s.began_ns.is_some_and(|at| now < at);
            let same = |s: &Sweep| s.what == what && s.side == side && s.began_ns.is_some() == from_now;
            let on = |s: &&Sweep| same(s) && !late(s);
            l.sweep.as_ref().filter(on).map(|s| s.began_ns)
        });
        let last = self.config.with_untracked(|c| c.policy(side).changes.last().map(|c| c.at_ns));
        let Some(began) = began.flatten().filter(|began| !what.is_empty() && last == *began) else {
            return false;
        };
        if let Some(began) = began {
            self.with_player_mut(|p| p.seek(began));
            self.with_local(|l| l.stepped = false);
            self.publish();
        }
        true
    }

    /// Remembers a change that others may follow.
    fn swept(&self, what: &str, side: Side, began_ns: Option<u64>) {
        let sweep = Sweep { what: what.into(), side, began_ns, last_ms: wall_ms() };
        self.with_local(|l| l.sweep = Some(sweep));
    }

    /// Puts back what the kernel of a side does not have: attributes of the scheduler, or the scheduler itself.
    fn settle_sysfs(&self, side: Side) {
        let fails = || self.config.with_untracked(|c| self.problem(c, side)).is_some();
        if fails() {
            self.config.update(|c| c.policies[side.index()].sysfs.forget_iosched());
            self.notify("Attributes of the scheduler that this kernel does not have were put back.");
        }
        if fails() {
            self.config.update(|c| c.policies[side.index()].sysfs.set_scheduler("none"));
            self.notify("This kernel does not have the scheduler for this disk; it is none now.");
        }
    }

    /// Changes scheduler or attributes of the policy on the stage. The kernel freezes the queue for it, so the run is
    /// done again from its start; the playhead stays. What cannot run is refused in words.
    pub fn set_sysfs(&self, edit: impl FnOnce(&mut Sysfs)) {
        let (side, now) = (self.side.get_untracked(), self.heading_ns());
        let mut config = self.config.get_untracked();
        let sysfs = &mut config.policies[side.index()].sysfs;
        edit(sysfs);
        // What the disks have anyhow is no setting.
        let own = self.with_local(|l| {
            let devices = l.base.as_ref().map_or(&[][..], |base| &base.devices);
            !devices.is_empty() && devices.iter().all(|d| Some(&d.scheduler) == sysfs.scheduler.as_ref())
        });
        if own == Some(true) {
            sysfs.scheduler = None;
        }
        if let Some(problem) = self.problem(&config, side) {
            return self.refuse(problem);
        }
        self.leave();
        self.notices.set(Vec::new());
        self.config.set(config);
        self.selected.set(None);
        self.restart_run_now(side);
        self.forget_player(side);
        self.build(side, now);
        self.moved();
    }

    /// Why one side of these choices could not run.
    fn problem(&self, config: &Config, side: Side) -> Option<String> {
        let scenario =
            self.with_local(|l| l.base.as_ref().map(|base| config.scenario(base, side))).flatten()?;
        scenario.and_then(|s| Sim::new(&s)).err().map(|error| error.to_string())
    }

    /// Another kernel row, without overrides; `sweep` if it may be a stop on the way to another.
    pub fn set_kernel(&self, name: &str, sweep: bool) {
        if let Some(row) = kernel::row(name) {
            let what = if sweep { "kernel" } else { "" };
            let from_now = self.from_now.get_untracked();
            self.set_rules_from(from_now, what, |rules| *rules = Rules::new(row.name, &[]));
        }
    }

    /// One knob of the policy on the stage.
    pub fn set_knob(&self, name: &str, value: &str) {
        let mut probe = self.rules_now().knobs();
        match probe.set(name, value) {
            Ok(()) => {
                let later = probe.list().iter().all(|k| k.name != name || changes_under_way(k));
                self.set_rules_from(later && self.from_now.get_untracked(), name, |rules| {
                    rules.set_knob(name, value)
                });
            }
            Err(error) => self.refuse(error.to_string()),
        }
    }

    /// The rules in force on the stage at the playhead.
    pub fn rules_now(&self) -> Rules {
        let (side, now) = (self.side.get_untracked(), self.heading_ns());
        self.config.with_untracked(|c| c.policy(side).at(now).clone())
    }

    /// Changes machine, disks, seed or length, and starts over.
    /// What cannot run is refused in words, and what ran before goes on.
    pub fn set_base(&self, edit: impl FnOnce(&mut Config)) {
        let mut config = self.config.get_untracked();
        edit(&mut config);
        if let Some(problem) = Side::BOTH.into_iter().find_map(|side| self.problem(&config, side)) {
            return self.refuse(problem);
        }
        self.leave();
        self.notices.set(Vec::new());
        self.config.set(config);
        self.rebuild(self.preset().view().t_ns.min(self.heading_ns()));
    }

    /// Lets both runs break an invariant once, or no longer.
    pub fn toggle_break(&self, invariant: Invariant) {
        let breaks = |c: &mut Config| match c.breaks.iter().position(|b| *b == invariant) {
            Some(at) => _ = c.breaks.remove(at),
            None => c.breaks.push(invariant),
        };
        self.set_base(breaks);
    }

    /// Builds the stage's player and both runs for numbers anew.
    fn rebuild(&self, t_ns: u64) {
        for side in Side::BOTH {
            self.forget_player(side);
            self.numbers[side.index()].set(None);
        }
        self.build(self.side.get_untracked(), t_ns);
        for side in Side::BOTH {
            self.restart_run(side);
        }
        self.moved();
    }

    fn forget_player(&self, side: Side) {
        // What was asked of that run holds no more.
        self.close_answer();
        self.why.set(None);
        self.with_local(|l| {
            l.players[side.index()] = None;
            l.asking.drop_inquiry();
        });
    }

    /// Makes sure that a side has its player and that it stands at `t_ns`.
    pub(super) fn build(&self, side: Side, t_ns: u64) {
        let config = self.config.get_untracked();
        let (speed, playing) = (self.speed.get_untracked(), self.playing.get_untracked());
        let event_rate = self.event_rate.get_untracked();
        let failed = self.with_local(|l| {
            if l.players[side.index()].is_none() {
                let scenario = match l.base.as_ref().map(|base| config.scenario(base, side)) {
                    None => return Some(String::from("There is nothing to run.")),
                    Some(Err(error)) => return Some(error.to_string()),
                    Some(Ok(scenario)) => scenario,
                };
                let mut player = match Player::new(scenario) {
                    Ok(player) => player,
                    Err(error) => return Some(error.to_string()),
                };
                player.set_clock(wall_ms);
                for change in &config.policy(side).changes {
                    player.seek(change.at_ns);
                    player.apply_from_now(change.rules.knobs());
                }
                player.seek_soon(t_ns);
                l.players[side.index()] = Some(player);
            } else if let Some(player) = l.players[side.index()].as_mut() {
                player.seek(t_ns);
            }
            if let Some(player) = l.players[side.index()].as_mut() {
                player.set_speed(speed);
                player.set_event_rate(event_rate);
                player.set_playing(playing);
                l.unexplored = true;
            }
            None
        });
        self.continue_runs();
        if let Some(message) = failed.flatten() {
            self.notify(message);
        }
    }
}
