//! An application from outside with TCP connections of its own: a client that asks, a server that answers.

use crate::bench::fingerprint;
use crate::capture::{Scratch, read};
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch as _};
use sojourn_model::{EcnMode, Tcp, Traffic, Udp};
use sojourn_path::SkbCharge;
use sojourn_results::Table;
use sojourn_sim::app::{
    App, Body, Client, Completion, Connection, Connections, Counts, FlowReport, HostTx, Packet,
    Record,
};
use sojourn_sim::{FlowState, Sim, Simulation, dumbbell::Dumbbell};
use sojourn_units::{Ecn, Rate, Span, Time};
use std::collections::BTreeMap;

const REQUEST: u64 = 200;
/// Less than an initial window.
const ANSWER: u64 = 10_000;

/// An exchange under way.
#[derive(Debug)]
struct Exchange {
    asked: u64,
    answered: u64,
}

/// Exchanges one after the other: the first ones on one connection, the last on a new one.
#[derive(Debug)]
struct Requests {
    connections: Connections,
    client: Client,
    sizes: (u64, u64),
    live: Vec<(Connection, Exchange)>,
    reuse: usize,
    done: Vec<Completion>,
}

impl Requests {
    fn new(connections: Connections, client: Client, sizes: (u64, u64), reuse: usize) -> Self {
        Self { connections, client, sizes, live: Vec::new(), reuse, done: Vec::new() }
    }

    fn begin(&mut self, tx: &mut HostTx<'_>) {
        if self.done.len().is_multiple_of(self.reuse) {
            let connection = self.connections.open(tx, self.client);
            self.live.push((connection, Exchange { asked: 0, answered: 0 }));
        }
        let (connection, exchange) = self.live.last_mut().expect("one is open");
        connection.ask(tx, self.sizes.0);
        exchange.asked += self.sizes.0;
        self.done.push(Completion { started: tx.now(), bytes: self.sizes.1, ended: Time::NEVER });
    }

    fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for (connection, _) in &self.live {
            let one = connection.counts();
            all.bytes += one.bytes;
            all.sent += one.sent;
            all.in_flight += one.in_flight;
        }
        all
    }
}

impl App for Requests {
    fn has_many_connections(&self) -> bool {
        true
    }

    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.begin(tx);
    }

    fn stop(&mut self, now: Time) {
        for (connection, _) in &mut self.live {
            connection.stop(now);
        }
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        if matches!(packet.body(), Body::Data(_)) && !packet.is_from_receiver() {
            tx.note_delivery(packet);
        }
        let place = self.live.iter().position(|(connection, _)| connection.is_for(packet));
        let place = place.expect("a packet is of one of the flow's connections");
        let is_newest = place + 1 == self.live.len();
        let (connection, exchange) = &mut self.live[place];
        connection.on_packet(tx, packet);
        connection.note_rtt(tx);
        if connection.heard() == exchange.asked && exchange.answered < connection.heard() {
            exchange.answered = connection.heard();
            connection.answer(tx, self.sizes.1);
        }
        let all = exchange.asked / self.sizes.0 * self.sizes.1;
        let last = self.done.last_mut().expect("one has begun");
        if is_newest && connection.taken() == all && last.ended.is_never() {
            last.ended = tx.now();
            if !self.is_finished() {
                self.begin(tx);
            }
        }
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        for (connection, _) in &mut self.live {
            connection.on_timer(tx);
        }
    }

    fn next_timer(&self) -> Time {
        self.live.iter().map(|(c, _)| c.next_timer()).min().unwrap_or(Time::NEVER)
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        for (connection, _) in &mut self.live {
            connection.tx_completion(tx, done);
        }
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn is_finished(&self) -> bool {
        self.done.len() == 6 && self.done.iter().all(|c| !c.ended.is_never())
    }

    fn delivered_bytes(&self) -> u64 {
        self.counts().bytes
    }

    fn record(&self) -> Record {
        Record::Counts(self.counts())
    }

    fn report(&self, _end: Time) -> FlowReport {
        assert!(self.live.iter().all(|(connection, _)| connection.is_quiet()));
        FlowReport { completions: self.done.clone(), ..FlowReport::default() }
    }
}

/// A path of 20 ms and 50 Mbit/s for a flow that has it to itself.
fn alone(capture: Option<&Capture>) -> Simulation {
    let duration = Span::from_secs(2);
    let dumbbell = Dumbbell { ccs: Vec::new(), ping: false, duration, ..Dumbbell::default() };
    let mut s = dumbbell.scenario();
    let udp = Udp { rate: Rate::from_mbit(1), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(dumbbell.flow("web", Traffic::Udp(udp)));
    Sim::new().begin(&s, capture).expect("it can be built")
}

fn run(client: Client, sizes: (u64, u64), reuse: usize) -> (u64, Vec<f64>, Vec<Table>) {
    capturing(client, sizes, reuse, None)
}

fn capturing(
    client: Client,
    sizes: (u64, u64),
    reuse: usize,
    capture: Option<&Capture>,
) -> (u64, Vec<f64>, Vec<Table>) {
    let mut simulation = alone(capture);
    let cubic = Tcp::plain("cubic", EcnMode::Rfc3168);
    let connections = simulation.connections("web", &cubic).expect("a flow and a control");
    let app = Requests::new(connections, client, sizes, reuse);
    simulation.set_app("web", Box::new(app)).expect("it has not started");
    simulation.advance_to(simulation.end()).expect("it goes on");
    let flow = simulation.snapshot().flows.pop().expect("it is the last");
    assert_eq!((flow.state, flow.packets_sent), (FlowState::Ended, flow.packets_arrived));
    let tables = simulation.finish().expect("it ends");
    let fct = tables.iter().find(|t| t.schema().name == "completions").expect("it is there");
    let took = fct.f64("duration_s").to_vec();
    (flow.delivered_bytes, took, tables)
}

/// Each connection that the application opens has a port of its own in a capture, and opens and ends there whole.
#[test]
fn a_capture_shows_every_connection() {
    for reuse in [6, 2, 1] {
        let scratch = Scratch::new(&format!("requests-{reuse}"), u32::from(u16::MAX));
        let capture = scratch.capture();
        let (bytes, _, tables) =
            capturing(Client::Receiver, (REQUEST, ANSWER), reuse, capture.as_ref());
        let mut answered: BTreeMap<u16, (u32, u64)> = BTreeMap::new();
        for (_, _, frame) in scratch.packets("client") {
            let seen = read(&frame);
            let tcp = seen.tcp.expect("all of it is TCP");
            let (opened, of_data) = answered.entry(seen.flow).or_default();
            *opened += u32::from(tcp.syn);
            *of_data += if seen.from_sender { u64::from(tcp.len) } else { 0 };
        }
        let each = (2, ANSWER * reuse as u64);
        assert_eq!(answered.into_values().collect::<Vec<_>>(), vec![each; 6 / reuse]);
        assert_eq!(bytes, 6 * ANSWER);
        let (_, _, without) = run(Client::Receiver, (REQUEST, ANSWER), reuse);
        assert_eq!(fingerprint(&tables), fingerprint(&without), "a capture changes nothing");
    }
}

/// A request and an answer that one window carries take a round trip; a new connection takes one more.
#[test]
fn exchanges_take_a_round_trip_and_a_handshake_one_more() {
    let (bytes, took, _) = run(Client::Receiver, (REQUEST, ANSWER), 3);
    assert_eq!(bytes, 6 * ANSWER);
    for (i, took) in took.iter().enumerate() {
        // Seven frames and a request take some 2 ms at 50 Mbit/s.
        let rtts = if i % 3 == 0 { 2.0 } else { 1.0 };
        let more = took - rtts * 0.020;
        assert!((0.0..0.003).contains(&more), "exchange {i}: {took} s");
    }
    assert_eq!(took.len(), 6);
}

/// An upload: the requests are the flow's data.
#[test]
fn the_sender_of_the_flows_data_may_be_the_client() {
    let (bytes, took, _) = run(Client::Sender, (ANSWER, REQUEST), 6);
    assert_eq!((bytes, took.len()), (6 * ANSWER, 6));
    assert!(took[1..].iter().all(|took| (0.020..0.023).contains(took)), "{took:?}");
}

#[test]
fn what_there_is_not_is_said() {
    let simulation = alone(None);
    let fails = |flow: &str, cc: &str| {
        let result = simulation.connections(flow, &Tcp::plain(cc, EcnMode::Off));
        let Err(RunError::Failed(error)) = result else { panic!("{flow} with {cc}") };
        error
    };
    assert_eq!(fails("wab", "cubic"), "no flow \"wab\": there are web");
    let error = fails("web", "cubik");
    assert!(error.contains("flow \"web\"") && error.contains("did you mean \"cubic\"?"), "{error}");
}
