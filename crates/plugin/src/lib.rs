//! The tools for a plugin in Rust: queue disciplines and congestion controls of one's own, as a shared library that
//! Sojourn loads.
//!
//! The boundary is C's ([`abi`]), so that a plugin need not be of the same compiler, nor in Rust at all; a plugin in C
//! includes `include/sojourn.h`. In Rust one implements [`Aqm`] or [`CongestionControl`] and names it in [`sojourn_plugin!`], and writes no `unsafe`.
//!
//! Invariants: a panic never crosses the boundary: it ends the run it came up in, with its message; a plugin keeps no
//! packet, only a description of one ([`Packet`]): the host holds the packets and hands out handles.

pub mod abi;
mod aqm;
pub mod boundary;
mod control;
mod host;
mod tables;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use abi::{
    AckEvent, AckSample, Control, ControlSample, EcnRequirements, Event, LostSegment, View,
};
pub use abi::{Counter, Gauge, OptionSpec, Packet, Value};
pub use aqm::{Aqm, AqmInfo, Dequeued};
pub use control::{CongestionControl, ControlInfo};
pub use host::{Host, Reason};
pub use tables::{Name, Shown, Unit};

/// The header that a plugin in C includes, `include/sojourn.h`.
pub const HEADER: &str = include_str!("../include/sojourn.h");

/// Exports a library's disciplines and controls: `sojourn_plugin! { aqms: [Mine, Another], controls: [MyReno] }`. Either may
/// be left out.
#[macro_export]
macro_rules! sojourn_plugin {
    (aqms: [$($aqm:ty),* $(,)?] $(,)?) => {
        $crate::sojourn_plugin! { aqms: [$($aqm),*], controls: [] }
    };
    (controls: [$($control:ty),* $(,)?] $(,)?) => {
        $crate::sojourn_plugin! { aqms: [], controls: [$($control),*] }
    };
    (aqms: [$($aqm:ty),* $(,)?], controls: [$($control:ty),* $(,)?] $(,)?) => {
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, missing_docs)]
        pub static sojourn_plugin: $crate::abi::Plugin = $crate::boundary::plugin(
            const { &[$(const { &$crate::boundary::aqm::<$aqm>() }),*] },
            const { &[$(const { &$crate::boundary::control::<$control>() }),*] },
        );
    };
}
