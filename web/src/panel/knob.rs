//! One policy knob: its control, what it does, and whether it differs from the kernel row.

use super::icon::{Icon, Shape};
use crate::session::Session;
use leptos::prelude::*;
use mqscope_core::kernel::{self, KnobInfo};

/// `dispatch_mode` as people read it.
pub(super) fn title(name: &str) -> String {
    let mut text = name.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A knob by its name.
#[component]
pub fn Knob(
    /// The knob's own name.
    name: &'static str,
    /// For people; the name itself where there is nothing better.
    #[prop(optional, into)]
    label: Option<String>,
    /// Rules in force, for the value.
    rules: Memo<crate::config::Rules>,
    /// In place of the knob's own description.
    #[prop(optional)]
    help: Option<&'static str>,
    /// What stands in the id, as the same knob may be on the page twice.
    place: &'static str,
) -> impl IntoView {
    let session = Session::here();
    let info =
        Memo::new(move |_| rules.read().knobs().list().into_iter().find(|k| k.name == name).map(Info::from));
    let overridden = Memo::new(move |_| rules.read().set.contains_key(name));
    let row_value = move || {
        let row = kernel::row(&rules.read().kernel)?;
        row.knobs.list().into_iter().find(|k| k.name == name).map(|k| k.value)
    };
    let id = format!("{place}-{name}");
    let help_id = format!("{id}-help");
    let Some(first) = info.get_untracked() else { return ().into_any() };
    let value = Memo::new(move |_| info.read().as_ref().map(|i| i.value.clone()).unwrap_or_default());
    let control = match first.kind {
        "bool" => view! {
            <input
                type="checkbox"
                role="switch"
                class="switch"
                id=id.clone()
                aria-describedby=help_id.clone()
                prop:checked=move || *value.read() == "true"
                on:change:target=move |e| session.set_knob(name, if e.target().checked() { "true" } else { "false" })
            />
        }
        .into_any(),
        "number" => view! {
            <input
                type="number"
                min=0
                max=u32::MAX
                id=id.clone()
                aria-describedby=help_id.clone()
                prop:value=value
                on:change:target=move |e| session.set_knob(name, &e.target().value())
            />
        }
        .into_any(),
        _ => view! {
            <select
                id=id.clone()
                aria-describedby=help_id.clone()
                on:change:target=move |e| session.set_knob(name, &e.target().value())
            >
                {first
                    .choices
                    .iter()
                    .map(|choice| {
                        view! {
                            <option value=*choice prop:selected=move || *value.read() == *choice>
                                {choice.replace('-', " ")}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        }
        .into_any(),
    };
    view! {
        <div class="knob" class:overridden=overridden>
            <label for=id.clone() title=first.help>{label.unwrap_or_else(|| title(name))}</label>
            <span class="knob-control">
                {control}
                <Show when=move || overridden.get()>
                    <button
                        type="button"
                        class="quiet knob-reset"
                        title=move || format!("Back to {} of kernel {}", row_value().unwrap_or_default(), rules.read().kernel)
                        on:click=move |_| {
                            if let Some(value) = row_value() {
                                session.set_knob(name, &value);
                            }
                        }
                    >
                        <Icon shape=Shape::Reset />
                        <span class="hidden-text">
                            {format!("Reset {}", name.replace('_', " "))}
                        </span>
                    </button>
                </Show>
            </span>
            <p class="knob-help" id=help_id>{help.unwrap_or(first.help)}</p>
        </div>
    }
    .into_any()
}

/// [`KnobInfo`] that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Info {
    kind: &'static str,
    choices: &'static [&'static str],
    help: &'static str,
    value: String,
}

impl From<KnobInfo> for Info {
    fn from(k: KnobInfo) -> Self {
        Self { kind: k.kind, choices: k.choices, help: k.help, value: k.value }
    }
}
