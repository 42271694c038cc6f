//! ACK sequences worked out by hand. A [`Script`] plays the network: it says when which ACK comes, in a line, and
//! gives back what left, in a line.
//!
//! The round trip is 20 ms, the SYN leaves at 0, so the first window leaves at 20 ms and its first ACK comes at
//! 40 ms. Unless a test says otherwise the stack is recent, the control Reno (half the window is easy to compute
//! with), the window ten segments and the tick a millisecond; timers fire a step behind (`CoarseClock`): of 1 ms up to 62 ms ahead, of 8
//! up to 503, of 64 beyond. Segments leave one by one, at once, as they did up to
//! Linux 4.16; what bursts are and when they wait has tests of its own, at the end.

use super::*;
use crate::cc::{CaState, INFINITE_SSTHRESH, Registry};
use crate::ecn::{self, Agreed, Flags};
use crate::segment::{Ack, Block, Data, HEADERS, Handshake, Output, before};
use crate::stack::examples::{LINUX_5_4, LINUX_5_10, LINUX_7_3};
use crate::stack::{TcpQuirks, TsoBursts};
use sojourn_units::Span;

mod controls;
mod limits;

const MSS: u32 = 1448;
const RTT_MS: u64 = 20;

impl Sender {
    /// What must hold after every event.
    pub(crate) fn check(&self) {
        let t = &self.tcb;
        let counted = self.board.recount();
        assert_eq!(
            (t.view.packets_out, t.view.sacked_out, t.view.lost_out, t.view.retrans_out),
            (counted.packets, counted.sacked, counted.lost, counted.retransmitted),
            "counts differ from the tags {}",
            self.board.picture()
        );
        assert_eq!(counted.sacked_and_lost, 0, "SACKed and lost: {}", self.board.picture());
        assert!(
            t.view.sacked_out + t.view.lost_out <= t.view.packets_out + t.view.retrans_out,
            "in flight underflows"
        );
        assert_eq!(t.view.nxt.wrapping_sub(t.view.una), t.view.packets_out);
        assert!(
            !before(self.peer.window_end, t.view.nxt),
            "{} beyond the window {}",
            t.view.nxt,
            self.peer.window_end
        );
        assert!(
            !before(self.data.end, t.view.nxt),
            "{} beyond the data {}",
            t.view.nxt,
            self.data.end
        );
        // PRR and the timeout go down to what is in flight and one; nothing else goes below two (`ssthresh`), but
        // what a lost SYN or a timeout has left may still be there.
        assert!(t.control.cwnd >= 1 && t.control.cwnd < 1 << 24, "window {}", t.control.cwnd);
        // Two for all but the senders of SCE, where a window of two has a threshold of one.
        assert!(t.control.ssthresh >= 1);
        assert!(t.view.packets_out == 0 || self.timers.next.is_some(), "data out and no timer");
    }
}

/// What left: new segments as numbers and ranges, retransmissions as `r3`; `!` says CWR.
#[derive(Default)]
struct Wire {
    syns: Vec<Handshake>,
    sent: Vec<(Data, Ecn)>,
}

impl Output for Wire {
    fn syn(&mut self, syn: Handshake, _ecn: Ecn) {
        self.syns.push(syn);
    }

    fn data(&mut self, data: Data, ecn: Ecn) {
        self.sent.push((data, ecn));
    }
}

impl Wire {
    fn take_line(&mut self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut run: Option<(Seq, Seq)> = None;
        let close = |run: &mut Option<(Seq, Seq)>, words: &mut Vec<String>| match run.take() {
            Some((a, b)) if a == b => words.push(a.to_string()),
            Some((a, b)) => words.push(format!("{a}-{b}")),
            None => {}
        };
        for (d, _) in self.sent.drain(..) {
            if d.retransmission || d.cwr {
                close(&mut run, &mut words);
                let r = if d.retransmission { "r" } else { "" };
                let c = if d.cwr { "!" } else { "" };
                words.push(format!("{r}{}{c}", d.seq));
            } else {
                match &mut run {
                    Some((_, last)) if *last + 1 == d.seq => *last = d.seq,
                    _ => {
                        close(&mut run, &mut words);
                        run = Some((d.seq, d.seq));
                    }
                }
            }
        }
        close(&mut run, &mut words);
        words.join(" ")
    }
}

struct Setup {
    cc: &'static str,
    stack: TcpQuirks,
    ecn: bool,
    bytes: Option<u64>,
    send_buffer: Option<u32>,
    window: u32,
    initial: u32,
    paced: bool,
    bursts: bool,
    device: Option<HostNic>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cc: "reno",
            stack: LINUX_7_3,
            ecn: false,
            bytes: None,
            send_buffer: None,
            window: 10_000 * MSS,
            initial: 10,
            paced: false,
            bursts: false,
            device: None,
        }
    }
}

struct Script {
    sender: Sender,
    wire: Wire,
    window: u32,
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

impl Setup {
    fn sender(&self) -> Sender {
        let config = Config {
            send_buffer: self.send_buffer,
            mss: MSS,
            headers: HEADERS,
            ecn: if self.ecn { ecn::Request::Rfc3168 } else { ecn::Request::Off },
            codepoint: None,
            ignores_ce: false,
            max_pacing_rate: None,
            paced: self.paced,
            device: self.device,
            rate_limited_increase: false,
            initial_window: Some(self.initial),
            bytes: self.bytes,
            clock_offset_ms: 0,
        };
        let tso_bursts = if self.bursts { self.stack.tso_bursts } else { TsoBursts::Singly };
        let stack = TcpQuirks { tso_bursts, ..self.stack.clone() };
        let cc = Registry::built_in().build(self.cc, &stack).unwrap();
        Sender::new(&config, stack, cc)
    }

    /// Opens the connection; the first window is on its way at 20 ms.
    fn open(self) -> Script {
        let mut script =
            Script { sender: self.sender(), wire: Wire::default(), window: self.window };
        script.sender.open(at(0), &mut script.wire);
        let answer = Handshake {
            ecn: Flags::from_ace(u8::from(self.ecn)),
            tsval: 10,
            window: self.window,
            ..Handshake::default()
        };
        script.sender.on_syn_ack(at(RTT_MS), &answer, &mut script.wire);
        script.sender.check();
        script
    }
}

fn reno() -> Script {
    let mut s = Setup::default().open();
    assert_eq!(s.wire.take_line(), "0-9");
    s
}

impl Script {
    /// An ACK arrives: the segment wanted next, then any of `s5` or `s5-7` (SACKed), `d3` (reported as a duplicate),
    /// `ece`, `t40` (echo of our clock at 40 ms; default: 20 ms ago), `w` and bytes of window.
    fn ack(&mut self, ms: u64, text: &str) -> String {
        let mut words = text.split_whitespace();
        let mut ack = Ack {
            ack: words.next().unwrap().parse().unwrap(),
            window: self.window,
            tsval: ms as u32,
            tsecr: (ms - RTT_MS) as u32,
            ..Ack::default()
        };
        for word in words {
            let range = |text: &str| {
                let (a, b) = text.split_once('-').unwrap_or((text, text));
                let (start, last): (u32, u32) = (a.parse().unwrap(), b.parse().unwrap());
                Block { start, end: last + 1 }
            };
            match word.split_at(1) {
                ("s", blocks) => {
                    ack.sack[usize::from(ack.blocks)] = range(blocks);
                    ack.blocks += 1;
                }
                ("d", block) => {
                    assert_eq!(ack.blocks, 0, "a duplicate is reported first");
                    ack.sack[0] = range(block);
                    (ack.blocks, ack.dsack) = (1, true);
                }
                ("t", ms) => ack.tsecr = ms.parse().unwrap(),
                ("w", bytes) => {
                    self.window = bytes.parse().unwrap();
                    ack.window = self.window;
                }
                _ if word == "ece" => ack.ecn.ece = true,
                _ => panic!("{word}?"),
            }
        }
        self.sender.on_ack(at(ms), &ack, &mut self.wire);
        self.sender.check();
        self.wire.take_line()
    }

    /// The host's device has sent what counts so much.
    fn sent_off(&mut self, ms: u64, bytes: u64) -> String {
        self.sender.on_tx_completed(at(ms), bytes, &mut self.wire);
        self.sender.check();
        self.wire.take_line()
    }

    /// Time passes, timers fire; what left, each with its time: `62: r9`.
    fn until(&mut self, ms: u64) -> String {
        let mut lines = Vec::new();
        loop {
            let next = self.sender.next_timer();
            if next > at(ms) {
                return lines.join("; ");
            }
            self.sender.on_timer(next, &mut self.wire);
            self.sender.check();
            let line = self.wire.take_line();
            if !line.is_empty() {
                lines.push(format!("{}: {line}", next.as_nanos() as f64 / 1e6));
            }
        }
    }

    /// Where the tail-loss probe that is out ends, and whether it repeated old data.
    fn tlp(&self) -> Option<(Seq, bool)> {
        self.sender.recovery.tlp.map(|t| (t.point, t.repeated))
    }

    fn state(&self) -> CaState {
        self.sender.tcb.view.ca_state
    }

    fn cwnd(&self) -> u32 {
        self.sender.tcb.control.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.sender.tcb.control.ssthresh
    }

    fn in_flight(&self) -> u32 {
        self.sender.tcb.view.in_flight()
    }
}

/// RFC 5681 §3.1, by segments: an ACK of two lets out the two that have left and two more.
#[test]
fn slow_start_doubles_with_acks_of_two() {
    let mut t = reno();
    for i in 1..=5_u32 {
        let first = 10 + 4 * (i - 1);
        assert_eq!(t.ack(40, &(2 * i).to_string()), format!("{first}-{}", first + 3));
        assert_eq!((t.cwnd(), t.in_flight()), (10 + 2 * i, 10 + 2 * i));
    }
    assert_eq!(t.cwnd(), 20);
    // 200 % of 20 · 1448 B in 20 ms.
    assert_eq!(t.sender.tcb.control.pacing_rate, 2 * 20 * 1448 * 50);
}

/// Below its threshold the window grows; what an ACK has over goes to additive increase (`tcp_reno_cong_avoid`).
#[test]
fn slow_start_hands_what_is_left_over_to_avoidance() {
    let mut t = reno();
    t.sender.tcb.control.ssthresh = 11;
    assert_eq!(t.ack(40, "3"), "10-13");
    assert_eq!((t.cwnd(), t.sender.tcb.control.cwnd_count), (11, 2));
    // Nine more make eleven: one segment of growth.
    assert_eq!(t.ack(40, "12"), "14-23");
    assert_eq!((t.cwnd(), t.sender.tcb.control.cwnd_count), (12, 0));
}

/// A window that is not used is not widened: only as much as the receiver admits is out (`tcp_is_cwnd_limited`).
#[test]
fn the_window_does_not_grow_while_the_receiver_limits() {
    let mut t = Setup { window: 4 * MSS, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-3");
    // In slow start a window below twice what is out may grow, so 10 stays: 10 ≥ 2 · 4.
    assert_eq!(t.ack(40, "2"), "4-5");
    assert_eq!(t.ack(40, "4"), "6-7");
    assert_eq!(t.cwnd(), 10);
}

/// The third SACK proves the loss (the reordering window is zero from three on); PRR-spread over the window:
/// ssthresh 5 of 10, so every second delivery lets one segment out.
///
/// in flight = out − SACKed − lost + retransmitted; send = ⌈5 · delivered / 10⌉ − sent, at least one at first.
#[test]
fn fast_retransmit_on_the_third_sack_and_prr_spreads_the_reduction() {
    for stack in [LINUX_7_3, LINUX_5_10] {
        let mut t = Setup { stack, ..Setup::default() }.open();
        t.wire.take_line();
        // Disorder: SACKed segments have left the network, so new data follows (RFC 3042 by another road).
        assert_eq!(t.ack(40, "0 s1"), "10");
        assert_eq!(t.ack(41, "0 s1-2"), "11");
        assert_eq!((t.state(), t.cwnd()), (CaState::Disorder, 10));
        // 12 − 3 − 1 = 8 in flight; ⌈5·1/10⌉ = 1.
        assert_eq!(t.ack(42, "0 s1-3"), "r0");
        assert_eq!((t.state(), t.ssthresh(), t.cwnd()), (CaState::Recovery, 5, 9));
        let steps = [
            ("0 s1-4", "", 8),   // 12 − 4 = 8; ⌈5·2/10⌉ − 1 = 0
            ("0 s1-5", "12", 8), // 7; ⌈5·3/10⌉ − 1 = 1
            ("0 s1-6", "", 7),   // 7; 2 − 2 = 0
            ("0 s1-7", "13", 7), // 6; ⌈5·5/10⌉ − 2 = 1
            ("0 s1-8", "", 6),   // 6; 3 − 3 = 0
            ("0 s1-9", "", 5),   // 5, the threshold: no room
        ];
        for (ms, (ack, sent, cwnd)) in (43..).zip(steps) {
            assert_eq!((t.ack(ms, ack).as_str(), t.cwnd()), (sent, cwnd), "{ack}");
        }
        // 4 in flight, one below the threshold: both bounds admit one.
        assert_eq!(t.ack(60, "0 s1-10"), "14");
        assert_eq!(t.ack(61, "0 s1-11"), "15");
        // The repair fills the hole up to the recovery point, 12: done, at the threshold.
        assert_eq!(t.ack(62, "12"), "16");
        assert_eq!((t.state(), t.cwnd(), t.ssthresh()), (CaState::Open, 5, 5));
        assert_eq!(t.sender.counters().recoveries, 1);
    }
}

/// Where the two bounds differ: much is lost at once while PRR has saved up sends. Twenty are out, 0 and 8-15 are
/// lost. Half of what 1-7 deliver has been let out when 16 shows the loss of eight: in flight falls below the
/// threshold of 10.
#[test]
fn prrs_two_bounds_below_the_threshold() {
    let twenty = |stack| Setup { stack, initial: 20, ..Setup::default() }.open();
    for (stack, sent) in [
        // RFC 6937: as much as was delivered, unless a retransmission was acknowledged.
        (LINUX_5_10, "r8"),
        // Its successor: also what was saved up.
        (LINUX_7_3, "r8 r9"),
    ] {
        let mut t = twenty(stack);
        assert_eq!(t.wire.take_line(), "0-19");
        assert_eq!(t.ack(40, "0 s1"), "20");
        assert_eq!(t.ack(41, "0 s1-2"), "21");
        assert_eq!(t.ack(42, "0 s1-3"), "r0"); // delivered 1, sent 1
        assert_eq!(t.ack(43, "0 s1-4"), ""); // ⌈10·2/20⌉ − 1 = 0
        assert_eq!(t.ack(44, "0 s1-5"), "22"); // 2 − 1
        assert_eq!(t.ack(45, "0 s1-6"), ""); // 2 − 2
        assert_eq!(t.ack(46, "0 s1-7"), "23"); // 3 − 2; delivered 5, sent 3
        // 24 out, 8 SACKed, 9 lost, 1 repaired: 8 in flight, room for 2. Delivered 6, sent 3: saved 3.
        assert_eq!(t.ack(47, "0 s1-7 s16"), sent);
    }
}

/// A partial ACK in Recovery that moves on and finds no new loss earns one segment more: slow start up to the
/// threshold, by either bound if it acknowledges a retransmission.
#[test]
fn progress_in_recovery_earns_one_segment_more() {
    for stack in [LINUX_7_3, LINUX_5_10] {
        let mut t = Setup { stack, ..Setup::default() }.open();
        t.wire.take_line();
        assert_eq!(t.ack(40, "0 s6"), "10");
        assert_eq!(t.ack(41, "0 s6-7"), "11");
        // 0-5 are lost: 12 − 3 − 6 = 3 in flight of 5; one delivered, one out.
        assert_eq!(t.ack(42, "0 s6-8"), "r0");
        assert_eq!(t.ack(43, "0 s6-9"), "r1");
        assert_eq!(t.ack(60, "0 s6-10"), "r2");
        assert_eq!(t.ack(61, "0 s6-11"), "r3");
        // 11 − 6 − 5 + 3 = 3; min(2, max(5 − 4, 1) + 1) = 2.
        assert_eq!(t.ack(62, "1 s6-11"), "r4 r5");
        assert_eq!((t.cwnd(), t.in_flight()), (5, 5));
        assert_eq!(t.ack(63, "2 s6-11"), "12");
    }
}

/// RACK sees a retransmission lost when something sent after it arrives: 0 is repaired at 42 ms, 12 leaves at 43 and
/// is SACKed at 63 ms.
#[test]
fn a_lost_retransmission_is_repaired_again_after_a_round_trip() {
    let mut t = reno();
    t.ack(40, "0 s1");
    t.ack(41, "0 s1-2");
    assert_eq!(t.ack(42, "0 s1-3"), "r0");
    assert_eq!(t.ack(43, "0 s1-9"), "12-13");
    // Sent at 40 and 41, before the repair: they say nothing of it.
    assert_eq!(t.ack(60, "0 s1-10"), "14");
    assert_eq!(t.ack(61, "0 s1-11"), "15");
    // 12 was sent at 43, after the repair, and has arrived: the repair is lost.
    assert_eq!(t.ack(63, "0 s1-12"), "r0 16");
    assert_eq!(
        (t.sender.tcb.view.lost, t.sender.tcb.view.retrans_out, t.sender.tcb.view.lost_out),
        (2, 1, 1)
    );
    assert_eq!(t.state(), CaState::Recovery);
    assert_eq!(t.ssthresh(), 5, "one reduction for one recovery");
}

/// Before three SACKs, and where nothing was ever reordered, RACK waits a quarter of the lowest RTT: 5 ms and the
/// slack of short timers, 2 ms, from the ACK on. The head sent at the same time was due then.
#[test]
fn a_single_sack_waits_for_the_reordering_window() {
    let mut t = reno();
    assert_eq!(t.ack(40, "0 s1"), "10");
    assert_eq!(t.until(47), "");
    // One "delivered" for the timer's sake: ⌈5·1/10⌉ = 1.
    assert_eq!(t.until(48), "48: r0");
    assert_eq!((t.state(), t.cwnd()), (CaState::Recovery, 10));

    // Up to 6.6 the slack was two ticks: at 250 a second, 5 + 8 ms are four ticks, from 40 on.
    let stack = TcpQuirks { hz: 250, ..LINUX_5_10 };
    let mut t = Setup { stack, ..Setup::default() }.open();
    t.wire.take_line();
    t.ack(40, "0 s1");
    assert_eq!(t.until(80), "60: r0");
}

/// If the ACK of the head comes within that time, it was reordering: remembered, and from then on RACK waits even
/// with three SACKs.
#[test]
fn reordering_is_remembered() {
    let mut t = reno();
    assert_eq!(t.ack(40, "0 s1-2"), "10-11");
    // Of the three, two had been delivered before: growth by one.
    assert_eq!(t.ack(41, "3"), "12-13");
    let board = &t.sender.board;
    assert_eq!((t.state(), board.reorderings, board.reordering), (CaState::Open, 1, 3));
    // Three SACKs, but the window of 5 ms holds (and 2 ms of slack).
    assert_eq!(t.ack(42, "3 s4-6"), "14-16");
    assert_eq!(t.state(), CaState::Disorder);
    assert_eq!(t.until(60), "50: r3");
}

/// The degree of reordering is how far the late one was behind: five segments, from 0 to 4.
#[test]
fn the_degree_of_reordering_is_the_distance_to_the_highest_delivered() {
    let mut t = reno();
    t.ack(40, "0 s1-2");
    t.ack(40, "5");
    assert_eq!(t.sender.board.reordering, 5, "what the same ACK delivers above counts");
}

/// The tail is lost: 8 and 9 of ten, all there is. The probe comes two round trips after the last ACK and repeats
/// the last segment; its SACK lets RACK find 8.
#[test]
fn a_probe_repairs_the_tail() {
    let mut t = Setup { bytes: Some(10 * u64::from(MSS)), ..Setup::default() }.open();
    t.wire.take_line();
    assert_eq!(t.ack(40, "8"), "");
    // srtt 20 ms: 40 + 2 · 20 + 2 ms of slack.
    assert_eq!(t.until(83), "83: r9");
    // A probe is no retransmission of a lost segment: nothing is out twice by the counts, nothing to undo, no clock.
    assert_eq!((t.in_flight(), t.sender.tcb.view.retrans_out), (2, 0));
    assert_eq!(
        (t.sender.recovery.undo.retransmissions, t.sender.recovery.retrans_stamp),
        (-1, None)
    );
    assert_eq!(t.sender.counters().probes, 1);
    // The probe's SACK: one round trip old, RACK waits min_rtt/4 for 8, which is long due.
    assert_eq!(t.ack(103, "8 s9"), "r8");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Recovery, 9));
    assert_eq!(t.ack(123, "10"), "");
    assert_eq!((t.state(), t.cwnd()), (CaState::Open, 9));
    assert!(t.sender.is_finished());
}

/// Only the last one is lost. The probe repairs it, so the ACK just reaches the probe's point; the loss shows in the
/// first ACK above it, and the window is reduced then, in one step (RFC 8985 §7.4.2).
#[test]
fn a_loss_that_the_probe_repaired_is_paid_for() {
    let mut t = Setup { window: 10 * MSS, ..Setup::default() }.open();
    t.wire.take_line();
    // A full window at the receiver's end: nothing new may leave.
    assert_eq!(t.ack(40, &format!("9 w{MSS}")), "");
    // A lone segment's ACK may be delayed, so 200 ms more; the RTO of 220 ms comes no earlier.
    assert_eq!(t.until(250), "");
    assert_eq!(t.until(264), "264: r9");
    assert_eq!(t.tlp(), Some((10, true)));
    t.ack(284, &format!("10 w{}", 10 * MSS));
    let cwnd = t.cwnd();
    assert_eq!((t.state(), t.ssthresh()), (CaState::Open, INFINITE_SSTHRESH));
    t.ack(304, "11");
    assert_eq!((t.ssthresh(), t.cwnd()), (cwnd / 2, cwnd / 2));
    assert_eq!(t.tlp(), None);
}

/// The probe was for nothing: the original had only been late. Its duplicate is reported, so nothing is paid.
#[test]
fn a_spurious_probe_costs_nothing() {
    let mut t = Setup { window: 10 * MSS, ..Setup::default() }.open();
    t.wire.take_line();
    t.ack(40, &format!("9 w{MSS}"));
    assert_eq!(t.until(264), "264: r9");
    let cwnd = t.cwnd();
    t.ack(266, "10 t20 w1448");
    t.ack(284, "10 d9 w14480");
    assert_eq!(t.tlp(), None);
    t.ack(304, "11");
    assert_eq!((t.state(), t.cwnd() >= cwnd), (CaState::Open, true));
}

/// Where there is new data that the receiver admits, the probe is new data, one segment whatever the window says.
#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let mut t = reno();
    // All ACKs are lost: the probe is due 2 · 20 + 2 ms after the last segment left.
    assert_eq!(t.until(63), "63: 10");
    assert_eq!((t.tlp(), t.in_flight(), t.cwnd()), (Some((11, false)), 11, 10));
    assert_eq!(t.ack(83, "11"), "11-31");
    assert_eq!((t.tlp(), t.state(), t.cwnd()), (None, CaState::Open, 21));
}

/// RFC 6298 §5.4-5.6: the head again, the window one, the timeout doubled. The probe comes first; the timeout counts
/// from it.
#[test]
fn timeouts_back_off_and_slow_start_follows() {
    let mut t = Setup { bytes: Some(10 * u64::from(MSS)), ..Setup::default() }.open();
    t.wire.take_line();
    // RTO 220 ms (RTT 20 + 200); from the probe at 63 on: 283; 440 later, 728; 880 later, 1616: each on the next step.
    assert_eq!(t.until(2000), "63: r9; 288: r0; 736: r0; 1664: r0");
    assert_eq!((t.state(), t.cwnd(), t.ssthresh()), (CaState::Loss, 1, 5));
    assert_eq!(t.sender.counters().timeouts, 3);
    assert_eq!(t.sender.tcb.view.lost_out, 10);
    // The ACK of a retransmission: Karn's rule leaves the timestamp's echo, 1664, which takes the backoff away.
    assert_eq!(t.ack(2010, "1 t1664"), "r1 r2");
    assert_eq!((t.state(), t.cwnd()), (CaState::Loss, 2));
    assert!(
        t.sender.tcb.view.rtt.rto() < Span::from_millis(880),
        "{}",
        t.sender.tcb.view.rtt.rto()
    );
    assert_eq!(t.sender.tcb.view.rtt.latest_us(), 346_000);
    assert_eq!(t.ack(2030, "3"), "r3 r4 r5 r6");
}

/// F-RTO (RFC 5682 §3.1): after the timeout the first ACK moves on, so two new segments are sent instead of
/// repairs; the next ACK is of a segment never repeated, so the timeout was spurious: all is undone.
#[test]
fn frto_finds_a_spurious_timeout_by_new_data() {
    let mut t = reno();
    assert_eq!(t.until(300), "63: 10; 288: r0");
    assert_eq!((t.state(), t.cwnd(), t.sender.recovery.frto), (CaState::Loss, 1, true));
    // The echo is of the repair (288), so it is no proof by itself. High time for step 2b: new data.
    assert_eq!(t.ack(308, "1 t288"), "11-12");
    assert_eq!((t.state(), t.cwnd()), (CaState::Loss, 2));
    // 1 was never repeated: step 3b. Eleven are in flight again, so nothing leaves.
    assert_eq!(t.ack(309, "2 t288"), "");
    assert_eq!((t.state(), t.sender.counters().undos), (CaState::Open, 1));
    // max(2, the window before, 10), and growing in slow start again by the segment acknowledged.
    assert_eq!((t.cwnd(), t.in_flight(), t.ssthresh()), (11, 11, INFINITE_SSTHRESH));
    assert_eq!((t.sender.tcb.view.lost_out, t.sender.tcb.view.retrans_out), (0, 0));
}

/// F-RTO step 3a: a duplicate ACK after the new data means that the loss was real.
#[test]
fn frto_gives_way_when_the_loss_was_real() {
    let mut t = reno();
    assert_eq!(t.until(300), "63: 10; 288: r0");
    assert_eq!(t.ack(308, "1 t288"), "11-12");
    assert_eq!(t.ack(328, "1 s11 t288"), "r1");
    assert_eq!((t.state(), t.sender.recovery.frto), (CaState::Loss, false));
}

/// Eifel (RFC 3522): the first ACK after the timeout echoes a clock from before the repair, so the original has
/// arrived.
#[test]
fn a_spurious_timeout_is_undone_by_its_timestamp() {
    let mut t = reno();
    assert_eq!(t.until(300), "63: 10; 288: r0");
    t.ack(308, "1 t20");
    assert_eq!((t.state(), t.cwnd(), t.ssthresh()), (CaState::Open, 11, INFINITE_SSTHRESH));
}

/// The same for fast recovery: 0 and 1 were late, not lost. Their ACKs echo 20 ms; the repairs left at 42 and 43.
#[test]
fn a_spurious_recovery_is_undone_by_its_timestamp() {
    let mut t = reno();
    t.ack(40, "0 s2");
    t.ack(41, "0 s2-3");
    assert_eq!(t.ack(42, "0 s2-4"), "r0");
    assert_eq!(t.ack(43, "0 s2-6"), "r1");
    // One retransmission is still out: not settled, but nothing more is repaired.
    t.ack(44, "1 s2-6 t20");
    assert_eq!((t.state(), t.sender.counters().undos), (CaState::Recovery, 0));
    t.ack(45, "7 t20");
    assert_eq!((t.state(), t.sender.counters().undos), (CaState::Open, 1));
    assert_eq!(t.ssthresh(), INFINITE_SSTHRESH);
    assert!(t.cwnd() >= 10);
}

/// Undone by the report of a duplicate: every retransmission has turned out to be one (RFC 2883, RFC 3708).
#[test]
fn a_spurious_recovery_is_undone_by_the_duplicate() {
    let mut t = reno();
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    assert_eq!(t.ack(40, "0 s1-3"), "r0");
    // The original arrives late; its ACK echoes the repair's clock or later, so only the duplicate tells.
    t.ack(41, "4 t40");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Recovery, 5));
    let delivered = t.sender.tcb.view.delivered;
    t.ack(60, "4 d0 t40");
    assert_eq!((t.state(), t.cwnd(), t.ssthresh()), (CaState::Open, 10, INFINITE_SSTHRESH));
    assert_eq!(t.sender.tcb.view.delivered, delivered + 1, "the duplicate was delivered too");
    // Recent kernels widen RACK's window for it only where reordering has been seen.
    assert!(!t.sender.recovery.reo_wnd.dsack_seen && t.sender.board.reorderings == 0);
}

/// RACK's verdict on a segment stands until it is sent again, so that an undo is not taken back by the next ACK.
/// 0 and 1 are late; the repair of 0 is reported as a duplicate while that of 1 has not left.
#[test]
fn what_an_undo_forgave_is_not_found_lost_again() {
    let mut t = reno();
    assert_eq!(t.ack(40, "0 s2"), "10");
    assert_eq!(t.ack(40, "0 s2-3"), "11");
    assert_eq!(t.ack(40, "0 s2-4"), "r0");
    assert_eq!(t.sender.board.picture(), "LR L S S S . . . . . . .");
    // The original of 0, by its clock; no retransmission remains out.
    t.ack(41, "1 s2-4 t20");
    assert!(t.sender.board.picture().starts_with(". S S S . "));
    assert_eq!((t.state(), t.sender.counters().undos), (CaState::Disorder, 1));
    // 10 was sent 20 ms after 1 and has arrived: RACK would find 1 lost, had it not judged it already.
    t.ack(60, "1 s2-10 t40");
    assert_eq!((t.state(), t.sender.tcb.view.lost_out), (CaState::Disorder, 0));
}

/// Duplicates that are more than what was sent again are the network's: they undo nothing.
#[test]
fn duplicates_that_we_did_not_cause_are_not_believed() {
    let mut t = reno();
    t.ack(40, "4");
    let (delivered, cwnd) = (t.sender.tcb.view.delivered, t.cwnd());
    t.ack(41, "4 d2");
    assert_eq!(
        (t.sender.tcb.view.delivered, t.cwnd(), t.state()),
        (delivered, cwnd, CaState::Open)
    );
}

/// RFC 3168 §6.1.2: one reduction a window, the flag CWR on the next new segment, retransmissions not ECN-capable.
#[test]
fn ecn_echo_reduces_once_a_window() {
    let mut t = Setup { ecn: true, ..Setup::default() }.open();
    assert_eq!(t.wire.syns[0].ecn, Flags::from_ace(0b011));
    assert_eq!(t.sender.ecn_agreed(), Agreed::Rfc3168);
    assert!(t.wire.sent.iter().all(|s| s.1 == Ecn::Ect0));
    t.wire.take_line();
    // 8 in flight of ssthresh 5: ⌈5·2/10⌉ = 1.
    assert_eq!(t.ack(40, "2 ece"), "10!");
    assert_eq!((t.state(), t.ssthresh(), t.cwnd()), (CaState::Cwr, 5, 9));
    assert_eq!(t.ack(40, "4 ece"), "11");
    assert_eq!(t.ack(40, "6 ece"), "12");
    // 5 in flight, the threshold: no room. Then 3, two below it: min(2, max(10 − 3, 2) + 1).
    assert_eq!(t.ack(40, "8 ece"), "");
    assert_eq!(t.ack(40, "10 ece"), "13-14");
    assert_eq!(
        (t.state(), t.ssthresh(), t.cwnd()),
        (CaState::Cwr, 5, 5),
        "una = high_seq is not past it"
    );
    assert_eq!(t.ack(60, "12"), "15-16");
    assert_eq!((t.state(), t.ssthresh(), t.cwnd()), (CaState::Open, 5, 5));
    assert_eq!(t.sender.counters().ece_reductions, 1);
    // A further mark in the next window is a further reduction: 5 / 2.
    assert_eq!(t.ack(60, "14 ece"), "17!");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Cwr, 2));
    t.ack(60, "14 s15");
    t.ack(60, "14 s15-16");
    let resent = {
        let ack = Ack {
            ack: 14,
            window: t.window,
            tsval: 60,
            tsecr: 40,
            sack: [Block { start: 15, end: 18 }, Block::default(), Block::default()],
            blocks: 1,
            ..Ack::default()
        };
        t.sender.on_ack(at(80), &ack, &mut t.wire);
        t.wire.sent.iter().find(|s| s.0.retransmission).copied().unwrap()
    };
    assert_eq!((resent.0.seq, resent.1), (14, Ecn::NotEct));
}

/// What ECN asked for is not taken back, even if the loss that came with it was none.
#[test]
fn a_reduction_for_ecn_is_not_undone() {
    let mut t = Setup { ecn: true, ..Setup::default() }.open();
    t.wire.take_line();
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    assert_eq!(t.ack(40, "0 s1-3 ece"), "r0");
    t.ack(41, "12 t20");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Open, 5));
}

/// The rate of the second window: 20 segments in one round trip, measured over the ACKs of a whole window.
#[test]
fn delivery_rate_is_what_arrived_in_a_round_trip() {
    let mut t = reno();
    for i in 1..=5 {
        t.ack(40, &(2 * i).to_string());
    }
    // The first window: 10 in the 20 ms from its sending on; the last ACK counts all ten.
    let rate = t.sender.tcb.view.rate;
    assert_eq!((rate.delivered, rate.interval_us), (10, 20_000));
    // Those of the second window come 1 ms apart: 10 was sent when 2 had been delivered, at 40 ms.
    for i in 0..10_u32 {
        t.ack(60 + u64::from(i), &(12 + 2 * i).to_string());
    }
    // The last, 29, left when 10 had been delivered; now 30 have, 29 ms later.
    let rate = t.sender.tcb.view.rate;
    assert_eq!((rate.delivered, rate.interval_us), (20, 29_000));
    assert_eq!(t.sender.tcb.view.delivery_rate(), 20 * 1448 * 1_000_000 / 29_000);
}

/// A pause longer than the timeout: the window halves for each timeout of it, not below ten (RFC 2861), and the
/// threshold remembers three quarters.
#[test]
fn a_pause_shrinks_the_window() {
    let mut t = Setup { window: 40 * MSS, ..Setup::default() }.open();
    t.wire.take_line();
    for i in 1..=20 {
        t.ack(40, &(2 * i).to_string());
    }
    // All that is out is acknowledged, and the window shut.
    let nxt = t.sender.tcb.view.nxt;
    t.ack(60, &format!("{nxt} w0"));
    let cwnd = t.cwnd();
    // It opens 500 ms later: two timeouts of 220 ms have passed.
    let sent = t.ack(560, &format!("{nxt} w{}", 100 * MSS));
    assert_eq!(t.cwnd(), cwnd / 4);
    assert_eq!(t.ssthresh(), INFINITE_SSTHRESH);
    assert!(sent.starts_with(&nxt.to_string()));
}

/// The last segment is as long as what is left; the flow has ended when it is acknowledged.
#[test]
fn a_stream_of_bytes_ends() {
    let bytes = 2 * u64::from(MSS) + 100;
    let mut t = Setup { bytes: Some(bytes), ..Setup::default() }.open();
    let lens: Vec<u16> = t.wire.sent.iter().map(|s| s.0.len).collect();
    assert_eq!(lens, [1448, 1448, 100]);
    t.wire.take_line();
    assert!(!t.sender.is_finished());
    assert_eq!(t.ack(40, "3"), "");
    assert!(t.sender.is_finished() && t.sender.next_timer().is_never());
}

/// An application that writes as it goes: a rest smaller than a segment leaves short, waiting data is filled up, and
/// each piece keeps its length when it is sent again.
#[test]
fn what_an_application_writes_leaves_in_pieces() {
    let setup = Setup { initial: 3, ..Setup::default() };
    let mut t = Setup { bytes: Some(0), ..setup }.open();
    assert_eq!(t.wire.take_line(), "");
    let lens = |t: &mut Script| {
        let lens: Vec<u16> = t.wire.sent.iter().map(|s| s.0.len).collect();
        t.wire.sent.clear();
        t.sender.check();
        lens
    };
    t.sender.supply(at(30), 100, &mut t.wire);
    assert_eq!(lens(&mut t), [100]);
    t.sender.supply(at(31), 1448 + 52, &mut t.wire);
    assert_eq!(lens(&mut t), [1448, 52]);
    // The window is full: these wait together.
    t.sender.supply(at(32), 1000, &mut t.wire);
    t.sender.supply(at(33), 1000, &mut t.wire);
    assert_eq!(lens(&mut t), []);
    // The first is acknowledged; slow start lets two out: 1448 and what is left of 2000.
    t.ack(50, "1");
    t.wire.sent.clear();
    assert_eq!(t.sender.tcb.view.nxt, 5);
    // The third segment is lost, and repeated at its own length when RACK's window is over.
    assert_eq!(t.ack(70, "2 s3-4"), "");
    while t.wire.sent.is_empty() {
        let next = t.sender.next_timer();
        t.sender.on_timer(next, &mut t.wire);
    }
    assert_eq!((t.wire.sent[0].0.seq, t.wire.sent[0].0.retransmission), (2, true));
    assert_eq!(lens(&mut t), [52]);
    // Unsent data can be taken back; later writes begin a segment.
    t.sender.supply(at(130), 20_000, &mut t.wire);
    let left: u64 = t.wire.sent.iter().map(|s| u64::from(s.0.len)).sum();
    assert_eq!(t.sender.discard_unsent(), 20_000 - left);
    t.sender.check();
}

/// `tcp_rate_check_app_limited`: a write that finds less than a segment waiting, room in the window and nothing to be
/// repaired marks the flow until all that was out then has been delivered.
#[test]
fn an_idle_application_is_marked_and_the_mark_passes() {
    let setup = Setup { initial: 4, ..Setup::default() };
    let mut t = Setup { bytes: Some(0), ..setup }.open();
    let piece = u64::from(MSS);
    // Nothing was out: the mark is at what is delivered, 0.
    t.sender.supply(at(30), piece, &mut t.wire);
    assert_eq!(t.sender.tcb.view.app_limited, Some(0));
    t.sender.supply(at(31), piece, &mut t.wire);
    assert_eq!(t.sender.tcb.view.app_limited, Some(1));
    assert_eq!(t.wire.take_line(), "0-1");
    // Two more fill the window; from then on it is the window that limits, and the mark stays where it was.
    t.sender.supply(at(32), 2 * piece, &mut t.wire);
    assert_eq!(t.sender.tcb.view.app_limited, Some(2));
    t.sender.supply(at(33), 10 * piece, &mut t.wire);
    assert_eq!(t.sender.tcb.view.app_limited, Some(2));
    assert_eq!(t.wire.take_line(), "2-3");
    // Samples of what left under the mark bear it; once more than two are delivered, nothing new does.
    t.ack(50, "2");
    assert!(t.sender.tcb.view.rate.app_limited);
    assert_eq!(t.sender.tcb.view.app_limited, Some(2));
    t.ack(52, "4");
    assert_eq!(t.sender.tcb.view.app_limited, None);
    // 4 to 7 left with the ACK at 50 ms, 8 to 11 with that at 52 ms.
    t.ack(70, "8");
    assert!(t.sender.tcb.view.rate.app_limited);
    t.ack(72, "12");
    assert!(!t.sender.tcb.view.rate.app_limited);
}

/// `tcp_is_cwnd_limited`: a window that the application does not fill does not grow, but in slow start to twice
/// what was in flight.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let setup = Setup { initial: 10, ..Setup::default() };
    let mut t = Setup { bytes: Some(0), ..setup }.open();
    for round in 0..20_u32 {
        let now = 30 + 20 * u64::from(round);
        t.sender.supply(at(now), 4 * u64::from(MSS), &mut t.wire);
        t.ack(now + 20, &(4 * (round + 1)).to_string());
    }
    assert_eq!(t.sender.tcb.control.cwnd, 10);
    // With data without end it grows again.
    t.sender.supply_endlessly(at(450), &mut t.wire);
    t.ack(470, "90");
    assert_eq!(t.sender.tcb.control.cwnd, 20);
    t.sender.stop(at(471));
    t.sender.check();
}

/// The peer opens the connection: the window is the initial one, the round trip that of the answer to its SYN.
#[test]
fn a_connection_that_the_peer_opens() {
    let setup = Setup { bytes: Some(0), ..Setup::default() };
    let mut t = Script { sender: setup.sender(), wire: Wire::default(), window: setup.window };
    t.sender.accepted(at(20), Agreed::Off, t.window, 7, Some(20_000));
    assert!(t.sender.is_established() && t.wire.syns.is_empty());
    assert_eq!(t.sender.tcb.view.rtt.srtt_us(), 20_000);
    t.sender.supply(at(20), 12 * u64::from(MSS), &mut t.wire);
    assert_eq!(t.wire.sent[0].0.tsecr, 7);
    assert_eq!(t.wire.take_line(), "0-9");
    assert_eq!(t.ack(40, "10"), "10-11");
}

/// A stopped sender repairs what it has sent and sends nothing new.
#[test]
fn a_stopped_sender_only_repairs() {
    let mut t = reno();
    t.sender.stop(at(30));
    assert_eq!(t.ack(40, "0 s1-3"), "r0");
    assert_eq!(t.ack(60, "10"), "");
    assert!(t.sender.is_finished());
}

/// RFC 6298 §5.5 and 5.7, RFC 3168 §6.1.1.1: a SYN is repeated after a second, without ECN. Linux keeps the initial
/// window after one loss, and measures the round trip by the echo.
#[test]
fn a_lost_syn_is_repeated_without_ecn() {
    let setup = Setup { ecn: true, ..Setup::default() };
    let mut script = Script { sender: setup.sender(), wire: Wire::default(), window: setup.window };
    script.sender.open(at(0), &mut script.wire);
    script.until(1024);
    assert_eq!(script.wire.syns.len(), 2);
    assert_eq!((script.wire.syns[1].ecn, script.wire.syns[1].tsval), (Flags::default(), 1024));
    let answer = Handshake {
        ecn: Flags::default(),
        tsval: 9,
        tsecr: 1024,
        window: setup.window,
        ..Handshake::default()
    };
    script.sender.on_syn_ack(at(1044), &answer, &mut script.wire);
    assert_eq!(script.sender.ecn_agreed(), Agreed::Off);
    assert_eq!(script.wire.take_line(), "0-9");
    assert_eq!(script.sender.tcb.view.rtt.latest_us(), 20_000);
}

/// RFC 9768 §3.1.4.1: the second SYN asks for AccECN once more, the third does not. Kernels before that RFC do not ask
/// with the second. A control with ECN-capable SYNs keeps its codepoint on all of them, as the socket has it
/// (docs/linux-notes/repeated-syn.md).
#[test]
fn a_lost_syn_asks_for_accecn_once_more() {
    for (stack, asked) in [(LINUX_7_3, [7, 7, 0, 0]), (LINUX_5_10, [7, 0, 0, 0])] {
        let setup = Setup { stack, ecn: true, ..Setup::default() };
        let mut t = Script { sender: setup.sender(), wire: Wire::default(), window: setup.window };
        t.sender.ecn.asked = crate::ecn::Request::AccEcn;
        t.sender.open(at(0), &mut t.wire);
        t.until(8000);
        let sent: Vec<u8> = t.wire.syns.iter().map(|syn| syn.ecn.ace()).take(4).collect();
        assert_eq!(sent, asked);
    }
}

/// From the second loss on the window is one segment (RFC 5681 §3.1). SYNs a second apart up to the fifth, then doubling, in recent
/// kernels; doubling at once before.
#[test]
fn lost_syns_leave_one_segment() {
    for (stack, times) in [
        (LINUX_7_3, vec![0, 1024, 2048, 3072, 4096, 5120, 7168]),
        (LINUX_5_10, vec![0, 1024, 3072, 7104]),
    ] {
        let setup = Setup { stack, ..Setup::default() };
        let mut t = Script { sender: setup.sender(), wire: Wire::default(), window: setup.window };
        t.sender.open(at(0), &mut t.wire);
        t.until(8000);
        let sent: Vec<u32> = t.wire.syns.iter().map(|s| s.tsval).collect();
        assert_eq!(sent, times);
        let tsecr = *times.last().unwrap();
        let answer = Handshake {
            ecn: Flags::default(),
            tsval: 9,
            tsecr,
            window: setup.window,
            ..Handshake::default()
        };
        t.sender.on_syn_ack(at(8000), &answer, &mut t.wire);
        assert_eq!(t.wire.take_line(), "0");
    }
}

/// Reno's sawtooth (RFC 5681): half on loss, then one segment a round trip.
#[test]
fn renos_sawtooth() {
    let mut t = reno();
    t.ack(40, "0 s1");
    t.ack(41, "0 s1-2");
    t.ack(42, "0 s1-9");
    let nxt = t.sender.tcb.view.nxt;
    // The ACK that ends the recovery delivers five, which count already: 5 + 5/5.
    t.ack(62, &nxt.to_string());
    assert_eq!((t.state(), t.cwnd(), t.ssthresh()), (CaState::Open, 6, 5));
    let mut windows = Vec::new();
    for round in 0..6 {
        // The whole flight is acknowledged, segment by segment.
        let nxt = t.sender.tcb.view.nxt;
        let mut una = t.sender.tcb.view.una;
        while una != nxt {
            una += 1;
            t.ack(80 + 20 * round, &una.to_string());
        }
        windows.push(t.cwnd());
    }
    assert_eq!(windows, [7, 8, 9, 10, 11, 12]);
}

/// CUBIC leaves slow start when the ACKs of a round are a train as long as half the path: ACKs of two, 1 ms apart. The
/// fourth round's 40 segments are acknowledged from 80 ms on; threshold (20 + 1)/2 = 10.5 ms, so at 91 ms, when 11 ACKs
/// have taken 40 to 62.
#[test]
fn cubic_leaves_slow_start_by_the_train() {
    for stack in [LINUX_7_3, LINUX_5_10, LINUX_5_4] {
        let stack = TcpQuirks { small_queue_wakes: true, ..stack };
        let mut t = Setup { cc: "cubic", stack, ..Setup::default() }.open();
        let mut left = None;
        let mut una = 0;
        for ms in (40..45).chain(60..70).chain(80..100) {
            una += 2;
            t.ack(ms, &una.to_string());
            if left.is_none() && t.ssthresh() != INFINITE_SSTHRESH {
                left = Some((ms, t.ssthresh()));
            }
        }
        assert_eq!(left, Some((91, 62)));
    }
}

/// An ACK that another has overtaken still brings its SACK, but only while its clock is within a millisecond.
#[test]
fn an_overtaken_ack_brings_its_sacks_unless_it_is_too_old() {
    let mut t = reno();
    t.ack(50, "4");
    t.ack(51, "2 s6");
    assert_eq!(t.sender.tcb.view.sacked_out, 1);
    let ack = Ack {
        ack: 2,
        window: t.window,
        tsval: 48,
        sack: [Block { start: 7, end: 8 }, Block::default(), Block::default()],
        blocks: 1,
        ..Ack::default()
    };
    t.sender.on_ack(at(51), &ack, &mut t.wire);
    assert_eq!(t.sender.tcb.view.sacked_out, 1);
}

/// A paced sender at the end of its stream still wakes to repair.
#[test]
fn pacing_puts_a_repair_off_and_does_not_lose_it() {
    let bytes = Some(30 * u64::from(MSS));
    let mut t = Setup { bytes, initial: 30, paced: true, ..Setup::default() }.open();
    t.wire.take_line();
    t.until(39);
    t.wire.take_line();
    assert_eq!(t.sender.tcb.view.nxt, 30);
    t.sender.pacing.until = at(45);
    assert_eq!(t.ack(40, "0 s1-3"), "");
    assert_eq!(t.state(), CaState::Recovery);
    assert_eq!(t.sender.next_timer(), at(45));
    assert_eq!(t.until(45), "45: r0");
}

/// An overtaken ACK does not make a paced sender forget that it waits.
#[test]
fn an_overtaken_ack_leaves_the_pace_alone() {
    let mut t = Setup { paced: true, ..Setup::default() }.open();
    t.wire.take_line();
    t.sender.pacing.until = at(60);
    assert_eq!(t.ack(40, "4"), "");
    assert_eq!(t.sender.next_timer(), at(60));
    t.ack(41, "2");
    assert_eq!(t.sender.next_timer(), at(60));
}

/// The kernel's timers fire on ticks: set within one, for a span rounded up, counted from the tick's beginning, and a step
/// behind (`CoarseClock`).
#[test]
fn timers_fire_on_ticks() {
    let stack = TcpQuirks { hz: 250, ..LINUX_7_3 };
    let mut t = Setup { stack, ..Setup::default() }.open();
    t.wire.take_line();
    // Sent at 20 ms, in tick 5; 42 ms are 11 ticks: 16, and so 17.
    assert_eq!(t.until(68), "68: 10");
    // RTO 220 ms is 55 ticks: 72, and so 73.
    assert_eq!(t.until(292), "292: r0");
    // 440 ms is 110, more than the finest 62: 183, and so the next of eight, 184.
    assert_eq!(t.until(736), "736: r0");
    let mut t = Setup { stack: TcpQuirks { hz: 250, ..LINUX_5_4 }, ..Setup::default() }.open();
    t.wire.take_line();
    // Two ticks of slack: 40 + 8 = 48 ms are 12 ticks.
    assert_eq!(t.until(72), "72: 10");
}

/// Who may follow whom, as recovery.rs draws it.
#[test]
fn the_table_of_states() {
    use CaState::{Cwr, Disorder, Loss, Open, Recovery};
    let all = [Open, Disorder, Cwr, Recovery, Loss];
    let row = |from| -> String {
        all.iter().map(|&to| if recovery::may_follow(from, to) { 'x' } else { '.' }).collect()
    };
    assert_eq!(all.map(row), ["xxxxx", "xxxxx", "xxxxx", "xxx.x", "x..xx"]);
}

/// A Reno past slow start with segments that leave in bursts. 20 ms and a window of ten give a goal of two.
fn in_bursts(stack: TcpQuirks, initial: u32) -> Script {
    let mut t = Setup { stack, initial, bursts: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), format!("0-{}", initial - 1));
    t.sender.tcb.control.ssthresh = initial;
    t
}

/// Room for one: it leaves if the last write is long ago, waits if that is recent and the next ACK is due, and leaves
/// with the second that the next ACK admits. Waiting is being limited by the window.
#[test]
fn a_lone_segment_waits_for_the_next_ack() {
    for stack in [LINUX_7_3, LINUX_5_10, LINUX_5_4] {
        // Older kernels only take note of it once a flight.
        let notes = stack.remembers_cwnd_limited;
        let mut t = in_bursts(stack, 10);
        assert_eq!(t.ack(40, "1"), "10");
        t.sender.tcb.view.cwnd_limited = false;
        assert_eq!(t.ack(40, "2"), "");
        assert_eq!(t.sender.tcb.view.cwnd_limited, notes);
        assert_eq!(t.ack(40, "3"), "11-12");
        // An ACK of two admits two: nothing to wait for.
        assert_eq!(t.ack(40, "5"), "13-14");
        // The last write is a millisecond ago, which is still recent; then it is not.
        assert_eq!(t.ack(41, "6"), "");
        assert_eq!(t.ack(42, "6 w20000000"), "15");
    }
}

/// The next ACK is expected a smoothed round trip after the oldest segment left. It is 19.6 and 19.3 ms here,
/// and the oldest left 17 ms ago: that is more than half of the round trip, and more than a millisecond away.
#[test]
fn nobody_waits_for_an_ack_that_is_far() {
    let woken = TcpQuirks { small_queue_wakes: true, ..LINUX_5_4 };
    for (stack, sent) in [(LINUX_7_3, "22"), (LINUX_5_10, ""), (woken, "")] {
        let mut t = in_bursts(stack, 10);
        // All is acknowledged: bursts of two, and the odd one too, as all its ACKs are a round trip away.
        assert_eq!(t.ack(40, "10"), "10-20");
        assert_eq!(t.cwnd(), 11);
        assert_eq!(t.ack(57, "11"), "21");
        assert_eq!(t.ack(57, "12"), sent);
    }
}

/// A third of the window is not waited with: one of three is (in bytes), one of four is not.
#[test]
fn a_third_of_the_window_is_sent() {
    for (initial, sent) in [(3, "4"), (4, "")] {
        let mut t = in_bursts(LINUX_7_3, initial);
        assert_eq!(t.ack(40, "1"), initial.to_string());
        assert_eq!(t.ack(40, "2"), sent);
    }
}

/// Who repairs does not wait, and who has only seen disorder does.
#[test]
fn recovery_does_not_wait() {
    let mut t = in_bursts(LINUX_7_3, 10);
    assert_eq!(t.ack(42, "0 s1"), "10");
    assert_eq!(t.ack(42, "0 s1-2"), "");
    // 11 − 3 − 1 = 7 in flight; ⌈5·1/10⌉ = 1.
    assert_eq!(t.ack(42, "0 s1-3"), "r0");
    assert_eq!(t.ack(42, "0 s1-4"), "");
    assert_eq!(t.ack(42, "0 s1-5"), "11");
}

/// Fifty segments at once, in fours: 200 % of 50 · 1448 B in 20 ms give 7 kB in 1/1024 s. The last of each burst has
/// PSH. A buffer holds 45; older kernels end a burst there, and its last segment leaves alone.
#[test]
fn a_group_ends_with_its_buffer_in_older_kernels() {
    let fours = |from: u32, to: u32| (from..to).step_by(4).collect::<Vec<_>>();
    for (stack, pushed) in [
        (LINUX_5_10, [fours(3, 45), vec![48]].concat()),
        (LINUX_7_3, [fours(3, 48), vec![49]].concat()),
    ] {
        let t = Setup { stack, initial: 50, bursts: true, ..Setup::default() }.open();
        let found: Vec<Seq> = t.wire.sent.iter().filter(|s| s.0.push).map(|s| s.0.seq).collect();
        assert_eq!((t.wire.sent.len(), found), (50, pushed));
    }
}

/// The rest of a buffer is not waited with: 44, the 45th, leaves alone on an ACK that admits one.
#[test]
fn the_rest_of_a_buffer_leaves_at_once() {
    for stack in [LINUX_7_3, LINUX_5_10] {
        let mut t = in_bursts(stack, 10);
        t.sender.data.buffer_left = 1;
        assert_eq!(t.ack(40, "1"), "10");
        t.sender.data.buffer_left = 1;
        assert_eq!(t.ack(40, "2"), "11");
        assert_eq!(t.ack(40, "3"), "");
    }
}

/// On a path of a millisecond newer kernels add 64 kB, halved once: 28 kB for the rate and 32 kB for the path.
#[test]
fn bursts_are_larger_on_short_paths() {
    for (stack, goal) in [(LINUX_7_3, 42), (LINUX_5_10, 19)] {
        let setup = Setup { stack, bursts: true, ..Setup::default() };
        let mut sender = setup.sender();
        let mut wire = Wire::default();
        sender.open(at(0), &mut wire);
        sender.on_syn_ack(
            at(1),
            &Handshake { window: setup.window, ..Handshake::default() },
            &mut wire,
        );
        assert_eq!(sender.tso_segs_goal(), goal);
        // No more than half of the window at a time.
        let pushed: Vec<Seq> = wire.sent.iter().filter(|s| s.0.push).map(|s| s.0.seq).collect();
        assert_eq!(pushed, [4, 9]);
    }
}

/// A probe of new data takes what the window admits of a burst, and one segment if it admits none.
#[test]
fn a_probe_sends_a_group_where_the_window_admits_one() {
    let mut t = in_bursts(LINUX_7_3, 10);
    t.sender.tcb.control.cwnd = 13;
    t.sender.recovery.tlp = None;
    // 20 + 2 · 20 + 2 ms: room for three; a burst has two.
    assert_eq!(t.until(63), "63: 10-11");
    assert_eq!(t.tlp(), Some((12, false)));
}

/// A window of three, all of it acknowledged: bursts of one (half of the window), 1280 + 1448 B each on the account. The
/// third finds 1 + 2 · 2728 B there, one more than two of its own size, and waits for the next ACK; the window is not
/// used up and does not grow. From 5.12 on the socket is woken, and the third leaves.
///
/// The send buffer: 2 · 10 · 4352 = 87 040 B. The application has filled a buffer of 45 segments behind the first three, and
/// as 69 504 + 4 · 1280 B are less than that, another: 93 segments. It sleeps until two thirds are left, 58 026 B: with 38
/// segments, two of them sent, one cut off and the rest behind it, 55 024 + 4 · 1280 B are too many; with 36 it writes, and
/// what was kept leaves.
#[test]
fn a_small_queue_that_is_not_woken_keeps_the_third_segment() {
    let mut woken = in_bursts(LINUX_5_10, 3);
    woken.sender.tcb.view.cwnd_limited = false;
    assert_eq!(woken.ack(40, "3"), "3-5");
    let mut t = in_bursts(LINUX_5_4, 3);
    assert_eq!(t.sender.ready_end(), 93);
    t.sender.tcb.view.cwnd_limited = false;
    for round in 0..27_u32 {
        let una = 3 + 2 * round;
        assert_eq!(
            t.ack(40 + 20 * u64::from(round), &una.to_string()),
            format!("{una}-{}", una + 1)
        );
        assert!(!t.sender.tcb.view.cwnd_limited);
        assert_eq!(t.cwnd(), 3);
    }
    assert_eq!(t.ack(580, "57"), "57-59");
    assert!(t.sender.tcb.view.cwnd_limited);
}

/// Of 20 the small queue lets four go, in bursts of two with segments that count 2304 B each: 1 + 4608 B are below the
/// 8352 of two bursts, 1 + 9216 are not. So the window is not full, and the application's limit, 87 040 B so far,
/// becomes 2 · 20 · 4352. The queued data, 53 segments in eight buffers, is less than two thirds of that; the
/// application is woken, and as a process it sends all the rest.
#[test]
fn the_send_buffer_grows_while_the_window_is_not_full() {
    let mut t = in_bursts(LINUX_5_4, 10);
    assert_eq!(t.sender.ready_end(), 55);
    let mut held = t.sender.clone();
    held.data.send_buffer.as_mut().unwrap().keep_awake();
    let mut held = Script { sender: held, wire: Wire::default(), window: t.window };
    for (script, sent) in [(&mut t, "10-21"), (&mut held, "10-13")] {
        script.sender.tcb.control.cwnd = 20;
        assert_eq!(script.ack(40, "2"), sent);
    }
}

/// A send buffer of 300 000 B at the most; a segment on its own takes 1448 + 896 of it: with no more than 85 out the
/// sender keeps no buffer. 90 are out after the first ACK, 210 960 B. Two buffers of 45 segments, 66 056 B each, fill
/// the rest. The application is woken when no more than 200 000 B are queued. Its data, up to 180, leaves one by one
/// and is all out when 91 are left, which are too many still: nothing leaves until 85 are, and then all that the window
/// of 91 admits.
#[test]
fn a_window_larger_than_the_send_buffer_is_used_by_turns() {
    let stack = TcpQuirks { send_buffer: 300_000, ..LINUX_7_3 };
    let mut t = Setup { stack, initial: 90, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-89");
    t.sender.tcb.control.ssthresh = 90;
    assert!(t.sender.data.send_buffer.is_none());
    for una in 1..90_u32 {
        assert_eq!(t.ack(40, &una.to_string()), (89 + una).to_string());
        assert_eq!(t.sender.ready_end(), 181);
    }
    assert_eq!(t.ack(40, "90"), "179-180");
    assert_eq!(t.cwnd(), 91);
    for una in 91..96_u32 {
        assert_eq!(t.ack(40, &una.to_string()), "");
    }
    assert_eq!(t.ack(40, "96"), "181-186");
    assert_eq!(t.cwnd(), 91);
}

/// An application that has asked for 20 000 B has 40 000; 11 segments on their own take 25 784 of them: with that many
/// out the sender keeps no buffer. 12 are out after the second ACK, and one buffer of 45 is written beyond them. The
/// application is woken when no more than 26 666 B are queued: not with 14 segments in 8 bursts, 27 440 B, but with 13
/// in 7, 25 096 B. It fills a buffer of 45, sends 43 of them as one burst, fills the buffer up again, 88 in all, and is
/// over 40 000 B. An autotuned sender's limit would be twice its window of 56 by then, 4352 B a segment.
#[test]
fn a_send_buffer_of_the_applications_own_does_not_grow() {
    assert_eq!(with_send_buffer(&LINUX_7_3, 20_000).send_buffer, 40_000);
    assert_eq!(with_send_buffer(&LINUX_7_3, 1).send_buffer, 4608);
    let mut t = Setup { send_buffer: Some(20_000), bursts: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-9");
    assert_eq!(t.ack(40, "1"), "10-11");
    assert!(t.sender.data.send_buffer.is_none());
    assert_eq!(t.ack(40, "2"), "12-13");
    assert_eq!(t.sender.ready_end(), 14 + 45);
    for una in 3..46_u32 {
        t.ack(40, &una.to_string());
        assert_eq!(t.sender.ready_end(), 59);
    }
    assert_eq!((t.in_flight(), t.cwnd()), (14, 55));
    assert_eq!(t.ack(40, "46"), "59-101");
    assert_eq!(t.sender.ready_end(), 59 + 88);
}

/// 400 segments in all, 309 of them still to be written when the buffer begins to matter: the application ends with the
/// last of them, a short one.
#[test]
fn a_send_buffer_that_begins_late_ends_with_the_data() {
    let stack = TcpQuirks { send_buffer: 300_000, ..LINUX_7_3 };
    let bytes = Some(399 * u64::from(MSS) + 7);
    let mut t = Setup { stack, initial: 90, bytes, ..Setup::default() }.open();
    let mut una = 0;
    while una < 400 {
        una += 1;
        t.ack(40, &una.to_string());
    }
    assert!(t.sender.data.send_buffer.is_some());
    assert!(t.sender.is_finished());
}

/// Six segments all acknowledged: the window is seven, and two bursts of two leave.
#[test]
fn a_small_queue_counts_what_is_cut_from_groups() {
    let mut t = in_bursts(LINUX_5_4, 6);
    assert_eq!(t.ack(40, "6"), "6-9");
    assert_eq!(t.cwnd(), 7);
}

/// 20 000 B are two writes: 13 full segments and one of 1176 B.
#[test]
fn a_send_buffer_takes_what_fills_no_segment() {
    let mut t =
        Setup { stack: LINUX_5_4, bytes: Some(20_000), bursts: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-9");
    assert_eq!(t.ack(40, "10"), "10-13");
    assert_eq!(t.ack(60, "14"), "");
    assert!(t.sender.is_finished());
}

/// Four are two bursts of two: the account is below twice the next burst's.
#[test]
fn a_small_queue_lets_two_groups_go() {
    let mut t = in_bursts(LINUX_5_4, 4);
    t.sender.tcb.view.cwnd_limited = false;
    assert_eq!(t.ack(40, "4"), "4-7");
    assert!(t.sender.tcb.view.cwnd_limited);
}

/// Retransmissions may have twice as much on their way: 1 + 4 · 2728 B are one more than twice two segments.
#[test]
fn a_small_queue_lets_four_retransmissions_go() {
    let mut t = in_bursts(LINUX_5_4, 10);
    t.sender.tcb.view.now = at(40);
    for sent in 0..5 {
        assert_eq!(t.sender.small_queue_holds(1, 1), sent >= 2);
        assert_eq!(t.sender.small_queue_holds(1, 2), sent >= 4);
        t.sender.fill_small_queue(None, 1, MSS);
    }
    // Microseconds later all has passed through the host.
    t.sender.tcb.view.now = at(41);
    assert!(!t.sender.small_queue_holds(1, 1));
}

/// A sender in front of its NIC: bursts are cut into pieces of 2304 B on the account, and it may have twice the next
/// buffer there, 2 · (1280 + 2 · 1448) B = 8352. After two bursts of two it has 9216 and stops, though the window is ten; the
/// device sends one, 6912 are left, and two more leave. The window was not used up, so that an ACK of two does
/// not open it.
#[test]
fn a_device_of_its_own_lets_two_groups_wait() {
    let piece = 2304;
    let device = Some(HostNic::WIRED);
    let mut t = Setup { stack: LINUX_5_10, bursts: true, device, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-3");
    assert_eq!(t.sent_off(21, piece), "4-5");
    // 11520 − 2 · 2304 is as much again as when it last went on.
    assert_eq!(t.sent_off(22, 2 * piece), "6-7");
    assert!(!t.sender.tcb.view.cwnd_limited);
    // The ACK finds 11520 on the account: segments that the window admits wait for the device.
    assert_eq!(t.ack(40, "2"), "");
    assert_eq!(t.sent_off(41, 3 * piece), "8-9");
    // 8 of 12 are out: nothing more until the device has sent, and then no further than the window.
    assert_eq!((t.sender.tcb.view.in_flight(), t.cwnd()), (8, 12));
    assert_eq!(t.sent_off(42, 4 * piece), "10-13");
    assert!(t.sender.tcb.view.cwnd_limited);
    assert_eq!(t.sent_off(43, 4 * piece), "");
}

/// In front of a WiFi device a share is a 2^7th of a second: 200 % of 10 · 1448 B in 20 ms are 11 312 B, and a burst has as
/// many as half of the window, five. Of these two fit: 11 520 B is less than 2 · (1280 + 5 · 1448).
#[test]
fn a_wifi_device_lets_more_wait() {
    let device = Some(HostNic::WIFI);
    let mut t = Setup { stack: LINUX_5_10, bursts: true, device, ..Setup::default() }.open();
    assert_eq!(t.sender.tso_segs_goal(), 7);
    assert_eq!(t.wire.take_line(), "0-9");
    let mut t =
        Setup { stack: LINUX_5_10, bursts: true, device, initial: 40, ..Setup::default() }.open();
    // 45 250 B a share, a burst of 20 (half of the window): after one of them 46 080 B are on the account, less than twice 1280 + 20 · 1448.
    assert_eq!((t.sender.tso_segs_goal(), t.wire.take_line().as_str()), (31, "0-39"));
    let mut t =
        Setup { stack: LINUX_5_10, bursts: true, device, initial: 200, ..Setup::default() }.open();
    // 64 kB a burst at most, 45 segments: 2 · (1280 + 45 · 1448) = 132 880 are less than the share, 226 250. After two
    // bursts 207 360 are there, after three 311 040.
    assert_eq!(t.wire.take_line(), "0-134");
    assert_eq!(t.sent_off(21, 36 * 2304), "");
    assert_eq!(t.sent_off(21, 2304), "135-179");
}

/// A lone buffer is let go from 6.7 on although the device has sent nothing; before, only nothing at all.
#[test]
fn a_socket_with_a_single_buffer_out_is_not_stopped() {
    for (stack, after, emptied) in [(LINUX_7_3, "4-5", "4-7"), (LINUX_5_10, "", "4-5")] {
        let open = || {
            let device = Some(HostNic::WIRED);
            let stack = stack.clone();
            Setup { stack, bursts: true, device, ..Setup::default() }.open()
        };
        let mut t = open();
        assert_eq!(t.wire.take_line(), "0-3");
        assert_eq!(t.ack(40, "2"), after);
        // With all of it acknowledged there is nothing out, and then one buffer.
        let mut t = open();
        t.wire.take_line();
        assert_eq!(t.ack(40, "4"), emptied);
    }
}

/// AccECN's option takes 12 bytes of each segment where both ends have it: 1436 of payload in 1500 bytes. The kernel
/// computes with 1448 all the same: the pace is 200 % of 10 · 1448 bytes in 20 ms.
#[test]
fn accecn_takes_room_of_segments() {
    for (stack, agreed, of_peer, payload) in [
        (LINUX_7_3, 0b010, true, 1436),
        (LINUX_7_3, 0b010, false, 1448),
        (LINUX_7_3, 0b001, true, 1448),
        (LINUX_5_10, 0b010, true, 1448),
    ] {
        let setup = Setup { stack, ..Setup::default() };
        let mut sender = setup.sender();
        sender.ecn.asked = crate::ecn::Request::AccEcn;
        let mut wire = Wire::default();
        sender.open(at(0), &mut wire);
        let answer = Handshake {
            ecn: Flags::from_ace(agreed),
            tsval: 10,
            window: setup.window,
            accecn: of_peer,
            ..Handshake::default()
        };
        sender.on_syn_ack(at(RTT_MS), &answer, &mut wire);
        let view = &sender.tcb().view;
        assert_eq!((view.mss, view.mss + view.headers), (payload, 1500));
        assert_eq!(sender.effective_pacing_rate(), 2 * 10 * 1448 * 1000 / RTT_MS);
        assert_eq!(u32::from(sender.next_len()), payload);
        assert_eq!(sender.board.bytes(), u64::from(10 * payload));
        sender.check();
    }
}

/// What a flow costs. A segment in flight is 32 bytes; a sender has room for 16 at first and grows by doubling.
#[test]
fn what_a_flow_costs() {
    let t = reno();
    assert_eq!(t.sender.board.bytes_held(), 16 * 32);
    let t = Setup { initial: 300, ..Setup::default() }.open();
    assert_eq!((t.in_flight(), t.sender.board.bytes_held()), (300, 512 * 32));
    let size = size_of::<Sender>();
    assert!(size <= 1024, "{size}");
}
