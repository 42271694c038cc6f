//! Multiples of a hop's bandwidth-delay product: `limit 0.2bdp`. It is the rate of that side of the hop times the hop's
//! base RTT, in bytes; where packets are asked for, in full frames of 1514 bytes.

use core::ops::Range;
use sojourn_units::{Rate, Span};

/// A full Ethernet frame without preamble and checksum, as queues count it.
const FRAME: f64 = 1514.0;

/// What `0.2bdp` is a multiple by; `None` for other words.
pub(crate) fn multiple(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.len().checked_sub(3)?;
    let (number, unit) = (text.get(..split)?, text.get(split..)?);
    let number = number.trim_end();
    let digits = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let known = unit.eq_ignore_ascii_case("bdp") && digits;
    number.parse::<f64>().ok().filter(|x| known && x.is_finite() && *x > 0.0)
}

/// The bandwidth-delay product, bytes.
pub(crate) fn of(rate: Rate, rtt: Span) -> f64 {
    rate.bits_per_sec() as f64 * rtt.as_nanos() as f64 / 8e9
}

/// This multiple of it, in packets: at least one.
pub(crate) fn packets(multiple: f64, bdp: f64) -> u64 {
    ((multiple * bdp / FRAME + 0.5) as u64).max(1)
}

/// This multiple of it, in bytes: at least one.
pub(crate) fn bytes(multiple: f64, bdp: f64) -> u64 {
    ((multiple * bdp + 0.5) as u64).max(1)
}

/// The words of a text, each with its place.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.split_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (start..start + word.len(), word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_read_and_worked_out() {
        assert_eq!(multiple("0.2bdp"), Some(0.2));
        assert_eq!(multiple(" 2 BDP "), Some(2.0));
        for text in ["bdp", "0bdp", "-1bdp", "1bd", "xbdp", "infbdp", "1e3bdp", "µdp", ""] {
            assert_eq!(multiple(text), None, "{text}");
        }
        // 50 Mbit/s for 20 ms are 125000 bytes, 82.56 frames.
        let bdp = of(Rate::from_mbit(50), Span::from_millis(20));
        assert_eq!((bytes(1.0, bdp), packets(1.0, bdp), packets(0.2, bdp)), (125_000, 83, 17));
        assert_eq!((bytes(1e-9, bdp), packets(1e-9, bdp)), (1, 1));
    }

    #[test]
    fn words_have_their_places() {
        let found: Vec<_> = words("  a  bc").collect();
        assert_eq!(found, [(2..3, "a"), (5..7, "bc")]);
    }
}
