//! `docs/cases.md`: each case with what was published, what is simulated, and in words whether that is a hit.

use crate::run::text::number;
use mqscope_core::cases::{Basis, Case, Group, Outcome, Table};
use mqscope_tests::case_runs::CaseRun;
use std::fmt::Write as _;

/// A band for people.
pub fn band([low, high]: [f64; 2]) -> String {
    match (low, high) {
        (0.0, 1.0) => String::from("below 1"),
        (low, high) if high >= 1e12 => format!("above {}", number(low)),
        (low, high) if low <= -1e12 => format!("below {}", number(high)),
        (low, high) => format!("{} to {}", number(low), number(high)),
    }
}

/// Hits and misses in one sentence.
pub fn tally(runs: &[CaseRun]) -> String {
    let outcomes: Vec<Outcome> = runs.iter().flat_map(|run| run.results.outcomes()).collect();
    let hits = outcomes.iter().filter(|o| o.hit()).count();
    let whole = |run: &&CaseRun| run.results.outcomes().iter().all(Outcome::hit) && edges(run.case) == 0;
    let edges: usize = runs.iter().map(|run| edges(run.case)).sum();
    let cases = runs.iter().filter(whole).count();
    let mut text = format!(
        "{} cases, {} checks: {hits} hits and {} misses; {cases} cases with every check hit",
        runs.len(),
        outcomes.len(),
        outcomes.len() - hits
    );
    if edges > 0 {
        _ = write!(text, "; {edges} fitted parameters at the edge of their range, which are misses too");
    }
    text
}

fn edges(case: &Case) -> usize {
    case.fitted.iter().filter(|fitted| fitted.at_edge()).count()
}

/// The whole file.
pub fn document(runs: &[CaseRun]) -> String {
    let mut out = String::from(
        "# Published cases\n\n\
         Written by `cargo xtask cases`; the cases are the files of `core/src/cases/data`. Every case runs on the same machine \
         costs, device presets and kernel rows; what a case chooses for itself is listed under it as fitted. A band is the \
         tolerance named beside it around what was published; what falls outside is a MISS, with the assumption on which \
         it hangs. Sizes of runs and settings that a report leaves open were chosen with the results in sight. Tests run the same at reduced length and fail when a number, hit or miss, goes elsewhere.\n\n",
    );
    _ = writeln!(out, "**{}.**\n", tally(runs));
    out += "| case | checks | hits | misses |\n|---|---:|---:|---:|\n";
    for run in runs {
        let outcomes = run.results.outcomes();
        let hits = outcomes.iter().filter(|o| o.hit()).count();
        let (name, title) = (&run.case.name, &run.case.title);
        _ = writeln!(
            out,
            "| [{name}](#{name}) {title} | {} | {hits} | {} |",
            outcomes.len(),
            outcomes.len() - hits
        );
    }
    for (group, title) in [(Group::Five, "The five reports"), (Group::Published, "More published cases")] {
        let members: Vec<&CaseRun> = runs.iter().filter(|run| run.case.group == group).collect();
        if !members.is_empty() {
            _ = writeln!(out, "\n## {title}");
        }
        members.into_iter().for_each(|run| out += &section(run));
    }
    out
}

fn section(run: &CaseRun) -> String {
    let case = run.case;
    let mut out = format!("\n### {}\n\n**{}.** {}\n\n", case.name, case.title, case.about);
    for (word, text) in [("Source", &case.source), ("Assumed", &case.assumed), ("Left out", &case.left_out)] {
        if !text.is_empty() {
            _ = writeln!(out, "{word}: {}\n", text.trim_end_matches('.').to_owned() + ".");
        }
    }
    out += &fitted(case);
    out += &tables(run);
    out += &checks(run);
    out += &sensitivity(run);
    out
}

fn fitted(case: &Case) -> String {
    if case.fitted.is_empty() {
        return String::new();
    }
    let mut out = String::from("| fitted | value | range | why | when it moves |\n|---|---:|---|---|---|\n");
    for f in &case.fitted {
        let edge = if f.at_edge() { " (at the edge: MISS)" } else { "" };
        let (path, value, range) = (&f.path, number(f.value), band(f.range));
        _ = writeln!(out, "| `{path}` | {value}{edge} | {range} | {} | {} |", f.why, f.sensitivity);
    }
    out + "\n"
}

/// The published tables, each value beside the simulated one.
pub fn tables(run: &CaseRun) -> String {
    run.case.published.iter().map(|table| one_table(run, table)).collect()
}

fn one_table(run: &CaseRun, table: &Table) -> String {
    let case = run.case;
    let basis = |basis| match basis {
        Basis::Neither => "",
        Basis::Fitted => " (fitted)",
        Basis::Predicted => " (predicted)",
    };
    let heads: Vec<String> = case.columns.iter().map(|c| format!("{}{}", c.label, basis(c.basis))).collect();
    let mut out =
        format!("| {} | {} |\n|---|{}\n", table.metric, heads.join(" | "), "---|".repeat(heads.len()));
    for row in 0..case.row_count() {
        let label = case.rows.get(row).map_or("", |row| row.label.as_str());
        let cell = |column: usize| {
            let published = table.values[row][column];
            let simulated = run.results.report((row, column)).and_then(|r| table.metric.of_report(r));
            match (published, simulated) {
                (None, None) => String::from("–"),
                (None, Some(s)) => format!("– / {}", number(s)),
                (Some(p), None) => format!("{} / –", number(p)),
                (Some(p), Some(s)) if p != 0.0 => format!("{} / {} ({:.2})", number(p), number(s), s / p),
                (Some(p), Some(s)) => format!("{} / {}", number(p), number(s)),
            }
        };
        let cells: Vec<String> = (0..case.columns.len()).map(cell).collect();
        _ = writeln!(out, "| {label} | {} |", cells.join(" | "));
    }
    out + "\nPublished / simulated (ratio).\n\n"
}

fn checks(run: &CaseRun) -> String {
    let mut out = String::from("| check | published | simulated | band | |\n|---|---:|---:|---|---|\n");
    for outcome in run.results.outcomes() {
        let or_dash = |value: Option<f64>| value.map_or_else(|| String::from("–"), number);
        let check = &outcome.check;
        let verdict = match (outcome.hit(), &check.miss) {
            (true, _) => String::from("hit"),
            (false, Some(miss)) => format!("**MISS**: {}", miss.because),
            (false, None) => String::from("**MISS**"),
        };
        _ = writeln!(
            out,
            "| {} | {} | {} | {} ({}) | {verdict} |",
            check.name,
            or_dash(outcome.published),
            or_dash(outcome.value),
            band(check.band),
            check.why
        );
    }
    out
}

/// The checks with one assumption changed at a time.
pub fn sensitivity(run: &CaseRun) -> String {
    if run.what_ifs.is_empty() {
        return String::new();
    }
    let base = run.results.outcomes();
    let names: Vec<&str> = base.iter().map(|o| o.check.name.as_str()).collect();
    let mut out = format!("\n| if | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(names.len()));
    let mut line = |label: &str, outcomes: &[Outcome]| {
        let cells: Vec<_> =
            outcomes.iter().map(|o| o.value.map_or_else(|| String::from("–"), number)).collect();
        _ = writeln!(out, "| {label} | {} |", cells.join(" | "));
    };
    line("as it is", &base);
    for (what_if, results) in run.case.sensitivity.iter().zip(&run.what_ifs) {
        line(&what_if.label, &results.outcomes());
    }
    out
}
