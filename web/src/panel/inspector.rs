//! One request: where it has been, how long, what it waits for.

use super::control::{Button, act, state, text};
use super::icon::Shape;
use super::why::{Answer, WhatIf};
use crate::scene::{NEVER, NONE, Request, StoryKind, StoryLine};
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::event::Op;

/// What the panel shows, as plain values.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    rq: u32,
    what: String,
    facts: Vec<(&'static str, String)>,
    phases: Vec<(&'static str, u64)>,
    lost: String,
    lines: Vec<StoryLine>,
    over: bool,
}

/// The panel.
#[component]
pub fn Inspector() -> impl IntoView {
    let session = Session::here();
    let shown = Memo::new(move |_| {
        session.beat.track();
        let rq = session.selected.get()?;
        session.with_player(|p| p.scene().request(rq).map(|r| show(r, p.scene(), p.now_ns())))?
    });
    let title = text(move || {
        shown.read().as_ref().map_or_else(|| String::from("Request"), |s| format!("Request {}", s.rq))
    });
    let deselect = move || {
        let on = act(move || session.select(None));
        session
            .selected
            .get()
            .map(|_| view! { <Button class="quiet" on=on shape=Shape::Close name="Deselect".into() /> })
    };
    let away = state(move || shown.with(Option::is_none));
    let empty = text(move || match (shown.with(Option::is_some), session.selected.get()) {
        (true, _) => String::new(),
        (_, Some(_)) => GONE.into(),
        _ => NONE_YET.into(),
    });
    let part = move |of: fn(Shown) -> AnyView| move || shown.get().map(of);
    let steps = text(move || {
        let steps = shown.with(|s| s.as_ref().map_or(0, |s| s.lines.len()));
        format!("Its way, step by step: {steps}")
    });
    view! {
        <section class="panel inspector" id="inspector" aria-labelledby="inspector-title">
            <div class="panel-head">
                <h2 id="inspector-title" tabindex="-1">{title}</h2>
                <span class="buttons">
                    <Button class="quiet" on=act(move || session.select_next()) words=String::from("Next") keys="n" />
                    <Button
                        class="quiet"
                        on=act(move || session.select_slowest())
                        words=String::from("Slowest")
                        keys="l"
                    />
                    {deselect}
                </span>
            </div>
            <Answer />
            <p class="empty">{empty}</p>
            {part(summary)}
            <WhatIf />
            <details class="more way" hidden=away>
                <summary>{steps}</summary>
                {part(way)}
            </details>
        </section>
    }
}

const NONE_YET: &str = "Click one on the stage, or take the slowest, to see where it waits and why.";
const GONE: &str = "This request is not under way here: it has not come yet, or it finished long ago. Move the playhead, \
                    or take the next one.";

/// Share of the bar from which on a phase has its name in it.
const NAMED: f64 = 0.15;

/// What it is, its phases, and its longest step.
fn summary(shown: Shown) -> AnyView {
    let total = shown.phases.iter().map(|(_, ns)| ns).sum::<u64>().max(1) as f64;
    let phases: String = shown
        .phases
        .iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|(name, ns)| {
            let grow = (*ns as f64 / total).max(0.02);
            // A name that would be cut off says nothing.
            let shown = if grow < NAMED { "" } else { *name };
            let class = name.to_lowercase().replace(' ', "-");
            format!("<span class=\"phase {class}\" style=\"flex-grow:{grow:.4}\">{shown}</span>")
        })
        .collect();
    view! {
        <p class="request-what">{shown.what}</p>
        <div class="phases" role="img" aria-label=phase_text(&shown.phases) inner_html=phases></div>
        <p class="longest">{longest(&shown.lines)}</p>
    }
    .into_any()
}

/// Share of its time from which on a wait is worth a sentence beside a longer stretch that is none, 1 in so many.
const WORTH: u64 = 20;

/// Where most of its time went, and its longest wait where that is something else, in words.
fn longest(lines: &[StoryLine]) -> String {
    let total: u64 = lines.iter().map(|l| l.for_ns).sum();
    let say = |name: &str, l: &StoryLine| {
        let percent = l.for_ns as f64 / total.max(1) as f64 * 100.0;
        let of = words::span(total as f64);
        let why = if l.cause.is_empty() { String::new() } else { format!(": {}", l.cause) };
        let span = words::span(l.for_ns as f64);
        format!("{name}: {span} of {of} ({percent:.0}\u{202f}%). {}{why}.", l.what)
    };
    let Some(most) = lines.iter().max_by_key(|l| l.for_ns).filter(|l| l.for_ns > 0) else {
        return String::from("It has just begun.");
    };
    let mut said = say("Longest step", most);
    let waits = lines.iter().filter(|l| l.kind == StoryKind::Wait && l.for_ns > total / WORTH);
    if let Some(wait) = waits.max_by_key(|l| l.for_ns).filter(|_| most.kind != StoryKind::Wait) {
        said += &format!(" {}", say("Longest wait", wait));
    }
    said
}

/// All of its way.
fn way(shown: Shown) -> AnyView {
    let fact = |(term, value): (&'static str, String)| view! { <div><dt>{term}</dt><dd>{value}</dd></div> };
    view! {
        <dl class="facts">{shown.facts.into_iter().map(fact).collect_view()}</dl>
        <p class="lost">{shown.lost}</p>
        <ol class="story" tabindex="0" aria-label="Its way so far">
            {shown.lines.into_iter().map(line).collect_view()}
        </ol>
        <p class="empty">{if shown.over { "It is over." } else { "" }}</p>
    }
    .into_any()
}

fn line(line: StoryLine) -> impl IntoView {
    let class = match line.kind {
        StoryKind::Work => "work",
        StoryKind::Wait => "wait",
        StoryKind::Device => "device",
        StoryKind::End => "end",
    };
    let time = format!("{}{}", words::span(line.for_ns as f64), if line.ongoing { " so far" } else { "" });
    view! {
        <li class=format!("{class}{}", if line.ongoing { " ongoing" } else { "" })>
            <span class="story-letter">{line.letter}</span>
            <span class="story-what">
                {line.what} <span class="story-cause">{line.cause}</span> <code>{line.function}</code>
            </span>
            <span class="story-time">{time}</span>
        </li>
    }
}

fn phase_text(phases: &[(&str, u64)]) -> String {
    let parts: Vec<_> =
        phases.iter().map(|(name, ns)| format!("{name} {}", words::span(*ns as f64))).collect();
    parts.join(", ")
}

fn show(r: &Request, scene: &crate::scene::Scene, now: u64) -> Shown {
    let t = scene.topology();
    let op = match r.extent.op {
        Op::Read => "Read",
        Op::Write => "Write",
        Op::Discard => "Discard",
        Op::Flush => "Flush",
    };
    let disk = t.queues.get(r.queue as usize).map_or("?", |q| q.name.as_str());
    let task = t.tasks.get(r.task as usize).map_or("a task", |t| t.name.as_str());
    let hctx = t.hctxs.get(r.hctx as usize).map(|h| format!("{}", h.index));
    let letters = r.letters;
    let step = |from: u64, to: u64| match (from, to) {
        (NEVER, _) => 0,
        (from, NEVER) => now.saturating_sub(from),
        (from, to) => to.saturating_sub(from),
    };
    // An absent letter passes its time on to the phase that ends with the next one.
    let after_g = if letters.i == NEVER { letters.d } else { letters.i };
    let mut phases = vec![("Q2G", step(letters.q, letters.g))];
    if letters.g != NEVER {
        if letters.i != NEVER {
            phases.push(("G2I", step(letters.g, letters.i)));
            phases.push(("I2D", step(letters.i, letters.d)));
        } else {
            phases.push(("G2D", step(letters.g, after_g)));
        }
    }
    if letters.d != NEVER {
        phases.push(("D2C", step(letters.d, letters.c)));
    }
    if letters.c != NEVER {
        // Until the application takes note.
        let over = matches!(r.spot, crate::scene::Spot::Done(_));
        let end = r.steps().last().filter(|_| over).map_or(now, |s| s.at_ns);
        phases.push(("after C", end.saturating_sub(letters.c)));
    }
    let mut facts = vec![
        ("bio", if r.bios > 1 { format!("{} and {} merged", r.bio, r.bios - 1) } else { r.bio.to_string() }),
        ("submitted on", format!("CPU {}", r.cpu)),
    ];
    if r.tag != NONE {
        facts.push(("tag", r.tag.to_string()));
    }
    if let Some(hctx) = hctx {
        facts.push(("hctx", hctx));
    }
    for (name, ns) in &phases {
        facts.push((name, words::span(*ns as f64)));
    }
    Shown {
        rq: r.rq,
        what: format!(
            "{op} of {} KiB at sector {} of {disk}, for {task}",
            f64::from(r.extent.sectors) / 2.0,
            words::grouped(r.extent.sector)
        ),
        facts,
        phases,
        lost: Some(scene.lost_in_words(r))
            .filter(|lost| !lost.is_empty())
            .map(|lost| format!("CPU time lost on it: {lost}."))
            .unwrap_or_default(),
        lines: scene.story_of(r),
        over: matches!(r.spot, crate::scene::Spot::Done(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: StoryKind, for_ns: u64, what: &str, cause: &str) -> StoryLine {
        let (what, cause) = (what.into(), cause.into());
        StoryLine { at_ns: 0, for_ns, ongoing: false, kind, what, function: "", cause, letter: "" }
    }

    #[test]
    fn most_of_a_request_s_time_is_named_and_a_long_wait_beside_it() {
        let device = line(StoryKind::Device, 700, "On die 3", "");
        let short = line(StoryKind::Wait, 2, "In the plug", "");
        let long = line(StoryKind::Wait, 298, "In the elevator", "mq-deadline keeps it");
        let said = longest(&[short.clone(), device.clone()]);
        assert_eq!(
            said,
            format!(
                "Longest step: {} of {} (100\u{202f}%). On die 3.",
                words::span(700.0),
                words::span(702.0)
            )
        );
        let said = longest(&[device, short.clone(), long.clone()]);
        assert!(said.contains("(70\u{202f}%). On die 3. Longest wait: "), "{said}");
        assert!(said.ends_with("(30\u{202f}%). In the elevator: mq-deadline keeps it."), "{said}");
        assert!(!longest(&[short, long]).contains("Longest wait"), "a wait is named once");
        assert_eq!(longest(&[]), "It has just begun.");
    }
}
