//! Two hops, walked by hand.
//!
//! Down: `a` bleaches the ECN field of flow x, delays by 10 ms (flow y by 30 ms), polices to 1 Mbit/s with a bucket of two
//! full frames, and has a line of 12.112 Mbit/s, on which a full frame takes a millisecond; `b` has a delay of 5 ms that an
//! event switches on, and a queue that takes no time. Up: a queue at `b` and a delay of 10 ms at `a`.

use super::*;
use crate::testing::Walker;
use crate::{Elements, Poll};
use sojourn_model::{
    Action, At, Direction, EcnMode, Element, Event, Flow, FlowDelay, Hop, Ip, Kind, Netem, Origin,
    PoliceAction, Policer, Queue, Rewrite, Rule, Scenario, Selector, Shaper, Start, Tcp, Traffic,
    When,
};
use sojourn_qdisc::{QdiscQuirks, Registry};
use sojourn_units::{Dscp, Ecn, Rate, Span, Time};

const STACK: &str = "linux-7.3";

fn element(name: &str, kind: Kind) -> Element {
    Element { name: name.to_owned(), enabled: true, kind }
}

fn netem(name: &str, words: &str) -> Element {
    element(name, Kind::Netem(Netem { chain: vec![words.to_owned()], per_flow: Vec::new() }))
}

fn queue(shaper: Shaper) -> Element {
    element("qdisc", Kind::Queue(Queue { shaper, qdisc: "pfifo limit 100".into() }))
}

fn hop(name: &str, down: Vec<Element>, up: Vec<Element>) -> Hop {
    Hop { name: name.to_owned(), stack: STACK.to_owned(), by: None, host_nic: false, down, up }
}

fn flow(name: &str) -> Flow {
    Flow {
        name: name.to_owned(),
        group: None,
        stack: STACK.to_owned(),
        receiver_stack: None,
        ip: Ip::V4,
        direction: Direction::Down,
        hops: vec![0, 1],
        dscp: Dscp::BEST_EFFORT,
        start: Start::At(At::ORIGIN),
        stop: None,
        delays: None,
        by: None,
        traffic: Traffic::Tcp(Tcp::plain("cubic", EcnMode::Rfc3168)),
    }
}

fn scenario() -> Scenario {
    let bleach = Kind::Rewrite(Rewrite {
        rule: Rule::BleachEcn { keep_dscp: true },
        select: Selector::Flows(vec!["x".to_owned()]),
        syn: true,
    });
    let own = FlowDelay { flow: "y".to_owned(), delay: Span::from_millis(30) };
    let delay = Netem { chain: vec!["delay 10ms limit 1000".to_owned()], per_flow: vec![own] };
    let policer = Policer { rate: Rate::from_mbit(1), burst: 3028, exceed: PoliceAction::Drop };
    let line = Shaper::Line { rate: Rate::from_bits_per_sec(12_112_000) };
    let down_a = vec![
        element("bleach", bleach),
        element("netem", Kind::Netem(delay)),
        element("police", Kind::Policer(policer)),
        queue(line),
    ];
    let extra = Element { enabled: false, ..netem("extra", "delay 5ms limit 1000") };
    let down_b = vec![extra, queue(Shaper::Own { rate: None })];
    let enable = Action::Enable { element: "b.down.extra".to_owned() };
    Scenario {
        experiment: "topology".to_owned(),
        source: String::new(),
        cell: Vec::new(),
        seed: 1,
        origin: Origin::FirstFlow,
        duration: Span::from_secs(1),
        warmup: Span::ZERO,
        sample_interval: Span::from_millis(50),
        stack: STACK.to_owned(),
        hops: vec![
            hop("a", down_a, vec![netem("netem", "delay 10ms limit 1000")]),
            hop("b", down_b, vec![queue(Shaper::Own { rate: None })]),
        ],
        flows: vec![flow("x"), flow("y")],
        events: vec![Event {
            name: "later".to_owned(),
            when: When::At(At::from_secs(1)),
            actions: vec![enable],
        }],
        phases: Vec::new(),
        windows: Vec::new(),
        checks: Vec::new(),
        traces: Vec::new(),
        links: Vec::new(),
        plugins: Vec::new(),
    }
}

/// What a test builds with.
struct Lab {
    scenario: Scenario,
    registry: Registry<Walker>,
    elements: Elements,
}

impl Lab {
    fn new(scenario: Scenario) -> Self {
        scenario.check().expect("a scenario that holds together");
        Self { scenario, registry: Registry::built_in(), elements: Elements::built_in() }
    }

    fn basis(&self) -> Basis<'_, Walker> {
        Basis {
            scenario: &self.scenario,
            registry: &self.registry,
            elements: &self.elements,
            profiles: &|_| QdiscQuirks::LINUX_7_3,
        }
    }

    fn build(&self, host: HostSide<'static>) -> Topology<Walker> {
        Topology::build(&self.basis(), |_| host).expect("a topology")
    }
}

const NIC: HostSide<'_> = HostSide { nic: true, queue: None, control: false };

/// The elements of a route, in words: `[bleach]` before the port that it leads to.
fn words(topology: &Topology<Walker>, route: u16) -> Vec<String> {
    let entries = &topology.routes[usize::from(route)];
    let step = |step: &Step| match *step {
        Step::Pass(number) => topology.middleboxes[usize::from(number)].0.clone(),
        Step::Bypass(switch, entries) => {
            format!("{} or past {entries}", topology.switches[usize::from(switch)].element)
        }
    };
    let mut words = Vec::new();
    for entry in entries {
        if let Some(place) = usize::from(entry.steps).checked_sub(1) {
            words.extend(topology.steps[place].iter().map(|s| format!("[{}]", step(s))));
        }
        words.push(match topology.nodes.get(usize::from(entry.port)).map(|n| &n.role) {
            Some(Role::Netem { element, flow: Some(flow), .. }) => format!("{element}:{flow}"),
            Some(role) => role.to_string(),
            None => "host".to_owned(),
        });
    }
    words
}

/// Brings a packet to its host by hand, as an engine does: into a port, out when the port says, past what is between.
/// Returns when it came and which ports it left, or nothing if a middlebox dropped it.
fn walk(
    topology: &mut Topology<Walker>,
    mut now: Time,
    route: u16,
    packet: Walker,
) -> Option<(Time, Walker, Vec<String>)> {
    let mut ports = Vec::new();
    let mut at = topology.pass(now, packet, route, 0)?;
    while at.port != HOST {
        let Topology { nodes, air, .. } = topology;
        let node = &mut nodes[usize::from(at.port)];
        ports.push(node.role.to_string());
        node.port.accept(now, at.packet);
        let packet = loop {
            match node.port.poll_transmit(now, air) {
                Poll::Packet(packet, _) => break packet,
                Poll::Later(later) => {
                    assert!(later > now && !later.is_never(), "{} keeps it", node.role);
                    now = later;
                }
            }
        };
        at = topology.pass(now, packet, route, at.position + 1)?;
    }
    Some((now, at.packet, ports))
}

fn act(lab: &Lab, topology: &mut Topology<Walker>, now: Time, action: &Action) {
    topology.change_between(now, action).expect("a change");
    for port in topology.ports_of(action) {
        topology.change_port(now, port, action, &lab.basis()).expect("a change");
    }
}

#[test]
fn routes_are_as_written_by_hand() {
    let lab = Lab::new(scenario());
    let topology = lab.build(HostSide { control: true, ..NIC });
    let down = |delay: &'static str| {
        [
            "host.near.linux-7.3",
            "[a.down.bleach]",
            delay,
            "[a.down.police]",
            "a.down.qdisc",
            "[b.down.extra or past 1]",
            "b.down.extra",
            "b.down.qdisc",
            "host",
        ]
    };
    let up = ["host.far.linux-7.3", "b.up.qdisc", "a.up.netem", "host"];
    let (common, own) = (down("a.down.netem"), down("a.down.netem:y"));
    for (flow, there) in [(0, common), (1, own)] {
        assert_eq!(words(&topology, topology.of_flow[flow].0), there);
        assert_eq!(words(&topology, topology.of_flow[flow].1), up);
        // A control connection has none of the flow's own delays.
        assert_eq!(words(&topology, topology.of_control[flow].0), common);
    }
    // Alike, so the same.
    assert_eq!(topology.routes.len(), 3);
    assert_eq!(topology.of_flow[0], topology.of_control[1]);
    assert_eq!(topology.device_of, [None, None]);
    let fixed = |flow: usize| topology.fixed_delay(&lab.scenario, topology.of_flow[flow].0);
    assert_eq!([0, 1].map(fixed), [10, 30].map(Span::from_millis));
    assert_eq!(topology.queue("a.down.qdisc"), Some(2));
    assert_eq!(topology.netems("a.down.netem", Some("y")).len(), 1);
}

#[test]
fn a_packet_passes_what_stands_on_its_way() {
    let lab = Lab::new(scenario());
    let mut topology = lab.build(NIC);
    let packet = |flow| Walker { flow, ecn: Ecn::Ect0, ..Walker::default() };
    let ms = Time::from_millis;
    // 10 ms of delay, one on the line, and none where the delay is switched off.
    let route = topology.of_flow[0].0;
    let (at, out, ports) = walk(&mut topology, Time::ZERO, route, packet(0)).expect("arrives");
    assert_eq!((at, out.ecn), (ms(11), Ecn::NotEct));
    let passed = ["host.near.linux-7.3", "a.down.netem", "a.down.qdisc", "b.down.qdisc"];
    assert_eq!(ports, passed);
    // The rewriter is for x alone, and y has 30 ms; 5 more once an event lets them act.
    let route = topology.of_flow[1].0;
    let (at, out, _) = walk(&mut topology, Time::ZERO, route, packet(1)).expect("arrives");
    assert_eq!((at, out.ecn), (ms(31), Ecn::Ect0));
    act(&lab, &mut topology, ms(40), &lab.scenario.events[0].actions[0]);
    let (at, _, ports) = walk(&mut topology, ms(40), route, packet(1)).expect("arrives");
    assert_eq!(at, ms(76));
    assert_eq!(ports[3], "b.down.extra");
    // A frame costs the bucket 12 ms of its rate, so it is full again; three frames at once are one too many.
    let twice = [(); 3].map(|()| walk(&mut topology, ms(100), route, packet(1)).is_some());
    assert_eq!(twice, [true, true, false]);
    let police = topology.middlebox("a.down.police").expect("a policer").stats();
    assert_eq!((police.entered, police.left, police.all_drops()), (6, 5, 1));
}

#[test]
fn changes_reach_what_they_name_and_nothing_else() {
    let lab = Lab::new(scenario());
    let mut topology = lab.build(NIC);
    let element = str::to_owned;
    // Milliseconds that a packet takes, sent `ms` after the beginning.
    let takes = |topology: &mut Topology<Walker>, ms: u64, flow: usize| {
        let (sent, route) = (Time::from_millis(ms), topology.of_flow[flow].0);
        let (at, ..) = walk(topology, sent, route, Walker { flow, ..Walker::default() })?;
        Some(at.since(sent).as_nanos() / 1_000_000)
    };
    let (netem, delay) = (element("a.down.netem"), Span::from_millis(3));
    let of_y = Action::Delay { element: netem.clone(), flow: Some(element("y")), delay };
    act(&lab, &mut topology, Time::ZERO, &of_y);
    assert_eq!(takes(&mut topology, 0, 0), Some(11));
    assert_eq!(takes(&mut topology, 50, 1), Some(4));
    let chain = vec![element("delay 1ms limit 1000")];
    act(
        &lab,
        &mut topology,
        Time::from_millis(100),
        &Action::ChangeNetem { element: netem, chain },
    );
    let three = [100, 102, 104].map(|ms| takes(&mut topology, ms, 0));
    assert_eq!(three, [Some(2), Some(2), None]);
    // A frame takes the bucket 12 ms at 1 Mbit/s, and far less than one at 200.
    let now = Time::from_millis(106);
    let rate = Rate::from_mbit(200);
    act(&lab, &mut topology, now, &Action::Rate { element: element("a.down.police"), rate });
    assert_eq!(takes(&mut topology, 106, 0), Some(2));
    let shaper = Some(Shaper::Line { rate: Rate::from_bits_per_sec(6_056_000) });
    let (queue, qdisc) = (element("a.down.qdisc"), "bfifo limit 9000".into());
    let replace = Action::ReplaceQdisc { element: queue.clone(), qdisc, shaper };
    act(&lab, &mut topology, Time::from_millis(200), &replace);
    assert_eq!(takes(&mut topology, 200, 0), Some(3));
    let port = topology.queue(&queue).expect("a queue");
    assert_eq!(topology.nodes[port].port.discipline().info().name, "bfifo");
    // Actions on flows, and on elements that no flow passes, are about no port.
    let enable = Action::Enable { element: element("a.up.qdisc") };
    for action in [enable, Action::StartFlow { flow: element("x") }] {
        assert_eq!(topology.ports_of(&action), [0; 0]);
    }
}

#[test]
fn what_cannot_be_set_is_said_with_its_element() {
    let lab = Lab::new(scenario());
    let mut topology = lab.build(NIC);
    let rate = Rate::from_mbit(1);
    let mut fails = |action: &Action| {
        let mut result = topology.change_between(Time::ZERO, action);
        for port in topology.ports_of(action) {
            result = topology.change_port(Time::ZERO, port, action, &lab.basis());
        }
        result.expect_err("an action that fails")
    };
    let bleach = "a.down.bleach".to_owned();
    let error = fails(&Action::Rate { element: bleach.clone(), rate });
    assert_eq!(error, ChangeError::NoRate(bleach));
    let fifo = "b.up.qdisc".to_owned();
    let error = fails(&Action::Rate { element: fifo.clone(), rate });
    assert_eq!(error, ChangeError::NoShaper(fifo.clone()));
    let error = fails(&Action::ChangeQdisc { element: fifo, qdisc: "pfifo limt 3".into() });
    assert_eq!(
        error.to_string(),
        "b.up.qdisc: pfifo has no option \"limt\"; did you mean \"limit\"?"
    );
}

#[test]
fn hosts_may_have_no_interface_and_a_queue_of_their_own() {
    // The first route begins with a rewriter, so a packet meets it before any port.
    let lab = Lab::new(scenario());
    let mut topology = lab.build(HostSide::default());
    assert_eq!(words(&topology, 0)[..2], ["[a.down.bleach]", "a.down.netem"]);
    let packet = Walker { ecn: Ecn::Ect1, ..Walker::default() };
    let (at, out, _) = walk(&mut topology, Time::ZERO, 0, packet).expect("arrives");
    assert_eq!((at, out.ecn), (Time::from_millis(11), Ecn::NotEct));
    let topology = lab.build(HostSide { queue: Some("fq_codel"), ..NIC });
    let first = words(&topology, 0);
    assert_eq!(first[..2], ["host.near.linux-7.3", "host.near.linux-7.3 (fq_codel)"]);
    assert_eq!(topology.device_of, [Some(NicKind::Wired); 2]);
    // What comes back passes no queue of the sender's.
    assert_eq!(words(&topology, topology.of_flow[0].1)[..2], ["host.far.linux-7.3", "b.up.qdisc"]);
    assert_eq!(topology.nodes.iter().filter(|n| n.own).count(), 1);
    let built = Topology::build(&lab.basis(), |_| HostSide { queue: Some("fq_codle"), ..NIC });
    let error = built.expect_err("no such discipline");
    assert_eq!((error.element.as_str(), error.words.as_str()), ("flow x", "fq_codle"));
    assert!(error.error.help.as_deref().is_some_and(|h| h.contains("fq_codel")), "{error}");
}

#[test]
fn the_first_queue_of_a_hop_may_be_the_senders_device() {
    let mut scenario = scenario();
    scenario.hops[0].down.retain(|e| e.name == "qdisc");
    scenario.hops[0].host_nic = true;
    let lab = Lab::new(scenario);
    let topology = lab.build(NIC);
    assert_eq!(topology.device_of, [Some(NicKind::Wired); 2]);
    let own: Vec<_> = topology.nodes.iter().filter(|n| n.own).map(|n| n.role.to_string()).collect();
    assert_eq!(own, ["a.down.qdisc"]);
}
