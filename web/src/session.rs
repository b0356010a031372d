//! What the page knows and does: a handful of signals for the panels, and the players outside of them.
//!
//! Components read signals and call actions; only the session touches a player. The players live in one place that is
//! no signal, and once a frame a small [`Frame`] is published. Nothing is scheduled while nothing moves.

mod ask;
mod crew;
mod edit;
mod frames;
mod keep;
mod link;
mod play;
mod probe;
mod runs;
mod trials;

use crew::Hand;
pub use frames::{Painter, Reader};

use crate::config::{Bookmark, Config, Side, Theme, View};
use crate::difference::Difference;
use crate::job::Reading;
use crate::numbers::Numbers;
use crate::parts;
use crate::player::Player;
use crate::scene::Spot;
use crate::trial::Trials;
use crate::twins::Account;
use crate::why::{Question, Subject};
use leptos::leptos_dom::helpers::AnimationFrameRequestHandle;
use leptos::prelude::*;
use mqscope_core::event::RqId;
use mqscope_core::scenario::Scenario;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What changes with every frame, small enough to be published that often.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frame {
    /// Playhead, ns.
    pub now_ns: u64,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Whether nothing will happen any more.
    pub ended: bool,
    /// Where a long seek is heading, ns, while the way there is simulated.
    pub heading_ns: Option<u64>,
}

/// The state of the page.
#[derive(Clone, Copy)]
pub struct Session {
    /// What runs.
    pub config: RwSignal<Config>,
    /// What the job's reader said.
    pub reading: RwSignal<Reading>,
    /// Text in the editor, which may differ from what runs.
    pub draft: RwSignal<String>,
    /// Policy on the stage.
    pub side: RwSignal<Side>,
    /// Large type, and a clicker's keys step.
    pub presenter: RwSignal<bool>,
    /// Stop of the tour; `None` while there is none.
    pub tour: RwSignal<Option<usize>>,
    /// Moments kept, in order of time.
    pub bookmarks: RwSignal<Vec<Bookmark>>,
    /// Both policies are on the stage, at the same time of the run.
    pub both: RwSignal<bool>,
    /// Width of the window around the playhead in the panel of CPUs, ns; none: the last part of the run.
    pub zoom: RwSignal<Option<u64>>,
    /// Simulated ns per second on the wall.
    pub speed: RwSignal<f64>,
    /// Events a second, if it plays by event and not by time.
    pub event_rate: RwSignal<Option<f64>>,
    /// Whether it plays.
    pub playing: RwSignal<bool>,
    /// Selected request.
    pub selected: RwSignal<Option<RqId>>,
    /// Colours asked for.
    pub theme: RwSignal<Theme>,
    /// A policy change takes effect at the playhead instead of at the start.
    pub from_now: RwSignal<bool>,
    /// Single keys work.
    pub keys_on: RwSignal<bool>,
    /// The playhead goes to the next mark as soon as the run is explored that far.
    pub awaits_mark: RwSignal<bool>,
    /// Published each frame.
    pub frame: RwSignal<Frame>,
    /// Rises a few times a second while it plays, and whenever the picture changes otherwise.
    pub beat: RwSignal<u32>,
    /// What the user should know, until dismissed.
    pub notices: RwSignal<Vec<String>>,
    /// Said to screen readers: what the last step did.
    pub said: RwSignal<String>,
    /// Numbers of both policies over the whole run.
    pub numbers: [RwSignal<Option<Arc<Numbers>>>; 2],
    /// Where the two runs part, as far as it is known.
    pub twins: RwSignal<Option<Arc<Account>>>,
    /// Which of the differences between the policies matter, as far as it was asked for and is known.
    pub trials: RwSignal<Option<Trials>>,
    /// What ran before each change, with the moment at which it was left; the latest last.
    left: RwSignal<Vec<(Config, View)>>,
    /// What the selected request's latency would have been without one cause, as far as it is known.
    pub why: RwSignal<Option<Question>>,
    /// The lock, CPU or point that is asked about.
    pub asked: RwSignal<Option<Subject>>,
    /// The reader wants less motion: nothing plays by itself.
    calm: Signal<bool>,
    local: StoredValue<Rc<RefCell<Local>>, LocalStorage>,
}

/// What is no business of signals.
#[derive(Default)]
struct Local {
    /// What the address said, until it is built.
    asked: Option<crate::url::Read>,
    base: Option<Scenario>,
    players: [Option<Player>; 2],
    /// Who computes the numbers of each side; the first of them the comparison too.
    hands: [Hand; 2],
    /// Whose numbers are to be ordered anew.
    due: [bool; 2],
    /// The trial that each of them runs, where it is no run for the numbers.
    trying: [Option<usize>; 2],
    /// Orders given to them so far.
    orders: u64,
    /// Both runs are to be compared once their numbers are known.
    twin_due: bool,
    run_timer: bool,
    asking: ask::Asking,
    /// Whose turn it was in the page's own work.
    turn: usize,
    /// The run on the stage is not known to its end yet.
    unexplored: bool,
    link_timer: bool,
    published_ms: f64,
    frame_handle: Option<AnimationFrameRequestHandle>,
    last_ms: f64,
    beat_ms: f64,
    /// Nothing was drawn yet.
    first_frame: bool,
    page_hidden: bool,
    stage_hidden: bool,
    /// Panels in view for which time goes on too, a bit each.
    shown: u8,
    painter: Option<Painter>,
    /// Draws the other policy, where both are on the stage.
    twin_painter: Option<Painter>,
    /// The other has not come to the moment of the one on the stage yet.
    twin_behind: bool,
    /// Jumps of the player on the stage that the other has followed.
    twin_jumps: u64,
    last_link: String,
    /// What the address was written for.
    linked: Option<Config>,
    /// The playhead stands where a step has left it.
    stepped: bool,
    /// The setting that was changed last, from the playhead.
    sweep: Option<edit::Sweep>,
}

impl Session {
    /// Reads the address; [`Session::begin`] builds what it asks for. Signals belong to the current owner.
    pub fn open(fragment: &str, calm: Signal<bool>) -> Self {
        let read = crate::url::read(fragment);
        let session = Self {
            config: RwSignal::new(read.config.clone()),
            reading: RwSignal::new(Reading::default()),
            draft: RwSignal::new(String::new()),
            side: RwSignal::new(read.view.side),
            presenter: RwSignal::new(false),
            tour: RwSignal::new(None),
            bookmarks: RwSignal::new(read.view.bookmarks.clone()),
            both: RwSignal::new(read.view.both),
            zoom: RwSignal::new(read.view.zoom_ns),
            speed: RwSignal::new(read.view.speed),
            event_rate: RwSignal::new(read.view.event_rate),
            playing: RwSignal::new(false),
            selected: RwSignal::new(None),
            theme: RwSignal::new(read.view.theme),
            from_now: RwSignal::new(false),
            keys_on: RwSignal::new(true),
            awaits_mark: RwSignal::new(false),
            frame: RwSignal::new(Frame::default()),
            beat: RwSignal::new(0),
            notices: RwSignal::new(Vec::new()),
            said: RwSignal::new(String::new()),
            numbers: [RwSignal::new(None), RwSignal::new(None)],
            twins: RwSignal::new(None),
            trials: RwSignal::new(None),
            why: RwSignal::new(None),
            left: RwSignal::new(Vec::new()),
            asked: RwSignal::new(None),
            calm,
            local: StoredValue::new_local(Rc::default()),
        };
        session.local.with_value(|l| l.borrow_mut().asked = Some(read));
        session
    }

    /// Builds what the address asked for; until then nothing runs, and the page can be seen.
    pub fn begin(&self) {
        if let Some(read) = self.with_local(|l| l.asked.take()).flatten() {
            self.with_local(|l| l.first_frame = true);
            self.load(read);
        }
    }

    /// The session of this page.
    pub fn here() -> Self {
        expect_context::<Self>()
    }

    /// How the page looks at the run now.
    pub fn view(&self) -> View {
        View {
            side: self.side.get_untracked(),
            t_ns: self.heading_ns(),
            event: self
                .with_local(|l| l.stepped)
                .unwrap_or(false)
                .then(|| self.with_player(Player::position))
                .flatten(),
            speed: self.speed.get_untracked(),
            event_rate: self.event_rate.get_untracked(),
            playing: self.playing.get_untracked(),
            selected: self.selected.get_untracked(),
            both: self.both.get_untracked(),
            zoom_ns: self.zoom.get_untracked(),
            bookmarks: self.bookmarks.get_untracked(),
            theme: self.theme.get_untracked(),
        }
    }

    /// Where the playhead is, or is going on the way of a long seek, ns.
    fn heading_ns(&self) -> u64 {
        self.with_player(|p| p.seeking().unwrap_or(p.now_ns())).unwrap_or(0)
    }

    /// In what the two sides differ.
    pub fn differences(&self) -> Vec<Difference> {
        let base = self.with_local(|l| l.base.clone()).flatten();
        self.config.with(|c| c.differences(base.as_ref()))
    }

    /// Whether the run of a side meets a change of its policy.
    pub fn changes_on_the_way(&self, side: Side) -> bool {
        let numbers = self.numbers[side.index()].read();
        let met = |n: &Numbers| {
            let changes = |c: &Config| !parts::met(&n.report, n.finished, &c.policy(side).changes).is_empty();
            self.config.with(changes)
        };
        numbers.as_ref().is_some_and(|n| met(n))
    }

    /// Whether a change can be undone.
    pub fn undoable(&self) -> bool {
        let now = self.config.read();
        self.left.with(|list| list.iter().any(|(config, _)| *config != *now))
    }

    /// How many CPUs have tasks of the workload.
    pub fn tasks(&self) -> u32 {
        let cpus = self.with_player(|p| {
            let mut cpus: Vec<_> = p.topology().tasks.iter().map(|t| t.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            cpus.len() as u32
        });
        cpus.unwrap_or(0)
    }

    /// Reads from the player on the stage; `None` while there is none. Tracks nothing: read [`Session::beat`] for that.
    pub fn with_player<R>(&self, f: impl FnOnce(&Player) -> R) -> Option<R> {
        let local = self.local.try_get_value()?;
        let local = local.try_borrow().ok()?;
        local.players[self.side.get_untracked().index()].as_ref().map(f)
    }

    /// Changes the player on the stage.
    fn with_player_mut<R>(&self, f: impl FnOnce(&mut Player) -> R) -> Option<R> {
        self.with_local(|local| local.players[self.side.get_untracked().index()].as_mut().map(f)).flatten()
    }

    fn with_local<R>(&self, f: impl FnOnce(&mut Local) -> R) -> Option<R> {
        let local = self.local.try_get_value()?;
        let mut local = local.try_borrow_mut().ok()?;
        Some(f(&mut local))
    }

    /// Says why something was refused; what was refused before it is no news any more.
    pub fn refuse(&self, problem: String) {
        self.notices.set(vec![problem]);
    }

    /// Adds a message for the user, once; the oldest go when there are many.
    pub fn notify(&self, message: impl Into<String>) {
        const NOTICES_MAX: usize = 6;
        let message = message.into();
        self.notices.update(|n| {
            n.retain(|m| *m != message);
            n.push(message);
            let excess = n.len().saturating_sub(NOTICES_MAX);
            n.drain(..excess);
        });
    }

    /// Selects a request, or none.
    pub fn select(&self, rq: Option<RqId>) {
        self.selected.set(rq);
        self.why.set(None);
        self.with_local(|l| l.asking.drop_inquiry());
        self.moved();
    }

    /// Selects the request after the selected one among those under way, the first of them after the last.
    pub fn select_next(&self) {
        let selected = self.selected.get_untracked();
        let next = self.with_player(|p| {
            // Those with most of their way before them come first: there is most to see.
            let rank = |spot: Spot| match spot {
                Spot::Completing(_) | Spot::Ring(_) | Spot::Done(_) => 2,
                Spot::Device(_) => 1,
                _ => 0,
            };
            let mut live: Vec<_> =
                p.scene().live().filter(|(_, r)| r.rq != 0).map(|(_, r)| (rank(r.spot), r.rq)).collect();
            live.sort_unstable();
            let here = selected.and_then(|s| live.iter().position(|(_, rq)| *rq == s));
            here.and_then(|i| live.get(i + 1)).or_else(|| live.first()).map(|(_, rq)| *rq)
        });
        if let Some(next) = next.flatten() {
            self.select(Some(next));
        }
    }

    /// Selects the slowest of the requests under way and of those that finished lately.
    pub fn select_slowest(&self) {
        let slowest = self.with_player(|p| {
            let (scene, now) = (p.scene(), p.now_ns());
            let all = scene.live().map(|(_, r)| r).chain(scene.finished()).filter(|r| r.rq != 0);
            all.max_by_key(|r| r.letters.c.min(now).saturating_sub(r.letters.q)).map(|r| r.rq)
        });
        match slowest.flatten() {
            Some(slowest) => self.select(Some(slowest)),
            None => self.said.set(String::from("There is no request at this moment.")),
        }
    }

    /// Puts the other policy on the stage, at the same moment.
    pub fn show(&self, side: Side) {
        if side == self.side.get_untracked() {
            return;
        }
        let (now, playing) = (self.heading_ns(), self.playing.get_untracked());
        self.side.set(side);
        self.build(side, now);
        self.with_player_mut(|p| p.set_playing(playing));
        self.moved();
    }

    /// Puts both policies on the stage, or only one.
    pub fn set_both(&self, both: bool) {
        self.both.set(both);
        self.moved();
    }

    /// Looks at so much time around the playhead, ns, or at the last part of the run.
    pub fn set_zoom(&self, width_ns: Option<u64>) {
        self.zoom.set(width_ns);
        self.save_soon();
    }

    /// Light, dark, or as the system wishes.
    pub fn set_theme(&self, theme: Theme) {
        self.theme.set(theme);
        self.moved();
    }
}
