//! A results folder's segments: many runs in few files, each with the answers to the usual questions.
//!
//! A run of two simulated seconds takes three milliseconds to simulate. A folder with a Parquet file for each of its tables
//! cost ten times that: seventeen files to write, the same tables to read back for the summary. Here the summary is computed
//! when the run ends ([`answers`]), and the run is appended to a file that it shares with others ([`segment`]).
//!
//! Layers: [`columns`] states what a summary measures; [`remarks`] what a reader must know; [`answers`] computes both;
//! [`tables`] turns tables into bytes; [`segment`] keeps them; [`folder`] makes one set of a folder's segments.
//! Only [`Segments`] starts threads, to read the answers of many runs; nothing reads a clock.

pub mod answers;
pub mod columns;
pub mod folder;
pub mod identity;
pub mod keep;
pub mod record;
pub mod remarks;
pub mod segment;
pub mod tables;

pub use answers::{Answers, Packed};
pub use folder::Segments;
pub use identity::{CellText, Identity};
pub use keep::Keep;
pub use record::About;
pub use segment::{
    Brief, Dictionary, Entry, Frames, OfCell, Reader, SegmentError, Source, Stored, Writer,
};
