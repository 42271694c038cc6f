//! TCP Vegas (Brakmo and Peterson, IEEE JSAC 13:8, 1995) as Linux has it (`net/ipv4/tcp_vegas.c`): a flow keeps two to four packets
//! in the queue. Once a round trip it compares the window with the amount that the path would hold at the lowest RTT.
//!
//! ```text
//! rtt      lowest RTT of the round trip that ends; base  lowest RTT since the flow began or was idle
//! diff     W (rtt - base) / base, packets: the queue's part of the window
//! slow start   diff > γ = 1: W = min(W, W base/rtt + 1), ssthresh at most W; else as Reno
//! beyond       diff > β = 4: W - 1, ssthresh at most W; diff < α = 2: W + 1; between them W stays
//! ```
//!
//! Invariants: a round trip with two RTT samples or fewer grows the window as Reno does, and so does a flow in recovery;
//! W is at least 2. Losses and marks have Reno's answer. Against Reno and CUBIC in a deep FIFO it gets nearly nothing:
//! evaluations use it as the control that yields.

use super::{AckSample, CaState, CongestionControl, Control, Event, Info, MIN_CWND, Reno, View};
use crate::segment::{Seq, after};
use crate::stack::TcpQuirks;

/// Packets in the queue below which the window grows.
const ALPHA: u64 = 2;
/// Packets in the queue above which it shrinks.
const BETA: u64 = 4;
/// Packets in the queue that end slow start.
const GAMMA: u64 = 1;

/// Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Whether it acts; not in recovery.
    acts: bool,
    /// The round trip ends when the segment after this one is acknowledged.
    round_end: Seq,
    /// RTT samples in this round trip.
    samples: u32,
    /// The lowest of them, microseconds and one more.
    rtt_us: u32,
    /// The lowest of all, likewise; `u32::MAX` before the first.
    base_us: u32,
    reno: Reno,
}

impl Vegas {
    /// What it is.
    pub const INFO: Info = Info {
        name: "vegas",
        summary: "keeps two to four packets in the queue, by the RTT",
        source: "Brakmo and Peterson, JSAC 13:8 (1995); Linux net/ipv4/tcp_vegas.c",
        gauges: &[
            ("base_rtt", "s", "lowest RTT since the flow began or was idle"),
            ("round_rtt", "s", "lowest RTT of this round trip"),
        ],
        options: &[],
    };

    /// A new one.
    pub fn new(switches: &TcpQuirks) -> Self {
        let reno = Reno::new(switches);
        Self { acts: true, round_end: 0, samples: 0, rtt_us: u32::MAX, base_us: u32::MAX, reno }
    }

    const fn begin_round(&mut self, view: &View) {
        self.round_end = view.nxt;
        self.samples = 0;
        self.rtt_us = u32::MAX;
    }

    /// Sets the window by the round trip that has just ended.
    fn adjust(&self, control: &mut Control, acked: u32) {
        let (base, rtt) = (u64::from(self.base_us), u64::from(self.rtt_us));
        let window = u64::from(control.cwnd);
        let diff = window * (rtt - base) / base;
        if control.in_slow_start() {
            if diff > GAMMA {
                control.cwnd = control.cwnd.min((window * base / rtt) as u32 + 1);
                control.ssthresh = control.ssthresh.min(control.cwnd);
            } else {
                control.slow_start(acked);
            }
        } else if diff > BETA {
            control.cwnd -= 1;
            control.ssthresh = control.ssthresh.min(control.cwnd);
        } else if diff < ALPHA {
            control.cwnd += 1;
        }
        control.cwnd = control.cwnd.clamp(MIN_CWND, control.cwnd_clamp);
        // tcp_current_ssthresh outside of a reduction.
        control.ssthresh = control.ssthresh.max((control.cwnd >> 1) + (control.cwnd >> 2));
    }
}

impl CongestionControl for Vegas {
    fn init(&mut self, view: &View, _control: &mut Control) {
        self.base_us = u32::MAX;
        self.acts = true;
        self.begin_round(view);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.reno.ssthresh(view, control)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.acts {
            self.reno.cong_avoid(view, control, acked);
        } else if after(view.una, self.round_end) {
            // Two samples may be one delayed acknowledgement and its successor.
            if self.samples <= 2 {
                self.reno.cong_avoid(view, control, acked);
            } else {
                self.adjust(control, acked);
            }
            self.begin_round(view);
        } else if control.in_slow_start() {
            control.slow_start(acked);
        }
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, sample: AckSample) {
        let Some(rtt_us) = sample.rtt_us else { return };
        // One more, so that nothing divides by zero.
        let rtt_us = rtt_us.saturating_add(1);
        self.base_us = self.base_us.min(rtt_us);
        self.rtt_us = self.rtt_us.min(rtt_us);
        self.samples += 1;
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, state: CaState) {
        self.acts = state == CaState::Open;
        if self.acts {
            self.begin_round(view);
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if matches!(event, Event::TxStart { .. }) {
            self.init(view, control);
        }
    }

    fn gauges(&self, _view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let mut tell = |name, us: u32| {
            if us != u32::MAX {
                out(name, f64::from(us) / 1e6);
            }
        };
        tell("base_rtt", self.base_us);
        tell("round_rtt", self.rtt_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    /// A flow with a base RTT of 100 ms, after a round trip with three samples of `rtt_ms`.
    fn after_a_round(cwnd: u32, ssthresh: u32, rtt_ms: u32) -> (Vegas, Tcb) {
        let (mut vegas, mut tcb) = (Vegas::new(&LINUX_7_3), Tcb::example(cwnd));
        tcb.control.ssthresh = ssthresh;
        vegas.init(&tcb.view, &mut tcb.control);
        vegas.base_us = 100_000;
        for _ in 0..3 {
            let sample = AckSample { acked: 1, rtt_us: Some(rtt_ms * 1000 - 1) };
            vegas.pkts_acked(&tcb.view, &mut tcb.control, sample);
        }
        tcb.view.una = tcb.view.nxt + 1;
        (vegas, tcb)
    }

    fn window(cwnd: u32, ssthresh: u32, rtt_ms: u32) -> (u32, u32) {
        let (mut vegas, mut tcb) = after_a_round(cwnd, ssthresh, rtt_ms);
        vegas.cong_avoid(&tcb.view, &mut tcb.control, 2);
        (tcb.control.cwnd, tcb.control.ssthresh)
    }

    /// W = 40 and 100 ms: 104 ms are 40 · 4/100 = 1 packet of queue, 105 are 2, 110 are 4, 113 are 5.
    #[test]
    fn two_to_four_packets_are_kept_in_the_queue() {
        assert_eq!(window(40, 30, 104), (41, 30));
        assert_eq!(window(40, 30, 105), (40, 30));
        assert_eq!(window(40, 30, 110), (40, 30));
        assert_eq!(window(40, 30, 113), (39, 30));
        // A threshold above the new window comes down to it, and is at least three quarters of it, 19 + 9.
        assert_eq!(window(40, 40, 113), (39, 39));
        assert_eq!(window(40, 20, 113), (39, 28));
    }

    /// 125 ms at W = 40 are 10 packets of queue: the path holds 32, and one more is allowed.
    #[test]
    fn slow_start_ends_at_more_than_one_packet() {
        assert_eq!(window(40, 1000, 125), (33, 33));
        // 103 ms are one packet: it goes on, by the two segments of the ACK.
        assert_eq!(window(40, 1000, 103), (42, 1000));
    }

    #[test]
    fn few_samples_and_recovery_are_renos() {
        let (mut vegas, mut tcb) = after_a_round(40, 30, 113);
        vegas.samples = 2;
        vegas.cong_avoid(&tcb.view, &mut tcb.control, 40);
        assert_eq!(tcb.control.cwnd, 41);
        let (mut vegas, mut tcb) = after_a_round(40, 30, 113);
        vegas.set_state(&tcb.view, &mut tcb.control, CaState::Recovery);
        vegas.cong_avoid(&tcb.view, &mut tcb.control, 40);
        assert_eq!(tcb.control.cwnd, 41);
        assert_eq!(vegas.ssthresh(&tcb.view, &tcb.control), 20);
        // A new round begins when the state is open again.
        vegas.set_state(&tcb.view, &mut tcb.control, CaState::Open);
        assert_eq!((vegas.acts, vegas.samples, vegas.round_end), (true, 0, tcb.view.nxt));
    }

    /// What an ACK within the round trip does: nothing, but in slow start.
    #[test]
    fn a_window_moves_once_a_round_trip() {
        let (mut vegas, mut tcb) = after_a_round(40, 30, 104);
        tcb.view.una = vegas.round_end;
        vegas.cong_avoid(&tcb.view, &mut tcb.control, 2);
        assert_eq!(tcb.control.cwnd, 40);
        tcb.control.ssthresh = 100;
        vegas.cong_avoid(&tcb.view, &mut tcb.control, 2);
        assert_eq!(tcb.control.cwnd, 42);
    }

    #[test]
    fn an_idle_flow_forgets_its_base() {
        let (mut vegas, mut tcb) = after_a_round(40, 30, 104);
        vegas.event(&tcb.view, &mut tcb.control, Event::CompleteCwr);
        assert_eq!(vegas.base_us, 100_000);
        vegas.event(&tcb.view, &mut tcb.control, Event::TxStart { idle_jiffies: 300 });
        assert_eq!(vegas.base_us, u32::MAX);
    }
}
