//! Texts stay texts in the model: tc's words, metrics. Whoever parses one says what is wrong with it in the same shape, by
//! its place inside the text, so that a message can point there wherever the text was written.

use core::ops::Range;

/// What is wrong with a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WordError {
    /// Which part of the text, in bytes.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right; may be empty.
    pub help: String,
}

/// A name of earlier versions and what it is called now.
pub type Renamed = (&'static str, &'static str);

/// What `name` is called now, if it is an old name of this table.
pub fn new_name(name: &str, table: &[Renamed]) -> Option<&'static str> {
    table.iter().find(|(old, _)| *old == name).map(|&(_, new)| new)
}

/// The answer to an old name.
pub fn renamed(old: &str, new: &str) -> String {
    format!("`{old}` is called `{new}` now")
}

/// The name nearest to a wrong one, if any is near: at most a third of its letters differ.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let allowed = (wrong.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong, &name.to_lowercase()), name))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}
