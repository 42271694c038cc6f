//! One direction of a TCP connection: the sender of its data, the receiver that faces it, and the way that their packets
//! take. All handling of TCP packets is in this file.

use crate::host::HostTx;
use crate::packet::{Body, Owner, Packet};
use sojourn_record::{FlowSample, RecoveryState};
use sojourn_transport::segment::{Data, Handshake, Output};
use sojourn_transport::{CaState, Receiver, Sender};
use sojourn_units::{Dscp, Ecn, Span, Time};

/// How a half's packets travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfPath {
    /// The owner of the packets.
    pub(crate) owner: Owner,
    /// The route of its data, then that of the acknowledgements.
    pub(crate) routes: (u16, u16),
    /// Their DSCP.
    pub(crate) dscp: Dscp,
    /// Whether its data goes against the flow's.
    pub(crate) turned: bool,
}

impl HalfPath {
    #[inline(always)]
    fn packet(&self, route: u16, ecn: Ecn, body: Body) -> Packet {
        let packet = Packet::tcp(self.owner, route, self.dscp, ecn, body);
        if self.turned { packet.turned() } else { packet }
    }
}

/// A sender's way out.
struct SenderTx<'a, 'h> {
    path: HalfPath,
    tx: &'a mut HostTx<'h>,
}

impl Output for SenderTx<'_, '_> {
    fn syn(&mut self, syn: Handshake, ecn: Ecn) {
        self.tx.send(self.path.packet(self.path.routes.0, ecn, Body::Syn(syn)));
    }

    #[inline]
    fn data(&mut self, data: Data, ecn: Ecn) {
        self.tx.send_here(self.path.packet(self.path.routes.0, ecn, Body::Data(data)));
    }
}

/// The half. The fields of both ends come first; the sender begins so that what its next timer is read from is one line of
/// cache, which data touch too.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct TcpHalf {
    pub(crate) path: HalfPath,
    pub(crate) receiver: Receiver,
    /// The sender's RTT samples that have been noted.
    noted: u64,
    pub(crate) sender: Sender,
}

/// A sender and its way out, for a call on the one with the other.
macro_rules! with_tx {
    ($half:expr, $tx:expr) => {
        (&mut $half.sender, &mut SenderTx { path: $half.path, tx: $tx })
    };
}

impl TcpHalf {
    /// Of these two ends, at rest.
    pub(crate) fn new((sender, receiver): (Sender, Receiver), path: HalfPath) -> Self {
        Self { sender, receiver, path, noted: 0 }
    }

    /// The sender opens the connection.
    pub(crate) fn open(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        let (sender, out) = with_tx!(self, tx);
        sender.open(now, out);
    }

    /// The application writes `bytes` bytes more.
    pub(crate) fn supply(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        let now = tx.now();
        let (sender, out) = with_tx!(self, tx);
        sender.supply(now, bytes, out);
    }

    /// The application has data without end from now on.
    pub(crate) fn supply_endlessly(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        let (sender, out) = with_tx!(self, tx);
        sender.supply_endlessly(now, out);
    }

    /// A packet of this half has reached its host.
    #[inline]
    pub(crate) fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let now = tx.now();
        match &packet.body {
            Body::Data(data) => {
                if let Some(ack) = self.receiver.on_data(now, data, packet.ecn_field()) {
                    let field = self.receiver.ack_field();
                    if let Some(earlier) = self.receiver.take_earlier() {
                        self.answer(tx, Body::Ack(earlier), field);
                    }
                    tx.send_here(self.path.packet(self.path.routes.1, field, Body::Ack(ack)));
                }
            }
            Body::Ack(ack) => {
                let (sender, out) = with_tx!(self, tx);
                sender.on_ack(now, ack, out);
            }
            Body::Syn(syn) => {
                let answer = self.receiver.on_syn(now, syn, packet.ecn_field());
                self.answer(tx, Body::SynAck(answer), Ecn::NotEct);
            }
            Body::SynAck(answer) => {
                let (sender, out) = with_tx!(self, tx);
                sender.on_syn_ack(now, answer, out);
            }
            Body::Echo { .. }
            | Body::Datagram { .. }
            | Body::Report { .. }
            | Body::Frame { .. } => {}
        }
    }

    /// The receiver sends.
    fn answer(&self, tx: &mut HostTx<'_>, body: Body, ecn: Ecn) {
        tx.send(self.path.packet(self.path.routes.1, ecn, body));
    }

    /// Adds the sender's newest RTT sample to the records, once.
    #[inline]
    pub(crate) fn note_rtt(&mut self, tx: &mut HostTx<'_>) {
        let rtt = &self.sender.tcb().view.rtt;
        if rtt.samples() != self.noted {
            self.noted = rtt.samples();
            tx.note_delay(Span::from_micros(u64::from(rtt.latest_us())));
        }
    }

    /// The device of the sender's host is done with packets that count `bytes` on its account.
    pub(crate) fn tx_completion(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        let now = tx.now();
        let (sender, out) = with_tx!(self, tx);
        sender.on_tx_completed(now, bytes, out);
    }

    /// When [`TcpHalf::on_timer`] is to be called.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        self.sender.next_timer().min(self.receiver.next_timer())
    }

    /// Timers that are due: the delayed acknowledgement, then the sender's.
    pub(crate) fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        if self.receiver.next_timer() <= now
            && let Some(ack) = self.receiver.on_timer(now)
        {
            self.answer(tx, Body::Ack(ack), self.receiver.ack_field());
        }
        if self.sender.next_timer() <= now {
            let (sender, out) = with_tx!(self, tx);
            sender.on_timer(now, out);
        }
    }

    /// Its row at the end of a step.
    pub(crate) fn record(&self) -> FlowSample {
        let (sender, counters) = (&self.sender, self.sender.counters());
        let (view, control) = (&sender.tcb().view, &sender.tcb().control);
        let sampled = view.rtt.samples() > 0;
        let seconds = |us: u32| if sampled { f64::from(us) / 1e6 } else { f64::NAN };
        FlowSample {
            delivery_rate_bps: view.delivery_rate() as f64 * 8.0,
            rtt_s: seconds(view.rtt.latest_us()),
            srtt_s: seconds(view.rtt.srtt_us()),
            rttvar_s: seconds(view.rtt.mdev_us()),
            cwnd: u64::from(control.cwnd),
            ssthresh: u64::from(control.ssthresh),
            in_flight: u64::from(view.in_flight()),
            retransmits: counters.retransmits,
            lost: u64::from(view.lost),
            delivered: u64::from(view.delivered),
            ce: self.receiver.ce_packets(),
            ece: counters.ece_acks,
            pacing_bps: if control.paced {
                sender.effective_pacing_rate() as f64 * 8.0
            } else {
                f64::NAN
            },
            state: state_of(view.ca_state),
            out_of_order_bytes: self.receiver.out_of_order_bytes(),
        }
    }
}

/// The state of recovery, for the recorder.
const fn state_of(state: CaState) -> RecoveryState {
    match state {
        CaState::Open => RecoveryState::Open,
        CaState::Disorder => RecoveryState::Disorder,
        CaState::Cwr => RecoveryState::Cwr,
        CaState::Recovery => RecoveryState::Recovery,
        CaState::Loss => RecoveryState::Loss,
    }
}
