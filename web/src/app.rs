//! The page as a whole.

use crate::config::Theme;
use crate::panel::{
    Announcer, Cases, Charts, Compare, Contention, Cpus, Elevator, EventLog, Figures, Header, Inspector,
    Intro, Keep, KeySheet, Lamps, Notices, PolicyPanel, SpaceTimePanel, Stage, Tour, Transport, TwinsPanel,
    Workload, use_keys,
};
use crate::session::Session;
use leptos::ev;
use leptos::html::Dialog;
use leptos::prelude::*;
use leptos_use::{use_document_visibility, use_event_listener, use_media_query, use_preferred_dark};
use std::time::Duration;

/// Whether dark colours are on, by choice or by the system.
#[derive(Clone, Copy)]
pub struct Dark(pub Memo<bool>);

/// Whether the reader wants less motion.
#[derive(Clone, Copy)]
pub struct Calm(pub Signal<bool>);

const LESS_MOTION: &str = "(prefers-reduced-motion: reduce)";

/// Parts of the page that are built one by one, each in a task of its own, so that none takes long.
const PARTS: usize = 14;

/// The part of this number, once it is its turn.
fn part(built: RwSignal<usize>, number: usize, view: fn() -> AnyView) -> impl IntoView {
    let there = Memo::new(move |_| built.get() > number);
    move || there.get().then(view)
}

/// Builds the next part, and in later tasks those after it: first the stage, then what runs on it, and after the first
/// picture the rest.
fn build_on(session: Session, built: RwSignal<usize>) {
    if built.try_update(|n| *n += 1).is_none() {
        return;
    }
    let next = move || build_on(session, built);
    match built.get_untracked() {
        1 => set_timeout(
            move || {
                session.begin();
                // Not in the frame itself, which draws the first picture.
                request_animation_frame(move || set_timeout(next, Duration::ZERO));
            },
            Duration::ZERO,
        ),
        n if n < PARTS => set_timeout(next, Duration::ZERO),
        _ => {}
    }
}

/// The page.
#[component]
pub fn App() -> impl IntoView {
    // The hook learns the answer a moment later; what plays by itself must know it before it starts.
    let later = use_media_query(LESS_MOTION);
    let first = window().match_media(LESS_MOTION).ok().flatten().is_some_and(|m| m.matches());
    let mounted = RwSignal::new(false);
    Effect::new(move |_| mounted.set(true));
    let calm = Signal::derive(move || if mounted.get() { later.get() } else { first });
    provide_context(Calm(calm));
    let session = Session::open(&window().location().hash().unwrap_or_default(), calm);
    provide_context(session);

    let system = use_preferred_dark();
    let dark = Memo::new(move |_| match session.theme.get() {
        Theme::Auto => system.get(),
        theme => theme == Theme::Dark,
    });
    provide_context(Dark(dark));
    Effect::new(move |_| {
        let theme = session.theme.get();
        if let Some(root) = document().document_element() {
            let _ = match theme {
                Theme::Auto => root.remove_attribute("data-theme"),
                theme => root.set_attribute("data-theme", theme.word()),
            };
        }
    });

    Effect::new(move |_| {
        let own = session.config.with(|c| c.job.is_some());
        let title = if own { "Your own job" } else { session.preset().title };
        document().set_title(&format!("{title} – mqscope"));
    });
    Effect::new(move |_| {
        if let Some(root) = document().document_element() {
            let _ = root.toggle_attribute_with_force("data-presenter", session.presenter.get());
        }
    });

    Effect::new(move |_| session.draft.with(|draft| crate::crash::remember(draft)));

    let visibility = use_document_visibility();
    Effect::new(move |_| {
        session.set_hidden(Some(visibility.get() == web_sys::VisibilityState::Hidden), None)
    });
    let _ = use_event_listener(window(), ev::hashchange, move |_| {
        session.load_fragment(&window().location().hash().unwrap_or_default());
    });
    let _ = use_event_listener(window(), ev::pagehide, move |_| session.save());
    on_cleanup(move || session.close());

    let sheet: NodeRef<Dialog> = NodeRef::new();
    let open_sheet = Callback::new(move |()| {
        if let Some(sheet) = sheet.get_untracked() {
            let _ = sheet.show_modal();
        }
    });
    use_keys(session, open_sheet);

    let built = RwSignal::new(0);
    Effect::new(move |_| set_timeout(move || build_on(session, built), Duration::ZERO));

    view! {
        <Header on_keys=open_sheet />
        <main class="page">
            <Notices />
            <div class="upper">
                <div class="scene">
                    <Intro />
                    <Compare />
                    {part(built, 0, || view! { <Stage><Transport /></Stage> }.into_any())}
                </div>
                <div class="side">
                    {part(built, 1, || view! { <Inspector /> }.into_any())}
                    {part(built, 2, || view! { <PolicyPanel /> }.into_any())}
                </div>
                <div class="scene">
                    {part(built, 3, || view! { <Elevator /> }.into_any())}
                    {part(built, 4, || view! { <TwinsPanel /> }.into_any())}
                    {part(built, 5, || view! { <Cpus /> }.into_any())}
                </div>
            </div>
            {part(built, 6, || view! { <SpaceTimePanel /> }.into_any())}
            {part(built, 7, || view! { <Charts /> }.into_any())}
            {part(built, 8, || view! { <Cases /> }.into_any())}
            {part(built, 9, || view! { <Figures /> }.into_any())}
            {part(built, 10, || view! { <Contention /> <Lamps /> }.into_any())}
            <div class="pair">
                {part(built, 11, || view! { <Workload /> }.into_any())}
                {part(built, 12, || view! { <EventLog /> }.into_any())}
            </div>
            {part(built, PARTS - 1, || view! { <Keep /> }.into_any())}
            <Announcer />
        </main>
        {part(built, PARTS - 1, || view! { <Foot /> }.into_any())}
        {part(built, PARTS - 1, || view! { <Tour /> }.into_any())}
        {move || (built.get() == PARTS).then(|| view! { <KeySheet node=sheet /> })}
    }
}

#[component]
fn Foot() -> impl IntoView {
    view! {
        <footer class="foot">
            <p>
                "A simulation: one deterministic model of the Linux block layer, its locks and shared cache lines, and the \
                 devices below. The same scenario and seed give the same run, to the nanosecond, everywhere."
            </p>
        </footer>
    }
}
