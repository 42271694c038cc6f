//! What a table and its columns are.

use core::fmt;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A number.
    F64,
    /// A count.
    U64,
    /// A name.
    Text,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::U64 => "u64",
            Self::Text => "text",
        })
    }
}

/// What a column is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnSchema {
    /// Its name, ending in its unit where it has one (`_s`, `_bps`).
    pub name: &'static str,
    /// The type of its values.
    pub ty: Type,
    /// The unit: `s`, `bit/s`, `packets`, `bytes`; empty where there is none.
    pub unit: &'static str,
    /// What it says.
    pub doc: &'static str,
}

/// What a table is.
#[derive(PartialEq, Eq, Debug)]
pub struct Schema {
    /// Its name, which is its file's.
    pub name: &'static str,
    /// What its rows are.
    pub doc: &'static str,
    /// Its columns in order.
    pub columns: &'static [ColumnSchema],
}

impl Schema {
    /// The place of a column.
    pub fn index(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    /// The table's reference in Markdown.
    pub fn markdown(&self) -> String {
        use core::fmt::Write as _;
        let mut text = format!("## `{}`\n\n{}\n\n", self.name, self.doc);
        text.push_str("| column | type | unit | meaning |\n|---|---|---|---|\n");
        for c in self.columns {
            let _ = writeln!(text, "| `{}` | {} | {} | {} |", c.name, c.ty, c.unit, c.doc);
        }
        text
    }
}

/// The schema of this name among several.
pub(crate) fn named_in(all: &[&'static Schema], name: &str) -> Option<&'static Schema> {
    all.iter().copied().find(|schema| schema.name == name)
}
