//! From the tree to typed values, by the sections' tables of keys. Reports every mistake, not just the first.

use super::bdp;
use super::keys::{Key, Section, Ty};
use super::renamed;
use super::source::{DiagnosticKind, Diagnostics, Place};
use super::tree::{Node, Table, Value};
use sojourn_model::nearest;
use sojourn_units::{Dscp, Ecn, Quantity, Rate, Span, parse_rate, parse_size, parse_span};

/// A typed value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Val {
    Text(String),
    Bool(bool),
    Count(u64),
    Number(f64),
    /// A multiple of the bandwidth-delay product.
    Bdp(f64),
    Span(Span),
    Rate(Rate),
    Ecn(Ecn),
    Dscp(Dscp),
    Seeds(Vec<u64>),
    List(Vec<Item>),
    Table(Fields),
    Tables(Vec<Fields>),
    Free(Table),
    FreeTables,
}

/// A typed value with the node that it comes from (none for a default).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item {
    pub(crate) val: Val,
    pub(crate) node: Option<Node>,
    pub(crate) place: Place,
}

impl Item {
    /// The place of a part of its text.
    pub(crate) fn inside(&self, part: &core::ops::Range<usize>) -> Place {
        self.node.as_ref().map_or_else(|| self.place.clone(), |n| n.inside(part))
    }

    pub(crate) fn text(&self) -> &str {
        match &self.val {
            Val::Text(t) => t,
            _ => "",
        }
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        match self.val {
            Val::Rate(r) => Some(r),
            _ => None,
        }
    }
}

/// The values of a section.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) section: &'static Section,
    pub(crate) place: Place,
    values: Vec<Option<Item>>,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.section, other.section)
            && self.place == other.place
            && self.values == other.values
    }
}

impl Fields {
    /// The value of a key: as given, or its default.
    pub(crate) fn item(&self, key: &str) -> Option<&Item> {
        let index = self.section.index(key);
        debug_assert!(index.is_some(), "{key} is no key of {}", self.section.name);
        self.values[index?].as_ref()
    }

    /// The value of a key, if the file gives it.
    pub(crate) fn given(&self, key: &str) -> Option<&Item> {
        self.item(key).filter(|item| item.node.is_some())
    }

    /// Where the key's value stands; where the section does if it is not given.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.given(key).map_or_else(|| self.place.clone(), |item| item.place.clone())
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.item(key).map(Item::text)
    }

    pub(crate) fn bool(&self, key: &str) -> Option<bool> {
        match self.item(key)?.val {
            Val::Bool(b) => Some(b),
            _ => None,
        }
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        match self.item(key)?.val {
            Val::Count(n) => Some(n),
            _ => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.item(key)?.val {
            Val::Number(x) => Some(x),
            _ => None,
        }
    }

    pub(crate) fn span(&self, key: &str) -> Option<Span> {
        match self.item(key)?.val {
            Val::Span(s) => Some(s),
            _ => None,
        }
    }

    pub(crate) fn rate(&self, key: &str) -> Option<Rate> {
        match self.item(key)?.val {
            Val::Rate(r) => Some(r),
            _ => None,
        }
    }

    pub(crate) fn ecn(&self, key: &str) -> Option<Ecn> {
        match self.item(key)?.val {
            Val::Ecn(e) => Some(e),
            _ => None,
        }
    }

    pub(crate) fn dscp(&self, key: &str) -> Option<Dscp> {
        match self.item(key)?.val {
            Val::Dscp(d) => Some(d),
            _ => None,
        }
    }

    pub(crate) fn seeds(&self, key: &str) -> &[u64] {
        match self.item(key).map(|i| &i.val) {
            Some(Val::Seeds(seeds)) => seeds,
            _ => &[],
        }
    }

    pub(crate) fn list(&self, key: &str) -> &[Item] {
        match self.item(key).map(|i| &i.val) {
            Some(Val::List(items)) => items,
            _ => &[],
        }
    }

    pub(crate) fn table(&self, key: &str) -> Option<&Self> {
        match self.item(key).map(|i| &i.val) {
            Some(Val::Table(fields)) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn tables(&self, key: &str) -> &[Self] {
        match self.item(key).map(|i| &i.val) {
            Some(Val::Tables(tables)) => tables,
            _ => &[],
        }
    }

    pub(crate) fn free(&self, key: &str) -> Option<&Table> {
        match self.item(key).map(|i| &i.val) {
            Some(Val::Free(table)) => Some(table),
            _ => None,
        }
    }
}

/// The help for a key that is right in another place: in a table of this section, or without its quotes.
fn elsewhere(section: &Section, key: &str) -> Option<String> {
    if key.split_once('.').is_some_and(|(first, _)| section.index(first).is_some()) {
        return Some(format!("write the path without quotes: {key}"));
    }
    section.keys.iter().find_map(|own| match own.ty {
        Ty::Table(inner) if inner.index(key).is_some() => {
            Some(format!("{key} is a key of [{0}]: {0}.{key}", own.name))
        }
        _ => None,
    })
}

/// Decodes a table by a section's keys.
pub(crate) fn decode(
    section: &'static Section,
    table: &Table,
    place: &Place,
    diagnostics: &mut Diagnostics,
) -> Fields {
    for entry in &table.entries {
        if section.index(&entry.key).is_none() {
            diagnostics.push(renamed::key(section, entry).unwrap_or_else(|| {
                let unknown = entry.key_place.says(
                    DiagnosticKind::Key,
                    format!("unknown key \"{}\" in {}", entry.key, section.name),
                );
                if let Some(help) = elsewhere(section, &entry.key) {
                    return unknown.help(help);
                }
                unknown.nearest(&entry.key, section.keys.iter().map(|k| k.name), "keys")
            }));
        }
    }
    let values = section
        .keys
        .iter()
        .map(|key| {
            if let Some(entry) = table.get(key.name) {
                let val = value(key, &key.ty, &entry.node, diagnostics)?;
                let place = entry.node.place.clone();
                return Some(Item { val, node: Some(entry.node.clone()), place });
            }
            if key.required {
                let plural = matches!(key.ty, Ty::Tables(_));
                let message = if plural {
                    format!("there is no [[{}]]", key.name)
                } else {
                    format!("{} has no {}", section.name, key.name)
                };
                let help = format!("{}: {}", key.name, key.doc);
                diagnostics.push(place.says(DiagnosticKind::Key, message).help(help));
            }
            let val = from_default(key)?;
            Some(Item { val, node: None, place: place.clone() })
        })
        .collect();
    Fields { section, place: place.clone(), values }
}

fn value(key: &Key, ty: &Ty, node: &Node, diagnostics: &mut Diagnostics) -> Option<Val> {
    match scalar(ty, node) {
        Some(Ok(val)) => return Some(val),
        Some(Err(message)) => {
            let message = format!("{}: {message}", key.name);
            diagnostics.push(node.place.says(DiagnosticKind::Value, message));
            return None;
        }
        None => {}
    }
    match (ty, &node.value) {
        (Ty::List(of), Value::List(items)) => {
            let items: Vec<Item> = items
                .iter()
                .filter_map(|item| {
                    let val = value(key, of, item, diagnostics)?;
                    Some(Item { val, node: Some(item.clone()), place: item.place.clone() })
                })
                .collect();
            Some(Val::List(items))
        }
        // One value where a list may stand is a list of one.
        (Ty::List(of), Value::Text(_)) => {
            let val = value(key, of, node, diagnostics)?;
            let item = Item { val, node: Some(node.clone()), place: node.place.clone() };
            Some(Val::List(vec![item]))
        }
        (Ty::Table(section), Value::Table(table)) => {
            Some(Val::Table(decode(section, table, &node.place, diagnostics)))
        }
        (Ty::Tables(section), Value::List(items)) => {
            let mut tables = Vec::new();
            for item in items {
                match &item.value {
                    Value::Table(table) => {
                        tables.push(decode(section, table, &item.place, diagnostics));
                    }
                    _ => diagnostics.push(mistyped(key, &Ty::Free, item)),
                }
            }
            Some(Val::Tables(tables))
        }
        (Ty::Tables(_), Value::Table(_)) => {
            diagnostics.push(
                node.place
                    .says(DiagnosticKind::Value, format!("{} is a list of tables", key.name))
                    .help(format!("write [[{}]]", key.name)),
            );
            None
        }
        (Ty::Free, Value::Table(table)) => Some(Val::Free(table.clone())),
        (Ty::FreeTables, Value::List(items)) => {
            for item in items {
                if !matches!(item.value, Value::Table(_)) {
                    diagnostics.push(mistyped(key, &Ty::Free, item));
                }
            }
            Some(Val::FreeTables)
        }
        _ => {
            diagnostics.push(mistyped(key, ty, node));
            None
        }
    }
}

fn mistyped(key: &Key, ty: &Ty, node: &Node) -> super::source::Diagnostic {
    node.place.says(
        DiagnosticKind::Value,
        format!("{} is {}, not {}; write {}", key.name, article(ty), node.kind(), ty.expected()),
    )
}

const fn article(ty: &Ty) -> &'static str {
    match ty {
        Ty::Text => "a string",
        Ty::Name => "a name",
        Ty::Bool => "true or false",
        Ty::Count(..) | Ty::Number(..) => "a number",
        Ty::Span(..) => "a time",
        Ty::Rate(..) => "a rate",
        Ty::Size(..) | Ty::Buffer(..) => "a size",
        Ty::Moment => "a point in time",
        Ty::Ecn => "an ECN codepoint",
        Ty::Dscp => "a DSCP",
        Ty::Qdisc => "a queue discipline",
        Ty::Netem => "a netem",
        Ty::Cc => "a congestion control",
        Ty::Stack => "a stack",
        Ty::Choice(_) => "a word",
        Ty::Expression => "an expression",
        Ty::Seeds => "a number or a list",
        Ty::List(_) => "a list",
        Ty::Table(_) | Ty::Free => "a table",
        Ty::Tables(_) | Ty::FreeTables => "a list of tables",
    }
}

/// A value that is not made of others; `None` if the node is of no type that `ty` could be.
fn scalar(ty: &Ty, node: &Node) -> Option<Result<Val, String>> {
    match (&node.value, ty) {
        (Value::Text(t), _) => from_text(ty, &t.text),
        (Value::Bool(b), Ty::Bool) => Some(Ok(Val::Bool(*b))),
        (Value::Integer(n), Ty::Count(..) | Ty::Dscp) => {
            let text = n.to_string();
            from_text(ty, &text)
        }
        (
            Value::Integer(_) | Value::Float(_),
            Ty::Number(..) | Ty::Span(..) | Ty::Rate(..) | Ty::Size(..) | Ty::Buffer(..),
        ) => from_text(ty, &number_text(node)),
        (Value::Integer(n), Ty::Seeds) => Some(match u64::try_from(*n) {
            Ok(0) => Err("an experiment needs at least one seed".into()),
            Ok(n) if n <= 1_000_000 => Ok(Val::Seeds((1..=n).collect())),
            _ => Err(format!("{n} is not a possible number of seeds")),
        }),
        (Value::List(items), Ty::Seeds) => {
            let seeds: Option<Vec<u64>> = items
                .iter()
                .map(|i| match i.value {
                    Value::Integer(n) => u64::try_from(n).ok(),
                    _ => None,
                })
                .collect();
            Some(match seeds {
                None => Err("seeds are whole numbers, not negative".into()),
                Some(seeds) if seeds.is_empty() => {
                    Err("an experiment needs at least one seed".into())
                }
                Some(seeds) => {
                    let mut sorted = seeds.clone();
                    sorted.sort_unstable();
                    match sorted.windows(2).find(|w| w[0] == w[1]) {
                        Some(twice) => Err(format!("seed {} is listed twice", twice[0])),
                        None => Ok(Val::Seeds(seeds)),
                    }
                }
            })
        }
        _ => None,
    }
}

fn number_text(node: &Node) -> String {
    match node.value {
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        _ => String::new(),
    }
}

fn between<T: PartialOrd + Copy + core::fmt::Display>(
    value: T,
    min: T,
    max: T,
) -> Result<T, String> {
    if value < min || value > max {
        Err(format!("{value} is out of range: it must be from {min} to {max}"))
    } else {
        Ok(value)
    }
}

/// Reads a scalar type's value from text; `None` if the type is made of others or is no text.
fn from_text(ty: &Ty, text: &str) -> Option<Result<Val, String>> {
    let strict = |quantity: Quantity| quantity.strict(text).map_err(|e| e.to_string());
    Some(match ty {
        Ty::Text | Ty::Qdisc | Ty::Netem | Ty::Cc | Ty::Stack | Ty::Moment | Ty::Expression => {
            if text.trim().is_empty() && !matches!(ty, Ty::Text) {
                Err(format!("this is empty; write {}", ty.expected()))
            } else {
                Ok(Val::Text(text.to_owned()))
            }
        }
        Ty::Name => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !text.is_empty() && text.chars().all(allowed) {
                Ok(Val::Text(text.to_owned()))
            } else {
                Err(format!("\"{text}\" is not {}", ty.expected()))
            }
        }
        Ty::Choice(words) => {
            if words.contains(&text) {
                Ok(Val::Text(text.to_owned()))
            } else {
                Err(match nearest(text, words.iter().copied()) {
                    Some(word) => {
                        format!("\"{text}\" is not possible here; did you mean \"{word}\"?")
                    }
                    None => format!("\"{text}\" is not possible here; write {}", ty.expected()),
                })
            }
        }
        Ty::Count(min, max) => match text.parse::<i128>() {
            Ok(n) => between(n, i128::from(*min), i128::from(*max)).map(|n| Val::Count(n as u64)),
            Err(_) => Err(format!("\"{text}\" is not {}", ty.expected())),
        },
        Ty::Number(min, max) => match text.parse::<f64>() {
            Ok(x) if x.is_finite() => between(x, *min, *max).map(Val::Number),
            _ => Err(format!("\"{text}\" is not {}", ty.expected())),
        },
        Ty::Span(min, max) => strict(Quantity::Span)
            .and_then(|()| parse_span(text).map_err(|e| e.to_string()))
            .and_then(|s| {
                let bound = |text| parse_span(text).unwrap_or(Span::ZERO);
                between(s, bound(min), bound(max)).map(Val::Span)
            }),
        Ty::Rate(min, max) => strict(Quantity::Rate)
            .and_then(|()| parse_rate(text).map_err(|e| e.to_string()))
            .and_then(|r| {
                let bound = |text| parse_rate(text).unwrap_or(Rate::ZERO);
                between(r, bound(min), bound(max)).map(Val::Rate)
            }),
        Ty::Buffer(..) if bdp::multiple(text).is_some() => {
            Ok(Val::Bdp(bdp::multiple(text).unwrap_or_default()))
        }
        Ty::Size(..) if bdp::multiple(text).is_some() => {
            Err("a multiple of the bandwidth-delay product is known of a hop, and of a flow's bytes and \
                 receive_window, alone; write a size such as 64k"
                .into())
        }
        Ty::Size(min, max) | Ty::Buffer(min, max) => strict(Quantity::Size)
            .and_then(|()| parse_size(text).map_err(|e| e.to_string()))
            .and_then(|n| between(n, *min, *max).map(Val::Count)),
        Ty::Ecn => {
            text.parse().map(Val::Ecn).map_err(|e: sojourn_units::NotACodepoint| e.to_string())
        }
        Ty::Dscp => {
            text.parse().map(Val::Dscp).map_err(|e: sojourn_units::NotACodepoint| e.to_string())
        }
        _ => return None,
    })
}

/// The default of a key; the tables are constants, and a test reads every one of them.
fn from_default(key: &Key) -> Option<Val> {
    let text = key.default?;
    match &key.ty {
        Ty::Bool => Some(Val::Bool(text == "true")),
        Ty::Seeds => text.parse().ok().map(|n: u64| Val::Seeds((1..=n).collect())),
        Ty::List(of) => {
            let place = Place::start(&super::source::Source::new("", ""));
            let items = text.split(", ").map(|t| {
                let val = from_text(of, t)?.ok()?;
                Some(Item { val, node: None, place: place.clone() })
            });
            items.collect::<Option<Vec<_>>>().map(Val::List)
        }
        ty => from_text(ty, text)?.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sections::ROOT;
    use super::*;

    fn every_section(section: &'static Section, seen: &mut Vec<&'static Section>) {
        if seen.iter().any(|s| core::ptr::eq(*s, section)) {
            return;
        }
        seen.push(section);
        for key in section.keys {
            if let Ty::Table(inner) | Ty::Tables(inner) = key.ty {
                every_section(inner, seen);
            }
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_type() {
        let mut sections = Vec::new();
        every_section(&ROOT, &mut sections);
        assert!(sections.len() > 15);
        for section in sections {
            for key in section.keys {
                if key.default.is_some() {
                    assert!(from_default(key).is_some(), "{} {}", section.name, key.name);
                }
                let twice = section.keys.iter().filter(|k| k.name == key.name).count();
                assert_eq!(twice, 1, "{} {}", section.name, key.name);
            }
        }
    }
}
