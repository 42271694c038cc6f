//! Congestion controls, one file or folder each. A control sees what a Linux one sees ([`View`]) and sets the window, its
//! threshold and, if it wants to, the pacing rate ([`Control`]). Recovery, RTT and ECN feedback are the sender's.
//!
//! To add one to this crate: write its file, and one line in the list of `any.rs`. To bring one from outside: implement
//! [`CongestionControl`] and add it to a [`Registry`].

mod any;
mod bbr;
mod congestion_control;
mod control;
mod cubic;
mod cubic_sce;
mod dctcp;
mod dctcp_sce;
mod hystart;
pub mod prague;
mod registry;
mod reno;
mod reno_sce;
pub mod sce;
mod slow_start;
mod state;
mod view;

pub use any::AnyCongestionControl;
pub use bbr::{Bbr, Bbr3, Bbr3Draft, Bbr3Google, Bbr3GoogleEcn};
pub use congestion_control::{
    AckEvent, AckSample, CloneControl, CongestionControl, ControlSample, Event, LostSegment,
    SegmentState,
};
pub use control::{Control, INFINITE_SSTHRESH, LARGEST_BURST};
pub use cubic::Cubic;
pub use cubic_sce::CubicSce;
pub use dctcp::Dctcp;
pub use dctcp_sce::DctcpSce;
pub use hystart::{Exit, HyStart};
pub use prague::Prague;
pub use registry::{AddError, Info, Registry, UnknownControl};
pub use reno::Reno;
pub use reno_sce::RenoSce;
pub use slow_start::SlowStart;
pub use state::CaState;
pub use view::View;

/// Lowest window and threshold, in segments, that any control here sets.
pub const MIN_CWND: u32 = 2;
