//! Tests in a real browser: the player against a real clock, the JS API with real JS values, the page mounted and
//! taken down. Run by `cargo xtask test`; by hand with wasm-bindgen-test-runner as the runner and a chromedriver.
#![cfg(target_arch = "wasm32")]

mod api;
mod page;
mod player;

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);

/// Waits on the wall clock.
async fn sleep(ms: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let window = web_sys::window().expect("a window");
        window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms).expect("a timer");
    });
    JsFuture::from(promise).await.expect("no rejection");
}

/// Waits for the next frame; gives its time, ms.
async fn frame() -> f64 {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let window = web_sys::window().expect("a window");
        window.request_animation_frame(&resolve).expect("a frame");
    });
    JsFuture::from(promise).await.expect("no rejection").as_f64().expect("a time")
}

/// Looks until `done`, for two seconds at most.
async fn until(mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..200 {
        if done() {
            return true;
        }
        sleep(10).await;
    }
    false
}

/// The message of a JS error.
fn message(error: JsValue) -> String {
    error.dyn_into::<js_sys::Error>().expect("an Error").message().into()
}
