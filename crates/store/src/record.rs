//! A finished run as it is stored: its head, its answers, its tables.

use super::answers::Answers;
use super::identity::{identity, name};
use super::keep::Keep;
use super::segment::{Brief, OfCell, Stored};
use super::tables;
use serde::Serialize;
use serde_json::Value;
use sojourn_model::Scenario;
use sojourn_results::Run;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parts of a head besides the run's own scenario.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The command that asked for the run.
    pub command: String,
    /// Settings of its experiment that may not be as intended.
    pub warnings: Vec<String>,
    /// Of an imported run: where it is from and which parts of the scenario are measured (`measured`); null for others.
    pub imported: Value,
    /// How much is stored.
    pub keep: Keep,
    /// Which run of this scenario and seed it is, on an engine where two of them differ: 0 and 1 are the first.
    pub repetition: u32,
    /// Texts for people, by name: the output of a program.
    pub texts: BTreeMap<String, String>,
}

impl About {
    /// The keys of the scenario that are measurements.
    fn measured(&self) -> Vec<String> {
        let keys = self.imported["measured"].as_array().into_iter().flatten();
        keys.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// The head of a run.
#[derive(Serialize)]
struct Head<'a> {
    name: &'a str,
    brief: &'a Brief,
    command: &'a str,
    /// The rows of each stored table.
    rows: BTreeMap<&'static str, usize>,
    scenario: &'a Scenario,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    texts: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Value::is_null")]
    imported: &'a Value,
}

/// Puts a run into its stored form; `answers` are `None` for an imported run: its tables answer questions.
pub fn stored(run: &Run, version: &str, about: &About, answers: Option<&Answers>) -> Stored {
    let scenario = &*run.scenario;
    let engine = run.engine.name.as_str();
    let identity = identity(scenario, engine, version, &about.measured(), about.repetition);
    let label = scenario.id();
    let kept = || run.tables.iter().filter(|table| about.keep.admits(table.schema().name));
    let name = name(&label, &identity.run);
    let of = OfCell {
        experiment: scenario.experiment.clone(),
        labels: scenario.cell.clone(),
        cell: identity.cell,
        engine: engine.to_owned(),
        version: version.to_owned(),
        keep: about.keep.name().to_owned(),
        tables: kept().map(|table| table.schema().name.to_owned()).collect(),
    };
    let brief =
        Brief { of: Arc::new(of), seed: scenario.seed, repetition: about.repetition.max(1) };
    let rows = kept().map(|table| (table.schema().name, table.len())).collect();
    let head = Head {
        name: &name,
        brief: &brief,
        command: &about.command,
        rows,
        scenario,
        warnings: &about.warnings,
        texts: &about.texts,
        imported: &about.imported,
    };
    Stored {
        head: serde_json::to_vec(&head).expect("texts and numbers"),
        answers: answers.map(Answers::pack),
        tables: tables::encode(kept()),
        name,
        brief,
    }
}
