//! How words name a class: `python:FILE:CLASS`.

use super::fault::Wrong;
use serde_json::Value;
use std::collections::BTreeSet;

/// What the names of classes begin with.
pub const PREFIX: &str = "python:";

/// Whether a word is to name a class.
pub fn is_class(word: &str) -> bool {
    word.starts_with(PREFIX)
}

/// The file and the class that a word names.
pub fn parse(word: &str) -> Result<(&str, &str), Wrong> {
    let parts = word.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once(':'));
    parts.filter(|(file, class)| !file.is_empty() && !class.is_empty()).ok_or_else(|| Wrong {
        message: format!("\"{word}\" names no class of a Python file"),
        help: "write python:FILE:CLASS, as python:mine.py:Mine".to_owned(),
    })
}

/// Every word in the texts of a value that names a class.
pub fn named(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.extend(text.split_whitespace().filter(|word| is_class(word)).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, found)),
        Value::Object(items) => items.values().for_each(|item| named(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
