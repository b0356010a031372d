//! Published measurements as scenarios, with their numbers, and small scenarios that show one rule each.
//!
//! A published case is one file in `data/`; `format.rs` says what may stand in it. The build turns the files into one
//! text in this library. Machine costs, device presets and kernel rows are those of everyone; what a case chooses for
//! itself is listed in `fitted` with its range, and what a publication leaves open in `assumed`.

mod extract;
mod format;
mod metric;
mod outcome;
mod small;
#[cfg(test)]
mod tests;

pub use format::{Basis, Case, Check, Fitted, Group, Miss, Must, Open, Place, Table, Variant, WhatIf, merge};
pub use metric::{Kind, Metric, Of};
pub use outcome::{Outcome, Results, Verdict};

use crate::scenario::{Scenario, ScenarioError};
use serde::Deserialize;
use std::sync::LazyLock;

/// The files of `data/`, made by the build script.
const DATA: &str = include_str!(concat!(env!("OUT_DIR"), "/cases.json"));

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    // The build script has read every file as a case before it wrote this.
    let mut all: Vec<Case> = serde_json::from_str::<serde_json::Value>(DATA)
        .and_then(Vec::<Case>::deserialize)
        .unwrap_or_else(|e| unreachable!("the build checks the case files: {e}"));
    all.extend(small::cases());
    all.sort_by_key(|case| case.group);
    all
});

/// All cases by group, the one that the page opens on first.
pub fn cases() -> &'static [Case] {
    &CASES
}

/// The case of this name.
pub fn case(name: &str) -> Option<&'static Case> {
    cases().iter().find(|c| c.name == name)
}

impl Case {
    /// Reads a case file, as the build does.
    ///
    /// # Errors
    /// What is wrong with it, with line or key.
    #[cfg(feature = "text")]
    pub fn from_toml(text: &str) -> Result<Self, String> {
        // First for the places of errors; then through JSON, where nan is nothing.
        let wrong = |e: toml::de::Error| e.to_string();
        toml::from_str::<Self>(text).map_err(wrong)?.check()?;
        let value: serde_json::Value = toml::from_str(text).map_err(wrong)?;
        Self::deserialize(value).map_err(|e| e.to_string())
    }

    /// The scenario of a cell; `reduced` for a shorter run.
    ///
    /// # Errors
    /// The case, cell and key of a wrong field.
    pub fn scenario(&self, row: usize, column: usize, reduced: bool) -> Result<Scenario, ScenarioError> {
        self.scenario_if(row, column, &serde_json::Value::Null, reduced)
    }

    /// The scenario of a cell with an assumption changed ([`WhatIf::scenario`]).
    ///
    /// # Errors
    /// The case, cell and key of a wrong field.
    pub fn scenario_if(
        &self,
        row: usize,
        column: usize,
        change: &serde_json::Value,
        reduced: bool,
    ) -> Result<Scenario, ScenarioError> {
        let label = |list: &[Variant], at: usize| list.get(at).map_or(String::new(), |v| v.label.clone());
        let (row_label, column_label) = (label(&self.rows, row), label(&self.columns, column));
        let wrong = |problem: String| ScenarioError::Value {
            field: format!("case {}, column '{column_label}', row '{row_label}'", self.name),
            problem,
        };
        let value = self.value(row, column, change, reduced).map_err(wrong)?;
        let mut scenario = Scenario::from_value(value).map_err(|e| wrong(e.to_string()))?;
        if scenario.title.is_empty() {
            scenario.title = match row_label.as_str() {
                "" => format!("{}: {column_label}", self.title),
                _ => format!("{}: {column_label}, {row_label}", self.title),
            };
        }
        Ok(scenario)
    }

    /// The cells that the page opens: one or two (row, column).
    pub fn opened(&self) -> Vec<(usize, usize)> {
        match &self.open {
            Some(open) => {
                let place = |column: &String| Place { row: open.row.clone(), column: column.clone() };
                open.columns.iter().filter_map(|column| self.cell(&place(column))).collect()
            }
            None => (0..self.columns.len().min(2)).map(|column| (0, column)).collect(),
        }
    }

    /// The opened cells as scenarios, with the labels of their columns.
    ///
    /// # Panics
    /// If the file holds a scenario that is none; a test builds all of them.
    pub fn sides(&self) -> Vec<(&str, Scenario)> {
        let side = |(row, column): (usize, usize)| {
            let scenario = self.scenario(row, column, false).unwrap_or_else(|e| panic!("{e}"));
            (self.columns[column].label.as_str(), scenario)
        };
        self.opened().into_iter().map(side).collect()
    }

    /// Published value of a cell.
    pub fn published(&self, metric: &Metric, (row, column): (usize, usize)) -> Option<f64> {
        let table = self.published.iter().find(|table| table.metric == *metric)?;
        table.values.get(row)?.get(column).copied().flatten()
    }
}
