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

fn digest(parts: [&str; 3]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..6].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("a scenario is numbers and texts")
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
    let plain = scenario.plugins.is_empty();
    let cleared = || {
        let mut own = scenario.clone();
        for plugin in &mut own.plugins {
            plugin.path.clear();
        }
        own
    };
    let text = if plain { json(scenario) } else { json(&cleared()) };
    let again =
        if repetition > 1 { format!("{version}, repetition {repetition}") } else { String::new() };
    let run = digest([&text, engine, if repetition > 1 { &again } else { version }]);
    let seed = format!(",\"seed\":{}", scenario.seed);
    let asked = if measured.is_empty() {
        text.replacen(&seed, "", 1)
    } else {
        let mut own = cleared();
        let is = |key: &str| measured.iter().any(|own| own == key);
        if is("duration") {
            own.duration = Span::ZERO;
        }
        if is("source") {
            own.source.clear();
        }
        if is("start") {
            own.flows.iter_mut().for_each(|flow| flow.start = Start::At(At::ORIGIN));
        }
        json(&own).replacen(&seed, "", 1)
    };
    Identity { run, cell: digest([&asked, engine, version]) }
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
