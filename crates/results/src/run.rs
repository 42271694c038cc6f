//! One run's results.

use super::{Table, schema};
use serde::{Deserialize, Serialize};
use sojourn_model::{Scenario, Unsupported};
use std::sync::Arc;

/// The subject of totals that tell how the machine did during a run.
pub const MACHINE: &str = "live";

/// Which engine ran it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EngineId {
    /// `sim`, `linux`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What else its results depend on: a kernel's version and configuration. May be empty.
    pub detail: String,
}

/// What a run gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// What was run, whole: shared with whoever asked for it.
    pub scenario: Arc<Scenario>,
    /// By which engine.
    pub engine: EngineId,
    /// The columns, at most one table of each schema.
    pub tables: Vec<Table>,
    /// What the engine ran but could not record, by name.
    pub unrecorded: Vec<Unsupported>,
}

impl Run {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.schema().name == name)
    }

    /// Whether its numbers can carry a verdict. Runs on a wall clock can lose their machine; their engine then writes the
    /// total `valid` of the subject [`MACHINE`] as 0.
    pub fn is_valid(&self) -> bool {
        let Some(totals) = self.table("totals") else { return true };
        let (subjects, names) = (totals.text("subject"), totals.text("name"));
        let is = |row: &usize| subjects.get(*row) == MACHINE && names.get(*row) == "valid";
        (0..totals.len()).find(is).is_none_or(|row| totals.f64("value")[row] != 0.0)
    }

    /// The table of this schema, or an empty one.
    pub fn table_or_empty(&self, schema: &'static schema::Schema) -> std::borrow::Cow<'_, Table> {
        match self.table(schema.name) {
            Some(table) => std::borrow::Cow::Borrowed(table),
            None => std::borrow::Cow::Owned(Table::new(schema, super::Provenance::Exact)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Provenance, Rows, rows};
    use sojourn_model::example::scenario;

    fn run(totals: &[(&str, &str, f64)]) -> Run {
        let mut table = Rows::<rows::Totals>::new(Provenance::Exact);
        for &(subject, name, value) in totals {
            table.push(rows::Total { subject: subject.into(), name: name.into(), value });
        }
        let engine =
            EngineId { name: "live".to_owned(), version: "1".to_owned(), detail: String::new() };
        let tables = vec![table.into_table()];
        Run { scenario: Arc::new(scenario()), engine, tables, unrecorded: Vec::new() }
    }

    #[test]
    fn a_run_is_valid_unless_its_engine_says_that_it_is_not() {
        assert!(run(&[]).is_valid());
        assert!(run(&[("live", "valid", 1.0), ("live", "socket_drops", 0.0)]).is_valid());
        assert!(run(&[("flow", "valid", 0.0)]).is_valid(), "a flow of this name");
        assert!(!run(&[("live", "socket_drops", 7.0), ("live", "valid", 0.0)]).is_valid());
    }

    /// A number stays, a verdict does not.
    #[test]
    fn a_run_that_is_not_valid_has_numbers_and_no_verdict() {
        use crate::metrics::{Expression, Frame};
        let (good, bad) = (run(&[("live", "valid", 1.0)]), run(&[("live", "valid", 0.0)]));
        let plain = Expression::parse("drops(run)").unwrap();
        let check = Expression::parse("drops(run) <= 5").unwrap();
        let passed = |run: &Run| check.evaluate(&Frame::new(run)).map(|verdict| verdict.passed);
        assert_eq!(passed(&good), Ok(Some(true)));
        assert!(passed(&bad).unwrap_err().message.contains("not valid"));
        assert!(plain.evaluate(&Frame::new(&bad)).is_ok());
    }
}
