//! Rows by the names of their columns: what engines write tables with.
//!
//! A row is a struct of its table's own, so that a value cannot land in another column and none can be forgotten. Names that
//! come again and again are interned once; their [`Code`] belongs to its table by type.

use super::column::Schema;
use super::table::{Column, Provenance, Table};
use core::fmt;
use core::marker::PhantomData;

/// The columns of a table; `crate::schema` has one type for each table.
pub trait Columns: Copy + fmt::Debug + 'static {
    /// What they are.
    const SCHEMA: &'static Schema;
    /// Where each is.
    const COLUMNS: Self;
    /// A row.
    type Row<'a>;

    /// Puts a row's values behind the columns of a table of this schema.
    fn push(row: Self::Row<'_>, columns: &mut [Column]);
}

/// Makes the place of a column in its table, by what the column holds.
macro_rules! places {
    ($($(#[$meta:meta])* $name:ident)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(usize);

        impl $name {
            pub(crate) const fn at(place: usize) -> Self {
                Self(place)
            }
        }

        impl From<$name> for usize {
            fn from(column: $name) -> Self {
                column.0
            }
        }
    )*};
}

places! {
    /// A column of numbers.
    NumberColumn
    /// A column of counts.
    CountColumn
    /// A column of names.
    TextColumn
}

/// A name that a table knows already.
pub struct Code<T> {
    code: u32,
    table: PhantomData<fn() -> T>,
}

impl<T> Clone for Code<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Code<T> {}

impl<T> fmt::Debug for Code<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({})", self.code)
    }
}

/// A name in a row: interned before, or to be looked up.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a, T> {
    /// By its code, from [`Rows::intern`] of the same column.
    Known(Code<T>),
    /// In letters.
    Text(&'a str),
}

impl<T> From<Code<T>> for Name<'_, T> {
    #[inline]
    fn from(code: Code<T>) -> Self {
        Self::Known(code)
    }
}

impl<'a, T> From<&'a str> for Name<'a, T> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a, T> From<&'a String> for Name<'a, T> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

/// Puts one value behind a column.
///
/// # Panics
/// When the column is of another type: rows are put into tables of their own schema only.
pub(crate) trait Put<V> {
    fn put(&mut self, value: V);
}

impl Put<f64> for Column {
    #[inline]
    fn put(&mut self, value: f64) {
        match self {
            Self::F64(values) => values.push(value),
            other => panic!("a column of {}, and a number", other.ty()),
        }
    }
}

impl Put<u64> for Column {
    #[inline]
    fn put(&mut self, value: u64) {
        match self {
            Self::U64(values) => values.push(value),
            other => panic!("a column of {}, and a count", other.ty()),
        }
    }
}

impl<T> Put<Name<'_, T>> for Column {
    #[inline]
    fn put(&mut self, name: Name<'_, T>) {
        match (self, name) {
            (Self::Text(text), Name::Known(known)) => text.push(known.code),
            (Self::Text(text), Name::Text(name)) => {
                let code = text.intern(name);
                text.push(code);
            }
            (other, _) => panic!("a column of {}, and a name", other.ty()),
        }
    }
}

/// A table that is being written, row by row.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    table: Table,
    columns: PhantomData<fn() -> T>,
}

impl<T: Columns> Rows<T> {
    /// None yet; all columns come from the same kind of source.
    pub fn new(provenance: Provenance) -> Self {
        Self { table: Table::new(T::SCHEMA, provenance), columns: PhantomData }
    }

    /// The same, in which one column comes from another kind of source.
    #[must_use]
    pub fn with_provenance<C: Into<usize>>(
        mut self,
        column: impl FnOnce(T) -> C,
        provenance: Provenance,
    ) -> Self {
        self.table.provenance_of(column(T::COLUMNS).into(), provenance);
        self
    }

    /// The code that stands for `name` in a column, so that rows need not look it up.
    ///
    /// # Panics
    /// Never: a [`TextColumn`] of this table is a column of text.
    pub fn intern(&mut self, column: impl FnOnce(T) -> TextColumn, name: &str) -> Code<T> {
        let code = self.table.text_mut(column(T::COLUMNS).into()).intern(name);
        Code { code, table: PhantomData }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// When a code was interned in another column, which has more names: a mistake of the program.
    #[inline]
    pub fn push(&mut self, row: T::Row<'_>) {
        T::push(row, self.table.columns_mut());
    }

    /// Makes room for `rows` more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.table.reserve(rows);
    }

    /// The table so far.
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The table.
    pub fn into_table(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::rows::{Completion, Completions, Ping, Pings};
    use crate::schema::{COMPLETIONS, Type};

    #[test]
    fn a_rows_values_are_in_the_columns_of_their_names() {
        let mut short = Rows::<Completions>::new(Provenance::Exact)
            .with_provenance(|c| c.duration_s, Provenance::Estimated);
        let known = short.intern(|c| c.flow, "short");
        short.push(Completion { t_s: 0.2, flow: known.into(), bytes: 1000, duration_s: 0.021 });
        short.push(Completion { t_s: 0.4, flow: "other".into(), bytes: 2000, duration_s: 0.5 });
        let table = short.into_table();
        assert_eq!(table.f64("t_s"), [0.2, 0.4]);
        assert_eq!(table.u64("bytes"), [1000, 2000]);
        assert_eq!(table.text("flow").names(), ["short", "other"]);
        let provenance: Vec<Provenance> = table.columns().map(|c| c.2).collect();
        let exact = Provenance::Exact;
        assert_eq!(provenance, [exact, exact, exact, Provenance::Estimated]);
        assert_eq!(COMPLETIONS.columns[1].ty, Type::Text);
        assert_eq!(COMPLETIONS.columns[3].unit, "s");
    }

    #[test]
    #[should_panic(expected = "a name of this column")]
    fn a_code_of_another_column_is_a_mistake() {
        let mut pings = Rows::<Pings>::new(Provenance::Exact);
        let code = pings.intern(|c| c.lost, "there");
        let nan = f64::NAN;
        let (t_s, rtt_s, owd_s, owd_back_s) = (nan, nan, nan, nan);
        let (flow, lost) = (code.into(), code.into());
        pings.push(Ping { t_s, flow, rtt_s, sequence: 0, owd_s, owd_back_s, lost });
    }
}
