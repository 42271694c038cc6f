//! The language as a JSON Schema for editors, and as a reference page: both from the sections' tables of keys.

use super::keys::{Key, Section, Ty};
use super::sections::ROOT;
use core::fmt::Write as _;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of an experiment file.
pub fn json_schema() -> Value {
    let mut schema = section(&ROOT);
    let map = schema.as_object_mut();
    if let Some(map) = map {
        map.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        map.insert("title".into(), json!("Sojourn experiment"));
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.insert("axis".into(), axis());
            properties.insert("exclude".into(), choices("Combinations that are not run."));
            properties.insert("include".into(), choices("Combinations that are run besides."));
        }
    }
    schema
}

fn axis() -> Value {
    json!({
        "type": "object",
        "description": "One table an axis, with one entry a label: a table of settings by their paths.",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": { "type": "object" },
            "minProperties": 1
        }
    })
}

fn choices(doc: &str) -> Value {
    json!({
        "type": "array",
        "description": doc,
        "items": {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
            }
        }
    })
}

fn section(section: &Section) -> Value {
    let properties: Map<String, Value> =
        section.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = section.keys.iter().filter(|k| k.required).map(|k| k.name).collect();
    json!({
        "type": "object",
        "description": section.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

fn property(key: &Key) -> Value {
    let mut value = ty(&key.ty);
    if let Value::Object(map) = &mut value {
        map.insert("description".into(), json!(key.doc));
        if let Some(default) = key.default {
            let default = match key.ty {
                Ty::Bool => json!(default == "true"),
                Ty::Count(..) | Ty::Seeds => {
                    default.parse::<u64>().map_or(json!(default), |n| json!(n))
                }
                Ty::Number(..) => default.parse::<f64>().map_or(json!(default), |n| json!(n)),
                Ty::List(_) => json!(default.split(", ").collect::<Vec<_>>()),
                _ => json!(default),
            };
            map.insert("default".into(), default);
        }
    }
    value
}

/// A number and a unit, or a bare zero.
fn quantity(units: &str) -> Value {
    let pattern = format!("^\\s*[0-9.]+([eE][-+]?[0-9]+)?\\s*({units})\\s*$|\\$\\{{.*\\}}|\\.\\.");
    json!({ "anyOf": [{ "type": "string", "pattern": pattern }, { "const": "0" }, { "const": 0 }] })
}

fn ty(of: &Ty) -> Value {
    match of {
        Ty::Text | Ty::Qdisc | Ty::Netem | Ty::Cc | Ty::Stack | Ty::Moment | Ty::Expression => {
            json!({ "type": "string" })
        }
        Ty::Name => json!({ "type": "string", "pattern": "^([A-Za-z0-9_-]|\\$\\{[^}]*\\})+$" }),
        Ty::Bool => json!({ "type": "boolean" }),
        Ty::Count(min, max) => json!({
            "anyOf": [
                { "type": "integer", "minimum": min, "maximum": max },
                { "type": "string", "pattern": "^([0-9]|\\$\\{[^}]*\\})+$" }
            ]
        }),
        Ty::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Ty::Span(..) => quantity("s|secs?|ms|msecs?|us|µs|usecs?|ns|nsecs?|\\$\\{[^}]*\\}"),
        Ty::Rate(..) => quantity("[kKmMgGtT]?i?[bB][iI][tT]|\\$\\{[^}]*\\}"),
        Ty::Size(..) => quantity("[bB]|[kKmMgG][bB]?|[kKmMgG][bB][iI][tT]|\\$\\{[^}]*\\}"),
        Ty::Buffer(..) => {
            quantity("[bB]|[kKmMgG][bB]?|[kKmMgG][bB][iI][tT]|[bB][dD][pP]|\\$\\{[^}]*\\}")
        }
        Ty::Ecn => json!({ "type": "string", "enum": ["not-ect", "ect0", "ect1", "ce"] }),
        Ty::Dscp => json!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 63 },
                { "type": "string", "pattern": "^(0[xX][0-9a-fA-F]+|[0-9]+)$" }
            ]
        }),
        Ty::Choice(words) => json!({ "type": "string", "enum": words }),
        Ty::Seeds => json!({
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 }
            ]
        }),
        Ty::List(inner) => {
            let inner = ty(inner);
            json!({ "anyOf": [{ "type": "array", "items": inner }, inner] })
        }
        Ty::Table(inner) => section(inner),
        Ty::Tables(inner) => json!({ "type": "array", "items": section(inner) }),
        Ty::Free => json!({ "type": "object" }),
        Ty::FreeTables => json!({ "type": "array", "items": { "type": "object" } }),
    }
}

/// The reference of the language in Markdown: every section, every key.
pub fn reference() -> String {
    let mut text = String::new();
    let mut seen: Vec<&'static str> = Vec::new();
    write_section(&ROOT, &mut text, &mut seen);
    text
}

fn write_section(section: &'static Section, text: &mut String, seen: &mut Vec<&'static str>) {
    if seen.contains(&section.name) {
        return;
    }
    seen.push(section.name);
    let _ = write!(
        text,
        "## {}\n\n{}\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
        section.name, section.doc
    );
    for key in section.keys {
        let default = match key.default {
            Some(value) if !value.is_empty() => format!("`{value}`"),
            _ if key.required => "required".into(),
            _ => String::new(),
        };
        let _ = writeln!(text, "| `{}` | {} | {default} | {} |", key.name, key.ty.word(), key.doc);
    }
    text.push('\n');
    for key in section.keys {
        if let Ty::Table(inner) | Ty::Tables(inner) = key.ty {
            write_section(inner, text, seen);
        }
    }
}
