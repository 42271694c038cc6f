//! TCP small queues in front of the sending host's NIC, in whole runs.

use crate::bench::{counts, run, total};
use sojourn_language::{AnyWords, Experiment};
use sojourn_model::{Check, Scenario};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};

/// A flow `a` for 20 s by this device and then 10 ms each way.
fn experiment(experiment: &str, device: &str, flow: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"own\"\nping = false\nduration = \"20s\"\n{experiment}\n\
         [[hop]]\nname = \"device\"\n{device}\n\
         [[hop]]\nname = \"path\"\nrtt = \"20ms\"\n\
         [[flow]]\nname = \"a\"\n{flow}\n"
    );
    let read = Experiment::parse("own.toml", &text);
    let plan = read.and_then(|e| e.plan(&AnyWords, 1)).unwrap_or_else(|e| panic!("{text}\n{e}"));
    plan.into_scenarios().remove(0)
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    expression.evaluate(&Frame::new(run)).unwrap_or_else(|e| panic!("{e}")).value.number
}

/// A line of 10 Mbit/s, the sender's own or not.
fn line(own: bool) -> String {
    format!(
        "host_nic = {own}\n\
         down = {{ rate = \"10mbit\", shaper = \"line\", qdisc = \"pfifo limit 1000\" }}\n\
         up = {{ queue = false }}"
    )
}

/// Most packets that the device held at the end of a step, and the goodput from 5 s on over what the line carries.
fn of(run: &Run, device: &str) -> (f64, f64) {
    let longest = value(run, &format!("max(queue_length, {device}) over all"));
    (longest, value(run, "goodput(a) from 5s to 20s") / (10e6 * 1448.0 / 1514.0))
}

/// A sender behind its own NIC as the bottleneck keeps the surplus of its window in its socket. On the account are 2304
/// B a segment. Groups are of two, of three while slow start's pacing rate of 200 % gives that in a millisecond: below
/// twice 1280 and 3 · 1448 B, 11 248, a group may leave, so four segments are there at most when three more come. The
/// link is full, and the delay is nobody's; were it another's device, its queue would grow.
#[test]
fn a_senders_own_device_never_holds_more_than_seven_segments() {
    for stack in ["linux-5.10", "linux-7.3"] {
        for cc in ["reno", "cubic", "prague"] {
            let run_of = |own| {
                let (stack, cc) = (format!("stack = \"{stack}\""), format!("cc = \"{cc}\""));
                of(&run(&experiment(&stack, &line(own), &cc)), "device.down.qdisc")
            };
            let (longest, goodput) = run_of(true);
            assert!(longest <= 7.0, "{stack} {cc} {longest}");
            assert!(goodput > 0.99 && goodput < 1.001, "{stack} {cc} {goodput}");
            assert!(run_of(false).0 > 25.0, "{stack} {cc}");
        }
    }
}

/// As in Linux 7.3.4 (the Linux engine, `host_qdisc = "tbf rate 10mbit burst 1540 limit 10000000"` and a path of 20
/// ms): the window stops where the small queue stops the sender, HyStart's exit or the first round that is not used up;
/// the rest of the round trip is the wait in the device.
#[test]
fn small_queues_are_those_of_linux() {
    let words = "tbf rate 10mbit burst 1540 limit 10000000";
    let device = format!(
        "host_nic = true\n\
         down = {{ shaper = \"own\", rate = \"10mbit\", qdisc = \"{words}\" }}\n\
         up = {{ queue = false }}"
    );
    let open = "rate = \"1gbit\"\nqdisc = \"pfifo limit 10000\"";
    for (cc, cwnd, in_flight, srtt_ms) in
        [("cubic", 29.0, 21.52, 26.06), ("reno", 48.0, 22.85, 27.89), ("dctcp", 48.0, 22.85, 27.89)]
    {
        // The device as a hop of its own, and as the flow's `host_qdisc`.
        for (device, flow) in [
            (device.as_str(), format!("cc = \"{cc}\"")),
            (open, format!("cc = \"{cc}\"\nhost_qdisc = \"{words}\"")),
        ] {
            let run = run(&experiment("", device, &flow));
            let mean = |what| value(&run, &format!("mean({what}, a) from 5s to 20s"));
            assert_eq!(mean("cwnd"), cwnd, "{cc}");
            assert!((mean("inflight") - in_flight).abs() < 0.02, "{cc} {}", mean("inflight"));
            assert!((1e3 * mean("srtt") - srtt_ms).abs() < 0.02, "{cc} {}", mean("srtt"));
        }
    }
}

/// Two at 50 Mbit/s, where groups are of three and four, and one segment more or less that fits makes another slow start of
/// the second flow, which begins at 2 s: 35.87 and 11.96 Mbit/s, 23.89 and 24.12 ms in Linux 7.3.4 with each of three seeds.
#[test]
fn two_flows_of_one_host_share_its_device_as_in_linux() {
    let words = "tbf rate 50mbit burst 1540 limit 10000000";
    let second = "[[flow]]\nname = \"b\"\nstart = \"2s\"\ncc = \"cubic\"";
    let flow =
        format!("cc = \"cubic\"\nhost_qdisc = \"{words}\"\n{second}\nhost_qdisc = \"{words}\"");
    let open = "rate = \"1gbit\"\nqdisc = \"pfifo limit 10000\"";
    let run = run(&experiment("stack = \"linux-7.3\"", open, &flow));
    for (name, goodput, srtt_ms) in [("a", 35.87e6, 23.89), ("b", 11.96e6, 24.12)] {
        let rate = value(&run, &format!("goodput({name}) from 8s to 20s"));
        assert!((rate / goodput - 1.0).abs() < 0.01, "{name} {rate}");
        let srtt = 1e3 * value(&run, &format!("mean(srtt, {name}) from 8s to 20s"));
        assert!((srtt - srtt_ms).abs() < 0.05, "{name} {srtt}");
    }
}

/// A WiFi station's share is a 2^7th of a second of what it would pace at, and groups are as large, 64 kB or 45 segments at
/// most: below 2 · (1280 + 45 · 1448) B, 57 segments of 2304, a group may leave, so never more than 102 wait. Were it another's
/// device, 1000 packets would. The air is as full with a tenth of the frames lost: retransmissions are on the account
/// until they are acknowledged.
#[test]
fn a_wifi_station_has_small_queues_of_eight_milliseconds() {
    let held = |own| {
        let device = format!(
            "host_nic = {own}\n\
             [[hop.element]]\nname = \"air\"\nside = \"both\"\n\
             wifi = {{ rates = [\"26mbit\"], frame_errors = 0.1, limit = 1000 }}"
        );
        let run = run(&experiment("", &device, "cc = \"cubic\""));
        let packets = counts(&run, "queues", "packets", "device.down.air");
        let late: Vec<u64> = packets.iter().filter(|p| p.0 > 5.0).map(|p| p.1).collect();
        let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
        (mean, value(&run, "goodput(a) from 5s to 20s"))
    };
    let ((own, goodput), (others, most)) = (held(true), held(false));
    assert!((10.0..102.0).contains(&own), "{own}");
    assert!(others > 200.0, "{others}");
    assert!(goodput > 0.97 * most, "{goodput} of {most}");
}

/// The same of a connection that an application opens: a stream's server waits for its device.
#[test]
fn an_applications_connection_has_a_small_queue_too() {
    let longest = |own| {
        let stream = "streaming = { ladder = [\"8mbit\"] }";
        let s = experiment("", &line(own), stream);
        value(&run(&s), "max(queue_length, device.down.qdisc) over all")
    };
    assert!(longest(true) <= 7.0, "{}", longest(true));
    assert!(longest(false) > 10.0);
}

/// Charges on the account come back whatever the fate of the packets: a device that drops nearly everything does not
/// stop its sender for good.
#[test]
fn a_device_that_drops_gives_back_too() {
    let device = "host_nic = true\n\
         down = { rate = \"10mbit\", shaper = \"line\", qdisc = \"pfifo limit 1\" }\n\
         up = { queue = false }";
    let run = run(&experiment("", device, "cc = \"cubic\""));
    let dropped = total(&run, "device.down.qdisc", "dropped");
    assert!(dropped > 10.0, "{dropped}");
    assert!(value(&run, "goodput(a) from 15s to 20s") > 1e6);
}

/// A radio's queue is a queue to whoever asks for its delays: an experiment's checks may name it, and every packet of the run
/// that left it is in its distribution, of the whole and of a window.
#[test]
fn the_queue_of_a_radio_is_measured_by_its_name() {
    let device =
        "[[hop.element]]\nname = \"air\"\nside = \"both\"\nwifi = { rates = [\"26mbit\"] }";
    let asks = "cc = \"cubic\"\n\
                [[check]]\nthat = \"p99(sojourn, device.down.air) > 0s from 5s to 20s\"\n\
                [[check]]\nthat = \"p99(sojourn, a at device.down.air) > 0s from 5s to 20s\"\n\
                [[check]]\nthat = \"mean(queue_length, device.down.air) > 1\"";
    let run = run(&experiment("", device, asks));
    let holds = |check: &Check| {
        let verdict = Expression::parse(&check.that).unwrap().evaluate(&Frame::new(&run));
        verdict.unwrap_or_else(|e| panic!("{}: {e}", check.that)).passed
    };
    assert_eq!(run.scenario.checks.len(), 3);
    for check in &run.scenario.checks {
        assert_eq!(holds(check), Some(true), "{}", check.that);
    }
    assert!(value(&run, "p99(sojourn, device.down.air)") > 0.001);
}
