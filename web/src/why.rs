//! Why something takes so long. Of a request: the run is forked just before its bio arrives; a copy shows what it waits
//! for, and twins show its latency without each of these, one taken away at a time. Of a lock, a CPU or a point of a
//! chart: [`Subject`]. No browser here.

mod culprit;
mod subject;
mod witness;

pub use culprit::{Cause, Culprit, Doing, Met};
pub use subject::{Answer, Link, Search, Slowest, Subject, answer};
pub use witness::Witness;

use crate::player::{Fork, Player, Unseen};
use crate::scene::{NEVER, Request};
use crate::words::span;
use mqscope_core::event::{BioId, Event, Kind, QueueId, RqId, TaskId};
use mqscope_core::kernel::Knobs;

/// Steps of the simulation that one twin may take, and events of the log that the run as it is may.
const STEPS_MAX: u64 = 400_000;
/// Events of the log after which nobody takes note of a bio any more.
const NOTE_MAX: u64 = 100_000;
/// Part of the latency before the bio arrives from which on the run is forked earlier: 1 in so many.
const EARLY: u64 = 50;
/// Culprits that are asked at most, those with most of its time first.
const MET_MAX: usize = 8;

/// How a run ended for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The application took note; its latency, ns.
    Ended(u64),
    /// The run was over first.
    RunOver,
    /// It was still under way after as many steps as a twin may take.
    TooLong,
}

impl Outcome {
    /// The latency, ns.
    pub fn lat_ns(self) -> Option<u64> {
        match self {
            Self::Ended(ns) => Some(ns),
            _ => None,
        }
    }
}

/// A run without one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// What is different in it, after "if".
    pub words: String,
    /// What the request had to do with it: when, how long, behind whom. Empty for a cause that holds in general.
    pub note: String,
    /// What is taken away; `None` where nothing can.
    pub cause: Option<Cause>,
    /// How it ended; `None` until it has run, and where nothing can be taken away.
    pub outcome: Option<Outcome>,
}

impl Twin {
    /// Whether it is about something that the request met.
    pub fn met(&self) -> bool {
        !self.note.is_empty()
    }
}

/// The question about one request, as far as it is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The request.
    pub rq: RqId,
    bio: BioId,
    task: TaskId,
    /// The fork lies behind this moment, ns; `None`: at the start of the run.
    before_ns: Option<u64>,
    /// Nobody in the application waits for it: its latency ends with its bio.
    pub kernel: bool,
    /// How it goes as it is; `None` while that is not known.
    pub as_it_is: Option<Outcome>,
    /// What its latency is made of, in btt's words, ns.
    pub path: Vec<(&'static str, u64)>,
    /// The twins: first what it met, the longest wait first, then general causes.
    pub twins: Vec<Twin>,
    /// Whether all have run.
    pub answered: bool,
}

impl Question {
    /// The latency as it is, ns.
    pub fn lat_ns(&self) -> Option<u64> {
        self.as_it_is.and_then(Outcome::lat_ns)
    }

    /// Where the question stands, in words.
    pub fn words(&self) -> String {
        match self.as_it_is {
            None => String::from(
                "The run as it is goes on from just before this request, to see what it waits for.",
            ),
            Some(Outcome::RunOver) => String::from(
                "The run is over before the application takes note of it, so there is nothing to compare. Ask for an \
                 earlier request, or let the scenario last longer.",
            ),
            Some(Outcome::TooLong) => format!(
                "It is still under way {} events of the log later, which is as far as a twin goes. Its way so far is \
                 above; ask for a request that takes less of the run.",
                crate::words::grouped(STEPS_MAX)
            ),
            Some(Outcome::Ended(ns)) => {
                let parts: Vec<_> =
                    self.path.iter().map(|(name, ns)| format!("{name} {}", span(*ns as f64))).collect();
                let more = match self.answered {
                    true => {
                        " A twin goes its own way from just before the request on, so it may also be slower; what chance \
                         alone does is the row with 1 ns more."
                    }
                    false => " More twins run.",
                };
                let (ns, parts) = (span(ns as f64), parts.join(", "));
                match self.kernel {
                    true => format!(
                        "As it is, the kernel is done with it after {ns}: {parts}. No task waits for it.{more}"
                    ),
                    false => format!("As it is, the application waits {ns}: {parts}.{more}"),
                }
            }
        }
    }
}

/// Which bio it is in a twin, where serial numbers may differ: its task, disk and first sector.
type Key = (TaskId, QueueId, u64);

/// Who finds the answers: the forked run and what runs now.
pub struct Inquiry {
    fork: Fork,
    other: Option<Knobs>,
    key: Option<Key>,
    left: u64,
    /// Latency and time of the end of its bio, and what was left then.
    bio_end: Option<(u64, u64, u64)>,
    at: At,
}

enum At {
    /// On the way to the fork.
    Fork,
    /// The run as it is, and who looks at it.
    AsItIs(Box<(Fork, Witness)>),
    /// A twin, and which bio the request is in it.
    Twin(Box<(Fork, Option<BioId>)>),
}

impl Inquiry {
    /// Asks about a request; `other` are the rules of the other policy, where they differ. `None` for what belongs to no
    /// I/O, such as a flush request.
    pub fn of(player: &Player, request: &Request, other: Option<Knobs>) -> Option<(Question, Self)> {
        if request.letters.q == NEVER || request.rq == 0 || request.bio == 0 {
            return None;
        }
        let question = Question {
            rq: request.rq,
            bio: request.bio,
            task: request.task,
            // At time 0 there is nothing before it.
            before_ns: request.letters.q.checked_sub(1),
            kernel: false,
            as_it_is: None,
            path: Vec::new(),
            twins: Vec::new(),
            answered: false,
        };
        let fork = player.fork_before(question.before_ns.unwrap_or(0))?;
        Some((question, Self { fork, other, key: None, left: STEPS_MAX, bio_end: None, at: At::Fork }))
    }

    /// Goes on by about so many steps of the simulation; false when all is answered. `player` is the one that was asked.
    pub fn step(&mut self, player: &Player, question: &mut Question, steps: u64) -> bool {
        match &mut self.at {
            At::Fork => {
                let arrived = |ns| (0..steps).any(|_| self.fork.next(ns).is_none());
                if question.before_ns.is_none_or(arrived) {
                    let witness = Witness::new(question.rq, question.bio, question.task);
                    self.at = At::AsItIs(Box::new((self.fork.clone(), witness)));
                }
            }
            At::AsItIs(run) => {
                let (run, witness) = &mut **run;
                for _ in 0..steps.min(self.left) {
                    let event = run.next(u64::MAX);
                    self.left -= 1;
                    if let Some(event) = &event {
                        self.key = self.key.or_else(|| key_of(event, question.bio));
                        witness.see(event, run);
                    }
                    let ended = match event.map(|event| (event.kind, event.at_ns)) {
                        Some((Kind::Reap { bio, lat_ns }, at_ns)) if bio == question.bio => {
                            Some((lat_ns, at_ns))
                        }
                        Some((Kind::BioEnd { bio, lat_ns }, at_ns)) if bio == question.bio => {
                            self.bio_end = Some((lat_ns, at_ns, self.left));
                            None
                        }
                        // Nobody has taken note for so long that nobody will.
                        event => {
                            let end = self.bio_end;
                            let end = end.filter(|(.., left)| event.is_none() || left - self.left > NOTE_MAX);
                            question.kernel = end.is_some();
                            end.map(|(lat_ns, at_ns, _)| (lat_ns, at_ns))
                        }
                    };
                    if let Some((lat_ns, at_ns)) = ended {
                        let start_ns = at_ns.saturating_sub(lat_ns);
                        let early = start_ns.checked_sub(1) < question.before_ns;
                        let fork = player.fork_before(start_ns.saturating_sub(1));
                        // What came before the bio's arrival is part of the way too: once more from there.
                        if let (true, Some(fork)) = (early && is_late(question, start_ns, lat_ns), fork) {
                            question.before_ns = start_ns.checked_sub(1);
                            (self.fork, self.key, self.bio_end, self.left) = (fork, None, None, STEPS_MAX);
                            self.at = At::Fork;
                            return true;
                        }
                        question.as_it_is = Some(Outcome::Ended(lat_ns));
                        question.path = witness.path(run, at_ns, lat_ns);
                        let mut met = witness.met(lat_ns);
                        // Where nobody waits for it, what a task did meanwhile is no part of its way.
                        met.retain(|m| !question.kernel || !matches!(m.culprit, Culprit::Task { .. }));
                        question.twins = twins(question, met, run, self.other.take());
                        break;
                    }
                    if event.is_none() {
                        question.as_it_is = Some(Outcome::RunOver);
                        break;
                    }
                }
                if self.left == 0 && question.as_it_is.is_none() {
                    question.as_it_is = Some(Outcome::TooLong);
                }
                if question.as_it_is.is_some() {
                    return self.next_twin(question);
                }
            }
            At::Twin(run) => {
                let (run, bio) = &mut **run;
                let (key, kernel, mut lat_ns) = (self.key, question.kernel, None);
                let steps = steps.min(self.left);
                self.left -= steps;
                let unseen = run.run_unseen(steps, &mut |event| match event.kind {
                    Kind::Queue { bio: arrived, .. } if key.is_some() && key_of(event, arrived) == key => {
                        *bio = Some(arrived);
                        false
                    }
                    Kind::Reap { bio: of, lat_ns: ns } if !kernel && Some(of) == *bio => {
                        lat_ns = Some(ns);
                        true
                    }
                    Kind::BioEnd { bio: of, lat_ns: ns } if kernel && Some(of) == *bio => {
                        lat_ns = Some(ns);
                        true
                    }
                    _ => false,
                });
                let outcome = match (lat_ns, unseen) {
                    (Some(ns), _) => Outcome::Ended(ns),
                    (None, Unseen::Over) => Outcome::RunOver,
                    _ if self.left == 0 => Outcome::TooLong,
                    _ => return true,
                };
                if let Some(twin) = next(question) {
                    twin.outcome = Some(outcome);
                }
                return self.next_twin(question);
            }
        }
        true
    }

    /// Begins the next twin; false when there is none.
    fn next_twin(&mut self, question: &mut Question) -> bool {
        // By its arrival, which may come under another serial number; unless that cannot be told.
        let bio = self.key.is_none().then_some(question.bio);
        while let Some(twin) = next(question) {
            let mut run = self.fork.clone();
            if twin.cause.as_ref().is_some_and(|cause| cause.take_away(run.sim_mut())) {
                self.left = STEPS_MAX;
                self.at = At::Twin(Box::new((run, bio)));
                return true;
            }
            // It says itself that nothing can be taken away.
            twin.cause = None;
        }
        question.answered = true;
        false
    }
}

/// The twin that is to run next, or runs.
fn next(question: &mut Question) -> Option<&mut Twin> {
    question.twins.iter_mut().find(|twin| twin.cause.is_some() && twin.outcome.is_none())
}

/// Whether so much of the latency passed before the fork that it has to lie earlier.
fn is_late(question: &Question, start_ns: u64, lat_ns: u64) -> bool {
    question.before_ns.is_some_and(|before| before.saturating_sub(start_ns) > lat_ns / EARLY)
}

/// The key of a bio if this event is its arrival.
fn key_of(event: &Event, wanted: BioId) -> Option<Key> {
    match event.kind {
        Kind::Queue { bio, queue, extent } if bio == wanted => Some((event.task, queue, extent.sector)),
        _ => None,
    }
}

/// What is asked: the culprits that took most of the time, then what costs in general.
fn twins(question: &Question, met: Vec<Met>, run: &Fork, other: Option<Knobs>) -> Vec<Twin> {
    let mut twins: Vec<Twin> = Vec::new();
    let mut add = |words: String, note: String, cause: Option<Cause>| {
        // What has been asked by name is not asked again.
        if cause.is_none() || twins.iter().all(|twin| twin.cause != cause) {
            twins.push(Twin { words, note, cause, outcome: None });
        }
    };
    for met in met.into_iter().take(MET_MAX) {
        let (words, cause) = met.without(run, question.bio);
        add(words, met.sentence(run), cause);
    }
    if let Some(knobs) = other {
        let rules = Cause::Rules(Box::new(knobs));
        add(
            String::from("the other policy's rules were in force, as far as they can change under way"),
            String::new(),
            Some(rules),
        );
    }
    for (words, cause) in culprit::GENERAL {
        add(String::from(words), String::new(), Some(cause));
    }
    twins
}

#[cfg(test)]
mod tests;
