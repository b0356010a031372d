//! A canvas that follows its box, the colours and what its painter reads, while it is in view.

use crate::app::Dark;
use crate::draw::canvas::CanvasPaint;
use crate::draw::palette::Palette;
use leptos::ev;
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use leptos_use::{use_event_listener, use_intersection_observer, use_resize_observer};

/// What a picture is painted on.
pub(super) struct Easel {
    /// The canvas itself, for a painter of its own.
    pub canvas: web_sys::HtmlCanvasElement,
    /// Size in CSS pixels.
    pub size: (f64, f64),
    /// Pixels of the screen in one of CSS.
    pub ratio: f64,
    /// The page's text size, CSS pixels.
    pub rem: f64,
    /// Colours.
    pub palette: Palette,
}

impl Easel {
    /// A cleared canvas to paint on; `None` where there is no room or the browser has no 2D context.
    pub(super) fn paint(&self) -> Option<CanvasPaint> {
        let (width, height) = self.size;
        if width < 1.0 || height < 1.0 {
            return None;
        }
        CanvasPaint::cleared(&self.canvas, self.size, self.ratio, self.palette)
    }
}

/// Where a picture was pressed, CSS pixels.
#[derive(Clone, Copy)]
pub(super) struct Press {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Width of the picture.
    pub width: f64,
    /// The page's text size.
    pub rem: f64,
}

/// The page's text size, CSS pixels.
pub(super) fn root_size() -> f64 {
    let root = document().document_element();
    let style = root.and_then(|root| window().get_computed_style(&root).ok().flatten());
    let size = style.and_then(|s| s.get_property_value("font-size").ok());
    size.and_then(|s| s.trim_end_matches("px").parse().ok()).unwrap_or(16.0)
}

/// The picture. What `draw` reads it is drawn again for; nothing is drawn out of sight.
#[component]
pub(super) fn Picture(
    /// Class of its box, which gives it its height unless `height` does.
    class: &'static str,
    /// What it shows, for who cannot see it.
    label: Signal<String>,
    /// Height of the box, CSS pixels.
    #[prop(optional, into)]
    height: Option<Signal<f64>>,
    /// Paints it.
    draw: Callback<Easel>,
    /// What pressing it does; a table does the same for who has no pointer.
    #[prop(optional)]
    press: Option<Callback<Press>>,
) -> impl IntoView {
    let node: NodeRef<Div> = NodeRef::new();
    let canvas: NodeRef<Canvas> = NodeRef::new();
    let dark = expect_context::<Dark>().0;
    let size = RwSignal::new((0.0, 0.0));
    let shown = RwSignal::new(false);
    let _ = use_resize_observer(node, move |entries, _| {
        let rect = entries[0].content_rect();
        size.set((rect.width(), rect.height()));
    });
    let _ = use_intersection_observer(node, move |entries, _| {
        shown.set(entries.last().is_some_and(|e| e.is_intersecting()));
    });
    // What was out of sight so far must be there on paper.
    let printing = RwSignal::new(false);
    for (name, on) in [("beforeprint", true), ("afterprint", false)] {
        let _ =
            use_event_listener(window(), ev::Custom::<web_sys::Event>::new(name), move |_| printing.set(on));
    }
    Effect::new(move |drawn: Option<Option<((f64, f64), bool)>>| {
        let now = (size.get(), dark.get());
        if now.0.0 <= 0.0 {
            // Not laid out yet: to ask for the page's text size now would lay it all out at once.
            return None;
        }
        // Once in each size and theme also out of sight, so that a canvas is never a blurred one that grew.
        let wanted = shown.get() || printing.get() || drawn.flatten() != Some(now);
        let canvas = canvas.get()?;
        if wanted {
            let palette = if now.1 { Palette::DARK } else { Palette::LIGHT };
            let ratio = window().device_pixel_ratio().clamp(0.5, 4.0);
            draw.run(Easel { canvas, size: now.0, ratio, rem: root_size(), palette });
        }
        Some(now)
    });
    let style = move || height.map(|h| format!("height:{}px", h.get()));
    view! {
        <div class=class node_ref=node style=Signal::derive(move || style().unwrap_or_default())>
            <canvas
                node_ref=canvas
                class:pressed=press.is_some()
                role="img"
                aria-label=label
                on:click=move |e| {
                    if let Some(press) = press {
                        let (x, y) = (f64::from(e.offset_x()), f64::from(e.offset_y()));
                        press.run(Press { x, y, width: size.get_untracked().0, rem: root_size() });
                    }
                }
            ></canvas>
        </div>
    }
}

/// Details that are filled only while they are open.
#[component]
pub(super) fn Fold(
    /// What is inside.
    summary: &'static str,
    /// Set while it is open.
    open: RwSignal<bool>,
    /// What it holds.
    children: Children,
) -> impl IntoView {
    let toggled = move |e: web_sys::Event| {
        let details = event_target::<web_sys::Element>(&e);
        open.set(details.has_attribute("open"));
    };
    view! {
        <details class="more" on:toggle=toggled>
            <summary>{summary}</summary>
            {children()}
        </details>
    }
}
