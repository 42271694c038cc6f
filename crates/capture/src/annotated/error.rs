//! What can go wrong.

use crate::CaptureError;
use std::io;
use std::path::PathBuf;

/// Captures cannot be put into one file.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// One of them cannot be read.
    #[error("the capture {} cannot be read: {why}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
}
