//! The two halves of the IP header's traffic-class byte.

use core::fmt;

/// The ECN field (RFC 3168 §5), by its value on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// `00`: the transport is not ECN-capable; only a drop can signal congestion.
    #[default]
    NotEct = 0b00,
    /// `01`: ECN-capable; L4S by RFC 9331, "some congestion experienced" in SCE.
    Ect1 = 0b01,
    /// `10`: ECN-capable.
    Ect0 = 0b10,
    /// `11`: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// From the two lowest bits of the traffic-class byte.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits on the wire.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a queue may mark instead of dropping: ECT(0), ECT(1) and CE.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        })
    }
}

impl fmt::Debug for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A Differentiated Services codepoint (RFC 2474): six bits, the traffic-class byte without the ECN field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const BEST_EFFORT: Self = Self(0);

    /// From its six bits; `None` above 63.
    #[inline]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// From a whole traffic-class (TOS) byte, without its ECN bits.
    #[inline]
    pub const fn from_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }

    /// The six bits.
    #[inline]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The traffic-class byte with this codepoint and `ecn`.
    #[inline]
    pub const fn tos(self, ecn: Ecn) -> u8 {
        self.0 << 2 | ecn.bits()
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn the_tos_byte_splits_and_joins() {
        for tos in 0..=255u8 {
            assert_eq!(Dscp::from_tos(tos).tos(Ecn::from_bits(tos)), tos);
        }
        assert_eq!(Dscp::from_tos(0x4c).value(), 0x13);
        assert!(Dscp::new(64).is_none());
    }
}
