//! The inside of a scheduler at the playhead: what goes next and why, its state, its lists and trees.

use super::control::{Choice, act, in_view, state, text};
use super::table::{Item, List, key};
use crate::player::Player;
use crate::session::{Reader, Session};
use leptos::html;
use leptos::prelude::*;
use mqscope_core::scenario::Path;
use mqscope_core::sched::{self, Group, View};

/// Requests shown of one list; what matters is at its head and around the next one.
const ITEMS_MAX: usize = 24;

/// The list of this name; where several have one name, the one of this number.
fn group_of<'a>(view: &'a View, name: &str, nth: usize) -> Option<&'a Group> {
    view.groups.iter().filter(|g| g.name == name).nth(nth)
}

/// The first requests of a list; or, where the next one stands further back, those around it: (how many are left out
/// before, the range).
fn window(group: &Group, next: u32) -> std::ops::Range<usize> {
    let at = group.items.iter().position(|i| i.rq == next && next != 0).unwrap_or(0);
    let from = at.saturating_sub(ITEMS_MAX / 2).min(group.items.len().saturating_sub(ITEMS_MAX));
    from..(from + ITEMS_MAX).min(group.items.len())
}

/// The panel.
#[component]
pub fn Elevator() -> impl IntoView {
    let session = Session::here();
    let section: NodeRef<html::Section> = NodeRef::new();
    let shown = in_view(section, Reader::Scheduler);
    // Disks of the run that have a scheduler: number, name, scheduler.
    let disks = Memo::new(move |_| {
        session.beat.track();
        session.side.track();
        let all = session.with_player(|p| {
            let queues = p.topology().queues.iter().enumerate();
            let with = queues.filter(|(_, q)| q.scheduler != "none");
            with.map(|(i, q)| (i as u16, q.name.clone(), q.scheduler.clone())).collect::<Vec<_>>()
        });
        all.unwrap_or_default()
    });
    let chosen = RwSignal::new(0u16);
    let disk = Memo::new(move |_| {
        disks.with(|d| d.iter().find(|(i, ..)| *i == chosen.get()).or_else(|| d.first()).map(|(i, ..)| *i))
    });
    // Nobody looks: nothing is asked. With the view goes the event after which it was asked for.
    let asked = Memo::new(move |last: Option<&(u64, View)>| {
        if !shown.get() {
            return last.cloned().unwrap_or_default();
        }
        session.beat.track();
        let queue = disk.get();
        let look = |p: &Player| match last.filter(|last| !p.at_rest() && last.0 < p.position()) {
            // Between two events of one step the simulation is ahead of what is seen.
            Some(last) => Some((p.position(), last.1.clone())),
            None => Some((p.position(), p.scheduler_view(queue?)?)),
        };
        session.with_player(look).flatten().unwrap_or_default()
    });
    let inside = Memo::new(move |_| asked.with(|(_, view)| view.clone()));
    let none = state(move || disks.read().is_empty());
    let title = text(move || {
        let name = disks.with(|d| d.iter().find(|(i, ..)| Some(*i) == disk.get()).map(|(.., s)| s.clone()));
        name.map_or_else(|| String::from("Inside the scheduler"), |name| format!("Inside {name}"))
    });
    let choice = move || {
        let all = disks.get();
        let options = all.iter().map(|(i, name, _)| (i.to_string(), name.clone())).collect();
        let value = text(move || disk.get().unwrap_or_default().to_string());
        let on = Callback::new(move |i: String| chosen.set(i.parse().unwrap_or_default()));
        (all.len() > 1).then(|| {
            view! {
                <span class="field inline">
                    <label for="inside-disk">"Disk"</label>
                    <Choice id="inside-disk".into() options value on />
                </span>
            }
        })
    };
    view! {
        <section class="panel elevator" id="elevator" aria-labelledby="elevator-title" node_ref=section>
            <div class="panel-head">
                <h2 id="elevator-title">{title}</h2>
                {choice}
            </div>
            <p class="empty" hidden=state(move || !none.get())>
                {format!(
                    "The scheduler is none: requests wait in ctx lists and go to the driver without being sorted or held \
                     back. Choose {} under Policy to see one at work here.",
                    sched::SCHEDULERS.iter().filter(|r| r.path == Path::Mq).map(|r| r.name).collect::<Vec<_>>().join(", "),
                )}
            </p>
            <div hidden=none>
                <Next inside />
                <div class="inside" tabindex="0" role="group" aria-label="State and lists of the scheduler">
                    <Facts inside />
                    <Lists inside />
                </div>
            </div>
        </section>
    }
}

/// What goes next, and why.
#[component]
fn Next(inside: Memo<View>) -> impl IntoView {
    let session = Session::here();
    let next = Memo::new(move |_| inside.read().next);
    let request = move || match next.get() {
        0 => view! { <span class="next-none">"none"</span> }.into_any(),
        rq => view! { <Request rq session /> }.into_any(),
    };
    view! {
        <p class="next">
            <span class="next-mark">"Next"</span>
            {request}
            <span class="next-why">{text(move || inside.read().why.clone())}</span>
        </p>
    }
}

/// A request that can be selected.
#[component]
fn Request(rq: u32, session: Session) -> impl IntoView {
    let on = act(move || session.select(Some(rq)));
    view! {
        <button type="button" class="quiet link" aria-label=format!("Request {rq}") on:click=move |_| on.run(())>
            {rq}
        </button>
    }
}

#[component]
fn Facts(inside: Memo<View>) -> impl IntoView {
    let names =
        Memo::new(move |_| inside.with(|v| v.facts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()));
    let fact = move |(index, name): (usize, String)| -> Item {
        let own = key((index, &name));
        let make = move || {
            let value = text(move || {
                inside.with(|v| v.facts.get(index).map(|(_, value)| value.clone())).unwrap_or_default()
            });
            view! { <div><dt>{name}</dt><dd>{value}</dd></div> }
        };
        (own, make.into())
    };
    let items = Callback::new(move |()| names.get().into_iter().enumerate().map(fact).collect::<Vec<_>>());
    view! { <dl class="facts"><List items /></dl> }
}

#[component]
fn Lists(inside: Memo<View>) -> impl IntoView {
    let names = Memo::new(move |_| {
        inside.with(|v| {
            let nth = |i: usize| v.groups[..i].iter().filter(|g| g.name == v.groups[i].name).count();
            (0..v.groups.len()).map(|i| (v.groups[i].name.clone(), nth(i))).collect::<Vec<_>>()
        })
    });
    let items = Callback::new(move |()| {
        let list = |(name, nth): (String, usize)| -> Item {
            (key((&name, nth)), (move || view! { <Listed inside name nth /> }).into())
        };
        names.get().into_iter().map(list).collect::<Vec<_>>()
    });
    view! { <div class="lists"><List items /></div> }
}

/// One list with its heading.
#[component]
fn Listed(inside: Memo<View>, name: String, nth: usize) -> impl IntoView {
    let session = Session::here();
    let of = {
        let name = name.clone();
        Memo::new(move |_| inside.with(|v| group_of(v, &name, nth).cloned()).unwrap_or_default())
    };
    let next = Memo::new(move |_| inside.read().next);
    let request = move |rq: u32| -> Item {
        let make = move || {
            let now = move |f: fn(&sched::Item) -> String| {
                text(move || of.with(|g| g.items.iter().find(|i| i.rq == rq).map(f)).unwrap_or_default())
            };
            let place = now(|i| format!("{} + {}", crate::words::grouped(i.sector), i.sectors));
            view! {
                <li class:next-item=state(move || next.get() == rq)>
                    <Request rq session />
                    <span class="item-place"><span class="hidden-text">"sector "</span>{place}</span>
                    <span class="item-note">{now(|i| i.note.clone())}</span>
                    <span class="item-next">{text(move || String::from(if next.get() == rq { "next" } else { "" }))}</span>
                </li>
            }
        };
        (key(rq), make.into())
    };
    let items = Callback::new(move |()| {
        of.with(|g| g.items[window(g, next.get())].iter().map(|i| i.rq).collect::<Vec<_>>())
            .into_iter()
            .map(request)
            .collect::<Vec<_>>()
    });
    let more = text(move || {
        of.with(|g| {
            let shown = window(g, next.get()).len() as u32;
            match (g.total, g.total.saturating_sub(shown)) {
                (0, _) => String::from("empty"),
                (_, 0) => String::new(),
                (_, n) => format!("and {n} more"),
            }
        })
    });
    view! {
        <section class="list">
            <h3>
                <code>{name}</code>
                <span class="list-total">{text(move || of.read().total.to_string())}</span>
            </h3>
            <p class="list-note">{text(move || of.read().note.clone())}</p>
            <ol><List items /></ol>
            <p class="list-note">{more}</p>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::sched::Item;

    #[test]
    fn the_next_request_is_always_among_those_shown() {
        let items = (1..=60).map(|rq| Item { rq, ..Item::default() }).collect::<Vec<_>>();
        let group = Group { total: 60, items, ..Group::default() };
        for next in 0..=61 {
            let range = window(&group, next);
            assert_eq!(range.len(), ITEMS_MAX);
            let seen = group.items[range].iter().any(|i| i.rq == next);
            assert_eq!(seen, (1..=60).contains(&next), "{next}");
        }
        assert_eq!(window(&Group::default(), 3), 0..0);
    }

    #[test]
    fn lists_of_one_name_are_told_apart_by_their_number() {
        let group =
            |note: &str| Group { name: "service_tree[BE] a".into(), note: note.into(), ..Group::default() };
        let view = View { groups: vec![group("x"), group("y")], ..View::default() };
        assert_eq!(group_of(&view, "service_tree[BE] a", 1).map(|g| g.note.as_str()), Some("y"));
        assert_eq!(group_of(&view, "service_tree[BE] a", 2), None);
    }
}
