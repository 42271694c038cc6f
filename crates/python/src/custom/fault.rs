//! What is wrong with a class or what it does, in the words of `sojourn.custom.faults`.

use pyo3::prelude::*;
use sojourn_engine::Fault;

/// What was found, and what would be right.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// What was found.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Wrong {
    /// An error that came out of Python while the file at `path` was at work: `Wrong` of `sojourn.custom.faults` says it
    /// itself; any other is the file's own.
    pub fn of(py: Python<'_>, error: PyErr, path: &str) -> Self {
        let texts = || -> PyResult<(String, String)> {
            let faults = py.import("sojourn.custom.faults")?;
            // Only so does the value know its traceback.
            let value = error.clone_ref(py).into_value(py).into_bound(py);
            if value.is_instance(&faults.getattr("Wrong")?)? {
                let text = |name: &str| value.getattr(name)?.extract();
                return Ok((text("message")?, text("help")?));
            }
            faults.call_method1("raised", (&value, path))?.extract()
        };
        let (message, help) =
            texts().unwrap_or_else(|_| (error.to_string(), "fix the file".to_owned()));
        Self { message, help }
    }

    /// The same, of this file.
    #[must_use]
    pub fn within(self, path: &str) -> Self {
        Self { message: format!("{path}: {}", self.message), ..self }
    }

    /// The same, as the end of a run.
    pub fn fault(self) -> Fault {
        Fault { why: self.message, help: self.help }
    }
}
