//! Experiments at the edges of what can be said, that once failed: each runs to its end.

use crate::bench::{run, total};
use sojourn_language::Experiment;
use sojourn_model::Scenario;
use sojourn_vocabulary::Words;

fn scenario(hop: &str, flow: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"edge\"\nduration = \"300ms\"\nping = false\n\n[[hop]]\nname = \"b\"\n{hop}\n\n[[flow]]\nname = \"f\"\n{flow}\n"
    );
    let plan = Experiment::parse("edge.toml", &text).and_then(|e| e.plan(&Words::default(), 1));
    plan.unwrap_or_else(|e| panic!("{e}")).scenarios().next().expect("a run")
}

/// BBR's product of rate, RTT and gain is beyond 64 bits where an RTT of nothing makes the rate huge.
#[test]
fn bbr_without_a_delay_and_with_a_large_window() {
    let hop = "rate = \"10gbit\"\nqdisc = \"pfifo limit 20000\"";
    let flow = "cc = \"bbr\"\ninitial_window = 10000\nbytes = \"20mb\"";
    let scenario = scenario(hop, flow);
    assert!(total(&run(&scenario), "f", "delivered_bytes") > 1e6);
}

/// Segments of 60 kB take lfq_cobalt's deficit further down than a pass gives back.
#[test]
fn lfq_cobalt_with_datagrams_of_60_kb() {
    let hop = "rate = \"100mbit\"\nrtt = \"1ms\"\nshaper = \"own\"\nqdisc = \"lfq_cobalt bandwidth 100mbit\"";
    let scenario = scenario(hop, "udp = { rate = \"200mbit\", payload = 60000 }");
    let run = run(&scenario);
    assert!(total(&run, "f", "datagrams_received") > 40.0);
}
