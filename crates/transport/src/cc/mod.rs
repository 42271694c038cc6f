//! Congestion controls, one file each. A control sees what a Linux one sees (`struct tcp_congestion_ops`) and
//! owns the window, its threshold and, if it wants to, the pacing rate. Recovery, RTT and ECN feedback are the
//! sender's.
//!
//! To add one: write its file, and one line in [`controls!`] below.

mod bbr;
mod control;
mod cubic;
mod cubic_sce;
mod dctcp;
mod dctcp_sce;
mod hystart;
pub mod prague;
mod reno;
mod reno_sce;
pub mod sce;
mod state;
mod view;

pub use bbr::Bbr;
pub use control::{Control, INFINITE_SSTHRESH, LARGEST_BURST};
pub use cubic::Cubic;
pub use cubic_sce::CubicSce;
pub use dctcp::Dctcp;
pub use dctcp_sce::DctcpSce;
pub use hystart::HyStart;
pub use prague::Prague;
pub use reno::Reno;
pub use reno_sce::RenoSce;
pub use state::CaState;
pub use view::View;

use crate::ecn::EcnRequirements;
use crate::rate_sample::RateSample;
use crate::stack::TcpQuirks;
use sojourn_units::{Random, Time};

/// Lowest window and threshold, in segments, that any control here sets.
pub const MIN_CWND: u32 = 2;

/// What an ACK newly acknowledged, as `pkts_acked` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// Segments acknowledged cumulatively by this ACK.
    pub acked: u32,
    /// RTT of the newest of them in microseconds; `None` when only retransmissions were acknowledged.
    pub rtt_us: Option<u32>,
}

/// An ACK as `in_ack_event` tells of it (`enum tcp_ca_ack_event_flags`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckEvent {
    /// Segments that it acknowledges cumulatively.
    pub acked: u32,
    /// Whether it tells of marks.
    pub ece: bool,
    /// Whether it echoes SCE (`CA_ACK_ESCE` of chromi/sce).
    pub esce: bool,
    /// Whether it changes the window, as every ACK of new data does.
    pub window_update: bool,
}

/// Things that happen to a connection besides ACKs (`enum tcp_ca_event`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The first transmission after all had been acknowledged.
    TxStart {
        /// Time since the last transmission, in ticks.
        idle_jiffies: u32,
    },
    /// A reduction for ECN-Echo or loss is complete.
    CompleteCwr,
    /// The retransmission timer fired.
    Loss,
}

/// What an ACK has told in sum, for a control that owns its window (`struct rate_sample`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControlSample {
    /// Segments newly delivered, SACKed ones included.
    pub delivered: u32,
    /// Segments newly known to be marked; may be more than `delivered`.
    pub ce: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// Whether the ACK told of marks (`FLAG_ECE`).
    pub ece: bool,
    /// RTT of the newest segment delivered, microseconds.
    pub rtt_us: Option<u32>,
    /// The ACK's rate sample, if it gave one.
    pub rate: Option<RateSample>,
    /// Delivery count when the newest of these segments left.
    pub prior_delivered: Option<u32>,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Whether the ACK is of a lone piece below the segment size, and has therefore probably been delayed
    /// (`FLAG_ACK_MAYBE_DELAYED`).
    pub ack_delayed: bool,
    /// Not before this may the next segment leave; may be past.
    pub next_departure: Time,
    /// Whether there is more to send, and none but the socket itself paces (no host `fq`).
    pub backlogged: bool,
}

/// A congestion control. The defaults are the kernel's.
pub trait CongestionControl {
    /// Randomness of its own, given before the connection opens. Most draw none.
    fn seed(&mut self, _random: Random) {}

    /// The connection is established.
    fn init(&mut self, _view: &View, _control: &mut Control) {}

    /// A reduction begins: the new threshold, at least [`MIN_CWND`].
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32;

    /// What it needs of ECN.
    fn ecn(&self) -> EcnRequirements {
        EcnRequirements::NONE
    }

    /// Whether [`CongestionControl::cong_control`] sets window and pacing rate in every state, instead of PRR, the
    /// end of a reduction, [`CongestionControl::cong_avoid`] and the default pacing.
    fn has_cong_control(&self) -> bool {
        false
    }

    /// Least segments of a burst (`min_tso_segs`).
    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        2
    }

    /// Windows that the send buffer is for (`sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// An ACK has been worked through (`cong_control`); only for a control that owns its window.
    fn cong_control(&mut self, _view: &View, _control: &mut Control, _sample: &ControlSample) {}

    /// An ACK has come (`in_ack_event`): `una` has moved and nothing else has been done yet, but that, as the stack has
    /// it, its deliveries and marks have been counted ([`TcpQuirks::ack_event_counts_its_ack`]).
    fn in_ack_event(&mut self, _view: &View, _control: &mut Control, _event: AckEvent) {}

    /// `acked` segments were delivered while nothing was wrong: grow.
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32);

    /// An ACK acknowledged new data.
    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _sample: AckSample) {}

    /// The state of recovery is about to become `state`.
    fn set_state(&mut self, _view: &View, _control: &mut Control, _state: CaState) {}

    /// Something happened.
    fn event(&mut self, _view: &View, _control: &mut Control, _event: Event) {}

    /// The last reduction was for nothing: the window to go back to.
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        control.cwnd.max(view.prior_cwnd)
    }

    /// The control's own numbers, for the recorder's step.
    fn gauges(&self, _view: &View, _control: &Control, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A congestion control's description, for lists, help and docs.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, as Linux has it.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// The numbers it reports at each step: name, unit, meaning.
    pub gauges: &'static [(&'static str, &'static str, &'static str)],
}

macro_rules! controls {
    ($($variant:ident($type:ty)),* $(,)?) => {
        /// Any of the congestion controls; dispatch without a table of pointers.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
        pub enum AnyCongestionControl { $(#[doc = concat!("See [`", stringify!($type), "`].")] $variant($type)),* }

        /// Every control there is.
        pub const CONTROLS: &[&Info] = &[$(&<$type>::INFO),*];

        impl AnyCongestionControl {
            /// The control of this name, as the stack has it.
            pub fn named(name: &str, quirks: &TcpQuirks) -> Option<Self> {
                $(if name == <$type>::INFO.name { return Some(Self::$variant(<$type>::new(quirks))); })*
                None
            }
        }

        impl CongestionControl for AnyCongestionControl {
            fn seed(&mut self, random: Random) { match self { $(Self::$variant(c) => c.seed(random)),* } }
            fn min_tso_segs(&self, view: &View, control: &Control) -> u32 { match self { $(Self::$variant(c) => c.min_tso_segs(view, control)),* } }
            fn send_buffer_windows(&self) -> u64 { match self { $(Self::$variant(c) => c.send_buffer_windows()),* } }
            #[inline]
            fn init(&mut self, view: &View, control: &mut Control) { match self { $(Self::$variant(c) => c.init(view, control)),* } }
            #[inline]
            fn ssthresh(&mut self, view: &View, control: &Control) -> u32 { match self { $(Self::$variant(c) => c.ssthresh(view, control)),* } }
            #[inline]
            fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
                match self { $(Self::$variant(c) => c.cong_avoid(view, control, acked)),* }
            }
            #[inline]
            fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
                match self { $(Self::$variant(c) => c.pkts_acked(view, control, sample)),* }
            }
            fn ecn(&self) -> EcnRequirements { match self { $(Self::$variant(c) => c.ecn()),* } }
            #[inline]
            fn has_cong_control(&self) -> bool { match self { $(Self::$variant(c) => c.has_cong_control()),* } }
            #[inline]
            fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
                match self { $(Self::$variant(c) => c.cong_control(view, control, sample)),* }
            }
            #[inline]
            fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
                match self { $(Self::$variant(c) => c.in_ack_event(view, control, event)),* }
            }
            fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
                match self { $(Self::$variant(c) => c.set_state(view, control, state)),* }
            }
            fn event(&mut self, view: &View, control: &mut Control, event: Event) {
                match self { $(Self::$variant(c) => c.event(view, control, event)),* }
            }
            fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 { match self { $(Self::$variant(c) => c.undo_cwnd(view, control)),* } }
            fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Self::$variant(c) => c.gauges(view, control, out)),* }
            }
        }
    };
}

controls! {
    Cubic(Cubic),
    Reno(Reno),
    Dctcp(Dctcp),
    Prague(Prague),
    Bbr(Bbr),
    CubicSce(CubicSce),
    RenoSce(RenoSce),
    DctcpSce(DctcpSce),
}
