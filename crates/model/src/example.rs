//! A scenario with something of everything, for the tests of every crate that reads one.

use crate::{
    Action, At, Check, Direction, EcnMode, Edge, Element, Event, Flow, Hop, Ip, Kind, Netem,
    Origin, Phase, Profile, Program, Queue, Ready, Reference, Rewrite, Rule, Scenario, Selector,
    Shaper, Start, Tcp, Traffic, Tunnel, TunnelKind, Video, When,
};
use sojourn_units::{Dscp, Ecn, Rate, Span};
use std::collections::BTreeMap;

/// A program with a file `run.sh` and the variable `A`, and no server.
pub fn program(client: &str) -> Program {
    Program {
        server: vec![],
        client: vec![client.to_owned(), "two words".to_owned()],
        files: BTreeMap::from([("run.sh".to_owned(), "echo hello".to_owned())]),
        environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        reads: vec![],
        ready: Ready::Listens,
        exit: 0,
        within: None,
        cpu_limit: Span::from_secs(60),
    }
}

pub(crate) fn netem(delay: &str) -> Element {
    Element {
        name: "netem".into(),
        enabled: true,
        kind: Kind::Netem(Netem { chain: vec![format!("delay {delay}")], per_flow: vec![] }),
    }
}

fn queue(rate: Rate) -> Element {
    Element {
        name: "qdisc".into(),
        enabled: true,
        kind: Kind::Queue(Queue {
            shaper: Shaper::Htb { rate, ceil: None, burst: None },
            qdisc: "fq_codel flows 1".into(),
        }),
    }
}

fn hop(name: &str) -> Hop {
    let rate = Rate::from_mbit(50);
    let bleach = Element {
        name: "bleach".into(),
        enabled: true,
        kind: Kind::Rewrite(Rewrite {
            rule: Rule::CeToEct { ecn: Ecn::Ect1 },
            select: Selector::Dscp(Dscp::from_tos(0x4c)),
            syn: false,
        }),
    };
    let tunnel = Element {
        name: "wg".into(),
        enabled: true,
        kind: Kind::Encapsulate(Tunnel {
            kind: TunnelKind::Fou { auto_source_port: true },
            select: Selector::All,
            overhead: 28,
            replay_window: 0,
            by: None,
        }),
    };
    Hop {
        name: name.into(),
        stack: "linux-7.3".into(),
        by: None,
        host_nic: false,
        down: vec![tunnel, netem("10ms"), bleach, queue(rate)],
        up: vec![netem("10ms"), queue(rate)],
    }
}

fn flow(name: &str, direction: Direction, traffic: Traffic) -> Flow {
    Flow {
        name: name.into(),
        group: None,
        stack: "linux-7.3".into(),
        ip: Ip::V4,
        direction,
        hops: vec![0, 1],
        dscp: Dscp::default(),
        start: Start::At(At::ORIGIN),
        stop: None,
        delays: None,
        receiver_stack: None,
        by: None,
        traffic,
    }
}

/// Two hops, a TCP flow down and a video call up, an event, a phase and a check.
pub fn scenario() -> Scenario {
    let tcp =
        Tcp { max_pacing_rate: Some(Rate::from_mbit(40)), ..Tcp::plain("cubic", EcnMode::Rfc3168) };
    let video = Traffic::Video(Video::captured(Profile::CallDown, Ecn::NotEct));
    Scenario {
        experiment: "test".into(),
        source: String::new(),
        cell: vec![("queue".into(), "fq_codel(1q)".into())],
        seed: u64::MAX,
        origin: Origin::FirstFlow,
        duration: Span::from_secs(60),
        warmup: Span::from_secs(5),
        sample_interval: Span::from_millis(50),
        stack: "linux-7.3".into(),
        hops: vec![hop("first"), hop("second")],
        flows: vec![flow("a", Direction::Down, Traffic::Tcp(tcp)), flow("b", Direction::Up, video)],
        events: vec![Event {
            name: "step".into(),
            when: When::After {
                reference: Reference::Flow("a".into()),
                edge: Edge::Start,
                delay: Span::from_millis(24_700),
            },
            actions: vec![Action::ReplaceQdisc {
                element: "first.down.qdisc".into(),
                qdisc: "pie".into(),
                shaper: Some(Shaper::Line { rate: Rate::from_mbit(5) }),
            }],
        }],
        phases: vec![Phase {
            name: "late".into(),
            from: When::At(At::from_secs(30)),
            to: When::At(At::from_secs(60)),
        }],
        windows: vec![],
        checks: vec![Check { name: None, that: "goodput(a) > 1mbit".into() }],
        traces: Vec::new(),
        links: Vec::new(),
        plugins: vec![],
    }
}
