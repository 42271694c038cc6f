//! Kernels round the simulator's queues. Without a kernel that can have cards these are ignored, and counted as that.

mod common;

use common::{CUBIC, HOP, RENO, STACK, bits, column, goodput, mean, scenario, total};
use libtest_mimic::{Arguments, Trial};
use sojourn_capture::{Capture, Point};
use sojourn_engine::{Engine as _, Watch};
use sojourn_linux::{Kernel, Linux};
use sojourn_model::Scenario;
use sojourn_results::Run;
use sojourn_sim::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn run(scenario: &Scenario) -> Run {
    let linux = Linux::new();
    let refusals = linux.refuse(scenario);
    assert!(refusals.is_empty(), "{refusals:?}");
    linux.run(&Arc::new(scenario.clone()), &()).unwrap()
}

/// The queue of data.
const QUEUE: &str = "bottleneck.down.qdisc";
fn queue(run: &Run) -> f64 {
    mean(&column(run, "queues", "queue", QUEUE, "sojourn_mean_s", 5.0))
}

/// With the same hop by another, and without its word for the simulator.
fn by(by: &str) -> String {
    HOP.replace("by = \"sojourn\"\n", by)
}

/// Two kernels' flows round our FIFO: the link is full, and the simulator, the kernel with its own queue and the kernel round
/// ours agree on what a flow gets and on how long the queue is.
fn three_ways_to_run_it_agree() {
    let round = run(&scenario(HOP, CUBIC, 60));
    let within = run(&scenario(&by("by = \"kernel\"\n"), CUBIC, 60));
    let simulated = Sim::new().run(&Arc::new(scenario(&by(""), CUBIC, 60)), &()).unwrap();
    let sizes = [&round, &within, &simulated].map(|run| (goodput(run, "cubic"), queue(run)));
    for (goodput, queue) in sizes {
        assert!((goodput / sizes[0].0 - 1.0).abs() < 0.01, "{sizes:?}");
        assert!((queue / sizes[0].1 - 1.0).abs() < 0.02, "{sizes:?}");
    }
    // Of two flows in fq_codel the shares.
    let fair = |text: &str| text.replace("pfifo limit 200", "fq_codel");
    let both = format!("{CUBIC}{RENO}");
    let share = |run: &Run| {
        let [cubic, reno] = ["cubic", "reno"].map(|flow| goodput(run, flow));
        cubic / (cubic + reno)
    };
    let shares = [
        share(&run(&scenario(&fair(HOP), &both, 20))),
        share(&run(&scenario(&fair(&by("by = \"kernel\"\n")), &both, 20))),
        share(&Sim::new().run(&Arc::new(scenario(&fair(&by("")), &both, 20)), &()).unwrap()),
    ];
    assert!(shares.iter().all(|share| (share - shares[0]).abs() < 0.01), "{shares:?}");
}

/// The second time, and with a clock by messages alone. `RUNS=100` runs it a hundred times.
fn the_same_seed_gives_the_same_bits() {
    let s = scenario(HOP, &format!("{CUBIC}{RENO}"), 3);
    let first = bits(&run(&s));
    let runs = std::env::var("RUNS").map_or(2, |runs| runs.parse().unwrap());
    for number in 1..runs {
        assert_eq!(bits(&run(&s)), first, "run {number}");
    }
    let by_messages = Linux::new().by_messages().run(&Arc::new(s.clone()), &()).unwrap();
    assert_eq!(bits(&by_messages), first);
    assert_ne!(bits(&run(&Scenario { seed: 2, ..s })), first);
}

/// No kernel has any of them.
fn queues_that_no_kernel_has_take_its_flows() {
    for (words, most) in [("cobalt", 0.010), ("lfq_cobalt", 0.010), ("pi2", 0.025)] {
        let hop = HOP.replace("pfifo limit 200", words);
        let run = run(&scenario(&hop, &format!("{CUBIC}ecn = \"off\"\n{RENO}ecn = \"off\"\n"), 15));
        let sum = goodput(&run, "cubic") + goodput(&run, "reno");
        assert!(sum > 45.0e6 && sum < 48.0e6, "{words}: {sum}");
        assert!(queue(&run) > 0.0005 && queue(&run) < most, "{words}: {}", queue(&run));
        assert!(total(&run, QUEUE, "dropped") > 0.0, "{words}");
        assert!(total(&run, "cubic", "retransmits") > 0.0, "{words}");
    }
}

/// Packets are conserved over the path, and every mark reaches the receiver's kernel.
fn marks_reach_the_kernel() {
    let hop = HOP.replace("pfifo limit 200", "codel ecn");
    let flows = CUBIC.replace("cc =", "ecn = \"rfc3168\"\ncc =");
    let run = run(&scenario(&hop, &flows, 15));
    let marked = total(&run, QUEUE, "marked");
    assert!(marked > 5.0, "{marked}");
    assert!((total(&run, "cubic", "ce_packets") - marked).abs() < 2.0, "{marked}");
    assert!(total(&run, "cubic", "ece_acks") >= marked / 2.0);
    assert_eq!(total(&run, "cubic", "ecn_agreed"), 1.0);
    let of_queue = ["left", "held", "dropped"].map(|name| total(&run, QUEUE, name));
    assert_eq!(total(&run, QUEUE, "entered"), of_queue.iter().sum::<f64>());
    let sent = total(&run, "cubic", "packets_sent");
    let gone = total(&run, "cubic", "packets_arrived") + total(&run, "cubic", "packets_dropped");
    // What is on its way at the end.
    assert!(sent >= gone && sent - gone < 400.0, "{sent} {gone}");
}

/// Our BBRv3 and a real CUBIC share a queue, each with its own rows; alone, each of them fills the link.
fn a_model_and_a_kernel_share_a_queue() {
    let model = "[[flow]]\nname = \"bbr3\"\ncc = \"bbr3\"\nby = \"sojourn\"\n";
    let run = run(&scenario(HOP, &format!("{model}{CUBIC}"), 20));
    let [bbr3, cubic] = ["bbr3", "cubic"].map(|flow| goodput(&run, flow));
    assert!(bbr3 + cubic > 47.0e6 && bbr3 + cubic < 48.0e6, "{bbr3} {cubic}");
    assert!(bbr3 > 2.0e6 && cubic > 2.0e6, "{bbr3} {cubic}");
    let all = Sim::new().run(
        &Arc::new(scenario(
            &by(""),
            &format!("{}{CUBIC}", model.replace("by = \"sojourn\"\n", "")),
            20,
        )),
        &(),
    );
    let simulated = all.unwrap();
    let share = |run: &Run| goodput(run, "bbr3") / (goodput(run, "bbr3") + goodput(run, "cubic"));
    assert!((share(&run) - share(&simulated)).abs() < 0.1, "{} {}", share(&run), share(&simulated));
    let events = run.table("events").unwrap();
    let starts: Vec<&str> = (0..events.len())
        .filter(|&i| events.text("what").get(i) == "start")
        .map(|i| events.text("subject").get(i))
        .collect();
    assert_eq!(starts, ["flow ping", "flow bbr3", "flow cubic"]);
    let times = run.table("flows").unwrap().f64("t_s");
    assert!(times.is_sorted(), "rows of both in the order of time");
}

/// Two guests: one kernel for each of two stacks (here it is the same program twice). Each has its own rows and its own
/// clock, and both have the run's beginning; twice the same bits.
fn two_kernels_share_a_queue() {
    let other = "linux-6.12";
    let one = Linux::new().kernel(STACK).unwrap().clone();
    let kernels = vec![Kernel { version: "6.12.1".to_owned(), ..one.clone() }, one];
    let flows = format!("{CUBIC}{}", RENO.replace("cc =", &format!("stack = \"{other}\"\ncc =")));
    let s = scenario(&HOP.replace("pfifo limit 200", "fq_codel"), &flows, 10);
    let linux = Linux::with_kernels(kernels);
    let refusals = linux.refuse(&s);
    assert!(refusals.is_empty(), "{refusals:?}");
    let run = linux.run(&Arc::new(s.clone()), &()).unwrap();
    let [cubic, reno] = ["cubic", "reno"].map(|flow| goodput(&run, flow));
    assert!((cubic / (cubic + reno) - 0.5).abs() < 0.05, "{cubic} {reno}");
    assert!(cubic + reno > 46.0e6, "{cubic} {reno}");
    let times = run.table("flows").unwrap().f64("t_s");
    // Samples of both at multiples of the interval.
    assert!(times.is_sorted() && times.contains(&9.0), "{times:?}");
    assert!(run.engine.detail.contains("6.12.1") && run.engine.detail.contains("7.3"));
    let ping = run.table("pings").unwrap().f64("rtt_s");
    assert!(ping[..ping.len() - 1].iter().all(|rtt| *rtt >= 0.010), "{ping:?}");
    assert_eq!(bits(&linux.run(&Arc::new(s), &()).unwrap()), bits(&run));
}

/// Two versions of Linux: a flow of each behind one queue, and a program at a host of the older one that says its version.
/// Ten times the same bits, and by messages alone, too: the newer guest shares the calendar's memory, and kernels before 6.11
/// speak by messages. `RUNS=100` runs it a hundred times.
fn two_versions_share_a_queue(older: &str) {
    let of_older = |flow: &str| flow.replace("cc =", &format!("stack = \"{older}\"\ncc ="));
    let hop = HOP.replace("pfifo limit 200", "fq_codel");
    let linux = Linux::new();
    let [new, old] = [STACK, older].map(|stack| linux.kernel(stack).unwrap().id());
    let s = scenario(&hop, &format!("{CUBIC}{}", of_older(RENO)), 10);
    let refusals = linux.refuse(&s);
    assert!(refusals.is_empty(), "{refusals:?}");
    let both = run(&s);
    assert!(both.engine.detail.contains(&new) && both.engine.detail.contains(&old));
    let [cubic, reno] = ["cubic", "reno"].map(|flow| goodput(&both, flow));
    assert!((cubic / (cubic + reno) - 0.5).abs() < 0.05, "{cubic} {reno}");
    assert!(cubic + reno > 46.0e6, "{cubic} {reno}");

    let program = format!(
        "[[flow]]\nname = \"version\"\nstack = \"{older}\"\n\
         [flow.program]\nserver = [\"/bin/sleep\", \"9\"]\nclient = [\"/bin/uname\", \"-r\"]\n\
         ready = \"100ms\"\n"
    );
    let s = scenario(&hop, &format!("{CUBIC}{}{program}", of_older(RENO)), 3);
    let first = run(&s);
    let (version, _) = old.split_once('-').unwrap();
    let said = first.table("output").unwrap().text("text").names();
    assert!(said.iter().any(|line| line.starts_with(version)), "{version}: {said:?}");
    let first = bits(&first);
    let runs = std::env::var("RUNS").map_or(10, |runs| runs.parse().unwrap());
    for number in 1..runs {
        assert_eq!(bits(&run(&s)), first, "run {number}");
    }
    let by_messages = Linux::new().by_messages().run(&Arc::new(s.clone()), &()).unwrap();
    assert_eq!(bits(&by_messages), first);
    assert_ne!(bits(&run(&Scenario { seed: 2, ..s })), first);
}

/// A flow from one kernel to another, next to a flow within the first kernel. A transfer of a known size arrives to the last byte,
/// and the other kernel answers a ping. Here both kernels are one program, so two ends in one guest and in two give the same.
fn a_flow_has_two_kernels() {
    let other = "linux-6.12";
    let one = Linux::new().kernel(STACK).unwrap().clone();
    let kernels = vec![Kernel { version: "6.12.1".to_owned(), ..one.clone() }, one];
    let linux = Linux::with_kernels(kernels);
    let across = |flow: &str| format!("{flow}receiver_stack = \"{other}\"\n");
    let run = |flows: &str| {
        let s = scenario(&HOP.replace("pfifo limit 200", "fq_codel"), flows, 10);
        let refusals = linux.refuse(&s);
        assert!(refusals.is_empty(), "{refusals:?}");
        linux.run(&Arc::new(s), &()).unwrap()
    };
    let up = "[[flow]]\nname = \"up\"\ncc = \"cubic\"\ndirection = \"up\"\nbytes = \"3000000b\"\nstart = \"2s\"\n";
    let ping = "[[flow]]\nname = \"echo\"\n";
    let flows = |across: &dyn Fn(&str) -> String| {
        format!("{}{RENO}{}{}[flow.ping]\n", across(CUBIC), across(up), across(ping))
    };
    let (split, whole) = (run(&flows(&across)), run(&flows(&str::to_owned)));
    assert!(split.engine.detail.contains("6.12.1") && !whole.engine.detail.contains("6.12.1"));
    for flow in ["cubic", "reno"] {
        let [one, other] = [&split, &whole].map(|run| goodput(run, flow));
        assert!((one / other - 1.0).abs() < 0.02 && one > 22.0e6, "{flow}: {one} {other}");
    }
    // The FIN is no byte of these.
    let delivered = [&split, &whole].map(|run| total(run, "up", "delivered_bytes"));
    assert_eq!(delivered, [3_000_000.0; 2]);
    let echoes = |run: &Run| column(run, "pings", "flow", "echo", "rtt_s", 0.0);
    let [one, other] = [&split, &whole].map(|run| mean(&echoes(run)));
    assert!(one > 0.010 && (one / other - 1.0).abs() < 0.1, "{one} {other}");
    assert_eq!(bits(&run(&flows(&across))), bits(&split));
}

/// A receiver of an older kernel, and then a sender: AccECN is asked for, and the older one agrees to RFC 3168's ECN. Marks take
/// the place of losses, and the link is full. Twice the same bits; `RUNS=100` runs it a hundred times.
fn a_flow_between_two_versions(older: &str) {
    let hop = HOP.replace("pfifo limit 200", "codel ecn");
    let flow = |lines: &str| {
        run(&scenario(&hop, &format!("[[flow]]\nname = \"f\"\ncc = \"cubic\"\n{lines}"), 10))
    };
    let to = flow(&format!("ecn = \"accecn\"\nreceiver_stack = \"{older}\"\n"));
    let from =
        flow(&format!("ecn = \"rfc3168\"\nstack = \"{older}\"\nreceiver_stack = \"{STACK}\"\n"));
    let runs = std::env::var("RUNS").map_or(2, |runs| runs.parse().unwrap());
    for number in 1..runs {
        let again = flow(&format!("ecn = \"accecn\"\nreceiver_stack = \"{older}\"\n"));
        assert_eq!(bits(&again), bits(&to), "run {number}");
    }
    for run in [&to, &from] {
        assert!(goodput(run, "f") > 46.0e6, "{}", goodput(run, "f"));
        assert!(total(run, QUEUE, "marked") > 3.0 && total(run, "f", "retransmits") < 1.0);
    }
}

/// Two kernels' flows in a tunnel are one flow to `fq_codel`, which sees the outer headers: together they get half, next to a
/// third. Without the tunnel each of them gets a third.
fn a_tunnel_is_one_flow_to_the_queue() {
    let hop = HOP.replace("pfifo limit 200", "fq_codel").replace("50mbit", "20mbit");
    let flows: String = ["a", "b", "c"]
        .map(|name| CUBIC.replace("\"cubic\"\ncc", &format!("\"{name}\"\ncc")))
        .concat();
    let share = |tunnel: &str| {
        let run = run(&scenario(&format!("{hop}{tunnel}"), &flows, 20));
        let [a, b, c] = ["a", "b", "c"].map(|flow| goodput(&run, flow));
        (a + b) / (a + b + c)
    };
    let apart = share("");
    assert!((apart - 2.0 / 3.0).abs() < 0.01, "{apart}");
    for kind in ["wireguard", "fou", "esp"] {
        let together = share(&format!(
            "[[tunnel]]\nname = \"vpn\"\nkind = \"{kind}\"\nflows = [\"a\", \"b\"]\n"
        ));
        assert!((together - 0.5).abs() < 0.02, "{kind}: {together}");
    }
}

/// Round trips of 10 ms and the little that hosts add, to the nanosecond the same in each run, on a busy machine, too.
fn a_ping_takes_what_the_path_takes() {
    let hop = "by = \"sojourn\"\nrate = \"50mbit\"\nrtt = \"10ms\"\nqdisc = \"pfifo limit 200\"\n";
    let s = scenario(
        hop,
        "[ping]\ninterval = \"100ms\"\n[[flow]]\nname = \"late\"\ncc = \"cubic\"\nstart = \"2900ms\"\n",
        3,
    );
    let rtts = |run: &Run| {
        let all = run.table("pings").unwrap().f64("rtt_s");
        // The last has no time to come back.
        all[..all.len() - 1].to_vec()
    };
    let first = rtts(&run(&s));
    assert!(first.len() > 25, "{first:?}");
    // Up to 6 µs late at both hosts, and the steps of the guest's clock; htb lets a lone packet pass at once.
    assert!(first.iter().all(|rtt| (0.010..0.010_014).contains(rtt)), "{first:?}");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box((0..10_000_u64).sum::<u64>());
                }
            });
        }
        for _ in 0..3 {
            assert_eq!(rtts(&run(&s)), first);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// What a kernel's flow can be, each over the simulator's hop: a program of this machine, calls, connections that ask, an upload
/// over version 6, a stream with the engine's own client.
///
/// Python is the machine's: one of an environment below /tmp is not seen by a guest. Without it there is nothing to run.
fn every_traffic_passes() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return;
    }
    let flows = r#"
[[flow]]
name = "page"
[flow.program]
server = ["/usr/bin/python3", "-m", "http.server", "8000"]
client = ["/usr/bin/python3", "-c", "import urllib.request as u; print(len(u.urlopen('http://server:8000/big').read()))"]
[flow.program.files]
"big" = """SIZE"""
[[flow]]
name = "call"
voip = {}
[[flow]]
name = "short"
cc = "cubic"
short_flows = { mean_interval = "200ms", length_p5 = "10kB", length_p95 = "60kB" }
[[flow]]
name = "sixth"
cc = "bbr"
ip = 6
direction = "up"
[[flow]]
name = "stream"
cc = "cubic"
streaming = {}
"#;
    let s = scenario(HOP, &flows.replace("SIZE", &"0123456789".repeat(20_000)), 10);
    let run = run(&s);
    let events = run.table("events").unwrap();
    let ended = (0..events.len()).find(|&i| {
        events.text("what").get(i) == "end" && events.text("subject").get(i) == "flow page"
    });
    assert!(ended.is_some_and(|i| events.text("detail").get(i).starts_with("ended")));
    let output = run.table("output").unwrap().text("text");
    assert!(output.names().contains(&"200000".to_owned()), "{:?}", output.names());
    let calls = run.table("pings").unwrap();
    let of = |i: &usize| calls.text("flow").get(*i) == "call";
    let delays: Vec<f64> = (0..calls.len()).filter(of).map(|i| calls.f64("owd_s")[i]).collect();
    assert!(delays.len() > 400 && delays.iter().all(|d| d.is_nan() || *d > 0.005), "{delays:?}");
    assert!(total(&run, "short", "completed") > 20.0);
    // Its acknowledgements wait behind the downloads.
    assert!(goodput(&run, "sixth") > 1.0e6, "{}", goodput(&run, "sixth"));
    assert!(run.table("segments").unwrap().len() > 1);
}

/// Events change the simulator's queue and start and stop kernels' flows.
fn events_reach_queue_and_kernel() {
    let more = "[[event]]\nname = \"half\"\nat = \"5s\"\nhop = \"bottleneck\"\nrate = \"10mbit\"\n";
    let reno = RENO.replace("cc =", "start = \"event half + 3s\"\ncc =");
    let s = scenario(HOP, &format!("{CUBIC}{reno}{more}"), 12);
    let run = run(&s);
    let of = |from: f64, to: f64| {
        let table = run.table("flows").unwrap();
        let rows = (0..table.len()).filter(|&i| {
            let t = table.f64("t_s")[i];
            table.text("flow").get(i) == "cubic" && t > from && t <= to
        });
        mean(&rows.map(|i| table.f64("goodput_bps")[i]).collect::<Vec<_>>())
    };
    assert!(of(2.0, 5.0) > 46.0e6 && of(6.0, 8.0) < 9.7e6, "{} {}", of(2.0, 5.0), of(6.0, 8.0));
    let events = run.table("events").unwrap();
    let lines: Vec<String> = (0..events.len())
        .map(|i| {
            format!(
                "{:.1} {} {}",
                events.f64("t_s")[i],
                events.text("what").get(i),
                events.text("subject").get(i)
            )
        })
        .filter(|line| line.contains("event") || line.contains("reno"))
        .collect();
    assert!(lines.contains(&"8.0 start flow reno".to_owned()), "{lines:?}");
}

/// Where the packets of a run are wanted.
struct Wanted(Capture);

impl Watch for Wanted {
    fn capture(&self) -> Option<Capture> {
        Some(self.0.clone())
    }
}

/// The kernels' own frames, at the hosts and at the hop, and the same tables as without.
fn a_capture_has_the_kernels_frames() {
    let model = RENO.replace("cc =", "by = \"sojourn\"\ncc =");
    let s = scenario(HOP, &format!("{model}{CUBIC}"), 2);
    let folder = tempfile::tempdir().unwrap();
    let capture = Capture { folder: folder.path().to_owned(), snap_len: 96 };
    let with = Linux::new().run(&Arc::new(s.clone()), &Wanted(capture)).unwrap();
    assert_eq!(bits(&with), bits(&run(&s)));
    for point in Point::all(&s) {
        let bytes = std::fs::read(folder.path().join(point.file_name())).unwrap();
        // Ports 40002 to 5002: the agent's of the second flow.
        let data = bytes.windows(4).filter(|w| *w == [0x9c, 0x42, 0x13, 0x8a]).count();
        assert!(data > 2_000, "{point:?}: {data}");
    }
}

/// Series that Debian has the source of, and that have shared a queue with [`STACK`].
const OLDER: [&str; 2] = ["linux-6.1", "linux-5.10"];

/// A test of a version of Linux, by its name.
type OfVersion = (&'static str, fn(&str));

fn main() {
    let arguments = Arguments::from_args();
    let linux = Linux::new();
    let is_there = |stack: &str| linux.kernel(stack).is_some_and(|kernel| kernel.cards);
    let there = is_there(STACK);
    let tests: [(&str, fn()); 12] = [
        ("three_ways_to_run_it_agree", three_ways_to_run_it_agree),
        ("the_same_seed_gives_the_same_bits", the_same_seed_gives_the_same_bits),
        ("queues_that_no_kernel_has_take_its_flows", queues_that_no_kernel_has_take_its_flows),
        ("marks_reach_the_kernel", marks_reach_the_kernel),
        ("a_model_and_a_kernel_share_a_queue", a_model_and_a_kernel_share_a_queue),
        ("two_kernels_share_a_queue", two_kernels_share_a_queue),
        ("a_flow_has_two_kernels", a_flow_has_two_kernels),
        ("a_tunnel_is_one_flow_to_the_queue", a_tunnel_is_one_flow_to_the_queue),
        ("a_ping_takes_what_the_path_takes", a_ping_takes_what_the_path_takes),
        ("every_traffic_passes", every_traffic_passes),
        ("events_reach_queue_and_kernel", events_reach_queue_and_kernel),
        ("a_capture_has_the_kernels_frames", a_capture_has_the_kernels_frames),
    ];
    let trials = common::trials(tests, there);
    let of_versions: [OfVersion; 2] = [
        ("two_versions_share_a_queue", two_versions_share_a_queue),
        ("a_flow_between_two_versions", a_flow_between_two_versions),
    ];
    let all = of_versions.into_iter().flat_map(|test| OLDER.map(|older| (test, older)));
    let versions = all.filter_map(|((name, test), older)| {
        let name = format!("{name}::{older}");
        if !there || !is_there(older) {
            let series = older.trim_start_matches("linux-");
            eprintln!("{name} is left out: it needs `sojourn linux build --version {series}`");
            return None;
        }
        Some(Trial::test(name, move || {
            test(older);
            Ok(())
        }))
    });
    libtest_mimic::run(&arguments, trials.into_iter().chain(versions).collect()).exit();
}
