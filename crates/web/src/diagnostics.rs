//! What is wrong with an experiment, or may be, as JSON: with its place.

use serde_json::{Value, json};
use sojourn_language::{Diagnostic, Diagnostics};

/// One thing: where it is, what is wrong, and what would be right.
pub(crate) fn diagnostic(own: &Diagnostic) -> Value {
    json!({
        "line": own.line,
        "column": own.column,
        "from": own.span.start,
        "to": own.span.end,
        "message": own.message,
        "help": own.help,
        "source": own.excerpt,
    })
}

/// Everything that is wrong.
pub(crate) fn all(wrong: &Diagnostics) -> Value {
    json!({ "errors": wrong.iter().map(diagnostic).collect::<Vec<_>>() })
}

/// Something that has no place in the text.
pub(crate) fn plain(message: &str, help: &str) -> Value {
    let help = (!help.is_empty()).then_some(help);
    json!({ "errors": [{ "message": message, "help": help }] })
}
