//! Disciplines that shape themselves and mark SCE, and senders that answer to it, in whole runs.
//!
//! Claims are by their numbers in CLAIMS (ECT1: ECT(1) as the network's signal). Each has its measurement.

use crate::bench::{
    QUEUE, buckets, count_at, counts, quantile_of, queue_mut, run, table, tcp_mut, total,
};
use sojourn_model::{
    At, EcnMode, Element, Kind, Rewrite, Rule, Scenario, Selector, Shaper, Side, Start,
};
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Dscp, Rate, Span};

/// Flows on the SCE project's bed; a discipline of its kernel shapes itself.
fn bed(ccs: &[&str], stack: &str, qdisc: &str, mbit: u64, rtt: u64, seconds: u64) -> Scenario {
    let mut s = Dumbbell {
        ccs: ccs.iter().map(|&cc| cc.to_owned()).collect(),
        stack: stack.to_owned(),
        qdisc: qdisc.to_owned(),
        rate: Rate::from_mbit(mbit),
        rtt: Span::from_millis(rtt),
        duration: Span::from_secs(seconds),
        ..Dumbbell::default()
    }
    .scenario();
    for flow in &mut s.flows[..ccs.len()] {
        tcp_mut(&mut flow.traffic).ecn = EcnMode::Default;
    }
    if qdisc.starts_with("twin") || qdisc.starts_with("cake") {
        for side in [Side::Down, Side::Up] {
            let queue = queue_mut(&mut s, side);
            queue.shaper = Shaper::Own { rate: Some(Rate::from_mbit(mbit)) };
            let words = queue.qdisc.split_once(' ').map_or("", |w| w.1);
            let name = qdisc.split(' ').next().unwrap_or_default();
            queue.qdisc = format!("{name} bandwidth {mbit}mbit {words}").into();
        }
    }
    s
}

/// The dumbbell with `qdisc` at the root both ways.
fn root(qdisc: &str, ccs: &[&str], seconds: u64) -> Scenario {
    let mut s = Dumbbell {
        ccs: ccs.iter().map(|&cc| cc.to_owned()).collect(),
        duration: Span::from_secs(seconds),
        ..Dumbbell::default()
    }
    .scenario();
    for side in [Side::Down, Side::Up] {
        let queue = queue_mut(&mut s, side);
        queue.shaper = Shaper::Own { rate: Some(Rate::from_mbit(50)) };
        queue.qdisc = qdisc.into();
    }
    s
}

/// A sender that knows nothing of SCE takes ECT(1) for ECT: it fills the link and is held by CE; the recorder has
/// every SCE mark, by its reason.
#[test]
fn sce_marks_are_in_the_books() {
    for (qdisc, why) in [
        ("twin_codel_af bandwidth 50mbit sce-thresh 4", "control_law"),
        ("lfq_cobalt bandwidth 50mbit sce-thresh 8", "control_law"),
        ("cake bandwidth 50mbit besteffort sce-thresh 8", "ramp"),
    ] {
        let run = run(&root(qdisc, &["cubic"], 15));
        let of = |name| total(&run, QUEUE, name);
        assert!(of("sce_marked") > 0.0 && of("marked") > 0.0, "{qdisc}");
        assert_eq!((of("false_marks"), of("dropped")), (0.0, 0.0), "{qdisc}");
        let signals = table(&run, "queue_signals");
        let (queues, kinds) = (signals.text("queue"), signals.text("kind"));
        let whys = signals.text("reason");
        let told: Vec<&str> = (0..signals.len())
            .filter(|&i| queues.get(i) == QUEUE && kinds.get(i) == "sce")
            .map(|i| whys.get(i))
            .collect();
        assert!(!told.is_empty() && told.iter().all(|w| *w == why), "{qdisc}: {told:?}");
    }
}

/// L4ST-6 at equal RTTs: approximate fairness makes two flows equal in one FIFO. Jain's index of what each delivered.
#[test]
fn approximate_fairness_is_fair() {
    let run = run(&root("cnq_codel_af bandwidth 50mbit", &["cubic", "cubic"], 60));
    let flow = |name| total(&run, name, "packets_arrived");
    let (a, b) = (flow("cubic-1"), flow("cubic-2"));
    let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
    assert!(jain > 0.95, "{a} {b}");
    let sent = total(&run, QUEUE, "left");
    assert!(sent * 1514.0 * 8.0 > 0.9 * 50e6 * 60.0, "{sent}");
    assert_eq!(total(&run, QUEUE, "sce_marked"), 0.0, "SCE is off by default");
}

/// Share of the link's time that a flow's full packets took between two moments.
fn share(run: &Run, flow: &str, mbit: u64, from: f64, to: f64) -> f64 {
    let c = counts(run, "flows", "delivered", flow);
    let packets = (count_at(&c, to) - count_at(&c, from)) as f64;
    packets * 1514.0 * 8.0 / (mbit as f64 * 1e6 * (to - from))
}

/// A flow alone through the tight class of `twin_codel_af` at 20 ms.
fn alone(cc: &str, stack: &str, mbit: u64) -> Run {
    let mut s = bed(&[cc], stack, "twin_codel_af sce-thresh 4", mbit, 20, 30);
    s.flows[0].dscp = Dscp::new(4).expect("it is a DSCP");
    run(&s)
}

/// ECT1-7: above 90 % of the link, p99 of the queue delay below 4 ms. At 50 Mbit/s it is so: 0.95 and 1.3 ms over all of
/// the 30 s. At 250 it is from 10 s on: 0.93 and 1.6 ms. Slow start ends by HyStart, since the queue puts a new flow's
/// first mark off; CE follows, which sets the published plateau free (bug 3 of `cc::sce`), and then CE and ESCE at once, which
/// take the window to 40 to 100 segments. With all bugs fixed the link is full: the first marks end slow start at 285.
#[test]
fn cubic_sce_keeps_the_queue_short_and_the_link_full() {
    for (stack, mbit, from, bound) in [
        ("sce-2020-03", 50, 0.0, 0.9),
        ("sce-2020-03", 250, 10.0, 0.9),
        ("sce-2020-03-fixed", 250, 20.0, 0.99),
    ] {
        let r = alone("cubic-sce", stack, mbit);
        let used = share(&r, "cubic-sce-1", mbit, from, 30.0);
        let p99 = quantile_of(&buckets(&r, QUEUE, "sojourn"), 0.99);
        assert!(used > bound && p99 < 4e-3, "{mbit}: {used} {p99}");
        assert!(total(&r, "cubic-sce-1", "esce_acks") > 5_000.0);
        assert_eq!(total(&r, "cubic-sce-1", "ecn_agreed"), 1.0, "what is agreed is RFC 3168");
    }
}

/// Scenario 5: a second netem behind the delay releases its packets in bursts of up to 42, every 0.8 to 10 ms. ECT1-5 has
/// above 60 % of the link for `cubic-sce`, where Prague through DualPI2 has 11. As published (`ect1.batch` gives this
/// scenario's flow no DSCP, so that it is in the ordinary class of `twin_codel_af`, targets of 2.5 and 5 ms) it is so at
/// 20 ms: 60, 74 and 64 % with three seeds. At 80 ms it is not: 45, 48 and 43 %, still four times what Prague has. With the
/// bugs of senders and queue fixed it is 83 and 64 %. Through the tight class, DSCP 4, and through `cake`, it is not at
/// either: 39 and 26 % at 20 ms, 24 and 12 % at 80 ms.
///
/// What was found: the bed is right, for Prague through DualPI2 on it sends 30 900 packets in the minute, and 30 768 in
/// the captured run. Through `twin_codel_af` it is CE, not SCE, that holds the flow: 6 % of its packets have SCE, but
/// the 75 reductions for CE go deep (one that was looked at from 34 to 8), because every ACK with ESCE during the
/// reduction sets the threshold to half of the window of then (as in the code that was read); CUBIC alone has 51 %.
/// Through `cake` at 80 ms there is no CE at all, so no plateau is known and growth is 5 % a round trip, against 2.7·√W·x
/// for a share x of ESCE (bug 1 of `cc::sce`): balanced at W = (54·x)², 88 packets at x = 0.17, where 0.23 was counted.
/// The fixed senders have 46, 32, 14 and 15 %, so the bugs alone do not explain it.
#[test]
fn bursts_do_not_starve_cubic_sce() {
    let used = |cc: &str, stack: &str, qdisc: &str, rtt| {
        let of = |seed| {
            let mut s = bed(&[cc], stack, qdisc, 50, rtt, 60);
            s.seed = seed;
            let hop = &mut s.hops[0];
            for element in hop.down.iter_mut().chain(&mut hop.up) {
                if let Kind::Netem(netem) = &mut element.kind {
                    let slots = "delay 200us slot 800us 10ms packets 42 limit 512";
                    netem.chain.push(slots.to_owned());
                }
            }
            share(&run(&s), &format!("{cc}-1"), 50, 5.0, 60.0)
        };
        (1..=3).map(of).sum::<f64>() / 3.0
    };
    for (stack, rtt, bound) in
        [("sce-2020-03", 20, 0.6), ("sce-2020-03-fixed", 20, 0.8), ("sce-2020-03-fixed", 80, 0.6)]
    {
        let used = used("cubic-sce", stack, "twin_codel_af sce-thresh 4", rtt);
        assert!(used > bound, "{stack} at {rtt} ms: {used}");
    }
    let sce = used("cubic-sce", "sce-2020-03", "twin_codel_af sce-thresh 4", 80);
    let prague = used("prague", "l4steam-2020-04-fixed", "dualpi2", 80);
    assert!(sce > 3.0 * prague && prague < 0.25, "{sce} {prague}");
}

/// At 250 Mbit/s every sender has the link full after 20 s; but for `dctcp-sce`; the bed's queue keeps its window lower.
#[test]
fn every_sender_of_sce_answers_to_it() {
    for (stack, cc, bound) in [
        ("sce-2020-03", "cubic-sce", 0.98),
        ("sce-2020-03", "reno-sce", 0.98),
        ("sce-2020-03", "dctcp-sce", 0.9),
        ("sce-2020-03-fixed", "cubic-sce", 0.98),
        ("sce-2020-03-fixed", "reno-sce", 0.98),
        ("sce-2020-03-fixed", "dctcp-sce", 0.97),
    ] {
        let r = alone(cc, stack, 250);
        let used = share(&r, &format!("{cc}-1"), 250, 20.0, 30.0);
        assert!(used > bound, "{cc} on {stack}: {used}");
    }
    let r = alone("cubic", "sce-2020-03", 50);
    // The receiver reports it all the same: its setting knows nothing of the sender's control.
    assert!(total(&r, "cubic-1", "esce_acks") > 1000.0);
}

/// ECT1-8: in queues that know nothing of SCE its senders behave like the controls that they derive from: between 1:2
/// and 2:1 against CUBIC. The newcomer is given the time that CUBIC itself needs in a long FIFO, where it has 0.40 of
/// the first after a minute at 20 ms, and `cubic-sce` 0.51.
#[test]
fn in_a_conventional_queue_cubic_sce_is_cubic() {
    for (qdisc, seconds) in [
        ("fq_codel flows 1", 60),
        ("pie ecn", 60),
        ("red limit 400000 avpkt 1000 adaptive bandwidth 50mbit ecn", 60),
        ("pfifo limit 1000", 180),
    ] {
        for rtt in [20, 80] {
            for seed in 1..=3 {
                let mut s = bed(&["cubic", "cubic-sce"], "sce-2020-03", qdisc, 50, rtt, seconds);
                s.seed = seed;
                s.flows[1].start = Start::At(At::from_secs(10));
                let r = run(&s);
                let end = seconds as f64 - 2.0;
                let of = |flow| share(&r, flow, 50, 20.0, end);
                let ratio = of("cubic-sce-2") / of("cubic-1");
                assert!((0.5..=2.0).contains(&ratio), "{qdisc} at {rtt} ms, seed {seed}: {ratio}");
                assert_eq!(total(&r, "cubic-sce-2", "esce_acks"), 0.0);
            }
        }
    }
}

fn rewrite(rule: Rule) -> Element {
    let rewrite = Rewrite { rule, select: Selector::All, syn: false };
    Element { name: "x".to_owned(), enabled: true, kind: Kind::Rewrite(rewrite) }
}

/// ECT1-13: SCE erased behind the bottleneck leaves CUBIC, held by CE at CE's target of 5 ms.
#[test]
fn an_erased_signal_leaves_conventional_behaviour() {
    for rtt in [20, 80] {
        let qdisc = "twin_codel_af sce-thresh 4";
        let mut s = bed(&["cubic-sce", "cubic"], "sce-2020-03", qdisc, 50, rtt, 60);
        s.hops[0].down.push(rewrite(Rule::Ect1ToEct0));
        let r = run(&s);
        let ratio = share(&r, "cubic-sce-1", 50, 10.0, 60.0) / share(&r, "cubic-2", 50, 10.0, 60.0);
        assert!((0.5..=2.0).contains(&ratio), "{rtt}: {ratio}");
        let median = quantile_of(&buckets(&r, QUEUE, "sojourn"), 0.5);
        assert!((2e-3..6e-3).contains(&median), "{rtt}: {median}");
        assert!(total(&r, QUEUE, "sce_marked") > 1000.0 && total(&r, QUEUE, "marked") > 10.0);
        assert_eq!(total(&r, "cubic-sce-1", "esce_acks"), 0.0);
    }
}

/// ACKs echo SCE where it was asked for, where the stack has it on, and for the sake of the SCE senders, but not with
/// AccECN.
#[test]
fn who_echoes_sce() {
    for (cc, stack, ecn, echoes) in [
        ("cubic", "sce-2020-03", EcnMode::Default, true),
        ("cubic", "sce-2020-03", EcnMode::Rfc3168, false),
        ("cubic", "linux-7.3", EcnMode::Default, false),
        ("cubic", "linux-7.3", EcnMode::Sce, true),
        ("cubic-sce", "linux-7.3", EcnMode::Default, true),
        ("cubic-sce", "sce-2020-03", EcnMode::Rfc3168, false),
        ("cubic-sce", "sce-2020-03", EcnMode::AccEcn, false),
        ("cubic-sce", "sce-2020-03", EcnMode::Off, false),
    ] {
        let mut s = bed(&[cc], stack, "twin_codel_af sce-thresh 4", 50, 20, 5);
        tcp_mut(&mut s.flows[0].traffic).ecn = ecn;
        let r = run(&s);
        let told = total(&r, &format!("{cc}-1"), "esce_acks");
        assert_eq!(told > 100.0, echoes, "{cc} on {stack}, {ecn:?}: {told}");
        assert!(echoes || told == 0.0);
    }
}

/// A middlebox that removes ECE and CWR from ACKs leaves ESCE, which it does not know: SCE goes on to hold the flow. One
/// that removes them from the SYN leaves no ECN, and so no SCE. Long enough for SCE to take over from slow start's end,
/// which marks hold up for some ten seconds.
#[test]
fn a_middlebox_that_removes_ece_leaves_esce() {
    let mut s = bed(&["cubic-sce"], "sce-2020-03", "twin_codel_af sce-thresh 4", 50, 20, 40);
    s.hops[0].up.push(rewrite(Rule::DscpToNotect));
    let r = run(&s);
    let of = |name| total(&r, "cubic-sce-1", name);
    assert!(of("esce_acks") > 1000.0 && total(&r, QUEUE, "marked") > 0.0);
    assert_eq!((of("ece_acks"), of("ece_reductions"), of("ecn_agreed")), (0.0, 0.0, 1.0));
    let mut box_on_syn = rewrite(Rule::DscpToNotect);
    if let Kind::Rewrite(rewrite) = &mut box_on_syn.kind {
        rewrite.syn = true;
    }
    let mut s = bed(&["cubic-sce"], "sce-2020-03", "twin_codel_af sce-thresh 4", 50, 20, 15);
    s.hops[0].down.insert(0, box_on_syn);
    let r = run(&s);
    assert_eq!(
        (total(&r, "cubic-sce-1", "ecn_agreed"), total(&r, QUEUE, "sce_marked")),
        (0.0, 0.0)
    );
}
