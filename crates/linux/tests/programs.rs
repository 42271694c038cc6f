//! Programs of the machine in a guest: their packets belong to a flow, and their failures are errors. Without a kernel
//! in the cache these tests are ignored, and counted as that (`make test-linux`).

mod common;

use libtest_mimic::Arguments;
use sojourn_engine::{Engine as _, RunError};
use sojourn_language::{AnyWords, Experiment};
use sojourn_linux::Linux;
use sojourn_model::Scenario;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_results::{Run, Table};
use std::fmt::Write as _;
use std::process::Command;

/// A run of one flow of programs, with these words in its table.
fn scenario(program: &str, more: &str) -> (Linux, Scenario) {
    let linux = Linux::new();
    let stack = linux.kernels().last().expect("a kernel in the cache").stack();
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"20s\"\nstack = \"{stack}\"\n[[hop]]\nname = \"link\"\nrate = \"20mbit\"\n\
         rtt = \"40ms\"\nqdisc = \"fq_codel\"\n[[window]]\nname = \"all\"\nfrom = \"0s\"\nto = \"20s\"\n[[flow]]\nname = \"page\"\n{more}\n[flow.program]\n{program}\n"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 10).unwrap_or_else(|e| panic!("{e}"));
    (linux, plan.into_scenarios().remove(0))
}

fn run(program: &str, more: &str) -> Run {
    let (linux, scenario) = scenario(program, more);
    let refused = linux.refuse(&scenario);
    assert!(refused.is_empty(), "{refused:?}");
    linux.run(&scenario.clone().into(), &()).unwrap_or_else(|e| panic!("{e}"))
}

/// The error of programs that fail.
fn failure(program: &str) -> String {
    let (linux, scenario) = scenario(program, "");
    match linux.run(&scenario.clone().into(), &()) {
        Err(RunError::Environment { why, .. }) => why,
        other => panic!("it does not fail: {:?}", other.map(|run| output(&run))),
    }
}

fn output(run: &Run) -> Vec<String> {
    let table = run.table("output").expect("the table");
    let (programs, texts) = (table.text("program"), table.text("text"));
    (0..table.len()).map(|i| format!("{}: {}", programs.get(i), texts.get(i))).collect()
}

/// Every table, bit by bit.
fn bits(run: &Run) -> Vec<String> {
    run.tables.iter().map(Table::digest).collect()
}

fn value(run: &Run, text: &str) -> f64 {
    Expression::parse(text).unwrap().evaluate(&Frame::new(run)).unwrap().value.number
}

/// A server with 5 MB a request, and a client that asks with several threads. Python, for every machine that tests has
/// it.
fn pages(tls: bool) -> String {
    let mut files = String::new();
    let (mut wrap, mut context) = (String::new(), "c = None".to_owned());
    if tls {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=server"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .current_dir(folder.path())
            .output()
            .expect("openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for name in ["key.pem", "certificate.pem"] {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
            let _ = writeln!(files, "\"{name}\" = '''{text}'''");
        }
        "
import ssl
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain('certificate.pem', 'key.pem')
s.socket = c.wrap_socket(s.socket, server_side=True)"
            .clone_into(&mut wrap);
        "import ssl; c = ssl._create_unverified_context()".clone_into(&mut context);
    }
    let scheme = if tls { "https" } else { "http" };
    let port = if tls { 443 } else { 80 };
    format!(
        "server = [\"/usr/bin/python3\", \"serve.py\"]
client = [\"/usr/bin/python3\", \"fetch.py\"]
ready = \"port {port}\"
[flow.program.files]
{files}
\"serve.py\" = '''
import http.server, socketserver
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '5000000')
        self.end_headers()
        self.wfile.write(bytes(5000000))
s = socketserver.ThreadingTCPServer(('0.0.0.0', {port}), H)
{wrap}
s.serve_forever()
'''
\"fetch.py\" = '''
import urllib.request, threading
{context}
def get():
    print(len(urllib.request.urlopen('{scheme}://server/', context=c).read()), flush=True)
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
        "client = [\"/usr/bin/python3\", \"it.py\"]\n{more}\n[flow.program.files]\n\"it.py\" = '''\n{python}\n'''"
    )
}

/// 10 MB of payload take 4.182 s at 20 Mbit/s, 1514 bytes for 1448 of them; the handshake and the request before them, and
/// slow start, take some round trips of 40 ms.
fn two_transfers_are_one_flow() {
    let run = run(&pages(false), "");
    let said = output(&run);
    assert_eq!(said.iter().filter(|l| *l == "client: 5000000").count(), 2, "{said:?}");
    let took = value(&run, "median(completion_time, page) over all");
    assert!(took > 4.182 + 0.08 && took < 4.182 + 0.4, "{took}");
    let bytes = run.table("completions").unwrap().u64("bytes")[0];
    assert!((10_000_000..10_001_000).contains(&bytes), "{bytes}");
    // The handshake's is the base, and data wait for 5 ms or so.
    let flows = run.table("flows").unwrap();
    let rtts: Vec<f64> = (0..flows.len())
        .filter(|&i| flows.text("flow").get(i) == "page")
        .map(|i| flows.f64("rtt_s")[i])
        .filter(|rtt| rtt.is_finite())
        .collect();
    // Two connections have two windows of ten segments at the least; the kernel's smoothed RTT is above the base.
    let of_page = |i: &usize| flows.text("flow").get(*i) == "page";
    let busy: Vec<usize> = (0..flows.len())
        .filter(of_page)
        .filter(|&i| flows.f64("goodput_bps")[i] > 15e6 && flows.u64("inflight")[i] > 0)
        .collect();
    assert!(busy.len() > 50, "{}", busy.len());
    for i in busy {
        let (cwnd, srtt) = (flows.u64("cwnd")[i], flows.f64("srtt_s")[i]);
        assert!((20..2000).contains(&cwnd) && (0.040..0.2).contains(&srtt), "{cwnd} {srtt}");
    }
    let last = (0..flows.len()).rfind(|i| of_page(i)).unwrap();
    // 10 MB in segments of 1448 bytes, less what was delivered after the last sample: 86 are sent in 50 ms.
    let delivered = flows.u64("delivered")[last];
    assert!((6_820..7_000).contains(&delivered), "{delivered}");
    let least = rtts.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 0.040 && least < 0.0402, "{least}");
    let owd = value(&run, "mean(packet_owd, page) over all");
    let stayed = value(&run, "mean(sojourn, page) over all");
    assert!(owd > 0.022 && owd < 0.040, "{owd}");
    assert!(stayed > 0.001 && stayed < 0.020, "{stayed}");
    let totals = run.table("totals").unwrap();
    let total = |name: &str| {
        let is_it = |&i: &usize| {
            totals.text("subject").get(i) == "page" && totals.text("name").get(i) == name
        };
        totals.f64("value")[(0..totals.len()).find(is_it).unwrap()]
    };
    let (sent, arrived) = (total("packets_sent"), total("packets_arrived"));
    let dropped = total("packets_dropped");
    assert!(
        sent > 10_000.0 && (sent - arrived - dropped).abs() < 0.5,
        "{sent} {arrived} {dropped}"
    );
}

/// Threads and TLS, each with draws from the kernel's randomness.
fn the_same_seed_gives_the_same_bits() {
    let program = pages(true);
    let (linux, mut scenario) = scenario(&program, "");
    let mut run = |seed| {
        scenario.seed = seed;
        bits(&linux.run(&scenario.clone().into(), &()).unwrap())
    };
    let first = run(1);
    assert!(first == run(1), "the same seed gives another run");
    assert!(first != run(2), "two seeds give the same run");
}

/// QUIC's like: datagrams over version 6, 100 of 1000 bytes, too few for CoDel to drop any.
fn datagrams_over_ipv6_are_counted() {
    let run = run(
        r#"
server = ["/usr/bin/python3", "serve.py"]
client = ["/usr/bin/python3", "ask.py"]
ready = "output bound"
[flow.program.files]
"serve.py" = '''
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
s.bind(('::', 4433))
print('bound', flush=True)
_, who = s.recvfrom(10)
for i in range(100): s.sendto(i.to_bytes(4, 'big') + bytes(996), who)
'''
"ask.py" = '''
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.connect(('server', 4433))
s.send(b'go')
print(sum(len(s.recv(2000)) for _ in range(100)))
'''
"#,
        "ip = 6",
    );
    let said = output(&run);
    assert!(said.contains(&"client: 100000".to_owned()), "{said:?}");
    assert_eq!(run.table("completions").unwrap().u64("bytes"), [100_000]);
    // 1062 bytes each at 20 Mbit/s, and one way there and one back of 20 ms each.
    let took = value(&run, "median(completion_time, page) over all");
    assert!((took - 0.04 - 100.0 * 1062.0 * 8.0 / 20e6).abs() < 0.003, "{took}");
    let stayed = value(&run, "max(sojourn, page) over all");
    // The last waits for those before it but what HTB's bucket of 1600 bytes let through at once.
    assert!((stayed - (99.0 * 1062.0 - 1600.0) * 8.0 / 20e6).abs() < 0.0002, "{stayed}");
}

/// Waiting costs nothing, and its end is the exit status that was asked for.
fn a_timeout_is_virtual() {
    let slow = alone("exit = 3", "import time\ntime.sleep(15)\nraise SystemExit(3)");
    let took = value(&run(&slow, ""), "median(completion_time, page) over all");
    assert!((took - 15.0).abs() < 0.1, "{took}");
}

/// What it sees of the machine: nothing of this process's environment, of its user's files, of its network; it writes in its
/// own folders alone.
fn a_program_is_confined() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let at = std::fs::canonicalize(outside.path()).unwrap();
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
said('reads', lambda: open('{0}/secret').read())
said('shadow', lambda: open('/etc/shadow').read())
said('writes', lambda: open('{0}/new', 'w'))
os.system('mount -o remount,rw / 2>/dev/null')
said('mounts', lambda: open('{0}/new', 'w'))
said('own', lambda: open('/tmp/new', 'w'))
said('null', lambda: open('/dev/null', 'w').write('x'))
said('random', lambda: open('/dev/urandom', 'rb').read(4))
said('switch', lambda: open('/proc/sysrq-trigger', 'w').write('o'))
s = socket.socket()
s.settimeout(1)
said('out', lambda: s.connect(('192.0.2.1', 80)))
said('name', lambda: socket.getaddrinfo('example.com', 80))
",
        at.display()
    );
    let more = "environment = { OWN = \"value\" }";
    let said = output(&run(&alone(more, &python), ""));
    let told: Vec<&str> = said.iter().map(|l| l.trim_start_matches("client: ")).collect();
    let expected = [
        "environment ['HOME', 'LANG', 'OWN', 'PATH', 'SOJOURN_CLIENT', 'SOJOURN_SERVER', 'TERM', 'TMPDIR', 'USER']",
        "reads no",
        "shadow no",
        "writes no",
        "mounts no",
        "own yes",
        "null yes",
        "random yes",
        "switch no",
        "out no",
        "name no",
    ];
    assert_eq!(told, expected);
    assert!(!at.join("new").exists());
}

fn what_programs_do_wrong_is_said() {
    let forks = "import os, time\nfor _ in range(600):\n    if os.fork() == 0: time.sleep(100); os._exit(0)";
    let cases = [
        (
            alone("", "print('cannot'); raise SystemExit(7)"),
            "flow page: its client ended with exit status 7, where it should end with 0; the last that it wrote: cannot",
        ),
        (
            alone("", "import os; os.kill(os.getpid(), 11)"),
            "its client was ended by signal 11 (Segmentation fault)",
        ),
        (
            alone("within = \"5s\"", "import time; time.sleep(100)"),
            "its client still ran after the 5 s that it was given",
        ),
        (alone("", "while True: print('x' * 1000)"), "its client wrote more than 4 MiB of output"),
        (
            alone("server = [\"sh\", \"-c\", \"exit 4\"]", ""),
            "its server ended with exit status 4 before its client; it wrote nothing",
        ),
        (
            alone("server = [\"sleep\", \"1000\"]", ""),
            "its server was not ready when the flow ended",
        ),
        (alone("", forks), "more than 512 processes and threads"),
        (
            alone("cpu_limit = \"2s\"", "while True: pass"),
            "took 2 s of CPU time, and the clock stayed at",
        ),
    ];
    for (program, wanted) in cases {
        let said = failure(&program);
        assert!(said.contains(wanted), "{said}\n{program}");
    }
}

/// The machine's processes are not the guest's.
fn what_forks_without_end_is_stopped() {
    let python = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass";
    let said = failure(&alone("cpu_limit = \"3s\"", python));
    assert!(said.contains("of CPU time"), "{said}");
}

fn what_the_machine_lacks_is_refused() {
    let (linux, scenario) = scenario("client = [\"no-such-program\"]", "");
    let said: Vec<String> = linux.refuse(&scenario).iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("no-such-program"), "{said:?}");
}

fn main() {
    let linux = Linux::new();
    let there = linux.kernels().last().is_some_and(|kernel| kernel.programs);
    let tests: [(&str, fn()); 8] = [
        ("two_transfers_are_one_flow", two_transfers_are_one_flow),
        ("the_same_seed_gives_the_same_bits", the_same_seed_gives_the_same_bits),
        ("datagrams_over_ipv6_are_counted", datagrams_over_ipv6_are_counted),
        ("a_timeout_is_virtual", a_timeout_is_virtual),
        ("a_program_is_confined", a_program_is_confined),
        ("what_programs_do_wrong_is_said", what_programs_do_wrong_is_said),
        ("what_forks_without_end_is_stopped", what_forks_without_end_is_stopped),
        ("what_the_machine_lacks_is_refused", what_the_machine_lacks_is_refused),
    ];
    let trials = common::trials(tests, there);
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
