//! A discipline that the simulator does not have, brought in from outside.

use crate::around_codel::around_codel;
use crate::bench::{QUEUE, event, table, total};
use sojourn_engine::Engine as _;
use sojourn_model::{Action, Feature, Scenario};
use sojourn_qdisc::codel::Codel;
use sojourn_qdisc::{Context, Dequeued, Packet, Qdisc, Reason, RegistryError, Telemetry};
use sojourn_results::Run;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Span, Time};

around_codel! {
    /// What it marks for being above a lower threshold, it says in words of its own.
    Copy, CopyFamily, "codel_copy", told_otherwise
}

fn told_otherwise<P: Packet, T: Telemetry<P>>(
    codel: &mut Codel<P>,
    now: Time,
    cx: &mut Context<'_, T>,
) -> Dequeued<P> {
    let mut renamed = Renamed(&mut *cx.telemetry);
    codel.dequeue(now, &mut Context { random: &mut *cx.random, telemetry: &mut renamed })
}

/// Forwards all reports, but one reason under a name of its own.
struct Renamed<'a, T>(&'a mut T);

impl<P, T: Telemetry<P>> Telemetry<P> for Renamed<'_, T> {
    fn dropped(&mut self, now: Time, packet: P, why: Reason) {
        self.0.dropped(now, packet, why);
    }
    fn marked(&mut self, now: Time, packet: &P, why: Reason) {
        let why =
            if why == Reason::CeThreshold { Reason::Custom("outside_threshold") } else { why };
        self.0.marked(now, packet, why);
    }
}

/// Thirty seconds of two flows through a queue that is changed after ten and replaced after twenty.
fn scenario(name: &str) -> Scenario {
    let mut scenario = Dumbbell {
        qdisc: format!("{name} ecn"),
        duration: Span::from_secs(30),
        ..Dumbbell::default()
    }
    .scenario();
    let change =
        Action::ChangeQdisc { element: QUEUE.to_owned(), qdisc: format!("{name} limit 90").into() };
    let qdisc = format!("{name} ecn ce_threshold 2ms");
    let replace =
        Action::ReplaceQdisc { element: QUEUE.to_owned(), qdisc: qdisc.into(), shaper: None };
    scenario.events = vec![
        event("change", Span::from_secs(10), vec![change]),
        event("replace", Span::from_secs(20), vec![replace]),
    ];
    scenario
}

fn outside() -> Sim {
    Sim::new().with_qdisc::<CopyFamily>().expect("the name is free")
}

/// Marks and drops by time, queue, reason and kind.
fn signals(run: &Run) -> Vec<(u64, String, String, String, u64)> {
    let t = table(run, "queue_signals");
    let (queues, whys, kinds) = (t.text("queue"), t.text("reason"), t.text("kind"));
    let row = |i: usize| {
        let at = t.f64("t_s")[i].to_bits();
        let text = [queues, whys, kinds].map(|column| column.get(i).to_owned());
        let [queue, why, kind] = text.map(|t| t.replace("outside_threshold", "ce_threshold"));
        (at, queue, why, kind, t.u64("count")[i])
    };
    let mut rows: Vec<_> = (0..t.len()).map(row).collect();
    rows.sort_unstable();
    rows
}

/// Everything that is recorded as text with numbers: counters and what tc prints.
fn told(run: &Run) -> Vec<String> {
    let totals = table(run, "totals");
    let (subjects, names) = (totals.text("subject"), totals.text("name"));
    let values = totals.f64("value");
    let counters = (0..totals.len())
        .map(|i| format!("{} {} {:x}", subjects.get(i), names.get(i), values[i].to_bits()));
    let events = table(run, "events");
    let [what, subject, detail] = ["what", "subject", "detail"].map(|name| events.text(name));
    let at = events.f64("t_s");
    let events = (0..events.len()).map(|i| {
        let words = [what, subject, detail].map(|column| column.get(i)).join(" ");
        format!("{:x} {words}", at[i].to_bits())
    });
    let tc = table(run, "tc");
    let texts = (0..tc.len()).map(|i| tc.text("text").get(i).to_owned());
    counters.chain(events).chain(texts).map(|text| text.replace("codel_copy", "codel")).collect()
}

/// A whole run with a copy of CoDel from outside has the numbers of one with CoDel, to the bit.
#[test]
fn a_copy_of_codel_gives_the_same_bits() {
    let built_in = outside().run(&scenario("codel").clone().into(), &()).expect("it runs");
    let copy = outside().run(&scenario("codel_copy").clone().into(), &()).expect("it runs");
    assert!(total(&copy, QUEUE, "marked") > 50.0);
    for table in &built_in.tables {
        let name = table.schema().name;
        if !["queue_signals", "events", "totals", "tc"].contains(&name) {
            let other = copy.table(name).expect("it has the same tables");
            assert_eq!(table.digest(), other.digest(), "{name}");
        }
    }
    assert_eq!(signals(&built_in), signals(&copy));
    assert_eq!(told(&built_in), told(&copy));
    // The reason of its own is recorded by its name, with all marks of that kind.
    let t = table(&copy, "queue_signals");
    let last = (0..t.len()).rfind(|&i| t.text("reason").get(i) == "outside_threshold");
    let own = t.u64("count")[last.expect("it has marked")];
    let law = (0..t.len()).rfind(|&i| t.text("reason").get(i) == "control_law");
    assert!(own > 0 && law.is_some());
    let text = told(&copy).concat();
    assert!(text.contains("htb rate") || text.contains("qdisc htb"), "it is under the shaper");
}

#[test]
fn an_added_discipline_is_one_of_the_capabilities() {
    let words = scenario("codel_copy");
    assert!(outside().capabilities().has(&Feature::Qdisc("codel_copy".to_owned())));
    assert!(outside().refuse(&words).is_empty());
    let refusals = Sim::new().refuse(&words);
    assert_eq!(refusals[0].what, Feature::Qdisc("codel_copy".to_owned()));
    let again = outside().with_qdisc::<CopyFamily>().expect_err("it is there already");
    assert_eq!(again, RegistryError::NameTaken("codel_copy"));
}
