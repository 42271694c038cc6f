//! Each example runs, and refuses a wrong word by name. Cargo builds them with the tests.

use std::process::{Command, Output};

fn example(name: &str, words: &[&str]) -> Output {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(2).expect("it is in target/PROFILE/deps");
    let program = target.join("examples").join(name);
    Command::new(&program).args(words).output().unwrap_or_else(|error| {
        panic!("{}: {error}; run the package's tests together", program.display())
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn airtime_is_exact_after_a_million_packets() {
    let said = example("airtime", &["50mbit", "1514b"]);
    assert_eq!(
        text(&said.stdout),
        "1514 bytes at 50Mbit: 242.24us for one packet, 242.24s for 1000000\n"
    );
    let wrong = example("airtime", &["50mbits", "1514b"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("50mbits"), "{}", text(&wrong.stderr));
}
