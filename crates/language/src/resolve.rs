//! From typed settings to one run: defaults, sugar and names are resolved here and nowhere else.

mod event;
mod flow;
mod gauges;
mod hop;
mod named;
mod program;
mod traffic;

use super::bdp;
use super::decode::{Fields, Item, Val};
use super::matrix::{Axis, Cell, Pattern};
use super::moment;
use super::source::{DiagnosticKind, Diagnostics, Place};
use super::vocabulary::{Takes, Vocabulary};
use named::Named;
use sojourn_model::{
    At, Check, DeliveryTrace, Event, Gauge, Hop, Ip, Origin, Phase, Reference, Scenario, When,
    Window, WindowBounds,
};
use sojourn_model::{TcWords, WordError, limits};
use sojourn_results::metrics::Expression;
use sojourn_units::Span;

/// What resolving a run needs besides its settings.
pub(crate) struct Resolver<'a> {
    pub(crate) vocabulary: &'a dyn Vocabulary,
    pub(crate) axes: &'a [Axis],
    pub(crate) cell: &'a Cell,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// The stack that holds where none is named.
    stack: String,
    ip: Ip,
    duration: Span,
    warmup: Span,
    /// When links can send, each trace once.
    traces: Vec<DeliveryTrace>,
    links: Vec<String>,
}

/// What `[experiment]` says, resolved.
struct Common {
    name: String,
    source: String,
    origin: Origin,
    sample_interval: Span,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        vocabulary: &'a dyn Vocabulary,
        axes: &'a [Axis],
        cell: &'a Cell,
        diagnostics: &'a mut Diagnostics,
    ) -> Self {
        let (stack, ip) = (String::new(), Ip::default());
        let (duration, warmup) = (Span::ZERO, Span::ZERO);
        let (traces, links) = (Vec::new(), Vec::new());
        Self { vocabulary, axes, cell, diagnostics, stack, ip, duration, warmup, traces, links }
    }

    /// The run of these settings, with the first of its seeds. Mistakes are in the diagnostics; the result
    /// back then is not to be used.
    pub(crate) fn scenario(&mut self, root: &Fields) -> Option<Scenario> {
        let common = self.common(root)?;
        let named = self.name_flows(root);
        let mut hops = self.hops(root, &named);
        let mut events = Vec::new();
        let flows = self.flows(root, &named, common.origin, &mut events);
        self.tunnels(root, &named, &mut hops);
        let phases = root.tables("phase");
        self.unique("phase", phases);
        self.unique("event", root.tables("event"));
        self.unique("window", root.tables("window"));
        self.events(root, &named, &mut hops, &mut events);
        let phases = self.phases(root, &named, &hops, &events);
        for event in &mut events {
            self.event_names(root, event);
        }
        let windows = self.windows(root);
        let standing = gauges::Standing { hops: &hops, flows: &flows, events: &events };
        let checks = self.checks(root, &named, &standing, &phases, &windows);
        if !self.diagnostics.is_empty() {
            return None;
        }
        let cell = self
            .axes
            .iter()
            .zip(self.cell)
            .map(|(axis, &label)| (axis.name.clone(), axis.labels[label].name.clone()))
            .collect();
        let scenario = Scenario {
            experiment: common.name,
            source: common.source,
            cell,
            seed: root.table("experiment")?.seeds("seeds").first().copied().unwrap_or(1),
            origin: common.origin,
            duration: self.duration,
            warmup: self.warmup,
            sample_interval: common.sample_interval,
            stack: self.stack.clone(),
            hops,
            flows,
            events,
            phases,
            windows,
            checks,
            traces: core::mem::take(&mut self.traces),
            links: core::mem::take(&mut self.links),
            plugins: self.vocabulary.plugins().to_vec(),
        };
        self.own_devices(root, &scenario);
        self.possible_changes(root, &scenario);
        if !self.diagnostics.is_empty() {
            return None;
        }
        match scenario.check() {
            Ok(()) => Some(scenario),
            Err(error) => {
                self.says(&root.place, DiagnosticKind::Value, error.to_string());
                None
            }
        }
    }

    fn says(&mut self, place: &Place, kind: DiagnosticKind, message: impl Into<String>) {
        self.diagnostics.push(place.says(kind, message));
    }

    /// A word error of another room or of an expression, pointed at in the file.
    fn word_error(&mut self, item: &Item, error: WordError) {
        let mut diagnostic = item.inside(&error.at).says(DiagnosticKind::Value, error.message);
        if !error.help.is_empty() {
            diagnostic = diagnostic.help(error.help);
        }
        self.diagnostics.push(diagnostic);
    }

    fn common(&mut self, root: &Fields) -> Option<Common> {
        let experiment = root.table("experiment")?;
        let name = experiment.text("name")?.to_owned();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if name.is_empty() || !name.chars().all(allowed) || name.contains("..") {
            let place = experiment.place_of("name");
            self.diagnostics.push(
                place
                    .says(DiagnosticKind::Value, format!("\"{name}\" cannot name an experiment"))
                    .help("use letters, digits, -, _, . and /"),
            );
        }
        self.stack = self.stack_of(experiment, "stack");
        self.ip = self.ip_of(experiment);
        self.duration = experiment.span("duration")?;
        let with_ping = experiment.bool("ping")?;
        let flent = experiment.text("origin") == Some("flent");
        let default = if with_ping && !flent { Span::from_secs(5) } else { Span::ZERO };
        self.warmup = experiment.span("warmup").unwrap_or(default);
        let origin = match (flent, experiment.given("warmup")) {
            (true, _) => Origin::Flent,
            (false, Some(_)) => Origin::Explicit,
            (false, None) => Origin::FirstFlow,
        };
        let source = experiment.text("source").unwrap_or("").to_owned();
        Some(Common { name, source, origin, sample_interval: experiment.span("sample_interval")? })
    }

    /// The version of IP that a table names, or the experiment's.
    fn ip_of(&mut self, fields: &Fields) -> Ip {
        match fields.count("ip") {
            None => self.ip,
            Some(4) => Ip::V4,
            Some(6) => Ip::V6,
            Some(other) => {
                let place = fields.place_of("ip");
                self.diagnostics.push(
                    place
                        .says(
                            DiagnosticKind::Value,
                            format!("there is no version {other} of IP here"),
                        )
                        .help("write 4 or 6"),
                );
                self.ip
            }
        }
    }

    /// The stack that a key names, or the experiment's.
    fn stack_of(&mut self, fields: &Fields, key: &str) -> String {
        let Some(item) = fields.item(key) else { return self.stack.clone() };
        let (name, known) = named(item.text(), |name| self.vocabulary.stack(name));
        if let Err(error) = known {
            self.word_error(item, error);
        }
        name
    }

    fn qdisc(&mut self, item: &Item, stack: &str, bdp: Option<f64>) -> TcWords {
        let words = self.without_bdp(item, "", bdp);
        let (words, known) = named(&words, |words| self.vocabulary.qdisc(words, stack));
        if let Err(error) = known {
            self.words_error(item, &words, error);
        }
        one_line(&words).into()
    }

    /// Words that change a discipline while it runs.
    fn change(&mut self, item: &Item, stack: &str, bdp: Option<f64>) -> TcWords {
        let words = self.without_bdp(item, "", bdp);
        let (words, known) = named(&words, |words| self.vocabulary.change(words, stack));
        if let Err(error) = known {
            self.words_error(item, &words, error);
        }
        one_line(&words).into()
    }

    /// The words of a path element or an application, on one line.
    fn own_words(
        &mut self,
        item: &Item,
        check: impl Fn(&dyn Vocabulary, &str) -> Result<(), WordError>,
    ) -> String {
        let (words, known) = named(item.text(), |words| check(self.vocabulary, words));
        if let Err(error) = known {
            self.word_error(item, error);
        }
        one_line(&words)
    }

    fn netems(&mut self, items: &[Item], stack: &str, bdp: Option<f64>) -> Vec<String> {
        items
            .iter()
            .map(|item| {
                let words = self.without_bdp(item, "netem ", bdp);
                if let Err(error) = self.vocabulary.netem(&words, stack) {
                    self.words_error(item, &words, error);
                }
                one_line(&words)
            })
            .collect()
    }

    /// An error in words that may not be those of the file letter by letter.
    fn words_error(&mut self, item: &Item, words: &str, mut error: WordError) {
        if words.len() != item.text().len() {
            error.at = 0..item.text().len();
        }
        self.word_error(item, error);
    }

    /// A multiple of the BDP in bytes; reports an error where the BDP is unknown.
    fn bytes(&mut self, multiple: f64, bdp: Option<f64>, place: &Place) -> Option<u64> {
        self.size(multiple, bdp, place, BDP_OF, ("a bucket", limits::BUCKET.most))
    }

    /// A number of bytes, or a multiple of the BDP of a flow's path, as one of its keys has it.
    fn of_flow(&mut self, table: &Fields, key: &str, bdp: Option<f64>, most: u64) -> Option<u64> {
        match (&table.given(key)?.val, table.place_of(key)) {
            (Val::Bdp(multiple), place) => {
                self.size(*multiple, bdp, &place, BDP_OF_FLOW, (key, most))
            }
            _ => table.count(key),
        }
    }

    /// A multiple of the BDP in bytes; reports an error where the BDP is unknown, with its owner `of`, and where the
    /// result is more than `what` has.
    fn size(
        &mut self,
        multiple: f64,
        bdp: Option<f64>,
        place: &Place,
        of: &str,
        (what, most): (&str, u64),
    ) -> Option<u64> {
        if bdp.is_none() {
            let said = place.says(DiagnosticKind::Value, BDP_UNKNOWN);
            self.diagnostics.push(said.help(of));
        }
        let bytes = bdp::bytes(multiple, bdp?);
        if bytes > most {
            let message =
                format!("{multiple}bdp are {bytes} bytes here; {what} has at most {most}");
            self.says(place, DiagnosticKind::Value, message);
        }
        Some(bytes)
    }

    /// The words of a discipline with its multiples of the BDP, bytes, computed. `name` is the vocabulary's name for them.
    fn without_bdp(&mut self, item: &Item, name: &str, bdp: Option<f64>) -> String {
        let text = item.text();
        let mut out = String::new();
        let mut done = 0;
        for (at, word) in bdp::words(text) {
            let Some(multiple) = bdp::multiple(word) else { continue };
            let within = format!("{name}{text}");
            let place = at.start + name.len()..at.end + name.len();
            let (known, takes) = (bdp, self.vocabulary.takes(&within, &place));
            let number = match (known, takes) {
                (Some(bdp), Some(Takes::Packets)) => bdp::packets(multiple, bdp).to_string(),
                (Some(bdp), Some(Takes::Bytes)) => format!("{}b", bdp::bytes(multiple, bdp)),
                (None, _) => {
                    let said = item.inside(&at).says(DiagnosticKind::Value, BDP_UNKNOWN);
                    self.diagnostics.push(said.help(BDP_OF));
                    continue;
                }
                (Some(_), _) => {
                    let message = "a multiple of the BDP is a number of packets or bytes, and here stands neither";
                    self.diagnostics.push(item.inside(&at).says(DiagnosticKind::Value, message));
                    continue;
                }
            };
            out.push_str(&text[done..at.start]);
            out.push_str(&number);
            done = at.end;
        }
        out.push_str(&text[done..]);
        out
    }

    /// Says so if two of a list have one name.
    fn unique(&mut self, what: &str, tables: &[Fields]) {
        for (i, table) in tables.iter().enumerate() {
            let Some(name) = table.text("name") else { continue };
            if tables[..i].iter().any(|t| t.text("name") == Some(name)) {
                let place = table.place_of("name");
                self.says(
                    &place,
                    DiagnosticKind::Name,
                    format!("two {what}s are called \"{name}\""),
                );
            }
        }
    }

    fn unknown<'n>(
        &mut self,
        place: &Place,
        what: &str,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) {
        self.diagnostics.push(
            place
                .says(DiagnosticKind::Name, format!("there is no {what} called \"{name}\""))
                .nearest(name, names, &format!("{what}s")),
        );
    }

    /// A point in the run, with its names looked up.
    fn moment(
        &mut self,
        item: &Item,
        root: &Fields,
        named: &Named,
        hops: Option<&[Hop]>,
    ) -> Option<When> {
        let moment = match moment::parse(item.text()) {
            Ok(moment) => moment,
            Err(error) => {
                self.word_error(item, error);
                return None;
            }
        };
        let place = item.inside(&moment.name);
        let names = |key: &str| -> Vec<String> {
            root.tables(key).iter().filter_map(|t| t.text("name")).map(str::to_owned).collect()
        };
        match &moment.when {
            When::At(at) => {
                let (first, last) =
                    (-i128::from(self.warmup.as_nanos()), i128::from(self.duration.as_nanos()));
                let nanos = i128::from(at.as_nanos());
                if nanos < first || nanos > last {
                    let begin = At::from_nanos(first as i64);
                    let message = format!(
                        "{at} is outside the run, which is from {begin} to {}",
                        self.duration
                    );
                    self.says(&item.place, DiagnosticKind::Value, message);
                }
            }
            When::After { reference: Reference::Flow(name), .. }
            | When::State { gauge: Gauge::Flow { flow: name, .. }, .. } => {
                if !named.is_flow(name) {
                    self.unknown(&place, "flow", name, named.flow_names());
                }
            }
            When::After { reference: Reference::Event(name), .. } => {
                let events = names("event");
                if !events.contains(name) {
                    self.unknown(&place, "event", name, events.iter().map(String::as_str));
                }
            }
            When::After { reference: Reference::Phase(name), .. } => {
                let phases = names("phase");
                if !phases.contains(name) {
                    self.unknown(&place, "phase", name, phases.iter().map(String::as_str));
                }
            }
            When::After { reference: Reference::Workload, .. } => {}
            When::State { gauge: Gauge::Queue { queue, .. }, .. } => {
                if let Some(hops) = hops {
                    let elements = element_paths(hops);
                    let queues: Vec<&str> =
                        elements.iter().filter(|e| e.1).map(|e| e.0.as_str()).collect();
                    if !queues.contains(&queue.as_str()) {
                        self.unknown(&place, "queue", queue, queues);
                    }
                }
            }
        }
        Some(moment.when)
    }

    /// An event must not wait for itself, at once or by way of others.
    fn event_names(&mut self, root: &Fields, event: &Event) {
        let after = |name: &str| -> Option<String> {
            let table = root.tables("event").iter().find(|t| t.text("name") == Some(name))?;
            match moment::parse(table.text("at")?).ok()?.when {
                When::After { reference: Reference::Event(name), .. } => Some(name),
                _ => None,
            }
        };
        let mut at = after(&event.name);
        for _ in 0..root.tables("event").len() {
            match at {
                Some(name) if name == event.name => {
                    let place = root
                        .tables("event")
                        .iter()
                        .find(|t| t.text("name") == Some(&event.name))
                        .map_or_else(|| root.place.clone(), |t| t.place_of("at"));
                    self.says(
                        &place,
                        DiagnosticKind::Value,
                        format!("event {} waits for itself", event.name),
                    );
                    return;
                }
                Some(name) => at = after(&name),
                None => return,
            }
        }
    }

    fn phases(
        &mut self,
        root: &Fields,
        named: &Named,
        hops: &[Hop],
        _events: &[Event],
    ) -> Vec<Phase> {
        let mut phases = Vec::new();
        for table in root.tables("phase") {
            let mut edge = |key: &str| {
                let item = table.item(key)?.clone();
                self.moment(&item, root, named, Some(hops))
            };
            let (Some(from), Some(to)) = (edge("from"), edge("to")) else { continue };
            if let (When::At(a), When::At(b)) = (&from, &to)
                && a >= b
            {
                let place = table.place_of("to");
                self.says(&place, DiagnosticKind::Value, "a phase ends after it starts");
            }
            let name = table.text("name").unwrap_or("").to_owned();
            phases.push(Phase { name, from, to });
        }
        phases
    }

    fn windows(&mut self, root: &Fields) -> Vec<Window> {
        let mut windows = Vec::new();
        for table in root.tables("window") {
            let name = table.text("name").unwrap_or("").to_owned();
            let mut plain = |key: &str| -> Option<At> {
                let item = table.given(key)?.clone();
                match moment::parse(item.text()) {
                    Ok(moment::Moment { when: When::At(at), .. }) => Some(at),
                    Ok(_) => {
                        self.diagnostics.push(
                            item.place
                                .says(DiagnosticKind::Value, "a window needs plain times")
                                .help("for an interval between events, write a [[phase]]"),
                        );
                        None
                    }
                    Err(error) => {
                        self.word_error(&item, error);
                        None
                    }
                }
            };
            let bounds = match (plain("from"), plain("to"), table.span("last")) {
                (Some(from), Some(to), None) if from < to => WindowBounds::Between { from, to },
                (None, None, Some(length)) => WindowBounds::Last {
                    length,
                    before_end: table.span("before_end").unwrap_or(Span::ZERO),
                },
                (Some(_), Some(_), None) => {
                    let place = table.place_of("to");
                    self.says(&place, DiagnosticKind::Value, "a window ends after it starts");
                    continue;
                }
                _ => {
                    let place = table.place_of("name");
                    self.diagnostics.push(
                        place
                            .says(
                                DiagnosticKind::Key,
                                format!("window {name} has no bounds, or too many"),
                            )
                            .help("give from and to, or last"),
                    );
                    continue;
                }
            };
            if let Some(outside) = bounds.outside(self.warmup, self.duration) {
                let key = match bounds {
                    WindowBounds::Between { to, .. } if to > At::after_origin(self.duration) => {
                        "to"
                    }
                    WindowBounds::Between { .. } => "from",
                    WindowBounds::Last { .. } => "last",
                };
                let place = table.place_of(key);
                self.diagnostics
                    .push(place.says(DiagnosticKind::Value, outside.message).help(outside.help));
            }
            windows.push(Window { name, bounds });
        }
        windows
    }

    fn checks(
        &mut self,
        root: &Fields,
        named: &Named,
        standing: &gauges::Standing<'_>,
        phases: &[Phase],
        windows: &[Window],
    ) -> Vec<Check> {
        let mut checks = Vec::new();
        let elements = element_paths(standing.hops);
        let paths = |queues_only: bool| {
            elements.iter().filter(move |e| e.1 || !queues_only).map(|e| e.0.as_str()).collect()
        };
        for table in root.tables("check") {
            let Some(item) = table.item("that").cloned() else { continue };
            match Expression::parse(item.text()) {
                Ok(expression) => {
                    let known = sojourn_results::metrics::Names {
                        flows: named.flow_names().collect(),
                        groups: named.groups().collect(),
                        queues: paths(true),
                        elements: paths(false),
                        phases: phases.iter().map(|p| p.name.as_str()).collect(),
                        windows: windows.iter().map(|w| w.name.as_str()).collect(),
                        warmup: self.warmup,
                        duration: self.duration,
                    };
                    let asked = table.free("only").is_none_or(|only| {
                        Pattern::read(only, self.axes, self.diagnostics).matches(self.cell)
                    });
                    if !asked {
                        continue;
                    }
                    for mut error in expression.unknown_names(&known) {
                        let name = &item.text()[error.at.clone()];
                        if named.is_left_out(name) {
                            error.message = format!("flow {name} is left out of this combination");
                            error.help = "say where the check is asked: only = { AXIS = … }".into();
                        }
                        self.word_error(&item, error);
                    }
                    for (subject, name) in expression.states() {
                        if let Err(error) =
                            standing.has(self.vocabulary, &subject, &name, item.text())
                        {
                            self.word_error(&item, error);
                        }
                    }
                    if !expression.is_verdict() {
                        self.diagnostics.push(
                            item.place
                                .says(DiagnosticKind::Value, "a check compares something")
                                .help(format!("{} > 0, for example", item.text())),
                        );
                    }
                }
                Err(error) => self.word_error(&item, error),
            }
            let name = table.text("name").map(str::to_owned);
            checks.push(Check { name, that: item.text().to_owned() });
        }
        checks
    }
}

const BDP_UNKNOWN: &str = "the bandwidth-delay product is not known here";
const BDP_OF: &str = "it is of a hop that has both rate and rtt";
const BDP_OF_FLOW: &str =
    "it is of a flow with hops that have a rate and an rtt, or with an rtt of its own";

/// A name, or words that begin with one, as they are known: capitals do not matter where nothing is called so letter by
/// letter.
fn named(
    text: &str,
    known: impl Fn(&str) -> Result<(), WordError>,
) -> (String, Result<(), WordError>) {
    let as_written = known(text);
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let lower = format!("{}{}", text[..end].to_ascii_lowercase(), &text[end..]);
    // A name with a colon is of something outside, such as a file.
    if as_written.is_ok() || lower == text || text[..end].contains(':') {
        return (text.to_owned(), as_written);
    }
    let found = known(&lower);
    (lower, found)
}

/// Every element's path, and whether it holds a queue.
fn element_paths(hops: &[Hop]) -> Vec<(String, bool)> {
    let elements = hops.iter().flat_map(Hop::elements);
    elements.map(|(path, element)| (path, element.kind.holds_a_queue())).collect()
}

/// Words with one space between them, however many lines the file has them on.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
