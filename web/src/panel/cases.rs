//! Published cases: the numbers of the open one beside those of the running twins, and all of them to open.

use super::control::{focus, state, text};
use super::table::{Cell, Row, Rows};
use crate::preset::{self, Preset};
use crate::session::Session;
use crate::words;
use leptos::prelude::*;
use mqscope_core::cases::{Basis, Case, Check, Group, Metric, Place, cases as all_cases};
use mqscope_core::report::Report;

/// The case on the page, if nothing was changed about it: published numbers belong to it as it is.
fn open_case(session: Session) -> Memo<Option<&'static str>> {
    Memo::new(move |_| {
        session.config.with(|config| {
            let own = |p: &&'static Preset| p.case.group != Group::Rule && *config == p.config();
            preset::find(&config.preset).filter(own).map(|p| p.name)
        })
    })
}

/// What was published about the open pair beside what the runs of this page say, or that the user made something else
/// of it; empty where there is neither.
pub fn headline(session: Session) -> Signal<String> {
    let open = open_case(session);
    let changed = Memo::new(move |_| {
        session.config.with(|c| c.job.is_none() && preset::find(&c.preset).is_some_and(|p| *c != p.config()))
    });
    text(move || {
        if changed.get() {
            return String::from(
                "You changed this scenario: the words are about the original, the numbers about yours.",
            );
        }
        let case = open.get().and_then(mqscope_core::cases::case);
        case.and_then(|case| with_live(session, case, |live| compared(case, live))).unwrap_or_default()
    })
}

/// The panel.
#[component]
pub fn Cases() -> impl IntoView {
    let session = Session::here();
    let open = open_case(session);
    let case = move || open.get().and_then(mqscope_core::cases::case);
    let rows = |of: fn(&'static Case, &Live) -> Vec<Row>| {
        Signal::derive(move || {
            case().map_or_else(Vec::new, |case| with_live(session, case, |live| of(case, live)))
        })
    };
    let words = |of: fn(&'static Case) -> String| text(move || case().map_or_else(String::new, of));
    let choose = Callback::new(move |index: u32| {
        if let Some(case) = all_cases().get(index as usize) {
            session.load_preset(&case.name);
            // To the stage: off screen it would not move.
            focus("stage-title");
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    });
    let all = Signal::derive(move || list(session.config.read().preset.as_str()));
    let growing = text(move || {
        let done = session.numbers.iter().all(|n| n.read().as_ref().is_some_and(|n| n.finished));
        String::from(if done { "Both runs are complete." } else { "The runs go on; numbers still change." })
    });
    view! {
        <section class="panel cases" id="cases" aria-labelledby="cases-title">
            <div class="panel-head">
                <h2 id="cases-title">"Published cases"</h2>
                <p class="panel-note">
                    "Measurements that others published, each as a scenario. Simulated numbers are those of the runs on this page."
                </p>
            </div>
            <div class="case-open" hidden=state(move || open.get().is_none())>
                <h3>{words(|case| case.title.clone())}</h3>
                <p>{words(|case| case.about.clone())}</p>
                <p class="panel-note">{words(facts)}</p>
                <div class="scroll" tabindex="0" role="group" aria-label="Published and simulated numbers">
                    <table>
                        <thead inner_html=NUMBERS></thead>
                        <Rows rows=rows(numbers) />
                    </table>
                </div>
                <div class="scroll" tabindex="0" role="group" aria-label="Checks of the open case">
                    <table>
                        <thead inner_html=CHECKS></thead>
                        <Rows rows=rows(checks) />
                    </table>
                </div>
                <p class="panel-note">{growing}</p>
            </div>
            <div class="scroll" tabindex="0" role="group" aria-label="All published cases">
                <table>
                    <thead inner_html=LIST></thead>
                    <Rows rows=all on_request=choose />
                </table>
            </div>
        </section>
    }
}

const NUMBERS: &str = "<tr><th scope=col>Number</th><th scope=col class=num>A published</th>\
    <th scope=col class=num>A simulated</th><th scope=col class=num>B published</th>\
    <th scope=col class=num>B simulated</th></tr>";
const CHECKS: &str = "<tr><th scope=col>Check</th><th scope=col class=num>Published</th>\
    <th scope=col class=num>Simulated</th><th scope=col class=num>Band</th><th scope=col>Result</th></tr>";
const LIST: &str =
    "<tr><th scope=col>Case</th><th scope=col>Published</th><th scope=col>Known misses</th></tr>";

/// The open case and what its two sides say so far.
struct Live<'a> {
    case: &'static Case,
    reports: [Option<&'a Report>; 2],
    /// Both runs are over.
    complete: bool,
}

impl Live<'_> {
    /// The side on which a place is shown.
    fn side(&self, place: &Place) -> Option<usize> {
        let cell = self.case.cell(place)?;
        self.case.opened().iter().position(|opened| *opened == cell)
    }

    fn number(&self, metric: &Metric, side: usize) -> Option<f64> {
        metric.of_report(self.reports[side]?)
    }

    /// Whether the two sides are all that a check needs.
    fn shows(&self, check: &Check) -> bool {
        let places = [Some(&check.at), check.over.as_ref(), check.minus.as_ref()];
        places.into_iter().flatten().all(|place| self.side(place).is_some())
    }

    fn value(&self, check: &Check) -> Option<f64> {
        check.value(|place| self.number(&check.metric, self.side(place)?))
    }

    fn published(&self, check: &Check) -> Option<f64> {
        let of_table = || check.value(|place| self.case.published(&check.metric, self.case.cell(place)?));
        check.published.or_else(of_table)
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| String::from("–"), words::short)
}

fn with_live<R>(session: Session, case: &'static Case, f: impl FnOnce(&Live) -> R) -> R {
    let sides = session.numbers.map(|n| n.get());
    let reports = [0, 1].map(|side| sides[side].as_ref().map(|n| &n.report));
    let complete = sides.iter().flatten().filter(|n| n.finished).count() == 2;
    f(&Live { case, reports, complete })
}

/// The first check that both sides can answer and that has a published number, in one sentence.
fn compared(case: &'static Case, live: &Live) -> Option<String> {
    let mut checks = case.all_checks().into_iter().filter(|c| live.shows(c));
    let (check, published) = checks.find_map(|c| live.published(&c).map(|published| (c, published)))?;
    let here = match (live.value(&check).map(words::short), live.complete) {
        // Until both runs are over they are not equally long, and a ratio of them says nothing.
        (None, _) | (_, false) => String::from("not known yet"),
        (Some(value), true) => value,
    };
    let missed = live.complete && live.value(&check).is_some_and(|value| !check.hit(value));
    let miss = if missed { ", a miss; Published cases says why" } else { "" };
    Some(format!("Published for {}: {}. This page: {here}{miss}.", check.name, words::short(published)))
}

/// Source, assumptions, what is left out, what was fitted.
fn facts(case: &'static Case) -> String {
    let mut parts = vec![format!("Published: {}.", case.source)];
    for (word, said) in [("Assumed here", &case.assumed), ("Left out", &case.left_out)] {
        if !said.is_empty() {
            parts.push(format!("{word}: {}.", said.trim_end_matches('.')));
        }
    }
    for fitted in &case.fitted {
        let [low, high] = fitted.range.map(words::short);
        parts.push(format!(
            "Fitted: {} = {}, plausible from {low} to {high}.",
            fitted.path,
            words::short(fitted.value)
        ));
    }
    parts.join(" ")
}

/// A row for each published table.
fn numbers(case: &'static Case, live: &Live) -> Vec<Row> {
    let opened = case.opened();
    let row = |table: &'static mqscope_core::cases::Table| {
        let mut cells = vec![Cell::head(table.metric.to_string())];
        for side in 0..2 {
            let published = opened.get(side).and_then(|cell| case.published(&table.metric, *cell));
            let basis = opened.get(side).map_or(Basis::Neither, |&(_, column)| case.columns[column].basis);
            let note = match basis {
                Basis::Neither => "",
                Basis::Fitted => "fitted",
                Basis::Predicted => "predicted",
            };
            cells.push(Cell::num(or_dash(published)));
            let simulated = opened.get(side).and_then(|_| live.number(&table.metric, side));
            cells.push(Cell { note: note.into(), ..Cell::num(or_dash(simulated)) });
        }
        Row::by_content(cells)
    };
    case.published.iter().map(row).collect()
}

/// A row for each check that needs no more than the two sides.
fn checks(case: &'static Case, live: &Live) -> Vec<Row> {
    let row = |check: Check| {
        let (value, published) = (live.value(&check), live.published(&check));
        let [low, high] = check.band.map(words::short);
        let result = match value {
            None => "–",
            Some(_) if !live.complete => "still running",
            Some(value) if check.hit(value) => "hit",
            Some(_) => "miss",
        };
        let why = check.miss.as_ref().map_or(check.why.clone(), |miss| miss.because.clone());
        Row::by_content(vec![
            Cell { note: why, ..Cell::head(check.name) },
            Cell::num(or_dash(published)),
            Cell::num(or_dash(value)),
            Cell::num(format!("{low} – {high}")),
            Cell::words(result),
        ])
    };
    let all = case.all_checks();
    let rows: Vec<Row> = all.iter().filter(|c| live.shows(c)).cloned().map(row).collect();
    let elsewhere = all.len() - rows.len();
    let rest = (elsewhere > 0 && case.group != Group::Rule).then(|| {
        let text = format!("{elsewhere} more checks are about other settings than the two that are open: docs/cases.md has them");
        Row::by_content(vec![Cell::head(text), Cell::words(""), Cell::words(""), Cell::words(""), Cell::words("")])
    });
    rows.into_iter().chain(rest).collect()
}

/// All published cases; pressing one opens it.
fn list(open: &str) -> Vec<Row> {
    let published = |(_, case): &(usize, &'static Case)| case.group != Group::Rule;
    let row = |(index, case): (usize, &'static Case)| {
        let first = case.published.first().map_or_else(String::new, |table| {
            let values: Vec<String> =
                case.opened().iter().map(|cell| or_dash(case.published(&table.metric, *cell))).collect();
            format!("{} {}", values.join(" · "), table.metric)
        });
        let (checks, misses) = (case.all_checks(), |check: &&Check| check.miss.is_some());
        let known = format!("{} of {} checks", checks.iter().filter(misses).count(), checks.len());
        let note = if case.name == open { String::from("open now") } else { String::new() };
        let title = Cell { rq: Some(index as u32), note, ..Cell::head(case.title.as_str()) };
        Row::by_content(vec![title, Cell::words(first), Cell::words(known)])
    };
    all_cases().iter().enumerate().filter(published).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_case_is_marked_in_the_list_of_all() {
        let rows = list("seed-000");
        assert!(rows.len() >= 2);
        let open: Vec<_> = rows.iter().filter(|row| row.cells[0].note == "open now").collect();
        assert_eq!(open.len(), 1);
        assert!(open[0].cells[1].text.contains("IOPS"), "{:?}", open[0].cells[1]);
    }

    #[test]
    fn the_headline_sets_a_published_number_beside_that_of_this_page() {
        let case = mqscope_core::cases::case("dsync-journal").expect("the case");
        let said = compared(case, &Live { case, reports: [None, None], complete: false });
        let said = said.expect("both sides have a published number");
        assert!(said.contains("mq-deadline over bfq: 23") && said.contains("not known yet"), "{said}");
        let sides = case.sides();
        let reports: Vec<_> =
            sides.iter().map(|(_, s)| mqscope_core::Sim::new(s).expect("it runs").report()).collect();
        // Nothing has run: no number is no hit.
        let live = Live { case, reports: [Some(&reports[0]), Some(&reports[1])], complete: true };
        let said = compared(case, &live).expect("as before");
        assert!(said.contains("not known yet"), "{said}");
        for case in all_cases().iter().filter(|case| case.group == Group::Rule) {
            assert!(case.all_checks().is_empty(), "{}: a rule's case has no published number", case.name);
        }
    }

    #[test]
    fn numbers_that_are_not_there_yet_are_dashes() {
        for case in all_cases().iter().filter(|case| case.group != Group::Rule) {
            let live = Live { case, reports: [None, None], complete: false };
            assert_eq!(numbers(case, &live).len(), case.published.len(), "{}", case.name);
            let judged = |row: &Row| !matches!(row.cells[4].text.as_str(), "–" | "");
            assert!(!checks(case, &live).iter().any(judged), "{}", case.name);
        }
    }
}
