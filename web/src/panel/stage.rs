//! The stage: the picture, what stands in it for keyboards and screen readers, and what the marks mean.

use super::control::{Button, Switch, act, state, text};
use super::table::{Item, List, key};
use crate::app::{Calm, Dark};
use crate::config::Side;
use crate::draw::canvas::StageCanvas;
use crate::draw::layout::{BoxId, LayoutBox};
use crate::draw::palette::Palette;
use crate::draw::stage::Hit;
use crate::now;
use crate::session::{Painter, Session};
use crate::why::Subject;
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use leptos_use::{use_intersection_observer, use_resize_observer};
use std::cell::RefCell;
use std::rc::Rc;

/// What the marks mean: class of the sample, words.
const LEGEND: [(&str, &str); 7] = [
    ("submit", "being submitted, in a plug"),
    ("queued", "in a ctx list, scheduler or dispatch list"),
    ("device", "with driver and device"),
    ("back", "completed, on its way back"),
    ("trouble", "refused; a lock that CPUs spin for"),
    ("idle", "waits for a tag"),
    ("write", "square: a write"),
];

/// What a canvas of the stage shows, shared with who draws it.
type Shown = StoredValue<Rc<RefCell<Option<StageCanvas>>>, LocalStorage>;

/// Keeps a canvas as large as its box and hands `session` a painter for it.
fn keep_picture(
    holder: NodeRef<Div>,
    canvas: NodeRef<Canvas>,
    set_painter: fn(&Session, Option<Painter>),
    boxes: Option<RwSignal<Vec<LayoutBox>>>,
) -> Shown {
    let session = Session::here();
    let (dark, calm) = (expect_context::<Dark>().0, expect_context::<Calm>().0);
    let picture: Rc<RefCell<Option<StageCanvas>>> = Rc::default();
    let picture = StoredValue::new_local(picture);
    let size = RwSignal::new((0.0, 0.0));
    let _ = use_resize_observer(holder, move |entries, _| {
        let rect = entries[0].content_rect();
        size.set((rect.width(), rect.height()));
    });
    Effect::new(move |_| {
        let (size, calm) = (size.get(), calm.get());
        let palette = if dark.get() { Palette::DARK } else { Palette::LIGHT };
        let Some(canvas) = canvas.get() else { return };
        let ratio = window().device_pixel_ratio().max(0.1);
        // Whole pixels of the screen: a canvas that ends within one would be blurred, and its edge never clean.
        let whole = |css: f64| (css * ratio).floor() / ratio;
        let size = (whole(size.0), whole(size.1));
        let style = web_sys::HtmlElement::style(&canvas);
        let _ = style.set_property("width", &format!("{}px", size.0));
        let _ = style.set_property("height", &format!("{}px", size.1));
        let fresh = picture.with_value(|p| {
            let mut p = p.borrow_mut();
            let fresh = p.is_none();
            if fresh {
                *p = StageCanvas::new(canvas, palette);
            }
            if let Some(p) = p.as_mut() {
                p.set_palette(palette);
                p.set_calm(calm);
                p.resize(size.0, size.1, ratio);
            }
            fresh
        });
        if fresh {
            let (picture, mut shown) = (picture.get_value(), None);
            let paint: Painter = Box::new(move |player, selected, dt_ms| {
                let mut picture = picture.borrow_mut();
                let Some(picture) = picture.as_mut() else { return false };
                let more = picture.frame(player, selected, dt_ms);
                if let Some(boxes) = boxes
                    && shown != Some(picture.version())
                {
                    shown = Some(picture.version());
                    boxes.set(picture.boxes(player));
                }
                more
            });
            set_painter(&session, Some(paint));
        }
        session.redraw();
    });
    on_cleanup(move || set_painter(&session, None));
    picture
}

/// The stage, and the controls of time below it.
#[component]
pub fn Stage(children: Children) -> impl IntoView {
    let session = Session::here();
    let holder: NodeRef<Div> = NodeRef::new();
    let canvas: NodeRef<Canvas> = NodeRef::new();
    let boxes = RwSignal::new(Vec::<LayoutBox>::new());
    let part = RwSignal::new(None::<LayoutBox>);
    let _ = use_intersection_observer(holder, move |entries, _| {
        session.set_hidden(None, entries.last().map(|e| !e.is_intersecting()));
    });
    let picture = keep_picture(holder, canvas, Session::set_painter, Some(boxes));

    let hit = move |e: &web_sys::MouseEvent| {
        let (x, y) = (f64::from(e.offset_x()), f64::from(e.offset_y()));
        session
            .with_player(|p| picture.with_value(|c| c.borrow().as_ref().and_then(|c| c.hit(p, x, y))))
            .flatten()
    };
    let box_of = move |id: &BoxId| boxes.with_untracked(|b| b.iter().find(|b| b.id == *id).cloned());
    let on_click = move |e: web_sys::MouseEvent| match hit(&e) {
        Some(Hit::Request(rq)) => session.select(Some(rq)),
        Some(Hit::Box(id)) => {
            part.set(box_of(&id));
            if session.selected.get_untracked().is_some() {
                session.select(None);
            }
        }
        None => session.select(None),
    };
    let caption = Memo::new(move |_| {
        session.beat.track();
        session.with_player(|p| now::sentence(p.scene())).unwrap_or_default()
    });
    let part_text = text(move || {
        session.beat.track();
        let Some(part) = part.get() else {
            return String::from("Click a request, a queue, a lock or a device to see what it holds.");
        };
        let state = session.with_player(|p| now::part(p, &part.id)).unwrap_or_default();
        let now = if state.is_empty() { String::new() } else { format!(" Now: {state}.") };
        format!("{}. {}.{now}", part.label, part.text)
    });
    let legend: String = LEGEND
        .iter()
        .map(|(class, words)| {
            format!("<li><i class=\"sample {class}\" aria-hidden=\"true\"></i>{words}</li>")
        })
        .collect();
    let why = act(move || {
        if let Some(subject) = part.with_untracked(|p| p.as_ref().and_then(|p| subject(&p.id))) {
            session.ask(subject);
        }
    });
    let both = move || session.both.get().then(|| view! { <Twin /> });
    let switch = Callback::new(move |on| session.set_both(on));
    view! {
        <section class="stage-box" class:both=session.both id="stage" aria-labelledby="stage-title">
            <h2 id="stage-title" tabindex="-1" class="hidden-text">"Stage"</h2>
            <p class="stage-which field inline">
                <SideName side=Signal::derive(move || session.side.get()) />
                <span class="stage-both">
                    <Switch id="both".into() value=session.both on=switch />
                    <label for="both">"A and B together"</label>
                </span>
            </p>
            <div class="stage" node_ref=holder>
                <canvas
                    node_ref=canvas
                    role="img"
                    aria-label="The way of requests from tasks over ctx lists and hctxs to the devices and back. The parts follow as buttons."
                    on:click=on_click
                ></canvas>
                <Parts boxes part />
            </div>
            {both}
            <p class="stage-now">{text(move || caption.get())}</p>
            {children()}
            <div class="stage-words">
                <p class="stage-part">{part_text}</p>
                <span hidden=state(move || part.read().as_ref().is_none_or(|p| subject(&p.id).is_none()))>
                    <Button class="quiet" on=why words=String::from("Ask why") />
                </span>
            </div>
            <ul class="legend" aria-label="What the marks mean" inner_html=legend></ul>
        </section>
    }
}

/// What can be asked of a part besides the requests in it.
fn subject(id: &BoxId) -> Option<Subject> {
    match *id {
        BoxId::Cpu(cpu) => Some(Subject::Cpu(cpu)),
        BoxId::Object(id) => Some(Subject::Object(id)),
        _ => None,
    }
}

/// Letter and name of a policy.
#[component]
fn SideName(side: Signal<Side>) -> impl IntoView {
    let session = Session::here();
    let class = text(move || format!("badge {}", side.get().letter()));
    view! {
        <span class="stage-side">
            <span class=class>{text(move || side.get().letter().into())}</span>
            " "
            <span>{text(move || session.config.with(|c| c.label(side.get())))}</span>
        </span>
    }
}

/// The other policy at the same moment.
#[component]
fn Twin() -> impl IntoView {
    let session = Session::here();
    let holder: NodeRef<Div> = NodeRef::new();
    let canvas: NodeRef<Canvas> = NodeRef::new();
    keep_picture(holder, canvas, Session::set_twin_painter, None);
    let name = text(move || {
        let other = session.side.get().other().letter();
        format!("The same moment under policy {other}; press {} to bring it up", other.to_lowercase())
    });
    view! {
        <p class="stage-which">
            <SideName side=Signal::derive(move || session.side.get().other()) />
        </p>
        <div class="stage twin-stage" node_ref=holder>
            <canvas
                node_ref=canvas
                role="img"
                aria-label=name
                on:click=move |_| session.show(session.side.get_untracked().other())
            ></canvas>
        </div>
    }
}

/// The parts of the map as buttons over it: one stop of the tab key, arrows move on.
#[component]
fn Parts(boxes: RwSignal<Vec<LayoutBox>>, part: RwSignal<Option<LayoutBox>>) -> impl IntoView {
    let session = Session::here();
    let group: NodeRef<Div> = NodeRef::new();
    let at = RwSignal::new(0usize);
    let stop = Memo::new(move |_| at.get().min(boxes.read().len().saturating_sub(1)));
    let on_key = move |e: web_sys::KeyboardEvent| {
        let last = boxes.read_untracked().len().saturating_sub(1);
        let now = stop.get_untracked();
        let next = match e.key().as_str() {
            "ArrowRight" | "ArrowDown" => (now + 1).min(last),
            "ArrowLeft" | "ArrowUp" => now.saturating_sub(1),
            "Home" => 0,
            "End" => last,
            _ => return,
        };
        e.prevent_default();
        at.set(next);
        let button = group.get_untracked().and_then(|g| g.children().item(next as u32));
        if let Some(button) =
            button.and_then(|b| wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(b).ok())
        {
            let _ = button.focus();
        }
    };
    let item = move |index: usize, b: LayoutBox| -> Item {
        let own = key((index, &b.id, corners(&b)));
        let make = move || {
            let (id, shown) = (b.id.clone(), b.clone());
            let place =
                format!("left:{}px;top:{}px;width:{}px;height:{}px", b.rect.x, b.rect.y, b.rect.w, b.rect.h);
            view! {
                <button
                    type="button"
                    class="part"
                    tabindex=text(move || String::from(if stop.get() == index { "0" } else { "-1" }))
                    aria-label=format!("{}. {}", b.label, b.text)
                    style=place
                    on:focus=move |_| {
                        at.set(index);
                        part.set(Some(shown.clone()));
                    }
                    on:click=move |_| {
                        let first = session.with_player(|p| now::first_in(p.scene(), &id)).flatten();
                        match (first, subject(&id)) {
                            (Some(_), _) => session.select(first),
                            (None, Some(subject)) => session.ask(subject),
                            (None, None) => {}
                        }
                    }
                ></button>
            }
        };
        (own, make.into())
    };
    let items = Callback::new(move |()| {
        boxes.get().into_iter().enumerate().map(|(index, b)| item(index, b)).collect::<Vec<_>>()
    });
    view! {
        <div
            class="stage-parts"
            node_ref=group
            role="group"
            aria-label="Parts of the stage: arrow keys go from one to the next, Enter selects the first request in it or asks why"
            on:keydown=on_key
        >
            <List items />
        </div>
    }
}

/// A box's place as a key.
fn corners(b: &LayoutBox) -> [i32; 4] {
    [b.rect.x, b.rect.y, b.rect.w, b.rect.h].map(|v| v.round() as i32)
}
