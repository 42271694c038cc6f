//! The connections between the two programs of a flow. Their numbers together are the flow's.
//!
//! As for the flows of `sojourn shell`, payload is counted here, from sequence numbers, and the kernel is asked for the sender's
//! TCP sockets by sock_diag. Windows, packets in flight and counters are sums over the connections; of a smoothed RTT there is
//! no sum, so it is that of the connection with the most payload.
//!
//! Invariant: a connection that is closed keeps the counters that it had when it was last asked for.

use crate::found::{Arrived, Identity};
use crate::info::Info;
use crate::netlink::{Sockets, TcpSocket};
use crate::packet::Packet;
use crate::protocol::Host;
use sojourn_model::Direction;
use sojourn_record::FlowSample;
use sojourn_units::Time;
use std::collections::HashMap;

struct Connection {
    identity: Identity,
    arrived: [Arrived; 2],
    /// The sender's numbers when the kernel was last asked.
    last: Option<FlowSample>,
    /// Whether the kernel may have a socket of it.
    is_open: bool,
}

/// The connections of a flow.
pub(crate) struct Conversation {
    sender: Host,
    sockets: [Sockets; 2],
    numbers: HashMap<Identity, usize>,
    connections: Vec<Connection>,
    /// When the client began, while it runs.
    pub(crate) began: Option<Time>,
}

impl Conversation {
    pub(crate) fn new(direction: Direction, sockets: [Sockets; 2]) -> Self {
        let sender = match direction {
            Direction::Down => Host::Server,
            Direction::Up => Host::Client,
        };
        let (numbers, connections, began) = (HashMap::new(), Vec::new(), None);
        Self { sender, sockets, numbers, connections, began }
    }

    /// A packet has come to its host.
    pub(crate) fn delivered(&mut self, packet: &Packet) {
        let Some(identity) = Identity::of(packet.frame(), packet.to()) else { return };
        let connections = &mut self.connections;
        let number = *self.numbers.entry(identity).or_insert_with(|| {
            let arrived = [Arrived::default(); 2];
            connections.push(Connection { identity, arrived, last: None, is_open: true });
            connections.len() - 1
        });
        let connection = &mut connections[number];
        connection.arrived[packet.to().index()].add(packet);
        connection.is_open = true;
    }

    /// Packets and payload that have come to the receiver.
    pub(crate) fn received(&self) -> (u64, u64) {
        let receiver = self.sender.other().index();
        let all = self.connections.iter().map(|connection| connection.arrived[receiver]);
        all.fold((0, 0), |(packets, bytes), a| (packets + a.packets, bytes + a.payload))
    }

    /// The sender's numbers now. `dropped` packets were lost on the way.
    pub(crate) fn sample(&mut self, dropped: u64) -> FlowSample {
        let (sender, receiver) = (self.sender, self.sender.other());
        let tcp = self.connections.iter_mut().filter(|c| c.is_open && c.identity.is_tcp());
        for connection in tcp {
            let (own, peer) = (connection.identity.end(sender), connection.identity.end(receiver));
            match self.sockets[sender.index()].connection(own, peer) {
                Ok(Some(TcpSocket { info, .. })) if !info.is_empty() => {
                    connection.last = Some(Info(&info).sample());
                }
                _ => connection.is_open = false,
            }
        }
        let payload = |c: &Connection| c.arrived[receiver.index()].payload;
        let known = self.connections.iter().filter_map(|c| Some((c.is_open, payload(c), c.last?)));
        let (packets, _) = self.received();
        together(known).unwrap_or(FlowSample {
            delivered: packets,
            lost: dropped,
            ..FlowSample::UNKNOWN
        })
    }
}

/// The numbers of connections together: whether each is open, its payload, its own. None of none.
fn together(known: impl Iterator<Item = (bool, u64, FlowSample)>) -> Option<FlowSample> {
    let mut sum: Option<FlowSample> = None;
    let mut most = None;
    for (is_open, payload, own) in known {
        let sum = sum.get_or_insert(FlowSample::UNKNOWN);
        if is_open {
            sum.cwnd += own.cwnd;
            sum.in_flight += own.in_flight;
            if most.is_none_or(|(bytes, _)| payload > bytes) {
                most = Some((payload, own));
            }
        }
        sum.retransmits += own.retransmits;
        sum.lost += own.lost;
        sum.delivered += own.delivered;
    }
    let sum = sum?;
    Some(most.map_or(sum, |(_, own)| FlowSample {
        delivery_rate_bps: own.delivery_rate_bps,
        rtt_s: own.rtt_s,
        srtt_s: own.srtt_s,
        rttvar_s: own.rttvar_s,
        ssthresh: own.ssthresh,
        state: own.state,
        ..sum
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_of_open_connections_and_counters_of_all() {
        let of = |cwnd, delivered, srtt_s| FlowSample {
            cwnd,
            delivered,
            srtt_s,
            retransmits: 1,
            in_flight: cwnd / 2,
            ..FlowSample::UNKNOWN
        };
        let all = [
            (true, 100, of(10, 5, 0.1)),
            (true, 700, of(20, 50, 0.2)),
            (false, 9000, of(40, 500, 0.4)),
        ];
        let sum = together(all.into_iter()).unwrap();
        assert_eq!((sum.cwnd, sum.in_flight, sum.delivered, sum.retransmits), (30, 15, 555, 3));
        assert_eq!(sum.srtt_s, 0.2);
        let over = together(all.into_iter().skip(2)).unwrap();
        assert_eq!((over.cwnd, over.delivered), (0, 500));
        assert!(over.srtt_s.is_nan() && together([].into_iter()).is_none());
    }
}
