//! Texts that other crates parse: tc's words, metrics. A crate that parses one reports an error in one shape, with its place
//! inside the text, so that a message can point there wherever the text was written.

use core::fmt;
use core::ops::{Deref, Range};
use serde::{Deserialize, Serialize};

/// A discipline in tc's words, as it was written: `fq_codel flows 1 target 1ms`.
///
/// `sojourn-qdisc` parses it into options. Everyone else asks the few questions below, and nobody splits the text.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TcWords(String);

impl TcWords {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_whitespace()
    }

    /// The name of the outermost discipline; empty without any word.
    pub fn name(&self) -> &str {
        self.words().next().unwrap_or("")
    }

    /// Whether it is this discipline; tc takes names in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name)
    }

    /// Whether this word is there.
    pub fn has(&self, word: &str) -> bool {
        self.words().any(|own| own == word)
    }

    /// The word behind this one.
    pub fn after(&self, word: &str) -> Option<&str> {
        self.words().skip_while(|own| *own != word).nth(1)
    }
}

impl Deref for TcWords {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for TcWords {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for TcWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for TcWords {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for TcWords {
    fn from(text: String) -> Self {
        Self(text)
    }
}

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
