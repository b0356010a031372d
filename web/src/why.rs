//! What a request's latency would have been without one cause: the run is forked just before its bio arrives, the cause
//! is taken away, and the twin runs until the application has its answer. No browser here.

use crate::player::Player;
use crate::scene::{NEVER, Request};
use mqscope_core::Sim;
use mqscope_core::event::{BioId, RqId};
use mqscope_core::kernel::Knobs;

/// Log events that one twin may take.
const EVENTS_MAX: u64 = 120_000;

/// A cause that can be taken away from a run under way.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Nothing is taken away: shows that the fork is faithful.
    Nothing,
    /// These costs of the machine are 0.
    Costs(&'static str, &'static [&'static str]),
    /// Disks take as many commands as come.
    QueueDepth,
    /// The kernel's rules are those of the other policy.
    Rules(Box<Knobs>),
}

/// Costs that belong to one cause.
const COSTS: [Cause; 5] = [
    Cause::Costs("cache lines moved between CPUs at once", &["line_smt", "line_socket", "line_remote"]),
    Cause::Costs(
        "interrupts, softirqs and IPIs cost nothing",
        &["irq", "softirq", "ipi_send", "ipi_receive", "ipi_latency"],
    ),
    Cause::Costs("tasks woke up at once", &["wake", "wake_local", "wake_latency", "context_switch"]),
    Cause::Costs("kworkers ran at once", &["kworker_queue", "kworker_latency"]),
    Cause::Costs("system calls and the application cost nothing", &["syscall", "fio_user", "aio", "uring"]),
];

impl Cause {
    /// What is different in the twin, after "if".
    pub fn words(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing were changed",
            Self::Costs(words, _) => words,
            Self::QueueDepth => "the disk's queue depth had no limit",
            Self::Rules(_) => "the other policy's rules were in force",
        }
    }

    fn take_away(&self, sim: &mut Sim) {
        match self {
            Self::Nothing => {}
            Self::Costs(_, names) => {
                for name in *names {
                    sim.set_cost(name, 0);
                }
            }
            Self::QueueDepth => {
                for queue in 0..sim.topology().queues.len() as u16 {
                    sim.set_queue_depth(queue, u32::from(u16::MAX));
                }
            }
            Self::Rules(knobs) => sim.set_knobs((**knobs).clone()),
        }
    }
}

/// One twin and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Without {
    /// What was taken away.
    pub cause: Cause,
    /// Latency of the I/O in the twin, ns; `None`: it did not come to its end within the budget.
    pub lat_ns: Option<u64>,
}

/// The question about one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The request.
    pub rq: RqId,
    bio: BioId,
    queued_ns: u64,
    causes: Vec<Cause>,
    /// Answers so far, in the order of the causes; the first is the run as it is.
    pub answers: Vec<Without>,
}

impl Question {
    /// Asks about a request; `other` are the rules of the other policy, where they differ.
    pub fn new(request: &Request, other: Option<Knobs>) -> Option<Self> {
        if request.letters.q == NEVER || request.rq == 0 {
            return None;
        }
        let mut causes = vec![Cause::Nothing];
        causes.extend(other.map(|knobs| Cause::Rules(Box::new(knobs))));
        causes.extend(COSTS);
        causes.push(Cause::QueueDepth);
        Some(Self {
            rq: request.rq,
            bio: request.bio,
            queued_ns: request.letters.q,
            causes,
            answers: Vec::new(),
        })
    }

    /// Runs the next twin; false when all have run.
    pub fn step(&mut self, player: &Player) -> bool {
        let Some(cause) = self.causes.get(self.answers.len()).cloned() else { return false };
        let before_ns = self.queued_ns.saturating_sub(1);
        let lat_ns = player.rerun(before_ns, self.bio, EVENTS_MAX, |sim| cause.take_away(sim));
        // Without an answer for the run as it is, none of the others could be compared.
        let hopeless = lat_ns.is_none() && cause == Cause::Nothing;
        self.answers.push(Without { cause, lat_ns });
        if hopeless {
            self.causes.truncate(1);
        }
        self.answers.len() < self.causes.len()
    }

    /// Whether all twins have run.
    pub fn answered(&self) -> bool {
        self.answers.len() == self.causes.len()
    }

    /// The latency as it is, ns.
    pub fn lat_ns(&self) -> Option<u64> {
        self.answers.first().and_then(|a| a.lat_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::cases::case;

    fn player(name: &str, side: usize, ns: u64) -> Player {
        let scenario = case(name).expect("the case").sides().swap_remove(side).1;
        let mut player = Player::new(scenario).expect("it can be played");
        player.seek(ns);
        while player.seeking().is_some() {
            player.tick(0.0);
        }
        player
    }

    #[test]
    fn the_fork_is_faithful_and_what_costs_nothing_is_no_slower_on_an_idle_machine() {
        let player = player("plug-merge", 0, 5_000_000);
        let request = player.scene().finished().next_back().expect("one has finished").clone();
        let mut question = Question::new(&request, None).expect("it can be asked");
        while question.step(&player) {}
        assert!(question.answered() && question.answers.len() == question.causes.len());
        let lat_ns = question.lat_ns().expect("it ended");
        assert!(lat_ns > 0);
        for without in &question.answers {
            assert!(without.lat_ns.is_some_and(|ns| ns <= lat_ns), "{without:?} against {lat_ns}");
        }
        assert!(question.answers.iter().any(|w| w.lat_ns < Some(lat_ns)));
    }

    #[test]
    fn a_contended_request_has_the_latency_that_the_application_saw() {
        let player = player("seed-000", 1, 2_000_000);
        let hash = player.state_hash();
        let (mut asked, mut changed) = (0, 0);
        for request in player.scene().finished().rev().step_by(9).take(6) {
            let mut question = Question::new(request, Some(player.knobs().clone())).expect("it can be asked");
            question.step(&player);
            let lat_ns = question.lat_ns().expect("it ended");
            // From the bio's arrival to the free tag it is a part of that.
            assert!(lat_ns >= request.letters.c - request.letters.q, "{lat_ns}");
            // The rules in force are no other rules.
            question.step(&player);
            assert_eq!(question.answers[1].lat_ns, Some(lat_ns));
            while question.step(&player) {}
            changed += usize::from(question.answers.iter().any(|w| {
                matches!(w.cause, Cause::Costs(_, names) if names.contains(&"line_socket"))
                    && w.lat_ns != Some(lat_ns)
            }));
            asked += 1;
        }
        assert!(asked > 3 && changed > 3, "lines that cost nothing change something: {changed} of {asked}");
        assert_eq!(player.state_hash(), hash, "a question changes nothing");
    }
}
