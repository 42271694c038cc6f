//! What tells one run from another, and which runs are seeds of one cell.
//!
//! A run is known by a digest of its scenario (seed included), its engine, the engine's build and the repetition. The build decides the JSON
//! of a scenario, so the digest needs no canonical form. The path of a plugin does not count, only its content.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sojourn_model::{At, Scenario, Start};
use sojourn_units::Span;

/// Characters of a label that a run's name keeps.
const LONGEST_LABEL: usize = 80;

/// A run's digest and its cell's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// 12 hexadecimal digits.
    pub run: String,
    /// 12 hexadecimal digits, of all but the seed: runs with the same are seeds of one cell.
    pub cell: String,
}

/// The first 12 hexadecimal digits of the SHA-256 of these texts, each a list of parts and after its length.
fn digest(texts: [&[&str]; 3]) -> String {
    let mut hash = Sha256::new();
    for parts in texts {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        hash.update((length as u64).to_le_bytes());
        for part in parts {
            hash.update(part);
        }
    }
    hash.finalize()[..6].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("a scenario is numbers and texts")
}

/// The JSON of a cell's scenario, cut where a run's has its seed. It identifies all runs of the cell.
#[derive(Clone, Debug)]
pub struct CellText {
    before: String,
    after: String,
}

impl CellText {
    /// That of the cell which this scenario is a run of.
    pub fn of(scenario: &Scenario) -> Self {
        let mut text =
            if scenario.plugins.is_empty() { json(scenario) } else { json(&cleared(scenario)) };
        let seed = seed(scenario.seed);
        let at = text.find(&seed).expect("a scenario has a seed");
        let after = text.split_off(at).split_off(seed.len());
        Self { before: text, after }
    }

    /// The identity of the run with this seed.
    pub fn identity(&self, seed: u64, engine: &str, version: &str, repetition: u32) -> Identity {
        let Self { before, after } = self;
        let again = format!(", repetition {repetition}");
        let again = if repetition > 1 { &again } else { "" };
        Identity {
            run: digest([&[before, &self::seed(seed), after], &[engine], &[version, again]]),
            cell: digest([&[before, after], &[engine], &[version]]),
        }
    }
}

fn seed(seed: u64) -> String {
    format!(",\"seed\":{seed}")
}

/// The path of a plugin does not count.
fn cleared(scenario: &Scenario) -> Scenario {
    let mut own = scenario.clone();
    own.plugins.iter_mut().for_each(|plugin| plugin.path.clear());
    own
}

/// The identity of a run.
///
/// `measured` names keys of an imported run's scenario that are measurements and so tell no runs apart within a cell:
/// `duration`, `source`, and `start` of flows. `repetition` counts from 1; it tells runs of one seed apart on an engine where
/// two of them differ.
pub fn identity(
    scenario: &Scenario,
    engine: &str,
    version: &str,
    measured: &[String],
    repetition: u32,
) -> Identity {
    let of = |own: &Scenario| CellText::of(own).identity(own.seed, engine, version, repetition);
    let identity = of(scenario);
    if measured.is_empty() {
        return identity;
    }
    let mut asked = scenario.clone();
    let is = |key: &str| measured.iter().any(|own| own == key);
    if is("duration") {
        asked.duration = Span::ZERO;
    }
    if is("source") {
        asked.source.clear();
    }
    if is("start") {
        asked.flows.iter_mut().for_each(|flow| flow.start = Start::At(At::ORIGIN));
    }
    Identity { cell: of(&asked).cell, ..identity }
}

/// A run's name: its label made safe for file systems, and its digest.
pub fn name(label: &str, digest: &str) -> String {
    let mut safe = String::new();
    for c in label.chars() {
        if c.is_ascii_alphanumeric() || "._=+-".contains(c) {
            safe.push(c);
        } else if !safe.ends_with('_') || c == '_' {
            safe.push('_');
        }
    }
    let safe: String = safe.trim_matches(['_', '.']).chars().take(LONGEST_LABEL).collect();
    format!("{safe}-{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_share_a_cell_and_nothing_else_does() {
        let one = sojourn_model::example::scenario();
        let of = |scenario: &Scenario, engine| identity(scenario, engine, "1", &[], 1);
        let two = Scenario { seed: 7, ..one.clone() };
        let longer = Scenario { duration: Span::from_secs(61), ..one.clone() };
        let first = of(&one, "sim");
        assert_eq!(first.run.len(), 12);
        assert_eq!(first.cell, of(&two, "sim").cell);
        assert_ne!(first.run, of(&two, "sim").run);
        assert_ne!(first.cell, of(&longer, "sim").cell);
        assert_ne!(first.cell, of(&one, "linux").cell);
        let again = identity(&one, "sim", "1", &[], 2);
        assert_ne!(first.run, again.run);
        assert_eq!(first.cell, again.cell);
        let measured = ["duration".to_owned()];
        let imported = |scenario| identity(scenario, "sim", "1", &measured, 1).cell;
        assert_eq!(imported(&one), imported(&longer));
    }

    #[test]
    fn a_name_is_safe_for_file_systems() {
        assert_eq!(name("s1[fq_codel,20 ms]#3", "abc"), "s1_fq_codel_20_ms_3-abc");
        assert_eq!(name("../a/b", "abc"), "a_b-abc");
        assert_eq!(name(&"x".repeat(100), "d").len(), 82);
    }
}
