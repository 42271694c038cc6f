//! One run's results.

use super::{Table, schema};
use serde::{Deserialize, Serialize};
use sojourn_model::{Scenario, Unsupported};
use std::sync::Arc;

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

    /// The table of this schema, or an empty one.
    pub fn table_or_empty(&self, schema: &'static schema::Schema) -> std::borrow::Cow<'_, Table> {
        match self.table(schema.name) {
            Some(table) => std::borrow::Cow::Borrowed(table),
            None => std::borrow::Cow::Owned(Table::new(schema, super::Provenance::Exact)),
        }
    }
}
