//! The table that leads to all others.

use super::{Aqm, CongestionControl};

/// What a plugin exports as `sojourn_plugin`.
#[repr(C)]
#[derive(Debug)]
pub struct Plugin {
    /// `SOJOURN_ABI_VERSION`. Read before anything else.
    pub abi_version: u32,
    /// `sizeof(SojournPlugin)`.
    pub size: u32,
    /// Its queue disciplines; may be null if there are none.
    pub aqms: *const *const Aqm,
    /// How many there are.
    pub aqm_count: u32,
    /// Its congestion controls; may be null if there are none.
    pub controls: *const *const CongestionControl,
    /// How many there are.
    pub control_count: u32,
}

tables!(Plugin);
