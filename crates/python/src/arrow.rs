//! Tables to and from Python through the Arrow PyCapsule interface: any library that speaks it (Polars, pyarrow,
//! DuckDB, pandas) reads [`Table`] without a copy, and any of its tables can be handed in.
#![expect(
    unsafe_code,
    reason = "buffers are shared with Arrow, and streams taken over from Python, by pointer"
)]

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, RecordBatchReader, StringArray,
};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use sojourn_results::{Column, Provenance, Run, Text, schema};
use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

/// The name that the interface gives to a stream's capsule.
const STREAM: &CStr = c"arrow_array_stream";

/// A table of results: columns, handed out through `__arrow_c_stream__`.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// The table of this name in `run`, sharing its columns; `None` if the run has none.
    pub fn of_run(run: &Arc<Run>, name: &str) -> Result<Option<Self>, ArrowError> {
        let Some(table) = run.table(name) else { return Ok(None) };
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (schema, column, provenance) in table.columns() {
            let array: ArrayRef = match column {
                Column::F64(values) => {
                    Arc::new(PrimitiveArray::<Float64Type>::new(shared(values, run), None))
                }
                Column::U64(values) => {
                    Arc::new(PrimitiveArray::<UInt64Type>::new(shared(values, run), None))
                }
                Column::Text(text) => {
                    let keys = PrimitiveArray::<UInt32Type>::new(shared(text.codes(), run), None);
                    let names = StringArray::from_iter_values(text.names());
                    Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?)
                }
            };
            let said =
                [("unit", schema.unit), ("provenance", provenance.name()), ("doc", schema.doc)];
            fields.push(
                Field::new(schema.name, array.data_type().clone(), false)
                    .with_metadata(HashMap::from(said.map(|(k, v)| (k.to_owned(), v.to_owned())))),
            );
            arrays.push(array);
        }
        let doc = HashMap::from([("doc".to_owned(), table.schema().doc.to_owned())]);
        let schema = Arc::new(ArrowSchema::new(fields).with_metadata(doc));
        let options = RecordBatchOptions::new().with_row_count(Some(table.len()));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        Ok(Some(Self { batch }))
    }
}

#[pymethods]
impl Table {
    /// The table as an Arrow stream of one batch. The columns are shared, not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer pass over a schema that it cannot give.
        drop(requested_schema);
        let schema = self.batch.schema();
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|f| f.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.batch.num_rows(), self.columns().join(", "))
    }
}

/// `values`, which lie in `run`, as an Arrow buffer that keeps the run alive.
fn shared<T: ArrowNativeType>(values: &[T], run: &Arc<Run>) -> ScalarBuffer<T> {
    let start = NonNull::from(values).cast::<u8>();
    // SAFETY: the slice is part of the run, which is immutable while it is shared; the buffer holds a reference to
    // the run for as long as it lives.
    let buffer =
        unsafe { Buffer::from_custom_allocation(start, size_of_val(values), Arc::clone(run) as _) };
    ScalarBuffer::new(buffer, 0, values.len())
}

/// A table of results from one that Python hands in: columns are found by name, others are passed over.
pub fn import(
    table: &Bound<'_, PyAny>,
    schema: &'static schema::Schema,
) -> PyResult<sojourn_results::Table> {
    let capsule = table
        .call_method0("__arrow_c_stream__")
        .map_err(|_| {
            PyTypeError::new_err("a table offers __arrow_c_stream__, as Polars frames do")
        })?
        .cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the interface promises that a capsule of this name points to an ArrowArrayStream, and that a
    // consumer may move the stream out; `from_raw` leaves a released stream behind, which the capsule's own
    // destructor then passes over.
    let reader =
        unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) }.map_err(value_error)?;
    let places = schema
        .columns
        .iter()
        .map(|column| match reader.schema().index_of(column.name) {
            Ok(place) => Ok(Some(place)),
            Err(_) if schema::ADDED_COLUMNS.contains(&(schema.name, column.name)) => Ok(None),
            Err(missing) => Err(value_error(missing)),
        })
        .collect::<PyResult<Vec<_>>>()?;
    let mut columns: Vec<Builder> = schema.columns.iter().map(|c| Builder::new(c.ty)).collect();
    for batch in reader {
        let batch = batch.map_err(value_error)?;
        for ((builder, &place), stated) in columns.iter_mut().zip(&places).zip(schema.columns) {
            let Some(place) = place else {
                builder.extend_zeros(batch.num_rows());
                continue;
            };
            builder.extend(batch.column(place)).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "column {} of table {} holds {}, not {}",
                    stated.name,
                    schema.name,
                    batch.column(place).data_type(),
                    stated.ty
                ))
            })?;
        }
    }
    let columns = columns.into_iter().map(Builder::finish).collect();
    sojourn_results::Table::from_columns(schema, columns, Provenance::Exact).map_err(value_error)
}

/// A column that is being put together from batches.
enum Builder {
    F64(Vec<f64>),
    U64(Vec<u64>),
    Text(Text, Vec<u32>),
}

impl Builder {
    fn new(ty: schema::Type) -> Self {
        match ty {
            schema::Type::F64 => Self::F64(Vec::new()),
            schema::Type::U64 => Self::U64(Vec::new()),
            schema::Type::Text => Self::Text(Text::default(), Vec::new()),
        }
    }

    /// Appends what stands for a column that is not there.
    fn extend_zeros(&mut self, rows: usize) {
        match self {
            Self::F64(values) => values.extend(core::iter::repeat_n(0.0, rows)),
            Self::U64(values) => values.extend(core::iter::repeat_n(0, rows)),
            Self::Text(text, codes) => {
                let code = text.intern("");
                codes.extend(core::iter::repeat_n(code, rows));
            }
        }
    }

    /// Appends an array; `None` if it is of another type or has nulls.
    fn extend(&mut self, array: &ArrayRef) -> Option<()> {
        if array.null_count() > 0 {
            return None;
        }
        // A dictionary without names has nothing to look up.
        if array.is_empty() {
            return Some(());
        }
        match self {
            Self::F64(values) => {
                values.extend_from_slice(array.as_primitive_opt::<Float64Type>()?.values());
            }
            Self::U64(values) => {
                values.extend_from_slice(array.as_primitive_opt::<UInt64Type>()?.values());
            }
            Self::Text(text, codes) => {
                if let Some(dictionary) = array.as_any_dictionary_opt() {
                    let mut interned = Vec::new();
                    each_name(dictionary.values(), |name| interned.push(text.intern(name)))?;
                    for key in dictionary.normalized_keys() {
                        codes.push(*interned.get(key)?);
                    }
                } else {
                    each_name(array, |name| codes.push(text.intern(name)))?;
                }
            }
        }
        Some(())
    }

    fn finish(self) -> Column {
        match self {
            Self::F64(values) => Column::F64(values),
            Self::U64(values) => Column::U64(values),
            Self::Text(text, codes) => {
                let names = text.names().to_vec();
                Column::Text(Text::from_parts(codes, names).expect("codes that were just interned"))
            }
        }
    }
}

/// Hands every text of an array to `take`, an empty one for null; `None` if it holds no text.
fn each_name(array: &ArrayRef, mut take: impl FnMut(&str)) -> Option<()> {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().for_each(|s| take(s.unwrap_or_default())),
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().for_each(|s| take(s.unwrap_or_default()));
        }
        DataType::Utf8View => {
            array.as_string_view().iter().for_each(|s| take(s.unwrap_or_default()));
        }
        _ => return None,
    }
    Some(())
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
