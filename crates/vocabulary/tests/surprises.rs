//! Legal and surprising: each rule of the language, with the words of the engines.

use sojourn_language::{Experiment, MOST_RUNS, Plan};
use sojourn_model::{Action, Kind, ReceiveWindow, Traffic};
use sojourn_vocabulary::Words;

fn file(hop: &str, flow: &str) -> String {
    format!(
        "[experiment]\nname = \"s\"\nduration = \"10s\"\n\n[[hop]]\nname = \"b\"\n{hop}\n\n[[flow]]\nname = \"f\"\n{flow}\n"
    )
}

fn plan(text: &str) -> Plan {
    let experiment = Experiment::parse("s.toml", text).unwrap_or_else(|e| panic!("{e}"));
    experiment.plan(&Words::default(), MOST_RUNS).unwrap_or_else(|e| panic!("{e}"))
}

const LINE: &str = "rate = \"50mbit\"\nrtt = \"20ms\"\n";

fn warned(hop: &str, flow: &str) -> Vec<(String, String)> {
    let found = plan(&file(hop, flow));
    found
        .warnings()
        .iter()
        .map(|w| {
            let d = &w.diagnostic;
            let from: usize = d.column - 1;
            let part: String = d.excerpt.chars().skip(from).take(d.span.len()).collect();
            assert_eq!(d.file, "s.toml");
            (part, d.message.clone())
        })
        .collect()
}

#[test]
fn what_is_usual_is_not_warned_of() {
    for qdisc in [
        "fq_codel target 5ms",
        "pfifo limit 50",
        "pie",
        "dualpi2",
        "red limit 100000 avpkt 1000 bandwidth 50mbit",
    ] {
        assert_eq!(warned(&format!("{LINE}qdisc = \"{qdisc}\""), "cc = \"prague\""), [], "{qdisc}");
    }
    let own =
        "rtt = \"20ms\"\nrate = \"50mbit\"\nshaper = \"own\"\nqdisc = \"cake bandwidth 50mbit\"";
    assert_eq!(warned(own, ""), []);
    // A router in front of a modem: a shaper a little below the line's rate, which knows how the line frames packets.
    let router = format!("{LINE}qdisc = \"cake bandwidth 47500kbit docsis\"");
    assert_eq!(warned(&router, ""), []);
    assert_eq!(warned(&format!("{LINE}qdisc = \"pfifo\""), "receive_window = \"1mb\""), []);
    assert_eq!(warned("rate = \"1mbit\"\nqdisc = \"pfifo\"\nnetem = \"delay 1ms\"", ""), []);
    assert_eq!(warned("rate = \"1mbit\"\nqdisc = \"pfifo\"", "rtt = \"5ms\""), []);
}

#[test]
fn each_rule_says_what_is_there_and_where() {
    for (hop, flow, part, said) in [
        (
            format!("{LINE}qdisc = \"codel target 5\""),
            "",
            "5",
            "5 is 5us: tc takes a bare number for microseconds",
        ),
        (format!("{LINE}qdisc = \"pfifo\"\nnetem = \"delay 10\""), "", "10", "10 is 10us"),
        (format!("{LINE}down = {{ qdisc = \"pie target 20\" }}"), "", "20", "20 is 20us"),
        (
            format!("{LINE}shaper = \"own\"\nqdisc = \"cake bandwidth 50000000\""),
            "",
            "50000000",
            "50000000 bit/s",
        ),
        (
            format!("{LINE}shaper = \"own\"\nqdisc = \"cake bandwidth 6250kbps\""),
            "",
            "6250kbps",
            "6250kbps is 50Mbit",
        ),
        (
            format!("{LINE}qdisc = \"cake bandwidth 60mbit\""),
            "",
            "bandwidth 60mbit",
            "two shapers limit this hop: one at 50Mbit",
        ),
        (
            format!("{LINE}qdisc = \"cake bandwidth 50mbit\""),
            "",
            "bandwidth 50mbit",
            "two shapers limit this hop: one at 50Mbit",
        ),
        (
            format!("{LINE}qdisc = \"cake overhead 44 atm\""),
            "",
            "overhead",
            "overhead does nothing here",
        ),
        (
            "rtt = \"20ms\"\ndown = { rate = \"50mbit\", qdisc = \"cake\" }\nup = { rate = \"5mbit\", qdisc = \"cake docsis\" }".to_owned(),
            "",
            "docsis",
            "docsis does nothing here",
        ),
        (
            format!("{LINE}shaper = \"own\"\nqdisc = \"fq_codel\""),
            "",
            "\"50mbit\"",
            "nothing limits this hop to 50Mbit",
        ),
        (
            format!("{LINE}shaper = \"own\"\nqdisc = \"cake bandwidth 40mbit\""),
            "",
            "\"50mbit\"",
            "the discipline's words say 40mbit, and this rate is 50Mbit: the words decide",
        ),
        (
            format!("{LINE}qdisc = \"pfifo\""),
            "cc = \"prague\"\necn = \"off\"",
            "\"off\"",
            "prague without ECN",
        ),
        (
            "rate = \"1mbit\"\nrtt = \"0\"\nqdisc = \"pfifo\"".to_owned(),
            "",
            "\"0\"",
            "the base RTT here is 0",
        ),
        ("rate = \"1mbit\"\nqdisc = \"pfifo\"".to_owned(), "", "\"b\"", "the base RTT here is 0"),
        (format!("{LINE}qdisc = \"pfifo\""), "rtt = \"0ms\"", "\"0ms\"", "the base RTT here is 0"),
        (
            format!("{LINE}qdisc = \"pfifo\""),
            "receive_window = \"64k\"",
            "\"64k\"",
            "a receive window of 65536 bytes is less than the BDP of 125000 bytes",
        ),
    ] {
        let found = warned(&hop, flow);
        assert_eq!(found.len(), 1, "{hop} {flow}: {found:?}");
        assert_eq!(found[0].0, part, "{hop} {flow}");
        assert!(found[0].1.contains(said), "{hop} {flow}: {}", found[0].1);
    }
}

#[test]
fn a_warning_names_the_combinations_that_have_it() {
    let axis = "[axis.queue]\n\"a\" = { hop.b.qdisc = \"codel target 5\" }\n\"b\" = { hop.b.qdisc = \"codel\" }\n";
    let text = format!("{}\n{axis}", file(LINE, ""));
    let plan = plan(&text);
    let [warning] = plan.warnings() else { panic!("{:?}", plan.warnings()) };
    assert_eq!(warning.cells, [0]);
    assert_eq!(plan.cells().iter().map(|(_, seeds)| seeds.len()).collect::<Vec<_>>(), [1, 1]);
}

fn words_of(hop: &str) -> String {
    let plan = plan(&file(hop, ""));
    let scenario = plan.scenarios().next().expect("a run");
    let queue = scenario.hops[0].down.iter().find_map(|e| match &e.kind {
        Kind::Queue(queue) => Some(queue.qdisc.clone()),
        _ => None,
    });
    queue.expect("a queue").to_string()
}

#[test]
fn multiples_of_the_bdp_are_packets_or_bytes_as_the_option_has_it() {
    for (qdisc, said) in [
        ("pfifo limit 1bdp", "pfifo limit 83"),
        ("bfifo limit 0.5bdp", "bfifo limit 62500b"),
        ("fq_codel limit 2bdp memory_limit 4bdp", "fq_codel limit 165 memory_limit 500000b"),
        ("PFIFO limit 0.001BDP", "pfifo limit 1"),
    ] {
        assert_eq!(words_of(&format!("{LINE}qdisc = \"{qdisc}\"")), said);
    }
    // Each side has its own rate.
    let sides = "rtt = \"20ms\"\nqdisc = \"pfifo limit 1bdp\"\ndown = { rate = \"100mbit\" }\nup = { rate = \"10mbit\" }";
    assert_eq!(words_of(sides), "pfifo limit 165");
}

#[test]
fn a_bdp_that_is_not_known_is_pointed_at() {
    for (hop, said, mark) in [
        ("rate = \"50mbit\"\nqdisc = \"pfifo limit 1bdp\"", "is not known here", "^^^^"),
        (
            "rate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"codel target 1bdp\"",
            "here stands neither",
            "^^^^",
        ),
        ("rate = \"50mbit\"\nburst = \"1bdp\"\nqdisc = \"pfifo\"", "is not known here", "^^^^^^"),
    ] {
        let experiment = Experiment::parse("s.toml", &file(hop, "rtt = \"5ms\"")).expect("TOML");
        let errors = experiment.plan(&Words::default(), MOST_RUNS).expect_err(hop).to_string();
        assert!(errors.contains(said) && errors.contains(mark), "{hop}:\n{errors}");
    }
    let wrong = |hop: &str, flow: &str, more: &str| {
        let text = file(hop, flow) + more;
        let experiment = Experiment::parse("s.toml", &text).expect("TOML");
        experiment.plan(&Words::default(), MOST_RUNS).expect_err(&text).to_string()
    };
    let line = format!("{LINE}qdisc = \"pfifo\"");
    for (hop, flow, said, mark) in [
        (
            "rate = \"50mbit\"\nqdisc = \"pfifo\"",
            "bytes = \"2bdp\"",
            "a flow with hops that have a rate and an rtt",
            "^^^^",
        ),
        (&line, "bytes = \"1000000000000bdp\"", "bytes has at most 1125899906842624", "^^^^"),
        (
            &line,
            "short_flows = { mean_interval = \"1s\", length_p5 = \"1bdp\" }",
            "of a hop",
            "^^^^",
        ),
    ] {
        let errors = wrong(hop, flow, "");
        assert!(errors.contains(said) && errors.contains(mark), "{flow}:\n{errors}");
    }
    let event =
        |what: &str| format!("\n\n[[event]]\nname = \"e\"\nat = \"1s\"\nhop = \"b\"\n{what}\n");
    for (hop, what, said) in [
        (
            "rate = \"50mbit\"\nqdisc = \"pfifo\"",
            "change = \"pfifo limit 1bdp\"",
            "is not known here",
        ),
        (&line, "replace = \"codel target 1bdp\"", "here stands neither"),
    ] {
        let errors = wrong(hop, "", &event(what));
        assert!(errors.contains(said) && errors.contains("^^^^"), "{what}:\n{errors}");
    }
}

#[test]
fn multiples_of_the_bdp_in_events_are_of_the_hop_as_it_is_then() {
    let words = |what: &str| {
        let hop = format!("{LINE}qdisc = \"pfifo\"");
        let event = format!(
            "\n\n[[event]]\nname = \"e\"\nat = \"1s\"\nhop = \"b\"\nside = \"down\"\n{what}\n"
        );
        let scenario = plan(&(file(&hop, "") + &event)).scenarios().next().expect("a run");
        let said = scenario.events[0].actions.iter().find_map(|action| match action {
            Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } => {
                Some(qdisc.to_string())
            }
            Action::ChangeNetem { chain, .. } => Some(chain.join(" | ")),
            _ => None,
        });
        said.expect("words")
    };
    // 50 Mbit/s and 20 ms are 125 000 bytes, 82.56 frames.
    assert_eq!(words("change = \"pfifo limit 0.2bdp\""), "pfifo limit 17");
    assert_eq!(words("replace = \"bfifo limit 1bdp\""), "bfifo limit 125000b");
    assert_eq!(words("netem = [\"delay 1ms limit 2bdp\"]"), "delay 1ms limit 165");
    // What the event itself sets counts.
    assert_eq!(words("rate = \"5mbit\"\nchange = \"pfifo limit 2bdp\""), "pfifo limit 17");
    assert_eq!(words("rtt = \"40ms\"\nchange = \"pfifo limit 1bdp\""), "pfifo limit 165");
}

#[test]
fn multiples_of_the_bdp_of_a_flow_are_of_its_path() {
    let tcp = |hop: &str, flow: &str| {
        let scenario = plan(&file(hop, flow)).scenarios().next().expect("a run");
        scenario.flows[0].traffic.tcp().expect("TCP").clone()
    };
    let line = format!("{LINE}qdisc = \"pfifo\"");
    assert_eq!(tcp(&line, "bytes = \"2bdp\"").bytes, Some(250_000));
    // Of its own RTT, and of the slower side that its data goes.
    assert_eq!(tcp(&line, "rtt = \"40ms\"\nbytes = \"2bdp\"").bytes, Some(500_000));
    let sides = "rtt = \"20ms\"\nqdisc = \"pfifo\"\ndown = { rate = \"100mbit\" }\nup = { rate = \"10mbit\" }";
    assert_eq!(tcp(sides, "direction = \"up\"\nbytes = \"1BDP\"").bytes, Some(25_000));
    let window = tcp(&line, "receive_window = \"4bdp\"").receive_window;
    assert_eq!(window, ReceiveWindow::Fixed(500_000));
}

#[test]
fn capitals_do_not_matter_in_names() {
    let plan = plan(&file(
        &format!("{LINE}stack = \"Linux-5.4\"\nqdisc = \"FQ_CoDel flows 1\""),
        "cc = \"BBR\"",
    ));
    let scenario = plan.scenarios().next().expect("a run");
    assert_eq!(scenario.hops[0].stack, "linux-5.4");
    assert_eq!(words_of(&format!("{LINE}qdisc = \"FQ_CoDel flows 1\"")), "fq_codel flows 1");
    let Traffic::Tcp(tcp) = &scenario.flows[0].traffic else { panic!("{:?}", scenario.flows[0]) };
    assert_eq!(tcp.cc, "bbr");
    let text = file(&format!("{LINE}qdisc = \"FQ_CODEL targt 1ms\""), "cc = \"BBRR\"");
    let errors =
        Experiment::parse("s.toml", &text).expect("TOML").plan(&Words::default(), MOST_RUNS);
    let errors = errors.expect_err("wrong").to_string();
    assert!(
        errors.contains("did you mean \"target\"?") && errors.contains("did you mean \"bbr"),
        "{errors}"
    );
}
