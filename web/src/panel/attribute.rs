//! Files below `queue/`: the scheduler and numbers by their sysfs names.

use super::control::{Choice, Line, act, state, text};
use super::knob::{Setting, origin, parts_of};
use crate::session::Session;
use crate::sysfs::QUEUE_FILES;
use leptos::prelude::*;
use mqscope_core::scenario::Path;
use mqscope_core::sched::{SCHEDULERS, Tunable};

/// What the first disk's scheduler has below `queue/iosched`; tracks the run on the stage.
pub(super) fn tunables(session: Session) -> Vec<Tunable> {
    session.beat.track();
    session.side.track();
    let of = |p: &crate::player::Player| p.topology().queues.first().map(|q| q.tunables.clone());
    session.with_player(of).flatten().unwrap_or_default()
}

/// The scheduler of the run on the stage; tracks it.
pub(super) fn scheduler(session: Session) -> String {
    session.beat.track();
    session.side.track();
    let of = |p: &crate::player::Player| p.topology().queues.first().map(|q| q.scheduler.clone());
    session.with_player(of).flatten().unwrap_or_default()
}

/// The command that writes `value` to a file of the first disk below `/sys/block`.
pub(super) fn command(session: Session, file: &str, value: &str) -> String {
    session.beat.track();
    session.side.track();
    let disk =
        session.with_player(|p| p.topology().queues.first().map(|q| q.name.replace('/', "!"))).flatten();
    disk.filter(|_| !value.is_empty())
        .map_or_else(String::new, |disk| format!("echo {value} > /sys/block/{disk}/{file}"))
}

/// The kernel row of the policy on the stage, at the start of its run.
fn row(session: Session) -> String {
    session.config.with(|c| c.policy(session.side.get()).start.kernel.clone())
}

/// What helps to choose a scheduler.
fn help_of(name: &str) -> String {
    match SCHEDULERS.iter().find(|r| r.name == name) {
        Some(row) => format!("It {}.", row.help),
        None => String::from(
            "Requests go to the driver in the order of their ctx lists; nothing is sorted or held back.",
        ),
    }
}

/// Which scheduler.
#[component]
pub(super) fn SchedulerChoice() -> impl IntoView {
    let session = Session::here();
    let now = Memo::new(move |_| scheduler(session));
    let usual = move || session.preset().sysfs[session.side.get().index()].scheduler.clone();
    let path = Memo::new(move |_| {
        session.beat.track();
        session.side.track();
        session.with_player(|p| p.topology().queues.first().map(|q| q.path)).flatten().unwrap_or_default()
    });
    // In 4.4 blk-mq disks have none.
    let any = Memo::new(move |_| {
        session.config.with(|c| c.policy(session.side.get()).start.knobs().mq_elevators)
            || path.get() == Path::Legacy
    });
    // Each half of the block layer has its own.
    let names = move |path: Path| {
        let none = (path == Path::Mq).then_some("none");
        let own = SCHEDULERS.iter().filter(move |r| r.path == path && any.get()).map(|r| r.name);
        none.into_iter().chain(own)
    };
    let choice = move || {
        view! {
            <Choice
                id="scheduler".into()
                help="scheduler-help".into()
                options=names(path.get()).map(|n| (n.to_string(), n.to_string())).collect()
                value=text(move || now.get())
                on=Callback::new(move |name: String| session.set_sysfs(|s| s.set_scheduler(&name)))
            />
        }
    };
    let changed = move || {
        let set = session.config.with(|c| c.policy(session.side.get()).sysfs.scheduler.clone());
        set != usual()
    };
    let reset = move || {
        let usual = usual();
        session.set_sysfs(|s| {
            s.forget_iosched();
            s.scheduler = usual;
        });
    };
    view! {
        <Setting
            id="scheduler".into()
            label="Scheduler".into()
            help=text(move || {
                let help = now.with(|n| help_of(n));
                if any.get() { help } else { format!("{help} In this kernel blk-mq disks have no scheduler.") }
            })
            command=text(move || command(session, "queue/scheduler", &now.read()))
            changed=state(changed)
            reset=("Reset scheduler".into(), act(reset))
        >
            {choice}
        </Setting>
    }
}

/// What is known of a file: value now, range, unit, help, the value it has by itself where that is known.
#[derive(Clone, Debug, Default, PartialEq)]
struct File {
    value: String,
    range: (u64, u64),
    unit: &'static str,
    help: &'static str,
    default: Option<u64>,
}

fn file(session: Session, name: &str) -> File {
    session.beat.track();
    session.config.track();
    let side = session.side.get();
    let own =
        session.with_player(|p| p.scenario().devices.first().and_then(|d| d.iosched.get(name).copied()));
    if let Some(t) = tunables(session).into_iter().find(|t| t.name == name) {
        let value = own.flatten().unwrap_or(t.value).to_string();
        return File { value, range: t.range, unit: t.unit, help: t.help, default: Some(t.value) };
    }
    let Some(known) = QUEUE_FILES.iter().find(|f| f.name == name) else { return File::default() };
    let in_force = session.with_player(|p| {
        let disk = p.scenario().devices.first()?;
        match name {
            "nomerges" => Some(u64::from(disk.nomerges)),
            "rq_affinity" => Some(u64::from(disk.rq_affinity)),
            _ => p.topology().queues.first().map(|q| u64::from(q.nr_requests)),
        }
    });
    let usual = &session.preset().sysfs[side.index()];
    let default = usual.values.get(name).copied();
    File {
        value: in_force.flatten().map(|v| v.to_string()).unwrap_or_default(),
        range: known.range,
        unit: "",
        help: known.help,
        default,
    }
}

/// A number by its sysfs name.
#[component]
pub(super) fn Attribute(
    /// sysfs name.
    name: String,
    /// What stands in the id, as the same file may be on the page twice.
    place: &'static str,
) -> AnyView {
    let session = Session::here();
    let known = {
        let name = name.clone();
        Memo::new(move |_| file(session, &name))
    };
    let id = format!("{place}-{name}");
    let usual = {
        let name = name.clone();
        move || session.preset().sysfs[session.side.get().index()].values.get(&name).copied()
    };
    let changed = {
        let (name, usual) = (name.clone(), usual.clone());
        state(move || {
            let set = session.config.with(|c| c.policy(session.side.get()).sysfs.values.get(&name).copied());
            set != usual()
        })
    };
    let set = {
        let name = name.clone();
        Callback::new(move |text: String| {
            let (low, high) = known.with_untracked(|k| k.range);
            match text.trim().parse::<u64>() {
                Ok(value) if (low..=high).contains(&value) => {
                    session.set_sysfs(|s| _ = s.values.insert(name.clone(), value));
                }
                _ => session.refuse(format!("{name} is a whole number from {low} to {high}.")),
            }
        })
    };
    let reset = {
        let name = name.clone();
        act(move || {
            let usual = usual();
            session.set_sysfs(|s| {
                match usual {
                    Some(value) => s.values.insert(name.clone(), value),
                    None => s.values.remove(&name),
                };
            });
        })
    };
    let help = text(move || {
        known.with(|k| {
            let (words, _) = parts_of(k.help);
            let unit = if k.unit.is_empty() { String::new() } else { format!(" {}", k.unit) };
            let default = k.default.map(|d| format!(", by itself {d}")).unwrap_or_default();
            let full = if words.ends_with('.') { "" } else { "." };
            match k.range {
                (low, u64::MAX) => format!("{words}{full} From {low}{unit}{default}."),
                (low, high) => format!("{words}{full} {low} to {high}{unit}{default}."),
            }
        })
    });
    let first = known.with_untracked(|k| k.help);
    let source = parts_of(first).1;
    let path = match QUEUE_FILES.iter().any(|f| f.name == name) {
        true => format!("queue/{name}"),
        false => format!("queue/iosched/{name}"),
    };
    view! {
        <Setting
            id=id.clone()
            label=name.clone()
            help=help
            source=source
            origin=text(move || origin(first, &row(session)))
            command=text(move || command(session, &path, &known.read().value))
            changed=changed
            reset=(format!("Reset {name}"), reset)
        >
            <Line id=id.clone() kind="number" help=format!("{id}-help") value=text(move || known.with(|k| k.value.clone())) on=set />
        </Setting>
    }
    .into_any()
}
