//! Line icons on a grid of 20, drawn with the text's colour.

use leptos::prelude::*;

/// What an icon shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Triangle.
    Play,
    /// Two bars.
    Pause,
    /// One event on.
    Forward,
    /// One event back.
    Back,
    /// To the start.
    Start,
    /// To the end.
    End,
    /// To the request's next stage.
    Stage,
    /// To the mark before.
    MarkBack,
    /// To the next mark.
    MarkForward,
    /// A way with a flag at its end.
    Tour,
    /// Sun and moon.
    Theme,
    /// Chain.
    Link,
    /// Keyboard.
    Keys,
    /// Cross.
    Close,
    /// Turning arrow.
    Reset,
    /// A glass with a plus.
    Closer,
    /// A glass with a minus.
    Wider,
}

impl Shape {
    fn path(self) -> &'static str {
        match self {
            Self::Play => "M6 4v12l10-6z",
            Self::Pause => "M6.5 4v12M13.5 4v12",
            Self::Forward => "M5 10h7M9 6l4 4-4 4M16 5v10",
            Self::Back => "M15 10H8M11 6l-4 4 4 4M4 5v10",
            Self::Start => "M5 4v12M15 4l-7 6 7 6z",
            Self::End => "M15 4v12M5 4l7 6-7 6z",
            Self::Stage => "M3 10h5M12 10h5M8 7h4v6H8zM15 7.5 17.5 10 15 12.5",
            Self::Tour => "M4 16h5a3 3 0 0 0 0-6H8a3 3 0 0 1 0-6h7M12 1.5 15 4l-3 2.5",
            Self::MarkBack => "M14 17V3M14 4H7l2 3-2 3h7M5 13l-2 2 2 2M3 15h6",
            Self::MarkForward => "M6 17V3M6 4h7l-2 3 2 3H6M15 13l2 2-2 2M17 15h-6",
            Self::Theme => "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
            Self::Link => "M8 12l4-4M7 9 5 11a2.8 2.8 0 0 0 4 4l2-2M13 11l2-2a2.8 2.8 0 0 0-4-4L9 7",
            Self::Keys => "M3 6h14v8H3zM6 9h.01M10 9h.01M14 9h.01M7 11.5h6",
            Self::Close => "M5 5l10 10M15 5 5 15",
            Self::Closer => "M14 9A5 5 0 1 1 4 9a5 5 0 0 1 10 0zM12.5 12.5 17 17M9 6.5v5M6.5 9h5",
            Self::Wider => "M14 9A5 5 0 1 1 4 9a5 5 0 0 1 10 0zM12.5 12.5 17 17M6.5 9h5",
            Self::Reset => "M5 8a6 6 0 1 1-.5 4M5 4v4h4",
        }
    }
}

/// An icon; the control it stands in has the name.
#[component]
pub fn Icon(
    /// What it shows; may change.
    #[prop(into)]
    shape: Signal<Shape>,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
            <path d=move || shape.get().path() />
        </svg>
    }
}
