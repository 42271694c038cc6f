//! The combinations of an experiment's axes.

use super::source::{Diagnostic, DiagnosticKind, Diagnostics, Place};
use super::sweep::{self, Label};
use super::tree::{Table, Value};

/// One axis: its labels, each with its settings.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) labels: Vec<Label>,
}

/// One combination: for each axis the index of a label.
pub(crate) type Cell = Vec<usize>;

/// Reads `[axis.…]`.
pub(crate) fn axes(axis: Option<&Table>, diagnostics: &mut Diagnostics) -> Vec<Axis> {
    let mut axes = Vec::new();
    for entry in axis.map_or(&[][..], |t| &t.entries) {
        let Value::Table(table) = &entry.node.value else {
            diagnostics.push(
                entry
                    .node
                    .place
                    .says(
                        DiagnosticKind::Matrix,
                        format!("axis {} is not a table of labels", entry.key),
                    )
                    .help("\"label\" = { hop.bottleneck.rate = \"50mbit\" }"),
            );
            continue;
        };
        match sweep::labels(entry) {
            Ok(None) => {}
            Ok(Some(labels)) => {
                axes.push(Axis { name: entry.key.clone(), place: entry.key_place.clone(), labels });
                continue;
            }
            Err(diagnostic) => {
                diagnostics.push(*diagnostic);
                continue;
            }
        }
        if table.entries.is_empty() {
            diagnostics.push(
                entry
                    .key_place
                    .says(DiagnosticKind::Matrix, format!("axis {} has no label", entry.key))
                    .help("\"label\" = { hop.bottleneck.rate = \"50mbit\" }"),
            );
        }
        let mut labels = Vec::new();
        for label in &table.entries {
            match &label.node.value {
                Value::Table(bundle) => labels.push(Label {
                    name: label.key.clone(),
                    place: label.node.place.clone(),
                    bundle: bundle.clone(),
                }),
                _ => diagnostics.push(
                    label
                        .node
                        .place
                        .says(
                            DiagnosticKind::Matrix,
                            format!("\"{}\" is not a table of settings", label.key),
                        )
                        .help(format!(
                            "\"{}\" = {{ hop.bottleneck.rate = \"50mbit\" }}",
                            label.key
                        )),
                ),
            }
        }
        axes.push(Axis { name: entry.key.clone(), place: entry.key_place.clone(), labels });
    }
    axes
}

/// The labels that a rule is about: for each axis a set of indices, all of them where the rule says nothing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pattern(Vec<Vec<usize>>);

impl Pattern {
    /// Reads `axis = "label"` or `axis = ["label", "label"]`.
    pub(crate) fn read(table: &Table, axes: &[Axis], diagnostics: &mut Diagnostics) -> Self {
        let mut sets: Vec<Vec<usize>> =
            axes.iter().map(|axis| (0..axis.labels.len()).collect()).collect();
        for entry in &table.entries {
            let Some(index) = axes.iter().position(|a| a.name == entry.key) else {
                diagnostics.push(
                    entry
                        .key_place
                        .says(
                            DiagnosticKind::Name,
                            format!("there is no axis called \"{}\"", entry.key),
                        )
                        .nearest(&entry.key, axes.iter().map(|a| a.name.as_str()), "axes"),
                );
                continue;
            };
            let nodes = match &entry.node.value {
                Value::List(items) => items.as_slice(),
                _ => core::slice::from_ref(&entry.node),
            };
            let labels = &axes[index].labels;
            sets[index] = nodes
                .iter()
                .filter_map(|node| {
                    let Some(label) = node.text() else {
                        diagnostics.push(node.place.says(
                            DiagnosticKind::Matrix,
                            format!("a label is a string, not {}", node.kind()),
                        ));
                        return None;
                    };
                    let found = labels.iter().position(|l| l.name == label);
                    if found.is_none() {
                        diagnostics.push(
                            node.place
                                .says(
                                    DiagnosticKind::Name,
                                    format!("axis {} has no label \"{label}\"", entry.key),
                                )
                                .nearest(label, labels.iter().map(|l| l.name.as_str()), "labels"),
                        );
                    }
                    found
                })
                .collect();
        }
        Self(sets)
    }

    pub(crate) fn matches(&self, cell: &Cell) -> bool {
        self.0.iter().zip(cell).all(|(set, label)| set.contains(label))
    }

    /// The combinations of the pattern, if it names a label of every axis; the axes it leaves out otherwise.
    fn cells(&self, named: &Table, axes: &[Axis]) -> Result<Vec<Cell>, Vec<String>> {
        let left_out: Vec<String> =
            axes.iter().filter(|a| named.get(&a.name).is_none()).map(|a| a.name.clone()).collect();
        if left_out.is_empty() { Ok(product(&self.0)) } else { Err(left_out) }
    }
}

/// Every combination of one index of each set, the last set varying fastest.
fn product(sets: &[Vec<usize>]) -> Vec<Cell> {
    let mut cells = vec![Vec::new()];
    for set in sets {
        cells = cells
            .iter()
            .flat_map(|cell: &Cell| {
                set.iter().map(move |&i| {
                    let mut longer = cell.clone();
                    longer.push(i);
                    longer
                })
            })
            .collect();
    }
    cells
}

/// The number of combinations that the axes make before any is excluded.
pub(crate) fn size(axes: &[Axis]) -> u64 {
    axes.iter().fold(1_u64, |n, a| n.saturating_mul(a.labels.len() as u64))
}

/// The combinations that are run, in the order of the file: the product without what is excluded, then what is
/// included besides.
pub(crate) fn cells(
    axes: &[Axis],
    exclude: &[(Place, Table)],
    include: &[(Place, Table)],
    place: &Place,
    diagnostics: &mut Diagnostics,
) -> Vec<Cell> {
    let excluded: Vec<Pattern> =
        exclude.iter().map(|(_, table)| Pattern::read(table, axes, diagnostics)).collect();
    let all: Vec<Vec<usize>> = axes.iter().map(|a| (0..a.labels.len()).collect()).collect();
    let mut cells: Vec<Cell> = product(&all);
    for (pattern, (place, _)) in excluded.iter().zip(exclude) {
        let before = cells.len();
        cells.retain(|cell| !pattern.matches(cell));
        if cells.len() == before && diagnostics.is_empty() {
            diagnostics.push(
                place.says(DiagnosticKind::Matrix, "this excludes no combination that is left"),
            );
        }
    }
    for (place, table) in include {
        let pattern = Pattern::read(table, axes, diagnostics);
        match pattern.cells(table, axes) {
            Ok(more) => {
                for cell in more {
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
            Err(left_out) => diagnostics.push(
                place
                    .says(
                        DiagnosticKind::Matrix,
                        "an included combination names a label of every axis",
                    )
                    .help(format!("missing: {}", left_out.join(", "))),
            ),
        }
    }
    if cells.is_empty() && diagnostics.is_empty() {
        diagnostics.push(empty(axes.first().map_or(place, |a| &a.place)));
    }
    cells
}

fn empty(place: &Place) -> Diagnostic {
    place
        .says(DiagnosticKind::Matrix, "no combination of the axes is left to run")
        .help("exclude fewer combinations")
}
