//! A TCP connection with requests and answers: the client, which receives the flow's data unless told otherwise, opens it
//! and asks; the server answers. Each way is a sender and a receiver of its own; an ACK does not travel with the answer's
//! data, as the kernel also acknowledges a request at once and on its own (quick ACKs at the beginning).
//!
//! The ACK that ends the handshake comes with the request. Connections are not closed: an end that has everything is
//! silent.

use super::Wires;
use crate::host::{HostStack, endpoint};
use crate::packet::{Body, Owner, Packet};
use sojourn_model::Tcp;
use sojourn_stacks::Stack;
use sojourn_transport::cc::Registry;
use sojourn_transport::segment::{Ack, Data, Handshake, Output};
use sojourn_transport::stack::TcpQuirks;
use sojourn_transport::{OwnDevice, Receiver, Sender};
use sojourn_units::{Dscp, Ecn, Random, Time};
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

    /// The connection of this number, closed.
    pub(crate) fn connection(&self, owner: Owner, number: u32, random: &mut Random) -> Connection {
        let (client, server) = (random.next_u32(), random.next_u32());
        let make = |what: &str, device, sends: u32, receives: u32| {
            let name = format!("flow/{}/{number}/{what}/cc", self.name);
            let control = Random::named(self.seed, &name);
            let host =
                HostStack { stack: self.stack, quirks: &self.quirks, controls: &self.controls };
            endpoint(&self.tcp, owner.ip, host, device, control, (sends, receives))
        };
        let (asks, hears) = make("request", None, client, server);
        let (sends, takes) = make("answer", self.device, server, client);
        Connection {
            owner: owner.connection(number),
            asks: asks.without_data(),
            hears,
            sends: sends.without_data(),
            takes,
            samples_seen: 0,
            with_data: false,
            dscp: None,
        }
    }
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Connection {
    owner: Owner,
    /// The client's requests, and the server that hears them.
    asks: Sender,
    hears: Receiver,
    /// The server's answers, and the client that takes them.
    pub(crate) sends: Sender,
    pub(crate) takes: Receiver,
    samples_seen: u64,
    /// Whether requests go the way of the flow's data.
    with_data: bool,
    /// The DSCP, if not the flow's.
    dscp: Option<Dscp>,
}

/// The way out of one half.
struct Half<'a, 'w> {
    wires: &'a mut Wires<'w>,
    owner: Owner,
    /// Whether what its sender sends goes against the flow's data.
    turned: bool,
    dscp: Option<Dscp>,
}

impl Half<'_, '_> {
    fn put(&mut self, body: Body, ecn: Ecn, from_its_sender: bool) {
        let (there, back) = self.wires.routes;
        let route = if from_its_sender == self.turned { back } else { there };
        let dscp = self.dscp.unwrap_or(self.wires.nic.dscp);
        let packet = Packet::tcp(self.owner, route, dscp, ecn, body);
        self.wires.send(if self.turned { packet.turned() } else { packet });
    }

    fn ack(&mut self, ack: Ack, ecn: Ecn) {
        self.put(Body::Ack(ack), ecn, false);
    }
}

impl Output for Half<'_, '_> {
    fn syn(&mut self, syn: Handshake, ecn: Ecn) {
        self.put(Body::Syn(syn), ecn, true);
    }

    fn data(&mut self, data: Data, ecn: Ecn) {
        self.put(Body::Data(data), ecn, true);
    }
}

impl Connection {
    /// With requests that go the way of the flow's data if `with_data`, and a DSCP of its own.
    #[must_use]
    pub(crate) fn aside(self, with_data: bool, dscp: Dscp) -> Self {
        Self { with_data, dscp: Some(dscp), ..self }
    }

    /// The way out of the requests' half, or of the answers'.
    fn half<'a, 'w>(&self, wires: &'a mut Wires<'w>, requests: bool) -> Half<'a, 'w> {
        Half { wires, owner: self.owner, turned: requests != self.with_data, dscp: self.dscp }
    }

    /// The client opens it.
    pub(crate) fn open(&mut self, wires: &mut Wires<'_>) {
        let now = wires.now;
        let mut half = self.half(wires, true);
        self.asks.open(now, &mut half);
    }

    /// The client asks with so many bytes; before the connection is established they wait for it.
    pub(crate) fn ask(&mut self, wires: &mut Wires<'_>, bytes: u64) {
        let now = wires.now;
        let mut half = self.half(wires, true);
        self.asks.supply(now, bytes, &mut half);
    }

    /// The server answers with so many bytes.
    pub(crate) fn answer(&mut self, wires: &mut Wires<'_>, bytes: u64) {
        let now = wires.now;
        let mut half = self.half(wires, false);
        self.sends.supply(now, bytes, &mut half);
    }

    /// Bytes of requests that the server has heard.
    pub(crate) fn heard(&self) -> u64 {
        self.hears.delivered_bytes()
    }

    /// Bytes of answers that the client has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.takes.delivered_bytes()
    }

    /// Whether all that was written has been acknowledged, both ways.
    pub(crate) fn is_quiet(&self) -> bool {
        self.asks.is_finished() && self.sends.is_finished()
    }

    /// A round-trip time of the answers' sender that was not seen yet, microseconds.
    pub(crate) fn new_rtt(&mut self) -> Option<u32> {
        let rtt = &self.sends.tcb().view.rtt;
        if rtt.samples() == self.samples_seen {
            return None;
        }
        self.samples_seen = rtt.samples();
        Some(rtt.latest_us())
    }

    /// A packet has reached either end.
    pub(crate) fn on_packet(&mut self, wires: &mut Wires<'_>, packet: &Packet, ecn: Ecn) {
        let now = wires.now;
        let requests = packet.is_turned() != self.with_data;
        let mut half = self.half(wires, requests);
        match &packet.body {
            Body::Syn(syn) => {
                let answer = self.hears.on_syn(now, syn, ecn);
                half.put(Body::SynAck(answer), Ecn::NotEct, false);
            }
            Body::SynAck(answer) => {
                let was_open = self.asks.is_established();
                self.asks.on_syn_ack(now, answer, &mut half);
                if !was_open {
                    self.takes.connected(self.asks.ecn_agreed(), answer.tsval);
                }
            }
            Body::Data(data) => {
                if requests && !self.sends.is_established() {
                    let rtt = self.hears.since_answer(now).map(|s| (s.as_nanos() / 1000) as u32);
                    let window = self.takes.initial_window();
                    self.sends.accepted(now, self.hears.ecn_agreed(), window, data.tsval, rtt);
                }
                let receiver = if requests { &mut self.hears } else { &mut self.takes };
                if let Some(ack) = receiver.on_data(now, data, ecn) {
                    let field = receiver.ack_field();
                    if let Some(earlier) = receiver.take_earlier() {
                        half.ack(earlier, field);
                    }
                    half.ack(ack, field);
                }
            }
            Body::Ack(ack) => {
                let sender = if requests { &mut self.asks } else { &mut self.sends };
                sender.on_ack(now, ack, &mut half);
            }
            Body::Echo { .. } | Body::Datagram { .. } | Body::Report { .. } => {}
        }
    }

    /// The server's device has sent what counts so much on the account of its answers.
    pub(crate) fn on_sent_off(&mut self, wires: &mut Wires<'_>, bytes: u64) {
        let now = wires.now;
        let mut half = self.half(wires, false);
        self.sends.on_sent_off(now, bytes, &mut half);
    }

    /// When [`Connection::on_timer`] wants to be called.
    pub(crate) fn next(&self) -> Time {
        let senders = self.asks.next_timer().min(self.sends.next_timer());
        senders.min(self.hears.next_timer()).min(self.takes.next_timer())
    }

    /// Timers that are due.
    pub(crate) fn on_timer(&mut self, wires: &mut Wires<'_>) {
        let now = wires.now;
        for requests in [true, false] {
            let mut half = self.half(wires, requests);
            let (sender, receiver) = if requests {
                (&mut self.asks, &mut self.hears)
            } else {
                (&mut self.sends, &mut self.takes)
            };
            if receiver.next_timer() <= now
                && let Some(ack) = receiver.on_timer(now)
            {
                half.ack(ack, receiver.ack_field());
            }
            if sender.next_timer() <= now {
                sender.on_timer(now, &mut half);
            }
        }
    }
}
