//! The settings of an experiment as a tree. Every key and value knows where it was written, so that a setting from an
//! axis still points at the axis's own line.

use super::source::{Diagnostic, DiagnosticKind, Diagnostics, Place, Source};
use sojourn_model::nearest;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What TOML can say, dates left out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(Text),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(Table),
}

/// A string of the file.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The place of its first character in the source, if the source has it letter by letter: then a place in the
    /// string is a place in the file.
    pub(crate) literal: Option<usize>,
}

/// Keys and values in the order of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// One of them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.key == key)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|e| e.key == key)?;
        Some(self.entries.remove(index))
    }
}

impl Node {
    /// The word for its type, in messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(t) => Some(&t.text),
            _ => None,
        }
    }

    /// The place of a part of its string; of the whole value where parts have no place of their own.
    pub(crate) fn inside(&self, part: &core::ops::Range<usize>) -> Place {
        match &self.value {
            Value::Text(Text { literal: Some(start), .. }) => {
                let (from, to) = (start + part.start, start + part.end);
                self.place.at(from..to.max(from + 1))
            }
            _ => self.place.clone(),
        }
    }

    /// The name of an item of a list of tables.
    fn name(&self) -> Option<&str> {
        match &self.value {
            Value::Table(t) => t.get("name")?.node.text(),
            _ => None,
        }
    }

    /// The table that it is, if it is called so.
    pub(crate) fn table_named(&self, name: &str) -> Option<&Table> {
        match &self.value {
            Value::Table(table) if self.name() == Some(name) => Some(table),
            _ => None,
        }
    }

    fn from_toml(
        source: &Arc<Source>,
        value: &toml::Spanned<DeValue<'_>>,
    ) -> Result<Self, Diagnostics> {
        let place = Place { source: Arc::clone(source), span: value.span() };
        let value = match value.get_ref() {
            DeValue::String(s) => Value::Text(Text {
                literal: literal_start(&source.text, &place.span, s),
                text: s.to_string(),
            }),
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(n) => Value::Integer(n),
                Err(_) => {
                    return Err(place
                        .says(DiagnosticKind::Value, "this number is out of range")
                        .into());
                }
            },
            DeValue::Float(x) => match x.as_str().parse() {
                Ok(x) => Value::Float(x),
                Err(_) => {
                    return Err(place
                        .says(DiagnosticKind::Value, "this number is out of range")
                        .into());
                }
            },
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(_) => {
                return Err(place
                    .says(DiagnosticKind::Value, "no setting of an experiment is a date")
                    .help("write times of a run as strings, such as \"30s\"")
                    .into());
            }
            DeValue::Array(list) => Value::List(
                list.iter().map(|item| Self::from_toml(source, item)).collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => Value::Table(Table::from_toml(source, table)?),
        };
        Ok(Self { place, value })
    }
}

/// Where the characters of a string begin in the source, if the source has them unescaped.
fn literal_start(source: &str, span: &core::ops::Range<usize>, text: &str) -> Option<usize> {
    let raw = source.get(span.clone())?;
    let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
    let inner = raw.get(quotes..raw.len().checked_sub(quotes)?)?;
    (inner == text).then_some(span.start + quotes)
}

impl Table {
    fn from_toml(source: &Arc<Source>, table: &DeTable<'_>) -> Result<Self, Diagnostics> {
        let entries = table
            .iter()
            .map(|(key, value)| {
                Ok(Entry {
                    key: key.get_ref().to_string(),
                    key_place: Place { source: Arc::clone(source), span: key.span() },
                    node: Node::from_toml(source, value)?,
                })
            })
            .collect::<Result<_, Diagnostics>>()?;
        Ok(Self { entries })
    }

    /// Parses a whole file.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<Self, Diagnostics> {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        let mut diagnostics = Diagnostics::default();
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let place = Place { source: Arc::clone(source), span };
            let message = error.message().to_owned();
            diagnostics.push(place.says(DiagnosticKind::Syntax, message));
        }
        let table = diagnostics.into_result(table)?;
        Self::from_toml(source, table.get_ref())
    }

    /// Reads one value in TOML's spelling; a text that is none is taken as a string.
    pub(crate) fn parse_value(source: &Arc<Source>, span: core::ops::Range<usize>) -> Node {
        let raw = &source.text[span.clone()];
        let place = Place { source: Arc::clone(source), span: span.clone() };
        let as_text = || Node {
            place: place.clone(),
            value: Value::Text(Text { text: raw.to_owned(), literal: Some(span.start) }),
        };
        match DeValue::parse(raw) {
            Ok(value) => match Node::from_toml(source, &value) {
                // Places inside the value are relative to it; the whole value is place enough.
                Ok(node) => node.placed(&place),
                Err(_) => as_text(),
            },
            Err(_) => as_text(),
        }
    }

    /// Puts the settings of `bundle` over these. Tables merge key by key; items of a list of tables are found
    /// by their `name`; everything else is replaced.
    pub(crate) fn merge(&mut self, bundle: &Self, diagnostics: &mut Diagnostics) {
        for new in &bundle.entries {
            let Some(old) = self.get_mut(&new.key) else {
                if let Value::Table(inner) = &new.node.value {
                    // A list of named things that the file does not have at all has no such item either.
                    if LISTS.contains(&new.key.as_str()) {
                        for item in &inner.entries {
                            diagnostics.push(hits_nothing(&new.key, item, &[]));
                        }
                        continue;
                    }
                }
                self.entries.push(new.clone());
                continue;
            };
            match (&mut old.node.value, &new.node.value) {
                (Value::Table(under), Value::Table(over)) => under.merge(over, diagnostics),
                (Value::List(items), Value::Table(over)) => {
                    for chosen in &over.entries {
                        let item = items.iter_mut().find(|i| i.name() == Some(chosen.key.as_str()));
                        match (item, &chosen.node.value) {
                            (Some(Node { value: Value::Table(item), .. }), Value::Table(over)) => {
                                item.merge(over, diagnostics);
                            }
                            (Some(_), _) => diagnostics.push(
                                chosen
                                    .node
                                    .place
                                    .says(
                                        DiagnosticKind::Value,
                                        format!(
                                            "{} \"{}\" has settings of its own and cannot be {}",
                                            new.key,
                                            chosen.key,
                                            chosen.node.kind()
                                        ),
                                    )
                                    .help(format!("{}.{}.KEY = …", new.key, chosen.key)),
                            ),
                            (None, _) => {
                                let names: Vec<&str> =
                                    items.iter().filter_map(Node::name).collect();
                                diagnostics.push(hits_nothing(&new.key, chosen, &names));
                            }
                        }
                    }
                }
                _ => *old = new.clone(),
            }
        }
    }
}

/// The keys that hold lists of named things.
pub(crate) const LISTS: &[&str] =
    &["hop", "flow", "tunnel", "element", "event", "phase", "window", "check"];

fn hits_nothing(list: &str, item: &Entry, names: &[&str]) -> Diagnostic {
    let diagnostic = item.key_place.says(
        DiagnosticKind::Name,
        format!("there is no {list} called \"{}\" to set anything of", item.key),
    );
    match nearest(&item.key, names.iter().copied()) {
        Some(name) => diagnostic.help(format!("did you mean \"{name}\"?")),
        None if names.is_empty() => diagnostic.help(format!("there is no {list} with a name")),
        None => diagnostic.help(format!("{list}s: {}", names.join(", "))),
    }
}

impl Node {
    /// The same value, every part of it placed at `place`.
    fn placed(mut self, place: &Place) -> Self {
        self.place = place.clone();
        match &mut self.value {
            Value::Text(t) => t.literal = None,
            Value::List(items) => {
                for item in items {
                    *item = item.clone().placed(place);
                }
            }
            Value::Table(table) => {
                for entry in &mut table.entries {
                    entry.key_place = place.clone();
                    entry.node = entry.node.clone().placed(place);
                }
            }
            _ => {}
        }
        self
    }
}
