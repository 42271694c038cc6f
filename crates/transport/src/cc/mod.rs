//! Congestion controls, one file or folder each. A control sees what a Linux one sees ([`View`]) and sets the window, its
//! threshold and, if it wants to, the pacing rate ([`Control`]). Recovery, RTT and ECN feedback are the sender's.
//!
//! To add one to this crate: write its file, and one line in `controls!` below. To bring one from outside: implement
//! [`CongestionControl`] and add it to a [`Registry`].

/// Every control of this crate, a line each: its file and its types. Those who need the list are macros that take it: the
/// modules here, the enum in `any.rs`.
///
/// rustfmt does not see modules that a macro declares: `make fmt` hands it every file.
macro_rules! controls {
    ($take:ident) => {
        $take! {
            cubic: Cubic;
            reno: Reno;
            scalable: Scalable;
            dctcp: Dctcp;
            pub prague: Prague;
            bbr: Bbr, Bbr3Draft, Bbr3Google, Bbr3GoogleEcn;
            cubic_sce: CubicSce;
            reno_sce: RenoSce;
            dctcp_sce: DctcpSce;
            ledbat: LedbatPlusPlus;
        }
    };
}

macro_rules! modules {
    ($($vis:vis $file:ident: $($type:ident),+;)*) => {
        $(
            $vis mod $file;
            pub use $file::{$($type),+};
        )*
    };
}

controls!(modules);

mod any;
mod congestion_control;
mod control;
mod hystart;
mod info;
mod options;
mod registry;
pub mod sce;
pub mod slow_start;
mod state;
mod view;
mod with_slow_start;

pub use any::AnyCongestionControl;
pub use bbr::Bbr3;
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
