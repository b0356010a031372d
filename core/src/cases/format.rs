//! The form of a case file. The build script reads this file too, to refuse a wrong one with its name and key; it
//! knows nothing of the simulator.

use super::metric::Metric;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Where a case stands in lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// One of the five reports.
    Five,
    /// Another published measurement.
    Published,
    /// A small scenario that shows one rule, without numbers.
    Rule,
}

/// Published scenarios with their numbers, or a small scenario that shows a rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the file, for the command line and the URL.
    pub name: String,
    /// Where it stands.
    pub group: Group,
    /// One line.
    pub title: String,
    /// What to look at and why it happens, in plain words.
    pub about: String,
    /// Where the numbers were published; empty for a rule.
    #[serde(default)]
    pub source: String,
    /// What the publication leaves open and is assumed here.
    #[serde(default)]
    pub assumed: String,
    /// What of the publication is not shown here, and why.
    #[serde(default)]
    pub left_out: String,
    /// Parameters that were chosen so that a fitted column comes out.
    #[serde(default)]
    pub fitted: Vec<Fitted>,
    /// What all cells have in common: a scenario.
    #[serde(default)]
    pub scenario: Value,
    /// Merged over it for a reduced run: a shorter duration.
    #[serde(default)]
    pub reduced: Value,
    /// What is compared.
    pub columns: Vec<Variant>,
    /// Loads under which it is compared; none: one.
    #[serde(default)]
    pub rows: Vec<Variant>,
    /// Published tables.
    #[serde(default)]
    pub published: Vec<Table>,
    /// What must come out.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What must be smaller than what.
    #[serde(default)]
    pub must: Vec<Must>,
    /// Changes of single assumptions, to see which of them carries the result.
    #[serde(default)]
    pub sensitivity: Vec<WhatIf>,
    /// What the page opens.
    #[serde(default)]
    pub open: Option<Open>,
}

/// A column or row: what it is called and what it changes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in tables, checks and the page.
    pub label: String,
    /// Merged over the scenario of the case, columns before rows.
    #[serde(default)]
    pub scenario: Value,
    /// Merged last for a reduced run.
    #[serde(default)]
    pub reduced: Value,
    /// Of a column: whether its numbers chose parameters.
    #[serde(default)]
    pub basis: Basis,
}

/// Whether parameters were chosen by a column's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Nothing in the case was fitted.
    #[default]
    Neither,
    /// They were.
    Fitted,
    /// They were chosen by another column; here only the rules differ.
    Predicted,
}

/// A parameter that was chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Where it stands in the scenario: `costs.irq`, `devices.sdb.params.engine_ns`.
    pub path: String,
    /// What was chosen.
    pub value: f64,
    /// Least and greatest plausible value.
    pub range: [f64; 2],
    /// By which published number, and why it is free.
    pub why: String,
    /// What moves when it moves.
    pub sensitivity: String,
}

/// Published numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What was measured.
    pub metric: Metric,
    /// For each row its columns, in their order; `nan` where nothing was published.
    pub values: Vec<Vec<Option<f64>>>,
}

/// A cell of the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Label of its row; empty where there are none.
    #[serde(default)]
    pub row: String,
    /// Label of its column.
    pub column: String,
}

/// A number that must lie in a band.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What is checked, in a few words.
    pub name: String,
    /// Of which number.
    pub metric: Metric,
    /// Where.
    pub at: Place,
    /// It is divided by the number there.
    #[serde(default)]
    pub over: Option<Place>,
    /// The number there is subtracted from it.
    #[serde(default)]
    pub minus: Option<Place>,
    /// What was published, if a number.
    #[serde(default)]
    pub published: Option<f64>,
    /// Least and greatest value that counts as a hit.
    pub band: [f64; 2],
    /// Where the band comes from.
    #[serde(default)]
    pub why: String,
    /// The model is known not to hit it.
    #[serde(default)]
    pub miss: Option<Miss>,
}

/// What the model says instead of what it should.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// Least and greatest value that it is known to give.
    pub seen: [f64; 2],
    /// The assumption on which it hangs.
    pub because: String,
}

/// A number that must be smaller than another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Must {
    /// What is compared.
    pub metric: Metric,
    /// The smaller one.
    pub less: Place,
    /// The greater one.
    pub than: Place,
    /// The model is known not to have it so; `seen` is the first divided by the second.
    #[serde(default)]
    pub miss: Option<Miss>,
}

/// A changed assumption.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// What is changed, in words.
    pub label: String,
    /// Merged over every cell.
    pub scenario: Value,
}

/// The columns that the page shows as its two sides, and the row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Label of the row; empty where there are none.
    #[serde(default)]
    pub row: String,
    /// Labels of one or two columns.
    pub columns: Vec<String>,
}

impl Fitted {
    /// At the edge of its range the parameter hides something else: a miss, not a fit.
    pub fn at_edge(&self) -> bool {
        self.value <= self.range[0] || self.value >= self.range[1]
    }
}

impl Case {
    /// Index (row, column) of a place. Without rows there is one row, 0.
    pub fn cell(&self, place: &Place) -> Option<(usize, usize)> {
        let column = self.columns.iter().position(|c| c.label == place.column)?;
        match self.rows.is_empty() {
            true => place.row.is_empty().then_some((0, column)),
            false => Some((self.rows.iter().position(|r| r.label == place.row)?, column)),
        }
    }

    /// Number of rows, at least one.
    pub fn row_count(&self) -> usize {
        self.rows.len().max(1)
    }

    /// All checks, the orders among them as ratios below one.
    pub fn all_checks(&self) -> Vec<Check> {
        let place = |p: &Place| match p.row.is_empty() {
            true => p.column.clone(),
            false => format!("{} at {}", p.column, p.row),
        };
        let order = |m: &Must| Check {
            name: format!("{}: {} below {}", m.metric, place(&m.less), place(&m.than)),
            metric: m.metric.clone(),
            at: m.less.clone(),
            over: Some(m.than.clone()),
            minus: None,
            published: None,
            band: [0.0, 1.0],
            why: String::from("the order as published"),
            miss: m.miss.clone(),
        };
        self.checks.iter().cloned().chain(self.must.iter().map(order)).collect()
    }

    /// The scenario of a cell as plain data, with one change more (`Null`: none); `reduced` for a shorter run.
    ///
    /// # Errors
    /// Where an override fits nothing.
    pub fn value(&self, row: usize, column: usize, change: &Value, reduced: bool) -> Result<Value, String> {
        let mut value = self.scenario.clone();
        let column = self.columns.get(column).ok_or("there is no such column")?;
        let none = Variant::default();
        let row = match self.rows.is_empty() {
            true => &none,
            false => self.rows.get(row).ok_or("there is no such row")?,
        };
        merge(&mut value, &column.scenario, "column")?;
        merge(&mut value, &row.scenario, "row")?;
        merge(&mut value, change, "sensitivity")?;
        if reduced {
            for over in [&self.reduced, &column.reduced, &row.reduced] {
                merge(&mut value, over, "reduced")?;
            }
        }
        Ok(value)
    }

    /// What contradicts itself.
    ///
    /// # Errors
    /// The first contradiction, with its key.
    pub fn check(&self) -> Result<(), String> {
        let unique = |what: &str, labels: &[Variant]| {
            let mut seen = BTreeSet::new();
            match labels.iter().find(|l| !seen.insert(&l.label)) {
                Some(twice) => Err(format!("{what}: '{}' is there twice", twice.label)),
                None => Ok(()),
            }
        };
        unique("columns", &self.columns)?;
        unique("rows", &self.rows)?;
        if self.columns.is_empty() {
            return Err("columns: there must be one".into());
        }
        for table in &self.published {
            let fits = table.values.len() == self.row_count()
                && table.values.iter().all(|row| row.len() == self.columns.len());
            if !fits {
                return Err(format!(
                    "published, {}: needs {} rows of {} values",
                    table.metric,
                    self.row_count(),
                    self.columns.len()
                ));
            }
        }
        for check in self.all_checks() {
            let key = format!("checks, '{}'", check.name);
            for place in [Some(&check.at), check.over.as_ref(), check.minus.as_ref()].into_iter().flatten() {
                self.cell(place).ok_or_else(|| {
                    format!("{key}: there is no column '{}' with row '{}'", place.column, place.row)
                })?;
            }
            if check.over.is_some() && check.minus.is_some() {
                return Err(format!("{key}: over or minus, not both"));
            }
            let bands = [Some(check.band), check.miss.as_ref().map(|m| m.seen)];
            if bands.into_iter().flatten().any(|[low, high]| low > high) {
                return Err(format!("{key}: a band needs its lower bound first"));
            }
            if check.why.is_empty() {
                return Err(format!("{key}: why is missing: where does the band come from?"));
            }
        }
        if self.open.as_ref().is_some_and(|open| open.columns.is_empty() || open.columns.len() > 2) {
            return Err("open: one or two columns".into());
        }
        for column in self.open.iter().flat_map(|open| &open.columns) {
            let place = Place {
                row: self.open.as_ref().map_or_else(String::new, |o| o.row.clone()),
                column: column.clone(),
            };
            self.cell(&place).ok_or_else(|| {
                format!("open: there is no column '{}' with row '{}'", place.column, place.row)
            })?;
        }
        for row in 0..self.row_count() {
            for column in 0..self.columns.len() {
                self.value(row, column, &Value::Null, false)?;
                for change in
                    std::iter::once(&Value::Null).chain(self.sensitivity.iter().map(|w| &w.scenario))
                {
                    self.value(row, column, change, true)?;
                }
            }
        }
        Ok(())
    }
}

/// Merges tables into tables. A table over an array changes its elements: keys are their indices, or `*` for all of
/// them. Anything else takes the place of what was there.
///
/// # Errors
/// An index that is none, with its path.
pub fn merge(value: &mut Value, over: &Value, path: &str) -> Result<(), String> {
    match (value, over) {
        (_, Value::Null) => {}
        (Value::Object(value), Value::Object(over)) => {
            for (key, over) in over {
                merge(value.entry(key.clone()).or_insert(Value::Null), over, &format!("{path}.{key}"))?;
            }
        }
        (Value::Array(elements), Value::Object(over)) => {
            for (key, over) in over {
                let path = format!("{path}.{key}");
                match key.parse::<usize>() {
                    _ if key == "*" => {
                        for element in elements.iter_mut() {
                            merge(element, over, &path)?;
                        }
                    }
                    Ok(index) if index < elements.len() => merge(&mut elements[index], over, &path)?,
                    _ => return Err(format!("{path}: the array has {} elements", elements.len())),
                }
            }
        }
        (value, over) => *value = over.clone(),
    }
    Ok(())
}
