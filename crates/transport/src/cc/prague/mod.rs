//! TCP Prague (RFC 9331 appendix; L4STeam/linux `net/ipv4/tcp_prague.c`; facts: docs/sources/prague.md), by the version
//! that each kernel of the published measurements had:
//!
//! ```text
//!                          April 2020   April, fixed   August 2020   November   2021      newest (0.7)
//! classic-ECN detector     acts         acts           off           off        off       none
//! loss stops growth        no           yes            yes           yes        yes       yes
//! a cut lifts ssthresh     to cwnd      no             no            no         no        no
//! RTT independence         off          off            off           25 ms,     25 ms,    25 ms,
//!                                                                    round 500  round 500 round 4
//! alpha at first           1            1              1             1          1         0, first CE halves
//! fraction of the window   carry        carry          carry         carry      carry     absolute
//! below 4 packets          window       window         window        window     window    rate
//! below 1 Mbit/s           full size    full size      full size     full size  full size two in 25 ms
//! not limited by cwnd      grows if     as A           as A          never      never     never
//!                          paced inside
//! packets that leave       1            1              1             1          2         1
//! together, at the least
//! ```
//!
//! Of 0.7 there is an early text, in the kernels 5.15.72 of 2024 (`Early0_7`), which differs in seven places (`v0_7::Text`).
//!
//! Common to all: the control owns its window (no PRR); an ACK changes it by one packet at most, the rest is carried
//! over; a cut is alpha/2, once a round trip; a CE-marked packet earns no growth; it paces itself at 100 %, 200 % early
//! in slow start; it sends ECT(1) on everything.
//!
//! Up to 2021 a flow may be given another RTT independence than its version's (`TcpQuirks::rtt_independence`).
//!
//! Without ECN it is Reno ("prague-reno"). With a peer that has RFC 3168 only it stays Prague.

mod classic;
mod common;
mod gain;
mod until_2021;
mod v0_7;
mod version;

use super::{AckSample, CongestionControl, ControlSample, Event, Info, Reno};
use crate::cc::CaState;
use crate::cc::{Control, View};
use crate::ecn::{Agreed, EcnRequirements, Request};
use crate::stack::TcpQuirks;
use common::{Answers, mtu};
pub use gain::{Independence, Scaling};
use sojourn_units::Ecn;
use until_2021::Until2021;
use v0_7::V0_7;
pub use version::Version;

/// Prague.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
pub enum Prague {
    /// Up to 2021.
    Until2021(Until2021),
    /// 0.7.
    V0_7(V0_7),
    /// No ECN was agreed.
    Reno,
}

impl Prague {
    /// What it is.
    pub const INFO: Info = Info {
        name: "prague",
        summary: "scalable: cuts by half the smoothed share of marks, spread over ACKs; paces itself; ECT(1)",
        source: "draft-briscoe-iccrg-prague-congestion-control; L4STeam/linux net/ipv4/tcp_prague.c",
        gauges: &[
            ("alpha", "", "smoothed share of marked packets, 0 to 1"),
            ("carry", "packets", "change of the window that is still to be made"),
            ("ai", "packets", "growth for each window of packets that are not marked"),
            ("round", "", "round trips outside of slow start"),
            ("score", "", "of the classic-ECN detector: 8 and less is L4S, 9 and more classic"),
            ("classic", "", "the detector's verdict: 0 L4S, 1 classic, between them in transition"),
            ("in_loss", "", "1 while a loss is being answered"),
            ("rate_mode", "", "1 while a rate is controlled, not a window"),
            (
                "mtu",
                "bytes",
                "IP length of new packets: of 0.7 less below 1 Mbit/s, so that two leave in 25 ms",
            ),
        ],
        options: &[],
    };

    /// The stack's.
    pub fn new(quirks: &TcpQuirks) -> Self {
        match quirks.prague {
            Version::V0_7 => Self::V0_7(V0_7::new()),
            Version::Early0_7 => Self::V0_7(V0_7::early()),
            early => Self::Until2021(Until2021::new(early, quirks.rtt_independence)),
        }
    }
}

impl CongestionControl for Prague {
    fn ecn(&self) -> EcnRequirements {
        EcnRequirements {
            request: Request::AccEcn,
            codepoint: Ecn::Ect1,
            on_all: true,
            on_syn: true,
            ..EcnRequirements::NONE
        }
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        if view.ecn == Agreed::Off {
            *self = Self::Reno;
        }
        match self {
            Self::Until2021(p) => p.init(view, control),
            Self::V0_7(p) => p.init(view, control),
            Self::Reno => {}
        }
    }

    fn has_cong_control(&self) -> bool {
        !matches!(self, Self::Reno)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        match self {
            Self::Until2021(p) => p.cong_control(view, control, sample),
            Self::V0_7(p) => p.cong_control(view, control, sample),
            Self::Reno => {}
        }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        match self {
            Self::Until2021(p) => p.ssthresh(control),
            // Entering a reduction does not change it: the cut is spread over ACKs.
            Self::V0_7(_) => control.ssthresh,
            Self::Reno => Reno.ssthresh(view, control),
        }
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        Reno.cong_avoid(view, control, acked);
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, sample: AckSample) {
        if let (Self::Until2021(p), Some(rtt_us)) = (self, sample.rtt_us) {
            p.sample(rtt_us);
        }
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        if state == view.ca_state {
            return;
        }
        match self {
            Self::Until2021(p) => p.set_state(view, control, state),
            Self::V0_7(p) => p.set_state(view, control, state),
            Self::Reno => {}
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if event != Event::Loss {
            return;
        }
        match self {
            Self::Until2021(p) => p.enter_loss(view, control),
            Self::V0_7(p) => p.enter_loss(view, control),
            Self::Reno => {}
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        match self {
            Self::Until2021(p) => p.undo_cwnd(control),
            Self::V0_7(p) => p.undo_cwnd(view, control),
            Self::Reno => Reno.undo_cwnd(view, control),
        }
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Self::Until2021(p) => p.gauges(out),
            Self::V0_7(p) => p.gauges(control, out),
            Self::Reno => return,
        }
        out("mtu", mtu(view, control) as f64);
    }
}
