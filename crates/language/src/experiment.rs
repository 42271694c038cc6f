//! An experiment as it was read, and the runs that it stands for.

use super::decode::{Fields, decode};
use super::matrix::{Axis, Cell, Pattern};
use super::resolve::Resolver;
use super::search::Search;
use super::source::{Diagnostic, DiagnosticKind, Diagnostics, Place, Source};
use super::surprises::{self, Read, Warning};
use super::tree::{Node, Table, Value};
use super::vocabulary::Vocabulary;
use super::{matrix, overrides, sections, substitute};
use sojourn_model::Scenario;
use sojourn_units::Span;
use std::sync::Arc;

/// More runs than this need to be asked for.
pub const MOST_RUNS: u64 = 100_000;

/// More combinations than this are not even written out.
const MOST_CELLS: u64 = 10_000_000;

/// More mistakes than this help nobody.
const MOST_DIAGNOSTICS: usize = 50;

/// An experiment as it was read, its axes not yet multiplied out.
#[derive(Clone, Debug)]
pub struct Experiment {
    source: Arc<Source>,
    table: Table,
    axes: Vec<Axis>,
    overrides: Vec<Table>,
    only: Vec<Table>,
    search: Option<Search>,
}

/// The runs of an experiment: its combinations, each with its seeds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    cells: Vec<(Scenario, Vec<u64>)>,
    warnings: Vec<Warning>,
}

impl Plan {
    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.cells.iter().map(|(_, seeds)| seeds.len() as u64).sum()
    }

    /// Settings that may not be as intended, each once.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The simulated time of all runs together.
    pub fn simulated(&self) -> Span {
        let nanos = self
            .cells
            .iter()
            .map(|(s, seeds)| s.length().as_nanos().saturating_mul(seeds.len() as u64))
            .fold(0_u64, u64::saturating_add);
        Span::from_nanos(nanos)
    }

    /// The cells with their seeds, in the order of the file. A cell's scenario has the first of them.
    pub fn cells(&self) -> &[(Scenario, Vec<u64>)] {
        &self.cells
    }

    /// One by one: combinations in the order of the file, seeds fastest.
    pub fn scenarios(&self) -> impl Iterator<Item = Scenario> + '_ {
        self.cells
            .iter()
            .flat_map(|(s, seeds)| seeds.iter().map(move |&seed| Scenario { seed, ..s.clone() }))
    }

    /// All of them.
    pub fn into_scenarios(self) -> Vec<Scenario> {
        self.scenarios().collect()
    }
}

impl Experiment {
    /// Reads an experiment. `file` is how messages name it. Names, words and values are judged when the axes are
    /// multiplied out, by [`Experiment::plan`].
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        let source = Source::new(file, text);
        let mut table = Table::parse(&source)?;
        let mut diagnostics = Diagnostics::default();
        let mut axes = Vec::new();
        if let Some(entry) = table.remove("axis") {
            if let Value::Table(axis) = &entry.node.value {
                axes = matrix::axes(Some(axis), &mut diagnostics);
            } else {
                diagnostics.push(
                    entry
                        .node
                        .place
                        .says(DiagnosticKind::Matrix, "axis is a table of axes")
                        .help("[axis.queue]\n\"pie\" = { hop.bottleneck.qdisc = \"pie ecn\" }"),
                );
            }
        }
        let search = table.remove("search").map(|entry| Search::read(&entry, &mut diagnostics));
        let (overrides, only) = (Vec::new(), Vec::new());
        diagnostics.into_result(Self { source, table, axes, overrides, only, search })
    }

    /// How messages name the file.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// A text of `[experiment]` (`name`, `source`, `about`), if the file gives it.
    pub fn says(&self, key: &str) -> Option<&str> {
        match &self.table.get("experiment")?.node.value {
            Value::Table(t) => t.get(key)?.node.text(),
            _ => None,
        }
    }

    /// Hands over each of the plugins that the file and its settings name, as it is written there: to be loaded before
    /// [`Experiment::plan`] is given a vocabulary with their words. What `load` says of one, a message and what would be right,
    /// is pointed at in the file.
    pub fn plugins(
        &self,
        mut load: impl FnMut(&str) -> Result<(), (String, String)>,
    ) -> Result<(), Diagnostics> {
        let named = |table: &Table| -> Option<Node> {
            let Value::Table(experiment) = &table.get("experiment")?.node.value else {
                return None;
            };
            Some(experiment.get("plugins")?.node.clone())
        };
        let mut diagnostics = Diagnostics::default();
        for label in self.axes.iter().flat_map(|axis| &axis.labels) {
            if let Some(plugins) = named(&label.bundle) {
                let message = "plugins are the same for every combination";
                let says = plugins.place.says(DiagnosticKind::Matrix, message);
                diagnostics.push(says.help("name them under [experiment]"));
            }
        }
        // A later setting stands for an earlier one, as everywhere.
        let settings = self.overrides.iter().rev().find_map(named);
        let nodes = match settings.or_else(|| named(&self.table)) {
            None => Vec::new(),
            Some(Node { value: Value::List(items), .. }) => items,
            Some(node) => vec![node],
        };
        for node in nodes {
            // Values that are no text are reported when the file is resolved.
            let Some(path) = node.text() else { continue };
            if let Err((message, help)) = load(path) {
                let message = format!("the plugin {path}: {message}");
                diagnostics.push(node.place.says(DiagnosticKind::Value, message).help(help));
            }
        }
        diagnostics.into_result(())
    }

    /// The axes and their labels, in the order of the file.
    pub fn axes(&self) -> Vec<(&str, Vec<&str>)> {
        self.axes
            .iter()
            .map(|a| (a.name.as_str(), a.labels.iter().map(|l| l.name.as_str()).collect()))
            .collect()
    }

    /// What `[search]` may vary, if the file says it.
    pub const fn search(&self) -> Option<&Search> {
        self.search.as_ref()
    }

    /// Judges `[search]`: every range with either end put in its place, every choice, and its metrics. Mistakes are pointed at
    /// where the range or the metric is written.
    pub fn check_search(&self, vocabulary: &dyn Vocabulary) -> Result<(), Diagnostics> {
        let Some(search) = &self.search else { return Ok(()) };
        self.plan(vocabulary, MOST_RUNS)?;
        let mut diagnostics = Diagnostics::default();
        let mut judge = |experiment: &Self| {
            if let Err(own) = experiment.plan(vocabulary, MOST_RUNS) {
                (&own).into_iter().for_each(|diagnostic| diagnostics.push(diagnostic.clone()));
            }
        };
        for bundle in search.extremes() {
            let mut experiment = self.clone();
            experiment.overrides.push(bundle);
            judge(&experiment);
        }
        let mut experiment = self.clone();
        let checks = search.metrics_as_checks();
        match experiment.table.entries.iter_mut().find(|entry| entry.key == "check") {
            Some(entry) => {
                if let Value::List(items) = &mut entry.node.value {
                    items.extend(checks);
                }
            }
            None => experiment.table.entries.push(search.check_entry(checks)),
        }
        judge(&experiment);
        diagnostics.into_result(())
    }

    /// Puts a setting over those of the file and its axes: `hop.bottleneck.rate=20mbit`, in the file's paths.
    pub fn set(&mut self, setting: &str) -> Result<(), Diagnostics> {
        self.overrides.push(overrides::bundle(setting)?);
        Ok(())
    }

    /// Runs these seeds, whatever the file says.
    pub fn set_seeds(&mut self, seeds: &[u64]) -> Result<(), Diagnostics> {
        self.set(&format!("experiment.seeds={seeds:?}"))
    }

    /// Runs this long, whatever the file says.
    pub fn set_duration(&mut self, duration: Span) -> Result<(), Diagnostics> {
        self.set(&format!("experiment.duration={duration}"))
    }

    /// Keeps only the combinations with these labels of an axis: `queue=pie`, `queue=["pie", "codel"]`.
    pub fn only(&mut self, choice: &str) -> Result<(), Diagnostics> {
        let table = overrides::bundle(choice)?;
        let mut diagnostics = Diagnostics::default();
        Pattern::read(&table, &self.axes, &mut diagnostics);
        self.only.push(diagnostics.into_result(table)?);
        Ok(())
    }

    /// Multiplies the axes out, resolves every combination and judges all of it. More runs than `most` (usually
    /// [`MOST_RUNS`]) are refused with [`DiagnosticKind::TooManyRuns`].
    pub fn plan(&self, vocabulary: &dyn Vocabulary, most: u64) -> Result<Plan, Diagnostics> {
        let start = Place::start(&self.source);
        let mut diagnostics = Diagnostics::default();
        let size = matrix::size(&self.axes);
        if size > MOST_CELLS.max(most) {
            return Err(self.too_many(size, most).into());
        }
        let cells = self.cells(&start, &mut diagnostics);
        if !diagnostics.is_empty() {
            return diagnostics.into_result(Plan::default());
        }
        // Refuse before resolving: ten million combinations take their time.
        if cells.len() as u64 > most {
            return Err(self.too_many(cells.len() as u64, most).into());
        }
        let mut planned = Vec::with_capacity(cells.len());
        let mut found: Vec<(Diagnostic, Vec<&Cell>)> = Vec::new();
        let mut surprises: Vec<Warning> = Vec::new();
        let mut resolved = 0;
        for cell in &cells {
            let (run, own, surprising) = self.resolve(cell, vocabulary);
            for diagnostic in &surprising {
                match surprises.iter_mut().find(|known| known.diagnostic == *diagnostic) {
                    Some(known) => known.cells.push(planned.len()),
                    None => surprises.push(Warning {
                        diagnostic: diagnostic.clone(),
                        cells: vec![planned.len()],
                    }),
                }
            }
            planned.extend(run);
            resolved += 1;
            for diagnostic in &own {
                match found.iter_mut().find(|(known, _)| known == diagnostic) {
                    Some((_, cells)) => cells.push(cell),
                    None => found.push((diagnostic.clone(), vec![cell])),
                }
            }
            if found.len() >= MOST_DIAGNOSTICS {
                break;
            }
        }
        for (diagnostic, cells) in found {
            let only_there = cells.len() < resolved;
            diagnostics.push(if only_there {
                self.located(diagnostic, &cells)
            } else {
                diagnostic
            });
        }
        let warnings = surprises.into_iter().map(|mut warning| {
            if warning.cells.len() < cells.len() {
                let of: Vec<&Cell> = warning.cells.iter().map(|&index| &cells[index]).collect();
                warning.diagnostic = self.located(warning.diagnostic, &of);
            }
            warning
        });
        let warnings = warnings.collect();
        let plan = diagnostics.into_result(Plan { cells: planned, warnings })?;
        let runs = plan.runs();
        if runs > most {
            return Err(self.too_many(runs, most).into());
        }
        Ok(plan)
    }

    fn too_many(&self, runs: u64, most: u64) -> Diagnostic {
        let place =
            self.axes.first().map_or_else(|| Place::start(&self.source), |a| a.place.clone());
        let sizes: Vec<String> =
            self.axes.iter().map(|a| format!("{} {}", a.labels.len(), a.name)).collect();
        place
            .says(
                DiagnosticKind::TooManyRuns(runs),
                format!("this makes {runs} runs; more than {most} must be asked for"),
            )
            .help(format!("say --yes to run them all, or shorten an axis ({})", sizes.join(" x ")))
    }

    /// The combinations that are run.
    fn cells(&self, start: &Place, diagnostics: &mut Diagnostics) -> Vec<Cell> {
        let tables = |key: &str, diagnostics: &mut Diagnostics| -> Vec<(Place, Table)> {
            let Some(entry) = self.table.get(key) else { return Vec::new() };
            let Value::List(items) = &entry.node.value else {
                diagnostics.push(
                    entry
                        .node
                        .place
                        .says(DiagnosticKind::Matrix, format!("{key} is a list of tables"))
                        .help(format!("[[{key}]]")),
                );
                return Vec::new();
            };
            let table = |item: &Node| match &item.value {
                Value::Table(t) => Some((item.place.clone(), t.clone())),
                _ => None,
            };
            items.iter().filter_map(table).collect()
        };
        let (exclude, include) = (tables("exclude", diagnostics), tables("include", diagnostics));
        let mut cells = matrix::cells(&self.axes, &exclude, &include, start, diagnostics);
        for table in &self.only {
            let pattern = Pattern::read(table, &self.axes, diagnostics);
            cells.retain(|cell| pattern.matches(cell));
        }
        if cells.is_empty() && diagnostics.is_empty() {
            diagnostics
                .push(start.says(DiagnosticKind::Matrix, "none of the combinations is asked for"));
        }
        cells
    }

    /// The settings of one combination.
    fn settings(&self, cell: &Cell, diagnostics: &mut Diagnostics) -> Table {
        let mut table = self.table.clone();
        for (axis, &label) in self.axes.iter().zip(cell) {
            table.merge(&axis.labels[label].bundle, diagnostics);
        }
        for bundle in &self.overrides {
            table.merge(bundle, diagnostics);
        }
        let vars = variables(table.get("let").map(|e| &e.node), diagnostics);
        substitute::fill(&table, &vars, diagnostics)
    }

    /// Says of a mistake that some combinations have and others have not which those are, unless its place tells.
    fn located(&self, mut diagnostic: Diagnostic, cells: &[&Cell]) -> Diagnostic {
        let mut with = Vec::new();
        for (i, axis) in self.axes.iter().enumerate() {
            let label = &axis.labels[cells[0][i]];
            if axis.labels.len() == 1 || cells.iter().any(|cell| cell[i] != cells[0][i]) {
                continue;
            }
            let is_there = label.place.source.name == diagnostic.file
                && label.place.span.contains(&diagnostic.span.start);
            if is_there {
                return diagnostic;
            }
            with.push(format!("{} = \"{}\"", axis.name, label.name));
        }
        if !with.is_empty() {
            diagnostic.message = format!("{} (with {})", diagnostic.message, with.join(", "));
        }
        diagnostic
    }

    fn resolve(
        &self,
        cell: &Cell,
        vocabulary: &dyn Vocabulary,
    ) -> (Option<(Scenario, Vec<u64>)>, Diagnostics, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let table = self.settings(cell, &mut diagnostics);
        let place = Place::start(&self.source);
        let root: Fields = decode(&sections::ROOT, &table, &place, &mut diagnostics);
        let run = if diagnostics.is_empty() {
            Resolver::new(vocabulary, &self.axes, cell, &mut diagnostics).scenario(&root)
        } else {
            None
        };
        let seeds = root.table("experiment").map(|e| e.seeds("seeds").to_vec()).unwrap_or_default();
        let surprising = match run {
            Some(_) => surprises::of(&Read { root: &root, vocabulary }),
            None => Diagnostics::default(),
        };
        (run.map(|scenario| (scenario, seeds)), diagnostics, surprising)
    }
}

/// What `[let]` sets, as text.
fn variables(node: Option<&Node>, diagnostics: &mut Diagnostics) -> Vec<(String, String)> {
    let Some(Node { value: Value::Table(table), .. }) = node else { return Vec::new() };
    let mut vars = Vec::new();
    for entry in &table.entries {
        let text = match &entry.node.value {
            Value::Text(t) => t.text.clone(),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Bool(b) => b.to_string(),
            _ => {
                diagnostics.push(entry.node.place.says(
                    DiagnosticKind::Value,
                    format!("{} is a string or a number, not {}", entry.key, entry.node.kind()),
                ));
                continue;
            }
        };
        vars.push((entry.key.clone(), text));
    }
    vars
}
