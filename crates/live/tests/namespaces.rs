//! Programs in real namespaces. Where the machine refuses them, the tests are ignored, and counted as that.
//!
//! This file is also the programs that they run: with a word for an argument it is the helper, a sender or a receiver. No test
//! asserts a time that the machine decides.

use libtest_mimic::{Arguments, Trial};
use sojourn_capture::Capture;
use sojourn_engine::{Engine as _, RunError};
use sojourn_language::{AnyWords, Experiment};
use sojourn_live::{Ended, HelperCommand, Live, Shell, ShellError, Window, helper_main, shell};
use sojourn_model::{Direction, Scenario, Traffic};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[1..] {
        ["as-helper", fd] => exit(helper_main(fd.parse().expect("a number"))),
        ["as-sender", port, bytes] => serve(port, bytes),
        ["as-receiver", address, bytes] => receive(address, bytes),
        _ => test(),
    }
}

/// Sends this number of bytes to every client.
fn serve(port: &str, bytes: &str) {
    let listener = TcpListener::bind(("::", port.parse().expect("a port"))).expect("listens");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        let all = vec![7; bytes.parse().expect("a number")];
        // The client may leave before it has everything.
        let _ = stream.write_all(&all);
    }
}

/// Takes all bytes; the status says whether they were as many as they should be.
fn receive(address: &str, bytes: &str) {
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("everything arrives");
    exit(i32::from(all.len().to_string() != bytes));
}

/// A test by its name.
type Test = (&'static str, fn());

fn test() {
    let arguments = Arguments::from_args();
    let refused = probe();
    if let Some(why) = &refused {
        eprintln!("no namespaces on this machine, so their tests are ignored: {why}");
    }
    let tests: [Test; 31] = [
        ("a_download_passes_the_queue", a_download_passes_the_queue),
        ("a_shell_leads_to_the_machines_network", a_shell_leads_to_the_machines_network),
        ("the_status_is_the_commands", the_status_is_the_commands),
        ("connections_take_the_control_of_the_route", connections_take_the_control_of_the_route),
        ("a_command_that_is_not_there_is_named", a_command_that_is_not_there_is_named),
        ("programs_have_no_capability", programs_have_no_capability),
        ("nothing_outlives_the_shell", nothing_outlives_the_shell),
        ("a_cancelled_shell_ends", a_cancelled_shell_ends),
        ("an_experiment_has_kernel_tcp_udp_and_pings", an_experiment_has_kernel_tcp_udp_and_pings),
        ("a_queue_by_the_kernel_is_its_own", a_queue_by_the_kernel_is_its_own),
        ("what_a_kernel_lacks_is_refused_by_name", what_a_kernel_lacks_is_refused_by_name),
        ("events_change_the_path", events_change_the_path),
        ("events_follow_what_happens", events_follow_what_happens),
        ("a_transfer_completes", a_transfer_completes),
        ("what_it_cannot_run_is_refused_by_name", what_it_cannot_run_is_refused_by_name),
        ("the_stack_is_the_host_s", the_stack_is_the_host_s),
        ("two_flows_of_programs_have_the_same_port", two_flows_of_programs_have_the_same_port),
        ("datagrams_of_programs_pass_over_ipv6", datagrams_of_programs_pass_over_ipv6),
        ("a_program_of_a_flow_is_confined", a_program_of_a_flow_is_confined),
        ("what_programs_do_wrong_is_said", what_programs_do_wrong_is_said),
        ("a_flow_of_programs_starts_and_stops", a_flow_of_programs_starts_and_stops),
        ("programs_end_with_the_run", programs_end_with_the_run),
        ("programs_that_cannot_run_are_refused", programs_that_cannot_run_are_refused),
        ("super_packets_are_split", super_packets_are_split),
        ("packets_are_captured", packets_are_captured),
        ("a_full_disk_ends_a_run_and_says_so", a_full_disk_ends_a_run_and_says_so),
        ("a_killed_helper_ends_a_shell", a_killed_helper_ends_a_shell),
        ("a_removed_interface_ends_a_shell", a_removed_interface_ends_a_shell),
        ("a_program_that_forks_without_end_ends", a_program_that_forks_without_end_ends),
        ("all_packets_may_be_lost", all_packets_may_be_lost),
        ("marks_are_counted_once", marks_are_counted_once),
    ];
    let trials = tests.into_iter().map(|(name, run)| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(refused.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn own() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

fn helper() -> HelperCommand {
    HelperCommand { program: own(), arguments: vec!["as-helper".into()] }
}

/// Why there can be no namespaces.
fn probe() -> Option<String> {
    match run(&asked("true", &[])) {
        Err(ShellError::SetUp(failure)) => Some(failure.to_string()),
        _ => None,
    }
}

fn scenario(hop: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"3600s\"\nping = false\nwarmup = \"0s\"\n\
         sample_interval = \"50ms\"\n[[hop]]\nname = \"link\"\n{hop}\n\
         [[flow]]\nname = \"x\"\ncc = \"cubic\"\n"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 1).unwrap_or_else(|e| panic!("{e}"));
    plan.scenarios().next().expect("one")
}

const HOP: &str = "down = { rate = \"20mbit\", qdisc = \"fq_codel\" }\n\
                   up = { rate = \"5mbit\" }\nrtt = \"20ms\"";

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(|word| if word == "SELF" { own().into() } else { word.into() }).collect()
}

fn asked(command: &str, servers: &[&str]) -> Shell {
    Shell {
        helper: helper(),
        scenario: scenario(HOP),
        command: words(command),
        servers: servers.iter().map(|server| words(server)).collect(),
        server_output: None,
        hosts: None,
        control: None,
        ecn: false,
        offload: None,
        spin: false,
        internet: false,
        capture: None,
        door: None,
    }
}

fn run(asked: &Shell) -> Result<Ended, ShellError> {
    shell(asked, &(), &Window::default())
}

fn value(ended: &Ended, expression: &str) -> f64 {
    let expression = Expression::parse(expression).unwrap();
    expression.evaluate(&Frame::new(&ended.run)).unwrap().value.number
}

fn total(ended: &Ended, subject: &str, name: &str) -> f64 {
    of_total(&ended.run, subject, name)
}

fn of_total(run: &Run, subject: &str, name: &str) -> f64 {
    let table = run.table("totals").unwrap();
    let (subjects, names) = (table.text("subject"), table.text("name"));
    let row = (0..table.len())
        .find(|&row| subjects.get(row) == subject && names.get(row) == name)
        .unwrap_or_else(|| panic!("no {subject} {name}"));
    table.f64("value")[row]
}

/// A command takes a megabyte from a server of the machine's, by the machine's own address, through the queue. A port of the
/// machine's loopback address is out of reach.
fn a_shell_leads_to_the_machines_network() {
    let to_anywhere = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.77:9")?;
        socket.local_addr()
    });
    let is_there = std::process::Command::new("pasta").arg("--version").output().is_ok();
    let Some(own) = to_anywhere.ok().filter(|own| is_there && !own.ip().is_loopback()) else {
        eprintln!("a_shell_leads_to_the_machines_network is left out: no pasta, or no network");
        return;
    };
    let listener = TcpListener::bind((own.ip(), 0)).expect("listens");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.write_all(&vec![7; 1_000_000]);
        }
    });
    let mut asked = asked(&format!("SELF as-receiver {address} 1000000"), &[]);
    asked.internet = true;
    let ended = run(&asked).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(ended.status, Some(0), "{:?}", ended.lacking);
    let entered = of_total(&ended.run, "link.down.qdisc", "entered");
    assert!(entered > 690.0, "{entered} packets");
}

fn a_download_passes_the_queue() {
    let mut asked =
        asked("SELF as-receiver 10.9.9.1:8000 1000000", &["SELF as-sender 8000 1000000"]);
    asked.servers.push(words("SELF as-sender 8001 5"));
    let ended = run(&asked).unwrap();
    assert_eq!((ended.status, &ended.lacking), (Some(0), &Vec::new()));
    let scenario = &ended.run.scenario;
    scenario.check().unwrap();
    // Connections that were refused before the server listened are flows, too.
    let is_large =
        |traffic: &Traffic| matches!(traffic, Traffic::Tcp(tcp) if tcp.bytes == Some(1_000_000));
    let downloads: Vec<_> = scenario.flows.iter().filter(|f| is_large(&f.traffic)).collect();
    assert_eq!(downloads.len(), 1, "{:?}", scenario.flows);
    assert_eq!(downloads[0].direction, Direction::Down);
    // The queue carried payload, headers and retransmissions.
    assert!(total(&ended, "link.down.qdisc", "left") >= 1_000_000.0 / 1448.0);
    assert_eq!(total(&ended, "live", "socket_drops"), 0.0);
    assert_eq!(total(&ended, "live", "unknown_frames"), 0.0);
    // At 20 Mbit/s nothing is faster than that.
    let seconds = scenario.duration.as_secs_f64();
    assert!(seconds > 8e6 / 20e6, "{seconds} s");
    assert!(value(&ended, &format!("mean(rtt, {}) over last 300ms", downloads[0].name)) >= 0.020);
}

fn the_status_is_the_commands() {
    assert_eq!(run_status("exit 7"), 7);
    assert_eq!(run_status("kill -9 $$"), 137);
}

fn run_status(script: &str) -> i32 {
    let command = vec!["sh".into(), "-c".into(), script.into()];
    run(&Shell { command, ..asked("true", &[]) }).unwrap().status.unwrap()
}

fn connections_take_the_control_of_the_route() {
    let base = asked("SELF as-receiver 10.9.9.1:8000 300000", &["SELF as-sender 8000 300000"]);
    let ended = run(&Shell { control: Some("reno".to_owned()), ecn: true, ..base }).unwrap();
    let found = ended.run.scenario.flows.iter().find_map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) if tcp.bytes == Some(300_000) => Some(tcp.clone()),
        _ => None,
    });
    let found = found.expect("the download");
    assert_eq!((found.cc.as_str(), format!("{:?}", found.ecn)), ("reno", "Rfc3168".to_owned()));
}

fn a_command_that_is_not_there_is_named() {
    let error = run(&asked("/no/such/program", &[])).unwrap_err().to_string();
    assert!(error.starts_with("starting /no/such/program: No such file"), "{error}");
}

/// Neither by `exec` nor by a user namespace of its own does a program get a capability over the relay's namespaces.
fn programs_have_no_capability() {
    let script = "grep -q '^CapEff:.0*$' /proc/self/status || exit 3; \
                  grep -q '^CapBnd:.0*$' /proc/self/status || exit 4; \
                  grep -q '^NoNewPrivs:.1$' /proc/self/status || exit 5; \
                  nsenter --net=/proc/1/ns/net true 2>/dev/null && exit 6; \
                  unshare -Ur nsenter --net=/proc/1/ns/net true 2>/dev/null && exit 7; \
                  kill -9 1 2>/dev/null; \
                  ip link set net0 down 2>/dev/null && exit 9; exit 0";
    assert_eq!(run_status(script), 0);
}

/// A grandchild that ignores every signal it can is gone when the shell is.
fn nothing_outlives_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; (trap '' HUP INT TERM; echo x > begun; while :; do sleep 0.02; touch alive; done) & \
         while ! test -e begun; do sleep 0.02; done",
        folder.path().display()
    );
    assert_eq!(run_status(&script), 0);
    let alive = folder.path().join("alive");
    let _ = std::fs::remove_file(&alive);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!alive.exists(), "it still runs");
}

fn a_cancelled_shell_ends() {
    struct Cancel;
    impl sojourn_engine::Watch for Cancel {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let error = shell(&asked("sleep 100", &[]), &Cancel, &Window::default()).unwrap_err();
    assert_eq!(error, ShellError::Run(RunError::Cancelled));
}

/// An experiment of this length, hop and flows on the live engine.
fn live(duration: &str, hop: &str, rest: &str) -> (Scenario, Live) {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"{duration}\"\nping = false\nwarmup = \"0s\"\n\
         sample_interval = \"50ms\"\n[[hop]]\nname = \"link\"\n{hop}\n{rest}"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 1).unwrap_or_else(|e| panic!("{e}"));
    (plan.scenarios().next().expect("one"), Live::new(helper()))
}

fn made((scenario, engine): (Scenario, Live)) -> Run {
    assert_eq!(engine.refuse(&scenario), []);
    engine.run(&Arc::new(scenario), &()).unwrap_or_else(|e| panic!("{e}"))
}

fn of(run: &Run, expression: &str) -> f64 {
    let expression = Expression::parse(expression).unwrap();
    expression.evaluate(&Frame::new(run)).unwrap().value.number
}

fn an_experiment_has_kernel_tcp_udp_and_pings() {
    let flows = "[[flow]]\nname = \"down\"\ncc = \"reno\"\n\
                 [[flow]]\nname = \"up\"\ncc = \"cubic\"\ndirection = \"up\"\necn = \"rfc3168\"\n\
                 [[flow]]\nname = \"udp\"\nstart = \"0.5s\"\nudp = { rate = \"1mbit\", payload = 500 }\n\
                 [[flow]]\nname = \"ping\"\nping = { interval = \"100ms\" }\n";
    let run = made(live("2s", "rate = \"10mbit\"\nqdisc = \"fq_codel\"\nrtt = \"30ms\"", flows));
    let down = of(&run, "goodput(down) over last 1s");
    assert!((1e6..9.6e6).contains(&down), "{down}");
    assert!(of(&run, "goodput(up) over last 1s") > 1e6);
    let udp = of(&run, "goodput(udp) over last 1s");
    assert!((5e5..1.2e6).contains(&udp), "{udp}");
    assert!(of(&run, "min(rtt, ping)") >= 0.030);
    assert!(of(&run, "mean(srtt, down) over last 1s") >= 0.030);
    let [cpu, wait] =
        ["hosts_cpu_share", "hosts_wait_share"].map(|name| of_total(&run, "live", name));
    assert!((0.0..1.0).contains(&cpu) && wait >= 0.0, "{cpu} {wait}");
    let pings = run.table("pings").unwrap().len();
    assert!((15..=21).contains(&pings), "{pings}");
    assert_eq!(run.engine.name, "live");
}

/// The same datagrams, at twice the link's rate, through the kernel's `pfifo` under its token bucket and through ours: a queue of
/// 20 packets of 1042 bytes is full, and half of them are dropped, which the kernel's call reports. The books balance.
fn a_queue_by_the_kernel_is_its_own() {
    let rest = "[[flow]]\nname = \"f\"\nudp = { rate = \"4mbit\", payload = 1000 }\n";
    let hop = "rate = \"2mbit\"\nqdisc = \"pfifo limit 20\"\nrtt = \"10ms\"";
    for by in ["kernel", "sojourn"] {
        let (scenario, engine) = live("3s", &format!("{hop}\nby = \"{by}\""), rest);
        if let Some(why) = engine.refuse(&scenario).first() {
            assert!(by == "kernel" && why.why.contains("this machine's kernel"), "{why}");
            eprintln!("a queue by the kernel is left out: {why}");
            continue;
        }
        let run = made((scenario, engine));
        let of = |name: &str| of_total(&run, "link.down.qdisc", name);
        let (entered, left, dropped) = (of("entered"), of("left"), of("dropped"));
        assert!((500.0..1600.0).contains(&entered), "{by}: {entered} entered");
        assert!((0.2..0.7).contains(&(dropped / entered)), "{by}: {dropped} of {entered}");
        assert!((0.0..=22.0).contains(&(entered - left - dropped)), "{by}: {left} left");
        let goodput = self::of(&run, "goodput(f) over last 1s");
        assert!((1.2e6..2e6).contains(&goodput), "{by}: {goodput}");
        // 21 packets at 2 Mbit/s.
        let table = run.table("queues").unwrap();
        let is_it = |&row: &usize| {
            table.text("queue").get(row) == "link.down.qdisc" && table.f64("t_s")[row] > 2.0
        };
        let rows: Vec<usize> = (0..table.len()).filter(is_it).collect();
        let mean = rows.iter().map(|&row| table.f64("sojourn_mean_s")[row]).sum::<f64>();
        let sojourn = mean / rows.len() as f64;
        assert!((0.04..0.15).contains(&sojourn), "{by}: {sojourn}");
        let table = run.table("tc").unwrap();
        let is_its = |row| table.text("subject").get(row) == "link.down.qdisc";
        let text =
            (0..table.len()).filter(|&row| is_its(row)).map(|row| table.text("text").get(row));
        let text: String = text.collect();
        assert!(text.contains("pfifo") || text.contains("limit 20"), "{by}: {text}");
    }
}

/// What no kernel can do, what ours does not change, and a discipline that no kernel has.
fn what_a_kernel_lacks_is_refused_by_name() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"reno\"\n";
    let refused = |hop: &str, rest: &str| {
        let hop = format!("rtt = \"10ms\"\nby = \"kernel\"\n{hop}");
        let (scenario, engine) = live("1s", &hop, &format!("{flow}{rest}"));
        let said: Vec<String> = engine.refuse(&scenario).iter().map(ToString::to_string).collect();
        said.join("\n")
    };
    let fifo = "rate = \"10mbit\"\nqdisc = \"pfifo\"";
    let said = refused(fifo, "");
    // Without iproute2, or a kernel with htb, everything is.
    assert!(said.is_empty() || said.contains("pfifo by the kernel: "), "{said}");
    let line = refused(&format!("{fifo}\nshaper = \"line\""), "");
    assert!(line.contains("link.down.qdisc: shaper line: a kernel's device has no rate"), "{line}");
    let event = "[[event]]\nname = \"e\"\nat = \"100ms\"\nhop = \"link\"\nrate = \"1mbit\"\n";
    let said = refused(fifo, event);
    assert!(said.contains("event e: changes of a queue by the kernel: "), "{said}");
    let said = refused("rate = \"10mbit\"\nqdisc = \"lfq_cobalt\"", "");
    assert!(
        said.contains("lfq_cobalt by the kernel: this machine's kernel does not take it: tc "),
        "{said}"
    );
}

fn events_change_the_path() {
    let rest = "[[flow]]\nname = \"f\"\nudp = { rate = \"4mbit\", payload = 1000 }\n\
                [[event]]\nname = \"slow\"\nat = \"1s\"\nhop = \"link\"\nrate = \"1mbit\"\n\
                [[window]]\nname = \"before\"\nfrom = \"0.2s\"\nto = \"0.9s\"\n\
                [[window]]\nname = \"after\"\nfrom = \"1.2s\"\nto = \"2s\"\n";
    let run = made(live("2s", "rate = \"8mbit\"\nqdisc = \"pfifo limit 5\"\nrtt = \"10ms\"", rest));
    let events = run.table("events").unwrap();
    assert!((0..events.len()).any(|row| events.text("subject").get(row) == "event slow"));
    // The flow lost the packets that the path dropped.
    let dropped = of_total(&run, "f", "packets_dropped");
    let lost = run.table("flows").unwrap().u64("lost").iter().copied().max();
    assert!(dropped > 100.0 && lost == Some(dropped as u64), "{dropped} and {lost:?}");
    let before = of(&run, "goodput(f) over before");
    let after = of(&run, "goodput(f) over after");
    assert!((2e6..5e6).contains(&before), "{before}");
    // 1000 bytes of 1042, counted as 1056 with what a link adds.
    assert!((5e5..1e6).contains(&after), "{after}");
}

/// A transfer's end, an event, a phase and a window are waited for; the last of 100 kB have come when the path changes.
fn events_follow_what_happens() {
    let rest = "[[flow]]\nname = \"f\"\ncc = \"reno\"\nbytes = \"100k\"\n\
                [[flow]]\nname = \"g\"\ncc = \"reno\"\nstart = \"0.1s\"\n\
                [[event]]\nname = \"after\"\nat = \"flow f ends + 100ms\"\nhop = \"link\"\nrate = \"5mbit\"\n\
                [[event]]\nname = \"then\"\nat = \"event after + 50ms\"\nhop = \"link\"\nrate = \"6mbit\"\n\
                [[event]]\nname = \"all\"\nat = \"workload ends\"\nhop = \"link\"\nrtt = \"20ms\"\n\
                [[event]]\nname = \"window\"\nat = \"flow g cwnd > 10\"\nhop = \"link\"\nrate = \"7mbit\"\n\
                [[phase]]\nname = \"p\"\nfrom = \"flow f starts\"\nto = \"flow f ends\"\n";
    let run = made(live("2s", "rate = \"10mbit\"\nqdisc = \"pfifo\"\nrtt = \"10ms\"", rest));
    let events = run.table("events").unwrap();
    let at = |what: &str, subject: &str| {
        let is_it = |&row: &usize| {
            events.text("what").get(row) == what && events.text("subject").get(row) == subject
        };
        let row = (0..events.len()).find(is_it);
        events.f64("t_s")[row.unwrap_or_else(|| panic!("no {what} of {subject}"))]
    };
    let ended = at("end", "flow f");
    assert!(at("event", "event after") >= ended + 0.0999);
    assert!(at("event", "event then") >= at("event", "event after") + 0.0499);
    assert!(at("event", "event all") >= ended);
    assert!(at("event", "event window") > at("start", "flow g"));
    assert!(at("start", "phase p") >= at("start", "flow f") && at("end", "phase p") >= ended);
}

fn a_transfer_completes() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\nbytes = \"100k\"\n\
                [[flow]]\nname = \"never\"\ncc = \"cubic\"\nstart = \"0.5s\"\nbytes = \"100mb\"\nstop = \"0.8s\"\n";
    let run = made(live("1s", "rate = \"10mbit\"\nqdisc = \"pfifo\"\nrtt = \"10ms\"", flow));
    let table = run.table("completions").unwrap();
    let of: Vec<_> = (0..table.len())
        .map(|row| (table.text("flow").get(row), table.f64("duration_s")[row] > 0.08))
        .collect();
    assert_eq!(of, [("f", true), ("never", false)]);
    assert!(table.f64("duration_s")[1].is_nan());
}

fn what_it_cannot_run_is_refused_by_name() {
    let flows = "[[flow]]\nname = \"a\"\ncc = \"no_such_control\"\n\
                 [[flow]]\nname = \"b\"\ncc = \"cubic\"\necn = \"accecn\"\n\
                 [[flow]]\nname = \"c\"\nvoip = {}\n\
                 [[event]]\nname = \"e\"\nat = \"flow a alpha > 0.5\"\nhop = \"link\"\nrate = \"1mbit\"\n";
    let (scenario, engine) =
        live("1s", "rate = \"10mbit\"\nqdisc = \"pfifo\"\nrtt = \"10ms\"", flows);
    let said: Vec<String> = engine.refuse(&scenario).iter().map(ToString::to_string).collect();
    let said = said.join("\n");
    for part in [
        "flow a: congestion control no_such_control: this machine's kernel has ",
        "flow b: ecn accecn: ",
        "flow c: traffic voip: ",
        "event e: alpha of flow a: a kernel shows a TCP sender's cwnd",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

/// The explicit name of the default.
fn the_stack_is_the_host_s() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"reno\"\nbytes = \"20k\"\n";
    let hop = "rate = \"10mbit\"\nqdisc = \"fq_codel\"\nrtt = \"10ms\"";
    let (mut scenario, engine) = live("300ms", hop, flow);
    let stacks = |scenario: &mut Scenario, stack: &str| {
        stack.clone_into(&mut scenario.stack);
        stack.clone_into(&mut scenario.hops[0].stack);
        stack.clone_into(&mut scenario.flows[0].stack);
    };
    stacks(&mut scenario, "linux-5.4");
    let said: Vec<String> = engine.refuse(&scenario).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("write stack = \"host\" or leave it out"), "{said:?}");
    stacks(&mut scenario, "host");
    let run = made((scenario, engine));
    assert_eq!(run.table("completions").unwrap().len(), 1);
}

const LINK: &str = "rate = \"20mbit\"\nqdisc = \"fq_codel\"\nrtt = \"20ms\"";

/// A server that sends this number of bytes to whoever connects to port 80, and a client that takes them over two connections.
fn pages(name: &str, bytes: u32) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\n[flow.program]\nserver = [\"/usr/bin/python3\", \"www/serve.py\"]\n\
         client = [\"/usr/bin/python3\", \"fetch.py\"]\nready = \"port 80\"\n[flow.program.files]\n\
         \"www/serve.py\" = '''
import socket
s = socket.create_server(('', 80))
while True:
    c, _ = s.accept()
    c.sendall(bytes({bytes}))
    c.close()
'''
\"fetch.py\" = '''
import socket, threading
def get():
    n, s = 0, socket.create_connection(('server', 80))
    while part := s.recv(1 << 16): n += len(part)
    print('{name}', n, flush=True)
them = [threading.Thread(target=get) for _ in range(2)]
for t in them: t.start()
for t in them: t.join()
'''
"
    )
}

/// A client alone, of Python.
fn alone(more: &str, python: &str) -> String {
    format!(
        "[[flow]]\nname = \"page\"\n[flow.program]\nclient = [\"/usr/bin/python3\", \"it.py\"]\n{more}\n\
         [flow.program.files]\n\"it.py\" = '''\n{python}\n'''\n"
    )
}

fn output(run: &Run) -> Vec<String> {
    let table = run.table("output").expect("the table");
    let of = |column: &str, row: usize| table.text(column).get(row).to_owned();
    let line = |row| format!("{} {}: {}", of("flow", row), of("program", row), of("text", row));
    (0..table.len()).map(line).collect()
}

/// Next to a TCP of the kernel's. All packets of each belong to it.
fn two_flows_of_programs_have_the_same_port() {
    let kernel = "[[flow]]\nname = \"k\"\ncc = \"reno\"\n\
                  [[window]]\nname = \"all\"\nfrom = \"0s\"\nto = \"6s\"\n"
        .to_owned();
    let flows = [pages("a", 500_000), pages("b", 300_000), kernel].concat();
    let run = made(live("6s", LINK, &flows));
    let said = output(&run);
    for line in ["a client: a 500000", "b client: b 300000"] {
        assert_eq!(said.iter().filter(|l| *l == line).count(), 2, "{said:?}");
    }
    let table = run.table("completions").unwrap();
    let found: Vec<_> = (0..table.len())
        .map(|row| (table.text("flow").get(row), table.u64("bytes")[row]))
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&("a", 1_000_000)) && found.contains(&("b", 600_000)), "{found:?}");
    let flows = run.table("flows").unwrap();
    for (flow, bytes) in [("a", 1e6), ("b", 6e5)] {
        // At 20 Mbit/s nothing is faster than that.
        assert!(
            of(&run, &format!("median(completion_time, {flow}) over all")) > bytes * 8.0 / 20e6
        );
        assert!(of_total(&run, flow, "packets_arrived") >= bytes / 1448.0);
        assert!(of(&run, &format!("min(packet_owd, {flow}) over all")) >= 0.010);
        let rows = || (0..flows.len()).filter(|&row| flows.text("flow").get(row) == flow);
        // Each connection begins with a window of ten.
        assert!(rows().map(|row| flows.u64("cwnd")[row]).max() >= Some(10));
        assert!(rows().map(|row| flows.u64("delivered")[row]).max() > Some(10));
        assert!(rows().any(|row| flows.f64("srtt_s")[row] >= 0.020));
        assert!(rows().all(|row| flows.u64("retransmits")[row] < 1000));
    }
    assert!(of(&run, "goodput(k)") > 1e6);
    assert_eq!(of_total(&run, "live", "socket_drops"), 0.0);
}

fn datagrams_of_programs_pass_over_ipv6() {
    if !std::path::Path::new("/proc/net/if_inet6").exists() {
        return;
    }
    let flow = "[[flow]]\nname = \"d\"\nip = 6\n[flow.program]\nserver = [\"/usr/bin/python3\", \"serve.py\"]\n\
        client = [\"/usr/bin/python3\", \"ask.py\"]\nready = \"output bound\"\n[flow.program.files]\n\"serve.py\" = '''
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', 443))
print('bound', flush=True)
_, who = s.recvfrom(10)
for i in range(50): s.sendto(bytes(1000), who)
s.recvfrom(10)
'''
\"ask.py\" = '''
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.connect(('server', 443))
s.send(b'go')
print(sum(len(s.recv(2000)) for _ in range(50)))
'''
";
    let run = made(live("5s", LINK, flow));
    assert!(output(&run).contains(&"d client: 50000".to_owned()), "{:?}", output(&run));
    assert_eq!(run.table("completions").unwrap().u64("bytes"), [50_000]);
    // 1062 bytes each at 20 Mbit/s, one way there and one back; HTB's bucket lets the first through at once.
    assert!(of(&run, "median(completion_time, d)") > 0.020 + 45.0 * 1062.0 * 8.0 / 20e6);
}

/// What it sees of the machine: nothing of this process's environment and of the user's files, and no other network.
fn a_program_of_a_flow_is_confined() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::fs::write(outside.path().join("given"), "given").unwrap();
    let at = outside.path().display();
    let python = format!(
        r"
import os, socket
def said(what, do):
    try:
        do()
        print(what, 'yes', flush=True)
    except OSError as e:
        print(what, 'no', flush=True)
print('environment', sorted(os.environ), flush=True)
print('folder', os.getcwd(), sorted(os.listdir()), flush=True)
said('reads', lambda: open('{at}/secret').read())
said('writes', lambda: open('{at}/new', 'w'))
said('changes', lambda: open('{at}/given', 'w'))
said('own', lambda: open('/tmp/new', 'w'))
os.mkdir('/tmp/folder')
said('moves', lambda: os.rename('/tmp/new', '/tmp/folder/new'))
said('null', lambda: open('/dev/null', 'w').write('x'))
said('random', lambda: open('/dev/urandom', 'rb').read(4))
s = socket.socket()
s.settimeout(1)
said('out', lambda: s.connect(('192.0.2.1', 80)))
said('name', lambda: socket.getaddrinfo('example.com', 80))
said('server', lambda: socket.getaddrinfo('server', 80))
said('low port', lambda: socket.create_server(('', 22)))
caps = [l for l in open('/proc/self/status') if l.startswith('CapEff')]
print('capabilities', int(caps[0].split()[1], 16))
"
    );
    let run = made(live("5s", LINK, &alone("environment = { OWN = \"value\" }", &python)));
    let said = output(&run);
    let lines: Vec<&str> = said.iter().map(|l| l.trim_start_matches("page client: ")).collect();
    // Without Landlock it reads all that the user can; below /tmp it sees its own folder.
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let is_hidden =
        outside.path().starts_with("/tmp") || symbols.contains("landlock_restrict_self");
    let reads = format!("reads {}", if is_hidden { "no" } else { "yes" });
    let expected = [
        "environment ['HOME', 'LANG', 'OWN', 'PATH', 'SOJOURN_CLIENT', 'SOJOURN_SERVER', 'TERM', 'TMPDIR']",
        "folder /tmp ['it.py']",
        &reads,
        "writes no",
        "changes no",
        "own yes",
        "moves yes",
        "null yes",
        "random yes",
        "out no",
        "name no",
        "server yes",
        "low port yes",
        "capabilities 0",
    ];
    assert_eq!(lines, expected);
    assert!(!outside.path().join("new").exists());
}

fn what_programs_do_wrong_is_said() {
    let cases = [
        (
            alone("", "print('cannot'); raise SystemExit(7)"),
            "flow page: its client ended with exit status 7; expected: exit status 0; the last that it wrote: cannot",
        ),
        (alone("", "import os; os.kill(os.getpid(), 11)"), "its client was ended by signal 11"),
        (
            alone("within = \"500ms\"", "import time; time.sleep(100)"),
            "its client still ran after the 0.5 s that it was given",
        ),
        (alone("", "while True: print('x' * 1000)"), "its client wrote more than 4 MiB of output"),
        (
            alone("server = [\"sh\", \"-c\", \"exit 4\"]", ""),
            "its server ended with exit status 4 before its client; it wrote nothing",
        ),
        (
            alone("server = [\"sleep\", \"1000\"]", ""),
            "its server was not ready when the run ended",
        ),
    ];
    for (flow, wanted) in cases {
        let (scenario, engine) = live("3s", LINK, &flow);
        match engine.run(&Arc::new(scenario), &()) {
            Err(RunError::Environment { why, .. }) => assert!(why.contains(wanted), "{why}"),
            other => panic!("it does not fail: {:?}\n{flow}", other.map(|run| output(&run))),
        }
    }
}

/// By an event, and by its `stop`: a client that ignores SIGTERM is killed a second later.
fn a_flow_of_programs_starts_and_stops() {
    let page = alone("exit = 3", "import time\ntime.sleep(0.2)\nraise SystemExit(3)");
    let stubborn = alone(
        "",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         while True:\n    print('alive', flush=True)\n    time.sleep(0.05)",
    );
    let rest = [
        page,
        stubborn
            .replace("\"page\"", "\"stubborn\"")
            .replace("[flow.program]\n", "stop = \"1s\"\n[flow.program]\n"),
        "[[event]]\nname = \"go\"\nat = \"500ms\"\nstart = [\"page\"]\n\
         [[event]]\nname = \"then\"\nat = \"flow page ends + 100ms\"\nhop = \"link\"\nrate = \"5mbit\"\n"
            .to_owned(),
    ];
    let run = made(live("3500ms", LINK, &rest.concat()));
    let events = run.table("events").unwrap();
    let at = |what: &str, subject: &str| {
        let is_it = |&row: &usize| {
            events.text("what").get(row) == what && events.text("subject").get(row) == subject
        };
        let row = (0..events.len()).find(is_it);
        let row = row.unwrap_or_else(|| panic!("no {what} of {subject}"));
        (events.f64("t_s")[row], events.text("detail").get(row))
    };
    assert!(at("start", "flow page").0 >= 0.5);
    assert_eq!(at("end", "flow page").1, "ended with exit status 3");
    assert!(at("event", "event then").0 >= at("end", "flow page").0 + 0.0999);
    assert_eq!(at("end", "flow stubborn").1, "stopped");
    let table = run.table("completions").unwrap();
    let ended: Vec<(&str, bool)> = (0..table.len())
        .map(|row| (table.text("flow").get(row), table.f64("duration_s")[row].is_nan()))
        .collect();
    assert_eq!(ended, [("page", false), ("stubborn", true)]);
    let lines = run.table("output").unwrap();
    let last = (0..lines.len()).rfind(|&row| lines.text("text").get(row) == "alive");
    let last = lines.f64("t_s")[last.expect("it runs")];
    assert!((1.0..3.3).contains(&last), "{last}");
}

/// At the end of the run a client is gone, and so are its children; its lines are there, and it has no completion.
fn programs_end_with_the_run() {
    let python = "import os, time\nif os.fork() == 0: os.setsid()\nprint('begun', flush=True)\n\
                  print('half', end='', flush=True)\ntime.sleep(123)";
    let run = made(live("1s", LINK, &alone("", python).replace("it.py", "lives-on.py")));
    let said = output(&run);
    assert_eq!(said.iter().filter(|l| l.contains("begun")).count(), 2, "{said:?}");
    assert!(said.iter().any(|l| l.contains("half")), "{said:?}");
    assert!(run.table("completions").unwrap().f64("duration_s").iter().all(|d| d.is_nan()));
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("/usr/bin/python3\0lives-on.py")
    });
    assert!(!left, "a program of the flow still runs");
}

fn programs_that_cannot_run_are_refused() {
    let flow = "[[flow]]\nname = \"p\"\ndscp = 46\n[flow.program]\nclient = [\"no-such-program\"]\ncpu_limit = \"2s\"\n";
    let refused = |flows: &str| {
        let (scenario, engine) = live("1s", LINK, flows);
        let said: Vec<String> = engine.refuse(&scenario).iter().map(ToString::to_string).collect();
        said.join("\n")
    };
    let said = refused(flow);
    for part in [
        "flow p: the client no-such-program: this machine has no such program",
        "flow p: a DSCP: a program chooses the DSCP of its packets",
        "flow p: cpu_limit: this machine's clock goes on whatever a program computes",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let many: String = (0..17).map(|n| pages(&format!("f{n}"), 1)).collect();
    let said = refused(&many);
    assert!(said.contains("flows: more than 16 flows of programs"), "{said}");
}

fn super_packets_are_split() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
    let run = made(live("1s", "rate = \"400mbit\"\nqdisc = \"fq_codel\"\nrtt = \"2ms\"", flow));
    assert!(of_total(&run, "live", "super_packets") > 0.0);
    let sent = of_total(&run, "link.down.qdisc", "left");
    let frames = of_total(&run, "live", "frames");
    assert!(sent > frames / 2.0, "{sent} packets of {frames} frames");
    assert_eq!(of_total(&run, "live", "oversized_frames"), 0.0);
    assert!(of(&run, "goodput(f)") > 1e7);
}

fn packets_are_captured() {
    struct Wish(PathBuf);
    impl sojourn_engine::Watch for Wish {
        fn capture(&self) -> Option<Capture> {
            Some(Capture { folder: self.0.clone(), snap_len: 96 })
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let flow = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\nbytes = \"20k\"\n";
    let (scenario, engine) =
        live("300ms", "rate = \"10mbit\"\nqdisc = \"pfifo\"\nrtt = \"10ms\"", flow);
    engine.run(&Arc::new(scenario), &Wish(folder.path().to_owned())).unwrap();
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
    // At least 14 segments, at each point.
    for name in ["server.pcap", "link.left.pcap", "link.right.pcap", "client.pcap"] {
        assert!(size(name) > 14 * 96, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
}

/// The first file is one that takes nothing.
fn a_full_disk_ends_a_run_and_says_so() {
    struct Wish(PathBuf);
    impl sojourn_engine::Watch for Wish {
        fn capture(&self) -> Option<Capture> {
            Some(Capture { folder: self.0.clone(), snap_len: 1500 })
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".unfinished-server.pcap");
    std::os::unix::fs::symlink("/dev/full", file).unwrap();
    let flow = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
    let hop = "rate = \"50mbit\"\nqdisc = \"pfifo\"\nrtt = \"1ms\"";
    let (scenario, engine) = live("5s", hop, flow);
    let error = engine.run(&Arc::new(scenario), &Wish(folder.path().to_owned())).unwrap_err();
    assert!(error.to_string().contains("server.pcap cannot be written"), "{error}");
}

/// Process IDs of the helpers that this process has started, or of their children.
fn children(of: &str) -> Vec<String> {
    let text = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| text(format!("{}/children", task.path().display())));
    lists.flat_map(|list| list.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A shell that waits, while something happens to its helper, or to PID 1 of its namespaces.
fn disturbed(happens: impl FnOnce(&str, &str)) -> ShellError {
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let script = format!("touch {}; sleep 100", begun.display());
    let command = vec!["sh".into(), "-c".into(), script.clone().into()];
    let asked = Shell { command, ..asked("true", &[]) };
    std::thread::scope(|scope| {
        let shell = scope.spawn(|| run(&asked));
        while !begun.exists() {
            assert!(!shell.is_finished(), "it ended before it began");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Other tests have helpers, too: ours has this script below it.
        let is_ours = |pid: &String| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&script)
        };
        let first = children("self").into_iter().find_map(|helper| {
            let first = children(&helper).into_iter().find(|pid| !pid.is_empty())?;
            children(&first).iter().any(is_ours).then_some((helper, first))
        });
        let (helper, first) = first.expect("PID 1");
        happens(&helper, &first);
        shell.join().unwrap().map(|ended| ended.status).unwrap_err()
    })
}

fn command(words: &[&str]) -> bool {
    let done = std::process::Command::new(words[0]).args(&words[1..]).status();
    done.is_ok_and(|status| status.success())
}

fn a_killed_helper_ends_a_shell() {
    for number in 0..2 {
        let kill = |helper: &str, first: &str| {
            assert!(command(&["kill", "-9", [helper, first][number]]));
        };
        let error = disturbed(kill);
        assert!(error.to_string().contains("the helper"), "{error}");
    }
}

/// Root removes it from outside; programs in the namespaces cannot.
fn a_removed_interface_ends_a_shell() {
    // The helper stays in the relay's namespace.
    let enter = |helper: &str, _: &str| {
        let target = format!("--target={helper}");
        let words = ["nsenter", &target, "--user", "--net", "--preserve-credentials"];
        assert!(command(&[&words[..], &["ip", "link", "delete", "client"]].concat()));
    };
    if !command(&["sh", "-c", "command -v nsenter && command -v ip >&2"]) {
        return;
    }
    let error = disturbed(enter);
    assert!(error.to_string().contains("the interface to the client is gone"), "{error}");
}

/// Some hundred processes, and all end with the shell.
fn a_program_that_forks_without_end_ends() {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    let script = format!(
        "while :; do (while :; do sleep 0.1; touch {0}; done) & sleep 0.002; done",
        alive.display()
    );
    let base = asked("true", &[]);
    let mut scenario = base.scenario.clone();
    scenario.duration = sojourn_units::Span::from_millis(500);
    let command = vec!["sh".into(), "-c".into(), script.into()];
    let ended = run(&Shell { command, scenario, ..base }).unwrap();
    assert_eq!(ended.status, None);
    let _ = std::fs::remove_file(&alive);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!alive.exists());
}

fn all_packets_may_be_lost() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\nbytes = \"10k\"\n\
                [[flow]]\nname = \"p\"\nping = { interval = \"50ms\" }\n";
    let hop = "rate = \"10mbit\"\nqdisc = \"pfifo\"\nrtt = \"1ms\"\nnetem = [\"loss 100%\"]";
    let run = made(live("500ms", hop, flow));
    let pings = run.table("pings").unwrap();
    assert!(pings.len() > 5 && pings.f64("rtt_s").iter().all(|rtt| rtt.is_nan()));
    assert_eq!(of_total(&run, "link.down.qdisc", "left"), 0.0);
}

/// The kernel's count of marks has every packet that an acknowledgement with ECE covers; ours has those that arrived marked.
fn marks_are_counted_once() {
    let flow = "[[flow]]\nname = \"f\"\ncc = \"reno\"\necn = \"rfc3168\"\n";
    let run = made(live("2s", "rate = \"10mbit\"\nqdisc = \"fq_codel\"\nrtt = \"20ms\"", flow));
    let marked = of_total(&run, "link.down.qdisc", "marked");
    let flows = run.table("flows").unwrap();
    let most = |column: &str| flows.u64(column).iter().copied().max().unwrap_or(0) as f64;
    assert!(marked > 0.0);
    // Some marked packets may be on their way at the end.
    assert!(most("ce") <= marked && most("ce") >= marked - 20.0, "{} of {marked}", most("ce"));
    assert!(most("ece") >= most("ce"), "an echo lasts until CWR");
}
