//! The sending half of a Linux TCP connection, without I/O: it is told of ACKs and of timers that are due, and
//! says what it sends and when it wants to be woken.
//!
//! The order of work for one ACK is the kernel's (`tcp_ack` in `net/ipv4/tcp_input.c`): SACK tags, cumulative
//! acknowledgement with RTT samples, tail-loss probe, state machine, timer, rate sample, congestion control,
//! retransmissions, new data.
//!
//! Not modelled: socket memory on the sending side but where it matters (`send_buffer`), small queues (TSQ) where nothing
//! waits in the host, Nagle, window probes, urgent data, FIN, SACK reneging; nor that a window that was not used for a
//! timeout shrinks (`tcp_cwnd_application_limited`): every ACK that lets the window grow starts that time anew, so it
//! passes only where the restart after idleness, which is modelled, has struck already.

mod ack;
mod application;
mod recovery;
mod scoreboard;
mod send_buffer;
mod small_queue;
mod timers;
mod tso;

#[cfg(test)]
mod tests;

use crate::cc::{self, CongestionControl, Event};
use crate::cc::{Control, View};
use crate::ecn::{self, Agreed, EcnFeedback, EctPolicy};
use crate::rate_sample::RateEstimator;
use crate::segment::{Data, Handshake, Output, Seq, before, clock_ms};
use crate::stack::{PrrBound, TcpQuirks, TsoBursts};
use crate::tcb::Tcb;
use scoreboard::{Scoreboard, Undo};
use send_buffer::SendBuffer;
pub use small_queue::OwnDevice;
use small_queue::SmallQueue;
use sojourn_units::{CoarseClock, Ecn, Rate, Span, Time};
use timers::Timer;
use tso::{Admitted, Next};

/// How a flow differs from its stack's default.
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
    pub pacing_cap: Option<Rate>,
    /// Whether the host paces the flow (a host `fq`).
    pub paced: bool,
    /// The device of the sender's own host, if that is what its packets wait for.
    pub device: Option<OwnDevice>,
    /// Initial window in segments, if not the stack's.
    pub initial_window: Option<u32>,
    /// Payload bytes to send; `None` sends until stopped.
    pub bytes: Option<u64>,
    /// Added to the timestamp clock, milliseconds.
    pub clock_offset_ms: u32,
}

/// Life of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Closed,
    SynSent,
    Established,
}

/// Counters for the records, all since the beginning.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail-loss probes.
    pub probes: u64,
    /// ACKs that told of marks.
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
#[derive(Clone, Debug)]
pub struct Sender {
    tcb: Tcb,
    cc: cc::AnyCongestionControl,
    board: Scoreboard,
    estimator: RateEstimator,
    phase: Phase,
    prr_bound: PrrBound,
    /// See [`TcpQuirks::timer_slack`].
    timer_slack: Span,
    dsack_needs_reordering: bool,
    syn_linear_timeouts: u32,
    ack_event_counts_its_ack: bool,
    remembers_cwnd_limited: bool,
    initial_window: u32,
    ecn_asked: ecn::Request,
    ect: EctPolicy,
    feedback: EcnFeedback,
    ignores_ce: bool,
    /// Whether the host's own queue does the pacing.
    host_paces: bool,
    /// Recovery point: `nxt` when the reduction began (`high_seq`).
    high_seq: Seq,
    undo: Undo,
    /// Threshold before the reduction, if it may be taken back (`prior_ssthresh`).
    prior_ssthresh: u32,
    prr_delivered: u32,
    prr_out: u32,
    /// Timestamp clock at the first retransmission of the episode (`retrans_stamp`).
    retrans_stamp: Option<u32>,
    /// Tail-loss probe: `nxt` when it was sent, and whether it repeated old data.
    tlp: Option<(Seq, bool)>,
    /// F-RTO is deciding (RFC 5682).
    frto: bool,
    /// Timeouts since the last progress.
    retransmits: u32,
    reo_wnd_steps: u32,
    reo_wnd_persist: u32,
    dsack_seen: bool,
    dsack_last_delivered: u32,
    /// Where the flight that `max_packets_out` describes ends.
    usage_end: Seq,
    /// One past the last segment that may be sent: the application's data.
    data_end: Seq,
    /// Whether there is no end of it.
    endless: bool,
    /// Payload of the last segment that is not sent yet; full if there is none.
    last_len: u32,
    /// One past the last segment that the peer's window admits.
    window_end: Seq,
    window: u32,
    timer: Option<Timer>,
    tso_bursts: TsoBursts,
    small_queue: Option<SmallQueue>,
    small_queue_passes_single: bool,
    send_buffer: Option<SendBuffer>,
    /// See [`TcpQuirks::notes_limit_unsent`].
    notes_limit_unsent: bool,
    /// Unsent segments of the buffer that is sent from, at least one.
    buffer_left: u32,
    /// Not before this may the next segment leave.
    pace_until: Time,
    /// Whether only pacing kept the last attempt from sending.
    pace_blocked: bool,
    last_sent: Time,
    syn_sent: Time,
    /// The timestamp of the first SYN.
    syn_clock: u32,
    syn_retries: u32,
    clock: CoarseClock,
    clock_offset_ms: u32,
    /// The peer's clock as it last told it.
    peer_clock: u32,
    counters: Counters,
}

impl Sender {
    /// A closed connection of this stack with this congestion control.
    pub fn new(config: &Config, quirks: &TcpQuirks, cc: cc::AnyCongestionControl) -> Self {
        let mss = config.mss;
        let (data_end, last_len) = match config.bytes {
            None => (Seq::MAX / 2, mss),
            Some(bytes) => {
                let segments = bytes.div_ceil(u64::from(mss));
                let last = bytes - segments.saturating_sub(1) * u64::from(mss);
                (segments.min(u64::from(Seq::MAX / 2)) as Seq, last as u32)
            }
        };
        let mut view = View::new(mss, config.headers, quirks.hz);
        view.pacing_cap = config.pacing_cap.map(Rate::bytes_per_sec);
        view.pacing_shift = config.device.unwrap_or(OwnDevice::WIRED).pacing_shift;
        let mut control = Control::new(10, mss);
        control.paced = config.paced || config.pacing_cap.is_some();
        let tcb = Tcb { view, control };
        let small_queue = SmallQueue::new(config.device, quirks.small_queue_wakes);
        let ect = EctPolicy::new(&cc.ecn(), config.codepoint);
        let clock = CoarseClock::new(quirks.hz);
        Self {
            tcb,
            cc,
            board: Scoreboard::new(),
            estimator: RateEstimator::new(quirks),
            phase: Phase::Closed,
            prr_bound: quirks.prr,
            timer_slack: quirks.timer_slack.unwrap_or(clock.tick() * 2),
            dsack_needs_reordering: quirks.dsack_needs_reordering,
            syn_linear_timeouts: quirks.syn_linear_timeouts,
            ack_event_counts_its_ack: quirks.ack_event_counts_its_ack,
            clock,
            remembers_cwnd_limited: quirks.remembers_cwnd_limited,
            initial_window: config.initial_window.unwrap_or(quirks.initial_window),
            ecn_asked: config.ecn,
            ect,
            feedback: EcnFeedback::new(quirks.ace_takes_least),
            ignores_ce: config.ignores_ce,
            host_paces: config.paced,
            high_seq: 0,
            undo: Undo { marker: None, retransmissions: -1, resent: 0, duplicates: 0 },
            prior_ssthresh: 0,
            prr_delivered: 0,
            prr_out: 0,
            retrans_stamp: None,
            tlp: None,
            frto: false,
            retransmits: 0,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            dsack_seen: false,
            dsack_last_delivered: 0,
            usage_end: 0,
            data_end,
            endless: config.bytes.is_none(),
            last_len,
            window_end: 0,
            window: 0,
            timer: None,
            tso_bursts: quirks.tso_bursts,
            small_queue_passes_single: quirks.small_queue_passes_single,
            send_buffer: small_queue
                .as_ref()
                .is_some_and(SmallQueue::is_unwoken)
                .then(SendBuffer::default),
            small_queue,
            notes_limit_unsent: quirks.notes_limit_unsent,
            buffer_left: tso::buffer_size(mss),
            pace_until: Time::ZERO,
            pace_blocked: false,
            last_sent: Time::ZERO,
            syn_sent: Time::ZERO,
            syn_clock: 0,
            syn_retries: 0,
            clock_offset_ms: config.clock_offset_ms,
            peer_clock: 0,
            counters: Counters::default(),
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
        self.phase == Phase::Established
    }

    /// What was agreed about ECN.
    pub fn ecn_agreed(&self) -> Agreed {
        self.tcb.view.ecn
    }

    /// Whether all data has been sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Established && self.tcb.view.una == self.data_end
    }

    /// The control's own numbers.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.gauges(&self.tcb.view, &self.tcb.control, out);
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        debug_assert_eq!(self.phase, Phase::Closed);
        self.tcb.view.now = now;
        self.phase = Phase::SynSent;
        self.syn_clock = self.clock_ms();
        self.send_syn(out);
    }

    /// The application has no more data than what has been sent.
    pub fn stop(&mut self, now: Time) {
        self.tcb.view.now = now;
        self.discard_unsent();
    }

    fn send_syn(&mut self, out: &mut impl Output) {
        self.syn_sent = self.tcb.view.now;
        let repeated = self.syn_retries > 0;
        let flags = ecn::ask(self.ecn_asked, repeated);
        let field = if repeated { Ecn::NotEct } else { self.ect.syn(self.ecn_asked) };
        let syn = Handshake { ecn: flags, tsval: self.clock_ms(), tsecr: 0, window: 65_535 };
        out.syn(syn, field);
        self.arm(timers::Kind::Syn, self.tcb.view.rtt.rto());
    }

    /// The peer has answered. The ACK that completes the handshake travels with the first data.
    pub fn on_syn_ack(&mut self, now: Time, answer: &Handshake, out: &mut impl Output) {
        if self.phase != Phase::SynSent {
            return;
        }
        self.tcb.view.now = now;
        self.timer = None;
        self.phase = Phase::Established;
        // An answer that agrees is to the first SYN, also when a repeated one without ECN had left already.
        self.tcb.view.ecn = ecn::conclude(self.ecn_asked, answer.ecn);
        self.peer_clock = answer.tsval;
        self.take_window(answer.window);
        let rtt = if self.syn_retries == 0 {
            crate::rate_sample::micros_between(now, self.syn_sent)
        } else {
            // Which SYN was answered is known from the echo alone (RFC 7323 §4).
            self.rtt_by_echo(answer.tsecr)
        };
        self.tcb.view.rtt.sample(now, rtt, rtt, 0, 0);
        // RFC 5681 §3.1 and RFC 6298 §5.7 leave a window of one segment after a SYN was lost. Linux does so only
        // from the second loss on, and not if it was the first SYN that was answered (`tcp_init_transfer`).
        let lost = self.syn_retries > 1 && answer.tsecr != self.syn_clock;
        self.begin(if lost { 1 } else { self.initial_window });
        if self.send_buffer.is_some() {
            self.let_application_begin(out);
        } else {
            self.write(Push::Normal, out);
        }
    }

    /// The connection is established and begins with this window.
    fn begin(&mut self, cwnd: u32) {
        self.tcb.control.cwnd = cwnd;
        self.last_sent = self.tcb.view.now;
        self.tcb.control.update_pacing_rate(&self.tcb.view);
        self.cc.init(&self.tcb.view, &mut self.tcb.control);
    }

    fn clock_ms(&self) -> u32 {
        clock_ms(self.tcb.view.now, self.clock_offset_ms)
    }

    /// The round trip that an echo of our clock tells, microseconds, at least a millisecond (`tcp_rtt_tsopt_us`).
    fn rtt_by_echo(&self, tsecr: u32) -> u32 {
        self.clock_ms().wrapping_sub(tsecr).max(1).saturating_mul(1_000)
    }

    /// The peer's window is counted from what is acknowledged: what is out takes its bytes of it.
    fn take_window(&mut self, window: u32) {
        self.window = window;
        if let Some(buffer) = &mut self.send_buffer {
            buffer.offered(window);
        }
        let left = u64::from(window).saturating_sub(self.board.bytes());
        self.window_end = self.tcb.view.nxt.wrapping_add(left as u32 / self.tcb.view.mss);
    }

    /// Payload of the next new segment.
    fn next_len(&self) -> u16 {
        let is_last = self.tcb.view.nxt.wrapping_add(1) == self.data_end;
        (if is_last { self.last_len } else { self.tcb.view.mss }) as u16
    }

    /// Payload that waits to be sent.
    fn unsent_bytes(&self) -> u64 {
        match self.data_end.wrapping_sub(self.tcb.view.nxt) {
            0 => 0,
            n => u64::from(n - 1) * u64::from(self.tcb.view.mss) + u64::from(self.last_len),
        }
    }

    /// Takes up what a control asks for beside windows and rates, at the end of an ACK's work.
    #[inline]
    fn follow_control(&mut self) {
        self.tcb.note_app_limited();
        if self.tcb.control.mss != self.tcb.view.mss {
            self.cut_anew();
        }
    }

    /// The control has given segments another size (`tcp_sync_mss`): what has not left is cut anew.
    #[cold]
    fn cut_anew(&mut self) {
        let (mss, counted, bytes) = (self.tcb.control.mss, self.tcb.view.mss, self.unsent_bytes());
        self.buffer_left = (self.buffer_left * counted / mss).max(1);
        self.tcb.view.mss = mss;
        self.last_len = mss;
        if !self.endless && bytes > 0 {
            let segments = bytes.div_ceil(u64::from(mss)).min(u64::from(Seq::MAX / 2));
            self.data_end = self.tcb.view.nxt.wrapping_add(segments as Seq);
            self.last_len = (bytes - (segments - 1) * u64::from(mss)) as u32;
        }
        if let Some(buffer) = &mut self.send_buffer {
            buffer.cut_anew(self.tcb.view.nxt, mss, self.data_end);
        }
        self.take_window(self.window);
    }

    /// Sends new data as far as windows, pacing and the application allow (`tcp_write_xmit`). Returns how many
    /// segments left.
    fn write(&mut self, push: Push, out: &mut impl Output) -> u32 {
        let mut sent = 0;
        let mut limited_by_cwnd = false;
        if self.tcb.view.packets_out == 0 && self.is_ready() {
            self.restart_after_idle();
        }
        let goal = self.tso_segs_goal();
        while self.is_ready() {
            if self.tcb.control.paced && self.tcb.view.now < self.pace_until {
                self.pace_blocked = true;
                break;
            }
            let room = self.tcb.control.cwnd.saturating_sub(self.tcb.view.in_flight());
            if push != Push::Normal && sent > 0 {
                break;
            }
            if push != Push::Probe && room == 0 {
                limited_by_cwnd = true;
                break;
            }
            if !before(self.tcb.view.nxt, self.window_end) {
                break;
            }
            // At least two bursts are kept in flight, so none is larger than half of the window. A probe is sent
            // whatever the window says.
            let half = (self.tcb.control.cwnd >> 1).max(1);
            let admitted = Admitted {
                room,
                window: self.window_end.wrapping_sub(self.tcb.view.nxt),
                quota: room.min(half).max(1).min(goal),
                unsent: self.ready_end().wrapping_sub(self.tcb.view.nxt),
            };
            self.look_at_buffer();
            match self.next_burst(goal, push == Push::Normal, admitted) {
                Next::Send(burst) => {
                    self.cut_from_buffer(burst);
                    if self.small_queue_holds(burst, 1) {
                        break;
                    }
                    self.send_burst(burst, out);
                    sent += burst;
                }
                Next::Wait { limited_by_cwnd: limited } => {
                    limited_by_cwnd |= limited;
                    break;
                }
            }
        }
        if sent > 0 {
            if self.tcb.view.in_reduction() {
                self.prr_out += sent;
            }
            if push != Push::Probe {
                self.schedule_probe(false);
            }
        }
        limited_by_cwnd |= self.tcb.view.in_flight() >= self.tcb.control.cwnd;
        if sent > 0 || (limited_by_cwnd && self.notes_limit_unsent) {
            self.validate_cwnd(limited_by_cwnd);
        }
        sent
    }

    /// New segments leave together.
    fn send_burst(&mut self, burst: u32, out: &mut impl Output) {
        let (first, mut bytes) = (self.tcb.view.nxt, 0);
        for left in (0..burst).rev() {
            let push =
                (left == 0 && burst > 1) || self.tcb.view.nxt.wrapping_add(1) == self.data_end;
            bytes += self.send_new(push, burst > 1, out);
        }
        self.take_from_buffer(burst);
        self.fill_small_queue(Some(first), burst, bytes);
        self.pace(bytes);
    }

    /// A new segment leaves; returns its payload.
    #[inline]
    fn send_new(&mut self, push: bool, gso_segment: bool, out: &mut impl Output) -> u32 {
        let seq = self.tcb.view.nxt;
        let idle = self.tcb.view.packets_out == 0;
        self.note_start();
        let cwr = self.feedback.take_cwr();
        let data = Data {
            seq,
            len: self.next_len(),
            cwr,
            push,
            retransmission: false,
            gso_segment,
            tsval: self.clock_ms(),
            tsecr: self.peer_clock,
        };
        let state = self.estimator.on_sent(&mut self.tcb.view);
        self.board.push(&mut self.tcb.view, state, data.len);
        let probing = matches!(self.timer, Some(Timer { kind: timers::Kind::Probe, .. }));
        if idle || probing {
            self.rearm_rto();
        }
        self.counters.sent += 1;
        self.last_sent = self.tcb.view.now;
        out.data(data, self.ect.data(self.tcb.view.ecn));
        u32::from(data.len)
    }

    /// A lost segment is repaired (`tcp_retransmit_skb`).
    fn send_again(&mut self, seq: Seq, out: &mut impl Output) {
        let clock = self.clock_ms();
        self.repeat(seq, true, out);
        self.fill_small_queue(None, 1, u32::from(self.board.len(seq)));
        self.retrans_stamp.get_or_insert(clock);
        self.undo.retransmissions = self.undo.retransmissions.max(0) + 1;
    }

    /// An old segment leaves again (`__tcp_retransmit_skb`).
    fn repeat(&mut self, seq: Seq, counted: bool, out: &mut impl Output) {
        self.note_start();
        let data = Data {
            seq,
            len: self.board.len(seq),
            cwr: false,
            push: false,
            retransmission: true,
            gso_segment: false,
            tsval: self.clock_ms(),
            tsecr: self.peer_clock,
        };
        let state = self.estimator.on_sent(&mut self.tcb.view);
        self.board.mark_resent(&mut self.tcb.view, seq, state, counted);
        self.undo.resent += 1;
        self.counters.sent += 1;
        self.counters.retransmits += 1;
        self.last_sent = self.tcb.view.now;
        self.pace(u32::from(data.len));
        out.data(data, self.ect.other(self.tcb.view.ecn));
    }

    /// Notes when more may leave after a segment or burst of this payload, if the flow is paced
    /// (`tcp_update_skb_after_send`). From the fifth kernel series on it is payload that is paced: headers come later.
    #[inline]
    fn pace(&mut self, bytes: u32) {
        if !self.tcb.control.paced {
            return;
        }
        let might_have = self.pace_until;
        self.pace_until = might_have.max(self.tcb.view.now);
        let rate = self.effective_pacing_rate();
        if rate == 0 || self.counters.sent < 10 {
            return;
        }
        let nanos = u64::from(bytes) * 1_000_000_000 / rate;
        // What leaves later than it might have shortens the next gap, by half at most.
        let late = self.pace_until.since(might_have).as_nanos();
        self.pace_until += Span::from_nanos(nanos - late.min(nanos / 2));
    }

    /// The rate that payload is paced at, bytes per second.
    pub fn effective_pacing_rate(&self) -> u64 {
        self.tcb.control.effective_pacing_rate(&self.tcb.view)
    }

    /// Keeps the record of what limited the flight (`tcp_cwnd_validate`).
    fn validate_cwnd(&mut self, limited: bool) {
        let t = &mut self.tcb;
        let new_flight = !before(t.view.una, self.usage_end);
        let fuller = t.view.packets_out > t.view.max_packets_out;
        let take = if self.remembers_cwnd_limited {
            new_flight || limited || (!t.view.cwnd_limited && fuller)
        } else {
            new_flight || fuller
        };
        if take {
            t.view.max_packets_out = t.view.packets_out;
            self.usage_end = t.view.nxt;
            t.view.cwnd_limited = limited;
        }
    }

    /// Tells the control when something leaves while nothing is in flight (`tcp_event_data_sent`).
    #[inline]
    fn note_start(&mut self) {
        if self.tcb.view.in_flight() == 0 {
            let since = self.tcb.view.jiffies_at(self.last_sent);
            let idle_jiffies = self.tcb.view.jiffies().wrapping_sub(since);
            self.cc.event(&self.tcb.view, &mut self.tcb.control, Event::TxStart { idle_jiffies });
        }
    }

    /// After a pause the window is no longer known to be right: it halves for every timeout of idleness, down to
    /// the initial window (RFC 2861; `tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`). A control that owns its
    /// window knows better.
    fn restart_after_idle(&mut self) {
        if self.cc.has_cong_control() {
            return;
        }
        let idle = self.tcb.view.now.since(self.last_sent);
        let rto = self.tcb.view.rtt.rto();
        if idle <= rto {
            return;
        }
        let floor = self.initial_window.min(self.tcb.control.cwnd);
        self.tcb.control.ssthresh = self.current_ssthresh();
        let mut cwnd = self.tcb.control.cwnd;
        let mut left = idle;
        while left > rto && cwnd > floor {
            left = left.saturating_sub(rto);
            cwnd >>= 1;
        }
        self.tcb.control.cwnd = cwnd.max(floor);
    }

    /// The threshold that a window of now stands for (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u32 {
        let t = &self.tcb;
        if t.view.in_reduction() {
            t.control.ssthresh
        } else {
            t.control.ssthresh.max((t.control.cwnd >> 1) + (t.control.cwnd >> 2))
        }
    }
}

/// Why data is being pushed out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Push {
    Normal,
    /// One burst.
    One,
    /// A tail-loss probe: one segment whatever the window says.
    Probe,
}
