//! Limits in the pages of `docs/` agree with the code. The site build puts the tables into them.

use sojourn_results::metrics;
use sojourn_results::schema;
use std::path::PathBuf;

fn page(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", name].iter().collect();
    std::fs::read_to_string(&path).expect("the page is there")
}

#[test]
fn the_page_of_the_language_shows_an_experiment_that_runs() {
    let example = include_str!("../../../python/sojourn/suites/l4s-tests/s2.toml");
    assert!(page("language.md").contains(example), "docs/language.md shows l4s-tests/s2 as it is");
}

#[test]
fn the_number_of_flows_with_delays_is_everywhere_the_same() {
    let few = metrics::FEW;
    assert!(sojourn_language::reference().contains(&format!("in runs of up to {few} flows")));
    assert!(page("metrics.md").contains(&format!("in runs of up to {few} flows")));
    let tables: Vec<String> = schema::ALL.iter().map(|s| s.markdown()).collect();
    assert!(tables.concat().contains(&format!("in runs of more than {few} those that say")));
}
