//! The example does what it says.

use std::process::Command;

fn run(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_two-channels")).args(words).output();
    let output = output.expect("it was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

/// A hundred messages of 1000 bytes take 100 ms at 8 Mbit/s: never less.
#[test]
fn the_line_sets_the_pace() {
    let line = run(&["pfifo", "8mbit"]);
    let milliseconds: f64 = line.split(' ').nth(3).unwrap().parse().unwrap();
    assert!(line.starts_with("100000 bytes in ") && milliseconds >= 100.0, "{line}");
}

/// The queue holds ten; one is on the line or leaves at once.
#[test]
fn the_queue_drops_what_exceeds_its_limit() {
    let line = run(&["pfifo limit 10", "8mbit"]);
    let bytes: u32 = line.split(' ').next().unwrap().parse().unwrap();
    assert!((10_000..100_000).contains(&bytes), "{line}");
}
