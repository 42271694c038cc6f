//! What words there are, as JSON for programs and pages: from the tables that the parsers and the engines read, so that
//! whoever offers a choice offers what is built in, with its defaults.

use serde_json::{Value, json};
use sojourn_qdisc::table::{DefaultValue, OptionSpec, Unit};
use sojourn_qdisc::{Discipline, QdiscQuirks};
use sojourn_stacks::STACKS;
use sojourn_transport::cc::Info;

/// Queue disciplines, or what else has such tables, in their order: name, summary, source, options with their defaults by
/// stack, statistics and the controller's own numbers.
pub fn disciplines(infos: impl Iterator<Item = &'static Discipline>) -> Value {
    let listed = infos.map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "source": info.source,
            "classful": info.classful,
            "options": info.options.iter().map(option).collect::<Vec<_>>(),
            "counters": info.counters.iter().map(|c| json!({
                "name": c.name, "unit": unit(c.unit), "doc": c.doc,
            })).collect::<Vec<_>>(),
            "gauges": info.gauges.iter().map(|g| json!({
                "name": g.name, "unit": unit(g.unit), "doc": g.doc,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect()
}

fn option(option: &OptionSpec) -> Value {
    let values: Vec<_> = option
        .values
        .iter()
        .map(|v| json!({ "name": v.name, "kind": v.kind.expected(), "optional": v.optional }))
        .collect();
    let known = QdiscQuirks::ALL.iter().filter(|p| option.is_known(p));
    let defaults: serde_json::Map<_, _> =
        known.map(|p| (p.name.to_owned(), json!(option.preset.words(p)))).collect();
    let unset = match option.preset {
        DefaultValue::Unset(meaning) => Some(meaning),
        DefaultValue::Required => Some("must be given"),
        DefaultValue::Is(_) | DefaultValue::Per(_) => None,
    };
    json!({
        "name": option.name,
        "aliases": option.aliases,
        "off": option.off,
        "values": values,
        "defaults": defaults,
        "unset": unset,
        "doc": option.doc,
        "fixed": option.fixed,
    })
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "",
        Unit::Bytes => "bytes",
        Unit::Seconds => "s",
        Unit::Probability => "probability",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Ticks => "64 ns",
        Unit::Flag => "0 or 1",
    }
}

/// Congestion controls, in their order: name, summary, source, options and the numbers that each reports.
pub fn controls<'a>(infos: impl Iterator<Item = &'a Info>) -> Value {
    let listed = infos.map(|control| {
        json!({
            "name": control.name,
            "summary": control.summary,
            "source": control.source,
            "options": control.options.iter().map(|o| json!({
                "name": o.name, "kind": o.kind.to_string(), "default": o.default, "doc": o.doc,
            })).collect::<Vec<_>>(),
            "gauges": control.gauges.iter().map(|(name, unit, doc)| json!({
                "name": name, "unit": unit, "doc": doc,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect()
}

/// Every stack: name, summary, source and its switches.
pub fn stacks() -> Value {
    let listed = STACKS.iter().map(|stack| {
        json!({
            "name": stack.name,
            "summary": stack.summary,
            "source": stack.source,
            "switches": stack.table().iter().map(|row| json!({
                "name": row.name, "value": row.value, "doc": row.doc,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect()
}
