//! How long packets take at a rate, both in tc's words.
//!
//! ```text
//! cargo run -p sojourn-units --example airtime -- 50mbit 1514b
//! ```

#![expect(clippy::print_stdout, reason = "it prints its result")]
#![expect(clippy::print_stderr, reason = "and what is wrong")]

use sojourn_units::{Serializer, Time, parse_rate, parse_size};
use std::process::ExitCode;

const PACKETS: u64 = 1_000_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (rate, size) = match &words[..] {
        [] => ("50mbit", "1514b"),
        [rate, size] => (rate.as_str(), size.as_str()),
        _ => {
            eprintln!("write a rate and a size, as in: airtime 50mbit 1514b");
            return ExitCode::from(2);
        }
    };
    match airtime(rate, size) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn airtime(rate: &str, size: &str) -> Result<String, String> {
    let rate = parse_rate(rate).map_err(|e| e.to_string())?;
    let size = parse_size(size).map_err(|e| e.to_string())?;
    // The remainder of a division is carried, so that the last packet ends where the rate says.
    let mut line = Serializer::new(rate);
    let first = line.finish(Time::ZERO, size);
    let last = (1..PACKETS).fold(first, |at, _| line.finish(at, size));
    let (first, last) = (first.since(Time::ZERO), last.since(Time::ZERO));
    Ok(format!("{size} bytes at {rate}: {first} for one packet, {last} for {PACKETS}"))
}
