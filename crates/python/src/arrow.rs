//! Tables to and from Python without a copy, through the Arrow PyCapsule interface: any library that speaks it
//! (Polars, pyarrow, DuckDB, pandas) reads [`Table`], and any of its tables can be handed in.
#![expect(unsafe_code, reason = "a stream is taken over from Python by pointer; the interface has no other way")]

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;

/// The name that the interface gives to a stream's capsule.
const STREAM: &CStr = c"arrow_array_stream";

/// A table of results: columns, handed out through `__arrow_c_stream__`.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    pub const fn new(batch: RecordBatch) -> Self {
        Self { batch }
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
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.batch.num_rows(), self.columns().join(", "))
    }
}

/// The batches of a table that Python hands in.
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let capsule = table
        .call_method0("__arrow_c_stream__")
        .map_err(|_| PyTypeError::new_err("a table must offer __arrow_c_stream__, as Polars frames do"))?
        .cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the interface promises that a capsule of this name points to an ArrowArrayStream, and that a
    // consumer may move the stream out; `from_raw` leaves a released stream behind, which the capsule's own
    // destructor then passes over.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) }
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let _ = reader.schema();
    reader.map(|batch| batch.map_err(|e| PyValueError::new_err(e.to_string()))).collect()
}
