//! What holds of every run, whatever the scenario.

use crate::bench::{counts, fingerprint, rows_of, run, table, total, try_total};
use crate::scenarios::{Drawn, scenario};
use proptest::prelude::*;
use sojourn_model::{Action, EcnMode, Kind, Scenario, Shaper, Traffic};
use sojourn_results::Run;
use std::collections::BTreeSet;

/// As many as a machine of CI does in some seconds; `PROPTEST_CASES=2000` looks harder.
const CASES: u32 = 400;

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(CASES),
        max_shrink_iters: 400,
        // A failing scenario is printed whole, on one line.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// What is counted of ports: subjects of `totals` that have an `entered`.
pub(crate) fn ports(run: &Run) -> BTreeSet<String> {
    let t = table(run, "totals");
    (0..t.len())
        .filter(|&i| t.text("name").get(i) == "entered")
        .map(|i| t.text("subject").get(i).to_owned())
        .collect()
}

/// Every packet is somewhere: in each port, and of each flow.
pub(crate) fn packets_are_conserved(scenario: &Scenario, run: &Run) {
    let mut held_by_ports = 0.0;
    for port in ports(run) {
        let t = |name| total(run, &port, name);
        assert_eq!(t("entered"), t("left") + t("dropped") + t("held"), "{port}");
        assert_eq!(t("false_marks"), 0.0, "{port} claims marks that are none");
        held_by_ports += t("held");
    }
    let mut held_of_flows = 0.0;
    for flow in &scenario.flows {
        let t = |name| total(run, &flow.name, name);
        // netem's copies are nobody's sending.
        let copied = try_total(run, &flow.name, "packets_copied").unwrap_or(0.0);
        let held = t("packets_sent") + copied - t("packets_arrived") - t("packets_dropped");
        assert!(held >= 0.0, "{} has {held} packets under way", flow.name);
        held_of_flows += held;
        if let Traffic::Udp(_) | Traffic::Voip(_) = flow.traffic {
            let received = t("datagrams_received");
            assert_eq!(t("datagrams_sent") + copied, received + t("packets_dropped") + held);
        }
    }
    assert_eq!(held_of_flows, held_by_ports, "flows miss the packets that ports hold");
}

/// A receiver gets no more than was sent, each byte once, and all of it when the flow says that it has finished.
fn streams_are_whole(scenario: &Scenario, run: &Run) {
    let events = table(run, "events");
    let finished = |name: &str| {
        let subject = format!("flow {name}");
        rows_of_events(run, &subject).any(|i| events.text("detail").get(i) == "finished")
    };
    for flow in &scenario.flows {
        let Traffic::Tcp(tcp) = &flow.traffic else { continue };
        let t = |name| total(run, &flow.name, name);
        let new = t("segments_sent") - t("retransmits");
        assert!(t("delivered_bytes") <= new * 1448.0, "{} got more than was sent", flow.name);
        if let Some(bytes) = tcp.bytes {
            assert!(t("delivered_bytes") <= bytes as f64, "{} got more than there is", flow.name);
            if finished(&flow.name) {
                assert_eq!(t("delivered_bytes"), bytes as f64, "{} has finished", flow.name);
            }
        }
    }
}

fn rows_of_events<'a>(run: &'a Run, subject: &'a str) -> impl Iterator<Item = usize> + 'a {
    let t = table(run, "events");
    (0..t.len()).filter(move |&i| t.text("subject").get(i) == subject)
}

/// Who did not agree to ECN sends Not-ECT, and sees no CE.
pub(crate) fn not_ect_is_never_marked(scenario: &Scenario, run: &Run) {
    for flow in &scenario.flows {
        let (ce, agreed) = match &flow.traffic {
            Traffic::Tcp(tcp) => {
                let agreed = total(run, &flow.name, "ecn_agreed") > 0.0;
                assert!(!(agreed && tcp.ecn == EcnMode::Off), "{} did not ask", flow.name);
                (total(run, &flow.name, "ce_packets"), agreed)
            }
            Traffic::Udp(udp) => (total(run, &flow.name, "ce_packets"), udp.ecn.is_capable()),
            Traffic::Video(video) => (total(run, &flow.name, "ce_packets"), video.ecn.is_capable()),
            Traffic::ShortFlows(short) => {
                (total(run, &flow.name, "ce_packets"), short.tcp.ecn != EcnMode::Off)
            }
            _ => continue,
        };
        assert!(agreed || ce == 0.0, "{} is Not-ECT and got {ce} CE", flow.name);
        if !agreed && let Some(ece) = try_total(run, &flow.name, "ece_acks") {
            assert_eq!(ece, 0.0);
        }
    }
}

/// Rows of every table are in the order of time; a probe's by themselves, since each has its own part.
pub(crate) fn time_never_runs_back(scenario: &Scenario, run: &Run) {
    let end = scenario.duration.as_secs_f64();
    for t in &run.tables {
        if t.schema().index("t_s").is_none() {
            continue;
        }
        let times = t.f64("t_s");
        let in_range = |x: &f64| (-scenario.warmup.as_secs_f64()..=end).contains(x);
        assert!(times.iter().all(in_range), "{}: within the run", t.schema().name);
        // Tables that the flows keep themselves are flow by flow.
        if matches!(t.schema().name, "pings" | "completions" | "segments" | "playback") {
            for flow in &scenario.flows {
                let rows: Vec<f64> = rows_of(t, &flow.name).map(|i| times[i]).collect();
                assert!(rows.is_sorted(), "{} of {}", t.schema().name, flow.name);
            }
        } else {
            assert!(times.is_sorted(), "{}", t.schema().name);
        }
    }
}

/// Short connections give each its length, and take no less than two round trips of light.
pub(crate) fn completions_make_sense(scenario: &Scenario, run: &Run) {
    let t = table(run, "completions");
    let (times, durations, bytes) = (t.f64("t_s"), t.f64("duration_s"), t.u64("bytes"));
    let end = scenario.duration.as_secs_f64();
    for flow in &scenario.flows {
        let Traffic::ShortFlows(_) = &flow.traffic else { continue };
        let done: Vec<usize> = rows_of(t, &flow.name).filter(|&i| !durations[i].is_nan()).collect();
        assert_eq!(done.len() as f64, total(run, &flow.name, "completed"), "{}", flow.name);
        let least: u64 = done.iter().map(|&i| bytes[i]).sum();
        assert!(total(run, &flow.name, "delivered_bytes") >= least as f64, "{}", flow.name);
        assert!(done.iter().all(|&i| durations[i] > 0.0 && times[i] + durations[i] <= end + 1e-9));
    }
}

/// A stream plays what has come, in turn: never more than it has, and its stalls are not longer than the run.
pub(crate) fn streams_play_what_has_come(scenario: &Scenario, run: &Run) {
    let (segments, playback) = (table(run, "segments"), table(run, "playback"));
    for flow in &scenario.flows {
        let Traffic::Streaming(s) = &flow.traffic else { continue };
        let numbers: Vec<u64> =
            rows_of(segments, &flow.name).map(|i| segments.u64("number")[i]).collect();
        assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{}: {numbers:?}", flow.name);
        let buffers = rows_of(segments, &flow.name).map(|i| segments.f64("buffer_s")[i]);
        assert!(buffers.into_iter().all(|b| b <= s.buffer.as_secs_f64() + 1e-9));
        let states: Vec<&str> =
            rows_of(playback, &flow.name).map(|i| playback.text("state").get(i)).collect();
        assert!(states.first().is_none_or(|s| *s == "starting"), "{states:?}");
        let turns = states.windows(2).all(|w| w[0] != w[1] || w[0] == "playing");
        assert!(turns, "{}: {states:?}", flow.name);
        let got = total(run, &flow.name, "delivered_bytes");
        let named: u64 = rows_of(segments, &flow.name).map(|i| segments.u64("bytes")[i]).sum();
        assert!(got >= named as f64, "{}", flow.name);
    }
}

/// Cumulative counters only grow, no value is below its minimum, and means are between least and most.
pub(crate) fn rows_make_sense(scenario: &Scenario, run: &Run) {
    for (name, columns) in [
        ("flows", &["retransmits", "lost", "delivered", "ce", "ece"][..]),
        ("queues", &["sent_packets", "sent_bytes", "marks", "drops"][..]),
    ] {
        for column in columns {
            for subject in table(run, name).text(table(run, name).schema().columns[1].name).names()
            {
                let rows = counts(run, name, column, subject);
                assert!(rows.is_sorted_by_key(|row| row.1), "{column} of {subject} shrinks");
            }
        }
    }
    let flows = table(run, "flows");
    for flow in &scenario.flows {
        if let Traffic::Tcp(tcp) = &flow.traffic {
            // The SCE controls halve a window of one, too, and the newest Prague counts in packets of changing size.
            let small = tcp.cc.contains("-sce") || tcp.cc == "prague";
            let threshold = if small { 1 } else { 2 };
            for i in rows_of(flows, &flow.name) {
                assert!(flows.u64("cwnd")[i] >= 1, "{}: no window", flow.name);
                let stands = flows.u64("ssthresh")[i];
                assert!(stands >= threshold, "{}: a threshold of {stands}", flow.name);
            }
        }
    }
    let q = table(run, "queues");
    for i in 0..q.len() {
        let (least, mean, most) =
            (q.f64("sojourn_min_s")[i], q.f64("sojourn_mean_s")[i], q.f64("sojourn_max_s")[i]);
        // The mean is a quotient of floats, the others are not.
        let order = least <= mean + 1e-12 && mean <= most + 1e-12;
        assert!(order || mean.is_nan(), "{least} {mean} {most}");
    }
}

/// No queue sends more than the fastest rate that it ever had, and its bucket.
fn links_keep_their_rate(scenario: &Scenario, run: &Run) {
    let of = |shaper: Shaper| match shaper {
        Shaper::Htb { rate, ceil, burst } => {
            Some((rate.min(ceil.unwrap_or(rate)), burst.unwrap_or(1600)))
        }
        Shaper::Line { rate } => Some((rate, 0)),
        // A trace's rate is its mean, and in a second it may send many times as much.
        Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => None,
    };
    for (path, queue) in scenario.disciplines() {
        let Some((mut rate, mut burst)) = of(queue.shaper) else { continue };
        let mut known = true;
        for action in scenario.events.iter().flat_map(|e| &e.actions) {
            if action.element() != Some(&path) {
                continue;
            }
            match action {
                Action::Rate { rate: new, .. } => {
                    rate = rate.max(*new);
                    burst += 1600;
                }
                Action::ReplaceQdisc { shaper: Some(shaper), .. } => match of(*shaper) {
                    Some((new, more)) => {
                        rate = rate.max(new);
                        burst += more + 1600;
                    }
                    None => known = false,
                },
                _ => {}
            }
        }
        if !known {
            continue;
        }
        let warmup = scenario.warmup.as_secs_f64();
        for (t, bytes) in counts(run, "queues", "sent_bytes", &path) {
            // A bucket that is not in debt lets a whole packet go.
            let most =
                rate.bits_per_sec() as f64 / 8.0 * (t + warmup) + burst as f64 + 2.0 * 1514.0;
            assert!(bytes as f64 <= most, "{path}: {bytes} bytes by {t} s at {rate}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_run_keeps_the_books(Drawn(scenario) in scenario()) {
        let run = run(&scenario);
        packets_are_conserved(&scenario, &run);
        streams_are_whole(&scenario, &run);
        not_ect_is_never_marked(&scenario, &run);
        completions_make_sense(&scenario, &run);
        streams_play_what_has_come(&scenario, &run);
        time_never_runs_back(&scenario, &run);
        rows_make_sense(&scenario, &run);
        links_keep_their_rate(&scenario, &run);
    }

    /// A run is a function of its scenario; that a flow which never starts is there too changes nothing for
    /// the others.
    #[test]
    fn who_never_starts_changes_nothing(Drawn(scenario) in scenario()) {
        let mut joined = scenario.clone();
        let mut silent = joined.flows[0].clone();
        silent.name = "silent".to_owned();
        silent.start = sojourn_model::Start::Event;
        silent.stop = None;
        silent.traffic = Traffic::Udp(sojourn_model::Udp {
            rate: sojourn_units::Rate::from_mbit(1),
            payload: 100,
            ecn: sojourn_units::Ecn::NotEct,
        });
        joined.flows.push(silent);
        let (alone, with) = (run(&scenario), run(&joined));
        for t in &alone.tables {
            let name = t.schema().name;
            // It may have a delay of its own, which is counted and shown.
            if matches!(name, "totals" | "tc") {
                continue;
            }
            prop_assert_eq!(fingerprint(std::slice::from_ref(t)), fingerprint(std::slice::from_ref(table(&with, name))), "{}", name);
        }
    }

    /// A pfifo with room and a path with one delay lose nothing and reorder nothing, so nobody believes in a
    /// loss. (Nobody but the timers, which a queue outruns that grows faster than the estimate of the RTT.)
    #[test]
    fn nothing_is_sent_twice_where_nothing_is_lost_or_overtaken(Drawn(mut scenario) in scenario()) {
        scenario.events.clear();
        for hop in &mut scenario.hops {
            for element in hop.down.iter_mut().chain(&mut hop.up) {
                match &mut element.kind {
                    Kind::Netem(netem) => {
                        let delay = netem.chain[0].split_whitespace().nth(1).expect("a delay");
                        netem.chain = vec![format!("delay {delay} limit 1000000")];
                    }
                    Kind::Queue(queue) => {
                        queue.qdisc = "pfifo limit 1000000".into();
                        if let Shaper::Own { .. } = queue.shaper {
                            queue.shaper = Shaper::Line { rate: sojourn_units::Rate::from_mbit(20) };
                        }
                    }
                    _ => {}
                }
            }
        }
        let run = run(&scenario);
        for port in ports(&run) {
            prop_assert_eq!(total(&run, &port, "dropped"), 0.0);
        }
        for flow in &scenario.flows {
            let Traffic::Tcp(_) = flow.traffic else { continue };
            let t = |name| total(&run, &flow.name, name);
            if t("timeouts") == 0.0 {
                prop_assert_eq!(t("recoveries"), 0.0, "{} believes in a loss", flow.name);
                prop_assert!(t("retransmits") <= t("probes"), "{} repeats itself", flow.name);
            }
        }
    }
}
