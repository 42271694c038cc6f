//! The reference pages in `docs/` are what the tables say that the parser, the metrics and the recorder use.
//! `UPDATE_DOCS=1 cargo test -p sojourn-language --test reference` writes them anew.

use sojourn_results::metrics;
use sojourn_results::schema;
use std::path::PathBuf;

fn check(page: &str, text: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", page].iter().collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/ can be written");
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{page} is not what the tables say; write it anew with \
         UPDATE_DOCS=1 cargo test -p sojourn-language --test reference"
    );
}

#[test]
fn the_language() {
    // The example is the suite's own file, so that it is known to run.
    let example = include_str!("../../../python/sojourn/suites/l4s-tests/s2.toml");
    let text = format!(
        "# The experiment language\n\nAn experiment is one TOML file: what is common, what varies, what is measured. \
         Every error names the line and what would be right; `sojourn schema` prints a JSON Schema for editors. \
         For example:\n\n```toml\n{example}```\n\nEvery key, from the table that the parser uses:\n\n{}",
        sojourn_language::reference()
    );
    check("language.md", &text);
    let few = metrics::FEW;
    assert!(text.contains(&format!("in runs of up to {few} flows")), "the key `delays`");
}

#[test]
fn the_metrics() {
    let text = format!(
        "# Metrics\n\nA metric is asked for in an experiment's checks, by `sojourn table`, and by `Run.metric` in Python. There is one \
         implementation of each.\n\nBehind an expression stands where to measure: `over last 60s before 1s`, `over all`, `over NAME` for a \
         window, `during NAME` for a phase. Without that it is the window `steady`; for quantities of every packet it is the whole run. \
         A window that reaches beyond the run is refused. Of a phase, what was before the run's end counts.\n\n\
         Quantities of every packet are `sojourn`, `packet_owd` and `pdv`; `packet_rtt` is one of the whole run alone. Their \
         distributions are kept for the windows that are known before the run: `[[window]]`, `[[phase]]`, those of the file's checks, and the default. In another window they have no \
         value. Those of queues are always kept. Those of single flows are kept in runs of up to {few} flows; in larger runs, of flows \
         that say `delays = true` or whose delays a check asks for. With `sojourn` a flow may stand alone or `at` \
         a queue: `p99(sojourn.l, prague at bottleneck.down.qdisc) over steady`.\n\n{}",
        metrics::reference(),
        few = metrics::FEW,
    );
    check("metrics.md", &text);
}

#[test]
fn the_results() {
    let tables: Vec<String> = schema::ALL.iter().map(|s| s.markdown()).collect();
    let text = format!(
        "# Result tables\n\nWhat a run gives, table by table. In a results folder each is a Parquet file of its \
         name; in Python a Polars frame.\n\n{}",
        tables.join("\n")
    );
    check("results.md", &text);
    assert!(
        text.contains(&format!("in runs of more than {} those that say", metrics::FEW)),
        "delays"
    );
}
