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
fn overload_says_what_a_discipline_did() {
    let codel = text(&example("overload", &["codel", "ecn"]).stdout);
    assert!(
        codel.starts_with("codel ecn: ") && codel.contains("marked by control_law: "),
        "{codel}"
    );
    let short = text(&example("overload", &["pfifo", "limit", "10"]).stdout);
    // The tenth packet comes half a millisecond before a departure, and they are 1 ms apart.
    assert!(short.contains("the longest wait was 9.5ms"), "{short}");
    assert!(short.contains("dropped by tail: 9991"), "{short}");
    let wrong = example("overload", &["codel", "taget", "5ms"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("\"target\""), "{}", text(&wrong.stderr));
}
