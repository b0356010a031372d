//! What can be kept: moments with a note, the scenario as a file, numbers and pictures.

use super::control::{Button, FileButton, Line, act, focus, state, text};
use super::icon::Shape;
use super::table::{Item, List, key};
use crate::app::Dark;
use crate::config::{BOOKMARKS_MAX, Bookmark, NOTE_MAX};
use crate::files;
use crate::session::Session;
use crate::words;
use leptos::prelude::*;

/// The panel.
#[component]
pub fn Keep() -> impl IntoView {
    let session = Session::here();
    let (note, dark) = (RwSignal::new(String::new()), expect_context::<Dark>().0);
    let add = act(move || {
        if session.bookmark(&note.get_untracked()) {
            note.set(String::new());
        }
    });
    let item = move |mark: Bookmark| -> Item {
        let own = key((mark.at_ns, &mark.note));
        let make = move || {
            let Bookmark { at_ns, note } = mark.clone();
            let name = words::moment(at_ns);
            let remove_it = act(move || {
                session.forget_bookmark(at_ns);
                focus("note");
            });
            let remove = format!("Remove the bookmark at {name}");
            let label = if note.is_empty() { name } else { format!("{name}: {note}") };
            view! {
                <li class="bookmark">
                    <Button class="quiet link" on=act(move || session.seek_paused(at_ns)) words=label />
                    <Button class="quiet" on=remove_it shape=Shape::Close name=remove />
                </li>
            }
        };
        (own, make.into())
    };
    let items = Callback::new(move |()| session.bookmarks.get().into_iter().map(item).collect::<Vec<_>>());
    let none = state(move || session.bookmarks.with(|b| !b.is_empty()));
    let take = move |file: Option<web_sys::File>| {
        let Some(file) = file else { return };
        files::read_text(file, crate::url::FILE_MAX, move |read| match read {
            Ok(bytes) => session.load_file(&String::from_utf8_lossy(&bytes)),
            Err(problem) => session.notify(problem),
        });
    };
    let kept = move |done: bool| {
        if !done {
            session.notify("This browser does not let the page offer a file.");
        }
    };
    let scenario =
        act(move || kept(files::offer("scenario.mqscope.txt", "text/plain", session.file().as_bytes())));
    let numbers = act(move || kept(files::offer("numbers.csv", "text/csv", session.csv().as_bytes())));
    let shell =
        act(move || kept(files::offer("settings.sh", "text/x-shellscript", session.shell().as_bytes())));
    let svg = act(move || {
        kept(
            session
                .svg(dark.get_untracked())
                .is_some_and(|svg| files::offer("stage.svg", "image/svg+xml", svg.as_bytes())),
        );
    });
    let png =
        act(move || kept(stage_png().is_some_and(|address| files::offer_address("stage.png", &address))));
    view! {
        <section class="panel keep" id="keep" aria-labelledby="keep-title">
            <div class="panel-head">
                <h2 id="keep-title">"Moments and files"</h2>
                <FileButton words="Open a scenario" accept=".txt,text/plain" on=Callback::new(take) />
            </div>
            <p class="field-help" id="note-help">
                {format!("A moment is kept in the link, with a note of up to {NOTE_MAX} characters; at most {BOOKMARKS_MAX}.")}
            </p>
            <div class="keep-row">
                <p class="field keep-note">
                    <label for="note">"Note"</label>
                    <Line
                        id="note".into()
                        kind="text"
                        help="note-help".into()
                        value=text(move || note.get())
                        example="here the queue runs empty".to_string()
                        on=Callback::new(move |value: String| note.set(value))
                    />
                </p>
                <Button class="" on=add words=String::from("Keep this moment") keys="m" />
            </div>
            <ul class="bookmarks" aria-label="Moments kept">
                <List items />
            </ul>
            <p class="empty" hidden=none>"No moment is kept yet."</p>
            <div class="keep-row" role="group" aria-label="Save as a file">
                <Button class="" on=scenario words=String::from("Scenario") />
                <Button class="" on=numbers words=String::from("Numbers (CSV)") />
                <Button class="" on=shell words=String::from("Settings (shell)") />
                <Button class="" on=png words=String::from("Stage (PNG)") />
                <Button class="" on=svg words=String::from("Stage (SVG)") />
            </div>
        </section>
    }
}

/// The picture on the stage's canvas as the address of a PNG.
fn stage_png() -> Option<String> {
    use wasm_bindgen::JsCast;
    let canvas = document().query_selector("#stage canvas").ok().flatten()?;
    canvas.dyn_into::<web_sys::HtmlCanvasElement>().ok()?.to_data_url().ok()
}
