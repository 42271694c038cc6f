//! Experiments at the edges of the language that once failed: each runs to its end.

use crate::bench::{run, total};
use sojourn_engine::Engine as _;
use sojourn_language::Experiment;
use sojourn_model::Scenario;
use sojourn_sim::Sim;
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

/// A path without a rate delivers gigabytes in a round trip: the receive buffer's tuning multiplied that by itself.
#[test]
fn a_path_without_a_rate() {
    for stack in ["linux-7.3", "linux-5.4"] {
        let hop = "qdisc = \"cnq_codel_af\"\nrate = \"1mbit\"\nshaper = \"own\"\nrtt = \"3ms\"";
        let mut scenario =
            scenario(hop, &format!("stack = \"{stack}\"\ncc = \"dctcp\"\ndirection = \"up\""));
        scenario.duration = sojourn_units::Span::from_millis(20);
        let mut begun = Sim::new().begin(&scenario, None).expect("it begins");
        let end = begun.end();
        // Whether it comes to its end within this number of events does not matter.
        begun.advance(end, 3_000_000).expect("nothing overflows");
    }
}

/// Frames of a stream of 10 Tbit/s: their mean is foreseen, too.
#[test]
fn a_video_with_frames_of_gigabytes() {
    let hop = "qdisc = \"fq\"\nrate = \"1mbit\"\nrtt = \"3ms\"";
    let scenario = scenario(
        hop,
        "video = { adapt = true, max_rate = \"2mbit\", rate = \"10000000000000bit\" }",
    );
    assert!(Sim::new().foresee(&scenario).is_some());
}

/// The errors of a file with this hop, an element of it, and its events.
fn refused(hop: &str, events: &str) -> String {
    let text = format!(
        "[experiment]\nname = \"edge\"\nduration = \"1s\"\n\n[[hop]]\nname = \"b\"\nrate = \"1mbit\"\nrtt = \"3ms\"\n{hop}\n\n[[flow]]\nname = \"f\"\n{events}\n"
    );
    let plan = Experiment::parse("edge.toml", &text).and_then(|e| e.plan(&Words::default(), 1));
    match plan {
        Err(wrong) => wrong.to_string(),
        Ok(plan) => {
            let scenario = plan.scenarios().next().expect("a run");
            Sim::new().refuse(&scenario).iter().map(ToString::to_string).collect()
        }
    }
}

/// An option that cannot be changed is found behind its child's name, too, and not where a parent has one of that name.
#[test]
fn what_cannot_be_changed_of_a_child() {
    let hop = "qdisc = \"htb rate 1mbit fq_codel flows 2 limit 7\"\nshaper = \"own\"";
    let change = |words: &str| {
        refused(
            hop,
            &format!("[[event]]\nname = \"e\"\nat = \"100ms\"\nhop = \"b\"\nchange = \"{words}\""),
        )
    };
    let wrong = change("htb rate 1mbit fq_codel flows 2 limit 7");
    assert!(wrong.contains("\"flows\" cannot be changed while the queue runs"), "{wrong}");
    assert!(wrong.contains("replace the fq_codel instead"), "{wrong}");
    assert_eq!(change("htb rate 1mbit fq_codel limit 7"), "");
}

/// `reorder` needs a delay: an event that takes it away is refused before the run, whatever the order of the events in
/// the file, and only if it comes while those words are there.
#[test]
fn a_delay_of_zero_next_to_reordering() {
    let event = |at: &str, what: &str| {
        let name = at.split_whitespace().next().unwrap_or("");
        format!("[[event]]\nname = \"e{name}\"\nat = \"{at}\"\nhop = \"b\"\n{what}\n")
    };
    let words = "netem = [\"delay 1ms reorder 50%\"]";
    let wrong =
        refused("qdisc = \"pfifo\"", &(event("300ms", "rtt = \"0us\"") + &event("200ms", words)));
    assert!(
        wrong.contains("event e300ms") && wrong.contains("\"reorder\" needs a delay"),
        "{wrong}"
    );
    assert_eq!(
        refused("qdisc = \"pfifo\"", &(event("100ms", "rtt = \"0us\"") + &event("200ms", words))),
        ""
    );
    let after = event("250ms", "netem = [\"delay 2ms\"]");
    assert_eq!(
        refused(
            "qdisc = \"pfifo\"",
            &(event("300ms", "rtt = \"0us\"") + &event("200ms", words) + &after)
        ),
        ""
    );
    // When an event that waits comes nobody knows.
    let waits = event("flow f ends", words);
    assert_eq!(refused("qdisc = \"pfifo\"", &(event("300ms", "rtt = \"0us\"") + &waits)), "");
}

/// A check that asks for a number which its controller does not have is wrong before the run, at its place.
#[test]
fn a_number_that_no_controller_has() {
    let wrong = |that: &str, cc: &str, more: &str| {
        let check = format!("cc = \"{cc}\"\n{more}\n[[check]]\nthat = \"{that}\"");
        refused("qdisc = \"dualpi2\"", &check)
    };
    let told = wrong("mean(state.alpah, f) < 1", "dctcp", "");
    assert!(told.contains("f has no number of its own called \"alpah\""), "{told}");
    assert!(told.contains("did you mean \"state.alpha\"?"), "{told}");
    assert!(told.contains("^^^^^^^^^^^"), "{told}");
    let told = wrong("max(state.alpha, b.down.qdisc) < 1", "cubic", "");
    assert!(told.contains("b.down.qdisc has no number of its own"), "{told}");
    assert!(wrong("mean(state.alpha, f) < 1", "reno", "").contains("it has none at all"));
    for (that, cc, more) in [
        ("mean(state.alpha, f) < 1", "dctcp", ""),
        ("max(state.prob_c, b.down.qdisc) < 1", "cubic", ""),
        ("max(state.hystart_phase, f) < 3", "reno", "slow_start = \"hystart++\""),
        // What replaces a queue brings numbers of its own.
        (
            "max(state.prob, b.down.qdisc) < 1",
            "reno",
            "[[event]]\nname = \"e\"\nat = \"1s\"\nhop = \"b\"\nreplace = \"pie\"",
        ),
    ] {
        let told = wrong(that, cc, more);
        assert!(!told.contains("no number of its own"), "{that}: {told}");
    }
}
