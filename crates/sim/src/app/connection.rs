//! A TCP connection with requests and answers: the client, which receives the flow's data unless told otherwise, opens it
//! and asks; the server answers. Each way is a sender and a receiver of its own; an ACK does not travel with the answer's
//! data, as the kernel also acknowledges a request at once and on its own (quick ACKs at the beginning).
//!
//! The ACK that ends the handshake comes with the request. Connections are not closed: an end that has everything is
//! silent.

use super::endpoint::endpoint;
use super::half::{HalfPath, TcpHalf};
use super::setup::HostStack;
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_model::Tcp;
use sojourn_stacks::Stack;
use sojourn_transport::OwnDevice;
use sojourn_transport::cc::Registry;
use sojourn_transport::stack::TcpQuirks;
use sojourn_units::{Random, Time};
use std::sync::Arc;

/// What the connections of a flow have in common.
#[derive(Debug)]
pub(crate) struct Template {
    tcp: Tcp,
    stack: &'static Stack,
    quirks: Arc<TcpQuirks>,
    controls: Registry,
    device: Option<OwnDevice>,
    seed: u64,
    name: String,
}

impl Template {
    /// Connections of this flow, whose answers wait for this device of their host.
    pub(crate) fn new(
        tcp: &Tcp,
        host: HostStack<'_>,
        device: Option<OwnDevice>,
        seed: u64,
        name: &str,
    ) -> Self {
        // What is sent comes from the application.
        let tcp = Tcp { bytes: Some(0), app_rate: None, ..tcp.clone() };
        Self {
            tcp,
            stack: host.stack,
            quirks: Arc::clone(host.quirks),
            controls: host.controls.clone(),
            device,
            seed,
            name: name.to_owned(),
        }
    }

    /// The connection of this number, closed. `path` is that of the flow's data; requests go the other way unless
    /// `with_data`.
    pub(crate) fn connection(
        &self,
        path: HalfPath,
        with_data: bool,
        number: u32,
        random: &mut Random,
    ) -> Connection {
        let (client, server) = (random.next_u32(), random.next_u32());
        let owner = path.owner.connection(number);
        let host = HostStack { stack: self.stack, quirks: &self.quirks, controls: &self.controls };
        let make = |what: &str, device, sends: u32, receives: u32| {
            let name = format!("flow/{}/{number}/{what}/cc", self.name);
            let control = Random::named(self.seed, &name);
            let ends = endpoint(&self.tcp, owner.ip, host, device, control, (sends, receives));
            (ends.0.without_data(), ends.1)
        };
        let (there, back) = path.routes;
        let along = HalfPath { owner, ..path };
        let against = HalfPath { owner, routes: (back, there), turned: true, ..path };
        let paths = if with_data { (along, against) } else { (against, along) };
        Connection {
            requests: TcpHalf::new(make("request", None, client, server), paths.0),
            answers: TcpHalf::new(make("answer", self.device, server, client), paths.1),
        }
    }
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The client's requests, and the server that hears them.
    requests: TcpHalf,
    /// The server's answers, and the client that takes them.
    pub(crate) answers: TcpHalf,
}

impl Connection {
    /// The client opens it.
    pub(crate) fn open(&mut self, tx: &mut HostTx<'_>) {
        self.requests.open(tx);
    }

    /// The client asks with so many bytes; before the connection is established they wait for it.
    pub(crate) fn ask(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        self.requests.supply(tx, bytes);
    }

    /// The server answers with so many bytes.
    pub(crate) fn answer(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        self.answers.supply(tx, bytes);
    }

    /// Bytes of requests that the server has heard.
    pub(crate) fn heard(&self) -> u64 {
        self.requests.receiver.delivered_bytes()
    }

    /// Bytes of answers that the client has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.answers.receiver.delivered_bytes()
    }

    /// Whether all that was written has been acknowledged, both ways.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.sender.is_finished() && self.answers.sender.is_finished()
    }

    /// A packet has reached either end.
    pub(crate) fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Self { requests, answers } = self;
        if packet.is_turned() == answers.path.turned {
            return answers.on_packet(tx, packet);
        }
        match &packet.body {
            // The request ends the handshake: the server may send from now on.
            Body::Data(data) if !answers.sender.is_established() => {
                let server = &requests.receiver;
                let rtt = server.since_answer(tx.now()).map(|s| (s.as_nanos() / 1000) as u32);
                let window = answers.receiver.initial_window();
                let agreed = server.ecn_agreed();
                answers.sender.accepted(tx.now(), agreed, window, data.tsval, rtt);
                requests.on_packet(tx, packet);
            }
            Body::SynAck(answer) => {
                let was_open = requests.sender.is_established();
                requests.on_packet(tx, packet);
                if !was_open {
                    answers.receiver.connected(requests.sender.ecn_agreed(), answer.tsval);
                }
            }
            _ => requests.on_packet(tx, packet),
        }
    }

    /// The server's device is done with what counts so much on the account of its answers.
    pub(crate) fn tx_completion(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        self.answers.tx_completion(tx, bytes);
    }

    /// When [`Connection::on_timer`] is to be called.
    pub(crate) fn next_timer(&self) -> Time {
        self.requests.next_timer().min(self.answers.next_timer())
    }

    /// Timers that are due.
    pub(crate) fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        self.requests.on_timer(tx);
        self.answers.on_timer(tx);
    }
}
