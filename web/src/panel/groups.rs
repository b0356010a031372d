//! All knobs and attributes, folded into named groups, with a field that finds them by their names and help.

use super::attribute::{Attribute, scheduler, tunables};
use super::control::{state, text};
use super::knob::Knob;
use super::table::{Item, List, key};
use super::unread::unread_here;
use crate::config::Rules;
use crate::session::Session;
use crate::sysfs::QUEUE_FILES;
use leptos::prelude::*;
use mqscope_core::kernel::{KnobInfo, ROWS};

/// All knobs; names, groups and help are the same in every row.
fn knobs() -> Vec<KnobInfo> {
    ROWS[0].knobs.list()
}

/// Names of the groups in the order of a request's way.
fn group_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for knob in knobs() {
        if !names.contains(&knob.group) {
            names.push(knob.group);
        }
    }
    names
}

/// Whether every word of `wanted` stands somewhere in the texts.
fn matches(wanted: &str, texts: &[&str]) -> bool {
    let all = texts.join(" ").to_lowercase();
    let plain = all.replace('_', " ");
    let mut words = wanted.split_whitespace().map(str::to_lowercase).peekable();
    words.peek().is_some() && words.all(|word| all.contains(&word) || plain.contains(&word))
}

/// Names of the knobs and of the attributes that a text finds.
fn find(wanted: &str, attributes: &[(String, &'static str)]) -> (Vec<&'static str>, Vec<String>) {
    let found = |k: &KnobInfo| matches(wanted, &[k.name, k.group, k.help]);
    let files = attributes.iter().filter(|(name, help)| matches(wanted, &[name, help]));
    (
        knobs().iter().filter(|k| found(k)).map(|k| k.name).collect(),
        files.map(|(name, _)| name.clone()).collect(),
    )
}

/// The groups and the search.
#[component]
pub(super) fn Groups(rules: Memo<Rules>) -> impl IntoView {
    let session = Session::here();
    let wanted = RwSignal::new(String::new());
    let searching = Memo::new(move |_| !wanted.read().trim().is_empty());
    let attributes = Memo::new(move |_| {
        let files = QUEUE_FILES.iter().map(|f| (f.name.to_string(), f.help));
        files.chain(tunables(session).into_iter().map(|t| (t.name.to_string(), t.help))).collect::<Vec<_>>()
    });
    let found = Memo::new(move |_| attributes.with(|a| find(&wanted.read(), a)));
    let results = Callback::new(move |()| {
        let (knobs, files) = found.get();
        let knob = |name: &'static str| -> Item {
            (key(name), (move || view! { <Knob name rules place="found" /> }).into())
        };
        let file = |name: String| -> Item {
            (key(&name), (move || view! { <Attribute name place="found" /> }).into())
        };
        knobs.into_iter().map(knob).chain(files.into_iter().map(file)).collect::<Vec<_>>()
    });
    let count = text(move || {
        let found = found.with(|(knobs, files)| knobs.len() + files.len());
        match (searching.get(), found) {
            (false, _) => String::new(),
            (true, 0) => String::from("Nothing is found by these words."),
            (true, 1) => String::from("1 found"),
            (true, n) => format!("{n} found"),
        }
    });
    let iosched = Memo::new(move |_| scheduler(session));
    // Attributes of another scheduler are other controls.
    let files = move |names: Vec<String>| {
        names.into_iter().map(|name| view! { <Attribute name place="all" /> }).collect_view().into_any()
    };
    let own = move || {
        let scheduler = iosched.get();
        (scheduler != "none" && !scheduler.is_empty()).then(|| {
            let make = Callback::new(move |()| {
                files(tunables(session).iter().map(|t| t.name.to_string()).collect())
            });
            view! { <Group name=format!("{scheduler} in queue/iosched") make /> }
        })
    };
    let queue = Callback::new(move |()| {
        files(QUEUE_FILES.iter().filter(|f| f.name != "nr_requests").map(|f| f.name.into()).collect())
    });
    let group = move |name: &'static str| {
        let members: Vec<&str> = knobs().iter().filter(|k| k.group == name).map(|k| k.name).collect();
        let inside = members.clone();
        let changed = rules_changed(rules, members.clone());
        let unread = text(move || {
            let unread = members.iter().all(|m| unread_here(session, name, m).is_some());
            String::from(if unread { "not read here" } else { "" })
        });
        let make = Callback::new(move |()| {
            inside.iter().map(|&name| view! { <Knob name rules place="all" /> }).collect_view().into_any()
        });
        view! { <Group name=name.into() make changed unread /> }
    };
    view! {
        <div class="find">
            <label for="find">{format!("Find one of {} knobs", knobs().len())}</label>
            <input
                type="search"
                id="find"
                autocomplete="off"
                placeholder="merge, budget, 5.16, fifo_batch"
                maxlength="100"
                aria-describedby="find-count"
                prop:value=text(move || wanted.get())
                on:input:target=move |e| wanted.set(e.target().value())
            />
            <p class="knob-help" id="find-count" role="status">{count}</p>
        </div>
        <div class="found" hidden=state(move || !searching.get())>
            <List items=results />
        </div>
        <div class="groups" hidden=state(move || searching.get())>
            {own}
            <Group name="Disk in queue/".into() make=queue changed=text(String::new) />
            {group_names().into_iter().map(group).collect_view()}
        </div>
    }
}

/// How many of these knobs were changed, in words.
fn rules_changed(rules: Memo<Rules>, members: Vec<&'static str>) -> Signal<String> {
    text(move || match rules.with(|r| members.iter().filter(|m| r.set.contains_key(**m)).count()) {
        0 => String::new(),
        n => format!("{n} changed"),
    })
}

/// One group. Its controls are made when somebody opens it: all together are many.
#[component]
fn Group(
    /// Its name.
    name: String,
    /// Makes its controls.
    make: Callback<(), AnyView>,
    /// How many of it were changed, in words.
    #[prop(optional, into)]
    changed: Signal<String>,
    /// Whether the run reads none of it, in words.
    #[prop(optional, into)]
    unread: Signal<String>,
) -> impl IntoView {
    let opened = RwSignal::new(false);
    view! {
        <details
            class="group"
            on:toggle:target=move |e| opened.update(|o| *o |= e.target().has_attribute("open"))
        >
            <summary>
                <span>{name}</span>
                <span class="group-unread">{unread}</span>
                <span class="group-changed">{changed}</span>
            </summary>
            {move || opened.get().then(|| make.run(()))}
        </details>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_in_a_group_and_is_found_by_its_name_function_and_version() {
        for knob in knobs() {
            assert!(group_names().contains(&knob.group) && !knob.group.is_empty(), "{}", knob.name);
            assert!(find(knob.name, &[]).0.contains(&knob.name));
            assert!(find(&knob.name.replace('_', " ").to_uppercase(), &[]).0.contains(&knob.name));
        }
        assert!(find("blk_mq_get_tags", &[]).0.contains(&"batch_tags"));
        assert_eq!(find("AIO_PLUG", &[]).0, ["aio_plug_above"]);
        assert_eq!(find("no such word", &[]).0.len(), 0);
        assert_eq!(find("  ", &[]).0.len(), 0);
    }

    #[test]
    fn attributes_are_found_beside_knobs() {
        let files = [(String::from("fifo_batch"), "requests of one batch (deadline_fifo_batch)")];
        assert_eq!(find("fifo batch", &files).1, ["fifo_batch"]);
        assert_eq!(find("deadline_fifo", &files).1, ["fifo_batch"]);
    }
}
