//! A text area with line numbers, in which the lines with findings stand out.

use super::control::{Button, act, state, text};
use super::table::{Item, List, key};
use crate::session::Session;
use leptos::html::Textarea;
use leptos::prelude::*;
use mqscope_core::diag::{Diagnostic, Severity};
use std::collections::BTreeMap;
use std::fmt::Write;

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
    let numbers = text(move || {
        let lines = session.draft.with(|d| d.split('\n').count().min(LINES_MAX));
        session.reading.with(|r| gutter(lines, &marks(&r.findings)))
    });
    let bad = state(move || session.reading.with(|r| r.errors() > 0));
    let go_to = Callback::new(move |(line, column)| {
        if let Some(area) = area.get_untracked() {
            let at = session.draft.with_untracked(|d| utf16_offset(d, line, column));
            let _ = area.focus();
            let _ = area.set_selection_range(at, at);
        }
    });
    let items = Callback::new(move |()| {
        session.reading.with(|r| r.findings.iter().map(|f| finding(f.clone(), go_to)).collect::<Vec<_>>())
    });
    view! {
        <div class="editor" class:bad=bad>
            <div class="gutter" aria-hidden="true">
                <ol style:transform=text(move || format!("translateY({}px)", -scroll.get())) inner_html=numbers></ol>
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
                aria-invalid=text(move || bad.get().to_string())
                prop:value=text(move || session.draft.get())
                on:input:target=move |e| {
                    session.draft.set(e.target().value());
                    session.check_draft();
                }
                on:scroll:target=move |e| scroll.set(e.target().scroll_top())
            ></textarea>
        </div>
        <ul class="findings" id="findings" aria-label="What the reader says about the job">
            <List items />
        </ul>
    }
}

/// Line numbers as HTML made of numbers only; lines with findings have the class of the worst.
fn gutter(lines: usize, marks: &BTreeMap<usize, Severity>) -> String {
    let mut out = String::with_capacity(lines * 16);
    for n in 1..=lines {
        let class = match marks.get(&n) {
            Some(Severity::Error) => " class=\"error\"",
            Some(Severity::Warning) => " class=\"warning\"",
            None => "",
        };
        let _ = write!(out, "<li{class}>{n}</li>");
    }
    out
}

fn finding(finding: Diagnostic, go_to: Callback<(u32, u32)>) -> Item {
    let own = key(&finding);
    let make = move || {
        let (line, column) = (finding.line, finding.column);
        let (class, kind) = if finding.is_error() { ("error", "Error") } else { ("warning", "Note") };
        let place = match column {
            0 => format!("line {line}"),
            _ => format!("line {line}, column {column}"),
        };
        let on = act(move || go_to.run((line, column)));
        view! {
            <li class=class>
                <span class="finding-kind">{kind}</span>
                <span>
                    {(line > 0).then(|| view! { <Button class="quiet" on=on words=place /> })}
                    {format!("{} {}", finding.message, finding.remedy)}
                </span>
            </li>
        }
    };
    (own, make.into())
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
    fn line_numbers_carry_the_worst_finding_of_their_line() {
        let marks = marks(&[Diagnostic::error(2, 1, "", ""), Diagnostic::warning(3, 1, "", "")]);
        assert_eq!(gutter(3, &marks), "<li>1</li><li class=\"error\">2</li><li class=\"warning\">3</li>");
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
