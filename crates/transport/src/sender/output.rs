//! What leaves and when (`tcp_write_xmit`, `tcp_transmit_skb` in `net/ipv4/tcp_output.c`): new data as windows, pacing and
//! small queues admit it, repairs, and what is noted of each.

use super::Sender;
use super::limits::Limit;
use super::tso::{Admitted, Next};
use crate::cc::{CongestionControl, Event};
use crate::segment::{Data, Output, Seq, before};

/// Why data is being pushed out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    Normal,
    /// One burst.
    One,
    /// A tail-loss probe: one segment whatever the window says.
    Probe,
}

impl Sender {
    /// Sends new data as far as windows, pacing and the application allow (`tcp_write_xmit`). Returns how many
    /// segments left.
    pub(super) fn write(&mut self, push: Push, out: &mut impl Output) -> u32 {
        let mut sent = 0;
        let mut stopped = None;
        let mut rearm = false;
        if self.tcb.view.packets_out == 0 && self.is_ready() {
            self.restart_after_idle();
        }
        let goal = self.tso_segs_goal();
        while self.is_ready() {
            if self.tcb.control.paced && self.pacing.holds(self.tcb.view.now) {
                self.pacing.blocked = true;
                stopped = Some(Limit::Pacing);
                break;
            }
            let room = self.tcb.control.cwnd.saturating_sub(self.tcb.view.in_flight());
            if push != Push::Normal && sent > 0 {
                break;
            }
            if push != Push::Probe && room == 0 {
                stopped = Some(Limit::CongestionWindow);
                break;
            }
            if !before(self.tcb.view.nxt, self.peer.window_end) {
                stopped = Some(Limit::ReceiveWindow);
                break;
            }
            // At least two bursts are kept in flight, so none is larger than half of the window. A probe is sent
            // whatever the window says.
            let half = (self.tcb.control.cwnd >> 1).max(1);
            let admitted = Admitted {
                room,
                window: self.peer.window_end.wrapping_sub(self.tcb.view.nxt),
                quota: room.min(half).max(1).min(goal),
                unsent: self.ready_end().wrapping_sub(self.tcb.view.nxt),
            };
            self.look_at_buffer();
            match self.next_burst(goal, push == Push::Normal, admitted) {
                Next::Send(burst) => {
                    self.cut_from_buffer(burst);
                    if self.small_queue_holds(burst, 1) {
                        stopped = Some(Limit::Host);
                        break;
                    }
                    // The first packet out starts the timer, and new data end a probe's.
                    rearm |= self.tcb.view.packets_out == 0 || self.awaits_probe();
                    self.send_burst(burst, out);
                    sent += burst;
                }
                Next::Wait(limit) => {
                    stopped = Some(limit);
                    break;
                }
            }
        }
        if sent > 0 {
            if self.tcb.view.in_reduction() {
                self.recovery.prr.out += sent;
            }
            let probes = push != Push::Probe && self.schedule_probe(false);
            if rearm && !probes {
                self.rearm_rto();
            }
        }
        let limited_by_cwnd = stopped == Some(Limit::CongestionWindow)
            || self.tcb.view.in_flight() >= self.tcb.control.cwnd;
        if sent > 0 || (limited_by_cwnd && self.quirks.notes_limit_unsent) {
            self.validate_cwnd(limited_by_cwnd);
        }
        self.note_limit(stopped, sent);
        sent
    }

    /// New segments leave together.
    fn send_burst(&mut self, burst: u32, out: &mut impl Output) {
        let (first, mut bytes) = (self.tcb.view.nxt, 0);
        for left in (0..burst).rev() {
            let push =
                (left == 0 && burst > 1) || self.tcb.view.nxt.wrapping_add(1) == self.data.end;
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
        self.note_start();
        let cwr = self.ecn.feedback.take_cwr();
        let data = Data {
            seq,
            len: self.next_len(),
            cwr,
            push,
            retransmission: false,
            gso_segment,
            accecn: self.tcb.view.options > 0,
            tsval: self.clock_ms(),
            tsecr: self.peer.clock,
        };
        let state = self.rate.on_sent(&mut self.tcb.view);
        self.board.push(&mut self.tcb.view, state, data.len);
        self.counters.sent += 1;
        self.last_sent = self.tcb.view.now;
        out.data(data, self.ecn.ect.data(self.tcb.view.ecn));
        u32::from(data.len)
    }

    /// A lost segment is repaired (`tcp_retransmit_skb`).
    pub(super) fn send_again(&mut self, seq: Seq, out: &mut impl Output) {
        let clock = self.clock_ms();
        self.repeat(seq, true, out);
        self.fill_small_queue(None, 1, u32::from(self.board.len(seq)));
        self.recovery.retrans_stamp.get_or_insert(clock);
        self.recovery.undo.retransmissions = self.recovery.undo.retransmissions.max(0) + 1;
    }

    /// An old segment leaves again (`__tcp_retransmit_skb`).
    pub(super) fn repeat(&mut self, seq: Seq, counted: bool, out: &mut impl Output) {
        self.note_start();
        let data = Data {
            seq,
            len: self.board.len(seq),
            cwr: false,
            push: false,
            retransmission: true,
            gso_segment: false,
            accecn: self.tcb.view.options > 0,
            tsval: self.clock_ms(),
            tsecr: self.peer.clock,
        };
        let state = self.rate.on_sent(&mut self.tcb.view);
        self.board.mark_resent(&mut self.tcb.view, seq, state, counted);
        self.recovery.undo.resent += 1;
        self.counters.sent += 1;
        self.counters.retransmits += 1;
        self.last_sent = self.tcb.view.now;
        self.pace(u32::from(data.len));
        out.data(data, self.ecn.ect.other(self.tcb.view.ecn));
    }

    /// Notes when more may leave after a segment or burst of this payload, if the flow is paced
    /// (`tcp_update_skb_after_send`). From the fifth kernel series on it is payload that is paced: headers come later.
    #[inline]
    fn pace(&mut self, bytes: u32) {
        if !self.tcb.control.paced {
            return;
        }
        let rate = self.effective_pacing_rate();
        // The first segments leave at once.
        let rate = if self.counters.sent < 10 { 0 } else { rate };
        self.pacing.charge(self.tcb.view.now, bytes, rate);
    }

    /// Keeps the record of what limited the flight (`tcp_cwnd_validate`).
    fn validate_cwnd(&mut self, limited: bool) {
        if let Some(rule) = &mut self.limited_increase {
            rule.note(&self.tcb);
        }
        let t = &mut self.tcb;
        let new_flight = !before(t.view.una, self.usage_end);
        let fuller = t.view.packets_out > t.view.max_packets_out;
        let take = if self.quirks.remembers_cwnd_limited {
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
        if self.has_cong_control {
            return;
        }
        let idle = self.tcb.view.now.since(self.last_sent);
        let rto = self.tcb.view.rtt.rto();
        if idle <= rto {
            return;
        }
        let floor = self.handshake.initial_window.min(self.tcb.control.cwnd);
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
    pub(super) fn current_ssthresh(&self) -> u32 {
        let t = &self.tcb;
        if t.view.in_reduction() {
            t.control.ssthresh
        } else {
            t.control.ssthresh.max((t.control.cwnd >> 1) + (t.control.cwnd >> 2))
        }
    }
}
