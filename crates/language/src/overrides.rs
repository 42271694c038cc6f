//! Settings from the command line: `hop.bottleneck.rate=20mbit`, in the paths of the file.

use super::source::{DiagnosticKind, Diagnostics, Place, Source};
use super::tree::{Entry, Node, Table, Value};
use core::ops::Range;
use std::sync::Arc;

/// Reads `PATH=VALUE` into a bundle. The value is read as TOML if it is TOML, otherwise as a string, so that
/// neither `20mbit` nor `fq_codel flows 1` needs quotes within the shell's.
pub(crate) fn bundle(text: &str) -> Result<Table, Diagnostics> {
    let source = Source::new("--set", text);
    let whole = Place { source: Arc::clone(&source), span: 0..text.len() };
    let Some(equals) = text.find('=') else {
        return Err(whole
            .says(DiagnosticKind::Syntax, "a setting is PATH=VALUE")
            .help("such as hop.bottleneck.rate=20mbit")
            .into());
    };
    let keys = path(text, equals).ok_or_else(|| {
        whole
            .at(0..equals)
            .says(DiagnosticKind::Syntax, "a path is names with dots between them")
            .help("such as hop.bottleneck.rate")
    })?;
    let value_start = equals + 1 + leading_space(&text[equals + 1..]);
    let value_end = text.trim_end().len().max(value_start);
    let mut node = Table::parse_value(&source, value_start..value_end);
    for range in keys.into_iter().rev() {
        let entry = Entry {
            key: unquoted(&text[range.clone()]).to_owned(),
            key_place: whole.at(range),
            node,
        };
        let table = Table { entries: vec![entry] };
        node = Node { place: whole.clone(), value: Value::Table(table) };
    }
    match node.value {
        Value::Table(table) => Ok(table),
        _ => Err(whole.says(DiagnosticKind::Syntax, "a setting is PATH=VALUE").into()),
    }
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn unquoted(key: &str) -> &str {
    key.strip_prefix('"').and_then(|k| k.strip_suffix('"')).unwrap_or(key)
}

/// The places of a path's keys in `text[..end]`; `None` if one of them is empty.
fn path(text: &str, end: usize) -> Option<Vec<Range<usize>>> {
    let mut keys = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (i, c) in text[..end].char_indices().chain([(end, '.')]) {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted || i == end => {
                let key = &text[start..i];
                let trimmed = key.trim();
                if unquoted(trimmed).is_empty() {
                    return None;
                }
                let from = start + leading_space(key);
                keys.push(from..from + trimmed.len());
                start = i + 1;
            }
            _ => {}
        }
    }
    Some(keys)
}
