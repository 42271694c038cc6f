//! A reply: JSON, and behind it the columns of tables as they are in memory.
//!
//! A page reads columns without a copy, so each begins at a multiple of eight. Numbers are little-endian: 64-bit floats; counts
//! as 64-bit floats, too, which are exact up to 2⁵³; names as 32-bit places in a list, which is part of the JSON.

use serde_json::{Value, json};
use sojourn_results::{Column, Table};

/// Where the JSON begins: behind its own length.
const HEAD: usize = 8;

/// What a session answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The words of it.
    pub json: Value,
    /// The columns that it speaks of, by their places in here.
    pub columns: Vec<u8>,
}

impl From<Value> for Reply {
    fn from(json: Value) -> Self {
        Self { json, columns: Vec::new() }
    }
}

impl Reply {
    /// As bytes: the JSON's length (32 bits), four zeros, the JSON, spaces up to a multiple of eight, the columns.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = self.json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = Vec::with_capacity(HEAD + text.len() + self.columns.len());
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.resize(HEAD, 0);
        bytes.extend(text);
        bytes.extend(&self.columns);
        bytes
    }

    /// Adds a table's columns, and returns what says where they are.
    pub(crate) fn add(&mut self, table: &Table) -> Value {
        let columns = table.columns().map(|(schema, column, _)| {
            let mut said = json!({
                "name": schema.name, "unit": schema.unit, "doc": schema.doc, "at": self.columns.len(),
            });
            match column {
                Column::F64(values) => {
                    said["type"] = "number".into();
                    self.columns.extend(values.iter().flat_map(|v| v.to_le_bytes()));
                }
                Column::U64(values) => {
                    said["type"] = "count".into();
                    self.columns.extend(values.iter().flat_map(|&v| (v as f64).to_le_bytes()));
                }
                Column::Text(text) => {
                    said["type"] = "text".into();
                    said["names"] = json!(text.names());
                    self.columns.extend(text.codes().iter().flat_map(|c| c.to_le_bytes()));
                    self.columns.resize(self.columns.len().next_multiple_of(8), 0);
                }
            }
            said
        });
        let columns: Vec<Value> = columns.collect();
        json!({ "name": table.schema().name, "rows": table.len(), "columns": columns })
    }
}
