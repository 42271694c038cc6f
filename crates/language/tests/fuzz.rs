//! Bytes become experiments, and whatever they say, nothing may panic, hang or grow without bound.
//!
//! The functions are the fuzz targets of `fuzz/`, where libFuzzer looks for bytes that reach new code. The byte strings
//! in `fuzz/corpus` are replayed here, on any toolchain; a byte string that ever failed is kept as
//! `fuzz/corpus/*/failed-…`.

use core::ops::Range;
use sojourn_language::{Experiment, Takes, Vocabulary};
use sojourn_model::{DeliveryTrace, WordError};

/// Takes every word for right, and every place for one of the four kinds.
struct Anything;

impl Vocabulary for Anything {
    fn qdisc(&self, _: &str, _: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn netem(&self, _: &str, _: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn cc(&self, _: &str, _: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn stack(&self, _: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn takes(&self, words: &str, at: &Range<usize>) -> Option<Takes> {
        assert!(words.is_char_boundary(at.start) && words.is_char_boundary(at.end));
        [Some(Takes::Packets), Some(Takes::Bytes), Some(Takes::Time), Some(Takes::Rate), None]
            [at.start % 5]
    }
}

/// A whole file.
pub fn experiment(data: &[u8]) {
    plan(&String::from_utf8_lossy(data));
}

/// An expression, a sweep, tc's words and a size, one a line: what stands inside the values of a file.
pub fn values(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let mut quoted = || {
        let line: String = lines.next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
        line.replace('\\', "\\\\").replace('"', "\\\"")
    };
    let (expression, sweep, words, size) = (quoted(), quoted(), quoted(), quoted());
    plan(&format!(
        "[experiment]\nname = \"f\"\nduration = \"10s\"\n\n[let]\nx = \"3\"\nline-rate = \"5mbit\"\n\n\
         [axis.a]\nhop.b.rate = \"{sweep}\"\n\n[[hop]]\nname = \"b\"\nrate = \"1mbit\"\nrtt = \"20ms\"\n\
         burst = \"{size}\"\nqdisc = \"pfifo {words} ${{{expression}}}\"\nnetem = [\"{words}\"]\n\n[[flow]]\nname = \"f\"\n"
    ));
}

/// A file of somebody's, which says when a link can send.
pub fn trace(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    match DeliveryTrace::parse(text) {
        Ok(trace) => {
            assert_eq!(trace.chances().len(), text.lines().count());
            assert!(trace.mean_rate().bits_per_sec() > 0);
            let period = u64::from(trace.period_ms());
            // Chances are counted over its end as within it.
            assert_eq!(
                trace.chances_until(3 * period - 1) - trace.chances_until(period - 1),
                2 * trace.chances().len() as u64
            );
        }
        Err(wrong) => assert!(!wrong.to_string().is_empty()),
    }
}

fn plan(text: &str) {
    let Ok(experiment) = Experiment::parse("fuzz.toml", text) else { return };
    match experiment.plan(&Anything, 2_000) {
        Ok(plan) => {
            let cells = plan.cells().len();
            assert!(plan.warnings().iter().flat_map(|w| &w.cells).all(|&cell| cell < cells));
            // The scenarios are consistent.
            for scenario in plan.scenarios().take(3) {
                assert!(scenario.check().is_ok());
            }
        }
        Err(wrong) => {
            // Every mistake can be shown.
            assert!(!wrong.to_string().is_empty());
        }
    }
}

#[cfg(test)]
mod replay {
    use proptest::prelude::*;

    fn kept(target: &str) -> Vec<Vec<u8>> {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
        let files = std::fs::read_dir(folder).expect("the corpus is kept");
        files.map(|f| std::fs::read(f.expect("a file").path()).expect("it can be read")).collect()
    }

    #[test]
    fn the_corpus_is_replayed() {
        for (target, run) in [
            ("experiment", super::experiment as fn(&[u8])),
            ("values", super::values),
            ("trace", super::trace),
        ] {
            let files = kept(target);
            assert!(files.len() > 5, "{target}");
            for file in files {
                run(&file);
                // Cut anywhere, and with a byte changed.
                for cut in (0..file.len()).step_by(7) {
                    run(&file[..cut]);
                    let mut other = file.clone();
                    other[cut] ^= 0x15;
                    run(&other);
                }
            }
        }
    }

    /// Of these the values of a file are made.
    const PARTS: &[&str] = &[
        "1",
        "0.2",
        "1e9",
        "-",
        "+",
        "*",
        "/",
        "(",
        ")",
        ",",
        " ",
        "..",
        "log",
        "step",
        "bdp",
        "10",
        "mbit",
        "ms",
        "s",
        "b",
        "k",
        "rate",
        "rtt",
        "hop.b.rtt",
        "qdisc",
        "x",
        "line-rate",
        "min",
        "max",
        "round",
        "${",
        "}",
        "limit",
        "µ",
        "bps",
        "\"",
        "\\",
        "\n",
        "99999999999999999999",
        "0",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn values_of_any_parts_are_read_or_refused(parts in proptest::collection::vec(0..PARTS.len(), 0..40)) {
            let text: String = parts.iter().map(|&part| PARTS[part]).collect();
            super::values(text.as_bytes());
        }
    }
}
