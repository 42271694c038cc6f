//! Fills in `${…}`: a value of `[let]` as it stands, or arithmetic ([`super::arithmetic`]) over values of `[let]` and
//! settings. A name in an expression is one of `[let]`; or a nearby setting, in its own table or in one around that; or
//! a path from the top of the file, `hop.bottleneck.rate`.

use super::arithmetic::{self, Names, Value as Number};
use super::source::{DiagnosticKind, Diagnostics};
use super::tree::{Entry, Node, Table, Text, Value};
use core::cell::Cell;

/// Expressions that name settings that are expressions, and so on, end here.
const DEEPEST: u32 = 16;

/// Fills in every string of a file.
pub(crate) fn fill(
    root: &Table,
    vars: &[(String, String)],
    diagnostics: &mut Diagnostics,
) -> Table {
    filled_table(root, &Scope { vars, tables: &[root], depth: &Cell::new(0) }, diagnostics)
}

/// The tables to look names up in.
#[derive(Clone, Copy)]
struct Scope<'a> {
    vars: &'a [(String, String)],
    /// The tables around an expression, the file first.
    tables: &'a [&'a Table],
    depth: &'a Cell<u32>,
}

fn filled_table(table: &Table, scope: &Scope<'_>, diagnostics: &mut Diagnostics) -> Table {
    let entries = table
        .entries
        .iter()
        .map(|entry| Entry { node: filled(&entry.node, scope, diagnostics), ..entry.clone() });
    Table { entries: entries.collect() }
}

fn filled(node: &Node, scope: &Scope<'_>, diagnostics: &mut Diagnostics) -> Node {
    let value = match &node.value {
        Value::Text(t) if t.text.contains("${") => {
            Value::Text(Text { text: text(node, scope, diagnostics), literal: None })
        }
        Value::List(items) => {
            Value::List(items.iter().map(|item| filled(item, scope, diagnostics)).collect())
        }
        Value::Table(table) => {
            let tables: Vec<&Table> = scope.tables.iter().copied().chain([table]).collect();
            Value::Table(filled_table(table, &Scope { tables: &tables, ..*scope }, diagnostics))
        }
        other => other.clone(),
    };
    Node { value, place: node.place.clone() }
}

fn text(node: &Node, scope: &Scope<'_>, diagnostics: &mut Diagnostics) -> String {
    let text = node.text().unwrap_or("");
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let offset = text.len() - rest.len() + start;
        let Some(end) = rest[start..].find('}') else {
            let place = node.inside(&(offset..text.len()));
            diagnostics.push(place.says(DiagnosticKind::Value, "\"${\" without its \"}\""));
            return out;
        };
        let inside = &rest[start + 2..start + end];
        match value(inside, scope) {
            Ok(value) => out.push_str(&value),
            Err(error) => {
                let from = offset + 2 + error.at.start;
                let place = node.inside(&(from..offset + 2 + error.at.end));
                let said = place.says(DiagnosticKind::Name, error.message);
                diagnostics.push(if error.help.is_empty() { said } else { said.help(error.help) });
            }
        }
        rest = &rest[start + end + 1..];
    }
    out.push_str(rest);
    out
}

/// What stands for the text between the braces.
fn value(inside: &str, scope: &Scope<'_>) -> Result<String, sojourn_model::WordError> {
    // A name alone may stand for any words, and may have signs in it that arithmetic has a meaning for.
    if let Some((_, text)) = scope.vars.iter().find(|(known, _)| known == inside.trim()) {
        return Ok(text.clone());
    }
    arithmetic::evaluate(inside, scope).map(Number::text)
}

impl Names for Scope<'_> {
    fn value(&self, name: &str) -> Result<Number, (String, String)> {
        let found = match self.vars.iter().find(|(known, _)| known == name) {
            Some((_, text)) => Some(text.clone()),
            None => self.setting(name)?,
        };
        let Some(text) = found else {
            let known = self.vars.iter().map(|(n, _)| n.as_str());
            let keys = self.tables.iter().skip(1).flat_map(|t| &t.entries).map(|e| e.key.as_str());
            let near = sojourn_model::nearest(name, known.chain(keys));
            let help = near.map_or_else(
                || "set it under [let], or name a setting: rate, hop.bottleneck.rate".to_owned(),
                |near| format!("did you mean \"{near}\"?"),
            );
            return Err((
                format!("\"{name}\" is set neither under [let] nor in this table or one around it"),
                help,
            ));
        };
        Number::read(&text).ok_or_else(|| {
            (
                format!("{name} is \"{text}\", which is no quantity"),
                "a number, a time, a rate or a size".to_owned(),
            )
        })
    }
}

impl Scope<'_> {
    /// The text of a setting: in the nearest table that has it, or by its path from the top of the file.
    fn setting(&self, name: &str) -> Result<Option<String>, (String, String)> {
        let mut path = name.split('.');
        let first = path.next().unwrap_or_default();
        // The file itself is asked by whole paths alone.
        let within = self.tables.iter().enumerate().skip(1).rev();
        let mut nearest = within.filter(|(_, table)| table.get(first).is_some());
        let at = nearest.next().map_or(0, |(at, _)| at);
        let mut around: Vec<&Table> = self.tables[..=at].to_vec();
        let Some(mut node) = self.tables[at].get(first).map(|entry| &entry.node) else {
            return Ok(None);
        };
        for next in path {
            let inner = match &node.value {
                Value::Table(table) => {
                    around.push(table);
                    table.get(next).map(|entry| &entry.node)
                }
                Value::List(items) => items.iter().find(|item| item.table_named(next).is_some()),
                _ => None,
            };
            let Some(inner) = inner else { return Ok(None) };
            node = inner;
        }
        match &node.value {
            Value::Text(t) if t.text.contains("${") => {
                self.deeper(&t.text, &around, name).map(Some)
            }
            Value::Text(t) => Ok(Some(t.text.clone())),
            Value::Integer(n) => Ok(Some(n.to_string())),
            Value::Float(x) => Ok(Some(x.to_string())),
            _ => Ok(None),
        }
    }

    /// The text of a setting that is an expression itself.
    fn deeper(
        &self,
        text: &str,
        tables: &[&Table],
        name: &str,
    ) -> Result<String, (String, String)> {
        let inside = text.trim().strip_prefix("${").and_then(|t| t.strip_suffix('}'));
        let Some(inside) = inside.filter(|t| !t.contains("${")) else {
            return Err((
                format!("{name} is \"{text}\", which is more than one expression"),
                String::new(),
            ));
        };
        if self.depth.get() >= DEEPEST {
            return Err((
                format!("{name} is worked out from itself"),
                "give one of them a value".to_owned(),
            ));
        }
        self.depth.set(self.depth.get() + 1);
        let found = value(inside, &Scope { tables, ..*self });
        self.depth.set(self.depth.get() - 1);
        found.map_err(|error| (error.message, error.help))
    }
}
