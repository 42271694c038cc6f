use super::example::{netem, scenario};
use super::*;
use sojourn_units::{Ecn, Rate, Span, Time};

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
    // 1.75 and 0.83 Mbit/s of IP (docs/sources/video-call.md).
    assert!((1.7..1.8).contains(&down), "{down}");
    assert!((0.7..1.0).contains(&up), "{up}");
}

/// A kind's word is the one that files have for it: serde writes the enums with the data by the names of their variants.
#[test]
fn kinds_are_called_what_files_call_them() {
    fn are_known<T: serde::de::DeserializeOwned>(tag: &str, words: &[&str]) {
        for word in words {
            // Settings are missing; the variant is not.
            if let Err(error) = serde_json::from_str::<T>(&format!(r#"{{"{tag}": "{word}"}}"#)) {
                assert!(error.to_string().starts_with("missing field"), "{word}: {error}");
            }
        }
    }
    are_known::<Kind>("kind", ElementKind::NAMES);
    are_known::<Rule>("rule", RuleKind::NAMES);
    are_known::<TunnelKind>("tunnel", TunnelProtocol::NAMES);
    are_known::<Traffic>("kind", TrafficKind::NAMES);
    assert_eq!(ElementKind::from_name("wifi"), Some(ElementKind::Wifi));
    assert_eq!(serde_json::to_string(&TrafficKind::OnOff).unwrap(), "\"on_off\"");
}

#[test]
fn what_is_not_supported_is_said_with_its_place() {
    let says = |place: Place, what: Feature| {
        Unsupported { what, place, why: "no".into(), help: String::new() }.to_string()
    };
    let air = || Place::Element("radio.down.air".into());
    assert_eq!(says(air(), Feature::Element(ElementKind::Wifi)), "radio.down.air: wifi: no");
    let side = Place::Side("path".into(), Side::Up);
    assert_eq!(says(side, Feature::Tunnel(TunnelProtocol::Esp)), "path.up: tunnel esp: no");
    assert_eq!(
        says(Place::Flow("a".into()), Feature::Qdisc("pie".into())),
        "flow a: qdisc pie: no"
    );
}

#[test]
fn a_radio_holds_a_queue_and_has_no_discipline_of_tcs() {
    let mut scenario = scenario();
    let air = Kind::AggregatingLink(AggregatingLink {
        rates: vec![Rate::from_mbit(5)],
        dwell: Span::from_secs(1),
        opportunity_min: Span::ZERO,
        opportunity_max: Span::ZERO,
        frames: 1,
        airtime: Span::from_millis(1),
        line: Rate::from_mbit(100),
        limit: 9,
    });
    let element = Element { name: "air".into(), enabled: true, kind: air };
    scenario.hops[0].up.push(element);
    let queues: Vec<String> = scenario.queues().collect();
    let all = ["first.down.qdisc", "first.up.qdisc", "first.up.air", "second.down.qdisc"];
    assert_eq!(queues[..4], all);
    assert!(scenario.is_queue("first.up.air") && !scenario.is_queue("first.up.netem"));
    for (path, holds) in [("first.up.air", true), ("first.up.netem", false)] {
        let gauge = Gauge::Queue { queue: path.into(), name: "backlog_packets".into() };
        scenario.events[0].when =
            When::State { gauge, order: Order::Above, value: 9.0, delay: Span::ZERO };
        assert_eq!(scenario.check().is_ok(), holds, "an event waits for {path}");
    }
    assert_eq!(scenario.disciplines().count(), queues.len() - 1);
}
