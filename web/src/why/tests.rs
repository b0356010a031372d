use super::*;
use mqscope_core::cases::{case, cases};

fn player(name: &str, side: usize, ns: u64) -> Player {
    let scenario = case(name).expect("the case").sides().swap_remove(side).1;
    let mut player = Player::new(scenario).expect("it can be played");
    player.seek(ns);
    while player.seeking().is_some() {
        player.tick(0.0);
    }
    player
}

fn ask(player: &Player, request: &Request, other: Option<Knobs>) -> Question {
    let (mut question, mut inquiry) = Inquiry::of(player, request, other).expect("it can be asked");
    while inquiry.step(player, &mut question, 5_000) {}
    assert!(question.answered || question.lat_ns().is_none());
    question
}

/// Latency of the twin whose words hold this.
fn without(question: &Question, words: &str) -> Option<u64> {
    question.twins.iter().find(|t| t.words.contains(words)).and_then(|t| t.outcome?.lat_ns())
}

#[test]
fn the_fork_is_faithful_and_what_costs_nothing_is_no_slower_on_an_idle_machine() {
    let player = player("plug-merge", 0, 5_000_000);
    let request = player.scene().finished().next_back().expect("one has finished").clone();
    let question = ask(&player, &request, None);
    let lat_ns = question.lat_ns().expect("it ended");
    assert_eq!(question.path.iter().map(|(_, ns)| ns).sum::<u64>(), lat_ns, "{:?}", question.path);
    let answers: Vec<_> = question.twins.iter().filter_map(|t| t.outcome).collect();
    assert!(answers.len() >= culprit::GENERAL.len());
    for outcome in &answers {
        assert!(outcome.lat_ns().is_some_and(|ns| ns <= lat_ns), "{outcome:?} against {lat_ns}");
    }
    assert!(answers.iter().any(|o| o.lat_ns() < Some(lat_ns)));
}

#[test]
fn a_contended_request_has_the_latency_that_the_application_saw() {
    let player = player("seed-000", 1, 2_000_000);
    let hash = player.state_hash();
    let (mut asked, mut faster) = (0, 0);
    for request in player.scene().finished().rev().step_by(17).take(4) {
        let question = ask(&player, request, Some(player.knobs().clone()));
        let lat_ns = question.lat_ns().expect("it ended");
        // From the bio's arrival to the free tag it is a part of that.
        assert!(lat_ns >= request.letters.c - request.letters.q, "{lat_ns}");
        // The rules in force are no other rules.
        assert_eq!(without(&question, "the other policy's rules"), Some(lat_ns));
        let met: Vec<_> = question.twins.iter().filter(|t| t.met()).collect();
        assert!(!met.is_empty() && met.len() <= MET_MAX);
        faster += met.iter().filter(|t| t.outcome.and_then(Outcome::lat_ns) < Some(lat_ns)).count();
        asked += 1;
    }
    assert!(asked > 2 && faster > asked, "{asked} asked, {faster} faster");
    assert_eq!(player.state_hash(), hash, "a question changes nothing");
}

#[test]
fn a_lock_that_a_request_spun_for_is_named_with_its_holder_and_can_be_taken_away() {
    let player = player("deadline-lock", 0, 3_000_000);
    let spun = player.scene().finished().filter(|r| r.bio != 0).max_by_key(|r| r.lost.spin_ns);
    let question = ask(&player, spun.expect("one has finished"), None);
    let lat_ns = question.lat_ns().expect("it ended");
    let worst = question.twins.iter().find(|t| t.note.contains("spun")).expect("it spun");
    assert!(worst.words.contains("dd->lock") && worst.note.contains("behind CPU"), "{worst:?}");
    assert!(worst.outcome.and_then(Outcome::lat_ns).is_some_and(|ns| ns < lat_ns / 2), "{lat_ns}: {worst:?}");
}

#[test]
fn a_request_that_no_tag_was_free_for_has_one_at_once_in_the_twin() {
    let mut found = 0;
    for case in cases() {
        for (label, scenario) in case.sides() {
            let mut player = Player::new(scenario).expect("it can be played");
            player.explore(60_000);
            player.seek(player.timeline().explored_ns());
            let slept = |r: &&Request| r.steps().iter().any(|s| s.did == crate::scene::Did::TagWait);
            let Some(request) = player.scene().finished().rev().find(slept).cloned() else { continue };
            let question = ask(&player, &request, None);
            let Some(lat_ns) = question.lat_ns() else { continue };
            let twin = question.twins.iter().find(|t| t.words.contains("had always had a free tag"));
            let Some(twin) = twin else { continue };
            assert!(twin.note.contains("tags were in use"), "{} {label}: {}", case.name, twin.note);
            let free = twin.outcome.and_then(Outcome::lat_ns).expect("it ends");
            found += usize::from(free < lat_ns);
        }
        if found > 1 {
            return;
        }
    }
    panic!("{found} cases with requests that sleep for a tag and are faster without");
}

#[test]
fn a_wait_for_the_lock_of_a_file_lies_before_q_and_can_be_taken_away() {
    let player = player("seed-002", 0, 3_000_000);
    let asked = player.scene().finished().filter(|r| r.bio != 0).take(40).map(|r| ask(&player, r, None));
    let waited = asked.filter(|q| q.twins.iter().any(|t| t.note.contains("the lock of the file")));
    let question = { waited }.next().expect("a task slept for the lock of its file");
    let lat_ns = question.lat_ns().expect("it ended");
    let free = without(&question, "had been free for each task").expect("it ends");
    assert!(free < lat_ns, "{free} against {lat_ns}");
    assert!(
        question.path.iter().any(|(name, ns)| *name == "before Q" && *ns > lat_ns / 50),
        "{:?}",
        question.path
    );
}

#[test]
fn every_case_can_be_asked_and_no_twin_breaks() {
    for case in cases() {
        for (label, scenario) in case.sides() {
            let mut player = Player::new(scenario).expect("it can be played");
            player.explore(8_000);
            player.seek(player.timeline().explored_ns());
            let worst = |r: &&Request| r.letters.c.saturating_sub(r.letters.q);
            let Some(request) = player.scene().finished().filter(|r| r.bio != 0).max_by_key(worst).cloned()
            else {
                continue;
            };
            let question = ask(&player, &request, None);
            assert!(!question.words().is_empty(), "{} {label}", case.name);
            for twin in question.twins.iter().filter(|t| t.met()) {
                let text = format!("{} {}", twin.words, twin.note);
                assert!(!text.contains("65535") && !text.contains("4294967295"), "{text}");
            }
        }
    }
}

#[test]
fn a_run_that_is_over_first_says_so_and_what_to_do() {
    let player = player("seed-000", 1, u64::MAX);
    let request =
        player.scene().live().map(|(_, r)| r).find(|r| r.rq != 0).expect("one is under way").clone();
    let question = ask(&player, &request, None);
    assert_eq!(question.as_it_is, Some(Outcome::RunOver));
    assert!(
        question.twins.is_empty() && question.words().contains("earlier request"),
        "{}",
        question.words()
    );
}

#[test]
fn a_lock_says_who_holds_it_who_waits_and_which_requests() {
    let mut player = player("seed-000", 1, 1_000_000);
    let queued = |p: &Player| p.scene().objects().iter().position(|o| o.waiting() > 1 && o.holder.is_some());
    let id = (0..20_000)
        .find_map(|_| {
            player.step_event();
            queued(&player)
        })
        .expect("CPUs queue for a lock") as u32;
    let said = answer(&player, Subject::Object(id));
    let name = &player.topology().objects[id as usize].name;
    assert!(said.title.contains(name.as_str()));
    let text: Vec<_> = said.lines.iter().map(|(text, _)| text.as_str()).collect();
    let (holder, _) = player.scene().objects()[id as usize].holder.expect("held");
    assert!(text[0].starts_with(&format!("CPU {holder} has held it for")), "{text:?}");
    let spins = text.iter().filter(|t| t.contains("spins for it")).count();
    assert!(
        spins > 1 && said.lines.iter().any(|(_, link)| matches!(link, Some(Link::Request(_)))),
        "{text:?}"
    );
    // Asked by its class, the one that CPUs queue for answers.
    let other = player
        .topology()
        .objects
        .iter()
        .position(|o| o.class == player.topology().objects[id as usize].class);
    let by_class = answer(&player, Subject::Class(other.expect("it is there") as u32));
    assert!(by_class.lines.iter().any(|(text, _)| text.contains("spins for it")));
}

#[test]
fn a_lock_that_is_free_leads_to_when_it_was_not() {
    let mut player = player("seed-000", 1, 1_000_000);
    let wait = |p: &Player| match p.recent_events().next_back()?.kind {
        Kind::LockWait { lock, .. } => Some(lock),
        _ => None,
    };
    let id = (0..20_000).find_map(|_| {
        player.step_event();
        wait(&player)
    });
    let id = id.expect("a CPU waits");
    while player.scene().objects()[id as usize].waiting() > 0 {
        player.step_event();
    }
    let said = answer(&player, Subject::Object(id));
    let link = said.lines.iter().find_map(|(_, link)| match link {
        Some(Link::Moment { at_ns, event }) => Some((*at_ns, *event)),
        _ => None,
    });
    let (at_ns, event) = link.expect("it leads there");
    player.go_to_event(event);
    assert_eq!((player.now_ns(), wait(&player)), (at_ns, Some(id)));
}

#[test]
fn an_idle_cpu_says_what_its_task_sleeps_for_and_leads_to_that_request() {
    let player = player("nvme-doorbell", 0, 1_000_000);
    let scene = player.scene();
    let asleep = scene.tasks().iter().find(|t| {
        matches!(t.sleep, Some((mqscope_core::event::Sleep::Io, _)))
            && scene.cpus()[t.cpu as usize].frame().is_none()
    });
    let cpu = asleep.expect("a task sleeps for I/O on an idle CPU").cpu;
    let said = answer(&player, Subject::Cpu(cpu));
    assert_eq!(said.title, format!("Why is CPU {cpu} idle?"));
    let linked = said.lines.iter().find_map(|(text, link)| match link {
        Some(Link::Request(rq)) => Some((text.clone(), *rq)),
        _ => None,
    });
    let (text, rq) = linked.expect("it leads to a request");
    assert!(text.contains("under way; the oldest is"), "{text}");
    assert!(scene.request(rq).is_some_and(|r| r.complete_cpu == crate::scene::NONE16), "it is not complete");
    let nobody = scene.cpus().len() as u16 - 1;
    assert!(answer(&player, Subject::Cpu(nobody)).lines.iter().any(|(t, _)| t.contains("No task")));
}

#[test]
fn time_that_a_cpu_spun_is_told_apart_from_its_work() {
    let mut player = player("seed-000", 1, 1_000_000);
    let spun = |p: &Player| {
        let scene = p.scene();
        let spun = |c: &crate::scene::Cpu| c.spin.is_none() && c.frame().is_some_and(|f| f.spun_ns > 0);
        scene.cpus().iter().position(spun)
    };
    let cpu = (0..20_000).find_map(|_| {
        player.step_event();
        spun(&player)
    });
    let cpu = cpu.expect("a CPU spun and goes on") as u16;
    let scene = player.scene();
    let state = &scene.cpus()[usize::from(cpu)];
    let frame = *state.frame().expect("it runs");
    // The simulator's own account of what that context spun for, by the events that are kept.
    let since = |e: &&mqscope_core::event::Event| e.cpu == cpu && e.at_ns >= frame.since_ns;
    let waits = player.recent_events().filter(since).map(|e| match e.kind {
        Kind::LockAcquire { wait_ns, .. } => wait_ns,
        _ => 0,
    });
    assert_eq!(waits.sum::<u64>(), frame.spun_ns);
    let said = answer(&player, Subject::Cpu(cpu));
    let work = crate::words::span((player.now_ns() - frame.since_ns - frame.spun_ns) as f64);
    let apart =
        format!("{} of that it spun for locks, {work} it worked.", crate::words::span(frame.spun_ns as f64));
    assert!(said.lines.iter().any(|(text, _)| *text == apart), "{said:?}");
    let (load, spin) =
        (state.load(player.now_ns(), scene.half_ns()), state.spin_load(player.now_ns(), scene.half_ns()));
    assert!(spin > 0.0 && spin <= load, "{spin} of {load}");
    assert!(crate::now::busy(scene, state).contains("of it spinning"));
}

#[test]
fn a_point_of_a_chart_finds_the_slowest_io_that_ended_there() {
    let mut player = player("seed-000", 0, 0);
    let (from_ns, to_ns) = (1_000_000, 1_400_000);
    let mut point = Subject::Point { from_ns, to_ns, slowest: Slowest::Sought };
    let mut search = Search::new(&player, from_ns).expect("it can be looked for");
    while search.step(&mut point, 1_000) {}
    let Subject::Point { slowest: Slowest::Found { rq, lat_ns, at_ns, ios }, .. } = point else {
        panic!("{point:?}");
    };
    assert!((from_ns..to_ns).contains(&at_ns) && ios > 100);
    player.seek(at_ns);
    let request = player.scene().request(rq).expect("it has just ended").clone();
    assert_eq!(ask(&player, &request, None).lat_ns(), Some(lat_ns));
    assert!(answer(&player, point).lines[0].0.contains(&format!("request {rq}")));
    let mut empty = Subject::Point { from_ns: 0, to_ns: 1, slowest: Slowest::Sought };
    let mut search = Search::new(&player, 0).expect("it can be looked for");
    while search.step(&mut empty, 1_000) {}
    assert!(matches!(empty, Subject::Point { slowest: Slowest::Nothing, .. }));
}

#[test]
fn a_request_that_bfq_kept_goes_at_once_in_the_twin_where_it_comes_first() {
    let player = player("seed-001", 0, 20_000_000);
    let kept = player
        .scene()
        .finished()
        .filter(|r| r.bio != 0)
        .max_by_key(|r| r.letters.d.saturating_sub(r.letters.i));
    let question = ask(&player, kept.expect("one has finished"), None);
    let lat_ns = question.lat_ns().expect("it ended");
    let first = without(&question, "bfq had let it go before all others").expect("it ends");
    assert!(first * 10 < lat_ns, "{first} against {lat_ns}");
}

#[test]
fn a_request_that_waited_for_a_die_names_whom_that_served_and_is_faster_on_a_disk_at_rest() {
    let player = player("nvme-doorbell", 0, 1_000_000);
    let slowest =
        player.scene().finished().max_by_key(|r| r.letters.c.saturating_sub(r.letters.d)).expect("one");
    let question = ask(&player, slowest, None);
    let device = question.twins.iter().find(|t| t.words.contains("at rest")).expect("it shares the device");
    assert!(
        device.note.contains("for flash die") && device.note.contains("which served request"),
        "{}",
        device.note
    );
    let (alone, lat_ns) = (device.outcome.and_then(Outcome::lat_ns), question.lat_ns().expect("it ended"));
    assert!(alone.is_some_and(|ns| ns < lat_ns), "{alone:?} against {lat_ns}");
}
