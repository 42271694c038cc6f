//! BBR, a folder a version, and what they count in. They share the count of heaps of ACKs; their
//! filters are [`crate::minmax`]'s.

mod heaps;
mod v1;
mod v3;

pub use v1::Bbr;
pub use v3::{Bbr3, Bbr3Draft, Bbr3Google, Bbr3GoogleEcn};

/// A gain of one (`BBR_UNIT`).
const UNIT: u32 = 1 << GAIN_BITS;
const GAIN_BITS: u32 = 8;
/// A packet per microsecond (`BW_UNIT`).
const BW_UNIT: u64 = 1 << BW_BITS;
const BW_BITS: u32 = 24;
