//! What a key of the language is. The sections' tables of keys ([`super::sections`]) are the one source from
//! which the parser, the nearest-name messages, the JSON Schema and the reference page come.

use sojourn_units::Quantity;

/// A part of an experiment file: a table, or each of a list of tables.
#[derive(Debug)]
pub(crate) struct Section {
    /// As messages name it: `[[hop]]`.
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) ty: Ty,
    /// The value if the key is not given, in the spelling of a value of the type.
    pub(crate) default: Option<&'static str>,
    /// Whether it must be given.
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

/// What values a key takes.
#[derive(Debug)]
pub(crate) enum Ty {
    /// Any text.
    Text,
    /// A name that others refer to: letters, digits, `-` and `_`.
    Name,
    /// True or false.
    Bool,
    /// A whole number between two bounds.
    Count(u64, u64),
    /// A number between two bounds.
    Number(f64, f64),
    /// A time between two bounds, with its unit.
    Span(&'static str, &'static str),
    /// A rate between two bounds, with its unit.
    Rate(&'static str, &'static str),
    /// A number of bytes between two bounds, with its unit.
    Size(u64, u64),
    /// The same, or a multiple of the bandwidth-delay product of the hop, or of the flow's path: `0.5bdp`.
    Buffer(u64, u64),
    /// A point in a run: see [`super::moment`].
    Moment,
    /// An ECN codepoint.
    Ecn,
    /// A DSCP.
    Dscp,
    /// A discipline in tc's words.
    Qdisc,
    /// The options of one netem in tc's words.
    Netem,
    /// A congestion control.
    Cc,
    /// A stack.
    Stack,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// An expression over results.
    Expression,
    /// A number of seeds, or a list of them.
    Seeds,
    /// A list of such values.
    List(&'static Ty),
    /// A table.
    Table(&'static Section),
    /// A list of tables (`[[…]]`).
    Tables(&'static Section),
    /// A table with keys of the experiment's own.
    Free,
    /// A list of such tables.
    FreeTables,
}

impl Ty {
    /// What would be right, for messages: "a time such as 20ms".
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Text => "a string".into(),
            Self::Name => "a name of letters, digits, - and _".into(),
            Self::Bool => "true or false".into(),
            Self::Count(..) => "a whole number".into(),
            Self::Number(..) => "a number".into(),
            Self::Span(..) => Quantity::Span.example().into(),
            Self::Rate(..) => Quantity::Rate.example().into(),
            Self::Size(..) => Quantity::Size.example().into(),
            Self::Buffer(..) => format!("{}, or 0.5bdp", Quantity::Size.example()),
            Self::Moment => {
                "a point in the run such as \"24.7s\", \"flow a ends + 5s\" or \"workload ends\""
                    .into()
            }
            Self::Ecn => "an ECN codepoint: not-ect, ect0, ect1 or ce".into(),
            Self::Dscp => "a DSCP: a number from 0 to 63, such as 0x13".into(),
            Self::Qdisc => "a queue discipline in tc's words".into(),
            Self::Netem => "netem's options in tc's words, such as \"delay 200us\"".into(),
            Self::Cc => "a congestion control".into(),
            Self::Stack => "a stack".into(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Expression => "an expression such as \"jain(delivery_rate) >= 0.95\"".into(),
            Self::Seeds => "a number of seeds, or a list of seeds".into(),
            Self::List(of) => format!("a list, each {}", of.expected()),
            Self::Table(_) | Self::Free => "a table".into(),
            Self::Tables(_) | Self::FreeTables => "a list of tables".into(),
        }
    }

    /// The word in the reference.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Name => "name".into(),
            Self::Bool => "true or false".into(),
            Self::Count(min, max) => format!("count{}", range(*min, *max)),
            Self::Number(min, max) => format!("number, {min} to {max}"),
            Self::Span(min, max) => format!("time, {min} to {max}"),
            Self::Rate(min, max) => format!("rate, {min} to {max}"),
            Self::Size(..) => "size".into(),
            Self::Buffer(..) => "size, or a multiple of the BDP".into(),
            Self::Moment => "point in time".into(),
            Self::Ecn => "ECN codepoint".into(),
            Self::Dscp => "DSCP".into(),
            Self::Qdisc => "qdisc".into(),
            Self::Netem => "netem".into(),
            Self::Cc => "congestion control".into(),
            Self::Stack => "stack".into(),
            Self::Choice(words) => words.join(" \\| "),
            Self::Expression => "expression".into(),
            Self::Seeds => "count or list of seeds".into(),
            Self::List(of) => format!("list of {}", of.word()),
            Self::Table(section) => format!("table {}", section.name),
            Self::Tables(section) => format!("tables {}", section.name),
            Self::Free => "table".into(),
            Self::FreeTables => "tables".into(),
        }
    }
}

fn range(min: u64, max: u64) -> String {
    match (min, max) {
        (0, u64::MAX) => String::new(),
        (_, u64::MAX) => format!(", at least {min}"),
        _ => format!(", {min} to {max}"),
    }
}

impl Section {
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| k.name == name)
    }
}
