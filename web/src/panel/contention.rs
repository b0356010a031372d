//! Locks and shared lines by the time lost on them, both policies side by side.

use super::control::state;
use super::table::{Cell, Row, Rows, key, on_arrows};
use crate::numbers::Numbers;
use crate::player::Player;
use crate::session::Session;
use crate::why::Subject;
use crate::words::{self, Say};
use leptos::prelude::*;
use mqscope_core::report::ObjectReport;
use mqscope_core::topology::Object;
use std::sync::Arc;

/// A class of objects in both runs.
#[derive(Clone, Debug, PartialEq)]
struct Joined {
    class: String,
    kind: String,
    members: u32,
    sides: [Option<Cells>; 2],
    lost: u64,
}

/// What is shown of one side.
#[derive(Clone, Debug, PartialEq)]
struct Cells {
    per_io: f64,
    contended: f64,
    wait_ns: f64,
    lost_ns: f64,
}

/// Rows of both sides joined by class, most time lost first. `ios` are completed I/Os of each side.
fn join(sides: [(&[ObjectReport], u64); 2]) -> Vec<Joined> {
    let mut rows: Vec<Joined> = Vec::new();
    for (side, (objects, ios)) in sides.into_iter().enumerate() {
        for o in objects {
            let at = rows.iter().position(|r| r.class == o.class && r.kind == o.kind).unwrap_or_else(|| {
                rows.push(Joined {
                    class: o.class.clone(),
                    kind: o.kind.clone(),
                    members: o.members,
                    sides: [None, None],
                    lost: 0,
                });
                rows.len() - 1
            });
            rows[at].lost = rows[at].lost.max(o.lost_ns);
            rows[at].sides[side] = Some(Cells {
                per_io: o.per_io,
                contended: o.contended,
                wait_ns: o.mean_wait_ns,
                lost_ns: o.lost_ns as f64 / ios.max(1) as f64,
            });
        }
    }
    rows.sort_by(|a, b| b.lost.cmp(&a.lost).then_with(|| a.class.cmp(&b.class)));
    rows
}

/// The table.
#[component]
pub fn Contention() -> impl IntoView {
    let session = Session::here();
    let rows = Memo::new(move |_| {
        let sides = session.numbers.map(|n| n.get());
        let of = |n: &'_ Option<Arc<Numbers>>| {
            n.as_ref().map_or((Vec::new(), 0), |n| (n.report.objects.clone(), n.report.total.ios))
        };
        let [a, b] = [of(&sides[0]), of(&sides[1])];
        join([(&a.0, a.1), (&b.0, b.1)]).iter().map(cells).collect::<Vec<_>>()
    });
    let why = Callback::new(move |class: u32| {
        let of = |o: &Object| class_key(&o.class) == class;
        let id = session.with_player(|p| p.topology().objects.iter().position(of)).flatten();
        match id {
            Some(id) => session.ask(Subject::Class(id as u32)),
            None => {
                session.notify("The policy on the stage has no such lock or line; bring the other one up.")
            }
        }
    });
    let asked = Signal::derive(move || {
        let Some(Subject::Class(id)) = session.asked.get() else { return None };
        let of = |p: &Player| p.topology().objects.get(id as usize).map(|o| class_key(&o.class));
        session.with_player(of).flatten()
    });
    view! {
        <section class="panel contention" id="contention" aria-labelledby="contention-title">
            <div class="panel-head">
                <h2 id="contention-title">"Locks and shared lines"</h2>
                <p class="panel-note">"By CPU time lost on them after the warm-up; press a name to ask who holds it and who waits"</p>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of locks and lines: arrow keys go from one to the next, Enter asks why" on:keydown=on_arrows>
                <table>
                    <thead inner_html=HEAD></thead>
                    <Rows rows=Signal::derive(move || rows.get()) on_request=why selected=asked />
                </table>
            </div>
            <p class="empty" hidden=state(move || !rows.read().is_empty())>"No numbers yet."</p>
        </section>
    }
}

const HEAD: &str = "<tr><th scope=col rowspan=2>Object</th><th scope=colgroup colspan=2>lost per I/O</th>\
    <th scope=colgroup colspan=2 title='Acquisitions of a lock; accesses to a line that change it or \
    have to fetch it'>taken per I/O</th><th scope=colgroup colspan=2 title='Of those: spun for a lock that was held, or found a line \
    in use by an earlier access'>had to wait</th><th scope=colgroup colspan=2 title='Of those that had to wait'>mean wait</th></tr><tr><th scope=col class=num>A</th><th scope=col class=num>B</th>\
    <th scope=col class=num>A</th><th scope=col class=num>B</th><th scope=col class=num>A</th><th scope=col class=num>B</th>\
    <th scope=col class=num>A</th><th scope=col class=num>B</th></tr>";

/// A class as a number that is the same in both runs.
fn class_key(class: &str) -> u32 {
    key(class) as u32
}

/// A class as a row of the table.
fn cells(joined: &Joined) -> Row {
    type Column = (fn(&Cells) -> f64, Say);
    const COLUMNS: [Column; 4] = [
        (|c| c.lost_ns, words::span),
        (|c| c.per_io, words::short),
        (|c| c.contended, words::percent),
        (|c| c.wait_ns, words::span),
    ];
    let note = match joined.members {
        1 => joined.kind.clone(),
        n => format!("{n} × {}", joined.kind),
    };
    let rq = Some(class_key(&joined.class));
    let mut cells = vec![Cell { class: "code", note, rq, ..Cell::head(&joined.class) }];
    for (f, say) in COLUMNS {
        let side = |side: &Option<Cells>| side.as_ref().map_or_else(|| String::from("–"), |c| say(f(c)));
        cells.extend(joined.sides.iter().map(|s| Cell::num(side(s))));
    }
    Row::by_content(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_both_sides_meet_in_one_row() {
        let object = |class: &str, lost_ns| ObjectReport {
            class: class.into(),
            kind: "lock".into(),
            lost_ns,
            ..Default::default()
        };
        let (a, b) = ([object("ctx->lock", 10), object("sdev", 50)], [object("ctx->lock", 90)]);
        let rows = join([(&a, 10), (&b, 10)]);
        assert_eq!(rows.iter().map(|r| r.class.as_str()).collect::<Vec<_>>(), ["ctx->lock", "sdev"]);
        assert_eq!(
            rows[0].sides.iter().map(|s| s.as_ref().map(|c| c.lost_ns)).collect::<Vec<_>>(),
            [Some(1.0), Some(9.0)]
        );
        assert_eq!(rows[1].sides[1], None);
    }
}
