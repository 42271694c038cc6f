//! Settings that `[search]` may vary, by their paths, each with a range or a list of choices, in the words of sweeps.
//!
//! A range is judged by its ends: both are put in the setting's place and resolved as any experiment is, so that there
//! is no second account of a setting's valid values. A search then asks for settings as `--set` has them.

use super::source::{DiagnosticKind, Diagnostics, Place};
use super::sweep::{self, Ends};
use super::tree::{Entry, Node, Table, Text, Value};

/// `[search]`: what may vary, what for, and what tells findings apart.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    place: Place,
    dimensions: Vec<Dimension>,
    minimise: Option<Node>,
    maximise: Option<Node>,
    behaviour: Vec<(Entry, Vec<f64>)>,
}

/// One setting that may vary.
#[derive(Clone, PartialEq, Debug)]
pub struct Dimension {
    keys: Vec<Entry>,
    path: String,
    place: Place,
    values: Values,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    Choices(Vec<Node>),
    Range { ends: Ends, how: How },
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    Linear,
    Log,
    /// By this, in the smallest unit, from the low end.
    Step(f64),
}

/// More steps than this are no steps.
const MOST_STEPS: f64 = 1e6;

const RANGE: &str = "\"5mbit..200mbit log\", \"0s..10s\", \"1..8 step 1\", or a list of choices: [\"pie\", \"codel\"]";

impl Search {
    pub(crate) fn read(entry: &Entry, diagnostics: &mut Diagnostics) -> Self {
        let mut search = Self {
            place: entry.key_place.clone(),
            dimensions: Vec::new(),
            minimise: None,
            maximise: None,
            behaviour: Vec::new(),
        };
        let Value::Table(table) = &entry.node.value else {
            let place = &entry.node.place;
            diagnostics.push(
                place
                    .says(DiagnosticKind::Matrix, "search is a table of settings")
                    .help("[search]\nhop.bottleneck.rate = \"5mbit..200mbit log\""),
            );
            return search;
        };
        for own in &table.entries {
            match own.key.as_str() {
                "minimise" => search.minimise = metric(own, diagnostics),
                "maximise" => search.maximise = metric(own, diagnostics),
                "behaviour" => search.behaviour = behaviour(own, diagnostics),
                _ => dimensions(&mut Vec::new(), own, &mut search.dimensions, diagnostics),
            }
        }
        if let (Some(_), Some(second)) = (&search.minimise, &search.maximise) {
            let both = "a search minimises a metric or maximises one, not both";
            diagnostics.push(second.place.says(DiagnosticKind::Matrix, both));
        }
        if search.dimensions.is_empty() && diagnostics.is_empty() {
            diagnostics.push(
                search
                    .place
                    .says(DiagnosticKind::Matrix, "this search varies no setting")
                    .help(RANGE),
            );
        }
        search
    }

    /// The settings that may vary, in the order of the file.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The metric that is to be small.
    pub fn minimise(&self) -> Option<&str> {
        self.minimise.as_ref().and_then(Node::text)
    }

    /// The metric that is to be large.
    pub fn maximise(&self) -> Option<&str> {
        self.maximise.as_ref().and_then(Node::text)
    }

    /// The metrics that tell findings apart, each with the edges of its bins in base units, ascending.
    pub fn behaviour(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.behaviour.iter().map(|(entry, edges)| (entry.key.as_str(), edges.as_slice()))
    }

    /// Each setting at each of its ends, or with each of its choices.
    pub(crate) fn extremes(&self) -> impl Iterator<Item = Table> + '_ {
        self.dimensions.iter().flat_map(|dimension| {
            let values = match &dimension.values {
                Values::Choices(nodes) => nodes.clone(),
                Values::Range { .. } => [0.0, 1.0].map(|at| dimension.node(at)).to_vec(),
            };
            values.into_iter().map(|value| dimension.bundle(value))
        })
    }

    /// Its metrics as checks that any value passes or fails: the language judges them as it does a file's own.
    pub(crate) fn metrics_as_checks(&self) -> Vec<Node> {
        let named = self.minimise.iter().chain(&self.maximise);
        let named = named.filter_map(|node| match &node.value {
            Value::Text(text) => Some((text.clone(), &node.place)),
            _ => None,
        });
        // A quoted key has its letters one behind its beginning.
        let behaviour = self.behaviour.iter().map(|(entry, _)| {
            let literal = Some(entry.key_place.span.start + 1);
            (Text { text: entry.key.clone(), literal }, &entry.key_place)
        });
        let check = |(text, place): (Text, &Place)| {
            let that = Text { text: format!("{} >= 0", text.text), ..text };
            let node = Node { place: place.clone(), value: Value::Text(that) };
            let entry = Entry { key: "that".to_owned(), key_place: place.clone(), node };
            Node { place: place.clone(), value: Value::Table(Table { entries: vec![entry] }) }
        };
        named.chain(behaviour).map(check).collect()
    }

    /// A list of checks as the file would have it.
    pub(crate) fn check_entry(&self, checks: Vec<Node>) -> Entry {
        let node = Node { place: self.place.clone(), value: Value::List(checks) };
        Entry { key: "check".to_owned(), key_place: self.place.clone(), node }
    }
}

impl Dimension {
    /// Its path: `hop.bottleneck.rate`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How many values it has; `None` where they are continuous.
    pub fn size(&self) -> Option<u64> {
        match &self.values {
            Values::Choices(nodes) => Some(nodes.len() as u64),
            Values::Range { ends, how: How::Step(step) } => {
                Some(((ends.high - ends.low) / step + 1e-9).floor() as u64 + 1)
            }
            Values::Range { .. } => None,
        }
    }

    /// Whether its values have no order.
    pub const fn is_choice(&self) -> bool {
        matches!(self.values, Values::Choices(_))
    }

    /// The value at a place of the range, from 0 (its beginning) to 1 (its end), as TOML has it. Values of a continuous range
    /// have three digits, so that what is found can be read; those with steps, and choices, have equal parts of the range.
    pub fn value(&self, at: f64) -> String {
        let Values::Choices(nodes) = &self.values else {
            return match self.node(at).value {
                Value::Text(text) => format!("\"{}\"", text.text),
                Value::Integer(n) => n.to_string(),
                Value::Float(x) => format!("{x:?}"),
                _ => String::new(),
            };
        };
        let node = &nodes[self.index(at)];
        node.place.source.text[node.place.span.clone()].to_owned()
    }

    /// The same as a setting of the command line: `hop.bottleneck.rate="20mbit"`.
    pub fn setting(&self, at: f64) -> String {
        format!("{}={}", self.path, self.value(at))
    }

    fn index(&self, at: f64) -> usize {
        let size = self.size().unwrap_or(1);
        ((at.clamp(0.0, 1.0) * size as f64) as usize).min(size as usize - 1)
    }

    fn node(&self, at: f64) -> Node {
        let value = match &self.values {
            Values::Choices(nodes) => return nodes[self.index(at)].clone(),
            Values::Range { ends, how } => {
                let (low, high) = (ends.low, ends.high);
                let at = at.clamp(0.0, 1.0);
                let value = match how {
                    How::Step(step) => low + self.index(at) as f64 * step,
                    _ if at <= 0.0 => low,
                    _ if at >= 1.0 => high,
                    How::Linear => ends.kind.three_digits(low + at * (high - low)).clamp(low, high),
                    How::Log => {
                        let value = low * libm::pow(high / low, at);
                        ends.kind.three_digits(value).clamp(low, high)
                    }
                };
                ends.kind.write(value)
            }
        };
        let value = match (value.parse::<i64>(), value.parse::<f64>()) {
            (Ok(n), _) => Value::Integer(n),
            (_, Ok(x)) => Value::Float(x),
            _ => Value::Text(Text { text: value, literal: None }),
        };
        Node { place: self.place.clone(), value }
    }

    fn bundle(&self, value: Node) -> Table {
        let mut node = value;
        for key in self.keys.iter().rev() {
            let entry = Entry { node, ..key.clone() };
            let value = Value::Table(Table { entries: vec![entry] });
            node = Node { place: key.node.place.clone(), value };
        }
        match node.value {
            Value::Table(table) => table,
            _ => Table::default(),
        }
    }
}

/// A metric, which is a text.
fn metric(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<Node> {
    if entry.node.text().is_none() {
        let said = format!("{} is a metric, not {}", entry.key, entry.node.kind());
        let place = &entry.node.place;
        diagnostics
            .push(place.says(DiagnosticKind::Value, said).help("minimise = \"share(cubic)\""));
        return None;
    }
    Some(entry.node.clone())
}

/// Metrics with their bins, which are written as sweeps are.
fn behaviour(entry: &Entry, diagnostics: &mut Diagnostics) -> Vec<(Entry, Vec<f64>)> {
    const EXAMPLE: &str =
        "[search.behaviour]\n\"utilisation(bottleneck.down)\" = \"0..1 step 0.1\"";
    let Value::Table(table) = &entry.node.value else {
        let place = &entry.node.place;
        diagnostics.push(
            place.says(DiagnosticKind::Value, "behaviour is a table of metrics").help(EXAMPLE),
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for own in &table.entries {
        let Some(text) = own.node.text() else {
            let said = format!("the bins of a metric are a sweep, not {}", own.node.kind());
            diagnostics.push(own.node.place.says(DiagnosticKind::Value, said).help(EXAMPLE));
            continue;
        };
        match sweep::edges(text) {
            Ok(edges) => found.push((own.clone(), edges)),
            Err((at, said)) => diagnostics
                .push(own.node.inside(&at).says(DiagnosticKind::Matrix, said).help(EXAMPLE)),
        }
    }
    found
}

/// Walks down to what is no table: a setting with its range.
fn dimensions(
    above: &mut Vec<Entry>,
    entry: &Entry,
    found: &mut Vec<Dimension>,
    diagnostics: &mut Diagnostics,
) {
    above.push(entry.clone());
    if let Value::Table(table) = &entry.node.value {
        for own in &table.entries {
            dimensions(above, own, found, diagnostics);
        }
    } else {
        match values(&entry.node) {
            Ok(values) => found.push(Dimension {
                path: above.iter().map(|key| quoted(&key.key)).collect::<Vec<_>>().join("."),
                keys: above.clone(),
                place: entry.node.place.clone(),
                values,
            }),
            Err((place, said)) => {
                diagnostics.push(place.says(DiagnosticKind::Matrix, said).help(RANGE));
            }
        }
    }
    above.pop();
}

fn values(node: &Node) -> Result<Values, (Place, String)> {
    let text = match &node.value {
        Value::List(items) if items.len() < 2 => {
            return Err((node.place.clone(), "choices are two or more".to_owned()));
        }
        Value::List(items) => return Ok(Values::Choices(items.clone())),
        Value::Text(text) => &text.text,
        _ => {
            let said = format!("a setting that is searched has a range, not {}", node.kind());
            return Err((node.place.clone(), said));
        }
    };
    let placed = |(at, said)| (node.inside(&at), said);
    let ends = sweep::ends(text).map_err(placed)?;
    let behind = &text[ends.by.clone()];
    let how = match &text[ends.how.clone()] {
        "" => How::Linear,
        "log" if !behind.is_empty() => {
            return Err(placed((ends.by, "a range ends here: it has no number of values".into())));
        }
        "log" if ends.low <= 0.0 => {
            return Err(placed((0..text.find("..").unwrap_or(0), "log begins above 0".to_owned())));
        }
        "log" => How::Log,
        "step" => {
            let step = ends.read(text, &ends.by).map_err(placed)?;
            if step <= 0.0 {
                return Err(placed((ends.by, "a step is above 0".to_owned())));
            }
            if (ends.high - ends.low) / step > MOST_STEPS {
                return Err(placed((ends.by, format!("this makes more than {MOST_STEPS} values"))));
            }
            How::Step(step)
        }
        other => {
            let said = format!("\"{other}\" is neither log nor step");
            return Err(placed((ends.how, said)));
        }
    };
    Ok(Values::Range { ends, how })
}

/// A key as a path has it.
fn quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { format!("\"{key}\"") }
}
