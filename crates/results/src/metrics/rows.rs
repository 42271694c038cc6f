//! The rows of a table by subject, and what is read off them: values with their times.

use super::window::Bounds;
use crate::{Column, Run, Table, schema};
use std::borrow::Cow;

/// The rows of a table by the name in one of its columns.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub(super) table: Cow<'a, Table>,
    by_name: Vec<(String, Vec<usize>)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(run: &'a Run, schema: &'static schema::Schema, column: &str) -> Self {
        let table = run.table_or_empty(schema);
        let text = table.text(column);
        let mut by_code = vec![Vec::new(); text.names().len()];
        for (row, &code) in text.codes().iter().enumerate() {
            by_code[code as usize].push(row);
        }
        let by_name = text.names().iter().cloned().zip(by_code).collect();
        Self { table, by_name }
    }

    /// The rows of a name, in the order of the table.
    pub(super) fn of(&self, name: &str) -> &[usize] {
        self.by_name.iter().find(|(n, _)| n == name).map_or(&[], |(_, rows)| rows)
    }
}

/// Values with their times, and weights where they differ.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Series {
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) weights: Option<Vec<f64>>,
}

/// A column as numbers.
pub(super) fn numbers<'t>(table: &'t Table, column: &str) -> Cow<'t, [f64]> {
    let found = table.columns().find(|(schema, _, _)| schema.name == column);
    match found.map(|(_, column, _)| column) {
        Some(Column::F64(values)) => Cow::Borrowed(values.as_slice()),
        Some(Column::U64(values)) => Cow::Owned(values.iter().map(|&n| n as f64).collect()),
        _ => Cow::Borrowed(&[]),
    }
}

/// The weight of each row of a subject.
type Weigh = fn(&Rows<'_>, &str) -> Vec<f64>;

/// The values of a subject's rows in a window, those that are not numbers left out.
pub(super) fn take(
    rows: &Rows<'_>,
    subject: &str,
    bounds: Bounds,
    values: impl Fn(&Table) -> Cow<'_, [f64]>,
    weigh: Option<Weigh>,
) -> Series {
    let values = values(&rows.table);
    let times = rows.table.f64("t_s");
    let weights = weigh.map(|weigh| weigh(rows, subject));
    let mut series = Series { weights: weights.as_ref().map(|_| Vec::new()), ..Series::default() };
    for (i, &row) in rows.of(subject).iter().enumerate() {
        if bounds.holds(times[row]) && !values[row].is_nan() {
            series.push(times[row], values[row]);
            if let (Some(to), Some(from)) = (&mut series.weights, &weights) {
                to.push(from[i]);
            }
        }
    }
    series
}

impl Series {
    pub(super) fn push(&mut self, t: f64, value: f64) {
        self.times.push(t);
        self.values.push(value);
    }

    pub(super) fn leave_out(&mut self, unwanted: impl Fn(f64) -> bool) {
        let keep: Vec<bool> = self.values.iter().map(|&x| !unwanted(x)).collect();
        let mut kept = keep.iter();
        self.times.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        self.values.retain(|_| *kept.next().unwrap_or(&true));
    }

    /// Puts the values of another behind these.
    pub(super) fn join(&mut self, other: Self) {
        self.times.extend(other.times);
        self.values.extend(other.values);
        match (&mut self.weights, other.weights) {
            (Some(mine), Some(theirs)) => mine.extend(theirs),
            (mine @ None, Some(theirs)) if self.values.len() == theirs.len() => {
                *mine = Some(theirs);
            }
            _ => {}
        }
    }
}
