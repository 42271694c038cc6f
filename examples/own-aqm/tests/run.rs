//! The example does what it says.

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-aqm")).args(args).output().expect("it was built")
}

/// The number behind a name in a cell's block.
fn number(block: &str, name: &str) -> f64 {
    let line = block.lines().find_map(|line| line.trim().strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{block}"));
    line.trim().parse().unwrap_or_else(|_| panic!("{line} is a number"))
}

#[test]
fn an_experiment_with_it_runs_and_its_counters_are_printed() {
    let output = run(&[]);
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let block = |from: &str| {
        let start = text.find(from).unwrap_or_else(|| panic!("no {from} in\n{text}"));
        let rest = &text[start + from.len()..];
        rest[..rest.find("seed ").unwrap_or(rest.len())].to_owned()
    };
    for seed in ["curvy seed 1", "curvy seed 2"] {
        let curvy = block(seed);
        // The discipline's own counter and the recorder's count by reason are of the same marks.
        let marks = number(&curvy, "curve marks:");
        assert!(marks > 0.0, "{curvy}");
        assert_eq!(marks, number(&curvy, "curvy.marked"));
        assert_eq!(marks, number(&curvy, "marked"));
        // Reno's packets are not ECN-capable.
        assert!(number(&curvy, "curve drops:") > 0.0, "{curvy}");
    }
    assert!(number(&block("codel seed 1"), "control_law marks:") > 0.0);
}

#[test]
fn a_wrong_option_is_shown_in_the_file() {
    let dir = env!("CARGO_TARGET_TMPDIR");
    let path = format!("{dir}/wrong.toml");
    let text = include_str!("../src/experiment.toml");
    for (wrong, message) in [
        ("curvy hihg 20ms", "curvy has no option \"hihg\"; did you mean \"high\"?"),
        ("curvi", "unknown queue discipline \"curvi\"; did you mean \"curvy\"?"),
        ("curvy low 30ms high 20ms", "\"low\" (30ms) is not below \"high\" (20ms)"),
    ] {
        let text = text.replace("curvy low 1ms high 20ms", wrong);
        std::fs::write(&path, text).expect("the folder is there");
        let output = run(&[&path]);
        let error = String::from_utf8(output.stderr).expect("it is text");
        assert!(!output.status.success());
        let (said, help) = message.split_once("; ").unwrap_or((message, ""));
        assert!(error.contains(said) && error.contains(help), "{error}");
        assert!(error.contains("wrong.toml:9:"), "the line is named: {error}");
    }
}
