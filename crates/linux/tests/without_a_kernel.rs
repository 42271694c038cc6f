//! What needs no kernel: the guest's plan, and what is refused.

use sojourn_engine::Engine as _;
use sojourn_language::{AnyWords, Experiment};
use sojourn_linux::plan::{Edge, Plan, Wires};
use sojourn_linux::tools::Programs;
use sojourn_linux::{Kernel, Linux};
use sojourn_model::{By, Feature, Kind, Scenario, TunnelProtocol};
use std::path::PathBuf;

const EXPERIMENT: &str = r#"
[experiment]
name = "test"
duration = "10s"
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "50mbit"
rtt = "20ms"
qdisc = "fq_codel flows 1 target 1ms"

[[flow]]
name = "first"
cc = "cubic"

[[flow]]
name = "second"
cc = "reno"
rtt = "80ms"
ecn = "off"

[[event]]
name = "step"
at = "5s"
hop = "bottleneck"
rate = "10mbit"
"#;

fn scenario(text: &str) -> Scenario {
    let experiment = Experiment::parse("test.toml", text).unwrap();
    experiment.plan(&AnyWords, 100).unwrap().into_scenarios().remove(0)
}

fn kernel(version: &str) -> Kernel {
    let names = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    Kernel {
        version: version.to_owned(),
        hash: None,
        config: "0".to_owned(),
        name: None,
        source: String::new(),
        tree: false,
        options: false,
        built: 0,
        qdiscs: names(&["pfifo", "codel", "fq_codel", "pie", "netem", "htb"]),
        ccs: names(&["cubic", "reno"]),
        accecn: None,
        repeatable: None,
        programs: true,
        cards: true,
        tunnels: Vec::new(),
        program: PathBuf::from("linux"),
    }
}

fn programs() -> Programs {
    Programs { ip: "/sbin/ip".into(), tc: "/sbin/tc".into(), wg: None }
}

#[test]
fn tcs_words_go_into_the_plan_as_they_are() {
    let plan = Plan::new(&scenario(EXPERIMENT), &programs(), Wires::Pairs);
    for line in [
        "run hop0 /sbin/tc class add dev c parent 1: classid 1:1 htb rate 50000000bit ceil 50000000bit",
        "run hop0 /sbin/tc qdisc add dev c parent 1:1 handle 10: fq_codel flows 1 target 1ms",
        "run hop0 /sbin/tc qdisc add dev s parent 1:1 handle 10: fq_codel flows 1 target 1ms",
    ] {
        assert!(plan.text.lines().any(|l| l == line), "{line}\nis not in\n{}", plan.text);
    }
    let (ins, outs): (Vec<_>, Vec<_>) =
        (0..plan.taps.len()).partition(|&t| plan.taps[t].edge == Edge::In);
    assert!(ins.iter().max() < outs.iter().min(), "entries are emptied before exits");
    // Two queues; each side has an ifb for the second flow's own delay.
    assert_eq!((plan.queues.len(), ins.len(), outs.len()), (2, 4, 2));
    assert!(plan.text.contains("match ip sport 40002 0xffff action mirred egress redirect dev d0"));
    assert!(plan.text.contains("qdisc add dev d0 root handle 1: netem delay 40000us"));
}

#[test]
fn a_plan_depends_on_the_scenario_and_its_seed_alone() {
    let mut s = scenario(EXPERIMENT);
    let plan = Plan::new(&s, &programs(), Wires::Pairs);
    assert_eq!(plan, Plan::new(&s, &programs(), Wires::Pairs));
    s.seed += 1;
    let other = Plan::new(&s, &programs(), Wires::Pairs);
    let differing: Vec<(&str, &str)> =
        plan.text.lines().zip(other.text.lines()).filter(|(a, b)| a != b).collect();
    // The start times of the two flows, and nothing else.
    assert_eq!(differing.len(), 2, "{differing:?}");
    assert!(differing.iter().all(|(a, _)| a.starts_with("flow tcp")));
}

#[test]
fn what_follows_something_of_a_known_time_happens_at_a_known_time() {
    let after = |what: &str| {
        format!(
            "{EXPERIMENT}\n[[event]]\nname = \"later\"\nat = \"{what}\"\nhop = \"bottleneck\"\nrate = \"50mbit\"\n"
        )
    };
    let plan = Plan::new(&scenario(&after("event step + 2s")), &programs(), Wires::Pairs);
    // The origin is 5 s after the beginning.
    let at = |number: usize| {
        let word = format!(" {number} hop0 ");
        let line = plan.text.lines().find(|l| l.starts_with("at ") && l.contains(&word)).unwrap();
        line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((at(0), at(1)), (10_000_000_000, 12_000_000_000));
    let linux = Linux::with_kernels(vec![kernel("7.3.4")]);
    let refusals = linux.refuse(&scenario(&after("workload ends + 2s")));
    assert!(
        refusals.iter().any(|r| r.what.to_string().contains("without a known time")),
        "{refusals:?}"
    );
}

/// tc knows a netem's delay by two names.
#[test]
fn a_delay_is_the_same_by_each_of_its_names() {
    let plan = |words: &str| {
        let mut scenario = scenario(EXPERIMENT);
        for element in &mut scenario.hops[0].down {
            if let Kind::Netem(netem) = &mut element.kind {
                netem.chain = vec![words.to_owned()];
            }
        }
        Plan::new(&scenario, &programs(), Wires::Pairs)
    };
    let (delay, latency) = (plan("delay 10ms"), plan("latency 10ms"));
    assert!(delay.unrecorded.is_empty() && latency.unrecorded.is_empty(), "both are constant");
    for uneven in ["delay 10ms 2ms", "latency 10ms loss 1%", "slot 1ms"] {
        assert!(!plan(uneven).unrecorded.is_empty(), "{uneven}");
    }
    // The second flow has a delay of its own, which takes the place of this one.
    let line = "root handle 1: netem delay 40000us limit 1000\n";
    assert!(latency.text.contains(line), "{}", latency.text);
}

#[test]
fn without_a_kernel_everything_is_refused_with_the_command_that_builds_one() {
    let refusals = Linux::with_kernels(vec![]).refuse(&scenario(EXPERIMENT));
    assert_eq!(refusals.len(), 1);
    assert!(refusals[0].to_string().contains("sojourn linux build"), "{}", refusals[0]);
}

/// Nobody is to build a kernel, ten minutes, only to learn then that no kernel could run it.
#[test]
fn what_no_kernel_could_run_is_refused_before_one_is_built() {
    let text = format!(
        "{}\n[[flow]]\nname = \"own\"\ncc = \"python:mine.py:Mine\"\n\
         [[flow]]\nname = \"deaf\"\nignore_ce = true\n",
        EXPERIMENT.replace("rtt = \"20ms\"", "rtt = \"20ms\"\nshaper = \"line\"")
    );
    let refusals = |kernels: Vec<Kernel>| -> Vec<String> {
        let linux = Linux::with_kernels(kernels);
        linux.refuse(&scenario(&text)).iter().map(ToString::to_string).collect()
    };
    for kernels in [vec![], vec![kernel("5.4.1")]] {
        let without = refusals(kernels);
        let build = without.iter().filter(|line| line.contains("sojourn linux build"));
        assert_eq!(build.count(), 1, "{without:#?}");
        for word in ["shaper line", "ignore_ce", "runs no Python"] {
            assert!(without.iter().any(|line| line.contains(word)), "{word}: {without:#?}");
        }
        // Features that differ between kernels are not known yet.
        for word in ["qdisc fq_codel", "control cubic"] {
            assert!(!without.iter().any(|line| line.contains(word)), "{without:#?}");
        }
    }
}

#[test]
fn what_the_kernel_lacks_is_named() {
    let linux = Linux::with_kernels(vec![kernel("7.3.4"), kernel("5.10.223")]);
    let refusals = |text: &str| {
        linux.refuse(&scenario(text)).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    // This machine may lack tc itself; what follows does not depend on it.
    let text = EXPERIMENT.replace("cc = \"reno\"", "cc = \"prague\"");
    let refused = "flow second: congestion control prague: kernel 7.3.4-0 does not have it";
    assert!(refusals(&text).contains(refused), "{}", refusals(&text));
    assert!(refusals(&text).contains("sojourn linux build --source DIR"));
    let text = EXPERIMENT.replace("fq_codel flows 1 target 1ms", "dualpi2");
    let refused = "bottleneck.down.qdisc: qdisc dualpi2: kernel 7.3.4-0 does not have it";
    assert_eq!(refusals(&text).matches(refused).count(), 1, "{}", refusals(&text));
    let text = EXPERIMENT.replace("linux-7.3", "linux-5.4");
    let refused = refusals(&text);
    assert!(refused.contains("stack linux-5.4"), "{refused}");
    assert!(refused.contains("sojourn linux build --version 5.4"), "{refused}");
}

/// Kernels have different features: a run is on one of them, and the refusal says which other would do.
#[test]
fn another_kernel_that_has_it_is_named_and_can_be_chosen() {
    let mine = Kernel {
        name: Some("mine".to_owned()),
        hash: Some("1c0ffee1".to_owned()),
        tree: true,
        ccs: vec!["cubic".to_owned(), "steady".to_owned()],
        ..kernel("7.3.4")
    };
    let old = Kernel { name: Some("old".to_owned()), ..kernel("5.10.223") };
    let linux = Linux::with_kernels(vec![kernel("7.3.4"), mine, old]);
    let refusals = |linux: &Linux, text: &str| {
        linux.refuse(&scenario(text)).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let text = EXPERIMENT.replace("cc = \"reno\"", "cc = \"steady\"");
    let refused = refusals(&linux, &text);
    assert!(
        refused.contains("kernel 7.3.4-0 does not have it (mine has it: --kernel mine)"),
        "{refused}"
    );
    let chosen = linux.clone().on("mine").unwrap();
    assert!(!refusals(&chosen, &text).contains("steady"), "{}", refusals(&chosen, &text));
    let refused = refusals(&chosen, EXPERIMENT);
    assert!(refused.contains("control reno: kernel mine does not have it"), "{refused}");
    // The chosen one stands for its own series alone.
    let refused = refusals(&linux.clone().on("old").unwrap(), EXPERIMENT);
    assert!(refused.contains("kernel old stands for linux-5.10"), "{refused}");
    let identity = |linux: &Linux| linux.identity(&scenario(&EXPERIMENT.replace("reno", "cubic")));
    if Programs::find().is_ok() {
        assert!(identity(&linux).starts_with("kernel 7.3.4-0, plan "), "{}", identity(&linux));
        assert!(identity(&chosen).starts_with("kernel 7.3.4-1c0ffee1, plan "));
    }
}

/// A route has one initial window: where flows differ, the receiver has an address for each.
#[test]
fn each_initial_window_has_a_route() {
    let plan = |text: &str| Plan::new(&scenario(text), &programs(), Wires::Pairs).text;
    let one = EXPERIMENT.replace("cc = \"reno\"", "cc = \"reno\"\ninitial_window = 4");
    let text = plan(&one);
    for line in [
        "run client /sbin/ip addr add 10.9.9.10/24 dev s",
        "run server /sbin/ip route add 10.9.9.10/32 dev c src 10.9.9.1 initcwnd 4",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
    }
    assert!(text.contains("flow tcp server client 10.9.9.1 10.9.9.2 "));
    assert!(text.contains("flow tcp server client 10.9.9.1 10.9.9.10 "));
    let both = one.replace("cc = \"cubic\"", "cc = \"cubic\"\ninitial_window = 4");
    let text = plan(&both);
    let route = "run server /sbin/ip route add 10.9.9.2/32 dev c src 10.9.9.1 initcwnd 4";
    assert!(text.contains(route) && !text.contains("10.9.9.10"));
    assert!(!text.contains("run client /sbin/ip route"));
}

/// Datagrams of a generator are in a file with a hash of them in its name; a change of the seed changes both.
#[test]
fn a_call_is_written_down_before_the_run() {
    let call = format!(
        "{EXPERIMENT}\n[[flow]]\nname = \"call\"\nvideo = {{ profile = \"call-down\", rate = \"1800kbit\" }}\n\
         [[flow]]\nname = \"rest\"\nudp = {{ rate = \"1mbit\", payload = 1000 }}\n"
    );
    let mut s = scenario(&call);
    let plan = Plan::new(&s, &programs(), Wires::Pairs);
    let [list] = &plan.lists[..] else { panic!("one list, of the call: {}", plan.lists.len()) };
    assert!(plan.text.lines().any(|l| l.ends_with(&format!(" 0 listed {}", list.name))));
    assert!(plan.text.lines().any(|l| l.ends_with(" 0 constant 1000 1000000")), "{}", plan.text);
    let bytes: u64 = list.entries.iter().map(|d| d.1).sum();
    // 15 s of warmup and duration at 1.8 Mbit/s, the last 15 s of it without the start's 5: 10 s are 2.25 MB.
    assert!((bytes as f64 / 2.25e6 - 1.0).abs() < 0.1, "{bytes}");
    assert_eq!(list.bytes().len(), 16 * list.entries.len());
    let (at, size) = list.entries[1];
    assert_eq!(list.bytes()[16..24], at.as_nanos().to_ne_bytes());
    assert_eq!(list.bytes()[24..32], size.to_ne_bytes());
    s.seed += 1;
    let other = Plan::new(&s, &programs(), Wires::Pairs);
    assert!(other.lists[0].name != list.name && other.lists[0].entries != list.entries);
}

#[test]
fn what_the_agent_cannot_send_is_refused() {
    let linux = Linux::with_kernels(vec![kernel("7.3.4")]);
    let refusals = |flow: &str| {
        let text = format!("{EXPERIMENT}\n[[flow]]\nname = \"more\"\n{flow}\n");
        let refusals = linux.refuse(&scenario(&text));
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    // Audio takes 48.8 kbit/s of this, so its frames are a few bytes.
    for unfit in
        ["voip = { payload = 8 }", "irtt = { payload = 8 }", "video = { rate = \"49kbit\" }"]
    {
        assert!(refusals(unfit).contains("flow more: datagrams of "), "{}", refusals(unfit));
    }
    let long = "udp = { rate = \"1mbit\", payload = 1460 }";
    assert!(!refusals(long).contains("flow more"), "{}", refusals(long));
    let longer = format!("{long}\nip = 6");
    assert!(refusals(&longer).contains("use 12 to 1452"), "{}", refusals(&longer));
    for fine in [
        "on_off = { on = \"1s\", off = \"1s\" }\nudp = { rate = \"1mbit\" }",
        "voip = {}",
        "irtt = {}\nip = 6",
        "video = { adapt = true }",
        "video = { profile = \"call-up\" }",
        "cc = \"cubic\"\non_off = { on = \"1s\", off = \"1s\" }",
        "cc = \"cubic\"\nstreaming = {}",
        "short_flows = {}\ncc = \"reno\"\nip = 6",
    ] {
        assert!(!refusals(fine).contains("flow more"), "{}", refusals(fine));
    }
    // An engine is asked for a run's identity before it is asked whether it refuses it.
    let refused = "cc = \"cubic\"\nignore_ce = true";
    assert!(refusals(refused).contains("flow more: ignore_ce"), "{}", refusals(refused));
    let text = format!("{EXPERIMENT}\n[[flow]]\nname = \"more\"\n{refused}\n");
    assert_eq!(linux.identity(&scenario(&text)), "");
}

/// Whether or not the kernel has it.
#[test]
fn a_discipline_of_several_transmit_queues_is_refused_with_the_way_to_have_one() {
    let mut has = kernel("7.3.4");
    has.qdiscs.push("cake_mq".to_owned());
    let queue = EXPERIMENT.replace("qdisc = \"fq_codel", "qdisc = \"cake_mq");
    let host =
        format!("{EXPERIMENT}\n[[flow]]\nname = \"own\"\ncc = \"cubic\"\nhost_qdisc = \"mq\"\n");
    for kernels in [vec![has], vec![kernel("7.3.4")], vec![]] {
        let linux = Linux::with_kernels(kernels);
        for (text, name, help) in [(&queue, "cake_mq", "write cake:"), (&host, "mq", "by itself")] {
            let refusals = linux.refuse(&scenario(text));
            let own = refusals.iter().filter(|r| r.what.to_string().ends_with(&format!(" {name}")));
            let own: Vec<String> = own.map(ToString::to_string).collect();
            let says = |r: &String| r.contains("has one transmit queue") && r.contains(help);
            assert!(!own.is_empty() && own.iter().all(says), "{own:?}");
        }
    }
}

/// Flows have a queue of their own each, and pings none; `prio` has room for fifteen, and for the others.
#[test]
fn more_host_qdiscs_than_prio_has_bands_for_are_refused() {
    let linux = Linux::with_kernels(vec![kernel("7.3.4")]);
    let refusals = |flows: usize| {
        let flow = |i| {
            format!(
                "[[flow]]\nname = \"own{i}\"\ncc = \"cubic\"\nhost_qdisc = \"pfifo limit {}\"\n",
                9 + i
            )
        };
        let flows: String = (0..flows).map(flow).collect();
        let refusals = linux.refuse(&scenario(&format!("{EXPERIMENT}\n{flows}")));
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(!refusals(15).contains("host qdiscs"), "{}", refusals(15));
    assert!(
        refusals(16).contains("flow own0: more than 15 different host qdiscs"),
        "{}",
        refusals(16)
    );
}

/// Behind a kernel's hop with the place where it goes.
#[test]
fn a_tunnel_at_a_kernels_hop_is_refused_with_the_way_to_have_it() {
    let linux = Linux::with_kernels(vec![kernel("7.3.4")]);
    for kind in ["wireguard", "fou", "esp"] {
        let tunnel = format!("[[tunnel]]\nname = \"vpn\"\nkind = \"{kind}\"\n");
        let refusals = linux.refuse(&scenario(&format!("{EXPERIMENT}\n{tunnel}")));
        let said: Vec<String> = refusals.iter().map(|r| format!("{r} {}", r.help)).collect();
        let said = said.join("\n");
        assert!(said.contains("inner flow's hash") && said.contains("by = \"sojourn\""), "{said}");
    }
}

#[test]
fn the_newest_kernel_of_a_series_stands_for_its_stack() {
    let linux = Linux::with_kernels(vec![kernel("7.3.10"), kernel("7.3.4"), kernel("5.10.1")]);
    assert_eq!(linux.kernel("linux-7.3").unwrap().version, "7.3.10");
    assert!(linux.kernel("linux-6.1").is_none());
}

/// Packets that skip a hop are sent past it before its rewriters see them; where all flows pass all hops there is no
/// second way.
#[test]
fn a_flow_has_a_way_past_the_hops_that_are_not_its_own() {
    let more = "\n[[hop]]\nname = \"core\"\nrate = \"50mbit\"\nrtt = \"10ms\"\nqdisc = \"pfifo\"\n";
    let text = format!("{EXPERIMENT}{more}");
    let plan = Plan::new(&scenario(&text), &programs(), Wires::Pairs);
    assert!(!plan.text.contains("by-"), "{}", plan.text);
    let text = text.replacen("cc = \"reno\"", "cc = \"reno\"\nhops = [\"bottleneck\"]", 1);
    let s = scenario(&text);
    assert!(Linux::with_kernels(vec![kernel("7.3.4")]).refuse(&s).is_empty());
    let plan = Plan::new(&s, &programs(), Wires::Pairs);
    let past = "parent ffff: protocol ip prio 1 u32 match ip sport 40002 0xffff action mirred egress redirect dev by-";
    let lines = |ns: &str| -> Vec<&str> {
        plan.text
            .lines()
            .filter(|l| l.starts_with(&format!("run {ns} ")) && l.contains(past))
            .collect()
    };
    assert_eq!((lines("hop0").len(), lines("hop1").len()), (0, 2), "{}", plan.text);
    let pairs = plan.text.lines().filter(|l| l.contains("peer name by-s")).count();
    assert_eq!(pairs, 2);
    let mut turned = s.clone();
    turned.flows[0].hops = vec![1, 0];
    let refusals = Linux::with_kernels(vec![kernel("7.3.4")]).refuse(&turned);
    assert!(
        refusals.iter().any(|r| r.what.to_string().contains("an order of its own")),
        "{refusals:?}"
    );
}

/// The first cell of every suite becomes a plan or is refused by name.
#[test]
fn every_suite_is_planned_or_refused() {
    let inside =
        |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let suites = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/sojourn/suites");
    let folders = inside(suites.as_ref()).filter(|path| path.is_dir());
    let mut planned = 0;
    let is_suite = |path: &PathBuf| path.extension().is_some_and(|own| own == "toml");
    for path in folders.flat_map(|folder| inside(&folder)).filter(is_suite) {
        let text = std::fs::read_to_string(&path).unwrap();
        let experiment = Experiment::parse(&path.to_string_lossy(), &text).unwrap();
        let mut s = experiment.plan(&AnyWords, 100_000).unwrap().scenarios().next().unwrap();
        // As if a kernel stood for every stack.
        let mut able = kernel("7.3.4");
        s.stack = able.stack();
        for hop in &mut s.hops {
            hop.stack = able.stack();
        }
        for flow in &mut s.flows {
            flow.stack = able.stack();
        }
        able.qdiscs.extend(["cake", "red", "dualpi2", "fq", "fq_pie"].map(str::to_owned));
        able.ccs.extend(["dctcp", "bbr", "prague"].map(str::to_owned));
        let refusals = Linux::with_kernels(vec![able]).refuse(&s);
        assert!(
            refusals.iter().all(|r| !r.place.to_string().is_empty() && !r.why.is_empty()),
            "{refusals:?}"
        );
        if refusals.is_empty() {
            let plan = Plan::new(&s, &programs(), Wires::Pairs);
            assert!(plan.text.lines().all(|l| l.split(' ').count() < 64), "{}", plan.text);
            planned += 1;
        }
    }
    assert!(planned > 0 || Programs::find().is_err());
}

/// Scenarios that cannot be carried out with their division among kernel and simulator.
#[test]
fn what_is_divided_in_vain_is_refused_by_name() {
    let linux = Linux::with_kernels(vec![kernel("7.3.4")]);
    let text = |hops: &str, flow: &str| {
        format!(
            "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"one\"\nrate = \"1mbit\"\nrtt = \"1ms\"\n{hops}\n\
             [[flow]]\nname = \"f\"\ncc = \"cubic\"\n{flow}\n"
        )
    };
    let refused = |hops: &str, flow: &str| -> Vec<String> {
        let said = linux.refuse(&scenario(&text(hops, flow)));
        said.iter().map(|u| format!("{}: {}", u.place, u.what)).collect()
    };
    let round = "qdisc = \"cobalt\"\nby = \"sojourn\"";
    let fifo = "qdisc = \"pfifo limit 9\"";
    assert_eq!(refused(round, ""), [] as [String; 0]);
    assert_eq!(refused(fifo, "by = \"sojourn\""), ["flow f: hosts by sojourn"]);
    assert_eq!(refused(round, "by = \"sojourn\""), [] as [String; 0], "the ping is a kernel's");
    let none = "by = \"sojourn\"\n[ping]\nby = \"sojourn\"";
    assert_eq!(refused(round, none), ["flows: hosts by sojourn"]);
    let second =
        format!("{round}\n[[hop]]\nname = \"two\"\nrate = \"1mbit\"\nrtt = \"1ms\"\n{fifo}");
    assert_eq!(refused(&second, ""), ["hop two: a hop by kernel"]);
    let filter = "qdisc = \"cake bandwidth 1mbit ack-filter\"\nby = \"sojourn\"\nshaper = \"own\"";
    let said = refused(filter, "");
    assert!(said.contains(&"one.down.qdisc: ack-filter round kernels".to_owned()), "{said:?}");
    // Two kernels for one flow, where neither end has to know how far the other is.
    let two = Linux::with_kernels(vec![kernel("7.3.4"), kernel("5.10.1")]);
    let refused_by_two = |hops: &str, flow: &str| -> Vec<String> {
        let said = two.refuse(&scenario(&text(hops, flow)));
        said.iter().map(|u| format!("{}: {}", u.place, u.what)).collect()
    };
    let across = "receiver_stack = \"linux-5.10\"";
    assert_eq!(refused_by_two(round, across), [] as [String; 0]);
    assert_eq!(refused_by_two(fifo, across), ["flow f: stack linux-5.10"]);
    let many = format!("{across}\n[flow.short_flows]\nmean_interval = \"1s\"");
    let said = refused_by_two(round, &many);
    assert_eq!(said, ["flow f: two kernels for one flow of this kind"]);
    let old = Linux::with_kernels(vec![Kernel { cards: false, ..kernel("7.3.4") }]);
    let said = old.refuse(&scenario(&text(round, "")));
    assert!(said[0].why.contains("network cards"), "{said:?}");
    // Elsewhere nothing but the simulator itself is there.
    let said = sojourn_sim::Sim::new().refuse(&scenario(&text(fifo, "by = \"kernel\"")));
    assert_eq!(said[0].to_string(), "flow f: hosts by kernel: this engine does not have it");
}

/// Each refusal of a tunnel by the kernel, with its help: a build, or another kernel that can.
#[test]
fn tunnels_by_the_kernel_are_refused_by_name() {
    let able = |version: &str, tunnels: &[TunnelProtocol]| Kernel {
        tunnels: tunnels.to_vec(),
        ..kernel(version)
    };
    let hop = |by: &str| {
        format!(
            "[[hop]]\nname = \"one\"\nrate = \"1mbit\"\nrtt = \"1ms\"\nqdisc = \"pfifo limit 9\"\nby = \"{by}\"\n"
        )
    };
    let text = |by: &str, tunnel: &str, flow: &str| {
        format!(
            "[experiment]\nname = \"t\"\nduration = \"9s\"\nstack = \"linux-7.3\"\n{}\
             [[tunnel]]\nname = \"vpn\"\nby = \"kernel\"\n{tunnel}\n\
             [[flow]]\nname = \"f\"\ncc = \"cubic\"\n{flow}\n",
            hop(by)
        )
    };
    let linux =
        Linux::with_kernels(vec![able("7.3.4", &[TunnelProtocol::Esp, TunnelProtocol::Fou])]);
    let refused = |linux: &Linux, tunnel: &str, flow: &str| -> Vec<String> {
        let said = linux.refuse(&scenario(&text("sojourn", tunnel, flow)));
        said.iter().map(|u| format!("{}: {}", u.place, u.what)).collect()
    };
    let esp = "kind = \"esp\"\nflows = [\"f\"]";
    assert_eq!(refused(&linux, esp, ""), [] as [String; 0]);
    assert_eq!(refused(&linux, "kind = \"fou\"", ""), [] as [String; 0]);
    for (tunnel, flow, what) in [
        (esp, "by = \"sojourn\"", "flow f: a model in a tunnel by the kernel"),
        (esp, "ip = 6", "flow f: version 6 of IP in a tunnel by the kernel"),
        (esp, "initial_window = 4", "flow f: an initial window in a tunnel by the kernel"),
        (esp, "codepoint = \"ect1\"", "flow f: host_qdisc or codepoint in a tunnel by the kernel"),
        (
            "kind = \"esp\"\nreplay_window = 8192",
            "",
            "one.down.vpn: a replay window of more than 4096 packets by the kernel",
        ),
        ("kind = \"wireguard\"\nflows = [\"f\"]", "", "one.down.vpn: a tunnel by kernel"),
        (
            "kind = \"wireguard\"",
            "[[flow]]\nname = \"g\"\ncc = \"cubic\"",
            "one.down.vpn: several flows in the kernel's WireGuard",
        ),
        (
            "kind = \"wireguard\"\nreplay_window = 64",
            "",
            "one.down.vpn: another replay window of the kernel's WireGuard than 8192",
        ),
    ] {
        let said = refused(&linux, tunnel, flow);
        assert!(said.contains(&what.to_owned()), "{what}: {said:?}");
    }
    // How to get a kernel that can, and one that is there already.
    let other = Kernel {
        name: Some("mine".to_owned()),
        options: true,
        ..able("7.3.4", TunnelProtocol::ALL)
    };
    let plain = Linux::with_kernels(vec![kernel("7.3.4")]);
    let both = Linux::with_kernels(vec![kernel("7.3.4"), other]);
    let s = scenario(&text("sojourn", esp, ""));
    let said = plain.refuse(&s);
    let build =
        "build one that does: sojourn linux build --version 7.3 --name tunnels --config tunnels";
    assert_eq!(said[0].help, build, "{said:?}");
    assert_eq!(both.refuse(&s)[0].help, "mine can: --kernel mine");
    assert_eq!(both.on("mine").unwrap().refuse(&s), []);
    // Hops by the kernel, and other engines.
    let said = linux.refuse(&scenario(&text("kernel", esp, "")));
    assert!(said.iter().any(|u| u.help.contains("by = \"kernel\"")), "{said:?}");
    let said = sojourn_sim::Sim::new().refuse(&scenario(&text("sojourn", esp, "")));
    assert_eq!(said[0].what, Feature::TunnelBy(By::Kernel));
    assert!(said[0].help.contains("--engine linux"), "{said:?}");
}
