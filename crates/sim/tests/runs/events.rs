//! Events: by time, after another event, by a number that passes a value; and what `events` tells.

use crate::bench::{QUEUE, count_at, counts, event, run, table, tcp_mut, total, try_run, udp};
use sojourn_model::{
    Action, At, Edge, Event, Gauge, Order, Phase, Reference, Scenario, Start, When,
};
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};

fn short(ccs: &[&str]) -> Scenario {
    Dumbbell {
        ccs: ccs.iter().map(|&cc| cc.to_owned()).collect(),
        duration: Span::from_secs(6),
        ..Dumbbell::default()
    }
    .scenario()
}

/// What happened to a subject, in order: (when, what, detail).
fn of(run: &Run, subject: &str) -> Vec<(f64, String, String)> {
    let t = table(run, "events");
    (0..t.len())
        .filter(|&i| t.text("subject").get(i) == subject)
        .map(|i| {
            (t.f64("t_s")[i], t.text("what").get(i).to_owned(), t.text("detail").get(i).to_owned())
        })
        .collect()
}

fn after(name: &str, reference: Reference, edge: Edge, millis: u64, actions: Vec<Action>) -> Event {
    let when = When::After { reference, edge, delay: Span::from_millis(millis) };
    Event { name: name.to_owned(), when, actions }
}

fn rate(mbit: u64) -> Vec<Action> {
    vec![Action::Rate { element: QUEUE.to_owned(), rate: Rate::from_mbit(mbit) }]
}

/// Starts, stops and ends of flows, with the reason; a flow starts up to 150 ms after its time, a probe at once.
#[test]
fn flows_start_stop_and_finish() {
    let mut s = short(&["cubic", "reno", "cubic"]);
    s.flows[1].stop = Some(At::from_secs(2));
    tcp_mut(&mut s.flows[2].traffic).bytes = Some(1_000_000);
    let run = run(&s);
    let [start, end] = &of(&run, "flow cubic-1")[..] else { panic!("two events") };
    assert!((0.0..0.150).contains(&start.0) && start.1 == "start");
    assert_eq!((end.0, end.1.as_str(), end.2.as_str()), (6.0, "end", "end of the run"));
    let end = &of(&run, "flow reno-2")[1];
    assert_eq!((end.0, end.2.as_str()), (2.0, "stopped"));
    let end = &of(&run, "flow cubic-3")[1];
    assert!(end.0 < 2.0 && end.2 == "finished", "{end:?}");
    assert_eq!(total(&run, "cubic-3", "delivered_bytes"), 1e6);
    assert_eq!(of(&run, "flow ping")[0].0, 0.0);
    // No row of a flow stands after its end.
    for flow in ["reno-2", "cubic-3"] {
        let last = counts(&run, "flows", "delivered", flow).last().expect("rows").0;
        assert_eq!(last, of(&run, &format!("flow {flow}"))[1].0);
    }
}

/// A chain: a flow's end, an event after it, an event after that; each to the nanosecond.
#[test]
fn events_follow_one_another() {
    let mut s = short(&["cubic", "cubic"]);
    tcp_mut(&mut s.flows[0].traffic).bytes = Some(500_000);
    s.flows[1].start = Start::Event;
    let start = Action::StartFlow { flow: "cubic-2".to_owned() };
    s.events = vec![
        after("third", Reference::Event("second".into()), Edge::End, 100, rate(10)),
        after("second", Reference::Flow("cubic-1".into()), Edge::End, 300, vec![start]),
        after("all done", Reference::Workload, Edge::End, 0, rate(20)),
    ];
    let run = run(&s);
    let end = of(&run, "flow cubic-1")[1].0;
    assert_eq!(of(&run, "event all done")[0].0, end);
    let at = |subject: &str| of(&run, subject)[0].0 - end;
    assert!((at("event second") - 0.3).abs() < 1e-9);
    assert!((at("flow cubic-2") - 0.3).abs() < 1e-9);
    assert!((at("event third") - 0.4).abs() < 1e-9);
    assert_eq!(of(&run, "event third")[0].2, format!("{QUEUE}: rate 10Mbit"));
}

/// A flow that is stopped before it started has ended too: who waits for the workload need not wait for it.
#[test]
fn a_flow_that_never_ran_holds_up_nobody() {
    let mut s = short(&["cubic", "cubic"]);
    for flow in &mut s.flows[..2] {
        tcp_mut(&mut flow.traffic).bytes = Some(500_000);
    }
    s.flows[1].start = Start::At(At::from_secs(3));
    s.flows[1].stop = Some(At::from_secs(1));
    s.events = vec![after("done", Reference::Workload, Edge::End, 0, rate(20))];
    let run = run(&s);
    assert_eq!(total(&run, "cubic-2", "packets_sent"), 0.0);
    assert_eq!(of(&run, "event done").len(), 1, "both flows have ended by 1 s");
}

/// A queue fills under 60 mbit/s at 50: the event comes within the millisecond in which conditions are looked at.
#[test]
fn a_queue_that_grows_sets_off_an_event() {
    let mut s = short(&["cubic"]);
    s.sample_interval = Span::from_millis(1);
    s.flows[0].traffic = udp(Rate::from_mbit(60));
    let full = When::State {
        gauge: Gauge::Queue { queue: QUEUE.to_owned(), name: "backlog_packets".to_owned() },
        order: Order::Above,
        value: 100.0,
        delay: Span::from_millis(20),
    };
    let stop = vec![Action::StopFlow { flow: "cubic-1".to_owned() }];
    s.events = vec![Event { name: "relief".into(), when: full, actions: stop }];
    let run = run(&s);
    let held = counts(&run, "queues", "packets", QUEUE);
    let crossed = held.iter().find(|row| row.1 > 100).expect("it fills").0;
    let relief = of(&run, "event relief")[0].0;
    assert!((relief - crossed - 0.020).abs() <= 0.0011, "{crossed} {relief}");
    assert_eq!(count_at(&held, 6.0), 0, "nobody sends any more");
}

#[test]
fn phases_begin_and_end_when_they_say() {
    let mut s = short(&["cubic"]);
    s.events = vec![event("step", Span::from_secs(2), rate(10))];
    s.phases = vec![Phase {
        name: "slow".to_owned(),
        from: When::After {
            reference: Reference::Event("step".into()),
            edge: Edge::Start,
            delay: Span::from_millis(500),
        },
        to: When::At(At::from_secs(4)),
    }];
    s.events.push(after("back", Reference::Phase("slow".into()), Edge::End, 250, rate(50)));
    let run = run(&s);
    let phase: Vec<(f64, String)> =
        of(&run, "phase slow").into_iter().map(|(t, what, _)| (t, what)).collect();
    assert_eq!(phase, [(2.5, "start".to_owned()), (4.0, "end".to_owned())]);
    assert_eq!(of(&run, "event back")[0].0, 4.25);
}

/// Time is counted from the origin, counts from the beginning of the warmup, and the last step is reported in full even
/// where the run's length is no multiple of it.
#[test]
fn the_lead_and_the_last_step_are_there() {
    let mut s = short(&["cubic"]);
    s.warmup = Span::from_secs(1);
    s.duration = Span::from_millis(2_030);
    s.flows[0].start = Start::At(At::from_secs(-1));
    let run = run(&s);
    for (name, subject) in [("flows", "cubic-1"), ("queues", QUEUE)] {
        let column = if name == "flows" { "delivered" } else { "sent_packets" };
        let rows = counts(&run, name, column, subject);
        assert!(rows[0].0 < 0.0, "{name} begin with the warmup");
        assert_eq!(rows.last().expect("rows").0, 2.03, "{name} end with the run");
    }
    let last = counts(&run, "queues", "sent_packets", QUEUE).last().expect("rows").1;
    assert_eq!(last as f64, total(&run, QUEUE, "left"));
}

/// An event that cannot be carried out ends the run with the element and the words.
#[test]
fn an_event_with_wrong_words_says_so() {
    let mut s = short(&["cubic"]);
    let action = Action::ChangeQdisc { element: QUEUE.to_owned(), qdisc: "pie target 5ms".into() };
    s.events = vec![event("change", Span::from_secs(1), vec![action])];
    let error = try_run(&s).expect_err("there is an fq_codel").to_string();
    assert!(
        error.contains(QUEUE) && error.contains("pie") && error.contains("fq_codel"),
        "{error}"
    );
}

/// An element that is switched off from the beginning is not there.
#[test]
fn a_delay_that_is_off_delays_nothing() {
    let mut s = short(&["cubic"]);
    s.hops[0].down[0].enabled = false;
    let run = run(&s);
    let rtts = crate::bench::series(&run, "pings", "rtt_s", "ping");
    // Half of the 20 ms is on the way back.
    let least = rtts.iter().map(|r| r.1).fold(f64::MAX, f64::min);
    assert!((0.010..0.0101).contains(&least), "{least}");
}
