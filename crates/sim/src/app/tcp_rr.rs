//! Requests and responses over one connection, one at a time: netperf's TCP_RR, a database's client, a remote call.
//!
//! Source: the manual of netperf 2.7, "TCP_RR": the client sends a request, waits for the whole response, and sends the next.
//! netperf has no pause between them; here `think` is one.
//!
//! The host that receives the flow's data asks, so that responses go the way of the flow. The first request opens the
//! connection: its transaction includes the handshake, unlike netperf's, where the clock starts after it.
//!
//! Each transaction is a row in the table `completions`: from the call that sends the request to the last byte of the
//! response. The same times are the flow's delays.

use super::connection::Connection;
use super::connections::{Client, Connections};
use super::interface::App;
use super::named::{AppSetup, NamedApp};
use super::report::{FlowReport, Record};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_path::SkbCharge;
use sojourn_qdisc::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_record::Completion;
use sojourn_transport::LimitedTimes;
use sojourn_units::{Span, Time};

/// Its table.
pub(crate) const INFO: Discipline = Discipline {
    name: "tcp_rr",
    summary: "requests and responses over one TCP connection, one at a time",
    source: "netperf 2.7, TCP_RR",
    options: options_of!(Options),
    examples: &["tcp_rr", "tcp_rr request 100b response 10kb think 20ms count 5"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    request: u32,
    response: u32,
    think: Span,
    count: Option<u32>,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "request",
            values: table::BYTES,
            preset: DefaultValue::Is("1b"),
            doc: "length of a request",
            tried: &["request 100b"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.request = given.number()),
        OptionSpec {
            name: "response",
            values: table::BYTES,
            preset: DefaultValue::Is("1b"),
            doc: "length of a response",
            tried: &["response 1b", "response 100kb"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.response = given.number()),
        OptionSpec {
            name: "think",
            values: table::TIME,
            preset: DefaultValue::Is("0s"),
            doc: "from the end of a response to the next request",
            tried: &["think 10ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.think = given.span()),
        OptionSpec {
            name: "count",
            values: &[ValueSpec {
                name: "TRANSACTIONS",
                kind: Kind::Count { unit: "transactions", min: 1, max: u32::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Unset("until the flow stops"),
            doc: "how many transactions there are; the flow ends with the last",
            tried: &["count 3"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.count = Some(given.number())),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { request: 0, response: 0, think: Span::ZERO, count: None }
    }
}

/// The client and the server.
#[derive(Debug)]
pub(crate) struct TcpRr {
    options: Options,
    connections: Connections,
    connection: Option<Connection>,
    /// Transactions; the last may be under way.
    transactions: Vec<Completion>,
    /// Requests that have been answered.
    answered: u64,
    /// When the client asks again.
    asks_at: Time,
}

impl NamedApp for TcpRr {
    type Options = Options;

    fn new(options: Options, setup: AppSetup) -> Self {
        Self {
            options,
            connections: setup.connections,
            connection: None,
            transactions: Vec::new(),
            answered: 0,
            asks_at: Time::NEVER,
        }
    }
}

impl TcpRr {
    /// Transactions that have been begun.
    const fn asked(&self) -> u64 {
        self.transactions.len() as u64
    }

    /// The client sends a request.
    fn ask(&mut self, tx: &mut HostTx<'_>) {
        self.asks_at = Time::NEVER;
        let Some(connection) = &mut self.connection else { return };
        let bytes = u64::from(self.options.response);
        self.transactions.push(Completion { started: tx.now(), bytes, ended: Time::NEVER });
        connection.ask(tx, u64::from(self.options.request));
    }

    /// The server answers what it has heard; the client has its response, and thinks.
    fn go_on(&mut self, tx: &mut HostTx<'_>) {
        let asked = self.asked();
        let Some(connection) = &mut self.connection else { return };
        let (request, response) =
            (u64::from(self.options.request), u64::from(self.options.response));
        if self.answered < asked && connection.heard() >= asked * request {
            self.answered = asked;
            connection.answer(tx, response);
        }
        let has_all = connection.taken() >= asked * response;
        if let Some(last) = self.transactions.last_mut()
            && has_all
            && last.ended.is_never()
        {
            last.ended = tx.now();
            tx.note_delay(last.ended - last.started);
            if self.options.count.is_none_or(|count| asked < u64::from(count)) {
                self.asks_at = tx.now() + self.options.think;
            }
        }
        if self.asks_at <= tx.now() {
            self.ask(tx);
        }
    }
}

impl App for TcpRr {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.connection = Some(self.connections.open(tx, Client::Receiver));
        self.ask(tx);
    }

    /// A transaction under way is given up.
    fn stop(&mut self, now: Time) {
        self.asks_at = Time::NEVER;
        self.options.count = Some(0);
        if let Some(connection) = &mut self.connection {
            connection.stop(now);
        }
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        if matches!(packet.body, Body::Data(_)) && !packet.is_turned() {
            tx.note_delivery(packet);
        }
        if let Some(connection) = &mut self.connection {
            connection.on_packet(tx, packet);
        }
        self.go_on(tx);
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if let Some(connection) = &mut self.connection {
            connection.on_timer(tx);
        }
        self.go_on(tx);
    }

    fn next_timer(&self) -> Time {
        let tcp = self.connection.as_ref().map_or(Time::NEVER, Connection::next_timer);
        tcp.min(self.asks_at)
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        if let Some(connection) = &mut self.connection {
            connection.tx_completion(tx, done);
        }
    }

    fn is_finite(&self) -> bool {
        self.options.count.is_some()
    }

    fn is_finished(&self) -> bool {
        let last = self.transactions.last();
        self.options.count.is_some_and(|count| self.asked() >= u64::from(count))
            && last.is_none_or(|last| !last.ended.is_never())
    }

    fn delivered_bytes(&self) -> u64 {
        self.connection.as_ref().map_or(0, Connection::taken)
    }

    fn record(&self) -> Record {
        self.connection.as_ref().map_or(Record::Nothing, |c| Record::Connection(c.record()))
    }

    fn limited_times(&self, now: Time) -> Option<LimitedTimes> {
        self.connection.as_ref().map(|connection| connection.limited_times(now))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(connection) = &self.connection {
            connection.gauges(out);
        }
    }

    fn report(&self, _end: Time) -> FlowReport {
        let done = self.transactions.iter().filter(|t| !t.ended.is_never()).count();
        FlowReport {
            completions: self.transactions.clone(),
            totals: vec![("transactions", done as f64)],
            ..FlowReport::default()
        }
    }
}
