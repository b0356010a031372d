//! In what A and B differ, and which of it matters: A run again with one difference at a time.

use super::control::{Button, act, state, text};
use super::knob::{parts_of, title};
use super::table::{Cell, Row, Rows};
use crate::difference::Difference;
use crate::session::Session;
use crate::trial::{Figures, Outcome, Trial, Trials, What};
use crate::words;
use leptos::html::Details;
use leptos::prelude::*;

const HEAD: &str = "<tr><th scope=col>Rule</th><th scope=col>A</th><th scope=col>B</th></tr>";
const TRIED: &str = "<tr><th scope=col>Alone as in B</th>\
    <th scope=col class=num>IOPS</th><th scope=col class=num>Latency</th><th scope=col class=num>CPU per I/O</th></tr>";

/// The list, and the button that tries them.
#[component]
pub(super) fn Differ() -> impl IntoView {
    let session = Session::here();
    let all = Memo::new(move |_| session.differences());
    let list = NodeRef::<Details>::new();
    let known = state(move || session.numbers[0].read().as_ref().is_some_and(|n| n.finished));
    let trying = Memo::new(move |_| session.trials.with(Option::is_some));
    Effect::new(move |_| {
        if trying.get()
            && let Some(list) = list.get_untracked()
        {
            list.set_open(true);
        }
    });
    let rows = Signal::derive(move || {
        session.trials.with(|trials| match trials {
            Some(trials) => tried(trials),
            None => all.with(|all| all.iter().map(|d| Row::by_content(named(d))).collect()),
        })
    });
    let note = text(move || {
        session.trials.with(|trials| match trials {
            Some(trials) => trials.words(),
            None if !known.get() => String::from("They can be tried once the numbers of A are known."),
            None => String::from(
                "Runs A again with one of them as in B at a time, and ranks them by what changes.",
            ),
        })
    });
    let none = state(move || all.read().is_empty());
    view! {
        <div class="differ" hidden=none>
            <p class="differ-ask">
                <Button
                    class=""
                    on=act(move || session.try_differences())
                    disabled=state(move || !known.get())
                    words=String::from("Which of them matter?")
                />
                <span class="panel-note">{note}</span>
            </p>
            <details class="more" node_ref=list>
                <summary>{text(move || format!("What differs between A and B: {}", all.read().len()))}</summary>
                <div class="scroll" tabindex="0" role="group" aria-label="What differs between A and B">
                    <table>
                        <thead inner_html=text(move || {
                            String::from(if trying.get() { TRIED } else { HEAD })
                        })></thead>
                        <Rows rows />
                    </table>
                </div>
            </details>
        </div>
    }
}

/// A difference by its name and values.
fn named(difference: &Difference) -> Vec<Cell> {
    let [a, b] = &difference.values;
    let head = Cell { help: difference.help, ..Cell::head(title(&difference.name)) };
    vec![head, Cell::words(a.replace('-', " ")), Cell::words(b.replace('-', " "))]
}

/// What trials say so far: all together and chance alone, then those that matter most.
fn tried(trials: &Trials) -> Vec<Row> {
    let own = trials.figures(&What::AsItIs);
    let whole = [
        ("All of them: B", trials.figures(&What::Other)),
        ("None of them: the seed that changes most", trials.chance()),
    ];
    let whole = whole.map(|(name, figures)| {
        let mut cells = vec![Cell::head(name)];
        cells.extend(changes(own, figures));
        Row::by_content(cells)
    });
    let one = |trial: &&Trial| {
        let What::One(difference) = &trial.what else { return None };
        let [a, b] = &difference.values;
        let about = match trial.outcome {
            Outcome::Ran(_) if !difference.is_rule() => String::from("No rule of the kernel."),
            Outcome::Ran(_) if !trials.same(trial) => parts_of(difference.help).0,
            _ => String::new(),
        };
        let note = format!("{} → {}. {about}", a.replace('-', " "), b.replace('-', " "));
        let mut cells = vec![Cell { note, ..Cell::head(title(&difference.name)) }];
        cells.extend(match trial.outcome {
            Outcome::Waiting => only("to be run"),
            Outcome::Impossible => only("cannot be alone"),
            Outcome::Ran(_) if trials.same(trial) => only("no change"),
            Outcome::Ran(figures) => changes(own, Some(figures)),
        });
        Some(Row::by_content(cells))
    };
    whole.into_iter().chain(trials.ranked().iter().filter_map(one)).collect()
}

fn only(said: &str) -> [Cell; 3] {
    [Cell::num(said), Cell::default(), Cell::default()]
}

/// How three numbers change.
fn changes(own: Option<Figures>, other: Option<Figures>) -> [Cell; 3] {
    let (Some(own), Some(other)) = (own, other) else { return only("to be run") };
    [(own.iops, other.iops), (own.lat_ns, other.lat_ns), (own.cpu_ns, other.cpu_ns)]
        .map(|(a, b)| Cell::num(words::change(a, b).unwrap_or_else(|| String::from("–"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Rules;
    use crate::numbers::Numbers;
    use crate::preset;
    use mqscope_core::report::Report;

    fn numbers(iops: f64) -> Numbers {
        let mut numbers = Numbers { finished: true, ..Numbers::default() };
        numbers.report.total.iops = iops;
        numbers.report.total.lat.mean_ns = 1e9 / iops;
        numbers
    }

    #[test]
    fn what_matters_most_stands_above_and_what_has_not_run_below() {
        let preset = preset::find("seed-000").expect("the preset");
        let mut config = preset.config();
        config.policies[0].start = Rules::new("6.1", &[]);
        config.policies[1].start = Rules::new("6.1", &[("plug_max", "3"), ("plug_sort", "never")]);
        config.policies[1].start.set_knob("plug_max_multi", "5");
        let mut trials = Trials::new(&config, &preset.base, &Report::default());
        let before = tried(&trials);
        assert!(before.iter().all(|row| row.cells[1].text == "to be run"));
        while trials.give(&config, &preset.base).is_some() {}
        // A, B, the seeds, then the differences.
        for (number, iops) in [(0, 100.0), (1, 50.0), (6, 100.0), (7, 130.0)] {
            trials.take(number, Some(&numbers(iops)));
        }
        let rows = tried(&trials);
        let said: Vec<_> = rows.iter().map(|row| row.cells[1].text.as_str()).collect();
        assert_eq!(said[1..3], ["to be run", "+30\u{202f}%"], "{said:?}");
        assert_eq!(said[3], "no change");
        assert!(said[4..].iter().all(|s| *s == "to be run"));
        let note = &rows[2].cells[0].note;
        assert!(note.contains("→") && note.len() > 40, "the rule explains itself: {note}");
    }
}
