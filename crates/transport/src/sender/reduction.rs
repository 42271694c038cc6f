//! A sender's knowledge of the reduction that is under way, and of the last one.

use super::scoreboard::Undo;
use crate::segment::{Seq, before};

/// Recoveries after which a widened reordering window narrows again (`TCP_RACK_RECOVERY_THRESH`).
pub(super) const REO_WND_PERSIST: u32 = 16;

/// A sender's knowledge of the reduction that is under way, and of the last one.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// Recovery point: `nxt` when the reduction began (`high_seq`).
    pub(super) high_seq: Seq,
    pub(super) undo: Undo,
    /// Threshold before the reduction, if it may be taken back (`prior_ssthresh`).
    pub(super) prior_ssthresh: u32,
    pub(super) prr: Prr,
    /// Timestamp clock at the first retransmission of the episode (`retrans_stamp`).
    pub(super) retrans_stamp: Option<u32>,
    /// The tail-loss probe that is out.
    pub(super) tlp: Option<Tlp>,
    /// Timeouts since the last progress (`icsk_retransmits`).
    pub(super) timeouts: u32,
    /// F-RTO is deciding (RFC 5682).
    pub(super) frto: bool,
    pub(super) reo_wnd: ReorderingWindow,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self {
            high_seq: 0,
            undo: Undo { marker: None, retransmissions: -1, resent: 0, duplicates: 0 },
            prior_ssthresh: 0,
            prr: Prr::default(),
            retrans_stamp: None,
            tlp: None,
            timeouts: 0,
            frto: false,
            reo_wnd: ReorderingWindow { steps: 1, ..ReorderingWindow::default() },
        }
    }
}

/// Proportional rate reduction's counts since the reduction began, segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    pub(super) delivered: u32,
    pub(super) out: u32,
}

/// A tail-loss probe (RFC 8985 §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tlp {
    /// `nxt` when it was sent (`tlp_high_seq`).
    pub(super) point: Seq,
    /// Whether it repeated old data.
    pub(super) repeated: bool,
    /// Whether the application was pausing when that had first left.
    pub(super) app_limited: bool,
}

/// RACK's reordering window (RFC 8985 §6.2 step 4), in quarters of the lowest RTT.
#[derive(Clone, Debug, Default)]
pub(super) struct ReorderingWindow {
    pub(super) steps: u32,
    /// Recoveries for which it stays as it is.
    pub(super) persist: u32,
    /// Whether a duplicate has shown that it is too narrow.
    pub(super) dsack_seen: bool,
    /// `delivered` when it was last widened.
    last_delivered: u32,
}

impl ReorderingWindow {
    /// Widens by a step when a duplicate showed that it was too narrow, at most once a round trip.
    pub(super) fn update(&mut self, prior_delivered: u32, delivered: u32) {
        if before(prior_delivered, self.last_delivered) {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = (self.steps + 1).min(255);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = REO_WND_PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }
}
