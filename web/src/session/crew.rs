//! Who computes numbers: two workers that load the same wasm file, or this page where no worker can be had.
//!
//! `public/worker.js` is the other end. A worker is sent the compiled module, then orders ([`crate::desk`]) and whether the
//! page is in sight; it answers with bytes, and with null when it has started. Each order has a number of its own, by
//! which a late answer to an earlier one is known.

use super::Session;
use crate::desk::{Answer, Desk};
use js_sys::Uint8Array;
use std::sync::Arc;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

#[wasm_bindgen]
extern "C" {
    /// The wall clock of a page or a worker, ms.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn now_ms() -> f64;
}

/// Beside the page, wherever that is served. Another page that mounts the application from elsewhere has no such file and
/// computes by itself.
const SCRIPT: &str = "worker.js";

/// What a worker does ([`crate::desk::Desk`]); for `public/worker.js` alone.
#[wasm_bindgen(js_name = Desk)]
#[derive(Default)]
pub struct WorkerDesk(Desk);

#[wasm_bindgen(js_class = Desk)]
impl WorkerDesk {
    /// Without an order.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        crate::crash::hook();
        Self::default()
    }

    /// Takes an order in the place of the last one.
    pub fn take(&mut self, order: &[u8]) {
        self.0.take(order);
    }

    /// Whether there is something to do.
    #[wasm_bindgen(getter)]
    pub fn open(&self) -> bool {
        self.0.open()
    }

    /// Works for one slice; an answer when one is due.
    pub fn slice(&mut self) -> Option<Vec<u8>> {
        self.0.slice(now_ms)
    }
}

enum Who {
    /// Not hired yet.
    Nobody,
    Worker {
        worker: Worker,
        started: bool,
    },
    Page(Desk),
}

/// One of the two, and the order that it works on.
pub(super) struct Hand {
    who: Who,
    order: Option<(u64, Vec<u8>)>,
}

impl Default for Hand {
    fn default() -> Self {
        Self { who: Who::Nobody, order: None }
    }
}

impl Hand {
    /// Gives an order; what was asked for before is dropped.
    pub(super) fn give(&mut self, session: Session, index: usize, seen: bool, id: u64, order: Vec<u8>) {
        if let Who::Nobody = self.who {
            self.who = match hire(session, index) {
                Some(worker) => Who::Worker { worker, started: false },
                None => Who::Page(Desk::default()),
            };
            self.look(seen);
        }
        self.send(&order);
        self.order = Some((id, order));
    }

    fn send(&mut self, order: &[u8]) {
        match &mut self.who {
            Who::Worker { worker, .. } => _ = worker.post_message(&Uint8Array::from(order)),
            Who::Page(desk) => desk.take(order),
            Who::Nobody => {}
        }
    }

    /// Drops what it works on.
    pub(super) fn stop(&mut self) {
        if self.order.take().is_some() {
            self.send(&[]);
        }
    }

    /// Whether nothing is to come from it.
    pub(super) fn idle(&self) -> bool {
        self.order.is_none()
    }

    /// Whether the page is in sight; a worker stands still while it is not.
    pub(super) fn look(&self, seen: bool) {
        if let Who::Worker { worker, .. } = &self.who {
            let _ = worker.post_message(&JsValue::from_bool(seen));
        }
    }

    /// Whether this page has to work itself.
    pub(super) fn waits_for_page(&self) -> bool {
        matches!(&self.who, Who::Page(desk) if desk.open())
    }

    /// Works here for one slice.
    pub(super) fn slice(&mut self) -> Option<Vec<u8>> {
        match &mut self.who {
            Who::Page(desk) => desk.slice(super::frames::wall_ms),
            _ => None,
        }
    }

    /// Whether an answer is to the order it works on.
    fn expects(&mut self, answer: &Answer) -> bool {
        let expected = self.order.as_ref().is_some_and(|(id, _)| *id == answer.id);
        if expected && answer.finished {
            self.order = None;
        }
        expected
    }

    /// Its worker is no more. One that never started is replaced by the page; true if it had, and what it did is lost.
    fn lose(&mut self) -> bool {
        let Who::Worker { worker, started } = std::mem::replace(&mut self.who, Who::Nobody) else {
            return false;
        };
        worker.terminate();
        if started {
            // The same order would end the same way, and here it would take the page with it.
            self.order = None;
        } else {
            self.who = Who::Page(Desk::default());
            if let Some((_, order)) = self.order.clone() {
                self.send(&order);
            }
        }
        started
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        if let Who::Worker { worker, .. } = &self.who {
            worker.terminate();
        }
    }
}

/// Starts a worker; `None` where the browser has none or lets none start.
fn hire(session: Session, index: usize) -> Option<Worker> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let worker = Worker::new_with_options(SCRIPT, &options).ok()?;
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |e: MessageEvent| {
        session.on_message(index, e.data());
    });
    let failed = Closure::<dyn FnMut(ErrorEvent)>::new(move |e: ErrorEvent| {
        // Said in words below; it is no error of the page.
        e.prevent_default();
        session.on_worker_lost(index);
    });
    worker.set_onmessage(Some(heard.into_js_value().unchecked_ref()));
    worker.set_onerror(Some(failed.into_js_value().unchecked_ref()));
    worker.post_message(&wasm_bindgen::module()).ok()?;
    Some(worker)
}

impl Session {
    fn on_message(&self, index: usize, data: JsValue) {
        self.with_local(|l| {
            if let Who::Worker { started, .. } = &mut l.hands[index].who {
                *started = true;
            }
        });
        if let Ok(bytes) = data.dyn_into::<Uint8Array>() {
            self.on_answer(index, bytes.to_vec());
        }
    }

    /// Takes over what a hand says, unless something else was asked for since.
    pub(super) fn on_answer(&self, index: usize, bytes: Vec<u8>) {
        use leptos::prelude::Set;
        let Some(answer) = Answer::read(&bytes) else { return };
        if self.with_local(|l| l.hands[index].expects(&answer)) != Some(true) {
            return;
        }
        if self.takes_trial(index, &answer) {
            return self.continue_runs();
        }
        if let Some(numbers) = answer.numbers {
            self.numbers[index].set(Some(Arc::new(numbers)));
        }
        if let Some(account) = answer.account {
            self.twins.set(Some(Arc::new(account)));
        }
        self.continue_runs();
    }

    fn on_worker_lost(&self, index: usize) {
        if self.with_local(|l| l.hands[index].lose()) == Some(true) {
            self.notify(
                "A run for the numbers stopped at a defect of the simulator, so they are missing or incomplete. The stage \
                 is not concerned; where it stopped is in the browser's console.",
            );
        }
        self.lose_trial(index);
        self.continue_runs();
    }
}
