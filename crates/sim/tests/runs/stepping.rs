//! A run that is advanced step by step, looked at on the way, and given an application of somebody else's.

use crate::bench::{fingerprint, netem_mut, run, total};
use sojourn_engine::{Engine, RunError, Watch};
use sojourn_model::{Scenario, Traffic, Udp};
use sojourn_path::SkbCharge;
use sojourn_results::{EngineId, Run};
use sojourn_sim::app::{App, Body, FlowReport, HostTx, Packet, Record};
use sojourn_sim::{FlowState, Sim, Simulation, dumbbell::Dumbbell};
use sojourn_units::{Ecn, Random, Rate, Span, Time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn scenario(seed: u64) -> Scenario {
    let qdisc = ["dualpi2", "fq_codel"][seed as usize % 2];
    let dumbbell = Dumbbell {
        qdisc: qdisc.to_owned(),
        ccs: vec!["cubic".to_owned(), "prague".to_owned()],
        duration: Span::from_millis(4_030),
        seed,
        ..Dumbbell::default()
    };
    let mut s = dumbbell.scenario();
    netem_mut(&mut s).chain = vec!["delay 10ms 1ms loss 0.2%".to_owned()];
    s
}

/// However often it is stopped, and wherever: the same tables, to the bit.
#[test]
fn in_how_many_steps_makes_no_difference() {
    let mut random = Random::named(1, "cuts");
    for seed in 1..=3 {
        let s = scenario(seed);
        let whole = fingerprint(&run(&s).tables);
        for _ in 0..3 {
            let mut simulation = Simulation::new(s.clone()).expect("it can be built");
            let mut at = Time::ZERO;
            while at < simulation.end() {
                at += Span::from_nanos(random.below(400_000_000));
                if random.below(2) == 0 {
                    simulation.advance_to(at).expect("it goes on");
                    assert_eq!(simulation.now(), at.min(simulation.end()));
                } else {
                    simulation.advance(at, 1 + random.below(20_000)).expect("it goes on");
                    assert!(simulation.now() <= at);
                    at = simulation.now();
                }
                let snapshot = simulation.snapshot();
                assert_eq!(snapshot.at, simulation.now());
            }
            // Once the end is reached there is nothing more.
            simulation.advance_to(Time::NEVER).expect("it stays");
            assert_eq!(simulation.now(), simulation.end());
            assert_eq!(fingerprint(&simulation.finish().expect("it ends")), whole);
        }
    }
}

/// A snapshot at the end agrees with the tables.
#[test]
fn a_snapshot_agrees_with_the_tables() {
    let s = scenario(1);
    let mut simulation = Sim::new().begin(&s, None).expect("it can be built");
    let unknown = Dumbbell { qdisc: "fq_codle".to_owned(), ..Dumbbell::default() }.scenario();
    assert!(matches!(Sim::new().begin(&unknown, None), Err(RunError::Refused(_))));
    let before = simulation.snapshot();
    assert!(before.flows.iter().all(|f| f.state == FlowState::Waiting && f.packets_sent == 0));
    simulation.advance_to(Time::from_secs(1)).expect("it goes on");
    let [flows, ..] = simulation.tables();
    assert_eq!(flows.schema().name, "flows");
    assert!(flows.len() >= 2 * 18 && flows.f64("t_s").iter().all(|&t| t <= 1.0));
    simulation.advance_to(simulation.end()).expect("it goes on");
    let last = simulation.snapshot();
    let tables = simulation.finish().expect("it ends");
    let engine = EngineId { name: String::new(), version: String::new(), detail: String::new() };
    let run = Run { scenario: s.into(), engine, tables, unrecorded: Vec::new() };
    for flow in &last.flows {
        assert_eq!(flow.state, FlowState::Running);
        assert_eq!(flow.packets_sent as f64, total(&run, &flow.name, "packets_sent"));
        assert_eq!(flow.packets_arrived as f64, total(&run, &flow.name, "packets_arrived"));
    }
    for queue in &last.queues {
        assert_eq!(queue.left as f64, total(&run, &queue.element, "left"));
        assert_eq!(f64::from(queue.backlog.packets), total(&run, &queue.element, "held"));
        assert!(queue.left_bytes >= 60 * queue.left);
    }
}

/// Asks for a datagram each 10 ms and has it sent back with its number.
#[derive(Debug, Default)]
struct Metronome {
    next: Option<Time>,
    sent: u32,
    echoes: Vec<u32>,
}

impl App for Metronome {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.next = Some(tx.now());
    }

    fn stop(&mut self, _now: Time) {
        self.next = None;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Body::Datagram { number, sent } = *packet.body() else { return };
        if packet.is_from_receiver() {
            assert_eq!(packet.udp_payload(), 40);
            self.echoes.push(number);
            if self.is_finished() {
                self.next = None;
            }
            return;
        }
        assert_eq!(packet.udp_payload(), 400);
        tx.note_delivery(packet);
        tx.note_delay(tx.now() - sent);
        tx.send_datagram(number, 40, Ecn::NotEct, true);
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if self.next_timer() <= tx.now() {
            tx.send_datagram(self.sent, 400, Ecn::Ect1, false);
            self.sent += 1;
            self.next = Some(tx.now() + Span::from_millis(10));
        }
    }

    fn next_timer(&self) -> Time {
        self.next.unwrap_or(Time::NEVER)
    }

    fn tx_completion(&mut self, _tx: &mut HostTx<'_>, _done: &SkbCharge) {}

    fn is_finished(&self) -> bool {
        self.echoes.len() >= 50
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn delivered_bytes(&self) -> u64 {
        400 * self.echoes.len() as u64
    }

    fn record(&self) -> Record {
        Record::Nothing
    }

    fn report(&self, _end: Time) -> FlowReport {
        assert!(self.echoes.iter().copied().eq(0..self.sent), "{:?}", self.echoes);
        let mut report = FlowReport::default();
        report.totals.push(("beats", f64::from(self.sent)));
        report
    }
}

#[test]
fn an_application_from_outside_runs_in_place_of_a_flows_own() {
    let dumbbell = Dumbbell { duration: Span::from_secs(2), ..Dumbbell::default() };
    let mut s = dumbbell.scenario();
    let udp = Udp { rate: Rate::from_bits_per_sec(100_000), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(dumbbell.flow("beat", Traffic::Udp(udp)));
    let mut simulation = Sim::new().begin(&s, None).expect("it can be built");
    let unknown = simulation.set_app("beet", Box::new(Metronome::default()));
    assert!(
        matches!(unknown, Err(RunError::Failed(e)) if e.contains("beet") && e.contains("beat"))
    );
    simulation.set_app("beat", Box::new(Metronome::default())).expect("it has not started");
    simulation.advance_to(Time::from_secs(1)).expect("it goes on");
    let flow = simulation.snapshot().flows.pop().expect("it is the last");
    assert_eq!(flow.state, FlowState::Ended);
    assert!((20_000..21_600).contains(&flow.delivered_bytes), "{}", flow.delivered_bytes);
    let late = simulation.set_app("beat", Box::new(Metronome::default()));
    assert!(matches!(late, Err(RunError::Failed(e)) if e.contains("started")));
    let tables = simulation.finish().expect("it ends");
    let totals = tables.iter().find(|t| t.schema().name == "totals").expect("it is there");
    let (subject, name, value) = (totals.text("subject"), totals.text("name"), totals.f64("value"));
    let of = |what| {
        (0..totals.len())
            .find(|&i| subject.get(i) == "beat" && name.get(i) == what)
            .map(|i| value[i])
    };
    let beats = of("beats").expect("it reports them");
    assert!((50.0..54.0).contains(&beats));
    assert_eq!(of("packets_sent"), of("packets_arrived"));
}

/// Gives up when it is asked for the third time.
struct Impatient {
    asked: AtomicU64,
    told: Mutex<Span>,
}

impl Watch for Impatient {
    fn progress(&self, simulated: Span) {
        *self.told.lock().expect("nobody panics with it") = simulated;
    }

    fn cancelled(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) == 2
    }
}

/// Where half a second of simulated time is millions of events, nobody waits for it.
#[test]
fn a_run_is_given_up_after_some_events_however_little_time_they_take() {
    let gbit = Rate::from_mbit(40_000);
    let mut s = Dumbbell { rate: gbit, ccs: Vec::new(), ..Dumbbell::default() }.scenario();
    let udp = Udp { rate: Rate::from_mbit(20_000), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(Dumbbell::default().flow("load", Traffic::Udp(udp)));
    let watch = Impatient { asked: AtomicU64::new(0), told: Mutex::default() };
    assert_eq!(Sim::new().run(&s.clone().into(), &watch).err(), Some(RunError::Cancelled));
    let told = *watch.told.lock().expect("nobody panics with it");
    assert!(told < Span::from_millis(500), "{told}");
}
