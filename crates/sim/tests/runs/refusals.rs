//! Features that the simulator does not have are refused before the run, by name and place.

use crate::bench::try_run;
use sojourn_engine::{Engine, RunError};
use sojourn_model::{
    Action, AggregatingLink, At, EcnMode, Element, Event, Kind, PoliceAction, Policer, Rewrite,
    RttScaling, Rule, Scenario, Selector, Shaper, SlowStart, Tcp, Tunnel, TunnelKind, When,
};
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Dscp, Ecn, Rate, Span};

fn plain() -> Scenario {
    Dumbbell { ccs: vec!["cubic".to_owned()], ..Dumbbell::default() }.scenario()
}

/// The refusals of a scenario: (place, feature).
fn refusals(scenario: &Scenario) -> Vec<(String, String)> {
    match try_run(scenario) {
        Err(RunError::Refused(all)) => {
            // The message names both, and says something of why.
            for r in &all {
                let text = r.to_string();
                let (place, what) = (r.place.to_string(), r.what.to_string());
                assert!(text.contains(&place) && text.contains(&what) && !r.why.is_empty());
            }
            all.into_iter().map(|r| (r.place.to_string(), r.what.to_string())).collect()
        }
        other => panic!("not refused: {other:?}"),
    }
}

/// Refused for exactly this.
fn is_refused(scenario: &Scenario, place: &str, feature: &str) {
    assert_eq!(refusals(scenario), [(place.to_owned(), feature.to_owned())]);
}

fn with_tcp(change: impl FnOnce(&mut Tcp)) -> Scenario {
    let mut s = plain();
    change(crate::bench::tcp_mut(&mut s.flows[0].traffic));
    s
}

fn with_element(kind: Kind) -> Scenario {
    let mut s = plain();
    s.hops[0].down.insert(1, Element { name: "extra".to_owned(), enabled: true, kind });
    s
}

#[test]
fn a_change_of_another_child_is_refused() {
    let mut s = plain();
    let Kind::Queue(queue) = &mut s.hops[0].down[1].kind else { panic!("no queue") };
    queue.qdisc = "htb rate 10mbit fq_codel".into();
    queue.shaper = Shaper::Own { rate: None };
    let mut change = |words: &str| {
        let (element, qdisc) = ("bottleneck.down.qdisc".to_owned(), words.to_owned());
        let actions = vec![Action::ChangeQdisc { element, qdisc: qdisc.into() }];
        s.events = vec![Event { name: "c".into(), when: When::At(At::from_secs(1)), actions }];
        s.clone()
    };
    is_refused(&change("htb rate 5mbit pie"), "event c", "a change of another discipline");
    assert!(Sim::new().refuse(&change("htb rate 5mbit fq_codel target 9ms")).is_empty());
    assert!(Sim::new().refuse(&change("htb rate 5mbit")).is_empty());
}

#[test]
fn what_is_there_is_not_refused() {
    assert!(Sim::new().refuse(&plain()).is_empty());
    // A host's own queue is none of the path's disciplines, and yet there is one.
    for words in ["fq", "fq_codel", "tbf rate 10mbit burst 1540 limit 100000"] {
        let scenario = with_tcp(|t| t.host_qdisc = Some(words.into()));
        assert!(Sim::new().refuse(&scenario).is_empty(), "{words}");
    }
    assert!(Sim::new().refuse(&with_tcp(|t| t.ecn = EcnMode::AccEcn)).is_empty());
    assert!(Sim::new().refuse(&with_tcp(|t| t.ecn = EcnMode::Sce)).is_empty());
    assert!(Sim::new().refuse(&with_tcp(|t| t.ignore_ce = true)).is_empty());
    assert!(Sim::new().refuse(&with_tcp(|t| t.codepoint = Some(Ecn::Ect1))).is_empty());
}

#[test]
fn settings_of_tcp_that_are_not_there() {
    let flow = "flow cubic-1";
    is_refused(&with_tcp(|t| t.rtt_scaling = Some(RttScaling::Rate)), flow, "rtt_scaling");
    let bbr = with_tcp(|t| {
        t.cc = "bbr".to_owned();
        t.slow_start = Some(SlowStart::Search);
    });
    is_refused(&bbr, flow, "slow_start");
    let prague = with_tcp(|t| {
        t.cc = "prague".to_owned();
        (t.saved_cwnd, t.saved_rtt) = (Some(1_000_000), Some(Span::from_millis(100)));
    });
    is_refused(&prague, flow, "saved_cwnd");
    is_refused(&with_tcp(|t| t.cc = "westwood".to_owned()), flow, "congestion control westwood");
    for words in ["fq maxrate 5mbit", "etf"] {
        let scenario = with_tcp(|t| t.host_qdisc = Some(words.into()));
        is_refused(&scenario, flow, &format!("host qdisc {words}"));
    }
}

/// Every element that the language has can be run.
#[test]
fn no_element_is_refused() {
    let rewrite = |rule| Kind::Rewrite(Rewrite { rule, select: Selector::All, syn: false });
    let rate = Rate::from_mbit(5);
    let link = AggregatingLink {
        rates: vec![rate],
        dwell: Span::from_secs(1),
        opportunity_min: Span::from_millis(1),
        opportunity_max: Span::from_millis(2),
        frames: 8,
        airtime: Span::from_millis(4),
        line: rate,
        limit: 100,
    };
    let mut kinds = vec![
        rewrite(Rule::BleachEcn { keep_dscp: false }),
        rewrite(Rule::BleachCe),
        rewrite(Rule::DscpToEct1),
        rewrite(Rule::DscpToNotect),
        rewrite(Rule::DscpToNotectEct1),
        rewrite(Rule::Ect0ToEct1),
        rewrite(Rule::Ect1ToEct0),
        rewrite(Rule::CeToEct { ecn: Ecn::Ect0 }),
        rewrite(Rule::SetDscp { to: Dscp::BEST_EFFORT }),
        rewrite(Rule::ClassifyByLength { longer_than: 1024, ecn: Ecn::Ect1, to: None }),
        Kind::Policer(Policer { rate, burst: 10_000, exceed: PoliceAction::Drop }),
        Kind::AggregatingLink(link),
        Kind::Wifi(crate::bench::wifi(&[26], None)),
    ];
    for kind in [TunnelKind::Wireguard, TunnelKind::Fou { auto_source_port: true }, TunnelKind::Esp]
    {
        let tunnel =
            Tunnel { kind, select: Selector::All, overhead: 60, replay_window: 64, by: None };
        kinds.push(Kind::Encapsulate(tunnel));
    }
    kinds.push(Kind::Decapsulate { tunnel: "t".to_owned() });
    for kind in kinds {
        let name = kind.name();
        assert!(Sim::new().refuse(&with_element(kind)).is_empty(), "{name}");
    }
}

#[test]
fn disciplines_and_stacks_that_are_not_there() {
    let mut s = plain();
    let queue = crate::bench::queue_mut(&mut s, sojourn_model::Side::Down);
    queue.qdisc = "sfb limit 100".into();
    is_refused(&s, "bottleneck.down.qdisc", "qdisc sfb");

    let mut s = plain();
    s.flows[0].stack = "linux-2.6".to_owned();
    is_refused(&s, "flow cubic-1", "stack linux-2.6");

    let mut s = plain();
    let element = crate::bench::QUEUE.to_owned();
    let action = Action::ReplaceQdisc { element, qdisc: "hhf".into(), shaper: None };
    s.events.push(crate::bench::event("step", Span::from_secs(1), vec![action]));
    is_refused(&s, "event step", "qdisc hhf");
}

/// All of it at once, not the first of it.
#[test]
fn everything_is_named_at_once() {
    let mut s = with_tcp(|t| {
        t.cc = "westwood".to_owned();
        t.host_qdisc = Some("etf".into());
    });
    crate::bench::queue_mut(&mut s, sojourn_model::Side::Up).qdisc = "hhf".into();
    assert_eq!(refusals(&s).len(), 3);
}

/// Words that no kernel would take are found when the run is built, with their place.
#[test]
fn words_that_are_wrong_are_quoted() {
    let mut s = plain();
    crate::bench::netem_mut(&mut s).chain = vec!["delay 10ms corrupt 1%".to_owned()];
    let error = try_run(&s).expect_err("netem corrupts nothing").to_string();
    for part in ["bottleneck.down.netem", "corrupt"] {
        assert!(error.contains(part), "{error}");
    }
}
