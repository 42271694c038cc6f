//! The scenarios of the five documents: the language expresses them, and each means what its document says. (The suites
//! in `python/sojourn/suites`, and in `tests/cases` what no suite says.)

use sojourn_language::{AnyWords, Experiment, MOST_RUNS, Plan};
use sojourn_model::{
    Action, At, Direction, Kind, Rule, Scenario, Selector, Shaper, Side, Start, Traffic, When,
};
use sojourn_units::{Ecn, Rate, Span};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Experiment {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.file_name().unwrap().to_string_lossy();
    Experiment::parse(&name, &text).unwrap_or_else(|e| panic!("{e}"))
}

fn plan(experiment: &Experiment) -> Plan {
    experiment.plan(&AnyWords, MOST_RUNS).unwrap_or_else(|e| panic!("{e}"))
}

/// A suite's scenario, or a case of the language's own.
fn case(name: &str) -> Plan {
    let folder = if name.contains('/') { "python/sojourn/suites" } else { "tests/cases" };
    plan(&read(&root().join(folder).join(format!("{name}.toml"))))
}

/// The run with these labels.
fn cell(plan: &Plan, labels: &[&str]) -> Scenario {
    plan.scenarios()
        .find(|s| s.cell.iter().map(|(_, l)| l.as_str()).eq(labels.iter().copied()))
        .unwrap_or_else(|| panic!("no run {labels:?}"))
}

/// What the language can say that no published suite says, and one experiment of each: by name.
const KEPT: &[&str] = &[
    "by-state",
    "flent-origin",
    "program",
    "fast-lane/disproof",
    "l4s-tests/fct",
    "l4s-tests/replay-dos",
    "l4s-tests/s1",
    "l4s-tests/s10",
    "l4s-tests/s11",
    "l4s-tests/s12",
    "l4s-tests/s13",
    "l4s-tests/s2",
    "l4s-tests/s3",
    "l4s-tests/s4",
    "l4s-tests/s5",
    "l4s-tests/s6",
    "l4s-tests/s7",
    "l4s-tests/s8",
    "l4s-tests/s9",
    "l4s-tests/streaming",
    "l4s-tests/video-delay",
    "l4s-tests/video-goodput",
    "overload/udp",
    "sce-l4s-ect1/erased",
    "sce-l4s-ect1/internet",
    "sce-l4s-ect1-rerun/s2",
    "sce-l4s-ect1/s1",
    "sce-l4s-ect1/s2",
    "sce-l4s-ect1/s3",
    "sce-l4s-ect1/s4",
    "sce-l4s-ect1/s5",
    "sce-l4s-ect1/s6",
];

/// Files of programs stay in their folder, and their table has texts alone.
#[test]
fn what_is_wrong_with_programs_is_said() {
    let said = |table: &str| {
        let text = format!(
            "[experiment]\nname = \"t\"\nduration = \"1s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\nrtt = \"1ms\"\n\
             qdisc = \"pfifo\"\n[[flow]]\nname = \"f\"\nprogram = {{ {table} }}\n"
        );
        Experiment::parse("t.toml", &text).unwrap().plan(&AnyWords, 1).unwrap_err().to_string()
    };
    for (table, wanted) in [
        ("client = []", "a command has at least a program"),
        (
            "client = [\"a\"], files = { \"../a\" = \"\" }",
            "\"../a\" is no file of the programs' folder",
        ),
        ("client = [\"a\"], files = { \"/etc/a\" = \"\" }", "is no file of the programs' folder"),
        ("client = [\"a\"], files = { a = 1 }", "a is a string"),
        ("client = [\"a\"], environment = { \"A=B\" = \"\" }", "\"A=B\" cannot name a variable"),
        ("client = [\"a\"], ready = \"port 0\"", "says nothing of when a server is ready"),
        ("server = [\"a\"]", "client"),
    ] {
        let said = said(table);
        assert!(said.contains(wanted), "{said}");
    }
}

/// A run in few lines: each element, flow, event on its own.
fn describe(s: &Scenario) -> String {
    let json = |value: serde_json::Value| value.to_string();
    let mut text = format!(
        "{}\n{} from {} by {}, origin {:?}, step {}\n",
        s.id(),
        s.duration,
        At::from_nanos(-(s.warmup.as_nanos() as i64)),
        s.stack,
        s.origin,
        s.sample_interval
    );
    for hop in &s.hops {
        for side in [Side::Down, Side::Up] {
            for e in hop.side(side) {
                let what = json(serde_json::to_value(e).unwrap());
                let _ = writeln!(text, "{}.{side}.{} {what}", hop.name, e.name);
            }
        }
    }
    for flow in &s.flows {
        let _ = writeln!(text, "flow {}", json(serde_json::to_value(flow).unwrap()));
    }
    for event in &s.events {
        let _ = writeln!(text, "event {}", json(serde_json::to_value(event).unwrap()));
    }
    for phase in &s.phases {
        let _ = writeln!(text, "phase {}", json(serde_json::to_value(phase).unwrap()));
    }
    for window in &s.windows {
        let _ = writeln!(text, "window {}", json(serde_json::to_value(window).unwrap()));
    }
    for check in &s.checks {
        let _ = writeln!(text, "check {}", check.that);
    }
    text
}

#[test]
fn the_first_and_the_last_run_of_each_are_what_they_were() {
    for name in KEPT {
        let scenarios = case(name).into_scenarios();
        let mut text = describe(&scenarios[0]);
        if scenarios.len() > 1 {
            text.push('\n');
            text.push_str(&describe(scenarios.last().unwrap()));
        }
        insta::assert_snapshot!(name.replace('/', "-"), text);
    }
}

#[test]
fn rtt_pairs_give_the_second_flow_a_delay_of_its_own() {
    let s = cell(&case("l4s-tests/s1"), &["dualpi2", "50mbit", "160ms-10ms", "cubic-prague"]);
    for side in ["down", "up"] {
        let Kind::Netem(netem) = &s.element(&format!("bottleneck.{side}.netem")).unwrap().kind
        else {
            panic!("not a netem")
        };
        assert_eq!(netem.chain, ["delay 80ms limit 10000"]);
        assert_eq!(netem.per_flow.len(), 1);
        assert_eq!(
            (netem.per_flow[0].flow.as_str(), netem.per_flow[0].delay),
            ("second", Span::from_millis(5))
        );
    }
    assert_eq!(s.flow("first").unwrap().dscp.tos(Ecn::NotEct), 0x4c);
    assert_eq!(s.flow("second").unwrap().dscp.tos(Ecn::NotEct), 0x8c);
    let ping = s.flow("ping").unwrap();
    assert_eq!(ping.start, Start::At(At::from_secs(-5)));

    let own = cell(&case("l4s-tests/s1"), &["cnq_codel_af", "10mbit", "20ms-20ms", "cubic-cubic"]);
    let (path, queue) = own.disciplines().next().unwrap();
    assert_eq!(path, "bottleneck.down.qdisc");
    assert_eq!(queue.qdisc, "cnq_codel_af bandwidth 10mbit");
    assert_eq!(queue.shaper, Shaper::Own { rate: Some(Rate::from_mbit(10)) });
    let fifo = cell(&case("l4s-tests/s1"), &["pfifo", "10mbit", "20ms-20ms", "cubic-cubic"]);
    assert_eq!(fifo.disciplines().next().unwrap().1.qdisc, "pfifo limit 200");
}

#[test]
fn the_rate_step_lands_five_seconds_early() {
    let s = cell(&case("l4s-tests/s2"), &["bursty", "prague", "dualpi2", "50mbit-25mbit", "20ms"]);
    let event = &s.events[0];
    assert_eq!(event.when, When::At(At::from_nanos(30_000_000_000 - 5_190_000_000)));
    let rate = Rate::from_mbit(25);
    let action = |side: &str| Action::Rate { element: format!("bottleneck.{side}.qdisc"), rate };
    assert_eq!(event.actions, [action("down"), action("up")]);
    let Kind::Netem(netem) = &s.element("bottleneck.up.netem").unwrap().kind else { panic!() };
    assert_eq!(
        netem.chain,
        ["delay 10ms limit 100000", "delay 200us slot 800us 5ms packets 16 limit 10000"]
    );
}

#[test]
fn varying_rates_keep_the_queue() {
    let s = cell(&case("l4s-tests/s3"), &["clean", "cubic", "fq_codel", "20ms"]);
    let steps: Vec<(At, u64)> = s
        .events
        .iter()
        .map(|e| {
            let (When::At(at), Action::Rate { element, rate }) = (&e.when, &e.actions[0]) else {
                panic!("{e:?}")
            };
            assert_eq!(element, "bottleneck.down.qdisc");
            (*at, rate.bits_per_sec() / 1_000_000)
        })
        .collect();
    let at = |n: i64| At::from_millis(n * 1000 - 5190);
    assert_eq!(steps, [(at(25), 50), (at(30), 10), (at(35), 90), (at(50), 5)]);
    assert_eq!(s.disciplines().next().unwrap().1.qdisc, "fq_codel noecn");
}

#[test]
fn a_bottleneck_is_replaced_and_comes_back() {
    let s = cell(&case("sce-l4s-ect1/s3"), &["l4s", "20ms"]);
    let queues: Vec<&str> = s
        .events
        .iter()
        .map(|e| match &e.actions[0] {
            Action::ReplaceQdisc { qdisc, .. } => qdisc.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(queues, ["pie noecn", "dualpi2"]);
}

#[test]
fn rrul_be_goes_both_ways() {
    let s = cell(&case("l4s-tests/s4"), &["cubic", "1mbit-20mbit", "fq_codel", "80ms"]);
    let up: Vec<&str> =
        s.flows.iter().filter(|f| f.direction == Direction::Up).map(|f| f.name.as_str()).collect();
    let uploads = ["upload-1", "upload-2", "upload-3", "upload-4"];
    assert_eq!(up, [uploads.as_slice(), &["udp-1", "udp-2", "udp-3"]].concat());
    assert!(s.flows.iter().filter(|f| f.group.as_deref() == Some("download")).count() == 4);
    let rates: Vec<u64> =
        s.disciplines().map(|(_, q)| q.capacity().unwrap().bits_per_sec() / 1_000_000).collect();
    assert_eq!(rates, [20, 1]);
}

#[test]
fn a_tunnel_is_entered_before_the_delay_and_left_behind_the_queue() {
    let s = cell(&case("l4s-tests/s5"), &["fou-auto", "cubic"]);
    for side in [Side::Down, Side::Up] {
        let names: Vec<&str> = s.hops[0].side(side).iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["tunnel", "netem", "qdisc", "tunnel-exit"]);
    }
    let without = cell(&case("l4s-tests/s5"), &["no-tunnel", "cubic"]);
    let names: Vec<&str> = without.hops[0].down.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["netem", "bleach-rival", "qdisc"]);
}

#[test]
fn bleaching_clears_the_rivals_byte_before_the_queue() {
    let s = cell(&case("l4s-tests/s6"), &["reno-noecn", "pie"]);
    let names: Vec<&str> = s.hops[0].down.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["netem", "bleach-rival", "qdisc"]);
    let Kind::Rewrite(rewrite) = &s.hops[0].down[1].kind else { panic!() };
    assert_eq!(rewrite.rule, Rule::BleachEcn { keep_dscp: false });
    assert_eq!(rewrite.select, Selector::Flows(vec!["rival".into()]));
    assert!(rewrite.syn);
    assert_eq!(s.hops[0].up.len(), 2);
}

#[test]
fn flents_origin_starts_flows_at_five_seconds() {
    let s = cell(&case("flent-origin"), &["80ms"]);
    assert_eq!(s.warmup, Span::ZERO);
    let start = |name: &str| s.flow(name).unwrap().start;
    assert_eq!(start("first"), Start::At(At::from_secs(5)));
    assert_eq!(start("second"), Start::At(At::from_secs(15)));
    assert_eq!(start("ping"), Start::At(At::ORIGIN));
}

#[test]
fn a_wifi_hop_is_passed_by_its_client_only() {
    let s = cell(&case("l4s-tests/wifi"), &["20%", "cubic"]);
    let path = |name: &str| {
        let flow = s.flow(name).unwrap();
        s.data_path(flow).map(|(hop, _, e)| format!("{hop}.{}", e.name)).collect::<Vec<_>>()
    };
    assert_eq!(path("wifi"), ["radio.link", "bottleneck.netem", "bottleneck.qdisc"]);
    assert_eq!(path("wired"), ["bottleneck.netem", "bottleneck.qdisc"]);
}

#[test]
fn a_flow_that_is_left_out_leaves_its_rules_behind() {
    let none = cell(&case("l4s-tests/video-goodput"), &["prague-dualpi2", "none"]);
    assert!(none.flow("video").is_none());
    let element = none.element("bottleneck.down.slip");
    assert!(element.is_none_or(|e| !e.enabled), "{element:?}");
    let slip = cell(&case("l4s-tests/video-goodput"), &["prague-dualpi2", "in-L"]);
    let Traffic::Video(video) = &slip.flow("video").unwrap().traffic else { panic!() };
    let mbit = video.mean_rate().as_mbit();
    assert!((mbit - 2.3).abs() < 0.01, "{mbit}");
    let solo = cell(&case("l4s-tests/fct"), &["none", "20ms"]);
    let names: Vec<&str> = solo.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["short", "ping"]);
}

#[test]
fn overloads_rig_delays_acks_only() {
    let s = cell(&case("overload/udp"), &["dualpi2", "ect1", "140mbit"]);
    let names = |side| s.hops[0].side(side).iter().map(|e| e.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(Side::Down), ["qdisc"]);
    assert_eq!(names(Side::Up), ["netem"]);
    let Kind::Netem(netem) = &s.hops[0].up[0].kind else { panic!() };
    assert_eq!(netem.chain, ["delay 10ms limit 1000"]);
    let Traffic::Udp(udp) = &s.flow("udp").unwrap().traffic else { panic!() };
    assert_eq!((udp.rate, udp.payload, udp.ecn), (Rate::from_mbit(140), 1472, Ecn::Ect1));
}

#[test]
fn the_fast_lanes_marks_are_taken_back_behind_the_queue() {
    let s = cell(&case("fast-lane/disproof"), &["B"]);
    let names: Vec<&str> = s.hops[0].down.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["to-ect1", "qdisc", "unmark"]);
    assert!(s.hops[0].down.iter().all(|e| e.enabled));
    let d = cell(&case("fast-lane/disproof"), &["D"]);
    assert_eq!(d.hops[0].down.iter().filter(|e| e.enabled).count(), 1);
}

#[test]
fn every_suite_is_planned_under_its_own_name() {
    // How many cells each has is checked where they are packed: tests/python/test_suites.py.
    let suites = root().join("python/sojourn/suites");
    let folders = std::fs::read_dir(&suites).expect("the suites").map(|e| e.unwrap().path());
    let mut seen = 0;
    for folder in folders.filter(|path| path.is_dir()) {
        let files = std::fs::read_dir(&folder).expect("a suite").map(|e| e.unwrap().path());
        // A published table may be in the folder of its experiment.
        for file in files.filter(|path| path.extension().is_some_and(|own| own == "toml")) {
            let suite = folder.file_name().unwrap().to_str().unwrap();
            let name = format!("{suite}/{}", file.file_stem().unwrap().to_str().unwrap());
            let plan = plan(&read(&file));
            assert!(plan.cells() > 0, "{name}");
            let mut ids = std::collections::BTreeSet::new();
            for scenario in plan.scenarios() {
                assert_eq!(scenario.experiment, name);
                scenario.check().unwrap_or_else(|e| panic!("{name}: {e}"));
                let seeded = format!("{}#{}", scenario.id(), scenario.seed);
                assert!(ids.insert(seeded), "{name}: {} twice", scenario.id());
                let json = serde_json::to_string(&scenario).unwrap();
                assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario, "{name}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} suites in {}", suites.display());
}
