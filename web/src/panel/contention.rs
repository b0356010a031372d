//! Locks and shared lines by the time lost on them, both policies side by side.

use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::report::ObjectReport;

/// A class of objects in both runs.
#[derive(Clone, Debug, PartialEq)]
struct Row {
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
fn join(sides: [(&[ObjectReport], u64); 2]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (side, (objects, ios)) in sides.into_iter().enumerate() {
        for o in objects {
            let at = rows.iter().position(|r| r.class == o.class && r.kind == o.kind).unwrap_or_else(|| {
                rows.push(Row {
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
        let [a, b] = session.numbers.map(|n| n.get());
        let of = |n: &Option<std::sync::Arc<crate::numbers::Numbers>>| {
            n.as_ref().map(|n| (n.report.objects.clone(), n.report.total.ios)).unwrap_or_default()
        };
        let (a, b) = (of(&a), of(&b));
        join([(&a.0, a.1), (&b.0, b.1)])
    });
    let side = move |row: &Row, i: usize, f: fn(&Cells) -> f64, say: fn(f64) -> String| {
        row.sides[i].as_ref().map_or_else(|| String::from("–"), |c| say(f(c)))
    };
    view! {
        <section class="panel contention" id="contention" aria-labelledby="contention-title">
            <div class="panel-head">
                <h2 id="contention-title">"Locks and shared lines"</h2>
                <p class="panel-note">"By CPU time lost on them"</p>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="Table of locks and lines">
                <table>
                    <thead>
                        <tr>
                            <th scope="col" rowspan="2">"Object"</th>
                            <th scope="colgroup" colspan="2">"lost per I/O"</th>
                            <th scope="colgroup" colspan="2">"taken per I/O"</th>
                            <th scope="colgroup" colspan="2">"found taken"</th>
                            <th scope="colgroup" colspan="2">"mean wait"</th>
                        </tr>
                        <tr>
                            {["A", "B"].repeat(4).into_iter().map(|l| view! { <th scope="col" class="num">{l}</th> }).collect_view()}
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || rows.get() key=|row| format!("{row:?}") let(row)>
                            <tr>
                                <th scope="row">
                                    <code>{row.class.clone()}</code>
                                    <span class="object-kind">
                                        {if row.members == 1 {
                                            row.kind.clone()
                                        } else {
                                            format!("{} × {}", row.members, row.kind)
                                        }}
                                    </span>
                                </th>
                                {[
                                    (|c: &Cells| c.lost_ns) as fn(&Cells) -> f64,
                                    |c| c.per_io,
                                    |c| c.contended,
                                    |c| c.wait_ns,
                                ]
                                    .into_iter()
                                    .zip([words::span as fn(f64) -> String, words::short, words::percent, words::span])
                                    .flat_map(|(f, say)| [(0, f, say), (1, f, say)])
                                    .map(|(i, f, say)| view! { <td class="num">{side(&row, i, f, say)}</td> })
                                    .collect_view()}
                            </tr>
                        </For>
                    </tbody>
                </table>
            </div>
            <Show when=move || rows.read().is_empty()>
                <p class="empty">"No numbers yet."</p>
            </Show>
        </section>
    }
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
