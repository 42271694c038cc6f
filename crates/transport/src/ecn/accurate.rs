//! Accurate ECN's counter: three bits that hold the number of marked packets, modulo eight, and how a sender interprets
//! a difference when an ACK covers enough packets for the counter to have wrapped.
//!
//! RFC 9768 §3.2.2 and Appendix A.2.1; `tcp_accecn_process` of the L4S kernels (docs/sources/prague.md#accurate-ecn).

/// Where both ends' counters begin, so that a field that a middlebox has cleared is seen (RFC 9768 §3.2.1).
pub const INITIAL: u8 = 5;
/// Packets a ACK, on average, above which gaps are taken for thinned ACKs rather than lost ones (`ACK_COMP_THRESH`).
const THINNED: u32 = 4;
/// Bits of the average's fraction, and its gain 1/64 (`PKTS_ACKED_PREC`, `_WEIGHT`).
const PRECISION: u32 = 6;
const WEIGHT: u32 = 6;

/// The field of a receiver that has counted this many marked packets.
#[inline]
pub const fn field(received_ce: u32) -> u8 {
    (received_ce.wrapping_add(INITIAL as u32) & 7) as u8
}

/// The least number of newly marked packets that a field tells, 0 to 7, after `counted` were known.
#[inline]
pub const fn least(field: u8, counted: u32) -> u32 {
    (field as u32).wrapping_sub(INITIAL as u32).wrapping_sub(counted) & 7
}

/// The largest number that an ACK for `delivered` packets can tell with that least number.
#[inline]
pub const fn most(delivered: u32, least: u32) -> u32 {
    delivered - (delivered.wrapping_sub(least) & 7)
}

/// The sender's decoder.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// Packets an ACK, averaged, times 2^6.
    average: u32,
    /// Whether to take the least number always, as decoders did at first.
    takes_least: bool,
}

impl Decoder {
    /// One that takes the least number always, or only where that is safe.
    pub fn new(takes_least: bool) -> Self {
        Self { average: 0, takes_least }
    }

    /// Newly marked packets that an ACK for `delivered` packets reports.
    ///
    /// Up to seven packets that is the least number; above, the counter may have wrapped, and the safe choice is the
    /// largest number that fits. Unless ACKs are thinned all the time: then the safe choice would be wrong all the
    /// time.
    #[inline]
    pub fn newly_marked(&mut self, field: u8, counted: u32, delivered: u32) -> u32 {
        if delivered > 0 {
            let sample = delivered << PRECISION;
            self.average = if self.average == 0 {
                sample
            } else {
                (((self.average << WEIGHT) - self.average + sample) >> WEIGHT).min(0xffff)
            };
        }
        let least = least(field, counted);
        if self.takes_least || delivered <= 7 || self.average > THINNED << PRECISION {
            return least;
        }
        most(delivered, least)
    }
}
