//! What charts draw of a table: means, minima and maxima over steps of time.
//!
//! A run has more samples than a picture has columns. [`steps`] puts the rows of a table into steps of equal length, one line for
//! each flow or queue, and gives each step one number. `t_s` is the end of a sample interval, so a sample belongs to
//! the step in which its interval ends; rows before the run's origin are left out, and NaN counts as no value.

use super::table::{Column, Table};

/// Which number stands for the rows of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Their mean.
    Mean,
    /// The smallest.
    Least,
    /// The largest.
    Most,
}

impl Of {
    /// The word in Python.
    pub const WORDS: [(&str, Self); 3] =
        [("mean", Self::Mean), ("least", Self::Least), ("most", Self::Most)];

    /// From its word; `None` if it is no such word.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|&(own, _)| own == word).map(|(_, of)| of)
    }
}

/// One flow or queue over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The texts of the columns in `by`, with a space between them.
    pub name: String,
    /// The middle of each step that has rows, s, in order.
    pub t: Vec<f64>,
    /// For each wanted column one number a step, NaN where no row has a value.
    pub values: Vec<Vec<f64>>,
}

/// The name of a column that a table does not have, or not as numbers or text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("table {table} has no column {column} of {kind}")]
pub struct NoColumn {
    table: &'static str,
    column: String,
    kind: &'static str,
}

fn find<'a>(table: &'a Table, column: &str, kind: &'static str) -> Result<&'a Column, NoColumn> {
    let mut known = table.columns();
    let found = known.find(|(schema, own, _)| {
        schema.name == column && matches!(own, Column::Text(_)) == (kind == "text")
    });
    let missing = || NoColumn { table: table.schema().name, column: column.to_owned(), kind };
    found.map(|(_, own, _)| own).ok_or_else(missing)
}

fn number(column: &Column, row: usize) -> f64 {
    match column {
        Column::F64(v) => v[row],
        Column::U64(v) => v[row] as f64,
        Column::Text(_) => f64::NAN,
    }
}

/// The rows that have these texts in these columns.
///
/// # Errors
/// If the table has no such column of text.
pub fn rows_with(table: &Table, only: &[(String, String)]) -> Result<Vec<usize>, NoColumn> {
    let mut kept: Vec<usize> = (0..table.len()).collect();
    for (column, text) in only {
        let Column::Text(own) = find(table, column, "text")? else { continue };
        let code = own.code(text);
        kept.retain(|&row| Some(own.codes()[row]) == code);
    }
    Ok(kept)
}

/// What each line gathers.
struct Gathered {
    name: String,
    /// By step: sum or extreme, and how many, for each wanted column.
    by_step: std::collections::BTreeMap<i64, Vec<(f64, u32)>>,
}

/// The lines of a table, in the order in which their first rows come.
///
/// `by` names columns of text that tell lines apart, as far as the table has them; `only` keeps the rows with these texts. Each wanted number is that of the
/// first of its columns that has a value in the row.
///
/// # Errors
/// If the table has no such column.
pub fn steps(
    table: &Table,
    step: f64,
    by: &[String],
    only: &[(String, String)],
    wanted: &[(Vec<String>, Of)],
) -> Result<Vec<Line>, NoColumn> {
    let columns = |names: &Vec<String>| -> Result<Vec<&Column>, NoColumn> {
        names.iter().map(|name| find(table, name, "numbers")).collect()
    };
    let read: Vec<(Vec<&Column>, Of)> = wanted
        .iter()
        .map(|(names, of)| Ok((columns(names)?, *of)))
        .collect::<Result<_, NoColumn>>()?;
    let texts: Vec<&Column> = by.iter().filter_map(|name| find(table, name, "text").ok()).collect();
    let times = find(table, "t_s", "numbers")?;
    let mut lines: Vec<Gathered> = Vec::new();
    let mut places: std::collections::HashMap<Vec<u32>, usize> = std::collections::HashMap::new();
    for row in rows_with(table, only)? {
        let t = number(times, row);
        if t.is_nan() || t < 0.0 {
            continue;
        }
        let key: Vec<u32> = texts
            .iter()
            .map(|column| match column {
                Column::Text(text) => text.codes()[row],
                _ => 0,
            })
            .collect();
        let place = *places.entry(key).or_insert_with(|| {
            let names = texts.iter().filter_map(|column| match column {
                Column::Text(text) => Some(text.get(row)),
                _ => None,
            });
            let name = names.collect::<Vec<_>>().join(" ");
            lines.push(Gathered { name, by_step: std::collections::BTreeMap::new() });
            lines.len() - 1
        });
        // A sample that ends on the edge of a step, but for rounding, belongs to the step before.
        let at = (t / step - 1e-6).ceil() as i64 - 1;
        let slots = lines[place].by_step.entry(at).or_insert_with(|| vec![(0.0, 0); read.len()]);
        for ((columns, of), (sum, count)) in read.iter().zip(slots) {
            let mut values = columns.iter().map(|column| number(column, row));
            let Some(value) = values.find(|value| !value.is_nan()) else { continue };
            *sum = match of {
                _ if *count == 0 => value,
                Of::Mean => *sum + value,
                Of::Least => sum.min(value),
                Of::Most => sum.max(value),
            };
            *count += 1;
        }
    }
    Ok(lines.into_iter().map(|line| line.finished(step, &read)).collect())
}

impl Gathered {
    fn finished(self, step: f64, read: &[(Vec<&Column>, Of)]) -> Line {
        let t = self.by_step.keys().map(|&at| (at as f64 + 0.5) * step).collect();
        let values = read.iter().enumerate().map(|(index, (_, of))| {
            let each = self.by_step.values().map(|slots| match slots[index] {
                (_, 0) => f64::NAN,
                (sum, count) if *of == Of::Mean => sum / f64::from(count),
                (extreme, _) => extreme,
            });
            each.collect()
        });
        Line { values: values.collect(), name: self.name, t }
    }
}

#[cfg(test)]
mod tests {
    use super::{Of, steps};
    use crate::schema;
    use crate::table::{Column, Provenance, Table, Text};

    /// Three samples of two flows; 0.1 s ends the first step of 0.1 s although its division is above 1.
    fn pings() -> Table {
        let mut flow = Text::default();
        let (a, b) = (flow.intern("a"), flow.intern("b"));
        let flow = Text::from_parts(vec![b, a, b, b, b], flow.names().to_vec()).unwrap();
        let t = vec![-0.1, 0.05, 0.1, 0.300_000_000_000_000_04, 0.35];
        let rtt = vec![9.0, 1.0, 2.0, f64::NAN, 4.0];
        let columns = schema::PINGS
            .columns
            .iter()
            .map(|own| match own.name {
                "flow" => Column::Text(flow.clone()),
                "t_s" => Column::F64(t.clone()),
                "rtt_s" => Column::F64(rtt.clone()),
                _ => match own.ty {
                    crate::column::Type::F64 => Column::F64(vec![f64::NAN; 5]),
                    crate::column::Type::U64 => Column::U64(vec![0; 5]),
                    crate::column::Type::Text => {
                        let mut none = Text::default();
                        let code = none.intern("");
                        Column::Text(
                            Text::from_parts(vec![code; 5], none.names().to_vec()).unwrap(),
                        )
                    }
                },
            })
            .collect();
        Table::from_columns(&schema::PINGS, columns, Provenance::Exact).unwrap()
    }

    fn of(words: &str) -> Vec<(Vec<String>, Of)> {
        vec![(vec!["rtt_s".to_owned()], Of::named(words).unwrap())]
    }

    #[test]
    fn a_sample_belongs_to_the_step_in_which_it_ends() {
        let found = steps(&pings(), 0.1, &["flow".to_owned()], &[], &of("mean")).unwrap();
        // a: 0.05 is in the first step. b: 0.1 ends the first, 0.3 the third (no value), 0.35 is in the fourth.
        assert_eq!(found[0].name, "a");
        assert_eq!(found[0].values, [[1.0]]);
        assert_eq!(found[1].name, "b");
        assert_eq!(found[1].t, [0.05, 0.25, 0.350_000_000_000_000_03]);
        assert_eq!(found[1].values[0][0], 2.0);
        assert!(found[1].values[0][1].is_nan());
        assert_eq!(found[1].values[0][2], 4.0);
    }

    #[test]
    fn extremes_ignore_missing_values_and_other_flows() {
        let only = [("flow".to_owned(), "b".to_owned())];
        for (word, value) in [("least", 2.0), ("most", 4.0), ("mean", 3.0)] {
            let found = steps(&pings(), 1.0, &[], &only, &of(word)).unwrap();
            assert_eq!((found[0].name.as_str(), found[0].values[0][0]), ("", value));
        }
    }

    #[test]
    fn the_first_column_with_a_value_counts() {
        let wanted = vec![(vec!["rtt_s".to_owned(), "t_s".to_owned()], Of::Mean)];
        let found = steps(&pings(), 0.1, &[], &[], &wanted).unwrap();
        assert_eq!(found[0].values[0][1], 0.300_000_000_000_000_04);
    }

    #[test]
    fn a_missing_column_is_named() {
        let only = [("rtt_s".to_owned(), String::new())];
        let error = steps(&pings(), 1.0, &[], &only, &of("mean")).unwrap_err();
        assert_eq!(error.to_string(), "table pings has no column rtt_s of text");
    }
}
