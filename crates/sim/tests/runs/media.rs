//! Calls with a rate that follows the path, compared with calculations by hand and with their control's promises. The
//! round trip is 20 ms by default.

use crate::bench::{counts, run, series, table, total};
use sojourn_language::{Experiment, MOST_RUNS};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::Sim;
use sojourn_vocabulary::Words;

/// A run of 60 s of these words over a hop that has these keys.
fn call(words: &str, hop: &str, more: &str) -> Run {
    let sim = Sim::new();
    let known = Words::new(sim.qdiscs().clone()).with_apps(sim.apps().words());
    let text = format!(
        "[experiment]\nname = \"media\"\nduration = \"60s\"\nping = false\n\n[[hop]]\nname = \"line\"\nrtt = \"20ms\"\n\
         shaper = \"line\"\n{hop}\n\n[[flow]]\nname = \"a\"\napp = \"media {words}\"\n\n{more}"
    );
    let plan = Experiment::parse("media.toml", &text)
        .and_then(|experiment| experiment.plan(&known, MOST_RUNS))
        .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    run(&plan.scenarios().next().expect("there is one"))
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    expression.evaluate(&Frame::new(run)).unwrap_or_else(|e| panic!("{e}")).value.number
}

/// A gauge of the flow over time.
fn gauge(run: &Run, name: &str) -> Vec<(f64, f64)> {
    let state = table(run, "flow_state");
    let (at, value) = (state.f64("t_s"), state.f64("value"));
    let is_it = |i: &usize| state.text("name").get(*i) == name && state.text("flow").get(*i) == "a";
    (0..state.len()).filter(is_it).map(|i| (at[i], value[i])).collect()
}

const WIDE: &str = "rate = \"100mbit\"\nqdisc = \"pfifo limit 1000\"";

/// On a wide path the target gets to its highest and the call has that rate. A frame of 1.5 Mbit/s at 25 a second is 7500 bytes, 8
/// packets of 937 or 938. Pacing at the highest target is six times it: from the first packet to the last are 7 · 938 · 8 / 9 Mbit/s,
/// 5.8 ms; 10 ms of the path, 78 µs of the line. The least of a frame's delays is that, and nearly all are.
#[test]
fn a_call_on_a_wide_path_has_its_highest_rate() {
    let run = call("max 1500kbit fps 25 size_noise 0 interval_noise 0", WIDE, "");
    let rate = value(&run, "goodput(a)");
    assert!((rate / 1.5e6 - 1.0).abs() < 0.01, "{rate}");
    let delay = value(&run, "median(completion_time, a)");
    assert!((0.015_8..0.016_0).contains(&delay), "{delay}");
    assert_eq!(total(&run, "a", "frames_encoded"), 1_500.0);
    assert!(total(&run, "a", "frames_complete") >= 1_499.0);
    assert_eq!(value(&run, "loss_rate(a)"), 0.0);
}

/// A report of 32 packets is 16 + 64 + 4 bytes of RTCP. At 30 frames a second there is one with each frame, and no other: the next
/// frame is there before 40 ms have passed. The first ones are shorter; at the first targets, a frame's packets can be 40 ms apart.
#[test]
fn reports_have_their_length_on_the_wire() {
    let run = call("max 1500kbit fps 30 size_noise 0 interval_noise 0", WIDE, "");
    let (reports, bytes) = (total(&run, "a", "reports_sent"), total(&run, "a", "report_bytes"));
    assert!((83.0..=84.0).contains(&(bytes / reports)), "{bytes} in {reports}");
    assert!((1_798.0..=1_805.0).contains(&reports), "{reports}");
}

/// Half of what the call could use: it fits, without losses and with a queue below the target of 60 ms, and the target is always
/// within its bounds.
#[test]
fn a_call_fits_a_narrow_path() {
    let narrow = "rate = \"750kbit\"\nqdisc = \"pfifo limit 100\"";
    let run = call("ecn off max 1500kbit", narrow, "");
    let rate = value(&run, "goodput(a)");
    assert!((0.35e6..0.75e6).contains(&rate), "{rate}");
    let sojourn = value(&run, "mean(sojourn, line.down.qdisc)");
    assert!(sojourn < 0.060, "{sojourn}");
    assert_eq!(total(&run, "a", "packets_lost"), 0.0);
    for (at, target) in gauge(&run, "target_bitrate") {
        assert!((150e3..=1.5e6).contains(&target), "{target} at {at} s");
    }
}

/// In DualPI2's L queue a call with L4S has marks and no losses, waits for a few milliseconds, and uses most of the link.
#[test]
fn a_call_with_l4s_waits_little_in_dualpi2() {
    let run = call("max 20mbit", "rate = \"10mbit\"\nqdisc = \"dualpi2\"", "");
    let (rate, wait) = (value(&run, "goodput(a)"), value(&run, "p99(sojourn.l, line.down.qdisc)"));
    assert!(rate > 5e6, "{rate}");
    assert!(wait < 0.010, "{wait}");
    assert!(total(&run, "a", "ce_packets") > 0.0);
    assert_eq!(total(&run, "a", "packets_lost"), 0.0);
    let alpha: Vec<f64> = gauge(&run, "l4s_alpha").iter().map(|row| row.1).collect();
    assert!(
        alpha.iter().all(|alpha| (0.0..=1.0).contains(alpha))
            && alpha.iter().any(|&alpha| alpha > 0.0)
    );
}

/// Five seconds in which no report comes back. Packets leave each half second once the window is full; afterwards the call is
/// as before.
#[test]
fn a_call_outlives_a_silence_of_its_reports() {
    let silence = "[[event]]\nname = \"silent\"\nat = \"20s\"\nhop = \"line\"\nside = \"up\"\nnetem = \"loss 100%\"\n\n\
                   [[event]]\nname = \"again\"\nat = \"25s\"\nhop = \"line\"\nside = \"up\"\nnetem = \"loss 0%\"\n";
    let run = call("max 1500kbit discard 500ms", WIDE, silence);
    let delivered = |from: f64, to: f64| {
        let rows = counts(&run, "flows", "delivered", "a");
        let at =
            |time: f64| rows.iter().take_while(|row| row.0 <= time).last().map_or(0, |row| row.1);
        at(to) - at(from)
    };
    // None is known to have come in between; in the end all is as before.
    assert!(delivered(20.2, 25.0) == 0);
    let (before, after) = (value(&run, "goodput(a) from 10s to 20s"), value(&run, "goodput(a)"));
    assert!((after / before - 1.0).abs() < 0.02, "{before} before, {after} after");
    assert!(total(&run, "a", "frames_discarded") > 0.0);
    let unfinished = value(&run, "unfinished(a) over all");
    assert!(unfinished >= total(&run, "a", "frames_discarded"), "{unfinished}");
}

/// An uplink is the same the other way round.
#[test]
fn a_call_goes_up_as_it_goes_down() {
    let up = call("max 1500kbit fps 25 size_noise 0\"\ndirection = \"up", WIDE, "");
    let rate = value(&up, "goodput(a)");
    assert!((rate / 1.5e6 - 1.0).abs() < 0.01, "{rate}");
    assert!(series(&up, "flows", "srtt_s", "a").iter().skip(10).all(|row| row.1 > 0.020));
}

/// UDP Prague in DualPI2: most of the link, some marks, no losses, and little to wait for. At 100 Mbit/s it gets to its highest rate,
/// and the encoder has its budget of that.
#[test]
fn a_call_under_udp_prague_waits_little_in_dualpi2() {
    let run = call(
        "control prague max 50mbit report_every 1",
        "rate = \"10mbit\"\nqdisc = \"dualpi2\"",
        "",
    );
    let (rate, wait) = (value(&run, "goodput(a)"), value(&run, "p99(sojourn.l, line.down.qdisc)"));
    assert!((5e6..8e6).contains(&rate), "{rate}");
    assert!(wait < 0.010, "{wait}");
    assert!(total(&run, "a", "ce_packets") > 0.0);
    assert_eq!(total(&run, "a", "packets_lost"), 0.0);
    let run = call("control prague max 5mbit budget 90%", WIDE, "");
    let rate = value(&run, "goodput(a)");
    assert!((rate / 4.5e6 - 1.0).abs() < 0.02, "{rate}");
}

/// GCC on 2 Mbit/s with a second of buffer: it begins with 300 kbit/s, grows by 8 % a second, and then keeps near the
/// rate with a wait far below the buffer. Its packets are Not-ECT, and none is marked.
#[test]
fn a_call_under_gcc_fills_a_link_and_waits_little() {
    for (noise, least) in [("", 1.2e6), (" size_noise 0 interval_noise 0", 1.6e6)] {
        let words = format!("control gcc min 300kbit max 5mbit{noise}");
        let run = call(&words, "rate = \"2mbit\"\nqdisc = \"pfifo limit 250\"", "");
        let rate = value(&run, "goodput(a) over last 20s");
        let wait = value(&run, "p95(sojourn, line.down.qdisc)");
        assert!((least..2e6).contains(&rate), "{rate}");
        assert!(wait < 0.2, "{wait}");
        assert_eq!(total(&run, "a", "ce_packets"), 0.0);
    }
}

/// An encoder that never has more than 784 kbit/s on 100 Mbit/s: the estimate stays below 1.5 times what arrives and
/// 10 kbit/s (pion/interceptor, issue 299).
#[test]
fn gcc_does_not_estimate_beyond_what_the_application_sends() {
    let run = call("control gcc min 300kbit max 784kbit size_noise 0", WIDE, "");
    let most = |name| gauge(&run, name).into_iter().map(|row| row.1).fold(0.0, f64::max);
    let (by_delay, received) = (most("delay_based_rate"), most("acked_bitrate"));
    assert!(by_delay <= 1.5 * received + 10e3 && by_delay < 1.5e6, "{by_delay} {received}");
    assert!(most("target_bitrate") <= 784e3);
}
