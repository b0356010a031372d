//! One policy knob: its control, what it does, and whether it differs from the kernel row.

use super::control::{Button, Choice, Line, Switch, act, state, text};
use super::icon::Shape;
use super::unread::unread_here;
use crate::config::Rules;
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::kernel;

/// `dispatch_mode` as people read it.
pub(super) fn title(name: &str) -> String {
    let mut text = name.replace('_', " ");
    for (word, written) in
        [("scsi", "SCSI"), ("nvme", "NVMe"), ("ahci", "AHCI"), ("hctx", "hctx"), ("io", "IO")]
    {
        if let Some(rest) = text.strip_prefix(word).filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            return format!("{written}{rest}");
        }
    }
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A description without the brackets that hold kernel function and versions, and what stands in them.
pub(super) fn parts_of(help: &'static str) -> (String, &'static str) {
    let Some(open) = help.rfind('(') else { return (help.into(), "") };
    let close = help[open..].find(')').map_or(help.len(), |i| open + i);
    let rest = help.get(close + 1..).unwrap_or_default();
    (format!("{}{rest}", help[..open].trim_end()), &help[open + 1..close])
}

/// The file of the kernel function that a description names, as a link to that version's source; HTML.
pub(super) fn origin(help: &'static str, row: &str) -> String {
    let Some(of) = kernel::source(help, row) else { return String::new() };
    format!(
        "<a href=\"https://elixir.bootlin.com/linux/v{row}/A/ident/{}\" target=\"_blank\" rel=\"noreferrer\">{} \
         in v{row}</a>",
        of.function, of.file
    )
}

/// A control with its label, its help, and whether it was changed.
#[component]
pub(super) fn Setting(
    /// Id of the control.
    id: String,
    /// Words before it.
    label: String,
    /// The long explanation, under the pointer.
    #[prop(optional)]
    long: &'static str,
    /// One line below.
    help: Signal<String>,
    /// Kernel function and versions that its rule comes from.
    #[prop(optional)]
    source: &'static str,
    /// The file in which that function stands, as a link ([`origin`]).
    #[prop(optional, into)]
    origin: Signal<String>,
    /// The command that sets it on a real machine.
    #[prop(optional, into)]
    command: Signal<String>,
    /// Whether it differs from what it would be by itself.
    changed: Signal<bool>,
    /// Puts it back, with the button's name.
    #[prop(optional)]
    reset: Option<(String, Callback<()>)>,
    /// The control.
    children: Children,
) -> impl IntoView {
    let help_id = format!("{id}-help");
    let button = move || {
        let (name, on) = reset.clone().filter(|_| changed.get())?;
        Some(view! { <Button class="quiet knob-reset" on=on shape=Shape::Reset name=name /> })
    };
    view! {
        <div class="knob" class:overridden=changed>
            <label for=id title=long>{label}</label>
            <span class="knob-control">{children()} {button}</span>
            <p class="knob-help" id=help_id>
                {help} {(!source.is_empty()).then(|| view! { <span class="knob-source">{source}</span> })}
                <span class="knob-source" inner_html=origin></span>
                <code class="knob-source">{command}</code>
            </p>
        </div>
    }
}

/// A knob by its name.
#[component]
pub(super) fn Knob(
    /// The knob's own name.
    name: &'static str,
    /// For people; the name itself where there is nothing better.
    #[prop(optional)]
    label: Option<&'static str>,
    /// Rules in force, for the value.
    rules: Memo<Rules>,
    /// In place of the knob's own description.
    #[prop(optional)]
    help: Option<&'static str>,
    /// What stands in the id, as the same knob may be on the page twice.
    place: &'static str,
) -> AnyView {
    let session = Session::here();
    let Some(first) = rules.with_untracked(|r| r.knobs().list()).into_iter().find(|k| k.name == name) else {
        return ().into_any();
    };
    let value = text(move || value_of(name, &rules.read()));
    let id = format!("{place}-{name}");
    let described = format!("{id}-help");
    let set = Callback::new(move |value: String| session.set_knob(name, &value));
    let reset = act(move || {
        let row = kernel::row(&rules.read_untracked().kernel);
        if let Some(knob) = row.and_then(|r| r.knobs.list().into_iter().find(|k| k.name == name)) {
            session.set_knob(name, &knob.value);
        }
    });
    let control = match first.kind {
        "bool" => {
            let on = state(move || value.with(|v| v == "true"));
            let set =
                Callback::new(move |on: bool| session.set_knob(name, if on { "true" } else { "false" }));
            view! { <Switch id=id.clone() help=described value=on on=set /> }.into_any()
        }
        "number" => view! { <Line id=id.clone() kind="number" help=described value on=set /> }.into_any(),
        _ => {
            let options = first.choices.iter().map(|c| (c.to_string(), c.replace('-', " "))).collect();
            view! { <Choice id=id.clone() help=described options value on=set /> }.into_any()
        }
    };
    let (words, source) = parts_of(first.help);
    let words = help.map_or(words, String::from);
    // What it differs from is said only where it differs.
    let help = text(move || {
        let mut words = words.clone();
        rules.with(|r| {
            let row = kernel::row(&r.kernel).filter(|_| r.set.contains_key(name));
            if let Some(own) = row.and_then(|row| row.knobs.list().into_iter().find(|k| k.name == name)) {
                words += &format!(" {} has {}.", r.kernel, own.value);
            }
        });
        match unread_here(session, first.group, name) {
            Some(why) => format!("{words} Not read here: {why}."),
            None => words,
        }
    });
    view! {
        <Setting
            id=id
            label=label.map_or_else(|| title(name), String::from)
            long=first.help
            help=help
            source=source
            origin=text(move || origin(first.help, &rules.read().kernel))
            changed=state(move || rules.read().set.contains_key(name))
            reset=(format!("Reset {}", name.replace('_', " ")), reset)
        >
            {control}
        </Setting>
    }
    .into_any()
}

fn value_of(name: &str, rules: &Rules) -> String {
    rules.knobs().list().into_iter().find(|k| k.name == name).map(|k| k.value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_leads_to_its_source_in_the_version_on_the_stage() {
        let link = origin("Order of the plug list (blk_attempt_plug_merge).", "5.4");
        assert!(link.contains("linux/v5.4/A/ident/blk_attempt_plug_merge"), "{link}");
        assert!(link.contains(">block/blk-core.c in v5.4<"), "{link}");
        assert_eq!(origin("Which request.", "5.4"), "");
    }

    #[test]
    fn a_knob_s_title_writes_names_as_the_kernel_s_people_do() {
        assert_eq!(title("plug_max"), "Plug max");
        assert_eq!(title("scsi_run_all"), "SCSI run all");
        assert_eq!(title("nvme_shared_lock"), "NVMe shared lock");
        assert_eq!(title("hctx_counters"), "hctx counters");
        assert_eq!(title("ioc_batching"), "Ioc batching");
    }

    #[test]
    fn a_description_is_parted_from_its_source() {
        assert_eq!(
            parts_of("Order of the plug list (blk_add_rq_to_plug)."),
            ("Order of the plug list.".into(), "blk_add_rq_to_plug")
        );
        assert_eq!(parts_of("Flushes it (SIZE); 0: no rule."), ("Flushes it; 0: no rule.".into(), "SIZE"));
        assert_eq!(parts_of("Which request."), ("Which request.".into(), ""));
    }
}
