//! A text area with line numbers, in which the lines with findings stand out.

use crate::session::Session;
use leptos::html::Textarea;
use leptos::prelude::*;
use mqscope_core::diag::{Diagnostic, Severity};
use std::collections::BTreeMap;

/// Most line numbers drawn.
const LINES_MAX: usize = 2000;

/// The worst finding of each line.
fn marks(findings: &[Diagnostic]) -> BTreeMap<usize, Severity> {
    let mut marks = BTreeMap::new();
    for f in findings.iter().filter(|f| f.line > 0) {
        let mark = marks.entry(f.line as usize).or_insert(f.severity);
        *mark = (*mark).max(f.severity);
    }
    marks
}

/// Byte offset to UTF-16 offset of a line and column, both from 1; columns count characters.
fn utf16_offset(text: &str, line: u32, column: u32) -> u32 {
    let mut offset = 0;
    for (i, l) in text.split('\n').enumerate() {
        if i + 1 == line as usize {
            let within =
                l.chars().take(column.saturating_sub(1) as usize).map(|c| c.len_utf16() as u32).sum::<u32>();
            return offset + within;
        }
        offset += l.encode_utf16().count() as u32 + 1;
    }
    offset.saturating_sub(1)
}

/// The editor and the list of findings below it.
#[component]
pub fn Editor() -> impl IntoView {
    let session = Session::here();
    let area: NodeRef<Textarea> = NodeRef::new();
    let scroll = RwSignal::new(0);
    let marks = Memo::new(move |_| session.reading.with(|r| marks(&r.findings)));
    let lines = Memo::new(move |_| session.draft.with(|d| d.split('\n').count().min(LINES_MAX)));
    let errors = Memo::new(move |_| session.reading.with(crate::job::Reading::errors));
    let go_to = move |line: u32, column: u32| {
        if let Some(area) = area.get_untracked() {
            let at = session.draft.with_untracked(|d| utf16_offset(d, line, column));
            let _ = area.focus();
            let _ = area.set_selection_range(at, at);
        }
    };
    view! {
        <div class="editor" class:bad=move || { errors.get() > 0 }>
            <div class="gutter" aria-hidden="true">
                <ol style:transform=move || format!("translateY({}px)", -scroll.get())>
                    <For each=move || 1..=lines.get() key=|n| *n let(n)>
                        <li class=move || match marks.read().get(&n) {
                            Some(Severity::Error) => "error",
                            Some(Severity::Warning) => "warning",
                            None => "",
                        }>{n}</li>
                    </For>
                </ol>
            </div>
            <textarea
                node_ref=area
                id="job"
                rows=14
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                wrap="off"
                aria-describedby="job-help findings"
                aria-invalid=move || (errors.get() > 0).then_some("true")
                prop:value=session.draft
                on:input:target=move |e| {
                    session.draft.set(e.target().value());
                    session.check_draft();
                }
                on:scroll=move |_| {
                    if let Some(area) = area.get_untracked() {
                        scroll.set(area.scroll_top());
                    }
                }
            ></textarea>
        </div>
        <ul class="findings" id="findings" aria-label="What the reader says about the job">
            <For
                each=move || session.reading.with(|r| r.findings.clone())
                key=|f| f.clone()
                let(finding)
            >
                {
                    let (line, column) = (finding.line, finding.column);
                    let kind = if finding.is_error() { "error" } else { "warning" };
                    view! {
                        <li class=kind>
                            <span class="finding-kind">{if finding.is_error() { "Error" } else { "Note" }}</span>
                            <span>
                                {(line > 0)
                                    .then(|| {
                                        view! {
                                            <button type="button" class="quiet" on:click=move |_| go_to(line, column)>
                                                {match column {
                                                    0 => format!("line {line}"),
                                                    _ => format!("line {line}, column {column}"),
                                                }}
                                            </button>
                                        }
                                    })}
                                {finding.message.clone()}
                                " "
                                {finding.remedy.clone()}
                            </span>
                        </li>
                    }
                }
            </For>
        </ul>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_as_the_browser_does() {
        let text = "ab\n😀c\nd";
        assert_eq!(utf16_offset(text, 1, 1), 0);
        assert_eq!(utf16_offset(text, 2, 2), 5);
        assert_eq!(utf16_offset(text, 3, 9), 8);
        assert_eq!(utf16_offset(text, 99, 1), 8);
    }

    #[test]
    fn a_line_with_an_error_and_a_warning_is_an_error() {
        let findings = [
            Diagnostic::error(2, 1, "a", ""),
            Diagnostic::warning(2, 1, "b", ""),
            Diagnostic::warning(0, 0, "c", ""),
        ];
        assert_eq!(marks(&findings).into_iter().collect::<Vec<_>>(), [(2, Severity::Error)]);
    }
}
