//! Files out of the page and into it.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Offers `content` as a download; false where the browser has no way to do it.
pub fn offer(name: &str, kind: &str, content: &[u8]) -> bool {
    let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(content));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    let address = web_sys::Blob::new_with_u8_array_sequence_and_options(&parts, &options)
        .and_then(|blob| web_sys::Url::create_object_url_with_blob(&blob));
    let Ok(address) = address else { return false };
    let done = offer_address(name, &address);
    // The browser has begun to read by the time the click returns.
    let _ = web_sys::Url::revoke_object_url(&address);
    done
}

/// Offers what lies at an address of the page's own as a download.
pub fn offer_address(name: &str, address: &str) -> bool {
    let anchor = document().create_element("a").and_then(|a| {
        a.set_attribute("href", address)?;
        a.set_attribute("download", name)?;
        a.dyn_into::<web_sys::HtmlElement>().map_err(JsValue::from)
    });
    anchor.map(|a| a.click()).is_ok()
}

/// Reads a file of at most `most` bytes and hands its text, or why it cannot be read, to `done`.
pub fn read_text(file: web_sys::File, most: usize, done: impl FnOnce(Result<Vec<u8>, String>) + 'static) {
    let (name, size) = (file.name(), file.size());
    if size > most as f64 {
        return done(Err(format!("{name} has {size} bytes; at most {most} are read.")));
    }
    leptos::task::spawn_local(async move {
        done(match JsFuture::from(file.array_buffer()).await {
            Ok(buffer) => Ok(js_sys::Uint8Array::new(&buffer).to_vec()),
            Err(_) => Err(format!("{name} could not be read.")),
        });
    });
}
