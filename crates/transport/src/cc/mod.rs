//! Congestion controls, one file or folder each. A control sees what a Linux one sees ([`View`]) and sets the window, its
//! threshold and, if it wants to, the pacing rate ([`Control`]). Recovery, RTT and ECN feedback are the sender's.
//!
//! To add one to this crate: write its file, its `mod` line and an entry of `controls!`. To bring one from outside: implement
//! [`CongestionControl`] and add it to a [`Registry`].

/// Every control of this crate: its module and its types. The enum in `any.rs` takes the list.
macro_rules! controls {
    ($take:ident) => {
        $take! {
            cubic: Cubic;
            reno: Reno;
            scalable: Scalable;
            dctcp: Dctcp;
            prague: Prague;
            bbr: Bbr, Bbr3Draft, Bbr3Google, Bbr3GoogleEcn;
            cubic_sce: CubicSce;
            reno_sce: RenoSce;
            dctcp_sce: DctcpSce;
            ledbat: LedbatPlusPlus;
            vegas: Vegas;
            c4: C4;
        }
    };
}

mod any;
mod bbr;
mod c4;
mod careful_resume;
mod congestion_control;
mod control;
mod cubic;
mod cubic_sce;
mod dctcp;
mod dctcp_sce;
mod hystart;
mod info;
mod ledbat;
mod options;
pub mod prague;
mod registry;
mod reno;
mod reno_sce;
mod scalable;
pub mod sce;
pub mod slow_start;
mod state;
mod vegas;
mod view;
mod with_slow_start;

pub use any::*;
pub use bbr::Bbr3;
pub use careful_resume::{CarefulResume, SavedPath};
pub use congestion_control::{
    AckEvent, AckSample, CloneControl, CongestionControl, ControlSample, Event, LostSegment,
    SegmentState,
};
pub use control::{Control, INFINITE_SSTHRESH, LARGEST_BURST};
pub use hystart::{Exit, HyStart};
pub use info::Info;
pub use options::{ControlOption, OptionError, OptionKind, OptionValue};
pub use registry::{AddError, Registry, UnknownControl, WrongWords};
pub use slow_start::SlowStart;
pub use state::CaState;
pub use view::View;
pub use with_slow_start::WithSlowStart;

/// Lowest window and threshold, in segments, that any control here sets.
pub const MIN_CWND: u32 = 2;
