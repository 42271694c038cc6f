//! Why a metric has no value.

/// Why a metric has no value on a run; see [`super::EvaluationError`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl<T: Into<String>> From<T> for Fault {
    fn from(message: T) -> Self {
        Self { message: message.into(), help: None }
    }
}

impl Fault {
    /// The error for quantities that were not recorded.
    pub(super) fn not_recorded(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }
}
