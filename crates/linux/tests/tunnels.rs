//! Tunnels by the kernel round the simulator's queues. Without a kernel that can be their ends these are ignored, and say so.

mod common;

use common::{CUBIC, HOP, RENO, STACK, bits, goodput, total};
use libtest_mimic::Arguments;
use sojourn_capture::{Capture, Point};
use sojourn_engine::{Engine as _, Watch};
use sojourn_linux::{Kernel, Linux};
use sojourn_model::{Scenario, TunnelProtocol};
use sojourn_results::Run;
use sojourn_sim::Sim;
use std::fmt::Write as _;
use std::sync::Arc;

const EXIT: &str = "bottleneck.down.vpn-exit";

/// The kernel that can be the ends of all three.
fn able() -> Option<Kernel> {
    let is_able = |kernel: &&Kernel| {
        kernel.cards
            && kernel.is_of(STACK)
            && TunnelProtocol::ALL.iter().all(|protocol| kernel.tunnels.contains(protocol))
    };
    Linux::new().kernels().iter().find(is_able).cloned()
}

fn linux() -> Linux {
    Linux::new().on(&able().expect("a kernel").id()).unwrap()
}

fn scenario(hop: &str, tunnel: &str, flows: &str, secs: u32) -> Scenario {
    common::scenario(hop, &format!("{tunnel}\n{flows}"), secs)
}

fn tunnel(kind: &str, by: &str, flows: &str, more: &str) -> String {
    format!(
        "[[tunnel]]\nname = \"vpn\"\nkind = \"{kind}\"\nby = \"{by}\"\nflows = [{flows}]\n{more}\n"
    )
}

fn run(scenario: &Scenario) -> Run {
    let linux = linux();
    let refusals = linux.refuse(scenario);
    assert!(refusals.is_empty(), "{refusals:?}");
    linux.run(&Arc::new(scenario.clone()), &()).unwrap()
}

fn simulated(scenario: &Scenario) -> Run {
    Sim::new().run(&Arc::new(scenario.clone()), &()).unwrap()
}

/// A scenario's run with both ends by the kernel, and the same by the simulator alone.
fn both(hop: &str, tunnel_of: impl Fn(&str) -> String, flows: &str, secs: u32) -> [Run; 2] {
    let kernel = run(&scenario(hop, &tunnel_of("kernel"), flows, secs));
    let hop = hop.replace("by = \"sojourn\"\n", "");
    [kernel, simulated(&scenario(&hop, &tunnel_of("sojourn"), flows, secs))]
}

fn runs() -> usize {
    std::env::var("RUNS").map_or(2, |runs| runs.parse().unwrap())
}

/// Of each kind; `RUNS=10` runs it ten times.
fn the_same_seed_gives_the_same_bits() {
    for (kind, flows) in
        [("esp", "\"cubic\", \"reno\""), ("fou", "\"cubic\", \"reno\""), ("wireguard", "\"cubic\"")]
    {
        let hop = HOP.replace("pfifo limit 200", "fq_codel");
        let s = scenario(&hop, &tunnel(kind, "kernel", flows, ""), &format!("{CUBIC}{RENO}"), 3);
        let first = bits(&run(&s));
        for number in 1..runs() {
            assert_eq!(bits(&run(&s)), first, "{kind}, run {number}");
        }
        let by_messages = linux().by_messages().run(&Arc::new(s.clone()), &()).unwrap();
        assert_eq!(bits(&by_messages), first, "{kind}");
        assert_ne!(bits(&run(&Scenario { seed: 2, ..s })), first, "{kind}");
    }
}

/// Two kernels' flows in a tunnel share half of the link with a third, as in the simulator's tunnels; without a tunnel, and where
/// FOU's source port follows the flow inside, each of them gets a third.
fn a_tunnel_is_one_flow_to_the_queue() {
    let hop = HOP.replace("pfifo limit 200", "fq_codel").replace("50mbit", "20mbit");
    let flows: String = ["a", "b", "c"]
        .map(|name| CUBIC.replace("\"cubic\"\ncc", &format!("\"{name}\"\ncc")))
        .concat();
    let share = |tunnel: &str| {
        let run = run(&scenario(&hop, tunnel, &flows, 20));
        let [a, b, c] = ["a", "b", "c"].map(|flow| goodput(&run, flow));
        eprintln!("{a:.0} {b:.0} {c:.0}: {tunnel}");
        (a + b) / (a + b + c)
    };
    let inside = |kind: &str, more: &str| tunnel(kind, "kernel", "\"a\", \"b\"", more);
    for (tunnel, expected) in [
        (String::new(), 2.0 / 3.0),
        (inside("esp", ""), 0.5),
        (inside("fou", ""), 0.5),
        (inside("fou", "auto_source_port = true"), 2.0 / 3.0),
    ] {
        let share = share(&tunnel);
        assert!((share - expected).abs() < 0.02, "{tunnel}: {share}");
    }
}

/// Two flows in a tunnel and nothing else: to `fq_codel` they are one, which CUBIC and Reno share as in a FIFO with CoDel; apart
/// they get equal shares.
fn two_flows_inside_are_not_isolated() {
    let hop = HOP.replace("pfifo limit 200", "fq_codel").replace("10ms", "40ms");
    let shares = |tunnel: &str| {
        let run = run(&scenario(&hop, tunnel, &format!("{CUBIC}{RENO}"), 30));
        ["cubic", "reno"].map(|flow| goodput(&run, flow) / 1e6)
    };
    let apart = shares("");
    let inside = shares(&tunnel("esp", "kernel", "\"cubic\", \"reno\"", ""));
    eprintln!("apart {apart:.2?}, in ESP {inside:.2?}");
    let ratio = |[cubic, reno]: [f64; 2]| cubic / reno;
    assert!((ratio(apart) - 1.0).abs() < 0.06, "{apart:?}");
    assert!((ratio(inside) - 1.0).abs() > 0.15, "{inside:?}");
}

/// A path that reorders: by up to 16 ms at 1250 packets a second, which is 20 packets, and by up to 80 ms at 5000, which is 400. Our
/// window and the kernel's, of a word and of a bitmap, refuse the same packets (they were equal to the packet when this was
/// written).
fn the_replay_window_is_the_kernels() {
    let mut lines = String::new();
    for (jitter, mbit, windows) in [
        ("10ms 8ms", 10, &[0, 1, 4, 16, 32, 64][..]),
        ("50ms 40ms", 40, &[16, 32, 33, 64, 128, 256, 512, 4096]),
    ] {
        let hop = format!("{HOP}down = {{ netem = [\"delay {jitter}\"] }}\n");
        let datagrams = format!(
            "[[flow]]\nname = \"udp\"\n[flow.udp]\nrate = \"{mbit}mbit\"\npayload = 1000\n"
        );
        for &window in windows {
            let more = format!("replay_window = {window}");
            let of = |by: &str| tunnel("esp", by, "\"udp\"", &more);
            let runs = both(&hop, of, &datagrams, 6);
            let [kernel, model] = [&runs[0], &runs[1]].map(|run| total(run, EXIT, "dropped"));
            let [sent, received] = ["sent", "received"]
                .map(|what| total(&runs[0], "udp", &format!("datagrams_{what}")));
            let _ = writeln!(
                lines,
                "{jitter}, window {window}: refused {kernel} by the kernel, {model} by the simulator, of {sent}"
            );
            // What the window refuses does not come, and all else does but for what is on its way.
            let missing = sent - received - kernel;
            assert!((0.0..600.0).contains(&missing), "{lines}");
            assert!((kernel - model).abs() <= 2.0 + 0.002 * model, "{lines}");
            let most = if mbit == 10 { 20 } else { 400 };
            assert_eq!(kernel == 0.0, window == 0 || window >= most, "{lines}");
        }
    }
    eprintln!("{lines}");
}

/// The denial of service of the suite `l4s-tests/replay-dos`: small ECT(1) packets in the tunnel overtake CUBIC's in DualPI2.
fn overtaking_packets_starve_a_flow_behind_a_short_window() {
    let hop = HOP
        .replace("pfifo limit 200", "dualpi2")
        .replace("50mbit", "20mbit")
        .replace("10ms", "20ms");
    let other = CUBIC.replace("\"cubic\"\ncc", "\"other\"\ncc");
    let attack = "[[flow]]\nname = \"attack\"\nstart = \"5s\"\n[flow.udp]\nrate = \"480kbit\"\npayload = 20\necn = \"ect1\"\n";
    let flows = format!(
        "{}{}{attack}",
        CUBIC.replace("cc =", "ecn = \"off\"\ncc ="),
        other.replace("cc =", "ecn = \"off\"\ncc =")
    );
    let mut lines = String::new();
    let mut all = Vec::new();
    for window in [32, 64, 128, 4096] {
        let more = format!("replay_window = {window}");
        let of = |by: &str| tunnel("esp", by, "\"cubic\", \"attack\"", &more);
        let runs = both(&hop, of, &flows, 30);
        let drops = runs.each_ref().map(|run| total(run, EXIT, "dropped"));
        let rates = runs.each_ref().map(|run| goodput(run, "cubic") / 1e6);
        let _ = writeln!(lines, "window {window}: refused {drops:?}, cubic {rates:.2?} Mbit/s");
        all.push((drops, rates));
    }
    eprintln!("{lines}");
    let [short, middle, long, longest] = &all[..] else { panic!("{all:?}") };
    for engine in [0, 1] {
        assert!(short.0[engine] > 0.0 && short.1[engine] < longest.1[engine] / 10.0, "{lines}");
        assert!(middle.0[engine] > 0.0 && middle.1[engine] < longest.1[engine] / 2.0, "{lines}");
        assert_eq!([long.0[engine], longest.0[engine]], [0.0; 2], "{lines}");
    }
}

/// Where the packets of a run are wanted.
struct Wanted(Capture);

impl Watch for Wanted {
    fn capture(&self) -> Option<Capture> {
        Some(self.0.clone())
    }
}

/// The lengths of the frames of a capture between these last bytes of addresses, most frequent first.
fn lengths(bytes: &[u8]) -> Vec<u32> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (24, Vec::new());
    while at + 16 <= bytes.len() {
        let kept = word(at + 8) as usize;
        let frame = &bytes[at + 16..at + 16 + kept];
        // From the server's end of the first tunnel.
        if frame.get(26..30) == Some(&[10, 8, 0, 1]) {
            found.push(word(at + 12));
        }
        at += 16 + kept;
    }
    found
}

/// The outer length of a datagram of each size, by the kernel and by the simulator's tunnels.
fn outer_lengths_are_the_models() {
    for kind in ["esp", "fou", "wireguard"] {
        for payload in [100, 101, 1000, 1471, 1472] {
            let udp = format!(
                "[[flow]]\nname = \"udp\"\n[flow.udp]\nrate = \"1mbit\"\npayload = {payload}\n"
            );
            let of = |by: &str| {
                let s = scenario(HOP, &tunnel(kind, by, "\"udp\"", ""), &udp, 1);
                let folder = tempfile::tempdir().unwrap();
                let capture = Capture { folder: folder.path().to_owned(), snap_len: 96 };
                linux().run(&Arc::new(s), &Wanted(capture)).unwrap();
                let left = Point::Left("bottleneck".to_owned()).file_name();
                let mut all = lengths(&std::fs::read(folder.path().join(left)).unwrap());
                // But for handshakes all are equal.
                all.sort_unstable();
                all[all.len() / 2]
            };
            let [kernel, model] = ["kernel", "sojourn"].map(of);
            let inside = payload + 28 + 14;
            eprintln!(
                "{kind} {payload}: {inside} + {} by the kernel, + {} by the model",
                kernel - inside,
                model - inside
            );
            assert_eq!(kernel, model, "{kind} {payload}");
        }
    }
}

/// Marks of our queue on the outer headers reach the flow inside, and every traffic of the agent passes.
fn marks_and_other_traffic_pass() {
    let hop = HOP.replace("pfifo limit 200", "codel ecn");
    for kind in ["esp", "fou"] {
        let flows = format!(
            "{}[[flow]]\nname = \"up\"\ncc = \"reno\"\ndirection = \"up\"\nbytes = \"2000000b\"\n\
             [[flow]]\nname = \"short\"\necn = \"off\"\n[flow.short_flows]\nmean_interval = \"200ms\"\n\
             [[flow]]\nname = \"echo\"\n[flow.ping]\n",
            CUBIC.replace("cc =", "ecn = \"rfc3168\"\ncc =")
        );
        let all = "\"cubic\", \"up\", \"short\", \"echo\"";
        let of = |by: &str| run(&scenario(&hop, &tunnel(kind, by, all, ""), &flows, 10));
        let (run, model) = (of("kernel"), of("sojourn"));
        let marked = total(&run, "bottleneck.down.qdisc", "marked");
        assert!(
            marked > 5.0 && total(&run, "cubic", "ece_acks") > marked / 4.0,
            "{kind}: {marked}"
        );
        assert!((total(&run, "cubic", "ce_packets") - marked).abs() < 3.0, "{kind}: {marked}");
        let rates = [&run, &model].map(|run| goodput(run, "cubic"));
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{kind}: {rates:?}");
        assert_eq!(total(&run, "up", "delivered_bytes"), 2_000_000.0, "{kind}");
        assert!(total(&run, "short", "completed") > 20.0, "{kind}");
        let rtts = run.table("pings").unwrap().f64("rtt_s");
        assert!(rtts.iter().filter(|rtt| **rtt >= 0.010).count() > 5, "{kind}: {rtts:?}");
        let flows = run.table("flows").unwrap();
        let known = (0..flows.len())
            .filter(|&i| flows.text("flow").get(i) == "cubic" && flows.f64("rtt_s")[i] > 0.010);
        assert!(known.count() > 50, "{kind}");
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let there = able().is_some();
    if !there {
        eprintln!(
            "tests of tunnels by the kernel are left out: they need \
             `sojourn linux build --version 7.3 --name tunnels --config tunnels`"
        );
    }
    let tests: [(&str, fn()); 7] = [
        ("the_same_seed_gives_the_same_bits", the_same_seed_gives_the_same_bits),
        ("a_tunnel_is_one_flow_to_the_queue", a_tunnel_is_one_flow_to_the_queue),
        ("two_flows_inside_are_not_isolated", two_flows_inside_are_not_isolated),
        ("the_replay_window_is_the_kernels", the_replay_window_is_the_kernels),
        (
            "overtaking_packets_starve_a_flow_behind_a_short_window",
            overtaking_packets_starve_a_flow_behind_a_short_window,
        ),
        ("outer_lengths_are_the_models", outer_lengths_are_the_models),
        ("marks_and_other_traffic_pass", marks_and_other_traffic_pass),
    ];
    let trials = common::trials(tests, there);
    libtest_mimic::run(&arguments, trials).exit();
}
