//! What cannot be built or changed, and why.

use core::fmt;
use sojourn_qdisc::TcError;

/// A port that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbuildable {
    /// The element's path; `flow NAME` for the queue on a flow's host.
    pub element: String,
    /// The words of its discipline, its shaper's included.
    pub words: String,
    /// What is wrong with them.
    pub error: Box<TcError>,
}

impl fmt::Display for Unbuildable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: \"{}\": {}", self.element, self.words, self.error)
    }
}

impl core::error::Error for Unbuildable {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// An event's action that cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangeError {
    /// The queue of this path has neither a shaper nor a line with a rate to set.
    NoShaper(String),
    /// The middlebox of this path has no rate.
    NoRate(String),
    /// Words that the discipline does not take.
    Words {
        /// The element's path.
        element: String,
        /// What is wrong with them.
        error: Box<TcError>,
    },
    /// The replacement for an element cannot be built.
    Unbuildable(Unbuildable),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShaper(element) => write!(f, "{element} has no shaper to set"),
            Self::NoRate(element) => write!(f, "{element} has no rate to set"),
            Self::Words { element, error } => write!(f, "{element}: {error}"),
            Self::Unbuildable(unbuildable) => unbuildable.fmt(f),
        }
    }
}

impl core::error::Error for ChangeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NoShaper(_) | Self::NoRate(_) => None,
            Self::Words { error, .. } => Some(error),
            Self::Unbuildable(unbuildable) => Some(unbuildable),
        }
    }
}

impl From<Unbuildable> for ChangeError {
    fn from(unbuildable: Unbuildable) -> Self {
        Self::Unbuildable(unbuildable)
    }
}
