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
        "event step: first.down.qdisc has a rate of less than a byte a second; write 8bit or more"
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
    assert!(matches!(broken.check(), Err(Inconsistent::Range { .. })));
}

/// What is wrong with the example after a change; empty if nothing is.
fn wrong(change: impl FnOnce(&mut Scenario)) -> String {
    let mut broken = scenario();
    change(&mut broken);
    broken.check().map_or_else(|e| e.to_string(), |()| String::new())
}

#[test]
fn words_are_words_on_every_way_in() {
    const ORDER: &str = "fq_codel\nrun client /bin/sh";
    let has =
        " has the control character U+000A; words are letters, digits and signs between spaces";
    let queue = |s: &mut Scenario| {
        let queue = s.hops[0].down.iter_mut().find_map(|e| match &mut e.kind {
            Kind::Queue(queue) => Some(queue),
            _ => None,
        });
        queue.unwrap().qdisc = ORDER.into();
    };
    assert_eq!(wrong(queue), format!("first.down.qdisc{has}"));
    let netem = |s: &mut Scenario| {
        let netem = s.hops[1].up.iter_mut().find_map(|e| match &mut e.kind {
            Kind::Netem(netem) => Some(netem),
            _ => None,
        });
        netem.unwrap().chain = vec!["delay 1ms\nat 0".into()];
    };
    assert_eq!(wrong(netem), format!("second.up.netem{has}"));
    let tcp = |change: fn(&mut Tcp)| {
        wrong(|s| match &mut s.flows[0].traffic {
            Traffic::Tcp(tcp) => change(tcp),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(tcp(|t| t.cc = "cubic\n".into()), format!("the congestion control of flow a{has}"));
    assert_eq!(
        tcp(|t| t.host_qdisc = Some(ORDER.into())),
        format!("the host_qdisc of flow a{has}")
    );
    let change = |action| wrong(|s| s.events[0].actions[0] = action);
    let element = || "first.down.qdisc".to_owned();
    let said = change(Action::ChangeQdisc { element: element(), qdisc: ORDER.into() });
    assert_eq!(said, format!("event step{has}"));
    let netems = vec!["delay 1ms".into(), "loss 1%\u{1b}[2J".into()];
    let said = change(Action::ChangeNetem { element: "first.down.netem".into(), chain: netems });
    assert!(said.starts_with("event step has the control character U+001B"), "{said}");
    assert!(wrong(|s| s.flows[0].name = "a\0".into()).contains("U+0000"));
    assert!(wrong(|s| s.hops[0].stack = "linux-7.3\n".into()).contains("the stack of hop first"));
}

#[test]
fn numbers_of_a_stored_scenario_are_in_the_languages_ranges() {
    let ping = |interval, size| {
        let ping = Traffic::Ping(Ping { interval, size, ecn: Ecn::NotEct });
        wrong(|s| s.flows[0].traffic = ping)
    };
    assert_eq!(ping(Span::from_millis(200), 84), "");
    assert_eq!(ping(Span::ZERO, 84), "interval of flow a is 0s; it must be from 10us to 1000s");
    assert_eq!(ping(Span::from_millis(1), 27), "size of flow a is 27; it must be from 28 to 65535");
    let video = |change: fn(&mut Video)| {
        let mut video = Video::captured(Profile::CallDown, Ecn::NotEct);
        change(&mut video);
        wrong(|s| s.flows[1].traffic = Traffic::Video(video))
    };
    assert_eq!(
        video(|v| v.frame_intervals.clear()),
        "frame_intervals of flow b is empty; it needs one entry or more"
    );
    assert_eq!(
        video(|v| v.frame_sizes.clear()),
        "frame_sizes of flow b is empty; it needs one entry or more"
    );
    assert!(wrong(|s| s.sample_interval = Span::ZERO).contains("sample_interval"));
}

#[test]
fn tables_that_no_machine_holds_are_refused_before_the_run() {
    let long = wrong(|s| {
        s.sample_interval = Span::from_millis(1);
        s.duration = Span::from_secs(100_000);
    });
    assert_eq!(
        long,
        "2 flows and 4 queues at the sample interval would be 600030000 rows, and a run's tables hold 100000000 \
         together; make sample_interval (now 1ms) longer, or the run shorter"
    );
    let pings = Ping { interval: Span::from_micros(10), size: 84, ecn: Ecn::NotEct };
    let pings = wrong(|s| {
        s.duration = Span::from_secs(1000);
        s.flows[0].traffic = Traffic::Ping(pings);
    });
    assert!(pings.starts_with("flow a would be 100500000 rows"), "{pings}");
    assert_eq!(wrong(|s| s.duration = Span::from_secs(1000)), "");
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
