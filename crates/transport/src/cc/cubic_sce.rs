//! `cubic-sce` (chromi/sce `net/ipv4/tcp_cubic_sce.c` at 1280a6d0 and 0139ea04, which are alike; docs/sources/sce.md#senders):
//! CUBIC with a curve that SCE makes flatter and lower, and a window that shrinks by its root for a window of ESCE.
//! Before the first reduction SCE ends slow start, and nothing more. CE takes an eighth if SCE came within a window,
//! else as much as CUBIC takes.
//!
//! Flatter: below the plateau the plateau is brought nearer in time, above it is brought up behind, in the measure of
//! what the ACK acknowledges to the window's root; the curve goes on from where it is. As published it does not, see
//! [`super::sce`].
//!
//! What follows from the code, whoever meant it: while a reduction for CE is under way no epoch has begun, and every ACK
//! with ESCE halves the threshold that the reduction is heading for; and the Reno-friendly estimate is not lowered by
//! SCE, so it pulls the window up again.

use super::cubic::{CLOCK_BITS, CUBE_BITS, CUBE_SCALE, Cubic};
use super::sce::{NEEDS, Scale, half};
use super::{AckEvent, AckSample, CongestionControl, Event, Info, MIN_CWND};
use crate::cc::CaState;
use crate::cc::{Control, View};
use crate::ecn::EcnRequirements;
use crate::stack::{SceSenders, TcpQuirks};

/// See the module.
#[derive(Clone, Debug)]
pub struct CubicSce {
    cubic: Cubic,
    scale: Scale,
    /// The largest integer with a square below the window (`sqrt_cnt`).
    root: u32,
    recent: u32,
}

impl CubicSce {
    /// What it is.
    pub const INFO: Info = Info {
        name: "cubic-sce",
        summary: "CUBIC that answers to SCE: a flatter curve, and a window of ESCE takes off its root",
        source: "draft-morton-tsvwg-sce; chromi/sce net/ipv4/tcp_cubic_sce.c",
        gauges: &[
            ("w_max", "segments", "window at the last reduction, after fast convergence"),
            ("k", "s", "time from the epoch's start to the plateau"),
            ("w_est", "segments", "Reno-friendly estimate"),
            ("hystart", "", "0 in slow start, 1 left by the ACK train, 2 by the delay"),
            ("origin", "segments", "the plateau"),
            (
                "ack_cnt",
                "segments",
                "what the Reno-friendly estimate has yet to take; below zero SCE's",
            ),
            ("sqrt_cwnd", "segments", "about the root of the window"),
            ("recent_sce", "ACKs", "CE takes an eighth on this many more ACKs"),
        ],
        options: &[],
    };

    /// A new one, with the stack's HyStart and bugs.
    pub fn new(quirks: &TcpQuirks) -> Self {
        Self { cubic: Cubic::new(quirks), scale: Scale { senders: quirks.sce }, root: 1, recent: 0 }
    }

    /// Makes the curve flatter, for an ACK that counts for `acked` bytes.
    fn flatten(&mut self, view: &View, acked: i64, epoch: u32) {
        let now = view.jiffies();
        let t = (u64::from(now.wrapping_sub(epoch)) << CLOCK_BITS) / u64::from(view.hz);
        let (buggy, k) = (self.scale.senders == SceSenders::Published, u64::from(self.cubic.k));
        let root = u64::from(self.root.max(1));
        let part = if buggy { acked } else { acked / i64::from(view.mss) };
        let part = (part as u64).min(root);
        if t < k {
            let before = height(k - t);
            let ahead = (k - t) * (root - part) / root;
            (self.cubic.epoch, self.cubic.k) = (Some(now), ahead as u32);
            self.cubic.origin = if buggy {
                let after = height(ahead.wrapping_sub(t));
                self.cubic.origin.wrapping_sub(after.wrapping_sub(before))
            } else {
                self.cubic.origin.saturating_sub(before - height(ahead))
            };
        } else {
            let past = t - k;
            let ahead = past * part / root;
            let shift = ((k * u64::from(view.hz)) >> CLOCK_BITS) as u32;
            (self.cubic.epoch, self.cubic.k) = (Some(epoch.wrapping_add(shift)), ahead as u32);
            let rise = height(past).wrapping_sub(height(past - ahead));
            self.cubic.origin = self.cubic.origin.wrapping_add(rise);
        }
    }

    /// Takes off the window's root for a window of ESCE, from the plateau, too.
    fn step_down(&mut self, view: &View, control: &mut Control, acked: i64) {
        let window = self.scale.unit(view) * i64::from(control.cwnd);
        self.cubic.acked -= acked * i64::from(self.root);
        while self.cubic.acked <= -window {
            self.cubic.acked += window;
            if control.cwnd > MIN_CWND {
                control.cwnd -= 1;
                if self.root * self.root >= control.cwnd {
                    self.root -= 1;
                }
            }
            self.cubic.origin = self.cubic.origin.saturating_sub(1);
        }
    }

    fn follow_root(&mut self, cwnd: u32) {
        while self.root * self.root < cwnd {
            self.root += 1;
        }
        while self.root * self.root >= cwnd {
            self.root -= 1;
        }
    }
}

/// How far the cubic is from its plateau, `offset` ticks of 2^-10 s away from it, in the kernel's unsigned integers.
fn height(offset: u64) -> u32 {
    let cube = CUBE_SCALE.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
    (cube >> CUBE_BITS) as u32
}

impl CongestionControl for CubicSce {
    fn ecn(&self) -> EcnRequirements {
        NEEDS
    }

    fn leave_slow_start_to_others(&mut self) {
        self.cubic.leave_slow_start_to_others();
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.cubic.init(view, control);
        self.cubic.unit = self.scale.unit(view);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        let ssthresh = self.cubic.ssthresh(view, control);
        if self.recent > 0 { (control.cwnd * 7 / 8).max(MIN_CWND) } else { ssthresh }
    }

    fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
        let acked = self.scale.acked(view, event);
        if acked == 0 {
            return;
        }
        if event.esce {
            if let Some(epoch) = self.cubic.epoch {
                self.flatten(view, acked, epoch);
                self.recent = control.cwnd + 1;
                self.step_down(view, control, acked);
            }
            // Out of slow start, if it was in it.
            control.ssthresh = half(control.cwnd);
        }
        self.recent = self.recent.saturating_sub(1);
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        let begins = self.cubic.epoch.is_none();
        if !self.cubic.grow(view, control, acked) {
            return;
        }
        if begins {
            // Unlike CUBIC it does not count the ACK that begins the epoch.
            self.cubic.acked = 0;
        }
        self.follow_root(control.cwnd);
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
        self.cubic.pkts_acked(view, control, sample);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        self.cubic.set_state(view, control, state);
        if state == CaState::Loss {
            (self.root, self.recent) = (1, 0);
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        self.cubic.event(view, control, event);
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        self.cubic.gauges(view, control, out);
        out("origin", f64::from(self.cubic.origin));
        out("ack_cnt", self.cubic.acked as f64 / self.cubic.unit as f64);
        out("sqrt_cwnd", f64::from(self.root));
        out("recent_sce", f64::from(self.recent));
    }
}

#[cfg(test)]
#[path = "cubic_sce_tests.rs"]
mod tests;
