//! The page, mounted into a document and taken down again.

use crate::{sleep, until};
use leptos::mount::mount_to;
use mqscope_web::app::App;
use mqscope_web::crash;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{HtmlElement, HtmlInputElement, HtmlTextAreaElement, KeyboardEvent, KeyboardEventInit};

fn document() -> web_sys::Document {
    web_sys::window().and_then(|w| w.document()).expect("a document")
}

fn set_hash(hash: &str) {
    web_sys::window().expect("a window").location().set_hash(hash).expect("a hash");
}

/// The page's own styles: without them the stage would lie out of sight, where nothing plays.
fn dress() {
    if document().get_element_by_id("styles").is_none() {
        let style = document().create_element("style").expect("a style");
        style.set_id("styles");
        style.set_text_content(Some(concat!(
            include_str!("../../../public/tokens.css"),
            include_str!("../../../public/layout.css"),
            include_str!("../../../public/controls.css"),
            include_str!("../../../public/parts.css"),
            include_str!("../../../public/panels.css"),
            include_str!("../../../public/scheduler.css"),
        )));
        document().head().expect("a head").append_child(&style).expect("in the head");
    }
}

/// A place of its own in the document.
fn place() -> HtmlElement {
    dress();
    let place: HtmlElement = document().create_element("div").expect("a div").unchecked_into();
    document().body().expect("a body").prepend_with_node_1(&place).expect("in the body");
    web_sys::window().expect("a window").scroll_to_with_x_and_y(0.0, 0.0);
    place
}

/// Mounts the page and waits until all of it is built.
async fn mounted(place: &HtmlElement) -> impl Drop + use<> {
    let page = mount_to(place.clone(), App);
    assert!(until(|| !text(place, "#keep").is_empty()).await, "the last part is built");
    page
}

/// Writes into a field as a user does.
fn write(field: &HtmlInputElement, value: &str, event: &str) {
    field.set_value(value);
    let init = web_sys::EventInit::new();
    init.set_bubbles(true);
    let event = web_sys::Event::new_with_event_init_dict(event, &init).expect("an event");
    field.dispatch_event(&event).expect("sent");
}

fn text(place: &HtmlElement, selector: &str) -> String {
    place.query_selector(selector).ok().flatten().and_then(|e| e.text_content()).unwrap_or_default()
}

fn element<T: JsCast>(place: &HtmlElement, selector: &str) -> T {
    let found = place.query_selector(selector).ok().flatten().unwrap_or_else(|| panic!("no {selector}"));
    found.dyn_into().unwrap_or_else(|_| panic!("another kind of {selector}"))
}

fn press(key: &str) {
    let init = KeyboardEventInit::new();
    init.set_key(key);
    init.set_bubbles(true);
    let event = KeyboardEvent::new_with_keyboard_event_init_dict("keydown", &init).expect("an event");
    document().body().expect("a body").dispatch_event(&event).expect("dispatched");
}

#[wasm_bindgen_test]
async fn the_page_lives_stops_at_a_key_steps_and_can_be_taken_down() {
    set_hash("v=1");
    let place = place();
    let page = mounted(&place).await;
    let start = text(&place, ".clock-now");
    assert!(until(|| text(&place, ".clock-now") != start).await, "it plays without a click");

    press(" ");
    sleep(100).await;
    let stands = text(&place, ".clock-now");
    sleep(150).await;
    assert_eq!(text(&place, ".clock-now"), stands, "space stops it");
    press(".");
    assert!(until(|| text(&place, ".clock-now") != stands).await, "a step moves it");
    let stepped = text(&place, ".clock-now");
    press(".");
    press(",");
    assert!(until(|| text(&place, ".clock-now") == stepped).await, "and a step back undoes the next");

    assert!(until(|| text(&place, ".card .figure") != "–").await, "numbers come by themselves");
    drop(page);
    press(" ");
    press(".");
    sleep(100).await;
    assert_eq!(place.child_element_count(), 0, "nothing is left, and keys reach nobody");
    place.remove();
}

#[wasm_bindgen_test]
async fn an_address_gives_its_picture_and_a_bad_one_says_why() {
    set_hash("v=1&preset=plug-merge&side=b&t=5us&paused=1&theme=dark&wat=1");
    let place = place();
    let page = mounted(&place).await;
    assert!(
        until(|| text(&place, ".clock-now").starts_with("0.005")).await,
        "{}",
        text(&place, ".clock-now")
    );
    assert_eq!(text(&place, "#policy-title .badge"), "B");
    assert!(text(&place, ".notices").contains("'wat'"), "{}", text(&place, ".notices"));
    assert!(
        until(|| document().document_element().and_then(|e| e.get_attribute("data-theme")).as_deref()
            == Some("dark"))
        .await
    );
    drop(page);
    place.remove();
}

#[wasm_bindgen_test]
async fn a_slip_in_the_job_is_shown_at_its_line_and_stops_the_run() {
    set_hash("v=1&paused=1");
    let place = place();
    let page = mounted(&place).await;
    let job: HtmlTextAreaElement = element(&place, "#job");
    let write = |text: &str| {
        job.set_value(text);
        let init = web_sys::EventInit::new();
        init.set_bubbles(true);
        job.dispatch_event(&web_sys::Event::new_with_event_init_dict("input", &init).expect("an event"))
            .expect("sent");
    };
    write("[a]\ndirect=1\nrw=randraed\n");
    assert!(until(|| text(&place, "#findings").contains("line 3")).await, "{}", text(&place, "#findings"));
    let run: HtmlElement = element(&place, "#workload .primary");
    assert_eq!(run.get_attribute("aria-disabled").as_deref(), Some("true"));
    run.click();
    assert!(!text(&place, "#title").contains("own job"), "a button that is disabled does nothing");
    assert_eq!(text(&place, ".gutter .error"), "3");
    write("[a]\ndirect=1\nrw=randread\nfilename=/dev/sdb\n");
    assert!(until(|| text(&place, "#findings").is_empty()).await, "{}", text(&place, "#findings"));
    element::<HtmlElement>(&place, "#workload .primary").click();
    assert!(until(|| text(&place, "#title").contains("own job")).await);
    drop(page);
    place.remove();
}

#[wasm_bindgen_test]
async fn a_knob_changes_the_run_from_the_playhead_and_the_address_keeps_it() {
    set_hash("v=1&t=300us&paused=1");
    let place = place();
    let page = mounted(&place).await;
    element::<HtmlElement>(&place, "#when-now").click();
    write(&element(&place, "#find"), "plug_max_multi", "input");
    assert!(until(|| text(&place, "#find-count") == "1 found").await, "{}", text(&place, "#find-count"));
    write(&element(&place, "#found-plug_max_multi"), "4", "change");
    let kept = || {
        let hash = web_sys::window().and_then(|w| w.location().hash().ok()).unwrap_or_default();
        hash.contains("a.at=300us@4.14,plug_max_multi:4")
    };
    assert!(until(kept).await, "{:?}", web_sys::window().map(|w| w.location().hash()));
    assert!(
        until(|| place.query_selector(".mark-change").ok().flatten().is_some()).await,
        "a mark in the timeline"
    );
    drop(page);
    place.remove();
}

#[wasm_bindgen_test]
async fn a_scheduler_in_the_address_shows_its_inside() {
    set_hash("v=1&preset=deadline-mix&a.q=kyber,nr_requests:32&t=5ms&paused=1");
    let place = place();
    let page = mounted(&place).await;
    assert!(
        until(|| text(&place, "#elevator-title") == "Inside kyber").await,
        "{}",
        text(&place, "#elevator")
    );
    let nr_requests = || element::<HtmlInputElement>(&place, "#first-nr_requests").value();
    assert!(until(|| nr_requests() == "32").await, "{:?}", nr_requests());
    element::<HtmlElement>(&place, "#elevator").scroll_into_view();
    assert!(until(|| text(&place, "#elevator .facts").contains("domain_tokens[READ]")).await);
    drop(page);
    place.remove();
}

#[wasm_bindgen_test]
fn a_crash_keeps_the_job() {
    let root = document().create_element("div").expect("a div");
    root.set_id("crash");
    document().body().expect("a body").append_child(&root).expect("in the body");
    crash::remember("[mine]\nrw=read\n");
    crash::show("it broke", "here.rs:1");
    crash::show("and again", "there.rs:2");
    let job: HtmlTextAreaElement =
        root.query_selector("textarea").ok().flatten().expect("a text area").unchecked_into();
    assert_eq!(job.value(), "[mine]\nrw=read\n");
    let all = root.text_content().unwrap_or_default();
    assert!(all.contains("it broke") && !all.contains("and again"), "{all}");
    root.remove();
}
