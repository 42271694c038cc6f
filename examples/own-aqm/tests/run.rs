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

/// A page of 600 kB takes 100 ms of 50 Mbit/s and some round trips of 20 ms. One that meets an outage waits for it to end, and
/// for a retransmission timeout of 200 ms or more.
#[test]
fn an_element_and_an_application_run_by_their_words() {
    let output = run(&["src/handover.toml"]);
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let block = |from: &str| {
        let start = text.find(from).unwrap_or_else(|| panic!("no {from} in\n{text}"));
        let rest = &text[start + from.len()..];
        rest[..rest.find("seed ").unwrap_or(rest.len())].to_owned()
    };
    for seed in 1..=2 {
        let steady = block(&format!("steady seed {seed}"));
        let handover = block(&format!("handover seed {seed}"));
        assert!(!steady.contains("outage drops"), "{steady}");
        assert!(number(&handover, "outage drops:") > 0.0, "{handover}");
        // 30 s hold 30 pages of half a second and their pauses, and some more.
        assert!((30.0..50.0).contains(&number(&steady, "pages")), "{steady}");
        assert!(number(&handover, "pages") < number(&steady, "pages"), "{handover}");
        assert!((0.16..0.4).contains(&number(&steady, "longest page:")), "{steady}");
        assert!(number(&handover, "longest page:") > 0.3, "{handover}");
    }
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
    let text = include_str!("../src/handover.toml");
    for (right, wrong, message) in [
        (
            "outage every 3s",
            "outage everyy 3s",
            "outage has no option \"everyy\"; did you mean \"every\"?",
        ),
        ("every 3s", "every 300ms", "\"long\" (300ms) is not below \"every\" (300ms)"),
        ("page objects 20", "page objects 0", "\"objects\": 0 is out of range"),
        ("page objects", "pgae objects", "unknown application \"pgae\"; did you mean \"page\"?"),
    ] {
        std::fs::write(&path, text.replace(right, wrong)).expect("the folder is there");
        let output = run(&[&path]);
        let error = String::from_utf8(output.stderr).expect("it is text");
        assert!(!output.status.success());
        let (said, help) = message.split_once("; ").unwrap_or((message, ""));
        assert!(error.contains(said) && error.contains(help), "{error}");
        assert!(error.contains("wrong.toml:"), "the line is named: {error}");
    }
}
