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
fn a_transfer_arrives_whole_with_any_control() {
    for cc in ["reno", "cubic", "bbr"] {
        let said = text(&example("transfer", &[cc]).stdout);
        assert!(said.starts_with(&format!("{cc}: 10000000 bytes in ")), "{said}");
        // The sender repeated the packets that the link dropped.
        assert!(!said.contains(" 0 dropped") && !said.contains(" 0 sent again"), "{said}");
    }
    let wrong = example("transfer", &["cubicc"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("\"cubic\""), "{}", text(&wrong.stderr));
}
