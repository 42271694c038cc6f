//! LEDBAT++ in whole runs, compared with the promises of its draft: a queue at the target, a full link, way for others,
//! the empty path for a latecomer. The tail-drop queue is four times as deep as the target.

use crate::bench::{QUEUE, buckets, count_at, counts, mean_of, rows_of, run, table};
use sojourn_model::{At, Scenario, Start};
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::Span;

/// Flows at 50 Mbit/s before a queue of 240 ms.
fn bed(ccs: &[&str], seconds: u64) -> Scenario {
    Dumbbell {
        ccs: ccs.iter().map(|&cc| cc.to_owned()).collect(),
        qdisc: "pfifo limit 1000".to_owned(),
        duration: Span::from_secs(seconds),
        ..Dumbbell::default()
    }
    .scenario()
}

/// Payload in Mbit/s over the last minute.
fn goodput(run: &Run, flow: &str, end: f64) -> f64 {
    let delivered = counts(run, "flows", "delivered", flow);
    let segments = count_at(&delivered, end) - count_at(&delivered, end - 60.0);
    segments as f64 * 1448.0 * 8.0 / 60.0 / 1e6
}

/// Lowest round trips that a flow knew of, in seconds, one a step.
fn bases(run: &Run, flow: &str) -> Vec<f64> {
    let state = table(run, "flow_state");
    let (names, values) = (state.text("name"), state.f64("value"));
    rows_of(state, flow).filter(|&i| names.get(i) == "base_rtt").map(|i| values[i]).collect()
}

/// Alone: the target is where it stops growing, and its queue, which a slowdown empties at intervals, is no more. A slowdown
/// costs no more than a tenth (§4.4).
#[test]
fn alone_it_keeps_its_queue_and_the_link() {
    let r = run(&bed(&["ledbat++"], 120));
    let (rate, queue) = (goodput(&r, "ledbat++-1", 120.0), mean_of(&buckets(&r, QUEUE, "sojourn")));
    assert!(rate > 0.9 * 47.8, "{rate} Mbit/s");
    assert!((0.01..0.06).contains(&queue), "{queue} s");
}

/// CUBIC fills more than the target: it has nearly all.
#[test]
fn it_gives_way_to_cubic() {
    let r = run(&bed(&["cubic", "ledbat++"], 120));
    let (cubic, ledbat) = (goodput(&r, "cubic-1", 120.0), goodput(&r, "ledbat++-2", 120.0));
    assert!(ledbat < 0.05 * cubic, "{ledbat} against {cubic} Mbit/s");
}

/// The latecomer meets the first one's queue, takes it for the path's delay, and fills the queue up to its own target beyond
/// that. This drives the first one down, and the latecomer's first slowdown shows the empty path to both (§4.4).
/// Slowdowns promise that, but not equal rates.
#[test]
fn a_latecomer_comes_to_see_the_empty_path() {
    let mut s = bed(&["ledbat++", "ledbat++"], 300);
    s.flows[1].start = Start::At(At::after_origin(Span::from_secs(60)));
    let r = run(&s);
    let [first, late] = ["ledbat++-1", "ledbat++-2"].map(|flow| bases(&r, flow));
    assert!(late[0] > 0.06, "{} s", late[0]);
    for base in [first, late] {
        let last = base.last().expect("it has run");
        assert!((0.020..0.021).contains(last), "{last} s");
    }
}
