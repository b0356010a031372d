//! What a run of a case says: the numbers of its cells, and whether its checks are hit.

use super::format::{Case, Check, Place};
use crate::report::Report;

/// Reports of the cells that were run.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    case: &'a Case,
    reports: Vec<Option<Report>>,
}

/// A check and what came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The check.
    pub check: Check,
    /// What the model says; `None` if a cell was not run or has no such number.
    pub value: Option<f64>,
    /// The published numbers in the same place, if there are any.
    pub published: Option<f64>,
}

/// How an outcome stands to what the case file says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In the band.
    Hit,
    /// Outside of it, as the file says, and where it says.
    KnownMiss,
    /// Outside, and the file says that it is in, or that it is outside elsewhere; or in, and the file says outside.
    Changed,
}

impl Outcome {
    /// In the band?
    pub fn hit(&self) -> bool {
        self.value.is_some_and(|value| self.check.hit(value))
    }

    /// Against what the file expects.
    pub fn verdict(&self) -> Verdict {
        match (&self.check.miss, self.value) {
            (None, _) if self.hit() => Verdict::Hit,
            (Some(miss), Some(value)) if !self.hit() && within(value, miss.seen) => Verdict::KnownMiss,
            _ => Verdict::Changed,
        }
    }
}

fn within(value: f64, [low, high]: [f64; 2]) -> bool {
    (low..=high).contains(&value)
}

impl<'a> Results<'a> {
    /// Nothing run yet.
    pub fn new(case: &'a Case) -> Self {
        Self { case, reports: vec![None; case.row_count() * case.columns.len()] }
    }

    /// Keeps the report of a cell.
    pub fn put(&mut self, (row, column): (usize, usize), report: Report) {
        if let Some(place) = self.reports.get_mut(row * self.case.columns.len() + column) {
            *place = Some(report);
        }
    }

    /// The report of a cell, if it was run.
    pub fn report(&self, (row, column): (usize, usize)) -> Option<&Report> {
        self.reports.get(row * self.case.columns.len() + column)?.as_ref()
    }

    /// All checks.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |check: Check| {
            let number = |place: &Place| check.metric.of_report(self.report(self.case.cell(place)?)?);
            let published = |place: &Place| {
                let (row, column) = self.case.cell(place)?;
                let table = self.case.published.iter().find(|table| table.metric == check.metric)?;
                table.values[row][column]
            };
            let value = check.value(number);
            let published = check.published.or_else(|| check.value(published));
            Outcome { check, value, published }
        };
        self.case.all_checks().into_iter().map(outcome).collect()
    }
}

impl Check {
    /// Its value from those of its places.
    pub fn value(&self, number: impl Fn(&Place) -> Option<f64>) -> Option<f64> {
        let at = number(&self.at)?;
        let value = match (&self.over, &self.minus) {
            (Some(over), _) => at / number(over)?,
            (None, Some(minus)) => at - number(minus)?,
            (None, None) => at,
        };
        value.is_finite().then_some(value)
    }

    /// Whether a value lies in the band.
    pub fn hit(&self, value: f64) -> bool {
        within(value, self.band)
    }
}

impl Case {
    /// Cells (row, column) that have published numbers or are checked; all of them if there are neither.
    pub fn cells(&self) -> Vec<(usize, usize)> {
        let checked = self.checked_cells();
        let published =
            |row: usize, column: usize| self.published.iter().any(|t| t.values[row][column].is_some());
        let nothing = checked.is_empty() && self.published.is_empty();
        (0..self.row_count())
            .flat_map(|row| (0..self.columns.len()).map(move |column| (row, column)))
            .filter(|cell| nothing || checked.contains(cell) || published(cell.0, cell.1))
            .collect()
    }

    /// Cells that a check looks at, each once.
    pub fn checked_cells(&self) -> Vec<(usize, usize)> {
        let checks = self.all_checks();
        let places = checks.iter().flat_map(|c| [Some(&c.at), c.over.as_ref(), c.minus.as_ref()]).flatten();
        let cells: std::collections::BTreeSet<_> = places.filter_map(|place| self.cell(place)).collect();
        cells.into_iter().collect()
    }
}
