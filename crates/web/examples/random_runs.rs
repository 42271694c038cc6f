//! Random experiments of the simulator's soak, and the native outcome of each: for a test that compares `wasm32`.
//!
//!     cargo run -p sojourn-web --example random_runs -- 100 > runs.jsonl
//!
//! Seeds from 0 on, until the given number have run to their end. Each is a line: its text, and either its mistakes,
//! how far it was after its events, or the digests of its tables.

#![allow(clippy::print_stdout, reason = "it is a program that prints")]

#[path = "../../sim/tests/runs/experiments/draw.rs"]
mod draw;
#[path = "../../sim/tests/runs/experiments/write.rs"]
mod write;

use serde_json::{Value, json};
use sojourn_web::Session;

/// Events that one run is given; a run that needs more is only begun.
const EVENTS: u64 = 300_000;

fn main() {
    let wanted: usize =
        std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("a number of runs to the end");
    let schema = sojourn_language::json_schema();
    let (mut ran, mut session) = (0, Session::default());
    for seed in 0.. {
        if ran == wanted {
            break;
        }
        let text = write::experiment(&schema, seed);
        let (outcome, value) = outcome(&mut session, &text);
        ran += usize::from(outcome == "digests");
        println!("{}", json!({ "seed": seed, "text": text, outcome: value }));
    }
}

/// What becomes of an experiment, under the name of its kind.
fn outcome(session: &mut Session, text: &str) -> (&'static str, Value) {
    let mut ask = |request: Value| session.ask(&request.to_string()).json;
    let steps = [
        json!({ "ask": "check", "text": text }),
        json!({ "ask": "begin", "run": 0 }),
        json!({ "ask": "advance", "events": EVENTS }),
    ];
    let mut said = Value::Null;
    for step in steps {
        said = ask(step);
        if said.get("errors").is_some() {
            return ("errors", said["errors"].take());
        }
    }
    if said["over"] != true {
        return ("passed", said["passed"].take());
    }
    ("digests", ask(json!({ "ask": "finish", "tables": [] }))["digests"].take())
}
