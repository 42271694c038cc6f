//! The sending half of a Linux TCP connection, without I/O: it receives ACKs and timers that are due, and
//! says what it sends and when it wants to be woken.
//!
//! The order of work for one ACK is the kernel's (`tcp_ack` in `net/ipv4/tcp_input.c`): SACK tags, cumulative
//! acknowledgement with RTT samples, tail-loss probe, state machine, timer, rate sample, congestion control,
//! retransmissions, new data.
//!
//! Not modelled: socket memory on the sending side but where it matters (`send_buffer`), small queues (TSQ) where nothing
//! waits in the host, Nagle, window probes, urgent data, FIN, SACK reneging; nor that a window that was not used for a
//! timeout shrinks (`tcp_cwnd_application_limited`): every ACK that lets the window grow starts that time again, so it
//! passes only where the restart after idleness, which is modelled, has struck already.

// What a sender consists of: each file owns its state and knows nothing of the sender.
mod account;
mod data;
mod flags;
mod limits;
mod pacing;
mod phase;
mod rate;
mod reduction;
mod scoreboard;
mod send_buffer;
mod timer;

// What a sender does.
mod ack;
mod application;
mod handshake;
mod limited_increase;
mod limiting;
mod output;
mod recovery;
mod small_queue;
mod timers;
mod tso;
mod writing;

#[cfg(test)]
mod tests;

use crate::cc::{AnyCongestionControl, CongestionControl, Control, View};
use crate::ecn::{self, Agreed, EcnFeedback, EctPolicy};
use crate::segment::{HEADERS, Seq, clock_ms};
use crate::stack::TcpQuirks;
use crate::tcb::Tcb;
pub use account::HostNic;
use account::SmallQueue;
use data::AppData;
use limited_increase::LimitedIncrease;
pub use limits::LimitedTimes;
use limits::Limits;
use pacing::Pacing;
use phase::HandshakeState;
use rate::RateEstimator;
use reduction::Recovery;
use scoreboard::Scoreboard;
use send_buffer::with_send_buffer;
use sojourn_units::{Ecn, Rate, Time};
use std::sync::Arc;
use timer::Timers;

/// Largest IP packet of an Ethernet.
const ETHERNET_MTU: u32 = 1500;

/// How a flow differs from its stack's default: `Config { bytes: Some(100_000), ..Config::default() }`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes of IP and TCP headers before them.
    pub headers: u32,
    /// What to ask for about ECN; the congestion control's needs do not count here.
    pub ecn: ecn::Request,
    /// Codepoint of its packets, if not the congestion control's own.
    pub codepoint: Option<Ecn>,
    /// Whether it takes no notice of marks: the feedback is given, and ignored.
    pub ignores_ce: bool,
    /// Highest rate of payload at which the flow is paced (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Option<Rate>,
    /// Whether the host paces the flow (a host `fq`).
    pub paced: bool,
    /// The device of the sender's own host, if its packets wait for that.
    pub device: Option<HostNic>,
    /// Whether a window that is not filled grows by draft-ietf-ccwg-ratelimited-increase-10 instead of Linux's rule.
    pub rate_limited_increase: bool,
    /// Initial window in segments, if not the stack's.
    pub initial_window: Option<u32>,
    /// The send buffer as `SO_SNDBUF` takes it, bytes, if it is not to grow with the window: the kernel takes twice as much.
    pub send_buffer: Option<u32>,
    /// Payload bytes to send; `None` sends until stopped.
    pub bytes: Option<u64>,
    /// Added to the timestamp clock, milliseconds.
    pub clock_offset_ms: u32,
}

impl Default for Config {
    /// Full Ethernet frames over IPv4 with timestamps; ECN is not asked for; data without end.
    fn default() -> Self {
        Self {
            mss: ETHERNET_MTU - HEADERS,
            headers: HEADERS,
            ecn: ecn::Request::Off,
            codepoint: None,
            ignores_ce: false,
            max_pacing_rate: None,
            paced: false,
            device: None,
            rate_limited_increase: false,
            initial_window: None,
            send_buffer: None,
            bytes: None,
            clock_offset_ms: 0,
        }
    }
}

/// Counters for the records, all since the beginning.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail-loss probes.
    pub probes: u64,
    /// ACKs that reported marks.
    pub ece_acks: u64,
    /// ACKs that echoed SCE.
    pub esce_acks: u64,
    /// Reductions for marks.
    pub ece_reductions: u64,
    /// Times that fast recovery began.
    pub recoveries: u64,
    /// Reductions taken back.
    pub undos: u64,
}

/// A TCP sender.
///
/// Each part owns its state. The fields that every ACK and every segment touches come first, in this order.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    tcb: Tcb,
    board: Scoreboard,
    recovery: Recovery,
    rate: RateEstimator,
    timers: Timers,
    pacing: Pacing,
    peer: Peer,
    data: AppData,
    ecn: EcnPart,
    /// When something last left (`lsndtime`).
    last_sent: Time,
    /// Where the flight that `max_packets_out` describes ends (`cwnd_usage_seq`).
    usage_end: Seq,
    /// Added to the timestamp clock, milliseconds.
    clock_offset_ms: u32,
    /// The stack's, which all its senders share.
    quirks: Arc<TcpQuirks>,
    limits: Limits,
    counters: Counters,
    tsq: Option<SmallQueue>,
    /// The bound on growth, where it is the draft's and not Linux's.
    limited_increase: Option<LimitedIncrease>,
    /// The control's own statements when the connection began.
    has_cong_control: bool,
    cc: AnyCongestionControl,
    handshake: HandshakeState,
}

/// The peer's options.
#[derive(Clone, Debug, Default)]
struct Peer {
    /// Its receive window, bytes from what it acknowledges on.
    window: u32,
    /// One past the last segment that this admits.
    window_end: Seq,
    /// Its timestamp clock in its last segment.
    clock: u32,
}

/// The sender's half of ECN.
#[derive(Clone, Debug)]
struct EcnPart {
    asked: ecn::Request,
    /// Which packets are ECN-capable.
    ect: EctPolicy,
    /// What ACKs say of marks.
    feedback: EcnFeedback,
    /// Whether nobody listens to it.
    ignores_ce: bool,
}

impl Sender {
    /// A closed connection of the stack that has these quirks, with this congestion control.
    pub fn new(
        config: &Config,
        quirks: impl Into<Arc<TcpQuirks>>,
        cc: AnyCongestionControl,
    ) -> Self {
        let quirks = match config.send_buffer {
            None => quirks.into(),
            Some(asked) => Arc::new(with_send_buffer(&quirks.into(), asked)),
        };
        let mss = config.mss;
        let mut view = View::new(mss, config.headers, quirks.hz);
        view.max_pacing_rate = config.max_pacing_rate.map(Rate::bytes_per_sec);
        view.pacing_shift = config.device.unwrap_or(HostNic::WIRED).pacing_shift;
        let mut control = Control::new(10, mss);
        control.paced = config.paced || config.max_pacing_rate.is_some();
        let tsq = SmallQueue::new(config.device, quirks.small_queue_wakes);
        let is_unwoken = tsq.as_ref().is_some_and(SmallQueue::is_unwoken);
        let mut data = AppData::new(config.bytes, mss, &quirks, is_unwoken);
        data.is_fixed = config.send_buffer.is_some();
        Self {
            tcb: Tcb { view, control },
            board: Scoreboard::new(),
            recovery: Recovery::new(),
            rate: RateEstimator::new(&quirks),
            timers: Timers::new(&quirks),
            pacing: Pacing::new(config.paced),
            peer: Peer::default(),
            data,
            ecn: EcnPart {
                asked: config.ecn,
                ect: EctPolicy::new(&cc.ecn(), config.codepoint),
                feedback: EcnFeedback::new(quirks.ace_takes_least),
                ignores_ce: config.ignores_ce,
            },
            last_sent: Time::ZERO,
            usage_end: 0,
            clock_offset_ms: config.clock_offset_ms,
            handshake: HandshakeState::new(config.initial_window.unwrap_or(quirks.initial_window)),
            quirks,
            limits: Limits::new(),
            counters: Counters::default(),
            tsq,
            limited_increase: config.rate_limited_increase.then(LimitedIncrease::new),
            has_cong_control: false,
            cc,
        }
    }

    /// The connection as the congestion control sees it.
    pub fn tcb(&self) -> &Tcb {
        &self.tcb
    }

    /// Counters for the records.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether the handshake is done.
    pub fn is_established(&self) -> bool {
        self.handshake.is_done()
    }

    /// What was agreed about ECN.
    pub fn ecn_agreed(&self) -> Agreed {
        self.tcb.view.ecn
    }

    /// Whether all data has been sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.handshake.is_done() && self.tcb.view.una == self.data.end
    }

    /// The control's own numbers.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.gauges(&self.tcb.view, &self.tcb.control, out);
    }

    /// The application has no more data than what has been sent.
    pub fn stop(&mut self, now: Time) {
        self.tcb.view.now = now;
        self.discard_unsent();
    }

    fn clock_ms(&self) -> u32 {
        clock_ms(self.tcb.view.now, self.clock_offset_ms)
    }

    /// The round trip that an echo of our clock tells, microseconds, at least a millisecond (`tcp_rtt_tsopt_us`).
    fn rtt_by_echo(&self, tsecr: u32) -> u32 {
        self.clock_ms().wrapping_sub(tsecr).max(1).saturating_mul(1_000)
    }

    /// The peer's window counts from the acknowledged data on: data in flight takes its bytes of it.
    fn take_window(&mut self, window: u32) {
        self.peer.window = window;
        if let Some(buffer) = &mut self.data.send_buffer {
            buffer.offered(window);
        }
        let left = u64::from(window).saturating_sub(self.board.bytes());
        self.peer.window_end = self.tcb.view.nxt.wrapping_add(left as u32 / self.tcb.view.mss);
    }

    /// Takes up a control's requests besides windows and rates, at the end of an ACK's work.
    #[inline]
    fn follow_control(&mut self) {
        self.tcb.note_app_limited();
        if self.tcb.control.mss != self.tcb.view.mss {
            self.cut_again();
        }
    }

    /// The rate that payload is paced at, bytes per second.
    pub fn effective_pacing_rate(&self) -> u64 {
        self.tcb.control.effective_pacing_rate(&self.tcb.view)
    }
}
