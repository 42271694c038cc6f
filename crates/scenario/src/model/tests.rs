use super::*;
use sojourn_units::{Dscp, Ecn, Rate};

fn netem(delay: &str) -> Element {
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
        }),
    };
    Hop {
        name: name.into(),
        stack: "linux-7.3".into(),
        own_device: false,
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
        traffic,
    }
}

pub(crate) fn scenario() -> Scenario {
    let tcp =
        Tcp { pacing_cap: Some(Rate::from_mbit(40)), ..Tcp::plain("cubic", EcnMode::Rfc3168) };
    let video = Traffic::Video(Video::captured(Profile::CallDown, Ecn::NotEct));
    Scenario {
        experiment: "test".into(),
        source: String::new(),
        cell: vec![("queue".into(), "fq_codel(1q)".into())],
        seed: u64::MAX,
        origin: Origin::FirstFlow,
        duration: Span::from_secs(60),
        lead: Span::from_secs(5),
        step: Span::from_millis(50),
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
    }
}

#[test]
fn a_scenario_survives_its_file() {
    let scenario = scenario();
    let json = serde_json::to_string_pretty(&scenario).unwrap();
    let back: Scenario = serde_json::from_str(&json).unwrap();
    assert_eq!(back, scenario);
    assert!(json.contains(r#""rate": "50Mbit""#), "{json}");
}

#[test]
fn data_goes_down_in_order_and_acks_come_up_in_reverse() {
    let scenario = scenario();
    let names = |path: Box<dyn Iterator<Item = (&str, Side, &Element)> + '_>| {
        path.map(|(hop, side, e)| format!("{hop}.{side}.{}", e.name)).collect::<Vec<_>>()
    };
    let down = [
        "first.down.wg",
        "first.down.netem",
        "first.down.bleach",
        "first.down.qdisc",
        "second.down.wg",
        "second.down.netem",
        "second.down.bleach",
        "second.down.qdisc",
    ];
    let up = ["second.up.netem", "second.up.qdisc", "first.up.netem", "first.up.qdisc"];
    assert_eq!(names(scenario.data_path(&scenario.flows[0])), down);
    assert_eq!(names(scenario.ack_path(&scenario.flows[0])), up);
    assert_eq!(names(scenario.data_path(&scenario.flows[1])), up);
    assert_eq!(names(scenario.ack_path(&scenario.flows[1])), down);
}

#[test]
fn the_origin_is_where_the_lead_ends() {
    let scenario = scenario();
    assert_eq!(scenario.clock(At::from_secs(-5)), Time::ZERO);
    assert_eq!(scenario.clock(At::ORIGIN), Time::from_secs(5));
    assert_eq!(scenario.seconds(Time::from_secs(2)), -3.0);
    assert_eq!(scenario.id(), format!("test[fq_codel(1q)]#{}", u64::MAX));
}

#[test]
fn what_does_not_hold_together_is_named() {
    assert_eq!(scenario().check(), Ok(()));
    let mut broken = scenario();
    broken.flows[1].name = "a".into();
    assert_eq!(broken.check().unwrap_err().to_string(), "two flows are called \"a\"");
    let mut broken = scenario();
    broken.events[0].actions[0] = Action::Enable { element: "first.up.bleach".into() };
    assert_eq!(
        broken.check().unwrap_err().to_string(),
        "step refers to the element \"first.up.bleach\", which does not exist"
    );
    let mut broken = scenario();
    broken.events[0].actions[0] =
        Action::Rate { element: "first.down.qdisc".into(), rate: Rate::ZERO };
    assert_eq!(
        broken.check().unwrap_err().to_string(),
        "event step: first.down.qdisc has a rate of zero; write 8bit or more"
    );
    for shaper in [
        Shaper::Line { rate: Rate::ZERO },
        Shaper::Own { rate: Some(Rate::ZERO) },
        Shaper::Htb { rate: Rate::ZERO, ceil: None, burst: None },
    ] {
        let mut broken = scenario();
        let queue = Queue { shaper, qdisc: "pie".into() };
        broken.hops[0].up.push(Element { kind: Kind::Queue(queue), ..netem("1ms") });
        broken.hops[0].up.last_mut().unwrap().name = "slow".into();
        let error = broken.check().unwrap_err();
        assert_eq!(error, Inconsistent::NoRate("first.up.slow".into()));
    }
    let mut broken = scenario();
    let udp = Udp { rate: Rate::ZERO, payload: 100, ecn: Ecn::NotEct };
    broken.flows[0].traffic = Traffic::Udp(udp);
    assert_eq!(broken.check(), Err(Inconsistent::NoRate(format!("flow {}", broken.flows[0].name))));
    let mut broken = scenario();
    broken.duration = Span::MAX;
    assert!(matches!(broken.check(), Err(Inconsistent::Length(_))));
}

#[test]
fn the_captured_call_has_its_captured_rate() {
    let down = Video::captured(Profile::CallDown, Ecn::NotEct).mean_rate().as_mbit();
    let up = Video::captured(Profile::CallUp, Ecn::NotEct).mean_rate().as_mbit();
    // 1.75 and 0.83 Mbit/s of IP (reference/skype.md).
    assert!((1.7..1.8).contains(&down), "{down}");
    assert!((0.7..1.0).contains(&up), "{up}");
}
