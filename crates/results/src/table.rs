//! A table: a schema and its columns.

use super::column::{ColumnSchema, Schema, Type};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// Where a column's values come from, the best source first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Counted or measured at each packet.
    Exact,
    /// Read once per sample interval.
    Sampled,
    /// Computed from something else, such as stamps on both sides of the bottleneck.
    Estimated,
}

impl Provenance {
    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Estimated => "estimated",
        }
    }

    /// The source of this word; `None` if it is no such word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Exact, Self::Sampled, Self::Estimated].into_iter().find(|own| own.name() == word)
    }
}

/// A column of text as a dictionary: each row is the number of a name.
#[derive(Clone, Debug, Default)]
pub struct Text {
    codes: Vec<u32>,
    names: Vec<String>,
    known: HashMap<String, u32>,
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.codes == other.codes && self.names == other.names
    }
}

impl Text {
    /// From its rows' codes and the names they stand for; `None` if a code has no name.
    pub fn from_parts(codes: Vec<u32>, names: Vec<String>) -> Option<Self> {
        if codes.iter().any(|&c| c as usize >= names.len()) {
            return None;
        }
        let known = names.iter().cloned().zip(0..).collect();
        Some(Self { codes, names, known })
    }

    /// The code of a name, new or known.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(&code) = self.known.get(name) {
            return code;
        }
        let code = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), code);
        code
    }

    /// The code of a name that occurs.
    pub fn code(&self, name: &str) -> Option<u32> {
        self.known.get(name).copied()
    }

    /// One code a row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// What the codes stand for.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Another row, by the code of a name.
    ///
    /// # Panics
    /// When no name has this code.
    #[inline]
    pub(crate) fn push(&mut self, code: u32) {
        assert!((code as usize) < self.names.len(), "{code} is no code of a name of this column");
        self.codes.push(code);
    }

    /// Adds each name once, where it first occurs, and the rows by these places.
    fn digest(&self, hash: &mut Sha256) {
        let mut places: Vec<Option<u32>> = vec![None; self.names.len()];
        let mut next = 0_u32;
        for &code in &self.codes {
            let place = *places[code as usize].get_or_insert_with(|| {
                let name = &self.names[code as usize];
                hash.update((name.len() as u64).to_le_bytes());
                hash.update(name);
                next += 1;
                next - 1
            });
            hash.update(place.to_le_bytes());
        }
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        &self.names[self.codes[row] as usize]
    }
}

/// A column's values.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Numbers; NaN where there is none.
    F64(Vec<f64>),
    /// Counts.
    U64(Vec<u64>),
    /// Names.
    Text(Text),
}

impl Column {
    fn empty(ty: Type) -> Self {
        match ty {
            Type::F64 => Self::F64(Vec::new()),
            Type::U64 => Self::U64(Vec::new()),
            Type::Text => Self::Text(Text::default()),
        }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::Text(t) => t.codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type.
    pub const fn ty(&self) -> Type {
        match self {
            Self::F64(_) => Type::F64,
            Self::U64(_) => Type::U64,
            Self::Text(_) => Type::Text,
        }
    }
}

/// Columns that are not those of their schema.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MisfitTable {
    /// Another number of columns.
    #[error("table {table} has {expected} columns, not {found}")]
    Columns {
        /// The table.
        table: &'static str,
        /// By its schema.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// Another type.
    #[error("column {column} of table {table} is {expected}, not {found}")]
    Type {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// By its schema.
        expected: Type,
        /// In the data.
        found: Type,
    },
    /// Columns of different lengths.
    #[error("column {column} of table {table} has {found} rows, the first column {expected}")]
    Rows {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// In the first column.
        expected: usize,
        /// In this one.
        found: usize,
    },
}

/// A schema with its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    schema: &'static Schema,
    columns: Vec<Column>,
    provenance: Vec<Provenance>,
}

impl Table {
    /// An empty table with columns that all come from the same kind of source.
    pub fn new(schema: &'static Schema, provenance: Provenance) -> Self {
        Self {
            schema,
            columns: schema.columns.iter().map(|c| Column::empty(c.ty)).collect(),
            provenance: vec![provenance; schema.columns.len()],
        }
    }

    /// A table from columns that were made elsewhere (read back from a file, imported).
    pub fn from_columns(
        schema: &'static Schema,
        columns: Vec<Column>,
        provenance: Provenance,
    ) -> Result<Self, MisfitTable> {
        let provenance = vec![provenance; columns.len()];
        Self::from_sources(schema, columns, provenance)
    }

    /// The same with the source of each column; the sources are as many as the columns.
    pub fn from_sources(
        schema: &'static Schema,
        columns: Vec<Column>,
        provenance: Vec<Provenance>,
    ) -> Result<Self, MisfitTable> {
        let table = schema.name;
        if columns.len() != schema.columns.len() {
            let (expected, found) = (schema.columns.len(), columns.len());
            return Err(MisfitTable::Columns { table, expected, found });
        }
        let expected = columns.first().map_or(0, Column::len);
        for (stated, column) in schema.columns.iter().zip(&columns) {
            if column.ty() != stated.ty {
                let (expected, found) = (stated.ty, column.ty());
                return Err(MisfitTable::Type { table, column: stated.name, expected, found });
            }
            if column.len() != expected {
                let found = column.len();
                return Err(MisfitTable::Rows { table, column: stated.name, expected, found });
            }
        }
        Ok(Self { schema, columns, provenance })
    }

    /// One column comes from another kind of source.
    pub(crate) fn provenance_of(&mut self, column: usize, provenance: Provenance) {
        self.provenance[column] = provenance;
    }

    pub(crate) fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// A column of text.
    ///
    /// # Panics
    /// If it is another.
    pub(crate) fn text_mut(&mut self, column: usize) -> &mut Text {
        match &mut self.columns[column] {
            Column::Text(text) => text,
            other => panic!("column {column} of {} is {}", self.schema.name, other.ty()),
        }
    }

    /// The schema.
    pub const fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns with what the schema says of them and where they come from.
    pub fn columns(&self) -> impl Iterator<Item = (&'static ColumnSchema, &Column, Provenance)> {
        self.schema
            .columns
            .iter()
            .zip(&self.columns)
            .zip(&self.provenance)
            .map(|((schema, column), &provenance)| (schema, column, provenance))
    }

    /// One number for all values, bit for bit and row by row: SHA-256, in hexadecimal digits. Names of columns do not count, so
    /// that a column may be called otherwise; names in rows count as text, not by the codes that stand for them.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.len() as u64).to_le_bytes());
        for column in &self.columns {
            match column {
                Column::F64(v) => v.iter().for_each(|x| hash.update(x.to_bits().to_le_bytes())),
                Column::U64(v) => v.iter().for_each(|x| hash.update(x.to_le_bytes())),
                Column::Text(t) => t.digest(&mut hash),
            }
        }
        hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// The columns themselves, for an export that takes them.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The numbers of a column.
    ///
    /// # Panics
    /// If the schema has no such column of numbers: the names are constants of the program.
    pub fn f64(&self, column: &str) -> &[f64] {
        match self.column(column) {
            Column::F64(v) => v,
            other => panic!("column {column} of {} is {}", self.schema.name, other.ty()),
        }
    }

    /// The counts of a column. Panics as [`Table::f64`] does.
    pub fn u64(&self, column: &str) -> &[u64] {
        match self.column(column) {
            Column::U64(v) => v,
            other => panic!("column {column} of {} is {}", self.schema.name, other.ty()),
        }
    }

    /// The names of a column. Panics as [`Table::f64`] does.
    pub fn text(&self, column: &str) -> &Text {
        match self.column(column) {
            Column::Text(t) => t,
            other => panic!("column {column} of {} is {}", self.schema.name, other.ty()),
        }
    }

    fn column(&self, name: &str) -> &Column {
        match self.schema.index(name) {
            Some(i) => &self.columns[i],
            None => panic!("table {} has no column {name}", self.schema.name),
        }
    }

    /// This table's rows and, behind them, those of another table of the same schema. A column is known as well as the
    /// worse of its parts that have rows.
    ///
    /// # Panics
    /// If the schemas differ.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        assert_eq!(self.schema.name, other.schema.name, "rows of another table");
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self;
        }
        for (known, more) in self.provenance.iter_mut().zip(&other.provenance) {
            *known = (*known).max(*more);
        }
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            match (column, more) {
                (Column::F64(v), Column::F64(more)) => v.extend_from_slice(more),
                (Column::U64(v), Column::U64(more)) => v.extend_from_slice(more),
                (Column::Text(t), Column::Text(more)) => {
                    let codes: Vec<u32> = more.names.iter().map(|name| t.intern(name)).collect();
                    t.codes.extend(more.codes.iter().map(|&code| codes[code as usize]));
                }
                (column, more) => panic!("a column of {} and one of {}", column.ty(), more.ty()),
            }
        }
        self
    }

    /// The rows in the order of a column of numbers; rows of the same number keep theirs.
    ///
    /// # Panics
    /// As [`Table::f64`] does.
    #[must_use]
    pub fn in_order_of(mut self, column: &str) -> Self {
        let keys = self.f64(column);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
        for column in &mut self.columns {
            match column {
                Column::F64(v) => *v = order.iter().map(|&row| v[row]).collect(),
                Column::U64(v) => *v = order.iter().map(|&row| v[row]).collect(),
                Column::Text(t) => t.codes = order.iter().map(|&row| t.codes[row]).collect(),
            }
        }
        self
    }

    /// Makes room for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        for column in &mut self.columns {
            match column {
                Column::F64(v) => v.reserve(rows),
                Column::U64(v) => v.reserve(rows),
                Column::Text(t) => t.codes.reserve(rows),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rows, rows, schema};

    #[test]
    fn columns_come_back_as_they_went_in() {
        let mut short = Rows::<rows::Completions>::new(Provenance::Exact);
        short.push(rows::Completion { t_s: 0.2, flow: "short".into(), bytes: 9, duration_s: 0.1 });
        let short = short.into_table();
        let columns = short.clone().into_columns();
        let again = Table::from_columns(&schema::COMPLETIONS, columns, Provenance::Exact).unwrap();
        assert_eq!(again, short);
    }

    #[test]
    fn a_digest_is_of_the_values_alone() {
        let table = |order: [&str; 2], t: f64| {
            let mut short = Rows::<rows::Completions>::new(Provenance::Exact);
            for name in order {
                short.intern(|c| c.flow, name);
            }
            short.push(rows::Completion { t_s: t, flow: "b".into(), bytes: 1, duration_s: 0.1 });
            short.push(rows::Completion { t_s: 0.4, flow: "a".into(), bytes: 2, duration_s: 0.2 });
            short
        };
        let one = table(["a", "b"], 0.2);
        assert_eq!(one.table().digest().len(), 64);
        assert_eq!(one.table().digest(), table(["b", "a"], 0.2).table().digest());
        assert_ne!(one.table().digest(), table(["a", "b"], 0.2_f64.next_up()).table().digest());
        let mut other = table(["a", "b"], 0.2);
        other.push(rows::Completion { t_s: 0.4, flow: "a".into(), bytes: 2, duration_s: 0.2 });
        assert_ne!(one.table().digest(), other.table().digest());
    }

    /// Names that both parts have, and that only one has; the order of rows at one time stays.
    #[test]
    fn tables_are_put_together_in_the_order_of_time() {
        let table = |rows: &[(f64, &str)], provenance| {
            let mut table = Rows::<rows::Completions>::new(provenance);
            for &(t_s, flow) in rows {
                table.push(rows::Completion { t_s, flow: flow.into(), bytes: 9, duration_s: 0.1 });
            }
            table.into_table()
        };
        let one = table(&[(0.2, "b"), (0.4, "a")], Provenance::Exact);
        let other = table(&[(0.1, "c"), (0.4, "b")], Provenance::Estimated);
        let both = one.clone().followed_by(&other).in_order_of("t_s");
        assert_eq!(both.f64("t_s"), [0.1, 0.2, 0.4, 0.4]);
        let names: Vec<&str> = (0..4).map(|row| both.text("flow").get(row)).collect();
        assert_eq!(names, ["c", "b", "a", "b"]);
        assert!(both.columns().all(|(_, _, known)| known == Provenance::Estimated));
        let empty = table(&[], Provenance::Estimated);
        assert_eq!(one.clone().followed_by(&empty), one);
        assert_eq!(empty.followed_by(&one), one);
    }

    #[test]
    fn misfits_are_named() {
        let number = || Column::F64(vec![0.0]);
        let columns = vec![number(), Column::U64(vec![]), Column::U64(vec![]), number()];
        let error =
            Table::from_columns(&schema::COMPLETIONS, columns, Provenance::Exact).unwrap_err();
        assert_eq!(error.to_string(), "column flow of table completions is text, not u64");
        assert!(Text::from_parts(vec![0, 1], vec!["a".into()]).is_none());
    }
}
