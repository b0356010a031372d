//! Why a lock is held, a CPU idles or a point of a chart is where it is: answers in words about the moment at the
//! playhead, with ways to the requests behind it. A request has its own answer, measured by twins ([`super::Question`]).

use crate::now::{busy, of_them};
use crate::player::{Fork, Player};
use crate::scene::{Did, NONE, NONE16, Request, Scene, Spot, Standing};
use crate::words::{grouped, moment, span};
use mqscope_core::event::{BioId, CpuId, Kind, ObjectId, RqId, Sleep, TaskId};
use mqscope_core::topology::ObjectKind;

/// CPUs, tasks and waiters that an answer goes through; of more it says how many.
const NAMED_MAX: usize = 4;
/// Events of the log in which the slowest I/O of a point is looked for, the way to it included.
const SEARCH_MAX: u64 = 4_000_000;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // a field is named by its type, or by the words above it
pub enum Subject {
    /// A request.
    Request(RqId),
    /// A lock or line.
    Object(ObjectId),
    /// The one among all of this one's class that is fought for most.
    Class(ObjectId),
    /// A CPU: what it is at, or what it idles for.
    Cpu(CpuId),
    /// A point of a chart: the I/Os that ended in this time, ns.
    Point { from_ns: u64, to_ns: u64, slowest: Slowest },
}

/// The slowest I/O of a point, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // a field is named by its type, or by the words above it
pub enum Slowest {
    /// It is looked for.
    Sought,
    /// Nothing ended there.
    Nothing,
    /// The point is too far away, or holds too much.
    TooFar,
    /// The one of `ios` that took longest: its request (0: none, the page cache served it), latency and end.
    Found { rq: RqId, lat_ns: u64, at_ns: u64, ios: u32 },
}

/// Where a line of an answer leads.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // a field is named by its type, or by the words above it
pub enum Link {
    /// To a request.
    Request(RqId),
    /// To the moment behind an event of this number.
    Moment { at_ns: u64, event: u64 },
}

/// An answer in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub title: String,
    /// Sentences, each with where it leads.
    pub lines: Vec<(String, Option<Link>)>,
}

impl Answer {
    fn say(&mut self, text: String) {
        self.lines.push((text, None));
    }

    fn lead(&mut self, text: String, rq: Option<RqId>) {
        self.lines.push((text, rq.filter(|rq| *rq != 0).map(Link::Request)));
    }
}

/// The answer at the playhead. A request's is elsewhere.
pub fn answer(player: &Player, subject: Subject) -> Answer {
    match subject {
        Subject::Request(_) => Answer::default(),
        Subject::Object(id) => object(player, id),
        Subject::Class(id) => object(player, worst_of_class(player.scene(), id)),
        Subject::Cpu(cpu) => of_cpu(player, cpu),
        Subject::Point { from_ns, to_ns, slowest } => point(from_ns, to_ns, slowest),
    }
}

/// The object of a class that most CPUs wait for now; where none does, the one that cost most of late, then ever.
fn worst_of_class(scene: &Scene, id: ObjectId) -> ObjectId {
    let objects = &scene.topology().objects;
    let Some(class) = objects.get(id as usize).map(|o| &o.class) else { return id };
    let (now, half) = (scene.now_ns(), scene.half_ns());
    let rank = |id: &usize| {
        scene.objects().get(*id).map(|o| (o.waiting(), (o.hot(now, half) * 1e6) as u64, o.lost_ns, o.count))
    };
    let same = (0..objects.len()).filter(|i| objects[*i].class == *class);
    same.max_by_key(rank).map_or(id, |id| id as ObjectId)
}

fn object(player: &Player, id: ObjectId) -> Answer {
    let (scene, now) = (player.scene(), player.now_ns());
    let t = scene.topology();
    let (Some(named), Some(o)) = (t.objects.get(id as usize), scene.objects().get(id as usize)) else {
        return Answer::default();
    };
    let lock = named.kind == ObjectKind::Lock;
    let since = |ns: u64| span(now.saturating_sub(ns) as f64);
    let is_in = |cpu: CpuId| player.function(cpu).map(|f| format!(", in {f}")).unwrap_or_default();
    let mut answer = Answer { title: format!("Why {}?", named.name), lines: Vec::new() };
    let members = t.objects.iter().filter(|o| o.class == named.class).count();
    let of_many = if members > 1 { format!(" It is one of {members}.") } else { String::new() };
    match o.holder {
        Some((cpu, at)) => answer.lead(
            format!("CPU {cpu} has held it for {}{}.{of_many}", since(at), is_in(cpu)),
            scene.in_hands(cpu),
        ),
        None if o.owner == NONE16 => answer.say(format!("Nobody has touched it yet.{of_many}")),
        None if lock => {
            answer.say(format!(
                "Nobody holds it now; its line is at CPU {}, which had it last.{of_many}",
                o.owner
            ));
        }
        None => answer.say(format!("Its line is at CPU {}, which wrote it last.{of_many}", o.owner)),
    }
    for cpu in o.waiters().iter().take(NAMED_MAX) {
        let spin = scene.cpus().get(*cpu as usize).and_then(|c| c.spin);
        let spun = spin.map(|s| format!(" for {}", since(s.since_ns))).unwrap_or_default();
        answer.lead(format!("CPU {cpu} spins for it{spun}{}.", is_in(*cpu)), scene.in_hands(*cpu));
    }
    let more = usize::from(o.waiting()).saturating_sub(NAMED_MAX);
    if more > 0 {
        answer.say(format!("{more} more CPUs spin for it."));
    }
    if o.count > 0 {
        let cost = match lock {
            true => format!(
                "So far it was taken {}. Its line moved between CPUs {} times.",
                of_them(o.count, o.contended),
                grouped(o.transfers)
            ),
            // An access by the CPU that has the line already costs nothing that the log would tell.
            false => format!("So far it was fetched from another CPU {}.", of_them(o.transfers, o.contended)),
        };
        answer.say(format!("{cost} All of this cost {} of CPU time.", span(o.lost_ns as f64)));
    }
    if o.waiting() == 0 {
        queued_before(player, id, &mut answer);
    }
    let victims =
        scene.live().map(|(_, r)| r).chain(scene.finished()).filter(|r| r.rq != 0 && r.lost.worst == id);
    if let Some(r) = victims.max_by_key(|r| r.lost.worst_ns) {
        let lost = span(r.lost.worst_ns as f64);
        answer.lead(
            format!("Of the requests that are still known it kept request {} longest: {lost} at once.", r.rq),
            Some(r.rq),
        );
    }
    answer
}

/// When CPUs last queued for a lock, among the events that are kept.
fn queued_before(player: &Player, id: ObjectId, answer: &mut Answer) {
    let numbered = player.recent_events().rev().zip((0..=player.position()).rev());
    let last = { numbered }.find_map(|(e, event)| match e.kind {
        Kind::LockWait { lock, holder, .. } if lock == id => Some((e.at_ns, event, e.cpu, holder)),
        _ => None,
    });
    if let Some((at_ns, event, cpu, holder)) = last {
        let text =
            format!("CPU {cpu} was the last to wait for it, behind CPU {holder}, at {}.", moment(at_ns));
        answer.lines.push((text, Some(Link::Moment { at_ns, event })));
    }
}

fn of_cpu(player: &Player, cpu: CpuId) -> Answer {
    let (scene, now) = (player.scene(), player.now_ns());
    let t = scene.topology();
    let Some(state) = scene.cpus().get(cpu as usize) else { return Answer::default() };
    let since = |ns: u64| span(now.saturating_sub(ns) as f64);
    let is_in = player.function(cpu).map(|f| format!(", in {f}")).unwrap_or_default();
    let mut answer = Answer { title: format!("Why is CPU {cpu} where it is?"), lines: Vec::new() };
    if let Some(spin) = state.spin {
        let name = t.objects.get(spin.lock as usize).map_or("a lock", |o| o.name.as_str());
        let holder = scene.objects().get(spin.lock as usize).and_then(|o| o.holder);
        let holder = holder.map_or(spin.holder, |(cpu, _)| cpu);
        answer.title = format!("Why does CPU {cpu} spin?");
        answer.lead(
            format!("It has spun for {name} for {}{is_in}.", since(spin.since_ns)),
            scene.in_hands(cpu),
        );
        let function = player.function(holder).map(|f| format!(", which is in {f}")).unwrap_or_default();
        answer.lead(format!("CPU {holder} holds the lock{function}."), scene.in_hands(holder));
        return answer;
    }
    if let Some(frame) = state.frame() {
        let task = t.tasks.get(frame.task as usize).map(|t| t.name.as_str());
        let what = match task {
            Some(name) => format!("run {name}"),
            None => format!("been in a {:?}", frame.context).to_lowercase(),
        };
        answer.title = format!("Why is CPU {cpu} busy?");
        answer.lead(format!("It has {what} for {}{is_in}.", since(frame.since_ns)), scene.in_hands(cpu));
        if frame.spun_ns > 0 {
            let work = now.saturating_sub(frame.since_ns).saturating_sub(frame.spun_ns);
            let (spun, work) = (span(frame.spun_ns as f64), span(work as f64));
            answer.say(format!("{spun} of that it spun for locks, {work} it worked."));
        }
    } else {
        answer.title = format!("Why is CPU {cpu} idle?");
        let ended = |e: &&mqscope_core::event::Event| e.cpu == cpu && e.kind == Kind::ContextEnd;
        let idle = player.recent_events().rev().find(ended).map(|e| format!(" for {}", since(e.at_ns)));
        answer.say(format!(
            "It has had nothing to do{}; of late it was {}.",
            idle.unwrap_or_default(),
            busy(scene, state)
        ));
    }
    let here: Vec<_> = (0..).zip(scene.tasks()).filter(|(_, task)| task.cpu == cpu).collect();
    let asleep: Vec<_> = here.iter().filter_map(|(id, task)| Some((*id, task.sleep?))).collect();
    for (task, (why, at)) in asleep.iter().take(NAMED_MAX) {
        let (reason, rq) = sleeps_for(player, *task, *why);
        answer.lead(format!("{} has slept for {}: {reason}", scene.task_name(*task), since(*at)), rq);
    }
    if asleep.len() > NAMED_MAX {
        answer.say(format!("{} more tasks of this CPU sleep.", asleep.len() - NAMED_MAX));
    }
    if asleep.is_empty() && !here.is_empty() && state.frame().is_none() {
        answer.say(String::from("Its task is not asleep: it is about to be switched in."));
    }
    if here.is_empty() {
        answer.say(String::from(
            "No task of the workload runs here, only interrupts and kworkers, when they come.",
        ));
    }
    answer
}

/// What a task sleeps for, and the request that it has to wait for.
fn sleeps_for(player: &Player, task: TaskId, why: Sleep) -> (String, Option<RqId>) {
    let scene = player.scene();
    let live = || scene.live().map(|(_, r)| r);
    let told = |r: &Request| format!("request {}. {}.", r.rq, scene.now_in_words(r));
    let oldest = |of: &dyn Fn(&Request) -> bool| {
        live().filter(|r| r.rq != 0 && of(r)).min_by_key(|r| r.letters.q).map(|r| (told(r), r.rq))
    };
    let waits_at = live().find_map(|r| match r.spot {
        Spot::TagWait(hctx) if r.task == task => Some(hctx),
        _ => None,
    });
    match why {
        Sleep::Tag | Sleep::Request => {
            let holder =
                waits_at.and_then(|hctx| oldest(&|r| r.hctx == hctx && r.tag != NONE && !r.tag_freed));
            let hctx = waits_at.map_or_else(|| String::from("its hctx"), |h| scene.hctx_name(h));
            let what = if why == Sleep::Tag { "tag" } else { "request of the pool" };
            match holder {
                Some((words, rq)) => {
                    (format!("no {what} of {hctx} is free. Of those who hold one, {words}"), Some(rq))
                }
                None => (format!("no {what} of {hctx} is free."), None),
            }
        }
        Sleep::Io | Sleep::Page => match oldest(&|r| r.task == task && !matches!(r.spot, Spot::Ring(_))) {
            Some((words, rq)) => {
                let open = scene.tasks().get(task as usize).map_or(0, |t| t.in_flight);
                (format!("it has {open} under way; the oldest is {words}"), Some(rq))
            }
            None => {
                let done = scene.standing_len(Standing::Ring(task));
                (format!("{done} of its requests are complete, and it is about to be woken."), None)
            }
        },
        Sleep::Wbt => match oldest(&|r| r.is_write() && matches!(r.spot, Spot::Device(_))) {
            Some((words, rq)) => (
                format!("wbt lets no more asynchronous writes be in flight; the oldest is {words}"),
                Some(rq),
            ),
            None => (String::from("wbt lets no more asynchronous writes be in flight."), None),
        },
        Sleep::FileLock => (String::from("another task holds the lock of its file."), None),
        Sleep::Log => (String::from("its commit is not in the log of the file system yet."), None),
        Sleep::Dirty => {
            (String::from("too much is dirty, so writers are held to the rate of the disk."), None)
        }
        Sleep::Flusher => (String::from("nothing has to be written back."), None),
        Sleep::Timer => {
            (String::from("its job says so (thinktime, a rate or a start delay); a timer ends it."), None)
        }
        Sleep::Done => (String::from("it waits for other jobs, or has done its work."), None),
    }
}

fn point(from_ns: u64, to_ns: u64, slowest: Slowest) -> Answer {
    let between = format!("between {} and {}", span(from_ns as f64), span(to_ns as f64));
    let mut answer = Answer { title: format!("Why the point {between}?"), lines: Vec::new() };
    match slowest {
        Slowest::Sought => answer.say(String::from("The slowest I/O that ended there is looked for.")),
        Slowest::Nothing => answer.say(String::from("No I/O ended there under this policy.")),
        Slowest::TooFar => answer.say(format!(
            "The slowest I/O was not found within {} events of the log. Play or seek to that time first.",
            grouped(SEARCH_MAX)
        )),
        Slowest::Found { rq, lat_ns, at_ns, ios } => {
            let of = match ios {
                1 => String::from("The one I/O that ended there"),
                n => format!("Of {} I/Os that ended there the slowest", grouped(n.into())),
            };
            let who = match rq {
                0 => String::from("It never was a request: the page cache served it."),
                rq => format!("It was request {rq}, which is selected and asked below."),
            };
            answer
                .lead(format!("{of} took {}, until {}. {who}", span(lat_ns as f64), moment(at_ns)), Some(rq));
        }
    }
    answer
}

/// Looks for the slowest I/O that ended in some time.
pub struct Search {
    fork: Fork,
    left: u64,
}

impl Search {
    /// In this run, for the I/Os that ended from `from_ns` on.
    pub fn new(player: &Player, from_ns: u64) -> Option<Self> {
        Some(Self { fork: player.fork_before(from_ns)?, left: SEARCH_MAX })
    }

    /// Goes on by at most so many events of the log; false when the slowest is known.
    pub fn step(&mut self, point: &mut Subject, events: u64) -> bool {
        let Subject::Point { from_ns, to_ns, slowest } = point else { return false };
        for _ in 0..events.min(self.left) {
            // The end of the time itself belongs to the next point.
            let Some(event) = self.fork.next(to_ns.saturating_sub(1)) else {
                if *slowest == Slowest::Sought {
                    *slowest = Slowest::Nothing;
                }
                return false;
            };
            self.left -= 1;
            let Kind::Reap { bio, lat_ns } = event.kind else { continue };
            if event.at_ns < *from_ns {
                continue;
            }
            let (ios, longest) = match *slowest {
                Slowest::Found { ios, lat_ns, .. } => (ios, Some(lat_ns)),
                _ => (0, None),
            };
            if longest.is_none_or(|longest| lat_ns > longest) {
                let rq = taken_note(self.fork.scene(), bio);
                *slowest = Slowest::Found { rq, lat_ns, at_ns: event.at_ns, ios: ios + 1 };
            } else if let Slowest::Found { ios, .. } = slowest {
                *ios += 1;
            }
        }
        if self.left == 0 {
            *slowest = Slowest::TooFar;
        }
        self.left > 0
    }
}

/// The request of a bio of which the application has just taken note; 0 if it had none.
fn taken_note(scene: &Scene, bio: BioId) -> RqId {
    let of = |r: &&Request| r.steps().last().is_some_and(|s| s.did == Did::Reap && s.arg == bio);
    let live = scene.live().map(|(_, r)| r);
    scene.finished().rev().find(of).or_else(|| { live }.find(of)).map_or(0, |r| r.rq)
}
