//! What the user sees if the program stops at a defect: what happened, and the job that was in the editor.

use std::cell::RefCell;

thread_local! {
    static JOB: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps a copy of the job for [`hook`].
pub fn remember(job: &str) {
    JOB.with(|j| {
        if let Ok(mut j) = j.try_borrow_mut() {
            job.clone_into(&mut j);
        }
    });
}

/// From now on a panic shows a readable message in `#crash`, if the page has one.
pub fn hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
        let payload = info.payload();
        let what = payload
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| String::from("no message"));
        web_sys::console::error_1(&format!("mqscope stopped at {place}: {what}").into());
        // The runtime is in an unknown state: only plain DOM calls from here on.
        show(&what, &place);
    }));
}

/// Shows the message, once: the first crash is the one that matters.
pub fn show(what: &str, place: &str) {
    // Without a place for it there is nothing to show it in; the console has it.
    let _ = try_show(what, place);
}

fn try_show(what: &str, place: &str) -> Option<()> {
    let document = web_sys::window()?.document()?;
    let root = document.get_element_by_id("crash")?;
    if root.has_child_nodes() {
        return None;
    }
    let add = |parent: &web_sys::Element, tag: &str, text: &str| {
        let element = document.create_element(tag).ok()?;
        element.set_text_content(Some(text));
        parent.append_child(&element).ok()?;
        Some(element)
    };
    root.set_class_name("crash");
    add(&root, "h2", "mqscope stopped at a defect of its own")?;
    add(
        &root,
        "p",
        "What is on the page is no longer live. Your job is kept below; copy it, then start again.",
    )?;
    let job = add(&root, "textarea", "")?;
    job.set_attribute("aria-label", "Your job").ok()?;
    job.set_attribute("rows", "10").ok()?;
    job.set_attribute("readonly", "").ok()?;
    JOB.with(|j| {
        if let Ok(j) = j.try_borrow() {
            job.set_text_content(Some(j.as_str()));
        }
    });
    let links = add(&root, "p", "")?;
    let again = add(&links, "a", "Start with the same address")?;
    // A changed query makes the browser load the page, not only follow the fragment.
    again.set_attribute("href", &format!("?again{}", web_sys::window()?.location().hash().ok()?)).ok()?;
    add(&links, "span", " · ")?;
    add(&links, "a", "Start afresh")?.set_attribute("href", "?afresh").ok()?;
    add(&root, "pre", &format!("{what}\n{place}"))?;
    Some(())
}
