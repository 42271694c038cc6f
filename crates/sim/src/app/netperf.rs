//! netperf's work before it measures: its client connects to its server, tells it the test's parameters and waits for
//! the answer; only then it opens the connection for the data (HewlettPackard/netperf `src/netlib.c`,
//! `establish_control`, `send_request`, `recv_response`; `src/nettest_omni.c`, `send_omni`).
//!
//! That is two round trips over the same path. A flow that joins a queue of 230 ms begins its handshake half a second
//! late, and its first window comes another round trip later: by then the overflow that the flow in possession was about
//! to cause is over. In `ect1_pcap.csv` the first data packet reaches the server 2.5 base RTTs and 5.006 to 5.017 s after
//! the first ping's reply, which is one base RTT late itself: two RTTs of this, one of the handshake, half a one of the
//! packet. Behind a queue each of the four ways through it is seen: 54 ms behind PIE with 15 ms (`pie-20ms`), 827 ms behind
//! `pfifo limit 1000`.
//!
//! A request and an answer are of 656 bytes (`sizeof(union netperf_request_struct)`: 8 bytes and 162 integers). The socket
//! is a plain one: CUBIC, ECN as the hosts have it, no DSCP whatever the test's connection has. To queues it is a flow of
//! its own. Where a rig gives flows delays of their own, which it tells by DSCP, it has that of packets without one.
//!
//! Left out: the results, which are asked for when the test is over. Captures do not show it.

use super::connection::{Connection, Template};
use super::half::HalfPath;
use super::setup::HostStack;
use crate::host::HostTx;
use crate::packet::{Owner, Packet};
use sojourn_model::{EcnMode, Tcp};
use sojourn_units::{Dscp, Random, Time};

/// Bytes of a request, and of an answer.
const MESSAGE: u64 = 8 + 162 * 4;
/// Its number among the flow's connections; the data's has none.
const NUMBER: u32 = 1;

/// The control connection of one test.
#[derive(Debug)]
pub(crate) struct Control {
    connection: Connection,
    answered: bool,
    due: Time,
}

impl Control {
    /// For a flow of this name, at rest, by these routes, the way of the flow's data and back; `with_data` says whether the sender of its data is netperf's client.
    pub(crate) fn new(
        host: HostStack<'_>,
        seed: u64,
        name: &str,
        owner: Owner,
        with_data: bool,
        routes: (u16, u16),
        random: &mut Random,
    ) -> Self {
        let plain = Tcp::plain("cubic", EcnMode::Default);
        let template = Template::new(&plain, host, None, seed, &format!("{name}/control"));
        let path = HalfPath { owner, routes, dscp: Dscp::default(), turned: false };
        let connection = template.connection(path, with_data, NUMBER, random);
        Self { connection, answered: false, due: Time::NEVER }
    }

    /// The client connects, and has its request ready.
    pub(crate) fn open(&mut self, tx: &mut HostTx<'_>) {
        self.connection.open(tx);
        self.connection.ask(tx, MESSAGE);
        self.due = self.connection.next_timer();
    }

    /// A packet has reached either end.
    pub(crate) fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        self.connection.on_packet(tx, packet);
        if !self.answered && self.connection.heard() >= MESSAGE {
            self.answered = true;
            self.connection.answer(tx, MESSAGE);
        }
        self.due = self.connection.next_timer();
    }

    /// Whether the client has its answer: the test may begin.
    pub(crate) fn is_agreed(&self) -> bool {
        self.connection.taken() >= MESSAGE
    }

    /// Whether nothing more comes.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_agreed() && self.connection.is_quiet()
    }

    /// When there is something to do.
    pub(crate) fn next_timer(&self) -> Time {
        self.due
    }

    /// Does what is due.
    pub(crate) fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        self.connection.on_timer(tx);
        self.due = self.connection.next_timer();
    }
}
