//! How long an exchange is on the air: an A-MPDU, SIFS, a compressed BlockAck.
//!
//! Source: IEEE 802.11-2016, clauses by constant. The standard was not at hand; numbers and clauses were compared with
//! those that ns-3 (`src/wifi/model`, `ht-phy.cc` and the frame exchange managers), Wireshark and MATLAB's WIFI toolbox
//! cite. Not found cited: 9.2.3, 9.7.1 and Annex P for lengths of headers, 19.3.11 and 19.4.3 by number (their contents
//! were), and the sub-clause that adds the signal extension to the ERP's OFDM. HT-mixed format with the two HT-LTFs of
//! two streams, whatever the rate (one stream would be 4 µs shorter), long guard interval; data is protected by CCMP;
//! BlockAcks go at 24 Mbit/s.

use sojourn_units::{Rate, Span};

/// aSlotTime, short (Table 18-5; HT at 2.4 GHz takes the ERP's, Table 19-25). With 802.11b stations about it would be
/// 20 µs.
pub const SLOT: Span = Span::from_micros(9);
/// aSIFSTime at 2.4 GHz (Table 19-25).
pub const SIFS: Span = Span::from_micros(10);
/// AIFS of best effort: SIFS and three slots (Table 9-137, `AIFSN[AC_BE]` = 3; 10.22.2.4).
pub const AIFS: Span = Span::from_micros(10 + 3 * 9);
/// One exchange a turn: the TXOP limit of best effort is 0, as hostapd announces it and mac80211 has it by default.
///
/// CWmin and CWmax of best effort (Table 9-137; aCWmin and aCWmax). hostapd's default for the access point's own frames
/// is 63 (`tx_queue_data2_cwmax`); here all stations have the table's.
pub const CW_MIN: u32 = 15;
/// See [`CW_MIN`].
pub const CW_MAX: u32 = 1023;
/// The longest A-MPDU of the HT PHY, bytes (9.7.1).
pub const LONGEST_AMPDU: u32 = 65_535;
/// Frames that one BlockAck covers, and the receiver's buffer (9.3.1.9.3: a 64-bit bitmap; 10.24.7.6.2).
pub const WINDOW: usize = 64;

/// Failures in a row after which the window is the least again (10.22.2.2, `dot11ShortRetryLimit`).
pub const RETRY_LIMIT: u32 = 7;
/// Non-HT training and SIGNAL of 20 µs, HT-SIG 8, HT-STF 4, two HT-LTFs of 4 (19.3.9, 19.3.9.4.6).
const PREAMBLE: Span = Span::from_micros(20 + 8 + 4 + 2 * 4);
/// An OFDM symbol with the long guard interval (Table 19-6).
const SYMBOL_US: u64 = 4;
/// aSignalExtension at 2.4 GHz (Table 19-25; part of TXTIME in 19.4.3).
const SIGNAL_EXTENSION: Span = Span::from_micros(6);
/// SERVICE and tail bits of one encoder (19.3.11, equation 19-32).
const SERVICE_AND_TAIL: u64 = 16 + 6;
/// The MPDU of an Ethernet frame: its header is replaced by a QoS data header of 26 bytes and 8 of LLC/SNAP (9.2.3,
/// Annex P); CCMP adds 16 (12.5.3.2), the FCS is 4.
const MPDU_LESS_FRAME: u32 = 26 + 8 + 16 + 4 - 14;
/// The delimiter of an A-MPDU's subframe; subframes are padded to four bytes (9.7.1).
const DELIMITER: u32 = 4;

/// Bytes that a frame of `wire_len` bytes, Ethernet header included, takes in an A-MPDU.
pub const fn subframe(wire_len: u32) -> u32 {
    (wire_len + MPDU_LESS_FRAME).next_multiple_of(4) + DELIMITER
}

/// TXTIME of an A-MPDU with `bytes` bytes of subframes at a rate (19.4.3).
pub fn ampdu(bytes: u32, rate: Rate) -> Span {
    let per_symbol = (rate.bits_per_sec() * SYMBOL_US / 1_000_000).max(1);
    let symbols = (SERVICE_AND_TAIL + 8 * u64::from(bytes)).div_ceil(per_symbol);
    PREAMBLE + SIGNAL_EXTENSION + Span::from_micros(symbols * SYMBOL_US)
}

/// What follows the data: SIFS, and 32 bytes of BlockAck (9.3.1.9) in the ERP's OFDM at 24 Mbit/s, 96 bits a symbol:
/// 20 + 4·⌈(22 + 256) / 96⌉ + 6 = 38 µs (17.4.3, and the ERP's signal extension). As long if it does not come: those who hear
/// the data stand still for it by its Duration field; the sender itself gives up after SIFS, a slot and aRxPHYStartDelay, 39 µs
/// (10.3.2.9).
pub const REPLY: Span = Span::from_micros(10 + 38);

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, a full frame at 26 Mbit/s: MPDU 1554, subframe 1556 + 4 = 1560 bytes; 104 bits a symbol, 12502 bits
    /// are 121 symbols, 484 µs; with preamble and extension 530 µs. Two of them: 24982 bits, 241 symbols, 1010 µs.
    #[test]
    fn one_exchange_by_hand() {
        assert_eq!(subframe(1514), 1560);
        let rate = Rate::from_mbit(26);
        assert_eq!(ampdu(1560, rate), Span::from_micros(530));
        assert_eq!(ampdu(3120, rate), Span::from_micros(1010));
        // An ACK of 66 bytes: MPDU 106, padded 108, 112 in all; 918 bits, 9 symbols.
        assert_eq!(subframe(66), 112);
        assert_eq!(ampdu(112, rate), Span::from_micros(40 + 6 + 36));
        assert_eq!(AIFS, SIFS + SLOT * 3);
    }
}
