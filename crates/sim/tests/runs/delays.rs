//! Delays by flow, class and window: the counters, the histograms and a capture of the same run say the same.

use crate::bench::{QUEUE, count_at, counts, fingerprint, run, table};
use crate::capture::Scratch;
use sojourn_capture::{EPOCH, SNAP_LEN};
use sojourn_model::{At, Check, Edge, Phase, Reference, Scenario, When, Window, WindowBounds};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, FEW, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// CUBIC and Prague through DualPI2; Prague stops early. A window of each kind and a phase that waits.
fn scenario() -> Scenario {
    let mut s = Dumbbell {
        ccs: ["cubic", "prague"].map(str::to_owned).into(),
        qdisc: "dualpi2".to_owned(),
        duration: Span::from_secs(12),
        ..Dumbbell::default()
    }
    .scenario();
    s.warmup = Span::from_secs(1);
    s.flows[1].stop = Some(At::from_secs(10));
    let ms = Span::from_millis;
    s.windows = vec![
        Window {
            name: "steady".into(),
            bounds: WindowBounds::Last { length: ms(3_000), before_end: ms(500) },
        },
        Window {
            name: "early".into(),
            bounds: WindowBounds::Between { from: At::from_secs(1), to: At::from_millis(4_500) },
        },
    ];
    let after = |millis| When::After {
        reference: Reference::Flow(s.flows[1].name.clone()),
        edge: Edge::Start,
        delay: ms(millis),
    };
    s.phases = vec![Phase { name: "waits".into(), from: after(2_000), to: after(5_000) }];
    s.checks =
        vec![Check { name: None, that: format!("p99(sojourn, {QUEUE}) < 1s from 2s to 3s") }];
    s
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    expression.evaluate(&Frame::new(run)).unwrap_or_else(|e| panic!("{e}")).value.number
}

/// Packets of the table's rows by whatever a row is asked for.
fn sums<K: Ord>(run: &Run, key: impl Fn(usize) -> Option<K>) -> BTreeMap<K, u64> {
    let t = table(run, "delays");
    let mut sums = BTreeMap::new();
    for row in 0..t.len() {
        if let Some(key) = key(row) {
            *sums.entry(key).or_default() += t.u64("count")[row];
        }
    }
    sums
}

/// Every bucket of the whole run is the sum of the intervals', by class and over all classes.
#[test]
fn intervals_add_up_to_the_whole_run() {
    let run = run(&scenario());
    let (t, whole) = (table(&run, "delays"), table(&run, "histograms"));
    for class in ["", "l", "c"] {
        let quantity = if class.is_empty() { "sojourn".into() } else { format!("sojourn.{class}") };
        let sums = sums(&run, |row| {
            let counts = t.text("queue").get(row) == QUEUE
                && (class.is_empty() || t.text("class").get(row) == class);
            counts.then(|| t.f64("lo_s")[row].to_bits())
        });
        let expected: BTreeMap<u64, u64> = (0..whole.len())
            .filter(|&row| whole.text("subject").get(row) == QUEUE)
            .filter(|&row| whole.text("quantity").get(row) == quantity)
            .map(|row| (whole.f64("lo_s")[row].to_bits(), whole.u64("count")[row]))
            .collect();
        assert!(!expected.is_empty() && sums == expected, "{quantity}");
    }
}

/// Between two edges there are as many packets as the queue's counter grew by: none twice, none in a neighbour.
#[test]
fn an_interval_holds_what_left_in_it() {
    let mut s = scenario();
    // A step at every edge, the warmup's included.
    s.sample_interval = Span::from_millis(500);
    // A phase that waits for a flow with its jitter ends between two steps.
    s.phases.clear();
    let run = run(&s);
    let t = table(&run, "delays");
    let left = counts(&run, "queues", "sent_packets", QUEUE);
    let intervals = sums(&run, |row| {
        let of = |at: f64| (at * 1e3).round() as u64;
        (t.text("queue").get(row) == QUEUE)
            .then(|| (of(t.f64("from_s")[row]), of(t.f64("to_s")[row])))
    });
    let mut edges: Vec<u64> = intervals.keys().flat_map(|&(from, to)| [from, to]).collect();
    edges.sort_unstable();
    edges.dedup();
    assert_eq!(edges, [0, 1_000, 2_000, 3_000, 4_500, 6_500, 8_500, 9_500, 11_500, 12_000]);
    // Intervals of the two flows differ: only times between common edges are compared.
    for (from, to) in [
        (0, 1_000),
        (1_000, 2_000),
        (2_000, 3_000),
        (3_000, 4_500),
        (8_500, 11_500),
        (11_500, 12_000),
    ] {
        let inside: u64 =
            intervals.iter().filter(|((a, b), _)| *a >= from && *b <= to).map(|(_, n)| n).sum();
        let at = |ms: u64| count_at(&left, ms as f64 / 1e3);
        assert_eq!(inside, at(to) - at(from), "{from} to {to} ms");
    }
}

/// A capture at both hosts: `pdv` is each data packet's delay by the stamps, less the least of the run.
#[test]
fn a_capture_says_the_same() {
    let s = scenario();
    let scratch = Scratch::new("delays", SNAP_LEN);
    let run = scratch.run(&s);
    let mut sent: HashMap<(u16, u16), f64> = HashMap::new();
    let mut ways: BTreeMap<u16, Vec<(f64, f64)>> = BTreeMap::new();
    for name in ["server", "client"] {
        for (at, _, bytes) in scratch.packets(name) {
            // Ethernet, IPv4 without options, ports.
            let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let (len, id, from, to) = (number(16), number(18), number(34), number(36));
            let at = at.as_secs_f64() - EPOCH as f64;
            let is_data = bytes[23] == 6 && len > 1000 && from < to;
            let key = (to, id);
            if is_data && name == "server" {
                sent.insert(key, at);
            } else if is_data && let Some(from) = sent.get(&key) {
                ways.entry(key.0 - 50_000).or_default().push((at, at - from));
            }
        }
    }
    let step = 1e-6;
    for (flow, ways) in &ways {
        let name = &s.flows[usize::from(*flow)].name;
        let of_run: Vec<f64> = ways.iter().filter(|w| w.0 >= 0.0).map(|w| w.1).collect();
        let least = of_run.iter().copied().fold(f64::INFINITY, f64::min);
        let last = if *flow == 1 { 10.0 } else { 12.0 };
        for (window, from, to) in [
            ("over steady", last - 3.5, last - 0.5),
            ("over early", 1.0, 4.5),
            ("from 2s to 3s", 2.0, 3.0),
        ] {
            let mut inside: Vec<f64> =
                ways.iter().filter(|w| w.0 > from && w.0 <= to).map(|w| w.1 - least).collect();
            inside.sort_by(f64::total_cmp);
            let at = |p: f64| inside[((p * inside.len() as f64).ceil() as usize).max(1) - 1];
            for (metric, expected) in [
                ("p50", at(0.5)),
                ("p90", at(0.9)),
                ("p99", at(0.99)),
                ("p99.9", at(0.999)),
                ("max", at(1.0)),
            ] {
                let text = format!("{metric}(pdv, {name}) {window}");
                let ours = value(&run, &text);
                // A bucket's width, and what a double of seconds since 2000 leaves of a stamp.
                assert!(
                    (ours - expected).abs() <= 0.01 * expected + step,
                    "{text}: {ours}, {expected}"
                );
            }
        }
    }
    assert_eq!(ways.len(), 2);
    // L waits less than C, by class and by flow alike.
    let p = |text: &str| value(&run, text);
    for window in ["over steady", "during waits"] {
        let of_class = |class: &str| p(&format!("p99(sojourn.{class}, {QUEUE}) {window}"));
        assert!(4.0 * of_class("l") < of_class("c"), "{window}");
    }
    let [cubic, prague] = [&s.flows[0].name, &s.flows[1].name];
    let own = |flow: &str, class: &str| p(&format!("p50(sojourn{class}, {flow}) during waits"));
    assert_eq!(own(prague, ""), own(prague, ".l"));
    assert_eq!(own(cubic, ""), p(&format!("p50(sojourn.c, {cubic} at {QUEUE}) during waits")));
}

/// What a step's means say of a queue, weighted by packets, its packets say too.
#[test]
fn means_agree_with_the_steps() {
    let run = run(&scenario());
    for window in ["over steady", "over early", "from 2s to 3s"] {
        let steps = value(&run, &format!("mean(queue_delay, {QUEUE}) {window}"));
        let packets = value(&run, &format!("mean(sojourn, {QUEUE}) {window}"));
        assert!((packets / steps - 1.0).abs() < 0.01, "{window}: {packets}, {steps}");
    }
}

/// Recording delays per flow or not changes no result of a queue, in any window, nor of a flow that still has its own.
#[test]
fn recording_per_flow_changes_no_other_number() {
    let s = scenario();
    let every = run(&s);
    let queue = ["sojourn", "sojourn.l", "sojourn.c"].map(|of| (of, QUEUE.to_owned()));
    let first = [("sojourn", s.flows[0].name.clone()), ("pdv", s.flows[0].name.clone())];
    let same = |other: &Run, of: &[(&str, String)]| {
        for (quantity, subject) in of {
            for metric in ["min", "mean", "p50", "p90", "p99", "p99.9", "max"] {
                for window in ["over steady", "over early", "during waits", "from 2s to 3s", ""] {
                    let text = format!("{metric}({quantity}, {subject}) {window}");
                    assert_eq!(value(other, &text), value(&every, &text), "{text}");
                }
            }
        }
    };
    for told in [[Some(true), Some(false)], [Some(false), Some(false)]] {
        let mut other = s.clone();
        for (flow, told) in other.flows.iter_mut().zip(told) {
            flow.delays = told;
        }
        let some = run(&other);
        same(&some, &queue);
        if told[0] == Some(true) {
            same(&some, &first);
        }
        let others = |run: &Run| {
            let tables = run.tables.iter().filter(|t| t.schema().name != "delays");
            fingerprint(&tables.cloned().collect::<Vec<_>>())
        };
        assert_eq!(others(&some), others(&every));
        let of = Expression::parse(&format!("p99(pdv, {})", s.flows[1].name)).unwrap();
        let error = of.evaluate(&Frame::new(&some)).unwrap_err();
        assert!(error.help.is_some_and(|help| help.contains("`delays = true`")));
    }
}

/// Of a thousand flows a run keeps no thousand distributions, unless it is asked to.
#[test]
fn many_flows_are_recorded_per_flow_where_it_is_asked() {
    let mut s = Dumbbell {
        ccs: vec!["cubic".to_owned(); FEW + 1],
        rate: Rate::from_mbit(200),
        duration: Span::from_secs(3),
        ..Dumbbell::default()
    }
    .scenario();
    let flows = |run: &Run| {
        let t = table(run, "delays");
        (0..t.len()).map(|row| t.text("flow").get(row).to_owned()).collect::<BTreeSet<_>>()
    };
    let silent = run(&s);
    assert_eq!(flows(&silent), BTreeSet::from([String::new()]));
    let name = s.flows[7].name.clone();
    s.checks = vec![Check { name: None, that: format!("p99(pdv, {name}) < 1s") }];
    let asked = run(&s);
    assert_eq!(flows(&asked), BTreeSet::from([String::new(), name.clone()]));
    assert!(value(&asked, &format!("p99(pdv, {name})")) > 0.0);
    for flow in &mut s.flows {
        flow.delays = Some(true);
    }
    let every = run(&s);
    assert_eq!(flows(&every).len(), s.flows.len());
    for window in ["", " over last 1s before 300ms"] {
        let p99 = |run: &Run| value(run, &format!("p99(sojourn, {QUEUE}){window}"));
        assert_eq!(p99(&silent), p99(&every));
        let pdv = |run: &Run| value(run, &format!("p99(pdv, {name}){window}"));
        assert_eq!(pdv(&asked), pdv(&every));
    }
}
