//! From a closed connection to an established one (RFC 9293 §3.5; `tcp_connect`, `tcp_rcv_synsent_state_process`), and how
//! the established one begins.

use super::Sender;
use super::limits::Limit;
use super::output::Push;
use super::phase::Phase;
use super::timer::Kind;
use crate::cc::CongestionControl;
use crate::ecn::option::WHOLE;
use crate::ecn::{self, Agreed};
use crate::rate_sample::micros_between;
use crate::segment::{Handshake, Output};
use sojourn_units::Time;

impl Sender {
    /// Opens the connection.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        debug_assert_eq!(self.handshake.phase, Phase::Closed);
        self.tcb.view.now = now;
        self.handshake.phase = Phase::SynSent;
        self.handshake.syn_clock = self.clock_ms();
        self.send_syn(out);
    }

    pub(super) fn send_syn(&mut self, out: &mut impl Output) {
        self.handshake.syn_sent = self.tcb.view.now;
        let twice = self.quirks.accecn_syn_twice;
        let flags = ecn::ask(self.ecn.asked, self.handshake.syn_retries, twice);
        // The codepoint is the socket's, whatever the flags ask for.
        let field = self.ecn.ect.syn(self.ecn.asked);
        let syn = Handshake {
            ecn: flags,
            tsval: self.clock_ms(),
            window: 65_535,
            ..Handshake::default()
        };
        out.syn(syn, field);
        self.arm(Kind::Syn, self.tcb.view.rtt.rto());
    }

    /// The peer has answered. The ACK that completes the handshake travels with the first data.
    pub fn on_syn_ack(&mut self, now: Time, answer: &Handshake, out: &mut impl Output) {
        if self.handshake.phase != Phase::SynSent {
            return;
        }
        self.tcb.view.now = now;
        self.timers.next = None;
        self.handshake.phase = Phase::Established;
        // An answer that agrees is to the first SYN, also when a repeated one without ECN had left already.
        self.tcb.view.ecn = ecn::conclude(self.ecn.asked, answer.ecn);
        self.peer.clock = answer.tsval;
        self.take_window(answer.window);
        self.carry_option(answer.accecn);
        let rtt = if self.handshake.syn_retries == 0 {
            micros_between(now, self.handshake.syn_sent)
        } else {
            // Which SYN was answered is known from the echo alone (RFC 7323 §4).
            self.rtt_by_echo(answer.tsecr)
        };
        self.tcb.view.rtt.sample(now, rtt, rtt, 0, 0);
        // RFC 5681 §3.1 and RFC 6298 §5.7 leave a window of one segment after a SYN was lost. Linux does so only
        // from the second loss on, and not if it was the first SYN that was answered (`tcp_init_transfer`).
        let lost = self.handshake.syn_retries > 1 && answer.tsecr != self.handshake.syn_clock;
        self.begin(if lost { 1 } else { self.handshake.initial_window });
        if self.data.send_buffer.is_some() {
            self.let_application_begin(out);
        } else {
            self.write(Push::Normal, out);
        }
    }

    /// AccECN's option takes its bytes of every segment, where the stack has it and the peer has shown that it has it too.
    /// The kernel's segment size (`mss_cache`) knows nothing of it.
    pub(super) fn carry_option(&mut self, of_peer: bool) {
        if of_peer && self.quirks.accecn_option && self.tcb.view.ecn == Agreed::AccEcn {
            self.tcb.view.options = WHOLE;
            self.tcb.view.headers += WHOLE;
            self.tcb.control.mss -= WHOLE;
            self.cut_again();
        }
    }

    /// The connection is established and begins with this window.
    pub(super) fn begin(&mut self, cwnd: u32) {
        self.tcb.control.cwnd = cwnd;
        if let Some(rule) = &mut self.limited_increase {
            rule.begin(cwnd);
        }
        self.last_sent = self.tcb.view.now;
        self.limits.set(self.tcb.view.now, Limit::Idle);
        self.tcb.control.update_pacing_rate(&self.tcb.view);
        self.cc.init(&self.tcb.view, &mut self.tcb.control);
        self.has_cong_control = self.cc.has_cong_control();
        if self.cc.wants_segment_state() {
            self.board.track();
        }
    }
}
