//! A TCP connection with requests and answers: the client, by default the receiver of the flow's data, opens it and
//! asks; the server answers. Each way is a sender and a receiver of its own; an ACK does not travel with the answer's
//! data, as the kernel also acknowledges a request at once and on its own (quick ACKs at the beginning).
//!
//! The ACK that ends the handshake comes with the request. Connections are not closed: an end that has everything is
//! silent.

use super::endpoint::endpoint;
use super::half::{HalfPath, TcpHalf};
use super::report::Counts;
use super::setup::HostStack;
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_model::Tcp;
use sojourn_path::SkbCharge;
use sojourn_record::FlowSample;
use sojourn_stacks::Stack;
use sojourn_transport::cc::Registry;
use sojourn_transport::stack::TcpQuirks;
use sojourn_transport::{HostNic, LimitedTimes};
use sojourn_units::{Random, Time};
use std::sync::Arc;

/// The settings that the connections of a flow have in common.
#[derive(Debug)]
pub(crate) struct Template {
    tcp: Tcp,
    stack: &'static Stack,
    quirks: Arc<TcpQuirks>,
    receiver: Arc<TcpQuirks>,
    controls: Registry,
    device: Option<HostNic>,
    seed: u64,
    name: String,
}

impl Template {
    /// Connections of this flow. Packets in the direction of the flow's data wait for this device of its host.
    pub(crate) fn new(
        tcp: &Tcp,
        host: HostStack<'_>,
        device: Option<HostNic>,
        seed: u64,
        name: &str,
    ) -> Self {
        // The application provides the data.
        let tcp = Tcp { bytes: Some(0), app_rate: None, ..tcp.clone() };
        Self {
            tcp,
            stack: host.stack,
            quirks: Arc::clone(host.quirks),
            receiver: Arc::clone(host.receiver),
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
        // The half with the flow's data, and the other: there the flow's receiver sends.
        let along = HostStack {
            stack: self.stack,
            quirks: &self.quirks,
            receiver: &self.receiver,
            controls: &self.controls,
        };
        let against = HostStack { quirks: &self.receiver, receiver: &self.quirks, ..along };
        let half = |what: &str, way: (HalfPath, HostStack<'_>, _), ends: (u32, u32)| {
            let (path, host, device) = way;
            let name = format!("flow/{}/{number}/{what}/cc", self.name);
            let control = Random::named(self.seed, &name);
            let (sender, receiver) = endpoint(&self.tcp, owner.ip, host, device, control, ends);
            TcpHalf::new((sender.without_data(), receiver), path)
        };
        let (there, back) = path.routes;
        let along = (HalfPath { owner, ..path }, along, self.device);
        let turned = HalfPath { owner, routes: (back, there), turned: true, ..path };
        let against = (turned, against, None);
        let (requests, answers) = if with_data { (along, against) } else { (against, along) };
        Connection {
            requests: half("request", requests, (client, server)),
            answers: half("answer", answers, (server, client)),
        }
    }
}

/// A TCP connection between the hosts of a flow, which [`Connections`](super::Connections) opens. Its application
/// forwards its own calls ([`App`](super::App)) to it: its packets, its timers, and completions of its host's device.
#[derive(Debug)]
pub struct Connection {
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

    /// The client asks with `bytes` bytes; they wait until the connection is established. The handshake ends with the
    /// first request: the server can send nothing before it.
    pub fn ask(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        self.requests.supply(tx, bytes);
    }

    /// The server answers with `bytes` bytes.
    pub fn answer(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        self.answers.supply(tx, bytes);
    }

    /// Bytes of requests that the server has heard, in order.
    pub fn heard(&self) -> u64 {
        self.requests.receiver.delivered_bytes()
    }

    /// Bytes of answers that the client has taken, in order.
    pub fn taken(&self) -> u64 {
        self.answers.receiver.delivered_bytes()
    }

    /// Whether all that was written has been acknowledged, both ways.
    pub fn is_quiet(&self) -> bool {
        self.requests.sender.is_finished() && self.answers.sender.is_finished()
    }

    /// Discards written data that has not left, both ways.
    pub fn stop(&mut self, now: Time) {
        self.requests.sender.stop(now);
        self.answers.sender.stop(now);
    }

    /// Whether this is a packet of this connection, and not of another of its flow.
    pub fn is_for(&self, packet: &Packet) -> bool {
        packet.key == self.requests.path.owner.key
    }

    /// A packet has reached either end.
    pub fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
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

    /// The device of the host that sends the flow's data is done with packets of this connection, or of another: that is
    /// none of this one's business then.
    pub fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        if done.key == self.requests.path.owner.key {
            self.data_mut().tx_completion(tx, done.bytes);
        }
    }

    /// When [`Connection::on_timer`] is to be called; [`Time::NEVER`] if not.
    pub fn next_timer(&self) -> Time {
        self.requests.next_timer().min(self.answers.next_timer())
    }

    /// Timers that are due. It may be that none is.
    pub fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        self.requests.on_timer(tx);
        self.answers.on_timer(tx);
    }

    /// Adds the newest RTT sample of the flow's data to the flow's distribution of delays, once.
    pub fn note_rtt(&mut self, tx: &mut HostTx<'_>) {
        self.data_mut().note_rtt(tx);
    }

    /// The row of its half that goes the way of the flow's data.
    pub fn record(&self) -> FlowSample {
        self.data().record()
    }

    /// What has limited that half until `now`.
    pub fn limited_times(&self, now: Time) -> LimitedTimes {
        self.data().sender.limited_times(now)
    }

    /// Counts of that half.
    pub fn counts(&self) -> Counts {
        let half = self.data();
        let (tcb, counters) = (half.sender.tcb(), half.sender.counters());
        Counts {
            bytes: half.receiver.delivered_bytes(),
            sent: counters.sent,
            retransmits: counters.retransmits,
            timeouts: counters.timeouts,
            lost: u64::from(tcb.view.lost),
            delivered: u64::from(tcb.view.delivered),
            ce: half.receiver.ce_packets(),
            ece: counters.ece_acks,
            in_flight: u64::from(tcb.view.in_flight()),
        }
    }

    /// Further numbers of that half's congestion control.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.data().sender.gauges(out);
    }

    /// The half that goes the way of the flow's data.
    fn data(&self) -> &TcpHalf {
        if self.answers.path.turned { &self.requests } else { &self.answers }
    }

    fn data_mut(&mut self) -> &mut TcpHalf {
        if self.answers.path.turned { &mut self.requests } else { &mut self.answers }
    }
}
